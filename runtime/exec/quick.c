/*
 * Regions and loops as code: what its operations are, and where they are computed.
 */
#include "runtime/exec/quick.h"
#include "runtime/exec/quick_rows.h"
#include "runtime/exec/quick_window.h"

#include <string.h>

/* ---- regions ---- */

struct quick_maker {
    const struct context *c;
    struct bound *b;
    struct quick_region *q;
    int room;
    const bool *moved; /* per slot: its address is not the same for long; NULL: none is such */
};

static struct quick_line *add(struct quick_maker *m, int more)
{
    struct quick_region *q = m->q;
    if (q->count + more > m->room) {
        m->room = 2 * m->room + more + 16;
        struct quick_line *list = ARENA_ARRAY(&m->b->arena, struct quick_line, m->room);
        if (q->count)
            memcpy(list, q->list, sizeof *list * (size_t)q->count);
        q->list = list;
    }
    return &q->list[q->count];
}

static void add_step(struct quick_maker *m, int region, int number)
{
    struct quick_line *line = add(m, 1);
    struct quick_row *r = ARENA_NEW(&m->b->arena, struct quick_row);
    r->region = region, r->number = number;
    *line = (struct quick_line){.op = {.code = QUICK_step, .row = r}};
    for (int n = 0; n < QUICK_OPERANDS; n++)
        line->place[n].slot = QUICK_NOTHING;
    m->q->count++;
    m->q->pure = false;
}

/* Operands that are put elsewhere while the code runs: it cannot hold their addresses. */
static bool moves(const struct quick_maker *m, const struct bound_insn *i)
{
    for (int n = 0; m->moved && n < i->nops; n++)
        if (i->o[n].mem && i->o[n].slot >= 0 && m->moved[i->o[n].slot])
            return true;
    return false;
}

/* Every instruction on its own; false, and nothing added, where loops are among them. */
static bool add_instructions(struct quick_maker *m, const struct bound_kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        if (!k->insns[i].run)
            return false;
    for (int i = 0; i < k->ninsns; i += 1 + k->insns[i].skip) {
        struct quick_line *line = add(m, QUICK_MAX);
        int made = moves(m, &k->insns[i]) ? 0 : quick_instruction(&m->b->arena, kernels_get(), &k->insns[i], line);
        if (!made) {
            quick_any(&m->b->arena, k, &k->insns[i], line);
            m->q->pure = false;
            made = 1;
        }
        m->q->count += made;
    }
    return true;
}

static void add_launch(struct quick_maker *m, int region, int number, int kernel)
{
    const struct bound_kernel *k = m->b->kernels[kernel];
#ifdef XCC_PLANT /* bugs are planted where launches run */
    k = NULL;
#endif
    if (m->c->m->kernel_uses[kernel].count || !k || k->instances != 1 || k->steps) {
        add_step(m, region, number);
    } else if (!add_instructions(m, k)) {
        quick_any(&m->b->arena, k, NULL, add(m, 1));
        m->q->count++;
        m->q->pure = false;
    }
}

/* Room for addresses, and the slots they come from. */
static void finish(struct quick_maker *m)
{
    struct quick_region *q = m->q;
    int all = 0;
    bool *seen = ARENA_ARRAY(&m->b->arena, bool, m->c->m->p->nslots + 1), tiles = false;
    memset(seen, 0, (size_t)m->c->m->p->nslots + 1);
    q->code = ARENA_ARRAY(&m->b->arena, struct quick_op, q->count + 1);
    q->slots = ARENA_ARRAY(&m->b->arena, int32_t, q->count * QUICK_OPERANDS + 1);
    for (int i = 0; i < q->count; i++) {
        q->code[i] = q->list[i].op;
        for (int n = 0; n < QUICK_OPERANDS; n++) {
            const struct quick_place *p = &q->list[i].place[n];
            bool *known = p->slot >= 0 ? &seen[p->slot] : &tiles;
            if (p->fixed || p->slot == QUICK_NOTHING || *known)
                continue;
            *known = true;
            q->slots[all++] = p->slot;
        }
    }
    q->nslots = all;
    q->linked = ARENA_ARRAY(&m->b->arena, char *, all + 1);
    memset(q->linked, 0, sizeof *q->linked * (size_t)(all + 1));
    q->code[q->count] = (struct quick_op){.code = QUICK_end};
}

/* Slots that lie in windows while the code runs, and room for where they lay. */
static void keep_moved(struct quick_maker *m, const struct quick_windows *w)
{
    if (!w->count)
        return;
    m->q->moved = ARENA_ARRAY(&m->b->arena, int32_t, w->count);
    m->q->home = ARENA_ARRAY(&m->b->arena, char *, w->count);
    for (int s = 0; s < m->c->m->p->nslots; s++)
        if (w->moved[s])
            m->q->moved[m->q->nmoved++] = s;
    m->q->pure = false;
}

static struct quick_region *make_region(const struct context *c, struct bound *b, int region, bool body)
{
    const struct program_region *r = &c->m->p->regions[region];
    const struct slot_list *dying = &c->m->dying[c->m->first_step[region]];
    struct quick_maker m = {c, b, ARENA_NEW(&b->arena, struct quick_region), 0, NULL};
    *m.q = (struct quick_region){.steps = r->nsteps ? r->nsteps : 1, .pure = true};
    struct quick_windows w = {0};
    if (body)
        quick_windows_find(c, b, region, &w);
    m.moved = w.moved;
    keep_moved(&m, &w);
    for (int s = 0; s < r->nsteps; s++) {
        const struct step *step = &r->steps[s];
        if (dying[s].count)
            return NULL;
        if (body && w.line[s])
            *add(&m, 1) = *w.line[s], m.q->count++;
        if (body && w.done[s])
            continue;
        if (!step_is_for(step, c->bf16_rate))
            continue;
        if (step->kind != STEP_CALL)
            add_launch(&m, region, s, step->index);
        else if (b->call_checked[step->index] &&
                 quick_find_window(b, &c->m->p->calls[step->index], &b->arena, add(&m, 1)))
            m.q->count++;
        else
            add_step(&m, region, s);
    }
    finish(&m);
    return m.q;
}

void plan_quick(const struct context *c, struct bound *b)
{
    const struct model *m = c->m;
    b->quick = ARENA_ARRAY(&b->arena, struct quick_region *, m->p->nregions + 1);
    for (int i = 0; i < m->p->ncalls && !m->engine_threads; i++)
        for (int r = 0; b->control[i] && r < m->p->calls[i].nregions; r++) {
            int region = m->p->calls[i].regions[r];
            if (!m->guards[region].count && !m->region_symbols[region].count &&
                !m->region_dying[region].count)
                b->quick[region] = make_region(c, b, region, m->p->calls[i].op == OP_while && r == 1);
        }
}

/* ---- loops ---- */

static void append(struct quick_maker *m, const struct quick_region *of)
{
    struct quick_line *line = add(m, of->count);
    if (of->count)
        memcpy(line, of->list, sizeof *line * (size_t)of->count);
    m->q->count += of->count;
}

static void add_branch(struct quick_maker *m, uint16_t code, int32_t holds)
{
    struct quick_line *line = add(m, 1);
    *line = (struct quick_line){.op.code = code};
    for (int n = 0; n < QUICK_OPERANDS; n++)
        line->place[n].slot = n == QUICK_C ? holds : QUICK_NOTHING;
    line->bytes[QUICK_C] = 1;
    m->q->count++;
}

/* As moves happen at once: those that would be overwritten go first, to where they wait. */
static void add_moves(struct quick_maker *m, const struct moves *moves, const char *room)
{
    for (int phase = 0; phase < 3; phase++)
        for (int i = 0; i < moves->count; i++) {
            const struct quick_move *v = &moves->list[i];
            if ((v->temporary >= 0) == (phase == 1) || !v->bytes)
                continue;
            struct quick_place from = {v->from, 0, NULL}, to = {v->to, 0, NULL},
                               waits = {QUICK_NOTHING, 0, room + v->temporary};
            quick_bytes(&m->b->arena, add(m, 1), phase == 0 ? waits : to, phase == 2 ? waits : from,
                        v->bytes);
            m->q->count++;
        }
}

struct quick_region *quick_loop(const struct context *c, struct bound *b, int test, int body, int32_t holds,
                                const struct moves *each, const char *room)
{
    const struct quick_region *t = b->quick[test], *y = b->quick[body];
    if (!t || !y)
        return NULL;
    struct quick_maker m = {c, b, ARENA_NEW(&b->arena, struct quick_region), 0, NULL};
    *m.q = (struct quick_region){.pure = t->pure && y->pure, .steps = t->steps + y->steps,
                                 .nmoved = y->nmoved, .moved = y->moved, .home = y->home,
                                 .carried = c->m->p->regions[body].params, .ncarried = c->m->p->regions[body].nparams};
    append(&m, t);
    add_branch(&m, QUICK_unless, holds);
    m.q->body = m.q->count;
    append(&m, y);
    m.q->moves = m.q->count;
    add_moves(&m, each, room);
    m.q->test = m.q->count;
    append(&m, t);
    add_branch(&m, QUICK_again, holds);
    finish(&m);
    return m.q;
}
