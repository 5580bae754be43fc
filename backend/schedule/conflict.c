#include "backend/schedule/schedule.h"

bool insn_is_structure(const struct insn *n)
{
    return n->op == INSN_loop || n->op == INSN_end;
}

bool operand_reads(const struct insn *n, int operand)
{
    const struct insn_info *info = insn_info(n->op);
    int role = operand == 0 ? insn_role(info, ROLE_ACCUMULATE) : -1;
    if (operand == 0 && role < 0)
        role = insn_role(info, ROLE_KEEPS);
    if (n->ap[operand].mem == MEM_NONE)
        return false;
    if (role < 0)
        return info->ap[operand].access != 'w';
    const struct affine *says = &n->imm[role];
    return says->nterms || !dim_is_const(says->base) || says->base;
}

bool operand_writes(const struct insn *n, int operand)
{
    return n->ap[operand].mem != MEM_NONE && insn_info(n->op)->ap[operand].access != 'r';
}

/* Bytes [low, high) that a pattern covers, without its variables; false when not constant. */
static bool span(const struct ap *a, int64_t *low, int64_t *high)
{
    int64_t size = (int64_t)dtype_bytes(a->dtype);
    if (!dim_is_const(a->offset.base))
        return false;
    int64_t first = a->offset.base, last = first;
    for (int i = 0; i < a->rank; i++) {
        if (!dim_is_const(a->dim[i].step) || !dim_is_const(a->dim[i].count) || a->dim[i].count < 1)
            return false;
        int64_t reach;
        if (__builtin_mul_overflow(a->dim[i].step, a->dim[i].count - 1, &reach) ||
            reach > INT32_MAX || reach < -INT32_MAX)
            return false;
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = first * size, *high = (last + 1) * size;
    return true;
}

/* Both patterns move alike with the variables, so that their distance is the same everywhere. */
static bool same_motion(const struct kernel *k, const struct ap *a, const struct ap *b,
                        bool carried)
{
    struct affine motion = a->offset;
    motion.base = b->offset.base;
    if (!affine_equal(&motion, &b->offset) || a->dtype != b->dtype)
        return false;
    for (int i = 0; carried && i < motion.nterms; i++)
        if (motion.terms[i].var >= k->ngrid)
            return false;
    return true;
}

/* Bytes of a partition that a pattern of a tile covers, [low, high) modulo `row`, the bytes of one: dims that step over
 * whole partitions do not count. False when not constant, or more than a partition's. */
static bool columns(const struct ap *a, int64_t row, int64_t *low, int64_t *high)
{
    struct ap in = *a;
    int64_t size = (int64_t)dtype_bytes(a->dtype);
    in.rank = 0;
    for (int i = 0; i < a->rank; i++)
        if (!dim_is_const(a->dim[i].step) || a->dim[i].step * size % row)
            in.dim[in.rank++] = a->dim[i];
    return span(&in, low, high) && *high - *low <= row;
}

/* Two patterns of a tile lie beside each other in every partition. */
static bool columns_disjoint(const struct kernel *k, const struct ap *a, const struct ap *b)
{
    const struct tile *t = &k->tiles[a->tensor];
    int64_t alow, ahigh, blow, bhigh;
    if (a->mem == MEM_HBM || !dim_is_const(t->elements) || t->elements <= 0)
        return false;
    int64_t row = t->elements * (int64_t)dtype_bytes(t->dtype);
    if (!columns(a, row, &alow, &ahigh) || !columns(b, row, &blow, &bhigh))
        return false;
    int64_t gap = ((blow - alow) % row + row) % row; /* from one's first byte to the other's */
    return gap >= ahigh - alow && gap + (bhigh - blow) <= row;
}

bool patterns_disjoint(const struct kernel *k, const struct ap *a, const struct ap *b, bool carried)
{
    int64_t alow, ahigh, blow, bhigh;
    if (!same_motion(k, a, b, carried))
        return false;
    return (span(a, &alow, &ahigh) && span(b, &blow, &bhigh) && (ahigh <= blow || bhigh <= alow)) ||
           (k->traced && columns_disjoint(k, a, b)); /* what lowering writes in parts stays together: few tiles live */
}

static bool tiles_overlap(const struct tile *s, const struct tile *t)
{
    if (s->mem != t->mem || s->address < 0 || t->address < 0 || !dim_is_const(s->elements) ||
        !dim_is_const(t->elements))
        return false;
    int64_t s_end = s->address + s->elements * (int64_t)dtype_bytes(s->dtype);
    int64_t t_end = t->address + t->elements * (int64_t)dtype_bytes(t->dtype);
    return s->address < t_end && t->address < s_end;
}

/* Both patterns lie in memory that they may share. */
static bool same_memory(const struct program *p, const struct kernel *k, const struct ap *a,
                        const struct ap *b)
{
    if ((a->mem == MEM_HBM) != (b->mem == MEM_HBM))
        return false;
    if (a->tensor == b->tensor && a->mem == b->mem)
        return true;
    if (a->mem != MEM_HBM)
        return tiles_overlap(&k->tiles[a->tensor], &k->tiles[b->tensor]);
    return slot_root(p, a->tensor) == slot_root(p, b->tensor);
}

static bool operands_overlap(const struct program *p, const struct kernel *k, const struct insn *m,
                             int i, const struct insn *n, int j, bool carried)
{
    const struct ap *a = &m->ap[i], *b = &n->ap[j];
    if (!same_memory(p, k, a, b))
        return false;
    if (a->tensor != b->tensor || a->mem != b->mem)
        return true;
    struct ap x = insn_touched(m, i), y = insn_touched(n, j);
    return !patterns_disjoint(k, &x, &y, carried);
}

bool insns_conflict(const struct program *p, const struct kernel *k, const struct insn *a,
                    const struct insn *b, bool carried)
{
    int na = insn_info(a->op)->naps, nb = insn_info(b->op)->naps;
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++) {
            bool one_writes =
                (operand_writes(a, i) && (operand_writes(b, j) || operand_reads(b, j))) ||
                (operand_reads(a, i) && operand_writes(b, j));
            if (one_writes && operands_overlap(p, k, a, i, b, j, carried))
                return true;
        }
    return false;
}

/* ---- who shares memory with whom ---- */

struct user {
    int insn, next; /* the memory's user before it; -1 none */
    bool writes;
};

struct sharers {
    const struct program *p;
    const struct kernel *k;
    int *group; /* of a tile: the first of those that overlap it, directly or not */
    int *last;  /* of each memory: its last user, -1 none; tiles' groups, then slots */
    struct user *users;
    int nusers;
    int *seen; /* per instruction: the last one that it was listed for */
    int *found;
};

static int memory_of(const struct sharers *s, const struct ap *a)
{
    return a->mem == MEM_HBM ? s->k->ntiles + slot_root(s->p, a->tensor) : s->group[a->tensor];
}

static void group_tiles(struct sharers *s)
{
    const struct kernel *k = s->k;
    for (int i = 0; i < k->ntiles; i++)
        s->group[i] = i;
    for (int i = 0; i < k->ntiles; i++)
        for (int j = 0; j < i && k->tiles[i].address >= 0; j++) {
            if (!tiles_overlap(&k->tiles[i], &k->tiles[j]) || s->group[i] == s->group[j])
                continue;
            int from = s->group[i], to = s->group[j];
            for (int t = 0; t <= i; t++)
                if (s->group[t] == from)
                    s->group[t] = to;
        }
}

struct sharers *find_sharers(const struct program *p, const struct kernel *k, struct arena *a)
{
    struct sharers *s = ARENA_NEW(a, struct sharers);
    int memories = k->ntiles + p->nslots;
    *s = (struct sharers){.p = p,
                          .k = k,
                          .group = ARENA_ARRAY(a, int, k->ntiles + 1),
                          .last = ARENA_ARRAY(a, int, memories + 1),
                          .users = ARENA_ARRAY(a, struct user, k->ninsns * MAX_APS + 1),
                          .seen = ARENA_ARRAY(a, int, k->ninsns + 1),
                          .found = ARENA_ARRAY(a, int, k->ninsns + 1)};
    group_tiles(s);
    for (int i = 0; i < memories; i++)
        s->last[i] = -1;
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        s->seen[i] = -1;
        for (int o = 0; o < insn_info(n->op)->naps; o++) {
            if (n->ap[o].mem == MEM_NONE)
                continue;
            int m = memory_of(s, &n->ap[o]);
            s->users[s->nusers] = (struct user){i, s->last[m], operand_writes(n, o)};
            s->last[m] = s->nusers++;
        }
    }
    return s;
}

int sharers_of(struct sharers *s, int insn, const int **list)
{
    const struct insn *n = &s->k->insns[insn];
    int found = 0;
    for (int o = 0; o < insn_info(n->op)->naps; o++) {
        if (n->ap[o].mem == MEM_NONE)
            continue;
        bool writes = operand_writes(n, o);
        for (int u = s->last[memory_of(s, &n->ap[o])]; u >= 0; u = s->users[u].next) {
            const struct user *x = &s->users[u];
            if ((!writes && !x->writes) || s->seen[x->insn] == insn)
                continue;
            s->seen[x->insn] = insn;
            s->found[found++] = x->insn;
        }
    }
    for (int i = 0; i < found; i++)
        s->seen[s->found[i]] = -1;
    *list = s->found;
    return found;
}

int *loops_around(const struct kernel *k, struct arena *a)
{
    int *around = ARENA_ARRAY(a, int, k->ninsns + 1), loop = -1;
    for (int i = 0; i < k->ninsns; i++) {
        if (k->insns[i].op == INSN_end)
            loop = around[loop];
        around[i] = loop;
        if (k->insns[i].op == INSN_loop)
            loop = i;
    }
    return around;
}

int *loop_ends(const struct kernel *k, struct arena *a)
{
    int *ends = ARENA_ARRAY(a, int, k->ninsns + 1), *around = loops_around(k, a), loop = -1;
    for (int i = 0; i < k->ninsns; i++) {
        ends[i] = i;
        if (k->insns[i].op == INSN_loop)
            loop = i;
        if (k->insns[i].op == INSN_end)
            ends[loop] = i, loop = around[loop];
    }
    return ends;
}
