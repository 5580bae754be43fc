/*
 * What `xcc test` finds in a folder, and how outputs are compared.
 */
#ifndef FRONTEND_TEST_CASE_H
#define FRONTEND_TEST_CASE_H

#include "passes/ir/ir.h"
#include "runtime/io/compare.h"

enum { MAX_DATA_SETS = 64 };

struct test_case {
    char model[1024];               /* the model file */
    char sets[MAX_DATA_SETS][1024]; /* what stands before input_N and output_N */
    int nsets;
    double rtol, atol; /* of data.json or case.json; negative: not said */
};

/* False with d empty: there is no test in the folder; `missing` then says what lacks. */
bool test_case_find(struct test_case *t, const char *folder, const char *name, const char **missing,
                    struct diag *d);

/*
 * Reads SET STEM_N.pb or .npy, SET being FOLDER/, FOLDER/test_data_set_K/ or FOLDER/runK_, as a value
 * of that type; or the member STEM_N.pb or .npy of FOLDER/test_data_set_K.zip. *found is false when
 * there is no such file (then true is returned).
 */
bool test_value_read(const char *set, const char *stem, int n, const struct type *type,
                     struct tensor *out, bool *found, struct diag *d);

#endif
