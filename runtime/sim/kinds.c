/*
 * Kinds of layers: nodes whose names differ in numbers alone, and what a program does for all of one kind.
 */
#include "runtime/sim/sim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The name with `#` for numbers of their own: those of fc1 and layer4 tell kinds apart, those of layer.4 and MatMul_16
 * do not. */
static const char *kind_name(const struct sim *s, struct arena *a, int node)
{
    const struct program_node *n = node >= 0 ? &s->p->nodes[node] : NULL;
    const char *name = n && *n->name ? n->name : n && *n->source ? n->source : "-";
    char *out = arena_strdup(a, name), *to = out;
    for (const char *c = name; *c; c++) {
        bool digit = isdigit((unsigned char)*c), begun = c > name && isalnum((unsigned char)c[-1]);
        if (!digit || begun) {
            *to++ = *c;
            continue;
        }
        *to++ = '#';
        while (isdigit((unsigned char)c[1]))
            c++;
    }
    *to = 0;
    return out;
}

struct kind_share { /* of what a program does for a node */
    const char *kind;
    const struct sim_work *work; /* of a step or a part; NULL: a share of the critical path */
    int64_t path;
    int order; /* in the program */
};

static int by_kind(const void *a, const void *b)
{
    const struct kind_share *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    return order ? order : x->order - y->order;
}

static int by_time(const void *a, const void *b)
{
    const struct sim_kind *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int launch_node(const struct sim *s, const struct sim_launch *l)
{
    if (l->kernel < 0)
        return s->p->calls[l->call].node;
    const struct kernel *k = &s->p->kernels[l->kernel];
    for (int i = 0; i < k->ninsns; i++)
        if (k->insns[i].node >= 0)
            return k->insns[i].node;
    return -1;
}

static void add_work(const struct sim *s, struct sim_kind *k, const struct sim_work *w)
{
    const char *by;
    k->layers++;
    k->alone += (int64_t)sim_work_bound(s, w, &by);
    k->work.insns += w->insns;
    for (int t = 0; t < TRACK_COUNT; t++)
        k->work.busy[t] += w->busy[t];
    k->work.dma_ps += w->dma_ps, k->work.dma_bytes += w->dma_bytes, k->work.dma_pieces += w->dma_pieces;
    k->work.matmul_flops += w->matmul_flops;
    k->work.chain = w->chain > k->work.chain ? w->chain : k->work.chain;
    k->work.adds += w->adds;
}

/* Steps and their parts, then shares of the path. */
static int collect(const struct sim *s, const struct sim_summary *y, struct arena *a, struct kind_share **out)
{
    struct kind_share *v = ARENA_ARRAY(a, struct kind_share, s->nlaunches + s->nparts + y->npath + 1);
    const char **names = ARENA_ARRAY(a, const char *, s->p->nnodes + 1);
    for (int i = -1; i < s->p->nnodes; i++)
        names[i + 1] = kind_name(s, a, i);
    int n = 0;
    for (int i = 0; i < s->nlaunches; i++) {
        const struct sim_launch *l = &s->launches[i];
        if (!l->nparts)
            v[n] = (struct kind_share){names[launch_node(s, l) + 1], &l->work, 0, n}, n++;
        for (int k = 0; k < l->nparts; k++)
            v[n] = (struct kind_share){names[l->parts[k].node + 1], &l->parts[k].work, 0, n}, n++;
    }
    for (int i = 0; i < y->npath; i++)
        v[n] = (struct kind_share){names[y->path[i].node + 1], NULL, y->path[i].ps, n}, n++;
    *out = v;
    return n;
}

struct sim_kind *sim_kinds(struct sim *s, const struct sim_summary *y, int *count)
{
    struct arena scratch = {0};
    struct kind_share *v;
    int n = collect(s, y, &scratch, &v), kinds = 0;
    qsort(v, (size_t)n, sizeof *v, by_kind);
    struct sim_kind *k = ARENA_ARRAY(&s->arena, struct sim_kind, n + 1);
    for (int i = 0; i < n; i++) {
        if (!i || strcmp(v[i].kind, v[i - 1].kind))
            k[kinds++] = (struct sim_kind){.name = arena_strdup(&s->arena, v[i].kind)};
        if (v[i].work)
            add_work(s, &k[kinds - 1], v[i].work);
        k[kinds - 1].path += v[i].path;
    }
    qsort(k, (size_t)kinds, sizeof *k, by_time);
    arena_free(&scratch);
    *count = kinds;
    return k;
}
