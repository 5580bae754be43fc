#include "neff/plan/hazards.h"

#include "runtime/sim/sim.h"

static const char *kernel_name(const struct program *p, int i)
{
    return p->kernels[i].name ? p->kernels[i].name : "";
}

/* Elements of tiles that are looked at, of one kernel and of all. A second is about 2^30 of large tiles. */
static const int64_t of_kernel = INT64_C(1) << 31, of_all = INT64_C(1) << 33;

static int check_kernels(const struct program *p, const struct machine *m, const int64_t *values,
                         FILE *out)
{
    int64_t elements, left = of_all;
    const struct hazard_limits limits = {.insns = 20000, .points = 6, .elements = &elements};
    int unsound = 0, ended = 0;
    for (int i = 0; i < p->nkernels; i++) {
        struct diag d = {0};
        int64_t allowed = left < of_kernel ? left : of_kernel;
        elements = allowed;
        bool sound = kernel_is_sound(p, &p->kernels[i], m, values, &limits, &d);
        left -= allowed - elements;
        ended += elements <= 0;
        if (sound)
            continue;
        fprintf(out, "kernel %d '%s': %s\n", i, kernel_name(p, i), d.text);
        unsound++;
    }
    if (ended)
        fprintf(out, "%d kernels were not walked to the end: their tiles have too many elements\n", ended);
    return unsound;
}

int sim_check(const struct program *p, const struct sim_options *o, FILE *out, struct diag *d)
{
    struct sim_options with_check = *o;
    const struct machine *m = o->machine ? o->machine : machine_find(p->target ? p->target : "cpu");
    int unsound = check_kernels(p, m, o->values, out), faults = 0;
    with_check.check = true;
    struct sim *s = sim_run(p, &with_check, d);
    if (s) {
        faults = s->nfaults;
        fprintf(out, "%s%d kernels, %d with hazards; %d steps, %d accesses that nothing orders%s\n",
                s->faults ? s->faults : "", p->nkernels, unsound, s->nlaunches, faults,
                s->check_ended ? "; ended early, there are too many" : "");
        sim_free(s);
    } else {
        fprintf(out, "%d kernels, %d with hazards\n", p->nkernels, unsound);
        faults = -1;
    }
    return faults < 0 && !unsound ? -1 : unsound + (faults > 0 ? faults : 0);
}
