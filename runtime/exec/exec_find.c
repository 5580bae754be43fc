/*
 * Vector engine: the largest elements of rows, where elements are, and statistics of rows.
 */
#include "runtime/exec/separate.h"

#include <math.h>
#include <string.h>

enum { EIGHT = 8 };

/* Whether the operand has that many elements in a row. */
static bool has_elements(struct binding *b, const struct bound_insn *i, int n, int64_t elements)
{
    const struct operand *o = &i->o[n];
    return !o->mem || o->count[o->rank - 1] == elements ||
           fail(b->d, "%s: operand '%s' has %lld elements in a row, expected %lld",
                insn_info(i->op)->name, insn_info(i->op)->ap[n].name,
                (long long)o->count[o->rank - 1], (long long)elements);
}

static bool same_length(struct binding *b, const struct bound_insn *i, int n, int as)
{
    return has_elements(b, i, n, i->o[as].count[i->o[as].rank - 1]);
}

/* ---- eights ---- */

bool prepare_eight(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    if (!only_numbers(b, i, insn) || !separate_rows(b, i))
        return false;
    if (i->op == INSN_max8)
        return has_elements(b, i, AP(max8, dst), EIGHT);
    if (i->op == INSN_nc_find_index8)
        return has_elements(b, i, AP(nc_find_index8, dst), EIGHT) &&
               has_elements(b, i, AP(nc_find_index8, values), EIGHT);
    return same_length(b, i, AP(nc_match_replace8, dst), AP(nc_match_replace8, src)) &&
           has_elements(b, i, AP(nc_match_replace8, values), EIGHT) &&
           has_elements(b, i, AP(nc_match_replace8, index), EIGHT);
}

static void max8_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum { SRC = AP(max8, src) };
    const struct operand *o = &i->o[SRC];
    float best[EIGHT], buf[CHUNK];
    int64_t n = r->n[SRC], step = o->step[o->rank - 1];
    for (int k = 0; k < EIGHT; k++)
        best[k] = -INFINITY;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row x = fetch(me, o, r->p[SRC] + at * step * o->size, step, m, buf);
        for (int64_t k = 0; k < m; k++) {
            float v = x.at[k * x.step];
            if (!(v > best[EIGHT - 1]))
                continue;
            int place = EIGHT - 1;
            for (; place > 0 && v > best[place - 1]; place--)
                best[place] = best[place - 1];
            best[place] = v;
        }
    }
    for (int k = 0; k < EIGHT; k++)
        separate_store(me, i, r, AP(max8, dst), k, best[k]);
}

void exec_max8(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, max8_row);
}

/* Where v is in the row, from element `from` on; -1: nowhere. */
static int64_t find(const struct bound_insn *i, const struct separate_row *r, int operand, float v,
                    int64_t from)
{
    const struct operand *o = &i->o[operand];
    int64_t n = r->n[operand], step = o->step[o->rank - 1];
    if (o->dtype == DT_F32) {
        const float *x = (const float *)r->p[operand];
        for (int64_t k = from; k < n; k++)
            if (x[k * step] == v)
                return k;
        return -1;
    }
    for (int64_t k = from; k < n; k++)
        if (load_one(o, r->p[operand] + k * step * o->size) == v)
            return k;
    return -1;
}

static void find_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    float v[EIGHT];
    int64_t at[EIGHT];
    for (int k = 0; k < EIGHT; k++) {
        int64_t from = 0;
        v[k] = separate_load(i, r, AP(nc_find_index8, values), k);
        for (int j = 0; j < k; j++) /* the same value again: the next place */
            if (v[j] == v[k])
                from = at[j] < 0 ? r->n[AP(nc_find_index8, src)] : at[j] + 1;
        at[k] = find(i, r, AP(nc_find_index8, src), v[k], from);
    }
    for (int k = 0; k < EIGHT; k++)
        separate_store_integer(i, r, AP(nc_find_index8, dst), k, at[k]);
}

void exec_nc_find_index8(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, find_row);
}

static void replace_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum {
        DST = AP(nc_match_replace8, dst),
        SRC = AP(nc_match_replace8, src),
        VALUES = AP(nc_match_replace8, values),
        INDEX = AP(nc_match_replace8, index)
    };
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    float v[EIGHT], with = i->flt[FLT(nc_match_replace8, value)];
    int64_t at[EIGHT];
    for (int k = 0; k < EIGHT; k++) {
        v[k] = separate_load(i, r, VALUES, k);
        int64_t from = 0;
        for (int j = 0; j < k; j++) /* that place has been replaced */
            if (v[j] == v[k])
                from = at[j] < 0 ? r->n[SRC] : at[j] + 1;
        at[k] = find(i, r, SRC, v[k], from);
    }
    if (r->p[DST] != r->p[SRC] || y->dtype != x->dtype)
        convert_row(me, y, r->p[DST], y->step[y->rank - 1], x, r->p[SRC], x->step[x->rank - 1],
                    r->n[SRC]);
    for (int k = 0; k < EIGHT; k++) {
        if (at[k] >= 0)
            separate_store(me, i, r, DST, at[k], with);
        if (i->o[INDEX].mem)
            separate_store_integer(i, r, INDEX, k, at[k]);
    }
}

void exec_nc_match_replace8(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, replace_row);
}

/* ---- statistics ---- */

bool prepare_statistics(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *src = &i->o[AP(bn_aggr, src)];
    if (!only_numbers(b, i, insn) || !separate_rows(b, i))
        return false;
    if (i->op == INSN_bn_stats6)
        return has_elements(b, i, AP(bn_stats6, dst), 6);
    if (src->count[src->rank - 1] % 3)
        return fail(b->d, "bn_aggr: rows of %lld numbers, expected 3 for each set",
                    (long long)src->count[src->rank - 1]);
    return has_elements(b, i, AP(bn_aggr, dst), 2);
}

static void stats6_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum { DST = AP(bn_stats6, dst), SRC = AP(bn_stats6, src) };
    for (int part = 0; part < 2; part++) {
        double sum = 0, squares = 0;
        int64_t n = (r->n[SRC] + 1 - part) / 2;
        for (int64_t k = 0; k < n; k++)
            sum += separate_load(i, r, SRC, 2 * k + part);
        double mean = n ? sum / (double)n : 0;
        for (int64_t k = 0; k < n; k++) {
            double off = separate_load(i, r, SRC, 2 * k + part) - mean;
            squares += off * off;
        }
        separate_store(me, i, r, DST, 3 * part, (float)n);
        separate_store(me, i, r, DST, 3 * part + 1, (float)mean);
        separate_store(me, i, r, DST, 3 * part + 2, (float)squares);
    }
}

void exec_bn_stats6(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, stats6_row);
}

static void aggregate_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum { DST = AP(bn_aggr, dst), SRC = AP(bn_aggr, src) };
    double count = 0, sum = 0, squares = 0;
    int64_t sets = r->n[SRC] / 3;
    for (int64_t k = 0; k < sets; k++) {
        double n = separate_load(i, r, SRC, 3 * k);
        count += n;
        sum += n * separate_load(i, r, SRC, 3 * k + 1);
    }
    double mean = count > 0 ? sum / count : 0;
    for (int64_t k = 0; k < sets; k++) {
        double off = separate_load(i, r, SRC, 3 * k + 1) - mean;
        squares += separate_load(i, r, SRC, 3 * k + 2) +
                   (double)separate_load(i, r, SRC, 3 * k) * off * off;
    }
    separate_store(me, i, r, DST, 0, (float)mean);
    separate_store(me, i, r, DST, 1, (float)(count > 0 ? squares / count : 0));
}

void exec_bn_aggr(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, aggregate_row);
}

/* ---- sequence_bounds ---- */

bool prepare_bounds(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    return only_numbers(b, i, insn) && separate_rows(b, i) &&
           same_length(b, i, AP(sequence_bounds, starts), AP(sequence_bounds, src)) &&
           same_length(b, i, AP(sequence_bounds, ends), AP(sequence_bounds, src));
}

static void bounds_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum {
        STARTS = AP(sequence_bounds, starts),
        ENDS = AP(sequence_bounds, ends),
        SRC = AP(sequence_bounds, src)
    };
    int64_t n = r->n[SRC];
    for (int64_t k = 0, end; k < n; k = end) {
        float id = separate_load(i, r, SRC, k);
        for (end = k + 1; end < n && separate_load(i, r, SRC, end) == id;)
            end++;
        for (int64_t j = k; j < end; j++) {
            separate_store(me, i, r, STARTS, j, id == 0 ? (float)n : (float)k);
            separate_store(me, i, r, ENDS, j, id == 0 ? -1 : (float)end);
        }
    }
}

void exec_sequence_bounds(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, bounds_row);
}
