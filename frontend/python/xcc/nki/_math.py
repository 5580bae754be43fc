"""The elementwise functions of nl, made from one table; each is also an operation that instructions take (`op=nl.exp`)."""
from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np

from .. import dtypes
from ._compute import binary, emit_scalars, emit_unary, unary
from ._core import as_tile, is_number, number, result, shape_on_chip
from ._keywords import check_keywords
from ._mask import region_of
from ._ops import op_name
from ._tensor import View

_BINARY = {
    "add": "x + y", "subtract": "x - y", "multiply": "x * y", "divide": "x / y", "maximum": "the larger of x and y",
    "minimum": "the smaller of x and y", "power": "x to the power of y", "mod": "x - floor(x / y) * y, the sign of y",
    "fmod": "x - trunc(x / y) * y, the sign of x", "equal": "x == y as 0 or 1", "not_equal": "x != y as 0 or 1", "less": "x < y as 0 or 1",
    "less_equal": "x <= y as 0 or 1", "greater": "x > y as 0 or 1", "greater_equal": "x >= y as 0 or 1",
    "bitwise_and": "x & y of integers", "bitwise_or": "x | y of integers", "bitwise_xor": "x ^ y of integers",
    "left_shift": "x << y of integers", "right_shift": "x >> y of integers, zeros from the left",
    "logical_and": "x and y as 0 or 1", "logical_or": "x or y as 0 or 1", "logical_xor": "x xor y as 0 or 1",
    "abs_max": "x where |x| > |y|, else y", "abs_min": "x where |x| < |y|, else y", "floor_divide": "floor(x / y)",
}
_UNARY = {
    "exp": "e to the x", "log": "natural logarithm", "sin": "sine", "cos": "cosine", "tan": "tangent", "arctan": "arc tangent",
    "tanh": "hyperbolic tangent", "sqrt": "square root", "rsqrt": "1 / sqrt(x)", "reciprocal": "1 / x", "square": "x * x",
    "abs": "absolute value", "negative": "-x", "sign": "-1, 0 or 1", "sigmoid": "1 / (1 + exp(-x))", "relu": "max(x, 0)",
    "gelu": "x * Phi(x)", "gelu_dx": "derivative of gelu", "gelu_apprx_tanh": "gelu by its tanh approximation",
    "gelu_apprx_sigmoid": "x * sigmoid(1.702 x)", "gelu_apprx_sigmoid_dx": "derivative of gelu_apprx_sigmoid", "silu": "x * sigmoid(x)",
    "silu_dx": "derivative of silu", "softplus": "log(1 + exp(x))", "mish": "x * tanh(softplus(x))", "erf": "error function",
    "erf_dx": "derivative of erf", "ceil": "rounded up", "floor": "rounded down", "trunc": "rounded towards 0",
    "invert": "bits of integers inverted", "logical_not": "1 where x is 0", "bitwise_not": "bits of integers inverted",
}


def _make_binary(name: str, doc: str) -> Callable[..., Any]:
    op = op_name(name)

    def f(x: Any, y: Any, dtype: Any = None, mask: Any = None, **kw: Any) -> Any:
        return binary(op, x, y, dtype, mask, "nl." + name)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "%s, element by element; tiles broadcast in their free dims. dtype: of the result; mask: where it is computed." % doc
    return f


def _make_unary(name: str, doc: str) -> Callable[..., Any]:
    op = op_name(name)

    def f(x: Any, dtype: Any = None, mask: Any = None, **kw: Any) -> Any:
        return unary(op, x, dtype, mask, "nl." + name)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "%s of each element, computed in f32. dtype: of the result; mask: where it is computed." % doc
    return f


functions: Dict[str, Callable[..., Any]] = {n: _make_binary(n, d) for n, d in _BINARY.items()}
functions.update({n: _make_unary(n, d) for n, d in _UNARY.items()})
check_keywords(functions, __name__, "nl")
