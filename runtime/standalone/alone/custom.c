/*
 * Operators of libraries that are linked in. Nothing is loaded, and no operand lies between guard
 * pages.
 */
#include "runtime/standalone/linked.h"

static bool parse(const struct linked_library *from)
{
    struct diag d = {0};
    struct custom_library *l = from->parsed;
    l->arena.at = from->memory;
    l->arena.end = l->arena.at + from->size;
    l->name = from->name;
    memcpy(l->hash, from->hash, sizeof l->hash);
    bool same = from->code->abi == XOP_ABI && linked_text_size(from->code) <= from->text;
    return same && custom_declare_library(l, from->code, &d);
}

/* One thread parses it, others wait for that. */
static bool is_parsed(const struct linked_library *l)
{
    int expected = LINKED_NEW;
    if (atomic_compare_exchange_strong(l->state, &expected, LINKED_BUSY))
        atomic_store(l->state, parse(l) ? LINKED_PARSED : LINKED_WRONG);
    while ((expected = atomic_load(l->state)) == LINKED_BUSY)
        ;
    return expected == LINKED_PARSED;
}

const struct custom_library *custom_library_find(const char *hash)
{
    for (int i = 0; i < nlinked_libraries; i++)
        if (!strcmp(linked_libraries[i].hash, hash))
            return is_parsed(&linked_libraries[i]) ? linked_libraries[i].parsed : NULL;
    return NULL;
}

struct guarded *guarded_new(struct diag *d)
{
    fail(d, "operands have no guard pages here");
    return NULL;
}

bool guarded_add(struct guarded *g, struct xop_tensor *t, size_t bytes, bool result,
                 const char *name, struct diag *d)
{
    (void)g, (void)t, (void)bytes, (void)result, (void)name, (void)d;
    return false;
}

bool guarded_drop(struct guarded *g, const void *data, struct diag *d)
{
    (void)g, (void)data, (void)d;
    return false;
}

void *guarded_scratch(struct guarded *g, struct diag *d)
{
    (void)g, (void)d;
    return NULL;
}

bool guarded_core(struct guarded *g, int core, struct diag *d)
{
    (void)g, (void)core, (void)d;
    return false;
}

bool guarded_end(struct guarded *g, struct diag *d)
{
    (void)g, (void)d;
    return false;
}
