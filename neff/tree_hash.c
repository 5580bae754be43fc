#include "neff/tree_hash.h"

enum { CHUNK = 1 << 20 };

void hash_init(struct tree_hash *h)
{
    sha256_init(&h->chunk);
    sha256_init(&h->all);
    h->in_chunk = 0;
}

static void hash_end_chunk(struct tree_hash *h)
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&h->chunk, sizeof digest, digest); /* resets the context */
    sha256_update(&h->all, sizeof digest, digest);
    h->in_chunk = 0;
}

void hash_update(struct tree_hash *h, const uint8_t *p, size_t n)
{
    while (n) {
        size_t part = CHUNK - h->in_chunk < n ? CHUNK - h->in_chunk : n;
        sha256_update(&h->chunk, part, p);
        h->in_chunk += part;
        p += part, n -= part;
        if (h->in_chunk == CHUNK)
            hash_end_chunk(h);
    }
}

void hash_finish(struct tree_hash *h, uint8_t out[32])
{
    if (h->in_chunk)
        hash_end_chunk(h);
    sha256_digest(&h->all, SHA256_DIGEST_SIZE, out);
}

