#include "passes/pass.h"

#include "neff/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

const struct pass passes[] = {
#define PASS(id, from_level, doc) {#id, doc, from_level, pass_##id},
#include "passes/passes.def"
};
const int npasses = sizeof passes / sizeof *passes;

/* Whether the comma-separated list names it; NULL names nothing. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = list; s && *s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, name, n) && (s[n] == 0 || s[n] == ','))
            return true;
    }
    return false;
}

static bool check_names(const char *list, const char *flag, struct diag *d)
{
    for (const char *s = list; s && *s; s = strchr(s, ',')) {
        s += *s == ',';
        int n = (int)strcspn(s, ",");
        bool known = n == 0;
        for (int i = 0; i < npasses && !known; i++)
            known = (int)strlen(passes[i].name) == n && !strncmp(passes[i].name, s, (size_t)n);
        if (!known && !(n == 3 && !strncmp(s, "all", 3)))
            return fail(d, "%s: there is no pass '%.*s'; --help lists them", flag, n, s);
    }
    return true;
}

void report_time(const char *name, double seconds)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%-12s %9.3f ms   peak %7.1f MB\n", name, 1e3 * seconds,
            (double)usage.ru_maxrss / 1024);
}

static bool run_pass(const struct pass *p, struct graph *g, const struct options *o, struct diag *d)
{
    double start = seconds_now();
    if (!p->run(g, o, d)) {
        if (d->internal)
            fail_in(d, "pass %s", p->name);
        return false;
    }
    if (o->time_passes)
        report_time(p->name, seconds_now() - start);
    if (o->verify_passes && !graph_verify(g, p->name, d))
        return false;
    if (o->print_after && (listed(o->print_after, "all") || listed(o->print_after, p->name))) {
        printf("// after %s\n", p->name);
        graph_print(g, stdout, 16);
    }
    return true;
}

bool passes_run(struct graph *g, const struct options *o, struct diag *d)
{
    if (!check_names(o->only, "--passes", d) || !check_names(o->print_after, "--print-after", d) ||
        !graph_verify(g, "import", d))
        return false;
    for (int i = 0; i < npasses; i++) {
        const struct pass *p = &passes[i];
        bool wanted = o->only ? listed(o->only, p->name) : o->opt_level >= p->from_level;
        if (wanted && p->run && !run_pass(p, g, o, d))
            return false;
    }
    return graph_verify(g, "the last pass", d) && (!g->typed || limits_check(g, d));
}
