"""nisa of the 0.x packages: every instruction writes the destination that it is given."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ... import dtypes as _dtypes
from .. import _compute, _move, _mx, _random, _special, _topk
from .. import isa as _beta
from .._core import as_tile as _as_tile, emit_copy as _emit_copy, emit_dma as _emit_dma, emit_fill as _emit_fill, emit_iota as _emit_iota
from .._core import number as _number, result as _result, shape_on_chip as _shape_on_chip
from .._cores import core_barrier, sendrecv  # noqa: F401
from .._enums import (constants, dge_mode, dma_engine, engine, engine_name as _engine_name, get_nc_sub_version, get_nc_version,  # noqa: F401
                      matmul_perf_mode, nc_version, oob_mode, reduce_cmd, skips as _skips)
from .._errors import NkiError as NkiValidationError, NkiTypeError, error as _error, module_names as _module_names  # noqa: F401
from .._errors import shape_error as _shape_error
from .._index import Expr as _Expr, Mask as _Mask
from .._keywords import check_keywords as _check_keywords
from .._ops import op_name as _op_name
from .._tensor import View as _View, merge_dims as _merge_dims, split_dims as _split_dims
from .._trace import need_trace as _need_trace
from ._registers import (NkiScalar, VirtualRegister, register_alloc, register_load, register_move, register_store, scalar_load,  # noqa: F401
                         scalar_store)

tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, unknown_engine = engine.gpsimd, engine.unknown
_command = _beta._command


def _accumulate(flag: Any) -> int:
    return -1 if flag is None else int(bool(flag))


def nc_matmul(dst: _View, stationary: _View, moving: _View, is_stationary_onezero: Any = False, is_moving_onezero: Any = False,
              is_transpose: Any = False, accumulate: Any = None, tile_position: Any = (), tile_size: Any = (), perf_mode: Any = None,
              name: Any = None, **kw: Any) -> None:
    """dst[M, N] (+)= stationary[K, M] transposed, times moving[K, N]. accumulate None: all but the first product of dst add."""
    s, m = _as_tile(stationary, "nc_matmul", "stationary"), _as_tile(moving, "nc_matmul", "moving")
    _psum(dst, "nc_matmul")
    _compute.check_factors(s, m, "nc_matmul", True)
    s, m = _move.on_sbuf(s), _move.on_sbuf(m)
    _sum_in(dst, lambda to, add: _compute.emit_matmul(to, s, m, "nc_matmul", add), 0 if is_transpose else _accumulate(accumulate), "nc_matmul")


def _sum_in(dst: _View, product: Callable[[_View, int], None], add: int, api: str) -> None:
    """A product into PSUM; where that is not f32, each is rounded to it."""
    if dst.dtype == _dtypes.float32:
        product(dst, add)
        return
    t = _result(_shape_on_chip(dst), _dtypes.float32, "psum")
    product(t, 0)
    if add < 0:  # as AWS has it: adds where a product has written
        add = int(any(getattr(r, "name", "") in ("tensor_copy", "tensor_tensor") and r.api == api and r.operands["dst"].object is dst.object
                      and r.operands["dst"].offset == dst.offset for r in _need_trace(api).records))
    _compute.emit_binary(dst, "add", dst, t, api) if add else _emit_copy(dst, t, api)


def nc_matmul_mx(dst: _View, stationary: _View, moving: _View, stationary_scale: _View, moving_scale: _View, tile_position: Any = None,
                 tile_size: Any = None, accumulate: Any = None, name: Any = None, **kw: Any) -> None:
    """dst[M, N] (+)= stationary[K, M] transposed, times moving[K, N], of packed elements (float8_e4m3fn_x4, float8_e5m2_x4,
    float4_e2m1fn_x4): 4 of the contraction in each, 32 of which share a scale."""
    _psum(dst, "nc_matmul_mx")
    _sum_in(dst, lambda to, add: _mx.emit_matmul_mx(to, stationary, moving, stationary_scale, moving_scale, add, "nc_matmul_mx"),
            _accumulate(accumulate), "nc_matmul_mx")


def quantize_mx(dst: _View, src: _View, dst_scale: _View, name: Any = None, **kw: Any) -> None:
    """dst[P, F] of packed elements, dst_scale: src[P, 4 F], of which 8 partitions x 4 elements share a power of two."""
    api = "quantize_mx"
    _mx.emit_quantize_mx(dst, src, dst_scale, api)


def _psum(dst: _View, api: str) -> None:
    if not isinstance(dst, _View) or dst.object.space != "psum":
        raise _error(api, "dst is %r; the tensor engine writes to PSUM only (buffer=nl.psum)" % (dst,), NkiTypeError)


def nc_transpose(dst: _View, data: _View, engine: Any = engine.unknown, name: Any = None, **kw: Any) -> None:
    """dst[F, P] = data[P, F] transposed."""
    data = _as_tile(data, "nc_transpose", "data")
    _move.emit_transpose(dst, data, "nc_transpose")


def dma_transpose(dst: _View, src: _View, axes: Any = None, priority: Any = None, dge_mode: Any = None, oob_mode: Any = None,
                  name: Any = None, **kw: Any) -> None:
    """A transpose by DMA. oob_mode: with rows of src chosen by an index, skip leaves dst as it is where one lies beyond src."""
    _move.emit_dma_transpose(dst, src, axes, skip=_skips(oob_mode))


def tensor_tensor(dst: _View, data1: _View, data2: _View, op: Any, engine: Any = None, name: Any = None, **kw: Any) -> None:
    """dst = op(data1, data2)."""
    dst, data1, data2 = _same_elements(dst, data1, data2)
    _compute.emit_binary(dst, _op_name(op, "tensor_tensor"), _as_tile(data1, "tensor_tensor", "data1"), _as_tile(data2, "tensor_tensor", "data2"),
                         "tensor_tensor")


def _same_elements(dst: _View, *sources: _View) -> List[_View]:
    """Operands with as many elements but other free dims, seen under the first source's shape, or where steps do not allow that,
    under a shape with more dims; the others as they are."""
    first, views = sources[0], (sources[0], dst) + sources[1:]
    if all(v.shape == first.shape for v in views):
        return [dst, *sources]
    alike = [v.size == first.size and v.shape[:1] == first.shape[:1] and not v.blocks for v in views]
    want = first.shape
    if any(same and v.shape != want and _split_dims(v.dims[1:], want[1:]) is None for v, same in zip(views, alike)):
        ends = sorted({n for v, same in zip(views, alike) if same for n in _ends(v)})
        if all(outer % inner == 0 for inner, outer in zip(ends, ends[1:])):
            want = first.shape[:1] + tuple(outer // inner for inner, outer in zip([1] + ends, ends))[::-1]
    seen = [v.reshape(want) if same and v.shape != want else v for v, same in zip(views, alike)]
    return [seen[1], seen[0]] + seen[2:]


def _ends(v: _View) -> List[int]:
    """How many elements of a partition lie within each free dim, innermost first."""
    out, n = [], 1
    for _, count in reversed(_merge_dims(v.dims[1:])):
        n *= count
        out.append(n)
    return out


def tensor_scalar(dst: _View, data: _View, op0: Any, operand0: Any, reverse0: Any = False, op1: Any = None, operand1: Any = None,
                  reverse1: Any = False, engine: Any = None, name: Any = None, **kw: Any) -> None:
    """dst = op1(op0(data, operand0), operand1); operands numbers or (P, 1)."""
    dst, data = _same_elements(dst, data)
    ops = [(_op_name(op0, "tensor_scalar"), operand0, bool(reverse0))]
    if op1 is not None:
        ops.append((_op_name(op1, "tensor_scalar"), operand1, bool(reverse1)))
    _compute.emit_scalars(dst, _as_tile(data, "tensor_scalar", "data"), ops, "tensor_scalar")


def scalar_tensor_tensor(dst: _View, data: _View, op0: Any, operand0: Any, op1: Any, operand1: _View, reverse0: Any = False,
                         reverse1: Any = False, name: Any = None, **kw: Any) -> None:
    """dst = op1(op0(data, operand0), operand1)."""
    dst, data, operand1 = _same_elements(dst, data, operand1)
    _compute.emit_scalars(dst, _as_tile(data, "scalar_tensor_tensor", "data"),
                          [(_op_name(op0), operand0, bool(reverse0)), (_op_name(op1), operand1, bool(reverse1))], "scalar_tensor_tensor")


def tensor_reduce(dst: _View, op: Any, data: _View, axis: Any, negate: Any = False, keepdims: Any = False, name: Any = None, **kw: Any) -> None:
    """dst = the reduction over free axes, perhaps negated."""
    data = _as_tile(data, "tensor_reduce", "data")
    shape = _shape_on_chip(data)
    axes = _compute.free_axes(axis, len(shape), "tensor_reduce")
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    want = kept if len(kept) > 1 else kept + (1,)
    if dst.shape != want:
        if dst.size != int(np.prod(want)) or dst.shape[0] != want[0]:
            raise _shape_error("tensor_reduce", "dst", dst.shape, want, ", data without the axes %s" % axes)
        dst = dst.reshape(want)
    _compute.emit_reduce(dst, _op_name(op, "tensor_reduce"), data, axes, "tensor_reduce", None, bool(negate))


def tensor_partition_reduce(dst: _View, op: Any, data: _View, name: Any = None, **kw: Any) -> None:
    """dst = the reduction over partitions."""
    _special.emit_partition_reduce(dst, _op_name(op, "tensor_partition_reduce"), _as_tile(data, "tensor_partition_reduce", "data"),
                                   "tensor_partition_reduce")


def tensor_scalar_reduce(dst: _View, data: _View, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any = None, reverse0: Any = False,
                         reduce_cmd: Any = reduce_cmd.reset_reduce, reduce_init: Any = None, reduce_res_negate: Any = False, name: Any = None,
                         **kw: Any) -> None:
    """dst = op0(data, operand0), with the reduction along rows."""
    api = "tensor_scalar_reduce"
    value, separate = _special.in_f32(dst, None)
    _compute.emit_scalars(value, _as_tile(data, api, "data"), [(_op_name(op0), operand0, bool(reverse0))], api)
    _special.reduce_into_register("dve", value, _op_name(reduce_op), _command(reduce_cmd), reduce_res, api, None, bool(reduce_res_negate),
                                  reduce_init)
    if separate:
        _emit_copy(dst, value, api)


def tensor_scalar_cumulative(dst: _View, src: _View, op0: Any, op1: Any, imm0: Any = 0.0, imm1: Any = 0.0,
                             reduce_cmd: Any = reduce_cmd.reset_reduce, name: Any = None, **kw: Any) -> None:
    """dst = running op1 of op0(src, imm0), along rows."""
    _special.emit_cumulative(dst, src, _op_name(op0), _op_name(op1), imm0, imm1, _command(reduce_cmd), "tensor_scalar_cumulative")


def tensor_tensor_scan(dst: _View, data0: _View, data1: _View, initial: Any, op0: Any, op1: Any, reverse0: Any = False, reverse1: Any = False,
                       name: Any = None, **kw: Any) -> None:
    """dst[i] = r = op1(op0(data0[i], r), data1[i]), from r = initial."""
    _special.emit_scan(dst, data0, data1, initial, _op_name(op0), _op_name(op1), "tensor_tensor_scan", None, bool(reverse0), bool(reverse1))


def activation(dst: _View, op: Any, data: _View, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None,
               reduce_cmd: Any = reduce_cmd.idle, name: Any = None, **kw: Any) -> None:
    """dst = op(data * scale + bias); perhaps the rows' sums into reduce_res."""
    _activated(dst, op, data, bias, scale, reduce_op, reduce_res, reduce_cmd, "activation")


def _activated(dst: _View, op: Any, data: _View, bias: Any, scale: Any, reduce_op: Any, reduce_res: Any, command: Any, api: str) -> None:
    dst, data = _same_elements(dst, _as_tile(data, api, "data"))
    _beta._activate(dst, _op_name(op, api), data, scale, bias, None, reduce_op, reduce_res, _command(command), api)


def activation_reduce(dst: _View, op: Any, data: _View, reduce_op: Any, reduce_res: _View, bias: Any = None, scale: Any = 1.0,
                      name: Any = None, **kw: Any) -> None:
    """activation, with the rows' sums in reduce_res."""
    _activated(dst, op, data, bias, scale, reduce_op, reduce_res, reduce_cmd.reset_reduce, "activation_reduce")


def exponential(dst: _View, src: _View, max_value: Any = 0.0, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle,
                reduce_init: Any = 0.0, name: Any = None, **kw: Any) -> None:
    """dst = exp(src - max_value); perhaps the rows' sums into reduce_res."""
    api = "exponential"
    value, separate = _special.in_f32(dst, None)
    _compute.emit_scalars(value, src, [("sub", max_value, False)], api)
    _compute.emit_activation(value, "exp", value, api)
    if reduce_res is not None or _command(reduce_cmd) != "idle":
        c = _command(reduce_cmd)
        _special.reduce_into_register("dve", value, "add", "reset_reduce" if c == "idle" else c, reduce_res, api, None, False, reduce_init)
    if separate:
        _emit_copy(dst, value, api)


def activate2(dst: _View, op: Any, data: _View, imm0: Any, imm1: Any, op0: Any, op1: Any, relu_param: Any = 0.0, reverse0: Any = False,
              reverse1: Any = False, reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle, name: Any = None,
              **kw: Any) -> None:
    """dst = op(op1(op0(data, imm0), imm1)); perhaps reduced along rows."""
    api = "activate2"
    data = _as_tile(data, api, "data")
    dst, data = _same_elements(dst, data)
    value, separate = _special.in_f32(dst, None)
    _compute.emit_scalars(value, data, [(_op_name(op0, api), imm0, bool(reverse0)), (_op_name(op1, api), imm1, bool(reverse1))], api)
    how = _op_name(op, api)
    if how == "prelu":
        _prelu(value, relu_param, api)
    else:
        _compute.emit_unary(value, how, value, api)
    c = _command(reduce_cmd)
    if reduce_res is not None or c != "idle":
        how = "add" if reduce_op is None else _op_name(reduce_op, api)
        _special.reduce_into_register("act", value, how, "reset_reduce" if c == "idle" else c, reduce_res, api)
    if separate:
        _emit_copy(dst, value, api)


def _prelu(x: _View, slope: Any, api: str) -> None:
    """x = x above 0, slope * x below."""
    below = _result(_shape_on_chip(x), _dtypes.float32)
    _compute.emit_scalars(below, x, [("min", 0.0, False), ("mul", slope, False)], api)
    _compute.emit_scalars(x, x, [("max", 0.0, False)], api)
    _compute.emit_binary(x, "add", x, below, api)


def nonzero_with_count(dst: _View, src: _View, index_offset: Any = 0, padding_val: Any = -1, name: Any = None, **kw: Any) -> None:
    """dst = in partitions 0, 16, 32, ...: the places of src's elements other than 0, plus index_offset; padding; last how many."""
    _special.emit_nonzero(dst, _as_tile(src, "nonzero_with_count", "src"), index_offset, padding_val, "nonzero_with_count")


def reciprocal(dst: _View, data: _View, name: Any = None, **kw: Any) -> None:
    """dst = 1 / data."""
    _compute.emit_unary(dst, "reciprocal", _as_tile(data, "reciprocal", "data"), "reciprocal")


def tensor_copy(dst: _View, src: _View, engine: Any = None, name: Any = None, **kw: Any) -> None:
    """dst = src."""
    src = _as_tile(src, "tensor_copy", "src")
    dst, src = _same_elements(dst, src)
    _emit_copy(dst, src, "tensor_copy", None, _engine_name(engine))  # type: ignore[arg-type]


def tensor_copy_predicated(dst: _View, src: Any, predicate: _View, reverse_pred: Any = False, name: Any = None, **kw: Any) -> None:
    """dst = src where predicate is not 0."""
    if isinstance(src, _View):
        dst, predicate, src = _same_elements(dst, predicate, src)
    else:
        dst, predicate = _same_elements(dst, predicate)
    _beta.tensor_copy_predicated(src=src, dst=dst, predicate=predicate, reverse_pred=reverse_pred)


def select_reduce(dst: _View, predicate: _View, on_true: _View, on_false: Any, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle,
                  reduce_op: Any = np.max, reverse_pred: Any = False, name: Any = None, **kw: Any) -> None:
    """dst = predicate ? on_true : on_false; perhaps the rows' maxima."""
    dst, predicate, on_true = _same_elements(dst, predicate, on_true)
    _beta.select_reduce(dst=dst, predicate=predicate, on_true=on_true, on_false=on_false, reduce_res=reduce_res, reduce_cmd=reduce_cmd,
                        reduce_op=reduce_op, reverse_pred=reverse_pred)


def range_select(dst: _View, on_true_tile: _View, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any, reduce_cmd: Any = reduce_cmd.idle,
                 reduce_res: Any = None, reduce_op: Any = np.max, range_start: Any = 0, on_false_value: Any = _special.FLOAT_MIN,
                 name: Any = None, **kw: Any) -> None:
    """dst = on_true_tile where range_start + column lies within the bounds, else on_false_value."""
    api = "range_select"
    value, separate = _special.in_f32(dst, None)
    _special.emit_range_select(value, on_true_tile, _op_name(comp_op0), _op_name(comp_op1), bound0, bound1, range_start,
                               _number(on_false_value, api), api)
    c = _command(reduce_cmd)
    if reduce_res is not None or c != "idle":
        _special.only_maximum(_op_name(reduce_op, api), api)
        _special.reduce_into_register("dve", value, "max", "reset_reduce" if c == "idle" else c, reduce_res, api)
    if separate:
        _emit_copy(dst, value, api)


def affine_select(dst: _View, pattern: Sequence[Sequence[int]], channel_multiplier: Any = 0, on_true_tile: Any = None,
                  on_false_value: Any = 0.0, cmp_op: Any = np.equal, offset: Any = 0, name: Any = None, **kw: Any) -> None:
    """dst = on_true_tile where cmp_op(offset + partition * channel_multiplier + pattern, 0) holds, else on_false_value.

    By position, nki 0.2 has the offset behind the pattern: there on_false_value's place holds the tile."""
    api = "affine_select"
    if isinstance(on_false_value, _View):
        offset, channel_multiplier, on_true_tile, on_false_value, cmp_op = channel_multiplier, on_true_tile, on_false_value, cmp_op, offset
    src = _as_tile(on_true_tile, api, "on_true_tile")
    e = _pattern(pattern, offset, channel_multiplier, _shape_on_chip(src)[0])
    kind = _op_name(cmp_op, api)
    flat_dst, flat_src = dst.reshape(e.shape), src.reshape(e.shape)
    m: Any = {"ge": lambda: e >= 0, "gt": lambda: e > 0, "le": lambda: e <= 0, "lt": lambda: e < 0, "eq": lambda: e == 0, "ne": lambda: e != 0}[kind]()
    _special.emit_affine_select(flat_dst, m, flat_src, _number(on_false_value, api), api)


def _pattern(pattern: Sequence[Sequence[int]], offset: Any, channel_multiplier: Any, partitions: int) -> _Expr:
    shape = (partitions,) + tuple(int(n) for _, n in pattern)
    steps = (int(channel_multiplier),) + tuple(int(s) for s, _ in pattern)
    e = _Expr(shape, 0, (), steps)
    return e + offset  # type: ignore[return-value]


def iota(dst: _View, pattern: Sequence[Sequence[int]], offset: Any = 0, channel_multiplier: Any = 0, name: Any = None, **kw: Any) -> None:
    """dst = offset + partition * channel_multiplier + pattern."""
    e = _pattern(pattern, offset, channel_multiplier, _shape_on_chip(dst)[0])
    _emit_iota(dst.reshape(e.shape), e, "iota")


def memset(dst: _View, value: Any, engine: Any = None, name: Any = None, **kw: Any) -> None:
    """dst = value."""
    _emit_fill(dst, _number(value, "memset"), "memset")


def bn_stats(dst: _View, data: _View, name: Any = None, **kw: Any) -> None:
    """dst = count, mean, variance * count of the even and of the odd elements."""
    _special.emit_bn_stats(dst, data, "bn_stats")


def bn_aggr(dst: _View, data: _View, name: Any = None, **kw: Any) -> None:
    """dst = mean and variance of groups of bn_stats."""
    _special.emit_bn_aggr(dst, data, "bn_aggr")


def max8(dst: _View, src: _View, name: Any = None, **kw: Any) -> None:
    """dst = the 8 largest elements of each row, largest first."""
    _special.emit_max8(dst, src, "max8")


def nc_find_index8(dst: _View, data: _View, vals: _View, name: Any = None, **kw: Any) -> None:
    """dst = where each of 8 values stands in its row."""
    _special.emit_find_index8(dst, data, vals, "nc_find_index8")


def _backwards(x: _View) -> _View:
    """A tile of 8 values for each partition, the last one first; of another shape as it is, for a message."""
    if x.ndim < 2 or x.size != 8 * x.shape[0]:
        return x
    x = x.reshape((x.shape[0], 8))
    (apart, rows), (step, count) = x.dims
    return x.like(x.offset + step * (count - 1), [(apart, rows), (-step, count)])


def nc_match_replace8(dst: _View, data: _View, vals: _View, imm: Any, dst_idx: Any = None, name: Any = None, **kw: Any) -> None:
    """dst = data with the first place of each of 8 values replaced by imm. Of values that are alike the last one in vals takes the
    first place: they are taken from the end."""
    if dst_idx is not None:
        vals, dst_idx = _backwards(vals), _backwards(dst_idx)
    _special.emit_match_replace8(dst, data, vals, _number(imm, "nc_match_replace8"), dst_idx, "nc_match_replace8")


def local_gather(dst: _View, src_buffer: _View, index: _View, num_elem_per_idx: Any = 1, num_valid_indices: Any = None, name: Any = None,
                 **kw: Any) -> None:
    """Each core's 16 partitions gather by the core's own indices."""
    _special.emit_local_gather(dst, src_buffer, index, int(num_elem_per_idx), None if num_valid_indices is None else int(num_valid_indices),
                               "local_gather")


def nc_n_gather(dst: _View, data: _View, indices: _View, name: Any = None, **kw: Any) -> None:
    """dst[p, i] = data[p, indices[p, i]]."""
    _special.emit_gather(dst, data, indices, "nc_n_gather")


def nc_stream_shuffle(dst: _View, src: _View, shuffle_mask: Sequence[int], name: Any = None, **kw: Any) -> None:
    """Within each 32 partitions: dst[i] = src[shuffle_mask[i]]."""
    _special.emit_shuffle(dst, src, shuffle_mask, "nc_stream_shuffle")


def sequence_bounds(dst: _View, segment_ids: _View, name: Any = None, **kw: Any) -> None:
    """dst = for each element the first and one past the last place of its segment."""
    _special.emit_sequence_bounds(dst, segment_ids, "sequence_bounds")


def dropout(dst: _View, data: _View, prob: Any, name: Any = None, **kw: Any) -> None:
    """dst = data with elements set to 0 with probability prob."""
    _random.emit_dropout(dst, data, prob, "dropout")


def topk(val_dst: _View, idx_dst: _View, src: _View, n: Any, name: Any = None, **kw: Any) -> None:
    """The k largest of the n elements that each 16 partitions hold, smallest first, and where they are, in each of these partitions."""
    api = "topk"
    _topk.emit_topk(_as_tile(val_dst, api, "val_dst"), _as_tile(idx_dst, api, "idx_dst"), _as_tile(src, api, "src"), int(n), api)


def rng(dst: _View, engine: Any = engine.vector, name: Any = None, **kw: Any) -> None:
    """dst = random bits (integers) or numbers of [0, 1)."""
    _random.emit_uniform(dst, "rng", engine=_generator_of(engine))


def rand2(dst: _View, min: Any, max: Any, name: Any = None, **kw: Any) -> None:  # noqa: A002
    """dst = random numbers of [min, max), which are numbers or (P, 1)."""
    if not isinstance(min, _View) and not isinstance(max, _View):
        _random.emit_uniform(dst, "rand2", None, float(min), float(max))
        return
    shape = _shape_on_chip(dst)
    unit, span = _result(shape, _dtypes.float32), _result((shape[0], 1), _dtypes.float32)
    _random.emit_uniform(unit, "rand2")
    if isinstance(max, _View):
        _compute.emit_scalars(span, max, [("sub", min, False)], "rand2")
    else:
        _compute.emit_scalars(span, min, [("sub", max, True)], "rand2")
    _compute.emit_scalars(dst, unit, [("mul", span, False), ("add", min, False)], "rand2")


def _generator_of(engine: Any) -> str:
    return "gpsimd" if engine is not None and getattr(engine, "name", "") == "gpsimd" else "vector"


def set_rng_seed(src_seeds: Any, name: Any = None, **kw: Any) -> None:
    """Seeds the vector engine's random numbers by a [1, 1] tile of 32 bits (or a number)."""
    _random.seed("vector", src_seeds, "set_rng_seed")


def rand_set_state(src_seeds: _View, engine: Any = engine.gpsimd, name: Any = None, **kw: Any) -> None:
    """Seeds each partition of an engine's generator by a row of 6 (GpSimd) or 24 (vector) numbers, uint32."""
    _random.seed(_generator_of(engine), _as_tile(src_seeds, "rand_set_state", "src_seeds"), "rand_set_state")


def rand_get_state(dst: _View, engine: Any = engine.gpsimd, name: Any = None, **kw: Any) -> None:
    """dst = what rand_set_state takes to let the generator go on from here; other numbers than the hardware's."""
    _random.store_state(_generator_of(engine), _as_tile(dst, "rand_get_state", "dst"), "rand_get_state")


def dma_copy(dst: _View, src: _View, priority: Any = None, oob_mode: Any = oob_mode.error, dge_mode: Any = None, engine: Any = None,
             name: Any = None, **kw: Any) -> None:
    """dst = src, converting; as many elements."""
    _emit_dma(dst, src, "dma_copy", None, None, _skips(oob_mode))


def _pieces(views: Sequence[_View]) -> List[List[_View]]:
    """Tensors in HBM, whose elements lie in no partitions, in pieces of at most 128: rows of one, or parts of a long row."""
    first = views[0]
    if any(v.on_chip or v.shape != first.shape or v.outside or v.index is not None or v.scalar_index is not None for v in views):
        return [list(views)]
    rows, columns = first.shape[0], first.shape[-1]
    if rows > 128:
        return [[v[r:min(r + 128, rows)] for v in views] for r in range(0, rows, 128)]
    parts = next(n for n in range(128, 0, -1) if columns % n == 0)
    if first.ndim == 2 and rows == 1 and parts > 1:
        return [[v.reshape((parts, columns // parts)) for v in views]]
    return [list(views)]


def dma_compute(dst: _View, srcs: Sequence[_View], reduce_op: Any = np.add, scales: Any = None, unique_indices: Any = True,
                oob_mode: Any = oob_mode.error, name: Any = None, **kw: Any) -> None:
    """dst = the sum of scaled sources, in f32. Where elements are chosen by an index, each may be named once, and oob_mode skip leaves what
    an index beyond the tensor names out of the sum, or as it is."""
    api = "dma_compute"
    if _op_name(reduce_op, api) != "add":
        raise _error(api, "reduce_op is %s, expected nl.add: DMA engines compute sums" % _op_name(reduce_op, api), NkiTypeError)
    if not unique_indices and any(v.index is not None for v in (dst, *srcs)):
        raise _error(api, "unique_indices=False: sums at places that an index names several times are not available, add rows with the same "
                     "index first, or copy with nki beta 1's dma_copy(dst_rmw_op=np.add)", NkiTypeError)
    weights = list(scales) if isinstance(scales, (list, tuple)) else [1.0 if scales is None else scales] * len(srcs)
    if not srcs or len(weights) != len(srcs):
        raise _error(api, "%d scales for %d srcs, expected one for each of one or more" % (len(weights), len(srcs)), NkiTypeError)
    for to, *sources in _pieces([dst, *srcs]):
        _sum(to, sources, weights, _skips(oob_mode), api)


def _sum(dst: _View, srcs: Sequence[_View], weights: Sequence[Any], skip: bool, api: str) -> None:
    total = None
    for s, w in zip(srcs, weights):
        t = _move.load(s, _dtypes.float32, None, api, empty=0.0 if skip and s.index is not None else None)
        if w != 1.0:
            _compute.emit_scalars(t, t, [("mul", w, False)], api)
        if total is None:
            total = t
        else:
            _compute.emit_binary(total, "add", total, t, api)
    assert total is not None
    _emit_dma(dst, total, api, None, None, skip and dst.index is not None)


_check_keywords(globals(), __name__, "nisa")
__getattr__ = _module_names(__name__, "nisa")


class NkiInstruction:
    """What instructions return. They run in the order of the kernel, so nothing is left to ask of one."""

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Runs after other instructions, as it does anyway."""
        return self


def _keep_last(dst: _View, whole: _View, api: str) -> None:
    """A destination whose elements share places (steps of 0) keeps the last of what is written to each."""
    place, value, offset = [], [], 0
    for (step, count), (apart, _) in zip(dst.dims, whole.dims):
        shared = step == 0 and count > 1
        place.append((step, 1 if shared else count))
        value.append((apart, 1 if shared else count))
        offset += apart * (count - 1) if shared else 0
    _emit_copy(dst.like(dst.offset, place, 0), whole.like(whole.offset + offset, value, 0), api)


def _with_handle(f: Callable[..., Any]) -> Callable[..., Any]:
    has_dst = next(iter(inspect.signature(f).parameters), "") == "dst"

    @functools.wraps(f)
    def g(*args: Any, **kw: Any) -> Any:
        dst = args[0] if args else kw.get("dst")
        if has_dst and isinstance(dst, _View) and dst.on_chip and any(s == 0 and n > 1 for s, n in dst.dims[1:]):
            whole = _result(_shape_on_chip(dst), dst.dtype)
            f(whole, *args[1:], **{k: v for k, v in kw.items() if k != "dst"})
            _keep_last(dst, whole, f.__name__)
        else:
            f(*args, **kw)
        return NkiInstruction()

    return g


for _name, _f in list(globals().items()):
    if inspect.isfunction(_f) and _f.__module__ == __name__ and not _name.startswith("_"):
        globals()[_name] = _with_handle(_f)
