#include "frontend/compile.h"

#include "backend/backend.h"
#include "neff/archive/archive.h"

#include <stdlib.h>

struct program *compile_graph(struct graph *g, const struct command *c, struct diag *d)
{
    const struct machine *m = machine_find(c->target);
    struct options o = c->options;
    if (!m) {
        fail(d, "unknown target '%s'", c->target);
        return NULL;
    }
    o.strict_target = m->strict;
    return passes_run(g, &o, d) ? backend_compile(g, &o, m, d) : NULL;
}

struct model *compile_and_load(struct graph *g, const struct command *c, const char *path,
                               struct diag *d)
{
    struct program *p = compile_graph(g, c, d);
    bool ok = p && neff_write(p, path, d);
    program_free(p);
    struct neff_file *f = ok ? calloc(1, sizeof *f) : NULL;
    if (!f || !neff_open(f, path, d)) {
        free(f);
        return NULL;
    }
    p = neff_program(f, true, d);
    if (!p) {
        neff_close(f);
        free(f);
        return NULL;
    }
    return model_new(p, d);
}
