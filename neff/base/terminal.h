/*
 * What programs print has names of files that others made, and names may have control characters, which could move a
 * terminal's cursor or write to its clipboard.
 */
#ifndef NEFF_BASE_TERMINAL_H
#define NEFF_BASE_TERMINAL_H

/* From now on stdout and stderr show them as text, where they are terminals: \x1b. For a main(). */
void terminal_show_controls(void);

#endif
