/* Fourier transforms and dense linear algebra. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

bool hlo_lower_fft(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    h_set_str(l, &a, "kind", hlo_enum_name(HLO_SET_FFT, hlo_attr_int(l->i, HLO_ATTR_fft_type)));
    h_set_ints(l, &a, "lengths", hlo_attr_ints(l->i, HLO_ATTR_fft_length));
    return h_done(l, b_op(l->b, OP_fft, &x, 1, &a));
}

bool hlo_lower_cholesky(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    h_set_int(l, &a, "lower", hlo_attr_int(l->i, HLO_ATTR_lower));
    return h_done(l, b_op(l->b, OP_cholesky, &x, 1, &a));
}

bool hlo_lower_triangular_solve(struct hlo_lower *l)
{
    int64_t how = hlo_attr_int(l->i, HLO_ATTR_transpose_a);
    struct attrs a = {0};
    h_set_int(l, &a, "left_side", hlo_attr_int(l->i, HLO_ATTR_left_side));
    h_set_int(l, &a, "lower", hlo_attr_int(l->i, HLO_ATTR_lower));
    h_set_int(l, &a, "unit_diagonal", hlo_attr_int(l->i, HLO_ATTR_unit_diagonal));
    h_set_int(l, &a, "transpose", how == HLO_TRANSPOSE_TRANSPOSE || how == HLO_TRANSPOSE_ADJOINT);
    h_set_int(l, &a, "conjugate", how == HLO_TRANSPOSE_ADJOINT);
    return h_done(l,
                  b_op(l->b, OP_triangular_solve, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}
