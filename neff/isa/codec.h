/*
 * One description of a byte format that both writes and reads it: every code_* function appends its
 * argument when the codec writes and fills it when the codec reads. Numbers are LEB128 (signed ones
 * zigzag), floats little endian.
 *
 * Reading never trusts: counts are limited by the bytes left, text is checked for its end, and
 * after the first failure everything reads as zero, so callers test `failed` where it matters, not
 * after every field.
 */
#ifndef NEFF_CODEC_H
#define NEFF_CODEC_H

#include "neff/base/arena.h"
#include "neff/base/diag.h"

#include <stdint.h>

struct codec {
    bool writing, failed;
    const char *what;    /* name of the stream, for messages */
    uint8_t *out;        /* writing: in the arena */
    const uint8_t *in;   /* reading */
    size_t at, size;     /* position; end (reading) or capacity (writing) */
    struct arena *arena; /* of what is read, and of the bytes written */
    struct diag *d;
};

struct codec codec_writer(const char *what, struct arena *a, struct diag *d);
struct codec codec_reader(const char *what, const uint8_t *data, size_t size, struct arena *a,
                          struct diag *d);

bool codec_fail(struct codec *c, const char *problem); /* marks the failure; false */

void code_u64(struct codec *c, uint64_t *v);
void code_i64(struct codec *c, int64_t *v);
void code_u8(struct codec *c, uint8_t *v);
void code_u16(struct codec *c, uint16_t *v); /* fails when the stream holds more than fits */
void code_i16(struct codec *c, int16_t *v);
void code_i32(struct codec *c, int32_t *v);
void code_int(struct codec *c, int *v);
void code_bool(struct codec *c, bool *v);
void code_f32(struct codec *c, float *v);
void code_f64(struct codec *c, double *v);
void code_text(struct codec *c, const char **s);               /* NULL is kept */
void code_blob(struct codec *c, const void **data, size_t *n); /* read: borrowed from the input */
/* A count of items of at least `unit` bytes each in the stream; a failure leaves 0. */
void code_count(struct codec *c, int *n, size_t unit);
/* As code_int, refusing values outside [low, high]. */
void code_ranged(struct codec *c, int *v, int low, int high, const char *name);

#endif
