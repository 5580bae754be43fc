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

static void take(const struct program *p, int64_t *symbols, int64_t size)
{
    for (int i = 0; i < p->dims.nsymbols; i++) {
        int64_t max = p->dims.symbols[i].max;
        symbols[i] = pinned_value(p, i, max && max < size ? max : size);
    }
}

void sample_sizes(const struct program *p, int64_t *symbols)
{
    static const int16_t sizes[] = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        take(p, symbols, sizes[i]);
        if (guards_hold(p, symbols))
            return;
    }
    take(p, symbols, 1);
}
