#include "frontend/standalone/rename.h"

#include "frontend/standalone/tokens.h"

#include <string.h>

/* ---- sets ---- */

static size_t place_of(const struct name_set *s, const char *name, size_t n)
{
    size_t h = 5381;
    for (size_t i = 0; i < n; i++)
        h = h * 33 + (unsigned char)name[i];
    for (h &= s->cap - 1; s->slot[h]; h = (h + 1) & (s->cap - 1))
        if (!strncmp(s->slot[h], name, n) && !s->slot[h][n])
            break;
    return h;
}

bool names_have(const struct name_set *s, const char *name, size_t n)
{
    return s->cap && s->slot[place_of(s, name, n)];
}

static void make_room(struct name_set *s)
{
    struct name_set old = *s;
    s->cap = old.cap ? 2 * old.cap : 256;
    s->slot = ARENA_ARRAY(s->arena, const char *, s->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i])
            s->slot[place_of(s, old.slot[i], strlen(old.slot[i]))] = old.slot[i];
}

void names_add(struct name_set *s, const char *name, size_t n)
{
    if (names_have(s, name, n))
        return;
    if (2 * s->count >= s->cap)
        make_room(s);
    s->count++;
    s->slot[place_of(s, name, n)] = arena_strndup(s->arena, name, n);
}

/* ---- what a file declares ---- */

struct own {
    struct name_set names;    /* functions, variables, constants, types */
    struct name_set constant; /* of these, constants and types */
    struct name_set tags;
    struct name_set starts; /* of names that macros make: "binary_" of binary_##name */
    struct name_set others; /* of names that macros make and others have: "OP_" of OP_##name */
    struct name_set macros;
    struct name_set table; /* names in rows of tables */
    const struct shared_names *shared;
    bool *in_struct, *in_attribute; /* per token; in_attribute: not its arguments */
};

static void add(struct name_set *s, const struct token *t)
{
    names_add(s, t->s, (size_t)t->n);
}

static bool has(const struct name_set *s, const struct token *t)
{
    return names_have(s, t->s, (size_t)t->n);
}

static bool is_one_of(const struct token *t, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (t->kind == TOKEN_NAME && token_is(t, words[i]))
            return true;
    return false;
}
#define IS_ONE_OF(t, ...)                                                                          \
    is_one_of(t, (const char *const[]){__VA_ARGS__},                                               \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool says_static(const struct token *t)
{
    return IS_ONE_OF(t, "static", "typedef", "INLINE", "ONE_COPY", "CELL_CODE", "SIMPLE_CODE", "STEP_CODE");
}

static bool is_struct(const struct token *t)
{
    return IS_ONE_OF(t, "struct", "union");
}

/* The macro whose body token i is of: its name's index; -1: none. */
static int macro_of(const struct tokens *t, int i)
{
    while (i >= 0 && t->list[i].place == IN_DEFINE)
        i--;
    return i >= 0 && t->list[i].place == IN_DEFINED ? i : -1;
}

static bool is_parameter(const struct tokens *t, int i)
{
    int name = macro_of(t, i);
    if (name < 0 || name + 1 >= t->count || !token_is(&t->list[name + 1], "("))
        return false;
    for (int j = name + 2; j < t->count && !token_is(&t->list[j], ")"); j++)
        if (t->list[j].kind == TOKEN_NAME && t->list[j].n == t->list[i].n &&
            !strncmp(t->list[j].s, t->list[i].s, (size_t)t->list[i].n))
            return true;
    return false;
}

static bool is_sign(const struct tokens *t, int i, const char *text)
{
    return i >= 0 && i < t->count && t->list[i].kind == TOKEN_SIGN && token_is(&t->list[i], text);
}

/* The name that ends with token i, which ## may have made of several. */
static void declare(struct own *o, const struct tokens *t, int i, bool constant)
{
    int before = i < 0 ? -1 : token_before(t, i);
    bool made = false;
    for (; is_sign(t, before, "##"); made = true) {
        i = token_before(t, before);
        before = token_before(t, i);
    }
    if (i < 0 || t->list[i].kind != TOKEN_NAME || is_parameter(t, i))
        return;
    add(made ? &o->starts : &o->names, &t->list[i]);
    if (constant && !made)
        add(&o->constant, &t->list[i]);
}

/* (*name)(...), (*const name[])(...) */
static int name_in_brackets(const struct tokens *t, int open)
{
    int end = token_closing(t, open), last = -1;
    for (int i = token_next(t, open); i < end && !is_sign(t, i, "["); i = token_next(t, i))
        if (t->list[i].kind == TOKEN_NAME)
            last = i;
    return last;
}

static int end_of_initializer(const struct tokens *t, int i)
{
    while (i < t->count && !is_sign(t, i, ",") && !is_sign(t, i, ";")) {
        bool opens = is_sign(t, i, "(") || is_sign(t, i, "[") || is_sign(t, i, "{");
        i = token_next(t, opens ? token_closing(t, i) : i);
    }
    return i;
}

/* What is declared behind `static` or `typedef` at i. */
static void declare_all(struct own *o, const struct tokens *t, int i)
{
    bool type = token_is(&t->list[i], "typedef");
    int last = -1;
    for (i = token_next(t, i); i < t->count;) {
        const struct token *x = &t->list[i];
        bool skips = IS_ONE_OF(x, "__attribute__", "_Alignas", "__typeof__") ||
                     (token_is(x, "_Atomic") && is_sign(t, token_next(t, i), "("));
        if (skips) {
            i = token_next(t, token_closing(t, token_next(t, i)));
        } else if (is_sign(t, i, "{")) {
            i = token_next(t, token_closing(t, i));
        } else if (is_sign(t, i, "(")) {
            bool pointer = is_sign(t, token_next(t, i), "*");
            declare(o, t, pointer ? name_in_brackets(t, i) : last, type);
            return;
        } else if (is_sign(t, i, "[") || is_sign(t, i, "=") || is_sign(t, i, ",") ||
                   is_sign(t, i, ";")) {
            declare(o, t, last, type);
            i = end_of_initializer(t, i);
            if (!is_sign(t, i, ","))
                return;
            i = token_next(t, i);
        } else {
            last = x->kind == TOKEN_NAME || x->kind == TOKEN_NUMBER ? i : last;
            i = token_next(t, i);
        }
    }
}

/* Those in a function are its own where a header that the file does not include has a macro of the name. */
static void declare_constants(struct own *o, const struct tokens *t, int open, bool outside)
{
    int end = token_closing(t, open);
    for (int i = token_next(t, open); i < end; i = token_next(t, i)) {
        if (outside || has(&o->shared->macros, &t->list[i]))
            declare(o, t, i, true);
        i = end_of_initializer(t, i) < end ? end_of_initializer(t, i) : end;
    }
}

/* enum and struct, with a body. */
static void declare_body(struct own *o, const struct tokens *t, int i, bool outside)
{
    int tag = token_next(t, i), open = tag;
    if (tag < t->count && t->list[tag].kind == TOKEN_NAME)
        open = token_next(t, tag);
    if (!is_sign(t, open, "{"))
        return;
    const struct shared_names *with = o->shared;
    if (outside && tag != open && (!has(&with->tags, &t->list[tag]) || has(&with->bodies, &t->list[tag])))
        add(&o->tags, &t->list[tag]);
    if (token_is(&t->list[i], "enum"))
        declare_constants(o, t, open, outside);
    for (int j = open, end = token_closing(t, open); is_struct(&t->list[i]) && j < end; j++)
        o->in_struct[j] = true;
}

static bool begins(const struct token *t, const char *with)
{
    size_t n = strlen(with);
    return (size_t)t->n > n && !strncmp(t->s, with, n);
}

static bool has_start(const struct name_set *s, const struct token *start)
{
    for (size_t i = 0; i < s->cap; i++)
        if (s->slot[i] && !strncmp(s->slot[i], start->s, (size_t)start->n))
            return true;
    return false;
}

/* Whether it is the start of a name that a macro makes: of name##_x too, but not of a parameter. */
static bool is_start(const struct tokens *t, int i)
{
    const struct token *x = &t->list[i];
    return x->kind == TOKEN_NAME && x->place == IN_DEFINE && is_sign(t, token_next(t, i), "##") &&
           !is_sign(t, token_before(t, i), "##") && !is_parameter(t, i);
}

/* Whether a table's row makes one of the file's names with it. */
static bool makes_own(const struct own *o, const struct token *start)
{
    char name[256];
    for (size_t i = 0; i < o->table.cap; i++)
        if (o->table.slot[i]) {
            int n = snprintf(name, sizeof name, "%.*s%s", start->n, start->s, o->table.slot[i]);
            if (n < (int)sizeof name && names_have(&o->names, name, (size_t)n))
                return true;
        }
    return false;
}

/* Starts of names that macros make: of the file's own, or of others'. */
static void read_starts(struct own *o, const struct tokens *t)
{
    for (int i = 0; i < t->count; i++) {
        const struct token *x = &t->list[i];
        if (!is_start(t, i) || has(&o->starts, x) || has(&o->others, x))
            continue;
        bool own = !has(&o->shared->starts, x) && has_start(&o->names, x) &&
                   (makes_own(o, x) || !has_start(&o->shared->names, x));
        add(own ? &o->starts : &o->others, x);
    }
}

/* __attribute__((name, name(arguments))) at i: the names. */
static void find_attributes(struct own *o, const struct tokens *t, int i)
{
    enum { NAMES = 2 };
    int depth = 0;
    for (int j = token_next(t, i), end = token_closing(t, j); j < end; j++) {
        depth += is_sign(t, j, "(") - is_sign(t, j, ")");
        o->in_attribute[j] = depth <= NAMES;
    }
}

static void read_own(struct own *o, const struct tokens *t)
{
    int depth = 0;
    for (int i = 0; i < t->count; i++) {
        const struct token *x = &t->list[i];
        if (x->kind == TOKEN_NAME && x->table)
            add(&o->table, x);
        if (x->place == IN_DEFINED && x->kind == TOKEN_NAME)
            add(&o->macros, x);
        if (x->table || (x->place != IN_CODE && x->place != IN_DEFINE))
            continue;
        if (x->place == IN_CODE && x->kind == TOKEN_SIGN)
            depth += (*x->s == '{') - (*x->s == '}');
        if (is_sign(t, i, "}") && x->first && x->s[-1] == '\n')
            depth = 0; /* branches of #if may have opened more than they close */
        bool outside = x->place == IN_DEFINE || depth == 0;
        if (outside && x->kind == TOKEN_NAME && says_static(x))
            declare_all(o, t, i);
        if (x->kind == TOKEN_NAME && token_is(x, "__attribute__"))
            find_attributes(o, t, i);
        if (is_struct(x) || (x->kind == TOKEN_NAME && token_is(x, "enum")))
            declare_body(o, t, i, outside);
    }
    read_starts(o, t);
}

static bool is_own(const struct own *o, const struct token *t)
{
    for (size_t i = 0; i < o->others.cap; i++)
        if (o->others.slot[i] && begins(t, o->others.slot[i])) {
            size_t n = strlen(o->others.slot[i]); /* of a row of a table? */
            if (names_have(&o->table, t->s + n, (size_t)t->n - n))
                return false;
        }
    if (has(&o->names, t))
        return !has(&o->table, t);
    for (size_t i = 0; i < o->starts.cap; i++)
        if (o->starts.slot[i] && begins(t, o->starts.slot[i]) && !has(&o->shared->names, t))
            return true;
    return false;
}

/* ---- writing ---- */

/* The macro of which it is the first argument; -1: none. */
static int macro_with(const struct tokens *t, int before)
{
    return is_sign(t, before, "(") ? token_before(t, before) : -1;
}

/* Whether it names a row of a table of the runtime: an operator, a kernel. */
static bool is_row(const struct tokens *t, int before)
{
    int macro = macro_with(t, before);
    return macro >= 0 && IS_ONE_OF(&t->list[macro], "SET_USED", "USED", "WHEN_USED", "INFER_AS", "EVAL_AS_WORK");
}

/* EVAL_WITH_WORK(x): the operator's name is not the file's own, that of its body is. */
static bool names_operator_and_body(const struct own *o, const struct tokens *t, int macro)
{
    int x = token_next(t, token_next(t, macro));
    return t->list[macro].place == IN_CODE && IS_ONE_OF(&t->list[macro], "EVAL_WITH_WORK") && x < t->count &&
           is_own(o, &t->list[x]);
}

static bool is_renamed(const struct own *o, const struct tokens *t, int i)
{
    const struct token *x = &t->list[i];
    if (x->kind != TOKEN_NAME || x->table || o->in_attribute[i])
        return false;
    if (x->place == IN_DEFINED || x->place == IN_DIRECTIVE)
        return has(&o->macros, x) && is_own(o, x);
    int before = token_before(t, i), next = token_next(t, i);
    if (is_sign(t, before, ".") || is_sign(t, before, "->") || is_sign(t, before, "##") ||
        is_sign(t, before, "#") || is_row(t, before))
        return false;
    if (before >= 0 && IS_ONE_OF(&t->list[before], "struct", "union", "enum"))
        return has(&o->tags, x);
    if (is_sign(t, next, "##"))
        return is_parameter(t, i) || has(&o->starts, x);
    return o->in_struct[i] ? has(&o->constant, x) && is_own(o, x) : is_own(o, x);
}

void write_renamed(const char *text, const char *prefix, const struct shared_names *shared, FILE *f)
{
    struct arena a = {0};
    struct own o = {.shared = shared};
    o.names.arena = o.constant.arena = o.tags.arena = o.starts.arena = o.macros.arena = &a;
    o.table.arena = o.others.arena = &a;
    const struct tokens *t = tokens_read(text, &a);
    o.in_struct = ARENA_ARRAY(&a, bool, t->count + 1);
    o.in_attribute = ARENA_ARRAY(&a, bool, t->count + 1);
    read_own(&o, t);
    for (int i = 0; i < t->count; i++) {
        const struct token *x = &t->list[i];
        if (x->kind == TOKEN_MARK)
            continue;
        const int macro = macro_with(t, token_before(t, i));
        if (macro >= 0 && names_operator_and_body(&o, t, macro))
            fprintf(f, "%.*s, ", x->n, x->s);
        if (names_operator_and_body(&o, t, i)) {
            fputs("EVAL_AS_WORK", f);
            continue;
        }
        if (is_renamed(&o, t, i))
            fprintf(f, "%s%s", prefix, is_parameter(t, i) && is_sign(t, token_next(t, i), "##") ? "##" : "");
        fprintf(f, "%.*s", x->n, x->s);
    }
    for (size_t i = 0; i < o.macros.cap; i++)
        if (o.macros.slot[i]) {
            const struct token x = {.kind = TOKEN_NAME, .s = o.macros.slot[i], .n = (int)strlen(o.macros.slot[i])};
            fprintf(f, "#undef %s%s\n", is_own(&o, &x) ? prefix : "", o.macros.slot[i]);
        }
    arena_free(&a);
}

/* ---- headers ---- */

/* Marks the tokens of bodies of structures. */
static bool *members_of(const struct tokens *t, struct arena *a)
{
    bool *member = ARENA_ARRAY(a, bool, t->count + 1);
    for (int i = 0; i < t->count; i++) {
        int open = is_struct(&t->list[i]) ? token_next(t, i) : t->count;
        if (open < t->count && t->list[open].kind == TOKEN_NAME)
            open = token_next(t, open);
        for (int j = open, end = is_sign(t, open, "{") ? token_closing(t, open) : open; j < end; j++)
            member[j] = true;
    }
    return member;
}

void share_names(struct shared_names *s, const char *text)
{
    struct arena a = {0};
    const struct tokens *t = tokens_read(text, &a);
    const bool *member = members_of(t, &a);
    for (int i = 0; i < t->count; i++) {
        const struct token *x = &t->list[i];
        int before = x->kind == TOKEN_NAME ? token_before(t, i) : -1;
        if (x->kind == TOKEN_NAME && !member[i])
            add(&s->names, x);
        if (x->kind == TOKEN_NAME && x->place == IN_DEFINED)
            add(&s->macros, x);
        if (before >= 0 && IS_ONE_OF(&t->list[before], "struct", "union", "enum"))
            add(is_sign(t, token_next(t, i), "{") ? &s->bodies : &s->tags, x);
        if (is_start(t, i))
            add(&s->starts, x);
    }
    arena_free(&a);
}

/* Whether a declaration of a function begins at i: a type, a name, operands. *name: where it is. */
static bool is_prototype(const struct tokens *t, int i, int *name)
{
    int names = 0;
    for (; i < t->count; i = token_next(t, i)) {
        const struct token *x = &t->list[i];
        if (says_static(x) || IS_ONE_OF(x, "extern", "_Static_assert", "return", "if", "for", "while", "do", "else",
                                        "switch", "case", "sizeof", "goto", "__attribute__", "__asm__"))
            return false;
        if (is_sign(t, i, "("))
            break;
        if (x->kind != TOKEN_NAME && !is_sign(t, i, "*") && !is_sign(t, i, "##"))
            return false;
        names += x->kind == TOKEN_NAME && !is_sign(t, token_before(t, i), "##");
    }
    *name = i < t->count ? token_before(t, i) : -1;
    int end = i < t->count ? token_next(t, token_closing(t, i)) : t->count;
    while (end < t->count && token_is(&t->list[end], "__attribute__"))
        end = token_next(t, token_closing(t, token_next(t, end)));
    bool whole = is_sign(t, end, ";") || (end >= t->count && i < t->count && t->list[i].place == IN_DEFINE);
    return names >= 2 && whole;
}

/* Whether a declaration may begin at i. */
static bool begins_declaration(const struct tokens *t, int i)
{
    int before = token_before(t, i);
    if (t->list[i].place == IN_CODE)
        return before < 0 || is_sign(t, before, ";") || is_sign(t, before, "}") || is_sign(t, before, ")") ||
               t->list[before].kind == TOKEN_STRING || is_sign(t, before, "{");
    return is_sign(t, before, ";") || is_sign(t, before, ")") ||
           (before >= 0 && t->list[before].place == IN_DEFINED);
}

/* How a function that is declared at i is: "" where none is. */
static const char *storage_at(const struct tokens *t, int i, const struct name_set *defined,
                              struct name_set *made_static)
{
    int name = -1;
    if (!begins_declaration(t, i) || !is_prototype(t, i, &name) || name < 0)
        return "";
    if (t->list[i].place != IN_DEFINE && !has(defined, &t->list[name]))
        return "__attribute__((weak)) "; /* unused, which a compiler that does not optimise need not find */
    add(made_static, &t->list[name]);
    return "static ";
}

void write_static(const char *text, const struct name_set *defined, struct name_set *made_static, FILE *f)
{
    struct arena a = {0};
    const struct tokens *t = tokens_read(text, &a);
    int depth = 0;
    for (int i = 0; i < t->count; i++) {
        const struct token *x = &t->list[i];
        bool code = x->place == IN_CODE || x->place == IN_DEFINE;
        if (x->kind == TOKEN_MARK)
            continue;
        if (x->place == IN_CODE && x->kind == TOKEN_SIGN)
            depth += (*x->s == '{' || *x->s == '(') - (*x->s == '}' || *x->s == ')');
        bool outside = x->place == IN_DEFINE || (depth <= 0 && !x->table);
        if (code && outside && x->kind == TOKEN_NAME)
            fprintf(f, "%s", storage_at(t, i, defined, made_static));
        fprintf(f, "%.*s", x->n, x->s);
    }
    arena_free(&a);
}
