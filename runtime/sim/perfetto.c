/*
 * Trace events as Perfetto and chrome://tracing read them. One track of ours is one thread of
 * theirs; transfers that move side by side are on threads of their own.
 */
#include "runtime/sim/json.h"

enum { ROWS = 8 };

static const char *record_name(const struct sim *s, const struct sim_record *r)
{
    const struct sim_launch *l = &s->launches[r->launch];
    if (l->kernel < 0)
        return op_name(s->p->calls[l->call].op);
    return insn_info(s->p->kernels[l->kernel].insns[r->insn].op)->name;
}

static const char *record_node(const struct sim *s, const struct sim_record *r)
{
    const struct sim_launch *l = &s->launches[r->launch];
    int node =
        l->kernel < 0 ? s->p->calls[l->call].node : s->p->kernels[l->kernel].insns[r->insn].node;
    return node >= 0 ? s->p->nodes[node].name : "";
}

void sim_print_perfetto(struct sim *s, FILE *out)
{
    int64_t busy_until[SIM_CORES][TRACK_COUNT][ROWS] = {{{0}}};
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (int c = 0; c < s->o.cores; c++)
        for (int track = 0; track < TRACK_COUNT; track++)
            for (int row = 0; row < (track < TRACK_QUEUE ? 1 : ROWS) && s->tracks[c][track].insns;
                 row++)
                fprintf(out,
                        "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                        "\"args\":{\"name\":\"%s\"}},",
                        "", c, track * ROWS + row, track_names[track]);
    for (int i = 0; i < s->nrecords; i++) {
        const struct sim_record *r = &s->records[i];
        int row = 0;
        while (r->track >= TRACK_QUEUE && row + 1 < ROWS &&
               busy_until[r->core][r->track][row] > r->start)
            row++;
        busy_until[r->core][r->track][row] = r->end;
        fprintf(out,
                "\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.6f,\"dur\":%.6f,"
                "\"args\":{\"began_after\":\"%s\",\"instance\":%d,\"node\":",
                record_name(s, r), r->core, r->track * ROWS + row, (double)r->start / 1e6,
                (double)(r->end - r->start) / 1e6, why_names[r->why], r->instance);
        put_string(out, record_node(s, r));
        fprintf(out, "}},");
    }
    fprintf(out,
            "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"%s\"}}]}\n",
            s->m->name);
}
