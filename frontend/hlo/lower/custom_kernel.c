/* What the backend_config of a kernel written by hand says: base64 of a JSON object. */
#include "frontend/hlo/lower/lower.h"
#include "neff/base/json.h"

#include <ctype.h>
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

/* What the JSON object says of the kernel; name NULL when it does not name it. */
struct kernel_config {
    const char *name, *grid;
};

static const char *read_grid(struct json_reader *r, struct arena *a)
{
    const char *text = "";
    if (!json_begins(r, '['))
        return arena_printf(a, "grid (%lld)", (long long)json_read_integer(r));
    json_enter(r, '[');
    while (json_read_element(r))
        text = arena_printf(a, "%s%s%lld", text, *text ? ", " : "",
                            (long long)json_read_integer(r));
    return *text ? arena_printf(a, "grid (%s)", text) : "no grid";
}

static struct kernel_config read_config(struct arena *a, const char *text, size_t size)
{
    struct kernel_config c = {NULL, "no grid"};
    struct json_reader r = json_reader(text, size);
    json_enter(&r, '{');
    for (const char *key; (key = json_read_key(&r));)
        if (!strcmp(key, "func_name") && json_begins(&r, '"'))
            c.name = json_read_text(&r, a);
        else if (!strcmp(key, "grid"))
            c.grid = read_grid(&r, a);
        else
            json_skip(&r);
    return r.problem ? (struct kernel_config){0} : c;
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
    struct kernel_config c = text ? read_config(a, text, size) : (struct kernel_config){0};
    if (c.name)
        return arena_printf(
            a,
            "custom-call of '%s': kernel '%s', %s; kernels written by hand are not compiled, "
            "replace the call by operators",
            target, c.name, c.grid);
    return arena_printf(
            a,
            "custom-call of '%s': a kernel whose backend_config does not name it%s%s; kernels "
            "written by hand are not compiled",
            target, *from ? ", called by " : "", from);
}
