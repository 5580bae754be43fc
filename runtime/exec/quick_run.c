/*
 * Runs the code of quick.h, once addresses are in it.
 */
#include "runtime/exec/quick.h"

#include <math.h>
#include <string.h>

/* A step may have bound a kernel that needs more room for tiles than all before: they lie elsewhere from then on. What
 * has steps is linked line by line, since only pure code is shortened. */
static void follow_tiles(const struct context *c, struct quick_region *q)
{
    char *tiles = c->workers[0].tiles;
    int at = 0;
    while (at < q->nslots && q->slots[at] != QUICK_TILE)
        at++;
    if (at == q->nslots || q->linked[at] == tiles)
        return;
    q->linked[at] = tiles;
    for (int i = 0; i < q->count; i++)
        for (int n = 0; n < QUICK_OPERANDS; n++) {
            const struct quick_place *p = &q->list[i].place[n];
            if (!p->fixed && p->slot == QUICK_TILE)
                q->code[i].p[n] = tiles + p->offset;
        }
}

enum { QUICK_LOOK = 16 }; /* trips between looks at limits */

#define QUICK_TARGET
#define QUICK_INTERPRETER run_rounding
#define QUICK_FMA(x, y, z) ((x) * (y) + (z))
#include "runtime/exec/quick_run.inc"

#if defined __x86_64__
#define QUICK_TARGET __attribute__((target("avx,fma")))
#else
#define QUICK_TARGET
#endif
#define QUICK_INTERPRETER run_fused
#define QUICK_FMA         fmaf
#include "runtime/exec/quick_run.inc"

/* ---- addresses ---- */

static char *address_now(const struct context *c, int32_t slot)
{
    return slot == QUICK_TILE ? c->workers[0].tiles : c->address[slot];
}

static void link_code(const struct context *c, struct quick_region *q)
{
    q->code[q->count] = (struct quick_op){.code = QUICK_end};
    for (int i = 0; i < q->nslots; i++)
        q->linked[i] = address_now(c, q->slots[i]);
    for (int i = 0; i < q->count; i++) {
        q->code[i] = q->list[i].op;
        for (int n = 0; n < QUICK_OPERANDS; n++) {
            const struct quick_place *p = &q->list[i].place[n];
            q->code[i].p[n] = p->fixed                   ? (char *)p->fixed
                              : p->slot == QUICK_NOTHING ? NULL
                                                         : address_now(c, p->slot) + p->offset;
        }
    }
    if (q->test)
        quick_shorten(c, q);
}

bool quick_run(struct context *c, struct quick_region *q, quick_step_fn *step, struct diag *d)
{
    bool same = true;
    for (int i = 0; i < q->nslots; i++)
        same &= q->linked[i] == address_now(c, q->slots[i]);
    if (!same)
        link_code(c, q);
    for (int i = 0; i < q->nmoved; i++)
        q->home[i] = c->address[q->moved[i]];
    bool done = (c->workers[0].k->fma ? run_fused : run_rounding)(c, q, step, d);
    for (int i = 0; i < q->nmoved; i++)
        c->address[q->moved[i]] = q->home[i];
    return done;
}
