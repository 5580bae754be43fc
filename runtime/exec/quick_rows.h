/*
 * Instructions as operations of quick.h (quick_rows.c); what quick.c makes regions of.
 */
#ifndef RUNTIME_EXEC_QUICK_ROWS_H
#define RUNTIME_EXEC_QUICK_ROWS_H

#include "runtime/exec/quick.h"

enum {
    QUICK_ROWS = 4, /* of an instruction */
    QUICK_MAX = 2 * QUICK_ROWS /* operations that it becomes */
};

/* The operations in line[0..QUICK_MAX), how many; 0 where it is none on fixed rows. */
int quick_instruction(struct arena *a, const struct kernel_table *k, const struct bound_insn *i,
                      struct quick_line *line);
/* The instruction by its executor, or (NULL) the kernel's only instance. */
void quick_any(struct arena *a, const struct bound_kernel *k, const struct bound_insn *i,
               struct quick_line *line);
/* A copy of so many bytes. */
void quick_bytes(struct arena *a, struct quick_line *line, struct quick_place to,
                 struct quick_place from, size_t bytes);

#endif
