"""Names of operations: what kernels pass as `op` (nl.add, np.add, "add") and what the library calls them."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from ._errors import NkiTypeError, error

# Names under which an operation may be passed -> the library's elementwise operator.
_NAMES: Dict[str, str] = {
    "add": "add", "sum": "add", "subtract": "sub", "sub": "sub", "multiply": "mul", "mul": "mul", "prod": "mul", "product": "mul",
    "divide": "div", "true_divide": "div", "div": "div", "truediv": "div",
    "maximum": "max", "max": "max", "amax": "max", "fmax": "max", "minimum": "min", "min": "min", "amin": "min", "fmin": "min",
    "power": "pow", "pow": "pow", "float_power": "pow", "mod": "mod", "remainder": "mod", "fmod": "rem",
    "floor_divide": "floordiv", "floordiv": "floordiv",
    "equal": "eq", "eq": "eq", "not_equal": "ne", "ne": "ne", "less": "lt", "lt": "lt", "less_equal": "le", "le": "le",
    "greater": "gt", "gt": "gt", "greater_equal": "ge", "ge": "ge",
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "and_": "and", "or_": "or", "xor": "xor",
    "invert": "bitnot", "bitwise_not": "bitnot", "bitwise_invert": "bitnot",
    "left_shift": "shift_left", "lshift": "shift_left", "right_shift": "shift_right", "rshift": "shift_right",
    "arith_shift_right": "shift_right", "logical_shift_left": "shift_left", "logical_shift_right": "shift_right",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not": "logical_not",
    "abs_max": "abs_max", "abs_min": "abs_min", "all": "logical_and", "any": "logical_or", "average": "average", "mean": "average",
    "bypass": "bypass",
    # one operand
    "copy": "identity", "identity": "identity", "square": "square", "sigmoid": "sigmoid", "relu": "relu", "gelu": "gelu",
    "gelu_apprx_tanh": "gelu_tanh", "gelu_apprx_sigmoid": "gelu_sigmoid", "gelu_dx": "gelu_dx",
    "gelu_apprx_sigmoid_dx": "gelu_sigmoid_dx", "silu": "silu", "silu_dx": "silu_dx", "tanh": "tanh", "softplus": "softplus",
    "mish": "mish", "erf": "erf", "erf_dx": "erf_dx", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
    "arctan": "atan", "atan": "atan", "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "sign": "sign",
    "abs": "abs", "absolute": "abs", "fabs": "abs", "negative": "neg", "neg": "neg", "ceil": "ceil", "floor": "floor",
    "trunc": "trunc", "rint": "round", "round": "round", "prelu": "prelu",
}
COMPARES = ("eq", "ne", "lt", "le", "gt", "ge")
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
BITS = ("and", "or", "xor", "bitnot", "shift_left", "shift_right")
UNARY = ("identity", "square", "sigmoid", "relu", "gelu", "gelu_tanh", "gelu_sigmoid", "gelu_dx", "gelu_sigmoid_dx", "silu", "silu_dx",
         "tanh", "softplus", "mish", "erf", "erf_dx", "exp", "log", "sin", "cos", "tan", "atan", "sqrt", "rsqrt", "reciprocal", "sign",
         "abs", "neg", "ceil", "floor", "trunc", "round", "bitnot", "logical_not", "bypass")
# The value that leaves the other operand as it is.
NEUTRAL: Dict[str, float] = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf"), "or": 0, "xor": 0, "and": -1,
                             "logical_and": 1, "logical_or": 0, "logical_xor": 0, "sub": 0.0, "abs_max": 0.0, "abs_min": float("inf")}


def op_name(op: Any, api: Optional[str] = None) -> str:
    """The library's name of an operation given as a function of nl or NumPy, or by name."""
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if isinstance(name, str):
        name = name.rsplit(".", 1)[-1]
        if name in _NAMES:
            return _NAMES[name]
        if name in _NAMES.values():
            return name
    raise error(api, "%s is not an operation of the interface; pass one by its function, such as nl.add, np.multiply, nl.exp" %
                (name if callable(op) and isinstance(name, str) else repr(op)), NkiTypeError)


def is_unary(op: str) -> bool:
    return op in UNARY
