/*
 * pass layout: images become channels last, so that a pixel is a row of features.
 *
 * Values keep their form; those computed channels last have a twin. An operator that works on
 * images (table below) is replaced by its channels-last form on its operands' twins; operators that
 * do not care about the order of dims follow their operands, and so does a channel shuffle
 * (reshape, transpose, reshape). The original value becomes a transpose of the twin, dead unless
 * somebody needs that form: so transposes survive only where the model's edge, or an operator that
 * cares, asks for them. Requires inferred types.
 */
#include "passes/flattened.h"
#include "neff/isa/planes.h"
#include "passes/build.h"
#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

struct layout_pass {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    struct value **twin; /* value id -> the value channels last */
    int nvalues;
};

enum follow { NO, IMAGE, ELEMENTWISE, SCALED, AXIS, AXES, RESIZE, PAD, PERMUTE, SHUFFLE };

static const struct {
    enum op op;
    enum follow how;
} rows[] = {
    {OP_conv_integer, IMAGE},
    {OP_quantize_linear, SCALED},
    {OP_dequantize_linear, SCALED},
    {OP_conv, IMAGE},
    {OP_conv_transpose, IMAGE},
    {OP_max_pool, IMAGE},
    {OP_average_pool, IMAGE},
    {OP_lp_pool, IMAGE},
    {OP_instance_norm, IMAGE},
    {OP_group_norm, IMAGE},
    {OP_depth_to_space, IMAGE},
    {OP_space_to_depth, IMAGE},
    {OP_concat, AXIS},
    {OP_softmax, AXIS},
    {OP_log_softmax, AXIS},
    {OP_split, AXIS},
    {OP_reduce_mean, AXES},
    {OP_reduce_sum, AXES},
    {OP_reduce_max, AXES},
    {OP_reduce_min, AXES},
    {OP_reduce_l2, AXES},
    {OP_reduce_sum_square, AXES},
    {OP_resize, RESIZE},
    {OP_pad, PAD},
    {OP_transpose, PERMUTE},
    {OP_reshape, SHUFFLE},
};

static enum follow how_to_follow(const struct node *n)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == n->op)
            return rows[i].how;
    return op_infos[n->op].flags & OPF_ELEMENTWISE ? ELEMENTWISE : NO;
}

/* ---- twins ---- */

static struct value *twin_of(const struct layout_pass *y, const struct value *v)
{
    return v && v->id < y->nvalues ? y->twin[v->id] : NULL;
}

static void set_twin(struct layout_pass *y, const struct value *v, struct value *twin)
{
    if (v->id >= y->nvalues) {
        int n = y->g->next_value * 2;
        struct value **grown = ARENA_ARRAY(&y->g->arena, struct value *, n);
        arena_move_(grown, y->twin, sizeof *grown * (size_t)y->nvalues);
        y->twin = grown;
        y->nvalues = n;
    }
    y->twin[v->id] = twin;
}

/* N,C,s... to N,s...,C: result dim i is operand dim perm[i]; and back. */
static void to_last(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
}

static void to_first(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
}

/* Where a dim of the model's form lies channels last. */
static int moved(int axis, int rank)
{
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

static struct value *constant_last(struct layout_pass *y, struct value *v)
{
    const struct tensor *t = v->constant;
    int64_t perm[MAX_RANK], dims[MAX_RANK], steps[MAX_RANK], index[MAX_RANK] = {0};
    size_t size = dtype_bytes(t->dtype);
    if (t->dtype == DT_STR)
        return NULL;
    to_last(t->rank, perm);
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--)
        steps[i] = step, step *= t->dims[i];
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->dims[perm[i]];
    struct tensor made = tensor_view(t->dtype, t->rank, dims, NULL);
    char *to = made.data = arena_alloc(&y->g->arena, tensor_bytes(t) + 16);
    for (int64_t n = tensor_count(t); n > 0; n--, to += size) {
        int64_t at = 0;
        for (int i = 0; i < t->rank; i++)
            at += index[i] * steps[perm[i]];
        memcpy(to, (const char *)t->data + (size_t)at * size, size);
        for (int i = t->rank - 1; i >= 0 && ++index[i] == dims[i]; i--)
            index[i] = 0;
    }
    return constant_new(y->g, &made, v->name);
}

/* v channels last, by transposing it before `at` when it has no twin. */
static struct value *last(struct layout_pass *y, struct node *at, struct value *v)
{
    struct builder b = builder_before(at, y->d);
    struct value *t = twin_of(y, v);
    if (t)
        return t;
    if (v->constant) {
        t = constant_last(y, v);
    } else {
        int64_t perm[MAX_RANK];
        to_last(v->type.rank, perm);
        t = b_permute(&b, v, perm);
    }
    if (t && v->constant) /* seen from everywhere */
        set_twin(y, v, t);
    return t;
}

/* Makes `made` (channels last) the twin of what n computed; the model's form of it is a transpose.
 */
static bool adopt(struct layout_pass *y, struct node *n, int result, struct value *made)
{
    struct builder b = builder_before(n, y->d);
    struct value *old = n->out[result];
    int64_t perm[MAX_RANK];
    if (!made)
        return false;
    to_first(made->type.rank, perm);
    struct value *plain = b_permute(&b, made, perm);
    if (!plain)
        return false;
    plain->name = old->name;
    made->name = old->name ? arena_printf(&y->g->arena, "%s" CHANNELS_LAST_NAME, old->name) : NULL;
    value_replace(old, plain);
    set_twin(y, plain, made);
    return true;
}

/* A node like n, before it, with other operands and attributes. */
static struct node *like(struct layout_pass *y, struct node *n, struct value *const *in,
                         const struct attrs *as)
{
    struct builder b = builder_before(n, y->d);
    return b_node(&b, n->op, in, n->nin, n->nout, as);
}

static bool adopt_all(struct layout_pass *y, struct node *n, struct node *made)
{
    for (int i = 0; made && i < n->nout; i++)
        if (!adopt(y, n, i, made->out[i]))
            return false;
    if (made)
        node_remove(n);
    return made != NULL;
}

/* ---- by kind ---- */

/* A pooling that nothing follows in the same tile program: rows of pictures will do, and of volumes planes (pass
 * depth). */
static bool lone_pool(const struct layout_pass *y, const struct node *n)
{
    const struct type *x = &n->in[0]->type;
    if ((n->op != OP_max_pool && n->op != OP_average_pool) || x->dtype != DT_F32 || x->rank > 5)
        return false;
    if (x->rank == 5 && (y->o->strict_target || !dims_are_positive(x->dims + 1, 4)))
        return false;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if (how_to_follow(u->node) != NO && u->node->op != OP_reshape)
            return false;
    return true;
}

static bool rounds_products(const struct layout_pass *y)
{
    return y->o->auto_cast == CAST_MATMULT && y->o->cast_type == DT_BF16;
}

/* Whether a convolution has too few channels in a group for vectors of them: rows of neighbouring pixels take less,
 * unless sums have many terms, and products are rounded and fill vectors of results, or rows are short. */
static bool is_narrow(const struct layout_pass *y, const struct node *n)
{
    enum { PLANES = 64, STRIDE = 5, FULL = 16, TERMS = 100 };
    if (n->op != OP_conv)
        return false;
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
    int count = 0;
    const int64_t *strides = attr_ints(&n->attrs, "strides", &count);
    if (x->dtype != DT_F32 || w->dtype != DT_F32 || x->rank > 4 || w->rank != x->rank ||
        !type_is_static(w) || w->dims[1] > PLANES || (count > 0 && strides[count - 1] > STRIDE) ||
        attr_int(&n->attrs, "group", 1) < 1 || y->o->strict_target || y->o->auto_cast == CAST_ALL)
        return false;
    int64_t places = 1, groups = attr_int(&n->attrs, "group", 1), results = w->dims[0] / groups;
    for (int i = 2; i < w->rank; i++)
        places *= w->dims[i];
    bool strided_depthwise = results == 1 && w->dims[1] == 1 && groups >= FULL && count > 0 && strides[count - 1] > 1;
    dim_t pixels = n->out[0]->type.dims[x->rank - 1];
    bool short_rows = dim_is_const(pixels) && pixels < FULL && pixels <= results;
    if (strided_depthwise || places * w->dims[1] > PLANE_PLACES || (results >= FULL && w->dims[1] >= FULL / 2))
        return false;
    return places * w->dims[1] <= TERMS || !((rounds_products(y) && results >= FULL) || short_rows);
}

/* Whether an operator that would rather have channels last reads v, directly or by others that follow; or perhaps. */
static bool images_follow(const struct layout_pass *y, const struct value *v, int *left)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        enum follow how = how_to_follow(u->node);
        if (how == NO || how == PERMUTE || how == SHUFFLE || lone_pool(y, u->node))
            continue;
        if ((how != ELEMENTWISE && how != AXES && !is_narrow(y, u->node)) || --*left < 0 ||
            images_follow(y, u->node->out[0], left))
            return true;
    }
    return false;
}

/* A convolution by rows of neighbouring pixels, between others of that kind or alone. */
static bool stays_first(const struct layout_pass *y, const struct node *n)
{
    int left = 32, count = 0;
    const struct node *turn = made_by(n->in[0], OP_transpose);
    const int64_t *perm = turn ? attr_ints(&turn->attrs, "perm", &count) : NULL;
    return is_narrow(y, n) && !(count > 1 && perm[1] == count - 1) && !images_follow(y, n->out[0], &left);
}

/* One of so few results in a group that a transpose of the image, and one of the result, take less than what vectors of
 * them, nearly empty, would lose: terms of sums for each element that is moved, the more the fuller vectors are.
 * Rounded products take half: then those of groups with very few results, and dense ones with long sums alone. */
static bool pays_transposes(const struct layout_pass *y, const struct node *n)
{
    enum { RESULTS = 8, TERMS = 4, TERMS_OF_RESULT = 2, LONG_SUM = 192 };
    if (!is_narrow(y, n))
        return false;
    const struct type *w = &n->in[1]->type;
    int count;
    const int64_t *strides = attr_ints(&n->attrs, "strides", &count);
    int64_t groups = attr_int(&n->attrs, "group", 1), results = w->dims[0] / groups;
    int64_t moved = w->dims[1] * groups, terms = w->dims[0] * w->dims[1];
    for (int i = 2; i < w->rank; i++) {
        terms *= w->dims[i];
        moved *= strides ? strides[i - 2] : 1;
    }
    if (rounds_products(y) && (groups == 1 ? terms / w->dims[0] < LONG_SUM : results > RESULTS / 2))
        return false;
    return results <= RESULTS && !(groups > 1 && w->dims[1] == 1) &&
           terms >= (TERMS + TERMS_OF_RESULT * results) * (moved + w->dims[0]);
}

static bool convert_image(struct layout_pass *y, struct node *n)
{
    int rank = n->in[0]->type.rank;
    if (rank < 3 || n->in[0]->type.kind != VK_TENSOR || attr_int(&n->attrs, "channels_last", 0))
        return true;
    if (n->op == OP_max_pool && n->nout > 1 && n->out[1]->uses)
        return true; /* indices count in the model's order */
    bool unmoved =
        n->op == OP_depth_to_space || n->op == OP_space_to_depth || is_norm_of_rows(n) || lone_pool(y, n) ||
                   stays_first(y, n);
    if ((unmoved && !twin_of(y, n->in[0])) || pays_transposes(y, n))
        return true;
    struct value *in[8];
    if (n->nin > 8)
        return true;
    for (int i = 0; i < n->nin; i++)
        in[i] = n->in[i];
    if (!(in[0] = last(y, n, n->in[0])))
        return false;
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    attr_set_int(&y->g->arena, &as, "channels_last", 1);
    struct node *made = like(y, n, in, &as);
    if (!made || !adopt(y, n, 0, made->out[0]))
        return false;
    node_remove(n);
    return true;
}

/* An operand of an elementwise operator over images of that rank, channels last; NULL when it would
 * cost a transpose. */
static struct value *broadcast_last(struct layout_pass *y, struct node *n, struct value *v, int rank)
{
    if (twin_of(y, v))
        return v->type.rank == rank ? twin_of(y, v) : NULL;
    bool single = v->type.kind == VK_TENSOR && v->type.rank >= 0;
    for (int i = 0; single && i < v->type.rank; i++)
        single = v->type.dims[i] == 1;
    if (single && v->type.rank <= rank)
        return v;
    if (v->constant && v->type.rank <= rank && v->type.rank > 0) {
        struct tensor wide = *v->constant; /* leading ones, then the permutation */
        int missing = rank - v->type.rank;
        for (int i = rank - 1; i >= 0; i--)
            wide.dims[i] = i < missing ? 1 : v->constant->dims[i - missing];
        wide.rank = rank;
        struct value *same = constant_new(y->g, &wide, v->name);
        return constant_last(y, same);
    }
    if (v->type.kind == VK_TENSOR && v->type.rank == rank) {
        int big = 0; /* N,C,1,1 and the like: moving ones is free */
        for (int i = 2; i < rank; i++)
            big += v->type.dims[i] != 1;
        if (big == 0)
            return last(y, n, v);
    }
    return NULL;
}

static bool any_twin(const struct layout_pass *y, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (twin_of(y, n->in[i]))
            return true;
    return false;
}

static bool convert_elementwise(struct layout_pass *y, struct node *n)
{
    struct value *in[8];
    int rank = n->out[0]->type.rank;
    if (!any_twin(y, n) || n->nin > 8 || n->nout != 1 || rank < 3)
        return true;
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i] ? broadcast_last(y, n, n->in[i], rank) : NULL;
        if (n->in[i] && !in[i])
            return !diag_failed(y->d);
    }
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    return adopt_all(y, n, like(y, n, in, &as));
}

/* Operands after the first lie along an axis, or are single numbers. */
static bool convert_scaled(struct layout_pass *y, struct node *n)
{
    struct value *in[3] = {twin_of(y, n->in[0])};
    int rank = n->in[0]->type.rank;
    if (!in[0] || n->nin > 3 || attr_int(&n->attrs, "block_size", 0))
        return true;
    for (int i = 1; i < n->nin; i++)
        in[i] = n->in[i];
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    int64_t axis = attr_int(&as, "axis", 1);
    axis += axis < 0 ? rank : 0;
    if (axis >= 0 && axis < rank)
        attr_set_int(&y->g->arena, &as, "axis", moved((int)axis, rank));
    return adopt_all(y, n, like(y, n, in, &as));
}

static bool convert_axis(struct layout_pass *y, struct node *n)
{
    int rank = n->in[0]->type.rank;
    struct value **in = ARENA_ARRAY(&y->g->arena, struct value *, n->nin);
    if (!any_twin(y, n) || rank < 3)
        return true;
    int data = n->op == OP_split ? 1 : n->nin;
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i];
        if (i < data && (n->in[i]->type.rank != rank || !(in[i] = last(y, n, n->in[i]))))
            return !diag_failed(y->d);
    }
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    int64_t axis = attr_int(&as, "axis", n->op == OP_split ? 0 : -1);
    attr_set_int(&y->g->arena, &as, "axis", moved((int)(axis < 0 ? axis + rank : axis), rank));
    return adopt_all(y, n, like(y, n, in, &as));
}

/* The constant axes of a reduction, from attribute or operand. */
static bool constant_axes(const struct node *n, int64_t *axes, int *count)
{
    const int64_t *v = attr_ints(&n->attrs, "axes", count);
    const struct value *operand = n->nin > 1 ? n->in[1] : NULL;
    if (operand) {
        int64_t have = operand->constant ? tensor_count(operand->constant) : 0;
        if (have < 1 || have > MAX_RANK)
            return false;
        *count = (int)have;
    }
    for (int i = 0; i < *count && i < MAX_RANK; i++)
        axes[i] = operand ? tensor_i64(operand->constant, i) : v[i];
    return *count > 0 && *count <= MAX_RANK;
}

/* Everything becomes one number: in any order of dims. */
static bool reduces_all(const struct node *n)
{
    int count;
    attr_ints(&n->attrs, "axes", &count);
    return count == 0 && (n->nin < 2 || !n->in[1]) && !attr_int(&n->attrs, "keepdims", 1) &&
           !attr_int(&n->attrs, "noop_with_empty_axes", 0);
}

static bool convert_reduce(struct layout_pass *y, struct node *n)
{
    struct builder b = builder_before(n, y->d);
    struct value *x = twin_of(y, n->in[0]);
    int64_t axes[MAX_RANK];
    int count, rank = n->in[0]->type.rank;
    if (x && reduces_all(n)) {
        node_set_input(n, 0, x);
        return true;
    }
    if (!x || !constant_axes(n, axes, &count))
        return true;
    bool keep = attr_int(&n->attrs, "keepdims", 1), spatial = true;
    for (int i = 0; i < count; i++) {
        if (axes[i] < 0)
            axes[i] += rank;
        spatial &= axes[i] >= 2;
    }
    if (!keep && !(spatial && count == rank - 2))
        return true; /* the rest would have to be put back in order */
    for (int i = 0; i < count; i++)
        axes[i] = moved((int)axes[i], rank);
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    attr_set_ints(&y->g->arena, &as, "axes", axes, count);
    struct value *made = b_op(&b, n->op, &x, 1, &as);
    if (!made)
        return false;
    if (keep) {
        if (!adopt(y, n, 0, made))
            return false;
    } else { /* N,C in both forms */
        made->name = n->out[0]->name;
        value_replace(n->out[0], made);
    }
    node_remove(n);
    return true;
}

/* A constant list with one entry per dim (or two: begins, then ends) in the new order. */
static struct value *permuted_list(struct layout_pass *y, const struct value *v, int rank)
{
    if (!v->constant)
        return NULL;
    struct tensor made = *v->constant;
    int64_t n = tensor_count(v->constant);
    size_t size = dtype_bytes(made.dtype);
    if (n == 0)
        return (struct value *)v;
    if (n % rank)
        return NULL;
    char *to = arena_alloc(&y->g->arena, (size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
        int64_t part = i / rank * rank;
        memcpy(to + (size_t)(part + moved((int)(i % rank), rank)) * size,
               (const char *)made.data + (size_t)i * size, size);
    }
    made.data = to;
    made.owned = false;
    struct value *made_value = constant_new(y->g, &made, v->name);
    return made_value;
}

static bool convert_lists(struct layout_pass *y, struct node *n)
{
    int rank = n->in[0]->type.rank, last_list = n->op == OP_pad ? 1 : 3;
    struct value *in[4] = {twin_of(y, n->in[0])};
    if (!in[0] || n->nin > 4 || attr_find(&n->attrs, "axes") ||
        (n->op == OP_pad && n->nin > 3 && n->in[3]))
        return true;
    for (int i = 1; i < n->nin; i++) {
        in[i] = n->in[i];
        if (n->in[i] && i <= last_list && !(in[i] = permuted_list(y, n->in[i], rank)))
            return true;
    }
    struct attrs as = attrs_copy(&y->g->arena, &n->attrs);
    return adopt_all(y, n, like(y, n, in, &as));
}

static bool puts_channels_first(const int64_t *perm, int rank)
{
    int64_t first[MAX_RANK];
    to_first(rank, first);
    return rank >= 3 && memcmp(perm, first, sizeof *perm * (size_t)rank) == 0;
}

/* The model's own transposes of an image: from the twin, often nothing at all. What becomes channels first was channels
 * last: its twin. */
static bool convert_transpose(struct layout_pass *y, struct node *n)
{
    struct builder b = builder_before(n, y->d);
    struct value *x = twin_of(y, n->in[0]);
    int count, rank = n->in[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    int64_t composed[MAX_RANK];
    bool identity = true;
    if (!x && count == rank && !n->in[0]->constant && puts_channels_first(perm, rank))
        set_twin(y, n->out[0], n->in[0]);
    if (!x || count != rank)
        return true;
    for (int i = 0; i < rank; i++) {
        composed[i] = moved((int)perm[i], rank);
        identity &= composed[i] == i;
    }
    struct value *made = identity ? x : b_permute(&b, x, composed);
    if (!made)
        return false;
    if (!made->name)
        made->name = n->out[0]->name;
    value_replace(n->out[0], made);
    node_remove(n);
    return true;
}

/* ---- channel shuffles ---- */

static bool exchanges_groups(const struct node *n)
{
    int count;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    if (count < 4 || perm[0] != 0 || perm[1] != 2 || perm[2] != 1)
        return false;
    for (int i = 3; i < count; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/*
 * reshape N,C,s.. to N,a,b,s..; transpose to N,b,a,s..; reshape to N,C,s..: channels written as a
 * matrix and read by columns. `n` is the last of the three; the image before them, or NULL. a and b
 * are set.
 */
static struct value *shuffled(const struct node *n, int64_t *a, int64_t *b)
{
    const struct node *turn = made_by(n->in[0], OP_transpose),
                      *split = turn ? made_by(turn->in[0], OP_reshape) : NULL;
    struct value *x = split ? split->in[0] : NULL;
    if (!x || !exchanges_groups(turn) || !same_type(x, n->out[0]) ||
        x->type.rank + 1 != split->out[0]->type.rank)
        return NULL;
    const struct type *from = &x->type, *to = &split->out[0]->type;
    bool same = from->dims[0] == to->dims[0] && dim_is_const(to->dims[1]) &&
                dim_is_const(to->dims[2]) && dim_is_const(from->dims[1]);
    for (int i = 2; i < from->rank; i++)
        same &= from->dims[i] == to->dims[i + 1];
    if (!same || to->dims[1] * to->dims[2] != from->dims[1] || from->dims[1] == 0)
        return NULL;
    *a = to->dims[1], *b = to->dims[2];
    return x;
}

/* Channels last the matrix is (..., a, b): only the last two dims change places. */
static bool convert_shuffle(struct layout_pass *y, struct node *n)
{
    int64_t a, b, perm[MAX_RANK], dims[MAX_RANK];
    struct value *x = shuffled(n, &a, &b), *last_x = x ? twin_of(y, x) : NULL;
    int rank = x ? x->type.rank : 0, unknown = 0;
    if (!last_x || rank + 1 > MAX_RANK)
        return true;
    for (int i = 0; i < rank; i++) {
        dim_t d = last_x->type.dims[i];
        perm[i] = i;
        dims[i] = dim_is_const(d) ? d : 0; /* as it was */
        unknown += d == 0;
    }
    if (unknown)
        return true; /* an empty image */
    perm[rank - 1] = rank, perm[rank] = rank - 1;
    dims[rank - 1] = a, dims[rank] = b;
    struct builder at = builder_before(n, y->d);
    struct value *transposed = b_permute(&at, b_reshape_to(&at, last_x, dims, rank + 1), perm);
    dims[rank - 1] = a * b;
    struct value *made = b_reshape_to(&at, transposed, dims, rank);
    if (!made || !adopt(y, n, 0, made))
        return false;
    node_remove(n);
    return true;
}

/* A tensor of unknown rank among the operands (weights that are an input) makes a result of unknown rank. */
static bool ranks_known(const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && n->in[i]->type.kind == VK_TENSOR && n->in[i]->type.rank < 0)
            return false;
    return true;
}

static bool visit(struct node *n, void *user)
{
    struct layout_pass *y = user;
    if (!n->nin || !n->in[0] || n->in[0]->type.kind != VK_TENSOR || !ranks_known(n))
        return true;
    switch (how_to_follow(n)) {
    case IMAGE:
        return convert_image(y, n);
    case ELEMENTWISE:
        return convert_elementwise(y, n);
    case SCALED:
        return convert_scaled(y, n);
    case AXIS:
        return convert_axis(y, n);
    case AXES:
        return convert_reduce(y, n);
    case RESIZE:
    case PAD:
        return convert_lists(y, n);
    case SHUFFLE:
        return convert_shuffle(y, n);
    case PERMUTE:
        return convert_transpose(y, n);
    default:
        return true;
    }
}

bool pass_layout(struct graph *g, const struct options *o, struct diag *d)
{
    struct layout_pass y = {.g = g, .o = o, .d = d};
    if (o->strict_target)
        return restore_flattened(g, d);
    if (!for_each_node(g->main, visit, &y))
        return false;
    remove_dead(g);
    return true;
}
