"""Factorisations and what is built on them. Signs and phases are free in some: those are recomposed."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import Table

table = Table()
rng = np.random.default_rng(1)


def matrix(*shape, dtype=np.float32):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def definite(n, dtype=np.float32, batch=()):
    a = matrix(*batch, n, n, dtype=dtype)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)).astype(dtype)


for d in ["float32", "float64", "complex64", "complex128"]:
    x64 = d in ("float64", "complex128")
    table("cholesky_" + d, lambda d=d: (lambda a, b: (jnp.linalg.cholesky(a), jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b)), (definite(5, d), matrix(5, 3, dtype=d))), x64=x64)
    table("lu_" + d, lambda d=d: (lambda a, b: (jax.scipy.linalg.lu(a), jnp.linalg.det(a), jnp.linalg.inv(a), jnp.linalg.solve(a, b), tuple(jnp.linalg.slogdet(a))), (matrix(5, 5, dtype=d), matrix(5, 3, dtype=d))), x64=x64, tol=1e-3)
    table("qr_" + d, lambda d=d: (lambda a: (tuple(jnp.linalg.qr(a)), tuple(jnp.linalg.qr(a, mode="complete")), jnp.linalg.qr(a.T, mode="r")), (matrix(6, 4, dtype=d),)), x64=x64, tol=1e-3)
    table("svd_" + d, lambda d=d: (lambda a: (lambda u, s, v: (s, (u * s[None, :].astype(a.dtype)) @ v, jnp.linalg.svd(a, compute_uv=False)))(*jnp.linalg.svd(a, full_matrices=False)), (matrix(6, 4, dtype=d),)), x64=x64, tol=1e-3)
    table("eigh_" + d, lambda d=d: (lambda a: (lambda w, v: (w, (v * w[None, :].astype(a.dtype)) @ jnp.conj(v.T), jnp.linalg.eigvalsh(a)))(*jnp.linalg.eigh(a)), (definite(5, d),)), x64=x64, tol=1e-3)
    table("eig_" + d, lambda d=d: (lambda a: (lambda w, v: (jnp.sort_complex(w), (v * w[None, :]) @ jnp.linalg.inv(v)))(*jnp.linalg.eig(a)), (matrix(5, 5, dtype=d),)), x64=x64, tol=2e-3)
    table("schur_" + d, lambda d=d: (lambda a: (lambda t, z: z @ t @ jnp.conj(z.T))(*jax.scipy.linalg.schur(a)), (matrix(5, 5, dtype=d),)), x64=x64, tol=1e-3)
    table("triangular_" + d, lambda d=d: (lambda a, b: (jax.scipy.linalg.solve_triangular(a, b, lower=True), jax.scipy.linalg.solve_triangular(a, b), jax.scipy.linalg.solve_triangular(a, b, trans=1, lower=True),
                                                        lax.linalg.triangular_solve(a, b.T, left_side=False, lower=True, conjugate_a=True, transpose_a=True)), (definite(5, d), matrix(5, 3, dtype=d))), x64=x64)
table("batched_factors", lambda: (lambda a: (jnp.linalg.cholesky(a), jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.eigvalsh(a), jnp.linalg.svd(a, compute_uv=False), jnp.linalg.qr(a)[1]), (definite(4, batch=(2, 3)),)), tol=1e-3)
table("linear_least_squares", lambda: (lambda a, b: (jnp.linalg.lstsq(a, b)[0], jnp.linalg.pinv(a), jnp.linalg.matrix_rank(a), jnp.linalg.cond(a)), (matrix(7, 4), matrix(7, 2))), tol=1e-3)
table("matrix_functions", lambda: (lambda a: (jax.scipy.linalg.expm(a), jnp.linalg.matrix_power(a, 5), jnp.linalg.matrix_power(a, -2), jnp.linalg.norm(a, 2), jnp.linalg.norm(a, "nuc"), jnp.linalg.multi_dot([a, a, a]), jnp.trace(a)), (definite(4) / 8,)), tol=1e-3)
table("sqrtm", lambda: (lambda a: jax.scipy.linalg.sqrtm(a), (definite(4),)), tol=1e-3)
table("polar_and_blocks", lambda: (lambda a: (jax.scipy.linalg.polar(a), jax.scipy.linalg.block_diag(a, a[:2, :2]), jax.scipy.linalg.toeplitz(a[0])), (matrix(4, 4),)), tol=1e-3)
table("hessenberg_and_tridiagonal", lambda: (lambda a: (jax.scipy.linalg.hessenberg(a), jnp.abs(lax.linalg.tridiagonal(a + a.T)[1])), (matrix(5, 5),)), tol=1e-3)
table("tridiagonal_solve", lambda: (lambda l, d, u, b: lax.linalg.tridiagonal_solve(l, d, u, b), (matrix(6), matrix(6) + 4, matrix(6), matrix(6, 2))))
table("factor_gradients", lambda: (jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a)) + jnp.linalg.slogdet(a)[1] + jnp.sum(jnp.linalg.inv(a)) + jnp.sum(jnp.linalg.eigh(a)[0] ** 2)), (definite(4),)), tol=1e-3)
table("svd_gradient", lambda: (jax.grad(lambda a: jnp.sum(jnp.linalg.svd(a, compute_uv=False) ** 3)), (matrix(4, 3),)), tol=2e-3)
table("gaussian_process", lambda: (lambda x, y, q: (lambda k: k(q, x) @ jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(k(x, x) + 0.1 * jnp.eye(len(x))), y))(
    lambda a, b: jnp.exp(-0.5 * jnp.sum((a[:, None] - b[None]) ** 2, -1))), (matrix(12, 2), matrix(12), matrix(5, 2))), tol=1e-3)
table("conjugate_gradients", lambda: (lambda a, b: (jax.scipy.sparse.linalg.cg(lambda x: a @ x, b)[0], jax.scipy.sparse.linalg.gmres(lambda x: a @ x, b)[0], jax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b)[0]), (definite(6), matrix(6))), tol=1e-3)
table("householder", lambda: (lambda a: lax.linalg.householder_product(a, a[0] * 0.1), (matrix(6, 4),)), tol=1e-3)
table("lu_pivots", lambda: (lambda a: lax.linalg.lu(a), (matrix(6, 4),)), tol=1e-3)
table("kalman_filter", lambda: (lambda f, h, q, r, z: lax.scan(lambda s, y: (lambda x, p: (lambda k: ((x + k @ (y - h @ x), p - k @ h @ p), x))(p @ h.T @ jnp.linalg.inv(h @ p @ h.T + r)))(f @ s[0], f @ s[1] @ f.T + q), (jnp.zeros(4), jnp.eye(4)), z),
                                (matrix(4, 4) * 0.4, matrix(2, 4), definite(4) * 0.1, definite(2), matrix(10, 2))), tol=1e-3)
