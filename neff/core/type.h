/*
 * Types of values: tensors with symbolic dims, and the containers ONNX has.
 */
#ifndef NEFF_TYPE_H
#define NEFF_TYPE_H

#include "neff/core/dim.h"
#include "neff/core/dtype.h"

enum { MAX_RANK = 12, RANK_UNKNOWN = -1 };

enum value_kind { VK_TENSOR, VK_SEQUENCE, VK_OPTIONAL, VK_MAP, VK_NONE };

struct type {
    uint8_t kind;  /* enum value_kind */
    uint8_t dtype; /* enum dtype of a tensor; of a map's keys */
    int8_t rank;   /* RANK_UNKNOWN when only known while running */
    dim_t dims[MAX_RANK];
    const struct type *elem; /* element of a sequence or optional, value of a map; else NULL */
};

struct type type_tensor(int dtype, int rank, const dim_t *dims);
struct type type_container(int kind, const struct type *elem);
bool type_equal(const struct type *a, const struct type *b);
/* As callers see it: dims that are the same in every call as numbers. */
struct type type_given(const struct dim_table *dt, const struct type *t);
/* Every dim is a constant (containers: never). */
bool type_is_static(const struct type *t);
/* Number of elements as an expression; RANK_UNKNOWN gives a negative constant. */
dim_t type_count(struct dim_table *dt, const struct type *t);
/* `f32[batch,3,224,224]`, `f32[*]` for unknown rank, `any[*]` for an unknown element type,
 * `seq(f32[*])`, `opt(...)`, `map(i64,f32[*])`. */
const char *type_text(const struct dim_table *dt, struct arena *a, const struct type *t);
bool type_parse(struct dim_table *dt, const char **s, struct type *out, struct diag *d);

#endif
