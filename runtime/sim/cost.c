/*
 * What one execution of an instruction costs. MODEL.md has the formulas and their sources.
 */
#include "neff/isa/cost.h"

#include "runtime/sim/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CPU_LANES = 16, CPU_FMA = 16, LANES = 128 };

int64_t rounded_ps(double ps)
{
    return ps < (double)SIM_LONGEST ? (int64_t)llround(ps) : SIM_LONGEST;
}

int64_t cycles_ps(double cycles, double ghz)
{
    return rounded_ps(cycles * 1000 / ghz);
}

double peak_flops(const struct machine *m)
{
    if (!m->strict)
        return 2.0 * CPU_FMA * 2 * m->pe_ghz * 1e9;
    return 2.0 * m->matmul_k * m->matmul_m * m->pe_ghz * 1e9;
}

/* Of target cpu alone. */
static bool is_extension(int op)
{
    return insn_info(op)->targets == machine_bit(machine_find("cpu"));
}

/* ---- geometry ---- */

static int64_t count_of(const struct number_ap *a, int i, const int64_t *vars)
{
    int64_t n = i < 0 || i >= a->rank ? 1 : vars ? ap_dim_count(&a->dim[i], vars) : a->dim[i].count;
    return n < 0 ? 0 : n;
}

static int64_t ap_total(const struct number_ap *a, const int64_t *vars)
{
    int64_t n = a->mem != MEM_NONE;
    for (int i = 0; i < a->rank; i++) /* numbers.c: at most LARGEST_TOTAL */
        n *= count_of(a, i, vars);
    return n;
}

static bool over_partitions(const struct number_ap *a, int i)
{
    return a->mem != MEM_HBM && a->dim[i].step != 0 && llabs(a->dim[i].step) >= a->row;
}

/* Elements in one partition. What lies in HBM is taken to be spread over all of them. */
static double per_partition(const struct machine *m, const struct number_ap *a, const int64_t *vars)
{
    double total = (double)ap_total(a, vars), partitions = 1;
    for (int i = 0; i < a->rank && a->mem != MEM_HBM; i++)
        if (over_partitions(a, i))
            partitions *= (double)count_of(a, i, vars);
    if (a->mem == MEM_HBM || partitions > LANES)
        return ceil(total / LANES);
    return partitions > 0 ? total / partitions : 0;
}

/* The innermost dim of a tile that is walked within a partition. */
static const struct number_dim *inner_dim(const struct number_ap *a)
{
    for (int i = a->rank - 1; i >= 0; i--)
        if (a->dim[i].count > 1 && !over_partitions(a, i))
            return &a->dim[i];
    return NULL;
}

static bool strided(const struct timing *t, const struct number_ap *a)
{
    const struct number_dim *d = a->mem == MEM_SBUF || a->mem == MEM_PSUM ? inner_dim(a) : NULL;
    return d && (double)llabs(d->step) * a->size > t->stride_bytes;
}

static bool contiguous(const struct number_ap *a)
{
    const struct number_dim *d = inner_dim(a);
    return !d || d->step == 1;
}

static bool is_16_bit(const struct number_ap *a)
{
    return a->dtype == DT_BF16 || a->dtype == DT_F16;
}

/* ---- Vector, Scalar and GpSimd engines ---- */

/* All operands: 16-bit floats in SBUF, contiguous. */
static bool all_fast(const struct number_insn *n)
{
    for (int i = 0; i < n->naps; i++)
        if (n->ap[i].mem != MEM_NONE &&
            (!is_16_bit(&n->ap[i]) || n->ap[i].mem != MEM_SBUF || !contiguous(&n->ap[i])))
            return false;
    return true;
}

static bool all_16_bit(const struct number_insn *n)
{
    for (int i = 0; i < n->naps; i++)
        if (n->ap[i].mem != MEM_NONE && !is_16_bit(&n->ap[i]))
            return false;
    return true;
}

static bool sums(int op)
{
    return op == OP_add || op == OP_sub || op == OP_mul;
}

/* Cycles per element of instructions whose price depends on where operands lie and on their types.
 */
static double rate_of(const struct machine *m, const struct number_insn *n, double rate)
{
    const struct timing *t = machine_timing(m);
    bool vector = n->engine == ENGINE_DVE;
    const uint16_t *func = n->source->func;
    switch (n->op) {
    case INSN_tensor_tensor: /* two streams from SBUF share its port */
        if (n->ap[AP(tensor_tensor, a)].mem != n->ap[AP(tensor_tensor, b)].mem)
            rate = 1;
        else if (all_fast(n) && sums(func[FUNC(tensor_tensor, op)]))
            rate = vector && t->fast_16_bit ? 0.5 : 1;
        break;
    case INSN_scalar_tensor_tensor:
        if (is_16_bit(&n->ap[AP(scalar_tensor_tensor, src)]) &&
            is_16_bit(&n->ap[AP(scalar_tensor_tensor, tensor)]) &&
            func[FUNC(scalar_tensor_tensor, op0)] == OP_sub &&
            func[FUNC(scalar_tensor_tensor, op1)] == OP_mul)
            rate = 1;
        break;
    case INSN_select:
        if (n->ap[AP(select, predicate)].mem != n->ap[AP(select, a)].mem)
            rate = 1;
        break;
    case INSN_tensor_reduce:
        if (all_16_bit(n) &&
            (func[FUNC(tensor_reduce, op)] == OP_add || func[FUNC(tensor_reduce, op)] == OP_max))
            rate = 0.5;
        break;
    case INSN_memset:
        if (n->source->flt[FLT(memset, value)] == 0 && n->ap[AP(memset, dst)].size == 2)
            rate = 0.5;
        break;
    case INSN_tensor_copy:
    case INSN_tensor_scalar:
        if (n->op == INSN_tensor_scalar && vector &&
            (func[FUNC(tensor_scalar, op0)] == OP_reciprocal ||
             func[FUNC(tensor_scalar, op0)] == OP_div))
            rate = 8;
        else if (vector && t->fast_16_bit && all_16_bit(n))
            rate = all_fast(n) ? 0.25 : 0.5;
        break;
    default:
        break;
    }
    return rate;
}

static double element_cycles(const struct machine *m, const struct number_insn *n,
                             const int64_t *vars, const struct insn_cost *price)
{
    const struct timing *t = machine_timing(m);
    double elements = 0, start = price->start, min = price->min;
    bool slow = false;
    /* the images that extensions walk over are whole, whatever they read of them */
    int operands = is_extension(n->op) ? 1 : n->naps;
    for (int i = 0; i < operands; i++) {
        if (n->ap[i].mem == MEM_NONE)
            continue;
        double count =
            m->strict ? per_partition(m, &n->ap[i], vars) : (double)ap_total(&n->ap[i], vars);
        elements = count > elements ? count : elements;
        slow |= strided(t, &n->ap[i]);
    }
    if (!m->strict)
        return elements * price->rate / CPU_LANES + 4;
    double rate = rate_of(m, n, price->rate) * (slow ? 2 : 1);
    if (n->engine == ENGINE_POOL && start < t->pool_start_cycles)
        start = t->pool_start_cycles;
    double cycles = start + rate * elements;
    cycles = cycles > min ? cycles : min;
    bool sums_rows = n->op == INSN_activation && n->ap[AP(activation, sum)].mem != MEM_NONE;
    return cycles + (sums_rows ? 64 : 0); /* the accumulators are read */
}

/* ---- Tensor engine ---- */

/* Operands 0 dst [n,m], 1 stationary [b...,k,m], 2 moving [b...,n,k]. Of the products that only cpu
 * has, the stationary one is packed. */
static double product_cycles(const struct machine *m, const struct number_insn *n,
                             const int64_t *vars, struct demand *w)
{
    const struct timing *t = machine_timing(m);
    const struct number_ap *s = &n->ap[AP(nc_matmul, stationary)],
                           *v = &n->ap[AP(nc_matmul, moving)];
    double columns = (double)count_of(s, s->rank - 1, vars), all = (double)ap_total(v, vars);
    double k = (double)count_of(v, v->rank - 1, vars);
    if (n->op != INSN_nc_matmul) { /* packed: as many as the result has */
        const struct number_ap *dst = &n->ap[AP(quantized_matmul, dst)];
        columns = (double)count_of(dst, dst->rank - 1, vars);
    }
    w->matmul = w->array = 2 * all * columns;
    double wide = s->dtype == DT_F32 || s->dtype == DT_I32 ? 4 : 1;
    if (!m->strict)
        return all * columns / (CPU_FMA * (wide > 1 ? 1.0 : 2.0));
    double rows = k > 0 ? all / k : 0;
    double load = columns / t->load_stationary_speed * ceil(k / m->matmul_k);
    double pieces = ceil(k / m->matmul_k) * ceil(columns / m->matmul_m); /* of 128 by 128 */
    double moving = rows > 64 ? rows : columns < 64 ? (rows > columns ? rows : columns) : 64;
    return (moving > load ? moving : load) * (pieces > 1 ? pieces : 1) * wide;
}

static double transpose_cycles(const struct machine *m, const struct number_insn *n,
                               const int64_t *vars, struct demand *w)
{
    const struct number_ap *s = &n->ap[AP(nc_transpose, src)];
    double p = (double)count_of(s, 0, vars), all = (double)ap_total(s, vars);
    double f = p > 0 ? all / p : 0;
    if (!m->strict)
        return all / 4;
    if (n->engine != ENGINE_PE) /* blocks of 32 by 32 */
        return f > 64 ? f : 64;
    w->array = 2 * all * m->matmul_k;
    double min = f < 64 ? f : 64, wide = s->dtype == DT_F32 ? 4 : 1;
    return (p > min ? p : min) * wide;
}

/* ---- transfers ---- */

/* Elements that lie side by side, walked from the innermost dim. */
static int64_t run_length(const struct number_ap *a, const int64_t *vars)
{
    int64_t run = 1;
    for (int i = a->rank - 1; i >= 0; i--) {
        int64_t count = count_of(a, i, vars);
        if (count == 1)
            continue;
        if (a->dim[i].step != run || over_partitions(a, i))
            break;
        run *= count;
    }
    return run;
}

/* Elements side by side that one index selects. */
static int64_t indexed_run(const struct number_ap *data, const struct number_ap *index,
                           const int64_t *vars)
{
    int64_t run = 1;
    for (int i = data->rank - 1; i >= 0 && index->rank == data->rank; i--) {
        int64_t count = count_of(data, i, vars);
        if (count == 1)
            continue;
        if (index->dim[i].step != 0 || data->dim[i].step != run)
            break;
        run *= count;
    }
    return run;
}

enum { MIN_PIECE = 512 }; /* bytes */

/* A transfer is a list of contiguous pieces, dealt out to the DMA engines. */
static void transfer(const struct machine *m, const struct number_insn *n, const int64_t *vars,
                     struct demand *w)
{
    const struct timing *t = machine_timing(m);
    const struct number_ap *dst = &n->ap[AP(dma_copy, dst)], *src = &n->ap[AP(dma_copy, src)];
    int64_t total = ap_total(dst, vars), size = dst->size > src->size ? dst->size : src->size;
    int64_t run = run_length(dst, vars), other = run_length(src, vars);
    if (n->op == INSN_dma_gather) /* rows of a table */
        run = count_of(dst, dst->rank - 1, vars);
    else if (n->op == INSN_gather)
        total = ap_total(&n->ap[AP(gather, index)], vars),
        run = indexed_run(&n->ap[AP(gather, src)], &n->ap[AP(gather, index)], vars);
    else if (n->op == INSN_scatter)
        total = ap_total(&n->ap[AP(scatter, index)], vars),
        run = indexed_run(&n->ap[AP(scatter, dst)], &n->ap[AP(scatter, index)], vars);
    else if (other < run)
        run = other;
    if (total <= 0)
        return;
    double share = 1;
    if (n->op == INSN_dma_transpose) {
        share = t->dma_transpose_share;
        run = share > 0 ? count_of(src, src->rank - 1, vars) : 1;
        share = share > 0 ? share : 1;
    }
    run = run < 1 ? 1 : run > total ? total : run;
    w->runs = (total + run - 1) / run;
    int64_t bytes = run * size;
    if (w->runs < (int64_t)t->dma_engines && bytes > MIN_PIECE) { /* long runs are cut */
        int64_t pieces = (int64_t)t->dma_engines / w->runs, max = bytes / MIN_PIECE;
        pieces = pieces > max ? max : pieces;
        bytes = (bytes + pieces - 1) / pieces;
        w->runs *= pieces;
    }
    w->bytes = total * size;
    w->run_ps = (int64_t)((double)rounded_ps(piece_ns(t, (double)bytes) * 1000) / share);
    w->ps = cycles_ps(t->dma_issue_cycles, engine_ghz(m, n->engine));
}

/* ---- all ---- */

static void hbm_traffic(const struct number_insn *n, const int64_t *vars, struct demand *w)
{
    const struct number_ap *dst = n->ap; /* the first of any instruction */
    int64_t written = ap_total(dst, vars) * dst->size;
    for (int i = 0; i < n->naps; i++) {
        const struct number_ap *a = &n->ap[i];
        if (a->mem != MEM_HBM)
            continue;
        int64_t bytes = 1;
        for (int k = 0; k < a->rank; k++) /* what is broadcast is read once, but by a transfer */
            bytes *= a->dim[k].step == 0 && !n->dma ? 1 : count_of(a, k, vars);
        bytes *= a->size;
        if (n->dma && bytes > w->bytes) /* rows of a table, not the table */
            bytes = w->bytes;
        if (is_extension(n->op) && i > 0 && bytes > 2 * written)
            bytes = 2 * written;
        written = i ? written : bytes;
        w->read += a->reads ? bytes : 0;
        w->written += a->writes ? bytes : 0;
    }
}

/* Of plane_conv: the terms of each result, which are a row of the weights; never of a chip. */
static double windows_cycles(const struct number_insn *n, const int64_t *vars)
{
    const struct number_ap *w = &n->ap[AP(plane_conv, weights)];
    double rows = (double)count_of(w, 0, vars), terms = rows > 0 ? (double)ap_total(w, vars) / rows : 0;
    return (double)ap_total(&n->ap[AP(plane_conv, dst)], vars) * terms / CPU_FMA;
}

struct demand insn_work(const struct machine *m, const struct number_insn *n, const int64_t *vars)
{
    struct demand w = {0};
    const struct insn_cost *price = &insn_info(n->op)->cost;
    double cycles = 0;
    switch ((enum cost_kind)price->kind) {
    case COST_CONTROL:
        return w;
    case COST_DMA:
        transfer(m, n, vars, &w);
        break;
    case COST_ELEMENTS:
        cycles = element_cycles(m, n, vars, price);
        break;
    case COST_PRODUCT:
    case COST_BLOCKS:
        cycles = product_cycles(m, n, vars, &w);
        break;
    case COST_WINDOWS:
        cycles = windows_cycles(n, vars);
        break;
    case COST_RECURRENT:
        w.matmul = w.array = 2.0 * (double)ap_total(&n->ap[AP(recurrence, x)], vars) *
                             (double)count_of(&n->ap[AP(recurrence, weights)], 1, vars);
        cycles = w.matmul / 2 / (m->strict ? LANES * LANES : CPU_FMA);
        break;
    case COST_TRANSPOSE:
        cycles = transpose_cycles(m, n, vars, &w);
        break;
    }
    hbm_traffic(n, vars, &w);
    if (price->kind == COST_DMA)
        return w;
    w.ps = cycles_ps(cycles, engine_ghz(m, n->engine));
    const struct timing *t = machine_timing(m);
    double rate = t->dma_engines * t->dma_engine_gbps; /* operands in HBM: staged beside the work */
    int64_t memory = rounded_ps((double)(w.read + w.written) / rate * 1000);
    w.ps = memory > w.ps ? memory : w.ps;
    return w;
}
