/*
 * Elements that are repeated side by side: what sums of windows over an image with as many zeros between its elements
 * are, the gradient of an average of windows that do not overlap; and rows picked by a table that has each index as
 * often, as an enlarged image. The repeated copy needs neither sums nor indices.
 */
#include "passes/compose.h"

/* x with dim i times[i] as long, each element that often in turn; all dims are numbers. */
static struct value *repeated(struct compose *c, struct node *n, struct value *x, const int64_t *times)
{
    struct builder b = builder_before(n, c->d);
    int64_t apart[2 * MAX_RANK], spread[2 * MAX_RANK], whole[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->type.rank; i++) {
        int64_t dim = x->type.dims[i];
        whole[i] = dim * times[i];
        apart[rank] = spread[rank] = dim, rank++;
        if (times[i] > 1)
            apart[rank] = 1, spread[rank++] = times[i];
    }
    if (rank > MAX_RANK)
        return NULL;
    struct value *between = b_reshape_to(&b, x, apart, rank);
    struct value *wide = between ? b_2(&b, OP_expand, between, constant_i64s(c->g, spread, rank)) : NULL;
    return wide ? b_reshape_to(&b, wide, whole, x->type.rank) : NULL;
}

static bool are_numbers(const struct type *t)
{
    bool numbers = t->rank > 0;
    for (int i = 0; i < t->rank; i++)
        numbers &= dim_is_const(t->dims[i]) && t->dims[i] > 0;
    return numbers;
}

/* A list of a number for each dim; `otherwise` where it is missing. False: of another length. */
static bool numbers_of(const struct node *n, const char *name, int count, int64_t otherwise, int64_t *to)
{
    int have = 0;
    const int64_t *v = attr_ints(&n->attrs, name, &have);
    for (int i = 0; i < count; i++)
        to[i] = v && have == count ? v[i] : otherwise;
    return !v || have == count;
}

struct value *compose_repeated_windows(struct compose *c, struct node *n)
{
    const struct node *pad = made_by(n->in[0], OP_pad_interior);
    int rank = n->out[0]->type.rank;
    int64_t size[MAX_RANK], strides[MAX_RANK], pads[2 * MAX_RANK], base[MAX_RANK], dilations[MAX_RANK];
    int64_t around[2 * MAX_RANK], interior[MAX_RANK];
    if (!pad || n->nin != 2 || n->nregions || !attr_is(&n->attrs, "combine", "add") || !constant_is(n->in[1], 0) ||
        !constant_is(pad->in[1], 0) || !dtype_is_float(n->out[0]->type.dtype) || !are_numbers(&pad->in[0]->type) ||
        !numbers_of(n, "size", rank, 1, size) || !numbers_of(n, "strides", rank, 1, strides) ||
        !numbers_of(n, "pads", 2 * rank, 0, pads) || !numbers_of(n, "base_dilations", rank, 1, base) ||
        !numbers_of(n, "window_dilations", rank, 1, dilations) || !numbers_of(pad, "pads", 2 * rank, 0, around) ||
        !numbers_of(pad, "interior", rank, 0, interior))
        return NULL;
    for (int i = 0; i < rank; i++)
        if (strides[i] != 1 || base[i] != 1 || dilations[i] != 1 || pads[i] || pads[rank + i] ||
            interior[i] != size[i] - 1 || around[i] != size[i] - 1 || around[rank + i] != size[i] - 1)
            return NULL;
    return repeated(c, n, pad->in[0], size);
}

struct value *compose_repeated_rows(struct compose *c, struct node *n)
{
    const struct type *x = &n->in[0]->type;
    const struct tensor *index = n->in[1]->constant;
    int64_t times[MAX_RANK], axis = attr_int(&n->attrs, "axis", 0), count = index ? tensor_count(index) : 0;
    if (!index || index->rank != 1 || !are_numbers(x))
        return NULL;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || count % x->dims[axis] || count <= x->dims[axis])
        return NULL;
    for (int i = 0; i < x->rank; i++)
        times[i] = i == axis ? count / x->dims[axis] : 1;
    for (int64_t i = 0; i < count; i++)
        if (tensor_i64(index, i) != i / times[axis])
            return NULL;
    return repeated(c, n, n->in[0], times);
}
