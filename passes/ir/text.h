/*
 * What printer and parser of the text form share.
 */
#ifndef PASSES_IR_TEXT_H
#define PASSES_IR_TEXT_H

#include "passes/ir/ir.h"

#include <ctype.h>

/* Names that are written without quotes. */
static inline bool text_plain_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.')
            return false;
    return true;
}

#endif
