/*
 * NEURON_LIBRARY(my_ops, m) { m.def("name", &shape_function, "compute_function"); }
 */
#ifndef XCC_NEURON_REGISTER_H
#define XCC_NEURON_REGISTER_H

#include <torch/torch.h>
#include <xop/library.hpp>

#define NEURON_LIBRARY(name, m)                                                                    \
    static void xop_define_##name(xop_neuron::library &m);                                         \
    static const xop_neuron::definition xop_definition_##name(#name, xop_define_##name);           \
    static void xop_define_##name(xop_neuron::library &m)

#endif
