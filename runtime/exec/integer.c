#include "runtime/exec/integer.h"

#include "runtime/ops/common/choose.h"
#include "runtime/ops/common/elementwise.h"

#include <string.h>

static const uint8_t integer_of[OP_COUNT] = {
#define KERNEL_INTEGER(name) [OP_##name] = INTEGER_##name + 1,
#include "runtime/kernels/kernels.def"
};

static bool is_signed(const struct bound_insn *i)
{
    return dtype_class(i->o[AP(tensor_tensor, a)].dtype) == DTC_SINT ||
           dtype_class(i->o[AP(tensor_tensor, b)].dtype) == DTC_SINT;
}

bool integer_find(struct integer_function *f, const struct bound_insn *i, struct diag *d)
{
    enum op op = (enum op)i->func[FUNC(tensor_tensor, op)];
    int x = i->o[AP(tensor_tensor, a)].dtype, z = i->o[AP(tensor_tensor, dst)].dtype;
    const struct ew_row *row = ew_row(op);
    *f = (struct integer_function){.op = (uint16_t)op, .dtype = (uint8_t)x, .kernel = -1};
    if (!row || !(is_signed(i) ? (void *)row->sn : (void *)row->un))
        return fail(d, "operator '%s' is no function of an engine on %s", op_name(op),
                    dtype_name(x));
    bool booleans = x == DT_BOOL && !(row->kinds & KB),
         same = i->o[AP(tensor_tensor, b)].dtype == x &&
                z == (row->form == EW_COMPARE ? DT_BOOL : x);
    int kernel = op == OP_shl   ? INTEGER_shift_left
                 : op != OP_shr ? integer_of[op] - 1
                 : dtype_class(x) == DTC_SINT ? INTEGER_shift_right_signed
                                              : INTEGER_shift_right;
    if (kernel >= 0 && same && !booleans)
        f->kernel = (int8_t)kernel;
    return true;
}

integer_fn integer_kernel(const struct integer_function *f, const struct kernel_table *k)
{
    return f->kernel < 0 ? NULL : kernels_integer(k, (enum kernel_integer)f->kernel, f->dtype);
}

static void load(const struct operand *o, const char *p, int64_t step, int64_t n, int64_t *to)
{
    if (step == 1)
        dtype_load_i64n(o->dtype, p, (size_t)n, to);
    else
        for (int64_t k = 0; k < n; k++)
            to[k] = dtype_load_i64(o->dtype, p + k * step * o->size, 0);
}

void integer_row(const struct worker *me, const struct integer_function *f,
                 const struct bound_insn *i, char *const *p, int64_t n)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t zs = o[AP(tensor_tensor, dst)].step[last], xs = o[AP(tensor_tensor, a)].step[last],
            ys = o[AP(tensor_tensor, b)].step[last];
    integer_fn run = integer_kernel(f, me->k);
    if (run) {
        run(p[AP(tensor_tensor, dst)], zs, p[AP(tensor_tensor, a)], xs, p[AP(tensor_tensor, b)],
               ys, (size_t)n);
        return;
    }
    const struct ew_row *row = ew_row((enum op)f->op);
    int64_t x[CHUNK], y[CHUNK], z[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        load(&o[AP(tensor_tensor, a)],
             p[AP(tensor_tensor, a)] + at * xs * o[AP(tensor_tensor, a)].size, xs, m, x);
        load(&o[AP(tensor_tensor, b)],
             p[AP(tensor_tensor, b)] + at * ys * o[AP(tensor_tensor, b)].size, ys, m, y);
        if (is_signed(i))
            row->sn(x, y, z, m);
        else
            row->un((const uint64_t *)x, (const uint64_t *)y, (uint64_t *)z, m);
        for (int64_t k = 0; k < m; k++)
            dtype_store_i64(o[AP(tensor_tensor, dst)].dtype,
                            p[AP(tensor_tensor, dst)] +
                                (at + k) * zs * o[AP(tensor_tensor, dst)].size,
                            0, z[k]);
    }
}

void choose_row(const struct bound_insn *i, char *const *p, int64_t n)
{
    const struct operand *dst = &i->o[AP(select, dst)], *predicate = &i->o[AP(select, predicate)],
                         *a = &i->o[AP(select, a)], *b = &i->o[AP(select, b)];
    int last = i->shape.rank - 1;
    choose_elements((struct choice){.to = p[AP(select, dst)],
                                    .which = (const uint8_t *)p[AP(select, predicate)],
                                    .a = p[AP(select, a)],
                                    .b = p[AP(select, b)],
                                    .to_step = dst->step[last],
                                    .which_step = predicate->step[last],
                                    .a_step = a->step[last],
                                    .b_step = b->step[last],
                                    .size = dst->size},
                    n);
}
