/*
 * What the user says about a model's inputs; every importer takes it.
 */
#ifndef FRONTEND_IMPORT_H
#define FRONTEND_IMPORT_H

#include "neff/base/diag.h"

#include <stdint.h>

struct graph;
struct type;

enum { IMPORT_MAX_RANK = 12 };

struct shape_binding { /* --shape NAME=1,3,224,224 */
    const char *name;  /* of a model input, or of a dim symbol (then rank is 1) */
    int rank;
    int64_t dims[IMPORT_MAX_RANK]; /* -1: keep what the model says, written `?` */
    bool used; /* set by the importer; the driver reports names that no model has */
};

struct kernel_library;
struct custom_choice;

struct import_options {
    struct shape_binding *shapes;
    int nshapes;
    const char *const *binds; /* --bind FILE: inputs that become constants (bind_parameters.h) */
    int nbinds;
    bool keep_tokens; /* tokens of an HLO program are inputs and outputs too; else main has none */
    const struct kernel_library *kernels; /* of --kernels (kernel_library.h); NULL: none */
    struct custom_choice *custom; /* operators that the user brings; may be NULL */
    /* For tests, of ONNX models: has the last word on an input's type. May be NULL. */
    void (*adapt)(void *user, struct graph *g, const char *input, struct type *t);
    void *user;
};

/* Importers: a graph whose inputs have types and whose other values have none yet; NULL after a
 * failure. The text of a failure names the node, not the file. */
struct graph *onnx_import(const char *path, const struct import_options *o, struct diag *d);
struct graph *hlo_import(const char *path, const struct import_options *o, struct diag *d);
struct graph *stablehlo_import(const char *path, const struct import_options *o, struct diag *d);

#endif
