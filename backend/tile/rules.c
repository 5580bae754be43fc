#include "backend/tile/rules.h"

#include "backend/tile/limits.h"

#include <stdarg.h>
#include <stdio.h>

/* An instruction and where its operands lie. */
struct subject {
    const struct tile_context *c;
    const struct insn *n;
    const struct insn_info *info;
    struct diag *d;
};

static bool is_on_chip(const struct ap *a)
{
    return a->mem == MEM_SBUF || a->mem == MEM_PSUM;
}

static const struct tile *tile_of(const struct subject *s, const struct ap *a)
{
    return &s->c->k->tiles[a->tensor];
}

/* "operand 'dst' WHAT" */
__attribute__((format(printf, 3, 4))) static bool bad(const struct subject *s, int operand, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return fail(s->d, "operand '%s' %s", s->info->ap[operand].name, what);
}

/* ---- tiles ---- */

bool tile_check_size(const struct machine *m, const struct tile *t, struct diag *d)
{
    bool known = dim_is_const(t->partitions) && dim_is_const(t->elements);
    if (!known)
        return !m->strict || fail(d,
                                  "size depends on a symbolic dimension, expected constants on %s: give shapes "
                                  "with --shape",
                                  m->name);
    if (t->partitions < 1 || t->partitions > m->partitions)
        return fail(d, "%lld partitions, %s has %d", (long long)t->partitions, m->name,
                    m->partitions);
    int64_t limit = !m->strict ? INT32_MAX : t->mem == MEM_PSUM ? m->psum : m->sbuf;
    if (t->elements < 1 || t->elements > limit || tile_partition_bytes(t) > limit)
        return fail(d,
                    "%lld bytes in each partition (%lld elements of %zu), %s has room for %lld bytes (%lld elements): "
                    "split it, and loop over its parts",
                    (long long)tile_partition_bytes(t), (long long)t->elements, dtype_bytes(t->dtype), m->name,
                    (long long)limit, (long long)(limit / (int64_t)dtype_bytes(t->dtype)));
    return true;
}

/* ---- memories ---- */

static bool check_tensor(const struct subject *s, int operand)
{
    const struct ap *a = &s->n->ap[operand];
    int limit = a->mem == MEM_HBM ? s->c->p->nslots : s->c->k->ntiles;
    if (a->rank < 1 || a->rank > MAX_AP_RANK || !dtype_valid(a->dtype))
        return bad(s, operand, "has no dimensions, or no element type");
    if (a->tensor < 0 || a->tensor >= limit)
        return bad(s, operand, "is on %s %d of %d", a->mem == MEM_HBM ? "tensor" : "tile", a->tensor, limit);
    if (is_on_chip(a) && tile_of(s, a)->mem != a->mem)
        return bad(s, operand, "is in another memory than its tile");
    return true;
}

static bool check_memory(const struct subject *s, int operand)
{
    const struct ap *a = &s->n->ap[operand];
    bool dma = s->info->cost.kind == COST_DMA;
    if (!s->c->m->strict)
        return true;
    if (a->mem == MEM_HBM && !dma)
        return bad(s, operand, "is in hbm, which engines of %s do not reach: move it by dma_copy", s->c->m->name);
    if (a->mem == MEM_PSUM && dma)
        return bad(s, operand, "is in psum, which DMA does not reach: copy it to sbuf by tensor_copy");
    return true;
}

/* One dim at most runs over partitions, with step 1. */
static bool check_partitions(const struct subject *s, int operand)
{
    const struct ap *a = &s->n->ap[operand];
    int over = 0;
    if (!is_on_chip(a) || !s->c->m->strict)
        return true;
    const struct tile *t = tile_of(s, a);
    int64_t stored = (int64_t)dtype_bytes(t->dtype), seen = (int64_t)dtype_bytes(a->dtype), apart;
    if (__builtin_mul_overflow(t->elements, stored, &apart) || apart % seen)
        return bad(s, operand, "sees partitions of %lld bytes as elements of %s", (long long)apart,
                   dtype_name(a->dtype));
    apart /= seen; /* partitions, in elements of the pattern */
    for (int i = 0; i < a->rank; i++) {
        if (!dim_is_const(a->dim[i].step) || !dim_is_const(a->dim[i].count))
            return bad(s, operand, "has a symbolic step or count on a tile");
        if (a->dim[i].count <= 1 || a->dim[i].step < apart)
            continue;
        if (a->dim[i].step != apart && apart > 1)
            return bad(s, operand, "skips partitions");
        over++;
    }
    return over <= 1 || bad(s, operand, "runs over partitions in two dimensions");
}

/* ---- bounds ---- */

/* "'x', f32[128,512]" or "its tile of 128 x 512 f32"; its elements, -1 when they are not known. */
static int64_t describe(const struct subject *s, const struct ap *a, char *buf, size_t size)
{
    int64_t n = 1;
    if (is_on_chip(a)) {
        const struct tile *t = tile_of(s, a);
        snprintf(buf, size, "its tile of %lld x %lld %s", (long long)t->partitions,
                 (long long)t->elements, dtype_name(t->dtype));
        return dim_is_const(t->partitions) && dim_is_const(t->elements) ? t->partitions * t->elements : -1;
    }
    const struct slot *slot = &s->c->p->slots[a->tensor];
    struct arena scratch = {0};
    snprintf(buf, size, "'%s', %s", slot->name ? slot->name : "",
             type_text(&s->c->p->dims, &scratch, &slot->type));
    arena_free(&scratch);
    for (int i = 0; i < slot->type.rank; i++) {
        if (!dim_is_const(slot->type.dims[i]))
            return -1;
        n *= slot->type.dims[i];
    }
    return n;
}

/* First and last element touched. False: nothing is, or it is not known, or edges are cut. */
static bool reach(const struct subject *s, const struct ap *a, __int128 *low, __int128 *high)
{
    if (!dim_is_const(a->offset.base) || (a->offset.nterms && !s->c->trips))
        return false;
    *low = *high = a->offset.base;
    for (int i = 0; i < a->offset.nterms; i++) {
        const struct affine_term *t = &a->offset.terms[i];
        if (!dim_is_const(t->coef) || s->c->trips[t->var] < 1)
            return false;
        __int128 span = (__int128)t->coef * (s->c->trips[t->var] - 1);
        *(span < 0 ? low : high) += span;
    }
    for (int i = 0; i < a->rank; i++) {
        const struct ap_dim *dim = &a->dim[i];
        if (!dim_is_const(dim->step) || !dim_is_const(dim->count) || dim->count < 1 || dim->clip)
            return false;
        __int128 span = (__int128)dim->step * (dim->count - 1);
        *(span < 0 ? low : high) += span;
    }
    return true;
}

static bool check_bounds(const struct subject *s, int operand)
{
    const struct ap touched = insn_touched(s->n, operand), *a = &touched;
    char what[160];
    __int128 low, high;
    if (!reach(s, a, &low, &high))
        return true;
    int64_t elements = describe(s, a, what, sizeof what);
    int stored = a->mem == MEM_HBM ? s->c->p->slots[a->tensor].type.dtype : tile_of(s, a)->dtype;
    __int128 size = (__int128)elements * (__int128)dtype_bytes(stored) / (__int128)dtype_bytes(a->dtype);
    if (elements < 0 || (low >= 0 && high < size))
        return true;
    return bad(s, operand, "covers elements %lld to %lld of %s, which has %lld", (long long)low, (long long)high,
               what, (long long)size);
}

/* ---- shapes ---- */

/* Counts of an operand as the instruction's shape has them: aligned right; reduced dims are 1. */
struct dim_counts {
    int rank;
    dim_t count[2 * MAX_AP_RANK];
};

static bool is_reduced(const struct subject *s, int operand)
{
    int how = s->info->ap[operand].reach;
    return how == REACH_REDUCED || how == REACH_PER_ROW;
}

static int reduced_dims(const struct subject *s)
{
    int axes = insn_role(s->info, ROLE_AXES);
    return axes < 0 ? 1 : dim_is_const(s->n->imm[axes].base) ? (int)s->n->imm[axes].base : 0;
}

/* The rank of the first operand that is read: reduced ones are made of its rows. */
static int source_rank(const struct subject *s)
{
    for (int a = 0; a < s->info->naps; a++)
        if (s->info->ap[a].access == 'r')
            return s->n->ap[a].rank;
    return 0;
}

static struct dim_counts counts_of(const struct subject *s, int operand)
{
    const struct ap *a = &s->n->ap[operand];
    struct dim_counts c = {.rank = a->rank};
    int last = a->rank - 1, reduced = reduced_dims(s);
    for (int i = 0; i < a->rank; i++)
        c.count[i] = a->dim[i].count;
    if (s->info->ap[operand].reach == REACH_EXCHANGED) {
        dim_t inner = c.count[last];
        c.count[last] = last ? c.count[last - 1] : 1;
        c.count[last ? last - 1 : c.rank++] = inner;
        if (!last)
            c.count[1] = inner, c.count[0] = 1; /* a column of one row */
    }
    if (is_reduced(s, operand) && a->rank == source_rank(s) - reduced)
        for (int i = 0; i < reduced && c.rank < MAX_AP_RANK; i++)
            c.count[c.rank++] = 1;
    return c;
}

/* Of dim i from the right; 1 where it is missing. */
static dim_t from_right(const struct dim_counts *c, int i)
{
    return i < c->rank ? c->count[c->rank - 1 - i] : 1;
}

/* The operand whose count stands for dim i from the right: the first that has not one element there. */
static int leads(const struct subject *s, const struct dim_counts *all, int i)
{
    for (int a = 0; a < s->info->naps; a++)
        if (s->n->ap[a].mem != MEM_NONE && from_right(&all[a], i) != 1)
            return a;
    return -1;
}

static bool check_joint_dim(const struct subject *s, const struct dim_counts *all, int i)
{
    int lead = leads(s, all, i);
    if (lead < 0 || !dim_is_const(from_right(&all[lead], i)))
        return true;
    dim_t want = from_right(&all[lead], i);
    for (int a = 0; a < s->info->naps; a++) {
        dim_t have = from_right(&all[a], i);
        bool reduced = is_reduced(s, a) && i < reduced_dims(s);
        if (s->n->ap[a].mem == MEM_NONE || !dim_is_const(have) || have == want)
            continue;
        if (have != 1)
            return bad(s, a, "has %lld elements where '%s' has %lld (dim %d from the right)", (long long)have,
                       s->info->ap[lead].name, (long long)want, i);
        if (s->info->ap[a].access != 'r' && !reduced)
            return bad(s, a, "has one element for the %lld of '%s' (dim %d from the right)", (long long)want,
                       s->info->ap[lead].name, i);
    }
    return true;
}

static bool check_joint(const struct subject *s)
{
    struct dim_counts all[MAX_APS];
    int rank = 0;
    for (int a = 0; a < s->info->naps; a++) {
        all[a] = s->n->ap[a].mem == MEM_NONE ? (struct dim_counts){0} : counts_of(s, a);
        rank = all[a].rank > rank ? all[a].rank : rank;
    }
    for (int i = 0; i < rank; i++)
        if (!check_joint_dim(s, all, i))
            return false;
    return true;
}

/* ---- products ---- */

static dim_t inner(const struct ap *a, int from_last)
{
    return a->dim[a->rank - 1 - from_last].count;
}

static bool agree(const struct subject *s, int a, dim_t have, int b, dim_t want, const char *what)
{
    if (have == want || !dim_is_const(have) || !dim_is_const(want))
        return true;
    return bad(s, a, "has %lld %s, '%s' has %lld", (long long)have, what, s->info->ap[b].name, (long long)want);
}

/* dst[n,m] = moving[n,k] * stationary[k,m] */
static bool check_product_shapes(const struct subject *s)
{
    enum { Y = AP(nc_matmul, dst), W = AP(nc_matmul, stationary), X = AP(nc_matmul, moving) };
    const struct ap *y = &s->n->ap[Y], *w = &s->n->ap[W], *x = &s->n->ap[X];
    if (y->rank < 2 || x->rank < 2 || w->rank != x->rank)
        return bad(s, y->rank < 2 ? Y : X, "has %d dims, expected dst[n,m], moving[b...,n,k], stationary[b...,k,m]",
                   y->rank < 2 ? y->rank : x->rank);
    return agree(s, W, inner(w, 1), X, inner(x, 0), "rows (k)") &&
           agree(s, X, inner(x, 1), Y, inner(y, 1), "rows (n)") &&
           agree(s, W, inner(w, 0), Y, inner(y, 0), "columns (m)");
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (a) {
        int64_t rest = b % a;
        b = a, a = rest;
    }
    return b < 0 ? -b : b;
}

/* Whatever variables are, what one product writes lies in one bank: its place in a partition, and how variables move
 * it. */
static bool check_bank(const struct subject *s, int operand)
{
    const struct ap *a = &s->n->ap[operand];
    const struct tile *t = tile_of(s, a);
    int64_t bytes = (int64_t)dtype_bytes(t->dtype), bank = s->c->m->psum_bank;
    if (tile_partition_bytes(t) <= bank || !dim_is_const(a->offset.base))
        return true;
    int64_t first = a->offset.base % t->elements, last = first;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i].step < t->elements && a->dim[i].count > 1)
            last += a->dim[i].step * (a->dim[i].count - 1);
    int64_t apart = greatest_divisor(first * bytes, bank); /* of all places where it may begin */
    for (int i = 0; i < a->offset.nterms; i++)
        apart = greatest_divisor(a->offset.terms[i].coef % t->elements * bytes, apart);
    int64_t from = first * bytes, to = (last + 1) * bytes;
    if (to - from <= apart || (!a->offset.nterms && from / bank == (to - 1) / bank))
        return true;
    return bad(
        s, operand,
        "goes over banks of psum: %lld bytes of each partition, from multiples of %lld on; a bank of %s has %lld",
        (long long)(to - from), (long long)apart, s->c->m->name, (long long)bank);
}

static bool check_product_limits(const struct subject *s)
{
    const struct machine *m = s->c->m;
    const struct ap *dst = &s->n->ap[AP(nc_matmul, dst)], *stationary = &s->n->ap[AP(nc_matmul, stationary)],
                    *moving = &s->n->ap[AP(nc_matmul, moving)];
    if (inner(stationary, 1) > m->matmul_k)
        return bad(s, AP(nc_matmul, stationary), "contracts more than the array has rows: %lld, %s has %d",
                   (long long)inner(stationary, 1), m->name, m->matmul_k);
    if (inner(stationary, 0) > m->matmul_m)
        return bad(s, AP(nc_matmul, stationary), "has more columns than the array: %lld, %s has %d",
                   (long long)inner(stationary, 0), m->name, m->matmul_m);
    if (inner(moving, 1) > m->matmul_n)
        return bad(s, AP(nc_matmul, moving), "moves more rows than one instruction may: %lld, %s takes %d",
                   (long long)inner(moving, 1), m->name, m->matmul_n);
    if (dst->mem != MEM_PSUM)
        return bad(s, AP(nc_matmul, dst), "is not in psum, where the Tensor engine writes");
    if (stationary->mem != MEM_SBUF || moving->mem != MEM_SBUF)
        return bad(s, stationary->mem != MEM_SBUF ? AP(nc_matmul, stationary) : AP(nc_matmul, moving),
                   "is not in sbuf, where the Tensor engine reads");
    return check_bank(s, AP(nc_matmul, dst));
}

/* ---- the whole ---- */

static bool check_machine(const struct subject *s)
{
    const struct machine *m = s->c->m;
    if (!(s->info->targets & machine_bit(m)))
        return fail(s->d, "%s does not have this instruction", m->name);
    return s->info->cost.kind == COST_CONTROL || (s->info->engines >> s->n->engine & 1) ||
           fail(s->d, "engine %s does not have this instruction", engine_names[s->n->engine]);
}

bool tile_check(const struct tile_context *c, const struct insn *n, struct diag *d)
{
    struct subject s = {c, n, insn_info(n->op), d};
    if (!check_machine(&s))
        return false;
    for (int a = 0; a < s.info->naps; a++) {
        if (n->ap[a].mem == MEM_NONE && !s.info->ap[a].optional)
            return bad(&s, a, "is missing");
        if (n->ap[a].mem != MEM_NONE && (!check_tensor(&s, a) || !check_memory(&s, a) || !check_partitions(&s, a) ||
                                         !check_bounds(&s, a) || !tile_check_start(c, n, a, d)))
            return false;
    }
    if (!tile_check_rows(c, n, d))
        return false;
    if (s.info->shape != SHAPE_OWN)
        return check_joint(&s);
    return n->op != INSN_nc_matmul || (check_product_shapes(&s) && (!c->m->strict || check_product_limits(&s)));
}
