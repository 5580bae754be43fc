/* Texts of C as tokens, for rename.c. */
#ifndef FRONTEND_STANDALONE_TOKENS_H
#define FRONTEND_STANDALONE_TOKENS_H

#include "neff/base/arena.h"

#include <stdbool.h>

enum token_kind { TOKEN_SPACE, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN, TOKEN_MARK };
/* Where a token stands. `##` and `->` are one sign each. */
enum token_place {
    IN_CODE,
    IN_DEFINE,    /* behind the name of a macro that is defined */
    IN_DEFINED,   /* that name */
    IN_DIRECTIVE, /* of another directive */
};

struct token {
    enum token_kind kind;
    enum token_place place;
    const char *s;
    int n;
    bool first; /* of a line */
    bool table; /* of a table's rows (rename.h) */
};

struct tokens {
    int count, cap;
    struct token *list;
};

struct tokens *tokens_read(const char *text, struct arena *a);
bool token_is(const struct token *t, const char *text);
/* The next token that is no space, of the same directive or of code; the count where there is none. */
int token_next(const struct tokens *t, int i);
int token_before(const struct tokens *t, int i); /* -1: none */
/* i is a bracket that opens: the one that closes it. */
int token_closing(const struct tokens *t, int i);

#endif
