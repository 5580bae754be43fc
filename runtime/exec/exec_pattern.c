/*
 * Tiles and predicates made from indices: iota_pattern, affine_predicate, range_select.
 */
#include "runtime/exec/engine.h"

#include <math.h>
#include <string.h>

/* ---- base + sum of step * index ---- */

enum {
    DST = 0,
    SRC = AP(affine_predicate, src),
    BASE = IMM(iota_pattern, base),
    LAST_STEP = IMM(iota_pattern, step5)
};
_Static_assert(AP(iota_pattern, dst) == DST && AP(affine_predicate, dst) == DST &&
                   IMM(affine_predicate, base) == BASE && IMM(affine_predicate, step5) == LAST_STEP,
               "operands that both have");

struct predicate {
    int compare; /* enum op */
};

bool prepare_pattern(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct predicate *p = ARENA_NEW(b->arena, struct predicate);
    i->prepared = p;
    if (i->op == INSN_iota_pattern)
        return only_numbers(b, i, insn);
    p->compare = i->func[FUNC(affine_predicate, compare)];
    if (p->compare != OP_eq && p->compare != OP_ne && p->compare != OP_lt && p->compare != OP_le &&
        p->compare != OP_gt && p->compare != OP_ge)
        return fail(b->d, "affine_predicate: operator '%s' is no comparison",
                    op_name((enum op)p->compare));
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    if (x->rank != y->rank)
        return fail(b->d, "affine_predicate: dst has rank %d, src %d", y->rank, x->rank);
    for (int d = 0; d < y->rank; d++)
        if (x->count[d] != y->count[d] && x->count[d] != 1)
            return fail(b->d, "affine_predicate: src counts %lld in dim %d, dst %lld",
                        (long long)x->count[d], d, (long long)y->count[d]);
    return only_numbers(b, i, insn);
}

/* Without overflow: sums wrap. */
static inline int64_t value_at(int64_t base, int64_t step, int64_t k)
{
    return (int64_t)((uint64_t)base + (uint64_t)step * (uint64_t)k);
}

static void iota_row(const struct worker *me, const struct operand *y, char *p, int64_t base,
                     int64_t step, int64_t n)
{
    int64_t apart = y->step[y->rank - 1] * y->size;
    bool integer = !dtype_is_float(y->dtype);
    if (y->dtype == DT_I32 || y->dtype == DT_U32) {
        for (int64_t k = 0; k < n; k++) {
            int32_t v = (int32_t)value_at(base, step, k);
            memcpy(p + k * apart, &v, sizeof v);
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        int32_t v = (int32_t)value_at(base, step, k);
        if (y->dtype == DT_F32) {
            float f = (float)v;
            memcpy(p + k * apart, &f, sizeof f);
        } else if (integer) {
            dtype_store_i64(y->dtype, p + k * apart, 0, v);
        } else {
            store_one(me, y, p + k * apart, (float)v);
        }
    }
}

static bool holds(int compare, int64_t v)
{
    switch (compare) {
    case OP_eq:
        return v == 0;
    case OP_ne:
        return v != 0;
    case OP_lt:
        return v < 0;
    case OP_le:
        return v <= 0;
    case OP_gt:
        return v > 0;
    default:
        return v >= 0;
    }
}

/* Runs of elements that are all kept or all filled. */
static void predicate_row(const struct worker *me, const struct bound_insn *i, char *y, const char *x,
                          int64_t base, int64_t step, int64_t n)
{
    const struct predicate *p = i->prepared;
    const struct operand *to = &i->o[DST], *from = &i->o[SRC];
    int c = to->rank - 1;
    int64_t xs = from->count[c] == 1 ? 0 : from->step[c], ys = to->step[c];
    char fill[16];
    store_one(me, to, fill, i->flt[FLT(affine_predicate, fill)]);
    for (int64_t k = 0; k < n;) {
        bool keep = holds(p->compare, value_at(base, step, k));
        int64_t end = k + 1;
        while (end < n && holds(p->compare, value_at(base, step, end)) == keep)
            end++;
        char *at = y + k * ys * to->size;
        if (keep)
            convert_row(me, to, at, ys, from, x + k * xs * from->size, xs, end - k);
        else
            me->k->copy(at, ys * to->size, fill, 0, (size_t)(end - k), to->size);
        k = end;
    }
}

static void exec_pattern(struct worker *me, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = i->nops > SRC ? &i->o[SRC] : NULL;
    int64_t count[MAX_AP_RANK], of_src[MAX_AP_RANK], at[MAX_AP_RANK] = {0}, step[MAX_AP_RANK];
    int rank = y->rank, last = rank - 1;
    if (!counts_now(me, i, DST, count) || (x && !counts_now(me, i, SRC, of_src)))
        return;
    for (int d = 0; d < rank && x; d++) /* edges cut both */
        if (x->count[d] != 1 && of_src[d] < count[d])
            count[d] = of_src[d];
    char *to = operand_address(me, y);
    const char *from = x ? operand_address(me, x) : NULL;
    int64_t base = number_at(me, &i->imm[BASE]);
    for (int d = 0; d < rank; d++)
        step[d] = number_at(me, &i->imm[LAST_STEP - last + d]);
    for (;;) {
        int64_t v = base, there = 0, here = 0;
        for (int d = 0; d < last; d++) {
            v = value_at(v, step[d], at[d]);
            there += at[d] * y->step[d];
            here += x && x->count[d] != 1 ? at[d] * x->step[d] : 0;
        }
        if (x)
            predicate_row(me, i, to + there * y->size, from + here * x->size, v, step[last],
                          count[last]);
        else
            iota_row(me, y, to + there * y->size, v, step[last], count[last]);
        int d = last - 1;
        while (d >= 0 && ++at[d] == count[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

void exec_iota_pattern(struct worker *me, const struct bound_insn *i)
{
    exec_pattern(me, i);
}

void exec_affine_predicate(struct worker *me, const struct bound_insn *i)
{
    exec_pattern(me, i);
}

/* ---- range_select ---- */

struct pattern_range {
    struct alu f[2];
};

bool prepare_range_select(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct pattern_range *r = ARENA_NEW(b->arena, struct pattern_range);
    i->prepared = r;
    for (int n = 0; n < 2; n++)
        if (!alu_find(&r->f[n], i->func[n], false, 0, 0, b->d))
            return false;
        else if (r->f[n].kind != ALU_COMPARE)
            return fail(b->d, "range_select: operator '%s' is no comparison",
                        op_name((enum op)i->func[n]));
    return only_numbers(b, i, insn);
}

static void range_row(struct worker *me, const struct bound_insn *i, char *const *p,
                      const int64_t *count)
{
    const struct pattern_range *f = i->prepared;
    const struct operand *dst = &i->o[AP(range_select, dst)], *src = &i->o[AP(range_select, src)],
                         *reduced = &i->o[AP(range_select, reduced)];
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = dst->step[last], xs = src->step[last],
            start = number_at(me, &i->imm[IMM(range_select, start)]);
    float bound[2], x[CHUNK], y[CHUNK], index[CHUNK], largest = -INFINITY;
    uint8_t keep[CHUNK], other[CHUNK];
    for (int k = 0; k < 2; k++)
        bound[k] = load_one(&i->o[AP(range_select, bound0) + k], p[AP(range_select, bound0) + k]);
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        for (int64_t k = 0; k < m; k++)
            index[k] = (float)(start + at + k);
        struct in_row j = {index, 1};
        me->k->compare[f->f[0].index](keep, 1, j, (struct in_row){&bound[0], 0}, (size_t)m);
        me->k->compare[f->f[1].index](other, 1, j, (struct in_row){&bound[1], 0}, (size_t)m);
        for (int64_t k = 0; k < m; k++)
            keep[k] &= other[k];
        struct in_row rx = fetch(me, src, p[AP(range_select, src)] + at * xs * src->size, xs, m, x);
        me->k->select((struct out_row){y, 1}, keep, 1, rx,
                      (struct in_row){&i->flt[FLT(range_select, fill)], 0}, (size_t)m);
        if (reduced->mem)
            largest = fmaxf(largest, me->k->reduce[REDUCE_max]((struct in_row){y, 1}, (size_t)m));
        store_row(me, dst, p[AP(range_select, dst)] + at * ys * dst->size, ys, y, m);
    }
    if (reduced->mem)
        store_one(me, reduced, p[AP(range_select, reduced)], largest);
}

void exec_range_select(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, range_row);
}
