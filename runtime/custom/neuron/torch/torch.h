/*
 * The tensor library of custom C++ operators for AWS's GpSimd engine, in the form that AWS documents
 * ("Custom Operators API Reference Guide"), on operators of xop.h: sources written for it compile as
 * they are. Tensors, factories, elementwise functions and accessors; nothing else of PyTorch.
 */
#ifndef XCC_NEURON_TORCH_H
#define XCC_NEURON_TORCH_H

#include <xop/accessor.hpp>
#include <xop/core.hpp>
#include <xop/functions.hpp>
#include <xop/tensor.hpp>

/* Sources use these without including them, as PyTorch's header has them in. */
#include <cassert>
#include <cstdio>

#endif
