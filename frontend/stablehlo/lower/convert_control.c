/* Regions, calls, several devices, the host, products. */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <ctype.h>
#include <string.h>

/* ---- one region applied to elements ---- */

static bool with_region(struct sh_convert *c, const struct mlir_op *op, enum hlo_opcode opcode,
                        struct sh_attrs *l)
{
    struct hlo_computation *f =
        sh_table_attrs(c, op, l) ? sh_region(c, op, 0, false, "region") : NULL;
    if (!f)
        return false;
    sh_set_pointer(l, HLO_ATTR_to_apply, f);
    return sh_plain(c, op, opcode, l, false);
}

bool sh_convert_reduce(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    return with_region(c, op, HLO_OP_REDUCE, &l);
}

bool sh_convert_scatter(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    return with_region(c, op, HLO_OP_SCATTER, &l);
}

bool sh_convert_map(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    return with_region(c, op, HLO_OP_MAP, &l);
}

bool sh_convert_sort(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x)
        return false;
    int64_t dim = sh_int(op, "dimension", -1);
    dim += dim < 0 ? x->shape->rank : 0;
    sh_set_ints(c, &l, HLO_ATTR_dimensions, &dim, 1);
    return with_region(c, op, HLO_OP_SORT, &l);
}

/* ---- control flow ---- */

bool sh_convert_while(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction **in = sh_operands(c, op);
    struct hlo_computation *condition = in ? sh_region(c, op, 0, true, "condition") : NULL;
    struct hlo_computation *body = condition ? sh_region(c, op, 1, true, "body") : NULL;
    if (!body)
        return false;
    struct hlo_instruction *state =
        op->operand_count == 1 ? in[0] : sh_tuple(c, in, op->operand_count);
    sh_set_pointer(&l, HLO_ATTR_condition, condition);
    sh_set_pointer(&l, HLO_ATTR_body, body);
    struct hlo_instruction *i = state ? sh_emit(c, HLO_OP_WHILE, NULL, &state, 1, &l) : NULL;
    return sh_finish(c, op, i);
}

/* if and case: branches without arguments, which use what is around them. */
bool sh_convert_branches(struct sh_convert *c, const struct mlir_op *op)
{
    bool two = mlir_is(op, "stablehlo.if");
    struct sh_attrs l = {0};
    struct hlo_instruction *index = sh_operand(c, op, 0);
    struct hlo_computations *list = arena_alloc(c->arena, sizeof *list);
    int n = op->region_count;
    struct hlo_instruction **in = ARENA_ARRAY(c->arena, struct hlo_instruction *, n + 1);
    if (!index || n == 0 || (two && n != 2))
        return index ? SH_ERROR(c, "%d regions", n) : false;
    list->count = n;
    list->v = ARENA_ARRAY(c->arena, struct hlo_computation *, n);
    in[0] = index;
    for (int k = 0; k < n; k++)
        if (!(list->v[k] = sh_region(c, op, k, true, "branch")) ||
            !(in[k + 1] = sh_tuple(c, NULL, 0)))
            return false;
    if (two) {
        sh_set_pointer(&l, HLO_ATTR_true_computation, list->v[0]);
        sh_set_pointer(&l, HLO_ATTR_false_computation, list->v[1]);
    } else {
        sh_set_pointer(&l, HLO_ATTR_branch_computations, list);
    }
    struct hlo_instruction *i = sh_emit(c, HLO_OP_CONDITIONAL, NULL, in, n + 1, &l);
    for (int k = 0; i && k < n; k++)
        if (list->v[k]->effects.count)
            sh_keep(c, i);
    return sh_finish(c, op, i);
}

/* An operation that does something else meanwhile: here at once. Futures are their values. */
bool sh_convert_async_start(struct sh_convert *c, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    struct hlo_instruction **in = sh_operands(c, op);
    if (!in || !b)
        return in ? SH_ERROR(c, "its region is empty") : false;
    const struct mlir_op *last = b->op_count ? b->ops[b->op_count - 1] : NULL;
    int n = last ? last->operand_count : 0;
    struct hlo_instruction **out = ARENA_ARRAY(c->arena, struct hlo_instruction *, n + 1);
    if (b->arg_count != op->operand_count)
        return SH_ERROR(c, "%d operands, but its region has %d arguments", op->operand_count,
                        b->arg_count);
    if (!sh_inline(c, b, in, out, n))
        return false;
    if (op->result_count != 1)
        return SH_ERROR(c, "%d results, expected one future", op->result_count);
    struct hlo_instruction *t = sh_tuple(c, out, n);
    if (t)
        sh_bind(c, op->results[0], t);
    return t != NULL;
}

bool sh_convert_async_done(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction *t = sh_operand(c, op, 0);
    if (!t)
        return false;
    if (t->shape->type != HLO_TUPLE || t->shape->count != op->result_count)
        return SH_ERROR(c, "the operand is not a future of %d values", op->result_count);
    for (int k = 0; k < op->result_count; k++) {
        struct hlo_instruction *e = sh_element(c, t, k);
        if (!e)
            return false;
        sh_bind(c, op->results[k], e);
    }
    return true;
}

bool sh_convert_after_all(struct sh_convert *c, const struct mlir_op *op)
{
    return sh_plain(c, op, HLO_OP_AFTER_ALL, NULL, false);
}

/* ---- composites and custom calls ---- */

static bool known_composite(const struct mlir_op *op)
{
    static const char *const names[] = {"top_k", "erf",  "sinh",   "cosh",    "asin",
                                        "acos",  "atan", "tan",    "asinh",   "acosh",
                                        "atanh", "erfc", "lgamma", "digamma", "erf_inv"};
    const char *name = mlir_text(mlir_attr(op, "name"));
    if (strncmp(name, "chlo.", 5))
        return false;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(name + 5, names[k]))
            return true;
    return false;
}

/* An operation of CHLO that was wrapped is that operation; others are their decomposition. */
bool sh_convert_composite(struct sh_convert *c, const struct mlir_op *op)
{
    if (known_composite(op)) {
        struct mlir_op *inner = arena_copy(c->arena, op, sizeof *op);
        const struct mlir_attr *a = mlir_attr(op, "composite_attributes");
        inner->name = mlir_text(mlir_attr(op, "name"));
        inner->attrs = (struct mlir_dict){0};
        for (int k = 0; a && a->kind == MA_DICT && k < a->count; k++)
            mlir_dict_set(c->arena, &inner->attrs, a->keys[k], a->items[k]);
        return sh_convert_chlo(c, inner);
    }
    struct sh_attrs l = {0};
    struct hlo_instruction **in = sh_operands(c, op);
    const char *name = mlir_text(mlir_attr(op, "decomposition"));
    struct hlo_computation *f = in ? sh_function(c, name) : NULL;
    if (!f)
        return diag_failed(c->d) ? fail_in(c->d, "composite '%s'", mlir_text(mlir_attr(op, "name")))
                                 : false;
    if (f->parameter_count != op->operand_count)
        return SH_ERROR(c, "%d operands, but its decomposition '@%s' has %d arguments",
                        op->operand_count, name, f->parameter_count);
    sh_set_pointer(&l, HLO_ATTR_to_apply, f);
    sh_set_int(&l, HLO_ATTR_is_composite, 1);
    return sh_finish(c, op, sh_emit(c, HLO_OP_CALL, NULL, in, op->operand_count, &l));
}

static bool called(struct sh_convert *c, const struct mlir_op *op, struct sh_attrs *l)
{
    const struct mlir_attr *a = mlir_attr(op, "called_computations");
    if (!a || a->kind != MA_ARRAY || !a->count || c->verify_only)
        return true; /* that the functions exist is for whoever knows the target */
    struct hlo_computations *v = arena_alloc(c->arena, sizeof *v);
    v->v = ARENA_ARRAY(c->arena, struct hlo_computation *, a->count);
    for (; v->count < a->count; v->count++)
        if (!(v->v[v->count] = sh_function(c, mlir_text(a->items[v->count]))))
            return false;
    sh_set_pointer(l, HLO_ATTR_called_computations, v);
    return true;
}

/* The operands but for those that only tell the shapes of dynamic results, which inference finds
 * itself. */
static struct hlo_instruction **data_operands(struct sh_convert *c, const struct mlir_op *op,
                                              int *count)
{
    const struct mlir_attr *shapes = mlir_attr(op, "indices_of_shape_operands");
    struct hlo_instruction **in = sh_operands(c, op);
    int64_t *at = NULL;
    int n = 0;
    *count = 0;
    if (shapes && !mlir_ints(c->arena, shapes, &n, &at)) {
        SH_ERROR(c, "'indices_of_shape_operands' is no list of integers");
        return NULL;
    }
    for (int k = 0; k < n; k++)
        if (at[k] < 0 || at[k] >= op->operand_count) {
            SH_ERROR(c, "'indices_of_shape_operands' names operand %lld of %d", (long long)at[k],
                     op->operand_count);
            return NULL;
        }
    for (int k = 0; in && k < op->operand_count; k++) {
        bool is_shape = false;
        for (int j = 0; j < n; j++)
            is_shape |= at[j] == k;
        if (!is_shape)
            in[(*count)++] = in[k];
    }
    return in;
}

/* Modules from before chlo.top_k: its attributes in a dictionary. */
static bool mhlo_top_k(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    const struct mlir_attr *given = mlir_attr(op, "mhlo.attributes");
    const struct mlir_attr *largest = mlir_field(given, "largest");
    int64_t k;
    if (!mlir_int(mlir_field(given, "k"), &k))
        return SH_ERROR(c, "no integer 'k' in 'mhlo.attributes'");
    sh_set_int(&l, HLO_ATTR_k, k);
    if (largest && largest->kind == MA_BOOL && !largest->i)
        sh_set_int(&l, HLO_ATTR_largest, 0);
    return sh_plain(c, op, HLO_OP_TOPK, &l, false);
}

bool sh_convert_custom_call(struct sh_convert *c, const struct mlir_op *op)
{
    static const char *const harmless[] = {"Sharding", "annotate_device_placement", "xla.sdy.*"};
    struct sh_attrs l = {0};
    const char *target = mlir_text(mlir_attr(op, "call_target_name"));
    const struct mlir_attr *config = mlir_attr(op, "backend_config");
    if (!config || (config->kind == MA_STRING && !config->size))
        config = mlir_attr(op, "mhlo.backend_config");
    if (!strcmp(target, "stablehlo.shape_refinement_operand_wrapper") && op->operand_count &&
        op->result_count == 1) {
        struct hlo_instruction *x = sh_operand(c, op, 0);
        if (x)
            sh_bind(c, op->results[0], x);
        return x != NULL;
    }
    if (!strcmp(target, "mhlo.topk"))
        return mhlo_top_k(c, op);
    sh_set_text(c, &l, HLO_ATTR_custom_call_target, target, strlen(target));
    sh_set_int(&l, HLO_ATTR_api_version, sh_int(op, "api_version", 1));
    if (config && config->kind == MA_STRING)
        sh_set_text(c, &l, HLO_ATTR_backend_config, config->text, config->size);
    else if (config) {
        const char *text = mlir_attr_text(c->arena, config);
        sh_set_text(c, &l, HLO_ATTR_backend_config, text, strlen(text));
    }
    if (!strcmp(target, "shape_assertion")) {
        const char *text = mlir_text(mlir_attr(op, "error_message"));
        sh_set_text(c, &l, HLO_ATTR_backend_config, text, strlen(text));
    }
    if (mlir_attr(op, "rng_algorithm")) { /* of stablehlo.dynamic_rng_bit_generator */
        const char *text = mlir_attr_text(c->arena, mlir_attr(op, "rng_algorithm"));
        sh_set_text(c, &l, HLO_ATTR_backend_config, text, strlen(text));
    }
    bool effect = sh_int(op, "has_side_effect", 0);
    for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
        effect &= strcmp(target, harmless[k]) != 0;
    if (effect)
        sh_set_int(&l, HLO_ATTR_custom_call_has_side_effect, 1);
    int count;
    struct hlo_instruction **in = data_operands(c, op, &count);
    if (!in || !called(c, op, &l))
        return false;
    const struct hlo_shape **v =
        ARENA_ARRAY(c->arena, const struct hlo_shape *, op->result_count + 1);
    for (int k = 0; k < op->result_count; k++)
        if (!(v[k] = sh_shape(c, op->results[k]->type)))
            return false;
    const struct hlo_shape *s =
        op->result_count == 1 ? v[0] : hlo_shape_tuple(c->arena, op->result_count, v);
    struct hlo_instruction *i = sh_emit(c, HLO_OP_CUSTOM_CALL, s, in, count, &l);
    if (i && effect)
        sh_keep(c, i);
    return sh_finish(c, op, i);
}

/* ---- the host and other devices ---- */

bool sh_convert_host(struct sh_convert *c, const struct mlir_op *op)
{
    static const struct {
        const char *name, *way;
    } ways[] = {
        {"stablehlo.infeed", "transfers from the host while running; pass the data as an input"},
        {"stablehlo.outfeed", "transfers to the host while running; return the data as a result"},
        {"stablehlo.send", "transfers between programs; return the data as a result"},
        {"stablehlo.recv", "transfers between programs; pass the data as an input"},
    };
    if (c->verify_only) {
        for (int k = 0; k < op->result_count; k++) {
            const struct hlo_shape *s = sh_shape(c, op->results[k]->type);
            struct sh_attrs l = {0};
            sh_set_text(c, &l, HLO_ATTR_custom_call_target, "host", 4);
            struct hlo_instruction *i = s ? sh_emit(c, HLO_OP_CUSTOM_CALL, s, NULL, 0, &l) : NULL;
            if (!i)
                return false;
            sh_bind(c, op->results[k], i);
        }
        return true;
    }
    c->d->unsupported = true;
    for (int k = 0; k < 4; k++)
        if (mlir_is(op, ways[k].name))
            return SH_ERROR(c, "%s", ways[k].way);
    return false;
}

static bool groups(struct sh_convert *c, const struct mlir_op *op, const char *name,
                   struct hlo_lists *l)
{
    const struct mlir_attr *a = mlir_attr(op, name);
    int n;
    int64_t *v;
    if (!a || a->kind != MA_DENSE)
        return true;
    if (a->type->rank != 2 || !mlir_ints(c->arena, a, &n, &v))
        return SH_ERROR(c, "'%s' is not a tensor of integers of two dimensions", name);
    l->count = a->type->dims[0] > 1 << 20 ? 0 : (int)a->type->dims[0];
    l->v = ARENA_ARRAY(c->arena, struct hlo_ints, l->count + 1);
    int wide = (int)a->type->dims[1];
    for (int k = 0; k < l->count; k++) {
        l->v[k].v = v + k * wide;
        for (int j = 0; j < wide; j++) /* -1 fills up groups that are smaller */
            l->v[k].count += l->v[k].v[j] >= 0;
    }
    return true;
}

bool sh_convert_collective(struct sh_convert *c, const struct mlir_op *op)
{
    static const struct {
        const char *name;
        enum hlo_opcode opcode;
    } opcodes[] = {{"stablehlo.all_gather", HLO_OP_ALL_GATHER},
                   {"stablehlo.all_reduce", HLO_OP_ALL_REDUCE},
                   {"stablehlo.all_to_all", HLO_OP_ALL_TO_ALL},
                   {"stablehlo.collective_broadcast", HLO_OP_COLLECTIVE_BROADCAST},
                   {"stablehlo.collective_reduce", HLO_OP_ALL_REDUCE},
                   {"stablehlo.collective_permute", HLO_OP_COLLECTIVE_PERMUTE},
                   {"stablehlo.reduce_scatter", HLO_OP_REDUCE_SCATTER}};
    struct sh_attrs l = {0};
    enum hlo_opcode opcode = HLO_OP_INVALID;
    struct hlo_groups *g = arena_alloc(c->arena, sizeof *g);
    struct hlo_lists *pairs = arena_alloc(c->arena, sizeof *pairs);
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++)
        if (mlir_is(op, opcodes[k].name))
            opcode = opcodes[k].opcode;
    const struct mlir_attr *mesh = mlir_attr(op, "replica_groups");
    if (mesh && mesh->kind == MA_STRUCT)
        g->form = HLO_GROUPS_MESH;
    if (!sh_table_attrs(c, op, &l) || !groups(c, op, "replica_groups", &g->lists) ||
        !groups(c, op, "source_target_pairs", pairs))
        return false;
    if (opcode == HLO_OP_COLLECTIVE_PERMUTE)
        sh_set_pointer(&l, HLO_ATTR_source_target_pairs, pairs);
    else if (g->lists.count || g->form == HLO_GROUPS_MESH)
        sh_set_pointer(&l, HLO_ATTR_replica_groups, g);
    if (op->region_count) {
        struct hlo_computation *f = sh_region(c, op, 0, false, "reducer");
        if (!f)
            return false;
        sh_set_pointer(&l, HLO_ATTR_to_apply, f);
    }
    return sh_plain(c, op, opcode, &l, true);
}

/* The older form of an all_reduce, whose region is a sum. */
bool sh_convert_cross_replica_sum(struct sh_convert *c, const struct mlir_op *op)
{
    if (op->operand_count != 1 || !op->operands[0]->type->element)
        return SH_ERROR(c, "%d operands, expected one array", op->operand_count);
    const struct mlir_type *one = mlir_tensor(c->arena, op->operands[0]->type->element, 0, NULL);
    struct mlir_op *reduce = arena_copy(c->arena, op, sizeof *op),
                   *sum = mlir_op_new(c->arena, "stablehlo.add"),
                   *end = mlir_op_new(c->arena, "stablehlo.return");
    reduce->name = "stablehlo.all_reduce";
    reduce->region_count = 1;
    reduce->regions = ARENA_ARRAY(c->arena, struct mlir_region, 1);
    struct mlir_block *b = mlir_add_block(c->arena, reduce, 0, 2);
    b->args[0]->type = b->args[1]->type = one;
    sum->operands = b->args;
    sum->operand_count = 2;
    mlir_add_results(c->arena, sum, 1);
    sum->results[0]->type = one;
    end->operands = sum->results;
    end->operand_count = 1;
    mlir_append(c->arena, b, sum);
    mlir_append(c->arena, b, end);
    return sh_convert_collective(c, reduce);
}

/* ---- random numbers ---- */

/* low, high, shape: the shape is the result's */
bool sh_convert_rng(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction *in[2] = {sh_operand(c, op, 0), sh_operand(c, op, 1)};
    const struct hlo_shape *s = op->result_count == 1 ? sh_shape(c, op->results[0]->type) : NULL;
    if (!in[0] || !in[1] || !s || !sh_table_attrs(c, op, &l))
        return false;
    bool stated = true;
    for (int k = 0; k < s->rank; k++)
        stated &= s->dims[k] >= 0;
    if (stated || op->operand_count != 3)
        return sh_finish(c, op, sh_emit(c, HLO_OP_RNG, s, in, 2, &l));
    struct hlo_instruction *all[3] = {in[0], in[1], sh_operand(c, op, 2)};
    const struct mlir_attr *distribution = mlir_attr(op, "rng_distribution");
    if (!distribution)
        return SH_ERROR(c, "no attribute 'rng_distribution', expected one");
    const char *text = mlir_attr_text(c->arena, distribution);
    struct sh_attrs call = {0};
    sh_set_text(c, &call, HLO_ATTR_custom_call_target, op->name, strlen(op->name));
    sh_set_text(c, &call, HLO_ATTR_backend_config, text, strlen(text));
    return all[2] && sh_finish(c, op, sh_emit(c, HLO_OP_CUSTOM_CALL, s, all, 3, &call));
}

bool sh_convert_rng_bit_generator(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    return sh_table_attrs(c, op, &l) && sh_plain(c, op, HLO_OP_RNG_BIT_GENERATOR, &l, true);
}

/* ---- products ---- */

/* The older form: the last dimension of the first with the first of the second. */
bool sh_convert_dot(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0), *y = sh_operand(c, op, 1);
    if (!x || !y || !sh_table_attrs(c, op, &l))
        return false;
    if (x->shape->rank < 1 || y->shape->rank < 1 || x->shape->rank > 2 || y->shape->rank > 2)
        return SH_ERROR(c, "operands of %d and %d dimensions, expected 1 or 2", x->shape->rank,
                        y->shape->rank);
    int64_t from = x->shape->rank - 1, to = 0;
    sh_set_ints(c, &l, HLO_ATTR_lhs_contracting_dims, &from, 1);
    sh_set_ints(c, &l, HLO_ATTR_rhs_contracting_dims, &to, 1);
    return sh_plain(c, op, HLO_OP_DOT, &l, false);
}

struct einsum {
    int count[3]; /* letters of operands and result */
    char letters[3][HLO_MAX_RANK];
};

static bool parse_einsum(struct sh_convert *c, const char *s, int operands, struct einsum *e)
{
    const char *arrow = strstr(s, "->");
    if (!arrow)
        return SH_ERROR(c, "einsum_config \"%.60s\" has no '->'", s);
    for (const char *p = s; *p;) {
        int part = p > arrow ? 2 : 0;
        if (p == arrow) {
            p += 2;
            continue;
        }
        for (const char *q = s; q < p && p < arrow; q++)
            part += *q == ',';
        if (*p == ',') {
            p++;
            continue;
        }
        if (!isalpha((unsigned char)*p) || part > 2 || e->count[part] == HLO_MAX_RANK)
            return SH_ERROR(c, "einsum_config \"%.60s\" is not letters, ',' and '->'", s);
        e->letters[part][e->count[part]++] = *p++;
    }
    return (operands == 2) == (memchr(s, ',', (size_t)(arrow - s)) != NULL) ||
           SH_ERROR(c, "einsum_config \"%.60s\" does not fit %d operands", s, operands);
}

static int at_letter(const struct einsum *e, int part, char c)
{
    for (int k = 0; k < e->count[part]; k++)
        if (e->letters[part][k] == c)
            return k;
    return -1;
}

/* Sums over a dimension. */
static struct hlo_instruction *sum_out(struct sh_convert *c, struct hlo_instruction *x, int64_t dim)
{
    struct sh_scope s = {.outer = c->scope}, *outer = c->scope;
    struct sh_attrs l = {0};
    const struct hlo_shape *scalar = hlo_shape_new(c->arena, x->shape->type, 0, NULL);
    s.c = arena_alloc(c->arena, sizeof *s.c);
    s.c->name = arena_printf(c->arena, "sum.%d", c->fresh++);
    c->scope = &s;
    struct hlo_instruction *a = sh_emit(c, HLO_OP_PARAMETER, scalar, NULL, 0, NULL),
                           *b = sh_emit(c, HLO_OP_PARAMETER, scalar, NULL, 0, NULL);
    if (b)
        b->parameter = 1;
    s.c->root = b ? sh_2(c, HLO_OP_ADD, a, b) : NULL;
    c->scope = outer;
    if (!s.c->root)
        return NULL;
    s.c->parameter_count = 2;
    s.c->parameters = ARENA_ARRAY(c->arena, struct hlo_instruction *, 2);
    s.c->parameters[0] = a;
    s.c->parameters[1] = b;
    s.c->index = c->to->count;
    ARENA_GROW(c->arena, c->to->computations, c->to->count, c->to->capacity);
    c->to->computations[c->to->count++] = s.c;
    sh_set_ints(c, &l, HLO_ATTR_dimensions, &dim, 1);
    sh_set_pointer(&l, HLO_ATTR_to_apply, s.c);
    struct hlo_instruction *in[2] = {x, sh_scalar(c, x->shape->type, 0)};
    return sh_emit(c, HLO_OP_REDUCE, NULL, in, 2, &l);
}

static struct hlo_instruction *drop_letters(struct sh_convert *c, struct einsum *e, int part,
                                            int other, struct hlo_instruction *x)
{
    for (int k = e->count[part] - 1; x && k >= 0; k--) {
        char letter = e->letters[part][k];
        if (at_letter(e, 2, letter) >= 0 || (other >= 0 && at_letter(e, other, letter) >= 0))
            continue;
        x = sum_out(c, x, k);
        memmove(e->letters[part] + k, e->letters[part] + k + 1, (size_t)(--e->count[part] - k));
    }
    return x;
}

/* The product of both operands; the letters of its dims, in order. */
static struct hlo_instruction *einsum_dot(struct sh_convert *c, const struct einsum *e, struct hlo_instruction *x,
                                          struct hlo_instruction *y, char *order, int *n)
{
    int64_t lb[HLO_MAX_RANK], rb[HLO_MAX_RANK], lc[HLO_MAX_RANK], rc[HLO_MAX_RANK];
    int batch = 0, contract = 0;
    struct sh_attrs l = {0};
    for (int k = 0; k < e->count[0]; k++) {
        int j = at_letter(e, 1, e->letters[0][k]);
        if (j < 0)
            continue;
        bool kept = at_letter(e, 2, e->letters[0][k]) >= 0;
        (kept ? lb : lc)[kept ? batch : contract] = k;
        (kept ? rb : rc)[kept ? batch++ : contract++] = j;
    }
    for (int k = 0; k < batch; k++)
        order[(*n)++] = e->letters[0][lb[k]];
    for (int part = 0; part < 2; part++)
        for (int k = 0; k < e->count[part]; k++)
            if (at_letter(e, 1 - part, e->letters[part][k]) < 0)
                order[(*n)++] = e->letters[part][k];
    sh_set_ints(c, &l, HLO_ATTR_lhs_batch_dims, lb, batch);
    sh_set_ints(c, &l, HLO_ATTR_rhs_batch_dims, rb, batch);
    sh_set_ints(c, &l, HLO_ATTR_lhs_contracting_dims, lc, contract);
    sh_set_ints(c, &l, HLO_ATTR_rhs_contracting_dims, rc, contract);
    return sh_emit(c, HLO_OP_DOT, NULL, (struct hlo_instruction *[]){x, y}, 2, &l);
}

bool sh_convert_einsum(struct sh_convert *c, const struct mlir_op *op)
{
    struct einsum e = {0};
    struct hlo_instruction *x = sh_operand(c, op, 0),
                           *y = op->operand_count > 1 ? sh_operand(c, op, 1) : NULL;
    const char *config = mlir_text(mlir_attr(op, "einsum_config"));
    const struct hlo_shape *to = sh_shape(c, op->results[0]->type);
    if (!x || !to || (op->operand_count > 1 && !y) || !parse_einsum(c, config, op->operand_count, &e))
        return false;
    x = sh_cast(c, x, to->type);
    y = y ? sh_cast(c, y, to->type) : NULL;
    if (e.count[0] != x->shape->rank || (y && e.count[1] != y->shape->rank))
        return SH_ERROR(c, "einsum_config \"%.60s\" does not fit the operands' dimensions", config);
    for (int part = 0; part < 3; part++)
        for (int k = 0; k < e.count[part]; k++)
            if (at_letter(&e, part, e.letters[part][k]) != k)
                return SH_ERROR(c, "einsum_config \"%.60s\" has a letter twice", config);
    x = drop_letters(c, &e, 0, y ? 1 : -1, x);
    if (y)
        y = drop_letters(c, &e, 1, 0, y);
    if (!x || (op->operand_count > 1 && !y))
        return false;
    char order[2 * HLO_MAX_RANK];
    int n = 0;
    if (y) {
        x = einsum_dot(c, &e, x, y, order, &n);
    } else {
        for (; n < e.count[0]; n++)
            order[n] = e.letters[0][n];
    }
    int64_t perm[HLO_MAX_RANK];
    struct sh_attrs l = {0};
    if (!x || n != e.count[2])
        return x ? SH_ERROR(c, "einsum_config \"%.60s\" has a result that its operands do not give",
                            config)
                 : false;
    for (int k = 0; k < n; k++) {
        const char *at = memchr(order, e.letters[2][k], (size_t)n);
        if (!at)
            return SH_ERROR(c, "einsum_config \"%.60s\" has an unknown letter", config);
        perm[k] = at - order;
    }
    sh_set_ints(c, &l, HLO_ATTR_dimensions, perm, n);
    return sh_finish(c, op, sh_emit(c, HLO_OP_TRANSPOSE, NULL, &x, 1, &l));
}
