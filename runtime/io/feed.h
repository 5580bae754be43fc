/*
 * Inputs and outputs of a model as files: what xrun does around a run.
 */
#ifndef RUNTIME_IO_FEED_H
#define RUNTIME_IO_FEED_H

#include "runtime/io/inputs.h"
#include "runtime/xrt.h"

#include <stdio.h>

/* One value per input of the model, VK_NONE while nothing is known of it. */
struct feed {
    const struct xrt_model *m;
    struct tensor *inputs;
    struct input_kind *kinds;
    int count;
};

bool feed_init(struct feed *f, const struct xrt_model *m, struct diag *d);
void feed_free(struct feed *f);
/* As inputs_read. */
bool feed_file(struct feed *f, const char *argument, struct diag *d);
/* Fills what is missing from a fixed seed, with what the model takes; symbolic dims are as `shapes`
 * ("SYMBOL=16", "INPUT=1,3,224") or other inputs have them, else as the model needs them, else 1. */
bool feed_random(struct feed *f, const char *const *shapes, int nshapes, struct diag *d);
/* Fails with the list of inputs that have no value. */
bool feed_complete(const struct feed *f, struct diag *d);
/* Sets the context's inputs. */
bool feed_give(const struct feed *f, struct xrt_context *c, struct diag *d);

struct tensor tensor_of(const struct xrt_tensor *t); /* a view */
enum { OUTPUT_PATH = 2048 };
/* FOLDER/<name><suffix>, '/' and ':' in the name as '_'. */
bool output_path(char path[OUTPUT_PATH], const char *folder, const char *name, const char *suffix,
                 struct diag *d);
/* Whether two names have one path. */
bool output_same_file(const char *a, const char *b);
void print_output(FILE *out, const char *name, const struct tensor *t);

#endif
