#include "runtime/exec/quick.h"

#include <string.h>

static inline char *at(const struct place *p, char *const *address)
{
    return address[p->slot] + p->offset;
}

/* ---- single numbers ---- */

#define BINARY_FUNCTION(name, T, R, result)                                                        \
    static void name(const struct quick_step *q, char *const *address)                             \
    {                                                                                              \
        T x = *(const T *)at(&q->a, address), y = *(const T *)at(&q->b, address);                  \
        *(R *)at(&q->to, address) = (R)(result);                                                   \
    }
#define ORDERED(S, T)                                                                              \
    BINARY_FUNCTION(lt_##S, T, uint8_t, x < y)                                                     \
    BINARY_FUNCTION(le_##S, T, uint8_t, x <= y)                                                    \
    BINARY_FUNCTION(gt_##S, T, uint8_t, x > y)                                                     \
    BINARY_FUNCTION(ge_##S, T, uint8_t, x >= y)                                                    \
    BINARY_FUNCTION(eq_##S, T, uint8_t, x == y)                                                    \
    BINARY_FUNCTION(ne_##S, T, uint8_t, x != y)                                                    \
    BINARY_FUNCTION(max_##S, T, T, x != x || x > y ? x : y)                                        \
    BINARY_FUNCTION(min_##S, T, T, x != x || x < y ? x : y)
#define SUMS(S, T)                                                                                 \
    BINARY_FUNCTION(add_##S, T, T, x + y)                                                          \
    BINARY_FUNCTION(sub_##S, T, T, x - y)                                                          \
    BINARY_FUNCTION(mul_##S, T, T, x *y)

ORDERED(i32, int32_t)
ORDERED(i64, int64_t)
ORDERED(u32, uint32_t)
ORDERED(f32, float)
SUMS(u32, uint32_t) /* of i32 as well: they wrap */
SUMS(u64, uint64_t)
SUMS(f32, float)
BINARY_FUNCTION(div_f32, float, float, x / y)
BINARY_FUNCTION(and_bool, uint8_t, uint8_t, (x != 0) & (y != 0))
BINARY_FUNCTION(or_bool, uint8_t, uint8_t, (x != 0) | (y != 0))
BINARY_FUNCTION(and_u32, uint32_t, uint32_t, x &y)
BINARY_FUNCTION(or_u32, uint32_t, uint32_t, x | y)
BINARY_FUNCTION(xor_u32, uint32_t, uint32_t, x ^ y)

#define ORDER_ROWS(dtype, S)                                                                       \
    {dtype, OP_lt, lt_##S}, {dtype, OP_le, le_##S}, {dtype, OP_gt, gt_##S},                        \
        {dtype, OP_ge, ge_##S}, {dtype, OP_eq, eq_##S}, {dtype, OP_ne, ne_##S},                    \
        {dtype, OP_max, max_##S}, {dtype, OP_min, min_##S}
#define SUM_ROWS(dtype, S)                                                                         \
    {dtype, OP_add, add_##S}, {dtype, OP_sub, sub_##S}, {dtype, OP_mul, mul_##S}
#define BIT_ROWS(dtype)                                                                            \
    {dtype, OP_and, and_u32}, {dtype, OP_or, or_u32}, {dtype, OP_xor, xor_u32}

static const struct {
    int dtype;
    enum op op;
    quick_fn run;
} binaries[] = {
    ORDER_ROWS(DT_I32, i32),     ORDER_ROWS(DT_I64, i64),    ORDER_ROWS(DT_U32, u32),
    ORDER_ROWS(DT_F32, f32),     SUM_ROWS(DT_I32, u32),      SUM_ROWS(DT_U32, u32),
    SUM_ROWS(DT_I64, u64),       SUM_ROWS(DT_F32, f32),      BIT_ROWS(DT_I32),
    BIT_ROWS(DT_U32),            {DT_F32, OP_div, div_f32},  {DT_BOOL, OP_and, and_bool},
    {DT_BOOL, OP_or, or_bool},
};

#define CONVERT_FUNCTION(name, T, R)                                                               \
    static void name(const struct quick_step *q, char *const *address)                             \
    {                                                                                              \
        *(R *)at(&q->to, address) = (R) * (const T *)at(&q->a, address);                           \
    }
CONVERT_FUNCTION(copy_1, uint8_t, uint8_t)
CONVERT_FUNCTION(copy_2, uint16_t, uint16_t)
CONVERT_FUNCTION(copy_4, uint32_t, uint32_t)
CONVERT_FUNCTION(copy_8, uint64_t, uint64_t)
CONVERT_FUNCTION(i64_from_i32, int32_t, int64_t)
CONVERT_FUNCTION(i64_from_u32, uint32_t, int64_t)
CONVERT_FUNCTION(i32_from_i64, int64_t, int32_t)
CONVERT_FUNCTION(f32_from_i32, int32_t, float)

static quick_fn find_copy(int to, int from)
{
    size_t bytes = dtype_bytes(to);
    if (to == from)
        return bytes == 1   ? copy_1
               : bytes == 2 ? copy_2
               : bytes == 4 ? copy_4
               : bytes == 8 ? copy_8
                            : NULL;
    return to == DT_I64 && from == DT_I32   ? i64_from_i32
           : to == DT_I64 && from == DT_U32 ? i64_from_u32
           : to == DT_I32 && from == DT_I64 ? i32_from_i64
           : to == DT_F32 && from == DT_I32 ? f32_from_i32
                                            : NULL;
}

#define CHOOSE_FUNCTION(name, T)                                                                   \
    static void name(const struct quick_step *q, char *const *address)                             \
    {                                                                                              \
        bool first = *at(&q->c, address) != 0;                                                     \
        *(T *)at(&q->to, address) = *(const T *)at(first ? &q->a : &q->b, address);                \
    }
CHOOSE_FUNCTION(choose_1, uint8_t)
CHOOSE_FUNCTION(choose_4, uint32_t)
CHOOSE_FUNCTION(choose_8, uint64_t)

static float apply(const struct quick_scalar *s, float x)
{
    float a = s->reverse ? s->value : x, b = s->reverse ? x : s->value;
    switch (s->op) {
    case OP_add:
        return a + b;
    case OP_sub:
        return a - b;
    case OP_mul:
        return a * b;
    case OP_div:
        return a / b;
    case OP_max:
        return a != a || a > b ? a : b;
    case OP_min:
        return a != a || a < b ? a : b;
    default:
        return x;
    }
}

static void scalar_steps(const struct quick_step *q, char *const *address)
{
    float x = *(const float *)at(&q->a, address);
    *(float *)at(&q->to, address) = apply(&q->scalar[1], apply(&q->scalar[0], x));
}

static bool applies(enum op op)
{
    return op == OP_add || op == OP_sub || op == OP_mul || op == OP_div || op == OP_max ||
           op == OP_min || op == OP_identity;
}

/* ---- windows ---- */

static char *window_at(const struct quick_step *q, const struct place *array, char *const *address)
{
    const struct quick_window *w = &q->window;
    const int64_t *start = (const int64_t *)at(&q->c, address);
    char *p = at(array, address);
    for (int i = 0; i < w->rank; i++) {
        int64_t s = start[i] < 0 ? 0 : start[i] > w->most[i] ? w->most[i] : start[i];
        p += s * w->stride[i];
    }
    return p;
}

static void take_window(const struct quick_step *q, char *const *address)
{
    memcpy(at(&q->to, address), window_at(q, &q->a, address), q->window.bytes);
}

static void put_window(const struct quick_step *q, char *const *address)
{
    memcpy(window_at(q, &q->to, address), at(&q->a, address), q->window.bytes);
}

/* ---- finding them ---- */

/* The kernel's only instruction, on single elements of slots at fixed places; else NULL. */
static const struct bound_insn *only_scalar(const struct bound_kernel *k)
{
    const struct bound_insn *i = k && k->ninsns == 1 && k->instances == 1 ? &k->insns[0] : NULL;
    if (!i || !i->run || i->shape.nclips)
        return NULL;
    for (int d = 0; d < i->shape.rank; d++)
        if (i->shape.count[d] != 1)
            return NULL;
    for (int n = 0; n < i->nops; n++)
        if (i->o[n].mem && (i->o[n].slot < 0 || i->o[n].nterms))
            return NULL;
    return i;
}

static struct place place_of(const struct operand *o)
{
    return (struct place){o->slot, o->offset};
}

static quick_fn find_binary(const struct bound_insn *i, struct quick_step *q)
{
    const struct operand *to = &i->o[AP(tensor_tensor, dst)], *a = &i->o[AP(tensor_tensor, a)],
                         *b = &i->o[AP(tensor_tensor, b)];
    enum op op = (enum op)i->func[FUNC(tensor_tensor, op)];
    q->a = place_of(a), q->b = place_of(b);
    bool compares = op == OP_lt || op == OP_le || op == OP_gt || op == OP_ge || op == OP_eq ||
                    op == OP_ne;
    if (a->dtype != b->dtype || to->dtype != (compares ? DT_BOOL : a->dtype))
        return NULL;
    for (size_t r = 0; r < sizeof binaries / sizeof *binaries; r++)
        if (binaries[r].dtype == a->dtype && binaries[r].op == op)
            return binaries[r].run;
    return NULL;
}

static quick_fn find_scalar_steps(const struct bound_insn *i, struct quick_step *q)
{
    enum { DST = AP(tensor_scalar, dst), SRC = AP(tensor_scalar, src) };
    if (i->o[DST].dtype != DT_F32 || i->o[SRC].dtype != DT_F32)
        return NULL;
    q->a = place_of(&i->o[SRC]);
    for (int n = 0; n < 2; n++) {
        q->scalar[n] =
            (struct quick_scalar){(enum op)i->func[n], i->imm[n].base != 0, i->flt[n]};
        if (!applies(q->scalar[n].op))
            return NULL;
    }
    return scalar_steps;
}

static quick_fn find_choice(const struct bound_insn *i, struct quick_step *q)
{
    const struct operand *to = &i->o[AP(select, dst)], *a = &i->o[AP(select, a)],
                         *b = &i->o[AP(select, b)], *p = &i->o[AP(select, predicate)];
    if (a->dtype != to->dtype || b->dtype != to->dtype || p->dtype != DT_BOOL)
        return NULL;
    q->a = place_of(a), q->b = place_of(b), q->c = place_of(p);
    return to->size == 1 ? choose_1 : to->size == 4 ? choose_4 : to->size == 8 ? choose_8 : NULL;
}

static quick_fn find_scalar(const struct bound_insn *i, struct quick_step *q)
{
    enum { DST = AP(tensor_copy, dst), SRC = AP(tensor_copy, src) };
    q->to = place_of(&i->o[DST]); /* the first operand of all of them */
    switch (i->op) {
    case INSN_tensor_tensor:
        return find_binary(i, q);
    case INSN_tensor_scalar:
        return find_scalar_steps(i, q);
    case INSN_select:
        return find_choice(i, q);
    case INSN_tensor_copy:
    case INSN_dma_copy:
        q->a = place_of(&i->o[SRC]);
        return find_copy(i->o[DST].dtype, i->o[SRC].dtype);
    default:
        return NULL;
    }
}

/* A window of which all dims but the first longer than 1 are whole. */
static bool contiguous(const struct tensor *x, const struct tensor *part)
{
    int i = 0;
    while (i < part->rank && part->dims[i] == 1)
        i++;
    for (i++; i < part->rank; i++)
        if (part->dims[i] != x->dims[i])
            return false;
    return true;
}

static quick_fn find_window(const struct bound *b, const struct call *call, struct arena *a,
                            struct quick_step *q)
{
    bool takes = call->op == OP_dynamic_slice;
    if (!takes && (call->op != OP_dynamic_update_slice || call->out[0] != call->in[0]))
        return NULL;
    int array = call->in[0], part = takes ? call->out[0] : call->in[1],
        starts = call->in[takes ? 1 : 2];
    if (array < 0 || part < 0 || starts < 0)
        return NULL;
    const struct tensor *x = &b->types[array], *y = &b->types[part], *s = &b->types[starts];
    if (x->dtype == DT_STR || s->dtype != DT_I64 || s->rank != 1 || s->dims[0] != x->rank ||
        !contiguous(x, y))
        return NULL;
    int64_t *stride = ARENA_ARRAY(a, int64_t, x->rank + 1),
            *most = ARENA_ARRAY(a, int64_t, x->rank + 1), bytes = (int64_t)dtype_bytes(x->dtype);
    for (int i = x->rank - 1; i >= 0; i--) {
        stride[i] = bytes;
        most[i] = x->dims[i] - y->dims[i];
        bytes *= x->dims[i];
    }
    q->window = (struct quick_window){x->rank, stride, most, tensor_bytes(y)};
    q->c = (struct place){starts, 0};
    q->a = (struct place){takes ? array : part, 0};
    q->to = (struct place){takes ? part : array, 0};
    return takes ? take_window : put_window;
}

static struct quick_step quick_of(const struct context *c, struct bound *b,
                                  const struct step *s, int number)
{
    struct quick_step q = {.step = number};
    if (s->kind == STEP_CALL) {
        if (b->call_checked[s->index])
            q.run = find_window(b, &c->m->p->calls[s->index], &b->arena, &q);
        return q;
    }
    const struct bound_kernel *k = b->kernels[s->index];
    const struct bound_insn *i = only_scalar(k);
    if (c->m->kernel_uses[s->index].count)
        return q;
    if (i)
        q.run = find_scalar(i, &q);
    if (!q.run && k && k->instances == 1)
        q.kernel = k;
    return q;
}

static struct quick_region *make_region(const struct context *c, struct bound *b, int region)
{
    const struct program_region *r = &c->m->p->regions[region];
    const struct slot_list *dying = &c->m->dying[c->m->first_step[region]];
    struct quick_region *q = ARENA_NEW(&b->arena, struct quick_region);
    q->list = ARENA_ARRAY(&b->arena, struct quick_step, r->nsteps + 1);
    q->steps = r->nsteps;
    for (int s = 0; s < r->nsteps; s++) {
        if (dying[s].count)
            return NULL;
        q->list[q->count++] = quick_of(c, b, &r->steps[s], s);
    }
    return q;
}

void plan_quick(const struct context *c, struct bound *b)
{
    const struct model *m = c->m;
    b->quick = ARENA_ARRAY(&b->arena, struct quick_region *, m->p->nregions + 1);
    for (int i = 0; i < m->p->ncalls && !m->engine_threads; i++)
        for (int r = 0; b->control[i] && r < m->p->calls[i].nregions; r++) {
            int region = m->p->calls[i].regions[r];
            if (!m->guards[region].count && !m->region_symbols[region].count &&
                !m->region_dying[region].count)
                b->quick[region] = make_region(c, b, region);
        }
}
