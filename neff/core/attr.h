/*
 * Attributes of operators: a short list of (name, value), the same in the graph, in the archive and
 * in front of the plain routines. Names are those of the operator's row in op.def. Regions are not
 * attributes; nodes and calls hold them beside.
 */
#ifndef NEFF_ATTR_H
#define NEFF_ATTR_H

#include "neff/core/tensor.h"

enum attr_kind {
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_STR,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STRS,
    ATTR_TENSOR,
    ATTR_TYPE, /* a struct type without symbols from elsewhere */
};

struct attr {
    const char *name;
    int kind;  /* enum attr_kind */
    int count; /* of the list kinds */
    union {
        int64_t i;
        double f;
        struct str s;
        const int64_t *ints;
        const double *floats;
        const struct str *strs;
        const struct tensor *tensor;
        const struct type *type;
    };
};

struct attrs {
    struct attr *list;
    int count, cap;
};

const struct attr *attr_find(const struct attrs *as, const char *name); /* NULL when absent */

/* Values, or the default when the attribute is absent. A wrong kind counts as absent: verifiers
 * check. */
int64_t attr_int(const struct attrs *as, const char *name, int64_t otherwise);
double attr_float(const struct attrs *as, const char *name, double otherwise);
struct str attr_str(const struct attrs *as, const char *name, const char *otherwise);
bool attr_is(const struct attrs *as, const char *name, const char *value); /* string equals */
const int64_t *attr_ints(const struct attrs *as, const char *name,
                         int *count); /* NULL, 0 if absent */
/* Element i of a list; `otherwise` where there is none. */
int64_t attr_int_at(const struct attrs *as, const char *name, int i, int64_t otherwise);
const double *attr_floats(const struct attrs *as, const char *name, int *count);
const struct str *attr_strs(const struct attrs *as, const char *name, int *count);
const struct tensor *attr_tensor(const struct attrs *as, const char *name);
const struct type *attr_type(const struct attrs *as, const char *name);

/* Setters replace a value of that name. Lists, strings and the name are copied into the arena;
 * tensors and types are kept by reference. */
void attr_set_int(struct arena *a, struct attrs *as, const char *name, int64_t v);
void attr_set_float(struct arena *a, struct attrs *as, const char *name, double v);
void attr_set_str(struct arena *a, struct attrs *as, const char *name, const char *v);
void attr_set_strn(struct arena *a, struct attrs *as, const char *name, struct str v);
void attr_set_ints(struct arena *a, struct attrs *as, const char *name, const int64_t *v, int n);
void attr_set_floats(struct arena *a, struct attrs *as, const char *name, const double *v, int n);
void attr_set_strs(struct arena *a, struct attrs *as, const char *name, const struct str *v, int n);
void attr_set_tensor(struct arena *a, struct attrs *as, const char *name, const struct tensor *v);
void attr_set_type(struct arena *a, struct attrs *as, const char *name, const struct type *v);
void attr_remove(struct attrs *as, const char *name);
struct attrs attrs_copy(struct arena *a,
                        const struct attrs *as);                /* deep but for tensors and types */
bool attrs_equal(const struct attrs *a, const struct attrs *b); /* same set, any order */

#endif
