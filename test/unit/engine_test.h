/*
 * What tests of instructions share: a program of one kernel on random buffers, and a reference
 * that executes it element by element in double.
 */
#ifndef TEST_UNIT_ENGINE_TEST_H
#define TEST_UNIT_ENGINE_TEST_H

#include "runtime/exec/exec.h"
#include "runtime/ops/common/elementwise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BUFFERS = 10 };

/* A program of one kernel; slots are inputs but for the last `nout`, which are results that start
 * as inputs' copies. */
struct bench {
    struct program *p;
    struct kernel *k;
    int n;
    struct tensor buffer[MAX_BUFFERS];
    bool written[MAX_BUFFERS];
};

static uint64_t seed = 1;
static inline double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static inline void begin(struct bench *b)
{
    memset(b, 0, sizeof *b);
    b->p = program_new();
    ARENA_GROW(&b->p->arena, b->p->regions, b->p->nregions, b->p->regions_cap);
    b->p->nregions = 1;
    ARENA_GROW(&b->p->arena, b->p->kernels, b->p->nkernels, b->p->kernels_cap);
    b->p->nkernels = 1;
    b->k = &b->p->kernels[0];
    b->k->name = "test";
    b->k->flops = 1 << 30; /* worth all threads */
}

static inline int buffer(struct bench *b, int dtype, int64_t elements, bool written)
{
    struct diag d = {0};
    int i = b->n++;
    b->buffer[i].kind = VK_NONE;
    assert_true(tensor_alloc(&b->buffer[i], dtype, 1, &elements, &d));
    for (int64_t k = 0; k < elements; k++) {
        double v = 4 * uniform() - 2;
        dtype_store_f64(dtype, b->buffer[i].data, (size_t)k,
                        dtype_class(dtype) == DTC_FLOAT ? v : floor(10 * uniform()));
    }
    b->written[i] = written;
    struct slot s = {
        .name = "buffer", .type = type_tensor(dtype, 1, &elements), .data = {.kind = VK_NONE}};
    s.kind = written ? SLOT_PLANNED : SLOT_INPUT;
    s.is_output = written;
    return program_add_slot(b->p, s);
}

static inline int grid(struct bench *b, int64_t n)
{
    b->k->grid[b->k->ngrid] = n;
    b->k->nvars++;
    return b->k->ngrid++;
}

/* Row-major steps over counts; the inner step and padding after rows as given. */
static inline struct ap pattern(int slot, int dtype, int rank, const int64_t *counts, int64_t inner,
                                int64_t padding)
{
    struct ap a = {.mem = MEM_HBM, .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .tensor = slot};
    int64_t step = inner;
    for (int i = rank - 1; i >= 0; i--) {
        a.dim[i] = (struct ap_dim){.step = step, .count = counts[i]};
        step = step * counts[i] + padding;
    }
    return a;
}

static inline void clip(struct bench *b, struct ap *a, int dim, struct ap_clip clip)
{
    a->dim[dim].clip = arena_copy(&b->p->arena, &clip, sizeof clip);
}

/* Dim `dim` becomes tiles of `tile` elements along variable var, cut at the edge. */
static inline void tiled(struct bench *b, struct ap *a, int dim, int var, int64_t tile)
{
    affine_set(&a->offset, &b->p->arena, var,
               affine_coef(&a->offset, var) + a->dim[dim].step * tile);
    clip(b, a, dim, (struct ap_clip){var, tile, a->dim[dim].count});
    a->dim[dim].count = tile;
}

static inline struct insn *add(struct bench *b, enum opcode op)
{
    return kernel_add(b->p, b->k, op);
}

/* ---- the reference ---- */

static inline int64_t affine_now(const struct affine *a, const int64_t *vars)
{
    int64_t v = a->base;
    for (int i = 0; i < a->nterms; i++)
        v += a->terms[i].coef * vars[a->terms[i].var];
    return v;
}

static inline int64_t count_now(const struct ap *a, int dim, const int64_t *vars)
{
    const struct ap_dim *d = &a->dim[dim];
    int64_t max = d->clip ? d->clip->limit - d->clip->factor * vars[d->clip->var] : d->count;
    return max < d->count ? max : d->count;
}

static inline int64_t place(const struct ap *a, const int64_t *at, const int64_t *vars)
{
    int64_t v = affine_now(&a->offset, vars);
    for (int i = 0; i < a->rank; i++)
        v += a->dim[i].step * at[i];
    return v;
}

static inline double get(const struct bench *b, const struct ap *a, const int64_t *at,
                         const int64_t *vars)
{
    return tensor_f64(&b->buffer[a->tensor], place(a, at, vars));
}

static inline void put(struct bench *b, const struct ap *a, const int64_t *at, const int64_t *vars,
                       double v)
{
    if (dtype_is_int(a->dtype))
        v = nearbyint(v);
    dtype_store_f64(a->dtype, b->buffer[a->tensor].data, (size_t)place(a, at, vars), v);
}

static inline double function(int op, double x, double y, double p, double q)
{
    if (op == OP_clip)
        return fmin(fmax(x, p), q);
    return ew_row((enum op)op)->f(x, y, p, q);
}

static inline double elementwise(const struct bench *b, const struct insn *i, const int64_t *at,
                                 const int64_t *vars)
{
    double x = i->op == INSN_memset ? 0 : get(b, &i->ap[1], at, vars);
    int f = i->func[0], g = i->func[1];
    switch (i->op) {
    case INSN_memset:
        return i->flt[0];
    case INSN_tensor_tensor:
        return function(f, x, get(b, &i->ap[2], at, vars), 0, 0);
    case INSN_tensor_scalar:
        x = i->imm[0].base ? function(f, i->flt[0], x, 0, 0) : function(f, x, i->flt[0], 0, 0);
        return i->imm[1].base ? function(g, i->flt[1], x, 0, 0) : function(g, x, i->flt[1], 0, 0);
    case INSN_scalar_tensor_tensor:
        x = i->imm[0].base ? function(f, i->flt[0], x, 0, 0) : function(f, x, i->flt[0], 0, 0);
        return i->imm[1].base ? function(g, get(b, &i->ap[2], at, vars), x, 0, 0)
                              : function(g, x, get(b, &i->ap[2], at, vars), 0, 0);
    case INSN_select:
        return x != 0 ? get(b, &i->ap[2], at, vars) : get(b, &i->ap[3], at, vars);
    case INSN_activation:
        x *= i->ap[2].mem ? get(b, &i->ap[2], at, vars) : i->flt[0];
        x += i->ap[3].mem ? get(b, &i->ap[3], at, vars) : 0;
        return function(f, x, 0, i->flt[1], i->flt[2]);
    default:
        return x;
    }
}

/* Next place in counts; false after the last. */
static inline bool next(int64_t *at, const int64_t *count, int rank)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < count[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static inline void reference_row(struct bench *b, const struct insn *i, int64_t *at, int64_t n,
                                 const int64_t *vars)
{
    int last = i->ap[1].rank - 1;
    double mean = 0, variance = 0, max = -INFINITY, sum = 0, *x = calloc((size_t)n, sizeof *x);
    const struct ap *src = i->op == INSN_bn_stats ? &i->ap[2] : &i->ap[1];
    last = src->rank - 1;
    for (int64_t k = 0; k < n; k++) {
        at[last] = k;
        x[k] = get(b, src, at, vars) * (i->op == INSN_softmax ? i->flt[0] : 1);
        mean += x[k] / (double)n;
        max = fmax(max, x[k]);
    }
    for (int64_t k = 0; k < n; k++) {
        variance += (i->imm[0].base && i->op == INSN_layer_norm ? x[k] * x[k]
                                                                : (x[k] - mean) * (x[k] - mean)) /
                    (double)n;
        sum += exp(x[k] - max);
    }
    at[last] = 0;
    if (i->op == INSN_bn_stats) {
        put(b, &i->ap[0], at, vars, mean);
        put(b, &i->ap[1], at, vars, variance);
    }
    double r = i->flt[0];
    for (int64_t k = 0; k < n && i->op != INSN_bn_stats; k++) {
        int64_t column[MAX_AP_RANK] = {0};
        at[last] = k;
        column[0] = k;
        double v;
        if (i->op == INSN_softmax) {
            v = i->imm[0].base ? x[k] - max - log(sum) : exp(x[k] - max) / sum;
        } else if (i->op == INSN_layer_norm) {
            v = (i->imm[0].base ? x[k] : x[k] - mean) / sqrt(variance + i->flt[0]);
            v *= i->ap[2].mem ? get(b, &i->ap[2], column, vars) : 1;
            v += i->ap[3].mem ? get(b, &i->ap[3], column, vars) : 0;
        } else {
            v = r = function(i->func[1], function(i->func[0], x[k], r, 0, 0),
                             get(b, &i->ap[2], at, vars), 0, 0);
        }
        put(b, &i->ap[0], at, vars, v);
    }
    free(x);
}

static inline void reference_reduce(struct bench *b, const struct insn *i, const int64_t *count,
                                    const int64_t *vars)
{
    const struct ap *src = &i->ap[1];
    int outer = src->rank - (int)i->imm[0].base;
    int64_t at[MAX_AP_RANK] = {0};
    do {
        double v = i->func[0] == OP_add   ? 0
                   : i->func[0] == OP_mul ? 1
                   : i->func[0] == OP_max ? -INFINITY
                                          : INFINITY;
        do
            v = function(i->func[0], v, get(b, src, at, vars), 0, 0);
        while (next(at + outer, count + outer, src->rank - outer));
        v *= i->flt[0];
        if (i->imm[1].base)
            v = function(i->func[0], get(b, &i->ap[0], at, vars), v, 0, 0);
        put(b, &i->ap[0], at, vars, v);
    } while (outer && next(at, count, outer));
}

static inline void reference_matmul(struct bench *b, const struct insn *i, const int64_t *vars)
{
    const struct ap *c = &i->ap[0], *w = &i->ap[1], *a = &i->ap[2];
    int nb = a->rank - 2;
    int64_t batch[3] = {1, 1, 1};
    for (int r = 0; r < nb; r++)
        batch[r] = a->dim[r].count;
    for (int64_t n = 0; n < count_now(c, 0, vars); n++)
        for (int64_t m = 0; m < count_now(c, 1, vars); m++) {
            int64_t to[2] = {n, m}, at[MAX_AP_RANK] = {0}, wt[MAX_AP_RANK] = {0};
            double sum = i->imm[0].base ? get(b, c, to, vars) : 0;
            do {
                for (int64_t k = 0; k < count_now(a, nb + 1, vars); k++) {
                    at[nb] = n, at[nb + 1] = k, wt[nb] = k, wt[nb + 1] = m;
                    memcpy(wt, at, sizeof *at * (size_t)nb);
                    sum += get(b, a, at, vars) * get(b, w, wt, vars);
                }
            } while (nb && next(at, batch, nb));
            put(b, c, to, vars, sum);
        }
}

static inline void reference_insn(struct bench *b, const struct insn *i, const int64_t *vars)
{
    bool rows = i->op == INSN_bn_stats || i->op == INSN_softmax || i->op == INSN_layer_norm ||
                i->op == INSN_tensor_tensor_scan;
    const struct ap *shape = i->op == INSN_tensor_reduce ? &i->ap[1]
                             : i->op == INSN_bn_stats    ? &i->ap[2]
                                                         : &i->ap[0];
    int64_t count[MAX_AP_RANK], at[MAX_AP_RANK] = {0};
    for (int d = 0; d < shape->rank; d++)
        if ((count[d] = count_now(shape, d, vars)) <= 0)
            return;
    if (i->op == INSN_nc_matmul) {
        reference_matmul(b, i, vars);
    } else if (i->op == INSN_tensor_reduce) {
        reference_reduce(b, i, count, vars);
    } else if (rows) {
        do
            reference_row(b, i, at, count[shape->rank - 1], vars);
        while (shape->rank > 1 && (at[shape->rank - 1] = 0, next(at, count, shape->rank - 1)));
    } else {
        do {
            int64_t from[MAX_AP_RANK];
            memcpy(from, at, sizeof from);
            int r = shape->rank - 2;
            if (i->op == INSN_nc_transpose || i->op == INSN_dma_transpose) {
                from[r] = at[r + 1], from[r + 1] = at[r];
                put(b, &i->ap[0], at, vars, get(b, &i->ap[1], from, vars));
            } else if (i->op == INSN_iota) {
                put(b, &i->ap[0], at, vars,
                    (double)(affine_now(&i->imm[0], vars) + i->imm[1].base * at[r] +
                             i->imm[2].base * at[r + 1]));
            } else if (i->op == INSN_affine_select) {
                bool keep = affine_now(&i->imm[0], vars) + i->imm[1].base * at[r] +
                                i->imm[2].base * at[r + 1] >=
                            0;
                put(b, &i->ap[0], at, vars, keep ? get(b, &i->ap[1], at, vars) : i->flt[0]);
            } else if (i->op == INSN_dma_gather) {
                int64_t row = (int64_t)get(b, &i->ap[2], at, vars);
                from[0] = row < 0 ? row + i->imm[0].base : row;
                put(b, &i->ap[0], at, vars, get(b, &i->ap[1], from, vars));
            } else {
                put(b, &i->ap[0], at, vars, elementwise(b, i, at, vars));
            }
        } while (next(at, count, shape->rank));
        if (i->op == INSN_activation && i->ap[4].mem) {
            double sum = 0;
            memset(at, 0, sizeof at);
            do {
                sum += elementwise(b, i, at, vars);
                if (at[shape->rank - 1] == count[shape->rank - 1] - 1) {
                    put(b, &i->ap[4], at, vars, sum);
                    sum = 0;
                }
            } while (next(at, count, shape->rank));
        }
    }
}

static inline void reference(struct bench *b)
{
    int64_t vars[MAX_VARS] = {0};
    int64_t count[MAX_GRID];
    for (int g = 0; g < b->k->ngrid; g++)
        count[g] = b->k->grid[g];
    do
        for (int i = 0; i < b->k->ninsns; i++)
            reference_insn(b, &b->k->insns[i], vars);
    while (b->k->ngrid && next(vars, count, b->k->ngrid));
}

/* ---- running ---- */

/* Results start with what the buffers hold: a call copies it there, since planned memory starts as
 * anything. */
static inline void add_steps(struct bench *b)
{
    struct program *p = b->p;
    struct program_region *r = &p->regions[0];
    r->params = ARENA_ARRAY(&p->arena, int32_t, b->n * 2);
    r->results = ARENA_ARRAY(&p->arena, int32_t, b->n);
    p->output_names = ARENA_ARRAY(&p->arena, const char *, b->n);
    r->steps = ARENA_ARRAY(&p->arena, struct step, b->n + 1);
    p->calls = ARENA_ARRAY(&p->arena, struct call, b->n);
    for (int i = 0, n = b->n; i < n; i++) {
        int in = i;
        if (b->written[i]) {
            struct slot s = p->slots[i];
            s.kind = SLOT_INPUT, s.is_output = false;
            in = program_add_slot(p, s);
            int32_t *ids = ARENA_ARRAY(&p->arena, int32_t, 2);
            ids[0] = in, ids[1] = i;
            p->calls[p->ncalls] = (struct call){
                .op = OP_identity, .nin = 1, .nout = 1, .in = ids, .out = ids + 1, .node = -1};
            r->steps[r->nsteps++] = (struct step){.kind = STEP_CALL, .index = p->ncalls++};
            p->output_names[r->nresults] = "out";
            r->results[r->nresults++] = i;
        }
        r->params[r->nparams++] = in;
    }
    r->steps[r->nsteps++] = (struct step){.kind = STEP_LAUNCH};
}

static inline bool close_enough(const struct tensor *t, int64_t i, double x, double y,
                                double tolerance)
{
    static const double units[DT_END] = {[DT_BF16] = 1.0 / 128, [DT_F16] = 1.0 / 1024};
    double unit = units[t->dtype] > 0 ? units[t->dtype] : dtype_is_int(t->dtype) ? 0 : tolerance;
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    return fabs(x - y) <= unit * (fabs(y) + 1) ||
           (dtype_is_int(t->dtype) && tolerance > 0 && fabs(x - y) <= 1);
}

/* Runs with 1 and in every 4th case with 2 and 4 threads, compares bits among them and values with
 * the reference; frees everything. */
static inline void check(struct bench *b, double tolerance)
{
    struct diag d = {0};
    struct tensor first[MAX_BUFFERS] = {{0}};
    add_steps(b);
    assert_true(program_check(b->p, &d));
    struct model *m = model_new(b->p, &d);
    static int cases;
    int max = ++cases % 4 ? 1 : 4;
    for (int threads = 1; threads <= max; threads *= 2) {
        struct context *c = context_new(m, threads, &d);
        for (int i = 0; i < b->n; i++)
            assert_true(context_set_input(c, i, &b->buffer[i], &d));
        if (!context_run(c, &d))
            fail_msg("%s", d.text);
        for (int i = 0, o = 0; i < b->n; i++) {
            if (!b->written[i])
                continue;
            const struct tensor *t = context_output(c, o++);
            if (threads == 1) {
                first[i].kind = VK_NONE;
                assert_true(tensor_copy(&first[i], t, &d));
            } else {
                assert_memory_equal(t->data, first[i].data, tensor_bytes(t));
            }
        }
        context_free(c);
    }
    reference(b);
    for (int i = 0; i < b->n; i++) {
        for (int64_t k = 0; b->written[i] && k < tensor_count(&first[i]); k++) {
            double x = tensor_f64(&first[i], k), y = tensor_f64(&b->buffer[i], k);
            if (!close_enough(&first[i], k, x, y, tolerance))
                fail_msg("%s: element %lld of buffer %d is %.9g, expected %.9g",
                         insn_info(b->k->insns[0].op)->name, (long long)k, i, x, y);
        }
        if (b->written[i])
            tensor_free(&first[i]);
    }
    model_free(m);
    for (int i = 0; i < b->n; i++)
        tensor_free(&b->buffer[i]);
}

#endif
