/* Kernels written by hand: types of a call by the kernel's declaration. They run as tile programs
 * only: there is no plain routine, but whoever runs plain routines may bring what runs the program. */
#include "neff/core/kernel_signature.h"
#include "runtime/ops/common/require.h"

/* Sizes against the declaration, once the symbols have their meaning. */
static bool check_sizes(struct infer *f, const struct kernel_signature *s, int i, const dim_t *with)
{
    const struct type *have = &f->in[i], *want = &s->in[i];
    for (int k = 0; k < want->rank && have->rank >= 0; k++) {
        dim_t size = dim_translate(f->dims, &s->dims, want->dims[k], with);
        if (size == DIM_NOT_BOUND)
            continue;
        if (dim_is_const(size) && dim_is_const(have->dims[k]) && size != have->dims[k])
            return kernel_operand_fail(s, f->dims, i, have, with, f->arena, f->d);
        if (!require_equal(f, have->dims[k], size, named("sizes of a kernel", i, k)))
            return false;
        int symbol = dim_as_symbol(&s->dims, want->dims[k]);
        int64_t max = symbol >= 0 ? s->dims.symbols[symbol].max : 0;
        if (max && !require_at_most(f, size, max, named("sizes of a kernel", i, k)))
            return false;
    }
    return true;
}

/* Of unknown rank while the rank of an operand that says a size is not known. */
static void set_result(struct infer *f, const struct kernel_signature *s, int i, const dim_t *with)
{
    struct type t = s->out[i];
    for (int k = 0; k < t.rank; k++) {
        t.dims[k] = dim_translate(f->dims, &s->dims, t.dims[k], with);
        if (t.dims[k] == DIM_NOT_BOUND)
            t.rank = RANK_UNKNOWN;
    }
    infer_out(f, i, t.dtype, t.rank, t.dims);
}

bool infer_kernel_call(struct infer *f)
{
    struct kernel_signature s;
    if (!kernel_signature_read(f->attrs, f->arena, &s, f->d))
        return false;
    dim_t *with = ARENA_ARRAY(f->arena, dim_t, s.dims.nsymbols + 1);
    if (!kernel_signature_bind(&s, f->dims, f->in, f->nin, with, f->arena, f->d))
        return false;
    if (f->nout != s.nout)
        return fail(f->d, "%d results, kernel '%.200s' has %d", f->nout, s.kernel, s.nout);
    for (int i = 0; i < f->nin; i++)
        if (!check_sizes(f, &s, i, with))
            return false;
    for (int i = 0; i < s.nout; i++)
        set_result(f, &s, i, with);
    return true;
}

bool eval_kernel_call(struct op_call *c)
{
    struct str name = attr_str(c->attrs, "kernel", "");
    if (c->env->run_kernel)
        return c->env->run_kernel(c->env, c);
    return fail(c->env->d, "kernel '%.*s' runs as a tile program only, there is no plain routine",
                (int)(name.n < 200 ? name.n : 200), name.p);
}
