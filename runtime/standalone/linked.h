/*
 * Libraries of operators (runtime/xop.h) that a program of `xcc --standalone` is linked with: its NAME.c
 * has the list. Their declarations are text, which is parsed when the first context is made.
 */
#ifndef RUNTIME_STANDALONE_LINKED_H
#define RUNTIME_STANDALONE_LINKED_H

#include "runtime/custom/custom.h"

#include <stdatomic.h>
#include <string.h>

enum linked_state { LINKED_NEW, LINKED_BUSY, LINKED_PARSED, LINKED_WRONG };

struct linked_library {
    const char *name, *hash; /* of the shared object that the model was compiled with */
    const struct xop_library *code;
    struct custom_library *parsed;
    _Atomic(int) *state; /* enum linked_state */
    void *memory;        /* for what is parsed, aligned to 64 */
    size_t size, text;   /* of the memory; linked_text_size of what it does for */
};

/* Bytes of the declarations' text. */
static inline size_t linked_text_size(const struct xop_library *l)
{
    size_t n = 0;
    for (int i = 0; i < l->count; i++) {
        const struct xop_operator *o = l->operators[i];
        n += strlen(o->domain) + strlen(o->name) + strlen(o->operands) + strlen(o->results) +
             (o->attributes ? strlen(o->attributes) : 0);
    }
    return n;
}

extern const struct linked_library linked_libraries[];
extern const int nlinked_libraries;

#endif
