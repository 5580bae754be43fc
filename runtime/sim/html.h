/*
 * The time line: one page that needs nothing else. page.html, page.css and page.js are in it as
 * they are, then the data.
 */
#ifndef RUNTIME_SIM_HTML_H
#define RUNTIME_SIM_HTML_H

#include "runtime/sim/sim.h"

struct html_run {
    const char *name;            /* shown over its tracks */
    struct sim *s;               /* a simulated run, */
    const struct sim_summary *y; /* with its summary; */
    const char *trace;           /* or what xrun --profile wrote */
    size_t trace_size;
};

/* False with a message when there is more than a page can show. */
bool html_write(const char *title, const struct html_run *runs, int nruns, FILE *out,
                struct diag *d);

#endif
