"""Four small floats in one element, on the host: float8_e4m3fn_x4, float8_e5m2_x4 and float4_e2m1fn_x4, the first one lowest."""
from __future__ import annotations

import numpy as np

from . import _small_floats, dtypes

_EIGHT_BITS = {dtypes.float8_e4m3fn_x4: dtypes.float8_e4m3fn, dtypes.float8_e5m2_x4: dtypes.float8_e5m2}
_FOUR_BITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)  # the magnitude of each code


def _nibbles(x: np.ndarray) -> np.ndarray:
    """The codes of numbers, of two equally near the even one; beyond the largest it stays the largest."""
    size, middle = np.abs(x), (_FOUR_BITS[1:] + _FOUR_BITS[:-1]) / 2
    code = np.searchsorted(middle, size, side="left")
    tie = (code < 7) & (middle[np.minimum(code, 6)] == size)
    return (np.where(tie, code + code % 2, code) | np.where(np.signbit(x), 8, 0)).astype(np.uint16)


def pack(x: np.ndarray, d: np.dtype) -> np.ndarray:
    """(..., 4 n) numbers as (..., n) elements."""
    if x.ndim == 0 or x.shape[-1] % 4:
        raise ValueError("an array of shape %s cannot become %s: the last dim is not a multiple of 4" % (x.shape, d.names[0]))  # type: ignore[index]
    f = np.ascontiguousarray(x.astype(np.float32))
    if d in _EIGHT_BITS:
        small = _EIGHT_BITS[d]
        return (_small_floats.encode(f, small) if _small_floats.is_record(small) else f.astype(small)).view(d)
    codes = _nibbles(f).reshape(x.shape[:-1] + (x.shape[-1] // 4, 4)) << np.arange(0, 16, 4, dtype=np.uint16)
    return np.bitwise_or.reduce(codes, axis=-1).astype("<u2").view(d)


def unpack(x: np.ndarray) -> np.ndarray:
    """(..., n) elements as (..., 4 n) numbers, float32."""
    bits = np.ascontiguousarray(x)
    if x.dtype in _EIGHT_BITS:
        small = bits.view(_EIGHT_BITS[x.dtype])
        return _small_floats.decode(small) if _small_floats.is_record(small.dtype) else small.astype(np.float32)
    code = bits.view("<u2")[..., None] >> np.arange(0, 16, 4, dtype=np.uint16) & 15
    value = np.where(code >= 8, -_FOUR_BITS[code & 7], _FOUR_BITS[code & 7])
    return value.reshape(x.shape[:-1] + (4 * x.shape[-1],))
