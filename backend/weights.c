#include "backend/weights.h"

#include "backend/move.h"

#include <stdio.h>
#include <stdlib.h>

void *packed_memory(struct lowering *l, size_t bytes)
{
    void *data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!data) {
        fprintf(stderr, "out of memory: packed weights of %zu bytes\n", bytes);
        exit(70);
    }
    graph_own(l->g, data);
    return data;
}

enum pack_type pack_type_of(int dtype)
{
    return dtype == DT_BF16 ? PACK_BF16 : dtype == DT_I8 ? PACK_S8 : PACK_F32;
}

struct packed_weights packed_constant(struct lowering *l, const struct pack_shape *shape, void *data,
                                      const char *name)
{
    static const int dtypes[] = {[PACK_F32] = DT_F32, [PACK_BF16] = DT_BF16, [PACK_S8] = DT_I8};
    struct packed_weights p = {.shape = *shape, .dtype = dtypes[shape->type]};
    int64_t elements = (int64_t)(pack_size(shape) / dtype_bytes(p.dtype));
    struct tensor t = tensor_view(p.dtype, 1, &elements, data);
    p.slot = constant_slot(l, &t, name);
    p.width = p.pitch = pack_width(shape->outs);
    p.group_step = pack_k(shape->type, shape->k) * p.width;
    p.block_step = shape->groups * p.group_step;
    return p;
}

struct packed_weights pack_constant(struct lowering *l, const struct tensor *w, int64_t groups,
                                    int64_t k, int64_t outs, const struct pack_source *steps,
                                    const char *name)
{
    struct pack_shape shape = {pack_type_of(w->dtype), groups, k, outs};
    struct pack_source from = *steps;
    from.data = w->data;
    int64_t count = tensor_count(w);
    float *wide = NULL;
    if (w->dtype == DT_F16) {
        wide = malloc(sizeof *wide * (size_t)(count ? count : 1));
        dtype_convert(DT_F32, wide, DT_F16, w->data, (size_t)count, false);
        from.data = wide;
    }
    void *data = packed_memory(l, pack_size(&shape));
    pack_weights(data, &shape, &from);
    free(wide);
    return packed_constant(l, &shape, data, name);
}

bool pack_computed_possible(int dtype, int64_t in_group)
{
    return dtype == DT_F32 || (dtype == DT_BF16 && in_group % 2 == 0);
}

/* Part of the outs of every tap, from the model's order to the packed one. */
static void emit_pack(struct lowering *l, const struct node *n, const struct packed_weights *p,
                      const struct strided *w, int64_t first, int64_t block, int64_t blocks)
{
    int64_t unit = p->dtype == DT_BF16 ? 2 : 1, row = p->pitch * unit;
    struct dim_table *t = &l->p->dims;
    struct move m = {.to_slot = p->slot, .from_slot = w->slot};
    m.to_offset = first / p->width * p->block_step;
    m.from_offset = dim_mul(t, w->steps[0], first);
    move_dim(&m, blocks, p->block_step, dim_mul(t, w->steps[0], block));
    int64_t taps = p->shape.groups;
    for (int i = 2; i < w->rank; i++) {
        taps /= w->dims[i];
        move_dim(&m, w->dims[i], taps * p->group_step, w->steps[i]);
    }
    move_dim(&m, p->shape.k / unit, row, dim_mul(t, w->steps[1], unit));
    move_dim(&m, block, unit, w->steps[0]);
    if (unit > 1)
        move_dim(&m, unit, 1, w->steps[1]);
    if (move_possible(l, &m))
        emit_move(l, n, "pack weights", &m);
}

/* What is stored beside the weights is multiplied too, and thrown away: it must be a number. */
static void clear(struct lowering *l, const struct node *n, const struct packed_weights *p,
                  int64_t count)
{
    struct kernel_builder k = kernel_begin(l, n, "clear weights");
    struct ap a = ap_slot(l, p->slot);
    ap_push(&a, 1, count);
    emit_memset(&k, a, 0);
}

struct packed_weights pack_computed(struct lowering *l, const struct node *n,
                                    const struct strided *w, int dtype, int64_t group)
{
    int64_t outs = w->dims[0] / group, taps = 1;
    for (int i = 2; i < w->rank; i++)
        taps *= w->dims[i];
    struct packed_weights p = {.shape = {pack_type_of(dtype), taps, w->dims[1], outs},
                               .dtype = dtype,
                               .width = pack_width(outs)};
    dim_t step = w->dims[0] * w->dims[1];
    p.in_place = dtype == DT_F32 && w->steps[0] == 1 && outs % PACK_ALIGN_OUTS == 0 &&
                 w->steps[1] == w->dims[0];
    for (int i = w->rank - 1; i >= 2; i--, step *= w->dims[i + 1])
        p.in_place &= w->steps[i] == step;
    if (p.in_place) {
        p.slot = w->slot;
        p.pitch = w->dims[0];
        p.group_step = p.pitch * p.shape.k;
        p.block_step = group > 1 ? outs : PACK_OUTS;
        return p;
    }
    int64_t block = outs < PACK_OUTS ? outs : PACK_OUTS, whole = outs / block;
    p.pitch = p.width;
    p.group_step = p.pitch * p.shape.k;
    p.block_step = taps * p.group_step;
    dim_t total = p.block_step * group * ((outs + PACK_OUTS - 1) / PACK_OUTS);
    struct type type = type_tensor(dtype, 1, &total);
    p.slot = temporary_slot(l, &type, NULL);
    if (outs % p.width)
        clear(l, n, &p, total);
    emit_pack(l, n, &p, w, 0, block, group > 1 ? group : whole);
    if (outs % block)
        emit_pack(l, n, &p, w, whole * block, outs % block, 1);
    return p;
}

struct ap weights_start(struct lowering *l, const struct packed_weights *w, int var_block)
{
    struct ap a = ap_slot(l, w->slot);
    if (var_block >= 0)
        ap_move(l, &a, var_block, w->block_step);
    return a;
}

void weights_finish(const struct packed_weights *w, struct ap *a, int var_block)
{
    ap_push(a, w->pitch, w->shape.k);
    ap_push(a, 1, w->width < w->shape.outs ? w->width : w->shape.outs);
    if (var_block >= 0)
        ap_clip(a, a->rank - 1, var_block, PACK_OUTS, w->shape.outs);
}

void release_weights(struct lowering *l, struct value *v)
{
    v = outer_value(l, v);
    if (v->constant && value_has_one_use(v) && l->slots[v->id] < 0)
        constant_release(l->g, v);
}
