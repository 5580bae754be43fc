/* custom-call: what the targets that compilers and frameworks emit mean, by name. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading the call ---- */

static const char *config(const struct hlo_lower *l)
{
    const struct hlo_attr *a = hlo_attr(l->i, HLO_ATTR_backend_config);
    return a && a->text->data ? a->text->data : "";
}

/* The first number in the backend_config, which may be quoted; false when there is none. */
static bool config_int(const struct hlo_lower *l, int64_t *v)
{
    const char *s = config(l);
    while (*s && *s != '-' && (*s < '0' || *s > '9'))
        s++;
    *v = *s ? strtoll(s, NULL, 10) : 0;
    return *s != 0;
}

static bool arrays(struct hlo_lower *l, int operands, int results)
{
    bool ok = l->i->operand_count >= operands && l->out.count == results;
    for (int k = 0; ok && k < operands; k++)
        ok = l->operands[k].count == 1;
    return ok || HLO_ERROR(l, "%d operands and %d results, expected %d and %d", l->i->operand_count,
                           l->out.count, operands, results);
}

/* The dim that backend_config names, else the last. */
static bool config_dim(struct hlo_lower *l, int64_t *dim)
{
    int rank = h_rank(h_in(l, 0));
    if (!config_int(l, dim))
        *dim = rank - 1;
    *dim += *dim < 0 ? rank : 0;
    return (*dim >= 0 && *dim < rank) ||
           HLO_ERROR(l, "backend_config names dimension %lld of %d", (long long)*dim, rank);
}

/* ---- one device: annotations and moves change nothing ---- */

static bool target_pass(struct hlo_lower *l)
{
    return hlo_lower_pass(l);
}

/* Between a whole array and one device's part of it: the same for one device. */
static bool target_shard(struct hlo_lower *l)
{
    const struct hlo_shape *from = l->i->operand_count ? h_in_shape(l, 0) : l->i->shape;
    int64_t n, m;
    if (hlo_shape_count(from, &n) && hlo_shape_count(l->i->shape, &m) && n != m && n && m) {
        l->b->d->unsupported = true;
        return HLO_ERROR(l,
                         "the program was partitioned for %lld devices, expected one; trace it "
                         "for a mesh of one device, or without shardings",
                         (long long)(n > m ? n / m : m / n));
    }
    return hlo_lower_pass(l);
}

/* What keeps its operand from being taken for unused, and gives nothing. */
static bool target_sink(struct hlo_lower *l)
{
    return l->out.count == 0 || HLO_ERROR(l, "%d results, expected none", l->out.count);
}

static bool target_buffer(struct hlo_lower *l)
{
    for (int k = 0; k < l->out.count; k++) {
        const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
        l->out.v[k] = h_fill(l, b_scalar(l->b, hlo_type_dtype(s->type), 0), s->dims, s->rank);
    }
    return !diag_failed(l->b->d);
}

/* ---- elementwise ---- */

static const struct {
    const char *name;
    enum op op;
} unary[] = {
    {"AwsNeuronErf", OP_erf},
    {"AwsNeuronGelu", OP_gelu},
    {"AwsNeuronGeluApprxTanh", OP_gelu_tanh},
    {"AwsNeuronSilu", OP_silu},
    {"mhlo.erf", OP_erf},
    {"mhlo.tan", OP_tan},
    {"mhlo.sinh", OP_sinh},
    {"mhlo.cosh", OP_cosh},
    {"mhlo.asinh", OP_asinh},
    {"mhlo.acosh", OP_acosh},
    {"mhlo.atanh", OP_atanh},
    {"mhlo.asin", OP_asin},
    {"mhlo.acos", OP_acos},
    {"chlo.atan", OP_atan},
    {"chlo.bessel_i1e", OP_bessel_i1e},
    {"chlo.digamma", OP_digamma},
    {"chlo.erf_inv", OP_erf_inv},
    {"chlo.erfc", OP_erfc},
    {"chlo.lgamma", OP_lgamma},
    {"chlo.polygamma", OP_polygamma},
    {"chlo.zeta", OP_zeta},
    {"xla_builder.math.Acos", OP_acos},
    {"xla_builder.math.Acosh", OP_acosh},
    {"xla_builder.math.Asin", OP_asin},
    {"xla_builder.math.Asinh", OP_asinh},
    {"xla_builder.math.Atan", OP_atan},
    {"xla_builder.math.Atanh", OP_atanh},
    {"xla_builder.math.Cosh", OP_cosh},
    {"xla_builder.math.Sinh", OP_sinh},
    {"xla_builder.math.Tan", OP_tan},
    {"xla_builder.math.Erf", OP_erf},
};

static bool target_unary(struct hlo_lower *l)
{
    const char *name = hlo_attr_text(l->i, HLO_ATTR_custom_call_target);
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++)
        if (!strcmp(unary[k].name, name)) {
            int n = op_infos[unary[k].op].min_in;
            struct value *in[2] = {h_in(l, 0), h_in(l, 1)};
            return arrays(l, n, 1) && h_done(l, h_elementwise(l, unary[k].op, in, n, NULL));
        }
    return fail_internal(l->b->d, "target '%s' has no operator", name);
}

/* ---- norms, softmax ---- */

/* x with dim moved to the end, or back from there. */
static struct value *swap_last(struct hlo_lower *l, struct value *x, int64_t dim)
{
    int64_t perm[MAX_RANK];
    int last = h_rank(x) - 1;
    for (int k = 0; k <= last; k++)
        perm[k] = k == dim ? last : k == last ? dim : k;
    return h_transpose(l, x, perm, last + 1);
}

/* x, weight, epsilon; backend_config: the dim. x / sqrt(mean(x^2) + epsilon) * weight, in f32. */
static bool target_rms_norm(struct hlo_lower *l)
{
    int64_t dim;
    double epsilon;
    struct attrs a = {0};
    if (!arrays(l, 2, 1) || !config_dim(l, &dim))
        return false;
    struct value *x = swap_last(l, h_in(l, 0), dim), *weight = h_cast(l, h_in(l, 1), b_dtype(x));
    bool given = l->i->operand_count > 2;
    if (given && h_known(h_in(l, 2), &epsilon)) {
        attr_set_float(&l->b->g->arena, &a, "epsilon", epsilon);
        h_set_int(l, &a, "axis", -1);
        struct value *y = b_op(l->b, OP_rms_norm, (struct value *[]){x, weight}, 2, &a);
        return h_done(l, swap_last(l, y, dim));
    }
    int64_t last = h_rank(x) - 1;
    struct value *wide = h_cast(l, x, DT_F32);
    struct value *mean = h_reduce(l, OP_reduce_mean, b_2(l->b, OP_mul, wide, wide), &last, 1, true);
    struct value *e =
        given ? h_reshape(l, h_cast(l, h_in(l, 2), DT_F32), NULL, 0) : b_scalar(l->b, DT_F32, 1e-6);
    struct value *y = b_2(l->b, OP_mul, wide, b_1(l->b, OP_rsqrt, b_2(l->b, OP_add, mean, e)));
    y = h_cast(l, b_2(l->b, OP_mul, y, h_cast(l, weight, DT_F32)), b_dtype(h_in(l, 0)));
    return h_done(l, swap_last(l, y, dim));
}

static bool target_softmax(struct hlo_lower *l)
{
    int64_t dim;
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    if (!arrays(l, 1, 1) || !config_dim(l, &dim))
        return false;
    h_set_int(l, &a, "axis", dim);
    return h_done(l, b_op(l->b, OP_softmax, &x, 1, &a));
}

/* ---- selection ---- */

/* (values, indices) of the k largest of the last dim, k being the result's; with a comparator that
 * sorts down. */
static bool target_top_k(struct hlo_lower *l)
{
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    if (!arrays(l, 1, 2))
        return false;
    const struct hlo_shape *s = hlo_leaf(l->i->shape, 0);
    const struct hlo_attr *c = hlo_attr(l->i, HLO_ATTR_called_computations);
    bool largest = true;
    if (s->rank < 1)
        return HLO_ERROR(l, "a result of rank 0, expected at least 1");
    if (c && c->computations->count == 1 && c->computations->v[0]->root->opcode == HLO_OP_COMPARE)
        largest = hlo_attr_int(c->computations->v[0]->root, HLO_ATTR_direction) != HLO_DIRECTION_LT;
    h_set_int(l, &a, "k", s->dims[s->rank - 1]);
    h_set_int(l, &a, "largest", largest);
    struct node *n = b_place(l->b, OP_top_k, &x, 1, 2, &a);
    if (!b_infer(l->b, n))
        return false;
    struct value *index = h_cast(l, n->out[1], hlo_type_dtype(hlo_leaf(l->i->shape, 1)->type));
    return h_done_all(l, (struct value *[]){n->out[0], index}, 2);
}

static bool target_arg(struct hlo_lower *l)
{
    int64_t dim;
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    bool max = strstr(hlo_attr_text(l->i, HLO_ATTR_custom_call_target), "ArgMax") != NULL;
    if (!arrays(l, 1, 1) || !config_dim(l, &dim))
        return false;
    h_set_int(l, &a, "axis", dim);
    h_set_int(l, &a, "keepdims", 0);
    struct value *y = b_op(l->b, max ? OP_argmax : OP_argmin, &x, 1, &a);
    y = h_cast(l, y, hlo_type_dtype(l->i->shape->type));
    return h_done(l, h_reshape(l, y, l->i->shape->dims, l->i->shape->rank));
}

/* ---- resizing ---- */

/* N,H,W,C to the result's shape; backend_config: two digits, align_corners and half_pixel_centers.
 */
static bool target_resize(struct hlo_lower *l)
{
    struct attrs a = {0};
    const struct hlo_shape *s = l->i->shape;
    bool nearest = strstr(hlo_attr_text(l->i, HLO_ATTR_custom_call_target), "Nearest") != NULL;
    const char *flags = config(l) + strcspn(config(l), "01");
    bool corners = flags[0] == '1', centers = flags[0] && flags[1] == '1';
    if (!arrays(l, 1, 1))
        return false;
    h_set_str(l, &a, "mode", nearest ? "nearest" : "linear");
    h_set_str(l, &a, "coordinate_transformation_mode",
              corners   ? "align_corners"
              : centers ? "half_pixel"
                        : "asymmetric");
    h_set_str(l, &a, "nearest_mode", corners ? "round_prefer_ceil" : "floor");
    return h_done(l, b_op(l->b, OP_resize,
                          (struct value *[]){h_in(l, 0), NULL, NULL, b_i64s(l->b, s->dims, s->rank)},
                          4, &a));
}

/* ---- products, factors ---- */

/* (A, B) -> A B, the result perhaps followed by scratch memory. */
static bool target_matmul(struct hlo_lower *l)
{
    if (l->i->operand_count < 2 || l->operands[0].count != 1 || l->operands[1].count != 1 ||
        l->out.count < 1)
        return HLO_ERROR(l, "%d operands, expected 2", l->i->operand_count);
    l->out.v[0] = b_2(l->b, OP_matmul, h_in(l, 0), h_in(l, 1));
    for (int k = 1; k < l->out.count; k++) {
        const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
        l->out.v[k] = h_fill(l, b_scalar(l->b, hlo_type_dtype(s->type), 0), s->dims, s->rank);
    }
    return !diag_failed(l->b->d);
}

/* A call that carries its own meaning: one computation of the operands' and the result's shapes. */
static const struct hlo_computation *own_body(const struct hlo_instruction *i)
{
    const struct hlo_attr *a = hlo_attr(i, HLO_ATTR_called_computations);
    const struct hlo_computation *c = hlo_attr(i, HLO_ATTR_to_apply)
                                          ? hlo_attr_computation(i, HLO_ATTR_to_apply)
                                      : a && a->computations->count == 1 ? a->computations->v[0]
                                                                         : NULL;
    if (!c || c->parameter_count != i->operand_count ||
        !hlo_shape_compatible(c->root->shape, i->shape))
        return NULL;
    for (int k = 0; k < c->parameter_count; k++)
        if (!hlo_shape_compatible(c->parameters[k]->shape, i->operands[k]->shape))
            return NULL;
    return c;
}

static bool target_body(struct hlo_lower *l)
{
    const struct hlo_computation *c = own_body(l->i);
    struct leaves result;
    if (!c)
        return HLO_ERROR(l,
                         "the call has no computation that fits it, so its meaning is not known");
    return hlo_inline(l, c, l->operands, l->i->operand_count, &result) &&
           h_done_all(l, result.v, result.count);
}

const struct hlo_target hlo_targets[] = {
    {"Sharding", target_pass, "its operand"},
    {"SPMDFullToShardShape", target_shard, "its operand, on one device"},
    {"SPMDShardToFullShape", target_shard, "its operand, on one device"},
    {"xla.sdy.*", target_shard, "its operand, on one device"},
    {"annotate_device_placement", target_pass, "its operand"},
    {"MoveToHost", target_pass, "its operand"},
    {"MoveToDevice", target_pass, "its operand"},
    {"PinToDevice*", target_pass, "its operand"},
    {"Pin", target_pass, "its operand"},
    {"Unpin", target_pass, "its operand"},
    {"LayoutConstraint", target_pass, "its operand"},
    {"dce_sink", target_sink, "nothing; its operand need not be computed"},
    {"AllocateBuffer", target_buffer, "zeros"},
    {"CreateBuffer", target_buffer, "zeros"},
    {"TopK", target_top_k, "values and indices of the k largest, in total order"},
    {"ApproxTopK", hlo_approx_top_k, "as TopK, along a dimension, exactly"},
    {"__onednn$matmul", target_matmul, "matrix product"},
    {"EigenMatMul*", target_matmul, "matrix product"},
    {"__eigen$matmul", target_matmul, "matrix product"},
    {"AwsNeuronErf", target_unary, "erf"},
    {"AwsNeuronGelu", target_unary, "GELU by erf"},
    {"AwsNeuronGeluApprxTanh", target_unary, "GELU by tanh"},
    {"AwsNeuronSilu", target_unary, "x * sigmoid(x)"},
    {"AwsNeuronRmsNorm", target_rms_norm, "x, weight, epsilon; backend_config: dim"},
    {"AwsNeuronSoftmax", target_softmax, "backend_config: dim"},
    {"AwsNeuronTopK", target_top_k, "values and indices of the k largest"},
    {"AwsNeuronArgMax", target_arg, "backend_config: dim"},
    {"AwsNeuronArgMin", target_arg, "backend_config: dim"},
    {"ResizeNearest", target_resize, "N,H,W,C; backend_config: align_corners, half_pixel_centers"},
    {"ResizeBilinear", target_resize, "as ResizeNearest"},
    {"AwsNeuronModuleMarker*", target_pass, "its operands"},
    {"NeuronBoundaryMarker-*", target_pass, "its operands"},
    {"AwsNeuronLNCShardingConstraint", target_pass, "its operand"},
    {"AwsNeuronTransferWithStaticRing", target_pass, "its operand"},
    {"AwsNeuronDevicePrint", target_pass, "its operand; nothing is printed"},
    {"lapack_*", hlo_target_lapack,
     "factors, solutions, eigenvalues and singular values by LAPACK's names"},
    {"cusolver_*", hlo_target_lapack,
     "potrf, getrf, geqrf, orgqr, ormqr, sytrd, syevd: as lapack_*"},
    {"hipsolver_*", hlo_target_lapack, "as cusolver_*"},
    {"tridiagonal_solve_perturbed_ffi", hlo_target_tridiagonal,
     "solution of a tridiagonal system, pivots near 0 made larger"},
    {"cu_tridiagonal_solve_perturbed", hlo_target_tridiagonal, "the same"},
    {"cpu_csr_sparse_dense_ffi", hlo_target_sparse_rows,
     "values, beginnings of rows, columns, y: a sparse matrix times y"},
    {"Qr", hlo_target_qr, "Q R by reflectors, and their factors"},
    {"ProductOfElementaryHouseholderReflectors", hlo_target_reflectors, "Q of Qr's results"},
    {"LuDecomposition", hlo_target_lu, "L U, row exchanges, and the permutation they make"},
    {"cu_lu_pivots_to_permutation", hlo_target_permutation,
     "the permutation that row exchanges make"},
    {"hip_lu_pivots_to_permutation", hlo_target_permutation, "the same"},
    {"Eigh", hlo_target_eigh, "eigenvectors and eigenvalues; backend_config: lower"},
    {"shape_assertion", hlo_shape_assertion,
     "what sizes the program takes; a guard of the archive"},
    {"stablehlo.dynamic_approx_top_k", hlo_approx_top_k, "x, places, first values, k; as ApproxTopK"},
    {"stablehlo.dynamic_broadcast_in_dim", hlo_dynamic_broadcast_in_dim, "x, shape; dims"},
    {"stablehlo.dynamic_gather", hlo_dynamic_gather, "x, indices, sizes; dimension numbers"},
    {"stablehlo.dynamic_iota", hlo_dynamic_iota, "shape; dim"},
    {"stablehlo.dynamic_pad", hlo_dynamic_pad, "x, value, low, high, interior"},
    {"stablehlo.dynamic_reduce_window", hlo_dynamic_reduce_window,
     "x, first values, sizes, strides, base dilations, dilations, paddings"},
    {"stablehlo.dynamic_pad_spatial", hlo_dynamic_pad_spatial, "x, paddings; dims, dilations"},
    {"stablehlo.dynamic_reshape", hlo_dynamic_reshape, "x, shape"},
    {"stablehlo.dynamic_rng_bit_generator", hlo_dynamic_rng_bits, "state, shape"},
    {"stablehlo.rng", hlo_dynamic_rng, "low, high, shape"},
    {"stablehlo.dynamic_top_k", hlo_dynamic_top_k, "x, k"},
    {"stablehlo.real_dynamic_slice", hlo_real_dynamic_slice, "x, starts, limits, strides"},
    {"mhlo.*", target_unary, "elementwise functions"},
    {"chlo.*", target_unary, "elementwise functions"},
    {"xla_builder.math.*", target_unary, "elementwise functions"},
};
const int hlo_target_count = sizeof hlo_targets / sizeof *hlo_targets;

#define CALLS_PYTHON                                                                               \
    "it calls Python while the program runs, as jax.pure_callback, io_callback and "               \
    "jax.debug.print do; return the values from the function, and do the rest outside of it"

/* Targets that have a meaning, but none that could be compiled. */
static const struct {
    const char *name, *reason;
} refused[] = {
    {"AwsNeuronGeluBackward", "the order of its operands is not public"},
    {"AwsNeuronSiluBackward", "the order of its operands is not public"},
    {"AwsNeuronSoftmaxBackward", "the order of its operands is not public"},
    {"AwsNeuronRmsNormBackward", "the order of its operands is not public"},
    {"AwsNeuronDropoutMaskV1", "its random numbers are not specified"},
    {"AwsNeuronCollectiveMatmul", "it works among several devices"},
    {"AwsNeuronIntMatmult", "its quantisation is not public"},
    {"AwsNeuronCustomOp", "its code is in another library"},
    {"tpu_custom_call", "a kernel for another machine"},
    {"triton_kernel_call", "a kernel for another machine"},
    {"__gpu$xla.gpu.triton", "a kernel for another machine"},
    {"xla_python_*", CALLS_PYTHON},
    {"xla_ffi_python_*", CALLS_PYTHON},
    {"xla_ffi_partitioned_python_*", CALLS_PYTHON},
    {"xla_buffer_python_*", CALLS_PYTHON},
};

static bool covers(const char *row, const char *name)
{
    size_t n = strlen(row);
    return row[n - 1] == '*' ? !strncmp(row, name, n - 1) : !strcmp(row, name);
}

static bool known_unary(const char *name)
{
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++)
        if (!strcmp(unary[k].name, name))
            return true;
    return false;
}

const struct hlo_target *hlo_target_find(const struct hlo_instruction *i)
{
    static const struct hlo_target body = {"", target_body, ""};
    const char *name = hlo_attr_text(i, HLO_ATTR_custom_call_target);
    for (int k = 0; k < hlo_target_count; k++)
        if (covers(hlo_targets[k].name, name) &&
            (hlo_targets[k].lower != target_unary || known_unary(name)) &&
            (hlo_targets[k].lower != hlo_target_lapack || hlo_is_lapack(name)))
            return &hlo_targets[k];
    bool builder = !strncmp(name, "xla_builder.", 12) || !strncmp(name, "mhlo.", 5) ||
                   !strncmp(name, "stablehlo.", 10) || !strncmp(name, "chlo.", 5);
    return builder && own_body(i) ? &body : NULL;
}

const char *hlo_custom_call_reason(const struct hlo_importer *im, struct arena *a,
                                   const struct hlo_instruction *i)
{
    const char *name = hlo_attr_text(i, HLO_ATTR_custom_call_target);
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (covers(refused[k].name, name))
            return arena_printf(a, "custom-call of '%s': %s", name, refused[k].reason);
    return hlo_kernel_reason(im, a, i);
}

bool hlo_lower_custom_call(struct hlo_lower *l)
{
    const struct hlo_target *t = hlo_target_find(l->i);
    if (hlo_is_custom_op(l->im, l->i))
        return hlo_lower_custom_op(l);
    if (hlo_is_kernel(l->im, &l->b->g->arena, l->i))
        return hlo_lower_kernel(l);
    return t ? t->lower(l) : HLO_ERROR(l, "%s", hlo_custom_call_reason(l->im, &l->b->g->arena, l->i));
}
