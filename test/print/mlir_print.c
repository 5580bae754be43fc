/* Operations in MLIR's generic text form. */
#include "test/print/mlir_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_loc(FILE *f, const struct mlir_loc *l)
{
    switch (l ? l->kind : ML_UNKNOWN) {
    case ML_UNKNOWN:
        fputs("unknown", f);
        break;
    case ML_FILE:
        mlir_put_string(f, l->text, strlen(l->text));
        fprintf(f, ":%" PRId64 ":%" PRId64, l->line, l->column);
        break;
    case ML_NAME:
        mlir_put_string(f, l->text, strlen(l->text));
        if (l->count) {
            putc('(', f);
            put_loc(f, l->parts[0]);
            putc(')', f);
        }
        break;
    case ML_CALL:
        fputs("callsite(", f);
        put_loc(f, l->parts[0]);
        fputs(" at ", f);
        put_loc(f, l->parts[1]);
        putc(')', f);
        break;
    case ML_FUSED:
        fputs("fused[", f);
        for (int k = 0; k < l->count; k++) {
            fputs(k ? ", " : "", f);
            put_loc(f, l->parts[k]);
        }
        putc(']', f);
        break;
    }
}

struct stablehlo_printer {
    FILE *f;
    int next; /* number of the next value */
};

static void put_value(FILE *f, const struct mlir_value *v)
{
    fprintf(f, "%%v%d", (int)(intptr_t)v->mapped);
}

static void number(struct stablehlo_printer *p, struct mlir_value *v)
{
    v->mapped = (void *)(intptr_t)p->next++;
}

static void put_op(struct stablehlo_printer *p, const struct mlir_op *op, int indent);

static void put_region(struct stablehlo_printer *p, const struct mlir_region *r, int indent)
{
    fputs("{", p->f);
    if (r->block_count && (r->block->arg_count || r->block->op_count)) {
        const struct mlir_block *b = r->block;
        fputs("\n", p->f);
        fprintf(p->f, "%*s^bb0", indent, "");
        for (int k = 0; k < b->arg_count; k++) {
            fputs(k ? ", " : "(", p->f);
            number(p, b->args[k]);
            put_value(p->f, b->args[k]);
            fputs(": ", p->f);
            mlir_put_type(p->f, b->args[k]->type);
            if (b->args[k]->loc) {
                fputs(" loc(", p->f);
                put_loc(p->f, b->args[k]->loc);
                putc(')', p->f);
            }
        }
        fprintf(p->f, "%s:\n", b->arg_count ? ")" : "");
        for (int k = 0; k < b->op_count; k++)
            put_op(p, b->ops[k], indent + 2);
        fprintf(p->f, "%*s", indent, "");
    }
    fputs("}", p->f);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

static void put_attrs(FILE *f, const struct mlir_dict *d)
{
    const char *const **order = calloc((size_t)d->count + 1, sizeof *order);
    if (!d->count || !order) {
        free(order);
        return;
    }
    for (int k = 0; k < d->count; k++)
        order[k] = (const char *const *)&d->keys[k];
    qsort(order, (size_t)d->count, sizeof *order, by_key);
    fputs(" {", f);
    for (int k = 0; k < d->count; k++) {
        ptrdiff_t at = order[k] - (const char *const *)d->keys;
        fputs(k ? ", " : "", f);
        mlir_put_dict(f, 1, d->keys + at, d->items + at);
    }
    putc('}', f);
    free(order);
}

static void put_op(struct stablehlo_printer *p, const struct mlir_op *op, int indent)
{
    FILE *f = p->f;
    fprintf(f, "%*s", indent, "");
    for (int k = 0; k < op->result_count; k++) {
        number(p, op->results[k]);
        fputs(k ? ", " : "", f);
        put_value(f, op->results[k]);
    }
    fprintf(f, "%s\"%s\"(", op->result_count ? " = " : "", op->name);
    for (int k = 0; k < op->operand_count; k++) {
        fputs(k ? ", " : "", f);
        put_value(f, op->operands[k]);
    }
    putc(')', f);
    for (int k = 0; k < op->region_count; k++) {
        fputs(k ? ", " : " (", f);
        put_region(p, &op->regions[k], indent);
    }
    fputs(op->region_count ? ")" : "", f);
    put_attrs(f, &op->attrs);
    fputs(" : (", f);
    for (int k = 0; k < op->operand_count; k++) {
        fputs(k ? ", " : "", f);
        mlir_put_type(f, op->operands[k]->type);
    }
    fputs(") -> ", f);
    bool one = op->result_count == 1 && op->results[0]->type->kind != MT_FUNCTION;
    fputs(one ? "" : "(", f);
    for (int k = 0; k < op->result_count; k++) {
        fputs(k ? ", " : "", f);
        mlir_put_type(f, op->results[k]->type);
    }
    fputs(one ? "" : ")", f);
    if (op->loc) {
        fputs(" loc(", f);
        put_loc(f, op->loc);
        putc(')', f);
    }
    putc('\n', f);
}

void mlir_print(FILE *out, const struct mlir_module *m)
{
    struct stablehlo_printer p = {out, 0};
    put_op(&p, m->top, 0);
}
