/*
 * A product of small matrices is a few dozen instructions; computing its addresses and choosing a tile takes longer.
 * Where all instances are such, of the same sizes and at equal distances, one call of the kernel `small_products` takes
 * many of them. Sums are those of the other kernels for products, bit for bit.
 */
#include "runtime/exec/small_products.h"

#include "runtime/exec/state.h"

enum {
    DST = AP(nc_matmul, dst),
    STATIONARY = AP(nc_matmul, stationary),
    MOVING = AP(nc_matmul, moving),
    AT_A_TIME = 1024 /* products, until the launch may be stopped */
};

/* Elements from one instance to the next. */
static int64_t distance(const struct operand *o)
{
    int64_t bytes = 0;
    for (int t = 0; t < o->nterms; t++)
        bytes += o->terms[t].var == 0 ? o->terms[t].coef : 0;
    return bytes / (int64_t)sizeof(float);
}

static void run_products(struct worker *me, const struct bound_kernel *k, int64_t from, int64_t to)
{
    const struct bound_insn *i = &k->insns[0];
    struct small_products p = *(const struct small_products *)k->many;
    for (int g = 0; g < k->ngrid; g++)
        me->vars[g] = 0;
    for (int64_t n = from; n < to && !stop_now(me->stop); n += AT_A_TIME) {
        me->vars[0] = n;
        p.c = (float *)operand_address(me, &i->o[DST]);
        p.a = (const float *)operand_address(me, &i->o[MOVING]);
        p.w = (const float *)operand_address(me, &i->o[STATIONARY]);
        me->k->small_products(&p, (size_t)(to - n < AT_A_TIME ? to - n : AT_A_TIME));
    }
    const char *why = stop_now(me->stop);
    if (why)
        worker_fail(me, why);
}

void bind_small_products(struct bound_kernel *k, const struct kernel_table *kernels, struct arena *a)
{
    const struct bound_insn *i = &k->insns[0];
    struct small_products *p;
    bool along = k->ngrid > 0 && k->instances > 0; /* what has no instance is not bound */
    for (int g = 1; g < k->ngrid; g++)
        along &= k->grid[g] == 1;
    if (!along || k->ninsns != 1 || i->run != exec_nc_matmul || !kernels->small_products)
        return;
    p = ARENA_NEW(a, struct small_products);
    if (!product_is_small(i, kernels->lanes, p))
        return;
    p->c_next = distance(&i->o[DST]);
    p->a_next = distance(&i->o[MOVING]);
    p->w_next = distance(&i->o[STATIONARY]);
    k->many = p;
    k->run_many = run_products;
}
