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
    return x->node != y->node ? x->node - y->node : x->track - y->track;
}

struct named_node {
    const char *name;
    int32_t node;
};

static int by_name(const void *a, const void *b)
{
    const struct named_node *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->node - y->node;
}

/* Per node, the first one of its name: the lines of a kernel that was written out are many nodes. */
static const int32_t *first_of_name(struct sim *s)
{
    int n = s->p->nnodes;
    struct named_node *v = ARENA_ARRAY(&s->arena, struct named_node, n + 1);
    int32_t *first = ARENA_ARRAY(&s->arena, int32_t, n + 1);
    for (int i = 0; i < n; i++)
        v[i] = (struct named_node){s->p->nodes[i].name ? s->p->nodes[i].name : "", i};
    qsort(v, (size_t)n, sizeof *v, by_name);
    for (int i = 0; i < n; i++) {
        bool again = i && *v[i].name && !strcmp(v[i].name, v[i - 1].name);
        first[v[i].node] = again ? first[v[i - 1].node] : v[i].node;
    }
    return first;
}

/* The path's time by node and track: from when a record could begin to when its successor could. */
static void share_path(struct sim *s, struct sim_summary *y)
{
    int n, tracks = TRACK_COUNT, nodes = s->p->nnodes + 1;
    int32_t *path = sim_path(s, &n);
    int64_t *ps = calloc((size_t)nodes * (size_t)tracks, sizeof *ps), until = s->latency;
    if (!ps)
        return;
    for (int i = 0; i < n; i++) {
        const struct sim_record *r = &s->records[path[i]];
        int64_t from = r->cause < 0 ? 0 : r->ready;
        if (until > from)
            ps[(node_of(s, r) + 1) * tracks + r->track] += until - from;
        until = from;
    }
    y->path = ARENA_ARRAY(&s->arena, struct sim_share, nodes * tracks);
    const int32_t *alike = first_of_name(s);
    for (int i = tracks; i < nodes * tracks; i++) {
        int first = (alike[i / tracks - 1] + 1) * tracks + i % tracks;
        if (first != i)
            ps[first] += ps[i], ps[i] = 0;
    }
    for (int i = 0; i < nodes * tracks; i++)
        if (ps[i])
            y->path[y->npath++] = (struct sim_share){i / tracks - 1, ps[i], 0, i % tracks};
    free(ps);
    qsort(y->path, (size_t)y->npath, sizeof *y->path, by_share);
}

/* ---- shares and bound ---- */

/* The largest of the chain, each engine's work and the DMA engines', but for one track's (-1: none is left out); ps.
 * Machines that do one thing at a time have the sum of their engines' work, and transfers beside it. */
static double bound_without(const struct sim *s, int without, const char **by)
{
    double max = (double)s->chain, all = 0;
    *by = "chain";
    for (int c = 0; c < s->o.cores; c++)
        for (int e = 0; e < ENGINE_COUNT; e++) {
            double busy = e == without ? 0 : (double)s->tracks[c][e].busy;
            all += busy;
            if (s->m->strict && busy >= max)
                max = busy, *by = engine_names[e];
        }
    if (!s->m->strict && all >= max)
        max = all, *by = "processor";
    for (int c = 0; c < s->o.cores; c++)
        if (without != TRACK_QUEUE && s->dma_of_core[c] > max)
            max = s->dma_of_core[c], *by = "dma";
    return max;
}

static void bound(struct sim *s, struct sim_summary *y)
{
    y->chain_us = (double)s->chain / 1e6;
    y->bound_us = bound_without(s, -1, &y->bound_by) / 1e6;
}

static void shares(struct sim *s, struct sim_summary *y)
{
    double latency = s->latency > 0 ? (double)s->latency : 1, seconds = latency / 1e12;
    const struct timing *t = machine_timing(s->m);
    for (int track = 0; track < TRACK_COUNT; track++) {
        for (int c = 0; c < s->o.cores; c++)
            y->share[track] += (double)s->tracks[c][track].busy / latency / s->o.cores;
    }
    y->dma_share = s->dma_busy / latency / s->o.cores;
    y->latency_us = (double)s->latency / 1e6;
    y->mfu = s->matmul_flops / seconds / peak_flops(s->m) / s->o.cores;
    y->hfu = s->pe_flops / seconds / peak_flops(s->m) / s->o.cores;
    y->mbu =
        (double)(s->hbm_read + s->hbm_written) / seconds / (t->hbm_core_gbps * 1e9) / s->o.cores;
}

/* ---- steps and their parts ---- */

double sim_work_bound(const struct sim *s, const struct sim_work *w, const char **by)
{
    double max = (double)w->chain;
    *by = "chain";
    for (int e = 0; e < ENGINE_COUNT; e++)
        if ((double)w->busy[e] / s->o.cores > max)
            max = (double)w->busy[e] / s->o.cores, *by = engine_names[e];
    if ((double)w->dma_ps / s->o.cores > max)
        max = (double)w->dma_ps / s->o.cores, *by = "dma";
    return max;
}

double sim_work_mfu(const struct sim *s, const struct sim_work *w)
{
    double seconds = (double)(w->end - w->start) / 1e12;
    return seconds > 0 ? w->matmul_flops / peak_flops(s->m) / s->o.cores / seconds : 0;
}

const char *sim_step_name(const struct sim *s, const struct sim_launch *l)
{
    const char *name = l->kernel >= 0 ? s->p->kernels[l->kernel].name : op_name(s->p->calls[l->call].op);
    return name ? name : "-";
}

/* ---- opportunities ---- */

struct advice {
    int64_t ps, max; /* max: no more is to be had, as the rest of the program takes as long as it does */
    int64_t busy;     /* of the engine that would wait less */
    const char *what, *node, *remedy, *key;
    int nodes; /* alike, in further nodes */
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

/* The text with `#` for every number: layers of one kind have the same. */
static char *without_numbers(struct arena *a, const char *text)
{
    char *out = arena_strdup(a, text), *to = out;
    for (const char *s = text; *s; s++) {
        bool digit = *s >= '0' && *s <= '9';
        if (!digit)
            *to++ = *s;
        else if (to == out || to[-1] != '#')
            *to++ = '#';
    }
    *to = 0;
    return out;
}

/* What the program could save if the track had nothing to do (-1: if nothing waited). */
static int64_t room_without(const struct sim *s, int track)
{
    const char *by;
    double rest = bound_without(s, track, &by);
    return rest < (double)s->latency ? s->latency - (int64_t)rest : 0;
}

/* What costs `ps`, `max` of which can be saved, in which node, and what to do; the same in nodes of the same kind is
 * one. */
static void add(struct advisor *a, int64_t ps, int64_t max, int64_t busy, const char *what, const char *node,
                const char *remedy)
{
    struct arena *arena = &a->s->arena;
    const char *key = without_numbers(arena, arena_printf(arena, "%s|%s|%s", what, node, remedy));
    for (int i = 0; i < a->n; i++) {
        struct advice *x = &a->list[i];
        if (strcmp(x->key, key))
            continue;
        x->ps += ps;
        x->nodes += strcmp(x->node, node) != 0;
        return;
    }
    ARENA_GROW(arena, a->list, a->n, a->cap);
    a->list[a->n++] = (struct advice){ps, max, busy, what, node, remedy, key, 0};
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

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* An engine that waits for one that waits itself is not helped by that one's work: no more is to be
 * had than that engine's work. */
static void advise_wait(struct advisor *a, const struct sim_wait *w)
{
    struct sim *s = a->s;
    const struct sim_launch *l = launch_of(s, w->kernel);
    const char *cause = "what it needs", *what;
    if (!l)
        return;
    if (w->cause_insn >= 0)
        cause = insn_info(s->p->kernels[w->kernel].insns[w->cause_insn].op)->name;
    bool dma = w->cause_track >= TRACK_QUEUE;
    if (w->track == ENGINE_SP)
        what = "loads stand behind this transfer in one queue: start it from another engine";
    else if (dma && l->overlap > 1)
        what = "start the transfer some tiles earlier";
    else if (dma)
        what = "give it a second tile, so that the next transfer runs beside the work";
    else
        what = "give both engines two tiles in turn, or move work from the slower one";
    add(a, dma ? w->ps : min(w->ps, l->work.busy[w->cause_track]), room_without(s, -1), l->work.busy[w->track],
        arena_printf(&s->arena, "%s waits for %s by %s", track_names[w->track], cause,
                     track_names[w->cause_track]),
        kernel_node(s, w->kernel, w->insn), what);
}

static void advise_kernel(struct advisor *a, const struct sim_launch *l)
{
    struct sim *s = a->s;
    const struct timing *t = machine_timing(s->m);
    const struct sim_work *w = &l->work;
    const char *node = kernel_node(s, l->kernel, 0);
    int64_t length = w->end - w->start;
    int64_t ideal = (int64_t)((double)w->dma_bytes / (t->dma_engines * t->dma_engine_gbps) * 1000);
    int64_t piece = w->dma_pieces ? w->dma_bytes / w->dma_pieces : 0;
    if (piece < 2048 && w->dma_ps > ideal * 3 / 2 && w->dma_ps * 2 > length)
        add(a, w->dma_ps - ideal, room_without(s, TRACK_QUEUE), w->dma_ps,
            arena_printf(&s->arena, "transfers move pieces of %lld bytes", (long long)piece), node,
            "4 KiB side by side reach the full rate: another layout, or larger tiles");
    int64_t products = (int64_t)(w->matmul_flops / peak_flops(s->m) * 1e12);
    if (w->matmul_flops > 0 && w->busy[ENGINE_PE] * 2 > length && products * 3 < w->busy[ENGINE_PE])
        add(a, w->busy[ENGINE_PE] - products, room_without(s, ENGINE_PE), w->busy[ENGINE_PE],
            arena_printf(&s->arena, "products use %.0f%% of the array",
                         100.0 * (double)products / (double)w->busy[ENGINE_PE]),
            node, "more rows, columns or depth in an instruction, or a 16-bit type");
    if (l->instances > 1 && l->overlap == 1)
        add(a, length / 4, room_without(s, -1), 0, "instances run one at a time", node,
            "their tiles take more than half of SBUF or PSUM");
}

static void advise_launch(struct advisor *a, int index)
{
    struct sim *s = a->s;
    const struct sim_launch *l = &s->launches[index];
    if (l->kernel >= 0 && s->m->strict) {
        advise_kernel(a, l);
    } else if (l->kernel < 0) {
        const struct call *c = &s->p->calls[l->call];
        add(a, l->work.end - l->work.start, s->latency, 0,
            arena_printf(&s->arena, "%s is a plain routine on GpSimd", op_name(c->op)),
            c->node >= 0 ? s->p->nodes[c->node].name : "", "it needs a tile program");
    }
}

static int by_gain(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    int64_t p = min(x->ps, x->max), q = min(y->ps, y->max);
    if (p != q)
        return p < q ? 1 : -1;
    if (x->busy != y->busy) /* what has the most to do should wait least */
        return x->busy < y->busy ? 1 : -1;
    if (x->ps != y->ps)
        return x->ps < y->ps ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* The two instructions that take an engine longest, in words; records tell. */
static const char *longest_insns(struct sim *s, int track)
{
    int64_t ps[INSN_COUNT] = {0}, all = 1;
    const char *text = "";
    for (int i = 0; i < s->nrecords && !s->truncated; i++) {
        const struct sim_record *r = &s->records[i];
        const struct sim_launch *l = &s->launches[r->launch];
        if (r->track != track || l->kernel < 0)
            continue;
        ps[s->p->kernels[l->kernel].insns[r->insn].op] += r->end - r->start;
        all += r->end - r->start;
    }
    for (int n = 0; n < 2; n++) {
        int top = 0;
        for (int op = 1; op < INSN_COUNT; op++)
            top = ps[op] > ps[top] ? op : top;
        if (ps[top] * 20 < all)
            break;
        text = arena_printf(&s->arena, "%s%s%s %.0f%%", text, n ? ", " : " (", insn_info(top)->name,
                            100.0 * (double)ps[top] / (double)all);
        ps[top] = 0;
    }
    return *text ? arena_printf(&s->arena, "%s)", text) : "";
}

/* Where the schedule is near the bound: what makes the bound lower. */
static void advise_bound(struct advisor *a, const struct sim_summary *y)
{
    struct sim *s = a->s;
    int track = 0;
    while (track < ENGINE_COUNT && strcmp(y->bound_by, engine_names[track]))
        track++;
    const int64_t work = (int64_t)(y->bound_us * 1e6);
    if (work * 5 < s->latency * 4)
        return;
    if (track < ENGINE_COUNT)
        add(a, work, room_without(s, track), INT64_MAX,
            arena_printf(&s->arena, "%s works%s", y->bound_by, longest_insns(s, track)), "",
            "no order of these instructions is faster: fewer or cheaper ones are, or another engine for some");
    else if (!strcmp(y->bound_by, "dma"))
        add(a, work, room_without(s, TRACK_QUEUE), INT64_MAX,
            arena_printf(&s->arena, "the DMA engines move %.1f MB", (double)s->dma_bytes / 1e6), "",
            "no order of these transfers is faster: fewer bytes are, or longer pieces");
}

static char *advice_text(struct sim *s, const struct advice *x)
{
    struct arena *a = &s->arena;
    const char *more = x->nodes ? arena_printf(a, " and %d like it", x->nodes) : "", *saved = "";
    const char *where = *x->node ? arena_printf(a, " in '%s'%s", x->node, more) : "";
    if (x->max < x->ps)
        saved = arena_printf(a, " (saves %.1f us at most)", (double)x->max / 1e6);
    return arena_printf(a, "%.1f%% of the time (%.1f us): %s%s: %s%s", percent(s, x->ps), (double)x->ps / 1e6, x->what,
                        where, x->remedy, saved);
}

static void advise(struct sim *s, struct sim_summary *y)
{
    struct advisor a = {.s = s};
    const struct timing *t = machine_timing(s->m);
    advise_bound(&a, y);
    for (int i = 0; i < s->nwaits && i < 400; i++)
        advise_wait(&a, &s->waits[i]);
    for (int i = 0; i < s->nlaunches && i < 20000; i++)
        advise_launch(&a, i);
    double again = (double)(s->hbm_read - s->hbm_useful);
    if ((double)s->hbm_read > 1.25 * (double)s->hbm_useful)
        add(&a, (int64_t)(again / (t->dma_engines * t->dma_engine_gbps) * 1000), room_without(s, TRACK_QUEUE), 0,
            arena_printf(&s->arena, "%.1f MB of %.1f MB are read from HBM again", again / 1e6,
                         (double)s->hbm_read / 1e6),
            "", "keep them in SBUF, or turn the loops round");
    if (a.n)
        qsort(a.list, (size_t)a.n, sizeof *a.list, by_gain);
    for (int i = 0; i < a.n && y->nadvice < 10; i++)
        if (percent(s, min(a.list[i].ps, a.list[i].max)) >= 0.5)
            y->advice[y->nadvice++] = advice_text(s, &a.list[i]);
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
