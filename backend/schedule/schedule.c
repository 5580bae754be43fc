#include "backend/schedule/schedule.h"

#include <string.h>

/* Another order may have more tiles live at a time than there is room for: then the kernel's own.
 */
static enum placement order_and_place(struct program *p, struct kernel *k, const struct machine *m,
                                      struct diag *d)
{
    struct arena scratch = {0};
    size_t size = sizeof *k->insns * (size_t)k->ninsns;
    struct insn *own = arena_copy(&scratch, k->insns, size);
    struct diag first = {0};
    enum placement placed = REFUSED;
    if (order_kernel(p, k, m, d)) {
        placed = place_kernel(p, k, m, &first);
        if (placed != PLACED) {
            memcpy(k->insns, own, size);
            placed = place_kernel(p, k, m, d);
        }
    }
    arena_free(&scratch);
    return placed;
}

static enum placement schedule_once(struct program *p, struct kernel *k, const struct machine *m,
                                    struct diag *d)
{
    if (k->own_sync)
        return place_kernel(p, k, m, d);
    enum placement placed = order_and_place(p, k, m, d);
    return placed != PLACED || sync_kernel(p, k, d) ? placed : REFUSED;
}

bool schedule_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    return schedule_once(p, k, m, d) == PLACED;
}

/* The kernel's own order, and tiles without places but for those that its author gave, to begin
 * again with. */
static void restore(struct kernel *k, const struct insn *insns)
{
    memcpy(k->insns, insns, sizeof *insns * (size_t)k->ninsns);
    for (int i = 0; i < k->ntiles; i++)
        if (!k->tiles[i].fixed)
            k->tiles[i].address = -1;
}

bool schedule_traced(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    if (k->own_sync)
        return schedule_kernel(p, k, m, d);
    if (!m->strict) {
        reuse_tiles(p, k, true);
        return schedule_kernel(p, k, m, d);
    }
    struct insn *own = arena_copy(&p->arena, k->insns, sizeof *k->insns * (size_t)k->ninsns);
    enum placement placed = schedule_once(p, k, m, d);
    if (placed != NO_ROOM)
        return placed == PLACED;
    restore(k, own);
    reuse_tiles(p, k, false);
    diag_clear(d);
    return schedule_kernel(p, k, m, d);
}

bool schedule_program(struct program *p, const struct machine *m, struct diag *d)
{
    for (int i = 0; i < p->nkernels; i++)
        if (!p->kernels[i].scheduled && !schedule_kernel(p, &p->kernels[i], m, d))
            return fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    return true;
}
