/*
 * Models of xcc.h: the command line's way from a model to an archive, in memory.
 */
#include "frontend/assemble.h"
#include "frontend/cast_check.h"
#include "frontend/report.h"
#include "frontend/xcc.h"
#include "neff/archive/archive.h"
#include "neff/base/file.h"
#include "neff/base/recover.h"
#include "neff/base/version.h"
#include "runtime/sim/sim.h"

#include "frontend/kernel_api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *xcc_version(void)
{
    return xcc_version_text;
}

void xcc_bytes_free(struct xcc_bytes *b)
{
    free(b->data);
    *b = (struct xcc_bytes){0};
}

/* The next word of an options' text, quotes removed; NULL at the end. */
static char *next_word(const char **s, struct arena *a)
{
    while (isspace((unsigned char)**s))
        ++*s;
    if (!**s)
        return NULL;
    char *word = ARENA_ARRAY(a, char, strlen(*s) + 1), quote = 0;
    size_t n = 0;
    for (; **s && (quote || !isspace((unsigned char)**s)); ++*s) {
        if (quote ? **s == quote : **s == '\'' || **s == '"')
            quote = quote ? 0 : **s;
        else
            word[n++] = **s;
    }
    word[n] = 0;
    return word;
}

static bool parse(struct command *c, const char *options, struct arena *a, struct diag *d)
{
    size_t max = options ? strlen(options) / 2 + 2 : 1;
    char **words = ARENA_ARRAY(a, char *, max);
    int n = 0;
    for (char *w; options && (w = next_word(&options, a));)
        words[n++] = w;
    if (!command_parse(c, n, words, COMMAND_PLAIN, d))
        return false;
    if (c->nfiles)
        return fail(d, "options: '%s' is no option", c->files[0]);
    if (c->output || c->emit != EMIT_ARCHIVE || c->help || c->version || c->list_operators ||
        c->verify)
        return fail(d, "options: only those that say how to compile, not what to print or where");
    return true;
}

struct forward {
    xcc_message message;
    void *user;
};

static void forward_warning(void *user, const char *text)
{
    const struct forward *f = user;
    if (f->message)
        f->message(f->user, XCC_WARNING, text);
}

static void forward_note(void *user, const char *text)
{
    const struct forward *f = user;
    if (f->message)
        f->message(f->user, XCC_NOTE, text);
}

static bool compile_model(const char *path, struct command *c, struct xcc_bytes *out,
                          struct diag *d)
{
    bool text = is_assembly(path);
    if (kernels_of_command(c, d))
        return false;
    struct graph *g = text ? NULL : load_model(path, &c->import, d);
    struct program *p = text ? assemble(path, c, d)
                        : g  ? compile_checked(path, &g, c, forward_note, d->user, d)
                             : NULL;
    bool ok = p && neff_write_memory(p, &out->data, &out->size, d);
    program_free(p);
    graph_free(g);
    return ok;
}

static bool compile_to_memory(const char *path, const char *options, struct xcc_bytes *out, xcc_message message,
                 void *user)
{
    struct forward f = {message, user};
    struct diag d = {.warn = forward_warning, .user = &f};
    struct command c;
    struct arena words = {0};
    *out = (struct xcc_bytes){0};
    if (parse(&c, options, &words, &d) && !compile_model(path, &c, out, &d)) {
        size_t n = strlen(path);
        if (strncmp(d.text, path, n) || d.text[n] != ':')
            fail_in(&d, "%s", path);
    }
    command_free(&c);
    arena_free(&words);
    return !diag_failed(&d) || api_fail(&d);
}

bool xcc_compile(const char *path, const char *options, struct xcc_bytes *out, xcc_message message,
                 void *user)
{
    struct recovery r;
    if (RECOVERED(r)) {
        struct diag d = {0};
        fail_memory(&d, "%s: out of memory", path);
        *out = (struct xcc_bytes){0};
        return api_fail(&d);
    }
    bool ok = compile_to_memory(path, options, out, message, user);
    recovery_end(&r);
    return ok;
}

bool xcc_compile_memory(const void *model, size_t size, const char *name, const char *options,
                        struct xcc_bytes *out, xcc_message message, void *user)
{
    struct diag d = {0};
    *out = (struct xcc_bytes){0};
    if (!file_lend(name, model, size, &d))
        return api_fail(&d);
    bool ok = xcc_compile(name, options, out, message, user);
    file_lend(NULL, NULL, 0, &d);
    return ok;
}

static bool simulate(const void *archive, size_t size, int cores, struct xcc_bytes *json, struct diag *d)
{
    struct neff_file f = {0};
    if (!neff_open_memory(&f, archive, size, "archive", d))
        return false;
    char *text = NULL;
    struct program *p = neff_program(&f, false, d);
    FILE *out = p ? open_memstream(&text, &json->size) : NULL;
    bool ok = out && report_json(p, cores, out, d);
    if (out && fclose(out) != 0)
        ok = false;
    program_free(p);
    neff_close(&f);
    json->data = ok ? text : NULL;
    if (!ok)
        free(text);
    return ok || diag_failed(d) ? ok : fail_memory(d, "out of memory");
}

bool xcc_simulate(const void *archive, size_t size, struct xcc_bytes *json)
{
    return xcc_simulate_cores(archive, size, 1, json);
}

bool xcc_simulate_cores(const void *archive, size_t size, int cores, struct xcc_bytes *json)
{
    struct diag d = {0};
    *json = (struct xcc_bytes){0};
    if (cores < 1 || cores > SIM_CORES) {
        fail(&d, "a program is simulated on 1 or %d cores, not %d", SIM_CORES, cores);
        return api_fail(&d);
    }
    void *aligned = aligned_alloc(64, (size + 63) / 64 * 64 + 64); /* as it would be mapped */
    bool ok = aligned || fail_memory(&d, "out of memory");
    if (ok)
        memcpy(aligned, archive, size);
    ok = ok && simulate(aligned, size, cores, json, &d);
    free(aligned);
    return ok || api_fail(&d);
}
