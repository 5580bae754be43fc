/*
 * Fills: the contents of a tensor as a rule, so that a model's weights never lie in memory at once.
 *
 * Every tensor draws from a generator of its own, seeded by model and name: adding, removing or
 * reordering other tensors does not change it. Only integer arithmetic, exactly rounded products
 * and sums are used (no libm), so the bytes are the same on every machine.
 */
#ifndef MODELS_FILL_H
#define MODELS_FILL_H

#include <stddef.h>
#include <stdint.h>

/*   kind     element  meaning of a and b */
#define FILL_KINDS(X)                                                                              \
    X(NORMAL, FLOAT)  /* mean a, standard deviation b; sum of four uniforms, within b * 3.47 */    \
    X(CENTRED, FLOAT) /* deviation b, less the fraction a of the mean of each row of the tensor */ \
    X(UNIFORM, FLOAT) /* between a and b */                                                        \
    X(TOKENS, INT64)  /* integers from 0 to a - 1 */                                               \
    X(RANGE, INT64)   /* 0, 1, 2, ... */                                                           \
    X(SAME, INT64)    /* a everywhere */                                                           \
    X(CAUSAL, BOOL)   /* square matrix of a columns: true on and below the diagonal */             \
    X(IMAGE, FLOAT)   /* a x a pixels per plane, normalised as photographs are; see fill.c */

enum fill_kind {
#define X(kind, element) FILL_##kind,
    FILL_KINDS(X)
#undef X
};

struct fill {
    enum fill_kind kind;
    float a, b;
    int row; /* CENTRED: elements in a row, at most FILL_ROW_MAX */
};
#define FILL(kind, a, b) ((struct fill){FILL_##kind, (a), (b), 0})
enum { FILL_ROW_MAX = 8192 };

int fill_element_type(enum fill_kind kind); /* an ONNX TensorProto.DataType */
size_t fill_element_size(enum fill_kind kind);

struct fill_random {
    uint64_t state;
};
struct fill_random random_from_name(const char *seed, const char *tensor);
uint64_t random_bits(struct fill_random *r);
float random_unit(struct fill_random *r);   /* uniform, 0 <= x < 1, multiples of 2^-24 */
float random_normal(struct fill_random *r); /* mean 0, variance 1 */

/* Where a tensor stands while it is written piece by piece. */
struct filler {
    struct fill fill;
    struct fill_random random;
    int64_t next; /* index of the next element */
    union {
        float octave[3][2][16][16]; /* IMAGE: grids of the channels */
        float row[FILL_ROW_MAX];    /* CENTRED: the current row */
    } u;
};
void filler_start(struct filler *s, struct fill fill, const char *seed, const char *tensor);
/* Writes the next `count` elements in little-endian order. */
void filler_take(struct filler *s, void *out, size_t count);

#endif
