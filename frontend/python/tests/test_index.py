"""Index expressions, masks and views: nothing here needs the libraries."""
from __future__ import annotations

from support import Case, main, np

from xcc import dtypes
from xcc.nki._errors import NeedValue, NkiTypeError
from xcc.nki._index import Expr, Grid, Mask, Variable, arange, mgrid
from xcc.nki._mask import region_of
from xcc.nki._record import Object
from xcc.nki._source import loop_info
from xcc.nki._tensor import par_dim
from xcc.nki._trace import full_view


def variable(count: int) -> Expr:
    return Expr((), 0, ((Variable(count, "i", "key"), 1),), ())


def values(e: Expr, i: int = 0) -> np.ndarray:
    """What an expression is for a value of its variables."""
    out = np.full(e.shape, e.base + sum(c * i for _, c in e.terms))
    for k, s in enumerate(e.steps):
        out = out + s * np.arange(e.shape[k]).reshape([-1 if a == k else 1 for a in range(len(e.shape))])
    return out


class Expressions(Case):
    def test_arithmetic(self) -> None:
        i = variable(5)
        e = 3 * i * 128 + arange(4)[:, None] * 2 - arange(1, 4)[None, :]
        self.same(values(e, 2), 768 + np.arange(4)[:, None] * 2 - np.arange(1, 4)[None, :])
        self.assertEqual(i - i, 0)
        self.assertEqual((i * 4 + 2) // 4 - i, 0)
        self.assertEqual((i * 4 + 2) % 4, 2)

    def test_division_by_ranges(self) -> None:
        i = variable(4)
        self.assertEqual(i // 4, 0)
        self.assertEqual((i % 4) - i, 0)
        with self.assertRaises(NeedValue):
            i // 2

    def test_grid(self) -> None:
        g = mgrid[0:3, 2:6]
        self.assertIsInstance(g, Grid)
        self.same(values(g.p), np.mgrid[0:3, 2:6][0])
        self.same(values(g.x), np.mgrid[0:3, 2:6][1])

    def test_comparisons_known_from_ranges(self) -> None:
        i = variable(4)
        self.assertIs(i < 4, True)
        self.assertIs(i >= 4, False)
        self.assertIsInstance(i < 2, Mask)
        with self.assertRaises(NeedValue):
            bool(i < 2)

    def test_what_is_not_affine(self) -> None:
        with self.assertRaises(NkiTypeError):
            arange(4)[:, None] * arange(4)[None, :]
        with self.assertRaises(NeedValue):
            variable(3) * variable(2)


class Masks(Case):
    def test_cut_one_axis(self) -> None:
        p, f = mgrid[0:128, 0:512]
        r = region_of((p < 64) & (f >= 3) & (f <= 255), (128, 512))
        self.assertEqual((r.starts, r.counts, r.rest), ([0, 3], [64, 253], []))

    def test_bound_by_a_loop(self) -> None:
        i = variable(4)
        r = region_of(i * 128 + arange(128)[:, None] < 500, (128, 10))
        self.assertIsNone(r.bounds[1])
        self.assertEqual([values(r.bounds[0], k).item() for k in range(4)], [500, 372, 244, 116])

    def test_always_and_never(self) -> None:
        p, f = mgrid[0:128, 0:512]
        self.assertTrue(region_of(p >= 0, (128, 512)).trivial)
        self.assertTrue(region_of(f > 511, (128, 512)).empty)

    def test_several_axes_remain(self) -> None:
        p, f = mgrid[0:8, 0:8]
        self.assertEqual(len(region_of(p + f < 8, (8, 8)).rest), 1)
        self.assertEqual(len(region_of((p < 2) | (f < 2), (8, 8)).rest), 1)


class Views(Case):
    def tensor(self, *shape: int) -> object:
        return full_view(Object(0, "hbm", shape, dtypes.float32, "x"))

    def numbers(self, v: object) -> np.ndarray:
        """Which elements a view shows."""
        flat = np.arange(v.object.elements, dtype=np.int64)  # type: ignore[attr-defined]
        return np.lib.stride_tricks.as_strided(flat[v.offset:], v.shape, [8 * s for s, _ in v.dims])  # type: ignore[attr-defined]

    def test_indexing(self) -> None:
        x, a = self.tensor(4, 6, 8), np.arange(192).reshape(4, 6, 8)
        for key in (np.s_[1], np.s_[:, 2:5], np.s_[..., 3], np.s_[1:3, :, ::2], np.s_[-1, 1]):
            self.same(self.numbers(x[key]), a[key])
        p, f = mgrid[0:4, 0:3]
        self.same(self.numbers(x[p, 2, 2 * f + 1]), a[:, 2, 1:6:2])
        self.same(self.numbers(x[1, arange(2)[:, None] + arange(3)[None, :], 0]), a[1, np.arange(2)[:, None] + np.arange(3), 0])

    def test_reshape_and_permute(self) -> None:
        x, a = self.tensor(4, 6, 8), np.arange(192).reshape(4, 6, 8)
        self.same(self.numbers(x.reshape(24, 8)), a.reshape(24, 8))
        self.same(self.numbers(x[:, 0:3].reshape((4, 24))), a[:, 0:3].reshape(4, 24))
        self.same(self.numbers(x.permute(2, 0, 1)), a.transpose(2, 0, 1))
        self.assertEqual(int(par_dim(7)), 7)

    def test_promotion(self) -> None:
        d = dtypes
        table = [(d.float32, d.int32, d.float32), (d.bfloat16, d.float16, d.float32), (d.int8, d.uint8, d.int16), (d.int8, d.uint16, d.int32),
                 (d.int32, d.uint32, d.float32), (d.float8_e4m3, d.float8_e5m2, d.bfloat16), (d.bfloat16, d.int32, d.bfloat16)]
        for a, b, want in table:
            self.assertEqual(d.promote(a, b), want)
            self.assertEqual(d.promote(b, a), want)


class Sources(Case):
    def test_loop_info(self) -> None:
        def body(n: object) -> None:
            total = 0
            for i in range(3):
                total = total + i
                fresh = total
                fresh = fresh + 1
            for j in range(3):
                other = j
                print(other)
            for k in range(3):
                if k:
                    break

        def odd(n: object) -> None:
            """A docstring
that ends dedent."""
            for i in range(
                    3):
                print(i)

        self.assertTrue(loop_info(odd.__code__, odd.__code__.co_firstlineno + 3).simple)
        lines = body.__code__.co_firstlineno
        first, second, third = (loop_info(body.__code__, lines + k) for k in (2, 6, 9))
        self.assertEqual(first.carried, {"total"})
        self.assertEqual(second.carried, frozenset())
        self.assertFalse(third.simple)


if __name__ == "__main__":
    main()
