/*
 * xrt.h for C++17: models and contexts that close themselves, tensors with an element type, errors as exceptions.
 *
 *     xrt::model m("model.neff");
 *     xrt::context c(m);
 *     xrt::tensor<float> x({1, 3, 224, 224});
 *     c.set_input(0, x);
 *     c.run();
 *     for (float y : c.output<float>(0))
 *         std::cout << y << "\n";
 *
 * What xrt.h says of threads and of who owns memory holds here too: an input is lent to the context, an output is valid
 * until the next run. A context keeps its model open. With C++20, tensors and views are std::span too.
 */
#ifndef RUNTIME_XRT_HPP
#define RUNTIME_XRT_HPP

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* xrt_value is a function and a struct there, as C allows */
#include "xrt.h"
#pragma GCC diagnostic pop

namespace xrt {

/* what(): the text of xrt_error(). */
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {
inline void check(bool ok)
{
    if (!ok)
        throw error(xrt_error());
}
template <class P> P *check(P *p)
{
    check(p != nullptr);
    return p;
}
} // namespace detail

/* Elements that C++ has no type for, as their bits. */
struct f16 {
    std::uint16_t bits;
};
struct bf16 {
    std::uint16_t bits;
};

/* The name of an element type in xrt.h. */
template <class T> constexpr const char *dtype()
{
    using E = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<E, f16>)
        return "f16";
    else if constexpr (std::is_same_v<E, bf16>)
        return "bf16";
    else if constexpr (std::is_same_v<E, bool>)
        return "bool";
    else if constexpr (std::is_floating_point_v<E>) {
        static_assert(sizeof(E) == 4 || sizeof(E) == 8, "no tensor has elements of this type");
        return sizeof(E) == 4 ? "f32" : "f64";
    } else {
        static_assert(std::is_integral_v<E>, "no tensor has elements of this type");
        constexpr const char *names[2][4] = {{"u8", "u16", "u32", "u64"}, {"i8", "i16", "i32", "i64"}};
        return names[std::is_signed_v<E>][sizeof(E) == 1 ? 0 : sizeof(E) == 2 ? 1 : sizeof(E) == 4 ? 2 : 3];
    }
}

using shape = std::vector<std::int64_t>;

/* The elements of dims; throws where they are no shape of a tensor. */
inline std::size_t count(const shape &dims)
{
    std::uint64_t n = 1;
    if (dims.size() > XRT_MAX_RANK)
        throw error("a tensor has at most " + std::to_string(XRT_MAX_RANK) + " dimensions");
    for (std::int64_t d : dims) {
        if (d < 0 || (d > 0 && n > INT64_MAX / static_cast<std::uint64_t>(d)))
            throw error("no tensor has a dimension of " + std::to_string(d) + " here");
        n *= static_cast<std::uint64_t>(d);
    }
    return static_cast<std::size_t>(n);
}

/* A tensor in memory of somebody else's. */
template <class T> class view {
  public:
    view(T *data, shape dims) : data_(data), dims_(std::move(dims)), size_(count(dims_)) {}
#if __cplusplus >= 202002L
    view(std::span<T> s, shape dims) : view(s.data(), std::move(dims))
    {
        if (s.size() != size_)
            throw error("a span of " + std::to_string(s.size()) + " elements, its shape has " + std::to_string(size_));
    }
    operator std::span<T>() const { return {data_, size_}; }
#endif
    const shape &dims() const { return dims_; }
    std::size_t size() const { return size_; }
    T *data() const { return data_; }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &operator[](std::size_t i) const { return data_[i]; }

  private:
    T *data_;
    shape dims_;
    std::size_t size_;
};

/* One that owns its memory; zeros at first. */
template <class T> class tensor {
  public:
    explicit tensor(shape dims) : dims_(std::move(dims)), size_(count(dims_)), data_(new T[size_ + !size_]()) {}
    const shape &dims() const { return dims_; }
    std::size_t size() const { return size_; }
    T *data() { return data_.get(); }
    const T *data() const { return data_.get(); }
    T *begin() { return data(); }
    T *end() { return data() + size_; }
    const T *begin() const { return data(); }
    const T *end() const { return data() + size_; }
    T &operator[](std::size_t i) { return data_[i]; }
    const T &operator[](std::size_t i) const { return data_[i]; }
#if __cplusplus >= 202002L
    operator std::span<T>() { return {data(), size_}; }
    operator std::span<const T>() const { return {data(), size_}; }
#endif

  private:
    shape dims_;
    std::size_t size_;
    std::unique_ptr<T[]> data_;
};

/* An open archive. Copies are the same one; it is closed with the last of them and of its contexts. */
class model {
  public:
    explicit model(const std::string &path) : model(xrt_open(path.c_str())) {}
    model(const std::string &path, const xrt_options &o) : model(xrt_open_with(path.c_str(), &o)) {}
    /* As xrt_open_memory: aligned to 64 bytes, and it must stay. */
    model(const void *data, std::size_t size) : model(xrt_open_memory(data, size)) {}

    int inputs() const { return xrt_input_count(get()); }
    int outputs() const { return xrt_output_count(get()); }
    const xrt_info &input(int i) const { return known(xrt_input_info(get(), i), "input", i); }
    const xrt_info &output(int i) const { return known(xrt_output_info(get(), i), "output", i); }
    xrt_model *get() const { return handle_.get(); }

  private:
    explicit model(xrt_model *m) : handle_(detail::check(m), xrt_close) {}
    static const xrt_info &known(const xrt_info *info, const char *what, int i)
    {
        if (!info)
            throw error(std::string("the model has no ") + what + " " + std::to_string(i));
        return *info;
    }
    std::shared_ptr<xrt_model> handle_;
};

class context {
  public:
    /* threads: as xrt_context_new. */
    explicit context(const model &m, int threads = 0)
        : model_(m), handle_(detail::check(xrt_context_new(m.get(), threads)), xrt_context_free)
    {
    }
    /* With memory, an allocator or threads of the caller's; options.size is set here. */
    context(const model &m, xrt_context_options options)
        : model_(m), handle_(detail::check(xrt_context_new_with(m.get(), sized(options))), xrt_context_free)
    {
    }
    /* Bytes of options.memory for such a context. */
    static std::size_t size(const model &m, xrt_context_options options)
    {
        std::size_t bytes = xrt_context_size(m.get(), sized(options));
        detail::check(bytes != 0);
        return bytes;
    }
    /* The tensor is lent until the input is set again. */
    template <class T> void set_input(int i, const view<T> &v)
    {
        xrt_tensor t = {};
        t.dtype = dtype<T>();
        t.rank = static_cast<int>(v.dims().size());
        std::copy(v.dims().begin(), v.dims().end(), t.dims);
        t.data = const_cast<std::remove_cv_t<T> *>(v.data());
        detail::check(xrt_set_input(get(), i, &t));
    }
    template <class T> void set_input(int i, const tensor<T> &t) { set_input(i, view<const T>(t.data(), t.dims())); }
    template <class T> void set_input(int i, tensor<T> &&t) = delete; /* it would be gone when the run reads it */

    /* Keeps an output that is an input with more behind it in one memory; see xrt_bind_state. */
    void bind_state(int input, int output, std::int64_t capacity)
    {
        detail::check(xrt_bind_state(get(), input, output, capacity));
    }

    void run() { detail::check(xrt_run(get())); }

    /* Output i of the last run, valid until the next one. */
    template <class T> view<const T> output(int i) const
    {
        xrt_tensor t;
        detail::check(xrt_output(get(), i, &t));
        if (std::string(t.dtype) != dtype<T>())
            throw error("output " + std::to_string(i) + " is of " + t.dtype + ", not of " + dtype<T>());
        return {static_cast<const T *>(t.data), shape(t.dims, t.dims + t.rank)};
    }
    void set_limits(const xrt_limits &l) { xrt_set_limits(get(), &l); }
    void cancel() { xrt_cancel(get()); }
    int threads() const { return xrt_threads(get()); }
    xrt_context *get() const { return handle_.get(); }

  private:
    static const xrt_context_options *sized(xrt_context_options &o)
    {
        o.size = sizeof o;
        return &o;
    }
    model model_; /* closed after its context */
    std::unique_ptr<xrt_context, void (*)(xrt_context *)> handle_;
};

} // namespace xrt
#endif
