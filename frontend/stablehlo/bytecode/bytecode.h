/*
 * The bytecode reader's own parts. bytecode_number.c; bytecode.c: sections, strings, dialects;
 * bytecode_attr.c: attributes, types and locations by index, each decoded when it is first asked
 * for; bytecode_builtin.c, bytecode_dialects.c: encodings of the dialects; bytecode_ir.c:
 * operations; vhlo.c: VHLO's operations as StableHLO's.
 */
#ifndef FRONTEND_STABLEHLO_BYTECODE_H
#define FRONTEND_STABLEHLO_BYTECODE_H

#include "frontend/stablehlo/syntax/mlir.h"

struct bc_cursor {
    const uint8_t *p, *end;
    bool bad; /* read past the end */
};

struct bc_entry { /* an attribute or a type */
    const uint8_t *p;
    size_t size;
    int dialect;
    bool custom, busy, done;
    const struct mlir_attr *attr;
    const struct mlir_type *type;
    const struct mlir_loc *loc; /* of a builtin location */
};

struct bc_op_name {
    int dialect;
    const char *name; /* with its dialect */
    bool registered;
};

enum { BC_SECTIONS = 9 };

struct bc_reader {
    struct arena *arena;
    struct diag *d;
    const char *file;
    const uint8_t *data;
    size_t size;
    uint64_t version;
    const char *producer;
    struct bc_cursor section[BC_SECTIONS];
    int string_count, dialect_count, op_name_count, attr_count, type_count, property_count;
    int resource_count;
    struct bc_string {
        const char *s;
        size_t size;
    } * strings;
    const char **dialects;
    struct bc_op_name *op_names;
    struct bc_entry *attrs, *types;
    struct bc_cursor *properties;
    struct bc_resource {
        const char *name;
        const uint8_t *p;
        size_t size;
    } * resources;
    int depth;
};

/* A message with the offset. Always false. */
bool bc_fail(struct bc_reader *r, const struct bc_cursor *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Numbers; a read past the end gives 0 and marks the cursor. */
uint8_t bc_byte(struct bc_cursor *c);
uint64_t bc_varint(struct bc_cursor *c);
int64_t bc_signed(struct bc_cursor *c);
/* A count of things that take at least one byte each: more than are left marks the cursor. */
int bc_count(struct bc_cursor *c);
const char *bc_string(struct bc_reader *r, struct bc_cursor *c, size_t *size); /* by index */
int64_t bc_apint(struct bc_cursor *c, int bits);
double bc_double(struct bc_cursor *c);

/* By index in the cursor, or by number. NULL after a failure. */
const struct mlir_attr *bc_attr(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_type(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_loc *bc_loc(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_attr *bc_attr_at(struct bc_reader *r, uint64_t k);

/* Pieces that dialects share. */
struct mlir_attr *bc_int_attr(struct bc_reader *r, int64_t v, int dtype);
struct mlir_attr *bc_enum(struct bc_reader *r, const char *name, const char *const *values,
                          int count, uint64_t v);
struct mlir_attr *bc_ints(struct bc_reader *r, struct bc_cursor *c); /* signed varints */
const struct mlir_attr *bc_type_attr(struct bc_reader *r, struct bc_cursor *c);
/* Attributes; of a dictionary with their names before them. */
const struct mlir_attr *bc_list(struct bc_reader *r, struct bc_cursor *c, bool dictionary);
struct mlir_type *bc_new_type(struct bc_reader *r, enum mlir_type_kind kind);
bool bc_types(struct bc_reader *r, struct bc_cursor *c, const struct mlir_type ***v, int *count);
const struct mlir_type *bc_listed(struct bc_reader *r, struct bc_cursor *c, enum mlir_type_kind kind); /* of types */
const struct mlir_type *bc_function(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_index(struct bc_reader *r);
const struct mlir_type *bc_unranked(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_shaped(struct bc_reader *r, struct bc_cursor *c, enum mlir_type_kind kind, bool encoded);
const struct mlir_type *bc_complex(struct bc_reader *r, const struct mlir_type *part);
/* Elements of a dense attribute: raw, one for all, or booleans as bits. */
const struct mlir_attr *bc_dense(struct bc_reader *r, struct bc_cursor *c,
                                 const struct mlir_type *t, const uint8_t *p, size_t n);
const struct mlir_attr *bc_elements(struct bc_reader *r, struct bc_cursor *c); /* type, bytes */
bool bc_blob(struct bc_cursor *c, const uint8_t **p, size_t *n); /* length, bytes */
const struct mlir_type *bc_quantized(struct bc_reader *r, struct bc_cursor *c, bool per_axis);

/* What a dialect's own encoding says. */
const struct mlir_attr *bc_builtin_attr(struct bc_reader *r, struct bc_cursor *c,
                                        const struct mlir_loc **loc);
const struct mlir_type *bc_builtin_type(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_attr *bc_stablehlo_attr(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_stablehlo_type(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_attr *bc_chlo_attr(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_quant_type(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_attr *bc_vhlo_attr(struct bc_reader *r, struct bc_cursor *c);
const struct mlir_type *bc_vhlo_type(struct bc_reader *r, struct bc_cursor *c);

/* The module in the IR section. */
struct mlir_op *bc_read_ir(struct bc_reader *r);
/* Names of the attributes that an operation's properties hold, in their order, "?" after optional
 * ones, "|" between what different versions have; NULL: none are known. */
const char *bc_property_names(const char *op);
/* Operations, types of functions and flat attributes of VHLO become those of StableHLO. */
bool vhlo_to_stablehlo(struct arena *a, struct mlir_op *top, struct diag *d);

#endif
