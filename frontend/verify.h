/*
 * xcc MODEL --verify [INPUT.npy | NAME=INPUT.npy]...: the compiled program against the plain
 * routines.
 *
 * The program runs first and every value that it keeps is copied. Then the imported graph runs by
 * the plain routines, node by node; where the program has the value, the two are compared and the
 * program's takes the reference's place, so that what is seen at a node arose there and not before:
 * an error upstream is no fault of what comes after it. A line per value says
 *
 *   error        of the element that is worst for its bound
 *   explained    the bound: what rounding may do from the last values that the program keeps to this
 *                one. Sums of products: 32 u S, with S the sum of their magnitudes and u = 2^-24; where
 *                operands are cast to a type of roundoff c, (2c + c^2) S more; functions of elements
 *                8 u of the element; what bounds of operands do to a result is found by running the
 *                plain routine on operands moved by them (verify_error.c)
 *   accumulated  the error against FP32 throughout, relative to the largest value
 *
 * and the last line which node is the first that is wrong, or that none is.
 */
#ifndef FRONTEND_VERIFY_H
#define FRONTEND_VERIFY_H

#include "frontend/driver.h"
#include "frontend/verify_file.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/common/ops.h"

#include <stdio.h>

enum { EXIT_DIFFERENT = 3 };

/* Exit status: 0 when all agree within what order of accumulation and autocast explain, else 3. */
int verify_command(struct command *c);

struct verify_counts { /* values compared, by what their worst element needs to be explained */
    int nodes, compared, equal, by_order, by_cast, by_more;
    int unbounded; /* of the compared: bounds too wide to say anything */
    const char *first_wrong; /* lives in the reference graph; NULL: none is */
};

/* ---- in three steps, so that no more than one copy of the model is alive ---- */

struct captured { /* a value that the program keeps */
    const char *name;    /* in the capture's arena */
    struct tensor value; /* strings; of other values type and dims, their bytes are in the file */
    int64_t at;          /* there */
    int order;           /* of capturing */
};
/* All values together are many times what a run needs at once, so they are kept in a file without a name. */
struct capture {
    const struct program *p; /* while it runs */
    int *last_write;         /* per slot: last step of the main program that writes it; -1 */
    struct captured *list;   /* after capture_sort by name, wider types first */
    int count, cap;
    struct side_file file;
    struct tensor found;
    struct arena arena;
};
struct verify_run { /* of a run of the compiled program; begins as {0} */
    struct tensor *inputs;
    int ninputs;
    struct capture capture;
};

/* Inputs of the imported graph from the command's files (after the first), made up where none is given. */
bool verify_begin(struct verify_run *r, struct graph *imported, const struct command *c,
                  struct diag *d);
/* Runs the program and records what it keeps. Afterwards the model and its graph may go. */
bool verify_record(struct verify_run *r, struct model *m, struct diag *d);
/*
 * Runs the imported graph by the plain routines on the same inputs and compares. The command's
 * options say which roundings are explained. Differences are printed; those that nothing explains
 * count as by_more.
 */
bool verify_compare(struct verify_run *r, struct graph *reference, const struct command *c,
                    struct verify_counts *out, struct diag *d);
void verify_run_free(struct verify_run *r); /* whatever they returned */

/* ---- between verify.c and verify_capture.c ---- */

bool capture_start(struct capture *k, struct context *run, const struct program *p, struct diag *d);
void capture_sort(struct capture *k);
/* The value of that name with these dims (those of like), until the next call; NULL: there is none, or d says what
 * failed. One that is kept with channels last is put in order. */
const struct tensor *capture_find(struct capture *k, const char *name, const struct tensor *like, struct diag *d);
/* The same for the value that is output i, which may have no name. */
const struct tensor *capture_output(struct capture *k, int i, const struct tensor *like, struct diag *d);
void capture_free(struct capture *k);

/* Inputs from files as xrun takes them (.npy in order or by name, .npz), the others from a fixed
 * seed: symbols are 1 in a first dim, else 7. */
bool verify_inputs(struct graph *g, const char **files, int nfiles, struct tensor *in,
                   struct diag *d);

/* ---- verify_kernel.c ---- */

/* A kernel written by hand, as a program of its own: compiled and run for the call's operands
 * alone. So what is compared with it is how it became part of a larger program. */
bool verify_run_kernel(const struct command *c, struct op_call *call);

#endif
