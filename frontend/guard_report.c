#include "frontend/guard_report.h"

static void warn_of_pins(const struct program *p, const struct command *c)
{
    struct arena scratch = {0};
    bool *seen = ARENA_ARRAY(&scratch, bool, p->dims.nsymbols + 1);
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        int64_t value;
        bool or_one;
        int symbol = guard_pins(&p->dims, g, &value, &or_one);
        if (symbol < 0 || g->region || p->dims.symbols[symbol].runtime || seen[symbol])
            continue;
        seen[symbol] = true;
        fprintf(stderr, "xcc: %s: warning: %s needs %s; the archive refuses other sizes\n",
                c->files[0], g->node, guard_text(&p->dims, &scratch, g));
    }
    arena_free(&scratch);
}

void report_guards(const struct program *p, const struct command *c)
{
    struct arena scratch = {0};
    if (!c->quiet)
        warn_of_pins(p, c);
    for (int i = 0; c->verbose && i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        fprintf(stderr, "guard: %s  %s%s%s%s\n", guard_text(&p->dims, &scratch, g), g->node,
                *g->what ? " (" : "", g->what, *g->what ? ")" : "");
    }
    arena_free(&scratch);
}
