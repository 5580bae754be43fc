/*
 * Instructions on fixed places as operations of quick.h: numbers by their code, rows by the kernel
 * that computes them, anything else by its executor.
 */
#include "runtime/exec/quick_rows.h"

#include "runtime/exec/engine.h"
#include "runtime/exec/integer.h"
#include "runtime/exec/quick_short.h"
#include "runtime/exec/small_products.h"

#include <string.h>

/* ---- running rows ---- */

BY_WORDS static inline struct in_row in_row(const struct quick_op *op, int n)
{
    return (struct in_row){(const float *)op->p[n], op->row->step[n]};
}
BY_WORDS static inline struct out_row out_row(const struct quick_op *op)
{
    return (struct out_row){(float *)op->p[QUICK_TO], op->row->step[QUICK_TO]};
}

/* Operands up to `last` lie as a tile's do: the tile's kernel needs no buffers for them. */
BY_WORDS static inline bool is_tile(const struct quick_row *r, int last)
{
    bool tile = r->n == 1 || r->step[QUICK_TO] == 1;
    for (int n = QUICK_A; n <= last; n++)
        tile &= r->step[n] == 0 || r->step[n] == 1;
    return tile;
}
BY_WORDS static inline struct in_tile in_tile(const struct quick_op *op, int n)
{
    return (struct in_tile){(const float *)op->p[n], op->row->step[n], 0};
}
BY_WORDS static inline struct out_tile out_tile(const struct quick_op *op)
{
    struct out_tile y;
    memset(&y, 0, sizeof y); /* f32; a whole word, as it is copied */
    y.at = op->p[QUICK_TO];
    return y;
}

BY_WORDS static bool binary_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    const struct quick_row *r = op->row;
    const struct kernel_table *k = c->workers->k;
    if (is_tile(r, QUICK_B))
        k->binary_tile[r->index](out_tile(op), in_tile(op, QUICK_A), in_tile(op, QUICK_B), 1, (size_t)r->n);
    else
        k->binary[r->index](out_row(op), in_row(op, QUICK_A), in_row(op, QUICK_B), (size_t)r->n);
    return true;
}

BY_WORDS static bool compare_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    const struct quick_row *r = op->row;
    c->workers->k->compare[r->index]((uint8_t *)op->p[QUICK_TO], r->step[QUICK_TO],
                                     in_row(op, QUICK_A), in_row(op, QUICK_B), (size_t)r->n);
    return true;
}

BY_WORDS static bool activation_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    const struct quick_row *r = op->row;
    const struct kernel_table *k = c->workers->k;
    if (is_tile(r, QUICK_C))
        k->activation_tile[r->index](out_tile(op), in_tile(op, QUICK_A), in_tile(op, QUICK_B),
                                     in_tile(op, QUICK_C), 1, (size_t)r->n, r->parameters);
    else
        k->activation[r->index](out_row(op), in_row(op, QUICK_A), in_row(op, QUICK_B), in_row(op, QUICK_C),
                                (size_t)r->n, r->parameters);
    return true;
}

BY_WORDS static bool multiply_add_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    c->workers->k->multiply_add(out_row(op), in_row(op, QUICK_A), in_row(op, QUICK_B),
                                in_row(op, QUICK_C), (size_t)op->row->n);
    return true;
}

BY_WORDS static bool choice_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    const struct quick_row *r = op->row;
    c->workers->k->select(out_row(op), (const uint8_t *)op->p[QUICK_C], r->step[QUICK_C],
                          in_row(op, QUICK_A), in_row(op, QUICK_B), (size_t)r->n);
    return true;
}

BY_WORDS static bool integer_run(struct context *c, const struct quick_op *op, struct diag *d)
{
    const struct quick_row *r = op->row;
    r->integer(op->p[QUICK_TO], r->step[QUICK_TO], op->p[QUICK_A], r->step[QUICK_A], op->p[QUICK_B],
               r->step[QUICK_B], (size_t)r->n);
    return true;
}

static bool product_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    struct small_products p = *op->row->product;
    p.c = (float *)op->p[QUICK_TO];
    p.a = (const float *)op->p[QUICK_A];
    p.w = (const float *)op->p[QUICK_B];
    c->workers->k->small_products(&p, 1);
    return true;
}

static bool copy_bytes(struct context *c, const struct quick_op *op, struct diag *d)
{
    memmove(op->p[QUICK_TO], op->p[QUICK_A], op->row->bytes);
    return true;
}

/* With the worker's room for an error. */
static bool in_worker(struct context *c, const struct quick_row *r, struct diag *d)
{
    struct worker *worker = c->workers;
    _Atomic(const char *) error = NULL;
    worker->error = &error;
    for (int g = 0; g < r->kernel->ngrid; g++)
        worker->vars[g] = 0;
    if (r->insn)
        r->insn->run(worker, r->insn);
    else
        launch_one(worker, r->kernel);
    const char *text = atomic_load_explicit(&error, memory_order_relaxed);
    if (!text)
        return true;
    fail(d, "%s", text);
    return fail_in(d, "kernel '%s'", r->kernel->kernel->name ? r->kernel->kernel->name : "");
}

static bool any_row(struct context *c, const struct quick_op *op, struct diag *d)
{
    return in_worker(c, op->row, d);
}

/* ---- instructions ---- */

struct row_finder {
    struct arena *a;
    const struct kernel_table *k;
    const struct bound_insn *i;
    struct quick_line *line;
    struct quick_row *row; /* of the line, or NULL */
    int64_t n;             /* elements, */
    int inner, outer;      /* of this dim; of several rows: theirs, and */
    int64_t at;            /* which it is */
};

static int64_t step_of(const struct row_finder *f, int operand)
{
    return f->n == 1 ? 0 : f->i->o[operand].step[f->inner];
}

/* Operand `to` of the operation is the instruction's operand `from`. */
static void take(struct row_finder *f, int to, int from)
{
    const struct operand *o = &f->i->o[from];
    struct quick_line *l = f->line;
    int64_t step = step_of(f, from), before = f->at ? f->at * o->step[f->outer] * o->size : 0;
    l->place[to] = (struct quick_place){o->slot < 0 ? QUICK_TILE : o->slot, o->offset + before, NULL};
    l->bytes[to] = ((f->n - 1) * step + 1) * o->size;
    if (f->row)
        f->row->step[to] = step;
}

static void take_number(struct row_finder *f, int to, const float *number)
{
    f->line->place[to] = (struct quick_place){QUICK_NOTHING, 0, number};
}

static struct quick_row *add_row(struct row_finder *f, quick_row_fn run)
{
    struct quick_row *r = ARENA_NEW(f->a, struct quick_row);
    r->run = run;
    r->n = f->n;
    f->line->op.code = QUICK_row;
    f->line->op.row = f->row = r;
    return r;
}

/* The operation of this code: one number by itself, a few by their loop; false for more. */
static bool add_code(struct row_finder *f, uint16_t code)
{
    if (f->n > QUICK_SHORT)
        return false;
    if (f->n == 1)
        f->line->op.code = code;
    else
        add_row(f, quick_short_row(code, f->k->fma));
    return true;
}

static const struct {
    uint16_t code;
    int dtype, op, to;
} binaries[] = {
#define QUICK_BINARY(name, dtype, op, T, R, result)                                                \
    {QUICK_##name, dtype, op, sizeof(R) == 1 ? DT_BOOL : dtype},
#include "runtime/exec/quick.def"
};

static bool find_number(struct row_finder *f, int dtype, int op, int to)
{
    for (size_t r = 0; r < sizeof binaries / sizeof *binaries; r++)
        if (binaries[r].dtype == dtype && (int)binaries[r].op == op && binaries[r].to == to)
            return add_code(f, binaries[r].code);
    return false;
}

static bool all_floats(const struct bound_insn *i)
{
    for (int n = 0; n < i->nops; n++)
        if (i->o[n].mem && i->o[n].dtype != DT_F32)
            return false;
    return true;
}

static int add_tensor_tensor(struct row_finder *f)
{
    enum { DST = AP(tensor_tensor, dst), A = AP(tensor_tensor, a), B = AP(tensor_tensor, b) };
    const struct bound_insn *i = f->i;
    int op = i->func[FUNC(tensor_tensor, op)], type = i->o[A].dtype, to = i->o[DST].dtype;
    struct alu alu;
    struct integer_function integer = {0};
    struct diag none = {0};
    if (i->o[B].dtype != type)
        return 0;
    if (find_number(f, type, op, to)) {
        /* by its code */
    } else if (type == DT_F32) {
        if (!alu_find(&alu, op, false, 0, 0, &none))
            return diag_clear(&none), 0;
        if (alu.kind == ALU_BINARY && to == DT_F32)
            add_row(f, binary_row)->index = alu.index;
        else if (alu.kind == ALU_COMPARE && (to == DT_BOOL || to == DT_U8))
            add_row(f, compare_row)->index = alu.index;
        else
            return 0;
    } else {
        if (!integer_find(&integer, i, &none))
            return diag_clear(&none), 0;
        if (!integer_kernel(&integer, f->k))
            return 0;
        add_row(f, integer_run)->integer = integer_kernel(&integer, f->k);
    }
    take(f, QUICK_TO, DST);
    take(f, QUICK_A, A);
    take(f, QUICK_B, B);
    return 1;
}

/* One of the two operations, on src and the number. */
static bool add_scalar_step(struct row_finder *f, int n, int src)
{
    enum { DST = AP(tensor_scalar, dst) };
    const struct bound_insn *i = f->i;
    struct alu alu;
    struct diag none = {0};
    int a = QUICK_A, b = QUICK_B;
    if (!alu_find(&alu, i->func[n], i->imm[n].base != 0, i->flt[n], 0, &none))
        return diag_clear(&none), false;
    if (alu.kind != ALU_BINARY)
        return false;
    if (find_number(f, DT_F32, i->func[n], DT_F32)) {
        if (i->imm[n].base)
            a = QUICK_B, b = QUICK_A;
    } else {
        add_row(f, binary_row)->index = alu.index;
        if (alu.swap)
            a = QUICK_B, b = QUICK_A;
    }
    take(f, QUICK_TO, DST);
    take(f, a, src);
    take_number(f, b, &i->flt[n]);
    return true;
}

/* to = a b + c: numbers by their code, rows by the kernel that the instruction's executor calls. */
static void add_multiply_add(struct row_finder *f, quick_row_fn run, int index)
{
    if (!add_code(f, QUICK_multiply_add))
        add_row(f, run)->index = (uint8_t)index;
}

static const float one = 1, minus_zero = -0.0f;

static int add_tensor_scalar(struct row_finder *f)
{
    enum { DST = AP(tensor_scalar, dst), SRC = AP(tensor_scalar, src) };
    const struct bound_insn *i = f->i;
    const float first = i->flt[FLT(tensor_scalar, scalar0)], second = i->flt[FLT(tensor_scalar, scalar1)];
    int op0 = i->func[FUNC(tensor_scalar, op0)], op1 = i->func[FUNC(tensor_scalar, op1)];
    bool straight = !i->imm[IMM(tensor_scalar, reverse0)].base && !i->imm[IMM(tensor_scalar, reverse1)].base;
    if (!all_floats(i) || op0 == OP_identity)
        return 0;
    if (op1 == OP_identity)
        return add_scalar_step(f, 0, SRC);
    if (straight && op0 == OP_max && op1 == OP_min && first <= second)
        return 0;
    if (straight && op0 == OP_mul && op1 == OP_add) {
        add_multiply_add(f, multiply_add_row, 0);
        take(f, QUICK_TO, DST);
        take(f, QUICK_A, SRC);
        take_number(f, QUICK_B, &i->flt[FLT(tensor_scalar, scalar0)]);
        take_number(f, QUICK_C, &i->flt[FLT(tensor_scalar, scalar1)]);
        return 1;
    }
    if (!add_scalar_step(f, 0, SRC))
        return 0;
    f->line++;
    f->row = NULL;
    return add_scalar_step(f, 1, DST) ? 2 : 0;
}

static int add_activation(struct row_finder *f)
{
    enum { DST = AP(activation, dst), SRC = AP(activation, src) };
    enum { SCALE = AP(activation, scale), BIAS = AP(activation, bias) };
    const struct bound_insn *i = f->i;
    const float *factor = &i->flt[FLT(activation, factor)];
    struct alu alu;
    struct diag none = {0};
    if (!all_floats(i) || i->o[AP(activation, sum)].mem)
        return 0;
    if (!alu_find(&alu, i->func[FUNC(activation, f)], false, i->flt[FLT(activation, a)],
                  i->flt[FLT(activation, b)], &none))
        return diag_clear(&none), 0;
    bool copies = alu.kind == ALU_COPY ||
                  (alu.kind == ALU_ACTIVATION && alu.index == ACTIVATION_copy);
    if (!copies && alu.kind != ALU_ACTIVATION)
        return 0;
    if (copies) {
        add_multiply_add(f, activation_row, ACTIVATION_copy);
    } else {
        struct quick_row *r = add_row(f, activation_row);
        r->index = alu.index;
        r->parameters = arena_copy(f->a, alu.p, sizeof alu.p);
    }
    take(f, QUICK_TO, DST);
    take(f, QUICK_A, SRC);
    take_number(f, QUICK_B, *factor != 1 ? factor : &one);
    take_number(f, QUICK_C, &minus_zero);
    if (i->o[SCALE].mem)
        take(f, QUICK_B, SCALE);
    if (i->o[BIAS].mem)
        take(f, QUICK_C, BIAS);
    return 1;
}

static int add_choice(struct row_finder *f)
{
    enum { DST = AP(select, dst), A = AP(select, a), B = AP(select, b) };
    enum { PREDICATE = AP(select, predicate) };
    const struct operand *o = f->i->o;
    if (o[A].dtype != o[DST].dtype || o[B].dtype != o[DST].dtype || o[PREDICATE].dtype != DT_BOOL)
        return 0;
    int code = o[DST].size == 1 ? QUICK_choose_1 : o[DST].size == 4 ? QUICK_choose_4 : QUICK_choose_8;
    if (o[DST].size == 2 || !add_code(f, (uint16_t)code)) {
        if (o[DST].size != 4)
            return 0;
        add_row(f, choice_row);
    }
    take(f, QUICK_TO, DST);
    take(f, QUICK_A, A);
    take(f, QUICK_B, B);
    take(f, QUICK_C, PREDICATE);
    return 1;
}

static const struct {
    uint16_t code;
    int to, from;
} converts[] = {
#define QUICK_CONVERT(name, to, from, T, R, result) {QUICK_##name, to, from},
#include "runtime/exec/quick.def"
};

static int copy_code(size_t bytes)
{
    return bytes == 1 ? QUICK_copy_1 : bytes == 4 ? QUICK_copy_4 : bytes == 8 ? QUICK_copy_8 : -1;
}

static int add_copy(struct row_finder *f)
{
    enum { DST = AP(tensor_copy, dst), SRC = AP(tensor_copy, src) };
    const struct operand *o = f->i->o;
    bool moved = o[DST].dtype == o[SRC].dtype;
    int code = moved ? copy_code(o[DST].size) : -1;
    for (size_t r = 0; r < sizeof converts / sizeof *converts && !moved; r++)
        if (converts[r].to == o[DST].dtype && converts[r].from == o[SRC].dtype)
            code = converts[r].code;
    if (moved && f->n > 1 && step_of(f, DST) == 1 && step_of(f, SRC) == 1)
        add_row(f, copy_bytes)->bytes = (size_t)f->n * o[DST].size;
    else if (code < 0 || !add_code(f, (uint16_t)code))
        return 0;
    take(f, QUICK_TO, DST);
    take(f, QUICK_A, SRC);
    return 1;
}

/* Fixed operands of at most two dims, all of them in force: the number of rows, of the longer one. */
static int64_t find_rows(struct row_finder *f)
{
    const struct bound_insn *i = f->i;
    int64_t rows = 1;
    if (!i->run || i->shape.nclips || i->skip)
        return 0;
    f->n = 1, f->inner = f->outer = 0;
    for (int d = i->shape.rank - 1; d >= 0; d--) {
        int64_t count = i->shape.count[d];
        if (count != 1 && rows != 1)
            return 0;
        if (count > f->n) {
            rows = f->n, f->outer = f->inner;
            f->n = count, f->inner = d;
        } else if (count != 1) {
            rows = count, f->outer = d;
        }
    }
    for (int k = 0; k < i->nops; k++)
        for (int d = 0; i->o[k].mem && d < i->shape.rank; d++)
            if (i->o[k].nterms || (i->o[k].step[d] < 0 && i->shape.count[d] != 1))
                return 0;
    return rows;
}

/* All of a small product, where its operands stay where they are. */
static int add_product(struct row_finder *f)
{
    enum { DST = AP(nc_matmul, dst), STATIONARY = AP(nc_matmul, stationary), MOVING = AP(nc_matmul, moving) };
    static const int from[] = {[QUICK_TO] = DST, [QUICK_A] = MOVING, [QUICK_B] = STATIONARY};
    struct small_products p;
    if (!f->k->small_products || f->i->run != exec_nc_matmul || f->i->skip || f->i->shape.nclips ||
        !product_is_small(f->i, f->k->lanes, &p))
        return 0;
    for (int n = QUICK_TO; n <= QUICK_B; n++)
        if (f->i->o[from[n]].nterms)
            return 0;
    const int64_t last[] = {[QUICK_TO] = (p.rows - 1) * p.c_pitch + p.columns,
                            [QUICK_A] = (p.rows - 1) * p.a_pitch + p.k,
                            [QUICK_B] = (p.k - 1) * p.w_pitch + p.columns};
    f->n = 1, f->at = 0;
    add_row(f, product_row)->product = arena_copy(f->a, &p, sizeof p);
    for (int n = QUICK_TO; n <= QUICK_B; n++) {
        take(f, n, from[n]);
        f->line->bytes[n] = last[n] * (int64_t)sizeof(float);
    }
    return 1;
}

static const struct {
    int op;
    int (*add)(struct row_finder *f);
    bool whole; /* at once, whatever its rows are */
} finders[] = {
    {INSN_tensor_tensor, add_tensor_tensor, false}, {INSN_tensor_scalar, add_tensor_scalar, false},
    {INSN_activation, add_activation, false},       {INSN_select, add_choice, false},
    {INSN_tensor_copy, add_copy, false},            {INSN_dma_copy, add_copy, false},
    {INSN_dma_transpose, add_copy, false},          {INSN_nc_matmul, add_product, true},
};

int quick_instruction(struct arena *a, const struct kernel_table *k, const struct bound_insn *i,
                      struct quick_line *line)
{
    struct row_finder f = {.a = a, .k = k, .i = i};
    int made = 0, kind = 0, kinds = sizeof finders / sizeof *finders;
    while (kind < kinds && finders[kind].op != i->op)
        kind++;
    if (kind == kinds)
        return 0;
    int64_t rows = finders[kind].whole ? 1 : find_rows(&f);
    if (rows > QUICK_ROWS || (rows > 1 && f.n > QUICK_SHORT))
        return 0;
    for (int n = 0; n < QUICK_MAX; n++)
        line[n] = (struct quick_line){.place = {{QUICK_NOTHING, 0, NULL},
                                                {QUICK_NOTHING, 0, NULL},
                                                {QUICK_NOTHING, 0, NULL},
                                                {QUICK_NOTHING, 0, NULL}}};
    for (f.at = 0; f.at < rows; f.at++) {
        f.line = &line[made], f.row = NULL;
        int more = finders[kind].add(&f);
        if (!more)
            return 0;
        made += more;
    }
    return made;
}

void quick_any(struct arena *a, const struct bound_kernel *k, const struct bound_insn *i,
               struct quick_line *line)
{
    struct quick_row *r = ARENA_NEW(a, struct quick_row);
    *r = (struct quick_row){.run = any_row, .insn = i, .kernel = k};
    *line = (struct quick_line){.op = {.code = QUICK_row, .row = r},
                                .place = {{QUICK_NOTHING, 0, NULL},
                                          {QUICK_NOTHING, 0, NULL},
                                          {QUICK_NOTHING, 0, NULL},
                                          {QUICK_NOTHING, 0, NULL}}};
}

void quick_bytes(struct arena *a, struct quick_line *line, struct quick_place to,
                 struct quick_place from, size_t bytes)
{
    int code = copy_code(bytes);
    struct row_finder f = {.a = a, .line = line, .n = 1};
    *line = (struct quick_line){.place = {to, from, {QUICK_NOTHING, 0, NULL}, {QUICK_NOTHING, 0, NULL}},
                                .bytes = {(int64_t)bytes, (int64_t)bytes}};
    if (code >= 0)
        line->op.code = (uint16_t)code;
    else
        add_row(&f, copy_bytes)->bytes = bytes;
}
