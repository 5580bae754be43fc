#include "runtime/exec/integer.h"

#include "runtime/ops/common/elementwise.h"

#include <string.h>

static const uint8_t integer_of[OP_COUNT] = {
#define KERNEL_INTEGER(name) [OP_##name] = INTEGER_##name + 1,
#include "runtime/kernels/kernels.def"
};

bool integer_find(struct integer_function *f, const struct kernel_table *k,
                  const struct bound_insn *i, struct diag *d)
{
    enum op op = (enum op)i->func[0];
    int x = i->o[1].dtype, z = i->o[0].dtype;
    f->run = NULL;
    f->row = ew_row(op);
    if (!f->row || !(dtype_class(x) == DTC_SINT ? (void *)f->row->sn : (void *)f->row->un))
        return fail(d, "operator '%s' is no function of an engine on %s", op_name(op),
                    dtype_name(x));
    bool booleans = x == DT_BOOL && !(f->row->kinds & KB),
         same = i->o[2].dtype == x && z == (f->row->form == EW_COMPARE ? DT_BOOL : x);
    if (integer_of[op] && same && !booleans)
        f->run = kernels_integer(k, (enum kernel_integer)(integer_of[op] - 1), x);
    return true;
}

static void load(const struct operand *o, const char *p, int64_t step, int64_t n, int64_t *to)
{
    if (step == 1)
        dtype_load_i64n(o->dtype, p, (size_t)n, to);
    else
        for (int64_t k = 0; k < n; k++)
            to[k] = dtype_load_i64(o->dtype, p + k * step * o->size, 0);
}

void integer_row(const struct integer_function *f, const struct bound_insn *i, char *const *p,
                 int64_t n)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t zs = o[0].step[last], xs = o[1].step[last], ys = o[2].step[last];
    if (f->run) {
        f->run(p[0], zs, p[1], xs, p[2], ys, (size_t)n);
        return;
    }
    int64_t x[CHUNK], y[CHUNK], z[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        load(&o[1], p[1] + at * xs * o[1].size, xs, m, x);
        load(&o[2], p[2] + at * ys * o[2].size, ys, m, y);
        if (dtype_class(o[1].dtype) == DTC_SINT)
            f->row->sn(x, y, z, m);
        else
            f->row->un((const uint64_t *)x, (const uint64_t *)y, (uint64_t *)z, m);
        for (int64_t k = 0; k < m; k++)
            dtype_store_i64(o[0].dtype, p[0] + (at + k) * zs * o[0].size, 0, z[k]);
    }
}

#define CHOOSE(T)                                                                                  \
    for (int64_t k = 0; k < n; k++)                                                                \
        ((T *)p[0])[k * zs] =                                                                      \
            p[1][k * ws] ? ((const T *)p[2])[k * as] : ((const T *)p[3])[k * bs];                  \
    return

void choose_row(const struct bound_insn *i, char *const *p, int64_t n)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t zs = o[0].step[last], ws = o[1].step[last], as = o[2].step[last], bs = o[3].step[last];
    switch (o[0].size) {
    case 1:
        CHOOSE(uint8_t);
    case 2:
        CHOOSE(uint16_t);
    case 4:
        CHOOSE(uint32_t);
    case 8:
        CHOOSE(uint64_t);
    }
    for (int64_t k = 0; k < n; k++)
        memcpy(p[0] + k * zs * o[0].size,
               p[1][k * ws] ? p[2] + k * as * o[2].size : p[3] + k * bs * o[3].size,
               (size_t)o[0].size);
}
