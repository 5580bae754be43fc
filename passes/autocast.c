/*
 * pass autocast: FP32 arithmetic in a smaller type, with neuronx-cc's meaning.
 *
 *   matmult  operands of matrix products and convolutions are rounded to the cast type; they
 *            accumulate in FP32 and their results are FP32. Constant weights are converted here;
 *            the conversion of a computed operand is a cast right after its producer, once for all
 *            readers, so that fusion makes it part of the producer's epilogue. 3x3 convolutions
 *            that Winograd's method computes faster keep FP32 operands; what it multiplies is
 *            rounded, or nothing, and the backend rounds them for processors that sum bf16 directly
 *            faster still; those whose filters have few terms in a row, or that make one
 *            channel, keep them as well.
 *            On a CPU depthwise convolutions keep FP32 weights, those of few channels both operands. Of
 *            recurrent layers, constant weights of the state are rounded.
 *   all      every FP32 value inside the model is stored in the cast type; engines compute in FP32 (pass widen).
 *
 * What a tensor's size is computed from stays as it is (size_sources.h): a rounded size is another one.
 * Inputs and outputs of the model keep their types. tf32 and fp8_e4m3 have no storage here:
 * operands are rounded to them and stay FP32. Requires inferred types.
 */
#include "neff/core/signature.h"
#include "passes/ir/winograd.h"
#include "passes/match.h"
#include "passes/rewrite.h"
#include "passes/size_sources.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

struct caster {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    struct casts casts;
    const bool *sizes; /* value id -> a size is computed from it, of the values before the pass */
    int nsizes;
    bool *full; /* value id -> FP32 before the pass, of nsizes values; NULL: nobody asks */
    const struct region **branches; /* those that hold products */
    int nbranches, branches_cap;
    int nodes;  /* how many were cast */
    bool moved; /* a cast, in this walk over the graph */
};

/* Operands of these are multiplied by the Tensor engine: how many, from the first on. */
static const struct {
    enum op op;
    int operands;
} products[] = {
    {OP_matmul, 2}, {OP_conv, 2}, {OP_conv_transpose, 2}, {OP_sdpa, 3}, {OP_weight_only_matmul, 1}};

/* Operators that keep FP32 operands even under `all`: parameters that are not data, or exact types
 * asked for. */
static const enum op keeps[] = {OP_resize,
                                OP_quantize_linear,
                                OP_dequantize_linear,
                                OP_cast,
                                OP_range,
                                OP_bitcast,
                                OP_if,
                                OP_loop,
                                OP_scan,
                                OP_while,
                                OP_return,
                                OP_murmur_hash3};

static bool matches(const struct node *n, const char *glob)
{
    if (!strncmp(glob, "op:", 3))
        return (n->source && fnmatch(glob + 3, n->source, 0) == 0) ||
               fnmatch(glob + 3, op_name(n->op), 0) == 0;
    return n->name && fnmatch(glob, n->name, 0) == 0;
}

struct product_search {
    const char *glob;
    struct arena arena;
    const char *types; /* of the source's nodes, a few */
    bool found;
};

static bool look_for(struct node *n, void *user)
{
    struct product_search *s = user;
    char word[80];
    s->found |= matches(n, s->glob);
    snprintf(word, sizeof word, " op:%.60s", n->source && *n->source ? n->source : op_name(n->op));
    if (strlen(s->types) < 300 && n->op != OP_return && !strstr(s->types, word))
        s->types = arena_printf(&s->arena, "%s%s", s->types, word);
    return !s->found;
}

bool keep_fp32_check(struct graph *g, const struct options *o, struct diag *d)
{
    bool ok = true;
    for (int i = 0; ok && i < o->nkeep_fp32; i++) {
        struct product_search s = {.glob = o->keep_fp32[i], .types = ""};
        region_walk(g->main, look_for, &s);
        ok = s.found || fail(d,
                             "--keep-fp32 '%s' matches no node; there are%s, and the nodes' names "
                             "as --emit ir shows them",
                             o->keep_fp32[i], s.types);
        arena_free(&s.arena);
    }
    return ok;
}

/* A number for the body of control flow that n is in, 0 for the main region. */
static int branch_of(struct caster *c, const struct node *n)
{
    int i = 0;
    if (n->parent == c->g->main)
        return 0;
    while (i < c->nbranches && c->branches[i] != n->parent)
        i++;
    if (i == c->nbranches) {
        ARENA_GROW(&c->g->arena, c->branches, c->nbranches, c->branches_cap);
        c->branches[c->nbranches++] = n->parent;
    }
    return i + 1;
}

static double size_of(dim_t d, double unknown)
{
    return dim_is_const(d) ? (double)d : unknown;
}

static double elements(const struct value *v, double unknown)
{
    double count = 1;
    for (int i = 0; v->type.kind == VK_TENSOR && i < v->type.rank; i++)
        count *= size_of(v->type.dims[i], unknown);
    return count;
}

/* Each element of the result sums as many products as a column of the weights has, about. `unknown`: the size of dims
 * that are not known. */
static double work_of(const struct node *n, double unknown)
{
    const struct type *w = n->nin > 1 && n->in[1] ? &n->in[1]->type : NULL;
    if (!w || w->kind != VK_TENSOR || w->rank < 1)
        return elements(n->out[0], unknown);
    int axis = n->op == OP_conv ? 0 : n->op == OP_conv_transpose ? 1 : w->rank - 1;
    int64_t columns = axis < w->rank && dim_is_const(w->dims[axis]) ? w->dims[axis] : 1;
    return elements(n->out[0], unknown) * elements(n->in[1], unknown) / (columns > 0 ? (double)columns : 1);
}

/* Counts the operator as one that can be cast; the row of the plan that keeps it, or -1. */
static int plan_keeps(struct caster *c, const struct node *n)
{
    enum { UNKNOWN = 16 };
    struct cast_plan *p = c->o->plan;
    if (!p)
        return -1;
    struct cast_product made = {.name = arena_strdup(&p->arena, n->name ? n->name : ""),
                                .source = arena_strdup(&p->arena, n->source ? n->source : ""),
                                .op = n->op,
                                .branch = branch_of(c, n),
                                .work = work_of(n, UNKNOWN)};
    for (int i = 0; i < p->nproducts; i++)
        made.nth += p->products[i].op == made.op && !strcmp(p->products[i].name, made.name);
    int row = p->nkeep - 1;
    while (row >= 0 && (p->keep[row].op != made.op || p->keep[row].nth != made.nth ||
                        strcmp(p->keep[row].name, made.name)))
        row--;
    ARENA_GROW(&p->arena, p->products, p->nproducts, p->cap);
    p->products[p->nproducts++] = made;
    return row;
}

static void count_cast(struct caster *c)
{
    c->nodes++;
    if (c->o->plan)
        c->o->plan->products[c->o->plan->nproducts - 1].cast = true;
}

static bool decides_size(const struct caster *c, const struct node *n)
{
    bool any = false;
    for (int i = 0; i < n->nout; i++)
        any |= n->out[i]->id < c->nsizes && c->sizes[n->out[i]->id];
    return any;
}

/* Asked once of each operator that can be cast, right before it is. */
static bool kept(struct caster *c, const struct node *n)
{
    if (decides_size(c, n)) {
        why(c->o, n, "autocast.size", "kept in FP32: the size of a tensor is computed from its result");
        return true;
    }
    if (attr_int(&n->attrs, "keep_fp32", 0)) {
        why(c->o, n, "autocast.keep", "kept in FP32: its digits matter more than its speed");
        return true;
    }
    for (int i = 0; i < c->o->nkeep_fp32; i++)
        if (matches(n, c->o->keep_fp32[i])) {
            why(c->o, n, "autocast.keep", "kept in FP32: --keep-fp32 %s", c->o->keep_fp32[i]);
            return true;
        }
    int row = plan_keeps(c, n);
    if (row >= 0)
        why(c->o, n, "autocast.budget", "kept in FP32: %s",
            c->o->plan->reasons ? c->o->plan->reasons[row] : "asked for");
    return row >= 0;
}

/* ---- one value ---- */

static bool stored(const struct caster *c)
{
    return dtype_is_short_float(c->o->cast_type);
}

/* Finite numbers stay finite: the lowest f32 in a mask, times zero, must stay zero. */
static double rounded(const struct caster *c, double x)
{
    if (c->o->cast_type == CAST_TF32) {
        static const struct float_format tf32 = {8, 10, 127, true, true, 1, true};
        return float_decode(&tf32, float_encode(&tf32, x, isfinite(x)));
    }
    const struct float_format *f = float_format(c->o->cast_type);
    return float_decode(f, float_encode(f, x, isfinite(x) || c->o->cast_type == DT_F8E4M3FN));
}

static struct value *cast_constant(struct caster *c, struct value *v)
{
    int dtype = stored(c) ? c->o->cast_type : DT_F32;
    size_t n = (size_t)tensor_count(v->constant);
    struct value *made = constant_unwritten(c->g, dtype, v->constant->rank, v->constant->dims, v->name, c->d);
    if (!made)
        return NULL;
    const float *from = v->constant->data;
    void *to = made->constant->data;
    if (c->o->cast_type == DT_BF16)
        for (size_t i = 0; i < n; i++) {
            uint16_t code = f32_to_bf16(from[i]);
            ((uint16_t *)to)[i] = code - ((code & 0x7fff) == 0x7f80 && isfinite(from[i]));
        }
    else
        for (size_t i = 0; i < n; i++)
            dtype_store_f64(dtype, to, i, rounded(c, from[i]));
    return made;
}

static struct value *cast_computed(struct caster *c, struct value *v)
{
    struct builder b = builder_before(after_source(v), c->d);
    if (stored(c))
        return cast_at_source(v, c->o->cast_type, c->d);
    return b_1(&b, c->o->cast_type == CAST_TF32 ? OP_round_tf32 : OP_round_f8e4m3, v);
}

static struct value *cast_value(struct caster *c, struct value *v)
{
    if (!*cast_of(&c->casts, c->g, v)) {
        struct value *made = v->constant ? cast_constant(c, v) : cast_computed(c, v);
        *cast_of(&c->casts, c->g, v) = made;
    }
    return *cast_of(&c->casts, c->g, v);
}

/* ---- matmult ---- */

static int product_operands(const struct node *n)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (products[i].op == n->op)
            return products[i].operands;
    return 0;
}

/* On a CPU a depthwise convolution runs on the Vector engine, not as a product. */
static bool is_depthwise(const struct node *n)
{
    return n->op == OP_conv && attr_int(&n->attrs, "group", 1) > 1 && n->in[1]->type.rank > 1 &&
           n->in[1]->type.dims[1] == 1;
}

/* So does one that pass layout left with its channels first. */
static bool is_planes(const struct caster *c, const struct node *n)
{
    return n->op == OP_conv && !c->o->strict_target && n->in[0]->type.rank <= 4 &&
           (c->o->cast_type == DT_BF16 || c->o->cast_type == DT_F16) && !attr_int(&n->attrs, "channels_last", 0);
}

/* Its input is rounded where that halves what is stored and read and costs nothing: made inside the
 * model, for this convolution alone, and by whole vectors: parts of one take longer to widen. */
static bool depthwise_rounds(const struct caster *c, const struct node *n)
{
    enum { MIN_CHANNELS = 16 };
    const struct value *x = n->in[0], *w = n->in[1];
    return c->o->cast_type == DT_BF16 && w->constant && w->constant->dims[0] >= MIN_CHANNELS && x->def &&
           value_only_user(x) == n;
}

static bool cast_depthwise(struct caster *c, struct node *n)
{
    if (!depthwise_rounds(c, n)) {
        why(c->o, n, "autocast.depthwise",
            "kept in FP32: it does not use the matrix-multiplication engine");
        return true;
    }
    if (kept(c, n))
        return true;
    struct value *x = cast_value(c, n->in[0]);
    if (!x)
        return false;
    node_set_input(n, 0, x);
    attr_set_int(&c->g->arena, &n->attrs, "out_dtype", DT_F32);
    count_cast(c);
    why(c->o, n, "autocast.depthwise",
        "input rounded to the cast type, weights and accumulation in FP32: it does not use the "
        "matrix-multiplication engine");
    return infer_node(c->g, n, c->d);
}

/* A product by constants computes it, but for a bias, a reshape or a transpose: it may round what it stores. */
static bool is_of_product(const struct value *v)
{
    for (const struct node *n = v->def; n; n = v->def) {
        if (n->op == OP_matmul)
            return n->in[1]->constant != NULL;
        if (n->op == OP_add && (n->in[0]->constant || n->in[1]->constant))
            v = n->in[0]->constant ? n->in[1] : n->in[0];
        else if (n->op == OP_transpose || op_infos[n->op].flags & OPF_VIEW)
            v = n->in[0];
        else
            return false;
    }
    return false;
}

/* One row by a computed operand reads that once: to round it first is one more pass over memory. On a chip, where a
 * product in FP32 takes four times as long, it is none behind a product. */
static bool is_one_row(const struct caster *c, const struct node *n)
{
    const struct type *x = &n->in[0]->type;
    if ((n->op != OP_matmul && n->op != OP_sdpa) || n->in[1]->constant || x->rank < 2 ||
        x->dims[x->rank - 2] != 1 || attr_int(&n->attrs, "trans_a", 0))
        return false;
    return !c->o->strict_target || !is_of_product(n->in[1]) || (n->op == OP_sdpa && !is_of_product(n->in[2]));
}

/* An input with something behind it, as it comes back from the model. */
static bool is_cache(const struct value *v)
{
    while (v->def && op_infos[v->def->op].flags & OPF_VIEW)
        v = v->def->in[0];
    const struct node *n = v->def;
    return n && n->op == OP_concat && n->nin == 2 && n->in[0]->param_of && n->in[0]->param_of == n->parent &&
           !n->parent->owner;
}

/* Of a convolution: smaller ones stay with the others, since one type of products is less code. */
enum { MIN_OF_IMAGE = 1 << 20 };

/* The filter of a large convolution, where bf16 is chosen for speed; or NULL. */
static const struct type *large_filter(const struct caster *c, const struct node *n)
{
    const struct type *w = n->op == OP_conv && n->in[1]->constant ? &n->in[1]->type : NULL;
    if (!w || c->o->strict_target || c->o->cast_type != DT_BF16)
        return NULL;
    double image = work_of(n, CONV_SUPPOSED_SIDE) / size_of(n->out[0]->type.dims[0], CONV_SUPPOSED_SIDE);
    return image >= MIN_OF_IMAGE ? w : NULL;
}

/* A row of the filter, which is what instructions multiply at once, is shorter than they are: where images come in,
 * mostly. To round what it reads takes longer than the products save. */
static bool has_few_terms(const struct caster *c, const struct node *n)
{
    enum { MIN_TERMS = 12 };
    const struct type *w = large_filter(c, n);
    return w && (w->rank == 3 || w->rank == 4) && attr_int(&n->attrs, "group", 1) == 1 &&
           w->dims[w->rank - 1] > 1 && w->dims[1] * w->dims[w->rank - 1] < MIN_TERMS;
}

/* One channel comes out: in FP32 that is a dot product for each pixel, in bf16 a vector of columns of which one is
 * wanted. */
static bool has_one_column(const struct caster *c, const struct node *n)
{
    const struct type *w = large_filter(c, n);
    return w && w->dims[0] == 1;
}

static bool is_narrow(const struct caster *c, const struct node *n)
{
    if (has_few_terms(c, n))
        why(c->o, n, "autocast.few-terms",
            "kept in FP32: a row of its filter has too few terms for products in bf16 to pay");
    else if (has_one_column(c, n))
        why(c->o, n, "autocast.one-column",
            "kept in FP32: for one channel a dot product takes less than vectors of products in bf16");
    else
        return false;
    return true;
}

/* A convolution that Winograd's method computes: it transforms FP32 operands, and rounds none, or
 * what it multiplies. */
static bool is_winograd(const struct caster *c, const struct node *n, struct conv_way *way)
{
    struct conv_size size;
    if (c->o->no_winograd || c->o->strict_target || c->o->cast_type != DT_BF16 ||
        !winograd_can(n, &size))
        return false;
    *way = conv_best_way(machine_find("cpu"), &size, true);
    return way->size != 0;
}

static bool cast_product(struct caster *c, struct node *n)
{
    struct conv_way way;
    int operands = product_operands(n);
    for (int i = 0; i < operands; i++)
        if (!is_f32(n->in[i]))
            return true;
    if (is_depthwise(n) && !c->o->strict_target && attr_int(&n->attrs, "channels_last", 0))
        return cast_depthwise(c, n);
    if (is_planes(c, n)) {
        why(c->o, n, "autocast.planes", "kept in FP32: it does not use the matrix-multiplication engine");
        return true;
    }
    if (n->op == OP_weight_only_matmul && c->o->cast_type != DT_BF16)
        return true; /* integers of 8 bits are numbers of bf16 */
    if (n->op == OP_weight_only_matmul && attr_int(&n->attrs, "row_bits", 0)) {
        why(c->o, n, "autocast.rounded", "kept in FP32: its rows are rounded to 8 bits");
        return true;
    }
    if (is_one_row(c, n)) {
        why(c->o, n, "autocast.one-row",
            "kept in FP32: one row by a computed operand takes longer to round than to multiply");
        return true;
    }
    if (n->op == OP_sdpa && (is_cache(n->in[1]) || is_cache(n->in[2]))) {
        why(c->o, n, "autocast.cache",
            "kept in FP32: what an input holds of keys takes longer to round than to multiply");
        return true;
    }
    bool winograd = is_winograd(c, n, &way);
    if (kept(c, n))
        return true;
    if (is_narrow(c, n))
        return true;
    if (winograd) {
        count_cast(c);
        attr_set_int(&c->g->arena, &n->attrs, "direct_dtype", DT_BF16);
        if (way.bf16)
            attr_set_int(&c->g->arena, &n->attrs, "winograd_dtype", DT_BF16);
        why(c->o, n, "autocast.winograd",
            way.bf16 ? "Winograd's method, planes rounded to bf16: fewer products than a direct sum"
                     : "Winograd's method, in FP32, is faster than a direct sum in bf16; where that is not "
                       "so, operands are rounded");
        return true;
    }
    for (int i = 0; i < operands; i++) {
        struct value *v = cast_value(c, n->in[i]);
        if (!v)
            return false;
        struct value *old = n->in[i];
        node_set_input(n, i, v);
        if (old->constant && !old->uses)
            constant_release(c->g, old);
    }
    attr_set_int(&c->g->arena, &n->attrs, "out_dtype", DT_F32);
    count_cast(c);
    why(c->o, n, "autocast.cast",
        "operands rounded to the cast type, accumulation and result in FP32");
    return infer_node(c->g, n, c->d);
}

static bool is_recurrent(const struct node *n)
{
    return n->op == OP_lstm || n->op == OP_gru || n->op == OP_rnn;
}

/* The weights that every step reads anew. */
static bool cast_recurrent(struct caster *c, struct node *n)
{
    struct value *old = n->in[2];
    if (c->o->cast_type != DT_BF16 || c->o->strict_target || !old || !old->constant ||
        !is_f32(old) || kept(c, n))
        return true;
    struct value *v = cast_value(c, old);
    if (!v)
        return false;
    node_set_input(n, 2, v);
    if (!old->uses)
        constant_release(c->g, old);
    count_cast(c);
    why(c->o, n, "autocast.recurrent", "recurrent weights rounded to the cast type");
    return infer_node(c->g, n, c->d);
}

static bool visit_product(struct node *n, void *user)
{
    if (is_recurrent(n))
        return cast_recurrent(user, n);
    return product_operands(n) ? cast_product(user, n) : true;
}

/* ---- casts before what only moves elements ---- */

/* How many operands are the elements that n moves; 0: it does something else. */
static int moved_operands(const struct caster *c, const struct node *n)
{
    int operands = 0;
    switch (n->op) {
    case OP_transpose:
    case OP_reshape:
    case OP_flatten:
    case OP_squeeze:
    case OP_unsqueeze:
    case OP_slice:
    case OP_split:
    case OP_expand:
        operands = n->in[0]->constant ? 0 : 1;
        break;
    case OP_concat:
        operands = n->nin;
        break;
    case OP_max_pool: /* rounding keeps the order of numbers; where bytes and elements a cycle count */
        operands = c->o->strict_target && n->nout == 1;
        break;
    default:
        break;
    }
    for (int i = 0; i < operands; i++)
        if (!is_f32(n->in[i]))
            return 0;
    return operands;
}

/* The cast that alone uses v. */
static struct node *only_cast(const struct caster *c, const struct value *v)
{
    struct node *n = v->uses && !v->uses->next ? v->uses->node : NULL;
    return n && n->op == OP_cast && n->out[0]->type.dtype == c->o->cast_type ? n : NULL;
}

/* All that n moves is cast: what it moves is cast instead, and n moves half the bytes. */
static bool cast_what_moves(struct caster *c, struct node *n, int operands)
{
    for (int i = 0; i < operands; i++) {
        struct value *x = cast_value(c, n->in[i]);
        if (!x)
            return false;
        node_set_input(n, i, x);
    }
    c->moved = true;
    if (!infer_node(c->g, n, c->d))
        return false;
    for (int i = 0; i < n->nout; i++)
        value_replace(only_cast(c, n->out[i])->out[0], n->out[i]);
    return true;
}

/* Attention rounds its result once, to the type it is stored in. */
static bool store_cast(struct caster *c, struct node *attention, struct node *cast)
{
    attr_set_int(&c->g->arena, &attention->attrs, "out_dtype", c->o->cast_type);
    if (!infer_node(c->g, attention, c->d))
        return false;
    value_replace(cast->out[0], attention->out[0]);
    return true;
}

/* A cast moves up to what computes its operand; of several operands, to that of the first. */
static bool visit_cast(struct node *n, void *user)
{
    struct caster *c = user;
    int operands;
    while (n && n->op == OP_cast && n->in[0]->def && (operands = moved_operands(c, n->in[0]->def))) {
        struct node *mover = n->in[0]->def;
        for (int i = 0; i < mover->nout; i++)
            if (!only_cast(c, mover->out[i]))
                return true;
        if (!cast_what_moves(c, mover, operands))
            return false;
        n = mover->in[0]->def;
    }
    return !n || n->op != OP_cast || !n->in[0]->def || n->in[0]->def->op != OP_sdpa ||
           !only_cast(c, n->in[0]) || store_cast(c, n->in[0]->def, n);
}

/* Walks until no cast moves: those of further operands are met in the next one. */
static bool move_casts(struct caster *c)
{
    do {
        c->moved = false;
        if (!for_each_node(c->g->main, visit_cast, c))
            return false;
    } while (c->moved);
    return true;
}

/* ---- all ---- */

static bool keeps_types(const struct node *n)
{
    for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++)
        if (keeps[i] == n->op)
            return true;
    if (op_infos[n->op].flags & (OPF_REGIONS | OPF_IMPURE))
        return true;
    for (int i = 0; i < n->nout; i++) /* of sequences and maps, which may be outputs */
        if (n->out[i]->type.kind != VK_TENSOR && n->out[i]->type.kind != VK_NONE)
            return true;
    return false;
}

/* Whether its row of op.def has the cast type wherever it is given FP32. */
static bool takes_cast_type(const struct caster *c, const struct node *n)
{
    const struct signature *s = op_signature(n->op);
    for (int i = 0; s->n && i < n->nin; i++)
        if (is_f32(n->in[i]) && (i < s->n || s->repeats) &&
            !type_set_has(s->operand[i < s->n ? i : s->n - 1].admits, c->o->cast_type))
            return false;
    return true;
}

static bool note_full(struct node *n, void *user)
{
    struct caster *c = user;
    for (int i = 0; i < n->nout; i++)
        c->full[n->out[i]->id] = is_f32(n->out[i]);
    return true;
}

/* FP32 in the model, and of the cast type by now. */
static bool was_cast(const struct caster *c, const struct value *v)
{
    return v && v->def && v->id < c->nsizes && c->full[v->id] && v->type.dtype == c->o->cast_type;
}

/* An operator that wants FP32 operands, or the model's output: back from the cast type. */
static bool restore_operands(struct caster *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    for (int i = 0; i < n->nin; i++) {
        if (!was_cast(c, n->in[i]))
            continue;
        struct value *v = b_cast(&b, n->in[i], DT_F32);
        if (!v)
            return false;
        node_set_input(n, i, v);
    }
    return true;
}

static bool visit_all(struct node *n, void *user)
{
    struct caster *c = user;
    bool floats = false;
    for (int i = 0; i < n->nin; i++)
        floats |= is_f32(n->in[i]);
    for (int i = 0; i < n->nout; i++)
        floats |= is_f32(n->out[i]);
    if (n->op == OP_cast)
        return infer_node(c->g, n, c->d);
    if (!floats || keeps_types(n) || !takes_cast_type(c, n) || kept(c, n))
        return restore_operands(c, n) && (n->op == OP_return || infer_node(c->g, n, c->d));
    for (int i = 0; i < n->nin; i++) {
        if (!is_f32(n->in[i]))
            continue;
        struct value *v = cast_value(c, n->in[i]);
        if (!v)
            return false;
        node_set_input(n, i, v);
    }
    count_cast(c);
    return infer_node(c->g, n, c->d);
}

bool pass_autocast(struct graph *g, const struct options *o, struct diag *d)
{
    struct caster c = {.g = g, .o = o, .d = d};
    struct arena scratch = {0};
    if (o->auto_cast == CAST_NONE)
        return true;
    c.nsizes = g->next_value;
    c.sizes = size_sources(g, &scratch);
    bool all = o->auto_cast == CAST_ALL && stored(&c);
    if (all) {
        c.full = ARENA_ARRAY(&scratch, bool, c.nsizes);
        for_each_node(g->main, note_full, &c);
    }
    bool ok = for_each_node(g->main, all ? visit_all : visit_product, &c) &&
              (all || !stored(&c) || move_casts(&c));
    arena_free(&scratch);
    if (!ok)
        return false;
    why(o, NULL, "autocast.summary", "%d operators cast", c.nodes);
    remove_dead(g);
    return !all || o->opt_level < 1 || pass_widen(g, o, d);
}
