/*
 * Operators that only change where elements lie: transposes, broadcasts, repeats, blocks of depth
 * and space, and copies of views.
 */
#include "backend/lower/group.h"
#include "backend/lower/move.h"
#include "backend/lower/numbers.h"

static enum lowered finish(struct lowering *l, const struct node *n, struct move *m)
{
    if (!move_possible(l, m)) {
        why(l->o, n, "tile.move-rank", "%d separate dimensions; it runs on GpSimd", m->rank);
        return DECLINED;
    }
    emit_move(l, n, n->name && *n->name ? n->name : op_name(n->op), m);
    return LOWERED;
}

/* Steps of the operand, which is dense. */
static void operand_steps(struct lowering *l, const struct value *v, dim_t *steps)
{
    dense_steps(&l->p->dims, v->type.rank, v->type.dims, steps);
}

enum lowered lower_view_copy(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct move m = move_onto(l, n->out[0], n->in[0]);
    for (int i = 0; i < m.rank; i++)
        m.from[i] = m.to[i];
    return finish(l, n, &m);
}

/* Integers and booleans to floats: a copy that converts. Other casts are elementwise. */
enum lowered lower_cast_copy(struct lowering *l, struct node *n)
{
    int from = n->in[0]->type.dtype, to = n->out[0]->type.dtype;
    bool integer = dtype_class(from) == DTC_BOOL || from == DT_I8 || from == DT_U8 ||
                   from == DT_I16 || from == DT_U16 || from == DT_I32 || from == DT_I64;
    if (n->op == OP_fused || !integer || to != DT_F32)
        return lower_elementwise(l, n);
    return lower_view_copy(l, n);
}

enum lowered lower_transpose(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    int count, rank = n->out[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    struct value *x = outer_value(l, n->in[0]);
    dim_t steps[MAX_RANK];
    operand_steps(l, x, steps);
    struct move m = move_onto(l, n->out[0], x);
    for (int i = 0; i < rank; i++) {
        int64_t from = count ? perm[i] : rank - 1 - i;
        m.from[i] = steps[from + (from < 0 ? rank : 0)];
    }
    return finish(l, n, &m);
}

enum lowered lower_expand(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct value *x = outer_value(l, n->in[0]);
    struct move m = move_onto(l, n->out[0], x);
    if (!broadcast_steps(l, x, m.rank, m.dims, m.from)) {
        why(l->o, n, "tile.expand",
            "how the operand broadcasts is known only while running; it runs on GpSimd");
        return DECLINED;
    }
    return finish(l, n, &m);
}

enum lowered lower_broadcast_in_dim(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    int count;
    const int64_t *dims = attr_ints(&n->attrs, "dims", &count);
    struct value *x = outer_value(l, n->in[0]);
    struct move m = move_onto(l, n->out[0], x);
    dim_t steps[MAX_RANK];
    operand_steps(l, x, steps);
    if (count != x->type.rank)
        return DECLINED;
    for (int i = 0; i < count; i++) {
        dim_t have = x->type.dims[i];
        if (dims[i] < 0 || dims[i] >= m.rank || (have != 1 && have != m.dims[dims[i]]))
            return DECLINED;
        m.from[dims[i]] = have == 1 ? 0 : steps[i];
    }
    return finish(l, n, &m);
}

enum lowered lower_reverse(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct dim_table *t = &l->p->dims;
    int count;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    struct move m = move_onto(l, n->out[0], n->in[0]);
    for (int i = 0; i < m.rank; i++)
        m.from[i] = m.to[i];
    for (int i = 0; i < count; i++) {
        int64_t a = axes[i] + (axes[i] < 0 ? m.rank : 0);
        if (a < 0 || a >= m.rank)
            return DECLINED;
        m.from_offset = dim_add(t, m.from_offset, dim_mul(t, m.to[a], dim_sub(t, m.dims[a], 1)));
        m.from[a] = dim_mul(t, m.to[a], -1);
    }
    return finish(l, n, &m);
}

enum lowered lower_tile(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    dim_t repeats[MAX_RANK], steps[MAX_RANK];
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct value *x = outer_value(l, n->in[0]);
    if (read_numbers(l, n->in[1], repeats, MAX_RANK) != x->type.rank)
        return DECLINED;
    operand_steps(l, x, steps);
    struct move onto = move_onto(l, n->out[0], x), m = onto;
    m.rank = 0;
    for (int i = 0; i < onto.rank; i++) {
        move_dim(&m, repeats[i], dim_mul(t, onto.to[i], x->type.dims[i]), 0);
        move_dim(&m, x->type.dims[i], onto.to[i], steps[i]);
    }
    return finish(l, n, &m);
}

enum lowered lower_constant_of_shape(struct lowering *l, struct node *n)
{
    if (n->op == OP_fused || !has_layout(l, n->out[0]))
        return DECLINED;
    const struct tensor *value = attr_tensor(&n->attrs, "value");
    struct move m = {.rank = n->out[0]->type.rank, .to_slot = value_slot(l, n->out[0])};
    for (int i = 0; i < m.rank; i++)
        m.dims[i] = n->out[0]->type.dims[i];
    dense_steps(&l->p->dims, m.rank, m.dims, m.to);
    m.from_slot = value ? constant_slot(l, value, NULL) : zero_slot(l, n->out[0]->type.dtype);
    return finish(l, n, &m);
}

/* Space is (height, width, channels) in pixels of the fine image; depth holds blocks of b x b. */
static enum lowered blocks(struct lowering *l, struct node *n, bool to_space)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct dim_table *t = &l->p->dims;
    bool last = attr_int(&n->attrs, "channels_last", 0) != 0,
         crd = attr_is(&n->attrs, "mode", "CRD");
    int64_t b = attr_int(&n->attrs, "blocksize", 1);
    struct value *x = outer_value(l, n->in[0]), *fine = to_space ? n->out[0] : x,
                 *deep = to_space ? x : n->out[0];
    int channel = last ? 3 : 1, row = last ? 1 : 2, column = row + 1;
    dim_t f[MAX_RANK], d[MAX_RANK], c = fine->type.dims[channel];
    operand_steps(l, fine, f);
    operand_steps(l, deep, d);
    dim_t block_row = dim_mul(t, d[channel], crd ? b : dim_mul(t, c, b));
    dim_t block_column = dim_mul(t, d[channel], crd ? 1 : c),
          block_channel = dim_mul(t, d[channel], crd ? b * b : 1);
    const dim_t count[] = {
        fine->type.dims[0], deep->type.dims[row], b, deep->type.dims[column], b, c};
    const dim_t fine_step[] = {
        f[0], dim_mul(t, f[row], b), f[row], dim_mul(t, f[column], b), f[column], f[channel]};
    const dim_t deep_step[] = {d[0], d[row], block_row, d[column], block_column, block_channel};
    enum { N, H, I, W, J, C };
    static const int orders[2][2][6] = {{{N, I, J, C, H, W}, {N, H, W, I, J, C}},
                                        {{N, C, H, I, W, J}, {N, H, I, W, J, C}}};
    const int *order = orders[to_space][last];
    struct move m = {.to_slot = value_slot(l, n->out[0]), .from_slot = value_slot(l, x)};
    for (int i = 0; i < 6; i++) {
        int at = order[i];
        move_dim(&m, count[at], to_space ? fine_step[at] : deep_step[at],
                 to_space ? deep_step[at] : fine_step[at]);
    }
    return finish(l, n, &m);
}

enum lowered lower_depth_to_space(struct lowering *l, struct node *n)
{
    return blocks(l, n, true);
}
enum lowered lower_space_to_depth(struct lowering *l, struct node *n)
{
    return blocks(l, n, false);
}
