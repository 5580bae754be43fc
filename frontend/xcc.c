/*
 * The compiler's program: xcc MODEL -o OUT.neff, xcc test DIR...
 */
#include "frontend/driver.h"
#include "frontend/neuronx_options.h"
#include "frontend/verify.h"
#include "neff/base/file.h"
#include "neff/base/memory.h"
#include "neff/base/terminal.h"
#include "neff/base/version.h"
#include "runtime/io/crash.h"
#include "runtime/io/sign.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int usage(const char *text)
{
    fprintf(stderr, "xcc: %s\n", text);
    return EXIT_USAGE;
}

/* xcc sign ARCHIVE --key K, or --new-key K. */
static int sign_command(int n, char **args)
{
    struct diag d = {0};
    bool new_key = n == 2 && !strcmp(args[0], "--new-key");
    bool first = n == 3 && !strcmp(args[0], "--key"), last = n == 3 && !strcmp(args[1], "--key");
    if (!new_key && !first && !last)
        return usage("sign ARCHIVE.neff --key KEY, or sign --new-key KEY");
    const char *key = first ? args[1] : last ? args[2] : "";
    size_t n_key = strlen(key);
    if (n_key > 4 && !strcmp(key + n_key - 4, ".pub"))
        return usage("sign: KEY.pub is for those who check; sign with KEY, the file beside it");
    if (new_key ? sign_new_key(args[1], &d)
                : sign_archive(args[first ? 2 : 0], args[first ? 1 : 2], &d))
        return 0;
    fprintf(stderr, "xcc: %s\n", d.text);
    return EXIT_BAD_INPUT;
}

static void out_of_time(int signal)
{
    const char *op = crash_operator_at_work();
    char text[1024];
    int n = snprintf(text, sizeof text, "xcc: it takes longer than --limit-seconds allows%s%.400s%s\n",
                     op ? "; operator " : "", op ? op : "", op ? " has not returned" : "");
    out_remove_temporaries();
    ssize_t written = write(STDERR_FILENO, text, (size_t)n);
    _exit(written < 0 ? EXIT_INTERNAL : EXIT_BAD_INPUT);
}

static void set_limits(const struct command *c)
{
    if (c->limit_memory > 0 && c->limit_memory < 1e18) /* more is no limit */
        memory_limit((size_t)c->limit_memory);
    if (c->limit_seconds > 0) {
        signal(SIGALRM, out_of_time);
        alarm((unsigned)c->limit_seconds);
    }
}

static int run(struct command *c, bool test)
{
    set_limits(c);
    if (c->help)
        return print_help(), 0;
    if (c->version)
        return printf("xcc %s\n", xcc_version_text), 0;
    if (c->list_operators)
        return print_operators(), 0;
    if (test)
        return c->nfiles ? test_command(c) : usage("test: name one or more folders");
    if (c->verify && c->nfiles)
        return verify_command(c);
    if (c->nfiles != 1)
        return usage(c->nfiles ? "name one model" : "name a model; --help tells more");
    if (!c->output && c->neuronx)
        c->output = "file.neff";
    if (!c->standalone && (c->isa || c->threads || c->amalgamate || c->operators.count))
        return usage("--isa, --threads, --amalgamate and --custom-op-source go with --standalone DIR");
    if (!c->output && !c->standalone && c->emit == EMIT_ARCHIVE)
        return usage("name the archive to write with -o OUT.neff");
    if (c->output && file_same(c->output, c->files[0])) {
        fprintf(stderr, "xcc: %s: is the model itself; name another file with -o\n", c->output);
        return EXIT_BAD_INPUT;
    }
    return compile_command(c);
}

int main(int argc, char **argv)
{
    memory_cap();
    terminal_show_controls();
    out_clean_when_interrupted();
    file_note_inputs(true);
    memory_return_large();
    crash_report_install("xcc");
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with its message */
    struct command c;
    struct diag d = {0};
    const char *word = argc > 1 ? argv[1] : "";
    if (!strcmp(word, "sign"))
        return sign_command(argc - 2, argv + 2);
    if (!strcmp(word, "list-operators"))
        return out_printed("xcc", neuronx_list_operators(argc - 2, argv + 2));
    enum subcommand sub = !strcmp(word, "test")      ? COMMAND_TEST
                          : !strcmp(word, "compile") ? COMMAND_COMPILE
                                                     : COMMAND_PLAIN;
    int skip = sub == COMMAND_PLAIN ? 1 : 2;
    int status = command_parse(&c, argc - skip, argv + skip, sub, &d) ? run(&c, sub == COMMAND_TEST)
                                                                      : usage(d.text);
    command_free(&c);
    return out_printed("xcc", status);
}
