/*
 * Drawing: one row per family of operators, with the operators it draws from and the function that
 * chooses operands, attributes and constants. A row that finds no fitting operand draws nothing.
 */
#include "test/random_families.h"

#include "neff/base/splitmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 20000 };

static uint64_t next(struct recipe *r)
{
    return splitmix(&r->state);
}

int random_below(struct recipe *r, int n)
{
    return n > 0 ? (int)(next(r) % (uint64_t)n) : 0;
}

/* ---- items ---- */

static struct item *add_item(struct recipe *r, int kind)
{
    if (r->n == MAX_ITEMS)
        return NULL;
    struct item *i = &r->items[r->n++];
    *i = (struct item){.kind = (uint8_t)kind, .alive = true, .body = {i->body[0], i->body[1]}};
    i->value.kind = VK_NONE;
    return i;
}

/* Values in steps of 1/16 between 0.5 and 2, of either sign unless positive: sums of few are exact.
 */
static double draw_value(struct recipe *r, int dtype, bool positive)
{
    if (dtype == DT_BOOL)
        return random_below(r, 2);
    double v = dtype_is_int(dtype) ? 1 + random_below(r, 5) : (8 + random_below(r, 25)) / 16.0;
    return positive || random_below(r, 2) ? v : -v;
}

/* An input or constant with random contents; its number or -1. */
int leaf(struct recipe *r, int kind, int dtype, int rank, const int64_t *dims, bool positive)
{
    struct diag d = {0};
    struct item *i = add_item(r, kind);
    if (!i)
        return -1;
    i->flags = EXACT | (positive ? POSITIVE : 0);
    i->type = type_tensor(dtype, rank, dims);
    if (!tensor_alloc(&i->value, dtype, rank, dims, &d))
        abort();
    for (int64_t k = 0; k < tensor_count(&i->value); k++) {
        double v = draw_value(r, dtype, positive);
        if (dtype_is_float(dtype))
            dtype_store_f64(dtype, i->value.data, (size_t)k, v);
        else
            dtype_store_i64(dtype, i->value.data, (size_t)k, (int64_t)v);
    }
    i->built = kind == ITEM_CONST ? constant_new(r->scratch, &i->value, NULL)
                                  : region_add_param(r->scratch->main, &i->type, "x");
    return r->n - 1;
}

int numbers(struct recipe *r, const int64_t *v, int n) /* constant i64 operand */
{
    int at = leaf(r, ITEM_CONST, DT_I64, 1, (int64_t[]){n}, true);
    if (at >= 0)
        memcpy(r->items[at].value.data, v, sizeof *v * (size_t)n);
    return at;
}

static int64_t count_of(const struct type *t)
{
    return dims_product(t->dims, 0, t->rank);
}

static struct node *make_node(struct graph *g, const struct item *i, struct item *items)
{
    struct value *in[MAX_OPERANDS];
    if (op_infos[i->op].flags & OPF_REGIONS)
        return make_regions(g, i, items);
    for (int k = 0; k < i->nin; k++)
        in[k] = i->in[k] >= 0 ? items[i->in[k]].built : NULL;
    struct node *n = node_new(g, i->op, in, i->nin, op_infos[i->op].min_out, "n");
    n->attrs = attrs_copy(&g->arena, &i->attrs);
    node_append(g->main, n);
    return n;
}

/* Adds the node if inference takes it and its result is of moderate size. */
bool node(struct recipe *r, enum op op, const int *in, int nin, const struct attrs *attrs,
          int flags)
{
    struct diag d = {0};
    for (int k = 0; k < nin; k++)
        if (in[k] < -1)
            return false;
    struct item *i = add_item(r, ITEM_NODE);
    if (!i)
        return false;
    i->op = op, i->nin = nin, i->flags = (uint8_t)flags;
    memcpy(i->in, in, sizeof *in * (size_t)nin);
    if (attrs)
        i->attrs = *attrs;
    struct node *n = make_node(r->scratch, i, r->items);
    bool inferred = infer_node(r->scratch, n, &d);
    if (inferred && (flags & FINAL) && n->out[0]->type.kind == VK_TENSOR) {
        i->built = n->out[0];
        i->type = n->out[0]->type;
        return true;
    }
    if (inferred && type_is_static(&n->out[0]->type) &&
        count_of(&n->out[0]->type) <= MAX_ELEMENTS && n->out[0]->type.rank <= 6) {
        i->built = n->out[0];
        i->type = n->out[0]->type;
        return true;
    }
    node_remove(n);
    r->n--;
    return false;
}

/* As node, for windows; none that lie outside the image: with symbolic dims those are an error. */
static bool window_node(struct recipe *r, enum op op, const int *in, int nin,
                        const struct attrs *attrs)
{
    if (!node(r, op, in, nin, attrs, 0))
        return false;
    if (count_of(&r->items[r->n - 1].type) > 0)
        return true;
    r->n--;
    return false;
}

/* ---- choosing operands ---- */

int choose(struct recipe *r, struct wish w)
{
    int found = -1, n = 0;
    for (int i = 0; i < r->n; i++) {
        const struct item *t = &r->items[i];
        if (t->kind == ITEM_CONST || (t->flags & FINAL) || (w.dtype && t->type.dtype != w.dtype) ||
            t->type.rank < w.min_rank || t->type.rank > w.max_rank ||
            (t->flags & w.flags) != w.flags)
            continue;
        n += 1 + i / 4; /* later ones more often */
        if (random_below(r, n) < 1 + i / 4)
            found = i;
    }
    return found;
}

int both(const struct recipe *r, int a, int b)
{
    return r->items[a].flags & r->items[b].flags;
}

/* An operand that broadcasts with item a: another item, or a new input or constant. */
int partner(struct recipe *r, int a, int flags)
{
    const struct type t = r->items[a].type;
    int same = choose(r, (struct wish){t.dtype, t.rank, t.rank, flags});
    bool fits = same >= 0 && random_below(r, 3);
    for (int k = 0; fits && k < t.rank; k++) {
        dim_t x = r->items[same].type.dims[k];
        fits = x == t.dims[k] || x == 1 || t.dims[k] == 1;
    }
    if (fits)
        return same;
    int missing = random_below(r, t.rank + 1);
    int64_t dims[MAX_RANK];
    for (int k = missing; k < t.rank; k++)
        dims[k - missing] = random_below(r, 3) ? t.dims[k] : 1;
    return leaf(r, random_below(r, 2) ? ITEM_CONST : ITEM_INPUT, t.dtype, t.rank - missing, dims,
                flags & POSITIVE);
}

/* ---- families ---- */

static bool draw_smooth(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, 0});
    return a >= 0 && node(r, op, &a, 1, NULL, 0);
}

static bool draw_exact(struct recipe *r, enum op op) /* results as exact as operands */
{
    int a = choose(r, (struct wish){0, 0, 6, 0});
    if (a < 0)
        return false;
    int flags = r->items[a].flags & (op == OP_abs || op == OP_identity ? EXACT | POSITIVE : EXACT);
    return node(r, op, &a, 1, NULL, flags);
}

static bool draw_jump(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, EXACT});
    return a >= 0 && node(r, op, &a, 1, NULL, EXACT);
}

static bool draw_positive(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, POSITIVE});
    return a >= 0 && node(r, op, &a, 1, NULL, 0);
}

static bool draw_binary(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){random_below(r, 5) ? DT_F32 : DT_NONE, 0, 6, 0});
    if (a < 0 || r->items[a].type.dtype == DT_BOOL)
        return false;
    int in[2] = {a, partner(r, a, 0)};
    if (in[1] < 0)
        return false;
    bool whole = dtype_is_int(r->items[a].type.dtype), selects = op == OP_max || op == OP_min;
    int flags = (whole || selects) ? both(r, in[0], in[1]) & EXACT : 0;
    if (random_below(r, 2) && op != OP_sub) {
        int t = in[0];
        in[0] = in[1], in[1] = t;
    }
    return node(r, op, in, 2, NULL, flags);
}

static bool draw_divide(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, 0});
    int in[2] = {a, a < 0 ? -1 : partner(r, a, POSITIVE)};
    return in[1] >= 0 && node(r, op, in, 2, NULL, 0);
}

static bool draw_where(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, EXACT});
    int b = a < 0 ? -1 : partner(r, a, EXACT);
    static const enum op compare[] = {OP_lt, OP_le, OP_gt, OP_ge, OP_eq};
    if (b < 0 || !node(r, compare[random_below(r, 5)], (int[]){a, b}, 2, NULL, EXACT))
        return false;
    int condition = r->n - 1, x = choose(r, (struct wish){DT_F32, 0, 6, 0}), y = partner(r, x, 0);
    return y >= 0 && node(r, op, (int[]){condition, x, y}, 3, NULL, both(r, x, y) & EXACT);
}

static bool draw_cast(struct recipe *r, enum op op)
{
    static const int types[] = {DT_F32, DT_I32, DT_I64, DT_F64, DT_I8, DT_U8};
    int a = choose(r, (struct wish){0, 0, 6, EXACT});
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "to", types[random_below(r, 4)]);
    return a >= 0 && node(r, op, &a, 1, &attrs, EXACT);
}

static bool draw_axis(struct recipe *r, enum op op) /* softmax and its like */
{
    int a = choose(r, (struct wish){DT_F32, 1, 6, op == OP_argmax || op == OP_argmin ? EXACT : 0});
    if (a < 0)
        return false;
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "axis",
                 random_below(r, 2) ? -1 : random_below(r, r->items[a].type.rank));
    return node(r, op, &a, 1, &attrs, op == OP_argmax || op == OP_argmin ? EXACT : 0);
}

static bool draw_reduce(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 1, 6, 0});
    if (a < 0)
        return false;
    int64_t axes[MAX_RANK];
    int n = 0;
    for (int i = 0; i < r->items[a].type.rank; i++)
        if (random_below(r, 2))
            axes[n++] = i;
    if (!n)
        axes[n++] = -1;
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "axes", axes, n);
    attr_set_int(&r->arena, &attrs, "keepdims", random_below(r, 2));
    bool selects = op == OP_reduce_max || op == OP_reduce_min;
    return node(r, op, &a, 1, &attrs, selects ? r->items[a].flags & (EXACT | POSITIVE) : 0);
}

static bool draw_norm(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 2, 6, 0});
    if (a < 0)
        return false;
    const struct type t = r->items[a].type;
    int64_t last = t.dims[t.rank - 1];
    int in[3] = {a, leaf(r, ITEM_CONST, DT_F32, 1, &last, false), -1}, n = 2;
    if (op == OP_layer_norm && random_below(r, 2))
        in[n++] = leaf(r, ITEM_CONST, DT_F32, 1, &last, false);
    return last >= 4 && node(r, op, in, n, NULL, 0);
}

static bool draw_matmul(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 2, 5, 0});
    if (a < 0)
        return false;
    const struct type t = r->items[a].type;
    int64_t dims[MAX_RANK];
    int rank = random_below(r, 2) ? 2 : t.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = t.dims[t.rank - rank + i];
    bool trans = random_below(r, 2);
    int64_t out_channels = 1 + random_below(r, random_below(r, 3) ? 12 : 90);
    dims[rank - 1] = trans ? t.dims[t.rank - 1] : out_channels;
    dims[rank - 2] = trans ? out_channels : t.dims[t.rank - 1];
    int b = leaf(r, random_below(r, 3) ? ITEM_CONST : ITEM_INPUT, DT_F32, rank, dims, false);
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "trans_b", trans);
    return b >= 0 && node(r, op, (int[]){a, b}, 2, &attrs, 0);
}

/* The pads, or a rule that makes them of the sizes. */
static void draw_padding(struct recipe *r, struct attrs *attrs, const int64_t *pads, int spatial)
{
    static const char *const rules[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    int rule = random_below(r, 9);
    if (rule < 3)
        attr_set_str(&r->arena, attrs, "auto_pad", rules[rule]);
    else
        attr_set_ints(&r->arena, attrs, "pads", pads, 2 * spatial);
}

static bool draw_conv(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 3, 4, 0});
    if (a < 0)
        return false;
    const struct type t = r->items[a].type;
    int spatial = t.rank - 2;
    int64_t c = t.dims[1], group = random_below(r, 3) || !c ? 1 : c, w[4], pads[4], strides[2],
            dilations[2];
    w[0] = group == 1 ? 1 + random_below(r, random_below(r, 3) ? 9 : 70)
                      : group * (1 + random_below(r, 2));
    w[1] = c / group;
    for (int i = 0; i < spatial; i++) {
        w[2 + i] = 1 + random_below(r, 3);
        strides[i] = 1 + random_below(r, 2), dilations[i] = random_below(r, 4) ? 1 : 2;
        pads[i] = random_below(r, 2), pads[spatial + i] = random_below(r, 3);
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "strides", strides, spatial);
    draw_padding(r, &attrs, pads, spatial);
    attr_set_ints(&r->arena, &attrs, "dilations", dilations, spatial);
    attr_set_ints(&r->arena, &attrs, "kernel_shape", w + 2, spatial);
    attr_set_int(&r->arena, &attrs, "group", group);
    int in[3] = {a, leaf(r, ITEM_CONST, DT_F32, t.rank, w, false), -1}, n = 2;
    if (random_below(r, 2))
        in[n++] = leaf(r, ITEM_CONST, DT_F32, 1, w, false);
    return c > 0 && window_node(r, op, in, n, &attrs);
}

static bool draw_pool(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 3, 4, 0});
    if (a < 0)
        return false;
    int spatial = r->items[a].type.rank - 2;
    int64_t kernel[2], strides[2], pads[4];
    for (int i = 0; i < spatial; i++) {
        kernel[i] = 2 + random_below(r, 2), strides[i] = 1 + random_below(r, 2);
        pads[i] = random_below(r, 2), pads[spatial + i] = random_below(r, 2);
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "kernel_shape", kernel, spatial);
    attr_set_ints(&r->arena, &attrs, "strides", strides, spatial);
    draw_padding(r, &attrs, pads, spatial);
    if (op == OP_average_pool)
        attr_set_int(&r->arena, &attrs, "count_include_pad", random_below(r, 2));
    return window_node(r, op, &a, 1, &attrs);
}

static bool draw_batch_norm(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 2, 5, 0}), in[5] = {a};
    if (a < 0)
        return false;
    int64_t c = r->items[a].type.dims[1];
    for (int i = 1; i < 5; i++)
        in[i] = leaf(r, ITEM_CONST, DT_F32, 1, &c, i == 4);
    return node(r, op, in, 5, NULL, 0);
}

static bool draw_transpose(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 2, 6, 0});
    if (a < 0)
        return false;
    int64_t perm[MAX_RANK];
    int rank = r->items[a].type.rank;
    for (int i = 0; i < rank; i++) {
        int j = random_below(r, i + 1);
        perm[i] = perm[j], perm[j] = i;
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "perm", perm, rank);
    return node(r, op, &a, 1, &attrs, r->items[a].flags);
}

static bool draw_reshape(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 0, 6, 0});
    if (a < 0)
        return false;
    int64_t rest = count_of(&r->items[a].type), dims[5];
    int n = 0;
    while (n < 4 && rest > 1) {
        int64_t factor = 1 + random_below(r, 8);
        if (rest % factor == 0)
            dims[n++] = factor, rest /= factor;
    }
    dims[n++] = random_below(r, 2) && r->items[a].type.rank ? -1 : rest;
    return count_of(&r->items[a].type) > 0 &&
           node(r, op, (int[]){a, numbers(r, dims, n)}, 2, NULL, r->items[a].flags);
}

static bool draw_unsqueeze(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 0, 5, 0});
    if (a < 0)
        return false;
    int64_t axis = random_below(r, r->items[a].type.rank + 1);
    return node(r, op, (int[]){a, numbers(r, &axis, 1)}, 2, NULL, r->items[a].flags);
}

static bool draw_concat(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 1, 6, 0});
    if (a < 0 || r->items[a].type.dtype == DT_BOOL)
        return false;
    struct type t = r->items[a].type;
    int axis = random_below(r, t.rank);
    t.dims[axis] = random_below(r, 4);
    int b = random_below(r, 3) ? a : leaf(r, ITEM_INPUT, t.dtype, t.rank, t.dims, false);
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "axis", axis);
    return b >= 0 && node(r, op, (int[]){a, b}, 2, &attrs, both(r, a, b));
}

static bool draw_slice(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 1, 6, 0});
    if (a < 0)
        return false;
    int64_t axis = random_below(r, r->items[a].type.rank), size = r->items[a].type.dims[axis];
    int64_t start = random_below(r, (int)size + 1), step = random_below(r, 3)   ? 1
                                                           : random_below(r, 2) ? 2
                                                                                : -1;
    int64_t end = step > 0 ? start + random_below(r, (int)(size - start) + 2) : -100;
    int in[5] = {a, numbers(r, &start, 1), numbers(r, &end, 1), numbers(r, &axis, 1),
                 numbers(r, &step, 1)};
    return node(r, op, in, 5, NULL, r->items[a].flags);
}

static bool draw_pad(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 1, 5, 0});
    if (a < 0)
        return false;
    int64_t pads[2 * MAX_RANK];
    int rank = r->items[a].type.rank;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = random_below(r, 3) ? 0 : random_below(r, 3);
    static const char *const modes[] = {"constant", "edge", "reflect"};
    struct attrs attrs = {0};
    int mode = random_below(r, 3);
    for (int i = 0; i < rank; i++)
        if (r->items[a].type.dims[i] < 4)
            mode = 0; /* the others need something to repeat */
    attr_set_str(&r->arena, &attrs, "mode", modes[mode]);
    return node(r, op, (int[]){a, numbers(r, pads, 2 * rank)}, 2, &attrs,
                r->items[a].flags & EXACT);
}

static bool draw_tile(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 1, 5, 0});
    if (a < 0)
        return false;
    int64_t repeats[MAX_RANK];
    int rank = r->items[a].type.rank;
    for (int i = 0; i < rank; i++)
        repeats[i] = op == OP_expand ? 1 : 1 + random_below(r, 2);
    for (int i = 0; op == OP_expand && i < rank; i++)
        repeats[i] =
            r->items[a].type.dims[i] == 1 ? 1 + random_below(r, 4) : r->items[a].type.dims[i];
    return node(r, op, (int[]){a, numbers(r, repeats, rank)}, 2, NULL, r->items[a].flags);
}

static bool draw_gather(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){0, 1, 5, 0});
    if (a < 0)
        return false;
    int axis = random_below(r, r->items[a].type.rank), size = (int)r->items[a].type.dims[axis];
    int64_t index[6];
    int n = 1 + random_below(r, 6);
    for (int i = 0; i < n; i++)
        index[i] = random_below(r, 2 * size) - size;
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "axis", axis);
    return size > 0 && node(r, op, (int[]){a, numbers(r, index, n)}, 2, &attrs, r->items[a].flags);
}

static bool draw_group_norm(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 3, 5, 0});
    if (a < 0)
        return false;
    int64_t c = r->items[a].type.dims[1];
    int in[3] = {a, leaf(r, ITEM_CONST, DT_F32, 1, &c, false),
                 leaf(r, ITEM_CONST, DT_F32, 1, &c, false)};
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "num_groups", c % 2 == 0 ? 2 : 1);
    return c > 0 && count_of(&r->items[a].type) >= 8 * c && node(r, op, in, 3, &attrs, 0);
}

static bool draw_attention(struct recipe *r, enum op op)
{
    int q = choose(r, (struct wish){DT_F32, 3, 4, 0});
    if (q < 0)
        return false;
    struct type t = r->items[q].type;
    t.dims[t.rank - 2] = 1 + random_below(r, random_below(r, 4) ? 8 : 80);
    int k = leaf(r, ITEM_INPUT, DT_F32, t.rank, t.dims, false),
        v = random_below(r, 2) ? k : leaf(r, ITEM_INPUT, DT_F32, t.rank, t.dims, false);
    int64_t mask[2] = {r->items[q].type.dims[t.rank - 2], t.dims[t.rank - 2]};
    int in[4] = {q, k, v, random_below(r, 2) ? leaf(r, ITEM_INPUT, DT_F32, 2, mask, false) : -1};
    struct attrs attrs = {0};
    attr_set_float(&r->arena, &attrs, "scale", 0.25);
    attr_set_int(&r->arena, &attrs, "causal", random_below(r, 3) == 0);
    return node(r, op, in, in[3] < 0 ? 3 : 4, &attrs, 0);
}

static bool draw_resize(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 4, 4, 0});
    if (a < 0)
        return false;
    int scales = leaf(r, ITEM_CONST, DT_F32, 1, (int64_t[]){4}, true);
    float by = (float)(1 + random_below(r, 3));
    if (scales < 0)
        return false;
    memcpy(r->items[scales].value.data, (float[]){1, 1, by, by}, 4 * sizeof by);
    static const char *const modes[] = {"nearest", "linear"};
    struct attrs attrs = {0};
    bool whole = random_below(r, 2);
    attr_set_str(&r->arena, &attrs, "mode", modes[random_below(r, 2)]);
    attr_set_str(&r->arena, &attrs, "coordinate_transformation_mode",
                 whole ? "asymmetric" : "half_pixel");
    attr_set_str(&r->arena, &attrs, "nearest_mode", "floor");
    return node(r, op, (int[]){a, -1, scales}, 3, &attrs, 0);
}

static bool draw_scan(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 1, 5, 0});
    if (a < 0)
        return false;
    int64_t at = random_below(r, r->items[a].type.rank);
    int axis = leaf(r, ITEM_CONST, DT_I64, 0, NULL, true);
    if (axis < 0)
        return false;
    *(int64_t *)r->items[axis].value.data = at;
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "exclusive", random_below(r, 2));
    attr_set_int(&r->arena, &attrs, "reverse", random_below(r, 2));
    return r->items[a].type.dims[at] < 20 && node(r, op, (int[]){a, axis}, 2, &attrs, 0);
}

static bool draw_conv_transpose(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 3, 4, 0});
    if (a < 0)
        return false;
    const struct type t = r->items[a].type;
    int spatial = t.rank - 2;
    int64_t w[4] = {t.dims[1], 1 + random_below(r, 6)}, strides[2], pads[4];
    for (int i = 0; i < spatial; i++) {
        w[2 + i] = 2 + random_below(r, 2), strides[i] = 1 + random_below(r, 2);
        pads[i] = random_below(r, 2), pads[spatial + i] = random_below(r, 2);
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "strides", strides, spatial);
    draw_padding(r, &attrs, pads, spatial);
    attr_set_ints(&r->arena, &attrs, "kernel_shape", w + 2, spatial);
    int in[3] = {a, leaf(r, ITEM_CONST, DT_F32, t.rank, w, false),
                 leaf(r, ITEM_CONST, DT_F32, 1, w + 1, false)};
    return t.dims[1] > 0 && window_node(r, op, in, 3, &attrs);
}

static bool draw_clip(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 6, 0}), in[3] = {a, -1, -1};
    if (a < 0)
        return false;
    for (int i = 1; i < 3; i++)
        if (random_below(r, 3) && (in[i] = leaf(r, ITEM_CONST, DT_F32, 0, NULL, i == 2)) >= 0 &&
            i == 1)
            *(float *)r->items[in[i]].value.data = -0.5F;
    return node(r, op, in, 3, NULL, r->items[a].flags & EXACT);
}

static bool draw_input(struct recipe *r, enum op op)
{
    int64_t dims[6];
    int rank = op == OP_COUNT ? 2 + random_below(r, 3) : random_below(r, 6);
    for (int i = 0; i < rank; i++)
        dims[i] = random_below(r, 60) == 0  ? 0
                  : random_below(r, 6) == 0 ? 1
                                            : 2 + random_below(r, i + 2 >= rank ? 9 : 3);
    if (rank && random_below(r, 6) == 0)
        dims[rank - 1] = 60 + random_below(r, 80);
    int dtype = random_below(r, 6) ? DT_F32 : DT_I32;
    return leaf(r, ITEM_INPUT, dtype, rank, dims, random_below(r, 3) == 0) >= 0;
}

static const struct random_family families[] = {
    {draw_smooth,
     6,
     {OP_tanh, OP_sigmoid, OP_sin, OP_cos, OP_erf, OP_gelu, OP_silu, OP_hard_swish, OP_softsign,
      OP_square, OP_leaky_relu, OP_elu, OP_hard_sigmoid, OP_softplus, OP_swish, OP_gelu_tanh,
      OP_mish, OP_atan, OP_selu}},
    {draw_exact, 3, {OP_relu, OP_neg, OP_abs, OP_identity}},
    {draw_jump, 1, {OP_floor, OP_ceil, OP_round, OP_sign, OP_trunc}},
    {draw_positive, 2, {OP_sqrt, OP_log, OP_rsqrt, OP_reciprocal, OP_log1p}},
    {draw_binary, 8, {OP_add, OP_sub, OP_mul, OP_max, OP_min}},
    {draw_divide, 2, {OP_div}},
    {draw_where, 1, {OP_where}},
    {draw_cast, 1, {OP_cast}},
    {draw_axis, 3, {OP_softmax, OP_log_softmax, OP_argmax, OP_argmin}},
    {draw_reduce,
     3,
     {OP_reduce_sum, OP_reduce_mean, OP_reduce_max, OP_reduce_min, OP_reduce_l1,
      OP_reduce_sum_square}},
    {draw_norm, 2, {OP_layer_norm, OP_rms_norm}},
    {draw_matmul, 4, {OP_matmul}},
    {draw_conv, 4, {OP_conv}},
    {draw_pool, 2, {OP_max_pool, OP_average_pool}},
    {draw_batch_norm, 1, {OP_batch_norm}},
    {draw_transpose, 3, {OP_transpose}},
    {draw_reshape, 2, {OP_reshape}},
    {draw_unsqueeze, 1, {OP_unsqueeze}},
    {draw_concat, 2, {OP_concat}},
    {draw_slice, 2, {OP_slice}},
    {draw_pad, 1, {OP_pad}},
    {draw_tile, 1, {OP_tile, OP_expand}},
    {draw_gather, 1, {OP_gather}},
    {draw_clip, 1, {OP_clip}},
    {draw_group_norm, 1, {OP_group_norm, OP_instance_norm}},
    {draw_attention, 2, {OP_sdpa}},
    {draw_resize, 1, {OP_resize}},
    {draw_scan, 1, {OP_cumsum}},
    {draw_conv_transpose, 1, {OP_conv_transpose}},
    {draw_input, 1, {OP_identity}},
};

static const struct random_family *draw_family(struct recipe *r, bool narrow)
{
    const struct {
        const struct random_family *rows;
        int n;
    } lists[] = {{families, sizeof families / sizeof *families},
                 {typed_families, typed_families_count},
                 {quantised_families, quantised_families_count},
                 {narrow_families, narrow_families_count}};
    enum { LISTS = sizeof lists / sizeof *lists };
    const int first = narrow ? LISTS - 1 : 0, end = narrow ? LISTS : LISTS - 1;
    int total = 0;
    for (int k = first; k < end; k++)
        for (int i = 0; i < lists[k].n; i++)
            total += lists[k].rows[i].weight;
    int at = random_below(r, total);
    for (int k = first;; k++)
        for (int i = 0; i < lists[k].n; i++) {
            if (at < lists[k].rows[i].weight)
                return &lists[k].rows[i];
            at -= lists[k].rows[i].weight;
        }
}

bool recipe_draw(struct recipe *r, uint64_t seed, int nodes, bool narrow, struct diag *d)
{
    *r = (struct recipe){.state = seed * 0x2545F4914F6CDD1Du + 1};
    r->scratch = graph_new();
    if (!r->scratch)
        return fail(d, "out of memory");
    if (!r->scratch->main)
        r->scratch->main = region_new(r->scratch, NULL);
    if (!narrow)
        draw_input(r, OP_COUNT);
    for (int tries = 0, made = 0; made < nodes && tries < 20 * nodes && r->n < MAX_ITEMS - 8;
         tries++) {
        const struct random_family *f = draw_family(r, narrow && random_below(r, 4));
        int nops = 1;
        while (nops < 20 && f->ops[nops])
            nops++;
        made += f->draw(r, f->ops[random_below(r, nops)]);
    }
    return true;
}

void recipe_free(struct recipe *r)
{
    for (int i = 0; i < r->n; i++)
        tensor_free(&r->items[i].value);
    graph_free(r->scratch);
    arena_free(&r->arena);
}

/* ---- building ---- */

static struct type symbolic(struct graph *g, const struct type *t, enum symbols symbols, int input)
{
    struct type out = *t;
    char name[32];
    for (int k = 0; symbols != CONSTANT_DIMS && k < t->rank; k++) {
        if (t->dims[k] < 2)
            continue;
        if (symbols == EQUAL_SIZES)
            snprintf(name, sizeof name, "s%d", (int)t->dims[k]);
        else
            snprintf(name, sizeof name, "x%d_%d", input, k);
        out.dims[k] = dim_symbol(&g->dims, name);
    }
    return out;
}

struct graph *recipe_build(struct recipe *r, enum symbols symbols, const bool *result,
                           struct diag *d)
{
    struct graph *g = graph_new();
    struct value *results[MAX_ITEMS];
    int n = 0;
    if (!g->main)
        g->main = region_new(g, NULL);
    g->name = "random";
    for (int i = 0; i < r->n; i++) {
        struct item *it = &r->items[i];
        if (!it->alive)
            continue;
        if (it->kind == ITEM_INPUT) {
            struct type t = symbolic(g, &it->type, symbols, i);
            it->built = region_add_param(g->main, &t, arena_printf(&g->arena, "x%d", i));
        } else if (it->kind == ITEM_CONST) {
            it->built = constant_copy(g, it->type.dtype, it->type.rank, it->value.dims,
                                      it->value.data, NULL);
        } else {
            struct node *made = make_node(g, it, r->items);
            if (!infer_node(g, made, d)) {
                graph_free(g);
                return NULL;
            }
            it->built = made->out[0];
            it->built->name = arena_printf(&g->arena, "n%d", i);
        }
        if (result[i])
            results[n++] = it->built;
    }
    node_append(g->main, node_new(g, OP_return, results, n, 0, ""));
    g->noutputs = n;
    g->output_names = ARENA_ARRAY(&g->arena, const char *, n + 1);
    for (int i = 0, k = 0; i < r->n; i++)
        if (result[i])
            g->output_names[k++] = arena_printf(&g->arena, "y%d", i);
    return g;
}
