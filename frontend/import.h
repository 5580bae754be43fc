/*
 * What the user says about a model's inputs; every importer takes it.
 */
#ifndef FRONTEND_IMPORT_H
#define FRONTEND_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

enum { IMPORT_MAX_RANK = 12 };

struct shape_binding { /* --shape NAME=1,3,224,224 */
    const char *name;  /* of a model input, or of a dim symbol (then rank is 1) */
    int rank;
    int64_t dims[IMPORT_MAX_RANK]; /* -1: keep what the model says, written `?` */
    bool used;         /* set by the importer; the driver reports names that no model has */
};

struct import_options {
    struct shape_binding *shapes;
    int nshapes;
};

#endif
