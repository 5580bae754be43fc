/*
 * pass loop_updates: what the body of a while puts, or adds, into arrays, done in their memory.
 *
 *   scatter_windows(x, i, u)   of a few elements: dynamic_update_slice(x, v, i), where v is the update, combined with
 *                              what lies there, if all of the window fits, else what lies there
 *   any update of x            after all that reads x as it was, so far as that does not read the result
 *
 * The routine that scatters costs more than a trip of such a loop, in which slices of a few elements are code
 * (runtime/exec/quick.h). Requires inferred types; windows that always fit are those of pass counters.
 */
#include "passes/match.h"
#include "passes/one_window.h"
#include "passes/rewrite.h"

enum { MAX_ELEMENTS = 16 };

/* ---- a few elements ---- */

static bool in_loop(const struct node *n)
{
    const struct node *loop = n->parent->owner;
    return loop && loop->op == OP_while && n->parent == loop->regions[1];
}

static bool is_small(const struct one_window *w)
{
    int64_t elements = 1;
    for (int i = 0; i < w->rank && elements <= MAX_ELEMENTS; i++)
        elements *= w->size[i];
    return elements <= MAX_ELEMENTS;
}

/* The operator that combines old and new; OP_COUNT: none of two operands. */
static enum op combining_op(const struct node *n)
{
    const enum op op = op_from_attr(&n->attrs, "combine");
    return op != OP_COUNT && op_infos[op].flags & OPF_ELEMENTWISE && op_infos[op].min_in == 2 ? op : OP_COUNT;
}

/* Whether all of the window fits: a bool of rank 0. */
static struct value *fits(struct builder *b, const struct one_window *w)
{
    struct value *all = NULL;
    for (int i = 0; i < w->rank; i++) {
        if (!w->start[i])
            continue;
        struct value *at = b_reshape_to(b, w->start[i], NULL, 0);
        struct value *from = at ? b_2(b, OP_ge, at, b_like(b, at, 0)) : NULL;
        struct value *to = from ? b_2(b, OP_le, at, b_like(b, at, (double)w->last[i])) : NULL;
        struct value *both = to ? b_2(b, OP_and, from, to) : NULL;
        all = !both ? NULL : all ? b_2(b, OP_and, all, both) : both;
        if (!all)
            return NULL;
    }
    return all;
}

static struct value *old_window(struct builder *b, const struct node *n, const struct one_window *w, struct value *at)
{
    struct attrs as = {0};
    attr_set_ints(&b->g->arena, &as, "sizes", w->size, w->rank);
    return b_op(b, OP_dynamic_slice, (struct value *[]){n->in[0], at}, 2, &as);
}

static bool put_few(struct node *n, void *user)
{
    struct rewriter *r = user;
    struct one_window w;
    if (n->op != OP_scatter_windows || !in_loop(n) || !find_one_window(n, &w) || !is_small(&w))
        return true;
    const bool replaces = attr_is(&n->attrs, "combine", "second");
    const enum op op = combining_op(n);
    if (!replaces && op == OP_COUNT)
        return true;
    struct builder b = builder_before(n, r->d);
    struct value *at = window_starts(&b, &w), *update = at ? window_updates(&b, n, &w) : NULL;
    struct value *old = update ? old_window(&b, n, &w, at) : NULL, *all = old ? fits(&b, &w) : NULL;
    struct value *made = !all || replaces ? update : b_2(&b, op, old, update);
    struct value *chosen = all && made ? b_select(&b, all, made, old) : NULL;
    why(r->o, n, "loop_updates", "a few elements in a loop: put in place by dynamic_update_slice");
    struct value *in[] = {n->in[0], chosen, at};
    return node_replace(n, chosen ? b_op(&b, OP_dynamic_update_slice, in, 3, NULL) : NULL);
}

/* ---- order ---- */

/* The node of the region that is n or has it in a region of its own; NULL: it is elsewhere. */
static const struct node *within(const struct node *n, const struct region *r)
{
    while (n && n->parent != r)
        n = n->parent->owner;
    return n;
}

static bool reads(const struct node *n, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (within(u->node, n->parent) == n)
            return true;
    return false;
}

/* Once: two updates that each read what the other changes would pass each other for ever. `user`: by the node's number,
 * whether it had its turn. */
static bool put_last(struct node *n, void *user)
{
    bool *seen = user;
    bool read_before = false;
    if (!(op_infos[n->op].flags & OPF_UPDATES) || n->nout != 1 || !in_loop(n) || seen[n->id])
        return true;
    seen[n->id] = true;
    struct node *first = n->next;
    while (first && !reads(first, n->out[0])) {
        read_before |= reads(first, n->in[0]);
        first = first->next;
    }
    if (!first || !read_before)
        return true;
    node_unlink(n);
    node_insert_before(first, n);
    return true;
}

bool pass_loop_updates(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter r = {g, o, d};
    struct arena scratch = {0};
    if (!for_each_node(g->main, put_few, &r))
        return false;
    bool ok = for_each_node(g->main, put_last, ARENA_ARRAY(&scratch, bool, g->next_node + 1));
    arena_free(&scratch);
    remove_dead(g);
    return ok;
}
