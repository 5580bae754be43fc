#include "frontend/verify_error.h"

#include "neff/base/splitmix.h"

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
        return fail_memory(d, "out of memory");
    for (const struct node *n = g->main->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            if (n->in[i])
                e->uses[n->in[i]->id]++;
    return true;
}

/* ---- bounds in the file ---- */

enum { DRAWN = NBOUNDS }; /* the block of what draws have moved */

static size_t bytes_of(int64_t n)
{
    return (size_t)n * sizeof(float);
}

static int64_t block_at(int64_t first, int64_t n)
{
    return n - first < BOUND_BLOCK ? n - first : BOUND_BLOCK;
}

static float *read_block(struct verify_errors *e, int b, const struct bound_place *p, int64_t first, int64_t count,
                         struct diag *d)
{
    bool ok = p->n && side_read(&e->file, p->at + (int64_t)bytes_of(first), e->block[b], bytes_of(count), d);
    return ok ? e->block[b] : NULL;
}

static bool write_block(struct verify_errors *e, int b, const struct bound_place *p, int64_t first, int64_t count,
                        struct diag *d)
{
    return side_write(&e->file, p->at + (int64_t)bytes_of(first), e->block[b], bytes_of(count), d);
}

/* Zeros. */
static bool new_place(struct verify_errors *e, int b, int64_t n, struct bound_place *p, struct diag *d)
{
    *p = (struct bound_place){0};
    if (n && !side_take(&e->file, bytes_of(n), &p->at, d))
        return false;
    p->n = n;
    memset(e->block[b], 0, sizeof e->block[b]);
    for (int64_t first = 0; first < n; first += BOUND_BLOCK)
        if (!write_block(e, b, p, first, block_at(first, n), d))
            return false;
    return true;
}

static void give_place(struct verify_errors *e, struct bound_place *p)
{
    if (p->n)
        side_give(&e->file, p->at, bytes_of(p->n));
    *p = (struct bound_place){0};
}

float *errors_bound(struct verify_errors *e, int b, const struct value *v, int64_t first, int64_t count, struct diag *d)
{
    return read_block(e, b, &e->bounds[b][v->id], first, count, d);
}

void errors_clear(struct verify_errors *e, const struct value *v)
{
    for (int b = 0; b < NBOUNDS; b++)
        give_place(e, &e->bounds[b][v->id]);
}

bool errors_of_storage(struct verify_errors *e, const struct value *v, const struct tensor *t,
                       double roundoff, struct diag *d)
{
    struct bound_place *p = &e->bounds[BOUND_CAST][v->id];
    float *bound = e->block[BOUND_CAST];
    bool ok = new_place(e, BOUND_CAST, tensor_count(t), p, d);
    for (int64_t first = 0; ok && first < p->n; first += BOUND_BLOCK) {
        int64_t count = block_at(first, p->n);
        for (int64_t k = 0; k < count; k++) {
            double x = tensor_f64(t, first + k);
            bound[k] = isfinite(x) ? (float)(roundoff * fabs(x)) : 0;
        }
        ok = write_block(e, BOUND_CAST, p, first, count, d);
    }
    return ok;
}

void errors_free(struct verify_errors *e)
{
    for (int b = 0; b < NBOUNDS; b++)
        free(e->bounds[b]);
    free(e->uses);
    side_close(&e->file);
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
    return splitmix(seed) & 1 ? 1 : -1;
}

/* ---- running a call again ---- */

enum change { ABSOLUTE, BY_BOUND, BY_ROUNDOFF };

struct again {
    enum change how;
    int draw, bound; /* which of the draws; which bounds, for BY_BOUND */
    bool ran;        /* the operator did not fail on changed operands */
    struct tensor *in, *out; /* copies of operands; results */
    struct tensor **lists;
    struct side_part *saved; /* of operands that are changed where they are; bytes 0: this one is not */
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
    free(r->saved);
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

static double changed(struct verify_errors *e, enum change how, double bound, double sign, double x)
{
    if (how == ABSOLUTE)
        return fabs(x);
    double by = how == BY_BOUND ? bound + e->nearby * fabs(x) : cast_roundoff(e->o) * fabs(x);
    return x + (sign != 0 ? sign : random_sign(&e->seed)) * by;
}

static bool change_operand(struct verify_errors *e, enum change how, int b, const struct value *v, double sign,
                           struct tensor *t, struct diag *d)
{
    for (int64_t first = 0, n = tensor_count(t); first < n && !diag_failed(d); first += BOUND_BLOCK) {
        int64_t count = block_at(first, n);
        const float *bound = how == BY_BOUND && v ? errors_bound(e, b, v, first, count, d) : NULL;
        for (int64_t k = 0; k < count; k++) {
            double x = changed(e, how, bound ? bound[k] : 0, sign, tensor_f64(t, first + k));
            if (dtype_is_int(t->dtype))
                dtype_store_i64(t->dtype, t->data, (size_t)(first + k), (int64_t)nearbyint(x));
            else
                dtype_store_f64(t->dtype, t->data, (size_t)(first + k), x);
        }
    }
    return !diag_failed(d);
}

static bool is_changed(const struct verify_errors *e, const struct node *n, const struct op_call *c, int i,
                       enum change how, int b)
{
    bool bounded = how == BY_BOUND && n->in[i] && e->bounds[b][n->in[i]->id].n;
    return is_float(c->in[i]) || (bounded && dtype_is_int(c->in[i]->dtype));
}

/* An operand that may be changed: where it is, its bytes saved, or a copy. */
static bool make_changeable(struct verify_errors *e, const struct node *n, const struct op_call *c, int i,
                            struct again *r, struct diag *d)
{
    struct tensor *t = c->in[i];
    bool in_place = t->owned && !(n->in[i] && n->in[i]->constant) && tensor_bytes(t);
    for (int j = 0; j < c->nin; j++)
        in_place &= j == i || c->in[j] != t;
    r->lists[i] = in_place ? t : &r->in[i];
    if (!in_place)
        return tensor_copy(&r->in[i], t, d);
    int64_t at;
    if (!side_take(&e->file, tensor_bytes(t), &at, d) || !side_write(&e->file, at, t->data, tensor_bytes(t), d))
        return false;
    r->saved[i] = (struct side_part){at, tensor_bytes(t)};
    return true;
}

static bool restore(struct verify_errors *e, const struct op_call *c, struct again *r, struct diag *d)
{
    bool ok = true;
    for (int i = 0; i < c->nin; i++)
        if (r->saved[i].bytes) {
            ok = side_read(&e->file, r->saved[i].at, c->in[i]->data, r->saved[i].bytes, d) && ok;
            side_give(&e->file, r->saved[i].at, r->saved[i].bytes);
        }
    return ok;
}

static bool run_changed(struct node *n, struct op_call *c, struct again *r)
{
    struct diag quiet = {0}, *loud = c->env->d;
    struct attrs as = attrs_copy(&r->arena, c->attrs);
    for (int i = 0; r->how == ABSOLUTE && i < as.count; i++)
        if (as.list[i].kind == ATTR_FLOAT)
            as.list[i].f = fabs(as.list[i].f);
    struct op_call call = *c;
    call.attrs = &as;
    call.in = r->lists;
    call.out = r->lists + c->nin;
    if (n->op == OP_sub && r->how == ABSOLUTE)
        call.op = OP_add;
    c->env->d = &quiet;
    bool ok = op_run(&call);
    c->env->d = loud;
    return ok;
}

/* The call on changed operands. */
static bool run_again(struct verify_errors *e, struct node *n, struct op_call *c, struct again *r, struct diag *d)
{
    r->in = calloc((size_t)c->nin + 1, sizeof *r->in);
    r->out = calloc((size_t)c->nout + 1, sizeof *r->out);
    r->lists = calloc((size_t)(c->nin + c->nout) + 1, sizeof *r->lists);
    r->saved = calloc((size_t)c->nin + 1, sizeof *r->saved);
    if (!r->in || !r->out || !r->lists || !r->saved)
        return fail_memory(d, "out of memory");
    bool ok = true;
    for (int i = 0; i < c->nin; i++)
        r->in[i].kind = VK_NONE;
    for (int i = 0; ok && i < c->nin; i++) {
        r->lists[i] = c->in[i];
        ok = !is_changed(e, n, c, i, r->how, r->bound) || make_changeable(e, n, c, i, r, d);
    }
    for (int i = 0; ok && i < c->nin; i++)
        ok = !is_changed(e, n, c, i, r->how, r->bound) ||
             change_operand(e, r->how, r->bound, n->in[i], direction(n, i, r->draw), r->lists[i], d);
    for (int i = 0; i < c->nout; i++) {
        r->out[i].kind = VK_NONE;
        r->lists[c->nin + i] = &r->out[i];
    }
    r->ran = ok && run_changed(n, c, r);
    return restore(e, c, r, d) && ok;
}

/* ---- bounds ---- */

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
static bool own_rounding(struct verify_errors *e, const struct node *n, const struct op_call *c, int i, struct diag *d)
{
    const struct tensor *y = c->out[i], *x = c->nin ? c->in[0] : NULL;
    int flags = op_infos[n->op].flags;
    int64_t total = tensor_count(y);
    double u = F32_ROUNDOFF, cast = e->o->auto_cast == CAST_ALL ? cast_roundoff(e->o) : 0;
    double narrow =
        y->dtype == DT_F32 || y->dtype == DT_F64 ? 0 : ldexp(1, -float_format(y->dtype)->man_bits);
    bool unary = (flags & OPF_ELEMENTWISE) && c->nin == 1 && is_float(x) && tensor_count(x) == total;
    bool recurrent = n->op == OP_lstm || n->op == OP_gru || n->op == OP_rnn;
    double body = n->nregions && cast_roundoff(e->o) > 0 ? INFINITY : 0; /* whatever its body does */
    double whole = n->nregions                                  ? BODY
                   : recurrent                                  ? STEPS
                   : flags & (OPF_ELEMENTWISE | OPF_VIEW) ? 0
                                                                : WHOLE;
    whole *= u * largest(y);
    bool ok = true;
    for (int64_t first = 0; ok && first < total; first += BOUND_BLOCK) {
        int64_t count = block_at(first, total);
        for (int64_t k = 0; k < count; k++) {
            double magnitude = fabs(tensor_f64(y, first + k)), own = whole + narrow * magnitude;
            if (flags & OPF_ELEMENTWISE)
                own += ELEMENT * u * (magnitude + (unary ? fmin(1, fabs(tensor_f64(x, first + k))) : 0));
            e->block[BOUND_ORDER][k] = isfinite(magnitude) ? (float)own : 0;
            e->block[BOUND_CAST][k] = isfinite(magnitude) ? (float)(own + cast * magnitude + body) : 0;
        }
        for (int b = 0; b < NBOUNDS; b++)
            ok = ok && write_block(e, b, &e->bounds[b][n->out[i]->id], first, count, d);
    }
    return ok;
}

/* Sums of products, relative to the sum of magnitudes. */
static bool linear_rounding(struct verify_errors *e, struct node *n, struct op_call *c, struct diag *d)
{
    struct again a = {.how = ABSOLUTE};
    bool casts = flags_of(n->op) & CASTS;
    double u = cast_roundoff(e->o), cast = casts ? 2 * u + u * u : 0;
    const double add[NBOUNDS] = {SUM * F32_ROUNDOFF, SUM * F32_ROUNDOFF + cast};
    bool ok = run_again(e, n, c, &a, d);
    int64_t total = e->bounds[0][n->out[0]->id].n;
    bool ran = a.ran && is_float(&a.out[0]) && tensor_count(&a.out[0]) == total;
    for (int64_t first = 0; ok && ran && first < total; first += BOUND_BLOCK)
        for (int b = 0; ok && b < NBOUNDS; b++) {
            int64_t count = block_at(first, total);
            float *bound = errors_bound(e, b, n->out[0], first, count, d);
            for (int64_t k = 0; bound && k < count; k++) {
                double sum = fabs(tensor_f64(&a.out[0], first + k));
                bound[k] += isfinite(sum) ? (float)(add[b] * sum) : 0;
            }
            ok = bound && write_block(e, b, &e->bounds[b][n->out[0]->id], first, count, d);
        }
    again_free(&a, c);
    return ok;
}

/* A result that waits in the file while its node runs again. */
struct waiting {
    struct tensor *t;
    int64_t at; /* -1: it is small and stays */
};

static bool begin_waiting(struct verify_errors *e, struct tensor *t, struct waiting *w, struct diag *d)
{
    enum { SMALL = 1 << 18 };
    *w = (struct waiting){t, -1};
    size_t bytes = t->owned && t->dtype != DT_STR ? tensor_bytes(t) : 0;
    if (bytes < SMALL)
        return true;
    if (!side_take(&e->file, bytes, &w->at, d) || !side_write(&e->file, w->at, t->data, bytes, d)) {
        w->at = -1;
        return false;
    }
    side_drop(t->data, bytes);
    return true;
}

static bool end_waiting(struct verify_errors *e, struct waiting *w, struct diag *d)
{
    if (w->at < 0)
        return true;
    bool ok = side_read(&e->file, w->at, w->t->data, tensor_bytes(w->t), d);
    side_give(&e->file, w->at, tensor_bytes(w->t));
    return ok;
}

/* Some elements of it, in `room`, which holds BOUND_BLOCK of eight bytes, or where they are. */
static bool waiting_block(struct verify_errors *e, const struct waiting *w, int64_t first, int64_t count, void *room,
                          struct tensor *t, struct diag *d)
{
    size_t size = dtype_bytes(w->t->dtype);
    *t = tensor_view(w->t->dtype, 1, &count, w->at < 0 ? (char *)w->t->data + (size_t)first * size : room);
    return w->at < 0 || side_read(&e->file, w->at + first * (int64_t)size, room, (size_t)count * size, d);
}

struct draws { /* the most that each element was moved by */
    struct bound_place max;
    int64_t n;
    double mean;
};

static bool note_draw(struct verify_errors *e, const struct waiting *y, const struct tensor *moved, struct draws *w,
                      struct diag *d)
{
    double room[BOUND_BLOCK];
    for (int64_t first = 0; first < w->n; first += BOUND_BLOCK) {
        int64_t count = block_at(first, w->n);
        struct tensor part;
        float *max = read_block(e, DRAWN, &w->max, first, count, d);
        if (!max || !waiting_block(e, y, first, count, room, &part, d))
            return false;
        for (int64_t k = 0; k < count; k++) {
            double by = fabs(tensor_f64(moved, first + k) - tensor_f64(&part, k));
            if (isfinite(by) && by > max[k])
                max[k] = (float)by;
        }
        if (!write_block(e, DRAWN, &w->max, first, count, d))
            return false;
    }
    return true;
}

/* The most of some draws, and where elements mix a part of the mean, so that an element that chance
 * spared is not held to zero. */
static bool add_draws(struct verify_errors *e, const struct node *n, const struct bound_place *to, int b,
                      struct draws *w, struct diag *d)
{
    bool mixes = !(op_infos[n->op].flags & (OPF_ELEMENTWISE | OPF_VIEW));
    for (int add = 0; add < 2; add++) /* first their mean */
        for (int64_t first = 0; first < w->n; first += BOUND_BLOCK) {
            int64_t count = block_at(first, w->n);
            const float *max = read_block(e, DRAWN, &w->max, first, count, d);
            float *bound = add && max ? read_block(e, b, to, first, count, d) : NULL;
            if (!max || (add && !bound))
                return false;
            for (int64_t k = 0; k < count; k++)
                if (add)
                    bound[k] += max[k] + (mixes ? (float)w->mean : 0);
                else
                    w->mean += max[k] / (double)w->n;
            if (add && !write_block(e, b, to, first, count, d))
                return false;
        }
    return true;
}

/* What disturbed operands do to result i, y: added to its bounds b. */
static bool disturbance(struct verify_errors *e, struct node *n, struct op_call *c, int i, const struct waiting *y,
                        enum change how, int b, struct diag *d)
{
    const struct bound_place *to = &e->bounds[b][n->out[i]->id];
    struct draws w = {.n = to->n};
    bool ok = new_place(e, DRAWN, w.n, &w.max, d);
    for (int draw = 0; ok && draw < DRAWS; draw++) {
        struct again a = {.how = how, .draw = draw, .bound = b};
        ok = run_again(e, n, c, &a, d);
        if (ok && a.ran && (is_float(&a.out[i]) || is_quantised(n, &a.out[i])) && tensor_count(&a.out[i]) == w.n)
            ok = note_draw(e, y, &a.out[i], &w, d);
        again_free(&a, c);
    }
    ok = ok && add_draws(e, n, to, b, &w, d);
    give_place(e, &w.max);
    return ok;
}

static bool bounded_operand(const struct verify_errors *e, const struct node *n, int b)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && e->bounds[b][n->in[i]->id].n)
            return true;
    return false;
}

static bool bound_result(struct verify_errors *e, struct node *n, struct op_call *c, int i,
                         struct diag *d)
{
    int flags = flags_of(n->op);
    bool repeats = n->op == OP_kernel_call || !(op_infos[n->op].flags & OPF_IMPURE);
    bool again = n->nregions == 0 && repeats, ok = true;
    for (int b = 0; ok && b < NBOUNDS; b++)
        ok = new_place(e, b, tensor_count(c->out[i]), &e->bounds[b][n->out[i]->id], d);
    if (ok && is_float(c->out[i]))
        ok = own_rounding(e, n, c, i, d);
    struct waiting y;
    if (!ok || !again || !tensor_count(c->out[i]) || !begin_waiting(e, c->out[i], &y, d))
        return ok && !diag_failed(d);
    if ((flags & LINEAR) && i == 0)
        ok = linear_rounding(e, n, c, d);
    bool all = e->o->auto_cast == CAST_ALL && !(op_infos[n->op].flags & OPF_VIEW);
    if (ok && (all || (flags == CASTS && e->o->auto_cast != CAST_NONE)))
        ok = disturbance(e, n, c, i, &y, BY_ROUNDOFF, BOUND_CAST, d);
    e->nearby = is_quantised(n, c->out[i]) ? ELEMENT * F32_ROUNDOFF : 0;
    for (int b = 0; b < NBOUNDS && ok; b++)
        if (e->nearby > 0 || bounded_operand(e, n, b))
            ok = disturbance(e, n, c, i, &y, BY_BOUND, b, d);
    e->nearby = 0;
    return end_waiting(e, &y, d) && ok;
}

bool errors_of_node(struct verify_errors *e, struct node *n, struct op_call *call, struct diag *d)
{
    for (int i = 0; i < call->nout; i++)
        if (n->out[i]->uses && call->out[i] &&
            (is_float(call->out[i]) || is_quantised(n, call->out[i])) && !bound_result(e, n, call, i, d))
            return false;
    return true;
}
