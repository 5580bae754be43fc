/* Shapes, literals and lists as canonical text. */
#include "test/print/hlo_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hlo_print_ints(FILE *f, struct hlo_ints v, char open, char close)
{
    fputc(open, f);
    for (int k = 0; k < v.count; k++)
        fprintf(f, "%s%" PRId64, k ? "," : "", v.v[k]);
    fputc(close, f);
}

void hlo_print_quoted(FILE *f, const char *s, size_t size)
{
    fputc('"', f);
    for (size_t k = 0; k < size; k++) {
        unsigned char c = (unsigned char)s[k];
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", f);
        else if (c < 32 || c == 127)
            fprintf(f, "\\%03o", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

void hlo_print_text(FILE *f, const struct hlo_text *t)
{
    if (t->raw)
        fwrite(t->data, 1, t->size, f);
    else
        hlo_print_quoted(f, t->data ? t->data : "", t->size);
}

void hlo_print_pairs(FILE *f, const struct hlo_pairs *p)
{
    fputc('{', f);
    for (int k = 0; k < p->count; k++) {
        fprintf(f, "%s%s=", k ? "," : "", p->v[k].key);
        hlo_print_text(f, &p->v[k].value);
    }
    fputc('}', f);
}

void hlo_print_aliases(FILE *f, const struct hlo_aliases *a, bool kinds)
{
    fputs("{ ", f);
    for (int k = 0; k < a->count; k++) {
        if (k)
            fputs(", ", f);
        hlo_print_ints(f, a->v[k].output, '{', '}');
        fprintf(f, ": (%" PRId64 ", ", a->v[k].parameter);
        hlo_print_ints(f, a->v[k].index, '{', '}');
        if (kinds)
            fputs(a->v[k].must ? ", must-alias" : ", may-alias", f);
        fputc(')', f);
    }
    fputs(" }", f);
}

/* ---- shapes ---- */

static void print_layout_parts(FILE *f, const struct hlo_layout *l)
{
    if (l->level_count) {
        fputs("D(", f);
        for (int k = 0; k < l->level_count; k++)
            fprintf(f, "%s%c%s%s", k ? "," : "", l->levels[k].type,
                    l->levels[k].not_unique ? "+" : "", l->levels[k].not_ordered ? "~" : "");
        fputc(')', f);
    }
    if (l->tiles.count)
        fputc('T', f);
    for (int k = 0; k < l->tiles.count; k++) {
        const struct hlo_ints *t = &l->tiles.v[k];
        for (int j = 0; j < t->count; j++) {
            fputs(j ? "," : "(", f);
            if (t->v[j] == HLO_TILE_COMBINE)
                fputc('*', f);
            else
                fprintf(f, "%" PRId64, t->v[j]);
        }
        fputs(t->count ? ")" : "()", f);
    }
    if (l->tail_alignment != 1)
        fprintf(f, "L(%" PRId64 ")", l->tail_alignment);
    if (l->index_type)
        fprintf(f, "#(%s)", hlo_type_name(l->index_type));
    if (l->pointer_type)
        fprintf(f, "*(%s)", hlo_type_name(l->pointer_type));
    if (l->element_bits)
        fprintf(f, "E(%" PRId64 ")", l->element_bits);
    if (l->memory_space)
        fprintf(f, "S(%" PRId64 ")", l->memory_space);
    if (l->split_count)
        fputs("SC", f);
    for (int k = 0; k < l->split_count; k++) {
        fprintf(f, "(%" PRId64, l->splits[k].dimension);
        for (int j = 0; j < l->splits[k].at.count; j++)
            fprintf(f, "%c%" PRId64, j ? ',' : ':', l->splits[k].at.v[j]);
        fputc(')', f);
    }
    if (l->physical) {
        fputs("P(", f);
        hlo_print_shape(f, l->physical, true);
        fputc(')', f);
    }
    if (l->metadata_bytes)
        fprintf(f, "M(%" PRId64 ")", l->metadata_bytes);
}

static void print_layout(FILE *f, const struct hlo_shape *s)
{
    const struct hlo_layout *l = s->layout;
    if (!l && !s->rank)
        return;
    fputc('{', f);
    for (int k = 0; k < s->rank; k++)
        fprintf(f, "%s%" PRId64, k ? "," : "", l ? l->minor_to_major[k] : s->rank - 1 - k);
    if (l && (l->tiles.count || l->level_count || l->tail_alignment != 1 || l->index_type ||
              l->pointer_type || l->element_bits || l->memory_space || l->metadata_bytes ||
              l->split_count || l->physical)) {
        fputc(':', f);
        print_layout_parts(f, l);
    }
    fputc('}', f);
}

void hlo_print_shape(FILE *f, const struct hlo_shape *s, bool layouts)
{
    hlo_put_shape(f, s, layouts ? print_layout : NULL);
}

/* ---- literals ---- */

static void print_nan(FILE *f, enum dtype dt, const void *data, size_t at)
{
    const struct float_format *ff = float_format(dt);
    uint64_t code = 0;
    size_t bytes = dtype_bytes(dt);
    memcpy(&code, (const char *)data + at * bytes, bytes);
    if (ff->sign && ff->nan != 3 && code >> (ff->exp_bits + ff->man_bits) & 1)
        fputc('-', f);
    fputs("nan", f);
    uint64_t mantissa = code & (((uint64_t)1 << ff->man_bits) - 1);
    if (ff->nan == 1 && mantissa != (uint64_t)1 << (ff->man_bits - 1))
        fprintf(f, "(0x%" PRIx64 ")", mantissa);
}

/* The shortest of a few spellings that reads back as the same number. */
static void print_float(FILE *f, enum dtype dt, const void *data, size_t at)
{
    double v = dtype_load_f64(dt, data, at);
    char text[64];
    if (isnan(v)) {
        print_nan(f, dt, data, at);
        return;
    }
    if (isinf(v)) {
        fputs(v < 0 ? "-inf" : "inf", f);
        return;
    }
    if (dt == DT_F64) {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            if (strtod(text, NULL) == v)
                break;
        }
    } else {
        for (int digits = dt == DT_F32 ? 6 : 3; digits <= 9; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            double back;
            uint64_t bits = 0;
            dtype_store_f64(dt, &bits, 0, strtod(text, NULL));
            back = dtype_load_f64(dt, &bits, 0);
            if (back == v)
                break;
        }
    }
    fputs(text, f);
}

static void print_element(FILE *f, enum dtype dt, const void *data, size_t at)
{
    switch (dtype_class(dt)) {
    case DTC_BOOL:
        fputc(((const uint8_t *)data)[at] ? '1' : '0', f);
        break;
    case DTC_FLOAT:
        print_float(f, dt, data, at);
        break;
    case DTC_COMPLEX: {
        enum dtype part = dt == DT_C64 ? DT_F32 : DT_F64;
        fputc('(', f);
        print_float(f, part, data, at * 2);
        fputs(", ", f);
        print_float(f, part, data, at * 2 + 1);
        fputc(')', f);
        break;
    }
    default:
        if (dt == DT_U64)
            fprintf(f, "%" PRIu64, (uint64_t)dtype_load_i64(dt, data, at));
        else
            fprintf(f, "%" PRId64, dtype_load_i64(dt, data, at));
    }
}

static size_t print_dense(FILE *f, const struct hlo_literal *l, int dim, size_t at)
{
    const struct hlo_shape *s = l->shape;
    if (dim == s->rank) {
        print_element(f, hlo_type_dtype(s->type), l->data, at);
        return at + 1;
    }
    /* Braces of an array without elements may be many: print one level only where text needs it. */
    fputs(dim + 1 < s->rank ? "{ " : "{", f);
    for (int64_t k = 0; k < s->dims[dim]; k++) {
        fputs(k ? ", " : "", f);
        at = print_dense(f, l, dim + 1, at);
    }
    fputs(dim + 1 < s->rank ? " }" : "}", f);
    return at;
}

void hlo_print_literal(FILE *f, const struct hlo_literal *l)
{
    if (l->shape->type == HLO_TUPLE) {
        fputs("( ", f);
        for (int k = 0; k < l->shape->count; k++) {
            fputs(k ? ", " : "", f);
            hlo_print_literal(f, l->elements[k]);
        }
        fputs(" )", f);
    } else if (l->elided || (!l->count && l->shape->rank > 1)) {
        fputs("{...}", f);
    } else {
        print_dense(f, l, 0, 0);
    }
}
