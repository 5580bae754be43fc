#include "frontend/custom_call.h"

#include "passes/ir/ir.h"
#include "passes/pass.h"

#include <stdio.h>
#include <string.h>

void custom_choose(struct custom_choice *c, const char *file, struct arena *a)
{
    const char **all = ARENA_ARRAY(a, const char *, c->count + 1);
    arena_move_(all, c->files, sizeof *all * (size_t)c->count);
    all[c->count++] = file;
    c->files = all;
    c->arena = a;
}

bool custom_load(struct custom_choice *c, struct diag *d)
{
    if (!c || c->libraries)
        return true;
    const struct custom_library **all =
        ARENA_ARRAY(c->arena, const struct custom_library *, c->count);
    for (int i = 0; i < c->count; i++)
        if (!(all[i] = custom_open(c->files[i], d)))
            return false;
    c->libraries = all;
    return true;
}

static const struct custom_operator *find(const struct import_options *o, const char *full,
                                          int version, const struct custom_library **from)
{
    const struct custom_operator *op = NULL;
    for (int i = 0; o && o->custom && o->custom->libraries && i < o->custom->count && !op; i++) {
        *from = o->custom->libraries[i];
        op = custom_library_operator(*from, full, version);
    }
    return op;
}

const struct custom_operator *custom_lookup(const struct import_options *o, const char *domain,
                                            const char *name, int version)
{
    char full[512];
    const struct custom_library *from;
    if (!o || !o->custom || !o->custom->libraries)
        return NULL;
    int n = snprintf(full, sizeof full, "%s::%s", *domain ? domain : "ai.onnx", name);
    return n < (int)sizeof full ? find(o, full, version, &from) : NULL;
}

/* The only operator of that name, whatever its domain. */
static const struct custom_operator *by_name(const struct import_options *o, const char *name)
{
    const struct custom_operator *found = NULL;
    for (int i = 0; o && o->custom && o->custom->libraries && i < o->custom->count; i++)
        for (int k = 0; k < o->custom->libraries[i]->count; k++) {
            const struct custom_operator *op = &o->custom->libraries[i]->operators[k];
            if (strcmp(op->code->name, name) != 0)
                continue;
            if (found && strcmp(found->full, op->full) != 0)
                return NULL;
            if (!found || found->code->version < op->code->version)
                found = op;
        }
    return found;
}

const struct custom_operator *custom_lookup_target(const struct import_options *o,
                                                   const char *target)
{
    const struct custom_library *from;
    const char *dot = strrchr(target, '.');
    const struct custom_operator *op = find(o, target, 0, &from);
    char full[512];
    if (op || strlen(target) + 2 > sizeof full)
        return op;
    if (dot) {
        snprintf(full, sizeof full, "%.*s::%s", (int)(dot - target), target, dot + 1);
        op = find(o, full, 0, &from);
    }
    return op ? op : by_name(o, target);
}

/* The library that has it: the first, as it was found. */
static const struct custom_library *library_of(const struct import_options *o,
                                               const struct custom_operator *op)
{
    for (int i = 0; i < o->custom->count; i++) {
        const struct custom_library *l = o->custom->libraries[i];
        if (op >= l->operators && op < l->operators + l->count)
            return l;
    }
    return NULL;
}

bool custom_become(struct graph *g, struct node *n, const struct import_options *o,
                   const struct custom_operator *op, struct diag *d)
{
    struct arena *a = &g->arena;
    n->op = op->open ? OP_custom_open : OP_custom;
    attr_set_str(a, &n->attrs, CUSTOM_LIBRARY, library_of(o, op)->hash);
    attr_set_str(a, &n->attrs, CUSTOM_OPERATOR, op->full);
    attr_set_int(a, &n->attrs, CUSTOM_VERSION, op->code->version);
    return custom_attributes(op, a, &n->attrs, d);
}

struct completion {
    const struct import_options *o;
    struct diag *d;
};

static bool complete_node(struct node *n, void *user)
{
    struct completion *c = user;
    char full[512];
    if ((n->op != OP_custom && n->op != OP_custom_open) ||
        custom_library_find(attr_str(&n->attrs, CUSTOM_LIBRARY, "").p))
        return true;
    struct str name = attr_str(&n->attrs, CUSTOM_OPERATOR, "");
    snprintf(full, sizeof full, "%.*s", (int)(name.n < 500 ? name.n : 500), name.p);
    const struct custom_operator *op = custom_lookup_target(c->o, full);
    if (!op)
        return fail(c->d, "%s: no library has operator %s; name it with --custom-op FILE.so",
                    node_text(n->parent->graph, n), full);
    return custom_become(n->parent->graph, n, c->o, op, c->d) ||
           fail_in(c->d, "%s", node_text(n->parent->graph, n));
}

bool custom_complete(struct graph *g, const struct import_options *o, struct diag *d)
{
    struct completion c = {o, d};
    return region_walk(g->main, complete_node, &c);
}
