/*
 * Position of the extreme along an axis: argmax, argmin.
 */
#include "neff/base/use.h"
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/typed.h"

static bool infer_arg(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axis, rank = 0;
    dim_t dims[MAX_RANK];
    if (!dtype_is_float(x->dtype) && !dtype_is_int(x->dtype) && x->dtype != DT_BOOL)
        return fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
    if (x->rank < 0)
        return infer_out(f, 0, DT_I64, RANK_UNKNOWN, NULL);
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
        return false;
    if (x->dims[axis] == 0)
        return fail(f->d, "axis %d has size 0, so no element is the extreme one", axis);
    for (int i = 0; i < x->rank; i++)
        if (i != axis || attr_int(f->attrs, "keepdims", 1))
            dims[rank++] = i == axis ? 1 : x->dims[i];
    return infer_out(f, 0, DT_I64, rank, dims);
}

/* Whether element a beats element b; NaN beats everything. */
static bool beats(const struct tensor *x, int64_t a, int64_t b, bool max, bool last)
{
    int class = dtype_class(x->dtype);
    if (class == DTC_FLOAT) {
        double p = tensor_f64(x, a), q = tensor_f64(x, b);
        if (p != p || q != q)
            return p != p && (last || q == q);
        return p == q ? last : (p > q) == max;
    }
    int64_t p = tensor_i64(x, a), q = tensor_i64(x, b);
    if (p == q)
        return last;
    return (class == DTC_SINT ? p > q : (uint64_t)p > (uint64_t)q) == max;
}

/*
 * The same in the element's own type: of a line of neighbours first the extreme is found, then where it lies; of many
 * lines side by side some are compared at a time. Always for the greatest: elements are read through an order, by
 * which the least of floats are the greatest of their negatives, and integers, signed or not, are signed ones of their
 * width with some bits turned over.
 */
enum { WIDTH = 32, LINES = 512 };
#define READ_FLOAT(x, turn)   ((x) * (turn)) /* by 1 or -1 */
#define READ_INTEGER(x, turn) ((x) ^ (turn))
#define ARG(id, T, READ)                                                                                               \
    static __attribute__((noinline)) int64_t find_##id(const T *x, int64_t n, T v, bool nan, bool last)                \
    {                                                                                                                  \
        for (int64_t at = 0; at < n; at += WIDTH) {                                                                    \
            int64_t m = n - at < WIDTH ? n - at : WIDTH, from = last ? n - at - m : at;                                \
            unsigned any = 0;                                                                                          \
            for (int64_t j = 0; j < m; j++)                                                                            \
                any |= nan ? x[from + j] != x[from + j] : x[from + j] == v;                                            \
            for (int64_t j = 0; any && j < m; j++) {                                                                   \
                int64_t k = from + (last ? m - 1 - j : j);                                                             \
                if (nan ? x[k] != x[k] : x[k] == v)                                                                    \
                    return k;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static int64_t line_##id(const T *x, int64_t n, T turn, bool last)                                                 \
    {                                                                                                                  \
        T best[WIDTH];                                                                                                 \
        unsigned nan = 0;                                                                                              \
        int64_t at = 0;                                                                                                \
        for (int j = 0; j < WIDTH; j++)                                                                                \
            best[j] = READ(x[0], turn);                                                                                \
        for (; at + WIDTH <= n; at += WIDTH)                                                                           \
            for (int j = 0; j < WIDTH; j++) {                                                                          \
                T v = READ(x[at + j], turn);                                                                           \
                nan |= v != v;                                                                                         \
                best[j] = v > best[j] ? v : best[j];                                                                   \
            }                                                                                                          \
        for (; at < n; at++) {                                                                                         \
            T v = READ(x[at], turn);                                                                                   \
            nan |= v != v;                                                                                             \
            best[0] = v > best[0] ? v : best[0];                                                                       \
        }                                                                                                              \
        for (int j = 1; j < WIDTH; j++)                                                                                \
            best[0] = best[j] > best[0] ? best[j] : best[0];                                                           \
        return find_##id(x, n, READ(best[0], turn), nan, last);                                                        \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void lines_##id(const T *x, int64_t n, int64_t step, int64_t lines,   \
                                                                 T turn, bool last, int64_t *z)                        \
    {                                                                                                                  \
        T best[LINES];                                                                                                 \
        int32_t place[LINES];                                                                                          \
        for (int64_t j = 0; j < lines; j++)                                                                            \
            best[j] = READ(x[j], turn), place[j] = 0;                                                                  \
        for (int32_t k = 1; k < n; k++)                                                                                \
            for (int64_t j = 0; j < lines; j++) {                                                                      \
                T v = READ(x[k * step + j], turn), b = best[j];                                                        \
                bool more = (v > b) | (last & (v == b)) | ((v != v) & (last | (b == b)));                              \
                best[j] = more ? v : b;                                                                                \
                place[j] = more ? k : place[j];                                                                        \
            }                                                                                                          \
        for (int64_t j = 0; j < lines; j++)                                                                            \
            z[j] = place[j];                                                                                           \
    }                                                                                                                  \
    static void arg_##id(const T *x, int64_t outer, int64_t n, int64_t inner, T turn, bool last, int64_t *z)           \
    {                                                                                                                  \
        for (int64_t o = 0; o < outer; o++, x += n * inner, z += inner) {                                              \
            if (inner == 1)                                                                                            \
                z[0] = line_##id(x, n, turn, last);                                                                    \
            for (int64_t i = 0; inner > 1 && i < inner; i += LINES) {                                                  \
                int64_t lines = inner - i < LINES ? inner - i : LINES;                                                 \
                if (last)                                                                                              \
                    lines_##id(x + i, n, inner, lines, turn, true, z + i);                                             \
                else                                                                                                   \
                    lines_##id(x + i, n, inner, lines, turn, false, z + i);                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
#define ARG_FLOAT(id, T)  ARG(id, T, READ_FLOAT)
#define ARG_SIGNED(id, T) ARG(id, T, READ_INTEGER)
TYPED_FLOATS(ARG_FLOAT)
TYPED_SIGNED(ARG_SIGNED)

static bool typed_arg(const struct tensor *x, int64_t outer, int64_t n, int64_t inner, bool max,
                      bool last, int64_t *z)
{
    if (x->dtype == DT_F32 && inner == 1 && !last) {
        const struct kernel_table *k = kernels_get();
        for (int64_t o = 0; o < outer; o++) {
            struct in_row line = {(const float *)x->data + o * n, 1};
            z[o] = (int64_t)(max ? k->argmax(line, (size_t)n) : k->argmin(line, (size_t)n));
        }
        return true;
    }
    switch (x->dtype) {
#define RUN(id, run, T, turn)                                                                                          \
    case id:                                                                                                           \
        if (!USED(ARG_##id))                                                                                           \
            return false;                                                                                              \
        arg_##run(x->data, outer, n, inner, (T)(turn), last, z);                                                       \
        return true;
#define RUN_FLOAT(id, T)  RUN(id, id, T, max ? 1 : -1)
#define RUN_SIGNED(id, T) RUN(id, id, T, max ? 0 : -1)
        TYPED_FLOATS(RUN_FLOAT)
        TYPED_SIGNED(RUN_SIGNED)
        RUN(DT_U8, DT_I8, int8_t, max ? INT8_MIN : INT8_MAX)
        RUN(DT_U16, DT_I16, int16_t, max ? INT16_MIN : INT16_MAX)
        RUN(DT_U32, DT_I32, int32_t, max ? INT32_MIN : INT32_MAX)
        RUN(DT_U64, DT_I64, int64_t, max ? INT64_MIN : INT64_MAX)
    }
    return false;
}

static bool eval_arg(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int axis = call_axis(c, "axis", 0, x->rank);
    int64_t outer = dims_product(x->dims, 0, axis), n = x->dims[axis],
            inner = dims_product(x->dims, axis + 1, x->rank);
    bool last = attr_int(c->attrs, "select_last_index", 0);
    int64_t *z = c->out[0]->data;
    if (n == 0 && tensor_count(c->out[0]) > 0)
        return fail(c->env->d, "an axis of size 0 has no extreme element");
    if (n <= INT32_MAX && typed_arg(x, outer, n, inner, c->op == OP_argmax, last, z))
        return true;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t first = o * n * inner + i, best = 0;
            for (int64_t k = 1; k < n; k++)
                if (beats(x, first + k * inner, first + best * inner, c->op == OP_argmax, last))
                    best = k;
            z[o * inner + i] = best;
        }
    return true;
}

INFER_AS(argmax, infer_arg)
INFER_AS(argmin, infer_arg)
EVAL_AS(argmax, eval_arg)
EVAL_AS(argmin, eval_arg)
