#define _GNU_SOURCE
#include "runtime/io/crash.h"

#include "neff/base/clock.h"
#include "neff/base/file.h"
#include "runtime/custom/custom.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

/* Begins the message: "xrun: operator my.ops::Leaky crashed (core 0)". */
static int say(char *text, size_t room, const struct custom_work *at, const char *what)
{
    if (at->core == CUSTOM_SHAPE)
        return snprintf(text, room, "%s: operator %.400s %s (shape function)", name, at->op, what);
    return snprintf(text, room, "%s: operator %.400s %s (core %d)", name, at->op, what, at->core);
}

static void end(const char *text, int n, size_t room)
{
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n < room ? (size_t)n : room) < 0)
        _exit(1);
    out_remove_temporaries();
    _exit(1);
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
    bool hint = memory && !at->guarded && at->core != CUSTOM_SHAPE;
    int n = say(text, sizeof text, at, "crashed");
    n += snprintf(text + n, sizeof text - (size_t)n, ": %s%s%s%s\n", signal_text(number), known ? ", " : "",
                  known ? where : "", hint ? "; --guard-operands finds accesses outside its operands" : "");
    end(text, n, sizeof text);
}

/* exit() in an operator: it is none of the program's, whose results are missing. */
static void left(void)
{
    const struct custom_work *at = custom_at_work;
    char text[1024];
    if (!at)
        return;
    int n = say(text, sizeof text, at, "ended the program by exit()");
    n += snprintf(text + n, sizeof text - (size_t)n, "\n");
    end(text, n, sizeof text);
}

/* A stack for the handler: an operator may have used up the thread's. Kept until the process ends. */
static void prepare_thread(void)
{
    enum { BYTES = 1 << 16 };
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE))
        return;
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = BYTES}, NULL);
}

/* ---- operators that do not return ---- */

enum { MAX_THREADS = 256 };
static double limit; /* seconds that an operator may take; 0: any */
static atomic_int threads[MAX_THREADS]; /* that operators have run in, by the system's numbers */
static atomic_int nthreads;
static _Thread_local double since; /* when the operator at work in this thread began */

/* The timer's signal comes to any thread, which asks all others; who is no longer there is asked in vain. */
static void look_at_clock(int number, siginfo_t *info, void *context)
{
    const struct custom_work *at = custom_at_work;
    int before = errno, n = nthreads < MAX_THREADS ? nthreads : MAX_THREADS;
    (void)context;
    if (at && seconds_now() - since > limit) {
        char text[1024];
        int length = say(text, sizeof text, at, "has not returned in the time that --limit-seconds allows");
        length += snprintf(text + length, sizeof text - (size_t)length, "\n");
        end(text, length, sizeof text);
    }
    for (int i = 0; i < n && info->si_code != SI_TKILL; i++)
        syscall(SYS_tgkill, getpid(), threads[i], number);
    errno = before;
}

/* In a thread's first call, and for the first thread the timer, which ticks a few times before the limit. */
static void watch_thread(void)
{
    static _Thread_local bool known;
    since = seconds_now();
    if (known)
        return;
    known = true;
    int i = atomic_fetch_add(&nthreads, 1);
    if (i < MAX_THREADS)
        threads[i] = (int)syscall(SYS_gettid);
    if (i > 0)
        return;
    double tick = limit / 4 < 0.01 ? 0.01 : limit / 4 > 1 ? 1 : limit / 4;
    struct timeval each = {(time_t)tick, (suseconds_t)((tick - (double)(time_t)tick) * 1e6)};
    struct sigaction act = {.sa_sigaction = look_at_clock, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){each, each}, NULL);
}

void crash_report_limit(double seconds)
{
    limit = seconds;
}

const char *crash_operator_at_work(void)
{
    const struct custom_work *at = custom_at_work;
    return at ? at->op : NULL;
}

static void prepare(void)
{
    prepare_thread();
    if (limit > 0)
        watch_thread();
}

void crash_report_install(const char *program)
{
    struct sigaction act = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    name = program;
    custom_prepare_thread = prepare;
    atexit(left);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i].number, &act, NULL);
}
