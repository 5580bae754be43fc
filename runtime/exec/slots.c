/*
 * Shapes and sizes of slots, once the symbols in them are known.
 */
#include "neff/base/use.h"
#include "runtime/exec/state.h"

enum { PLAN_UNIT = 64 };
#define MAX_PLANNED (INT64_C(1) << 60) /* sums of sizes stay far from overflow */

bool slot_dims(const struct slot *s, const int64_t *values, struct tensor *out)
{
    *out = (struct tensor){.kind = VK_NONE};
    if (s->type.kind != VK_TENSOR || s->type.rank < 0)
        return false;
    for (int i = 0; i < s->type.rank; i++) {
        out->dims[i] = dim_value(values, s->type.dims[i]);
        if (out->dims[i] == DIM_NOT_BOUND)
            return false;
    }
    out->kind = VK_TENSOR;
    out->dtype = s->type.dtype;
    out->rank = s->type.rank;
    return true;
}

/* Bytes of a tensor whose dims come from a file; fails on negative dims and on overflow. */
static bool checked_size(const char *name, const struct tensor *t, int64_t *bytes, struct diag *d)
{
    int64_t n = (int64_t)dtype_bytes(t->dtype);
    bool empty = false, overflow = false;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return fail(d, "'%s': dimension %d is %lld for these input shapes, expected 0 or more",
                        name, i, (long long)t->dims[i]);
        empty |= t->dims[i] == 0;
        overflow |= __builtin_mul_overflow(n, t->dims[i], &n);
    }
    if (!empty && (overflow || n > INT64_MAX / 4))
        return fail(d, "'%s' is too large: its size does not fit 64 bits", name);
    *bytes = empty ? 0 : n;
    return true;
}

/* The innermost broadcast of the expression whose operands have sizes that do not go together. */
static const struct dim_node *odd_broadcast(const struct dim_table *t, const int64_t *values,
                                            dim_t d)
{
    const struct dim_node *n = dim_is_const(d) ? NULL : &t->nodes[dim_index(d)];
    if (!n || n->op == DIM_SYM)
        return NULL;
    const struct dim_node *inner = odd_broadcast(t, values, n->a);
    if (!inner)
        inner = odd_broadcast(t, values, n->b);
    if (inner || n->op != DIM_BROADCAST)
        return inner;
    int64_t a = dim_value(values, n->a), b = dim_value(values, n->b);
    return a >= 0 && b >= 0 && a != b && a != 1 && b != 1 ? n : NULL;
}

bool check_broadcasts(const struct program *p, int slot, const int64_t *values, struct diag *d)
{
    const struct slot *s = &p->slots[slot];
    for (int i = 0; s->type.kind == VK_TENSOR && i < s->type.rank; i++) {
        if (dim_value(values, s->type.dims[i]) >= 0)
            continue;
        const struct dim_node *n = odd_broadcast(&p->dims, values, s->type.dims[i]);
        if (n)
            return fail(d,
                        "'%s': sizes %lld and %lld do not broadcast in dimension %d: these input "
                        "shapes do not go together in this model",
                        s->name ? s->name : "(unnamed)", (long long)dim_value(values, n->a),
                        (long long)dim_value(values, n->b), i);
    }
    return true;
}

bool size_slots(const struct model *m, struct bound *b, int64_t *sizes, struct diag *d)
{
    const struct program *p = m->p;
    int64_t all = 0;
    for (int s = 0; s < p->nslots; s++) {
        const struct slot *slot = &p->slots[s];
        const char *name = slot->name ? slot->name : "(unnamed)";
        sizes[s] = 0;
        if (m->slot_runtime[s] || !slot_dims(slot, b->values, &b->types[s])) {
            if (slot->kind == SLOT_PLANNED)
                return fail(d, "'%s' has dims that no input determines, but a place in the plan",
                            name);
            b->types[s].kind = VK_NONE;
            continue;
        }
        if (!check_broadcasts(p, s, b->values, d) ||
            !checked_size(name, &b->types[s], &sizes[s], d))
            return false;
        if (slot->kind == SLOT_PLANNED &&
            (sizes[s] > MAX_PLANNED || (all += sizes[s] + PLAN_UNIT) > MAX_PLANNED))
            return fail(d, "'%s' and tensors before it need more than %lld bytes, more than any machine has",
                        name, (long long)MAX_PLANNED);
    }
    for (int s = 0; s < p->nslots; s++) {
        const struct slot *slot = &p->slots[s];
        if (slot->kind != SLOT_VIEW || b->types[s].kind == VK_NONE ||
            b->types[slot->base].kind == VK_NONE)
            continue;
        int64_t offset = dim_value(b->values, slot->offset), start;
        if (offset < 0 ||
            __builtin_mul_overflow(offset, (int64_t)dtype_bytes(slot->type.dtype), &start) ||
            start > sizes[slot->base] || sizes[s] > sizes[slot->base] - start)
            return fail(d, "view '%s' (%lld bytes at element %lld) leaves its tensor of %lld bytes",
                        slot->name ? slot->name : "(unnamed)", (long long)sizes[s],
                        (long long)offset, (long long)sizes[slot->base]);
    }
    return true;
}

/* ---- states ---- */

int64_t state_bytes(const struct program *p, const int64_t *values, int slot, int64_t bytes)
{
    int end;
    const struct program_state *s = USED(STATES) ? state_of_slot(p, slot, &end) : NULL;
    if (!s || bytes <= 0)
        return bytes;
    int64_t length = dim_value(values, p->slots[slot].type.dims[s->axis]), pitch = dim_value(values, s->pitch[end]);
    if (length <= 0 || pitch <= length || __builtin_mul_overflow(bytes / length, pitch, &pitch))
        return bytes;
    return pitch;
}

bool states_fit(const struct context *c, const int64_t *values, struct diag *d)
{
    const struct program *p = c->m->p;
    for (int i = 0; USED(STATES) && c->states && i < p->nstates; i++) {
        const struct program_state *s = &p->states[i];
        int64_t before = dim_value(values, p->slots[s->input].type.dims[s->axis]),
                after = dim_value(values, p->slots[s->output].type.dims[s->axis]);
        if (state_is_update(p, s))
            continue;
        if (c->capacities[i] && after > c->capacities[i])
            return fail(d, "output '%s' would have %lld along axis %d, its state has room for %lld (xrt_bind_state)",
                        p->output_names[c->states[i].output], (long long)after, s->axis,
                        (long long)c->capacities[i]);
        if (c->capacities[i] && before > c->capacities[i])
            return fail(d, "input '%s' has %lld along axis %d, its state has room for %lld (xrt_bind_state)",
                        p->slots[s->input].name, (long long)before, s->axis, (long long)c->capacities[i]);
    }
    return true;
}
