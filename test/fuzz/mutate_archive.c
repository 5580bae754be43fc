/* Archives: one member is changed, and what says how long and of which hash it is, with it. */
#include "neff/archive/archive.h"
#include "neff/archive/tar.h"
#include "neff/archive/tree_hash.h"
#include "neff/base/file.h"
#include "test/fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MEMBERS = 64 };

struct members {
    struct tar_member m[MAX_MEMBERS];
    int count;
};

static bool split(const uint8_t *data, size_t size, struct members *out)
{
    struct diag d = {0};
    struct tar_reader t = {.data = data + NEFF_HEADER_SIZE, .size = size - NEFF_HEADER_SIZE};
    out->count = 0;
    while (out->count < MAX_MEMBERS && tar_next(&t, &out->m[out->count], &d))
        out->count++;
    return out->count > 0 && !diag_failed(&d);
}

/* The archive of these members after `header`; 0 when it does not fit. */
static size_t join(const struct members *all, const uint8_t *header, uint8_t *to, size_t room)
{
    size_t n = NEFF_HEADER_SIZE;
    memcpy(to, header, n);
    for (int i = 0; i < all->count; i++) {
        const struct tar_member *m = &all->m[i];
        size_t padding = tar_padding(m->size);
        if (n + TAR_BLOCK + m->size + padding + TAR_END > room)
            return 0;
        tar_header(to + n, m->name, m->size);
        memcpy(to + n + TAR_BLOCK, m->data, m->size);
        memset(to + n + TAR_BLOCK + m->size, 0, padding);
        n += TAR_BLOCK + m->size + padding;
    }
    memset(to + n, 0, TAR_END);
    n += TAR_END;
    struct neff_header *h = (struct neff_header *)to;
    h->data_size = n - NEFF_HEADER_SIZE;
    tree_hash_memory(to + NEFF_HEADER_SIZE, n - NEFF_HEADER_SIZE, h->hash);
    return n;
}

size_t mutate_archive(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    static struct members all;
    if (size >= NEFF_HEADER_SIZE && mutate_below(seed, 3))
        return mutate_program(data, size, room, seed);
    if (size < NEFF_HEADER_SIZE || mutate_random(seed) % 16 == 0 || !split(data, size, &all))
        return mutate_bytes(data, size, room, seed);
    struct tar_member *m = &all.m[(mutate_random(seed) >> 8) % (uint64_t)all.count];
    for (int i = 0; i < all.count; i++) /* most of what can be wrong is in these */
        if (mutate_random(seed) % 2 && (name_ends_with(all.m[i].name, "def.json") ||
                                        name_ends_with(all.m[i].name, ".bin")))
            m = &all.m[i];
    size_t max = m->size + 256;
    uint8_t *member = malloc(max), *whole = malloc(room);
    size_t made = 0;
    if (member && whole) {
        memcpy(member, m->data, m->size);
        mutate_fn *mutate = name_ends_with(m->name, ".json") ? mutate_text : mutate_bytes;
        for (uint64_t times = 1 + mutate_random(seed) % 3; times > 0; times--)
            m->size = mutate(member, m->size, max, seed);
        m->data = member;
        made = join(&all, data, whole, room);
    }
    if (made)
        memcpy(data, whole, made);
    free(member);
    free(whole);
    return made ? made : size;
}
