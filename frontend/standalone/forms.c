#include "frontend/standalone/forms.h"

#include "runtime/exec/engine.h"
#include "runtime/exec/forms.h"
#include "runtime/exec/state.h"

enum { WIDE = 16, NARROW = 8 };

struct tile_list {
    struct insn_forms *of;
    struct arena *a;
};

static void add_tile(void *to, const struct gemm_tile *t)
{
    struct tile_list *list = to;
    struct insn_forms *f = list->of;
    ARENA_GROW(list->a, f->tiles, f->ntiles, f->cap);
    f->tiles[f->ntiles++] = *t;
}

static unsigned forms_of(const struct bound_insn *i, struct tile_list *tiles)
{
    unsigned flat = i->flat ? FORM_FLAT : 0;
    if (!i->o) /* of a loop that has no turns */
        return FORM_RUNS;
    switch (i->op) {
    case INSN_nc_matmul:
        return FORM_RUNS | product_forms(i, add_tile, tiles);
    case INSN_activation:
        return FORM_RUNS | flat | activation_forms(i);
    case INSN_tensor_tensor:
        return FORM_RUNS | flat | tensor_tensor_forms(i);
    case INSN_tensor_scalar:
        return FORM_RUNS | flat | tensor_scalar_forms(i);
    case INSN_tensor_copy:
    case INSN_dma_copy:
        return FORM_RUNS | (i->run == exec_streamed_copy ? FORM_STREAMED : 0) |
               (i->run == exec_dma_transpose ? FORM_TRANSPOSED : 0);
    case INSN_window_pool:
        return FORM_RUNS | pool_forms(i);
    default:
        return FORM_RUNS | flat;
    }
}

/* ---- kernels that are the same for all values of symbols, but for addresses and how many instances there are ---- */

static bool open_affine(const struct affine *a)
{
    bool open = !dim_is_const(a->base);
    for (int i = 0; i < a->nterms; i++)
        open |= !dim_is_const(a->terms[i].coef);
    return open;
}

static bool open_operand(const struct kernel *k, const struct ap *ap)
{
    bool open = false;
    for (int i = 0; ap->mem != MEM_NONE && i < ap->rank; i++) {
        const struct ap_clip *c = ap->dim[i].clip;
        open |= !dim_is_const(ap->dim[i].step) || !dim_is_const(ap->dim[i].count);
        if (c)
            open |= !dim_is_const(c->factor) || !dim_is_const(c->limit) ||
                    (c->var < k->ngrid && !dim_is_const(k->grid[c->var]));
    }
    return open;
}

static bool open_shapes(const struct kernel *k)
{
    bool open = false;
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int j = 0; j < info->naps; j++)
            open |= open_operand(k, &k->insns[i].ap[j]);
        for (int j = 0; j < info->nimms; j++)
            open |= open_affine(&k->insns[i].imm[j]);
    }
    return open;
}

static bool open_grid(const struct kernel *k)
{
    bool open = false;
    for (int i = 0; i < k->ngrid; i++)
        open |= !dim_is_const(k->grid[i]);
    return open;
}

/* ---- all kernels ---- */

static bool add_kernel(const struct forms_query *q, int kernel, int lanes, struct insn_forms *to, struct arena *a)
{
    struct arena scratch = {0};
    struct diag ignored = {0};
    const struct kernel *of = &q->m->p->kernels[kernel];
    const struct bound_kernel *k = bind_kernel(q->m, of, q->values, lanes, &scratch, &ignored);
    const unsigned by_instances = open_grid(of) ? FORM_WEIGHTS_COME | FORM_STREAMED : 0;
    for (int n = 0; k && n < k->ninsns; n += 1 + k->insns[n].skip) {
        struct tile_list tiles = {&to[n], a};
        to[n].forms |= forms_of(&k->insns[n], &tiles) | by_instances;
    }
    arena_free(&scratch);
    return k != NULL;
}

struct insn_forms **forms_find(const struct forms_query *q, struct arena *a)
{
    const struct program *p = q->m->p;
    struct insn_forms **all = ARENA_ARRAY(a, struct insn_forms *, p->nkernels + 1);
    for (int k = 0; k < p->nkernels; k++) {
        struct insn_forms *f = ARENA_ARRAY(a, struct insn_forms, p->kernels[k].ninsns + 1);
        bool known = !q->m->kernel_runtime[k] && !open_shapes(&p->kernels[k]) &&
                     (!q->wide || add_kernel(q, k, WIDE, f, a)) && (!q->narrow || add_kernel(q, k, NARROW, f, a));
        all[k] = known ? f : NULL;
    }
    return all;
}
