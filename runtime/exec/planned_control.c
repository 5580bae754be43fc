/*
 * Loops and branches whose values have fixed places: regions run on them where they lie. A trip
 * costs its steps and copies of what the body computed elsewhere.
 */
#include "runtime/exec/quick.h"

#include <string.h>

struct control {
    struct moves before, each, after; /* of a while: around it, after every trip */
    struct moves branch[2];           /* of an if */
    int32_t test;                     /* slot of the condition */
    char *room;                       /* for temporaries */
    struct quick_region *loop;        /* of a while: its code, NULL where regions have none */
};

/* ---- finding them ---- */

static bool has_place(const struct context *c, const struct bound *b, int slot)
{
    return slot >= 0 && b->types[slot].kind == VK_TENSOR &&
           c->m->p->slots[slot_root(c->m->p, slot)].kind != SLOT_DYNAMIC;
}

static bool same_type(const struct bound *b, int s, int t)
{
    const struct tensor *x = &b->types[s], *y = &b->types[t];
    return x->dtype == y->dtype && x->rank == y->rank &&
           !memcmp(x->dims, y->dims, sizeof *x->dims * (size_t)x->rank);
}

static bool is_test(const struct context *c, const struct bound *b, int slot)
{
    return has_place(c, b, slot) && b->types[slot].dtype == DT_BOOL &&
           tensor_count(&b->types[slot]) == 1;
}

/* What stacks of results begin as: memory that is written only, where it would be read as well. */
static bool is_zeros(const struct program *p, int slot, size_t bytes)
{
    enum { WORTH_A_LOOK = 1 << 16 };
    const char *at = p->slots[slot].kind == SLOT_CONST ? p->slots[slot].data.data : NULL;
    return at && bytes >= WORTH_A_LOOK && tensor_bytes(&p->slots[slot].data) == bytes && !at[0] &&
           !memcmp(at, at + 1, bytes - 1);
}

/* Moves from[i] to to[i] (-1: not wanted), all at once: what another one overwrites waits in room.
 */
static bool plan_moves(const struct context *c, struct bound *b, const int32_t *from,
                       const int32_t *to, int n, struct moves *m, int64_t *room)
{
    const struct program *p = c->m->p;
    int64_t at = 0;
    m->count = 0;
    m->list = ARENA_ARRAY(&b->arena, struct quick_move, n + 1);
    for (int i = 0; i < n; i++) {
        if (to[i] < 0)
            continue;
        if (!has_place(c, b, from[i]) || !has_place(c, b, to[i]) || !same_type(b, from[i], to[i]) ||
            p->slots[to[i]].kind != SLOT_PLANNED)
            return false;
        if (from[i] == to[i] || b->plan.onto[from[i]] == to[i])
            continue;
        struct quick_move *v = &m->list[m->count++];
        *v = (struct quick_move){from[i], to[i], tensor_bytes(&b->types[to[i]]), -1, false};
        v->zeros = is_zeros(p, from[i], v->bytes);
        for (int k = 0; k < n; k++)
            if (to[k] >= 0 && k != i && slot_root(p, from[i]) == to[k] && from[k] != to[k]) {
                v->temporary = at;
                at += ((int64_t)v->bytes + 63) / 64 * 64;
                break;
            }
    }
    *room = at > *room ? at : *room;
    return true;
}

static bool plan_while(const struct context *c, struct bound *b, const struct call *call,
                       struct control *k, int64_t *room)
{
    const struct program *p = c->m->p;
    const struct program_region *test = &p->regions[call->regions[0]],
                                *body = &p->regions[call->regions[1]];
    int n = call->nin;
    if (call->nregions != 2 || call->nout != n || test->nparams != n || body->nparams != n ||
        body->nresults != n || test->nresults != 1 || !is_test(c, b, test->results[0]))
        return false;
    for (int i = 0; i < n; i++)
        if (test->params[i] != body->params[i] || !has_place(c, b, body->params[i]))
            return false;
    k->test = test->results[0];
    return plan_moves(c, b, call->in, body->params, n, &k->before, room) &&
           plan_moves(c, b, body->results, body->params, n, &k->each, room) &&
           plan_moves(c, b, body->params, call->out, n, &k->after, room);
}

static bool plan_if(const struct context *c, struct bound *b, const struct call *call,
                    struct control *k, int64_t *room)
{
    const struct program *p = c->m->p;
    if (call->nregions != 2 || call->nin != 1 || !is_test(c, b, call->in[0]))
        return false;
    k->test = call->in[0];
    for (int r = 0; r < 2; r++) {
        const struct program_region *branch = &p->regions[call->regions[r]];
        if (branch->nparams || branch->nresults != call->nout ||
            !plan_moves(c, b, branch->results, call->out, call->nout, &k->branch[r], room))
            return false;
    }
    return true;
}

void plan_control(const struct context *c, struct bound *b)
{
    const struct program *p = c->m->p;
    b->control = ARENA_ARRAY(&b->arena, struct control *, p->ncalls + 1);
    for (int i = 0; i < p->ncalls; i++) {
        const struct call *call = &p->calls[i];
        struct control k = {0};
        int64_t room = 0;
        bool planned = call->op == OP_while ? plan_while(c, b, call, &k, &room)
                       : call->op == OP_if  ? plan_if(c, b, call, &k, &room)
                                            : false;
        if (!planned)
            continue;
        k.room = arena_alloc(&b->arena, (size_t)room + 1);
        b->control[i] = arena_copy(&b->arena, &k, sizeof k);
    }
}

/* ---- running them ---- */

static void move_all(struct context *c, const struct moves *m, char *room)
{
    for (int i = 0; i < m->count; i++)
        if (m->list[i].temporary >= 0)
            memcpy(room + m->list[i].temporary, c->address[m->list[i].from], m->list[i].bytes);
    for (int i = 0; i < m->count; i++)
        if (m->list[i].zeros)
            memset(c->address[m->list[i].to], 0, m->list[i].bytes);
        else if (m->list[i].temporary < 0 && c->address[m->list[i].to] != c->address[m->list[i].from])
            memmove(c->address[m->list[i].to], c->address[m->list[i].from], m->list[i].bytes);
    for (int i = 0; i < m->count; i++)
        if (m->list[i].temporary >= 0)
            memcpy(c->address[m->list[i].to], room + m->list[i].temporary, m->list[i].bytes);
}

static bool test_holds(const struct context *c, const struct control *k)
{
    return *(const char *)c->address[k->test] != 0;
}

void plan_loops(const struct context *c, struct bound *b)
{
    for (int i = 0; i < c->m->p->ncalls; i++) {
        const struct call *call = &c->m->p->calls[i];
        struct control *k = b->control[i];
        if (k && call->op == OP_while)
            k->loop = quick_loop(c, b, call->regions[0], call->regions[1], k->test, &k->each, k->room);
    }
}

/* Steps that the code leaves to the region are run in it. */
static bool run_code(struct context *c, int region, struct quick_region *code,
                     const struct run_by *run, struct diag *d)
{
    if (c->depth >= MAX_DEPTH)
        return fail(d, "regions are nested deeper than %d", MAX_DEPTH);
    c->running[++c->depth] = region;
    bool done = limits_steps(c, code->steps, d) && quick_run(c, code, run->step, d);
    c->depth--;
    return done || fail_in(d, "turn %lld", (long long)code->trips);
}

static bool run_loop(struct context *c, const struct call *call, const struct control *k,
                     const struct run_by *run, struct diag *d)
{
    move_all(c, &k->before, k->room);
    if (k->loop && !c->profile) {
        if (!run_code(c, call->regions[1], k->loop, run, d))
            return false;
        move_all(c, &k->after, k->room);
        return true;
    }
    for (int64_t turn = 0;; turn++) {
        if (!run->region(c, call->regions[0], d))
            return fail_in(d, "turn %lld", (long long)turn);
        if (!test_holds(c, k))
            break;
        if (!run->region(c, call->regions[1], d))
            return fail_in(d, "turn %lld", (long long)turn);
        move_all(c, &k->each, k->room);
    }
    move_all(c, &k->after, k->room);
    return true;
}

bool run_control(struct context *c, const struct call *call, const struct control *k,
                 const struct run_by *run, struct diag *d)
{
    if (call->op == OP_while)
        return run_loop(c, call, k, run, d);
    int taken = test_holds(c, k) ? 0 : 1;
    if (!run->region(c, call->regions[taken], d))
        return false;
    move_all(c, &k->branch[taken], k->room);
    return true;
}
