/*
 * The libraries of a program: listed when it is compiled, loaded before it runs.
 */
#include "runtime/custom/custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_custom(const struct call *c)
{
    return c->op == OP_custom || c->op == OP_custom_open;
}

static const char *hash_of(const struct call *c, char key[CUSTOM_HASH + 1])
{
    struct str s = attr_str(&c->attrs, CUSTOM_LIBRARY, "");
    snprintf(key, CUSTOM_HASH + 1, "%.*s", (int)(s.n < CUSTOM_HASH ? s.n : CUSTOM_HASH), s.p);
    return key;
}

static const char *operator_of(const struct call *c, struct arena *a)
{
    struct str s = attr_str(&c->attrs, CUSTOM_OPERATOR, "");
    return arena_strndup(a, s.p, s.n);
}

static struct program_library *listed(struct program *p, const char *hash)
{
    for (int i = 0; i < p->nlibraries; i++)
        if (!strcmp(p->libraries[i].hash, hash))
            return &p->libraries[i];
    return NULL;
}

bool custom_attach(struct program *p, bool external, struct diag *d)
{
    char hash[CUSTOM_HASH + 1];
    int cap = 0;
    for (int i = 0; i < p->ncalls; i++) {
        if (!is_custom(&p->calls[i]) || listed(p, hash_of(&p->calls[i], hash)))
            continue;
        const struct custom_library *l = custom_library_find(hash);
        if (!l)
            return fail(d,
                        "operator %s is code of a library that is not loaded: name it with "
                        "--custom-op",
                        operator_of(&p->calls[i], &p->arena));
        ARENA_GROW(&p->arena, p->libraries, p->nlibraries, cap);
        p->libraries[p->nlibraries++] =
            (struct program_library){.name = arena_strdup(&p->arena, l->name),
                                     .hash = arena_strdup(&p->arena, hash),
                                     .architecture = arena_strdup(&p->arena, l->architecture),
                                     .abi = XOP_ABI,
                                     .data = external ? NULL : l->data,
                                     .size = external ? 0 : l->size};
    }
    return true;
}

/* "my.ops::Leaky, my.ops::Other" of the calls of a library. */
static const char *operators_text(struct program *p, const char *hash)
{
    const char *text = "", *last = "";
    char key[CUSTOM_HASH + 1];
    for (int i = 0; i < p->ncalls; i++) {
        if (!is_custom(&p->calls[i]) || strcmp(hash_of(&p->calls[i], key), hash) != 0)
            continue;
        const char *name = operator_of(&p->calls[i], &p->arena);
        if (strstr(text, name) || strlen(text) > 400)
            continue;
        text = arena_printf(&p->arena, "%s%s%s", text, *last ? ", " : "", name);
        last = name;
    }
    return text;
}

/* Whether the library has all that the program calls of `hash`. */
static bool serves(struct program *p, const char *hash, const struct custom_library *l)
{
    char key[CUSTOM_HASH + 1];
    for (int i = 0; i < p->ncalls; i++)
        if (is_custom(&p->calls[i]) && !strcmp(hash_of(&p->calls[i], key), hash) &&
            !custom_library_operator(l, operator_of(&p->calls[i], &p->arena),
                                     (int)attr_int(&p->calls[i].attrs, CUSTOM_VERSION, 0)))
            return false;
    return true;
}

static void rename_calls(struct program *p, const char *from, const char *to)
{
    char key[CUSTOM_HASH + 1];
    for (int i = 0; i < p->ncalls; i++)
        if (is_custom(&p->calls[i]) && !strcmp(hash_of(&p->calls[i], key), from))
            attr_set_str(&p->arena, &p->calls[i].attrs, CUSTOM_LIBRARY, to);
}

/* One of the caller's files: the same code, or one of that name which has the operators. */
static const struct custom_library *from_files(struct program *p, const struct program_library *l,
                                               const struct custom_permission *may, struct diag *d)
{
    const struct custom_library *named = NULL;
    for (int i = 0; i < may->nfiles; i++) {
        const struct custom_library *f = custom_open(may->files[i], d);
        if (!f)
            return NULL;
        if (!strcmp(f->hash, l->hash))
            return f;
        if (!strcmp(f->name, l->name) && serves(p, l->hash, f))
            named = f;
    }
    return named;
}

static bool refuse(struct program *p, const struct program_library *l, struct diag *d)
{
    const char *needs = operators_text(p, l->hash);
    if (!l->data)
        return fail(d,
                    "it needs %s of library '%s', which the archive names and does not have: "
                    "give it with --custom-op %s (xrt_open_with: custom_ops)",
                    needs, l->name, l->name);
    return fail(d,
                "it needs code that is in the archive, %s of library '%s': --allow-code "
                "(XRT_ALLOW_CODE) runs it, if you trust who made the archive",
                needs, l->name);
}

static bool bind_library(struct program *p, const struct program_library *l,
                         const struct custom_permission *may, struct diag *d)
{
    const struct custom_library *found = from_files(p, l, may, d);
    if (diag_failed(d))
        return false;
    if (!found && (!l->data || !may->allow_code))
        return refuse(p, l, d);
    if (!found && l->abi != XOP_ABI)
        return fail(d,
                    "library '%s' was compiled with version %d of xop.h, expected %d: compile "
                    "it and the model again",
                    l->name, l->abi, XOP_ABI);
    if (!found && strcmp(l->architecture, machine_architecture()) != 0)
        return fail(d,
                    "library '%s' is an object for %s, this machine is %s: compile the model "
                    "here, or give a library with --custom-op",
                    l->name, l->architecture, machine_architecture());
    if (!found)
        found = custom_open_memory(l->name, l->data, l->size, l->hash, d);
    if (!found)
        return false;
    if (!serves(p, l->hash, found))
        return fail(d, "library '%s' lacks operators that it is called for: %s", l->name,
                    operators_text(p, l->hash));
    if (strcmp(found->hash, l->hash) != 0)
        rename_calls(p, l->hash, found->hash);
    return true;
}

bool custom_bind(struct program *p, const struct custom_permission *may, struct diag *d)
{
    char hash[CUSTOM_HASH + 1];
    for (int i = 0; i < p->ncalls; i++)
        if (is_custom(&p->calls[i]) && !listed(p, hash_of(&p->calls[i], hash)))
            return fail(d, "it calls %s of a library that it does not list",
                        operator_of(&p->calls[i], &p->arena));
    for (int i = 0; i < p->nlibraries; i++)
        if (!bind_library(p, &p->libraries[i], may, d))
            return false;
    return true;
}
