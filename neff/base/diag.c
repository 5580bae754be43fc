#include "neff/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set(struct diag *d, const char *fmt, va_list ap)
{
    if (d->text[0])
        return;
    vsnprintf(d->text, sizeof d->text, fmt, ap);
    if (!d->text[0])
        strcpy(d->text, "failed");
}

bool fail(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(d, fmt, ap);
    va_end(ap);
    return false;
}

bool fail_internal(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!d->text[0])
        d->internal = true;
    set(d, fmt, ap);
    va_end(ap);
    return false;
}

bool fail_memory(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!d->text[0])
        d->memory = true;
    set(d, fmt, ap);
    va_end(ap);
    return false;
}

bool fail_in(struct diag *d, const char *fmt, ...)
{
    char old[sizeof d->text];
    memcpy(old, d->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    if ((size_t)n < sizeof d->text)
        snprintf(d->text + n, sizeof d->text - (size_t)n, ": %s", old);
    return false;
}

void warn(struct diag *d, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    d->warnings++;
    if (d->warn)
        d->warn(d->user, text);
    else
        fprintf(stderr, "warning: %s\n", text);
}

void diag_clear(struct diag *d)
{
    d->text[0] = 0;
    d->unsupported = d->internal = d->memory = false;
}
