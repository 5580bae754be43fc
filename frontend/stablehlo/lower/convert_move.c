/* Constants, windows and what moves elements about. */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <string.h>

bool sh_convert_constant(struct sh_convert *c, const struct mlir_op *op)
{
    const struct mlir_attr *v = mlir_attr(op, "value");
    const struct hlo_shape *s = op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    if (!s)
        return diag_failed(c->d) ? false : SH_ERROR(c, "%d results", op->result_count);
    if (!v || v->kind != MA_DENSE || v->strings)
        return SH_ERROR(c, "its value is not an array of numbers");
    const struct hlo_shape *have = sh_shape(c, v->type);
    if (!have)
        return false;
    int64_t n;
    bool same = have->rank == s->rank && have->type == s->type;
    for (int k = 0; same && k < s->rank; k++)
        same = have->dims[k] == s->dims[k];
    if (!same || !hlo_shape_count(s, &n))
        return SH_ERROR(c, "the value is %s, but the result is %s",
                        mlir_type_text(c->arena, v->type),
                        mlir_type_text(c->arena, op->results[0]->type));
    if (!v->splat || !v->data)
        return sh_bind_results(c, op, sh_literal(c, s->type, s->rank, s->dims, v->data));
    if (n <= 64) { /* small ones may be read as sizes or indices */
        size_t one = dtype_bytes(hlo_type_dtype(s->type));
        char *all = arena_alloc(c->arena, one * (size_t)n + 16);
        for (int64_t k = 0; k < n; k++)
            memcpy(all + (size_t)k * one, v->data, one);
        return sh_bind_results(c, op, sh_literal(c, s->type, s->rank, s->dims, all));
    }
    struct hlo_instruction *x = sh_literal(c, s->type, 0, NULL, v->data);
    return sh_bind_results(c, op, x ? sh_broadcast(c, x, s, NULL) : NULL);
}

bool sh_convert_slice(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_slices *s = arena_alloc(c->arena, sizeof *s);
    struct hlo_instruction *x = sh_operand(c, op, 0);
    int64_t *from, *to, *step, dims[HLO_MAX_RANK];
    if (!x)
        return false;
    int rank = x->shape->rank;
    if (!sh_list(c, op, "start_indices", rank, 0, &from) ||
        !sh_list(c, op, "limit_indices", rank, 0, &to) ||
        !sh_list(c, op, "strides", rank, 1, &step))
        return false;
    s->count = rank;
    s->v = ARENA_ARRAY(c->arena, struct hlo_slice, rank + 1);
    for (int k = 0; k < rank; k++) {
        s->v[k] = (struct hlo_slice){from[k], to[k], step[k]};
        if (from[k] < 0 || to[k] < from[k] || step[k] < 1 ||
            (x->shape->dims[k] >= 0 && to[k] > x->shape->dims[k]))
            return SH_ERROR(c, "range %lld:%lld:%lld of dimension %d, which has size %lld",
                            (long long)from[k], (long long)to[k], (long long)step[k], k,
                            (long long)x->shape->dims[k]);
        dims[k] = (to[k] - from[k]) / step[k] + ((to[k] - from[k]) % step[k] != 0);
    }
    sh_set_pointer(&l, HLO_ATTR_slice, s);
    const struct hlo_shape *r = hlo_shape_new(c->arena, x->shape->type, rank, dims);
    return sh_finish(c, op, sh_emit(c, HLO_OP_SLICE, r, &x, 1, &l));
}

bool sh_convert_pad(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_paddings *p = arena_alloc(c->arena, sizeof *p);
    struct hlo_instruction *x = sh_operand(c, op, 0);
    int64_t *low, *high, *interior;
    if (!x)
        return false;
    int rank = x->shape->rank;
    if (!sh_list(c, op, "edge_padding_low", rank, 0, &low) ||
        !sh_list(c, op, "edge_padding_high", rank, 0, &high) ||
        !sh_list(c, op, "interior_padding", rank, 0, &interior))
        return false;
    p->count = rank;
    p->v = ARENA_ARRAY(c->arena, struct hlo_padding, rank + 1);
    for (int k = 0; k < rank; k++)
        p->v[k] = (struct hlo_padding){low[k], high[k], interior[k]};
    sh_set_pointer(&l, HLO_ATTR_padding, p);
    return sh_plain(c, op, HLO_OP_PAD, &l, false);
}

/* Dimension k of x becomes dimension at[k] of a result of shape `to`; those of size 1 are repeated,
 * which HLO's broadcast does not do. */
static struct hlo_instruction *broadcast_in_dim(struct sh_convert *c, struct hlo_instruction *x,
                                                const struct hlo_shape *to, const int64_t *at,
                                                int n)
{
    int64_t dims[HLO_MAX_RANK], kept[HLO_MAX_RANK];
    int count = 0;
    uint64_t seen = 0;
    if (n != x->shape->rank)
        return SH_ERROR(c, "broadcast_dimensions has %d entries, the operand has %d dimensions", n,
                        x->shape->rank),
               NULL;
    for (int k = 0; k < n; k++) {
        if (at[k] < 0 || at[k] >= to->rank || seen >> at[k] & 1)
            return SH_ERROR(c, "broadcast_dimensions has %lld, twice or out of range",
                            (long long)at[k]),
                   NULL;
        seen |= (uint64_t)1 << at[k];
        if (x->shape->dims[k] == 1 && to->dims[at[k]] != 1)
            continue;
        dims[count] = x->shape->dims[k];
        kept[count++] = at[k];
    }
    if (count != n)
        x = sh_emit(c, HLO_OP_RESHAPE, hlo_shape_new(c->arena, x->shape->type, count, dims), &x, 1,
                    NULL);
    return x ? sh_broadcast(c, x, to, kept) : NULL;
}

bool sh_convert_broadcast_in_dim(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    const struct hlo_shape *to =
        x && op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    int64_t *at;
    int n;
    if (!to || !sh_ints(c, op, "broadcast_dimensions", &n, &at))
        return false;
    return sh_finish(c, op, broadcast_in_dim(c, x, to, at, n < 0 ? 0 : n));
}

/* The older form: new dimensions in front. */
bool sh_convert_broadcast(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    int64_t *sizes, dims[HLO_MAX_RANK], at[HLO_MAX_RANK];
    int n;
    if (!x || !sh_ints(c, op, "broadcast_sizes", &n, &sizes))
        return false;
    if (n < 0 || n + x->shape->rank > HLO_MAX_RANK)
        return SH_ERROR(c, "broadcast_sizes has %d entries", n);
    for (int k = 0; k < n; k++) {
        dims[k] = sizes[k];
        if (sizes[k] < 0)
            return SH_ERROR(c, "broadcast_sizes has the negative size %lld", (long long)sizes[k]);
    }
    for (int k = 0; k < x->shape->rank; k++) {
        dims[n + k] = x->shape->dims[k];
        at[k] = n + k;
    }
    const struct hlo_shape *s = hlo_shape_new(c->arena, x->shape->type, n + x->shape->rank, dims);
    return sh_finish(c, op, sh_broadcast(c, x, s, at));
}

/* x of lhs, indices: one dimension is replaced by the indices' dimensions after batch_dims. */
bool sh_convert_torch_index_select(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0), *at = sh_operand(c, op, 1);
    int64_t dim = sh_int(op, "dim", 0), batch = sh_int(op, "batch_dims", 0);
    int64_t offset[HLO_MAX_RANK], sizes[HLO_MAX_RANK], batching[HLO_MAX_RANK];
    struct sh_attrs l = {0};
    int n = 0;
    if (!x || !at)
        return false;
    int rank = x->shape->rank, index_rank = at->shape->rank;
    dim += dim < 0 ? rank : 0;
    batch += batch < 0 ? index_rank : 0;
    if (dim < 0 || dim >= rank || batch < 0 || batch > index_rank || batch > dim)
        return SH_ERROR(c, "dim %lld and batch_dims %lld of an operand of %d dimensions",
                        (long long)dim, (long long)batch, rank);
    for (int k = 0; k < rank; k++) {
        sizes[k] = k == dim || k < batch ? 1 : x->shape->dims[k];
        if (k < batch)
            batching[k] = k;
        else if (k != dim) /* dims before the selected one come before the indices' */
            offset[n++] = k < dim ? k : k + index_rank - batch - 1;
    }
    sh_set_ints(c, &l, HLO_ATTR_offset_dims, offset, n);
    sh_set_ints(c, &l, HLO_ATTR_collapsed_slice_dims, &dim, 1);
    sh_set_ints(c, &l, HLO_ATTR_start_index_map, &dim, 1);
    sh_set_int(&l, HLO_ATTR_index_vector_dim, index_rank);
    sh_set_ints(c, &l, HLO_ATTR_slice_sizes, sizes, rank);
    if (batch) {
        sh_set_ints(c, &l, HLO_ATTR_operand_batching_dims, batching, (int)batch);
        sh_set_ints(c, &l, HLO_ATTR_start_indices_batching_dims, batching, (int)batch);
    }
    return sh_plain(c, op, HLO_OP_GATHER, &l, false);
}

/* ---- windows ---- */

struct window_lists {
    int64_t *size, *stride, *base, *window, *pad;
};

static const struct hlo_window *make_window(struct sh_convert *c, int n,
                                            const struct window_lists *w, const int64_t *reverse)
{
    struct hlo_window *v = arena_alloc(c->arena, sizeof *v);
    v->rank = n;
    v->dims = ARENA_ARRAY(c->arena, struct hlo_window_dim, n + 1);
    for (int k = 0; k < n; k++)
        v->dims[k] = (struct hlo_window_dim){w->size[k],           w->stride[k], w->pad[2 * k],
                                             w->pad[2 * k + 1],    w->base[k],   w->window[k],
                                             reverse && reverse[k]};
    return v;
}

static bool set_window(struct sh_convert *c, const struct mlir_op *op, int rank, struct sh_attrs *l)
{
    struct window_lists w;
    if (!sh_list(c, op, "window_dimensions", rank, 1, &w.size) ||
        !sh_list(c, op, "window_strides", rank, 1, &w.stride) ||
        !sh_list(c, op, "base_dilations", rank, 1, &w.base) ||
        !sh_list(c, op, "window_dilations", rank, 1, &w.window) || !sh_padding(c, op, rank, &w.pad))
        return false;
    sh_set_pointer(l, HLO_ATTR_window, make_window(c, rank, &w, NULL));
    return true;
}

bool sh_convert_reduce_window(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x)
        return false;
    if (!mlir_attr_or_field(op, "window_dimensions"))
        return SH_ERROR(c, "it needs the attribute 'window_dimensions'");
    if (!set_window(c, op, x->shape->rank, &l))
        return false;
    struct hlo_computation *f = sh_region(c, op, 0, false, "reducer");
    if (!f)
        return false;
    sh_set_pointer(&l, HLO_ATTR_to_apply, f);
    return sh_plain(c, op, HLO_OP_REDUCE_WINDOW, &l, false);
}

bool sh_convert_select_and_scatter(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x)
        return false;
    if (!set_window(c, op, x->shape->rank, &l))
        return false;
    struct hlo_computation *select = sh_region(c, op, 0, false, "select"),
                           *scatter = select ? sh_region(c, op, 1, false, "scatter") : NULL;
    if (!scatter)
        return false;
    sh_set_pointer(&l, HLO_ATTR_select, select);
    sh_set_pointer(&l, HLO_ATTR_scatter, scatter);
    return sh_plain(c, op, HLO_OP_SELECT_AND_SCATTER, &l, false);
}

/* ---- convolution ---- */

static bool labels(struct sh_convert *c, const struct mlir_op *op, const char *first,
                   const char *second, const char *spatial, int rank, struct hlo_labels *out)
{
    int64_t *v;
    int n;
    uint64_t seen = 0;
    out->rank = rank;
    int64_t a = sh_int(op, first, -1), b = sh_int(op, second, -1);
    if (!sh_ints(c, op, spatial, &n, &v))
        return false;
    if (n != rank - 2)
        return SH_ERROR(c, "%s has %d entries, expected %d", spatial, n, rank - 2);
    out->first = (int)a;
    out->second = (int)b;
    out->spatial_count = n;
    out->spatial = ARENA_ARRAY(c->arena, int, n + 1);
    for (int k = 0; k < n + 2; k++) {
        int64_t d = k == n ? a : k == n + 1 ? b : v[k];
        if (d < 0 || d >= rank || seen >> d & 1)
            return SH_ERROR(c, "the dimension numbers of '%s' name dimension %lld of %d, or twice",
                            first, (long long)d, rank);
        seen |= (uint64_t)1 << d;
        if (k < n)
            out->spatial[k] = (int)d;
    }
    return true;
}

#define UNKNOWN INT64_MIN

/* pad: in place of the operation's. padded: its input is dilated and padded already; no
 * attribute has an empty name. */
static bool convolution_attrs(struct sh_convert *c, const struct mlir_op *op, struct sh_attrs *l,
                              int64_t *pad, bool padded)
{
    struct hlo_instruction *x = sh_operand(c, op, 0), *k = sh_operand(c, op, 1);
    struct hlo_dim_labels *d = arena_alloc(c->arena, sizeof *d);
    struct window_lists w;
    int64_t size[HLO_MAX_RANK], *reverse;
    if (!x || !k)
        return false;
    int rank = x->shape->rank, n = rank - 2;
    if (rank < 2 || k->shape->rank != rank)
        return SH_ERROR(c, "operands of %d and %d dimensions", rank, k->shape->rank);
    if (!labels(c, op, "input_batch_dimension", "input_feature_dimension",
                "input_spatial_dimensions", rank, &d->input) ||
        !labels(c, op, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                "kernel_spatial_dimensions", rank, &d->kernel) ||
        !labels(c, op, "output_batch_dimension", "output_feature_dimension",
                "output_spatial_dimensions", rank, &d->output) ||
        !sh_list(c, op, "window_strides", n, 1, &w.stride) ||
        !sh_list(c, op, padded ? "" : "lhs_dilation", n, 1, &w.base) ||
        !sh_list(c, op, "rhs_dilation", n, 1, &w.window) ||
        !sh_list(c, op, "window_reversal", n, 0, &reverse))
        return false;
    if (pad)
        w.pad = pad;
    else if (!sh_padding(c, op, n, &w.pad))
        return false;
    for (int j = 0; j < n; j++) /* padding that is not known leaves the result's size open */
        size[j] = pad && pad[0] == UNKNOWN ? HLO_UNBOUNDED : k->shape->dims[d->kernel.spatial[j]];
    w.size = size;
    sh_set_pointer(l, HLO_ATTR_dim_labels, d);
    if (n)
        sh_set_pointer(l, HLO_ATTR_window, make_window(c, n, &w, reverse));
    return true;
}

bool sh_convert_convolution(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    return sh_table_attrs(c, op, &l) && convolution_attrs(c, op, &l, NULL, false) &&
           sh_plain(c, op, HLO_OP_CONVOLUTION, &l, false);
}

/* ---- shapes as operands: custom calls whose last operands are constant lists ---- */

static struct hlo_instruction *constant_list(struct sh_convert *c, const int64_t *v, int n)
{
    int64_t dims[1] = {n};
    int64_t *copy = ARENA_ARRAY(c->arena, int64_t, n + 1);
    if (n)
        memcpy(copy, v, sizeof *v * (size_t)n);
    return sh_literal(c, HLO_S64, 1, dims, copy);
}

/* The operation's operands and the lists of the attributes named, in a call of its name. The
 * result has the rank that is stated; dims of those of `like` that are not stated stay unknown. */
static bool dynamic_call(struct sh_convert *c, const struct mlir_op *op, const char *const *lists)
{
    struct hlo_instruction **in = sh_operands(c, op),
                           **all = ARENA_ARRAY(c->arena, struct hlo_instruction *,
                                               op->operand_count + 8);
    struct sh_attrs l = {0};
    int n = op->operand_count;
    const struct hlo_shape *s = op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    if (!in || !s)
        return false;
    memcpy(all, in, sizeof *in * (size_t)n);
    for (; *lists; lists++) {
        int64_t *v, zero = 0;
        int count;
        if (!sh_ints(c, op, *lists, &count, &v))
            return false;
        bool absent = count < 0;
        all[n++] = constant_list(c, absent ? &zero : v,
                                 absent ? !strcmp(*lists, "index_vector_dim") : count);
        if (!all[n - 1])
            return false;
    }
    sh_set_text(c, &l, HLO_ATTR_custom_call_target, op->name, strlen(op->name));
    return sh_finish(c, op, sh_emit(c, HLO_OP_CUSTOM_CALL, s, all, n, &l));
}

/* An operand of as many integers as there should be entries. */
static bool entries(struct sh_convert *c, const struct mlir_op *op, int operand, int64_t n)
{
    struct hlo_instruction *x = sh_operand(c, op, operand);
    if (!x)
        return false;
    int dt = hlo_type_dtype(x->shape->type);
    if (x->shape->rank != 1 || !dtype_is_int(dt))
        return SH_ERROR(c, "operand %d is %s, expected integers of one dimension", operand,
                        hlo_shape_text(c->arena, x->shape));
    return x->shape->dims[0] < 0 || n < 0 || x->shape->dims[0] == n ||
           SH_ERROR(c, "operand %d has %lld entries, expected %lld", operand,
                    (long long)x->shape->dims[0], (long long)n);
}

static int64_t stated_rank(const struct mlir_op *op)
{
    return op->result_count == 1 ? op->results[0]->type->rank : -1;
}

static int64_t operand_rank(const struct mlir_op *op)
{
    return op->operand_count ? op->operands[0]->type->rank : -1;
}

bool sh_convert_dynamic_broadcast_in_dim(struct sh_convert *c, const struct mlir_op *op)
{
    static const char *const lists[] = {"broadcast_dimensions", NULL};
    struct hlo_instruction *x = sh_operand(c, op, 0);
    int64_t *at, seen = 0, rank = stated_rank(op);
    int n;
    if (!x || !entries(c, op, 1, rank) || !sh_ints(c, op, "broadcast_dimensions", &n, &at))
        return false;
    if ((n < 0 ? 0 : n) != x->shape->rank)
        return SH_ERROR(c, "broadcast_dimensions has %d entries, the operand has %d dimensions", n,
                        x->shape->rank);
    for (int k = 0; k < n; k++) {
        if (at[k] < 0 || at[k] >= rank || seen >> at[k] & 1)
            return SH_ERROR(c, "broadcast_dimensions has %lld, twice or out of range",
                            (long long)at[k]);
        seen |= (int64_t)1 << at[k];
        int64_t have = x->shape->dims[k], want = op->results[0]->type->dims[at[k]];
        if (have >= 0 && have != 1 && want >= 0 && want != have)
            return SH_ERROR(c, "operand dimension %d has size %lld, result dimension %lld has %lld",
                            k, (long long)have, (long long)at[k], (long long)want);
    }
    return dynamic_call(c, op, lists);
}

bool sh_convert_dynamic_iota(struct sh_convert *c, const struct mlir_op *op)
{
    static const char *const lists[] = {"iota_dimension", NULL};
    int64_t dim = sh_int(op, "iota_dimension", 0);
    if (dim < 0 || dim >= stated_rank(op))
        return SH_ERROR(c, "iota_dimension is %lld in a result of %lld dimensions", (long long)dim,
                        (long long)stated_rank(op));
    return entries(c, op, 0, stated_rank(op)) && dynamic_call(c, op, lists);
}

bool sh_convert_dynamic_reshape(struct sh_convert *c, const struct mlir_op *op)
{
    static const char *const lists[] = {NULL};
    int64_t from, to;
    if (op->operand_count == 2 && op->result_count == 1 &&
        mlir_count(op->operands[0]->type, &from) && mlir_count(op->results[0]->type, &to) &&
        from != to)
        return SH_ERROR(c, "reshape of %lld elements to %lld", (long long)from, (long long)to);
    return entries(c, op, 1, stated_rank(op)) && dynamic_call(c, op, lists);
}

/* Operands first to first + 2 have an entry for each dimension. */
static bool entry_per_dimension(struct sh_convert *c, const struct mlir_op *op, int first)
{
    static const char *const lists[] = {NULL};
    int64_t rank = operand_rank(op);
    if (rank != stated_rank(op))
        return SH_ERROR(c, "the operand has %lld dimensions, the result %lld", (long long)rank,
                        (long long)stated_rank(op));
    return entries(c, op, first, rank) && entries(c, op, first + 1, rank) &&
           entries(c, op, first + 2, rank) && dynamic_call(c, op, lists);
}

bool sh_convert_real_dynamic_slice(struct sh_convert *c, const struct mlir_op *op)
{
    return entry_per_dimension(c, op, 1);
}

/* Of an array of known sizes, with a result of unknown ones: its first elements. */
bool sh_convert_set_dimension_size(struct sh_convert *c, const struct mlir_op *op)
{
    static const char target[] = "stablehlo.real_dynamic_slice";
    struct sh_attrs l = {0}, call = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0), *size = sh_operand(c, op, 1);
    const struct hlo_shape *s = op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    int64_t dim = sh_int(op, "dimension", 0), one = 1, zeros[HLO_MAX_RANK] = {0}, ones[HLO_MAX_RANK];
    if (!x || !size || !s || !sh_table_attrs(c, op, &l))
        return false;
    int rank = x->shape->rank;
    bool sliced = dim >= 0 && dim < rank && s->rank == rank && s->dims[dim] < 0;
    for (int k = 0; k < rank; k++) {
        sliced &= x->shape->dims[k] >= 0;
        ones[k] = 1;
    }
    if (!sliced || size->opcode == HLO_OP_CONSTANT)
        return sh_plain(c, op, HLO_OP_SET_DIMENSION_SIZE, &l, false);
    size = sh_cast(c, size, HLO_S64);
    if (!size || !(size = sh_emit(c, HLO_OP_RESHAPE, hlo_shape_new(c->arena, HLO_S64, 1, &one), &size, 1, NULL)))
        return false;
    int64_t zero = 0;
    struct sh_attrs along = {0};
    sh_set_ints(c, &along, HLO_ATTR_dimensions, &zero, 1);
    struct hlo_instruction *parts[3] = {constant_list(c, x->shape->dims, (int)dim), size,
                                        constant_list(c, x->shape->dims + dim + 1, rank - (int)dim - 1)};
    struct hlo_instruction *limits =
        parts[0] && parts[2] ? sh_emit(c, HLO_OP_CONCATENATE, NULL, parts, 3, &along) : NULL;
    struct hlo_instruction *in[4] = {x, constant_list(c, zeros, rank), limits, constant_list(c, ones, rank)};
    if (!in[1] || !in[2] || !in[3])
        return false;
    sh_set_text(c, &call, HLO_ATTR_custom_call_target, target, sizeof target - 1);
    return sh_finish(c, op, sh_emit(c, HLO_OP_CUSTOM_CALL, s, in, 4, &call));
}

bool sh_convert_dynamic_pad(struct sh_convert *c, const struct mlir_op *op)
{
    return entry_per_dimension(c, op, 2);
}

bool sh_convert_dynamic_gather(struct sh_convert *c, const struct mlir_op *op)
{
    static const char *const lists[] = {"offset_dims",
                                        "collapsed_slice_dims",
                                        "start_index_map",
                                        "index_vector_dim",
                                        "operand_batching_dims",
                                        "start_indices_batching_dims",
                                        NULL};
    return entries(c, op, 2, operand_rank(op)) && dynamic_call(c, op, lists);
}

/* The values of a constant that an operand is; NULL when it is none. */
static int64_t *constant_values(struct sh_convert *c, const struct mlir_op *op, int k, int *n)
{
    struct hlo_instruction *x = sh_operand(c, op, k);
    if (!x || x->opcode != HLO_OP_CONSTANT || !x->literal->data || x->literal->count > 1024)
        return NULL;
    int64_t *v = ARENA_ARRAY(c->arena, int64_t, x->literal->count + 1);
    *n = (int)x->literal->count;
    for (int j = 0; j < *n; j++)
        v[j] = dtype_load_i64(hlo_type_dtype(x->shape->type), x->literal->data, (size_t)j);
    return v;
}

/* The convolution's input, dilated, with paddings that only running tells, as another value. */
static struct mlir_value *padded_input(struct sh_convert *c, const struct mlir_op *op)
{
    static const char target[] = "stablehlo.dynamic_pad_spatial";
    struct hlo_instruction *in[] = {sh_operand(c, op, 0), sh_operand(c, op, 2), NULL, NULL};
    struct hlo_dim_labels d;
    struct sh_attrs l = {0};
    int64_t *base, at[HLO_MAX_RANK];
    if (!in[0] || !in[1])
        return NULL;
    int rank = in[0]->shape->rank, n = rank - 2;
    if (n < 1 || in[1]->shape->rank != 2 || in[1]->shape->dims[0] != n ||
        in[1]->shape->dims[1] != 2) {
        SH_ERROR(c, "padding is %s, expected %d pairs", hlo_shape_text(c->arena, in[1]->shape), n);
        return NULL;
    }
    if (!labels(c, op, "input_batch_dimension", "input_feature_dimension",
                "input_spatial_dimensions", rank, &d.input) ||
        !sh_list(c, op, "lhs_dilation", n, 1, &base))
        return NULL;
    struct hlo_shape *s = arena_alloc(c->arena, sizeof *s);
    *s = *in[0]->shape;
    s->dims = ARENA_ARRAY(c->arena, int64_t, rank);
    memcpy(s->dims, in[0]->shape->dims, sizeof *s->dims * (size_t)rank);
    for (int k = 0; k < n; k++) {
        at[k] = d.input.spatial[k];
        s->dims[at[k]] = HLO_UNBOUNDED;
    }
    in[2] = constant_list(c, at, n);
    in[3] = constant_list(c, base, n);
    sh_set_text(c, &l, HLO_ATTR_custom_call_target, target, sizeof target - 1);
    struct hlo_instruction *x = in[2] && in[3] ? sh_emit(c, HLO_OP_CUSTOM_CALL, s, in, 4, &l) : NULL;
    struct mlir_value *v = arena_alloc(c->arena, sizeof *v);
    *v = *op->operands[0];
    if (x)
        sh_bind(c, v, x);
    return x ? v : NULL;
}

bool sh_convert_dynamic_conv(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    int n;
    struct mlir_op two = *op;
    if (op->operand_count != 3)
        return SH_ERROR(c, "%d operands, expected 3", op->operand_count);
    int64_t *pad = constant_values(c, op, 2, &n);
    two.operand_count = 2;
    two.name = "stablehlo.convolution";
    int spatial = (int)operand_rank(op) - 2;
    bool padded = !pad && !c->verify_only;
    if (!pad && c->verify_only) {
        pad = ARENA_ARRAY(c->arena, int64_t, 2 * HLO_MAX_RANK);
        pad[0] = UNKNOWN;
    } else if (!pad) {
        two.operands = ARENA_ARRAY(c->arena, struct mlir_value *, 2);
        two.operands[0] = padded_input(c, op);
        two.operands[1] = op->operands[1];
        pad = ARENA_ARRAY(c->arena, int64_t, 2 * HLO_MAX_RANK); /* none any more */
        if (!two.operands[0])
            return false;
    } else if (n != 2 * spatial)
        return SH_ERROR(c, "%d paddings for %d dimensions", n, spatial);
    return sh_table_attrs(c, &two, &l) && convolution_attrs(c, &two, &l, pad, padded) &&
           sh_plain(c, &two, HLO_OP_CONVOLUTION, &l, false);
}
