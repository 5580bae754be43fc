#include "runtime/ops/common/ops.h"

#define OP(id, ...)                                                                                \
    bool infer_##id(struct infer *f);                                                              \
    bool eval_##id(struct op_call *c);
#define UNARY(...)
#define PARAMETRIC(...)
#define BINARY(...)
#define COMPARE(...)
#include "neff/core/op.def"

static const infer_fn infers[OP_COUNT] = {
#define OP(id, ...)    [OP_##id] = infer_##id,
#define UNARY(id, ...) [OP_##id] = infer_elementwise,
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
};

static const eval_fn evals[OP_COUNT] = {
#define OP(id, ...)    [OP_##id] = eval_##id,
#define UNARY(id, ...) [OP_##id] = eval_elementwise,
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
};

infer_fn op_infer(enum op op)
{
    return infers[op];
}

eval_fn op_eval(enum op op)
{
    return evals[op];
}

static struct type type_of(const struct tensor *t)
{
    if (t->kind == VK_TENSOR)
        return type_tensor(t->dtype, t->rank, t->dims);
    return (struct type){.kind = t->kind};
}

static struct content read_operand(struct infer *f, int i)
{
    const struct op_call *c = f->user;
    return content_of_tensor(f->arena, c->in[i]);
}

static const struct tensor *constant_operand(struct infer *f, int i)
{
    const struct op_call *c = f->user;
    return c->in[i];
}

static bool no_region(struct infer *f, int region, const struct type *params, int nparams,
                      struct type *results, int max_results, int *nresults)
{
    return fail_internal(f->d,
                         "operator %s: the shape rule of a region was asked for while running",
                         op_name(f->op));
}

static bool same_shape(const struct tensor *t, const struct type *type)
{
    if (t->kind != VK_TENSOR || t->dtype != type->dtype || t->rank != type->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != type->dims[i])
            return false;
    return true;
}

static bool allocate(struct op_call *c, const struct type *types)
{
    for (int i = 0; i < c->nout; i++) {
        if (!wants_result(c, i) || types[i].kind != VK_TENSOR || same_shape(c->out[i], &types[i]))
            continue;
        if (types[i].rank < 0)
            return fail_internal(c->env->d,
                                 "operator %s: rank of result %d is unknown while running",
                                 op_name(c->op), i);
        if (!tensor_alloc_dirty(c->out[i], types[i].dtype, types[i].rank, types[i].dims, c->env->d))
            return false;
    }
    return true;
}

static bool infer_and_allocate(struct op_call *c)
{
    struct arena arena = {0};
    struct dim_table dims;
    dim_table_init(&dims, &arena);
    struct type *types = ARENA_ARRAY(&arena, struct type, c->nin + c->nout + 1);
    for (int i = 0; i < c->nin; i++)
        types[i] = type_of(c->in[i]);
    for (int i = 0; i < c->nout; i++)
        types[c->nin + i].kind = VK_NONE;
    struct infer f = {.op = c->op,
                      .attrs = c->attrs,
                      .dims = &dims,
                      .arena = &arena,
                      .d = c->env->d,
                      .concrete = true,
                      .nin = c->nin,
                      .nout = c->nout,
                      .nregions = c->nregions,
                      .in = types,
                      .out = types + c->nin,
                      .read = read_operand,
                      .constant = constant_operand,
                      .region = no_region,
                      .user = c};
    bool ok = infer_run(&f) && allocate(c, f.out);
    arena_free(&arena);
    return ok;
}

bool op_run(struct op_call *c)
{
    if (op_infos[c->op].flags & OPF_DATA_DEPENDENT) {
        if (!check_arity(c->op, c->nin, c->nout, c->env->d))
            return false;
    } else if (!infer_and_allocate(c)) {
        return fail_in(c->env->d, "%s", op_name(c->op));
    }
    if (!op_eval(c->op)(c))
        return fail_in(c->env->d, "%s", op_name(c->op));
    return true;
}

struct tensor *call_out(struct op_call *c, int i, int dtype, int rank, const int64_t *dims)
{
    if (!wants_result(c, i)) {
        fail_internal(c->env->d, "operator %s: result %d is not wanted", op_name(c->op), i);
        return NULL;
    }
    struct type type = type_tensor(dtype, rank <= MAX_RANK ? rank : 0, dims);
    if (rank <= MAX_RANK && same_shape(c->out[i], &type))
        return c->out[i];
    return tensor_alloc_dirty(c->out[i], dtype, rank, dims, c->env->d) ? c->out[i] : NULL;
}

bool own_strings(struct op_call *c, int i)
{
    if (!wants_result(c, i) || c->out[i]->dtype != DT_STR)
        return true;
    struct tensor *out = c->out[i];
    return tensor_set_strings(out, out->rank, out->dims, out->data, c->env->d);
}
