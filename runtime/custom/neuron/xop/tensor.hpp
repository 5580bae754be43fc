/*
 * Tensors: dense, row-major, sharing memory when copied. Failures are exceptions, which end the
 * operator with their text.
 */
#ifndef XOP_TENSOR_HPP
#define XOP_TENSOR_HPP

#include <xop.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/* The inline namespace keeps these names apart from PyTorch's own in one process. */
namespace c10 {
inline namespace xop_1 {

enum class ScalarType : int8_t {
    Byte = 0,
    Char = 1,
    Short = 2,
    Int = 3,
    Long = 4,
    Half = 5,
    Float = 6,
    Double = 7,
    Bool = 11,
    BFloat16 = 15,
    Undefined = 27,
};

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                     kInt8 = ScalarType::Char, kShort = ScalarType::Short,
                     kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
                     kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat16 = ScalarType::Half, kFloat = ScalarType::Float,
                     kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                     kFloat64 = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16;

/* The upper half of a float, rounded to nearest even. */
struct BFloat16 {
    uint16_t x = 0;
    BFloat16() = default;
    BFloat16(float v)
    {
        uint32_t bits;
        std::memcpy(&bits, &v, 4);
        x = v != v ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    operator float() const
    {
        uint32_t bits = (uint32_t)x << 16;
        float v;
        std::memcpy(&v, &bits, 4);
        return v;
    }
};

/* IEEE binary16, rounded to nearest even. */
struct Half {
    uint16_t x = 0;
    Half() = default;
    Half(float v)
    {
        uint16_t sign = std::signbit(v) ? 0x8000 : 0;
        float a = std::fabs(v);
        if (v != v)
            x = 0x7e00;
        else if (a >= 65520.0f)
            x = sign | 0x7c00;
        else if (a < 6.103515625e-05f) /* in steps of 2^-24 */
            x = sign | (uint16_t)std::nearbyint(a * 16777216.0f);
        else {
            uint32_t bits;
            std::memcpy(&bits, &a, 4);
            bits += 0xfff + (bits >> 13 & 1);
            x = sign | (uint16_t)((bits - 0x38000000) >> 13);
        }
    }
    operator float() const
    {
        int e = x >> 10 & 31, m = x & 1023;
        float v = e == 31 ? (m ? NAN : INFINITY)
                  : e     ? std::ldexp((float)(m + 1024), e - 25)
                          : std::ldexp((float)m, -24);
        return x & 0x8000 ? -v : v;
    }
};

template <class T> struct CppTypeToScalarType;
#define XOP_TYPES(X)                                                                               \
    X(uint8_t, Byte, XOP_U8)                                                                       \
    X(int8_t, Char, XOP_I8)                                                                        \
    X(int16_t, Short, XOP_I16)                                                                     \
    X(int32_t, Int, XOP_I32)                                                                       \
    X(int64_t, Long, XOP_I64)                                                                      \
    X(::c10::Half, Half, XOP_F16)                                                                  \
    X(float, Float, XOP_F32)                                                                       \
    X(double, Double, XOP_F64)                                                                     \
    X(bool, Bool, XOP_BOOL)                                                                        \
    X(::c10::BFloat16, BFloat16, XOP_BF16)
#define XOP_TYPE(type, name, number)                                                               \
    template <> struct CppTypeToScalarType<type> {                                                 \
        static constexpr ScalarType value = ScalarType::name;                                      \
    };
XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE

inline size_t elementSize(ScalarType t)
{
    switch (t) {
#define XOP_TYPE(type, name, number)                                                               \
    case ScalarType::name:                                                                         \
        return sizeof(type);
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        throw std::runtime_error("a tensor without an element type");
    }
}
inline const char *toString(ScalarType t)
{
    switch (t) {
#define XOP_TYPE(type, name, number)                                                               \
    case ScalarType::name:                                                                         \
        return #name;
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        return "Undefined";
    }
}
inline int xop_type(ScalarType t)
{
    switch (t) {
#define XOP_TYPE(type, name, number)                                                               \
    case ScalarType::name:                                                                         \
        return number;
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        return 0;
    }
}
inline ScalarType type_of_xop(int number_)
{
    switch (number_) {
#define XOP_TYPE(type, name, number)                                                               \
    case number:                                                                                   \
        return ScalarType::name;
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        throw std::runtime_error("an element type that custom C++ operators do not have");
    }
}
inline bool isFloatingType(ScalarType t)
{
    return t == ScalarType::Half || t == ScalarType::Float || t == ScalarType::Double ||
           t == ScalarType::BFloat16;
}

/* A list of sizes, which it holds itself. */
class IntArrayRef {
public:
    IntArrayRef() = default;
    IntArrayRef(int64_t one) { add(one); }
    IntArrayRef(std::initializer_list<int64_t> v)
    {
        for (int64_t n : v)
            add(n);
    }
    template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type>
    IntArrayRef(std::initializer_list<T> v)
    {
        for (T n : v)
            add((int64_t)n);
    }
    template <class T> IntArrayRef(const std::vector<T> &v)
    {
        for (T n : v)
            add((int64_t)n);
    }
    IntArrayRef(const int64_t *v, size_t n)
    {
        for (size_t i = 0; i < n; i++)
            add(v[i]);
    }
    size_t size() const { return n_; }
    bool empty() const { return n_ == 0; }
    const int64_t *data() const { return v_; }
    const int64_t *begin() const { return v_; }
    const int64_t *end() const { return v_ + n_; }
    int64_t operator[](size_t i) const { return at(i); }
    int64_t at(size_t i) const
    {
        if (i >= n_)
            throw std::runtime_error("size " + std::to_string(i) + " of a tensor of " +
                                     std::to_string(n_) + " dimensions");
        return v_[i];
    }
    int64_t front() const { return at(0); }
    int64_t back() const { return at(n_ - 1); }
    std::vector<int64_t> vec() const { return std::vector<int64_t>(begin(), end()); }
    bool operator==(const IntArrayRef &o) const
    {
        return n_ == o.n_ && std::memcmp(v_, o.v_, n_ * sizeof *v_) == 0;
    }
    bool operator!=(const IntArrayRef &o) const { return !(*this == o); }

private:
    void add(int64_t n)
    {
        if (n_ == XOP_MAX_RANK)
            throw std::runtime_error("a tensor of too many dimensions");
        v_[n_++] = n;
    }
    int64_t v_[XOP_MAX_RANK];
    size_t n_ = 0;
};

/* A number. Never passed in registers, so that a parameter by value is one by reference. */
class Scalar {
public:
    Scalar() : Scalar((int64_t)0) {}
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    Scalar(T v) : float_(std::is_floating_point<T>::value), d_((double)v), i_((int64_t)v)
    {
    }
    Scalar(const Scalar &o) : float_(o.float_), d_(o.d_), i_(o.i_) {}
    Scalar &operator=(const Scalar &o)
    {
        float_ = o.float_, d_ = o.d_, i_ = o.i_;
        return *this;
    }
    bool isFloatingPoint() const { return float_; }
    bool isIntegral(bool = false) const { return !float_; }
    template <class T> T to() const { return float_ ? (T)d_ : (T)i_; }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }

private:
    bool float_;
    double d_;
    int64_t i_;
};

class TensorOptions {
public:
    TensorOptions() = default;
    TensorOptions(ScalarType t) : dtype_(t) {}
    TensorOptions dtype(ScalarType t) const { return TensorOptions(t); }
    ScalarType dtype() const { return dtype_; }

private:
    ScalarType dtype_ = ScalarType::Float;
};

} // namespace xop_1
} // namespace c10

namespace at {
inline namespace xop_1 {

using namespace ::c10::xop_1;

class CoherencyEnforcer {
public:
    enum Policy { COHERENT, INCOHERENT_VERBOSE, INCOHERENT_QUIET };
};

template <class T, size_t N, bool read_only> class TensorAccessor;
template <class T> class TensorReadStreamAccessor;
template <class T> class TensorWriteStreamAccessor;
template <bool read_only> class TensorTcmAccessor;

class Tensor {
public:
    Tensor() = default;
    Tensor(const Tensor &o) : p_(o.p_) {} /* never passed in registers, as Scalar */
    Tensor &operator=(const Tensor &o)
    {
        p_ = o.p_;
        return *this;
    }

    /* Memory of its own, zeros; none in shape functions. */
    static Tensor make(const IntArrayRef &sizes, ScalarType t)
    {
        Tensor x;
        x.p_ = std::make_shared<body>();
        x.p_->sizes = sizes, x.p_->dtype = t;
        if (!shapes_only()) {
            size_t n = x.nbytes();
            x.p_->own.reset(std::calloc(n ? n : 1, 1), std::free);
            if (!x.p_->own)
                throw std::runtime_error("out of memory");
            x.p_->data = x.p_->own.get();
        }
        return x;
    }
    /* An operand or result of a call. */
    static Tensor view(const xop_tensor &t)
    {
        Tensor x;
        x.p_ = std::make_shared<body>();
        x.p_->sizes = IntArrayRef(t.dims, (size_t)t.rank);
        x.p_->dtype = type_of_xop(t.dtype);
        x.p_->data = t.data;
        return x;
    }
    static bool &shapes_only()
    {
        static thread_local bool on = false;
        return on;
    }

    bool defined() const { return p_ != nullptr; }
    int64_t dim() const { return (int64_t)sizes().size(); }
    int64_t ndimension() const { return dim(); }
    IntArrayRef sizes() const { return get().sizes; }
    int64_t size(int64_t i) const { return sizes().at((size_t)(i < 0 ? i + dim() : i)); }
    IntArrayRef strides() const
    {
        std::vector<int64_t> v((size_t)dim());
        int64_t n = 1;
        for (size_t i = v.size(); i-- > 0; n *= get().sizes[i])
            v[i] = n;
        return IntArrayRef(v);
    }
    int64_t stride(int64_t i) const { return strides().at((size_t)(i < 0 ? i + dim() : i)); }
    int64_t numel() const
    {
        int64_t n = 1;
        for (int64_t s : sizes()) {
            if (s < 0 || __builtin_mul_overflow(n, s, &n) || n > INT64_MAX / 8)
                throw std::runtime_error("a tensor of a negative or too large size");
        }
        return n;
    }
    size_t element_size() const { return elementSize(get().dtype); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return (size_t)numel() * element_size(); }
    ScalarType dtype() const { return get().dtype; }
    ScalarType scalar_type() const { return get().dtype; }
    TensorOptions options() const { return TensorOptions(get().dtype); }
    bool is_contiguous() const { return true; }
    void *data_ptr() const { return get().data; }
    template <class T> T *data_ptr() const
    {
        check<T>("data_ptr");
        return static_cast<T *>(get().data);
    }
    Tensor &fill_(const Scalar &value) const;
    Tensor &zero_() const { return fill_(0); }

    template <class T, size_t N> TensorAccessor<T, N, true> accessor() const &;
    template <class T, size_t N> TensorAccessor<T, N, false> accessor() &;
    template <class T, size_t N> TensorAccessor<T, N, false> accessor() && = delete;
    template <class T> TensorReadStreamAccessor<T> read_stream_accessor() const &;
    template <class T> TensorReadStreamAccessor<T> read_stream_accessor() && = delete;
    template <class T> TensorWriteStreamAccessor<T> write_stream_accessor() &;
    template <class T> TensorWriteStreamAccessor<T> write_stream_accessor() && = delete;
    TensorTcmAccessor<true> tcm_accessor() const &;
    TensorTcmAccessor<false> tcm_accessor() &;

    CoherencyEnforcer::Policy get_accessor_coherence_policy() const { return get().policy; }
    void set_accessor_coherence_policy(CoherencyEnforcer::Policy p) const { get().policy = p; }

    /* A stream that opens, of those that write or read; throws when it may see old data. */
    void open_stream(bool writes) const;
    void close_stream(bool writes) const { (writes ? get().writers : get().readers)--; }

    template <class T> void check(const char *what) const
    {
        if (CppTypeToScalarType<typename std::remove_const<T>::type>::value != dtype())
            throw std::runtime_error(
                std::string(what) + " of type " +
                toString(CppTypeToScalarType<typename std::remove_const<T>::type>::value) +
                " on a tensor of " + toString(dtype()));
    }

private:
    struct body {
        IntArrayRef sizes;
        ScalarType dtype = ScalarType::Undefined;
        void *data = nullptr;
        std::shared_ptr<void> own;
        CoherencyEnforcer::Policy policy = CoherencyEnforcer::COHERENT;
        int readers = 0, writers = 0;
    };
    body &get() const
    {
        if (!p_)
            throw std::runtime_error("a tensor that has not been made");
        return *p_;
    }
    std::shared_ptr<body> p_;
};

} // namespace xop_1
} // namespace at

namespace torch {
using namespace ::c10::xop_1;
using namespace ::at::xop_1;
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
} // namespace torch

/* A condition of the operator's; what follows it is the message's parts. */
namespace xop_neuron {
inline std::string text() { return ""; }
inline std::string text_of(const std::string &s) { return s; }
template <class T> std::string text_of(const T &v) { return std::to_string(v); }
inline std::string text_of(const char *s) { return s; }
template <class T, class... Rest> std::string text(const T &first, const Rest &...rest)
{
    return text_of(first) + text(rest...);
}
} // namespace xop_neuron
#ifndef TORCH_CHECK
#define TORCH_CHECK(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            throw std::runtime_error("TORCH_CHECK(" #condition "): " +                             \
                                     xop_neuron::text(__VA_ARGS__));                               \
    } while (0)
#endif

#endif
