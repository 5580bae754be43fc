/*
 * xdump --diff: two archives side by side, part by part. Parts are compared as the text that
 * describes them.
 */
#include "neff/tools/xdump.h"

#include "neff/isa/asm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct differ {
    struct dump *a, *b;
    bool same;
    struct diag *d;
};

static void differs(struct differ *x, const char *what, const char *a, const char *b)
{
    x->same = false;
    printf("%s\n  - %s\n  + %s\n", what, a ? a : "(none)", b ? b : "(none)");
}

static void compare_text(struct differ *x, const char *what, const char *a, const char *b)
{
    if (!a || !b ? a != b : strcmp(a, b) != 0)
        differs(x, what, a, b);
}

static void compare_numbers(struct differ *x, const char *what, uint64_t a, uint64_t b)
{
    if (a != b)
        differs(x, what, arena_printf(&x->a->scratch, "%" PRIu64, a),
                arena_printf(&x->a->scratch, "%" PRIu64, b));
}

/* The hash and the sizes follow from the rest: only what people set. */
static void diff_header(struct differ *x)
{
    const struct neff_header *a = &x->a->file->header, *b = &x->b->file->header;
    char build[2][sizeof a->build + 1] = {{0}};
    memcpy(build[0], a->build, sizeof a->build), memcpy(build[1], b->build, sizeof b->build);
    compare_numbers(x, "header: neff_version_major", a->version_major, b->version_major);
    compare_numbers(x, "header: neff_version_minor", a->version_minor, b->version_minor);
    compare_numbers(x, "header: data_size", a->data_size, b->data_size);
    compare_text(x, "header: neff_build_version", build[0], build[1]);
    compare_text(x, "name", x->a->p->name, x->b->p->name);
    compare_text(x, "target", x->a->p->target, x->b->p->target);
}

/* First line in which two texts differ. */
static void diff_lines(struct differ *x, const char *what, const char *a, const char *b)
{
    for (int line = 1; *a || *b; line++) {
        size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");
        if (na != nb || memcmp(a, b, na)) {
            differs(x, arena_printf(&x->a->scratch, "%s, line %d", what, line),
                    arena_strndup(&x->a->scratch, a, na), arena_strndup(&x->a->scratch, b, nb));
            return;
        }
        a += na + (a[na] != 0), b += nb + (b[nb] != 0);
    }
}

static bool has_line_difference(const char *a, const char *b)
{
    return strcmp(a, b) != 0;
}

static char *kernel_text(const struct program *p, int i)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    kernel_print(p, &p->kernels[i], i, f);
    fclose(f);
    return text;
}

static bool diff_kernels(struct differ *x)
{
    const struct program *a = x->a->p, *b = x->b->p;
    compare_numbers(x, "number of kernels", (uint64_t)a->nkernels, (uint64_t)b->nkernels);
    for (int i = 0; i < a->nkernels && i < b->nkernels; i++) {
        char *ta = kernel_text(a, i), *tb = kernel_text(b, i);
        bool ok = ta && tb;
        if (ok && has_line_difference(ta, tb))
            diff_lines(x,
                       arena_printf(&x->a->scratch, "kernel %d '%s'", i,
                                    a->kernels[i].name ? a->kernels[i].name : ""),
                       ta, tb);
        free(ta), free(tb);
        if (!ok)
            return fail_memory(x->d, "out of memory");
    }
    return true;
}

static const char *slot_text(struct dump *u, int i)
{
    const struct slot *s = &u->p->slots[i];
    return arena_printf(&u->scratch, "%s '%s' %s%s", slot_kind_names[s->kind],
                        s->name ? s->name : "", type_text(&u->p->dims, &u->scratch, &s->type),
                        s->is_output ? " output" : "");
}

static void diff_slots(struct differ *x)
{
    const struct program *a = x->a->p, *b = x->b->p;
    compare_numbers(x, "number of slots", (uint64_t)a->nslots, (uint64_t)b->nslots);
    for (int i = 0; i < a->nslots && i < b->nslots; i++) {
        char what[64];
        snprintf(what, sizeof what, "slot %d", i);
        compare_text(x, what, slot_text(x->a, i), slot_text(x->b, i));
    }
}

static int64_t different_elements(const struct tensor *a, const struct tensor *b)
{
    size_t size = dtype_bytes(a->dtype);
    int64_t n = tensor_count(a), different = 0;
    for (int64_t i = 0; i < n; i++)
        different += memcmp((char *)a->data + (size_t)i * size, (char *)b->data + (size_t)i * size,
                            size) != 0;
    return different;
}

static void diff_constants(struct differ *x)
{
    const struct program *a = x->a->p, *b = x->b->p;
    for (int i = 0; i < a->nslots && i < b->nslots; i++) {
        const struct slot *s = &a->slots[i], *t = &b->slots[i];
        if (s->kind != SLOT_CONST || t->kind != SLOT_CONST || !type_equal(&s->type, &t->type) ||
            tensor_equal(&s->data, &t->data))
            continue;
        x->same = false;
        if (s->data.dtype == DT_STR)
            printf("constant %d '%s': strings differ\n", i, s->name ? s->name : "");
        else
            printf("constant %d '%s': %" PRId64 " of %" PRId64 " elements differ\n", i,
                   s->name ? s->name : "", different_elements(&s->data, &t->data),
                   tensor_count(&s->data));
    }
}

static const char *call_text(struct dump *u, const struct call *c)
{
    const char *text = arena_printf(&u->scratch, "%s(", op_name(c->op));
    for (int i = 0; i < c->nin; i++)
        text = arena_printf(&u->scratch, "%s%%%d ", text, c->in[i]);
    text = arena_printf(&u->scratch, "%s->", text);
    for (int i = 0; i < c->nout; i++)
        text = arena_printf(&u->scratch, "%s %%%d", text, c->out[i]);
    return arena_printf(&u->scratch, "%s)", text);
}

static void diff_calls(struct differ *x)
{
    const struct program *a = x->a->p, *b = x->b->p;
    compare_numbers(x, "number of calls", (uint64_t)a->ncalls, (uint64_t)b->ncalls);
    for (int i = 0; i < a->ncalls && i < b->ncalls; i++) {
        char what[64];
        snprintf(what, sizeof what, "call %d", i);
        compare_text(x, what, call_text(x->a, &a->calls[i]), call_text(x->b, &b->calls[i]));
        if (a->calls[i].op == b->calls[i].op &&
            !attrs_equal(&a->calls[i].attrs, &b->calls[i].attrs)) {
            x->same = false;
            printf("call %d %s: attributes differ\n", i, op_name(a->calls[i].op));
        }
    }
    compare_numbers(x, "number of regions", (uint64_t)a->nregions, (uint64_t)b->nregions);
}

static bool same_member(const struct neff_member *a, const struct neff_member *b)
{
    return a && b && a->size == b->size && !memcmp(a->data, b->data, a->size);
}

bool dump_diff(struct dump *a, struct dump *b, bool *same, struct diag *d)
{
    struct differ x = {a, b, true, d};
    diff_header(&x);
    if (a->p->info && b->p->info)
        diff_lines(&x, "info", a->p->info, b->p->info);
    diff_slots(&x);
    bool ok = diff_kernels(&x);
    diff_calls(&x);
    diff_constants(&x);
    for (int i = 0; x.same && i < a->file->nmembers; i++) {
        const struct neff_member *m = &a->file->members[i];
        if (!same_member(m, neff_find(b->file, m->name))) {
            x.same = false;
            printf("member %s differs\n", m->name);
        }
    }
    if (x.same)
        printf("the same\n");
    *same = x.same;
    return ok;
}
