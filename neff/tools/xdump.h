/*
 * xdump: what is in an archive. One function per way of looking; each prints to stdout.
 */
#ifndef NEFF_XDUMP_H
#define NEFF_XDUMP_H

#include "neff/archive/archive.h"
#include "neff/isa/cost.h"

struct dump {
    const char *path;
    struct neff_file *file;
    struct program *p;
    struct arena scratch;
    struct symbol_binding *bindings;
    int nbindings;
    int64_t *values, *sizes; /* of dims and slots, for these bindings; symbols not bound are 1 */
    struct memory_plan plan;
    struct lifetime *life;
};

/* Opens archive and program, binds symbols and plans memory. On failure everything is closed again.
 */
bool dump_open(struct dump *u, const char *path, struct symbol_binding *b, int nb, struct diag *d);
void dump_close(struct dump *u);

void dump_header(const struct dump *u);
void dump_info(const struct dump *u);
void dump_summary(struct dump *u);
void dump_plan(struct dump *u);
bool dump_json(struct dump *u, struct diag *d);
bool dump_extract(struct dump *u, const char *folder, struct diag *d);
/* Prints what differs; *same tells whether anything did. */
bool dump_diff(struct dump *a, struct dump *b, bool *same, struct diag *d);

/* What the summary and the JSON form count. */
struct dump_totals {
    int64_t weights, nweights;
    double kernel_flops, call_flops, kernel_bytes, call_bytes;
    int insns[INSN_COUNT], calls[OP_COUNT];
};
struct dump_totals dump_count(const struct dump *u);

#endif
