/*
 * The shape rule and the plain routine of all UNARY, PARAMETRIC, BINARY and COMPARE rows.
 *
 * Elements are loaded in chunks to the widest type of their class, computed by the row's function,
 * and rounded or wrapped once while they are stored.
 */
#include "runtime/ops/common/elementwise.h"

#include "runtime/ops/common/complex_rows.h"

#include "runtime/ops/common/content.h"
#include "runtime/ops/common/ops.h"
#include "runtime/ops/common/walk.h"

#include <stdio.h>
#include <string.h>

static bool admitted(const struct ew_row *row, int dtype)
{
    switch (dtype_class(dtype)) {
    case DTC_FLOAT:
        return row->kinds & KF;
    case DTC_SINT:
    case DTC_UINT:
        return row->kinds & KI;
    case DTC_BOOL:
        return row->kinds & KB;
    case DTC_COMPLEX:
        return row->kinds & KC;
    case DTC_STRING:
        return row->kinds & KS;
    default:
        return false;
    }
}

const char *ew_types(enum op op, char buf[EW_TYPES])
{
    static const char *const names[] = {"any_float", "any_int", "bool", "complex", "str"};
    size_t at = 0;
    *buf = 0;
    for (int i = 0; i < 5; i++)
        if (ew_row(op)->kinds & 1 << i)
            at += (size_t)snprintf(buf + at, EW_TYPES - at, "%s%s", at ? "|" : "", names[i]);
    return buf;
}

static void infer_element_contents(struct infer *f)
{
    if (!f->result)
        return;
    struct content x = infer_content(f, 0), y = {NULL, -1};
    if (f->nin > 1)
        y = infer_content(f, 1);
    content_elementwise(f, x, y);
}

bool infer_elementwise(struct infer *f)
{
    const struct ew_row *row = ew_row(f->op);
    if (f->op == OP_identity && f->in[0].kind != VK_TENSOR) {
        f->out[0] = f->in[0];
        return true;
    }
    int dtype = f->in[0].dtype;
    char types[EW_TYPES];
    if (!admitted(row, dtype))
        return fail(f->d, "operand 0 is %s, expected %s", dtype_name(dtype),
                    ew_types(f->op, types));
    if (f->nin == 2 && f->in[1].dtype != dtype)
        return fail(f->d, "operand 1 is %s, expected %s as operand 0", dtype_name(f->in[1].dtype),
                    dtype_name(dtype));
    const struct type *in[2] = {&f->in[0], &f->in[f->nin - 1]};
    struct type out = f->in[0];
    if (!infer_broadcast(f, in, 2, &out))
        return false;
    out.dtype = row->form == EW_COMPARE ? DT_BOOL : out.dtype;
    f->out[0] = out;
    infer_element_contents(f);
    return true;
}

enum { CHUNK = 512 };

union chunk {
    double f[CHUNK];
    int64_t s[CHUNK];
    uint64_t u[CHUNK];
    double complex c[CHUNK];
};

static void load_complex(int dtype, const void *p, int64_t n, double complex *out)
{
    if (dtype == DT_C64)
        for (int64_t i = 0; i < n; i++)
            out[i] = CMPLX(((const float *)p)[2 * i], ((const float *)p)[2 * i + 1]);
    else
        memcpy(out, p, sizeof *out * (size_t)n);
}

static void store_complex(int dtype, void *p, int64_t n, const double complex *z)
{
    for (int64_t i = 0; i < n; i++)
        if (dtype == DT_BOOL) {
            ((uint8_t *)p)[i] = creal(z[i]) != 0;
        } else if (dtype == DT_C64) {
            ((float *)p)[2 * i] = (float)creal(z[i]);
            ((float *)p)[2 * i + 1] = (float)cimag(z[i]);
        } else {
            ((double complex *)p)[i] = z[i];
        }
}

/* n elements, dense or all the same one (step 0). */
static void load_chunk(const struct tensor *t, int64_t at, int64_t step, int64_t n,
                       union chunk *out)
{
    const char *p = (const char *)t->data + at * (int64_t)dtype_bytes(t->dtype);
    int64_t count = step ? n : 1;
    switch (dtype_class(t->dtype)) {
    case DTC_FLOAT:
        dtype_load_f64n(t->dtype, p, (size_t)count, out->f);
        break;
    case DTC_COMPLEX:
        load_complex(t->dtype, p, count, out->c);
        break;
    default:
        dtype_load_i64n(t->dtype, p, (size_t)count, out->s);
    }
    if (step == 0 && dtype_is_complex(t->dtype))
        for (int64_t i = 1; i < n; i++)
            out->c[i] = out->c[0];
    else if (step == 0)
        for (int64_t i = 1; i < n; i++)
            out->u[i] = out->u[0];
}

static void compute_chunk(const struct ew_row *row, int class, const double *ab,
                          const union chunk *x, const union chunk *y, union chunk *z, int64_t n)
{
    switch (class) {
    case DTC_FLOAT:
        row->fn(x->f, y ? y->f : NULL, ab[0], ab[1], z->f, n);
        break;
    case DTC_COMPLEX:
        row->cn(x->c, y ? y->c : NULL, z->c, n);
        break;
    case DTC_SINT:
        row->sn(x->s, y ? y->s : NULL, z->s, n);
        break;
    default:
        row->un(x->u, y ? y->u : NULL, z->u, n);
    }
}

static void store_chunk(struct tensor *t, int64_t at, int class, int64_t n, const union chunk *z)
{
    char *p = (char *)t->data + at * (int64_t)dtype_bytes(t->dtype);
    if (class == DTC_FLOAT)
        dtype_store_f64n(t->dtype, p, (size_t)n, z->f);
    else if (class == DTC_COMPLEX)
        store_complex(t->dtype, p, n, z->c);
    else
        dtype_store_i64n(t->dtype, p, (size_t)n, z->s);
}

static void compare_strings(struct op_call *c, struct walk *w)
{
    const struct str *x = c->in[0]->data, *y = c->in[1]->data;
    uint8_t *z = c->out[0]->data;
    for (walk_start(w); !w->done; walk_next(w))
        for (int64_t i = 0; i < w->count; i++) {
            struct str p = x[w->offset[1] + i * w->step[1]], q = y[w->offset[2] + i * w->step[2]];
            bool equal = p.n == q.n && (p.n == 0 || !memcmp(p.p, q.p, p.n));
            z[w->offset[0] + i * w->step[0]] = equal == (c->op == OP_eq);
        }
}

/* Runs of 64-bit numbers are already as the functions take them. */
static bool is_wide(const struct tensor *t)
{
    return t->dtype == DT_I64 || t->dtype == DT_U64 || t->dtype == DT_F64;
}

static const union chunk *load(const struct tensor *t, int64_t at, int64_t step, int64_t n,
                               union chunk *room)
{
    if (is_wide(t) && step)
        return (const union chunk *)((const char *)t->data + at * 8);
    load_chunk(t, at, step, n, room);
    return room;
}

static void run_rows(struct op_call *c, struct walk *w)
{
    const struct ew_row *row = ew_row(c->op);
    const struct tensor *x = c->in[0], *y = c->nin > 1 ? c->in[1] : NULL;
    double ab[2] = {attr_float(c->attrs, row->name_a, row->a),
                    attr_float(c->attrs, row->name_b, row->b)};
    int class = dtype_class(x->dtype);
    union chunk cx, cy, cz;
    bool direct = is_wide(c->out[0]);
    for (walk_start(w); !w->done; walk_next(w)) {
        const union chunk *px = NULL, *py = NULL;
        for (int64_t i = 0; i < w->count; i += CHUNK) {
            int64_t n = w->count - i < CHUNK ? w->count - i : CHUNK, to = w->offset[0] + i;
            if (i == 0 || w->step[1]) /* the same for all: the first chunk has them */
                px = load(x, w->offset[1] + i * w->step[1], w->step[1], n, &cx);
            if (y && (i == 0 || w->step[2]))
                py = load(y, w->offset[2] + i * w->step[2], w->step[2], n, &cy);
            char *at = (char *)c->out[0]->data + to * 8;
            compute_chunk(row, class, ab, px, py, direct ? (union chunk *)at : &cz, n);
            if (!direct)
                store_chunk(c->out[0], to, class, n, &cz);
        }
    }
}

static void run_pairs(struct op_call *c, struct walk *w, complex_row_fn *run)
{
    float *z = c->out[0]->data;
    const float *x = c->in[0]->data, *y = c->in[1]->data;
    for (walk_start(w); !w->done; walk_next(w))
        run(z + 2 * w->offset[0], x + 2 * w->offset[1], w->step[1], y + 2 * w->offset[2], w->step[2], w->count);
}

bool eval_elementwise(struct op_call *c)
{
    if (c->op == OP_identity) {
        if (c->out[0]->data == c->in[0]->data && c->in[0]->kind == VK_TENSOR)
            return true;
        return tensor_copy(c->out[0], c->in[0], c->env->d);
    }
    struct walk w;
    walk_dims(&w, c->out[0]->rank, c->out[0]->dims, c->nin + 1);
    for (int i = 0; i < c->nin; i++)
        walk_broadcast(&w, i + 1, c->in[i]->rank, c->in[i]->dims);
    if (c->in[0]->dtype == DT_STR)
        compare_strings(c, &w);
    else if (c->in[0]->dtype == DT_C64 && complex_row(c->op))
        run_pairs(c, &w, complex_row(c->op));
    else
        run_rows(c, &w);
    return true;
}
