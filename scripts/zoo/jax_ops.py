"""JAX programs by operator and element type."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import Table

table = Table()
rng = np.random.default_rng(0)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def pos(*shape):
    return (rng.random(shape) + 0.1).astype(np.float32)


def unit(*shape):
    return (rng.random(shape) * 1.8 - 0.9).astype(np.float32)


def ints(*shape, low=-50, high=50, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def cplx(*shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


# ---- element types: the same arithmetic in each ----

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SMALL = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4",
         "float8_e8m0fnu", "float4_e2m1fn"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def cast(x, d):
    return jnp.asarray(x).astype(d)


for d in FLOATS:
    table("float_" + d, lambda d=d: (lambda x, y: (jnp.tanh(x) * y + jnp.exp(-x * x), x @ y.T, jnp.sum(x, 0), jnp.max(y, 1),
                                                   x > y, jnp.where(x > 0, x, y), jnp.sort(x, -1), jnp.floor(x) + jnp.sign(y)),
                                     (cast(f32(5, 7), d), cast(f32(5, 7), d))), x64=d == "float64")
    table("float_functions_" + d, lambda d=d: (
        lambda x, p: [g(x) for g in (jnp.sin, jnp.cos, jnp.tan, jnp.arctan, jnp.sinh, jnp.cosh, jnp.arcsinh, jnp.expm1, jnp.cbrt, jnp.exp2,
                                     jax.nn.sigmoid, jax.nn.softplus, jax.nn.gelu, jax.nn.silu, jnp.round, jnp.ceil, jnp.trunc,
                                     jnp.square, jnp.isfinite, lax.erf, lax.erfc, lax.logistic, jnp.sinc)] +
        [g(p) for g in (jnp.log, jnp.log1p, jnp.log2, jnp.sqrt, lax.rsqrt, jnp.arccosh, jnp.reciprocal, lax.lgamma, lax.digamma)],
        (cast(f32(11), d), cast(pos(11) + 1, d))), x64=d == "float64", tol=2e-2 if d == "float16" else None)
for d in SMALL:
    table("small_" + d, lambda d=d: (lambda x: (x.astype("float32") * 2, (x.astype("float32") + 1).astype(d), jnp.reshape(x, (7, 3)),
                                                x[1:, ::2]) + (() if d[5] == "4" else (jnp.concatenate([x, x], 0),)), (cast(pos(3, 7) * 3, d),)))
for d in ["float8_e4m3fn", "float8_e5m2"]:
    table("dot_" + d, lambda d=d: (lambda x, y: lax.dot(x, y, preferred_element_type="float32"), (cast(f32(5, 8), d), cast(f32(8, 6), d))),
          tol=1e-4)
for d in INTS:
    table("integer_" + d, lambda d=d: (
        lambda x, y: (x + y, x - y, x * y, x // (y | 1), x % (y | 1), lax.div(x, y | 1), lax.rem(x, y | 1), x & y, x | y, x ^ y, ~x, x << 2, x >> 1,
                      lax.shift_right_logical(x, jnp.asarray(1, d)), lax.population_count(x), lax.clz(x), jnp.minimum(x, y), jnp.maximum(x, y),
                      jnp.sum(x), jnp.prod(y[:, :3], 1), jnp.cumsum(x, 1), jnp.sort(x, 0), jnp.argmax(x, 1), x.astype("float32"),
                      jnp.clip(x, 3, 40), x == y, x < y, jnp.abs(x), jnp.sign(x), x @ y.T, jnp.bitwise_count(x), jnp.gcd(x, y), jnp.power(x, 3)),
        (ints(4, 6, low=0 if d[0] == "u" else -90, high=100, dtype=d), ints(4, 6, low=1, high=60, dtype=d))), x64="64" in d)
for d in ["int4", "uint4"]:
    table("integer_" + d, lambda d=d: (lambda x, y: (x.astype("int8") * 2, (y.astype("int32") + 1).astype(d), x.T,
                                                     x[0], x.astype("float32") @ y.astype("float32").T),
                                       (cast(ints(3, 5, low=0, high=2), d), cast(ints(3, 5, low=0, high=2), d))))
table("bool_logic", lambda: (lambda a, b: (a & b, a | b, a ^ b, ~a, jnp.any(a, 0), jnp.all(b, 1), jnp.sum(a), jnp.argmax(a, 1),
                                           a.astype("float32"), jnp.cumsum(a, 1), jnp.where(a, 1, b)), (f32(4, 5) > 0, f32(4, 5) > 0)))
for d in ["complex64", "complex128"]:
    table("complex_" + d, lambda d=d: (
        lambda x, y: (x * y, x / y, jnp.abs(x), jnp.angle(x), jnp.conj(x), x.real, x.imag, jnp.exp(x), jnp.log(x), jnp.sqrt(x), x @ y.T,
                      jnp.sin(x), jnp.cos(y), jnp.tanh(x), x ** 2, x ** y, jnp.sum(x, 0), jnp.prod(y, 1), jnp.cumsum(x, 0), lax.rsqrt(x),
                      jnp.expm1(x), jnp.log1p(y), jnp.isfinite(x), x == y, jnp.where(x.real > 0, x, y), jnp.sign(x), jnp.tan(y), jnp.linalg.norm(x)),
        (cast(cplx(3, 4), d), cast(cplx(3, 4), d))), x64=d == "complex128")
table("mixed_types", lambda: (lambda i, h, b, f: (i * f, h + f, b * i, (h * 3).astype("int32"), f.astype("bfloat16") + b, i / 3),
                              (ints(6), f32(6).astype(np.float16), f32(6) > 0, f32(6))))
table("bitcasts", lambda: (lambda x, i, c: (lax.bitcast_convert_type(x, "int32"), lax.bitcast_convert_type(i, "float32"),
                                            lax.bitcast_convert_type(x, "uint8"), lax.bitcast_convert_type(c.reshape(3, 4), "int32"),
                                            x.view("int16")), (f32(3, 4), ints(5, low=1, high=2**30), ints(12, dtype=np.int8))))
table("nextafter_and_parts", lambda: (lambda x, y: (jnp.nextafter(x, y), jnp.frexp(x), jnp.ldexp(x, 3), jnp.modf(x), jnp.copysign(x, y),
                                                    jnp.fmod(x, y), jnp.remainder(x, y), jnp.hypot(x, y), jnp.arctan2(x, y), jnp.signbit(x),
                                                    lax.reduce_precision(x, 5, 7), jnp.nan_to_num(x / (y - y)), jnp.float_power(jnp.abs(x), y)),
                                      (f32(9), f32(9))))
table("special_functions", lambda: (lambda x, p: (
    jax.scipy.special.erfinv(x), jax.scipy.special.i0(x), jax.scipy.special.i0e(x), jax.scipy.special.i1(x), jax.scipy.special.i1e(x),
    jax.scipy.special.gammaln(p), jax.scipy.special.digamma(p), jax.scipy.special.polygamma(1, p), jax.scipy.special.zeta(p + 1.5, p),
    jax.scipy.special.betainc(p, p + 1, jnp.abs(x)), jax.scipy.special.gammainc(p, p + 0.5), jax.scipy.special.gammaincc(p, p + 0.5),
    jax.scipy.special.xlogy(p, p), jax.scipy.special.entr(p), jax.scipy.special.logit(jnp.abs(x)), jax.scipy.special.ndtr(x),
    jax.scipy.special.ndtri(jnp.abs(x)), jax.scipy.special.log_ndtr(x), jax.scipy.special.beta(p, p), jax.scipy.special.expi(p),
    jax.scipy.special.expit(x), jax.scipy.special.kl_div(p, p + 1), jax.scipy.special.rel_entr(p, p + 1)), (unit(8), pos(8))), tol=1e-3)
table("special_gradients", lambda: (jax.vmap(jax.grad(lambda x: lax.lgamma(x) + lax.digamma(x) + lax.erf_inv(x / 10) + lax.igamma(x, 2 * x))), (pos(6) + 1,)), tol=1e-3)

# ---- moving data ----

table("slicing", lambda: (lambda x: (x[1:, ::2], x[::-1], x[..., None], x[:, -3:], lax.dynamic_slice(x, (1, 2), (2, 3)),
                                     lax.dynamic_update_slice(x, x[:2, :2] * 0, (1, 1)), lax.slice(x, (0, 1), (4, 6), (2, 2)),
                                     lax.dynamic_index_in_dim(x, 2, 1)), (f32(4, 7),)))
table("dynamic_slices_by_input", lambda: (lambda x, i, j: (lax.dynamic_slice(x, (i, j), (2, 3)), lax.dynamic_update_slice(x, jnp.ones((2, 2)), (j, i)),
                                                           x[i], x[:, j], x[i, j]), (f32(4, 7), np.int32(9), np.int32(-1))))
table("indexing", lambda: (lambda x, i, m: (x[i], x[:, i], x[i, i], jnp.take(x, i, axis=1), jnp.take_along_axis(x[:4], i[:, None] % 7, 1),
                                            x.at[i].set(0.0), x.at[i, 1].add(2.0), x.at[:, i].multiply(3.0), x.at[i].max(0.5), x.at[i].min(-0.5),
                                            x[i[:, None], i[None, :] + 1], jnp.where(m, x, 0), jnp.choose(i % 2, [i, i + 1], mode="clip")),
                           (f32(5, 7), np.array([0, 2, 4, 1], np.int32), f32(5, 7) > 0)))
for mode in ["clip", "fill", "promise_in_bounds"]:
    table("take_" + mode, lambda mode=mode: (lambda x, i: (jnp.take(x, i, axis=0, mode="clip" if mode[0] == "p" else mode), x.at[i].get(mode=mode),
                                                           x.at[i].add(1.0, mode=mode)),
                                             (f32(5, 3), np.array([0, 4, 2, 4] if mode[0] == "p" else [0, 9, -8, 4], np.int32))))
table("scatter_add_repeated", lambda: (lambda x, i, u: x.at[i].add(u), (f32(6, 3), np.array([1, 1, 5, 1, 0], np.int32), f32(5, 3))))
table("scatter_apply", lambda: (lambda x, i: x.at[i].apply(jnp.sin), (f32(6), np.array([1, 3], np.int32))))
table("segment_sums", lambda: (lambda x, s: (jax.ops.segment_sum(x, s, 4), jax.ops.segment_max(x, s, 4), jax.ops.segment_min(x, s, 4),
                                             jax.ops.segment_prod(x, s, 4)), (f32(10, 3), ints(10, low=0, high=4))))
table("shapes", lambda: (lambda x: (x.reshape(4, 6), jnp.transpose(x, (2, 0, 1)), jnp.tile(x, (2, 1, 3)), jnp.repeat(x, 2, 1), jnp.roll(x, 2, 2),
                                    jnp.flip(x, (0, 2)), jnp.rot90(x), jnp.pad(x, ((1, 2), (0, 0), (3, 1))), jnp.pad(x, 1, mode="reflect"),
                                    jnp.pad(x, 1, mode="edge"), jnp.pad(x, 1, mode="wrap"), jnp.stack([x, x], 1), jnp.split(x, 2, 0),
                                    jnp.moveaxis(x, 0, -1), jnp.broadcast_to(x, (5, 2, 3, 4)), jnp.swapaxes(x, 0, 1), jnp.squeeze(x[:1]), jnp.ravel(x)),
                         (f32(2, 3, 4),)))
table("padding_of_lax", lambda: (lambda x: (lax.pad(x, 0.5, ((1, 2, 1), (-1, 3, 0))), lax.pad(x, 1.0, ((-1, -1, 2), (0, 0, 3)))), (f32(4, 5),)))
table("builders", lambda: (lambda x: (jnp.arange(7) * x[0], jnp.linspace(0, x[1], 9), jnp.eye(4) * x[0], jnp.tri(4), jnp.tril(jnp.outer(x, x)),
                                      jnp.triu(jnp.outer(x, x), 1), jnp.diag(x), jnp.diagonal(jnp.outer(x, x), 1), jnp.meshgrid(x, x),
                                      jnp.logspace(0, 1, 4) * x[2], jnp.full((2, 3), x[0]), jnp.vander(x, 3), jnp.indices((2, 3))), (f32(5),)))
table("concatenated", lambda: (lambda x, y: (jnp.concatenate([x, y], 0), jnp.hstack([x, x]), jnp.vstack([x, y]), jnp.dstack([x, x]),
                                             jnp.column_stack([x, x]), jnp.append(x, y), jnp.insert(x, 1, 9.0, axis=0), jnp.delete(x, 1, axis=0)),
                               (f32(2, 3), f32(4, 3))))

# ---- reductions, scans, sorts, windows ----

table("reductions", lambda: (lambda x: (x.sum(), x.mean(0), x.var(1), x.std((0, 2)), x.min(1), x.max((0, 1)), x.prod(2), jnp.median(x, 1),
                                        jnp.quantile(x, 0.3, axis=0), jnp.percentile(x, 70), jnp.ptp(x, 0), jnp.nansum(x), jnp.average(x, 0, weights=jnp.arange(3.0)),
                                        jnp.linalg.norm(x, axis=1), jax.nn.logsumexp(x, 2), jnp.argmin(x, 1), jnp.argmax(x), jnp.count_nonzero(x > 0, 1),
                                        jnp.cov(x[0]), jnp.corrcoef(x[1]), jnp.any(x > 2), jnp.nanmax(x, 0)), (f32(3, 4, 5),)))
table("reduce_with_function", lambda: (lambda x, y: (lax.reduce(x, 1.0, lax.mul, (0,)), lax.reduce((x, y), (0.0, -9.0), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (1,)),
                                                     lax.reduce(y, -1.0, lambda a, b: jnp.maximum(a, b * 0.5), (0,))), (f32(4, 5), f32(4, 5))))
table("reduce_bits", lambda: (lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_xor(x, (0, 1))), (ints(4, 6),)))
table("nan_reductions", lambda: (lambda x: (jnp.nanmean(x, 1), jnp.nanvar(x, 0), jnp.nanargmax(x, 1), jnp.max(x, 1), jnp.min(x, 0), jnp.sort(x, 1), jnp.argsort(x, 1), jnp.argmax(x, 1)),
                                 (np.where(rng.random((4, 6)) < 0.25, np.nan, f32(4, 6)).astype(np.float32),)))
table("cumulative", lambda: (lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 1), lax.cummin(x, 0), lax.cumlogsumexp(x, 1), lax.cumsum(x, 1, reverse=True)), (f32(4, 9),)))
table("associative_scan", lambda: (lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b)), (unit(13, 4), f32(13, 4))))
table("sorts", lambda: (lambda x, k: (jnp.sort(x, 1), jnp.argsort(x, 0), jnp.lexsort((x[:, 0], x[:, 1])), lax.sort((k, x), dimension=0, num_keys=1), jnp.sort(x, descending=True),
                                      lax.top_k(x, 3), lax.sort((x, x + 1, k), num_keys=2), jnp.argsort(-x, stable=True), jnp.partition(x, 2, 1), jnp.argpartition(x, 2, 1)[:, :2].sort(1)),
                        (f32(5, 6), ints(5, 6, low=0, high=3))))
table("search_and_histogram", lambda: (lambda x, q: (jnp.searchsorted(jnp.sort(x), q), jnp.searchsorted(jnp.sort(x), q, side="right", method="sort"), jnp.digitize(q, jnp.linspace(-1, 1, 5)),
                                                     jnp.histogram(x, 6), jnp.bincount(jnp.abs(q * 3).astype("int32"), length=8), jnp.interp(q, jnp.sort(x), x)), (f32(20), f32(7))))
table("unique_fixed_size", lambda: (lambda x: (jnp.unique(x, size=6, fill_value=-1), jnp.nonzero(x > 2, size=5, fill_value=0), jnp.argwhere(x > 2, size=4), jnp.isin(x, jnp.array([1, 3])),
                                               jnp.unique(x, size=6, return_inverse=True, return_counts=True), jnp.setdiff1d(x, jnp.array([1]), size=6, fill_value=0),
                                               jnp.compress(x > 1, x, size=6, fill_value=0)), (ints(15, low=0, high=6),)))
table("top_k_variants", lambda: (lambda x, i: (lax.top_k(x, 4), lax.top_k(i, 2), lax.approx_max_k(x, 3, aggregate_to_topk=True)[0]), (f32(3, 10), ints(3, 10))))
table("reduce_windows", lambda: (lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"),
                                            lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 3, 1), (1, 1, 1, 1), ((0, 0), (1, 2), (0, 1), (0, 0)), window_dilation=(1, 2, 1, 1)),
                                            lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID", base_dilation=(1, 2, 2, 1)),
                                            lax.reduce_window(x, 1.0, lax.mul, (1, 2, 1, 1), (1, 1, 1, 1), "VALID")), (f32(2, 7, 6, 3),)))
table("select_and_scatter", lambda: (jax.grad(lambda x: jnp.sum(jnp.sin(lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")))), (f32(2, 7, 7, 3),)))
table("convolve_1d", lambda: (lambda x, k: (jnp.convolve(x, k), jnp.convolve(x, k, mode="same"), jnp.correlate(x, k), jax.scipy.signal.convolve2d(jnp.outer(x, x), jnp.outer(k, k), mode="same"),
                                            jax.scipy.signal.fftconvolve(x, k)), (f32(12), f32(5))))
table("polynomials", lambda: (lambda p, x: (jnp.polyval(p, x), jnp.polyder(p), jnp.polyint(p), jnp.polymul(p, p), jnp.trapezoid(x), jnp.gradient(x), jnp.diff(x, 2), jnp.ediff1d(x), jnp.kron(p, x),
                                            jnp.cross(x[:3], x[3:6]), jnp.outer(p, x), jnp.vdot(x, x), jnp.inner(p, p)), (f32(4), f32(8))))

# ---- products and convolutions ----

EINSUMS = ["ij,jk->ik", "bij,bjk->bik", "bhqd,bhkd->bhqk", "ijk,jil->kl", "ii->i", "ij->ji", "abc,cd,de->abe", "i,j->ij", "...i,...i->...", "bij,bkj->bik", "ijij->", "ab,ab->"]
SIZES = dict(zip("abcdehijkqlABC", [2, 3, 4, 5, 6, 2, 3, 4, 5, 3, 6, 2, 3, 4]))
SIZES["i"] = 3


def einsum_args(text):
    sizes = dict(SIZES)
    if text.startswith("ijij"):
        sizes["j"] = 3
    return tuple(f32(*[sizes[c] for c in term.replace("...", "AB")]) for term in text.split("->")[0].split(","))


for k, text in enumerate(EINSUMS):
    if text == "...i,...i->...":
        SIZES.update(A=2, B=3)
    table("einsum_%02d" % k, lambda text=text: (functools.partial(jnp.einsum, text), einsum_args(text)))
table("dot_general_forms", lambda: (lambda x, y, z: (lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))), lax.dot_general(x, z, (((1, 2), (0, 1)), ((), ()))), jnp.tensordot(x, z, 2),
                                                     lax.dot_general(x.astype("bfloat16"), y.astype("bfloat16"), (((2,), (1,)), ((0,), (0,))), preferred_element_type="float32")),
                                    (f32(2, 3, 4), f32(2, 4, 5), f32(3, 4, 6))), tol=1e-3)
table("integer_products", lambda: (lambda x, y: (lax.dot(x, y, preferred_element_type="int32"), lax.dot(x.astype("uint8"), y.astype("uint8"), preferred_element_type="uint32")),
                                   (ints(5, 9, dtype=np.int8), ints(9, 6, dtype=np.int8))))
table("ragged_dot", lambda: (lambda x, w, g: lax.ragged_dot(x, w, g), (f32(10, 4), f32(3, 4, 5), np.array([3, 5, 2], np.int32))))
table("dot_algorithm", lambda: (lambda x, y: lax.dot(x, y, precision=lax.DotAlgorithmPreset.F32_F32_F32), (f32(4, 5), f32(5, 6))))
table("matmul_precision", lambda: (lambda x, y: jnp.matmul(x, y, precision="highest"), (f32(4, 5), f32(5, 6))))


def conv(dimension_numbers, strides=(1, 1), padding="SAME", **more):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dimension_numbers, **more)


NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
table("conv_nhwc", lambda: (conv(NHWC), (f32(2, 9, 8, 3), f32(3, 3, 3, 5))))
table("conv_nchw_strided", lambda: (conv(NCHW, (2, 1), "VALID"), (f32(2, 3, 9, 8), f32(5, 3, 3, 2))))
table("conv_dilated", lambda: (conv(NHWC, rhs_dilation=(2, 3)), (f32(1, 12, 11, 3), f32(3, 3, 3, 4))))
table("conv_transposed", lambda: (lambda x, w: (lax.conv_transpose(x, w, (2, 2), "SAME"), lax.conv_transpose(x, w, (3, 2), "VALID")), (f32(1, 5, 6, 3), f32(3, 3, 3, 4))))
table("conv_lhs_dilated", lambda: (conv(NHWC, padding=((2, 1), (1, 3)), lhs_dilation=(2, 2)), (f32(1, 5, 6, 3), f32(3, 2, 3, 4))))
table("conv_grouped", lambda: (conv(NHWC, feature_group_count=3), (f32(1, 7, 7, 6), f32(3, 3, 2, 9))))
table("conv_depthwise", lambda: (conv(NHWC, feature_group_count=6), (f32(1, 7, 7, 6), f32(3, 3, 1, 12))))
table("conv_batch_groups", lambda: (conv(("NHWC", "HWIO", "NHWC"), batch_group_count=2), (f32(4, 7, 7, 3), f32(3, 3, 3, 6))))
table("conv_1d", lambda: (lambda x, w: lax.conv_general_dilated(x, w, (2,), [(1, 1)], dimension_numbers=("NWC", "WIO", "NWC")), (f32(2, 12, 3), f32(3, 3, 5))))
table("conv_3d", lambda: (lambda x, w: lax.conv_general_dilated(x, w, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")), (f32(1, 4, 6, 5, 2), f32(2, 3, 3, 2, 4))))
table("conv_mixed_layout", lambda: (conv(("CNHW", "IOHW", "NHWC")), (f32(3, 2, 6, 6), f32(3, 4, 3, 3))))
table("conv_gradients", lambda: (jax.grad(lambda x, w: jnp.sum(jnp.sin(conv(NHWC, (2, 2))(x, w))), (0, 1)), (f32(2, 9, 8, 3), f32(3, 3, 3, 5))))
table("conv_grouped_gradients", lambda: (jax.grad(lambda x, w: jnp.sum(jnp.sin(conv(NHWC, feature_group_count=2)(x, w))), (0, 1)), (f32(2, 6, 6, 4), f32(3, 3, 2, 6))))
table("conv_bf16", lambda: (conv(NHWC), (cast(f32(1, 6, 6, 3), "bfloat16"), cast(f32(3, 3, 3, 4), "bfloat16"))))
table("conv_flipped", lambda: (lambda x, w: lax.conv_general_dilated(x, lax.rev(w, (0, 1)), (1, 1), "SAME", dimension_numbers=NHWC), (f32(1, 6, 6, 3), f32(3, 3, 3, 4))))
table("conv_patches", lambda: (lambda x: lax.conv_general_dilated_patches(x, (3, 3), (2, 2), "VALID", dimension_numbers=NHWC), (f32(1, 8, 8, 3),)))
table("conv_local", lambda: (lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (3, 3), dimension_numbers=NHWC), (f32(1, 5, 5, 2), f32(3, 3, 18, 4))))

# ---- Fourier ----

table("fft_family", lambda: (lambda x, c: (jnp.fft.fft(c), jnp.fft.ifft(c), jnp.fft.rfft(x), jnp.fft.irfft(c), jnp.fft.fft2(c), jnp.fft.ifft2(c), jnp.fft.rfftn(x), jnp.fft.irfft(c, 13),
                                           jnp.fft.fftshift(x), jnp.fft.fftn(c), jnp.fft.fft(x, 10), jnp.fft.hfft(c), jnp.fft.fftfreq(8)), (f32(4, 7, 8), cplx(4, 7, 8))))
table("fft_double", lambda: (lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.fft.fft(x)), (rng.standard_normal((3, 15)),)), x64=True)
table("spectrograms", lambda: (lambda x: (jnp.abs(jax.scipy.signal.stft(x, nperseg=32)[2]), jax.scipy.signal.istft(jax.scipy.signal.stft(x, nperseg=32)[2], nperseg=32)[1],
                                          jax.scipy.fft.dct(x), jax.scipy.fft.idct(x), jax.scipy.signal.welch(x, nperseg=32)[1]), (f32(2, 128),)))

# ---- control flow ----

table("while_newton", lambda: (lambda x: lax.while_loop(lambda s: jnp.any(jnp.abs(s * s - x) > 1e-5), lambda s: 0.5 * (s + x / s), x), (pos(6) + 1,)))
table("while_data_dependent", lambda: (lambda n: lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0)), (np.int32(27),)))
table("fori_static", lambda: (lambda x: lax.fori_loop(0, 10, lambda i, s: s + x[i] * i, jnp.zeros(3)), (f32(10, 3),)))
table("fori_dynamic", lambda: (lambda x, n: lax.fori_loop(0, n, lambda i, s: s.at[i].set(s[i - 1] + x[i]), jnp.zeros(10)), (f32(10), np.int32(7))))
table("fori_unrolled", lambda: (lambda x: lax.fori_loop(0, 8, lambda i, s: jnp.sin(s) + i, x, unroll=4), (f32(5),)))
table("scan_carry_and_stack", lambda: (lambda x, h: lax.scan(lambda c, a: (jnp.tanh(c + a), c * a), h, x), (f32(9, 4), f32(4))))
table("scan_reverse", lambda: (lambda x, h: lax.scan(lambda c, a: (c * 0.5 + a, c), h, x, reverse=True), (f32(9, 4), f32(4))))
table("scan_pytree", lambda: (lambda x, h: lax.scan(lambda c, a: ({"a": c["a"] + a[0], "n": c["n"] + 1}, (c["a"].sum(), a[1] > 0)), {"a": h, "n": 0}, (x, x[:, 0])), (f32(6, 4), f32(4))))
table("scan_no_xs", lambda: (lambda h: lax.scan(lambda c, _: (c * 1.1, c[0]), h, None, length=5), (f32(4),)))
table("scan_unrolled", lambda: (lambda x, h: lax.scan(lambda c, a: (jnp.tanh(c + a), c), h, x, unroll=3), (f32(7, 4), f32(4))))
table("scan_nested", lambda: (lambda x: lax.scan(lambda c, r: (c + lax.scan(lambda d, e: (d * 0.9 + e, d), 0.0, r)[0], c), 0.0, x), (f32(5, 6),)))
table("scan_gradient", lambda: (jax.grad(lambda w, x: jnp.sum(lax.scan(lambda h, a: (jnp.tanh(h @ w + a), h), jnp.zeros(4), x)[1] ** 2)), (f32(4, 4) * 0.3, f32(8, 4))))
table("scan_checkpointed", lambda: (jax.grad(lambda w, x: jnp.sum(lax.scan(jax.checkpoint(lambda h, a: (jnp.tanh(h @ w + a), h)), jnp.zeros(4), x)[0])), (f32(4, 4) * 0.3, f32(8, 4))))
table("map_of_lax", lambda: (lambda x: (lax.map(lambda r: jnp.sort(r)[:2], x), lax.map(jnp.sum, x, batch_size=2)), (f32(6, 5),)))
table("cond_two", lambda: (lambda p, x: lax.cond(p, lambda a: jnp.sin(a), lambda a: a * 2, x), (np.bool_(True), f32(4)), (np.bool_(False), f32(4))))
table("cond_tuple", lambda: (lambda x: lax.cond(x.sum() > 0, lambda a: (a, a.sum()), lambda a: (-a, a.max()), x), (f32(4),), (-np.abs(f32(4)),)))
table("switch_many", lambda: (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh, lambda a: a * 2], x), *[(np.int32(i), f32(4)) for i in (-1, 0, 2, 3, 9)]))
table("cond_in_scan", lambda: (lambda x: lax.scan(lambda c, a: (lax.cond(a > 0, lambda s: s + a, lambda s: s * 0.5, c), c), 1.0, x), (f32(12),)))
table("vmapped_cond_and_while", lambda: (jax.vmap(lambda x, n: (lax.cond(x > 0, jnp.sin, jnp.cos, x), lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 1.5, s[1] + 1), (x, 0))[0])), (f32(6), ints(6, low=0, high=5))))
table("while_with_break", lambda: (lambda x: lax.while_loop(lambda s: (s[0] < 20) & (s[1] < 5.0), lambda s: (s[0] + 1, s[1] + x[s[0] % 8]), (0, 0.0)), (pos(8),)))
table("custom_root", lambda: (lambda a: lax.custom_root(lambda x: x ** 3 - a, a, lambda f, x: lax.fori_loop(0, 20, lambda _, y: y - f(y) / (3 * y * y), x), lambda g, y: y / g(1.0)), (np.float32(5),)))
table("custom_gradients", lambda: (lambda x: jax.value_and_grad(lambda a: jnp.sum(jax.nn.relu(a) ** 2 + jax.nn.gelu(a)))(x), (f32(6),)))
table("jacobians", lambda: (lambda x: (jax.jacfwd(lambda a: jnp.sin(a) * a.sum())(x), jax.jacrev(lambda a: jnp.cumsum(a) ** 2)(x), jax.hessian(lambda a: jnp.sum(a ** 3))(x)), (f32(5),)))
table("jvp_and_vjp", lambda: (lambda x, t: (jax.jvp(jnp.tanh, (x,), (t,)), jax.vjp(lambda a: a @ a.T, x.reshape(2, 3))[1](jnp.ones((2, 2)))), (f32(6), f32(6))))
table("nested_jit_and_named", lambda: (lambda x: jax.jit(lambda a: jax.jit(jnp.sin)(a) + jax.named_call(lambda b: b * 2, name="twice")(a))(x), (f32(6),)))
table("no_inputs", lambda: (lambda: (jnp.arange(5), jnp.ones((2, 3)) * 2), ()))
table("constants_closed_over", lambda: (lambda x: x @ jnp.asarray(f32(4, 300)) + 1, (f32(2, 4),)))
table("unused_and_passed", lambda: (lambda x, y, z: (x, z * 2, x), (f32(3), f32(4), f32(5))))
table("empty_arrays", lambda: (lambda x: (x.sum(0), jnp.concatenate([x, jnp.ones((2, 3))]), x * 2, jnp.ones((3, 0)) @ x, jnp.max(x, 1)), (f32(0, 3),)))
table("scalars", lambda: (lambda a, b: (a + b, a > b, jnp.where(a > b, a, b), a.astype("int32")), (np.float32(2.5), np.float32(-1))))
table("high_rank", lambda: (lambda x: (jnp.transpose(x, (6, 0, 5, 1, 4, 2, 3)), x.sum((1, 3, 5)), x[:, 0, :, 1]), (f32(2, 3, 2, 2, 3, 2, 2),)))

# ---- random numbers ----

for impl in ["threefry2x32", "rbg", "unsafe_rbg"]:
    table("random_" + impl, lambda impl=impl: (
        lambda k: (lambda k: (jax.random.uniform(k, (5,)), jax.random.normal(k, (4, 3)), jax.random.bits(k, (7,)), jax.random.randint(k, (6,), 0, 100),
                              jax.random.bernoulli(k, 0.3, (9,)), jax.random.permutation(k, 8), jax.random.categorical(k, jnp.zeros((3, 5))),
                              jax.random.key_data(jax.random.split(k, 3)), jax.random.key_data(jax.random.fold_in(k, 7))))(jax.random.wrap_key_data(k, impl=impl)),
        (np.array([1, 2] if impl[0] == "t" else [1, 2, 3, 4], np.uint32),)))
table("random_distributions", lambda: (lambda s: (lambda k: (
    jax.random.gamma(k, 2.0, (4,)), jax.random.beta(k, 2.0, 3.0, (4,)), jax.random.exponential(k, (4,)), jax.random.poisson(k, 3.0, (5,)), jax.random.gumbel(k, (4,)),
    jax.random.laplace(k, (4,)), jax.random.truncated_normal(k, -1.0, 1.0, (4,)), jax.random.dirichlet(k, jnp.ones(3)), jax.random.cauchy(k, (3,)),
    jax.random.choice(k, 10, (4,), replace=False), jax.random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2)), jax.random.rayleigh(k, 2.0, (3,)),
    jax.random.orthogonal(k, 3), jax.random.ball(k, 3), jax.random.binomial(k, 10, 0.3, (4,)), jax.random.t(k, 3.0, (2,)), jax.random.rademacher(k, (5,))))(jax.random.key(s)), (np.int32(3),)), tol=1e-3)
table("random_types", lambda: (lambda s: (lambda k: (jax.random.uniform(k, (4,), "float16"), jax.random.normal(k, (4,), "bfloat16"), jax.random.bits(k, (5,), "uint8"),
                                                     jax.random.bits(k, (5,), "uint16"), jax.random.normal(k, (3,), "complex64"), jax.random.uniform(k, (4,), minval=-2, maxval=3)))(jax.random.key(s)), (np.int32(5),)))

# ---- images and nn ----

for method in ["nearest", "linear", "cubic", "lanczos3", "lanczos5"]:
    table("resize_" + method, lambda method=method: (lambda x: (jax.image.resize(x, (2, 9, 13, 3), method), jax.image.resize(x, (2, 4, 3, 3), method), jax.image.resize(x, (2, 4, 3, 3), method, antialias=False)),
                                                     (f32(2, 6, 7, 3),)))
table("scale_and_translate", lambda: (lambda x, s: jax.image.scale_and_translate(x, (8, 9), (0, 1), s, jnp.array([0.5, -1.0]), "linear"), (f32(6, 7), pos(2) + 0.5)))
table("map_coordinates", lambda: (lambda x, c: (jax.scipy.ndimage.map_coordinates(x, c, 1), jax.scipy.ndimage.map_coordinates(x, c, 0, mode="wrap"), jax.scipy.ndimage.map_coordinates(x, c, 1, mode="reflect")), (f32(6, 7), [pos(5) * 5, pos(5) * 6])))
table("activations", lambda: (lambda x: [g(x) for g in (jax.nn.relu, jax.nn.relu6, jax.nn.elu, jax.nn.celu, jax.nn.selu, jax.nn.leaky_relu, jax.nn.hard_tanh, jax.nn.hard_sigmoid, jax.nn.hard_swish, jax.nn.mish,
                                                        jax.nn.softplus, jax.nn.soft_sign, jax.nn.log_sigmoid, jax.nn.glu, jax.nn.softmax, jax.nn.log_softmax, jax.nn.standardize, jax.nn.squareplus, jax.nn.sparse_plus,
                                                        jax.nn.swish, jax.nn.tanh, functools.partial(jax.nn.gelu, approximate=False))], (f32(5, 6),)))
table("one_hot_and_masks", lambda: (lambda i, m, x: (jax.nn.one_hot(i, 6), jax.nn.softmax(x, where=m), jax.nn.logsumexp(x, 1, where=m, b=2.0), jax.nn.one_hot(i, 6, dtype="int8")), (ints(4, low=-1, high=8), f32(4, 6) > 0, f32(4, 6))))
table("attention_of_nn", lambda: (lambda q, k, v: (jax.nn.dot_product_attention(q, k, v), jax.nn.dot_product_attention(q, k, v, is_causal=True), jax.nn.dot_product_attention(q, k, v, local_window_size=2)), (f32(2, 7, 4, 8), f32(2, 7, 2, 8), f32(2, 7, 2, 8))))
table("scipy_statistics", lambda: (lambda x, p: (jax.scipy.stats.norm.logpdf(x), jax.scipy.stats.norm.cdf(x), jax.scipy.stats.t.logpdf(x, 3.0), jax.scipy.stats.gamma.logpdf(p, 2.0), jax.scipy.stats.beta.pdf(p / 3, 2.0, 3.0),
                                                 jax.scipy.stats.multivariate_normal.logpdf(x[:3], jnp.zeros(3), jnp.eye(3)), jax.scipy.stats.rankdata(x), jax.scipy.stats.laplace.cdf(x), jax.scipy.stats.poisson.logpmf(2, p),
                                                 jax.scipy.stats.gaussian_kde(x)(p)), (f32(8), pos(8))), tol=1e-3)
table("integer_tricks", lambda: (lambda x: (jnp.unpackbits(x), jnp.packbits(x > 100), jnp.right_shift(x, 1), jnp.bitwise_xor(x, 77), jnp.invert(x), x.astype("int8"), x.astype("float16")), (ints(6, low=0, high=255, dtype=np.uint8),)))
table("vectorized_ufuncs", lambda: (lambda x, y: (jnp.logaddexp(x, y), jnp.logaddexp2(x, y), jnp.heaviside(x, y), jnp.fmax(x, y), jnp.fmin(x, y), jnp.float_power(jnp.abs(x), 2), jnp.true_divide(x, y), jnp.floor_divide(x, y),
                                                  jnp.divmod(x, y), jnp.deg2rad(x), jnp.rad2deg(y), jnp.unwrap(x), jnp.angle(x + 1j * y), jnp.isclose(x, y), jnp.allclose(x, x), jnp.array_equal(x, y), jnp.rint(x)), (f32(7), f32(7))))
table("windows_and_sets", lambda: (lambda x: (jnp.hanning(8) * x, jnp.blackman(8) * x, jnp.kaiser(8, 3.0) * x, jnp.bartlett(8) + x, jnp.hamming(8) - x), (f32(8),)))
