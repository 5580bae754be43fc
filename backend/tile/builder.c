#include "backend/tile/builder.h"

#include "backend/tile/rules.h"

#include <assert.h>

struct kernel_builder kernel_begin(struct program *p, const struct machine *m, const char *name,
                                   int node, struct diag *d)
{
    struct kernel_builder k = {.p = p, .m = m, .d = d, .kernel = p->nkernels, .node = node};
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    p->kernels[p->nkernels++] = (struct kernel){.name = arena_strdup(&p->arena, name ? name : "")};
    return k;
}

struct kernel_builder kernel_reopen(struct program *p, const struct machine *m,
                                    const struct kernel *kernel)
{
    return (struct kernel_builder){
        .p = p, .m = m, .kernel = (int)(kernel - p->kernels), .node = -1};
}

struct kernel *kernel_of(struct kernel_builder *k)
{
    return &k->p->kernels[k->kernel];
}

void kernel_launch(const struct kernel_builder *k, int region)
{
    program_add_step(k->p, region, STEP_LAUNCH, k->kernel);
}

/* ---- mistakes ---- */

/* Notes that d has one; where. */
static void mistake(struct kernel_builder *k)
{
    const char *node = k->node >= 0 ? k->p->nodes[k->node].name : "";
    k->failed = true;
    if (*node)
        fail_in(k->d, "node '%s'", node);
    fail_in(k->d, "kernel '%s'", kernel_of(k)->name);
}

static bool checking(const struct kernel_builder *k)
{
    return k->d && !k->failed;
}

bool kernel_end(struct kernel_builder *k)
{
    if (checking(k) && k->depth) {
        fail(k->d, "loops that are not closed: %d", k->depth);
        mistake(k);
    }
    return !k->failed;
}

/* ---- grid, loops, tiles ---- */

int kernel_grid(struct kernel_builder *k, dim_t count)
{
    struct kernel *kernel = kernel_of(k);
    assert(kernel->ngrid < MAX_GRID && kernel->nvars == kernel->ngrid);
    kernel->grid[kernel->ngrid] = count;
    k->trips[kernel->ngrid] = dim_is_const(count) ? count : -1;
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
    k->trips[var] = dim_is_const(count) ? count : -1;
    emit_loop(k, (struct loop){.var = var, .count = affine_number(count)});
    return var;
}

void kernel_end_loop(struct kernel_builder *k)
{
    emit_end(k, (struct end){});
    k->depth--;
}

int kernel_tile(struct kernel_builder *k, int mem, int dtype, dim_t partitions, dim_t elements)
{
    struct kernel *kernel = kernel_of(k);
    int tile = kernel->ntiles;
    ARENA_GROW(&k->p->arena, kernel->tiles, kernel->ntiles, kernel->tiles_cap);
    kernel->tiles[kernel->ntiles++] =
        (struct tile){.mem = (uint8_t)mem,
                      .dtype = (uint8_t)dtype,
                      .partitions = partitions,
                      .elements = elements,
                      .address = -1};
    if (checking(k) && !tile_check_size(k->m, &kernel->tiles[tile], k->d)) {
        fail_in(k->d, "tile %d in %s", tile, mem == MEM_PSUM ? "psum" : "sbuf");
        mistake(k);
    }
    return tile;
}

int kernel_tile_like(struct kernel_builder *k, int tile)
{
    const struct tile t = kernel_of(k)->tiles[tile];
    int like = kernel_tile(k, t.mem, t.dtype, t.partitions, t.elements);
    kernel_of(k)->tiles[like].name = t.name;
    return like;
}

/* ---- patterns ---- */

struct ap ap_slot(const struct program *p, int slot)
{
    return (struct ap){.mem = MEM_HBM, .dtype = p->slots[slot].type.dtype, .tensor = slot};
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

void ap_push_tile(struct program *p, struct ap *a, dim_t step, dim_t tile, int var, dim_t limit)
{
    ap_push(a, step, tile);
    if (var < 0)
        return;
    ap_clip(p, a, a->rank - 1, var, tile, limit);
    ap_move(p, a, var, dim_mul(&p->dims, tile, step));
}

void ap_move(struct program *p, struct ap *a, int var, dim_t coef)
{
    coef = dim_add(&p->dims, affine_coef(&a->offset, var), coef);
    affine_set(&a->offset, &p->arena, var, coef);
}

void ap_clip(struct program *p, struct ap *a, int dim, int var, dim_t factor, dim_t limit)
{
    struct ap_clip clip = {var, factor, limit};
    a->dim[dim].clip = var >= 0 ? arena_copy(&p->arena, &clip, sizeof clip) : NULL;
}

void dense_steps(struct dim_table *t, int rank, const dim_t *dims, dim_t *steps)
{
    dim_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        steps[i] = step;
        step = dim_mul(t, step, dims[i]);
    }
}

struct affine affine_variable(struct program *p, dim_t base, int var, dim_t coef)
{
    struct affine a = {.base = base};
    affine_set(&a, &p->arena, var, coef);
    return a;
}

/* ---- instructions ---- */

static struct insn *begin(struct kernel_builder *k, enum opcode op)
{
    struct insn *n = kernel_add(k->p, kernel_of(k), op);
    n->node = k->node;
    return n;
}

static void check(struct kernel_builder *k, const struct insn *n)
{
    struct tile_context c = {k->p, kernel_of(k), k->m, k->trips};
    if (checking(k) && !tile_check(&c, n, k->d)) {
        fail_in(k->d, "%s", insn_info(n->op)->name);
        mistake(k);
    }
}

#define OPERAND(name, access, optional, reach) *ap++ = v.name;
#define CONSTANT(name, role)                   *imm++ = affine_number(v.name);
#define VARYING(name, role)                    *imm++ = v.name;
#define FLOAT(name)                            *flt++ = v.name;
#define FUNCTION(name)                         *func++ = (uint16_t)v.name;
#define INSN(id, engine, also, targets, cost, shape, operands, immediates, floats, functions, doc) \
    void emit_##id(struct kernel_builder *k, struct id v)                                          \
    {                                                                                              \
        struct insn *n = begin(k, INSN_##id);                                                      \
        struct ap *ap = n->ap;                                                                     \
        struct affine *imm = n->imm;                                                               \
        float *flt = n->flt;                                                                       \
        uint16_t *func = n->func;                                                                  \
        operands immediates floats functions                                                       \
        (void)ap, (void)imm, (void)flt, (void)func;                                                \
        check(k, n);                                                                               \
    }
#include "neff/isa/isa.def"

void emit_copy(struct kernel_builder *k, struct ap dst, struct ap src)
{
    if (dst.mem == MEM_HBM || src.mem == MEM_HBM)
        emit_dma_copy(k, (struct dma_copy){.dst = dst, .src = src});
    else
        emit_tensor_copy(k, (struct tensor_copy){.dst = dst, .src = src});
}
