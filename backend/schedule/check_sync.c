#include "backend/schedule/check_sync.h"

/* Of all dim expressions, every symbol being `symbol`. */
static const int64_t *values_for(const struct program *p, int64_t symbol, struct arena *a)
{
    int64_t *symbols = ARENA_ARRAY(a, int64_t, p->dims.nsymbols + 1),
            *values = ARENA_ARRAY(a, int64_t, p->dims.nnodes + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        symbols[i] = symbol;
    dim_eval_all(&p->dims, symbols, values);
    return values;
}

/* values: of all dim expressions (dim_eval_all). Kernels whose grid or loops depend on unknown
 * values are passed over. */
static bool check_kernel_sync(const struct program *p, const struct kernel *k, const int64_t *values,
                       struct diag *d)
{
    static const struct hazard_limits limits = {.insns = 4000, .points = 5};
    const struct machine *m = machine_find(p->target ? p->target : "cpu");
    return kernel_is_sound(p, k, m, values, &limits, d);
}

bool check_program_grids(const struct program *p, int64_t symbol, struct diag *d)
{
    static const struct hazard_limits limits = {.insns = 1 << 20};
    struct arena scratch = {0};
    const int64_t *values = values_for(p, symbol, &scratch);
    bool ok = true;
    for (int i = 0; ok && i < p->nkernels; i++)
        ok = kernel_grid_is_sound(p, &p->kernels[i], values, &limits, d);
    arena_free(&scratch);
    return ok;
}

/* Whether the tensors that a kernel reads and writes have sizes: those of a pooled image are negative where the image
 * is smaller than the window, and then no input has these sizes. */
static bool possible(const struct program *p, const struct kernel *k, const int64_t *values)
{
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *insn = &k->insns[i];
        for (int a = 0; a < insn_info(insn->op)->naps; a++) {
            if (insn->ap[a].mem != MEM_HBM || insn->ap[a].tensor < 0)
                continue;
            const struct type *t = &p->slots[insn->ap[a].tensor].type;
            for (int j = 0; t->kind == VK_TENSOR && j < t->rank; j++)
                if (dim_value(values, t->dims[j]) < 0)
                    return false;
        }
    }
    return true;
}

bool check_program_sync(const struct program *p, int64_t symbol, struct diag *d)
{
    struct arena scratch = {0};
    const int64_t *values = values_for(p, symbol, &scratch);
    bool ok = true;
    for (int i = 0; ok && i < p->nkernels; i++)
        if (possible(p, &p->kernels[i], values) && !check_kernel_sync(p, &p->kernels[i], values, d))
            ok = fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    arena_free(&scratch);
    return ok;
}

bool check_kernel_contents(const struct program *p, const struct kernel *k, struct hazard_unwritten *found,
                           struct diag *d)
{
    int64_t elements = INT64_C(1) << 28;
    const struct hazard_limits limits = {.insns = 1 << 20, .points = 2, .elements = &elements, .unwritten = found};
    struct arena scratch = {0};
    bool ok = kernel_is_sound(p, k, machine_find("cpu"), values_for(p, 1, &scratch), &limits, d);
    arena_free(&scratch);
    return ok;
}
