#include "backend/lower/kernels.h"

struct kernel_builder begin_kernel(struct lowering *l, const struct node *n, const char *name)
{
    if ((!name || !*name) && n->nout && n->out[0]->name)
        name = n->out[0]->name;
    struct kernel_builder k = kernel_begin(l->p, l->m, name, program_node_of(l, n), NULL);
    kernel_launch(&k, l->region);
    return k;
}
