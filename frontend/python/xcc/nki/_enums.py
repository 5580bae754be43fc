"""Enumerations of the instruction interface."""
from __future__ import annotations

import enum
import os

from ._errors import NkiTypeError, error


class engine(enum.Enum):  # noqa: N801
    tensor = "pe"
    vector = "dve"
    scalar = "act"
    gpsimd = "pool"
    dma = "dma"
    sync = "sp"
    unknown = ""


class reduce_cmd(enum.Enum):  # noqa: N801
    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(enum.Enum):  # noqa: N801
    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(enum.Enum):  # noqa: N801
    error = 0
    skip = 1


def skips(mode: object) -> bool:
    """Whether an oob_mode, or its name, leaves out what lies beyond a tensor."""
    return getattr(mode, "name", mode) == "skip"


class matmul_perf_mode(enum.Enum):  # noqa: N801
    none = 0
    double_row = 1
    double_column = 2
    double_pixel = 3
    double_row_gen3 = 4


class nc_version(enum.IntEnum):  # noqa: N801
    gen1 = 1
    gen2 = 2
    gen3 = 3
    gen4 = 4


class dma_engine(enum.Enum):  # noqa: N801
    dma = 0
    gpsimd_dma = 1


_TARGETS = {"trn1": nc_version.gen2, "inf2": nc_version.gen2, "inf1": nc_version.gen1, "trn2": nc_version.gen3, "trn3": nc_version.gen4}
_NEAREST = {"trn3": "trn2"}  # of a machine whose clocks are not public, so that it is no target here: whose limits hold
_BY_GENERATION = {nc_version.gen1: "inf1", nc_version.gen2: "trn1", nc_version.gen3: "trn2", nc_version.gen4: "trn3"}


def machine_name(target: object) -> str:
    """The machine that a target names: trn1, inf2, trn2, trn3; or gen2, gen3, gen4, nisa.nc_version.gen3; and sizes of one, such as trn2n."""
    if isinstance(target, nc_version):
        return _BY_GENERATION[target]
    name = str(target)
    if name in nc_version.__members__:
        return _BY_GENERATION[nc_version[name]]
    found = [t for t in _TARGETS if name == t or name.startswith(t) and name[len(t):].isalpha()]
    if not found:
        raise error(None, "platform_target is %r, expected %s or %s" % (target, ", ".join(_TARGETS), ", ".join(nc_version.__members__)), NkiTypeError)
    return found[0]


def target_of(machine: str) -> str:
    """What to compile for, so that a machine's limits hold: itself, or the nearest that is a target."""
    return _NEAREST.get(machine, machine)


def get_nc_version() -> nc_version:
    """The generation that kernels are written for: trn1 (gen2) unless jit(platform_target=...) or the environment says otherwise."""
    from ._trace import current

    t = current()
    name = t.state.get("platform_target") if t is not None else None
    return _TARGETS[machine_name(name or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1"))]


def get_nc_sub_version() -> int:
    return 0


class constants:  # noqa: N801
    """nki.isa.constants: the enumerations under another name."""

    engine = engine
    reduce_cmd = reduce_cmd
    dge_mode = dge_mode
    oob_mode = oob_mode
    matmul_perf_mode = matmul_perf_mode
    nc_version = nc_version
    dma_engine = dma_engine


def engine_name(e: object) -> object:
    """The library's name of an engine, None where the choice is free."""
    if isinstance(e, engine):
        return e.value if e.value in ("dve", "act", "pool") else None
    return None
