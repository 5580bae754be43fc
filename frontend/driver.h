/*
 * The parts of the xcc program: its command line, and the way from a model file to a graph after
 * all passes.
 */
#ifndef FRONTEND_DRIVER_H
#define FRONTEND_DRIVER_H

#include "frontend/custom_call.h"
#include "frontend/import.h"
#include "frontend/kernel_library.h"
#include "frontend/standalone/standalone.h"
#include "passes/pass.h"

enum exit_status { EXIT_BAD_INPUT = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 70 };
enum emit_kind { EMIT_ARCHIVE, EMIT_IR, EMIT_ASM };

/* As --auto-cast-type takes it. */
const char *cast_type_name(int type);

struct command {
    const char **files; /* the model; of `test`, the folders */
    int nfiles;
    const char *output; /* NULL when not given */
    struct options options;
    struct import_options import;
    struct kernel_library kernels; /* of import.kernels; read by kernels_of_command */
    const char **kernel_files;
    int nkernel_files;
    struct custom_choice custom; /* --custom-op */
    bool custom_external;
    const char *target; /* row of the machine table */
    int emit;           /* enum emit_kind */
    const char *standalone, *isa; /* --standalone's folder; or NULL */
    bool threads, amalgamate;     /* of --standalone */
    struct operator_sources operators; /* --custom-op-source */
    bool verify, quiet, verbose, report;
    bool explain, explain_nodes; /* the summary; each decision about each node */
    const char *explain_node;    /* those about nodes of this name, a glob */
    bool help, version, list_operators;
    bool test;     /* `xcc test` */
    int framework; /* as given; not used */
    /* what a cast may cost (cast_check.h) */
    double cast_budget;     /* negative: not given */
    const char **calibrate; /* .npz files */
    int ncalibrate;
    bool cast_given; /* --auto-cast or --auto-cast-type: casts are as asked for */
    /* of `xcc compile`, neuronx-cc's spelling (neuronx_options.h) */
    bool neuronx;
    const char *logfile, *notes;
    int log_level;
    /* of `xcc test`; negative: not given */
    double limit_memory, limit_seconds; /* 0: none */
    double rtol, atol, norm_tol;
    const char *module; /* file to take from each folder; NULL: the first that is known */
    bool reference;     /* run the graph by plain routines instead of compiling it */
    struct arena arena;
};

enum subcommand { COMMAND_PLAIN, COMMAND_COMPILE, COMMAND_TEST };
/* Reads argv (without the program's name and the subcommand). False: a usage error, in d. */
bool command_parse(struct command *c, int argc, char **argv, enum subcommand sub, struct diag *d);
void command_free(struct command *c);
void print_help(void);
void print_operators(void);

/* Reads a model by its content and name; the text of a failure does not name the file. */
struct graph *load_model(const char *path, const struct import_options *o, struct diag *d);

/* Reads the files of --kernels, once. NULL, or the file that failed. */
const char *kernels_of_command(struct command *c, struct diag *d);

int compile_command(struct command *c);
int test_command(struct command *c);

/* Prints a failure as 'FILE: what' and gives the exit status for it. */
int report_failure(const char *file, const struct diag *d);

#endif
