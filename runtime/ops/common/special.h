/*
 * Special functions that rows of op_elementwise.def name, in double. Each says where its method is
 * from and how far it is from the exact value.
 */
#ifndef RUNTIME_OPS_SPECIAL_H
#define RUNTIME_OPS_SPECIAL_H

double lgamma_(double x);              /* log |gamma(x)|: the C library's */
double digamma_(double x);             /* its derivative; NaN at 0, -1, -2, ... */
double zeta_(double s, double q);      /* Hurwitz: sum over k of 1 / (q + k)^s */
double polygamma_(double n, double x); /* derivative number n of digamma */
double erf_inv_(double x);             /* y with erf(y) = x; infinite at -1 and 1 */
double bessel_i1e_(double x);          /* modified Bessel function of order 1, times exp(-|x|) */

#endif
