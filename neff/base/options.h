/*
 * Command lines by a table: one row per option says how it is spelled, what it takes, where its
 * value goes and what the help says, so that all programs read them alike.
 *
 *     --name VALUE, --name=VALUE    -x VALUE    -xVALUE where the row is joined    --name    --
 * ends the options
 *
 * Words that are no options, and `-`, are files.
 */
#ifndef NEFF_BASE_OPTIONS_H
#define NEFF_BASE_OPTIONS_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_SWITCH, /* bool, made true; value NULL */
    OPTION_TEXT,   /* const char *, a word of argv that is not empty */
    OPTION_LIST,   /* the same, and may be empty: nothing of the list */
    OPTION_CHOICE, /* int: which of the words that `value` lists, separated by '|' */
    OPTION_COUNT,  /* int: a whole number, 0 or more */
    OPTION_NUMBER, /* double: 0 or more */
    OPTION_CALL,   /* set() does it */
    OPTION_JOINED, /* the same; the value is joined to the name: -O2 */
    OPTION_MAYBE,  /* the same; --name alone gives NULL, --name=VALUE the value */
};

struct option {
    const char *name;
    const char *value; /* what it takes, for messages and the help; NULL: nothing */
    enum option_kind kind;
    size_t at;       /* offset of the variable in what is filled in */
    const char *doc; /* NULL: not in the help */
    bool (*set)(void *to, const char *value, struct diag *d);
    int group; /* the program's own */
};
/* A row's place: OPTION_AT(struct command, output). */
#define OPTION_AT(type, field) offsetof(type, field)
/* The row of the only file, where `file` below is NULL. `what` it is, for messages. */
#define OPTION_ONE_FILE(type, field, what)                                                         \
    {                                                                                              \
        "", what, OPTION_TEXT, OPTION_AT(type, field), NULL, NULL, 0                               \
    }
/* The rows that every program has, for the fields `help` and `version`. */
#define OPTIONS_STANDARD(type, group)                                                              \
    {"--help", NULL, OPTION_SWITCH, OPTION_AT(type, help), "this text", NULL, group},              \
        {"-h", NULL, OPTION_SWITCH, OPTION_AT(type, help), NULL, NULL, group},                     \
    {                                                                                              \
        "--version", NULL, OPTION_SWITCH, OPTION_AT(type, version), "the version", NULL, group     \
    }

struct option_table {
    const struct option *rows;
    int count;
    /* A word that is no option; NULL: the row of OPTION_ONE_FILE takes one, if there is such a row. */
    bool (*file)(void *to, const char *word, struct diag *d);
    /* Whether the row may be used; NULL: always. Says why not. */
    bool (*allowed)(void *to, const struct option *o, struct diag *d);
    /* Other spellings, asked first: *taken when argv[*i] was one, *i then at its last word. May be
     * NULL. */
    bool (*other)(void *to, int argc, char **argv, int *i, bool *taken, struct diag *d);
};

/* Reads argv, without the program's name, into *to. False: a usage error, in d. */
bool options_parse(const struct option_table *t, int argc, char **argv, void *to, struct diag *d);
/* A line for each row that has a doc, indented by two blanks. */
void options_help(FILE *out, const struct option_table *t);

/* Numbers as the rows read them: the whole text, 0 or more. */
bool option_number(const char *text, double *out);
bool option_count(const char *text, int *out);

#endif
