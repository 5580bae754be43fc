/*
 * What an instruction costs: one estimate for the scheduler, reports and the simulator.
 *
 * Strict targets: the published estimates of the NKI instruction set, in cycles of the engine.
 * `cpu`: elements over the width of a vector unit, products over its multiply-add rate. Dims are
 * evaluated with `values` (dim_eval_all); an expression without a value counts as 1.
 */
#ifndef NEFF_COST_H
#define NEFF_COST_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

/* Nanoseconds of one execution of the instruction on its engine, edges not clipped. */
double insn_ns(const struct machine *m, const struct insn *n, const int64_t *values);
/* Nanoseconds that all DMA engines of a strict machine move the bytes of a transfer, in long pieces. */
double transfer_ns(const struct machine *m, const struct insn *n, const int64_t *values);
/* The same in pieces as long as both operands have them; short ones cost more. */
double transfer_in_pieces_ns(const struct machine *m, const struct insn *n, const int64_t *values);
/* Nanoseconds of a DMA engine for a contiguous piece of a transfer: short ones take dma_piece_ns. */
double piece_ns(const struct timing *t, double bytes);
/* Nanoseconds each engine is busy with the whole grid of a kernel; added to `busy`. */
void kernel_busy_ns(const struct machine *m, const struct kernel *k, const int64_t *values,
                    double busy[ENGINE_COUNT]);
double engine_ghz(const struct machine *m, int engine);
/* Elements a pattern covers, edges not clipped. */
int64_t ap_count(const struct ap *a, const int64_t *values);

/* Useful arithmetic of a call: 2 * m * n * k of products and convolutions, one per result element
 * of the others. */
double call_flops(const struct program *p, const struct call *c, const int64_t *values);
/* Of a call: of all operands and results. */
double call_bytes(const struct program *p, const struct call *c, const int64_t *values);

/* Values of all expressions for given symbols ("batch=4"); symbols not named get `otherwise`,
 * run-time ones none. */
struct symbol_binding {
    const char *name;
    int64_t value;
};
int64_t *bind_symbols_for_report(const struct program *p, const struct symbol_binding *b, int n,
                                 int64_t otherwise, struct arena *a, struct diag *d);
/* Bytes of each slot; -1 where they are not known before running. */
int64_t *slot_sizes(const struct program *p, const int64_t *values, struct arena *a);

#endif
