"""Which line of a kernel an index that was out of bounds at run time comes from: programs do not keep lines."""
from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from ._races import WRITTEN
from ._record import Instruction
from ._trace import Trace

_TEXT = re.compile(r"(gather|scatter): (index (-?\d+) is out of bounds for axis 0 with size (\d+))")


def _indirect(r: Instruction) -> Iterator[Tuple[str, int, int, int]]:
    """What an instruction finds by a tile of indices: gather or scatter, elements apart, how many places, elements of the tensor."""
    if r.name == "gather":
        src = r.operands["src"]
        yield "gather", src.dims[1][0], src.dims[1][1], src.object.size
    if r.numbers.get("skip"):
        return
    for name, o in r.operands.items():
        if o.index is not None:
            yield "scatter" if name in WRITTEN else "gather", o.index[1], o.index[3], o.object.size


def out_of_bounds(text: str, t: Trace) -> str:
    """NumPy's words, which published tests look for, with the kernel's line in front, or the lines that may be meant; none for another text."""
    found = _TEXT.search(text)
    if found is None:
        return ""
    what, words, at, size = found.group(1), found.group(2), int(found.group(3)), int(found.group(4))
    places: List[str] = []
    told: List[str] = []
    for r in t.records:
        for kind, step, limit, elements in _indirect(r) if isinstance(r, Instruction) else ():
            place = "%s:%d: %s" % (r.where[0], r.where[1], r.api)
            if kind == what and step and at % step == 0 and size in (elements, limit) and not 0 <= at // step < limit and place not in places:
                places.append(place)
                told.append("; an index in the tile is %d, expected 0 to %d%s" %
                            (at // step, limit - 1, " (nisa.oob_mode.skip leaves out those beyond)" if r.name == "dma_copy" else ""))
    if not places:
        return words
    return "%s: %s%s" % (" or ".join(places), words, told[0] if len(set(told)) == 1 else "")
