/*
 * Tokens of HLO text. The lexer is a value: copying it is how the parser looks ahead.
 * It does not allocate; token text is a range of the input.
 */
#ifndef FRONTEND_HLO_LEX_H
#define FRONTEND_HLO_LEX_H

#include "frontend/hlo/syntax/hlo.h"

enum token {
    TOK_END,
    TOK_ERROR,      /* message in lex.error */
    TOK_IDENT,      /* bare word; one that spells an element type: lex.type */
    TOK_NAME,       /* %word or word: (text without sigil and colon) */
    TOK_ATTR,       /* word= (text without the equal sign) */
    TOK_TYPE,       /* element type before a '[', lex.type; elsewhere it may be a name */
    TOK_KEYWORD,    /* reserved word */
    TOK_INT,        /* lex.integer, lex.negative, lex.wide */
    TOK_FLOAT,      /* decimal number or inf, nan; lex.number is set for inf and nan only */
    TOK_NAN,        /* lex.negative, lex.has_payload, lex.integer */
    TOK_INF,        /* lex.negative */
    TOK_DXD,        /* 3x3 */
    TOK_PAD,        /* 0_1x2_3_4 */
    TOK_DIM_LABELS, /* b01f_01io->b01f */
    TOK_STRING,     /* text with the quotes and escapes */
    TOK_ARROW,      /* -> */
    TOK_LE,         /* <= */
    TOK_DOTS,       /* ... */
    TOK_QUESTION,   /* ? */
    TOK_PUNCT,      /* lex.punct */
};

struct lex {
    const char *begin, *end; /* of the input */
    const char *at;          /* after the token */
    const char *start;       /* of the token */
    const char *text;        /* what names it */
    size_t size;
    enum token kind;
    char punct;
    enum hlo_type type;
    uint64_t integer; /* magnitude */
    bool negative;
    bool wide; /* the magnitude does not fit in 64 bits */
    bool has_payload;
    const char *error;
};

void lex_start(struct lex *l, const char *text, size_t size);
void lex_next(struct lex *l);
/* The current token is '{': takes the text up to the matching '}', strings respected. */
bool lex_raw(struct lex *l, const char **text, size_t *size);
/* Whether all of the text is one {...} value, so that it can be written without quotes. */
bool lex_is_raw(const char *text, size_t size);
/* Skips an attribute value of unknown form: up to a ',' or line end outside of brackets. */
bool lex_skip_value(struct lex *l);
/* Bytes that the escapes of a string token stand for; `out` has room for l->size. False: bad
 * escape. */
bool lex_unescape(const struct lex *l, char *out, size_t *size);

static inline bool lex_is(const struct lex *l, char punct)
{
    return l->kind == TOK_PUNCT && l->punct == punct;
}
bool lex_word(const struct lex *l, const char *word); /* identifier or keyword spelled so */

#endif
