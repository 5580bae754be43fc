/*
 * `xcc MODEL --standalone DIR`: a model as C sources that need nothing but a C compiler and libm.
 *
 *     DIR/NAME.h       the functions, with the model's shapes
 *     DIR/NAME.c       its program; its weights where they are small, else beside it in NAME.bin
 *     DIR/NAME_use.h   which rows of the runtime's tables it uses (neff/base/use.h)
 *     DIR/xrt/         the runtime's sources, as far as it needs them
 *     DIR/operators/   sources of custom operators, where they are given
 *     DIR/Makefile     makes libNAME.a: one object that shows the names of NAME.h alone
 *
 * With --amalgamate NAME.c is all of it, and compiles alone (amalgamate.h).
 */
#ifndef FRONTEND_STANDALONE_STANDALONE_H
#define FRONTEND_STANDALONE_STANDALONE_H

#include "frontend/standalone/plan.h"
#include "frontend/standalone/use.h"

#include <stdio.h>

/* Sources of custom operators (--custom-op-source), copied to DIR/operators; of several libraries, to
 * DIR/operators/0 and so on. */
struct operator_source {
    const char *path;
    const char *library; /* the path of the shared object that it is a source of */
};
struct operator_sources {
    int count, cap;
    struct operator_source *files;
};

struct standalone_options {
    const char *model; /* its file's name */
    const char *folder;
    const char *isa; /* instruction sets, separated by commas; NULL: all */
    bool threads;    /* runs may be shared by threads of the caller's */
    bool amalgamate; /* all in NAME.c, weights of any size */
    const struct operator_sources *operators;
};

/* The largest rate of bf16 products that one of the sets of --isa has (kernels.def); NULL: of all sets. */
int standalone_bf16_rate(const char *isa);
/* Writes the folder. The program's constants are made if they are not. */
bool standalone_write(struct program *p, const struct standalone_options *o, struct diag *d);

/* ---- between the files ---- */

/* A dimension that the caller sets. */
struct open_dim {
    const char *name;
    bool batch;    /* it comes first */
    int64_t limit; /* the model takes no more; 0: anything */
    int64_t max;  /* the size that context_size allows for */
};
enum { MAX_THREADS = 8 };                  /* where threads are asked for */
enum { MAX_BATCH = 8, MAX_LENGTH = 128 }; /* of such, where the model takes them */

/* What the text of the files is made of. */
struct package {
    struct arena arena;
    const struct standalone_options *o;
    const struct program *p;
    const char *name, *upper; /* "digits", "DIGITS" */
    struct used *use;
    struct insn_forms **forms; /* NULL: no shapes are known */
    const char *isa; /* checked: between spaces */
    int nopen;
    struct open_dim *open;
    size_t *room;        /* per output that only running sizes: bytes */
    const uint8_t *code; /* neff/isa/program_code.h */
    size_t code_size;
    uint64_t *at; /* of constants */
    uint64_t constants_size;
    const void *constants; /* NULL: not in memory */
    size_t context_size;
    struct plan_set *plan; /* NULL: it is made when the model is opened */
    bool in_c;       /* constants are in NAME.c */
    const char *bin; /* NAME.bin where constants are not in C, else "" */
    bool dynamic;    /* memory of a run depends on its data */
};

/* Bytes of the context's memory, found by running the model on zeros (measure.c). */
bool measure_context(struct package *k, struct diag *d);

/* The file's name without folder and endings, as an identifier of C. */
const char *c_identifier(struct arena *a, const char *path);

/* Libraries of operators that the program calls, and their sources (operators.c). */
bool make_folder(const char *path, struct diag *d); /* or it is there */
bool copy_operators(const struct package *k, struct diag *d);
void write_operators_note(const struct package *k, FILE *f); /* of the header */
void write_operators(const struct package *k, FILE *f);      /* of the source */
void write_operator_objects(const struct package *k, FILE *f);
void write_operator_rules(const struct package *k, FILE *f);

/* Text of the files (text.c). */
void write_header(const struct package *k, FILE *f);
void write_source(const struct package *k, FILE *f);
/* The same from makefile.c; which families of kernels the program has of a variant (kernels.def). */
void write_use(const struct package *k, FILE *f);
void write_makefile(const struct package *k, const bool *sources, FILE *f);
extern const int kernel_families;
const char *family_name(int family);
bool family_wanted(const struct package *k, int family, const char *variant);

#endif
