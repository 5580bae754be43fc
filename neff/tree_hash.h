/*
 * The archive's hash: sha256 over the sha256 of each MiB, so that chunks can be hashed in any order.
 */
#ifndef NEFF_TREE_HASH_H
#define NEFF_TREE_HASH_H

#include <nettle/sha2.h>
#include <stdint.h>

struct tree_hash {
    struct sha256_ctx chunk, all;
    size_t in_chunk;
};

void hash_init(struct tree_hash *h);
void hash_update(struct tree_hash *h, const uint8_t *p, size_t n);
void hash_finish(struct tree_hash *h, uint8_t out[32]);

#endif
