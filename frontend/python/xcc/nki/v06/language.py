"""nl of the 0.x packages: that of xcc.nki.language, whose loops unroll in kernels of this form; names that beta 1 lacked."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Optional

from .. import language as _beta
from .._buffers import Buffer as MemoryRegion  # noqa: F401
from .._errors import module_names as _module_names
from .._index import Expr as _Expr
from .._keywords import check_keywords as _check_keywords
from .._tensor import View as _View
from ..language import *  # noqa: F401,F403
from ..language import _LoopRange, arange, mgrid, par_dim  # noqa: F401

for _name in dir(_beta):
    if not _name.startswith("_"):
        globals().setdefault(_name, getattr(_beta, _name))
del _name

DType = _beta.float32.__class__


def bypass(x: Any, *args: Any, **kw: Any) -> Any:
    """As an operation of an instruction: leaves its operand as it is."""
    return x


def average(x: _View, axis: Any, **kw: Any) -> _View:
    """The mean over free axes; as an operation, of tensor_partition_reduce."""
    return _beta.mean(x, axis, **kw)


range = lambda start, stop=None, step=1: _LoopRange(_beta._bounds(start, stop, step), False, "nl.range")  # noqa: E731, A001


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], step: Any = 1, **kw: Any) -> None:
    """body_fun(i) for each i."""
    for i in _beta.static_range(lower, upper, step):
        body_fun(i)


def while_loop(init: Any, body_fun: Callable[..., Any], **kw: Any) -> None:
    """body_fun(r) for r = init, then for what it returns, while that is not 0."""
    r = init
    while r:
        r = body_fun(r)


def _space(buffer: Any) -> str:
    return buffer.object.space if isinstance(buffer, _View) else buffer.space


def is_sbuf(buffer: Any) -> bool:
    return _space(buffer) == "sbuf"


def is_psum(buffer: Any) -> bool:
    return _space(buffer) == "psum"


def is_hbm(buffer: Any) -> bool:
    return _space(buffer) == "hbm"


def is_on_chip(buffer: Any) -> bool:
    return _space(buffer) != "hbm"


def prelu(x: Any, *args: Any, **kw: Any) -> Any:
    """As an operation of nisa.activate2: x above 0, relu_param * x below."""
    from .._errors import NkiTypeError, error

    raise error("nl.prelu", "is an operation to pass to nisa.activate2 (op=nl.prelu, relu_param=)", NkiTypeError)


def _ordered(name: str, *parameters: str, **beta: str) -> None:
    """Gives a function of beta 1 the parameters of nki 0.6, in their order. beta: what beta 1 calls a parameter."""
    f = getattr(_beta, name)
    given = inspect.signature(f).parameters
    own = set(given)

    def g(*args: Any, **kw: Any) -> Any:
        kw.update(zip(parameters, args))
        if len(args) > len(parameters):
            raise TypeError("%s() takes %d arguments, %d were given" % (name, len(parameters), len(args)))
        return f(**{beta.get(k, k): v for k, v in kw.items() if beta.get(k, k) in own or v is not None})

    g.__name__ = g.__qualname__ = name
    g.__doc__ = f.__doc__
    needed = {p.name for p in given.values() if p.default is p.empty}
    g.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=inspect.Parameter.empty if beta.get(p, p) in needed else None,
                          annotation=given[beta.get(p, p)].annotation if beta.get(p, p) in given else Any)
        for p in parameters])
    globals()[name] = g


_ordered("copy", "x", "dtype", x="src")
for _name in ("sum", "max", "min", "prod"):
    _ordered(_name, "x", "axis", "dtype", "keepdims")
_ordered("mean", "x", "axis", "dtype", "keepdims")
_ordered("var", "x", "axis", "dtype", "keepdims")
_var = globals()["var"]


def var(x: _View, axis: Any, dtype: Any = None, keepdims: Any = False) -> _View:
    """The variance (divisor n) over free axes, which stay as dims of 1: AWS documents keepdims as ignored."""
    return _var(x, axis, dtype, True)


_ordered("all", "x", "axis", "dtype")
_ordered("softmax", "x", "axis", "dtype")
_ordered("rms_norm", "x", "w", "axis", "n", "epsilon", "dtype", "compute_dtype")
_ordered("where", "condition", "x", "y", "dtype")
_ordered("dropout", "x", "rate", "dtype")
_ordered("expand_dims", "x", "axis", x="data")
_ordered("broadcast_to", "x", "shape", "dtype", x="src")
_ordered("load_transpose2d", "src", "dtype")
_ordered("gather_flattened", "data", "indices", "axis", "dtype")
_ordered("load", "src", "dtype")
_ordered("ndarray", "shape", "dtype", "buffer", "name", "address")
_ordered("rand", "shape", "dtype", "buffer", "name")
_ordered("zeros_like", "x", "dtype", "buffer", "name", x="a")
_ordered("empty_like", "x", "dtype", "buffer", "name", x="a")


del _name


def shared_identity_matrix(n: int, dtype: Any = _beta.uint8, dst: Optional[_View] = None) -> _View:
    """The n x n identity matrix, in SBUF; in dst where that is given."""
    t = _beta.shared_identity_matrix(n, dtype)
    if dst is None:
        return t
    dst[...] = t
    return dst


_check_keywords(globals(), __name__, "nl")
__getattr__ = _module_names(__name__, "nl")
