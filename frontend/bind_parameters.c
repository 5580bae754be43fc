#include "frontend/bind_parameters.h"

#include "frontend/safetensors.h"
#include "passes/ir/ir.h"
#include "runtime/io/npy.h"

#include <string.h>

enum { MAX_PARTS = 32 };

/* The names in a path: "params['dense'][0]", "dense/0" and "dense.0" have the same ones, but for
 * the first. */
struct path {
    struct {
        const char *s;
        size_t n;
    } part[MAX_PARTS];
    int count; /* MAX_PARTS + 1: too many */
};

static struct path path_of(const char *s)
{
    struct path p = {.count = 0};
    while (*(s += strspn(s, "[]'\"./ "))) {
        size_t n = strcspn(s, "[]'\"./ ");
        if (p.count < MAX_PARTS) {
            p.part[p.count].s = s;
            p.part[p.count].n = n;
        }
        p.count += p.count <= MAX_PARTS;
        s += n;
    }
    return p;
}

/* Whether the last `n` parts are the same. */
static bool same_end(const struct path *a, const struct path *b, int n)
{
    for (int k = 1; k <= n; k++)
        if (a->part[a->count - k].n != b->part[b->count - k].n ||
            memcmp(a->part[a->count - k].s, b->part[b->count - k].s, a->part[a->count - k].n))
            return false;
    return true;
}

/* HLO text has only letters, digits and '_' in names, and a number at the end:
 * "params__dense____bias__.1". */
static const char *from_hlo(const char *s, char *room, size_t size)
{
    const char *dot = strrchr(s, '.');
    size_t n =
        dot && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")] ? (size_t)(dot - s) : strlen(s);
    if (!strstr(s, "__") || n >= size)
        return s;
    memcpy(room, s, n);
    room[n] = 0;
    for (char *p = room; (p = strstr(p, "__"));)
        p[0] = p[1] = '/';
    return room;
}

/* 2: the same, 1: but for the first part of one of them, 0: no. */
static int fits(const char *input, const char *array)
{
    char room[512];
    struct path a = path_of(from_hlo(input, room, sizeof room)), b = path_of(array);
    if (!strcmp(input, array))
        return 2;
    if (a.count > MAX_PARTS || b.count > MAX_PARTS || !a.count || !b.count)
        return 0;
    if (a.count == b.count)
        return same_end(&a, &b, a.count) ? 2 : 0;
    int n = a.count < b.count ? a.count : b.count, more = a.count + b.count - 2 * n;
    return more == 1 && same_end(&a, &b, n) ? 1 : 0;
}

static bool check(struct graph *g, const struct value *v, struct tensor *t, const char *array,
                  struct diag *d)
{
    char text[128];
    bool ok = v->type.kind == VK_TENSOR && npy_as(t, v->type.dtype, d) &&
              (v->type.rank < 0 || v->type.rank == t->rank);
    for (int k = 0; ok && k < v->type.rank; k++)
        ok = !dim_is_const(v->type.dims[k]) || v->type.dims[k] == t->dims[k];
    if (ok)
        return true;
    *d = (struct diag){0};
    return fail(d, "--bind: '%s' is %s, but the input '%s' is %s", array,
                tensor_type_text(t, text, sizeof text), v->name,
                type_text(&g->dims, &g->arena, &v->type));
}

/* Results that were to lie in a parameter's memory do so no more when it is a constant. */
static void drop_parameter(struct graph *g, int at)
{
    struct region *r = g->main;
    struct io_alias *list = ARENA_ARRAY(&g->arena, struct io_alias, g->naliases + 1);
    int n = 0;
    for (int k = at; k + 1 < r->nparams; k++) {
        r->params[k] = r->params[k + 1];
        r->params[k]->index = k;
    }
    r->nparams--;
    for (int k = 0; k < g->naliases; k++)
        if (g->aliases[k].input != at) {
            list[n] = g->aliases[k];
            list[n++].input -= g->aliases[k].input > at;
        }
    g->aliases = list;
    g->naliases = n;
}

/* The parameter that an array is for; -1: none, -2: several. */
static int find(const struct region *r, const char *array)
{
    int found = -1, best = 0;
    for (int k = 0; k < r->nparams; k++) {
        int how = r->params[k]->name ? fits(r->params[k]->name, array) : 0;
        if (how && how == best)
            found = -2;
        if (how > best) {
            best = how;
            found = k;
        }
    }
    return found;
}

static bool bind_all(struct graph *g, const char *file, struct npz *z, struct diag *d)
{
    int bound = 0;
    for (int k = 0; k < z->count; k++) {
        struct tensor *t = &z->entries[k].t;
        const char *name = z->entries[k].name;
        int at = find(g->main, name);
        if (at == -2)
            return fail(d, "--bind %s: several inputs could be '%s'; name it as the input is", file,
                        name);
        if (at < 0)
            continue;
        struct value *v = g->main->params[at];
        if (!check(g, v, t, name, d))
            return false;
        struct value *c = constant_copy(g, t->dtype, t->rank, t->dims, t->data, v->name);
        value_replace(v, c);
        drop_parameter(g, at);
        bound++;
    }
    if (bound)
        return true;
    const char *first =
        g->main->nparams && g->main->params[0]->name ? g->main->params[0]->name : "";
    return fail(d,
                "--bind %s: none of its %d arrays has the name of an input; an array is '%s', an "
                "input '%s'",
                file, z->count, z->count ? z->entries[0].name : "", first);
}

bool bind_parameters(struct graph *g, const struct import_options *o, struct diag *d)
{
    for (int k = 0; o && k < o->nbinds; k++) {
        const char *file = o->binds[k];
        size_t n = strlen(file);
        bool npz = n > 4 && !strcmp(file + n - 4, ".npz");
        struct npz z = {0};
        bool ok = (npz ? npz_read(file, &z, d) : safetensors_read(file, &z, d)) &&
                  bind_all(g, file, &z, d);
        npz_free(&z);
        if (!ok)
            return false;
    }
    return true;
}
