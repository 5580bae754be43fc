/* Operations among devices and with the host. */
#include "frontend/stablehlo/verify/verify.h"

static bool is_collective(const struct mlir_op *op)
{
    static const char *const names[] = {"all_gather",        "all_reduce",
                                        "all_to_all",        "collective_broadcast",
                                        "collective_reduce", "reduce_scatter"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (verify_is(op, names[k]))
            return true;
    return false;
}

static bool truth(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_attr(op, name);
    return a && (a->kind == MA_UNIT || a->i);
}

/* Every device once; groups of one size where that matters, which leaves no -1. */
static bool check_groups(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_attr(op, "replica_groups");
    bool equal = !verify_is(op, "all_reduce") && !verify_is(op, "collective_reduce") &&
                 !verify_is(op, "collective_broadcast");
    int64_t *g;
    int n;
    if (!a || a->kind != MA_DENSE)
        return true;
    if (a->type->rank != 2 || !mlir_ints(&v->arena, a, &n, &g))
        return VERIFY_ERROR(v, "replica_groups is %s, expected a tensor of two dimensions",
                            mlir_type_text(&v->arena, a->type));
    bool empty = n == 0 && !verify_is(op, "reduce_scatter");
    if (empty && (truth(op, "use_global_device_ids") || verify_is(op, "all_reduce")))
        return VERIFY_ERROR(v, "replica_groups is empty");
    uint8_t *seen = arena_alloc(&v->arena, (size_t)n + 1);
    int kept = 0;
    for (int k = 0; k < n; k++)
        kept += g[k] != -1;
    for (int k = 0; k < n; k++) {
        if (g[k] == -1 && !equal)
            continue;
        if (g[k] < 0)
            return VERIFY_ERROR(v, "replica_groups has device %lld", (long long)g[k]);
        if (g[k] < n && seen[g[k]]++)
            return VERIFY_ERROR(v, "replica_groups has device %lld twice", (long long)g[k]);
    }
    for (int k = 0; k < kept && !verify_is(op, "collective_broadcast"); k++)
        if (!seen[k])
            return VERIFY_ERROR(v, "replica_groups lacks device %d", k);
    return true;
}

static bool has_mesh(const struct verifier *v, const char *name)
{
    struct mlir_block *b = mlir_body(v->module->top, 0);
    for (int k = 0; b && k < b->op_count; k++)
        if (!strcmp(mlir_text(mlir_attr(b->ops[k], "sym_name")), name))
            return true;
    return false;
}

static bool check_channel(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *groups = mlir_attr(op, "replica_groups");
    int64_t handle = 0;
    bool given = mlir_int(mlir_field(mlir_attr(op, "channel_handle"), "handle"), &handle);
    given |= verify_is(op, "reduce_scatter");
    if (truth(op, "use_global_device_ids") && given &&
        handle < (verify_is(op, "all_gather") ? 0 : 1))
        return VERIFY_ERROR(v, "channel %lld with global device ids, expected a positive one",
                            (long long)handle);
    if (groups && groups->kind == MA_STRUCT) {
        const char *mesh = mlir_text(mlir_field(groups, "mesh"));
        if (*mesh && !has_mesh(v, mesh))
            return VERIFY_ERROR(v, "mesh '@%s' is not defined", mesh);
    }
    return true;
}

/* One dimension of the result is a multiple, or a part, of the operand's. */
static bool check_scaled(struct verifier *v, const struct mlir_op *op, const char *name, bool grows)
{
    int64_t dim = verify_int(op, name, 0);
    for (int k = 0; k < op->operand_count && k < op->result_count; k++) {
        const struct mlir_type *x = op->operands[k]->type, *r = op->results[k]->type;
        if (!verify_tensor(x) || !verify_tensor(r))
            return VERIFY_ERROR(v, "operand %d is not a tensor", k);
        if (x->rank != r->rank || dim >= x->rank || x->rank < 0)
            return VERIFY_ERROR(v, "dimension %lld of %s and %s", (long long)dim,
                                mlir_type_text(&v->arena, x), mlir_type_text(&v->arena, r));
        for (int j = 0; j < x->rank; j++)
            if (j != dim && verify_differ(x->dims[j], r->dims[j]))
                return VERIFY_ERROR(v, "the operand is %s, but the result %s",
                                    mlir_type_text(&v->arena, x), mlir_type_text(&v->arena, r));
        int64_t part = grows ? x->dims[dim] : r->dims[dim],
                whole = grows ? r->dims[dim] : x->dims[dim];
        if (part == 0 || whole == 0 || (part > 0 && whole > 0 && whole % part))
            return VERIFY_ERROR(v, "sizes %lld and %lld of dimension %lld", (long long)x->dims[dim],
                                (long long)r->dims[dim], (long long)dim);
        if (verify_is(op, "all_gather") && !mlir_type_equal(x->element, r->element))
            return VERIFY_ERROR(v, "the operand is %s, but the result %s",
                                mlir_type_text(&v->arena, x), mlir_type_text(&v->arena, r));
    }
    return true;
}

static bool check_all_to_all(struct verifier *v, const struct mlir_op *op)
{
    int64_t split = verify_int(op, "split_dimension", 0),
            join = verify_int(op, "concat_dimension", 0), count = verify_int(op, "split_count", 1);
    const struct mlir_attr *groups = mlir_attr(op, "replica_groups");
    if (groups && groups->kind == MA_DENSE && groups->type->rank == 2 &&
        groups->type->dims[0] > 0 && groups->type->dims[1] != count)
        return VERIFY_ERROR(v, "groups of %lld devices, but split_count is %lld",
                            (long long)groups->type->dims[1], (long long)count);
    for (int k = 0; k < op->operand_count && k < op->result_count; k++) {
        const struct mlir_type *x = op->operands[k]->type, *r = op->results[k]->type;
        if (!verify_tensor(x) || !verify_tensor(r) || x->rank < 0)
            continue;
        if (split >= x->rank || join >= x->rank)
            return VERIFY_ERROR(v, "dimensions %lld and %lld of %s", (long long)split,
                                (long long)join, mlir_type_text(&v->arena, x));
        if (!mlir_type_equal(x->element, r->element))
            return VERIFY_ERROR(v, "the operand is %s, but the result %s",
                                mlir_type_text(&v->arena, x), mlir_type_text(&v->arena, r));
        if (x->dims[split] >= 0 && x->dims[split] % count)
            return VERIFY_ERROR(v, "dimension %lld of size %lld in %lld parts", (long long)split,
                                (long long)x->dims[split], (long long)count);
        for (int j = 0; j < x->rank && r->rank == x->rank; j++) {
            int64_t want = x->dims[j];
            if (want >= 0 && split != join)
                want = j == split ? want / count : j == join ? want * count : want;
            if (verify_differ(want, r->dims[j]))
                return VERIFY_ERROR(v, "the result is %s", mlir_type_text(&v->arena, r));
        }
    }
    return true;
}

static bool check_pairs(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_attr(op, "source_target_pairs");
    int64_t *p;
    int n;
    if (!a || a->kind != MA_DENSE)
        return true;
    if (a->type->rank != 2 || a->type->dims[1] != 2 || !mlir_ints(&v->arena, a, &n, &p))
        return VERIFY_ERROR(v, "source_target_pairs is %s, expected pairs",
                            mlir_type_text(&v->arena, a->type));
    for (int k = 0; k < n; k++) {
        if (p[k] < 0)
            return VERIFY_ERROR(v, "source_target_pairs has device %lld", (long long)p[k]);
        for (int j = k % 2; j < k; j += 2)
            if (p[j] == p[k])
                return VERIFY_ERROR(v, "source_target_pairs has device %lld twice",
                                    (long long)p[k]);
    }
    return true;
}

static bool check_broadcast(struct verifier *v, const struct mlir_op *op)
{
    bool root = truth(op, "has_dynamic_root");
    int min = root ? 2 : 1;
    if (op->operand_count < min)
        return VERIFY_ERROR(v, "%d operands, expected at least %d", op->operand_count, min);
    const struct mlir_type *last = op->operands[op->operand_count - 1]->type;
    return !root || (verify_tensor(last) && mlir_dtype(last) == DT_I32 && last->rank == 1) ||
           VERIFY_ERROR(v, "the root is %s", mlir_type_text(&v->arena, last));
}

/* Transfers: types of channels, tokens last. */
static bool check_host(struct verifier *v, const struct mlir_op *op)
{
    int64_t type = 0;
    bool host = truth(op, "is_host_transfer");
    bool given = mlir_int(mlir_field(mlir_attr(op, "channel_handle"), "type"), &type);
    bool send = verify_is(op, "send");
    if (given && (send || verify_is(op, "recv"))) {
        int64_t want = !host ? 1 : send ? 2 : 3;
        if (type != want)
            return VERIFY_ERROR(v, "a channel of type %lld, expected %lld", (long long)type,
                                (long long)want);
    }
    if (send || verify_is(op, "outfeed")) {
        const struct mlir_type *r = verify_out(op, 0);
        return (op->result_count == 1 && r->kind == MT_TOKEN) ||
               VERIFY_ERROR(v, "the result is not a token");
    }
    for (int k = 0; k < op->result_count; k++) {
        bool last = k == op->result_count - 1;
        const struct mlir_type *t = op->results[k]->type;
        if (last ? t->kind != MT_TOKEN : !verify_tensor(t))
            return VERIFY_ERROR(v, "result %d is %s", k, mlir_type_text(&v->arena, t));
    }
    const struct mlir_attr *layout = mlir_attr(op, "layout");
    if (!op->result_count)
        return VERIFY_ERROR(v, "there is no result");
    if (!layout || layout->kind != MA_ARRAY)
        return true;
    if (layout->count != op->result_count - 1)
        return VERIFY_ERROR(v, "%d layouts for %d arrays", layout->count, op->result_count - 1);
    for (int k = 0; k < layout->count; k++) {
        if (layout->items[k]->kind != MA_ARRAY)
            return VERIFY_ERROR(v, "layout %d is not a list", k);
        for (int j = 0; j < layout->items[k]->count; j++)
            if (layout->items[k]->items[j]->kind != MA_INT)
                return VERIFY_ERROR(v, "layout %d is not a list of integers", k);
    }
    return true;
}

bool verify_devices(struct verifier *v, const struct mlir_op *op)
{
    if (is_collective(op) && (!check_groups(v, op) || !check_channel(v, op)))
        return false;
    if (verify_is(op, "all_gather"))
        return check_scaled(v, op, "all_gather_dim", true);
    if (verify_is(op, "reduce_scatter"))
        return check_scaled(v, op, "scatter_dimension", false);
    if (verify_is(op, "all_to_all"))
        return check_all_to_all(v, op);
    if (verify_is(op, "collective_permute"))
        return check_pairs(v, op);
    if (verify_is(op, "collective_broadcast") || verify_is(op, "collective_reduce"))
        return check_broadcast(v, op);
    if (verify_is(op, "infeed") || verify_is(op, "outfeed") || verify_is(op, "send") ||
        verify_is(op, "recv"))
        return check_host(v, op);
    return true;
}
