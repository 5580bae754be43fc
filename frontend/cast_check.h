/*
 * What a cast to a smaller type costs a model, measured: the compiled program and its FP32 twin run
 * on the same inputs. Where the outputs differ by more than a budget, some products stay in FP32.
 *
 * Inputs are those of --calibrate, or seeded ones: what `xrun --random` makes, and where floats lie
 * along long axes also slow waves and steps (runtime/io/random.h). Symbolic dims get small sizes.
 *
 * The error is the largest difference of an output from its twin, relative to the twin's largest
 * value. Outputs that hold choices (the places of the largest, what passes a threshold, what is
 * picked by them) jump where scores are close, so they are not held to the budget. What they are
 * chosen by and from is: the floats that enter the choice. Such outputs are reported by how many
 * elements differ.
 *
 * What is kept depends neither on the CPU nor on threads: the verdict is that of the kernels that
 * compute the same bits everywhere, unless the fast ones leave no doubt: errors below half of what is
 * allowed, or above twice that.
 */
#ifndef FRONTEND_CAST_CHECK_H
#define FRONTEND_CAST_CHECK_H

#include "frontend/driver.h"
#include "neff/isa/program.h"

#define CAST_BUDGET 3e-2 /* of --cast-budget, where nothing is said about casts */

/*
 * Compiles the graph of the model at c->files[0] (or `path`) as compile_graph does, then checks what
 * was cast, when c asks for it or says nothing about casts. Takes *g and may leave another graph of
 * the same model there; the program borrows from it. A line about the check goes to `say`, which may
 * be NULL. NULL after a failure.
 */
struct program *compile_checked(const char *path, struct graph **g, const struct command *c,
                                void (*say)(void *user, const char *text), void *user,
                                struct diag *d);

#endif
