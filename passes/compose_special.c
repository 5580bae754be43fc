/*
 * Functions that XLA's front ends write out as approximations: the text of the approximation is
 * known, coefficients included, and the function itself is at least as accurate.
 */
#include "passes/compose.h"

#include <math.h>

/* The other operand of a commutative node, one of whose operands is v; else NULL. */
static struct value *beside(const struct node *n, const struct value *v)
{
    return !n ? NULL : n->in[0] == v ? n->in[1] : n->in[1] == v ? n->in[0] : NULL;
}

/* v = x < the number, of one shape. */
static bool is_below(const struct value *v, const struct value *x, double number)
{
    const struct node *n = made_by(v, OP_lt);
    return n && n->in[0] == x && constant_is(n->in[1], number);
}

/* v is the polynomial of s by Horner's rule, the coefficient of the highest power first. */
static bool is_polynomial(const struct value *v, const struct value *s, const double *c, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const struct node *sum = made_by(v, OP_add);
        if (!sum || !constant_is(sum->in[1], c[i]))
            return false;
        v = beside(made_by(sum->in[0], OP_mul), s);
    }
    return constant_is(v, c[0]);
}

enum { NEAR_TERMS = 7, MIDDLE_TERMS = 9, FAR_TERMS = 8 };
static const double erf_near[NEAR_TERMS] = {7.853861353153693e-5,  -8.010193625184903e-4,
                                            5.188327685732524e-3,  -2.685381193529856e-2,
                                            1.128358514861418e-1,  -3.761262582423300e-1,
                                            1.128379165726710e+0};
static const double erfc_middle[MIDDLE_TERMS] = {
    2.326819970068386e-2,  -1.387039388740657e-1, 3.687424674597105e-1,
    -5.824733027278666e-1, 6.210004621745983e-1,  -4.944515323274145e-1,
    3.404879937665872e-1,  -2.741127028184656e-1, 5.638259427386472e-1};
static const double erfc_far[FAR_TERMS] = {-1.047766399936249e+1, 1.297719955372516e+1,
                                           -7.495518717768503e+0, 2.921019019210786e+0,
                                           -1.015265279202700e+0, 4.218463358204948e-1,
                                           -2.820767439740514e-1, 5.641895067754075e-1};

/* 1 - x P(x^2) */
static bool is_erfc_near(const struct value *v, const struct value *x, const struct value *square)
{
    const struct node *n = made_by(v, OP_sub);
    return n && constant_is(n->in[0], 1) &&
           is_polynomial(beside(made_by(n->in[1], OP_mul), x), square, erf_near, NEAR_TERMS);
}

/* |x| < 2 ? Q(1 / x^2) : R(1 / x^2) */
static bool is_erfc_factor(const struct value *v, const struct value *size,
                           const struct value *square)
{
    const struct node *n = made_by(v, OP_where);
    if (!n || !is_below(n->in[0], size, 2))
        return false;
    const struct node *sum = made_by(n->in[1], OP_add), *product = sum ? made_by(sum->in[0], OP_mul)
                                                                       : NULL;
    for (int i = 0; product && i < 2; i++) {
        struct value *of, *inverse = product->in[i];
        if (is_reciprocal(inverse, &of) && of == square &&
            is_polynomial(n->in[1], inverse, erfc_middle, MIDDLE_TERMS) &&
            is_polynomial(n->in[2], inverse, erfc_far, FAR_TERMS))
            return true;
    }
    return false;
}

/* exp(-x^2) / |x| times the factor, 0 where the exponential is. */
static bool is_erfc_tail(const struct value *v, const struct value *size,
                         const struct value *square)
{
    const struct node *n = made_by(v, OP_where), *test = n ? made_by(n->in[0], OP_lt) : NULL;
    const struct node *minus = test ? made_by(test->in[0], OP_neg) : NULL;
    const struct node *whole = n ? made_by(n->in[2], OP_mul) : NULL;
    if (!minus || !whole || minus->in[0] != square || !constant_is(test->in[1], -88.7228394) ||
        !constant_is(n->in[1], 0))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct node *part = made_by(whole->in[i], OP_mul);
        for (int k = 0; part && k < 2; k++) {
            const struct node *e = made_by(part->in[k], OP_exp);
            struct value *of;
            if (e && e->in[0] == minus->out[0] && is_reciprocal(part->in[!k], &of) && of == size &&
                is_erfc_factor(whole->in[!i], size, square))
                return true;
        }
    }
    return false;
}

/* |x| < 1 ? near : x < 0 ? 2 - tail : tail */
struct value *compose_erfc(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    const struct node *near = made_by(n->in[0], OP_lt), *far = made_by(n->in[2], OP_where);
    const struct node *size = near ? made_by(near->in[0], OP_abs) : NULL;
    const struct node *two = far ? made_by(far->in[1], OP_sub) : NULL;
    if (!size || !two || n->out[0]->type.dtype != DT_F32 || !constant_is(near->in[1], 1))
        return NULL;
    struct value *x = size->in[0], *tail = far->in[2];
    if (!same_type(x, n->out[0]) || !is_below(far->in[0], x, 0) || !constant_is(two->in[0], 2) ||
        two->in[1] != tail)
        return NULL;
    const struct node *gone = made_by(tail, OP_where), *test = gone ? made_by(gone->in[0], OP_lt)
                                                                    : NULL;
    const struct node *minus = test ? made_by(test->in[0], OP_neg) : NULL;
    const struct value *square = minus ? minus->in[0] : NULL;
    if (!square || square_root_of(square) != x || !is_erfc_near(n->in[1], x, square) ||
        !is_erfc_tail(tail, size->out[0], square))
        return NULL;
    return b_1(&b, OP_erfc, x);
}

enum { INVERSE_TERMS = 9 };
static const double inverse_near[INVERSE_TERMS] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                                                   -4.39150654e-06, 0.00021858087, -0.00125372503,
                                                   -0.00417768164, 0.246640727, 1.50140941};
static const double inverse_far[INVERSE_TERMS] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                                  -0.00367342844, 0.00573950773, -0.0076224613,
                                                  0.00943887047, 1.00167406, 2.83297682};

/* v = where(test, a, b) of two numbers. */
static bool is_choice(const struct value *v, const struct value *test, double a, double b)
{
    const struct node *n = made_by(v, OP_where);
    return n && n->in[0] == test && constant_is(n->in[1], a) && constant_is(n->in[2], b);
}

/* By Horner's rule in t, each coefficient one of two. */
static bool is_inverse_polynomial(const struct value *v, const struct value *test, const struct value *t)
{
    for (int i = INVERSE_TERMS - 1; i > 0; i--) {
        const struct node *sum = made_by(v, OP_add);
        if (!sum)
            return false;
        int k = is_choice(sum->in[0], test, inverse_near[i], inverse_far[i]) ? 0 : 1;
        if (k == 1 && !is_choice(sum->in[1], test, inverse_near[i], inverse_far[i]))
            return false;
        v = beside(made_by(sum->in[!k], OP_mul), t);
    }
    return is_choice(v, test, inverse_near[0], inverse_far[0]);
}

/* v = w < 5 ? w - 2.5 : sqrt(w) - 3 */
static bool is_inverse_variable(const struct value *v, const struct value *test, const struct value *w)
{
    const struct node *n = made_by(v, OP_where);
    const struct node *near = n ? made_by(n->in[1], OP_sub) : NULL, *far = n ? made_by(n->in[2], OP_sub) : NULL;
    const struct node *root = far ? made_by(far->in[0], OP_sqrt) : NULL;
    return n && n->in[0] == test && near && near->in[0] == w && constant_is(near->in[1], 2.5) && root &&
           root->in[0] == w && constant_is(far->in[1], 3);
}

/* w = -log1p(x * -x) */
static bool is_minus_log_of_rest(const struct value *w, const struct value *x)
{
    const struct node *outer = made_by(w, OP_neg), *log = outer ? made_by(outer->in[0], OP_log1p) : NULL;
    const struct node *minus = log ? made_by(beside(made_by(log->in[0], OP_mul), x), OP_neg) : NULL;
    return minus && minus->in[0] == x;
}

/* |x| == 1 ? x * inf : x P(w) */
struct value *compose_erf_inv(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    const struct node *edge = made_by(n->in[0], OP_eq), *product = made_by(n->in[2], OP_mul);
    const struct node *size = edge ? made_by(edge->in[0], OP_abs) : NULL;
    if (!size || !product || n->out[0]->type.dtype != DT_F32 || !constant_is(edge->in[1], 1))
        return NULL;
    struct value *x = size->in[0], *sum = beside(product, x);
    double infinite = 0;
    const struct node *last = made_by(sum, OP_add);
    if (!same_type(x, n->out[0]) || !constant_number(beside(made_by(n->in[1], OP_mul), x), &infinite) ||
        infinite != INFINITY || !last)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const struct node *choice = made_by(last->in[i], OP_where), *times = made_by(last->in[!i], OP_mul);
        const struct value *test = choice ? choice->in[0] : NULL;
        const struct node *below = made_by(test, OP_lt);
        for (int k = 0; times && below && k < 2; k++)
            if (is_below(test, below->in[0], 5) && is_inverse_variable(times->in[k], test, below->in[0]) &&
                is_minus_log_of_rest(below->in[0], x) && is_inverse_polynomial(sum, test, times->in[k]))
                return b_1(&b, OP_erf_inv, x);
    }
    return NULL;
}
