"""nisa: instructions that return their results (the form of neuronxcc.nki.isa). Those of xcc.nki.v06.isa have a destination.

Common arguments: mask restricts what is computed; dtype is the result's type; engine, name and modes of transfer do not change
results and are accepted.
"""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from .. import dtypes as _dtypes
from . import _compute, _move, _random, _special
from ._core import as_tile as _as_tile, emit_copy as _emit_copy, emit_dma as _emit_dma, emit_fill as _emit_fill, emit_iota as _emit_iota
from ._core import number as _number, result as _result, shape_on_chip as _shape_on_chip
from ._cores import core_barrier, sendrecv  # noqa: F401
from ._enums import (constants, dge_mode, dma_engine, engine, engine_name as _engine_name, get_nc_sub_version, get_nc_version,  # noqa: F401
                     matmul_perf_mode, nc_version, oob_mode, reduce_cmd, skips as _skips)
from ._errors import NkiTypeError, error as _error, module_names as _module_names
from ._index import Expr as _Expr, Mask as _Mask
from ._keywords import check_keywords as _check_keywords
from ._mask import Region as _Region, region_of as _region_of
from ._ops import op_name as _op_name
from ._tensor import View as _View
from ._unavailable import make as _unavailable

fp32 = _dtypes.FloatInfo(_dtypes.float32)
tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, dma_queue_engine, unknown_engine = engine.gpsimd, engine.dma, engine.unknown


def _where(mask: Any, shape: Sequence[int]) -> Tuple[_Region, Optional[_Region]]:
    r = _region_of(mask, shape)
    return r, None if r.trivial else r


def _rows_of(out: _View, region: _Region) -> _View:
    """The result for each row of a region of a tile."""
    out.region = region.along(out.shape, [0] + [None] * (out.ndim - 1), True)
    return out


def _done(out: _View, region: _Region) -> _View:
    if not region.trivial:
        out.region = region
    return out


def _type(dtype: Any, default: Any) -> np.dtype:
    return default if dtype is None else _dtypes.to_dtype(dtype)


def _command(c: Any) -> Optional[str]:
    return None if c is None else c.name if isinstance(c, reduce_cmd) else str(c)


# -- products and transposes -----------------------------------------------------------------------------------------


def nc_matmul(stationary: _View, moving: _View, *, is_stationary_onezero: Any = False, is_moving_onezero: Any = False,
              is_transpose: Any = False, tile_position: Any = (), tile_size: Any = (), perf_mode: Any = None, mask: Any = None,
              **kw: Any) -> _View:
    """stationary[K, M] transposed, times moving[K, N]: [M, N] in PSUM, f32. K, M at most 128, N at most 512."""
    return _compute.product(stationary, moving, "nc_matmul", mask)


def nc_transpose(data: _View, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **kw: Any) -> _View:
    """[P, F] becomes [F, P], in PSUM (by the vector engine, up to 32 x 32: in SBUF)."""
    vector = engine is vector_engine
    return _move.transposed(data, "nc_transpose", dtype, mask, "sbuf" if vector else "psum")


def dma_transpose(src: _View, *, axes: Any = None, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """A transpose by DMA: 2-D [1, 0], 3-D [2, 1, 0], 4-D [3, 1, 2, 0]."""
    return _move.dma_transposed(src, axes, dtype, mask)


# -- elementwise -----------------------------------------------------------------------------------------------------


def activation(op: Any, data: _View, *, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None,
               reduce_cmd: Any = reduce_cmd.idle, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """op(data * scale + bias), bias (P, 1), scale a number or (P, 1); perhaps the rows' sums into reduce_res."""
    return _activated(op, data, bias, scale, reduce_op, reduce_res, reduce_cmd, mask, dtype, "activation")


def _activated(op: Any, data: _View, bias: Any, scale: Any, reduce_op: Any, reduce_res: Any, command: Any, mask: Any, dtype: Any,
               api: str) -> _View:
    data = _as_tile(data, api, "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, data.dtype))
    _activate(out, _op_name(op, api), data, scale, bias, sub, reduce_op, reduce_res, _command(command), api)
    return _done(out, region)


def _activate(out: _View, op: str, data: _View, scale: Any, bias: Any, region: Optional[_Region], reduce_op: Any, reduce_res: Any,
             command: Optional[str], api: str) -> None:
    """out = op(data * scale + bias), and what reduce_cmd asks for."""
    op = "relu" if op == "prelu" else op  # its slope is activate2's to give, 0 elsewhere
    if bias is not None and not isinstance(bias, _View):
        b = _result((_shape_on_chip(data)[0], 1), _dtypes.float32)
        _emit_fill(b, _number(bias, api), api)
        bias = b
    wants = reduce_res is not None or command not in (None, "idle")
    if not wants:
        _compute.emit_activation(out, op, data, api, scale, bias, region)
        return
    how = "add" if reduce_op is None else _op_name(reduce_op, api)
    command = "reset_reduce" if command == "idle" else command
    rows = _move.as_rows(out, data)
    if how == "add" and rows is not None and region is None and command in ("reset_reduce", "reduce"):
        registers = _special.register("act", rows[0].shape[0], api)
        part = registers if command == "reset_reduce" else _result((rows[0].shape[0], 1), _dtypes.float32)
        _compute.emit_activation(rows[0], op, rows[1], api, scale, bias, None, part)
        if command == "reduce":
            _compute.emit_binary(registers, "add", registers, part, api)
        if reduce_res is not None:
            _emit_copy(_special.seen_as_rows(reduce_res, rows[0].shape[0]), registers, api)
        return
    value, separate = _special.in_f32(out, region)
    _compute.emit_activation(value, op, data, api, scale, bias, region)
    _special.reduce_into_register("act", value, how, command, reduce_res, api, region)
    if separate:
        _emit_copy(out, value, api, region)


def activation_reduce(op: Any, data: _View, *, reduce_op: Any, reduce_res: _View, bias: Any = None, scale: Any = 1.0, mask: Any = None,
                      dtype: Any = None, **kw: Any) -> _View:
    """activation, with the rows' sums in reduce_res."""
    return _activated(op, data, bias, scale, reduce_op, reduce_res, reduce_cmd.reset_reduce, mask, dtype, "activation_reduce")


def tensor_tensor(data1: _View, data2: _View, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None, **kw: Any) -> _View:
    """op(data1, data2)."""
    return _compute.binary(_op_name(op, "tensor_tensor"), _as_tile(data1, "tensor_tensor", "data1"), _as_tile(data2, "tensor_tensor", "data2"),
                           dtype or _tensor_type(data1, data2), mask, "tensor_tensor")


def _tensor_type(a: _View, b: _View) -> np.dtype:
    return _dtypes.promote(a.dtype, b.dtype)


def tensor_scalar(data: _View, op0: Any, operand0: Any, reverse0: Any = False, op1: Any = None, operand1: Any = None,
                  reverse1: Any = False, *, dtype: Any = None, mask: Any = None, engine: Any = None, **kw: Any) -> _View:
    """op1(op0(data, operand0), operand1); operands numbers or (P, 1)."""
    data = _as_tile(data, "tensor_scalar", "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, data.dtype))
    ops = [(_op_name(op0, "tensor_scalar"), operand0, bool(reverse0))]
    if op1 is not None:
        ops.append((_op_name(op1, "tensor_scalar"), operand1, bool(reverse1)))
    _compute.emit_scalars(out, data, ops, "tensor_scalar", sub)
    return _done(out, region)


def scalar_tensor_tensor(*, data: _View, op0: Any, operand0: Any, op1: Any, operand1: _View, reverse0: Any = False, reverse1: Any = False,
                         dtype: Any = None, mask: Any = None, **kw: Any) -> _View:
    """op1(op0(data, operand0), operand1); operand0 a number or (P, 1), operand1 a tile."""
    data = _as_tile(data, "scalar_tensor_tensor", "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, _dtypes.promote(data.dtype, operand1.dtype)))
    _compute.emit_scalars(out, data, [(_op_name(op0), operand0, bool(reverse0)), (_op_name(op1), operand1, bool(reverse1))],
                          "scalar_tensor_tensor", sub)
    return _done(out, region)


def tensor_scalar_reduce(*, data: _View, op0: Any, operand0: Any, reduce_op: Any, reduce_res: _View, reverse0: Any = False,
                         dtype: Any = None, mask: Any = None, **kw: Any) -> _View:
    """op0(data, operand0), with its reduction along rows in reduce_res."""
    data = _as_tile(data, "tensor_scalar_reduce", "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, data.dtype))
    rows = _special.seen_as_rows(reduce_res, shape[0])
    flat = _move.as_rows(out, data)
    if flat is not None and sub is None and _op_name(reduce_op) in ("add", "mul", "max", "min"):
        _compute.emit_scalars(flat[0], flat[1], [(_op_name(op0), operand0, bool(reverse0))], "tensor_scalar_reduce", None, None, rows,
                              _op_name(reduce_op))
        return out
    value, separate = _special.in_f32(out, sub)
    _compute.emit_scalars(value, data, [(_op_name(op0), operand0, bool(reverse0))], "tensor_scalar_reduce", sub)
    _compute.emit_reduce(rows, _op_name(reduce_op), value, list(range(1, len(shape))), "tensor_scalar_reduce", sub)
    if separate:
        _emit_copy(out, value, "tensor_scalar_reduce", sub)
    return _done(out, region)


def reciprocal(data: _View, *, dtype: Any = None, mask: Any = None, **kw: Any) -> _View:
    """1 / data."""
    return _compute.unary("reciprocal", data, dtype, mask, "reciprocal")


def tensor_copy(src: _View, *, mask: Any = None, dtype: Any = None, engine: Any = None, **kw: Any) -> _View:
    """A new tile with src's elements."""
    return _move.copy(src, dtype, mask, "tensor_copy", _engine_name(engine))  # type: ignore[arg-type]


def tensor_copy_dynamic_src(src: _View, *, mask: Any = None, dtype: Any = None, engine: Any = None, **kw: Any) -> _View:
    """A copy whose source address a tile's element gives: src[ix, offset[0, 0] + iy]."""
    return _move.copy(src, dtype, mask, "tensor_copy_dynamic_src")


def tensor_copy_dynamic_dst(*, dst: _View, src: _View, mask: Any = None, engine: Any = None, **kw: Any) -> None:
    """A copy whose destination address a tile's element gives."""
    region = _region_of(mask, _shape_on_chip(dst))
    _emit_copy(dst, src, "tensor_copy_dynamic_dst", None if region.trivial else region)


def tensor_copy_predicated(*, src: Any, dst: _View, predicate: _View, mask: Any = None, reverse_pred: Any = False, **kw: Any) -> _View:
    """dst = src where predicate is not 0 (reverse_pred: where it is)."""
    region = _region_of(mask, _shape_on_chip(dst))
    a, b = (dst, src) if reverse_pred else (src, dst)
    to = _result(_shape_on_chip(dst), dst.dtype) if region.rest else dst
    _special.emit_where(to, predicate, a, b, "tensor_copy_predicated", None if region.trivial or region.rest else region)
    if region.rest:
        _emit_copy(dst, to, "tensor_copy_predicated", region)
    return dst


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = None, **kw: Any) -> _View:
    """A new tile of one value."""
    out = _result([int(n) for n in shape], dtype)
    region, sub = _where(mask, out.shape)
    _emit_fill(out, _number(value, "memset"), "memset", sub)
    return _done(out, region)


def iota(expr: Any, dtype: Any, *, mask: Any = None, **kw: Any) -> _View:
    """A new tile with an index expression's values."""
    e = _Expr.of(expr)
    if e is None:
        raise _error("iota", "expr is %r, expected an index expression" % (expr,), NkiTypeError)
    shape = e.shape if len(e.shape) > 1 else (1,) + e.shape if e.shape else (1, 1)
    out = _result(shape, dtype)
    region = _region_of(mask, out.shape)
    if not region.empty:
        _emit_iota(out, e, "iota")
    return _done(out, region)


def dropout(data: _View, prob: Any, *, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """data with elements set to 0 with probability prob, not scaled."""
    data = _as_tile(data, "dropout", "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, data.dtype))
    _random.emit_dropout(out, data, prob, "dropout", sub)
    return _done(out, region)


# -- selections ------------------------------------------------------------------------------------------------------


def affine_select(pred: Any, on_true_tile: _View, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """on_true_tile where a comparison of index expressions holds, else on_false_value."""
    src = _as_tile(on_true_tile, "affine_select", "on_true_tile")
    shape = _shape_on_chip(src)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, src.dtype))
    m = _Mask.of(pred)
    if m is None:
        raise _error("affine_select", "pred is %r, expected a comparison of index expressions" % (pred,), NkiTypeError)
    _special.emit_affine_select(out, m, src, _number(on_false_value, "affine_select"), "affine_select", sub)
    return _done(out, region)


def range_select(*, on_true_tile: _View, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any, reduce_cmd: Any = reduce_cmd.idle,
                 reduce_res: Any = None, reduce_op: Any = np.max, range_start: Any = 0, on_false_value: Any = _special.FLOAT_MIN,
                 mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """on_true_tile where range_start + column compares with both bounds (P, 1), else on_false_value; perhaps the rows' maxima."""
    api = "range_select"
    src = _as_tile(on_true_tile, api, "on_true_tile")
    shape = _shape_on_chip(src)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, src.dtype))
    value, separate = _special.in_f32(out, sub)
    _special.emit_range_select(value, src, _op_name(comp_op0, api), _op_name(comp_op1, api), bound0, bound1, range_start,
                               _number(on_false_value, api), api, sub)
    command = _command(reduce_cmd)
    if reduce_res is not None or command != "idle":
        command = "reset_reduce" if command == "idle" else command
        _special.only_maximum(_op_name(reduce_op, api), api)
        _special.reduce_into_register("dve", value, "max", command, reduce_res, api, sub)
    if separate:
        _emit_copy(out, value, api, sub)
    return _done(out, region)


def select_reduce(*, dst: _View, predicate: _View, on_true: _View, on_false: Any, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle,
                  reduce_op: Any = np.max, reverse_pred: Any = False, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """dst = predicate ? on_true : on_false; perhaps the rows' maxima."""
    api = "select_reduce"
    region = _region_of(mask, _shape_on_chip(dst))
    sub = None if region.trivial else region
    value, separate = _special.in_f32(dst, sub)
    if region.rest and not separate:
        value, separate = _result(_shape_on_chip(dst), dst.dtype), True
    a, b = (on_false, on_true) if reverse_pred else (on_true, on_false)
    _special.emit_where(value, predicate, a, b, api, sub)
    command = _command(reduce_cmd)
    if reduce_res is not None or command != "idle":
        command = "reset_reduce" if command == "idle" else command
        _special.reduce_into_register("dve", value, _op_name(reduce_op), command, reduce_res, api, sub)
    if separate:
        _emit_copy(dst, value, api, sub)
    return dst


# -- reductions, scans, statistics -----------------------------------------------------------------------------------


def tensor_reduce(op: Any, data: _View, axis: Any, *, mask: Any = None, dtype: Any = None, negate: Any = False, keepdims: Any = False,
                  **kw: Any) -> _View:
    """The reduction over free axes, perhaps negated."""
    return _compute.reduce(_op_name(op, "tensor_reduce"), data, axis, dtype, mask, bool(negate), keepdims, "tensor_reduce")


def tensor_partition_reduce(op: Any, data: _View, *, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """The reduction over partitions: a tile of one partition."""
    api = "tensor_partition_reduce"
    data = _as_tile(data, api, "data")
    region, sub = _where(mask, _shape_on_chip(data))
    out = _result((1,) + _shape_on_chip(data)[1:], _type(dtype, data.dtype))
    if sub is None:
        _special.emit_partition_reduce(out, _op_name(op, api), data, api)
    elif not sub.empty:
        _special.emit_partition_reduce(_special.cut_free(out, sub, api), _op_name(op, api), _special.cut(data, sub, api), api)
    out.region = region.along(out.shape, [None] + list(range(1, out.ndim)))
    return out


def tensor_tensor_scan(data0: _View, data1: _View, initial: Any, op0: Any, op1: Any, reverse0: Any = False, reverse1: Any = False, *,
                       dtype: Any = None, mask: Any = None, **kw: Any) -> _View:
    """r[i] = op1(op0(data0[i], r[i-1]), data1[i]), from r[-1] = initial, in f32."""
    shape = _compute.binary_shape(_as_tile(data0, "tensor_tensor_scan", "data0"), _as_tile(data1, "tensor_tensor_scan", "data1"), "tensor_tensor_scan")
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, _dtypes.promote(data0.dtype, data1.dtype)))
    _special.emit_scan(out, data0, data1, initial, _op_name(op0), _op_name(op1), "tensor_tensor_scan", sub, bool(reverse0), bool(reverse1))
    return _done(out, region)


def tensor_scalar_cumulative(*, src: _View, dst: _View, op0: Any, op1: Any, imm0: Any = 0.0, imm1: Any = 0.0,
                             reduce_cmd: Any = reduce_cmd.reset_reduce, mask: Any = None, **kw: Any) -> _View:
    """dst = running op1 of op0(src, imm0), along rows."""
    api = "tensor_scalar_cumulative"
    src, to = _as_tile(src, api, "src"), dst
    region, sub = _where(mask, _shape_on_chip(src))
    if sub is not None:
        if sub.empty:
            return dst
        src, to = _special.cut(src, sub, api), _special.cut(dst, sub, api)
        imm0, imm1 = (_special.cut(x, sub, api, True) if isinstance(x, _View) else x for x in (imm0, imm1))
    _special.emit_cumulative(to, src, _op_name(op0), _op_name(op1), imm0, imm1, _command(reduce_cmd), api)
    return dst


def _statistics(api, data, columns, mask, dtype, emit):
    data = _as_tile(data, api, "data")
    region, sub = _where(mask, _shape_on_chip(data))
    out = _result((_shape_on_chip(data)[0], columns), _type(dtype, data.dtype))
    emit(out, data, api, sub)
    return _rows_of(out, region)


def bn_stats(data: _View, *, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """Count, mean, variance * count of the even and of the odd elements: (P, 6)."""
    return _statistics("bn_stats", data, 6, mask, dtype, _special.emit_bn_stats)


def bn_aggr(data: _View, *, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """Mean and variance of groups of bn_stats: (P, 2)."""
    return _statistics("bn_aggr", data, 2, mask, dtype, _special.emit_bn_aggr)


# -- searches, gathers, shuffles -------------------------------------------------------------------------------------


def max8(*, src: _View, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """The 8 largest elements of each row, largest first."""
    src = _as_tile(src, "max8", "src")
    region, sub = _where(mask, _shape_on_chip(src))
    out = _result((_shape_on_chip(src)[0], 8), _type(dtype, src.dtype))
    _special.emit_max8(out, src, "max8", sub)
    return _rows_of(out, region)


def nc_find_index8(*, data: _View, vals: _View, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """Where each of 8 values stands in its row (u32); equal values take successive places."""
    region, sub = _where(mask, _shape_on_chip(data))
    out = _result((_shape_on_chip(data)[0], 8), _type(dtype, _dtypes.uint32))
    _special.emit_find_index8(out, data, vals, "nc_find_index8", sub)
    return _rows_of(out, region)


def nc_match_replace8(*, data: _View, vals: _View, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **kw: Any) -> _View:
    """data with the first place of each of 8 values replaced by imm; dst_idx: those places."""
    data = _as_tile(data, "nc_match_replace8", "data")
    shape = _shape_on_chip(data)
    region, sub = _where(mask, shape)
    out = _result(shape, _type(dtype, data.dtype))
    _special.emit_match_replace8(out, data, vals, _number(imm, "nc_match_replace8"), dst_idx, "nc_match_replace8", sub)
    return _done(out, region)


def local_gather(src_buffer: _View, index: _View, num_elem_per_idx: Any = 1, num_valid_indices: Any = None, *, mask: Any = None,
                 **kw: Any) -> _View:
    """Each core's 16 partitions gather by the core's own indices (u16)."""
    per = int(num_elem_per_idx)
    shape = _shape_on_chip(index)
    n = int(np.prod(shape[1:], dtype=np.int64)) * 16 if num_valid_indices is None else int(num_valid_indices)
    out = _result((_shape_on_chip(src_buffer)[0], n * per), src_buffer.dtype)
    region = _region_of(mask, out.shape)
    if not region.empty:
        _special.emit_local_gather(out, src_buffer, index, per, n, "local_gather")
    return _done(out, region)


def nc_stream_shuffle(src: _View, dst: _View, shuffle_mask: Sequence[int], *, dtype: Any = None, mask: Any = None, **kw: Any) -> _View:
    """Within each 32 partitions: dst[i] = src[shuffle_mask[i]]; 255 leaves dst[i]."""
    api = "nc_stream_shuffle"
    region, sub = _where(mask, _shape_on_chip(dst))
    if sub is None:
        _special.emit_shuffle(dst, src, shuffle_mask, api)
    elif not sub.empty:
        moved = _move.copy(dst, api=api)  # rows that the shuffle leaves keep what they have
        _special.emit_shuffle(moved, src, shuffle_mask, api)
        _emit_copy(dst, moved, api, sub)
    return dst


def sequence_bounds(*, segment_ids: _View, dtype: Any = None, **kw: Any) -> _View:
    """For each element the first and one past the last place of its segment: (1, 2, n)."""
    shape = _shape_on_chip(segment_ids)
    n = int(np.prod(shape[1:], dtype=np.int64))
    out = _result((shape[0], 2, n), _type(dtype, segment_ids.dtype))
    _special.emit_sequence_bounds(out, segment_ids, "sequence_bounds")
    return out


# -- DMA -------------------------------------------------------------------------------------------------------------


def dma_copy(*, dst: _View, src: Any, mask: Any = None, dst_rmw_op: Any = None, oob_mode: Any = oob_mode.error, dge_mode: Any = None,
             **kw: Any) -> None:
    """dst = src (or += with dst_rmw_op=np.add); rows by tiles of indices, which may skip those out of bounds."""
    how = None
    if dst_rmw_op is not None:
        how = _op_name(dst_rmw_op, "dma_copy")
        if how != "add":
            raise _error("dma_copy", "dst_rmw_op is %r; only np.add exists" % (dst_rmw_op,), NkiTypeError)
    _emit_dma(dst, src, "dma_copy", mask, how, _skips(oob_mode))


def _tiled_offloaded_memcpy(src: _View, dst: _View, dtype: Any = None, **kw: Any) -> None:
    _emit_dma(dst, src, "dma_copy")


def _tiled_offloaded_fma(*srcs: _View, dst: _View, scales: Any = None, **kw: Any) -> None:
    """dst = the sum of tensors, by DMA."""
    for k, (s, scale) in enumerate(zip(srcs, [1.0] * len(srcs) if scales is None else scales)):
        if scale != 1.0:
            raise _error("_tiled_offloaded_fma", "scale %g; DMA multiplies by nothing but 1" % scale, NkiTypeError)
        _emit_dma(dst, s, "dma_copy", None, "add" if k else None)


builtin_custom_op = _unavailable("nisa.builtin_custom_op", "runs code of the GpSimd engine's own instruction set; it does not exist here")
quantize_mx = _unavailable("nisa.quantize_mx", "needs the MX formats of trn3, which this machine does not have")
nc_matmul_mx = _unavailable("nisa.nc_matmul_mx", "needs the MX formats of trn3, which this machine does not have")

_check_keywords(globals(), __name__, "nisa")
__getattr__ = _module_names(__name__, "nisa")
