"""Element types: NumPy dtypes, the library's names for them, and NKI's promotion rules.

bfloat16 and the 8-bit floats come from ml_dtypes. Without that package they are records with the bits (see _small_floats.py).
"""
from __future__ import annotations

from typing import Dict, Optional, Tuple

import numpy as np

from . import _small_floats

try:
    import ml_dtypes
except ImportError:  # pragma: no cover - depends on the machine
    ml_dtypes = None  # type: ignore[assignment]


class NoDataType(TypeError):
    """What was given names no element type."""


def _small_float(name: str, bytes_: int) -> np.dtype:
    kind = getattr(ml_dtypes, name, None) if ml_dtypes is not None else None
    return np.dtype(kind) if kind is not None else _small_floats.record(name, bytes_)


def public(d: np.dtype) -> object:
    """What users call a type: the type, or what stands for it where NumPy does not have it."""
    return _small_floats.Absent(d) if _small_floats.is_record(d) else d


bfloat16 = _small_float("bfloat16", 2)
float8_e4m3 = _small_float("float8_e4m3", 1)
float8_e5m2 = _small_float("float8_e5m2", 1)
float8_e4m3fn = _small_float("float8_e4m3fn", 1)
float8_e8m0fnu = _small_float("float8_e8m0fnu", 1)
float32 = np.dtype(np.float32)
float16 = np.dtype(np.float16)
int8, int16, int32 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32)
uint8, uint16, uint32 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32)
int64, uint64, float64 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)
bool_ = np.dtype(np.bool_)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
# Not storage types of their own: computed as f32.
tfloat32 = np.dtype(np.float32, metadata={"name": "tfloat32"})
# Four elements in one: carried as opaque integers.
float8_e4m3fn_x4 = np.dtype([("float8_e4m3fn_x4", "<u4")])
float8_e5m2_x4 = np.dtype([("float8_e5m2_x4", "<u4")])
float4_e2m1fn_x4 = np.dtype([("float4_e2m1fn_x4", "<u2")])

_NAMES: Dict[np.dtype, str] = {
    float32: "f32", float16: "f16", bfloat16: "bf16", float64: "f64",
    float8_e4m3: "f8e4m3", float8_e5m2: "f8e5m2", float8_e4m3fn: "f8e4m3fn", float8_e8m0fnu: "f8e8m0fnu",
    int8: "i8", int16: "i16", int32: "i32", int64: "i64", uint8: "u8", uint16: "u16", uint32: "u32", uint64: "u64",
    bool_: "bool", float8_e4m3fn_x4: "u32", float8_e5m2_x4: "u32", float4_e2m1fn_x4: "u16",
}
_NAMES.update({complex64: "c64", complex128: "c128"})
# Further types of ml_dtypes, by the library's names.
for _n, _d in {"i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
               "f8e3m4": "float8_e3m4", "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f4e2m1fn": "float4_e2m1fn",
               "f6e2m3fn": "float6_e2m3fn", "f6e3m2fn": "float6_e3m2fn"}.items():
    if ml_dtypes is not None and hasattr(ml_dtypes, _d):
        _NAMES[np.dtype(getattr(ml_dtypes, _d))] = _n
_FROM: Dict[str, np.dtype] = {}
for _d, _n in _NAMES.items():
    _FROM.setdefault(_n, _d)
_WIDTH = {float64: 8, float32: 4, float16: 2, bfloat16: 2, float8_e4m3: 1, float8_e5m2: 1, float8_e4m3fn: 1, float8_e8m0fnu: 1}
_WORDS = {"float32": float32, "float16": float16, "bfloat16": bfloat16, "float8_e4m3": float8_e4m3, "float8_e5m2": float8_e5m2,
          "float8_e4m3fn": float8_e4m3fn, "float8e4": float8_e4m3, "float8e5": float8_e5m2, "bool": bool_}


def to_dtype(x: object) -> np.dtype:
    """A NumPy dtype from whatever names one: a NumPy or ml_dtypes type, a torch or JAX dtype, a string."""
    if isinstance(x, np.dtype):
        return x if x.metadata is None else _small_floats.tag_of(x) or x
    if isinstance(x, _small_floats.Absent):
        return x.stored
    if isinstance(x, str) and x in _WORDS:
        return _WORDS[x]
    if x is bool:
        return bool_
    if x is int:
        return int32
    if x is float:
        return float32
    if type(x).__module__ == "torch":
        return to_dtype(str(x).rsplit(".", 1)[-1])
    try:
        return np.dtype(x)  # type: ignore[arg-type, call-overload, return-value]
    except TypeError:
        if not hasattr(x, "dtype"):
            raise NoDataType("%r names no data type; nl.float32, nl.bfloat16, nl.int32 and the like do" % (x,)) from None
        return to_dtype(getattr(x, "dtype"))


def name_of(d: np.dtype) -> str:
    """The library's name; KeyError for types it lacks."""
    return _NAMES[d]


def from_name(name: str) -> np.dtype:
    return _FROM[name]


def stored(d: np.dtype) -> np.dtype:
    """The type in which engines have elements of a type: of 64 bits, that of 32."""
    return {"f8": float32, "i8": int32, "u8": uint32}.get(d.str[1:], d)


def is_stored(d: np.dtype) -> bool:
    """Whether engines have elements of a type."""
    return d in _NAMES and d.kind != "c" and stored(d) == d


def is_float(d: np.dtype) -> bool:
    return d in _WIDTH


def is_packed(d: np.dtype) -> bool:
    """Whether an element is four of a smaller type."""
    return d in (float8_e4m3fn_x4, float8_e5m2_x4, float4_e2m1fn_x4)


def bits_of(d: np.dtype) -> np.dtype:
    """The unsigned integers of the size of a type."""
    return np.dtype("<u%d" % d.itemsize)


def is_integer(d: np.dtype) -> bool:
    return d.kind in "iub"


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """The result type of a two-input instruction (not NumPy's rule)."""
    if a == b:
        return a
    fa, fb = is_float(a), is_float(b)
    if fa != fb:
        return a if fa else b
    if fa:
        wa, wb = _WIDTH[a], _WIDTH[b]
        if wa != wb:
            return a if wa > wb else b
        return float32 if wa >= 2 else bfloat16
    if a.kind == "b" or b.kind == "b":
        return b if a.kind == "b" else a
    if a.kind == b.kind:
        return a if a.itemsize >= b.itemsize else b
    s, u = (a, b) if a.kind == "i" else (b, a)
    if s.itemsize > u.itemsize:
        return s
    return {1: int16, 2: int32}.get(u.itemsize, float32)


def of_scalar(x: object) -> np.dtype:
    """The type of a Python or NumPy scalar: Python's are weak but wide."""
    if isinstance(x, np.generic):
        return x.dtype
    if isinstance(x, bool):
        return uint8
    if isinstance(x, int):
        return int32
    return float32


_BF16_MAX = (2 - 2.0 ** -7) * 2.0 ** 127


class FloatInfo:
    """nl.finfo(dtype): min, max, eps, bits."""

    def __init__(self, dtype: object):
        d = to_dtype(dtype)
        try:
            f = np.finfo(d)
        except (TypeError, ValueError):
            if ml_dtypes is None and d == bfloat16:
                self.dtype, self.min, self.max, self.eps, self.bits, self.tiny = d, -_BF16_MAX, _BF16_MAX, 2.0 ** -7, 16, 2.0 ** -126
                return
            if ml_dtypes is None:
                raise
            f = ml_dtypes.finfo(d)
        self.dtype = d
        self.min, self.max, self.eps, self.bits = float(f.min), float(f.max), float(f.eps), int(f.bits)
        self.tiny = float(f.tiny)

    __init__.__qualname__ = "nl.finfo"  # in what Python says of a missing argument


