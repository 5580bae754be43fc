/*
 * For programs: a signal that ends the process while an operator of a library runs, and exit() in
 * one, are reported with the operator's name, and the process ends with status 1.
 */
#ifndef RUNTIME_IO_CRASH_H
#define RUNTIME_IO_CRASH_H

/* `program` begins the message. */
void crash_report_install(const char *program);

#endif
