#include "backend/lower/expression.h"

#include "passes/ir/integer.h"

#include <assert.h>

enum { MAX_TEMPORARIES = 256 };

dim_t space_count(struct program *p, const struct space *s)
{
    dim_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n = dim_mul(&p->dims, n, s->dim[i].count);
    return n;
}

static struct ap over_space(struct program *p, const struct space *s, struct ap a,
                            const dim_t *steps)
{
    for (int i = 0; i < s->rank; i++) {
        ap_push(&a, steps[i], s->dim[i].count);
        if (s->dim[i].var >= 0)
            ap_clip(p, &a, i, s->dim[i].var, s->dim[i].factor, s->dim[i].limit);
    }
    return a;
}

int space_new_tile(struct kernel_builder *k, const struct space *s, int mem, int dtype)
{
    dim_t partitions = 1, elements = 1;
    for (int i = s->rank - 1; i >= 0; i--)
        if (i == 0 && k->m->strict)
            partitions = s->dim[i].count;
        else
            elements = dim_mul(&k->p->dims, elements, s->dim[i].count);
    return kernel_tile(k, mem, dtype, partitions, elements);
}

struct ap space_tile(const struct space *s, struct kernel_builder *k, int tile)
{
    const struct tile *t = &kernel_of(k)->tiles[tile];
    dim_t dims[MAX_SPACE], steps[MAX_SPACE];
    for (int i = 0; i < s->rank; i++)
        dims[i] = s->dim[i].count;
    dense_steps(&k->p->dims, s->rank, dims, steps);
    return over_space(k->p, s, (struct ap){.mem = t->mem, .dtype = t->dtype, .tensor = tile},
                      steps);
}

/* ---- what can be emitted ---- */

/* A constant of one element, as a number. */
static bool scalar_of(struct lowering *l, struct value *v, float *out)
{
    v = outer_value(l, v);
    if (!v || !v->constant || tensor_count(v->constant) != 1)
        return false;
    *out = (float)tensor_f64(v->constant, 0);
    return true;
}

/* Types that quantised data has; engines round half to even and saturate when they store them. */
static bool is_8bit(int dtype)
{
    return dtype == DT_U8 || dtype == DT_I8;
}

/* One scale and one zero point; of what is dequantised, and on strict targets, known when compiling. */
static bool quantization_possible(struct lowering *l, const struct node *n)
{
    bool quantize = n->op == OP_quantize_linear;
    float unused;
    int from = n->in[0]->type.dtype, to = n->out[0]->type.dtype;
    if (!l->m->strict && is_quantized_by_one(n))
        return true;
    if (n->in[1]->type.dtype != DT_F32 || !scalar_of(l, n->in[1], &unused) ||
        (n->nin > 2 && n->in[2] && !scalar_of(l, n->in[2], &unused)) ||
        attr_find(&n->attrs, "precision"))
        return false;
    if (!quantize && n->nin > 2 && n->in[2] && from == DT_I32)
        return false;
    return quantize ? from == DT_F32 && is_8bit(to)
                    : to == DT_F32 && (is_8bit(from) || from == DT_I32);
}

static bool is_compare(enum op op)
{
    return op == OP_eq || op == OP_ne || op == OP_lt || op == OP_le || op == OP_gt || op == OP_ge;
}

/* A function of one operand and up to two parameters: the Scalar engine's. */
static bool is_activation(enum op op)
{
    const struct op_info *i = &op_infos[op];
    return op == OP_clip || ((i->flags & OPF_ENGINE_FLOAT) && i->max_in == 1 && op != OP_cast);
}

bool node_possible(struct lowering *l, const struct node *n)
{
    float unused;
    int out = n->out[0]->type.dtype;
    if (n->nout != 1)
        return false;
    if (n->op == OP_quantize_linear || n->op == OP_dequantize_linear)
        return quantization_possible(l, n);
    if (!l->m->strict && (is_integer_elementwise(n) || is_word_bitcast(n)))
        return true;
    if (n->op == OP_cast && out == DT_F32 &&
        (is_8bit(n->in[0]->type.dtype) || n->in[0]->type.dtype == DT_I32))
        return true;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        int t = n->in[i]->type.dtype;
        bool predicate = n->op == OP_where && i == 0 && t == DT_BOOL;
        if (!predicate && !dtype_is_engine_float(t))
            return false;
    }
    if (is_compare(n->op))
        return out == DT_BOOL;
    if (!dtype_is_engine_float(out))
        return false;
    if (n->op == OP_clip)
        return (n->nin < 2 || !n->in[1] || scalar_of(l, n->in[1], &unused)) &&
               (n->nin < 3 || !n->in[2] || scalar_of(l, n->in[2], &unused));
    return op_infos[n->op].flags & OPF_ENGINE_FLOAT;
}

bool expression_possible(struct lowering *l, const struct group *g, int first)
{
    for (int i = first; i < g->n; i++)
        if (!node_possible(l, g->nodes[i])) {
            why(l->o, g->nodes[i], "tile.elementwise",
                "no engine computes %s on %s; it runs on GpSimd", op_name(g->nodes[i]->op),
                dtype_name(g->nodes[i]->in[0] ? g->nodes[i]->in[0]->type.dtype : 0));
            return false;
        }
    return true;
}

/* ---- operands and results ---- */

/* The node computing v when v is used only by the node being emitted, so that both become one
 * instruction. */
static struct node *absorb(const struct expression *e, struct value *v, enum op op, int first)
{
    struct node *n = group_def(e->g, v);
    if (!n || n->op != op || !group_single_use(e->g, v) || v->type.dtype != DT_F32)
        return NULL;
    for (int i = 0; i < e->ngiven; i++)
        if (e->given[i] == v)
            return NULL;
    for (int i = first; i < e->g->n; i++)
        if (e->g->nodes[i] == n)
            return n;
    return NULL;
}

/* A product that only the sum n reads: both are one instruction where it is what runs on. */
static bool only_summed(const struct expression *e, const struct node *n, int i)
{
    const struct node *def = group_def(e->g, n->in[i]);
    return def && def->op == OP_mul && n->in[i]->type.dtype == DT_F32 && value_only_user(n->in[i]) == n &&
           !group_is_result(e->g, n->in[i]);
}

/* Which operand of a commutative node is the running value: the one made inside the group or given.
 */
static int running(const struct expression *e, const struct node *n)
{
    for (int i = 0; i < n->nin; i++) {
        if (group_def(e->g, n->in[i]))
            return i == 0 && n->op == OP_add && !only_summed(e, n, 0) && only_summed(e, n, 1) ? 1 : i;
        for (int k = 0; k < e->ngiven; k++)
            if (e->given[k] == n->in[i])
                return i;
    }
    return 0;
}

/* A quantisation without a division. */
static bool takes_linear(const struct expression *e, const struct node *n)
{
    float s;
    return n->op == OP_quantize_linear && scalar_of(e->g->l, n->in[1], &s) && s == 1;
}

/* Whether the node's work is done by the instruction of its only user: see linear_of. */
static bool absorbed(const struct expression *e, const struct node *n, int first)
{
    if ((n->op != OP_add && n->op != OP_mul) || !absorb(e, n->out[0], n->op, first))
        return false;
    const struct node *user = value_only_user(n->out[0]);
    if (is_activation(user->op) || takes_linear(e, user))
        return true;
    return n->op == OP_mul && user->op == OP_add && user->in[running(e, user)] == n->out[0];
}

/* Where the node's operands are read: at its own place, or at that of the user that does its work.
 */
static int place_of(const struct expression *e, int i, int first)
{
    const struct node *n = e->g->nodes[i];
    if (!absorbed(e, n, first))
        return i;
    const struct node *user = value_only_user(n->out[0]);
    while (e->g->nodes[i] != user)
        i++;
    return place_of(e, i, first);
}

/* One multiplication in f32 is all that reads v. */
static bool multiplied(const struct value *v)
{
    return value_has_one_use(v) && v->uses->node->op == OP_mul;
}

/* Somebody asks for the words of v: they must be there. */
static bool words_are_read(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->node->op == OP_bitcast)
            return true;
    return false;
}

/* A cast to f32 of what is given, of 8-bit numbers, or of sums that are multiplied: engines read
 * integers as f32 anyway. Words that are read as another type. */
static bool forwarded(const struct expression *e, const struct value *v)
{
    const struct node *n = group_def(e->g, v);
    if (n && n->op == OP_bitcast)
        return !group_is_result(e->g, v);
    if (!n || n->op != OP_cast || v->type.dtype != DT_F32 || group_is_result(e->g, v) || words_are_read(v))
        return false;
    if (is_8bit(n->in[0]->type.dtype) && !e->k->m->strict)
        return true;
    if (n->in[0]->type.dtype == DT_I32 && group_def(e->g, n->in[0]) && !e->k->m->strict &&
        multiplied(v))
        return true;
    for (int i = 0; i < e->ngiven; i++)
        if (e->given[i] == n->in[0] && e->given_pattern[i].dtype == DT_I32)
            return true;
    return false;
}

static int last_use(const struct expression *e, const struct value *v, int first)
{
    int last = -1;
    for (int i = first; i < e->g->n; i++)
        for (int k = 0; k < e->g->nodes[i]->nin; k++)
            if (e->g->nodes[i]->in[k] == v) {
                const struct value *y = e->g->nodes[i]->out[0];
                int at = forwarded(e, y) ? last_use(e, y, first) : place_of(e, i, first);
                last = at > last ? at : last;
            }
    return last;
}

static struct ap operand(struct expression *e, struct value *v)
{
    if (forwarded(e, v) && v->def->op == OP_bitcast) {
        struct ap a = operand(e, v->def->in[0]);
        a.dtype = v->type.dtype;
        return a;
    }
    if (forwarded(e, v))
        v = v->def->in[0];
    for (int i = 0; i < e->ngiven; i++)
        if (e->given[i] == v)
            return e->given_pattern[i];
    int ntiles = kernel_of(e->k)->ntiles;
    for (int t = 0; t < ntiles && t < MAX_TEMPORARIES; t++)
        if (e->temporary_of[t] == v)
            return space_tile(&e->space, e->k, t);
    return e->pattern(e->user, v);
}

/* The cast that alone reads an f32 value, which its instruction then stores rounded. */
static const struct node *rounding(const struct expression *e, const struct value *v)
{
    const struct node *def = group_def(e->g, v), *n = v->uses ? v->uses->node : NULL;
    if (!def || !n || v->uses->next || n->op != OP_cast ||
        group_is_result(e->g, v) || v->type.dtype != DT_F32 ||
        !dtype_is_short_float(n->out[0]->type.dtype))
        return NULL;
    for (int i = 0; i < e->ngiven; i++)
        if (e->given[i] == v)
            return NULL;
    bool arithmetic = is_activation(def->op) || def->op == OP_add || def->op == OP_sub ||
                      def->op == OP_mul || def->op == OP_div;
    return arithmetic && group_def(e->g, n->out[0]) ? n : NULL;
}

/* Where a node's result goes: outside, or a tile that is free at node `at`. */
static struct ap destination(struct expression *e, struct value *v, int at, int first)
{
    const struct node *cast = rounding(e, v);
    if (cast)
        v = cast->out[0];
    if (group_is_result(e->g, v))
        return e->pattern(e->user, v);
    dim_t count = space_count(e->k->p, &e->space);
    int dtype = v->type.dtype == DT_BOOL ? DT_BOOL
                                         : DT_F32; /* engines compute in f32: no rounding inside */
    const struct lowering *l = e->g->l;
    bool of_stored = l->o->auto_cast == CAST_ALL && !e->k->m->strict; /* short types are those of what is stored */
    if ((dtype_is_short_float(v->type.dtype) && !of_stored) || dtype_is_int(v->type.dtype))
        dtype = v->type.dtype;
    int ntiles = kernel_of(e->k)->ntiles, tile = -1;
    for (int t = 0; t < ntiles && t < MAX_TEMPORARIES && tile < 0; t++) {
        struct value *old = e->temporary_of[t];
        const struct tile *have = &kernel_of(e->k)->tiles[t];
        if (old && last_use(e, old, first) < at && have->dtype == dtype &&
            dim_mul(&e->k->p->dims, have->partitions, have->elements) == count)
            tile = t;
    }
    if (tile < 0)
        tile = space_new_tile(e->k, &e->space, MEM_SBUF, dtype);
    assert(tile < MAX_TEMPORARIES);
    e->temporary_of[tile] = v;
    return space_tile(&e->space, e->k, tile);
}

/* ---- instructions ---- */

struct linear_form { /* src * scale + bias */
    struct value *src, *scale, *bias;
    float factor;
};

static struct linear_form linear_of_mul(const struct expression *e, const struct node *mul)
{
    int run = running(e, mul);
    struct linear_form x = {.src = mul->in[run], .factor = 1};
    if (!scalar_of(e->g->l, mul->in[1 - run], &x.factor))
        x.scale = mul->in[1 - run];
    return x;
}

/* Takes a multiplication of the running value along. */
static struct linear_form with_factor(const struct expression *e, struct linear_form x, int first)
{
    const struct node *n = absorb(e, x.src, OP_mul, first);
    if (n) {
        struct linear_form by = linear_of_mul(e, n);
        x.src = by.src, x.scale = by.scale, x.factor = by.factor;
    }
    return x;
}

static struct linear_form linear_of_add(const struct expression *e, const struct node *add, int first)
{
    int run = running(e, add);
    return with_factor(
        e, (struct linear_form){.src = add->in[run], .bias = add->in[1 - run], .factor = 1}, first);
}

static struct linear_form linear_of(const struct expression *e, struct value *v, int first)
{
    const struct node *add = absorb(e, v, OP_add, first);
    return add ? linear_of_add(e, add, first)
               : with_factor(e, (struct linear_form){.src = v, .factor = 1}, first);
}

/* A multiplication of integers read as f32, which the affine function does on whole tiles. */
static bool scales_integers(const struct expression *e, const struct node *n)
{
    return n->op == OP_mul && n->out[0]->type.dtype == DT_F32 && forwarded(e, n->in[running(e, n)]);
}

/* The node that emits for a mul absorbed into an add that nobody absorbs. */
static bool emits_linear(const struct expression *e, const struct node *n, int first)
{
    if (n->op != OP_add)
        return false;
    int run = running(e, n);
    return absorb(e, n->in[run], OP_mul, first) != NULL;
}

/* The activation's two parameters: attributes, or the limits of clip. */
void activation_parameters(struct lowering *l, const struct node *n, float *a, float *b)
{
    static const struct {
        enum op op;
        const char *name_a, *name_b;
        float a, b;
    } rows[] = {
#define OP(...)
#define UNARY(...)
#define BINARY(...)
#define COMPARE(...)
#define PARAMETRIC(id, onnx, name_a, a, name_b, b, f) {OP_##id, name_a, name_b, a, b},
#include "neff/core/op.def"
    };
    *a = *b = 0;
    if (n->op == OP_clip) {
        *a = -__builtin_inff(), *b = __builtin_inff();
        if (n->nin > 1 && n->in[1])
            scalar_of(l, n->in[1], a);
        if (n->nin > 2 && n->in[2])
            scalar_of(l, n->in[2], b);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == n->op) {
            *a = (float)attr_float(&n->attrs, rows[i].name_a, rows[i].a);
            *b = (float)attr_float(&n->attrs, rows[i].name_b, rows[i].b);
        }
}

static void emit_linear(struct expression *e, const struct node *n, enum op f, struct linear_form v,
                        int at, int first)
{
    float a, b;
    activation_parameters(e->g->l, n, &a, &b);
    struct ap src = operand(e, v.src), bias = v.bias ? operand(e, v.bias) : ap_absent();
    struct ap scale = v.scale ? operand(e, v.scale) : ap_absent();
    struct ap dst = destination(e, n->out[0], at, first);
    emit_activation(e->k, (struct activation){.dst = dst,
                                              .src = src,
                                              .scale = scale,
                                              .bias = bias,
                                              .factor = v.factor,
                                              .a = a,
                                              .b = b,
                                              .f = f});
}

/* s: what is done to x. */
static void emit_scalar(struct expression *e, const struct node *n, struct value *x, struct tensor_scalar s, int at,
                        int first)
{
    s.src = operand(e, x), s.dst = destination(e, n->out[0], at, first);
    emit_tensor_scalar(e->k, s);
}

/* Whether each row of the tile has one number of the operand's. */
static bool is_of_rows(const struct expression *e, const struct ap *a)
{
    for (int i = 1; i < a->rank; i++)
        if (a->dim[i].step != 0)
            return false;
    return e->k->m->strict && a->rank > 1;
}

/* On strict targets any engine adds or multiplies by numbers of rows; by another tile the Vector engine takes twice as
 * long. */
static void emit_operation(struct expression *e, const struct node *n, struct ap dst, struct ap a, struct ap b)
{
    if ((n->op == OP_add || n->op == OP_mul) && is_of_rows(e, &b))
        emit_tensor_alu(e->k, (struct tensor_alu){.dst = dst, .src = a, .a = b, .op0 = n->op, .op1 = OP_identity});
    else
        emit_tensor_tensor(e->k, (struct tensor_tensor){.dst = dst, .a = a, .b = b, .op = n->op});
}

static void emit_binary(struct expression *e, const struct node *n, int at, int first)
{
    struct lowering *l = e->g->l;
    float s;
    bool is_second = !is_compare(n->op) && scalar_of(l, n->in[1], &s);
    if (is_second || (!is_compare(n->op) && scalar_of(l, n->in[0], &s))) {
        struct tensor_scalar by = {.reverse0 = !is_second, .scalar0 = s, .op0 = n->op, .op1 = OP_identity};
        emit_scalar(e, n, n->in[!is_second], by, at, first);
    } else {
        struct ap a = operand(e, n->in[0]), b = operand(e, n->in[1]);
        emit_operation(e, n, destination(e, n->out[0], at, first), a, b);
    }
}

static void emit_where(struct expression *e, const struct node *n, int at, int first)
{
    struct ap p = operand(e, n->in[0]), a = operand(e, n->in[1]), b = operand(e, n->in[2]);
    struct ap dst = destination(e, n->out[0], at, first);
    emit_select(e->k, (struct select){.dst = dst, .predicate = p, .a = a, .b = b});
}

/* ---- quantisation ---- */

static float scale_of(const struct expression *e, const struct node *n)
{
    float s = 1;
    scalar_of(e->g->l, n->in[1], &s);
    return s;
}

static float zero_point(const struct expression *e, const struct node *n)
{
    float z = 0;
    if (n->nin > 2 && n->in[2])
        scalar_of(e->g->l, n->in[2], &z);
    return z;
}

/* Rounds, adds the zero point, and saturates when the result is stored. */
static void emit_quantize(struct expression *e, const struct node *n, int at, int first)
{
    float scale = scale_of(e, n), zero = zero_point(e, n), unused;
    bool computed = !scalar_of(e->g->l, n->in[1], &unused) ||
                    (n->nin > 2 && n->in[2] && !scalar_of(e->g->l, n->in[2], &unused));
    bool is_signed = dtype_class(n->out[0]->type.dtype) == DTC_SINT; /* NaN is not 0 there */
    enum op f = zero == 0 && !is_signed ? OP_identity : OP_round_shift;
    struct linear_form x = {.src = n->in[0], .factor = 1};
    if (scale == 1 && !computed)
        x = linear_of(e, n->in[0], first);
    struct ap src = operand(e, x.src), bias = x.bias ? operand(e, x.bias) : ap_absent();
    struct ap by = x.scale ? operand(e, x.scale) : ap_absent();
    if (computed)
        by = operand(e, n->in[1]), bias = operand(e, n->in[2]);
    struct ap dst = destination(e, n->out[0], at, first);
    if (computed) {
        emit_tensor_alu(e->k, (struct tensor_alu){.dst = dst,
                                                  .src = src,
                                                  .a = by,
                                                  .b = bias,
                                                  .op0 = OP_div,
                                                  .op1 = OP_round_shift});
        return;
    }
    if (scale == 1) {
        emit_activation(e->k, (struct activation){.dst = dst,
                                                  .src = src,
                                                  .scale = by,
                                                  .bias = bias,
                                                  .factor = x.factor,
                                                  .a = zero,
                                                  .f = f});
        return;
    }
    emit_tensor_scalar(
        e->k,
        (struct tensor_scalar){
            .dst = dst, .src = src, .scalar0 = scale, .scalar1 = zero, .op0 = OP_div, .op1 = f});
}

/* Functions of integers: a function of one operand takes it twice. */
static void emit_integer(struct expression *e, const struct node *n, int at, int first)
{
    struct ap a = operand(e, n->in[0]), b = n->nin > 1 ? operand(e, n->in[1]) : a;
    emit_tensor_tensor(
        e->k, (struct tensor_tensor){
                  .dst = destination(e, n->out[0], at, first), .a = a, .b = b, .op = n->op});
}

/* The same words, read as the other type. */
static void emit_bitcast(struct expression *e, const struct node *n, int at, int first)
{
    struct ap src = operand(e, n->in[0]);
    src.dtype = n->out[0]->type.dtype;
    emit_tensor_copy(e->k, (struct tensor_copy){.dst = destination(e, n->out[0], at, first), .src = src});
}

static void emit_node(struct expression *e, int at, int first)
{
    const struct node *n = e->g->nodes[at];
    if (absorbed(e, n, first) || forwarded(e, n->out[0]) ||
        (n->op == OP_cast && rounding(e, n->in[0]) == n))
        return;
    if (n->op == OP_bitcast)
        emit_bitcast(e, n, at, first);
    else if (n->op != OP_where && n->op != OP_cast && is_integer_elementwise(n))
        emit_integer(e, n, at, first);
    else if (n->op == OP_where)
        emit_where(e, n, at, first);
    else if (n->op == OP_quantize_linear)
        emit_quantize(e, n, at, first);
    else if (n->op == OP_dequantize_linear)
        emit_scalar(e, n, n->in[0],
                    (struct tensor_scalar){
                        .scalar0 = zero_point(e, n), .scalar1 = scale_of(e, n), .op0 = OP_sub, .op1 = OP_mul},
                    at, first);
    else if (n->op == OP_cast) {
        struct ap src = operand(e, n->in[0]);
        struct ap dst = destination(e, n->out[0], at, first);
        emit_tensor_copy(e->k, (struct tensor_copy){.dst = dst, .src = src});
    } else if (is_activation(n->op))
        emit_linear(e, n, n->op, linear_of(e, n->in[0], first), at, first);
    else if (emits_linear(e, n, first))
        emit_linear(e, n, OP_identity, linear_of_add(e, n, first), at, first);
    else if (scales_integers(e, n))
        emit_linear(e, n, OP_identity, linear_of_mul(e, n), at, first);
    else
        emit_binary(e, n, at, first);
}

void expression_emit(struct expression *e, int first)
{
    e->temporary_of = ARENA_ARRAY(&e->k->p->arena, struct value *, MAX_TEMPORARIES);
    for (int i = first; i < e->g->n - e->tail; i++)
        emit_node(e, i, first);
}

struct ap expression_operand(struct expression *e, struct value *v)
{
    return operand(e, v);
}
