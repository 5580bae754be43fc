/*
 * Before anything else, everything in a module that cannot be lowered is found and listed at once.
 */
#include "frontend/hlo/lower/importer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LISTED = 64, NAMES_SHOWN = 3 };

struct hlo_missing {
    const char *what; /* equal text: one entry */
    int64_t count;
    const char *names[NAMES_SHOWN];
};

struct hlo_search {
    struct hlo_importer *im;
    struct hlo_missing list[MAX_LISTED];
    int count;
    int64_t instructions;
    bool *seen; /* computations */
};

static void note(struct hlo_search *s, const struct hlo_instruction *i, const char *what)
{
    struct hlo_missing *m = NULL;
    s->instructions++;
    for (int k = 0; k < s->count && !m; k++)
        if (!strcmp(s->list[k].what, what))
            m = &s->list[k];
    if (!m && s->count == MAX_LISTED)
        return;
    if (!m) {
        m = &s->list[s->count++];
        *m = (struct hlo_missing){.what = what};
    }
    if (m->count < NAMES_SHOWN)
        m->names[m->count] = i->name;
    m->count++;
}

static bool shape_is_dynamic(const struct hlo_shape *s)
{
    for (int k = 0; k < s->count; k++)
        if (shape_is_dynamic(s->elements[k]))
            return true;
    for (int k = 0; k < s->rank; k++)
        if ((s->dynamic && s->dynamic[k]) || s->dims[k] < 0)
            return true;
    return false;
}

static bool shape_is_deep(const struct hlo_shape *s)
{
    for (int k = 0; k < s->count; k++)
        if (shape_is_deep(s->elements[k]))
            return true;
    return s->rank > MAX_RANK;
}

static bool shape_is_opaque(const struct hlo_shape *s)
{
    for (int k = 0; k < s->count; k++)
        if (shape_is_opaque(s->elements[k]))
            return true;
    return s->type == HLO_OPAQUE;
}

static void check(struct hlo_search *s, const struct hlo_instruction *i)
{
    struct arena *a = &s->im->arena;
    const struct hlo_row *row = hlo_row(i->opcode);
    const char *name = hlo_op_name(i->opcode);
    if (!row->lower)
        note(s, i, row->reason ? arena_printf(a, "%s: %s", name, row->reason) : name);
    else if (i->opcode == HLO_OP_CUSTOM_CALL && !hlo_target_find(i) &&
             !hlo_is_custom_op(s->im, i) &&
             !hlo_is_kernel(s->im, a, i))
        note(s, i, hlo_custom_call_reason(s->im, a, i));
    else if (i->opcode == HLO_OP_CONSTANT && i->literal->elided)
        note(s, i,
             "constant: its values were left out ('{...}'); print the module again with large "
             "constants");
    else if (shape_is_dynamic(i->shape) && !s->im->m->dynamic)
        note(s, i,
             arena_printf(a, "%s of %s: dimensions known only while running", name,
                          hlo_shape_text(a, i->shape)));
    else if (shape_is_deep(i->shape))
        note(s, i, arena_printf(a, "%s of more than %d dimensions", name, MAX_RANK));
    else if (shape_is_opaque(i->shape))
        note(s, i, arena_printf(a, "%s of an opaque value", name));
}

static void search_computation(struct hlo_search *s, const struct hlo_computation *c);

static void search_callees(struct hlo_search *s, const struct hlo_instruction *i)
{
    if (i->opcode == HLO_OP_CUSTOM_CALL) /* comparators and fallbacks: their handlers decide */
        return;
    for (int k = 0; k < i->attr_count; k++) {
        enum hlo_attr_kind kind = hlo_attr_info(i->attrs[k].id)->kind;
        if (kind == HLO_KIND_COMPUTATION)
            search_computation(s, i->attrs[k].computation);
        for (int j = 0; kind == HLO_KIND_COMPUTATIONS && j < i->attrs[k].computations->count; j++)
            search_computation(s, i->attrs[k].computations->v[j]);
    }
}

static void search_computation(struct hlo_search *s, const struct hlo_computation *c)
{
    if (s->seen[c->index] || s->im->depth >= MAX_CALLS)
        return;
    s->seen[c->index] = true;
    s->im->depth++;
    const bool *need = hlo_needed(s->im, c);
    for (int k = 0; k < c->count; k++)
        if (need[k]) {
            check(s, c->instructions[k]);
            search_callees(s, c->instructions[k]);
        }
    s->im->depth--;
}

static const char *describe(struct arena *a, const struct hlo_missing *m)
{
    char names[400];
    size_t at = 0;
    for (int i = 0; i < NAMES_SHOWN && i < m->count && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               m->names[i]);
    return arena_printf(a, "%s, %lld instruction%s: %s%s", m->what, (long long)m->count,
                        m->count == 1 ? "" : "s", names, m->count > NAMES_SHOWN ? ", ..." : "");
}

bool hlo_check_supported(struct hlo_importer *im)
{
    struct hlo_search s = {.im = im};
    s.seen = ARENA_ARRAY(&im->arena, bool, im->m->count + 1);
    search_computation(&s, im->m->entry);
    if (s.count == 0)
        return true;
    const char *lines[MAX_LISTED];
    for (int i = 0; i < s.count; i++)
        lines[i] = describe(&im->arena, &s.list[i]);
    im->d->unsupported = true;
    return fail_lines(im->d, lines, s.count, "%lld instruction%s not supported; see --list-operators:",
                      (long long)s.instructions, s.instructions == 1 ? " is" : "s are");
}
