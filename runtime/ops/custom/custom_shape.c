/*
 * Types of the results of libraries' operators: by their declarations, then by their shape
 * functions.
 */
#include "runtime/ops/common/require.h"
#include "runtime/ops/custom/custom_host.h"

#include <string.h>

struct match {
    struct infer *f;
    const struct custom_operator *op;
    dim_t *value; /* of each name; DIM_NOT_BOUND: none yet */
    int nbatch;   /* dims of `...`; -1: not known yet */
    dim_t batch[MAX_RANK];
    int type[26];   /* found for T; 0: none yet */
    bool open_rank; /* an operand's rank is not known: neither are results' */
};

/* What an expression of the declaration is; DIM_NOT_BOUND when a name in it has no value. */
static dim_t declared_dim(struct match *m, dim_t d)
{
    return dim_translate(m->f->dims, &m->op->dims, d, m->value);
}

static bool match_type(struct match *m, const struct custom_operand *o, int i)
{
    char found[64], expected[256];
    int dtype = m->f->in[i].dtype;
    type_set set = dtype == DT_NONE ? 0 : (type_set)1 << dtype;
    if (!set)
        return true;
    type_set_text(set, found, sizeof found);
    if (!(o->admits & set))
        return fail(m->f->d, "operand '%s' is %s, expected %s", o->name, found,
                    type_set_text(o->admits, expected, sizeof expected));
    if (o->variable < 0)
        return true;
    int *type = &m->type[o->variable];
    if (*type && *type != dtype)
        return fail(m->f->d, "operand '%s' is %s, expected %s as the operand before", o->name,
                    found, dtype_name(*type));
    *type = dtype;
    return true;
}

static struct site place(const struct custom_operand *o, int dimension)
{
    return named(o->name, -1, dimension);
}

static bool match_batch(struct match *m, const struct custom_operand *o, const struct type *t,
                        int n)
{
    if (m->nbatch < 0) {
        m->nbatch = n;
        memcpy(m->batch, t->dims, sizeof *t->dims * (size_t)n);
        return true;
    }
    if (m->nbatch != n)
        return fail(m->f->d, "operand '%s' has %d dimensions at `...`, another operand %d", o->name,
                    n, m->nbatch);
    for (int k = 0; k < n; k++)
        if (!require_same(m->f, m->batch[k], t->dims[k], place(o, k), &m->batch[k]))
            return false;
    return true;
}

static bool match_dim(struct match *m, dim_t declared, dim_t found, struct site at)
{
    if (declared == CUSTOM_ANY_DIM)
        return true;
    int name = dim_as_symbol(&m->op->dims, declared);
    if (name >= 0 && m->value[name] == DIM_NOT_BOUND) {
        m->value[name] = found;
        return true;
    }
    if (name >= 0)
        return require_same(m->f, m->value[name], found, at, &m->value[name]);
    dim_t expected = declared_dim(m, declared);
    return expected == DIM_NOT_BOUND || require_equal(m->f, found, expected, at);
}

static bool match_operand(struct match *m, const struct custom_operand *o, int i)
{
    const struct type *t = &m->f->in[i];
    if (t->kind == VK_NONE)
        return o->optional || fail(m->f->d, "operand '%s' is missing", o->name);
    if (!match_type(m, o, i) || o->rank == CUSTOM_ANY_RANK)
        return !diag_failed(m->f->d);
    if (t->rank < 0) {
        m->open_rank = true;
        return true;
    }
    int before = t->rank - o->rank;
    if (before < 0 || (before > 0 && !o->ellipsis))
        return fail(m->f->d, "operand '%s' has rank %d, expected %d%s: %s", o->name, t->rank,
                    o->rank, o->ellipsis ? " or more" : "", m->op->code->operands);
    if (o->ellipsis && !match_batch(m, o, t, before))
        return false;
    for (int k = 0; k < o->rank; k++)
        if (!match_dim(m, o->dims[k], t->dims[before + k], place(o, before + k)))
            return false;
    return true;
}

static bool match_operands(struct match *m)
{
    const struct custom_operator *op = m->op;
    bool repeats = op->nin && op->in[op->nin - 1].repeats;
    if (m->f->nin > op->nin && !repeats)
        return fail(m->f->d, "%d operands, expected %d: %s", m->f->nin, op->nin,
                    op->code->operands ? op->code->operands : "none");
    for (int i = 0; i < op->nin && !op->in[i].repeats; i++) {
        if (i < m->f->nin
                ? !match_operand(m, &op->in[i], i)
                : !op->in[i].optional && !fail(m->f->d, "operand '%s' is missing", op->in[i].name))
            return false;
    }
    for (int i = op->nin - 1; repeats && i < m->f->nin; i++)
        if (!match_operand(m, &op->in[op->nin - 1], i))
            return false;
    for (int s = 0; s < op->dims.nsymbols; s++) /* those that are attributes */
        if (m->value[s] == DIM_NOT_BOUND && attr_find(m->f->attrs, op->dims.symbols[s].name))
            m->value[s] = content_clamp(attr_int(m->f->attrs, op->dims.symbols[s].name, 0));
    return true;
}

/* ---- results as the text has them ---- */

static bool declared_dims(struct match *m, const struct custom_operand *o, struct type *t)
{
    int before = o->ellipsis ? m->nbatch : 0;
    if (before < 0)
        return fail(m->f->d, "result '%s': no operand says what `...` is", o->name);
    if (before + o->rank > MAX_RANK)
        return fail(m->f->d, "result '%s' has more than %d dimensions", o->name, MAX_RANK);
    memcpy(t->dims, m->batch, sizeof *t->dims * (size_t)before);
    t->rank = (int8_t)(before + o->rank);
    for (int k = 0; k < o->rank; k++) {
        dim_t *to = &t->dims[before + k];
        if (o->dims[k] == CUSTOM_RUNTIME_DIM) {
            *to = m->f->concrete ? 0 : infer_unknown(m->f, m->op->code->name);
            continue;
        }
        *to = declared_dim(m, o->dims[k]);
        if (*to == DIM_NOT_BOUND)
            return fail(m->f->d, "dimension %d of result '%s' depends on an operand left out", k,
                        o->name);
    }
    return true;
}

static bool declared_result(struct match *m, int i)
{
    const struct custom_operand *o = &m->op->out[i];
    struct type t = {.kind = VK_TENSOR, .rank = RANK_UNKNOWN};
    if (o->typed && o->variable >= 0) {
        t.dtype = (uint8_t)m->type[o->variable];
    } else if (o->typed) {
        t.dtype = (uint8_t)__builtin_ctzll(o->admits);
    }
    if (o->typed && !t.dtype)
        return fail(m->f->d, "the type of result '%s' depends on an operand left out", o->name);
    if (o->rank != CUSTOM_ANY_RANK && !m->open_rank && !declared_dims(m, o, &t))
        return false;
    m->f->out[i] = t;
    return true;
}

/* ---- shape functions ---- */

/* The function itself, whose name a handler of signals finds. */
static bool run_shape(const struct custom_operator *op, const struct xop_call *c)
{
    struct custom_work work = {op->full, CUSTOM_SHAPE, NULL};
    const struct custom_work *outer = custom_at_work;
    if (custom_prepare_thread)
        custom_prepare_thread();
    custom_at_work = &work;
    bool ok = op->code->shape(c);
    custom_at_work = outer;
    return ok;
}

/* One call of the function, each symbol of dims being with[symbol], or itself where `with` is NULL.
 */
static bool call_shape(struct match *m, const int64_t *with, struct xop_tensor *out, struct diag *d)
{
    struct infer *f = m->f;
    int nin = custom_operands(m->op, f->nin);
    struct xop_tensor *in = ARENA_ARRAY(f->arena, struct xop_tensor, nin + 1);
    for (int i = 0; i < f->nin; i++) {
        int64_t dims[MAX_RANK];
        if (f->in[i].kind == VK_NONE)
            continue;
        for (int k = 0; k < f->in[i].rank; k++)
            dims[k] = with ? dim_eval(f->dims, with, f->in[i].dims[k]) : f->in[i].dims[k];
        in[i] = custom_tensor(f->in[i].dtype, f->in[i].rank, dims, NULL);
    }
    for (int i = 0; i < m->op->nout; i++) {
        out[i] = (struct xop_tensor){.dtype = f->out[i].dtype, .rank = f->out[i].rank};
        for (int k = 0; k < f->out[i].rank; k++)
            out[i].dims[k] = with ? dim_eval(f->dims, with, f->out[i].dims[k]) : f->out[i].dims[k];
    }
    struct custom_state state = {
        .op = m->op, .attrs = f->attrs, .dims = with ? NULL : f->dims, .out = out};
    struct xop_call c = {.nin = nin,
                         .nout = m->op->nout,
                         .in = in,
                         .out = out,
                         .cores = 1,
                         .op = m->op->code,
                         .host = &custom_host,
                         .state = &state};
    if (!run_shape(m->op, &c))
        return fail(d, "%s", *state.error ? state.error : "its shape function gives no reason");
    for (int i = 0; i < m->op->nout; i++) {
        if (out[i].rank < 0 || out[i].rank > MAX_RANK || !dtype_valid(out[i].dtype) ||
            out[i].dtype == DT_STR)
            return fail(d, "its shape function gives result '%s' no type or no rank",
                        m->op->out[i].name);
        for (int k = 0; k < out[i].rank; k++)
            if (dim_is_const(out[i].dims[k]) ? out[i].dims[k] < 0
                                             : with || dim_index(out[i].dims[k]) >= f->dims->nnodes)
                return fail(d, "its shape function gives dimension %d of result '%s' as %lld%s", k,
                            m->op->out[i].name, (long long)out[i].dims[k],
                            m->op->code->flags & XOP_SYMBOLIC
                                ? "; with XOP_SYMBOLIC sizes are computed by xop_dim alone"
                                : "");
    }
    return true;
}

static void take_results(struct match *m, const struct xop_tensor *out)
{
    for (int i = 0; i < m->op->nout && i < m->f->nout; i++)
        infer_out(m->f, i, out[i].dtype, out[i].rank, out[i].dims);
}

/*
 * Sizes that are not known yet: the function is tried on several sizes of each symbol. A result's
 * dimension that is the same number, or the same operand's dimension, in every trial is taken to be
 * that; what a call does is checked when it runs. Others are known only then.
 */
enum { TRIALS = 4 };

static dim_t operand_dim(struct match *m, int64_t *const *with, struct xop_tensor *const *out,
                         int i, int k)
{
    const struct infer *f = m->f;
    bool same = true;
    for (int t = 1; t < TRIALS; t++)
        same &= out[t][i].dims[k] == out[0][i].dims[k];
    if (same)
        return out[0][i].dims[k];
    for (int o = 0; o < f->nin; o++)
        for (int j = 0; f->in[o].kind == VK_TENSOR && j < f->in[o].rank; j++) {
            bool is = true;
            for (int t = 0; t < TRIALS; t++)
                is &= dim_eval(f->dims, with[t], f->in[o].dims[j]) == out[t][i].dims[k];
            if (is)
                return f->in[o].dims[j];
        }
    return infer_unknown(m->f, m->op->code->name);
}

/* What no trial has told: ranks are known while running, types are not. */
static bool known_types(const struct match *m, const char *why)
{
    for (int i = 0; i < m->op->nout; i++)
        if (m->f->out[i].dtype == DT_NONE)
            return fail(m->f->d,
                        "the type of result '%s' is not known before it runs: %s; its declaration (`results`) should "
                        "say the type",
                        m->op->out[i].name, why);
    return true;
}

static bool try_shapes(struct match *m)
{
    static const int64_t base[TRIALS] = {64, 192, 448, 1088}, step[TRIALS] = {64, 128, 320, 704};
    struct infer *f = m->f;
    struct diag refused = {0};
    int64_t *with[TRIALS];
    struct xop_tensor *out[TRIALS];
    bool works = true;
    for (int t = 0; t < TRIALS && works; t++) {
        with[t] = ARENA_ARRAY(f->arena, int64_t, f->dims->nsymbols + 1);
        out[t] = ARENA_ARRAY(f->arena, struct xop_tensor, m->op->nout + 1);
        for (int s = 0; s < f->dims->nsymbols; s++)
            with[t][s] = base[t] + step[t] * s;
        works = call_shape(m, with[t], out[t], &refused);
        for (int i = 0; works && i < m->op->nout; i++)
            works = out[t][i].rank == out[0][i].rank && out[t][i].dtype == out[0][i].dtype;
    }
    for (int i = 0; i < m->op->nout && i < f->nout && works; i++) {
        dim_t dims[MAX_RANK];
        for (int k = 0; k < out[0][i].rank; k++)
            dims[k] = operand_dim(m, with, out, i, k);
        infer_out(f, i, out[0][i].dtype, out[0][i].rank, dims);
    }
    return known_types(m, diag_failed(&refused) ? refused.text
                                                : "its shape function gives other types or ranks for other sizes");
}

static bool shape_results(struct match *m)
{
    const struct infer *f = m->f;
    bool known = true;
    for (int i = 0; i < f->nin; i++) {
        if (f->in[i].kind != VK_TENSOR)
            continue;
        if (f->in[i].dtype == DT_NONE)
            return true;
        if (f->in[i].rank < 0)
            return known_types(m, "an operand's rank is not known");
        for (int k = 0; k < f->in[i].rank; k++)
            known &= dim_is_const(f->in[i].dims[k]);
    }
    if (!known && !(m->op->code->flags & XOP_SYMBOLIC))
        return try_shapes(m);
    struct xop_tensor *out = ARENA_ARRAY(f->arena, struct xop_tensor, m->op->nout + 1);
    if (!call_shape(m, NULL, out, f->d))
        return false;
    take_results(m, out);
    return true;
}

static bool infer_call(struct infer *f, const struct custom_operator *op)
{
    struct match m = {.f = f, .op = op, .nbatch = -1};
    m.value = ARENA_ARRAY(f->arena, dim_t, op->dims.nsymbols + 1);
    for (int s = 0; s < op->dims.nsymbols; s++)
        m.value[s] = DIM_NOT_BOUND;
    if (f->nout > op->nout)
        return fail(f->d, "%d results, expected at most %d: %s", f->nout, op->nout,
                    op->code->results);
    if (!match_operands(&m))
        return false;
    struct type *wanted = f->out;
    int nwanted = f->nout;
    f->out = ARENA_ARRAY(f->arena, struct type, op->nout + 1);
    bool ok = true;
    for (int i = 0; ok && i < op->nout; i++)
        ok = declared_result(&m, i);
    f->nout = op->nout;
    ok = ok && (!op->code->shape || shape_results(&m));
    for (int i = 0; i < nwanted; i++)
        wanted[i] = f->out[i];
    f->out = wanted;
    f->nout = nwanted;
    return ok;
}

bool infer_custom(struct infer *f)
{
    const struct custom_operator *op = custom_find(f->attrs, f->d);
    return op && (infer_call(f, op) || fail_in(f->d, "%s", op->full));
}

INFER_AS(custom_open, infer_custom)
