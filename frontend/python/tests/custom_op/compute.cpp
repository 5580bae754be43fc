// Operators for test_custom_op.py: every accessor, factory and function of the documented tensor library.
#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

#include <tuple>

torch::Tensor relu_streams(const torch::Tensor &x)
{
    torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
    auto in = x.read_stream_accessor<float>();
    auto out = y.write_stream_accessor<float>();
    for (int64_t i = 0; i < x.numel(); i++) {
        float v = in.read();
        out.write(v > 0 ? v : 0);
    }
    return y;
}

torch::Tensor transpose_accessors(const torch::Tensor &x)
{
    torch::Tensor y = torch::zeros({x.size(1), x.size(0)}, x.dtype());
    auto in = x.accessor<float, 2>();
    auto out = y.accessor<float, 2>();
    for (int64_t i = 0; i < in.size(0); i++)
        for (int64_t k = 0; k < in.size(1); k++)
            out[k][i] = in[i][k];
    return y;
}

torch::Tensor affine(torch::Tensor x, double scale, int64_t offset, torch::Scalar power)
{
    return torch::pow(torch::add(torch::mul(x, scale), offset), power);
}

torch::Tensor unary(const torch::Tensor &x, int64_t which)
{
    switch (which) {
    case 0: return torch::abs(x);
    case 1: return torch::ceil(x);
    case 2: return torch::floor(x);
    case 3: return torch::sin(x);
    case 4: return torch::cos(x);
    case 5: return torch::tan(x);
    case 6: return torch::log(x);
    case 7: return torch::log2(x);
    case 8: return torch::log10(x);
    case 9: return torch::exp(x);
    case 10: return torch::clamp(x, 0.5, 1.5);
    case 11: return torch::pow(2.0, x);
    case 12: return torch::sub(x, 3);
    case 13: return torch::div(x, 4);
    case 14: {
        torch::Tensor y = torch::ones(x.sizes(), x.dtype());
        return torch::exp_out(y, x);
    }
    default: throw std::runtime_error("no function " + std::to_string(which));
    }
}

torch::Tensor binary(const torch::Tensor &x, const torch::Tensor &y, int64_t which)
{
    torch::Tensor z = torch::full(x.sizes(), 7, x.dtype());
    switch (which) {
    case 0: return torch::add(x, y, 2);
    case 1: return torch::sub(x, y);
    case 2: return torch::mul_out(z, x, y);
    case 3: return torch::div_out(z, x, y);
    case 4: return torch::pow(x, y);
    case 5: return torch::bitwise_and(x, y);
    case 6: return torch::bitwise_or_out(z, x, y);
    case 7: return torch::bitwise_not(x);
    case 8: return torch::bitwise_and(x, 6);
    default: return torch::eye(x.size(0), x.size(1), x.dtype());
    }
}

std::tuple<torch::Tensor, torch::Tensor> both(const torch::Tensor &x)
{
    return {torch::mul(x, 2), torch::add(x, 1)};
}

torch::Tensor wrong(const torch::Tensor &x, int64_t how)
{
    torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
    if (how == 0) {
        auto out = y.write_stream_accessor<float>();
        auto in = y.read_stream_accessor<float>(); // sees what is not written yet
    }
    if (how == 1) {
        auto in = x.read_stream_accessor<float>();
        for (int64_t i = 0; i <= x.numel(); i++)
            in.read();
    }
    if (how == 2) {
        float buffer[8];
        x.tcm_accessor().tensor_to_tcm<float>(buffer, (size_t)x.numel() - 4, 8);
    }
    if (how == 3)
        return torch::zeros({1}, torch::kFloat);
    if (how == 4)
        x.accessor<int, 1>();
    if (how == 5 && (torch::neuron::tcm_malloc(10000) == nullptr || torch::neuron::tcm_malloc(7000) != nullptr))
        return y;
    TORCH_CHECK(how != 5, "the pool has 16 KB, and gives nothing beyond");
    if (how == 6)
        torch::add(x, torch::zeros({1}, torch::kFloat));
    return y;
}

// One core after the other, or all at once.
torch::Tensor who(const torch::Tensor &x)
{
    torch::Tensor y = get_dst_tensor();
    float id = (float)get_cpu_id();
    size_t n = (size_t)x.numel() / get_cpu_count();
    auto out = y.tcm_accessor();
    for (size_t i = 0; i < n; i++)
        out.tcm_to_tensor<float>(&id, n * get_cpu_id() + i, 1);
    return y;
}
