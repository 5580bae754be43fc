#include "runtime/sim/html.h"

#include "neff/isa/asm.h"

#include "runtime/sim/json.h"

#include <stdlib.h>
#include <string.h>

extern const char page_html[], page_css[], page_js[]; /* embed.cmake */

/* ---- base64 ---- */

struct encoder {
    FILE *out;
    uint8_t rest[3];
    int n;
};

static void put_group(struct encoder *e)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t v = (uint32_t)e->rest[0] << 16 | (uint32_t)e->rest[1] << 8 | e->rest[2];
    for (int i = 0; i < 4; i++)
        putc(i <= e->n ? digits[v >> (18 - 6 * i) & 63] : '=', e->out);
    memset(e->rest, 0, sizeof e->rest);
    e->n = 0;
}

static void put_bytes(struct encoder *e, const void *data, size_t size)
{
    for (const uint8_t *b = data, *end = b + size; b < end; b++) {
        e->rest[e->n++] = *b;
        if (e->n == 3)
            put_group(e);
    }
}

static struct encoder begin_array(const char *name, FILE *out)
{
    fprintf(out, "\"%s\":\"", name);
    return (struct encoder){.out = out};
}

static void end_array(struct encoder *e)
{
    if (e->n)
        put_group(e);
    fprintf(e->out, "\",\n");
}

/* ---- instructions as text ---- */

struct statics {
    int32_t *first; /* per kernel: number of its first instruction; -1 not launched */
    int32_t steps;  /* of the first step's entry */
    int32_t calls;
    int32_t parts;
    struct shown_part {
        int kernel;
        const struct sim_part *part;
    } *shown; /* those that add time */
    int nshown;
};

static void put_static(const struct sim *s, int kernel, const char *text, int node, int insn,
                       FILE *out)
{
    static const char *const comma = ",\n";
    fprintf(out, "%s[%d,", comma, kernel);
    put_string(out, text);
    fprintf(out, insn < 0 ? ",%d]" : ",%d,%d]", node, insn);
}

static void put_insns(const struct sim *s, int kernel, FILE *out)
{
    const struct kernel *k = &s->p->kernels[kernel];
    for (int i = 0; i < k->ninsns; i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        if (!f)
            return;
        insn_print(s->p, k, &k->insns[i], f);
        fclose(f);
        while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
            text[--n] = 0;
        put_static(s, kernel, text + strspn(text, " "), k->insns[i].node, i, out);
        free(text);
    }
}

/* The node of all instructions; -1: of several. */
static int only_node(const struct kernel *k)
{
    for (int i = 1; i < k->ninsns; i++)
        if (k->insns[i].node != k->insns[0].node)
            return -1;
    return k->ninsns ? k->insns[0].node : -1;
}

static void find_parts(const struct sim *s, struct statics *x, struct arena *a)
{
    x->shown = ARENA_ARRAY(a, struct shown_part, s->nparts + 1);
    for (int i = 0; i < s->nlaunches; i++)
        for (int k = 0; k < s->launches[i].nparts; k++)
            if (s->launches[i].parts[k].work.adds > 0)
                x->shown[x->nshown++] = (struct shown_part){s->launches[i].kernel, &s->launches[i].parts[k]};
}

static void put_part(const struct sim *s, const struct shown_part *x, FILE *out)
{
    const struct sim_work *w = &x->part->work;
    char text[512];
    const char *by;
    double bound = sim_work_bound(s, w, &by) / 1e6;
    int n = snprintf(text, sizeof text, "part: %.2f to %.2f us, bound %.2f us (%s); busy us:", (double)w->start / 1e6,
                     (double)w->end / 1e6, bound, by);
    for (int e = 0; e < ENGINE_SP; e++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s %.2f", engine_names[e], (double)w->busy[e] / 1e6);
    snprintf(text + n, sizeof text - (size_t)n, " dma %.2f, %.3f MB", (double)w->dma_ps / 1e6,
             (double)w->dma_bytes / 1e6);
    put_static(s, x->kernel, text, x->part->node, -1, out);
}

static void put_statics(const struct sim *s, struct statics *x, FILE *out)
{
    int n = 1;
    fprintf(out, "\"statics\":[[-1,\"\",-1]");
    for (int k = 0; k < s->p->nkernels; k++)
        x->first[k] = -1;
    for (int i = 0; i < s->nlaunches; i++) {
        int k = s->launches[i].kernel;
        if (k < 0 || x->first[k] >= 0)
            continue;
        x->first[k] = n;
        put_insns(s, k, out);
        n += s->p->kernels[k].ninsns;
    }
    x->calls = n;
    for (int c = 0; c < s->p->ncalls; c++, n++)
        put_static(s, -1, op_name(s->p->calls[c].op), s->p->calls[c].node, -1, out);
    x->steps = n;
    for (int k = 0; k < s->p->nkernels; k++, n++) {
        const struct kernel *kernel = &s->p->kernels[k];
        put_static(s, k, kernel->name, only_node(kernel), -1, out);
    }
    x->parts = n;
    for (int i = 0; i < x->nshown; i++)
        put_part(s, &x->shown[i], out);
    fprintf(out, "],\n\"nodes\":[");
    for (int i = 0; i < s->p->nnodes; i++) {
        fprintf(out, "%s", i ? "," : "");
        put_string(out, s->p->nodes[i].name);
    }
    fprintf(out, "],\n\"kernels\":[");
    for (int i = 0; i < s->p->nkernels; i++) {
        fprintf(out, "%s", i ? "," : "");
        put_string(out, s->p->kernels[i].name);
    }
    fprintf(out, "],\n");
}

/* ---- records ---- */

enum { TRACK_STEPS, TRACK_PARTS, FIRST_TRACK };

static int tracks_of(const struct sim *s)
{
    return FIRST_TRACK + s->o.cores * TRACK_COUNT;
}

static void put_tracks(const struct sim *s, FILE *out)
{
    fprintf(out, "\"tracks\":[\"steps\",\"parts\"");
    for (int c = 0; c < s->o.cores; c++)
        for (int track = 0; track < TRACK_COUNT; track++)
            if (s->o.cores > 1)
                fprintf(out, ",\"core %d %s\"", c, track_names[track]);
            else
                fprintf(out, ",\"%s\"", track_names[track]);
    fprintf(out, "],\n\"why\":[");
    for (int i = 0; i < WHY_COUNT; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", why_names[i]);
    fprintf(out, "],\n");
}

/* What the page keeps of a record; steps come after all records, then parts of steps. */
struct row {
    double start;
    float dur;
    uint32_t insn;
    int32_t cause, instance;
    uint8_t track, reason;
};

static struct row step_row(int64_t start, int64_t end, int32_t insn, int track)
{
    return (struct row){(double)start / 1e3,
                        (float)((double)(end - start) / 1e3),
                        (uint32_t)insn,
                        -1,
                        -1,
                        (uint8_t)track,
                        WHY_STEP};
}

static int rows_of(const struct sim *s, const struct statics *x)
{
    return s->nrecords + s->nlaunches + x->nshown;
}

/* A part is shown from the end of all before it to its own end. */
static struct row row_of(const struct sim *s, const struct statics *x, int i)
{
    int step = i - s->nrecords, part = step - s->nlaunches;
    if (part >= 0) {
        const struct sim_work *w = &x->shown[part].part->work;
        return step_row(w->end - w->adds, w->end, x->parts + part, TRACK_PARTS);
    }
    if (step >= 0) {
        const struct sim_launch *l = &s->launches[step];
        return step_row(l->work.start, l->work.end, l->kernel < 0 ? x->calls + l->call : x->steps + l->kernel,
                        TRACK_STEPS);
    }
    const struct sim_record *r = &s->records[i];
    const struct sim_launch *l = &s->launches[r->launch];
    uint32_t insn = (uint32_t)(l->kernel < 0 ? x->calls + l->call : x->first[l->kernel] + r->insn);
    return (struct row){(double)r->start / 1e3,
                        (float)((double)(r->end - r->start) / 1e3),
                        insn,
                        r->cause,
                        r->instance,
                        (uint8_t)(FIRST_TRACK + r->core * TRACK_COUNT + r->track),
                        r->why};
}

#define PUT_ROWS(name, field)                                                                      \
    do {                                                                                           \
        struct encoder e_ = begin_array(name, out);                                                \
        for (int i_ = 0; i_ < n; i_++) {                                                           \
            struct row row_ = row_of(s, x, i_);                                                    \
            put_bytes(&e_, &row_.field, sizeof row_.field);                                        \
        }                                                                                          \
        end_array(&e_);                                                                            \
    } while (0)

static void put_rows(struct sim *s, const struct statics *x, FILE *out)
{
    int n = rows_of(s, x), npath = 0;
    PUT_ROWS("start", start);
    PUT_ROWS("dur", dur);
    PUT_ROWS("insn", insn);
    PUT_ROWS("cause", cause);
    PUT_ROWS("instance", instance);
    PUT_ROWS("track", track);
    PUT_ROWS("reason", reason);
    uint8_t *critical = calloc((size_t)n + 1, 1);
    int32_t *path = s->truncated ? NULL : sim_path(s, &npath);
    for (int i = 0; critical && i < npath; i++)
        critical[path[i]] = 1;
    struct encoder e = begin_array("critical", out);
    if (critical)
        put_bytes(&e, critical, (size_t)n);
    end_array(&e);
    free(critical);
}

/* ---- memory in use ---- */

static void put_live(const struct sim *s, FILE *out)
{
    struct encoder e = begin_array("live_at", out);
    for (int i = 0; i < s->nlive; i++) {
        double at = (double)s->live[i].at / 1e3;
        put_bytes(&e, &at, sizeof at);
    }
    end_array(&e);
    for (int memory = 0; memory < 2; memory++) {
        int32_t now = 0;
        e = begin_array(memory ? "psum" : "sbuf", out);
        for (int i = 0; i < s->nlive; i++) {
            now += memory ? s->live[i].psum : s->live[i].sbuf;
            put_bytes(&e, &now, sizeof now);
        }
        end_array(&e);
    }
    fprintf(out, "\"room\":[%d,%d],\n", s->m->sbuf, s->m->psum);
}

/* ---- the page ---- */

static void put_simulated(const struct html_run *r, FILE *out)
{
    struct sim *s = r->s;
    struct arena scratch = {0};
    struct statics x = {.first = ARENA_ARRAY(&scratch, int32_t, s->p->nkernels + 1)};
    char *line = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&line, &size);
    if (f) {
        fprintf(f, "%s: ", s->m->name);
        sim_print_last_line(r->y, f);
        fclose(f);
    }
    fprintf(out, "\"line\":");
    put_string(out, line ? strtok(line, "\n") : "");
    fprintf(out, ",\n");
    free(line);
    find_parts(s, &x, &scratch);
    put_statics(s, &x, out);
    put_tracks(s, out);
    put_rows(s, &x, out);
    put_live(s, out);
    fprintf(out, "\"advice\":[");
    for (int i = 0; i < r->y->nadvice; i++) {
        fprintf(out, "%s", i ? "," : "");
        put_string(out, r->y->advice[i]);
    }
    fprintf(out, "],\n");
    fprintf(out, "\"span\":%.3f}", s->latency > 0 ? (double)s->latency / 1e3 : 1.0);
    arena_free(&scratch);
}

static void put_trace(const struct html_run *r, FILE *out)
{
    char *text = strndup(r->trace, r->trace_size);
    fprintf(out, "\"trace\":");
    put_string(out, text);
    fprintf(out, "}");
    free(text);
}

bool html_write(const char *title, const struct html_run *runs, int nruns, FILE *out,
                struct diag *d)
{
    for (int i = 0; i < nruns; i++)
        if (runs[i].s && (runs[i].s->truncated || tracks_of(runs[i].s) > UINT8_MAX))
            return fail(d, "more than %d instructions are too many for a page; give smaller shapes",
                        runs[i].s->nrecords);
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>xsim</title>\n"
            "<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style></head>\n<body>\n%s<script>\n",
            page_css, page_html);
    fprintf(out, "const DATA = {\"title\":");
    put_string(out, title);
    fprintf(out, ",\"runs\":[");
    for (int i = 0; i < nruns; i++) {
        fprintf(out, "%s{\"name\":", i ? ",\n" : "");
        put_string(out, runs[i].name);
        fprintf(out, ",");
        if (runs[i].s)
            put_simulated(&runs[i], out);
        else
            put_trace(&runs[i], out);
    }
    fprintf(out, "]};\n</script>\n<script>\n%s</script></body></html>\n", page_js);
    return true;
}
