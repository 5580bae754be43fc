/*
 * Classes of element types, as the rows of op_elementwise.def admit them: floats, signed and
 * unsigned integers, bool, complex, strings.
 */
#ifndef NEFF_KINDS_H
#define NEFF_KINDS_H

enum ew_kinds { KF = 1, KI = 2, KB = 4, KC = 8, KS = 16 };

#endif
