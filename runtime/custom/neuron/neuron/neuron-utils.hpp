/*
 * The cores of the GpSimd engine and their memory, as AWS's header of this name has them.
 */
#ifndef XCC_NEURON_UTILS_HPP
#define XCC_NEURON_UTILS_HPP

#include <torch/torch.h>
#include <xop/core.hpp>

/* Which of the cores this is, and how many there are: 8, or 1 without multicore. */
static inline uint32_t get_cpu_id() { return (uint32_t)xop_neuron::core()->id; }
static inline uint32_t get_cpu_count() { return (uint32_t)xop_neuron::core()->count; }
/* The result's own memory, whose size is what the shape function said. */
static inline torch::Tensor get_dst_tensor(int i = 0) { return xop_neuron::core()->result(i); }

#endif
