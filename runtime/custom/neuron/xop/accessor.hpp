/*
 * The ways to a tensor's elements: by indices, in order, in blocks to and from a core's own memory.
 */
#ifndef XOP_ACCESSOR_HPP
#define XOP_ACCESSOR_HPP

#include <xop/tensor.hpp>

#include <cstdio>

namespace at {
inline namespace xop_1 {

/* ---- by indices ---- */

template <class T, size_t N, bool read_only> class TensorAccessor {
    using element = typename std::conditional<read_only, const T, T>::type;

public:
    TensorAccessor(element *data, const int64_t *sizes, const int64_t *strides)
        : data_(data), sizes_(sizes, N), strides_(strides, N)
    {
    }
    IntArrayRef sizes() const { return sizes_; }
    IntArrayRef strides() const { return strides_; }
    int64_t size(int64_t i) const { return sizes_.at((size_t)i); }
    int64_t stride(int64_t i) const { return strides_.at((size_t)i); }
    element *data() const { return data_; }
    auto operator[](int64_t i) const -> typename std::conditional<
        N == 1, element &, TensorAccessor<T, (N > 1 ? N - 1 : 1), read_only>>::type
    {
        return at(i, std::integral_constant<bool, N == 1>());
    }

private:
    element &at(int64_t i, std::true_type) const { return data_[i * strides_.data()[0]]; }
    TensorAccessor<T, (N > 1 ? N - 1 : 1), read_only> at(int64_t i, std::false_type) const
    {
        return {data_ + i * strides_.data()[0], sizes_.data() + 1, strides_.data() + 1};
    }
    element *data_;
    IntArrayRef sizes_, strides_;
};

template <class T, size_t N, bool read_only, class X>
TensorAccessor<T, N, read_only> xop_accessor(const Tensor &t, X *data)
{
    t.check<T>("accessor");
    if (t.dim() != (int64_t)N)
        throw std::runtime_error("accessor of " + std::to_string(N) + " dimensions on a tensor of " +
                                 std::to_string(t.dim()));
    IntArrayRef sizes = t.sizes(), strides = t.strides();
    return TensorAccessor<T, N, read_only>(data, sizes.data(), strides.data());
}
template <class T, size_t N> TensorAccessor<T, N, true> Tensor::accessor() const &
{
    return xop_accessor<T, N, true>(*this, static_cast<const T *>(data_ptr()));
}
template <class T, size_t N> TensorAccessor<T, N, false> Tensor::accessor() &
{
    return xop_accessor<T, N, false>(*this, static_cast<T *>(data_ptr()));
}

/* ---- in order ---- */

inline void Tensor::open_stream(bool writes) const
{
    body &b = get();
    if (b.writers || (writes && b.readers)) {
        static const char text[] = "a stream accessor is opened on a tensor that another one writes "
                                   "or reads";
        if (b.policy == CoherencyEnforcer::COHERENT)
            throw std::runtime_error(std::string(text) + "; close() it before");
        if (b.policy == CoherencyEnforcer::INCOHERENT_VERBOSE)
            std::fprintf(stderr, "warning: %s\n", text);
    }
    (writes ? b.writers : b.readers)++;
}

/* What both streams are: a tensor, and the next of its elements. */
template <class T, bool writes> class XopStream {
public:
    explicit XopStream(const Tensor &t) : tensor_(t)
    {
        t.check<T>("stream accessor");
        t.open_stream(writes);
        open_ = true;
        at_ = static_cast<T *>(t.data_ptr());
        end_ = at_ + t.numel();
    }
    XopStream(XopStream &&o) : tensor_(o.tensor_), at_(o.at_), end_(o.end_), open_(o.open_)
    {
        o.open_ = false;
    }
    XopStream(const XopStream &) = delete;
    XopStream &operator=(const XopStream &) = delete;
    ~XopStream() { close(); }
    int close()
    {
        if (open_)
            tensor_.close_stream(writes);
        open_ = false;
        return 0;
    }

protected:
    T *next()
    {
        if (!open_ || at_ == end_)
            throw std::runtime_error(open_ ? "a stream accessor goes past the end of its tensor"
                                           : "a stream accessor is used after close()");
        return at_++;
    }

private:
    Tensor tensor_;
    T *at_, *end_;
    bool open_ = false;
};

template <class T> class TensorReadStreamAccessor : public XopStream<T, false> {
public:
    using XopStream<T, false>::XopStream;
    T read() { return *this->next(); }
};
template <class T> class TensorWriteStreamAccessor : public XopStream<T, true> {
public:
    using XopStream<T, true>::XopStream;
    void write(T value) { *this->next() = value; }
};

template <class T> TensorReadStreamAccessor<T> Tensor::read_stream_accessor() const &
{
    return TensorReadStreamAccessor<T>(*this);
}
template <class T> TensorWriteStreamAccessor<T> Tensor::write_stream_accessor() &
{
    return TensorWriteStreamAccessor<T>(*this);
}

/* ---- in blocks ---- */

template <bool read_only> class TensorTcmAccessor {
public:
    explicit TensorTcmAccessor(const Tensor &t) : tensor_(t) {}
    /* n elements from the tensor's element `offset` on, it being flat. */
    template <class T> void tensor_to_tcm(T *tcm, size_t offset, size_t n) const
    {
        std::memcpy(tcm, place<T>(offset, n), n * sizeof(T));
    }
    template <class T> void tcm_to_tensor(const T *tcm, size_t offset, size_t n) const
    {
        static_assert(!read_only, "the tensor is only to be read");
        std::memcpy(place<T>(offset, n), tcm, n * sizeof(T));
    }

private:
    template <class T> T *place(size_t offset, size_t n) const
    {
        size_t all = (size_t)tensor_.numel();
        tensor_.check<T>("TCM accessor");
        if (offset > all || n > all - offset)
            throw std::runtime_error("a TCM accessor copies elements " + std::to_string(offset) +
                                     " to " + std::to_string(offset + n) + " of a tensor of " +
                                     std::to_string(all));
        return static_cast<T *>(tensor_.data_ptr()) + offset;
    }
    Tensor tensor_;
};

inline TensorTcmAccessor<true> Tensor::tcm_accessor() const &
{
    return TensorTcmAccessor<true>(*this);
}
inline TensorTcmAccessor<false> Tensor::tcm_accessor() &
{
    return TensorTcmAccessor<false>(*this);
}

} // namespace xop_1
} // namespace at

#endif
