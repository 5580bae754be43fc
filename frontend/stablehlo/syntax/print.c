/* Types and attributes in MLIR's generic text form. */
#include "frontend/stablehlo/syntax/mlir.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_attr(FILE *f, const struct mlir_attr *a);

void mlir_put_string(FILE *f, const char *s, size_t n)
{
    putc('"', f);
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)s[k];
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 32 || c > 126)
            fprintf(f, "\\%02X", c);
        else
            putc(c, f);
    }
    putc('"', f);
}

/* A number that is read back as the same double, and as a float. */
static void put_double(FILE *f, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.17e", v);
    for (int digits = 6; digits < 17; digits++) {
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*e", digits, v);
        if (strtod(shorter, NULL) == v) {
            strcpy(text, shorter);
            break;
        }
    }
    fputs(text, f);
}

/* ---- types ---- */

static void put_types(FILE *f, const struct mlir_type *const *v, int n)
{
    for (int k = 0; k < n; k++) {
        fputs(k ? ", " : "", f);
        mlir_put_type(f, v[k]);
    }
}

static void put_results(FILE *f, const struct mlir_type *const *v, int n)
{
    bool one = n == 1 && v[0]->kind != MT_FUNCTION;
    fputs(one ? "" : "(", f);
    put_types(f, v, n);
    fputs(one ? "" : ")", f);
}

static void put_quant(FILE *f, const struct mlir_quant *q)
{
    fputs("!quant.uniform<", f);
    if (dtype_class(q->storage->dtype) == DTC_UINT)
        fprintf(f, "u%d", dtype_info(q->storage->dtype)->bits);
    else
        mlir_put_type(f, q->storage);
    if (q->explicit_range)
        fprintf(f, "<%" PRId64 ":%" PRId64 ">", q->low, q->high);
    putc(':', f);
    mlir_put_type(f, q->expressed);
    if (q->axis >= 0)
        fprintf(f, ":%d, {", q->axis);
    else
        fputs(", ", f);
    for (int k = 0; k < q->count; k++) {
        fputs(k ? ", " : "", f);
        put_double(f, q->scales[k]);
        if (q->zeros[k])
            fprintf(f, ":%" PRId64, q->zeros[k]);
    }
    fputs(q->axis >= 0 ? "}>" : ">", f);
}

static void put_shaped(FILE *f, const struct mlir_type *t)
{
    fputs(t->kind == MT_TENSOR ? "tensor<" : t->kind == MT_VECTOR ? "vector<" : "memref<", f);
    if (t->rank < 0)
        fputs("*x", f);
    for (int k = 0; k < t->rank; k++) {
        if (t->dims[k] < 0)
            fputs("?x", f);
        else
            fprintf(f, "%" PRId64 "x", t->dims[k]);
    }
    mlir_put_type(f, t->element);
    if (t->encoding) {
        fputs(", ", f);
        put_attr(f, t->encoding);
    }
    putc('>', f);
}

void mlir_put_type(FILE *f, const struct mlir_type *t)
{
    switch (t ? t->kind : MT_NONE) {
    case MT_SCALAR:
        fputs(mlir_dtype_text(t->dtype), f);
        break;
    case MT_INDEX:
        fputs("index", f);
        break;
    case MT_QUANT:
        put_quant(f, t->quant);
        break;
    case MT_OTHER:
        fputs(t->text, f);
        break;
    case MT_TENSOR:
    case MT_VECTOR:
    case MT_BUFFER:
        put_shaped(f, t);
        break;
    case MT_TUPLE:
    case MT_FUTURE:
        fputs(t->kind == MT_TUPLE ? "tuple<" : "!stablehlo.future<", f);
        put_types(f, t->types, t->count);
        putc('>', f);
        break;
    case MT_TOKEN:
        fputs("!stablehlo.token", f);
        break;
    case MT_NONE:
        fputs("none", f);
        break;
    case MT_FUNCTION:
        putc('(', f);
        put_types(f, t->types, t->inputs);
        fputs(") -> ", f);
        put_results(f, t->types + t->inputs, t->count - t->inputs);
        break;
    }
}

/* ---- attributes ---- */

static void put_key(FILE *f, const char *s)
{
    bool bare = isalpha((unsigned char)*s) || *s == '_';
    for (const char *c = s; *c; c++)
        bare = bare && (isalnum((unsigned char)*c) || strchr("_$.", *c));
    if (bare)
        fputs(s, f);
    else
        mlir_put_string(f, s, strlen(s));
}

void mlir_put_dict(FILE *f, int count, const char *const *keys, const struct mlir_attr *const *v)
{
    for (int k = 0; k < count; k++) {
        fputs(k ? ", " : "", f);
        put_key(f, keys[k]);
        if (v[k]->kind == MA_UNIT)
            continue;
        fputs(" = ", f);
        put_attr(f, v[k]);
    }
}

static void put_hex(FILE *f, const void *data, size_t n)
{
    for (size_t k = 0; k < n; k++)
        fprintf(f, "%02X", ((const uint8_t *)data)[k]);
}

static void put_dense(FILE *f, const struct mlir_attr *a)
{
    const struct mlir_type *e = a->type;
    while (e->element)
        e = e->element;
    int dt = e->kind == MT_QUANT ? e->quant->storage->dtype : mlir_dtype(a->type);
    int64_t n = 0;
    mlir_count(a->type, &n);
    if (a->strings) {
        fputs("dense<[", f);
        for (int k = 0; k < a->count; k++) {
            fputs(k ? ", " : "", f);
            put_attr(f, a->items[k]);
        }
        fputs("]> : ", f);
    } else if (!a->data) {
        fputs("dense_resource<__elided__> : ", f);
    } else if (n == 0) {
        fputs("dense<> : ", f);
    } else if (dt == DT_BOOL) { /* bits, the first one lowest */
        const uint8_t *bytes = a->data;
        bool same = true;
        for (int64_t k = 1; k < n && !a->splat; k++)
            same = same && bytes[k] == bytes[0];
        if (same) {
            fprintf(f, "dense<%s> : ", bytes[0] ? "true" : "false");
        } else {
            fputs("dense<\"0x", f);
            for (int64_t k = 0; k < n; k += 8) {
                int byte = 0;
                for (int64_t j = k; j < n && j < k + 8; j++)
                    byte |= (bytes[j] != 0) << (j - k);
                fprintf(f, "%02X", byte);
            }
            fputs("\"> : ", f);
        }
    } else {
        fputs("dense<\"0x", f);
        put_hex(f, a->data, dtype_bytes(dt) * (size_t)(a->splat ? 1 : n));
        fputs("\"> : ", f);
    }
    mlir_put_type(f, a->type);
}

static void put_ints(FILE *f, const struct mlir_attr *a)
{
    fputs("array<", f);
    mlir_put_type(f, a->type);
    for (int k = 0; k < a->count; k++) {
        double v;
        memcpy(&v, &a->ints[k], sizeof v);
        fputs(k ? ", " : ": ", f);
        if (dtype_is_float(a->type->dtype))
            put_double(f, v);
        else if (a->type->dtype == DT_BOOL)
            fputs(a->ints[k] ? "true" : "false", f);
        else
            fprintf(f, "%" PRId64, a->ints[k]);
    }
    putc('>', f);
}

static void put_struct(FILE *f, const struct mlir_attr *a)
{
    static const char *const conv[] = {
        "input_batch_dimension",           "input_feature_dimension",
        "input_spatial_dimensions",        "kernel_input_feature_dimension",
        "kernel_output_feature_dimension", "kernel_spatial_dimensions",
        "output_batch_dimension",          "output_feature_dimension",
        "output_spatial_dimensions"};
    fprintf(f, "#%s.%s<", a->dialect, a->name);
    if (strcmp(a->name, "conv")) {
        for (int k = 0; k < a->count; k++) {
            const struct mlir_attr *v = a->items[k];
            fprintf(f, "%s%s = ", k ? ", " : "", a->keys[k]);
            bool bounds = v->kind == MA_ARRAY && !strcmp(a->name, "type_extensions");
            bool list = bounds || (v->kind == MA_INTS && v->type->dtype == DT_I64);
            if (!list) {
                put_attr(f, v);
                continue;
            }
            putc('[', f);
            for (int j = 0; j < v->count; j++) {
                int64_t n = bounds ? v->items[j]->i : v->ints[j];
                fputs(j ? ", " : "", f);
                if (bounds && n < 0)
                    putc('?', f);
                else
                    fprintf(f, "%" PRId64, n);
            }
            putc(']', f);
        }
        putc('>', f);
        return;
    }
    for (int part = 0; part < 3; part++) {
        const char *letters = part == 1 ? "io" : "bf";
        int64_t first = 0, second = 0;
        const struct mlir_attr *s = mlir_field(a, conv[3 * part + 2]);
        mlir_int(mlir_field(a, conv[3 * part]), &first);
        mlir_int(mlir_field(a, conv[3 * part + 1]), &second);
        fputs(part == 0 ? "[" : part == 1 ? "x[" : "->[", f);
        int rank = (s ? s->count : 0) + 2;
        for (int k = 0; k < rank; k++) {
            fputs(k ? ", " : "", f);
            int at = -1;
            for (int j = 0; s && j < s->count; j++)
                if (s->ints[j] == k)
                    at = j;
            if (k == first || k == second)
                putc(letters[k == second], f);
            else
                fprintf(f, "%d", at);
        }
        putc(']', f);
    }
    putc('>', f);
}

static void put_symbol(FILE *f, const char *s)
{
    for (;;) {
        const char *e = strstr(s, "::");
        size_t n = e ? (size_t)(e - s) : strlen(s);
        bool bare = n > 0 && (isalpha((unsigned char)*s) || *s == '_');
        for (size_t k = 0; k < n; k++)
            bare = bare && (isalnum((unsigned char)s[k]) || strchr("_$.", s[k]));
        putc('@', f);
        if (bare)
            fwrite(s, 1, n, f);
        else
            mlir_put_string(f, s, n);
        if (!e)
            return;
        fputs("::", f);
        s = e + 2;
    }
}

/* Every bit of a float: hexadecimal digits where decimal ones do not do. */
static void put_float(FILE *f, const struct mlir_attr *a)
{
    if (isfinite(a->f)) {
        put_double(f, a->f);
    } else {
        uint8_t bytes[16] = {0};
        int dt = a->type->kind == MT_SCALAR ? a->type->dtype : DT_F64;
        dtype_store_f64(dt, bytes, 0, a->f);
        fputs("0x", f);
        for (size_t k = dtype_bytes(dt); k-- > 0;)
            fprintf(f, "%02X", bytes[k]);
    }
    fputs(" : ", f);
    mlir_put_type(f, a->type);
}

static void put_attr(FILE *f, const struct mlir_attr *a)
{
    switch (a->kind) {
    case MA_UNIT:
        fputs("unit", f);
        break;
    case MA_BOOL:
        fputs(a->i ? "true" : "false", f);
        break;
    case MA_INT:
        fprintf(f, "%" PRId64 " : ", a->i);
        mlir_put_type(f, a->type);
        break;
    case MA_FLOAT:
        put_float(f, a);
        break;
    case MA_STRING:
        mlir_put_string(f, a->text, a->size);
        break;
    case MA_SYMBOL:
        put_symbol(f, a->text);
        break;
    case MA_TYPE:
        mlir_put_type(f, a->type);
        break;
    case MA_ARRAY:
        putc('[', f);
        for (int k = 0; k < a->count; k++) {
            fputs(k ? ", " : "", f);
            put_attr(f, a->items[k]);
        }
        putc(']', f);
        break;
    case MA_DICT:
        putc('{', f);
        mlir_put_dict(f, a->count, a->keys, a->items);
        putc('}', f);
        break;
    case MA_INTS:
        put_ints(f, a);
        break;
    case MA_DENSE:
        put_dense(f, a);
        break;
    case MA_ENUM:
        if (!strcmp(a->name, "result_accuracy_mode"))
            fprintf(f, "#%s.%s<%s>", a->dialect, a->name, a->text);
        else
            fprintf(f, "#%s<%s %s>", a->dialect, a->name, a->text);
        break;
    case MA_STRUCT:
        put_struct(f, a);
        break;
    case MA_OPAQUE:
        fputs(a->text, f);
        break;
    }
}

/* ---- as strings ---- */

/* At most LIMIT characters of what was printed to f. */
static const char *in_arena(struct arena *a, FILE *f, char **text, size_t *size, size_t limit)
{
    if (!f)
        return "?";
    fclose(f);
    const char *s = arena_strndup(a, *text, *size < limit ? *size : limit);
    free(*text);
    return s;
}

const char *mlir_type_text(struct arena *a, const struct mlir_type *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f)
        mlir_put_type(f, t);
    return in_arena(a, f, &text, &size, 400);
}

const char *mlir_attr_text(struct arena *a, const struct mlir_attr *attr)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f)
        put_attr(f, attr);
    return in_arena(a, f, &text, &size, SIZE_MAX);
}
