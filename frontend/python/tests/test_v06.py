"""Kernels in the form of nki 0.6: destinations, access patterns, unrolled ranges."""
from __future__ import annotations

from support import Case, main, np

import nki
import nki.isa as nisa
import nki.language as nl

R = np.random.RandomState(8)


def f32(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


@nki.jit
def tiled_matmul(lhs_t, rhs):
    k, m = lhs_t.shape
    n = rhs.shape[1]
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = []
    for t in range(k // 128):
        a = nl.ndarray((128, m), dtype=lhs_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=lhs_t[t * 128:(t + 1) * 128, :])
        b = nl.ndarray((128, n), dtype=rhs.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=b, src=rhs[nl.ds(t * 128, 128), :])
        tiles.append((a, b))
    acc = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    for a, b in tiles:
        nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=acc)
    nisa.dma_copy(dst=out, src=result)
    return out


class Destinations(Case):
    def test_matmul(self) -> None:
        a, b = f32(256, 64), f32(256, 300)
        self.close(tiled_matmul(a, b), a.T.astype(np.float64) @ b, 1e-4, 1e-4)
        self.close(nki.simulate(tiled_matmul)(a, b), a.T.astype(np.float64) @ b, 1e-4, 1e-4)

    def test_access_patterns(self) -> None:
        @nki.jit
        def kernel(a):
            p, n = a.shape
            out = nl.ndarray((p, n // 2, 2), dtype=a.dtype, buffer=nl.shared_hbm)
            t = nl.ndarray((p, n), dtype=a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=a)
            turned = nl.ndarray((p, n // 2, 2), dtype=a.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=t.ap([[n, p], [1, n // 2], [n // 2, 2]]))
            nisa.dma_copy(dst=out, src=turned)
            return out

        a = f32(5, 12)
        self.same(kernel(a), a.reshape(5, 2, 6).transpose(0, 2, 1))

    def test_elementwise(self) -> None:
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
            y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(x, a)
            nisa.dma_copy(y, b)
            nisa.tensor_tensor(y, x, y, op=nl.maximum)
            nisa.tensor_scalar(y, y, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=1.0)
            nisa.activation(dst=y, op=nl.relu, data=y)
            nisa.dma_copy(out, y)
            return out

        a, b = f32(16, 20), f32(16, 20)
        self.close(kernel(a, b), np.maximum(np.maximum(a, b) * 2 + 1, 0))

    def test_programs_share_tensors(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            half = a.shape[0] // nl.num_programs(axes=0)
            first = nl.program_id(axis=0) * half
            t = nl.ndarray((half, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=a[first:first + half, :])
            nisa.dma_copy(dst=out[first:first + half, :], src=t)
            return out

        a = f32(8, 5)
        self.same(kernel[2](a), a)
        self.same(kernel(a), a)


if __name__ == "__main__":
    main()
