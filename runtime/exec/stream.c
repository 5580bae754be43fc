/*
 * Elementwise instructions that follow each other on the same elements run together, block by block of a few
 * vectors (kernels.h: stream): what one computes is in the first cache when the next reads it, and memory is
 * read while others compute. The same bits: elements do not depend on each other. Short rows, as
 * channels that come last make, are joined where they are neighbours or the same.
 *
 * Tiles that nothing but the instructions touches are one block long, apart from the memory that they may share with
 * others. Booleans are masks of words between instructions; those in memory become masks where they are read, and
 * masks are stored as booleans where others may read them.
 *
 * Results that would overlap what others read elsewhere are told by their addresses: then one instruction runs after
 * the other, as they stand.
 */
#include "runtime/exec/stream.h"

#include "runtime/exec/arithmetic.h"
#include "runtime/kernels/stream.h"

#include <string.h>

/* Rows of fewer elements, and few operations on what the caches hold, are as fast one instruction after the other. */
enum { SHORTEST = 512, MIN_WORK = 512 << 10 };
enum { MAX_NEW_PLACES = 6, MAX_NEW_OPS = 4 };
_Static_assert((int)STREAM_PLACES <= (int)MAX_JOINT, "all places have one shape");

struct stream_place {
    int32_t slot;
    uint8_t move; /* how far the next element is, in bytes */
    uint8_t size; /* of an element */
    bool written, inside; /* inside: of a block alone */
    bool in_place;        /* written after it was read */
    bool steady;          /* one value in all rows */
    const float *number;  /* that is the operand */
    int64_t offset;
    uint16_t nterms;
    const struct term *terms;
    int64_t step[MAX_AP_RANK]; /* bytes */
};

struct stream {
    struct shape shape;
    int count; /* of operations */
    int nplaces, ninsns;
    struct stream_op *ops;
    struct stream_place *places;
    uint8_t move[STREAM_PLACES]; /* as the kernel takes them */
    int64_t row[STREAM_PLACES];
    bool by_rows; /* the kernel takes all rows of the dim before the last at once */
    struct bound_insn *insns; /* as they stand */
};

/* ---- running ---- */

static char *place_address(const struct worker *me, const struct stream_place *p)
{
    if (p->number)
        return (char *)p->number;
    char *at = (p->slot >= 0 ? me->hbm[p->slot] : me->tiles) + p->offset;
    for (int i = 0; i < p->nterms; i++)
        at += p->terms[i].coef * me->vars[p->terms[i].var];
    return at;
}

/* How results lie to operands: apart from them; some where operands do, element by element; or in part. */
enum overlap { APART, IN_PLACE, IN_PART };

static enum overlap overlap_of(const struct stream *s, char *const *base, const int64_t *count)
{
    enum overlap all = APART;
    int64_t length[STREAM_PLACES];
    for (int k = 0; k < s->nplaces; k++) {
        length[k] = s->places[k].size;
        for (int d = 0; d < s->shape.rank; d++)
            length[k] += (count[d] - 1) * s->places[k].step[d];
    }
    for (int w = 0; w < s->nplaces; w++) {
        const struct stream_place *x = &s->places[w];
        all = x->in_place && !x->inside ? IN_PLACE : all;
        for (int k = 0; x->written && !x->inside && k < s->nplaces; k++) {
            const struct stream_place *y = &s->places[k];
            if (k == w || y->inside || y->number || base[w] + length[w] <= base[k] || base[k] + length[k] <= base[w])
                continue;
            if (base[w] != base[k] || memcmp(x->step, y->step, sizeof x->step))
                return IN_PART;
            all = IN_PLACE;
        }
    }
    return all;
}

struct stream_walk { /* over the rows of an instance */
    char *row[STREAM_PLACES];   /* where each place's row begins */
    char *start[STREAM_PLACES]; /* as the kernel takes it */
    _Alignas(64) float values[STREAM_PLACES][STREAM_BLOCK]; /* of places that do not move: of one value, or inside */
};

static void run_rows_of(struct worker *me, const struct stream *s, struct stream_walk *w, int64_t rows, int64_t n,
                        bool first, bool again)
{
    for (int k = 0; k < s->nplaces; k++) {
        const struct stream_place *p = &s->places[k];
        w->start[k] = p->move ? w->row[k] : (char *)w->values[k];
        if (p->move || p->inside)
            continue;
        if (!first && p->steady)
            continue;
        if (p->size == 1) /* a boolean as masks */
            memset(w->values[k], *(const uint8_t *)w->row[k] ? 0xff : 0, sizeof w->values[k]);
        else
            me->k->copy(w->values[k], sizeof(float), w->row[k], 0, STREAM_BLOCK, sizeof(float));
    }
    me->k->stream(&(struct stream_run){s->ops, (size_t)s->count, (size_t)s->nplaces, s->move, s->row, again}, w->start,
                  (size_t)rows, (size_t)n);
}

void exec_stream(struct worker *me, const struct bound_insn *i)
{
    const struct stream *s = i->prepared;
    int64_t count[MAX_AP_RANK], at[MAX_AP_RANK] = {0};
    int last = s->shape.rank - 1, outer = last - s->by_rows, d;
    struct stream_walk w;
    if (!shape_now(me, &s->shape, count))
        return;
    for (int k = 0; k < s->nplaces; k++)
        w.row[k] = place_address(me, &s->places[k]);
    enum overlap overlap = overlap_of(s, w.row, count);
    if (overlap == IN_PART) {
        for (int n = 0; n < s->ninsns; n++)
            s->insns[n].run(me, &s->insns[n]);
        return;
    }
    bool first = true;
    do {
        run_rows_of(me, s, &w, s->by_rows ? count[outer] : 1, count[last], first, overlap == APART);
        first = false;
        for (d = outer - 1; d >= 0; d--) {
            bool more = ++at[d] < count[d];
            for (int k = 0; k < s->nplaces; k++)
                if (!s->places[k].inside)
                    w.row[k] += s->places[k].step[d] * (more ? 1 : 1 - count[d]);
            if (more)
                break;
            at[d] = 0;
        }
    } while (d >= 0);
}

/* ---- what instructions become ---- */

struct stream_maker {
    struct binder *b;
    int from, to; /* instructions of the kernel, from .. to - 1 */
    struct joint_shape shape;
    int nplaces, count;
    struct {
        struct pattern p;
        const float *number;
        int tile; /* its number, or -1 */
        int mask; /* of booleans: the place of their masks, which is this for one in a row, or -1 */
        bool written, read_first, is_mask;
    } place[STREAM_PLACES];
    struct stream_op op[STREAM_OPS];
};

static bool same_pattern(const struct pattern *x, const struct pattern *y)
{
    const struct operand *a = &x->o, *b = &y->o;
    if (a->mem != b->mem || a->size != b->size || a->slot != b->slot || a->offset != b->offset ||
        a->nterms != b->nterms || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->nterms; i++)
        if (a->terms[i].var != b->terms[i].var || a->terms[i].coef != b->terms[i].coef)
            return false;
    for (int d = 0; d < a->rank; d++)
        if (x->step[d] != y->step[d] || x->count[d] != y->count[d])
            return false;
    return true;
}

static int new_place(struct stream_maker *m)
{
    int k = m->nplaces++;
    memset(&m->place[k], 0, sizeof m->place[k]);
    m->place[k].tile = m->place[k].mask = -1;
    return k;
}

static int number_place(struct stream_maker *m, const float *number)
{
    int k = 0; /* 0 and -0 are two numbers */
    while (k < m->nplaces && (!m->place[k].number || memcmp(m->place[k].number, number, sizeof *number)))
        k++;
    if (k == m->nplaces)
        m->place[new_place(m)].number = number;
    return k;
}

static struct stream_op *add_op(struct stream_maker *m, int code, int to, int a, int b, int c)
{
    struct stream_op *op = &m->op[m->count++];
    *op =
        (struct stream_op){.code = (uint8_t)code, .to = (uint8_t)to, .a = (uint8_t)a, .b = (uint8_t)b, .c = (uint8_t)c};
    return op;
}

/* Operand n of instruction i of the kernel, which has been bound: its place. */
static int operand_place(struct stream_maker *m, int i, int n)
{
    const struct insn *insn = &m->b->k->insns[i];
    struct pattern p;
    if (!bind_operand(m->b, insn, n, &p))
        return 0; /* it was bound before */
    align_pattern(&p, m->shape.rank);
    bool written = insn_info(insn->op)->ap[n].access != 'r';
    int k = 0, tile = p.o.slot < 0 ? insn->ap[n].tensor : -1; /* tiles that share memory are places of their own */
    while (k < m->nplaces && (m->place[k].number || m->place[k].is_mask || m->place[k].tile != tile ||
                              !same_pattern(&p, &m->place[k].p)))
        k++;
    if (k == m->nplaces) {
        new_place(m);
        m->place[k].p = p;
        m->place[k].p.o.step = m->place[k].p.step;
        m->place[k].p.o.count = m->place[k].p.count;
        m->place[k].tile = tile;
        m->place[k].read_first = !written;
    }
    m->place[k].written |= written;
    return k;
}

/* Operand n, of booleans: the place of its masks. Those that are read are made before; one for a row is the same for
 * all its blocks. */
static int mask_place(struct stream_maker *m, int i, int n)
{
    int k = operand_place(m, i, n), mask = m->place[k].mask;
    bool written = insn_info(m->b->k->insns[i].op)->ap[n].access != 'r';
    if (mask < 0 && !written && m->place[k].p.step[m->shape.rank - 1] == 0) {
        m->place[k].mask = mask = k;
    } else if (mask < 0) {
        m->place[k].mask = mask = new_place(m);
        m->place[mask].is_mask = true;
        if (!written)
            add_op(m, STREAM_mask, mask, k, k, k);
    }
    return mask;
}

/* After the operation that made the masks of operand n: the booleans, if others read them. */
static void store_mask(struct stream_maker *m, int i, int n)
{
    int mask = mask_place(m, i, n);
    add_op(m, STREAM_copy, operand_place(m, i, n), mask, mask, mask);
}

#define STREAM_WORD(name)
#define STREAM_BYTES(name)
static const uint8_t binary_code[BINARY_COUNT] = {
#define STREAM_UNARY(name)
#define STREAM_TERNARY(name)
#define STREAM_BINARY(name) [BINARY_##name] = STREAM_##name + 1,
    STREAM_OPERATIONS
#undef STREAM_UNARY
#undef STREAM_BINARY
};
static const uint8_t unary_code[ACTIVATION_COUNT] = {
#define STREAM_BINARY(name)
#define STREAM_UNARY(name) [ACTIVATION_##name] = STREAM_##name + 1,
    STREAM_OPERATIONS
#undef STREAM_UNARY
#undef STREAM_BINARY
#undef STREAM_TERNARY
#undef STREAM_WORD
#undef STREAM_BYTES
};

/* Operators of words, by the type of what they read. */
static const struct {
    enum op op;
    uint8_t on_f32, on_i32, on_bool;
    bool any_sign; /* on_i32: of numbers without a sign, too */
} words[] = {
#define COMPARED(op, any_sign) {OP_##op, STREAM_##op##_f32, STREAM_##op##_i32, 0, any_sign}
    COMPARED(eq, true), COMPARED(ne, true), COMPARED(lt, false),
    COMPARED(le, false), COMPARED(gt, false), COMPARED(ge, false),
#undef COMPARED
    {OP_and, 0, STREAM_and_i32, STREAM_and_i32, true}, {OP_or, 0, STREAM_or_i32, STREAM_or_i32, true},
    {OP_xor, 0, STREAM_xor_i32, STREAM_xor_i32, true}, {OP_add, 0, STREAM_add_i32, 0, true},
    {OP_sub, 0, STREAM_sub_i32, 0, true},              {OP_mul, 0, STREAM_mul_i32, 0, true},
    {OP_max, 0, STREAM_max_i32, 0, false},             {OP_min, 0, STREAM_min_i32, 0, false},
    {OP_wrap_index, 0, STREAM_wrap_index_i32, 0, false},
};

/* 0: none. */
static int word_code(enum op op, int dtype)
{
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (words[k].op == op)
            return dtype == DT_F32    ? words[k].on_f32
                   : dtype == DT_BOOL ? words[k].on_bool
                   : dtype == DT_I32 || (dtype == DT_U32 && words[k].any_sign) ? words[k].on_i32
                                                                               : 0;
    return 0;
}

/* The operation of a function, -1 for long ones: they take longer than their operands, and gain nothing here. */
static int code_of(const struct alu *f)
{
    return f->kind == ALU_COPY         ? STREAM_copy
           : f->kind == ALU_BINARY     ? binary_code[f->index] - 1
           : f->kind == ALU_ACTIVATION ? unary_code[f->index] - 1
                                       : -1;
}

static void add_alu(struct stream_maker *m, const struct alu *f, int to, int a, int b)
{
    bool swap = f->swap && f->kind == ALU_BINARY;
    memcpy(add_op(m, code_of(f), to, swap ? b : a, swap ? a : b, a)->p, f->p, sizeof f->p);
}

/* A comparison, or a function of integers or booleans. */
static bool take_words(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(tensor_tensor, dst), A = AP(tensor_tensor, a), B = AP(tensor_tensor, b) };
    enum op op = (enum op)i->func[FUNC(tensor_tensor, op)];
    int type = i->o[A].dtype, to = i->o[DST].dtype, code = word_code(op, type);
    bool compares = code >= STREAM_eq_f32 && code <= STREAM_ge_i32;
    if (!code || i->o[B].dtype != type || to != (compares ? DT_BOOL : type))
        return false;
    if (!m)
        return true;
    int (*place)(struct stream_maker *, int, int) = type == DT_BOOL ? mask_place : operand_place;
    int a = place(m, at, A), b = place(m, at, B);
    add_op(m, code, to == DT_BOOL ? mask_place(m, at, DST) : operand_place(m, at, DST), a, b, a);
    if (to == DT_BOOL)
        store_mask(m, at, DST);
    return true;
}

static bool take_select(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(select, dst), PREDICATE = AP(select, predicate), A = AP(select, a), B = AP(select, b) };
    int type = i->o[DST].dtype;
    if (i->o[PREDICATE].dtype != DT_BOOL || (type != DT_F32 && type != DT_I32 && type != DT_U32) ||
        i->o[A].dtype != type || i->o[B].dtype != type)
        return false;
    if (m) {
        int mask = mask_place(m, at, PREDICATE), a = operand_place(m, at, A), b = operand_place(m, at, B);
        add_op(m, STREAM_select, operand_place(m, at, DST), mask, a, b);
    }
    return true;
}

static bool take_tensor_tensor(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(tensor_tensor, dst), A = AP(tensor_tensor, a), B = AP(tensor_tensor, b) };
    const struct arithmetic *f = i->prepared;
    if (f->integer.dtype || f->f[0].kind == ALU_COMPARE)
        return take_words(m, i, at);
    if (!f->direct || f->f[0].kind != ALU_BINARY || code_of(&f->f[0]) < 0)
        return false;
    if (m) {
        int a = operand_place(m, at, A), b = operand_place(m, at, B);
        add_alu(m, &f->f[0], operand_place(m, at, DST), a, b);
    }
    return true;
}

static bool take_tensor_scalar(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(tensor_scalar, dst), SRC = AP(tensor_scalar, src) };
    const struct arithmetic *f = i->prepared;
    const float *s = &i->flt[FLT(tensor_scalar, scalar0)];
    if (!f->direct || code_of(&f->f[0]) < 0 || code_of(&f->f[1]) < 0)
        return false;
    if (!m)
        return true;
    int src = operand_place(m, at, SRC), dst = operand_place(m, at, DST);
    if (f->fused == MULTIPLY_ADD) {
        int x = number_place(m, &s[0]);
        add_op(m, STREAM_multiply_add, dst, src, x, number_place(m, &s[1]));
    } else if (f->fused == CLIP) {
        memcpy(add_op(m, STREAM_clip, dst, src, src, src)->p, s, 2 * sizeof *s);
    } else {
        add_alu(m, &f->f[0], dst, src, number_place(m, &s[0]));
        if (f->f[1].kind != ALU_COPY)
            add_alu(m, &f->f[1], dst, dst, number_place(m, &s[1]));
    }
    return true;
}

/* f(x * scale + bias): a missing scale is 1, a missing bias -0, which change nothing. */
static bool take_activation(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(activation, dst), SRC = AP(activation, src) };
    enum { SCALE = AP(activation, scale), BIAS = AP(activation, bias) };
    const struct bound_activation *a = i->prepared;
    const float *factor = &i->flt[FLT(activation, factor)];
    if (!a->direct || i->o[AP(activation, sum)].mem || code_of(&a->f) < 0)
        return false;
    if (!m)
        return true;
    int x = operand_place(m, at, SRC);
    int scale = i->o[SCALE].mem ? operand_place(m, at, SCALE) : *factor != 1 ? number_place(m, factor) : -1;
    int bias = i->o[BIAS].mem ? operand_place(m, at, BIAS) : -1;
    int dst = operand_place(m, at, DST);
    bool affine = scale >= 0 || bias >= 0;
    if (scale >= 0 && bias >= 0)
        add_op(m, STREAM_multiply_add, dst, x, scale, bias);
    else if (affine)
        add_op(m, scale >= 0 ? STREAM_mul : STREAM_add, dst, x, scale >= 0 ? scale : bias, x);
    if (!affine || a->f.index != ACTIVATION_copy)
        add_alu(m, &a->f, dst, affine ? dst : x, x);
    return true;
}

static bool take_copy(struct stream_maker *m, const struct bound_insn *i, int at)
{
    enum { DST = AP(tensor_copy, dst), SRC = AP(tensor_copy, src) };
    static const union {
        int32_t i32;
        float f32;
    } one = {.f32 = 1}, one_integer = {.i32 = 1};
    int to = i->o[DST].dtype;
    if (i->o[SRC].dtype == DT_BOOL && (to == DT_F32 || to == DT_I32)) {
        if (m) {
            int mask = mask_place(m, at, SRC);
            add_op(m, STREAM_and_i32, operand_place(m, at, DST), mask,
                   number_place(m, to == DT_F32 ? &one.f32 : &one_integer.f32), mask);
        }
        return true;
    }
    if (to != i->o[SRC].dtype || (to != DT_F32 && to != DT_I32 && to != DT_U32))
        return false;
    if (m) {
        int x = operand_place(m, at, SRC);
        add_op(m, STREAM_copy, operand_place(m, at, DST), x, x, x);
    }
    return true;
}

static const struct {
    uint16_t op;
    exec_fn run; /* and no other */
    bool (*take)(struct stream_maker *m, const struct bound_insn *i, int at); /* m NULL: whether it is one */
} kinds[] = {
    {INSN_tensor_tensor, exec_tensor_tensor, take_tensor_tensor},
    {INSN_tensor_scalar, exec_tensor_scalar, take_tensor_scalar},
    {INSN_activation, exec_activation, take_activation},
    {INSN_select, exec_select, take_select},
    {INSN_tensor_copy, exec_tensor_copy, take_copy},
    {INSN_dma_copy, exec_dma_copy, take_copy},
};

/* Along rows all operands have neighbours, or one element. */
static bool has_neighbours(const struct bound_insn *i)
{
    for (int n = 0; n < insn_info(i->op)->naps; n++) {
        const struct operand *o = &i->o[n];
        if (o->mem && o->rank && o->step[o->rank - 1] != 0 && o->step[o->rank - 1] != 1)
            return false;
    }
    return true;
}

static bool take(struct stream_maker *m, const struct bound_insn *i, int at)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].op == i->op)
            return kinds[k].run == i->run && (m || has_neighbours(i)) && kinds[k].take(m, i, at);
    return false;
}

bool stream_takes(const struct bound_insn *i)
{
    return take(NULL, i, 0);
}

/* ---- groups of them ---- */

/* Whether a tile of the instruction has bytes in common with one of those before it. */
static bool meets_tiles(const struct stream_maker *m, const struct insn *insn)
{
    for (int n = 0; n < insn_info(insn->op)->naps; n++)
        for (int k = 0; insn->ap[n].mem != MEM_NONE && insn->ap[n].mem != MEM_HBM && k < m->nplaces; k++)
            if (m->place[k].tile >= 0 && tiles_meet(m->b, m->place[k].tile, insn->ap[n].tensor))
                return true;
    return false;
}

/* The instruction, if it is on the same elements and there is room. */
static bool add_insn(struct stream_maker *m, int at)
{
    struct joint_shape shape;
    const struct bound_insn *i = &m->b->out->insns[at];
    if (meets_tiles(m, &m->b->k->insns[at]))
        return false;
    if (!insn_shape(m->b, &m->b->k->insns[at], &shape) || (m->to > m->from && !same_shape(&shape, &m->shape)))
        return false;
    if (m->nplaces + MAX_NEW_PLACES > STREAM_PLACES || m->count + MAX_NEW_OPS > STREAM_OPS)
        return false;
    m->shape = shape;
    m->to = at + 1;
    return take(m, i, at);
}

/* The tile is used by the instructions only, always in the same way, and written before it is read. */
static bool is_inside(const struct stream_maker *m, int place)
{
    const struct kernel *k = m->b->k;
    int tile = m->place[place].tile;
    if (tile < 0 || m->place[place].read_first || m->place[place].p.o.nterms)
        return false;
    for (int n = 0; n < m->nplaces; n++)
        if (n != place && m->place[n].tile == tile)
            return false;
    for (int i = 0; i < k->ninsns; i++)
        for (int n = 0; (i < m->from || i >= m->to) && n < insn_info(k->insns[i].op)->naps; n++) {
            const struct ap *ap = &k->insns[i].ap[n];
            if (ap->mem != MEM_NONE && ap->mem != MEM_HBM && ap->tensor == tile)
                return false;
        }
    return true;
}

static bool make_places(struct stream_maker *m, struct stream *s)
{
    int last = s->shape.rank - 1;
    s->places = ARENA_ARRAY(m->b->a, struct stream_place, m->nplaces);
    for (int k = 0; k < m->nplaces; k++) {
        struct stream_place *to = &s->places[k];
        const struct operand *o = &m->place[k].p.o;
        *to = (struct stream_place){.slot = -1, .size = sizeof(float), .number = m->place[k].number, .steady = true};
        to->inside = m->place[k].is_mask;
        if (to->number || to->inside)
            continue;
        to->size = o->size;
        to->slot = (int32_t)o->slot, to->offset = o->offset;
        to->nterms = o->nterms, to->terms = o->terms;
        to->written = m->place[k].written;
        to->in_place = to->written && m->place[k].read_first;
        to->inside = is_inside(m, k);
        for (int d = 0; d <= last; d++) {
            to->step[d] = o->step[d] * o->size;
            to->steady &= o->step[d] == 0;
        }
        bool one = m->place[k].mask == k, each = to->written || (to->size == 1 && !one);
        if (o->step[last] < 0 || o->step[last] > 1 || (one && o->step[last] != 0) || (each && o->step[last] != 1))
            return false;
        to->move = s->move[k] = to->inside || !o->step[last] ? 0 : o->size;
        for (int d = 0; d < last; d++)
            if (o->step[d] < 0)
                return false;
    }
    return true;
}

/* Whether each row of a result is written apart, and what does not move from element to element is the same in all
 * rows. */
static bool joins_rows(struct stream *s)
{
    int last = s->shape.rank - 1;
    struct stream_run r = {.places = (size_t)s->nplaces, .move = s->move, .row = s->row};
    for (int k = 0; k < s->nplaces; k++) {
        const struct stream_place *p = &s->places[k];
        int64_t row = p->inside || p->number ? 0 : p->step[last - 1];
        if ((row && !p->move) || (p->written && !p->inside && !row))
            return false;
        s->row[k] = row;
    }
    return stream_joins(&r, (size_t)s->shape.count[last]);
}

/* Whether rows are short, but fill blocks, and are long together. */
static bool could_join(const struct binder *b, const struct shape *s)
{
    enum { LONG = 2048, FEWEST = 8 };
    int64_t n = s->count[s->rank - 1];
    return s->rank > 1 && n >= FEWEST && stream_unit(b->lanes) % n == 0 && s->count[s->rank - 2] >= LONG / n;
}

/* Bytes of memory that the launch goes through, for each operation; MIN_WORK at most. */
static int64_t work_streamed(const struct binder *b, const struct stream *s, int operations)
{
    int64_t work = b->out->instances < MIN_WORK ? b->out->instances : MIN_WORK, each = 0;
    for (int k = 0; k < s->nplaces; k++)
        each += s->places[k].move;
    work *= each * operations;
    for (int d = 0; d < s->shape.rank && work < MIN_WORK; d++)
        work *= s->shape.count[d];
    return work < MIN_WORK ? work : MIN_WORK;
}

/* How many operands an operation has. */
static const uint8_t operands_of[STREAM_CODES] = {
#define STREAM_BYTES(name)   [STREAM_##name] = 1,
#define STREAM_UNARY(name)   [STREAM_##name] = 1,
#define STREAM_BINARY(name)  [STREAM_##name] = 2,
#define STREAM_WORD(name)    [STREAM_##name] = 2,
#define STREAM_TERNARY(name) [STREAM_##name] = 3,
    STREAM_OPERATIONS
#undef STREAM_BYTES
#undef STREAM_UNARY
#undef STREAM_BINARY
#undef STREAM_WORD
#undef STREAM_TERNARY
};

/* From memory, not from registers. */
static bool reads(const struct stream_op *op, int place)
{
    int operands = operands_of[op->code];
    return (op->a == place && op->last != STREAM_LAST_A && op->last != STREAM_LAST_A_ONE) ||
           (op->b == place && operands > 1) || (op->c == place && operands > 2 && op->last != STREAM_LAST_C);
}

/* Whether what operation `at` makes is read before its place is written again. */
static bool is_read(const struct stream *s, int at)
{
    int place = s->ops[at].to;
    if (!s->places[place].inside)
        return true;
    for (int k = at + 1; k < s->count; k++) {
        if (reads(&s->ops[k], place))
            return true;
        if (s->ops[k].to == place)
            return false;
    }
    return false;
}

/* a and b, where the operation or its counterpart gives the same of them. */
static void exchange_operands(struct stream_op *op)
{
    static const uint8_t counterpart[STREAM_CODES] = {
#define BOTH_WAYS(a, b) [STREAM_##a] = STREAM_##b + 1, [STREAM_##b] = STREAM_##a + 1
#define EITHER_WAY(a)   [STREAM_##a] = STREAM_##a + 1
        BOTH_WAYS(lt_f32, gt_f32), BOTH_WAYS(le_f32, ge_f32), BOTH_WAYS(lt_i32, gt_i32), BOTH_WAYS(le_i32, ge_i32),
        EITHER_WAY(eq_f32), EITHER_WAY(ne_f32), EITHER_WAY(eq_i32), EITHER_WAY(ne_i32), EITHER_WAY(and_i32),
        EITHER_WAY(or_i32), EITHER_WAY(xor_i32), EITHER_WAY(add_i32), EITHER_WAY(mul_i32), EITHER_WAY(max_i32),
        EITHER_WAY(min_i32),
        EITHER_WAY(multiply_add), EITHER_WAY(add), EITHER_WAY(mul), BOTH_WAYS(sub, rsub), BOTH_WAYS(div, rdiv),
#undef BOTH_WAYS
#undef EITHER_WAY
    };
    uint8_t a = op->a;
    if (counterpart[op->code]) {
        op->code = (uint8_t)(counterpart[op->code] - 1);
        op->a = op->b, op->b = a;
    }
}

/* One value in each row. */
static bool is_one(const struct stream *s, int place)
{
    return !s->places[place].move && !s->places[place].inside;
}

/* Which operands are in registers, and what must be stored for others. */
static void chain(struct stream *s)
{
    for (int k = 0; k < s->count; k++) {
        struct stream_op *op = &s->ops[k];
        int before = k > 0 ? op[-1].to : -1, operands = operands_of[op->code];
        if (operands > 1 && op->a != before && (op->b == before || is_one(s, op->a)))
            exchange_operands(op);
        bool one = operands > 1 && is_one(s, op->b) && (operands == 2 || is_one(s, op->c));
        op->last = op->code == STREAM_mask           ? STREAM_LOADS
                   : op->a == before                 ? one ? STREAM_LAST_A_ONE : STREAM_LAST_A
                   : operands > 2 && op->c == before ? STREAM_LAST_C
                                                     : STREAM_LOADS;
    }
    for (int k = 0; k < s->count; k++)
        s->ops[k].keep = is_read(s, k);
}

/* Booleans that nothing else reads stay masks. */
static int leave_masks(struct stream_op *ops, int count, const struct stream *s)
{
    int kept = 0;
    for (int k = 0; k < count; k++)
        if (ops[k].code != STREAM_copy || s->places[ops[k].to].size != 1 || !s->places[ops[k].to].inside)
            ops[kept++] = ops[k];
    return kept;
}

static void finish(struct stream_maker *m)
{
    struct binder *b = m->b;
    int n = m->to - m->from;
    struct operand *o[STREAM_PLACES];
    int all = 0;
    for (int k = 0; k < m->nplaces; k++)
        if (!m->place[k].number && !m->place[k].is_mask)
            o[all++] = &m->place[k].p.o;
    if (n < 2)
        return;
    struct stream *s = ARENA_NEW(b->a, struct stream);
    s->nplaces = m->nplaces, s->ninsns = n;
    merge_shape(b, &m->shape, o, all, &s->shape);
    s->by_rows = s->shape.count[s->shape.rank - 1] < SHORTEST;
    if ((s->by_rows && !could_join(b, &s->shape)) || !make_places(m, s) || (s->by_rows && !joins_rows(s)) ||
        work_streamed(b, s, m->count) < MIN_WORK)
        return;
    s->count = leave_masks(m->op, m->count, s);
    s->ops = arena_copy(b->a, m->op, sizeof *m->op * (size_t)s->count);
    chain(s);
    struct bound_insn *first = &b->out->insns[m->from];
    s->insns = arena_copy(b->a, first, sizeof *first * (size_t)n);
    first->run = exec_stream;
    first->prepared = s;
    first->skip = n - 1;
    first->flat = NULL;
}

void stream_insns(struct binder *b, int from, int to)
{
    while (from < to) {
        struct stream_maker m = {.b = b, .from = from, .to = from};
        int at = from;
        while (at < to && add_insn(&m, at))
            at++;
        finish(&m);
        from = at > from ? at : from + 1;
    }
}
