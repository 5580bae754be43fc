#include "neff/plan/hazards.h"

#include "runtime/sim/sim.h"

static const char *kernel_name(const struct program *p, int i)
{
    return p->kernels[i].name ? p->kernels[i].name : "";
}

/* Elements of tiles that are looked at, of one kernel and of all, and instructions of a point of its grid. A second is
 * about 2^30 of large tiles, or 30000 instructions of a kernel of many layers. */
struct budget {
    int64_t of_kernel, of_all, insns;
};
static const struct budget of_program = {INT64_C(1) << 31, INT64_C(1) << 33, 1 << 18},
                           of_sizes = {INT64_C(1) << 27, INT64_C(1) << 30, 20000};

/* grids: whether instances are independent too, which else what all steps do together tells. */
static int check_kernels(const struct program *p, const struct sim_options *o, const struct budget *b, bool grids,
                         FILE *out)
{
    const struct machine *m = o->machine ? o->machine : machine_find(p->target ? p->target : "cpu");
    int64_t elements, left = b->of_all;
    bool ended;
    const struct hazard_limits limits = {.insns = b->insns, .points = 6, .elements = &elements, .sums = true,
                                         .ended = &ended};
    int unsound = 0;
    for (int i = 0; i < p->nkernels; i++) {
        struct diag d = {0};
        int64_t allowed = left < b->of_kernel ? left : b->of_kernel;
        elements = allowed, ended = false;
        bool sound = kernel_is_sound(p, &p->kernels[i], m, o->values, &limits, &d) &&
                     (!grids || kernel_grid_is_sound(p, &p->kernels[i], o->values, &limits, &d));
        left -= allowed - elements;
        if (ended && !grids)
            fprintf(out, "kernel %d '%s': not walked to the end, it is too long or its tiles have too many elements\n",
                    i, kernel_name(p, i));
        if (sound)
            continue;
        fprintf(out, "kernel %d '%s': %s\n", i, kernel_name(p, i), d.text);
        unsound++;
    }
    return unsound;
}

int sim_check_kernels(const struct program *p, const struct sim_options *o, FILE *out)
{
    int unsound = check_kernels(p, o, &of_sizes, true, out);
    fprintf(out, "%d kernels, %d with hazards\n", p->nkernels, unsound);
    return unsound;
}

bool sim_admits(const struct program *p, const int64_t *values)
{
    struct diag d = {0};
    bool all = true;
    for (int i = 0; i < p->nguards; i++)
        all &= p->guards[i].region || guard_check(&p->guards[i], &p->dims, values, &d);
    for (int i = 0; i < p->nslots; i++)
        for (int k = 0; p->slots[i].type.kind == VK_TENSOR && k < p->slots[i].type.rank; k++)
            all &= dim_value(values, p->slots[i].type.dims[k]) >= 0;
    return all;
}

int sim_check(const struct program *p, const struct sim_options *o, FILE *out, struct diag *d)
{
    struct sim_options with_check = *o;
    int unsound = check_kernels(p, o, &of_program, false, out), faults = 0;
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
