/*
 * scatter_windows of one window: where it goes, and how it is said with dynamic slices, which loops compute in place.
 */
#ifndef PASSES_ONE_WINDOW_H
#define PASSES_ONE_WINDOW_H

#include "passes/build.h"

struct one_window {
    int rank; /* of the array */
    struct value *start[MAX_RANK]; /* integers of one element; NULL: the first place */
    int64_t size[MAX_RANK], last[MAX_RANK]; /* in each dim, and where it begins at most to fit */
};

/* Whether n puts one window, of static size, into an array of static shape, or combines it with what lies there. */
bool find_one_window(const struct node *n, struct one_window *w);

/* Where it begins: i64, one number for each dim; NULL: an error. */
struct value *window_starts(struct builder *b, const struct one_window *w);

/* n's updates in the shape of the window; NULL: an error. */
struct value *window_updates(struct builder *b, const struct node *n, const struct one_window *w);

#endif
