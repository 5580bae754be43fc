"""Tiles made smaller where a kernel does not fit, or not in a cache: it names all blocks of a buffer, of which few live at one time.

An allocator folds blocks over few places (block i at i modulo n). Here the same follows from what a trace does, without trust in the
numbers that an author gave:
- split: blocks that no access has in common become tiles of their own, which live as long as they are used;
- contract: a tile of which each trip of a loop touches a block of its own needs one block, as does one whose blocks come and go in turn,
  in a pipeline where a trip reads the last trip's block before it fills its own.
"""
from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._index import Expr, Term, Variable
from ._record import Instruction, LoopBegin, LoopEnd, Object, Operand, is_whole
from ._trace import Trace


_CACHE = 24 << 20  # bytes: SBUF has as many


class _Access(NamedTuple):
    """An operand on a tile: its partition and column offsets apart. first, last: columns over all trips of all loops."""

    record: Instruction
    name: str
    operand: Operand
    rows: Tuple[int, Tuple[Term, ...]]
    columns: Tuple[int, Tuple[Term, ...]]
    reach: int  # of the dims that lie in a partition

    def first_last(self, without: Optional[Variable] = None) -> Tuple[int, int]:
        base, terms = self.columns
        return base, base + self.reach + sum(c * (v.count - 1) for v, c in terms if v is not without)


def _access(r: Instruction, name: str, o: Operand) -> Optional[_Access]:
    per = o.object.elements
    if o.dtype != o.object.dtype or o.index is not None:
        return None
    e = Expr.of(o.offset)
    assert e is not None
    rows = tuple((v, c // per) for v, c in e.terms if c % per == 0)
    columns = tuple((v, c) for v, c in e.terms if c % per)
    reach = sum(s * (c - 1) for s, c in o.dims if s % per)
    if any(c < 0 for _, c in columns) or any(s < 0 or s > per and s % per for s, _ in o.dims) or e.base < 0:
        return None
    a = _Access(r, name, o, (e.base // per, rows), (e.base % per, columns), reach)
    return a if a.first_last()[1] < per else None


def _tiles(t: Trace) -> Iterator[Tuple[Object, List[_Access]]]:
    """Tiles of several elements whose every access is known, largest first."""
    of: Dict[int, List[Optional[_Access]]] = {}
    objects: Dict[int, Object] = {}
    for r in t.records:
        if isinstance(r, Instruction):
            for name, o in r.operands.items():
                if o.object.space != "hbm":
                    objects[o.object.uid] = o.object
                    of.setdefault(o.object.uid, []).append(_access(r, name, o))
                if o.index is not None:
                    of.setdefault(o.index[2].object.uid, []).append(None)
    for uid in sorted(objects, key=lambda u: (-_columns(objects[u]), u)):
        found = [a for a in of[uid] if a is not None]
        if objects[uid].elements > 1 and len(found) == len(of[uid]):
            yield objects[uid], found


def _move(t: Trace, old: Object, accesses: List[_Access], first: int, elements: int, without: Optional[Variable] = None) -> None:
    """The columns from `first` on become a tile of its own; `without`: a loop that does not move accesses any longer."""
    new = Object(len(t.objects), old.space, (old.partitions, elements), old.dtype, t._name(old.name))
    new.depth, new.position, new.where, new.is_result = old.depth, old.position, old.where, old.is_result
    new.depth += without is not None
    new.is_list = old.is_list
    t.objects.append(new)
    per = old.elements
    for a in accesses:
        base = a.rows[0] * elements + a.columns[0] - first
        terms = [(v, c * elements) for v, c in a.rows[1]] + [(v, c) for v, c in a.columns[1] if v is not without]
        offset = Expr((), base, tuple(sorted(terms, key=lambda x: x[0].uid)), ())._simple()
        dims = tuple((s // per * elements if s and s % per == 0 else s, c) for s, c in a.operand.dims)
        a.record.operands[a.name] = Operand(new, a.operand.dtype, offset, dims, a.operand.clips)


def _apart(accesses: List[_Access]) -> List[Tuple[int, int, List[_Access]]]:
    """Those that have columns in common, and which columns."""
    groups: List[Tuple[int, int, List[_Access]]] = []
    for a in sorted(accesses, key=lambda a: a.first_last()):
        first, last = a.first_last()
        if groups and first <= groups[-1][1]:
            low, high, members = groups[-1]
            members.append(a)
            groups[-1] = (low, max(high, last), members)
        else:
            groups.append((first, last, [a]))
    return groups


def parts(uses: Sequence[Tuple[int, str, Instruction]]) -> Optional[List[List[Tuple[int, str, Instruction]]]]:
    """The uses of a tile (record number, operand, instruction) by columns that none has in common with another; None: not known."""
    accesses: List[_Access] = []
    numbers: Dict[int, int] = {}
    for k, name, r in uses:
        a = _access(r, name, r.operands[name]) if name in r.operands else None
        if a is None:
            return None
        accesses.append(a)
        numbers[id(r)] = k
    groups = [part for _, _, members in _apart(accesses) for part in _interleaved(members)]
    return [sorted(((numbers[id(a.record)], a.name, a.record) for a in members), key=lambda u: u[0]) for members in groups]


def _interleaved(accesses: List[_Access]) -> List[List[_Access]]:
    """Those that have columns in common, where loops step over blocks of which each access has its own columns."""
    for step in sorted({c for a in accesses for _, c in a.columns[1] if c}, reverse=True):
        within = [a._replace(columns=(a.columns[0] % step, tuple((v, c) for v, c in a.columns[1] if c % step))) for a in accesses]
        if all(a.first_last()[1] < step for a in within):
            groups = _apart(within)
            if len(groups) > 1:
                own = {(id(a.record), a.name): a for a in accesses}
                return [part for _, _, members in groups for part in _interleaved([own[id(a.record), a.name] for a in members])]
    return [accesses]


def split(t: Trace) -> bool:
    """Whether a tile was cut into several."""
    done = False
    for o, accesses in list(_tiles(t)):
        groups = _apart(accesses)
        if len(groups) > 1:
            done = True
            for first, last, members in groups:
                _move(t, o, members, first, last - first + 1)
    return done


def _trip_variable(o: Object, accesses: List[_Access]) -> Tuple[Optional[Variable], int]:
    """The outermost loop since the tile was made, when all accesses lie in it and step alike with it; and that step."""
    v = accesses[0].record.open[o.depth] if len(accesses[0].record.open) > o.depth else None
    if v is None or v.count < 2:
        return None, 0
    steps = set()
    for a in accesses:
        if len(a.record.open) <= o.depth or a.record.open[o.depth] is not v:
            return None, 0
        steps.add(next((c for w, c in a.columns[1] if w is v), 0))
    step = steps.pop()
    return (v, step) if not steps and step else (None, 0)


def _is_digit(v: Variable, step: int, accesses: List[_Access]) -> bool:
    """Whether the loop's index is a digit of all places: what is below the step stays below it, what is not steps over all trips."""
    whole = step * v.count
    for a in accesses:
        low = a.columns[0] % whole
        spans = [(c, w.count) for w, c in a.columns[1] if w is not v] + [(s, n) for s, n in a.operand.dims if s % a.operand.object.elements]
        for s, n in spans:
            if s < step:
                low += s * (n - 1)
            elif n > 1 and s % whole:
                return False
        if low >= step:
            return False
    return True


def _without_digit(t: Trace, o: Object, accesses: List[_Access], v: Variable, step: int) -> None:
    """Leaves the index out of all places: one block for all trips."""
    whole = step * v.count

    def place(x: int) -> int:
        return x // whole * step + x % whole

    def narrow(a: _Access) -> _Access:
        p = a.operand
        dims = tuple((place(s) if s % o.elements else s, n) for s, n in p.dims)
        return a._replace(operand=Operand(p.object, p.dtype, p.offset, dims, p.clips),
                          columns=(place(a.columns[0]), tuple((w, place(c)) for w, c in a.columns[1] if w is not v)))

    moved = [narrow(a) for a in accesses]
    _move(t, o, moved, 0, -(-o.elements // whole) * step, v)


def sink(t: Trace) -> bool:
    """Whether a fill of a whole tile moved into the only loop that uses the tile: each trip fills the blocks that it alone has."""
    done = False
    for o, accesses in list(_tiles(t)):
        fill, rest = accesses[0].record, accesses[1:]
        p = accesses[0].operand
        whole = fill.name == "memset" and is_whole(p)
        v, step = _trip_variable(o, rest) if whole and rest and len(fill.open) == o.depth else (None, 0)
        if v is None or o.elements % (step * v.count) or not _is_digit(v, step, rest):
            continue
        part = Operand(o, p.dtype, Expr((), 0, ((v, step),), ()), ((o.elements, o.partitions), (step * v.count, o.elements // (step * v.count)), (1, step)))
        fill.operands[accesses[0].name] = part
        fill.open += (v,)
        t.records.remove(fill)
        t.records.insert(next(k for k, r in enumerate(t.records) if isinstance(r, LoopBegin) and r.variable is v) + 1, fill)
        done = True
    return done


class _Stage(NamedTuple):
    """Accesses of one instruction, or of one loop around several, and which blocks they touch: from the first to the last trip."""

    first: int
    last: int


def _block_of(a: _Access, step: int, v: Variable) -> Optional[int]:
    """The block that an access touches, of loop v in its first trip; None when it touches several."""
    low = a.columns[0] % step
    reach = a.reach + sum(c * (w.count - 1) for w, c in a.columns[1] if w is not v)
    moves = sum(c for w, c in a.columns[1] if w is v)
    return a.columns[0] // step if low + reach < step and moves in (0, step) else None


def _stages(accesses: List[_Access], depth: int, step: int, v: Variable) -> Optional[List[_Stage]]:
    """In the kernel's order, of the loops at this depth one stage each; None: which blocks one touches is not known."""
    out: List[_Stage] = []
    k = 0
    while k < len(accesses):
        around = accesses[k].record.open[depth] if len(accesses[k].record.open) > depth else None
        n = k + 1
        while around is not None and n < len(accesses) and accesses[n].record.open[depth:depth + 1] == (around,):
            n += 1
        mine = accesses[k:n]
        blocks = [_block_of(a, step, v) for a in mine]
        if None in blocks:
            return None
        known = [b for b in blocks if b is not None]
        if around is v:
            if any(all(w is not v for w, _ in a.columns[1]) for a in mine):
                return None
            inside = _stages(mine, depth + 1, step, v)
            if inside is None or not _in_turn(inside) or inside[-1].last - inside[0].first > 1:
                return None
            out.append(_Stage(min(known), max(known) + v.count - 1))
        else:
            out.append(_Stage(min(known), max(known)))
        k = n
    return out


def _in_turn(stages: List[_Stage]) -> bool:
    """Whether all that touches a block comes before all that touches the next one."""
    return all(a.last <= b.first for a, b in zip(stages, stages[1:]))


def _pipelined(t: Trace, o: Object, accesses: List[_Access]) -> bool:
    """One block for a tile whose blocks come and go in turn, perhaps begun before a loop and ended behind it; whether that was done."""
    moving = {(a.record.open[o.depth], c) for a in accesses for w, c in a.columns[1] if a.record.open[o.depth:o.depth + 1] == (w,)}
    for v, step in sorted(moving, key=lambda x: (-x[1], x[0].uid)):
        if any(c % step == 0 and w is not v for a in accesses for w, c in a.columns[1]) or step >= o.elements or o.zeroed:
            continue
        stages = _stages(accesses, o.depth, step, v)
        if stages is None or not _in_turn(stages):
            continue
        moved = [a._replace(columns=(a.columns[0] % step, tuple(x for x in a.columns[1] if x[0] is not v))) for a in accesses]
        _move(t, o, moved, 0, step)
        return True
    return False


def contract(t: Trace) -> bool:
    """Whether the largest tiles that can be were made smaller: all of one size, as an unrolled loop has a copy of each for every trip."""
    size = 0
    for o, accesses in list(_tiles(t)):
        if _columns(o) < size:
            break
        if _contracted(t, o, accesses):
            size = _columns(o)
    if size:
        split(t)  # of what trips shared, parts may be apart now
    return size > 0


def _contracted(t: Trace, o: Object, accesses: List[_Access]) -> bool:
    """Whether a tile needs less than it had, and now has that."""
    v, step = _trip_variable(o, accesses)
    if v is None:
        return _pipelined(t, o, accesses)
    first = min(a.first_last(v)[0] for a in accesses)
    last = max(a.first_last(v)[1] for a in accesses)
    if last - first < step:
        _move(t, o, accesses, first, last - first + 1, v)
    elif _is_digit(v, step, accesses):
        _without_digit(t, o, accesses, v, step)
    else:
        return _pipelined(t, o, accesses)
    return True


def _columns(o: Object) -> int:
    """Bytes in a partition."""
    return o.elements * o.dtype.itemsize


def _bytes(o: Object) -> int:
    return o.partitions * _columns(o)


def _spans(t: Trace) -> Dict[Object, List[int]]:
    """From which to which record each tile is used: through loops that it was made outside of."""
    spans: Dict[Object, List[int]] = {}
    loops: List[List[Object]] = []  # open ones: tiles made outside of them, to which they belong as a whole
    begins: List[int] = []
    for at, r in enumerate(t.records):
        if isinstance(r, LoopBegin):
            loops.append([])
            begins.append(at)
        elif isinstance(r, LoopEnd):
            begins.pop()
            for o in loops.pop():
                spans[o][1] = at
        else:
            for p in r.operands.values():
                o = p.object
                if o.space != "hbm":
                    outside = len(begins) > o.depth
                    first = begins[o.depth] if outside else at
                    span = spans.setdefault(o, [first, at])
                    span[1] = at
                    if outside:
                        loops[o.depth].append(o)
    return spans


def bytes_on_chip(t: Trace) -> int:
    """Of all tiles that instructions use; those that are alike and not used at one time share memory, as the library lets them."""
    changes: Dict[Tuple[object, ...], List[Tuple[int, int]]] = {}
    for o, (first, last) in _spans(t).items():
        changes.setdefault((o.space, o.shape, o.dtype, _bytes(o)), []).extend([(first, 1), (last + 1, -1)])
    total = 0
    for (_, _, _, size), found in changes.items():
        alive = most = 0
        for _, change in sorted(found):
            alive += change
            most = max(most, alive)
        total += most * int(size)  # type: ignore[call-overload]
    return total


def fit_cache(t: Trace) -> None:
    """Makes tiles smaller until all of them are no more than the machine's memory, as far as that goes."""
    done = True
    while done and bytes_on_chip(t) > _CACHE:
        done = split(t)
        room = _CACHE - bytes_on_chip(t)  # of tiles that share memory, one that gets smaller may give less
        for o, accesses in list(_tiles(t)):
            if room < 0 and _contracted(t, o, accesses):
                room += _bytes(o) - _bytes(t.objects[-1])
                done = True
