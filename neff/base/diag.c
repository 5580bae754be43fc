#include "neff/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the control character that begins here, 0: none does. 2: of C1, in UTF-8. */
static size_t control_bytes(const char *p)
{
    unsigned char first = (unsigned char)p[0], second = first == 0xc2 ? (unsigned char)p[1] : 0;
    return first < ' ' || first == 0x7f ? 1 : second >= 0x80 && second < 0xa0 ? 2 : 0;
}

void text_show_controls(char *text, size_t size)
{
    char plain[DIAG_TEXT];
    size_t n = strlen(text), at = 0;
    bool any = false;
    for (size_t i = 0; i < n && !any; i++)
        any = control_bytes(text + i) != 0;
    if (!any || n >= sizeof plain)
        return;
    memcpy(plain, text, n + 1);
    for (size_t i = 0, bytes; i < n && at + 1 < size; i += bytes) {
        int code = (unsigned char)plain[i + (control_bytes(plain + i) == 2)];
        bytes = control_bytes(plain + i) ? control_bytes(plain + i) : 1;
        if (!control_bytes(plain + i)) {
            text[at++] = plain[i];
            continue;
        }
        char shown[8];
        int length = snprintf(shown, sizeof shown, code == '\n' ? "\\n" : "\\x%02x", (unsigned)code);
        if (at + (size_t)length >= size)
            break;
        memcpy(text + at, shown, (size_t)length);
        at += (size_t)length;
    }
    text[at] = 0;
}

static void set(struct diag *d, const char *fmt, va_list ap)
{
    if (d->text[0])
        return;
    vsnprintf(d->text, sizeof d->text, fmt, ap);
    text_show_controls(d->text, sizeof d->text);
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

/* As much of the text as there is room for, behind what there is. */
static void append(struct diag *d, const char *before, const char *text)
{
    size_t at = strlen(d->text);
    snprintf(d->text + at, sizeof d->text - at, "%s%s", before, text);
}

bool fail_lines(struct diag *d, const char *const *lines, int n, const char *fmt, ...)
{
    bool first = !d->text[0];
    va_list ap;
    va_start(ap, fmt);
    set(d, fmt, ap);
    va_end(ap);
    for (int i = 0; i < n && first; i++) {
        struct diag line = {0};
        append(&line, "", lines[i]);
        text_show_controls(line.text, sizeof line.text);
        append(d, "\n  ", line.text);
    }
    return false;
}

bool fail_in(struct diag *d, const char *fmt, ...)
{
    char old[sizeof d->text];
    memcpy(old, d->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(d->text, sizeof d->text, fmt, ap) < 0)
        d->text[0] = 0;
    va_end(ap);
    text_show_controls(d->text, sizeof d->text);
    append(d, ": ", old); /* which is plain already */
    return false;
}

void warn(struct diag *d, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text_show_controls(text, sizeof text);
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
