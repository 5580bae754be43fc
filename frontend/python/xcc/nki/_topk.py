"""nisa.topk: the largest of what each 16 partitions hold, by max8 and nc_match_replace8."""
from __future__ import annotations

from .. import dtypes
from ._core import emit_dma, result, shape_on_chip
from ._errors import NkiTypeError, error
from ._special import emit_match_replace8, emit_max8
from ._tensor import View

SPREAD, LONGEST = 16, 16384  # partitions that hold one sequence; elements that max8 looks at


def _check(values: View, places: View, src: View, n: int, api: str) -> None:
    p, columns = shape_on_chip(src)
    k = values.shape[1]
    if src.dtype != dtypes.bfloat16 or values.dtype != dtypes.bfloat16 or places.dtype != dtypes.uint32:
        raise error(api, "val_dst, idx_dst and src are %s, %s and %s, expected bfloat16, uint32 and bfloat16" %
                    (values.dtype, places.dtype, src.dtype), NkiTypeError)
    if p % SPREAD or values.shape != (p, k) or places.shape != (p, k):
        raise error(api, "val_dst, idx_dst and src have shapes %s, %s and %s, expected as many partitions, a multiple of 16" %
                    (values.shape, places.shape, src.shape), NkiTypeError)
    if not 8 <= n <= LONGEST or columns * SPREAD < n or not 1 <= k <= n:
        raise error(api, "n is %d and k %d; n is 8 to %d and what 16 partitions of %d elements hold, k at most n" % (n, k, LONGEST, columns),
                    NkiTypeError)


def emit_topk(values: View, places: View, src: View, n: int, api: str) -> None:
    """values[p, j], places[p, j] = the K largest of the first n elements of p's 16 partitions (element 16 c + i is column c of the
    i-th), smallest first, and where they stand."""
    _check(values, places, src, n, api)
    p, k = values.shape
    groups, apart = p // SPREAD, src.dims[0][0]
    rows = result((groups, n), dtypes.bfloat16)
    over, whole, step = rows.dims[0][0], n // SPREAD, src.dims[1][0]
    for g in range(groups):
        first, here = rows.offset + g * over, src.offset + g * SPREAD * apart
        if whole:
            emit_dma(rows.like(first, [(0, 1), (SPREAD, whole), (1, SPREAD)], 0), src.like(here, [(0, 1), (step, whole), (apart, SPREAD)], 0), api)
        if n % SPREAD:
            emit_dma(rows.like(first + whole * SPREAD, [(0, 1), (1, n % SPREAD)], 0),
                     src.like(here + whole * step, [(0, 1), (apart, n % SPREAD)], 0), api)
    rounds = -(-k // 8)
    top, at = result((groups, 8 * rounds), dtypes.bfloat16), result((groups, 8 * rounds), dtypes.uint32)
    for r in range(rounds):
        part = slice(8 * r, 8 * r + 8)
        emit_max8(top[:, part], rows, api)
        left = result((groups, n), dtypes.bfloat16)
        emit_match_replace8(left, rows, top[:, part], float("-inf"), at[:, part], api)
        rows = left
    for dst, found in ((values, top), (places, at)):
        row, first = found.dims[0][0], dst.dims[0][0]
        for g in range(groups):
            emit_dma(dst.like(dst.offset + g * SPREAD * first, [(first, SPREAD), (dst.dims[1][0], k)], 0),
                     found.like(found.offset + g * row + k - 1, [(0, SPREAD), (-1, k)], 0), api)
