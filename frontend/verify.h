/*
 * xcc MODEL --verify [INPUT.npy | NAME=INPUT.npy]...: the compiled program against the plain
 * routines.
 *
 * The program runs first and every value that it keeps is copied. Then the imported graph runs by
 * the plain routines, node by node; where the program has the value, the two are compared and the
 * program's takes the reference's place, so that what is seen at a node arose there and not before.
 */
#ifndef FRONTEND_VERIFY_H
#define FRONTEND_VERIFY_H

#include "frontend/driver.h"
#include "runtime/exec/exec.h"

enum { EXIT_DIFFERENT = 3 };

/* Exit status: 0 when all agree within what order of accumulation and autocast explain, else 3. */
int verify_command(struct command *c);

struct verify_counts { /* values compared, by what their worst element needs to be explained */
    int nodes, compared, equal, by_order, by_cast, by_more;
    int unbounded; /* of the compared: bounds too wide to say anything */
};

/*
 * Runs the model, and by the plain routines the imported graph, on inputs from the command's files
 * (after the first), and compares. The command's options say which roundings are explained.
 * Differences are printed; those that nothing explains count as by_more.
 */
bool verify_graph(struct graph *reference, struct model *m, const struct command *c,
                  struct verify_counts *out, struct diag *d);

/* ---- between verify.c and verify_capture.c ---- */

struct captured { /* a value that the program keeps */
    const char *name;
    struct tensor value;
    int order; /* of capturing */
};
struct capture {
    const struct program *p;
    int *last_write;       /* per slot: last step of the main program that writes it; -1 */
    struct captured *list; /* after capture_sort by name, wider types first */
    int count, cap;
    struct arena arena;
};

bool capture_start(struct capture *k, struct context *run, const struct program *p, struct diag *d);
void capture_sort(struct capture *k);
/* The value of that name with these dims (those of like), or NULL. One that is kept with channels
 * last is put in order. */
const struct tensor *capture_find(struct capture *k, const char *name, const struct tensor *like);
/* The same for the value that is output i, which may have no name. */
const struct tensor *capture_output(struct capture *k, int i, const struct tensor *like);
void capture_free(struct capture *k);

/* Inputs from files in order or by name, the others from a fixed seed: symbols are 1 in a first
 * dim, else 7. */
bool verify_inputs(struct graph *g, const char **files, int nfiles, struct tensor *in,
                   struct diag *d);

#endif
