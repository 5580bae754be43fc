#include "neff/isa/machine.h"

#include <stdio.h>
#include <string.h>

const struct machine machines[] = {
#define MACHINE(name, strict, generation, ...)                                                     \
    {#name, strict, GENERATION_##generation, __VA_ARGS__},
#include "neff/isa/machine.def"
};
const int nmachines = sizeof machines / sizeof *machines;

static const struct timing timings[GENERATIONS] = {
    {
#define TIMING(name, cpu, v2, v3, source) cpu,
#include "neff/isa/machine.def"
    },
    {
#define TIMING(name, cpu, v2, v3, source) v2,
#include "neff/isa/machine.def"
    },
    {
#define TIMING(name, cpu, v2, v3, source) v3,
#include "neff/isa/machine.def"
    },
};

const struct timing_row timing_rows[] = {
#define TIMING(name, cpu, v2, v3, source) {#name, source, {cpu, v2, v3}},
#include "neff/isa/machine.def"
};
const int ntiming_rows = sizeof timing_rows / sizeof *timing_rows;

const struct timing *machine_timing(const struct machine *m)
{
    return &timings[m->generation];
}

const struct machine *machine_find(const char *name)
{
    for (int i = 0; i < nmachines; i++)
        if (!strcmp(machines[i].name, name))
            return &machines[i];
    return NULL;
}

const char *machine_names(char text[static MACHINE_NAMES_SIZE])
{
    size_t n = 0;
    for (int i = 0; i < nmachines && n < MACHINE_NAMES_SIZE; i++)
        n += (size_t)snprintf(text + n, MACHINE_NAMES_SIZE - n, "%s%s",
                              i == 0               ? ""
                              : i == nmachines - 1 ? " or "
                                                   : ", ",
                              machines[i].name);
    return text;
}
