#include "test/fuzz/mutate.h"

#include "neff/base/splitmix.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t mutate_random(uint64_t *seed)
{
    return splitmix(seed);
}

size_t mutate_below(uint64_t *seed, size_t n)
{
    return n ? (size_t)((mutate_random(seed) >> 8) % n) : 0;
}

size_t mutate_splice(uint8_t *data, size_t size, size_t room, size_t at, size_t gone,
                     const void *with, size_t n)
{
    if (size - gone + n > room)
        return size;
    memmove(data + at + n, data + at + gone, size - at - gone);
    memcpy(data + at, with, n);
    return size - gone + n;
}

/* A part that is left out, repeated, or put in another place. */
static size_t mutate_part(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    size_t from = mutate_below(seed, size), n = 1 + mutate_below(seed, size - from), to = mutate_below(seed, size);
    n = 1 + mutate_below(seed, n < 64 ? n : 64);
    n = n < size - from ? n : size - from;
    if (!size)
        return size;
    if (mutate_below(seed, 2))
        return mutate_splice(data, size, room, from, n, "", 0);
    uint8_t *copy = malloc(n);
    if (!copy)
        return size;
    memcpy(copy, data + from, n);
    size = mutate_splice(data, size, room, to, mutate_below(seed, 2) && to + n <= size ? n : 0, copy, n);
    free(copy);
    return size;
}

static const char *const numbers[] = {"0",    "1",          "-1",         "2",
                                      "3",    "7",          "8",          "127",
                                      "128",  "255",        "256",        "65535",
                                      "4096", "2147483647", "2147483648", "-2147483648",
                                      "1e30", "4294967296", "nan",        "9223372036854775807",
                                      "1000", "-9223372036854775808"};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static bool in_word(uint8_t c)
{
    return isalnum(c) || c == '_';
}

/* The start of the first word at or after `at`, digits alone if `number`; size when there is none. */
static size_t find_word(const uint8_t *data, size_t size, size_t at, bool number)
{
    while (at > 0 && at < size && in_word(data[at - 1]))
        at--;
    for (; at < size; at++) {
        bool begins = in_word(data[at]) && (!at || !in_word(data[at - 1]));
        if (begins && (isdigit(data[at]) != 0) == number)
            return at;
    }
    return size;
}

static size_t word_length(const uint8_t *data, size_t size, size_t at)
{
    size_t n = 0;
    while (at + n < size && in_word(data[at + n]))
        n++;
    return n;
}

enum { MAX_LIST = 32 };

struct items { /* what stands between brackets, parted by commas */
    size_t from[MAX_LIST], to[MAX_LIST], count;
};

static bool is_bracket(uint8_t c, const char *of)
{
    return c && strchr(of, c);
}

/* The list behind the first bracket at or after `at`. */
static void find_list(const uint8_t *data, size_t size, size_t at, struct items *l)
{
    size_t depth = 0;
    l->count = 0;
    while (at < size && !is_bracket(data[at], "([{<"))
        at++;
    for (size_t start = ++at; at < size && l->count < MAX_LIST; at++) {
        bool closes = is_bracket(data[at], ")]}>") && data[at - 1] != '-';
        if (!depth && (closes || data[at] == ',')) {
            l->from[l->count] = start;
            l->to[l->count++] = at;
            start = at + 1;
            if (closes)
                return;
        }
        depth += is_bracket(data[at], "([{<");
        depth -= closes;
    }
}

/* One item of a list goes, stands there twice, or takes another one's place: operands, dims, attributes. */
static size_t mutate_list(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    struct items l;
    char with[128];
    find_list(data, size, mutate_below(seed, size), &l);
    if (!l.count)
        return mutate_part(data, size, room, seed);
    size_t k = mutate_below(seed, l.count), j = mutate_below(seed, l.count), what = mutate_below(seed, 3);
    size_t n = l.to[k] - l.from[k];
    if (what == 0) {
        bool last = k + 1 == l.count, only = l.count == 1;
        return mutate_splice(data, size, room, l.from[k] - (last && !only), n + !only, "", 0);
    }
    if (n + 1 > sizeof with)
        return mutate_part(data, size, room, seed);
    memcpy(with, data + l.from[k], n);
    with[n] = ',';
    return what == 1 ? mutate_splice(data, size, room, l.from[j], 0, with, n + 1)
                     : mutate_splice(data, size, room, l.from[j], l.to[j] - l.from[j], with, n);
}

size_t mutate_text(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    size_t what = mutate_below(seed, 11);
    if (what > 7)
        return mutate_list(data, size, room, seed);
    bool number = what < 4;
    size_t at = find_word(data, size, mutate_below(seed, size), number);
    if (at == size || what == 7)
        return mutate_part(data, size, room, seed);
    size_t n = word_length(data, size, at);
    char with[128];
    if (number && what < 2) {
        const char *other = numbers[mutate_below(seed, NUMBERS)];
        return mutate_splice(data, size, room, at, n, other, strlen(other));
    }
    if (number && what == 2) { /* a little more or less */
        memcpy(with, data + at, n < 20 ? n : 20);
        with[n < 20 ? n : 20] = 0;
        unsigned long long v = strtoull(with, NULL, 10) + mutate_below(seed, 5) - 2;
        int length = snprintf(with, sizeof with, "%lld", (long long)v);
        return mutate_splice(data, size, room, at, n, with, (size_t)length);
    }
    size_t from = find_word(data, size, mutate_below(seed, size), number);
    size_t m = from < size ? word_length(data, size, from) : 0;
    if (!m || m > sizeof with)
        return mutate_part(data, size, room, seed);
    memcpy(with, data + from, m);
    return mutate_splice(data, size, room, at, n, with, m);
}

static size_t varint(uint8_t out[10], uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

int64_t mutate_value(uint64_t *seed)
{
    static const int64_t values[] = {0,   1,   -1,   2,     127,   128,       255,       256,
                                     -128, 4096, 65535, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return values[mutate_below(seed, sizeof values / sizeof *values)];
}

size_t mutate_bytes(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    int64_t v = mutate_value(seed);
    size_t at = mutate_below(seed, size), wide = (size_t)1 << mutate_below(seed, 4), gone = 0;
    uint8_t word[10];
    if (!size)
        return size;
    switch (mutate_below(seed, 5)) {
    case 0:
        data[at] ^= (uint8_t)(1u << mutate_below(seed, 8));
        return size;
    case 1:
        data[at] = (uint8_t)mutate_random(seed);
        return size;
    case 2:
        if (at + wide <= size)
            memcpy(data + at, &v, wide);
        return size;
    case 3:
        while (at + gone + 1 < size && gone < 9 && data[at + gone] & 0x80)
            gone++;
        return mutate_splice(data, size, room, at, gone + 1, word, varint(word, (uint64_t)v));
    default:
        return mutate_part(data, size, room, seed);
    }
}

#ifdef XCC_FUZZ
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* Half of the time what libFuzzer would do. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    uint64_t state = seed;
    return mutate_random(&state) % 2 ? LLVMFuzzerMutate(data, size, room)
                                     : fuzz_mutate(data, size, room, &state);
}
#endif
