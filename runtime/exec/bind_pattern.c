/*
 * Access patterns in plain integers, proved to stay inside their tensors; operands of one instruction, or of several,
 * brought to one shape with as few dims as possible.
 */
#include "runtime/exec/bind_kernel.h"

#include <string.h>

bool bind_value(const struct binder *b, dim_t dim, int64_t *out)
{
    *out = dim_value(b->values, dim);
    if (*out == DIM_NOT_BOUND)
        return fail(b->d, "a dimension is not known when the kernel starts");
    if (*out > LIMIT || *out < -LIMIT)
        return fail(b->d, "a dimension or step of %lld is too large", (long long)*out);
    return true;
}

/* ---- affine numbers ---- */

bool bind_affine(struct binder *b, const struct affine *a, int64_t unit, int64_t *base, uint16_t *nterms,
                 const struct term **terms)
{
    struct term found[MAX_VARS];
    int n = 0;
    if (!bind_value(b, a->base, base))
        return false;
    *base *= unit;
    for (int i = 0; i < a->nterms; i++) {
        int64_t coef;
        int var = a->terms[i].var;
        if (!bind_value(b, a->terms[i].coef, &coef))
            return false;
        if (coef && b->var_count[var] > 1)
            found[n++] = (struct term){var, coef * unit};
    }
    *nterms = (uint16_t)n;
    *terms = n ? arena_copy(b->a, found, sizeof *found * (size_t)n) : NULL;
    return number_within_reach(b, *base, n, found) ||
           fail(b->d, "an offset or immediate of %lld and more is too large", (long long)*base);
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
        if (!bind_value(b, d->step, &o->step[i]) || !bind_value(b, d->count, &o->count[i]))
            return false;
        if (o->count[i] < 0)
            return fail(b->d, "a pattern counts %lld elements", (long long)o->count[i]);
        if (!d->clip)
            continue;
        int var = d->clip->var;
        struct clip c = {.dim = (uint8_t)i, .var = (uint8_t)var};
        if (var >= b->k->nvars || !b->var_count[var])
            return fail(b->d, "a pattern is clipped by variable %d, which is not open there", var);
        if (!bind_value(b, d->clip->factor, &c.factor) || !bind_value(b, d->clip->limit, &c.limit))
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

static bool has_clip(const struct clip *list, int n, const struct clip *c)
{
    for (int i = 0; i < n; i++)
        if (same_clip(&list[i], c))
            return true;
    return false;
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

bool join_patterns(struct binder *b, struct bound_insn *i, struct pattern *p, int inner,
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
        for (int c = 0; c < p[n].nclips; c++)
            if (!has_clip(j.clip, j.nclips, &p[n].clip[c]))
                j.clip[j.nclips++] = p[n].clip[c];
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
        for (int c = 0; c < p.nclips; c++) /* those of broadcast dims cut nothing */
            if (!has_clip(dst.clip, dst.nclips, &p.clip[c]))
                return false;
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

/* ---- operands ---- */

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
