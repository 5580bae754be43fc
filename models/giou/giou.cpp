// Generalised intersection over union of pairs of boxes (left, top, right, bottom), in the form of AWS's custom C++
// operators: each core takes its part of the batch, a row of boxes at a time, through its own memory.
#include <stdint.h>
#include <stdlib.h>
#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>
#include <algorithm>

namespace {

const float kLeast = 1e-5f; // of an area that is divided by

struct Box {
    float left, top, right, bottom;
};

float area(const Box &b) { return (b.right - b.left) * (b.bottom - b.top); }

float score(const Box &a, const Box &b)
{
    Box common = {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                  std::min(a.bottom, b.bottom)};
    Box hull = {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
                std::max(a.bottom, b.bottom)};
    float both = std::max(common.right - common.left, 0.f) * std::max(common.bottom - common.top, 0.f);
    float all = area(a) + area(b) - both;
    float around = std::max(hull.right - hull.left, 0.f) * std::max(hull.bottom - hull.top, 0.f);
    return both / std::max(all, kLeast) - (around - all) / std::max(around, kLeast);
}

} // namespace

torch::Tensor giou_compute(const torch::Tensor &boxes, const torch::Tensor &targets)
{
    torch::Tensor scores = get_dst_tensor();
    size_t rows = boxes.sizes()[0], n = boxes.sizes()[1];
    size_t cores = get_cpu_count(), core = get_cpu_id();
    size_t first = rows * core / cores, end = rows * (core + 1) / cores;

    // 16 KB hold this many boxes of both and their scores
    const size_t most = 256;
    Box *a = (Box *)torch::neuron::tcm_malloc(most * sizeof(Box));
    Box *b = (Box *)torch::neuron::tcm_malloc(most * sizeof(Box));
    float *y = (float *)torch::neuron::tcm_malloc(most * sizeof(float));
    TORCH_CHECK(a && b && y, "no room for ", most, " boxes");

    auto from_a = boxes.tcm_accessor();
    auto from_b = targets.tcm_accessor();
    auto to = scores.tcm_accessor();
    for (size_t at = first * n; at < end * n; at += most) {
        size_t count = std::min(most, end * n - at);
        from_a.tensor_to_tcm<float>(&a->left, at * 4, count * 4);
        from_b.tensor_to_tcm<float>(&b->left, at * 4, count * 4);
        for (size_t i = 0; i < count; i++)
            y[i] = score(a[i], b[i]);
        to.tcm_to_tensor<float>(y, at, count);
    }
    torch::neuron::tcm_free(a);
    torch::neuron::tcm_free(b);
    torch::neuron::tcm_free(y);
    return scores;
}
