#include "frontend/neuronx_options.h"

#include "frontend/hlo/syntax/hlo.h"
#include "neff/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum arity { NOTHING, VALUE, WORDS, PREFIX }; /* WORDS: all words up to the next flag */

/* Flags that need nothing done; the text says what holds here instead. */
static const struct {
    const char *name;
    enum arity arity;
    const char *values; /* admitted ones, separated by '|'; NULL: any */
    const char *note;
} accepted[] = {
    {"--model-type", VALUE, "generic|transformer|unet-inference|cnn-training|cnn-inference",
     "the passes look at the graph itself, whatever kind of model it is"},
    {"--native-int64", VALUE, "default|enabled|disabled",
     "64-bit integers are always computed as they are"},
    {"--implicit-integer-downcast", VALUE, NULL,
     "integers are never cast to floats or to fewer bits"},
    {"--distribution-strategy", VALUE, "llm-training|nemo|NEMO", "programs run on one device"},
    {"--logical-nc-config", VALUE, "1|2", "the runtime shares work among threads"},
    {"--lnc", VALUE, "1|2", "the runtime shares work among threads"},
    {"-lnc", VALUE, "1|2", "the runtime shares work among threads"},
    {"--enable-mixed-precision-accumulation", NOTHING, NULL,
     "sums are always accumulated in FP32 or wider"},
    {"--disable-mixed-precision-accumulation", NOTHING, NULL,
     "sums are accumulated in FP32 or wider all the same"},
    {"--enable-saturate-infinity", NOTHING, NULL,
     "transposes move elements unchanged, infinities too"},
    {"--enable-fast-context-switch", NOTHING, NULL, "weights are mapped and read when first used"},
    {"--enable-fast-loading-neuron-binaries", NOTHING, NULL, "archives are never compressed"},
    {"--enable-experimental-O1", NOTHING, NULL, "use -O1"},
    {"--num-parallel-jobs", VALUE, NULL, "compiling takes one thread"},
    {"--pipeline", WORDS, NULL, "all passes run; --passes chooses some"},
    {"--tensorizer-options", VALUE, NULL, "there is no tensorizer to tune"},
    {"--hbm-scratchpad-page-size", VALUE, NULL, "memory is planned as one arena"},
    {"--disable-dge", NOTHING, NULL, "descriptors are made while loading"},
    {"--enable-internal-neff-wrapper", NOTHING, NULL, "the archive is always whole"},
    {"--dump", VALUE, NULL, "--emit and --print-after print what there is"},
    {"--retry_failed_compilation", NOTHING, NULL, "nothing is cached"},
    {"--no_cache", NOTHING, NULL, "nothing is cached"},
    {"--cache_dir", VALUE, NULL, "nothing is cached"},
    {"--log_level", VALUE, NULL, "--verbose chooses what is printed"},
    {"--internal-", PREFIX, NULL, "a switch of another compiler's insides"},
};

static const char *const levels[] = {"debug", "info", "warning", "error", "critical"};
enum { LEVEL_INFO = 1, LEVEL_WARNING = 2, NLEVELS = 5 };

void neuronx_defaults(struct command *c)
{
    c->neuronx = true;
    c->options.auto_cast = CAST_NONE;
    c->log_level = LEVEL_WARNING;
}

static void add_note(struct command *c, const char *flag, const char *value, const char *note)
{
    c->notes = arena_printf(&c->arena, "%s%s%s%s: accepted; %s\n", c->notes ? c->notes : "", flag,
                            value ? " " : "", value ? value : "", note);
}

/* A name, or a number as Python's logging has them. */
static bool set_level(struct command *c, const char *v, struct diag *d)
{
    for (int k = 0; k < NLEVELS; k++)
        if (!strcmp(v, levels[k])) {
            c->log_level = k;
            return true;
        }
    char *end;
    long n = strtol(v, &end, 10);
    if (end == v || *end || n < 0)
        return fail(
            d, "--verbose takes debug, info, warning, error, critical or a number, got '%s'", v);
    c->log_level = n <= 10 ? 0 : n <= 20 ? 1 : n <= 30 ? 2 : n <= 40 ? 3 : 4;
    return true;
}

/* The value after the name, or joined to it by '='. */
static const char *value_of(int argc, char **argv, int *i, const char *equals)
{
    if (equals)
        return equals + 1;
    return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool admits(const char *values, const char *v)
{
    size_t n = strlen(v);
    for (const char *s = values; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL)
        if (!strncmp(s, v, n) && (s[n] == 0 || s[n] == '|'))
            return true;
    return !values;
}

bool neuronx_flag(struct command *c, int argc, char **argv, int *i, bool *taken, struct diag *d)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    *taken = true;
    bool log = n == 9 && !strncmp(word, "--logfile", n),
         verbose = n == 9 && !strncmp(word, "--verbose", n);
    bool level = n == 10 && !strncmp(word, "--optlevel", n);
    if (log || verbose || level) {
        const char *v = value_of(argc, argv, i, equals);
        if (!v)
            return fail(d, "%s needs a value", word);
        if (log)
            c->logfile = v;
        if (level && (v[0] < '1' || v[0] > '3' || v[1]))
            return fail(d, "--optlevel takes 1, 2 or 3, got '%s'", v);
        if (level)
            c->options.opt_level = v[0] - '0';
        return !verbose || set_level(c, v, d);
    }
    for (size_t k = 0; k < sizeof accepted / sizeof *accepted; k++) {
        const char *name = accepted[k].name, *v = NULL;
        bool prefix = accepted[k].arity == PREFIX;
        if (strncmp(name, word, prefix ? strlen(name) : n) || (!prefix && name[n]))
            continue;
        if (accepted[k].arity == VALUE && !(v = value_of(argc, argv, i, equals)))
            return fail(d, "%s needs a value", name);
        while (accepted[k].arity == WORDS && *i + 1 < argc && argv[*i + 1][0] != '-')
            ++*i;
        if (v && !admits(accepted[k].values, v))
            return fail(d, "%s takes %s, got '%s'", name, accepted[k].values, v);
        add_note(c, prefix ? word : name, v, accepted[k].note);
        return true;
    }
    *taken = false;
    return true;
}

/* At the end, when the inputs are known, which it does not replace. */
static void write_log(const struct command *c, const char *text)
{
    struct diag d = {0};
    if (c->logfile && c->output && (!strcmp(c->logfile, c->output) || file_same(c->logfile, c->output)))
        fail(&d, "%s: is the archive; name another log file", c->logfile);
    else if (c->logfile)
        file_write_all(c->logfile, text, strlen(text), &d);
    if (diag_failed(&d))
        fprintf(stderr, "xcc: warning: no log file: %s\n", d.text);
}

void neuronx_begin(const struct command *c)
{
    if (!c->neuronx)
        return;
    if (c->notes && c->log_level <= LEVEL_INFO && !c->quiet)
        fputs(c->notes, stdout);
}

void neuronx_end(const struct command *c, int status, const char *text)
{
    const char *verdict = status ? "FAIL" : "PASS", *notes = c->notes ? c->notes : "";
    if (!c->neuronx)
        return;
    if (!c->quiet)
        printf("%sCompiler status %s\n", status ? "" : "\n", verdict);
    char *log = NULL;
    size_t size;
    FILE *f = c->logfile ? open_memstream(&log, &size) : NULL;
    if (f) {
        fprintf(f, "%s%s%sCompiler status %s\n", notes, text, *text ? "\n" : "", verdict);
        if (fclose(f) == 0)
            write_log(c, log);
    }
    free(log);
}

int neuronx_list_operators(int argc, char **argv)
{
    const char *framework = "XLA";
    for (int i = 0; i < argc; i++) {
        bool joined = !strncmp(argv[i], "--framework=", 12);
        if (joined)
            framework = argv[i] + 12;
        else if (!strcmp(argv[i], "--framework") && i + 1 < argc)
            framework = argv[++i];
        else
            return fprintf(stderr, "xcc: list-operators takes --framework XLA or ONNX, got '%s'\n",
                           argv[i]),
                   EXIT_USAGE;
    }
    if (!strcmp(framework, "XLA"))
        hlo_list_operators(stdout);
    else if (!strcmp(framework, "ONNX"))
        print_operators();
    else
        return fprintf(stderr, "xcc: --framework takes XLA or ONNX, got '%s'\n", framework),
               EXIT_USAGE;
    return 0;
}
