/* bitcast_convert of booleans: an i1 is one bit in StableHLO, one byte in HLO and here. */
#include "frontend/stablehlo/lower/convert_ops.h"

static int bits_of(const struct hlo_shape *s)
{
    return dtype_info(hlo_type_dtype(s->type))->bits;
}

/* The unsigned type of as many bits. */
static enum hlo_type word_type(int bits)
{
    return bits == 64   ? HLO_U64
           : bits == 32 ? HLO_U32
           : bits == 16 ? HLO_U16
           : bits == 8  ? HLO_U8
           : bits == 4  ? HLO_U4
                        : HLO_U2;
}

static struct hlo_instruction *counting(struct sh_convert *c, int rank, const int64_t *dims)
{
    struct sh_attrs l = {0};
    sh_set_int(&l, HLO_ATTR_iota_dimension, rank - 1);
    return sh_emit(c, HLO_OP_IOTA, hlo_shape_new(c->arena, HLO_U64, rank, dims), NULL, 0, &l);
}

/* The last dim of x as the bits of a number, the lowest first. */
static struct hlo_instruction *pack(struct sh_convert *c, struct hlo_instruction *x,
                                    const struct hlo_shape *to)
{
    struct sh_attrs l = {0};
    int64_t bits = bits_of(to), last = x->shape->rank - 1, first = 0;
    struct hlo_instruction *place = counting(c, 1, &bits);
    struct hlo_instruction *worth =
        place ? sh_2(c, HLO_OP_SHIFT_LEFT, sh_like(c, place, 1), place) : NULL;
    struct hlo_instruction *in[] = {sh_cast(c, x, HLO_U64), worth};
    if (!in[0] || !in[1])
        return NULL;
    sh_set_ints(c, &l, HLO_ATTR_lhs_contracting_dims, &last, 1);
    sh_set_ints(c, &l, HLO_ATTR_rhs_contracting_dims, &first, 1);
    struct hlo_instruction *word = sh_emit(c, HLO_OP_DOT, NULL, in, 2, &l);
    word = word ? sh_cast(c, word, word_type((int)bits)) : NULL;
    return word ? sh_emit(c, HLO_OP_BITCAST_CONVERT, to, &word, 1, NULL) : NULL;
}

static struct hlo_instruction *unpack(struct sh_convert *c, struct hlo_instruction *x,
                                      const struct hlo_shape *to)
{
    int64_t at[HLO_MAX_RANK];
    const struct hlo_shape *s = x->shape,
                           *words = hlo_shape_new(c->arena, word_type(bits_of(s)), s->rank, s->dims);
    for (int k = 0; k < s->rank; k++)
        at[k] = k;
    struct hlo_instruction *word = sh_emit(c, HLO_OP_BITCAST_CONVERT, words, &x, 1, NULL);
    word = word ? sh_cast(c, word, HLO_U64) : NULL;
    word = word ? sh_broadcast(c, word, hlo_shape_new(c->arena, HLO_U64, to->rank, to->dims), at)
                : NULL;
    struct hlo_instruction *place = word ? counting(c, to->rank, to->dims) : NULL;
    word = place ? sh_2(c, HLO_OP_SHIFT_RIGHT_LOGICAL, word, place) : NULL;
    word = word ? sh_2(c, HLO_OP_AND, word, sh_like(c, word, 1)) : NULL;
    return word ? sh_compare(c, word, sh_like(c, word, 0), HLO_DIRECTION_NE) : NULL;
}

/* Whether the last dim of `bits` has as many elements as `word` has bits. */
static bool are_bits(const struct hlo_shape *bits, const struct hlo_shape *word)
{
    return bits->type == HLO_PRED && word->type != HLO_PRED && bits->rank == word->rank + 1 &&
           bits->dims[bits->rank - 1] == bits_of(word) && bits_of(word) <= 64;
}

bool sh_convert_bitcast_convert(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *x = sh_operand(c, op, 0);
    const struct hlo_shape *to = x && op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    if (!to)
        return false;
    if (are_bits(x->shape, to))
        return sh_finish(c, op, pack(c, x, to));
    if (are_bits(to, x->shape))
        return sh_finish(c, op, unpack(c, x, to));
    return sh_plain(c, op, HLO_OP_BITCAST_CONVERT, NULL, true);
}
