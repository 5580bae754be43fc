/*
 * A kernel in numbers: dims evaluated, one stream per engine, what of an instruction's cost does
 * not change with the variables. What the event loop works on.
 */
#ifndef RUNTIME_SIM_NUMBERS_H
#define RUNTIME_SIM_NUMBERS_H

#include "runtime/sim/sim.h"

struct number_term {
    int32_t var;
    int64_t coef;
};
struct sim_number { /* base + sum of coef * variable */
    int64_t base;
    int32_t nterms;
    const struct number_term *terms;
};
static inline int64_t number_at(const struct sim_number *n, const int64_t *vars)
{
    int64_t v = n->base;
    for (int i = 0; i < n->nterms; i++)
        v += n->terms[i].coef * vars[n->terms[i].var];
    return v;
}

struct number_dim {
    int64_t step, count;
    int64_t factor, limit; /* of the clip */
    int32_t var;           /* -1: no clip */
};
struct number_ap {
    uint8_t mem, dtype, rank, size; /* size: bytes of an element */
    char access;                    /* 'r', 'w', 'u' */
    bool reads, writes;             /* what it does in this instruction, accumulation considered */
    bool clipped;
    bool rewritten;      /* HBM that the kernel writes */
    int32_t tensor;      /* HBM: the slot that owns the memory */
    int32_t use;         /* HBM: of the kernel's uses */
    int64_t slot_offset; /* HBM: bytes from that slot's start */
    int64_t row;         /* tiles: elements of a partition */
    struct sim_number offset;
    struct number_dim dim[MAX_AP_RANK];
};
static inline int64_t ap_dim_count(const struct number_dim *d, const int64_t *vars)
{
    int64_t n = d->count;
    if (d->var >= 0) {
        int64_t left = d->limit - vars[d->var] * d->factor;
        n = left < n ? left : n;
    }
    return n < 0 ? 0 : n;
}

/* What one execution asks of the machine. */
struct demand {
    int64_t ps;            /* of the engine */
    double matmul, array;  /* FLOPs of products; of the Tensor engine, transposes included */
    int64_t read, written; /* HBM bytes */
    /* transfers */
    int64_t bytes, runs, run_ps; /* contiguous pieces, and what one costs a DMA engine */
};

struct number_insn {
    uint8_t op, engine;
    bool dma, sbuf, psum; /* a transfer; which memories it touches */
    bool varies;          /* its work changes with the variables */
    uint8_t nwaits, naps;
    int16_t signal[2];
    int32_t node, part; /* part: of the kernel's */
    struct number_wait {
        int32_t semaphore;
        struct sim_number value;
    } * waits;
    struct number_ap *ap;
    struct demand work; /* unless it varies */
    int32_t access, naccesses; /* of the kernel's accesses */
    const struct insn *source;
};

/* One engine's stream: instructions, and loops that hold some. */
enum stream_kind { STREAM_INSN, STREAM_LOOP, STREAM_END };
struct stream_item {
    uint8_t kind;
    int32_t insn;  /* of the kernel */
    int32_t other; /* loop: its end's index in the stream; end: the loop's */
    int32_t var;
    struct sim_number count;
};
struct insn_stream {
    int n;
    struct stream_item *items;
};

/* A slot that a kernel's instructions touch. */
struct number_use {
    int32_t slot;
    bool reads, writes;
};

/* An operand in HBM that is not constant. */
struct number_access {
    const struct number_ap *ap;
    bool in_loop;  /* it may be executed several times */
    bool anywhere; /* in the slot */
};

struct number_kernel {
    const struct kernel *k;
    int32_t index;
    int ngrid;
    int64_t grid[MAX_GRID], instances;
    int ninsns;
    struct number_insn *insns;
    struct insn_stream streams[ENGINE_COUNT];
    bool queues[ENGINE_COUNT]; /* engines that start transfers */
    int64_t *tile_bytes; /* of a partition, per tile */
    int64_t sbuf, psum;  /* bytes of a partition that an instance takes */
    int nparts;
    int32_t *part_nodes; /* source nodes of its instructions, by number, -1: none; of those of one name the first */
    int nuses;
    struct number_use *uses;
    int naccesses;
    struct number_access *accesses;
};

/* In arena a. Fails when a dim has no value, or is out of all bounds. */
bool number_kernel(const struct sim *s, int kernel, struct number_kernel *out, struct arena *a,
                   struct diag *d);

/* ---- cost.c ---- */

/* ps, 20 hours: work of one instruction is at most that, and a simulation ends with more in all, so that sums fit. */
#define SIM_LONGEST (INT64_C(1) << 56)

/* The work of one execution, with the variables' values. */
struct demand insn_work(const struct machine *m, const struct number_insn *n, const int64_t *vars);
int64_t cycles_ps(double cycles, double ghz);
/* Of work whose numbers a file makes up; SIM_LONGEST when it is longer, or not a number. */
int64_t rounded_ps(double ps);
double peak_flops(const struct machine *m); /* of 16-bit products, per second */

#endif
