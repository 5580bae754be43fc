"""Tensors as kernels see them: views of objects in HBM, SBUF and PSUM.

A View has a shape; each dim has a step in elements of its object. On the chip one dim is the partition dim: the first, after
`blocks` dims that number tiles (nl.par_dim deeper in a shape). Indexing, reshape and the like make other views and emit nothing;
assignment to a view, and Python's operators on views, emit instructions.
"""
from __future__ import annotations

import difflib
import math
import operator
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import dtypes
from ._errors import _HERE, NkiError, NkiIndexError, NkiNameError, NkiTypeError, error
from ._index import FALSE, TRUE, Expr, Grid, Mask, Variable, broadcast_shapes, ds, need_value, to_int
from ._record import Dim, Number, Object, Operand

# Set by the modules that know instructions: what operators and assignments do.
hooks: Dict[str, Callable[..., Any]] = {}


class Dynamic:
    """A tile's element plus an index expression: an address known only at run time."""

    __slots__ = ("tile", "expr")

    def __init__(self, tile: "View", expr: object):
        self.tile = tile
        self.expr = expr

    def __add__(self, other: object) -> "Dynamic":
        return Dynamic(self.tile, self.expr + other)  # type: ignore[operator]

    __radd__ = __add__

    def __sub__(self, other: object) -> "Dynamic":
        return Dynamic(self.tile, self.expr - other)  # type: ignore[operator]

    def __mul__(self, other: object) -> Any:
        return self.value() * other

    __rmul__ = __mul__

    def value(self) -> "View":
        """Where it is no address: the sum."""
        return hooks["binary"]("add", self.tile, self.expr)


# The operators of Python as NumPy's scalars call them, and as hooks["binary"] does.
_OPERATORS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "floor_divide": "floordiv",
              "remainder": "mod", "power": "pow", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
              "greater_equal": "ge", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "shift_left",
              "right_shift": "shift_right"}


_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def _of_nl(name: str, others: Sequence[str] = ()) -> str:
    """What to write for a function of NumPy, or a method of its arrays."""
    from . import language

    if callable(vars(language).get(name)):
        return "write nl.%s" % name
    near = difflib.get_close_matches(name, others, 1)
    return "is '%s' meant?" % near[0] if near else "functions of tiles are those of nl and nisa"


class View:
    """See the module. Kernels know the class as nki.tensor."""

    __slots__ = ("object", "_dtype", "offset", "dims", "blocks", "outside", "index", "region", "scalar_index", "factor_mask", "load_again")
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's operators on a scalar and a tile are ours; its functions do not exist inside kernels."""
        if method == "__call__" and not kwargs and len(inputs) == 2 and ufunc.__name__ in _OPERATORS:
            return hooks["binary"](_OPERATORS[ufunc.__name__], *inputs)
        name = _REDUCTIONS.get(ufunc.__name__, ufunc.__name__) if method == "reduce" else ufunc.__name__
        raise error("np." + name, "NumPy does not compute with tensors of a kernel; %s" % _of_nl(name), NkiTypeError)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise error(None, "%r has no elements while the kernel is traced, so that NumPy cannot take it; compute with nl and nisa, and make tiles by "
                    "nl.ndarray or nl.zeros" % self, NkiTypeError)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or sys._getframe(1).f_code.co_filename.startswith(_HERE):
            raise AttributeError(name)
        if name in ("item", "tolist", "numpy", "cpu", "detach"):
            raise error(None, "a tensor has no attribute '%s': its elements are known only when the kernel runs; a kernel returns tensors, and "
                        "nl.device_print prints them" % name, NkiNameError)
        raise error(None, "a tensor has no attribute '%s'; %s" % (name, _of_nl(name, [n for n in dir(View) if n[0] != "_"])), NkiNameError)

    def __init__(self, obj: Object, dtype: np.dtype, offset: Number, dims: Tuple[Dim, ...], blocks: int = 0):
        self.object = obj
        self._dtype = dtype
        self.offset = offset
        self.dims = dims
        self.blocks = blocks
        self.outside: Optional[Tuple[int, int, int, int]] = None  # dim, lowest, highest, size of an access out of bounds
        self.index: Optional[Tuple[int, int, "View", int]] = None  # dim, step, tile of indices, limit
        self.region: Any = None  # results of masked instructions: which part was written
        self.scalar_index: Optional[Tuple[int, "View", int]] = None  # step, one-element tile, limit
        self.factor_mask: Optional[Mask] = None  # of x[mask], a factor of a product: which part takes part
        self.load_again: Optional[Callable[["View"], None]] = None  # of a load that skips rows: loads to another place, which keeps those

    # -- what kernels ask -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple([c for _, c in self.dims])

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def buffer(self) -> Any:
        return hooks["buffer"](self.object)

    @property
    def name(self) -> str:
        return self.object.name

    @property
    def on_chip(self) -> bool:
        return self.object.space != "hbm"

    @property
    def T(self) -> "View":  # noqa: N802
        return self.permute(tuple(reversed(range(self.ndim))))

    @property
    def strides(self) -> Tuple[int, ...]:
        """The dims' steps, in elements."""
        return tuple(s for s, _ in self.dims)

    def get_pattern(self) -> List[List[int]]:
        """[[step, count], ...], as .ap() takes it."""
        return [[s, c] for s, c in self.dims]

    def is_contiguous(self) -> bool:
        """Whether elements follow each other in the order of the dims; on the chip within each partition."""
        step = 1
        for s, c in reversed(self.dims[1:] if self.on_chip else self.dims):
            if c != 1 and s != step:
                return False
            step *= c
        return True

    @property
    def shape_2d(self) -> Tuple[int, int]:
        """Partitions, and elements in each of them."""
        rows, *free = self.shape or (1,)
        return rows, math.prod(free)

    def as_tile(self) -> "View":
        """The tile itself, as older kernels ask for it."""
        return self

    def is_indirect(self) -> bool:
        """Whether a tile or a register chooses what is seen."""
        return self.index is not None or self.scalar_index is not None or self.object.gather is not None

    def indirect(self, index: "View", num_elem: Optional[int] = None) -> "View":
        """(partitions, num_elem): column i of each 16 partitions is the one that index[i % 16, i // 16] of these partitions names."""
        return hooks["indirect"](self, index, None if num_elem is None else to_int(num_elem))

    def __repr__(self) -> str:
        return "<%s tensor %s of %s%s>" % (self.object.space, self.object.name, self._dtype, list(self.shape))

    def __len__(self) -> int:
        return self.dims[0][1]

    def __bool__(self) -> bool:
        if not self.on_chip or not self.object.is_result and hooks["interface"]() == "v06":
            return True  # `if bias:` asks whether an argument was given; in 0.6 that may be a tile
        raise error(None, "the value of %r is known only when the kernel runs; a Python condition cannot depend on it: select "
                    "elements by nl.where, restrict an instruction by mask=, or use nl.maximum and nl.minimum for max and min" % self, NkiTypeError)

    def __float__(self) -> float:
        raise error(None, "the value of %r is known only when the kernel runs; compute with the tile itself (nl, nisa)" % self, NkiTypeError)

    __int__ = __float__

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.dims[0][1]))

    # -- views ------------------------------------------------------------------------------------------------------

    def like(self, offset: Number, dims: Sequence[Dim], blocks: Optional[int] = None) -> "View":
        v = View(self.object, self._dtype, offset, tuple(dims), self.blocks if blocks is None else blocks)
        v.outside, v.index, v.scalar_index = self.outside, self.index, self.scalar_index
        return v

    def __getitem__(self, key: object) -> "View":
        return index_view(self, key)

    def reshape(self, *shape: Any, **kw: Any) -> "View":
        """The same elements under another shape; the partition dim stays."""
        want = kw.get("shape", shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list, View)) else shape)
        return reshape_view(self, tuple(getattr(n, "size", n) if isinstance(n, par_dim) else n for n in want))

    def broadcast_to(self, *shape: Any, **kw: Any) -> "View":
        want = tuple(kw.get("shape", shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape))
        return hooks["broadcast_to"](self, tuple(to_int(n) for n in want))

    def astype(self, dtype: object, **kw: Any) -> "View":
        return hooks["copy"](self, dtype=dtypes.to_dtype(dtype), **kw)

    def copy(self) -> "View":
        return hooks["copy"](self)

    def view(self, dtype: object) -> "View":
        """The same bytes as another type; the last dim grows or shrinks."""
        d = dtypes.to_dtype(dtype)
        old, new = self._dtype.itemsize, d.itemsize
        dims, offset = list(self.dims), self.offset
        if new < old:
            k = old // new
            dims = [(s * k, c) for s, c in dims[:-1]] + [(1, dims[-1][1] * k)]
            if self.dims[-1][0] != 1:
                raise error("view", "the last dim of %r is not contiguous" % self, NkiTypeError)
            offset = offset * k
        elif new > old:
            k = new // old
            if self.dims[-1][0] != 1 or self.dims[-1][1] % k or any(s % k for s, c in dims[:-1] if c > 1):
                raise error("view", "%r cannot be read as %s" % (self, d), NkiTypeError)
            dims = [(s // k, c) for s, c in dims[:-1]] + [(1, dims[-1][1] // k)]
            offset = offset // k
        v = View(self.object, d, offset, tuple(dims), self.blocks)
        return v

    reinterpret_cast = view

    def expand_dims(self, axis: Any) -> "View":
        """Dims of size 1 at an axis, or at several, of the result."""
        axes = [int(a) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
        rank, dims = self.ndim + len(axes), list(self.dims)
        for a in sorted(a + rank if a < 0 else a for a in axes):
            dims.insert(a, (0, 1))
        return self.like(self.offset, dims)

    def expand_dim(self, dim: int) -> "View":
        return self.expand_dims(dim)

    def squeeze(self, axis: Any = None) -> "View":
        axes = [a % self.ndim for a in ([axis] if isinstance(axis, int) else axis)] if axis is not None else \
            [k for k, (_, c) in enumerate(self.dims) if c == 1 and (k or not self.on_chip)]
        return self.like(self.offset, [d for k, d in enumerate(self.dims) if k not in axes])

    def squeeze_dim(self, dim: int) -> "View":
        return self.squeeze(dim)

    def permute(self, *dims: Any) -> "View":
        order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
        if self.on_chip and to_int(order[0]) != 0:
            raise error("permute", "the partition dim stays first; a transpose is an instruction (nc_transpose)", NkiTypeError)
        v = self.like(self.offset, [self.dims[to_int(k)] for k in order])
        return v

    def broadcast(self, dim: int, size: int) -> "View":
        s, c = self.dims[dim]
        if c != 1:
            raise error("broadcast", "dim %d of %r has size %d, not 1" % (dim, self, c), NkiTypeError)
        dims = list(self.dims)
        dims[dim] = (0, to_int(size))
        return self.like(self.offset, dims)

    def slice(self, dim: int, start: object, end: object = None, step: int = 1, **kw: Any) -> "View":
        key: List[object] = [slice(None)] * self.ndim
        key[dim] = slice(start, kw.get("stop", end), step)
        return self[tuple(key)]

    def select(self, dim: int, index: object) -> "View":
        index = getattr(index, "value", index)  # a register's
        key: List[object] = [slice(None)] * self.ndim
        key[dim] = index
        return self[tuple(key)]

    def vector_select(self, dim: int, vector_offset: "View") -> "View":
        dims = list(self.dims)
        step = dims[dim][0]
        dims[dim] = (0, vector_offset.shape[0])
        v = self.like(self.offset, dims)
        v.index = (dim, step, vector_offset, self.shape[dim])
        return v

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> "View":
        s, c = self.dims[dim]
        sizes = [to_int(n) for n in shape]
        if -1 in sizes:
            known = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
            sizes[sizes.index(-1)] = c // known
        if int(np.prod(sizes, dtype=np.int64)) != c:
            raise error("reshape_dim", "%d elements cannot become %s" % (c, tuple(sizes)), NkiTypeError)
        new: List[Dim] = []
        for n in reversed(sizes):
            new.insert(0, (s, n))
            s *= n
        return self.like(self.offset, list(self.dims[:dim]) + new + list(self.dims[dim + 1:]))

    def flatten_dims(self, start_dim: int, end_dim: int) -> "View":
        shape = list(self.shape)
        shape[start_dim:end_dim + 1] = [int(np.prod(shape[start_dim:end_dim + 1], dtype=np.int64))]
        return self.reshape(tuple(shape))

    def rearrange(self, src_pattern: Sequence[Any], dst_pattern: Sequence[Any], fixed_sizes: Optional[Dict[str, int]] = None,
                  **kw: Any) -> "View":
        """Dims by names: rearrange(("b", ("h", "w")), ("b", "w", "h"), {"h": 4})."""
        source, target = src_pattern, dst_pattern
        fixed = dict(fixed_sizes or {}, **{k: v for k, v in kw.items() if isinstance(v, int)})
        v, names = self, []
        for word in source:
            group = list(word) if isinstance(word, (tuple, list)) else [word]
            if len(group) > 1:
                v = v.reshape_dim(len(names), [fixed.get(n, -1) for n in group])
            names += group
        order = [n for word in target for n in (word if isinstance(word, (tuple, list)) else [word])]
        v = v.permute(tuple(names.index(n) for n in order))
        at = 0
        for word in target:
            if isinstance(word, (tuple, list)) and len(word) > 1:
                v = v.flatten_dims(at, at + len(word) - 1)
            at += 1
        return v

    def get_view(self) -> "View":
        return self

    @property
    def base_tensor(self) -> "View":
        """The tensor that this is a part of; a tile as partitions and elements."""
        if self.size * self.itemsize == self.object.size * self.object.dtype.itemsize:
            return self
        shape = self.object.shape
        steps = [math.prod(shape[k + 1:]) for k in range(len(shape))]
        return View(self.object, self.object.dtype, 0, tuple(zip(steps, shape)), 0)

    def ap(self, pattern: Sequence[Sequence[Any]], offset: Any = None, scalar_offset: Any = None, vector_offset: Any = None,
           indirect_dim: int = 0, dtype: Any = None) -> "View":
        """The raw access pattern: [step, count] pairs in elements of the flattened tensor, outermost (partitions) first."""
        base = self if dtype is None else self.view(dtype)
        offset = 0 if offset is None else offset
        if not isinstance(pattern, (list, tuple)) or any(not isinstance(p, (list, tuple)) or len(p) != 2 for p in pattern):
            raise error("ap", "pattern is %r, expected a [step, count] for each dim, such as [[512, 128], [1, 512]]" % (pattern,), NkiTypeError)
        if isinstance(offset, (str, float, list, tuple, View)):
            raise error("ap", "offset is %r, expected an integer: tiles and registers are given as scalar_offset or vector_offset" % (offset,),
                        NkiTypeError)
        if base.on_chip:
            # The pattern counts elements of the tensor as it is seen; its partitions lie `elements` apart.
            per = int(np.prod(base.shape[1:], dtype=np.int64)) if base.ndim > 1 else 1
            stride = base.dims[0][0]
            dims = []
            for k, (s, c) in enumerate(pattern):
                s, c = to_int(s), to_int(c)
                if k == 0 and per and s % per == 0 and c > 1:
                    s = s // per * stride
                dims.append((s, c))
            o = offset
            if per and not isinstance(o, (Expr,)) and to_int(o) >= per:
                p, e = divmod(to_int(o), per)
                o = p * stride + e
        else:
            dims = [(to_int(s), to_int(c)) for s, c in pattern]
            o = offset
        v = View(base.object, base._dtype, base.offset + o, tuple(dims), 0)
        if vector_offset is not None:
            step = int(np.prod(base.shape[indirect_dim + 1:], dtype=np.int64))
            v.dims = ((0, v.dims[0][1]),) + v.dims[1:]
            v.index = (0, step, vector_offset, base.shape[indirect_dim])
        scalar_offset = getattr(scalar_offset, "value", scalar_offset)  # a register's
        if scalar_offset is not None:
            step = base.dims[indirect_dim][0]
            if isinstance(scalar_offset, View):
                v.scalar_index = (step, scalar_offset, base.shape[indirect_dim])
            else:
                v.offset = v.offset + scalar_offset * step
        return v

    def assert_shape(self, shape: Sequence[int]) -> "View":
        if tuple(shape) != self.shape:
            raise error("assert_shape", "%s, expected %s" % (self.shape, tuple(shape)), NkiTypeError)
        return self

    # -- instructions -----------------------------------------------------------------------------------------------

    def __setitem__(self, key: object, value: object) -> None:
        hooks["assign"](index_view(self, key), value)

    def __iadd__(self, other: object) -> "View":
        return hooks["accumulate"](self, "add", other)

    def __isub__(self, other: object) -> "View":
        return hooks["accumulate"](self, "sub", other)

    def __imul__(self, other: object) -> "View":
        return hooks["accumulate"](self, "mul", other)

    def __itruediv__(self, other: object) -> "View":
        return hooks["accumulate"](self, "div", other)

    def __neg__(self) -> "View":
        return hooks["binary"]("mul", self, -1.0 if dtypes.is_float(self._dtype) else -1)

    def __pos__(self) -> "View":
        return self

    def __abs__(self) -> "View":
        return hooks["unary"]("abs", self)

    def __invert__(self) -> "View":
        return hooks["unary"]("bitnot", self)

    def __eq__(self, other: object) -> Any:
        return False if other is None else hooks["binary"]("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else hooks["binary"]("ne", self, other)

    def __add__(self, other: object) -> Any:
        if isinstance(other, Expr) and self._may_be_address(other):
            return Dynamic(self, other)
        return hooks["binary"]("add", self, other)

    def _may_be_address(self, other: Expr) -> bool:
        """Whether the sum with an index may be an index; else the index is a number."""
        return not dtypes.is_float(self.dtype) and self.dtype.itemsize > 1 and (self.size == 1 or bool(other.shape))

    def __matmul__(self, other: object) -> Any:
        return hooks["matmul"](self, other)

    def __radd__(self, other: object) -> Any:
        if isinstance(other, Expr) and self._may_be_address(other):
            return Dynamic(self, other)
        return hooks["binary"]("add", other, self)


def _binary(name: str, op: str) -> None:
    setattr(View, "__%s__" % name, lambda self, other: hooks["binary"](op, self, other))
    setattr(View, "__r%s__" % name, lambda self, other: hooks["binary"](op, other, self))


for _name, _op in (("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"), ("mod", "mod"), ("floordiv", "floordiv"),
                   ("and", "and"), ("or", "or"), ("xor", "xor"), ("lshift", "shift_left"), ("rshift", "shift_right")):
    _binary(_name, _op)
for _name, _op in (("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge")):
    setattr(View, "__%s__" % _name, (lambda o: lambda self, other: hooks["binary"](o, self, other))(_op))


class par_dim:  # noqa: N801 - a name of the interface
    """nl.par_dim(n): marks the partition dim of a shape."""

    def __init__(self, size: object):
        self.size = to_int(size)

    def __index__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return "par_dim(%d)" % self.size


# -- indexing --------------------------------------------------------------------------------------------------------


def _expand(view: View, key: object) -> List[object]:
    keys: List[object] = []
    for k in key if isinstance(key, tuple) else (key,):
        r = getattr(k, "range", None)  # of nl.affine_range(n): all its indices
        if isinstance(k, Grid):
            keys.extend(k)
        else:
            keys.append(slice(r.start, r.stop, r.step) if isinstance(r, range) else k)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if given > view.ndim:
        raise error(None, "%d indices for %r, which has %d dims" % (given, view, view.ndim), NkiIndexError)
    out: List[object] = []
    dots = False
    for k in keys:
        if k is Ellipsis:
            out.extend([slice(None)] * (view.ndim - given))
            dots = True
        else:
            out.append(k)
    if not dots:
        out.extend([slice(None)] * (view.ndim - given))
    return out


def _scalar(k: object) -> Optional[Number]:
    if isinstance(k, Expr):
        return k.resolved()._simple() if not k.shape else None
    if isinstance(k, (View, Dynamic, slice, ds)) or k is None:
        return None
    return to_int(k)


def _check(view: View, dim: int, lo: int, hi: int, size: int) -> Optional[Tuple[int, int, int, int]]:
    return (dim, lo, hi, size) if lo < 0 or hi >= size else None


def index_view(view: View, key: object) -> View:
    """view[key], for all forms of the interface; nothing is emitted."""
    if isinstance(key, (bool, np.bool_)):  # a condition that holds, or fails, for every element
        key = TRUE if key else FALSE
    if isinstance(key, Mask):
        v = view.like(view.offset, view.dims)
        v.factor_mask = key if view.factor_mask is None else key & view.factor_mask  # type: ignore[assignment]
        return v
    keys = _expand(view, key)
    if any(isinstance(k, (list, np.ndarray)) for k in keys):
        raise error(None, "%r is indexed by a list or an array of NumPy; use slices, nl.arange, or a tile of indices that is loaded" % view,
                    NkiIndexError)
    if any(isinstance(k, (View, Dynamic)) or (isinstance(k, Expr) and k.shape) for k in keys):
        return _advanced(view, keys)
    offset: Any = view.offset
    dims: List[Dim] = []
    blocks, axis = view.blocks, 0
    outside = view.outside
    for k in keys:
        if k is None:
            dims.append((0, 1))
            continue
        step, size = view.dims[axis]
        partition = view.on_chip and axis == view.blocks
        number = _scalar(k)
        if number is not None:
            lo, hi = number.bounds() if isinstance(number, Expr) else (number, number)
            if lo < 0 and not isinstance(number, Expr):
                number, lo, hi = number + size, lo + size, hi + size
            outside = _check(view, axis, lo, hi, size) or outside
            offset = offset + number * step
            if axis < view.blocks:
                blocks -= 1
            elif partition:
                dims.append((step, 1))
        else:
            start, count, by = _slice(k, size)
            lo, hi = start.bounds() if isinstance(start, Expr) else (start, start)
            outside = _check(view, axis, lo, hi + (count - 1) * by, size) or outside
            offset = offset + start * step
            dims.append((step * by, count))
        axis += 1
    if view.on_chip and len(dims) == blocks + 1:
        dims.append((1, 1))
    v = view.like(offset, dims, blocks)
    v.outside = outside
    if view.region is not None and len(keys) == len(view.dims) and _whole(keys):
        v.region = view.region
    return v


def _whole(keys: List[object]) -> bool:
    return all(isinstance(k, slice) and k == slice(None) for k in keys)


def _slice(k: object, size: int) -> Tuple[Number, int, int]:
    """Start, count and step. Not clamped: a mask may cut what lies outside."""
    if isinstance(k, ds):
        start = k.start
        start = start.resolved()._simple() if isinstance(start, Expr) else to_int(start)
        return start, to_int(k.size), 1
    if not isinstance(k, slice):
        raise error(None, "a tensor cannot be indexed by %r" % (k,), NkiTypeError)
    by = 1 if k.step is None else to_int(k.step)
    if by < 1:
        raise error(None, "a slice with step %d; steps are 1 or more: for another order index by an array, as in x[i, %d - j]" % (by, size - 1),
                    NkiIndexError)
    start: Any = 0 if k.start is None else k.start
    stop: Any = size if k.stop is None else k.stop
    start = start.resolved()._simple() if isinstance(start, Expr) else to_int(start)
    stop = stop.resolved()._simple() if isinstance(stop, Expr) else to_int(stop)
    if isinstance(start, int) and start < 0:
        start += size
    if isinstance(stop, int) and stop < 0:
        stop += size
    length = stop - start
    if isinstance(length, Expr):
        need_value(length, "the length of a slice")
    return start, max(0, -(-length // by)), by


def _no_lines(arrays: Sequence[Expr]) -> None:
    if any(len(k.shape) == 1 for k in arrays):
        raise error(None, "a one-dimensional index array needs a new axis: nl.arange(n)[:, None] or [None, :]", NkiIndexError)


def _advanced(view: View, keys: List[object]) -> View:
    """Index arrays, with integers and tiles: all broadcast to the result's shape."""
    if any(isinstance(k, (slice, ds)) for k in keys):
        arrays = [k for k in keys if isinstance(k, Expr) and k.shape]
        _no_lines(arrays)
        if arrays:
            raise error(None, "slices and index arrays (nl.arange, nl.mgrid) cannot be mixed in one index of %r; use slices (nl.ds) for all "
                        "dims, or index arrays for all: x[nl.arange(n)[:, None], nl.arange(m)[None, :]]" % view, NkiIndexError)
        keys = _slices_to_arrays(view, keys)
    else:
        _no_lines([k for k in keys if isinstance(k, Expr) and k.shape])
        keys = _partitions_first(keys, view.blocks if view.on_chip else -1)
    shapes: List[Tuple[int, ...]] = [k.shape for k in keys if isinstance(k, Expr) and k.shape]
    rank = max([len(s) for s in shapes] + [2])
    for k in keys:
        tile = k.tile if isinstance(k, Dynamic) else k
        if isinstance(k, Dynamic) and isinstance(k.expr, Expr):
            shapes.append(k.expr.shape)
        if isinstance(tile, View) and tile.size > 1:
            shapes.append(tile.shape + (1,) * (rank - tile.ndim))
    shape = broadcast_shapes(shapes)
    steps = [0] * len(shape)
    offset: Any = view.offset
    index: Optional[Tuple[int, int, View, int]] = None
    scalar_index = view.scalar_index
    outside = view.outside
    for axis, k in enumerate(keys):
        if k is None:
            raise error(None, "a new axis cannot be mixed with index arrays", NkiIndexError)
        step, size = view.dims[axis]
        if isinstance(k, Dynamic):
            top = k.expr.bounds()[1] if isinstance(k.expr, Expr) else to_int(k.expr)
            scalar_index = (step, k.tile, max(size - top, 1))
            k = k.expr
        elif isinstance(k, View):
            if k.dtype.itemsize == 1 or dtypes.is_float(k.dtype):
                raise error(None, "a tile of %s is no index: indices are a tile of nl.int32 or nl.uint32; to select elements by a condition use "
                            "nl.where(condition, x, y)" % k.dtype, NkiIndexError)
            if k.size == 1:
                scalar_index = (step, k, size)
            elif index is not None:
                raise error(None, "one tile of indices at most", NkiIndexError)
            else:
                index = (next((d for d, n in enumerate(k.shape) if n > 1), 0), step, k, size)
            continue
        number = _scalar(k)
        if number is None:
            assert isinstance(k, Expr)
            e = k.resolved()
            lo, hi = e.bounds()
            for d, s in enumerate(e.steps, len(shape) - len(e.steps)):
                steps[d] += s * step
                if s and shape[d] > 1 and view.on_chip and axis <= view.blocks and d:
                    raise error(None, "the partition index of %r varies along a free axis of the result" % view, NkiIndexError)
            offset = offset + (Expr((), e.base, e.terms, ())._simple()) * step
        else:
            lo, hi = number.bounds() if isinstance(number, Expr) else (number, number)
            if lo < 0 and not isinstance(number, Expr):
                number, lo, hi = number + size, lo + size, hi + size
            offset = offset + number * step
        if scalar_index is view.scalar_index:
            outside = _check(view, axis, lo, hi, size) or outside
    if view.on_chip and shape[0] == 1:
        steps[0] = view.dims[view.blocks][0]
    v = view.like(offset, list(zip(steps, shape)), 0)
    v.outside = outside
    v.index = index
    v.scalar_index = scalar_index
    return v


def _partitions_first(keys: List[object], partition: int) -> List[object]:
    """Index arrays that NumPy's rule cannot join, or by which `partition` would run along a free dim, or that leave the first axis free, with
    those of shape (P, 1, 1) seen as (P, 1, 1, 1) beside others of four dims."""
    arrays = [k for k in keys if isinstance(k, Expr) and k.shape]
    rank = max([len(k.shape) for k in arrays] + [0])
    short = [k for k in arrays if len(k.shape) < rank and all(n == 1 for n in k.shape[1:])]
    if not short:
        return keys
    try:
        broadcast_shapes([k.shape for k in arrays])
        if not (0 <= partition < len(keys) and any(k is keys[partition] for k in short)) and not _first_is_free(arrays, short, rank):
            return keys
    except NkiTypeError:
        pass
    return [k.reshape(k.shape + (1,) * (rank - len(k.shape))) if isinstance(k, Expr) and any(k is s for s in short) else k for k in keys]


def _first_is_free(arrays: List[Expr], short: List[Expr], rank: int) -> bool:
    """Whether NumPy's rule would leave the first axis, which is a tile's partitions, to nobody."""
    return any(s.shape[0] > 1 for s in short) and all(k.shape[0] == 1 for k in arrays if len(k.shape) == rank)


def _slices_to_arrays(view: View, keys: List[object]) -> List[object]:
    """Slices beside a tile of indices, as index arrays: the tile numbers rows, slices follow."""
    n = 1 + sum(isinstance(k, (slice, ds)) for k in keys)
    if any(isinstance(k, View) and k.size == 1 or isinstance(k, Dynamic) for k in keys):
        n -= 1
    out: List[object] = []
    axis = 0 if n == sum(isinstance(k, (slice, ds)) for k in keys) else 1
    for d, k in enumerate(keys):
        if isinstance(k, (slice, ds)):
            start, count, by = _slice(k, view.dims[d][1])
            shape, steps = [1] * n, [0] * n
            shape[axis], steps[axis] = count, by
            out.append(Expr(tuple(shape), 0, (), tuple(steps)) + start)
            axis += 1
        else:
            out.append(k)
    return out


# -- reshape ---------------------------------------------------------------------------------------------------------


def merge_dims(dims: Sequence[Dim]) -> List[Dim]:
    """Adjacent dims that step like one become one; dims of size 1 go."""
    out: List[Dim] = []
    for s, c in dims:
        if c == 1:
            continue
        if out and out[-1][0] == s * c:
            out[-1] = (s, out[-1][1] * c)
        else:
            out.append((s, c))
    return out


def split_dims(dims: Sequence[Dim], shape: Sequence[int]) -> Optional[List[Dim]]:
    """The same elements in the same order, in dims of the sizes given; None when steps do not allow it."""
    left = merge_dims(dims)
    out: List[Dim] = []
    for n in reversed(list(shape)):
        if n == 1:
            out.append((1, 1))
            continue
        if not left:
            return None
        s, c = left.pop()
        if c % n:
            return None
        out.append((s, n))
        if c // n > 1:
            left.append((s * n, c // n))
    return list(reversed(out)) if not left else None


def reshape_view(view: View, want: Tuple[object, ...]) -> View:
    sizes = [int(n) if isinstance(n, float) and n.is_integer() else to_int(n) for n in want]  # a float: 512 / 2
    if -1 in sizes:
        known = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
        sizes[sizes.index(-1)] = view.size // max(known, 1)
    if int(np.prod(sizes, dtype=np.int64)) != view.size:
        raise error("reshape", "%r has %d elements, %s would have %d" %
                    (view, view.size, tuple(sizes), int(np.prod(sizes, dtype=np.int64))), NkiTypeError)
    if view.on_chip and view.blocks == 0:
        if not sizes or sizes[0] != view.shape[0]:
            # a partition dim of size 1 may be added or dropped when it does not move elements between partitions
            if not (view.shape[0] == 1 and sizes and sizes[0] == 1):
                raise error("reshape", "the partition dim of %r stays: %s begins with %s, not %d; %s" %
                            (view, tuple(sizes), sizes[:1], view.shape[0], "a transpose is an instruction, nisa.nc_transpose"
                             if tuple(sizes) == view.shape[::-1] else "reshape the tensor in HBM before it is loaded"), NkiTypeError)
        free = split_dims(view.dims[1:], sizes[1:])
        dims = None if free is None else [view.dims[0]] + free
        blocks = 0
    elif view.on_chip:
        b = view.blocks
        dims = split_dims(view.dims[b + 1:], sizes[b + 1:])
        dims = None if dims is None or sizes[:b + 1] != list(view.shape[:b + 1]) else list(view.dims[:b + 1]) + dims
        blocks = b
    else:
        dims = split_dims(view.dims, sizes)
        blocks = 0
    if dims is None:
        raise error("reshape", "%r cannot become %s without moving elements" % (view, tuple(sizes)), NkiTypeError)
    return view.like(view.offset, dims, blocks)
