/* Control flow: subgraphs become regions. */
#include "frontend/onnx/ops.h"
#include "passes/pass.h"

#include <string.h>

/* The results of a finished control node become the ONNX node's. */
static bool take_results(struct onnx_node *n, struct node *made)
{
    if (diag_failed(n->b->d) || !infer_node(n->b->g, made, n->b->d))
        return false;
    for (int i = 0; i < n->nout && i < made->nout; i++)
        n->out[i] = made->out[i];
    return true;
}

static int results_of(const struct subgraph *s)
{
    return (int)s->graph->n_output;
}

/* 1 or 0 when the condition is known while compiling, else -1. */
static int known_condition(const struct value *v)
{
    const struct tensor *t = b_constant(v);
    if (t && t->dtype == DT_BOOL && tensor_count(t) == 1)
        return tensor_i64(t, 0) != 0;
    return v->content.n == 1 && dim_is_const(v->content.v[0]) ? v->content.v[0] != 0 : -1;
}

/* Only the branch that is taken; the other may not even fit the shapes. */
static bool inline_branch(struct onnx_node *n, const struct subgraph *branch)
{
    int nout = results_of(branch);
    struct value **results = ARENA_ARRAY(&n->b->g->arena, struct value *, nout + 1);
    if (!import_inline(n, branch, NULL, 0, results, nout))
        return false;
    for (int i = 0; i < n->nout; i++)
        n->out[i] = results[i];
    return true;
}

bool lower_if(struct onnx_node *n)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    struct subgraph branches[2];
    for (int i = 0; i < 2; i++)
        if (!node_subgraph(n, names[i], &branches[i]))
            return false;
    if (results_of(&branches[0]) != results_of(&branches[1]) || n->nout > results_of(&branches[0]))
        return NODE_ERROR(n, "the branches have %d and %d outputs, the node %d; expected as many",
                          results_of(&branches[0]), results_of(&branches[1]), n->nout);
    int known = known_condition(n->in[0]);
    if (known >= 0)
        return inline_branch(n, &branches[known ? 0 : 1]);
    struct node *made = b_place(n->b, OP_if, n->in, 1, results_of(&branches[0]), NULL);
    for (int i = 0; i < 2; i++)
        if (!import_region(n, &branches[i], node_add_region(n->b->g, made), NULL, 0))
            return fail_in(n->b->d, "%s", names[i]);
    return take_results(n, made);
}

/* What may be said of a carried value before the body is known: its dims may change from round to
 * round. */
static struct type carried_type(const struct value *v)
{
    struct type t = v ? v->type : type_tensor(DT_NONE, RANK_UNKNOWN, NULL);
    if (t.kind == VK_TENSOR)
        t.rank = RANK_UNKNOWN;
    return t;
}

bool lower_loop(struct onnx_node *n)
{
    struct subgraph body;
    int carried = n->nin > 2 ? n->nin - 2 : 0;
    if (!node_subgraph(n, "body", &body))
        return false;
    if (results_of(&body) < 1 + carried || n->nout > results_of(&body) - 1)
        return NODE_ERROR(
            n,
            "the body has %d outputs, the node %d carried values and %d outputs; expected "
            "a condition, the carried values and the scan outputs",
            results_of(&body), carried, n->nout);
    struct value *in[2] = {b_in(n, 0), b_in(n, 1)};
    struct type *types = ARENA_ARRAY(&n->b->g->arena, struct type, carried + 2);
    types[0] = type_tensor(DT_I64, 0, NULL);
    types[1] = type_tensor(DT_BOOL, 0, NULL);
    for (int i = 0; i < carried; i++)
        types[i + 2] = carried_type(n->in[i + 2]);
    struct node *made =
        b_place(n->b, OP_loop, n->nin > 2 ? n->in : in, 2 + carried, results_of(&body) - 1, NULL);
    return import_region(n, &body, node_add_region(n->b->g, made), types, carried + 2) &&
           take_results(n, made);
}

/* The type of x without dim `axis`. */
static struct type slice_type(const struct value *v, int64_t axis)
{
    struct type t = v ? v->type : type_tensor(DT_NONE, RANK_UNKNOWN, NULL);
    if (t.kind != VK_TENSOR || t.rank < 1)
        return t;
    int at = (int)(axis < 0 ? axis + t.rank : axis);
    if (at < 0 || at >= t.rank)
        return t;
    for (int i = at; i + 1 < t.rank; i++)
        t.dims[i] = t.dims[i + 1];
    t.rank--;
    return t;
}

/* Checks num_scan_inputs against operands and body; the number of states. */
static bool scan_states(struct onnx_node *n, const struct subgraph *body, int operands, int *states)
{
    int64_t scans = attr_int(&n->attrs, "num_scan_inputs", 0);
    if (scans < 1 || scans > operands)
        return NODE_ERROR(n, "attribute 'num_scan_inputs' is %lld, expected 1 to %d",
                          (long long)scans, operands);
    *states = operands - (int)scans;
    if (results_of(body) < *states || n->nout > results_of(body))
        return NODE_ERROR(
            n, "the body has %d outputs, expected %d states and as many as the node's %d",
            results_of(body), *states, n->nout);
    return true;
}

bool lower_scan(struct onnx_node *n)
{
    struct subgraph body;
    int states, naxes;
    if (!node_subgraph(n, "body", &body) || !scan_states(n, &body, n->nin, &states))
        return false;
    const int64_t *axes = attr_ints(&n->attrs, "scan_input_axes", &naxes);
    struct type *types = ARENA_ARRAY(&n->b->g->arena, struct type, n->nin + 1);
    for (int i = 0; i < n->nin; i++)
        types[i] = i < states ? carried_type(n->in[i])
                              : slice_type(n->in[i], i - states < naxes ? axes[i - states] : 0);
    struct node *made = b_place(n->b, OP_scan, n->in, n->nin, results_of(&body), NULL);
    made->attrs = attrs_copy(&n->b->g->arena, &n->attrs);
    return import_region(n, &body, node_add_region(n->b->g, made), types, n->nin) &&
           take_results(n, made);
}

/*
 * Operator set 8 had a batch dim in front of everything: an outer scan over the batch, without
 * states, whose body is the scan of today. `directions` keeps its meaning.
 */
bool lower_scan_8(struct onnx_node *n)
{
    struct subgraph body;
    struct arena *arena = &n->b->g->arena;
    int states, count = n->nin - 1, ndirections;
    if (!node_subgraph(n, "body", &body) || !scan_states(n, &body, count, &states))
        return false;
    if (n->in[0])
        return NODE_ERROR(n, "sequence_lens is not supported; export with operator set 9 or newer");
    const int64_t *directions = attr_ints(&n->attrs, "directions", &ndirections);
    int nout = results_of(&body);
    struct node *outer = b_place(n->b, OP_scan, n->in + 1, count, nout, NULL);
    attr_set_int(arena, &outer->attrs, "num_scan_inputs", count);
    struct region *r = node_add_region(n->b->g, outer);
    struct value **slices = ARENA_ARRAY(arena, struct value *, count);
    struct type *types = ARENA_ARRAY(arena, struct type, count);
    for (int i = 0; i < count; i++) {
        struct type t = slice_type(n->in[i + 1], 0);
        slices[i] = region_add_param(r, &t, NULL);
        types[i] = i < states ? carried_type(slices[i]) : slice_type(slices[i], 0);
    }
    struct onnx_node inside = *n;
    inside.b->r = r;
    struct node *inner = b_place(inside.b, OP_scan, slices, count, nout, NULL);
    attr_set_int(arena, &inner->attrs, "num_scan_inputs", count - states);
    if (directions)
        attr_set_ints(arena, &inner->attrs, "scan_input_directions", directions, ndirections);
    if (!import_region(&inside, &body, node_add_region(n->b->g, inner), types, count) ||
        !infer_node(n->b->g, inner, n->b->d))
        return false;
    node_append(r, node_new(n->b->g, OP_return, inner->out, nout, 0, ""));
    return take_results(n, outer);
}

/* ---- SequenceMap: a loop over the first sequence that collects its body's results ---- */

static struct value *empty_sequence(struct onnx_node *n, const struct subgraph *body, int i)
{
    struct type t;
    struct attrs a = {0};
    if (!subgraph_output_type(n, body, i, &t))
        return NULL;
    if (t.kind == VK_TENSOR && t.dtype != DT_NONE)
        attr_set_int(&n->b->g->arena, &a, "dtype", t.dtype);
    return b_op(n->b, OP_sequence_empty, NULL, 0, &a);
}

/* The body's arguments in one round: elements of sequences, other operands as they are. */
static void map_arguments(struct onnx_node *n, struct value *round, struct value **args)
{
    for (int i = 0; i < n->nin; i++)
        args[i] = n->in[i] && n->in[i]->type.kind == VK_SEQUENCE
                      ? b_2(n->b, OP_sequence_at, n->in[i], round)
                      : n->in[i];
}

bool lower_sequence_map(struct onnx_node *n)
{
    struct subgraph body;
    struct arena *arena = &n->b->g->arena;
    if (!node_subgraph(n, "body", &body))
        return false;
    int nout = results_of(&body);
    if (n->nout > nout)
        return NODE_ERROR(n, "the body has %d outputs, the node %d", nout, n->nout);
    struct value **in = ARENA_ARRAY(arena, struct value *, nout + 2);
    in[0] = b_1(n->b, OP_sequence_length, n->in[0]);
    for (int i = 0; i < nout; i++)
        in[i + 2] = empty_sequence(n, &body, i);
    if (diag_failed(n->b->d))
        return false;
    struct node *loop = b_place(n->b, OP_loop, in, nout + 2, nout, NULL);
    struct onnx_node inside = *n;
    inside.b->r = node_add_region(n->b->g, loop);
    struct type number = type_tensor(DT_I64, 0, NULL), truth = type_tensor(DT_BOOL, 0, NULL);
    struct value *round = region_add_param(inside.b->r, &number, NULL);
    struct value *condition = region_add_param(inside.b->r, &truth, NULL);
    struct value **args = ARENA_ARRAY(arena, struct value *, n->nin + 1);
    struct value **results = ARENA_ARRAY(arena, struct value *, nout + 1);
    struct value **collected = ARENA_ARRAY(arena, struct value *, nout + 1);
    for (int i = 0; i < nout; i++)
        collected[i + 1] = region_add_param(inside.b->r, &in[i + 2]->type, NULL);
    map_arguments(&inside, round, args);
    if (diag_failed(n->b->d) || !import_inline(&inside, &body, args, n->nin, results, nout))
        return false;
    collected[0] = condition;
    for (int i = 0; i < nout; i++)
        collected[i + 1] = b_2(inside.b, OP_sequence_insert, collected[i + 1], results[i]);
    node_append(inside.b->r, node_new(n->b->g, OP_return, collected, nout + 1, 0, ""));
    return take_results(n, loop);
}
