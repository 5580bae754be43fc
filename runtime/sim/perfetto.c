/*
 * Trace events as Perfetto and chrome://tracing read them. One lane of ours is one thread of
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
    int64_t busy_until[SIM_CORES][LANE_COUNT][ROWS] = {{{0}}};
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (int c = 0; c < s->o.cores; c++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            for (int row = 0; row < (lane < LANE_QUEUE ? 1 : ROWS) && s->lanes[c][lane].insns;
                 row++)
                fprintf(out,
                        "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                        "\"args\":{\"name\":\"%s\"}},",
                        "", c, lane * ROWS + row, lane_names[lane]);
    for (int i = 0; i < s->nrecords; i++) {
        const struct sim_record *r = &s->records[i];
        int row = 0;
        while (r->lane >= LANE_QUEUE && row + 1 < ROWS &&
               busy_until[r->core][r->lane][row] > r->start)
            row++;
        busy_until[r->core][r->lane][row] = r->end;
        fprintf(out,
                "\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.6f,\"dur\":%.6f,"
                "\"args\":{\"began_after\":\"%s\",\"instance\":%d,\"node\":",
                record_name(s, r), r->core, r->lane * ROWS + row, (double)r->start / 1e6,
                (double)(r->end - r->start) / 1e6, why_names[r->why], r->instance);
        put_string(out, record_node(s, r));
        fprintf(out, "}},");
    }
    fprintf(out,
            "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"%s\"}}]}\n",
            s->m->name);
}
