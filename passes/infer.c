/*
 * Types and small contents of all values, by the shape rules of runtime/ops. Symbols that an
 * operator defines while running keep their names when a graph is inferred again.
 */
#include "passes/evaluate.h"
#include "passes/ir/guards.h"
#include "passes/known_parts.h"
#include "passes/pass.h"
#include "runtime/ops/common/ops.h"

#include <string.h>

struct infer_frame { /* one shape rule at work */
    struct graph *g;
    struct node *n;
    int first;            /* number of its first new symbol */
    struct type **before; /* per region: types of the parameters when it was inferred before */
    struct guard *guards; /* what the rule assumed */
    int nguards, guards_cap;
};

static struct content read_content(struct infer *f, int i)
{
    struct content unknown = {NULL, -1};
    const struct infer_frame *at = f->user;
    struct value *v = at->n->in[i];
    if (!v)
        return unknown;
    if (v->content.n < 0 && v->constant && v->constant->kind == VK_TENSOR &&
        tensor_count(v->constant) <= MAX_CONTENT) {
        struct content c = content_of_tensor(f->arena, v->constant);
        v->content = (struct content_list){c.v, c.n};
    }
    return (struct content){v->content.v, v->content.n};
}

static struct content read_known(struct infer *f, int i)
{
    dim_t known[KNOWN_PARTS];
    const struct infer_frame *at = f->user;
    int n = at->n->in[i] ? known_parts(at->n->in[i], known) : -1;
    return (struct content){n > 0 ? arena_copy(f->arena, known, sizeof *known * (size_t)n) : NULL, n > 0 ? n : -1};
}

static const struct tensor *constant_operand(struct infer *f, int i)
{
    const struct infer_frame *at = f->user;
    struct value *v = at->n->in[i];
    return v ? known_tensor(v) : NULL;
}

static bool infer_body(struct graph *g, struct region *r, struct diag *d)
{
    for (struct node *n = r->first; n; n = n->next)
        if (n->op != OP_return && !infer_node(g, n, d))
            return false;
    return true;
}

static bool infer_region(struct infer *f, int index, const struct type *params, int nparams,
                         struct type *results, int max_results, int *nresults)
{
    const struct infer_frame *at = f->user;
    if (index < 0 || index >= at->n->nregions)
        return fail(f->d, "region %d is missing", index);
    struct region *r = at->n->regions[index];
    if (nparams != r->nparams)
        return fail(f->d, "region %d has %d parameters, expected %d", index, r->nparams, nparams);
    for (int i = 0; i < nparams; i++) {
        if (params[i].kind != VK_NONE)
            r->params[i]->type = params[i];
        r->params[i]->content.n = -1;
    }
    if (!infer_body(at->g, r, f->d))
        return false;
    struct node *ret = region_return(r);
    if (!ret || ret->op != OP_return)
        return fail_internal(f->d, "a region does not end with return");
    if (ret->nin > max_results)
        return fail(f->d, "region %d has %d results, expected at most %d", index, ret->nin,
                    max_results);
    *nresults = ret->nin;
    for (int i = 0; i < ret->nin; i++)
        results[i] = ret->in[i] ? ret->in[i]->type : (struct type){.kind = VK_NONE};
    return true;
}

/* The symbol that the dim had before, so that inferring again changes nothing. */
static dim_t varying_dim(struct infer *f, int region, int param, int dim, dim_t operand)
{
    const struct infer_frame *at = f->user;
    const struct type *old = &at->before[region][param];
    if (old->kind == VK_TENSOR && old->rank > dim && old->dims[dim] != operand) {
        int symbol = dim_as_symbol(f->dims, old->dims[dim]);
        if (symbol >= 0 && symbol < at->first &&
            !strncmp(f->dims->symbols[symbol].name, "turn.", 5))
            return old->dims[dim];
    }
    return infer_unknown(f, "turn");
}

static struct type **parameter_types(struct graph *g, const struct node *n)
{
    struct type **types = ARENA_ARRAY(&g->arena, struct type *, n->nregions);
    for (int r = 0; r < n->nregions; r++) {
        types[r] = ARENA_ARRAY(&g->arena, struct type, n->regions[r]->nparams + 1);
        for (int i = 0; i < n->regions[r]->nparams; i++)
            types[r][i] = n->regions[r]->params[i]->type;
    }
    return types;
}

static void note_guard(struct infer *f, const struct guard *guard)
{
    struct infer_frame *at = f->user;
    ARENA_GROW(f->arena, at->guards, at->nguards, at->guards_cap);
    at->guards[at->nguards++] = *guard;
}

static const char *operand_name(struct infer *f, int i)
{
    const struct infer_frame *at = f->user;
    return i < at->n->nin && at->n->in[i] ? at->n->in[i]->name : NULL;
}

/* The node for the message of a guard: by its name, or by what it makes. */
static const char *guarded_node(struct graph *g, const struct node *n)
{
    if (n->name && *n->name)
        return arena_printf(&g->arena, "node '%.200s'", n->name);
    return arena_printf(&g->arena, "%s%s", n->nout && n->out[0]->name ? "the " : "",
                        node_text(g, n));
}

static void keep_guards(struct graph *g, struct node *n, struct infer_frame *at, const dim_t *with)
{
    for (int i = 0; i < at->nguards; i++) {
        struct guard *guard = &at->guards[i];
        if (with) {
            guard->a = dim_substitute(&g->dims, guard->a, with);
            guard->b = dim_substitute(&g->dims, guard->b, with);
        }
        guard->node = guarded_node(g, n);
        graph_add_guard(g, guard, n->parent, n);
    }
}

/* New runtime symbols (from number `first` on) get the names that the results had before: what
 * stands for each symbol, or NULL. */
static const dim_t *keep_symbols(struct graph *g, struct node *n, struct infer *f, int first)
{
    int count = g->dims.nsymbols;
    if (count == first)
        return NULL;
    dim_t *with = ARENA_ARRAY(&g->arena, dim_t, count);
    bool any = false;
    for (int i = 0; i < count; i++)
        with[i] = DIM_NOT_BOUND;
    for (int i = 0; i < n->nout; i++) {
        const struct type *old = &n->out[i]->type, *new = &f->out[i];
        if (old->kind != VK_TENSOR || new->kind != VK_TENSOR || old->rank != new->rank)
            continue;
        for (int k = 0; k < new->rank; k++) {
            int symbol = dim_as_symbol(&g->dims, new->dims[k]);
            int before = dim_as_symbol(&g->dims, old->dims[k]);
            if (symbol >= first && before >= 0 && before < first &&
                g->dims.symbols[before].runtime && with[symbol] == DIM_NOT_BOUND) {
                with[symbol] = old->dims[k];
                any = true;
            }
        }
    }
    if (!any)
        return NULL;
    for (int i = 0; i < n->nout; i++)
        for (int k = 0; k < f->out[i].rank; k++)
            f->out[i].dims[k] = dim_substitute(&g->dims, f->out[i].dims[k], with);
    for (int i = 0; i < n->nout; i++) {
        dim_t *v = (dim_t *)f->result[i].v;
        for (int64_t k = 0; k < f->result[i].n; k++)
            v[k] = dim_substitute(&g->dims, v[k], with);
    }
    return with;
}

bool infer_node(struct graph *g, struct node *n, struct diag *d)
{
    struct arena *a = &g->arena;
    struct infer_frame frame = {
        .g = g,
        .n = n,
        .first = g->dims.nsymbols,
        .before = n->nregions ? parameter_types(g, n) : NULL,
    };
    struct type *types = ARENA_ARRAY(a, struct type, n->nin + n->nout + 1);
    for (int i = 0; i < n->nin; i++)
        types[i] = n->in[i] ? n->in[i]->type : (struct type){.kind = VK_NONE};
    struct content *contents = ARENA_ARRAY(a, struct content, n->nout + 1);
    for (int i = 0; i < n->nout; i++) {
        types[n->nin + i].kind = VK_NONE;
        contents[i].n = -1;
    }
    struct infer f = {.op = n->op,
                      .attrs = &n->attrs,
                      .dims = &g->dims,
                      .arena = a,
                      .d = d,
                      .nin = n->nin,
                      .nout = n->nout,
                      .nregions = n->nregions,
                      .in = types,
                      .out = types + n->nin,
                      .result = contents,
                      .read = read_content,
                      .read_known = read_known,
                      .constant = constant_operand,
                      .region = infer_region,
                      .varying = varying_dim,
                      .guard = note_guard,
                      .name = operand_name,
                      .user = &frame};
    if (!infer_run(&f))
        return fail_in(d, "%s", node_text(g, n));
    keep_guards(g, n, &frame, keep_symbols(g, n, &f, frame.first));
    for (int i = 0; i < n->nout; i++) {
        n->out[i]->type = f.out[i];
        n->out[i]->content = (struct content_list){contents[i].v, contents[i].n};
    }
    return compute_results(g, n, d);
}

/*
 * Limits of symbols that follow from operators that always run. A dim a against min(a, c), c above
 * 1, as a slice of a constant table of c rows has it: they are equal or do not broadcast, so a is
 * at most c. True when something new was learnt.
 */
static bool learn_limits(struct graph *g, const struct node *n)
{
    bool news = false;
    for (int i = 0; i < n->nin; i++)
        for (int k = 0; k < n->nin; k++) {
            if (!n->in[i] || !n->in[k])
                continue;
            const struct type *x = &n->in[i]->type, *y = &n->in[k]->type;
            for (int at = 1; at <= x->rank && at <= y->rank; at++) {
                dim_t a;
                int64_t max;
                if (dim_is_limited(&g->dims, y->dims[y->rank - at], &a, &max) && max > 1 &&
                    a == x->dims[x->rank - at])
                    news |= dim_at_most(&g->dims, a, max);
            }
        }
    return news;
}

bool infer_types(struct graph *g, struct diag *d)
{
    enum { ROUNDS = 4 };
    bool news = true;
    for (int i = 0; i < ROUNDS && news; i++) {
        news = false;
        if (!(g->typed = infer_body(g, g->main, d)))
            return false;
        for (struct node *n = g->main->first; n; n = n->next)
            if (n->op == OP_where || op_infos[n->op].flags & OPF_ELEMENTWISE)
                news |= learn_limits(g, n);
    }
    return true;
}

bool pass_infer(struct graph *g, const struct options *o, struct diag *d)
{
    return infer_types(g, d);
}
