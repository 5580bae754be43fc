/*
 * Reading program text character by character. The first failure stays, with its line and column;
 * afterwards every function fails at once, so sequences are written with &&.
 */
#ifndef NEFF_ASM_LEX_H
#define NEFF_ASM_LEX_H

#include "neff/isa/program.h"

struct asm_lexer {
    struct arena *arena;  /* of strings */
    const char *text, *s; /* ends in 0 */
    const char *file;
    struct diag *d;
};

bool asm_bad(struct asm_lexer *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts the position in front of a failure that another parser left in d. */
bool asm_bad_here(struct asm_lexer *x);
void asm_skip(struct asm_lexer *x); /* blanks, lines and comments (# to the end of the line) */
bool asm_at_end(struct asm_lexer *x);
bool asm_try(struct asm_lexer *x, const char *token); /* punctuation, or a whole word */
bool asm_want(struct asm_lexer *x, const char *token);
bool asm_word(struct asm_lexer *x, char *out, size_t cap); /* letters, digits, _ */
bool asm_peek(struct asm_lexer *x, char c);
bool asm_i64(struct asm_lexer *x, int64_t *out);
bool asm_u64(struct asm_lexer *x, uint64_t *out);
bool asm_int(struct asm_lexer *x, int low, int high, const char *what, int *out);
/* Decimal, inf, or 0x: bits of a value of `bytes` bytes, returned in *bits with *is_bits set. */
bool asm_float(struct asm_lexer *x, double *out, uint64_t *bits, bool *is_bits);
bool asm_f32(struct asm_lexer *x, float *out);
bool asm_f64(struct asm_lexer *x, double *out);
bool asm_string(struct asm_lexer *x, struct str *out);
bool asm_text(struct asm_lexer *x, const char **out); /* a string without zero bytes */

#endif
