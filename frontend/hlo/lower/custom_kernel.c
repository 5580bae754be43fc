/* What the backend_config of a kernel written by hand says: base64 of a JSON object. */
#include "frontend/hlo/lower/lower.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_CONFIG = 64 << 20 };

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The bytes that text encodes, ended by a NUL; NULL when it is not base64. */
static char *decode_base64(struct arena *a, const struct hlo_text *text, size_t *size)
{
    uint32_t bits = 0;
    int have = 0;
    char *out = text->size <= LARGEST_CONFIG ? arena_alloc(a, text->size + 1) : NULL;
    *size = 0;
    for (size_t i = 0; out && i < text->size && text->data[i] != '='; i++) {
        int d = base64_digit(text->data[i]);
        if (d < 0)
            return NULL;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8)
            out[(*size)++] = (char)(bits >> (have -= 8));
    }
    return out;
}

static const char *grid_text(struct arena *a, const json_t *grid)
{
    const char *text = "";
    for (size_t i = 0; i < json_array_size(grid); i++)
        text = arena_printf(a, "%s%s%lld", text, i ? ", " : "",
                            (long long)json_integer_value(json_array_get(grid, i)));
    if (json_is_integer(grid))
        return arena_printf(a, "grid (%lld)", (long long)json_integer_value(grid));
    return *text ? arena_printf(a, "grid (%s)", text) : "no grid";
}

const char *hlo_kernel_reason(struct arena *a, const struct hlo_instruction *i)
{
    const struct hlo_attr *config = hlo_attr(i, HLO_ATTR_backend_config);
    const struct hlo_attr *metadata = hlo_attr(i, HLO_ATTR_metadata);
    const char *target = hlo_attr_text(i, HLO_ATTR_custom_call_target);
    const char *from = metadata && metadata->metadata->op_name ? metadata->metadata->op_name : "";
    size_t size = 0;
    char *text = config ? decode_base64(a, config->text, &size) : NULL;
    if (!text && config) /* some writers leave the JSON as it is */
        text = arena_strndup(a, config->text->data, size = config->text->size);
    json_t *j = text ? json_loadb(text, size, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const char *name = json_string_value(json_object_get(j, "func_name"));
    const char *reason;
    if (name)
        reason = arena_printf(
            a,
            "custom-call of '%s': kernel '%s', %s; kernels written by hand are not compiled, "
            "replace the call by operators",
            target, name, grid_text(a, json_object_get(j, "grid")));
    else
        reason = arena_printf(
            a,
            "custom-call of '%s': a kernel whose backend_config does not name it%s%s; kernels "
            "written by hand are not compiled",
            target, *from ? ", called by " : "", from);
    json_decref(j);
    return reason;
}
