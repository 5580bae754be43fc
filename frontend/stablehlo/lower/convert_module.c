/* A module: its functions, and which of them is the program. */
#include "frontend/stablehlo/lower/convert.h"

#include <string.h>

static bool find_functions(struct sh_convert *c, const struct mlir_block *b)
{
    int n = 0;
    for (int k = 0; k < b->op_count; k++)
        n += mlir_is(b->ops[k], "func.func");
    c->functions = ARENA_ARRAY(c->arena, struct sh_function, n + 1);
    for (int k = 0; k < b->op_count; k++) {
        const struct mlir_op *op = b->ops[k];
        if (!mlir_is(op, "func.func"))
            continue;
        const char *name = mlir_text(mlir_attr(op, "sym_name"));
        for (int j = 0; j < c->function_count; j++)
            if (!strcmp(c->functions[j].name, name))
                return SH_ERROR(c, "function '@%s' is defined twice", name);
        c->functions[c->function_count++] = (struct sh_function){.op = op, .name = name};
    }
    return true;
}

static const struct sh_function *entry(struct sh_convert *c)
{
    const struct sh_function *f = NULL;
    int public = 0;
    for (int k = 0; k < c->function_count; k++)
        if (!strcmp(c->functions[k].name, "main"))
            return &c->functions[k];
    for (int k = 0; k < c->function_count; k++) {
        const char *v = mlir_text(mlir_attr(c->functions[k].op, "sym_visibility"));
        if (strcmp(v, "private")) {
            f = f ? f : &c->functions[k];
            public++;
        }
    }
    if (public == 1 || (f && c->verify_only))
        return f;
    c->d->unsupported = c->verify_only; /* nothing to compile, but nothing wrong either */
    SH_ERROR(c,
             "the module has %d functions and none is called 'main', so that it is not known which "
             "to compile",
             c->function_count);
    return NULL;
}

static void read_module_attrs(struct sh_convert *c)
{
    const struct mlir_op *top = c->from->top;
    const char *name = mlir_text(mlir_attr(top, "sym_name"));
    c->to->name = *name ? name : "module";
    mlir_int(mlir_attr(top, "mhlo.num_replicas"), &c->to->replica_count);
    mlir_int(mlir_attr(top, "mhlo.num_partitions"), &c->to->num_partitions);
}

struct hlo_module *stablehlo_convert(struct arena *a, const struct mlir_module *m, bool verify_only,
                                     struct diag *d)
{
    struct sh_convert c = {.arena = a,
                           .d = d,
                           .from = m,
                           .verify_only = verify_only,
                           .convert_op = sh_convert_op,
                           .convert_on_storage = sh_convert_on_storage};
    struct mlir_block *b = mlir_body(m->top, 0);
    if (!b)
        return fail(d, "the module is empty"), NULL;
    c.to = arena_alloc(a, sizeof *c.to);
    c.to->arena = a;
    c.to->dynamic = true;
    read_module_attrs(&c);
    const struct sh_function *f = find_functions(&c, b) ? entry(&c) : NULL;
    c.to->entry = f ? sh_function(&c, f->name) : NULL;
    if (f)
        sh_donors(&c, f);
    for (int k = 0; verify_only && c.to->entry && k < c.function_count; k++)
        if (mlir_body(c.functions[k].op, 0) && !sh_function(&c, c.functions[k].name))
            return NULL;
    return c.to->entry ? c.to : NULL;
}
