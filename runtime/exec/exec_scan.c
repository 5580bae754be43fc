/*
 * Vector engine: recurrences along rows.
 */
#include "runtime/exec/engine.h"

enum {
    DST = AP(tensor_scan, dst),
    FIRST = AP(tensor_scan, a),
    SECOND = AP(tensor_scan, b),
    INITIAL = AP(tensor_scan, initial),
    LAST = AP(tensor_scan, last)
};
enum { TOGETHER = 8 /* rows */, COLUMNS = 64 };

struct scan {
    struct alu f[2];
    bool cumulative;
    bool multiply_add; /* r = a r + b */
};

bool prepare_scan(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct scan *s = ARENA_NEW(b->arena, struct scan);
    i->prepared = s;
    s->cumulative = i->imm[IMM(tensor_scan, cumulative)].base != 0;
    for (int n = 0; n < 2; n++)
        if (!alu_find(&s->f[n], i->func[n], i->imm[n].base != 0, 0, 0, b->d))
            return false;
    s->multiply_add = !s->cumulative && i->func[FUNC(tensor_scan, op0)] == OP_mul &&
                      i->func[FUNC(tensor_scan, op1)] == OP_add;
    return only_numbers(b, i, insn);
}

/*
 * Up to TOGETHER rows go side by side, for each step of a row waits for the one before. Their
 * elements pass through buffers, `COLUMNS` of each row at a time, column after column.
 */
struct scan_block {
    float a[COLUMNS][TOGETHER], b[COLUMNS][TOGETHER], state[TOGETHER];
};

static void load_block(const struct worker *me, const struct bound_insn *i, int operand, const char *p,
                       int rows, int64_t m, float (*to)[TOGETHER])
{
    const struct operand *o = &i->o[operand];
    int last = i->shape.rank - 1;
    int64_t pitch = last ? o->step[last - 1] * o->size : 0;
    float row[COLUMNS];
    for (int r = 0; r < rows; r++) {
        struct in_row x = fetch(me, o, p + r * pitch, o->step[last], m, row);
        for (int64_t k = 0; k < m; k++)
            to[k][r] = x.at[k * x.step];
    }
}

/* Results replace the block's a. */
static void scan_block(const struct worker *me, const struct scan *s, struct scan_block *w, int rows,
                       int64_t m)
{
    if (s->multiply_add) {
        for (int64_t k = 0; k < m; k++)
            for (int r = 0; r < TOGETHER; r++) {
                w->state[r] = w->a[k][r] * w->state[r] + w->b[k][r];
                w->a[k][r] = w->state[r];
            }
        return;
    }
    for (int64_t k = 0; k < m; k++) {
        float between[TOGETHER];
        struct in_row x = {w->a[k], 1}, y = {w->b[k], 1}, state = {w->state, 1},
                      middle = {between, 1};
        alu_run(me, &s->f[0], (struct out_row){between, 1}, x, s->cumulative ? y : state, rows);
        alu_run(me, &s->f[1], (struct out_row){w->a[k], 1}, middle, s->cumulative ? state : y, rows);
        for (int r = 0; r < rows; r++)
            w->state[r] = w->a[k][r];
    }
}

static void store_block(const struct worker *me, const struct bound_insn *i, char *p, int rows,
                        int64_t m, float (*from)[TOGETHER])
{
    const struct operand *o = &i->o[DST];
    int last = i->shape.rank - 1;
    int64_t pitch = last ? o->step[last - 1] * o->size : 0;
    float row[COLUMNS];
    for (int r = 0; r < rows; r++) {
        for (int64_t k = 0; k < m; k++)
            row[k] = from[k][r];
        store_row(me, o, p + r * pitch, o->step[last], row, m);
    }
}

static char *moved(const struct bound_insn *i, char *const *p, int operand, int64_t row, int64_t at)
{
    const struct operand *o = &i->o[operand];
    int last = i->shape.rank - 1;
    return p[operand] + ((last ? row * o->step[last - 1] : 0) + at * o->step[last]) * o->size;
}

static void scan_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                      const int64_t *count)
{
    const struct scan *s = i->prepared;
    int last = i->shape.rank - 1;
    int64_t rows = last ? count[last - 1] : 1, n = count[last];
    struct scan_block w = {0};
    for (int64_t from = 0; from < rows; from += TOGETHER) {
        int some = rows - from < TOGETHER ? (int)(rows - from) : TOGETHER;
        for (int r = 0; r < some; r++)
            w.state[r] = i->o[INITIAL].mem
                             ? load_one(&i->o[INITIAL], moved(i, p, INITIAL, from + r, 0))
                             : i->flt[FLT(tensor_scan, start)];
        for (int64_t at = 0; at < n; at += COLUMNS) {
            int64_t m = n - at < COLUMNS ? n - at : COLUMNS;
            load_block(me, i, FIRST, moved(i, p, FIRST, from, at), some, m, w.a);
            load_block(me, i, SECOND, moved(i, p, SECOND, from, at), some, m, w.b);
            scan_block(me, s, &w, some, m);
            store_block(me, i, moved(i, p, DST, from, at), some, m, w.a);
        }
        for (int r = 0; r < some && i->o[LAST].mem; r++)
            store_one(me, &i->o[LAST], moved(i, p, LAST, from + r, 0), w.state[r]);
    }
}

void exec_tensor_scan(struct worker *me, const struct bound_insn *i)
{
    int64_t count[MAX_AP_RANK];
    int inner = i->shape.rank > 1 ? 2 : 1;
    if (shape_now(me, &i->shape, count))
        for_each_row(me, i, count, i->shape.rank - inner, scan_tile);
}
