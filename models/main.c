/* build_models: writes ONNX models of real architectures with seeded weights; see README.md. */
#include "models/builders.h"
#include "models/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct model_row {
    const char *name;
    void (*builder)(struct onnx_model *m);
    int opset;
    const char *what;
} rows[] = {
#define MODEL(name, builder, opset, what) {#name, builder, opset, what},
#include "models/models.def"
#undef MODEL
};
enum { ROWS = sizeof rows / sizeof *rows };

struct model_options {
    bool tiny, fixed, external, check;
    const char *out;
};

static int usage(void)
{
    fputs("usage: build_models NAME...|all [--tiny] [--static] [--external] -o DIR\n"
          "       build_models --check MODEL.onnx...\n"
          "writes DIR/NAME/model.onnx and DIR/NAME/test_data_set_N/input_I.npy\n"
          "  --tiny      small widths, few layers: for tests\n"
          "  --static    fixed batch and sequence instead of symbols\n"
          "  --external  weights in model.onnx.data beside the model\n"
          "  --check     check the structure of models\n"
          "models:\n",
          stderr);
    for (int i = 0; i < ROWS; i++)
        fprintf(stderr, "  %-16s %s\n", rows[i].name, rows[i].what);
    return 2;
}

/* Creates `path` and the folders above it. */
static bool make_folder(char *path, struct diag *d)
{
    for (char *c = path + 1;; c++) {
        char end = *c;
        if (end && end != '/')
            continue;
        *c = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail(d, "%s: cannot create: %s", path, strerror(errno));
        *c = end;
        if (!end)
            return true;
    }
}

static int64_t parameters(const struct onnx_model *m)
{
    int64_t total = 0;
    for (int i = 0; i < m->weight_count; i++) {
        int64_t n = fill_element_size(m->weights[i].fill.kind) == 4;
        for (int k = 0; k < m->weights[i].rank; k++)
            n *= m->weights[i].dims[k];
        total += n;
    }
    return total;
}

static bool write_one(const struct model_row *row, const struct model_options *o, struct diag *d)
{
    struct arena a = {0};
    struct onnx_model m = {.arena = &a,
                           .name = row->name,
                           .seed = row->name,
                           .tiny = o->tiny,
                           .fixed = o->fixed,
                           .opset = row->opset};
    row->builder(&m);
    char *folder = arena_printf(&a, "%s/%s", o->out, row->name);
    bool ok = make_folder(folder, d) && model_write(&m, folder, o->external, d) &&
              model_write_inputs(&m, folder, d);
    if (ok)
        printf("%-16s %5d nodes %8.2f M parameters %8.3f GMAC\n", row->name, m.node_count,
               (double)parameters(&m) / 1e6, (double)m.macs / 1e9);
    arena_free(&a);
    return ok;
}

static bool parse(int argc, char **argv, struct model_options *o, const char **names, int *count)
{
    static const struct {
        const char *text;
        size_t at;
    } flags[] = {{"--tiny", offsetof(struct model_options, tiny)},
                 {"--static", offsetof(struct model_options, fixed)},
                 {"--external", offsetof(struct model_options, external)},
                 {"--check", offsetof(struct model_options, check)}};
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (!strcmp(argv[i], flags[k].text))
                known = *(bool *)((char *)o + flags[k].at) = true;
        if (known)
            continue;
        if (!strcmp(argv[i], "-o") && i + 1 < argc)
            o->out = argv[++i];
        else if (argv[i][0] != '-')
            names[(*count)++] = argv[i];
        else
            return false;
    }
    return *count > 0 && (o->check || o->out);
}

static bool write_named(const char *name, const struct model_options *o, struct diag *d)
{
    bool all = !strcmp(name, "all"), found = false, ok = true;
    for (int i = 0; ok && i < ROWS; i++)
        if (all || !strcmp(name, rows[i].name)) {
            found = true;
            ok = write_one(&rows[i], o, d);
        }
    return ok && (found || fail(d,
                                "no model is called '%s', build_models without arguments "
                                "lists them",
                                name));
}

int main(int argc, char **argv)
{
    struct model_options o = {0};
    struct arena a = {0};
    const char **names = ARENA_ARRAY(&a, const char *, argc);
    int count = 0;
    if (!parse(argc, argv, &o, names, &count)) {
        arena_free(&a);
        return usage();
    }
    struct diag d = {0};
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = o.check ? check_model(names[i], &d) : write_named(names[i], &o, &d);
    if (!ok)
        fprintf(stderr, "build_models: %s\n", d.text);
    arena_free(&a);
    return ok ? 0 : 1;
}
