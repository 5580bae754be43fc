#include "passes/evaluate.h"

#include "runtime/ops/common/ops.h"

#include <string.h>

enum { SMALL = 1 << 10 }; /* bytes of operands and results of what inference computes: sizes are made of few numbers */

bool may_evaluate(const struct node *n)
{
    return !(op_infos[n->op].flags & (OPF_IMPURE | OPF_TERMINATOR | OPF_REGIONS));
}

bool evaluate_node(const struct node *n, const struct tensor *const *in, struct tensor *results, int64_t max_bytes,
                   struct diag *d)
{
    static struct tensor absent = {.kind = VK_NONE};
    struct arena scratch = {0};
    struct tensor **operands = ARENA_ARRAY(&scratch, struct tensor *, n->nin + 1);
    struct tensor **out = ARENA_ARRAY(&scratch, struct tensor *, n->nout + 1);
    for (int i = 0; i < n->nin; i++)
        operands[i] = in[i] ? (struct tensor *)in[i] : &absent;
    for (int i = 0; i < n->nout; i++) {
        results[i] = (struct tensor){.kind = VK_NONE};
        out[i] = &results[i];
    }
    struct op_env env = {.d = d, .max_bytes = max_bytes};
    struct op_call c = {.op = n->op,
                        .attrs = &n->attrs,
                        .nin = n->nin,
                        .nout = n->nout,
                        .in = operands,
                        .out = out,
                        .env = &env};
    bool ok = op_run(&c);
    arena_free(&scratch);
    return ok;
}

struct tensor arena_tensor(struct arena *a, const struct tensor *t)
{
    struct tensor copy = *t;
    copy.owned = false;
    if (t->kind == VK_NONE)
        return copy;
    if (t->kind != VK_TENSOR) {
        copy.items = ARENA_ARRAY(a, struct tensor, t->nitems + 1);
        for (int64_t i = 0; i < t->nitems; i++)
            copy.items[i] = arena_tensor(a, &t->items[i]);
        return copy;
    }
    size_t size = tensor_bytes(t);
    char *room = arena_alloc(a, size + 64);
    room += (64 - (uintptr_t)room % 64) % 64;
    arena_move_(room, t->data, size);
    copy.data = room;
    if (t->dtype == DT_STR)
        for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
            struct str *s = (struct str *)room + i;
            s->p = arena_strndup(a, s->p, s->n);
        }
    return copy;
}

int64_t static_bytes(const struct type *t)
{
    if (!type_is_static(t))
        return -1;
    int64_t n = (int64_t)dtype_bytes(t->dtype);
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(n, t->dims[i], &n))
            return INT64_MAX;
    return n;
}

/* Numbers at the limits of dims stand for others. */
const struct tensor *tensor_of_content(struct arena *a, const struct value *v, struct diag *d)
{
    const struct type *t = &v->type;
    if (v->content.n < 0 || !type_is_static(t) || (!dtype_is_int(t->dtype) && t->dtype != DT_BOOL) ||
        t->dtype == DT_U64 || static_bytes(t) != v->content.n * (int64_t)dtype_bytes(t->dtype))
        return NULL;
    struct tensor exact = {.kind = VK_NONE}, *made = NULL;
    bool ok = tensor_alloc(&exact, t->dtype, t->rank, t->dims, d);
    for (int64_t k = 0; ok && k < v->content.n; k++) {
        ok = v->content.v[k] > DIM_LOWEST && v->content.v[k] < DIM_HIGHEST;
        if (ok)
            dtype_store_i64(t->dtype, exact.data, (size_t)k, v->content.v[k]);
        ok = ok && tensor_i64(&exact, k) == v->content.v[k];
    }
    if (ok) {
        made = ARENA_ARRAY(a, struct tensor, 1);
        *made = arena_tensor(a, &exact);
    }
    tensor_free(&exact);
    return made;
}

/* ---- what inference computes ---- */

const struct tensor *known_tensor(const struct value *v)
{
    const struct tensor *t = v->constant ? v->constant : v->computed;
    return t && t->kind == VK_TENSOR ? t : NULL;
}

static bool is_small(const struct type *t)
{
    int64_t bytes = t->kind == VK_TENSOR && t->dtype != DT_STR ? static_bytes(t) : -1;
    return bytes >= 0 && bytes <= SMALL;
}

/* Whether all operands are known and small; in gets them. */
static bool operands_known(struct graph *g, const struct node *n, const struct tensor **in, struct diag *d)
{
    for (int i = 0; i < n->nin; i++) {
        const struct value *v = n->in[i];
        in[i] = v ? known_tensor(v) : NULL;
        if (v && is_small(&v->type) && !in[i])
            in[i] = tensor_of_content(&g->arena, v, d);
        if (v && (!is_small(&v->type) || !in[i]))
            return false;
    }
    return true;
}

/* Rules tell the contents of integers: what they do not tell is computed. */
static bool asks_to_be_computed(const struct node *n)
{
    bool unknown = false;
    for (int i = 0; i < n->nout; i++) {
        if (!is_small(&n->out[i]->type))
            return false;
        unknown |= n->out[i]->content.n < 0;
    }
    return unknown && n->nin > 0 && may_evaluate(n);
}

static void keep_result(struct graph *g, struct value *v, const struct tensor *result)
{
    if (result->kind != VK_TENSOR || result->dtype != v->type.dtype)
        return;
    struct tensor *kept = ARENA_ARRAY(&g->arena, struct tensor, 1);
    *kept = arena_tensor(&g->arena, result);
    v->computed = kept;
    if (v->content.n < 0) {
        struct content c = content_of_tensor(&g->arena, kept);
        v->content = (struct content_list){c.v, c.n};
    }
}

bool compute_results(struct graph *g, struct node *n, struct diag *d)
{
    for (int i = 0; i < n->nout; i++)
        n->out[i]->computed = NULL;
    if (!asks_to_be_computed(n))
        return true;
    const struct tensor **in = ARENA_ARRAY(&g->arena, const struct tensor *, n->nin);
    struct diag failed = {0};
    if (!operands_known(g, n, in, &failed))
        return !failed.memory || fail_memory(d, "%s: %s", node_text(g, n), failed.text);
    struct tensor *results = ARENA_ARRAY(&g->arena, struct tensor, n->nout);
    bool ok = evaluate_node(n, in, results, SMALL * (int64_t)(n->nout + 1), &failed);
    for (int i = 0; i < n->nout; i++) {
        if (ok)
            keep_result(g, n->out[i], &results[i]);
        tensor_free(&results[i]);
    }
    return !failed.memory || fail_memory(d, "%s: %s", node_text(g, n), failed.text);
}
