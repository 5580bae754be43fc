/*
 * Bounded dims, f32[<=8]. XLA keeps such arrays padded to the bound; here a size that only running
 * tells is the array's own, so the bound says no more than what an input may be.
 */
#include "frontend/hlo/lower/importer.h"
#include "neff/core/guard.h"
#include "passes/ir/guards.h"

static bool any_dynamic(const struct hlo_shape *s)
{
    for (int k = 0; k < s->count; k++)
        if (any_dynamic(s->elements[k]))
            return true;
    for (int k = 0; s->dynamic && k < s->rank; k++)
        if (s->dynamic[k])
            return true;
    return false;
}

static const struct hlo_shape *unbounded(struct arena *a, const struct hlo_shape *s)
{
    if (!any_dynamic(s))
        return s;
    struct hlo_shape *r = arena_copy(a, s, sizeof *s);
    if (s->count) {
        r->elements = arena_copy(a, s->elements, sizeof *s->elements * (size_t)s->count);
        for (int k = 0; k < s->count; k++)
            r->elements[k] = unbounded(a, s->elements[k]);
        return r;
    }
    int64_t *bounds = arena_copy(a, s->dims, sizeof *s->dims * (size_t)s->rank);
    r->dims = arena_copy(a, s->dims, sizeof *s->dims * (size_t)s->rank);
    r->dynamic = NULL;
    r->bounds = bounds;
    for (int k = 0; k < s->rank; k++)
        *(s->dynamic[k] ? &r->dims[k] : &bounds[k]) = HLO_UNBOUNDED;
    return r;
}

void hlo_unbound(struct hlo_module *m)
{
    for (int c = 0; c < m->count; c++)
        for (int k = 0; k < m->computations[c]->count; k++) {
            struct hlo_instruction *i = m->computations[c]->instructions[k];
            m->dynamic |= any_dynamic(i->shape);
            i->shape = unbounded(m->arena, i->shape);
        }
}

bool hlo_guard_bounds(struct hlo_importer *im, const struct hlo_shape *s, const struct type *t,
                      const char *name)
{
    for (int r = 0; s->bounds && r < t->rank; r++) {
        struct guard g = {
            .kind = GUARD_AT_MAX, .dimension = (int8_t)r, .a = t->dims[r], .b = s->bounds[r]};
        if (s->bounds[r] < 0 || guard_is_certain(&im->g->dims, g.kind, g.a, g.b))
            continue;
        if (dim_is_const(g.a))
            return fail(im->d, "input '%s': dim %d is %lld, the model's bound is %lld", name, r,
                        (long long)g.a, (long long)g.b);
        g.node = arena_printf(&im->g->arena, "input '%s'", name);
        g.what = "the bound of its shape";
        graph_add_guard(im->g, &g, im->g->main, NULL);
    }
    return true;
}
