/*
 * Reading JSON text without making a tree of it: the caller walks the text as it is written and
 * takes or skips every value.
 *
 *     json_enter(r, '{');
 *     while ((key = json_read_key(r)))
 *         if (!strcmp(key, "size"))
 *             size = json_read_integer(r);
 *         else
 *             json_skip(r);
 *
 * The text need not end in a zero, and is not trusted: after the first problem every value reads as
 * empty and every object and array as ended, so callers look at `problem` once, at the end.
 * A reader is a value: a copy taken at a value reads that value again.
 */
#ifndef NEFF_BASE_JSON_H
#define NEFF_BASE_JSON_H

#include "neff/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_WORD = 64, JSON_DEPTH = 32 };

struct json_reader {
    const char *start, *at, *end;
    const char *problem; /* NULL: none so far */
    int depth;           /* of open objects and arrays */
    bool first;          /* nothing of the innermost one was read yet */
    char word[JSON_WORD];
};

struct json_reader json_reader(const void *text, size_t size);
int json_line(const struct json_reader *r); /* of the place where the reader stands, from 1 */

void json_enter(struct json_reader *r, char bracket); /* '{' or '[' */
/* The next member's name, its value to be read next; NULL at the object's end, which is passed.
 * Valid until the next key or word; names that do not fit a word are "". */
const char *json_read_key(struct json_reader *r);
bool json_read_element(struct json_reader *r); /* the same in an array */

bool json_begins(const struct json_reader *r,
                 char first);                      /* how the next value begins: " { [ t ... */
const char *json_read_word(struct json_reader *r); /* a short string; "" for others */
char *json_read_text(struct json_reader *r, struct arena *a);
int64_t json_read_integer(struct json_reader *r);
double json_read_number(struct json_reader *r); /* any number */
bool json_read_bool(struct json_reader *r);
/* Passes the value at hand. */
void json_skip(struct json_reader *r);
/* Passes it, and tells where it starts, blanks left out: it ends where the reader stands. */
const char *json_value(struct json_reader *r);
/* Whether the bytes are UTF-8 without zeros. */
bool json_is_utf8(const char *s, size_t n);
/* The text ends here, and all went well. */
bool json_done(struct json_reader *r);

/* A string as JSON text, in quotes. The characters of `also` are written as \u too, for text inside
 * something else. */
void json_print_text(FILE *f, const char *s, size_t size, const char *also);

#endif
