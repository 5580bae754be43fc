/* Replica groups, also of the axes of a mesh: which devices an operation works among. */
#include "frontend/hlo/syntax/parse.h"

#include <string.h>

static bool product(const struct hlo_ints *v, int64_t *out)
{
    *out = 1;
    for (int k = 0; k < v->count; k++)
        if (v->v[k] < 0 || __builtin_mul_overflow(*out, v->v[k], out))
            return false;
    return true;
}

/* [4,2]T(1,0) or [8] */
static bool parse_iota(struct parser *p, struct hlo_iota *out)
{
    const char *at = p->lex.start;
    if (!parse_int_list(p, '[', ']', &out->dims))
        return false;
    int from = p->int_count;
    if (lex_word(&p->lex, "T")) {
        lex_next(&p->lex);
        if (!eat(p, '('))
            return false;
        if (!push_some_ints(p))
            return false;
        if (!eat(p, ')'))
            return false;
    } else if (out->dims.count == 1) {
        push_int(p, 0);
    } else {
        return parse_expected(p, "T(permutation)");
    }
    out->perm = pop_ints(p, from);
    if (out->perm.count != out->dims.count || out->dims.count > 64)
        return parse_fail_at(p, at, "%d dimensions with a permutation of %d", out->dims.count,
                             out->perm.count);
    uint64_t seen = 0;
    for (int k = 0; k < out->perm.count; k++) {
        if (out->perm.v[k] < 0 || out->perm.v[k] >= out->perm.count || seen >> out->perm.v[k] & 1)
            return parse_fail_at(p, at, "T(...) is not a permutation");
        seen |= (uint64_t)1 << out->perm.v[k];
    }
    return true;
}

static bool check_size(struct parser *p, const char *at, const struct hlo_ints *tile,
                       int64_t devices)
{
    int64_t n;
    if (!product(tile, &n) || n != devices)
        return parse_fail_at(p, at, "%lld devices do not match the tile assignment's dimensions",
                             (long long)devices);
    return true;
}

/* ---- meshes ---- */

static const char *quoted(struct parser *p)
{
    struct hlo_text t;
    return parse_string(p, &t) ? hlo_intern(&p->names, t.data, t.size) : NULL;
}

static bool parse_device_ids(struct parser *p, struct hlo_mesh *m)
{
    const char *at = p->lex.start;
    struct hlo_ints sizes = {m->axis_count, ARENA_ARRAY(&p->scratch, int64_t, m->axis_count)};
    for (int k = 0; k < m->axis_count; k++)
        sizes.v[k] = m->axes[k].size;
    if (!eat(p, '('))
        return false;
    if (lex_is(&p->lex, '[')) {
        int64_t n;
        if (!parse_iota(p, &m->iota) || !eat(p, ')'))
            return false;
        if (!product(&m->iota.dims, &n))
            return parse_fail_at(p, at, "device_ids is too large");
        return check_size(p, at, &sizes, n);
    }
    int from = p->int_count;
    if (!push_some_ints(p))
        return false;
    m->device_ids = pop_ints(p, from);
    return eat(p, ')') && check_size(p, at, &sizes, m->device_ids.count);
}

/* mesh['x'=2,'y'=4] with optional ", device_ids=(...)", or maximal_mesh[device_id=3] */
static bool parse_mesh(struct parser *p, const struct hlo_mesh **out)
{
    struct hlo_mesh *m = ARENA_NEW(p->arena, struct hlo_mesh);
    int capacity = 0;
    *out = m;
    m->maximal = lex_word(&p->lex, "maximal_mesh");
    lex_next(&p->lex);
    if (!eat(p, '['))
        return false;
    if (m->maximal) {
        int64_t v;
        int from = p->int_count;
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "device_id=");
        lex_next(&p->lex);
        if (!token_int(p, &v))
            return false;
        push_int(p, v);
        m->device_ids = pop_ints(p, from);
        return eat(p, ']');
    }
    for (int k = 0; parse_more(p, ']', k); k++) {
        ARENA_GROW(p->arena, m->axes, m->axis_count, capacity);
        struct hlo_axis *a = &m->axes[m->axis_count++];
        if (!(a->name = quoted(p)) || !eat(p, '=') || !token_int(p, &a->size))
            return false;
    }
    if (!eat(p, ']'))
        return false;
    struct lex after = p->lex;
    if (!lex_is(&after, ','))
        return true;
    lex_next(&after);
    if (after.kind != TOK_ATTR || after.size != 10 || memcmp(after.text, "device_ids", 10))
        return true;
    lex_next(&after);
    p->lex = after;
    return parse_device_ids(p, m);
}

/* {'a', 'b':(2)4, ?} */
static bool parse_axes(struct parser *p, const struct hlo_mesh *m, struct hlo_axis_refs *out)
{
    int capacity = 0;
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        if (p->lex.kind == TOK_QUESTION) {
            out->open = true;
            lex_next(&p->lex);
            break;
        }
        const char *at = p->lex.start, *name = NULL;
        int64_t axis = 0;
        if (p->lex.kind == TOK_INT) {
            if (!token_int(p, &axis))
                return false;
        } else if (!(name = quoted(p))) {
            return false;
        }
        while (name && axis < m->axis_count && m->axes[axis].name != name)
            axis++;
        if (axis < 0 || axis >= m->axis_count)
            return name ? parse_fail_at(p, at, "'%s' is not an axis of the mesh", name)
                        : parse_fail_at(p, at, "axis %lld is not in the mesh", (long long)axis);
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_axis_ref *r = &out->v[out->count++];
        r->axis = (int)axis;
        if (eat_if(p, ':') && (!eat(p, '(') || !token_int(p, &r->pre_size) || !eat(p, ')') ||
                               !token_int(p, &r->size)))
            return false;
    }
    return eat(p, '}');
}

bool parse_groups(struct parser *p, const struct hlo_groups **out)
{
    struct hlo_groups *g = ARENA_NEW(p->arena, struct hlo_groups);
    const char *at = p->lex.start;
    *out = g;
    if (lex_is(&p->lex, '{'))
        return parse_lists(p, &g->lists);
    if (lex_word(&p->lex, "mesh") || lex_word(&p->lex, "maximal_mesh")) {
        g->form = HLO_GROUPS_MESH;
        if (!parse_mesh(p, &g->mesh))
            return false;
        eat_if(p, ',');
        return parse_axes(p, g->mesh, &g->axes);
    }
    g->form = HLO_GROUPS_IOTA;
    int64_t n;
    if (!parse_int_list(p, '[', ']', &g->tile) || !eat_kind(p, TOK_LE, "'<='") ||
        !parse_iota(p, &g->iota))
        return false;
    if (g->tile.count != 2)
        return parse_fail_at(p, at, "replica groups have %d dimensions, expected [groups,devices]",
                             g->tile.count);
    if (!product(&g->iota.dims, &n))
        return parse_fail_at(p, at, "replica groups are too large");
    return check_size(p, at, &g->tile, n);
}
