"""Kernels by constants, engines and spellings that the other tests leave aside, against NumPy."""
from __future__ import annotations

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import nki as nki6
import nki.isa as nisa6
import nki.language as nl6

R = np.random.RandomState(11)


def f32(*shape: int) -> np.ndarray:
    return R.rand(*shape).astype(np.float32) - np.float32(0.5)


class Sizes(Case):
    """nl.tile_size and nl.finfo."""

    def test_product_by_the_largest_tiles(self) -> None:
        @nki.jit
        def product(a, b):
            rows, columns, depth = nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax, nl.tile_size.pmax
            out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
            for m in nl.affine_range(a.shape[1] // rows):
                for n in nl.affine_range(b.shape[1] // columns):
                    left, right = nl.ds(m * rows, rows), nl.ds(n * columns, columns)
                    sums = nl.zeros((rows, columns), nl.float32, buffer=nl.psum)
                    for k in nl.affine_range(a.shape[0] // depth):
                        some = nl.ds(k * depth, depth)
                        sums += nisa.nc_matmul(nl.load(a[some, left]), nl.load(b[some, right]))
                    nl.store(out[left, right], sums)
            return out

        a, b = (np.round(f32(256, n) * 16) / 16 for n in (128, 1024))  # all sums of products are numbers of FP32
        self.same(nki.simulate_kernel(product, a, b), a.T @ b)

    def test_the_least_number(self) -> None:
        @nki.jit
        def running_maximum(a):
            most = nl.full((nl.par_dim(a.shape[0]), 1), nl.finfo(nl.float32).min, dtype=nl.float32)
            for i in nl.static_range(a.shape[1] // 8):
                part = nl.max(nl.load(a[:, i * 8:(i + 1) * 8]), axis=1, keepdims=True)
                most[...] = nl.maximum(most, part)
            out = nl.ndarray((a.shape[0], 1), dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, most)
            return out

        a = f32(16, 32) - 3
        self.close(nki.simulate_kernel(running_maximum, a), a.max(1, keepdims=True))


class Engines(Case):
    """Who does what changes no result."""

    def test_instructions_that_name_their_engine(self) -> None:
        @nki.jit
        def thrice(a):
            x = nl.load(a)
            twice = nisa.tensor_scalar(x, np.multiply, 2.0, engine=nisa.gpsimd_engine)
            copy = nisa.tensor_copy(twice, engine=nisa.scalar_engine)
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, nisa.tensor_tensor(copy, x, op=nl.add, engine=nisa.vector_engine))
            return out

        a = f32(8, 24)
        self.close(nki.simulate_kernel(thrice, a), 3 * a)

    def test_copies_whose_descriptors_either_unit_makes(self) -> None:
        @nki6.jit
        def there_and_back(a):
            tile = nl6.ndarray(a.shape, a.dtype, buffer=nl6.sbuf)
            out = nl6.ndarray(a.shape, a.dtype, buffer=nl6.shared_hbm)
            nisa6.dma_copy(dst=tile, src=a, dge_mode=nisa6.dge_mode.hwdge)
            nisa6.dma_copy(dst=out, src=tile, dge_mode=nisa6.dge_mode.swdge)
            return out

        a = f32(8, 24)
        self.close(nki6.simulate(there_and_back)(a), a)

    def test_a_grid_of_cores_and_turns(self) -> None:
        @nki.jit
        def rows(a):
            i = nl.program_id(0)
            p, x = nl.arange(4)[:, None], nl.arange(a.shape[1])[None, :]
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out[i * 4 + p, x], nl.square(nl.load(a[i * 4 + p, x])))
            return out

        a = f32(16, 12)
        self.close(nki.simulate_kernel(rows[nl.spmd_dim(nl.nc(2), 2)], a), a * a)


class Places(Case):
    """Buffers by address, and a softmax whose sum comes with its exponentials."""

    def test_stack_allocator(self) -> None:
        @ncc.enable_stack_allocator
        @nki.jit
        def exponentials(a):
            tile = nl.ndarray((nl.par_dim(a.shape[0]), a.shape[1]), dtype=a.dtype, buffer=ncc.sbuf.alloc(base_addr=0))
            tile[...] = nl.load(a)
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.exp(tile))
            return out

        a = f32(8, 24)
        self.close(nki.simulate_kernel(exponentials, a), np.exp(a))

    def test_negated_maximum_as_bias(self) -> None:
        @nki6.jit
        def softmax(a):
            x, e = (nl6.ndarray(a.shape, nl6.float32, buffer=nl6.sbuf) for _ in range(2))
            least, total = (nl6.ndarray((a.shape[0], 1), nl6.float32, buffer=nl6.sbuf) for _ in range(2))
            nisa6.dma_copy(dst=x, src=a)
            nisa6.tensor_reduce(dst=least, op=nl6.maximum, data=x, axis=1, negate=True)
            nisa6.activation(dst=e, op=nl6.exp, data=x, bias=least, reduce_op=nl6.add, reduce_res=total,
                             reduce_cmd=nisa6.reduce_cmd.reset_reduce)
            nisa6.reciprocal(dst=total, data=total)
            nisa6.tensor_scalar(dst=e, data=e, op0=nl6.multiply, operand0=total)
            out = nl6.ndarray(a.shape, a.dtype, buffer=nl6.shared_hbm)
            nisa6.dma_copy(dst=out, src=e)
            return out

        a = 4 * f32(8, 24)
        e = np.exp(a - a.max(1, keepdims=True))
        self.close(nki6.simulate(softmax)(a), e / e.sum(1, keepdims=True))


if __name__ == "__main__":
    main()
