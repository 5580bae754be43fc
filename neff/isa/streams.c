#include "neff/isa/streams.h"

#include "neff/isa/codec.h"

#include <stdlib.h>
#include <string.h>

/* Operators are stored by name, so that an archive survives changes of the table: numbers in a
 * stream are indices into the list of names at the start of sp.bin. */
struct op_names {
    int count;
    const char **names;
    uint16_t *ops;           /* reading: index -> enum op */
    int32_t index[OP_COUNT]; /* writing: enum op -> index, or -1 */
};

struct streams {
    struct program *p;
    struct op_names ops;
    struct codec c[ENGINE_COUNT];
};

static void code_op(struct streams *s, struct codec *c, uint16_t *op)
{
    int index = c->writing ? s->ops.index[*op] : 0;
    code_ranged(c, &index, 0, s->ops.count - 1, "operator");
    if (!c->writing)
        *op = c->failed ? 0 : s->ops.ops[index];
}

static void code_dim(struct streams *s, struct codec *c, dim_t *d)
{
    bool symbolic = !dim_is_const(*d);
    int64_t v = symbolic ? dim_index(*d) : *d;
    /* constants zigzag in the even numbers, expressions in the odd ones: small ones stay one byte
     */
    uint64_t u = symbolic ? (uint64_t)v << 1 | 1 : (((uint64_t)v << 1) ^ (uint64_t)(v >> 63)) << 1;
    if (c->writing && !symbolic && (v > INT64_MAX / 4 || v < -(INT64_MAX / 4)))
        codec_fail(c, "dimension too large");
    code_u64(c, &u);
    if (c->writing)
        return;
    if (u & 1) {
        if ((u >> 1) >= (uint64_t)s->p->dims.nnodes)
            codec_fail(c, "unknown dimension expression");
        *d = c->failed ? 0 : INT64_MIN + (int64_t)(u >> 1);
    } else {
        u >>= 1;
        *d = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
    }
}

static void code_affine(struct streams *s, struct codec *c, struct affine *a, int nvars)
{
    uint16_t mask = 0;
    for (int i = 0; i < a->nterms; i++)
        mask |= (uint16_t)(1u << a->terms[i].var);
    code_u16(c, &mask);
    if (mask >> nvars) {
        codec_fail(c, "unknown loop variable");
        return;
    }
    code_dim(s, c, &a->base);
    struct affine_term terms[MAX_VARS];
    int n = 0;
    for (int v = 0; v < nvars; v++) {
        dim_t coef = c->writing ? affine_coef(a, v) : 0;
        if (mask >> v & 1)
            code_dim(s, c, &coef);
        if (coef)
            terms[n++] = (struct affine_term){v, coef};
    }
    if (c->writing || !n)
        return;
    a->nterms = n;
    a->terms = arena_copy(&s->p->arena, terms, sizeof *terms * (size_t)n);
}

static void code_clip(struct streams *s, struct codec *c, const struct ap_clip **clip, int nvars)
{
    struct ap_clip v = *clip ? **clip : (struct ap_clip){.var = -1};
    code_ranged(c, &v.var, -1, nvars - 1, "loop variable");
    if (v.var < 0)
        return;
    code_dim(s, c, &v.factor);
    code_dim(s, c, &v.limit);
    if (!c->writing)
        *clip = arena_copy(&s->p->arena, &v, sizeof v);
}

static void code_ap(struct streams *s, struct codec *c, struct ap *ap, const struct kernel *k,
                    bool optional)
{
    int mem = ap->mem, dtype = ap->dtype, rank = ap->rank;
    code_ranged(c, &mem, optional ? MEM_NONE : MEM_HBM, MEM_PSUM, "memory");
    ap->mem = (uint8_t)mem;
    if (mem == MEM_NONE)
        return;
    code_ranged(c, &dtype, 1, DT_END - 1, "element type");
    code_ranged(c, &rank, 1, MAX_AP_RANK, "rank of an access pattern");
    code_ranged(c, &ap->tensor, 0, (mem == MEM_HBM ? s->p->nslots : k->ntiles) - 1, "tensor");
    if (!dtype_valid(dtype))
        codec_fail(c, "unknown element type");
    if (c->failed)
        return;
    ap->dtype = (uint8_t)dtype, ap->rank = (uint8_t)rank;
    code_affine(s, c, &ap->offset, k->nvars);
    for (int i = 0; i < rank; i++) {
        struct ap_dim *dim = &ap->dim[i];
        code_dim(s, c, &dim->step);
        code_dim(s, c, &dim->count);
        code_clip(s, c, &dim->clip, k->nvars);
    }
}

static void code_insn(struct streams *s, struct codec *c, struct insn *n, const struct kernel *k)
{
    const struct insn_info *info = insn_info(n->op);
    code_ranged(c, &n->node, -1, s->p->nnodes - 1, "source node");
    for (int i = 0; i < info->naps; i++)
        code_ap(s, c, &n->ap[i], k, info->ap[i].optional);
    for (int i = 0; i < info->nimms; i++)
        code_affine(s, c, &n->imm[i], k->nvars);
    for (int i = 0; i < info->nfloats; i++)
        code_f32(c, &n->flt[i]);
    for (int i = 0; i < info->nfuncs; i++)
        code_op(s, c, &n->func[i]);
    int waits = n->nwaits;
    code_ranged(c, &waits, 0, MAX_SYNC, "number of waits");
    n->nwaits = (uint8_t)waits;
    if (!c->writing && waits)
        n->wait = ARENA_ARRAY(&s->p->arena, struct sync, waits);
    for (int i = 0; i < waits; i++) {
        code_i16(c, &n->wait[i].semaphore);
        code_affine(s, c, &n->wait[i].value, k->nvars);
        if (n->wait[i].semaphore < 0 || n->wait[i].semaphore >= k->nsemaphores)
            codec_fail(c, "unknown semaphore");
    }
    for (int i = 0; i < 2; i++) {
        code_i16(c, &n->signal[i]);
        if (n->signal[i] < -1 || n->signal[i] >= k->nsemaphores)
            codec_fail(c, "unknown semaphore");
    }
}

/* ---- kernels ---- */

/* Instructions lie in all engines' streams: one byte each at least. */
static void code_ninsns(struct streams *s, struct codec *c, struct kernel *k)
{
    size_t bytes = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        bytes += s->c[e].size;
    code_int(c, &k->ninsns);
    if (!c->writing && !c->failed && (k->ninsns < 0 || (size_t)k->ninsns > bytes)) {
        codec_fail(c, "more instructions than the streams can hold");
        k->ninsns = 0;
    }
}

static void code_kernel_header(struct streams *s, struct kernel *k)
{
    struct codec *c = &s->c[ENGINE_SP];
    code_text(c, &k->name);
    code_ranged(c, &k->ngrid, 0, MAX_GRID, "rank of the grid");
    code_ranged(c, &k->nvars, k->ngrid, MAX_VARS, "number of loop variables");
    for (int i = 0; i < k->ngrid; i++)
        code_dim(s, c, &k->grid[i]);
    code_count(c, &k->ntiles, 5);
    if (!c->writing)
        k->tiles = ARENA_ARRAY(&s->p->arena, struct tile, k->ntiles), k->tiles_cap = k->ntiles;
    for (int i = 0; i < k->ntiles && !c->failed; i++) {
        struct tile *t = &k->tiles[i];
        int mem = t->mem, dtype = t->dtype;
        code_ranged(c, &mem, MEM_SBUF, MEM_PSUM, "memory of a tile");
        code_ranged(c, &dtype, 1, DT_END - 1, "element type");
        if (!dtype_valid(dtype))
            codec_fail(c, "unknown element type");
        t->mem = (uint8_t)mem, t->dtype = (uint8_t)dtype;
        code_dim(s, c, &t->partitions);
        code_dim(s, c, &t->elements);
        code_i64(c, &t->address);
    }
    code_ranged(c, &k->nsemaphores, 0, INT16_MAX, "number of semaphores");
    code_dim(s, c, &k->flops);
    code_dim(s, c, &k->bytes);
    code_ninsns(s, c, k);
}

static bool structural(const struct insn *n)
{
    return n->op == INSN_loop || n->op == INSN_end;
}

static void write_stream(struct streams *s, struct kernel *k, int engine)
{
    struct codec *c = &s->c[engine];
    int count = 0;
    for (int i = 0; i < k->ninsns; i++)
        count += k->insns[i].engine == engine || structural(&k->insns[i]);
    code_int(c, &count);
    for (int i = 0, last = 0; i < k->ninsns; i++) {
        struct insn *n = &k->insns[i];
        if (n->engine != engine && !structural(n))
            continue;
        int skip = i - last; /* position in the merged order, as a difference */
        code_int(c, &skip);
        last = i;
        code_u8(c, &n->op);
        code_insn(s, c, n, k);
    }
}

static bool same_loop(const struct insn *a, const struct insn *b)
{
    bool same = a->op == b->op;
    for (int i = 0; same && i < insn_info(a->op)->nimms; i++)
        same = affine_equal(&a->imm[i], &b->imm[i]);
    return same;
}

/* Puts one engine's instructions at their places in the kernel; loops arrive once per engine and
 * must agree. */
static void read_stream(struct streams *s, struct kernel *k, bool *filled, int engine)
{
    struct codec *c = &s->c[engine];
    int count = 0;
    code_count(c, &count, 3);
    for (int i = 0, at = 0; i < count && !c->failed; i++) {
        int skip = 0;
        struct insn n = {.engine = (uint8_t)engine, .node = -1, .signal = {-1, -1}};
        code_ranged(c, &skip, i > 0, INT32_MAX - k->ninsns, "position");
        at += skip;
        code_u8(c, &n.op);
        if (c->failed || n.op >= INSN_COUNT || at >= k->ninsns) {
            codec_fail(c, at >= k->ninsns ? "instruction past the end of its kernel"
                                          : "unknown instruction");
            return;
        }
        n.ap = ARENA_ARRAY(&s->p->arena, struct ap, insn_info(n.op)->naps);
        n.imm = ARENA_ARRAY(&s->p->arena, struct affine, insn_info(n.op)->nimms);
        code_insn(s, c, &n, k);
        if (structural(&n))
            n.engine = ENGINE_SP;
        if (filled[at] && !(structural(&n) && same_loop(&n, &k->insns[at])))
            codec_fail(c, "two instructions at one position");
        k->insns[at] = n;
        filled[at] = true;
    }
}

static void read_kernel(struct streams *s, struct kernel *k)
{
    struct codec *sp = &s->c[ENGINE_SP];
    code_kernel_header(s, k);
    if (sp->failed)
        return;
    size_t left = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        left += s->c[e].size - s->c[e].at;
    if ((size_t)k->ninsns > left) {
        codec_fail(sp, "more instructions than bytes");
        return;
    }
    k->insns = ARENA_ARRAY(&s->p->arena, struct insn, k->ninsns);
    k->insns_cap = k->ninsns;
    bool *filled = ARENA_ARRAY(&s->p->arena, bool, k->ninsns);
    for (int e = 0; e < ENGINE_COUNT; e++)
        read_stream(s, k, filled, e);
    for (int i = 0; i < k->ninsns; i++)
        if (!filled[i] && !sp->failed)
            codec_fail(sp, "an instruction is missing from its engine's stream");
}

/* ---- calls and regions ---- */

static int32_t *code_indices(struct codec *c, int32_t *list, int *n, int low, int high,
                             const char *name)
{
    code_count(c, n, 1);
    if (!c->writing)
        list = ARENA_ARRAY(c->arena, int32_t, *n);
    for (int i = 0; i < *n && !c->failed; i++)
        code_ranged(c, &list[i], low, high, name);
    return list;
}

static void code_call(struct streams *s, struct call *k)
{
    struct codec *c = &s->c[ENGINE_POOL];
    uint16_t op = (uint16_t)k->op;
    code_op(s, c, &op);
    k->op = op;
    code_attrs(c, &k->attrs);
    k->in = code_indices(c, k->in, &k->nin, -1, s->p->nslots - 1, "operand");
    k->out = code_indices(c, k->out, &k->nout, -1, s->p->nslots - 1, "result");
    k->regions = code_indices(c, k->regions, &k->nregions, 1, s->p->nregions - 1, "region");
    code_ranged(c, &k->node, -1, s->p->nnodes - 1, "source node");
}

enum { LAUNCH_AT_RATE = STEP_CALL + 1 }; /* in streams: a launch with rates behind it */

static void code_rates(struct codec *c, struct step *step)
{
    int from = step->bf16_from, below = step->bf16_below;
    code_ranged(c, &from, 0, MAX_BF16_RATE, "rate of bf16");
    code_ranged(c, &below, 0, MAX_BF16_RATE, "rate of bf16");
    step->bf16_from = (int16_t)from, step->bf16_below = (int16_t)below;
}

static void code_region(struct streams *s, struct program_region *r)
{
    struct codec *c = &s->c[ENGINE_SP];
    r->params = code_indices(c, r->params, &r->nparams, 0, s->p->nslots - 1, "parameter");
    r->results = code_indices(c, r->results, &r->nresults, -1, s->p->nslots - 1, "result");
    code_count(c, &r->nsteps, 2);
    if (!c->writing)
        r->steps = ARENA_ARRAY(c->arena, struct step, r->nsteps), r->steps_cap = r->nsteps;
    for (int i = 0; i < r->nsteps && !c->failed; i++) {
        struct step *step = &r->steps[i];
        int kind = step->kind == STEP_LAUNCH && (step->bf16_from || step->bf16_below) ? LAUNCH_AT_RATE : step->kind;
        code_ranged(c, &kind, STEP_LAUNCH, LAUNCH_AT_RATE, "kind of step");
        step->kind = kind == STEP_CALL ? STEP_CALL : STEP_LAUNCH;
        code_ranged(c, &step->index, 0, (kind == STEP_CALL ? s->p->ncalls : s->p->nkernels) - 1, "step");
        if (kind == LAUNCH_AT_RATE)
            code_rates(c, step);
    }
}

/* ---- the whole ---- */

static void collect_ops(struct streams *s)
{
    const struct program *p = s->p;
    bool used[OP_COUNT] = {false};
    for (int i = 0; i < p->ncalls; i++)
        used[p->calls[i].op] = true;
    for (int i = 0; i < p->nkernels; i++)
        for (int j = 0; j < p->kernels[i].ninsns; j++) {
            const struct insn *n = &p->kernels[i].insns[j];
            for (int f = 0; f < insn_info(n->op)->nfuncs; f++)
                used[n->func[f]] = true;
        }
    s->ops.names = ARENA_ARRAY(s->c[0].arena, const char *, OP_COUNT);
    for (int op = 0; op < OP_COUNT; op++) {
        s->ops.index[op] = used[op] ? s->ops.count : -1;
        if (used[op])
            s->ops.names[s->ops.count++] = op_name((enum op)op);
    }
}

static void code_op_names(struct streams *s)
{
    struct codec *c = &s->c[ENGINE_SP];
    code_count(c, &s->ops.count, 1);
    if (!c->writing) {
        s->ops.names = ARENA_ARRAY(c->arena, const char *, s->ops.count);
        s->ops.ops = ARENA_ARRAY(c->arena, uint16_t, s->ops.count);
    }
    for (int i = 0; i < s->ops.count && !c->failed; i++) {
        code_text(c, &s->ops.names[i]);
        if (c->writing || c->failed)
            continue;
        enum op op = s->ops.names[i] ? op_from_name(s->ops.names[i]) : OP_COUNT;
        if (op == OP_COUNT) {
            fail(c->d,
                 "%s: operator '%s' is not known to this version, expected one of its own "
                 "operators; recompile the model",
                 c->what, s->ops.names[i] ? s->ops.names[i] : "");
            c->failed = true;
            return;
        }
        s->ops.ops[i] = (uint16_t)op;
    }
}

static void code_versions(struct streams *s)
{
    for (int e = 0; e < ENGINE_COUNT; e++) {
        int version = STREAM_VERSION;
        code_ranged(&s->c[e], &version, STREAM_VERSION, STREAM_VERSION, "stream version");
    }
}

static void code_program(struct streams *s)
{
    struct program *p = s->p;
    struct codec *sp = &s->c[ENGINE_SP];
    code_versions(s);
    code_op_names(s);
    code_count(sp, &p->nkernels, 4);
    code_count(&s->c[ENGINE_POOL], &p->ncalls, 5);
    code_count(sp, &p->nregions, 3);
    if (!sp->writing) {
        p->kernels = ARENA_ARRAY(&p->arena, struct kernel, p->nkernels),
        p->kernels_cap = p->nkernels;
        p->calls = ARENA_ARRAY(&p->arena, struct call, p->ncalls), p->calls_cap = p->ncalls;
        p->regions = ARENA_ARRAY(&p->arena, struct program_region, p->nregions);
        p->regions_cap = p->nregions;
    }
    for (int i = 0; i < p->nkernels && !sp->failed; i++) {
        if (!sp->writing) {
            read_kernel(s, &p->kernels[i]);
            continue;
        }
        code_kernel_header(s, &p->kernels[i]);
        for (int e = 0; e < ENGINE_COUNT; e++)
            write_stream(s, &p->kernels[i], e);
    }
    for (int i = 0; i < p->ncalls && !s->c[ENGINE_POOL].failed; i++)
        code_call(s, &p->calls[i]);
    for (int i = 0; i < p->nregions && !sp->failed; i++)
        code_region(s, &p->regions[i]);
}

static const char *const stream_names[ENGINE_COUNT] = {
    "sg00/pe.bin", "sg00/act.bin", "sg00/pool.bin", "sg00/dve.bin", "sg00/sp.bin"};

bool streams_encode(const struct program *p, struct arena *a, struct bytes out[ENGINE_COUNT],
                    struct diag *d)
{
    struct streams s = {.p = (struct program *)p}; /* writing only reads it */
    for (int e = 0; e < ENGINE_COUNT; e++)
        s.c[e] = codec_writer(stream_names[e], a, d);
    collect_ops(&s);
    code_program(&s);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        if (s.c[e].failed)
            return false;
        out[e] = (struct bytes){s.c[e].out, s.c[e].at};
    }
    return true;
}

bool streams_decode(struct program *p, const struct bytes in[ENGINE_COUNT], struct diag *d)
{
    struct streams s = {.p = p};
    for (int e = 0; e < ENGINE_COUNT; e++)
        s.c[e] = codec_reader(stream_names[e], in[e].data, in[e].size, &p->arena, d);
    code_program(&s);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        if (!s.c[e].failed && s.c[e].at != s.c[e].size)
            codec_fail(&s.c[e], "bytes after the end");
        if (s.c[e].failed)
            return false;
    }
    return true;
}
