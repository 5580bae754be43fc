#include "frontend/report.h"

#include "runtime/sim/sim.h"

enum { MAX_RECORDS = 1 << 20, MAX_INSNS = 20000000 };

static bool simulate(const struct program *p, int cores, bool json, FILE *out, struct diag *d)
{
    struct arena scratch = {0};
    const char *assumed = NULL;
    struct sim_options o = {.cores = cores, .max_records = MAX_RECORDS, .max_insns = MAX_INSNS};
    o.values = sim_bind(p, NULL, 0, &assumed, &scratch, d);
    struct sim *s = o.values ? sim_run(p, &o, d) : NULL;
    if (s) {
        struct sim_summary y;
        sim_summarise(s, &y);
        if (json)
            sim_print_json(s, &y, false, false, out);
        else if (assumed)
            fprintf(out, "not given, taken as 1: %s\n", assumed);
        if (!json)
            sim_print(s, &y, out);
    }
    sim_free(s);
    arena_free(&scratch);
    return s != NULL;
}

bool print_report(const struct program *p, struct diag *d)
{
    return simulate(p, 1, false, stdout, d) || fail_in(d, "--report");
}

bool report_json(const struct program *p, int cores, FILE *out, struct diag *d)
{
    return simulate(p, cores, true, out, d);
}
