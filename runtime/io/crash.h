/*
 * For programs: a signal that ends the process while an operator of a library runs, and exit() in
 * one, are reported with the operator's name, and the process ends with status 1; so is one that
 * does not return.
 */
#ifndef RUNTIME_IO_CRASH_H
#define RUNTIME_IO_CRASH_H

/* `program` begins the message. */
void crash_report_install(const char *program);
/* From now on an operator that takes longer than `seconds` ends the process likewise. By the timer of SIGALRM. */
void crash_report_limit(double seconds);
/* "domain::Name" of the operator that this thread is in, or NULL; for handlers of signals. */
const char *crash_operator_at_work(void);

#endif
