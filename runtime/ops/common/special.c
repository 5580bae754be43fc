#include "runtime/ops/common/special.h"

#include <math.h>

double lgamma_(double x)
{
    if (isinf(x))
        return INFINITY;
    return lgamma(x);
}

/* Reflection for negative x, recurrence up to 10, then the asymptotic series with Bernoulli
 * numbers: relative error below 1e-14 away from its zeros. */
double digamma_(double x)
{
    static const double c[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double y = 0;
    if (isnan(x) || x == -INFINITY || (x <= 0 && floor(x) == x))
        return NAN;
    if (x == INFINITY)
        return x;
    if (x < 0) {
        double r = x - nearbyint(x); /* tan has period 1 in x; near 0 no bit of x is lost */
        return digamma_(1 - x) - M_PI / tan(M_PI * r);
    }
    for (; x < 10; x++)
        y -= 1 / x;
    double z = 1 / (x * x), s = 0;
    for (int k = 6; k >= 0; k--)
        s = (s + c[k]) * z;
    return y + log(x) - 0.5 / x - s;
}

/* Euler and Maclaurin's sum after the first terms. */
double zeta_(double s, double q)
{
    static const double b[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368000.0,
                               1.0 / 74724249600.0,
                               -3617.0 / 10670622842880000.0,
                               43867.0 / 5109094217170944000.0};
    enum { TERMS = 16 };
    if (s == 1)
        return INFINITY;
    if (isnan(s) || isnan(q))
        return NAN;
    if (q <= 0 && floor(q) == q) /* a pole; between odd powers' two infinities */
        return fmod(s, 2) == 0 ? INFINITY : NAN;
    if (s < 1 || (q <= 0 && floor(s) != s))
        return NAN;
    double sum = 0, a = q;
    for (int k = 0; k < TERMS || a <= 9; k++, a++) {
        double t = pow(a, -s);
        sum += t;
        if (fabs(t) < 1e-17 * fabs(sum) && a > 1)
            return sum;
    }
    double t = pow(a, -s), factor = s, power = t / a;
    sum += a * t / (s - 1) + 0.5 * t;
    for (int k = 0; k < 9; k++) {
        double term = b[k] * factor * power;
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum))
            break;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= a * a;
    }
    return sum;
}

double polygamma_(double n, double x)
{
    if (n == 0)
        return digamma_(x);
    if (isnan(n) || n < 0 || floor(n) != n)
        return NAN;
    double sign = fmod(n, 2) == 0 ? -1 : 1;
    return sign * exp(lgamma(n + 1)) * zeta_(n + 1, x);
}

/* A first guess from a series of the logarithm, then Newton steps with the derivative of erf: the
 * last bit or two of a double. */
double erf_inv_(double x)
{
    if (!(fabs(x) < 1))
        return fabs(x) == 1 ? copysign(INFINITY, x) : NAN;
    if (fabs(x) < 1e-8)
        return x * 0.88622692545275801365; /* sqrt(pi) / 2 */
    double a = 0.147, l = log1p(-x * x), h = 2 / (M_PI * a) + 0.5 * l;
    double y = copysign(sqrt(sqrt(h * h - l / a) - h), x);
    for (int k = 0; k < 4; k++) {
        double tail = x > 0.5 ? (1 - x) - erfc(y) : x < -0.5 ? erfc(-y) - (1 + x) : erf(y) - x;
        double e = tail * 0.88622692545275801365 * exp(y * y);
        y -= e / (1 + y * e); /* Halley's step */
    }
    return y;
}

/* The power series for small |x|; the integral of exp(|x| (cos t - 1)) cos t over a period by the
 * trapezoid rule, which converges geometrically, for others. */
double bessel_i1e_(double x)
{
    double a = fabs(x);
    if (isnan(x))
        return x;
    if (isinf(x))
        return copysign(0, x);
    if (a < 8) {
        double term = a / 2, sum = term, q = a * a / 4;
        for (int k = 1; k < 60 && term > 1e-18 * sum; k++) {
            term *= q / (k * (k + 1.0));
            sum += term;
        }
        return copysign(sum * exp(-a), x);
    }
    if (a > 1e5) { /* asymptotic series */
        double y = 1 / (8 * a);
        double s = 1 - 3 * y * (1 + 2.5 * y);
        return copysign(s / sqrt(2 * M_PI * a), x);
    }
    int n = 32 + (int)(16 * sqrt(a));
    double sum = 0.5 * (1 - exp(-2 * a));
    for (int k = 1; k < n; k++) {
        double t = sin(M_PI * k / (2.0 * n));
        sum += exp(-2 * a * t * t) * (1 - 2 * t * t);
    }
    return copysign(sum / n, x);
}
