/*
 * Operators of com.microsoft over the tokens of several requests (ragged.h): recurrences and convolutions.
 */
#include "frontend/onnx/ops.h"
#include "frontend/onnx/ragged.h"

static struct value *part_of(struct onnx_node *n, struct value *x, int64_t from, int64_t to)
{
    return b_slice(n->b, x, from, to, 0);
}

bool read_ragged(struct ragged *r, struct onnx_node *n, int i, struct value *x)
{
    static const int64_t row[] = {1};
    int rank;
    if (!b_rank(n, n->in[i], "the places where requests begin", &rank))
        return false;
    if (rank != 1)
        return NODE_ERROR(n, "the places where requests begin have rank %d, expected 1", rank);
    struct value *cu = b_cast(n->b, n->in[i], DT_I64), *ends = part_of(n, cu, 1, INT64_MAX);
    *r = (struct ragged){.n = n, .starts = part_of(n, cu, 0, -1), .tokens = b_dim(n->b, x, 0)};
    r->batch = b_dim(n->b, r->starts, 0);
    r->lengths = b_sub(n->b, ends, r->starts);
    struct value *some = b_concat(n->b, (struct value *[]){r->lengths, b_i64(n->b, 0)}, 2, 0);
    r->longest = b_reduce(n->b, OP_reduce_max, some, NULL, 0, false);
    struct value *steps = count_up(n, r->longest);
    r->longest = b_dim(n->b, steps, 0);
    struct value *at = b_add(n->b, b_unsqueeze(n->b, r->starts, row, 1), steps);
    r->valid = b_2(n->b, OP_lt, steps, b_unsqueeze(n->b, r->lengths, row, 1));
    r->from = b_select(n->b, r->valid, at, b_scalar(n->b, DT_I64, 0));
    return !diag_failed(n->b->d);
}

struct value *filled_up(const struct ragged *r, struct value *x)
{
    struct onnx_node *n = r->n;
    int64_t behind[MAX_RANK];
    int rank = x->type.rank;
    struct value *rows = b_gather(n->b, x, r->from, 0), *valid = r->valid;
    for (int i = 0; i < rank - 1; i++)
        behind[i] = 2 + i;
    valid = rank > 1 ? b_unsqueeze(n->b, valid, behind, rank - 1) : valid;
    return b_select(n->b, valid, rows, b_like(n->b, x, 0));
}

/* The request of each token. */
static struct value *request_of(const struct ragged *r)
{
    static const int64_t column[] = {1};
    struct onnx_node *n = r->n;
    struct value *all = b_unsqueeze(n->b, count_up(n, r->tokens), column, 1);
    struct value *behind = b_2(n->b, OP_ge, all, part_of(n, r->starts, 1, INT64_MAX));
    return b_reduce(n->b, OP_reduce_sum, b_cast(n->b, behind, DT_I64), column, 1, false);
}

struct value *taken(const struct ragged *r, struct value *rows)
{
    struct onnx_node *n = r->n;
    struct value *request = request_of(r), *start = b_gather(n->b, r->starts, request, 0);
    struct value *place = b_sub(n->b, count_up(n, r->tokens), start);
    struct value *at = b_add(n->b, b_mul(n->b, request, r->longest), place), *width = b_dim(n->b, rows, 2);
    struct value *flat = b_concat(n->b, (struct value *[]){b_mul(n->b, r->batch, r->longest), width}, 2, 0);
    return b_gather(n->b, b_reshape(n->b, rows, flat), at, 0);
}

/* ---- GatedDeltaNet: linear attention whose state is (B,heads,values,keys) ---- */

struct delta_net {
    struct onnx_node *n;
    int64_t qh, vh, dk, dv;
    int leading;       /* dims before the heads: tokens, or batch and steps */
    bool ragged;
    struct ragged r;
    struct value *in[3]; /* query, key, value: (tokens,heads,size) in f32 */
};

static struct value *f32(struct onnx_node *n, struct value *x)
{
    return b_cast(n->b, x, DT_F32);
}

/* x (...,dims...) as (tokens,dims...): `keep` dims are sizes[0..keep). */
static struct value *by_token(struct onnx_node *n, struct value *x, int keep, const int64_t *sizes)
{
    int64_t shape[3] = {-1};
    for (int i = 0; i < keep; i++)
        shape[1 + i] = sizes[i];
    return b_reshape_to(n->b, x, shape, 1 + keep);
}

/* Heads and sizes from the operands, or of packed ones from the state. */
static bool delta_sizes(struct delta_net *d)
{
    struct onnx_node *n = d->n;
    int rank, key, value, state = 0;
    bool packed = !b_in(n, 1) && !b_in(n, 2);
    if (!packed && (!b_in(n, 1) || !b_in(n, 2)))
        return NODE_ERROR(n, "one of 'key' and 'value' is left out");
    if (!b_rank(n, n->in[0], "'query'", &rank) || (b_in(n, 6) && !b_rank(n, n->in[6], "'initial_state'", &state)))
        return false;
    if (b_in(n, 6) && state != 4)
        return NODE_ERROR(n, "'initial_state' has rank %d, expected 4", state);
    if (!b_in(n, 6) && (packed || !b_in(n, 3)))
        return NODE_ERROR(n, "'initial_state' is left out, which tells the %s", packed ? "heads" : "batch");
    d->leading = rank - (packed ? 1 : 2);
    if (d->leading < 1 || d->leading > 2 || (d->leading == 2 && b_in(n, 3)))
        return NODE_ERROR(n, "'query' has rank %d, expected %d%s", rank, packed ? 2 : 3,
                          b_in(n, 3) ? "" : " or one more, of batch and steps");
    const dim_t *q = n->in[0]->type.dims + d->leading;
    dim_t sizes[4];
    if (packed) {
        const dim_t *s = n->in[6]->type.dims;
        sizes[1] = s[1], sizes[2] = s[3], sizes[3] = s[2];
        bool known = dim_is_const(s[1]) && dim_is_const(s[2]) && dim_is_const(s[3]) && dim_is_const(q[0]);
        int64_t rest = known ? q[0] - s[1] * s[2] : 0;
        if (known && (s[3] < 1 || rest < 1 || rest % (2 * s[3])))
            return NODE_ERROR(n, "%lld columns of 'query' are no whole heads behind %lld of values", (long long)q[0],
                              (long long)(s[1] * s[2]));
        sizes[0] = known ? rest / (2 * s[3]) : q[0];
    } else {
        if (!b_rank(n, n->in[1], "'key'", &key) || !b_rank(n, n->in[2], "'value'", &value))
            return false;
        if (key != rank || value != rank)
            return NODE_ERROR(n, "query, key and value have ranks %d, %d and %d, expected the same", rank, key, value);
        const dim_t *v = n->in[2]->type.dims + d->leading;
        sizes[0] = q[0], sizes[1] = v[0], sizes[2] = q[1], sizes[3] = v[1];
    }
    for (int i = 0; i < 4; i++)
        if (!dim_is_const(sizes[i]))
            return NODE_ERROR(n, "the heads and their sizes are not known; give the shapes with --shape");
    d->qh = sizes[0], d->vh = sizes[1], d->dk = sizes[2], d->dv = sizes[3];
    if (d->qh < 1 || d->vh < 1 || d->dk < 1 || d->dv < 1 || d->vh % d->qh)
        return NODE_ERROR(n, "%lld heads of values, expected a multiple of the %lld of queries", (long long)d->vh,
                          (long long)d->qh);
    return true;
}

/* Operand i (leading dims of the query, then those given). */
static bool leads(const struct delta_net *d, int i, const char *name, const int64_t *sizes, int count)
{
    dim_t dims[MAX_RANK];
    for (int k = 0; k < d->leading; k++)
        dims[k] = d->n->in[0]->type.dims[k];
    for (int k = 0; k < count; k++)
        dims[d->leading + k] = sizes[k];
    return b_has_dims(d->n, i, name, dims, d->leading + count);
}

static bool delta_operands(struct delta_net *d)
{
    struct onnx_node *n = d->n;
    const int64_t keys[] = {d->qh, d->dk}, values[] = {d->vh, d->dv};
    int64_t from = 0, widths[] = {d->qh * d->dk, d->qh * d->dk, d->vh * d->dv};
    dim_t state[] = {b_in(n, 6) ? n->in[6]->type.dims[0] : 0, d->vh, d->dv, d->dk};
    if ((b_in(n, 1) && (!leads(d, 1, "'key'", keys, 2) || !leads(d, 2, "'value'", values, 2))) ||
        !leads(d, 5, "'beta'", &d->vh, 1) || !b_has_dims(n, 6, "'initial_state'", state, 4) ||
        !b_has_dims(n, 7, "'a_log'", &d->vh, 1))
        return false;
    for (int i = 0; i < 3; i++) {
        struct value *x = f32(n, b_in(n, 1) ? n->in[i] : b_slice(n->b, n->in[0], from, from + widths[i], d->leading));
        from += widths[i];
        d->in[i] = by_token(n, x, 2, i < 2 ? keys : values);
    }
    return true;
}

/* Rows of length 1, but for a little that keeps 0 as it is. */
static struct value *unit_rows(struct onnx_node *n, struct value *x)
{
    static const int64_t last[] = {2};
    struct value *sum = b_reduce(n->b, OP_reduce_sum_square, x, last, 1, true);
    return b_mul(n->b, x, b_1(n->b, OP_rsqrt, b_add(n->b, sum, b_scalar(n->b, DT_F32, 1e-6f))));
}

/* Each head as often as heads of values share it. */
static struct value *shared_heads(const struct delta_net *d, struct value *x)
{
    static const int64_t behind[] = {2};
    int64_t times = d->vh / d->qh, all[] = {d->vh, d->dk};
    struct value *shape = b_i64s(d->n->b, (int64_t[]){1, 1, times, 1}, 4);
    return times == 1 ? x : by_token(d->n, b_2(d->n->b, OP_expand, b_unsqueeze(d->n->b, x, behind, 1), shape), 2, all);
}

/* The decay (tokens,heads or heads * keys), in logarithms. */
static bool decay_of(const struct delta_net *d, struct value **decay)
{
    struct onnx_node *n = d->n;
    int rank, bias;
    if (!b_rank(n, n->in[4], "'decay'", &rank))
        return false;
    bool each = rank == d->leading + 2, soft = attr_is(&n->attrs, "gate_activation", "softplus") ||
                                               attr_is(&n->attrs, "gate_activation", "qwen");
    bool plain = !attr_find(&n->attrs, "gate_activation") || attr_is(&n->attrs, "gate_activation", "none");
    int64_t sizes[] = {d->vh, each ? d->dk : 1};
    if (!leads(d, 4, "'decay'", sizes, each ? 2 : 1))
        return false;
    struct value *g = by_token(n, f32(n, n->in[4]), 2, sizes);
    if (!plain) {
        if (!b_in(n, 7) || !b_in(n, 8))
            return NODE_ERROR(n, "'a_log' or 'dt_bias' is left out, this gate_activation needs both");
        if (!b_rank(n, n->in[8], "'dt_bias'", &bias))
            return false;
        dim_t one = d->vh, flat = d->vh * d->dk, both[] = {d->vh, d->dk};
        bool wide = bias == 2 || (bias == 1 && each && n->in[8]->type.dims[0] != one);
        if (wide && !each)
            return NODE_ERROR(n, "'dt_bias' has a value for each key, which 'decay' does not");
        if (!b_has_dims(n, 8, "'dt_bias'", bias == 2 ? both : wide ? &flat : &one, bias == 2 ? 2 : 1))
            return false;
        struct value *rate = b_1(n->b, OP_exp, b_reshape_to(n->b, n->in[7], (int64_t[]){d->vh, 1}, 2));
        g = b_add(n->b, g, b_reshape_to(n->b, n->in[8], (int64_t[]){d->vh, wide ? d->dk : 1}, 2));
        if (soft) {
            g = b_1(n->b, OP_neg, b_mul(n->b, rate, b_1(n->b, OP_softplus, g)));
        } else {
            double bound = attr_float(&n->attrs, "gate_lower_bound", -5);
            g = b_1(n->b, OP_sigmoid, b_mul(n->b, rate, g));
            g = b_mul(n->b, g, b_scalar(n->b, DT_F32, bound));
        }
    }
    int64_t width = sizes[0] * sizes[1];
    *decay = by_token(n, g, 1, &width);
    return true;
}

/* x (tokens,...) as (B,steps,width). */
static struct value *by_request(const struct delta_net *d, struct value *x, int64_t width)
{
    struct onnx_node *n = d->n;
    if (d->ragged)
        return filled_up(&d->r, by_token(n, x, 1, &width));
    struct value *shape[] = {b_dim(n->b, n->in[6], 0), b_i64(n->b, -1), b_i64(n->b, width)};
    return b_reshape(n->b, x, b_concat(n->b, shape, 3, 0));
}

static bool delta_attributes(struct onnx_node *n)
{
    static const char *const rules[] = {"gated_delta", "linear", "gated", "delta", NULL};
    static const char *const gates[] = {"none", "softplus", "qwen", "sigmoid", "kda", NULL};
    static const char *const rates[] = {"none", "sigmoid", NULL};
    if (!b_is_one_of(n, "update_rule", rules) || !b_is_one_of(n, "gate_activation", gates) ||
        !b_is_one_of(n, "beta_activation", rates) || !b_has_default(n, "state_update_capacity", 0))
        return false;
    bool given = attr_find(&n->attrs, "update_rule") != NULL;
    bool gated = !given || attr_is(&n->attrs, "update_rule", "gated") || attr_is(&n->attrs, "update_rule", rules[0]);
    bool delta = !given || attr_is(&n->attrs, "update_rule", "delta") || attr_is(&n->attrs, "update_rule", rules[0]);
    const bool needed[] = {gated, delta};
    for (int i = 0; i < 2; i++)
        if (needed[i] != (b_in(n, 4 + i) != NULL))
            return NODE_ERROR(n, "'%s' is %s, with this update_rule it is %s", i ? "beta" : "decay",
                              needed[i] ? "left out" : "given", needed[i] ? "needed" : "not taken");
    if (b_in(n, 9) || b_in(n, 10) || (n->nout > 2 && n->wanted[2]))
        return NODE_ERROR(n, "capture_count, state_update_active and state_update are not supported");
    return true;
}

bool lower_gated_delta_net(struct onnx_node *n)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    struct delta_net d = {.n = n, .ragged = b_in(n, 3) != NULL};
    struct value *in[6] = {NULL}, *decay = NULL;
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    if (!delta_attributes(n) || !delta_sizes(&d) || !delta_operands(&d) ||
        (d.ragged && !read_ragged(&d.r, n, 3, d.in[0])) || (b_in(n, 4) && !decay_of(&d, &decay)))
        return false;
    for (int i = 0; i < 2; i++) {
        struct value *x = attr_int(&n->attrs, "qk_l2_norm", 0) ? unit_rows(n, d.in[i]) : d.in[i];
        in[i] = by_request(&d, shared_heads(&d, x), d.vh * d.dk);
    }
    in[2] = by_request(&d, d.in[2], d.vh * d.dv);
    in[3] = b_in(n, 6) ? b_transpose(n->b, n->in[6], turned, 4) : NULL;
    if (decay)
        in[4] = by_request(&d, decay, n->in[4]->type.rank == d.leading + 2 ? d.vh * d.dk : d.vh);
    if (b_in(n, 5)) {
        struct value *rate = f32(n, n->in[5]);
        rate = attr_is(&n->attrs, "beta_activation", "sigmoid") ? b_1(n->b, OP_sigmoid, rate) : rate;
        in[5] = by_request(&d, rate, d.vh);
    }
    struct str rule = attr_str(&n->attrs, "update_rule", "gated_delta");
    attr_set_str(arena, &a, "update_rule", arena_strndup(arena, rule.p, rule.n));
    attr_set_int(arena, &a, "q_num_heads", d.vh);
    attr_set_int(arena, &a, "kv_num_heads", d.vh);
    attr_set_float(arena, &a, "scale", attr_float(&n->attrs, "scale", 0));
    struct node *made = b_node(n->b, OP_linear_attention, in, 6, 2, &a);
    if (!made)
        return false;
    if (n->nout > 1)
        n->out[1] = b_transpose(n->b, made->out[1], turned, 4);
    struct attrs leading = {0};
    attr_set_int(arena, &leading, "end", d.leading);
    struct value *y = d.ragged ? taken(&d.r, made->out[0]) : made->out[0];
    struct value *shape[] = {b_op(n->b, OP_shape, &n->in[0], 1, &leading), b_i64s(n->b, (int64_t[]){d.vh, d.dv}, 2)};
    return b_done(n, b_cast(n->b, b_reshape(n->b, y, b_concat(n->b, shape, 2, 0)), b_dtype(n->in[0])));
}

/* ---- VarlenCausalConvWithState ---- */

/* The last columns of x (B,C,state + steps): `count` of them, behind those of the request. */
static struct value *last_columns(const struct ragged *r, struct value *x, struct value *count)
{
    static const int64_t channel[] = {1}, column[] = {1};
    struct onnx_node *n = r->n;
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 2);
    struct value *first = b_unsqueeze(n->b, r->lengths, column, 1);
    struct value *at = b_add(n->b, first, count_up(n, count));
    struct value *shape[] = {b_dim(n->b, x, 0), b_dim(n->b, x, 1), count};
    at = b_unsqueeze(n->b, at, channel, 1);
    at = b_2(n->b, OP_expand, at, b_concat(n->b, shape, 3, 0));
    return b_op(n->b, OP_gather_elements, (struct value *[]){x, at}, 2, &a);
}

static bool varlen_conv_fits(struct onnx_node *n, int64_t dilation)
{
    int rank[3];
    struct dim_table *t = &n->b->g->dims;
    for (int i = 0; i < 2; i++)
        if (!b_rank(n, n->in[i], i ? "'weight'" : "'input'", &rank[i]))
            return false;
    if (rank[0] != 2 || rank[1] != 3 || !b_in(n, 4))
        return NODE_ERROR(n, "'input' has rank %d and 'weight' rank %d, expected 2 and 3, and an initial_state",
                          rank[0], rank[1]);
    const dim_t *x = n->in[0]->type.dims, *w = n->in[1]->type.dims;
    if (!b_rank(n, n->in[4], "'initial_state'", &rank[2]) || !b_require(n->b, GUARD_AT_MAX, 1, w[2], "taps"))
        return false;
    dim_t state[] = {rank[2] == 3 ? n->in[4]->type.dims[0] : 0, x[1], dim_mul(t, dim_sub(t, w[2], 1), dilation)};
    if (!dim_is_const(w[0]))
        return NODE_ERROR(n, "the number of channels is not known; give the shape of 'weight' with --shape");
    return b_has_dims(n, 1, "'weight'", (dim_t[]){x[1], 1, w[2]}, 3) && b_has_dims(n, 3, "'bias'", &x[1], 1) &&
           b_has_dims(n, 4, "'initial_state'", state, 3);
}

bool lower_varlen_causal_conv(struct onnx_node *n)
{
    static const char *const activations[] = {"none", "silu", "swish", NULL};
    static const int64_t order[] = {0, 2, 1}, zero[] = {0, 0};
    int64_t dilation = attr_int(&n->attrs, "dilation", 1);
    struct ragged r;
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    if (!b_is_one_of(n, "activation", activations) || !b_has_default(n, "state_update_capacity", 0))
        return false;
    for (int i = 5; i < 8; i++)
        if (b_in(n, i) || (n->nout > 2 && n->wanted[2]))
            return NODE_ERROR(n, "capture_count, kernel_delta, previous_mask and state_update are not supported");
    if (dilation < 1 || dilation > INT32_MAX)
        return NODE_ERROR(n, "attribute 'dilation' is %lld, expected 1 to %d", (long long)dilation, INT32_MAX);
    if (!varlen_conv_fits(n, dilation) || !read_ragged(&r, n, 2, n->in[0]))
        return false;
    struct value *steps = b_transpose(n->b, filled_up(&r, n->in[0]), order, 3);
    struct value *all = b_concat(n->b, (struct value *[]){n->in[4], steps}, 2, 2);
    attr_set_int(arena, &a, "group", n->in[1]->type.dims[0]);
    attr_set_ints(arena, &a, "dilations", &dilation, 1);
    attr_set_ints(arena, &a, "pads", zero, 2);
    struct value *y = b_op(n->b, OP_conv, (struct value *[]){all, n->in[1], b_in(n, 3)}, b_in(n, 3) ? 3 : 2, &a);
    if (attr_find(&n->attrs, "activation") && !attr_is(&n->attrs, "activation", "none"))
        y = b_1(n->b, OP_silu, y);
    if (n->nout > 1)
        n->out[1] = last_columns(&r, all, b_dim(n->b, n->in[4], 2));
    return b_done(n, taken(&r, b_transpose(n->b, y, order, 3)));
}
