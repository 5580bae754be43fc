/* Elements of two arrays, as a third one says: of any type, with steps in elements. */
#ifndef RUNTIME_OPS_CHOOSE_H
#define RUNTIME_OPS_CHOOSE_H

#include <stdint.h>
#include <string.h>

struct choice {
    char *to;
    const uint8_t *which;
    const char *a, *b; /* where it is not 0, and where it is */
    int64_t to_step, which_step, a_step, b_step;
    size_t size; /* bytes of an element */
};

/* Those that a register holds, each in one move. */
#define CHOOSE(T)                                                                                                      \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        ((T *)to)[i * c.to_step] =                                                                                     \
            which[i * c.which_step] ? ((const T *)a)[i * c.a_step] : ((const T *)b)[i * c.b_step];                     \
    return

static inline void choose_elements(struct choice c, int64_t n)
{
    char *to = c.to;
    const uint8_t *which = c.which;
    const char *a = c.a, *b = c.b;
    int64_t size = (int64_t)c.size;
    switch (c.size) {
    case 1:
        CHOOSE(uint8_t);
    case 2:
        CHOOSE(uint16_t);
    case 4:
        CHOOSE(uint32_t);
    case 8:
        CHOOSE(uint64_t);
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * c.to_step * size,
               which[i * c.which_step] ? a + i * c.a_step * size : b + i * c.b_step * size, c.size);
}
#undef CHOOSE

#endif
