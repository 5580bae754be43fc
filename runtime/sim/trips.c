/*
 * How often loops turn, and which branches are taken, from the trace of a run (xrun --profile): what the body's steps
 * did while the loop's call lasted.
 */
#include "neff/base/json.h"
#include "runtime/sim/sim.h"

#include <stdlib.h>
#include <string.h>

struct traced { /* one event */
    double start, end;
    bool call;
    const char *name, *node; /* "" where it has none */
};

struct trace {
    struct traced *events;
    int n, cap;
    struct arena *arena;
};

/* The node that an event's arguments name. */
static const char *read_node(struct json_reader *r, struct arena *a)
{
    const char *key, *node = "";
    json_enter(r, '{');
    while ((key = json_read_key(r)))
        if (!strcmp(key, "node"))
            node = json_read_text(r, a);
        else
            json_skip(r);
    return node;
}

static struct traced read_event(struct json_reader *r, struct arena *a)
{
    struct traced e = {.name = "", .node = ""};
    double length = 0;
    const char *key;
    json_enter(r, '{');
    while ((key = json_read_key(r))) {
        if (!strcmp(key, "ts"))
            e.start = json_read_number(r);
        else if (!strcmp(key, "dur"))
            length = json_read_number(r);
        else if (!strcmp(key, "cat"))
            e.call = !strcmp(json_read_word(r), "call");
        else if (!strcmp(key, "name"))
            e.name = json_read_text(r, a);
        else if (!strcmp(key, "args"))
            e.node = read_node(r, a);
        else
            json_skip(r);
    }
    e.end = e.start + length;
    return e;
}

static bool read_trace(struct trace *t, const char *text, size_t size, struct diag *d)
{
    struct json_reader r = json_reader(text, size);
    const char *key;
    json_enter(&r, '{');
    while ((key = json_read_key(&r))) {
        if (strcmp(key, "traceEvents")) {
            json_skip(&r);
            continue;
        }
        json_enter(&r, '[');
        while (json_read_element(&r)) {
            ARENA_GROW(t->arena, t->events, t->n, t->cap);
            t->events[t->n++] = read_event(&r, t->arena);
        }
    }
    return json_done(&r) || fail(d, "line %d: %s; expected what xrun --profile writes", json_line(&r), r.problem);
}

/* What events of a step have: a kernel its name, a call its node. */
static const char *mark_of(const struct program *p, const struct step *s)
{
    if (s->kind == STEP_LAUNCH)
        return p->kernels[s->index].name ? p->kernels[s->index].name : "";
    int node = p->calls[s->index].node;
    return node >= 0 && p->nodes[node].name ? p->nodes[node].name : "";
}

static bool has_mark(const struct traced *e, bool call, const char *mark)
{
    return e->call == call && !strcmp(call ? e->node : e->name, mark);
}

struct spans { /* of a call's events, by their starts */
    const struct traced **all;
    int n;
};

static int by_start(const void *a, const void *b)
{
    double x = (*(const struct traced *const *)a)->start, y = (*(const struct traced *const *)b)->start;
    return (x > y) - (x < y);
}

static struct spans spans_of(const struct trace *t, const char *node)
{
    struct spans s = {ARENA_ARRAY(t->arena, const struct traced *, t->n + 1), 0};
    for (int i = 0; i < t->n; i++)
        if (has_mark(&t->events[i], true, node))
            s.all[s.n++] = &t->events[i];
    qsort(s.all, (size_t)s.n, sizeof *s.all, by_start);
    return s;
}

/* Whether it began while the last of them that had begun before lasted. */
static bool is_within(const struct traced *e, const struct spans *s)
{
    int low = 0, high = s->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->all[middle]->start <= e->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && s->all[low - 1] != e && e->start <= s->all[low - 1]->end;
}

/* How often a region ran in these calls: by what its steps did. */
static int64_t turns_of(const struct program *p, const struct trace *t, const struct program_region *g,
                        const struct spans *calls)
{
    const char **marks = ARENA_ARRAY(t->arena, const char *, g->nsteps + 1);
    int64_t most = 0;
    for (int i = 0; i < g->nsteps; i++)
        marks[i] = mark_of(p, &g->steps[i]);
    for (int i = 0; i < g->nsteps; i++) {
        bool call = g->steps[i].kind == STEP_CALL;
        int64_t n = 0, alike = 0;
        for (int k = 0; k < g->nsteps; k++)
            alike += (g->steps[k].kind == STEP_CALL) == call && !strcmp(marks[k], marks[i]);
        for (int k = 0; k < t->n; k++)
            n += has_mark(&t->events[k], call, marks[i]) && is_within(&t->events[k], calls);
        most = n / alike > most ? n / alike : most;
    }
    return most;
}

int sim_trips_of_trace(const struct program *p, const char *text, size_t size, struct sim_trips *trips, int max,
                       struct arena *a, struct diag *d)
{
    struct trace t = {.arena = a};
    int n = 0;
    if (!read_trace(&t, text, size, d))
        return -1;
    for (int i = 0; i < p->ncalls && n < max; i++) {
        const struct call *c = &p->calls[i];
        const char *name = c->nregions && c->node >= 0 ? p->nodes[c->node].name : NULL;
        if (!name || !*name)
            continue;
        struct spans calls = spans_of(&t, name);
        int64_t turns = 0;
        for (int r = 0; calls.n && r < (c->op == OP_if ? 1 : c->nregions); r++) {
            int64_t of_region = turns_of(p, &t, &p->regions[c->regions[r]], &calls);
            turns = of_region > turns ? of_region : turns;
        }
        if (calls.n)
            trips[n++] = (struct sim_trips){name, (turns + calls.n / 2) / calls.n};
    }
    return n;
}
