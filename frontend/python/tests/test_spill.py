"""Tiles that are larger than a run may have tiles lie in HBM."""
from __future__ import annotations

from typing import Any
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from xcc.nki import _shrink, _spill

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

    def test_not_in_a_grid(self) -> None:
        """Programs of a grid have tiles of their own, and share tensors."""
        def kernel(x):
            out, i = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.program_id(0)
            t = nl.load(x[nl.ds(i * 64, 64), :])
            nl.store(out[nl.ds(i * 64, 64), :], nl.exp(t))
            return out

        x = np.random.RandomState(0).rand(128, 512).astype(np.float32)
        with mock.patch.object(_spill, "LIMIT", 16):
            self.close(nki.jit(kernel)[2](x), np.exp(x))


if __name__ == "__main__":
    main()
