/* The table of properties. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

static const struct {
    const char *op, *names;
} rows[] = {
#define PROPERTIES(op, names) {op, names},
#include "frontend/stablehlo/bytecode/properties.def"
};

const char *bc_property_names(const char *op)
{
    size_t low = 0, high = sizeof rows / sizeof *rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(op, rows[middle].op);
        if (!order)
            return rows[middle].names;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
