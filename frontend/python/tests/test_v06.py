"""Kernels in the form of nki 0.6: destinations, access patterns, unrolled ranges."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
import unittest
from typing import Any, NamedTuple

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

    def test_products_are_added_to_zeros(self) -> None:
        """accumulate=True for the first product, too: what nl.zeros says of the tile counts."""
        @nki.jit
        def kernel(a, b):
            n = a.shape[1] // 128
            out = nl.ndarray((2, n * 128, b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
            for m in nl.affine_range(n):
                minus, plus = (nl.zeros((128, b.shape[1]), dtype=nl.float32, buffer=nl.psum) for _ in range(2))
                for k in nl.affine_range(a.shape[0] // 64):
                    at, bt = nl.load(a[nl.ds(k * 64, 64), nl.ds(m * 128, 128)]), nl.load(b[nl.ds(k * 64, 64), :])
                    less = nl.negative(bt)
                    nisa.nc_matmul(dst=plus, stationary=at, moving=bt, accumulate=True)
                    nisa.nc_matmul(dst=minus, stationary=at, moving=less, accumulate=True)
                    nisa.nc_matmul(dst=minus, stationary=at, moving=less, accumulate=True)
                for j, sums in enumerate((plus, minus)):
                    t = nl.ndarray(sums.shape, dtype=nl.float32, buffer=nl.sbuf)
                    nisa.tensor_copy(dst=t, src=sums)
                    nl.store(out[j, nl.ds(m * 128, 128), :], value=t)
            return out

        for rows in 64, 128:
            a, b = f32(rows, 256), f32(rows, 30)
            want = np.stack([a.T @ b, -2 * (a.T @ b)])
            self.close(kernel(a, b), want, 1e-4, 1e-4)
            self.close(nki.simulate(kernel)(a, b), want, 1e-4, 1e-4)

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

    def test_indirect(self) -> None:
        def offsets(index, p):  # as the engines take them: i % 16, i // 16 in each 16 partitions
            return np.tile(index.reshape(-1, 16).T, (p // 16, 1)).astype(np.uint16)

        @nki.jit
        def kernel(x, index, n):
            p = x.shape[0]
            out = nl.ndarray((2, p, n), dtype=x.dtype, buffer=nl.shared_hbm)
            t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
            i = nl.ndarray(index.shape, dtype=index.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x)
            nisa.dma_copy(dst=i, src=index)
            chosen = t.indirect(i, num_elem=n)
            assert chosen.is_indirect() and chosen.shape == (p, n)
            y = nl.ndarray((p, n), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=y, src=chosen)
            nisa.dma_copy(dst=out[0], src=y)
            nisa.tensor_scalar(t, t, op0=nl.multiply, operand0=2.0)  # seen by what reads the view from here on
            nisa.tensor_tensor(y, chosen, y, op=nl.subtract)
            nisa.dma_copy(dst=out[1], src=y)
            return out

        x, columns = f32(64, 100), R.randint(0, 100, 48)
        for n in 48, 37:
            self.same(kernel(x, offsets(columns, 64), n), np.stack([x[:, columns[:n]]] * 2))

        def wrong(use, p=64):
            @nki.jit
            def kernel(x, index):
                t = nl.load(x)
                i = nl.load(index)
                use(t, i)
                return x

            return lambda: kernel(f32(p, 64), offsets(columns, 64)[:p])

        def product(t, i):
            nisa.nc_matmul(dst=nl.ndarray((48, 64), nl.float32, buffer=nl.psum), stationary=t.indirect(i), moving=t)

        for message, use in ((r"num_elem is 49, expected 1 to 48", lambda t, i: t.indirect(i, 49)),
                             (r"written through .indirect\(\)", lambda t, i: nisa.tensor_copy(dst=t.indirect(i), src=t[:, 0:48])),
                             (r"copy it to a tile", product),
                             (r"through an index already", lambda t, i: t.indirect(i).indirect(i))):
            with self.assertRaisesRegex(nki.NkiError, message):
                wrong(use)()
        with self.assertRaisesRegex(nki.NkiError, "20 partitions and offsets in 20, expected as many, a multiple of 16"):
            wrong(lambda t, i: t.indirect(i), 20)()

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


def in_sbuf(x):
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t


def in_hbm(t):
    out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


class Addresses(Case):
    def test_one_index_for_all(self) -> None:
        @nki.jit
        def kernel(x, table, index):
            t, i = in_sbuf(x), in_sbuf(index)
            a = nl.ndarray((16, 5), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=a, src=t.ap([[40, 16], [1, 5]], offset=2, scalar_offset=i, indirect_dim=1))
            b = nl.ndarray((8, 6), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=b, src=table.ap([[6, 8], [1, 6]], scalar_offset=i, indirect_dim=0))
            return in_hbm(a), in_hbm(b)

        x, table = f32(16, 40), f32(20, 8, 6)
        a, b = kernel(x, table, np.array([[3]], np.int32))
        self.same(a, x[:, 5:10])
        self.same(b, table[3])

    def test_an_index_for_each_row(self) -> None:
        @nki.jit
        def kernel(table, index, rows):
            i, r = in_sbuf(index), in_sbuf(rows)
            a = nl.ndarray(rows.shape, dtype=table.dtype, buffer=nl.sbuf)
            pattern = [[table.shape[1], index.shape[0]], [1, table.shape[1]]]
            nisa.dma_copy(dst=a, src=table.ap(pattern, vector_offset=i, indirect_dim=0))
            out = in_hbm(nl.zeros(table.shape, dtype=table.dtype))
            nisa.dma_copy(dst=out.ap(pattern, vector_offset=i, indirect_dim=0), src=r)
            return in_hbm(a), out

        table, index, rows = f32(20, 9), R.permutation(20)[:7].astype(np.int32).reshape(7, 1), f32(7, 9)
        a, b = kernel(table, index, rows)
        want = np.zeros_like(table)
        want[index[:, 0]] = rows
        self.same(a, table[index[:, 0]])
        self.same(b, want)

    def test_products_into_parts_of_psum(self) -> None:
        @nki.jit
        def kernel(a, b):
            s, m = in_sbuf(a), in_sbuf(b)
            parts = nl.ndarray((5, 2, 6), dtype=nl.float32, buffer=nl.psum)
            for i in range(2):
                nisa.nc_matmul(dst=parts[:, i, :], stationary=s, moving=m[:, i, :])
            total = nl.ndarray((5, 12), dtype=nl.float32, buffer=nl.psum)
            for i in nl.affine_range(3):
                nisa.nc_matmul(dst=total, stationary=s, moving=m.reshape((20, 12)), accumulate=i > 0)
            out = nl.ndarray((5, 2, 6), dtype=a.dtype, buffer=nl.sbuf)
            again = nl.ndarray((5, 12), dtype=a.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(out, parts)
            nisa.activation(dst=again, op=nl.copy, data=total, scale=0.5)
            return in_hbm(out), in_hbm(again)

        a, b = f32(20, 5), f32(20, 2, 6)
        want = np.einsum("km,kin->min", a, b)
        out, again = kernel(a, b)
        self.close(out, want, 1e-4, 1e-4)
        self.close(again, 1.5 * want.reshape(5, 12), 1e-4, 1e-4)

    def test_transposes_by_dma(self) -> None:
        @nki.jit
        def kernel(x, h):
            a = nl.ndarray((40, 16), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_transpose(dst=a, src=in_sbuf(x))
            b = nl.ndarray((6, 8, 20), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_transpose(dst=b, src=h, axes=(2, 1, 0))
            return in_hbm(a), in_hbm(b)

        x, h = f32(16, 40), f32(20, 8, 6)
        a, b = kernel(x, h)
        self.same(a, x.T)
        self.same(b, h.transpose(2, 1, 0))

    def test_transposes_of_pairs(self) -> None:
        """Elements of a tensor are bytes; those that are transposed, two of them."""
        @nki.jit
        def kernel(x):
            p, n = x.shape
            a, out = nl.ndarray((n // 2, 2 * p), dtype=x.dtype, buffer=nl.sbuf), nl.ndarray((n // 2, 2 * p), dtype=x.dtype, buffer=nl.shared_hbm)
            nisa.dma_transpose(dst=a.view(nl.float16), src=x.ap([[n // 2, p], [1, n // 2]], dtype=nl.float16))
            nisa.dma_copy(dst=out, src=a)
            return out

        x = R.randint(0, 256, (24, 40)).astype(np.uint8)
        self.same(kernel(x), x.reshape(24, 20, 2).transpose(1, 0, 2).reshape(20, 48))

    def test_loops_by_functions(self) -> None:
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

            def body(i):
                t = in_sbuf(x[nl.ds(i * 4, 4), :])
                nisa.tensor_scalar(t, t, nl.add, 1.0)
                nisa.dma_copy(out[nl.ds(i * 4, 4), :], t)

            nl.fori_loop(0, 2, body)
            for i in nl.dynamic_range(2, 4):
                body(i)
            return out

        x = f32(16, 5)
        self.close(kernel(x), x + 1)

    def test_nonzero_with_count(self) -> None:
        @nki.jit
        def kernel(x):
            places = nl.ndarray((x.shape[0], x.shape[1] + 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.memset(places, 7)
            nisa.nonzero_with_count(places, in_sbuf(x), index_offset=16, padding_val=-1)
            return in_hbm(places)

        for n in (30, 4100):  # long rows are counted in pieces
            x = f32(40, n) * (R.rand(40, n) < 0.4)
            x[16] = 0
            want = np.full((40, n + 1), 7)
            for p in (0, 16, 32):
                at = np.nonzero(x[p])[0]
                want[p] = list(at + 16) + [-1] * (n - len(at)) + [len(at)]
            self.same(kernel(x.astype(np.float32)), want)

    def test_nonzero_needs_a_place_for_the_count(self) -> None:
        def kernel(x):
            t = in_sbuf(x)
            nisa.nonzero_with_count(t, t)
            return in_hbm(t)

        with self.assertRaisesRegex(Exception, r"nonzero_with_count: dst has shape \(16, 8\), expected \(16, 9\)"):
            nki.jit(kernel)(f32(16, 8))

    def test_activate2(self) -> None:
        @nki.jit
        def kernel(x, s):
            a, b = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
            sums = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activate2(a, nl.tanh, in_sbuf(x), 2.0, in_sbuf(s), nl.multiply, nl.subtract, reverse1=True, reduce_op=nl.add, reduce_res=sums)
            nisa.activate2(b, nl.square, in_sbuf(x), 0.0, 0.0, nl.bypass, nl.bypass)
            return in_hbm(a), in_hbm(b), in_hbm(sums)

        x, s = f32(24, 10), f32(24, 1)
        a, b, sums = kernel(x, s)
        want = np.tanh(s - 2 * x)
        self.close(a, want, 1e-4, 1e-5)
        self.close(b, x * x)
        self.close(sums, want.sum(1, keepdims=True), 1e-4, 1e-4)


class Objects(Case):
    def test_parameters(self) -> None:
        @dataclasses.dataclass
        class Section(nl.NKIObject):
            width: int
            first = None
            last = 3

            def size(self):
                return self.last - self.first

        class Plain(nl.NKIObject):
            scale = 1.0

        @nki.jit
        def kernel(x, section):
            t = in_sbuf(x[:, section.first:section.last])
            nisa.tensor_scalar(t, t, nl.multiply, Plain(scale=2.0).scale)
            self.assertEqual(section.size(), section.width)
            return in_hbm(t)

        x = f32(8, 10)
        self.same(kernel(x, Section(4, first=2, last=6)), 2 * x[:, 2:6])
        self.assertEqual((Section(1).last, Section(1).first), (3, None))

    def test_fields_that_are_not_given(self) -> None:
        @dataclasses.dataclass(frozen=True)
        class Sizes(nl.NKIObject):
            rows: int
            columns: int
            depth: int = 2
            names: list = dataclasses.field(default_factory=list)

        @dataclasses.dataclass
        class Own(nl.NKIObject):
            rows: int

            def __init__(self, rows):
                self.rows = rows

        sizes = Sizes(4)
        self.assertEqual((sizes.rows, sizes.depth, sizes.names, Sizes(rows=1, columns=2).columns), (4, 2, [], 2))
        self.assertEqual(Sizes(columns=5).columns, 5)
        for read in (lambda: sizes.columns, lambda: Sizes().rows):
            with self.assertRaisesRegex(AttributeError, "no attribute '(columns|rows)'"):
                read()
        with self.assertRaisesRegex(TypeError, "rows"):
            Own()
        with self.assertRaisesRegex(TypeError, "row_count"):
            Sizes(row_count=1)

        @dataclasses.dataclass
        class Derived(nl.NKIObject):
            rows: int
            columns: int

            def __post_init__(self):
                self.columns = 7

        self.assertEqual(Derived(1).columns, 7)

    def test_constants_of_files(self) -> None:
        """nl.shared_constant takes the name of a .npy file as well, or its path."""
        x, table = f32(128, 8), f32(128, 8)
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "table.npy")
            np.save(name, table)
            for constant in (name, pathlib.Path(name), table):
                def kernel(x):
                    t = in_sbuf(x)
                    nisa.tensor_tensor(dst=t, data1=t, data2=in_sbuf(nl.shared_constant(constant)), op=nl.add)
                    return in_hbm(t)

                self.close(nki.jit(kernel)(x), x + table)


class IndirectRows(Case):
    def test_dims_of_one_element(self) -> None:
        """Rows that a tile chooses, seen with a dim of size 1 more, or less, than the other side of the copy."""
        @nki.jit
        def kernel(x, at):
            i, rows = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.sbuf), nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=i, src=at)
            nisa.dma_copy(dst=rows, src=x.ap(pattern=[[18, 4], [1, 1], [1, 6]], offset=6, vector_offset=i, indirect_dim=0))
            out, deeper = nl.ndarray((20, 6), dtype=nl.float32, buffer=nl.shared_hbm), nl.ndarray((4, 1, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=out, src=nl.zeros((20, 6), dtype=nl.float32, buffer=nl.sbuf))
            nisa.tensor_copy(deeper, rows)
            nisa.dma_copy(dst=out.ap(pattern=[[6, 4], [1, 6]], vector_offset=i, indirect_dim=0), src=deeper)
            return out

        x, at = np.random.RandomState(0).rand(20, 3, 6).astype(np.float32), np.array([[3], [0], [19], [7]], np.int32)
        want = np.zeros((20, 6), np.float32)
        want[at[:, 0]] = x[at[:, 0], 1]
        self.same(kernel(x, at), want)


class Registers(Case):
    def test_loaded_from_tiles(self) -> None:
        @nki.jit
        def kernel(x, at):
            i, r, fixed = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf), nisa.register_alloc(), nisa.register_alloc(7)
            nisa.dma_copy(dst=i, src=at)
            nisa.register_load(r, i)
            nisa.register_move(fixed, 5)
            rows = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
            part = nl.ndarray((x.shape[1], 4), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=rows, src=x.select(0, r)).depends_on()
            nisa.tensor_copy(dst=part, src=rows.ap([[x.shape[2], x.shape[1]], [1, 4]], scalar_offset=r, indirect_dim=1))
            outs = [nl.ndarray(s, dtype=d, buffer=nl.shared_hbm) for s, d in ((rows.shape, x.dtype), (part.shape, x.dtype), ((1, 1), nl.int32), ((1,), nl.int32))]
            nisa.dma_copy(dst=outs[0], src=rows)
            nisa.dma_copy(dst=outs[1], src=part)
            nisa.register_store(outs[2], r)
            nisa.register_store(outs[3], fixed)
            return tuple(outs)

        x = np.arange(4 * 8 * 9, dtype=np.float32).reshape(4, 8, 9)
        for at in (0, 3):
            rows, part, loaded, fixed = kernel(x, np.array([[at]], np.int32))
            self.same(rows, x[at])
            self.same(part, x[at][:, at:at + 4])
            self.assertEqual((int(loaded[0, 0]), int(fixed[0])), (at, 5))

    def test_trips_are_not_known(self) -> None:
        @nki.jit
        def kernel(x):
            r, t = nisa.register_alloc(), nl.load(x)
            nisa.register_load(r, t)
            for _ in nl.dynamic_range(r):
                pass
            return x

        for compiled in (lambda: kernel.compile(nki.TensorSpec((1, 1), nl.int32)), lambda: kernel.compile(np.ones((1, 1), np.int32))):
            with self.assertRaisesRegex(NotImplementedError, r"test_v06.py:\d+: register: .*known only when the kernel runs.*no loops.*call the kernel on arrays"):
                compiled()

    def test_trips_that_arrays_tell(self) -> None:
        """Of nl.dynamic_range and of `while`: the kernel is traced for the numbers that it is called on."""
        def loaded(tile):
            r = nisa.register_alloc()
            nisa.register_load(r, tile)
            return r

        @nki.jit
        def sums(x, bounds):
            first, t, out = nl.load(bounds), nl.zeros((8, 4), dtype=nl.float32), nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.tensor_scalar(dst=first, data=first, op0=nl.add, operand0=1)
            for i in nl.dynamic_range(loaded(first[:, 0:1]), loaded(first[:, 1:2])):
                nisa.tensor_tensor(dst=t, data1=t, data2=nl.load(x[i]), op=nl.add)
            nisa.dma_copy(dst=out, src=t)
            return out

        x = np.random.RandomState(0).rand(6, 8, 4).astype(np.float32)
        for a, b in ((0, 4), (2, 3), (3, 2), (0, 4)):
            self.close(sums(x, np.array([[a - 1, b - 1]], np.int32)), x[a:b].sum(0))

        @nki.jit
        def halved(n, steps):
            """How often a number is halved until it is below 1."""
            value, count, more = nl.load(n), nl.zeros((1, 1), dtype=nl.float32), nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=more, data=value, op0=nl.greater_equal, operand0=1.0)
            r = loaded(more)
            while r:
                nisa.tensor_scalar(dst=value, data=value, op0=nl.multiply, operand0=0.5)
                nisa.tensor_scalar(dst=count, data=count, op0=nl.add, operand0=1.0)
                nisa.tensor_scalar(dst=more, data=value, op0=nl.greater_equal, operand0=1.0)
                nisa.register_load(r, more)
            nisa.dma_copy(dst=steps, src=count)
            return steps

        for n, count in ((0.5, 0), (1.0, 1), (100.0, 7)):
            self.same(halved(np.array([[n]], np.float32), np.zeros((1, 1), np.float32)), np.array([[count]], np.float32))

    @unittest.skipIf(os.environ.get("XCC_NKI_TARGET", "cpu") != "cpu", "a program for another machine has one core")
    def test_trips_of_two_cores(self) -> None:
        @nki.jit
        def each(x, counts):
            """Both programs of a grid, with a trip count each."""
            c, out = nl.program_id(0), nl.ndarray((2, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            t = nl.zeros((8, 4), dtype=nl.float32)
            r = nisa.register_alloc(nl.load(counts[c:c + 1, 0:1]))
            for i in nl.dynamic_range(r):
                nisa.tensor_tensor(dst=t, data1=t, data2=nl.load(x[i]), op=nl.add)
            nisa.core_barrier(out, (0, 1))
            nisa.dma_copy(dst=out[c], src=t)
            return out

        x = np.random.RandomState(0).rand(6, 8, 4).astype(np.float32)
        self.close(each[2](x, np.array([[5], [2]], np.int32)), np.stack([x[:5].sum(0), x[:2].sum(0)]))

    def test_steps_are_numbers(self) -> None:
        for step in (nisa.register_alloc(1), 0):
            with self.assertRaisesRegex(TypeError, r"test_v06.py:\d+: nl.dynamic_range: step is .*expected a positive number"):
                nki.jit(lambda x: [nl.load(x) for _ in nl.dynamic_range(0, 4, step)][0])(np.ones((1, 1), np.int32))


class Scalars(Case):
    def test_arithmetic(self) -> None:
        """Of numbers that the kernel reads: it wraps at 32 bits."""
        @nki.jit
        def kernel(x):
            t, out = nl.load(x), nl.ndarray((1, 8), dtype=nl.int32, buffer=nl.shared_hbm)
            a, b = nisa.scalar_load(t[:, 0:1]), nisa.scalar_load(t[:, 1:2])
            for k, y in enumerate((a * 4 + 1, 7 - a, a - b, a * b, -a, +b, 2 * (a + b), b + 100000007)):
                one = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
                nisa.scalar_store(one, y)
                nisa.dma_copy(dst=out[:, k:k + 1], src=one)
            return out

        for a, b in ((3, 5), (100000, -100000), (2 ** 31 - 1, 1)):
            want = [a * 4 + 1, 7 - a, a - b, a * b, -a, b, 2 * (a + b), b + 100000007]
            self.same(kernel(np.array([[a, b]], np.int32)), [[(n + 2 ** 31) % 2 ** 32 - 2 ** 31 for n in want]])

    def test_places_and_trips(self) -> None:
        @nki.jit
        def kernel(x, at):
            t, out = nl.load(at), nl.ndarray((2, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            i = nisa.scalar_load(t)
            row, total = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.sbuf), nl.zeros((8, 4), dtype=nl.float32)
            nisa.dma_copy(dst=row, src=x.select(0, i * 2 - 1))
            nisa.dma_copy(dst=out[0], src=row)

            def body(k):
                nisa.dma_copy(dst=row, src=x.select(0, k))
                nisa.tensor_tensor(dst=total, data1=total, data2=row, op=nl.add)

            nl.fori_loop(1, i + 1, body)
            nl.while_loop(i, lambda left: (body(left), left - 1)[1])
            nisa.dma_copy(dst=out[1], src=total)
            return out

        x = np.random.RandomState(0).rand(6, 8, 4).astype(np.float32)
        for i in (1, 3):
            self.close(kernel(x, np.array([[i]], np.int32)), np.stack([x[2 * i - 1], 2 * x[1:i + 1].sum(0)]))

    def test_mistakes(self) -> None:
        one = np.ones((1, 1), np.int32)
        for words, body in (("a comparison of a scalar has no result", lambda t: nisa.scalar_load(t) < 3),
                            ("src is .*float32.*expected a tensor of one int32", lambda t: nisa.scalar_load(nl.copy(t, dtype=nl.float32)))):
            with self.assertRaisesRegex(TypeError, r"test_v06.py:\d+: scalar\w*: " + words):
                nki.jit(lambda x: body(nl.load(x)))(one)


class TwoCores(Case):
    """kernel[2]: both programs may store what does not depend on the program."""

    def test_alike(self) -> None:
        @nki.jit
        def kernel(x):
            n, p = nl.num_programs(0), nl.program_id(0)
            rows = x.shape[0] // n
            own, all_ = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in "12")
            t, u = nl.load(x), nl.load(x[nl.ds(p * rows, rows), :])
            nl.store(all_, nl.exp(t))
            nl.store(own[nl.ds(p * rows, rows), :], nl.add(u, 1.0))
            return own, all_

        x = np.random.RandomState(0).rand(8, 5).astype(np.float32)
        own, all_ = kernel[2](x)
        self.close(all_, np.exp(x))
        self.same(own, x + 1)

    def test_alike_by_way_of_a_tensor_of_their_own(self) -> None:
        @nki.jit
        def kernel(x):
            own, out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.private_hbm), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(own, nl.exp(nl.load(x)))
            nl.store(out, nl.load(own))
            return out

        x = np.random.RandomState(0).rand(8, 5).astype(np.float32)
        self.close(kernel[2](x), np.exp(x))

    def test_different(self) -> None:
        @nki.jit
        def kernel(x):
            out = nl.ndarray((4, 5), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.load(x[nl.ds(nl.program_id(0) * 4, 4), :]))
            return out

        with self.assertRaisesRegex(Exception, r"test_v06.py:\d+: .*programs \(0\) and \(1\) of the grid both write element 0"):
            kernel[2](np.ones((8, 5), np.float32))


@unittest.skipIf(os.environ.get("XCC_NKI_TARGET", "cpu") != "cpu", "a program for another machine has one core")
class Cores(Case):
    def test_send_and_wait(self) -> None:
        @nki.jit
        def kernel(x):
            core = nl.program_id(0)
            shared, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2))
            mine, other = nl.load(x[core]), nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
            for step in range(2):
                nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=step)
                nisa.tensor_scalar(mine, mine, nl.multiply, 2.0)
                nisa.tensor_tensor(mine, mine, other, nl.subtract)
            nisa.dma_copy(dst=shared[core], src=mine)
            nisa.core_barrier(shared, (0, 1))
            nl.store(out[core], nl.load(shared[1 - core]))
            return out

        a, b = x = f32(2, 30, 7)
        for _ in range(2):
            a, b = 2 * a - b, 2 * b - a
        self.close(kernel[2](x), np.stack([b, a]), 1e-5, 1e-5)

    def test_sums_of_programs_are_their_own(self) -> None:
        @nki.jit
        def kernel(x):
            core = nl.program_id(0)
            out = nl.ndarray((2, x.shape[1], 1), dtype=x.dtype, buffer=nl.shared_hbm)
            t, unused, sums = nl.load(x[core]), nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf), nl.zeros((x.shape[1], 1), dtype=x.dtype)
            nisa.activation(unused, nl.copy, t, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reset_reduce)
            nisa.core_barrier(out, (0, 1))
            nisa.activation(unused, nl.copy, t, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reduce, reduce_res=sums)
            nl.store(out[core], sums)
            return out

        x = f32(2, 9, 11)
        self.close(kernel[2](x), 2 * x.sum(2, keepdims=True), 1e-5, 1e-5)

    def test_messages(self) -> None:
        @nki.jit
        def kernel(x, how):
            t = nl.load(x)
            if how == "alone" and nl.program_id(0) == 0:
                nisa.core_barrier(x, (0, 1))
            if how == "one":
                nisa.core_barrier(x, (0, 1))
            if how == "types":
                nisa.sendrecv(src=t, dst=nl.ndarray(x.shape, dtype=nl.float16, buffer=nl.sbuf), send_to_rank=0, recv_from_rank=0, pipe_id=0)
            if how == "crossed":
                nisa.core_barrier(x, (0, 1)) if nl.program_id(0) == 0 else nisa.sendrecv(t, t, 0, 0, 0)
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, t)
            return out

        for how, words, grid in (("one", r"core_barrier: is for the two programs of kernel\[2\]", 1),
                                 ("alone", "core_barrier: program 0 waits here, and program 1 never comes", 2),
                                 ("types", "sendrecv: src is float32.* and dst float16.*expected the same", 2),
                                 ("crossed", "core_barrier: program 0 waits here for program 1, which waits in sendrecv at", 2)):
            with self.subTest(how), self.assertRaisesRegex(nki.NkiError, r"test_v06.py:\d+: " + words):
                kernel[grid](f32(4, 5), how)


class SharedDims(Case):
    def test_operands_of_other_dims(self) -> None:
        """As many elements in other free dims; here none of the two shapes suits both operands."""
        @nki.jit
        def kernel(x, y):
            a, b, out = nl.load(x), nl.load(y), nl.ndarray((4, 24), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(out, a[:, :, 0:6], b[:, :, 0:12], nl.add)
            return out

        x, y = f32(4, 4, 8), f32(4, 2, 16)
        self.close(kernel(x, y), x[:, :, :6].reshape(4, 24) + y[:, :, :12].reshape(4, 24))


class Functions(Case):
    def test_ranges_as_indices(self) -> None:
        @nki.jit
        def kernel(x):
            rows, columns = nl.affine_range(x.shape[0]), nl.affine_range(1, x.shape[1])
            out = nl.ndarray((x.shape[0], x.shape[1] - 1), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out[rows, nl.affine_range(x.shape[1] - 1)], nl.load(x[rows, columns]))
            return out

        x = f32(6, 9)
        self.same(kernel(x), x[:, 1:])

    def test_random_numbers_repeat(self) -> None:
        @nki.jit
        def kernel():
            outs = []
            for _ in nl.static_range(2):
                nl.random_seed(42)
                outs += [nl.rand((4, 6), nl.float32, nl.shared_hbm), nl.rand((4, 6), nl.float32, nl.shared_hbm)]
            return tuple(outs)

        a, b, c, d = kernel()
        self.same(a, c)
        self.same(b, d)
        self.assertTrue((a != b).all())

    def test_tiles_as_arguments(self) -> None:
        """`if bias:` asks whether one was given; a comparison of tiles has no value."""
        def scaled(t, scale=None):
            if scale:
                nisa.tensor_tensor(t, t, scale, nl.multiply)
            return t

        @nki.jit
        def kernel(x, compare=False):
            t, s = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x)
            nisa.memset(s, 3.0)
            if compare and t > s:
                return t
            return nl.copy(scaled(scaled(t, s)))

        x = np.random.RandomState(0).rand(4, 6).astype(np.float32)
        self.same(kernel(x), 3 * x)
        with self.assertRaisesRegex(nki.NkiError, "known only when the kernel runs"):
            kernel(x, True)

    def test_patterns_of_tensors(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            assert t.is_contiguous() and not t[:, 0:4:2].is_contiguous() and not t.is_indirect()
            assert t[:, 0:4:2].get_pattern() == [[6, 4], [2, 2]] and t.strides == (6, 1)
            out = nl.ndarray((4, 4), dtype=nl.uint8, buffer=nl.shared_hbm)
            nl.store(out, t.reinterpret_cast(nl.uint8)[:, 4:8])
            return out

        x = np.random.RandomState(0).rand(4, 6).astype(np.float32)
        self.same(kernel(x), x.view(np.uint8)[:, 4:8])

    def test_shuffles_in_psum(self) -> None:
        """One row to all partitions, and rows in another order within PSUM, which transfers do not reach."""
        @nki.jit
        def kernel(x):
            t, turned = (nl.ndarray((64, 128), dtype=x.dtype, buffer=nl.sbuf), nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.psum))
            nisa.dma_copy(dst=t, src=x)
            nisa.nc_transpose(dst=turned, data=t)
            all_rows, back = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf), nl.ndarray((32, 64), dtype=x.dtype, buffer=nl.psum)
            for q in range(4):
                nisa.nc_stream_shuffle(dst=all_rows[32 * q:32 * q + 32], src=turned[32:33] if q == 3 else turned[0:1], shuffle_mask=[0] * 32)
            nisa.nc_transpose(dst=back[:, 0:32], data=t[0:32, 0:32])
            nisa.nc_transpose(dst=back[:, 32:64], data=t[32:64, 0:32])
            nisa.nc_stream_shuffle(dst=back[0:20], src=turned[0:20], shuffle_mask=list(range(19, 1, -1)) + [255] * 14)
            out = nl.ndarray((160, 64), dtype=x.dtype, buffer=nl.shared_hbm)
            kept = nl.ndarray((32, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=kept, src=back)
            nisa.dma_copy(dst=out[0:128], src=all_rows)
            nisa.dma_copy(dst=out[128:160], src=kept)
            return out

        x = f32(64, 128)
        rows = x.T[[0] * 96 + [32] * 32 + list(range(19, 1, -1)) + list(range(18, 32))]
        self.same(kernel(x), rows)

    def test_arrays_in_objects(self) -> None:
        """Arrays in dataclasses, named tuples and parameter objects are arguments like others; results may be in such too."""
        @dataclasses.dataclass(frozen=True)
        class Plain:
            scale: Any
            by: float

        @dataclasses.dataclass
        class Own(nl.NKIObject):
            scale: Any
            by: float

        class Pair(NamedTuple):
            scale: Any
            by: float

        @nki.jit
        def kernel(x, scales):
            t, s = nl.load(x), nl.load(scales.scale)
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.multiply(nl.multiply(t, s), scales.by))
            return Pair(out, scales.by)

        x, s = f32(4, 6), f32(4, 6)
        scales = nl.NKIObject(scale=s, by=5.0)
        for made in (Plain(s, 2.0), Own(s, 4.0), Pair(s, 0.5), scales):
            got = kernel(x, made)
            self.same(got.scale, x * s * np.float32(made.by))
            self.assertEqual((type(got), got.by), (Pair, made.by))
        scales.by = 8.0
        self.same(kernel(x, scales).scale, x * s * 8)

    def test_tensors_of_parts(self) -> None:
        @nki.jit
        def kernel(x):
            t, part = nl.load(x[1:5, 0:3].base_tensor), x[2]
            assert x.base_tensor.shape == (6, 4) and part.base_tensor.shape == (6, 4) and t[:, 1:3].base_tensor.shape == (6, 4)
            return nl.add(t, t[:, 1:3].base_tensor)

        x = np.random.RandomState(0).rand(6, 4).astype(np.float32)
        self.same(kernel(x), 2 * x)


if __name__ == "__main__":
    main()
