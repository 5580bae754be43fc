/*
 * Linked code of a loop: what a trip carries is computed where it is carried to, if nothing reads
 * what lies there in between; the test and the jump back are one operation where both are short.
 */
#include "runtime/exec/quick.h"

struct loop_range {
    const char *at;
    int64_t bytes;
};

static struct loop_range range_of(const struct quick_region *q, int i, int operand)
{
    return (struct loop_range){q->code[i].p[operand], q->list[i].bytes[operand]};
}

static bool meet(struct loop_range x, struct loop_range y)
{
    return x.bytes > 0 && y.bytes > 0 && x.at && y.at && x.at < y.at + y.bytes &&
           y.at < x.at + x.bytes;
}

static bool same(struct loop_range x, struct loop_range y)
{
    return x.at == y.at && x.bytes == y.bytes;
}

static bool inside(struct loop_range x, struct loop_range y)
{
    return x.at >= y.at && x.at + x.bytes <= y.at + y.bytes;
}

static bool reads(const struct quick_region *q, int i, struct loop_range r)
{
    for (int n = QUICK_A; n < QUICK_OPERANDS; n++)
        if (meet(range_of(q, i, n), r))
            return true;
    return false;
}

/* The only operation of the trip that writes there, all of it; -1. */
static int writer(const struct quick_region *q, struct loop_range r, int before)
{
    int found = -1;
    for (int i = q->body; i < q->test; i++) {
        struct loop_range to = range_of(q, i, QUICK_TO);
        if (!meet(to, r))
            continue;
        if (found >= 0 || i >= before || !same(to, r))
            return -1;
        found = i;
    }
    return found;
}

/* The move's source can be computed at its target: by then the old value has been read, and element
 * by element at the latest. */
static bool can_stand(const struct quick_region *q, int move, int at, struct loop_range from,
                      struct loop_range to)
{
    for (int i = q->body; i < q->test; i++) {
        if (i == move)
            continue;
        if (meet(range_of(q, i, QUICK_TO), to) || (i <= at && reads(q, i, from)) ||
            (i > at && reads(q, i, to)))
            return false;
        for (int n = QUICK_A; n < QUICK_OPERANDS; n++) {
            struct loop_range r = range_of(q, i, n);
            if (i == at ? meet(r, to) && !same(r, to) : meet(r, from) && !inside(r, from))
                return false;
        }
    }
    for (int i = q->test; i < q->count; i++)
        if (reads(q, i, from) || meet(range_of(q, i, QUICK_TO), to))
            return false;
    return true;
}

static bool is_window(const struct quick_op *op)
{
    return op->code == QUICK_row && op->row->rank > 0;
}

/* Whether a trip computes there what it carries: the move is a copy for another place that carries the same. */
static bool is_carried(const struct context *c, const struct quick_region *q, struct loop_range r)
{
    for (int i = 0; i < q->ncarried; i++) {
        const char *at = c->address[q->carried[i]];
        if (at && at >= r.at && at < r.at + r.bytes)
            return true;
    }
    return false;
}

static bool drop_move(const struct context *c, struct quick_region *q, int move)
{
    struct loop_range from = range_of(q, move, QUICK_A), to = range_of(q, move, QUICK_TO);
    int at = writer(q, from, move);
    if (at < 0 || meet(from, to) || is_carried(c, q, from) || is_window(&q->code[at]) ||
        !can_stand(q, move, at, from, to))
        return false;
    q->code[at].p[QUICK_TO] = (char *)to.at;
    for (int i = at + 1; i < q->test; i++)
        for (int n = QUICK_A; n < QUICK_OPERANDS; n++)
            if (meet(range_of(q, i, n), from))
                q->code[i].p[n] = (char *)to.at + (q->code[i].p[n] - from.at);
    return true;
}

/* The last comparison of the test jumps itself. */
static bool joins_jump(const struct quick_region *q)
{
    int again = q->count - 1;
    return again > q->test && q->code[again - 1].code == QUICK_lt_i32 &&
           q->code[again - 1].p[QUICK_TO] == q->code[again].p[QUICK_C];
}

void quick_shorten(const struct context *c, struct quick_region *q)
{
    int again = q->count - 1, kept = q->moves;
    if (q->pure && joins_jump(q)) {
        struct quick_op *test = &q->code[--again];
        *test = (struct quick_op){.code = QUICK_again_lt_i32,
                                  .p = {NULL, test->p[QUICK_A], test->p[QUICK_B], NULL}};
    }
    for (int i = q->test - 1; i >= q->moves && q->pure; i--)
        if (drop_move(c, q, i))
            q->code[i] = (struct quick_op){.code = QUICK_end};
    for (int i = q->moves; i <= again; i++)
        if (q->code[i].code != QUICK_end)
            q->code[kept++] = q->code[i];
    q->code[kept - 1].jump = kept - 1 - q->body;
    q->code[kept] = (struct quick_op){.code = QUICK_end};
    q->code[q->body - 1].jump = kept - (q->body - 1);
}
