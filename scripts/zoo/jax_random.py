"""Random operators of jax.lax, with attributes drawn from all that their documents allow: what scripts/fuzz-jax makes programs of.

An operator is a function of (draw, pool) that returns (function of arrays, indices of its arguments in the pool), or None where
the pool has nothing that fits. The pool is a list of jax.ShapeDtypeStruct."""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from draw import Choices

FLOATS = ["float32", "float64", "bfloat16", "float16"]
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
SMALL = ["int4", "uint4", "int2", "uint2", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3"]
MOST = 4096  # elements of a value
SIZES = [1, 2, 3, 4, 5, 7, 8]  # of dims
LARGE = [1, 3, 16, 31, 64, 100, 257, 1000]  # so that kernels have whole blocks and rests

OPERATORS = {}


def operator(f):
    OPERATORS[f.__name__] = f
    return f


class Draw(Choices):
    def shape(self, least=0, most=4):
        s = [self.one(SIZES) for _ in range(self.between(least, most))]
        while math.prod(s) > MOST:
            s[self.below(len(s))] = 1
        return tuple(s)

    def array(self, shape, dtype):
        return values(self.r, shape, dtype)


def kind(x):
    return "bool" if x.dtype == np.bool_ else "complex" if jnp.issubdtype(x.dtype, jnp.complexfloating) else \
        "float" if jnp.issubdtype(x.dtype, jnp.floating) else "unsigned" if jnp.issubdtype(x.dtype, jnp.unsignedinteger) else "int"


def values(r, shape, dtype):
    """Small numbers with ties and zeros, which show orders, signs and rounding, yet stay small through products."""
    d = np.dtype(dtype)
    if d == np.bool_:
        return np.asarray(r.rand(*shape) < 0.5)
    if jnp.issubdtype(d, jnp.complexfloating):
        return np.asarray(r.randn(*shape) + 1j * r.randn(*shape)).astype(d)
    if jnp.issubdtype(d, jnp.floating):
        x = np.asarray(r.randint(-12, 13, shape) / 4.0 if r.rand() < 0.3 else r.randn(*shape))
        return x.astype(d)
    low, high = int(jnp.iinfo(d).min), int(jnp.iinfo(d).max)
    if r.rand() < 0.8:
        low, high = max(low, -5), min(high, 9)
    whole = [low + int(r.randint(0, 2 ** 62)) * 4 % (high - low + 1) if high - low >= 2 ** 31 else low + int(r.randint(0, high - low + 1)) for _ in range(math.prod(shape))]
    return np.array(whole, dtype=object).reshape(shape).astype(d)


def find(draw, pool, good):
    """A random place of the pool whose value is good; None: there is none. Later values are taken more often."""
    fits = [i for i, v in enumerate(pool) if good(v)]
    if not fits:
        return None
    return fits[-1 - min(int(draw.r.exponential(len(fits) / 3 + 0.5)), len(fits) - 1)]


def fresh(draw, shape, dtype):
    """A constant array. Indices and weights are constants as often as they are arguments."""
    return jnp.asarray(draw.array(shape, dtype))


def mate(draw, pool, v, i):
    """Another value of this shape and type: from the pool, or a constant."""
    j = find(draw, pool, lambda u: u.shape == v.shape and u.dtype == v.dtype)
    if j is not None and draw.chance(0.7):
        return j, None
    return i, fresh(draw, v.shape, v.dtype)


def apply_binary(draw, pool, i, f):
    j, c = mate(draw, pool, pool[i], i)
    if c is not None:
        return (lambda x: f(x, c)) if draw.chance(0.5) else (lambda x: f(c, x)), [i]
    return f, [i, j]


# ---- elementwise ----

UNARY = {
    "float": "abs neg sign floor ceil round_even tanh logistic exp exp2 expm1 sin cos tan erf erfc atan asinh square is_finite cbrt sinh cosh integer_pow3 log1p_abs sqrt_abs rsqrt_abs lgamma_abs digamma_abs",
    "int": "abs neg sign bitwise_not clz population_count square integer_pow3", "unsigned": "sign bitwise_not clz population_count square",
    "complex": "abs neg real imag conj exp tanh sin cos square sign log sqrt", "bool": "bitwise_not",
}
SPECIAL = {"round_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), "integer_pow3": lambda x: lax.integer_pow(x, 3),
           "log1p_abs": lambda x: lax.log1p(abs(x)), "sqrt_abs": lambda x: lax.sqrt(abs(x)), "rsqrt_abs": lambda x: lax.rsqrt(abs(x) + x.dtype.type(1)),
           "lgamma_abs": lambda x: lax.lgamma(abs(x) + x.dtype.type(0.5)), "digamma_abs": lambda x: lax.digamma(abs(x) + x.dtype.type(0.5))}


@operator
def unary(draw, pool):
    i = find(draw, pool, lambda v: True)
    name = draw.one(UNARY[kind(pool[i])].split())
    return SPECIAL.get(name) or getattr(lax, name), [i]


@operator
def binary(draw, pool):
    i = find(draw, pool, lambda v: True)
    names = {"float": "add sub mul div max min rem atan2 nextafter pow_abs", "int": "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift",
             "unsigned": "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift", "complex": "add sub mul div", "bool": "bitwise_and bitwise_or bitwise_xor max min"}
    name = draw.one(names[kind(pool[i])].split())
    if name == "pow_abs":
        return apply_binary(draw, pool, i, lambda x, y: lax.pow(abs(x) + x.dtype.type(0.5), y))
    if name == "shift":
        f = draw.one([lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical])
        return apply_binary(draw, pool, i, f)
    return apply_binary(draw, pool, i, getattr(lax, name))


@operator
def compare(draw, pool):
    i = find(draw, pool, lambda v: True)
    names = "eq ne" if kind(pool[i]) == "complex" else "eq ne lt le gt ge"
    return apply_binary(draw, pool, i, getattr(lax, draw.one(names.split())))


@operator
def select(draw, pool):
    i = find(draw, pool, lambda v: True)
    v = pool[i]
    p = find(draw, pool, lambda u: u.dtype == np.bool_ and u.shape in (v.shape, ()))
    if p is None:
        c = jnp.asarray(draw.array(v.shape, bool))
        return apply_binary(draw, pool, i, lambda x, y: lax.select(c, x, y))
    f, at = apply_binary(draw, pool, i, lambda x, y: (x, y))

    def g(q, *xs):
        return lax.select(q, *f(*xs))
    return g, [p] + at


@operator
def select_many(draw, pool):
    i = find(draw, pool, lambda v: True)
    n = draw.between(2, 4)
    which = jnp.asarray(draw.r.randint(0, n, pool[i].shape).astype(np.int32))
    cases = [fresh(draw, pool[i].shape, pool[i].dtype) for _ in range(n - 1)]
    return lambda x: lax.select_n(which, x, *cases), [i]


@operator
def clamp(draw, pool):
    i = find(draw, pool, lambda v: kind(v) in ("float", "int", "unsigned"))
    if i is None:
        return None
    s = draw.one([(), pool[i].shape])
    low, high = np.sort(np.stack([draw.array(s, pool[i].dtype), draw.array(s, pool[i].dtype)]).astype(pool[i].dtype), 0)
    return lambda x: lax.clamp(jnp.asarray(low), x, jnp.asarray(high)), [i]


@operator
def convert(draw, pool):
    i = find(draw, pool, lambda v: True)
    to = draw.one(FLOATS + WHOLE + COMPLEX + ["bool"] + SMALL) if kind(pool[i]) != "complex" else draw.one(COMPLEX)
    return lambda x: lax.convert_element_type(x, to), [i]


@operator
def bitcast(draw, pool):
    i = find(draw, pool, lambda v: kind(v) not in ("complex", "bool") and v.dtype.itemsize >= 1 and str(v.dtype) not in SMALL)
    if i is None:
        return None
    sizes = {1: ["int8", "uint8"], 2: ["int16", "uint16"], 4: ["int32", "uint32"], 8: ["int64", "uint64"]}
    v = pool[i]
    size = v.dtype.itemsize
    near = [n for n in (1, 2, 4, 8) if n <= size or (v.ndim and v.shape[-1] * size == n)]
    to = draw.one(sizes[draw.one(near)])
    return lambda x: lax.bitcast_convert_type(x, to), [i]


@operator
def reduce_precision(draw, pool):
    i = find(draw, pool, lambda v: kind(v) == "float" and str(v.dtype) in FLOATS)
    if i is None:
        return None
    e, m = draw.between(2, 8), draw.between(0, 10)
    return lambda x: lax.reduce_precision(x, e, m), [i]


@operator
def make_complex(draw, pool):
    i = find(draw, pool, lambda v: str(v.dtype) in ("float32", "float64"))
    return None if i is None else apply_binary(draw, pool, i, lax.complex)


# ---- shapes ----

@operator
def transpose(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 1)
    if i is None:
        return None
    perm = draw.order(pool[i].ndim)
    return lambda x: lax.transpose(x, perm), [i]


@operator
def reshape(draw, pool):
    i = find(draw, pool, lambda v: True)
    n, dims = pool[i].size, []
    while n > 1 and len(dims) < 5:
        d = draw.one([d for d in range(1, n + 1) if n % d == 0])
        dims.append(d)
        n //= d
    dims = tuple(dims) + ((n,) if n != 1 else ())
    return lambda x: lax.reshape(x, dims), [i]


@operator
def broadcast_in_dim(draw, pool):
    i = find(draw, pool, lambda v: v.ndim < 4 and v.size < 300)
    if i is None:
        return None
    v, rank = pool[i], draw.between(pool[i].ndim, 5)
    at = tuple(sorted(draw.order(rank)[:v.ndim]))
    to = [draw.between(1, 4) for _ in range(rank)]
    for d, a in zip(v.shape, at):
        to[a] = d if d != 1 else to[a]
    return (lambda x: lax.broadcast_in_dim(x, tuple(to), at)), [i]


@operator
def reverse(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0)
    if i is None:
        return None
    dims = draw.order(pool[i].ndim)[:draw.between(1, pool[i].ndim)]
    return lambda x: lax.rev(x, dims), [i]


@operator
def slice_(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0)
    if i is None:
        return None
    start = [draw.below(d) if d else 0 for d in pool[i].shape]
    end = [draw.between(s, d) for s, d in zip(start, pool[i].shape)] if draw.chance(0.1) else [draw.between(min(s + 1, d), d) for s, d in zip(start, pool[i].shape)]
    step = [draw.one([1, 1, 2, 3]) for _ in start]
    return lambda x: lax.slice(x, start, end, step), [i]


@operator
def concatenate(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0)
    if i is None:
        return None
    v, axis = pool[i], draw.below(pool[i].ndim)
    more = [fresh(draw, v.shape[:axis] + (draw.between(0, 4),) + v.shape[axis + 1:], v.dtype) for _ in range(draw.between(1, 3))]
    at, twice = draw.below(len(more) + 1), draw.chance(0.3)
    return lambda x: lax.concatenate(more[:at] + [x] + more[at:] + [x] * twice, axis), [i]


@operator
def pad(draw, pool):
    i = find(draw, pool, lambda v: True)
    v = pool[i]
    config = []
    for d in v.shape:
        inner = draw.one([0, 0, 1, 2])
        whole = d + max(d - 1, 0) * inner
        low = draw.between(-min(2, whole), 3)
        high = draw.between(max(-2, -(whole + low)), 3)
        config.append((low, high, inner))
    fill = draw.array((), v.dtype)
    return lambda x: lax.pad(x, jnp.asarray(fill), config), [i]


def index_type(draw):
    return draw.one(["int32", "int32", "int64", "uint8", "int8", "uint32", "int16"])


@operator
def dynamic_slice(draw, pool):
    i = find(draw, pool, lambda v: True)
    v = pool[i]
    sizes = [draw.between(min(1, d), d) for d in v.shape]
    t = index_type(draw) if max(v.shape, default=0) < 128 else "int32"  # XLA clamps to what the index's type has of the size
    low = -2 if t[0] != "u" else 0
    start = [jnp.asarray(draw.between(low, d + 2), t) for d in v.shape]
    return lambda x: lax.dynamic_slice(x, start, sizes), [i]


@operator
def dynamic_update_slice(draw, pool):
    i = find(draw, pool, lambda v: True)
    v = pool[i]
    update = fresh(draw, tuple(draw.between(min(1, d), d) for d in v.shape), v.dtype)
    t = index_type(draw) if max(v.shape, default=0) < 128 else "int32"
    start = [jnp.asarray(draw.between(-2 if t[0] != "u" else 0, d + 2), t) for d in v.shape]
    return lambda x: lax.dynamic_update_slice(x, update, start), [i]


# ---- gather and scatter ----

def windows(draw, v, gathers):
    """Dimension numbers and index shape of a gather or scatter of an array of v's shape."""
    rank = v.ndim
    dims = list(draw.order(rank))
    batching = sorted(dims[:draw.below(min(2, rank) + 1)]) if draw.chance(0.3) else []
    rest = [d for d in range(rank) if d not in batching]
    mapped = [d for d in draw.order(rank) if d in rest][:draw.between(0 if not rest else 1, len(rest))] if rest else []
    size = [1 if d in batching else draw.between(1, v.shape[d]) for d in range(rank)]
    gone = sorted(d for d in rest if draw.chance(0.5))
    for d in gone:
        size[d] = 1
    shape = list(draw.shape(0, 2))
    own = []
    for d in batching:  # a dim of the indices runs along with it
        at = draw.below(len(shape) + 1)
        shape.insert(at, v.shape[d])
        own = [o + (o >= at) for o in own] + [at]
    window = [size[d] for d in rest if d not in gone]
    out_rank = len(shape) + len(window)
    offset = tuple(sorted(draw.order(out_rank)[:len(window)]))
    return dict(batching=tuple(batching), own=tuple(own), mapped=tuple(mapped), size=tuple(size), gone=tuple(gone), shape=tuple(shape), window=window, offset=offset, rank=out_rank)


def indices_for(draw, v, w):
    t = index_type(draw)
    limits = [v.shape[d] for d in w["mapped"]]
    wild = draw.chance(0.5)
    low = 0 if t[0] == "u" or not wild else -2
    at = np.stack([draw.r.randint(low, max(n + (2 if wild else 0), 1), w["shape"]) for n in limits], -1) if limits else np.zeros(w["shape"] + (0,))
    if not wild:
        at = np.minimum(at, np.array([v.shape[d] - w["size"][d] for d in w["mapped"]], at.dtype)) if limits else at
    return jnp.asarray(np.asarray(at).astype(t))


@operator
def gather(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size > 0)
    if i is None:
        return None
    v = pool[i]
    w = windows(draw, v, True)
    at = indices_for(draw, v, w)
    numbers = lax.GatherDimensionNumbers(offset_dims=w["offset"], collapsed_slice_dims=w["gone"], start_index_map=w["mapped"], operand_batching_dims=w["batching"],
                                         start_indices_batching_dims=w["own"])
    mode = draw.one(["clip", "fill"])
    return lambda x: lax.gather(x, at, numbers, w["size"], mode=mode), [i]


@operator
def scatter(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size > 0 and kind(v) != "bool" and str(v.dtype) not in SMALL)
    if i is None:
        return None
    v = pool[i]
    w = windows(draw, v, False)
    at = indices_for(draw, v, w)
    shape, window, rest = [0] * w["rank"], list(w["window"]), list(w["shape"])
    for d in range(w["rank"]):
        shape[d] = window.pop(0) if d in w["offset"] else rest.pop(0)
    updates = fresh(draw, tuple(shape), v.dtype)
    numbers = lax.ScatterDimensionNumbers(update_window_dims=w["offset"], inserted_window_dims=w["gone"], scatter_dims_to_operand_dims=w["mapped"],
                                          operand_batching_dims=w["batching"], scatter_indices_batching_dims=w["own"])
    f = draw.one([lax.scatter_add, lax.scatter_mul] + ([lax.scatter_min, lax.scatter_max] if kind(v) != "complex" else []))
    mode = draw.one(["clip", "drop"])
    return lambda x: f(x, at, updates, numbers, mode=mode), [i]


# ---- reductions and windows ----

@operator
def reduce(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0)
    if i is None:
        return None
    v = pool[i]
    axes = draw.order(v.ndim)[:draw.between(1, v.ndim)]
    k = kind(v)
    if k == "bool":
        f = draw.one([lax.reduce_and_p, lax.reduce_or_p])
        return lambda x: f.bind(x, axes=tuple(sorted(axes)), **({"out_sharding": None} if "out_sharding" in str(f) else {})), [i]
    fs = [jnp.sum, jnp.prod] + ([jnp.max, jnp.min] if k != "complex" and v.size else [])
    f = draw.one(fs)
    return lambda x: f(x, axis=axes).astype(x.dtype), [i]


@operator
def reduce_pairs(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and kind(v) in ("float", "int", "unsigned") and str(v.dtype) not in SMALL and v.size)
    if i is None:
        return None
    v = pool[i]
    axes = tuple(sorted(draw.order(v.ndim)[:draw.between(1, v.ndim)]))

    def f(x):
        n = lax.iota(np.int32, x.size).reshape(x.shape)
        low = -jnp.inf if kind(v) == "float" else jnp.iinfo(v.dtype).min

        def larger(a, b):
            take = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
            return jnp.where(take, a[0], b[0]), jnp.where(take, a[1], b[1])
        return lax.reduce((x, n), (jnp.asarray(low, v.dtype), jnp.int32(2 ** 31 - 1)), larger, axes)
    return f, [i]


@operator
def arg_extreme(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size > 0 and kind(v) in ("float", "int", "unsigned", "bool"))
    if i is None:
        return None
    axis, t = draw.below(pool[i].ndim), draw.one(["int32", "int64", "uint8"])
    f = draw.one([lax.argmax, lax.argmin])
    return lambda x: f(x, axis, np.dtype(t)), [i]


def window_of(draw, v):
    dims = tuple(draw.between(1, max(1, min(3, d))) for d in v.shape)
    strides = tuple(draw.one([1, 1, 2, 3]) for _ in dims)
    base = tuple(draw.one([1, 1, 1, 2]) for _ in dims)
    dilation = tuple(draw.one([1, 1, 2]) for _ in dims)
    padding = tuple((draw.between(0, 2), draw.between(0, 2)) for _ in dims) if draw.chance(0.9) else tuple((draw.between(-1, 2), draw.between(-1, 2)) for _ in dims)
    return dims, strides, padding, base, dilation


@operator
def reduce_window(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size and kind(v) != "complex" and str(v.dtype) not in SMALL)
    if i is None:
        return None
    v = pool[i]
    dims, strides, padding, base, dilation = window_of(draw, v)
    k = kind(v)
    name = draw.one(["or", "and"] if k == "bool" else ["add", "max", "min", "mul"])
    low = {"float": -np.inf, "int": None, "unsigned": None, "bool": None}[k]
    if k in ("int", "unsigned"):
        low, high = int(jnp.iinfo(v.dtype).min), int(jnp.iinfo(v.dtype).max)
    else:
        high = np.inf
    start = {"add": 0, "mul": 1, "max": low, "min": high, "or": False, "and": True}[name]
    f = {"add": lax.add, "mul": lax.mul, "max": lax.max, "min": lax.min, "or": lax.bitwise_or, "and": lax.bitwise_and}[name]
    return lambda x: lax.reduce_window(x, np.asarray(start, v.dtype), f, dims, strides, padding, base, dilation), [i]


@operator
def select_and_scatter(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size and str(v.dtype) in ("float32", "float64", "bfloat16"))
    if i is None:
        return None
    v = pool[i]
    dims, strides, padding, _, _ = window_of(draw, v)
    ones = (1,) * v.ndim
    padding = tuple((min(max(a, 0), d - 1), min(max(b, 0), d - 1)) for (a, b), d in zip(padding, dims))
    f, start = draw.one([(lax.max, -np.inf), (lax.min, np.inf)])

    def g(x):
        y, back = jax.vjp(lambda t: lax.reduce_window(t, np.asarray(start, v.dtype), f, dims, strides, padding, ones, ones), x)
        return back(jnp.ones_like(y) + y)[0]
    return g, [i]


@operator
def cumulative(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size and kind(v) in ("float", "int", "unsigned") and str(v.dtype) not in SMALL)
    if i is None:
        return None
    f, axis, back = draw.one([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp]), draw.below(pool[i].ndim), draw.chance(0.4)
    if f is lax.cumlogsumexp and str(pool[i].dtype) not in ("float32", "float64"):
        f = lax.cumsum
    return lambda x: f(x, axis, back), [i]


@operator
def sort(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and str(v.dtype) not in SMALL and kind(v) != "complex")
    if i is None:
        return None
    axis, keys = draw.below(pool[i].ndim), draw.between(1, 2)
    if draw.chance(0.4):
        return lambda x: lax.sort(x, dimension=axis), [i]
    tag = fresh(draw, pool[i].shape, draw.one(FLOATS + WHOLE))
    n = jnp.arange(pool[i].size, dtype=jnp.int32).reshape(pool[i].shape)
    return lambda x: lax.sort((x, tag, n), dimension=axis, num_keys=keys, is_stable=True), [i]


@operator
def top_k(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.shape[-1] > 0 and kind(v) in ("float", "int", "unsigned") and str(v.dtype) not in SMALL)
    if i is None:
        return None
    k = draw.between(1, pool[i].shape[-1])
    return lambda x: lax.top_k(x, k), [i]


# ---- products ----

def few_bits(v):
    return str(v.dtype) in SMALL


@operator
def dot_general(draw, pool):
    i = find(draw, pool, lambda v: kind(v) != "bool" and not few_bits(v))
    v = None if i is None else pool[i]
    if i is None:
        return None
    dims = list(draw.order(v.ndim))
    b = dims[:draw.below(min(2, v.ndim) + 1)]
    c = dims[len(b):len(b) + draw.below(3)]
    other = [(v.shape[d], "b%d" % k) for k, d in enumerate(b)] + [(v.shape[d], "c%d" % k) for k, d in enumerate(c)] + [(n, "") for n in draw.shape(0, 2)]
    other = [other[k] for k in draw.order(len(other))]
    place = {n: k for k, (_, n) in enumerate(other)}
    w = fresh(draw, tuple(d for d, _ in other), v.dtype)
    numbers = ((tuple(c), tuple(place["c%d" % k] for k in range(len(c)))), (tuple(b), tuple(place["b%d" % k] for k in range(len(b)))))
    back = ((numbers[0][1], numbers[0][0]), (numbers[1][1], numbers[1][0]))
    to = draw.one([None, None, np.float32 if kind(v) == "float" and v.dtype.itemsize < 4 else None, np.int32 if kind(v) == "int" and v.dtype.itemsize < 4 else None])
    if draw.chance(0.5):
        return lambda x: lax.dot_general(x, w, numbers, preferred_element_type=to), [i]
    return lambda x: lax.dot_general(w, x, back, preferred_element_type=to), [i]


@operator
def convolution(draw, pool):
    i = find(draw, pool, lambda v: 2 <= v.ndim <= 5 and v.size and kind(v) in ("float", "complex", "int") and not few_bits(v))
    if i is None:
        return None
    v = pool[i]
    places = draw.order(v.ndim)
    n, c, spatial = v.shape[places[0]], v.shape[places[1]], [v.shape[p] for p in places[2:]]
    groups = draw.one([g for g in range(1, c + 1) if c % g == 0])
    batch_groups = draw.one([g for g in range(1, n + 1) if n % g == 0]) if groups == 1 and draw.chance(0.3) else 1
    out = groups * batch_groups * draw.between(1, 3)
    sizes = [draw.between(1, min(3, d + 1)) for d in spatial]
    w_places = draw.order(v.ndim)
    shape = [0] * v.ndim
    for p, d in zip(w_places, [out, c // groups] + sizes):
        shape[p] = d
    w = fresh(draw, tuple(shape), v.dtype)
    letters = ["N", "C"] + list("0123")[:len(spatial)]
    spell = lambda at, first: "".join(dict(zip(at, [first[0], first[1]] + letters[2:]))[k] for k in range(v.ndim))  # noqa: E731
    names = (spell(places, "NC"), spell(w_places, "OI"), spell(draw.order(v.ndim), "NC"))
    padding = [(draw.between(-1 if draw.chance(0.2) else 0, 3), draw.between(0, 3)) for _ in spatial]
    strides, lhs, rhs = ([draw.one([1, 1, 2, 3]) for _ in spatial] for _ in range(3))
    turned = tuple(draw.chance(0.5) for _ in spatial) if draw.chance(0.2) else None
    to = np.float32 if kind(v) == "float" and v.dtype.itemsize == 2 and draw.chance(0.3) else None
    numbers = lax.conv_dimension_numbers(v.shape, w.shape, names)

    def f(x):
        if turned is None:
            return lax.conv_general_dilated(x, w, strides, padding, lhs, rhs, numbers, groups, batch_groups, preferred_element_type=to)
        return lax.conv_general_dilated(x, lax.rev(w, [numbers.rhs_spec[2 + k] for k, t in enumerate(turned) if t]), strides, padding, lhs, rhs, numbers, groups, batch_groups)
    return f, [i]


@operator
def fourier(draw, pool):
    i = find(draw, pool, lambda v: v.ndim > 0 and v.size and str(v.dtype) in ("float32", "float64", "complex64", "complex128"))
    if i is None:
        return None
    v = pool[i]
    n = draw.between(1, min(3, v.ndim))
    lengths = v.shape[-n:]
    if kind(v) == "float":
        return lambda x: lax.fft(x, lax.FftType.RFFT, lengths), [i]
    if draw.chance(0.3):
        back = lengths[:-1] + (draw.one([2 * lengths[-1] - 2, 2 * lengths[-1] - 1]) or 1,)
        return lambda x: lax.fft(x, lax.FftType.IRFFT, back), [i]
    f = draw.one([lax.FftType.FFT, lax.FftType.IFFT])
    return lambda x: lax.fft(x, f, lengths), [i]


# ---- control flow: bodies are chains of the operators above ----

BODY = ["unary", "binary", "compare", "select", "convert", "transpose", "reverse", "broadcast_in_dim", "slice_", "pad", "gather", "reduce", "dot_general", "cumulative", "dynamic_slice"]


def chain(draw, v, count, back=False):
    """A function of one value by several operators; back: of the type and shape that it takes."""
    pool, steps = [v], []
    for _ in range(count):
        made = OPERATORS[draw.one(BODY)](draw, pool)
        if made is None:
            continue
        f, at = made
        out = jax.eval_shape(f, *[pool[k] for k in at])
        if isinstance(out, (tuple, list)) or out.size > MOST:
            continue
        steps.append((f, at))
        pool.append(out)

    def run(x):
        have = [x]
        for f, at in steps:
            have.append(f(*[have[k] for k in at]))
        y = have[-1]
        if not back:
            return y
        y = jnp.ravel(y)
        y = jnp.real(y) if jnp.iscomplexobj(y) and not jnp.iscomplexobj(x) else y
        y = jnp.resize(y.astype(x.dtype), x.shape) if y.size else jnp.zeros(x.shape, x.dtype)
        return jnp.where(jnp.isfinite(y), jnp.clip(y, -4, 4), 0).astype(x.dtype) if kind(v) == "float" else y
    return run


def carried(v):
    return v.size > 0 and v.size <= 256 and str(v.dtype) not in SMALL


@operator
def fori(draw, pool):
    i = find(draw, pool, carried)
    if i is None:
        return None
    body, n = chain(draw, pool[i], draw.between(1, 3), True), draw.between(0, 4)
    return (lambda x: lax.fori_loop(0, n, lambda k, y: body(y), x)), [i]


@operator
def while_counted(draw, pool):
    """The number of trips is known only when it runs."""
    i = find(draw, pool, carried)
    j = find(draw, pool, lambda v: kind(v) in ("int", "unsigned", "bool") and v.size > 0)
    if i is None or j is None:
        return None
    body = chain(draw, pool[i], draw.between(1, 3), True)

    def f(x, n):
        trips = jnp.ravel(n)[0].astype(jnp.int32) & 3
        return lax.while_loop(lambda s: s[0] < trips, lambda s: (s[0] + 1, body(s[1])), (jnp.int32(0), x))[1]
    return f, [i, j]


@operator
def while_several(draw, pool):
    """States that a trip exchanges, repeats and combines."""
    i = find(draw, pool, carried)
    if i is None:
        return None
    n, trips = draw.between(2, 4), draw.one([0, 1, 2, 3, 5])
    begin = [draw.one([lambda x: x, lambda x: -x if kind(x) != "bool" else ~x, jnp.zeros_like]) for _ in range(n)]
    chains = [chain(draw, pool[i], draw.between(0, 2), True) for _ in range(2)]
    made = [(draw.below(n), draw.below(2)) for _ in range(2)]
    given = [draw.below(n + 2) for _ in range(n)]

    def body(s):
        have = list(s[1:]) + [chains[k](s[1 + j]) for j, k in made]
        return (s[0] + 1,) + tuple(have[k] for k in given)

    def f(x):
        return lax.while_loop(lambda s: s[0] < trips, body, (jnp.int32(0),) + tuple(b(x) for b in begin))[1:]
    return f, [i]


@operator
def scan(draw, pool):
    i = find(draw, pool, carried)
    j = find(draw, pool, lambda v: v.ndim > 0 and 0 < v.size <= 512)
    if i is None or j is None:
        return None
    body, row = chain(draw, pool[i], draw.between(1, 2), True), chain(draw, jax.ShapeDtypeStruct(pool[j].shape[1:], pool[j].dtype), draw.between(1, 2))
    back = draw.chance(0.3)

    def step(c, x):
        c = body(c)
        return c, (row(x), c)
    return lambda x, xs: lax.scan(step, x, xs, reverse=back), [i, j]


@operator
def cond(draw, pool):
    i = find(draw, pool, carried)
    j = find(draw, pool, lambda v: kind(v) in ("int", "unsigned", "bool") and v.size > 0)
    if i is None or j is None:
        return None
    branches = [chain(draw, pool[i], draw.between(0, 2), True) for _ in range(draw.between(2, 3))]
    return lambda x, n: lax.switch(jnp.ravel(n)[0].astype(jnp.int32), branches, x), [i, j]


@operator
def mapped(draw, pool):
    """vmap of a chain."""
    i = find(draw, pool, lambda v: v.ndim > 0 and v.shape[0] > 0 and v.size)
    if i is None:
        return None
    f = chain(draw, jax.ShapeDtypeStruct(pool[i].shape[1:], pool[i].dtype), draw.between(1, 3))
    return jax.vmap(f), [i]


@operator
def gradient(draw, pool):
    i = find(draw, pool, lambda v: str(v.dtype) in ("float32", "float64") and 0 < v.size <= 512)
    if i is None:
        return None
    f = chain(draw, pool[i], draw.between(1, 3))
    out = jax.eval_shape(f, pool[i])
    if kind(out) != "float":
        return None
    return lambda x: jax.grad(lambda t: jnp.sum(f(t).astype(jnp.float32)))(x), [i]
