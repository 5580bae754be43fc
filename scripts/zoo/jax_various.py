"""What the other tables lack: exports within exports, several platforms, Pallas in its interpreter, types of results, narrow types
in control flow, sparse arithmetic, scaled products, sizes of symbols in unusual places."""
import jax
import jax.experimental.sparse
import jax.numpy as jnp
import numpy as np
from jax import export as jax_export
from jax import lax
from jax.experimental import pallas as pl

from common import Table

table = Table()
rng = np.random.default_rng(17)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*shape, low=0, high=9, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def add(name, f, *args, **options):
    table(name, lambda: (f, args), **options)


# ---- exports ----

def inner():
    return jax_export.export(jax.jit(lambda x, y: (jnp.sin(x) @ y, x.sum(0))))(*jax_export.symbolic_args_specs((f32(2, 3), f32(3, 4)), ("b, 3", "3, 4")))


add("export_called", lambda x, y: inner().call(jnp.cos(x), y)[0] + 1, f32(5, 3), f32(3, 4))
table("export_called_symbolic", lambda: (lambda x, y: inner().call(x * 2, y), (f32(2, 3), f32(3, 4)), (f32(5, 3), f32(3, 4))), spec=("b, 3", "3, 4"))
add("platform_dependent", lambda x: lax.platform_dependent(x, cpu=lambda a: a + 1, cuda=lambda a: a * 2, default=lambda a: a - 1), f32(3))
add("composites", lambda x: lax.composite(lambda a: jnp.where(a > 0, a, 0.1 * a), "my.leaky")(x) + lax.composite(lambda a, *, k: a * k, "my.scale")(x, k=np.float32(2)), f32(4, 5))
add("barriers", lambda x: lax.optimization_barrier((x + 1, jnp.sin(x))), f32(4))
add("nested_jit_names", lambda x: jax.jit(lambda a: jax.named_scope("s")(jax.jit(jnp.tanh))(a) * 2)(x), f32(4))
add("inlined_and_kept", lambda x: jax.jit(lambda a: a * 2, inline=True)(x) + jax.jit(lambda a: a * 2)(x), f32(4))

# ---- Pallas, interpreted ----


def add_kernel(x, y, o):
    o[...] = x[...] + y[...] * 2


def matmul_kernel(x, y, o):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o[...] = jnp.zeros_like(o)
    o[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)


def softmax_kernel(x, o):
    a = x[...]
    e = jnp.exp(a - a.max(-1, keepdims=True))
    o[...] = e / e.sum(-1, keepdims=True)


def loop_kernel(x, o):
    def body(i, c):
        c = c + x[pl.ds(i * 2, 2), :]
        o[pl.ds(i * 2, 2), :] = c
        return c
    lax.fori_loop(0, 4, body, jnp.zeros((2, 6), jnp.float32))


add("pallas_add", lambda x, y: pl.pallas_call(add_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), interpret=True)(x, y), f32(8, 6), f32(8, 6))
add("pallas_grid", lambda x, y: pl.pallas_call(add_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), grid=(4, 2), in_specs=[pl.BlockSpec((2, 3), lambda i, j: (i, j)), pl.BlockSpec((2, 3), lambda i, j: (3 - i, j))], out_specs=pl.BlockSpec((2, 3), lambda i, j: (i, j)), interpret=True)(x, y), f32(8, 6), f32(8, 6))
add("pallas_matmul", lambda x, y: pl.pallas_call(matmul_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), grid=(2, 2, 2), in_specs=[pl.BlockSpec((4, 4), lambda i, j, k: (i, k)), pl.BlockSpec((4, 3), lambda i, j, k: (k, j))], out_specs=pl.BlockSpec((4, 3), lambda i, j, k: (i, j)), interpret=True)(x, y), f32(8, 8), f32(8, 6))
add("pallas_softmax_ragged", lambda x: pl.pallas_call(softmax_kernel, jax.ShapeDtypeStruct((7, 6), jnp.float32), grid=(4,), in_specs=[pl.BlockSpec((2, 6), lambda i: (i, 0))], out_specs=pl.BlockSpec((2, 6), lambda i: (i, 0)), interpret=True)(x), f32(7, 6))
add("pallas_loop", lambda x: pl.pallas_call(loop_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), interpret=True)(x), f32(8, 6))
add("pallas_vmapped", lambda x, y: jax.vmap(lambda a, b: pl.pallas_call(add_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), interpret=True)(a, b))(x, y), f32(3, 8, 6), f32(3, 8, 6))
add("pallas_aliased", lambda x, y: pl.pallas_call(add_kernel, jax.ShapeDtypeStruct((8, 6), jnp.float32), input_output_aliases={0: 0}, interpret=True)(x, y), f32(8, 6), f32(8, 6))

# ---- element types ----

for a, b, out in [("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("bfloat16", "bfloat16", "float32"), ("float16", "float16", "float32"), ("float8_e4m3fn", "float8_e4m3fn", "float32"), ("float8_e5m2", "float8_e4m3fn", "bfloat16"),
                  ("int4", "int4", "int32"), ("int8", "bfloat16", "float32"), ("float32", "bfloat16", "float32"), ("int16", "int16", "int64"), ("uint4", "int8", "int32"), ("float64", "float32", "float64"), ("int4", "float32", "float32")]:
    add("dot_%s_%s_%s" % (a, b, out), lambda x, y, a=a, b=b, out=out: (lax.dot_general(x.astype(a), y.astype(b), (((1,), (0,)), ((), ())), preferred_element_type=jnp.dtype(out)), lax.dot_general(x.astype(a)[None], y.astype(b)[None], (((2,), (1,)), ((0,), (0,))), preferred_element_type=jnp.dtype(out))),
        ints(5, 7, low=-4 if "u" not in a else 0, high=5), ints(7, 6, low=-4 if "u" not in b else 0, high=5), x64=True, no_hlo="4" in a and a[0] in "iu" or "4" in b and b[0] in "iu")
for a, out in [("int8", "int32"), ("bfloat16", "float32"), ("float16", "float32"), ("uint8", "int32"), ("float8_e4m3fn", "float32")]:
    add("conv_%s_%s" % (a, out), lambda x, w, a=a, out=out: lax.conv_general_dilated(x.astype(a), w.astype(a), (1, 2), "SAME", preferred_element_type=jnp.dtype(out)), ints(2, 3, 7, 8, high=5), ints(4, 3, 3, 3, high=4))
for t in ["int4", "uint4", "int2", "uint2", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn", "bool", "int8", "uint16", "bfloat16"]:
    add("carry_" + t, lambda x, t=t: (lax.scan(lambda s, a: ((jnp.roll(s, 1), s.astype("float32") + a.astype("float32"))), x[0].astype(t), x.astype(t)), lax.fori_loop(0, 3, lambda i, s: jnp.where(i > 1, s[::-1], s), x[1].astype(t)).astype("float32"),
                                      lax.cond(x.sum() > 0, lambda a: a.astype(t), lambda a: (-a).astype(t) if t[0] in "if" and "e8" not in t else a.astype(t), x).astype("float32"), lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1][:, ::-1]), (0, x.astype(t)))[1].astype("float32"))[1:],
        np.abs(ints(3, 4, low=0, high=3)).astype(np.float32), no_hlo=t.startswith(("int2", "uint2")))
    add("moved_" + t, lambda x, i, t=t: [y.astype("float32") for y in (lambda a: (a.T, a[::-1], jnp.concatenate([a, a]), jnp.pad(a, 1), a.reshape(2, -1), a[i], jnp.where(a.astype("float32") > 1, a, a[::-1]), jnp.take_along_axis(a, jnp.argsort(x, 1), 1), jnp.broadcast_to(a[:, None], (4, 2, 3)), lax.dynamic_slice(a, (i[0], 0), (1, 2)), lax.dynamic_update_slice(a, a[:1], (i[0], 0)),
                                                                                    a.at[i].set(a[:2]), jnp.stack([a, a], 1), jnp.tile(a, (1, 2)), jnp.sort(a, 0) if t[-1] != "2" else a, lax.rev(a, (0, 1))))(x.astype(t))], np.abs(ints(4, 3, high=3)).astype(np.float32), ints(2, high=4), no_hlo=t.startswith(("int2", "uint2")))
add("weak_and_strong", lambda x, y: (x + 1, x * 2.5, y + 1, y / 2, jnp.power(x, 2), x ** y, jnp.where(y > 2, x, 0), jnp.clip(y, 1, 3), jnp.maximum(y, 2), 3 - x, 1 / (y + 1), y % 3, y // 2, -y, ~y, y << 2, jnp.float32(3) * y), f32(4), ints(4))
add("literals", lambda x: (x + jnp.asarray(np.array([np.inf, -np.inf, np.nan, 1e-40, -0.0], np.float32)), jnp.array([1, -1, 2 ** 31 - 1, -2 ** 31], jnp.int32) + x.astype("int32")[:4], jnp.array([1 + 2j, -1j]) * x[0], jnp.array([True, False]) & (x[:2] > 0), jnp.full((2, 3), 7, "uint8") + x[0].astype("uint8"), jnp.array([0.1, 0.2, 3e5], "bfloat16") * x[:3].astype("bfloat16"), jnp.array([0.1, 6e4], "float16")), f32(5))

# ---- sparse ----

for t in ["float32", "float64", "int32", "complex64"]:
    def sparse(x, v, t=t):
        s = jax.experimental.sparse
        m = s.BCOO.fromdense(x.astype(t), nse=12)
        b = s.BCOO.fromdense(jnp.stack([x, x * 2]).astype(t), nse=12, n_batch=1)
        return [m @ v.astype(t), (m.T @ v[:4].astype(t)), m.todense(), (m + m).todense(), (m * 3).todense(), m.sum(0).todense(), s.bcoo_dot_general(b, jnp.stack([v, v]).astype(t), dimension_numbers=(([2], [1]), ([0], [0]))), s.bcoo_transpose(m, permutation=(1, 0)).todense(), m[1:3].todense(), s.bcoo_reshape(m, new_sizes=(2, 10)).todense(),
                s.bcoo_concatenate([m, m], dimension=0).todense(), s.bcoo_sum_duplicates(m, nse=12).todense(), m.data, s.sparsify(lambda a, w: jnp.sum(a @ w))(m, v.astype(t))]
    table("sparse_of_" + t, lambda f=sparse: (f, (np.where(rng.random((4, 5)) < 0.5, f32(4, 5) * 3, 0).astype(np.float32), f32(5, 3))), x64=t == "float64", tol=1e-3)
add("sparse_bcsr", lambda x, v: (lambda m: (m @ v, m.todense(), m.to_bcoo().todense()))(jax.experimental.sparse.BCSR.fromdense(x, nse=10)), np.where(rng.random((4, 5)) < 0.4, f32(4, 5), 0).astype(np.float32), f32(5, 3), calls=["cpu_csr_sparse_dense_ffi"])
add("sparse_gradient", lambda x, v: jax.grad(lambda d: jnp.sum((jax.experimental.sparse.BCOO((d, jnp.array([[0, 1], [1, 3], [2, 0]])), shape=(4, 5)) @ v) ** 2))(x), f32(3), f32(5, 2))

# ---- less used operators ----

add("approximate_top", lambda x: (lax.approx_max_k(x, 3), lax.approx_min_k(x, 2, reduction_dimension=0)), f32(4, 9))
add("random_gamma_gradient", lambda a, x: lax.random_gamma_grad(a, x), np.abs(f32(6)) + 0.5, np.abs(f32(6)) + 0.3, tol=1e-3)
add("beta_functions", lambda a, b, x: (lax.betainc(a, b, x), lax.igamma(a, b), lax.igammac(a, b), lax.igamma_grad_a(a, b), lax.polygamma(1.0, a), lax.zeta(a + 1.5, b), lax.bessel_i0e(a), lax.bessel_i1e(b), lax.lgamma(a), lax.digamma(b), lax.erf_inv(x)), np.abs(f32(6)) + 0.5, np.abs(f32(6)) + 0.3, rng.random(6).astype(np.float32), tol=1e-3)
add("bit_counts", lambda x: (lax.clz(x), lax.population_count(x), lax.shift_left(x, jnp.int32(3)), lax.shift_right_arithmetic(x, jnp.int32(2)), lax.shift_right_logical(x, jnp.int32(2)), lax.shift_left(x, jnp.int32(40)), lax.shift_right_logical(x, jnp.int32(33)), lax.shift_right_arithmetic(x, jnp.int32(99))), ints(6, low=-2 ** 31, high=2 ** 31 - 1))
add("reduces_with_pairs", lambda x, i: (lax.reduce((x, i), (jnp.float32(-jnp.inf), jnp.int32(-1)), lambda a, b: tuple(jnp.where(a[0] >= b[0], p, q) for p, q in zip(a, b)), (1,)), lax.reduce(x, jnp.float32(1), lambda a, b: a * b + 0 * a, (0,)), lax.reduce(i, jnp.int32(0), lambda a, b: a ^ b, (0, 1)), lax.reduce_and(i, (0,)) if hasattr(lax, "reduce_and") else i), f32(4, 5), ints(4, 5))
add("window_pairs", lambda x, i: lax.reduce_window((x, i), (jnp.float32(-jnp.inf), jnp.int32(-1)), lambda a, b: tuple(jnp.where(a[0] >= b[0], p, q) for p, q in zip(a, b)), (2, 2), (2, 1), "VALID"), f32(6, 5), ints(6, 5))
add("windows_dilated", lambda x: (lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), ((1, 0), (2, 1)), base_dilation=(2, 1), window_dilation=(1, 2)), lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "SAME_LOWER"), lax.cumsum(x, 1, reverse=True), lax.reduce_window(x, 1.0, lax.mul, (1, 3), (1, 1), "SAME")), f32(6, 7))
add("select_n_cases", lambda i, x: (lax.select_n(i, x, x * 2, x * 3), lax.select_n(i > 1, x, -x)), ints(3, 4, high=3), f32(3, 4))
add("switch_batched", lambda i, x: jax.vmap(lambda j, a: lax.switch(j, [jnp.sin, lambda b: b * 2, lambda b: jnp.flip(b)], a))(i, x), ints(5, low=-1, high=5), f32(5, 3))
add("batched_gathers", lambda x, i: (jax.vmap(lambda a, j: a[j])(x, i), jax.vmap(lambda a, j: lax.dynamic_slice(a, (j[0],), (3,)))(x, i), jax.vmap(lambda a, j: a.at[j].add(1.0))(x, i), jax.vmap(jax.vmap(lambda a, j: a * j, (None, 0)), (0, 0))(x, i)), f32(4, 6), ints(4, 3, low=-2, high=8))
add("scatter_shapes", lambda x, i, u: (x.at[i[:, 0], i[:, 1]].add(u[:, 0]), x.at[i[:, 0]].multiply(u), x.at[:, i[:, 1]].min(u[:, :1].T), x.at[1:3, ::2].set(9.0), x.at[jnp.array([0, 0, 1])].max(u), x.at[i[:, 0], i[:, 1]].get(mode="fill", fill_value=-7.0), x.at[i[:, 0]].set(u, mode="drop"), x.at[..., 0].divide(2.0), x.at[np.array([True, False, True, False])].set(0.5), x.at[0].apply(jnp.exp), x.at[i[:, 0]].power(2.0)),
    np.abs(f32(4, 5)), ints(3, 2, low=-3, high=6), f32(3, 5))
add("ragged_products", lambda x, w, g: (lax.ragged_dot(x, w, g), lax.ragged_dot_general(x, w, g, lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))), f32(9, 4), f32(3, 4, 5), np.array([2, 0, 5], np.int32))
add("top_k_types", lambda x: [lax.top_k(x.astype(t), 3) for t in ("int32", "int8", "uint8", "float16", "bfloat16")], f32(4, 9) * 9)
add("sort_types", lambda x: [jnp.sort(x.astype(t), 1) for t in ("int8", "uint16", "float16", "bfloat16", "bool", "complex64")] + [jnp.argsort(x.astype(t), 1, stable=True, descending=True) for t in ("int32", "float16", "bool")] + list(lax.sort((x.astype("int8"), x), dimension=0, num_keys=1)), f32(4, 9) * 3)
add("special_sorts", lambda x: (jnp.sort(x), jnp.argsort(x), jnp.sort(x, descending=True), lax.top_k(x, 4), jnp.argmax(x), jnp.argmin(x), jnp.nanargmax(x), jnp.max(x), jnp.min(x), jnp.nanmax(x), jnp.partition(x, 3)[3], jnp.median(x), jnp.nanmedian(x), lax.cummax(x), lax.cummin(x)), np.array([1, np.nan, -0.0, 0.0, np.inf, -np.inf, 2, np.nan, -3], np.float32))
add("linalg_batched", lambda a: (jnp.linalg.inv(a), jnp.linalg.slogdet(a), jnp.linalg.solve(a, a[..., :1]), jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2) + 3 * jnp.eye(3)), jnp.linalg.eigvalsh(a + jnp.swapaxes(a, -1, -2)), jnp.linalg.svd(a, compute_uv=False), jnp.linalg.matrix_power(a, 3), jnp.linalg.pinv(a), jnp.linalg.matrix_norm(a), jnp.linalg.cond(a), jnp.linalg.multi_dot([a[0, 0], a[0, 1], a[1, 0]]), jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6), a[0, 0, :2]), jax.scipy.linalg.expm(a * 0.3), jnp.abs(jnp.linalg.qr(a)[1]), jnp.linalg.lstsq(a[0, 0], a[0, 1])[0], jnp.linalg.matrix_rank(a)), f32(2, 2, 3, 3), tol=5e-3)
add("linalg_symmetric", lambda a: (lax.linalg.symmetric_product(a, a @ a.T), lax.linalg.cholesky_update(jnp.linalg.cholesky(a @ a.T + 3 * jnp.eye(4)).T, a[0]), lax.linalg.lu_pivots_to_permutation(jnp.array([2, 3, 2, 3], jnp.int32), 4)), f32(4, 4), tol=1e-3)
add("fft_batched_types", lambda x: (jnp.fft.fft(x.astype("complex64"), axis=0), jnp.fft.rfftn(x), jnp.fft.irfft2(jnp.fft.rfft2(x), s=(6, 5)), jnp.fft.fftfreq(7), jnp.fft.fftshift(x), jnp.fft.hfft(x), jnp.fft.fft(x, n=11), jnp.fft.ifftn(x), jnp.fft.rfft(x, n=3, norm="ortho")), f32(6, 5), tol=1e-3)
add("image_ops", lambda x: (jax.image.resize(x, (3, 11, 3), "bilinear", antialias=False), jax.image.resize(x, (12, 4, 3), "lanczos3", antialias=True), jax.image.scale_and_translate(x, (7, 7, 3), (0, 1), jnp.array([1.3, 0.7]), jnp.array([0.2, -0.4]), "cubic", antialias=False)), f32(6, 8, 3), tol=1e-3)
add("hessian_vector", lambda x, v: (lambda f: (jax.jvp(jax.grad(f), (x,), (v,))[1], jax.vjp(jax.grad(f), x)[1](v)[0], jax.jacrev(jax.jacfwd(f))(x), jax.linearize(f, x)[1](v)))(lambda a: jnp.sum(jnp.exp(jnp.sin(a)) * a ** 3)), f32(5), f32(5), tol=1e-3)
add("double_where_grads", lambda x: (jax.grad(lambda a: jnp.sum(jnp.where(a > 0, jnp.sqrt(jnp.where(a > 0, a, 1)), 0)))(x), jax.grad(lambda a: jnp.linalg.norm(a + 1))(x), jax.grad(lambda a: jnp.sum(jnp.sort(a) * jnp.arange(5.0)))(x), jax.grad(lambda a: lax.top_k(a, 2)[0].sum())(x), jax.grad(lambda a: jnp.max(a) + jnp.median(a))(x), jax.grad(lambda a: jnp.prod(a))(x), jax.grad(lambda a: jnp.cumprod(a).sum())(x), jax.grad(lambda a: jnp.std(a))(x), jax.grad(lambda a: jnp.percentile(a, 30))(x)), f32(5))
add("conv_vjps", lambda x, w: jax.vjp(lambda a, b: lax.conv_general_dilated(a, b, (2, 1), ((1, 2), (0, 1)), lhs_dilation=(1, 2), rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2), x, w)[1](jnp.ones(jax.eval_shape(lambda a, b: lax.conv_general_dilated(a, b, (2, 1), ((1, 2), (0, 1)), lhs_dilation=(1, 2), rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2), x, w).shape)), f32(2, 7, 6, 4), f32(3, 2, 2, 6))
add("associative_tuples", lambda a, b: (lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)), lax.associative_scan(jnp.maximum, a, reverse=True), lax.associative_scan(lambda p, q: p @ q, a[:, :4].reshape(7, 2, 2)), jax.grad(lambda p: lax.associative_scan(jnp.multiply, p)[-1].sum())(a)), f32(7, 4), f32(7, 4))
add("integer_edges", lambda x: [f(x.astype(t)) for t in ("int8", "int16", "int32", "uint8", "uint32") for f in (lambda a: a // jnp.array(3, a.dtype), lambda a: a % jnp.array(3, a.dtype), lambda a: lax.div(a, jnp.array(2, a.dtype)), lambda a: lax.rem(a, jnp.array(5, a.dtype)), jnp.sign, jnp.abs, lambda a: a * a, lambda a: jnp.gcd(a, jnp.array(6, a.dtype)), lambda a: jnp.sum(a), lambda a: jnp.mean(a), lambda a: jnp.cumsum(a), lambda a: lax.pow(a.astype("float32"), a.astype("int32") % 4))], ints(7, low=-128, high=127))
add("complex_all", lambda x, y: (lambda z: (jnp.exp(z), jnp.log(z), jnp.sin(z), jnp.tanh(z), jnp.sqrt(z), z ** 2, z ** (1 + 1j), jnp.abs(z), jnp.angle(z), jnp.conj(z), z / (z + 1), jnp.cumsum(z), jnp.cumprod(z), jnp.sum(z), jnp.prod(z), z @ z, jnp.outer(z, z), jnp.sort_complex(z), jnp.fft.fft(z), jnp.where(x > 0, z, 0), jnp.arcsin(z), jnp.arctanh(z), jnp.cosh(z), jnp.log1p(z), jnp.expm1(z), lax.rsqrt(z), jnp.isfinite(z), z == z[::-1], jnp.mean(z), jnp.var(z), jnp.sign(z), jnp.cbrt(x), jnp.linalg.norm(z)))(x + 1j * y), f32(5), f32(5), tol=1e-3)

# ---- symbolic sizes ----


def sized(name, f, spec, *calls, **options):
    table("sized_" + name, lambda: (f,) + tuple(c if isinstance(c, tuple) else (c,) for c in calls), spec=spec, **options)


def two(*shapes):
    return [tuple(f32(*s) for s in (sh if isinstance(sh[0], tuple) else (sh,))) for sh in shapes]


sized("products_of_two", lambda x: x.reshape(x.shape[0] * x.shape[1], 4).reshape(x.shape[1], -1), "b, s, 4", *two((2, 3, 4), (5, 2, 4)))
sized("halves", lambda x: (x[: x.shape[0] // 2], x[x.shape[0] // 2:], x.reshape(2, x.shape[0] // 2, 3)), "2*b, 3", *two((4, 3), (10, 3)))
sized("plus_one", lambda x, y: x[1:] + y, ("b + 1, 3", "b, 3"), *two(((4, 3), (3, 3)), ((7, 3), (6, 3))))
sized("difference", lambda x, y: jnp.pad(y, ((0, x.shape[0] - y.shape[0]), (0, 0))) + x, ("a, 3", "b, 3"), *two(((4, 3), (3, 3)), ((9, 3), (6, 3))), constraints=("a >= b",))
sized("joined", lambda x, y: jnp.concatenate([x, y]), ("a, 3", "b, 3"), *two(((4, 3), (3, 3)), ((2, 3), (6, 3))))
sized("power", lambda x: jnp.outer(x, x).reshape(-1), "b", *two((3,), (5,)))
sized("mod", lambda x: jnp.roll(x, x.shape[0] % 3) * (x.shape[0] % 4), "b", *two((3,), (5,)))
sized("window_blocks", lambda x: x.reshape(x.shape[0], x.shape[1] // 4, 4, 8).mean(2) @ jnp.ones((8, 2)), "b, 4*n, 8", *two((2, 8, 8), (1, 12, 8)))
sized("unfold", lambda x: lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME"), "b, 2, h, w", *two((1, 2, 5, 6), (2, 2, 4, 7)))
sized("attention_two_lengths", lambda q, k: jax.nn.dot_product_attention(q, k, k, is_causal=False), ("b, t, 2, 8", "b, s, 2, 8"), *two(((2, 3, 2, 8), (2, 5, 2, 8)), ((1, 4, 2, 8), (1, 2, 2, 8))))
sized("resize_twice", lambda x: jax.image.resize(jax.image.resize(x, (x.shape[0], x.shape[1] * 2, x.shape[2] * 2, 3), "bilinear"), (x.shape[0], x.shape[1], x.shape[2], 3), "nearest"), "b, h, w, 3", *two((1, 4, 5, 3), (2, 3, 6, 3)))
sized("scan_over", lambda x: lax.scan(lambda c, a: (c * 0.9 + a, c), jnp.zeros(x.shape[1:]), x), "t, b", *two((4, 3), (6, 2)))
sized("while_to", lambda x: lax.while_loop(lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, jnp.zeros(3))), "b, 3", *two((4, 3), (6, 3)))
sized("triangle", lambda x: (jnp.tril(x), jnp.triu_indices(3), jnp.where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[1])[None], x, -jnp.inf)), "a, b", *two((4, 3), (6, 7)))
sized("norms", lambda x: ((x - x.mean((1, 2), keepdims=True)) / jnp.sqrt(x.var((1, 2), keepdims=True) + 1e-5), jax.nn.logsumexp(x, (1, 2))), "b, s, d", *two((2, 4, 3), (3, 6, 7)))
sized("mean_count", lambda x: x.sum() / (x.shape[0] * x.shape[1]) + jnp.arange(x.shape[0]).mean(), "b, s", *two((2, 4), (3, 6)))
sized("conv1d_strided", lambda x: lax.conv_general_dilated(x, jnp.ones((4, 3, 3)), (2,), [(1, 1)], dimension_numbers=("NCH", "OIH", "NCH")), "b, 3, t", *two((1, 3, 9), (2, 3, 12)), constraints=("t >= 3",))
sized("pool_ceil", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3), (1, 2), "SAME"), "b, t", *two((1, 9), (2, 12)))
sized("embedding_gradient", lambda e, x: jax.grad(lambda w: jnp.sum(w[jnp.abs(x * 2).astype(int) % 4] ** 2))(e), ("4, 3", "b, s"), *two(((4, 3), (2, 5)), ((4, 3), (3, 2))))
sized("vmapped_linalg", lambda x: jax.vmap(lambda a: jnp.linalg.inv(a @ a.T + jnp.eye(3)))(x), "b, 3, 3", *two((2, 3, 3), (4, 3, 3)))
sized("export_poly_in_jit", lambda x: jax.jit(lambda a: a.reshape(-1, a.shape[0]) @ a)(x), "b, 2*b", *two((2, 4), (3, 6)))
sized("einsum_ellipsis", lambda x, y: jnp.einsum("...ij,...jk->...ik", x, y), ("b, h, i, 4", "b, h, 4, k"), *two(((2, 3, 2, 4), (2, 3, 4, 5)), ((1, 2, 3, 4), (1, 2, 4, 6))))
sized("strides", lambda x: x[:: 2, 1:: 3], "a, b", *two((5, 8), (6, 9)), constraints=("a >= 2", "b >= 4"))
sized("negative_index", lambda x: (x[-1], x[-2:], x[:, -1:], x[::-1][:2]), "a, b", *two((5, 8), (6, 9)), constraints=("a >= 2",))
sized("floor_and_ceil", lambda x: (jnp.zeros((x.shape[0] + 3) // 4) + x[0], jnp.zeros(-(-x.shape[0] // 2)) + x[-1]), "b", *two((5,), (8,)))
