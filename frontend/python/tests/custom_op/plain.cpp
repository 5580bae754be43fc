// As the reference's own examples: no header but torch/torch.h.
#include <torch/torch.h>

torch::Tensor plain(const torch::Tensor &x, const torch::Tensor &y)
{
    size_t n = x.numel();
    assert(x.sizes() == y.sizes());
    torch::Tensor z = torch::zeros(x.sizes(), torch::kFloat);
    float *block = (float *)torch::neuron::tcm_malloc(2 * n * sizeof(float));
    auto to = z.tcm_accessor();
    x.tcm_accessor().tensor_to_tcm<float>(block, 0, n);
    y.tcm_accessor().tensor_to_tcm<float>(block + n, 0, n);
    for (size_t i = 0; i < n; i++)
        block[i] -= block[n + i];
    to.tcm_to_tensor<float>(block, 0, n);
    torch::neuron::tcm_free(block);
    if (n == 0)
        printf("nothing to do\n");
    return z;
}

// A Scalar is what was given: whole numbers leave integers what they are.
torch::Tensor times(const torch::Tensor &x, const torch::Scalar &s) { return torch::mul(x, s); }
