"""Index expressions and masks.

An Expr is an integer array that is affine in its axes and in symbolic variables:

    value[i0, i1, ...] = base + sum over variables of coefficient * variable + sum over axes k of steps[k] * ik

Shapes broadcast as in NumPy. An Expr of shape () is a symbolic integer: a loop index, a program id, or an offset made of
them; without variables it is an int. Comparisons give Masks; a comparison of symbolic integers that holds (or fails) for all
values of the variables gives a bool at once.
"""
from __future__ import annotations

import operator
import sys
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._errors import NeedRewrite, NeedValue, NkiIndexError, NkiTypeError, error

_counter = 0


class Variable:
    """A loop's trip number or a program id: 0..count-1. After its loop it stands for the last trip."""

    __slots__ = ("uid", "count", "name", "key", "closed")

    def __init__(self, count: int, name: str, key: object):
        global _counter
        _counter += 1
        self.uid = _counter
        self.count = count
        self.name = name
        self.key = key
        self.closed = False

    def __repr__(self) -> str:
        return self.name


Term = Tuple[Variable, int]


def _merge(a: Tuple[Term, ...], b: Tuple[Term, ...], sign: int = 1) -> Tuple[Term, ...]:
    if not b:
        return a
    if not a and sign == 1:
        return b
    d: Dict[int, List] = {v.uid: [v, c] for v, c in a}
    for v, c in b:
        if v.uid in d:
            d[v.uid][1] += sign * c
        else:
            d[v.uid] = [v, sign * c]
    return tuple((v, c) for v, c in sorted(d.values(), key=lambda t: t[0].uid) if c)


def broadcast_shapes(shapes: Sequence[Tuple[int, ...]], what: str = "index") -> Tuple[int, ...]:
    """NumPy's rule."""
    n = max((len(s) for s in shapes), default=0)
    out = [1] * n
    for s in shapes:
        for k, size in enumerate(s, n - len(s)):
            if size != 1:
                if out[k] != 1 and out[k] != size:
                    raise error(None, "%s shapes %s do not broadcast; give each array an axis of its own, as in nl.arange(%d)[:, None] and "
                                "nl.arange(%d)[None, :]" % (what, " and ".join(str(x) for x in shapes), out[k], size), NkiTypeError)
                out[k] = size
    return tuple(out)


class Expr:
    """See the module. Immutable."""

    __slots__ = ("shape", "base", "terms", "steps")

    def __init__(self, shape: Tuple[int, ...], base: int, terms: Tuple[Term, ...], steps: Tuple[int, ...]):
        self.shape = shape
        self.base = base
        self.terms = terms
        self.steps = tuple(0 if n == 1 else s for n, s in zip(shape, steps)) if 1 in shape else steps  # as it is broadcast

    def __setitem__(self, key: object, value: object) -> None:
        raise error(None, "an index array holds no elements and cannot be assigned to; nisa.iota(index, dtype=nl.int32) makes a tile of it", NkiIndexError)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @staticmethod
    def of(x: object) -> Optional["Expr"]:
        if type(x) is Expr:
            return x  # type: ignore[return-value]
        if isinstance(x, bool):
            return Expr((), int(x), (), ())
        try:
            return Expr((), operator.index(x), (), ())  # type: ignore[arg-type]
        except TypeError:
            if isinstance(x, float) and x == int(x):
                return Expr((), int(x), (), ())
            return None

    def _simple(self) -> Union["Expr", int]:
        return self.base if not self.shape and not self.terms else self

    def _add(self, other: object, sign: int) -> object:
        if type(other) is int:
            return Expr(self.shape, self.base + sign * other, self.terms, self.steps)
        o = Expr.of(other)
        if o is None:
            return NotImplemented
        terms = _merge(self.terms, o.terms, sign)
        if not o.shape:
            return Expr(self.shape, self.base + sign * o.base, terms, self.steps)._simple()
        shape = broadcast_shapes((self.shape, o.shape))
        n = len(shape)
        a = (0,) * (n - len(self.steps)) + self.steps
        b = (0,) * (n - len(o.steps)) + o.steps
        return Expr(shape, self.base + sign * o.base, terms, tuple(p + sign * q for p, q in zip(a, b)))._simple()

    def __add__(self, other: object) -> object:
        return self._add(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> object:
        return self._add(other, -1)

    def __rsub__(self, other: object) -> object:
        o = Expr.of(other)
        return NotImplemented if o is None else o._add(self, -1)

    def __neg__(self) -> "Expr":
        return self._scale(-1)  # type: ignore[return-value]

    def __pos__(self) -> "Expr":
        return self

    def _scale(self, c: int) -> Union["Expr", int]:
        if c == 0 and not self.shape:
            return 0
        return Expr(self.shape, self.base * c, tuple((v, k * c) for v, k in self.terms) if c else (), tuple(s * c for s in self.steps))

    def __mul__(self, other: object) -> object:
        if type(other) is int:
            return self._scale(other)
        o = Expr.of(other)
        if o is None:
            if isinstance(other, float):
                need_value(self, "a product with %r" % other)
            return NotImplemented
        if o.is_constant:
            return self._scale(o.base)
        if self.is_constant:
            return o._scale(self.base)
        if self.terms or o.terms:
            need_value(self if not self.shape else o, "a product of indices", self, o)
        raise error(None, "a product of two index expressions is not affine", NkiTypeError)

    __rmul__ = __mul__

    @property
    def is_constant(self) -> bool:
        return not self.terms and not any(self.steps)

    def __floordiv__(self, other: object) -> object:
        return self._divide(other)[0]

    def __mod__(self, other: object) -> object:
        return self._divide(other)[1]

    def __divmod__(self, other: object) -> object:
        return self._divide(other)

    def _divide(self, other: object) -> Tuple[object, object]:
        if type(other) is not int:
            o = Expr.of(other)
            if o is None or not o.is_constant or o.shape:
                need_value(self, "a division by an index", *([o] if o is not None else []))
                raise error(None, "an index expression can be divided by an integer only", NkiTypeError)
            other = o.base
        assert isinstance(other, int)
        inner = Expr(self.shape, self.base % other,
                     tuple((v, c) for v, c in self.terms if c % other), tuple(s if s % other else 0 for s in self.steps))
        lo, hi = inner.bounds()
        if lo // other == hi // other:
            q = lo // other
            outer = Expr(self.shape, self.base // other + q,
                         tuple((v, c // other) for v, c in self.terms if c % other == 0),
                         tuple(0 if s % other else s // other for s in self.steps))
            return outer._simple(), Expr(inner.shape, inner.base - q * other, inner.terms, inner.steps)._simple()
        if self.terms:
            need_value(self, "// or %")
        raise error(None, "// or % of an index array is not affine here; split it into two arrays (nl.mgrid)", NkiTypeError)

    def __rfloordiv__(self, other: object) -> object:
        need_value(self, "a division by an index")

    def __rmod__(self, other: object) -> object:
        need_value(self, "a division by an index")

    def __truediv__(self, other: object) -> object:
        q, r = None, None
        if type(other) is int and other:
            exact = all(c % other == 0 for _, c in self.terms) and self.base % other == 0 and all(s % other == 0 for s in self.steps)
            if exact:
                q, r = self._divide(other)
                return q
        need_value(self, "a true division")

    def __rtruediv__(self, other: object) -> object:
        need_value(self, "a true division")

    def __pow__(self, other: object) -> object:
        need_value(self, "a power")

    __rpow__ = __pow__

    def __lshift__(self, other: object) -> object:
        if type(other) is int:
            return self * (1 << other)
        need_value(self, "a shift")

    def __rshift__(self, other: object) -> object:
        if type(other) is int:
            return self // (1 << other)
        need_value(self, "a shift")

    def __and__(self, other: object) -> object:
        if type(other) is int and other >= 0 and (other & (other + 1)) == 0:
            return self % (other + 1)
        return self._bits(other, operator.and_)

    __rand__ = __and__

    def __or__(self, other: object) -> object:
        return self._bits(other, operator.or_)

    __ror__ = __or__

    def __xor__(self, other: object) -> object:
        return self._bits(other, operator.xor)

    __rxor__ = __xor__

    def __invert__(self) -> object:
        return self * -1 - 1

    def _bits(self, other: object, operation: Callable[[int, int], int]) -> object:
        """Of numbers: those of loops that are not unrolled are asked for."""
        if not isinstance(other, (int, np.integer, Expr)):
            return NotImplemented
        both = [self.resolved(), other.resolved() if isinstance(other, Expr) else other]
        exprs = [e for e in both if isinstance(e, Expr) and (e.terms or e.shape)]
        if exprs:
            need_value(exprs[0], "a bit operation", *exprs[1:])
        return operation(*(e.base if isinstance(e, Expr) else int(e) for e in both))

    # -- values -----------------------------------------------------------------------------------------------------

    def bounds(self) -> Tuple[int, int]:
        """Smallest and largest value over all variables and axes."""
        lo = hi = self.base
        for v, c in self.terms:
            top = c * (v.count - 1)
            if v.closed:
                lo += top
                hi += top
            elif c > 0:
                hi += top
            else:
                lo += top
        for s, n in zip(self.steps, self.shape):
            if s > 0:
                hi += s * (n - 1)
            else:
                lo += s * (n - 1)
        return lo, hi

    def resolved(self) -> "Expr":
        """Variables of loops that have ended replaced by their last value."""
        if any(v.closed for v, _ in self.terms):
            base = self.base + sum(c * (v.count - 1) for v, c in self.terms if v.closed)
            return Expr(self.shape, base, tuple(t for t in self.terms if not t[0].closed), self.steps)
        return self

    def __index__(self) -> int:
        e = self.resolved()
        if not e.terms and not e.shape:
            return e.base
        if e.shape:
            raise error(None, "an index array is used as an integer", NkiTypeError)
        need_value(self, "its integer value")

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        r = self != 0
        return bool(r)

    def __hash__(self) -> int:
        return hash(self.__index__())

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec) if not self.shape else repr(self)

    def __str__(self) -> str:
        return str(self.__index__()) if not self.shape else repr(self)

    def __repr__(self) -> str:
        parts = [str(self.base)] + ["%d*%s" % (c, v.name) for v, c in self.terms]
        parts += ["%d*axis%d[%d]" % (s, k, n) for k, (s, n) in enumerate(zip(self.steps, self.shape)) if s]
        return "<index %s>" % " + ".join(parts)

    def __round__(self, n: object = None) -> object:
        return self

    def __abs__(self) -> object:
        lo, hi = self.bounds()
        if lo >= 0:
            return self
        if hi <= 0:
            return -self
        need_value(self, "abs")

    # -- arrays -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: object) -> "Expr":
        """New axes and slices, as in nl.arange(n)[:, None]."""
        keys = key if isinstance(key, tuple) else (key,)
        if not self.shape and not all(k is None for k in keys):
            need_value(self, "an element")
        given = sum(k is not None and k is not Ellipsis for k in keys)
        flat: List[object] = []
        for k in keys:
            flat.extend([slice(None)] * (len(self.shape) - given) if k is Ellipsis else [k])
        flat.extend([slice(None)] * (len(self.shape) - sum(k is not None for k in flat)))
        shape: List[int] = []
        steps: List[int] = []
        base = self.base
        axis = 0
        for k in flat:
            if k is None:
                shape.append(1)
                steps.append(0)
                continue
            n, s = self.shape[axis], self.steps[axis]
            axis += 1
            if isinstance(k, slice):
                first, last, by = k.indices(n)
                base += first * s
                shape.append(len(range(first, last, by)))
                steps.append(s * by)
            else:
                i = operator.index(k)  # type: ignore[arg-type]
                if not -n <= i < n:
                    raise IndexError("index %d is out of bounds for axis %d with size %d" % (i, axis - 1, n))
                base += s * (i + n if i < 0 else i)
        r = Expr(tuple(shape), base, self.terms, tuple(steps))
        return r._simple()  # type: ignore[return-value]

    def reshape(self, *shape: object) -> "Expr":
        want = tuple(int(x) for x in (shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape))  # type: ignore
        live = [(n, s) for n, s in zip(self.shape, self.steps) if n != 1]
        left = [n for n in want if n != 1]
        if [n for n, _ in live] == left:
            it = iter(live)
            return Expr(want, self.base, self.terms, tuple(next(it)[1] if n != 1 else 0 for n in want))
        raise error(None, "an index array of shape %s cannot become %s" % (self.shape, want), NkiTypeError)

    # -- comparisons ------------------------------------------------------------------------------------------------

    def _compare(self, other: object, kind: str) -> object:
        d = self._add(other, -1)
        if d is NotImplemented:
            return NotImplemented
        if isinstance(d, int):
            d = Expr((), d, (), ())
        assert isinstance(d, Expr)
        if kind == "le" or kind == "lt":
            d = d._scale(-1)
            d = d if isinstance(d, Expr) else Expr((), d, (), ())
        if kind == "gt" or kind == "lt":
            d = Expr(d.shape, d.base - 1, d.terms, d.steps)
        leaf = Mask(kind if kind in ("eq", "ne") else "ge", d)
        if not d.shape:
            known = leaf.known()
            if known is not None:
                return known
        return leaf

    def __lt__(self, other: object) -> object:
        return self._compare(other, "lt")

    def __le__(self, other: object) -> object:
        return self._compare(other, "le")

    def __gt__(self, other: object) -> object:
        return self._compare(other, "gt")

    def __ge__(self, other: object) -> object:
        return self._compare(other, "ge")

    def __eq__(self, other: object) -> object:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return False
        return self._compare(other, "eq")

    def __ne__(self, other: object) -> object:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return True
        return self._compare(other, "ne")


class Mask:
    """A condition on index expressions: a comparison (ge, eq, ne of `expr` and 0), or `and`/`or` of conditions."""

    __slots__ = ("kind", "expr", "parts")

    def __init__(self, kind: str, expr: Optional[Expr] = None, parts: Tuple["Mask", ...] = ()):
        self.kind = kind
        self.expr = expr
        self.parts = parts

    def known(self) -> Optional[bool]:
        """True or False when it is so everywhere."""
        if self.kind == "and":
            k = [p.known() for p in self.parts]
            return False if False in k else True if all(x is True for x in k) else None
        if self.kind == "or":
            k = [p.known() for p in self.parts]
            return True if True in k else False if all(x is False for x in k) else None
        assert self.expr is not None
        e = self.expr
        lo, hi = e.bounds()
        if self.kind == "ge":
            return True if lo >= 0 else False if hi < 0 else None
        equal: Optional[bool] = None
        if lo > 0 or hi < 0:
            equal = False
        elif lo == hi == 0:
            equal = True
        return equal if self.kind == "eq" or equal is None else not equal

    def exprs(self) -> List[Expr]:
        return [self.expr] if self.expr is not None else [e for p in self.parts for e in p.exprs()]

    @property
    def shape(self) -> Tuple[int, ...]:
        return broadcast_shapes([e.shape for e in self.exprs()], "mask")

    @staticmethod
    def of(x: object) -> Optional["Mask"]:
        if isinstance(x, Mask):
            return x
        if isinstance(x, (bool, int)) or type(x).__name__ in ("bool_", "bool"):
            return TRUE if x else FALSE
        return None

    def _join(self, other: object, kind: str) -> object:
        if isinstance(other, (bool,)) or type(other).__name__ in ("bool_", "bool"):
            if kind == "and":
                return self if other else False
            return True if other else self
        if not isinstance(other, Mask):
            return NotImplemented
        parts: Tuple[Mask, ...] = ()
        for m in (self, other):
            parts += m.parts if m.kind == kind else (m,)
        return Mask(kind, None, parts)

    def __and__(self, other: object) -> object:
        return self._join(other, "and")

    __rand__ = __and__

    def __or__(self, other: object) -> object:
        return self._join(other, "or")

    __ror__ = __or__

    def __mul__(self, other: object) -> object:
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            return int(self) * other
        return self._join(other, "and")

    __rmul__ = __mul__

    def __add__(self, other: object) -> object:
        return int(self) + other  # type: ignore[operator]

    __radd__ = __add__

    def __sub__(self, other: object) -> object:
        return int(self) - other  # type: ignore[operator]

    def __rsub__(self, other: object) -> object:
        return other - int(self)  # type: ignore[operator]

    def __int__(self) -> int:
        """1 or 0, as of a bool of Python."""
        if self.shape:
            raise error(None, "a condition on index arrays is used as a number, which it is not in all places; select by it: "
                        "nisa.affine_select, or a mask", NkiTypeError)
        return int(bool(self))

    def __float__(self) -> float:
        return float(int(self))

    def __invert__(self) -> "Mask":
        if self.kind == "and":
            return Mask("or", None, tuple(~p for p in self.parts))
        if self.kind == "or":
            return Mask("and", None, tuple(~p for p in self.parts))
        assert self.expr is not None
        if self.kind == "ge":  # not (e >= 0): -e - 1 >= 0
            e = self.expr
            return Mask("ge", Expr(e.shape, -e.base - 1, tuple((v, -c) for v, c in e.terms), tuple(-s for s in e.steps)))
        return Mask("ne" if self.kind == "eq" else "eq", self.expr)

    def exchanged(self) -> "Mask":
        """Of the transposed tile: the last two axes in the other order."""
        if self.expr is None:
            return Mask(self.kind, None, tuple(p.exchanged() for p in self.parts))
        e, lead = self.expr, (1,) * (2 - len(self.expr.shape))
        shape, steps = lead + e.shape, (0,) * len(lead) + e.steps
        return Mask(self.kind, Expr(shape[:-2] + shape[:-3:-1], e.base, e.terms, steps[:-2] + steps[:-3:-1]))

    def logical_not(self) -> "Mask":
        return ~self

    def __bool__(self) -> bool:
        k = self.known()
        if k is not None and not self.shape:
            return k
        if self.shape:
            frame = sys._getframe(1)
            raise NeedRewrite(frame.f_code)
        need_value(self.exprs()[0], "a condition", *self.exprs())

    def __eq__(self, other: object) -> object:  # type: ignore[override]
        if other is None:
            return False
        if isinstance(other, bool):
            return self if other else ~self
        if isinstance(other, Mask) and other is not self:
            return (self & other) | (~self & ~other)  # type: ignore[operator]
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.expr is not None:
            return "(%r %s 0)" % (self.expr, {"ge": ">=", "eq": "==", "ne": "!="}[self.kind])
        return "(" + (" & " if self.kind == "and" else " | ").join(map(repr, self.parts)) + ")"


TRUE = Mask("ge", Expr((), 0, (), ()))
FALSE = Mask("ge", Expr((), -1, (), ()))


def need_value(e: Expr, why: str, *others: Expr) -> None:
    """Asks for the loops that e (and others) depend on to be unrolled; an error when it is an array."""
    variables = [v for x in (e,) + others for v, _ in x.terms if not v.closed]
    if variables:
        raise NeedValue([v.key for v in variables], why)
    raise error(None, "%s is needed of an index array, which has no single value" % why, NkiTypeError)


def to_int(x: object) -> int:
    """An integer of any kind; symbolic ones are asked for."""
    if isinstance(x, float):
        raise error(None, "%r is a float where an integer is needed; // divides integers" % x, NkiTypeError)
    try:
        return operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        raise error(None, "%r is %s where an integer is needed" % (x, type(x).__name__), NkiTypeError) from None


class arange:  # noqa: N801 - a name of the interface
    """nl.arange(start, stop, step): an index array; needs a new axis before use: nl.arange(128)[:, None]."""

    def __new__(cls, *args: object) -> Expr:  # type: ignore[misc]
        a = list(args)
        if not 1 <= len(a) <= 3 or any(isinstance(x, (str, list, tuple)) or x is None for x in a):
            raise error("nl.arange", "is given (%s), expected a size, or start, stop and perhaps a step" % ", ".join(map(repr, a)), NkiTypeError)
        start: object = 0
        step: object = 1
        if len(a) == 1:
            stop = a[0]
        elif len(a) == 2:
            start, stop = a
        else:
            start, stop, step = a
        by = to_int(step)
        length = stop - start  # type: ignore[operator]
        n = -(-to_int(length) // by)
        e = Expr((n,), 0, (), (by,))
        return e + start  # type: ignore[return-value]


class Grid(tuple):
    """What nl.mgrid[...] gives: a tuple of index arrays, also by the names p, x, y, z, w."""

    def _axis(self, k: int) -> Expr:
        if k >= len(self):
            raise AttributeError("this mgrid has %d axes" % len(self))
        return self[k]

    p = property(lambda self: self._axis(0))
    x = property(lambda self: self._axis(1))
    y = property(lambda self: self._axis(2))
    z = property(lambda self: self._axis(3))
    w = property(lambda self: self._axis(4))


class _Mgrid:
    """nl.mgrid[0:128, 0:512]: dense index arrays, one for each slice."""

    def __call__(self, *args: object) -> Grid:
        raise error("nl.mgrid", "is indexed, not called: nl.mgrid[0:128, 0:512]", NkiTypeError)

    def __getitem__(self, key: object) -> Grid:
        keys = key if isinstance(key, tuple) else (key,)
        n = len(keys)
        out = []
        for k, s in enumerate(keys):
            if not isinstance(s, slice):
                raise error("nl.mgrid", "takes slices, like nl.mgrid[0:128, 0:512]", NkiTypeError)
            start = 0 if s.start is None else s.start
            e = arange(start, s.stop, 1 if s.step is None else s.step)
            shape = [1] * n
            steps = [0] * n
            shape[k], steps[k] = e.shape[0], e.steps[0]
            out.append(Expr(tuple(shape), e.base, e.terms, tuple(steps)))
        full = tuple(e.shape[k] for k, e in enumerate(out))
        return Grid(Expr(full, e.base, e.terms, e.steps) for e in out)


mgrid = _Mgrid()


class ds:  # noqa: N801 - a name of the interface
    """nl.ds(start, size): the slice start:start+size; start may be symbolic."""

    __slots__ = ("start", "size")

    def __init__(self, start: object, size: object):
        self.start = start
        self.size = size

    __init__.__qualname__ = "nl.ds"  # in what Python says of a missing argument

    def __repr__(self) -> str:
        return "ds(%r, %r)" % (self.start, self.size)
