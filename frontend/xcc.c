/*
 * The compiler's program: xcc MODEL -o OUT.neff, xcc test DIR...
 */
#include "frontend/driver.h"
#include "frontend/neuronx_options.h"
#include "frontend/verify.h"
#include "neff/base/memory.h"
#include "neff/base/version.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static int usage(const char *text)
{
    fprintf(stderr, "xcc: %s\n", text);
    return EXIT_USAGE;
}

static int run(struct command *c, bool test)
{
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
    if (!c->output && c->emit == EMIT_ARCHIVE)
        return usage("name the archive to write with -o OUT.neff");
    return compile_command(c);
}

int main(int argc, char **argv)
{
    memory_cap();
    memory_return_large();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with its message */
    struct command c;
    struct diag d = {0};
    const char *word = argc > 1 ? argv[1] : "";
    if (!strcmp(word, "list-operators"))
        return neuronx_list_operators(argc - 2, argv + 2);
    enum subcommand sub = !strcmp(word, "test")      ? COMMAND_TEST
                          : !strcmp(word, "compile") ? COMMAND_COMPILE
                                                     : COMMAND_PLAIN;
    int skip = sub == COMMAND_PLAIN ? 1 : 2;
    int status = command_parse(&c, argc - skip, argv + skip, sub, &d) ? run(&c, sub == COMMAND_TEST)
                                                                      : usage(d.text);
    command_free(&c);
    return status;
}
