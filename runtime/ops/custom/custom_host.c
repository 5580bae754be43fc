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
    const struct attr *a = attr_find(attributes(c), name);
    return a && a->kind == ATTR_INT ? (double)a->i : attr_float(attributes(c), name, 0);
}

static const char *host_string(const struct xop_call *c, const char *name, size_t *size)
{
    struct str s = attr_str(attributes(c), name, "");
    *size = s.n;
    return s.p;
}

static const int64_t *host_ints(const struct xop_call *c, const char *name, int *count)
{
    const struct attr *a = attr_find(attributes(c), name);
    if (!a || a->kind != ATTR_INT)
        return attr_ints(attributes(c), name, count);
    *count = 1;
    return &a->i;
}

static const double *host_floats(const struct xop_call *c, const char *name, int *count)
{
    return attr_floats(attributes(c), name, count);
}

/* ---- results whose memory the operator asks for ---- */

enum { MARGIN = 64, FILL = 0xa5 };

size_t custom_bytes(const struct xop_tensor *t)
{
    return (size_t)xop_count(t) * dtype_bytes((enum dtype)t->dtype);
}

bool custom_begin_result(struct tensor *out, struct xop_tensor *t, const int64_t *dims, struct diag *d)
{
    int64_t bytes = (int64_t)dtype_bytes((enum dtype)t->dtype);
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return fail_memory(d, "out of memory: a result of more than 2^63 bytes");
    if (__builtin_add_overflow(bytes, 2 * MARGIN, &bytes) || !tensor_alloc(out, DT_U8, 1, &bytes, d))
        return diag_failed(d) ? false : fail_memory(d, "out of memory: a result of more than 2^63 bytes");
    char *block = out->data;
    *t = custom_tensor(t->dtype, t->rank, dims, block + MARGIN);
    memset(block, FILL, MARGIN);
    memset(block + bytes - MARGIN, FILL, MARGIN);
    return true;
}

bool custom_end_result(struct tensor *out, const struct xop_tensor *t, const char *name, struct diag *d)
{
    const size_t bytes = custom_bytes(t);
    const uint8_t *data = (const uint8_t *)out->data + MARGIN;
    for (size_t i = 1; i <= MARGIN; i++)
        if (data[-(ptrdiff_t)i] != FILL)
            return fail(d, "it wrote before the start of result '%s', at byte -%zu", name, i);
    for (size_t i = bytes; i < bytes + MARGIN; i++)
        if (data[i] != FILL)
            return fail(d, "it wrote past the end of result '%s', which has %zu bytes, at byte %zu", name, bytes, i);
    memmove(out->data, data, bytes);
    const struct tensor shaped = tensor_view(t->dtype, t->rank, t->dims, out->data);
    out->dtype = shaped.dtype, out->rank = shaped.rank;
    memcpy(out->dims, shaped.dims, sizeof out->dims);
    return true;
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
    if ((s->guarded && t->data && !guarded_drop(s->guarded, t->data, d)) || !custom_begin_result(out, t, dims, d))
        return t->data = NULL;
    if (s->guarded && !guarded_add(s->guarded, t, custom_bytes(t), true, o->name, d))
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
