/*
 * xop.h: operators of one's own for xcc, in C.
 *
 *     #include <xop.h>
 *
 *     static bool run(const struct xop_call *c)
 *     {
 *         const float *x = c->in[0].data;
 *         float *y = c->out[0].data;
 *         int64_t n = c->in[0].dims[0] * c->in[0].dims[1], first, end;
 *         double slope = xop_float(c, "slope");
 *         xop_share(c, n, &first, &end);
 *         for (int64_t i = first; i < end; i++)
 *             y[i] = x[i] < 0 ? (float)(slope * x[i]) : x[i];
 *         return true;
 *     }
 *
 *     static const struct xop_operator leaky = {
 *         .domain = "my.ops",
 *         .name = "Leaky",
 *         .version = 1,
 *         .flags = XOP_MULTICORE,
 *         .operands = "x: f32[n, m]",
 *         .results = "y: f32[n, m]",
 *         .attributes = "slope: float = 0.1",
 *         .run = run,
 *     };
 *     XOP_LIBRARY(&leaky)
 *
 *     cc -O2 -shared -fPIC leaky.c -o leaky.so
 *     xcc model.onnx --custom-op leaky.so -o model.neff
 *     xrun model.neff x.npy --allow-code
 *
 * ONNX models call it as operator `Leaky` of domain `my.ops`, HLO and StableHLO programs by a
 * custom call to "my.ops::Leaky" (or "my.ops.Leaky").
 *
 * An operator is a function of its operands and attributes: the compiler computes it ahead when its
 * operands are constants, runs it once for two equal calls, and leaves it out when nobody wants its
 * results. Several threads may be in it at once: it has no variables but local ones, or guards
 * them.
 *
 * Declarations are text.
 *
 * operands, results: NAME: TYPE[DIMS], separated by commas. After an operand's NAME,
 *     ?    says that it may be left out (its data is NULL then);
 *     ...  of the last: that any number of these follow.
 *
 * TYPE: an element type (f32, bf16, i64, bool, ...), several (f32|f64), a set (floats, ints,
 *     signed, unsigned, numbers, any), or T=floats: from then on T is the type found.
 *
 * DIMS: numbers, names, or sums, products and floordiv(a,b), ceildiv(a,b), mod(a,b), min(a,b),
 *     max(a,b) of those. A name has the same value everywhere; `_` is any size; `...`, which comes
 *     first, stands for any number of dimensions, the same everywhere. In results a name may also
 *     be an attribute of kind int, and `?` is a size that only `run` knows (xop_resize). Without
 *     [DIMS] an operand has any shape.
 *
 *     Results of which the text names no type or no dims get them from `shape`.
 *
 * attributes: NAME: KIND or NAME: KIND = DEFAULT, separated by commas. Kinds: int, float, string,
 *     ints, floats, and number, an int or a float as the model gives it: xop_float reads both, and
 *     xop_ints gives one number for an int, none for a float. A default list is written 1 2 3;
 *     without a default models must give the attribute.
 */
#ifndef XOP_H
#define XOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    XOP_ABI = 1,
    XOP_MAX_RANK = 12,
    XOP_CORES = 8,         /* of the GpSimd engine */
    XOP_SCRATCH = 1 << 16, /* bytes of memory of its own (TCM) that each has, aligned to 64 */
    XOP_PARTITIONS = 16,   /* of the 128 partitions that each serves: 16 * core and on */
};

/* The numbers of ONNX's TensorProto.DataType. */
enum xop_dtype {
    XOP_F32 = 1,
    XOP_U8 = 2,
    XOP_I8 = 3,
    XOP_U16 = 4,
    XOP_I16 = 5,
    XOP_I32 = 6,
    XOP_I64 = 7,
    XOP_BOOL = 9,
    XOP_F16 = 10,
    XOP_F64 = 11,
    XOP_U32 = 12,
    XOP_U64 = 13,
    XOP_C64 = 14,
    XOP_C128 = 15,
    XOP_BF16 = 16,
};

struct xop_tensor {
    void *data;    /* element 0, 0, ...; NULL: left out, or (in shape functions) not known */
    int32_t dtype; /* enum xop_dtype */
    int32_t rank;
    int64_t dims[XOP_MAX_RANK];
    int64_t strides[XOP_MAX_RANK]; /* elements to the next index of each dimension */
};

struct xop_call;
struct xop_operator;

/* What the runtime does for an operator; use the functions below. */
struct xop_host {
    bool (*fail)(const struct xop_call *c, const char *text);
    int64_t (*get_int)(const struct xop_call *c, const char *name);
    double (*get_float)(const struct xop_call *c, const char *name);
    const char *(*get_string)(const struct xop_call *c, const char *name, size_t *size);
    const int64_t *(*get_ints)(const struct xop_call *c, const char *name, int *count);
    const double *(*get_floats)(const struct xop_call *c, const char *name, int *count);
    void *(*resize)(const struct xop_call *c, int result, const int64_t *dims);
    int64_t (*dim)(const struct xop_call *c, int op, int64_t a, int64_t b);
};

struct xop_call {
    int32_t nin, nout; /* as declared, operands that repeat counted; all have an entry */
    const struct xop_tensor *in;
    struct xop_tensor *out; /* memory is cleared */
    int32_t core, cores;    /* 0, 1; with XOP_MULTICORE 0..7, 8 */
    void *scratch;          /* XOP_SCRATCH bytes of this core; contents are not kept */
    const struct xop_operator *op;
    const struct xop_host *host;
    void *state; /* the runtime's */
};

enum xop_flags {
    /* `run` is called for each of XOP_CORES cores, which share the work: each writes elements that
     * no other core reads or writes. They run at once or one after the other, in any order: none
     * may wait for another. */
    XOP_MULTICORE = 1,
    /* `shape` computes dims by xop_dim_* only, and so serves sizes that are not known yet. */
    XOP_SYMBOLIC = 2,
};

struct xop_operator {
    const char *domain, *name;
    int32_t version; /* 1 or more: from this operator set of the domain on models mean this one */
    uint32_t flags;
    const char *operands, *results, *attributes; /* see above; attributes may be NULL */
    /*
     * Fills dtype, rank and dims of c->out where `results` does not say them; NULL: it says all.
     * Data of operands is NULL. Without XOP_SYMBOLIC it is called with numbers only, also for
     * trial: it computes from its operands' sizes and refuses what does not fit (xop_fail).
     */
    bool (*shape)(const struct xop_call *c);
    bool (*run)(const struct xop_call *c); /* false after xop_fail */
    const void *user;                      /* the operator's own: c->op->user */
};

struct xop_library {
    uint32_t abi, operator_size;
    int32_t count;
    int32_t reserved;
    const struct xop_operator *const *operators;
};

#ifdef __cplusplus
#define XOP_PUBLIC_ extern "C" __attribute__((visibility("default"))) const
#else
#define XOP_PUBLIC_ __attribute__((visibility("default"))) const
#endif
/* What a shared object has: once, in one of its files, with the addresses of all its operators. Who
 * links several libraries into one program gives each another name, -DXOP_LIBRARY_NAME=... */
#ifndef XOP_LIBRARY_NAME
#define XOP_LIBRARY_NAME xop_library
#endif
#define XOP_LIBRARY(...)                                                                           \
    static const struct xop_operator *const xop_operators_[] = {__VA_ARGS__};                      \
    XOP_PUBLIC_ struct xop_library XOP_LIBRARY_NAME;                                               \
    XOP_PUBLIC_ struct xop_library XOP_LIBRARY_NAME = {                                            \
        XOP_ABI, sizeof(struct xop_operator), sizeof xop_operators_ / sizeof *xop_operators_, 0,   \
        xop_operators_};

/* The call fails with this text: what was found, what was expected. False, to be returned. */
static inline bool xop_fail(const struct xop_call *c, const char *text)
{
    return c->host->fail(c, text);
}

/* Attributes as declared; what the declaration does not have reads as 0, "" or no numbers. */
static inline int64_t xop_int(const struct xop_call *c, const char *name)
{
    return c->host->get_int(c, name);
}
static inline double xop_float(const struct xop_call *c, const char *name)
{
    return c->host->get_float(c, name);
}
static inline const char *xop_string(const struct xop_call *c, const char *name, size_t *size)
{
    return c->host->get_string(c, name, size); /* not terminated */
}
static inline const int64_t *xop_ints(const struct xop_call *c, const char *name, int *count)
{
    return c->host->get_ints(c, name, count);
}
static inline const double *xop_floats(const struct xop_call *c, const char *name, int *count)
{
    return c->host->get_floats(c, name, count);
}

/* Memory for a result of which `results` leaves a size open (`?`), once its dims are known. In
 * `run`, on core 0 of an operator without XOP_MULTICORE. NULL after a failure: return false. */
static inline void *xop_resize(const struct xop_call *c, int result, const int64_t *dims)
{
    return c->host->resize(c, result, dims);
}

/* This core's part of n pieces of work: first <= i < end. */
static inline void xop_share(const struct xop_call *c, int64_t n, int64_t *first, int64_t *end)
{
    int64_t each = n / c->cores, more = n % c->cores;
    *first = c->core * each + (c->core < more ? c->core : more);
    *end = *first + each + (c->core < more);
}

static inline int64_t xop_count(const struct xop_tensor *t)
{
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* Arithmetic of shape functions, also on sizes that are not known yet. */
enum xop_dim_op { XOP_ADD = 1, XOP_MUL, XOP_FLOORDIV, XOP_CEILDIV, XOP_MOD, XOP_MIN, XOP_MAX };
static inline int64_t xop_dim(const struct xop_call *c, enum xop_dim_op op, int64_t a, int64_t b)
{
    return c->host->dim(c, op, a, b);
}
/* Whether a size is a number. */
static inline bool xop_known(int64_t dim)
{
    return dim > INT64_MIN + (INT64_C(1) << 31);
}

#ifdef __cplusplus
}
#endif
#endif
