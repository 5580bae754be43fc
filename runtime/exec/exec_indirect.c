/*
 * Accesses through indices: gather, scatter, local_gather, nc_stream_shuffle; and accumulation in
 * place.
 */
#include "runtime/exec/separate.h"

#include "runtime/ops/common/elementwise.h"

#include <stdio.h>
#include <string.h>

/* ---- dst = op(dst, src) on rows ---- */

struct scatter_combine {
    bool plain, integers;
    struct alu f;
    enum op op;       /* of integers */
    int64_t elements; /* of what is reached through an index; -1 not known */
};

static bool find_combine(struct binding *b, const struct bound_insn *i, int dst, int src, int op,
                         struct scatter_combine *c)
{
    c->plain = op == OP_identity;
    c->op = (enum op)op;
    if (c->plain)
        return true;
    c->integers = !dtype_is_float(i->o[dst].dtype) && !dtype_is_float(i->o[src].dtype);
    const struct ew_row *row = ew_row((enum op)op);
    if (c->integers)
        return (row && row->sn && row->form == EW_BINARY) ||
               fail(b->d, "%s: operator '%s' does not combine integers", insn_info(i->op)->name,
                    op_name((enum op)op));
    if (!alu_find(&c->f, op, false, 0, 0, b->d))
        return false;
    return !c->f.unary || fail(b->d, "%s: operator '%s' has one operand, expected two",
                               insn_info(i->op)->name, op_name((enum op)op));
}

/* Elements of an operand, by steps. */
struct strided_row {
    const struct operand *o;
    char *at;
    int64_t step;
};

static char *row_element(const struct strided_row *r, int64_t k)
{
    return r->at + k * r->step * r->o->size;
}

static void combine_integers(const struct scatter_combine *c, const struct strided_row *y, const struct strided_row *x,
                             int64_t n)
{
    const struct ew_row *row = ew_row(c->op);
    const int dtype = y->o->dtype;
    for (int64_t k = 0; k < n; k++) {
        char *at = row_element(y, k);
        int64_t a = dtype_load_i64(dtype, at, 0), b = dtype_load_i64(x->o->dtype, row_element(x, k), 0), z;
        if (dtype_class(dtype) == DTC_SINT)
            row->sn(&a, &b, &z, 1);
        else
            row->un((uint64_t *)&a, (uint64_t *)&b, (uint64_t *)&z, 1);
        dtype_store_i64(dtype, at, 0, z);
    }
}

/* Elements one after the other where they are in the same place (y's step is 0). */
static void combine_row(const struct worker *me, const struct scatter_combine *c, const struct strided_row *y,
                        const struct strided_row *x, int64_t n)
{
    float a[CHUNK], b[CHUNK], z[CHUNK];
    if (c->plain) {
        convert_row(me, y->o, y->at, y->step, x->o, x->at, x->step, n);
        return;
    }
    if (c->integers) {
        combine_integers(c, y, x, n);
        return;
    }
    for (int64_t at = 0, m; at < n; at += m) {
        m = y->step == 0 ? 1 : n - at < CHUNK ? n - at : CHUNK;
        char *place = row_element(y, at);
        alu_run(me, &c->f, (struct out_row){z, 1}, fetch(me, y->o, place, y->step, m, a),
                fetch(me, x->o, row_element(x, at), x->step, m, b), m);
        store_row(me, y->o, place, y->step, z, m);
    }
}

/* Instances of the grid that write the same places of a tensor go one after the other. */
static void order_instances(struct binding *b, const struct operand *dst, bool anywhere)
{
    for (int g = 0; dst->mem == MEM_HBM && g < b->kernel->ngrid; g++) {
        bool moves = false;
        for (int t = 0; t < dst->nterms; t++)
            moves |= dst->terms[t].var == g;
        b->kernel->in_order |= b->kernel->grid[g] > 1 && (anywhere || !moves);
    }
}

/* ---- dma_accumulate ---- */

bool prepare_accumulate(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct scatter_combine *c = ARENA_NEW(b->arena, struct scatter_combine);
    i->prepared = c;
    order_instances(b, &i->o[AP(dma_accumulate, dst)], false);
    return only_numbers(b, i, insn) &&
           find_combine(b, i, AP(dma_accumulate, dst), AP(dma_accumulate, src),
                        i->func[FUNC(dma_accumulate, op)], c);
}

static void accumulate_row(struct worker *me, const struct bound_insn *i, char *const *p,
                           const int64_t *count)
{
    const struct operand *y = &i->o[AP(dma_accumulate, dst)], *x = &i->o[AP(dma_accumulate, src)];
    int last = i->shape.rank - 1;
    combine_row(me, i->prepared, &(struct strided_row){y, p[AP(dma_accumulate, dst)], y->step[last]},
                &(struct strided_row){x, p[AP(dma_accumulate, src)], x->step[last]}, count[last]);
}

void exec_dma_accumulate(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, accumulate_row);
}

/* ---- gather, scatter ---- */

enum { TO = 0, FROM = 1, INDEX = 2, STRIDE = 0, LIMIT = 1, SKIP = 2 };
_Static_assert(AP(gather, dst) == TO && AP(gather, src) == FROM && AP(gather, index) == INDEX &&
                   AP(scatter, dst) == TO && AP(scatter, src) == FROM &&
                   AP(scatter, index) == INDEX && IMM(gather, stride) == STRIDE &&
                   IMM(scatter, stride) == STRIDE && IMM(gather, limit) == LIMIT &&
                   IMM(scatter, limit) == LIMIT && IMM(gather, skip) == SKIP &&
                   IMM(scatter, skip) == SKIP,
               "operands that both have");

static int64_t product(const dim_t *dims, int rank)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        if (!dim_is_const(dims[d]) || __builtin_mul_overflow(n, dims[d], &n))
            return -1;
    return n;
}

/* Of the operand's tensor or tile; -1 where a symbol decides. */
static int64_t elements_of(const struct binding *b, const struct ap *a)
{
    if (a->mem != MEM_HBM) {
        const struct tile *t = &b->kernel->kernel->tiles[a->tensor];
        return product((const dim_t[]){t->partitions, t->elements}, 2);
    }
    const struct type *t = &b->m->p->slots[a->tensor].type;
    return product(t->dims, t->rank);
}

bool prepare_indirect(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct scatter_combine *c = ARENA_NEW(b->arena, struct scatter_combine);
    const struct operand *x = &i->o[INDEX];
    i->prepared = c;
    c->plain = true;
    if (!dtype_is_int(x->dtype))
        return fail(b->d, "%s: indices of %s, expected integers", insn_info(i->op)->name,
                    dtype_name(x->dtype));
    if (i->o[TO].dtype != i->o[FROM].dtype && !only_numbers(b, i, insn))
        return false;
    c->elements = elements_of(b, &insn->ap[i->op == INSN_gather ? FROM : TO]);
    if (i->op == INSN_scatter)
        order_instances(b, &i->o[TO], true);
    return i->op == INSN_gather || find_combine(b, i, TO, FROM, i->func[FUNC(scatter, combine)], c);
}

static int64_t load_index(const struct operand *x, const char *p)
{
    return x->dtype == DT_I32 ? *(const int32_t *)p : dtype_load_i64(x->dtype, p, 0);
}

/* Indices are told as the elements that they lead to. */
static void out_of_bounds(struct worker *me, const struct bound_insn *i, int64_t index)
{
    const struct scatter_combine *c = i->prepared;
    int64_t stride = i->imm[STRIDE].base, limit = i->imm[LIMIT].base;
    int64_t at, size = c->elements >= 0 ? c->elements : limit;
    if (atomic_load(me->error))
        return;
    if (c->elements < 0 || __builtin_mul_overflow(index, stride, &at))
        at = index;
    snprintf(me->text, sizeof me->text, "%s: index %lld is out of bounds for axis 0 with size %lld",
             insn_info(i->op)->name, (long long)at, (long long)size);
    worker_fail(me, me->text);
}

/* n elements that go with one index. */
static void indirect_run(struct worker *me, const struct bound_insn *i, char *const *p, int64_t at,
                         int64_t n, int64_t index)
{
    const struct operand *y = &i->o[TO], *x = &i->o[FROM];
    int last = i->shape.rank - 1;
    int64_t ys = y->step[last], xs = x->step[last], limit = i->imm[LIMIT].base;
    if (index < 0 || index >= limit) {
        if (!i->imm[SKIP].base)
            out_of_bounds(me, i, index);
        return;
    }
    int64_t further = index * i->imm[STRIDE].base;
    int64_t to = at * ys + (i->op == INSN_scatter ? further : 0),
            from = at * xs + (i->op == INSN_gather ? further : 0);
    combine_row(me, i->prepared, &(struct strided_row){y, p[TO] + to * y->size, ys},
                &(struct strided_row){x, p[FROM] + from * x->size, xs}, n);
}

static void indirect_row(struct worker *me, const struct bound_insn *i, char *const *p,
                         const int64_t *count)
{
    const struct operand *x = &i->o[INDEX];
    int last = i->shape.rank - 1;
    if (x->step[last] == 0) {
        indirect_run(me, i, p, 0, count[last], load_index(x, p[INDEX]));
        return;
    }
    for (int64_t k = 0; k < count[last]; k++)
        indirect_run(me, i, p, k, 1, load_index(x, p[INDEX] + k * x->step[last] * x->size));
}

void exec_gather(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, indirect_row);
}

void exec_scatter(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, indirect_row);
}

/* ---- local_gather: rows in groups of 16, which share their indices ---- */

enum { GROUP = 16 };

/* Groups of rows are whole. */
static bool not_cut(struct binding *b, const struct bound_insn *i)
{
    for (int n = 0; n < i->nops; n++)
        if (i->o[n].nclips)
            return fail(b->d, "%s: operand '%s' is cut at an edge", insn_info(i->op)->name,
                        insn_info(i->op)->ap[n].name);
    return true;
}

bool prepare_local_gather(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *dst = &i->o[AP(local_gather, dst)], *src = &i->o[AP(local_gather, src)],
                         *index = &i->o[AP(local_gather, index)];
    int64_t elements = i->imm[IMM(local_gather, elements)].base,
            valid = i->imm[IMM(local_gather, valid)].base;
    if (dst->rank != 2 || src->rank != 2 || index->rank != 2)
        return fail(b->d, "local_gather: operands of rank %d, %d and %d, expected 2", dst->rank,
                    src->rank, index->rank);
    if (dst->count[0] != src->count[0] || dst->count[0] != index->count[0] || dst->count[0] % GROUP)
        return fail(b->d,
                    "local_gather: %lld, %lld and %lld partitions, expected equal multiples of 16",
                    (long long)dst->count[0], (long long)src->count[0], (long long)index->count[0]);
    if (elements < 1 || elements > 32 || valid < 1 || valid > GROUP * index->count[1])
        return fail(b->d, "local_gather: %lld indices of %lld elements, from %lld in each group",
                    (long long)valid, (long long)elements, (long long)(GROUP * index->count[1]));
    if (dst->count[1] < valid * elements)
        return fail(b->d, "local_gather: rows of %lld elements, expected %lld",
                    (long long)dst->count[1], (long long)(valid * elements));
    if (!not_cut(b, i) || (dst->dtype != src->dtype && !only_numbers(b, i, insn)))
        return false;
    return dtype_is_int(index->dtype) ||
           fail(b->d, "local_gather: indices of %s, expected integers", dtype_name(index->dtype));
}

void exec_local_gather(struct worker *me, const struct bound_insn *i)
{
    const struct operand *dst = &i->o[AP(local_gather, dst)], *src = &i->o[AP(local_gather, src)],
                         *index = &i->o[AP(local_gather, index)];
    int64_t elements = i->imm[IMM(local_gather, elements)].base,
            valid = i->imm[IMM(local_gather, valid)].base;
    char *to = operand_address(me, dst), *from = operand_address(me, src),
         *list = operand_address(me, index);
    for (int64_t row = 0; row < dst->count[0]; row++)
        for (int64_t j = 0; j < valid; j++) {
            int64_t r = row / GROUP * GROUP + j % GROUP, c = j / GROUP;
            int64_t k = dtype_load_i64(
                index->dtype, list + (r * index->step[0] + c * index->step[1]) * index->size, 0);
            if (k < 0 || k > src->count[1] - elements) {
                worker_fail(me, "local_gather: an index is out of bounds of its row");
                return;
            }
            convert_row(me, dst, to + (row * dst->step[0] + j * elements * dst->step[1]) * dst->size,
                        dst->step[1], src,
                        from + (row * src->step[0] + k * src->step[1]) * src->size, src->step[1],
                        elements);
        }
}

/* ---- nc_stream_shuffle: rows in groups of 32 ---- */

enum { SHUFFLED = 32, PER_NUMBER = 5, KEEP = 255 };

static int source_of(const struct bound_insn *i, int row)
{
    return (int)(i->imm[row / PER_NUMBER].base >> row % PER_NUMBER * 8 & 255);
}

static int64_t row_elements(const struct operand *o)
{
    int64_t n = 1;
    for (int d = 1; d < o->rank; d++)
        n *= o->count[d];
    return n;
}

bool prepare_shuffle(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *dst = &i->o[AP(nc_stream_shuffle, dst)],
                         *src = &i->o[AP(nc_stream_shuffle, src)];
    if (dst->rank != 2 || src->rank != 2 || dst->count[1] != src->count[1])
        return fail(b->d,
                    "nc_stream_shuffle: dst of rank %d and src of rank %d, expected "
                    "(partitions, elements) of as many elements",
                    dst->rank, src->rank);
    for (int64_t r = 0; r < dst->count[0]; r++) {
        int from = source_of(i, (int)(r % SHUFFLED));
        if (from != KEEP && (from >= SHUFFLED || r / SHUFFLED * SHUFFLED + from >= src->count[0]))
            return fail(b->d,
                        "nc_stream_shuffle: partition %lld takes row %d of its 32, src has %lld partitions",
                        (long long)r, from, (long long)src->count[0]);
    }
    if (!not_cut(b, i))
        return false;
    need_scratch(b, SHUFFLED * row_elements(src) * src->size);
    return dst->dtype == src->dtype || only_numbers(b, i, insn);
}

void exec_nc_stream_shuffle(struct worker *me, const struct bound_insn *i)
{
    const struct operand *dst = &i->o[AP(nc_stream_shuffle, dst)],
                         *src = &i->o[AP(nc_stream_shuffle, src)];
    char *to = operand_address(me, dst), *from = operand_address(me, src);
    int64_t n = src->count[1], pitch = n * src->size;
    for (int64_t group = 0; group < dst->count[0]; group += SHUFFLED) {
        int64_t have = src->count[0] - group < SHUFFLED ? src->count[0] - group : SHUFFLED;
        for (int64_t r = 0; r < have; r++) /* dst may be src */
            me->k->copy(me->scratch + r * pitch, src->size,
                        from + (group + r) * src->step[0] * src->size, src->step[1] * src->size,
                        (size_t)n, src->size);
        for (int64_t r = 0; r < SHUFFLED && group + r < dst->count[0]; r++)
            if (source_of(i, (int)r) != KEEP)
                convert_row(me, dst, to + (group + r) * dst->step[0] * dst->size, dst->step[1], src,
                            me->scratch + source_of(i, (int)r) * pitch, 1, n);
    }
}
