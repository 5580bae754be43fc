"""A matrix product made better step by step, as AWS's tutorial does: simulated on trn2, each step keeps the DMA queues busy for less
time, and blocks are faster than tiles. Hoisting alone is not faster yet: the memory of a tile is taken again too soon."""
from __future__ import annotations

from support import Case, main, np

import nki
import nki.isa as nisa
import nki.language as nl
from xcc.compiler import simulate
from xcc.nki._run import compile_kernel

P, N = 128, 512  # of one product: contraction and rows, columns


def load(tensor, row, column, width):
    tile = nl.ndarray((P, width), dtype=tensor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=tensor[row:row + P, column:column + width])
    return tile


def store(out, row, column, sums):
    tile = nl.ndarray(sums.shape, dtype=out.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=sums)
    nisa.dma_copy(dst=out[row:row + P, column:column + sums.shape[1]], src=tile)


def result(lhs_t, rhs):
    return nl.ndarray((lhs_t.shape[1], rhs.shape[1]), dtype=lhs_t.dtype, buffer=nl.shared_hbm)


def product(pairs):
    sums = nl.ndarray((P, N), dtype=nl.float32, buffer=nl.psum)
    for stationary, moving in pairs:
        nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
    return sums


def tiled(lhs_t, rhs):
    """Each product loads its operands."""
    out, (k, m), n = result(lhs_t, rhs), lhs_t.shape, rhs.shape[1]
    for i in range(0, m, P):
        for j in range(0, n, N):
            store(out, i, j, product((load(lhs_t, c, i, P), load(rhs, c, j, N)) for c in range(0, k, P)))
    return out


def hoisted(lhs_t, rhs):
    """Rows of the left factor are loaded once for all columns of the result."""
    out, (k, m), n = result(lhs_t, rhs), lhs_t.shape, rhs.shape[1]
    for i in range(0, m, P):
        left = [load(lhs_t, c, i, P) for c in range(0, k, P)]
        for j in range(0, n, N):
            store(out, i, j, product((left[c // P], load(rhs, c, j, N)) for c in range(0, k, P)))
    return out


def blocked(lhs_t, rhs, rows=4):
    """Blocks of the result: what is loaded serves several tiles."""
    out, (k, m), n = result(lhs_t, rhs), lhs_t.shape, rhs.shape[1]
    for i in range(0, m, rows * P):
        left = [load(lhs_t, c, i, rows * P) for c in range(0, k, P)]
        for j in range(0, n, N):
            right = [load(rhs, c, j, N) for c in range(0, k, P)]
            for r in range(rows):
                store(out, i + r * P, j, product((a[:, r * P:r * P + P], b) for a, b in zip(left, right)))
    return out


def resident(lhs_t, rhs):
    """Blocks so large that each factor is loaded once."""
    return blocked(lhs_t, rhs, lhs_t.shape[1] // P)


class Steps(Case):
    def test_each_is_right(self) -> None:
        a, b = (np.random.RandomState(k).standard_normal((256, 512)).astype(np.float32) for k in (1, 2))
        for step in (tiled, hoisted, blocked, resident):
            self.close(nki.jit(step)(a, b), a.T @ b, 1e-4, 1e-3)

    def test_each_moves_less(self) -> None:
        a = np.zeros((1024, 1024), np.float16)
        times, loads = [], []
        for step in (tiled, hoisted, blocked, resident):
            compiled, _ = compile_kernel(step, (a, a), {}, (), "trn2", "v06", None, "trn2")
            s = simulate(bytes(compiled.archive))
            times.append(s["latency_us"])
            loads.append(s["engines"]["dma"]["share"] * s["latency_us"])
        self.assertEqual([times[0], times[2], times[3]], sorted([times[0], times[2], times[3]], reverse=True))
        self.assertEqual(loads, sorted(loads, reverse=True))
        self.assertLess(times[3], times[0] / 2)

    def test_many_tiles(self) -> None:
        """Thousands of tiles do not wait for the memory of the one just before."""
        a = np.zeros((2048, 2048), np.float16)
        compiled, _ = compile_kernel(tiled, (a, a), {}, (), "trn2", "v06", None, "trn2")
        s = simulate(bytes(compiled.archive))
        self.assertLess(s["latency_us"], 1.3 * s["bound_us"])


if __name__ == "__main__":
    main()
