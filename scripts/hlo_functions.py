"""JAX functions and their gradients for scripts/bench_hlo --functions: PROGRAMS maps a name to a function that gives
(f, arguments), as hlo_programs has them. What nobody wrote as a whole program, one function each: a list to find what is
far slower than XLA."""
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy
from jax import lax

PROGRAMS = {}
RANDOM = numpy.random.default_rng(0)
WIDE = (512, 1024)


def real(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def positive(*shape):
    return numpy.abs(real(*shape)) + numpy.float32(0.1)


def unit(*shape):
    return RANDOM.random(shape, dtype=numpy.float32)


def whole(most, *shape):
    return RANDOM.integers(0, most, shape).astype(numpy.int32)


def truth(*shape):
    return RANDOM.integers(0, 2, shape).astype(bool)


def both(*shape):
    return (real(*shape) + 1j * real(*shape)).astype(numpy.complex64)


def add(name, f, *makers):
    """makers: functions that make an argument each, so that nothing is drawn for what is not run."""
    PROGRAMS[name] = lambda: (f, tuple(make() for make in makers))


def of(make, *shape):
    return lambda: make(*shape)


def gradient(name, f, *makers):
    """The gradient of f, by all arguments, for a random one of its result."""
    def pulled(*values):
        return jax.vjp(f, *values[:-1])[1](values[-1])

    def make():
        arguments = tuple(m() for m in makers)
        return pulled, arguments + (real(*jax.eval_shape(f, *arguments).shape),)
    PROGRAMS["grad_" + name] = make


# ---- elementwise ----

for _name in ("sin cos tan arcsinh exp expm1 floor rint cbrt square reciprocal sinc nan_to_num isnan signbit").split():
    add(_name, getattr(jnp, _name), of(real, *WIDE))
for _name in "log log2 log1p sqrt arccosh".split():
    add(_name, getattr(jnp, _name), lambda: positive(*WIDE) + 1)
for _name in ("add divide power arctan2 hypot maximum fmod floor_divide copysign nextafter logaddexp heaviside").split():
    add(_name, getattr(jnp, _name), of(positive, *WIDE), of(positive, *WIDE))
for _name in "add multiply floor_divide remainder bitwise_and left_shift maximum gcd".split():
    add("int_" + _name, getattr(jnp, _name), lambda: whole(100, *WIDE) + 1, lambda: whole(20, *WIDE) + 1)
add("int_population_count", lax.population_count, of(whole, 1000000, *WIDE))
add("complex_multiply", jnp.multiply, of(both, *WIDE), of(both, *WIDE))
add("complex_abs", jnp.abs, of(both, *WIDE))
add("complex_exp", jnp.exp, of(both, *WIDE))
add("where", jnp.where, of(truth, *WIDE), of(real, *WIDE), of(real, *WIDE))
add("to_bytes", lambda x: (x * 255).astype(jnp.uint8), of(unit, *WIDE))
add("from_bytes", lambda x: x.astype(jnp.float32) / 255, lambda: whole(255, *WIDE).astype(numpy.uint8))
ACTIVATIONS = ("relu sigmoid softplus silu gelu elu selu celu leaky_relu hard_tanh hard_swish relu6 soft_sign log_sigmoid mish "
               "squareplus glu softmax log_softmax standardize logsumexp").split()
for _name in ACTIVATIONS:
    add("nn_" + _name, getattr(jax.nn, _name), of(real, *WIDE))
    gradient("nn_" + _name, getattr(jax.nn, _name), of(real, *WIDE))
for _name in "erf erfc digamma gammaln i0 i0e i1 ndtr log_ndtr xlog1py entr".split():
    if _name == "xlog1py":
        add("special_" + _name, jsp.special.xlog1py, of(positive, 128, 512), of(positive, 128, 512))
    else:
        add("special_" + _name, getattr(jsp.special, _name), of(positive, 128, 512))
for _name in "erfinv ndtri logit".split():
    add("special_" + _name, getattr(jsp.special, _name), lambda: unit(128, 512) * 0.98 + 0.01)
add("special_gammainc", jsp.special.gammainc, of(positive, 64, 128), of(positive, 64, 128))
add("special_betainc", jsp.special.betainc, of(positive, 64, 128), of(positive, 64, 128), of(unit, 64, 128))

# ---- reductions ----

for _name in "sum mean max prod var std median ptp nanmax".split():
    for _axis in (0, 1, None):
        add("%s_%s" % (_name, _axis), lambda x, f=getattr(jnp, _name), a=_axis: f(x, axis=a), of(real, *WIDE))
for _name in "sum max argmax cumsum".split():
    add("int_%s_1" % _name, lambda x, f=getattr(jnp, _name): f(x, 1), of(whole, 100, *WIDE))
for _name, _axis in (("any", 1), ("all", 0), ("sum", 1)):
    add("bool_%s_%d" % (_name, _axis), lambda x, f=getattr(jnp, _name), a=_axis: f(x, a), of(truth, *WIDE))
add("bytes_sum", lambda x: jnp.sum(x.astype(jnp.int32), 1), lambda: whole(255, *WIDE).astype(numpy.uint8))
add("count_nonzero", lambda x: jnp.count_nonzero(x > 0), of(real, *WIDE))
add("cumsum_1", lambda x: jnp.cumsum(x, 1), of(real, *WIDE))
add("cumprod_0", lambda x: jnp.cumprod(x, 0), of(real, *WIDE))
add("window_sum_7", lambda x: lax.reduce_window(x, 0., lax.add, (1, 7), (1, 1), "SAME"), of(real, *WIDE))
add("window_min_3", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 3), (1, 1), "VALID"), of(real, *WIDE))
gradient("max_1", lambda x: x.max(1), of(real, *WIDE))
gradient("var_1", lambda x: x.var(1), of(real, *WIDE))

# ---- parts and moves ----

add("diff", jnp.diff, of(real, *WIDE))
add("roll", lambda x: jnp.roll(x, 5, 1), of(real, *WIDE))
add("flip", lambda x: jnp.flip(x, 1), of(real, *WIDE))
add("rot90", jnp.rot90, of(real, *WIDE))
add("repeat", lambda x: jnp.repeat(x, 3, 1), of(real, 256, 512))
add("even_and_odd", lambda x: x[:, ::2] + x[:, 1::2], of(real, *WIDE))
add("shifted", lambda x: x[1:, 1:] - x[:-1, :-1], of(real, *WIDE))
add("tril", jnp.tril, of(real, *WIDE))
for _name in "edge reflect wrap".split():
    add("pad_" + _name, lambda x, mode=_name: jnp.pad(x, 3, mode=mode), of(real, *WIDE))
add("stack_last", lambda x, y: jnp.stack([x, y], -1), of(real, *WIDE), of(real, *WIDE))
add("split_4", lambda x: [y * 2 for y in jnp.split(x, 4, 1)], of(real, *WIDE))
add("heads", lambda x: jnp.transpose(x, (0, 2, 1, 3)), of(real, 8, 64, 12, 64))
add("resize_nearest", lambda x: jax.image.resize(x, (1, 128, 128, 16), "nearest"), of(real, 1, 64, 64, 16))
add("resize_bilinear", lambda x: jax.image.resize(x, (1, 128, 128, 16), "bilinear"), of(real, 1, 64, 64, 16))
gradient("shifted", lambda x: x[:, 1:] * x[:, :-1], of(real, *WIDE))
gradient("concatenate", lambda x, y: jnp.concatenate([x * 2, y * 3], 1), of(real, *WIDE), of(real, *WIDE))
gradient("split_4", lambda x: sum(y * k for k, y in enumerate(jnp.split(x, 4, 1))), of(real, *WIDE))

# ---- indices ----

add("take_rows", lambda x, i: jnp.take(x, i, 0), of(real, *WIDE), of(whole, 512, 300))
add("take_flat", lambda x, i: jnp.take(x.ravel(), i), of(real, *WIDE), of(whole, 500000, 100000))
add("index_pairs", lambda x, i, j: x[i, j], of(real, *WIDE), of(whole, 512, 50000), of(whole, 1024, 50000))
for _name in "add max multiply".split():
    add("at_" + _name, lambda x, i, y, f=_name: getattr(x.at[i], f)(y), of(real, 10000), of(whole, 10000, 50000), of(real, 50000))
add("segment_max", lambda x, i: jax.ops.segment_max(x, i, 100), of(real, 10000, 16), of(whole, 100, 10000))
add("bincount", lambda i: jnp.bincount(i, length=1000), of(whole, 1000, 100000))
add("sort_1", lambda x: jnp.sort(x, 1), of(real, *WIDE))
add("top_k", lambda x: lax.top_k(x, 5), of(real, 512, 1000))
add("searchsorted", lambda x, y: jnp.searchsorted(jnp.sort(x), y), of(real, 1000), of(real, 20000))
add("interp", lambda x: jnp.interp(x, jnp.linspace(-2, 2, 50), jnp.sin(jnp.linspace(0, 6, 50))), of(real, 50000))

# ---- products ----

add("int_product", jnp.matmul, of(whole, 100, 256, 256), of(whole, 100, 256, 256))
add("complex_product", jnp.matmul, of(both, 128, 128), of(both, 128, 128))
add("small_products", jnp.matmul, of(real, 4096, 4, 4), of(real, 4096, 4, 4))
add("matrix_by_vector", jnp.matmul, of(real, 1024, 1024), of(real, 1024))
add("distances", lambda x, y: jnp.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)), of(real, 256, 32), of(real, 256, 32))
add("cross", jnp.cross, of(real, 50000, 3), of(real, 50000, 3))
add("intersections", lambda c: jnp.clip(jnp.minimum(c[:, None, 2:], c[None, :, 2:]) -
                                        jnp.maximum(c[:, None, :2], c[None, :, :2]), 0).prod(-1), of(unit, 256, 4))
for _name in "inv qr svd det".split():
    add("linalg_" + _name, getattr(jnp.linalg, _name), of(real, 128, 128))
add("linalg_solve", jnp.linalg.solve, of(real, 128, 128), of(real, 128, 16))
add("linalg_cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + 128 * jnp.eye(128)), of(real, 128, 128))
add("linalg_inv_3", jnp.linalg.inv, of(real, 1000, 3, 3))
add("linalg_expm", jsp.linalg.expm, lambda: real(32, 32) * 0.1)

# ---- random numbers ----

for _name, _f in {"normal": lambda k: jax.random.normal(k, (256, 512)), "gamma": lambda k: jax.random.gamma(k, 2., (5000,)),
                  "poisson": lambda k: jax.random.poisson(k, 3., (5000,)),
                  "permutation": lambda k: jax.random.permutation(k, 5000),
                  "categorical": lambda k: jax.random.categorical(k, jnp.zeros((256, 512)), axis=1)}.items():
    add("random_" + _name, lambda s, f=_f: f(jax.random.wrap_key_data(s)), lambda: numpy.array([1, 2], numpy.uint32))

# ---- layers ----


def convolution(x, k, strides=(1, 1), **more):
    return lax.conv_general_dilated(x, k, strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)


def group_norm(x):
    y = x.reshape(4, 784, 8, 8)
    return ((y - y.mean((1, 3), keepdims=True)) / jnp.sqrt(y.var((1, 3), keepdims=True) + 1e-5)).reshape(x.shape)


def batch_norm(x, g, c):
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * g + c


def rotary(x, c, s):
    a, b = x[..., :32], x[..., 32:]
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def attend(q, k, v):
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8), v)


LAYERS = {
    "conv_1x1": (convolution, of(real, 4, 28, 28, 64), of(real, 1, 1, 64, 64)),
    "conv_stride_2": (lambda x, k: convolution(x, k, (2, 2)), of(real, 2, 28, 28, 32), of(real, 3, 3, 32, 64)),
    "conv_depthwise": (lambda x, k: convolution(x, k, feature_group_count=32), of(real, 2, 28, 28, 32), of(real, 3, 3, 1, 32)),
    "conv_stem": (lambda x, k: convolution(x, k, (2, 2)), of(real, 2, 64, 64, 3), of(real, 7, 7, 3, 32)),
    "group_norm": (group_norm, of(real, 4, 28, 28, 64)),
    "batch_norm": (batch_norm, of(real, 8, 28, 28, 64), of(real, 64), of(real, 64)),
    "rms_norm": (lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g, of(real, *WIDE), of(real, 1024)),
    "average_pool": (lambda x: lax.reduce_window(x, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4,
                     of(real, 2, 56, 56, 32)),
    "rotary": (rotary, of(real, 2, 128, 8, 64), of(real, 128, 1, 32), of(real, 128, 1, 32)),
    "attention": (attend, of(real, 2, 64, 4, 64), of(real, 2, 64, 4, 64), of(real, 2, 64, 4, 64)),
    "clip_squared": (lambda x: jnp.clip(x, -1, 1) ** 2, of(real, *WIDE)),
    "extremes": (lambda x, y: jnp.maximum(x, y) * jnp.minimum(x, y), of(real, *WIDE), of(real, *WIDE)),
    "huber": (lambda x: jnp.where(jnp.abs(x) < 1, .5 * x ** 2, jnp.abs(x) - .5), of(real, *WIDE)),
}
for _name, _row in LAYERS.items():
    add("layer_" + _name, *_row)
    gradient("layer_" + _name, *_row)

# ---- loops ----

add("jacobi", lambda x: lax.fori_loop(0, 20, lambda k, x: x.at[1:-1, 1:-1].set(
    (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * .25), x), of(real, 256, 256))
add("life", lambda x: (lambda n: ((n == 3) | ((n == 2) & (x == 1))).astype(jnp.int32))(
    sum(jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))), of(whole, 2, 512, 512))
add("n_body", lambda q: (lambda d: (d / ((d * d).sum(-1, keepdims=True) + .01) ** 1.5).sum(1))(q[None] - q[:, None]),
    of(real, 256, 3))
add("viterbi", lambda t, e: lax.scan(lambda s, x: ((s[:, None] + t).max(0) + x, (s[:, None] + t).argmax(0)), e[0], e[1:]),
    of(real, 32, 32), of(real, 100, 32))
