#include "runtime/sim/json.h"

#include "neff/base/json.h"

#include <string.h>

void put_string(FILE *out, const char *text)
{
    text = text ? text : "";
    json_print_text(out, text, strlen(text), "<"); /* it may stand inside a page's script */
}

static double us(int64_t ps)
{
    return (double)ps / 1e6;
}

static void put_engines(const struct sim *s, const struct sim_summary *y, FILE *out)
{
    fprintf(out, "\"engines\":{");
    for (int e = 0; e < ENGINE_COUNT; e++) {
        struct sim_track l = {0};
        for (int c = 0; c < s->o.cores; c++) {
            l.busy += s->tracks[c][e].busy, l.waiting += s->tracks[c][e].waiting;
            l.blocked += s->tracks[c][e].blocked, l.insns += s->tracks[c][e].insns;
        }
        fprintf(out,
                "\"%s\":{\"busy_us\":%.6f,\"share\":%.6f,\"waiting_us\":%.6f,\"blocked_us\":%.6f,"
                "\"idle_us\":%.6f,\"instructions\":%lld},",
                engine_names[e], us(l.busy), y->share[e], us(l.waiting), us(l.blocked),
                us(s->latency * s->o.cores - l.busy - l.waiting - l.blocked), (long long)l.insns);
    }
    fprintf(out, "\"dma\":{\"busy_us\":%.6f,\"share\":%.6f,\"transfers\":%lld}}", s->dma_busy / 1e6,
            y->dma_share, (long long)s->transfers);
}

static void put_waits(const struct sim *s, FILE *out)
{
    fprintf(out, "\"waits\":[");
    for (int i = 0; i < s->nwaits && i < 50; i++) {
        const struct sim_wait *w = &s->waits[i];
        const struct kernel *k = &s->p->kernels[w->kernel];
        int node = k->insns[w->insn].node;
        fprintf(out, "%s{\"engine\":\"%s\",\"kernel\":", i ? "," : "", track_names[w->track]);
        put_string(out, k->name);
        fprintf(
            out,
            ",\"instruction\":%d,\"insn\":\"%s\",\"signalled_by\":\"%s\",\"signal\":%d,\"us\":%.6f,"
            "\"times\":%lld,\"node\":",
            w->insn, insn_info(k->insns[w->insn].op)->name, track_names[w->cause_track],
            w->cause_insn, us(w->ps), (long long)w->times);
        put_string(out, node >= 0 ? s->p->nodes[node].name : "");
        fprintf(out, "}");
    }
    fprintf(out, "]");
}

static void put_path(const struct sim *s, const struct sim_summary *y, FILE *out)
{
    fprintf(out, "\"critical_path\":[");
    for (int i = 0; i < y->npath && i < 50; i++) {
        fprintf(out, "%s{\"node\":", i ? "," : "");
        put_string(out, y->path[i].node >= 0 ? s->p->nodes[y->path[i].node].name : "");
        fprintf(out, ",\"track\":\"%s\",\"us\":%.6f}", track_names[y->path[i].track],
                us(y->path[i].ps));
    }
    fprintf(out, "],\"opportunities\":[");
    for (int i = 0; i < y->nadvice; i++) {
        fprintf(out, "%s", i ? "," : "");
        put_string(out, y->advice[i]);
    }
    fprintf(out, "]");
}

/* SBUF and PSUM in use: at most 200 points, each the most since the one before. */
static void put_live(const struct sim *s, FILE *out)
{
    enum { POINTS = 200 };
    int64_t sbuf = 0, psum = 0, max_sbuf = 0, max_psum = 0;
    int at = 0;
    fprintf(out, "\"occupancy\":[");
    for (int i = 0; i < s->nlive && s->latency > 0; i++) {
        sbuf += s->live[i].sbuf, psum += s->live[i].psum;
        max_sbuf = sbuf > max_sbuf ? sbuf : max_sbuf;
        max_psum = psum > max_psum ? psum : max_psum;
        bool last = i + 1 == s->nlive;
        if (!last && s->live[i + 1].at < (int64_t)((double)s->latency * (at + 1) / POINTS))
            continue;
        fprintf(out, "%s[%.3f,%lld,%lld]", at ? "," : "", us(s->live[i].at), (long long)max_sbuf,
                (long long)max_psum);
        while (!last && s->live[i + 1].at >= (int64_t)((double)s->latency * (at + 1) / POINTS) &&
               at < POINTS)
            at++;
        max_sbuf = sbuf, max_psum = psum;
    }
    fprintf(out, "]");
}

static void put_work(const struct sim *s, const struct sim_work *w, FILE *out)
{
    const char *by;
    double bound = sim_work_bound(s, w, &by);
    fprintf(out,
            "\"begins_us\":%.6f,\"ends_us\":%.6f,\"adds_us\":%.6f,\"bound_us\":%.6f,\"bound_by\":\"%s\","
            "\"chain_us\":%.6f,\"instructions\":%lld,\"mfu\":%.6f,\"dma_bytes\":%lld,\"dma_pieces\":%lld,"
            "\"busy_us\":{",
            us(w->start), us(w->end), us(w->adds), bound / 1e6, by, us(w->chain), (long long)w->insns,
            sim_work_mfu(s, w), (long long)w->dma_bytes, (long long)w->dma_pieces);
    for (int e = 0; e < ENGINE_COUNT; e++)
        fprintf(out, "\"%s\":%.6f,", engine_names[e], us(w->busy[e]));
    fprintf(out, "\"dma\":%.6f}", us(w->dma_ps));
}

static void put_steps(const struct sim *s, FILE *out)
{
    fprintf(out, "\"steps\":[");
    for (int i = 0; i < s->nlaunches; i++) {
        const struct sim_launch *l = &s->launches[i];
        fprintf(out, "%s{\"step\":", i ? "," : "");
        put_string(out, sim_step_name(s, l));
        fprintf(out, ",\"instances\":%lld,\"at_a_time\":%d,", (long long)l->instances, l->overlap);
        put_work(s, &l->work, out);
        fprintf(out, ",\"parts\":[");
        for (int k = 0; k < l->nparts; k++) {
            fprintf(out, "%s{\"node\":", k ? "," : "");
            put_string(out, l->parts[k].node >= 0 ? s->p->nodes[l->parts[k].node].name : "");
            fprintf(out, ",");
            put_work(s, &l->parts[k].work, out);
            fprintf(out, "}");
        }
        fprintf(out, "]}");
    }
    fprintf(out, "],\"parts_missing\":%s", s->parts_missing ? "true" : "false");
}

static void put_kinds(struct sim *s, const struct sim_summary *y, FILE *out)
{
    int n;
    const struct sim_kind *kinds = sim_kinds(s, y, &n);
    fprintf(out, "\"kinds\":[");
    for (int i = 0; i < n; i++) {
        const struct sim_kind *k = &kinds[i];
        const char *by;
        double max = sim_work_bound(s, &k->work, &by);
        fprintf(out, "%s{\"kind\":", i ? "," : "");
        put_string(out, k->name);
        fprintf(out,
                ",\"layers\":%d,\"path_us\":%.6f,\"bound_us\":%.6f,\"adds_us\":%.6f,\"most_us\":%.6f,"
                "\"most_by\":\"%s\",\"dma_bytes\":%lld}",
                k->layers, us(k->path), us(k->alone), us(k->work.adds), max / 1e6, by,
                (long long)k->work.dma_bytes);
    }
    fprintf(out, "]");
}

void sim_print_json(struct sim *s, const struct sim_summary *y, bool steps, bool kinds, FILE *out)
{
    fprintf(out, "{\"latency_us\":%.6f,\"bound_us\":%.6f,\"bound_by\":\"%s\",\"chain_us\":%.6f,",
            y->latency_us, y->bound_us, y->bound_by, y->chain_us);
    fprintf(out, "\"target\":\"%s\",\"cores\":%d,\"instructions\":%lld,", s->m->name, s->o.cores,
            (long long)s->insns);
    put_engines(s, y, out);
    fprintf(out, ",\"mfu\":%.6f,\"hfu\":%.6f,\"mbu\":%.6f,", y->mfu, y->hfu, y->mbu);
    fprintf(out,
            "\"dma_bytes\":%lld,\"hbm_read\":%lld,\"hbm_written\":%lld,\"useful_read_share\":%.6f,",
            (long long)s->dma_bytes, (long long)s->hbm_read, (long long)s->hbm_written,
            s->hbm_read ? (double)s->hbm_useful / (double)s->hbm_read : 1.0);
    fprintf(out, "\"spilled_bytes\":%lld,\"reloaded_bytes\":%lld,", (long long)s->spilled,
            (long long)s->reloaded);
    fprintf(out, "\"sbuf_peak\":%lld,\"psum_peak\":%lld,", (long long)s->sbuf_peak,
            (long long)s->psum_peak);
    put_waits(s, out);
    fprintf(out, ",");
    put_path(s, y, out);
    fprintf(out, ",");
    put_live(s, out);
    if (steps) {
        fprintf(out, ",");
        put_steps(s, out);
    }
    if (kinds) {
        fprintf(out, ",");
        put_kinds(s, y, out);
    }
    fprintf(out, "}\n");
}
