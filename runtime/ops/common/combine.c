#include "runtime/ops/common/combine.h"

#include "runtime/ops/common/elementwise.h"

#include <string.h>

enum { MAX_ARGS = 128 };

/* ---- what the attribute names ---- */

static bool find_form(const struct attrs *as, const char *attribute, struct combine *m)
{
    m->form = COMBINE_REGION;
    if (attr_str(as, attribute, "").n == 0)
        return true;
    m->argument = attr_is(as, attribute, "second");
    if (m->argument || attr_is(as, attribute, "first")) {
        m->form = COMBINE_ARGUMENT;
        return true;
    }
    m->form = COMBINE_OP;
    m->op = op_from_attr(as, attribute);
    return m->op != OP_COUNT && ew_row(m->op) && op_info(m->op)->min_in == 2;
}

bool combine_init(struct combine *m, struct op_call *c, const char *attribute, int region)
{
    *m = (struct combine){.c = c, .region = region, .vectors = attr_int(c->attrs, "lanes", 0) != 0};
    if (!find_form(c->attrs, attribute, m))
        return fail(c->env->d, "attribute %s does not name an elementwise operator of two operands",
                    attribute);
    if (m->form == COMBINE_REGION && region >= c->nregions)
        return fail(c->env->d, "there is neither an attribute %s nor a region", attribute);
    return true;
}

bool combine_infer(struct infer *f, const char *attribute, int region, const int *dtypes,
                   int nparams, const int *results, int nresults)
{
    struct combine m;
    struct type params[MAX_ARGS], out[MAX_ARGS];
    bool vectors = attr_int(f->attrs, "lanes", 0) != 0;
    int n;
    if (!find_form(f->attrs, attribute, &m))
        return fail(f->d, "attribute %s does not name an elementwise operator of two operands",
                    attribute);
    if (m.form != COMBINE_REGION && nresults != 1)
        return fail(f->d, "%d results of a computation that has one", nresults);
    if (m.form != COMBINE_REGION || f->concrete)
        return true;
    if (nparams > MAX_ARGS || nresults > MAX_ARGS)
        return fail(f->d, "a computation of %d parameters, expected at most %d", nparams, MAX_ARGS);
    for (int i = 0; i < nparams; i++) {
        params[i] = type_tensor(dtypes[i], 0, NULL);
        if (vectors)
            params[i].kind = VK_NONE; /* as declared */
    }
    if (!f->region(f, region, params, nparams, out, MAX_ARGS, &n))
        return false;
    if (n != nresults)
        return fail(f->d, "the computation has %d results, expected %d", n, nresults);
    for (int i = 0; i < n; i++)
        if (out[i].kind != VK_TENSOR || out[i].dtype != results[i] || out[i].rank > (vectors ? 1 : 0))
            return fail(f->d, "result %d of the computation is not a scalar of %s", i,
                        dtype_name(results[i]));
    return true;
}

/* ---- running ---- */

static bool run_op(struct combine *m, int64_t length, const struct vector *args,
                   const struct vector *result)
{
    static const struct attrs none;
    struct tensor in[2], out = tensor_view(result->dtype, 1, &length, result->data);
    struct tensor *ins[] = {&in[0], &in[1]}, *outs[] = {&out};
    for (int i = 0; i < 2; i++)
        in[i] = tensor_view(args[i].dtype, 1, &length, args[i].data);
    struct op_call c = {
        .op = m->op, .attrs = &none, .nin = 2, .nout = 1, .in = ins, .out = outs, .env = m->c->env};
    return eval_elementwise(&c);
}

/* Writes a region's result, a vector or one scalar for all elements. */
static bool take(struct combine *m, const struct tensor *t, int64_t at, int64_t length,
                 const struct vector *to)
{
    size_t bytes = dtype_bytes(to->dtype);
    char *p = (char *)to->data + (size_t)at * bytes;
    int64_t n = t->kind == VK_TENSOR ? tensor_count(t) : -1;
    if (t->dtype != to->dtype || (n != length && n != 1))
        return fail(m->c->env->d, "a computation on %lld elements gives a result of %lld",
                    (long long)length, (long long)n);
    if (n == length)
        memcpy(p, t->data, bytes * (size_t)length);
    else
        for (int64_t i = 0; i < length; i++)
            memcpy(p + (size_t)i * bytes, t->data, bytes);
    return true;
}

/* Lanes [at, at + n) by one run of the region. */
static bool run_region(struct combine *m, int64_t at, int64_t n, const struct vector *args,
                       int nargs, const struct vector *results, int nresults)
{
    struct tensor in[MAX_ARGS], out[MAX_ARGS];
    struct op_env *env = m->c->env;
    for (int i = 0; i < nargs; i++)
        in[i] = tensor_view(args[i].dtype, m->vectors, &n,
                            (char *)args[i].data + (size_t)at * dtype_bytes(args[i].dtype));
    for (int i = 0; i < nresults; i++)
        out[i] = (struct tensor){.kind = VK_NONE};
    if (!env->run_region)
        return fail_internal(env->d, "nothing here runs regions");
    bool ok = env->run_region(env, m->c, m->region, in, nargs, out, nresults);
    for (int i = 0; i < nresults; i++) {
        ok = ok && take(m, &out[i], at, n, &results[i]);
        tensor_free(&out[i]);
    }
    return ok;
}

bool combine_run(struct combine *m, int64_t length, const struct vector *args, int nargs,
                 const struct vector *results, int nresults)
{
    if (length == 0)
        return true;
    if (nargs > MAX_ARGS || nresults > MAX_ARGS)
        return fail(m->c->env->d, "a computation of %d parameters, expected at most %d", nargs,
                    MAX_ARGS);
    if (m->form == COMBINE_OP)
        return run_op(m, length, args, results);
    if (m->form == COMBINE_ARGUMENT) {
        memmove(results->data, args[m->argument].data, (size_t)length * dtype_bytes(results->dtype));
        return true;
    }
    if (m->vectors)
        return run_region(m, 0, length, args, nargs, results, nresults);
    for (int64_t i = 0; i < length; i++)
        if (!run_region(m, i, 1, args, nargs, results, nresults))
            return false;
    return true;
}
