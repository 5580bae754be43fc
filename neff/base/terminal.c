#define _GNU_SOURCE
#include "neff/base/terminal.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __GLIBC__ /* where a stream may be one of the program's own */

struct terminal {
    int fd;
    bool c2; /* the last byte was the first of two that C1 has in UTF-8 */
};

static bool write_all(int fd, const char *p, size_t n)
{
    for (ssize_t k; n > 0; p += k, n -= (size_t)k)
        if ((k = write(fd, p, n)) <= 0)
            return false;
    return true;
}

static bool controls(struct terminal *t, unsigned char c)
{
    bool c1 = t->c2 && c >= 0x80 && c < 0xa0;
    t->c2 = c == 0xc2;
    return c1 || c == 0x7f || (c < ' ' && c != '\n' && c != '\t');
}

static ssize_t write_shown(void *cookie, const char *p, size_t n)
{
    struct terminal *t = cookie;
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        char shown[8];
        if (!controls(t, c))
            continue;
        int length = snprintf(shown, sizeof shown, "\\x%02x", c);
        if (!write_all(t->fd, p + from, i - from) || !write_all(t->fd, shown, (size_t)length))
            return 0;
        from = i + 1;
    }
    return write_all(t->fd, p + from, n - from) ? (ssize_t)n : 0;
}

static FILE *shown(FILE *old, struct terminal *t, int buffering)
{
    FILE *f = isatty(t->fd) ? fopencookie(t, "w", (cookie_io_functions_t){.write = write_shown}) : NULL;
    if (f)
        setvbuf(f, NULL, buffering, 0);
    return f ? f : old;
}

void terminal_show_controls(void)
{
    static struct terminal out = {STDOUT_FILENO, false}, err = {STDERR_FILENO, false};
    stdout = shown(stdout, &out, _IOLBF);
    stderr = shown(stderr, &err, _IONBF);
}

#else

void terminal_show_controls(void) {}

#endif
