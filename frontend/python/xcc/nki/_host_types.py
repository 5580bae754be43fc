"""What AWS's neuron_dtypes and neuronxcc.starfish.support.dtype offer to scripts: element types, and arrays made of them."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _arrays, dtypes
from ..dtypes import FloatInfo as finfo
from .language import (bfloat16, float8_e4m3, float8_e4m3fn, float8_e5m2, float16, float32, int8, int16, int32,
                       float4_e2m1fn_x4, float8_e4m3fn_x4, float8_e5m2_x4, tfloat32, uint8, uint16, uint32)

__all__ = ["static_cast", "sizeinbytes", "is_float_type", "finfo", "bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float16",
           "float32", "int8", "int16", "int32", "float4_e2m1fn_x4", "float8_e4m3fn_x4", "float8_e5m2_x4", "tfloat32", "uint8", "uint16",
           "uint32"]


def static_cast(data: Any, dtype: Any) -> Any:
    """An array, PyTorch's too, in another type: a NumPy array. Four numbers of the last dim become one element of an _x4 type."""
    return _arrays.for_user(_arrays.convert(_arrays.to_numpy(data), dtypes.to_dtype(dtype)))


def sizeinbytes(dtype: Any) -> int:
    """Bytes of an element."""
    return dtypes.to_dtype(dtype).itemsize


def is_float_type(dtype: Any) -> bool:
    """Whether elements are floats, of whatever size."""
    d = dtypes.to_dtype(dtype)
    return dtypes.is_float(d) or dtypes.is_packed(d) or np.issubdtype(d, np.floating)
