/*
 * Copies of many short rows: a call of memcpy for each would take longer than the row.
 */
#ifndef RUNTIME_EXEC_SHORT_ROWS_H
#define RUNTIME_EXEC_SHORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { SHORT_ROW_BYTES = 128 };

/* Rows of 1 to SHORT_ROW_BYTES bytes; steps in bytes. A row may lie on itself, not on others. */
void copy_short_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows, size_t bytes);

#endif
