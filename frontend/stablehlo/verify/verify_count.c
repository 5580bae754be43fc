/* How many operands and results operations have, so that what follows may rely on it. */
#include "frontend/stablehlo/verify/verify.h"

enum { ANY = -1 };

static const struct {
    int min, max, results; /* ANY: no bound, or as many as there are */
    const char *ops;
} counts[] = {
    {0, 0, 1, "constant create_token iota partition_id replica_id"},
    {0, ANY, 1, "after_all tuple"},
    {1, 1, 1,
     "abs bitcast_convert broadcast broadcast_in_dim cbrt ceil cholesky convert cosine count_leading_zeros "
     "dynamic_iota exponential exponential_minus_one fft floor get_dimension_size get_tuple_element imag is_finite log "
     "log_plus_one logistic negate not popcnt real reduce_precision reshape reverse round_nearest_afz "
     "round_nearest_even rsqrt sign sine slice sqrt tan tanh transpose unary_einsum uniform_dequantize "
     "uniform_quantize"},
    {1, 1, 2, "rng_bit_generator"},
    {1, 1, ANY, "case if"},
    {1, ANY, 1, "concatenate dynamic_slice map"},
    {1, ANY, ANY, "sort"},
    {2, 2, 1,
     "add and atan2 compare complex convolution divide dot dot_general dynamic_broadcast_in_dim dynamic_reshape einsum "
     "gather maximum minimum multiply or pad power remainder set_dimension_size shift_left shift_right_arithmetic "
     "shift_right_logical subtract torch_index_select triangular_solve xor"},
    {2, ANY, 1, "dynamic_update_slice"},
    {3, 3, 1, "clamp dynamic_conv dynamic_gather rng select select_and_scatter"},
    {3, 3, 3, "batch_norm_training"},
    {3, ANY, ANY, "scatter"},
    {4, 4, 1, "real_dynamic_slice"},
    {5, 5, 1, "batch_norm_inference dynamic_pad"},
    {5, 5, 3, "batch_norm_grad"},
};

static bool listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = names; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strcspn(s, " ") == n && !memcmp(s, name, n))
            return true;
    return false;
}

static const char *expected(struct verifier *v, int min, int max)
{
    return arena_printf(&v->arena, max == ANY ? "at least %d" : "%d", min);
}

bool verify_counts(struct verifier *v, const struct mlir_op *op)
{
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        int min = counts[k].min, max = counts[k].max, results = counts[k].results;
        if (!listed(counts[k].ops, op->name + strlen("stablehlo.")))
            continue;
        if (op->operand_count < min || (max != ANY && op->operand_count > max))
            return VERIFY_ERROR(v, "%d operands, expected %s", op->operand_count, expected(v, min, max));
        return results == ANY || op->result_count == results ||
               VERIFY_ERROR(v, "%d results, expected %d", op->result_count, results);
    }
    return true;
}
