"""What the tracer must know of a kernel's source: which loops may be traced once, and functions rewritten for `and`, `or`, `not`.

Tracing a body once is right when no trip hands a Python value to the next one. Names that a body reads before it assigns them are
watched (_loops.py); a body with `break` or `next()`, or a range that is not directly iterated by a `for`, is unrolled.
"""
from __future__ import annotations

import ast
import functools
import gc
import inspect
import linecache
import textwrap
import types
from typing import Any, Callable, FrozenSet, List, Optional, Set


class LoopInfo:
    """Of one `for`: names read in its body before they are assigned there and assigned later; all names that it assigns; and whether it
    may stay a loop."""

    __slots__ = ("carried", "stored", "simple", "name")

    def __init__(self, carried: FrozenSet[str], stored: FrozenSet[str], simple: bool, name: str):
        self.carried = carried
        self.stored = stored
        self.simple = simple
        self.name = name


_DIRECT_ONLY = {"enumerate", "zip", "reversed", "list", "tuple", "map", "sorted", "filter", "sum", "len", "iter"}


@functools.lru_cache(maxsize=256)
def _tree(code: types.CodeType) -> Optional[ast.AST]:
    first = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)  # inspect.getsourcelines asks every module loaded for its file, stand-ins too
    if not lines:
        return None
    try:
        text = "".join(inspect.getblock(lines[first - 1:]))
    except (IndentationError, SyntaxError):
        return None
    for source, shift in ((textwrap.dedent(text), first - 1), ("if True:\n" + text, first - 2)):
        try:
            tree = ast.parse(source)
        except (SyntaxError, IndentationError):
            continue
        ast.increment_lineno(tree, shift)
        return tree
    return None


@functools.lru_cache(maxsize=4096)
def loop_info(code: types.CodeType, line: int) -> Optional[LoopInfo]:
    """The `for` whose iterable stands on this line; None when there is none, or several."""
    tree = _tree(code)
    if tree is None:
        return None
    found: List[ast.For] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            if node.lineno <= line <= (node.end_lineno or line) and not _encloses_for(node, line):
                return None
        if isinstance(node, ast.For) and node.iter.lineno <= line <= (node.iter.end_lineno or line):
            found.append(node)
    if len(found) != 1:
        return None
    loop = found[0]
    direct = not (isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and loop.iter.func.id in _DIRECT_ONLY)
    simple = direct and isinstance(loop.target, ast.Name) and not _has_break(loop.body) and not loop.orelse \
        and not _takes_next(loop.body)
    reader = _Exposed()
    if isinstance(loop.target, ast.Name):
        reader.done.add(loop.target.id)
    reader.block(loop.body)
    name = loop.target.id if isinstance(loop.target, ast.Name) else "i"
    return LoopInfo(frozenset(reader.exposed & reader.stored), frozenset(reader.stored | {name}), simple, name)


def _takes_next(body: List[ast.stmt]) -> bool:
    """Whether a body moves an iterator on: no trip gets what another one got."""
    calls = (n.func for s in body for n in ast.walk(s) if isinstance(n, ast.Call))
    return any(isinstance(f, ast.Name) and f.id == "next" or isinstance(f, ast.Attribute) and f.attr in ("__next__", "send") for f in calls)


def _encloses_for(node: ast.AST, line: int) -> bool:
    return any(isinstance(n, ast.For) for n in ast.walk(node))


def _has_break(body: List[ast.stmt]) -> bool:
    for s in body:
        if isinstance(s, ast.Break):
            return True
        if isinstance(s, (ast.For, ast.While, ast.FunctionDef, ast.Lambda)):
            continue
        for part in ("body", "orelse", "finalbody", "handlers"):
            inner = getattr(s, part, None)
            if isinstance(inner, list) and _has_break([x for x in inner if isinstance(x, ast.stmt)]):
                return True
            if part == "handlers" and inner and any(_has_break(h.body) for h in inner):
                return True
    return False


class _Exposed:
    """Names whose first use in a block may be a read. Conservative: branches join by what both assign."""

    def __init__(self) -> None:
        self.done: Set[str] = set()
        self.exposed: Set[str] = set()
        self.stored: Set[str] = set()

    def _read(self, node: Optional[ast.AST]) -> None:
        if node is None:
            return
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in self.done:
                self.exposed.add(n.id)
            elif isinstance(n, ast.NamedExpr):
                self.stored.add(n.target.id)

    def _store(self, target: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.done.add(target.id)
            self.stored.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for t in target.elts:
                self._store(t)
        elif isinstance(target, ast.Starred):
            self._store(target.value)
        else:
            self._read(target)

    def block(self, body: List[ast.stmt]) -> None:
        for s in body:
            self.statement(s)

    def _branches(self, *bodies: List[ast.stmt]) -> None:
        before = set(self.done)
        results = []
        for b in bodies:
            self.done = set(before)
            self.block(b)
            results.append(self.done)
        self.done = set.intersection(*results)

    def statement(self, s: ast.stmt) -> None:
        if isinstance(s, ast.Assign):
            self._read(s.value)
            for t in s.targets:
                self._store(t)
        elif isinstance(s, ast.AnnAssign):
            self._read(s.value)
            if s.value is not None:
                self._store(s.target)
        elif isinstance(s, ast.AugAssign):
            self._read(s.value)
            if isinstance(s.target, ast.Name):
                if s.target.id not in self.done:
                    self.exposed.add(s.target.id)
                self.stored.add(s.target.id)
            else:
                self._read(s.target)
        elif isinstance(s, ast.If):
            self._read(s.test)
            self._branches(s.body, s.orelse)
        elif isinstance(s, (ast.For, ast.AsyncFor)):
            self._read(s.iter)
            before = set(self.done)
            self._store(s.target)
            self.block(s.body)
            self.block(s.orelse)
            self.done = before
        elif isinstance(s, ast.While):
            self._read(s.test)
            self._branches(s.body, [])
            self.block(s.orelse)
        elif isinstance(s, (ast.With, ast.AsyncWith)):
            for item in s.items:
                self._read(item.context_expr)
                if item.optional_vars is not None:
                    self._store(item.optional_vars)
            self.block(s.body)
        elif isinstance(s, ast.Try):
            self._branches(s.body + s.orelse, *[h.body for h in s.handlers])
            self.block(s.finalbody)
        elif isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._read(s)
            self.done.add(s.name)
            self.stored.add(s.name)
        else:
            self._read(s)


# -- and, or, not ----------------------------------------------------------------------------------------------------


def join_and(*parts: Callable[[], Any]) -> Any:
    """`a and b and ...` where operands may be masks: those are joined, others decide as in Python."""
    from ._index import Mask

    value: Any = True
    for p in parts:
        x = p()
        if isinstance(value, Mask):
            value = value & x if isinstance(x, (Mask, bool)) else x
        elif isinstance(x, Mask):
            value = x
        else:
            value = x
            if not x:
                return x
    return value


def join_or(*parts: Callable[[], Any]) -> Any:
    from ._index import Mask

    value: Any = False
    for p in parts:
        x = p()
        if isinstance(value, Mask):
            value = value | x if isinstance(x, (Mask, bool)) else value
        elif isinstance(x, Mask):
            value = x
        else:
            value = x
            if x:
                return x
    return value


def negate(x: Any) -> Any:
    from ._index import Mask

    return ~x if isinstance(x, Mask) else not x


class _Rewrite(ast.NodeTransformer):
    """`and`, `or`, `not` and chained comparisons as calls of the functions above; `with do_while(condition)` as a loop."""

    def visit_With(self, node: ast.With) -> Any:  # noqa: N802
        self.generic_visit(node)
        call = node.items[0].context_expr
        if len(node.items) > 1 or not isinstance(call, ast.Call) or getattr(call.func, "id", getattr(call.func, "attr", None)) != "do_while":
            return node
        last = node.body.pop() if isinstance(node.body[-1], ast.Return) else None  # of what is repeated: it comes in the end
        again = ast.parse("__xcc_trips = None\nwhile True:\n    if not __xcc_trips.again():\n        break").body
        again[0].value = call  # type: ignore[attr-defined]
        again[1].body[:0] = node.body  # type: ignore[attr-defined]
        return [ast.copy_location(s, node) for s in again] + ([last] if last is not None else [])

    def _call(self, name: str, args: List[ast.expr], at: ast.AST) -> ast.Call:
        return ast.copy_location(ast.Call(ast.Name("__xcc_%s" % name, ast.Load()), args, []), at)

    def _later(self, e: ast.expr) -> ast.Lambda:
        none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(none, e), e)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        return self._call("and" if isinstance(node.op, ast.And) else "or", [self._later(v) for v in node.values], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        return self._call("not", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parts: List[ast.expr] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators):
            parts.append(self._later(ast.copy_location(ast.Compare(left, [op], [right]), node)))
            left = right
        return self._call("and", parts, node)


def _find_function(code: types.CodeType) -> Optional[types.FunctionType]:
    for f in gc.get_referrers(code):
        if isinstance(f, types.FunctionType) and f.__code__ is code:
            return f
    return None


def _inner_code(module: types.CodeType, name: str) -> Optional[types.CodeType]:
    todo = [module]
    while todo:
        c = todo.pop()
        for k in c.co_consts:
            if isinstance(k, types.CodeType):
                if k.co_name == name:
                    return k
                todo.append(k)
    return None


def is_rewritten(code: types.CodeType) -> bool:
    return code in _made


def rewrite(code: types.CodeType) -> bool:
    """Gives the function with this code another one in which masks may be joined by Python's words. False: not possible, or done."""
    if code in _made:
        return False
    f = _find_function(code)
    tree = _tree(code)
    if f is None or tree is None:
        return False
    definition = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name), None)
    if definition is None:
        return False
    definition.decorator_list = []
    definition = ast.fix_missing_locations(_Rewrite().visit(definition))
    body: List[ast.stmt] = [definition]
    free = code.co_freevars
    if free:  # a function around it that has the closure's names
        args = ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in free], kwonlyargs=[], kw_defaults=[], defaults=[])
        outer = ast.FunctionDef("__xcc_outer", args, body + [ast.Return(ast.Name(code.co_name, ast.Load()))], [])
        if "type_params" in ast.FunctionDef._fields:
            outer.type_params = []  # type: ignore[attr-defined]
        body = [ast.fix_missing_locations(ast.copy_location(outer, definition))]
    module = compile(ast.fix_missing_locations(ast.Module(body, [])), code.co_filename, "exec")
    new = _inner_code(module, code.co_name)
    if new is None or new.co_freevars != free:
        return False
    f.__globals__.setdefault("__xcc_and", join_and)
    f.__globals__.setdefault("__xcc_or", join_or)
    f.__globals__.setdefault("__xcc_not", negate)
    f.__code__ = new
    _made.add(new)
    return True


_made: Set[types.CodeType] = set()
