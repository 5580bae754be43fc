/* Operator linalg: the table of routines, types of their results, and the walk over a batch. */
#include "runtime/ops/linalg/linalg.h"
#include "runtime/ops/common/require.h"

#include <limits.h>
#include <string.h>

enum provider { OWN, LIBRARY };

static const struct routine {
    const char *name;
    enum provider provider;
    const char *operands, *results, *letters;
    linalg_fn run;
} routines[] = {
#define FUNCTION_OWN(name) own_##name
#define FUNCTION_LIBRARY(name) library_##name
#define ROUTINE(name, provider, operands, results, letters, doc)                                   \
    {#name, provider, operands, results, letters, FUNCTION_##provider(name)},
#include "runtime/ops/linalg/routines.def"
};

static const struct routine *find(const struct attrs *attrs, struct diag *d)
{
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (attr_is(attrs, "routine", routines[i].name))
            return &routines[i];
    fail(d, "its attribute `routine` names none that is known");
    return NULL;
}

enum { WORD = 16 };

/* Word i of a list of words: its letters, 0 terminated in `to`; false when there are fewer. */
static bool word(const char *list, int i, char to[WORD])
{
    for (; i > 0 && *list; i--)
        list += strcspn(list, " ") + (list[strcspn(list, " ")] == ' ');
    size_t n = strcspn(list, " ");
    memcpy(to, list, n);
    to[n] = 0;
    return n > 0;
}

/* ---- sizes ---- */

/* What the letters of dims stand for. */
struct sizes {
    int batch; /* number of dims */
    dim_t dims[MAX_RANK], m, n, k, h, r, s, u, v;
    int dtype;
};

static dim_t size_named(const struct sizes *z, char letter)
{
    switch (letter) {
    case 'm': return z->m;
    case 'n': return z->n;
    case 'k': return z->k;
    case 'h': return z->h;
    case 'r': return z->r;
    case 's': return z->s;
    case 'u': return z->u;
    default: return z->v;
    }
}

static int dtype_named(int dtype, char letter)
{
    bool wide = dtype == DT_F64 || dtype == DT_C128;
    switch (letter) {
    case 'I': return DT_I32;
    case 'R': return wide ? DT_F64 : DT_F32;
    case 'C': return wide ? DT_C128 : DT_C64;
    default: return dtype;
    }
}

static bool read_sizes(struct infer *f, const struct routine *r, struct sizes *z)
{
    char text[WORD];
    int matrix = -1, count = 0;
    for (; word(r->operands, count, text); count++)
        if (matrix < 0 && strlen(text) == 3)
            matrix = count;
    if (f->nin != count)
        return fail(f->d, "%s has %d operands, expected %d", r->name, f->nin, count);
    const struct type *a = &f->in[matrix < 0 ? 1 : matrix], *last = &f->in[count - 1];
    int inner = matrix < 0 ? 1 : 2;
    if (a->rank < inner || last->rank < inner - 1)
        return fail(f->d, "operands of rank %d and %d, expected matrices", a->rank, last->rank);
    z->batch = a->rank - inner;
    memcpy(z->dims, a->dims, sizeof *z->dims * (size_t)z->batch);
    z->dtype = a->dtype;
    z->m = a->dims[z->batch];
    z->n = a->dims[a->rank - 1];
    if (matrix < 0) /* vectors alone: the first is the shorter one */
        z->k = f->in[0].rank ? f->in[0].dims[f->in[0].rank - 1] : 1;
    else
        z->k = dim_min(f->dims, z->m, z->n);
    z->h = dim_sub(f->dims, z->n, 1);
    z->r = last->rank > 1 ? last->dims[last->rank - 2] : 1;
    z->s = last->rank ? last->dims[last->rank - 1] : 1;
    bool all = attr_int(f->attrs, "job", 'S') == 'A' || attr_int(f->attrs, "all", 0);
    z->u = all ? z->m : z->k;
    z->v = all ? z->n : z->k;
    return true;
}

static bool check_operand(struct infer *f, const struct sizes *z, const char *text, int i)
{
    const struct type *x = &f->in[i];
    int dtype = dtype_named(z->dtype, text[0]), rank = z->batch + (int)strlen(text) - 1;
    if (x->dtype != dtype)
        return fail(f->d, "operand %d is of %s, expected %s", i, dtype_name(x->dtype),
                    dtype_name(dtype));
    if (x->rank != rank)
        return fail(f->d, "operand %d has rank %d, expected %d", i, x->rank, rank);
    for (int j = 0; j < rank; j++) {
        char letter = j < z->batch ? 0 : text[j - z->batch + 1];
        /* k of an operand is what it has: there may be fewer reflectors than columns */
        if (letter != 'k' &&
            !require_equal(f, x->dims[j], letter ? size_named(z, letter) : z->dims[j],
                           named(letter ? "size" : "batch", i, j)))
            return false;
    }
    return true;
}

/* Where real and complex matrices have routines of their own, LAPACK's functions differ in what they take. */
static bool check_kind(struct infer *f, const struct routine *r, int dtype)
{
    static const char complex_name[] = "_complex";
    size_t n = strlen(r->name);
    bool is_complex = dtype_is_complex(dtype);
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        const struct routine *other = &routines[i];
        if (!strncmp(other->name, r->name, n) && !strcmp(other->name + n, complex_name) && is_complex)
            return fail(f->d, "%s of %s, expected a real matrix", r->name, dtype_name(dtype));
        if (!strncmp(other->name, r->name, strlen(other->name)) &&
            !strcmp(r->name + strlen(other->name), complex_name) && !is_complex)
            return fail(f->d, "%s of %s, expected a complex matrix", r->name, dtype_name(dtype));
    }
    return true;
}

static bool check_letters(struct infer *f, const struct routine *r)
{
    char text[WORD];
    for (int i = 0; word(r->letters, i, text); i++) {
        char *those = strchr(text, '=');
        *those++ = 0;
        int64_t v = attr_int(f->attrs, text, those[0]);
        if (v <= 0 || v > CHAR_MAX || !strchr(those, (int)v))
            return fail(f->d, "its attribute `%s` is %lld, expected the code of one of the letters %s", text,
                        (long long)v, those);
    }
    return true;
}

bool infer_linalg(struct infer *f)
{
    const struct routine *r = find(f->attrs, f->d);
    struct sizes z;
    char text[WORD];
    for (int i = 0; i < f->nin; i++)
        if (f->in[i].rank == RANK_UNKNOWN)
            return fail(f->d, "operand %d has no known rank", i);
    if (!r || !check_letters(f, r) || !read_sizes(f, r, &z))
        return false;
    if (r->provider == LIBRARY && z.dtype != DT_F32 && z.dtype != DT_F64 && z.dtype != DT_C64 &&
        z.dtype != DT_C128)
        return fail(f->d, "%s of %s, expected f32, f64, c64 or c128", r->name, dtype_name(z.dtype));
    if (!check_kind(f, r, z.dtype))
        return false;
    for (int i = 0; word(r->operands, i, text); i++)
        if (!check_operand(f, &z, text, i))
            return false;
    int results = 0;
    for (int i = 0; word(r->results, i, text); i++, results++) {
        dim_t dims[MAX_RANK];
        int rank = z.batch;
        if (i >= f->nout)
            return fail(f->d, "%s has more than %d results", r->name, f->nout);
        memcpy(dims, z.dims, sizeof *dims * (size_t)z.batch);
        for (int j = 1; text[j]; j++)
            dims[rank++] = size_named(&z, text[j]);
        infer_out(f, i, dtype_named(z.dtype, text[0]), rank, dims);
    }
    return results == f->nout || fail(f->d, "%s has %d results, not %d", r->name, results, f->nout);
}

/* ---- moving between tensors and matrices ---- */

struct matrix_place {
    const struct tensor *t; /* NULL: a result that is not wanted */
    int64_t rows, cols;     /* 1 where there are fewer dims */
    int dtype;              /* as the routine sees it */
    bool by_columns;
};

static struct matrix_place place_of(const struct tensor *t, const struct sizes *z, const char *text,
                             enum provider provider)
{
    int dims = (int)strlen(text) - 1, own = dtype_is_complex(z->dtype) ? DT_C128 : DT_F64;
    struct matrix_place p = {t, 1, 1, own, provider == LIBRARY};
    if (dims > 0)
        p.cols = t ? t->dims[t->rank - 1] : size_named(z, text[dims]);
    if (dims > 1)
        p.rows = t ? t->dims[t->rank - 2] : size_named(z, text[1]);
    if (provider == LIBRARY)
        p.dtype = dtype_named(z->dtype, text[0]);
    return p;
}

/* `count` matrices from b on between tensor and routine. */
static void load(const struct matrix_place *p, int64_t b, int64_t count, void *to)
{
    size_t size = dtype_bytes(p->t->dtype);
    int64_t n = p->rows * p->cols;
    if (!p->by_columns && count * n > 0)
        dtype_convert(p->dtype, to, p->t->dtype, element(p->t, b * n), (size_t)(count * n), false);
    for (int64_t j = 0; p->by_columns && j < p->cols; j++)
        for (int64_t i = 0; i < p->rows; i++)
            memcpy((char *)to + (size_t)(i + j * p->rows) * size, element(p->t, b * n + i * p->cols + j), size);
}

static void store(const struct matrix_place *p, int64_t b, int64_t count, const void *from)
{
    size_t size = dtype_bytes(p->t->dtype);
    int64_t n = p->rows * p->cols;
    if (!p->by_columns && count * n > 0)
        dtype_convert(p->t->dtype, element(p->t, b * n), p->dtype, from, (size_t)(count * n), false);
    for (int64_t j = 0; p->by_columns && j < p->cols; j++)
        for (int64_t i = 0; i < p->rows; i++)
            memcpy(element(p->t, b * n + i * p->cols + j), (const char *)from + (size_t)(i + j * p->rows) * size, size);
}

/* ---- the walk ---- */

/* LAPACK counts elements in 32 bits, also those of its own work: several squares of the smaller side. */
static bool fits_library(const struct sizes *z, struct diag *d)
{
    enum { SQUARES = 8 };
    bool fits = z->m * z->n <= INT32_MAX && z->m * z->u <= INT32_MAX && z->v * z->n <= INT32_MAX &&
                z->k * z->k <= INT32_MAX / SQUARES;
    return fits || fail(d, "a matrix of %lld x %lld is too large for LAPACK, which counts in 32 bits", (long long)z->m,
                        (long long)z->n);
}

static bool set_sizes(struct op_call *c, struct work *w, const struct routine *r, struct sizes *z)
{
    struct type in[LINALG_OPERANDS];
    struct dim_table scratch = {0};
    struct infer f = {.op = c->op,
                      .attrs = c->attrs,
                      .dims = &scratch,
                      .d = w->d,
                      .concrete = true,
                      .nin = c->nin,
                      .in = in};
    if (c->nin > LINALG_OPERANDS || c->nout > LINALG_RESULTS)
        return fail(w->d, "%d operands and %d results", c->nin, c->nout);
    for (int i = 0; i < c->nin; i++) {
        in[i] = (struct type){.kind = VK_TENSOR, .dtype = c->in[i]->dtype, .rank = c->in[i]->rank};
        for (int j = 0; j < c->in[i]->rank; j++) {
            in[i].dims[j] = c->in[i]->dims[j];
            if (c->in[i]->dims[j] > INT32_MAX)
                return fail(w->d, "a dimension of %lld, at most %d", (long long)in[i].dims[j],
                            INT32_MAX);
        }
    }
    return read_sizes(&f, r, z) && (r->provider != LIBRARY || fits_library(z, w->d));
}

/* Operands and results, and how many matrices of each are converted at a time. */
struct conversion {
    struct linalg_call l;
    struct matrix_place in[LINALG_OPERANDS], out[LINALG_RESULTS];
    void *of_in[LINALG_OPERANDS], *of_out[LINALG_RESULTS];
    int64_t batch, together;
};

static bool take_matrices(struct op_call *c, const struct routine *r, const struct sizes *z, struct conversion *k)
{
    enum { ELEMENTS = 4096 };
    struct linalg_call *l = &k->l;
    char text[WORD];
    int64_t largest = 1;
    for (int i = 0; i < c->nin && word(r->operands, i, text); i++) {
        k->in[i] = place_of(c->in[i], z, text, r->provider);
        l->in_count[i] = k->in[i].rows * k->in[i].cols;
        l->in_size[i] = dtype_bytes(k->in[i].dtype);
        largest = l->in_count[i] > largest ? l->in_count[i] : largest;
    }
    k->together = r->provider == LIBRARY || largest > ELEMENTS ? 1 : ELEMENTS / largest;
    k->together = k->together < k->batch ? k->together : k->batch;
    for (int i = 0; i < c->nin; i++)
        if (!(k->of_in[i] = work_take(l->w, k->together * l->in_count[i] + 1, l->in_size[i])))
            return false;
    for (int i = 0; word(r->results, i, text); i++) {
        k->out[i] = place_of(wants_result(c, i) ? c->out[i] : NULL, z, text, r->provider);
        l->out_count[i] = k->out[i].rows * k->out[i].cols;
        if (!(k->of_out[i] = work_take(l->w, k->together * l->out_count[i] + 1, dtype_bytes(k->out[i].dtype))))
            return false;
    }
    return true;
}

/* Matrix i of those that are converted. */
static bool run_one(const struct routine *r, struct conversion *k, int64_t i)
{
    struct linalg_call *l = &k->l;
    for (int j = 0; j < LINALG_OPERANDS && k->of_in[j]; j++)
        l->in[j] = (char *)k->of_in[j] + (size_t)(i * l->in_count[j]) * l->in_size[j];
    for (int j = 0; j < LINALG_RESULTS && k->of_out[j]; j++)
        l->out[j] = (char *)k->of_out[j] + (size_t)(i * l->out_count[j]) * dtype_bytes(k->out[j].dtype);
    return r->run(l) || fail_in(l->w->d, "%s", r->name);
}

static bool run(struct op_call *c, struct work *w)
{
    const struct routine *r = find(c->attrs, w->d);
    struct sizes z;
    if (!r || !set_sizes(c, w, r, &z))
        return false;
    struct conversion k = {.l = {.w = w, .attrs = c->attrs, .m = z.m, .n = z.n, .k = z.k, .h = z.h, .r = z.r, .s = z.s,
                           .u = z.u, .v = z.v, .dtype = z.dtype,
                           .parts = dtype_is_complex(z.dtype) ? 2 : 1},
                     .batch = dims_product(z.dims, 0, z.batch)};
    if (!take_matrices(c, r, &z, &k))
        return false;
    for (int64_t b = 0; b < k.batch; b += k.together) {
        int64_t count = k.batch - b < k.together ? k.batch - b : k.together;
        for (int i = 0; i < c->nin; i++)
            load(&k.in[i], b, count, k.of_in[i]);
        for (int i = 0; i < LINALG_RESULTS && k.of_out[i]; i++)
            memset(k.of_out[i], 0, (size_t)(count * k.l.out_count[i]) * dtype_bytes(k.out[i].dtype));
        for (int64_t i = 0; i < count; i++)
            if (!run_one(r, &k, i))
                return false;
        for (int i = 0; i < LINALG_RESULTS && k.of_out[i]; i++)
            if (k.out[i].t)
                store(&k.out[i], b, count, k.of_out[i]);
    }
    return true;
}

EVAL_AS_WORK(linalg, run)
