#include "frontend/report.h"

#include "runtime/sim/sim.h"

enum { MOST_RECORDS = 1 << 20, MOST_INSNS = 20000000 };

bool print_report(const struct program *p, struct diag *d)
{
    struct arena scratch = {0};
    const char *assumed = NULL;
    struct sim_options o = {.cores = 1, .most_records = MOST_RECORDS, .most_insns = MOST_INSNS};
    o.values = sim_bind(p, NULL, 0, &assumed, &scratch, d);
    struct sim *s = o.values ? sim_run(p, &o, d) : NULL;
    if (s) {
        struct sim_summary y;
        sim_summarise(s, &y);
        if (assumed)
            printf("not given, taken as 1: %s\n", assumed);
        sim_print(s, &y, stdout);
    }
    sim_free(s);
    arena_free(&scratch);
    return s || fail_in(d, "--report");
}
