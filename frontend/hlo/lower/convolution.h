/*
 * Convolutions as other operators: those that training makes of convolutions with strides and of
 * their filters.
 */
#ifndef FRONTEND_HLO_CONVOLUTION_H
#define FRONTEND_HLO_CONVOLUTION_H

#include "frontend/hlo/lower/lower.h"

struct hlo_convolution {
    const struct hlo_window *window; /* NULL: no spatial dims */
    const struct hlo_dim_labels *labels;
    int spatial;
    int64_t groups, batch_groups;
    bool channels_last;
};

/* conv_phases.c */
/* The operator itself; x and w in its order. */
struct value *conv_once(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                        struct value *w);
/* An input with zeros between its elements, strides 1: one convolution for each phase of the
 * result. */
bool conv_has_phases(const struct hlo_convolution *c, const struct value *x);
struct value *conv_by_phases(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                             struct value *w);

/* conv_products.c: few results of large windows, as gradients of filters are: for each place of the
 * result one matrix product. Operands as the instruction has them; the result in its order. */
bool conv_is_sum_of_products(const struct hlo_lower *l, const struct hlo_convolution *c);
struct value *conv_by_products(struct hlo_lower *l, const struct hlo_convolution *c);

#endif
