/*
 * Semaphores from operand directions.
 *
 * An instruction c must come after p on another engine when they conflict. What c waits for is a
 * point in the kernel's order, before which all of p's stream must be complete. On strict targets an
 * engine goes on while its queue moves bytes, so that its transfers are a stream of their own; else,
 * or where an instruction would have too many waits, each engine is one.
 *
 *   same iteration      right after p; when p lies in a loop that c is not in, after that loop
 *   earlier iteration   the start of this iteration of the innermost loop around both, less what
 *                       p's stream still signals after p in an iteration
 *
 * Points are ordered by their place in the kernel, so one wait per stream, for the latest point, is
 * enough. Its value is the number of signals before the point: affine in the loop variables. The
 * kernel's own order satisfies every wait, hence no deadlock. A wait is left out when an earlier
 * one, of this engine or of an instruction waited for, implies it; for earlier iterations that is
 * what the engine knows at the end of the loop's body, so all is done twice.
 */
#include "backend/schedule/accesses.h"
#include "backend/schedule/chain.h"

#include <string.h>

struct need {
    int64_t key; /* of the point; 0 none. Later points have greater keys */
    int at; /* its place: index of an instruction, a loop's `end`, or (carried) a loop's start */
    int producer;
    bool carried;
    bool direct; /* the producer itself always runs before the point, in the same iteration */
    bool whole;  /* carried: wait for the whole earlier iteration */
};

/*
 * What an engine knows of a stream: the key of a point before which all is complete, and, apart, the
 * key of a carried need that leaves out the end of the earlier iteration. In the first iteration
 * there is none earlier: such a wait tells nothing of what came before the loop.
 */
enum { POINTS = 0, PARTIAL = STREAMS, KINDS = 2 * STREAMS };

struct synchroniser {
    struct program *p;
    struct kernel *k;
    struct diag *d;
    struct arena scratch;
    int *around, *ends, nloops;
    struct accesses *accesses;
    before_t *before;           /* of a straight kernel, instead: what must come before each instruction */
    struct relations relations; /* of the instruction whose waits are found */
    int few[STREAMS], nfew;     /* of a straight kernel, instead */
    int round;                  /* of find_all: marks of the one before it do not count */
    int32_t (*given)[STREAMS];  /* signals before each instruction, as if there were no loops */
    int *next_loop;             /* the first one at each instruction or after it */
    dim_t (*loop_signals)[STREAMS]; /* per `loop` by nth: in one iteration; -1 not known yet */
    bool *signals;                         /* instructions that signal */
    struct need (*kept)[STREAMS];            /* per instruction: its waits, by the producer's stream */
    int64_t (*known)[ENGINE_COUNT][KINDS]; /* per loop depth: consumer engine, what it knows */
    int64_t (*after)[KINDS]; /* per instruction: what its engine knows once it is complete */
    int *nth;                               /* of a `loop`: how many are before it */
    int64_t (*at_end)[ENGINE_COUNT][KINDS]; /* per `loop` by that: what is known at the end of its body */
    bool again;                             /* second round: at_end is filled */
    int16_t semaphore[STREAMS];
    bool queues; /* transfers are streams of their own */
};

/* Of a stream with the queues apart (stream_of_insn). */
static int merged(const struct synchroniser *s, int stream)
{
    return s->queues || stream < ENGINE_COUNT ? stream : stream - ENGINE_COUNT;
}

static int stream_of(const struct synchroniser *s, int i)
{
    return merged(s, stream_of_insn(&s->k->insns[i]));
}

static bool inside(const struct synchroniser *s, int i, int loop)
{
    return loop < 0 || (i > loop && i < s->ends[loop]);
}

static int common_loop(const struct synchroniser *s, int a, int b)
{
    int loop = s->around[a];
    while (!inside(s, b, loop))
        loop = s->around[loop];
    return loop;
}

/* i, or the `end` of the outermost loop around i that lies within `loop`. */
static int after_within(const struct synchroniser *s, int i, int loop)
{
    int at = i;
    for (int around = s->around[i]; around != loop; around = s->around[around])
        at = s->ends[around];
    return at;
}

static int64_t key_of(int at, int strength)
{
    return (int64_t)(at + 1) << 32 | (uint32_t)strength;
}

/* ---- what an instruction needs ---- */

/* The engine of c has waited for the producer in the earlier iteration itself. */
static bool known_since(const struct synchroniser *s, int c, int producer, int loop)
{
    int engine = s->k->insns[c].engine;
    return s->again && s->at_end[s->nth[loop]][engine][stream_of(s, producer)] >=
                           key_of(after_within(s, producer, loop), INT32_MAX);
}

/* Of each stream of other engines the latest point; mixed: there are others. */
struct stream_needs {
    struct need latest[STREAMS];
    bool mixed[STREAMS];
};

static void note_need(const struct synchroniser *s, struct stream_needs *needs, struct need n)
{
    int e = stream_of(s, n.producer);
    struct need *latest = &needs->latest[e];
    needs->mixed[e] |= latest->key && n.at != latest->at;
    if (n.key > latest->key)
        *latest = n;
}

static bool own_engine(const struct synchroniser *s, int c, const struct access_run *r)
{
    return r->stream % ENGINE_COUNT == s->k->insns[c].engine;
}

/* The first access at `at` or after it that has no mark. */
static int unmarked(struct access_run *r, int at)
{
    while (r->next[at] != at) {
        r->next[at] = r->next[r->next[at]];
        at = r->next[at];
    }
    return at;
}

/* Accesses [from, to) of a run signal, but those of one tensor. Each gets its mark once. */
static void signal_run(struct synchroniser *s, struct access_run *r, int from, int to, int except)
{
    if (r->round != s->round) {
        for (int i = 0; i <= r->n; i++)
            r->next[i] = i;
        r->round = s->round;
    }
    for (int i = from; i < to && (i = unmarked(r, i)) < to; i++) {
        if (r->tensors[i] == except)
            continue;
        s->signals[r->insns[i]] = true;
        r->next[i] = i + 1;
    }
}

/* Accesses of earlier iterations of `loop` between instructions `from` and `to`: those that are known of signal, of the
 * others the last one is noted. */
static void need_carried(struct synchroniser *s, int c, int loop, const struct access_relation *x, struct access_run *r,
                         int from, int to, struct stream_needs *needs)
{
    int first = accesses_before(r, from + 1), end = accesses_before(r, to), low = first, high = end;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (known_since(s, c, r->insns[middle], loop))
            low = middle + 1;
        else
            high = middle;
    }
    signal_run(s, r, first, low, x->except);
    int last = last_access(r, to, x->except);
    if (last >= low)
        note_need(s, needs, (struct need){key_of(loop, r->insns[last]), loop, r->insns[last], true, false, false});
}

static void needs_of_run(struct synchroniser *s, int c, const struct access_relation *x, struct access_run *r,
                         struct stream_needs *needs)
{
    int last = x->same_iteration ? last_access(r, c, x->except) : -1;
    if (last >= 0) {
        int producer = r->insns[last], at = after_within(s, producer, common_loop(s, c, producer));
        note_need(s, needs, (struct need){key_of(at, INT32_MAX), at, producer, false, at == producer, false});
    }
    for (int loop = s->around[c], inner = c; loop >= 0; inner = loop, loop = s->around[loop]) {
        if (!x->same_iteration)
            need_carried(s, c, loop, x, r, loop, inner, needs);
        need_carried(s, c, loop, x, r, s->ends[inner], s->ends[loop], needs);
    }
}

/* Of each stream of other engines the latest point that instruction c needs; marks what must signal for
 * what is known without it. */
static void latest_needs(struct synchroniser *s, int c, struct stream_needs *needs)
{
    for (int i = 0; i < s->nfew; i++)
        if (s->k->insns[s->few[i]].engine != s->k->insns[c].engine)
            note_need(s, needs, (struct need){key_of(s->few[i], INT32_MAX), s->few[i], s->few[i], false, true, false});
    for (int i = 0; i < s->relations.n; i++) {
        const struct access_relation *x = &s->relations.at[i];
        for (int r = 0; r < x->list->nruns[x->kind]; r++)
            if (!own_engine(s, c, &x->list->runs[x->kind][r]))
                needs_of_run(s, c, x, &x->list->runs[x->kind][r], needs);
    }
    for (int e = 0; e < STREAMS; e++)
        if (needs->latest[e].carried && needs->mixed[e]) {
            needs->latest[e].whole = true;
            needs->latest[e].key = key_of(needs->latest[e].at, INT32_MAX);
        }
}

/* All of stream e that c needs. */
static void mark_needs(struct synchroniser *s, int c, int e, const struct need *best, bool implied)
{
    if (best->direct && !implied) {
        s->signals[best->producer] = true;
        return;
    }
    int outer = s->around[c];
    while (outer >= 0 && s->around[outer] >= 0)
        outer = s->around[outer];
    for (int i = 0; i < s->nfew; i++)
        if (stream_of(s, s->few[i]) == e)
            s->signals[s->few[i]] = true;
    for (int i = 0; i < s->relations.n; i++) {
        const struct access_relation *x = &s->relations.at[i];
        for (int n = 0; n < x->list->nruns[x->kind]; n++) {
            struct access_run *r = &x->list->runs[x->kind][n];
            if (merged(s, r->stream) != e)
                continue;
            int from = x->same_iteration ? 0 : accesses_before(r, outer < 0 ? c : outer);
            signal_run(s, r, from, accesses_before(r, outer >= 0 ? s->ends[outer] : c), x->except);
        }
    }
}

static bool is_partial(const struct need *n)
{
    return n->carried && !n->whole;
}

static bool is_known(const int64_t known[KINDS], int e, const struct need *n)
{
    return known[POINTS + e] >= n->key || (is_partial(n) && known[PARTIAL + e] >= n->key);
}

static void learn(struct synchroniser *s, int64_t known[KINDS], int e, const struct need *n)
{
    int kind = (is_partial(n) ? PARTIAL : POINTS) + e;
    if (n->key > known[kind])
        known[kind] = n->key;
    for (int q = 0; n->direct && q < KINDS; q++)
        if (s->after[n->producer][q] > known[q])
            known[q] = s->after[n->producer][q];
}

/* Instructions that must come before c, or share memory with it. */
static void find_sharing(struct synchroniser *s, int c)
{
    s->nfew = 0;
    for (int e = 0; s->before && e < STREAMS; e++)
        if (s->before[c][e] >= 0)
            s->few[s->nfew++] = s->before[c][e];
    if (!s->before)
        find_relations(s->accesses, c, &s->relations);
}

static void find_waits(struct synchroniser *s, int c, int64_t known[KINDS])
{
    struct stream_needs all = {.latest = {{0}}};
    struct need *needs = all.latest;
    find_sharing(s, c);
    latest_needs(s, c, &all);
    for (;;) { /* the latest first: it may imply the others */
        int best = -1;
        for (int e = 0; e < STREAMS; e++)
            if (needs[e].key && (best < 0 || needs[e].key > needs[best].key))
                best = e;
        if (best < 0)
            break;
        struct need n = needs[best];
        needs[best].key = 0;
        bool implied = is_known(known, best, &n);
        mark_needs(s, c, best, &n, implied);
        if (implied)
            continue;
        s->kept[c][best] = n;
        learn(s, known, best, &n);
    }
    memcpy(s->after[c], known, sizeof s->after[c]);
}

static int loop_of_end(const struct synchroniser *s, int end)
{
    int loop = end - 1;
    while (s->k->insns[loop].op != INSN_loop || s->ends[loop] != end)
        loop--;
    return loop;
}

static void find_all(struct synchroniser *s)
{
    int depth = 0;
    s->round++;
    memset(s->known[0], 0, sizeof *s->known);
    memset(s->kept, 0, sizeof *s->kept * (size_t)s->k->ninsns);
    memset(s->signals, 0, sizeof *s->signals * (size_t)s->k->ninsns);
    for (int i = 0; i < s->k->ninsns; i++) {
        const struct insn *n = &s->k->insns[i];
        if (n->op == INSN_loop) { /* what is learnt inside is forgotten: the loop may not run */
            memcpy(s->known[depth + 1], s->known[depth], sizeof *s->known);
            depth++;
        } else if (n->op == INSN_end) {
            memcpy(s->at_end[s->nth[loop_of_end(s, i)]], s->known[depth], sizeof *s->known);
            depth--;
        } else {
            find_waits(s, i, s->known[depth][n->engine]);
        }
    }
}

/* ---- values ---- */

static dim_t signals_of_loop(struct synchroniser *s, int loop, int stream);

/* n, and one more for each of so many signals: as sums of constants, or one after the other where sizes are open. */
static dim_t add_signals(struct dim_table *t, dim_t n, int signals)
{
    if (dim_is_const(n))
        return dim_add(t, n, signals);
    for (; signals > 0; signals--)
        n = dim_add(t, n, 1);
    return n;
}

/* Signals of a stream in one run through instructions [from, to) of one nesting level. */
static dim_t signals_between(struct synchroniser *s, int from, int to, int stream)
{
    struct dim_table *t = &s->p->dims;
    dim_t n = 0;
    while (from < to) {
        int loop = s->next_loop[from] < to ? s->next_loop[from] : to;
        n = add_signals(t, n, s->given[loop][stream] - s->given[from][stream]);
        if (loop == to)
            break;
        dim_t body = signals_of_loop(s, loop, stream);
        if (body != 0)
            n = dim_add(t, n, dim_mul(t, dim_max(t, s->k->insns[loop].imm[IMM(loop, count)].base, 0), body));
        from = s->ends[loop] + 1;
    }
    return n;
}

static dim_t signals_of_loop(struct synchroniser *s, int loop, int stream)
{
    dim_t *known = &s->loop_signals[s->nth[loop]][stream];
    if (*known == -1)
        *known = signals_between(s, loop + 1, s->ends[loop], stream);
    return *known;
}

static int body_start(int loop)
{
    return loop + 1; /* of the kernel: 0 */
}

/* Signals before an iteration of `loop` (-1: the kernel) begins. */
static struct affine signals_before_iteration(struct synchroniser *s, int loop, int stream)
{
    struct affine a = {0};
    for (; loop >= 0; loop = s->around[loop]) {
        dim_t before = signals_between(s, body_start(s->around[loop]), loop, stream);
        a.base = dim_add(&s->p->dims, a.base, before);
        affine_set(&a, &s->p->arena, (int)s->k->insns[loop].imm[IMM(loop, var)].base,
                   signals_of_loop(s, loop, stream));
    }
    return a;
}

static struct affine value_of(struct synchroniser *s, const struct need *n, int stream)
{
    struct dim_table *t = &s->p->dims;
    if (s->before)
        return (struct affine){.base = s->given[n->at + 1][stream]};
    if (!n->carried) {
        int loop = s->k->insns[n->at].op == INSN_end ? s->around[n->at] : s->around[n->producer];
        struct affine a = signals_before_iteration(s, loop, stream);
        a.base = dim_add(t, a.base, signals_between(s, body_start(loop), n->at + 1, stream));
        return a;
    }
    struct affine a = signals_before_iteration(s, n->at, stream);
    if (!n->whole) {
        int last = after_within(s, n->producer, n->at);
        a.base = dim_sub(t, a.base, signals_between(s, last + 1, s->ends[n->at], stream));
    }
    return a;
}

/* Loops whose number of iterations changes with a variable would make counts quadratic. */
static bool loops_are_simple(struct synchroniser *s)
{
    for (int i = 0; i < s->k->ninsns; i++)
        if (s->k->insns[i].op == INSN_loop && s->k->insns[i].imm[IMM(loop, count)].nterms)
            return fail_internal(s->d,
                                 "the number of iterations of a loop depends on another variable");
    return true;
}

static void number_semaphores(struct synchroniser *s)
{
    s->k->nsemaphores = 0;
    for (int e = 0; e < STREAMS; e++) {
        bool used = false;
        for (int i = 0; i < s->k->ninsns; i++)
            used |= s->kept[i][e].key != 0;
        s->semaphore[e] = used ? (int16_t)s->k->nsemaphores++ : -1;
    }
}

static void count_signals(struct synchroniser *s)
{
    int n = s->k->ninsns;
    s->given = arena_alloc(&s->scratch, sizeof *s->given * (size_t)(n + 1));
    s->loop_signals = arena_alloc(&s->scratch, sizeof *s->loop_signals * (size_t)(s->nloops + 1));
    memset(s->loop_signals, -1, sizeof *s->loop_signals * (size_t)(s->nloops + 1));
    s->next_loop = ARENA_ARRAY(&s->scratch, int, n + 1);
    for (int i = 0; i < n; i++) {
        memcpy(s->given[i + 1], s->given[i], sizeof *s->given);
        s->given[i + 1][stream_of(s, i)] += s->signals[i];
    }
    s->next_loop[n] = n;
    for (int i = n - 1; i >= 0; i--)
        s->next_loop[i] = s->k->insns[i].op == INSN_loop ? i : s->next_loop[i + 1];
}

static void write_sync(struct synchroniser *s)
{
    number_semaphores(s);
    count_signals(s);
    for (int i = 0; i < s->k->ninsns; i++) {
        struct insn *n = &s->k->insns[i];
        struct sync wait[STREAMS];
        n->nwaits = 0;
        n->signal[0] = s->signals[i] ? s->semaphore[stream_of(s, i)] : -1;
        n->signal[1] = -1;
        for (int e = 0; e < STREAMS; e++)
            if (s->kept[i][e].key)
                wait[n->nwaits++] = (struct sync){s->semaphore[e], value_of(s, &s->kept[i][e], e)};
        n->wait = arena_copy(&s->p->arena, wait, sizeof *wait * n->nwaits);
    }
}

static bool too_many_waits(const struct synchroniser *s)
{
    for (int i = 0; i < s->k->ninsns; i++) {
        int n = 0;
        for (int e = 0; e < STREAMS; e++)
            n += s->kept[i][e].key != 0;
        if (n > MAX_SYNC)
            return true;
    }
    return false;
}

static void find_twice(struct synchroniser *s, bool queues)
{
    s->queues = queues, s->again = false;
    find_all(s);
    s->again = true;
    find_all(s);
}

bool sync_kernel(struct program *p, struct kernel *k, struct diag *d)
{
    struct synchroniser s = {.p = p, .k = k, .d = d};
    s.around = loops_around(k, &s.scratch);
    s.ends = loop_ends(k, &s.scratch);
    const struct machine *m = machine_find(p->target ? p->target : "cpu");
    if (k->straight)
        s.before = straight_order(p, k, m, false, &s.scratch);
    else
        s.accesses = find_accesses(p, k, &s.scratch);
    s.signals = ARENA_ARRAY(&s.scratch, bool, k->ninsns + 1);
    s.kept = arena_alloc(&s.scratch, sizeof *s.kept * (size_t)(k->ninsns + 1));
    s.after = arena_alloc(&s.scratch, sizeof *s.after * (size_t)(k->ninsns + 1));
    s.nth = ARENA_ARRAY(&s.scratch, int, k->ninsns + 1);
    for (int i = 0; i < k->ninsns; i++)
        s.nth[i] = k->insns[i].op == INSN_loop ? s.nloops++ : -1;
    s.at_end = arena_alloc(&s.scratch, sizeof *s.at_end * (size_t)(s.nloops + 1));
    s.known = arena_alloc(&s.scratch, sizeof *s.known * (MAX_VARS + 1));
    bool ok = loops_are_simple(&s);
    if (ok) {
        find_twice(&s, m->strict);
        if (s.queues && too_many_waits(&s))
            find_twice(&s, false);
        write_sync(&s);
    }
    arena_free(&s.scratch);
    return ok;
}
