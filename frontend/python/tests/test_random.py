"""Random kernels, compared with a model of the documented semantics in NumPy.

test_random.py [FIRST [COUNT]]: the kernels of COUNT seeds from FIRST on (0, 40 without arguments). A kernel is a list of steps;
`Device` runs it with nl and nisa inside a kernel, `Model` with NumPy. The model keeps beside each value which of its elements are
defined: masked results leave the others as they were, and what is computed from undefined elements is undefined.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, List, Optional, Tuple

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

Step = Tuple[Any, ...]
UNARY = {"exp": np.exp, "square": np.square, "abs": np.abs, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "negative": np.negative,
         "sigmoid": lambda x: 1 / (1 + np.exp(-np.clip(x, -80, 80)))}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
COMPARE = {"less": np.less, "greater_equal": np.greater_equal}
REDUCE = {"add": np.sum, "max": np.max, "min": np.min}


class Value:
    """An array and which of its elements are defined."""

    def __init__(self, data: np.ndarray, defined: Optional[np.ndarray] = None):
        self.data = data.astype(np.float32)
        self.defined = np.ones(data.shape, bool) if defined is None else defined


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

    def shuffle(self, a: int, seed: int) -> None:
        v = self.values[a]
        lanes = np.arange(0, len(v.data), 32)[:, None] + np.array(order(seed))[None, :]
        self.values.append(Value(v.data[lanes.reshape(-1)], v.defined[lanes.reshape(-1)]))

    def predicated(self, f: str, a: int, b: int, reverse: bool) -> None:
        x, y = self.values[a], self.values[b]
        take = COMPARE[f](x.data, y.data) != reverse
        self.values.append(Value(np.where(take, x.data, y.data), x.defined & y.defined))

    def select_reduce(self, f: str, a: int, b: int, fill: float, reverse: bool) -> None:
        x, y = self.values[a], self.values[b]
        data = np.where(COMPARE[f](x.data, y.data) != reverse, x.data, np.float32(fill)).max(1, keepdims=True)
        self.values.append(Value(data, (x.defined & y.defined).all(1, keepdims=True)))

    def cumulative(self, a: int, f: str, how: str, s: float, start: Optional[float]) -> None:
        x = self.values[a]
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
        x, d = v.data.copy(), v.defined.all(1, keepdims=True)
        for row in x:
            for top in -np.sort(-row)[:8]:
                row[np.nonzero(row == top)[0][0]] = imm
        self.values.append(Value(x, np.broadcast_to(d, x.shape).copy()))

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

    def shuffle(self, a: int, seed: int) -> Any:
        v = self.values[a]
        out = nl.ndarray(v.shape, dtype=v.dtype)
        nisa.nc_stream_shuffle(v, out, order(seed))
        return out

    def predicated(self, f: str, a: int, b: int, reverse: bool) -> Any:
        x, y = self.values[a], self.values[b]
        out = nl.copy(y)
        nisa.tensor_copy_predicated(src=x, dst=out, predicate=getattr(nl, f)(x, y), reverse_pred=reverse)
        return out

    def select_reduce(self, f: str, a: int, b: int, fill: float, reverse: bool) -> Any:
        x, y = self.values[a], self.values[b]
        out, top = nl.ndarray(x.shape, dtype=x.dtype), nl.ndarray((x.shape[0], 1), dtype=nl.float32)
        nisa.select_reduce(dst=out, predicate=getattr(nl, f)(x, y), on_true=x, on_false=fill, reduce_res=top, reduce_op=nl.max,
                           reduce_cmd=nisa.reduce_cmd.reset_reduce, reverse_pred=reverse)
        return top

    def cumulative(self, a: int, f: str, how: str, s: float, start: Optional[float]) -> Any:
        v = self.values[a]
        out = nl.ndarray(v.shape, dtype=v.dtype)
        command = nisa.reduce_cmd.reset_reduce if start is None else nisa.reduce_cmd.load_reduce
        nisa.tensor_scalar_cumulative(src=v, dst=out, op0=getattr(nl, f), op1=getattr(nl, how), imm0=s, imm1=start, reduce_cmd=command)
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

    def loop(self, k: int, trips: int, rows: int, width: int, f: str, how: str, mask: Any) -> Any:
        total = nl.zeros((rows, width), dtype=nl.float32)
        for i in nl.affine_range(trips):
            x = getattr(nl, f)(nl.load(self.inputs[k][0:rows, nl.ds(i * width, width)]))
            if how == "odd":
                if i % 2:
                    x = nl.negative(x)
            total[...] = nl.add(total, x, mask=self.mask(mask, (rows, width), i))
        return total


def pick_name(r: np.random.RandomState, names: List[str]) -> str:
    return names[r.randint(len(names))]


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
        s = (int(r.randint(1, 129)), int(r.randint(1, columns + 10)))
        m = mask(s)
        steps.append(("load", k, int(r.randint(0, rows)), *s, m if m is None or 0 in m[:2] else None))
        shapes.append(s)

    load()
    for _ in range(int(r.randint(3, 12))):
        kind = pick_name(r, ["load", "unary", "binary", "scalar", "reduce", "transpose", "select", "where", "assign", "loop", "product",
                             "gather", "shuffle", "predicated", "select_reduce", "cumulative", "dynamic", "bounds", "match"])
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
            steps.append(("shuffle", a, int(r.randint(1 << 20))))
        elif kind in ("predicated", "select_reduce"):
            b = pick(lambda t: t == s)
            more = (float(r.uniform(-3, 3)),) if kind == "select_reduce" else ()
            steps.append((kind, pick_name(r, list(COMPARE)), a, b, *more, bool(r.randint(2))))
            s = s if kind == "predicated" else (s[0], 1)
        elif kind == "cumulative":
            how = pick_name(r, ["add", "maximum", "minimum"])
            steps.append(("cumulative", a, pick_name(r, ["add", "multiply", "maximum"]), how, float(r.uniform(-1, 1)),
                          float(r.uniform(-1, 1)) if r.randint(2) else None))
        elif kind == "dynamic":
            at = int(r.randint(0, s[1]))
            s2 = (s[0], int(r.randint(1, s[1] - at + 1)))
            steps.append(("dynamic", a, at, s2[1]))
            s = s2
        elif kind == "bounds":
            n = int(r.randint(1, 100))
            steps.append(("bounds", int(r.randint(1 << 20)), n))
            s = (1, 2 * n)
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
        return "seed %d: %s: %s" % (seed, type(e).__name__, e)
    for k, g in zip(kept, got):
        want, ok = model.values[k].data, model.values[k].defined
        bad = ~np.isclose(g, want, 1e-4, 1e-4 * max(1.0, float(np.abs(want[ok]).max(initial=0)))) & ok
        if g.shape != want.shape or bad.any():
            return "seed %d: value %d of %s: %d of %d elements differ\n%s" % (
                seed, k, steps[k], bad.sum(), bad.size, "\n".join("  %d %s" % p for p in enumerate(steps)))
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
