#include "frontend/stablehlo/verify/verify.h"

#include <ctype.h>

/* ---- element types ---- */

/*
 * What the elements of operands may be: i signed, u unsigned, p booleans, f floats, c complex, q
 * quantized, a all of these. Operands apart by commas, the last for all that follow.
 */
static const struct {
    const char *op, *admits;
} types[] = {
    {"abs", "ifcq"},
    {"and", "iup"},
    {"atan2", "fcq"},
    {"batch_norm_grad", "fq"},
    {"batch_norm_inference", "fq"},
    {"batch_norm_training", "fq"},
    {"case", "i"},
    {"cbrt", "fcq"},
    {"ceil", "fq"},
    {"cholesky", "fc"},
    {"complex", "f"},
    {"cosine", "fcq"},
    {"count_leading_zeros", "iu"},
    {"divide", "iufcq"},
    {"dynamic_slice", "a,iu"},
    {"dynamic_update_slice", "a,a,iu"},
    {"exponential", "fcq"},
    {"exponential_minus_one", "fcq"},
    {"fft", "fc"},
    {"floor", "fq"},
    {"gather", "a,iu"},
    {"if", "p"},
    {"imag", "fc"},
    {"is_finite", "fq"},
    {"log", "fcq"},
    {"log_plus_one", "fcq"},
    {"logistic", "fcq"},
    {"negate", "iufcq"},
    {"not", "iup"},
    {"or", "iup"},
    {"popcnt", "iu"},
    {"power", "iufcq"},
    {"real", "fc"},
    {"reduce_precision", "fq"},
    {"remainder", "iufq"},
    {"rng", "iupf,iupf,i"},
    {"round_nearest_afz", "fq"},
    {"round_nearest_even", "fq"},
    {"rsqrt", "fcq"},
    {"select", "p,a"},
    {"shift_left", "iu"},
    {"shift_right_arithmetic", "iu"},
    {"shift_right_logical", "iu"},
    {"sign", "iufcq"},
    {"sine", "fcq"},
    {"sqrt", "fcq"},
    {"subtract", "iufcq"},
    {"tan", "fcq"},
    {"tanh", "fcq"},
    {"triangular_solve", "fc"},
    {"uniform_dequantize", "q"},
    {"xor", "iup"},
};

static char class_of(const struct mlir_type *t)
{
    const struct mlir_type *e = verify_element(t);
    if (e->kind == MT_QUANT)
        return 'q';
    if (e->kind == MT_INDEX)
        return 'x';
    if (e->kind != MT_SCALAR)
        return '?';
    switch (dtype_class(e->dtype)) {
    case DTC_SINT:
        return 'i';
    case DTC_UINT:
        return 'u';
    case DTC_BOOL:
        return 'p';
    case DTC_FLOAT:
        return 'f';
    case DTC_COMPLEX:
        return 'c';
    default:
        return '?';
    }
}

static bool check_types(struct verifier *v, const struct mlir_op *op)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (!verify_is(op, types[k].op))
            continue;
        const char *s = types[k].admits;
        for (int j = 0; j < op->operand_count; j++) {
            const struct mlir_type *t = op->operands[j]->type;
            size_t n = strcspn(s, ",");
            char c = class_of(t);
            if (!verify_tensor(t))
                return VERIFY_ERROR(v, "operand %d is %s, expected a tensor", j,
                                    mlir_type_text(&v->arena, t));
            if (c == 'x') /* what sizes and places may be */
                c = 'i';
            if (*s != 'a' && !memchr(s, c, n))
                return VERIFY_ERROR(v, "operand %d is %s, whose element type is not admitted", j,
                                    mlir_type_text(&v->arena, t));
            if (s[n] == ',')
                s += n + 1;
        }
    }
    return true;
}

/* ---- attributes ---- */

static const struct {
    const char *op, *attr;
    int64_t min;
} min[] = {
    {"all_gather", "all_gather_dim", 0},
    {"all_to_all", "split_dimension", 0},
    {"all_to_all", "concat_dimension", 0},
    {"all_to_all", "split_count", 1},
    {"batch_norm_grad", "feature_index", 0},
    {"batch_norm_inference", "feature_index", 0},
    {"batch_norm_training", "feature_index", 0},
    {"concatenate", "dimension", 0},
    {"convolution", "feature_group_count", 1},
    {"convolution", "batch_group_count", 1},
    {"dynamic_conv", "feature_group_count", 1},
    {"dynamic_conv", "batch_group_count", 1},
    {"get_dimension_size", "dimension", 0},
    {"get_tuple_element", "index", 0},
    {"iota", "iota_dimension", 0},
    {"reduce_precision", "exponent_bits", 1},
    {"reduce_precision", "mantissa_bits", 0},
    {"reduce_scatter", "scatter_dimension", 0},
    {"set_dimension_size", "dimension", 0},
};

static bool check_accuracy(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_attr(op, "result_accuracy");
    if (!a || a->kind != MA_STRUCT)
        return true;
    const struct mlir_attr *atol = mlir_field(a, "atol"), *rtol = mlir_field(a, "rtol"),
                           *ulps = mlir_field(a, "ulps");
    bool zero = (!atol || atol->f == 0) && (!rtol || rtol->f == 0) && (!ulps || ulps->i == 0);
    bool negative = (atol && atol->f < 0) || (rtol && rtol->f < 0) || (ulps && ulps->i < 0);
    const char *mode = mlir_text(mlir_field(a, "mode"));
    if (negative || (!zero && strcmp(mode, "TOLERANCE")))
        return VERIFY_ERROR(v, "result_accuracy has tolerances that do not go with its mode, %s",
                            mode);
    return true;
}

static bool known_algorithm(const struct mlir_attr *a)
{
    static const struct {
        const char *left, *right, *sum;
        int lefts, rights, products;
    } known[] = {{"f16", "f16", "f16", 1, 1, 1},    {"f16", "f16", "f32", 1, 1, 1},
                 {"bf16", "bf16", "bf16", 1, 1, 1}, {"bf16", "bf16", "f32", 1, 1, 1},
                 {"bf16", "bf16", "f32", 1, 1, 3},  {"bf16", "bf16", "f32", 1, 1, 6},
                 {"bf16", "bf16", "f32", 1, 1, 9},  {"tf32", "tf32", "f32", 1, 1, 1},
                 {"tf32", "tf32", "f32", 1, 1, 3},  {"f32", "f32", "f32", 1, 1, 1},
                 {"f64", "f64", "f64", 1, 1, 1}};
    struct arena scratch = {0};
    const char *name[3] = {"lhs_precision_type", "rhs_precision_type", "accumulation_type"};
    const char *text[3];
    int64_t counts[3] = {1, 1, 1};
    bool found = false, exact = false;
    for (int k = 0; k < 3; k++) {
        const struct mlir_attr *t = mlir_field(a, name[k]);
        text[k] = t && t->kind == MA_TYPE ? mlir_type_text(&scratch, t->type) : "?";
    }
    mlir_int(mlir_field(a, "lhs_component_count"), &counts[0]);
    mlir_int(mlir_field(a, "rhs_component_count"), &counts[1]);
    mlir_int(mlir_field(a, "num_primitive_operations"), &counts[2]);
    int64_t imprecise = 0;
    mlir_int(mlir_field(a, "allow_imprecise_accumulation"), &imprecise);
    bool eight = !strncmp(text[0], "f8", 2) && !strncmp(text[1], "f8", 2) &&
                 (!strcmp(text[2], "f32") || !strcmp(text[2], "f16"));
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        bool same = !strcmp(known[k].left, text[0]) && !strcmp(known[k].right, text[1]) &&
                    !strcmp(known[k].sum, text[2]);
        found |= same;
        exact |= same && counts[2] == known[k].products && !imprecise && counts[0] == counts[1];
    }
    arena_free(&scratch);
    return (eight && counts[0] == 1 && counts[1] == 1 && counts[2] == 1) || (found && exact);
}

static bool check_attributes(struct verifier *v, const struct mlir_op *op)
{
    for (size_t k = 0; k < sizeof min / sizeof *min; k++)
        if (verify_is(op, min[k].op) &&
            verify_int(op, min[k].attr, min[k].min) < min[k].min)
            return VERIFY_ERROR(v, "attribute '%s' is %lld, expected at least %lld", min[k].attr,
                                (long long)verify_int(op, min[k].attr, 0),
                                (long long)min[k].min);
    const struct mlir_attr *precision = mlir_attr(op, "precision_config");
    if (precision && precision->kind == MA_ARRAY && precision->count > 2)
        return VERIFY_ERROR(v, "precision_config has %d entries, expected at most 2",
                            precision->count);
    const struct mlir_attr *algorithm = mlir_attr(op, "algorithm");
    if (verify_is(op, "dot_general") && algorithm && algorithm->kind == MA_STRUCT &&
        !known_algorithm(algorithm))
        return VERIFY_ERROR(v, "an algorithm for dot products that no hardware has");
    return check_accuracy(v, op);
}

/* "namespace.name" */
static bool namespaced(const char *s)
{
    bool dot = false;
    if (!isalpha((unsigned char)*s))
        return false;
    for (; *s; s++) {
        if (*s == '.' && (!s[1] || s[1] == '.'))
            return false;
        if (*s != '.' && !isalnum((unsigned char)*s) && *s != '_' && *s != '$')
            return false;
        dot |= *s == '.';
    }
    return dot;
}

static const struct mlir_op *find_function(const struct verifier *v, const char *name)
{
    struct mlir_block *b = mlir_body(v->module->top, 0);
    for (int k = 0; b && k < b->op_count; k++)
        if (mlir_is(b->ops[k], "func.func") &&
            !strcmp(mlir_text(mlir_attr(b->ops[k], "sym_name")), name))
            return b->ops[k];
    return NULL;
}

static bool check_composite(struct verifier *v, const struct mlir_op *op)
{
    if (!verify_is(op, "composite"))
        return true;
    if (!namespaced(mlir_text(mlir_attr(op, "name"))))
        return VERIFY_ERROR(v, "the name \"%.60s\" is not of the form namespace.operation",
                            mlir_text(mlir_attr(op, "name")));
    const char *name = mlir_text(mlir_attr(op, "decomposition"));
    const struct mlir_op *f = find_function(v, name);
    const struct mlir_attr *a = f ? mlir_attr(f, "function_type") : NULL;
    if (!a || !a->type)
        return VERIFY_ERROR(v, "its decomposition '@%s' is not defined", name);
    const struct mlir_type *t = a->type;
    if (t->inputs != op->operand_count || t->count - t->inputs != op->result_count)
        return VERIFY_ERROR(v, "its decomposition '@%s' has other numbers of arguments or results",
                            name);
    for (int k = 0; k < t->count; k++) {
        const struct mlir_type *have =
            k < t->inputs ? op->operands[k]->type : op->results[k - t->inputs]->type;
        if (!mlir_type_equal(t->types[k], have))
            return VERIFY_ERROR(v, "%s %d is %s, but '@%s' has %s",
                                k < t->inputs ? "operand" : "result",
                                k < t->inputs ? k : k - t->inputs, mlir_type_text(&v->arena, have),
                                name, mlir_type_text(&v->arena, t->types[k]));
    }
    return true;
}

/* ---- all operations ---- */

static bool check(struct verifier *v, const struct mlir_op *op)
{
    bool own = !strncmp(op->name, "stablehlo.", 10);
    if ((own && !verify_counts(v, op)) || !verify_elementwise(v, op))
        return false;
    if (!own)
        return true;
    return check_types(v, op) && check_attributes(v, op) && check_composite(v, op) &&
           verify_regions(v, op) && verify_indices(v, op) && verify_devices(v, op) &&
           verify_shapes(v, op) && verify_quantized(v, op);
}

static bool walk(struct verifier *v, const struct mlir_op *op)
{
    if (!check(v, op)) {
        const char *source = mlir_source(&v->arena, op->loc);
        fail_in(v->d, "'%s'%s%s", op->name, source ? " from " : "", source ? source : "");
        return op->line ? fail_in(v->d, "line %d", op->line) : false;
    }
    for (int k = 0; k < op->region_count; k++) {
        struct mlir_block *b = mlir_body(op, k);
        for (int j = 0; b && j < b->op_count; j++)
            if (!walk(v, b->ops[j]))
                return false;
    }
    return true;
}

bool mlir_verify(const struct mlir_module *m, struct diag *d)
{
    struct verifier v = {.module = m, .d = d};
    bool ok = walk(&v, m->top);
    arena_free(&v.arena);
    return ok;
}
