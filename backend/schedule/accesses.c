#include "backend/schedule/accesses.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Operands with the same pattern. */
struct pattern_class {
    struct ap touched; /* insn_touched */
    int tensor, group, next; /* next: of the group; -1 */
    int twin;                /* of the same place in the table; -1 */
    struct access_list list;
    struct access_list *clique; /* of those that all have elements in common with each other; NULL */
    int *near, nnear, cap;      /* else: classes of the group that have */
};

/* Patterns of a tensor that move alike with the variables. */
struct motion {
    int first, n; /* classes */
    int next;     /* of the tensor; -1 */
    bool sorted;  /* its classes know which others they meet */
    struct access_list all;
};

/* Memory that one tensor has, or several that lie in the same bytes. */
struct shared_place {
    int tensors, *near, nnear, cap; /* near: places that overlap it */
    bool written;
    struct access_list all;
};

struct accesses {
    const struct program *p;
    const struct kernel *k;
    struct arena *a;
    int *class_of;       /* instruction * MAX_APS + operand; -1 */
    struct pattern_class *classes;
    int nclasses, classes_cap;
    int *table; /* of classes, by hash; -1 */
    int table_size;
    struct motion *motions;
    int nmotions, motions_cap;
    int *motions_of; /* per tensor: the first, -1 */
    struct shared_place *places;
    int *place_of; /* per tensor */
    int *slots, nslots; /* that the kernel touches, and that own their memory, in order: tensors, behind the tiles */
};

int stream_of_insn(const struct insn *n)
{
    return n->engine + (insn_is_transfer(n) ? ENGINE_COUNT : 0);
}

int accesses_before(const struct access_run *r, int limit)
{
    int low = 0, high = r->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (r->insns[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int last_access(const struct access_run *r, int limit, int except)
{
    int at = accesses_before(r, limit) - 1;
    return at >= 0 && r->tensors[at] == except ? r->other[at] : at;
}

/* ---- lists ---- */

static void add_to_run(struct accesses *x, struct access_run *r, int insn, int tensor)
{
    int last = r->n - 1;
    if (last >= 0 && r->insns[last] == insn && r->tensors[last] == tensor)
        return;
    if (r->n == r->cap) {
        int cap = r->cap ? r->cap * 2 : 4;
        int *memory = ARENA_ARRAY(x->a, int, 4 * cap + 1);
        arena_move_(memory, r->insns, sizeof(int) * (size_t)r->n);
        arena_move_(memory + cap, r->tensors, sizeof(int) * (size_t)r->n);
        arena_move_(memory + 2 * cap, r->other, sizeof(int) * (size_t)r->n);
        r->insns = memory, r->tensors = memory + cap, r->other = memory + 2 * cap, r->next = memory + 3 * cap;
        r->cap = cap;
    }
    r->insns[r->n] = insn, r->tensors[r->n] = tensor;
    r->other[r->n] = last < 0 ? -1 : r->tensors[last] != tensor ? last : r->other[last];
    r->n++;
}

static void add_access(struct accesses *x, struct access_list *l, int insn, int operand, int tensor)
{
    const struct insn *n = &x->k->insns[insn];
    int stream = stream_of_insn(n);
    for (int kind = ACCESS_ANY; kind <= (operand_writes(n, operand) ? ACCESS_WRITES : ACCESS_ANY); kind++) {
        int i = 0;
        while (i < l->nruns[kind] && l->runs[kind][i].stream != stream)
            i++;
        if (i == l->nruns[kind]) {
            ARENA_GROW(x->a, l->runs[kind], l->nruns[kind], l->cap[kind]);
            l->runs[kind][l->nruns[kind]++] = (struct access_run){.stream = stream};
        }
        add_to_run(x, &l->runs[kind][i], insn, tensor);
    }
}

/* ---- classes ---- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Slots of operands, and those that own their memory; returns how many, and writes them unless `slots` is NULL. */
static int operand_slots(const struct accesses *x, int *slots)
{
    const struct kernel *k = x->k;
    int n = 0;
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            const struct ap *a = &k->insns[i].ap[o];
            if (a->mem != MEM_HBM)
                continue;
            if (slots)
                slots[n] = a->tensor, slots[n + 1] = slot_root(x->p, a->tensor);
            n += 2;
        }
    return n;
}

/* A program may have many kernels and many slots, of which each kernel touches few. */
static void find_slots(struct accesses *x)
{
    int n = operand_slots(x, NULL), *slots = ARENA_ARRAY(x->a, int, n + 1);
    operand_slots(x, slots);
    qsort(slots, (size_t)n, sizeof *slots, by_number);
    for (int i = 0; i < n; i++)
        if (!i || slots[i] != slots[i - 1])
            slots[x->nslots++] = slots[i];
    x->slots = slots;
}

static int tensor_of_slot(const struct accesses *x, int slot)
{
    const int *at = bsearch(&slot, x->slots, (size_t)x->nslots, sizeof *x->slots, by_number);
    return x->k->ntiles + (int)(at - x->slots);
}

static int tensor_of(const struct accesses *x, const struct ap *a)
{
    return a->mem == MEM_HBM ? tensor_of_slot(x, a->tensor) : a->tensor;
}

/* Without clips, which no comparison of patterns looks at. */
static bool same_pattern(const struct ap *a, const struct ap *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank && affine_equal(&a->offset, &b->offset);
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i].step == b->dim[i].step && a->dim[i].count == b->dim[i].count;
    return same;
}

static uint64_t mix(uint64_t hash, int64_t value)
{
    hash = (hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static int hash_of(const struct accesses *x, int tensor, const struct ap *a)
{
    uint64_t hash = mix(mix((uint64_t)tensor, a->dtype), a->offset.base);
    for (int i = 0; i < a->offset.nterms; i++)
        hash = mix(mix(hash, a->offset.terms[i].var), a->offset.terms[i].coef);
    for (int i = 0; i < a->rank; i++)
        hash = mix(mix(hash, a->dim[i].step), a->dim[i].count);
    return (int)(hash % (uint64_t)x->table_size);
}

static bool moves_alike(const struct ap *a, const struct ap *b)
{
    struct affine offset = a->offset;
    offset.base = b->offset.base;
    return a->dtype == b->dtype && affine_equal(&offset, &b->offset);
}

static bool moves_with_loops(const struct accesses *x, const struct ap *a)
{
    bool moves = false;
    for (int i = 0; i < a->offset.nterms; i++)
        moves |= a->offset.terms[i].var >= x->k->ngrid;
    return moves;
}

static void put_in_motion(struct accesses *x, int class)
{
    struct pattern_class *c = &x->classes[class];
    int m = x->motions_of[c->tensor];
    while (m >= 0 && !moves_alike(&c->touched, &x->classes[x->motions[m].first].touched))
        m = x->motions[m].next;
    if (m < 0) {
        m = x->nmotions;
        ARENA_GROW(x->a, x->motions, x->nmotions, x->motions_cap);
        x->motions[x->nmotions++] = (struct motion){.first = -1, .next = x->motions_of[c->tensor]};
        x->motions_of[c->tensor] = m;
    }
    c->group = m, c->next = x->motions[m].first;
    x->motions[m].first = class, x->motions[m].n++;
}

static int class_for(struct accesses *x, const struct ap *touched)
{
    int tensor = tensor_of(x, touched), at = hash_of(x, tensor, touched);
    for (int c = x->table[at]; c >= 0; c = x->classes[c].twin)
        if (x->classes[c].tensor == tensor && same_pattern(&x->classes[c].touched, touched))
            return c;
    int class = x->nclasses;
    ARENA_GROW(x->a, x->classes, x->nclasses, x->classes_cap);
    x->classes[x->nclasses++] = (struct pattern_class){.touched = *touched, .tensor = tensor, .twin = x->table[at],
                                                       .list.mutual = true};
    x->table[at] = class;
    put_in_motion(x, class);
    return class;
}

static void find_classes(struct accesses *x)
{
    const struct kernel *k = x->k;
    int operands = 0;
    for (int i = 0; i < k->ninsns; i++)
        operands += insn_info(k->insns[i].op)->naps;
    x->table_size = operands * 2 + 1;
    x->table = ARENA_ARRAY(x->a, int, x->table_size);
    memset(x->table, -1, sizeof *x->table * (size_t)x->table_size);
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < MAX_APS; o++) {
            int *class = &x->class_of[i * MAX_APS + o];
            *class = -1;
            if (o >= insn_info(k->insns[i].op)->naps || k->insns[i].ap[o].mem == MEM_NONE)
                continue;
            struct ap touched = insn_touched(&k->insns[i], o);
            *class = class_for(x, &touched);
            struct pattern_class *c = &x->classes[*class];
            add_access(x, &c->list, i, o, c->tensor);
            x->places[x->place_of[c->tensor]].written |= operand_writes(&k->insns[i], o);
        }
}

/* ---- which classes of a tensor meet ---- */

struct class_extent {
    struct byte_extent bytes, columns;
    int class;
};

static int by_start(const void *a, const void *b)
{
    const struct class_extent *x = a, *y = b;
    if (x->columns.low != y->columns.low)
        return x->columns.low < y->columns.low ? -1 : 1;
    return x->class - y->class;
}

static void note_near(struct accesses *x, int class, int other)
{
    struct pattern_class *c = &x->classes[class];
    ARENA_GROW(x->a, c->near, c->nnear, c->cap);
    c->near[c->nnear++] = other;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* All have a byte in common, and a column. */
static bool is_clique(const struct class_extent *v, int n)
{
    struct byte_extent bytes = v[0].bytes, columns = v[0].columns;
    for (int i = 1; i < n; i++) {
        bytes = (struct byte_extent){larger(bytes.low, v[i].bytes.low), smaller(bytes.high, v[i].bytes.high)};
        columns = (struct byte_extent){larger(columns.low, v[i].columns.low), smaller(columns.high, v[i].columns.high)};
    }
    return bytes.low < bytes.high && columns.low < columns.high;
}

/* Classes whose intervals hang together. exact: nothing else decides whether they meet. */
static void relate_stretch(struct accesses *x, const struct class_extent *v, int n, bool exact)
{
    if (exact && n > 2 && is_clique(v, n)) {
        struct access_list *clique = ARENA_NEW(x->a, struct access_list);
        clique->mutual = true;
        for (int i = 0; i < n; i++)
            x->classes[v[i].class].clique = clique;
        return;
    }
    for (int i = 0; i < n; i++) {
        note_near(x, v[i].class, v[i].class);
        for (int j = i + 1; j < n && v[j].columns.low < v[i].columns.high; j++) {
            if (patterns_disjoint(x->k, &x->classes[v[i].class].touched, &x->classes[v[j].class].touched, false))
                continue;
            note_near(x, v[i].class, v[j].class);
            note_near(x, v[j].class, v[i].class);
        }
    }
}

/* Where all classes cover known bytes; columns of a tile take the place of bytes where they tell more. */
static void relate_motion(struct accesses *x, struct motion *m)
{
    struct class_extent *v = ARENA_ARRAY(x->a, struct class_extent, m->n + 1);
    bool columns = true, exact = true, fits;
    int n = 0;
    if (moves_with_loops(x, &x->classes[m->first].touched))
        return;
    for (int c = m->first; c >= 0; c = x->classes[c].next, n++) {
        v[n].class = c;
        if (!pattern_extent(&x->classes[c].touched, &v[n].bytes))
            return;
        bool has = pattern_columns(x->k, &x->classes[c].touched, &v[n].columns, &fits);
        columns &= has && fits, exact &= !has || fits;
    }
    for (int i = 0; i < n && !columns; i++)
        v[i].columns = v[i].bytes;
    exact &= columns || !x->k->traced || x->classes[m->first].touched.mem == MEM_HBM;
    qsort(v, (size_t)n, sizeof *v, by_start);
    for (int first = 0, next; first < n; first = next) {
        int64_t high = v[first].columns.high;
        for (next = first + 1; next < n && v[next].columns.low < high; next++)
            high = larger(high, v[next].columns.high);
        relate_stretch(x, v + first, next - first, exact);
    }
    m->sorted = true;
}

/* ---- memory ---- */

struct tile_bytes {
    int tile, mem;
    struct byte_extent at;
};

static int by_address(const void *a, const void *b)
{
    const struct tile_bytes *x = a, *y = b;
    if (x->mem != y->mem)
        return x->mem - y->mem;
    if (x->at.low != y->at.low)
        return x->at.low < y->at.low ? -1 : 1;
    if (x->at.high != y->at.high)
        return x->at.high < y->at.high ? -1 : 1;
    return x->tile - y->tile;
}

static void note_overlap(struct accesses *x, int place, int other)
{
    struct shared_place *s = &x->places[place];
    ARENA_GROW(x->a, s->near, s->nnear, s->cap);
    s->near[s->nnear++] = other;
}

/* Tiles with the same bytes share a place; those without an address have one of their own. Slots are where the one lies
 * that owns their memory. */
static void find_places(struct accesses *x)
{
    const struct kernel *k = x->k;
    struct tile_bytes *v = ARENA_ARRAY(x->a, struct tile_bytes, k->ntiles + 1);
    int n = 0;
    for (int t = 0; t < k->ntiles; t++) {
        const struct tile *tile = &k->tiles[t];
        x->place_of[t] = t;
        v[n] = (struct tile_bytes){t, tile->mem, {0, 0}};
        n += tile_extent(tile, &v[n].at);
    }
    for (int s = 0; s < x->nslots; s++)
        x->place_of[k->ntiles + s] = tensor_of_slot(x, slot_root(x->p, x->slots[s]));
    qsort(v, (size_t)n, sizeof *v, by_address);
    for (int i = 1; i < n; i++)
        if (v[i].mem == v[i - 1].mem && v[i].at.low == v[i - 1].at.low && v[i].at.high == v[i - 1].at.high)
            x->place_of[v[i].tile] = x->place_of[v[i - 1].tile];
    int m = 0; /* one of each place stays */
    for (int i = 0; i < n; i++)
        if (x->place_of[v[i].tile] == v[i].tile)
            v[m++] = v[i];
    for (int i = 0; i < m; i++)
        for (int j = i + 1; j < m && v[j].mem == v[i].mem && v[j].at.low < v[i].at.high; j++) {
            note_overlap(x, v[i].tile, v[j].tile);
            note_overlap(x, v[j].tile, v[i].tile);
        }
}

/* What is met as a whole: places of several tensors, tensors that are touched in several ways, cliques. */
static void fill_lists(struct accesses *x)
{
    for (int t = 0; t < x->k->ntiles + x->nslots; t++)
        x->places[x->place_of[t]].tensors += x->motions_of[t] >= 0;
    for (int i = 0; i < x->k->ninsns; i++)
        for (int o = 0; o < insn_info(x->k->insns[i].op)->naps; o++) {
            int class = x->class_of[i * MAX_APS + o];
            if (class < 0)
                continue;
            struct pattern_class *c = &x->classes[class];
            struct shared_place *s = &x->places[x->place_of[c->tensor]];
            if (c->clique)
                add_access(x, c->clique, i, o, c->tensor);
            if (x->motions[x->motions_of[c->tensor]].next >= 0)
                add_access(x, &x->motions[c->group].all, i, o, c->tensor);
            if (s->tensors > 1 || s->nnear)
                add_access(x, &s->all, i, o, c->tensor);
        }
}

struct accesses *find_accesses(const struct program *p, const struct kernel *k, struct arena *a)
{
    struct accesses *x = ARENA_NEW(a, struct accesses);
    *x = (struct accesses){.p = p, .k = k, .a = a, .class_of = ARENA_ARRAY(a, int, k->ninsns * MAX_APS + 1)};
    find_slots(x);
    int tensors = k->ntiles + x->nslots;
    x->motions_of = ARENA_ARRAY(a, int, tensors + 1);
    x->places = ARENA_ARRAY(a, struct shared_place, tensors + 1);
    x->place_of = ARENA_ARRAY(a, int, tensors + 1);
    for (int t = 0; t < tensors; t++)
        x->motions_of[t] = -1;
    find_places(x);
    find_classes(x);
    for (int m = 0; m < x->nmotions; m++)
        relate_motion(x, &x->motions[m]);
    fill_lists(x);
    return x;
}

/* ---- relations ---- */

static void relate(struct accesses *x, struct relations *out, struct access_relation r)
{
    if (!r.list->nruns[r.kind])
        return;
    ARENA_GROW(x->a, out->at, out->n, out->cap);
    out->at[out->n++] = r;
}

/* Those of the tensor that move alike. */
static void relate_class(struct accesses *x, const struct pattern_class *c, enum access_kind kind,
                         struct relations *out)
{
    const struct motion *m = &x->motions[c->group];
    if (c->clique)
        relate(x, out, (struct access_relation){c->clique, &c->list, -1, kind, true});
    for (int i = 0; i < c->nnear; i++)
        relate(x, out, (struct access_relation){&x->classes[c->near[i]].list, &c->list, -1, kind, true});
    for (int o = m->sorted ? -1 : m->first; o >= 0; o = x->classes[o].next) {
        const struct pattern_class *other = &x->classes[o];
        if (!other->list.nruns[kind])
            continue;
        bool same = !patterns_disjoint(x->k, &c->touched, &other->touched, false);
        if (same || !patterns_disjoint(x->k, &c->touched, &other->touched, true))
            relate(x, out, (struct access_relation){&other->list, &c->list, -1, kind, same});
    }
}

static void add_relations(struct accesses *x, int insn, int operand, enum access_kind kind, struct relations *out)
{
    int class = x->class_of[insn * MAX_APS + operand];
    if (class < 0)
        return;
    const struct pattern_class *c = &x->classes[class];
    const struct shared_place *s = &x->places[x->place_of[c->tensor]];
    for (int i = 0; i < s->nnear; i++)
        relate(x, out, (struct access_relation){&x->places[s->near[i]].all, &c->list, -1, kind, true});
    if (kind == ACCESS_WRITES && !s->written)
        return;
    relate_class(x, c, kind, out);
    for (int m = x->motions_of[c->tensor]; m >= 0; m = x->motions[m].next)
        if (m != c->group)
            relate(x, out, (struct access_relation){&x->motions[m].all, &c->list, -1, kind, true});
    if (s->tensors > 1)
        relate(x, out, (struct access_relation){&s->all, &c->list, c->tensor, kind, true});
}

void operand_relations(struct accesses *x, int insn, int operand, enum access_kind kind, struct relations *out)
{
    out->n = 0;
    add_relations(x, insn, operand, kind, out);
}

void find_relations(struct accesses *x, int insn, struct relations *out)
{
    const struct insn *n = &x->k->insns[insn];
    out->n = 0;
    for (int o = 0; o < insn_info(n->op)->naps; o++)
        add_relations(x, insn, o, operand_writes(n, o) ? ACCESS_ANY : ACCESS_WRITES, out);
}
