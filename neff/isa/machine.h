/*
 * The machines that programs are compiled for.
 */
#ifndef NEFF_MACHINE_H
#define NEFF_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum machine_id {
#define MACHINE(name, ...) MACHINE_##name,
#include "neff/isa/machine.def"
};

/* What a machine's time is told by: a column of TIMING. */
enum generation { GENERATION_cpu, GENERATION_v2, GENERATION_v3, GENERATIONS };

struct machine { /* columns: machine.def */
    const char *name;
    bool strict;
    enum generation generation;
    int32_t partitions, sbuf, psum, psum_bank, matmul_k, matmul_m, matmul_n;
    double pe_ghz, dve_ghz, act_ghz, pool_ghz, hbm_gbps;
    const char *doc;
};

/* Constants of the simulator, by name: the rows TIMING of machine.def. */
struct timing {
#define TIMING(name, ...) double name;
#include "neff/isa/machine.def"
};
struct timing_row {
    const char *name, *source;
    double value[GENERATIONS];
};
extern const struct timing_row timing_rows[];
extern const int ntiming_rows;

extern const struct machine machines[];
extern const int nmachines;
/* The machine's bit in insn_info.targets. */
static inline uint32_t machine_bit(const struct machine *m)
{
    return UINT32_C(1) << (m - machines);
}
const struct machine *machine_find(const char *name); /* NULL when unknown */
#define MACHINE_NAMES_SIZE 64
/* All names, for messages: "cpu, trn1 or ..." */
const char *machine_names(char text[static MACHINE_NAMES_SIZE]);
const struct timing *machine_timing(const struct machine *m);

#endif
