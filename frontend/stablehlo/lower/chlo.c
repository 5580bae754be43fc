/*
 * CHLO, what frameworks emit beside StableHLO: functions that are an HLO opcode or an operator of
 * the graph (reached through a custom call of that name), and a few compositions.
 */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <string.h>

static const struct {
    const char *name;
    enum hlo_opcode opcode; /* HLO_OP_CUSTOM_CALL: by the target "chlo.<name>" */
} rows[] = {
    {"acos", HLO_OP_ACOS},
    {"acosh", HLO_OP_ACOSH},
    {"asin", HLO_OP_ASIN},
    {"asinh", HLO_OP_ASINH},
    {"atan", HLO_OP_CUSTOM_CALL},
    {"atanh", HLO_OP_ATANH},
    {"bessel_i1e", HLO_OP_CUSTOM_CALL},
    {"cosh", HLO_OP_COSH},
    {"digamma", HLO_OP_CUSTOM_CALL},
    {"erf", HLO_OP_ERF},
    {"erf_inv", HLO_OP_CUSTOM_CALL},
    {"erfc", HLO_OP_CUSTOM_CALL},
    {"lgamma", HLO_OP_CUSTOM_CALL},
    {"mulhi", HLO_OP_MULHI},
    {"polygamma", HLO_OP_CUSTOM_CALL},
    {"sinh", HLO_OP_SINH},
    {"tan", HLO_OP_TAN},
    {"zeta", HLO_OP_CUSTOM_CALL},
};

static bool table(struct sh_convert *c, const struct mlir_op *op, const char *name, bool *found)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (strcmp(rows[k].name, name))
            continue;
        *found = true;
        if (rows[k].opcode != HLO_OP_CUSTOM_CALL)
            return sh_plain(c, op, rows[k].opcode, NULL, false);
        struct hlo_instruction **in = sh_operands(c, op);
        struct sh_attrs l = {0};
        if (!in || !op->operand_count)
            return false;
        const char *target = arena_printf(c->arena, "chlo.%s", name);
        sh_set_text(c, &l, HLO_ATTR_custom_call_target, target, strlen(target));
        return sh_finish(c, op,
                         sh_emit(c, HLO_OP_CUSTOM_CALL, in[0]->shape, in, op->operand_count, &l));
    }
    *found = false;
    return false;
}

/* ---- compositions ---- */

static struct hlo_instruction *with_accuracy(struct sh_convert *c, const struct mlir_op *op)
{
    return sh_operand(c, op, 0);
}

/* x * x; of complex numbers without the cancellation of the product's real part */
static bool square(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = with_accuracy(c, op);
    if (!x)
        return false;
    if (!dtype_is_complex(hlo_type_dtype(x->shape->type)))
        return sh_finish(c, op, sh_2(c, HLO_OP_MULTIPLY, x, x));
    struct hlo_instruction *a = sh_1(c, HLO_OP_REAL, x), *b = sh_1(c, HLO_OP_IMAG, x);
    struct hlo_instruction *re =
        sh_2(c, HLO_OP_MULTIPLY, sh_2(c, HLO_OP_SUBTRACT, a, b), sh_2(c, HLO_OP_ADD, a, b));
    struct hlo_instruction *same =
        sh_compare(c, sh_1(c, HLO_OP_ABS, a), sh_1(c, HLO_OP_ABS, b), HLO_DIRECTION_EQ);
    struct hlo_instruction *finite = same ? sh_1(c, HLO_OP_IS_FINITE, a) : NULL;
    re = sh_select(c, sh_2(c, HLO_OP_AND, same, finite), sh_like(c, a, 0), re);
    struct hlo_instruction *im =
        sh_2(c, HLO_OP_MULTIPLY, sh_2(c, HLO_OP_MULTIPLY, a, b), sh_like(c, a, 2));
    return sh_finish(c, op, sh_2(c, HLO_OP_COMPLEX, re, im));
}

static bool conjugate(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x || !dtype_is_complex(hlo_type_dtype(x->shape->type)))
        return sh_finish(c, op, x);
    struct hlo_instruction *im = sh_1(c, HLO_OP_IMAG, x);
    return sh_finish(
        c, op,
        im ? sh_2(c, HLO_OP_COMPLEX, sh_1(c, HLO_OP_REAL, x), sh_1(c, HLO_OP_NEGATE, im)) : NULL);
}

static bool is_infinite(struct sh_convert *c, const struct mlir_op *op, const char *name)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x)
        return false;
    if (!strcmp(name, "is_inf"))
        x = sh_1(c, HLO_OP_ABS, x);
    double v = !strcmp(name, "is_neg_inf") ? -__builtin_inf() : __builtin_inf();
    return sh_finish(c, op, x ? sh_compare(c, x, sh_like(c, x, v), HLO_DIRECTION_EQ) : NULL);
}

/* The neighbour of x towards y: one more or less, taken as integers. */
static bool next_after(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0), *y = sh_operand(c, op, 1);
    if (!x || !y)
        return false;
    const struct hlo_shape *s = x->shape;
    int bits = dtype_info(hlo_type_dtype(s->type))->bits;
    enum hlo_type t = bits == 64 ? HLO_S64 : bits == 32 ? HLO_S32 : bits == 16 ? HLO_S16 : HLO_S8;
    const struct hlo_shape *whole = hlo_shape_new(c->arena, t, s->rank, s->dims);
    struct hlo_instruction *zero = sh_like(c, x, 0);
    struct hlo_instruction *i = sh_emit(c, HLO_OP_BITCAST_CONVERT, whole, &x, 1, NULL);
    struct hlo_instruction *up = sh_compare(c, x, y, HLO_DIRECTION_LT),
                           *negative = sh_compare(c, x, zero, HLO_DIRECTION_LT);
    if (!i || !up || !negative)
        return false;
    /* the magnitude grows when x < y and x is positive, or when neither */
    struct hlo_instruction *step =
        sh_select(c, sh_2(c, HLO_OP_XOR, up, negative), sh_like(c, i, 1), sh_like(c, i, -1));
    struct hlo_instruction *near = sh_2(c, HLO_OP_ADD, i, step);
    double lowest = bits == 64 ? -0x1p63 : bits == 32 ? -0x1p31 : bits == 16 ? -0x1p15 : -0x1p7;
    struct hlo_instruction *smallest = sh_select(c, sh_compare(c, y, zero, HLO_DIRECTION_LT),
                                                 sh_like(c, i, lowest + 1), sh_like(c, i, 1));
    near = sh_select(c, sh_compare(c, x, zero, HLO_DIRECTION_EQ), smallest, near);
    struct hlo_instruction *r =
        near ? sh_emit(c, HLO_OP_BITCAST_CONVERT,
                       hlo_shape_new(c->arena, s->type, s->rank, s->dims), &near, 1, NULL)
             : NULL;
    r = sh_select(c, sh_compare(c, x, y, HLO_DIRECTION_EQ), y, r);
    struct hlo_instruction *nan = sh_2(c, HLO_OP_OR, sh_compare(c, x, x, HLO_DIRECTION_NE),
                                       sh_compare(c, y, y, HLO_DIRECTION_NE));
    return sh_finish(c, op, sh_select(c, nan, sh_2(c, HLO_OP_ADD, x, y), r));
}

/* What arcsine and arccosine have in common: the real part of sqrt(1 - x) sqrt(1 + x), and the size
 * of the imaginary part of either. */
static bool asin_acos_kernel(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x)
        return false;
    if (!dtype_is_complex(hlo_type_dtype(x->shape->type)))
        return SH_ERROR(c, "its operand is not complex");
    struct hlo_instruction *one = sh_like(c, x, 1);
    struct hlo_instruction *below = sh_1(c, HLO_OP_SQRT, sh_2(c, HLO_OP_SUBTRACT, one, x)),
                           *above = sh_1(c, HLO_OP_SQRT, sh_2(c, HLO_OP_ADD, one, x));
    struct hlo_instruction *re = sh_1(c, HLO_OP_REAL, sh_2(c, HLO_OP_MULTIPLY, below, above));
    struct hlo_instruction *im =
        sh_1(c, HLO_OP_ABS, sh_1(c, HLO_OP_IMAG, sh_1(c, HLO_OP_ASIN, x)));
    return sh_finish(c, op, sh_2(c, HLO_OP_COMPLEX, re, im));
}

static bool top_k(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    sh_set_int(&l, HLO_ATTR_k, sh_int(op, "k", 0));
    if (sh_int(op, "largest", 1) == 0)
        sh_set_int(&l, HLO_ATTR_largest, 0);
    return sh_plain(c, op, HLO_OP_TOPK, &l, false);
}

static bool ragged_dot(struct sh_convert *c, const struct mlir_op *op)
{
    static const struct {
        const char *from;
        enum hlo_attr_id to;
    } fields[] = {{"lhs_batching_dimensions", HLO_ATTR_lhs_batch_dims},
                  {"rhs_batching_dimensions", HLO_ATTR_rhs_batch_dims},
                  {"lhs_contracting_dimensions", HLO_ATTR_lhs_contracting_dims},
                  {"rhs_contracting_dimensions", HLO_ATTR_rhs_contracting_dims},
                  {"lhs_ragged_dimensions", HLO_ATTR_lhs_ragged_dims},
                  {"rhs_group_dimensions", HLO_ATTR_rhs_group_dims}};
    struct sh_attrs l = {0};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        int64_t *v;
        int n;
        if (!sh_ints(c, op, fields[k].from, &n, &v))
            return false;
        sh_set_ints(c, &l, fields[k].to, v, n < 0 ? 0 : n);
    }
    return sh_plain(c, op, HLO_OP_RAGGED_DOT, &l, false);
}

/* Inputs, then carries; the region takes slices and carries and gives outputs and carries. */
static bool scan(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    int64_t *sizes, dim = sh_int(op, "dimension", 0);
    int n;
    if (!sh_ints(c, op, "operandSegmentSizes", &n, &sizes))
        return false;
    if (n != 2 || sizes[0] + sizes[1] != op->operand_count)
        return SH_ERROR(c, "it does not say which operands are carried");
    struct hlo_computation *f = sh_region(c, op, 0, false, "scan");
    if (!f)
        return false;
    sh_set_ints(c, &l, HLO_ATTR_dimensions, &dim, 1);
    sh_set_int(&l, HLO_ATTR_num_carries, sizes[1]);
    sh_set_pointer(&l, HLO_ATTR_to_apply, f);
    if (sh_int(op, "is_reverse", 0))
        sh_set_int(&l, HLO_ATTR_is_reverse, 1);
    return sh_plain(c, op, HLO_OP_SCAN, &l, false);
}

/* ---- broadcasting forms ---- */

/* What operands become, and which dim of which operand has each size that is not stated. */
struct common {
    const struct hlo_shape *shape;
    struct hlo_instruction *of[HLO_MAX_RANK];
    int64_t dim[HLO_MAX_RANK];
    bool stated;
};

static bool same_dims(const struct hlo_shape *x, const struct hlo_shape *y)
{
    bool same = x->rank == y->rank;
    for (int k = 0; same && k < x->rank; k++)
        same = x->dims[k] == y->dims[k];
    return same;
}

static struct hlo_instruction *widen(struct sh_convert *c, const struct mlir_op *op,
                                     struct hlo_instruction *x, const struct common *as)
{
    int64_t at[HLO_MAX_RANK], dims[HLO_MAX_RANK], *given;
    const struct hlo_shape *to = as->shape;
    int n, kept = 0;
    if (!x || !sh_ints(c, op, "broadcast_dimensions", &n, &given))
        return NULL;
    int rank = x->shape->rank;
    bool mapped = n == rank && rank < to->rank;
    for (int k = 0; k < rank; k++) {
        int64_t d = mapped ? given[k] : to->rank - rank + k;
        if (d < 0 || d >= to->rank)
            return SH_ERROR(c, "broadcast_dimensions has %lld", (long long)d), NULL;
        if (x->shape->dims[k] == 1 && to->dims[d] != 1 && as->stated)
            continue;
        at[kept] = d;
        dims[kept++] = x->shape->dims[k];
    }
    if (!as->stated)
        return same_dims(x->shape, to) ? x : sh_broadcast_sized(c, x, to, at, as->of, as->dim);
    if (kept != rank)
        x = sh_emit(c, HLO_OP_RESHAPE, hlo_shape_new(c->arena, x->shape->type, kept, dims), &x, 1,
                    NULL);
    if (!x || (kept == to->rank && rank == to->rank))
        return x;
    return sh_broadcast(c, x, to, at);
}

/* The shape of operands against each other, last dimensions aligned. */
static bool common_shape(struct sh_convert *c, const struct mlir_op *op, struct common *as)
{
    int64_t dims[HLO_MAX_RANK];
    int rank = 0;
    as->stated = true;
    for (int k = 0; k < op->operand_count; k++) {
        struct hlo_instruction *x = sh_operand(c, op, k);
        if (!x)
            return false;
        rank = x->shape->rank > rank ? x->shape->rank : rank;
    }
    for (int k = 0; k < rank; k++)
        dims[k] = 1;
    for (int k = 0; k < op->operand_count; k++) {
        const struct hlo_shape *s = sh_operand(c, op, k)->shape;
        int64_t *given;
        int n;
        if (!sh_ints(c, op, "broadcast_dimensions", &n, &given))
            return false;
        for (int j = 0; j < s->rank; j++) {
            int64_t d = n == s->rank && s->rank < rank ? given[j] : rank - s->rank + j;
            if (d < 0 || d >= rank)
                return SH_ERROR(c, "broadcast_dimensions has %lld", (long long)d);
            if (s->dims[j] == 1 || dims[d] == s->dims[j] || (s->dims[j] < 0 && dims[d] != 1))
                continue;
            if (dims[d] != 1 && dims[d] >= 0)
                return SH_ERROR(c, "dimensions %lld and %lld do not go together",
                                (long long)dims[d], (long long)s->dims[j]);
            dims[d] = s->dims[j];
            as->stated &= s->dims[j] >= 0;
            as->of[d] = sh_operand(c, op, k);
            as->dim[d] = j;
        }
    }
    as->shape = hlo_shape_new(c->arena, HLO_F32, rank, dims);
    return true;
}

static bool broadcasting(struct sh_convert *c, const struct mlir_op *op, const char *name)
{
    static const char *const here[] = {"next_after", "polygamma", "zeta"};
    struct common as = {0};
    if (!common_shape(c, op, &as))
        return false;
    struct mlir_op *p = arena_copy(c->arena, op, sizeof *op);
    const char *dialect = "stablehlo";
    for (int k = 0; k < 3; k++)
        if (!strcmp(here[k], name))
            dialect = "chlo";
    p->name = arena_printf(c->arena, "%s.%s", dialect, name);
    p->operands = ARENA_ARRAY(c->arena, struct mlir_value *, op->operand_count + 1);
    for (int k = 0; k < op->operand_count; k++) {
        struct hlo_instruction *x = sh_operand(c, op, k);
        bool scalar = !strcmp(name, "select") && k == 0 && x && !x->shape->rank;
        struct hlo_instruction *w = scalar ? x : widen(c, op, x, &as);
        if (!w)
            return false;
        p->operands[k] = arena_copy(c->arena, op->operands[k], sizeof **op->operands);
        sh_bind(c, p->operands[k], w);
    }
    return c->convert_op(c, p);
}

static bool constant_like(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    const struct mlir_attr *v = mlir_attr(op, "value");
    if (!x || !v || (v->kind != MA_FLOAT && v->kind != MA_INT && v->kind != MA_BOOL))
        return x ? SH_ERROR(c, "its value is not a number") : false;
    const struct hlo_shape *to = sh_shape(c, op->results[0]->type);
    if (!to)
        return false;
    x = sh_cast(c, x, to->type);
    return sh_finish(c, op, sh_like(c, x, v->kind == MA_FLOAT ? v->f : (double)v->i));
}

bool sh_convert_chlo(struct sh_convert *c, const struct mlir_op *op)
{
    const char *name = op->name + 5;
    bool found;
    bool ok = table(c, op, name, &found);
    if (found)
        return ok;
    if (!strncmp(name, "broadcast_", 10))
        return broadcasting(c, op, name + 10);
    if (!strncmp(name, "is_", 3))
        return is_infinite(c, op, name);
    static const struct {
        const char *name;
        bool (*convert)(struct sh_convert *c, const struct mlir_op *op);
    } others[] = {{"_asin_acos_kernel", asin_acos_kernel},
                  {"conj", conjugate},
                  {"constant", sh_convert_constant},
                  {"constant_like", constant_like},
                  {"dynamic_reshape", sh_convert_dynamic_reshape},
                  {"next_after", next_after},
                  {"ragged_dot", ragged_dot},
                  {"scan", scan},
                  {"square", square},
                  {"top_k", top_k}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (!strcmp(others[k].name, name))
            return others[k].convert(c, op);
    c->d->unsupported = true;
    return SH_ERROR(c, "an operation of CHLO that is not supported");
}
