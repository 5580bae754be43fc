/* Numbers and strings of MLIR bytecode. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

bool bc_fail(struct bc_reader *r, const struct bc_cursor *at, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (at && at->p >= r->data && at->p <= r->data + r->size)
        return fail(r->d, "%s: byte %zu: %s", r->file, (size_t)(at->p - r->data), text);
    return fail(r->d, "%s: %s", r->file, text);
}

uint8_t bc_byte(struct bc_cursor *c)
{
    if (c->p >= c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}

/* The number of zero bits below the lowest one bit of the first byte is that of further bytes. */
uint64_t bc_varint(struct bc_cursor *c)
{
    uint64_t first = bc_byte(c), v = 0;
    if (first & 1)
        return first >> 1;
    int more = first ? __builtin_ctz((unsigned)first) : 8;
    if (c->end - c->p < more) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    memcpy(&v, c->p, (size_t)more);
    c->p += more;
    if (more == 8)
        return v;
    return (first >> (more + 1)) | v << (7 - more);
}

int64_t bc_signed(struct bc_cursor *c)
{
    uint64_t v = bc_varint(c);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

int bc_count(struct bc_cursor *c)
{
    uint64_t n = bc_varint(c);
    if (n > (uint64_t)(c->end - c->p) || n > 1 << 28) {
        c->bad = true;
        return 0;
    }
    return (int)n;
}

int64_t bc_apint(struct bc_cursor *c, int bits)
{
    int64_t v = bits <= 8 ? bc_byte(c) : bc_signed(c);
    if (bits < 64)
        v = (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
    return v;
}

double bc_double(struct bc_cursor *c)
{
    int64_t bits = bc_signed(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

const char *bc_string(struct bc_reader *r, struct bc_cursor *c, size_t *size)
{
    uint64_t k = bc_varint(c);
    if (k >= (uint64_t)r->string_count) {
        c->bad = true;
        return "";
    }
    if (size)
        *size = r->strings[k].size;
    return r->strings[k].s;
}

bool bc_blob(struct bc_cursor *c, const uint8_t **p, size_t *n)
{
    uint64_t size = bc_varint(c);
    if (size > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        return false;
    }
    *p = c->p;
    *n = (size_t)size;
    c->p += size;
    return true;
}
