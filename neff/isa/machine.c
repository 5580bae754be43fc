#include "neff/isa/machine.h"

#include <string.h>

const struct machine machines[] = {
#define MACHINE(name, ...) {#name, __VA_ARGS__},
#include "neff/isa/machine.def"
};
const int nmachines = sizeof machines / sizeof *machines;

static const struct timing timings[] = {
    {
#define TIMING(name, cpu, trn1, inf2, trn2, source) cpu,
#include "neff/isa/machine.def"
    },
    {
#define TIMING(name, cpu, trn1, inf2, trn2, source) trn1,
#include "neff/isa/machine.def"
    },
    {
#define TIMING(name, cpu, trn1, inf2, trn2, source) inf2,
#include "neff/isa/machine.def"
    },
    {
#define TIMING(name, cpu, trn1, inf2, trn2, source) trn2,
#include "neff/isa/machine.def"
    },
};
_Static_assert(sizeof timings / sizeof *timings == sizeof machines / sizeof *machines,
               "every machine has its column");

const struct timing_row timing_rows[] = {
#define TIMING(name, cpu, trn1, inf2, trn2, source) {#name, source, {cpu, trn1, inf2, trn2}},
#include "neff/isa/machine.def"
};
const int ntiming_rows = sizeof timing_rows / sizeof *timing_rows;

const struct timing *machine_timing(const struct machine *m)
{
    return &timings[m - machines];
}

const struct machine *machine_find(const char *name)
{
    for (int i = 0; i < nmachines; i++)
        if (!strcmp(machines[i].name, name))
            return &machines[i];
    return NULL;
}
