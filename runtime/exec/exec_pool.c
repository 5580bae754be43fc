/*
 * GpSimd engine: tiles made from indices.
 */
#include "runtime/exec/engine.h"

#include <string.h>

static void store_integer(const struct worker *me, const struct operand *o, char *p, int64_t v)
{
    if (dtype_is_int(o->dtype) || dtype_class(o->dtype) == DTC_BOOL)
        dtype_store_i64(o->dtype, p, 0, v);
    else
        dtype_store_f64(o->dtype, p, 0, (double)v);
}

static void iota_plane(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct operand *y = &i->o[AP(iota, dst)];
    int r = i->shape.rank - 2, c = r + 1;
    int64_t base = number_at(me, &i->imm[IMM(iota, base)]),
            rows = number_at(me, &i->imm[IMM(iota, row_step)]),
            columns = number_at(me, &i->imm[IMM(iota, column_step)]);
    for (int64_t j = 0; j < count[r]; j++)
        for (int64_t k = 0; k < count[c]; k++)
            store_integer(me, y, p[AP(iota, dst)] + (j * y->step[r] + k * y->step[c]) * y->size,
                          base + rows * j + columns * k);
}

void exec_iota(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, iota_plane);
}

static void select_span(struct worker *me, const struct bound_insn *i, char *y, const char *x,
                        int64_t n, bool keep)
{
    const struct operand *to = &i->o[AP(affine_select, dst)], *from = &i->o[AP(affine_select, src)];
    int c = i->shape.rank - 1;
    char one[16];
    if (n <= 0)
        return;
    if (keep) {
        convert_row(me, to, y, to->step[c], from, x, from->step[c], n);
        return;
    }
    store_one(me, to, one, i->flt[FLT(affine_select, fill)]);
    me->k->copy(y, to->step[c] * to->size, one, 0, (size_t)n, to->size);
}

/* offset + row * i + column * j >= 0 holds for a beginning or an end of each row. */
static void affine_select_plane(struct worker *me, const struct bound_insn *i, char *const *p,
                                const int64_t *count)
{
    const struct operand *to = &i->o[AP(affine_select, dst)], *from = &i->o[AP(affine_select, src)];
    int r = i->shape.rank - 2, c = r + 1;
    int64_t offset = number_at(me, &i->imm[IMM(affine_select, offset)]),
            row = number_at(me, &i->imm[IMM(affine_select, row_step)]),
            column = number_at(me, &i->imm[IMM(affine_select, column_step)]);
    for (int64_t j = 0; j < count[r]; j++) {
        char *y = p[AP(affine_select, dst)] + j * to->step[r] * to->size;
        const char *x = p[AP(affine_select, src)] + j * from->step[r] * from->size;
        int64_t n = count[c], v = offset + row * j, split = 0;
        bool first = v >= 0; /* what holds at the row's start */
        if (column == 0 || (column > 0) == first)
            split = n;
        else if (column < 0)
            split = v / -column + 1;
        else
            split = (-v + column - 1) / column;
        split = split > n ? n : split;
        select_span(me, i, y, x, split, first);
        select_span(me, i, y + split * to->step[c] * to->size,
                    x + split * from->step[c] * from->size, n - split, !first);
    }
}

void exec_affine_select(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, affine_select_plane);
}
