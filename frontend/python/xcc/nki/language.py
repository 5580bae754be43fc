"""nl: tensors, index expressions, loops, and functions of whole tiles (the form of neuronxcc.nki.language)."""
from __future__ import annotations

import abc
import dataclasses
import inspect
import math
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import dtypes as _dtypes
from . import _compute, _cores, _math, _move, _random, _special, _tree
from ._buffers import Buffer, hbm, private_hbm, psum, sbuf, shared_hbm
from ._core import LoopReduce, as_tile as _as_tile, emit_fill as _emit_fill, is_number as _is_number, number as _number
from ._core import result as _result, shape_on_chip as _shape_on_chip
from ._enums import skips as _skips
from ._errors import NkiError, NkiTypeError, error as _error, module_names as _module_names, warn as _warn
from ._index import Expr as _Expr, Mask as _Mask, arange, ds, mgrid, to_int as _to_int
from ._keywords import check_keywords as _check_keywords, checked as _checked
from ._mask import Region as _Region, region_of as _region_of
from ._ops import op_name as _op_name
from ._run import GridDim as spmd_dim
from ._tensor import View as tensor, par_dim
from ._trace import LoopRange as _LoopRange, current as _current, full_view as _full_view, need_trace as _need_trace

float32, float16, bfloat16 = _dtypes.float32, _dtypes.float16, _dtypes.public(_dtypes.bfloat16)
float8_e4m3, float8_e5m2, float8_e4m3fn = map(_dtypes.public, (_dtypes.float8_e4m3, _dtypes.float8_e5m2, _dtypes.float8_e4m3fn))
float8_e8m0fnu, tfloat32 = _dtypes.public(_dtypes.float8_e8m0fnu), _dtypes.tfloat32
float8_e4m3fn_x4, float8_e5m2_x4, float4_e2m1fn_x4 = _dtypes.float8_e4m3fn_x4, _dtypes.float8_e5m2_x4, _dtypes.float4_e2m1fn_x4
int8, int16, int32, uint8, uint16, uint32 = (_dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.uint8, _dtypes.uint16, _dtypes.uint32)
bool_ = bool = _dtypes.bool_  # noqa: A001 - a name of the interface

finfo = _dtypes.FloatInfo
fp32 = finfo(float32)
bfp16 = finfo(bfloat16)
fp16 = finfo(float16)


class _Fields(abc.ABCMeta):
    """A dataclass is made without some of its fields too: to read one raises AttributeError. AWS's compiler makes it, and its library
    has such."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        if not dataclasses.is_dataclass(cls) or cls.__init__.__code__.co_filename != "<string>":  # one that the author wrote
            return super().__call__(*args, **values)
        init = inspect.signature(cls.__init__)
        given = init.bind_partial(None, *args, **values).arguments
        absent = [p.name for p in init.parameters.values() if p.default is p.empty and p.name not in given]
        made = super().__call__(*args, **values, **dict.fromkeys(absent))
        for name in absent:
            if getattr(made, name, None) is None:  # __post_init__ has not set it
                object.__delattr__(made, name)
        return made


class NKIObject(metaclass=_Fields):
    """Base of classes that hold a kernel's parameters. Under @dataclass, attributes without an annotation are fields too, and fields
    that are not given stay unset; without it, keyword arguments become attributes."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __init_subclass__(cls, **kw: Any) -> None:
        super().__init_subclass__(**kw)
        types = dict(cls.__dict__.get("__annotations__") or {})
        for name, value in cls.__dict__.items():
            if not name.startswith("_") and name not in types and isinstance(value, (int, float, str, tuple, type(None))):
                types[name] = Any
        cls.__annotations__ = types


_tree.CARRIERS.append(NKIObject)
NkiTensor = tensor


class tile_size:  # noqa: N801 - a name of the interface
    """Limits of the machine."""

    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    bn_stats_fmin = 1
    psum_min_align = 4
    sbuf_min_align = 1
    total_available_sbuf_size = 192 * 1024 - 16 * 1024
    sbuf_size = total_available_sbuf_size
    sbuf_size_bytes = 24 << 20  # of all partitions; the others of one
    sbuf_fmax_bytes, sbuf_fmax = total_available_sbuf_size, total_available_sbuf_size // 4  # f32 elements
    psum_bank_fmax_bytes, psum_bank_fmax = 2048, 512
    psum_num_banks = 8
    psum_bank_size = 2048
    psum_banks = 8


class constants:  # noqa: N801
    """nl.constants.sizeinbytes(dtype)."""

    @staticmethod
    def sizeinbytes(dtype: Any) -> int:
        return _dtypes.to_dtype(dtype).itemsize


sizeinbytes = constants.sizeinbytes

globals().update(_math.functions)
np_functions = _math.functions

# -- tensors ---------------------------------------------------------------------------------------------------------


class _Ndarray(type):
    """nl.ndarray is called as a function and named as the type of tensors."""

    def __call__(cls, shape: Any, dtype: Any = float32, buffer: Any = None, name: Optional[str] = None, lazy_initialization: Any = False,  # noqa: N805
                 address: Any = None, **kw: Any) -> tensor:
        return _new(shape, dtype, buffer, name)

    __call__.__qualname__ = "nl.ndarray"  # in what Python says of a missing argument

    def __instancecheck__(cls, x: object) -> Any:  # noqa: N805
        return isinstance(x, tensor)


class ndarray(metaclass=_Ndarray):  # noqa: N801 - a name of the interface
    """A new tensor: in SBUF (the default) or PSUM a tile, whose first dim, or the one in par_dim, is the partition dim; in HBM any
    shape. Not initialised; PSUM counts as zero for the first product that is added."""


def _ndarray(shape: Any, dtype: Any, buffer: Any, name: Optional[str]) -> tensor:
    t = _need_trace("nl.ndarray")
    if isinstance(shape, (int, np.integer, par_dim)):
        shape = (shape,)
    d = _dtypes.to_dtype(dtype)
    b = buffer if buffer is not None else sbuf
    if not isinstance(b, Buffer):
        raise _error("nl.ndarray", "buffer is %r, expected nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm or an allocator" % (b,), NkiTypeError)
    sizes = [_to_int(n) for n in shape]
    if b.space == "hbm":
        return _hbm(t, sizes, d, name, b)
    if not sizes:
        raise _error("nl.ndarray", "shape () has no partition dim, expected at least one dim: a number is a tile of shape (1, 1)", NkiTypeError)
    blocks = next((k for k, n in enumerate(shape) if isinstance(n, par_dim)), 0)
    return t.tile(b.space, sizes, d, name, blocks)


def _hbm(t: Any, sizes: List[int], d: np.dtype, name: Optional[str], b: Buffer) -> tensor:
    if b.kind == "shared_hbm" and t.open:
        _warn("nl.ndarray: a tensor in nl.shared_hbm is made in a loop, which the hardware's compiler refuses: make it before the loop, all trips "
              "write to the same one here")
    if b.kind != "private_hbm" and t.grid and t.program is not None:  # programs traced one after another share tensors
        k = t.shared_next
        t.shared_next += 1
        if k < len(t.shared) and t.shared[k].shape == tuple(sizes) and t.shared[k].dtype == d:
            return t.shared[k]
        v = t.hbm(sizes, d, name)
        t.shared[k:] = [v]
        return v
    if b.kind == "private_hbm" and any(n > 1 for n in t.grid) and t.program is None:  # one for each program
        whole = t.hbm(list(t.grid) + sizes, d, name)
        whole.object.private = True
        return whole[tuple(t.program_id(k) for k in range(len(t.grid)))]
    return t.hbm(sizes, d, name)


def zeros(shape: Any, dtype: Any = float32, buffer: Any = None, name: Optional[str] = None, **kw: Any) -> tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any = float32, buffer: Any = None, name: Optional[str] = None, **kw: Any) -> tensor:
    """A tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def full(shape: Any, fill_value: Any = 0, dtype: Any = float32, buffer: Any = None, name: Optional[str] = None, **kw: Any) -> tensor:
    """A tensor of one value."""
    v = ndarray(shape, dtype, buffer, name)
    if not v.on_chip:
        raise _error("nl.full", "a tensor in HBM cannot be initialised; store a tile to it", NkiTypeError)
    if v.object.space == "psum" and fill_value == 0:
        v.object.zeroed = True
        return v
    _emit_fill(v, _number(fill_value, "nl.full"), "nl.full")
    return v


def zeros_like(a: tensor, dtype: Any = None, buffer: Any = None, name: Optional[str] = None, **kw: Any) -> tensor:
    """A tensor of zeros of another's shape and type."""
    return full(a.shape, 0, a.dtype if dtype is None else dtype, _buffer_like(a, buffer), name)


def empty_like(a: tensor, dtype: Any = None, buffer: Any = None, name: Optional[str] = None, **kw: Any) -> tensor:
    """A tensor, not initialised, of another's shape and type."""
    return ndarray(a.shape, a.dtype if dtype is None else dtype, _buffer_like(a, buffer), name)


def _buffer_like(x: tensor, buffer: Any) -> Any:
    return buffer if buffer is not None else x.buffer if x.on_chip else sbuf


def shared_constant(constant: Any, dtype: Any = None, **kw: Any) -> tensor:
    """A tensor in HBM with the elements of a NumPy array, or of the .npy file of that name."""
    if isinstance(constant, (str, os.PathLike)):
        try:
            with open(constant, "rb") as f:
                constant = np.lib.format.read_array(f, allow_pickle=False)
        except (OSError, ValueError) as e:
            raise _error("nl.shared_constant", "%s: %s; expected an array, or the name of a file that numpy.save wrote" % (constant, e)) from None
    return _move.constant(np.asarray(constant), dtype)


def shared_identity_matrix(n: int, dtype: Any = uint8, **kw: Any) -> tensor:
    """The n x n identity matrix, in SBUF."""
    return _move.load(_move.constant(np.eye(_to_int(n), dtype=np.uint8), dtype), api="nl.shared_identity_matrix")


# -- moving data -----------------------------------------------------------------------------------------------------


def load(src: tensor, *, mask: Any = None, dtype: Any = None, mode: Any = None, **kw: Any) -> tensor:
    """A new tile in SBUF with a tensor's elements. mask: where it is loaded; beyond, the tensor is not touched. mode: of
    nisa.oob_mode; skip loads nothing where an index lies beyond the tensor, and what the tile is assigned to stays there as it is."""
    return _move.load(src, dtype, mask, skip=_skips(mode))


def store(dst: tensor, value: Any, *, mask: Any = None, mode: Any = None, **kw: Any) -> None:
    """Writes a tile, or a number, to a tensor in HBM. mode: of nisa.oob_mode; skip stores nothing where an index lies beyond."""
    _move.store(dst, value, mask, skip=_skips(mode))


def atomic_rmw(dst: tensor, value: Any, op: Any = None, *, mask: Any = None, **kw: Any) -> None:
    """dst = op(dst, value) in HBM, also through tiles of indices; op: np.add."""
    if op is not None and _op_name(op, "nl.atomic_rmw") != "add":
        raise _error("nl.atomic_rmw", "op is %r; only np.add exists" % (op,), NkiTypeError)
    _move.store(dst, value, mask, "nl.atomic_rmw", "add")


def load_transpose2d(src: tensor, *, mask: Any = None, dtype: Any = None, **kw: Any) -> tensor:
    """A new tile with the transpose of a two-dimensional tensor."""
    return _move.load_transpose2d(src, dtype, mask)


def copy(src: tensor, dtype: Any = None, mask: Any = None, **kw: Any) -> tensor:
    """A new tile with a tile's elements."""
    return _move.copy(src, dtype, mask)


def static_cast(input_data: Any, dtype: Any) -> Any:
    """input_data in another type; also of NumPy arrays outside kernels."""
    if isinstance(input_data, np.ndarray) or isinstance(input_data, np.generic):
        from .. import _arrays

        return _arrays.for_user(_arrays.convert(np.asarray(input_data), _dtypes.to_dtype(dtype)))
    return _move.copy(input_data, dtype, api="nl.static_cast")


def broadcast_to(src: tensor, shape: Any = None, dtype: Any = None, **kw: Any) -> tensor:
    """src with dims of size 1 repeated; partitions too."""
    x = src.broadcast_to(tuple(shape))
    return x if dtype is None or _dtypes.to_dtype(dtype) == x.dtype else _move.copy(x, dtype, api="nl.broadcast_to")


def expand_dims(data: tensor, axis: Any) -> tensor:
    """A view with a dim of size 1 more, or several."""
    return data.expand_dims(axis)


def transpose(x: tensor, dtype: Any = None, mask: Any = None, **kw: Any) -> tensor:
    """A new tile, the transpose of a two-dimensional tile."""
    return _move.transposed(x, "nl.transpose", dtype, mask, "psum" if x.object.space == "sbuf" else "sbuf")


def gather_flattened(data: tensor, indices: tensor, axis: Any = 0, *, mask: Any = None, dtype: Any = None, **kw: Any) -> tensor:
    """data's elements of each partition, free dims flattened, at the places in indices; indices' shape."""
    if axis != 0:
        raise _error("nl.gather_flattened", "axis is %r, expected 0: elements come from the free dims of their own partition, flattened" % (axis,),
                     NkiTypeError)
    out = _result(_shape_on_chip(indices), data.dtype if dtype is None else dtype)
    region = _region_of(mask, out.shape)
    _special.emit_gather(out, data, indices, "nl.gather_flattened", None if region.trivial else region)
    if not region.trivial:
        out.region = region
    return out


# -- functions of tiles ----------------------------------------------------------------------------------------------


def matmul(x: tensor, y: tensor, transpose_x: Any = False, *, mask: Any = None, **kw: Any) -> tensor:
    """x times y in PSUM, f32; transpose_x: x is given as its transpose [K, M], which saves an instruction."""
    return _compute.matmul(x, y, transpose_x, mask)


def _reduction(name: str, op: str, doc: str) -> Callable[..., Any]:
    def f(x: Any, axis: Any = None, *args: Any, dtype: Any = None, mask: Any = None, keepdims: Any = False, **kw: Any) -> Any:
        if not isinstance(x, tensor):
            return {"max": _pymax, "min": _pymin}.get(op, _pysum)(*([x] if axis is None else [x, axis]))
        return _compute.reduce(op, x, axis, dtype, mask, False, keepdims, "nl." + name)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "The %s of a tile over free axes; over all of them the result is (partitions, 1)." % doc
    return f


_pysum, _pymax, _pymin = sum, max, min
sum = _reduction("sum", "add", "sum")  # noqa: A001
prod = _reduction("prod", "mul", "product")
_nlmax = _reduction("max", "max", "largest element")
_nlmin = _reduction("min", "min", "smallest element")
max, min = _nlmax, _nlmin  # noqa: A001


def mean(x: tensor, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: Any = False, **kw: Any) -> tensor:
    """The mean over free axes."""
    return _compute.mean(x, axis, dtype, mask, keepdims)


def var(x: tensor, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: Any = True, **kw: Any) -> tensor:
    """The variance (divisor n) over free axes."""
    m = _compute.mean(x, axis, float32, mask, True, "nl.var")
    c = _compute.binary("sub", x, m, float32, mask, "nl.var")
    return _compute.mean(_compute.unary("square", c, float32, mask, "nl.var"), axis, x.dtype if dtype is None else dtype, mask, keepdims, "nl.var")


def all(x: tensor, axis: Any, *, dtype: Any = uint8, mask: Any = None, keepdims: Any = False, **kw: Any) -> tensor:  # noqa: A001
    """Whether all elements over free axes are other than 0."""
    t = _compute.binary("ne", x, 0, uint8, mask, "nl.all")
    return _compute.reduce("min", t, axis, dtype, mask, False, keepdims, "nl.all")


def softmax(x: tensor, axis: Any = -1, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **kw: Any) -> tensor:
    """exp(x - max) / sum, over free axes."""
    top = _compute.reduce("max", x, axis, float32, mask, False, True, "nl.softmax")
    e = _compute.unary("exp", _compute.binary("sub", x, top, float32, mask, "nl.softmax"), float32, mask, "nl.softmax")
    total = _compute.reduce("add", e, axis, float32, mask, False, True, "nl.softmax")
    return _compute.binary("div", e, total, dtype or x.dtype, mask, "nl.softmax")


def rms_norm(x: tensor, w: tensor, axis: Any, n: Any, epsilon: float = 1e-6, *, dtype: Any = None, compute_dtype: Any = None,
             mask: Any = None, **kw: Any) -> tensor:
    """x / sqrt(sum(x * x) / n + epsilon) * w."""
    s = _compute.reduce("add", _compute.unary("square", x, float32, mask, "nl.rms_norm"), axis, float32, mask, False, True, "nl.rms_norm")
    m = _compute.binary("add", _compute.binary("mul", s, 1.0 / _number(n, "nl.rms_norm"), float32), epsilon, float32)
    y = _compute.binary("mul", x, _compute.unary("rsqrt", m, float32, None, "nl.rms_norm"), float32, mask, "nl.rms_norm")
    return _compute.binary("mul", y, w, dtype or x.dtype, mask, "nl.rms_norm") if w is not None else _move.copy(y, dtype or x.dtype)


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **kw: Any) -> tensor:
    """x where the condition is not 0, else y."""
    views = [v for v in (condition, x, y) if isinstance(v, tensor)]
    shape = _shape_on_chip(views[0])
    for v in views[1:]:
        a, b = tensor(views[0].object, views[0].dtype, 0, tuple((1, n) for n in shape)), v
        shape = _compute.binary_shape(a, b, "nl.where")
    d = _dtypes.to_dtype(dtype) if dtype is not None else _compute.binary_dtype("max", x, y)
    region = _region_of(mask, shape)
    out = _result(shape, d)
    if isinstance(condition, _Mask):
        condition = _special._predicate(condition, shape)
    _special.emit_where(out, condition, x, y, "nl.where", None if region.trivial else region)
    if not region.trivial:
        out.region = region
    return out


def dropout(x: tensor, rate: Any, *, dtype: Any = None, mask: Any = None, **kw: Any) -> tensor:
    """x with elements set to 0 with probability `rate`; the others are not scaled."""
    out = _result(_shape_on_chip(x), x.dtype if dtype is None else dtype)
    region = _region_of(mask, out.shape)
    _random.emit_dropout(out, x, rate, "nl.dropout", None if region.trivial else region)
    if not region.trivial:
        out.region = region
    return out


def rand(shape: Any, dtype: Any = float32, buffer: Any = None, name: Optional[str] = None, *, mask: Any = None, **kw: Any) -> tensor:
    """Random numbers of [0, 1)."""
    out = _result([_to_int(n) for n in shape], dtype)
    region = _region_of(mask, out.shape)
    _random.emit_uniform(out, "nl.rand", None if region.trivial else region)
    if not region.trivial:
        out.region = region
    if buffer is None or buffer == sbuf:
        return out
    t = _ndarray(shape, dtype, buffer, name)
    if t.on_chip:
        t[...] = out
    else:
        _move.store(t, out, api="nl.rand")
    return t


def random_seed(seed: Any, *, mask: Any = None, **kw: Any) -> None:
    """Seeds the random numbers that follow: by a number, or by a tile of one 32-bit value."""
    if mask is None or not _region_of(mask, (1, 1)).empty:
        _random.seed("vector", seed, "nl.random_seed")


def loop_reduce(x: tensor, op: Any, loop_indices: Any = None, *, dtype: Any = None, mask: Any = None, name: Any = None, **kw: Any) -> Any:
    """dst[...] = nl.loop_reduce(x, op, ...) means dst = op(dst, x) in each trip. What nothing wrote before the loops begins with op's
    neutral element."""
    region = _region_of(mask, _shape_on_chip(x))
    return LoopReduce(x, _op_name(op, "nl.loop_reduce"), None if region.trivial else region)


# -- programs and loops ----------------------------------------------------------------------------------------------


def program_id(axis: Any = 0, **kw: Any) -> Any:
    """This program's place in the grid."""
    return _need_trace("nl.program_id").program_id(_to_int(axis))


def num_programs(axes: Any = None, **kw: Any) -> Any:
    """How many programs the grid has along an axis, along several, or in all."""
    g = _need_trace("nl.num_programs").grid
    axes = kw.get("axis", axes)
    if axes is None:
        axes = range(len(g))
    along = [_to_int(a) for a in axes] if isinstance(axes, (tuple, list, range)) else [_to_int(axes)]
    return math.prod(g[a] if a < len(g) else 1 for a in along)


def program_ndim() -> int:
    """How many dims the grid has."""
    return len(_need_trace("nl.program_ndim").grid)


def nc(n: int) -> Any:
    """n cores, as a factor of a grid dim."""
    return spmd_dim(n, cores=n)


def _bounds(start: Any, stop: Any, step: Any) -> Tuple[Any, Any, Any]:
    """As Python's range takes them."""
    return (0, start, step) if stop is None else (start, stop, step)


def affine_range(start: Any = 0, stop: Any = None, step: Any = 1, **kw: Any) -> Any:
    """A loop whose trips do not depend on each other."""
    return _LoopRange(_bounds(start, stop, step), _is_beta1(), "nl.affine_range")


def sequential_range(start: Any = 0, stop: Any = None, step: Any = 1, **kw: Any) -> Any:
    """A loop whose trips run in order."""
    return _LoopRange(_bounds(start, stop, step), _is_beta1(), "nl.sequential_range")


def static_range(start: Any = 0, stop: Any = None, step: Any = 1, **kw: Any) -> Any:
    """A loop that is unrolled: its index is an integer."""
    return _LoopRange(_bounds(start, stop, step), False, "nl.static_range")


def dynamic_range(start: Any = 0, stop: Any = None, step: Any = 1, **kw: Any) -> Any:
    """A loop that stays a loop; its bounds may be registers, its step is a number."""
    if not isinstance(step, (int, np.integer)) or step < 1:
        raise _error("nl.dynamic_range", "step is %r, expected a positive number that is known while tracing" % (step,), NkiTypeError)
    return _LoopRange(_bounds(start, stop, step), True, "nl.dynamic_range")


def _is_beta1() -> Any:
    t = _current()
    return t is None or t.interface == "beta1"


def all_reduce(x: tensor, op: Any, program_axes: Any, *, dtype: Any = None, mask: Any = None, parallel_reduce: Any = True,
               asynchronous: Any = False, **kw: Any) -> tensor:
    """The reduction of a tile over the programs of a grid's axes: of two cores, kernel[2], or of one program."""
    return _cores.all_reduce(x, op, dtype, mask)


def device_print(*args: Any, **kw: Any) -> None:
    """device_print(prefix, tile): printed when the kernel has run, in the program's order."""
    t = _need_trace("nl.device_print")
    words = [a for a in list(args) + [kw[k] for k in ("prefix", "print_prefix") if k in kw] if not isinstance(a, tensor)]
    tiles = [a for a in list(args) + list(kw.values()) if isinstance(a, tensor)]
    for x in tiles:
        loops = tuple(t.grid_variables) + tuple(t.open) if t.symbolic_grid else tuple(t.open)
        shape = _shape_on_chip(x) if x.on_chip else x.shape
        out = t.hbm([v.count for v in loops] + list(shape), x.dtype, "print")
        place = out[tuple(_Expr((), 0, ((v, 1),), ()) for v in loops)] if loops else out
        from ._core import emit_dma

        emit_dma(place, x if x.object.space != "psum" else _move.copy(x), "nl.device_print")
        t.prints.append((" ".join(str(w) for w in words), out.object, loops, x))


def no_reorder(*args: Any, **kw: Any) -> Any:
    """A block whose instructions keep their order; they do here anyway."""
    import contextlib

    return contextlib.nullcontext()


def _unavailable(name: str) -> Callable[..., Any]:
    from ._unavailable import make

    return make("nl." + name)


gemm_grid, gemm_stationary_grid = _unavailable("gemm_grid"), _unavailable("gemm_stationary_grid")

_check_keywords(globals(), __name__, "nl")
_new = _checked(_ndarray, "nl", "ndarray")
__getattr__ = _module_names(__name__, "nl")
