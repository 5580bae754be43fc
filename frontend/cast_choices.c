/* Which outputs hold choices, and by what floats those are made. */
#include "frontend/cast_trial.h"

#include <string.h>

enum { MAX_FURTHER = 32 };

/* The result is a choice among elements: it jumps when two of them are close. */
static bool chooses(const struct node *n, int result)
{
    switch (n->op) {
    case OP_topk:
    case OP_max_pool:
        return result == 1;
    case OP_sort:
        return n->nout > 1;
    case OP_argmax:
    case OP_argmin:
    case OP_nonzero:
    case OP_unique:
    case OP_non_max_suppression:
        return true;
    default:
        return (op_infos[n->op].flags & OPF_IMPURE) && n->nin > 0;
    }
}

struct choice_walk {
    struct graph *g;
    bool *chosen; /* by value id: depends on a choice */
    bool *seen;
    struct value **further;
    int nfurther;
    bool found;
};

static bool look_inside(struct node *n, void *user)
{
    struct choice_walk *w = user;
    for (int i = 0; i < n->nout; i++)
        w->found |= chooses(n, i);
    for (int i = 0; i < n->nin; i++)
        w->found |= n->in[i] && w->chosen && w->chosen[n->in[i]->id];
    return true;
}

static bool is_float_tensor(const struct value *v)
{
    return v->type.kind == VK_TENSOR && dtype_is_float(v->type.dtype);
}

/* Values are computed after their operands: one walk does. */
static void mark_chosen(struct choice_walk *w)
{
    for (struct node *n = w->g->main->first; n; n = n->next) {
        w->found = false;
        for (int i = 0; i < n->nin; i++)
            w->found |= n->in[i] && w->chosen[n->in[i]->id];
        for (int r = 0; r < n->nregions; r++)
            region_walk(n->regions[r], look_inside, w);
        bool operands = w->found;
        for (int i = 0; i < n->nout; i++)
            w->chosen[n->out[i]->id] = operands || chooses(n, i);
    }
}

/* From what holds a choice back to the first floats that hold none. */
static void find_further(struct choice_walk *w, const struct value *from)
{
    struct arena scratch = {0};
    const struct value **stack = ARENA_ARRAY(&scratch, const struct value *, w->g->next_value + 1);
    int depth = 0;
    stack[depth++] = from;
    w->seen[from->id] = true;
    while (depth > 0) {
        const struct node *n = stack[--depth]->def;
        if (!n || (op_infos[n->op].flags & OPF_SHAPE_ONLY))
            continue;
        for (int i = 0; i < n->nin; i++) {
            struct value *v = n->in[i];
            if (!v || !v->def || w->seen[v->id])
                continue;
            w->seen[v->id] = true;
            if (!is_float_tensor(v) || w->chosen[v->id])
                stack[depth++] = v;
            else if (w->nfurther < MAX_FURTHER)
                w->further[w->nfurther++] = v;
        }
    }
    arena_free(&scratch);
}

static void add_outputs(struct choice_walk *w)
{
    struct graph *g = w->g;
    const char **names = ARENA_ARRAY(&g->arena, const char *, g->noutputs + w->nfurther + 1);
    memcpy(names, g->output_names, sizeof *names * (size_t)g->noutputs);
    for (int i = 0; i < w->nfurther; i++) {
        struct value *v = w->further[i];
        node_add_input(g, region_return(g->main), v);
        names[g->noutputs + i] =
            arena_printf(&g->arena, "%s", v->name && *v->name ? v->name : "(a value)");
    }
    g->output_names = names;
    g->noutputs += w->nfurther;
}

/* Whether there can be a choice: an operator that makes one, or an output that is no float. */
static bool may_choose(struct graph *g)
{
    struct choice_walk w = {.g = g};
    region_walk(g->main, look_inside, &w);
    const struct node *ret = region_return(g->main);
    for (int i = 0; i < ret->nin; i++)
        w.found |= ret->in[i] && ret->in[i]->type.kind == VK_TENSOR &&
                   ret->in[i]->type.dtype != DT_NONE && !is_float_tensor(ret->in[i]);
    return w.found;
}

bool choices_find(struct graph *g, struct choices *out, struct diag *d)
{
    const struct node *ret = region_return(g->main);
    int n = g->noutputs;
    *out = (struct choices){.noutputs = n,
                            .held = ARENA_ARRAY(&g->arena, bool, n + MAX_FURTHER + 1)};
    if (!infer_types(g, d))
        return false;
    if (!may_choose(g))
        return true;
    struct choice_walk w = {.g = g,
                     .chosen = ARENA_ARRAY(&g->arena, bool, g->next_value + 1),
                     .seen = ARENA_ARRAY(&g->arena, bool, g->next_value + 1),
                     .further = ARENA_ARRAY(&g->arena, struct value *, MAX_FURTHER)};
    mark_chosen(&w);
    for (int i = 0; i < n; i++) {
        const struct value *v = ret->in[i];
        out->held[i] = v && (w.chosen[v->id] || !is_float_tensor(v));
        if (out->held[i])
            find_further(&w, v);
    }
    add_outputs(&w);
    out->extra = w.nfurther;
    out->noutputs = g->noutputs;
    return true;
}
