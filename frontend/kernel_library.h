/*
 * Libraries of kernels written by hand (`xcc MODEL --kernels LIB.xasm`), and the calls of them in models.
 *
 * A library is text: one program after the other (neff/FORMAT.md, section 10). A program is a kernel, called by its
 * name, whose operands are the program's inputs and whose results are its outputs. Where a program launches several
 * kernels, each of them that stands alone is one as well: its operands are the inputs it reads, its results the outputs
 * it writes, in the program's order.
 *
 * A model's call may also carry its kernel: text of the same form.
 */
#ifndef FRONTEND_KERNEL_LIBRARY_H
#define FRONTEND_KERNEL_LIBRARY_H

#include "neff/core/attr.h"
#include "neff/isa/program.h"

struct kernel_entry {
    const char *name, *file;
    struct program *p; /* owned; with the data of all constants */
    bool part;         /* one of several that a program launches: gives way to a program of its name */
};

struct kernel_library {
    struct arena arena;
    struct kernel_entry *list;
    int count, cap;
};

/* Adds the kernels of a file; constants whose data the text leaves out come from NAME.npz beside NAME.xasm. Fails when
 * a name is taken. */
bool kernel_library_read(struct kernel_library *lib, const char *path, struct diag *d);
/* The same of text; `file` is for messages. */
bool kernel_library_parse(struct kernel_library *lib, const char *text, size_t n, const char *file,
                   struct diag *d);
void kernel_library_free(struct kernel_library *lib);

/* lib may be NULL. */
const struct kernel_entry *kernel_library_find(const struct kernel_library *lib, const char *name);
/* "softmax (lib.xasm), gelu (lib.xasm)", or what to do when there are none; in the arena. */
const char *kernel_library_text(const struct kernel_library *lib, struct arena *a);

/* What a kernel_call of it says (neff/core/kernel_signature.h); *results: how many it has. */
bool kernel_attributes(const struct kernel_entry *k, struct arena *a, struct attrs *out,
                       int *results, struct diag *d);
/* The same of a kernel that the call carries as text; name NULL: the first one. */
bool kernel_attributes_of_text(const char *text, size_t n, const char *name, struct arena *a,
                               struct attrs *out, int *results, struct diag *d);

#endif
