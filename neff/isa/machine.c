#include "neff/isa/machine.h"

#include <string.h>

const struct machine machines[] = {
#define MACHINE(name, ...) {#name, __VA_ARGS__},
#include "neff/isa/machine.def"
};
const int nmachines = sizeof machines / sizeof *machines;

const struct machine *machine_find(const char *name)
{
    for (int i = 0; i < nmachines; i++)
        if (!strcmp(machines[i].name, name))
            return &machines[i];
    return NULL;
}
