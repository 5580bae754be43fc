#include "neff/plan/hazards.h"

#include "runtime/sim/sim.h"

int sim_check(const struct program *p, const struct machine *m, const int64_t *values, FILE *out)
{
    static const struct hazard_limits limits = {.insns = 20000, .points = 6};
    int unsound = 0;
    for (int i = 0; i < p->nkernels; i++) {
        struct diag d = {0};
        if (kernel_is_sound(p, &p->kernels[i], m, values, &limits, &d))
            continue;
        fprintf(out, "kernel %d '%s': %s\n", i, p->kernels[i].name ? p->kernels[i].name : "",
                d.text);
        unsound++;
    }
    fprintf(out, "%d kernels, %d with hazards\n", p->nkernels, unsound);
    return unsound;
}
