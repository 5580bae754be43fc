#include "neff/archive/archive_weights.h"

#include "neff/archive/archive.h"
#include "neff/isa/codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 4, ALONE = 1 << 20 /* bytes that are not worth a thread */ };

/* ---- places ---- */

static struct bytes encoded_strings(const struct slot *s, struct arena *a, struct diag *d)
{
    struct codec c = codec_writer("weights.bin", a, d);
    code_tensor(&c, (struct tensor *)&s->data);
    return (struct bytes){c.out, c.at};
}

static uint64_t aligned(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

bool weights_place(struct weights *w, struct program *p, struct arena *a, struct diag *d)
{
    *w = (struct weights){p, ARENA_ARRAY(a, struct placement, p->nslots),
                          ARENA_ARRAY(a, struct bytes, p->nslots), 0};
    for (int i = 0; i < p->nslots; i++) {
        const struct slot *s = &p->slots[i];
        if (s->kind != SLOT_CONST)
            continue;
        if (!s->data.data && !s->maker && tensor_count(&s->data))
            return fail(d, "constant %d has no data: text of programs leaves large constants out",
                        i);
        if (!s->data.data && s->maker && p->released)
            return fail(d, "the program has been written: constant %d cannot be made again", i);
        if (s->data.dtype == DT_STR)
            w->strings[i] = encoded_strings(s, a, d);
        uint64_t size = s->data.dtype == DT_STR ? w->strings[i].size : tensor_bytes(&s->data);
        uint64_t at = aligned(w->size, size >= 16 * NEFF_ALIGN ? NEFF_ALIGN : NEFF_SLOT_ALIGN);
        w->at[i] = (struct placement){at, size};
        w->size = at + size;
    }
    return true;
}

/* ---- bytes ---- */

struct weight_piece {
    int slot;
    int64_t index, count; /* of how many of the slot */
};

/* Threads take pieces in order, make them at the same time, and put them in order. */
struct line {
    const struct weights *w;
    put_fn put;
    void *user;
    struct diag *d; /* of whose turn it is */
    pthread_mutex_t lock;
    pthread_cond_t turned;
    struct weight_piece next;   /* to be taken */
    int64_t taken, turn; /* pieces taken, pieces put */
    bool failed;
    uint64_t done; /* bytes put */
};

static int64_t piece_count(const struct slot *s)
{
    return s->maker && !s->data.data ? s->maker->pieces : 1;
}

/* The next piece and its number in the line; false at the end. */
static bool take(struct line *l, struct weight_piece *out, int64_t *number)
{
    const struct program *p = l->w->p;
    struct weight_piece *n = &l->next;
    while (n->slot < p->nslots && (p->slots[n->slot].kind != SLOT_CONST || n->index == n->count)) {
        n->slot++;
        n->index = 0;
        n->count = n->slot < p->nslots ? piece_count(&p->slots[n->slot]) : 0;
    }
    if (l->failed || n->slot >= p->nslots)
        return false;
    *out = *n;
    n->index++;
    *number = l->taken++;
    return true;
}

/* A buffer of a thread's own, which grows. */
struct write_room {
    void *data;
    size_t size;
};

static bool grow(struct write_room *r, size_t size)
{
    if (size <= r->size)
        return true;
    free(r->data);
    r->size = (size + 63) / 64 * 64;
    r->data = aligned_alloc(64, r->size);
    return r->data || (r->size = 0);
}

/* The bytes of a piece: made in the room, or where they are. */
static const void *bytes_of(const struct line *l, const struct weight_piece *piece, struct write_room *r,
                            size_t *size)
{
    const struct slot *s = &l->w->p->slots[piece->slot];
    *size = (size_t)l->w->at[piece->slot].size / (size_t)piece->count;
    if (s->data.dtype == DT_STR)
        return l->w->strings[piece->slot].data;
    if (s->data.data || !s->maker)
        return s->data.data;
    return grow(r, *size) && s->maker->make(s->maker, piece->index, r->data) ? r->data : NULL;
}

static bool put_turn(struct line *l, const struct weight_piece *piece, const void *data, size_t n)
{
    const struct slot *s = &l->w->p->slots[piece->slot];
    uint64_t at = l->w->at[piece->slot].offset;
    bool made = s->maker && !s->data.data;
    if (!data && n)
        return fail_memory(l->d, "out of memory: a piece of %zu bytes of constant %d", n, piece->slot);
    if ((piece->index == 0 && !l->put(l->user, NULL, (size_t)(at - l->done), l->d)) ||
        (n && !l->put(l->user, data, n, l->d)))
        return false;
    l->done = at + (uint64_t)(piece->index + 1) * n;
    if (made && piece->index + 1 == piece->count && s->maker->release) {
        s->maker->release(s->maker);
        l->w->p->released = true;
    }
    return true;
}

static void *work(void *arg)
{
    struct line *l = arg;
    struct write_room room = {0};
    struct weight_piece piece;
    int64_t number;
    pthread_mutex_lock(&l->lock);
    while (take(l, &piece, &number)) {
        pthread_mutex_unlock(&l->lock);
        size_t n;
        const void *data = bytes_of(l, &piece, &room, &n);
        pthread_mutex_lock(&l->lock);
        while (l->turn != number)
            pthread_cond_wait(&l->turned, &l->lock);
        bool ok = !l->failed;
        pthread_mutex_unlock(&l->lock);
        ok = ok && put_turn(l, &piece, data, n);
        pthread_mutex_lock(&l->lock);
        l->failed |= !ok;
        l->turn++;
        pthread_cond_broadcast(&l->turned);
    }
    pthread_mutex_unlock(&l->lock);
    free(room.data);
    return NULL;
}

bool weights_write(const struct weights *w, put_fn put, void *user, struct diag *d)
{
    struct line l = {.w = w,
                     .put = put,
                     .user = user,
                     .d = d,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .turned = PTHREAD_COND_INITIALIZER};
    pthread_t threads[MAX_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = 0, want = w->size < ALONE ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    l.next.count = w->p->nslots ? piece_count(&w->p->slots[0]) : 0;
    while (n < want - 1 && pthread_create(&threads[n], NULL, work, &l) == 0)
        n++;
    work(&l);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&l.lock);
    pthread_cond_destroy(&l.turned);
    return !l.failed;
}
