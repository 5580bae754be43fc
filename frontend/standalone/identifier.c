#include "frontend/standalone/standalone.h"

#include <ctype.h>
#include <string.h>

const char *c_identifier(struct arena *a, const char *path)
{
    static const char *const words[] = {
        "auto",   "break",    "case",   "char",     "const",    "default",  "do",
        "double", "else",     "enum",   "extern",   "float",    "for",      "goto",
        "if",     "inline",   "int",    "long",     "register", "restrict", "return",
        "short",  "signed",   "sizeof", "static",   "struct",   "switch",   "typedef",
        "union",  "unsigned", "void",   "volatile", "while",    "class",    "this"};
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strcspn(base, ".");
    bool digit = isdigit((unsigned char)*base) || n == 0;
    char *name = arena_printf(a, "%s%.*s", digit ? "model_" : "", (int)n, base);
    for (char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) || (unsigned char)*s > 127)
            *s = '_';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return arena_printf(a, "%s_", name);
    return name;
}
