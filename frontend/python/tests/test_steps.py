"""A matrix product made better step by step, as AWS's tutorial does: simulated on trn2, each step keeps the DMA queues busy for less
time and is faster than the one before. The tutorial's own sources too, where $XCC_TEST_DATA has them."""
from __future__ import annotations

import importlib.util
import os

from support import Case, main, np

import nki
import nki.isa as nisa
import nki.language as nl
from xcc.compiler import simulate
from xcc.nki._run import compile_kernel

DATA = os.environ.get("XCC_TEST_DATA") or os.path.join(os.path.dirname(__file__), "../../../../shared/data")
SOURCE = os.path.join(DATA, "nki/b2_matmul_5_fully_optimized/matrix_multiplication_nki_kernels.py")
P, N = 128, 512  # of one product: contraction and rows, columns
PUBLISHED = ("basic", "tiled", "hoist_load", "block_free_dimension", "fully_optimized")


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


def resident(lhs_t, rhs, rows=4):
    """Blocks that stay: each factor is loaded once, when the first product needs it."""
    out, (k, m), n, right = result(lhs_t, rhs), lhs_t.shape, rhs.shape[1], {}
    for i in range(0, m, rows * P):
        left = [load(lhs_t, c, i, rows * P) for c in range(0, k, P)]
        for j in range(0, n, N):
            if j not in right:
                right[j] = [load(rhs, c, j, N) for c in range(0, k, P)]
            for r in range(rows):
                store(out, i + r * P, j, product((a[:, r * P:r * P + P], b) for a, b in zip(left, right[j])))
    return out


STEPS = (tiled, hoisted, blocked, resident)


def simulated(step, left, right, machine="trn2", form="v06"):
    """With factors of these shapes."""
    factors = tuple(np.zeros(shape, np.float16) for shape in (left, right))
    compiled, _ = compile_kernel(getattr(step, "func", step), factors, {}, (), machine, form, None, machine)
    return simulate(bytes(compiled.archive))


class Steps(Case):
    def test_each_is_right(self) -> None:
        a, b = (np.random.RandomState(k).standard_normal((256, 512)).astype(np.float32) for k in (1, 2))
        for step in STEPS:
            self.close(nki.jit(step)(a, b), a.T @ b, 1e-4, 1e-3)

    def test_each_moves_less(self) -> None:
        """Each step is faster than the one before and keeps the DMA engines busy for less time; only where the one before
        keeps the Tensor engine busy from the first load to the last store may the last one take as long."""
        for machine, n in (("trn1", 1024), ("trn1", 2048), ("trn2", 2048)):
            with self.subTest(machine=machine, n=n):
                runs = [simulated(step, (n, n), (n, n), machine) for step in STEPS]
                times = [s["latency_us"] for s in runs]
                loads = [s["engines"]["dma"]["share"] * s["latency_us"] for s in runs]
                self.assertTrue(all(a > b for a, b in zip(loads, loads[1:])), loads)
                self.assertTrue(times[0] > times[1] > times[2] >= times[3], times)
                self.assertTrue(times[2] > times[3] or runs[2]["bound_by"] == "pe", times)
                self.assertLess(times[3], 0.6 * times[0])

    def test_many_tiles(self) -> None:
        """Thousands of tiles do not wait for the memory of the one just before, nor loads for stores before them."""
        times = [simulated(step, (2048, 2048), (2048, 2048)) for step in STEPS]
        for s in times:
            self.assertLess(s["latency_us"], 1.3 * s["bound_us"])
        self.assertLess(times[1]["latency_us"], times[0]["bound_us"])

    def test_thousands_of_sums(self) -> None:
        """Tiles of PSUM lie in all its banks, however many there are: products go on while sums are copied."""
        s = simulated(blocked, (4096, 4096), (4096, 4096))
        self.assertLess(s["latency_us"], 1.1 * s["bound_us"])

    def test_published_steps(self) -> None:
        """The tutorial's five steps: the first one is one product of 64 x 128 x 512, and uses the least of the Tensor engine; of the
        others, which take any size, the order of their times is the published one."""
        if not os.path.exists(SOURCE):
            self.skipTest("no tutorial's sources in $XCC_TEST_DATA")
        spec = importlib.util.spec_from_file_location("published", SOURCE)
        published = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(published)
        steps = [getattr(published, "nki_matmul_%s_" % name) for name in PUBLISHED]
        for machine, form in (("trn1", "v06"), ("trn2", "v06"), ("trn1", "beta1"), ("trn2", "beta1")):
            with self.subTest(machine=machine, form=form):
                runs = [simulated(step, (2048, 2048), (2048, 2048), machine, form) for step in steps[1:]]
                times = [s["latency_us"] for s in runs]
                self.assertTrue(all(a > b for a, b in zip(times, times[1:])), times)
                shares = [s["mfu"] for s in [simulated(steps[0], (128, 64), (128, 512), machine, form)] + runs]
                self.assertTrue(all(a < b for a, b in zip(shares, shares[1:])), shares)
                self.assertLess(runs[3]["engines"]["dma"]["busy_us"], runs[0]["engines"]["dma"]["busy_us"] / 4)

    def test_tile_in_parts(self) -> None:
        """One tile that is filled part by part, again and again, does not make its loads wait for who reads it, as if each block had
        a tile of its own; what is needed first is loaded first, whatever the order that the source has."""

        def kernel(lhs_t, rhs, own=False):
            out, (k, m), n = result(lhs_t, rhs), lhs_t.shape, rhs.shape[1]
            one = nl.ndarray((P, k // P * N), dtype=rhs.dtype, buffer=nl.sbuf)
            left = [load(lhs_t, c, 0, m) for c in range(0, k, P)]
            for j in range(0, n, N):
                right = nl.ndarray((P, k // P * N), dtype=rhs.dtype, buffer=nl.sbuf) if own else one
                for c in range(0, k, P):
                    nisa.dma_copy(dst=right[:, c // P * N:c // P * N + N], src=rhs[c:c + P, j:j + N])
                for i in range(0, m, P):
                    pairs = [(left[c][:, i:i + P], right[:, c * N:c * N + N]) for c in range(k // P)]
                    store(out, i, j, product(pairs))
            return out

        a, b = (np.random.RandomState(s).standard_normal((256, 1024)).astype(np.float32) for s in (1, 2))
        self.close(nki.jit(kernel)(a, b), a.T @ b, 1e-4, 1e-3)
        for machine in ("trn1", "trn2"):
            one, each = (simulated(step, (1024, 1024), (1024, 4096), machine)
                         for step in (kernel, lambda x, y: kernel(x, y, True)))
            self.assertLess(one["latency_us"], 1.01 * each["latency_us"])
            self.assertLess(one["latency_us"], 1.08 * one["bound_us"])

    def test_turned_transfers(self) -> None:
        """Where DMA would move single elements, the Tensor engine turns what is loaded and stored, also with a cast."""

        def kernel(a):
            out = nl.ndarray((256, 128), dtype=a.dtype, buffer=nl.shared_hbm)
            for i in range(0, 256, 128):
                tile = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
                nisa.dma_copy(dst=tile, src=a.ap([[1, 128], [256, 128]], offset=i))
                nisa.dma_copy(dst=out[i:i + 128, :], src=tile)
            return out

        a = np.round(np.random.RandomState(3).standard_normal((128, 256)) * 8).astype(np.float32)
        compiled, leaves = compile_kernel(kernel, (a,), {}, (), "trn1", "v06", None, "trn1")
        self.same(compiled.run(leaves), a.T)
        s = simulate(bytes(compiled.archive))
        self.assertGreater(s["engines"]["pe"]["busy_us"], 0)
        self.assertLess(s["latency_us"], 20)


if __name__ == "__main__":
    main()
