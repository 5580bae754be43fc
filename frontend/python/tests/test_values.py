"""Functions of the interface that other tests do not name, in both of its forms, beside NumPy."""
from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from support import Case, main, np

import neuronxcc.nki as nki1
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa1
import neuronxcc.nki.language as nl1
from neuronxcc.nki._private.private_api import do_while
import nki
import nki.isa as nisa
import nki.language as nl

Model = Callable[..., np.ndarray]


def f32(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.RandomState(seed).rand(*shape).astype(np.float32) - 0.5) * 4


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


UNARY: Dict[str, Model] = {
    "exp": np.exp, "log": lambda x: np.log(x), "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "square": np.square, "abs": np.abs,
    "sign": np.sign, "negative": np.negative, "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh,
    "arctan": np.arctan, "sigmoid": logistic, "silu": lambda x: x * logistic(x), "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.log1p(np.exp(x)), "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "gelu_apprx_sigmoid": lambda x: x * logistic(1.702 * x),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
}
POSITIVE = {"log", "sqrt", "rsqrt"}
BINARY: Dict[str, Model] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "power": lambda a, b: np.power(np.abs(a), b), "mod": np.mod, "fmod": np.fmod, "equal": np.equal, "not_equal": np.not_equal,
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
}
BITS: Dict[str, Model] = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
                          "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


class Elementwise(Case):
    def both(self, name: str, model: np.ndarray, *arrays: np.ndarray) -> None:
        for jit, language in ((nki1.jit, nl1), (nki.jit, nl)):
            f = getattr(language, name, None)
            if f is None:
                continue
            with self.subTest("%s.%s" % (language.__name__, name)):
                def kernel(*x: Any) -> Any:
                    y = f(*[language.load(v) for v in x])
                    out = language.ndarray(y.shape, dtype=y.dtype, buffer=language.shared_hbm)
                    language.store(out, y)
                    return out

                self.close(jit(kernel)(*arrays).astype(np.float64), model.astype(np.float64), 2e-6, 2e-6)

    def test_unary(self) -> None:
        x = f32(33, 20)
        for name, f in UNARY.items():
            v = np.abs(x) + 0.1 if name in POSITIVE else x
            self.both(name, f(v.astype(np.float64)), v)

    def test_binary(self) -> None:
        a, b = f32(33, 20, seed=1), f32(33, 20, seed=2)
        a[0, :10] = b[0, :10]
        for name, f in BINARY.items():
            self.both(name, f(a.astype(np.float64), b.astype(np.float64)), np.abs(a) if name == "power" else a, b)

    def test_integers_of_two_types(self) -> None:
        """Exact where all have 32 bits; otherwise as in f32, limited to the result's type."""
        r = np.random.RandomState(4)
        arrays = [r.randint(-60 if np.dtype(d).kind == "i" else 0, 120, (33, 20)).astype(d) for d in ("i1", "u1", "i2", "u2", "i4", "u4")]
        for x in arrays:
            for y in arrays:
                def kernel(a: Any, b: Any) -> Any:
                    ta, tb, results = nl1.load(a), nl1.load(b), []
                    for name in ("less", "greater_equal", "maximum", "minimum", "add", "subtract", "multiply"):
                        t = getattr(nl1, name)(ta, tb, **({} if name in ("less", "greater_equal") else {"dtype": nl1.uint8}))
                        results.append(nl1.ndarray(t.shape, dtype=t.dtype, buffer=nl1.shared_hbm))
                        nl1.store(results[-1], t)
                    return tuple(results)

                p, q = x.astype(np.int64), y.astype(np.int64)
                want = [p < q, p >= q] + [np.clip(f(p, q), 0, 255) for f in (np.maximum, np.minimum, np.add, np.subtract, np.multiply)]
                for got, w in zip(nki1.jit(kernel)(x, y), want):
                    self.same(got, w.astype(np.uint8))

    def test_copies_to_integers(self) -> None:
        """Rounded to the nearest even, limited to the type."""
        numbers = np.array([[-2.75, -1.5, -0.5, 0.5, 0.75, 1.5, 2.5, 300, -300]], np.float32)
        for source in (nl1.float32, nl1.bfloat16, nl1.float16, nl1.int16, nl1.int32):
            for to in (nl1.int8, nl1.uint8, nl1.int16, nl1.uint16, nl1.int32):
                def kernel(x: Any) -> Any:
                    out = nl1.ndarray(x.shape, dtype=to, buffer=nl1.shared_hbm)
                    nl1.store(out, nl1.copy(nl1.load(x, dtype=source), dtype=to))
                    return out

                limits = np.iinfo(to)
                x = np.trunc(numbers) if source in (nl1.int16, nl1.int32) else numbers
                with self.subTest("%s to %s" % (source, to)):
                    self.same(nki1.jit(kernel)(x), np.clip(np.rint(x), limits.min, limits.max).astype(to))

    def test_bits(self) -> None:
        r = np.random.RandomState(3)
        a, b = (r.randint(0, 1 << 20, (33, 20)).astype(np.int32) * (r.rand(33, 20) < 0.8) for _ in range(2))
        for name, f in BITS.items():
            self.both(name, f(a, b), a.astype(np.int32), b.astype(np.int32))
        self.both("invert", np.invert(a), a.astype(np.int32))
        self.both("left_shift", np.left_shift(a, b % 5), a.astype(np.int32), (b % 5).astype(np.int32))
        self.both("right_shift", np.right_shift(a, b % 5), a.astype(np.int32), (b % 5).astype(np.int32))


def returned(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def loaded(x: Any) -> Any:
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t


class Instructions(Case):
    def test_exponential(self) -> None:
        @nki.jit
        def kernel(x, top, start):
            t, m, first = loaded(x), loaded(top), loaded(start)
            y, sums = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf), nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
            outs = []
            for command, init in ((nisa.reduce_cmd.reset_reduce, 0.0), (nisa.reduce_cmd.reduce, 0.0), (nisa.reduce_cmd.load_reduce, first)):
                nisa.exponential(y, t, m, sums, command, init)
                outs.append(returned(sums))
            return tuple([returned(y)] + outs)

        x, top, start = f32(40, 30), f32(40, 1, seed=1), f32(40, 1, seed=2)
        y, once, twice, loads = kernel(x, top, start)
        e = np.exp(x.astype(np.float64) - top)
        for got, want in ((y, e), (once, e.sum(1, keepdims=True)), (twice, 2 * e.sum(1, keepdims=True)), (loads, start + e.sum(1, keepdims=True))):
            self.close(got, want, 1e-5, 1e-5)

    def test_gathers(self) -> None:
        @nki.jit
        def kernel(x, index):
            t, i = loaded(x), loaded(index)
            y = nl.ndarray(index.shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.nc_n_gather(y, t, i)
            return returned(y)

        x, index = f32(16, 5, 8), np.random.RandomState(1).randint(0, 40, (16, 3, 7)).astype(np.uint32)
        self.same(kernel(x, index), np.take_along_axis(x.reshape(16, 40), index.reshape(16, 21).astype(np.int64), 1).reshape(16, 3, 7))

    def test_sums_by_dma(self) -> None:
        @nki.jit
        def kernel(a, b, c):
            out, t = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm), loaded(b)
            nisa.dma_compute(out, [a, t, c], nl.add, [1.0, 1.0, 1.0])
            return out

        a, b, c = (f32(20, 12, seed=k) for k in range(3))
        self.close(kernel(a, b, c), a + b + c, 1e-6, 1e-6)

    def test_sums_by_dma_of_any_shape(self) -> None:
        """Rows without partitions: more than 128, or one that is longer than a partition."""
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_compute(out, [a, b], nl.add, [1.0, 0.5])
            return out

        for shape in (300, 5), (1, 60000), (1, 7), (1, 3, 130), (130,):
            a, b = f32(*shape), f32(*shape, seed=1)
            self.close(kernel(a, b), a + np.float32(0.5) * b, 1e-6, 1e-6)

    def test_indices_beyond_the_tensor(self) -> None:
        """Rows that an index names in sums by DMA and in transposes: what lies beyond is left out, or stays as it is."""
        @nki.jit
        def kernel(table, index, rows):
            i, t = loaded(index), loaded(rows)
            pattern = [[table.shape[1], index.shape[0]], [1, table.shape[1]]]
            sums, turned = loaded(rows), nl.zeros((table.shape[1], index.shape[0]), dtype=nl.float32, buffer=nl.sbuf)
            chosen = table.ap(pattern, vector_offset=i, indirect_dim=0)
            nisa.dma_compute(sums, [sums, chosen], nl.add, oob_mode=nisa.oob_mode.skip)
            nisa.dma_transpose(turned, chosen, axes=(1, 0), oob_mode=nisa.oob_mode.skip)
            out = nl.ndarray(table.shape, dtype=table.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=table)
            nisa.dma_compute(out.ap(pattern, vector_offset=i, indirect_dim=0), [out.ap(pattern, vector_offset=i, indirect_dim=0), t], nl.add,
                             oob_mode=nisa.oob_mode.skip)
            return returned(sums), returned(turned), out

        table, rows = f32(20, 9), f32(7, 9, seed=1)
        index = np.array([3, 25, 0, 19, 20, 7, 11], np.int32).reshape(7, 1)
        inside = index < 20
        chosen = np.where(inside, table[np.minimum(index[:, 0], 19)], 0)
        sums, turned, out = kernel(table, index, rows)
        want = table.copy()
        want[index[inside]] += rows[inside[:, 0]]
        self.same(sums, rows + chosen)
        self.same(turned, chosen.T)
        self.same(out, want)

    def test_copies_to_where_tiles_say(self) -> None:
        def kernel(x, at):
            out = nl1.ndarray((16, 64), dtype=x.dtype, buffer=nl1.shared_hbm)
            t, i = nl1.load(x), nl1.load(at)
            y = nl1.zeros((16, 64), dtype=x.dtype, buffer=nl1.sbuf)
            p, j = nl1.mgrid[0:16, 0:8]
            for k in nl1.affine_range(3):
                nisa1.tensor_copy_dynamic_dst(dst=y[p, i[0, k] + j], src=t[p, k * 8 + j])
            nl1.store(out, y)
            return out

        x, at = f32(16, 24), np.array([[40, 3, 16]], np.int32)
        want = np.zeros((16, 64), np.float32)
        for k in range(3):
            want[:, at[0, k]:at[0, k] + 8] = x[:, 8 * k:8 * k + 8]
        self.same(nki1.jit(kernel)(x, at), want)

    def test_loops_that_reduce(self) -> None:
        def kernel(x):
            out = nl1.ndarray((128, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
            total = nl1.zeros((128, 8), dtype=nl1.float32)
            for k in nl1.affine_range(4):
                total[...] = nl1.loop_reduce(nl1.load(x[k]), op=np.add, loop_indices=[k])
            nl1.store(out, total)
            return out

        x = f32(4, 128, 8)
        self.close(nki1.jit(kernel)(x), x.sum(0), 1e-5, 1e-5)

    def test_loops_that_reduce_what_nothing_wrote(self) -> None:
        def kernel(x):
            sums = nl1.ndarray((2, 32, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
            tops = nl1.ndarray((2, 32, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
            for b in nl1.sequential_range(2):
                total = nl1.ndarray((2, nl1.par_dim(32), 8), dtype=nl1.float32)
                top = nl1.ndarray((32, 8), dtype=x.dtype)
                for k in nl1.affine_range(3):
                    t = nl1.load(x[b, k])
                    total[1, 0:32, 0:8] = nl1.loop_reduce(t, op=np.add, loop_indices=[k])
                    top[...] = nl1.loop_reduce(t, op=np.max, loop_indices=[k])
                nl1.store(sums[b], total[1])
                nl1.store(tops[b], top)
            return sums, tops

        for x in (f32(2, 3, 32, 8) - 2, np.arange(-1536, 0, dtype=np.int32).reshape(2, 3, 32, 8)):
            sums, tops = nki1.jit(kernel)(x)
            self.close(sums, x.sum(1), 1e-5, 1e-5)
            self.close(tops, x.max(1))

    def test_sums_over_programs(self) -> None:
        def kernel(x):
            out = nl1.ndarray(x.shape, dtype=nl1.float32, buffer=nl1.shared_hbm)
            i = nl1.program_id(0)
            t = nl1.load(x[i])
            total = nl1.all_reduce(nl1.sum(t, axis=1), op=np.add, program_axes=[0])
            nl1.store(out[i], t * total)
            return out

        x = f32(2, 128, 24)
        self.close(nki1.jit(kernel)[nl1.nc(2)](x), x * x.sum((0, 2), dtype=np.float64)[None, :, None], 1e-5, 1e-5)
        self.close(nki1.jit(kernel)(x[:1]), x[:1] * x[:1].sum(2, dtype=np.float64)[..., None], 1e-5, 1e-5)

    def test_sums_in_memory(self) -> None:
        @nki1.jit
        def kernel(a, b):
            out = nl1.ndarray(a.shape, dtype=a.dtype, buffer=nl1.shared_hbm)
            nisa1._tiled_offloaded_fma(a, b, dst=out, scales=[1.0, 1.0])
            return out

        a, b = f32(300, 7), f32(300, 7, seed=1)
        self.same(kernel(a, b), a + b)

    def test_do_while(self) -> None:
        """A body that runs once, and again as long as it leaves a number other than 0."""
        @nki1.jit
        def kernel(x, go):
            out, more = nl1.ndarray(x.shape, dtype=x.dtype, buffer=nl1.shared_hbm), nl1.ndarray((1, 1), dtype=nl1.uint8, buffer=nl1.hbm)
            t, at = nl1.load(x), nl1.zeros((1, 1), dtype=nl1.int32)
            with do_while(more):
                t[...] = nl1.multiply(t, 2.0)
                at[...] = nl1.add(at, 1)
                nl1.store(more, nl1.load(go[at[nl1.arange(1)[:, None], 0], nl1.arange(1)[None, :]]))
                nl1.store(out, t)
                return out

        x = f32(8, 4)
        for flags, trips in (([1, 0, 1], 1), ([0, 1, 1, 0], 3)):
            self.same(kernel(x, np.array(flags, np.uint8)[:, None]), x * 2 ** trips)
        with self.assertRaisesRegex(NotImplementedError, r"test_values.py:.*known only when the kernel runs, and another trip of do_while needs it"):
            kernel.compile(nki.TensorSpec((8, 4), nl1.float32), nki.TensorSpec((3, 1), nl1.uint8))

    def test_while(self) -> None:
        @nki.jit
        def kernel(x):
            t, trips = loaded(x), []
            left = nisa.register_alloc(3)

            def body(r):
                trips.append(0)
                nisa.tensor_scalar(t, t, nl.multiply, 2.0)
                nisa.register_move(r, imm=3 - len(trips))
                return r

            nl.while_loop(left, body)
            return returned(t)

        x = f32(8, 4)
        self.same(kernel(x), 8 * x)

        def unknown(x):
            r = nisa.register_alloc()
            nisa.register_load(r, loaded(x))
            nl.while_loop(r, lambda r: r)
            return returned(loaded(x))

        with self.assertRaisesRegex(nki.NkiError, r"test_values.py:\d+: register: was loaded from a tile"):
            nki.jit(unknown).compile(np.ones((1, 1), np.int32))
        with self.assertRaisesRegex(nki.NkiError, r"test_values.py:\d+: register: has been asked for its value 1000 times.*does the loop end"):
            nki.jit(unknown)(np.ones((1, 1), np.int32))


class Tensors(Case):
    def test_views(self) -> None:
        views: Tuple[Tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]], ...] = (
            (lambda t: t.expand_dim(1), lambda x: x[:, None]),
            (lambda t: t.expand_dims(2), lambda x: x[:, :, None]),
            (lambda t: t.expand_dims((1, -1)), lambda x: x[:, None, :, None]),
            (lambda t: t.expand_dims(()), lambda x: x),
            (lambda t: t.expand_dim(dim=1).squeeze_dim(dim=1), lambda x: x),
            (lambda t: t.reshape_dim(1, (4, -1)), lambda x: x.reshape(8, 4, 6)),
            (lambda t: t.reshape_dim(1, (4, 6)).flatten_dims(1, 2), lambda x: x),
            (lambda t: t.slice(1, 2, 20, 3), lambda x: x[:, 2:20:3]),
            (lambda t: t.rearrange(("b", ("h", "w")), ("b", "w", "h"), {"h": 4}), lambda x: x.reshape(8, 4, 6).transpose(0, 2, 1)),
            (lambda t: t.rearrange(src_pattern=("b", ("h", "w")), dst_pattern=("b", "h", "w"), fixed_sizes={"w": 6}), lambda x: x.reshape(8, 4, 6)),
        )
        x = f32(8, 24)
        for k, (view, model) in enumerate(views):
            with self.subTest(k):
                self.same(nki.jit(lambda x: returned(nl.copy(view(loaded(x)))))(x), model(x))

    def test_rows_that_tiles_choose(self) -> None:
        @nki.jit
        def kernel(x, rows):
            i = loaded(rows)
            t = nl.ndarray((rows.shape[0],) + x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x.vector_select(0, i))
            return returned(t)

        x, rows = f32(50, 3, 4), np.random.RandomState(1).randint(0, 50, (20, 1)).astype(np.int32)
        self.same(kernel(x, rows), x[rows[:, 0]])

    def test_where_tensors_lie(self) -> None:
        @nki.jit
        def kernel(x):
            t, p = loaded(x), nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.psum)
            self.assertEqual([(nl.is_hbm(v), nl.is_sbuf(v), nl.is_psum(v), nl.is_on_chip(v)) for v in (x, t, p)],
                             [(True, False, False, False), (False, True, False, True), (False, False, True, True)])
            like = nl.empty_like(t)
            self.assertEqual((like.shape, like.dtype, t.ndim, t.itemsize), (t.shape, t.dtype, 2, 4))
            t.assert_shape((8, 24))
            return returned(t)

        self.same(kernel(f32(8, 24)), f32(8, 24))

    def test_own_allocators(self) -> None:
        """alloc takes a function of a tile's number; addresses are hints here."""
        def placed(idx: Any, pdim_size: Any, fdim_size: Any) -> Tuple[int, int]:
            return 0, 4 * fdim_size * idx[0] if idx else 0

        def bank(idx: Any, pdim_size: Any, fdim_size: Any) -> Tuple[int, int, int]:
            return 0, 0, 0

        @ncc.skip_middle_end_transformations
        @nki1.jit
        def kernel(x):
            out = nl1.ndarray((2, 16, 32), dtype=x.dtype, buffer=nl1.shared_hbm)
            t = nl1.ndarray((2, nl1.par_dim(16), 32), dtype=x.dtype, buffer=ncc.sbuf.alloc(placed))
            q = nl1.ndarray((16, 32), dtype=nl1.float32, buffer=ncc.psum.alloc(bank))
            auto = nl1.ndarray((16, 32), dtype=x.dtype, buffer=ncc.sbuf.auto_alloc())
            for k in nl1.affine_range(2):
                t[k] = nl1.load(x[k])
            q[...] = nl1.copy(t[0])
            auto[...] = nl1.copy(q)
            nl1.store(out[0], auto)
            nl1.store(out[1], t[1])
            return out

        x = f32(2, 16, 32)
        self.same(kernel(x), x)


if __name__ == "__main__":
    main()
