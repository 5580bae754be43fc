/* Attributes by the table, and fitting results to what an operation states. */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <ctype.h>
#include <string.h>

enum attr_rule { INT, BOOL, FLOAT, ENUM, INTS, ONE, PRECISION };

static const struct attr_row {
    const char *op, *from;
    enum hlo_attr_id to;
    enum attr_rule kind;
} attr_rows[] = {
#define OP(...)
#define SPECIAL(...)
#define ATTR(name, from, to, kind) {#name, #from, HLO_ATTR_##to, kind},
#include "frontend/stablehlo/lower/stablehlo_ops.def"
};

/* ---- reading attributes ---- */

int64_t sh_int(const struct mlir_op *op, const char *name, int64_t standard)
{
    int64_t v;
    return mlir_int(mlir_attr_or_field(op, name), &v) ? v : standard;
}

bool sh_ints(struct sh_convert *c, const struct mlir_op *op, const char *name, int *count,
             int64_t **v)
{
    const struct mlir_attr *a = mlir_attr_or_field(op, name);
    *count = -1;
    *v = NULL;
    if (!a)
        return true;
    return mlir_ints(c->arena, a, count, v) ||
           SH_ERROR(c, "attribute '%s' is not a list of integers", name);
}

bool sh_list(struct sh_convert *c, const struct mlir_op *op, const char *name, int n,
             int64_t standard, int64_t **v)
{
    int count;
    if (!sh_ints(c, op, name, &count, v))
        return false;
    if (count < 0) {
        *v = ARENA_ARRAY(c->arena, int64_t, n + 1);
        for (int k = 0; k < n; k++)
            (*v)[k] = standard;
    }
    return count < 0 || count == n ||
           SH_ERROR(c, "attribute '%s' has %d entries, expected %d", name, count, n);
}

bool sh_padding(struct sh_convert *c, const struct mlir_op *op, int n, int64_t **v)
{
    return sh_list(c, op, "padding", 2 * n, 0, v);
}

/* "LT", "NO_TRANSPOSE", "rng_uniform" of UNIFORM, "highest" of HIGHEST */
static bool enum_value(enum hlo_enum_set set, const char *s, int64_t *v)
{
    char lower[64], prefixed[72];
    size_t n = strlen(s);
    if (n >= sizeof lower)
        return false;
    for (size_t k = 0; k <= n; k++)
        lower[k] = (char)tolower((unsigned char)s[k]);
    snprintf(prefixed, sizeof prefixed, "rng_%s", lower);
    return hlo_enum_find(set, s, n, v) || hlo_enum_find(set, lower, n, v) ||
           hlo_enum_find(set, prefixed, n + 4, v);
}

static bool precision(struct sh_convert *c, const struct mlir_attr *a, struct sh_attrs *l,
                      enum hlo_attr_id id)
{
    int64_t v[16];
    if (a->kind != MA_ARRAY || a->count > 16)
        return SH_ERROR(c, "precision_config is not a list");
    for (int k = 0; k < a->count; k++)
        if (a->items[k]->kind != MA_ENUM ||
            !enum_value(HLO_SET_PRECISION, a->items[k]->text, &v[k]))
            return SH_ERROR(c, "unknown precision");
    if (a->count)
        sh_set_ints(c, l, id, v, a->count);
    return true;
}

static bool table_attr(struct sh_convert *c, const struct attr_row *r, const struct mlir_attr *a,
                       struct sh_attrs *l)
{
    enum hlo_enum_set set = hlo_attr_info(r->to)->set;
    int64_t v, *list;
    int n;
    switch (r->kind) {
    case INT:
    case BOOL:
        if (r->kind == BOOL && a->kind == MA_UNIT) {
            sh_set_int(l, r->to, 1);
            return true;
        }
        if (!mlir_int(a, &v))
            return SH_ERROR(c, "attribute '%s' is not an integer", r->from);
        sh_set_int(l, r->to, v);
        return true;
    case FLOAT:
        if (a->kind != MA_FLOAT)
            return SH_ERROR(c, "attribute '%s' is not a number", r->from);
        l->v[l->count++] = (struct hlo_attr){.id = r->to, .f = a->f};
        return true;
    case ENUM:
        if (a->kind != MA_ENUM)
            return SH_ERROR(c, "attribute '%s' is not one of its enumeration", r->from);
        if (!strcmp(a->text, "NOTYPE"))
            return true;
        if (!enum_value(set, a->text, &v))
            return SH_ERROR(c, "attribute '%s' has the unknown value %s", r->from, a->text);
        sh_set_int(l, r->to, v);
        return true;
    case INTS:
        if (!mlir_ints(c->arena, a, &n, &list))
            return SH_ERROR(c, "attribute '%s' is not a list of integers", r->from);
        sh_set_ints(c, l, r->to, list, n);
        return true;
    case ONE:
        if (!mlir_int(a, &v))
            return SH_ERROR(c, "attribute '%s' is not an integer", r->from);
        sh_set_ints(c, l, r->to, &v, 1);
        return true;
    case PRECISION:
        return precision(c, a, l, r->to);
    }
    return false;
}

static const char *mnemonic(const struct mlir_op *op)
{
    return !strncmp(op->name, "stablehlo.", 10) ? op->name + 10 : op->name;
}

bool sh_table_attrs(struct sh_convert *c, const struct mlir_op *op, struct sh_attrs *l)
{
    const char *name = mnemonic(op);
    for (size_t k = 0; k < sizeof attr_rows / sizeof *attr_rows; k++) {
        const struct attr_row *r = &attr_rows[k];
        if (strcmp(r->op, name))
            continue;
        const struct mlir_attr *a = mlir_attr_or_field(op, r->from);
        if (a && !table_attr(c, r, a, l))
            return false;
        /* lists and indices that text leaves out when they say nothing */
        if (!a && r->kind == INTS)
            sh_set_ints(c, l, r->to, NULL, 0);
        if (!a && r->kind == INT && r->to == HLO_ATTR_index_vector_dim)
            sh_set_int(l, r->to, 0);
    }
    return true;
}

struct hlo_instruction **sh_operands(struct sh_convert *c, const struct mlir_op *op)
{
    struct hlo_instruction **in =
        ARENA_ARRAY(c->arena, struct hlo_instruction *, op->operand_count + 1);
    for (int k = 0; k < op->operand_count; k++)
        if (!(in[k] = sh_operand(c, op, k)))
            return NULL;
    return in;
}

/* ---- results ---- */

const struct hlo_shape *sh_fit(struct sh_convert *c, const struct mlir_type *t,
                               const struct hlo_shape *found)
{
    const struct hlo_shape *stated = sh_shape(c, t);
    if (!stated || !found || stated->type == HLO_TUPLE || stated->type == HLO_TOKEN)
        return stated;
    bool same = stated->rank == found->rank;
    struct hlo_shape *s = hlo_shape_new(c->arena, stated->type, stated->rank, stated->dims);
    for (int k = 0; same && k < s->rank; k++) {
        if (s->dims[k] == HLO_UNBOUNDED)
            s->dims[k] = found->dims[k];
        same = same && (s->dims[k] == found->dims[k] || s->dims[k] < 0 || found->dims[k] < 0);
    }
    if (!same)
        return SH_ERROR(c, "the result is %s, but %s follows from the operands",
                        mlir_type_text(c->arena, t), hlo_shape_text(c->arena, found)),
               NULL;
    return s;
}

static const struct hlo_shape *fit_all(struct sh_convert *c, const struct mlir_op *op,
                                       const struct hlo_shape *found)
{
    if (op->result_count == 1)
        return sh_fit(c, op->results[0]->type, found);
    const struct hlo_shape **v = ARENA_ARRAY(c->arena, const struct hlo_shape *, op->result_count);
    if (found && (found->type != HLO_TUPLE || found->count != op->result_count))
        return SH_ERROR(c, "%d results, but %s follows from the operands", op->result_count,
                        hlo_shape_text(c->arena, found)),
               NULL;
    for (int k = 0; k < op->result_count; k++)
        if (!(v[k] = sh_fit(c, op->results[k]->type, found ? found->elements[k] : NULL)))
            return NULL;
    return hlo_shape_tuple(c->arena, op->result_count, v);
}

bool sh_finish(struct sh_convert *c, const struct mlir_op *op, struct hlo_instruction *i)
{
    if (!i)
        return false;
    const struct hlo_shape *s = fit_all(c, op, i->shape);
    if (!s)
        return false;
    i->shape = s;
    for (int k = 0; k < i->attr_count; k++)
        if (hlo_attr_info(i->attrs[k].id)->kind == HLO_KIND_COMPUTATION &&
            i->attrs[k].computation->effects.count)
            sh_keep(c, i);
    return sh_bind_results(c, op, i);
}

bool sh_plain(struct sh_convert *c, const struct mlir_op *op, enum hlo_opcode opcode,
              const struct sh_attrs *l, bool stated)
{
    struct hlo_instruction **in = sh_operands(c, op);
    const struct hlo_shape *s = NULL;
    if (!in || (stated && !(s = fit_all(c, op, NULL))))
        return false;
    return sh_finish(c, op, sh_emit(c, opcode, s, in, op->operand_count, l));
}
