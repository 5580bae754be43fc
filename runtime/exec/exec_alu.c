/*
 * Vector engine: two operations in a row whose second operands are numbers, one per row, or
 * tensors; with a reduction of the results.
 */
#include "runtime/exec/integer.h"

#include "neff/base/use.h"
#include "runtime/ops/common/elementwise.h"

#include <math.h>

enum { DST = AP(tensor_alu, dst), SRC = AP(tensor_alu, src), REDUCED = AP(tensor_alu, reduced) };
enum { SCALE = AP(tensor_alu, a), ZERO = AP(tensor_alu, b) }; /* of a quantisation */
_Static_assert((int)DST == AP(activation, dst) && (int)SRC == AP(activation, src), "affine operands");

struct two_alu {
    struct alu f[2];
    bool one; /* the second operation is none */
    bool multiply_add;
    bool shifts;   /* round_shift by b: what it gives is added */
    bool affine;   /* rounds src / a, adds b, and saturates */
    bool integers; /* operations of bits */
    enum op bits[2];
    bool swap[2];
    enum kernel_reduce reduce;
};

static bool is_bits(int op)
{
    const struct ew_row *row = ew_row((enum op)op);
    return op != OP_identity && row && !row->f && row->sn;
}

static bool prepare_bits(struct binding *b, struct bound_insn *i, struct two_alu *t)
{
    for (int n = 0; n < i->nops; n++)
        if (i->o[n].mem && !dtype_is_int(i->o[n].dtype) && i->o[n].dtype != DT_BOOL)
            return fail(b->d, "tensor_alu: operand '%s' is of %s, operations of bits take integers",
                        insn_info(i->op)->ap[n].name, dtype_name(i->o[n].dtype));
    if (i->o[REDUCED].mem)
        return fail(b->d, "tensor_alu: no reduction of integers");
    for (int n = 0; n < 2; n++) {
        t->bits[n] = (enum op)i->func[n];
        const struct ew_row *row = ew_row(t->bits[n]);
        t->swap[n] = i->imm[n].base != 0;
        if (!row || !row->sn)
            return fail(b->d, "tensor_alu: operator '%s' is no function of integers",
                        op_name((enum op)i->func[n]));
    }
    t->integers = true;
    return true;
}

/* One scale for all rows, or one for each, and a zero point of 8 bits, so that sums are whole numbers in any order. */
static bool quantises(const struct bound_insn *i)
{
    const struct operand *zero = &i->o[ZERO];
    if (i->func[FUNC(tensor_alu, op0)] != OP_div || i->imm[IMM(tensor_alu, reverse0)].base || !i->o[SCALE].mem ||
        !tile_operand(i, SCALE) || i->o[SRC].dtype != DT_F32 || i->o[REDUCED].mem || !affine_operands(i) ||
        (zero->dtype != DT_U8 && zero->dtype != DT_I8))
        return false;
    for (int d = 0; d < i->shape.rank; d++)
        if (zero->step[d] || (d + 1 == i->shape.rank && i->o[SCALE].step[d]))
            return false;
    return true;
}

bool prepare_tensor_alu(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct two_alu *t = ARENA_NEW(b->arena, struct two_alu);
    i->prepared = t;
    int op0 = i->func[FUNC(tensor_alu, op0)], op1 = i->func[FUNC(tensor_alu, op1)];
    t->one = op1 == OP_identity;
    if (!only_numbers(b, i, insn))
        return false;
    if (is_bits(op0) || is_bits(op1))
        return prepare_bits(b, i, t);
    for (int n = 0; n < 2; n++)
        if (!alu_find(&t->f[n], i->func[n], i->imm[n].base != 0, i->flt[n], 0, b->d))
            return false;
    t->multiply_add = op0 == OP_mul && op1 == OP_add;
    t->shifts = op1 == OP_round_shift && i->o[ZERO].mem;
    t->affine = t->shifts && quantises(i);
    t->reduce = alu_reduce(i->func[FUNC(tensor_alu, reduce)]);
    bool reduces = t->reduce == REDUCE_sum || t->reduce == REDUCE_prod || t->reduce == REDUCE_max ||
                   t->reduce == REDUCE_min;
    return !i->o[REDUCED].mem || reduces ||
           fail(b->d, "tensor_alu: operator '%s' is no reduction",
                op_name((enum op)i->func[FUNC(tensor_alu, reduce)]));
}

/* m elements of the second operand of an operation, from element `at` of the row on. */
static struct in_row second(const struct worker *me, const struct bound_insn *i, char *const *p, int n,
                            int64_t at, int64_t m, float *buf)
{
    int operand = n ? AP(tensor_alu, b) : AP(tensor_alu, a);
    const struct operand *o = &i->o[operand];
    if (!o->mem)
        return (struct in_row){&i->flt[n], 0};
    int64_t step = o->step[i->shape.rank - 1];
    return fetch(me, o, p[operand] + at * step * o->size, step, m, buf);
}

static void compute(const struct worker *me, const struct two_alu *t, struct out_row y,
                    struct in_row x, struct in_row a, struct in_row b, int64_t n)
{
    float between[CHUNK];
    if (t->one) {
        alu_run(me, &t->f[0], y, x, a, n);
    } else if (t->multiply_add) {
        me->k->multiply_add(y, x, a, b, (size_t)n);
    } else { /* b may lie where y does */
        alu_run(me, &t->f[0], (struct out_row){between, 1}, x, a, n);
        alu_run(me, &t->f[1], y, (struct in_row){between, 1}, b, n);
        if (t->shifts)
            me->k->binary[BINARY_add](y, (struct in_row){y.at, y.step}, b, (size_t)n);
    }
}

static void alu_affine(struct worker *me, const struct bound_insn *i, char *const *p, const int64_t *count)
{
    const struct operand *zero = &i->o[ZERO];
    int last = i->shape.rank - 1;
    struct affine_tile t = affine_at(i, p, count);
    t.form = AFFINE_DIVIDE;
    t.scale = (struct in_tile){(const float *)p[SCALE], 0, last ? i->o[SCALE].step[last - 1] : 0};
    t.zero = zero->dtype == DT_U8 ? *(const uint8_t *)p[ZERO] : *(const int8_t *)p[ZERO];
    me->k->affine(&t);
}

static float combine(enum kernel_reduce f, float a, float x)
{
    return f == REDUCE_sum    ? a + x
           : f == REDUCE_prod ? a * x
           : isnan(a)         ? a
           : f == REDUCE_max  ? (isnan(x) || x > a ? x : a)
                              : (isnan(x) || x < a ? x : a);
}

static void alu_row(struct worker *me, const struct bound_insn *i, char *const *p,
                    const int64_t *count)
{
    const struct two_alu *t = i->prepared;
    const struct operand *dst = &i->o[DST], *src = &i->o[SRC];
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = dst->step[last], xs = src->step[last];
    bool direct = dst->dtype == DT_F32 && ys != 0;
    float x[CHUNK], y[CHUNK], a[CHUNK], b[CHUNK], total = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        char *to = p[DST] + at * ys * dst->size;
        struct out_row out = direct ? (struct out_row){(float *)to, ys} : (struct out_row){y, 1};
        compute(me, t, out, fetch(me, src, p[SRC] + at * xs * src->size, xs, m, x),
                second(me, i, p, 0, at, m, a), second(me, i, p, 1, at, m, b), m);
        if (i->o[REDUCED].mem) {
            float part = me->k->reduce[t->reduce]((struct in_row){out.at, out.step}, (size_t)m);
            total = at ? combine(t->reduce, total, part) : part;
        }
        if (!direct)
            store_row(me, dst, to, ys, y, m);
    }
    if (i->o[REDUCED].mem)
        store_one(me, &i->o[REDUCED], p[REDUCED], total);
}

/* ---- integers ---- */

static void load_integers(const struct bound_insn *i, char *const *p, int operand, int64_t at,
                          int64_t m, int64_t *to)
{
    const struct operand *o = &i->o[operand];
    int64_t step = o->step[i->shape.rank - 1];
    const char *from = p[operand] + at * step * o->size;
    if (step == 1)
        dtype_load_i64n(o->dtype, from, (size_t)m, to);
    else
        for (int64_t k = 0; k < m; k++)
            to[k] = dtype_load_i64(o->dtype, from + k * step * o->size, 0);
}

static void apply_bits(const struct two_alu *t, int n, bool is_signed, int64_t *x, int64_t *y,
                       int64_t m)
{
    const struct ew_row *row = ew_row(t->bits[n]);
    int64_t *first = t->swap[n] ? y : x, *second_ = t->swap[n] ? x : y, z[CHUNK];
    if (is_signed)
        row->sn(first, second_, z, m);
    else
        row->un((uint64_t *)first, (uint64_t *)second_, (uint64_t *)z, m);
    for (int64_t k = 0; k < m; k++)
        x[k] = z[k];
}

static void bits_row(struct worker *me, const struct bound_insn *i, char *const *p,
                     const int64_t *count)
{
    const struct two_alu *t = i->prepared;
    const struct operand *dst = &i->o[DST];
    int last = i->shape.rank - 1;
    bool is_signed = dtype_class(i->o[SRC].dtype) == DTC_SINT;
    int64_t n = count[last], x[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        load_integers(i, p, SRC, at, m, x);
        for (int f = 0; f < (t->one ? 1 : 2); f++) {
            int operand = f ? AP(tensor_alu, b) : AP(tensor_alu, a);
            if (i->o[operand].mem)
                load_integers(i, p, operand, at, m, y);
            else
                for (int64_t k = 0; k < m; k++)
                    y[k] = dtype_load_i64(DT_F32, &i->flt[f], 0);
            apply_bits(t, f, is_signed, x, y, m);
        }
        for (int64_t k = 0; k < m; k++)
            dtype_store_i64(dst->dtype, p[DST] + (at + k) * dst->step[last] * dst->size, 0, x[k]);
    }
}

void exec_tensor_alu(struct worker *me, const struct bound_insn *i)
{
    const struct two_alu *t = i->prepared;
    if (USED(KERNEL_affine) && t->affine)
        run_affine(me, i, alu_affine);
    else
        run_rows(me, i, t->integers ? bits_row : alu_row);
}
