/*
 * Many short rows: a call of memcpy for each would take longer than the row.
 */
#ifndef RUNTIME_OPS_SHORT_ROWS_H
#define RUNTIME_OPS_SHORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { SHORT_ROW_BYTES = 128, SHORT_FILL_BYTES = 1024 };

/* Rows of 1 to SHORT_ROW_BYTES bytes; steps in bytes. A row may lie on itself, not on others. */
void copy_short_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows, size_t bytes);
/* Rows of one element each, of 1, 2, 4 or 8 bytes; for up to SHORT_FILL_BYTES as fast as the kernel for long ones. */
void fill_short_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows, size_t bytes, size_t size);
/* The first `bytes` of y again and again, up to `all` bytes. */
void repeat_block(char *y, size_t bytes, size_t all);

#endif
