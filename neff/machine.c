#include "neff/machine.h"

#include <string.h>

const struct machine machines[] = {
#define MACHINE(name, ...) {#name, __VA_ARGS__},
#include "neff/machine.def"
};
const int nmachines = sizeof machines / sizeof *machines;

const struct machine *machine_find(const char *name)
{
    for (int i = 0; i < nmachines; i++)
        if (!strcmp(machines[i].name, name))
            return &machines[i];
    return NULL;
}
