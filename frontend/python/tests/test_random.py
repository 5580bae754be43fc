"""Random kernels, compared with a model of the documented semantics in NumPy.

test_random.py [FIRST [COUNT]]: the kernels of COUNT seeds from FIRST on (0, 40 without arguments). A kernel is a list of steps;
`Device` runs it with nl and nisa inside a kernel, `Model` with NumPy. The model keeps beside each value which of its elements are
defined: masked results leave the others as they were, and what is computed from undefined elements is undefined.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Callable, List, Optional, Tuple

from random_draws import BINARY, COMPARE, MORE, Step, pick_name
from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import nki.isa as nisa06

UNARY = {"exp": np.exp, "square": np.square, "abs": np.abs, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "negative": np.negative,
         "sigmoid": lambda x: 1 / (1 + np.exp(-np.clip(x, -80, 80)))}
REDUCE = {"add": np.sum, "max": np.max, "min": np.min}


class Value:
    """An array and which of its elements are defined. rate: how many elements are 0 instead, by chance."""

    def __init__(self, data: np.ndarray, defined: Optional[np.ndarray] = None, rate: Optional[float] = None):
        self.data = data.astype(np.float32)
        self.defined = np.ones(data.shape, bool) if defined is None else defined.copy()  # steps assign to parts
        self.rate = rate

    def wrong(self, got: np.ndarray) -> int:
        """How many elements differ."""
        want, ok = self.data, self.defined
        if got.shape != want.shape:
            return max(want.size, 1)
        near = np.isclose(got, want, 1e-4, 1e-4 * max(1.0, float(np.abs(want[ok]).max(initial=0))))
        if self.rate is None:
            return int((~near & ok).sum())
        if (~near & (got != 0) & ok).any():
            return int((~near & (got != 0) & ok).sum())
        n, dropped = int((ok & (want != 0)).sum()), int((ok & (want != 0) & (got == 0)).sum())
        return int(abs(dropped - n * self.rate) > 6 * np.sqrt(n * self.rate * (1 - self.rate)) + 1)


def ordered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where it is certain which is larger, or that they are equal: tanh(x) and x, for one, may be rounded to either side of each other."""
    return (x == y) | ~np.isclose(x, y, 1e-6, 1e-8)


def mask_of(spec: Optional[Tuple[int, int, int]], shape: Tuple[int, ...], trip: int = 0) -> np.ndarray:
    """spec a, b, c: rows * a + columns * b + trip * 3 < c."""
    if spec is None:
        return np.ones(shape, bool)
    p, f = np.mgrid[0:shape[0], 0:shape[1]]
    return p * spec[0] + f * spec[1] + 3 * trip < spec[2]


def places(seed: int, shape: Tuple[int, ...], columns: int) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, shape[1], (shape[0], columns))


def order(seed: int) -> List[int]:
    return [int(i) for i in np.random.RandomState(seed).permutation(32)]


def segments(seed: int, n: int) -> np.ndarray:
    """Runs of equal numbers; 0 pads."""
    r = np.random.RandomState(seed)
    return np.repeat(r.permutation(8), r.multinomial(n, np.ones(8) / 8))


def cores(seed: int, rows: int, columns: int, count: int, per: int) -> np.ndarray:
    """Indices of local_gather: [rows, count], each the first of `per` elements."""
    return np.random.RandomState(seed).randint(0, columns - per + 1, (rows, count))


class Model:
    def __init__(self, inputs: List[np.ndarray]):
        self.inputs = inputs
        self.values: List[Value] = []

    def run(self, steps: List[Step]) -> List[Value]:
        for s in steps:
            getattr(self, s[0])(*s[1:])
        return self.values

    def put(self, data: np.ndarray, defined: np.ndarray, mask: np.ndarray) -> None:
        self.values.append(Value(data, defined & mask))

    def load(self, k: int, row: int, rows: int, columns: int, mask: Any) -> None:
        x = np.full((rows, columns), 0, np.float32)
        part = self.inputs[k][row:row + rows, :columns]
        x[:part.shape[0], :part.shape[1]] = part
        inside = np.zeros((rows, columns), bool)
        inside[:part.shape[0], :part.shape[1]] = True
        self.put(x, inside, mask_of(mask, x.shape))

    def unary(self, f: str, a: int, mask: Any) -> None:
        v = self.values[a]
        self.put(UNARY[f](v.data), v.defined, mask_of(mask, v.data.shape))

    def binary(self, f: str, a: int, b: int, mask: Any) -> None:
        x, y = self.values[a], self.values[b]
        data = BINARY[f](x.data, y.data)
        self.put(data, np.broadcast_to(x.defined, data.shape) & np.broadcast_to(y.defined, data.shape), mask_of(mask, data.shape))

    def scalar(self, f: str, a: int, s: float, reverse: bool) -> None:
        v = self.values[a]
        self.put(BINARY[f](np.float32(s), v.data) if reverse else BINARY[f](v.data, np.float32(s)), v.defined, v.defined)

    def reduce(self, f: str, a: int, negate: bool, columns: Optional[int]) -> None:
        v = self.values[a]
        n = v.data.shape[1] if columns is None else columns
        x = np.where(v.defined, v.data, 0)[:, :n]
        r = REDUCE[f](x, axis=1, keepdims=True).astype(np.float32)
        self.values.append(Value(-r if negate else r, v.defined[:, :n].all(1, keepdims=True)))

    def transpose(self, a: int) -> None:
        v = self.values[a]
        self.values.append(Value(v.data.T.copy(), v.defined.T.copy()))

    def product(self, a: int, b: int, f: str) -> None:
        x, y = self.values[a], self.values[b]
        data = np.where(x.defined, x.data, 0).T.astype(np.float64) @ np.where(y.defined, y.data, 0)
        defined = x.defined.all(0)[:, None] & y.defined.all(0)[None, :]
        self.values.append(Value(UNARY[f](data), defined))

    def select(self, a: int, coefficients: Tuple[int, int, int], fill: float) -> None:
        v = self.values[a]
        keep = mask_of(coefficients, v.data.shape)
        self.values.append(Value(np.where(keep, v.data, np.float32(fill)), v.defined | ~keep))

    def where(self, f: str, a: int, b: int) -> None:
        x, y = self.values[a], self.values[b]
        data = np.where(COMPARE[f](x.data, y.data), x.data, y.data)
        self.values.append(Value(data, x.defined & np.broadcast_to(y.defined, data.shape)))

    def assign(self, a: int, b: int, row: int, column: int, f: str, mask: Any) -> None:
        to, v = self.values[a], self.values[b]
        h, w = v.data.shape
        m = mask_of(mask, v.data.shape)
        part, defined = to.data[row:row + h, column:column + w], to.defined[row:row + h, column:column + w]
        part[...] = np.where(m, UNARY[f](v.data), part)
        defined[...] = np.where(m, v.defined, defined)

    def gather(self, a: int, seed: int, columns: int) -> None:
        v, at = self.values[a], places(seed, self.values[a].data.shape, columns)
        self.values.append(Value(np.take_along_axis(v.data, at, 1), np.take_along_axis(v.defined, at, 1)))

    def shuffle(self, a: int, seed: int, mask: Any) -> None:
        v, m = self.values[a], mask_of(mask, self.values[a].data.shape)
        places = (np.arange(0, len(v.data), 32)[:, None] + np.array(order(seed))[None, :]).reshape(-1)
        self.values.append(Value(np.where(m, v.data[places], 0.5), v.defined[places] | ~m))

    def predicated(self, f: str, a: int, b: int, reverse: bool, mask: Any) -> None:
        x, y, m = self.values[a], self.values[b], mask_of(mask, self.values[a].data.shape)
        take = (COMPARE[f](x.data, y.data) != reverse) & m
        self.values.append(Value(np.where(take, x.data, y.data), np.where(m, x.defined & y.defined, y.defined)))

    def local_gather(self, a: int, seed: int, count: int, per: int, valid: int) -> None:
        v = self.values[a]
        at = cores(seed, len(v.data), v.data.shape[1], count, per)
        flat = at.reshape(-1, 16, count).transpose(0, 2, 1).reshape(len(v.data) // 16, -1)[:, :valid]
        places = np.repeat((flat[:, :, None] + np.arange(per)).reshape(len(flat), -1), 16, 0)
        self.values.append(Value(np.take_along_axis(v.data, places, 1), np.take_along_axis(v.defined, places, 1)))

    def atomic(self, a: int, seed: int, rows: int, count: Optional[int]) -> None:
        v, n = self.values[a], len(self.values[a].data)
        at = np.random.RandomState(seed).randint(0, rows, n)
        total, defined = np.full((rows, v.data.shape[1]), 0.25, np.float32), np.ones((rows, v.data.shape[1]), bool)
        for p in range(n if count is None else min(count, n)):
            total[at[p]] += v.data[p]
            defined[at[p]] &= v.defined[p]
        self.values.append(Value(total, defined))

    def dropout(self, a: int, rate: float, mask: Any) -> None:
        v = self.values[a]
        self.values.append(Value(v.data, v.defined & mask_of(mask, v.data.shape), rate))

    def drop_rows(self, a: int, seed: int) -> None:
        v = self.values[a]
        rate = np.random.RandomState(seed).randint(0, 2, (len(v.data), 1))
        self.values.append(Value(np.where(rate == 1, 0, v.data), v.defined & (rate == 0)))

    def cast(self, a: int, f: str) -> None:
        v = self.values[a]
        x = np.where(v.defined, v.data, 0).astype(np.float64)

        def rounded(y: np.ndarray) -> np.ndarray:
            return np.clip(np.rint(y), -2.0 ** 31, 2.0 ** 31 - 1) if f == "int32" else y.astype(np.float32).astype(getattr(nl, f)).astype(np.float64)

        apart = np.abs(x) * 1e-4 + 1e-6  # a difference in the last places may become one of the rounding
        self.values.append(Value(rounded(x), v.defined & (rounded(x - apart) == rounded(x + apart))))

    def partitions(self, a: int, f: str, columns: Optional[int]) -> None:
        v = self.values[a]
        n = v.data.shape[1]
        part = REDUCE[f](np.where(v.defined, v.data, 0), axis=0, keepdims=True)
        self.values.append(Value(part, v.defined.all(0, keepdims=True) & (np.arange(n) < (n if columns is None else columns))))

    def select_reduce(self, f: str, a: int, b: int, fill: float, reverse: bool) -> None:
        x, y = self.values[a], self.values[b]
        data = np.where(COMPARE[f](x.data, y.data) != reverse, x.data, np.float32(fill)).max(1, keepdims=True)
        self.values.append(Value(data, (x.defined & y.defined & ordered(x.data, y.data)).all(1, keepdims=True)))

    def cumulative(self, a: int, f: str, how: str, s: float, start: Optional[float], columns: Optional[int]) -> None:
        x = self.values[a]
        if columns is not None:
            x = Value(x.data, x.defined & (np.arange(x.data.shape[1]) < columns))
        step = BINARY[f](x.data, np.float32(s)).astype(np.float32)
        out = np.cumsum(step, 1) if how == "add" else BINARY[how].accumulate(step, 1)
        if start is not None:
            out = BINARY[how](out, np.float32(start))
        self.values.append(Value(out, np.logical_and.accumulate(x.defined, 1)))

    def dynamic(self, a: int, at: int, columns: int) -> None:
        v = self.values[a]
        self.values.append(Value(v.data[:, at:at + columns].copy(), v.defined[:, at:at + columns].copy()))

    def bounds(self, seed: int, n: int) -> None:
        ids = segments(seed, n)
        out = np.zeros((1, 2 * n), np.float32)
        for k, g in enumerate(ids):
            same = np.nonzero(ids == g)[0]
            out[0, k], out[0, n + k] = (n, -1) if g == 0 else (same[0], same[-1] + 1)
        self.values.append(Value(out))

    def match(self, a: int, imm: float) -> None:
        v = self.values[a]
        top = -np.sort(-v.data, 1)[:, :9]
        x, d = v.data.copy(), (v.defined.all(1) & ordered(top[:, 1:], top[:, :-1]).all(1))[:, None]
        for row in x:
            for top in -np.sort(-row)[:8]:
                row[np.nonzero(row == top)[0][0]] = imm
        self.values.append(Value(x, np.broadcast_to(d, x.shape).copy()))

    def scan(self, a: int, b: int, f: str, g: str, start: float, columns: Optional[int]) -> None:
        x, y = self.values[a], self.values[b]
        out, row = np.zeros_like(x.data), np.full(len(x.data), start, np.float32)
        for j in range(x.data.shape[1]):
            row = out[:, j] = BINARY[g](BINARY[f](x.data[:, j], row), y.data[:, j])
        cut = np.arange(x.data.shape[1]) < (x.data.shape[1] if columns is None else columns)
        self.values.append(Value(out, np.logical_and.accumulate(x.defined & y.defined, 1) & cut))

    def activation(self, f: str, a: int, bias: Optional[int], scale: Any, mask: Any) -> None:
        v, m = self.values[a], mask_of(mask, self.values[a].data.shape)
        factor = self.values[scale].data if isinstance(scale, int) else np.float32(scale)
        data, defined = v.data * factor, v.defined & m
        defined = defined & self.values[scale].defined if isinstance(scale, int) else defined
        if bias is not None:
            data, defined = data + self.values[bias].data, defined & self.values[bias].defined
        self.values.append(Value(UNARY[f](data), defined))

    def activation_sums(self, f: str, a: int, scale: float) -> None:
        v = self.values[a]
        self.values.append(Value(UNARY[f](np.where(v.defined, v.data, 0) * np.float32(scale)).sum(1, keepdims=True), v.defined.all(1, keepdims=True)))

    def stats(self, a: int) -> None:
        v = self.values[a]
        x = np.where(v.defined, v.data, 0).astype(np.float64)
        self.values.append(Value(np.c_[x.mean(1), x.var(1)], np.repeat(v.defined.all(1, keepdims=True), 2, 1)))

    def scalars(self, a: int, f: str, s: Any, g: str, t: Any, reverse: Tuple[bool, bool]) -> None:
        v = self.values[a]
        data, defined = v.data, v.defined
        for op, x, back in ((f, s, reverse[0]), (g, t, reverse[1])):
            y = self.values[x].data if isinstance(x, int) else np.float32(x)
            defined = defined & self.values[x].defined if isinstance(x, int) else defined
            data = (BINARY[op](y, data) if back else BINARY[op](data, y)).astype(np.float32)
        self.values.append(Value(data, defined))

    def ranges(self, a: int, f: str, g: str, low: int, high: int, start: int) -> None:
        v = self.values[a]
        j = start + np.arange(v.data.shape[1])
        keep = np.broadcast_to(COMPARE[f](j, low) & COMPARE[g](j, high), v.data.shape)
        self.values.append(Value(np.maximum(np.where(keep, v.data, -9), -9), v.defined | ~keep))

    def find(self, a: int) -> None:
        v = self.values[a]
        order = np.argsort(-v.data, 1, kind="stable")
        top = np.take_along_axis(v.data, order[:, :9], 1)
        apart = (~np.isclose(top[:, 1:], top[:, :-1], 1e-6, 1e-8)).all(1) & v.defined.all(1)
        self.values.append(Value(order[:, :8], np.repeat(apart[:, None], 8, 1)))

    def iota(self, rows: int, columns: int, spec: Tuple[int, int, int]) -> None:
        p, f = np.mgrid[0:rows, 0:columns]
        self.values.append(Value(p * spec[0] + f * spec[1] + spec[2]))

    def rows(self, a: int, how: str) -> None:
        v = self.values[a]
        x, defined = np.where(v.defined, v.data, 0).astype(np.float64), v.defined.all(1, keepdims=True)
        if how == "softmax":
            e = np.exp(x - x.max(1, keepdims=True))
            self.values.append(Value(e / e.sum(1, keepdims=True), np.broadcast_to(defined, x.shape).copy()))
        else:
            self.values.append(Value(getattr(x, how)(1, keepdims=True), defined))

    def load_turned(self, k: int, rows: int, columns: int) -> None:
        x = self.inputs[k][:rows, :columns].T
        self.values.append(Value(x, np.ones(x.shape, bool)))

    def loop(self, k: int, trips: int, rows: int, width: int, f: str, how: str, mask: Any) -> None:
        total, defined = np.zeros((rows, width), np.float32), np.ones((rows, width), bool)
        for i in range(trips):
            x = UNARY[f](self.inputs[k][:rows, i * width:(i + 1) * width])
            if how == "odd" and i % 2:
                x = -x
            m = mask_of(mask, x.shape, i)
            total = np.where(m, total + x, total)
        self.values.append(Value(total, defined))


class Device:
    def __init__(self, inputs: List[Any]):
        self.inputs = inputs
        self.values: List[Any] = []

    def run(self, steps: List[Step]) -> List[Any]:
        for s in steps:
            self.values.append(getattr(self, s[0])(*s[1:]))
        return self.values

    def mask(self, spec: Any, shape: Tuple[int, ...], trip: Any = 0) -> Any:
        if spec is None:
            return None
        p, f = nl.mgrid[0:shape[0], 0:shape[1]]
        return p * spec[0] + f * spec[1] + 3 * trip < spec[2]

    def load(self, k: int, row: int, rows: int, columns: int, mask: Any) -> Any:
        x = self.inputs[k]
        p, f = nl.mgrid[0:rows, 0:columns]
        inside = (row + p < x.shape[0]) & (f < x.shape[1])
        own = self.mask(mask, (rows, columns))
        return nl.load(x[row + p, f], mask=inside if own is None else inside & own)

    def unary(self, f: str, a: int, mask: Any) -> Any:
        v = self.values[a]
        return getattr(nl, f)(v, mask=self.mask(mask, v.shape))

    def binary(self, f: str, a: int, b: int, mask: Any) -> Any:
        x, y = self.values[a], self.values[b]
        return getattr(nl, f)(x, y, mask=self.mask(mask, tuple(max(m, n) for m, n in zip(x.shape, y.shape))))

    def scalar(self, f: str, a: int, s: float, reverse: bool) -> Any:
        return nisa.tensor_scalar(self.values[a], getattr(np, f), s, reverse)

    def reduce(self, f: str, a: int, negate: bool, columns: Optional[int]) -> Any:
        v = self.values[a]
        return nisa.tensor_reduce(getattr(np, f), v, axis=[1], negate=negate,
                                  mask=None if columns is None else nl.arange(v.shape[1])[None, :] < columns)

    def transpose(self, a: int) -> Any:
        return nl.copy(nisa.nc_transpose(self.values[a]))

    def product(self, a: int, b: int, f: str) -> Any:
        return nl.copy(getattr(nl, f)(nisa.nc_matmul(self.values[a], self.values[b])))

    def select(self, a: int, coefficients: Tuple[int, int, int], fill: float) -> Any:
        v = self.values[a]
        return nisa.affine_select(pred=self.mask(coefficients, v.shape), on_true_tile=v, on_false_value=fill)

    def where(self, f: str, a: int, b: int) -> Any:
        x, y = self.values[a], self.values[b]
        return nl.where(getattr(nl, f)(x, y), x, y)

    def assign(self, a: int, b: int, row: int, column: int, f: str, mask: Any) -> Any:
        to, v = self.values[a], self.values[b]
        h, w = v.shape
        to[row:row + h, column:column + w] = getattr(nl, f)(v, mask=self.mask(mask, v.shape))
        return Ellipsis

    def gather(self, a: int, seed: int, columns: int) -> Any:
        v = self.values[a]
        return nl.gather_flattened(v, nl.load(nl.shared_constant(places(seed, v.shape, columns).astype(np.uint32))))

    def shuffle(self, a: int, seed: int, mask: Any) -> Any:
        v = self.values[a]
        out = nl.full(v.shape, 0.5, dtype=v.dtype)
        if mask is None and seed % 2:
            nisa06.nc_stream_shuffle(dst=out, src=v, shuffle_mask=order(seed))
        else:
            nisa.nc_stream_shuffle(v, out, order(seed), mask=self.mask(mask, v.shape))
        return out

    def predicated(self, f: str, a: int, b: int, reverse: bool, mask: Any) -> Any:
        x, y = self.values[a], self.values[b]
        out = nl.copy(y)
        if mask is None and reverse:
            nisa06.tensor_copy_predicated(out, x, getattr(nl, f)(x, y), reverse_pred=True)
        else:
            nisa.tensor_copy_predicated(src=x, dst=out, predicate=getattr(nl, f)(x, y), reverse_pred=reverse, mask=self.mask(mask, x.shape))
        return out

    def local_gather(self, a: int, seed: int, count: int, per: int, valid: int) -> Any:
        v = self.values[a]
        at = nl.load(nl.shared_constant(cores(seed, v.shape[0], v.shape[1], count, per).astype(np.uint16)))
        if seed % 2:
            out = nl.ndarray((v.shape[0], valid * per), dtype=v.dtype)
            nisa06.local_gather(dst=out, src_buffer=v, index=at, num_elem_per_idx=per, num_valid_indices=valid)
            return out
        return nisa.local_gather(v, at, per, None if valid == 16 * count else valid)

    def atomic(self, a: int, seed: int, rows: int, count: Optional[int]) -> Any:
        v = self.values[a]
        to = nl.ndarray((rows, v.shape[1]), dtype=v.dtype, buffer=nl.hbm)
        nl.store(to, nl.full((rows, v.shape[1]), 0.25, dtype=v.dtype))
        at = nl.load(nl.shared_constant(np.random.RandomState(seed).randint(0, rows, v.shape[0]).astype(np.int32)[:, None]))
        p, j = nl.mgrid[0:v.shape[0], 0:v.shape[1]]
        if count is None:
            nl.atomic_rmw(to[at, nl.arange(v.shape[1])[None, :]], value=v, op=np.add)
        else:
            nl.atomic_rmw(to[at[nl.arange(v.shape[0])[:, None], 0], j], value=v, op=np.add, mask=p < count)
        return nl.load(to)

    def dropout(self, a: int, rate: float, mask: Any) -> Any:
        v = self.values[a]
        if mask is None and rate < 0.5:
            out = nl.ndarray(v.shape, dtype=v.dtype)
            nisa06.dropout(out, v, rate)
            return out
        return nisa.dropout(v, prob=rate, mask=self.mask(mask, v.shape)) if rate < 0.7 else nl.dropout(v, rate, mask=self.mask(mask, v.shape))

    def drop_rows(self, a: int, seed: int) -> Any:
        v = self.values[a]
        rate = np.random.RandomState(seed).randint(0, 2, (v.shape[0], 1)).astype(np.float32)
        return nisa.dropout(v, prob=nl.load(nl.shared_constant(rate)))

    def cast(self, a: int, f: str) -> Any:
        return nl.copy(nl.copy(self.values[a], dtype=getattr(nl, f)), dtype=nl.float32)

    def partitions(self, a: int, f: str, columns: Optional[int]) -> Any:
        v = self.values[a]
        p, j = nl.mgrid[0:v.shape[0], 0:v.shape[1]]
        return nisa.tensor_partition_reduce(getattr(np, f), v, mask=None if columns is None else j < columns)

    def select_reduce(self, f: str, a: int, b: int, fill: float, reverse: bool) -> Any:
        x, y = self.values[a], self.values[b]
        out, top = nl.ndarray(x.shape, dtype=x.dtype), nl.ndarray((x.shape[0], 1), dtype=nl.float32)
        nisa.select_reduce(dst=out, predicate=getattr(nl, f)(x, y), on_true=x, on_false=fill, reduce_res=top, reduce_op=nl.max,
                           reduce_cmd=nisa.reduce_cmd.reset_reduce, reverse_pred=reverse)
        return top

    def cumulative(self, a: int, f: str, how: str, s: float, start: Optional[float], columns: Optional[int]) -> Any:
        v = self.values[a]
        out = nl.zeros(v.shape, dtype=v.dtype)
        command = nisa.reduce_cmd.reset_reduce if start is None else nisa.reduce_cmd.load_reduce
        if columns is None and s < 0:
            nisa06.tensor_scalar_cumulative(out, v, getattr(nl, f), getattr(nl, how), s, start, command)
        else:
            nisa.tensor_scalar_cumulative(src=v, dst=out, op0=getattr(nl, f), op1=getattr(nl, how), imm0=s, imm1=start, reduce_cmd=command,
                                          mask=None if columns is None else nl.arange(v.shape[1])[None, :] < columns)
        return out

    def dynamic(self, a: int, at: int, columns: int) -> Any:
        v = self.values[a]
        p, j = nl.mgrid[0:v.shape[0], 0:columns]
        return nisa.tensor_copy_dynamic_src(v[p, nl.full((1, 1), at, dtype=nl.int32)[0, 0] + j])

    def bounds(self, seed: int, n: int) -> Any:
        ids = nl.load(nl.shared_constant(segments(seed, n).astype(np.float32)[None]))
        return nl.copy(nisa.sequence_bounds(segment_ids=ids).reshape((1, 2 * n)))

    def match(self, a: int, imm: float) -> Any:
        v = self.values[a]
        return nisa.nc_match_replace8(data=v, vals=nisa.max8(src=v), imm=imm)

    def scan(self, a: int, b: int, f: str, g: str, start: float, columns: Optional[int]) -> Any:
        x, y = self.values[a], self.values[b]
        if columns is None and start < 0:
            out = nl.ndarray(x.shape, dtype=x.dtype)
            nisa06.tensor_tensor_scan(out, x, y, nl.full((x.shape[0], 1), start, dtype=x.dtype), getattr(nl, f), getattr(nl, g))
            return out
        return nisa.tensor_tensor_scan(x, y, start, getattr(np, f), getattr(np, g), mask=None if columns is None else nl.arange(x.shape[1])[None, :] < columns)

    def activation(self, f: str, a: int, bias: Optional[int], scale: Any, mask: Any) -> Any:
        v = self.values[a]
        of = {"bias": None if bias is None else self.values[bias], "scale": self.values[scale] if isinstance(scale, int) else scale}
        if mask is None and bias is not None:
            out = nl.ndarray(v.shape, dtype=v.dtype)
            nisa06.activation(out, getattr(nl, f), v, **of)
            return out
        return nisa.activation(getattr(nl, f), v, mask=self.mask(mask, v.shape), **of)

    def activation_sums(self, f: str, a: int, scale: float) -> Any:
        v = self.values[a]
        sums = nl.ndarray((v.shape[0], 1), dtype=nl.float32)
        nisa.activation_reduce(getattr(nl, f), v, reduce_op=np.add, reduce_res=sums, scale=scale)
        return sums

    def stats(self, a: int) -> Any:
        v = self.values[a]
        half = v.shape[1] // 2
        if half < 2 or v.shape[1] % 2 == 0:
            return nisa.bn_aggr(nisa.bn_stats(v))
        both = nl.ndarray((v.shape[0], 12), dtype=nl.float32)
        both[:, 0:6] = nisa.bn_stats(v[:, 0:half])
        both[:, 6:12] = nisa.bn_stats(v[:, half:])
        return nisa.bn_aggr(both)

    def scalars(self, a: int, f: str, s: Any, g: str, t: Any, reverse: Tuple[bool, bool]) -> Any:
        v = self.values[a]
        s, t = (self.values[x] if isinstance(x, int) else x for x in (s, t))
        if isinstance(t, type(v)) and t.shape == v.shape and v.shape[1] > 1:
            return nisa.scalar_tensor_tensor(data=v, op0=getattr(np, f), operand0=s, op1=getattr(np, g), operand1=t, reverse0=reverse[0], reverse1=reverse[1])
        return nisa.tensor_scalar(v, getattr(np, f), s, reverse[0], getattr(np, g), t, reverse[1])

    def ranges(self, a: int, f: str, g: str, low: int, high: int, start: int) -> Any:
        v = self.values[a]
        bounds = [nl.full((v.shape[0], 1), float(b), dtype=nl.float32) for b in (low, high)]
        out = nisa.range_select(on_true_tile=v, comp_op0=getattr(nl, f), comp_op1=getattr(nl, g), bound0=bounds[0], bound1=bounds[1], range_start=start)
        return nl.maximum(out, -9.0)

    def find(self, a: int) -> Any:
        v = self.values[a]
        return nl.copy(nisa.nc_find_index8(data=v, vals=nisa.max8(src=v)), dtype=nl.float32)

    def iota(self, rows: int, columns: int, spec: Tuple[int, int, int]) -> Any:
        if spec[2] % 2:
            out = nl.ndarray((rows, columns), dtype=nl.int32)
            nisa06.iota(out, [[spec[1], columns]], offset=spec[2], channel_multiplier=spec[0])
        else:
            p, f = nl.mgrid[0:rows, 0:columns]
            out = nisa.iota(p * spec[0] + f * spec[1] + spec[2], dtype=nl.int32)
        return nl.copy(out, dtype=nl.float32)

    def rows(self, a: int, how: str) -> Any:
        return getattr(nl, how)(self.values[a], axis=1)

    def load_turned(self, k: int, rows: int, columns: int) -> Any:
        x = self.inputs[k][0:rows, 0:columns]
        return nl.load_transpose2d(x) if rows % 2 else nisa.dma_transpose(nl.load(x))

    def loop(self, k: int, trips: int, rows: int, width: int, f: str, how: str, mask: Any) -> Any:
        total = nl.zeros((rows, width), dtype=nl.float32)
        for i in nl.affine_range(trips):
            x = getattr(nl, f)(nl.load(self.inputs[k][0:rows, nl.ds(i * width, width)]))
            if how == "odd":
                if i % 2:
                    x = nl.negative(x)
            total[...] = nl.add(total, x, mask=self.mask(mask, (rows, width), i))
        return total


def make(seed: int) -> Tuple[List[np.ndarray], List[Step]]:
    """A kernel's inputs and steps."""
    r = np.random.RandomState(seed)
    inputs = [r.uniform(-2, 2, (int(r.randint(20, 300)), int(r.randint(16, 200)))).astype(np.float32) for _ in range(2)]
    steps: List[Step] = []
    shapes: List[Tuple[int, int]] = []

    def pick(test: Callable[[Tuple[int, int]], bool] = lambda s: True) -> Optional[int]:
        good = [k for k, s in enumerate(shapes) if s[0] and test(s)]
        return good[r.randint(len(good))] if good else None

    def mask(s: Tuple[int, int]) -> Any:
        kind = r.randint(6)
        if kind == 0:
            return (1, 0, int(r.randint(1, s[0] + 3)))
        if kind == 1:
            return (0, 1, int(r.randint(1, s[1] + 3)))
        if kind == 2:
            return (int(r.randint(-2, 3)), int(r.randint(-2, 3)), int(r.randint(-20, s[1])))
        return None

    def load() -> None:
        k = int(r.randint(2))
        rows, columns = inputs[k].shape
        s = (int(r.randint(1, 129)) if r.randint(4) else int(32 * r.randint(1, 5)), int(r.randint(1, columns + 10)))  # whole quadrants: shuffles
        m = mask(s)
        steps.append(("load", k, int(r.randint(0, rows)), *s, m if m is None or 0 in m[:2] else None))
        shapes.append(s)

    load()
    for _ in range(int(r.randint(3, 12))):
        kind = pick_name(r, ["load", "unary", "binary", "scalar", "reduce", "transpose", "select", "where", "assign", "loop", "product",
                             "gather", "shuffle", "predicated", "select_reduce", "cumulative", "dynamic", "bounds", "match",
                             "local_gather", "atomic", "dropout", "drop_rows", "cast", "partitions", "scan", "activation", "activation_sums",
                             "stats", "scalars", "ranges", "find", "iota", "rows", "load_turned"])
        a = pick()
        assert a is not None
        s = shapes[a]
        if kind == "load":
            load()
            continue
        if kind == "unary":
            steps.append(("unary", pick_name(r, [f for f in UNARY if f != "exp"]), a, mask(s)))
        elif kind == "binary":
            b = pick(lambda t: t == s or t == (s[0], 1) or t == (1, s[1]))
            steps.append(("binary", pick_name(r, list(BINARY)), a, b, mask(s)))
        elif kind == "scalar":
            steps.append(("scalar", pick_name(r, list(BINARY)), a, float(r.uniform(-1, 1)), bool(r.randint(2))))
        elif kind == "reduce":
            steps.append(("reduce", pick_name(r, list(REDUCE)), a, bool(r.randint(2)), int(r.randint(1, s[1] + 1)) if r.randint(2) else None))
            s = (s[0], 1)
        elif kind == "transpose":
            if s[1] > 128:
                continue
            steps.append(("transpose", a))
            s = (s[1], s[0])
        elif kind == "product":
            b = pick(lambda t: t[0] == s[0])
            if s[1] > 128:
                continue
            steps.append(("product", a, b, pick_name(r, ["abs", "negative", "relu"])))
            s = (s[1], shapes[b][1])  # type: ignore[index]
        elif kind == "select":
            steps.append(("select", a, (int(r.randint(-2, 3)), int(r.randint(-2, 3)), int(r.randint(-20, 40))), float(r.uniform(-3, 3))))
        elif kind == "where":
            b = pick(lambda t: t == s or t == (s[0], 1))
            steps.append(("where", pick_name(r, list(COMPARE)), a, b))
        elif kind == "gather":
            s2 = (s[0], int(r.randint(1, 60)))
            steps.append(("gather", a, int(r.randint(1 << 20)), s2[1]))
            s = s2
        elif kind == "shuffle":
            if s[0] % 32:
                continue
            steps.append(("shuffle", a, int(r.randint(1 << 20)), mask(s)))
        elif kind in ("predicated", "select_reduce"):
            b = pick(lambda t: t == s)
            if kind == "predicated":
                steps.append((kind, pick_name(r, list(COMPARE)), a, b, bool(r.randint(2)), mask(s)))
            else:
                steps.append((kind, pick_name(r, list(COMPARE)), a, b, float(r.uniform(-3, 3)), bool(r.randint(2))))
            s = s if kind == "predicated" else (s[0], 1)
        elif kind == "cumulative":
            how = pick_name(r, ["add", "maximum", "minimum"])
            steps.append(("cumulative", a, pick_name(r, ["add", "multiply", "maximum"]), how, float(r.uniform(-1, 1)),
                          float(r.uniform(-1, 1)) if r.randint(2) else None, int(r.randint(1, s[1] + 3)) if r.randint(2) else None))
        elif kind == "local_gather":
            per = int(2 ** r.randint(3))
            if s[0] % 16 or s[1] < per:
                continue
            count = int(r.randint(1, 4))
            valid = int(r.randint(1, 16 * count + 1)) if r.randint(2) else 16 * count
            steps.append(("local_gather", a, int(r.randint(1 << 20)), count, per, valid))
            s = (s[0], valid * per)
        elif kind == "atomic":
            rows = int(r.randint(1, 129))
            steps.append(("atomic", a, int(r.randint(1 << 20)), rows, int(r.randint(1, s[0] + 3)) if r.randint(2) else None))
            s = (rows, s[1])
        elif kind == "dropout":
            steps.append(("dropout", a, float(r.uniform(0.05, 0.95)), mask(s)))
            shapes.append((0, 0))
            continue
        elif kind == "drop_rows":
            steps.append(("drop_rows", a, int(r.randint(1 << 20))))
        elif kind == "cast":
            steps.append(("cast", a, pick_name(r, ["bfloat16" if getattr(nl.bfloat16, "names", 0) is None else "float16", "float16", "int32"])))
            shapes.append((0, 0))
            continue
        elif kind == "partitions":
            steps.append(("partitions", a, pick_name(r, ["add", "max"]), int(r.randint(1, s[1] + 3)) if r.randint(2) else None))
            s = (1, s[1])
        elif kind == "dynamic":
            at = int(r.randint(0, s[1]))
            s2 = (s[0], int(r.randint(1, s[1] - at + 1)))
            steps.append(("dynamic", a, at, s2[1]))
            s = s2
        elif kind == "bounds":
            n = int(r.randint(1, 100))
            steps.append(("bounds", int(r.randint(1 << 20)), n))
            s = (1, 2 * n)
        elif kind in MORE:
            step = MORE[kind](r, a, s, pick, inputs, mask)
            if step is None:
                continue
            steps.append((kind, *step[0]))
            s = step[1]
        elif kind == "match":
            if s[1] < 8:
                continue
            steps.append(("match", a, float(r.uniform(-3, 3))))
        elif kind == "assign":
            b = pick(lambda t: t[0] <= s[0] and t[1] <= s[1])
            t = shapes[b]  # type: ignore[index]
            if b == a:
                continue
            steps.append(("assign", a, b, int(r.randint(0, s[0] - t[0] + 1)), int(r.randint(0, s[1] - t[1] + 1)),
                          pick_name(r, [f for f in UNARY if f != "exp"]), mask(t)))
            shapes.append((0, 0))
            continue
        else:
            k = int(r.randint(2))
            rows, columns = inputs[k].shape
            width = int(r.randint(1, columns + 1))
            s = (min(rows, int(r.randint(1, 129))), width)
            steps.append(("loop", k, columns // width, *s, pick_name(r, list(UNARY)), pick_name(r, ["even", "odd"]), mask(s)))
        shapes.append(s)
    return inputs, steps


def compare(seed: int) -> str:
    """What is wrong with a seed's kernel, or nothing."""
    inputs, steps = make(seed)
    model = Model(inputs)
    for s in steps:
        getattr(model, s[0])(*s[1:])
        if s[0] == "assign":
            model.values.append(Value(np.zeros((0, 0))))
    kept = [k for k, s in enumerate(steps) if s[0] != "assign"]

    def kernel(*tensors: Any) -> Any:
        values = Device(list(tensors)).run(steps)
        return tuple(values[k] for k in kept)

    try:
        got = nki.jit(kernel)(*inputs)
    except Exception as e:  # noqa: BLE001 - reported with the seed
        if "starts at partition" in str(e) and os.environ.get("XCC_NKI_TARGET", "cpu") != "cpu":
            return ""  # engines do not start there, and the kernel is told so
        return "seed %d: %s: %s" % (seed, type(e).__name__, e)
    for k, g in zip(kept, got):
        bad = model.values[k].wrong(g)
        if bad:
            return "seed %d: value %d of %s: %d of %d elements differ\n%s" % (
                seed, k, steps[k], bad, g.size, "\n".join("  %d %s" % p for p in enumerate(steps)))
    return ""


class RandomKernels(Case):
    def test_random(self) -> None:
        for seed in range(40):
            with self.subTest(seed=seed):
                self.assertEqual(compare(seed), "")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        first, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
        bad = [text for text in map(compare, range(first, first + count)) if text]
        print("\n".join(bad))
        print("%d of %d random kernels differ" % (len(bad), count))
        sys.exit(1 if bad else 0)
    main()
