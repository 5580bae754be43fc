#include "neff/core/signature.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct type_set_info sets[] = {
#define TYPESET(name, members) {#name, members},
#include "neff/core/typeset.def"
};
enum { SETS = sizeof sets / sizeof *sets, CONTAINERS = 48 };
_Static_assert(DT_END <= (int)CONTAINERS, "a type has no bit");

static const struct {
    const char *name;
    enum value_kind kind;
} containers[] = {{"seq", VK_SEQUENCE}, {"optional", VK_OPTIONAL}, {"map", VK_MAP}};

static type_set set_values[SETS];
static pthread_once_t sets_ready = PTHREAD_ONCE_INIT;

static bool is_word(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && !memcmp(text, name, n);
}

/* The members in text[0..n), of types, containers and the first `known` sets; 0: not a set. */
static type_set parse_set(const char *text, size_t n, int known)
{
    type_set set = 0;
    for (size_t at = 0, end; at <= n; at = end + 1) {
        const char *bar = memchr(text + at, '|', n - at);
        end = bar ? (size_t)(bar - text) : n;
        type_set one = 0;
        for (int i = 0; i < known; i++)
            if (is_word(text + at, end - at, sets[i].name))
                one = set_values[i];
        for (int dt = 1; dt < DT_END; dt++)
            if (dtype_valid(dt) && is_word(text + at, end - at, dtype_name(dt)))
                one = (type_set)1 << dt;
        for (int i = 0; i < 3; i++)
            if (is_word(text + at, end - at, containers[i].name))
                one = (type_set)1 << (CONTAINERS + containers[i].kind);
        if (!one)
            return 0;
        set |= one;
    }
    return set;
}

static void make_sets(void)
{
    for (int i = 0; i < SETS; i++)
        set_values[i] = parse_set(sets[i].members, strlen(sets[i].members), i);
}

bool signature_parse(const char *text, struct signature *s)
{
    type_set variables[26] = {0};
    pthread_once(&sets_ready, make_sets);
    *s = (struct signature){.n = 0};
    while (*text) {
        size_t n = strcspn(text, " ");
        const char *next = text + n + (text[n] == ' ');
        if (s->repeats || s->n == SIGNATURE_OPERANDS)
            return false;
        if (n > 3 && !memcmp(text + n - 3, "...", 3)) {
            s->repeats = true;
            n -= 3;
        }
        int variable = isupper((unsigned char)*text) ? *text - 'A' : -1;
        bool defines = variable >= 0 && n > 2 && text[1] == '=';
        if (variable >= 0 && !defines && n != 1)
            return false;
        type_set set = variable < 0 ? parse_set(text, n, SETS)
                       : defines    ? parse_set(text + 2, n - 2, SETS)
                                    : variables[variable];
        if (!set)
            return false;
        if (variable >= 0)
            variables[variable] = set;
        s->operand[s->n].admits = set;
        s->operand[s->n++].variable = (int8_t)variable;
        text = next;
    }
    return true;
}

static type_set set_of(const struct type *t)
{
    if (t->kind == VK_TENSOR)
        return (type_set)(t->dtype != DT_NONE) << t->dtype;
    return t->kind == VK_NONE ? 0 : (type_set)1 << (CONTAINERS + t->kind);
}

bool signature_check(const struct signature *s, const struct type *in, int nin, struct diag *d)
{
    int first[26];
    char found[64], expected[256];
    memset(first, -1, sizeof first);
    for (int i = 0; i < nin; i++) {
        int at = i < s->n ? i : s->n - 1;
        type_set set = set_of(&in[i]);
        if (at < 0 || (i >= s->n && !s->repeats))
            return true;
        if (!set)
            continue;
        type_set_text(set, found, sizeof found);
        if (!(s->operand[at].admits & set))
            return fail(d, "operand %d is %s, expected %s", i, found,
                        type_set_text(s->operand[at].admits, expected, sizeof expected));
        int variable = s->operand[at].variable;
        if (variable < 0)
            continue;
        if (first[variable] < 0)
            first[variable] = i;
        else if (set_of(&in[first[variable]]) != set)
            return fail(d, "operand %d is %s, expected %s as operand %d", i, found,
                        type_set_text(set_of(&in[first[variable]]), expected, sizeof expected),
                        first[variable]);
    }
    return true;
}

static size_t add_word(char *buf, size_t size, size_t at, const char *word)
{
    int n = at < size ? snprintf(buf + at, size - at, "%s%s", at ? "|" : "", word) : 0;
    return at + (size_t)(n > 0 ? n : 0);
}

const char *type_set_text(type_set set, char *buf, size_t size)
{
    size_t at = 0;
    pthread_once(&sets_ready, make_sets);
    if (size)
        *buf = 0;
    for (;;) { /* the largest set that fits, again and again */
        int best = -1;
        for (int i = 0; i < SETS; i++)
            if (!(set_values[i] & ~set) && (best < 0 || __builtin_popcountll(set_values[i]) >
                                                            __builtin_popcountll(set_values[best])))
                best = i;
        if (best < 0)
            break;
        at = add_word(buf, size, at, sets[best].name);
        set &= ~set_values[best];
    }
    for (int dt = 1; dt < DT_END; dt++)
        if (type_set_has(set, dt))
            at = add_word(buf, size, at, dtype_name(dt));
    for (int i = 0; i < 3; i++)
        if (type_set_has(set, CONTAINERS + containers[i].kind))
            at = add_word(buf, size, at, containers[i].name);
    return buf;
}

const struct type_set_info *type_set_info(int i)
{
    return i >= 0 && i < SETS ? &sets[i] : NULL;
}
