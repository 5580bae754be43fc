/*
 * Each variant of the kernels in turn, as the one that plain routines use.
 */
#ifndef TEST_UNIT_SELECTED_VARIANTS_H
#define TEST_UNIT_SELECTED_VARIANTS_H

#include "runtime/kernels/kernels.h"

#include "test/unit/op_test.h"

/* Calls run for each variant that this machine can run; says which it cannot. The best is selected afterwards. */
static inline void for_each_variant(void (*run)(void))
{
    static const char *const names[] = {
#define KERNEL_VARIANT(name, ...) #name,
#include "runtime/kernels/kernels.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kernels_select(names[i]))
            run();
        else
            print_message("[ SKIPPED  ] %s: not built, or this CPU cannot run it\n", names[i]);
    kernels_select(NULL);
}

#endif
