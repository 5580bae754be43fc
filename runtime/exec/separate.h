/*
 * Rows of instructions whose operands' rows have lengths of their own: max8, dropout.
 */
#ifndef RUNTIME_EXEC_SEPARATE_H
#define RUNTIME_EXEC_SEPARATE_H

#include "runtime/exec/engine.h"

/* The operands have the same rank and, but for the last dim, the same counts or 1, which repeats. Fails naming the
 * operand. */
bool separate_rows(struct binding *b, const struct bound_insn *i);

/* Where a row is: the operands' addresses (absent ones NULL), what their last dims count, and the
 * number of the row. */
struct separate_row {
    char *p[MAX_APS];
    int64_t n[MAX_APS];
    int64_t number;
};
typedef void (*separate_fn)(struct worker *me, const struct bound_insn *i,
                            const struct separate_row *r);
/* Calls `row` for every combination of the dims before the last one. */
void run_separate(struct worker *me, const struct bound_insn *i, separate_fn row);

/* Element k of the row of operand n. */
static inline float separate_load(const struct bound_insn *i, const struct separate_row *r, int n,
                                  int64_t k)
{
    const struct operand *o = &i->o[n];
    return load_one(o, r->p[n] + k * o->step[o->rank - 1] * o->size);
}
static inline int64_t separate_load_integer(const struct bound_insn *i, const struct separate_row *r,
                                            int n, int64_t k)
{
    const struct operand *o = &i->o[n];
    return dtype_load_i64(o->dtype, r->p[n] + k * o->step[o->rank - 1] * o->size, 0);
}
static inline void separate_store(const struct worker *me, const struct bound_insn *i,
                                  const struct separate_row *r, int n, int64_t k, float x)
{
    const struct operand *o = &i->o[n];
    store_one(me, o, r->p[n] + k * o->step[o->rank - 1] * o->size, x);
}
static inline void separate_store_integer(const struct bound_insn *i, const struct separate_row *r,
                                          int n, int64_t k, int64_t x)
{
    const struct operand *o = &i->o[n];
    dtype_store_i64(o->dtype, r->p[n] + k * o->step[o->rank - 1] * o->size, 0, x);
}

#endif
