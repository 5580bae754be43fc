/*
 * Tensor engine: quantized_matmul, whose sums become 8-bit numbers before they leave the cache.
 */
#include "neff/isa/pack.h"
#include "runtime/exec/engine.h"
#include "runtime/kernels/gemm.h"

enum { MAX_BATCHES = 64, OPERANDS = AP(quantized_matmul, other) + 1 };

struct quantized_product {
    int nbatch, batches;
    bool streams; /* the stationary comes from memory */
    int64_t a_step[MAX_BATCHES], w_step[MAX_BATCHES];
};

static bool is_8bit(const struct operand *o)
{
    return o->dtype == DT_U8 || o->dtype == DT_I8;
}

/* Whether elements of that dim are neighbours; one alone is. */
static bool dense(const struct operand *o, int dim)
{
    return o->step[dim] == 1 || o->count[dim] == 1;
}

static bool operands_fit(struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[AP(quantized_matmul, dst)],
                         *w = &i->o[AP(quantized_matmul, stationary)],
                         *a = &i->o[AP(quantized_matmul, moving)],
                         *terms = &i->o[AP(quantized_matmul, terms)],
                         *other = &i->o[AP(quantized_matmul, other)];
    if (!is_8bit(y) || w->dtype != DT_I8 || a->dtype != DT_U8 || terms->dtype != DT_I32 ||
        (other->mem && !is_8bit(other)))
        return fail(b->d, "quantized_matmul: %s from %s and %s, expected 8-bit from u8 and i8",
                    dtype_name(y->dtype), dtype_name(a->dtype), dtype_name(w->dtype));
    if (y->rank != 3 || a->rank < 3 || w->rank != a->rank - 1 || terms->rank != 2 ||
        terms->count[0] != 3 || (other->mem && other->rank != 3))
        return fail(b->d, "quantized_matmul: operands of rank %d, %d and %d", y->rank, w->rank,
                    a->rank);
    const int64_t *rows = a->count + a->rank - 3, *w_count = w->count + w->rank - 2;
    bool equal = rows[0] == y->count[0] && rows[1] == y->count[1] && rows[2] == w_count[0] &&
                 w_count[1] == y->count[2] && terms->count[1] == y->count[2];
    for (int r = 0; r < a->rank - 3; r++)
        equal &= a->count[r] == w->count[r];
    for (int r = 0; r < 3 && other->mem; r++)
        equal &= other->count[r] == y->count[r];
    if (!equal)
        return fail(b->d, "quantized_matmul: operands' counts do not go together");
    if (!dense(y, 2) || !dense(w, w->rank - 1) || !dense(a, a->rank - 1) || !dense(terms, 1) ||
        (other->mem && !dense(other, 2)))
        return fail(b->d, "quantized_matmul: operands with steps between columns or terms");
    int64_t pitch = w->step[w->rank - 2];
    if (y->count[2] > pitch || pitch % PACK_ALIGN_COLUMNS || pitch > 1 << 20 || rows[0] > 1 << 12 ||
        rows[1] > 1 << 16 || rows[2] > 1 << 24)
        return fail(b->d, "quantized_matmul: %lld x %lld rows of %lld, weights %lld apart",
                    (long long)rows[0], (long long)rows[1], (long long)rows[2], (long long)pitch);
    return true;
}

/* Only counts of rows and columns may be clipped. */
static bool clips_fit(struct binding *b, const struct bound_insn *i)
{
    for (int n = 0; n < i->nops; n++)
        for (int k = 0; k < i->o[n].nclips; k++) {
            int dim = i->o[n].clips[k].dim, rank = i->o[n].rank;
            if (n == AP(quantized_matmul, moving) ? dim < rank - 3 || dim == rank - 1
                : n == AP(quantized_matmul, stationary)
                    ? dim != rank - 1
                    : n == AP(quantized_matmul, terms) && dim == 0)
                return fail(b->d, "quantized_matmul: a clipped sum");
        }
    return true;
}

static bool numbers_fit(struct binding *b, const struct bound_insn *i)
{
    const struct insn_info *info = insn_info(INSN_quantized_matmul);
    for (int n = 0; n < info->nimms; n++) {
        bool number = n == IMM(quantized_matmul, zero) || n == IMM(quantized_matmul, sum_zero);
        int64_t v = i->imm[n].base;
        if (i->imm[n].nterms || v < (number ? -128 : 0) || v > (number ? 255 : 1))
            return fail(b->d, "quantized_matmul: '%s' is %lld", info->imm[n].name, (long long)v);
    }
    return true;
}

bool prepare_quantized(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct quantized_product *m = ARENA_NEW(b->arena, struct quantized_product);
    const struct operand *w = &i->o[AP(quantized_matmul, stationary)],
                         *a = &i->o[AP(quantized_matmul, moving)];
    i->prepared = m;
    if (!only_numbers(b, i, insn) || !operands_fit(b, i) || !clips_fit(b, i) || !numbers_fit(b, i))
        return false;
    m->nbatch = a->rank - 3;
    int64_t batches = 1;
    for (int r = 0; r < m->nbatch; r++)
        if (__builtin_mul_overflow(batches, a->count[r], &batches) || batches > MAX_BATCHES)
            return fail(b->d, "quantized_matmul: more than %d batches", MAX_BATCHES);
    m->batches = (int)batches;
    m->streams = weights_stream(b, w);
    for (int64_t n = 0; n < batches; n++) {
        int64_t rest = n;
        m->a_step[n] = m->w_step[n] = 0;
        for (int r = m->nbatch - 1; r >= 0; r--) {
            m->a_step[n] += rest % a->count[r] * a->step[r];
            m->w_step[n] += rest % a->count[r] * w->step[r];
            rest /= a->count[r];
        }
    }
    return true;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How sums become bytes; terms: bias, and behind it scale and shift of every output channel. */
static struct requantize requantization(const struct bound_insn *i, const int32_t *terms)
{
    const struct operand *y = &i->o[AP(quantized_matmul, dst)], *other = &i->o[AP(quantized_matmul, other)];
    int64_t pitch = i->o[AP(quantized_matmul, terms)].step[0];
    return (struct requantize){
        .scale = (const float *)(const void *)(terms + pitch),
        .shift = (const float *)(const void *)(terms + 2 * pitch),
        .is_signed = y->dtype == DT_I8,
        .adds = other->mem != MEM_NONE,
        .sum_signed = NUMBER(i, quantized_matmul, sum_signed) != 0,
        .other_signed = other->dtype == DT_I8,
        .other_first = NUMBER(i, quantized_matmul, other_first) != 0,
        .zero = (int)NUMBER(i, quantized_matmul, zero),
        .sum_zero = (int)NUMBER(i, quantized_matmul, sum_zero),
        .factor = i->flt[FLT(quantized_matmul, factor)],
        .other_factor = i->flt[FLT(quantized_matmul, other_factor)],
        .offset = i->flt[FLT(quantized_matmul, offset)]
    };
}

void exec_quantized_matmul(struct worker *me, const struct bound_insn *i)
{
    const struct quantized_product *m = i->prepared;
    const struct operand *o = i->o, *y = &o[AP(quantized_matmul, dst)],
                         *a = &o[AP(quantized_matmul, moving)],
                         *terms = &o[AP(quantized_matmul, terms)],
                         *other = &o[AP(quantized_matmul, other)];
    int64_t now[OPERANDS][MAX_AP_RANK], rows[2], columns;
    for (int n = 0; n < i->nops; n++)
        if (o[n].mem && !counts_now(me, i, n, now[n]))
            return;
    for (int r = 0; r < 2; r++) {
        rows[r] = min(now[AP(quantized_matmul, dst)][r],
                        now[AP(quantized_matmul, moving)][m->nbatch + r]);
        if (other->mem)
            rows[r] = min(rows[r], now[AP(quantized_matmul, other)][r]);
    }
    columns = min(min(now[AP(quantized_matmul, dst)][2],
                       now[AP(quantized_matmul, stationary)][m->nbatch + 1]),
                 now[AP(quantized_matmul, terms)][1]);
    if (other->mem)
        columns = min(columns, now[AP(quantized_matmul, other)][2]);
    const char *moving = operand_address(me, a),
               *stationary = operand_address(me, &o[AP(quantized_matmul, stationary)]);
    const int32_t *term = (const int32_t *)(const void *)operand_address(me, terms);
    const void *as[MAX_BATCHES], *ws[MAX_BATCHES];
    for (int n = 0; n < m->batches; n++)
        as[n] = moving + m->a_step[n], ws[n] = stationary + m->w_step[n];
    struct gemm_quantized to = {
        .as = requantization(i, term),
        .bias = term,
        .y = (uint8_t *)operand_address(me, y),
        .y_pitch = y->step[1],
        .y_band = y->step[0],
        .a_band = a->step[m->nbatch],
        .width = (int)rows[1],
    };
    if (other->mem) {
        to.other = (const uint8_t *)operand_address(me, other);
        to.other_pitch = other->step[1], to.other_band = other->step[0];
    }
    struct gemm_block g = {.a = as,
                           .w = ws,
                           .count = m->batches,
                           .rows = (int)(rows[0] * rows[1]),
                           .columns = (int)columns,
                           .k = (int)a->count[a->rank - 1],
                           .w_pitch = (int)o[AP(quantized_matmul, stationary)]
                                          .step[o[AP(quantized_matmul, stationary)].rank - 2],
                           .a_pitch = a->step[m->nbatch + 1],
                           .quantized = &to};
    if (m->streams)
        gemm_plan_prefetch(&g, GEMM_U8S8, me->k->stream_line, &me->prefetch);
    me->k->gemm_u8s8(&g);
}
