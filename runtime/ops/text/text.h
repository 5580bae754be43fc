/*
 * Strings: what the files of this folder share.
 */
#ifndef RUNTIME_OPS_TEXT_H
#define RUNTIME_OPS_TEXT_H

#include "runtime/ops/common/numeric.h"

/* Whether a pattern is RE2's: what PCRE2 alone has is refused. */
bool regex_check(struct str pattern, struct diag *d);

/* string_split by expressions: with an attribute `tokenexp` tokens are what it matches, with
 * `separators` what lies between matches of each, one after another; a single empty separator makes
 * a token of every character. Tokens of fewer than `mincharnum` characters are dropped; `mark` puts
 * U+0002 before and U+0003 behind each string's; missing ones are `pad_value`. */
bool tokens_wanted(const struct attrs *a);
bool string_tokens(struct op_call *c, struct work *w);

#endif
