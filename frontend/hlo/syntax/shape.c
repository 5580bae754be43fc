#include "frontend/hlo/syntax/hlo.h"

#include <inttypes.h>
#include <stdlib.h>

bool hlo_is_array(const struct hlo_shape *s)
{
    return hlo_type_dtype(s->type) != DT_NONE;
}

bool hlo_shape_count(const struct hlo_shape *s, int64_t *count)
{
    int64_t n = 1;
    bool zero = false;
    for (int k = 0; k < s->rank; k++) {
        if (s->dims[k] < 0)
            return false;
        if (!s->dims[k])
            zero = true;
        else if (__builtin_mul_overflow(n, s->dims[k], &n))
            return false;
    }
    *count = zero ? 0 : n;
    return true;
}

bool hlo_shape_compatible(const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (a == b)
        return true;
    if (a->type != b->type || a->rank != b->rank || a->count != b->count)
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k] && a->dims[k] >= 0 && b->dims[k] >= 0)
            return false;
    for (int k = 0; k < a->count; k++)
        if (!hlo_shape_compatible(a->elements[k], b->elements[k]))
            return false;
    return true;
}

struct hlo_shape *hlo_shape_new(struct arena *a, enum hlo_type type, int rank, const int64_t *dims)
{
    struct hlo_shape *s = ARENA_NEW(a, struct hlo_shape);
    s->type = type;
    s->rank = rank;
    s->dims = arena_copy(a, dims, sizeof *dims * (size_t)rank);
    return s;
}

struct hlo_shape *hlo_shape_tuple(struct arena *a, int count,
                                  const struct hlo_shape *const *elements)
{
    struct hlo_shape *s = ARENA_NEW(a, struct hlo_shape);
    s->type = HLO_TUPLE;
    s->count = count;
    s->elements = arena_copy(a, elements, sizeof *elements * (size_t)count);
    return s;
}

void hlo_put_shape(FILE *f, const struct hlo_shape *s, void (*layout)(FILE *f, const struct hlo_shape *s))
{
    if (s->type == HLO_TUPLE || s->type == HLO_BUFFER) {
        fputs(s->type == HLO_BUFFER ? "b(" : "(", f);
        for (int k = 0; k < s->count; k++) {
            if (k)
                fputs(", ", f);
            hlo_put_shape(f, s->elements[k], layout);
        }
        fputc(')', f);
        return;
    }
    fprintf(f, "%s[", hlo_type_name(s->type));
    for (int k = 0; k < s->rank; k++) {
        fputs(k ? "," : "", f);
        if (s->dims[k] < 0)
            fputc('?', f);
        else
            fprintf(f, "%s%" PRId64, s->dynamic && s->dynamic[k] ? "<=" : "", s->dims[k]);
    }
    fputc(']', f);
    if (layout)
        layout(f, s);
}

const char *hlo_shape_text(struct arena *a, const struct hlo_shape *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return "?";
    hlo_put_shape(f, s, NULL);
    fclose(f);
    const char *copy = arena_strndup(a, text, size > 500 ? 500 : size);
    free(text);
    return copy;
}
