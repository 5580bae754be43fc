"""Reads of what nothing has written: `simulate` names the tile or tensor, where it was made and what reads it."""
from __future__ import annotations

import warnings
from typing import Any, Callable, List

from support import Case, main, np

import neuronxcc.nki as nki1
import neuronxcc.nki.isa as nisa1
import neuronxcc.nki.language as nl1
import nki
import nki.isa as nisa
import nki.language as nl

ROWS, COLUMNS = 128, 64


def fresh(dtype: Any = nl.float32, buffer: Any = nl.sbuf, columns: int = COLUMNS) -> Any:
    return nl.ndarray((ROWS, columns), dtype=dtype, buffer=buffer)


class Unwritten(Case):
    def said(self, body: Callable[[Any, Any], None], dtype: Any = nl.float32, platform: Any = None) -> List[str]:
        def kernel(x):
            out = fresh(dtype, nl.shared_hbm)
            body(x, out)
            return out

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            nki.simulate(nki.jit(kernel, platform_target=platform))(np.ones((ROWS, COLUMNS), np.float32))
        return [str(w.message) for w in seen]

    def named(self, what: str, *args: Any) -> None:
        said = self.said(*args)
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"test_unwritten.py:\d+: reads elements of %s \[128, \d+\] \(made in line \d+\) that nothing has written" % what)

    def test_views_of_other_elements(self) -> None:
        """A tile is written as halves, or read as halves or pairs: its bytes are followed."""
        def as_halves(columns: int) -> Callable[[Any, Any], None]:
            def body(x, out):
                t = fresh()
                nisa.memset(t.view(nl.bfloat16)[:, :columns], 0)
                nisa.dma_copy(out, t)
            return body

        def as_pairs(columns: int) -> Callable[[Any, Any], None]:
            def body(x, out):
                t = fresh(nl.bfloat16)
                nisa.memset(t.view(nl.float32)[:, :columns], 0)
                nisa.dma_copy(out, t)
            return body

        self.assertEqual(self.said(as_halves(2 * COLUMNS)), [])
        self.named("tile 'sbuf'", as_halves(COLUMNS))
        self.assertEqual(self.said(as_pairs(COLUMNS // 2), nl.bfloat16), [])
        self.named("tile 'sbuf'", as_pairs(COLUMNS // 4), nl.bfloat16)

        def read_as_halves(x, out):
            t = fresh(columns=COLUMNS // 2)
            nisa.memset(t[:, :COLUMNS // 4], 0)
            nisa.dma_copy(out, t.view(nl.bfloat16))

        self.named("tile 'sbuf'", read_as_halves, nl.bfloat16)

    def test_place_of_another_tile(self) -> None:
        """A tile that takes the place of one that is done with does not have its elements."""
        def body(x, out):
            first, second, third, last = (fresh() for _ in range(4))
            nisa.dma_copy(first, x)
            nisa.tensor_scalar(second, first, nl.add, 1.0)
            nisa.dma_copy(out, second)
            nisa.memset(third[:ROWS // 2], 0.0)
            nisa.tensor_scalar(last, third, nl.add, 1.0)
            nisa.dma_copy(out, last)

        self.named("tile 'sbuf_2'", body)

    def masked(self, body: Callable[..., Any], size: int) -> List[str]:
        """What is said of a kernel in the form of beta 1 whose trips load 128 rows and 64 columns under a mask."""
        def kernel(x):
            n, m = x.shape
            out = nl1.ndarray((128, 64), dtype=nl1.float32, buffer=nl1.shared_hbm)
            p, f = nl1.arange(128)[:, None], nl1.arange(64)[None, :]
            sums = nl1.zeros((64, 64), dtype=nl1.float32, buffer=nl1.psum)
            for i in nl1.affine_range((n + 127) // 128):
                inside = (i * 128 + p < n) & (f < m)
                body(x[i * 128 + p, f], inside, sums, out, i * 128 + p < n, f < m)
            nl1.store(out[0:64], sums)
            return out

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            y = nki1.simulate_kernel(nki1.jit(kernel), np.ones((192, size), np.float32))
        self.sums = y[:size, :size]
        return [str(w.message) for w in seen if "nothing has written" in str(w.message)]

    def test_products_of_what_a_mask_left_out(self) -> None:
        """In the second trip 64 of 128 rows are loaded, and a product sums over all of them."""
        def product(make: Callable[..., Any], cut: bool = False) -> Callable[..., Any]:
            def body(x, inside, sums, out, rows, columns):
                t = make(x, inside)
                if cut:
                    sums[...] += nisa1.nc_matmul(t[rows], t[rows])
                else:
                    sums[...] += nisa1.nc_matmul(t, t)
            return body

        def zeros(x, inside):
            t = nl1.zeros((128, 64), dtype=nl1.float32, buffer=nl1.sbuf)
            t[...] = nl1.load(x, mask=inside)
            return t

        for make in (lambda x, inside: nl1.load(x, mask=inside), lambda x, inside: nl1.exp(nl1.load(x, mask=inside)),
                     lambda x, inside: nl1.copy(nl1.load(x, mask=inside), mask=inside)):
            said = self.masked(product(make), 64)
            self.assertEqual(len(said), 1, said)
            self.assertRegex(said[0], r"test_unwritten.py:\d+: reads elements of tile '\w+' \[128, 64\] \(made in line \d+\) that nothing has "
                             r"written, for a mask left them out: .*let the masked instruction write to a tile of zeros")
        for size in (64, 40):  # columns that were left out make columns of the sums
            for body in (product(zeros), product(lambda x, inside: nl1.load(x, mask=inside), True)):
                self.assertEqual(self.masked(body, size), [])
                self.assertTrue((self.sums == 192).all())

    def test_reductions_of_what_a_mask_left_out(self) -> None:
        def total(f: Callable[..., Any]) -> Callable[..., Any]:
            def body(x, inside, sums, out, rows, columns):
                t = nl1.load(x, mask=inside)
                nl1.store(out[:, 0:1], f(t, rows, columns), mask=rows)
            return body

        for f in (lambda t, rows, columns: nl1.sum(t, axis=1), lambda t, rows, columns: nl1.max(nl1.exp(t), axis=1)):
            self.assertEqual(len(self.masked(total(f), 40)), 1)
            self.assertEqual(self.masked(total(f), 64), [])  # rows that were left out make rows of the result
        for f in (lambda t, rows, columns: nl1.sum(t, axis=1, mask=columns), lambda t, rows, columns: nl1.max(nl1.exp(t), axis=1, mask=columns),
                  lambda t, rows, columns: nl1.sum(nisa1.affine_select(columns, t, 0.0), axis=1)):
            self.assertEqual(self.masked(total(f), 40), [])

    def test_tensors(self) -> None:
        def through(rows: int) -> Callable[[Any, Any], None]:
            def body(x, out):
                own, t = fresh(buffer=nl.private_hbm), fresh()
                nisa.dma_copy(own[:rows], x[:rows])
                nisa.dma_copy(t, own)
                nisa.dma_copy(out, t)
            return body

        self.assertEqual(self.said(through(ROWS)), [])
        self.named(r"tensor '\w+'", through(ROWS // 2))

        def result_before_it_is_one(x, out):
            t = fresh()
            nisa.dma_copy(t, out)
            nisa.dma_copy(out, t)

        self.named(r"tensor '\w+'", result_before_it_is_one)

    def test_rows_that_nothing_wrote_are_quantised(self) -> None:
        """Of 32 partitions 24 hold a value; the others' come out of the group's scale and its elements."""
        def body(x, out):
            t = fresh(nl.bfloat16)
            q, s = nl.ndarray((32, 16), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf), nl.ndarray((32, 16), dtype=nl.uint8, buffer=nl.sbuf)
            nisa.memset(t[:24], 1.0)
            nisa.quantize_mx(dst=q, src=t[:32], dst_scale=s)
            nisa.memset(t, 0.0)
            nisa.dma_copy(out, t)

        self.named("tile 'sbuf'", body, nl.float32, "trn3")


if __name__ == "__main__":
    main()
