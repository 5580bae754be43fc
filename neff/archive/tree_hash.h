/*
 * The archive's hash: sha256 over the sha256 of each MiB, so that chunks are hashed in any order,
 * by several threads.
 */
#ifndef NEFF_TREE_HASH_H
#define NEFF_TREE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_HASH_SIZE = 32 };

void tree_hash_memory(const uint8_t *data, size_t size, uint8_t out[TREE_HASH_SIZE]);
/* `size` bytes of an open file from `offset` on; false when they cannot be read. */
bool tree_hash_file(int fd, uint64_t offset, size_t size, uint8_t out[TREE_HASH_SIZE]);

#endif
