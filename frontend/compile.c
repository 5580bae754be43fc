#include "frontend/compile.h"

#include "backend/backend.h"

struct program *compile_graph(struct graph *g, const struct command *c, struct diag *d)
{
    const struct machine *m = machine_find(c->target);
    struct options o = c->options;
    if (!m) {
        fail(d, "unknown target '%s'", c->target);
        return NULL;
    }
    o.strict_target = m->strict;
    struct program *p = passes_run(g, &o, d) ? backend_compile(g, &o, m, d) : NULL;
    if (!p || custom_attach(p, c->custom_external, d))
        return p;
    program_free(p);
    return NULL;
}

struct model *model_of(struct program *p, const struct command *c, struct diag *d)
{
    struct custom_permission own = {.files = c->custom.files, .nfiles = c->custom.count};
    if (custom_bind(p, &own, d))
        return model_new(p, d);
    program_free(p);
    return NULL;
}
