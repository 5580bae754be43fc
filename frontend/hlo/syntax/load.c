/* Files: telling the formats apart, several modules in one text. */
#include "frontend/hlo/syntax/decompress.h"
#include "frontend/hlo/syntax/hlo.h"
#include "frontend/hlo/syntax/parse.h"
#include "frontend/hlo/syntax/proto.h"
#include "neff/base/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

static bool is_text(const uint8_t *p, size_t n)
{
    size_t k = n < 4096 ? n : 4096;
    for (size_t i = 0; i < k; i++)
        if ((p[i] < 32 && !strchr("\t\n\r\f", p[i])) || !p[i])
            return false;
    return n > 0;
}

enum looks { LOOKS_HLO, LOOKS_TEXT_PROTO, LOOKS_STABLEHLO, LOOKS_NOTHING };

static enum looks look(const char *text, size_t size)
{
    struct lex l, after;
    lex_start(&l, text, size);
    after = l;
    lex_next(&after);
    if (lex_word(&l, "HloModule") || lex_word(&l, "ENTRY") || lex_word(&l, "FileNames") ||
        lex_word(&l, "ROOT"))
        return LOOKS_HLO;
    bool braces = lex_is(&after, '{') || lex_is(&after, '@') || after.kind == TOK_ERROR;
    if (lex_is(&l, '#') || (l.kind == TOK_IDENT && l.size >= 4 && !memcmp(l.text, "func", 4)) ||
        (lex_word(&l, "module") && (braces || lex_word(&after, "attributes"))))
        return LOOKS_STABLEHLO;
    if (l.kind == TOK_NAME && *l.start != '%')
        return LOOKS_TEXT_PROTO;
    if (l.kind == TOK_IDENT && lex_is(&after, '{') &&
        (lex_word(&l, "hlo_module") || lex_word(&l, "computations") || lex_word(&l, "hlo")))
        return LOOKS_TEXT_PROTO;
    if (l.kind == TOK_NAME || l.kind == TOK_TYPE || lex_is(&l, '(') || lex_is(&after, '=') ||
        (l.kind == TOK_IDENT && (lex_is(&after, '{') || lex_is(&after, '('))))
        return LOOKS_HLO;
    return LOOKS_NOTHING;
}

bool hlo_detect(const void *data, size_t size)
{
    if (is_compressed(data, size))
        return true;
    if (is_text(data, size)) {
        enum looks l = look(data, size);
        return l == LOOKS_HLO || l == LOOKS_TEXT_PROTO;
    }
    return hlo_proto_detect(data, size);
}

/* ---- text ---- */

/* Length of "I0521 12:04:45.883483    1509 service.cc:186] " at a line's start; 0 if it is not
 * there. */
static size_t log_prefix(const char *p, const char *end)
{
    const char *s = p;
    if (end - p < 20 || !strchr("IWEF", *p))
        return 0;
    for (int k = 1; k < 5; k++)
        if (p[k] < '0' || p[k] > '9')
            return 0;
    if (p[5] != ' ' || p[8] != ':' || p[11] != ':')
        return 0;
    while (p < end && *p != '\n' && *p != ']')
        p++;
    if (p >= end || *p != ']' || !memchr(s, '.', (size_t)(p - s)))
        return 0;
    p++;
    return (size_t)(p - s) + (p < end && *p == ' ');
}

/* A copy without log prefixes; the text itself when it has none. Line numbers stay. */
static const char *strip_log(struct arena *a, const char *text, size_t *size)
{
    const char *end = text + *size, *p = text;
    char *out = NULL, *o = NULL;
    while (p < end) {
        const char *e = memchr(p, '\n', (size_t)(end - p));
        e = e ? e + 1 : end;
        size_t skip = log_prefix(p, e);
        if (skip && !out) {
            out = arena_alloc(a, *size);
            memcpy(out, text, (size_t)(p - text));
            o = out + (p - text);
        }
        if (out) {
            memcpy(o, p + skip, (size_t)(e - p) - skip);
            o += (size_t)(e - p) - skip;
        }
        p = e;
    }
    if (!out)
        return text;
    *size = (size_t)(o - out);
    return out;
}

static bool starts(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

/* A line that is "// -----" and nothing else: it separates modules. */
static bool separator(const char *p, const char *end)
{
    const char *e = memchr(p, '\n', (size_t)(end - p));
    for (e = e ? e : end; e > p && (e[-1] == ' ' || e[-1] == '\t' || e[-1] == '\r'); e--)
        ;
    return e - p == 8 && !memcmp(p, "// -----", 8);
}

/* End of the module that starts at `p`: the next separator or "HloModule " line. */
static const char *module_end(const char *p, const char *end)
{
    bool header = false;
    for (const char *line = p; line < end;) {
        if (separator(line, end))
            return line;
        if (starts(line, end, "HloModule ")) {
            if (header)
                return line;
            header = true;
        }
        const char *e = memchr(line, '\n', (size_t)(end - line));
        line = e ? e + 1 : end;
    }
    return end;
}

static bool blank(const char *p, const char *end)
{
    struct lex l;
    lex_start(&l, p, (size_t)(end - p));
    return l.kind == TOK_END;
}

static bool read_text(struct hlo_file *f, const char *name, const char *text, size_t size,
                      struct diag *d)
{
    int capacity = 0, line = 1;
    text = strip_log(&f->arena, text, &size);
    const char *end = text + size;
    for (const char *p = text; p < end;) {
        const char *e = module_end(p, end);
        if (!blank(p, e)) {
            struct hlo_module *m = hlo_parse(&f->arena, name, p, (size_t)(e - p), line, d);
            if (!m)
                return false;
            ARENA_GROW(&f->arena, f->modules, f->count, capacity);
            f->modules[f->count++] = m;
        }
        for (; p < e; p++)
            line += *p == '\n';
        if (p < end && separator(p, end)) {
            const char *n = memchr(p, '\n', (size_t)(end - p));
            p = n ? n + 1 : end;
            line++;
        }
    }
    f->format = HLO_TEXT;
    return f->count > 0 || fail(d, "%s: no module in this text", name);
}

/* ---- entry points ---- */

static bool read_plain(struct hlo_file *f, const char *name, const uint8_t *data, size_t size,
                       struct diag *d)
{
    if (!size)
        return fail(d, "%s: the file is empty", name);
    if (size >= 4 && !memcmp(data, "ML\xefR", 4))
        return fail(d, "%s: this is MLIR bytecode (StableHLO); convert it to HLO first", name);
    if (!is_text(data, size))
        return hlo_proto_read(f, name, data, size, d);
    switch (look((const char *)data, size)) {
    case LOOKS_STABLEHLO:
        return fail(d, "%s: this is StableHLO text; convert it to HLO first (as_text('hlo'))",
                    name);
    case LOOKS_TEXT_PROTO:
        return hlo_proto_read_text(f, name, (const char *)data, size, d);
    case LOOKS_HLO:
    case LOOKS_NOTHING:
        break;
    }
    return read_text(f, name, (const char *)data, size, d);
}

bool hlo_read(struct hlo_file *f, const char *name, const void *data, size_t size, struct diag *d)
{
    *f = (struct hlo_file){0};
    bool ok;
    if (is_compressed(data, size)) {
        uint8_t *plain;
        size_t plain_size;
        if (!decompress(name, data, size, &plain, &plain_size, d))
            return false;
        if (plain_size && !hlo_detect(plain, plain_size))
            ok = fail(d,
                      "%s: this is a compressed file without HLO in it; unpack it (gunzip, unzstd) and give what it "
                      "contains",
                      name);
        else
            ok = read_plain(f, name, plain, plain_size, d);
        free(plain);
    } else {
        ok = read_plain(f, name, data, size, d);
    }
    if (!ok)
        hlo_free(f);
    return ok;
}

bool hlo_load(struct hlo_file *f, const char *path, struct diag *d)
{
    struct mapped_file file;
    *f = (struct hlo_file){0};
    if (!file_map(&file, path, d))
        return false;
    bool ok = hlo_read(f, path, file.data, file.size, d);
    file_unmap(&file);
    return ok;
}

void hlo_free(struct hlo_file *f)
{
    arena_free(&f->arena);
    *f = (struct hlo_file){0};
}
