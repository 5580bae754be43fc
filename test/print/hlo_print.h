/* Modules as canonical text, and its parts. */
#ifndef TEST_PRINT_HLO_PRINT_H
#define TEST_PRINT_HLO_PRINT_H

#include "frontend/hlo/syntax/hlo.h"

enum {
    HLO_PRINT_METADATA = 1, /* metadata, origin, statistics and the stack tables */
    HLO_PRINT_HINTS = 2,    /* what only text carries: replica counts and the like */
    HLO_PRINT_ALL = 3,
};
void hlo_print(FILE *out, const struct hlo_module *m, int what);

void hlo_print_shape(FILE *f, const struct hlo_shape *s, bool layouts);
void hlo_print_literal(FILE *f, const struct hlo_literal *l);
void hlo_print_attr(FILE *f, const struct hlo_attr *a); /* ", name=value" */
void hlo_print_text(FILE *f, const struct hlo_text *t);
void hlo_print_quoted(FILE *f, const char *s, size_t size);
void hlo_print_pairs(FILE *f, const struct hlo_pairs *p);
void hlo_print_ints(FILE *f, struct hlo_ints v, char open, char close);
void hlo_print_aliases(FILE *f, const struct hlo_aliases *a, bool kinds);
void hlo_print_groups(FILE *f, const struct hlo_groups *g);
void hlo_print_metadata(FILE *f, const struct hlo_metadata *m);

#endif
