#include "neff/isa/cost.h"

#include <math.h>
#include <string.h>

enum { CPU_LANES = 16, CPU_FMA = 16, DMA_START_NS = 1300, CPU_DMA_START_NS = 20 };

static int64_t value_of(const int64_t *values, dim_t d)
{
    int64_t v = dim_is_const(d) ? d : values ? dim_value(values, d) : 1;
    return v == DIM_NOT_BOUND ? 1 : v;
}

int64_t ap_count(const struct ap *a, const int64_t *values)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        if (__builtin_mul_overflow(n, value_of(values, a->dim[i].count), &n))
            return INT64_MAX;
    return n;
}

double engine_ghz(const struct machine *m, int engine)
{
    const double ghz[ENGINE_COUNT] = {m->pe_ghz, m->act_ghz, m->pool_ghz, m->dve_ghz, m->pool_ghz};
    return ghz[engine];
}

static double dma_ns(const struct machine *m, const struct insn *n, const int64_t *values)
{
    const struct ap *dst = &n->ap[AP(dma_copy, dst)]; /* that of other moves too */
    double bytes = (double)ap_count(dst, values) * (double)dtype_bytes(dst->dtype);
    return (m->strict ? DMA_START_NS : CPU_DMA_START_NS) + bytes / m->hbm_gbps;
}

double transfer_ns(const struct machine *m, const struct insn *n, const int64_t *values)
{
    const struct ap *dst = &n->ap[AP(dma_copy, dst)];
    const struct timing *x = machine_timing(m);
    double bytes = (double)ap_count(dst, values) * (double)dtype_bytes(dst->dtype);
    return bytes / (x->dma_engines * x->dma_engine_gbps);
}

double piece_ns(const struct timing *t, double bytes)
{
    return fmax(t->dma_piece_ns, bytes / t->dma_engine_gbps);
}

/* Bytes of an operand of a transfer that lie side by side; in a tile, of one partition. */
static double run_bytes(const struct ap *a, const int64_t *values)
{
    int64_t run = 1;
    for (int i = a->rank - 1; i >= (a->mem == MEM_HBM ? 0 : 1) && value_of(values, a->dim[i].step) == run; i--)
        run *= value_of(values, a->dim[i].count);
    return (double)run * (double)dtype_bytes(a->dtype);
}

double transfer_in_pieces_ns(const struct machine *m, const struct insn *n, const int64_t *values)
{
    const struct ap *dst = &n->ap[AP(dma_copy, dst)], *src = &n->ap[AP(dma_copy, src)];
    const struct timing *t = machine_timing(m);
    double piece = fmin(run_bytes(dst, values), run_bytes(src, values));
    double bytes = (double)ap_count(dst, values) * (double)dtype_bytes(dst->dtype);
    return bytes > 0 ? bytes / piece * piece_ns(t, piece) / t->dma_engines : 0;
}

/* The last dim of an operand. */
static int64_t inner_count(const struct ap *a, const int64_t *values)
{
    return a->rank ? value_of(values, a->dim[a->rank - 1].count) : 1;
}

/* Of nc_matmul and products with operands as it has them: moving [b..., n, k], stationary [b..., k,
 * m]. */
static double matmul_cycles(const struct machine *m, const struct insn *n, const int64_t *values)
{
    const struct ap *s = &n->ap[AP(nc_matmul, stationary)], *v = &n->ap[AP(nc_matmul, moving)];
    int64_t columns = inner_count(s, values);
    int64_t all = ap_count(v, values);
    bool wide = s->dtype == DT_F32;
    if (!m->strict)
        return (double)all * (double)columns / (CPU_FMA * (s->dtype == DT_BF16 ? 2 : 1));
    int64_t k = inner_count(v, values);
    int64_t moving = k ? all / k : 0, load = columns < 64 ? columns : 64;
    return (double)(moving > load ? moving : load) * (wide ? 4 : 1);
}

/* Of plane_conv: the terms of each result, which are a row of the weights. */
static double windows_cycles(const struct insn *n, const int64_t *values)
{
    const struct ap *w = &n->ap[AP(plane_conv, weights)];
    int64_t rows = w->rank ? value_of(values, w->dim[0].count) : 1;
    double terms = rows > 0 ? (double)ap_count(w, values) / (double)rows : 0;
    return (double)ap_count(&n->ap[AP(plane_conv, dst)], values) * terms / CPU_FMA;
}

/* Of weight_only_matmul, whose stationary operand is bytes. */
static double blocks_cycles(const struct insn *n, const int64_t *values)
{
    double moving = (double)ap_count(&n->ap[AP(weight_only_matmul, moving)], values);
    return moving * (double)inner_count(&n->ap[AP(weight_only_matmul, dst)], values) / CPU_FMA;
}

/* At each time the inputs x[t,n,k] and the state h[n,hidden] go into `gates` results of `hidden`.
 */
static double recurrence_cycles(const struct insn *n, const int64_t *values)
{
    const struct ap *x = &n->ap[AP(recurrence, x)];
    int64_t gates = value_of(values, n->imm[IMM(recurrence, gates)].base),
            k = inner_count(x, values);
    double hidden =
        (double)inner_count(&n->ap[AP(recurrence, state)], values) / (gates == 4 ? 2 : 1);
    double rows = k ? (double)ap_count(x, values) / (double)k : 0;
    return rows * ((double)k + hidden) * (double)gates * hidden / CPU_FMA;
}

static double transpose_cycles(const struct insn *n, const int64_t *values)
{
    const struct ap *s = &n->ap[AP(nc_transpose, src)];
    int64_t p = s->rank > 1 ? value_of(values, s->dim[0].count) : 1;
    int64_t f = p ? ap_count(s, values) / p : 0;
    return (double)(p > (f < 64 ? f : 64) ? p : f < 64 ? f : 64) * (s->dtype == DT_F32 ? 4 : 1);
}

/* The operand with the most elements sets the pace: a reduction's source, an elementwise result. */
static int64_t widest(const struct insn *n, const int64_t *values)
{
    int64_t max = 0;
    for (int a = 0; a < insn_info(n->op)->naps; a++) {
        int64_t count = n->ap[a].mem == MEM_NONE ? 0 : ap_count(&n->ap[a], values);
        max = count > max ? count : max;
    }
    return max;
}

/* The same of one partition: the first dim lies over partitions. Operands of one dim have an element in each, beside
 * others. */
static double widest_in_partition(const struct insn *n, const int64_t *values)
{
    double max = 0, alone = 0;
    for (int a = 0; a < insn_info(n->op)->naps; a++) {
        const struct ap *x = &n->ap[a];
        double count = x->mem == MEM_NONE ? 0 : (double)ap_count(x, values);
        if (x->mem != MEM_NONE && x->rank > 1) {
            int64_t partitions = value_of(values, x->dim[0].count);
            count = partitions > 0 ? count / (double)partitions : 0;
            max = count > max ? count : max;
        }
        alone = count > alone ? count : alone;
    }
    return max > 0 ? max : alone;
}

static double element_cycles(const struct machine *m, const struct insn *n, const int64_t *values)
{
    const struct insn_cost *cost = &insn_info(n->op)->cost;
    double rate = cost->rate, min = cost->min;
    if (!m->strict)
        return (double)widest(n, values) * rate / CPU_LANES + 4;
    double elements = widest_in_partition(n, values);
    bool two_memories = n->op == INSN_tensor_tensor &&
                        n->ap[AP(tensor_tensor, a)].mem != n->ap[AP(tensor_tensor, b)].mem;
    if (two_memories)
        rate = 1;
    if (n->op == INSN_tensor_copy && n->engine == ENGINE_DVE && machine_timing(m)->fast_16_bit &&
        dtype_bytes(n->ap[AP(tensor_copy, dst)].dtype) == 2 && dtype_bytes(n->ap[AP(tensor_copy, src)].dtype) == 2)
        rate = 0.5;
    double cycles = cost->start + rate * elements;
    return cycles > min ? cycles : min;
}

double insn_ns(const struct machine *m, const struct insn *n, const int64_t *values)
{
    double cycles = 0;
    switch ((enum cost_kind)insn_info(n->op)->cost.kind) {
    case COST_CONTROL:
        return 0;
    case COST_DMA:
        return dma_ns(m, n, values);
    case COST_ELEMENTS:
        cycles = element_cycles(m, n, values);
        break;
    case COST_PRODUCT:
        cycles = matmul_cycles(m, n, values);
        break;
    case COST_WINDOWS:
        cycles = windows_cycles(n, values);
        break;
    case COST_BLOCKS:
        cycles = blocks_cycles(n, values);
        break;
    case COST_RECURRENT:
        cycles = recurrence_cycles(n, values);
        break;
    case COST_TRANSPOSE:
        cycles = transpose_cycles(n, values);
        break;
    }
    return cycles / engine_ghz(m, n->engine);
}

void kernel_busy_ns(const struct machine *m, const struct kernel *k, const int64_t *values,
                    double busy[ENGINE_COUNT])
{
    double times[MAX_VARS + 1] = {1};
    int depth = 0;
    for (int i = 0; i < k->ngrid; i++)
        times[0] *= (double)value_of(values, k->grid[i]);
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        if (n->op == INSN_loop && depth < MAX_VARS) {
            times[depth + 1] =
                times[depth] * (double)value_of(values, n->imm[IMM(loop, count)].base);
            depth++;
        } else if (n->op == INSN_end && depth > 0) {
            depth--;
        } else {
            busy[n->engine] += times[depth] * insn_ns(m, n, values);
        }
    }
}

/* ---- calls ---- */

static double count_of(const struct program *p, int slot, const int64_t *values)
{
    if (slot < 0 || p->slots[slot].type.kind != VK_TENSOR)
        return 0;
    double n = 1;
    for (int i = 0; i < p->slots[slot].type.rank; i++) {
        int64_t v = value_of(values, p->slots[slot].type.dims[i]);
        n *= v > 0 ? (double)v : 0;
    }
    return n;
}

static double bytes_of(const struct program *p, int slot, const int64_t *values)
{
    return count_of(p, slot, values) *
           (slot < 0 ? 0 : (double)dtype_bytes(p->slots[slot].type.dtype));
}

double call_bytes(const struct program *p, const struct call *c, const int64_t *values)
{
    double n = 0;
    for (int i = 0; i < c->nin; i++)
        n += bytes_of(p, c->in[i], values);
    for (int i = 0; i < c->nout; i++)
        n += bytes_of(p, c->out[i], values);
    return n;
}

double call_flops(const struct program *p, const struct call *c, const int64_t *values)
{
    double out = c->nout ? count_of(p, c->out[0], values) : 0;
    if (c->nin < 2 || c->in[0] < 0 || c->in[1] < 0)
        return out;
    const struct type *a = &p->slots[c->in[0]].type, *b = &p->slots[c->in[1]].type;
    if (c->op == OP_conv && b->kind == VK_TENSOR && b->rank > 0)
        return 2 * out * count_of(p, c->in[1], values) / (double)value_of(values, b->dims[0]);
    if (c->op == OP_matmul && a->kind == VK_TENSOR && a->rank > 0) {
        bool flipped = attr_int(&c->attrs, "trans_a", 0) && a->rank > 1;
        return 2 * out * (double)value_of(values, a->dims[a->rank - (flipped ? 2 : 1)]);
    }
    return out;
}

/* ---- binding ---- */

int64_t *bind_symbols_for_report(const struct program *p, const struct symbol_binding *b, int n,
                                 int64_t otherwise, struct arena *a, struct diag *d)
{
    const struct dim_table *t = &p->dims;
    int64_t *symbols = ARENA_ARRAY(a, int64_t, t->nsymbols + 1),
            *values = ARENA_ARRAY(a, int64_t, t->nnodes + 1);
    for (int i = 0; i < t->nsymbols; i++)
        symbols[i] = t->symbols[i].runtime ? DIM_NOT_BOUND : t->symbols[i].size ? t->symbols[i].size : otherwise;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < t->nsymbols && strcmp(t->symbols[i].name, b[k].name))
            i++;
        if (i == t->nsymbols) {
            fail(d, "no symbol '%s' in this program", b[k].name);
            return NULL;
        }
        symbols[i] = b[k].value;
    }
    dim_eval_all(t, symbols, values);
    return values;
}

static const int64_t LARGEST_SLOT = INT64_C(1) << 50; /* of many, the sum fits too */

int64_t *slot_sizes(const struct program *p, const int64_t *values, struct arena *a)
{
    int64_t *sizes = ARENA_ARRAY(a, int64_t, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++) {
        const struct type *t = &p->slots[i].type;
        int64_t n = t->kind == VK_TENSOR && t->rank >= 0 ? (int64_t)dtype_bytes(t->dtype) : -1;
        for (int k = 0; n >= 0 && k < t->rank; k++) {
            int64_t v = dim_value(values, t->dims[k]);
            if (v == DIM_NOT_BOUND || v < 0 || __builtin_mul_overflow(n, v, &n))
                n = -1;
        }
        sizes[i] = n > LARGEST_SLOT ? -1 : n;
    }
    return sizes;
}

/* Costs of products find these operands of each instruction with that cost. */
_Static_assert(AP(quantized_matmul, stationary) == AP(nc_matmul, stationary),
               "operands of products");
_Static_assert(AP(quantized_matmul, moving) == AP(nc_matmul, moving), "operands of products");
