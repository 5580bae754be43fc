/*
 * Between quick.c and quick_window.c: windows of arrays that slots lie in.
 */
#ifndef RUNTIME_EXEC_QUICK_WINDOW_H
#define RUNTIME_EXEC_QUICK_WINDOW_H

#include "runtime/exec/quick.h"

struct quick_windows { /* of a loop's body */
    bool *moved;              /* per slot: its address changes while the body runs */
    struct quick_line **line; /* per step: what puts slots into a window before it, or NULL */
    bool *done;               /* per step: nothing is left of it */
    int count;                /* of such slots */
};
void quick_windows_find(const struct context *c, struct bound *b, int region, struct quick_windows *w);

/* The call as an operation on a window, if it is one. */
bool quick_find_window(const struct bound *b, const struct call *call, struct arena *a, struct quick_line *line);

#endif
