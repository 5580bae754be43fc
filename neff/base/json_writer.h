/*
 * Writing JSON text value by value, the counterpart of json.h: one value a line, indented by one
 * blank a level.
 *
 *     json_begin(w, '{');
 *     json_put_integer(w, "size", 3);
 *     json_name(w, "list");
 *     json_begin(w, '[');
 *     json_text(w, "first");
 *     json_end(w, ']');
 *     json_end(w, '}');
 *
 * The caller pairs brackets and gives every member a name. Text that is not UTF-8 is written with
 * '?' for its bytes above 127.
 */
#ifndef NEFF_BASE_JSON_WRITER_H
#define NEFF_BASE_JSON_WRITER_H

#include "neff/base/json.h"

struct json_writer {
    struct arena *a; /* the text lives in it */
    char *text;      /* `size` bytes, not terminated */
    size_t size, room;
    int depth;
    bool empty; /* nothing in the innermost object or array so far */
    bool named; /* the next value follows its name */
};

static inline struct json_writer json_writer(struct arena *a)
{
    return (struct json_writer){.a = a};
}

void json_begin(struct json_writer *w, char bracket); /* '{' or '[' */
void json_end(struct json_writer *w, char bracket);   /* '}' or ']' */
void json_name(struct json_writer *w, const char *name);
void json_text(struct json_writer *w, const char *s); /* NULL: "" */
void json_integer(struct json_writer *w, int64_t v);
void json_real(struct json_writer *w, double v); /* 17 digits; null when not finite */
void json_bool(struct json_writer *w, bool v);
void json_null(struct json_writer *w);
/* A member of an object: its name and value. */
void json_put_text(struct json_writer *w, const char *name, const char *s);
void json_put_integer(struct json_writer *w, const char *name, int64_t v);
void json_put_real(struct json_writer *w, const char *name, double v);
void json_put_bool(struct json_writer *w, const char *name, bool v);
/* The value at hand in r as it is there; null when it is no JSON. */
void json_copy(struct json_writer *w, struct json_reader *r);

#endif
