/*
 * Fuzz targets: one file each, one function that takes bytes and must return, whatever they are. A
 * message is as good as a result; a crash, a leak, undefined behaviour, minutes or gigabytes are
 * findings.
 *
 * Built with -DXCC_FUZZ=ON (clang) a target is a libFuzzer program; always, it is a test that
 * replays the files of corpus/TARGET/ (replay.c). A finding, cut down, goes there once it is
 * mended.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include "passes/ir/ir.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct program;
struct model;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A path whose file holds these bytes until the next call; NULL when the system has none to give.
 */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A diagnostic that keeps warnings to itself. */
struct diag fuzz_diag(void);
/* All passes and the backend, for cpu or for trn1. NULL after a failure. The graph stays. */
struct program *fuzz_compile(struct graph *g, const char *target, struct diag *d);
/* Both of these with what an importer returned, for trn1 when the size is odd; frees the graph. */
void fuzz_graph(struct graph *g, size_t size, struct diag *d);
/* A number that depends on all of these bytes. */
uint64_t fuzz_seed(const uint8_t *data, size_t size);
/* Loads the program and runs it on small inputs, for a limited number of steps: of ones or, as the seed says, of
 * numbers that are often wrong; with its states bound, and twice. */
void fuzz_run(struct program *p, uint64_t seed, struct diag *d);
/* What is printed of an object is read back, and printed alike: aborts when it is not. */
struct fuzz_text {
    void *(*parse)(const char *text, size_t n, struct diag *d);
    void (*print)(void *object, FILE *f);
    void (*free)(void *object);
};
void fuzz_reread(const struct fuzz_text *t, void *object, struct diag *d);
/* Aborts when a failure has no message, or a success has one. */
void fuzz_agree(bool ok, const struct diag *d);

#endif
