#include "backend/schedule/check_sync.h"

#include "backend/schedule/schedule.h"
#include "neff/isa/cost.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INSTANCES =
        4000, /* instructions walked at one point of the grid; a legal order has legal beginnings */
    MAX_POINTS = 5,
    MAX_EXACT = 1 << 16, /* elements of a pattern that are listed one by one */
};

struct clock {
    int32_t at[ENGINE_COUNT]; /* how many instructions of each engine are complete */
};

struct region { /* elements of one tensor: [low, high), and which of them, by bits from low */
    int memory, tensor; /* HBM: root slot, in bytes; tiles: elements */
    int64_t low, high;
    uint8_t *bits; /* NULL: all of them */
};

struct access {
    struct region where;
    int insn, engine;
    int32_t index; /* of its engine, from 1 */
    bool write;
};

struct signal_list { /* clocks after each signal */
    struct clock *clocks;
    int n, cap, engine;
};

struct checker {
    const struct program *p;
    const struct kernel *k;
    const int64_t *values;
    struct diag *d;
    struct arena scratch;
    int64_t vars[MAX_VARS];
    struct clock engines[ENGINE_COUNT];
    struct signal_list *semaphores;
    struct access *accesses;
    int naccesses, accesses_cap;
    uint8_t **written; /* tiles: one byte per element */
    int instances;
    int *ends;
};

static int64_t evaluate(const struct checker *c, const struct affine *a)
{
    int64_t v = dim_value(c->values, a->base);
    for (int i = 0; i < a->nterms; i++)
        v += dim_value(c->values, a->terms[i].coef) * c->vars[a->terms[i].var];
    return v;
}

static bool fault(struct checker *c, int i, const char *what)
{
    const struct insn *n = &c->k->insns[i];
    fail(c->d, "%s", what);
    fail_in(c->d, "instruction %d (%s.%s)", i, engine_names[n->engine], insn_info(n->op)->name);
    if (n->node >= 0)
        fail_in(c->d, "node '%s'", c->p->nodes[n->node].name);
    return false;
}

/* ---- which elements ---- */

struct box { /* a pattern in numbers */
    int rank;
    int64_t offset, step[MAX_AP_RANK], count[MAX_AP_RANK], total, low, high;
};

static struct box box_of(const struct checker *c, const struct ap *a)
{
    struct box b = {.rank = a->rank, .offset = evaluate(c, &a->offset), .total = 1};
    b.low = b.high = b.offset;
    for (int i = 0; i < a->rank; i++) {
        const struct ap_dim *d = &a->dim[i];
        b.step[i] = dim_value(c->values, d->step);
        b.count[i] = dim_value(c->values, d->count);
        if (d->clip) {
            int64_t left = dim_value(c->values, d->clip->limit) -
                           c->vars[d->clip->var] * dim_value(c->values, d->clip->factor);
            b.count[i] = left < b.count[i] ? left : b.count[i];
        }
        b.count[i] = b.count[i] < 0 ? 0 : b.count[i];
        b.total *= b.count[i];
        if (b.count[i] > 0)
            *(b.step[i] < 0 ? &b.low : &b.high) += b.step[i] * (b.count[i] - 1);
    }
    b.high++;
    return b;
}

/* Calls visit with every element's index. */
static void each_element(const struct box *b, void (*visit)(void *user, int64_t element),
                         void *user)
{
    int64_t at[MAX_AP_RANK] = {0};
    for (int64_t n = 0; n < b->total; n++) {
        int64_t element = b->offset;
        for (int i = 0; i < b->rank; i++)
            element += at[i] * b->step[i];
        visit(user, element);
        for (int i = b->rank - 1; i >= 0 && ++at[i] == b->count[i]; i--)
            at[i] = 0;
    }
}

struct bit_target {
    struct region *r;
    int64_t scale, offset;
};

static void set_bits(void *user, int64_t element)
{
    struct bit_target *t = user;
    for (int64_t k = 0; k < t->scale; k++) {
        int64_t bit = element * t->scale + k + t->offset - t->r->low;
        t->r->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
}

static struct region region_of(struct checker *c, const struct ap *a, const struct box *b)
{
    struct region r = {.memory = a->mem, .tensor = a->tensor};
    int64_t scale = (int64_t)dtype_bytes(a->dtype), offset = 0;
    if (a->mem == MEM_HBM && c->p->slots[a->tensor].kind == SLOT_VIEW) {
        const struct slot *s = &c->p->slots[a->tensor];
        r.tensor = s->base;
        offset = dim_value(c->values, s->offset) * (int64_t)dtype_bytes(s->type.dtype);
    }
    if (a->mem != MEM_HBM)
        scale = 1;
    r.low = b->low * scale + offset, r.high = b->high * scale + offset;
    if (b->total * scale > MAX_EXACT || (r.high - r.low) > 64 * MAX_EXACT ||
        b->total * scale == r.high - r.low)
        return r;
    r.bits = arena_alloc(&c->scratch, (size_t)(r.high - r.low + 7) / 8);
    struct bit_target t = {&r, scale, offset};
    each_element(b, set_bits, &t);
    return r;
}

/* Placed tiles: partitions [p[0], p[1]) x bytes [p[2], p[3]). */
static bool physical(const struct checker *c, const struct region *r, int64_t p[4])
{
    const struct tile *t = &c->k->tiles[r->tensor];
    int64_t row = dim_value(c->values, t->elements), size = (int64_t)dtype_bytes(t->dtype);
    if (t->address < 0 || row < 1)
        return false;
    p[0] = r->low / row, p[1] = (r->high - 1) / row + 1;
    bool one_row = p[1] - p[0] == 1;
    p[2] = t->address + (one_row ? r->low % row : 0) * size;
    p[3] = t->address + (one_row ? (r->high - 1) % row + 1 : row) * size;
    return true;
}

static bool has(const struct region *r, int64_t i)
{
    return !r->bits || (r->bits[(i - r->low) / 8] >> ((i - r->low) % 8) & 1);
}

static bool overlap(const struct checker *c, const struct region *a, const struct region *b)
{
    if (a->memory != b->memory)
        return false;
    if (a->tensor != b->tensor) { /* tiles may share memory at other times */
        int64_t p[4], q[4];
        return a->memory != MEM_HBM && physical(c, a, p) && physical(c, b, q) && p[0] < q[1] &&
               q[0] < p[1] && p[2] < q[3] && q[2] < p[3];
    }
    int64_t low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
    if (!a->bits && !b->bits)
        return low < high;
    for (int64_t i = low; i < high; i++)
        if (has(a, i) && has(b, i))
            return true;
    return false;
}

/* ---- tiles ---- */

struct tile_visit {
    uint8_t *written;
    bool write, missing;
};

static void visit_tile(void *user, int64_t element)
{
    struct tile_visit *v = user;
    if (v->write)
        v->written[element] = 1;
    else
        v->missing |= !v->written[element];
}

static bool check_tile(struct checker *c, int i, int a, const struct box *b, bool write)
{
    const struct ap *ap = &c->k->insns[i].ap[a];
    const struct tile *t = &c->k->tiles[ap->tensor];
    int64_t size = dim_value(c->values, t->partitions) * dim_value(c->values, t->elements);
    if (b->total == 0)
        return true;
    if (b->low < 0 || b->high > size)
        return fault(c, i, "an access leaves its tile");
    if (!c->written[ap->tensor])
        c->written[ap->tensor] = arena_alloc(&c->scratch, (size_t)size);
    struct tile_visit v = {c->written[ap->tensor], write, false};
    each_element(b, visit_tile, &v);
    return !v.missing || fault(c, i, "reads elements of a tile that nothing has written");
}

/* ---- order ---- */

static void join(struct clock *a, const struct clock *b)
{
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (b->at[e] > a->at[e])
            a->at[e] = b->at[e];
}

static bool wait(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    for (int w = 0; w < n->nwaits; w++) {
        const struct signal_list *s = &c->semaphores[n->wait[w].semaphore];
        int64_t value = evaluate(c, &n->wait[w].value);
        if (value > s->n)
            return fault(c, i, "deadlock: waits for a signal that nothing before it gives");
        if (value > 0)
            join(&c->engines[n->engine], &s->clocks[value - 1]);
    }
    return true;
}

static bool signal(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    for (int k = 0; k < 2; k++) {
        if (n->signal[k] < 0)
            continue;
        struct signal_list *s = &c->semaphores[n->signal[k]];
        if (s->n && s->engine != n->engine)
            return fault(c, i, "a semaphore is signalled by two engines");
        s->engine = n->engine;
        ARENA_GROW(&c->scratch, s->clocks, s->n, s->cap);
        s->clocks[s->n++] = c->engines[n->engine];
    }
    return true;
}

/* Accesses that everything from now on comes after are forgotten. */
static void forget(struct checker *c)
{
    int kept = 0;
    for (int i = 0; i < c->naccesses; i++) {
        const struct access *x = &c->accesses[i];
        bool known = true;
        for (int e = 0; e < ENGINE_COUNT; e++)
            known &= e == x->engine || c->engines[e].at[x->engine] >= x->index;
        if (!known)
            c->accesses[kept++] = *x;
    }
    c->naccesses = kept;
}

static bool check_access(struct checker *c, int i, const struct access *now)
{
    for (int k = 0; k < c->naccesses; k++) {
        const struct access *x = &c->accesses[k];
        bool ordered =
            x->engine == now->engine || c->engines[now->engine].at[x->engine] >= x->index;
        if (ordered || (!x->write && !now->write) || !overlap(c, &x->where, &now->where))
            continue;
        const struct insn *other = &c->k->insns[x->insn];
        fail(c->d,
             "missing synchronisation with instruction %d (%s.%s): %s after %s without a wait",
             x->insn, engine_names[other->engine], insn_info(other->op)->name,
             now->write ? "write" : "read", x->write ? "write" : "read");
        return fault(c, i, "");
    }
    return true;
}

static bool touch(struct checker *c, int i, int a, bool write)
{
    const struct insn *n = &c->k->insns[i];
    struct ap touched = insn_touched(n, a);
    struct box b = box_of(c, &touched);
    bool some = touched.rank != n->ap[a].rank; /* which elements depends on indices */
    if (n->ap[a].mem != MEM_HBM && !(some && !write) && !check_tile(c, i, a, &b, write))
        return false;
    if (b.total == 0)
        return true;
    struct access now = {region_of(c, &touched, &b), i, n->engine,
                         c->engines[n->engine].at[n->engine], write};
    if (!check_access(c, i, &now))
        return false;
    ARENA_GROW(&c->scratch, c->accesses, c->naccesses, c->accesses_cap);
    c->accesses[c->naccesses++] = now;
    return true;
}

static bool accumulates(const struct checker *c, const struct insn *n)
{
    int role = insn_role(insn_info(n->op), ROLE_ACCUMULATE);
    return role >= 0 && evaluate(c, &n->imm[role]) != 0;
}

static bool step(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    const struct insn_info *info = insn_info(n->op);
    if (!wait(c, i))
        return false;
    c->engines[n->engine].at[n->engine]++;
    for (int a = 0; a < info->naps; a++) {
        bool accumulator = a == 0 && accumulates(c, n);
        if (n->ap[a].mem != MEM_NONE && (info->ap[a].access == 'r' || accumulator) &&
            !touch(c, i, a, false))
            return false;
    }
    for (int a = 0; a < info->naps; a++)
        if (n->ap[a].mem != MEM_NONE && info->ap[a].access != 'r' && !touch(c, i, a, true))
            return false;
    if (++c->instances % 64 == 0)
        forget(c);
    return signal(c, i);
}

/* Runs instructions [from, to); false at a fault, and when enough has been walked. */
static bool walk(struct checker *c, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct insn *n = &c->k->insns[i];
        if (n->op != INSN_loop) {
            if (n->op != INSN_end && (c->instances >= MAX_INSTANCES || !step(c, i)))
                return false;
            continue;
        }
        int64_t count = evaluate(c, &n->imm[IMM(loop, count)]);
        int var = (int)n->imm[IMM(loop, var)].base;
        for (int64_t t = 0; t < count; t++) {
            c->vars[var] = t;
            if (!walk(c, i + 1, c->ends[i]))
                return false;
        }
        i = c->ends[i];
    }
    return true;
}

static bool check_point(const struct checker *base, const int64_t *point)
{
    struct checker c = *base;
    memcpy(c.vars, point, sizeof(int64_t) * (size_t)c.k->ngrid);
    c.semaphores = ARENA_ARRAY(&c.scratch, struct signal_list, c.k->nsemaphores + 1);
    c.written = ARENA_ARRAY(&c.scratch, uint8_t *, c.k->ntiles + 1);
    c.ends = loop_ends(c.k, &c.scratch);
    walk(&c, 0, c.k->ninsns);
    arena_free(&c.scratch);
    return !diag_failed(c.d);
}

static bool dim_known(const struct checker *c, dim_t d)
{
    return dim_value(c->values, d) != DIM_NOT_BOUND;
}

static bool affine_known(const struct checker *c, const struct affine *a)
{
    bool known = dim_known(c, a->base);
    for (int i = 0; i < a->nterms; i++)
        known &= dim_known(c, a->terms[i].coef);
    return known;
}

static bool ap_known(const struct checker *c, const struct ap *a)
{
    bool known = affine_known(c, &a->offset);
    for (int i = 0; i < a->rank; i++)
        known &= dim_known(c, a->dim[i].step) && dim_known(c, a->dim[i].count) &&
                 (!a->dim[i].clip ||
                  (dim_known(c, a->dim[i].clip->factor) && dim_known(c, a->dim[i].clip->limit)));
    return known;
}

static bool all_known(const struct checker *c)
{
    const struct kernel *k = c->k;
    bool known = true;
    for (int i = 0; i < k->ngrid; i++)
        known &= dim_known(c, k->grid[i]);
    for (int i = 0; i < k->ntiles; i++)
        known &= dim_known(c, k->tiles[i].partitions) && dim_known(c, k->tiles[i].elements);
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int a = 0; a < info->naps; a++)
            known &= ap_known(c, &k->insns[i].ap[a]);
        for (int a = 0; a < info->nimms; a++)
            known &= affine_known(c, &k->insns[i].imm[a]);
    }
    return known;
}

bool check_kernel_sync(const struct program *p, const struct kernel *k, const int64_t *values,
                       struct diag *d)
{
    struct checker c = {.p = p, .k = k, .values = values, .d = d};
    if (!all_known(&c))
        return true;
    for (int n = 0; n < MAX_POINTS;
         n++) { /* corners: first, last, and one last coordinate at a time */
        int64_t point[MAX_GRID + 1] = {0};
        bool empty = false;
        for (int g = 0; g < k->ngrid; g++) {
            int64_t count = dim_value(values, k->grid[g]);
            empty |= count < 1;
            point[g] = n == 1 || n - 2 == g ? count - 1 : n == 0 ? 0 : count / 2;
        }
        if (empty || n > k->ngrid + 1)
            break;
        if (!check_point(&c, point))
            return false;
    }
    return true;
}

bool check_program_sync(const struct program *p, int64_t symbol, struct diag *d)
{
    struct arena scratch = {0};
    int64_t *symbols = ARENA_ARRAY(&scratch, int64_t, p->dims.nsymbols + 1),
            *values = ARENA_ARRAY(&scratch, int64_t, p->dims.nnodes + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        symbols[i] = symbol;
    dim_eval_all(&p->dims, symbols, values);
    bool ok = true;
    for (int i = 0; ok && i < p->nkernels; i++)
        if (!check_kernel_sync(p, &p->kernels[i], values, d))
            ok = fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    arena_free(&scratch);
    return ok;
}
