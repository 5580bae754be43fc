/*
 * What the code of one core sees besides its arguments.
 */
#ifndef XOP_CORE_HPP
#define XOP_CORE_HPP

#include <xop.h>
#include <xop/tensor.hpp>

#include <map>

namespace xop_neuron {

enum { TCM_POOL = 16 << 10, TCM_ALIGN = 16 };

class core_state {
public:
    int id = 0, count = 1;
    const xop_call *call = nullptr;
    char *pool = nullptr;

    at::Tensor result(int i) const
    {
        if (!call || i < 0 || i >= call->nout)
            throw std::runtime_error("get_dst_tensor: there is no result " + std::to_string(i));
        return at::Tensor::view(call->out[i]);
    }
    void *allocate(size_t n)
    {
        size_t at = 0, size = ((n ? n : 1) + TCM_ALIGN - 1) / TCM_ALIGN * TCM_ALIGN;
        for (const auto &block : blocks_) { /* the first gap that is large enough */
            if (block.first - at >= size)
                break;
            at = block.first + block.second;
        }
        if (!pool || size > TCM_POOL || at > TCM_POOL - size)
            return nullptr;
        blocks_[at] = size;
        return pool + at;
    }
    void free(void *p)
    {
        if (p)
            blocks_.erase((size_t)(static_cast<char *>(p) - pool));
    }

private:
    std::map<size_t, size_t> blocks_; /* of the pool: start, size */
};

/* Of the call that this thread is in; outside of calls one core without memory. */
inline core_state *&current()
{
    static thread_local core_state *now = nullptr;
    return now;
}
inline core_state *core()
{
    static thread_local core_state none;
    return current() ? current() : &none;
}

} // namespace xop_neuron

namespace torch {
namespace neuron {
/* From 16 KB of the core's own memory; null when there is no room. What an operator does not free
 * is freed when it returns. */
inline void *tcm_malloc(size_t n) { return xop_neuron::core()->allocate(n); }
inline void tcm_free(void *p) { xop_neuron::core()->free(p); }
} // namespace neuron
} // namespace torch

#endif
