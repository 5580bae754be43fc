#include "runtime/exec/profile.h"
#include "runtime/exec/state.h"

#include "neff/base/file.h"
#include "neff/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
    const char *kind, *name;
    const struct program *program; /* whose nodes it comes from; NULL: of none */
    const struct kernel *kernel;   /* NULL: a call or a run */
    int node;                      /* of a call */
    enum gemm_type type;           /* of the arithmetic */
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

static void add_event(struct profile *p, const struct event *e)
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
    p->events[p->count++] = *e;
}

/* What the products of a kernel are made of. */
static enum gemm_type product_type(const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++) {
        if (k->insns[i].op != INSN_nc_matmul && k->insns[i].op != INSN_quantized_matmul)
            continue;
        size_t bytes = dtype_bytes(k->insns[i].ap[AP(nc_matmul, moving)].dtype);
        return bytes == 1 ? GEMM_U8S8 : bytes == 2 ? GEMM_BF16 : GEMM_F32;
    }
    return GEMM_F32;
}

void profile_launch(struct profile *p, const struct program *program, const struct bound_kernel *k,
                    double start)
{
    const char *name = k->kernel->name ? k->kernel->name : "kernel";
    enum gemm_type type = product_type(k->kernel);
    add_event(p, &(struct event){"kernel", name, program, k->kernel, -1, type, start,
                                 profile_now(p), k->flops, k->bytes});
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
    add_event(p, &(struct event){"call", op_name(call->op), program, NULL, call->node, GEMM_F32,
                                 start, profile_now(p), 0,
                                 bytes_of(with->in, with->nin) + bytes_of(with->out, with->nout)});
}

void profile_run(struct profile *p, const struct program *program, double start)
{
    const char *name = program->name ? program->name : "model";
    add_event(
        p, &(struct event){"run", name, NULL, NULL, -1, GEMM_F32, start, profile_now(p), 0, 0});
}

/* ---- source nodes ---- */

enum { MAX_NODES = 4 };

struct nodes {
    const char *name[MAX_NODES];
    int count; /* of different ones, also those that are not named here */
};

static void add_node(struct nodes *n, const struct program *p, int node, const char *known)
{
    const char *name = node >= 0 && node < p->nnodes ? p->nodes[node].name : known;
    if (!strcmp(name, known))
        return;
    for (int i = 0; i < n->count && i < MAX_NODES; i++)
        if (!strcmp(n->name[i], name))
            return;
    if (n->count < MAX_NODES)
        n->name[n->count] = name;
    n->count++;
}

/* The nodes that an event computes, in the order of its instructions, but the one named `known`. */
static struct nodes nodes_of(const struct event *e, const char *known)
{
    struct nodes n = {{0}, 0};
    if (!e->program)
        return n;
    add_node(&n, e->program, e->node, known);
    for (int i = 0; e->kernel && i < e->kernel->ninsns; i++)
        add_node(&n, e->program, e->kernel->insns[i].node, known);
    return n;
}

/* ---- trace ---- */

static void write_string(FILE *f, const char *s)
{
    json_print_text(f, s, strlen(s), "");
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
                "%s\n{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\","
                "\"name\":",
                i ? "," : "", e->start, e->end - e->start, e->kind);
        write_string(out.f, e->name);
        fprintf(out.f, ",\"args\":{\"flops\":%lld,\"bytes\":%lld", (long long)e->flops,
                (long long)e->bytes);
        struct nodes nodes = nodes_of(e, "");
        if (nodes.count) {
            fprintf(out.f, ",\"node\":");
            write_string(out.f, nodes.name[0]);
        }
        fprintf(out.f, "}}");
    }
    fprintf(out.f, "\n]}\n");
    return out_commit(&out, d);
}

/* ---- table ---- */

struct profile_row {
    const struct event *first;
    int run, calls;
    double time; /* of all calls in that run, us, without what ran inside them */
    double flops, bytes;
};

static int by_time(const void *a, const void *b)
{
    const struct profile_row *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Kernels are themselves; calls are alike when they run one operator for one node. */
static int compare_identity(const struct event *x, const struct event *y)
{
    if (x->kernel != y->kernel)
        return !x->kernel ? -1 : !y->kernel ? 1 : x->kernel < y->kernel ? -1 : 1;
    int order = x->kernel ? 0 : strcmp(x->name, y->name);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int by_identity(const void *a, const void *b)
{
    const struct profile_row *r = a, *s = b;
    int order = compare_identity(r->first, s->first);
    if (!order)
        order = (r->run > s->run) - (r->run < s->run);
    return order ? order : (r->first > s->first) - (r->first < s->first);
}

static bool same_row(const struct event *x, const struct event *y)
{
    return compare_identity(x, y) == 0;
}

/* Events of one kernel in one run become one row, then its runs become the fastest of them. */
static int merge_rows(struct profile_row *r, int n)
{
    int merged = 0;
    for (int i = 0; i < n; i++) {
        struct profile_row *last = merged ? &r[merged - 1] : NULL;
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
        struct profile_row *last = merged ? &r[merged - 1] : NULL;
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
static int own_times(const struct profile *p, struct profile_row *r, int *open)
{
    int n = 0, nopen = 0, run = 0;
    for (int i = 0; i < p->count; i++) {
        const struct event *e = &p->events[i];
        if (!strcmp(e->kind, "run")) {
            run++, nopen = 0;
            continue;
        }
        r[n] = (struct profile_row){e, run, 1, e->end - e->start, (double)e->flops, (double)e->bytes};
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

static void print_shares(const struct profile_row *r, int n, FILE *out)
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

/*
 * Which limit of the machine explains most of a row's time. At the machine's rate, its arithmetic
 * and its bytes would take shares of that time; what moves clearly faster than memory comes from a
 * cache. Where both together are less than half of it, the rest is the answer.
 */
struct bound_by {
    const char *what;
    double share; /* of the time */
};

static struct bound_by bound_by(const struct profile_row *r, const struct machine_rates *rates)
{
    double us = r->time > 0 ? r->time : 1e-3;
    double bytes = r->bytes / us * 1e-3; /* GB/s */
    bool cached = bytes > 1.25 * rates->memory;
    double compute = r->flops / us * 1e-3 / rates->gflops[r->first->type];
    double moving = bytes / (cached ? rates->cache : rates->memory);
    if (compute + moving < 0.5)
        return (struct bound_by){"overhead", 1 - compute - moving};
    if (compute >= moving)
        return (struct bound_by){"compute", compute};
    return (struct bound_by){cached ? "cache" : "memory", moving};
}

static void print_row(const struct profile_row *r, double all, const struct machine_rates *rates, FILE *out)
{
    const struct event *e = r->first;
    struct nodes nodes = nodes_of(e, e->name);
    struct bound_by bound = bound_by(r, rates);
    fprintf(out, "%10.4f %5.1f%% %6d %9.1f %9.1f  %-8s %4.0f%%  %s%s", r->time / 1e3,
            share(r->time, all), r->calls, r->time > 0 ? r->flops / r->time / 1e3 : 0,
            r->time > 0 ? r->bytes / r->time / 1e3 : 0, bound.what, 100 * bound.share,
            e->kernel ? "" : "call ", e->name);
    for (int i = 0; i < nodes.count && i < MAX_NODES; i++)
        fprintf(out, "%s%s", i ? ", " : " (", nodes.name[i]);
    if (nodes.count > MAX_NODES)
        fprintf(out, ", %d more", nodes.count - MAX_NODES);
    fprintf(out, "%s\n", nodes.count ? ")" : "");
}

void profile_print(const struct profile *p, const struct machine_rates *rates, FILE *out)
{
    struct profile_row *r = calloc((size_t)p->count + 1, sizeof *r);
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
    fprintf(out,
            "this machine, %d thread%s: %.1f GFLOP/s f32, %.1f bf16, %.1f int8; %.1f GB/s from "
            "memory, %.1f from cache\n",
            rates->threads, rates->threads == 1 ? "" : "s", rates->gflops[GEMM_F32],
            rates->gflops[GEMM_BF16], rates->gflops[GEMM_U8S8], rates->memory, rates->cache);
    fprintf(out, "%10s %6s %6s %9s %9s  %-14s  %s\n", "ms", "share", "calls", "GFLOP/s", "GB/s",
            "bound by", "kernel or call (nodes)");
    for (int i = 0; i < n; i++)
        print_row(&r[i], all, rates, out);
    print_shares(r, n, out);
    free(open);
    free(r);
}
