/*
 * A kernel in plain integers: every dim expression evaluated, every access pattern proved to stay
 * inside its tensor, operands of one instruction brought to one shape with as few dims as possible.
 */
#include "runtime/exec/bind_kernel.h"
#include "runtime/exec/stream.h"

#include "neff/base/use.h"

#include <string.h>

static bool value_of(const struct binder *b, dim_t dim, int64_t *out)
{
    *out = dim_value(b->values, dim);
    if (*out == DIM_NOT_BOUND)
        return fail(b->d, "a dimension is not known when the kernel starts");
    if (*out > LIMIT || *out < -LIMIT)
        return fail(b->d, "a dimension or step of %lld is too large", (long long)*out);
    return true;
}

/* ---- affine numbers ---- */

static bool bind_affine(struct binder *b, const struct affine *a, int64_t unit, int64_t *base,
                        uint16_t *nterms, const struct term **terms)
{
    struct term found[MAX_VARS];
    int n = 0;
    if (!value_of(b, a->base, base))
        return false;
    *base *= unit;
    for (int i = 0; i < a->nterms; i++) {
        int64_t coef;
        int var = a->terms[i].var;
        if (!value_of(b, a->terms[i].coef, &coef))
            return false;
        if (coef && b->var_count[var] > 1)
            found[n++] = (struct term){var, coef * unit};
    }
    *nterms = (uint16_t)n;
    *terms = n ? arena_copy(b->a, found, sizeof *found * (size_t)n) : NULL;
    return number_within_reach(b, *base, n, found) ||
           fail(b->d, "an offset or immediate of %lld and more is too large", (long long)*base);
}

static int64_t largest(const struct binder *b, const struct number *n)
{
    __int128 v = n->base;
    for (int i = 0; i < n->nterms; i++)
        if (n->terms[i].coef > 0)
            v += (__int128)n->terms[i].coef * (b->var_count[n->terms[i].var] - 1);
    return v > LIMIT ? LIMIT : v < -LIMIT ? -LIMIT : (int64_t)v;
}

/* ---- access patterns ---- */

/* The count in force never falls below the full count: no clip. */
static bool cuts(const struct binder *b, const struct clip *c, int64_t count)
{
    int64_t last = b->var_count[c->var] - 1;
    int64_t max = c->factor > 0 ? c->factor : 0;
    return (__int128)c->limit - (__int128)max * last < count;
}

static bool bind_ap(struct binder *b, const struct ap *ap, struct pattern *p)
{
    struct operand *o = &p->o;
    *o = (struct operand){.mem = ap->mem,
                          .dtype = ap->dtype,
                          .rank = ap->rank,
                          .slot = -1,
                          .step = p->step,
                          .count = p->count};
    p->nclips = 0;
    if (ap->mem == MEM_NONE)
        return true;
    o->size = (uint8_t)dtype_bytes(ap->dtype);
    if (ap->mem == MEM_HBM)
        o->slot = ap->tensor;
    if (!bind_affine(b, &ap->offset, o->size, &o->offset, &o->nterms, &o->terms))
        return false;
    for (int i = 0; i < ap->rank; i++) {
        const struct ap_dim *d = &ap->dim[i];
        if (!value_of(b, d->step, &o->step[i]) || !value_of(b, d->count, &o->count[i]))
            return false;
        if (o->count[i] < 0)
            return fail(b->d, "a pattern counts %lld elements", (long long)o->count[i]);
        if (!d->clip)
            continue;
        int var = d->clip->var;
        struct clip c = {.dim = (uint8_t)i, .var = (uint8_t)var};
        if (var >= b->k->nvars || !b->var_count[var])
            return fail(b->d, "a pattern is clipped by variable %d, which is not open there", var);
        if (!value_of(b, d->clip->factor, &c.factor) || !value_of(b, d->clip->limit, &c.limit))
            return false;
        if (cuts(b, &c, o->count[i]))
            p->clip[p->nclips++] = c;
    }
    return true;
}

/* ---- one shape for all operands ---- */

/* Operands of lower rank lack outer dims. */
void align_pattern(struct pattern *p, int rank)
{
    int missing = rank - p->o.rank;
    if (p->o.mem == MEM_NONE || missing <= 0)
        return;
    for (int i = rank - 1; i >= 0; i--) {
        p->o.step[i] = i >= missing ? p->o.step[i - missing] : 0;
        p->o.count[i] = i >= missing ? p->o.count[i - missing] : 1;
    }
    for (int i = 0; i < p->nclips; i++)
        p->clip[i].dim = (uint8_t)(p->clip[i].dim + missing);
    p->o.rank = (uint8_t)rank;
}

enum { MAX_JOINT = 32 };
struct joint {
    int rank, nclips, n;
    int64_t count[MAX_AP_RANK];
    struct clip clip[MAX_APS * MAX_AP_RANK];
    struct operand *o[MAX_JOINT];
};

static bool same_clip(const struct clip *a, const struct clip *b)
{
    return a->dim == b->dim && a->var == b->var && a->factor == b->factor && a->limit == b->limit;
}

static bool is_clipped(const struct joint *j, int dim)
{
    for (int i = 0; i < j->nclips; i++)
        if (j->clip[i].dim == dim)
            return true;
    return false;
}

static void remove_dim(struct joint *j, int at)
{
    j->rank--;
    for (int i = at; i < j->rank; i++) {
        j->count[i] = j->count[i + 1];
        for (int o = 0; o < j->n; o++)
            j->o[o]->step[i] = j->o[o]->step[i + 1];
    }
    for (int i = 0; i < j->nclips; i++)
        if (j->clip[i].dim > at)
            j->clip[i].dim--;
}

/* Dims at and at + 1 are one dim for every operand, whose numbers stay within reach. */
static bool mergeable(const struct binder *b, const struct joint *j, int at)
{
    int64_t inner = j->count[at + 1], product;
    if (is_clipped(j, at + 1) || __builtin_mul_overflow(j->count[at], inner, &product) ||
        product > LIMIT)
        return false;
    for (int o = 0; o < j->n; o++)
        if (__builtin_mul_overflow(j->o[o]->step[at + 1], inner, &product) ||
            j->o[o]->step[at] != product)
            return false;
    for (int c = 0; c < j->nclips; c++)
        if (j->clip[c].dim == at && inner > 0 && !clip_within_reach(b, &j->clip[c], inner))
            return false;
    return true;
}

static void merge_pair(struct joint *j, int at)
{
    int64_t inner = j->count[at + 1];
    for (int o = 0; o < j->n; o++)
        j->o[o]->step[at] = j->o[o]->step[at + 1];
    j->count[at] *= inner;
    for (int c = 0; c < j->nclips; c++)
        if (j->clip[c].dim == at)
            j->clip[c].factor *= inner, j->clip[c].limit *= inner;
    remove_dim(j, at + 1);
}

/* Drops dims of one element and merges neighbours; the last *inner dims stay apart from the others,
   and as they are unless `merge_inner`. */
static void merge_dims(const struct binder *b, struct joint *j, int *inner, bool merge_inner)
{
    for (int i = j->rank - 1; i >= 0; i--) {
        bool in = i >= j->rank - *inner;
        if (j->count[i] != 1 || is_clipped(j, i) || j->rank == 1 ||
            (in && (!merge_inner || *inner == 1)))
            continue;
        remove_dim(j, i);
        *inner -= in;
    }
    for (int i = j->rank - 2; i >= 0; i--) {
        int border = j->rank - *inner; /* first inner dim */
        bool in = i >= border;
        if (i + 1 == border || (in && !merge_inner) || !mergeable(b, j, i))
            continue;
        merge_pair(j, i);
        *inner -= in;
    }
}

static bool is_reduced(const struct insn_info *info, int operand)
{
    return info->ap[operand].reach == REACH_REDUCED || info->ap[operand].reach == REACH_PER_ROW;
}

/* Every place of a result is written once; results of rows have no place of their own for the row's
 * elements. */
static bool check_written(struct binder *b, const struct bound_insn *i, const struct pattern *p,
                          const struct joint *j, int inner)
{
    const struct insn_info *info = insn_info(i->op);
    for (int r = 0; r < j->rank; r++)
        if (j->count[r] == 0) /* nothing is written; dense steps of empty tensors are 0 */
            return true;
    for (int n = 0; n < i->nops; n++) {
        bool reduced = is_reduced(info, n);
        if (info->ap[n].reach == REACH_INDIRECT) /* places depend on indices */
            continue;
        for (int r = 0; r < j->rank && info->ap[n].access != 'r' && p[n].o.mem != MEM_NONE; r++)
            if (p[n].o.step[r] == 0 && j->count[r] > 1 && !(reduced && r >= j->rank - inner))
                return fail(b->d, "%s: operand '%s' has no place for each element", info->name,
                            info->ap[n].name);
    }
    return true;
}

static bool join(struct binder *b, struct bound_insn *i, struct pattern *p, int inner,
                 bool merge_inner)
{
    struct joint j = {0};
    for (int n = 0; n < i->nops; n++)
        if (p[n].o.mem != MEM_NONE && p[n].o.rank > j.rank)
            j.rank = p[n].o.rank;
    if (j.rank < inner)
        j.rank = inner;
    for (int r = 0; r < j.rank; r++)
        j.count[r] = 1;
    for (int n = 0; n < i->nops; n++) {
        if (p[n].o.mem == MEM_NONE)
            continue;
        align_pattern(&p[n], j.rank);
        j.o[j.n++] = &p[n].o;
        for (int r = 0; r < j.rank; r++)
            if (p[n].o.count[r] != 1)
                j.count[r] = p[n].o.count[r];
    }
    for (int n = 0; n < i->nops; n++) {
        if (p[n].o.mem == MEM_NONE)
            continue;
        for (int r = 0; r < j.rank; r++) {
            if (p[n].o.count[r] == 1 && j.count[r] != 1)
                p[n].o.step[r] = 0;
            else if (p[n].o.count[r] != j.count[r])
                return fail(b->d, "%s: operands count %lld and %lld elements in a dim",
                            insn_info(i->op)->name, (long long)p[n].o.count[r],
                            (long long)j.count[r]);
        }
        for (int c = 0; c < p[n].nclips; c++) {
            bool known = false;
            for (int k = 0; k < j.nclips; k++)
                known |= same_clip(&j.clip[k], &p[n].clip[c]);
            if (!known)
                j.clip[j.nclips++] = p[n].clip[c];
        }
    }
    if (!check_written(b, i, p, &j, inner))
        return false;
    merge_dims(b, &j, &inner, merge_inner);
    i->inner = inner;
    i->shape.rank = j.rank;
    i->shape.nclips = j.nclips;
    memcpy(i->shape.count, j.count, sizeof j.count);
    i->shape.clips = j.nclips ? arena_copy(b->a, j.clip, sizeof *j.clip * (size_t)j.nclips) : NULL;
    return true;
}

/* ---- several instructions ---- */

bool insn_shape(struct binder *b, const struct insn *insn, struct joint_shape *out)
{
    struct pattern p, dst;
    *out = (struct joint_shape){0};
    if (!bind_operand(b, insn, 0, &dst))
        return false;
    for (int n = 1; n < insn_info(insn->op)->naps; n++) {
        if (!bind_operand(b, insn, n, &p) || (p.o.mem != MEM_NONE && p.o.rank > dst.o.rank))
            return false;
        if (p.o.mem == MEM_NONE)
            continue;
        align_pattern(&p, dst.o.rank);
        for (int d = 0; d < dst.o.rank; d++)
            if (p.count[d] != dst.count[d] && (p.count[d] != 1 || dst.count[d] == 0))
                return false;
        for (int c = 0; c < p.nclips; c++) { /* those of broadcast dims cut nothing */
            bool known = false;
            for (int k = 0; k < dst.nclips; k++)
                known |= same_clip(&dst.clip[k], &p.clip[c]);
            if (!known)
                return false;
        }
    }
    out->rank = dst.o.rank;
    out->nclips = dst.nclips;
    memcpy(out->count, dst.count, sizeof *dst.count * dst.o.rank);
    memcpy(out->clip, dst.clip, sizeof *dst.clip * (size_t)dst.nclips);
    return out->rank > 0;
}

bool same_shape(const struct joint_shape *x, const struct joint_shape *y)
{
    bool same = x->rank == y->rank && x->nclips == y->nclips;
    for (int d = 0; same && d < x->rank; d++)
        same = x->count[d] == y->count[d];
    for (int c = 0; same && c < x->nclips; c++)
        same = same_clip(&x->clip[c], &y->clip[c]);
    return same;
}

void merge_shape(struct binder *b, const struct joint_shape *s, struct operand *const *o, int n, struct shape *out)
{
    struct joint j = {.rank = s->rank, .nclips = s->nclips, .n = n};
    int inner = 0;
    memcpy(j.count, s->count, sizeof j.count);
    memcpy(j.clip, s->clip, sizeof *s->clip * (size_t)s->nclips);
    for (int k = 0; k < n; k++) {
        j.o[k] = o[k];
        for (int d = 0; d < s->rank; d++)
            if (o[k]->count[d] == 1 && s->count[d] != 1)
                o[k]->step[d] = 0;
    }
    merge_dims(b, &j, &inner, false);
    *out = (struct shape){.rank = j.rank, .nclips = j.nclips};
    memcpy(out->count, j.count, sizeof j.count);
    out->clips = j.nclips ? arena_copy(b->a, j.clip, sizeof *j.clip * (size_t)j.nclips) : NULL;
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

/* Whether the operand is read in whole blocks, past its pattern. */
static bool is_packed(const struct binder *b, const struct insn *insn, int operand)
{
    const struct insn_info *info = insn_info(insn->op);
    int packing = insn_role(info, ROLE_PACKING);
    return info->ap[operand].reach == REACH_PACKED &&
           (packing < 0 || dim_value(b->values, insn->imm[packing].base));
}

/* Wherever the index leads, the pattern stays inside. */
static bool check_indirect(struct binder *b, const struct insn *insn, int operand)
{
    struct ap touched = insn_touched(insn, operand);
    struct pattern p;
    return bind_ap(b, &touched, &p) &&
           check_bounds(b, &p, &touched, insn_info(insn->op)->ap[operand].name);
}

bool bind_operand(struct binder *b, const struct insn *insn, int n, struct pattern *p)
{
    const struct insn_info *info = insn_info(insn->op);
    const struct ap *ap = &insn->ap[n];
    const char *what = info->ap[n].name;
    if (!bind_ap(b, ap, p))
        return false;
    if (ap->mem == MEM_NONE)
        return true;
    int stored =
        ap->mem == MEM_HBM ? b->m->p->slots[ap->tensor].type.dtype : b->k->tiles[ap->tensor].dtype;
    /* Tiles start as wide types must; of tensors only smaller parts may be seen. */
    if (ap->mem == MEM_HBM ? dtype_bytes(stored) < p->o.size : dtype_bytes(stored) == 0)
        return fail(b->d, "operand '%s' takes elements of %s for %s", what, dtype_name(stored),
                    dtype_name(ap->dtype));
    if (!(is_packed(b, insn, n) ? check_packed(b, p, ap, what) : check_bounds(b, p, ap, what)))
        return false;
    if (info->ap[n].reach == REACH_INDIRECT && !check_indirect(b, insn, n))
        return false;
    if (ap->mem != MEM_HBM)
        p->o.offset += b->tile_at[ap->tensor];
    return true;
}

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
    if (!join(b, i, p, 2, false))
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
            !join(b, i, p, inner, insn_role(info, ROLE_AXES) >= 0))
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
                              .bound_next = following};
    if ((insn->op == INSN_nc_matmul && !bind_next(b, insn, &binding)) ||
        (e->prepare && !e->prepare(&binding, i, insn)))
        return false;
    flatten(&binding, i);
    return true;
}

static bool place_tiles(struct binder *b, struct arena *scratch)
{
    const struct kernel *k = b->k;
    b->tile_at = ARENA_ARRAY(scratch, int64_t, k->ntiles);
    b->tile_size = ARENA_ARRAY(scratch, int64_t, k->ntiles);
    for (int t = 0; t < k->ntiles; t++) {
        int64_t partitions, elements, bytes;
        if (!value_of(b, k->tiles[t].partitions, &partitions) ||
            !value_of(b, k->tiles[t].elements, &elements))
            return false;
        if (partitions < 0 || elements < 0 ||
            __builtin_mul_overflow(partitions, elements, &bytes) ||
            bytes > MAX_TILE_BYTES / (int64_t)dtype_bytes(k->tiles[t].dtype))
            return fail(b->d, "tile %d of %lld x %lld elements is too large", t,
                        (long long)partitions, (long long)elements);
        b->tile_size[t] = bytes * (int64_t)dtype_bytes(k->tiles[t].dtype);
        b->tile_at[t] = b->out->tile_bytes;
        b->out->tile_bytes += (b->tile_size[t] + 63) / 64 * 64;
        if (b->out->tile_bytes > MAX_TILE_BYTES)
            return fail(b->d, "tiles of more than %d bytes", MAX_TILE_BYTES);
    }
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

static void close_alike(struct binder *b, int n)
{
    if (b->alike < n)
        stream_insns(b, b->alike, n);
    b->alike = n + 1;
}

/* Instruction n is bound. */
static void note_alike(struct binder *b, int n)
{
    const struct bound_insn *i = &b->out->insns[n];
    bool together = USED(STREAMS) && !b->m->one_by_one && !b->m->engine_threads;
    if (n < b->alike) /* of the product before it */
        return;
    if (!together || !streams(i))
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
        ok = value_of(&b, k->grid[g], &b.out->grid[g]);
        if (ok && (b.out->grid[g] < 0 ||
                   __builtin_mul_overflow(b.out->instances, b.out->grid[g], &b.out->instances) ||
                   b.out->instances > LIMIT))
            ok = fail(d, "grid dimension %d is %lld", g, (long long)b.out->grid[g]);
        b.var_count[g] = b.out->grid[g];
    }
    ok = ok && place_tiles(&b, &scratch) && bind_insns(&b);
    arena_free(&scratch);
    if (!ok) {
        fail_in(d, "kernel '%s'", k->name ? k->name : "");
        return NULL;
    }
    b.out->steps = steps_of(&b);
    int64_t flops = dim_value(values, k->flops), bytes = dim_value(values, k->bytes);
    b.out->flops = flops > 0 && flops != DIM_NOT_BOUND ? flops : 0;
    b.out->bytes = bytes > 0 && bytes != DIM_NOT_BOUND ? bytes : 0;
    b.out->work_bytes = b.out->flops || b.out->bytes ? b.out->bytes : estimate(&b);
    return b.out;
}
