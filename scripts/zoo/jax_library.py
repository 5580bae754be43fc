"""What jax.nn, jax.random, jax.scipy, jax.numpy.linalg, jax.experimental, Optax and Flax offer, by family."""
import functools

import jax
import flax.linen
import jax.experimental.checkify
import jax.experimental.jet
import jax.experimental.sparse
import jax.numpy as jnp
import jax.scipy.cluster.vq
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.optimize
import jax.scipy.spatial.transform
import numpy as np
from jax import lax

from common import Table

table = Table()
rng = np.random.default_rng(6)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def pos(*shape):
    return (rng.random(shape) + 0.1).astype(np.float32)


def ints(*shape, low=0, high=9):
    return rng.integers(low, high, shape).astype(np.int32)


def family(name, functions, *args, **options):
    """One program that returns each function's results."""
    table(name, lambda: (lambda *a: [f(*a) for f in functions], args), **options)


def key(k):
    return jax.random.wrap_key_data(k)


KEY = np.array([3, 7], np.uint32)

# ---- jax.nn ----

family("nn_activations", [jax.nn.relu, jax.nn.relu6, jax.nn.sigmoid, jax.nn.softplus, jax.nn.sparse_plus, jax.nn.sparse_sigmoid, jax.nn.soft_sign, jax.nn.silu, jax.nn.log_sigmoid, jax.nn.leaky_relu, jax.nn.hard_sigmoid, jax.nn.hard_silu, jax.nn.hard_tanh, jax.nn.elu, jax.nn.celu, jax.nn.selu,
                          jax.nn.gelu, functools.partial(jax.nn.gelu, approximate=False), jax.nn.glu, jax.nn.squareplus, jax.nn.mish, jax.nn.identity, jax.nn.log_softmax, jax.nn.softmax, jax.nn.standardize, jax.nn.logsumexp], f32(3, 8) * 3)
family("nn_activation_gradients", [jax.vmap(jax.grad(f)) for f in (jax.nn.relu, jax.nn.relu6, jax.nn.softplus, jax.nn.sparse_plus, jax.nn.silu, jax.nn.log_sigmoid, jax.nn.hard_tanh, jax.nn.elu, jax.nn.celu, jax.nn.selu, jax.nn.gelu, jax.nn.mish, jax.nn.squareplus)], f32(12) * 2)
family("nn_masked", [lambda x, m: jax.nn.softmax(x, where=m), lambda x, m: jax.nn.log_softmax(x, where=m), lambda x, m: jax.nn.logsumexp(x, 1, where=m), lambda x, m: jax.nn.standardize(x, where=m), lambda x, m: jax.nn.logsumexp(x, 0, b=m * 2.0, return_sign=True), lambda x, m: jax.nn.logmeanexp(x, 1)], f32(3, 8), f32(3, 8) > -1)
family("nn_attention", [lambda q, k: jax.nn.dot_product_attention(q, k, k, bias=jnp.ones((1, 1, 5, 7))), lambda q, k: jax.nn.dot_product_attention(q, k, k, scale=0.2, local_window_size=2), lambda q, k: jax.nn.dot_product_attention(q, k, k, query_seq_lengths=jnp.array([3, 5]), key_value_seq_lengths=jnp.array([7, 2])),
                        lambda q, k: jax.nn.dot_product_attention(q, k[:, :, :2], k[:, :, :2], mask=jnp.arange(7) < 4)], f32(2, 5, 4, 8), f32(2, 7, 4, 8))
for name in ["glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal", "orthogonal", "delta_orthogonal", "truncated_normal"]:
    table("initializer_" + name, lambda name=name: (lambda k: getattr(jax.nn.initializers, name)()(key(k), (3, 3, 4, 6) if name[:5] == "delta" else (8, 6)), (KEY,)), tol=1e-3)

# ---- jax.random ----

DRAWS = {"ball": lambda k: jax.random.ball(k, 3, shape=(4,)), "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (9,)), "beta": lambda k: jax.random.beta(k, 2.0, 3.0, (5,)), "binomial": lambda k: jax.random.binomial(k, 12.0, 0.4, (6,)), "bits": lambda k: jax.random.bits(k, (5,), "uint8"),
         "categorical": lambda k: jax.random.categorical(k, jnp.arange(12.0).reshape(3, 4)), "cauchy": lambda k: jax.random.cauchy(k, (6,)), "chisquare": lambda k: jax.random.chisquare(k, 3.0, shape=(5,)), "choice": lambda k: jax.random.choice(k, 10, (4,), replace=False), "choice_weighted": lambda k: jax.random.choice(k, 5, (6,), p=jnp.arange(5.0) / 10),
         "dirichlet": lambda k: jax.random.dirichlet(k, jnp.arange(1.0, 4), (3,)), "double_sided_maxwell": lambda k: jax.random.double_sided_maxwell(k, 1.0, 2.0, (5,)), "exponential": lambda k: jax.random.exponential(k, (6,)), "f": lambda k: jax.random.f(k, 3.0, 5.0, shape=(4,)), "gamma": lambda k: jax.random.gamma(k, jnp.array([0.3, 2.0, 5.0])),
         "generalized_normal": lambda k: jax.random.generalized_normal(k, 1.5, (4,)), "geometric": lambda k: jax.random.geometric(k, 0.2, (8,)), "gumbel": lambda k: jax.random.gumbel(k, (6,)), "laplace": lambda k: jax.random.laplace(k, (6,)), "loggamma": lambda k: jax.random.loggamma(k, 0.2, (5,)), "logistic": lambda k: jax.random.logistic(k, (6,)),
         "lognormal": lambda k: jax.random.lognormal(k, 0.5, (6,)), "maxwell": lambda k: jax.random.maxwell(k, (5,)), "multinomial": lambda k: jax.random.multinomial(k, 10, jnp.array([0.2, 0.3, 0.5])), "multivariate_normal": lambda k: jax.random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) + 0.3, (4,)), "normal": lambda k: jax.random.normal(k, (7,), "bfloat16"),
         "orthogonal": lambda k: jax.random.orthogonal(k, 4), "pareto": lambda k: jax.random.pareto(k, 2.0, (5,)), "permutation": lambda k: (jax.random.permutation(k, 9), jax.random.permutation(k, jnp.arange(12).reshape(3, 4), axis=1, independent=True)), "poisson": lambda k: jax.random.poisson(k, jnp.array([0.5, 3.0, 40.0])), "rademacher": lambda k: jax.random.rademacher(k, (8,)),
         "randint": lambda k: (jax.random.randint(k, (6,), -3, 90), jax.random.randint(k, (6,), 0, 250, "uint8")), "rayleigh": lambda k: jax.random.rayleigh(k, 2.0, (5,)), "t": lambda k: jax.random.t(k, 4.0, (5,)), "triangular": lambda k: jax.random.triangular(k, 0.0, 1.0, 3.0, (5,)), "truncated_normal": lambda k: jax.random.truncated_normal(k, -1.0, 2.0, (6,)),
         "uniform": lambda k: (jax.random.uniform(k, (5,), minval=-2, maxval=3), jax.random.uniform(k, (5,), "float16")), "wald": lambda k: jax.random.wald(k, 1.5, (5,)), "weibull_min": lambda k: jax.random.weibull_min(k, 1.0, 2.0, (5,)),
         "keys": lambda k: (jax.random.key_data(jax.random.split(k, 3)), jax.random.key_data(jax.random.fold_in(k, 5)), jax.vmap(lambda q: jax.random.normal(q, (2,)))(jax.random.split(k, 4)))}
for name, draw in DRAWS.items():
    table("random_" + name, lambda draw=draw: (lambda k: draw(key(k)), (KEY,)), tol=1e-3)

# ---- jax.scipy ----

S = jax.scipy.special
family("special_bessel", [S.i0, S.i0e, S.i1, S.i1e, lambda x: S.bessel_jn(x, v=3, n_iter=30)], f32(5), tol=1e-3)
family("special_gamma", [S.gamma, S.gammaln, S.gammasgn, S.digamma, lambda x: S.polygamma(2, x), S.factorial, lambda x: S.poch(x, 2.0), lambda x: S.betaln(x, x + 1), lambda x: S.beta(x, 2.0), lambda x: S.gammainc(x, 1.5), lambda x: S.gammaincc(1.5, x), lambda x: S.multigammaln(x + 2, 2), lambda x: S.betainc(x, 2.0, 0.3)], pos(6) * 3, tol=1e-3)
family("special_errors", [S.erf, S.erfc, S.erfinv, S.ndtr, S.ndtri, S.log_ndtr, S.expit, S.logit, S.log_softmax, S.softmax, S.logsumexp, S.entr, lambda x: S.xlog1py(x, x), lambda x: S.xlogy(x, x), lambda x: S.rel_entr(x, 1 - x), lambda x: S.kl_div(x, 1 - x), S.sici, S.spence, S.expi, S.exp1, lambda x: S.expn(2, x), S.fresnel], rng.uniform(0.05, 0.95, 7).astype(np.float32), tol=1e-3)
family("special_more", [lambda x: S.zeta(x + 1.5, 2.0), lambda x: S.hyp1f1(1.2, 2.5, x), lambda x: S.hyp2f1(0.5, 1.0, 1.5, x / 2), lambda x: S.bernoulli(6) * x[0], lambda x: S.lpmn_values(2, 2, x, True) if hasattr(S, "lpmn_values") else x, lambda x: S.owens_t(x, 0.5) if hasattr(S, "owens_t") else x], rng.uniform(0.1, 0.9, 4).astype(np.float32), tol=2e-3)
for name, arguments in {"norm": (), "beta": (2.0, 3.0), "cauchy": (), "chi2": (3.0,), "expon": (), "gamma": (2.0,), "gennorm": (1.5,), "laplace": (), "logistic": (), "pareto": (1.5,), "t": (4.0,), "truncnorm": (-1.0, 2.0), "uniform": (), "gumbel_r": (), "gumbel_l": (), "rayleigh": (), "wrapcauchy": (0.4,)}.items():
    d = getattr(jax.scipy.stats, name, None)
    if d is not None:
        family("stats_" + name, [lambda x, f=f, more=arguments: f(x, *more) for f in (getattr(d, m, None) for m in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")) if f is not None], rng.uniform(0.05, 0.95, 6).astype(np.float32), tol=2e-3)
family("stats_discrete", [lambda k: jax.scipy.stats.bernoulli.pmf(k % 2, 0.3), lambda k: jax.scipy.stats.binom.pmf(k, 9, 0.3), lambda k: jax.scipy.stats.geom.pmf(k, 0.3), lambda k: jax.scipy.stats.nbinom.pmf(k, 4, 0.3), lambda k: jax.scipy.stats.poisson.pmf(k, 2.0), lambda k: jax.scipy.stats.poisson.cdf(k, 2.0), lambda k: jax.scipy.stats.betabinom.pmf(k, 9, 2.0, 3.0), lambda k: jax.scipy.stats.multinomial.pmf(k, k.sum(), jnp.ones(5) / 5)], ints(5, low=1, high=6), tol=1e-3)
family("stats_summaries", [jax.scipy.stats.mode, jax.scipy.stats.rankdata, jax.scipy.stats.sem, lambda x: jax.scipy.stats.multivariate_normal.logpdf(x, jnp.zeros(4), jnp.eye(4) + 0.1), lambda x: jax.scipy.stats.gaussian_kde(x.T)(x.T[:, :2]), lambda x: jax.scipy.stats.dirichlet.logpdf(jax.nn.softmax(x[0]), jnp.ones(4) * 2), lambda x: jax.scipy.stats.vonmises.pdf(x, 1.5)], f32(7, 4), tol=1e-3)
G = jax.scipy.signal
family("signal_filters", [lambda x: G.convolve(x, x[:3]), lambda x: G.correlate(x, x[:4], mode="same"), G.detrend, lambda x: G.welch(x, nperseg=8), lambda x: G.csd(x, x[::-1], nperseg=8), lambda x: G.stft(x, nperseg=8)[2], lambda x: G.istft(G.stft(x, nperseg=8)[2], nperseg=8)[1], lambda x: G.fftconvolve(x, x[:5], mode="valid")], f32(32), tol=1e-3)
family("signal_two_dims", [lambda x, k: G.convolve2d(x, k, mode="same", boundary="fill"), lambda x, k: G.correlate2d(x, k), lambda x, k: G.fftconvolve(x, k, mode="same")], f32(8, 9), f32(3, 3), tol=1e-3)
family("scipy_fft", [lambda x: jax.scipy.fft.dct(x), lambda x: jax.scipy.fft.idct(x), lambda x: jax.scipy.fft.dctn(x), lambda x: jax.scipy.fft.idctn(x, norm="ortho")], f32(4, 8), tol=1e-3)
family("scipy_linalg", [jax.scipy.linalg.expm, lambda a: jax.scipy.linalg.block_diag(a, a[:2]), lambda a: jax.scipy.linalg.toeplitz(a[0]), lambda a: jax.scipy.linalg.hilbert(4), lambda a: jax.scipy.linalg.pascal(4), lambda a: jax.scipy.linalg.solve(a @ a.T + jnp.eye(4), a, assume_a="pos"), lambda a: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a @ a.T + jnp.eye(4)), True), a), lambda a: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), a[0]),
                        lambda a: jax.scipy.linalg.eigh_tridiagonal(a[0], a[1, :3], eigvals_only=True), lambda a: jax.scipy.linalg.det(a), lambda a: jax.scipy.linalg.circulant(a[0]) if hasattr(jax.scipy.linalg, "circulant") else a], f32(4, 4), tol=2e-3)
family("scipy_others", [lambda x: jax.scipy.integrate.trapezoid(x), lambda x: jax.scipy.cluster.vq.vq(x, x[:3]), lambda x: jax.scipy.ndimage.map_coordinates(x, [jnp.array([0.5, 2.2, 9.0]), jnp.array([1.5, 0.1, -2.0])], order=1, mode="mirror"), lambda x: jax.scipy.spatial.transform.Rotation.from_euler("xyz", x[:, :3]).as_matrix(), lambda x: jax.scipy.spatial.transform.Rotation.from_rotvec(x[:, :3]).as_quat(),
                        lambda x: jax.scipy.interpolate.RegularGridInterpolator((jnp.arange(6.0), jnp.arange(4.0)), x)(jnp.array([[1.5, 2.5], [0.2, 0.9]])), lambda x: jax.scipy.sparse.linalg.cg(lambda v: x.T @ (x @ v) + v, x[0])[0], lambda x: jax.scipy.sparse.linalg.gmres(x[:4] + 4 * jnp.eye(4), x[0])[0], lambda x: jax.scipy.sparse.linalg.bicgstab(x[:4] + 4 * jnp.eye(4), x[0])[0]], f32(6, 4), tol=3e-3)
table("minimise_bfgs", lambda: (lambda x: jax.scipy.optimize.minimize(lambda v: jnp.sum((v - 1) ** 2 * jnp.arange(1.0, 4)), x, method="BFGS").x, (f32(3),)), tol=2e-3)

# ---- jax.numpy and jax.lax, what the other tables lack ----

family("linalg_norms", [lambda a: jnp.linalg.norm(a, 1), lambda a: jnp.linalg.norm(a, "fro"), lambda a: jnp.linalg.norm(a, "nuc"), lambda a: jnp.linalg.norm(a, -2), lambda a: jnp.linalg.norm(a, jnp.inf), lambda a: jnp.linalg.cond(a), lambda a: jnp.linalg.matrix_rank(a), lambda a: jnp.linalg.slogdet(a), lambda a: jnp.linalg.matrix_norm(a), lambda a: jnp.linalg.vector_norm(a, ord=3), lambda a: jnp.linalg.tensorsolve(a, a[0]), lambda a: jnp.linalg.tensorinv(a, 1), lambda a: jnp.linalg.cross(a[:, :3], a[:, 1:]), lambda a: jnp.linalg.matrix_transpose(a), lambda a: jnp.linalg.outer(a[0], a[1]), lambda a: jnp.linalg.svdvals(a), lambda a: jnp.linalg.vecdot(a, a), lambda a: jnp.linalg.pinv(a, hermitian=False), lambda a: jnp.linalg.diagonal(a, offset=1), lambda a: jnp.linalg.trace(a)], f32(4, 4), tol=3e-3)
family("numpy_pads", [lambda x, m=m: jnp.pad(x, ((2, 1), (1, 3)), mode=m) for m in ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap", "empty")], np.abs(f32(5, 4)))
family("numpy_apply", [lambda x: jnp.apply_along_axis(jnp.sort, 0, x), lambda x: jnp.apply_over_axes(jnp.sum, x, [0, 1]), lambda x: jnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x), lambda x: jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)(x, x), lambda x: jnp.add.accumulate(x, 1), lambda x: jnp.multiply.reduce(x, 0), lambda x: jnp.add.reduceat(x[0], jnp.array([0, 2, 3])), lambda x: jnp.add.at(x, (jnp.array([0, 0]),), 1.0, inplace=False), lambda x: jnp.subtract.outer(x[0], x[1])], f32(4, 5))
family("numpy_unusual", [lambda x: jnp.unwrap(x * 3), lambda x: jnp.trapezoid(x, axis=0), lambda x: jnp.nanpercentile(x, 30, axis=1), lambda x: jnp.histogramdd(x, bins=3)[0], lambda x: jnp.histogram2d(x[0], x[1], bins=4)[0], lambda x: jnp.tri(3, 5, -1), lambda x: jnp.tril_indices(4), lambda x: jnp.triu_indices_from(x[:, :4]), lambda x: jnp.diag_indices(3), lambda x: jnp.unravel_index(jnp.array([3, 11]), (4, 5)), lambda x: jnp.ravel_multi_index((jnp.array([1, 2]), jnp.array([3, 9])), (4, 5), mode="clip"), lambda x: jnp.rollaxis(x, 1), lambda x: jnp.spacing(x), lambda x: jnp.bartlett(5) * x[0, 0], lambda x: jnp.kaiser(6, 4.0), lambda x: jnp.geomspace(1.0, 8.0, 4), lambda x: jnp.cumulative_sum(x, axis=1, include_initial=True), lambda x: jnp.correlate(x[0], x[1], mode="same"), lambda x: jnp.roots(jnp.array([1.0, -3, 2]), strip_zeros=False).real, lambda x: jnp.poly(x[0, :3]), lambda x: jnp.polyfit(jnp.arange(5.0), x[0], 2), lambda x: jnp.packbits(x > 0, axis=1), lambda x: jnp.unpackbits(jnp.array([3, 200], "uint8"), bitorder="little")], f32(4, 5), tol=1e-3)
family("numpy_sets", [lambda x: jnp.unique(x, axis=0, size=4), lambda x: jnp.union1d(x[0], x[1], size=8), lambda x: jnp.intersect1d(x[0], x[1], size=4, fill_value=-1, return_indices=True), lambda x: jnp.setxor1d(x[0], x[1], size=8), lambda x: jnp.unique_counts(x, size=5), lambda x: jnp.unique_inverse(x, size=5), lambda x: jnp.bincount(x[0], weights=x[1] * 0.5, length=9), lambda x: jnp.argpartition(x, 2, axis=1).sum(1), lambda x: jnp.partition(x, 2, axis=1)[:, 2], lambda x: jnp.sort_complex(x * 1j), lambda x: jnp.searchsorted(jnp.sort(x[0]), x[1], method="compare_all")], ints(4, 5, high=5))
family("lax_unusual", [lambda x: lax.cumlogsumexp(x, 1, reverse=True), lambda x: lax.reduce_precision(x, 4, 3), lambda x: lax.integer_pow(x, -3), lambda x: lax.round(x * 3, lax.RoundingMethod.AWAY_FROM_ZERO), lambda x: lax.betainc(jnp.abs(x) + 1, jnp.abs(x) + 2, lax.logistic(x)), lambda x: lax.random_gamma_grad(jnp.abs(x) + 1, jnp.abs(x)), lambda x: lax.igamma_grad_a(jnp.abs(x) + 1, jnp.abs(x)), lambda x: lax.approx_min_k(x, 2)[0], lambda x: lax.top_k(x, 3), lambda x: lax.optimization_barrier((x, x + 1)), lambda x: lax.dynamic_update_index_in_dim(x, x[0], 2, 0), lambda x: lax.sort_key_val(x[0], x[1]), lambda x: lax.broadcasted_iota("bfloat16", (2, 3), 1), lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), ((1, 0), (0, 0))), lambda x: lax.batch_matmul(x[None], x.T[None]), lambda x: lax.slice_in_dim(x, -3, None, 2), lambda x: lax.split(x, (1, 2, 1), 0), lambda x: lax.population_count(lax.bitcast_convert_type(x, "uint32")), lambda x: lax.nextafter(x, -x), lambda x: lax.zeta(jnp.abs(x) + 2, 1.0), lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)], f32(4, 5), tol=1e-3)
family("lax_linalg", [lambda a: lax.linalg.cholesky(a @ a.T + jnp.eye(5)), lambda a: lax.linalg.lu(a), lambda a: jnp.abs(lax.linalg.qr(a, full_matrices=True)[1]), lambda a: lax.linalg.triangular_solve(jnp.tril(a) + 3 * jnp.eye(5), a, left_side=True, lower=True, transpose_a=True), lambda a: lax.linalg.symmetric_product(a, jnp.eye(5)), lambda a: lax.linalg.cholesky_update(jnp.eye(5) * 2, a[0]) if hasattr(lax.linalg, "cholesky_update") else a, lambda a: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(a)[1], 5)], f32(5, 5), tol=1e-3)
family("sparse_bcoo", [lambda x, v: jax.experimental.sparse.BCOO((x[0, :4], jnp.array([[0, 1], [1, 3], [2, 0], [4, 4]])), shape=(5, 5)) @ v, lambda x, v: jax.experimental.sparse.BCOO((x[0, :4], jnp.array([[0, 1], [1, 3], [2, 0], [4, 4]])), shape=(5, 5)).todense(), lambda x, v: jax.experimental.sparse.BCOO.fromdense(jnp.where(x > 0, x, 0), nse=25) @ v], f32(5, 5), f32(5))
table("hessian_and_laplacian", lambda: (lambda x: (lambda g: (jax.hessian(g)(x), jnp.trace(jax.jacfwd(jax.grad(g))(x)), jax.jvp(jax.grad(g), (x,), (jnp.ones_like(x),))[1]))(lambda v: jnp.sum(jnp.sin(v) * v[::-1] ** 2)), (f32(5),)))
table("taylor_and_linearize", lambda: (lambda x: (jax.experimental.jet.jet(jnp.sin, (x,), ((jnp.ones_like(x), jnp.zeros_like(x)),)), jax.linearize(jnp.tanh, x)[1](x), jax.linear_transpose(lambda v: 3 * v[::-1], x)(x)), (f32(4),)))
table("vmaps_of_everything", lambda: (lambda a, b: (jax.vmap(jnp.dot, (0, None))(a, b), jax.vmap(jax.vmap(jnp.outer))(a[None], a[None]), jax.vmap(lambda r, i: lax.dynamic_slice(r, (i,), (2,)), (0, 0))(a, jnp.arange(3)), jax.vmap(lambda r, i: r.at[i].set(0.0))(a, jnp.arange(3)), jax.vmap(jnp.interp, (0, None, None))(a, jnp.arange(4.0), b), jax.vmap(jnp.convolve, (0, None))(a, b[:2]), jax.vmap(jnp.linalg.inv)(a[:, :, None] * jnp.eye(4) + jnp.eye(4) * 3), jax.vmap(lambda r: jnp.searchsorted(jnp.sort(r), 0.1))(a), jax.vmap(lambda r: jnp.bincount(jnp.abs(r * 2).astype(int), length=4))(a)), (f32(3, 4), f32(4))), tol=1e-3)
table("sharded_on_one", lambda: (lambda x: jax.shard_map(lambda a: lax.psum(a * 2, "i") + lax.axis_index("i") + lax.all_gather(a, "i", tiled=True) + lax.ppermute(a, "i", [(0, 0)]) + lax.pmean(a, "i") + lax.psum_scatter(a, "i", tiled=True), mesh=jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,)), in_specs=jax.sharding.PartitionSpec("i"), out_specs=jax.sharding.PartitionSpec("i"), check_vma=False)(x), (f32(4, 3),)))
table("collectives_by_vmap", lambda: (lambda x: jax.vmap(lambda a: (lax.psum(a, "i"), lax.pmax(a, "i"), lax.all_gather(a, "i"), lax.axis_index("i"), lax.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]), lax.all_to_all(a, "i", 0, 0), lax.pshuffle(a, "i", [2, 0, 1])), axis_name="i")(x), (f32(3, 3),)))
table("custom_jvp_and_batching", lambda: (custom_rules, (f32(5),)))
table("error_checks_passed", lambda: (lambda x: jax.experimental.checkify.checkify(lambda v: jnp.log(v), errors=jax.experimental.checkify.float_checks)(x)[1], (pos(4),)))


def custom_rules(x):
    @jax.custom_jvp
    def softclip(v):
        return jnp.where(v > 1, 1 + jnp.log(v), v)

    softclip.defjvp(lambda p, t: (softclip(p[0]), t[0] * jnp.where(p[0] > 1, 1 / p[0], 1.0)))

    @jax.custom_batching.custom_vmap
    def doubled(v):
        return v * 2

    doubled.def_vmap(lambda n, b, v: (v * 2 + 0.5, True))
    return jax.vmap(jax.grad(softclip))(jnp.abs(x) + 0.2), jax.vmap(doubled)(x), jax.remat(lambda v: jnp.sin(jnp.sin(v)))(x), jax.closure_convert(lambda v: v * x[0], x)[0](x, *jax.closure_convert(lambda v: v * x[0], x)[1])


# ---- Optax: a step of each ----

PARAMETERS = {"w": f32(4, 3), "b": f32(3)}
OPTIMISERS = ["adabelief", "adadelta", "adan", "adamax", "adamaxw", "amsgrad", "fromage", "lars", "nadam", "nadamw", "noisy_sgd", "novograd", "optimistic_gradient_descent", "rprop", "sign_sgd", "sm3", "polyak_sgd", "adopt", "muon", "lbfgs"]


def optax_steps(name):
    import optax

    def run(p, x, y):
        o = getattr(optax.contrib if not hasattr(optax, name) else optax, name)(**({} if name in ("lbfgs", "polyak_sgd") else {"learning_rate": 0.05}))
        loss = lambda q: jnp.mean((jnp.tanh(x @ q["w"]) + q["b"] - y) ** 2)  # noqa: E731
        state = o.init(p)
        for _ in range(3):
            value, g = jax.value_and_grad(loss)(p)
            extra = {"value": value, "grad": g, "value_fn": loss} if name == "lbfgs" else {"value": value} if name == "polyak_sgd" else {}
            u, state = o.update(g, state, p, **extra)
            p = optax.apply_updates(p, u)
        return p
    return run, (PARAMETERS, f32(6, 4), f32(6, 3))


for name in OPTIMISERS:
    table("optimiser_" + name, lambda name=name: optax_steps(name), tol=2e-3)


def optax_parts(p, x, step):
    import optax
    o = optax.chain(optax.clip_by_global_norm(0.5), optax.add_decayed_weights(0.1), optax.scale_by_adam(), optax.centralize(), optax.ema(0.9), optax.scale_by_schedule(optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 20)), optax.keep_params_nonnegative())
    s = o.init(p)
    schedules = [optax.cosine_decay_schedule(1.0, 10), optax.exponential_decay(1.0, 5, 0.9, staircase=True), optax.piecewise_constant_schedule(1.0, {3: 0.5, 6: 0.1}), optax.linear_onecycle_schedule(20, 1.0), optax.polynomial_schedule(1.0, 0.1, 2, 9), optax.sgdr_schedule([dict(init_value=0.0, peak_value=1.0, decay_steps=9, warmup_steps=2, end_value=0.0)]), optax.join_schedules([optax.constant_schedule(1.0), optax.linear_schedule(1.0, 0.0, 5)], [4])]
    return o.update(jax.tree.map(lambda a: a * x, p), s, p)[0], [f(step) for f in schedules], optax.global_norm(p), optax.projections.projection_simplex(p["b"]), optax.tree.norm(p)


table("optax_parts", lambda: (optax_parts, (PARAMETERS, np.float32(0.3), np.int32(7))), tol=1e-3)


def optax_losses(x, y, i):
    import optax
    n = optax.losses
    return [n.squared_error(x, y), n.l2_loss(x, y), n.huber_loss(x, y), n.log_cosh(x, y), n.cosine_distance(x, y), n.softmax_cross_entropy(x, jax.nn.softmax(y)), n.softmax_cross_entropy_with_integer_labels(x, i), n.sigmoid_binary_cross_entropy(x, y > 0), n.hinge_loss(x, jnp.sign(y)), n.kl_divergence(jax.nn.log_softmax(x), jax.nn.softmax(y)), n.ntxent(x, i % 2), n.sigmoid_focal_loss(x, y > 0), n.poly_loss_cross_entropy(x, jax.nn.softmax(y)),
            n.safe_softmax_cross_entropy(x, jax.nn.softmax(y)), n.triplet_margin_loss(x, y, x + y), n.ranking_softmax_loss(x, y), n.sparsemax_loss(x[0], y[0] > 0), n.ctc_loss(jnp.stack([x, y]), jnp.zeros((2, 4)), jnp.array([[1, 2], [2, 3]]), jnp.zeros((2, 2)))]


table("optax_more_losses", lambda: (optax_losses, (f32(4, 5), f32(4, 5), ints(4, high=5))), tol=1e-3)

# ---- Flax ----


def nnx_module(make, *args, **kwargs):
    from flax import nnx
    m = make(nnx)
    graph, state = nnx.split(m)
    flat, tree = jax.tree.flatten(state)
    return (lambda leaves, *a: nnx.merge(graph, jax.tree.unflatten(tree, leaves))(*a, **kwargs)), (flat,) + args


def r(nnx):
    return nnx.Rngs(0)


for name, make, args in [("linear_general", lambda x: x.LinearGeneral((4, 2), (3, 5), axis=(-2, -1), rngs=r(x)), (f32(2, 4, 2),)), ("conv_same", lambda x: x.Conv(3, 8, (3, 3), strides=2, rngs=r(x)), (f32(1, 8, 8, 3),)), ("conv_circular", lambda x: x.Conv(3, 6, (3,), padding="CIRCULAR", feature_group_count=3, rngs=r(x)), (f32(2, 9, 3),)), ("conv_causal", lambda x: x.Conv(3, 6, (3,), padding="CAUSAL", kernel_dilation=2, rngs=r(x)), (f32(2, 9, 3),)),
                         ("conv_transpose", lambda x: x.ConvTranspose(3, 5, (3, 3), strides=(2, 2), rngs=r(x)), (f32(1, 5, 5, 3),)), ("batch_norm", lambda x: x.BatchNorm(5, use_running_average=True, rngs=r(x)), (f32(4, 5),)), ("layer_norm", lambda x: x.LayerNorm(6, rngs=r(x)), (f32(2, 6),)), ("rms_norm", lambda x: x.RMSNorm(6, rngs=r(x)), (f32(2, 6),)), ("group_norm", lambda x: x.GroupNorm(6, num_groups=3, rngs=r(x)), (f32(2, 4, 6),)), ("instance_norm", lambda x: x.InstanceNorm(6, rngs=r(x)), (f32(2, 4, 4, 6),)),
                         ("weight_norm", lambda x: x.WeightNorm(x.Linear(4, 3, rngs=r(x)), rngs=r(x)), (f32(2, 4),)), ("embed", lambda x: x.Embed(9, 4, rngs=r(x)), (ints(2, 3),)), ("attention", lambda x: x.MultiHeadAttention(2, 8, decode=False, rngs=r(x)), (f32(2, 5, 8),)), ("attention_cross", lambda x: x.MultiHeadAttention(2, 8, qkv_features=16, out_features=6, decode=False, rngs=r(x)), (f32(2, 5, 8), f32(2, 7, 8))), ("lora", lambda x: x.LoRALinear(4, 6, lora_rank=2, rngs=r(x)), (f32(3, 4),)), ("prelu", lambda x: x.PReLU(), (f32(3, 4),)),
                         ("rnn_lstm", lambda x: x.RNN(x.LSTMCell(4, 6, rngs=r(x))), (f32(2, 5, 4),)), ("rnn_gru", lambda x: x.RNN(x.GRUCell(4, 6, rngs=r(x)), reverse=True, keep_order=True), (f32(2, 5, 4),)), ("rnn_bidirectional", lambda x: x.Bidirectional(x.RNN(x.SimpleCell(4, 3, rngs=r(x))), x.RNN(x.SimpleCell(4, 3, rngs=r(x)))), (f32(2, 5, 4),)), ("rnn_optimised", lambda x: x.RNN(x.OptimizedLSTMCell(4, 6, rngs=r(x))), (f32(2, 5, 4),)),
                         ("sequential", lambda x: x.Sequential(x.Linear(4, 8, rngs=r(x)), x.gelu, x.LayerNorm(8, rngs=r(x)), x.Linear(8, 2, rngs=r(x))), (f32(3, 4),)), ("einsum", lambda x: x.Einsum("bd,dhk->bhk", (4, 2, 3), (2, 3), rngs=r(x)), (f32(3, 4),)), ("spectral_norm", lambda x: x.SpectralNorm(x.Linear(4, 3, rngs=r(x)), rngs=r(x)), (f32(2, 4),))]:
    table("nnx_" + name, lambda make=make, args=args: nnx_module(make, *args), tol=1e-3)
family("flax_pools", [lambda x: flax.linen.avg_pool(x, (2, 2), strides=(2, 2)), lambda x: flax.linen.max_pool(x, (3, 3), strides=(2, 2), padding="SAME"), lambda x: flax.linen.avg_pool(x, (3, 3), padding="SAME", count_include_pad=False)], f32(1, 7, 7, 3))
