/*
 * Families beyond f32 arithmetic on shapes known before: other element types, quantised chains,
 * results whose shapes depend on data, control flow with captured values.
 */
#include "test/random_families.h"

#include <string.h>

/* An item of one of the types: an input when there is none yet. */
static int any_of(struct recipe *r, const int *types, int n, int flags)
{
    int dtype = types[random_below(r, n)];
    int found = choose(r, (struct wish){dtype, 0, 6, flags});
    int64_t dims[3] = {1 + random_below(r, 3), 1 + random_below(r, 7), 1 + random_below(r, 9)};
    return found >= 0 ? found : leaf(r, ITEM_INPUT, dtype, 1 + random_below(r, 3), dims, false);
}

static bool draw_typed_input(struct recipe *r, enum op op)
{
    static const int types[] = {DT_F16, DT_BF16, DT_F64, DT_I64, DT_I8, DT_U8, DT_I16, DT_BOOL};
    int64_t dims[4];
    int rank = random_below(r, 5);
    for (int i = 0; i < rank; i++)
        dims[i] = 1 + random_below(r, 6);
    int dtype = types[random_below(r, 8)];
    return leaf(r, ITEM_INPUT, dtype, rank, dims, dtype == DT_U8) >= 0;
}

static bool draw_narrow(struct recipe *r, enum op op) /* f16 and bf16 arithmetic */
{
    int a = any_of(r, (const int[]){DT_F16, DT_BF16}, 2, 0);
    int in[2] = {a, a < 0 ? -1 : partner(r, a, 0)};
    return in[1] >= 0 && node(r, op, in, op_infos[op].min_in, NULL, 0);
}

static bool draw_integers(struct recipe *r, enum op op)
{
    int a = any_of(r, (const int[]){DT_I64, DT_I32, DT_I8, DT_U8, DT_I16}, 5, EXACT);
    int in[2] = {a, a < 0 ? -1 : partner(r, a, EXACT)};
    return in[1] >= 0 && node(r, op, in, op_infos[op].min_in, NULL, EXACT);
}

static bool draw_logic(struct recipe *r, enum op op)
{
    int a = any_of(r, (const int[]){DT_BOOL}, 1, EXACT);
    int in[2] = {a, a < 0 ? -1 : partner(r, a, EXACT)};
    return in[1] >= 0 && node(r, op, in, op_infos[op].min_in, NULL, EXACT);
}

static bool draw_convert(struct recipe *r, enum op op)
{
    static const int types[] = {DT_F32, DT_F16, DT_BF16, DT_F64, DT_I64, DT_I32, DT_BOOL};
    int a = choose(r, (struct wish){0, 0, 6, EXACT}), to = types[random_below(r, 7)];
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "to", to);
    return a >= 0 && node(r, op, &a, 1, &attrs, to == DT_F16 || to == DT_BF16 ? 0 : EXACT);
}

/* Quantised, perhaps moved, and back. */
static bool draw_quantised(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 5, EXACT});
    int scale = leaf(r, ITEM_CONST, DT_F32, 0, NULL, true);
    int zero = leaf(r, ITEM_CONST, random_below(r, 2) ? DT_I8 : DT_U8, 0, NULL, true);
    if (a < 0 || scale < 0 || zero < 0)
        return false;
    *(float *)r->items[scale].value.data = 0.25F;
    if (!node(r, op, (int[]){a, scale, zero}, 3, NULL, EXACT))
        return false;
    int q = r->n - 1;
    if (random_below(r, 2) && node(r, OP_transpose, &q, 1, NULL, EXACT))
        q = r->n - 1;
    return node(r, OP_dequantize_linear, (int[]){q, scale, zero}, 3, NULL, EXACT);
}

static bool draw_dependent(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 1, 3, EXACT}), in[2] = {a, -1};
    struct attrs attrs = {0};
    if (a < 0)
        return false;
    if (op == OP_compress) {
        in[1] = leaf(r, ITEM_INPUT, DT_BOOL, 1, r->items[a].type.dims, true);
        attr_set_int(&r->arena, &attrs, "axis", 0);
    }
    return node(r, op, in, op_infos[op].min_in, &attrs, EXACT | FINAL);
}

/* ---- control flow ---- */

static const enum op bodies[] = {OP_neg, OP_tanh, OP_abs, OP_identity, OP_sigmoid};

static bool control(struct recipe *r, enum op op, const int *in, int nin)
{
    enum op body[2] = {bodies[random_below(r, 5)], bodies[random_below(r, 5)]};
    if (r->n == MAX_ITEMS)
        return false;
    memcpy(r->items[r->n].body, body, sizeof body); /* node() keeps it */
    return node(r, op, in, nin, NULL, 0);
}

static bool draw_if(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 4, 0});
    int condition = leaf(r, ITEM_INPUT, DT_BOOL, 0, NULL, true);
    return a >= 0 && condition >= 0 && control(r, op, (int[]){condition, a}, 2);
}

/* A few turns; the body adds a captured value to the carried one. */
static bool draw_loop(struct recipe *r, enum op op)
{
    int a = choose(r, (struct wish){DT_F32, 0, 4, 0});
    int trips = leaf(r, random_below(r, 2) ? ITEM_CONST : ITEM_INPUT, DT_I64, 0, NULL, true);
    return a >= 0 && trips >= 0 && control(r, op, (int[]){trips, a}, 2);
}

static struct value *in_region(struct graph *g, struct region *r, enum op op,
                               struct value *const *in, int nin)
{
    struct node *n = node_new(g, op, in, nin, 1, "b");
    node_append(r, n);
    return n->out[0];
}

struct node *make_regions(struct graph *g, const struct item *i, struct item *items)
{
    struct value *first = items[i->in[0]].built, *captured = items[i->in[1]].built;
    bool is_if = i->op == OP_if;
    struct value *operands[] = {first, NULL, captured};
    struct node *n = node_new(g, i->op, operands, is_if ? 1 : 3, 1, "n");
    node_append(g->main, n);
    for (int k = 0; k < (is_if ? 2 : 1); k++) {
        struct region *r = node_add_region(g, n);
        if (is_if) {
            struct value *y = in_region(g, r, i->body[k], &captured, 1);
            node_append(r, node_new(g, OP_return, &y, 1, 0, ""));
            continue;
        }
        struct type count = type_tensor(DT_I64, 0, NULL), flag = type_tensor(DT_BOOL, 0, NULL);
        region_add_param(r, &count, "i");
        struct value *go_on = region_add_param(r, &flag, "c");
        struct value *state = region_add_param(r, &captured->type, "s");
        struct value *turned = in_region(g, r, i->body[0], &state, 1);
        struct value *sum = in_region(g, r, OP_add, (struct value *[]){turned, captured}, 2);
        node_append(r, node_new(g, OP_return, (struct value *[]){go_on, sum}, 2, 0, ""));
    }
    return n;
}

const struct random_family typed_families[] = {
    {draw_typed_input, 3, {OP_identity}},
    {draw_narrow,
     4,
     {OP_add, OP_mul, OP_sub, OP_max, OP_min, OP_relu, OP_neg, OP_tanh, OP_sigmoid, OP_gelu}},
    {draw_integers,
     3,
     {OP_add, OP_sub, OP_mul, OP_max, OP_min, OP_abs, OP_neg, OP_and, OP_or, OP_xor, OP_bitnot,
      OP_lt, OP_eq, OP_ge}},
    {draw_logic, 2, {OP_and, OP_or, OP_xor, OP_not, OP_eq}},
    {draw_convert, 3, {OP_cast}},
    {draw_quantised, 2, {OP_quantize_linear}},
    {draw_dependent, 1, {OP_nonzero, OP_compress, OP_unique}},
    {draw_if, 1, {OP_if}},
    {draw_loop, 1, {OP_loop}},
};
const int typed_families_count = sizeof typed_families / sizeof *typed_families;
