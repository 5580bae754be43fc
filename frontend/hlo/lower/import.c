/*
 * HLO computations to nodes: computations are inlined where they are called, tuples vanish, control
 * flow and computations on scalars become regions. Only instructions that a result needs are
 * lowered. Lowering functions call this, so it knows none of them: the importer's state has the
 * table.
 */
#include "frontend/hlo/lower/importer.h"
#include "frontend/hlo/lower/build.h"

/* ---- shapes ---- */

int hlo_leaf_count(const struct hlo_shape *s)
{
    if (s->type == HLO_TOKEN)
        return 0;
    if (s->type != HLO_TUPLE)
        return 1;
    int n = 0;
    for (int k = 0; k < s->count; k++)
        n += hlo_leaf_count(s->elements[k]);
    return n;
}

const struct hlo_shape *hlo_leaf(const struct hlo_shape *s, int k)
{
    while (s->type == HLO_TUPLE) {
        int e = 0, n;
        for (; e < s->count && k >= (n = hlo_leaf_count(s->elements[e])); e++)
            k -= n;
        if (e == s->count)
            return NULL;
        s = s->elements[e];
    }
    if (s->type == HLO_BUFFER)
        s = s->elements[0];
    return s;
}

struct type hlo_type_of(const struct hlo_shape *s)
{
    dim_t dims[MAX_RANK] = {0};
    int rank = s->rank <= MAX_RANK ? s->rank : MAX_RANK;
    for (int k = 0; k < rank; k++)
        dims[k] = s->dims[k];
    return type_tensor(hlo_type_dtype(s->type), rank, dims);
}

/* ---- which instructions a result needs ---- */

static void mark(bool *need, const struct hlo_computation *c, const struct hlo_instruction *i)
{
    if (i->parent == c)
        need[i->index] = true;
}

static void mark_captures(bool *need, const struct hlo_computation *c,
                          const struct hlo_computation *callee)
{
    for (int k = 0; k < callee->captures.count; k++)
        mark(need, c, callee->captures.v[k]);
}

static void mark_operands(bool *need, const struct hlo_computation *c,
                          const struct hlo_instruction *i)
{
    for (int k = 0; k < i->operand_count; k++)
        mark(need, c, i->operands[k]);
    for (int k = 0; k < i->attr_count; k++) {
        enum hlo_attr_kind kind = hlo_attr_info(i->attrs[k].id)->kind;
        if (kind == HLO_KIND_COMPUTATION)
            mark_captures(need, c, i->attrs[k].computation);
        for (int j = 0; kind == HLO_KIND_COMPUTATIONS && j < i->attrs[k].computations->count; j++)
            mark_captures(need, c, i->attrs[k].computations->v[j]);
    }
}

const bool *hlo_needed(struct hlo_importer *im, const struct hlo_computation *c)
{
    if (im->needed[c->index])
        return im->needed[c->index];
    bool *need = ARENA_ARRAY(&im->arena, bool, c->count + 1);
    mark(need, c, c->root);
    for (int k = 0; k < c->effects.count; k++)
        mark(need, c, c->effects.v[k]);
    for (int k = c->count - 1; k >= 0; k--)
        if (need[k])
            mark_operands(need, c, c->instructions[k]);
    return im->needed[c->index] = need;
}

/* ---- instructions ---- */

/* One computation at work: the leaves of its instructions so far. */
struct computation_frame {
    const struct hlo_computation *c;
    struct leaves *values;
    const struct leaves *args;
    const struct computation_frame *outer; /* of the instruction that calls this computation */
};

/* What an operand stands for: of this computation, or of one around it. */
static struct leaves value_of(const struct computation_frame *f, const struct hlo_instruction *i)
{
    while (f->c != i->parent && f->outer)
        f = f->outer;
    return f->values[i->index];
}

/* Whether dims that are not known may make the types equal. */
static bool may_be(const struct type *want, const struct type *have)
{
    if (want->dtype != have->dtype || want->rank != have->rank)
        return false;
    for (int k = 0; k < want->rank; k++)
        if (want->dims[k] != HLO_UNBOUNDED && dim_is_const(have->dims[k]) &&
            want->dims[k] != have->dims[k])
            return false;
    return true;
}

static bool check_leaf(struct hlo_lower *l, int k)
{
    const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
    const struct value *v = l->out.v[k];
    if (!v)
        return fail_internal(l->b->d, "array %d has no value", k);
    if (l->vectors)
        return v->type.dtype == hlo_type_dtype(s->type) ||
               fail(l->b->d, "array %d is computed as %s, but its shape says %s", k,
                    dtype_name(v->type.dtype), hlo_type_name(s->type));
    struct type want = hlo_type_of(s);
    if (type_equal(&want, &v->type) || (l->im->m->dynamic && may_be(&want, &v->type)))
        return true;
    return fail(l->b->d, "array %d is computed as %s, but its shape says %s", k,
                type_text(&l->b->g->dims, &l->b->g->arena, &v->type),
                type_text(&l->b->g->dims, &l->b->g->arena, &want));
}

static bool lower_instruction(struct hlo_importer *im, struct region *r, struct computation_frame *f,
                              const struct hlo_instruction *i, bool vectors)
{
    struct leaves *out = &f->values[i->index];
    if (i->opcode == HLO_OP_PARAMETER) {
        *out = f->args[i->parameter];
        return true;
    }
    if (++im->instructions > im->max)
        return fail(im->d, "the module has more than %lld instructions after inlining its calls",
                    (long long)im->max);
    struct builder builder = {.g = im->g, .r = r, .name = i->name, .source = hlo_op_name(i->opcode), .d = im->d};
    struct hlo_lower l = {.im = im, .b = {builder}, .i = i, .vectors = vectors};
    l.operands = ARENA_ARRAY(&im->arena, struct leaves, i->operand_count + 1);
    for (int k = 0; k < i->operand_count; k++)
        l.operands[k] = value_of(f, i->operands[k]);
    l.out.count = hlo_leaf_count(i->shape);
    l.out.v = ARENA_ARRAY(&im->arena, struct value *, l.out.count + 1);
    if (!im->rows[i->opcode].lower(&l))
        return diag_failed(l.b->d) ? false : fail_internal(l.b->d, "lowering failed without a reason");
    for (int k = 0; k < l.out.count; k++)
        if (!check_leaf(&l, k))
            return false;
    *out = l.out;
    return true;
}

static bool import_body(struct hlo_importer *im, struct region *r, const struct hlo_computation *c,
                        const struct leaves *args, bool vectors, struct leaves *result)
{
    const bool *need = hlo_needed(im, c);
    struct computation_frame f = {c, ARENA_ARRAY(&im->arena, struct leaves, c->count + 1), args, im->frame};
    if (im->depth >= MAX_CALLS)
        return fail(im->d, "computations call each other deeper than %d", MAX_CALLS);
    im->depth++;
    im->frame = &f;
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = c->instructions[k];
        if (!need[k])
            continue;
        if (!lower_instruction(im, r, &f, i, vectors)) {
            const char *source = hlo_source(im->m, i, &im->arena);
            return im->placed++ ? false
                                : fail_in(im->d, "instruction '%s' (%s)%s%s", i->name,
                                          hlo_op_name(i->opcode), source ? " from " : "",
                                          source ? source : "");
        }
    }
    im->depth--;
    *result = value_of(&f, c->root);
    im->frame = f.outer;
    return true;
}

bool hlo_inline(struct hlo_lower *l, const struct hlo_computation *c, const struct leaves *args,
                int nargs, struct leaves *result)
{
    if (nargs != c->parameter_count)
        return HLO_ERROR(l, "computation '%s' has %d parameters, but gets %d", c->name,
                         c->parameter_count, nargs);
    for (int k = 0; k < nargs; k++)
        if (args[k].count != hlo_leaf_count(c->parameters[k]->shape))
            return HLO_ERROR(l, "parameter %d of computation '%s' has %d arrays, but gets %d", k,
                             c->name, hlo_leaf_count(c->parameters[k]->shape), args[k].count);
    return import_body(l->im, l->b->r, c, args, l->vectors, result);
}

void hlo_end_region(struct graph *g, struct region *r, const struct leaves *results)
{
    node_append(r, node_new(g, OP_return, results->v, results->count, 0, ""));
}

bool hlo_region(struct hlo_lower *l, const struct hlo_computation *c, struct region *r, bool vectors)
{
    struct hlo_importer *im = l->im;
    struct leaves *args = ARENA_ARRAY(&im->arena, struct leaves, c->parameter_count + 1), result;
    dim_t length = vectors ? dim_fresh(&l->b->g->dims, "lanes") : 0;
    for (int k = 0; k < c->parameter_count; k++) {
        const struct hlo_instruction *p = c->parameters[k];
        args[k].count = hlo_leaf_count(p->shape);
        args[k].v = ARENA_ARRAY(&im->arena, struct value *, args[k].count + 1);
        for (int j = 0; j < args[k].count; j++) {
            struct type t = hlo_type_of(hlo_leaf(p->shape, j));
            if (vectors)
                t = type_tensor(t.dtype, 1, &length);
            args[k].v[j] = region_add_param(r, &t, p->name);
        }
    }
    if (!import_body(im, r, c, args, vectors, &result))
        return false;
    hlo_end_region(l->b->g, r, &result);
    return true;
}

static const uint8_t flags[HLO_OP_COUNT] = {
#define LOWER(opcode, function, flags) [HLO_OP_##opcode] = flags,
#define REFUSED(opcode, reason)        [HLO_OP_##opcode] = 0,
#include "frontend/hlo/lower/lower_ops.def"
};

bool hlo_admits_vectors(const struct hlo_computation *c)
{
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = c->instructions[k];
        if (c->captures.count)
            return false;
        bool scalar =
            i->shape->type == HLO_TUPLE || (hlo_is_array(i->shape) && i->shape->rank == 0);
        bool vectors = (flags[i->opcode] & HLO_VECTORS) || hlo_same_op(i->opcode) != OP_COUNT;
        if (i->opcode != HLO_OP_PARAMETER && !vectors)
            return false;
        if (!scalar)
            return false;
        for (int j = 0; j < i->attr_count; j++)
            if (hlo_attr_info(i->attrs[j].id)->kind == HLO_KIND_COMPUTATION &&
                !hlo_admits_vectors(i->attrs[j].computation))
                return false;
    }
    return true;
}

struct value *hlo_constant(struct hlo_lower *l, const struct hlo_literal *literal)
{
    const struct hlo_shape *s = literal->shape;
    static const char nothing[16];
    if (literal->elided) {
        HLO_ERROR(l, "its values were left out of the file ('{...}'); print the module again with "
                     "large constants");
        return NULL;
    }
    if (s->rank > MAX_RANK) {
        HLO_ERROR(l, "the constant has %d dimensions, expected at most %d", s->rank, MAX_RANK);
        return NULL;
    }
    struct tensor t = tensor_view(hlo_type_dtype(s->type), s->rank, s->dims,
                                  literal->data ? literal->data : (void *)nothing);
    return constant_new(l->b->g, &t, NULL);
}

bool hlo_import_entry(struct hlo_importer *im, const struct leaves *args, struct leaves *results)
{
    return import_body(im, im->g->main, im->m->entry, args, false, results);
}
