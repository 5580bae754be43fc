/*
 * neuronx-cc's command line: `xcc compile MODEL --framework XLA --target trn1 --output F.neff ...`.
 * Its flags that xcc has no use for are accepted, and each says what it does here; its defaults
 * apply (no casting, file.neff).
 */
#ifndef FRONTEND_NEURONX_OPTIONS_H
#define FRONTEND_NEURONX_OPTIONS_H

#include "frontend/driver.h"

/* Sets the defaults of `xcc compile` before its flags are read. */
void neuronx_defaults(struct command *c);
/* Takes the flag argv[*i] and its values when it is one of neuronx-cc's own (*taken). False: a
 * usage error. */
bool neuronx_flag(struct command *c, int argc, char **argv, int *i, bool *taken, struct diag *d);
/* Prints the notes about flags. */
void neuronx_begin(const struct command *c);
/*
 * 'Compiler status PASS' or FAIL, to the standard output and, after the notes, to the log file.
 * text: the failure, or "".
 */
void neuronx_end(const struct command *c, int status, const char *text);
/* `xcc list-operators --framework XLA|ONNX`: one name a line. Returns the exit status. */
int neuronx_list_operators(int argc, char **argv);

#endif
