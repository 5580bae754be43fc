/*
 * Dictionaries of numbers, strings and lists of numbers, as backend_configs have them: MLIR's `{blank = 0 : i64, mode =
 * "best"}`, or a JSON object.
 */
#ifndef FRONTEND_HLO_DICTIONARY_H
#define FRONTEND_HLO_DICTIONARY_H

#include "frontend/hlo/syntax/hlo.h"
#include "neff/core/attr.h"

/* No text is an empty dictionary. False: it is none; *rest is what it could not read, the start of it. */
bool hlo_read_dictionary(struct arena *a, const struct hlo_text *text, struct attrs *out, const char **rest);

#endif
