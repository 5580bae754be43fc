/* Sizes for inputs that are made up. */
#include "neff/core/guard.h"
#include "runtime/exec/exec.h"

/* Guards of sizes that only running tells are left out. */
static bool guards_hold(const struct program *p, const int64_t *symbols)
{
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        if (g->region || dim_is_runtime(&p->dims, g->a) || dim_is_runtime(&p->dims, g->b))
            continue;
        if (!guard_holds(g->kind, dim_eval(&p->dims, symbols, g->a), dim_eval(&p->dims, symbols, g->b)))
            return false;
    }
    return true;
}

/* Bytes of a slot; -1: not known before running, -2: a dim is negative. */
static int64_t slot_bytes(const struct program *p, const struct type *t, const int64_t *symbols)
{
    int64_t n = t->kind == VK_TENSOR && t->rank >= 0 ? (int64_t)dtype_bytes(t->dtype) : -1;
    for (int i = 0; n != -1 && i < t->rank; i++) {
        int64_t size = dim_is_const(t->dims[i]) ? t->dims[i] : dim_eval(&p->dims, symbols, t->dims[i]);
        if (size == DIM_NOT_BOUND)
            return -1;
        if (size < 0)
            n = -2;
        else if (n >= 0 && __builtin_mul_overflow(n, size, &n))
            return -1;
    }
    return n;
}

/* No tensor has fewer bytes than `least`, no view more than what it is a view of. */
static bool slots_fit(const struct program *p, const int64_t *symbols, int64_t min)
{
    for (int s = 0; s < p->nslots; s++) {
        const struct slot *slot = &p->slots[s];
        int64_t n = slot_bytes(p, &slot->type, symbols);
        int64_t room = slot->kind == SLOT_VIEW ? slot_bytes(p, &p->slots[slot->base].type, symbols) : -1;
        if (n == -2 || (n >= 0 && n < min) || (room >= 0 && n > room))
            return false;
    }
    return true;
}

static void take(const struct program *p, int64_t *symbols, int64_t size)
{
    for (int i = 0; i < p->dims.nsymbols; i++) {
        int64_t max = p->dims.symbols[i].max;
        symbols[i] = pinned_value(p, i, max && max < size ? max : size);
    }
}

/* Symbols that guards want to be what other symbols make: those sizes. */
static void follow(const struct program *p, int64_t *symbols)
{
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        const int a = dim_as_symbol(&p->dims, g->a), b = dim_as_symbol(&p->dims, g->b);
        if (g->region || g->kind != GUARD_EQUAL || dim_is_runtime(&p->dims, g->a) || dim_is_runtime(&p->dims, g->b))
            continue;
        if (a >= 0)
            symbols[a] = dim_eval(&p->dims, symbols, g->b);
        else if (b >= 0)
            symbols[b] = dim_eval(&p->dims, symbols, g->a);
    }
}

void sample_sizes(const struct program *p, int64_t *symbols)
{
    static const int16_t sizes[] = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};
    for (int min = 1; min >= 0; min--) /* without tensors that are empty, where that can be */
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            take(p, symbols, sizes[i]);
            follow(p, symbols);
            if (guards_hold(p, symbols) && slots_fit(p, symbols, min))
                return;
        }
    take(p, symbols, 1);
}
