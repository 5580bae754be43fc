/*
 * A sparse matrix by rows times a vector or a matrix, as JAX has the CPU do it: the values row
 * after row, the place where each row begins with the end of the last, and the column of each
 * value. Values past the last row are padding.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

static struct value *between(struct hlo_lower *l, struct value *x, int64_t top)
{
    x = b_2(l->b, OP_max, h_cast(l, x, DT_I64), b_scalar(l->b, DT_I64, 0));
    return b_2(l->b, OP_min, x, b_scalar(l->b, DT_I64, (double)top));
}

static struct value *add_at(struct hlo_lower *l, struct value *x, struct value *at, struct value *v)
{
    struct attrs a = {0};
    int64_t dims[2] = {at ? at->type.dims[0] : 0, 1};
    h_set_str(l, &a, "reduction", "add");
    return b_op(l->b, OP_scatter_nd, (struct value *[]){x, h_reshape(l, at, dims, 2), v}, 3, &a);
}

/* The row of each of n values: how many rows end at its place or before it. */
static struct value *rows_of(struct hlo_lower *l, struct value *begins, int64_t rows, int64_t n)
{
    struct attrs a = {0};
    int64_t places = n + 1;
    struct value *zero = b_scalar(l->b, DT_I64, 0), *one = b_scalar(l->b, DT_I64, 1);
    struct value *none = h_fill(l, zero, &places, 1), *each = h_fill(l, one, &rows, 1);
    struct value *ends = between(l, h_slice(l, begins, 0, 1, rows + 1), n);
    struct value *counts = add_at(l, none, ends, each);
    struct value *sums = b_op(l->b, OP_cumsum, (struct value *[]){counts, zero}, 2, &a);
    return h_slice(l, sums, 0, 0, n);
}

/* Whether the operands are a matrix of so many rows, and what can be multiplied by it. */
static bool fits(const struct hlo_lower *l, int64_t rows)
{
    if (l->i->operand_count != 4 || l->out.count != 1)
        return false;
    for (int k = 0; k < 4; k++) {
        int rank = h_rank(h_in(l, k));
        if (l->operands[k].count != 1 || rank < 1 || rank > (k < 3 ? 1 : 2) ||
            !dim_is_const(h_in(l, k)->type.dims[0]))
            return false;
    }
    return rows >= 0 && h_in(l, 1)->type.dims[0] == rows + 1 &&
           h_in(l, 0)->type.dims[0] == h_in(l, 2)->type.dims[0] &&
           l->i->shape->rank == h_rank(h_in(l, 3));
}

bool hlo_target_sparse_rows(struct hlo_lower *l)
{
    struct value *v = h_in(l, 0), *begins = h_in(l, 1), *columns = h_in(l, 2), *y = h_in(l, 3);
    const struct hlo_shape *s = l->i->shape;
    struct attrs a = {0};
    int64_t rows = s->rank ? s->dims[0] : -1;
    if (!fits(l, rows))
        return HLO_ERROR(l, "expected values, the beginnings of all rows and the end of the last, "
                            "columns, and a vector or matrix, all of known sizes");
    int64_t n = v->type.dims[0], inner = y->type.dims[0], column[2] = {n, 1};
    int64_t dims[2] = {rows + 1, s->rank > 1 ? y->type.dims[1] : 1};
    struct value *sum = h_fill(l, b_scalar(l->b, b_dtype(v), 0), dims, s->rank);
    if (n && inner) {
        h_set_int(l, &a, "axis", 0);
        columns = between(l, columns, inner - 1);
        struct value *rest = b_op(l->b, OP_gather, (struct value *[]){y, columns}, 2, &a);
        struct value *each = b_2(l->b, OP_mul, h_reshape(l, v, column, s->rank), rest);
        struct value *at = rows_of(l, begins, rows, n);
        sum = add_at(l, sum, at, each);
    }
    return h_done(l, h_slice(l, sum, 0, 0, rows));
}
