/*
 * Whole rows: reductions, statistics, softmax, normalisation.
 */
#include "runtime/exec/engine.h"

#include "neff/base/use.h"

#include <math.h>

/* ---- tensor_reduce ---- */

enum { PART = 32, MAX_SHORT = 64 };

struct row_reduction {
    enum kernel_reduce f;
    bool columns; /* rows are strided but neighbours of each other: reduce many at a time */
    bool tile;    /* rows of neighbours, many of them */
};

bool prepare_reduce(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct row_reduction *r = ARENA_NEW(b->arena, struct row_reduction);
    int rank = i->shape.rank;
    i->prepared = r;
    r->f = alu_reduce(i->func[FUNC(tensor_reduce, op)]);
    if (r->f == REDUCE_COUNT)
        return prepare_general_reduce(b, i, insn);
    r->columns = i->inner >= 1 && rank > i->inner && i->o[AP(tensor_reduce, src)].dtype == DT_F32 &&
                 i->o[AP(tensor_reduce, src)].step[rank - 1] != 1 &&
                 i->o[AP(tensor_reduce, src)].step[rank - 1 - i->inner] == 1;
    r->tile = i->inner == 1 && rank >= 2 && i->o[AP(tensor_reduce, src)].dtype == DT_F32 &&
              i->o[AP(tensor_reduce, src)].step[rank - 1] == 1;
    return only_numbers(b, i, insn);
}

static const float starts[REDUCE_COUNT] = {
#define KERNEL_REDUCE(name, start, step) [REDUCE_##name] = start,
#include "runtime/kernels/kernels.def"
};

/* Whether partial results are added, whatever is done to elements. */
static bool adds_up(enum kernel_reduce f)
{
    return f == REDUCE_sum || f == REDUCE_sum_square || f == REDUCE_sum_abs;
}

static float combine(enum kernel_reduce f, float a, float x)
{
    return adds_up(f)         ? a + x
           : f == REDUCE_prod ? a * x
           : isnan(a)         ? a
           : f == REDUCE_max  ? (isnan(x) || x > a ? x : a)
                              : (isnan(x) || x < a ? x : a);
}

static float reduce_line(const struct worker *me, enum kernel_reduce f, const struct operand *o,
                         const char *p, int64_t step, int64_t n)
{
    if (o->dtype == DT_F32)
        return me->k->reduce[f]((struct in_row){(const float *)p, step}, (size_t)n);
    float buf[CHUNK], v = starts[f];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        v = combine(f, v,
                    me->k->reduce[f](fetch(me, o, p + at * step * o->size, step, m, buf), (size_t)m));
    }
    return v;
}

/* n rows of m columns, `pitch` apart, into sums. Partial results: errors grow with n / PART + PART. */
static void add_columns(const struct worker *me, enum kernel_reduce f, float *sums, const float *x, int64_t pitch,
                        int64_t n, int64_t m, bool in_parts)
{
    enum kernel_reduce joins = adds_up(f) ? REDUCE_sum : f;
    float part[CHUNK];
    for (int64_t from = 0; from < n; from += PART) {
        int64_t rows = n - from < PART ? n - from : PART;
        for (int64_t k = 0; in_parts && k < m; k++)
            part[k] = starts[f];
        me->k->reduce_columns[f](in_parts ? part : sums, x + from * pitch, pitch, (size_t)rows, (size_t)m);
        if (in_parts)
            me->k->reduce_columns[joins](sums, part, m, 1, (size_t)m);
    }
}

/* Many short rows: as columns, which are reduced at the end. */
static float reduce_short_rows(const struct worker *me, enum kernel_reduce f, const float *x, int64_t pitch, int64_t n,
                               int64_t m)
{
    enum kernel_reduce joins = adds_up(f) ? REDUCE_sum : f;
    float sums[MAX_SHORT];
    for (int64_t k = 0; k < m; k++)
        sums[k] = starts[f];
    add_columns(me, f, sums, x, pitch, n, m, n > PART);
    return me->k->reduce[joins]((struct in_row){sums, 1}, (size_t)m);
}

static float reduce_dims(const struct worker *me, enum kernel_reduce f, const struct operand *o,
                         const char *p, int dim, int rank, const int64_t *count)
{
    if (dim == rank - 1)
        return reduce_line(me, f, o, p, o->step[dim], count[dim]);
    if (dim == rank - 2 && o->dtype == DT_F32 && o->step[rank - 1] == 1 && count[rank - 1] <= MAX_SHORT)
        return reduce_short_rows(me, f, (const float *)p, o->step[dim], count[dim], count[rank - 1]);
    float v = starts[f];
    for (int64_t n = 0; n < count[dim]; n++)
        v = combine(f, v,
                    reduce_dims(me, f, o, p + n * o->step[dim] * o->size, dim + 1, rank, count));
    return v;
}

static void reduce_store(struct worker *me, const struct bound_insn *i, char *p, float v)
{
    const struct row_reduction *r = i->prepared;
    v *= i->flt[FLT(tensor_reduce, scale)];
    if (number_at(me, &i->imm[IMM(tensor_reduce, accumulate)]))
        v = combine(r->f, load_one(&i->o[AP(tensor_reduce, dst)], p), v);
    store_one(me, &i->o[AP(tensor_reduce, dst)], p, v);
}

/* n results, `step` apart. */
static void store_results(struct worker *me, const struct bound_insn *i, char *p, int64_t step, float *v, int64_t n)
{
    const struct operand *y = &i->o[AP(tensor_reduce, dst)];
    const float scale = i->flt[FLT(tensor_reduce, scale)];
    if (number_at(me, &i->imm[IMM(tensor_reduce, accumulate)])) {
        for (int64_t k = 0; k < n; k++)
            reduce_store(me, i, p + k * step * y->size, v[k]);
        return;
    }
    for (int64_t k = 0; scale != 1 && k < n; k++)
        v[k] *= scale;
    store_row(me, y, p, step, v, n);
}

static void reduce_row(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct row_reduction *r = i->prepared;
    int rank = i->shape.rank;
    reduce_store(me, i, p[AP(tensor_reduce, dst)],
                 reduce_dims(me, r->f, &i->o[AP(tensor_reduce, src)], p[AP(tensor_reduce, src)],
                             rank - i->inner, rank, count));
}

/* Greatest or least elements of few dense columns: rows side by side are columns too, which are joined at the end.
 * False where the order of elements shows: of zeros, which have signs, and of what is no number. */
enum { FEW_COLUMNS = 8, SIDE_BY_SIDE = 64 };
static bool narrow_extremes(const struct worker *me, enum kernel_reduce f, const float *x, int64_t n, int64_t m,
                            float *extreme)
{
    float wide[SIDE_BY_SIDE];
    int64_t beside = SIDE_BY_SIDE / m, columns = beside * m, rows = n / beside;
    bool sure = true;
    for (int64_t k = 0; k < columns; k++)
        wide[k] = starts[f];
    for (int64_t k = 0; k < m; k++)
        extreme[k] = starts[f];
    me->k->reduce_columns[f](wide, x, columns, (size_t)rows, (size_t)columns);
    me->k->reduce_columns[f](extreme, x + rows * columns, m, (size_t)(n - rows * beside), (size_t)m);
    for (int64_t k = 0; k < columns; k++)
        extreme[k % m] = combine(f, extreme[k % m], wide[k]);
    for (int64_t k = 0; k < m; k++)
        sure &= extreme[k] < 0 || extreme[k] > 0;
    return sure;
}

/* Of all reduced dims from `dim` on. */
static void add_all_columns(const struct worker *me, const struct bound_insn *i, float *sums, const float *x, int dim,
                            const int64_t *count, int64_t m, bool in_parts)
{
    const struct row_reduction *r = i->prepared;
    const int64_t *step = i->o[AP(tensor_reduce, src)].step;
    if (dim == i->shape.rank - 1)
        add_columns(me, r->f, sums, x, step[dim], count[dim], m, in_parts);
    else
        for (int64_t k = 0; k < count[dim]; k++)
            add_all_columns(me, i, sums, x + k * step[dim], dim + 1, count, m, in_parts);
}

static void reduce_columns(struct worker *me, const struct bound_insn *i, char *const *p,
                           const int64_t *count)
{
    const struct row_reduction *r = i->prepared;
    const struct operand *y = &i->o[AP(tensor_reduce, dst)], *x = &i->o[AP(tensor_reduce, src)];
    int rank = i->shape.rank, kept = rank - 1 - i->inner;
    float sums[CHUNK];
    int64_t n = 1, pitch = x->step[rank - 1];
    for (int d = kept + 1; d < rank; d++)
        n *= count[d];
    for (int64_t at = 0; at < count[kept]; at += CHUNK) {
        int64_t m = count[kept] - at < CHUNK ? count[kept] - at : CHUNK;
        const float *first = (const float *)p[AP(tensor_reduce, src)] + at;
        bool narrow = i->inner == 1 && (r->f == REDUCE_max || r->f == REDUCE_min) && m <= FEW_COLUMNS && pitch == m &&
                      n >= SIDE_BY_SIDE;
        bool done = narrow && narrow_extremes(me, r->f, first, n, m, sums);
        for (int64_t k = 0; !done && k < m; k++)
            sums[k] = starts[r->f];
        if (!done)
            add_all_columns(me, i, sums, first, kept + 1, count, m, n > PART);
        store_results(me, i, p[AP(tensor_reduce, dst)] + at * y->step[kept] * y->size, y->step[kept], sums, m);
    }
}

static void reduce_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                        const int64_t *count)
{
    const struct row_reduction *r = i->prepared;
    const struct operand *y = &i->o[AP(tensor_reduce, dst)], *x = &i->o[AP(tensor_reduce, src)];
    int last = i->shape.rank - 1;
    int64_t rows = count[last - 1], pitch = x->step[last - 1];
    bool direct = y->dtype == DT_F32 && y->step[last - 1] == 1 &&
                  i->flt[FLT(tensor_reduce, scale)] == 1 &&
                  !number_at(me, &i->imm[IMM(tensor_reduce, accumulate)]);
    if (direct) {
        me->k->reduce_rows[r->f]((float *)p[AP(tensor_reduce, dst)],
                                 (const float *)p[AP(tensor_reduce, src)], pitch, (size_t)rows,
                                 (size_t)count[last]);
        return;
    }
    float sums[CHUNK];
    for (int64_t at = 0; at < rows; at += CHUNK) {
        int64_t m = rows - at < CHUNK ? rows - at : CHUNK;
        me->k->reduce_rows[r->f](sums, (const float *)p[AP(tensor_reduce, src)] + at * pitch, pitch,
                                 (size_t)m, (size_t)count[last]);
        store_results(me, i, p[AP(tensor_reduce, dst)] + at * y->step[last - 1] * y->size, y->step[last - 1], sums, m);
    }
}

void exec_tensor_reduce(struct worker *me, const struct bound_insn *i)
{
    const struct row_reduction *r = i->prepared;
    int64_t count[MAX_AP_RANK];
    if (!shape_now(me, &i->shape, count))
        return;
    if (r->columns)
        for_each_row(me, i, count, i->shape.rank - 1 - i->inner, reduce_columns);
    else if (r->tile)
        for_each_row(me, i, count, i->shape.rank - 2, reduce_tile);
    else
        for_each_row(me, i, count, i->shape.rank - i->inner, reduce_row);
}

/* ---- rows as a whole, in scratch memory when they are not f32 ---- */

bool prepare_rows(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    int64_t n = i->shape.count[i->shape.rank - 1];
    if (n > INT64_MAX / 64)
        return fail(b->d, "a row of %lld elements is too long", (long long)n);
    need_scratch(b, 4 * n * (int64_t)sizeof(float));
    return only_numbers(b, i, insn);
}

static struct in_row whole_row(const struct worker *me, const struct bound_insn *i, char *const *p,
                               int operand, int64_t n)
{
    const struct operand *o = &i->o[operand];
    if (!o->mem)
        return (struct in_row){0};
    return fetch(me, o, p[operand], o->step[i->shape.rank - 1], n,
                 (float *)me->scratch + operand * n);
}

/* The result of softmax and layer_norm. */
enum { DST = AP(softmax, dst) };
_Static_assert((int)DST == AP(layer_norm, dst), "results of rows");

static struct out_row result_row(const struct worker *me, const struct bound_insn *i, char *const *p)
{
    if (i->o[DST].dtype == DT_F32)
        return (struct out_row){(float *)p[DST], i->o[DST].step[i->shape.rank - 1]};
    return (struct out_row){(float *)me->scratch, 1};
}

static void store_result(const struct worker *me, const struct bound_insn *i, char *const *p,
                         int64_t n)
{
    if (i->o[DST].dtype != DT_F32)
        store_row(me, &i->o[DST], p[DST], i->o[DST].step[i->shape.rank - 1],
                  (const float *)me->scratch, n);
}

static void stats_row(struct worker *me, const struct bound_insn *i, char *const *p,
                      const int64_t *count)
{
    int64_t n = count[i->shape.rank - 1];
    float mean, variance;
    me->k->mean_variance(whole_row(me, i, p, AP(bn_stats, src), n), (size_t)n, &mean, &variance);
    store_one(me, &i->o[AP(bn_stats, mean)], p[AP(bn_stats, mean)], mean);
    store_one(me, &i->o[AP(bn_stats, variance)], p[AP(bn_stats, variance)], variance);
}

void exec_bn_stats(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, stats_row);
}

static void softmax_row(struct worker *me, const struct bound_insn *i, char *const *p,
                        const int64_t *count)
{
    int64_t n = count[i->shape.rank - 1];
    struct in_row x = whole_row(me, i, p, AP(softmax, src), n);
    struct out_row y = result_row(me, i, p);
    if (i->flt[FLT(softmax, factor)] != 1) {
        me->k->binary[BINARY_mul](y, x, (struct in_row){&i->flt[FLT(softmax, factor)], 0},
                                  (size_t)n);
        x = (struct in_row){y.at, y.step};
    }
    (i->imm[IMM(softmax, log)].base ? me->k->log_softmax : me->k->softmax)(y, x, (size_t)n);
    store_result(me, i, p, n);
}

static void softmax_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                         const int64_t *count)
{
    int last = i->shape.rank - 1;
    me->k->softmax_rows((float *)p[AP(softmax, dst)], i->o[AP(softmax, dst)].step[last - 1],
                        (const float *)p[AP(softmax, src)], i->o[AP(softmax, src)].step[last - 1],
                        (size_t)count[last - 1], (size_t)count[last], i->flt[FLT(softmax, factor)],
                        i->imm[IMM(softmax, log)].base != 0);
}

static void softmax_columns(struct worker *me, const struct bound_insn *i, char *const *p,
                            const int64_t *count)
{
    int last = i->shape.rank - 1;
    me->k->softmax_across((float *)p[AP(softmax, dst)], i->o[AP(softmax, dst)].step[last],
                          (const float *)p[AP(softmax, src)], i->o[AP(softmax, src)].step[last],
                          (size_t)count[last - 1], (size_t)count[last], i->flt[FLT(softmax, factor)],
                          i->imm[IMM(softmax, log)].base != 0);
}

/* One row of a program that has short ones alone. */
static void softmax_line(struct worker *me, const struct bound_insn *i, char *const *p, const int64_t *count)
{
    me->k->softmax_rows((float *)p[AP(softmax, dst)], 0, (const float *)p[AP(softmax, src)], 0, 1,
                        (size_t)count[i->shape.rank - 1], i->flt[FLT(softmax, factor)],
                        i->imm[IMM(softmax, log)].base != 0);
}

/* Whether both operands are f32 whose neighbours differ in that dim. */
static bool neighbours_along(const struct bound_insn *i, int dim)
{
    return dim >= 0 && i->o[AP(softmax, dst)].dtype == DT_F32 &&
           i->o[AP(softmax, src)].dtype == DT_F32 && i->o[AP(softmax, dst)].step[dim] == 1 &&
           i->o[AP(softmax, src)].step[dim] == 1;
}

void exec_softmax(struct worker *me, const struct bound_insn *i)
{
    int last = i->shape.rank - 1;
    if (last > 0 && neighbours_along(i, last))
        run_tiles(me, i, softmax_tile);
    else if (USED(KERNEL_softmax_across) && neighbours_along(i, last - 1))
        run_tiles(me, i, softmax_columns);
    else
        run_rows(me, i, USED(KERNEL_softmax) ? softmax_row : softmax_line);
}

static void layer_norm_row(struct worker *me, const struct bound_insn *i, char *const *p,
                           const int64_t *count)
{
    int64_t n = count[i->shape.rank - 1];
    struct in_row x = whole_row(me, i, p, AP(layer_norm, src), n),
                  gamma = whole_row(me, i, p, AP(layer_norm, gamma), n),
                  beta = whole_row(me, i, p, AP(layer_norm, beta), n);
    struct out_row y = result_row(me, i, p);
    if (i->imm[IMM(layer_norm, rms)].base) {
        me->k->rms_norm(y, x, gamma, (size_t)n, i->flt[FLT(layer_norm, epsilon)]);
        if (beta.at)
            me->k->binary[BINARY_add](y, (struct in_row){y.at, y.step}, beta, (size_t)n);
    } else {
        me->k->layer_norm(y, x, gamma, beta, (size_t)n, i->flt[FLT(layer_norm, epsilon)]);
    }
    store_result(me, i, p, n);
}

void exec_layer_norm(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, layer_norm_row);
}

/* ---- softmax_block ---- */

static bool two_dims(const struct bound_insn *i, int n, int64_t rows, int64_t columns)
{
    const struct operand *o = &i->o[n];
    return o->rank == 2 && o->count[0] == rows && (columns < 0 || o->count[1] == columns);
}

bool prepare_softmax_block(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *o = i->o;
    int64_t rows = o[AP(softmax_block, dst)].count[0],
            n = o[AP(softmax_block, dst)].rank == 2 ? o[AP(softmax_block, dst)].count[1] : -1;
    if (n < 0 || !two_dims(i, AP(softmax_block, src), rows, n) ||
        !two_dims(i, AP(softmax_block, state), rows, 2) ||
        !two_dims(i, AP(softmax_block, sum), rows, -1) ||
        (o[AP(softmax_block, bias)].mem && !two_dims(i, AP(softmax_block, bias), rows, n)))
        return fail(b->d, "softmax_block: operands of other shapes");
    for (int k = AP(softmax_block, src); k <= AP(softmax_block, sum); k++) {
        bool along = k == AP(softmax_block, bias) && o[k].step[1] == 0;
        if (o[k].mem && (o[k].dtype != DT_F32 || (o[k].step[1] != 1 && !along && n > 1)))
            return fail(b->d, "softmax_block: operand %d is no row of f32", k);
    }
    if ((o[AP(softmax_block, dst)].dtype != DT_F32 && o[AP(softmax_block, dst)].dtype != DT_BF16) ||
        (o[AP(softmax_block, dst)].step[1] != 1 && n > 1))
        return fail(b->d, "softmax_block: its result is no row of f32 or bf16");
    return only_numbers(b, i, insn);
}

void exec_softmax_block(struct worker *me, const struct bound_insn *i)
{
    const struct operand *o = i->o;
    int64_t to[MAX_AP_RANK], from[MAX_AP_RANK], state[MAX_AP_RANK], sum[MAX_AP_RANK];
    if (!counts_now(me, i, AP(softmax_block, dst), to) ||
        !counts_now(me, i, AP(softmax_block, src), from) ||
        !counts_now(me, i, AP(softmax_block, state), state) ||
        !counts_now(me, i, AP(softmax_block, sum), sum))
        return;
    int64_t rows = to[0], n = to[1] < from[1] ? to[1] : from[1];
    int64_t max[] = {from[0], state[0], sum[0]};
    for (int k = 0; k < 3; k++)
        rows = max[k] < rows ? max[k] : rows;
    struct softmax_block s = {.x = {(const float *)operand_address(me, &o[AP(softmax_block, src)]),
                                    1, o[AP(softmax_block, src)].step[0]},
                              .y = {operand_address(me, &o[AP(softmax_block, dst)]),
                                    o[AP(softmax_block, dst)].step[0],
                                    o[AP(softmax_block, dst)].dtype == DT_BF16},
                              .scale = i->flt[FLT(softmax_block, factor)],
                              .rows = (size_t)rows,
                              .n = (size_t)n,
                              .sums = (size_t)sum[1],
                              .state = (float *)operand_address(me, &o[AP(softmax_block, state)]),
                              .sum = (float *)operand_address(me, &o[AP(softmax_block, sum)]),
                              .state_pitch = o[AP(softmax_block, state)].step[0],
                              .sum_pitch = o[AP(softmax_block, sum)].step[0],
                              .more = number_at(me, &i->imm[IMM(softmax_block, more)]) != 0};
    if (o[AP(softmax_block, bias)].mem)
        s.bias = (struct in_tile){(const float *)operand_address(me, &o[AP(softmax_block, bias)]),
                                  o[AP(softmax_block, bias)].step[1] != 0,
                                  o[AP(softmax_block, bias)].step[0]};
    me->k->softmax_block(&s);
}
