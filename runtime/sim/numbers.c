#include "runtime/sim/numbers.h"

#include <string.h>

enum { LARGEST = 1 << 30 }; /* of a count */
static const int64_t LARGEST_COEFFICIENT = INT64_C(1) << 33, LARGEST_TILE = INT64_C(1) << 40,
                     LARGEST_TOTAL = INT64_C(1) << 40; /* elements of a pattern: what costs are computed from fits */

struct converter {
    const struct program *p;
    const struct kernel *k;
    const struct machine *m;
    const int64_t *values;
    struct arena *a;
    struct diag *d;
    bool ok;
};

static int64_t value(struct converter *c, dim_t d)
{
    int64_t v = dim_value(c->values, d);
    if (v == DIM_NOT_BOUND || v > INT64_MAX / 4 || v < -(INT64_MAX / 4)) {
        if (c->ok)
            fail(c->d, "a dimension has no value before running, or is too large; give it with "
                       "--shape NAME=VALUE");
        c->ok = false;
        return 0;
    }
    return v;
}

/* What a variable is multiplied by. A variable is below the limit of instructions, so that a sum of products fits. */
static int64_t coefficient(struct converter *c, dim_t d)
{
    int64_t v = value(c, d);
    if (c->ok && (v > LARGEST_COEFFICIENT || v < -LARGEST_COEFFICIENT))
        c->ok = fail(c->d, "an access pattern moves by %lld elements from one instance to the next", (long long)v);
    return c->ok ? v : 0;
}

static struct sim_number number(struct converter *c, const struct affine *f)
{
    struct sim_number n = {.base = value(c, f->base), .nterms = f->nterms};
    struct number_term *terms = ARENA_ARRAY(c->a, struct number_term, f->nterms);
    for (int i = 0; i < f->nterms; i++)
        terms[i] = (struct number_term){f->terms[i].var, coefficient(c, f->terms[i].coef)};
    n.terms = terms;
    return n;
}

/* Whether the first operand is read too; of instructions that never accumulate, what is `u` is. */
static bool accumulates(const struct insn *n, bool otherwise)
{
    int i = insn_role(insn_info(n->op), ROLE_ACCUMULATE);
    return i < 0 ? otherwise : n->imm[i].nterms || n->imm[i].base != 0;
}

static struct number_ap pattern(struct converter *c, const struct insn *n, int a)
{
    const struct ap *ap = &n->ap[a];
    struct number_ap r = {.mem = ap->mem, .dtype = ap->dtype, .rank = ap->rank};
    if (ap->mem == MEM_NONE)
        return r;
    r.access = insn_info(n->op)->ap[a].access;
    r.reads = r.access == 'r' || (a == 0 && accumulates(n, r.access == 'u')) ||
              (a > 0 && r.access == 'u');
    r.writes = r.access != 'r';
    r.size = (uint8_t)dtype_bytes(ap->dtype);
    r.tensor = ap->tensor;
    if (ap->mem == MEM_HBM) {
        const struct slot *s = &c->p->slots[ap->tensor];
        if (s->kind == SLOT_VIEW) {
            r.tensor = s->base;
            r.slot_offset = value(c, s->offset) * (int64_t)dtype_bytes(s->type.dtype);
        }
    } else {
        r.row = value(c, c->k->tiles[ap->tensor].elements);
    }
    r.offset = number(c, &ap->offset);
    int64_t total = 1;
    for (int i = 0; i < ap->rank; i++) {
        const struct ap_dim *d = &ap->dim[i];
        r.dim[i] = (struct number_dim){value(c, d->step), value(c, d->count), 0, 0, -1};
        if (d->clip) {
            r.dim[i].factor = coefficient(c, d->clip->factor), r.dim[i].limit = value(c, d->clip->limit);
            r.dim[i].var = d->clip->var;
            r.clipped = true;
        }
        if (r.dim[i].count > LARGEST && c->ok)
            c->ok = fail(c->d, "an access pattern of %lld elements in one dimension",
                         (long long)r.dim[i].count);
        const int64_t count = r.dim[i].count > 0 ? r.dim[i].count : 1;
        if (c->ok && total <= LARGEST_TOTAL / count)
            total *= count;
        else if (c->ok)
            c->ok = fail(c->d, "an access pattern of more than %lld elements", (long long)LARGEST_TOTAL);
    }
    return r;
}

static void instruction(struct converter *c, const struct insn *n, struct number_insn *out)
{
    const struct insn_info *info = insn_info(n->op);
    *out = (struct number_insn){.op = n->op,
                                .engine = n->engine,
                                .nwaits = n->nwaits,
                                .naps = info->naps,
                                .node = n->node,
                                .source = n,
                                .signal = {n->signal[0], n->signal[1]}};
    out->dma = info->cost.kind == COST_DMA;
    out->waits = ARENA_ARRAY(c->a, struct number_wait, n->nwaits);
    for (int i = 0; i < n->nwaits; i++) {
        out->waits[i].semaphore = n->wait[i].semaphore;
        out->waits[i].value = number(c, &n->wait[i].value);
    }
    out->ap = ARENA_ARRAY(c->a, struct number_ap, info->naps);
    for (int i = 0; i < info->naps; i++) {
        out->ap[i] = pattern(c, n, i);
        out->varies |= out->ap[i].clipped;
        out->sbuf |= out->ap[i].mem == MEM_SBUF;
        out->psum |= out->ap[i].mem == MEM_PSUM;
    }
    if (!out->varies && c->ok)
        out->work = insn_work(c->m, out, NULL);
}

static void mark_rewritten(struct number_kernel *k, int nslots, struct arena *a)
{
    bool *written = ARENA_ARRAY(a, bool, nslots + 1);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < k->ninsns; i++)
            for (int o = 0; o < k->insns[i].naps; o++) {
                struct number_ap *ap = &k->insns[i].ap[o];
                if (ap->mem == MEM_HBM && pass)
                    ap->rewritten = written[ap->tensor];
                else if (ap->mem == MEM_HBM)
                    written[ap->tensor] |= ap->writes;
            }
}

/* The part of a node: of an earlier one of the same name, which is the same node of the model, or a new one. */
static int part_of(struct number_kernel *k, const struct program_node *nodes, int node)
{
    for (int i = 0; node >= 0 && *nodes[node].name && i < k->nparts; i++)
        if (k->part_nodes[i] >= 0 && !strcmp(nodes[k->part_nodes[i]].name, nodes[node].name))
            return i;
    k->part_nodes[k->nparts] = node;
    return k->nparts++;
}

static void number_parts(struct number_kernel *k, const struct program *p, struct arena *a)
{
    struct arena scratch = {0};
    bool *used = ARENA_ARRAY(&scratch, bool, p->nnodes + 1); /* by node, from -1 on */
    int *part = ARENA_ARRAY(&scratch, int, p->nnodes + 1);
    for (int i = 0; i < k->ninsns; i++)
        used[k->insns[i].node + 1] |= k->insns[i].op != INSN_loop && k->insns[i].op != INSN_end;
    k->part_nodes = ARENA_ARRAY(a, int32_t, k->ninsns + 1);
    for (int node = -1; node < p->nnodes; node++)
        if (used[node + 1])
            part[node + 1] = part_of(k, p->nodes, node);
    for (int i = 0; i < k->ninsns; i++)
        k->insns[i].part = part[k->insns[i].node + 1];
    arena_free(&scratch);
}

/* ---- streams ---- */

static int end_of(const struct kernel *k, int loop)
{
    int depth = 0, i = loop;
    for (;; i++) {
        depth += k->insns[i].op == INSN_loop ? 1 : k->insns[i].op == INSN_end ? -1 : 0;
        if (!depth)
            return i;
    }
}

static bool holds(const struct kernel *k, int loop, int engine)
{
    for (int i = loop, end = end_of(k, loop); i < end; i++)
        if (k->insns[i].op != INSN_loop && k->insns[i].op != INSN_end &&
            k->insns[i].engine == engine)
            return true;
    return false;
}

/* The loops of the kernel that have nothing for the engine are left out of its stream. */
static struct insn_stream stream_of(struct converter *c, int engine)
{
    const struct kernel *k = c->k;
    struct insn_stream s = {0};
    int open[MAX_VARS + 1], depth = 0;
    s.items = ARENA_ARRAY(c->a, struct stream_item, k->ninsns + 1);
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        struct stream_item item = {.kind = STREAM_INSN, .insn = i};
        if (n->op == INSN_loop) {
            if (!holds(k, i, engine)) {
                i = end_of(k, i);
                continue;
            }
            item.kind = STREAM_LOOP, item.var = (int32_t)n->imm[IMM(loop, var)].base;
            item.count = number(c, &n->imm[IMM(loop, count)]);
            open[depth++] = s.n;
        } else if (n->op == INSN_end) {
            item.kind = STREAM_END, item.other = open[--depth];
            item.var = s.items[item.other].var;
            item.count = s.items[item.other].count;
            s.items[item.other].other = s.n;
        } else if (n->engine != engine) {
            continue;
        }
        s.items[s.n++] = item;
    }
    return s;
}

/* ---- tiles ---- */

static int64_t footprint(struct converter *c, int mem, int64_t *bytes)
{
    int64_t sum = 0, end = 0;
    for (int i = 0; i < c->k->ntiles; i++) {
        const struct tile *t = &c->k->tiles[i];
        if (t->mem != mem)
            continue;
        int64_t elements = value(c, t->elements);
        if (elements > LARGEST_TILE && c->ok)
            c->ok = fail(c->d, "a tile of %lld elements a partition", (long long)elements);
        bytes[i] = c->ok ? elements * (int64_t)dtype_bytes(t->dtype) : 0;
        sum += bytes[i];
        if (t->address >= 0 && t->address < INT32_MAX && t->address + bytes[i] > end)
            end = t->address + bytes[i];
        else if (t->address < 0)
            end = INT64_MAX;
    }
    return end == INT64_MAX ? sum : end;
}

bool number_kernel(const struct sim *s, int kernel, struct number_kernel *out, struct arena *a,
                   struct diag *d)
{
    const struct kernel *k = &s->p->kernels[kernel];
    struct converter c = {s->p, k, s->m, s->o.values, a, d, true};
    *out = (struct number_kernel){
        .k = k, .index = kernel, .ngrid = k->ngrid, .ninsns = k->ninsns, .instances = 1};
    for (int i = 0; i < k->ngrid; i++) {
        out->grid[i] = value(&c, k->grid[i]);
        out->grid[i] = out->grid[i] < 0 ? 0 : out->grid[i];
        if (__builtin_mul_overflow(out->instances, out->grid[i], &out->instances))
            return fail(d, "kernel '%s': a grid of too many instances", k->name ? k->name : "");
    }
    out->tile_bytes = ARENA_ARRAY(a, int64_t, k->ntiles + 1);
    out->sbuf = footprint(&c, MEM_SBUF, out->tile_bytes);
    out->psum = footprint(&c, MEM_PSUM, out->tile_bytes);
    out->insns = ARENA_ARRAY(a, struct number_insn, k->ninsns + 1);
    for (int i = 0; i < k->ninsns && c.ok; i++)
        instruction(&c, &k->insns[i], &out->insns[i]);
    for (int i = 0; i < k->ninsns; i++)
        out->queues[k->insns[i].engine] |= out->insns[i].dma;
    if (c.ok)
        mark_rewritten(out, s->p->nslots, a);
    if (c.ok)
        number_parts(out, s->p, a);
    for (int e = 0; e < ENGINE_COUNT && c.ok; e++)
        out->streams[e] = stream_of(&c, e);
    return c.ok || fail_in(d, "kernel '%s'", k->name ? k->name : "");
}
