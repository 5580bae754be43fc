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

/* A number of elements whose bytes are one too, with room to add some. */
static bool is_countable(dim_t d)
{
    const int64_t max = INT64_MAX >> 8;
    return dim_is_const(d) && d >= -max && d <= max;
}

bool pattern_extent(const struct ap *a, struct byte_extent *bytes)
{
    int64_t size = (int64_t)dtype_bytes(a->dtype);
    if (!is_countable(a->offset.base))
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
    *bytes = (struct byte_extent){first * size, (last + 1) * size};
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

/* The bytes of one partition; 0: not known. */
static int64_t row_of(const struct kernel *k, const struct ap *a)
{
    const struct tile *t = &k->tiles[a->tensor];
    if (a->mem == MEM_HBM || !is_countable(t->elements) || t->elements <= 0)
        return 0;
    return t->elements * (int64_t)dtype_bytes(t->dtype);
}

/* Dims that step over whole partitions do not count. */
static bool columns_of(const struct ap *a, int64_t row, struct byte_extent *columns)
{
    struct ap in = *a;
    int64_t size = (int64_t)dtype_bytes(a->dtype);
    in.rank = 0;
    for (int i = 0; i < a->rank; i++)
        if (!is_countable(a->dim[i].step) || a->dim[i].step * size % row)
            in.dim[in.rank++] = a->dim[i];
    if (!pattern_extent(&in, columns) || columns->high - columns->low > row)
        return false;
    int64_t bytes = columns->high - columns->low, low = (columns->low % row + row) % row;
    *columns = (struct byte_extent){low, low + bytes};
    return true;
}

bool pattern_columns(const struct kernel *k, const struct ap *a, struct byte_extent *columns, bool *fits)
{
    int64_t row = k->traced ? row_of(k, a) : 0;
    bool known = row > 0 && columns_of(a, row, columns);
    *fits = known && columns->high <= row;
    return known;
}

/* Two patterns of a tile lie beside each other in every partition. */
static bool columns_disjoint(const struct kernel *k, const struct ap *a, const struct ap *b)
{
    struct byte_extent x, y;
    int64_t row = row_of(k, a);
    if (row == 0 || !columns_of(a, row, &x) || !columns_of(b, row, &y))
        return false;
    int64_t gap = (y.low - x.low + row) % row; /* from one's first byte to the other's */
    return gap >= x.high - x.low && gap + (y.high - y.low) <= row;
}

bool patterns_disjoint(const struct kernel *k, const struct ap *a, const struct ap *b, bool carried)
{
    struct byte_extent x, y;
    if (!same_motion(k, a, b, carried))
        return false;
    return (pattern_extent(a, &x) && pattern_extent(b, &y) && (x.high <= y.low || y.high <= x.low)) ||
           (k->traced && columns_disjoint(k, a, b)); /* what lowering writes in parts stays together: few tiles live */
}

bool tile_extent(const struct tile *t, struct byte_extent *bytes)
{
    if (t->address < 0 || !is_countable(t->elements) || t->elements <= 0)
        return false;
    *bytes = (struct byte_extent){t->address, t->address + t->elements * (int64_t)dtype_bytes(t->dtype)};
    return true;
}

static bool tiles_overlap(const struct tile *s, const struct tile *t)
{
    struct byte_extent a, b;
    return s->mem == t->mem && tile_extent(s, &a) && tile_extent(t, &b) && a.low < b.high && b.low < a.high;
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

bool operand_conflicts(const struct program *p, const struct kernel *k, const struct insn *a, const struct insn *b,
                       int operand, bool carried)
{
    bool writes = operand_writes(b, operand), reads = operand_reads(b, operand);
    for (int i = 0; i < insn_info(a->op)->naps; i++) {
        bool one_writes = (operand_writes(a, i) && (writes || reads)) || (operand_reads(a, i) && writes);
        if (one_writes && operands_overlap(p, k, a, i, b, operand, carried))
            return true;
    }
    return false;
}

bool insns_conflict(const struct program *p, const struct kernel *k, const struct insn *a,
                    const struct insn *b, bool carried)
{
    for (int i = 0; i < insn_info(b->op)->naps; i++)
        if (operand_conflicts(p, k, a, b, i, carried))
            return true;
    return false;
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
