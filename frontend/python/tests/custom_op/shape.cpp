#include <torch/torch.h>
#include "torchneuron/register.h"

#include <tuple>

torch::Tensor same(torch::Tensor x) { return torch::zeros(x.sizes(), torch::kFloat); }
torch::Tensor turned(torch::Tensor x) { return torch::zeros({x.sizes()[1], x.sizes()[0]}, torch::kFloat); }
torch::Tensor affine_shape(torch::Tensor x, double, int64_t, torch::Scalar)
{
    return torch::zeros(x.sizes(), torch::kFloat);
}
torch::Tensor plain_shape(torch::Tensor x, torch::Tensor) { return torch::zeros(x.sizes(), torch::kFloat); }
torch::Tensor times_shape(torch::Tensor x, torch::Scalar s)
{
    return torch::zeros(x.sizes(), s.isFloatingPoint() ? torch::kFloat : x.dtype());
}
torch::Tensor unary_shape(torch::Tensor x, int64_t) { return torch::zeros(x.sizes(), x.dtype()); }
torch::Tensor binary_shape(torch::Tensor x, torch::Tensor y, int64_t)
{
    TORCH_CHECK(x.sizes() == y.sizes(), "sizes differ");
    return torch::zeros(x.sizes(), x.dtype());
}
std::tuple<torch::Tensor, torch::Tensor> both_shape(torch::Tensor x)
{
    return std::make_tuple(torch::zeros(x.sizes(), x.dtype()), torch::zeros(x.sizes(), x.dtype()));
}

NEURON_LIBRARY(xop_test, m)
{
    m.def("relu", &same, "relu_streams");
    m.def("turn", &turned, "transpose_accessors");
    m.def("plain", &plain_shape, "plain");
    m.def("times", &times_shape, "times");
    m.def("affine", &affine_shape, "affine");
    m.def("unary", &unary_shape, "unary");
    m.def("binary", &binary_shape, "binary");
    m.def("both", &both_shape, "both");
    m.def("wrong", &unary_shape, "wrong");
    m.def("who", &same, "who");
    m.def("nowhere", &same, "not_there");
    m.def("other", &same, "unary");
}
