/*
 * Constant folding: operators whose operands are all constants become constants, by their plain
 * routines. Values whose contents inference knows become constants even when their operands are not
 * (shapes of inputs). `if` on a constant is replaced by the branch taken. Big results stay
 * operators unless they are smaller than what they are made of; weights are read in place.
 */
#include "passes/evaluate.h"
#include "passes/ir/guards.h"
#include "passes/pass.h"
#include "runtime/ops/common/ops.h"

#include <string.h>

enum {
    LARGEST_RESULT = 64 << 20, /* bytes of one operator's results, unless its operands have more */
    MAX_GROWTH = 256 << 20,   /* that all results together have more than their operands */
    MAX_STRINGS = 1 << 20,    /* bytes of strings: what becomes of them is not known before */
};
#define MAX_WORK 8e9 /* products of all operators together, beside what the model's own constants make reasonable */
enum { WORK_OF_ELEMENT = 8, FOLDS_OF_CONSTANT = 16 }; /* to read or write one; how often it may be read and written */

struct folder {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    int64_t growth; /* so far */
    double work;    /* that is left */
};

static bool used(const struct node *n)
{
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->uses)
            return true;
    return false;
}

static bool operands_constant(const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && !n->in[i]->constant)
            return false;
    return true;
}

/* Bytes of the operand, if it has not come before; of strings those that they are made of. */
static int64_t operand_bytes(const struct node *n, int i)
{
    const struct tensor *t = n->in[i] ? n->in[i]->constant : NULL;
    for (int k = 0; k < i; k++)
        if (n->in[k] == n->in[i])
            return 0;
    if (!t || t->kind != VK_TENSOR)
        return 0;
    int64_t bytes = (int64_t)tensor_bytes(t);
    for (int64_t k = 0; t->dtype == DT_STR && k < tensor_count(t) && bytes < MAX_GROWTH; k++)
        bytes += (int64_t)((const struct str *)t->data)[k].n;
    return bytes;
}

/* An element of these results may depend on all elements of an operand. */
static const uint16_t heavy[] = {
    OP_attention,        OP_average_pool,  OP_causal_conv,   OP_cholesky,      OP_col2im,
    OP_conv_integer,     OP_deform_conv,   OP_det,           OP_dft,           OP_dot,
    OP_fft,              OP_global_lp_pool, OP_gru,          OP_inverse,       OP_linalg,
    OP_linear_attention, OP_lp_pool,       OP_lrn,           OP_lstm,          OP_matmul_integer,
    OP_max_pool,         OP_max_roi_pool,  OP_non_max_suppression, OP_pairwise_coupling, OP_qlinear_conv,
    OP_qlinear_matmul,   OP_regex_full_match, OP_reduce_window, OP_rnn,        OP_roi_align,
    OP_select_and_scatter, OP_stft,        OP_svm_kernel,    OP_tfidf_vectorizer, OP_tree_ensemble,
    OP_triangular_solve, OP_weight_only_matmul,
};

/* Letters of an operand of an einsum from place i on. */
static int letters_from(struct str equation, size_t i)
{
    int n = 0;
    for (; i < equation.n && equation.p[i] != ',' && equation.p[i] != '-'; i++)
        n += equation.p[i] > ' ' && equation.p[i] != '.';
    return n;
}

/* Terms of an einsum: each letter's size times each other's. Dims without letters are known by their distance from the
 * last one. */
static double einsum_terms(const struct node *n)
{
    struct str equation = attr_str(&n->attrs, "equation", "");
    int64_t size[128] = {0};
    int operand = 0, at = 0;
    for (size_t i = 0; i < equation.n && equation.p[i] != '-' && operand < n->nin; i++) {
        unsigned char c = (unsigned char)equation.p[i];
        const struct type *t = &n->in[operand]->type;
        bool letter = c > ' ' && c < 128 && c != ',' && c != '.';
        int end = letter ? at + 1 : c == '.' ? t->rank - letters_from(equation, i) : at;
        for (; at < end && at < t->rank && type_is_static(t); at++) {
            int64_t *to = &size[letter ? c : end - 1 - at];
            *to = t->dims[at] > *to ? t->dims[at] : *to;
        }
        if (c == ',')
            operand++, at = 0;
    }
    double terms = 1;
    for (int c = 0; c < 128; c++)
        terms *= size[c] > 1 ? (double)size[c] : 1;
    return terms;
}

/* Products that a contraction makes, about. */
static double contraction(const struct node *n, double in, double out)
{
    for (size_t i = 0; i < sizeof heavy / sizeof *heavy; i++)
        if (n->op == heavy[i])
            return in * out;
    if (n->op == OP_einsum)
        return einsum_terms(n);
    bool product = n->op == OP_matmul || n->op == OP_gemm || n->op == OP_conv ||
                   n->op == OP_conv_transpose || n->op == OP_sdpa;
    if (!product || n->nin < 2 || !type_is_static(&n->in[0]->type))
        return 0;
    double elements = (double)tensor_count(n->in[1]->constant), terms = 1;
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *each = &n->out[0]->type;
    if (n->op == OP_conv_transpose) /* spreads elements over results, instead of gathering them */
        each = x;
    if ((n->op == OP_conv || n->op == OP_conv_transpose) && w->rank > 0 && w->dims[0] > 0)
        terms = elements / (double)w->dims[0];
    else if (x->rank > 0)
        terms = (double)x->dims[x->rank - 1];
    for (int i = 0; type_is_static(each) && i < each->rank; i++)
        terms *= (double)each->dims[i];
    return terms;
}

/* What its plain routine has to do, in products. */
static double work_of(const struct node *n)
{
    double in = 0, elements = 0, out = 0;
    for (int i = 0; i < n->nin; i++)
        in += n->in[i] && n->in[i]->constant->kind == VK_TENSOR ? (double)tensor_count(n->in[i]->constant) : 0;
    for (int i = 0; i < n->nout; i++) {
        const struct type *t = &n->out[i]->type;
        bool known = type_is_static(t);
        out += known ? (double)static_bytes(t) : in;
        elements += known ? (double)static_bytes(t) / (double)dtype_bytes(t->dtype) : in;
    }
    return contraction(n, in, out) + WORK_OF_ELEMENT * (in + elements);
}

/* For all that the model has: its weights may be transposed and converted as they like. */
static double work_allowed(const struct graph *g)
{
    double elements = 0;
    for (int i = 0; i < g->nconstants; i++)
        if (g->constants[i]->constant->kind == VK_TENSOR)
            elements += (double)tensor_count(g->constants[i]->constant);
    return MAX_WORK + FOLDS_OF_CONSTANT * WORK_OF_ELEMENT * elements;
}

/* More than a compiler should keep. *growth: bytes that results have more
 * than operands. */
static bool too_large(const struct node *n, int64_t *growth)
{
    int64_t in = 0, out = 0;
    bool strings = false;
    for (int i = 0; i < n->nin; i++) {
        in += operand_bytes(n, i);
        strings |= n->in[i] && n->in[i]->constant->kind == VK_TENSOR &&
                   n->in[i]->constant->dtype == DT_STR;
    }
    for (int i = 0; i < n->nout; i++) {
        int64_t b = static_bytes(&n->out[i]->type);
        if (b == INT64_MAX)
            return true;
        out += b > 0 ? b : 0;
    }
    *growth = out > in ? out - in : 0;
    return (out > LARGEST_RESULT && out > in) || (strings && in > MAX_STRINGS);
}

/* ---- keeping results ---- */

static struct value *replace_by_constant(struct graph *g, struct value *v, const struct tensor *t)
{
    struct tensor kept = arena_tensor(&g->arena, t);
    struct value *c = constant_new(g, &kept, v->name);
    if (v->type.kind != VK_TENSOR && v->type.kind != VK_NONE)
        c->type = v->type; /* says more than an empty container */
    c->content = v->content;
    value_replace(v, c);
    return c;
}

/* ---- the three foldings ---- */

/* False when memory is short: which nodes are folded does not depend on that. */
static bool evaluate(struct folder *f, struct node *n)
{
    struct arena scratch = {0};
    const struct tensor **in = ARENA_ARRAY(&scratch, const struct tensor *, n->nin + 1);
    struct tensor *results = ARENA_ARRAY(&scratch, struct tensor, n->nout + 1);
    int64_t max_bytes = LARGEST_RESULT;
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i] ? n->in[i]->constant : NULL;
        max_bytes += operand_bytes(n, i);
    }
    struct diag d = {0};
    bool ok = evaluate_node(n, in, results, max_bytes, &d);
    for (int i = 0; ok && i < n->nout; i++) {
        if (static_bytes(&n->out[i]->type) < 0 && results[i].kind == VK_TENSOR) /* it was not known before */
            f->growth += (int64_t)tensor_bytes(&results[i]);
        replace_by_constant(f->g, n->out[i], &results[i]);
    }
    for (int i = 0; i < n->nout; i++)
        tensor_free(&results[i]);
    arena_free(&scratch);
    if (ok)
        why(f->o, n, "fold.constant", "all its operands are constants");
    else /* it may stand in a branch that never runs: left for run time */
        why(f->o, n, "fold.failed", "%s", d.text);
    return !d.memory || fail_memory(f->d, "%s: %s", node_text(f->g, n), d.text);
}

/* Results whose contents are known by inference. */
static bool use_contents(struct folder *f, struct node *n)
{
    for (int i = 0; i < n->nout; i++) {
        struct value *v = n->out[i];
        const struct tensor *t = v->uses ? tensor_of_content(&f->g->arena, v, f->d) : NULL;
        if (diag_failed(f->d))
            return false;
        if (t) {
            replace_by_constant(f->g, v, t);
            why(f->o, n, "fold.shape", "its result follows from shapes");
        }
    }
    return true;
}

/* The nodes of a region take the place of the node that owns it. */
static struct node *inline_region(struct node *n, struct region *r)
{
    graph_move_guards(n->parent->graph, r, (struct region *)guard_region(n->parent));
    struct node *ret = region_return(r), *first = r->first;
    for (struct node *m = r->first, *next; m != ret; m = next) {
        next = m->next;
        r->first = next;
        next->prev = NULL;
        m->prev = m->next = NULL;
        node_insert_before(n, m);
    }
    for (int i = 0; i < n->nout; i++)
        value_replace(n->out[i], ret->in[i]);
    return first == ret ? n->next : first;
}

static bool constant_condition(const struct value *v, bool *out)
{
    if (v->constant && v->constant->kind == VK_TENSOR && v->constant->dtype == DT_BOOL &&
        tensor_count(v->constant) == 1)
        *out = tensor_i64(v->constant, 0) != 0;
    else if (v->content.n == 1 && dim_is_const(v->content.v[0]))
        *out = v->content.v[0] != 0;
    else
        return false;
    return true;
}

/*
 * A transposed constant matrix that only products read: they read it transposed. So weights of
 * linear layers, and embeddings shared with the output layer, stay where they are in the model
 * file.
 */
static void absorb_transpose(struct folder *f, struct node *n)
{
    int count;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    bool reversed = !perm || (count == 2 && perm[0] == 1 && perm[1] == 0);
    if (n->op != OP_transpose || !n->in[0]->constant || n->in[0]->type.rank != 2 || !reversed)
        return;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if (u->node->op != OP_matmul || u->index != 1)
            return;
    for (struct use *u; (u = n->out[0]->uses);) {
        struct node *product = u->node;
        attr_set_int(&f->g->arena, &product->attrs, "trans_b",
                     !attr_int(&product->attrs, "trans_b", 0));
        node_set_input(product, 1, n->in[0]);
        why(f->o, product, "fold.transpose", "reads its constant operand transposed");
    }
}

static bool fold_region(struct folder *f, struct region *r);

/* The node to go on with; NULL after a failure. Types are inferred anew on the way: what has become
 * constant makes later ones more exact. */
static struct node *fold_node(struct folder *f, struct node *n)
{
    struct node *next = n->next;
    bool taken;
    if (n->op == OP_if && n->in[0] && constant_condition(n->in[0], &taken) &&
        n->nout == region_return(n->regions[!taken])->nin) {
        why(f->o, n, "fold.if", "its condition is always %s", taken ? "true" : "false");
        next = inline_region(n, n->regions[!taken]);
        node_remove(n);
        return next;
    }
    if (!infer_node(f->g, n, f->d))
        return NULL;
    absorb_transpose(f, n);
    if (may_evaluate(n) && used(n)) {
        if (!use_contents(f, n))
            return NULL;
        int64_t growth;
        double work = 0;
        if (used(n) && operands_constant(n) && !too_large(n, &growth) && (work = work_of(n)) <= f->work &&
            f->growth + growth <= MAX_GROWTH && !is_integer_weight(f->o, n) &&
            !is_weight_only_weight(f->o, n)) {
            f->growth += growth;
            f->work -= work;
            if (!evaluate(f, n))
                return NULL;
        }
    }
    if (may_evaluate(n) && !used(n)) {
        node_remove(n);
        return next;
    }
    for (int i = 0; i < n->nregions; i++)
        if (!fold_region(f, n->regions[i]))
            return NULL;
    return next;
}

static bool fold_region(struct folder *f, struct region *r)
{
    for (struct node *n = r->first; n && n->op != OP_return;)
        if (!(n = fold_node(f, n)))
            return false;
    return true;
}

bool pass_fold(struct graph *g, const struct options *o, struct diag *d)
{
    struct folder f = {.g = g, .o = o, .d = d, .work = work_allowed(g)};
    return fold_region(&f, g->main) && infer_types(g, d);
}
