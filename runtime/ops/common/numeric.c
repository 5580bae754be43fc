#include "runtime/ops/common/numeric.h"

#include "runtime/ops/common/require.h"

#include "neff/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Large blocks are kept for the next call: a heap that shrinks and grows with each call gets its pages one by one. */
enum { MIN_SPARE = 16 << 10, MAX_SPARES = 8 << 20 };

static size_t total(const struct work_block *b)
{
    size_t bytes = 0;
    for (; b; b = b->next)
        bytes += b->bytes;
    return bytes;
}

static void give_back(struct work *w, struct work_block *b)
{
    if (!w->spares || b->bytes < MIN_SPARE || b->bytes > MAX_SPARES) {
        free(b);
        return;
    }
    if (total(*w->spares) + b->bytes > MAX_SPARES)
        work_drop_spares(w->spares);
    b->next = *w->spares;
    *w->spares = b;
}

/* A spare block of about that size, zeroed, or NULL. */
static struct work_block *reuse(struct work *w, size_t bytes)
{
    struct work_block **at = w->spares;
    while (at && *at && ((*at)->bytes < bytes || (*at)->bytes / 2 > bytes))
        at = &(*at)->next;
    if (bytes < MIN_SPARE || !at || !*at)
        return NULL;
    struct work_block *b = *at;
    *at = b->next;
    memset(b + 1, 0, bytes);
    return b;
}

static struct work_block *block_new(size_t bytes)
{
    struct work_block *b = bytes < memory_total() ? calloc(1, sizeof *b + bytes) : NULL;
    if (b)
        b->bytes = bytes;
    return b;
}

bool with_work(struct op_call *c, bool (*body)(struct op_call *c, struct work *w))
{
    struct work w = {.d = c->env->d, .spares = c->env->work_spares};
    bool ok = body(c, &w);
    while (w.blocks) {
        struct work_block *next = w.blocks->next;
        give_back(&w, w.blocks);
        w.blocks = next;
    }
    return ok;
}

void *work_take(struct work *w, int64_t n, size_t size)
{
    size_t bytes;
    struct work_block *b = NULL;
    if (n >= 0 && !__builtin_mul_overflow((size_t)n, size, &bytes) && !(b = reuse(w, bytes)))
        b = block_new(bytes);
    if (!b) {
        fail_memory(w->d, "out of memory: no room for %lld items of %zu bytes", (long long)n, size);
        return NULL;
    }
    b->next = w->blocks;
    w->blocks = b;
    return b + 1;
}

/* Whether the elements are numbers. */
static bool numeric(struct work *w, const struct tensor *t)
{
    return (t->kind == VK_TENSOR && t->dtype != DT_STR && dtype_valid(t->dtype)) ||
           fail(w->d, "an operand is no tensor of numbers");
}

double *work_doubles(struct work *w, const struct tensor *t)
{
    if (!numeric(w, t))
        return NULL;
    int64_t n = tensor_count(t);
    double *v = WORK(w, double, n);
    if (v)
        dtype_load_f64n(t->dtype, t->data, (size_t)n, v);
    return v;
}

int64_t *work_ints(struct work *w, const struct tensor *t)
{
    if (!numeric(w, t))
        return NULL;
    int64_t n = tensor_count(t), *v = WORK(w, int64_t, n);
    for (int64_t i = 0; v && i < n; i++)
        v[i] = tensor_i64(t, i);
    return v;
}

double _Complex *work_complexes(struct work *w, const struct tensor *t)
{
    int64_t n = tensor_count(t);
    double _Complex *v = WORK(w, double _Complex, n);
    if (v)
        dtype_convert(DT_C128, v, t->dtype, t->data, (size_t)n, false);
    return v;
}

bool work_optional(struct op_call *c, struct work *w, int i, double **out)
{
    *out = NULL;
    return !has_operand(c, i) || (*out = work_doubles(w, c->in[i]));
}

void call_store(struct op_call *c, int i, const double *v)
{
    const struct tensor *t = c->out[i];
    dtype_store_f64n(t->dtype, t->data, (size_t)tensor_count(t), v);
}

bool next_index(int64_t *index, const int64_t *dims, int rank)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dims[i])
            return true;
        index[i] = 0;
    }
    return false;
}

int64_t *broadcast_offsets(struct work *w, const struct tensor *t, const int64_t *dims, int rank)
{
    int64_t n = dims_product(dims, 0, rank), stride[MAX_RANK] = {0}, index[MAX_RANK] = {0},
            step = 1;
    for (int i = t->rank - 1, o = rank - 1; i >= 0; i--, o--)
        if (t->dims[i] != 1 && (o < 0 || t->dims[i] != dims[o])) {
            fail(w->d, "an operand has %lld places in dimension %d, which do not broadcast",
                 (long long)t->dims[i], i);
            return NULL;
        }
    int64_t *at = WORK(w, int64_t, n);
    if (!at || n == 0)
        return at;
    for (int i = t->rank - 1, o = rank - 1; i >= 0 && o >= 0; i--, o--) {
        stride[o] = t->dims[i] == 1 ? 0 : step;
        step *= t->dims[i];
    }
    int64_t i = 0;
    do {
        int64_t offset = 0;
        for (int d = 0; d < rank; d++)
            offset += index[d] * stride[d];
        at[i++] = offset;
    } while (next_index(index, dims, rank));
    return at;
}

void panel_f64(const double *a, int64_t stride, int rows, int64_t k, const double *b,
               double acc[PANEL_ROWS][PANEL])
{
    kernels_get()->panel_f64(acc[0], PANEL, a, stride, (size_t)rows, (const double(*)[PANEL])b,
                             (size_t)k, false);
}

/* Rows i0.. of a panel of b, as much of it as stays in cache with rows of a. */
enum { PANEL_DEPTH = 64 };
static void load_panel(double (*panel)[PANEL], const double *b, int64_t n, int64_t width,
                       int64_t depth)
{
    for (int64_t i = 0; i < depth; i++, b += n)
        if (width == PANEL)
            memcpy(panel[i], b, sizeof panel[i]);
        else
            memcpy(panel[i], b, (size_t)width * sizeof *b);
}

void multiply_f64(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *y)
{
    double panel[PANEL_DEPTH][PANEL] = {{0}}, part[PANEL_ROWS][PANEL];
    const struct kernel_table *t = kernels_get();
    if (k == 0)
        memset(y, 0, (size_t)(m * n) * sizeof *y);
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        for (int64_t at = 0; at < k; at += PANEL_DEPTH) {
            int64_t depth = k - at < PANEL_DEPTH ? k - at : PANEL_DEPTH;
            load_panel(panel, b + at * n + j, n, width, depth);
            for (int64_t i = 0; i < m; i += PANEL_ROWS) {
                size_t rows = m - i < PANEL_ROWS ? (size_t)(m - i) : PANEL_ROWS;
                double *to = y + i * n + j;
                bool whole = width == PANEL;
                for (size_t r = 0; r < rows && !whole && at > 0; r++)
                    memcpy(part[r], to + (int64_t)r * n, (size_t)width * sizeof *y);
                t->panel_f64(whole ? to : part[0], whole ? n : PANEL, a + i * k + at, k, rows,
                             (const double(*)[PANEL])panel, (size_t)depth, at > 0);
                for (size_t r = 0; r < rows && !whole; r++)
                    memcpy(to + (int64_t)r * n, part[r], (size_t)width * sizeof *y);
            }
        }
    }
}

bool f64_is_faster(int64_t m, int64_t n, int64_t k)
{
    enum { LARGE = 16 };
    return m >= LARGE && n >= LARGE && k >= LARGE;
}

bool f64_is_exact(int dtype_a, int dtype_b, int64_t k)
{
    enum { MANTISSA = 53 };
    size_t bits = 8 * (dtype_bytes(dtype_a) + dtype_bytes(dtype_b));
    return bits < MANTISSA && k < (int64_t)1 << (MANTISSA - bits);
}

void f64_to_i64(void *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v;
        memcpy(&v, (char *)y + i * 8, sizeof v);
        int64_t whole = (int64_t)v;
        memcpy((char *)y + i * 8, &whole, sizeof whole);
    }
}

static uint64_t largest_i64(const int64_t *x, int64_t n)
{
    uint64_t max = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = x[i] < 0 ? 0 - (uint64_t)x[i] : (uint64_t)x[i];
        max = v > max ? v : max;
    }
    return max;
}

/* By doubles where these numbers are small enough for sums of k; false: they are not, or there is no memory. */
static bool multiply_small_i64(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b, int64_t *y)
{
    const uint64_t whole = UINT64_C(1) << 53, max_a = largest_i64(a, m * k), max_b = largest_i64(b, k * n);
    if (max_a && max_b && (max_a >= whole || max_b >= whole || max_a > whole / max_b / (uint64_t)k))
        return false;
    double *copy = malloc(sizeof *copy * (size_t)(m * k + k * n));
    if (!copy)
        return false;
    for (int64_t i = 0; i < m * k; i++)
        copy[i] = (double)a[i];
    for (int64_t i = 0; i < k * n; i++)
        copy[m * k + i] = (double)b[i];
    multiply_f64(m, n, k, copy, copy + m * k, (double *)(void *)y);
    f64_to_i64(y, m * n);
    free(copy);
    return true;
}

void multiply_i64(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b, int64_t *y)
{
    if (f64_is_faster(m, n, k) && multiply_small_i64(m, n, k, a, b, y))
        return;
    memset(y, 0, (size_t)(m * n) * sizeof *y);
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++) {
            uint64_t v = (uint64_t)a[i * k + l];
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] = (int64_t)((uint64_t)y[i * n + j] + v * (uint64_t)b[l * n + j]);
        }
}

struct around around_axis(const struct tensor *t, int from, int to)
{
    return (struct around){dims_product(t->dims, 0, from), dims_product(t->dims, from, to),
                           dims_product(t->dims, to, t->rank)};
}

struct image image_of(const struct tensor *t, bool channels_last)
{
    struct image m = {.n = t->dims[0], .channels = t->dims[channel_axis(t->rank, channels_last)]};
    m.positions =
        channels_last ? dims_product(t->dims, 1, t->rank - 1) : dims_product(t->dims, 2, t->rank);
    m.image = m.channels * m.positions;
    m.channel = channels_last ? 1 : m.positions;
    m.pixel = channels_last ? m.channels : 1;
    return m;
}

bool infer_vector(struct infer *f, int i, dim_t n)
{
    if (!rank_known(f, i))
        return true;
    const struct type *t = &f->in[i];
    if (t->rank == 1)
        return require_equal(f, t->dims[0], n, between(i, -1, 0));
    return fail(f->d, "operand %d of %s has rank %d, expected 1", i, op_name(f->op), t->rank);
}

bool infer_same(struct infer *f, int i, int j)
{
    return infer_out(f, i, f->in[j].dtype, f->in[j].rank, f->in[j].dims);
}
