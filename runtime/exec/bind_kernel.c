/*
 * A kernel in plain integers: every dim expression evaluated, every instruction with its operands' patterns
 * (bind_pattern.c) and what its executor prepares.
 */
#include "runtime/exec/bind_kernel.h"
#include "runtime/exec/small_products.h"
#include "runtime/exec/stream.h"

#include "neff/base/use.h"

#include <string.h>

static int64_t largest(const struct binder *b, const struct number *n)
{
    __int128 v = n->base;
    for (int i = 0; i < n->nterms; i++)
        if (n->terms[i].coef > 0)
            v += (__int128)n->terms[i].coef * (b->var_count[n->terms[i].var] - 1);
    return v > LIMIT ? LIMIT : v < -LIMIT ? -LIMIT : (int64_t)v;
}

/* Results with one element per row have no dim for the row, or one of one element. */
static void pad_right(struct pattern *p, int dims)
{
    for (int i = 0; i < dims && p->o.rank < MAX_AP_RANK; i++) {
        p->o.count[p->o.rank] = 1;
        p->o.step[p->o.rank++] = 0;
    }
}

/* The operand whose rows others are reduced from: the first that is read. */
static int reduced_from(const struct insn_info *info)
{
    int n = 0;
    while (n < info->naps - 1 && info->ap[n].access != 'r')
        n++;
    return n;
}

/* Brings reduced operands to the rank of what they are reduced from. *inner: the dims of a row;
 * none where an instruction's only result of rows is not wanted. */
static bool row_operands(struct binder *b, const struct insn *insn, struct pattern *p, int *inner)
{
    const struct insn_info *info = insn_info(insn->op);
    int axes = insn_role(info, ROLE_AXES), src = reduced_from(info);
    if (axes >= 0) {
        *inner = (int)insn->imm[axes].base;
        if (*inner < 1 || *inner > MAX_AP_RANK)
            return fail(b->d, "%s over %d axes", info->name, *inner);
    }
    for (int n = 0; n < info->naps; n++) {
        if (!is_reduced(info, n))
            continue;
        if (p[n].o.mem == MEM_NONE)
            *inner = info->ap[n].reach == REACH_REDUCED ? 0 : *inner;
        else if (p[n].o.rank == p[src].o.rank - *inner)
            pad_right(&p[n], *inner);
    }
    return true;
}

/* ---- instructions ---- */

/* The result of a transpose, with its dims in the order of the source's. */
static void exchange_dims(struct pattern *p)
{
    struct operand *o = &p->o;
    if (o->rank < 2) {
        p->o.rank = 2;
        p->o.step[1] = p->o.step[0], p->o.count[1] = p->o.count[0];
        p->o.step[0] = 0, p->o.count[0] = 1;
        for (int i = 0; i < p->nclips; i++)
            p->clip[i].dim = 1;
    }
    int r = o->rank - 2, c = r + 1;
    int64_t step = o->step[r], count = o->count[r];
    o->step[r] = o->step[c], o->count[r] = o->count[c];
    o->step[c] = step, o->count[c] = count;
    for (int i = 0; i < p->nclips; i++)
        if (p->clip[i].dim >= r)
            p->clip[i].dim = p->clip[i].dim == r ? c : r;
}

/* Instructions whose operands have shapes of their own keep clips with the operand. */
static void keep_clips(struct binder *b, struct operand *o, const struct pattern *p)
{
    o->nclips = (uint16_t)p->nclips;
    if (p->nclips)
        o->clips = arena_copy(b->a, p->clip, sizeof *p->clip * (size_t)p->nclips);
}

/* Operands with steps that outlive the binding, and counts where executors ask for them. */
static struct operand *keep_operands(struct binder *b, const struct bound_insn *i,
                                     const struct pattern *p, bool separate)
{
    struct operand *o = ARENA_ARRAY(b->a, struct operand, i->nops);
    for (int n = 0; n < i->nops; n++) {
        bool absent = p[n].o.mem == MEM_NONE;
        o[n] = p[n].o;
        if (!separate && !absent)
            o[n].rank = i->shape.rank;
        size_t dims = sizeof(int64_t) * o[n].rank;
        o[n].step = absent ? b->none : arena_copy(b->a, p[n].step, dims);
        o[n].count = absent ? b->none : separate ? arena_copy(b->a, p[n].count, dims) : NULL;
        if (separate)
            keep_clips(b, &o[n], &p[n]);
    }
    return o;
}

/* ---- what follows a product ---- */

/* An instruction on tiles of rows x columns, two dims; nothing prepared. */
static bool bind_planes(struct binder *b, const struct insn *insn, struct bound_insn *i)
{
    const struct insn_info *info = insn_info(insn->op);
    struct pattern p[MAX_APS];
    *i = (struct bound_insn){.op = insn->op, .nops = info->naps, .node = insn->node};
    for (int n = 0; n < i->nops; n++)
        if (!bind_operand(b, insn, n, &p[n]))
            return false;
    if (!join_patterns(b, i, p, 2, false))
        return false;
    i->o = keep_operands(b, i, p, false);
    return true;
}

static bool bind_next(struct binder *b, const struct insn *insn, struct binding *binding)
{
    const struct insn *end = b->k->insns + b->k->ninsns;
    struct bound_insn *next = binding->bound_next;
    binding->next = insn + 1;
    if (b->m->engine_threads)
        return true; /* what follows is another engine's */
    for (insn++; insn < end && binding->nnext < MAX_NEXT; insn++) {
        bool elementwise = insn->op == INSN_tensor_tensor || insn->op == INSN_activation ||
                           insn->op == INSN_tensor_copy;
        if (!elementwise ||
            (insn->op == INSN_activation && insn->ap[AP(activation, sum)].mem != MEM_NONE))
            return true;
        if (!bind_planes(b, insn, &next[binding->nnext++]))
            return false;
    }
    return true;
}

static void count_touched(struct binder *b, const struct bound_insn *i, const struct pattern *p)
{
    for (int n = 0; n < i->nops; n++) {
        __int128 bytes = 4;
        for (int r = 0; r < p[n].o.rank && bytes < LIMIT; r++)
            bytes *= p[n].o.count[r] ? p[n].o.count[r] : 1;
        bytes += b->touched;
        b->touched = bytes > LIMIT ? LIMIT : (int64_t)bytes;
    }
}

static bool bind_insn(struct binder *b, const struct insn *insn, struct bound_insn *i)
{
    const struct insn_info *info = insn_info(insn->op);
    const struct executor *e = &executors[insn->op];
    struct pattern p[MAX_APS];
    *i = (struct bound_insn){.op = insn->op, .nops = info->naps, .node = insn->node, .run = e->run};
    i->imm = ARENA_ARRAY(b->a, struct number, info->nimms);
    for (int n = 0; n < info->nimms; n++)
        if (!bind_affine(b, &insn->imm[n], 1, &i->imm[n].base, &i->imm[n].nterms, &i->imm[n].terms))
            return false;
    memcpy(i->flt, insn->flt, sizeof i->flt);
    memcpy(i->func, insn->func, sizeof i->func);
    for (int n = 0; n < info->nfuncs; n++)
        if (i->func[n] >= OP_COUNT)
            return fail(b->d, "unknown function %d", i->func[n]);
    if (!e->run)
        return true;
    for (int n = 0; n < i->nops; n++)
        if (!bind_operand(b, insn, n, &p[n]))
            return false;
    static const int inner_dims[] = {
        [SHAPE_ELEMENTWISE] = 0, [SHAPE_ROWWISE] = 1, [SHAPE_PLANEWISE] = 2};
    if (info->shape != SHAPE_OWN) {
        int inner = inner_dims[info->shape];
        for (int n = 0; n < i->nops; n++)
            if (info->ap[n].reach == REACH_EXCHANGED)
                exchange_dims(&p[n]);
        if (!row_operands(b, insn, p, &inner) ||
            !join_patterns(b, i, p, inner, insn_role(info, ROLE_AXES) >= 0))
            return false;
    }
    count_touched(b, i, p);
    i->o = keep_operands(b, i, p, info->shape == SHAPE_OWN);
    struct bound_insn following[MAX_NEXT];
    struct binding binding = {.m = b->m,
                              .kernel = b->out,
                              .arena = b->a,
                              .lanes = b->lanes,
                              .d = b->d,
                              .var_count = b->var_count,
                              .binder = b,
                              .bound_next = following};
    if ((insn->op == INSN_nc_matmul && !bind_next(b, insn, &binding)) ||
        (e->prepare && !e->prepare(&binding, i, insn)))
        return false;
    flatten(&binding, i);
    return true;
}

/* The values that an instruction waits for, where engines are threads. */
static bool bind_waits(struct binder *b, int n)
{
    const struct insn *insn = &b->k->insns[n];
    if (!b->m->engine_threads)
        return true;
    if (!b->out->waits)
        b->out->waits = ARENA_ARRAY(b->a, struct number *, b->k->ninsns);
    struct number *to = b->out->waits[n] = ARENA_ARRAY(b->a, struct number, insn->nwaits + 1);
    for (int i = 0; i < insn->nwaits; i++)
        if (!bind_affine(b, &insn->wait[i].value, 1, &to[i].base, &to[i].nterms, &to[i].terms))
            return false;
    return true;
}

/* ---- instructions that run together (stream.h) ---- */

/* Whether instructions may run otherwise than as they stand. */
static bool may_join(const struct model *m)
{
    return USED(STREAMS) && !m->one_by_one && !m->engine_threads;
}

static void close_alike(struct binder *b, int n)
{
    if (USED(STREAMS) && n - b->alike > 1)
        stream_insns(b, b->alike, n);
    b->alike = n + 1;
}

/* Instruction n is bound. */
static void note_alike(struct binder *b, int n)
{
    const struct bound_insn *i = &b->out->insns[n];
    if (n < b->alike) /* of the product before it */
        return;
    if (!may_join(b->m) || !stream_takes(i))
        close_alike(b, n);
    if (i->skip)
        b->alike = n + 1 + i->skip;
}

enum { BYTES_A_TURN = (16 << 20) / TURNS_A_STEP };

static bool bind_insns(struct binder *b)
{
    const struct kernel *k = b->k;
    int open[MAX_VARS], depth = 0;
    double times[MAX_VARS + 1] = {1};
    b->out->insns = ARENA_ARRAY(b->a, struct bound_insn, k->ninsns);
    b->out->ninsns = k->ninsns;
    bool never = b->out->instances == 0;
    int never_from = -1; /* depth of the loop that never runs */
    for (int n = 0; n < k->ninsns; n++) {
        struct bound_insn *i = &b->out->insns[n];
        const struct insn *insn = &k->insns[n];
        int64_t touched = b->touched;
        if (insn->op == INSN_end || insn->op == INSN_loop)
            close_alike(b, n);
        if (insn->op == INSN_end) {
            int from = open[--depth], var = (int)b->out->insns[from].imm[IMM(loop, var)].base;
            *i = (struct bound_insn){.op = INSN_end, .match = from, .node = -1};
            b->out->insns[from].match = n;
            b->var_count[var] = 0;
            if (never_from == depth)
                never_from = -1;
        } else if (never || never_from >= 0) {
            *i = (struct bound_insn){.op = insn->op,
                                     .node = -1,
                                     .imm = ARENA_ARRAY(b->a, struct number, 2),
                                     .run = executors[insn->op].run};
            b->alike = n + 1; /* nothing is bound here */
            if (insn->op == INSN_loop) {
                i->imm[IMM(loop, var)].base = insn->imm[IMM(loop, var)].base;
                open[depth++] = n;
            }
        } else if (!bind_insn(b, insn, i) || !bind_waits(b, n)) {
            const struct program_node *node = insn->node >= 0 && insn->node < b->m->p->nnodes
                                                  ? &b->m->p->nodes[insn->node]
                                                  : NULL;
            return node ? fail_in(b->d, "instruction %d (node '%s')", n, node->name)
                        : fail_in(b->d, "instruction %d", n);
        } else if (insn->op == INSN_loop) {
            int64_t count = largest(b, &i->imm[IMM(loop, count)]);
            if (count == LIMIT)
                return fail(b->d, "instruction %d: a loop of %lld turns and more", n,
                            (long long)LIMIT);
            if (count <= 0)
                never_from = depth;
            b->var_count[i->imm[IMM(loop, var)].base] = count > 0 ? count : 0;
            open[depth++] = n;
            times[depth] = times[depth - 1] * (double)(count > 0 ? count : 0);
            b->work += times[depth];
        } else {
            b->work += times[depth] * (double)(b->touched - touched) / BYTES_A_TURN;
            note_alike(b, n);
        }
    }
    close_alike(b, k->ninsns);
    return true;
}

/* How many steps of a run's limit a launch takes. */
static int64_t steps_of(const struct binder *b)
{
    double steps = (1 + b->work) * (double)b->out->instances / TURNS_A_STEP, max = 1ll << 40;
    return (int64_t)(steps < max ? steps : max);
}

/* Work of kernels that do not say: elements touched by operands. */
static int64_t estimate(const struct binder *b)
{
    __int128 all = (__int128)b->touched * b->out->instances;
    return all > LIMIT ? LIMIT : (int64_t)all;
}

struct bound_kernel *bind_kernel(const struct model *m, const struct kernel *k,
                                 const int64_t *values, int lanes, struct arena *a, struct diag *d)
{
    struct arena scratch = {0};
    struct binder b = {.m = m, .k = k, .values = values, .a = a, .d = d, .lanes = lanes};
    b.out = ARENA_NEW(a, struct bound_kernel);
    b.none = ARENA_ARRAY(a, int64_t, MAX_AP_RANK);
    b.out->kernel = k;
    b.out->ngrid = k->ngrid;
    b.out->instances = 1;
    bool ok =
        (k->ngrid >= 0 && k->ngrid <= MAX_GRID && k->nvars >= k->ngrid && k->nvars <= MAX_VARS) ||
        fail(d, "%d grid dimensions and %d variables", k->ngrid, k->nvars);
    for (int g = 0; ok && g < k->ngrid; g++) {
        ok = bind_value(&b, k->grid[g], &b.out->grid[g]);
        if (ok && (b.out->grid[g] < 0 ||
                   __builtin_mul_overflow(b.out->instances, b.out->grid[g], &b.out->instances) ||
                   b.out->instances > LIMIT))
            ok = fail(d, "grid dimension %d is %lld", g, (long long)b.out->grid[g]);
        b.var_count[g] = b.out->grid[g];
    }
    ok = ok && bind_tiles(&b, &scratch) && bind_insns(&b);
    arena_free(&scratch);
    if (!ok) {
        fail_in(d, "kernel '%s'", k->name ? k->name : "");
        return NULL;
    }
    if (may_join(m) && b.out->ninsns == 1)
        bind_small_products(b.out, kernels_get(), a);
    b.out->steps = steps_of(&b);
    int64_t flops = dim_value(values, k->flops), bytes = dim_value(values, k->bytes);
    b.out->flops = flops > 0 && flops != DIM_NOT_BOUND ? flops : 0;
    b.out->bytes = bytes > 0 && bytes != DIM_NOT_BOUND ? bytes : 0;
    b.out->work_bytes = b.out->flops || b.out->bytes ? b.out->bytes : estimate(&b);
    return b.out;
}
