#!/usr/bin/env python3
"""Makes test/hlo_exec/linalg_*: what JAX on CPU lowers factors, solutions, eigenvalues and singular values to, random
matrices, and what JAX computes. Needs jax and jaxlib with scipy's LAPACK.

usage: make_linalg_cases.py DIR [TYPE...]     default float32 float64 complex64 complex128; the tree has float32 complex128
"""
import json
import os
import sys

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax._src.lax.linalg import geqrf

jax.config.update("jax_enable_x64", True)
random = np.random.RandomState(5)


def matrix(dtype, *shape):
    x = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def symmetric(dtype, *shape):
    x = matrix(dtype, *shape)
    return (x + np.conj(np.swapaxes(x, -1, -2))).astype(dtype)


def positive(dtype, *shape):
    x = matrix(dtype, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


# Vectors are unique but for a factor of modulus 1, which another LAPACK may choose otherwise.
def recomposed_eigh(x):
    w, v = jnp.linalg.eigh(x)
    return w, jnp.abs(v), (v * w[..., None, :]) @ jnp.conj(jnp.swapaxes(v, -1, -2))


def recomposed_eig(x):
    w, v = jnp.linalg.eig(x)
    return w, jnp.abs(v), x @ v - v * w[..., None, :]


def recomposed_svd(x, full):
    u, s, vh = jnp.linalg.svd(x, full_matrices=full)
    k = s.shape[-1]
    return s, jnp.abs(u[..., :k]), (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], u @ jnp.conj(jnp.swapaxes(u, -1, -2))


def recomposed_schur(x):
    t, q = lax.linalg.schur(x)
    return jnp.tril(t, -2), q @ jnp.conj(jnp.swapaxes(q, -1, -2)), q @ t @ jnp.conj(jnp.swapaxes(q, -1, -2))


def cases():
    la = lax.linalg
    for n in sys.argv[2:] or ["float32", "float64", "complex64", "complex128"]:
        t = np.dtype(n).type
        yield "cholesky_" + n, lambda x: la.cholesky(x, symmetrize_input=False), [positive(t, 2, 5, 5)]
        yield "lu_" + n, la.lu, [matrix(t, 2, 4, 6)]
        yield "lu_tall_" + n, la.lu, [matrix(t, 6, 4)]
        yield "qr_" + n, lambda x: la.qr(x, full_matrices=False), [matrix(t, 2, 6, 4)]
        yield "qr_full_" + n, lambda x: la.qr(x, full_matrices=True), [matrix(t, 5, 3)]
        yield "qr_wide_" + n, lambda x: la.qr(x, full_matrices=False), [matrix(t, 3, 5)]
        yield "solve_" + n, jnp.linalg.solve, [matrix(t, 5, 5), matrix(t, 5, 2)]
        yield "eigh_" + n, recomposed_eigh, [symmetric(t, 2, 5, 5)]
        yield "svd_" + n, lambda x: recomposed_svd(x, False), [matrix(t, 2, 5, 3)]
        yield "svd_full_" + n, lambda x: recomposed_svd(x, True), [matrix(t, 3, 4)]
        yield "singular_values_" + n, lambda x: jnp.linalg.svd(x, compute_uv=False), [matrix(t, 4, 4)]
        yield "eig_" + n, recomposed_eig, [matrix(t, 4, 4)]
        yield "eigvals_" + n, jnp.linalg.eigvals, [matrix(t, 2, 4, 4)]
        yield "schur_" + n, recomposed_schur, [matrix(t, 4, 4)]
        yield "hessenberg_" + n, la.hessenberg, [matrix(t, 5, 5)]
        yield "tridiagonal_" + n, lambda x: la.tridiagonal(x, lower=True), [symmetric(t, 5, 5)]
        yield "tridiagonal_upper_" + n, lambda x: la.tridiagonal(x, lower=False), [symmetric(t, 5, 5)]
        yield "tridiagonal_solve_" + n, la.tridiagonal_solve, [
            matrix(t, 2, 6), matrix(t, 2, 6), matrix(t, 2, 6), matrix(t, 2, 6, 2)]
        yield "qr_pivoting_" + n, lambda x: la.qr(x, pivoting=True, full_matrices=False), [matrix(t, 5, 4)]
        yield "triangular_" + n, lambda a, b: la.triangular_solve(
            a, b, left_side=False, lower=True, transpose_a=True, conjugate_a=True), [positive(t, 4, 4), matrix(t, 3, 4)]
        reflectors = [np.asarray(x) for x in geqrf(matrix(t, 5, 3))]
        yield "ormqr_" + n, lambda a, tau, c: la.ormqr(a, tau, c, left=True, transpose=True), [*reflectors, matrix(t, 5, 2)]
        yield "ormqr_right_" + n, lambda a, tau, c: la.ormqr(a, tau, c, left=False, transpose=False), [
            *reflectors, matrix(t, 2, 5)]
    yield "lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], [matrix(np.float32, 7, 3), matrix(np.float32, 7, 2)]
    yield "slogdet", jnp.linalg.slogdet, [matrix(np.float32, 3, 5, 5)]
    yield "inv", jnp.linalg.inv, [matrix(np.float64, 5, 5)]
    yield "pinv", jnp.linalg.pinv, [matrix(np.float64, 5, 3)]
    yield "expm", jax.scipy.linalg.expm, [matrix(np.float64, 4, 4)]
    yield "not_positive", lambda x: la.cholesky(x), [symmetric(np.float32, 4, 4)]
    yield "singular", la.lu, [np.ones((3, 3), np.float32)]
    for platform in ("tpu", "cuda"):
        f = np.float32
        yield platform + "_lu", la.lu, [matrix(f, 5, 4)], platform
        yield platform + "_qr", lambda x: la.qr(x, full_matrices=False), [matrix(f, 5, 4)], platform
        yield platform + "_cholesky", la.cholesky, [positive(f, 4, 4)], platform
        yield platform + "_eigh", lambda x: la.eigh(x)[1], [symmetric(f, 4, 4)], platform
    yield "empty", jnp.linalg.eigh, [np.zeros((0, 3, 3), np.float32)]


def main():
    for name, f, inputs, *platform in cases():
        folder = os.path.join(sys.argv[1], "linalg_" + name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "module.hlo"), "w") as out:
            out.write(jax.jit(f).trace(*inputs).lower(lowering_platforms=tuple(platform) or None).as_text(dialect="hlo"))
        for i, x in enumerate(inputs):
            np.save(os.path.join(folder, "input_%d.npy" % i), x)
        for i, y in enumerate(jax.tree_util.tree_leaves(jax.jit(f)(*inputs))):
            np.save(os.path.join(folder, "output_%d.npy" % i), np.asarray(y))
        wide = all(x.dtype in (np.float64, np.complex128) for x in inputs)
        with open(os.path.join(folder, "case.json"), "w") as out:
            json.dump({"rtol": 1e-9 if wide else 1e-3, "atol": 1e-9 if wide else 1e-4}, out)


main()
