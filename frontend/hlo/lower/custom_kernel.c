/*
 * Custom-calls of kernels written by hand. Which kernel it is:
 *
 *   a target that --kernels has            that kernel
 *   AwsNeuronCustomNativeKernel            by the name in its backend_config, base64 of a JSON object
 *   xcc.kernel                             the call's own: its backend_config is the kernel as text,
 *                                          or a dictionary with that as `assembly`, and perhaps the
 *                                          name of one of its kernels as `kernel`
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/dictionary.h"
#include "frontend/hlo/lower/importer.h"
#include "frontend/kernel_library.h"
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
    const char **inputs; /* names of the operands, NULL when it does not say them */
    int ninputs;
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

static void read_inputs(struct json_reader *r, struct arena *a, struct kernel_config *c)
{
    int cap = 0;
    json_enter(r, '[');
    while (json_read_element(r)) {
        ARENA_GROW(a, c->inputs, c->ninputs, cap);
        c->inputs[c->ninputs++] = json_read_text(r, a);
    }
}

/* The object that `klir_binary` is. */
static void read_binary(struct json_reader *r, struct arena *a, struct kernel_config *c)
{
    json_enter(r, '{');
    for (const char *key; (key = json_read_key(r));)
        if (!strcmp(key, "input_names") && json_begins(r, '['))
            read_inputs(r, a, c);
        else
            json_skip(r);
}

static struct kernel_config read_config(struct arena *a, const char *text, size_t size)
{
    struct kernel_config c = {.grid = "no grid"};
    struct json_reader r = json_reader(text, size);
    json_enter(&r, '{');
    for (const char *key; (key = json_read_key(&r));)
        if (!strcmp(key, "func_name") && json_begins(&r, '"'))
            c.name = json_read_text(&r, a);
        else if (!strcmp(key, "grid"))
            c.grid = read_grid(&r, a);
        else if (!strcmp(key, "klir_binary") && json_begins(&r, '{'))
            read_binary(&r, a, &c);
        else
            json_skip(&r);
    return r.problem ? (struct kernel_config){0} : c;
}

static const char *target_of(const struct hlo_instruction *i)
{
    return hlo_attr_text(i, HLO_ATTR_custom_call_target);
}

static struct kernel_config config_of(struct arena *a, const struct hlo_instruction *i)
{
    const struct hlo_attr *config = hlo_attr(i, HLO_ATTR_backend_config);
    size_t size = 0;
    char *text = config ? decode_base64(a, config->text, &size) : NULL;
    if (!text && config) /* some writers leave the JSON as it is */
        text = arena_strndup(a, config->text->data, size = config->text->size);
    return text ? read_config(a, text, size) : (struct kernel_config){0};
}

static bool is_native(const struct hlo_instruction *i)
{
    return !strcmp(target_of(i), "AwsNeuronCustomNativeKernel");
}

/* The name of the Python function, where a framework has noted it: "func=<function NAME at". */
static const char *noted_name(struct arena *a, const struct hlo_instruction *i)
{
    const struct hlo_attr *metadata = hlo_attr(i, HLO_ATTR_metadata);
    const char *from = metadata ? metadata->metadata->op_name : NULL;
    const char *at = from ? strstr(from, "<function ") : NULL;
    if (!at)
        return NULL;
    at += strlen("<function ");
    return arena_strndup(a, at, strcspn(at, " >"));
}

/* The kernel of --kernels that the call is of; NULL: none. A call that does not name its kernel is
 * of the only one. */
static const struct kernel_entry *library_kernel(const struct kernel_library *lib, struct arena *a,
                                                 const struct hlo_instruction *i)
{
    const struct kernel_entry *k = kernel_library_find(lib, target_of(i));
    if (k || !is_native(i) || !lib)
        return k;
    const char *name = config_of(a, i).name;
    if (!name)
        name = noted_name(a, i);
    return name ? kernel_library_find(lib, name) : lib->count == 1 ? &lib->list[0] : NULL;
}

bool hlo_is_kernel(const struct hlo_importer *im, struct arena *a, const struct hlo_instruction *i)
{
    return !strcmp(target_of(i), "xcc.kernel") || library_kernel(im->kernels, a, i);
}

const char *hlo_kernel_reason(const struct hlo_importer *im, struct arena *a,
                              const struct hlo_instruction *i)
{
    const char *there = kernel_library_text(im->kernels, a);
    struct kernel_config c = config_of(a, i);
    if (!is_native(i))
        return arena_printf(a, "custom-call of '%s', a target that is not known; kernels: %s",
                            target_of(i), there);
    if (!c.name)
        c.name = noted_name(a, i);
    if (c.name)
        return arena_printf(a, "custom-call of '%s': kernel '%s', %s; kernels: %s", target_of(i),
                            c.name, c.grid ? c.grid : "no grid", there);
    return arena_printf(a,
                        "custom-call of '%s': a kernel whose backend_config does not name it; "
                        "kernels: %s",
                        target_of(i), there);
}

/* ---- text that the call carries ---- */

/* Attributes of the kernel that the call carries. */
static bool carried_kernel(struct hlo_lower *l, struct attrs *attrs, int *results)
{
    const struct hlo_attr *config = hlo_attr(l->i, HLO_ATTR_backend_config);
    struct arena *a = &l->b->g->arena;
    struct attrs entries = {0};
    struct str text = {0};
    const char *name = "", *rest;
    size_t blanks = 0;
    while (config && blanks < config->text->size && isspace((unsigned char)config->text->data[blanks]))
        blanks++;
    if (config && blanks < config->text->size)
        text = (struct str){config->text->data, config->text->size};
    if (text.n && text.p[blanks] == '{') {
        if (!hlo_read_dictionary(a, config->text, &entries, &rest))
            return HLO_ERROR(l, "custom-call of 'xcc.kernel': its backend_config cannot be read at '%s'", rest);
        text = attr_str(&entries, "assembly", "");
        name = attr_str(&entries, "kernel", "").p;
    }
    if (!text.n)
        return HLO_ERROR(l, "custom-call of 'xcc.kernel': its backend_config has no kernel as text, "
                            "expected {assembly = \"program ...\"}");
    return kernel_attributes_of_text(text.p, text.n, *name ? name : NULL, a, attrs, results,
                                     l->b->d);
}

/* ---- the call ---- */

/* Operand number of the kernel's input; frameworks add operands of their own to those that it has,
 * and tell the names of all. */
static int operand_of(const struct kernel_config *c, const struct kernel_entry *k, int input,
                      int operands)
{
    const struct program_region *main = &k->p->regions[0];
    const char *name = k->p->slots[main->params[input]].name;
    for (int i = 0; main->nparams != operands && c->ninputs == operands && i < operands; i++)
        if (c->inputs[i] && !strcmp(c->inputs[i], name))
            return i;
    return input;
}

static struct value **operands_of(struct hlo_lower *l, const struct kernel_entry *k, int *count)
{
    int n = 0, wanted = k ? k->p->regions[0].nparams : 0;
    for (int i = 0; i < l->i->operand_count; i++)
        n += l->operands[i].count;
    struct value **all = ARENA_ARRAY(&l->b->g->arena, struct value *, n + 1), **in = all;
    for (int i = 0, at = 0; i < l->i->operand_count; i++)
        for (int j = 0; j < l->operands[i].count; j++)
            all[at++] = l->operands[i].v[j];
    struct kernel_config c =
        k && is_native(l->i) ? config_of(&l->b->g->arena, l->i) : (struct kernel_config){0};
    *count = n;
    if (c.ninputs == n && wanted < n) {
        in = ARENA_ARRAY(&l->b->g->arena, struct value *, wanted + 1);
        for (int i = 0; i < wanted; i++)
            in[i] = all[operand_of(&c, k, i, n)];
        *count = wanted;
    }
    return in;
}

bool hlo_lower_kernel(struct hlo_lower *l)
{
    const struct kernel_entry *k = library_kernel(l->im->kernels, &l->b->g->arena, l->i);
    struct attrs attrs = {0};
    int results = 0, n;
    bool ok = k ? kernel_attributes(k, &l->b->g->arena, &attrs, &results, l->b->d)
                : carried_kernel(l, &attrs, &results);
    if (!ok)
        return false;
    struct value **in = operands_of(l, k, &n);
    struct node *made = b_place(l->b, OP_kernel_call, in, n, results, &attrs);
    return made && b_infer(l->b, made) && h_done_all(l, made->out, results);
}
