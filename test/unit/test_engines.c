/*
 * Every instruction against a reference that computes element by element in double, on odd sizes,
 * strides, broadcasts, clipped tiles and element types; and the refusal of patterns that leave
 * their tensors.
 */
#include "neff/pack.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/elementwise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BUFFERS = 6 };

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
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static void begin(struct bench *b)
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

static int buffer(struct bench *b, int dtype, int64_t elements, bool written)
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

static int grid(struct bench *b, int64_t n)
{
    b->k->grid[b->k->ngrid] = n;
    b->k->nvars++;
    return b->k->ngrid++;
}

/* Row-major steps over counts; the inner step and padding after rows as given. */
static struct ap pattern(int slot, int dtype, int rank, const int64_t *counts, int64_t inner,
                         int64_t padding)
{
    struct ap a = {.mem = MEM_HBM, .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .tensor = slot};
    int64_t step = inner;
    for (int i = rank - 1; i >= 0; i--) {
        a.dim[i] = (struct ap_dim){.step = step, .count = counts[i], .var = -1};
        step = step * counts[i] + padding;
    }
    return a;
}

/* Dim `dim` becomes tiles of `tile` elements along variable var, cut at the edge. */
static void tiled(struct ap *a, int dim, int var, int64_t tile)
{
    int64_t all = a->dim[dim].count;
    a->offset.coef[var] += a->dim[dim].step * tile;
    a->dim[dim].count = tile, a->dim[dim].var = (int8_t)var;
    a->dim[dim].factor = tile, a->dim[dim].limit = all;
}

static struct insn *add(struct bench *b, enum opcode op)
{
    return kernel_add(b->p, b->k, op);
}

/* ---- the reference ---- */

static int64_t affine_now(const struct affine *a, const int64_t *vars)
{
    int64_t v = a->base;
    for (int i = 0; i < MAX_VARS; i++)
        v += a->coef[i] * vars[i];
    return v;
}

static int64_t count_now(const struct ap *a, int dim, const int64_t *vars)
{
    const struct ap_dim *d = &a->dim[dim];
    int64_t most = d->var < 0 ? d->count : d->limit - d->factor * vars[d->var];
    return most < d->count ? most : d->count;
}

static int64_t place(const struct ap *a, const int64_t *at, const int64_t *vars)
{
    int64_t v = affine_now(&a->offset, vars);
    for (int i = 0; i < a->rank; i++)
        v += a->dim[i].step * at[i];
    return v;
}

static double get(const struct bench *b, const struct ap *a, const int64_t *at, const int64_t *vars)
{
    return tensor_f64(&b->buffer[a->tensor], place(a, at, vars));
}

static void put(struct bench *b, const struct ap *a, const int64_t *at, const int64_t *vars,
                double v)
{
    if (dtype_is_int(a->dtype))
        v = nearbyint(v);
    dtype_store_f64(a->dtype, b->buffer[a->tensor].data, (size_t)place(a, at, vars), v);
}

static double function(int op, double x, double y, double p, double q)
{
    if (op == OP_clip)
        return fmin(fmax(x, p), q);
    return ew_row((enum op)op)->f(x, y, p, q);
}

static double elementwise(const struct bench *b, const struct insn *i, const int64_t *at,
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
static bool next(int64_t *at, const int64_t *count, int rank)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < count[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static void reference_row(struct bench *b, const struct insn *i, int64_t *at, int64_t n,
                          const int64_t *vars)
{
    int last = i->ap[1].rank - 1;
    double mean = 0, variance = 0, most = -INFINITY, sum = 0, *x = calloc((size_t)n, sizeof *x);
    const struct ap *src = i->op == INSN_bn_stats ? &i->ap[2] : &i->ap[1];
    last = src->rank - 1;
    for (int64_t k = 0; k < n; k++) {
        at[last] = k;
        x[k] = get(b, src, at, vars) * (i->op == INSN_softmax ? i->flt[0] : 1);
        mean += x[k] / (double)n;
        most = fmax(most, x[k]);
    }
    for (int64_t k = 0; k < n; k++) {
        variance += (i->imm[0].base && i->op == INSN_layer_norm ? x[k] * x[k]
                                                                : (x[k] - mean) * (x[k] - mean)) /
                    (double)n;
        sum += exp(x[k] - most);
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
            v = i->imm[0].base ? x[k] - most - log(sum) : exp(x[k] - most) / sum;
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

static void reference_reduce(struct bench *b, const struct insn *i, const int64_t *count,
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

static void reference_matmul(struct bench *b, const struct insn *i, const int64_t *vars)
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

static void reference_insn(struct bench *b, const struct insn *i, const int64_t *vars)
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

static void reference(struct bench *b)
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
static void add_steps(struct bench *b)
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
            r->steps[r->nsteps++] = (struct step){STEP_CALL, p->ncalls++};
            p->output_names[r->nresults] = "out";
            r->results[r->nresults++] = i;
        }
        r->params[r->nparams++] = in;
    }
    r->steps[r->nsteps++] = (struct step){STEP_LAUNCH, 0};
}

static bool close_enough(const struct tensor *t, int64_t i, double x, double y, double tolerance)
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
static void check(struct bench *b, double tolerance)
{
    struct diag d = {0};
    struct tensor first[MAX_BUFFERS] = {{0}};
    add_steps(b);
    assert_true(program_check(b->p, &d));
    struct model *m = model_new(b->p, &d);
    static int cases;
    int most = ++cases % 4 ? 1 : 4;
    for (int threads = 1; threads <= most; threads *= 2) {
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

/* ---- elementwise ---- */

struct elementwise_case {
    enum opcode op;
    int f, g;
    float a, b, c;
    int reverse;
    int operands; /* read ones */
};

static const struct elementwise_case elementwise_cases[] = {
    {INSN_memset, 0, 0, 1.5f, 0, 0, 0, 0},
    {INSN_tensor_copy, 0, 0, 0, 0, 0, 0, 1},
    {INSN_dma_copy, 0, 0, 0, 0, 0, 0, 1},
    {INSN_tensor_tensor, OP_add, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_sub, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_max, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_lt, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_prelu, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_scalar, OP_mul, OP_add, 1.25f, -0.5f, 0, 0, 1},
    {INSN_tensor_scalar, OP_max, OP_min, -0.5f, 0.75f, 0, 0, 1},
    {INSN_tensor_scalar, OP_sub, OP_abs, 2, 0, 0, 1, 1},
    {INSN_tensor_scalar, OP_add, OP_identity, 2, 0, 0, 0, 1},
    {INSN_scalar_tensor_tensor, OP_mul, OP_add, 0.5f, 0, 0, 0, 2},
    {INSN_scalar_tensor_tensor, OP_sub, OP_max, 0.5f, 0, 0, 1, 2},
    {INSN_activation, OP_identity, 0, 2, 0, 0, 0, 1},
    {INSN_activation, OP_gelu, 0, 1, 0, 0, 0, 3},
    {INSN_activation, OP_leaky_relu, 0, 0.5f, 0.1f, 0, 0, 2},
    {INSN_activation, OP_clip, 0, 1, -0.5f, 0.5f, 0, 1},
    {INSN_activation, OP_atan, 0, 1, 0, 0, 0, 3},
};

/* One case on one layout: dims in tiles along the first, operands strided, padded or broadcast. */
static void elementwise_case(const struct elementwise_case *e, int dtype_in, int dtype_out,
                             int layout)
{
    static const int64_t shapes[][3] = {{7, 5, 9}, {1, 3, 70}, {4, 1, 1}, {3, 2, 1030}};
    const int64_t *s = shapes[layout % 4];
    struct bench b;
    int64_t inner = layout & 1 ? 1 + layout / 2 % 2 : 1, padding = layout / 4 % 3;
    begin(&b);
    int var = grid(&b, (s[0] + 2) / 3);
    struct ap ap[4] = {{0}};
    for (int n = 0; n <= e->operands; n++) {
        int slot =
            buffer(&b, n ? dtype_in : dtype_out, (s[0] * (s[1] * (s[2] * 2 + 3) + 3) + 8), n == 0);
        ap[n] = pattern(slot, n ? dtype_in : dtype_out, 3, s, inner, padding);
        tiled(&ap[n], 0, var, 3);
        if (n >= 2 && layout % 5 == 1)
            ap[n].dim[2].step = 0;
        if (n >= 2 && layout % 5 == 2)
            ap[n].dim[1].step = 0, ap[n].dim[0].step = 0, ap[n].offset.coef[var] = 0;
    }
    struct insn *i = add(&b, e->op);
    memcpy(i->ap, ap, sizeof *ap * (size_t)(e->operands + 1));
    i->func[0] = (uint16_t)e->f, i->func[1] = (uint16_t)e->g;
    i->flt[0] = e->a, i->flt[1] = e->b, i->flt[2] = e->c;
    if (e->op == INSN_tensor_scalar || e->op == INSN_scalar_tensor_tensor)
        i->imm[0].base = e->reverse;
    check(&b, 2e-6);
}

static void elementwise_instructions(void **state)
{
    static const int types[][2] = {
        {DT_F32, DT_F32}, {DT_BF16, DT_F32}, {DT_F32, DT_BF16}, {DT_F16, DT_F16}, {DT_F64, DT_F32}};
    for (size_t c = 0; c < sizeof elementwise_cases / sizeof *elementwise_cases; c++)
        for (int t = 0; t < 5; t++)
            for (int layout = 0; layout < 12; layout += 1 + (t > 0))
                elementwise_case(&elementwise_cases[c], types[t][0], types[t][1], layout);
}

static void select_and_integers(void **state)
{
    for (int layout = 0; layout < 4; layout++) {
        struct bench b;
        const int64_t s[2] = {5, 37};
        begin(&b);
        int out = buffer(&b, layout & 1 ? DT_BF16 : DT_F32, 400, true),
            which = buffer(&b, DT_BOOL, 400, false);
        int x = buffer(&b, DT_F32, 400, false), y = buffer(&b, DT_F32, 400, false);
        for (int64_t k = 0; k < 400; k++)
            ((uint8_t *)b.buffer[1].data)[k] &= 1;
        struct insn *i = add(&b, INSN_select);
        i->ap[0] = pattern(out, layout & 1 ? DT_BF16 : DT_F32, 2, s, 1, 1);
        i->ap[1] = pattern(which, DT_BOOL, 2, s, 1 + (layout >> 1), 0);
        i->ap[2] = pattern(x, DT_F32, 2, s, 1, 0);
        i->ap[3] = pattern(y, DT_F32, 2, s, 2, 0);
        check(&b, 0);
    }
    for (int op = 0; op < 3; op++) {
        struct bench b;
        const int64_t s[2] = {3, 19};
        begin(&b);
        int out = buffer(&b, DT_I32, 64, true), x = buffer(&b, DT_I32, 64, false),
            y = buffer(&b, DT_I64, 64, false);
        struct insn *i = add(&b, INSN_tensor_tensor);
        i->func[0] = (uint16_t)(op == 0 ? OP_add : op == 1 ? OP_mul : OP_sub);
        i->ap[0] = pattern(out, DT_I32, 2, s, 1, 0);
        i->ap[1] = pattern(x, DT_I32, 2, s, 1, 0);
        i->ap[2] = pattern(y, DT_I64, 2, s, 1, 0);
        check(&b, 0);
    }
}

/* ---- rows ---- */

static void row_case(enum opcode op, int dtype, int64_t n, int option)
{
    struct bench b;
    const int64_t s[3] = {4, 3, n}, one[3] = {4, 3, 1};
    begin(&b);
    int var = grid(&b, 2);
    bool stats = op == INSN_bn_stats;
    int64_t size = 12 * (n * 2 + 4) + 8;
    int out = buffer(&b, dtype, size, true),
        second = buffer(&b, stats ? dtype : DT_F32, size, stats);
    int src = buffer(&b, dtype, size, false), gamma = buffer(&b, DT_F32, n, false);
    struct insn *i = add(&b, op);
    struct ap x = pattern(src, dtype, 3, s, 1 + (option & 1), 3),
              y = pattern(out, dtype, 3, s, 1, 0);
    if (stats) {
        i->ap[0] = pattern(out, dtype, 3, one, 1, 0);
        i->ap[1] = pattern(second, dtype, 2, one, 1, 0);
        i->ap[2] = x;
        i->ap[1].rank = 3, i->ap[1].dim[2] = (struct ap_dim){.step = 0, .count = 1, .var = -1};
        for (int k = 0; k < 3; k++)
            tiled(&i->ap[k], 0, var, 3);
        check(&b, 4e-6);
        return;
    }
    i->ap[0] = y, i->ap[1] = x;
    tiled(&i->ap[0], 0, var, 3), tiled(&i->ap[1], 0, var, 3);
    i->flt[0] = op == INSN_layer_norm ? 1e-5f : 0.7f;
    if (op == INSN_tensor_tensor_scan) {
        i->func[0] = OP_mul, i->func[1] = OP_add;
        i->ap[2] = pattern(second, DT_F32, 3, s, 1, 0);
        tiled(&i->ap[2], 0, var, 3);
    } else {
        i->imm[0].base = option >> 1 & 1;
    }
    if (op == INSN_layer_norm && option < 2) {
        i->ap[2] = pattern(gamma, DT_F32, 1, &n, 1, 0);
        i->ap[3] = pattern(second, DT_F32, 1, &n, 1, 0);
    }
    check(&b, op == INSN_tensor_tensor_scan ? 1e-3 : 1e-5);
}

static void row_instructions(void **state)
{
    static const enum opcode ops[] = {INSN_bn_stats, INSN_softmax, INSN_layer_norm,
                                      INSN_tensor_tensor_scan};
    for (int o = 0; o < 4; o++)
        for (int option = 0; option < 4; option++)
            for (int64_t n = 1; n < 700; n = n * 3 + 1) {
                row_case(ops[o], DT_F32, n, option);
                if (o != 3)
                    row_case(ops[o], DT_BF16, n, option);
            }
}

static void reductions(void **state)
{
    static const int ops[] = {OP_add, OP_max, OP_min, OP_mul};
    for (int o = 0; o < 4; o++)
        for (int axes = 1; axes <= 3; axes++)
            for (int layout = 0; layout < 6; layout++) {
                struct bench b;
                const int64_t s[3] = {5, 6, layout & 1 ? 7 : 33};
                begin(&b);
                int dtype = layout >= 4 ? DT_BF16 : DT_F32;
                int out = buffer(&b, DT_F32, 64, true), src = buffer(&b, dtype, 2000, false);
                struct insn *i = add(&b, INSN_tensor_reduce);
                i->func[0] = (uint16_t)ops[o];
                i->imm[0].base = axes, i->imm[1].base = layout & 1;
                i->flt[0] = 0.25f;
                i->ap[1] = pattern(src, dtype, 3, s, 1, layout == 2);
                if (layout == 3) { /* columns */
                    i->ap[1].dim[2] = (struct ap_dim){.step = 6, .count = s[2], .var = -1};
                    i->ap[1].dim[1] = (struct ap_dim){.step = 1, .count = 6, .var = -1};
                    i->ap[1].dim[0].step = 6 * s[2];
                }
                int64_t counts[3] = {s[0], axes < 2 ? s[1] : 1, 1};
                if (axes == 3)
                    counts[0] = 1;
                i->ap[0] =
                    pattern(out, DT_F32, layout & 2 && axes < 3 ? 3 - axes : 3, counts, 1, 0);
                check(&b, 2e-5);
            }
}

static void activation_sums(void **state)
{
    for (int t = 0; t < 2; t++)
        for (int64_t n = 1; n < 1200; n = n * 4 + 1) {
            struct bench b;
            const int64_t s[2] = {6, n}, one[2] = {6, 1};
            begin(&b);
            int var = grid(&b, 2), dtype = t ? DT_BF16 : DT_F32;
            int out = buffer(&b, dtype, 6 * n, true), sum = buffer(&b, DT_F32, 6, true),
                x = buffer(&b, dtype, 6 * n, false);
            int bias = buffer(&b, DT_F32, 6, false);
            struct insn *i = add(&b, INSN_activation);
            i->func[0] = OP_exp;
            i->flt[0] = 0.5f;
            i->ap[0] = pattern(out, dtype, 2, s, 1, 0), i->ap[1] = pattern(x, dtype, 2, s, 1, 0);
            i->ap[3] = pattern(bias, DT_F32, 2, one, 1, 0),
            i->ap[4] = pattern(sum, DT_F32, 2, one, 1, 0);
            i->ap[3].dim[1].step = i->ap[4].dim[1].step = 0;
            for (int k = 0; k < 5; k++)
                if (i->ap[k].mem)
                    tiled(&i->ap[k], 0, var, 4);
            check(&b, 1e-5);
        }
}

/* ---- planes ---- */

static void planes(void **state)
{
    static const int types[] = {DT_F32, DT_BF16, DT_U8, DT_I64};
    for (int t = 0; t < 4; t++)
        for (int layout = 0; layout < 4; layout++) {
            struct bench b;
            const int64_t s[3] = {3, 7, 21}, z[3] = {3, 21, 7};
            begin(&b);
            int out = buffer(&b, types[t], 1500, true), x = buffer(&b, types[t], 1500, false);
            struct insn *i = add(&b, layout & 1 ? INSN_dma_transpose : INSN_nc_transpose);
            i->ap[0] = pattern(out, types[t], 3, z, 1, layout >> 1);
            i->ap[1] = pattern(x, types[t], 3, s, 1 + (layout >> 1), 0);
            check(&b, 0);
        }
    for (int layout = 0; layout < 6; layout++) {
        struct bench b;
        const int64_t s[2] = {9, 14};
        begin(&b);
        int var = grid(&b, 3), dtype = layout & 1 ? DT_I32 : DT_F32;
        int out = buffer(&b, dtype, 200, true), x = buffer(&b, dtype, 200, false);
        struct insn *i = add(&b, layout < 2 ? INSN_iota : INSN_affine_select);
        i->ap[0] = pattern(out, dtype, 2, s, 1, 0);
        i->imm[0].base = layout - 3, i->imm[1].base = layout == 4 ? -2 : 1,
        i->imm[2].base = layout & 1 ? -1 : 2;
        i->imm[0].coef[var] = 3 * i->imm[1].base;
        tiled(&i->ap[0], 0, var, 4);
        i->imm[0].coef[var] = 4 * i->imm[1].base;
        if (layout >= 2) {
            i->ap[1] = pattern(x, dtype, 2, s, 1, 0);
            tiled(&i->ap[1], 0, var, 4);
            i->flt[0] = -7;
        }
        check(&b, 0);
    }
    for (int t = 0; t < 4; t++) {
        struct bench b;
        const int64_t s[2] = {9, 14}, table[2] = {10, 14}, nine = 9;
        begin(&b);
        int out = buffer(&b, types[t], 200, true), from = buffer(&b, types[t], 200, false),
            x = buffer(&b, t & 1 ? DT_I32 : DT_I64, 9, false);
        dtype_store_i64(b.buffer[2].dtype, b.buffer[2].data, 4, -3);
        struct insn *i = add(&b, INSN_dma_gather);
        i->ap[0] = pattern(out, types[t], 2, s, 1, 1),
        i->ap[1] = pattern(from, types[t], 2, table, 1, 2);
        i->ap[2] = pattern(x, t & 1 ? DT_I32 : DT_I64, 1, &nine, 1, 0);
        i->imm[0].base = 10;
        check(&b, 0);
    }
}

/* ---- matmul ---- */

struct matmul_case {
    int64_t n, m, k, batch;
    int a, w, c; /* element types */
    bool transposed, accumulate, strided;
};

static void matmul_case(const struct matmul_case *x)
{
    struct bench b;
    begin(&b);
    int rows = grid(&b, (x->n + 15) / 16), outs = grid(&b, (x->m + 31) / 32);
    int64_t inner = x->strided ? 2 : 1;
    int c = buffer(&b, x->c, x->n * x->m * inner, true),
        w = buffer(&b, x->w, x->batch * x->k * x->m, false);
    int a = buffer(&b, x->a, x->batch * x->n * x->k * inner, false);
    struct insn *i = add(&b, INSN_nc_matmul);
    i->imm[0].base = x->accumulate;
    i->ap[0] = pattern(c, x->c, 2, (int64_t[]){x->n, x->m}, inner, 0);
    i->ap[1] = pattern(w, x->w, 3, (int64_t[]){x->batch, x->k, x->m}, 1, 0);
    i->ap[2] = pattern(a, x->a, 3, (int64_t[]){x->batch, x->n, x->k}, inner, 0);
    if (x->transposed)
        i->ap[1].dim[1].step = 1, i->ap[1].dim[2].step = x->k;
    tiled(&i->ap[0], 0, rows, 16), tiled(&i->ap[0], 1, outs, 32);
    tiled(&i->ap[1], 2, outs, 32), tiled(&i->ap[2], 1, rows, 16);
    check(&b, x->a == DT_BF16 && x->w == DT_BF16 ? 1e-2 : 1e-4);
}

static void matrix_products(void **state)
{
    static const int types[][3] = {{DT_F32, DT_F32, DT_F32},  {DT_BF16, DT_BF16, DT_F32},
                                   {DT_U8, DT_I8, DT_I32},    {DT_BF16, DT_F32, DT_F32},
                                   {DT_F32, DT_F32, DT_BF16}, {DT_I8, DT_I8, DT_I32},
                                   {DT_F16, DT_F16, DT_F32}};
    static const int64_t sizes[][4] = {
        {1, 1, 1, 1}, {16, 32, 8, 1}, {33, 40, 17, 2}, {5, 100, 3, 3}, {20, 64, 64, 1}};
    for (int t = 0; t < 7; t++)
        for (int s = 0; s < 5; s++)
            for (int option = 0; option < 8; option++) {
                struct matmul_case x = {sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3],
                                        types[t][0], types[t][1], types[t][2], option & 1,
                                        option & 2,  option & 4};
                matmul_case(&x);
            }
}

/* Packed weights, K in blocks: moving [block, n, k], stationary in the blocks of pack.h. */
static void packed_products(void **state)
{
    static const int types[][3] = {
        {DT_F32, DT_F32, DT_F32}, {DT_BF16, DT_BF16, DT_F32}, {DT_U8, DT_I8, DT_I32}};
    for (int t = 0; t < 3; t++)
        for (int64_t m = 10; m < 200; m += 63) {
            enum { N = 21, K = 24 };
            struct bench b, plain;
            struct diag d = {0};
            struct pack_shape shape = {(enum pack_type)t, 1, K, m};
            begin(&b);
            int rows = grid(&b, 2), outs = grid(&b, (m + 63) / 64);
            int width = pack_width(m);
            int c = buffer(&b, types[t][2], N * m, true), a = buffer(&b, types[t][0], N * K, false);
            begin(&plain);
            int w = buffer(&plain, types[t][1], K * m, false);
            int64_t elements = (int64_t)(pack_size(&shape) / dtype_bytes(types[t][1]));
            int packed = buffer(&b, types[t][1], elements, false);
            struct pack_source from = {plain.buffer[w].data, 0, m, 1};
            pack_weights(b.buffer[packed].data, &shape, &from);
            struct insn *i = add(&b, INSN_nc_matmul);
            i->imm[1].base = 1;
            i->ap[0] = pattern(c, types[t][2], 2, (int64_t[]){N, m}, 1, 0);
            i->ap[2] = pattern(a, types[t][0], 2, (int64_t[]){N, K}, 1, 0);
            i->ap[1] = pattern(packed, types[t][1], 2, (int64_t[]){K, m}, 1, 0);
            i->ap[1].dim[0].step = width;
            tiled(&i->ap[0], 0, rows, 16), tiled(&i->ap[0], 1, outs, 64),
                tiled(&i->ap[2], 0, rows, 16);
            tiled(&i->ap[1], 1, outs, 64);
            i->ap[1].offset.coef[outs] = width * K;
            /* the reference multiplies plain weights */
            struct tensor expect = {.kind = VK_NONE};
            assert_true(tensor_copy(&expect, &b.buffer[c], &d));
            for (int64_t r = 0; r < N; r++)
                for (int64_t o = 0; o < m; o++) {
                    double sum = 0;
                    for (int64_t k = 0; k < K; k++)
                        sum += tensor_f64(&b.buffer[a], r * K + k) *
                               tensor_f64(&plain.buffer[w], k * m + o);
                    dtype_store_f64(types[t][2], expect.data, (size_t)(r * m + o), sum);
                }
            add_steps(&b);
            struct model *model = model_new(b.p, &d);
            struct context *x = context_new(model, 2, &d);
            for (int n = 0; n < b.n; n++)
                assert_true(context_set_input(x, n, &b.buffer[n], &d));
            if (!context_run(x, &d))
                fail_msg("%s", d.text);
            for (int64_t k = 0; k < N * m; k++) {
                double got = tensor_f64(context_output(x, 0), k), want = tensor_f64(&expect, k);
                if (!(fabs(got - want) <= (t == 1 ? 1e-2 : 1e-4) * (fabs(want) + 1)))
                    fail_msg("outs %lld, element %lld: %g, expected %g", (long long)m, (long long)k,
                             got, want);
            }
            context_free(x);
            model_free(model);
            program_free(plain.p);
            tensor_free(&plain.buffer[w]);
            tensor_free(&expect);
            for (int n = 0; n < b.n; n++)
                tensor_free(&b.buffer[n]);
        }
}

/* ---- bounds ---- */

static bool accepted(struct bench *b)
{
    struct diag d = {0};
    add_steps(b);
    struct model *m = model_new(b->p, &d);
    struct context *c = context_new(m, 1, &d);
    for (int i = 0; i < b->n; i++)
        assert_true(context_set_input(c, i, &b->buffer[i], &d));
    bool ok = context_run(c, &d);
    assert_true(ok || d.text[0]);
    context_free(c);
    model_free(m);
    for (int i = 0; i < b->n; i++)
        tensor_free(&b->buffer[i]);
    return ok;
}

/* A copy of 30 elements in tiles of 8, changed in one place. */
static bool copy_accepted(int change)
{
    struct bench b;
    const int64_t n = 30;
    begin(&b);
    int var = grid(&b, 4);
    int out = buffer(&b, DT_F32, 30, true), x = buffer(&b, DT_F32, 30, false);
    struct insn *i = add(&b, INSN_dma_copy);
    i->ap[0] = pattern(out, DT_F32, 1, &n, 1, 0), i->ap[1] = pattern(x, DT_F32, 1, &n, 1, 0);
    tiled(&i->ap[0], 0, var, 8), tiled(&i->ap[1], 0, var, 8);
    struct ap *a = &i->ap[change & 1];
    switch (change / 2) {
    case 1:
        a->offset.base = 1;
        break;
    case 2:
        a->offset.base = -1;
        break;
    case 3:
        a->offset.coef[var] = 9;
        break;
    case 4:
        a->dim[0].limit = 31;
        b.k->insns[0].ap[!(change & 1)].dim[0].limit = 31;
        break;
    case 5:
        a->dim[0].step = -1;
        break;
    case 6:
        a->offset.base = INT64_MAX / 2;
        break;
    case 7:
        a->dim[0].step = INT64_C(1) << 45;
        break;
    case 8:
        b.k->grid[0] = 5;
        a->dim[0].limit = 40;
        b.k->insns[0].ap[!(change & 1)].dim[0].limit = 40;
        break;
    case 9:
        a->dim[0].factor = 0;
        a->dim[0].limit = 8;
        b.k->insns[0].ap[!(change & 1)].dim[0] = a->dim[0];
        break;
    case 10:
        a->dim[0].var = 3;
        break;
    case 11:
        a->dtype = DT_F64;
        break;
    }
    return accepted(&b);
}

static void patterns_outside_are_refused(void **state)
{
    assert_true(copy_accepted(0));
    for (int change = 2; change < 24; change++)
        if (copy_accepted(change))
            fail_msg("change %d was accepted", change);
}

static void indices_outside_are_refused(void **state)
{
    struct bench b;
    const int64_t s[2] = {3, 4}, three = 3;
    begin(&b);
    int out = buffer(&b, DT_F32, 12, true), from = buffer(&b, DT_F32, 12, false),
        x = buffer(&b, DT_I64, 3, false);
    memcpy(b.buffer[x].data, (int64_t[]){0, 3, 1}, 24);
    struct insn *i = add(&b, INSN_dma_gather);
    i->ap[0] = pattern(out, DT_F32, 2, s, 1, 0), i->ap[1] = pattern(from, DT_F32, 2, s, 1, 0);
    i->ap[2] = pattern(x, DT_I64, 1, &three, 1, 0);
    i->imm[0].base = 3;
    assert_false(accepted(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_instructions),
        cmocka_unit_test(select_and_integers),
        cmocka_unit_test(row_instructions),
        cmocka_unit_test(reductions),
        cmocka_unit_test(activation_sums),
        cmocka_unit_test(planes),
        cmocka_unit_test(matrix_products),
        cmocka_unit_test(packed_products),
        cmocka_unit_test(patterns_outside_are_refused),
        cmocka_unit_test(indices_outside_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
