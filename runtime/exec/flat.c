/*
 * Elementwise instructions whose rows are short: operands are spread to dense rows, so that the
 * instruction runs on few long rows instead of many short ones.
 */
#include "runtime/exec/engine.h"

#include "runtime/ops/common/short_rows.h"

#include <string.h>

enum { LONG_ROW = 16, MIN_ROWS = 4, PART_ELEMENTS = 1024 };

struct flat {
    struct bound_insn insn; /* the instruction on one dense row */
    int from;               /* the dim that parts are cut along */
    int64_t part, each;     /* its indices in a part, and elements of one of them */
    bool spread[MAX_APS];   /* operands that are copied into dense rows */
    bool keep[MAX_APS];     /* which are the same in every part */
    int64_t at[MAX_APS];    /* where, in scratch memory */
};

enum { DST = AP(tensor_tensor, dst) }; /* the first operand of all that are flattened */

static bool elementwise(const struct bound_insn *i)
{
    return i->op == INSN_tensor_tensor || i->op == INSN_tensor_scalar ||
           i->op == INSN_scalar_tensor_tensor || i->op == INSN_select ||
           (i->op == INSN_activation && !i->o[AP(activation, sum)].mem);
}

struct bound_insn *flat_insn(const struct flat *f)
{
    return (struct bound_insn *)&f->insn;
}

/* Whether the elements from dim `from` on are neighbours. */
static bool dense(const struct operand *o, const struct shape *s, int from)
{
    int64_t step = 1;
    for (int d = s->rank - 1; d >= from; step *= s->count[d--])
        if (o->step[d] != step && s->count[d] != 1)
            return false;
    return true;
}

static bool one_value(const struct operand *o, const struct shape *s, int from)
{
    for (int d = from; d < s->rank; d++)
        if (o->step[d] != 0 && s->count[d] != 1)
            return false;
    return true;
}

/* Counts in force are those bound but for that of the first dim. */
static bool whole_dims(const struct shape *s)
{
    for (int c = 0; c < s->nclips; c++)
        if (s->clips[c].dim > 0)
            return false;
    for (int d = 0; d < s->rank; d++)
        if (s->count[d] <= 0)
            return false;
    return true;
}

void flatten(struct binding *b, struct bound_insn *i)
{
    const struct shape *s = &i->shape;
    int last = s->rank - 1, from = last;
    if (!elementwise(i) || i->inner || last < 1 || s->count[last] >= LONG_ROW || !whole_dims(s) ||
        !dense(&i->o[DST], s, 0))
        return;
    int64_t each = 1;
    while (from > 0 && each * s->count[from] <= PART_ELEMENTS)
        each *= s->count[from--];
    int64_t part = PART_ELEMENTS / each < s->count[from] ? PART_ELEMENTS / each : s->count[from];
    if (part * each < MIN_ROWS * s->count[last])
        return;
    struct flat *f = ARENA_NEW(b->arena, struct flat);
    f->insn = *i;
    f->from = from, f->part = part, f->each = each;
    f->insn.shape = (struct shape){.rank = 1, .count = {part * each}};
    f->insn.o = ARENA_ARRAY(b->arena, struct operand, i->nops + 1);
    int64_t room = 0;
    for (int n = 0; n < i->nops; n++) {
        struct operand *o = &f->insn.o[n];
        *o = i->o[n];
        if (!o->mem)
            continue;
        bool one = one_value(o, s, from);
        f->spread[n] = !one && !dense(o, s, from);
        f->keep[n] = o->step[from] == 0;
        f->at[n] = room;
        room += f->spread[n] ? (part * each * o->size + 63) / 64 * 64 : 0;
        o->rank = 1;
        o->step = ARENA_NEW(b->arena, int64_t);
        o->step[0] = !one;
    }
    need_scratch(b, room);
    i->flat = f;
}

/* The last two dims, whose rows are neighbours or one element each; false: they are neither, or longer. */
static bool spread_rows(char *y, const char *x, const struct operand *o, int64_t step, int64_t rows, int64_t n,
                        int64_t inner)
{
    const int64_t size = o->size, bytes = n * size;
    if (inner == 1 && bytes <= SHORT_ROW_BYTES)
        copy_short_rows(y, bytes, x, step * size, rows, (size_t)bytes);
    else if (inner == 0 && bytes <= SHORT_FILL_BYTES && size <= 8)
        fill_short_rows(y, bytes, x, step * size, rows, (size_t)bytes, (size_t)size);
    else
        return false;
    return true;
}

/* Elements of dims from `dim` on, one after the other; where they end. */
static char *spread(char *y, const char *x, const struct operand *o, int dim, int rank,
                    const int64_t *count)
{
    int64_t n = count[dim], step = o->step[dim];
    if (dim == rank - 2 && step != 0 && count[rank - 1] > 0 &&
        spread_rows(y, x, o, step, n, count[rank - 1], o->step[rank - 1]))
        return y + n * count[rank - 1] * o->size;
    if (dim < rank - 1 && step != 0) {
        for (int64_t k = 0; k < n; k++)
            y = spread(y, x + k * step * o->size, o, dim + 1, rank, count);
        return y;
    }
    if (dim == rank - 1 && o->size == 4) {
        for (int64_t k = 0; k < n; k++)
            memcpy(y + 4 * k, x + 4 * k * step, 4);
        return y + 4 * n;
    }
    if (dim == rank - 1) {
        for (int64_t k = 0; k < n; k++)
            memcpy(y + k * o->size, x + k * step * o->size, o->size);
        return y + n * o->size;
    }
    int64_t bytes = spread(y, x, o, dim + 1, rank, count) - y;
    repeat_block(y, (size_t)bytes, (size_t)(bytes * n));
    return y + bytes * n;
}

/* All of dim `from` and those after it, in parts. */
static void run_parts(struct worker *me, const struct bound_insn *i, char *const *p,
                      const int64_t *count, row_fn row)
{
    const struct flat *f = i->flat;
    int64_t now[MAX_AP_RANK];
    char *q[MAX_APS] = {0};
    memcpy(now, count, sizeof now);
    for (int64_t at = 0; at < count[f->from]; at += f->part) {
        now[f->from] = count[f->from] - at < f->part ? count[f->from] - at : f->part;
        for (int n = 0; n < i->nops; n++) {
            const struct operand *o = &i->o[n];
            if (!o->mem)
                continue;
            char *x = p[n] + at * o->step[f->from] * o->size;
            q[n] = f->spread[n] ? me->scratch + f->at[n] : x;
            if (f->spread[n] && !(f->keep[n] && at > 0))
                spread(q[n], x, o, f->from, i->shape.rank, now);
        }
        int64_t all = now[f->from] * f->each;
        row(me, &f->insn, q, &all);
    }
}

void run_flat(struct worker *me, const struct bound_insn *i, row_fn row)
{
    const struct flat *f = i->flat;
    int64_t count[MAX_AP_RANK], at[MAX_AP_RANK] = {0};
    char *p[MAX_APS];
    if (!shape_now(me, &i->shape, count))
        return;
    for (;;) {
        for (int n = 0; n < i->nops; n++) {
            if (!i->o[n].mem)
                continue;
            p[n] = operand_address(me, &i->o[n]);
            for (int d = 0; d < f->from; d++)
                p[n] += at[d] * i->o[n].step[d] * i->o[n].size;
        }
        run_parts(me, i, p, count, row);
        int d = f->from - 1;
        while (d >= 0 && ++at[d] == count[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}
