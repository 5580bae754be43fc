"""Random StableHLO operators as text, with the types, attributes and bodies that the specification allows, for scripts/fuzz-stablehlo."""
import ml_dtypes
import numpy as np

from draw import Choices

NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
         "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz, "f8E3M4": ml_dtypes.float8_e3m4,
         "f8E4M3": ml_dtypes.float8_e4m3, "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "ui2": ml_dtypes.uint2, "ui4": ml_dtypes.uint4, "i1": np.bool_,
         **{"%si%d" % (u, b): getattr(np, "%sint%d" % (u, b)) for u in ("", "u") for b in (8, 16, 32, 64)}, "complex<f32>": np.complex64, "complex<f64>": np.complex128}
COMPLEX = ["complex<f32>", "complex<f64>"]
FLOATS = [k for k in NUMPY if k[0] in "fb"]
SIGNED = ["i2", "i4", "i8", "i16", "i32", "i64"]
UNSIGNED = ["ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
WHOLE = SIGNED + UNSIGNED
ALL = FLOATS + WHOLE + COMPLEX + ["i1"]
USUAL = ["f64", "f32", "f16", "bf16"]


class Type:
    def __init__(self, kind, shape):
        self.kind, self.shape = kind, tuple(int(n) for n in shape)

    def __str__(self):
        return "tensor<%s%s>" % ("".join("%dx" % n for n in self.shape), self.kind)

    def of(self, kind):
        return Type(kind, self.shape)


def bits(kind):
    return {"i1": 1}.get(kind) or int("".join(c for c in kind.split("E")[0].split("<")[-1] if c.isdigit())) * (2 if kind in COMPLEX else 1)


class Case:
    def __init__(self, name):
        self.name, self.inputs, self.types, self.lines, self.after, self.results, self.outputs, self.functions, self.loose = name, [], [], [], [], [], [], "", False
        self.text = ""

    def given(self, x, t):
        self.inputs.append(x)
        self.types.append(t)
        return "%%arg%d" % (len(self.inputs) - 1)

    def does(self, text, *outputs):
        """text: with its attributes, up to the types; results are %0#k."""
        self.lines.append(("%%0%s = " % (":%d" % len(outputs) if len(outputs) > 1 else "")) + text)
        self.results = ["%%0#%d" % k for k in range(len(outputs))] if len(outputs) > 1 else ["%0"]
        self.outputs = list(outputs)
        return self


class Draw(Choices):
    def order(self, n):
        return list(super().order(n))  # as the text has it

    def shape(self, least=0, most=3):
        return tuple(self.one([1, 2, 3, 4, 5, 8, 17]) for _ in range(self.between(least, most)))

    def values(self, kind, shape, special=0.3, low=None, high=None):
        d = NUMPY[kind]
        n = int(np.prod(shape))
        if kind == "i1":
            return self.r.randint(0, 2, n).astype(bool).reshape(shape)
        if kind in WHOLE:
            b = bits(kind)
            least, most = (0, 2 ** b - 1) if kind[0] == "u" else (-2 ** (b - 1), 2 ** (b - 1) - 1)
            x = [self.between(max(least, -9 if low is None else low), min(most, 9 if high is None else high)) for _ in range(n)]
            if low is None:
                x = [self.one([least, most, 0, 1, max(least, -1), most // 2, least + 1]) if self.chance(special) else v for v in x]
            return np.array(x, dtype=np.int64 if least < 0 else np.uint64).astype(d).reshape(shape)
        if kind in COMPLEX:
            part = "f32" if kind == "complex<f32>" else "f64"
            out = np.empty(n, d)
            out.real, out.imag = self.values(part, (n,), special * 0.4), self.values(part, (n,), special * 0.4)
            return out.reshape(shape)
        x = self.r.standard_normal(n) * self.one([0.3, 1, 1, 4])
        if low is not None:
            x = self.r.uniform(low, high, n)
        x = x.astype(np.float32 if kind != "f64" else np.float64).astype(d)
        info = ml_dtypes.finfo(d)
        pool = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, float(info.max), float(info.min), float(info.tiny), 3.0]
        with np.errstate(all="ignore"):
            pool = np.array(pool + ([np.inf, -np.inf, np.nan] if d(np.inf) > info.max else [np.nan]), np.float64).astype(d)
        for i in range(n):
            if self.chance(special):
                x[i] = pool[self.below(len(pool))]
        return x.reshape(shape)


OPERATORS = {}


def operator(f):
    OPERATORS[f.__name__] = f
    return f


def draw(seed, only=None):
    d = Draw(seed)
    names = sorted(OPERATORS)
    return OPERATORS[d.one(names) if not only else only](d)


UNARY = {"abs": SIGNED + FLOATS + COMPLEX, "negate": ALL[:-1], "sign": SIGNED + FLOATS + COMPLEX, "not": WHOLE + ["i1"], "popcnt": WHOLE, "count_leading_zeros": WHOLE, "is_finite": FLOATS,
         **{n: FLOATS for n in ("ceil", "floor", "round_nearest_afz", "round_nearest_even", "cbrt")},
         **{n: FLOATS + COMPLEX for n in ("exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "cosine", "sine", "sqrt", "rsqrt", "tan", "tanh", "real", "imag")}}


@operator
def unary(d):
    name = d.one(UNARY)
    t = Type(d.one(UNARY[name]), d.shape())
    if name.startswith("round") and t.kind == "f8E3M4":  # the interpreter rounds in another type
        return None
    out = t.kind
    if out in COMPLEX and name in ("abs", "real", "imag"):
        out = out[8:-1]
    c = Case(name)
    c.loose = t.kind in COMPLEX
    special = 0.0 if t.kind in COMPLEX or name == "logistic" and bits(t.kind) == 8 else 0.3  # there the interpreter's steps overflow
    return c.does("stablehlo.%s %s : (%s) -> %s" % (name, c.given(d.values(t.kind, t.shape, special), t), t, t.of("i1" if name == "is_finite" else out)), t.of("i1" if name == "is_finite" else out))


BINARY = {"add": ALL, "multiply": ALL, "subtract": ALL[:-1], "divide": ALL[:-1], "remainder": WHOLE + FLOATS, "maximum": ALL[:-3] + ["i1"], "minimum": ALL[:-3] + ["i1"], "power": WHOLE + FLOATS, "atan2": FLOATS,
          "and": WHOLE + ["i1"], "or": WHOLE + ["i1"], "xor": WHOLE + ["i1"], "shift_left": WHOLE, "shift_right_arithmetic": WHOLE, "shift_right_logical": WHOLE}


@operator
def binary(d):
    name = d.one(BINARY)
    t = Type(d.one(BINARY[name]), d.shape())
    c = Case(name)
    x, y = d.values(t.kind, t.shape, 0.1 if t.kind in COMPLEX else 0.3), d.values(t.kind, t.shape, 0.1 if t.kind in COMPLEX else 0.3)
    if name in ("divide", "remainder") and t.kind in WHOLE:  # undefined by zero, and where the quotient overflows
        y = np.where(y == NUMPY[t.kind](0), NUMPY[t.kind](1), y)
        if t.kind in SIGNED:
            y = np.where(y == NUMPY[t.kind](-1), NUMPY[t.kind](1), y)
    if name == "power" and t.kind in WHOLE:
        y = d.values(t.kind, t.shape, 0, 0, 3)
    if name.startswith("shift"):
        y = d.values(t.kind, t.shape, 0, 0, bits(t.kind) - 1 if t.kind in UNSIGNED else min(bits(t.kind) - 1, 2 ** (bits(t.kind) - 1) - 1))
    c.loose = t.kind in COMPLEX
    return c.does("stablehlo.%s %s, %s : %s" % (name, c.given(x, t), c.given(y, t), t), t)


@operator
def compare(d):
    t = Type(d.one(ALL), d.shape())
    directions = ["EQ", "NE"] if t.kind in COMPLEX else ["EQ", "NE", "GE", "GT", "LE", "LT"]
    kind = "" if d.chance(0.3) else ", FLOAT" if t.kind in COMPLEX else d.one([", FLOAT", ", TOTALORDER"]) if t.kind in FLOATS else ", UNSIGNED" if t.kind in UNSIGNED + ["i1"] else ", SIGNED"
    c = Case("compare")
    special = 0 if "TOTAL" in kind else 0.6  # which the interpreter does not tell from FLOAT
    x = d.values(t.kind, t.shape, special)
    y = x if d.chance(0.2) else d.values(t.kind, t.shape, special)
    return c.does("stablehlo.compare %s, %s, %s%s : (%s, %s) -> %s" % (d.one(directions), c.given(x, t), c.given(y, t), kind, t, t, t.of("i1")), t.of("i1"))


@operator
def convert(d):
    t, to = Type(d.one(ALL), d.shape()), d.one(ALL)
    c = Case("convert")
    inside = to in WHOLE and t.kind in FLOATS + COMPLEX  # other values are implementation-defined
    x = d.values(t.kind, t.shape, 0 if inside else 0.4)
    if inside:
        b = bits(to)
        low, high = (0, 2 ** b - 1) if to in UNSIGNED else (-2 ** (b - 1), 2 ** (b - 1) - 1)
        x = np.clip(np.nan_to_num(np.asarray(x).astype(np.complex128).real), max(low, -100), min(high, 100)).astype(NUMPY[t.kind])
    return c.does("stablehlo.convert %s : (%s) -> %s" % (c.given(x, t), t, t.of(to)), t.of(to))


@operator
def bitcast_convert(d):
    a, b = d.one(ALL), d.one(ALL)
    if (a in COMPLEX) != (b in COMPLEX) or "i1" in (a, b):
        return None
    big, small = max(bits(a), bits(b)), min(bits(a), bits(b))
    if big % small:
        return None
    shape = d.shape(0, 2)
    t = Type(a, shape + ((big // small,) if bits(a) < bits(b) else ()))
    out = Type(b, shape + ((big // small,) if bits(b) < bits(a) else ()))
    c = Case("bitcast_convert")
    return c.does("stablehlo.bitcast_convert %s : (%s) -> %s" % (c.given(d.values(a, t.shape), t), t, out), out)


@operator
def clamp(d):
    t = Type(d.one(ALL[:-3] + ["i1"]), d.shape())
    low, high = [t if d.chance(0.5) else Type(t.kind, ()) for _ in range(2)]
    c = Case("clamp")
    args = [c.given(d.values(u.kind, u.shape, 0.15), u) for u in (low, t, high)]
    return c.does("stablehlo.clamp %s : (%s, %s, %s) -> %s" % (", ".join(args), low, t, high, t), t)


@operator
def select(d):
    t = Type(d.one(ALL), d.shape())
    p = t.of("i1") if d.chance(0.6) else Type("i1", ())
    c = Case("select")
    return c.does("stablehlo.select %s, %s, %s : %s, %s" % (c.given(d.values("i1", p.shape), p), c.given(d.values(t.kind, t.shape), t), c.given(d.values(t.kind, t.shape), t), p, t), t)


@operator
def reduce_precision(d):
    t = Type(d.one(USUAL), d.shape())
    c = Case("reduce_precision")
    return c.does("stablehlo.reduce_precision %s, format = e%dm%d : %s" % (c.given(d.values(t.kind, t.shape, 0.4), t), d.between(1, 8), d.between(0, 10), t), t)


@operator
def pad(d):
    t = Type(d.one(ALL), d.shape(1, 3))
    n = len(t.shape)
    low, high, inner = [d.between(-2, 3) for _ in range(n)], [d.between(-2, 3) for _ in range(n)], [d.below(3) for _ in range(n)]
    shape = [lo + hi + s + max(s - 1, 0) * k for s, lo, hi, k in zip(t.shape, low, high, inner)]
    if min(shape) < 0:
        return None
    c = Case("pad")
    out = Type(t.kind, shape)
    v = Type(t.kind, ())
    return c.does("stablehlo.pad %s, %s, low = %s, high = %s, interior = %s : (%s, %s) -> %s" % (c.given(d.values(t.kind, t.shape), t), c.given(d.values(t.kind, ()), v), low, high, inner, t, v, out), out)


@operator
def moves(d):
    t = Type(d.one(ALL), d.shape(1, 4))
    n = len(t.shape)
    c = Case("moves")
    x = c.given(d.values(t.kind, t.shape), t)
    what = d.one(["transpose", "reverse", "reshape", "slice", "concatenate", "broadcast_in_dim", "broadcast", "dynamic_slice", "dynamic_update_slice", "real_dynamic_slice"])
    c.name = what
    if what == "transpose":
        order = d.order(n)
        out = Type(t.kind, [t.shape[i] for i in order])
        return c.does("stablehlo.transpose %s, dims = %s : (%s) -> %s" % (x, order, t, out), out)
    if what == "reverse":
        return c.does("stablehlo.reverse %s, dims = %s : %s" % (x, sorted(d.order(n)[:d.below(n + 1)]), t), t)
    if what == "reshape":
        out = Type(t.kind, d.one([(int(np.prod(t.shape)),), (1,) + t.shape, t.shape[::-1], t.shape + (1, 1)]))
        return c.does("stablehlo.reshape %s : (%s) -> %s" % (x, t, out), out)
    if what == "slice":
        parts = [(lo, d.between(lo, s), d.between(1, 3)) for s in t.shape for lo in [d.between(0, s)]]
        out = Type(t.kind, [max(0, -(-(hi - lo) // k)) for lo, hi, k in parts])
        return c.does("stablehlo.slice %s [%s] : (%s) -> %s" % (x, ", ".join("%d:%d:%d" % p for p in parts), t, out), out)
    if what == "concatenate":
        k = d.below(n)
        parts = [t] + [Type(t.kind, t.shape[:k] + (d.below(4),) + t.shape[k + 1:]) for _ in range(d.below(3))]
        out = Type(t.kind, t.shape[:k] + (sum(p.shape[k] for p in parts),) + t.shape[k + 1:])
        names = [x] + [c.given(d.values(p.kind, p.shape), p) for p in parts[1:]]
        return c.does("stablehlo.concatenate %s, dim = %d : (%s) -> %s" % (", ".join(names), k, ", ".join(map(str, parts)), out), out)
    if what == "broadcast_in_dim":
        out = list(d.shape(n, n + 2))
        places = d.order(len(out))[:n]
        for i, p in enumerate(places):
            if t.shape[i] != 1:
                out[p] = t.shape[i]
        out = Type(t.kind, out)
        return c.does("stablehlo.broadcast_in_dim %s, dims = %s : (%s) -> %s" % (x, places, t, out), out)
    if what == "broadcast":
        sizes = list(d.shape(0, 2))
        out = Type(t.kind, tuple(sizes) + t.shape)
        return c.does("stablehlo.broadcast %s, sizes = %s : (%s) -> %s" % (x, sizes, t, out), out)
    kind = d.one(WHOLE[2:6] + WHOLE[8:])
    s = Type(kind, ())
    if what == "real_dynamic_slice":
        s = Type(d.one(["i32", "i64"]), (n,))
        parts = [(lo, d.between(lo, size), d.between(1, 3)) for size in t.shape for lo in [d.between(0, size)]]
        out = Type(t.kind, [-(-(hi - lo) // k) for lo, hi, k in parts])
        names = [c.given(np.array([p[k] for p in parts], NUMPY[s.kind]), s) for k in range(3)]
        return c.does("stablehlo.real_dynamic_slice %s, %s : (%s, %s, %s, %s) -> %s" % (x, ", ".join(names), t, s, s, s, out), out)
    sizes = [d.between(0, m) for m in t.shape]
    starts = [c.given(np.array(d.between(-3 if kind[0] == "i" else 0, 9), NUMPY[kind]), s) for _ in range(n)]
    if what == "dynamic_slice":
        out = Type(t.kind, sizes)
        return c.does("stablehlo.dynamic_slice %s, %s, sizes = %s : (%s%s) -> %s" % (x, ", ".join(starts), sizes, t, ", %s" % s * n, out), out)
    u = Type(t.kind, sizes)
    return c.does("stablehlo.dynamic_update_slice %s, %s, %s : (%s, %s%s) -> %s" % (x, c.given(d.values(u.kind, u.shape), u), ", ".join(starts), t, u, ", %s" % s * n, t), t)


@operator
def iota(d):
    t = Type(d.one(ALL[:-1]), d.shape(1, 3))
    k = d.below(len(t.shape))
    if bits(t.kind) < 8 and t.shape[k] > 2:
        return None
    c = Case("iota")
    if d.chance(0.5):
        return c.does("stablehlo.iota dim = %d : %s" % (k, t), t)
    s = Type(d.one(["i32", "i64"]), (len(t.shape),))
    c.name = "dynamic_iota"
    c.lines.append("%%s = stablehlo.constant dense<%s> : %s" % (list(t.shape), s))
    return c.does("stablehlo.dynamic_iota %%s, dim = %d : (%s) -> %s" % (k, s, t), t)


def body(kind, d):
    """A region's operator of two scalars that is associative and commutative, and its neutral element: others count more than once
    where there is padding, as the implementation likes."""
    if kind == "i1":
        return d.one([("or", np.array(False)), ("and", np.array(True)), ("xor", np.array(False))])
    number = NUMPY[kind]
    if kind in COMPLEX:
        return "add", np.array(0, number)
    low, high = (float("-inf"), float("inf")) if kind in FLOATS else (int(ml_dtypes.iinfo(number).min), int(ml_dtypes.iinfo(number).max))
    if kind in FLOATS and not np.isinf(np.array(low).astype(number)):
        low, high = float(ml_dtypes.finfo(number).min), float(ml_dtypes.finfo(number).max)
    table = [("add", 0), ("maximum", low), ("minimum", high)]
    name, first = d.one(table + ([("and", high if kind[0] == "u" else -1), ("or", 0), ("xor", 0), ("multiply", 1)] if kind in WHOLE else []))
    return name, np.array(first).astype(number)


def region(name, kind):
    s = Type(kind, ())
    return "({\n  ^bb0(%%a: %s, %%b: %s):\n    %%r = stablehlo.%s %%a, %%b : %s\n    stablehlo.return %%r : %s\n  })" % (s, s, name, s, s)


@operator
def reduce(d):
    kind = d.one(ALL)
    t = Type(kind, d.shape(1, 4))
    n = len(t.shape)
    dims = sorted(d.order(n)[:d.between(0, n)])
    out = Type(kind, [s for i, s in enumerate(t.shape) if i not in dims])
    name, first = body(kind, d)
    c, s = Case("reduce"), Type(kind, ())
    c.loose = True
    if kind in FLOATS and bits(kind) == 8 and name == "add":
        return None  # the order of roundings
    x, v = c.given(d.values(kind, t.shape, 0.0 if name == "add" else 0.2), t), c.given(first, s)
    return c.does("\"stablehlo.reduce\"(%s, %s) %s {dimensions = array<i64%s>} : (%s, %s) -> %s" % (x, v, region(name, kind), ": " + ", ".join(map(str, dims)) if dims else "", t, s, out), out)


@operator
def reduce_window(d):
    kind = d.one(ALL)
    t = Type(kind, d.shape(1, 3))
    n = len(t.shape)
    w, st, bd, wd = ([d.between(1, k) for _ in range(n)] for k in (3, 3, 2, 2))
    p = [(d.between(-1, 2), d.between(-1, 2)) for _ in range(n)]
    shape = []
    for i in range(n):
        size = (t.shape[i] - 1) * bd[i] + 1 + sum(p[i])
        span = (w[i] - 1) * wd[i] + 1
        if size < 0:
            return None
        shape.append(0 if size < span else (size - span) // st[i] + 1)
    name, first = body(kind, d)
    if kind in FLOATS and bits(kind) == 8 and name == "add":
        return None
    c, s, out = Case("reduce_window"), Type(kind, ()), Type(kind, shape)
    c.loose = True
    x, v = c.given(d.values(kind, t.shape, 0.0 if name == "add" else 0.2), t), c.given(first, s)
    a = lambda v: "array<i64: %s>" % ", ".join(map(str, v))  # noqa: E731
    return c.does("\"stablehlo.reduce_window\"(%s, %s) %s {window_dimensions = %s, window_strides = %s, base_dilations = %s, window_dilations = %s, padding = dense<%s> : tensor<%dx2xi64>} : (%s, %s) -> %s" % (
        x, v, region(name, kind), a(w), a(st), a(bd), a(wd), [list(q) for q in p], n, t, s, out), out)


@operator
def select_and_scatter(d):
    kind = d.one(USUAL + ["i32", "i8", "ui16", "i64"])
    t = Type(kind, d.shape(1, 3))
    n = len(t.shape)
    w, st = [d.between(1, 3) for _ in range(n)], [d.between(1, 3) for _ in range(n)]
    p = [(d.between(0, 1), d.between(0, 1)) for _ in range(n)]
    shape = [(t.shape[i] + sum(p[i]) - w[i]) // st[i] + 1 if t.shape[i] + sum(p[i]) >= w[i] else 0 for i in range(n)]
    s, u = Type(kind, ()), Type(kind, shape)
    c = Case("select_and_scatter")
    c.loose = True
    x, y, v = c.given(d.values(kind, t.shape, 0, -40, 40) if kind[0] not in "fb" and kind[0] != "u" else d.values(kind, t.shape, 0), t), c.given(d.values(kind, u.shape, 0), u), c.given(np.array(0, NUMPY[kind]), s)
    choose = "({\n  ^bb0(%%a: %s, %%b: %s):\n    %%r = stablehlo.compare %s, %%a, %%b : (%s, %s) -> tensor<i1>\n    stablehlo.return %%r : tensor<i1>\n  }, " % (s, s, d.one(["GE", "LE", "GT", "LT"]), s, s)
    a = lambda v: "array<i64: %s>" % ", ".join(map(str, v))  # noqa: E731
    return c.does("\"stablehlo.select_and_scatter\"(%s, %s, %s) %s%s {window_dimensions = %s, window_strides = %s, padding = dense<%s> : tensor<%dx2xi64>} : (%s, %s, %s) -> %s" % (
        x, y, v, choose, region("add", kind)[1:], a(w), a(st), [list(q) for q in p], n, t, u, s, t), t)


@operator
def dot_general(d):
    kind = d.one([k for k in ALL if k != "i1"])
    b, m, k, n = d.shape(0, 2), d.shape(0, 2), d.shape(0, 2), d.shape(0, 2)
    letters = {}
    for tag, sizes in (("b", b), ("m", m), ("k", k), ("n", n)):
        for i, s in enumerate(sizes):
            letters[tag + str(i)] = min(s, 5)
    left = [l for l in letters if l[0] in "bmk"]
    right = [l for l in letters if l[0] in "bkn"]
    left, right = [left[i] for i in d.order(len(left))], [right[i] for i in d.order(len(right))]
    out_kind = kind if kind in COMPLEX + ["f64"] or d.chance(0.5) else "f32" if kind in FLOATS else d.one(["i32", "i64"]) if kind in SIGNED else d.one(["ui32", "ui64"])
    if kind in FLOATS and bits(kind) == 8 and out_kind == kind:
        return None
    if kind in WHOLE and bits(out_kind) < bits(kind):
        return None
    x, y = Type(kind, [letters[l] for l in left]), Type(kind, [letters[l] for l in right])
    batch, inner = [l for l in letters if l[0] == "b"], [l for l in letters if l[0] == "k"]
    out = Type(out_kind, [letters[l] for l in batch] + [letters[l] for l in left if l[0] == "m"] + [letters[l] for l in right if l[0] == "n"])
    c = Case("dot_general")
    c.loose = True
    at = lambda names, side: [side.index(l) for l in names]  # noqa: E731
    if not inner:
        return None
    words = ", batching_dims = %s x %s" % (at(batch, left), at(batch, right)) if batch else ""
    words += ", contracting_dims = %s x %s" % (at(inner, left), at(inner, right))
    return c.does("stablehlo.dot_general %s, %s%s : (%s, %s) -> %s" % (c.given(d.values(kind, x.shape, 0), x), c.given(d.values(kind, y.shape, 0), y), words, x, y, out), out)


@operator
def convolution(d):
    kind = d.one(["f32", "f64", "bf16", "f16", "i32", "i8", "i64", "ui8", "complex<f32>", "complex<f64>", "i4"])
    r, groups, batches = d.between(0, 3), d.one([1, 1, 2, 3]), 1
    if groups == 1 and d.chance(0.25):
        batches = 2
    ci, co, nb = groups * d.between(1, 3), groups * batches * d.between(1, 3), batches * d.between(1, 2)
    size, k = [d.between(1, 7) for _ in range(r)], [d.between(1, 3) for _ in range(r)]
    st, ld, rd = ([d.between(1, 2) for _ in range(r)] for _ in range(3))
    p = [(d.between(-1, 3), d.between(-1, 3)) for _ in range(r)]
    rev = [d.chance(0.3) for _ in range(r)]
    shape = []
    for i in range(r):
        n = (size[i] - 1) * ld[i] + 1 + sum(p[i])
        span = (k[i] - 1) * rd[i] + 1
        if n < 0:
            return None
        shape.append(0 if n < span else (n - span) // st[i] + 1)

    def laid(first, second, spatial, names):
        order = d.order(r + 2)
        parts, sizes = [None] * (r + 2), [None] * (r + 2)
        for place, (name, n) in zip(order, zip(names + [str(i) for i in range(r)], [first, second] + spatial)):
            parts[place], sizes[place] = name, n
        return "[%s]" % ", ".join(parts), sizes
    lx, sx = laid(nb, ci, size, ["b", "f"])
    lw, sw = laid(ci // groups, co, k, ["i", "o"])
    lo, so = laid(nb // batches, co, shape, ["b", "f"])
    x, w, out = Type(kind, sx), Type(kind, sw), Type(kind, so)
    c = Case("convolution")
    c.loose = True
    window = "stride = %s, pad = %s, lhs_dilate = %s, rhs_dilate = %s, reverse = [%s]" % (st, [list(q) for q in p], ld, rd, ", ".join(str(v).lower() for v in rev))
    return c.does("stablehlo.convolution(%s, %s) dim_numbers = %sx%s->%s, window = {%s} {batch_group_count = %d : i64, feature_group_count = %d : i64} : (%s, %s) -> %s" % (
        c.given(d.values(kind, sx, 0), x), c.given(d.values(kind, sw, 0), w), lx, lw, lo, window if r else "", batches, groups, x, w, out), out)


@operator
def sort(d):
    kinds = [d.one(ALL[:-3] + ["i1"]) for _ in range(d.between(1, 3))]
    shape = d.shape(1, 3)
    k = d.below(len(shape))
    c = Case("sort")
    names = [c.given(d.values(t, shape, 0.3 if i else 0), Type(t, shape)) for i, t in enumerate(kinds)]
    scalars = [Type(t, ()) for t in kinds]
    order = ", TOTALORDER" if kinds[0] in FLOATS else ""
    text = "\"stablehlo.sort\"(%s) ({\n  ^bb0(%s):\n    %%r = stablehlo.compare %s, %%a0, %%b0%s : (%s, %s) -> tensor<i1>\n    stablehlo.return %%r : tensor<i1>\n  }) {dimension = %d : i64, is_stable = true} : (%s) -> (%s)" % (
        ", ".join(names), ", ".join("%%a%d: %s, %%b%d: %s" % (i, s, i, s) for i, s in enumerate(scalars)), d.one(["LT", "GT"]), order, scalars[0], scalars[0], k,
        ", ".join(str(Type(t, shape)) for t in kinds), ", ".join(str(Type(t, shape)) for t in kinds))
    return c.does(text, *[Type(t, shape) for t in kinds])


@operator
def mapped(d):
    kind = d.one([k for k in ALL if k not in ("i1",)])
    t, s = Type(kind, d.shape()), Type(kind, ())
    c = Case("map")
    c.loose = True
    x, y = c.given(d.values(kind, t.shape, 0), t), c.given(d.values(kind, t.shape, 0), t)
    dims = ": " + ", ".join(str(i) for i in range(len(t.shape))) if t.shape else ""
    return c.does("\"stablehlo.map\"(%s, %s) ({\n  ^bb0(%%a: %s, %%b: %s):\n    %%p = stablehlo.%s %%a, %%b : %s\n    %%r = stablehlo.%s %%p, %%a : %s\n    stablehlo.return %%r : %s\n  }) {dimensions = array<i64%s>} : (%s, %s) -> %s" % (
        x, y, s, s, d.one(["add", "multiply"]), s, d.one(["add", "subtract"]), s, s, dims, t, t, t), t)


@operator
def batch_norm(d):
    t = Type(d.one(USUAL[:2]), d.shape(2, 4))
    k = d.below(len(t.shape))
    v = Type(t.kind, (t.shape[k],))
    what = d.one(["inference", "training", "grad"])
    c = Case("batch_norm_" + what)
    c.loose = True
    x = c.given(d.values(t.kind, t.shape, 0), t)
    vectors = [c.given(np.abs(d.values(t.kind, v.shape, 0)) + 0.5, v) for _ in range({"inference": 4, "training": 2, "grad": 3}[what])]
    tail = "{epsilon = 0.001 : f32, feature_index = %d : i64}" % k
    if what == "inference":
        return c.does("\"stablehlo.batch_norm_inference\"(%s, %s) %s : (%s%s) -> %s" % (x, ", ".join(vectors), tail, t, ", %s" % v * 4, t), t)
    if what == "training":
        return c.does("\"stablehlo.batch_norm_training\"(%s, %s) %s : (%s%s) -> (%s, %s, %s)" % (x, ", ".join(vectors), tail, t, ", %s" % v * 2, t, v, v), t, v, v)
    g = c.given(d.values(t.kind, t.shape, 0), t)
    return c.does("\"stablehlo.batch_norm_grad\"(%s, %s, %s) %s : (%s%s, %s) -> (%s, %s, %s)" % (x, ", ".join(vectors), g, tail, t, ", %s" % v * 3, t, t, v, v), t, v, v)


@operator
def gather(d):
    """Starts by one batch dim and maybe a batching dim, windows of random sizes."""
    t = Type(d.one(ALL), d.shape(1, 3))
    n = len(t.shape)
    batching = [d.below(n)] if d.chance(0.3) and n > 1 else []
    free = [i for i in range(n) if i not in batching]
    collapsed = sorted(free[i] for i in d.order(len(free))[:d.below(len(free) + 1)])
    sizes = [1 if i in collapsed + batching else d.between(0, t.shape[i]) for i in range(n)]
    starts = [free[i] for i in d.order(len(free))[:d.between(1, len(free))]]
    batch = ([t.shape[batching[0]]] if batching else []) + list(d.shape(0, 1))
    at = d.between(0, len(batch))
    index_kind = d.one(["i32", "i64", "ui8", "i16", "ui32"])
    i = Type(index_kind, batch[:at] + [len(starts)] + batch[at:])
    windows = [s for k, s in enumerate(sizes) if k not in collapsed + batching]
    rank = len(batch) + len(windows)
    offsets = sorted(d.order(rank)[:len(windows)])
    shape, w, b = [], iter(windows), iter(batch)
    for k in range(rank):
        shape.append(next(w) if k in offsets else next(b))
    out = Type(t.kind, shape)
    c = Case("gather")
    x, y = c.given(d.values(t.kind, t.shape), t), c.given(d.values(index_kind, i.shape, 0, 0 if index_kind[0] == "u" else -2, 9), i)
    parts = ["offset_dims = %s" % offsets, "collapsed_slice_dims = %s" % collapsed]
    if batching:
        parts += ["operand_batching_dims = %s" % batching, "start_indices_batching_dims = [%d]" % (0 if at > 0 else 1)]
    parts += ["start_index_map = %s" % starts, "index_vector_dim = %d" % at]
    return c.does("\"stablehlo.gather\"(%s, %s) {dimension_numbers = #stablehlo.gather<%s>, slice_sizes = array<i64: %s>, indices_are_sorted = false} : (%s, %s) -> %s" % (x, y, ", ".join(parts), ", ".join(map(str, sizes)), t, i, out), out)


@operator
def scatter(d):
    t = Type(d.one(ALL), d.shape(1, 3))
    n = len(t.shape)
    inserted = sorted(d.order(n)[:d.below(n + 1)])
    places = d.order(n)[:d.between(1, n)]
    # of windows partly outside the interpreter takes what is inside, XLA nothing
    windows = [1 if k in places else d.between(0, t.shape[k]) for k in range(n) if k not in inserted]
    batch = list(d.shape(0, 1))
    at = d.between(0, len(batch))
    kind = d.one(["i32", "i64", "ui8", "i16"])
    i = Type(kind, batch[:at] + [len(places)] + batch[at:])
    rank = len(batch) + len(windows)
    offsets = sorted(d.order(rank)[:len(windows)])
    shape, w, b = [], iter(windows), iter(batch)
    for k in range(rank):
        shape.append(next(w) if k in offsets else next(b))
    u, s = Type(t.kind, shape), Type(t.kind, ())
    name, _ = body(t.kind, d)
    if t.kind in FLOATS and bits(t.kind) == 8 and name == "add":
        return None
    c = Case("scatter")
    c.loose = True
    names = [c.given(d.values(t.kind, t.shape, 0), t), c.given(d.values(kind, i.shape, 0, 0 if kind[0] == "u" else -2, 6), i), c.given(d.values(t.kind, u.shape, 0), u)]
    parts = "update_window_dims = %s, inserted_window_dims = %s, scatter_dims_to_operand_dims = %s, index_vector_dim = %d" % (offsets, inserted, places, at)
    return c.does("\"stablehlo.scatter\"(%s) %s {scatter_dimension_numbers = #stablehlo.scatter<%s>, indices_are_sorted = false, unique_indices = false} : (%s, %s, %s) -> %s" % (
        ", ".join(names), region(name, t.kind), parts, t, i, u, t), t)


@operator
def control(d):
    t = Type(d.one(ALL[:-1]), d.shape())
    c = Case("control")
    c.loose = True
    x = c.given(d.values(t.kind, t.shape, 0), t)
    what = d.one(["if", "case", "while", "optimization_barrier", "call", "tuple", "composite", "custom"])
    c.name = what
    one = lambda f: "({\n    %%t = stablehlo.%s %s : %s\n    stablehlo.return %%t : %s\n  })" % (f, "%s, %s" % (x, x) if f != "negate" else x, t, t)  # noqa: E731
    if what == "if":
        p = c.given(d.values("i1", ()), Type("i1", ()))
        return c.does("\"stablehlo.if\"(%s) (%s, %s) : (tensor<i1>) -> %s" % (p, one("add")[1:-1], one("multiply")[1:-1], t), t)
    if what == "case":
        p = c.given(np.array(d.between(-2, 4), np.int32), Type("i32", ()))
        return c.does("\"stablehlo.case\"(%s) (%s, %s, %s) : (tensor<i32>) -> %s" % (p, one("add")[1:-1], one("negate")[1:-1], one("subtract")[1:-1], t), t)
    if what == "while":
        n = c.given(np.array(d.between(-1, 4), np.int64), Type("i64", ()))
        c.lines += ["%z = stablehlo.constant dense<0> : tensor<i64>", "%one = stablehlo.constant dense<1> : tensor<i64>"]
        c.lines.append("%%l:2 = stablehlo.while(%%i = %%z, %%v = %s) : tensor<i64>, %s\n  cond {\n    %%p = stablehlo.compare LT, %%i, %s : (tensor<i64>, tensor<i64>) -> tensor<i1>\n    stablehlo.return %%p : tensor<i1>\n  } do {\n    %%j = stablehlo.add %%i, %%one : tensor<i64>\n    %%w = stablehlo.subtract %s, %%v : %s\n    stablehlo.return %%j, %%w : tensor<i64>, %s\n  }" % (x, t, n, x, t, t))
        c.results, c.outputs = ["%l#0", "%l#1"], [Type("i64", ()), t]
        return c
    if what == "optimization_barrier":
        return c.does("stablehlo.optimization_barrier %s, %s : %s, %s" % (x, x, t, t), t, t)
    if what == "tuple":
        c.lines += ["%%q = stablehlo.tuple %s, %s : tuple<%s, %s>" % (x, x, t, t)]
        return c.does("stablehlo.get_tuple_element %%q[1] : (tuple<%s, %s>) -> %s" % (t, t, t), t)
    c.functions = " func.func private @f(%%x: %s) -> %s {\n  %%y = stablehlo.add %%x, %%x : %s\n  return %%y : %s\n }\n" % (t, t, t, t)
    if what == "call":
        return c.does("func.call @f(%s) : (%s) -> %s" % (x, t, t), t)
    if what == "composite":
        return c.does("stablehlo.composite \"my.op\" %s {decomposition = @f, version = 1 : i32} : (%s) -> %s" % (x, t, t), t)
    c.functions = ""
    return c.does("stablehlo.negate %s : %s" % (x, t), t)


@operator
def fft(d):
    what = d.one(["FFT", "IFFT", "RFFT", "IRFFT"])
    wide = d.chance(0.5)
    real, cplx = ("f64", "complex<f64>") if wide else ("f32", "complex<f32>")
    shape = list(d.shape(1, 3))
    n = 1 if what == "IRFFT" else d.between(1, len(shape))  # of several dims the interpreter's is not the specification's
    shape[-1] += shape[-1] % 2 if what == "IRFFT" else 0  # of odd lengths the interpreter takes others
    length = shape[-n:]
    c = Case("fft")
    c.loose = True
    x = Type(real if what == "RFFT" else cplx, shape if what != "IRFFT" else shape[:-1] + [shape[-1] // 2 + 1])
    out = Type(real if what == "IRFFT" else cplx, shape if what != "RFFT" else shape[:-1] + [shape[-1] // 2 + 1])
    return c.does("stablehlo.fft %s, type = %s, length = %s : (%s) -> %s" % (c.given(d.values(x.kind, x.shape, 0), x), what, length, x, out), out)


@operator
def triangular(d):
    kind = d.one(["f32", "f64", "complex<f32>", "complex<f64>"])
    b, n, m = list(d.shape(0, 1)), d.between(1, 5), d.between(1, 4)
    left = d.chance(0.5)
    a, y = Type(kind, b + [n, n]), Type(kind, b + ([n, m] if left else [m, n]))
    c = Case(d.one(["triangular_solve", "cholesky"]))
    c.loose = True
    x = d.values(kind, a.shape, 0) + 4 * np.eye(n, dtype=NUMPY[kind])
    if c.name == "cholesky":
        x = (x @ np.conj(np.swapaxes(x, -1, -2))).astype(NUMPY[kind])
        return c.does("stablehlo.cholesky %s, lower = %s : %s" % (c.given(x, a), d.one(["true", "false"]), a), a)
    how = d.one(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    return c.does("\"stablehlo.triangular_solve\"(%s, %s) {left_side = %s, lower = %s, unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>} : (%s, %s) -> %s" % (
        c.given(x, a), c.given(d.values(kind, y.shape, 0), y), str(left).lower(), d.one(["true", "false"]), d.one(["true", "false"]), how, a, y, y), y)
