#include "backend/schedule/schedule.h"

bool insn_is_structure(const struct insn *n)
{
    return n->op == INSN_loop || n->op == INSN_end;
}

bool operand_reads(const struct insn *n, int operand)
{
    const struct insn_info *info = insn_info(n->op);
    int role = operand == 0 ? insn_role(info, ROLE_ACCUMULATE) : -1;
    if (n->ap[operand].mem == MEM_NONE)
        return false;
    if (role < 0)
        return info->ap[operand].access != 'w';
    const struct affine *accumulate = &n->imm[role];
    return accumulate->nterms || !dim_is_const(accumulate->base) || accumulate->base;
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

static bool disjoint(const struct kernel *k, const struct ap *a, const struct ap *b, bool carried)
{
    int64_t alow, ahigh, blow, bhigh;
    return same_motion(k, a, b, carried) && span(a, &alow, &ahigh) && span(b, &blow, &bhigh) &&
           (ahigh <= blow || bhigh <= alow);
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

static bool operands_overlap(const struct program *p, const struct kernel *k, const struct ap *a,
                             const struct ap *b, bool carried)
{
    if ((a->mem == MEM_HBM) != (b->mem == MEM_HBM))
        return false;
    if (a->tensor == b->tensor && a->mem == b->mem)
        return !disjoint(k, a, b, carried);
    if (a->mem != MEM_HBM)
        return tiles_overlap(&k->tiles[a->tensor], &k->tiles[b->tensor]);
    const struct slot *s = &p->slots[a->tensor], *t = &p->slots[b->tensor];
    int s_root = s->kind == SLOT_VIEW ? s->base : a->tensor,
        t_root = t->kind == SLOT_VIEW ? t->base : b->tensor;
    return s_root == t_root;
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
            struct ap x = insn_touched(a, i), y = insn_touched(b, j);
            if (one_writes && operands_overlap(p, k, &x, &y, carried))
                return true;
        }
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
