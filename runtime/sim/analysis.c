/*
 * What a run says: shares, the bound, the critical path, and what would help most.
 */
#include "runtime/sim/numbers.h"

#include <stdlib.h>
#include <string.h>

/* ---- critical path ---- */

int32_t *sim_path(struct sim *s, int *n)
{
    int count = 0;
    for (int64_t i = s->last; i >= 0; i = s->records[i].cause)
        count++;
    int32_t *path = ARENA_ARRAY(&s->arena, int32_t, count + 1);
    count = 0;
    for (int64_t i = s->last; i >= 0; i = s->records[i].cause)
        path[count++] = (int32_t)i;
    *n = count;
    return path;
}

static int node_of(const struct sim *s, const struct sim_record *r)
{
    const struct sim_launch *l = &s->launches[r->launch];
    return l->kernel < 0 ? s->p->calls[l->call].node : s->p->kernels[l->kernel].insns[r->insn].node;
}

static int by_share(const void *a, const void *b)
{
    const struct sim_share *x = a, *y = b;
    if (x->ps != y->ps)
        return x->ps < y->ps ? 1 : -1;
    return x->node != y->node ? x->node - y->node : x->lane - y->lane;
}

/* The path's time by node and lane: from when a record could begin to when its successor could. */
static void share_path(struct sim *s, struct sim_summary *y)
{
    int n, lanes = LANE_COUNT, nodes = s->p->nnodes + 1;
    int32_t *path = sim_path(s, &n);
    int64_t *ps = calloc((size_t)nodes * (size_t)lanes, sizeof *ps), until = s->latency;
    if (!ps)
        return;
    for (int i = 0; i < n; i++) {
        const struct sim_record *r = &s->records[path[i]];
        int64_t from = r->cause < 0 ? 0 : r->ready;
        if (until > from)
            ps[(node_of(s, r) + 1) * lanes + r->lane] += until - from;
        until = from;
    }
    y->path = ARENA_ARRAY(&s->arena, struct sim_share, nodes * lanes);
    for (int i = 0; i < nodes * lanes; i++)
        if (ps[i])
            y->path[y->npath++] = (struct sim_share){i / lanes - 1, ps[i], 0, i % lanes};
    free(ps);
    qsort(y->path, (size_t)y->npath, sizeof *y->path, by_share);
}

/* ---- shares and bound ---- */

static void bound(struct sim *s, struct sim_summary *y)
{
    double most = 0, chain = 0;
    y->bound_by = "chain";
    for (int i = 0; i < s->nlaunches; i++) /* a step needs the results of the one before */
        chain += (double)(s->launches[i].kernel < 0 ? s->launches[i].busy[ENGINE_POOL]
                                                    : s->launches[i].chain);
    y->chain_us = chain / 1e6;
    most = chain;
    for (int c = 0; c < s->o.cores; c++)
        for (int e = 0; e < ENGINE_COUNT; e++)
            if ((double)s->lanes[c][e].busy >= most)
                most = (double)s->lanes[c][e].busy, y->bound_by = engine_names[e];
    if (s->dma_busy / s->o.cores > most)
        most = s->dma_busy / s->o.cores, y->bound_by = "dma";
    if (!s->m->strict) { /* one processor does it all */
        most = 0;
        for (int e = 0; e < ENGINE_COUNT; e++)
            most += (double)s->lanes[0][e].busy;
        y->bound_by = "processor";
    }
    y->bound_us = most / 1e6;
}

static void shares(struct sim *s, struct sim_summary *y)
{
    double latency = s->latency > 0 ? (double)s->latency : 1, seconds = latency / 1e12;
    const struct timing *t = machine_timing(s->m);
    for (int lane = 0; lane < LANE_COUNT; lane++) {
        for (int c = 0; c < s->o.cores; c++)
            y->share[lane] += (double)s->lanes[c][lane].busy / latency / s->o.cores;
    }
    y->dma_share = s->dma_busy / latency / s->o.cores;
    y->latency_us = (double)s->latency / 1e6;
    y->mfu = s->matmul_flops / seconds / peak_flops(s->m) / s->o.cores;
    y->hfu = s->pe_flops / seconds / peak_flops(s->m) / s->o.cores;
    y->mbu =
        (double)(s->hbm_read + s->hbm_written) / seconds / (t->hbm_core_gbps * 1e9) / s->o.cores;
}

/* ---- opportunities ---- */

struct advice {
    int64_t ps;
    char *text;
};
struct advisor {
    struct sim *s;
    struct advice *list;
    int n, cap;
};

static const char *kernel_node(const struct sim *s, int kernel, int insn)
{
    int node = kernel >= 0 && insn >= 0 ? s->p->kernels[kernel].insns[insn].node : -1;
    if (node >= 0 && *s->p->nodes[node].name)
        return s->p->nodes[node].name;
    return kernel >= 0 && s->p->kernels[kernel].name ? s->p->kernels[kernel].name : "";
}

static void add(struct advisor *a, int64_t ps, char *text)
{
    ARENA_GROW(&a->s->arena, a->list, a->n, a->cap);
    a->list[a->n++] = (struct advice){ps, text};
}

static double percent(const struct sim *s, int64_t ps)
{
    return s->latency > 0 ? 100.0 * (double)ps / (double)s->latency : 0;
}

static const struct sim_launch *launch_of(const struct sim *s, int kernel)
{
    for (int i = 0; i < s->nlaunches; i++)
        if (s->launches[i].kernel == kernel)
            return &s->launches[i];
    return NULL;
}

static void advise_wait(struct advisor *a, const struct sim_wait *w)
{
    struct sim *s = a->s;
    const struct sim_launch *l = launch_of(s, w->kernel);
    const char *node = kernel_node(s, w->kernel, w->insn), *cause = "what it needs";
    if (w->cause_insn >= 0)
        cause = insn_info(s->p->kernels[w->kernel].insns[w->cause_insn].op)->name;
    bool dma = w->cause_lane >= LANE_QUEUE;
    const char *what;
    if (dma && w->lane != ENGINE_SP)
        what = l && l->overlap > 1
                   ? "start the transfer some tiles earlier"
                   : "give it a second tile, so that the next transfer runs beside the work";
    else if (w->lane == ENGINE_SP)
        what = "loads stand behind this store in one queue: trigger it from another engine's queue";
    else
        what = "give both engines two tiles in turn, or move work from the slower one";
    add(a, w->ps,
        arena_printf(&s->arena,
                     "%s waits %.1f%% of the time (%.1f us) for %s by %s in node '%s': %s",
                     lane_names[w->lane], percent(s, w->ps), (double)w->ps / 1e6, cause,
                     lane_names[w->cause_lane], node, what));
}

static void advise_launch(struct advisor *a, int index)
{
    struct sim *s = a->s;
    const struct sim_launch *l = &s->launches[index];
    const struct timing *t = machine_timing(s->m);
    int64_t length = l->end - l->start;
    if (l->kernel < 0) {
        const struct call *c = &s->p->calls[l->call];
        const char *node = c->node >= 0 ? s->p->nodes[c->node].name : "";
        add(a, length,
            arena_printf(&s->arena,
                         "%s of node '%s' runs as a plain routine on GpSimd, %.1f%% of the "
                         "time (%.1f us): it needs a tile program",
                         op_name(c->op), node, percent(s, length), (double)length / 1e6));
        return;
    }
    const char *node = kernel_node(s, l->kernel, 0);
    int64_t ideal = (int64_t)((double)l->dma_bytes / (t->dma_engines * t->dma_engine_gbps) * 1000);
    int64_t piece = l->dma_pieces ? l->dma_bytes / l->dma_pieces : 0;
    if (s->m->strict && piece < 2048 && l->dma_ps > ideal * 3 / 2 && l->dma_ps * 2 > length)
        add(a, l->dma_ps - ideal,
            arena_printf(&s->arena,
                         "transfers of node '%s' move pieces of %lld bytes: %.1f us of DMA "
                         "where contiguous ones of 4 KiB would take %.1f",
                         node, (long long)piece, (double)l->dma_ps / 1e6, (double)ideal / 1e6));
    int64_t products = (int64_t)(l->matmul_flops / peak_flops(s->m) * 1e12);
    if (s->m->strict && l->matmul_flops > 0 && l->busy[ENGINE_PE] * 2 > length &&
        products * 3 < l->busy[ENGINE_PE])
        add(a, l->busy[ENGINE_PE] - products,
            arena_printf(&s->arena,
                         "products of node '%s' use %.0f%% of the array: more rows, columns "
                         "or depth in an instruction, or a 16-bit type",
                         node, 100.0 * (double)products / (double)l->busy[ENGINE_PE]));
    if (s->m->strict && l->instances > 1 && l->overlap == 1)
        add(a, length / 4,
            arena_printf(&s->arena,
                         "instances of node '%s' run one at a time (%.1f us): their tiles "
                         "take more than half of SBUF or PSUM",
                         node, (double)length / 1e6));
}

static int by_gain(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    if (x->ps != y->ps)
        return x->ps < y->ps ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void advise(struct sim *s, struct sim_summary *y)
{
    struct advisor a = {.s = s};
    for (int i = 0; i < s->nwaits && i < 30; i++)
        advise_wait(&a, &s->waits[i]);
    for (int i = 0; i < s->nlaunches && i < 20000; i++)
        advise_launch(&a, i);
    if (s->hbm_read > s->hbm_useful * 5 / 4)
        add(&a,
            (int64_t)((double)(s->hbm_read - s->hbm_useful) /
                      (machine_timing(s->m)->dma_engines * machine_timing(s->m)->dma_engine_gbps) *
                      1000),
            arena_printf(&s->arena,
                         "%.1f MB of %.1f MB read from HBM are read again: keep them in SBUF, "
                         "or turn the loops round",
                         (double)(s->hbm_read - s->hbm_useful) / 1e6, (double)s->hbm_read / 1e6));
    if (a.n)
        qsort(a.list, (size_t)a.n, sizeof *a.list, by_gain);
    for (int i = 0; i < a.n && y->nadvice < 10; i++)
        if (percent(s, a.list[i].ps) >= 0.5)
            y->advice[y->nadvice++] = a.list[i].text;
}

void sim_summarise(struct sim *s, struct sim_summary *y)
{
    *y = (struct sim_summary){0};
    bound(s, y);
    shares(s, y);
    if (!s->truncated)
        share_path(s, y);
    advise(s, y);
}
