"""Tiles for which there is no room: smaller, in the memory of others, or in HBM."""
from __future__ import annotations

import os
import warnings
from typing import Any
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from xcc.nki import NkiWarning, _shrink, _spill

N = 4


@nki.jit
def attention(q, k, v):
    """All scores of q [N*128, 64] are made before any is used, so that all of them live at one time."""
    out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    queries, keys = (nl.ndarray((N, nl.par_dim(64), 128), dtype=q.dtype) for _ in range(2))
    values = nl.ndarray((N, nl.par_dim(128), 64), dtype=q.dtype)
    scores = nl.ndarray((N, nl.par_dim(128), N * 128), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(N):
        queries[i] = nl.load_transpose2d(q[nl.ds(i * 128, 128), :])
        keys[i] = nl.load_transpose2d(k[nl.ds(i * 128, 128), :])
        values[i] = nl.load(v[nl.ds(i * 128, 128), :])
    for i in nl.affine_range(N):
        for j in nl.affine_range(N):
            scores[i, :, nl.ds(j * 128, 128)] = nisa.nc_matmul(queries[i], keys[j])
    for i in nl.affine_range(N):
        p = nl.softmax(scores[i], axis=1)
        sums = nl.zeros((128, 64), dtype=nl.float32, buffer=nl.psum)
        for j in nl.affine_range(N):
            sums += nisa.nc_matmul(nl.copy(nisa.nc_transpose(p[:, nl.ds(j * 128, 128)])), values[j])
        nl.store(out[nl.ds(i * 128, 128), :], sums)
    return out


@nki.jit
def columns_from_end(x):
    """Of x [B*128, 1024] the sums of all rows' blocks, each added from the last block to the first: all blocks are loaded before."""
    blocks = x.shape[0] // 128
    out = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((blocks, nl.par_dim(128), 1024), dtype=x.dtype)
    squares = nl.full((blocks, nl.par_dim(128), 1024), fill_value=1.0, dtype=x.dtype)
    total = nl.zeros((128, 1024), dtype=nl.float32)
    for i in nl.affine_range(blocks):
        rows[i] = nl.load(x[nl.ds(i * 128, 128), :])
        squares[i, :, nl.ds(512, 512)] = nl.square(rows[i, :, nl.ds(512, 512)])
    for i in nl.sequential_range(blocks):
        total += rows[blocks - 1 - i] * squares[blocks - 1 - i]
    nl.store(out, total)
    return out


@nki.jit
def masked_products(x, y):
    """x.T @ y with more columns than the last block has, every block of sums named, and their buffers filled where they are made."""
    out = nl.ndarray((x.shape[1], y.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    k, p, f = nl.arange(128)[:, None], nl.arange(128)[None, :], nl.arange(512)[None, :]
    sums = nl.zeros((3, 2, 2, nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum, lazy_initialization=True)
    held = nl.full((3, 2, 2, nl.par_dim(128), 512), fill_value=2.0, dtype=nl.float32)
    for i in nl.affine_range(3):
        for j in nl.affine_range(2):
            for h in nl.affine_range(2):
                inside = 1024 * j + 512 * h + f < y.shape[1]
                for b in nl.affine_range(2):
                    left = nl.load(x[128 * b + k, 128 * i + p])
                    right = nl.load(y[128 * b + k, 1024 * j + 512 * h + f], mask=inside)
                    sums[i, j, h, k, f] += nisa.nc_matmul(left, right, mask=inside)
                held[i, j, h, k, f] = nl.copy(sums[i, j, h, k, f], mask=inside)
                nl.store(out[128 * i + k, 1024 * j + 512 * h + f], held[i, j, h, k, f], mask=inside)
    return out


class Spill(Case):
    def run_with(self, limit: int) -> Any:
        moved = []

        def spill(t: Any) -> Any:
            moved.extend(_spill.spill(t))
            return moved

        r = np.random.RandomState(0)
        q, k, v = (r.randn(N * 128, 64).astype(np.float32) for _ in range(3))
        with mock.patch.object(_spill, "LIMIT", limit), mock.patch.object(_shrink, "_CACHE", 1 << 30), mock.patch("xcc.nki._run.spill", spill):
            out = nki.jit(attention.func, platform_target="trn1")(q, k, v)
        s = (q @ k.T).astype(np.float64)
        p = np.exp(s - s.max(1, keepdims=True))
        self.close(out, p / p.sum(1, keepdims=True) @ v, 1e-3, 1e-4)
        return moved

    def test_the_largest_move(self) -> None:
        self.assertEqual(self.run_with(1 << 30), [])
        moved = self.run_with(1 << 20)
        self.assertEqual([(o.space, o.shape) for o in moved][:1], [("hbm", (128, N * N * 128))])
        self.assertGreater(len(self.run_with(1 << 10)), 3)

    def test_in_a_grid(self) -> None:
        """Programs of a grid share tensors: each has a part of it for its tile."""
        def kernel(x):
            out, i = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.program_id(0)
            t = nl.load(x[nl.ds(i * 64, 64), :])
            nl.store(out[nl.ds(i * 64, 64), :], nl.exp(t))
            return out

        x = np.random.RandomState(0).rand(128, 512).astype(np.float32)
        with mock.patch.object(_spill, "LIMIT", 16):
            self.close(nki.jit(kernel)[2](x), np.exp(x))

    def test_indices_in_a_grid(self) -> None:
        """Tiles whose elements choose rows are each program's own, too."""
        def kernel(x, rows):
            out, g = nl.ndarray((2, 64, x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm), nl.program_id(0)
            i = nl.load(rows[g])
            nl.store(out[g], nl.exp(nl.load(x[i[nl.arange(64)[:, None], 0], nl.arange(x.shape[1])[None, :]])))
            return out

        r = np.random.RandomState(1)
        x, rows = r.rand(128, 512).astype(np.float32), r.randint(0, 128, (2, 64, 1)).astype(np.int32)
        with mock.patch.object(_spill, "LIMIT", 16):
            self.close(nki.jit(kernel)[2](x, rows), np.exp(x[rows[:, :, 0]]))

    def test_python_lists_on_strict_targets(self) -> None:
        """Tiles of a list of Python's, and those of one tensor, by one program and by each of a grid."""
        def listed(x):
            out, g = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.program_id(0)
            tiles = [nl.load(x[g, i]) * 2.0 for i in range(x.shape[1])]
            total = nl.zeros(x.shape[2:], dtype=x.dtype)
            for t in tiles:
                total[...] = nl.add(total, t)
            for i in range(x.shape[1]):
                nl.store(out[g, i], nl.add(tiles[i], total))
            return out

        def whole(x):
            out, g, n = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.program_id(0), x.shape[1]
            tiles = nl.ndarray((n, nl.par_dim(x.shape[2]), x.shape[3]), dtype=x.dtype)
            total = nl.zeros(x.shape[2:], dtype=x.dtype)
            for i in nl.affine_range(n):
                tiles[i] = nl.load(x[g, i]) * 2.0
            for i in nl.affine_range(n):
                total[...] += tiles[i]
            for i in nl.affine_range(n):
                nl.store(out[g, i], nl.add(tiles[i], total))
            return out

        x = np.random.RandomState(6).randint(0, 9, (2, 24, 16, 4096)).astype(np.float32)
        want = 2 * x + (2 * x).sum(1, keepdims=True)
        for kernel in listed, whole:
            for programs in 1, 2:
                with self.subTest(kernel=kernel.__name__, programs=programs), mock.patch.dict(os.environ, {"XCC_NKI_TARGET": "trn1"}):
                    with self.assertWarnsRegex(NkiWarning, "tiles.* no room beside what lives with it: its tiles are kept in HBM"):
                        got = nki.jit(kernel)[programs](x[:programs])
                    self.same(got, want[:programs])

    def test_lists_on_strict_targets(self) -> None:
        x = np.random.RandomState(1).randn(28 * 128, 1024).astype(np.float32)
        blocks = x.reshape(28, 128, 1024)
        want = (blocks * np.where(np.arange(1024) < 512, 1, blocks ** 2)).sum(0)
        for target in "trn1", "trn2":
            with self.subTest(target=target), mock.patch.dict(os.environ, {"XCC_NKI_TARGET": target}):
                with self.assertWarnsRegex(NkiWarning, "no room beside what lives with it: its tiles are kept in HBM"):
                    got = nki.jit(columns_from_end.func)(x)
                self.close(got, want, 1e-4, 1e-3)

    def test_lists_in_psum(self) -> None:
        """All scores in PSUM before any is used, as AWS's compiler takes them."""
        def scores(q, k):
            n = q.shape[1] // 128
            out = nl.ndarray((n, 128, k.shape[1]), dtype=q.dtype, buffer=nl.shared_hbm)
            a, b = nl.load(q), nl.load(k)
            qk = nl.ndarray((n, k.shape[1] // 512, nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
            for i in nl.affine_range(n):
                for j in nl.affine_range(k.shape[1] // 512):
                    qk[i, j, :, :] = nisa.nc_matmul(stationary=a[:, nl.ds(i * 128, 128)], moving=b[:, nl.ds(j * 512, 512)])
            for i in nl.affine_range(n):
                for j in nl.affine_range(k.shape[1] // 512):
                    nl.store(out[i, :, nl.ds(j * 512, 512)], nisa.tensor_scalar(data=qk[i, j], op0=nl.add, operand0=1.0))
            return out

        r = np.random.RandomState(7)
        q, k = (r.randint(-3, 4, (64, 1536)).astype(np.float32) for _ in range(2))
        with mock.patch.dict(os.environ, {"XCC_NKI_TARGET": "trn1"}):
            with self.assertWarnsRegex(NkiWarning, "'psum'.* no room beside what lives with it"):
                got = nki.jit(scores)(q, k)
        self.same(got, (q.T @ k + 1).reshape(12, 128, 1536))

    def test_lists_used_one_after_the_other(self) -> None:
        """They have one memory already: it is smaller when both are."""
        def twice(x):
            out = nl.ndarray((2,) + x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            for k in nl.static_range(2):
                rows = nl.ndarray((N, nl.par_dim(128), 256), dtype=x.dtype)
                for i in nl.affine_range(N):
                    rows[i] = nl.load(x[nl.ds(i * 128, 128), :])
                    nl.store(out[k, nl.ds(i * 128, 128), :], rows[i] * (k + 1.0))
            return out

        sizes = []

        def fit_cache(t: Any) -> None:
            _shrink_fit_cache(t)
            sizes.append(_shrink.bytes_on_chip(t))

        _shrink_fit_cache = _shrink.fit_cache
        x = np.random.RandomState(4).rand(N * 128, 256).astype(np.float32)
        with mock.patch.object(_shrink, "_CACHE", 300 << 10), mock.patch.object(_shrink, "fit_cache", fit_cache):
            self.close(nki.jit(twice)(x), np.stack([x, 2 * x]))
        self.assertLessEqual(sizes[0], 300 << 10)

    def test_sums_take_the_memory_of_terms(self) -> None:
        """Two sums of eight terms each: a sum lies where the last one was, or there is no room."""
        def sums(x):
            out, t = nl.ndarray((2,) + x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.load(x)
            for k in range(2):
                total = t * 1.0
                for n in range(2, 9):
                    total = total + t * float(n + k)
                nl.store(out[k], total)
            return out

        x = np.random.RandomState(3).rand(128, 12000).astype(np.float32)
        with mock.patch.dict(os.environ, {"XCC_NKI_TARGET": "trn1"}):
            self.close(nki.jit(sums)(x), np.stack([36 * x, 43 * x]), 1e-5, 1e-5)

    def test_lists_of_masked_products(self) -> None:
        r = np.random.RandomState(2)
        x, y = r.randn(256, 384).astype(np.float32), r.randn(256, 1600).astype(np.float32)
        for target in "cpu", "trn1":
            with self.subTest(target=target), mock.patch.dict(os.environ, {"XCC_NKI_TARGET": target}), warnings.catch_warnings():
                warnings.simplefilter("error")  # nothing has to be kept in HBM
                self.close(nki.jit(masked_products.func)(x, y), x.T @ y, 1e-4, 1e-3)



if __name__ == "__main__":
    main()
