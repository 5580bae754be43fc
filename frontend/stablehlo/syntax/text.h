/*
 * The text reader's own parts. text.c: characters, names, values; text_module.c; text_type.c;
 * text_attr.c; text_dense.c; text_op.c: modules, functions, generic operations; text_pretty.c, text_sdy.c:
 * operations with a spelling of their own. Every function returns false (or NULL) after putting a
 * message with file, line and column into the diag.
 */
#ifndef FRONTEND_STABLEHLO_TEXT_H
#define FRONTEND_STABLEHLO_TEXT_H

#include "frontend/stablehlo/syntax/mlir.h"

struct text_def { /* a name for one or more values */
    const char *name;
    size_t size;
    int count;
    struct mlir_value **values;
    int next; /* older definition in the same bucket; -1 */
};

struct text_alias { /* `#name = ...` or `!name = ...` */
    const char *name, *at;
    size_t size;
    int next;
    bool busy;
    const struct mlir_attr *attr;
    const struct mlir_type *type;
    const struct mlir_loc *loc;
};

struct text_resource {
    const char *name, *hex;
    size_t size, digits;
};

enum { TEXT_BUCKETS = 4096 };

struct text {
    struct arena *arena;
    struct diag *d;
    const char *file, *start, *end, *p;
    const char *line_at; /* line `line` is known to be the line of this place */
    int line, depth;
    struct text_def *defs;
    int def_count, def_capacity, floor; /* definitions below `floor` are out of sight */
    int buckets[TEXT_BUCKETS];
    struct text_alias *aliases;
    int alias_count, alias_capacity;
    int alias_buckets[TEXT_BUCKETS];
    struct text_resource *resources;
    int resource_count, resource_capacity;
};

/* Messages. Always false. */
bool text_fail(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool text_fail_at(struct text *t, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool text_expected(struct text *t, const char *what);
int text_line(struct text *t, const char *at);
bool text_enter(struct text *t); /* one level deeper; pair with t->depth-- */

bool text_is_start(char c); /* of a name */
bool text_is_part(char c);
uint32_t text_hash(const char *s, size_t n);

/* Characters. All skip space and comments first. */
char text_peek(struct text *t);
bool text_eat(struct text *t, const char *punctuation); /* takes it when it is next */
bool text_need(struct text *t, const char *punctuation);
bool text_word(struct text *t, const char *word); /* takes a whole word when it is next */
bool text_need_word(struct text *t, const char *word);
/* [A-Za-z_][A-Za-z0-9_$.]* in the arena; NULL when none is next. */
const char *text_ident(struct text *t);
const char *text_ident_needed(struct text *t, const char *what);
const char *text_string(struct text *t, size_t *size); /* NULL and a message when none is next */
bool text_int(struct text *t, int64_t *v);
/* Skips `open` ... `close` with everything balanced inside; the text between in *from, *to. */
bool text_balanced(struct text *t, const char **from, const char **to);

/* Values. */
bool text_define(struct text *t, const char *name, size_t size, struct mlir_value **v, int count);
void text_leave(struct text *t, int def_count); /* forgets newer definitions */
bool text_value_name(struct text *t, const char **name, size_t *size); /* %name */
struct mlir_value *text_use(struct text *t);                           /* %name or %name#1 */

/* Types, attributes, locations. */
const struct mlir_type *text_type(struct text *t);
/* T, or (T, T): into a growing list. */
bool text_types(struct text *t, const struct mlir_type ***v, int *count, bool parenthesised);
const struct mlir_attr *text_attr(struct text *t);
const struct mlir_attr *text_dense(struct text *t); /* after `dense` */
/* `<key = value, ...>` */
const struct mlir_attr *text_struct(struct text *t, const char *dialect, const char *name);
/* `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]` */
const struct mlir_attr *text_conv_dims(struct text *t);
bool text_dict(struct text *t, struct mlir_dict *d);          /* `{key = value, ...}` */
bool text_dict_optional(struct text *t, struct mlir_dict *d); /* if `{` is next */
const struct mlir_loc *text_loc(struct text *t);              /* after `loc`: `( ... )` */
bool text_loc_optional(struct text *t, const struct mlir_loc **l);
const struct mlir_attr *text_ints(struct text *t); /* `[1, 2]` as array<i64> */
struct text_alias *text_alias(struct text *t, char sigil, const char *name, size_t size);

/* Operations. */
struct mlir_op *text_op(struct text *t, struct mlir_block *b);
/* `{ ... }` as a region's only block; its arguments, if given, are defined already. */
bool text_region(struct text *t, struct mlir_op *op, int region, struct mlir_block *args);
/* The rest of an operation whose name has been read and that is not generic. */
bool text_pretty(struct text *t, struct mlir_op *op, int named_results);
/* `: types` of an operation: makes the results. */
bool text_results(struct text *t, struct mlir_op *op, const struct mlir_type **types, int count);
bool text_function_type(struct text *t, struct mlir_op *op);
bool text_operand_list(struct text *t, struct mlir_op *op); /* after `(` */
void text_push_operand(struct text *t, struct mlir_op *op, struct mlir_value *v);

/* Operations of Shardy with forms of their own; what they say of devices is not looked into. */
bool text_sdy_mesh(struct text *t, struct mlir_op *op);
bool text_sdy_computation(struct text *t, struct mlir_op *op);
bool text_sdy_clauses(struct text *t); /* `key=value key=value` */

#endif
