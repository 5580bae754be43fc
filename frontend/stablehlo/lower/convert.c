/* Modules, functions, regions; making HLO instructions. */
#include "frontend/stablehlo/lower/convert.h"
#include "frontend/hlo/syntax/check.h"

#include <string.h>

enum { MAX_DEPTH = 250 };

/* ---- types and values ---- */

enum hlo_type sh_type(int dtype)
{
    for (int t = 1; t < HLO_TYPE_COUNT; t++)
        if ((int)hlo_type_dtype(t) == dtype && dtype != DT_NONE)
            return t;
    return HLO_TYPE_INVALID;
}

/* #stablehlo.bounds<8, ?>, which says how large unknown dims may be. */
static const int64_t *bounds_of(struct sh_convert *c, const struct mlir_type *t)
{
    const struct mlir_attr *b = t->encoding ? mlir_field(t->encoding, "bounds") : NULL;
    if (!b || b->kind != MA_ARRAY || b->count != t->rank)
        return NULL;
    int64_t *v = ARENA_ARRAY(c->arena, int64_t, t->rank + 1);
    for (int k = 0; k < t->rank; k++)
        v[k] = b->items[k]->i < 0 ? HLO_UNBOUNDED : b->items[k]->i;
    return v;
}

const struct hlo_shape *sh_shape(struct sh_convert *c, const struct mlir_type *t)
{
    const struct mlir_type *e = t->element ? t->element : t;
    switch (t->kind) {
    case MT_TOKEN:
        return hlo_shape_new(c->arena, HLO_TOKEN, 0, NULL);
    case MT_TUPLE:
    case MT_FUTURE: {
        const struct hlo_shape **v = ARENA_ARRAY(c->arena, const struct hlo_shape *, t->count + 1);
        for (int k = 0; k < t->count; k++)
            if (!(v[k] = sh_shape(c, t->types[k])))
                return NULL;
        return hlo_shape_tuple(c->arena, t->count, v);
    }
    case MT_BUFFER:
    case MT_TENSOR:
    case MT_SCALAR:
    case MT_INDEX:
    case MT_QUANT:
        break;
    default:
        SH_ERROR(c, "a value of type %s, expected a tensor, a token or a tuple%s",
                 mlir_type_text(c->arena, t),
                 *mlir_type_text(c->arena, t) == '!'
                     ? "; types of other dialects are not read, convert the module to StableHLO first"
                     : "");
        return NULL;
    }
    int dtype = e->kind == MT_QUANT ? e->quant->storage->dtype : mlir_dtype(e);
    enum hlo_type type = sh_type(dtype);
    if (type == HLO_TYPE_INVALID || t->rank < 0) {
        c->d->unsupported = true;
        SH_ERROR(c, "a value of type %s%s", mlir_type_text(c->arena, t),
                 t->rank < 0 ? ", whose rank is not known" : ", whose elements are not supported");
        return NULL;
    }
    struct hlo_shape *s = hlo_shape_new(c->arena, type, t->rank, t->dims);
    s->bounds = bounds_of(c, t);
    return s;
}

struct hlo_instruction *sh_operand(struct sh_convert *c, const struct mlir_op *op, int k)
{
    if (k >= op->operand_count) {
        SH_ERROR(c, "%d operands, expected more than %d", op->operand_count, k);
        return NULL;
    }
    const struct sh_value *v = op->operands[k]->mapped;
    if (!v || !v->i) {
        SH_ERROR(c, "operand %d is not defined before it is used", k);
        return NULL;
    }
    return v->i;
}

void sh_bind(struct sh_convert *c, struct mlir_value *v, struct hlo_instruction *i)
{
    struct sh_value *w = arena_alloc(c->arena, sizeof *w);
    w->i = i;
    v->mapped = w;
}

bool sh_bind_results(struct sh_convert *c, const struct mlir_op *op, struct hlo_instruction *i)
{
    if (!i)
        return false;
    if (op->result_count == 1) {
        sh_bind(c, op->results[0], i);
        return true;
    }
    for (int k = 0; k < op->result_count; k++) {
        struct hlo_instruction *e = sh_element(c, i, k);
        if (!e)
            return false;
        sh_bind(c, op->results[k], e);
    }
    return true;
}

/* ---- attributes of instructions ---- */

static struct hlo_attr *add(struct sh_attrs *l, enum hlo_attr_id id)
{
    struct hlo_attr *a = &l->v[l->count++];
    *a = (struct hlo_attr){.id = id};
    return a;
}

void sh_set_int(struct sh_attrs *l, enum hlo_attr_id id, int64_t v)
{
    add(l, id)->i = v;
}

void sh_set_ints(struct sh_convert *c, struct sh_attrs *l, enum hlo_attr_id id, const int64_t *v,
                 int n)
{
    struct hlo_ints *ints = arena_alloc(c->arena, sizeof *ints);
    ints->count = n;
    ints->v = ARENA_ARRAY(c->arena, int64_t, n + 1);
    if (n)
        memcpy(ints->v, v, sizeof *v * (size_t)n);
    add(l, id)->ints = ints;
}

void sh_set_text(struct sh_convert *c, struct sh_attrs *l, enum hlo_attr_id id, const char *s,
                 size_t n)
{
    struct hlo_text *t = arena_alloc(c->arena, sizeof *t);
    t->data = arena_strndup(c->arena, s, n);
    t->size = n;
    add(l, id)->text = t;
}

void sh_set_pointer(struct sh_attrs *l, enum hlo_attr_id id, const void *p)
{
    add(l, id)->pointer = p;
}

/* ---- instructions ---- */

static void append_instruction(struct sh_convert *c, struct hlo_instructions *l, int *capacity,
                               struct hlo_instruction *i)
{
    for (int k = 0; k < l->count; k++)
        if (l->v[k] == i)
            return;
    ARENA_GROW(c->arena, l->v, l->count, *capacity);
    l->v[l->count++] = i;
}

/* The computation under construction, and those between it and the operand's own, capture it. */
static void capture(struct sh_convert *c, struct hlo_instruction *i)
{
    for (struct sh_scope *s = c->scope; s && s->c != i->parent; s = s->outer)
        append_instruction(c, &s->c->captures, &s->capture_capacity, i);
}

void sh_keep(struct sh_convert *c, struct hlo_instruction *i)
{
    append_instruction(c, &c->scope->c->effects, &c->scope->effect_capacity, i);
}

static const struct hlo_metadata *metadata(struct sh_convert *c)
{
    const struct mlir_loc *l = c->op ? c->op->loc : NULL, *line = mlir_source_line(l);
    if (!l || l->kind == ML_UNKNOWN)
        return NULL;
    struct hlo_metadata *m = arena_alloc(c->arena, sizeof *m);
    if (line) {
        m->source_file = line->text;
        m->source_line = line->line;
    }
    if (l->kind == ML_NAME)
        m->op_name = l->text;
    return m->source_file || m->op_name ? m : NULL;
}

static const char *name_of(struct sh_convert *c, enum hlo_opcode op)
{
    if (op == HLO_OP_PARAMETER && c->argument)
        return c->argument;
    const char *base = c->op && c->op->result_count && c->op->results[0]->name
                           ? c->op->results[0]->name
                           : hlo_op_name(op);
    return arena_printf(c->arena, "%s.%d", base, c->fresh++);
}

struct hlo_instruction *sh_emit(struct sh_convert *c, enum hlo_opcode op,
                                const struct hlo_shape *shape, struct hlo_instruction *const *in,
                                int n, const struct sh_attrs *attrs)
{
    if (diag_failed(c->d))
        return NULL;
    struct hlo_instruction *i = arena_alloc(c->arena, sizeof *i);
    const struct hlo_metadata *m = metadata(c);
    int count = attrs ? attrs->count : 0;
    i->opcode = op;
    i->shape = shape;
    i->operand_count = n;
    i->operands = ARENA_ARRAY(c->arena, struct hlo_instruction *, n + 1);
    for (int k = 0; k < n; k++) {
        if (!in[k])
            return fail_internal(c->d, "operand %d has not been converted", k), NULL;
        i->operands[k] = in[k];
        capture(c, in[k]);
    }
    i->attrs = ARENA_ARRAY(c->arena, struct hlo_attr, count + 2);
    if (count)
        memcpy(i->attrs, attrs->v, sizeof *attrs->v * (size_t)count);
    i->attr_count = count;
    if (m)
        i->attrs[i->attr_count++] = (struct hlo_attr){.id = HLO_ATTR_metadata, .metadata = m};
    i->name = name_of(c, op);
    i->line = c->op ? c->op->line : 0;
    hlo_normalise(c->arena, i);
    i->parent = c->scope->c;
    if (!hlo_check_instruction(c->arena, i, c->d))
        return NULL;
    hlo_append(c->arena, c->scope->c, i);
    return i;
}

struct hlo_instruction *sh_1(struct sh_convert *c, enum hlo_opcode op, struct hlo_instruction *x)
{
    return sh_emit(c, op, NULL, &x, 1, NULL);
}

struct hlo_instruction *sh_2(struct sh_convert *c, enum hlo_opcode op, struct hlo_instruction *x,
                             struct hlo_instruction *y)
{
    return sh_emit(c, op, NULL, (struct hlo_instruction *[]){x, y}, 2, NULL);
}

struct hlo_instruction *sh_cast(struct sh_convert *c, struct hlo_instruction *x, enum hlo_type t)
{
    if (!x || x->shape->type == t)
        return x;
    return sh_emit(c, HLO_OP_CONVERT, hlo_shape_new(c->arena, t, x->shape->rank, x->shape->dims),
                   &x, 1, NULL);
}

struct hlo_instruction *sh_literal(struct sh_convert *c, enum hlo_type t, int rank,
                                   const int64_t *dims, const void *data)
{
    struct hlo_literal *l = arena_alloc(c->arena, sizeof *l);
    int64_t n;
    l->shape = hlo_shape_new(c->arena, t, rank, dims);
    if (!hlo_shape_count(l->shape, &n))
        return SH_ERROR(c, "a constant of a size that is not known"), NULL;
    l->count = (size_t)n;
    l->data = (void *)(uintptr_t)data;
    l->elided = !data;
    struct hlo_instruction *i = sh_emit(c, HLO_OP_CONSTANT, l->shape, NULL, 0, NULL);
    if (i)
        i->literal = l;
    return i;
}

struct hlo_instruction *sh_scalar(struct sh_convert *c, enum hlo_type t, double v)
{
    int dt = hlo_type_dtype(t);
    void *data = arena_alloc(c->arena, 16);
    if (dtype_is_complex(dt))
        dtype_store_f64(dt == DT_C64 ? DT_F32 : DT_F64, data, 0, v);
    else if (dtype_is_float(dt))
        dtype_store_f64(dt, data, 0, v);
    else
        dtype_store_i64(dt, data, 0, (int64_t)v);
    return sh_literal(c, t, 0, NULL, data);
}

struct hlo_instruction *sh_broadcast(struct sh_convert *c, struct hlo_instruction *x,
                                     const struct hlo_shape *to, const int64_t *at)
{
    struct sh_attrs l = {0};
    if (!x)
        return NULL;
    sh_set_ints(c, &l, HLO_ATTR_dimensions, at, x->shape->rank);
    return sh_emit(c, HLO_OP_BROADCAST, hlo_shape_new(c->arena, x->shape->type, to->rank, to->dims),
                   &x, 1, &l);
}

/* The shape as a list of numbers; dim d that it does not state is dim at[d] of of[d]. */
static struct hlo_instruction *sizes(struct sh_convert *c, const struct hlo_shape *s,
                                     struct hlo_instruction *const *of, const int64_t *at)
{
    struct hlo_instruction *v[HLO_MAX_RANK];
    const int64_t one = 1, first = 0;
    struct sh_attrs joined = {0};
    for (int d = 0; d < s->rank; d++) {
        struct sh_attrs l = {0};
        sh_set_ints(c, &l, HLO_ATTR_dimensions, at + d, 1);
        struct hlo_instruction *n = s->dims[d] >= 0
                                        ? sh_scalar(c, HLO_S32, (double)s->dims[d])
                                        : sh_emit(c, HLO_OP_GET_DIMENSION_SIZE, NULL, of + d, 1, &l);
        const struct hlo_shape *single = hlo_shape_new(c->arena, HLO_S32, 1, &one);
        v[d] = n ? sh_emit(c, HLO_OP_RESHAPE, single, &n, 1, NULL) : NULL;
        if (!v[d])
            return NULL;
    }
    sh_set_ints(c, &joined, HLO_ATTR_dimensions, &first, 1);
    return sh_emit(c, HLO_OP_CONCATENATE, NULL, v, s->rank, &joined);
}

struct hlo_instruction *sh_broadcast_sized(struct sh_convert *c, struct hlo_instruction *x,
                                           const struct hlo_shape *to, const int64_t *at,
                                           struct hlo_instruction *const *of, const int64_t *of_dim)
{
    struct hlo_instruction *shape = sizes(c, to, of, of_dim);
    if (!x || !shape)
        return NULL;
    int64_t n = x->shape->rank, *kept = ARENA_ARRAY(c->arena, int64_t, n + 1);
    for (int k = 0; k < n; k++)
        kept[k] = at[k];
    struct hlo_instruction *in[3] = {x, shape, sh_literal(c, HLO_S64, 1, &n, kept)};
    struct sh_attrs l = {0};
    static const char target[] = "stablehlo.dynamic_broadcast_in_dim";
    sh_set_text(c, &l, HLO_ATTR_custom_call_target, target, sizeof target - 1);
    const struct hlo_shape *s = hlo_shape_new(c->arena, x->shape->type, to->rank, to->dims);
    return sh_emit(c, HLO_OP_CUSTOM_CALL, s, in, 3, &l);
}

struct hlo_instruction *sh_like(struct sh_convert *c, const struct hlo_instruction *x, double v)
{
    if (!x)
        return NULL;
    struct hlo_instruction *s = sh_scalar(c, x->shape->type, v), *of[HLO_MAX_RANK];
    int64_t dims[HLO_MAX_RANK], none = 0;
    bool stated = true;
    for (int d = 0; d < x->shape->rank; d++) {
        of[d] = (struct hlo_instruction *)x;
        dims[d] = d;
        stated &= x->shape->dims[d] >= 0;
    }
    if (!stated)
        return sh_broadcast_sized(c, s, x->shape, &none, of, dims);
    return x->shape->rank ? sh_broadcast(c, s, x->shape, NULL) : s;
}

struct hlo_instruction *sh_compare(struct sh_convert *c, struct hlo_instruction *x,
                                   struct hlo_instruction *y, int direction)
{
    struct sh_attrs l = {0};
    sh_set_int(&l, HLO_ATTR_direction, direction);
    return sh_emit(c, HLO_OP_COMPARE, NULL, (struct hlo_instruction *[]){x, y}, 2, &l);
}

struct hlo_instruction *sh_select(struct sh_convert *c, struct hlo_instruction *p,
                                  struct hlo_instruction *x, struct hlo_instruction *y)
{
    return sh_emit(c, HLO_OP_SELECT, NULL, (struct hlo_instruction *[]){p, x, y}, 3, NULL);
}

struct hlo_instruction *sh_tuple(struct sh_convert *c, struct hlo_instruction *const *in, int n)
{
    return sh_emit(c, HLO_OP_TUPLE, NULL, in, n, NULL);
}

struct hlo_instruction *sh_element(struct sh_convert *c, struct hlo_instruction *tuple, int k)
{
    struct sh_attrs l = {0};
    sh_set_int(&l, HLO_ATTR_index, k);
    return sh_emit(c, HLO_OP_GET_TUPLE_ELEMENT, NULL, &tuple, 1, &l);
}

/* ---- computations ---- */

static void begin(struct sh_convert *c, struct sh_scope *s, const char *name, bool closed)
{
    *s = (struct sh_scope){.outer = closed ? NULL : c->scope};
    s->c = arena_alloc(c->arena, sizeof *s->c);
    s->c->name = arena_printf(c->arena, "%s.%d", name, c->fresh++);
    c->scope = s;
}

static struct hlo_instruction *parameter(struct sh_convert *c, int k, const struct hlo_shape *s)
{
    struct hlo_instruction *p = s ? sh_emit(c, HLO_OP_PARAMETER, s, NULL, 0, NULL) : NULL;
    if (p)
        p->parameter = k;
    return p;
}

/* The block's operations up to its return, whose operands come out. */
static bool walk(struct sh_convert *c, const struct mlir_block *b, struct hlo_instruction ***v,
                 int *count)
{
    *v = NULL;
    *count = 0;
    for (int k = 0; k < b->op_count; k++) {
        const struct mlir_op *op = b->ops[k], *before = c->op;
        const char *dot = strrchr(op->name, '.');
        if (dot && !strcmp(dot, ".return")) {
            if (k + 1 < b->op_count)
                return SH_ERROR(c, "operations after '%s'", op->name);
            *count = op->operand_count;
            *v = ARENA_ARRAY(c->arena, struct hlo_instruction *, op->operand_count + 1);
            for (int j = 0; j < op->operand_count; j++)
                if (!((*v)[j] = sh_operand(c, op, j)))
                    return false;
            return true;
        }
        c->op = op;
        bool ok = c->convert_op(c, op);
        if (!ok && !c->placed) {
            const char *source = mlir_source(c->arena, op->loc);
            c->placed = true;
            fail_in(c->d, "'%s'%s%s", op->name, source ? " from " : "", source ? source : "");
            if (op->line)
                fail_in(c->d, "line %d", op->line);
        }
        c->op = before;
        if (!ok)
            return false;
    }
    return true;
}

/* The return becomes the root: a tuple unless there is exactly one result. */
static struct hlo_computation *end(struct sh_convert *c, struct sh_scope *s,
                                   struct hlo_instruction **v, int count)
{
    for (int k = 0; k < count; k++)
        if (v[k]->parent != s->c && !(v[k] = sh_1(c, HLO_OP_OPT_BARRIER, v[k])))
            return NULL;
    struct hlo_instruction *root = count == 1 ? v[0] : sh_tuple(c, v, count);
    if (!root)
        return NULL;
    s->c->root = root;
    if (!hlo_check_computation(c->arena, s->c, c->d))
        return NULL;
    hlo_append_computation(c->arena, c->to, s->c);
    return s->c;
}

struct hlo_computation *sh_region(struct sh_convert *c, const struct mlir_op *op, int region,
                                  bool packed, const char *name)
{
    struct mlir_block *b = mlir_body(op, region);
    struct sh_scope s, *outer = c->scope;
    struct hlo_instruction **v;
    struct hlo_computation *made = NULL;
    int count, depth = c->depth;
    if (!b)
        return SH_ERROR(c, "region %d is empty", region), NULL;
    if (++c->depth > MAX_DEPTH)
        return SH_ERROR(c, "regions and calls nested deeper than %d", MAX_DEPTH), NULL;
    begin(c, &s, name, false);
    if (packed && b->arg_count != 1) {
        const struct hlo_shape **shapes =
            ARENA_ARRAY(c->arena, const struct hlo_shape *, b->arg_count + 1);
        for (int k = 0; k < b->arg_count; k++)
            if (!(shapes[k] = sh_shape(c, b->args[k]->type)))
                return NULL;
        struct hlo_instruction *p =
            parameter(c, 0, hlo_shape_tuple(c->arena, b->arg_count, shapes));
        for (int k = 0; k < b->arg_count; k++)
            sh_bind(c, b->args[k], p ? sh_element(c, p, k) : NULL);
    } else {
        for (int k = 0; k < b->arg_count; k++)
            sh_bind(c, b->args[k], parameter(c, k, sh_shape(c, b->args[k]->type)));
    }
    if (!diag_failed(c->d) && walk(c, b, &v, &count))
        made = end(c, &s, v, count);
    c->scope = outer;
    c->depth = depth;
    return made;
}

bool sh_inline(struct sh_convert *c, struct mlir_block *b, struct hlo_instruction *const *args,
               struct hlo_instruction **results, int count)
{
    struct hlo_instruction **v;
    int n;
    for (int k = 0; k < b->arg_count; k++)
        sh_bind(c, b->args[k], args[k]);
    if (!walk(c, b, &v, &n))
        return false;
    if (n != count)
        return SH_ERROR(c, "the region gives %d values, expected %d", n, count);
    memcpy(results, v, sizeof *v * (size_t)n);
    return true;
}

/* ---- functions ---- */

static bool check_returns(struct sh_convert *c, const struct mlir_op *f, const struct mlir_block *b)
{
    const struct mlir_attr *a = mlir_attr(f, "function_type");
    const struct mlir_type *t = a ? a->type : NULL;
    if (!t || t->kind != MT_FUNCTION)
        return SH_ERROR(c, "a function without a type");
    const struct mlir_op *last = b->op_count ? b->ops[b->op_count - 1] : NULL;
    const char *dot = last ? strrchr(last->name, '.') : NULL;
    if (!dot || strcmp(dot, ".return"))
        return SH_ERROR(c, "a function that does not end in a return");
    if (b->arg_count != t->inputs)
        return SH_ERROR(c, "%d arguments, but the type has %d", b->arg_count, t->inputs);
    if (mlir_is(last, "stablehlo.return"))
        return true;
    if (last->operand_count != t->count - t->inputs)
        return SH_ERROR(c, "%d results, but the type has %d", last->operand_count,
                        t->count - t->inputs);
    for (int k = 0; k < last->operand_count; k++)
        if (!mlir_type_equal(last->operands[k]->type, t->types[t->inputs + k]))
            return SH_ERROR(c, "result %d is %s, but the function's type says %s", k,
                            mlir_type_text(c->arena, last->operands[k]->type),
                            mlir_type_text(c->arena, t->types[t->inputs + k]));
    return true;
}

/* Which of JAX's global constants an argument is, or "". */
static const char *global_constant(const struct mlir_op *f, int k)
{
    const struct mlir_attr *a = mlir_attr(f, "arg_attrs");
    return a && a->kind == MA_ARRAY && k < a->count ? mlir_text(mlir_field(a->items[k], "jax.global_constant")) : "";
}

/* The name in its location, which is the program's name for it, or that in the text. */
static const char *argument_name(const struct mlir_value *v)
{
    if (v->loc && v->loc->kind == ML_NAME && *v->loc->text)
        return v->loc->text;
    return v->name;
}

static struct hlo_computation *convert_function(struct sh_convert *c, struct sh_function *f)
{
    struct mlir_block *b = mlir_body(f->op, 0);
    struct sh_scope s, *outer = c->scope;
    const struct mlir_op *op = c->op;
    struct hlo_instruction **v;
    struct hlo_computation *made = NULL;
    int count;
    if (!b)
        return SH_ERROR(c, "function '@%s' has no body", f->name), NULL;
    if (!check_returns(c, f->op, b))
        return fail_in(c->d, "function '@%s'", f->name), NULL;
    c->op = NULL;
    begin(c, &s, f->name, true);
    for (int k = 0, n = 0; k < b->arg_count && !diag_failed(c->d); k++) {
        const char *name = global_constant(f->op, k);
        bool platform = !outer && !strcmp(name, "_platform_index");
        const struct hlo_shape *shape = sh_shape(c, b->args[k]->type);
        c->argument = argument_name(b->args[k]);
        sh_bind(c, b->args[k],
                platform && shape ? sh_scalar(c, shape->type, c->from->platform)
                                  : parameter(c, n, shape));
        n += !platform;
    }
    c->argument = NULL;
    if (!diag_failed(c->d) && walk(c, b, &v, &count))
        made = end(c, &s, v, count);
    c->scope = outer;
    c->op = op;
    return made;
}

void sh_donors(struct sh_convert *c, const struct sh_function *f)
{
    const struct mlir_block *b = mlir_body(f->op, 0);
    const struct mlir_attr *attrs = mlir_attr(f->op, "arg_attrs");
    struct hlo_aliases *to = &c->to->donors;
    if (!b || !attrs || attrs->kind != MA_ARRAY)
        return;
    to->v = ARENA_ARRAY(c->arena, struct hlo_alias, b->arg_count + 1);
    for (int k = 0, n = 0; k < b->arg_count && k < attrs->count; k++) {
        if (!strcmp(global_constant(f->op, k), "_platform_index"))
            continue;
        const struct mlir_attr *donor = mlir_field(attrs->items[k], "jax.buffer_donor");
        if (mlir_field(attrs->items[k], "tf.aliasing_output") || (donor && donor->i))
            to->v[to->count++].parameter = n;
        n++;
    }
}

static bool is_identifier(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n && n < 64 && !s[n] && !(*s >= '0' && *s <= '9');
}

/* A size that is one of a parameter's dims. */
static void name_size(struct sh_convert *c, const struct hlo_instruction *x, const char *name)
{
    while ((x->opcode == HLO_OP_CONVERT || x->opcode == HLO_OP_RESHAPE) && x->operand_count == 1)
        x = x->operands[0];
    struct hlo_ints dims = hlo_attr_ints(x, HLO_ATTR_dimensions);
    if (x->opcode != HLO_OP_GET_DIMENSION_SIZE || x->operands[0]->opcode != HLO_OP_PARAMETER ||
        dims.count != 1)
        return;
    struct hlo_module *m = c->to;
    ARENA_GROW(c->arena, m->size_names, m->size_name_count, m->size_name_capacity);
    m->size_names[m->size_name_count++] = (struct hlo_size_name){x->operands[0], dims.v[0], name};
}

/* A name that says no more than a number. */
static bool is_made_up(const char *name)
{
    const char *digits = !strncmp(name, "parameter.", 10) ? name + 10
                         : !strncmp(name, "arg", 3)       ? name + 3
                                                          : "x";
    return !digits[strspn(digits, "0123456789")];
}

void sh_learn_names(struct sh_convert *c, const char *callee, struct hlo_instruction *const *in)
{
    const struct sh_function *f = NULL;
    for (int k = 0; k < c->function_count; k++)
        if (!strcmp(c->functions[k].name, callee))
            f = &c->functions[k];
    struct mlir_block *b = f ? mlir_body(f->op, 0) : NULL;
    if (!b || strncmp(callee, "_wrapped_jax_export", 19))
        return;
    for (int k = 0; k < b->arg_count; k++) {
        const char *size = global_constant(f->op, k);
        const char *name = argument_name(b->args[k]);
        if (is_identifier(size))
            name_size(c, in[k], size);
        else if (in[k]->opcode == HLO_OP_PARAMETER && is_made_up(in[k]->name) && name && *name)
            in[k]->name = name;
    }
}

struct hlo_computation *sh_function(struct sh_convert *c, const char *name)
{
    for (int k = 0; k < c->function_count; k++) {
        struct sh_function *f = &c->functions[k];
        if (strcmp(f->name, name))
            continue;
        if (f->busy || ++c->depth > MAX_DEPTH)
            return SH_ERROR(c, "function '@%s' calls itself", name), NULL;
        f->busy = true;
        if (!f->computation)
            f->computation = convert_function(c, f);
        f->busy = false;
        c->depth--;
        return f->computation;
    }
    return SH_ERROR(c, "function '@%s' is not defined", name), NULL;
}
