/*
 * An MLIR module in memory: what text, bytecode and jax.export files are all read into.
 *
 * A module is a tree of operations: each has a name ("stablehlo.add"), operands, results, a
 * dictionary of attributes, regions and a location. A region has at most one block. Nothing here
 * knows what an operation means; frontend/stablehlo/lower does. Everything lives in the arena of
 * the module, except that the elements of large constants may be borrowed from the file, which
 * must then outlive it. Names are NUL-ended strings, compared by content.
 *
 * What has several spellings has one form here, whatever was read: properties are attributes,
 * dimension numbers are one structure, VHLO's versioned operations are StableHLO's.
 */
#ifndef FRONTEND_STABLEHLO_MLIR_H
#define FRONTEND_STABLEHLO_MLIR_H

#include "neff/base/arena.h"
#include "neff/base/diag.h"
#include "neff/core/dtype.h"

#include <stdint.h>
#include <stdio.h>

enum { MLIR_MAX_NESTING = 200, MLIR_MAX_RANK = 64 };
#define MLIR_DYNAMIC (-1) /* a dimension written `?` */

/* ---- types ---- */

enum mlir_type_kind {
    MT_SCALAR, /* integers, floats, complex: dtype */
    MT_INDEX,  /* dtype is DT_I64 */
    MT_QUANT,  /* quant */
    MT_OTHER,  /* a type without a meaning here: text */
    MT_TENSOR, /* element, rank, dims, encoding; rank -1: unranked */
    MT_VECTOR, /* as a tensor */
    MT_BUFFER, /* memref: as a tensor */
    MT_TUPLE,  /* types */
    MT_FUTURE, /* types */
    MT_TOKEN,
    MT_NONE,
    MT_FUNCTION, /* types: `inputs` parameters, then results */
};

struct mlir_quant {
    const struct mlir_type *storage, *expressed;
    int64_t low, high; /* range of stored values */
    bool explicit_range;
    int axis;  /* -1: one scale for all */
    int count; /* of scales */
    double *scales;
    int64_t *zeros;
    int block_axes; /* > 0: scales per block of the tensor, which has no meaning here */
};

struct mlir_type {
    enum mlir_type_kind kind;
    int dtype;
    int rank;
    int64_t *dims;
    const struct mlir_type *element;
    const struct mlir_attr *encoding;
    int count, inputs;
    const struct mlir_type **types;
    const struct mlir_quant *quant;
    const char *text;
};

/* ---- attributes ---- */

enum mlir_attr_kind {
    MA_UNIT,
    MA_BOOL,   /* i */
    MA_INT,    /* i, type */
    MA_FLOAT,  /* f, type */
    MA_STRING, /* text, size */
    MA_SYMBOL, /* text: "f" of @f; "f::g" of @f::@g */
    MA_TYPE,   /* type */
    MA_ARRAY,  /* items */
    MA_DICT,   /* keys, items */
    MA_INTS,   /* array<i64: ...>: ints; type is the element type */
    MA_DENSE,  /* data, splat, type */
    MA_ENUM,   /* #dialect<name text> */
    MA_STRUCT, /* #dialect.name<key = item, ...>: keys, items */
    MA_OPAQUE, /* text: as it was spelled, brackets included */
};

struct mlir_attr {
    enum mlir_attr_kind kind;
    const char *dialect, *name;
    const char *text;
    size_t size;
    int64_t i;
    double f;
    const struct mlir_type *type;
    int count;
    const struct mlir_attr **items;
    const char **keys;
    int64_t *ints;
    const void *data; /* as neff/core/dtype.h stores the element type; NULL: values left out */
    bool splat;       /* data is one element that stands for all */
    bool strings;     /* the elements of a dense attribute are strings: items */
};

struct mlir_dict {
    int count, capacity;
    const char **keys; /* sorted only when printed */
    const struct mlir_attr **items;
};

/* ---- locations ---- */

enum mlir_loc_kind { ML_UNKNOWN, ML_FILE, ML_NAME, ML_CALL, ML_FUSED };

struct mlir_loc {
    enum mlir_loc_kind kind;
    const char *text; /* ML_FILE: file; ML_NAME: name */
    int64_t line, column;
    int count; /* ML_NAME: 0 or 1; ML_CALL: callee, caller; ML_FUSED: any */
    const struct mlir_loc **parts;
};

/* ---- operations ---- */

struct mlir_value {
    const struct mlir_type *type;
    struct mlir_op *def;      /* NULL for block arguments */
    struct mlir_block *block; /* of a block argument, else NULL */
    int index;                /* result or argument number */
    const char *name;         /* as in the text, without %; NULL from bytecode */
    const struct mlir_loc *loc;
    void *mapped; /* for whoever walks the module */
};

struct mlir_block {
    int arg_count;
    struct mlir_value **args;
    int op_count, op_capacity;
    struct mlir_op **ops;
};

struct mlir_region {
    int block_count; /* 0 or 1 */
    struct mlir_block *block;
};

struct mlir_op {
    const char *name; /* with its dialect */
    int operand_count, result_count, region_count;
    struct mlir_value **operands;
    struct mlir_value **results;
    struct mlir_region *regions;
    struct mlir_dict attrs;
    const struct mlir_loc *loc;
    struct mlir_block *parent; /* block that holds it; NULL for the module */
    int line;                  /* of the text; 0 from bytecode */
};

struct mlir_module {
    struct arena *arena;
    const char *file;
    const char *producer; /* of bytecode, or NULL */
    int platform;         /* number of ours among those the program was exported for */
    struct mlir_op *top;  /* builtin.module */
};

/* ---- reading files: the module's arena is `a`; false (NULL) with file, line and column or offset
 * in d ---- */

struct mlir_module *mlir_parse(struct arena *a, const char *file, const char *text, size_t size,
                               struct diag *d);
struct mlir_module *mlir_read_bytecode(struct arena *a, const char *file, const uint8_t *data,
                                       size_t size, struct diag *d);

/* One attribute or type. */
const struct mlir_attr *mlir_parse_attr(struct arena *a, const char *file, const char *text,
                                        size_t size, struct diag *d);
const struct mlir_type *mlir_parse_type(struct arena *a, const char *file, const char *text,
                                        size_t size, struct diag *d);

/* In MLIR's generic text form. */
void mlir_put_type(FILE *f, const struct mlir_type *t);
void mlir_put_string(FILE *f, const char *s, size_t n); /* quoted */
void mlir_put_dict(FILE *f, int count, const char *const *keys, const struct mlir_attr *const *v);

/* ---- asking ---- */

const struct mlir_attr *mlir_attr(const struct mlir_op *op, const char *name);  /* or NULL */
const struct mlir_attr *mlir_field(const struct mlir_attr *a, const char *key); /* or NULL */
/* An attribute, or else a field of that name of one that is a structure; or NULL. */
const struct mlir_attr *mlir_attr_or_field(const struct mlir_op *op, const char *name);
const char *mlir_text(const struct mlir_attr *a);                               /* or "" */
struct mlir_block *mlir_body(const struct mlir_op *op, int region);             /* or NULL */
bool mlir_is(const struct mlir_op *op, const char *name);
/* Integers of an array<i64>, a dense attribute, an array of integers, or one integer. False when
 * it is none of them. */
bool mlir_ints(struct arena *a, const struct mlir_attr *attr, int *count, int64_t **v);
bool mlir_int(const struct mlir_attr *a, int64_t *v);
/* Elements of a shaped type; false when it has dynamic dims or too many. */
bool mlir_count(const struct mlir_type *t, int64_t *n);
int mlir_dtype(const struct mlir_type *t); /* of the elements; DT_NONE for quantized and others */
bool mlir_type_equal(const struct mlir_type *a, const struct mlir_type *b);
/* As MLIR's text: a type for messages, cut after 400 characters; an attribute whole. */
const char *mlir_type_text(struct arena *a, const struct mlir_type *t);
const char *mlir_attr_text(struct arena *a, const struct mlir_attr *attr);
/* "model.py:12", or the name of the location; NULL when nothing is known. */
const char *mlir_source(struct arena *a, const struct mlir_loc *l);
/* The source line that a location leads to: the innermost file. NULL when there is none. */
const struct mlir_loc *mlir_source_line(const struct mlir_loc *l);

/* ---- making ---- */

const struct mlir_type *mlir_scalar(struct arena *a, int dtype);
struct mlir_type *mlir_tensor(struct arena *a, const struct mlir_type *element, int rank,
                              const int64_t *dims);
struct mlir_attr *mlir_attr_new(struct arena *a, enum mlir_attr_kind kind);
struct mlir_op *mlir_op_new(struct arena *a, const char *name);
void mlir_add_results(struct arena *a, struct mlir_op *op, int count);
void mlir_dict_set(struct arena *a, struct mlir_dict *d, const char *key,
                   const struct mlir_attr *v);
/* #DIALECT.NAME<fields>. */
struct mlir_attr *mlir_struct(struct arena *a, const char *dialect, const char *name,
                              const struct mlir_dict *fields);
void mlir_append(struct arena *a, struct mlir_block *b, struct mlir_op *op);
struct mlir_block *mlir_add_block(struct arena *a, struct mlir_op *op, int region, int args);
int mlir_dtype_named(const char *s, size_t n); /* "i1", "ui8", "bf16"; DT_NONE when unknown */
const char *mlir_dtype_text(int dtype);

#endif
