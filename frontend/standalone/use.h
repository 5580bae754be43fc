/*
 * What of the runtime a program uses: the rows of its tables, as neff/base/use.h takes them.
 */
#ifndef FRONTEND_STANDALONE_USE_H
#define FRONTEND_STANDALONE_USE_H

#include "frontend/standalone/forms.h"
#include "neff/isa/program.h"

struct used {
    struct arena *arena;
    const char **names; /* "INSN_nc_matmul", sorted, each once */
    int count, cap;
    bool neon, neon_bf16; /* it has kernels for NEON; for its products of bf16 */
};

/* forms: of the kernels, or NULL. isa: of which sets the program has kernels, with a space on both sides of each. */
struct used *use_find(const struct program *p, struct insn_forms *const *forms, const char *isa,
                      struct arena *a);
__attribute__((format(printf, 2, 3)))
void use_add(struct used *u, const char *fmt, ...); /* once */
bool use_has(const struct used *u, const char *name);

#endif
