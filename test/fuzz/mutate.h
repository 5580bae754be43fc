/*
 * Mutations that know the form of a file, so that they get past the first checks of its reader: for
 * libFuzzer (LLVMFuzzerCustomMutator) and for replay --mutate, which needs no clang.
 */
#ifndef TEST_FUZZ_MUTATE_H
#define TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes data in place, at most `room` bytes long afterwards; the new size. */
typedef size_t mutate_fn(uint8_t *data, size_t size, size_t room, uint64_t *seed);

uint64_t mutate_random(uint64_t *seed);
/* Numbers become others that are often wrong, words other words of the text, parts are left out or
 * repeated. */
mutate_fn mutate_text;
/* Bytes, little-endian words and varints become others; parts are left out or repeated. */
mutate_fn mutate_bytes;
/* A member of an archive by one of these; the table of members, sizes and hash are mended. */
mutate_fn mutate_archive;

/* The target's own. */
mutate_fn fuzz_mutate;

#endif
