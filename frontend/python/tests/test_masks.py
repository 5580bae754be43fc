"""Masks that leave some rows without an element, or no row at all: what is written there before stays."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Dict, Tuple
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

SHAPE = (33, 20)
X = np.random.RandomState(0).standard_normal(SHAPE).astype(np.float32)
MASKS: Dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda p, f: p < 7, "none by row": lambda p, f: p < 0, "none by column": lambda p, f: f >= SHAPE[1], "triangle": lambda p, f: p + f < 24,
    "two parts": lambda p, f: (p < 5) | ((p > 20) & (f < 3)), "all": lambda p, f: (p != 4) | (f != 4), "diagonal": lambda p, f: f >= p,
}
EMPTY = 3.0  # what destinations hold before
ROWS: Dict[str, Tuple[Callable[..., Any], Callable[[np.ndarray], float]]] = {
    "sum": (lambda x, m: nl.sum(x, axis=1, mask=m, keepdims=True), np.sum),
    "max": (lambda x, m: nl.max(x, axis=1, mask=m, keepdims=True), np.max),
    "min": (lambda x, m: nl.min(x, axis=[1], mask=m, keepdims=True), np.min),
    "mean": (lambda x, m: nl.mean(x, axis=1, mask=m, keepdims=True), np.mean),
    "var": (lambda x, m: nl.var(x, axis=1, mask=m), np.var),
    "tensor_reduce": (lambda x, m: nisa.tensor_reduce(np.max, x, axis=1, negate=True, mask=m, keepdims=True), lambda v: -np.max(v)),
}
INTO: Dict[str, Tuple[Callable[..., Any], Callable[[np.ndarray], float]]] = {
    "tensor_scalar_reduce": (lambda x, m, r: nisa.tensor_scalar_reduce(data=x, op0=np.multiply, operand0=2.0, reduce_op=np.min, reduce_res=r, mask=m),
                             lambda v: 2 * np.min(v)),
    "activation_reduce": (lambda x, m, r: nisa.activation_reduce(nl.exp, x, reduce_op=np.add, reduce_res=r, mask=m), lambda v: np.sum(np.exp(v))),
}


class EmptiedRows(Case):
    def kept(self, kernel: Callable[..., Any], mask: str, model: Callable[[np.ndarray], float]) -> None:
        inside = np.broadcast_to(MASKS[mask](*np.mgrid[0:SHAPE[0], 0:SHAPE[1]]), SHAPE)
        want = np.array([[model(row[keep]) if keep.any() else EMPTY] for row, keep in zip(X, inside)])
        self.close(nki.jit(kernel)(X), want, 2e-5, 1e-5)

    def test_results(self) -> None:
        for name, (f, model) in ROWS.items():
            for mask, m in MASKS.items():
                with self.subTest("%s, %s" % (name, mask)):
                    def kernel(x: Any) -> Any:
                        out = nl.ndarray((SHAPE[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
                        t = nl.full((SHAPE[0], 1), EMPTY, dtype=nl.float32)
                        t[...] = f(nl.load(x), m(nl.arange(SHAPE[0])[:, None], nl.arange(SHAPE[1])[None, :]))
                        nl.store(out, t)
                        return out

                    self.kept(kernel, mask, model)

    def test_results_beside_another(self) -> None:
        for name, (f, model) in INTO.items():
            for mask, m in MASKS.items():
                with self.subTest("%s, %s" % (name, mask)):
                    def kernel(x: Any) -> Any:
                        out = nl.ndarray((SHAPE[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
                        t = nl.full((SHAPE[0], 1), EMPTY, dtype=nl.float32)
                        f(nl.load(x), m(nl.arange(SHAPE[0])[:, None], nl.arange(SHAPE[1])[None, :]), t)
                        nl.store(out, t)
                        return out

                    self.kept(kernel, mask, model)

    def test_trips_that_leave_nothing(self) -> None:
        """Of a loop that is traced once: the last trips lie beyond the tensor."""
        for loop in (nl.sequential_range, nl.static_range):
            def kernel(x: Any) -> Any:
                out = nl.ndarray((2, SHAPE[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
                total, last = nl.zeros((SHAPE[0], 1), dtype=nl.float32), nl.full((SHAPE[0], 1), EMPTY, dtype=nl.float32)
                p, f = nl.arange(SHAPE[0])[:, None], nl.arange(8)[None, :]
                for i in loop(5):
                    inside = i * 8 + f < SHAPE[1]
                    t = nl.load(x[p, i * 8 + f], mask=inside)
                    total += nl.sum(t, axis=1, mask=inside)
                    last[...] = nisa.tensor_reduce(np.max, t, axis=1, mask=inside, keepdims=True)
                nl.store(out[0], total)
                nl.store(out[1], last)
                return out

            self.close(nki.jit(kernel)(X), np.stack([X.sum(1, keepdims=True), X[:, 16:].max(1, keepdims=True)]), 1e-5, 1e-5)

    def test_transposes(self) -> None:
        def kernel(x: Any) -> Any:
            p, f = nl.arange(SHAPE[0])[:, None], nl.arange(SHAPE[1])[None, :]
            out = nl.ndarray(SHAPE[::-1], dtype=nl.float32, buffer=nl.shared_hbm)
            t = nl.full(SHAPE[::-1], EMPTY, dtype=nl.float32)
            t[...] = nisa.nc_transpose(nl.load(x), mask=p + f < 24)
            nl.store(out, t)
            return out

        p, f = np.mgrid[0:SHAPE[0], 0:SHAPE[1]]
        self.same(nki.jit(kernel)(X), np.where(p + f < 24, X, EMPTY).T)

    def test_factors_of_several_dims(self) -> None:
        """Columns of stationary under a condition, beside a moving factor of two free dims."""
        def kernel(x: Any, w: Any) -> Any:
            out = nl.ndarray((200, 3, 40), dtype=nl.float32, buffer=nl.shared_hbm)
            images, filters = nl.load(x), nl.load(w)
            k, h, f = nl.arange(8)[:, None, None], nl.arange(3)[None, :, None], nl.arange(40)[None, None, :]
            rows, columns = nl.arange(128)[:, None, None], nl.arange(128)[None, :]
            for i in nl.affine_range(2):
                sums = nl.zeros((128, 3, 40), dtype=nl.float32, buffer=nl.psum)
                for _ in nl.affine_range(2):
                    c = i * 128 + columns
                    some = filters[nl.arange(8)[:, None], c]
                    sums[rows, h, f] += nisa.nc_matmul(some[c < 200], images[k, h, f])
                nl.store(out[i * 128 + rows, h, f], nl.copy(sums), mask=i * 128 + rows < 200)
            return out

        r = np.random.RandomState(5)
        x, w = r.randn(8, 3, 40).astype(np.float32), r.randn(8, 200).astype(np.float32)
        self.close(nki.jit(kernel)(x, w), 2 * np.einsum("khf,kc->chf", x, w), 1e-5, 1e-4)

    def test_factors_without_their_first_rows(self) -> None:
        """Strict targets multiply from partition 0 on: what a mask leaves is moved there."""
        def kernel(x: Any, y: Any) -> Any:
            out = nl.ndarray((16, 32), dtype=nl.float32, buffer=nl.shared_hbm)
            k, m, n = nl.arange(24)[:, None], nl.arange(16)[None, :], nl.arange(32)[None, :]
            a, b = nl.load(x), nl.load(y)
            sums = nisa.nc_matmul(a[k, m][k >= 5], b[k, n][k >= 5])
            nl.store(out, nl.copy(sums))
            return out

        r = np.random.RandomState(6)
        x, y = r.randn(24, 16).astype(np.float32), r.randn(24, 32).astype(np.float32)
        for target in "cpu", "trn1", "trn2":
            with self.subTest(target=target), mock.patch.dict(os.environ, {"XCC_NKI_TARGET": target}), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.close(nki.jit(kernel)(x, y), x[5:].T @ y[5:], 1e-5, 1e-4)


if __name__ == "__main__":
    main()
