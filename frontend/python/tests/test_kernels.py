"""Kernels in the form of neuronxcc.nki, compared with NumPy."""
from __future__ import annotations

import contextlib
import io
import os
import warnings
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim
from xcc.nki import NkiError
from xcc.nki._shrink import bytes_on_chip

R = np.random.RandomState(7)


def f32(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


@nki.jit
def scaled_sum(a, b, scale=2.0):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows, columns = a.shape
    p, f = nl.arange(128)[:, None], nl.arange(columns)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        inside = i * 128 + p < rows
        x = nl.load(a[i * 128 + p, f], mask=inside)
        y = nl.load(b[i * 128 + p, f], mask=inside)
        nl.store(out[i * 128 + p, f], x * scale + y, mask=inside)
    return out


@nki.jit
def matmul(lhs_t, rhs):
    k, m = lhs_t.shape
    n = rhs.shape[1]
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // 128):
        for j in nl.affine_range(n // 512):
            acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
            for t in nl.affine_range(k // 128):
                a = nl.load(lhs_t[nl.ds(t * 128, 128), nl.ds(i * 128, 128)])
                b = nl.load(rhs[t * 128:(t + 1) * 128, j * 512:(j + 1) * 512])
                acc += nisa.nc_matmul(a, b)
            nl.store(out[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512], nl.copy(acc))
    return out


@nki.jit
def row_softmax(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    e = nisa.activation(np.exp, t, bias=nl.negative(nl.max(t, axis=1)), scale=1.0)
    nl.store(out, e / nl.sum(e, axis=[1]))
    return out


class Basics(Case):
    def test_elementwise_with_a_masked_tail(self) -> None:
        a, b = f32(300, 70), f32(300, 70)
        self.close(scaled_sum(a, b), a * 2 + b)
        self.close(scaled_sum(a, b, scale=-0.5), a * -0.5 + b)

    def test_matmul_accumulates(self) -> None:
        a, b = f32(384, 256), f32(384, 1024)
        self.close(matmul(a, b), a.T.astype(np.float64) @ b, 1e-4, 1e-3)

    def test_product_whose_result_takes_a_factors_place(self) -> None:
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
            product = nisa.nc_matmul(nl.load(a), nl.load(b))
            nl.store(out, nl.copy(product))
            return out

        a, b = f32(128, 128), f32(128, 512)
        self.close(kernel(a, b), a.T.astype(np.float64) @ b, 1e-4, 1e-3)

    def test_softmax(self) -> None:
        x = f32(100, 333)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        self.close(row_softmax(x), e / e.sum(1, keepdims=True))

    def test_in_place(self) -> None:
        def kernel(a, out):
            nl.store(out[0:4], nl.load(a[0:4]) + nl.load(out[0:4]))

        a, out = f32(8, 5), f32(8, 5)
        want = out.copy()
        want[:4] += a[:4]
        nki.simulate_kernel(kernel, a, out)
        self.close(out, want)

    def test_blocks_and_views(self) -> None:
        @nki.jit
        def kernel(a):
            n, p, f = a.shape
            blocks = nl.ndarray((n, par_dim(p), f), dtype=a.dtype, buffer=nl.sbuf)
            total = nl.zeros((par_dim(p), f), dtype=nl.float32)
            for i in nl.affine_range(n):
                blocks[i] = nl.load(a[i])
            for i in nl.affine_range(n):
                total[:, 0:f] += blocks[i, :, :]
            even = total[nl.arange(p)[:, None], 2 * nl.arange(f // 2)[None, :]]
            out = nl.ndarray((p, f // 2), dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, even)
            return out

        a = f32(5, 64, 12)
        self.close(kernel(a), a.sum(0)[:, ::2])

    def test_grid(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            i, j = nl.program_id(0), nl.program_id(1)
            scale = 1.0 if i == 0 else 3.0  # asks for the value of i
            nl.store(out[i, j], nl.load(a[i, j]) * scale)
            return out

        a = f32(2, 3, 16, 8)
        want = a * np.array([1, 3], np.float32).reshape(2, 1, 1, 1)
        self.close(kernel[2, 3](a), want)
        self.close(kernel[nl.nc(2), 3](a), want)

    def test_private_tensors_of_programs(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            i = nl.program_id(0)
            spill = nl.ndarray(a.shape[1:], dtype=a.dtype, buffer=nl.private_hbm)
            nl.store(spill, nl.load(a[i]) * 2.0)
            nl.store(out[i], nl.load(spill) + 1.0)
            return out

        a = f32(6, 16, 8)
        self.close(kernel[6](a), a * 2 + 1)

    def test_arrays_of_other_libraries(self) -> None:
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        a = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
        y = scaled_sum(a, a)
        self.assertIs(type(y), torch.Tensor)
        self.assertTrue(torch.equal(y, a * 3))

    def test_transposes(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray((a.shape[1], a.shape[0]), dtype=a.dtype, buffer=nl.shared_hbm)
            again = nl.ndarray(out.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.copy(nisa.nc_transpose(nl.load(a))))
            nl.store(again, nl.load_transpose2d(a))
            return out, again

        a = f32(40, 100)
        for y in kernel(a):
            self.same(y, a.T)

    def test_reduction_over_inner_axes(self) -> None:
        @nki.jit
        def kernel(a):
            c, h, w = a.shape
            p, y, dy, x, dx = nl.mgrid[0:c, 0:h // 2, 0:2, 0:w // 3, 0:3]
            out = nl.ndarray((c, h // 2, w // 3), dtype=a.dtype, buffer=nl.shared_hbm)
            t = nl.load(a)
            nl.store(out, nl.max(t[p, 2 * y + dy, 3 * x + dx], axis=[2, 4]))
            return out

        a = f32(7, 8, 9)
        self.same(kernel(a), a.reshape(7, 4, 2, 3, 3).max((2, 4)))

    def test_types(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=nl.int32, buffer=nl.shared_hbm)
            t = nl.load(a) * 1.5
            assert t.dtype == nl.float32
            nl.store(out, nl.copy(t, dtype=nl.int32))
            return out

        a = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
        self.same(kernel(a), np.rint(a * 1.5).astype(np.int32))

    def test_device_print(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            t = nl.load(a)
            nl.device_print("tile:", t)
            nl.store(out, t)
            return out

        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            kernel(np.full((1, 2), 5, np.float32))
        self.assertEqual(text.getvalue(), "tile: [[5. 5.]]\n")


class Loops(Case):
    def test_carried_tile_unrolls(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray((a.shape[1], a.shape[2]), dtype=a.dtype, buffer=nl.shared_hbm)
            total = nl.zeros((a.shape[1], a.shape[2]), dtype=a.dtype)
            for i in nl.sequential_range(a.shape[0]):
                total = nl.add(total, nl.load(a[i]))  # a new tile each trip
            nl.store(out, total)
            return out

        a = f32(5, 8, 9)
        self.close(kernel(a), a.sum(0))

    def test_growing_list_unrolls(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray((a.shape[1], a.shape[2]), dtype=a.dtype, buffer=nl.shared_hbm)
            tiles = []
            for i in nl.affine_range(a.shape[0]):
                tiles.append(nl.load(a[i]))
            total = tiles[0]
            for t in tiles[1:]:
                total = total + t
            nl.store(out, total)
            return out

        a = f32(4, 8, 9)
        self.close(kernel(a), a.sum(0))

    def test_state_of_objects_and_functions_unrolls(self) -> None:
        """What trips leave to each other in attributes, in variables of an outer function and in iterators."""
        class Held:
            def __init__(self) -> None:
                self.count, self.tile = 0, None

        def attributes(t, acc):
            h = Held()
            for _ in nl.sequential_range(4):
                h.count += 1
                acc[...] = acc + t * float(h.count)

        def tiles(t, acc):
            h = Held()
            for _ in nl.sequential_range(4):
                h.tile = t * 1.0 if h.tile is None else h.tile + t
                acc[...] = acc + h.tile

        def outer_names(t, acc):
            n = 0.0

            def step():
                nonlocal n
                n += 1.0
                return n

            for _ in nl.sequential_range(4):
                acc[...] = acc + t * step()

        def iterators(t, acc):
            numbers = iter([1.0, 2.0, 3.0, 4.0])
            for _ in nl.sequential_range(4):
                acc[...] = acc + t * next(numbers)

        a = f32(8, 9)
        for body in attributes, tiles, outer_names, iterators:
            with self.subTest(body=body.__name__):
                @nki.jit
                def kernel(a, body=body):
                    out, acc = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm), nl.zeros(a.shape, dtype=nl.float32)
                    body(nl.load(a), acc)
                    nl.store(out, acc)
                    return out

                self.close(kernel(a), a * 10)

    def test_objects_that_trips_do_not_share_stay_traced_once(self) -> None:
        """An attribute that each trip makes anew is no state."""
        class Held:
            pass

        @nki.jit
        def kernel(a):
            out, h = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm), Held()
            for i in nl.affine_range(a.shape[0]):
                h.tile = nl.load(a[i])
                nl.store(out[i], h.tile * 2.0)
            return out

        a = f32(6, 8, 9)
        self.close(kernel(a), a * 2)
        self.assertLess(len(kernel.compile(a).trace.records), 8)

    def test_numbers_of_an_index(self) -> None:
        """What Python and NumPy make of a loop's index where they need its value, as of an int."""
        table = np.arange(20, 14, -1)
        forms = {"itself": lambda i: i, "affine": lambda i: 2 * i + 1, "or": lambda i: i | 1, "xor": lambda i: 3 ^ i, "not": lambda i: ~i & 7, "row": lambda i: float(table[i]), "part": lambda i: float(table[i:i + 2].sum()),
                 "equal conditions": lambda i: 2 if (i > 1) == (i > 3) else 1, "unequal conditions": lambda i: 2 if (i > 1) != (i > 3) else 1,
                 "conditions as numbers": lambda i: (i > 1) + 3 * (i > 2) - (i == 4), "a number": lambda i: float(i > 2) + int(i == 0)}
        a = f32(6, 4, 5)
        for name, form in forms.items():
            for trips in nl.affine_range, nl.sequential_range:
                with self.subTest(form=name):
                    @nki.jit
                    def kernel(a, form=form, trips=trips):
                        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
                        for i in trips(a.shape[0]):
                            nl.store(out[i], nl.load(a[i]) + form(i))
                        return out

                    self.close(kernel(a), a + np.float32([form(i) for i in range(6)]).reshape(6, 1, 1))

    def test_an_index_added_to_integers(self) -> None:
        """An address of tensors, and a number of tiles."""
        @nki.jit
        def kernel(table, first, rows):
            n, (r, _), f = 3, rows.shape, nl.arange(table.shape[1])[None, :]
            blocks = nl.ndarray((n, 2, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
            picked = nl.ndarray((n, r, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
            sums = nl.ndarray((n, 1, 1), dtype=first.dtype, buffer=nl.shared_hbm)
            start, index = nl.load(first), nl.load(rows)
            for i in nl.affine_range(n):
                nl.store(blocks[i], nl.load(table[start[0, 0] + 2 * i + nl.arange(2)[:, None], f]))
                nl.store(picked[i], nl.load(table[(index + i)[nl.arange(r)[:, None], 0], f]))
                nl.store(sums[i], start + i)
            return blocks, picked, sums

        table, rows = f32(12, 5), np.array([[3], [1], [0], [9]], np.int32)
        blocks, picked, sums = kernel(table, np.array([[4]], np.int32), rows)
        self.same(blocks, table[4:10].reshape(3, 2, 5))
        self.same(picked, np.stack([table[rows[:, 0] + i] for i in range(3)]))
        self.same(sums, np.array([4, 5, 6], np.int32).reshape(3, 1, 1))

    def test_conditions_on_an_index(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            for i in nl.affine_range(a.shape[0]):
                t = nl.load(a[i])
                if i % 2:
                    t = t * -1.0
                nl.store(out[i], t)
            return out

        a = f32(5, 8, 9)
        self.close(kernel(a), a * np.where(np.arange(5) % 2, -1, 1).reshape(5, 1, 1))

    def test_loops_stay_loops(self) -> None:
        compiled = scaled_sum.compile(f32(1280, 16), f32(1280, 16))
        self.assertLess(len(compiled.trace.records), 12)

    def test_return_inside_a_loop(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            for i in nl.affine_range(a.shape[0]):
                nl.store(out[i], nl.exp(nl.load(a[i])))
                return out

        a = f32(3, 4, 5)
        self.close(kernel(a), np.exp(a))


class Masked(Case):
    def test_words_between_masks(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            p, f = nl.mgrid[0:a.shape[0], 0:a.shape[1]]
            t = nl.zeros(a.shape, dtype=a.dtype)
            t[p, f] = nl.add(nl.load(a), 1.0, mask=(p < 3 and f < 2))
            nl.store(out, t)
            return out

        a = f32(6, 5)
        want = np.zeros_like(a)
        want[:3, :2] = a[:3, :2] + 1
        self.close(kernel(a), want)

    def test_chained_comparisons(self) -> None:
        @nki.jit
        def kernel(a):
            p, f = nl.mgrid[0:a.shape[0], 0:a.shape[1]]
            t = nl.zeros(a.shape, dtype=a.dtype)
            t[p, f] = nl.copy(nl.load(a), mask=1 <= f < 4)
            return t

        a = f32(6, 5)
        want = np.zeros_like(a)
        want[:, 1:4] = a[:, 1:4]
        self.close(kernel(a), want)

    def test_rest_of_a_destination_stays(self) -> None:
        @nki.jit
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            t = nl.load(a)
            p, f = nl.mgrid[0:a.shape[0], 0:a.shape[1]]
            t[...] = nl.multiply(t, 0.0, mask=f >= 3)
            nl.store(out, t)
            return out

        a = f32(4, 6)
        want = a.copy()
        want[:, 3:] = 0
        self.close(kernel(a), want)


class Errors(Case):
    def fails(self, kernel: object, *args: object) -> str:
        with self.assertRaises(Exception) as caught:
            nki.simulate_kernel(kernel, *args)
        text = str(caught.exception)
        self.assertIn("test_kernels.py:", text)
        return text

    def test_one_dimensional_arange(self) -> None:
        def kernel(a):
            nl.load(a[nl.arange(4)])

        self.assertIn("new axis", self.fails(kernel, f32(4)))

    def test_mixed_indexing(self) -> None:
        def kernel(a):
            nl.load(a[0:4, nl.arange(4)[None, :]])

        self.assertIn("mixed", self.fails(kernel, f32(4, 4)))

    def test_too_many_partitions(self) -> None:
        def kernel(a):
            nl.load(a)

        self.assertIn("200 partitions, at most 128", self.fails(kernel, f32(200, 4)))

    def test_contraction(self) -> None:
        def kernel(a, b):
            nisa.nc_matmul(nl.load(a), nl.load(b))

        self.assertIn("stationary has 64 rows and moving 32", self.fails(kernel, f32(64, 4), f32(32, 4)))

    def test_out_of_bounds(self) -> None:
        def kernel(a):
            nl.load(a[2:6, :])

        self.assertIn("index 5 is out of bounds for axis 0 with size 4", self.fails(kernel, f32(4, 4)))

    def test_shapes_that_do_not_broadcast(self) -> None:
        def kernel(a, b):
            nl.add(nl.load(a), nl.load(b))

        self.assertIn("y has shape (4, 6), expected (4, 5)", self.fails(kernel, f32(4, 5), f32(4, 6)))

    def test_condition_on_an_index_array(self) -> None:
        def kernel(a):
            if nl.arange(4)[:, None] < 2:
                nl.load(a)

        self.assertIn("no single value", self.fails(kernel, f32(4, 6)))

    def test_storing_what_nothing_wrote(self) -> None:
        def kernel(a, out):
            t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
            nl.store(out, t)

        self.assertIn("which nothing has written", self.fails(kernel, f32(4, 6), f32(4, 6)))

    def test_reading_what_nothing_wrote(self) -> None:
        def tile(a):
            t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
            return nl.add(nl.load(a), t)

        def tensor(a):
            return nl.load(nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.hbm))

        def index(a):
            rows = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.sbuf)
            return nl.load(a[rows[nl.arange(4)[:, None], 0], nl.arange(6)[None, :]])

        for kernel, what in ((tile, "nl.add: reads tile 'sbuf"), (tensor, "nl.load: reads tensor 'tensor'"), (index, "reads tile 'sbuf")):
            text = self.fails(kernel, f32(4, 6))
            self.assertRegex(text, r"test_kernels.py:\d+: ")
            self.assertIn(what, text)
            self.assertIn("which nothing has written", text)

    def test_functions_of_numpy(self) -> None:
        self.assertIn("write nl.exp", self.fails(lambda a: np.exp(nl.load(a)), f32(4, 6)))

        def scalars(a):
            t = nl.load(a)
            return np.float32(3) - t, np.float32(2) * t, np.float32(1) < t

        x = f32(4, 6)
        less, twice, above = nki.jit(scalars)(x)
        self.close(less, 3 - x)
        self.close(twice, 2 * x)
        self.same(above, (x > 1).astype(np.uint8))

    def test_one_line_of_indices(self) -> None:
        def kernel(a):
            nl.load(a[nl.arange(4), 0:6])

        self.assertIn("new axis", self.fails(kernel, f32(4, 6)))
        self.assertIn("new axis", self.fails(lambda a: nl.load(a[nl.arange(4)]), f32(4, 6)))

    def test_condition_on_a_tile(self) -> None:
        def kernel(a):
            if nl.load(a)[0, 0] > 0:
                pass

        self.assertIn("known only when the kernel runs", self.fails(kernel, f32(4, 6)))

    def test_nothing_returned(self) -> None:
        with self.assertRaises(NkiError):
            nki.jit(lambda a: None)(f32(2, 2))


class Partitions(Case):
    """Engines do not repeat partitions; functions of nl do it by a copy."""

    def refused(self, kernel, *words) -> None:
        x = f32(64, 32)
        with self.assertRaises(nki.NkiError) as e:
            nki.jit(kernel)(x)
        for w in (__file__, "has 1 partition, the result has 64", "broadcast_to((64, ...))") + words:
            self.assertIn(w, str(e.exception))

    def test_operator(self) -> None:
        self.refused(lambda x: nl.load(x) + nl.load(x[0:1, :]), ": +: ")

    def test_in_place(self) -> None:
        def kernel(x):
            t = nl.load(x)
            t *= nl.load(x[0:1, :])
            return t

        self.refused(kernel, ": *=: ")

    def test_assignment(self) -> None:
        def kernel(x):
            t = nl.ndarray((64, 32), dtype=x.dtype)
            t[...] = nl.load(x[0:1, :])
            return t

        self.refused(kernel, ": assignment: the operand ")

    def test_instructions(self) -> None:
        self.refused(lambda x: nisa.tensor_tensor(nl.load(x), nl.load(x[0:1, :]), np.add), "tensor_tensor: the second operand ")
        self.refused(lambda x: nisa.tensor_scalar(nl.load(x), np.add, nl.load(x[0:1, 0:1])), "tensor_scalar: the operand0 operand ")
        self.refused(lambda x: nisa.activation(nl.exp, nl.load(x), bias=nl.load(x[0:1, 0:1])), "activation: the bias operand ")

    def test_functions(self) -> None:
        x = f32(64, 32)
        a, b = nki.jit(lambda x: (nl.add(nl.load(x), nl.load(x[0:1, :])), nl.load(x) * nl.load(x[0:1, :]).broadcast_to((64, 32))))(x)
        self.same(a, x + x[0:1])
        self.same(b, x * x[0:1])


class Written(Case):
    """What is read without having been written: simulating says so."""

    def warnings(self, kernel, how=nki.simulate_kernel):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            how(kernel, f32(16, 64))
        return [str(w.message) for w in seen]

    @staticmethod
    def half(x):
        out = nl.ndarray((16, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray((16, 64), dtype=x.dtype, name="wide")
        for i in nl.affine_range(3):
            t[:, nl.ds(i * 16, 16)] = nl.load(x[:, nl.ds(i * 16, 16)])
        nl.store(out, nl.exp(t))
        return out

    def test_part_of_a_tile(self) -> None:
        said = self.warnings(nki.jit(self.half))
        self.assertEqual(len(said), 1)
        for w in (__file__, "elements of tile 'wide' [16, 64]", "nothing has written"):
            self.assertIn(w, said[0])
        self.assertEqual(self.warnings(nki.jit(self.half), lambda k, x: k(x)), [])

    def test_all_of_it(self) -> None:
        def kernel(x):
            t = nl.ndarray((16, 64), dtype=x.dtype)
            for i in nl.affine_range(4):
                t[:, nl.ds(i * 16, 16)] = nl.load(x[:, nl.ds(i * 16, 16)])
            return nl.exp(t)

        self.assertEqual(self.warnings(kernel), [])

    def test_masked_results(self) -> None:
        def kernel(x):
            out = nl.ndarray((16, 20), dtype=x.dtype, buffer=nl.shared_hbm)
            p, j = nl.mgrid[0:16, 0:64]
            nl.store(out[p, j], nl.exp(nl.load(x[p, j], mask=j < 20)), mask=j < 20)
            return out

        self.assertEqual(self.warnings(kernel), [])

    def test_mask_that_leaves_nothing(self) -> None:
        """The third of two blocks: what it would have written may be read, as long as it is not stored."""
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
            i = nl.arange(64)[:, None]
            j = nl.arange(64)[None, :]
            for b in nl.static_range(3):
                inside = b * 64 + i < 128
                t = nl.ndarray((64, 64), dtype=x.dtype)
                sums = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
                t[...] = nl.load(x[b * 64 + i, j], mask=inside)
                sums[i, j] += nisa.nc_matmul(t[i, j], t[i, j], mask=(b * 64 < 128))
                nl.store(out[b * 64 + i, j], nl.copy(sums), mask=inside)
            return out

        x = f32(128, 64)
        self.close(kernel(x), np.concatenate([x[:64].T @ x[:64], x[64:].T @ x[64:]]), 1e-4, 1e-4)


class Dims(Case):
    def test_more_than_an_access_pattern_has(self) -> None:
        """Seven dims, none of which can be joined: several instructions."""
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            p, a, b, c, i, j, k = nl.mgrid[0:8, 0:2, 0:2, 0:2, 0:3, 0:4, 0:5]
            out = nl.ndarray((8, 7, 9, 11), dtype=x.dtype)
            out[...] = 0
            out[p, 2 * i + 1 - a, 2 * j + 1 - b, 2 * k + 1 - c] = 3.0 * t[p, i + a, j + b, k + c] + t[p, i, j, k]
            return out

        x = f32(8, 4, 5, 6)
        want = np.zeros((8, 7, 9, 11), np.float32)
        p, a, b, c, i, j, k = np.mgrid[0:8, 0:2, 0:2, 0:2, 0:3, 0:4, 0:5]
        want[p, 2 * i + 1 - a, 2 * j + 1 - b, 2 * k + 1 - c] = 3.0 * x[p, i + a, j + b, k + c] + x[p, i, j, k]
        self.close(kernel(x), want)


class Mistakes(Case):
    """What people do first, and what they are told to do instead."""

    def told(self, kernel, pattern: str) -> None:
        with self.assertRaisesRegex(nki.NkiError, pattern) as e:
            nki.jit(kernel)(f32(40, 16))
        self.assertIn(__file__, str(e.exception))

    def test_past_the_end(self) -> None:
        self.told(lambda x: nl.load(x[nl.arange(64)[:, None], nl.arange(16)[None, :]]),
                  r"nl.load: index 63 is out of bounds for axis 0 with size 40; cut what lies beyond by mask=\(index < 40\)")

    def test_a_value_of_a_tile(self) -> None:
        for f in (float, int, bool):
            self.told(lambda x, f=f: f(nl.load(x)[0:1, 0:1]), "is known only when the kernel runs")


class Chosen(Case):
    """One element of a tile as an index beside slices."""

    def test_a_row_by_an_element(self) -> None:
        def kernel(table, which):
            out, w = nl.ndarray((3, 20), dtype=table.dtype, buffer=nl.shared_hbm), nl.load(which)
            for i in nl.static_range(3):
                row = nl.load(table[w[0, i], :])  # one index is gone: 20 partitions of one element
                nl.store(out[i:i + 1, 0:20], nl.transpose(row))
            return out

        table, which = f32(9, 20), np.array([[7, 0, 4]], np.int32)
        self.same(nki.jit(kernel)(table, which), table[which[0]])

    def test_grid_of_one_partition_in_a_block(self) -> None:
        def kernel(x):
            t = nl.ndarray((3, nl.par_dim(2), 8), dtype=x.dtype, buffer=nl.sbuf)
            for b in nl.static_range(3):
                t[b] = nl.load(x[b])
            out = nl.ndarray((3, 8), dtype=x.dtype, buffer=nl.shared_hbm)
            i, j, k = nl.mgrid[0:1, 0:1, 0:8]
            for b in nl.static_range(3):
                nl.store(out[b + i, k], nl.exp(t[i + b, j, k]))
            return out

        x = f32(3, 2, 8)
        self.close(nki.jit(kernel)(x), np.exp(x[:, 0]))

    def test_partitions_of_fewer_dims(self) -> None:
        """An index array (P, 1, 1) beside others of four dims names partitions, also where it has as many elements as another axis."""
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            p = nl.arange(x.shape[0])[:, None, None]
            _, i, j, k = (nl.arange(n)[tuple(slice(None) if a == axis else None for a in range(4))] for axis, n in enumerate((1,) + x.shape[1:]))
            t = nl.load(x[p, i, j, k])
            self.assertEqual(t.shape, x.shape)
            nl.store(out[p, i, j, k], nl.exp(t[p, i, j, k]))
            return out

        for shape in ((5, 3, 4, 2), (4, 4, 4, 4), (5, 1, 6, 2), (3, 3, 1, 1)):
            x = f32(*shape)
            self.close(nki.jit(kernel)(x), np.exp(x))

    def test_sizes_that_are_quotients(self) -> None:
        x = f32(4, 12)
        self.same(nki.jit(lambda t: nl.copy(nl.load(t).reshape((4, 12 / 4, 4))))(x), x.reshape(4, 3, 4))


class Blocks(Case):
    """Kernels that name a block for each trip of all loops: those that live at one time are kept."""

    def test_of_which_few_live(self) -> None:
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            loaded = nl.ndarray((16, 8, nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
            turned = nl.ndarray((8, 16, 4, nl.par_dim(128), 128), dtype=x.dtype, buffer=nl.sbuf)  # the inner loop's blocks lie further apart
            sums = nl.zeros((16, 8, 4, nl.par_dim(128), 128), dtype=nl.float32, buffer=nl.psum, lazy_initialization=True)
            i, j = nl.mgrid[0:128, 0:128]
            for a in nl.sequential_range(16):  # each trip writes all of out again
                for b in nl.affine_range(8):
                    loaded[a, b] = nl.load(x[a // 16, b, 0:128, 0:512])
                    for c in nl.affine_range(4):
                        sums[a, b, c, i, j] = nisa.nc_transpose(loaded[a, b, i, 128 * c + j])
                        turned[b, a, c, i, j] = nl.copy(sums[a, b, c, i, j])
                        nl.store(out[a // 16, b, i, 128 * c + j], nl.exp(turned[b, a, c, i, j]))
            return out

        x = f32(1, 8, 128, 512)
        k = nki.jit(kernel)
        want = np.exp(x.reshape(8, 128, 4, 128).transpose(0, 3, 2, 1).reshape(x.shape))
        self.close(k(x), want)
        self.assertLess(bytes_on_chip(k.compile(x).trace), 25 << 20)


class Queues(Case):
    def test_store_by_indices_beside_busy_engines(self) -> None:
        """Whatever engine has the least to do: it must know the instruction that its queue is given."""
        def numbers(t):
            return nisa.iota(nl.arange(16)[None, :] + 0 * nl.arange(64)[:, None], dtype=nl.float32)

        for made, least in ((numbers, np.arange(16)), (lambda t: nisa.activation(nl.relu, t), 0)):
            @nki.jit(platform_target="trn2")
            def kernel(x, places):
                out = nl.ndarray((64, 16), dtype=x.dtype, buffer=nl.shared_hbm)
                rows, j = nl.load(places), nl.arange(16)[None, :]
                t = nl.load(x)
                for _ in nl.static_range(4):
                    t = nl.maximum(made(t), t)
                nl.store(out[rows[nl.arange(64)[:, None], 0], j], t)
                return out

            x, order = f32(64, 16), R.permutation(64).astype(np.int32)[:, None]
            for target in ("cpu", "trn2"):
                with mock.patch.dict(os.environ, {"XCC_NKI_TARGET": target}):
                    got = kernel(x, order)
                self.close(got, np.maximum(x, least)[np.argsort(order[:, 0])])


class Specs(Case):
    def test_benchmark_without_arrays(self) -> None:
        from neuronxcc.nki.typing import tensor

        @nki.benchmark(warmup=1, iters=2)
        def kernel(x, i):
            t = nl.load(x)
            return nl.add(t, nl.load(i))

        with contextlib.redirect_stdout(io.StringIO()):
            out = kernel(tensor[[32, 16], nl.float32], tensor[[32, 16], nl.int32])
        self.assertEqual(out.shape, (32, 16))
        self.assertGreater(kernel.benchmark_result.nc_latency.get_latency_percentile(50), 0)


if __name__ == "__main__":
    main()
