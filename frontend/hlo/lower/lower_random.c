/* Random numbers. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

/* Of the type that XLA computes the numbers in; results are scaled by the operands. */
static bool random_numbers(struct hlo_lower *l, bool uniform, struct value *shape)
{
    const struct hlo_shape *s = l->i->shape;
    int to = hlo_type_dtype(s->type), type = to == DT_F64 || !dtype_is_float(to) ? DT_F64 : DT_F32;
    struct attrs a = {0};
    h_set_int(l, &a, "dtype", type);
    struct value *r = b_op(l->b, uniform ? OP_random_uniform : OP_random_normal, &shape, 1, &a);
    struct value *p = h_cast(l, h_in(l, 0), type), *q = h_cast(l, h_in(l, 1), type);
    if (to == DT_BOOL)
        return h_done(l, b_2(l->b, OP_lt, r, b_scalar(l->b, type, 0.5)));
    r = uniform ? b_2(l->b, OP_add, p, b_2(l->b, OP_mul, r, b_2(l->b, OP_sub, q, p)))
                : b_2(l->b, OP_add, p, b_2(l->b, OP_mul, r, q));
    return h_done(l, h_cast(l, dtype_is_int(to) ? b_1(l->b, OP_floor, r) : r, to));
}

bool hlo_lower_rng(struct hlo_lower *l)
{
    const struct hlo_shape *s = l->i->shape;
    if (l->i->operand_count != 2)
        return HLO_ERROR(l, "%d operands, expected 2", l->i->operand_count);
    return random_numbers(l, hlo_attr_int(l->i, HLO_ATTR_distribution) == HLO_DISTRIBUTION_UNIFORM,
                          b_i64s(l->b, s->dims, s->rank));
}

/* low, high, shape; backend_config has the distribution */
bool hlo_dynamic_rng(struct hlo_lower *l)
{
    const char *config = hlo_attr_text(l->i, HLO_ATTR_backend_config);
    if (l->i->operand_count != 3 || l->out.count != 1)
        return HLO_ERROR(l, "%d operands, expected 3", l->i->operand_count);
    return random_numbers(l, strstr(config, "UNIFORM") != NULL, h_cast(l, h_in(l, 2), DT_I64));
}

/* shape NULL: the stated one. */
static bool random_bits(struct hlo_lower *l, bool three_fry, struct value *shape)
{
    const struct hlo_shape *s = hlo_leaf(l->i->shape, l->out.count - 1);
    struct value *state = h_in(l, 0);
    struct attrs a = {0};
    if (l->out.count != 2)
        return HLO_ERROR(l, "the result is not (state, bits)");
    h_set_str(l, &a, "algorithm", three_fry ? "three_fry" : "philox");
    h_set_int(l, &a, "dtype", hlo_type_dtype(s->type));
    if (!shape)
        attr_set_ints(&l->b->g->arena, &a, "shape", s->dims, s->rank);
    if (b_dtype(state) == DT_U32) { /* pairs of 32-bit words, the low one first */
        struct attrs to = {0};
        int64_t words = state->type.dims[0];
        if (h_rank(state) != 1 || words % 2)
            return HLO_ERROR(l, "a state of %lld 32-bit words, expected 4 or 6", (long long)words);
        h_set_int(l, &to, "to", DT_U64);
        state = h_reshape(l, state, (int64_t[]){words / 2, 2}, 2);
        state = b_op(l->b, OP_bitcast, &state, 1, &to);
    }
    struct node *n = b_place(l->b, OP_rng_bits, (struct value *[]){state, shape}, shape ? 2 : 1, 2, &a);
    if (!b_infer(l->b, n))
        return false;
    struct value *next = n->out[0];
    if (b_dtype(h_in(l, 0)) == DT_U32) {
        struct attrs to = {0};
        h_set_int(l, &to, "to", DT_U32);
        next = b_op(l->b, OP_bitcast, &next, 1, &to);
        next = h_reshape(l, next, hlo_leaf(l->i->shape, 0)->dims, 1);
    }
    return h_done_all(l, (struct value *[]){next, n->out[1]}, 2);
}

bool hlo_lower_rng_bit_generator(struct hlo_lower *l)
{
    return random_bits(l, hlo_attr_int(l->i, HLO_ATTR_rng_algorithm) == HLO_RNG_THREE_FRY, NULL);
}

/* state, shape; backend_config has the algorithm */
bool hlo_dynamic_rng_bits(struct hlo_lower *l)
{
    const char *config = hlo_attr_text(l->i, HLO_ATTR_backend_config);
    if (l->i->operand_count != 2)
        return HLO_ERROR(l, "%d operands, expected 2", l->i->operand_count);
    return random_bits(l, strstr(config, "THREE_FRY") != NULL, h_cast(l, h_in(l, 1), DT_I64));
}
