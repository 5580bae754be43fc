#include "runtime/io/crash.h"

#include "neff/base/file.h"
#include "runtime/custom/custom.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *name = "";

static const struct {
    int number;
    const char *text;
} signals[] = {{SIGSEGV, "invalid memory access"},
               {SIGBUS, "invalid memory access"},
               {SIGFPE, "division by zero"},
               {SIGILL, "invalid instruction"},
               {SIGABRT, "abort"}};

static const char *signal_text(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number)
            return signals[i].text;
    return "signal";
}

/* snprintf of whole numbers and strings takes no lock and no memory. */
static void crashed(int number, siginfo_t *info, void *context)
{
    const struct custom_work *at = custom_at_work;
    char text[1024], where[512];
    (void)context;
    if (!at) { /* none of theirs: what would have happened */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    bool memory = number == SIGSEGV || number == SIGBUS;
    bool known = memory && guarded_describe(at->guarded, info->si_addr, where, sizeof where);
    int n = snprintf(
        text, sizeof text, "%s: operator %s crashed (core %d): %s%s%s%s\n", name, at->op, at->core,
        signal_text(number), known ? ", " : "", known ? where : "",
        memory && !at->guarded ? "; --guard-operands finds accesses outside its operands" : "");
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n < sizeof text ? (size_t)n : sizeof text) < 0)
        _exit(1);
    out_remove_temporaries();
    _exit(1);
}

void crash_report_install(const char *program)
{
    struct sigaction act = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_NODEFER};
    name = program;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i].number, &act, NULL);
}
