/*
 * Arenas: memory that is given back all at once.
 *
 * One arena per compile, one per loaded model, one scratch arena per pass. Nothing taken from an
 * arena is freed on its own. An arena is used by one thread at a time. Memory is zeroed.
 * Running out of memory ends the call of the library that the thread is in, or the program, with a
 * message (recover.h); sizes that come from a file are checked against the file before they get
 * here, and tensors do not live in arenas.
 */
#ifndef NEFF_BASE_ARENA_H
#define NEFF_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head;  /* newest block first */
    struct arena_block *spare; /* to be taken before new ones are made, in the same order */
    char *at, *end;            /* free part of the newest block */
    size_t used;               /* bytes handed out, for reports */
};

/* A zeroed `struct arena` is ready to use. */
void arena_free(struct arena *a);
/* Takes back all that was handed out; the memory is kept for what follows. */
void arena_clear(struct arena *a);

/* `size` zeroed bytes, aligned to 16. Never NULL. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_copy(struct arena *a, const void *src, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);

#define ARENA_NEW(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/*
 * Growing array in an arena: `ptr`, `count` and `cap` are lvalues. After it, ptr[count] is a valid
 * zeroed slot; the caller stores and increments count. Old storage stays in the arena.
 */
#define ARENA_GROW(a, ptr, count, cap)                                                             \
    do {                                                                                           \
        if ((count) >= (cap)) {                                                                    \
            size_t arena_new_cap_ = (cap) ? (size_t)(cap)*2 : 8;                                   \
            void *arena_new_ = arena_alloc((a), arena_new_cap_ * sizeof *(ptr));                   \
            arena_move_((arena_new_), (ptr), (size_t)(count) * sizeof *(ptr));                     \
            (ptr) = arena_new_;                                                                    \
            (cap) = (int)arena_new_cap_;                                                           \
        }                                                                                          \
    } while (0)
void arena_out_of_memory(size_t size); /* out_of_memory.c; does not return */
void arena_move_(void *dst, const void *src, size_t n); /* memcpy that allows NULL with n == 0 */

#endif
