#include "runtime/ops/custom/custom_host.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)XOP_ADD == DIM_ADD && (int)XOP_MUL == DIM_MUL &&
                   (int)XOP_FLOORDIV == DIM_FLOORDIV && (int)XOP_CEILDIV == DIM_CEILDIV &&
                   (int)XOP_MOD == DIM_MOD && (int)XOP_MIN == DIM_MIN && (int)XOP_MAX == DIM_MAX,
               "xop.h's arithmetic is that of neff/core/dim.h");
_Static_assert((int)XOP_MAX_RANK == MAX_RANK && (int)XOP_F32 == DT_F32 && (int)XOP_BF16 == DT_BF16,
               "xop.h's tensors are those of neff/core/tensor.h");

_Thread_local const struct custom_work *volatile custom_at_work;
void (*custom_prepare_thread)(void);

struct xop_tensor custom_tensor(int dtype, int rank, const int64_t *dims, void *data)
{
    struct xop_tensor t = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t.dims[i] = dims[i];
        t.strides[i] = stride;
        stride = dim_is_const(dims[i]) ? stride * dims[i] : 0;
    }
    return t;
}

int custom_operands(const struct custom_operator *op, int given)
{
    int declared = op->nin - (op->nin && op->in[op->nin - 1].repeats);
    return given > declared ? given : declared;
}

static bool host_fail(const struct xop_call *c, const char *text)
{
    struct custom_state *s = c->state;
    if (!*s->error)
        snprintf(s->error, sizeof s->error, "%s", text ? text : "");
    return false;
}

static const struct attrs *attributes(const struct xop_call *c)
{
    return ((const struct custom_state *)c->state)->attrs;
}

static int64_t host_int(const struct xop_call *c, const char *name)
{
    return attr_int(attributes(c), name, 0);
}

static double host_float(const struct xop_call *c, const char *name)
{
    return attr_float(attributes(c), name, 0);
}

static const char *host_string(const struct xop_call *c, const char *name, size_t *size)
{
    struct str s = attr_str(attributes(c), name, "");
    *size = s.n;
    return s.p;
}

static const int64_t *host_ints(const struct xop_call *c, const char *name, int *count)
{
    return attr_ints(attributes(c), name, count);
}

static const double *host_floats(const struct xop_call *c, const char *name, int *count)
{
    return attr_floats(attributes(c), name, count);
}

static void *host_resize(const struct xop_call *c, int result, const int64_t *dims)
{
    struct custom_state *s = c->state;
    struct xop_tensor *t = result >= 0 && result < c->nout ? &s->out[result] : NULL;
    if (!t || !s->call || !s->op->open || s->op->out[result].rank < 0) {
        host_fail(c, "xop_resize of a result of which every size is declared");
        return NULL;
    }
    const struct custom_operand *o = &s->op->out[result];
    int before = t->rank - o->rank; /* dims of `...` */
    for (int i = 0; i < t->rank; i++)
        if (dims[i] < 0 ||
            ((i < before || o->dims[i - before] != CUSTOM_RUNTIME_DIM) && dims[i] != t->dims[i])) {
            char text[200];
            snprintf(text, sizeof text, "xop_resize: dimension %d of result '%s' cannot be %lld", i,
                     o->name, (long long)dims[i]);
            host_fail(c, text);
            return NULL;
        }
    struct tensor *out = s->call->out[result]; /* there is one: eval_custom sees to it */
    struct diag *d = s->call->env->d;
    if ((s->guarded && t->data && !guarded_drop(s->guarded, t->data, d)) ||
        !tensor_alloc(out, t->dtype, t->rank, dims, d))
        return t->data = NULL;
    *t = custom_tensor(t->dtype, t->rank, dims, out->data);
    if (s->guarded && !guarded_add(s->guarded, t, tensor_bytes(out), true, o->name, d))
        return t->data = NULL;
    return t->data;
}

static int64_t host_dim(const struct xop_call *c, int op, int64_t a, int64_t b)
{
    struct custom_state *s = c->state;
    struct dim_table none;
    struct arena arena = {0};
    if (op < DIM_ADD || op > DIM_MAX)
        return 0;
    if (!s->dims)
        dim_table_init(&none, &arena);
    int64_t value = dim_make(s->dims ? s->dims : &none, op, a, b);
    arena_free(&arena);
    return value;
}

const struct xop_host custom_host = {
    .fail = host_fail,
    .get_int = host_int,
    .get_float = host_float,
    .get_string = host_string,
    .get_ints = host_ints,
    .get_floats = host_floats,
    .resize = host_resize,
    .dim = host_dim,
};
