#include "frontend/verify_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F32_ROUNDOFF 0x1p-24
enum { DRAWS = 4 }; /* runs on disturbed operands */

enum {              /* roundings of f32 that an operator may make */
       SUM = 32,    /* relative to the sum of magnitudes */
       WHOLE = 16,  /* relative to the largest element */
       ELEMENT = 8, /* relative to the element */
       BODY = 1024, /* of a branch or loop, relative to the largest element */
       STEPS = 256, /* of a recurrent layer, whose steps pass their roundings on; the same */
};

enum { LINEAR = 1, CASTS = 2 };
static const struct {
    enum op op;
    int flags; /* LINEAR: a sum of products; CASTS: autocast rounds its operands */
} operators[] = {
    {OP_matmul, LINEAR | CASTS},
    {OP_gemm, LINEAR | CASTS},
    {OP_conv, LINEAR | CASTS},
    {OP_conv_transpose, LINEAR | CASTS},
    {OP_einsum, LINEAR | CASTS},
    {OP_reduce_sum, LINEAR},
    {OP_reduce_mean, LINEAR},
    {OP_average_pool, LINEAR},
    {OP_cumsum, LINEAR},
    {OP_add, LINEAR},
    {OP_sub, LINEAR},
    {OP_batch_norm, LINEAR},
    {OP_attention, CASTS},
    {OP_sdpa, CASTS},
    {OP_lstm, CASTS},
    {OP_gru, CASTS},
    {OP_rnn, CASTS},
    {OP_deform_conv, CASTS},
    {OP_linear_attention, CASTS},
    {OP_causal_conv, CASTS},
};

static int flags_of(enum op op)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].op == op)
            return operators[i].flags;
    return 0;
}

double cast_roundoff(const struct options *o)
{
    if (o->auto_cast == CAST_NONE)
        return 0;
    int bits = o->cast_type == CAST_TF32 ? 10 : float_format(o->cast_type)->man_bits;
    return ldexp(1, -bits - 1);
}

bool errors_init(struct verify_errors *e, const struct graph *g, const struct options *o,
                 struct diag *d)
{
    *e = (struct verify_errors){.o = o, .nvalues = g->next_value, .seed = 1};
    e->uses = calloc((size_t)e->nvalues + 1, sizeof *e->uses);
    bool ok = e->uses != NULL;
    for (int b = 0; b < NBOUNDS; b++)
        ok &= (e->bounds[b] = calloc((size_t)e->nvalues + 1, sizeof **e->bounds)) != NULL;
    if (!ok)
        return fail(d, "out of memory");
    for (const struct node *n = g->main->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            if (n->in[i])
                e->uses[n->in[i]->id]++;
    return true;
}

void errors_clear(struct verify_errors *e, const struct value *v)
{
    for (int b = 0; b < NBOUNDS; b++) {
        free(e->bounds[b][v->id]);
        e->bounds[b][v->id] = NULL;
    }
}

bool errors_of_storage(struct verify_errors *e, const struct value *v, const struct tensor *t,
                       double roundoff, struct diag *d)
{
    int64_t n = tensor_count(t);
    float *bound = e->bounds[BOUND_CAST][v->id] = calloc((size_t)n + 1, sizeof *bound);
    for (int64_t k = 0; bound && k < n; k++)
        if (isfinite(tensor_f64(t, k)))
            bound[k] = (float)(roundoff * fabs(tensor_f64(t, k)));
    return bound || fail(d, "out of memory");
}

void errors_free(struct verify_errors *e)
{
    for (int b = 0; b < NBOUNDS; b++) {
        for (int i = 0; e->bounds[b] && i < e->nvalues; i++)
            free(e->bounds[b][i]);
        free(e->bounds[b]);
    }
    free(e->uses);
}

void errors_done(struct verify_errors *e, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && --e->uses[n->in[i]->id] == 0)
            errors_clear(e, n->in[i]);
}

static bool is_float(const struct tensor *t)
{
    return t->kind == VK_TENSOR && dtype_is_float(t->dtype);
}

/* Integers that stand for reals: operands near the middle between two of them go either way. */
static bool is_quantised(const struct node *n, const struct tensor *t)
{
    return n->op == OP_quantize_linear && t->kind == VK_TENSOR && dtype_is_int(t->dtype);
}

static double random_sign(uint64_t *seed)
{
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) & 1 ? 1 : -1;
}

/* ---- running a call again ---- */

enum change { ABSOLUTE, BY_BOUND, BY_ROUNDOFF };

struct again {
    struct tensor *in, *out;
    struct tensor **lists;
    struct arena arena;
};

static void again_free(struct again *r, const struct op_call *c)
{
    for (int i = 0; r->in && i < c->nin; i++)
        tensor_free(&r->in[i]);
    for (int i = 0; r->out && i < c->nout; i++)
        tensor_free(&r->out[i]);
    free(r->in);
    free(r->out);
    free(r->lists);
    arena_free(&r->arena);
}

/* The direction in which one draw moves a whole operand, 0 for random ones. Elementwise operators
 * see every combination of two operands; the others both extremes and random signs. */
static double direction(const struct node *n, int operand, int draw)
{
    if (op_infos[n->op].flags & OPF_ELEMENTWISE)
        return draw >> (operand > 0) & 1 ? -1 : 1;
    return draw == 0 ? 1 : draw == 1 ? -1 : 0;
}

static void change_operand(struct verify_errors *e, enum change how, const float *bound,
                           double sign, struct tensor *t)
{
    double u = cast_roundoff(e->o);
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) {
        double x = tensor_f64(t, k);
        if (how == ABSOLUTE)
            x = fabs(x);
        else
            x += (sign != 0 ? sign : random_sign(&e->seed)) *
                 (how == BY_BOUND ? (bound ? bound[k] : 0) + e->nearby * fabs(x) : u * fabs(x));
        if (dtype_is_int(t->dtype))
            dtype_store_i64(t->dtype, t->data, (size_t)k, (int64_t)nearbyint(x));
        else
            dtype_store_f64(t->dtype, t->data, (size_t)k, x);
    }
}

/* The call on changed operands; false when it fails on them. */
static bool run_again(struct verify_errors *e, struct node *n, struct op_call *c, enum change how,
                      int draw, float *const *bounds, struct again *r)
{
    struct diag quiet = {0}, *loud = c->env->d;
    *r = (struct again){0};
    r->in = calloc((size_t)c->nin + 1, sizeof *r->in);
    r->out = calloc((size_t)c->nout + 1, sizeof *r->out);
    r->lists = calloc((size_t)(c->nin + c->nout) + 1, sizeof *r->lists);
    bool ok = r->in && r->out && r->lists;
    for (int i = 0; ok && i < c->nin; i++) {
        r->in[i].kind = VK_NONE;
        ok = tensor_copy(&r->in[i], c->in[i], &quiet);
        bool bounded = how == BY_BOUND && bounds && n->in[i] && bounds[n->in[i]->id];
        if (ok && (is_float(c->in[i]) || (bounded && dtype_is_int(c->in[i]->dtype))))
            change_operand(e, how, bounds && n->in[i] ? bounds[n->in[i]->id] : NULL,
                           direction(n, i, draw), &r->in[i]);
        r->lists[i] = &r->in[i];
    }
    for (int i = 0; ok && i < c->nout; i++) {
        r->out[i].kind = VK_NONE;
        r->lists[c->nin + i] = &r->out[i];
    }
    if (!ok)
        return false;
    struct attrs as = attrs_copy(&r->arena, c->attrs);
    for (int i = 0; how == ABSOLUTE && i < as.count; i++)
        if (as.list[i].kind == ATTR_FLOAT)
            as.list[i].f = fabs(as.list[i].f);
    struct op_call call = *c;
    call.attrs = &as;
    call.in = r->lists;
    call.out = r->lists + c->nin;
    if (n->op == OP_sub && how == ABSOLUTE)
        call.op = OP_add;
    c->env->d = &quiet;
    ok = op_run(&call);
    c->env->d = loud;
    return ok;
}

/* ---- bounds ---- */

struct compared_result { /* of the node being looked at */
    float *bound[NBOUNDS];
    int64_t n;
};

static double largest(const struct tensor *t)
{
    double max = 0;
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) {
        double x = fabs(tensor_f64(t, k));
        max = isfinite(x) && x > max ? x : max;
    }
    return max;
}

/* What the operator's own arithmetic may do, from its result alone. */
static void own_rounding(const struct verify_errors *e, const struct node *n,
                         const struct op_call *c, int i, struct compared_result *r)
{
    const struct tensor *y = c->out[i], *x = c->nin ? c->in[0] : NULL;
    int flags = op_infos[n->op].flags;
    double u = F32_ROUNDOFF, cast = e->o->auto_cast == CAST_ALL ? cast_roundoff(e->o) : 0;
    double narrow =
        y->dtype == DT_F32 || y->dtype == DT_F64 ? 0 : ldexp(1, -float_format(y->dtype)->man_bits);
    bool unary = (flags & OPF_ELEMENTWISE) && c->nin == 1 && is_float(x) && tensor_count(x) == r->n;
    double whole = flags & (OPF_ELEMENTWISE | OPF_VIEW) ? 0 : WHOLE * u * largest(y), body = 0;
    if (n->op == OP_lstm || n->op == OP_gru || n->op == OP_rnn)
        whole = STEPS * u * largest(y);
    if (n->nregions) { /* whatever its body does */
        whole = BODY * u * largest(y);
        body = cast_roundoff(e->o) > 0 ? INFINITY : 0;
    }
    for (int64_t k = 0; k < r->n; k++) {
        double magnitude = fabs(tensor_f64(y, k));
        if (!isfinite(magnitude))
            continue;
        double own = whole + narrow * magnitude;
        if (flags & OPF_ELEMENTWISE)
            own += ELEMENT * u * (magnitude + (unary ? fmin(1, fabs(tensor_f64(x, k))) : 0));
        r->bound[BOUND_ORDER][k] += (float)own;
        r->bound[BOUND_CAST][k] += (float)(own + cast * magnitude + body);
    }
}

/* Sums of products, relative to the sum of magnitudes. */
static void linear_rounding(struct verify_errors *e, struct node *n, struct op_call *c,
                            struct compared_result *r)
{
    struct again a;
    bool casts = flags_of(n->op) & CASTS;
    double u = cast_roundoff(e->o), cast = casts ? 2 * u + u * u : 0;
    if (run_again(e, n, c, ABSOLUTE, 0, NULL, &a) && is_float(&a.out[0]) &&
        tensor_count(&a.out[0]) == r->n)
        for (int64_t k = 0; k < r->n; k++) {
            double sum = fabs(tensor_f64(&a.out[0], k));
            if (!isfinite(sum))
                continue;
            r->bound[BOUND_ORDER][k] += (float)(SUM * F32_ROUNDOFF * sum);
            r->bound[BOUND_CAST][k] += (float)((SUM * F32_ROUNDOFF + cast) * sum);
        }
    again_free(&a, c);
}

/* What disturbed operands do to result i: the most of some draws, and where elements mix a part of
 * the mean, so that an element that chance spared is not held to zero. */
static bool disturbance(struct verify_errors *e, struct node *n, struct op_call *c, int i,
                        enum change how, float *const *bounds, float *add, int64_t count,
                        struct diag *d)
{
    float *max = calloc((size_t)count + 1, sizeof *max);
    double mean = 0;
    if (!max)
        return fail(d, "out of memory");
    for (int draw = 0; draw < DRAWS; draw++) {
        struct again a;
        if (run_again(e, n, c, how, draw, bounds, &a) &&
            (is_float(&a.out[i]) || is_quantised(n, &a.out[i])) && tensor_count(&a.out[i]) == count)
            for (int64_t k = 0; k < count; k++) {
                double moved = fabs(tensor_f64(&a.out[i], k) - tensor_f64(c->out[i], k));
                if (isfinite(moved) && moved > max[k])
                    max[k] = (float)moved;
            }
        again_free(&a, c);
    }
    for (int64_t k = 0; k < count; k++)
        mean += max[k] / (double)count;
    bool mixes = !(op_infos[n->op].flags & (OPF_ELEMENTWISE | OPF_VIEW));
    for (int64_t k = 0; k < count; k++)
        add[k] += max[k] + (mixes ? (float)mean : 0);
    free(max);
    return true;
}

static bool bounded_operand(const struct verify_errors *e, const struct node *n, int b)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && e->bounds[b][n->in[i]->id])
            return true;
    return false;
}

static bool bound_result(struct verify_errors *e, struct node *n, struct op_call *c, int i,
                         struct diag *d)
{
    struct compared_result r = {.n = tensor_count(c->out[i])};
    int id = n->out[i]->id, flags = flags_of(n->op);
    bool repeats = n->op == OP_kernel_call || !(op_infos[n->op].flags & OPF_IMPURE);
    bool again = n->nregions == 0 && repeats, ok = true;
    for (int b = 0; b < NBOUNDS; b++) {
        r.bound[b] = e->bounds[b][id] = calloc((size_t)r.n + 1, sizeof(float));
        if (!r.bound[b])
            return fail(d, "out of memory");
    }
    if (is_float(c->out[i]))
        own_rounding(e, n, c, i, &r);
    if (again && (flags & LINEAR) && i == 0)
        linear_rounding(e, n, c, &r);
    bool all = e->o->auto_cast == CAST_ALL && !(op_infos[n->op].flags & OPF_VIEW);
    if (again && (all || (flags == CASTS && e->o->auto_cast != CAST_NONE)))
        ok = disturbance(e, n, c, i, BY_ROUNDOFF, NULL, r.bound[BOUND_CAST], r.n, d);
    e->nearby = is_quantised(n, c->out[i]) ? ELEMENT * F32_ROUNDOFF : 0;
    for (int b = 0; b < NBOUNDS && ok && again; b++)
        if (e->nearby > 0 || bounded_operand(e, n, b))
            ok = disturbance(e, n, c, i, BY_BOUND, e->bounds[b], r.bound[b], r.n, d);
    e->nearby = 0;
    return ok;
}

bool errors_of_node(struct verify_errors *e, struct node *n, struct op_call *call, struct diag *d)
{
    for (int i = 0; i < call->nout; i++)
        if (n->out[i]->uses && call->out[i] &&
            (is_float(call->out[i]) || is_quantised(n, call->out[i])) && !bound_result(e, n, call, i, d))
            return false;
    return true;
}
