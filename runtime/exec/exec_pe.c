/*
 * Tensor engine: nc_matmul on matrix tiles.
 *
 * Tiles are prepared when shapes are bound, one for each combination of counts that clipping can
 * leave. What the tile kernels do not take (strided rows, other element types, stationaries that
 * are not packed) is brought into shape in the worker's scratch memory first.
 */
#include "runtime/exec/engine.h"

#include "neff/base/use.h"
#include "runtime/exec/forms.h"
#include "runtime/exec/small_products.h"

#include <string.h>

/* Terms from which on one output is a dot product, of weights that are packed already and of those
 * that would be packed for it; rows of gathered terms at a time. */
enum { MIN_DOT = 32, MIN_DOT_PLAIN = 16, DOT_ROWS = 16 };
enum { MAX_COUNTS = 8, MAX_VARIANTS = 24, BATCHES = GEMM_LEVELS };
enum {
    DST = AP(nc_matmul, dst),
    STATIONARY = AP(nc_matmul, stationary),
    MOVING = AP(nc_matmul, moving),
    OPERANDS
};

struct product_variant {
    int rows, columns, k, accumulate;
    struct gemm g;
};

struct matmul {
    enum gemm_type type;
    int nbatch;
    bool packed;   /* stationary in blocks of neff/isa/pack.h */
    bool streams;  /* they come from memory */
    bool in_place; /* stationary can be read where it is when columns allow it */
    bool convert_a, convert_c;
    bool dot;   /* one output: sums along the rows of moving */
    bool dots;  /* one row by a stationary that lies across: sums along the stationary's rows */
    bool slow;  /* integers that no tile kernel takes */
    bool empty; /* no rows, columns, or terms in the sum */
    int a_size, w_size;
    int64_t a_bytes, w_bytes; /* scratch */
    int64_t k_step;           /* of the stationary: its pitch */
    bool foreseen; /* variants are all that there can be */
    int nvariants;
    struct product_variant *variants;
    const struct product_steps *steps; /* NULL: none */
};

static const int64_t unit_of[] = {[GEMM_F32] = 1, [GEMM_BF16] = 2, [GEMM_U8S8] = 4};

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static bool choose_type(struct binding *b, const struct bound_insn *i, struct matmul *m)
{
    int w = i->o[STATIONARY].dtype, a = i->o[MOVING].dtype;
    if (m->packed) {
        if (w != DT_F32 && w != DT_BF16 && w != DT_I8)
            return fail(b->d, "nc_matmul: packed stationary of %s", dtype_name(w));
        m->type = w == DT_F32 ? GEMM_F32 : w == DT_BF16 ? GEMM_BF16 : GEMM_U8S8;
        if (m->type == GEMM_U8S8 && a != DT_U8)
            return fail(b->d, "nc_matmul: moving of %s against 8-bit weights, expected u8",
                        dtype_name(a));
    } else if (a == DT_BF16 && w == DT_BF16) {
        m->type = GEMM_BF16;
    } else if (a == DT_U8 && w == DT_I8) {
        m->type = GEMM_U8S8;
    } else {
        m->type = GEMM_F32;
        m->slow = !dtype_is_float(a) && !dtype_is_float(w);
    }
    m->a_size = m->w_size = m->type == GEMM_F32 ? 4 : m->type == GEMM_BF16 ? 2 : 1;
    return true;
}

static int type_of(const struct matmul *m)
{
    return m->type == GEMM_F32 ? DT_F32 : m->type == GEMM_BF16 ? DT_BF16 : DT_U8;
}

/* Outs per row of the stationary as the tile reads it. */
static int64_t pitch_for(const struct matmul *m, int64_t columns)
{
    if (m->packed || (m->in_place && columns % 16 == 0))
        return m->k_step;
    return round_up(columns, 16);
}

static bool reads_in_place(const struct matmul *m, int64_t columns)
{
    return !USED(MATMUL_PACKS) || m->packed || (m->in_place && columns % 16 == 0);
}

static bool check_ranks(struct binding *b, struct bound_insn *i, struct matmul *m)
{
    struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    if (a->rank < 2 || w->rank < 2 || c->rank < 2 || a->rank != w->rank || a->rank - 2 > BATCHES)
        return fail(b->d, "nc_matmul: operands of rank %d, %d and %d", c->rank, w->rank, a->rank);
    m->nbatch = a->rank - 2;
    for (int r = 0; r < c->rank - 2; r++)
        if (c->count[r] != 1)
            return fail(b->d, "nc_matmul: its result has %d dims, expected 2", c->rank);
    for (int r = 0; r < m->nbatch; r++)
        if (a->count[r] != w->count[r])
            return fail(b->d, "nc_matmul: batches of %lld and %lld", (long long)a->count[r],
                        (long long)w->count[r]);
    int64_t n = c->count[c->rank - 2], columns = c->count[c->rank - 1];
    int64_t k = a->count[a->rank - 1];
    if (w->count[w->rank - 2] != k)
        return fail(b->d,
                    "a product sums over %lld columns of its first operand but %lld rows of its "
                    "second: these input shapes do not go together in this model",
                    (long long)k, (long long)w->count[w->rank - 2]);
    if (a->count[a->rank - 2] != n || w->count[w->rank - 1] != columns)
        return fail(b->d,
                    "nc_matmul: [%lld,%lld] from moving [%lld,%lld] and stationary [%lld,%lld]",
                    (long long)n, (long long)columns, (long long)a->count[a->rank - 2], (long long)k,
                    (long long)w->count[w->rank - 2], (long long)w->count[w->rank - 1]);
    if (n > 1 << 20 || columns > 1 << 20 || k > 1 << 24 || n * k > 1 << 28 || columns * k > 1 << 28 ||
        n * columns > 1 << 28)
        return fail(b->d, "nc_matmul: a tile of %lld x %lld x %lld is too large", (long long)n,
                    (long long)columns, (long long)k);
    return true;
}

/* ---- counts that clipping leaves ---- */

struct product_counts {
    int n;
    bool some; /* there are others */
    int64_t v[MAX_COUNTS];
};

static void add_count(struct product_counts *c, int64_t v)
{
    for (int i = 0; i < c->n; i++)
        if (c->v[i] == v)
            return;
    if (v > 0 && c->n < MAX_COUNTS)
        c->v[c->n++] = v;
    else
        c->some |= v > 0;
}

static void collect(const struct binding *b, const struct bound_insn *i, int operand, int dim,
                    struct product_counts *c)
{
    enum { LOOK_AT = 4096 };
    int64_t full = i->o[operand].count[dim];
    bool clipped = false;
    for (int k = 0; k < i->o[operand].nclips; k++) {
        const struct clip *cl = &i->o[operand].clips[k];
        if (cl->dim != dim)
            continue;
        clipped = true;
        c->some |= b->var_count[cl->var] > LOOK_AT;
        int64_t last = b->var_count[cl->var] - 1, from = last > LOOK_AT ? last - LOOK_AT : 0;
        add_count(c, cl->limit < full ? cl->limit : full);
        for (int64_t v = from; v <= last; v++) {
            int64_t max = cl->limit - cl->factor * v;
            add_count(c, max < full ? max : full);
        }
    }
    if (!clipped)
        add_count(c, full);
}

static struct gemm_tile tile_for(const struct bound_insn *i, const struct matmul *m, int64_t rows,
                                 int64_t columns, int64_t k, bool accumulate)
{
    const struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    bool in_place = reads_in_place(m, columns);
    struct gemm_tile t = {.type = m->type, .rows = (int)rows, .columns = (int)columns, .k = (int)k};
    t.w_pitch = (int)pitch_for(m, columns);
    t.a_pitch = m->convert_a ? k : a->step[a->rank - 2];
    t.c_pitch = m->convert_c ? columns : c->step[c->rank - 2];
    t.accumulate = accumulate && !m->convert_c;
    t.streams = m->streams;
    int64_t w_block = round_up(k, unit_of[m->type]) * t.w_pitch, a_block = rows * k;
    for (int r = m->nbatch - 1; r >= 0; r--) {
        struct gemm_level *l = &t.batch[BATCHES - m->nbatch + r];
        l->count = (int)a->count[r];
        l->a_step = m->convert_a ? a_block : a->step[r];
        l->w_step = in_place ? w->step[r] : w_block;
        a_block *= a->count[r];
        w_block *= a->count[r];
    }
    return t;
}

static bool clips_batches(const struct bound_insn *i)
{
    bool any = false;
    for (int n = STATIONARY; n <= MOVING; n++)
        for (int k = 0; k < i->o[n].nclips; k++)
            any |= i->o[n].clips[k].dim < i->o[n].rank - 2;
    return any;
}

static void prepare_variants(struct binding *b, struct bound_insn *i, struct matmul *m)
{
    const struct operand *c = &i->o[DST], *a = &i->o[MOVING], *w = &i->o[STATIONARY];
    struct product_counts rows = {0}, columns = {0}, k = {0};
    collect(b, i, DST, c->rank - 2, &rows);
    collect(b, i, MOVING, a->rank - 2, &rows);
    collect(b, i, DST, c->rank - 1, &columns);
    collect(b, i, STATIONARY, w->rank - 1, &columns);
    collect(b, i, MOVING, a->rank - 1, &k);
    collect(b, i, STATIONARY, w->rank - 2, &k);
    bool varies = i->imm[IMM(nc_matmul, accumulate)].nterms > 0;
    struct product_variant variants[MAX_VARIANTS];
    m->foreseen = !(rows.some | columns.some | k.some) && !clips_batches(i);
    for (int x = 0; x < rows.n; x++)
        for (int y = 0; y < columns.n; y++)
            for (int z = 0; z < k.n; z++)
                for (int acc = 0; acc < 2; acc++) {
                    if (!varies && acc != (NUMBER(i, nc_matmul, accumulate) != 0))
                        continue;
                    if (m->nvariants == MAX_VARIANTS || columns.v[y] > pitch_for(m, columns.v[y])) {
                        m->foreseen = false;
                        continue;
                    }
                    struct product_variant *v = &variants[m->nvariants++];
                    *v = (struct product_variant){.rows = (int)rows.v[x],
                                          .columns = (int)columns.v[y],
                                          .k = (int)k.v[z],
                                          .accumulate = acc};
                    struct gemm_tile t = tile_for(i, m, rows.v[x], columns.v[y], k.v[z], acc);
                    gemm_prepare(&v->g, &t, b->lanes);
                }
    m->variants = arena_copy(b->arena, variants, sizeof *variants * (size_t)m->nvariants);
}

/* A result that lies [m][n] is the product of the exchanged operands: the kernels write rows of
 * neighbours. */
static void exchange_planes(struct arena *a, struct bound_insn *i, int n)
{
    struct operand *o = &i->o[n];
    int r = o->rank - 2, c = r + 1;
    int64_t step = o->step[r], count = o->count[r];
    o->step[r] = o->step[c], o->count[r] = o->count[c];
    o->step[c] = step, o->count[c] = count;
    size_t bytes = sizeof(struct clip) * (size_t)i->o[n].nclips;
    struct clip *clips = bytes ? arena_copy(a, i->o[n].clips, bytes) : NULL;
    for (int k = 0; k < i->o[n].nclips; k++)
        if (clips[k].dim >= r)
            clips[k].dim = clips[k].dim == r ? c : r;
    i->o[n].clips = clips;
}

static void exchange(struct arena *a, struct bound_insn *i)
{
    struct operand o = i->o[STATIONARY];
    i->o[STATIONARY] = i->o[MOVING], i->o[MOVING] = o;
    for (int n = 0; n < OPERANDS; n++)
        exchange_planes(a, i, n);
}

static bool better_exchanged(const struct bound_insn *i, const struct matmul *m)
{
    const struct operand *c = &i->o[DST];
    return !m->packed && dtype_is_float(i->o[STATIONARY].dtype) &&
           dtype_is_float(i->o[MOVING].dtype) && c->step[c->rank - 1] > 1 &&
           c->step[c->rank - 2] == 1;
}

/* One column of few terms, of many rows: as one row its sums are vectors. Those of many terms are dot products. */
static bool column_alone(const struct bound_insn *i, const struct matmul *m)
{
    enum { MIN_ROWS = 16 };
    const struct operand *c = &i->o[DST], *a = &i->o[MOVING];
    int64_t terms = a->count[a->rank - 1];
    for (int r = 0; r < m->nbatch && terms <= MIN_DOT; r++)
        terms *= a->count[r];
    return m->type == GEMM_F32 && c->count[c->rank - 1] == 1 && c->count[c->rank - 2] >= MIN_ROWS &&
           terms < (m->packed ? MIN_DOT : MIN_DOT_PLAIN) && c->dtype == DT_F32 && a->dtype == DT_F32 &&
           i->o[STATIONARY].dtype == DT_F32;
}

/* What clips leave of a dim at most: variables are 0 or more. */
static int64_t max_of(const struct operand *o, int dim)
{
    int64_t n = o->count[dim];
    for (int i = 0; i < o->nclips; i++)
        if (o->clips[i].dim == dim && o->clips[i].factor >= 0 && o->clips[i].limit < n)
            n = o->clips[i].limit;
    return n > 0 ? n : 0;
}

/* Steps of dims of one place mean nothing: rows of one element are rows of neighbours. */
static void make_dense(struct arena *a, struct operand *o)
{
    int last = o->rank - 1;
    if (o->count[last] != 1 || o->step[last] == 1)
        return;
    o->step = arena_copy(a, o->step, sizeof *o->step * (size_t)o->rank);
    o->step[last] = 1;
}

bool prepare_matmul(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct matmul *m = ARENA_NEW(b->arena, struct matmul);
    struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    i->prepared = m;
    m->packed = NUMBER(i, nc_matmul, packing) != 0;
    if (!only_numbers(b, i, insn) || !check_ranks(b, i, m) || !choose_type(b, i, m))
        return false;
    if (column_alone(i, m))
        exchange(b->arena, i), m->packed = false;
    else if (better_exchanged(i, m))
        exchange(b->arena, i);
    for (int n = 0; n < OPERANDS; n++)
        make_dense(b->arena, &i->o[n]);
    m->k_step = w->step[w->rank - 2];
    int64_t m_step = w->step[w->rank - 1], rows = max_of(c, c->rank - 2),
            columns = c->count[c->rank - 1];
    int64_t k = a->count[a->rank - 1], batches = 1;
    if (m->packed && (m_step != 1 || m->k_step < 16 || m->k_step % 16 || m->k_step > 1 << 20))
        return fail(b->d, "nc_matmul: a packed stationary with steps %lld and %lld",
                    (long long)m->k_step, (long long)m_step);
    for (int r = 0; r < m->nbatch; r++)
        if (__builtin_mul_overflow(batches, a->count[r], &batches) || batches > 1 << 20)
            return fail(b->d, "nc_matmul: too many batches");
    m->streams = m->packed && weights_stream(b, w);
    m->empty = batches == 0 || rows == 0 || columns == 0 || k == 0;
    if (m->empty)
        return true;
    m->in_place = !m->packed && w->dtype == DT_F32 && m->type == GEMM_F32 && m_step == 1 &&
                  m->k_step % 16 == 0 && m->k_step >= columns && m->k_step <= 1 << 20;
    m->convert_a =
        a->dtype != type_of(m) || a->step[a->rank - 1] != 1 || a->step[a->rank - 2] < (rows > 1);
    int c_type = m->type == GEMM_U8S8 ? DT_I32 : DT_F32;
    m->convert_c = c->dtype != c_type || c->step[c->rank - 1] != 1 || c->step[c->rank - 2] < columns;
    if (m->slow)
        return true;
    m->dots = rows == 1 && m->nbatch == 0 && !m->packed && m->type == GEMM_F32 && !m->convert_a &&
              w->dtype == DT_F32 && c->dtype == DT_F32 && m->k_step == 1 && m_step >= k;
    if (m->dots)
        return true;
    m->a_bytes = m->convert_a ? round_up(batches * rows * k * m->a_size, 64) : 0;
    m->w_bytes =
        m->packed ? 0 : round_up(batches * round_up(k, 4) * round_up(columns, 16) * m->w_size, 64);
    if (m->a_bytes > 1 << 28 || m->w_bytes > 1 << 28)
        return fail(b->d, "nc_matmul: operands of %lld bytes must be rearranged, at most %d are",
                    (long long)(m->a_bytes > m->w_bytes ? m->a_bytes : m->w_bytes), 1 << 28);
    m->dot = columns == 1 && k * batches >= (m->packed ? MIN_DOT : MIN_DOT_PLAIN) &&
             m->type == GEMM_F32 && !m->convert_a && c->dtype == DT_F32 && w->dtype == DT_F32;
    if (m->dot)
        m->w_bytes = round_up(batches * k * 4 * (batches > 1 ? 1 + DOT_ROWS : 1), 64);
    need_scratch(b, m->a_bytes + m->w_bytes + (m->convert_c ? rows * columns * 4 : 0) + 64);
    bool accumulates =
        NUMBER(i, nc_matmul, accumulate) || i->imm[IMM(nc_matmul, accumulate)].nterms;
    bool many = rows > 1 || b->lanes == 16; /* one row alone is read in longer panels */
    if (!m->dot && !m->convert_c && m->type != GEMM_U8S8 && !accumulates && many) {
        int skip = 0;
        m->steps = find_steps(b, i, &skip);
        i->skip = skip;
    }
    prepare_variants(b, i, m);
    return true;
}

/* ---- running ---- */

struct product_extent {
    int64_t rows, columns, k, batch[BATCHES], batches;
};

/* Counts in force: the least that any operand has, so that no operand is read outside what was
 * checked. */
static bool extent_now(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                       struct product_extent *e)
{
    const struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    int64_t cc[MAX_AP_RANK], wc[MAX_AP_RANK], ac[MAX_AP_RANK];
    if (!counts_now(me, i, DST, cc) || !counts_now(me, i, STATIONARY, wc) ||
        !counts_now(me, i, MOVING, ac))
        return false;
    e->rows = cc[c->rank - 2] < ac[a->rank - 2] ? cc[c->rank - 2] : ac[a->rank - 2];
    e->columns = cc[c->rank - 1] < wc[w->rank - 1] ? cc[c->rank - 1] : wc[w->rank - 1];
    e->k = wc[w->rank - 2] < ac[a->rank - 1] ? wc[w->rank - 2] : ac[a->rank - 1];
    if (m->packed && e->columns > m->k_step) /* only the pack's width was checked */
        e->columns = m->k_step;
    e->batches = 1;
    for (int r = 0; r < m->nbatch; r++) {
        e->batch[r] = ac[r] < wc[r] ? ac[r] : wc[r];
        e->batches *= e->batch[r];
    }
    return true;
}

/* Elements from the start to batch number n. */
static int64_t batch_offset(const struct operand *o, const struct matmul *m, const struct product_extent *e,
                            int64_t n)
{
    int64_t at = 0;
    for (int r = m->nbatch - 1; r >= 0; r--) {
        at += n % e->batch[r] * o->step[r];
        n /= e->batch[r];
    }
    return at;
}

static void convert_moving(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                           const struct product_extent *e, const char *from, char *to)
{
    const struct operand *a = &i->o[MOVING];
    struct operand as = {.dtype = (uint8_t)type_of(m), .size = (uint8_t)m->a_size};
    bool across = a->dtype == as.dtype && a->step[a->rank - 2] == 1 && a->step[a->rank - 1] > 1;
    for (int64_t n = 0; n < e->batches; n++) {
        const char *x = from + batch_offset(a, m, e, n) * a->size;
        if (across) {
            me->k->transpose(to, e->k, x, a->step[a->rank - 1], (size_t)e->k, (size_t)e->rows,
                             (size_t)m->a_size);
            to += e->rows * e->k * m->a_size;
            continue;
        }
        for (int64_t r = 0; r < e->rows; r++, to += e->k * m->a_size)
            convert_row(me, &as, to, 1, a, x + r * a->step[a->rank - 2] * a->size,
                        a->step[a->rank - 1], e->k);
    }
}

/* Words of a row, by pieces that overlap where its length asks for it: few of them, most often, for many rows. */
static inline void copy_words(float *to, const float *from, int64_t n)
{
    enum { PIECE = 16 };
    int64_t i = 0;
    for (; i + PIECE <= n; i += PIECE)
        memcpy(to + i, from + i, PIECE * sizeof *to);
    if (i == n)
        return;
    if (n >= PIECE)
        memcpy(to + n - PIECE, from + n - PIECE, PIECE * sizeof *to);
    else
        for (; i < n; i++)
            to[i] = from[i];
}

/* One [k][columns] block in the layout of neff/isa/pack.h with the given pitch. */
static void pack_block(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                       const struct product_extent *e, int64_t pitch, const char *x, char *to)
{
    const struct operand *w = &i->o[STATIONARY];
    int64_t ks = w->step[w->rank - 2], ms = w->step[w->rank - 1], unit = unit_of[m->type];
    struct operand as = {.dtype = m->type == GEMM_F32 ? DT_F32 : w->dtype,
                         .size = (uint8_t)m->w_size};
    if (w->dtype == as.dtype && ms == 1 && m->type == GEMM_F32) {
        for (int64_t k = 0; k < e->k; k++)
            copy_words((float *)to + k * pitch, (const float *)x + k * ks, e->columns);
        return;
    }
    if (w->dtype == as.dtype && ks == 1 && m->type == GEMM_F32) {
        me->k->transpose(to, pitch, x, ms, (size_t)e->columns, (size_t)e->k, 4);
        return;
    }
    if (ks == 1 && m->type == GEMM_BF16 && e->k % 2 == 0 &&
        ms % 2 == 0) { /* pairs as one element */
        me->k->transpose(to, pitch, x, ms / 2, (size_t)e->columns, (size_t)e->k / 2, 4);
        return;
    }
    if (w->dtype == as.dtype && ms == 1 && m->type == GEMM_BF16) {
        const uint16_t *row = (const uint16_t *)x;
        for (int64_t k = 0; k < e->k; k += 2, row += 2 * ks)
            me->k->interleave((uint16_t *)to + k * pitch, row, k + 1 < e->k ? row + ks : NULL,
                              (size_t)e->columns);
        return;
    }
    for (int64_t k = 0; k < round_up(e->k, unit); k++) {
        char *row = to + (k / unit * pitch * unit + k % unit) * m->w_size;
        if (k < e->k)
            convert_row(me, &as, row, unit, w, x + k * ks * w->size, ms, e->columns);
        else
            for (int64_t o = 0; o < e->columns; o++)
                memset(row + o * unit * m->w_size, 0, (size_t)m->w_size);
    }
}

static void pack_stationary(const struct worker *me, const struct bound_insn *i,
                            const struct matmul *m, const struct product_extent *e, const char *from,
                            char *to)
{
    const struct operand *w = &i->o[STATIONARY];
    int64_t pitch = pitch_for(m, e->columns),
            block = round_up(e->k, unit_of[m->type]) * pitch * m->w_size;
    for (int64_t n = 0; n < e->batches; n++, to += block)
        pack_block(me, i, m, e, pitch, from + batch_offset(w, m, e, n) * w->size, to);
}

static void store_result(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                         const struct product_extent *e, const char *from, char *to, bool accumulate)
{
    const struct operand *c = &i->o[DST];
    struct operand as = {.dtype = m->type == GEMM_U8S8 ? DT_I32 : DT_F32, .size = 4};
    int64_t rs = c->step[c->rank - 2] * c->size, ms = c->step[c->rank - 1];
    for (int64_t r = 0; r < e->rows; r++) {
        char *y = to + r * rs;
        const char *x = from + r * e->columns * 4;
        if (!accumulate)
            convert_row(me, c, y, ms, &as, x, 1, e->columns);
        for (int64_t o = 0; USED(GEMM_ACCUMULATES) && accumulate && o < e->columns; o++) {
            double old = dtype_load_f64(c->dtype, y + o * ms * c->size, 0);
            dtype_store_f64(c->dtype, y + o * ms * c->size, 0,
                            old + dtype_load_f64(as.dtype, x, (size_t)o));
        }
    }
}

static const struct gemm *find_variant(const struct worker *me, const struct bound_insn *i,
                                       const struct matmul *m, const struct product_extent *e,
                                       bool accumulate, struct gemm *own)
{
    bool whole = true;
    for (int r = 0; r < m->nbatch; r++)
        whole &= e->batch[r] == i->o[MOVING].count[r];
    for (int n = 0; n < m->nvariants && whole; n++) {
        const struct product_variant *v = &m->variants[n];
        if (v->rows == e->rows && v->columns == e->columns && v->k == e->k && v->accumulate == accumulate)
            return &v->g;
    }
    if (!USED(MATMUL_UNFORESEEN))
        return NULL;
    struct bound_insn cut = *i; /* batches that are clipped, and counts that were not foreseen */
    struct operand o[OPERANDS];
    memcpy(o, i->o, sizeof o);
    int64_t count[MAX_AP_RANK];
    memcpy(count, o[MOVING].count, sizeof *count * o[MOVING].rank);
    memcpy(count, e->batch, sizeof *count * (size_t)m->nbatch);
    o[MOVING].count = count;
    cut.o = o;
    struct gemm_tile t = tile_for(&cut, m, e->rows, e->columns, e->k, accumulate);
    gemm_prepare(own, &t, me->k->lanes);
    return own;
}

static void multiply_slow(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                          const struct product_extent *e, char *const *p, bool accumulate)
{
    const struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    for (int64_t r = 0; r < e->rows; r++)
        for (int64_t o = 0; o < e->columns; o++) {
            char *y = p[DST] + (r * c->step[c->rank - 2] + o * c->step[c->rank - 1]) * c->size;
            int64_t sum = accumulate ? dtype_load_i64(c->dtype, y, 0) : 0;
            for (int64_t n = 0; n < e->batches; n++)
                for (int64_t k = 0; k < e->k; k++) {
                    int64_t at = batch_offset(a, m, e, n) + r * a->step[a->rank - 2] +
                                 k * a->step[a->rank - 1];
                    int64_t wt = batch_offset(w, m, e, n) + k * w->step[w->rank - 2] +
                                 o * w->step[w->rank - 1];
                    sum += dtype_load_i64(a->dtype, p[MOVING] + at * a->size, 0) *
                           dtype_load_i64(w->dtype, p[STATIONARY] + wt * w->size, 0);
                }
            if (dtype_is_int(c->dtype))
                dtype_store_i64(c->dtype, y, 0, sum);
            else
                dtype_store_f64(c->dtype, y, 0, (double)sum);
        }
}

/* One output of many terms: partial sums along the rows, which is also closer than one long sum.
 * The terms of all batches are brought together: a row costs one fold. */
static void multiply_dot(const struct worker *me, const struct bound_insn *i, const struct matmul *m,
                         const struct product_extent *e, char *const *p, bool accumulate)
{
    const struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    int64_t terms = e->batches * e->k, c_step = c->step[c->rank - 2], a_step = a->step[a->rank - 2];
    float *column = (float *)me->scratch, *rows = column + terms, *to = (float *)p[DST];
    const float *from = (const float *)p[MOVING];
    for (int64_t n = 0; n < e->batches; n++)
        me->k->copy(column + n * e->k, 4, (const float *)p[STATIONARY] + batch_offset(w, m, e, n),
                    w->step[w->rank - 2] * 4, (size_t)e->k, 4);
    if (e->batches == 1) {
        me->k->dot(to, c_step, from, a_step, column, (size_t)e->rows, (size_t)terms, accumulate);
        return;
    }
    for (int64_t r = 0; r < e->rows; r += DOT_ROWS) {
        int64_t some = e->rows - r < DOT_ROWS ? e->rows - r : DOT_ROWS;
        for (int64_t n = 0; n < e->batches; n++) {
            const float *x = from + r * a_step + batch_offset(a, m, e, n);
            for (int64_t q = 0; q < some; q++)
                memcpy(rows + q * terms + n * e->k, x + q * a_step, (size_t)e->k * sizeof *x);
        }
        me->k->dot(to + r * c_step, c_step, rows, terms, column, (size_t)some, (size_t)terms,
                   accumulate);
    }
}

/* A sum of nothing. */
static void clear_result(const struct worker *me, const struct bound_insn *i)
{
    const struct operand *c = &i->o[DST];
    int64_t count[MAX_AP_RANK];
    if (number_at(me, &i->imm[IMM(nc_matmul, accumulate)]) != 0 || !counts_now(me, i, DST, count))
        return;
    char *to = operand_address(me, c);
    for (int64_t r = 0; r < count[c->rank - 2]; r++)
        for (int64_t o = 0; o < count[c->rank - 1]; o++)
            memset(to + (r * c->step[c->rank - 2] + o * c->step[c->rank - 1]) * c->size, 0,
                   c->size);
}

void exec_nc_matmul(struct worker *me, const struct bound_insn *i)
{
    const struct matmul *m = i->prepared;
    struct product_extent e;
    if (USED(MATMUL_EMPTY) && m->empty) {
        clear_result(me, i);
        return;
    }
    if (!extent_now(me, i, m, &e))
        return;
    char *p[OPERANDS];
    for (int n = 0; n < OPERANDS; n++)
        p[n] = operand_address(me, &i->o[n]);
    bool accumulate = number_at(me, &i->imm[IMM(nc_matmul, accumulate)]) != 0;
    if (USED(MATMUL_SLOW) && m->slow) {
        multiply_slow(me, i, m, &e, p, accumulate);
        return;
    }
    if (USED(MATMUL_DOT) && m->dot) {
        multiply_dot(me, i, m, &e, p, accumulate);
        return;
    }
    if (USED(MATMUL_DOTS) && m->dots) {
        me->k->dot((float *)p[DST], i->o[DST].step[i->o[DST].rank - 1], (const float *)p[STATIONARY],
                   i->o[STATIONARY].step[1], (const float *)p[MOVING], (size_t)e.columns, (size_t)e.k,
                   accumulate);
        return;
    }
    struct gemm own;
    const struct gemm *g = find_variant(me, i, m, &e, accumulate, &own);
    char *scratch = me->scratch, *to = p[DST];
    const bool gathers = USED(MATMUL_GATHERS) && m->convert_a, converts = USED(MATMUL_CONVERTS) && m->convert_c;
    if (gathers) {
        convert_moving(me, i, m, &e, p[MOVING], scratch);
        p[MOVING] = scratch;
        scratch += m->a_bytes;
    }
    if (!reads_in_place(m, e.columns)) {
        pack_stationary(me, i, m, &e, p[STATIONARY], scratch);
        p[STATIONARY] = scratch;
    }
    if (converts)
        to = me->scratch + m->a_bytes + m->w_bytes;
    struct gemm_operands x = {.a = p[MOVING], .w = p[STATIONARY], .c = to, .prefetch = &me->prefetch};
    struct gemm_step steps[MAX_STEPS];
    if (USED(MATMUL_STEPS) && m->steps)
        x.steps = steps, x.nsteps = place_steps(me, m->steps, steps);
    gemm_run_with(g, me->k, &x);
    if (converts && !x.steps)
        store_result(me, i, m, &e, to, p[DST], accumulate);
}

bool product_is_small(const struct bound_insn *i, int lanes, struct small_products *p)
{
    enum { MAX_COLUMNS = 16, MAX_TERMS = 256, MAX_OF_LANES = 64 }; /* where tiles of registers are no faster */
    const struct matmul *m = i->prepared;
    const struct operand *c = &i->o[DST], *w = &i->o[STATIONARY], *a = &i->o[MOVING];
    if (m->type != GEMM_F32 || m->packed || m->empty || m->slow || m->dot || m->dots || m->convert_a || m->convert_c ||
        m->steps || m->nbatch || !m->foreseen || m->nvariants != 1 || m->variants[0].accumulate ||
        i->imm[IMM(nc_matmul, accumulate)].nterms || w->dtype != DT_F32 || w->step[w->rank - 1] != 1)
        return false;
    const struct product_variant *v = &m->variants[0];
    *p = (struct small_products){.c_pitch = c->step[c->rank - 2],
                                 .a_pitch = a->step[a->rank - 2],
                                 .w_pitch = w->step[w->rank - 2],
                                 .rows = v->rows,
                                 .columns = v->columns,
                                 .k = v->k};
    return v->columns <= MAX_COLUMNS && v->k <= MAX_TERMS &&
           (int64_t)v->rows * v->columns * v->k <= MAX_OF_LANES * (int64_t)lanes * lanes;
}

/* ---- what of all this an instruction needs (forms.h) ---- */

/* Whether kernels sum the tile in parts, which they add to each other in C (gemm.c). */
static bool in_parts(const struct gemm *g)
{
    int64_t entries = g->pieces > 1 ? GEMM_ADDRESSES + 1 : 1;
    for (int n = 0; n < GEMM_LEVELS; n++)
        entries *= g->tile.batch[n].count > 1 ? g->tile.batch[n].count : 1;
    return entries > GEMM_ADDRESSES;
}

unsigned product_forms(const struct bound_insn *i, tell_tile *tell, void *to)
{
    const struct matmul *m = i->prepared;
    if (m->empty || m->slow || m->dots || m->dot)
        return m->empty ? FORM_EMPTY : m->slow ? FORM_SLOW : m->dots ? FORM_DOTS : FORM_DOT;
    unsigned forms = (m->convert_a ? FORM_GATHERS : 0) | (m->convert_c ? FORM_CONVERTS : 0) |
                     (m->streams ? FORM_WEIGHTS_COME : 0) | (m->steps ? FORM_STEPS : 0) |
                     (m->foreseen ? 0 : FORM_UNFORESEEN | FORM_PACKS | FORM_LONG_STEPS);
    bool simple = !m->steps || steps_are_simple(m->steps);
    for (int n = 0; n < m->nvariants; n++) {
        const struct product_variant *v = &m->variants[n];
        forms |= (reads_in_place(m, v->columns) ? 0 : FORM_PACKS) |
                 (simple && (!m->steps || !in_parts(&v->g)) ? 0 : FORM_LONG_STEPS);
        tell(to, &v->g.tile);
    }
    return forms;
}

void exec_nc_transpose(struct worker *me, const struct bound_insn *i)
{
    exec_dma_transpose(me, i);
}
