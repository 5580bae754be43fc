/*
 * Outputs that are sequences, maps or optionals, as files and as text.
 *
 * A classifier's probabilities are a sequence of maps, a row each from labels to numbers: these are
 * columns, named by label. They become one .npz with a member per column ([rows]; of one map alone
 * a scalar). A sequence of tensors becomes a .npz with members arr_0, arr_1, ..., as NumPy names
 * them. Anything else becomes .json: sequences as lists, maps as objects, tensors as nested lists,
 * an optional as its item or null; NaN and infinities, which JSON lacks, as null.
 */
#ifndef RUNTIME_IO_VALUE_H
#define RUNTIME_IO_VALUE_H

#include "runtime/io/compare.h"
#include "runtime/io/npy.h"
#include "runtime/xrt.h"

/* FOLDER/NAME.npy for a tensor, .npz or .json for others. */
bool write_value(const char *folder, const char *name, const struct xrt_value *v, struct diag *d);
/* Its members with those of the .npz at PATH, by name; the reason for a difference in `why`. False
 * for a file that cannot be read, and for a value that has none. */
bool compare_members(const struct xrt_value *v, const char *path, const struct tolerance *t,
                     struct diag *why, struct diag *d);
/* A summary for people. */
bool print_value(FILE *out, const char *name, const struct xrt_value *v, struct diag *d);

#endif
