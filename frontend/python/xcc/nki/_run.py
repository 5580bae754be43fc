"""Kernels as Python objects: calling one traces it for its arguments' shapes and types, compiles it, and runs it on arrays."""
from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _arrays, _lib, dtypes
from . import _coverage, _pack, _share, _shrink, _tree
from ..model import Model
from ._build import Builder, lower
from ._core import emit_dma, shape_on_chip
from ._enums import machine_name, target_of
from ._errors import NkiError, NkiTypeError, NkiWarning, error, no_array, warn_at
from ._finish import finish
from ._index import Expr, Variable, to_int
from ._move import copy
from ._bounds import out_of_bounds
from ._probe import run_up_to
from ._programs import store_once
from ._races import warn_of_races, warn_of_scopes
from ._record import Instruction, Object
from ._spill import spill, spill_list
from ._start import stage, warn_of_starts
from ._tensor import View
from ._told import told
from ._trace import Trace, Traced, current, full_view, trace_kernel


class TensorSpec:
    """Shape and type of an argument, for Kernel.compile without arrays."""

    def __init__(self, shape: Sequence[int], dtype: object, name: Optional[str] = None):
        self.shape = tuple(int(n) for n in shape)
        self.dtype = dtypes.to_dtype(dtype)
        self.name = name

    def filled(self) -> np.ndarray:
        """An array of this shape and type to measure with: numbers of [0, 1), of integers 0 and 1."""
        x = np.random.RandomState(0).random_sample(self.shape)
        return _arrays.convert(x.astype(np.float32) if dtypes.is_float(self.dtype) else (x < 0.5).astype(np.int32), self.dtype)


class _Leaf:
    """In place of an array in a tree of arguments: its number."""

    def __init__(self, number: int):
        self.number = number


def _is_leaf(x: object) -> bool:
    return isinstance(x, TensorSpec) or (_arrays.is_array(x) and not isinstance(x, np.generic))


def _flatten(x: Any, leaves: List[Any], names: List[str], name: str) -> Any:
    if _is_leaf(x):
        leaves.append(x)
        names.append(name)
        return _Leaf(len(leaves) - 1)
    return _tree.mapped(x, lambda k, y: _flatten(y, leaves, names, "%s_%s" % (name, k)))


def _unflatten(x: Any, values: Sequence[Any]) -> Any:
    return values[x.number] if isinstance(x, _Leaf) else _tree.mapped(x, lambda k, y: _unflatten(y, values))


def _key(x: Any) -> Any:
    """What a trace depends on besides the arrays' shapes and types."""
    if isinstance(x, _Leaf):
        return ("leaf", x.number)
    parts = _tree.parts(x)
    if parts is not None:
        return (type(x), tuple((k, _key(y)) for k, y in parts))
    try:
        hash(x)
    except TypeError:
        return (type(x), repr(x))
    return (type(x), x)


def _stored(leaves: Sequence[Any], inputs: Sequence[Object]) -> List[np.ndarray]:
    out = []
    for leaf, o in zip(leaves, inputs):
        x = _arrays.to_numpy(leaf)
        if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and x.size and not np.iinfo(o.dtype).min <= x.min() <= x.max() <= np.iinfo(o.dtype).max:
            beyond = x.max() if x.max() > np.iinfo(o.dtype).max else x.min()
            raise NkiTypeError("argument '%s' is %s and holds %d: the machine's integers have 32 bits, and %s does not hold that" %
                               (o.name, x.dtype, beyond, o.dtype))
        out.append(np.ascontiguousarray(_arrays.convert(x, o.dtype)).reshape(o.shape))
    return out


def _warn_of_arguments(function: Callable[..., Any], types: Sequence[np.dtype], names: Sequence[str]) -> None:
    """Arrays whose numbers are rounded before the kernel sees them."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    for d, name in zip(types, names):
        if not dtypes.is_stored(dtypes.stored(d)):
            raise error(None, "argument '%s' is an array of %s; expected float32, bfloat16, int32 or another type that the machine has" % (name, d),
                        NkiTypeError)
        if d == dtypes.float64 and code:
            warn_at((code.co_filename, code.co_firstlineno), "argument '%s' is float64, which the machine does not have: it is taken as float32; pass "
                    "x.astype(np.float32)" % name)


def _warn_of_written(function: Callable[..., Any], t: Trace, result: Any, interface: str) -> None:
    """Arguments that a kernel which returns others writes without a word of it; those that return none are of the older form, which does."""
    returned = [v.object for v in _views(result)]
    kinds = getattr(inspect.unwrap(function), "__annotations__", {})
    for o in t.inputs:
        first = next((r for r in t.records if isinstance(r, Instruction) and o.written and r.operands.get("dst") and r.operands["dst"].object is o), None)
        declared = "mutable" in str(kinds.get(o.name, ""))
        if not first or not returned or (o in returned and (declared or interface != "beta1")):
            continue
        missing = "is declared to be mutable and not returned: return it beside the other results" if declared else \
            "is %s: declare it, %s: nki.typing.mutable_tensor, and return it, or write to a tensor of the kernel's own in nl.shared_hbm" % (
                "returned and not declared to be mutable" if o in returned else "neither declared to be mutable nor returned", o.name)
        warn_at(first.where, "%s: writes argument '%s', which %s" % (first.api, o.name, missing))


class Compiled:
    """A kernel compiled for arguments of certain shapes. `archive` holds the program; save() writes it, run() runs it."""

    def __init__(self, name: str, traced: Traced, archive: _lib.Archive, results: List[Object], assembly: Callable[[], str],
                 unwritten: Optional[Callable[[], Any]] = None):
        self.name = name
        self._unwritten = unwritten
        self._assembly = assembly
        self.trace = traced.trace
        self.inputs = traced.inputs
        self.result = traced.result
        self.results = results
        self.archive = archive
        self.notes = list(traced.trace.notes)
        self._model: Optional[Model] = None

    def warn(self) -> None:
        """Says, once, when elements of a tile or of a tensor of the kernel's own are read that nothing has written."""
        if self._unwritten is None:
            return
        found, self._unwritten = self._unwritten(), None
        if found is not None:
            where, o = found
            file, line = o.where
            made = "line %d" % line if where.startswith("%s:" % file) else "%s:%d" % (file, line)
            what = "let the masked instruction write to a tile of zeros (t = nl.zeros(...), t[...] = nl.load(..., mask=...)), or mask what is read" \
                if o.is_result else "fill it first (nisa.memset, nl.zeros), or read only what was written"
            warnings.warn("%s: reads elements of %s '%s' %s (made in %s) that nothing has written%s: on the hardware they are what was there "
                          "before; %s" % (where, "tensor" if o.space == "hbm" else "tile", o.name, list(o.shape), made,
                                          ", for a mask left them out" if o.is_result else "", what), NkiWarning, stacklevel=4)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the archive (a .neff that xrun and xdump read)."""
        temporary = "%s.part" % os.fspath(path)
        try:
            with open(temporary, "wb") as f:
                f.write(bytes(self.archive))
            os.replace(temporary, path)
        except OSError as e:
            raise type(e)(e.errno, "cannot write the archive: %s" % e.strerror, os.fspath(path)) from None

    def assembly(self) -> str:
        """The kernel as text (.xasm) that a model can carry: in an ONNX node's attribute, in a custom-call, in a library."""
        if callable(self._assembly):
            self._assembly = self._assembly()
        return self._assembly

    def model(self) -> Model:
        if self._model is None:
            self._model = Model(self.archive, threads=1 if os.environ.get("XCC_THREADS") == "1" else 0)
        return self._model

    def arrays(self, leaves: Sequence[Any]) -> List[np.ndarray]:
        """The arguments in the kernel's types and shapes."""
        return _stored(leaves, self.inputs)

    def run(self, leaves: Sequence[Any]) -> Any:
        """Runs on arrays; those that the kernel writes are updated in place."""
        try:
            outputs = self.model().run(self.arrays(leaves))
        except _lib.XccError as e:
            if "out of bounds" in str(e):  # NumPy's exception and words, as kernels' tests expect them
                raise IndexError(out_of_bounds(str(e), self.trace) or told(str(e), self.trace, lower)) from None
            raise NkiError(told(str(e), self.trace, lower)) from None
        of = {o.uid: a for o, a in zip(self.results, outputs)}
        for x, o in zip(leaves, self.inputs):
            if o.written and o.uid in of:
                _write_back(x, of[o.uid])
        self._print(of)
        example = next((x for x in leaves if not isinstance(x, np.ndarray)), None)
        return _collect(self.result, of, example)

    def _print(self, of: Dict[int, np.ndarray]) -> None:
        rows = []
        for order, (prefix, o, loops, view) in enumerate(self.trace.prints):
            for trip in np.ndindex(*[v.count for v in loops]):
                rows.append(((trip, order) if not loops else (trip, order), prefix, of[o.uid][trip]))
        for _, prefix, value in sorted(rows, key=lambda r: (r[0][0], r[0][1])) if len({len(p[2]) for p in self.trace.prints}) == 1 else rows:
            print(prefix, value)


def _write_back(x: Any, value: np.ndarray) -> None:
    if isinstance(x, np.ndarray):
        x[...] = value.reshape(x.shape) if value.dtype == x.dtype else _arrays.convert(value, x.dtype).reshape(x.shape)
    elif type(x).__module__.split(".")[0] == "torch":
        x.copy_(_arrays.like(value.reshape(tuple(x.shape)), x))


def _unflatten_results(x: Any, value: Callable[[View], Any]) -> Any:
    """The kernel's return value with arrays in the place of views."""
    return value(x) if isinstance(x, View) else _tree.mapped(x, lambda k, y: _unflatten_results(y, value))


def _collect(x: Any, of: Dict[int, np.ndarray], example: Any) -> Any:
    def value(view: View) -> Any:
        flat = of[view.object.uid].reshape(-1)
        item = flat.dtype.itemsize
        a = np.ndarray(view.shape, flat.dtype, flat, to_int(view.offset) * item, [s * item for s, _ in view.dims])
        return _arrays.like(a.copy(), example) if example is not None else _arrays.for_user(a.copy())

    return _unflatten_results(x, value)


def _views(x: Any) -> List[View]:
    if isinstance(x, View):
        return [x]
    return [v for _, y in _tree.parts(x) or [] for v in _views(y)]


def _to_hbm(x: Any, t: Trace) -> Any:
    """Tiles that a kernel returns are stored to tensors of their own."""
    if isinstance(x, View) and x.on_chip:
        shape = shape_on_chip(x)
        out = t.hbm(shape, x.dtype, "result")
        emit_dma(out, copy(x) if x.object.space == "psum" else x, "return")
        return out
    return _tree.mapped(x, lambda k, y: _to_hbm(y, t))


def compile_kernel(function: Callable[..., Any], args: tuple, kwargs: dict, grid: Sequence[int], target: str, interface: str,
                   name: Optional[str] = None, platform: Optional[str] = None, runs: bool = False) -> Tuple[Compiled, List[Any]]:
    """Traces and compiles; gives the compiled kernel and the arrays among the arguments. runs: for these arrays only, so that what they
    hold may decide what the kernel does."""
    leaves: List[Any] = []
    names: List[str] = []
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        words = list(bound.arguments)
    except (TypeError, ValueError):
        words = []
    tree_args = tuple(_flatten(a, leaves, names, words[k] if k < len(words) else "arg%d" % k) for k, a in enumerate(args))
    tree_kwargs = {k: _flatten(a, leaves, names, k) for k, a in kwargs.items()}
    specs = []
    for x in leaves:
        d = dtypes.to_dtype(x.dtype)
        specs.append((tuple(int(n) for n in x.shape), dtypes.stored(d)))
    _warn_of_arguments(function, [dtypes.to_dtype(x.dtype) for x in leaves], names)

    def bind(t: Trace) -> Tuple[tuple, dict, List[Object]]:
        views = [t.hbm(shape, d, n, "input") for (shape, d), n in zip(specs, names)]
        return _unflatten(tree_args, views), _unflatten(tree_kwargs, views), [v.object for v in views]

    def end(t: Trace, result: Any) -> Any:
        return _to_hbm(result, t)

    def value(t: Trace, tile: View) -> int:
        return run_up_to(t, tile, lambda archive, inputs: Model(archive).run(_stored(leaves, inputs)))

    known = runs and not any(isinstance(x, TensorSpec) for x in leaves)
    try:
        traced = trace_kernel(function, bind, grid, target, interface, end, platform, value if known else None)
    except AttributeError as e:
        raise no_array(e, dict(zip(words, args), **kwargs)) from None
    t = traced.trace
    for r in t.records:
        d = getattr(r, "operands", {}).get("dst") if hasattr(r, "operands") else None
        if d is not None:
            d.object.written = True
    results: List[Object] = []
    for v in _views(traced.result):
        if v.object not in results:
            results.append(v.object)
    for o in traced.inputs:
        if o.written and o not in results:
            results.append(o)
    _warn_of_written(function, t, traced.result, interface)
    _warn_of_empty(results, traced.inputs)
    warn_of_races(t.records, [loop for loop in t.affine if loop.spans], results)
    warn_of_scopes(t.records, [loop for loop in t.affine if loop.spans])
    for _, o, _, _ in t.prints:
        results.append(o)
    if not results:
        code = getattr(inspect.unwrap(function), "__code__", None)
        raise NkiError("%s%s: the kernel returns no tensor and writes none of its arguments; return what it stores to" %
                       ("%s:%d: " % (code.co_filename, code.co_firstlineno) if code else "", getattr(function, "__name__", "kernel")))
    finish(t, {o.uid for o in results})
    _warn_of_gaps(t, results, traced.inputs)
    store_once(t)
    (warn_of_starts if t.target == "cpu" else stage)(t)
    name = name or getattr(function, "__name__", "kernel")
    def build() -> Builder:
        b = Builder(t, name)
        b.build(traced.inputs, results)
        return b

    return Compiled(name, traced, _fitted(t, build), results, lambda: build().assembly(), lambda: build().unwritten()), leaves


def _warn_of_empty(results: Sequence[Object], inputs: Sequence[Object]) -> None:
    """Tensors that a kernel returns and that no instruction of it writes: a loop without trips, a forgotten store."""
    for o in results:
        if not o.written and o not in inputs:
            warnings.warn("%s:%d: tensor '%s' %s is returned, and nothing is stored to it: its elements are what was there before "
                          "(a loop of 0 trips?)" % (o.where[0], o.where[1], o.name, list(o.shape)), NkiWarning, stacklevel=5)


def _warn_of_gaps(t: Trace, results: Sequence[Object], inputs: Sequence[Object]) -> None:
    """Tensors that a kernel returns and stores to only in part."""
    prints = {o.uid for _, o, _, _ in t.prints}
    for o in results:
        gap = _coverage.gap(o, t.records) if o.written and o not in inputs and o.uid not in prints else None
        if gap:
            warnings.warn("%s:%d: tensor '%s' %s is returned, and nothing is stored to %s: they are what was there before "
                          "(too few trips, a mask?)" % (o.where[0], o.where[1], o.name, list(o.shape), gap), NkiWarning, stacklevel=5)


_MAX_CONTRACTED, _MAX_SHARED, _MAX_SPILLED = 64, 4, 24
_IN_PSUM = re.compile(r"no room in psum|tile 'psum")
_EXCESS = re.compile(r"(\d+) bytes (?:in|of) each partition.* has (?:room for )?(\d+)")


def _fitted(t: Trace, build: Callable[[], Builder]) -> Any:
    """The archive; where tiles find no room, they are made smaller as far as that is possible."""
    if t.target == "cpu":
        _shrink.fit_cache(t)
        spill(t)
    failure: Optional[NkiError] = None
    for shrink in [None, _shrink.split, _shrink.sink] + [_shrink.contract] * _MAX_CONTRACTED + [_share.share] * _MAX_SHARED + [_pack.pack]:
        if shrink is not None and not shrink(t):
            continue
        try:
            return build().finish()
        except NkiError as e:
            failure, last = failure or e, e
            if " room " not in str(e):
                raise
    assert failure is not None
    return _spilled(t, build, failure, last)


def _spilled(t: Trace, build: Callable[[], Builder], failure: NkiError, last: NkiError) -> Any:
    """The archive with lists of tiles in HBM, as few as it takes."""
    moved: List[Object] = []
    for _ in range(_MAX_SPILLED):
        excess = _EXCESS.search(str(last))
        more = spill_list(t, int(excess.group(1)) - int(excess.group(2)) if excess else 0, "psum" if _IN_PSUM.search(str(last)) else "sbuf")
        if not more:
            break
        moved += more
        try:
            archive = build().finish()
        except NkiError as e:
            if " room " not in str(e):
                raise
            last = e
            continue
        for where in dict.fromkeys(o.where for o in moved):
            here = [o for o in moved if o.where == where]
            what = "'%s', a list of tiles" % here[0].name if here[0].is_list else "what this line makes, %d tiles" % len(here)
            warn_at(where, "%s of %d bytes in each partition, has no room beside what lives with it: its tiles are kept in HBM and loaded where "
                    "they are used; loop over fewer of them at a time" % (what, sum(o.shape[-1] * o.dtype.itemsize for o in here)))
        return archive
    raise failure


_MODES = ("auto", "jax", "torchxla", "baremetal", "benchmark", "profile", "simulation", "trace")  # what they change lies on AWS's side


class Kernel:
    """What nki.jit makes of a function. kernel(...) runs it; kernel[grid](...) runs one program for each point of the grid."""

    def __init__(self, function: Callable[..., Any], mode: str = "auto", platform_target: Optional[str] = None,
                 interface: str = "beta1", grid: Sequence[int] = (), **options: Any):
        if not callable(function):
            raise error("nki.jit", "%r is no kernel, expected a function" % (function,), NkiTypeError)
        if mode is not None and mode not in _MODES:
            near = difflib.get_close_matches(str(mode), _MODES, 1)
            raise error("nki.jit", "mode is %r, expected one of %s%s" % (mode, ", ".join(_MODES), "; is '%s' meant?" % near[0] if near else ""),
                        NkiTypeError)
        functools.update_wrapper(self, function)
        self.func = function
        self.mode = mode
        self.platform_target = None if platform_target is None else machine_name(platform_target)
        self.interface = interface
        self.grid = tuple(grid)
        self.cores = 1
        self.options = options
        self._cache: Dict[Any, Compiled] = {}

    def __getitem__(self, grid: Any) -> "Kernel":
        k = self._with(grid=_grid(grid))
        k.cores = _cores_of(grid, k)
        k._cache = self._cache
        return k

    def _with(self, **changes: Any) -> "Kernel":
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(changes)
        return new

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def target(self) -> str:
        """The machine compiled for: cpu, or what XCC_NKI_TARGET names; "strict": the one that the kernel was written for. trn3 is held
        to the limits of trn2."""
        name = os.environ.get("XCC_NKI_TARGET", "cpu")
        return "cpu" if name == "cpu" else target_of(self._platform or "trn1" if name == "strict" else machine_name(name))

    @property
    def _platform(self) -> Optional[str]:
        """The machine that the kernel is written for: its own word, or what XCC_NKI_TARGET names."""
        name = os.environ.get("XCC_NKI_TARGET", "cpu")
        return self.platform_target or (None if name in ("cpu", "strict") else machine_name(name))

    def prepare(self, *args: Any, **kwargs: Any) -> Tuple[Compiled, List[Any]]:
        """Compiles for these arguments, once; where a register's value decides what the kernel does, for each call."""
        return self._prepared(args, kwargs, True)

    def _prepared(self, args: tuple, kwargs: dict, runs: bool) -> Tuple[Compiled, List[Any]]:
        leaves: List[Any] = []
        tree = (tuple(_flatten(a, leaves, [], "") for a in args), {k: _flatten(a, leaves, [], "") for k, a in kwargs.items()})
        key = (self.grid, self.target, self._platform, _key(tree[0]), _key(tree[1]), tuple((tuple(int(n) for n in x.shape), str(dtypes.to_dtype(x.dtype))) for x in leaves))
        found = self._cache.get(key)
        if found is None:
            found, leaves = compile_kernel(self.func, args, kwargs, self.grid, self.target, self.interface, None, self._platform, runs)
            if not found.trace.values:
                self._cache[key] = found
        return found, leaves

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = current()
        if around is not None:  # called by another kernel: part of it
            own = [to_int(n) for n in self.grid]
            if any(n > 1 for n in own) and own != list(around.grid):
                raise error(self.__name__, "is called with a grid of %s inside another kernel, which has %s; a kernel within a kernel is a part of it: "
                            "give the grid to the outer one" % (own, list(around.grid) or "none"), NkiTypeError)
            return self.func(*args, **kwargs)
        if _arrays.any_traced(args, kwargs):  # inside jax.jit: a part of what is traced there
            from . import _jax

            return _jax.call(self, args, kwargs)
        of_torch = _arrays.any_of_torch(args, kwargs)
        if of_torch:
            from . import _torch

            if _torch.exporting():
                return _torch.emit(self, args, kwargs)
        compiled, leaves = self.prepare(*args, **kwargs)
        if of_torch:
            _torch.check_traced(compiled.name, leaves)
        if self.mode == "simulation":
            compiled.warn()
        return compiled.run(leaves)

    def compile(self, *specs: Any, **kwargs: Any) -> Compiled:
        """Compiles for arguments of the shapes of these arrays or TensorSpecs; Compiled.save(path) writes the archive."""
        return self._prepared(specs, kwargs, False)[0]


class GridDim:
    """nl.nc(n), nl.spmd_dim(...): factors of a grid dim."""

    def __init__(self, *factors: Any, cores: Any = 1):
        self.factors = factors
        self._cores = cores

    @property
    def size(self) -> int:
        n = 1
        for f in self.factors:
            n *= f.size if isinstance(f, GridDim) else to_int(f)
        return n

    @property
    def cores(self) -> int:
        """Over how many cores its programs are spread."""
        return max([to_int(self._cores)] + [f.cores for f in self.factors if isinstance(f, GridDim)])

    def __index__(self) -> int:
        return self.size

    def __mul__(self, other: Any) -> "GridDim":
        return GridDim(self, other)

    def __rmul__(self, other: Any) -> "GridDim":
        return GridDim(other, self)


def _grid(grid: Any) -> Tuple[int, ...]:
    g = grid if isinstance(grid, (tuple, list)) else (grid,)
    sizes = tuple(x.size if isinstance(x, GridDim) else to_int(x) for x in g)
    if sizes == (0,):
        warnings.warn("a grid of 0 programs is taken for one program", NkiWarning, stacklevel=3)
        sizes = (1,)
    if any(n < 1 for n in sizes) or len(sizes) > 4:
        raise error(None, "a grid has one to four positive dims, not %s" % (sizes,), NkiTypeError)
    return sizes


def _cores_of(grid: Any, k: Kernel) -> int:
    """The cores that the grid's programs are for: those that nl.nc names, and both of a chip for kernel[2] in the form of nki 0.2 and
    later."""
    dims = grid if isinstance(grid, (tuple, list)) else (grid,)
    named = max(x.cores if isinstance(x, GridDim) else 1 for x in dims)
    return 2 if named > 1 or (k.interface != "beta1" and k.grid == (2,)) else 1


def as_kernel(f: Any, interface: str = "beta1", **options: Any) -> Kernel:
    if isinstance(f, Timed):  # with its grid
        f = f.kernel
    if isinstance(f, Kernel):
        return f._with(**{k: v for k, v in options.items() if v is not None}) if options else f
    return Kernel(f, interface=interface, **options)


def jit(func: Optional[Callable[..., Any]] = None, mode: str = "auto", _interface: str = "beta1", **options: Any) -> Any:
    """@nki.jit, @nki.jit(mode=...), nki.jit(f, platform_target=...): makes a Kernel of a function."""
    if func is None:
        return lambda f: jit(f, mode, _interface, **options)
    return as_kernel(func, _interface, mode=mode, platform_target=options.pop("platform_target", None), options=options) \
        if isinstance(func, (Kernel, Timed)) else Kernel(func, mode, options.pop("platform_target", None), _interface, **options)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel (a function, or what nki.jit made) on arrays; arguments that it writes are updated in place. Warns of elements
    that are read before anything wrote them."""
    k = as_kernel(kernel)
    return (k._with(mode="simulation") if isinstance(k, Kernel) else k)(*args, **kwargs)


class Latency:
    """Measured times; percentiles in microseconds."""

    def __init__(self, samples: Sequence[float]):
        self.samples = sorted(samples)

    def get_latency_percentile(self, p: float) -> float:
        if not self.samples:
            return 0.0
        k = min(len(self.samples) - 1, max(0, int(round(p / 100.0 * (len(self.samples) - 1)))))
        return self.samples[k] * 1e6


class ModelledLatency:
    """Of the simulator: one number, which every percentile is, for the model has no spread."""

    def __init__(self, microseconds: float):
        self.microseconds = microseconds

    def get_latency_percentile(self, p: float) -> float:
        return self.microseconds


class BenchmarkResult:
    """nc_latency: measured on this computer. simulated: what the simulator says of the kernel on its target (xsim --json), or None;
    simulated_latency: its latency, the same at every percentile."""

    def __init__(self, latency: Latency, simulated: Optional[Dict[str, Any]] = None):
        self.nc_latency = latency
        self.latency = latency
        self.simulated = simulated
        self.simulated_latency = ModelledLatency(simulated["latency_us"]) if simulated else None


class Timed:
    """nki.benchmark, nki.profile, nki.baremetal of a kernel: runs it, keeps the archive, measures and says what it found."""

    def __init__(self, kernel: Kernel, warmup: int = 0, iters: int = 0, save_neff_name: Optional[str] = None,
                 working_directory: Optional[str] = None, artifacts_dir: Optional[str] = None, kind: str = "",
                 save_trace_name: Optional[str] = None, **options: Any):
        functools.update_wrapper(self, kernel.func)
        self.kernel = kernel
        self.func = kernel.func
        self.kind = kind
        self.warmup, self.iters = warmup, iters
        self.save_neff_name, self.save_trace_name = save_neff_name, save_trace_name
        self.folder = working_directory or artifacts_dir
        self.options = options
        self.benchmark_result: Optional[BenchmarkResult] = None
        self._archive = b""  # for the target

    def __getitem__(self, grid: Any) -> "Timed":
        t = Timed.__new__(Timed)
        t.__dict__.update(self.__dict__)
        t.kernel = self.kernel[grid]
        t._parent = self  # type: ignore[attr-defined]
        return t

    def _path(self, name: str) -> str:
        folder = self.folder or "."
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, name)

    def _simulated(self, args: tuple, kwargs: dict) -> Tuple[str, Optional[Dict[str, Any]], str]:
        """The target, what the simulator says of the kernel there, and that as a line of text."""
        from ..compiler import simulate

        target = self.kernel.target if self.kernel.target != "cpu" else target_of(self.kernel.platform_target or "trn1")
        k = self.kernel
        try:
            compiled, _ = compile_kernel(k.func, args, kwargs, k.grid, target, k.interface, None, k.platform_target or target)
            self._archive = bytes(compiled.archive)
            s = simulate(self._archive, k.cores)
        except Exception as e:  # noqa: BLE001 - a kernel of another machine: the measurement stands alone
            return target, None, "%s, simulated: %s" % (target, str(e).splitlines()[0])
        busy = ", ".join("%s %.0f%%" % (name, 100 * e["share"]) for name, e in s["engines"].items() if e["share"] >= 0.005)
        on = "%s, %d cores" % (target, k.cores) if k.cores > 1 else target
        return target, s, "%s, simulated: %.1f us (one number: every percentile of the model), bound %.1f us by %s; busy: %s" \
            % (on, s["latency_us"], s["bound_us"], s["bound_by"], busy)

    def _measure(self, compiled: Compiled, leaves: Sequence[Any], args: tuple, kwargs: dict) -> None:
        model = compiled.model()
        latency = Latency(model.measure(compiled.arrays(leaves), self.iters, self.warmup))
        _, simulated, text = self._simulated(args, kwargs)
        self.benchmark_result = BenchmarkResult(latency, simulated)
        if hasattr(self, "_parent"):
            self._parent.benchmark_result = self.benchmark_result
        p = latency.get_latency_percentile
        print("%s: this computer's CPU, measured, %d runs on %d threads: p0 %.1f us, p50 %.1f us, p99 %.1f us, p100 %.1f us"
              % (compiled.name, self.iters, model.threads, p(0), p(50), p(99), p(100)))
        print("%s: %s" % (compiled.name, text))

    def _profile(self, compiled: Compiled, leaves: Sequence[Any], args: tuple, kwargs: dict) -> None:
        name = self.save_trace_name or "profile.json"
        path = self._path(name if name.endswith((".json", ".txt")) else name + ".json")
        compiled.model().measure(compiled.arrays(leaves), 1, 1, path)
        print("%s: this computer's CPU, measured: what ran when is in %s" % (compiled.name, path))
        target, simulated, text = self._simulated(args, kwargs)
        print("%s: %s" % (compiled.name, text))
        if simulated and path.endswith(".json"):
            from ..compiler import write_whole

            stem = path[:-len(".json")]
            write_whole("%s.%s.neff" % (stem, target), self._archive)
            print("%s: both beside each other: xsim %s.%s.neff%s --profile %s --html %s.html"
                  % (compiled.name, stem, target, " --cores 2" if self.kernel.cores > 1 else "", path, stem))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            return self.func(*args, **kwargs)
        compiled, leaves = self.kernel.prepare(*args, **kwargs)
        leaves = [x.filled() if isinstance(x, TensorSpec) else x for x in leaves]
        if self.save_neff_name:
            compiled.save(self._path(self.save_neff_name))
        out = compiled.run(leaves)
        if self.kind == "profile":
            self._profile(compiled, leaves, args, kwargs)
        elif self.iters:
            self._measure(compiled, leaves, args, kwargs)
        return out


def timed(kind: str, defaults: Dict[str, Any], interface: str = "beta1") -> Callable[..., Any]:
    """Makes nki.benchmark and the like: decorators with and without arguments."""
    def decorate(kernel: Optional[Any] = None, **options: Any) -> Any:
        kernel = options.pop("func", None) if kernel is None else kernel  # profile's own word for it
        if kernel is None:
            return lambda f: decorate(f, **options)
        return Timed(as_kernel(kernel, interface), kind=kind, **{**defaults, **options})

    decorate.__name__ = kind
    decorate.__doc__ = "%s: runs a kernel on this machine, as a decorator or by nki.%s(...)(kernel)(arrays)." % (kind, kind)
    return decorate
