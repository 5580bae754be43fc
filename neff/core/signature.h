/*
 * Signatures: which element types the operands of an operator may have.
 *
 * Written as one word per operand, in the operator tables (neff/op_*.def,
 * frontend/onnx/schema.def):
 *
 *     floats            one of a set of neff/core/typeset.def
 *     i64|floats|seq    any of these types and sets; seq, map, optional: containers
 *     T=floats          as before, and every operand with the word T has the same type
 *     T
 *     T...              this operand and all that follow, each by the same word
 *
 * Operands past the last word, operands left out, and values of which the type is not known yet are
 * not checked.
 */
#ifndef NEFF_SIGNATURE_H
#define NEFF_SIGNATURE_H

#include "neff/base/diag.h"
#include "neff/core/dtype.h"
#include "neff/core/op.h"
#include "neff/core/type.h"

enum { SIGNATURE_OPERANDS = 21 };

/* A set of element types: bit N is the type of that number; above them the containers. */
typedef uint64_t type_set;

struct signature {
    int8_t n;
    bool repeats; /* the last word stands for all operands that follow */
    struct {
        type_set admits;
        int8_t variable; /* all operands with the same one have one type; -1: none */
    } operand[SIGNATURE_OPERANDS];
};

/* False when the text is not a signature. */
bool signature_parse(const char *text, struct signature *s);
/* Fails with the operand, the type found and those expected. */
bool signature_check(const struct signature *s, const struct type *in, int nin, struct diag *d);

static inline bool type_set_has(type_set set, int dtype)
{
    return set >> dtype & 1;
}
/* The set in as few words as typeset.def allows, separated by `|`. Returns buf. */
const char *type_set_text(type_set set, char *buf, size_t size);

/* What the row of op.def says; n is 0 for rows without a signature: regions, and elementwise rows
 * whose kinds say it. */
const struct signature *op_signature(enum op op);
const char *op_types(enum op op);

/* The named sets: fewer than 0 or more than that many give NULL. */
struct type_set_info {
    const char *name, *members;
};
const struct type_set_info *type_set_info(int i);

#endif
