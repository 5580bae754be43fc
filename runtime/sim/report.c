#include "runtime/sim/numbers.h"

#include <string.h>

static double us(int64_t ps)
{
    return (double)ps / 1e6;
}

static double part(double a, double b)
{
    return b > 0 ? 100 * a / b : 0;
}

static const char *node_name(const struct sim *s, int node)
{
    const struct program_node *n = node >= 0 ? &s->p->nodes[node] : NULL;
    return n && *n->name ? n->name : n && *n->source ? n->source : "-";
}

static void print_head(const struct sim *s, FILE *out)
{
    int kernels = 0;
    for (int i = 0; i < s->nlaunches; i++)
        kernels += s->launches[i].kernel >= 0;
    fprintf(out, "%s on %s, %d core%s: %d kernels, %d calls, %lld instructions, %lld transfers\n",
            s->p->name && *s->p->name ? s->p->name : "program", s->m->name, s->o.cores,
            s->o.cores > 1 ? "s" : "", kernels, s->nlaunches - kernels, (long long)s->insns,
            (long long)s->transfers);
    const struct machine *own = s->p->target ? machine_find(s->p->target) : NULL;
    if (s->m->strict && own && !own->strict)
        fprintf(out, "compiled for %s, whose engines reach HBM; those of %s do not: xcc --target %s compiles for it\n",
                own->name, s->m->name, s->m->name);
    if (s->assumed_trips)
        fprintf(out, "one iteration each, for --trips does not say how many: %s\n",
                s->assumed_trips);
}

/* The wait that costs an engine most: "q.sp dma_copy, node 'x'". */
static void print_wait(const struct sim *s, int track, FILE *out)
{
    for (int i = 0; i < s->nwaits; i++) {
        const struct sim_wait *w = &s->waits[i];
        if (w->track != track)
            continue;
        const struct kernel *k = &s->p->kernels[w->kernel];
        fprintf(out, "  %s", track_names[w->cause_track]);
        if (w->cause_insn >= 0)
            fprintf(out, " %s", insn_info(k->insns[w->cause_insn].op)->name);
        fprintf(out, ", %.1f us in '%s'", us(w->ps), node_name(s, k->insns[w->insn].node));
        return;
    }
}

static bool is_idle(const struct sim *s, int core)
{
    int64_t insns = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        insns += s->tracks[core][e].insns;
    return insns == 0;
}

static void print_engines(const struct sim *s, FILE *out)
{
    fprintf(out, "\n%-5s %12s %7s %12s %12s %12s %12s  waits most for\n", "", "busy us", "busy",
            "waiting us", "blocked us", "idle us", "instructions");
    for (int c = 0; c < s->o.cores; c++)
        for (int e = 0; e < ENGINE_COUNT; e++) {
            const struct sim_track *l = &s->tracks[c][e];
            if (!l->insns)
                continue;
            char name[16];
            snprintf(name, sizeof name, s->o.cores > 1 ? "%s.%d" : "%s", engine_names[e], c);
            fprintf(out, "%-6s%12.2f %6.1f%% %12.2f %12.2f %12.2f %12lld", name, us(l->busy),
                    part((double)l->busy, (double)s->latency), us(l->waiting), us(l->blocked),
                    us(s->latency - l->busy - l->waiting - l->blocked), (long long)l->insns);
            print_wait(s, e, out);
            fprintf(out, "\n");
        }
    fprintf(out, "%-5s %12.2f %6.1f%% %12s %12s %12.2f %12lld  transfers\n", "dma",
            s->dma_busy / s->o.cores / 1e6, part(s->dma_busy / s->o.cores, (double)s->latency), "",
            "", (double)s->latency / 1e6 - s->dma_busy / s->o.cores / 1e6, (long long)s->transfers);
    if (s->o.cores > 1 && is_idle(s, 1))
        fprintf(out, "core 1 has nothing to do: instances of a kernel's grid are dealt out to cores, none has two\n");
}

static void print_memory(const struct sim *s, const struct sim_summary *y, FILE *out)
{
    double hbm = (double)(s->hbm_read + s->hbm_written);
    fprintf(out, "\nMFU %.1f%%, HFU %.1f%%, MBU %.1f%%\n", 100 * y->mfu, 100 * y->hfu,
            100 * y->mbu);
    fprintf(out, "HBM %.2f MB: read %.2f (%.1f%% for the first time in its kernel), written %.2f\n",
            hbm / 1e6, (double)s->hbm_read / 1e6, part((double)s->hbm_useful, (double)s->hbm_read),
            (double)s->hbm_written / 1e6);
    fprintf(out, "between steps through HBM: %.2f MB spilled, %.2f reloaded\n", (double)s->spilled / 1e6,
            (double)s->reloaded / 1e6);
    if (s->m->strict)
        fprintf(out, "SBUF at most %lld of %d bytes in a partition, PSUM %lld of %d\n",
                (long long)s->sbuf_peak, s->m->sbuf, (long long)s->psum_peak, s->m->psum);
}

static void print_path(const struct sim *s, const struct sim_summary *y, FILE *out)
{
    if (s->truncated) {
        fprintf(out, "\ncritical path: not kept for more than %d instructions\n", s->nrecords);
        return;
    }
    fprintf(out, "\ncritical path by node\n");
    for (int i = 0; i < y->npath && i < 15; i++)
        fprintf(out, "%12.2f us %6.1f%%  %-6s %s\n", us(y->path[i].ps),
                part((double)y->path[i].ps, (double)s->latency), track_names[y->path[i].track],
                node_name(s, y->path[i].node));
    if (y->npath > 15)
        fprintf(out, "%12s and %d more\n", "", y->npath - 15);
}

void sim_print_last_line(const struct sim_summary *y, FILE *out)
{
    fprintf(out,
            "latency %.1f us, bound %.1f us (%s), pe %.1f%% act %.1f%% dve %.1f%% pool %.1f%% dma "
            "%.1f%%\n",
            y->latency_us, y->bound_us, y->bound_by, 100 * y->share[ENGINE_PE],
            100 * y->share[ENGINE_ACT], 100 * y->share[ENGINE_DVE], 100 * y->share[ENGINE_POOL],
            100 * y->dma_share);
}

void sim_print(struct sim *s, const struct sim_summary *y, FILE *out)
{
    print_head(s, out);
    print_engines(s, out);
    print_memory(s, y, out);
    print_path(s, y, out);
    if (y->nadvice)
        fprintf(out, "\nopportunities\n");
    for (int i = 0; i < y->nadvice; i++)
        fprintf(out, "%3d  %s\n", i + 1, y->advice[i]);
    fprintf(out, "\nlongest chain %.1f us; latency is %.2f of the bound\n", y->chain_us,
            y->bound_us > 0 ? y->latency_us / y->bound_us : 0);
    sim_print_last_line(y, out);
}

/* ---- steps ---- */

/* Up to the name; `counts`: instances, and how many at a time. */
static void print_work(const struct sim *s, const struct sim_work *w, const char *counts, FILE *out)
{
    const char *by;
    double bound = sim_work_bound(s, w, &by);
    fprintf(out, "%10.2f %10.2f %9.2f %9.2f %6s %5.2f %s %9.3f %8lld", us(w->start), us(w->end),
            us(w->adds), bound / 1e6, by, bound > 0 ? (double)w->adds / bound : 0, counts,
            (double)w->dma_bytes / 1e6,
            (long long)(w->dma_pieces ? w->dma_bytes / w->dma_pieces : 0));
    for (int e = 0; e < ENGINE_SP; e++)
        fprintf(out, " %7.2f", us(w->busy[e]));
    fprintf(out, " %7.2f %6.1f%%", us(w->dma_ps), 100 * sim_work_mfu(s, w));
}

static void print_step(const struct sim *s, const struct sim_launch *l, FILE *out)
{
    char counts[64];
    snprintf(counts, sizeof counts, "%9lld %9d", (long long)l->instances, l->overlap);
    print_work(s, &l->work, counts, out);
    fprintf(out, "  %s\n", sim_step_name(s, l));
    snprintf(counts, sizeof counts, "%9s %9s", "-", "-");
    for (int i = 0; i < l->nparts; i++) {
        print_work(s, &l->parts[i].work, counts, out);
        fprintf(out, "    %s\n", node_name(s, l->parts[i].node));
    }
}

void sim_print_steps(const struct sim *s, FILE *out)
{
    if (s->nparts)
        fprintf(out, "Below a step of several nodes each has a line: its part of the step. Parts run beside each "
                     "other, so that their times\nand bounds overlap. What they add (how much later one ends than all "
                     "before it) and the work of engines sum up to the step's.\n");
    if (s->parts_missing)
        fprintf(out, "There are too many parts: those of later steps are left out.\n");
    fprintf(out, "%10s %10s %9s %9s %6s %5s %9s %9s %9s %8s", "begins us", "ends us", "adds us",
            "bound us", "by", "ratio", "instances", "at a time", "MB", "a piece");
    for (int e = 0; e < ENGINE_SP; e++)
        fprintf(out, " %7s", engine_names[e]);
    fprintf(out, " %7s %7s  step or node\n", "dma us", "MFU");
    for (int i = 0; i < s->nlaunches; i++)
        print_step(s, &s->launches[i], out);
}

/* ---- kinds of layers ---- */

static void print_kind(const struct sim *s, const struct sim_kind *k, FILE *out)
{
    const char *by;
    double max = sim_work_bound(s, &k->work, &by);
    fprintf(out, "%6d %10.2f %10.2f %6.2f %10.2f %10.2f %6s %9.3f", k->layers, us(k->path), us(k->alone),
            k->alone > 0 ? (double)k->path / (double)k->alone : 0, us(k->work.adds), max / 1e6, by,
            (double)k->work.dma_bytes / 1e6);
    for (int e = 0; e < ENGINE_SP; e++)
        fprintf(out, " %7.2f", us(k->work.busy[e]));
    fprintf(out, " %7.2f  %s\n", us(k->work.dma_ps), k->name);
}

void sim_print_kinds(struct sim *s, const struct sim_summary *y, FILE *out)
{
    int n;
    const struct sim_kind *kinds = sim_kinds(s, y, &n);
    if (s->truncated || s->parts_missing)
        fprintf(out, "The program is too long: times on the critical path, or later layers, are left out.\n");
    fprintf(out, "Layers of one kind have names that differ in numbers alone. Path: their time on the critical path, "
                 "which adds up to\nthe latency. Bound: of each layer's own instructions, summed up. Ratio: path to "
                 "bound. Most: what one\nengine, or the DMA engines, have to do for all of them.\n");
    fprintf(out, "%6s %10s %10s %6s %10s %10s %6s %9s", "layers", "path us", "bound us", "ratio", "adds us", "most us",
            "by", "MB");
    for (int e = 0; e < ENGINE_SP; e++)
        fprintf(out, " %7s", engine_names[e]);
    fprintf(out, " %7s  kind\n", "dma us");
    for (int i = 0; i < n; i++)
        print_kind(s, &kinds[i], out);
}

/* ---- two runs ---- */

static void compare_row(const char *name, double a, double b, const char *unit, FILE *out)
{
    fprintf(out, "%-24s %14.2f %14.2f %s", name, a, b, unit);
    if (a > 0)
        fprintf(out, "  %.3fx", b / a);
    fprintf(out, "\n");
}

void sim_print_comparison(const struct sim *a, const struct sim_summary *ya, const char *name_a,
                          const struct sim *b, const struct sim_summary *yb, const char *name_b,
                          FILE *out)
{
    fprintf(out, "\nfirst: %s\nsecond: %s\n%-24s %14s %14s\n", name_a, name_b, "", "first",
            "second");
    compare_row("latency", ya->latency_us, yb->latency_us, "us", out);
    compare_row("bound", ya->bound_us, yb->bound_us, "us", out);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        char name[32];
        snprintf(name, sizeof name, "%s busy", engine_names[e]);
        compare_row(name, us(a->tracks[0][e].busy), us(b->tracks[0][e].busy), "us", out);
        snprintf(name, sizeof name, "%s waiting", engine_names[e]);
        compare_row(name, us(a->tracks[0][e].waiting), us(b->tracks[0][e].waiting), "us", out);
    }
    compare_row("dma busy", a->dma_busy / 1e6, b->dma_busy / 1e6, "us", out);
    compare_row("HBM", (double)(a->hbm_read + a->hbm_written) / 1e6,
                (double)(b->hbm_read + b->hbm_written) / 1e6, "MB", out);
    compare_row("MFU", 100 * ya->mfu, 100 * yb->mfu, "%", out);
    sim_print_last_line(ya, out);
    sim_print_last_line(yb, out);
}
