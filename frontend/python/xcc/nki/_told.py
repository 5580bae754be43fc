"""What the library says of a kernel, in the words of who wrote it: line, function and arguments that the kernel called."""
from __future__ import annotations

import re
from typing import Callable, Dict, List, Optional, Sequence

from ._errors import located
from ._ops import _NAMES
from ._record import Instruction, Operand
from ._trace import Trace

_TOO_LARGE = re.compile(r"tiles of more than \d+ bytes|tile \d+ of \d+ x \d+ elements is too large")
_OUTSIDE = re.compile(r"operand '(\w+)' reaches bytes (-?\d+) to (-?\d+) of '([^']*)', which has \d+")
_PLACE = re.compile(r"^(\S.*?:\d+): ")
_INSTRUCTION = re.compile(r"^(\w+): ")
_OPERAND = re.compile(r"\b(operand|where|of) '(\w+)'")
_KERNEL = re.compile(r"kernel '[^']*': (\w+): ")
_QUOTED = re.compile(r"'(\w+)'")
_OPERATOR = re.compile(r"operator '(\w+)'")
Lower = Callable[[Instruction], Sequence[Instruction]]


def told(text: str, t: Trace, lower: Lower) -> str:
    """A message of the library, with the kernel's line in front and indices in place of bytes. lower: the library's instructions for one."""
    def outside(found: "re.Match[str]") -> str:
        what, first, last, name = found.group(1), int(found.group(2)), int(found.group(3)), found.group(4)
        o = next((o for o in t.objects if o.name == name and o.space == "hbm"), None)
        if o is None or not o.shape:
            return found.group(0)
        row = (first if first < 0 else last) // o.dtype.itemsize // (o.elements // o.shape[0])
        return "operand '%s' is out of bounds: where its mask holds it reaches index %d for axis 0 of '%s' %s; cut what lies beyond by " \
               "mask=(index < %d)" % (what, row, name, list(o.shape), o.shape[0])

    if _TOO_LARGE.search(text):  # after what a trip alone needs has been folded
        used = [p.object for r in t.records if isinstance(r, Instruction) for p in r.operands.values() if p.object.space != "hbm"]
        o = max(used, key=lambda o: o.size * o.dtype.itemsize)
        return "%s:%d: the kernel's tiles need more than 1 GiB at one time, the largest is '%s' %s: loop over parts of it, or keep it in a tensor in HBM " \
               "(nl.ndarray(..., buffer=nl.hbm))" % (*o.where, o.name, list(o.shape))
    text = located(text)
    place = _PLACE.match(text)
    if place is not None:
        records = [r for r in t.records if isinstance(r, Instruction) and "%s:%d" % r.where == place.group(1)]
        quoted = set(_QUOTED.findall(text))
        records = [r for r in records if any(o.object.name in quoted for o in r.operands.values())] or records
        text = place.group(0) + in_its_words(text[place.end():], records, lower)
    else:
        text = _anywhere(text, t, lower)
    return _OUTSIDE.sub(outside, text)


def _anywhere(text: str, t: Trace, lower: Lower) -> str:
    """What is said of one of a kernel's instructions without its line: with the lines that may be meant."""
    named = _KERNEL.match(text)
    if named is None:
        return text
    made = [r for r in t.records if isinstance(r, Instruction) and any(i.name == named.group(1) for i in lower(r))]
    places = list(dict.fromkeys("%s:%d: %s" % (r.where + (r.api,)) for r in made))
    return "%s: %s" % (" or ".join(places), text[named.end():]) if places else text


def in_its_words(text: str, records: Sequence[Instruction], lower: Lower) -> str:
    """What is said of an instruction, which was made for one of those records."""
    named = _INSTRUCTION.match(text)
    made: Dict[str, List[Instruction]] = {}
    for r in records:
        made.setdefault(r.api, []).extend(i for i in _with_names(lower(r), r) if named is None or i.name == named.group(1))
    apis = [a for a, instructions in made.items() if instructions] if named is not None else list(made)
    if not apis or (named is None and any(text.startswith(a + ": ") for a in apis)):
        return text
    if named is not None:
        text = text[named.end():]
    names = {n: o.what for i in made[apis[0]] for n, o in i.operands.items() if o.what} if len(apis) == 1 else {}
    text = _OPERAND.sub(lambda m: "%s '%s'" % (m.group(1), names.get(m.group(2), m.group(2))), text)
    return "%s: %s" % (" or ".join(apis), _OPERATOR.sub(lambda m: "operator %s" % _operation(m.group(1)), text))


def _operation(name: str) -> str:
    """What nl calls one of the library's operations."""
    from . import language

    known: Optional[str] = next((n for n, ours in _NAMES.items() if ours == name and callable(vars(language).get(n))), None)
    return "nl.%s" % known if known else "'%s'" % name


def _with_names(made: Sequence[Instruction], r: Instruction) -> Sequence[Instruction]:
    """Operands of instructions that were made for a record are called as its own at the same place are."""
    own: List[Operand] = list(r.operands.values())
    for i in made:
        for o in i.operands.values():
            o.what = o.what or next((p.what for p in own if p.what and p.object is o.object and p.dims[:1] == o.dims[:1]),
                                    next((p.what for p in own if p.what and p.object is o.object), ""))
    return made
