#include "runtime/sim/state.h"
#include "neff/base/recover.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LIVE = 16 << 20 }; /* even: beginnings and ends come in pairs */

const char *const track_names[TRACK_COUNT] = {"pe",   "act",   "pool",   "dve",   "sp",
                                              "q.pe", "q.act", "q.pool", "q.dve", "q.sp"};
const char *const why_names[WHY_COUNT] = {"start",       "engine busy", "semaphore",   "result",
                                          "port",        "room",        "step before", "dma busy",
                                          "queue order", "trigger"};

/* As arenas do, ends the process when there is no memory. */
void grow(void **list, int n, int *cap, size_t size)
{
    if (n < *cap)
        return;
    int more = *cap ? *cap * 2 : 64;
    void *new = realloc(*list, size * (size_t)more);
    if (!new)
        recovery_out_of_memory(size * (size_t)more);
    memset((char *)new + size *(size_t)*cap, 0, size * (size_t)(more - *cap));
    *list = new;
    *cap = more;
}

int32_t add_record(struct sim *s, struct sim_record r)
{
    if (s->nrecords >= s->o.max_records) {
        s->truncated = true;
        return -1;
    }
    grow((void **)&s->records, s->nrecords, &s->records_cap, sizeof r);
    s->records[s->nrecords] = r;
    return s->nrecords++;
}

void add_live(struct sim *s, int64_t at, int64_t sbuf, int64_t psum)
{
    if (s->nlive >= MAX_LIVE)
        return;
    grow((void **)&s->live, s->nlive, &s->live_cap, sizeof *s->live);
    s->live[s->nlive++] = (struct sim_live){at, (int32_t)sbuf, (int32_t)psum};
}

/* ---- waits: a hash table that is its own list, cleaned up by sim_run ---- */

static size_t slot_of(const struct sim_wait *list, int cap, const struct sim_wait *key)
{
    uint64_t h = (uint64_t)(uint32_t)key->kernel * 0x9E3779B97F4A7C15u ^
                 (uint64_t)(uint32_t)key->insn * 0xBF58476D1CE4E5B9u ^
                 (uint64_t)(uint32_t)key->cause_insn * 0x94D049BB133111EBu;
    size_t i = (size_t)(h >> 20) & (size_t)(cap - 1);
    while (list[i].times && (list[i].kernel != key->kernel || list[i].insn != key->insn ||
                             list[i].cause_insn != key->cause_insn))
        i = (i + 1) & (size_t)(cap - 1);
    return i;
}

static void enlarge(struct sim *s)
{
    int cap = s->waits_cap ? s->waits_cap * 2 : 256;
    struct sim_wait *new = calloc((size_t)cap, sizeof *new);
    if (!new)
        recovery_out_of_memory(sizeof *new * (size_t)cap);
    for (int i = 0; i < s->waits_cap; i++)
        if (s->waits[i].times)
            new[slot_of(new, cap, &s->waits[i])] = s->waits[i];
    free(s->waits);
    s->waits = new;
    s->waits_cap = cap;
}

void add_wait(struct sim *s, int kernel, int insn, int track, int32_t cause, int64_t ps)
{
    struct sim_wait w = {.kernel = kernel, .insn = insn, .cause_insn = -1, .track = (uint8_t)track};
    if (cause >= 0) {
        w.cause_insn = s->records[cause].insn;
        w.cause_track = s->records[cause].track;
    }
    if (s->nwaits * 2 >= s->waits_cap)
        enlarge(s);
    struct sim_wait *at = &s->waits[slot_of(s->waits, s->waits_cap, &w)];
    if (!at->times) {
        *at = w;
        s->nwaits++;
    }
    at->ps += ps;
    at->times++;
}
