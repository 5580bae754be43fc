/*
 * How often loops turn, and which branches are taken, from the trace of a run (xrun --profile): what the body's steps
 * did while the loop's call lasted.
 */
#include "neff/base/json.h"
#include "runtime/sim/sim.h"

#include <stdlib.h>
#include <string.h>

struct traced { /* one event; name and node as JSON has them, quotes included */
    double start, end;
    bool call;
    const char *name, *node;
};

struct trace {
    struct traced *events;
    int n, cap;
    struct arena *arena;
};

/* The text behind `"key":`, up to the string's other quote. */
static const char *string_of(const char *line, const char *key, struct arena *a)
{
    const char *from = strstr(line, key);
    if (!from)
        return "";
    from += strlen(key);
    size_t n = 1;
    while (from[n] && from[n] != '"')
        n += from[n] == '\\' && from[n + 1] ? 2 : 1;
    return arena_strndup(a, from, n + 1);
}

static void read_trace(struct trace *t, const char *text, size_t size)
{
    char *line = arena_strndup(t->arena, text, size), *next;
    for (; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const char *start = strstr(line, "\"ts\":"), *length = strstr(line, "\"dur\":");
        if (!start || !length)
            continue;
        ARENA_GROW(t->arena, t->events, t->n, t->cap);
        struct traced *e = &t->events[t->n++];
        e->start = strtod(start + 5, NULL);
        e->end = e->start + strtod(length + 6, NULL);
        e->call = strstr(line, "\"cat\":\"call\"") != NULL;
        e->name = string_of(line, "\"name\":", t->arena);
        e->node = string_of(line, "\"node\":", t->arena);
    }
}

static const char *as_json(const char *s, struct arena *a)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        arena_out_of_memory(1);
    json_print_text(f, s ? s : "", s ? strlen(s) : 0, "");
    fclose(f);
    const char *copy = arena_strndup(a, text, size);
    free(text);
    return copy;
}

/* What events of a step have: a kernel its name, a call its node. */
static const char *mark_of(const struct program *p, const struct step *s, struct arena *a)
{
    if (s->kind == STEP_LAUNCH)
        return as_json(p->kernels[s->index].name, a);
    int node = p->calls[s->index].node;
    return as_json(node >= 0 ? p->nodes[node].name : "", a);
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
        marks[i] = mark_of(p, &g->steps[i], t->arena);
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
                       struct arena *a)
{
    struct trace t = {.arena = a};
    int n = 0;
    read_trace(&t, text, size);
    for (int i = 0; i < p->ncalls && n < max; i++) {
        const struct call *c = &p->calls[i];
        const char *name = c->nregions && c->node >= 0 ? p->nodes[c->node].name : NULL;
        if (!name || !*name)
            continue;
        struct spans calls = spans_of(&t, as_json(name, a));
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
