/*
 * Functions that XLA's front ends write out as approximations: the text of the approximation is
 * known, coefficients included, and the function itself is at least as accurate.
 */
#include "passes/compose.h"

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
    return emit1(n, OP_erfc, x, c->d);
}
