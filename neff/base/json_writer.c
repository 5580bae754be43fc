#include "neff/base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct json_writer *w, const char *p, size_t n)
{
    if (w->room - w->size < n) {
        size_t room = 2 * (w->size + n) + 256;
        char *grown = arena_alloc(w->a, room);
        if (w->size)
            memcpy(grown, w->text, w->size);
        w->text = grown;
        w->room = room;
    }
    memcpy(w->text + w->size, p, n);
    w->size += n;
}

static void put_line(struct json_writer *w)
{
    put(w, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        put(w, " ", 1);
}

/* What comes between the value or name to be written and that before it. */
static void separate(struct json_writer *w)
{
    if (!w->named && w->depth) {
        if (!w->empty)
            put(w, ",", 1);
        put_line(w);
    }
    w->named = w->empty = false;
}

static void put_string(struct json_writer *w, const char *s)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    bool clean = json_is_utf8(s, strlen(s));
    put(w, "\"", 1);
    for (; *s; s++) {
        const char *escape = strchr(values, *s);
        char text[8];
        if (escape)
            put(w, text, (size_t)snprintf(text, sizeof text, "\\%c", names[escape - values]));
        else if ((uint8_t)*s < 0x20)
            put(w, text, (size_t)snprintf(text, sizeof text, "\\u%04X", (unsigned)(uint8_t)*s));
        else
            put(w, clean || (uint8_t)*s < 0x80 ? s : "?", 1);
    }
    put(w, "\"", 1);
}

void json_begin(struct json_writer *w, char bracket)
{
    separate(w);
    put(w, &bracket, 1);
    w->depth++;
    w->empty = true;
}

void json_end(struct json_writer *w, char bracket)
{
    w->depth--;
    if (!w->empty)
        put_line(w);
    put(w, &bracket, 1);
    w->empty = false;
}

void json_name(struct json_writer *w, const char *name)
{
    separate(w);
    put_string(w, name);
    put(w, ": ", 2);
    w->named = true;
}

static void put_word(struct json_writer *w, const char *word)
{
    separate(w);
    put(w, word, strlen(word));
}

void json_text(struct json_writer *w, const char *s)
{
    separate(w);
    put_string(w, s ? s : "");
}

void json_integer(struct json_writer *w, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, v);
    put_word(w, text);
}

void json_real(struct json_writer *w, double v)
{
    char text[40];
    if (!isfinite(v)) {
        json_null(w);
        return;
    }
    snprintf(text, sizeof text, "%.17g", v);
    put_word(w, text);
    if (!strpbrk(text, ".e"))
        put(w, ".0", 2);
}

void json_bool(struct json_writer *w, bool v)
{
    put_word(w, v ? "true" : "false");
}

void json_null(struct json_writer *w)
{
    put_word(w, "null");
}

void json_put_text(struct json_writer *w, const char *name, const char *s)
{
    json_name(w, name);
    json_text(w, s);
}

void json_put_integer(struct json_writer *w, const char *name, int64_t v)
{
    json_name(w, name);
    json_integer(w, v);
}

void json_put_real(struct json_writer *w, const char *name, double v)
{
    json_name(w, name);
    json_real(w, v);
}

void json_put_bool(struct json_writer *w, const char *name, bool v)
{
    json_name(w, name);
    json_bool(w, v);
}

static void copy(struct json_writer *w, struct json_reader *r)
{
    if (json_begins(r, '{')) {
        json_begin(w, '{');
        json_enter(r, '{');
        for (const char *name; (name = json_read_key(r)); copy(w, r))
            json_name(w, name);
        json_end(w, '}');
    } else if (json_begins(r, '[')) {
        json_begin(w, '[');
        json_enter(r, '[');
        while (json_read_element(r))
            copy(w, r);
        json_end(w, ']');
    } else if (json_begins(r, '"')) {
        json_text(w, json_read_text(r, w->a));
    } else {
        separate(w);
        const char *at = json_value(r);
        put(w, at, (size_t)(r->at - at));
    }
}

void json_copy(struct json_writer *w, struct json_reader *r)
{
    struct json_writer before = *w;
    copy(w, r);
    if (!r->problem)
        return;
    *w = before; /* the text that was there is where it was */
    json_null(w);
}
