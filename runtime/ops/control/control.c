#include "runtime/ops/common/ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

enum { MAX_VALUES = 256 };

static bool is_optional_of(const struct type *a, const struct type *b)
{
    return a->kind == VK_OPTIONAL && b->kind != VK_OPTIONAL &&
           (!a->elem || a->elem->kind == b->kind);
}

/*
 * What holds for a value that is of type a or of type b: dims that differ are not known. What is
 * optional on one side is optional.
 */
static bool join(struct infer *f, int i, const struct type *a, const struct type *b,
                 bool fresh_dims, struct type *out)
{
    *out = *a;
    if (is_optional_of(a, b) || is_optional_of(b, a)) {
        *out = a->kind == VK_OPTIONAL ? *a : *b;
        return true;
    }
    if (a->kind != b->kind || (a->kind == VK_TENSOR && a->dtype != b->dtype))
        return fail(f->d, "value %d of %s has one type in one place and another type in another", i,
                    op_name(f->op));
    if (type_equal(a, b))
        return true;
    if (a->kind != VK_TENSOR) {
        if (!a->elem && b->elem)
            *out = *b;
        if (a->elem && b->elem) {
            struct type elem;
            if (!join(f, i, a->elem, b->elem, false, &elem))
                return false;
            *out = type_container(a->kind, arena_copy(f->arena, &elem, sizeof elem));
        }
        return true;
    }
    if (a->rank != b->rank || !fresh_dims) {
        *out = type_tensor(a->dtype, RANK_UNKNOWN, NULL);
        return true;
    }
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k])
            out->dims[k] = infer_unknown(f, op_name(f->op));
    return true;
}

bool infer_return(struct infer *f)
{
    return true;
}

/* While running, the region gives its results their shapes. */
bool infer_fused(struct infer *f)
{
    int n;
    if (f->concrete)
        return true;
    return f->region(f, 0, f->in, f->nin, f->out, f->nout, &n) &&
           (n == f->nout || fail(f->d, "the region has %d results, expected %d", n, f->nout));
}

bool infer_if(struct infer *f)
{
    struct type other[MAX_VALUES];
    int n, m;
    if (f->concrete)
        return true;
    if (f->nregions != 2 || f->nout > MAX_VALUES)
        return fail(f->d, "if has %d regions and %d results, expected 2 and at most %d",
                    f->nregions, f->nout, MAX_VALUES);
    if (!f->region(f, 0, NULL, 0, f->out, f->nout, &n) ||
        !f->region(f, 1, NULL, 0, other, MAX_VALUES, &m))
        return false;
    if (n != f->nout || m != f->nout)
        return fail(f->d, "the branches of if have %d and %d results, expected %d", n, m, f->nout);
    for (int i = 0; i < n; i++)
        if (!join(f, i, &f->out[i], &other[i], true, &f->out[i]))
            return false;
    return true;
}

/* Values carried around a loop, as parameters of the region that computes them anew. */
struct carried {
    int region, param, result, n; /* from which parameter and from which result on */
    bool turns[MAX_VALUES];       /* has dims that differ from turn to turn */
    bool varying[MAX_VALUES][MAX_RANK];
};

/* A tensor that keeps its rank: dims that change get symbols, which each turn binds. */
static bool widen_dims(struct infer *f, struct carried *c, int i, struct type *param,
                       const struct type *result)
{
    bool changed = false;
    for (int k = 0; k < param->rank; k++) {
        if (param->dims[k] == result->dims[k] || c->varying[i][k])
            continue;
        param->dims[k] = f->varying(f, c->region, c->param + i, k, param->dims[k]);
        c->turns[i] = c->varying[i][k] = changed = true;
    }
    return changed;
}

/* Parameters against the results of a turn. Whether a parameter changed: the region is to be
 * inferred again then. */
static bool widen(struct infer *f, struct carried *c, struct type *params,
                  const struct type *results, bool *changed)
{
    *changed = false;
    for (int i = 0; i < c->n; i++) {
        struct type t, *param = &params[c->param + i];
        const struct type *result = &results[c->result + i];
        if (f->varying && param->kind == VK_TENSOR && result->kind == VK_TENSOR &&
            param->dtype == result->dtype && param->rank == result->rank && param->rank >= 0) {
            *changed |= widen_dims(f, c, i, param, result);
            continue;
        }
        if (!join(f, i, param, result, false, &t))
            return false;
        *changed |= !type_equal(&t, param);
        *param = t;
        c->turns[i] = false;
    }
    return true;
}

/* Infers region r until the carried types stand still: they only lose knowledge, so few turns
 * suffice. */
static bool infer_carried(struct infer *f, struct carried *c, struct type *params, int nparams,
                          struct type *results, int expected)
{
    for (int turn = 0; turn < 2 + MAX_VALUES; turn++) {
        bool changed;
        int n;
        if (!f->region(f, c->region, params, nparams, results, MAX_VALUES, &n))
            return false;
        if (n != expected)
            return fail(f->d, "region %d of %s has %d results, expected %d", c->region,
                        op_name(f->op), n, expected);
        if (!widen(f, c, params, results, &changed))
            return false;
        if (!changed)
            return true;
    }
    return fail_internal(f->d, "types of %s do not settle", op_name(f->op));
}

/* What the last turn leaves: its dims are those of no parameter. */
static void infer_left(struct infer *f, const struct carried *c, const struct type *params)
{
    for (int i = 0; i < c->n; i++) {
        f->out[i] = params[c->param + i];
        for (int k = 0; c->turns[i] && k < f->out[i].rank; k++)
            if (c->varying[i][k])
                f->out[i].dims[k] = infer_unknown(f, "last");
    }
}

/* One turn's dim as all turns have it: what a symbol of the turn decides is not known outside. */
static dim_t outside(struct infer *f, const struct carried *c, const struct type *params, dim_t d)
{
    if (dim_is_const(d))
        return d;
    dim_t *with = ARENA_ARRAY(f->arena, dim_t, f->dims->nsymbols + 1);
    bool any = false;
    for (int i = 0; i < f->dims->nsymbols; i++)
        with[i] = DIM_NOT_BOUND;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; c->turns[i] && k < params[c->param + i].rank; k++) {
            int symbol = dim_as_symbol(f->dims, params[c->param + i].dims[k]);
            if (c->varying[i][k] && symbol >= 0)
                with[symbol] = 1, any = true;
        }
    return any && dim_substitute(f->dims, d, with) != d ? infer_unknown(f, "each") : d;
}

static void leave_turn(struct infer *f, const struct carried *c, const struct type *params,
                       struct type *t)
{
    for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++)
        t->dims[k] = outside(f, c, params, t->dims[k]);
}

/* t with a dim put in at the axis. */
static struct type stacked(const struct type *t, int64_t axis, dim_t length)
{
    struct type s = *t;
    if (t->kind != VK_TENSOR || t->rank == RANK_UNKNOWN || t->rank >= MAX_RANK)
        return type_tensor(t->dtype, RANK_UNKNOWN, NULL);
    axis += axis < 0 ? t->rank + 1 : 0;
    if (axis < 0 || axis > t->rank)
        axis = 0;
    memmove(s.dims + axis + 1, s.dims + axis, (size_t)(t->rank - axis) * sizeof *s.dims);
    s.dims[axis] = length;
    s.rank++;
    return s;
}

bool infer_loop(struct infer *f)
{
    struct type params[MAX_VALUES], results[MAX_VALUES];
    int carried = f->nin - 2, scans = f->nout - carried;
    if (f->concrete)
        return true;
    if (f->nregions != 1 || scans < 0 || f->nout + 1 > MAX_VALUES)
        return fail(f->d, "loop has %d carried values and %d results", carried, f->nout);
    params[0] = type_tensor(DT_I64, 0, NULL);
    params[1] = type_tensor(DT_BOOL, 0, NULL);
    for (int i = 0; i < carried; i++)
        params[2 + i] = f->in[2 + i];
    struct carried c = {.region = 0, .param = 2, .result = 1, .n = carried};
    if (!infer_carried(f, &c, params, f->nin, results, f->nout + 1))
        return false;
    infer_left(f, &c, params);
    dim_t trips = scans ? infer_unknown(f, "trips") : 0;
    for (int i = carried; i < f->nout; i++) {
        leave_turn(f, &c, params, &results[1 + i]);
        f->out[i] = stacked(&results[1 + i], 0, trips);
    }
    return true;
}

bool infer_while(struct infer *f)
{
    struct type params[MAX_VALUES], results[MAX_VALUES];
    if (f->concrete)
        return true;
    if (f->nregions != 2 || f->nin != f->nout || f->nin > MAX_VALUES)
        return fail(f->d, "while has %d operands, %d results and %d regions", f->nin, f->nout,
                    f->nregions);
    for (int i = 0; i < f->nin; i++)
        params[i] = f->in[i];
    int n;
    struct carried c = {.region = 1, .n = f->nin};
    if (!infer_carried(f, &c, params, f->nin, results, f->nin) ||
        !f->region(f, 0, params, f->nin, results, MAX_VALUES, &n))
        return false;
    infer_left(f, &c, params);
    return true;
}

static int64_t list_at(const struct attrs *as, const char *name, int i)
{
    int n;
    const int64_t *v = attr_ints(as, name, &n);
    return v && i < n ? v[i] : 0;
}

/* Type of one step of a scanned input, and the number of steps. */
static bool scan_step(struct infer *f, const struct type *in, int64_t axis, struct type *step,
                      dim_t *length)
{
    int at;
    *step = *in;
    if (in->rank == RANK_UNKNOWN)
        return true;
    if (!infer_axis(f, axis, in->rank, &at))
        return false;
    if (*length < 0 || !dim_is_const(*length))
        *length = in->dims[at];
    step->rank--;
    memmove(step->dims + at, step->dims + at + 1, (size_t)(step->rank - at) * sizeof *step->dims);
    return true;
}

bool infer_scan(struct infer *f)
{
    struct type params[MAX_VALUES], results[MAX_VALUES];
    int64_t given = attr_int(f->attrs, "num_scan_inputs", 1);
    dim_t length = -1;
    if (f->concrete)
        return true;
    if (f->nregions != 1 || given < 1 || given > f->nin || f->nout < f->nin - given || f->nin > MAX_VALUES ||
        f->nout > MAX_VALUES)
        return fail(f->d, "scan has %d operands, %lld of them scanned, and %d results", f->nin, (long long)given,
                    f->nout);
    int inputs = (int)given, states = f->nin - inputs;
    for (int i = 0; i < states; i++)
        params[i] = f->in[i];
    for (int i = 0; i < inputs; i++)
        if (!scan_step(f, &f->in[states + i], list_at(f->attrs, "scan_input_axes", i),
                       &params[states + i], &length))
            return false;
    struct carried c = {.region = 0, .n = states};
    if (!infer_carried(f, &c, params, f->nin, results, f->nout))
        return false;
    infer_left(f, &c, params);
    if (dim_is_const(length) && length < 0 && f->nout > states)
        length = infer_unknown(f, "steps");
    for (int i = states; i < f->nout; i++) {
        leave_turn(f, &c, params, &results[i]);
        f->out[i] = stacked(&results[i], list_at(f->attrs, "scan_output_axes", i - states), length);
    }
    return true;
}

/* ---- running regions ---- */

bool eval_return(struct op_call *c)
{
    return true;
}

/* An operand as a region's argument: tensors by view, containers copied. */
static bool lend(struct op_call *c, const struct tensor *t, struct tensor *arg)
{
    if (t->kind != VK_TENSOR) {
        *arg = (struct tensor){.kind = VK_NONE};
        return t->kind == VK_NONE || tensor_copy(arg, t, c->env->d);
    }
    *arg = tensor_view(t->dtype, t->rank, t->dims, t->data);
    return true;
}

/* Makes a region's result our own, whatever it was a view of. */
static bool keep(struct op_call *c, struct tensor *t)
{
    if (t->kind != VK_TENSOR || t->owned)
        return true;
    struct tensor own = {.kind = VK_NONE};
    if (!tensor_copy(&own, t, c->env->d))
        return false;
    tensor_move(t, &own);
    return true;
}

static void free_all(struct tensor *t, int n)
{
    for (int i = 0; i < n; i++)
        tensor_free(&t[i]);
}

static bool run(struct op_call *c, int region, struct tensor *args, int nargs,
                struct tensor *results, int nresults)
{
    for (int i = 0; i < nresults; i++)
        results[i] = (struct tensor){.kind = VK_NONE};
    if (!c->env->run_region)
        return fail_internal(c->env->d, "nothing here runs regions");
    bool ok = c->env->run_region(c->env, c, region, args, nargs, results, nresults);
    for (int i = 0; ok && i < nresults; i++)
        ok = keep(c, &results[i]);
    if (!ok)
        free_all(results, nresults);
    return ok;
}

static bool has_room(struct op_call *c, int n)
{
    return n <= MAX_VALUES || fail(c->env->d, "%d values, expected at most %d", n, MAX_VALUES);
}

static void give(struct op_call *c, int i, struct tensor *t)
{
    if (wants_result(c, i))
        tensor_move(c->out[i], t);
    else
        tensor_free(t);
}

static bool read_condition(struct op_call *c, const struct tensor *t, bool *value)
{
    if (t->kind != VK_TENSOR || t->dtype != DT_BOOL || tensor_count(t) != 1)
        return fail(c->env->d, "the condition of %s is not one boolean", op_name(c->op));
    *value = tensor_i64(t, 0) != 0;
    return true;
}

bool eval_fused(struct op_call *c)
{
    struct tensor args[MAX_VALUES], results[MAX_VALUES];
    if (!has_room(c, c->nin) || !has_room(c, c->nout))
        return false;
    for (int i = 0; i < c->nin; i++)
        if (!lend(c, c->in[i], &args[i]))
            return false;
    if (!run(c, 0, args, c->nin, results, c->nout))
        return false;
    for (int i = 0; i < c->nout; i++)
        give(c, i, &results[i]);
    return true;
}

bool eval_if(struct op_call *c)
{
    struct tensor results[MAX_VALUES];
    bool condition;
    if (!has_room(c, c->nout) || !read_condition(c, c->in[0], &condition) ||
        !run(c, !condition, NULL, 0, results, c->nout))
        return false;
    for (int i = 0; i < c->nout; i++)
        give(c, i, &results[i]);
    return true;
}

/* ---- values gathered step by step ---- */

struct pile {
    struct tensor *items;
    int64_t n, cap;
};

static bool pile_add(struct op_call *c, struct pile *p, struct tensor *t)
{
    int64_t all[] = {p->n + 1, t->kind == VK_TENSOR ? (int64_t)tensor_bytes(t) : 0};
    if (!call_may_take(c, DT_U8, 2, all))
        return false;
    if (p->n == p->cap) {
        int64_t cap = p->cap ? p->cap * 2 : 8;
        struct tensor *grown = realloc(p->items, (size_t)cap * sizeof *grown);
        if (!grown)
            return fail_memory(c->env->d, "out of memory: no room for %lld scan results", (long long)cap);
        p->items = grown;
        p->cap = cap;
    }
    if (t->kind != VK_TENSOR ||
        (p->n && (t->dtype != p->items[0].dtype || t->rank != p->items[0].rank ||
                  memcmp(t->dims, p->items[0].dims, (size_t)t->rank * sizeof *t->dims))))
        return fail(c->env->d, "scan results differ in type or shape from step to step");
    p->items[p->n] = (struct tensor){.kind = VK_NONE};
    tensor_move(&p->items[p->n++], t);
    return true;
}

static void pile_free(struct pile *p)
{
    for (int64_t i = 0; i < p->n; i++)
        tensor_free(&p->items[i]);
    free(p->items);
}

/* Types of the parameters of a body's first turn. */
static int first_params(const struct op_call *c, struct type *params)
{
    int n = 0, inputs = c->op == OP_scan ? (int)attr_int(c->attrs, "num_scan_inputs", 1) : 0;
    if (c->op == OP_loop) {
        params[n++] = type_tensor(DT_I64, 0, NULL);
        params[n++] = type_tensor(DT_BOOL, 0, NULL);
    }
    for (int i = n; i < c->nin; i++, n++) {
        const struct tensor *t = c->in[i];
        params[n] = t->kind == VK_TENSOR ? type_tensor(t->dtype, t->rank, t->dims) : (struct type){.kind = t->kind};
        int scanned = i - (c->nin - inputs);
        if (scanned < 0)
            continue;
        int64_t axis = list_at(c->attrs, "scan_input_axes", scanned);
        axis += axis < 0 ? t->rank : 0;
        memmove(params[n].dims + axis, params[n].dims + axis + 1,
                (size_t)(t->rank - axis - 1) * sizeof *params[n].dims);
        params[n].rank--;
    }
    return n;
}

/* Result i without a single turn: what the first one would give, stacked, with 0 for what is not known. */
static bool give_empty(struct op_call *c, int i, int64_t axis)
{
    struct type params[MAX_VALUES], t = {.kind = VK_NONE};
    int64_t nothing = 0;
    int n = first_params(c, params);
    if (c->env->result_type)
        c->env->result_type(c->env, c, 0, params, n, c->op == OP_loop ? i + 1 : i, &t);
    if (t.kind != VK_TENSOR)
        return call_out(c, i, DT_F32, 1, &nothing) != NULL;
    t = stacked(&t, axis, 0);
    return t.rank < 0 ? call_out(c, i, t.dtype, 1, &nothing) != NULL : call_out(c, i, t.dtype, t.rank, t.dims) != NULL;
}

/* Result i = the items stacked along a new axis, last first with `reverse`. */
static bool give_stack(struct op_call *c, int i, const struct pile *p, int64_t axis, bool reverse)
{
    if (!wants_result(c, i))
        return true;
    if (p->n == 0)
        return give_empty(c, i, axis);
    const struct tensor *first = &p->items[0];
    int64_t dims[MAX_RANK];
    int rank = first->rank + 1;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || rank > MAX_RANK)
        return fail(c->env->d, "scan output axis %lld is out of range for rank %d", (long long)axis,
                    rank);
    memcpy(dims, first->dims, (size_t)axis * sizeof *dims);
    dims[axis] = p->n;
    memcpy(dims + axis + 1, first->dims + axis, (size_t)(first->rank - axis) * sizeof *dims);
    struct tensor *y = call_out(c, i, first->dtype, rank, dims);
    if (!y)
        return false;
    int64_t outer = dims_product(dims, 0, (int)axis);
    size_t run_bytes = (size_t)dims_product(dims, (int)axis + 1, rank) * dtype_bytes(first->dtype);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t s = 0; s < p->n; s++) {
            const struct tensor *item = &p->items[reverse ? p->n - 1 - s : s];
            memcpy((char *)y->data + (size_t)(o * p->n + s) * run_bytes,
                   (const char *)item->data + (size_t)o * run_bytes, run_bytes);
        }
    return own_strings(c, i);
}

/* ---- loop ---- */

struct loop {
    struct tensor carried[MAX_VALUES], results[MAX_VALUES];
    struct pile scans[MAX_VALUES];
    int ncarried, nscans;
};

static bool loop_turn(struct op_call *c, struct loop *l, int64_t turn, bool *condition)
{
    struct tensor args[MAX_VALUES];
    int n = l->ncarried, nresults = 1 + n + l->nscans;
    bool ok = true;
    for (int i = 0; i < 2; i++)
        args[i] = (struct tensor){.kind = VK_NONE};
    ok = tensor_alloc(&args[0], DT_I64, 0, NULL, c->env->d) &&
         tensor_alloc(&args[1], DT_BOOL, 0, NULL, c->env->d);
    if (!ok) {
        free_all(args, 2);
        return false;
    }
    dtype_store_i64(DT_I64, args[0].data, 0, turn);
    dtype_store_i64(DT_BOOL, args[1].data, 0, *condition);
    memcpy(args + 2, l->carried, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++)
        l->carried[i] = (struct tensor){.kind = VK_NONE};
    if (!run(c, 0, args, 2 + n, l->results, nresults))
        return false;
    ok = read_condition(c, &l->results[0], condition);
    memcpy(l->carried, l->results + 1, (size_t)n * sizeof *args);
    for (int i = 0; i < l->nscans; i++) {
        ok = ok && pile_add(c, &l->scans[i], &l->results[1 + n + i]);
        tensor_free(&l->results[1 + n + i]);
    }
    tensor_free(&l->results[0]);
    return ok;
}

static bool loop(struct op_call *c, struct loop *l)
{
    int64_t trips = INT64_MAX;
    bool condition = true;
    if (has_operand(c, 0) && tensor_count(c->in[0]) != 1)
        return fail(c->env->d, "the trip count of loop has %lld elements, expected 1",
                    (long long)tensor_count(c->in[0]));
    if (has_operand(c, 0))
        trips = tensor_i64(c->in[0], 0);
    if (has_operand(c, 1) && !read_condition(c, c->in[1], &condition))
        return false;
    for (int i = 0; i < l->ncarried; i++)
        if (!lend(c, c->in[2 + i], &l->carried[i]))
            return false;
    for (int64_t turn = 0; condition && turn < trips; turn++)
        if (!loop_turn(c, l, turn, &condition))
            return fail_in(c->env->d, "turn %lld", (long long)turn);
    for (int i = 0; i < l->ncarried; i++) {
        if (!keep(c, &l->carried[i]))
            return false;
        give(c, i, &l->carried[i]);
    }
    for (int i = 0; i < l->nscans; i++)
        if (!give_stack(c, l->ncarried + i, &l->scans[i], 0, false))
            return false;
    return true;
}

static void loop_free(struct loop *l)
{
    free_all(l->carried, l->ncarried);
    for (int i = 0; i < l->nscans; i++)
        pile_free(&l->scans[i]);
    free(l);
}

static struct loop *loop_new(struct op_call *c, int ncarried, int nscans)
{
    if (!has_room(c, c->nin) || !has_room(c, c->nout + 1))
        return NULL;
    if (ncarried < 0 || nscans < 0) {
        fail(c->env->d, "%s has %d operands but %d results", op_name(c->op), c->nin, c->nout);
        return NULL;
    }
    struct loop *l = calloc(1, sizeof *l);
    if (!l) {
        fail_memory(c->env->d, "out of memory");
        return NULL;
    }
    l->ncarried = ncarried;
    l->nscans = nscans;
    for (int i = 0; i < ncarried; i++)
        l->carried[i].kind = VK_NONE;
    return l;
}

bool eval_loop(struct op_call *c)
{
    struct loop *l = loop_new(c, c->nin - 2, c->nout - (c->nin - 2));
    if (!l)
        return false;
    bool ok = loop(c, l);
    loop_free(l);
    return ok;
}

/* ---- while ---- */

static bool while_turn(struct op_call *c, struct loop *l, bool *again)
{
    struct tensor args[MAX_VALUES];
    for (int i = 0; i < l->ncarried; i++)
        if (!lend(c, &l->carried[i], &args[i]))
            return false;
    if (!run(c, 0, args, l->ncarried, l->results, 1))
        return false;
    bool ok = read_condition(c, &l->results[0], again);
    tensor_free(&l->results[0]);
    if (!ok || !*again)
        return ok;
    memcpy(args, l->carried, (size_t)l->ncarried * sizeof *args);
    for (int i = 0; i < l->ncarried; i++)
        l->carried[i] = (struct tensor){.kind = VK_NONE};
    return run(c, 1, args, l->ncarried, l->carried, l->ncarried);
}

bool eval_while(struct op_call *c)
{
    struct loop *l = loop_new(c, c->nin, c->nout - c->nin);
    if (!l)
        return false;
    bool ok = true, again = true;
    for (int i = 0; ok && i < l->ncarried; i++)
        ok = lend(c, c->in[i], &l->carried[i]);
    for (int64_t turn = 0; ok && again; turn++)
        ok = while_turn(c, l, &again) || fail_in(c->env->d, "turn %lld", (long long)turn);
    for (int i = 0; ok && i < l->ncarried; i++) {
        ok = keep(c, &l->carried[i]);
        if (ok)
            give(c, i, &l->carried[i]);
    }
    loop_free(l);
    return ok;
}

/* ---- scan ---- */

/* Place `at` of t along the axis, as a tensor of its own. */
static bool take_step(struct op_call *c, const struct tensor *t, int64_t axis, int64_t at,
                      struct tensor *step)
{
    int64_t dims[MAX_RANK], outer = dims_product(t->dims, 0, (int)axis), length = t->dims[axis];
    size_t bytes = (size_t)dims_product(t->dims, (int)axis + 1, t->rank) * dtype_bytes(t->dtype);
    memcpy(dims, t->dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis, t->dims + axis + 1, (size_t)(t->rank - axis - 1) * sizeof *dims);
    *step = (struct tensor){.kind = VK_NONE};
    if (outer == 1) {
        *step = tensor_view(t->dtype, t->rank - 1, dims, (char *)t->data + (size_t)at * bytes);
        return true;
    }
    if (!tensor_alloc_dirty(step, t->dtype, t->rank - 1, dims, c->env->d))
        return false;
    for (int64_t o = 0; o < outer; o++)
        memcpy((char *)step->data + (size_t)o * bytes,
               (const char *)t->data + (size_t)(o * length + at) * bytes, bytes);
    return t->dtype != DT_STR || tensor_set_strings(step, step->rank, dims, step->data, c->env->d);
}

static bool scan_turn(struct op_call *c, struct loop *l, const int64_t *axes, int64_t turn,
                      int64_t turns)
{
    struct tensor args[MAX_VALUES];
    int n = l->ncarried, inputs = c->nin - n;
    for (int i = 0; i < inputs; i++) {
        bool back = list_at(c->attrs, "scan_input_directions", i) != 0;
        if (!take_step(c, c->in[n + i], axes[i], back ? turns - 1 - turn : turn, &args[n + i])) {
            free_all(args + n, i);
            return false;
        }
    }
    memcpy(args, l->carried, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++)
        l->carried[i] = (struct tensor){.kind = VK_NONE};
    if (!run(c, 0, args, c->nin, l->results, c->nout))
        return false;
    memcpy(l->carried, l->results, (size_t)n * sizeof *args);
    bool ok = true;
    for (int i = 0; i < l->nscans; i++) {
        ok = ok && pile_add(c, &l->scans[i], &l->results[n + i]);
        tensor_free(&l->results[n + i]);
    }
    return ok;
}

static bool scan(struct op_call *c, struct loop *l)
{
    int n = l->ncarried, inputs = c->nin - n;
    int64_t turns = -1, axes[MAX_VALUES];
    for (int i = 0; i < inputs; i++) {
        const struct tensor *t = c->in[n + i];
        axes[i] = list_at(c->attrs, "scan_input_axes", i);
        axes[i] += axes[i] < 0 ? t->rank : 0;
        if (t->kind != VK_TENSOR || axes[i] < 0 || axes[i] >= t->rank)
            return fail(c->env->d, "scan input axis %lld is out of range", (long long)axes[i]);
        if (turns >= 0 && t->dims[axes[i]] != turns)
            return fail(c->env->d, "scanned inputs have %lld and %lld steps, expected the same",
                        (long long)turns, (long long)t->dims[axes[i]]);
        turns = t->dims[axes[i]];
    }
    for (int i = 0; i < n; i++)
        if (!lend(c, c->in[i], &l->carried[i]))
            return false;
    for (int64_t turn = 0; turn < turns; turn++)
        if (!scan_turn(c, l, axes, turn, turns))
            return fail_in(c->env->d, "turn %lld", (long long)turn);
    for (int i = 0; i < n; i++) {
        if (!keep(c, &l->carried[i]))
            return false;
        give(c, i, &l->carried[i]);
    }
    for (int i = 0; i < l->nscans; i++)
        if (!give_stack(c, n + i, &l->scans[i], list_at(c->attrs, "scan_output_axes", i),
                        list_at(c->attrs, "scan_output_directions", i) != 0))
            return false;
    return true;
}

bool eval_scan(struct op_call *c)
{
    int64_t inputs = attr_int(c->attrs, "num_scan_inputs", 1);
    if (inputs < 1 || inputs > c->nin)
        return fail(c->env->d, "num_scan_inputs is %lld, expected 1 to %d", (long long)inputs,
                    c->nin);
    int states = c->nin - (int)inputs;
    struct loop *l = loop_new(c, states, c->nout - states);
    if (!l)
        return false;
    bool ok = scan(c, l);
    loop_free(l);
    return ok;
}
