#include "frontend/onnx/sort.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 64 };

struct node_output { /* which node computes the name */
    const char *name;
    size_t node;
};

struct sorter {
    struct arena *a;
    Onnx__NodeProto *const *nodes;
    size_t n;
    struct node_output *outputs;
    size_t noutputs;
    size_t *needs; /* of all nodes, one after another */
    int nneeds, needs_cap;
    size_t *first; /* where a node's begin */
};

static int by_name(const void *x, const void *y)
{
    const struct node_output *a = x, *b = y;
    int order = strcmp(a->name, b->name);
    return order ? order : a->node < b->node ? -1 : a->node > b->node;
}

static void list_outputs(struct sorter *s)
{
    size_t total = 0;
    for (size_t i = 0; i < s->n; i++)
        total += s->nodes[i]->n_output;
    s->outputs = ARENA_ARRAY(s->a, struct node_output, total + 1);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->nodes[i]->n_output; k++)
            if (*s->nodes[i]->output[k])
                s->outputs[s->noutputs++] = (struct node_output){s->nodes[i]->output[k], i};
    qsort(s->outputs, s->noutputs, sizeof *s->outputs, by_name);
}

/* Notes that node `at` reads the name, when a node of the list computes it. */
static void need(struct sorter *s, size_t at, const char *name)
{
    size_t low = 0, high = s->noutputs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(s->outputs[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->noutputs || strcmp(s->outputs[low].name, name) != 0 || s->outputs[low].node == at)
        return;
    ARENA_GROW(s->a, s->needs, s->nneeds, s->needs_cap);
    s->needs[s->nneeds++] = s->outputs[low].node;
}

/* Operands, and what subgraphs read from around them. */
static void need_all(struct sorter *s, size_t at, const Onnx__NodeProto *node, int depth)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i])
            need(s, at, node->input[i]);
    for (size_t i = 0; depth < MAX_NESTING && i < node->n_attribute; i++) {
        const Onnx__GraphProto *g = node->attribute[i]->g;
        for (size_t k = 0; g && k < g->n_node; k++)
            need_all(s, at, g->node[k], depth + 1);
        for (size_t k = 0; g && k < g->n_output; k++)
            if (g->output[k]->name)
                need(s, at, g->output[k]->name);
    }
}

static Onnx__NodeProto *const *sorted(struct sorter *s)
{
    enum { NEW, OPEN, DONE };
    Onnx__NodeProto **order = ARENA_ARRAY(s->a, Onnx__NodeProto *, s->n);
    char *state = ARENA_ARRAY(s->a, char, s->n);
    size_t *stack = ARENA_ARRAY(s->a, size_t, s->n + 1), *next = ARENA_ARRAY(s->a, size_t, s->n);
    size_t done = 0, depth;
    for (size_t i = 0; i < s->n; i++)
        next[i] = s->first[i];
    for (size_t i = 0; i < s->n; i++) {
        depth = 0;
        if (state[i] == NEW)
            stack[depth++] = i, state[i] = OPEN;
        while (depth) {
            size_t at = stack[depth - 1];
            if (next[at] == s->first[at + 1]) {
                state[at] = DONE;
                order[done++] = s->nodes[at];
                depth--;
                continue;
            }
            size_t before = s->needs[next[at]++];
            if (state[before] == NEW)
                stack[depth++] = before, state[before] = OPEN;
        }
    }
    return order;
}

Onnx__NodeProto *const *nodes_in_order(struct arena *a, Onnx__NodeProto *const *nodes, size_t n)
{
    struct sorter s = {.a = a, .nodes = nodes, .n = n};
    bool in_order = true;
    list_outputs(&s);
    s.first = ARENA_ARRAY(a, size_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        need_all(&s, i, nodes[i], 0);
        s.first[i + 1] = (size_t)s.nneeds;
        for (size_t k = s.first[i]; k < s.first[i + 1]; k++)
            in_order &= s.needs[k] < i;
    }
    return in_order ? nodes : sorted(&s);
}
