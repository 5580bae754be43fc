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
/* In [0, n); 0 for n = 0. */
size_t mutate_below(uint64_t *seed, size_t n);
/* A number that is often wrong. */
int64_t mutate_value(uint64_t *seed);
/* data[at, at + gone) becomes n bytes of `with`, unless they do not fit; the new size. */
size_t mutate_splice(uint8_t *data, size_t size, size_t room, size_t at, size_t gone,
                     const void *with, size_t n);
/* Numbers become others that are often wrong, words other words of the text, parts are left out or
 * repeated. */
mutate_fn mutate_text;
/* Bytes, little-endian words and varints become others; parts are left out or repeated. */
mutate_fn mutate_bytes;
/* A member of an archive by one of these, or its program by the next; table, sizes and hash are mended. */
mutate_fn mutate_archive;
/* The program of an archive that can be read, field by field: see mutate_program.c. */
mutate_fn mutate_program;
/* Fields of an ONNX model: names become other names, operators other operators, nodes get attributes of their schema;
 * lengths around them are mended, and often the data of a tensor whose shape changed. */
mutate_fn mutate_onnx;
/* Fields of an HLO module or HloProto: attributes, dimension numbers, shapes, operands, literals; sizes and types also
 * in all shapes together. */
mutate_fn mutate_hlo;
/* MLIR bytecode: operations, operands, entries of the tables of strings, attributes, types and properties; sections are
 * written anew around them. */
mutate_fn mutate_mlir;

/* The target's own. */
mutate_fn fuzz_mutate;

#endif
