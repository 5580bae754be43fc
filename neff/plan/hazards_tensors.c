/* What tensors in HBM hold, where a kernel is all that writes them: for hazards.c. */
#include "neff/plan/hazards_memory.h"

#include <string.h>

enum { MAX_FOLLOWED = 1 << 26 }; /* elements of a tensor; larger ones count as written */

static bool is_written_elsewhere(const struct program *p, const struct kernel *own, int slot)
{
    for (int j = 0; j < p->nkernels; j++)
        for (int i = 0; &p->kernels[j] != own && i < p->kernels[j].ninsns; i++) {
            const struct insn *n = &p->kernels[j].insns[i];
            for (int a = 0; a < insn_info(n->op)->naps; a++)
                if (n->ap[a].mem == MEM_HBM && slot_root(p, n->ap[a].tensor) == slot &&
                    insn_info(n->op)->ap[a].access != 'r')
                    return true;
        }
    return false;
}

/* The bytes of the elements of all accesses of a slot where all are of one size; 0: it is not followed. */
static int64_t element_bytes(const struct hazard_memory *m, int slot)
{
    const struct slot *s = &m->p->slots[slot];
    int64_t bytes = s->type.kind == VK_TENSOR ? (int64_t)dtype_bytes(s->type.dtype) : 0;
    if (s->kind != SLOT_PLANNED || is_written_elsewhere(m->p, m->k, slot))
        return 0;
    for (int i = 0; i < m->k->ninsns; i++)
        for (int a = 0; a < insn_info(m->k->insns[i].op)->naps; a++) {
            const struct ap *ap = &m->k->insns[i].ap[a];
            if (ap->mem == MEM_HBM && slot_root(m->p, ap->tensor) == slot &&
                (int64_t)dtype_bytes(ap->dtype) != bytes)
                return 0;
        }
    return bytes;
}

void tensor_contents_init(struct hazard_memory *m)
{
    m->tensors = ARENA_ARRAY(m->arena, struct tensor_map, m->p->nslots + 1);
    for (int s = 0; s < m->p->nslots; s++) {
        int64_t bytes = element_bytes(m, s), elements = 1;
        const struct type *t = &m->p->slots[s].type;
        for (int i = 0; bytes && i < t->rank && elements <= MAX_FOLLOWED; i++)
            elements *= dim_value(m->values, t->dims[i]);
        if (bytes && elements >= 0 && elements <= MAX_FOLLOWED)
            m->tensors[s] = (struct tensor_map){bytes, elements, ARENA_ARRAY(m->arena, uint8_t, elements + 1)};
    }
}

static const struct tensor_map *map_of(const struct hazard_memory *m, const struct box *b)
{
    const struct tensor_map *map = &m->tensors[b->tensor];
    return map->written && b->total && b->low >= 0 && b->high <= map->elements * map->bytes ? map : NULL;
}

void tensor_write(const struct hazard_memory *m, const struct box *b)
{
    const struct tensor_map *map = map_of(m, b);
    struct box j = box_joined(b);
    int64_t at[MAX_AP_RANK] = {0}, first = j.offset;
    if (!map)
        return;
    do
        memset(map->written + first / map->bytes, 1, (size_t)(j.run / map->bytes));
    while (box_next(&j, at, &first));
}

bool tensor_is_written(const struct hazard_memory *m, const struct box *b)
{
    const struct tensor_map *map = map_of(m, b);
    struct box j = box_joined(b);
    int64_t at[MAX_AP_RANK] = {0}, first = j.offset;
    if (!map)
        return true;
    do
        if (memchr(map->written + first / map->bytes, 0, (size_t)(j.run / map->bytes)))
            return false;
    while (box_next(&j, at, &first));
    return true;
}
