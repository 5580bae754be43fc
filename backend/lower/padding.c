#include "backend/lower/padding.h"

#include "backend/lower/kernels.h"
#include "backend/lower/numbers.h"

static bool read_padding(struct lowering *l, const struct node *n, struct padding *p)
{
    dim_t pads[2 * MAX_RANK], axes[MAX_RANK];
    bool has_axes = n->nin > 3 && n->in[3];
    *p = (struct padding){.rank = n->out[0]->type.rank};
    int count = p->rank;
    for (int i = 0; i < MAX_RANK; i++)
        axes[i] = i;
    if (has_axes && (count = read_numbers(l, n->in[3], axes, MAX_RANK)) < 0)
        return false;
    if (read_numbers(l, n->in[1], pads, 2 * MAX_RANK) != 2 * count)
        return false;
    for (int i = 0; i < count; i++) {
        if (!dim_is_const(axes[i]))
            return false;
        dim_t a = axes[i] + (axes[i] < 0 ? p->rank : 0);
        if (a < 0 || a >= p->rank)
            return false;
        p->begin[a] = pads[i], p->end[a] = pads[count + i];
    }
    return true;
}

bool padding_is_copied(struct lowering *l, const struct node *n, struct padding *p)
{
    struct str mode = attr_str(&n->attrs, "mode", "constant");
    struct value *value = n->nin > 2 ? outer_value(l, n->in[2]) : NULL;
    const struct value *y = n->out[0];
    return mode.n == 8 && mode.p[0] == 'c' && read_padding(l, n, p) && y->type.rank <= MAX_GRID + 2 &&
           (!value || (has_layout(l, value) && value->type.dtype == y->type.dtype &&
                       type_count(&l->p->dims, &value->type) == 1));
}

bool padding_only_adds(const struct padding *p)
{
    for (int i = 0; i < p->rank; i++)
        if (!dim_is_const(p->begin[i]) || !dim_is_const(p->end[i]) || p->begin[i] < 0 || p->end[i] < 0)
            return false;
    return true;
}
