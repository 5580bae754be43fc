/*
 * Programs as text: what `xcc --emit asm` and `xdump --asm` print, and what tests are written in.
 *
 * Printing and parsing are inverse: parse(print(p)) prints the same text and encodes to the same
 * streams. The one thing left out is the data of constants with more than ASM_INLINE elements,
 * written `...`: parsed back, such a constant has dims and no data. FORMAT.md, "Assembly", has the
 * grammar.
 */
#ifndef NEFF_ASM_H
#define NEFF_ASM_H

#include "neff/isa/program.h"

#include <stdio.h>

enum { ASM_INLINE = 64 };

/* False when writing failed. */
bool program_print(const struct program *p, FILE *out);
/* With the data of all constants but complex ones. */
bool program_print_whole(const struct program *p, FILE *out);
void kernel_print(const struct program *p, const struct kernel *k, int index, FILE *out);
void insn_print(const struct program *p, const struct kernel *k, const struct insn *n, FILE *out);

/* A program that has passed program_check, or NULL with "FILE:LINE:COLUMN: what" in d. `text` need
 * not end in 0. */
struct program *program_parse(const char *text, size_t n, const char *file, struct diag *d);
/* The same of text that holds programs one after the other, a library of kernels: the one at *at,
 * which moves behind it, to n after the last. */
struct program *program_parse_next(const char *text, size_t n, size_t *at, const char *file,
                                   struct diag *d);

/* Names of kinds of slots in text, by enum slot_kind. */
extern const char *const slot_kind_names[];
extern const char *const memory_names[]; /* by enum memory: "", "%", "sbuf", "psum" */

#endif
