#include "runtime/exec/profile.h"
#include "runtime/exec/state.h"

#include "neff/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
    const char *kind, *name, *source;
    int track;
    double start, end;
    int64_t flops, bytes;
};

struct profile {
    double begin;
    struct event *events;
    int count, cap;
    bool full; /* memory ran short: later events are not kept */
};

static double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

struct profile *profile_new(void)
{
    struct profile *p = calloc(1, sizeof *p);
    if (p)
        p->begin = clock_us();
    return p;
}

void profile_free(struct profile *p)
{
    if (p)
        free(p->events);
    free(p);
}

double profile_now(const struct profile *p)
{
    return clock_us() - p->begin;
}

void profile_event(struct profile *p, const char *kind, const char *name, const char *source,
                   int track, double start, double end, int64_t flops, int64_t bytes)
{
    if (p->full)
        return;
    if (p->count == p->cap) {
        int cap = p->cap ? p->cap * 2 : 1024;
        struct event *grown = realloc(p->events, sizeof *grown * (size_t)cap);
        p->full = !grown;
        if (!grown)
            return;
        p->events = grown;
        p->cap = cap;
    }
    p->events[p->count++] = (struct event){kind, name, source, track, start, end, flops, bytes};
}

static const struct program_node *node_at(const struct program *program, int node)
{
    return node >= 0 && node < program->nnodes ? &program->nodes[node] : NULL;
}

void profile_launch(struct profile *p, const struct program *program, const struct bound_kernel *k,
                    double start)
{
    const struct program_node *n = NULL;
    for (int i = 0; i < k->ninsns && !n; i++)
        n = node_at(program, k->insns[i].node);
    profile_event(p, "kernel", k->kernel->name ? k->kernel->name : "kernel", n ? n->name : NULL, 0,
                  start, profile_now(p), k->flops, k->bytes);
}

static int64_t bytes_of(struct tensor *const *t, int n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (t[i] && t[i]->kind == VK_TENSOR)
            bytes += (int64_t)tensor_bytes(t[i]);
    return bytes;
}

void profile_call(struct profile *p, const struct program *program, const struct call *call,
                  const struct op_call *with, double start)
{
    const struct program_node *n = node_at(program, call->node);
    profile_event(p, "call", op_name(call->op), n ? n->name : NULL, 0, start, profile_now(p), 0,
                  bytes_of(with->in, with->nin) + bytes_of(with->out, with->nout));
}

void profile_run(struct profile *p, const struct program *program, double start)
{
    profile_event(p, "run", program->name ? program->name : "model", NULL, 0, start, profile_now(p),
                  0, 0);
}

static void write_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            fprintf(f, "\\u%04x", (unsigned char)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
}

bool profile_write(const struct profile *p, const char *path, struct diag *d)
{
    struct out_file out;
    if (!out_open(&out, path, d))
        return false;
    fprintf(out.f, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (int i = 0; i < p->count; i++) {
        const struct event *e = &p->events[i];
        fprintf(out.f,
                "%s\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\","
                "\"name\":",
                i ? "," : "", e->track, e->start, e->end - e->start, e->kind);
        write_string(out.f, e->name);
        fprintf(out.f, ",\"args\":{\"flops\":%lld,\"bytes\":%lld", (long long)e->flops,
                (long long)e->bytes);
        if (e->source) {
            fprintf(out.f, ",\"node\":");
            write_string(out.f, e->source);
        }
        fprintf(out.f, "}}");
    }
    fprintf(out.f, "\n]}\n");
    return out_commit(&out, d);
}

/* ---- table ---- */

struct row {
    const struct event *first;
    int run, calls;
    double time; /* of all calls in that run, us, without what ran inside them */
    double flops, bytes;
};

static int by_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_identity(const void *a, const void *b)
{
    const struct row *r = a, *s = b;
    const struct event *x = r->first, *y = s->first;
    int order = strcmp(x->name, y->name);
    if (!order)
        order = strcmp(x->source ? x->source : "", y->source ? y->source : "");
    if (!order)
        order = (r->run > s->run) - (r->run < s->run);
    return order ? order : (x > y) - (x < y);
}

static bool same_row(const struct event *x, const struct event *y)
{
    return !strcmp(x->name, y->name) &&
           !strcmp(x->source ? x->source : "", y->source ? y->source : "");
}

/* Events of one kernel in one run become one row, then its runs become the fastest of them. */
static int merge_rows(struct row *r, int n)
{
    int merged = 0;
    for (int i = 0; i < n; i++) {
        struct row *last = merged ? &r[merged - 1] : NULL;
        if (last && last->run == r[i].run && same_row(last->first, r[i].first)) {
            last->calls += r[i].calls;
            last->time += r[i].time;
            last->flops += r[i].flops;
            last->bytes += r[i].bytes;
        } else {
            r[merged++] = r[i];
        }
    }
    n = merged, merged = 0;
    for (int i = 0; i < n; i++) {
        struct row *last = merged ? &r[merged - 1] : NULL;
        if (!last || !same_row(last->first, r[i].first))
            r[merged++] = r[i];
        else if (r[i].time < last->time)
            *last = r[i];
    }
    return merged;
}

/*
 * One row for each event but runs; their number. Events are in the order in which they ended, so
 * those inside an event come right before it: their time is taken from its own.
 */
static int own_times(const struct profile *p, struct row *r, int *open)
{
    int n = 0, nopen = 0, run = 0;
    for (int i = 0; i < p->count; i++) {
        const struct event *e = &p->events[i];
        if (!strcmp(e->kind, "run")) {
            run++, nopen = 0;
            continue;
        }
        r[n] = (struct row){e, run, 1, e->end - e->start, (double)e->flops, (double)e->bytes};
        for (; nopen && r[open[nopen - 1]].first->start >= e->start; nopen--) {
            const struct event *inside = r[open[nopen - 1]].first;
            r[n].time -= inside->end - inside->start;
        }
        open[nopen++] = n++;
    }
    return n;
}

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

static void print_shares(const struct row *r, int n, FILE *out)
{
    static const char *const names[] = {"tile programs", "calls"};
    double time[2] = {0}, flops[2] = {0}, bytes[2] = {0};
    for (int i = 0; i < n; i++) {
        int k = !strcmp(r[i].first->kind, "call");
        time[k] += r[i].time;
        flops[k] += r[i].flops;
        bytes[k] += r[i].bytes;
    }
    for (int k = 0; k < 2; k++)
        fprintf(out,
                "%s: %.1f%% of the time (%.3f ms), %.1f%% of the bytes (%.3f MB), %.1f MFLOP\n",
                names[k], share(time[k], time[0] + time[1]), time[k] / 1e3,
                share(bytes[k], bytes[0] + bytes[1]), bytes[k] / 1e6, flops[k] / 1e6);
}

void profile_print(const struct profile *p, FILE *out, int rows)
{
    struct row *r = calloc((size_t)p->count + 1, sizeof *r);
    int *open = calloc((size_t)p->count + 1, sizeof *open);
    int n = r && open ? own_times(p, r, open) : 0;
    double all = 0;
    if (n)
        qsort(r, (size_t)n, sizeof *r, by_identity);
    n = merge_rows(r, n);
    for (int i = 0; i < n; i++)
        all += r[i].time;
    if (n)
        qsort(r, (size_t)n, sizeof *r, by_time);
    fprintf(out, "%10s %6s %6s %9s %9s  %s\n", "ms", "share", "calls", "GFLOP/s", "GB/s",
            "kernel or call (node)");
    for (int i = 0; i < n && i < rows; i++) {
        const struct event *e = r[i].first;
        double us = r[i].time;
        fprintf(out, "%10.3f %5.1f%% %6d %9.1f %9.1f  %s%s%s%s%s\n", us / 1e3, share(us, all),
                r[i].calls, us > 0 ? r[i].flops / us / 1e3 : 0, us > 0 ? r[i].bytes / us / 1e3 : 0,
                !strcmp(e->kind, "call") ? "call " : "", e->name, e->source ? " (" : "",
                e->source ? e->source : "", e->source ? ")" : "");
    }
    print_shares(r, n, out);
    free(open);
    free(r);
}
