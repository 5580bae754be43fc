/*
 * Building graph nodes while lowering an HLO instruction: b_2(l->b, OP_add, x, y), see passes/build.h, and what HLO
 * means by casts, reshapes and broadcasts.
 *
 * A failure is sticky: it is recorded in l->b->d and results are NULL from then on, so a lowering function only has to
 * end with h_done.
 */
#ifndef FRONTEND_HLO_BUILD_H
#define FRONTEND_HLO_BUILD_H

#include "frontend/hlo/lower/lower.h"

#define HLO_ERROR(l, ...) fail((l)->b->d, __VA_ARGS__)

/* Stores the only leaf; whether all went well. */
bool h_done(struct hlo_lower *l, struct value *result);
/* Stores several. */
bool h_done_all(struct hlo_lower *l, struct value *const *results, int n);

/* Lowers l->i as if it were an instruction of another opcode, which `lower` lowers, with these operands, and attributes
 * in any order. */
bool h_lower_as(struct hlo_lower *l, enum hlo_opcode opcode, hlo_lower_fn lower, const struct hlo_attr *attrs,
                int nattrs, struct leaves *operands, int noperands);

/* Operand k's first leaf: the operand when it is one array. NULL when it has none. */
static inline struct value *h_in(const struct hlo_lower *l, int k)
{
    return k < l->i->operand_count && l->operands[k].count ? l->operands[k].v[0] : NULL;
}
static inline const struct hlo_shape *h_in_shape(const struct hlo_lower *l, int k)
{
    return l->i->operands[k]->shape;
}
static inline int h_rank(const struct value *v)
{
    return v ? v->type.rank : 0;
}

/* Dims as a shape (i64, rank 1), symbolic ones from the values that have them. */
struct value *h_dims(struct hlo_lower *l, const int64_t *dims, int rank);
/* The constant scalar's value; false when it is not one. */
bool h_known(const struct value *v, double *x);

/* Movement. Each gives x itself when there is nothing to do. */
struct value *h_cast(struct hlo_lower *l, struct value *x, int dtype);
struct value *h_reshape(struct hlo_lower *l, struct value *x, const int64_t *dims, int rank);
struct value *h_transpose(struct hlo_lower *l, struct value *x, const int64_t *perm, int rank);
struct value *h_reverse(struct hlo_lower *l, struct value *x, const int64_t *axes, int n);
/* Operand dim i becomes result dim at[i]. */
struct value *h_broadcast(struct hlo_lower *l, struct value *x, const int64_t *dims, int rank,
                          const int64_t *at);
struct value *h_fill(struct hlo_lower *l, struct value *scalar, const int64_t *dims, int rank);
struct value *h_slice(struct hlo_lower *l, struct value *x, int axis, int64_t from, int64_t to);
struct value *h_concat(struct hlo_lower *l, struct value *const *v, int n, int axis);
struct value *h_reduce(struct hlo_lower *l, enum op op, struct value *x, const int64_t *axes, int n,
                       bool keepdims);
struct value *h_iota(struct hlo_lower *l, int dtype, const int64_t *dims, int rank, int axis);

/*
 * An elementwise operator on operands of one shape. Those that only repeat a smaller array are
 * replaced by it, since core operators broadcast; when all of them do, it is computed before
 * repeating.
 */
struct value *h_elementwise(struct hlo_lower *l, enum op op, struct value *const *in, int nin,
                            const struct attrs *attrs);

/* Attribute lists under construction. */
static inline void h_set_int(struct hlo_lower *l, struct attrs *a, const char *name, int64_t v)
{
    attr_set_int(&l->b->g->arena, a, name, v);
}
static inline void h_set_ints(struct hlo_lower *l, struct attrs *a, const char *name,
                              struct hlo_ints v)
{
    attr_set_ints(&l->b->g->arena, a, name, v.v, v.count);
}
static inline void h_set_str(struct hlo_lower *l, struct attrs *a, const char *name, const char *v)
{
    attr_set_str(&l->b->g->arena, a, name, v);
}

static inline bool h_has(struct hlo_ints v, int64_t x)
{
    for (int k = 0; k < v.count; k++)
        if (v.v[k] == x)
            return true;
    return false;
}

/*
 * A computation on pairs of scalars, as operators with a `combine` attribute take it: a name when
 * it is one well-known operator, else a region (lanes attribute: whether it takes vectors). Sets
 * the attribute; h_combine_region adds the region to the node afterwards when there is one to add.
 */
const char *h_combine_name(const struct hlo_computation *c); /* "add", "max", ...; NULL */
void h_combine_attrs(struct hlo_lower *l, struct attrs *a, const struct hlo_computation *c);
bool h_combine_region(struct hlo_lower *l, struct node *n, const struct hlo_computation *c);

#endif
