"""Random numbers. They are functions of a seed and a place, so that neither threads nor the order of instructions matter.

An engine's generator stands where it was seeded last, by a number or by a tile whose values the run knows, and counts the instructions
since then: two places that seed alike and draw alike get the same numbers (forward and backward of a dropout do that). Loops that are
open when it is seeded do not matter any more, those that are opened later give each trip its own numbers. Never seeded, it gives each
program of a grid its own.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from .. import dtypes
from ._compute import Scalar, spread, vector
from ._core import emit, emit_copy, number, place, result, shape_on_chip
from ._errors import NkiTypeError, error
from ._index import Expr
from ._mask import Region
from ._move import broadcast_to
from ._record import Operand
from ._tensor import View
from ._trace import Trace, need_trace

_WORDS = (1, 6, 24)  # of a partition's state: a seed, XORWOW's by GpSimd and by the vector engine


class _Generator:
    """Of one engine, while a program is traced."""

    def __init__(self, t: Trace):
        self.seed: Any = 0  # a number, an index expression, or a tile of 128 partitions
        self.drawn = 0
        self.inside = list(t.open) if t.program is None else []
        self.seeded = False

    def number(self, t: Trace) -> Any:
        """A seed of its own for each instruction and trip."""
        self.drawn += 1
        base = 0 if isinstance(self.seed, View) else self.seed if isinstance(self.seed, Expr) else int(self.seed) & 0xFFFFFFFF
        out: Any = base * 0x9E3779B1 + self.drawn * 7919
        grid = [] if self.seeded else [g for g in t.grid_variables if g.count > 1]
        scale = 1 << 20
        for v in grid + [v for v in t.open if not self.seeded or v not in self.inside]:
            out = out + Expr((), 0, ((v, scale),), ())
            scale *= v.count
        if t.program is not None and not self.seeded:
            out = out + (hash(t.program) & 0xFFFF) * 104729
        return out


def _generator(engine: str, api: str) -> _Generator:
    t = need_trace(api)
    key = "generator_%s_%s" % (engine, t.program)
    if key not in t.state:
        t.state[key] = _Generator(t)
    return t.state[key]


def seed(engine: str, value: Any, api: str) -> None:
    """Seeds a generator: by a number, an index expression, a tile of one element, or one of up to 128 rows of its own."""
    t = need_trace(api)
    g = _generator(engine, api)
    g.seed = _kept(value, api) if isinstance(value, View) else value if isinstance(value, Expr) else int(value)
    g.drawn, g.inside, g.seeded = 0, list(t.open), True


def _kept(value: View, api: str) -> View:
    """A copy of seeds, for every partition: their tile may change before numbers are drawn."""
    if not value.on_chip:
        raise error(api, "the seeds lie in HBM; load them first", NkiTypeError)
    shape = shape_on_chip(value)
    free = 1
    for n in shape[1:]:
        free *= n
    if value.dtype.itemsize != 4 or free not in _WORDS:
        raise error(api, "seeds of shape %s and type %s, expected one of 32 bits, or rows of 6 or 24 of uint32" % (shape, value.dtype), NkiTypeError)
    if dtypes.is_float(value.dtype):
        value = value.view(dtypes.int32)
    if shape[0] == 1:
        return broadcast_to(value, (128,) + shape[1:], api)
    kept = result(shape, value.dtype)
    emit_copy(kept, value, api)
    return kept


def store_state(engine: str, dst: View, api: str) -> None:
    """dst = numbers that stand for where a generator is: it goes on from them, and from wherever they are set again."""
    if dst.dtype != dtypes.uint32:
        raise error(api, "dst is %s, expected uint32" % dst.dtype, NkiTypeError)
    emit_uniform(dst, api, None, engine=engine)
    seed(engine, dst, api)


def _drawn(dst: View, region: Optional[Region], api: str, engine: str) -> Tuple[Dict[str, Operand], Dict[str, Any]]:
    """The operand and the number that say which random numbers an instruction gets."""
    g = _generator(engine, api)
    numbers = {"seed": g.number(need_trace(api))}
    if not isinstance(g.seed, View):
        return {}, numbers
    shape, own = shape_on_chip(dst), shape_on_chip(g.seed)
    if own[0] < shape[0]:
        raise error(api, "the generator was seeded for %d partitions, dst has %d" % (own[0], shape[0]), NkiTypeError)
    words = 1
    for n in own[1:]:
        words *= n
    rows = (shape[0],) + (1,) * (len(shape) - 2) + (words,)
    cut = None
    if region is not None:
        cut = Region(rows)
        cut.starts[0], cut.counts[0], cut.bounds[0] = region.starts[0], region.counts[0], region.bounds[0]
    dims = [(g.seed.dims[0][0], shape[0])] + [(0, 1)] * (len(shape) - 2) + [(1, words)]
    return {"seeds": place(g.seed.like(g.seed.offset, dims, 0), rows, cut, api, "seeds")}, numbers


def emit_uniform(dst: View, api: str, region: Optional[Region] = None, low: float = 0.0, high: float = 1.0, engine: str = "vector") -> None:
    """dst = random numbers of [low, high); of integers random bits."""
    if region is not None and region.empty:
        return
    seeds, numbers = _drawn(dst, region, api, engine)
    emit("random", {"dst": place(dst, shape_on_chip(dst), region, api, "dst"), **seeds}, api, numbers, {"low": low, "high": high})


def emit_dropout(dst: View, src: View, prob: Scalar, api: str, region: Optional[Region] = None) -> None:
    """dst = src, or 0 with probability prob."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    seeds, numbers = _drawn(dst, region, api, "vector")
    operands = {"dst": place(dst, shape, region, api, "dst"), "src": place(src, shape, region, api, "data"), **seeds}
    reals = {"rate": 0.0}
    if isinstance(prob, View):
        operands["probability"] = place(spread(vector(prob, shape, api, "prob"), shape, api), shape, region, api, "prob")
    else:
        reals["rate"] = number(prob, api)
        if not 0 <= reals["rate"] <= 1:
            raise error(api, "the probability of a zero is %g, expected 0 to 1" % reals["rate"], NkiTypeError)
    emit("dropout", operands, api, numbers, reals)
