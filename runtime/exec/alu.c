/*
 * Functions of the Vector and Scalar engines: kernels where there are any, the operators' own
 * scalar rows elsewhere.
 */
#include "runtime/exec/engine.h"

#include "neff/base/use.h"
#include "runtime/ops/common/elementwise.h"

#define OP_copy OP_identity
static const uint8_t activation_of[OP_COUNT] = {
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high)                                 \
    [OP_##name] = ACTIVATION_##name + 1,
#include "runtime/kernels/kernels.def"
};
#undef OP_copy
static const uint8_t compare_of[OP_COUNT] = {
#define KERNEL_COMPARE(name, operator) [OP_##name] = COMPARE_##name + 1,
#include "runtime/kernels/kernels.def"
};

/* Kernels of binary operators; some have one for reversed operands. */
enum { OP_rsub = OP_COUNT, OP_rdiv };
static const uint8_t binary_of[OP_COUNT + 2] = {
#define KERNEL_BINARY(name) [OP_##name] = BINARY_##name + 1,
#include "runtime/kernels/kernels.def"
};

static bool binary_find(struct alu *out, int op, bool reverse)
{
    if (!binary_of[op])
        return false;
    int reversed = op == OP_sub ? OP_rsub : op == OP_div ? OP_rdiv : op;
    out->kind = ALU_BINARY;
    out->unary = false;
    out->index = binary_of[reverse ? reversed : op] - 1;
    out->swap = reverse && reversed == op;
    return true;
}

bool alu_find(struct alu *out, int op, bool reverse, float a, float b, struct diag *d)
{
    *out = (struct alu){.p = {a, b}, .swap = reverse, .unary = true};
    if (op == OP_identity) {
        out->kind = ALU_COPY;
    } else if (activation_of[op]) {
        out->kind = ALU_ACTIVATION;
        out->index = activation_of[op] - 1;
    } else if (binary_find(out, op, reverse)) {
        return true;
    } else if (compare_of[op]) {
        out->kind = ALU_COMPARE;
        out->unary = false;
        out->index = compare_of[op] - 1;
    } else {
        out->kind = ALU_SCALAR;
        const struct ew_row *row = ew_row((enum op)op);
        if (!row || !row->f)
            return fail(d, "operator '%s' is no function of an engine on floats",
                        op_name((enum op)op));
        out->op = (uint32_t)op;
        out->unary = row->form == EW_UNARY || row->form == EW_PARAMETRIC;
    }
    return true;
}

static void compare_floats(const struct worker *me, const struct alu *f, struct out_row y,
                           struct in_row a, struct in_row b, int64_t n)
{
    uint8_t which[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = {a.at + at * a.step, a.step}, rb = {b.at + at * b.step, b.step};
        me->k->compare[f->index](which, 1, ra, rb, (size_t)m);
        me->k->convert[CONVERT_f32_from_u8](y.at + at * y.step, y.step, which, 1, (size_t)m);
    }
}

static void run_scalar(const struct ew_row *row, const float *p, struct out_row y, struct in_row a,
                       struct in_row b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y.at[i * y.step] = (float)row->f(a.at[i * a.step], b.at[i * b.step], p[0], p[1]);
}

void alu_run(const struct worker *me, const struct alu *f, struct out_row y, struct in_row a,
             struct in_row b, int64_t n)
{
    struct in_row x = f->swap ? b : a, z = f->swap ? a : b;
    switch (f->kind) {
    case ALU_COPY:
        if (y.at != a.at || y.step != a.step)
            me->k->copy(y.at, y.step * 4, a.at, a.step * 4, (size_t)n, 4);
        break;
    case ALU_BINARY:
        me->k->binary[f->index](y, x, z, (size_t)n);
        break;
    case ALU_COMPARE:
        if (USED(COMPARISONS))
            compare_floats(me, f, y, x, z, n);
        break;
    case ALU_ACTIVATION:
        me->k->activation[f->index](y, a, (struct in_row){0}, (struct in_row){0}, (size_t)n, f->p);
        break;
    case ALU_SCALAR:
        if (f->unary)
            x = z = a;
        if (USED(SCALAR_FUNCTIONS))
            run_scalar(ew_row((enum op)f->op), f->p, y, x, z, n);
        break;
    }
}

enum kernel_reduce alu_reduce(int op)
{
    return op == OP_add      ? REDUCE_sum
           : op == OP_mul    ? REDUCE_prod
           : op == OP_max    ? REDUCE_max
           : op == OP_min    ? REDUCE_min
           : op == OP_square ? REDUCE_sum_square
           : op == OP_abs    ? REDUCE_sum_abs
                             : REDUCE_COUNT;
}
