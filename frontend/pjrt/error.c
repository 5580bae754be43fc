/*
 * Errors and events.
 */
#define _GNU_SOURCE /* vasprintf */
#include "frontend/pjrt/plugin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct pjrt_error {
    const struct pjrt_error_functions *functions; /* first: the API's */
    enum pjrt_code code;
    char *text;
    size_t size;
};

static void destroy(struct pjrt_error *e);
static void message(const struct pjrt_error *e, const char **text, size_t *size)
{
    *text = e->text;
    *size = e->size;
}
static int code(const struct pjrt_error *e)
{
    return (int)e->code;
}
static void payloads(const struct pjrt_error *e, pjrt_function visitor, void *user)
{
}
static const struct pjrt_error_functions functions = {
    sizeof functions, sizeof(struct pjrt_error), NULL, destroy, message, code, payloads,
};

/* What is given when there is no memory for another. */
static struct pjrt_error no_memory = {
    &functions, PJRT_RESOURCE_EXHAUSTED, (char[]){"out of memory"}, sizeof "out of memory" - 1,
};

static void destroy(struct pjrt_error *e)
{
    if (!e || e == &no_memory)
        return;
    free(e->text);
    free(e);
}

/* Bytes of the character of UTF-8 at p; 0 where there is none. A zero byte follows the text. */
static int character_bytes(const unsigned char *p)
{
    int bytes = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    for (int i = 1; i < bytes; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return bytes;
}

/* Frameworks expect UTF-8 of a text; it may quote anything. */
static void make_utf8(char *text)
{
    for (int bytes; *text; text += bytes ? bytes : 1)
        if (!(bytes = character_bytes((const unsigned char *)text)))
            *text = '?';
}

struct pjrt_error *pjrt_fail(enum pjrt_code c, const char *format, ...)
{
    struct pjrt_error *e = malloc(sizeof *e);
    va_list list;
    va_start(list, format);
    char *text = NULL;
    int size = vasprintf(&text, format, list);
    va_end(list);
    if (!e || size < 0) {
        free(e);
        return &no_memory;
    }
    make_utf8(text);
    *e = (struct pjrt_error){&functions, c, text, (size_t)size};
    return e;
}

struct pjrt_error *pjrt_Error_Destroy(struct args_Error_Destroy *a)
{
    destroy(a->error);
    return NULL;
}

struct pjrt_error *pjrt_Error_Message(struct args_Error_Message *a)
{
    message(a->error, &a->message, &a->message_size);
    return NULL;
}

ANSWER(Error_GetCode, a->code = code(a->error))

/* There is nothing besides the message. Asked for every error, so this must not fail. */
struct pjrt_error *pjrt_Error_ForEachPayload(struct args_Error_ForEachPayload *a)
{
    return NULL;
}

/* ---- events: there is one, and it is ready ---- */

struct pjrt_event {
    char unused;
};

struct pjrt_event *pjrt_done(void)
{
    static struct pjrt_event done;
    return &done;
}

struct pjrt_error *pjrt_Event_Destroy(struct args_Event_Destroy *a)
{
    return NULL;
}

ANSWER(Event_IsReady, a->is_ready = true)

struct pjrt_error *pjrt_Event_Error(struct args_Event_Error *a)
{
    return NULL;
}

struct pjrt_error *pjrt_Event_Await(struct args_Event_Await *a)
{
    return NULL;
}

struct pjrt_error *pjrt_Event_OnReady(struct args_Event_OnReady *a)
{
    a->callback(NULL, a->user_arg);
    return NULL;
}
