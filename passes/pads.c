#include "passes/pads.h"

struct pads pads_share(struct dim_table *t, dim_t excess, bool odd_at_end)
{
    dim_t total = dim_max(t, 0, excess);
    dim_t small = dim_floordiv(t, total, 2), large = dim_sub(t, total, small);
    return odd_at_end ? (struct pads){small, large} : (struct pads){large, small};
}

struct pads pads_of(struct dim_table *t, const struct node *n, int at, dim_t excess)
{
    int count;
    const int64_t *given = attr_ints(&n->attrs, "pads", &count);
    bool upper = attr_is(&n->attrs, "auto_pad", "SAME_UPPER");
    if (upper || attr_is(&n->attrs, "auto_pad", "SAME_LOWER"))
        return pads_share(t, excess, upper);
    if (!given || attr_is(&n->attrs, "auto_pad", "VALID"))
        return (struct pads){0, 0};
    return (struct pads){given[at], given[at + count / 2]};
}

dim_t window_excess(struct dim_table *t, dim_t size, dim_t windows, int64_t taps, int64_t stride,
                    int64_t dilation)
{
    dim_t covered = dim_mul(t, dim_sub(t, windows, 1), stride);
    return dim_sub(t, dim_add(t, covered, (taps - 1) * dilation + 1), size);
}
