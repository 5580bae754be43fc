"""Two cores that meet: nisa.core_barrier and nisa.sendrecv.

Both programs are traced, one after the other; then their instructions run in turns: what each does up to the first meeting, what
each does up to the second, and so on: one core runs both. What they exchange is copied through a tile of the sender.
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Sequence, Tuple

from ._compute import emit_binary
from ._core import emit_copy, result, shape_on_chip
from ._errors import NkiError, NkiNotSupported, NkiTypeError, error
from ._index import NeedValue
from ._mask import region_of
from ._ops import op_name
from ._record import Instruction, Operand, Record
from ._tensor import View
from ._trace import Meeting, Trace, need_trace


def _meet(api: str, receives: int = -1) -> Meeting:
    t = need_trace(api)
    programs = 1
    for n in t.grid:
        programs *= n
    if programs != 2:
        raise error(api, "is for the two programs of kernel[2] (nl.nc(2)); this launch has %d" % programs, NkiTypeError)
    if t.symbolic_grid or t.open:
        raise NeedValue(["grid"] + [v.key for v in t.open], "two cores meet in %s" % api)
    m = Meeting(api, t.where(), receives)
    t.records.append(m)
    return m


def core_barrier(data: Any = None, cores: Any = (0, 1), engine: Any = None, name: Any = None, **kw: Any) -> None:
    """Each program goes on when both have come here: what one stored to HBM before, the other reads after."""
    _meet("core_barrier")


@contextlib.contextmanager
def sync_program(axes: Sequence[int] = ()) -> Iterator[None]:
    """What stands in it is computed once for all programs along axes; here for kernels whose programs share nothing."""
    if axes:
        raise error("sync_program", "waits for the programs along axes %s, which needs AWS's compiler; without axes it works" % (tuple(axes),), NkiNotSupported)
    yield


def sendrecv(src: View, dst: View, send_to_rank: Any, recv_from_rank: Any, pipe_id: Any = 0, dma_engine: Any = None, name: Any = None,
             **kw: Any) -> None:
    """dst = the src of program recv_from_rank; src goes to the dst of program send_to_rank."""
    api = "sendrecv"
    if shape_on_chip(src) != shape_on_chip(dst) or src.dtype != dst.dtype:
        raise error(api, "src is %s%s and dst %s%s, expected the same" % (src.dtype, src.shape, dst.dtype, dst.shape), NkiTypeError)
    for rank, what in ((send_to_rank, "send_to_rank"), (recv_from_rank, "recv_from_rank")):
        if int(rank) not in (0, 1):
            raise error(api, "%s is %d, expected 0 or 1" % (what, int(rank)), NkiTypeError)
    need_trace(api)
    sent = result(shape_on_chip(src), src.dtype)
    emit_copy(sent, src, api)
    m = _meet(api, int(recv_from_rank))
    emit_copy(dst, sent, api)  # of the program itself until both are known
    m.copy = need_trace(api).records[-1]


def all_reduce(x: View, op: Any, dtype: Any, mask: Any) -> View:
    """op of what a tile is in all programs, the same in each."""
    t, api, shape = need_trace("nl.all_reduce"), "nl.all_reduce", shape_on_chip(x)
    programs = 1
    for n in t.grid:
        programs *= n
    region = region_of(mask, shape)
    out = result(shape, x.dtype if dtype is None else dtype)
    if programs == 1:
        emit_copy(out, x, api, None if region.trivial else region)
        return out
    received = result(shape, x.dtype)
    if t.symbolic_grid:
        raise NeedValue(["grid"], "programs meet in %s" % api)
    other = 1 - sum(t.program or ())
    sendrecv(x, received, other, other)
    pair = (x, received) if other else (received, x)  # in the same order in both
    emit_binary(out, op_name(op, api), pair[0], pair[1], api, None if region.trivial else region)
    return out


def interleave(t: Trace, first: Sequence[int]) -> None:
    """Brings the records of the programs, which begin at the places `first`, into the order in which they run."""
    ends = list(first[1:]) + [len(t.records)]
    parts = [_parts(t.records[a:b], a) for a, b in zip(first, ends)]
    meetings = [[r for r in t.records[a:b] if isinstance(r, Meeting)] for a, b in zip(first, ends)]
    _match(meetings)
    for pair in zip(*meetings):
        _exchange(pair)
    order = [k for step in zip(*parts) for part in step for k in part]
    place = {old: new for new, old in enumerate(order)}
    places: List[int] = [len(order)] * (len(t.records) + 1)
    for old in range(len(t.records) - 1, -1, -1):
        places[old] = place.get(old, places[old + 1])
    for o in t.objects:
        o.position = places[o.position]
    t.records = [t.records[k] for k in order]
    t.affine = []  # their trips lie elsewhere now


def _parts(records: Sequence[Record], start: int) -> List[List[int]]:
    """The numbers of records between meetings."""
    out: List[List[int]] = [[]]
    for k, r in enumerate(records, start):
        if isinstance(r, Meeting):
            out.append([])
        else:
            out[-1].append(k)
    return out


def _match(meetings: List[List[Meeting]]) -> None:
    a, b = meetings
    for x, y in zip(a, b):
        if x.api != y.api:
            raise NkiError("%s:%d: %s: program 0 waits here for program 1, which waits in %s at %s:%d" % (x.where + (x.api, y.api) + y.where))
    if len(a) != len(b):
        alone, program = (a[len(b)], 0) if len(a) > len(b) else (b[len(a)], 1)
        raise NkiError("%s:%d: %s: program %d waits here, and program %d never comes" % (alone.where + (alone.api, program, 1 - program)))


def _exchange(pair: Tuple[Meeting, ...]) -> None:
    sources = [m.copy.operands["src"] if isinstance(m.copy, Instruction) else None for m in pair]
    for m in pair:
        own, other = m.copy, sources[m.receives] if m.receives >= 0 else None
        if not isinstance(own, Instruction) or other is None:
            continue
        mine = own.operands["src"]
        if mine.counts != other.counts or mine.dtype != other.dtype:
            raise NkiError("%s:%d: sendrecv: this program receives %s%s and is sent %s%s" %
                           (m.where + (mine.dtype, list(mine.counts), other.dtype, list(other.counts))))
        own.operands["src"] = Operand(other.object, mine.dtype, mine.offset, mine.dims, mine.clips)
