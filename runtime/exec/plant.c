#include "runtime/exec/plant.h"

#ifdef XCC_PLANT

#include "runtime/exec/engine.h"

#include <stdio.h>
#include <stdlib.h>

enum way { LAST_WRONG, FIRST_ROW_NEGATED, SCALED, LAST_ROW_LOST };
static const struct {
    enum opcode op;
    enum way way;
} plants[] = {
#define PLANT(op, way) {INSN_##op, way},
#include "runtime/exec/plant.def"
};
enum { NPLANTS = sizeof plants / sizeof *plants };

static int chosen(void)
{
    const char *text = getenv("XCC_PLANT");
    int n = text ? atoi(text) : 0;
    return n >= 1 && n <= NPLANTS ? n - 1 : -1;
}

static bool has(const struct bound_kernel *k, int pc, int n, enum opcode op)
{
    for (int i = pc; i < pc + n && i < k->ninsns; i++)
        if (k->insns[i].op == op)
            return true;
    return false;
}

static float wrong(enum way way, float x, bool first, bool last_row, bool last)
{
    switch (way) {
    case LAST_WRONG:
        return last ? 1.5f * x + 0.25f : x;
    case FIRST_ROW_NEGATED:
        return first ? -x : x;
    case SCALED:
        return 1.1f * x;
    default:
        return last_row ? 0 : x;
    }
}

/* What the instruction has written: rows are along its last dim. */
static void spoil(struct worker *me, const struct bound_insn *i, enum way way)
{
    const struct insn_info *info = insn_info(i->op);
    int64_t count[MAX_AP_RANK], index[MAX_AP_RANK] = {0};
    int dst = 0;
    while (dst < info->naps && info->ap[dst].access == 'r')
        dst++;
    if (dst == info->naps || !i->o[dst].mem || !dtype_is_float(i->o[dst].dtype))
        return;
    bool own = info->shape == SHAPE_OWN;
    int rank = own ? i->o[dst].rank : i->shape.rank;
    if (!(own ? counts_now(me, i, dst, count) : shape_now(me, &i->shape, count)))
        return;
    for (bool more = true; more;) {
        char *p = operand_address(me, &i->o[dst]);
        bool first = true, last = true;
        for (int r = 0; r < rank; r++) {
            p += index[r] * i->o[dst].step[r] * i->o[dst].size;
            first &= r == rank - 1 || index[r] == 0;
            last &= r == rank - 1 || index[r] == count[r] - 1;
        }
        bool end = rank && index[rank - 1] == count[rank - 1] - 1;
        store_one(me, &i->o[dst], p, wrong(way, load_one(&i->o[dst], p), first, last, end));
        more = false;
        for (int r = rank - 1; r >= 0 && !more; r--)
            if (++index[r] < count[r])
                more = true;
            else
                index[r] = 0;
    }
}

void plant(struct worker *me, const struct bound_kernel *k, int pc, int n)
{
    int which = chosen();
    if (which >= 0 && has(k, pc, n, plants[which].op))
        spoil(me, &k->insns[pc + n - 1], plants[which].way);
}

void plant_log(const struct program *p, const struct bound_kernel *k)
{
    int which = chosen();
    const char *path = getenv("XCC_PLANT_LOG");
    FILE *f = which >= 0 && path && has(k, 0, k->ninsns, plants[which].op) ? fopen(path, "a") : NULL;
    if (!f)
        return;
    for (int i = 0; i < k->kernel->ninsns; i++) {
        const struct insn *insn = &k->kernel->insns[i];
        const struct insn_info *info = insn_info(insn->op);
        if (insn->node >= 0 && p->nodes[insn->node].name)
            fprintf(f, "%s\n", p->nodes[insn->node].name);
        for (int a = 0; a < info->naps; a++) {
            if (insn->ap[a].mem != MEM_HBM || info->ap[a].access == 'r')
                continue;
            int at = insn->ap[a].tensor, root = slot_root(p, at);
            for (int s = 0; s < p->nslots; s++)
                if (slot_root(p, s) == root)
                    fprintf(f, "%s\n", p->slots[s].name ? p->slots[s].name : "(unnamed)");
        }
    }
    fclose(f);
}

#endif
