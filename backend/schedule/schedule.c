#include "backend/schedule/schedule.h"

bool schedule_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    return order_kernel(p, k, m, d) && place_kernel(p, k, m, d) && sync_kernel(p, k, d);
}

bool schedule_program(struct program *p, const struct machine *m, struct diag *d)
{
    for (int i = 0; i < p->nkernels; i++)
        if (!schedule_kernel(p, &p->kernels[i], m, d))
            return fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    return true;
}
