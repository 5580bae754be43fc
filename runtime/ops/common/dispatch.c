/*
 * The table of all operators' shape rules and routines, and running one: checks around the rule,
 * memory for the results. Nothing else in runtime/ops knows all operators; what rules and routines
 * call is in infer.c and ops.c.
 */
#include "runtime/ops/common/require.h"

#include "neff/base/use.h"
#include "neff/core/signature.h"

#include <string.h>

static const infer_fn infers[OP_COUNT] = {
#define OP(id, ...)    WHEN_USED(CALL_##id, [OP_##id] = infer_##id, )
#define UNARY(id, ...) WHEN_USED(CALL_##id, [OP_##id] = infer_elementwise, )
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
};

static const eval_fn evals[OP_COUNT] = {
#define OP(id, ...)    WHEN_USED(CALL_##id, [OP_##id] = eval_##id, )
#define UNARY(id, ...) WHEN_USED(CALL_##id, [OP_##id] = eval_elementwise, )
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
};

eval_fn op_eval(enum op op)
{
    return evals[op];
}

static bool check_arity(enum op op, int nin, int nout, struct diag *d)
{
    const struct op_info *info = op_info(op);
    if (nin < info->min_in || (info->max_in >= 0 && nin > info->max_in))
        return fail(d, "operator %s has %d operands, expected %d to %d", info->name, nin,
                    info->min_in, info->max_in);
    if (nout < info->min_out || (info->max_out >= 0 && nout > info->max_out))
        return fail(d, "operator %s has %d results, expected %d to %d", info->name, nout,
                    info->min_out, info->max_out);
    return true;
}

/* Containers belong to control flow; everything else computes on tensors. */
static bool check_kinds(struct infer *f)
{
    const struct op_info *info = op_info(f->op);
    if ((info->flags & (OPF_REGIONS | OPF_TERMINATOR | OPF_CONTAINERS)) || f->op == OP_identity ||
        (f->op >= OP_sequence_empty && f->op <= OP_optional_has))
        return true;
    for (int i = 0; i < f->nin; i++) {
        if (f->in[i].kind == VK_NONE && i < info->min_in)
            return fail(f->d, "operand %d of %s is missing", i, info->name);
        if (f->in[i].kind != VK_TENSOR && f->in[i].kind != VK_NONE)
            return fail(f->d, "operand %d of %s is a container, expected a tensor", i, info->name);
    }
    return true;
}

/* What a rule has made of the contents of its operands may be nonsense. */
static bool check_results(struct infer *f)
{
    for (int i = 0; i < f->nout; i++) {
        const struct type *t = &f->out[i];
        if (t->kind == VK_TENSOR && t->dtype != DT_NONE && !dtype_valid(t->dtype))
            return fail(f->d, "result %d has an unknown element type", i);
        for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++)
            if (dim_is_const(t->dims[k]) ? t->dims[k] < 0
                                         : f->concrete || dim_index(t->dims[k]) >= f->dims->nnodes)
                return fail(f->d, "dimension %d of the result is %lld, expected 0 or more", k,
                            (long long)t->dims[k]);
            else if (!require_at_most(f, 0, t->dims[k], named("the result", -1, k)))
                return false;
    }
    return !f->dims->too_large ||
           fail(f->d, "dimensions of this model are too long expressions to be computed with");
}

/*
 * Numbers that describe windows and layouts are multiplied and added by rules and routines without
 * further care: larger ones than any model has are refused.
 */
static bool check_geometry(struct infer *f)
{
    static const char *const names[] = {"axis",
                                        "axes",
                                        "strides",
                                        "pads",
                                        "dilations",
                                        "kernel_shape",
                                        "lhs_dilation",
                                        "output_shape",
                                        "group",
                                        "output_padding",
                                        "window_dilations",
                                        "base_dilations",
                                        "blocksize",
                                        "block_size",
                                        "interior",
                                        "num_heads",
                                        "q_num_heads",
                                        "kv_num_heads",
                                        "num_groups",
                                        "hidden_size",
                                        "size",
                                        "pooled_shape",
                                        "output_height",
                                        "output_width",
                                        "sampling_ratio",
                                        "block",
                                        "p",
                                        "batch_dims",
                                        "num_outputs",
                                        "rotary_embedding_dim",
                                        "left_window_size",
                                        "right_window_size",
                                        "offset_group",
                                        "index_vector_dim",
                                        "k",
                                        "dims",
                                        "perm",
                                        "shape"};
    enum { LARGEST = 1 << 30, NAMES = sizeof names / sizeof *names };
    bool own = f->op == OP_custom || f->op == OP_custom_open; /* names of the user's */
    for (int i = 0; i < f->attrs->count && !own; i++) {
        const struct attr *a = &f->attrs->list[i];
        int n = a->kind == ATTR_INT ? 1 : a->kind == ATTR_INTS ? a->count : 0;
        const int64_t *v = a->kind == ATTR_INT ? &a->i : a->ints;
        for (int k = 0; k < n; k++) {
            if (v[k] >= -LARGEST && v[k] <= LARGEST)
                continue;
            for (int j = 0; j < NAMES; j++)
                if (!strcmp(names[j], a->name))
                    return fail(f->d, "attribute '%s' has %lld, which is too large", a->name,
                                (long long)v[k]);
        }
    }
    return true;
}

bool infer_run(struct infer *f)
{
    if (!check_arity(f->op, f->nin, f->nout, f->d) || !check_kinds(f) ||
        !signature_check(op_signature(f->op), f->in, f->nin, f->d) || !check_geometry(f))
        return false;
    return infers[f->op](f) && !diag_failed(f->d) && check_results(f);
}

static struct type type_of(struct arena *a, const struct tensor *t)
{
    if (t->kind == VK_TENSOR)
        return type_tensor(t->dtype, t->rank, t->dims);
    struct type out = {.kind = t->kind};
    if (t->kind == VK_MAP && t->nitems == 2) { /* keys, and a sequence of values */
        const struct tensor *values = &t->items[1];
        struct type *elem = ARENA_NEW(a, struct type);
        *elem = values->nitems ? type_of(a, &values->items[0]) : type_tensor(values->dtype, 0, NULL);
        out.dtype = t->items[0].dtype;
        out.elem = elem;
    }
    return out;
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

static bool allocate(struct op_call *c, const struct type *types)
{
    for (int i = 0; i < c->nout; i++) {
        if (!wants_result(c, i) || types[i].kind != VK_TENSOR || has_type(c->out[i], &types[i]))
            continue;
        if (types[i].rank < 0)
            return fail(c->env->d, "the rank of result %d does not follow from these operands", i);
        if (!call_may_take(c, types[i].dtype, types[i].rank, types[i].dims) ||
            !tensor_alloc_dirty(c->out[i], types[i].dtype, types[i].rank, types[i].dims, c->env->d))
            return false;
    }
    return true;
}

/* The shape rule on the actual operands: what it demands of their types, ranks and lengths holds
 * when the routine runs. Of data-dependent operators it leaves the results open. */
static bool infer_and_allocate(struct op_call *c)
{
    bool open = op_info(c->op)->flags & OPF_DATA_DEPENDENT;
    struct arena arena = {0};
    struct dim_table dims;
    dim_table_init(&dims, &arena);
    struct type *types = ARENA_ARRAY(&arena, struct type, c->nin + c->nout + 1);
    for (int i = 0; i < c->nin; i++)
        types[i] = type_of(&arena, c->in[i]);
    for (int i = 0; i < c->nout; i++)
        types[c->nin + i].kind = VK_NONE;
    struct infer f = {.op = c->op,
                      .attrs = c->attrs,
                      .dims = &dims,
                      .arena = &arena,
                      .d = c->env->d,
                      .concrete = !open,
                      .nin = c->nin,
                      .nout = c->nout,
                      .nregions = c->nregions,
                      .in = types,
                      .out = types + c->nin,
                      .read = read_operand,
                      .constant = constant_operand,
                      .region = no_region,
                      .user = c};
    bool ok = infer_run(&f) && (open || allocate(c, f.out));
    arena_free(&arena);
    return ok;
}

bool op_run(struct op_call *c)
{
    int control = OPF_REGIONS | OPF_DATA_DEPENDENT; /* if and loops: their routines look */
    if ((op_info(c->op)->flags & control) == control) {
        if (!check_arity(c->op, c->nin, c->nout, c->env->d))
            return false;
    } else if (!infer_and_allocate(c)) {
        return fail_in(c->env->d, "%s", op_name(c->op));
    }
    if (!op_eval(c->op)(c))
        return fail_in(c->env->d, "%s", op_name(c->op));
    return true;
}
