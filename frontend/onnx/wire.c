#include "frontend/onnx/wire.h"

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

static bool fixed(struct wire *w, size_t n, uint64_t *out)
{
    if ((size_t)(w->end - w->p) < n)
        return false;
    *out = 0;
    memcpy(out, w->p, n);
    w->p += n;
    return true;
}

static bool bytes(struct wire *w, struct wire_field *f)
{
    uint64_t n;
    if (!wire_varint(&w->p, w->end, &n) || n > (size_t)(w->end - w->p))
        return false;
    f->data = w->p;
    f->size = (size_t)n;
    w->p += n;
    return true;
}

bool wire_next(struct wire *w, struct wire_field *f)
{
    uint64_t tag;
    if (w->bad || w->p == w->end)
        return false;
    *f = (struct wire_field){.start = w->p};
    w->bad = true;
    if (!wire_varint(&w->p, w->end, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->type = (int)(tag & 7);
    bool ok = false;
    switch (f->type) {
    case WIRE_VARINT:
        ok = wire_varint(&w->p, w->end, &f->value);
        break;
    case WIRE_FIXED64:
        ok = fixed(w, 8, &f->value);
        break;
    case WIRE_FIXED32:
        ok = fixed(w, 4, &f->value);
        break;
    case WIRE_BYTES:
        ok = bytes(w, f);
        break;
    }
    w->bad = !ok;
    return ok;
}
