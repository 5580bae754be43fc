#include "backend/weights.h"

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

struct packed_weights pack_constant(struct lowering *l, const struct tensor *w, int64_t groups,
                                    int64_t k, int64_t outs, const struct pack_source *steps,
                                    const char *name)
{
    bool as_it_is = w->dtype == DT_BF16 || w->dtype == DT_I8;
    struct packed_weights p = {.shape = {pack_type_of(w->dtype), groups, k, outs},
                               .dtype = as_it_is ? w->dtype : DT_F32};
    struct pack_source from = *steps;
    from.data = w->data;
    int64_t count = tensor_count(w);
    float *wide = NULL;
    if (w->dtype == DT_F16) {
        wide = malloc(sizeof *wide * (size_t)(count ? count : 1));
        dtype_convert(DT_F32, wide, DT_F16, w->data, (size_t)count, false);
        from.data = wide;
    }
    size_t bytes = pack_size(&p.shape);
    void *data = packed_memory(l, bytes);
    pack_weights(data, &p.shape, &from);
    free(wide);
    int64_t elements = (int64_t)(bytes / dtype_bytes(p.dtype));
    struct tensor t = tensor_view(p.dtype, 1, &elements, data);
    p.slot = constant_slot(l, &t, name);
    p.width = pack_width(outs);
    p.group_step = pack_k(p.shape.type, k) * p.width;
    p.block_step = groups * p.group_step;
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
    ap_push(a, w->width, w->shape.k);
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
