"""MX formats: 32 elements of 8 or 4 bits (8 partitions x 4 elements that lie together) share a power of two.

A machine with these formats has one instruction for each; here they are sequences of others, with the same results. A tile of
P partitions keeps the scales of its groups of 8 in P / 8 partitions, or, where P is above 32, those of each 32 partitions in the
first 4 of these. A scale is one byte, x for 2^(x - 127).
"""
from __future__ import annotations

from typing import List, Tuple

from .. import dtypes
from ._compute import emit_activation, emit_binary, emit_matmul, emit_reduce, emit_scalars
from ._core import as_tile, emit_copy, emit_dma, result, shape_on_chip
from ._errors import NeedCpu, NkiNotSupported, NkiTypeError, error
from ._move import two_dims
from ._record import Dim
from ._tensor import View
from ._trace import need_trace

GROUP, QUADRANT = 8, 32  # partitions
_ELEMENT = {dtypes.float8_e4m3fn_x4: (dtypes.float8_e4m3fn, 8), dtypes.float8_e5m2_x4: (dtypes.float8_e5m2, 15)}  # and its largest exponent
_SCALES = (dtypes.uint8, dtypes.float8_e8m0fnu)


def _tile(x: object, api: str, what: str) -> View:
    """Partitions x one free dim."""
    return two_dims(as_tile(x, api, what), api, what)


def _flat(x: object, api: str, what: str) -> View:
    """The same of a destination, whose free dims step like one."""
    v = as_tile(x, api, what)
    return v.reshape((shape_on_chip(v)[0], -1))


def _check(data: View, scale: View, api: str, what: str) -> None:
    t = need_trace(api)
    if t.target != "cpu" and t.state.get("platform_target") == "trn3":
        raise NeedCpu("MX formats, which no target has")
    if t.target != "cpu":
        raise error(api, "%s has no MX formats, trn3 has: write nki.jit(platform_target='trn3'), or run it with XCC_NKI_TARGET=cpu" % t.target,
                    NkiNotSupported)
    p, columns = data.shape
    if p % QUADRANT or p > 128:
        raise error(api, "%s has %d partitions, expected 32, 64, 96 or 128" % (what, p), NkiTypeError)
    if scale.dtype not in _SCALES:
        raise error(api, "the scale of %s is %s, expected nl.float8_e8m0fnu or nl.uint8" % (what, scale.dtype), NkiTypeError)
    rows, width = scale.shape
    least = p // GROUP if p <= QUADRANT else p - QUADRANT + QUADRANT // GROUP
    if rows < least or width < columns:
        raise error(api, "the scale of %s has shape %s, expected (%d, %d): for each 8 partitions and each 4 elements one byte, those of "
                    "32 partitions in the first 4 of them" % (what, scale.shape, max(least, p if p > QUADRANT else 0), columns), NkiTypeError)


def _quadrants(scale: View, p: int, columns: int) -> List[View]:
    """The scales of each 32 partitions, (4, columns)."""
    (apart, _), (step, _) = scale.dims
    groups = QUADRANT // GROUP
    return [scale.like(scale.offset + q * QUADRANT * apart, [(apart, groups), (step, columns)], 0) for q in range(p // QUADRANT)]


def _rows(x: View, first: int, dims: List[Dim]) -> View:
    return x.like(x.offset + first * x.dims[0][0], dims, 0)


def _spread(factors: List[View], p: int, columns: int, api: str) -> View:
    """f32 (P, columns) from factors of groups, (4, columns) for each 32 partitions: a transfer repeats rows."""
    out = result((p, columns), dtypes.float32)
    for q, f in enumerate(factors):
        (apart, groups), (step, _) = f.dims
        over = out.dims[0][0]
        emit_dma(_rows(out, q * QUADRANT, [(GROUP * over, groups), (over, GROUP), (1, columns)]),
                 f.like(f.offset, [(apart, groups), (0, GROUP), (step, columns)], 0), api)
    return out


def _elements(data: View, api: str, what: str) -> View:
    """f32 (P, columns, 4): what the elements of a packed tile are before they are scaled."""
    p, columns = shape_on_chip(data)
    out = result((p, columns, 4), dtypes.float32)
    if data.dtype in _ELEMENT:
        emit_copy(out, data.view(_ELEMENT[data.dtype][0]).reshape((p, columns, 4)), api)
    elif data.dtype == dtypes.float4_e2m1fn_x4:
        _nibbles(out, data.view(dtypes.uint8).reshape((p, columns, 2)), api)
    else:
        raise error(api, "%s is %s, expected nl.float8_e4m3fn_x4, nl.float8_e5m2_x4 or nl.float4_e2m1fn_x4" % (what, data.dtype), NkiTypeError)
    return out


def _nibbles(out: View, bytes_: View, api: str) -> None:
    """Codes of 4 bits, the lower half of a byte first: a sign, then m for max(m / 2, m - 2, 2 m - 8)."""
    p, columns, _ = out.shape
    for half, (op, by) in enumerate((("and", 15), ("shift_right", 4))):
        code, value, other = result(bytes_.shape, dtypes.uint8), result(bytes_.shape, dtypes.float32), result(bytes_.shape, dtypes.float32)
        emit_scalars(code, bytes_, [(op, by, False)], api)
        m = result(bytes_.shape, dtypes.uint8)
        emit_scalars(m, code, [("and", 7, False)], api)
        emit_scalars(value, m, [("mul", 0.5, False)], api)
        for factor, less in ((1.0, 2.0), (2.0, 8.0)):
            emit_scalars(other, m, [("mul", factor, False), ("sub", less, False)], api)
            emit_binary(value, "max", value, other, api)
        emit_scalars(m, code, [("shift_right", 3, False)], api)
        emit_scalars(other, m, [("mul", -2.0, False), ("add", 1.0, False)], api)
        d = out.dims
        emit_binary(out.like(out.offset + half, [d[0], d[1], (2, 2)], 0), "mul", value, other, api)


def _dequantized(data: View, scale: View, api: str, what: str) -> View:
    """f32 (P, columns, 4)."""
    _check(data, scale, api, what)
    p, columns = shape_on_chip(data)
    values = _elements(data, api, what)
    seen = scale if scale.dtype == dtypes.float8_e8m0fnu else scale.view(dtypes.float8_e8m0fnu)
    factors = []
    for q in _quadrants(seen, p, columns):
        f = result(q.shape, dtypes.float32)
        emit_dma(f, q, api)
        factors.append(f)
    spread = _spread(factors, p, columns, api)
    emit_binary(values, "mul", values, spread.like(spread.offset, list(spread.dims) + [(0, 4)], 0), api)
    return values


def emit_matmul_mx(dst: View, stationary: View, moving: View, stationary_scale: View, moving_scale: View, add: int, api: str) -> None:
    """dst[M, N] (+)= the sum over partitions and over the 4 elements of both factors, scaled."""
    factors = []
    for data, scale, what in ((stationary, stationary_scale, "stationary"), (moving, moving_scale, "moving")):
        factors.append(_dequantized(_tile(data, api, what), _tile(scale, api, "the scale of " + what), api, what))
    a, b = factors
    if a.shape[0] != b.shape[0]:
        raise error(api, "stationary has %d partitions and moving %d; both are the contraction" % (a.shape[0], b.shape[0]), NkiTypeError)
    columns = b.shape[1]
    flat = dst.reshape((shape_on_chip(dst)[0], columns)) if dst.shape != (a.shape[1], columns) else dst
    for n in range(0, columns, 512):
        last = min(n + 512, columns)
        for k in range(4):
            emit_matmul(flat[:, n:last], a[:, :, k], b[:, n:last, k], api, add if k == 0 else 1)


def emit_quantize_mx(dst: View, src: View, dst_scale: View, api: str) -> None:
    """dst = src over a power of two for each group: 2^(floor(log2 of the largest magnitude) - (largest exponent - 1)), in dst_scale."""
    dst, src, dst_scale = _flat(dst, api, "dst"), _tile(src, api, "src"), _flat(dst_scale, api, "dst_scale")
    if dst.dtype not in _ELEMENT:
        raise error(api, "dst is %s, expected nl.float8_e4m3fn_x4 or nl.float8_e5m2_x4" % dst.dtype, NkiTypeError)
    _check(dst, dst_scale, api, "dst")
    p, columns = shape_on_chip(dst)
    if src.dtype not in (dtypes.float16, dtypes.bfloat16):
        raise error(api, "src is %s, expected nl.bfloat16 or nl.float16" % src.dtype, NkiTypeError)
    if src.size != 4 * dst.size or shape_on_chip(src)[0] != p:
        raise error(api, "src has shape %s, expected (%d, %d)" % (src.shape, p, 4 * columns), NkiTypeError)
    src = src.reshape((p, columns, 4))
    element, top = _ELEMENT[dst.dtype]
    seen = dst_scale if dst_scale.dtype == dtypes.uint8 else dst_scale.view(dtypes.uint8)
    inverse = []
    for q, out in enumerate(_quadrants(seen, p, columns)):
        code, factor = _group_scales(src[q * QUADRANT:(q + 1) * QUADRANT], top, api)
        emit_dma(out, code, api)
        inverse.append(factor)
    spread, scaled = _spread(inverse, p, columns, api), result(src.shape, dtypes.float32)
    emit_binary(scaled, "mul", src, spread.like(spread.offset, list(spread.dims) + [(0, 4)], 0), api)
    emit_copy(dst.view(element).reshape((p, columns, 4)), scaled, api)


def _group_scales(x: View, top: int, api: str) -> Tuple[View, View]:
    """Of 32 partitions: the codes of the scales, u8, and what the elements are multiplied by, f32, (4, columns) each."""
    columns, groups = x.shape[1], QUADRANT // GROUP
    size, most = result(x.shape, dtypes.float32), result((QUADRANT, columns), dtypes.float32)
    emit_activation(size, "abs", x, api)
    emit_reduce(most, "max", size, [2], api)
    turned, largest = result((groups, columns, GROUP), dtypes.float32), result((groups, columns), dtypes.float32)
    apart = most.dims[0][0]
    emit_dma(turned, most.like(most.offset, [(GROUP * apart, groups), (1, columns), (apart, GROUP)], 0), api)
    emit_reduce(largest, "max", turned, [2], api)
    exponent, code = result(largest.shape, dtypes.uint32), result(largest.shape, dtypes.uint8)
    emit_scalars(exponent, largest.view(dtypes.uint32), [("shift_right", 23, False)], api)
    clipped = result(largest.shape, dtypes.float32)
    emit_scalars(clipped, exponent, [("sub", float(top - 1), False), ("max", 0.0, False)], api)
    emit_copy(code, clipped, api)
    emit_scalars(exponent, clipped, [("mul", -1.0, False), ("add", 254.0, False)], api)
    factor = result(largest.shape, dtypes.float32)
    emit_scalars(factor.view(dtypes.uint32), exponent, [("shift_left", 23, False)], api)
    return code, factor
