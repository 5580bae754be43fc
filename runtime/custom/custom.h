/*
 * Operators of libraries (runtime/xop.h): what the compiler and the runtime know of them.
 *
 * A library is known by the SHA-256 of its object file: calls name it so (attribute
 * `custom_library`), and the same hash means the same code in the whole process. Libraries are
 * loaded once, for good; any thread may ask.
 *
 *     files         custom_open: dlopen of a file that the caller names
 *     archives      custom_bind: objects that an archive carries, if the caller allows it
 *     calls         custom_find: runtime/ops/custom
 */
#ifndef RUNTIME_CUSTOM_CUSTOM_H
#define RUNTIME_CUSTOM_CUSTOM_H

#include "neff/core/attr.h"
#include "neff/core/signature.h"
#include "neff/isa/program.h"
#include "runtime/xop.h"

/* Attributes of calls: the library's hash, "domain::Name", the version. */
#define CUSTOM_LIBRARY  "custom_library"
#define CUSTOM_OPERATOR "custom_operator"
#define CUSTOM_VERSION  "custom_version"

enum { CUSTOM_HASH = 64 }; /* hexadecimal digits */

/* ---- declarations, parsed (declaration.c) ---- */

enum { CUSTOM_ANY_RANK = -1, CUSTOM_NAMES = 26 };
#define CUSTOM_ANY_DIM     (DIM_HIGHEST - 1) /* `_` */
#define CUSTOM_RUNTIME_DIM (DIM_HIGHEST - 2) /* `?` */

struct custom_operand {
    const char *name;
    bool optional, repeats;
    bool typed;           /* results: the text says the type */
    bool ellipsis;        /* dims begin with `...` */
    type_set admits;      /* all of DT_*, when the text says nothing */
    int8_t variable;      /* T of T=floats, as a number; -1: none */
    int8_t rank;          /* dims after `...`; CUSTOM_ANY_RANK: no dims are written */
    dim_t dims[MAX_RANK]; /* of the operator's own table */
};

struct custom_attribute {
    const char *name;
    int kind; /* enum attr_kind, or that of numbers (declaration.c) */
    bool required;
    struct attr value; /* the default */
};

struct custom_operator {
    const struct xop_operator *code;
    const char *full;      /* "domain::Name" */
    struct dim_table dims; /* symbols: the names in declarations */
    int nin, nout, nattributes;
    struct custom_operand *in, *out;
    struct custom_attribute *attributes;
    bool open; /* some result has a `?` */
};

/* Reads the texts; the message names the operator. */
bool custom_declare(const struct xop_operator *code, struct arena *a, struct custom_operator *out,
                    struct diag *d);
/* Fails on attributes that the operator lacks, or of another kind; gives those left out their
 * defaults. */
bool custom_attributes(const struct custom_operator *op, struct arena *a, struct attrs *attrs,
                       struct diag *d);

/* ---- libraries (library.c; of programs for one model: runtime/standalone/alone/custom.c) ---- */

struct custom_library {
    const char *name; /* of the file, without folders */
    char hash[CUSTOM_HASH + 1];
    const char *architecture;
    const uint8_t *data; /* the object file */
    size_t size;
    int count;
    struct custom_operator *operators;
    struct custom_library *next;
    struct arena arena;
};

/* Parses the declarations of all operators of `t` (NULL: it is missing) into l, whose arena they take
 * (declaration.c). */
bool custom_declare_library(struct custom_library *l, const struct xop_library *t, struct diag *d);

/* A file that the caller trusts; the same one again costs nothing. NULL after a failure, whose
 * message names the file. */
const struct custom_library *custom_open(const char *path, struct diag *d);
/* The same of bytes; `hash`: what they must have, checked before anything of them is used. */
const struct custom_library *custom_open_memory(const char *name, const void *data, size_t size,
                                                const char *hash, struct diag *d);
/* NULL when none of that hash is loaded. */
const struct custom_library *custom_library_find(const char *hash);
/* find.c: the newest version up to `version` (0: any); NULL when there is none. */
const struct custom_operator *custom_library_operator(const struct custom_library *l,
                                                      const char *full, int version);
/* The operator that a call's attributes name; fails when its library is not loaded. */
const struct custom_operator *custom_find(const struct attrs *attrs, struct diag *d);

/* ---- objects (object.c) ---- */

/* The architecture as `uname -m` says it; NULL, with a message, for what is no shared object that
 * is whole. */
const char *object_architecture(const uint8_t *data, size_t size, struct diag *d);
const char *machine_architecture(void);
void custom_hash(const void *data, size_t size, char hash[CUSTOM_HASH + 1]);

/* ---- programs (bind.c) ---- */

struct custom_permission {
    bool allow_code;          /* objects in the archive may run */
    const char *const *files; /* libraries of the caller's, which serve calls first */
    int nfiles;
};

/* Lists the libraries that the program's calls name, for the archive; their objects too unless
 * `external`. */
bool custom_attach(struct program *p, bool external, struct diag *d);
/* Loads what the program's calls need; fails, naming the operators, when it is not allowed or not
 * there. What a program needs before it runs. */
bool custom_bind(struct program *p, const struct custom_permission *may, struct diag *d);

/* ---- runs ---- */

/* What an operator is at work on in this thread, for a handler of signals; NULL: none. */
enum { CUSTOM_SHAPE = -1 }; /* instead of a core: the shape function */
struct custom_work {
    const char *op; /* "domain::Name" */
    int core;
    const struct guarded *guarded; /* NULL unless operands are guarded */
};
extern _Thread_local const struct custom_work *volatile custom_at_work;
/* What a thread does before operators run in it, or NULL: a stack for the handler. */
extern void (*custom_prepare_thread)(void);

/*
 * Operands and cores' scratch memory between guard pages (guarded.c): the last byte of each lies
 * before an inaccessible page, operands that are only read are on pages that cannot be written.
 */
struct guarded;
struct guarded *guarded_new(struct diag *d);
/* A copy of the tensor's memory, `data` changed to it. Results are copied back when it ends. */
bool guarded_add(struct guarded *g, struct xop_tensor *t, size_t bytes, bool result,
                 const char *name, struct diag *d);
/* Ends the guard of a result, whose `data` is that of guarded_add: it gets other memory. */
bool guarded_drop(struct guarded *g, const void *data, struct diag *d);
/* XOP_SCRATCH bytes; NULL: out of memory. */
void *guarded_scratch(struct guarded *g, struct diag *d);
/* After each core, of which one runs at a time: fails when it has written what another one wrote. */
bool guarded_core(struct guarded *g, int core, struct diag *d);
/* Fails when bytes beside an operand have changed, and says of which. */
bool guarded_end(struct guarded *g, struct diag *d);
/* What lies at the address, as text for a message: "4 bytes past the end of result 'y'"; false when
 * it is near none. Safe in a handler of signals. */
bool guarded_describe(const struct guarded *g, const void *address, char *text, size_t room);

#endif
