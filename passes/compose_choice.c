/*
 * Choices between x and what is made of it by a comparison of x with a number: leaky_relu, and the limits of a clip.
 * What is no number stays so in all of them. Indices that count from the end are wrapped. Quotients of choices
 * between numbers are choices between quotients.
 */
#include "passes/compose.h"

#include <math.h>

/* The choice's condition holds where x is above `limit`, or below it. */
struct comparison {
    struct value *x;
    double limit;
    bool above;
};

static bool compared(const struct value *v, struct comparison *s)
{
    struct node *n = v->def;
    if (!n || (n->op != OP_gt && n->op != OP_ge && n->op != OP_lt && n->op != OP_le))
        return false;
    bool greater = n->op == OP_gt || n->op == OP_ge, right = constant_number(n->in[1], &s->limit);
    if (!right && !constant_number(n->in[0], &s->limit))
        return false;
    s->x = n->in[!right];
    s->above = greater == right;
    return isfinite(s->limit);
}

/* x, or x times a number of at least 0 where it is below 0. */
static struct value *leaky_relu(struct compose *c, struct node *n, const struct comparison *s)
{
    struct builder b = builder_before(n, c->d);
    struct value *scaled = n->in[s->above ? 2 : 1], *x;
    struct attrs as = {0};
    double factor;
    if (s->limit != 0 || n->in[s->above ? 1 : 2] != s->x || !is_scaled(scaled, &x, &factor) || x != s->x ||
        !(factor >= 0 && isfinite(factor)))
        return NULL;
    attr_set_float(&c->g->arena, &as, "alpha", factor);
    return b_op(&b, OP_leaky_relu, &x, 1, &as);
}

/* v is x with the other limit, which is no further than this one. */
static bool has_other_limit(const struct value *v, const struct comparison *s, double *other)
{
    const struct node *n = v->def;
    if (!n || n->op != (s->above ? OP_max : OP_min))
        return false;
    bool right = constant_number(n->in[1], other);
    return (right || constant_number(n->in[0], other)) && n->in[!right] == s->x &&
           (s->above ? *other <= s->limit : *other >= s->limit);
}

/* The limit where x is beyond it. */
static struct value *limited(struct compose *c, struct node *n, const struct comparison *s)
{
    struct builder b = builder_before(n, c->d);
    double number, other;
    if (!constant_number(n->in[1], &number) || number != s->limit)
        return NULL;
    struct value *limit = constant_scalar(c->g, s->x->type.dtype, number);
    if (n->in[2] == s->x)
        return b_op(&b, s->above ? OP_min : OP_max, (struct value *[]){s->x, limit}, 2, NULL);
    if (!has_other_limit(n->in[2], s, &other))
        return NULL;
    struct value *far = constant_scalar(c->g, s->x->type.dtype, other);
    struct value *in[] = {s->x, s->above ? far : limit, s->above ? limit : far};
    return b_op(&b, OP_clip, in, 3, NULL);
}

/* Indices that count from the end where they are below 0. Engines of other machines have no such function. */
static struct value *wrapped(struct compose *c, struct node *n, const struct comparison *s)
{
    struct builder b = builder_before(n, c->d);
    const struct node *sum = made_by(n->in[1], OP_add);
    if (c->o->strict_target || s->above || s->limit != 0 || n->in[2] != s->x || !sum)
        return NULL;
    struct value *size = sum->in[sum->in[0] == s->x];
    bool strictly = n->in[0]->def->op == OP_lt || n->in[0]->def->op == OP_gt; /* 0 itself is no such index */
    if (!strictly || (sum->in[0] != s->x && sum->in[1] != s->x) || size->type.dtype != s->x->type.dtype)
        return NULL;
    return b_op(&b, OP_wrap_index, (struct value *[]){s->x, size}, 2, NULL);
}

struct value *compose_choice(struct compose *c, struct node *n)
{
    struct comparison s;
    if (dtype_class(n->out[0]->type.dtype) == DTC_SINT)
        return compared(n->in[0], &s) && same_type(s.x, n->out[0]) ? wrapped(c, n, &s) : NULL;
    if (!dtype_is_float(n->out[0]->type.dtype) || !compared(n->in[0], &s) || !same_type(s.x, n->out[0]))
        return NULL;
    struct value *made = leaky_relu(c, n, &s);
    return made ? made : limited(c, n, &s);
}

/* v chooses between two numbers. */
static bool is_choice(const struct value *v, double *yes, double *no)
{
    const struct node *n = made_by(v, OP_where);
    return n && constant_number(n->in[1], yes) && constant_number(n->in[2], no);
}

/* A choice between a number and 0 by one between two: gradients of extremes share what comes to equal elements so. */
struct value *compose_quotient(struct compose *c, struct node *n)
{
    double yes, no, by_yes, by_no;
    int dtype = n->out[0]->type.dtype;
    if (dtype != DT_F32 || !is_choice(n->in[0], &yes, &no) || !is_choice(n->in[1], &by_yes, &by_no) || no != 0 ||
        signbit(no) || !(by_yes > 0 && isfinite(by_yes)) || !(by_no > 0 && isfinite(by_no)) ||
        !same_type(n->in[0], n->out[0]) || !same_type(n->in[1], n->out[0]))
        return NULL;
    struct value *in[] = {n->in[1]->def->in[0], constant_scalar(c->g, dtype, (float)yes / (float)by_yes),
                          constant_scalar(c->g, dtype, (float)yes / (float)by_no)};
    struct builder b = builder_before(n, c->d), nameless = b;
    nameless.name = NULL;
    struct value *share = b_op(&nameless, OP_where, in, 3, NULL);
    return b_select(&b, n->in[0]->def->in[0], share, constant_scalar(c->g, dtype, 0));
}
