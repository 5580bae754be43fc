#include "backend/lower/strict.h"

/* Whether dim i of an HBM pattern takes room in a tile. */
static bool has_room(const struct ap *hbm, int i)
{
    return i == 0 || (hbm->dim[i].count != 1 && hbm->dim[i].step != 0);
}

struct ap stage_tile(struct kernel_builder *k, const struct ap *hbm, int mem, int dtype)
{
    dim_t elements = 1, steps[MAX_AP_RANK] = {0};
    for (int i = hbm->rank - 1; i > 0; i--)
        if (has_room(hbm, i)) {
            steps[i] = elements;
            elements = dim_mul(&k->p->dims, elements, hbm->dim[i].count);
        }
    steps[0] = elements;
    struct ap a = {.mem = (uint8_t)mem, .dtype = (uint8_t)dtype, .rank = hbm->rank};
    a.tensor = kernel_tile(k, mem, dtype, hbm->dim[0].count, elements);
    for (int i = 0; i < hbm->rank; i++) {
        a.dim[i] = hbm->dim[i];
        a.dim[i].step = steps[i];
    }
    return a;
}

static void add_dim(struct ap *to, const struct ap_dim *d)
{
    to->dim[to->rank++] = *d;
}

/* Moves between HBM and a tile: `into` the tile, or out of it. */
static void transfer(struct kernel_builder *k, const struct ap *hbm, const struct ap *tile,
                     bool into)
{
    int inner = -1; /* last dim that takes room */
    for (int i = 1; i < hbm->rank; i++)
        if (has_room(hbm, i))
            inner = i;
    bool transpose =
        inner > 0 && hbm->dim[0].count != 1 && hbm->dim[0].step == 1 && hbm->dim[inner].step != 1;
    struct ap far = *hbm, near = *tile;
    far.rank = near.rank = 0;
    for (int i = transpose; i < (transpose ? inner : hbm->rank); i++)
        if (has_room(hbm, i))
            add_dim(&far, &hbm->dim[i]), add_dim(&near, &tile->dim[i]);
    if (transpose) {
        add_dim(&far, &hbm->dim[inner]), add_dim(&far, &hbm->dim[0]);
        add_dim(&near, &tile->dim[0]), add_dim(&near, &tile->dim[inner]);
    }
    struct ap dst = into ? near : far, src = into ? far : near;
    if (transpose)
        emit_dma_transpose(k, (struct dma_transpose){.dst = dst, .src = src});
    else
        emit_dma_copy(k, (struct dma_copy){.dst = dst, .src = src});
}

struct ap stage_in(struct kernel_builder *k, struct ap hbm)
{
    struct ap tile = stage_tile(k, &hbm, MEM_SBUF, hbm.dtype);
    transfer(k, &hbm, &tile, true);
    return tile;
}

void stage_out(struct kernel_builder *k, struct ap hbm, struct ap tile)
{
    if (tile.mem == MEM_PSUM || tile.dtype != hbm.dtype) {
        struct ap stored = stage_tile(k, &hbm, MEM_SBUF, hbm.dtype);
        emit_copy(k, stored, tile);
        tile = stored;
    }
    transfer(k, &hbm, &tile, false);
}

struct ap stage_value(struct stage *s, struct kernel_builder *k, struct value *v, struct ap hbm,
                      bool result)
{
    for (int i = 0; i < s->n; i++)
        if (s->values[i].v == v)
            return s->values[i].tile;
    struct ap tile = result ? stage_tile(k, &hbm, MEM_SBUF, hbm.dtype) : stage_in(k, hbm);
    ARENA_GROW(&k->p->arena, s->values, s->n, s->cap);
    s->values[s->n++] = (struct staged_value){v, hbm, tile, result};
    return tile;
}

void stage_flush(struct stage *s, struct kernel_builder *k)
{
    for (int i = 0; i < s->n; i++)
        if (s->values[i].result)
            stage_out(k, s->values[i].hbm, s->values[i].tile);
}

dim_t strict_free_size(const struct lowering *l, int tiles, dim_t most)
{
    dim_t room = l->m->sbuf / 4 * 3 / 4 / (tiles > 0 ? tiles : 1);
    return room < most ? room : most;
}
