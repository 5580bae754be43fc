/*
 * What both readers do with an instruction: normal form, shape inference, the checks without which
 * the rest of this code could not use it. hlo_verify (hlo.h) does the others.
 * Messages do not name the place; callers put it in front.
 */
#ifndef FRONTEND_HLO_CHECK_H
#define FRONTEND_HLO_CHECK_H

#include "frontend/hlo/syntax/hlo.h"

/* Sorts attributes and drops those that say nothing. Needs operands; the shape may be missing. */
void hlo_normalise(struct arena *a, struct hlo_instruction *i);
/* Operand count and attributes; then the shape: infers it when i->shape is NULL. */
bool hlo_check_instruction(struct arena *a, struct hlo_instruction *i, struct diag *d);
bool hlo_check_attrs(const struct hlo_instruction *i, struct diag *d); /* required ones are there */
/* Parameters dense and unique; fills c->parameters. */
bool hlo_check_computation(struct arena *a, struct hlo_computation *c, struct diag *d);
bool hlo_check_shape(const struct hlo_shape *s, struct diag *d);
/* The result's shape from operands and attributes; NULL when it cannot be known (message in d). */
const struct hlo_shape *hlo_infer(struct arena *a, const struct hlo_instruction *i, struct diag *d);
/* Equal dims, those that are dynamic in either aside. */
bool hlo_same_dims(const struct hlo_shape *a, const struct hlo_shape *b);
bool hlo_whole(const struct hlo_shape *s, const char *what, struct diag *d); /* integers, or a message */
/* The async-start that an async-update or async-done belongs to; NULL when it is not in sight. */
const struct hlo_instruction *hlo_async_start(const struct hlo_instruction *i);

void hlo_append(struct arena *a, struct hlo_computation *c, struct hlo_instruction *i);
void hlo_append_computation(struct arena *a, struct hlo_module *m, struct hlo_computation *c);

#endif
