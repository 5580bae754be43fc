/*
 * From m.def(...) to operators of xop.h.
 *
 * An operator's name, shape function and the name of its compute function are given by m.def; the
 * compute function is in another source file, known by its name alone. Who builds the library lists
 * the functions that the compute sources have (XOP_COMPUTE_FUNCTION below); the two meet at the
 * first call. Both have the same parameters, but for & and const, and the same result.
 *
 * Tensors are operands in their order; numbers are attributes arg0, arg1, ..., by their place among
 * the parameters.
 */
#ifndef XOP_LIBRARY_HPP
#define XOP_LIBRARY_HPP

#include <xop/core.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

extern "C" __attribute__((visibility("default"))) struct xop_library xop_library;

namespace xop_neuron {

#ifdef XOP_NEURON_MULTICORE
constexpr uint32_t library_flags = XOP_MULTICORE;
#else
constexpr uint32_t library_flags = 0;
#endif

/* ---- compute functions, by name ---- */

struct compute_function {
    const char *parameters; /* one letter each, as in `argument` */
    void (*address)();
};
inline std::multimap<std::string, compute_function> &compute_functions()
{
    static std::multimap<std::string, compute_function> all;
    return all;
}
struct compute_registration {
    compute_registration(const char *name, const char *parameters, void (*address)())
    {
        compute_functions().insert({name, compute_function{parameters, address}});
    }
};

/* ---- parameters ---- */

template <class T> struct argument;
struct tensor_argument {
    static constexpr char letter = 'T';
    using pass = const at::Tensor &; /* by value is the same: see Tensor's copy constructor */
    static at::Tensor get(const xop_call *c, int, int tensor)
    {
        return at::Tensor::view(c->in[tensor]);
    }
};
template <> struct argument<at::Tensor> : tensor_argument {
};
template <> struct argument<c10::Scalar> {
    static constexpr char letter = 'S';
    static constexpr const char *kind = "number";
    using pass = const c10::Scalar &;
    static c10::Scalar get(const xop_call *c, int i, int)
    {
        const std::string name = "arg" + std::to_string(i);
        int whole;
        const int64_t *v = xop_ints(c, name.c_str(), &whole);
        return whole == 1 ? c10::Scalar(*v) : c10::Scalar(xop_float(c, name.c_str()));
    }
};
#define XOP_NUMBER(type, l, k, read)                                                               \
    template <> struct argument<type> {                                                            \
        static constexpr char letter = l;                                                          \
        static constexpr const char *kind = k;                                                     \
        using pass = type;                                                                         \
        static type get(const xop_call *c, int i, int)                                             \
        {                                                                                          \
            return (type)read(c, ("arg" + std::to_string(i)).c_str());                             \
        }                                                                                          \
    };
XOP_NUMBER(double, 'd', "float", xop_float)
XOP_NUMBER(float, 'f', "float", xop_float)
XOP_NUMBER(long, 'l', "int", xop_int)
XOP_NUMBER(int, 'i', "int", xop_int)
XOP_NUMBER(bool, 'b', "int", xop_int)
#undef XOP_NUMBER

template <class T>
using plain = typename std::remove_cv<typename std::remove_reference<T>::type>::type;
template <class A> constexpr bool is_tensor = argument<plain<A>>::letter == 'T';

/* ---- results ---- */

inline void results_of(const at::Tensor &t, std::vector<at::Tensor> &out) { out.push_back(t); }
template <class... T> void results_of(const std::tuple<T...> &t, std::vector<at::Tensor> &out)
{
    std::apply([&out](const auto &...one) { (out.push_back(one), ...); }, t);
}
template <class R> struct result_count {
    static constexpr int value = 1;
};
template <class... T> struct result_count<std::tuple<T...>> {
    static constexpr int value = sizeof...(T);
};

/* What the shape function has made. */
inline bool give_shapes(const xop_call *c, const std::vector<at::Tensor> &results)
{
    for (size_t i = 0; i < results.size(); i++) {
        c10::IntArrayRef sizes = results[i].sizes();
        c->out[i].dtype = c10::xop_type(results[i].dtype());
        c->out[i].rank = (int32_t)sizes.size();
        std::memcpy(c->out[i].dims, sizes.data(), sizes.size() * sizeof(int64_t));
    }
    return true;
}

/* What the compute function has made: the result's own memory, or a tensor to be copied there. */
inline bool give_data(const xop_call *c, const std::vector<at::Tensor> &results)
{
    for (size_t i = 0; i < results.size(); i++) {
        at::Tensor to = at::Tensor::view(c->out[i]);
        if (results[i].data_ptr() == to.data_ptr())
            continue;
        if (c->cores > 1)
            throw std::runtime_error("with multicore the result is get_dst_tensor(), of which each "
                                     "core writes its part");
        if (results[i].sizes() != to.sizes() || results[i].dtype() != to.dtype())
            throw std::runtime_error("the result is not of the size and type that the shape "
                                     "function says");
        if (to.nbytes())
            std::memcpy(to.data_ptr(), results[i].data_ptr(), to.nbytes());
    }
    return true;
}

/* ---- operators ---- */

struct entry {
    std::string domain, name, compute, operands, results, attributes, parameters;
    void (*shape)() = nullptr;
    std::vector<at::Tensor> (*invoke)(void (*f)(), const xop_call *c) = nullptr;
    void (*found)() = nullptr; /* the compute function */
    std::once_flag once;
    xop_operator op{};
};

template <class R, class... A> struct signature {
    using abi = R (*)(typename argument<plain<A>>::pass...);

    static std::vector<at::Tensor> invoke(void (*f)(), const xop_call *c)
    {
        return with(f, c, std::index_sequence_for<A...>());
    }
    /* Of the parameters before number i, those that are tensors. */
    static int tensors_before(size_t i)
    {
        const bool tensor[] = {is_tensor<A>..., false};
        int n = 0;
        for (size_t k = 0; k < i; k++)
            n += tensor[k];
        return n;
    }
    template <size_t... I>
    static std::vector<at::Tensor> with(void (*f)(), const xop_call *c, std::index_sequence<I...>)
    {
        std::vector<at::Tensor> out;
        R r = reinterpret_cast<abi>(f)(argument<plain<A>>::get(c, (int)I, tensors_before(I))...);
        results_of(r, out);
        return out;
    }
    static std::string letters() { return std::string({argument<plain<A>>::letter..., '\0'}).c_str(); }
};

inline void (*find_compute(const entry &e))()
{
    auto range = compute_functions().equal_range(e.compute);
    for (auto i = range.first; i != range.second; ++i)
        if (e.parameters == i->second.parameters)
            return i->second.address;
    throw std::runtime_error(
        range.first == range.second
            ? "the compute sources have no function '" + e.compute + "'"
            : "the parameters of '" + e.compute + "' are not those of its shape function");
}

template <class F> bool guarded_call(const xop_call *c, const F &f)
{
    try {
        return f();
    } catch (const std::exception &problem) {
        return xop_fail(c, problem.what());
    } catch (...) {
        return xop_fail(c, "an exception that is no std::exception");
    }
}

inline bool run_shape(const xop_call *c)
{
    const entry *e = static_cast<const entry *>(c->op->user);
    return guarded_call(c, [c, e] {
        struct shapes {
            shapes() { at::Tensor::shapes_only() = true; }
            ~shapes() { at::Tensor::shapes_only() = false; }
        } scope;
        return give_shapes(c, e->invoke(e->shape, c));
    });
}

inline bool run_compute(const xop_call *c)
{
    entry *e = static_cast<entry *>(const_cast<void *>(c->op->user));
    return guarded_call(c, [c, e] {
        std::call_once(e->once, [e] { e->found = find_compute(*e); });
        core_state state;
        state.id = c->core;
        state.count = c->cores;
        state.call = c;
        state.pool = static_cast<char *>(c->scratch);
        struct scope {
            explicit scope(core_state *s) { current() = s; }
            ~scope() { current() = nullptr; }
        } now(&state);
        return give_data(c, e->invoke(e->found, c));
    });
}

/* ---- libraries ---- */

/* All operators of the object, where xop.h finds them. */
inline void publish(entry &e)
{
    static std::vector<const xop_operator *> all;
    e.op.domain = e.domain.c_str();
    e.op.name = e.name.c_str();
    e.op.version = 1;
    e.op.flags = library_flags;
    e.op.operands = e.operands.c_str();
    e.op.results = e.results.c_str();
    e.op.attributes = e.attributes.c_str();
    e.op.shape = run_shape;
    e.op.run = run_compute;
    e.op.user = &e;
    all.push_back(&e.op);
    ::xop_library.count = (int32_t)all.size();
    ::xop_library.operators = all.data();
}

class library {
public:
    explicit library(const char *domain) : domain_(domain) {}

    template <class R, class... A> library &def(const char *name, R (*shape)(A...), const char *compute)
    {
        static std::deque<entry> entries;
        entries.emplace_back();
        entry &e = entries.back();
        e.domain = domain_;
        e.name = name;
        e.compute = compute;
        e.parameters = signature<R, A...>::letters();
        e.shape = reinterpret_cast<void (*)()>(shape);
        e.invoke = signature<R, A...>::invoke;
        int i = 0;
        (declare<plain<A>>(e, i++), ...);
        for (int k = 0; k < result_count<R>::value; k++)
            e.results += (k ? ", r" : "r") + std::to_string(k);
        publish(e);
        return *this;
    }

private:
    template <class T> static void declare(entry &e, int i)
    {
        std::string number = std::to_string(i);
        if constexpr (is_tensor<T>)
            e.operands += (e.operands.empty() ? "arg" : ", arg") + number;
        else
            e.attributes += (e.attributes.empty() ? "arg" : ", arg") + number + ": " + argument<T>::kind;
    }
    std::string domain_;
};

struct definition {
    definition(const char *domain, void (*fill)(library &m))
    {
        library m(domain);
        fill(m);
    }
};

} // namespace xop_neuron

/* Once in a library, in a file of its own, with a row for each function of the compute sources: its
 * name, its parameters' letters, its symbol. */
#define XOP_NEURON_LIBRARY                                                                         \
    struct xop_library xop_library = {XOP_ABI, sizeof(xop_operator), 0, 0, nullptr};
#define XOP_COMPUTE_FUNCTION(n, name, parameters, symbol)                                          \
    extern "C" void xop_compute_##n() __asm__(symbol);                                             \
    static const xop_neuron::compute_registration xop_row_##n(name, parameters, xop_compute_##n);

#endif
