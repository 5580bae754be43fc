/*
 * Vector engine: what is asked for rarely, element by element: reductions by any function of two
 * operands, and choices by predicates of any type.
 */
#include "runtime/exec/engine.h"

#include "runtime/ops/common/elementwise.h"

/* ---- tensor_reduce by functions that no kernel reduces by ---- */

enum { DST = AP(tensor_reduce, dst), SRC = AP(tensor_reduce, src) };

struct general {
    enum op op;
    bool integers;
};

bool prepare_general_reduce(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct general *g = ARENA_NEW(b->arena, struct general);
    enum op op = (enum op)i->func[FUNC(tensor_reduce, op)];
    i->prepared = g;
    i->run = exec_general_reduce;
    g->op = op;
    const struct ew_row *row = ew_row(op);
    if (!row || row->form != EW_BINARY)
        return fail(b->d, "tensor_reduce: operator '%s' is no reduction", op_name(op));
    g->integers = !dtype_is_float(i->o[SRC].dtype) && !dtype_is_float(i->o[DST].dtype);
    if (!(g->integers ? (void *)row->sn : (void *)row->f))
        return fail(b->d, "tensor_reduce: operator '%s' does not reduce %s", op_name(op),
                    dtype_name(i->o[SRC].dtype));
    if (g->integers && i->flt[FLT(tensor_reduce, scale)] != 1)
        return fail(b->d, "tensor_reduce: integers have no scale but 1");
    return only_numbers(b, i, insn);
}

/* What was reduced so far; nothing before the first element. */
struct so_far {
    double f;
    int64_t n;
    bool some;
};

static void take(const struct bound_insn *i, struct so_far *s, double f, int64_t n)
{
    const struct general *g = i->prepared;
    const struct ew_row *row = ew_row(g->op);
    struct so_far x = {f, n, true};
    if (s->some && !g->integers) {
        x.f = (float)row->f(s->f, f, 0, 0);
    } else if (s->some && dtype_class(i->o[SRC].dtype) == DTC_SINT) {
        row->sn(&s->n, &n, &x.n, 1);
    } else if (s->some) {
        uint64_t a = (uint64_t)s->n, b = (uint64_t)n, z;
        row->un(&a, &b, &z, 1);
        x.n = (int64_t)z;
    }
    *s = x;
}

static void take_dims(const struct bound_insn *i, struct so_far *s, const char *p, int dim,
                      const int64_t *count)
{
    const struct general *g = i->prepared;
    const struct operand *o = &i->o[SRC];
    for (int64_t k = 0; k < count[dim]; k++) {
        const char *x = p + k * o->step[dim] * o->size;
        if (dim < i->shape.rank - 1)
            take_dims(i, s, x, dim + 1, count);
        else if (g->integers)
            take(i, s, 0, dtype_load_i64(o->dtype, x, 0));
        else
            take(i, s, load_one(o, x), 0);
    }
}

static void reduce_row(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct general *g = i->prepared;
    const struct operand *dst = &i->o[DST];
    struct so_far s = {0};
    bool more = number_at(me, &i->imm[IMM(tensor_reduce, accumulate)]) != 0;
    if (g->integers) {
        if (more)
            take(i, &s, 0, dtype_load_i64(dst->dtype, p[DST], 0));
        take_dims(i, &s, p[SRC], i->shape.rank - i->inner, count);
        dtype_store_i64(dst->dtype, p[DST], 0, s.n);
        return;
    }
    take_dims(i, &s, p[SRC], i->shape.rank - i->inner, count);
    s.f *= i->flt[FLT(tensor_reduce, scale)];
    if (more)
        take(i, &s, load_one(dst, p[DST]), 0);
    store_one(me, dst, p[DST], (float)s.f);
}

void exec_general_reduce(struct worker *me, const struct bound_insn *i)
{
    int64_t count[MAX_AP_RANK];
    if (shape_now(me, &i->shape, count))
        for_each_row(me, i, count, i->shape.rank - i->inner, reduce_row);
}

/* ---- select by predicates that are no bytes ---- */

enum {
    TO = AP(select, dst),
    PREDICATE = AP(select, predicate),
    YES = AP(select, a),
    NO = AP(select, b)
};

static bool holds(const struct operand *o, const char *p)
{
    return dtype_is_float(o->dtype) ? load_one(o, p) != 0 : dtype_load_i64(o->dtype, p, 0) != 0;
}

/* Runs of elements from one side. */
static void choose_wide(struct worker *me, const struct bound_insn *i, char *const *p,
                        const int64_t *count)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    const char *which = p[PREDICATE];
    int64_t n = count[last], apart = o[PREDICATE].step[last] * o[PREDICATE].size;
    for (int64_t k = 0, end; k < n; k = end) {
        bool yes = holds(&o[PREDICATE], which + k * apart);
        for (end = k + 1; end < n && holds(&o[PREDICATE], which + end * apart) == yes;)
            end++;
        int from = yes ? YES : NO;
        int64_t ys = o[TO].step[last], xs = o[from].step[last];
        convert_row(me, &o[TO], p[TO] + k * ys * o[TO].size, ys, &o[from],
                    p[from] + k * xs * o[from].size, xs, end - k);
    }
}

void exec_wide_select(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, choose_wide);
}

bool prepare_select(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *which = &i->o[PREDICATE];
    if (which->size != 1 || dtype_is_float(which->dtype))
        i->run = exec_wide_select;
    return only_numbers(b, i, insn);
}
