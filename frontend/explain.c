#include "frontend/explain.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool explain_wanted(const struct command *c)
{
    return c->explain || c->explain_nodes || c->explain_node;
}

/* Decisions by their codes or families, in the order of the summary; the others come after them. */
static const struct {
    const char *code, *title;
} titles[] = {
    {"autocast.cast", "cast"},
    {"autocast.recurrent", "cast"},
    {"autocast.depthwise", "cast"},
    {"autocast", "kept in FP32"},
    {"fuse.group", "fused"},
    {"fuse", "not fused"},
    {"tile", "no tile program"},
    {"winograd", "Winograd"},
    {"quantize", "quantised"},
    {"compose", "recognised"},
    {"take", "taken before"},
    {"decompose", "decomposed"},
    {"fold", "folded"},
    {"simplify", "simplified"},
};
enum { NTITLES = sizeof titles / sizeof *titles, SHOWN = 3 };

struct reason_group { /* decisions that differ in names and numbers only */
    const char *pattern;
    const struct reason *first;
    bool same; /* word for word */
    int family, count, order;
    const char *names[SHOWN];
};

static int family_of(const char *code)
{
    for (int i = 0; i < NTITLES; i++) {
        size_t n = strlen(titles[i].code);
        if (!strncmp(titles[i].code, code, n) && (!code[n] || code[n] == '.'))
            return i;
    }
    return NTITLES;
}

/* The text with names as '...' and numbers as N. */
static const char *pattern_of(struct arena *a, const struct reason *r)
{
    char *out = arena_printf(a, "%s: %s", r->code, r->text);
    const char *from = out;
    char *to = out;
    while (*from) {
        const char *end = *from == '\'' ? strchr(from + 1, '\'') : NULL;
        if (end && end - from >= 4) {
            memcpy(to, "'..'", 4);
            to += 4, from = end + 1;
        } else if (isdigit((unsigned char)*from) && !isalnum((unsigned char)(to > out ? to[-1] : 0))) {
            from += strspn(from, "0123456789.");
            *to++ = 'N';
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
    return out;
}

static int by_pattern(const void *a, const void *b)
{
    const struct reason_group *x = a, *y = b;
    int patterns = strcmp(x->pattern, y->pattern);
    return patterns ? patterns : x->order - y->order;
}

static int by_weight(const void *a, const void *b)
{
    const struct reason_group *x = a, *y = b;
    return x->family != y->family ? x->family - y->family
           : x->count != y->count ? y->count - x->count
                                  : x->order - y->order;
}

/* One group per pattern, in place; how many. */
static int merge(struct reason_group *g, int n)
{
    int groups = 0;
    if (n)
        qsort(g, (size_t)n, sizeof *g, by_pattern);
    for (int i = 0; i < n; i++) {
        if (!groups || strcmp(g[groups - 1].pattern, g[i].pattern)) {
            g[groups++] = g[i];
            continue;
        }
        struct reason_group *into = &g[groups - 1];
        if (into->count < SHOWN)
            into->names[into->count] = g[i].names[0];
        into->same &= !strcmp(into->first->text, g[i].first->text);
        into->count++;
    }
    if (groups)
        qsort(g, (size_t)groups, sizeof *g, by_weight);
    return groups;
}

static void print_group(const struct reason_group *g)
{
    const char *text = g->same ? g->first->text : strchr(g->pattern, ':') + 2;
    const char *title = g->family < NTITLES ? titles[g->family].title : g->first->code;
    fprintf(stderr, "  %-16s %5d  %s", title, g->count, text);
    for (int i = 0; i < g->count && i < SHOWN; i++)
        fprintf(stderr, "%s%.60s", i ? ", " : ": ", g->names[i]);
    fprintf(stderr, "%s\n", g->count > SHOWN ? ", ..." : "");
}

/* Operators that run by their plain routines, and how many of each. */
static void print_calls(const struct program *p)
{
    for (int i = 0; i < p->ncalls; i++) {
        int count = 0, before = 0;
        for (int k = 0; k < p->ncalls; k++) {
            count += p->calls[k].op == p->calls[i].op;
            before += k < i && p->calls[k].op == p->calls[i].op;
        }
        const struct program_node *n =
            p->calls[i].node >= 0 ? &p->nodes[p->calls[i].node] : NULL;
        if (!before)
            fprintf(stderr, "  %-16s %5d  %s, by its plain routine: %.60s%s\n", "called", count,
                    op_name(p->calls[i].op), n && n->name ? n->name : "unnamed",
                    count > 1 ? ", ..." : "");
    }
}

static void print_summary(const struct command *c, const struct reasons *r, const struct program *p)
{
    struct arena scratch = {0};
    struct reason_group *g = ARENA_ARRAY(&scratch, struct reason_group, r->count + 1);
    int n = 0;
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->rows[i].code, "autocast.summary"))
            g[n++] = (struct reason_group){.pattern = pattern_of(&scratch, &r->rows[i]),
                                    .first = &r->rows[i],
                                    .same = true,
                                    .family = family_of(r->rows[i].code),
                                    .count = 1,
                                    .order = i,
                                    .names = {r->rows[i].node}};
    n = merge(g, n);
    fprintf(stderr, "explain: %s: ", c->files[0]);
    if (p)
        fprintf(stderr, "%d tile programs, %d calls of plain routines; ", p->nkernels, p->ncalls);
    fprintf(stderr, "%d decisions (--explain=NODE: those about a node, --explain-nodes: all)\n",
            r->count);
    for (int i = 0; i < n; i++)
        print_group(&g[i]);
    if (p)
        print_calls(p);
    arena_free(&scratch);
}

/* Some of the names that a pattern could have matched. */
static bool no_such_node(const char *pattern, const struct reasons *r, struct diag *d)
{
    char names[200] = "";
    size_t n = 0;
    for (int i = 0; i < r->count && n < sizeof names - 70; i++)
        if (*r->rows[i].node && (!i || strcmp(r->rows[i].node, r->rows[i - 1].node) != 0))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s'%.60s'", n ? ", " : "", r->rows[i].node);
    return fail(d, "--explain=%s: no decision is about a node of that name; %s%s", pattern,
                n ? "decisions are about " : "there are none",
                n ? names : "");
}

bool explain(const struct command *c, const struct reasons *r, const struct program *p, struct diag *d)
{
    if (c->explain)
        print_summary(c, r, p);
    bool any = false;
    for (int i = 0; i < r->count; i++) {
        const struct reason *row = &r->rows[i];
        bool named = c->explain_node && fnmatch(c->explain_node, row->node, 0) == 0;
        any |= named;
        if (c->explain_nodes || named)
            fprintf(stderr, "explain: %s (%s): %s: %s\n", row->node, row->op, row->code, row->text);
    }
    return any || !c->explain_node || no_such_node(c->explain_node, r, d);
}
