#include "neff/base/options.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMN = 44 }; /* of the help's explanations */

bool option_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0;
}

bool option_count(const char *text, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (end == text || *end || v < 0 || v > 1 << 30)
        return false;
    *out = (int)v;
    return true;
}

/* The number of a word in "a|b|c"; -1 when it is not there. */
static int choice(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (int i = 0;; i++) {
        size_t length = strcspn(words, "|");
        if (length == n && !strncmp(words, word, n))
            return i;
        if (!words[length])
            return -1;
        words += length + 1;
    }
}

/* "a|b|c" as "a, b or c". */
static const char *listed(const char *words, char *out, size_t room)
{
    size_t n = 0;
    for (; *words && n + 5 < room; words++) {
        const char *between = *words != '|' ? NULL : strchr(words + 1, '|') ? ", " : " or ";
        if (between)
            n += (size_t)snprintf(out + n, room - n, "%s", between);
        else
            out[n++] = *words;
    }
    out[n] = 0;
    return out;
}

static bool store(const struct option *o, const char *value, void *to, struct diag *d)
{
    void *at = (char *)to + o->at;
    char words[200];
    int which;
    switch (o->kind) {
    case OPTION_SWITCH:
        *(bool *)at = true;
        return true;
    case OPTION_TEXT:
    case OPTION_LIST:
        *(const char **)at = value;
        return true;
    case OPTION_CHOICE:
        which = choice(o->value, value);
        if (which < 0)
            return fail(d, "%s takes %s, got '%s'", o->name, listed(o->value, words, sizeof words),
                        value);
        *(int *)at = which;
        return true;
    case OPTION_COUNT:
        return option_count(value, at) ||
               fail(d, "%s takes a whole number that is not negative, got '%s'", o->name, value);
    case OPTION_NUMBER:
        return option_number(value, at) ||
               fail(d, "%s takes a number that is not negative, got '%s'", o->name, value);
    case OPTION_CALL:
    case OPTION_JOINED:
    case OPTION_MAYBE:
        return o->set(to, value, d);
    }
    return false;
}

/* The row that argv[*i] spells, and its value: in the next word, after '=', or joined to the name.
 */
static const struct option *find(const struct option_table *t, int argc, char **argv, int *i,
                                 const char **value, struct diag *d)
{
    const char *word = argv[*i];
    size_t length = strcspn(word, "=");
    for (int k = 0; k < t->count; k++) {
        const struct option *o = &t->rows[k];
        size_t name = strlen(o->name);
        *value = NULL;
        if (o->kind == OPTION_JOINED && !strncmp(word, o->name, name)) {
            *value = word + name;
            return o;
        }
        if (name != length || strncmp(o->name, word, length) != 0)
            continue;
        if (o->kind == OPTION_MAYBE) {
            *value = word[length] ? word + length + 1 : NULL;
            return o;
        }
        if (!o->value && word[length])
            return fail(d, "%s takes no value", o->name), NULL;
        if (o->value && !word[length] && *i + 1 >= argc)
            return fail(d, "%s needs a value: %s", o->name, o->value), NULL;
        if (o->value)
            *value = word[length] ? word + length + 1 : argv[++*i];
        /* A script's unset variable. Numbers and choices have messages of their own. */
        bool text = o->kind == OPTION_TEXT || o->kind == OPTION_CALL;
        if (text && *value && !**value)
            return fail(d, "%s needs a value: %s", o->name, o->value), NULL;
        return o;
    }
    fail(d, "unknown option '%s'; --help lists them", word);
    return NULL;
}

static bool take_file(const struct option_table *t, void *to, const char *word, struct diag *d)
{
    if (t->file)
        return t->file(to, word, d);
    for (int k = 0; k < t->count; k++) {
        const struct option *o = &t->rows[k];
        if (!*o->name && *(const char **)((char *)to + o->at))
            return fail(d, "more than one %s: '%s'", o->value, word);
        if (!*o->name)
            return store(o, word, to, d);
    }
    return fail(d, "'%s' is not expected", word);
}

bool options_parse(const struct option_table *t, int argc, char **argv, void *to, struct diag *d)
{
    bool only_files = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        bool taken = false;
        if (only_files || word[0] != '-' || !word[1]) {
            if (!take_file(t, to, word, d))
                return false;
            continue;
        }
        if (!strcmp(word, "--")) {
            only_files = true;
            continue;
        }
        if (t->other && !t->other(to, argc, argv, &i, &taken, d))
            return false;
        if (taken)
            continue;
        const struct option *o = find(t, argc, argv, &i, &value, d);
        if (!o || (t->allowed && !t->allowed(to, o, d)) || !store(o, value, to, d))
            return false;
    }
    return true;
}

void options_help(FILE *out, const struct option_table *t)
{
    for (int i = 0; i < t->count; i++) {
        const struct option *o = &t->rows[i];
        if (!o->doc)
            continue;
        bool maybe = o->kind == OPTION_MAYBE, blank = o->value && o->kind != OPTION_JOINED && !maybe;
        int n = fprintf(out, "  %s%s%s%s", o->name, blank ? " " : maybe ? "[=" : "",
                        o->value ? o->value : "", maybe ? "]" : "");
        if (n >= COLUMN)
            n = fprintf(out, "\n") - 1;
        fprintf(out, "%*s", COLUMN - n, "");
        for (const char *s = o->doc; *s; s++) { /* further lines under the first */
            fputc(*s, out);
            if (*s == '\n')
                fprintf(out, "%*s", COLUMN, "");
        }
        fputc('\n', out);
    }
}
