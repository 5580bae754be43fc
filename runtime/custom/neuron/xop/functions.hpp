/*
 * Factories and elementwise functions. Types as PyTorch has them: functions of floats give floats of
 * 32 bits for integers, a fraction makes an integer tensor one of floats. Nothing broadcasts.
 */
#ifndef XOP_FUNCTIONS_HPP
#define XOP_FUNCTIONS_HPP

#include <xop/tensor.hpp>

#include <algorithm>

namespace at {
inline namespace xop_1 {

/* ---- elements in blocks, as a type that computes ---- */

enum { XOP_BLOCK = 256 };

template <class C> void xop_load(const Tensor &t, int64_t at, int64_t n, C *to)
{
    switch (t.dtype()) {
#define XOP_TYPE(type, name, number)                                                               \
    case ScalarType::name:                                                                         \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = (C) static_cast<const type *>(t.data_ptr())[at + i];                           \
        return;
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        throw std::runtime_error("a tensor without an element type");
    }
}
template <class C> void xop_store(const Tensor &t, int64_t at, int64_t n, const C *from)
{
    switch (t.dtype()) {
#define XOP_TYPE(type, name, number)                                                               \
    case ScalarType::name:                                                                         \
        for (int64_t i = 0; i < n; i++)                                                            \
            static_cast<type *>(t.data_ptr())[at + i] = (type)from[i];                             \
        return;
        XOP_TYPES(XOP_TYPE)
#undef XOP_TYPE
    default:
        throw std::runtime_error("a tensor without an element type");
    }
}

inline void xop_same_size(const Tensor &a, const Tensor &b, const char *what)
{
    if (a.sizes() != b.sizes())
        throw std::runtime_error(std::string(what) +
                                 ": tensors of different sizes; nothing broadcasts");
}

template <class C, class F>
Tensor &xop_map1(Tensor &out, const Tensor &x, const char *what, const F &f)
{
    C a[XOP_BLOCK];
    xop_same_size(out, x, what);
    for (int64_t at = 0, all = x.data_ptr() ? x.numel() : 0; at < all; at += XOP_BLOCK) {
        int64_t n = std::min<int64_t>(XOP_BLOCK, all - at);
        xop_load(x, at, n, a);
        for (int64_t i = 0; i < n; i++)
            a[i] = f(a[i]);
        xop_store(out, at, n, a);
    }
    return out;
}
template <class C, class F>
Tensor &xop_map2(Tensor &out, const Tensor &x, const Tensor &y, const char *what, const F &f)
{
    C a[XOP_BLOCK], b[XOP_BLOCK];
    xop_same_size(x, y, what);
    xop_same_size(out, x, what);
    for (int64_t at = 0, all = x.data_ptr() ? x.numel() : 0; at < all; at += XOP_BLOCK) {
        int64_t n = std::min<int64_t>(XOP_BLOCK, all - at);
        xop_load(x, at, n, a);
        xop_load(y, at, n, b);
        for (int64_t i = 0; i < n; i++)
            a[i] = f(a[i], b[i]);
        xop_store(out, at, n, a);
    }
    return out;
}

/* What is computed in: int64_t, float or double. */
template <class F> decltype(auto) xop_compute(ScalarType t, const F &f)
{
    return !isFloatingType(t) ? f(int64_t())
           : t == kDouble     ? f(double())
                              : f(float());
}

/* ---- types of results ---- */

inline ScalarType xop_float_of(ScalarType t) { return isFloatingType(t) ? t : kFloat; }
inline ScalarType xop_with(ScalarType t, const Scalar &s)
{
    return s.isFloatingPoint() ? xop_float_of(t) : t == kBool ? kLong : t;
}
inline ScalarType xop_common(ScalarType a, ScalarType b)
{
    if (a == b)
        return a;
    if (isFloatingType(a) != isFloatingType(b))
        return isFloatingType(a) ? a : b;
    if (isFloatingType(a))
        return elementSize(a) == elementSize(b) ? kFloat : elementSize(a) > elementSize(b) ? a : b;
    if (a == kBool || b == kBool)
        return a == kBool ? b : a;
    if ((a == kByte && b == kChar) || (a == kChar && b == kByte))
        return kShort;
    return elementSize(a) > elementSize(b) ? a : b;
}

/* ---- factories ---- */

inline Tensor full(IntArrayRef size, const Scalar &value, TensorOptions o)
{
    Tensor t = Tensor::make(size, o.dtype());
    t.fill_(value);
    return t;
}
inline Tensor full(IntArrayRef size, const Scalar &value)
{
    return full(size, value, value.isFloatingPoint() ? kFloat : kLong);
}
inline Tensor empty(IntArrayRef size, TensorOptions o = TensorOptions())
{
    return Tensor::make(size, o.dtype());
}
inline Tensor zeros(IntArrayRef size, TensorOptions o = TensorOptions()) { return empty(size, o); }
inline Tensor ones(IntArrayRef size, TensorOptions o = TensorOptions()) { return full(size, 1, o); }
inline Tensor eye(int64_t n, int64_t m, TensorOptions o = TensorOptions())
{
    Tensor t = Tensor::make({n, m}, o.dtype());
    int64_t one = 1;
    for (int64_t i = 0; t.data_ptr() && i < std::min(n, m); i++)
        xop_store(t, i * m + i, 1, &one);
    return t;
}
inline Tensor eye(int64_t n, TensorOptions o = TensorOptions()) { return eye(n, n, o); }
inline Tensor empty_like(const Tensor &t) { return empty(t.sizes(), t.dtype()); }
inline Tensor zeros_like(const Tensor &t) { return zeros(t.sizes(), t.dtype()); }
inline Tensor ones_like(const Tensor &t) { return ones(t.sizes(), t.dtype()); }

inline Tensor &Tensor::fill_(const Scalar &value) const
{
    Tensor &self = const_cast<Tensor &>(*this);
    return xop_compute(dtype(), [&](auto c) -> Tensor & {
        using C = decltype(c);
        C v = value.to<C>();
        return xop_map1<C>(self, self, "fill_", [v](C) { return v; });
    });
}

/* ---- functions of one tensor ---- */

/* Those that give floats. */
#define XOP_FLOAT_FUNCTION(name, expression)                                                       \
    inline Tensor &name##_out(Tensor &result, const Tensor &self)                                  \
    {                                                                                              \
        return xop_compute(xop_float_of(self.dtype()), [&](auto c) -> Tensor & {                   \
            using C = decltype(c);                                                                 \
            using F = typename std::conditional<std::is_integral<C>::value, float, C>::type;       \
            return xop_map1<F>(result, self, #name, [](F x) -> F { return expression; });          \
        });                                                                                        \
    }                                                                                              \
    inline Tensor name(const Tensor &self)                                                         \
    {                                                                                              \
        Tensor result = empty(self.sizes(), xop_float_of(self.dtype()));                           \
        return name##_out(result, self);                                                           \
    }
XOP_FLOAT_FUNCTION(sin, std::sin(x))
XOP_FLOAT_FUNCTION(cos, std::cos(x))
XOP_FLOAT_FUNCTION(tan, std::tan(x))
XOP_FLOAT_FUNCTION(log, std::log(x))
XOP_FLOAT_FUNCTION(log2, std::log2(x))
XOP_FLOAT_FUNCTION(log10, std::log10(x))
XOP_FLOAT_FUNCTION(exp, std::exp(x))
#undef XOP_FLOAT_FUNCTION

/* Those that keep the type; integers are what they are. */
#define XOP_SAME_FUNCTION(name, of_float, of_integer)                                              \
    inline Tensor &name##_out(Tensor &result, const Tensor &self)                                  \
    {                                                                                              \
        if (!isFloatingType(self.dtype()))                                                         \
            return xop_map1<int64_t>(result, self, #name, [](int64_t x) { return of_integer; });   \
        if (self.dtype() == kDouble)                                                               \
            return xop_map1<double>(result, self, #name, [](double x) { return of_float; });       \
        return xop_map1<float>(result, self, #name, [](float x) { return of_float; });             \
    }                                                                                              \
    inline Tensor name(const Tensor &self)                                                         \
    {                                                                                              \
        Tensor result = empty(self.sizes(), self.dtype());                                         \
        return name##_out(result, self);                                                           \
    }
XOP_SAME_FUNCTION(abs, std::fabs(x), x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
XOP_SAME_FUNCTION(ceil, std::ceil(x), x)
XOP_SAME_FUNCTION(floor, std::floor(x), x)
#undef XOP_SAME_FUNCTION

inline Tensor &clamp_out(Tensor &result, const Tensor &self, const Scalar &low, const Scalar &high)
{
    return xop_compute(result.dtype(), [&](auto c) -> Tensor & {
        using C = decltype(c);
        C a = low.to<C>(), b = high.to<C>();
        return xop_map1<C>(result, self, "clamp", [a, b](C x) {
            return x != x ? x : std::min(std::max(x, a), b);
        });
    });
}
inline Tensor clamp(const Tensor &self, const Scalar &low, const Scalar &high)
{
    Tensor result = empty(self.sizes(), xop_with(xop_with(self.dtype(), low), high));
    return clamp_out(result, self, low, high);
}

/* ---- functions of two ---- */

/* Of integers modulo 2^64, as the types wrap around. */
template <class C, class F> C xop_wrap(C a, C b, const F &f)
{
    return (C)f((uint64_t)a, (uint64_t)b);
}
template <class F> float xop_wrap(float a, float b, const F &f) { return f(a, b); }
template <class F> double xop_wrap(double a, double b, const F &f) { return f(a, b); }

#define XOP_SUM(name, sign)                                                                        \
    inline Tensor &name##_out(Tensor &result, const Tensor &self, const Tensor &other,             \
                              const Scalar &alpha = 1)                                             \
    {                                                                                              \
        return xop_compute(xop_common(self.dtype(), other.dtype()), [&](auto c) -> Tensor & {      \
            using C = decltype(c);                                                                 \
            C k = alpha.to<C>();                                                                   \
            return xop_map2<C>(result, self, other, #name, [k](C x, C y) {                         \
                C ky = xop_wrap(k, y, [](auto p, auto q) { return p * q; });                       \
                return xop_wrap(x, ky, [](auto p, auto q) { return p sign q; });                   \
            });                                                                                    \
        });                                                                                        \
    }                                                                                              \
    inline Tensor name(const Tensor &self, const Tensor &other, const Scalar &alpha = 1)           \
    {                                                                                              \
        Tensor result = empty(self.sizes(), xop_common(self.dtype(), other.dtype()));              \
        return name##_out(result, self, other, alpha);                                             \
    }                                                                                              \
    inline Tensor &name##_out(Tensor &result, const Tensor &self, const Scalar &other,             \
                              const Scalar &alpha = 1)                                             \
    {                                                                                              \
        return xop_compute(xop_with(self.dtype(), other), [&](auto c) -> Tensor & {                \
            using C = decltype(c);                                                                 \
            C ky = xop_wrap(alpha.to<C>(), other.to<C>(), [](auto p, auto q) { return p * q; });   \
            return xop_map1<C>(result, self, #name, [ky](C x) {                                    \
                return xop_wrap(x, ky, [](auto p, auto q) { return p sign q; });                   \
            });                                                                                    \
        });                                                                                        \
    }                                                                                              \
    inline Tensor name(const Tensor &self, const Scalar &other, const Scalar &alpha = 1)           \
    {                                                                                              \
        Tensor result = empty(self.sizes(), xop_with(self.dtype(), other));                        \
        return name##_out(result, self, other, alpha);                                             \
    }
XOP_SUM(add, +)
XOP_SUM(sub, -)
#undef XOP_SUM

inline Tensor &mul_out(Tensor &result, const Tensor &self, const Tensor &other)
{
    return xop_compute(xop_common(self.dtype(), other.dtype()), [&](auto c) -> Tensor & {
        using C = decltype(c);
        return xop_map2<C>(result, self, other, "mul", [](C x, C y) {
            return xop_wrap(x, y, [](auto p, auto q) { return p * q; });
        });
    });
}
inline Tensor mul(const Tensor &self, const Tensor &other)
{
    Tensor result = empty(self.sizes(), xop_common(self.dtype(), other.dtype()));
    return mul_out(result, self, other);
}
inline Tensor &mul_out(Tensor &result, const Tensor &self, const Scalar &other)
{
    return xop_compute(xop_with(self.dtype(), other), [&](auto c) -> Tensor & {
        using C = decltype(c);
        C y = other.to<C>();
        return xop_map1<C>(result, self, "mul", [y](C x) {
            return xop_wrap(x, y, [](auto p, auto q) { return p * q; });
        });
    });
}
inline Tensor mul(const Tensor &self, const Scalar &other)
{
    Tensor result = empty(self.sizes(), xop_with(self.dtype(), other));
    return mul_out(result, self, other);
}

/* Quotients of integers are floats. */
inline Tensor &div_out(Tensor &result, const Tensor &self, const Tensor &other)
{
    if (self.dtype() == kDouble || other.dtype() == kDouble)
        return xop_map2<double>(result, self, other, "div", [](double x, double y) { return x / y; });
    return xop_map2<float>(result, self, other, "div", [](float x, float y) { return x / y; });
}
inline Tensor div(const Tensor &self, const Tensor &other)
{
    Tensor result =
        empty(self.sizes(), xop_float_of(xop_common(self.dtype(), other.dtype())));
    return div_out(result, self, other);
}
inline Tensor &div_out(Tensor &result, const Tensor &self, const Scalar &other)
{
    double d = other.toDouble();
    if (self.dtype() == kDouble)
        return xop_map1<double>(result, self, "div", [d](double x) { return x / d; });
    return xop_map1<float>(result, self, "div", [d](float x) { return x / (float)d; });
}
inline Tensor div(const Tensor &self, const Scalar &other)
{
    Tensor result = empty(self.sizes(), xop_float_of(self.dtype()));
    return div_out(result, self, other);
}

inline int64_t xop_power(int64_t x, int64_t n)
{
    uint64_t y = 1, p = (uint64_t)x;
    if (n < 0)
        return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
    for (; n; n >>= 1, p *= p)
        y = n & 1 ? y * p : y;
    return (int64_t)y;
}
inline float xop_power(float x, float n) { return std::pow(x, n); }
inline double xop_power(double x, double n) { return std::pow(x, n); }

inline Tensor &pow_out(Tensor &result, const Tensor &self, const Tensor &exponent)
{
    return xop_compute(xop_common(self.dtype(), exponent.dtype()), [&](auto c) -> Tensor & {
        using C = decltype(c);
        return xop_map2<C>(result, self, exponent, "pow", [](C x, C n) { return xop_power(x, n); });
    });
}
inline Tensor pow(const Tensor &self, const Tensor &exponent)
{
    Tensor result = empty(self.sizes(), xop_common(self.dtype(), exponent.dtype()));
    return pow_out(result, self, exponent);
}
inline Tensor &pow_out(Tensor &result, const Tensor &self, const Scalar &exponent)
{
    return xop_compute(xop_with(self.dtype(), exponent), [&](auto c) -> Tensor & {
        using C = decltype(c);
        C n = exponent.to<C>();
        return xop_map1<C>(result, self, "pow", [n](C x) { return xop_power(x, n); });
    });
}
inline Tensor pow(const Tensor &self, const Scalar &exponent)
{
    Tensor result = empty(self.sizes(), xop_with(self.dtype(), exponent));
    return pow_out(result, self, exponent);
}
inline Tensor &pow_out(Tensor &result, const Scalar &self, const Tensor &exponent)
{
    return xop_compute(xop_with(exponent.dtype(), self), [&](auto c) -> Tensor & {
        using C = decltype(c);
        C x = self.to<C>();
        return xop_map1<C>(result, exponent, "pow", [x](C n) { return xop_power(x, n); });
    });
}
inline Tensor pow(const Scalar &self, const Tensor &exponent)
{
    Tensor result = empty(exponent.sizes(), xop_with(exponent.dtype(), self));
    return pow_out(result, self, exponent);
}

/* ---- bits ---- */

inline const Tensor &xop_integral(const Tensor &t, const char *what)
{
    if (isFloatingType(t.dtype()))
        throw std::runtime_error(std::string(what) + " of a tensor of " + toString(t.dtype()) +
                                 ", expected integers");
    return t;
}
#define XOP_BITS(name, sign)                                                                       \
    inline Tensor &name##_out(Tensor &result, const Tensor &self, const Tensor &other)             \
    {                                                                                              \
        return xop_map2<int64_t>(result, xop_integral(self, #name), xop_integral(other, #name),    \
                                 #name, [](int64_t x, int64_t y) { return x sign y; });            \
    }                                                                                              \
    inline Tensor name(const Tensor &self, const Tensor &other)                                    \
    {                                                                                              \
        Tensor result = empty(self.sizes(), xop_common(self.dtype(), other.dtype()));              \
        return name##_out(result, self, other);                                                    \
    }                                                                                              \
    inline Tensor &name##_out(Tensor &result, const Tensor &self, const Scalar &other)             \
    {                                                                                              \
        int64_t y = other.toLong();                                                                \
        return xop_map1<int64_t>(result, xop_integral(self, #name), #name,                         \
                                 [y](int64_t x) { return x sign y; });                             \
    }                                                                                              \
    inline Tensor name(const Tensor &self, const Scalar &other)                                    \
    {                                                                                              \
        Tensor result = empty(self.sizes(), self.dtype());                                         \
        return name##_out(result, self, other);                                                    \
    }                                                                                              \
    inline Tensor &name##_out(Tensor &result, const Scalar &self, const Tensor &other)             \
    {                                                                                              \
        return name##_out(result, other, self);                                                    \
    }                                                                                              \
    inline Tensor name(const Scalar &self, const Tensor &other) { return name(other, self); }
XOP_BITS(bitwise_and, &)
XOP_BITS(bitwise_or, |)
#undef XOP_BITS
inline Tensor &bitwise_not_out(Tensor &result, const Tensor &self)
{
    bool of_bool = xop_integral(self, "bitwise_not").dtype() == kBool;
    return xop_map1<int64_t>(result, self, "bitwise_not",
                             [of_bool](int64_t x) { return of_bool ? !x : ~x; });
}
inline Tensor bitwise_not(const Tensor &self)
{
    Tensor result = empty(self.sizes(), self.dtype());
    return bitwise_not_out(result, self);
}
inline Tensor bitwise_not(Tensor &result, const Tensor &self)
{
    return bitwise_not_out(result, self);
}

} // namespace xop_1
} // namespace at

#endif
