#include "frontend/standalone/use.h"
#include "frontend/standalone/use_blocks.h"

#include "runtime/exec/engine.h"
#include "runtime/exec/forms.h"
#include "runtime/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of the kernel tables' rows ---- */

static const char *const activations[] = {
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high) #name,
#include "runtime/kernels/kernels.def"
};
static const char *const binaries[] = {
#define KERNEL_BINARY(name) #name,
#include "runtime/kernels/kernels.def"
};
static const char *const comparisons[] = {
#define KERNEL_COMPARE(name, operator) #name,
#include "runtime/kernels/kernels.def"
};
static const char *const reductions[] = {
#define KERNEL_REDUCE(name, start, step) #name,
#include "runtime/kernels/kernels.def"
};
static const char *const type_names[DT_END] = {
    [DT_BOOL] = "BOOL", [DT_I8] = "I8",   [DT_U8] = "U8",   [DT_I16] = "I16",
    [DT_U16] = "U16",   [DT_I32] = "I32", [DT_U32] = "U32", [DT_I64] = "I64",
    [DT_U64] = "U64",   [DT_F32] = "F32", [DT_F64] = "F64"};

static const char *const members[INSN_COUNT] = {
#define USES(insn, list) [INSN_##insn] = list,
#define ROUTINE(...)
#include "frontend/standalone/use.def"
};

static const char *const members_of_routine[OP_COUNT] = {
#define USES(...)
#define ROUTINE(op, list) [OP_##op] = list,
#include "frontend/standalone/use.def"
};

static void add_members(struct used *u, const char *list)
{
    for (const char *s = list; s && *s;) {
        size_t n = strcspn(s, " ");
        if (s[n - 1] != '?')
            use_add(u, "KERNEL_%.*s", (int)n, s);
        s += n + (s[n] == ' ');
    }
}

/* Behind a product. */
static void add_step_activation(struct used *u, const char *name)
{
    if (!strcmp(name, "copy") || !strcmp(name, "relu") || !strcmp(name, "clip"))
        return;
    use_add(u, "ACTIVATE_%s", name);
    use_add(u, "STEP_ACTIVATION");
}

static void add_activation(struct used *u, const char *name)
{
    use_add(u, "ACTIVATION_%s", name);
    add_step_activation(u, name);
}

/* ---- functions ---- */

static void add_binary(struct used *u, const char *name, bool reverses)
{
    use_add(u, "BINARY_%s", name);
    if (reverses && (!strcmp(name, "sub") || !strcmp(name, "div")))
        use_add(u, "BINARY_r%s", name);
}

/* reverses: operands may be exchanged; reduces: rows to one element. */
static void add_function(struct used *u, int op, bool reverses, bool reduces)
{
    struct diag ignored = {0};
    struct alu alu;
    use_add(u, "OP_%s", op_name((enum op)op));
    if (!alu_find(&alu, op, false, 0, 0, &ignored))
        return;
    if (alu.kind == ALU_ACTIVATION)
        add_activation(u, activations[alu.index]);
    else if (alu.kind == ALU_BINARY)
        add_binary(u, binaries[alu.index], reverses);
    else if (alu.kind == ALU_COMPARE)
        use_add(u, "COMPARE_%s", comparisons[alu.index]);
    else if (alu.kind == ALU_SCALAR)
        use_add(u, "EW_%s", op_name((enum op)op));
    if (alu.kind == ALU_COMPARE)
        use_add(u, "COMPARISONS");
    if (alu.kind == ALU_SCALAR)
        use_add(u, "SCALAR_FUNCTIONS");
    if (reduces && alu_reduce(op) != REDUCE_COUNT)
        use_add(u, "REDUCE_%s", reductions[alu_reduce(op)]);
}

/* A function of integers: its scalar row, and the kernels of the types. */
static void add_integer_function(struct used *u, int op)
{
    use_add(u, "EW_%s", op_name((enum op)op));
    use_add(u, "INTEGER_%s", op_name((enum op)op));
}

/* ---- element types ---- */

static void add_types(struct used *u, const bool *types)
{
    static const struct {
        int type;
        const char *name;
    } narrow[] = {
        {DT_BF16, "bf16"}, {DT_F16, "f16"}, {DT_I8, "i8"}, {DT_U8, "u8"}, {DT_I32, "i32"}};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (types[narrow[i].type] || (narrow[i].type == DT_U8 && types[DT_BOOL])) {
            use_add(u, "CONVERT_f32_from_%s", narrow[i].name);
            use_add(u, "CONVERT_%s_from_f32", narrow[i].name);
        }
    for (int t = 0; t < DT_END; t++)
        if (types[t] && t != DT_F32 && t != DT_BF16)
            use_add(u, "OTHER_TYPES");
    for (int t = 0; t < DT_END; t++)
        if (types[t] && type_names[t] && t != DT_F32 && t != DT_F64) {
            use_add(u, "INTEGERS_%s", type_names[t]);
        }
}

/* Conversions between types that instructions or calls may convert. */
static void add_casts(struct used *u, const bool *from, const bool *to)
{
    for (int x = 0; x < DT_END; x++)
        for (int y = 0; y < DT_END; y++)
            if (x != y && from[x] && to[y] && type_names[x] && type_names[y])
                use_add(u, "CAST_%s_%s", type_names[y], type_names[x]);
}

/* Transposes of elements of these sizes. */
static void add_transposes(struct used *u, const struct insn *n, const bool *types)
{
    if (!members[n->op] || !strstr(members[n->op], "transpose") || n->op == INSN_nc_matmul)
        return;
    int ntypes = 0;
    for (int t = 0; t < DT_END; t++)
        ntypes += types[t];
    for (int t = 0; t < DT_END && ntypes == 1; t++) /* conversions are made row by row */
        if (types[t])
            use_add(u, "TRANSPOSE_%d", (int)dtype_bytes(t));
}

/* ---- instructions ---- */

static bool copies(int op)
{
    return op == INSN_tensor_copy || op == INSN_dma_copy;
}

static bool moves(int op)
{
    return copies(op) || op == INSN_dma_transpose || op == INSN_nc_transpose || op == INSN_dma_gather;
}

/* The step of a dim, from the last one back, where it is the same in all tiles and has neighbours; else 0. */
static int64_t step_of(const struct ap *a, int back)
{
    int dim = a->rank - 1 - back;
    bool known = dim >= 0 && dim_is_const(a->dim[dim].step) && dim_is_const(a->dim[dim].count) && a->dim[dim].count > 1;
    return known ? a->dim[dim].step : 0;
}

static bool is_const(const struct affine *a)
{
    return !a->nterms && dim_is_const(a->base);
}

/* Which of the forms of exec_softmax: those of short rows need no other. */
static void add_softmax(struct used *u, const struct insn *n)
{
    const struct ap *x = &n->ap[AP(softmax, src)], *y = &n->ap[AP(softmax, dst)];
    bool rows = x->dtype == DT_F32 && y->dtype == DT_F32, dense = step_of(x, 0) == 1 && step_of(y, 0) == 1;
    if (n->imm[IMM(softmax, log)].base != 0)
        use_add(u, "KERNEL_log_softmax");
    if (rows)
        use_add(u, "KERNEL_softmax_rows");
    if (rows && dense && y->dim[y->rank - 1].count <= SHORT_ROW)
        return;
    use_add(u, "KERNEL_softmax");
    if (!rows || !dense)
        use_add(u, "KERNEL_softmax_across");
    if (n->flt[FLT(softmax, factor)] != 1) {
        use_add(u, "BINARY_mul");
        use_add(u, "SOFTMAX_FACTOR");
    }
}

static void add_softmax_block(struct used *u, const struct insn *n)
{
    bool bf16 = n->ap[AP(softmax_block, dst)].dtype == DT_BF16;
    use_add(u, "SOFTMAX_BLOCK_%s", bf16 ? "bf16" : "f32");
}

static void add_norm(struct used *u, const struct insn *n)
{
    bool rms = n->imm[IMM(layer_norm, rms)].base != 0;
    use_add(u, "KERNEL_%s", rms ? "rms_norm" : "layer_norm");
    if (rms && n->ap[AP(layer_norm, beta)].mem != MEM_NONE)
        use_add(u, "BINARY_add");
}

static void add_pool(struct used *u, const struct insn *n)
{
    const struct ap *x = &n->ap[AP(window_pool, image)], *y = &n->ap[AP(window_pool, dst)];
    bool singles = x->dtype == DT_F32 && y->dtype == DT_F32, max = n->func[FUNC(window_pool, op)] == OP_max,
         bytes = x->dtype == y->dtype && (x->dtype == DT_U8 || x->dtype == DT_I8);
    if (singles)
        use_add(u, "KERNEL_%s", max ? "pool_max" : "pool_sum");
    if (bytes && max)
        use_add(u, "KERNEL_pool_max_bytes");
    if (singles && step_of(x, 1) < 2) /* pixels may be neighbours */
        use_add(u, "KERNEL_pool_plane");
}

/* What is made of two functions at once (exec_dve.c), in instructions that do not exchange operands. */
static void add_two_functions(struct used *u, const struct insn *n)
{
    int op0 = n->func[FUNC(tensor_scalar, op0)], op1 = n->func[FUNC(tensor_scalar, op1)];
    if (op0 == OP_mul && op1 == OP_add)
        use_add(u, "KERNEL_multiply_add");
    if (op0 == OP_max && op1 == OP_min)
        add_activation(u, "clip");
}

/* What scales, where the function does not. */
static void add_scale(struct used *u, const struct insn *n)
{
    struct diag ignored = {0};
    struct alu alu;
    int f = n->func[FUNC(activation, f)];
    if (!alu_find(&alu, f, false, 0, 0, &ignored) || alu.kind != ALU_ACTIVATION)
        add_activation(u, "copy");
    if (n->ap[AP(activation, sum)].mem != MEM_NONE)
        use_add(u, "REDUCE_sum");
}

static bool reverses(const struct insn *n)
{
    bool straight = n->op == INSN_tensor_tensor || n->op == INSN_activation || n->op == INSN_depthwise_conv ||
                    n->op == INSN_plane_conv;
    if (n->op != INSN_tensor_scalar && n->op != INSN_scalar_tensor_tensor)
        return !straight;
    for (int i = 0; i < 2; i++) /* as many functions, whose immediates come first */
        if (!is_const(&n->imm[i]) || n->imm[i].base != 0)
            return true;
    return false;
}

static void add_functions(struct used *u, const struct insn *n, bool integers)
{
    bool reduces = n->op != INSN_tensor_tensor && n->op != INSN_activation && n->op != INSN_tensor_scalar &&
                   n->op != INSN_scalar_tensor_tensor && n->op != INSN_depthwise_conv && n->op != INSN_plane_conv;
    for (int i = 0; i < insn_info(n->op)->nfuncs; i++) {
        if (n->op == INSN_window_pool) { /* kernels of its own */
            use_add(u, "OP_%s", op_name((enum op)n->func[i]));
            continue;
        }
        add_function(u, n->func[i], reverses(n), reduces);
        if (integers || n->op == INSN_tensor_alu || n->op == INSN_scatter)
            add_integer_function(u, n->func[i]);
    }
}

/* Whether a dim of a tile is one element, of some. */
static bool may_be_one(const struct ap *y, int dim)
{
    const struct ap_clip *c = dim < 0 ? NULL : y->dim[dim].clip;
    return dim < 0 || !dim_is_const(y->dim[dim].count) || y->dim[dim].count == 1 ||
           (c && (!dim_is_const(c->limit) || c->limit == 1));
}

/* Whether what it sums is added to what is there. */
static void add_accumulate(struct used *u, const struct insn *n)
{
    const struct affine *more = &n->imm[IMM(nc_matmul, accumulate)];
    if (is_const(more) && more->base == 0)
        return;
    use_add(u, "GEMM_ACCUMULATES");
    use_add(u, "GEMM_OTHER");
}

static void add_product_transposes(struct used *u, const struct insn *n)
{
    use_add(u, "KERNEL_transpose"); /* rows may be columns in memory, pairs one element */
    use_add(u, "TRANSPOSE_4");
    use_add(u, "TRANSPOSE_%d", (int)dtype_bytes(n->ap[AP(nc_matmul, moving)].dtype));
    use_add(u, "TRANSPOSE_%d", (int)dtype_bytes(n->ap[AP(nc_matmul, stationary)].dtype)); /* they may be exchanged */
}

static const char *const gemm_names[] = {[GEMM_F32] = "gemm_f32", [GEMM_BF16] = "gemm_bf16", [GEMM_U8S8] = "gemm_u8s8"};

/* Of tiles that are not known. */
static void add_any_product(struct used *u, const struct insn *n)
{
    const struct ap *w = &n->ap[AP(nc_matmul, stationary)], *x = &n->ap[AP(nc_matmul, moving)],
                    *y = &n->ap[AP(nc_matmul, dst)];
    bool packed = dim_is_const(n->imm[IMM(nc_matmul, packing)].base) &&
                  n->imm[IMM(nc_matmul, packing)].base != 0;
    bool bf16 = w->dtype == DT_BF16 && (packed || x->dtype == DT_BF16);
    enum gemm_type type = bf16 ? GEMM_BF16 : w->dtype == DT_I8 ? GEMM_U8S8 : GEMM_F32;
    if (w->dtype == DT_F32 && x->dtype == DT_F32 && y->dtype == DT_F32 && may_be_one(y, y->rank - 1))
        packed = false; /* one column may be computed as one row (exec_pe.c) */
    use_add(u, "KERNEL_%s", gemm_names[type]);
    use_add_blocks(u, y, type, !packed);
    if (!packed && w->dtype == DT_I8) {
        use_add(u, "KERNEL_gemm_f32");
        use_add_blocks(u, y, GEMM_F32, true);
    }
    use_add(u, "GEMM_FAR_ROWS");
    if (!packed || x->rank < 2 || step_of(x, 0) != 1)
        add_product_transposes(u, n);
    if (!packed)
        use_add(u, "MATMUL_PACKS");
    if (!packed && bf16)
        use_add(u, "KERNEL_interleave");
    if (may_be_one(y, y->rank - 1) || (!packed && may_be_one(y, y->rank - 2)))
        use_add(u, "KERNEL_dot");
}

static void add_product(struct used *u, const struct insn *n, const struct insn_forms *f)
{
    add_accumulate(u, n);
    if (f->forms & FORM_UNFORESEEN) {
        add_any_product(u, n);
        return;
    }
    if (f->forms & (FORM_PACKS | FORM_GATHERS))
        add_product_transposes(u, n);
    if (f->forms & (FORM_DOT | FORM_DOTS))
        use_add(u, "KERNEL_dot");
    for (const struct gemm_tile *t = f->tiles; t < f->tiles + f->ntiles; t++) {
        use_add(u, "KERNEL_%s", gemm_names[t->type]);
        use_add_tile(u, t->rows, t->columns, t->type);
        if (t->type == GEMM_BF16 && f->forms & FORM_PACKS)
            use_add(u, "KERNEL_interleave");
        if (t->type == GEMM_F32 && gemm_is_part(t->w_pitch, t->columns))
            use_add(u, "GEMM_FAR_ROWS");
    }
}

/* Which of the forms of recurrent.inc. */
static void add_cells(struct used *u, const struct insn *n)
{
    const struct ap *x = &n->ap[AP(recurrence, x)];
    const char *type = n->ap[AP(recurrence, weights)].dtype == DT_BF16 ? "bf16" : "f32";
    dim_t gates = n->imm[IMM(recurrence, gates)].base;
    for (int known = 3; known <= 4; known++)
        if (!dim_is_const(gates) || gates == known || (gates == 1 && known == 4)) /* an RNN shares an LSTM's products */
            use_add(u, "RECURRENT_%d_%s", known, type);
    if (x->rank != 3 || !dim_is_const(x->dim[1].count) || x->dim[1].count != 1)
        use_add(u, "RECURRENT_ROWS");
}

/* The inputs' part of the gates: products of some rows of all batches with what a block of weights has of the gates. */
static void add_recurrence(struct used *u, const struct insn *n)
{
    const struct ap *w = &n->ap[AP(recurrence, input_weights)], *b = &n->ap[AP(recurrence, bias)];
    add_cells(u, n);
    bool known = w->rank == 3 && b->rank == 2 && dim_is_const(w->dim[2].count) && dim_is_const(b->dim[1].count);
    dim_t block = known ? w->dim[2].count : 0, gates = n->imm[IMM(recurrence, gates)].base,
          width = known && dim_is_const(gates) ? gates * b->dim[1].count : 0;
    if (block <= 0 || width <= 0) {
        use_add_every_block(u);
        return;
    }
    use_add_columns(u, width < block ? width : block);
    if (width > block && width % block)
        use_add_columns(u, width % block);
}

/* Which of the forms of conv.inc; others have one for all. */
static void add_depthwise(struct used *u, const struct insn *n)
{
    const struct ap *w = &n->ap[AP(depthwise_conv, weights)];
    dim_t width = w->rank == 3 ? w->dim[1].count : 0,
          stride = n->imm[IMM(depthwise_conv, stride_w)].base;
    if (width > 0 && dim_is_const(stride))
        use_add(u, "DEPTHWISE_%lld", (long long)(width * 10 + stride));
    if (n->ap[AP(depthwise_conv, image)].dtype == DT_BF16)
        use_add(u, "DEPTHWISE_bf16");
}

/* Which of the forms of winograd.inc. */
static void add_winograd(struct used *u, const struct insn *n)
{
    bool input = n->op == INSN_winograd_input;
    dim_t size = input ? n->imm[IMM(winograd_input, size)].base
                       : n->imm[IMM(winograd_output, size)].base;
    bool bf16 = input && n->ap[AP(winograd_input, dst)].dtype == DT_BF16;
    for (int known = 2; known <= 4; known += 2)
        if (!dim_is_const(size) || size == known)
            use_add(u, "WINOGRAD_%d", known);
    if (input)
        use_add(u, "WINOGRAD_%s", bf16 ? "bf16" : "f32");
}

/* What may follow a product, on numbers of 16 bits: all but stores of bf16, which all programs have. */
static bool may_step_shorts(const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    bool any = false;
    for (int i = 0; i < info->naps; i++)
        any |= n->ap[i].mem != MEM_NONE && dtype_is_short_float(n->ap[i].dtype) &&
               (n->ap[i].dtype == DT_F16 || info->ap[i].access != 'w');
    return any && (n->op == INSN_activation || n->op == INSN_tensor_copy || n->op == INSN_tensor_tensor);
}

static const char *const affine_types[DT_END] = {
    [DT_F32] = "f32", [DT_I32] = "i32", [DT_U8] = "u8", [DT_I8] = "i8"};

/* Forms of affine.inc. */
static void add_affine(struct used *u, int from, int to, bool adds)
{
    use_add(u, "KERNEL_affine");
    if (affine_types[from])
        use_add(u, "AFFINE_FROM_%s", affine_types[from]);
    use_add(u, "AFFINE_TO_%s", to == DT_U8 || to == DT_I8 ? "bytes" : "f32");
    if (adds)
        use_add(u, "AFFINE_ADDS");
}

/* Whole numbers in or out of tiles of floats: affine_operands (exec/engine.c). */
static void add_affine_of(struct used *u, const struct insn *n, const struct insn_forms *f)
{
    _Static_assert(AP(activation, src) == AP(tensor_scalar, src) && AP(activation, dst) == AP(tensor_scalar, dst) &&
                       AP(activation, src) == AP(tensor_alu, src) && AP(activation, dst) == AP(tensor_alu, dst),
                   "one place for each of them");
    bool takes = n->op == INSN_activation || n->op == INSN_tensor_scalar,
         rounds = n->op == INSN_tensor_alu && n->func[FUNC(tensor_alu, op1)] == OP_round_shift;
    if (!takes && !rounds)
        return;
    int from = n->ap[AP(activation, src)].dtype, to = n->ap[AP(activation, dst)].dtype;
    bool whole = affine_types[from] && affine_types[to] && (from != DT_F32 || to != DT_F32) && to != DT_I32;
    if (rounds)
        add_function(u, OP_add, false, false);
    if (whole && (rounds || f->forms & FORM_AFFINE))
        add_affine(u, from, to, n->op == INSN_activation);
}

/* Names of forms that bound instructions take. */
static void add_bound_forms(struct used *u, const struct insn *n, const struct insn_forms *f)
{
    static const struct {
        unsigned form;
        int op; /* or any */
        const char *name;
    } rows[] = {
        {FORM_ROWS, INSN_activation, "ROWS_activation"},
        {FORM_TILES, INSN_activation, "TILES_activation"},
        {FORM_ROWS, INSN_tensor_tensor, "ROWS_tensor_tensor"},
        {FORM_TILES, INSN_tensor_tensor, "TILES_tensor_tensor"},
        {FORM_TILES, INSN_tensor_scalar, "TILES_tensor_scalar"},
        {FORM_FLAT, INSN_COUNT, "FLAT"},
        {FORM_STREAMED, INSN_tensor_copy, "KERNEL_copy_streamed"},
        {FORM_STREAMED, INSN_dma_copy, "KERNEL_copy_streamed"},
        {FORM_TRANSPOSED, INSN_tensor_copy, "KERNEL_transpose"},
        {FORM_TRANSPOSED, INSN_dma_copy, "KERNEL_transpose"},
        {FORM_TRANSPOSED, INSN_window_pool, "KERNEL_transpose"},
        {FORM_EMPTY, INSN_nc_matmul, "MATMUL_EMPTY"},
        {FORM_SLOW, INSN_nc_matmul, "MATMUL_SLOW"},
        {FORM_DOT, INSN_nc_matmul, "MATMUL_DOT"},
        {FORM_DOTS, INSN_nc_matmul, "MATMUL_DOTS"},
        {FORM_GATHERS, INSN_nc_matmul, "MATMUL_GATHERS"},
        {FORM_PACKS, INSN_nc_matmul, "MATMUL_PACKS"},
        {FORM_CONVERTS, INSN_nc_matmul, "MATMUL_CONVERTS"},
        {FORM_WEIGHTS_COME, INSN_nc_matmul, "MATMUL_WEIGHTS_COME"},
        {FORM_STEPS, INSN_nc_matmul, "MATMUL_STEPS"},
        {FORM_LONG_STEPS, INSN_nc_matmul, "GEMM_LONG_STEPS"},
        {FORM_UNFORESEEN, INSN_nc_matmul, "MATMUL_UNFORESEEN"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (f->forms & rows[i].form && (rows[i].op == n->op || rows[i].op == INSN_COUNT))
            use_add(u, "%s", rows[i].name);
}

/* Which of an executor's forms. */
static void add_form(struct used *u, const struct insn *n, const struct insn_forms *f)
{
    static void (*const of[INSN_COUNT])(struct used *, const struct insn *) = {
        [INSN_depthwise_conv] = add_depthwise, [INSN_softmax] = add_softmax, [INSN_layer_norm] = add_norm,
        [INSN_window_pool] = add_pool,         [INSN_tensor_scalar] = add_two_functions,
        [INSN_winograd_input] = add_winograd,  [INSN_winograd_output] = add_winograd,
        [INSN_recurrence] = add_recurrence,    [INSN_activation] = add_scale,
        [INSN_softmax_block] = add_softmax_block};
    if (of[n->op])
        of[n->op](u, n);
    if (n->op == INSN_nc_matmul)
        add_product(u, n, f);
    add_bound_forms(u, n, f);
}

/* What a product before it does. */
static void add_step(struct used *u, const struct insn *n)
{
    struct diag ignored = {0};
    struct alu alu;
    use_add(u, "INSN_%s", insn_info(n->op)->name);
    for (int i = 0; i < insn_info(n->op)->nfuncs; i++)
        use_add(u, "OP_%s", op_name((enum op)n->func[i]));
    if (n->op == INSN_activation && alu_find(&alu, n->func[FUNC(activation, f)], false, 0, 0, &ignored) &&
        alu.kind == ALU_ACTIVATION)
        add_step_activation(u, activations[alu.index]);
    if (may_step_shorts(n))
        use_add(u, "SHORT_STEPS");
}

/* Whether it calls no function for rows. */
static bool takes_tiles_alone(const struct insn *n, const struct insn_forms *f)
{
    bool tiles = n->op == INSN_activation || n->op == INSN_tensor_tensor;
    return insn_info(n->op)->nfuncs == 0 || n->op == INSN_window_pool || (tiles && !(f->forms & FORM_ROWS));
}

static void add_insn(struct used *u, const struct insn *n, const struct insn_forms *f)
{
    const struct insn_info *info = insn_info(n->op);
    bool types[DT_END] = {false}, integers = false;
    if (!f->forms) {
        add_step(u, n);
        return;
    }
    use_add(u, "INSN_%s", info->name);
    use_add(u, "EXEC_%s", info->name);
    add_members(u, members[n->op]);
    for (int i = 0; i < info->naps; i++)
        if (n->ap[i].mem != MEM_NONE) {
            types[n->ap[i].dtype] = true;
            integers |= !dtype_is_engine_float(n->ap[i].dtype);
        }
    add_types(u, types);
    if (!copies(n->op) || f->forms & FORM_TRANSPOSED)
        add_transposes(u, n, types);
    if (moves(n->op) || n->op == INSN_tensor_tensor)
        add_casts(u, types, types);
    add_affine_of(u, n, f);
    if (may_step_shorts(n))
        use_add(u, "SHORT_STEPS");
    if ((n->op == INSN_activation || n->op == INSN_tensor_tensor || n->op == INSN_tensor_scalar) &&
        n->ap[0].dtype == DT_BF16 && f->forms & FORM_TILES)
        use_add(u, "TILES_BF16");
    if (n->op != INSN_nc_matmul && !takes_tiles_alone(n, f))
        use_add(u, "FUNCTION_ROWS");
    add_form(u, n, f);
    if (n->op == INSN_quantized_matmul)
        use_add(u, "GEMM_ANY_u8s8");
    if (n->op == INSN_weight_only_matmul)
        use_add_every_block(u);
    if (n->op == INSN_range_select)
        use_add(u, "REDUCE_max");
    if (n->op == INSN_tensor_alu)
        add_activation(u, "clip");
    add_functions(u, n, integers);
    if (n->op != INSN_tensor_reduce)
        return;
    enum kernel_reduce r = alu_reduce(n->func[FUNC(tensor_reduce, op)]);
    if (r == REDUCE_COUNT)
        use_add(u, "EW_%s", op_name((enum op)n->func[FUNC(tensor_reduce, op)]));
    else
        use_add(u, "REDUCE_ROWS_%s", reductions[r]);
    if (r == REDUCE_sum_square || r == REDUCE_sum_abs) {
        use_add(u, "REDUCE_ROWS_sum");
        use_add(u, "REDUCE_sum");
    }
}

/* ---- calls ---- */

static void add_type(const struct program *p, int slot, bool *types)
{
    if (slot >= 0 && p->slots[slot].type.kind == VK_TENSOR)
        types[p->slots[slot].type.dtype] = true;
}

/* The forms of a routine that has one per type. */
static void add_forms(struct used *u, const char *routine, const bool *types)
{
    for (int t = 0; t < DT_END; t++)
        if (types[t] && type_names[t])
            use_add(u, "%s_%s", routine, type_names[t]);
}

static void add_call(struct used *u, const struct program *p, const struct call *k)
{
    bool in[DT_END] = {false}, out[DT_END] = {false};
    use_add(u, "OP_%s", op_name(k->op));
    use_add(u, "CALL_%s", op_name(k->op));
    add_members(u, members_of_routine[k->op]);
    for (int i = 0; i < k->nin; i++)
        add_type(p, k->in[i], in);
    for (int i = 0; i < k->nout; i++)
        add_type(p, k->out[i], out);
    add_types(u, in);
    add_types(u, out);
    if (k->op == OP_while || k->op == OP_if)
        use_add(u, "CONTROL");
    for (int t = 0; t < DT_END; t++)
        if (in[t] && members_of_routine[k->op] && strstr(members_of_routine[k->op], "transpose"))
            use_add(u, "TRANSPOSE_%d", (int)dtype_bytes(t));
    if (k->op == OP_fft)
        use_add(u, "TRANSPOSE_4"); /* of real and imaginary parts */
    if (k->op == OP_scatter_windows)
        use_add(u, "REDUCE_ROWS_sum"); /* rows that are added */
    if (k->op == OP_quantize_linear || k->op == OP_dequantize_linear)
        for (int t = 0; t < DT_END; t++)
            if (in[t] || out[t])
                add_affine(u, t, t, false);
    if (k->op == OP_cumsum)
        add_forms(u, "RUNNING", in);
    if (k->op == OP_argmax || k->op == OP_argmin || k->op == OP_hardmax || k->op == OP_topk)
        add_forms(u, "ARG_DT", in);
    if (k->op == OP_cast)
        add_casts(u, in, out);
    if (k->op == OP_reduce_window) {
        use_add(u, "BINARY_add");
        use_add(u, "BINARY_mul");
    }
    if (op_info(k->op)->flags & OPF_ELEMENTWISE)
        add_integer_function(u, k->op);
}

/* What routines call whatever the operator: sums in double, and the functions that regions of
 * reductions stand for. */
static void add_routines(struct used *u)
{
    static const char *const combined[] = {"add", "mul", "max", "min", "and", "or", "xor"};
    use_add(u, "CALLS");
    use_add(u, "OTHER_TYPES");
    use_add(u, "FUNCTION_ROWS");
    use_add(u, "GEMM_LONG_STEPS");
    add_members(u, "panel_f64");
    for (size_t i = 0; i < sizeof combined / sizeof *combined; i++) {
        use_add(u, "OP_%s", combined[i]);
        use_add(u, "EW_%s", combined[i]);
    }
}

/* Functions in one form (family_functions.c). */
static bool has_long_function(const struct used *u)
{
    static const char *const names[] = {
#define KERNEL_BINARY(name)
#define KERNEL_LONG_BINARY(name) "BINARY_" #name,
#define KERNEL_ACTIVATION(...)
#define KERNEL_LONG_ACTIVATION(name, ...) "ACTIVATION_" #name, "ACTIVATE_" #name,
#include "runtime/kernels/kernels.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (use_has(u, names[i]))
            return true;
    return false;
}

static bool has_any(const struct used *u, const char *prefix)
{
    for (int i = 0; i < u->count; i++)
        if (!strncmp(u->names[i], prefix, strlen(prefix)))
            return true;
    return false;
}

/* Files of kernels (runtime/kernels/family_*.c) besides the rows, which every program needs. */
static void add_families(struct used *u)
{
    static const char *const images[] = {"pool", "plane_conv", "depthwise", "resize_linear", "winograd_input",
                                         "winograd_output"};
    static const char *const products[] = {"weight_only", "recurrent", "gemm_f32", "gemm_bf16"};
    static const char *const integers[] = {"gemm_u8s8", "depthwise_integer", "weight_only_rounded"};
    static const char *const matrix_unit[] = {"gemm_bf16", "gemm_u8s8"};
#define FAMILY(name)                                                                               \
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)                                        \
        if (has_any(u, arena_printf(u->arena, "KERNEL_%s", name[i])))                              \
            use_add(u, "FAMILY_" #name);
    if (has_long_function(u))
        use_add(u, "FAMILY_functions");
    FAMILY(images)
    FAMILY(products)
    FAMILY(integers)
    FAMILY(matrix_unit)
#undef FAMILY
    if (has_any(u, "INTEGER_") || has_any(u, "CAST_") || has_any(u, "RUNNING_") ||
        has_any(u, "KERNEL_panel_f64"))
        use_add(u, "FAMILY_exact");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct used *use_find(const struct program *p, struct insn_forms *const *forms, const char *isa, struct arena *a)
{
    static const struct insn_forms any = {.forms = FORM_ANY};
    struct used *u = ARENA_NEW(a, struct used);
    u->arena = a;
    u->neon = strstr(isa, " neon ") != NULL;
    u->neon_bf16 = strstr(isa, " neonbf16 ") != NULL;
    add_members(u, "copy lanes fma");
    use_add(u, "CONVERT_f32_from_u8");
    use_add(u, "OP_identity");
    for (int i = 0; i < p->nkernels; i++) {
        const struct insn_forms *f = forms ? forms[i] : NULL;
        for (int j = 0; j < p->kernels[i].ninsns; j++)
            add_insn(u, &p->kernels[i].insns[j], f ? &f[j] : &any);
        use_add_steps(u, &p->kernels[i], f);
    }
    for (int i = 0; i < p->ncalls; i++)
        add_call(u, p, &p->calls[i]);
    if (p->ncalls)
        add_routines(u);
    add_families(u);
    qsort(u->names, (size_t)u->count, sizeof *u->names, by_name);
    return u;
}
