/*
 * The rounds of Threefry-2x32 as JAX writes them: a loop of five turns of four rounds, that carries
 * two tables of rotations and three keys in turn. What is matched is the loop as a whole, every
 * value that it carries and computes.
 */
#include "passes/build.h"
#include "passes/compose.h"

#include <string.h>

enum { ROUNDS = 4, TURNS = 5, KEYS = 3 };

struct threefry_loop {
    const struct node *loop;
    const struct region *body;
    const struct node *results;
    int a, b, key[KEYS], rotations, counter; /* numbers of what is carried */
};

/* The number of the parameter, -1 when v is none of the body. */
static int param_number(const struct threefry_loop *t, const struct value *v)
{
    return v && v->param_of == t->body ? v->index : -1;
}

static struct value *other_operand(const struct node *n, const struct value *v)
{
    return n->in[0] == v ? n->in[1] : n->in[1] == v ? n->in[0] : NULL;
}

/* Parameter `number` becomes itself plus 1, from 0 on. */
static bool counts(const struct threefry_loop *t, int number)
{
    const struct node *sum = made_by(t->results->in[number], OP_add);
    return sum && param_number(t, sum->in[0]) == number && single_constant(sum->in[1]) &&
           constant_is(sum->in[1], 1) && constant_is(t->loop->in[number], 0);
}

/* v is element `at` of the table of rotations, which is noted. */
static bool is_rotation(struct threefry_loop *t, const struct value *v, int64_t at)
{
    const struct node *view = made_by(v, OP_reshape);
    const struct node *part = made_by(view ? view->in[0] : v, OP_slice);
    if (!part || part->nin < 2 || part->out[0]->type.rank != 1 ||
        part->out[0]->type.dims[0] != 1)
        return false;
    int table = param_number(t, part->in[0]);
    if (table < 0 || part->in[0]->type.rank != 1 || !constant_is(part->in[1], (double)at) ||
        (t->rotations >= 0 && table != t->rotations))
        return false;
    t->rotations = table;
    return true;
}

/* v = x rotated to the left by rotation `at`; x then. */
static struct value *rotated(struct threefry_loop *t, const struct value *v, int64_t at)
{
    const struct node *both = made_by(v, OP_or);
    for (int i = 0; both && i < 2; i++) {
        const struct node *left = made_by(both->in[i], OP_shl),
                          *right = made_by(both->in[!i], OP_shr);
        const struct node *rest = right ? made_by(right->in[1], OP_sub) : NULL;
        if (left && rest && left->in[0] == right->in[0] && constant_is(rest->in[0], 32) &&
            rest->in[1] == left->in[1] && is_rotation(t, left->in[1], at))
            return left->in[0];
    }
    return NULL;
}

/* a, b are what four rounds make of the parameters a and b. */
static bool is_rounds(struct threefry_loop *t, const struct value *a, const struct value *b)
{
    for (int64_t round = ROUNDS - 1; round >= 0; round--) {
        const struct node *fold = made_by(b, OP_xor), *sum = made_by(a, OP_add);
        const struct value *turned = fold ? other_operand(fold, a) : NULL;
        struct value *before = turned ? rotated(t, turned, round) : NULL;
        if (!sum || !before)
            return false;
        a = other_operand(sum, before);
        b = before;
    }
    return param_number(t, a) == t->a && param_number(t, b) == t->b;
}

/* v = x + the key, x then. */
static const struct value *with_key(struct threefry_loop *t, const struct value *v, int *key)
{
    const struct node *sum = made_by(v, OP_add);
    for (int i = 0; sum && i < 2; i++)
        if ((*key = param_number(t, sum->in[i])) >= 0)
            return sum->in[!i];
    return NULL;
}

/* v = x + the number of the turn as u32, x then. */
static const struct value *with_turn(struct threefry_loop *t, const struct value *v)
{
    const struct node *sum = made_by(v, OP_add);
    for (int i = 0; sum && i < 2; i++) {
        const struct node *cast = made_by(sum->in[i], OP_cast);
        for (int p = 0; cast && p < t->body->nparams; p++)
            if (t->results->in[p] == cast->in[0] && counts(t, p))
                return sum->in[!i];
    }
    return NULL;
}

/* The loop's result number `place` is b, and there is an a that goes with it. */
static bool is_turn(struct threefry_loop *t, int place)
{
    const struct value *b = with_turn(t, t->results->in[place]);
    t->b = place;
    t->rotations = -1;
    if (!b || !(b = with_key(t, b, &t->key[1])))
        return false;
    for (t->a = 0; t->a < t->body->nparams; t->a++) {
        const struct value *a = with_key(t, t->results->in[t->a], &t->key[0]);
        if (a && t->a != t->b && is_rounds(t, a, b))
            return true;
    }
    return false;
}

static bool is_table(const struct value *v, const uint32_t *rotations)
{
    const struct tensor *c = v ? v->constant : NULL;
    return c && c->kind == VK_TENSOR && c->dtype == DT_U32 && tensor_count(c) == ROUNDS &&
           !memcmp(c->data, rotations, ROUNDS * sizeof *rotations);
}

/* Keys and tables change places from turn to turn, the counter ends after five. */
static bool is_carried(struct threefry_loop *t)
{
    static const uint32_t even[] = {13, 15, 26, 6}, odd[] = {17, 29, 16, 24};
    const struct node *test = made_by(region_return(t->loop->regions[0])->in[0], OP_lt);
    int second = param_number(t, t->results->in[t->rotations]);
    t->key[2] = param_number(t, t->results->in[t->key[1]]);
    if (second < 0 || param_number(t, t->results->in[second]) != t->rotations ||
        !is_table(t->loop->in[t->rotations], even) || !is_table(t->loop->in[second], odd) ||
        param_number(t, t->results->in[t->key[0]]) != t->key[1] || t->key[2] < 0 ||
        param_number(t, t->results->in[t->key[2]]) != t->key[0] || t->key[2] == t->key[0])
        return false;
    return test && test->in[0]->param_of == t->loop->regions[0] &&
           counts(t, test->in[0]->index) && single_constant(test->in[1]) &&
           constant_is(test->in[1], TURNS);
}

static bool is_words(const struct value *v)
{
    return is_tensor(v) && v->type.dtype == DT_U32;
}

static bool types_fit(const struct threefry_loop *t)
{
    for (int k = 0; k < KEYS; k++)
        if (!is_words(t->body->params[t->key[k]]) || t->body->params[t->key[k]]->type.rank)
            return false;
    return is_words(t->body->params[t->a]) &&
           same_type(t->body->params[t->a], t->body->params[t->b]) &&
           same_type(t->loop->in[t->a], t->body->params[t->a]) &&
           same_type(t->loop->in[t->b], t->body->params[t->a]);
}

static bool only_words_used(const struct threefry_loop *t)
{
    for (int i = 0; i < t->loop->nout; i++)
        if (i != t->a && i != t->b && t->loop->out[i]->uses)
            return false;
    return true;
}

bool compose_threefry(struct compose *c, struct node *n)
{
    if (n->op != OP_while || n->nregions != 2 || n->nin != n->nout)
        return true;
    struct threefry_loop t = {.loop = n, .body = n->regions[1]};
    t.results = region_return(t.body);
    int place = 0;
    while (place < t.body->nparams && !is_turn(&t, place))
        place++;
    if (place == t.body->nparams || !is_carried(&t) || !types_fit(&t) || !only_words_used(&t))
        return true;
    struct value *in[] = {n->in[t.a], n->in[t.b], n->in[t.key[0]], n->in[t.key[1]], n->in[t.key[2]]};
    struct builder b = builder_before(n, c->d);
    struct node *made = b_node(&b, OP_threefry, in, 5, 2, NULL);
    if (!made)
        return false;
    why(c->o, n, "compose.threefry", "the loop is the 20 rounds of Threefry-2x32");
    value_replace(n->out[t.a], made->out[0]);
    value_replace(n->out[t.b], made->out[1]);
    return true;
}
