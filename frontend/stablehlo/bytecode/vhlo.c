/*
 * VHLO's operations as StableHLO's: names lose their version, dimension numbers and the like that
 * VHLO spells as attributes of their own become structures again, and what it writes although it
 * says nothing is left out.
 */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <stdlib.h>
#include <string.h>

#define CONV_FIELDS                                                                                                    \
    {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",                                   \
     "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",                 \
     "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}

static const struct attr_group {
    const char *op, *attr, *name; /* the structure becomes attribute `attr` */
    const char *fields[10];
} groups[] = {
    {"gather",
     "dimension_numbers",
     "gather",
     {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
      "start_index_map", "index_vector_dim"}},
    {"dynamic_gather",
     "dimension_numbers",
     "gather",
     {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
      "start_index_map", "index_vector_dim"}},
    {"scatter",
     "scatter_dimension_numbers",
     "scatter",
     {"update_window_dims", "inserted_window_dims", "input_batching_dims",
      "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"}},
    {"dot_general",
     "dot_dimension_numbers",
     "dot",
     {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
      "rhs_contracting_dimensions"}},
    {"dot_general",
     "algorithm",
     "dot_algorithm",
     {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
      "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"}},
    {"convolution",
     "dimension_numbers",
     "conv",
     CONV_FIELDS},
    {"dynamic_conv",
     "dimension_numbers",
     "conv",
     CONV_FIELDS},
};

/* Attributes that are dropped when they are empty, false, or this number. */
static const struct {
    const char *op, *attr;
    int64_t standard;
} defaults[] = {
    {"*", "channel_id", 0},
    {"*", "channel_type", 0},
    {"*", "use_global_device_ids", 0},
    {"*", "has_dynamic_root", 0},
    {"*", "indices_are_sorted", 0},
    {"*", "unique_indices", 0},
    {"*", "is_stable", 0},
    {"*", "is_host_transfer", 0},
    {"*", "precision_config", 0},
    {"cholesky", "lower", 0},
    {"composite", "version", 0},
    {"composite", "composite_attributes", 0},
    {"custom_call", "api_version", 1},
    {"custom_call", "backend_config", 0},
    {"custom_call", "called_computations", 0},
    {"custom_call", "has_side_effect", 0},
    {"custom_call", "operand_layouts", 0},
    {"custom_call", "result_layouts", 0},
    {"custom_call", "output_operand_aliases", 0},
    {"custom_call", "result_tilings", 0},
    {"dynamic_broadcast_in_dim", "known_expanding_dimensions", 0},
    {"dynamic_broadcast_in_dim", "known_nonexpanding_dimensions", 0},
    {"func", "arg_attrs", 0},
    {"func", "res_attrs", 0},
    {"func", "sym_visibility", 0},
    {"infeed", "layout", 0},
};

struct vhlo {
    struct arena *arena;
    struct diag *d;
    int depth;
};

/* ---- attributes ---- */

static bool is_default(const struct mlir_attr *a, int64_t standard)
{
    switch (a->kind) {
    case MA_INT:
    case MA_BOOL:
        return a->i == standard;
    case MA_STRING:
        return a->size == 0;
    case MA_ARRAY:
    case MA_DICT:
    case MA_INTS:
        return a->count == 0;
    case MA_DENSE: {
        int64_t n;
        return mlir_count(a->type, &n) && n == 0;
    }
    default:
        return false;
    }
}

static bool no_accuracy(const struct mlir_attr *a)
{
    return a->kind == MA_STRUCT && !strcmp(a->name, "result_accuracy") &&
           !strcmp(mlir_text(mlir_field(a, "mode")), "DEFAULT");
}

/* A list of numbers, which VHLO keeps as a tensor of one dimension. */
static const struct mlir_attr *as_list(struct vhlo *v, const struct mlir_attr *a)
{
    if (a->kind != MA_DENSE || a->strings || a->type->rank != 1)
        return a;
    int dt = mlir_dtype(a->type);
    struct mlir_attr *list = mlir_attr_new(v->arena, MA_INTS);
    list->type = a->type->element;
    return (dt == DT_I64 || dt == DT_BOOL) && mlir_ints(v->arena, a, &list->count, &list->ints)
               ? list
               : a;
}

static bool is_none(const struct mlir_attr *a)
{
    return a->kind == MA_TYPE && a->type->kind == MT_NONE;
}

static void group_fields(struct vhlo *v, struct mlir_dict *d, const struct attr_group *g)
{
    struct mlir_dict fields = {0};
    bool none = false, any = false;
    for (int k = 0; g->fields[k]; k++)
        for (int j = 0; j < d->count; j++)
            if (!strcmp(d->keys[j], g->fields[k])) {
                none |= is_none(d->items[j]);
                any = true;
                bool empty = is_default(d->items[j], INT64_MIN) && strcmp(g->name, "conv");
                if (!empty)
                    mlir_dict_set(v->arena, &fields, g->fields[k], d->items[j]);
                d->count--;
                memmove(d->keys + j, d->keys + j + 1, sizeof *d->keys * (size_t)(d->count - j));
                memmove(d->items + j, d->items + j + 1, sizeof *d->items * (size_t)(d->count - j));
                break;
            }
    if (none || !any)
        return;
    mlir_dict_set(v->arena, d, g->attr, mlir_struct(v->arena, "stablehlo", g->name, &fields));
}

static bool drops(const char *op, const char *key, const struct mlir_attr *a)
{
    if (no_accuracy(a))
        return true;
    for (size_t k = 0; k < sizeof defaults / sizeof *defaults; k++)
        if ((*defaults[k].op == '*' || !strcmp(defaults[k].op, op)) &&
            !strcmp(defaults[k].attr, key) && is_default(a, defaults[k].standard))
            return true;
    return false;
}

static bool all_empty(const struct mlir_attr *a)
{
    for (int k = 0; a->kind == MA_ARRAY && k < a->count; k++)
        if (a->items[k]->kind != MA_DICT || a->items[k]->count)
            return false;
    return a->kind == MA_ARRAY;
}

/* Channel number and type as one handle. */
static void channel(struct vhlo *v, struct mlir_op *op)
{
    int64_t id = 0, type = 0;
    const struct mlir_attr *a = mlir_attr(op, "channel_id"), *t = mlir_attr(op, "channel_type");
    if (!mlir_int(a, &id))
        return;
    bool has_type = mlir_int(t, &type);
    struct mlir_dict kept = {0};
    for (int k = 0; k < op->attrs.count; k++)
        if (strcmp(op->attrs.keys[k], "channel_id") && strcmp(op->attrs.keys[k], "channel_type"))
            mlir_dict_set(v->arena, &kept, op->attrs.keys[k], op->attrs.items[k]);
    op->attrs = kept;
    if (!id && !has_type)
        return;
    struct mlir_dict d = {0};
    struct mlir_attr *n[2];
    for (int k = 0; k < 2; k++) {
        n[k] = mlir_attr_new(v->arena, MA_INT);
        n[k]->type = mlir_scalar(v->arena, DT_I64);
        n[k]->i = k ? (has_type ? type : 1) : id;
        mlir_dict_set(v->arena, &d, k ? "type" : "handle", n[k]);
    }
    mlir_dict_set(v->arena, &op->attrs, "channel_handle",
                  mlir_struct(v->arena, "stablehlo", "channel_handle", &d));
}

static void attributes(struct vhlo *v, struct mlir_op *op, const char *name)
{
    struct mlir_dict d = {0};
    channel(v, op);
    for (int k = 0; k < op->attrs.count; k++) {
        const char *key = op->attrs.keys[k];
        const struct mlir_attr *a = op->attrs.items[k];
        if (strcmp(key, "value"))
            a = as_list(v, a);
        if (drops(name, key, a) || (!strcmp(name, "func") && all_empty(a)))
            continue;
        if (!strcmp(key, "compare_type") && !strcmp(mlir_text(a), "NOTYPE"))
            continue;
        mlir_dict_set(v->arena, &d, key, a);
    }
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (!strcmp(groups[k].op, name))
            group_fields(v, &d, &groups[k]);
    op->attrs = d;
}

static void as_symbol(struct vhlo *v, struct mlir_op *op, const char *key)
{
    const struct mlir_attr *a = mlir_attr(op, key);
    if (!a || a->kind != MA_STRING)
        return;
    struct mlir_attr *s = mlir_attr_new(v->arena, MA_SYMBOL);
    s->text = a->text;
    s->size = a->size;
    mlir_dict_set(v->arena, &op->attrs, key, s);
}

/* ---- operations ---- */

static bool known(const char *name, const char *version)
{
    static const char *const two[] = {"all_gather",
                                      "all_reduce",
                                      "all_to_all",
                                      "cbrt",
                                      "collective_broadcast",
                                      "composite",
                                      "cosine",
                                      "custom_call",
                                      "dot_general",
                                      "dynamic_conv",
                                      "dynamic_gather",
                                      "exponential",
                                      "exponential_minus_one",
                                      "gather",
                                      "log",
                                      "log_plus_one",
                                      "logistic",
                                      "recv",
                                      "rsqrt",
                                      "scatter",
                                      "send",
                                      "sine",
                                      "sqrt",
                                      "tan",
                                      "tanh"};
    (void)name;
    if (!strcmp(version, "1"))
        return true;
    for (size_t k = 0; !strcmp(version, "2") && k < sizeof two / sizeof *two; k++)
        if (!strcmp(two[k], name))
            return true;
    return false;
}

static bool operation(struct vhlo *v, struct mlir_op *op, bool in_function)
{
    const char *from = op->name + 5, *end = strrchr(from, '_');
    if (!end || end[1] != 'v')
        return fail(v->d, "unknown operation '%s'", op->name);
    char *name = arena_strndup(v->arena, from, (size_t)(end - from));
    if (!known(name, end + 2))
        return fail(v->d, "operation '%s', which is newer than this reader", op->name);
    attributes(v, op, name);
    if (!strcmp(name, "func"))
        op->name = "func.func";
    else if (!strcmp(name, "call"))
        op->name = "func.call";
    else if (!strcmp(name, "return") && in_function)
        op->name = "func.return";
    else
        op->name = arena_printf(v->arena, "stablehlo.%s", name);
    as_symbol(v, op, "callee");
    as_symbol(v, op, "decomposition");
    return true;
}

static bool walk(struct vhlo *v, struct mlir_op *op, bool in_function)
{
    bool function = !strcmp(op->name, "vhlo.func_v1");
    if (!strncmp(op->name, "vhlo.", 5) && !operation(v, op, in_function))
        return false;
    if (++v->depth > MLIR_MAX_NESTING)
        return fail(v->d, "regions nested deeper than %d", MLIR_MAX_NESTING);
    for (int k = 0; k < op->region_count; k++) {
        struct mlir_block *b = mlir_body(op, k);
        for (int j = 0; b && j < b->op_count; j++)
            if (!walk(v, b->ops[j], function))
                return false;
    }
    v->depth--;
    return true;
}

bool vhlo_to_stablehlo(struct arena *a, struct mlir_op *top, struct diag *d)
{
    struct vhlo v = {a, d, 0};
    return walk(&v, top, false);
}
