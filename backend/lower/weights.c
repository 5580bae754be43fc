#include "backend/lower/weights.h"

#include "backend/lower/move.h"

#include <stdlib.h>
#include <string.h>

enum pack_type pack_type_of(int dtype)
{
    return dtype == DT_BF16 ? PACK_BF16 : dtype == DT_I8 ? PACK_S8 : PACK_F32;
}

struct packed_weights packed_constant(struct lowering *l, struct lazy_constant *m,
                                      const struct value *constant, const struct pack_shape *shape,
                                      int64_t parts, const char *name)
{
    static const int dtypes[] = {[PACK_F32] = DT_F32, [PACK_BF16] = DT_BF16, [PACK_S8] = DT_I8};
    struct packed_weights p = {.shape = *shape, .dtype = dtypes[shape->type]};
    int64_t blocks = (shape->columns + PACK_COLUMNS - 1) / PACK_COLUMNS;
    int64_t elements = parts * (int64_t)(pack_size(shape) / dtype_bytes(p.dtype));
    struct tensor t = tensor_view(p.dtype, 1, &elements, NULL);
    p.slot = lazy_constant(l, m, constant, parts * blocks, &t, name);
    p.width = p.pitch = pack_width(shape->columns);
    p.group_step = pack_k(shape->type, shape->k) * p.width;
    p.block_step = shape->groups * p.group_step;
    return p;
}

struct packer {
    struct lazy_constant lazy;
    struct weight_source from;
    struct pack_shape shape; /* of a part */
};

/* The output channels as dense f32, bf16 or s8 (group, k, out_channels); NULL: out of memory. */
static void *gathered(const struct packer *p, int64_t first, int64_t out_channels)
{
    const struct tensor *w = p->from.constant->constant;
    const struct pack_source *s = &p->from.steps;
    size_t count = (size_t)(p->shape.groups * p->shape.k * out_channels), size = dtype_bytes(w->dtype);
    char *dense = malloc(count * size);
    if (!dense)
        return NULL;
    if (p->from.gather) {
        p->from.gather(p->from.layout, w, first, out_channels, dense);
    } else {
        char *to = dense;
        for (int64_t g = 0; g < p->shape.groups; g++)
            for (int64_t k = 0; k < p->shape.k; k++)
                for (int64_t o = first; o < first + out_channels; o++, to += size) {
                    int64_t at = g * s->group_step + k * s->k_step + o * s->out_step;
                    memcpy(to, (const char *)s->data + size * (size_t)at, size);
                }
    }
    int type = p->from.rounds ? DT_BF16 : w->dtype == DT_F16 ? DT_F32 : w->dtype;
    if (type == w->dtype)
        return dense;
    void *converted = malloc(count * dtype_bytes(type));
    if (converted)
        dtype_convert(type, converted, w->dtype, dense, count, false);
    free(dense);
    return converted;
}

static bool pack_piece(const struct constant_maker *maker, int64_t piece, void *to)
{
    const struct packer *p = (const struct packer *)maker;
    const struct tensor *w = p->from.constant->constant;
    int64_t all = p->shape.columns, blocks = (all + PACK_COLUMNS - 1) / PACK_COLUMNS;
    int64_t out = piece % blocks * PACK_COLUMNS, first = piece / blocks * all + out;
    int64_t out_channels = all - out < PACK_COLUMNS ? all - out : PACK_COLUMNS;
    struct pack_source from = p->from.steps;
    if (!p->from.gather && !p->from.rounds && w->dtype != DT_F16) {
        from.data =
            (const char *)from.data + (int64_t)dtype_bytes(w->dtype) * first * from.out_step;
        pack_block(to, &p->shape, &from, (int)out_channels);
        return true;
    }
    void *dense = gathered(p, first, out_channels);
    from = (struct pack_source){dense, p->shape.k * out_channels, out_channels, 1};
    if (dense)
        pack_block(to, &p->shape, &from, (int)out_channels);
    free(dense);
    return dense != NULL;
}

static bool steps_equal(const struct pack_source *a, const struct pack_source *b)
{
    return a->data == b->data && a->group_step == b->group_step && a->k_step == b->k_step &&
           a->out_step == b->out_step;
}

static bool same_pack(const struct lazy_constant *a, const struct lazy_constant *b)
{
    const struct packer *p = (const struct packer *)a, *q = (const struct packer *)b;
    const struct weight_source *x = &p->from, *y = &q->from;
    bool layouts = x->gather ? x->layout_bytes && x->layout_bytes == y->layout_bytes &&
                                   !memcmp(x->layout, y->layout, x->layout_bytes)
                             : steps_equal(&x->steps, &y->steps);
    return x->gather == y->gather && layouts && pack_shape_equal(&p->shape, &q->shape);
}

struct packed_weights pack_constant(struct lowering *l, const struct weight_source *w,
                                    int64_t groups, int64_t k, int64_t out_channels, int64_t parts,
                                    const char *name)
{
    struct packer *p = ARENA_NEW(&l->g->arena, struct packer);
    p->lazy.maker.make = pack_piece;
    p->lazy.same = same_pack;
    p->from = *w;
    p->shape = (struct pack_shape){w->rounds ? PACK_BF16 : pack_type_of(w->constant->type.dtype), groups, k,
                                   out_channels};
    return packed_constant(l, &p->lazy, w->constant, &p->shape, parts, name);
}

bool pack_computed_possible(int dtype, int64_t in_group)
{
    return dtype == DT_F32 || (dtype == DT_BF16 && in_group % 2 == 0);
}

/* Part of the output channels of every tap, from the model's order to the packed one. */
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
    struct kernel_builder k = begin_kernel(l, n, "clear weights");
    struct ap a = ap_slot(l->p, p->slot);
    ap_push(&a, 1, count);
    emit_memset(&k, (struct memset){.dst = a});
}

struct packed_weights pack_computed(struct lowering *l, const struct node *n,
                                    const struct strided *w, int dtype, int64_t group)
{
    int64_t out_channels = w->dims[0] / group, taps = 1;
    for (int i = 2; i < w->rank; i++)
        taps *= w->dims[i];
    struct packed_weights p = {.shape = {pack_type_of(dtype), taps, w->dims[1], out_channels},
                               .dtype = dtype,
                               .width = pack_width(out_channels)};
    dim_t step = w->dims[0] * w->dims[1];
    p.in_place = dtype == DT_F32 && w->steps[0] == 1 && out_channels % PACK_ALIGN_COLUMNS == 0 &&
                 w->steps[1] == w->dims[0];
    for (int i = w->rank - 1; i >= 2; i--, step *= w->dims[i + 1])
        p.in_place &= w->steps[i] == step;
    if (p.in_place) {
        p.slot = w->slot;
        p.pitch = w->dims[0];
        p.group_step = p.pitch * p.shape.k;
        p.block_step = group > 1 ? out_channels : PACK_COLUMNS;
        return p;
    }
    int64_t block = out_channels < PACK_COLUMNS ? out_channels : PACK_COLUMNS, whole = out_channels / block;
    p.pitch = p.width;
    p.group_step = p.pitch * p.shape.k;
    p.block_step = taps * p.group_step;
    dim_t total = p.block_step * group * ((out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS);
    struct type type = type_tensor(dtype, 1, &total);
    p.slot = temporary_slot(l, &type, NULL);
    if (out_channels % p.width)
        clear(l, n, &p, total);
    emit_pack(l, n, &p, w, 0, block, group > 1 ? group : whole);
    if (out_channels % block)
        emit_pack(l, n, &p, w, whole * block, out_channels % block, 1);
    return p;
}

struct ap weights_start(struct program *p, const struct packed_weights *w, int var_block)
{
    struct ap a = ap_slot(p, w->slot);
    if (var_block >= 0)
        ap_move(p, &a, var_block, w->block_step);
    return a;
}

void weights_finish(struct program *p, const struct packed_weights *w, struct ap *a, int var_block)
{
    ap_push(a, w->pitch, w->shape.k);
    ap_push(a, 1, w->width < w->shape.columns ? w->width : w->shape.columns);
    if (var_block >= 0)
        ap_clip(p, a, a->rank - 1, var_block, PACK_COLUMNS, w->shape.columns);
}
