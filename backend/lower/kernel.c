#include "backend/lower/kernel.h"

#include <assert.h>

struct kernel_builder kernel_begin(struct lowering *l, const struct node *n, const char *name)
{
    struct kernel_builder k = {.l = l, .node = program_node_of(l, n)};
    if ((!name || !*name) && n->nout && n->out[0]->name)
        name = n->out[0]->name;
    k.kernel = add_kernel(l, arena_strdup(&l->p->arena, name));
    return k;
}

struct kernel *kernel_of(struct kernel_builder *k)
{
    return &k->l->p->kernels[k->kernel];
}

int kernel_grid(struct kernel_builder *k, dim_t count)
{
    struct kernel *kernel = kernel_of(k);
    assert(kernel->ngrid < MAX_GRID && kernel->nvars == kernel->ngrid);
    kernel->grid[kernel->ngrid] = count;
    kernel->nvars++;
    return kernel->ngrid++;
}

int kernel_loop(struct kernel_builder *k, dim_t count)
{
    struct kernel *kernel = kernel_of(k);
    int var = kernel->ngrid + k->depth++;
    assert(var < MAX_VARS);
    if (kernel->nvars <= var)
        kernel->nvars = var + 1;
    struct insn *i = kernel_insn(k, INSN_loop);
    i->imm[0].base = var;
    i->imm[1].base = count;
    return var;
}

void kernel_end_loop(struct kernel_builder *k)
{
    kernel_insn(k, INSN_end);
    k->depth--;
}

int kernel_tile(struct kernel_builder *k, int mem, int dtype, dim_t partitions, dim_t elements)
{
    struct kernel *kernel = kernel_of(k);
    ARENA_GROW(&k->l->p->arena, kernel->tiles, kernel->ntiles, kernel->tiles_cap);
    kernel->tiles[kernel->ntiles] =
        (struct tile){(uint8_t)mem, (uint8_t)dtype, partitions, elements, -1};
    return kernel->ntiles++;
}

struct insn *kernel_insn(struct kernel_builder *k, enum opcode op)
{
    struct insn *i = kernel_add(k->l->p, kernel_of(k), op);
    i->node = k->node;
    return i;
}

struct ap ap_slot(struct lowering *l, int slot)
{
    return (struct ap){.mem = MEM_HBM, .dtype = l->p->slots[slot].type.dtype, .tensor = slot};
}

struct ap ap_tile(struct kernel_builder *k, int tile)
{
    const struct tile *t = &kernel_of(k)->tiles[tile];
    struct ap a = {.mem = t->mem, .dtype = t->dtype, .tensor = tile};
    ap_push(&a, t->elements, t->partitions);
    ap_push(&a, 1, t->elements);
    return a;
}

struct ap ap_absent(void)
{
    return (struct ap){.mem = MEM_NONE};
}

void ap_push(struct ap *a, dim_t step, dim_t count)
{
    assert(a->rank < MAX_AP_RANK);
    a->dim[a->rank++] = (struct ap_dim){.step = step, .count = count};
}

void ap_push_tile(struct lowering *l, struct ap *a, dim_t step, dim_t tile, int var, dim_t limit)
{
    ap_push(a, step, tile);
    if (var < 0)
        return;
    ap_clip(l, a, a->rank - 1, var, tile, limit);
    ap_move(l, a, var, dim_mul(&l->p->dims, tile, step));
}

void ap_move(struct lowering *l, struct ap *a, int var, dim_t coef)
{
    coef = dim_add(&l->p->dims, affine_coef(&a->offset, var), coef);
    affine_set(&a->offset, &l->p->arena, var, coef);
}

void ap_clip(struct lowering *l, struct ap *a, int dim, int var, dim_t factor, dim_t limit)
{
    struct ap_clip clip = {var, factor, limit};
    a->dim[dim].clip = var >= 0 ? arena_copy(&l->p->arena, &clip, sizeof clip) : NULL;
}

void dense_steps(struct dim_table *t, int rank, const dim_t *dims, dim_t *steps)
{
    dim_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        steps[i] = step;
        step = dim_mul(t, step, dims[i]);
    }
}

void emit_copy(struct kernel_builder *k, struct ap dst, struct ap src)
{
    bool dma = dst.mem == MEM_HBM || src.mem == MEM_HBM;
    struct insn *i = kernel_insn(k, dma ? INSN_dma_copy : INSN_tensor_copy);
    i->ap[0] = dst;
    i->ap[1] = src;
}

void emit_memset(struct kernel_builder *k, struct ap dst, float value)
{
    struct insn *i = kernel_insn(k, INSN_memset);
    i->ap[0] = dst;
    i->flt[0] = value;
}

void emit_tensor_tensor(struct kernel_builder *k, enum op op, struct ap dst, struct ap a,
                        struct ap b)
{
    struct insn *i = kernel_insn(k, INSN_tensor_tensor);
    i->func[0] = op;
    i->ap[0] = dst;
    i->ap[1] = a;
    i->ap[2] = b;
}

void emit_activation(struct kernel_builder *k, enum op f, struct ap dst, struct ap src,
                     struct ap bias, float factor, float a, float b)
{
    struct insn *i = kernel_insn(k, INSN_activation);
    i->func[0] = f;
    i->ap[0] = dst;
    i->ap[1] = src;
    i->ap[2] = ap_absent();
    i->ap[3] = bias;
    i->ap[4] = ap_absent();
    i->flt[0] = factor, i->flt[1] = a, i->flt[2] = b;
}
