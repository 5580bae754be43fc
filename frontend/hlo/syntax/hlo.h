/*
 * An HLO module as read from text or from a proto.
 *
 * A module is a list of computations, callees before callers; a computation is a list of
 * instructions, operands before users. Everything lives in the arena given to the reader, nothing
 * points into the file. Strings end in NUL; names are interned: equal names are equal pointers.
 *
 * What is the same has one form, whatever it was read from: an attribute that equals its default is
 * absent, a row-major layout without tiles is NULL, `op-start` sugar is an async-start that calls a
 * computation, old comparison opcodes are compare. hlo_print (test/print) writes that form, and
 * reading what it wrote gives the same module.
 */
#ifndef FRONTEND_HLO_HLO_H
#define FRONTEND_HLO_HLO_H

#include "neff/base/arena.h"
#include "neff/base/diag.h"
#include "neff/core/dtype.h"

#include <stdint.h>
#include <stdio.h>

enum hlo_type {
    HLO_TYPE_INVALID,
#define HLO_TYPE(id, spelling, number, dtype) HLO_##id,
#include "frontend/hlo/syntax/hlo_types.def"
#undef HLO_TYPE
    HLO_TYPE_COUNT
};

enum hlo_opcode {
    HLO_OP_INVALID,
#define HLO_OP(id, spelling, operands, shape, required, optional) HLO_OP_##id,
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
    HLO_OP_COUNT
};

enum hlo_attr_id {
    HLO_ATTR_INVALID,
#define HLO_ATTR(id, spelling, kind, standard, set) HLO_ATTR_##id,
#include "frontend/hlo/syntax/hlo_attrs.def"
#undef HLO_ATTR
    HLO_ATTR_COUNT
};

enum hlo_enum_set {
    HLO_SET_NONE,
    HLO_SET_DIRECTION,
    HLO_SET_COMPARISON,
    HLO_SET_FUSION,
    HLO_SET_DISTRIBUTION,
    HLO_SET_RNG,
    HLO_SET_PRECISION,
    HLO_SET_DOT,
    HLO_SET_FFT,
    HLO_SET_TRANSPOSE,
    HLO_SET_PADDING,
    HLO_SET_SCHEDULE,
    HLO_SET_API,
    HLO_SET_CONVOLUTION,
    HLO_SET_GROUP_MODE,
    HLO_SET_ACCURACY,
};

enum { /* values of enumerated attributes, by set: HLO_DIRECTION_EQ, HLO_FFT_RFFT, ... */
#define HLO_ENUM(set, id, value, spelling) HLO_##set##_##id = value,
#include "frontend/hlo/syntax/hlo_enums.def"
#undef HLO_ENUM
};

/* What an attribute's value is; hlo_kinds.def says which member of hlo_attr holds it. */
enum hlo_attr_kind {
    HLO_KIND_NONE,
#define KIND(id, ...) HLO_KIND_##id,
#include "frontend/hlo/syntax/hlo_kinds.def"
    HLO_KIND_COUNT
};

struct hlo_ints {
    int count;
    int64_t *v;
};

struct hlo_lists {
    int count;
    struct hlo_ints *v;
};

struct hlo_text {
    const char *data; /* NUL after the last byte */
    size_t size;
    bool raw; /* a {...} value rather than a quoted string */
};

struct hlo_pairs { /* frontend_attributes */
    int count;
    struct hlo_pair {
        const char *key;
        struct hlo_text value;
    } * v;
};

/* ---- shapes ---- */

enum { HLO_MAX_RANK = 64 };
#define HLO_UNBOUNDED    (-1)      /* a dimension written `?` */
#define HLO_TILE_COMBINE INT64_MIN /* a tile dimension written `*` */

struct hlo_layout {
    int64_t *minor_to_major; /* rank entries, fastest dimension first */
    struct hlo_lists tiles;
    int level_count; /* sparse level types, "D" "C" "S" "H" and flags */
    struct hlo_level {
        char type;
        bool not_unique, not_ordered;
    } * levels;
    int64_t tail_alignment; /* 1 when unspecified */
    enum hlo_type index_type, pointer_type;
    int64_t element_bits, memory_space, metadata_bytes;
    int split_count;
    struct hlo_split {
        int64_t dimension;
        struct hlo_ints at;
    } * splits;
    const struct hlo_shape *physical; /* of a sparse array */
};

struct hlo_shape {
    enum hlo_type type;
    int rank;
    int64_t *dims;                   /* the bound of a dynamic dimension, or HLO_UNBOUNDED */
    bool *dynamic;                   /* per dimension; NULL when none is */
    const int64_t *bounds;           /* of unbounded dims, once bounded.c has made them so; NULL: none */
    const struct hlo_layout *layout; /* NULL: row-major and nothing else to say */
    int count;                       /* of a tuple; 1 for a buffer */
    const struct hlo_shape **elements;
};

/* ---- literals ---- */

/*
 * Values in row-major order whatever the layout says, as neff/core/dtype.h stores the element type
 * (one byte per element below 8 bits). `data` is NULL when the values were left out ("{...}").
 */
struct hlo_literal {
    const struct hlo_shape *shape;
    bool elided;
    size_t count; /* elements */
    void *data;
    const struct hlo_literal **elements; /* of a tuple, shape->count of them */
};

/* ---- typed attribute values ---- */

struct hlo_window {
    int rank;
    struct hlo_window_dim {
        int64_t size, stride, pad_low, pad_high, lhs_dilate, rhs_dilate;
        bool reversal;
    } * dims;
};

/* One of the three parts of dim_labels: where the two named dimensions and the spatial ones are. */
struct hlo_labels {
    int rank;          /* letters, '?' included */
    int first, second; /* batch and feature, or input and output feature; -1 when not there */
    int spatial_count;
    int *spatial;
};

struct hlo_dim_labels {
    struct hlo_labels input, kernel, output;
};

struct hlo_slices {
    int count;
    struct hlo_slice {
        int64_t start, limit, stride;
    } * v;
};

struct hlo_paddings {
    int count;
    struct hlo_padding {
        int64_t low, high, interior;
    } * v;
};

/* Devices in the order of iota(product of dims) reshaped to dims and transposed by perm. */
struct hlo_iota {
    struct hlo_ints dims, perm;
};

struct hlo_mesh {
    bool maximal; /* one device: device_ids has one entry */
    int axis_count;
    struct hlo_axis {
        const char *name;
        int64_t size;
    } * axes;
    struct hlo_ints device_ids; /* empty: iota, or all of them in order */
    struct hlo_iota iota;
};

struct hlo_axis_refs {
    int count;
    bool open; /* ends in `?`: further axes may be added */
    struct hlo_axis_ref {
        int axis;               /* index in the mesh */
        int64_t pre_size, size; /* of a sub-axis; 0, 0 for the whole axis */
    } * v;
};

enum hlo_group_form { HLO_GROUPS_LIST, HLO_GROUPS_IOTA, HLO_GROUPS_MESH };

struct hlo_groups {
    enum hlo_group_form form;
    struct hlo_lists lists;
    struct hlo_ints tile; /* iota form: number of groups, devices per group */
    struct hlo_iota iota;
    const struct hlo_mesh *mesh;
    struct hlo_axis_refs axes;
};

struct hlo_metadata {
    const char *op_type, *op_name, *source_file, *deduplicated_name, *scheduling_name; /* or NULL */
    struct hlo_text payload;
    int64_t source_line, source_end_line, source_column, source_end_column;
    int64_t stack_frame_id;
    int64_t code_bytes, working_set_bytes;
    struct hlo_ints profile_types;
};

struct hlo_accuracy {
    int mode; /* HLO_ACCURACY_* */
    double atol, rtol;
    int64_t ulps;
};

struct hlo_aliases {
    int count;
    struct hlo_alias {
        struct hlo_ints output; /* index into the result */
        int64_t parameter;      /* operand or parameter number */
        struct hlo_ints index;  /* index into it */
        bool must;
    } * v;
};

struct hlo_computations {
    int count;
    struct hlo_computation **v;
};

struct hlo_instructions {
    int count;
    struct hlo_instruction **v;
};

struct hlo_shapes {
    int count;
    const struct hlo_shape **v;
};

struct hlo_attr {
    enum hlo_attr_id id;
    union {
        int64_t i;
        double f;
        const struct hlo_ints *ints;
        const struct hlo_lists *lists;
        const struct hlo_text *text;
        const struct hlo_pairs *pairs;
        struct hlo_computation *computation;
        const struct hlo_computations *computations;
        const struct hlo_instructions *instructions;
        const struct hlo_shape *shape;
        const struct hlo_shapes *shapes;
        const struct hlo_literal *literal;
        const struct hlo_window *window;
        const struct hlo_dim_labels *dim_labels;
        const struct hlo_slices *slices;
        const struct hlo_paddings *paddings;
        const struct hlo_groups *groups;
        const struct hlo_accuracy *accuracy;
        const struct hlo_aliases *aliases;
        const struct hlo_metadata *metadata;
        const void *pointer; /* any of the above */
    };
};

/* ---- instructions, computations, modules ---- */

struct hlo_instruction {
    enum hlo_opcode opcode;
    int index; /* in its computation */
    int line;  /* of the text, 0 when read from a proto */
    int attr_count;
    int operand_count;
    const char *name;
    struct hlo_computation *parent;
    const struct hlo_shape *shape;
    struct hlo_instruction **operands;
    struct hlo_attr *attrs; /* sorted by id */
    union {
        int64_t parameter;                 /* number of a parameter */
        const struct hlo_literal *literal; /* value of a constant, never NULL */
    };
};

struct hlo_computation {
    const char *name;
    int index; /* in the module */
    int line;
    int count, capacity;
    struct hlo_instruction **instructions;
    struct hlo_instruction *root;
    int parameter_count;
    struct hlo_instruction **parameters; /* by number */
    const char *execution_thread;        /* NULL: the main one */
    /* What only StableHLO's regions have: operands that belong to computations around this one, and
     * instructions with effects, which are needed although the root does not use them. */
    struct hlo_instructions captures, effects;
    bool wrapper; /* made for `op-start` sugar */
};

struct hlo_stack_frames { /* ids count from 1; 0 is none */
    int file_count, function_count, location_count, frame_count;
    const char **files, **functions;
    struct hlo_location {
        int64_t file, function, line, end_line, column, end_column;
    } * locations;
    struct hlo_frame {
        int64_t location, parent;
    } * frames;
};

/* What a program calls an unbounded dim of a parameter. */
struct hlo_size_name {
    const struct hlo_instruction *parameter;
    int64_t dim;
    const char *name;
};

struct hlo_module {
    const char *name;
    struct arena *arena;
    int count, capacity;
    struct hlo_computation **computations;
    struct hlo_computation *entry;
    bool is_scheduled, passes_aliases;
    bool dynamic; /* unbounded dims are known while running: only StableHLO has them */
    struct hlo_size_name *size_names;
    int size_name_count, size_name_capacity;
    int64_t replica_count, num_partitions; /* 0 when not stated */
    struct hlo_shapes entry_parameters;    /* entry_computation_layout; count 0, result NULL */
    const struct hlo_shape *entry_result;  /* when not stated */
    struct hlo_aliases aliases;            /* input_output_alias */
    struct hlo_aliases donors;             /* buffer_donor: output unused */
    struct hlo_pairs frontend_attributes;
    struct hlo_ints propagate_to_parameters, propagate_to_output; /* allow_spmd_sharding_... */
    struct hlo_text recovery_table, debug_attributes;             /* data NULL when not there */
    struct hlo_stack_frames stack;
};

/* ---- facts about opcodes and attributes ---- */

struct hlo_arity {
    int count;
    bool or_more;
    bool any_type;        /* tuples and tokens too, not arrays only */
    const char *expected; /* unless NULL, two at a time from `count` on: what they are */
};

enum { HLO_ATTR_ONE = 0x80 }; /* added to an attribute that is a list of exactly one entry */

struct hlo_op_info {
    const char *name;
    struct hlo_arity operands;
    bool infers;                        /* the result's shape may be left out */
    const uint8_t *required, *optional; /* enum hlo_attr_id, ended by 0 */
};

struct hlo_attr_info {
    const char *name;
    enum hlo_attr_kind kind;
    enum hlo_enum_set set;
    int64_t standard; /* the default; HLO_ABSENT when there is none */
};
#define HLO_ABSENT INT64_MIN

const struct hlo_op_info *hlo_op_info(enum hlo_opcode op);
static inline const char *hlo_op_name(enum hlo_opcode op)
{
    return hlo_op_info(op)->name;
}
const struct hlo_attr_info *hlo_attr_info(enum hlo_attr_id id);
enum hlo_opcode hlo_op_find(const char *name, size_t size); /* HLO_OP_INVALID when unknown */
/* The attribute of that spelling which OP takes, or HLO_ATTR_INVALID; *known: some opcode takes it.
 */
enum hlo_attr_id hlo_attr_find(enum hlo_opcode op, const char *name, size_t size, bool *known);
bool hlo_op_admits(enum hlo_opcode op, enum hlo_attr_id id);
bool hlo_op_requires(enum hlo_opcode op, enum hlo_attr_id id);
bool hlo_enum_find(enum hlo_enum_set set, const char *name, size_t size, int64_t *value);
const char *hlo_enum_name(enum hlo_enum_set set, int64_t value); /* NULL when out of range */
enum hlo_type hlo_type_find(const char *name, size_t size);
enum hlo_type hlo_type_from_number(int64_t number);
const char *hlo_type_name(enum hlo_type t);
enum dtype hlo_type_dtype(enum hlo_type t); /* DT_NONE for tuple, opaque, token and buffer */

/* ---- reading an instruction ---- */

const struct hlo_attr *hlo_attr(const struct hlo_instruction *i, enum hlo_attr_id id); /* or NULL */
int64_t hlo_attr_int(const struct hlo_instruction *i, enum hlo_attr_id id); /* or its default */
struct hlo_ints hlo_attr_ints(const struct hlo_instruction *i, enum hlo_attr_id id); /* or empty */
struct hlo_computation *hlo_attr_computation(const struct hlo_instruction *i, enum hlo_attr_id id);
const char *hlo_attr_text(const struct hlo_instruction *i, enum hlo_attr_id id); /* or "" */

/* "file.py:12" or the op_name of the source, for messages; NULL when nothing is known. */
const char *hlo_source(const struct hlo_module *m, const struct hlo_instruction *i,
                       struct arena *a);

/* ---- shapes (shape.c) ---- */

bool hlo_is_array(const struct hlo_shape *s);
/* Number of elements; 0 bounds are legal. False when it does not fit in 63 bits or is unbounded. */
bool hlo_shape_count(const struct hlo_shape *s, int64_t *count);
/* Same types and dims, layouts aside; unbounded dims fit any. */
bool hlo_shape_compatible(const struct hlo_shape *a, const struct hlo_shape *b);
struct hlo_shape *hlo_shape_new(struct arena *a, enum hlo_type type, int rank, const int64_t *dims);
struct hlo_shape *hlo_shape_tuple(struct arena *a, int count,
                                  const struct hlo_shape *const *elements);
/* As written in text, for messages. */
/* As text; `layout`, or NULL, prints what follows each array's dims. */
void hlo_put_shape(FILE *f, const struct hlo_shape *s, void (*layout)(FILE *f, const struct hlo_shape *s));
const char *hlo_shape_text(struct arena *a, const struct hlo_shape *s);

/* ---- whole files (load.c) ---- */

enum hlo_format { HLO_TEXT, HLO_PROTO, HLO_SNAPSHOT, HLO_UNOPTIMIZED_SNAPSHOT };

struct hlo_file {
    struct arena arena;
    enum hlo_format format;
    int count; /* modules; more than one only in text */
    struct hlo_module **modules;
    int argument_count, result_count; /* of a snapshot */
    const struct hlo_literal **arguments, **results;
};

/*
 * Reads text, binary or text-format protos, bare or wrapped, plain or compressed; what it is
 * follows from the content. A message starts with the file, line and column. What is read is well
 * formed, as XLA's own reader understands it; hlo_verify says whether it also makes sense.
 */
bool hlo_load(struct hlo_file *f, const char *path, struct diag *d);
bool hlo_read(struct hlo_file *f, const char *name, const void *data, size_t size, struct diag *d);
void hlo_free(struct hlo_file *f);
/* Callees fit their callers, shapes follow from operands and attributes, aliases exist. */
bool hlo_verify(const struct hlo_module *m, struct diag *d);
/* Whether the content of a file looks like one of the above (or HLO text). Compressed files do: no
 * other reader takes them. */
bool hlo_detect(const void *data, size_t size);

/* ---- importing (lower_table.c; hlo_import is in frontend/import.h) ---- */

/* Every opcode and custom-call target that can be compiled, one name a line. */
void hlo_list_operators(FILE *out);

#endif
