/* An archive: every view of xdump; simulated, and looked through for hazards; then loaded and run. */
#include "neff/archive/archive.h"
#include "runtime/sim/sim.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int xdump_main(int argc, char **argv); /* neff/tools/xdump.c, its main under this name */

static void to_nothing(void)
{
    static bool done;
    int fd = done ? -1 : open("/dev/null", O_WRONLY);
    if (fd >= 0)
        dup2(fd, STDOUT_FILENO);
    done = true;
}

static void simulate(const struct program *p)
{
    enum { MAX_INSNS = 20000 };
    struct arena a = {0};
    struct diag d = fuzz_diag();
    struct sim_options o = {.cores = 1, .max_insns = MAX_INSNS, .max_records = MAX_INSNS};
    o.values = sim_bind(p, NULL, 0, NULL, &a, &d);
    struct sim *s = o.values ? sim_run(p, &o, &d) : NULL;
    if (s) {
        struct sim_summary y;
        sim_summarise(s, &y);
        sim_free(s);
    }
    d = fuzz_diag();
    if (o.values)
        sim_check(p, &o, stdout, &d);
    arena_free(&a);
}

enum { SIMULATE_EACH = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *views[] = {"--header", "--info", "--asm", "--plan", "--json", "--diff"};
    const char *path = fuzz_file(data, size);
    struct diag d = fuzz_diag();
    if (!path)
        return 0;
    struct neff_file *f = calloc(1, sizeof *f);
    bool ok = f && neff_open(f, path, &d);
    struct program *p = ok ? neff_program(f, true, &d) : NULL;
    fuzz_agree(p != NULL, &d);
    if (!p) {
        if (ok)
            neff_close(f);
        free(f);
        return 0;
    }
    to_nothing();
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char *argv[] = {"xdump", (char *)path, views[i], (char *)path, NULL};
        xdump_main(!strcmp(views[i], "--diff") ? 4 : 3, argv);
    }
    uint64_t seed = fuzz_seed(data, size);
    if (seed / SIMULATE_EACH % SIMULATE_EACH == 0) /* takes much longer than to run */
        simulate(p);
    fuzz_run(p, seed, &d);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_archive(data, size, room, seed);
}
