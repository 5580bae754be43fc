/*
 * The text parser's own parts. parse.c: modules; parse_instruction.c,
 * parse_async.c; parse_shape.c; parse_literal.c; parse_attr.c; parse_list.c; parse_groups.c;
 * parse_token.c. Every function returns false (or NULL) after putting a message with file, line and
 * column into the diag.
 */
#ifndef FRONTEND_HLO_PARSE_H
#define FRONTEND_HLO_PARSE_H

#include "frontend/hlo/syntax/lex.h"
#include "frontend/hlo/syntax/names.h"

enum { HLO_MAX_NESTING = 250 }; /* of shapes, literals, operands and inline computations */

struct parser {
    struct lex lex;
    struct arena *arena; /* of the module */
    struct arena scratch;
    struct diag *d;
    const char *file;
    struct hlo_module *module;
    struct hlo_names names;
    const char *line_start; /* a line start at or before the token, and its number */
    int line;
    int depth;
    bool single; /* one instruction without a module: unknown operands become parameters */
    uint32_t scopes, scope; /* scopes made so far; the one being filled */
    struct hlo_computation *computation;
    const char *instruction; /* being parsed, for messages; NULL outside */
    size_t instruction_size;
    int64_t *ints; /* stack of list elements */
    int int_count, int_capacity;
    void **pointers; /* stack of operands, shapes, ... */
    int pointer_count, pointer_capacity;
};

/* One module from text. Lines are counted from `first_line`. */
struct hlo_module *hlo_parse(struct arena *a, const char *file, const char *text, size_t size,
                             int first_line, struct diag *d);

/* Messages. Always false. */
bool parse_fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool parse_fail_at(struct parser *p, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_expected(struct parser *p, const char *what); /* "expected WHAT, found 'token'" */
int parse_line(struct parser *p, const char *at);

/* Small pieces. */
bool eat(struct parser *p, char punct);
bool eat_if(struct parser *p, char punct);
/* Whether item `k` of a list that ends with `close` follows: for (int k = 0; parse_more(p, '}', k); k++). */
bool parse_more(struct parser *p, char close, int k);
/* One whole number or more with commas between them, each by push_int. */
bool push_some_ints(struct parser *p);
bool eat_kind(struct parser *p, enum token kind, const char *what);
bool enter(struct parser *p);                     /* one level deeper; pair with p->depth-- */
bool token_int(struct parser *p, int64_t *value); /* takes an int token */
bool token_is_name(const struct parser *p);
const char *token_intern(struct parser *p); /* text of the token, interned */
void push_int(struct parser *p, int64_t v);
struct hlo_ints pop_ints(struct parser *p, int from); /* those pushed since int_count was `from` */
void push_pointer(struct parser *p, const void *v);
void *pop_pointers(struct parser *p, int from, int *count);

/* Instructions. */
struct attr_list {
    int count;
    struct hlo_attr v[HLO_ATTR_COUNT];
};

struct hlo_instruction *new_instruction(struct parser *p, enum hlo_opcode op);
void set_attrs(struct parser *p, struct hlo_instruction *i, const struct attr_list *list);
bool parse_instruction(struct parser *p, struct hlo_computation *c);
/* What follows the shape. `name` NULL: nested in an operand list, without attributes. */
bool parse_rhs(struct parser *p, const char *name, const struct hlo_shape *shape, const char *at,
               struct hlo_instruction **out);
/* The rest of a short async form of `wrapped`; takes its attributes from the list. */
bool parse_async(struct parser *p, struct hlo_instruction *i, enum hlo_opcode wrapped,
                 struct attr_list *list, const char *at);

bool parse_body(struct parser *p, const char *name, struct hlo_computation **out);
bool can_shape(const struct parser *p);
bool parse_shape(struct parser *p, const struct hlo_shape **out);
bool parse_shape_list(struct parser *p, char open, char close, struct hlo_shapes *out);
bool parse_literal(struct parser *p, const struct hlo_shape *s, const struct hlo_literal **out);
bool parse_typed_literal(struct parser *p, const struct hlo_literal **out);
bool parse_string(struct parser *p, struct hlo_text *out);
bool parse_raw(struct parser *p, struct hlo_text *out);
/* Quoted or in braces; quotes around braces make no difference. */
bool parse_config(struct parser *p, struct hlo_text *out);
bool parse_bool(struct parser *p, int64_t *out);
bool parse_bools(struct parser *p, struct hlo_ints *out);
bool parse_int_list(struct parser *p, char open, char close, struct hlo_ints *out);
bool parse_ints(struct parser *p, struct hlo_ints *out);   /* {1,2} */
bool parse_lists(struct parser *p, struct hlo_lists *out); /* {{0,1},{2}} */
bool parse_pairs(struct parser *p, struct hlo_pairs *out);
bool parse_aliases(struct parser *p, bool kinds, struct hlo_aliases *out);
bool parse_donors(struct parser *p, struct hlo_aliases *out);
bool parse_metadata(struct parser *p, const struct hlo_metadata **out);
bool parse_groups(struct parser *p, const struct hlo_groups **out);
/* The attribute whose name is the current token. Fills id and value. */
bool parse_attr_value(struct parser *p, struct hlo_attr *a);

#endif
