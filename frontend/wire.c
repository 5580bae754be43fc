#include "frontend/wire.h"

#include <string.h>

bool wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    const uint8_t *at = *p;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
        uint8_t b = *at++;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *p = at;
            *out = v;
            return true;
        }
    }
    return false;
}

static bool bad(struct wire *w, const char *why)
{
    w->bad = why;
    return false;
}

/* n bytes of content. */
static bool take(struct wire *w, struct wire_field *f, uint64_t n)
{
    uint64_t left = (uint64_t)(w->end - w->p);
    if (n > left && !w->clip)
        return bad(w, "cut off: a field reaches past the end of the data");
    f->data = w->p;
    f->size = (size_t)(n < left ? n : left);
    w->p += f->size;
    return true;
}

bool wire_next(struct wire *w, struct wire_field *f)
{
    static const uint8_t fixed[8] = {[WIRE_FIXED64] = 8, [WIRE_FIXED32] = 4};
    uint64_t tag, n = 0;
    if (w->bad || w->p == w->end)
        return false;
    *f = (struct wire_field){.start = w->p};
    if (!wire_varint(&w->p, w->end, &tag))
        return bad(w, "cut off");
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return bad(w, "a field without a number that fields have");
    f->number = (uint32_t)(tag >> 3);
    f->type = (int)(tag & 7);
    if (f->type == WIRE_VARINT)
        return wire_varint(&w->p, w->end, &f->value) || bad(w, "cut off");
    if (f->type == WIRE_BYTES && !wire_varint(&w->p, w->end, &n))
        return bad(w, "cut off");
    if (f->type != WIRE_BYTES && !fixed[f->type])
        return bad(w, "a field of a wire type that is not used");
    if (!take(w, f, fixed[f->type] ? fixed[f->type] : n))
        return false;
    if (fixed[f->type])
        memcpy(&f->value, f->data, f->size);
    return true;
}
