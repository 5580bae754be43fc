#include "frontend/stablehlo/stablehlo.h"

#include "frontend/hlo/lower/lower.h"
#include "frontend/import.h"
#include "frontend/stablehlo/bytecode/bytecode.h"
#include "frontend/stablehlo/bytecode/jax_export.h"
#include "frontend/stablehlo/lower/convert.h"
#include "frontend/stablehlo/verify/verify.h"
#include "neff/base/file.h"

#include <stdlib.h>
#include <string.h>

static bool is_bytecode(const uint8_t *p, size_t n)
{
    return n >= 4 && !memcmp(p, "ML\xefR", 4);
}

/* The first word that is not a comment or an alias. */
static bool is_text(const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
            p++;
        } else if (end - p > 1 && p[0] == '/' && p[1] == '/') {
            const char *e = memchr(p, '\n', (size_t)(end - p));
            p = e ? e + 1 : end;
        } else {
            break;
        }
    }
    static const char *const starts[] = {
        "module {",           "module @",       "module attributes",
        "module\n",           "builtin.module", "func.func",
        "\"builtin.module\"", "\"func.func\"",  "#loc",
        "sdy.mesh",           "vhlo.",          "func @"};
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        size_t m = strlen(starts[k]);
        if ((size_t)(end - p) >= m && !memcmp(p, starts[k], m))
            return true;
    }
    /* an alias: `#name =` or `!name =` */
    if (p < end && (*p == '#' || *p == '!')) {
        for (p++; p < end && *p != '=' && *p != '\n'; p++)
            ;
        return p < end && *p == '=';
    }
    return false;
}

bool stablehlo_detect(const void *data, size_t size)
{
    return is_bytecode(data, size) || is_text(data, size) || jax_export_detect(data, size);
}

struct mlir_module *stablehlo_read(struct arena *a, const char *file, const void *data, size_t size,
                                   struct diag *d)
{
    struct jax_export e;
    if (is_bytecode(data, size))
        return mlir_read_bytecode(a, file, data, size, d);
    if (jax_export_detect(data, size)) {
        if (!jax_export_read(a, file, data, size, &e, d))
            return NULL;
        if (e.devices > 1) {
            d->unsupported = true;
            fail(d, "%s: exported for %lld devices, expected one; export it without shardings",
                 file, (long long)e.devices);
            return NULL;
        }
        struct mlir_module *m = mlir_read_bytecode(a, file, e.module, e.module_size, d);
        for (int k = 0; m && k < e.platform_count; k++)
            if (!strcmp(e.platforms[k], "cpu"))
                m->platform = k;
        return m;
    }
    struct mlir_module *m = mlir_parse(a, file, data, size, d);
    if (m && !vhlo_to_stablehlo(a, m->top, d)) {
        fail_in(d, "%s", file);
        return NULL;
    }
    return m;
}

bool stablehlo_verify(const struct mlir_module *m, struct diag *d)
{
    struct arena a = {0};
    struct hlo_module *h = mlir_verify(m, d) ? stablehlo_convert(&a, m, true, d) : NULL;
    bool ok = h && hlo_verify(h, d);
    arena_free(&a);
    if (!ok && d->unsupported) { /* legal, though not supported */
        diag_clear(d);
        ok = true;
    }
    return ok;
}

struct loaded {
    struct arena arena;
    struct mapped_file file;
};

static void release(void *loaded)
{
    struct loaded *l = loaded;
    if (l) {
        arena_free(&l->arena);
        if (l->file.data)
            file_unmap(&l->file);
    }
    free(l);
}

struct graph *stablehlo_import(const char *path, const struct import_options *o, struct diag *d)
{
    struct loaded *l = calloc(1, sizeof *l);
    if (!l) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    struct mlir_module *m = NULL;
    struct hlo_module *h = NULL;
    if (file_map(&l->file, path, d))
        m = stablehlo_read(&l->arena, path, l->file.data, l->file.size, d);
    else
        l->file.data = NULL;
    if (m && mlir_verify(m, d))
        h = stablehlo_convert(&l->arena, m, false, d);
    if (!h) {
        release(l);
        return NULL;
    }
    return hlo_import_module(h, o, release, l, d);
}
