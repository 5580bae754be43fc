/* Dimension numbers of gather and scatter. */
#include "frontend/stablehlo/verify/verify.h"

struct index_list {
    const char *name;
    int count;
    int64_t *v;
};

static struct index_list get(struct verifier *v, const struct mlir_op *op, const char *name)
{
    struct index_list l = {.name = name};
    l.count = verify_ints(v, op, name, &l.v);
    l.count = l.count < 0 ? 0 : l.count;
    return l;
}

static bool has(const struct index_list *l, int64_t x)
{
    for (int k = 0; k < l->count; k++)
        if (l->v[k] == x)
            return true;
    return false;
}

static bool in_range(struct verifier *v, const struct index_list *l, int64_t end, bool sorted)
{
    for (int k = 0; k < l->count; k++) {
        if (l->v[k] < 0 || (end >= 0 && l->v[k] >= end))
            return VERIFY_ERROR(v, "%s has %lld, expected less than %lld", l->name,
                                (long long)l->v[k], (long long)end);
        for (int j = 0; j < k; j++)
            if (l->v[j] == l->v[k])
                return VERIFY_ERROR(v, "%s has %lld twice", l->name, (long long)l->v[k]);
        if (sorted && k && l->v[k - 1] > l->v[k])
            return VERIFY_ERROR(v, "%s is not sorted", l->name);
    }
    return true;
}

static bool apart(struct verifier *v, const struct index_list *a, const struct index_list *b)
{
    for (int k = 0; k < a->count; k++)
        if (has(b, a->v[k]))
            return VERIFY_ERROR(v, "%s and %s both have %lld", a->name, b->name,
                                (long long)a->v[k]);
    return true;
}

/* What gather and scatter have in common: x, indices, and dimensions of both that go together. */
struct indexing {
    const struct mlir_type *x, *at;
    struct index_list gone, batching, at_batching, map;
    int64_t vector;
};

static bool check_indexing(struct verifier *v, const struct indexing *i)
{
    if (i->vector < 0 || i->vector > i->at->rank)
        return VERIFY_ERROR(v, "index_vector_dim is %lld, the indices have %d dimensions",
                            (long long)i->vector, i->at->rank);
    int64_t components = i->vector < i->at->rank ? i->at->dims[i->vector] : 1;
    if (verify_differ(components, i->map.count))
        return VERIFY_ERROR(v, "%s has %d entries, the indices have %lld components", i->map.name,
                            i->map.count, (long long)components);
    if (!in_range(v, &i->gone, i->x->rank, true) || !in_range(v, &i->batching, i->x->rank, true) ||
        !in_range(v, &i->map, i->x->rank, false) ||
        !in_range(v, &i->at_batching, i->at->rank, false) || !apart(v, &i->gone, &i->batching) ||
        !apart(v, &i->map, &i->batching))
        return false;
    if (has(&i->at_batching, i->vector))
        return VERIFY_ERROR(v, "%s has index_vector_dim", i->at_batching.name);
    if (i->batching.count != i->at_batching.count)
        return VERIFY_ERROR(v, "%s and %s have %d and %d entries", i->batching.name,
                            i->at_batching.name, i->batching.count, i->at_batching.count);
    for (int k = 0; k < i->batching.count; k++)
        if (verify_differ(i->x->dims[i->batching.v[k]], i->at->dims[i->at_batching.v[k]]))
            return VERIFY_ERROR(v, "batching dimensions of sizes %lld and %lld",
                                (long long)i->x->dims[i->batching.v[k]],
                                (long long)i->at->dims[i->at_batching.v[k]]);
    return true;
}

/* The sizes of a gather's slices, of an attribute or an operand, against the dims that its result keeps. */
static bool check_slices(struct verifier *v, const struct mlir_op *op, const struct indexing *i,
                         const struct mlir_type *r, const struct index_list *offset)
{
    bool dynamic = verify_is(op, "dynamic_gather");
    struct index_list sizes = get(v, op, "slice_sizes");
    const struct mlir_type *n = dynamic ? verify_in(op, 2) : NULL;
    if (n && verify_tensor(n) && n->rank == 1 && verify_differ(n->dims[0], i->x->rank))
        return VERIFY_ERROR(v, "%lld slice sizes for %d dimensions", (long long)n->dims[0],
                            i->x->rank);
    if (dynamic && op->operands[2]->def && verify_is(op->operands[2]->def, "constant")) {
        int count;
        if (mlir_ints(&v->arena, mlir_attr(op->operands[2]->def, "value"), &count, &sizes.v))
            sizes.count = count;
    }
    if (dynamic && !sizes.count)
        return true;
    if (sizes.count != i->x->rank)
        return VERIFY_ERROR(v, "slice_sizes has %d entries, the operand has %d dimensions",
                            sizes.count, i->x->rank);
    int window = 0;
    for (int k = 0; k < sizes.count; k++) {
        bool drops = has(&i->gone, k) || has(&i->batching, k);
        if (sizes.v[k] < 0 || (i->x->dims[k] >= 0 && sizes.v[k] > i->x->dims[k]) ||
            (drops && sizes.v[k] > 1))
            return VERIFY_ERROR(v, "slice size %lld of dimension %d", (long long)sizes.v[k], k);
        if (drops)
            continue;
        int64_t have = r->dims[offset->v[window++]];
        if (verify_differ(have, sizes.v[k]))
            return VERIFY_ERROR(v, "slice size %lld of dimension %d, but the result has %lld",
                                (long long)sizes.v[k], k, (long long)have);
    }
    return true;
}

static bool check_gather(struct verifier *v, const struct mlir_op *op)
{
    struct indexing i = {.x = verify_in(op, 0), .at = verify_in(op, 1)};
    const struct mlir_type *r = verify_out(op, 0);
    if (!verify_tensor(i.x) || !verify_tensor(i.at) || !verify_tensor(r) || i.x->rank < 0 ||
        i.at->rank < 0)
        return true;
    i.gone = get(v, op, "collapsed_slice_dims");
    i.batching = get(v, op, "operand_batching_dims");
    i.at_batching = get(v, op, "start_indices_batching_dims");
    i.map = get(v, op, "start_index_map");
    i.vector = verify_int(op, "index_vector_dim", 0);
    struct index_list offset = get(v, op, "offset_dims");
    if (!check_indexing(v, &i) || !in_range(v, &offset, r->rank, true))
        return false;
    if (!mlir_type_equal(i.x->element, r->element))
        return VERIFY_ERROR(v, "the operand is %s, but the result %s",
                            mlir_type_text(&v->arena, i.x), mlir_type_text(&v->arena, r));
    int batch = i.at->rank - (i.vector < i.at->rank), kept = offset.count;
    if (kept != i.x->rank - i.gone.count - i.batching.count)
        return VERIFY_ERROR(v, "offset_dims has %d entries, the slice keeps %d dimensions", kept,
                            i.x->rank - i.gone.count - i.batching.count);
    if (r->rank != batch + kept)
        return VERIFY_ERROR(v, "the result has %d dimensions, expected %d", r->rank, batch + kept);
    int at = 0;
    for (int k = 0; k < r->rank; k++) {
        if (has(&offset, k))
            continue;
        at += at == i.vector;
        if (at < i.at->rank && verify_differ(r->dims[k], i.at->dims[at]))
            return VERIFY_ERROR(v, "result dimension %d has size %lld, the indices' %lld", k,
                                (long long)r->dims[k], (long long)i.at->dims[at]);
        at++;
    }
    return check_slices(v, op, &i, r, &offset);
}

static bool check_updates(struct verifier *v, const struct indexing *i, const struct index_list *window,
                          const struct mlir_type *u)
{
    int places = i->at->rank - (i->vector < i->at->rank);
    if (u->rank != places + window->count)
        return VERIFY_ERROR(v, "updates of %d dimensions, expected %d", u->rank,
                            places + window->count);
    if (!in_range(v, window, u->rank, true))
        return false;
    int at = 0, d = 0;
    for (int k = 0; k < u->rank; k++) {
        if (has(window, k)) {
            while (has(&i->gone, d) || has(&i->batching, d))
                d++;
            if (d < i->x->rank && u->dims[k] >= 0 && i->x->dims[d] >= 0 &&
                u->dims[k] > i->x->dims[d])
                return VERIFY_ERROR(v, "updates have %lld in dimension %d, the operand %lld",
                                    (long long)u->dims[k], k, (long long)i->x->dims[d]);
            d++;
            continue;
        }
        at += at == i->vector;
        if (at < i->at->rank && verify_differ(u->dims[k], i->at->dims[at]))
            return VERIFY_ERROR(v, "updates have %lld in dimension %d, the indices %lld",
                                (long long)u->dims[k], k, (long long)i->at->dims[at]);
        at++;
    }
    return true;
}

static bool check_scatter(struct verifier *v, const struct mlir_op *op)
{
    int n = op->operand_count / 2;
    struct indexing i = {.x = verify_in(op, 0), .at = verify_in(op, n)};
    if (op->operand_count % 2 == 0 || !verify_tensor(i.x) || !verify_tensor(i.at) ||
        i.x->rank < 0 || i.at->rank < 0)
        return true;
    i.gone = get(v, op, "inserted_window_dims");
    i.batching = get(v, op, "input_batching_dims");
    i.at_batching = get(v, op, "scatter_indices_batching_dims");
    i.map = get(v, op, "scatter_dims_to_operand_dims");
    i.vector = verify_int(op, "index_vector_dim", 0);
    struct index_list window = get(v, op, "update_window_dims");
    int dt = mlir_dtype(i.at);
    if (!dtype_is_int(dt))
        return VERIFY_ERROR(v, "indices of %s", mlir_type_text(&v->arena, i.at));
    if (!check_indexing(v, &i))
        return false;
    if (i.x->rank != window.count + i.gone.count + i.batching.count)
        return VERIFY_ERROR(v, "an operand of %d dimensions, expected %d", i.x->rank,
                            window.count + i.gone.count + i.batching.count);
    for (int k = 0; k < n; k++) {
        const struct mlir_type *u = verify_in(op, n + 1 + k), *x = verify_in(op, k),
                               *first = verify_in(op, n + 1);
        if (!verify_tensor(u) || !verify_tensor(x))
            return VERIFY_ERROR(v, "operand %d is not a tensor", n + 1 + k);
        for (int j = 0; j < u->rank && u->rank == first->rank; j++)
            if (verify_differ(u->dims[j], first->dims[j]))
                return VERIFY_ERROR(v, "updates of different shapes");
        if (!check_updates(v, &i, &window, u))
            return false;
    }
    return true;
}

bool verify_indices(struct verifier *v, const struct mlir_op *op)
{
    if (verify_is(op, "gather") || verify_is(op, "dynamic_gather"))
        return check_gather(v, op);
    return !verify_is(op, "scatter") || check_scatter(v, op);
}
