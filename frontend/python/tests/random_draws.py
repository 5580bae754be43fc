"""Further steps of random kernels (test_random.py): what draws their arguments.

draw_NAME(r, a, shape, pick, inputs, mask): arguments of the step NAME for value a, and the shape of its value; None: not of such a value.
"""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

from support import np

Step = Tuple[Any, ...]
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
COMPARE = {"less": np.less, "greater_equal": np.greater_equal}
GROWS_SLOWLY = ("add", "maximum", "minimum")  # along a row


def pick_name(r: np.random.RandomState, names: List[str]) -> str:
    return names[r.randint(len(names))]


Drawn = Optional[Tuple[Step, Tuple[int, int]]]  # a step's arguments, and the shape of its value


def draw_scan(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    columns = int(r.randint(1, s[1] + 3)) if r.randint(2) else None
    return (a, pick(lambda t: t == s), pick_name(r, list(GROWS_SLOWLY)), pick_name(r, list(GROWS_SLOWLY)), float(r.uniform(-1, 1)), columns), s


def draw_activation(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    column = pick(lambda t: t == (s[0], 1))
    scale = column if column is not None and r.randint(2) else float(r.uniform(-2, 2))
    return (pick_name(r, ["tanh", "square", "abs", "relu", "sigmoid"]), a, column if r.randint(2) else None, scale, mask(s)), s


def draw_activation_sums(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    return (pick_name(r, ["tanh", "square", "abs", "relu"]), a, float(r.uniform(-2, 2))), (s[0], 1)


def draw_stats(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    return ((a,), (s[0], 2)) if s[1] <= 512 else None


def draw_scalars(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    first, second = pick(lambda t: t == (s[0], 1)), pick(lambda t: t in ((s[0], 1), s))
    given = [x if x is not None and r.randint(2) else float(r.uniform(-2, 2)) for x in (first, second)]
    names = [pick_name(r, list(BINARY)) for _ in range(2)]
    return (a, names[0], given[0], names[1], given[1], (bool(r.randint(2)), bool(r.randint(2)))), s


def draw_ranges(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    names = [pick_name(r, list(COMPARE)) for _ in range(2)]
    return (a, *names, *(int(r.randint(-3, s[1] + 6)) for _ in range(2)), int(r.randint(0, 5))), s


def draw_find(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    return ((a,), (s[0], 8)) if s[1] > 8 else None


def draw_iota(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    return (*s, tuple(int(r.randint(-9, 10)) for _ in range(3))), s


def draw_rows(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    how = pick_name(r, ["mean", "var", "softmax"])
    return (a, how), s if how == "softmax" else (s[0], 1)


def draw_load_turned(r: Any, a: int, s: Tuple[int, int], pick: Any, inputs: Any, mask: Any) -> Drawn:
    k = int(r.randint(2))
    rows, columns = (int(r.randint(1, min(n, 128) + 1)) for n in inputs[k].shape)
    return (k, rows, columns), (columns, rows)


MORE = {name[5:]: f for name, f in list(globals().items()) if name.startswith("draw_")}
