"""Shape-polymorphic exports: one archive, run at several sizes."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import Table

table = Table()
rng = np.random.default_rng(3)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def sizes(name, f, spec, *calls, **options):
    """calls: functions that make arguments."""
    table(name, lambda: (f,) + tuple(c() for c in calls), spec=spec, **options)


def at(shape, *values):
    """One array whose dims named by letters take each of the values; shape: of one size."""
    return [lambda n=n: (f32(*shape(n)),) for n in values]


W = f32(8, 4)
sizes("poly_elementwise", lambda x: jnp.tanh(x) + 1, "b, 4", *at(lambda n: (n, 4), 3, 7))
sizes("poly_linear", lambda x: x @ W, "b, 8", *at(lambda n: (n, 8), 3, 1))
sizes("poly_two_inputs", lambda x, y: x @ y.T, ("b, 8", "c, 8"), lambda: (f32(3, 8), f32(5, 8)), lambda: (f32(6, 8), f32(2, 8)))
sizes("poly_softmax", lambda x: jax.nn.softmax(x) * x.shape[1], "b, s", *at(lambda n: (n, n + 2), 3, 5))
sizes("poly_mean", lambda x: (x.mean(0), x.var(1), x.sum(), x.shape[0] * 1.0), "b, 5", *at(lambda n: (n, 5), 3, 7))
sizes("poly_reshape", lambda x: x.reshape(x.shape[0] * x.shape[1], -1), "b, s, 4", *at(lambda n: (n, n + 1, 4), 2, 3))
sizes("poly_flatten", lambda x: x.reshape(x.shape[0], -1) @ f_flat, "b, 2, 4", *at(lambda n: (n, 2, 4), 2, 3))
f_flat = f32(8, 3)
sizes("poly_concat", lambda x: jnp.concatenate([x, x * 2, jnp.ones((1, 3))], 0), "b, 3", *at(lambda n: (n, 3), 2, 4))
sizes("poly_iota", lambda x: (jnp.arange(x.shape[0]) * 2, x + jnp.arange(x.shape[1])), "b, s", *at(lambda n: (n, 2 * n), 2, 4))
sizes("poly_slice", lambda x: (x[1:], x[:-1], x[::2], x[:, -1], x[-2:], x[::-1]), "b, 3", *at(lambda n: (n, 3), 4, 7), constraints=("b >= 3",))
sizes("poly_pad", lambda x: jnp.pad(x, ((1, x.shape[0]), (0, 0))), "b, 3", *at(lambda n: (n, 3), 4, 7))
sizes("poly_gather", lambda x, i: (x[i], jnp.take_along_axis(x, i[:, None] % 3, 1)), ("b, 3", "b"), lambda: (f32(4, 3), np.array([3, 1, 0, 2], np.int32)), lambda: (f32(2, 3), np.array([1, 1], np.int32)))
sizes("poly_scatter", lambda x, i: x.at[i].add(1.0), ("b, 3", "k"), lambda: (f32(4, 3), np.array([3, 1], np.int32)), lambda: (f32(2, 3), np.array([1, 1, 0], np.int32)))
sizes("poly_sort", lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1), jnp.argmax(x, 0)), "b, s", *at(lambda n: (n, n + 2), 3, 5))
sizes("poly_cumsum", lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 0)), "b, 4", *at(lambda n: (n, 4), 3, 8))
sizes("poly_conv", lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), ("b, h, w, 3", "..."), lambda: (f32(1, 8, 6, 3), f32(3, 3, 3, 4)), lambda: (f32(2, 9, 7, 3), f32(3, 3, 3, 4)))
sizes("poly_pool", lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")), "b, h, w, 3", *at(lambda n: (n, 2 * n + 3, 6, 3), 1, 2), constraints=("h >= 3", "w >= 3"))
sizes("poly_attention", lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), ("b, s, 2, 8",) * 3, lambda: (f32(1, 5, 2, 8), f32(1, 5, 2, 8), f32(1, 5, 2, 8)), lambda: (f32(3, 4, 2, 8), f32(3, 4, 2, 8), f32(3, 4, 2, 8)))
sizes("poly_causal_mask", lambda x: jnp.where(jnp.tril(jnp.ones((x.shape[1],) * 2, bool)), jnp.einsum("bqd,bkd->bqk", x, x), -1e9), "b, s, 4", *at(lambda n: (n, n + 2, 4), 2, 3))
sizes("poly_scan", lambda x: lax.scan(lambda c, a: (jnp.tanh(c + a), c), jnp.zeros(x.shape[1:]), x), "t, b, 4", *at(lambda n: (n, n + 1, 4), 3, 5))
sizes("poly_while", lambda x: lax.while_loop(lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, jnp.zeros(x.shape[1]))), "b, 4", *at(lambda n: (n, 4), 3, 5))
sizes("poly_fori", lambda x: lax.fori_loop(0, x.shape[0], lambda i, s: s * 0.5 + x[i], jnp.zeros(4)), "b, 4", *at(lambda n: (n, 4), 3, 5))
sizes("poly_cond", lambda x: lax.cond(x.sum() > 0, lambda a: a + 1, lambda a: a * 2, x), "b, 4", *at(lambda n: (n, 4), 3, 5))
sizes("poly_dynamic_slice", lambda x, i: (lax.dynamic_slice(x, (i, 0), (2, 3)), lax.dynamic_update_slice(x, jnp.ones((1, 3)), (i, 0))), ("b, 3", ""), lambda: (f32(5, 3), np.int32(2)), lambda: (f32(3, 3), np.int32(2)), constraints=("b >= 2",))
sizes("poly_division", lambda x: x.reshape(2, x.shape[0] // 2, 3).sum(0), "2*b, 3", *at(lambda n: (n, 3), 4, 6))
sizes("poly_products_of_dims", lambda x: jnp.ones((x.shape[0] * 2 + 1,)) * x.sum(), "b, 3", *at(lambda n: (n, 3), 4, 6))
sizes("poly_max_of_dims", lambda x, y: jnp.zeros((jax.core.max_dim(x.shape[0], y.shape[0]), 3)) + x.sum(), ("a, 3", "b, 3"), lambda: (f32(2, 3), f32(5, 3)), lambda: (f32(6, 3), f32(5, 3)))
sizes("poly_repeat_and_tile", lambda x: (jnp.repeat(x, 2, 0), jnp.tile(x, (2, 1)), jnp.broadcast_to(x[:1], x.shape), jnp.stack([x, x])), "b, 3", *at(lambda n: (n, 3), 4, 6))
sizes("poly_one_hot", lambda i: jax.nn.one_hot(i, 5), "b", lambda: (np.array([1, 3, 0], np.int32),), lambda: (np.array([1, 3, 0, 4, 2], np.int32),))
sizes("poly_embedding", lambda e, i: e[i].mean(1), ("20, 6", "b, s"), lambda: (f32(20, 6), rng.integers(0, 20, (2, 5)).astype(np.int32)), lambda: (f32(20, 6), rng.integers(0, 20, (4, 3)).astype(np.int32)))
sizes("poly_einsum", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), ("b, i, 4", "b, 4, 5"), lambda: (f32(2, 3, 4), f32(2, 4, 5)), lambda: (f32(3, 2, 4), f32(3, 4, 5)))
sizes("poly_gradient", lambda x: jax.grad(lambda a: jnp.sum(jnp.tanh(a @ W) ** 2))(x), "b, 8", *at(lambda n: (n, 8), 3, 5))
sizes("poly_cross_entropy", lambda x, i: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], 1)), ("b, 6", "b"), lambda: (f32(3, 6), np.array([1, 2, 0], np.int32)), lambda: (f32(2, 6), np.array([5, 2], np.int32)))
sizes("poly_layer_norm", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), "b, s, d", *at(lambda n: (n, n + 1, n + 3), 2, 4))
sizes("poly_top_k", lambda x: lax.top_k(x, 3), "b, s", *at(lambda n: (n, n + 3), 2, 4), constraints=("s >= 3",))
sizes("poly_resize", lambda x: jax.image.resize(x, (x.shape[0], 8, 8, 3), "linear"), "b, 4, 4, 3", *at(lambda n: (n, 4, 4, 3), 1, 3))
sizes("poly_rfft", lambda x: jnp.abs(jnp.fft.rfft(x)), "b, 16", *at(lambda n: (n, 16), 1, 3))
sizes("poly_random", lambda k, x: x + jax.random.uniform(jax.random.wrap_key_data(k), x.shape), ("2", "b, 3"), lambda: (np.array([0, 1], np.uint32), f32(2, 3)), lambda: (np.array([0, 1], np.uint32), f32(5, 3)))
sizes("poly_cholesky", lambda x: jnp.linalg.cholesky(jnp.einsum("bij,bkj->bik", x, x) + 4 * jnp.eye(4)), "b, 4, 4", *at(lambda n: (n, 4, 4), 1, 3))
sizes("poly_outer_equal", lambda x, y: x[:, None] * y[None], ("b", "b"), lambda: (f32(3), f32(3)), lambda: (f32(5), f32(5)))
sizes("poly_segment_sum", lambda x, s: jax.ops.segment_sum(x, s, x.shape[0]), ("b, 3", "b"), lambda: (f32(4, 3), np.array([3, 1, 0, 1], np.int32)), lambda: (f32(2, 3), np.array([1, 1], np.int32)))
sizes("poly_int_dims", lambda x: (jnp.int32(x.shape[0]) + 1, jnp.asarray(x.shape[0] % 3), x.shape[0] // 2 + jnp.zeros(2)), "b, 3", *at(lambda n: (n, 3), 4, 7))
sizes("poly_vmap", lambda x: jax.vmap(lambda r: jnp.outer(r, r).sum(0))(x), "b, 4", *at(lambda n: (n, 4), 2, 5))
sizes("poly_window_view", lambda x: jnp.stack([x[k:x.shape[0] - 2 + k] for k in range(3)], 1), "b", *at(lambda n: (n,), 5, 8), constraints=("b >= 4",))

# ---- whole functions at symbolic sizes ----


def two(shape, a=2, b=3, spec="b, s", dtype=np.float32):
    return spec, (lambda: (rng.standard_normal(shape(a)).astype(dtype),)), (lambda: (rng.standard_normal(shape(b)).astype(dtype),))


B4 = two(lambda n: (n, 4), 3, 5, "b, 4")
BS = two(lambda n: (n, n + 3), 2, 4)
BS8 = two(lambda n: (n, n + 3, 8), 2, 4, "b, s, 8")
IMAGE = two(lambda n: (n, 8, 8, 3), 1, 2, "b, 8, 8, 3")
SIZED = two(lambda n: (n, 6 + n, 9, 3), 1, 2, "b, h, 9, 3")
sizes("poly_cumulative", lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1), lax.cummax(x, 0), lax.cummin(x, 0, reverse=True), lax.cumlogsumexp(x, 0), lax.cumsum(x, 0, reverse=True), lax.cumprod(x, 0, reverse=True)), *BS)
sizes("poly_cumulative_types", lambda x: (jnp.cumsum(x.astype("int32"), 0), lax.cummax(x.astype("int32"), 0), jnp.cumsum(x > 0, 0), lax.cummin(x.astype("bfloat16"), 0), jnp.cumprod(x.astype("float16"), 0)), *B4)
sizes("poly_pools", lambda x: (lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"), lax.reduce_window(x, 1.0, lax.mul, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"), lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") /
                               lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME", window_dilation=(1, 2, 1, 1))), *SIZED, constraints=("h >= 5",))
sizes("poly_pool_gradient", lambda x: jax.grad(lambda a: jnp.sum(jnp.sin(lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"))))(x), *IMAGE)
sizes("poly_convs", lambda x: (lax.conv_general_dilated(x, jnp.ones((3, 3, 3, 4)), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), lax.conv_general_dilated(x, jnp.ones((2, 3, 1, 6)), (2, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3),
                               lax.conv_general_dilated(x, jnp.ones((3, 3, 3, 4)), (2, 2), "SAME", rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC"))), *SIZED, constraints=("h >= 5",))
sizes("poly_small_images", lambda x: (lambda y: (y, y.sum((1, 2)), lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lax.reduce_window(x, 0.0, lax.add, (1, 4, 4, 1), (1, 3, 1, 1), "VALID")))(
    jax.nn.relu(lax.conv_general_dilated(x, W[:3, None, None, :3] * jnp.ones((3, 3, 3, 3)) + 0.25, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")))), "b, h, w, 3", *at(lambda n: (2, n, 5, 3), 6, 3, 1))
sizes("poly_conv_transposed", lambda x: (lax.conv_transpose(x, jnp.ones((3, 3, 3, 4)), (2, 2), "SAME"), lax.conv_transpose(x, jnp.ones((2, 2, 3, 4)), (2, 2), "VALID")), *SIZED)
sizes("poly_conv_gradient", lambda x: jax.grad(lambda w: jnp.sum(jnp.sin(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))))(jnp.ones((3, 3, 3, 4))), *IMAGE, tol=1e-3)
sizes("poly_resizes", lambda x: (jax.image.resize(x, (x.shape[0], 16, 12, 3), "linear"), jax.image.resize(x, (x.shape[0], 5, 4, 3), "cubic"), jax.image.resize(x, (x.shape[0], 2 * x.shape[1], 9, 3), "nearest")), *SIZED)
sizes("poly_pads", lambda x: (jnp.pad(x, ((0, 0), (2, 1)), mode="edge"), jnp.pad(x, ((1, 1), (0, 0)), mode="wrap"), jnp.pad(x, ((0, x.shape[1]), (1, 0)), constant_values=2)), *B4)
sizes("poly_statistics", lambda x: (jnp.var(x, 0), jnp.std(x), jnp.median(x, 0), jnp.linalg.norm(x, axis=0), jnp.argmin(x, 0), jnp.ptp(x, 0), jnp.quantile(x, 0.3, axis=0), jax.nn.standardize(x, 0), jnp.average(x, 0), jnp.max(x), jax.nn.logsumexp(x)), *B4)
sizes("poly_sorts", lambda x: (jnp.argsort(x, 0), lax.sort((x, x + 1), dimension=0, num_keys=2), jnp.sort(x, 0, descending=True), jnp.lexsort((x[:, 0], x[:, 1])), jnp.flip(jnp.sort(x, 1), 0)), *B4)
sizes("poly_top_k_symbolic", lambda x: lax.top_k(x, x.shape[1] // 2), *BS)
sizes("poly_search", lambda x: (jnp.searchsorted(jnp.arange(4.0), jnp.arange(3.0)), jnp.searchsorted(jnp.arange(5.0), x[:, 0]), jnp.digitize(x[0], jnp.arange(3.0)), jnp.interp(x[:, 0], jnp.arange(4.0), jnp.arange(4.0) ** 2)), *B4)
sizes("poly_one_hots", lambda x: (jax.nn.one_hot(jnp.arange(x.shape[0]), x.shape[0]), jnp.eye(x.shape[0]), jnp.tri(x.shape[0], x.shape[1]), jnp.diag(x[:, 0]), jnp.triu(x)), *B4)
sizes("poly_ranges", lambda x: (jnp.arange(0, x.shape[0] * 2, 2), jnp.full((x.shape[0], 2), x.shape[0]), jnp.indices((x.shape[0], 2)), jnp.meshgrid(jnp.arange(x.shape[0]), jnp.arange(3)), jnp.zeros((x.shape[0] + 1, x.shape[0] * 2))), *B4)
sizes("poly_rolls", lambda x: (jnp.roll(x, 1, 0), jnp.roll(x, -2, 1), jnp.rot90(x), jnp.swapaxes(x, 0, 1), x[:, None, :], jnp.moveaxis(x[None], 0, 2), jnp.split(x, 2, 1), jnp.concatenate([x[1:], x[:1]])), *B4)
sizes("poly_updates", lambda x: (x.at[0].set(1.0), x.at[-1, 1:].add(2.0), x.at[:, 0].max(0.0), x.at[jnp.arange(x.shape[0]), 1].multiply(3.0), x.at[::2].set(0.0), x.at[jnp.argmax(x, 0), jnp.arange(4)].min(0.0)), *B4)
sizes("poly_takes", lambda x: (jnp.take(x, jnp.array([0, 1]), 0), jnp.take_along_axis(x, jnp.argsort(x, 0), 0), x[jnp.argsort(x[:, 0])], x[jnp.arange(x.shape[0])[::-1]], x[:, jnp.array([3, 0])], jnp.take(x, jnp.argsort(x[:, 1]), axis=0, mode="clip")), *B4)
sizes("poly_where", lambda x: (jnp.where(x > 0, x, 0), jnp.nonzero(x > 0, size=4, fill_value=-1), jnp.argwhere(x > 0, size=x.shape[0]), jnp.isfinite(x).all(), jnp.clip(x, 0, x.shape[0])), *B4)
sizes("poly_layers", lambda x: jax.nn.softmax(jax.nn.gelu(x @ jnp.ones((8, 8)) / 8 + x.mean(1, keepdims=True)) @ jnp.swapaxes(x, 1, 2)), *BS8)
sizes("poly_multi_head", lambda x: (lambda q: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, q) / 2), q).reshape(x.shape))(x.reshape(x.shape[0], x.shape[1], 2, 4)), *BS8)
sizes("poly_attention_mask", lambda x: jax.nn.dot_product_attention(x[:, :, None], x[:, :, None], x[:, :, None], mask=(jnp.arange(x.shape[1])[:, None] >= jnp.arange(x.shape[1]))[None, None]), *BS8)
sizes("poly_lstm", lambda x: lax.scan(lambda s, a: (lambda z: (z, z[:, :4]))(jnp.tanh(s + a)), jnp.zeros((x.shape[0], 8)), jnp.swapaxes(x, 0, 1)), *BS8)
sizes("poly_scan_gradient", lambda x: jax.grad(lambda w: jnp.sum(lax.scan(lambda s, a: (jnp.tanh(s @ w + a), s), jnp.zeros((x.shape[0], 8)), jnp.swapaxes(x, 0, 1))[1]))(jnp.eye(8)), *BS8, tol=1e-3)
sizes("poly_associative", lambda x: lax.associative_scan(jnp.add, x, axis=1), *two(lambda n: (n, 7), 2, 3, "b, 7"))
sizes("poly_map", lambda x: (lax.map(lambda r: r.sum(), x), jax.vmap(jnp.sort)(x), jax.vmap(lambda r: lax.fori_loop(0, 3, lambda i, s: s * 0.5 + r[i], 0.0))(x), jax.vmap(lambda r: lax.cond(r[0] > 0, jnp.sin, jnp.cos, r))(x)), *B4)
sizes("poly_linalg", lambda x: (lambda a: (jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.solve(a, jnp.ones((x.shape[0], 4, 2))), jnp.linalg.eigvalsh(a + jnp.swapaxes(a, 1, 2)), jnp.linalg.svd(a, compute_uv=False), jnp.linalg.qr(a)[1]))(x[:, :, None] * jnp.ones(4) + 5 * jnp.eye(4)), *B4, tol=1e-3)
sizes("poly_triangular", lambda x: jax.scipy.linalg.solve_triangular(jnp.eye(4) + jnp.tri(4), x.T, lower=True), *B4)
sizes("poly_gram", lambda x: (x.T @ x, jnp.cov(x.T), x @ x.T, jnp.outer(x[:, 0], x[:, 1]), jnp.kron(x[:2, :2], jnp.eye(2)), jnp.tensordot(x, x, ((0,), (0,)))), *B4)
sizes("poly_random_numbers", lambda k, x: (lambda key: (jax.random.normal(key, x.shape), jax.random.bernoulli(key, 0.3, (x.shape[0],)), jax.random.randint(key, x.shape, 0, 10), jax.random.bits(key, (x.shape[0] * 3,)), jax.random.categorical(key, x)))(jax.random.wrap_key_data(k)),
      ("2", "b, 3"), lambda: (np.array([0, 1], np.uint32), f32(2, 3)), lambda: (np.array([0, 1], np.uint32), f32(5, 3)))
sizes("poly_random_rbg", lambda k, x: (lambda key: (jax.random.uniform(key, x.shape), jax.random.bits(key, (x.shape[0] * 2,))))(jax.random.wrap_key_data(k, impl="rbg")), ("4", "b, 3"), lambda: (np.array([0, 1, 2, 3], np.uint32), f32(2, 3)), lambda: (np.array([0, 1, 2, 3], np.uint32), f32(5, 3)))
sizes("poly_fft", lambda x: (jnp.abs(jnp.fft.fft(x)), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.abs(jnp.fft.fft2(x[:, None] * jnp.ones((2, 1))))), *two(lambda n: (n, 8), 2, 3, "b, 8"))
sizes("poly_types", lambda x: (x.astype("bfloat16") * 2, x.astype("int8"), lax.bitcast_convert_type(x, "int32"), (x > 0).astype("uint8").sum(0), lax.population_count(x.astype("int32")), x.astype("float16") @ jnp.ones((4, 2), "float16"), lax.convert_element_type(x, "complex64") * 1j), *B4)
sizes("poly_train_step", lambda x, y: (lambda w: w - 0.1 * jax.grad(lambda v: jnp.mean((jnp.tanh(x @ v) - y) ** 2))(w))(jnp.ones((4, 2)) * 0.1), ("b, 4", "b, 2"), lambda: (f32(3, 4), f32(3, 2)), lambda: (f32(6, 4), f32(6, 2)), tol=1e-3)
sizes("poly_batch_norm", lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), *SIZED)
sizes("poly_mixture", lambda x: (lambda w, i: jnp.einsum("te,tef->tf", jnp.zeros((x.shape[0], 3)).at[jnp.arange(x.shape[0])[:, None], i].set(w), x[:, None, :] * jnp.arange(1.0, 4)[None, :, None]))(*lax.top_k(jax.nn.softmax(x @ jnp.eye(4, 3)), 2)), *B4)
sizes("poly_ragged_dot", lambda x: lax.ragged_dot(x, jnp.arange(40.0).reshape(2, 4, 5), jnp.array([1, 2], "int32")), *B4, constraints=("b >= 3",))
sizes("poly_segments", lambda x: (jax.ops.segment_sum(x, jnp.arange(x.shape[0]) % 3, 3), jax.ops.segment_max(x, jnp.arange(x.shape[0]) % 2, 2)), *B4)
sizes("poly_bitonic", lambda x: (x.reshape(-1), x.reshape(-1, 2), x.reshape(x.shape[0], 2, 2).sum(2), x.reshape((x.shape[0] * 2, 2)).T, jnp.ravel(x)[: x.shape[0]]), *B4)
sizes("poly_strided", lambda x: (x[::2], x[1::3], x[:-2:2, ::3], lax.slice(x, (1, 0), (x.shape[0], 4), (2, 1)), lax.slice_in_dim(x, 0, x.shape[0] - 1)), *B4, constraints=("b >= 3",))
sizes("poly_three_dims", lambda x, y, z: jnp.einsum("ij,jk,kl->il", x, y, z), ("a, b", "b, c", "c, a"), lambda: (f32(2, 3), f32(3, 4), f32(4, 2)), lambda: (f32(5, 2), f32(2, 3), f32(3, 5)))
sizes("poly_mod_constraint", lambda x: x.reshape(x.shape[0] // 4, 4, 3).mean(1), "b, 3", *at(lambda n: (n, 3), 4, 8), constraints=("mod(b, 4) == 0",))
sizes("poly_generate", lambda t: lax.fori_loop(0, 4, lambda i, s: jnp.concatenate([s[:, 1:], (s.sum(1, keepdims=True) % 7)], 1), t), "b, s", lambda: (rng.integers(0, 9, (2, 5)).astype(np.int32),), lambda: (rng.integers(0, 9, (3, 4)).astype(np.int32),))
sizes("poly_constraints_of_two", lambda x, y: (x[:x.shape[0] // y.shape[0] * y.shape[0]], x[x.shape[0] % y.shape[0]:], jnp.zeros((x.shape[0] // y.shape[0],)) + y.sum()), ("b", "c"), lambda: (f32(7), f32(3)), lambda: (f32(9), f32(4)), constraints=("mod(b,c) == 1", "floordiv(b,c) == 2"))
