/*
 * The binary members of an archive: engine instruction streams, and the control stream with kernels
 * and calls.
 *
 * Members: pe.bin, act.bin, pool.bin, dve.bin (instructions of each kernel for that engine;
 * pool.bin also the operator calls) and sp.bin (names, kernel headers, DMA and structure, regions).
 * FORMAT.md describes them for strangers.
 */
#ifndef NEFF_STREAMS_H
#define NEFF_STREAMS_H

#include "neff/isa/program.h"

struct bytes {
    const uint8_t *data;
    size_t size;
};

enum { STREAM_VERSION = 1 };

/* All engines' streams of a program, in arena a. */
bool streams_encode(const struct program *p, struct arena *a, struct bytes out[ENGINE_COUNT],
                    struct diag *d);
/*
 * Fills kernels, calls and regions of a program whose dims, slots and nodes are set. Everything is
 * bounded and well formed afterwards as far as one field can tell; program_check does the rest.
 */
bool streams_decode(struct program *p, const struct bytes in[ENGINE_COUNT], struct diag *d);

/* Attributes in the same encoding (also used inside calls). */
struct codec;
void code_attrs(struct codec *c, struct attrs *as);
/* A tensor, data included; strings too. */
void code_tensor(struct codec *c, struct tensor *t);

#endif
