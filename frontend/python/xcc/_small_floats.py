"""bfloat16 and the 8-bit floats where ml_dtypes is not installed: what their bits mean, and what stands for them in NumPy.

Inside the package such a type is a record of the bits, whose second field names what is missing: NumPy refuses to make numbers of
it. Arrays that users see hold the values as float32, rounded to the type, and carry its name in their dtype's metadata. The public
names (nl.bfloat16) are Absent: equal to the type, accepted wherever the package takes one, refused by NumPy with a reason.
"""
from __future__ import annotations

import functools
from typing import Callable, Dict, List, Optional, Tuple

import numpy as np

# bits of exponent and mantissa, bias, whether the codes of the largest exponent are infinity and NaN
_FORMATS: Dict[str, Tuple[int, int, int, bool]] = {
    "float8_e4m3": (4, 3, 7, True), "float8_e5m2": (5, 2, 15, True), "float8_e4m3fn": (4, 3, 7, False),
    "float8_e8m0fnu": (8, 0, 127, False),
}
_TAG = "xcc"
inside_kernels: List[Callable[[], bool]] = []  # whether a kernel is being traced: its types are no NumPy arrays' types


def record(name: str, size: int) -> np.dtype:
    """The type inside the package."""
    return np.dtype({"names": [name, "needs_ml_dtypes"], "formats": ["<u%d" % size] * 2, "offsets": [0, 0], "itemsize": size})


def is_record(d: np.dtype) -> bool:
    return d.names is not None and len(d.names) == 2


def tagged(stored: np.dtype) -> np.dtype:
    """float32 that says which type its values are of."""
    return np.dtype(np.float32, metadata={_TAG: stored})


def tag_of(d: np.dtype) -> Optional[np.dtype]:
    return d.metadata.get(_TAG) if d.metadata else None


class Absent:
    """A type that NumPy does not have here."""

    def __init__(self, stored: np.dtype):
        self.stored = stored
        self.name = stored.names[0]  # type: ignore[index]
        self.itemsize = stored.itemsize

    @property
    def dtype(self) -> np.dtype:  # NumPy asks for it
        if any(tracing() for tracing in inside_kernels):
            return self.stored
        raise TypeError("NumPy has no %s here: install the package ml_dtypes (pip install ml_dtypes); for an array of it without that "
                        "package use nl.static_cast(array, nl.%s)" % (self.name, self.name))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Absent):
            return self.stored == other.stored
        return isinstance(other, np.dtype) and (other == self.stored or tag_of(other) == self.stored)

    def __hash__(self) -> int:
        return hash(self.stored)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:  # NumPy 1 drops the reason above and quotes this in its own
        return "%s (needs the package ml_dtypes)" % self.name


@functools.lru_cache(maxsize=None)
def _values(name: str) -> np.ndarray:
    """The value of each code."""
    exponent_bits, mantissa_bits, bias, special = _FORMATS[name]
    code = np.arange(256)
    if mantissa_bits == 0:
        v = np.ldexp(1.0, code - bias)
        v[255] = np.nan
        return v.astype(np.float64)
    e, m = (code >> mantissa_bits) & ((1 << exponent_bits) - 1), code & ((1 << mantissa_bits) - 1)
    v = np.where(e > 0, np.ldexp(1.0 + m / (1 << mantissa_bits), e - bias), np.ldexp(m / (1 << mantissa_bits), 1 - bias))
    if special:
        v = np.where(e == (1 << exponent_bits) - 1, np.where(m == 0, np.inf, np.nan), v)
    else:
        v = np.where((code & 127) == 127, np.nan, v)
    return np.where(code >= 128, -v, v)


def decode(x: np.ndarray) -> np.ndarray:
    """float32 values of an array of records; exact."""
    name = x.dtype.names[0]  # type: ignore[index]
    bits = np.ascontiguousarray(x).view(np.dtype("<u%d" % x.dtype.itemsize))
    if name == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return _values(name).astype(np.float32)[bits]


def encode(x: np.ndarray, stored: np.dtype) -> np.ndarray:
    """Numbers as records, rounded to nearest even."""
    name = stored.names[0]  # type: ignore[index]
    f = np.ascontiguousarray(np.asarray(x).astype(np.float32))
    if name == "bfloat16":
        bits = f.view(np.uint32)
        rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(f), (bits >> 16).astype(np.uint16) | np.uint16(0x40), rounded).astype("<u2").view(stored)
    signed = _FORMATS[name][1] > 0
    values = _values(name)
    top = int(np.nonzero(np.isfinite(values[:128] if signed else values))[0][-1])
    beyond = 2 * values[top] - values[top - 1] if signed else 2 * values[top]
    ladder = np.append(values[:top + 1], beyond)  # the last code's neighbour is infinity or NaN
    a = np.abs(f.astype(np.float64)) if signed else f.astype(np.float64)
    middle = (ladder[1:] + ladder[:-1]) / 2
    low = np.searchsorted(middle, a, side="left")
    tie = (low < middle.size) & (middle[np.minimum(low, middle.size - 1)] == a)
    code = np.where(tie & (low % 2 == 1), low + 1, low)
    if signed:
        code = np.where(np.isnan(f), 127, code) | np.where(np.signbit(f), 128, 0)
    else:
        code = np.where(np.isnan(f) | (f <= 0), 255, code)
    return code.astype(np.uint8).view(stored)
