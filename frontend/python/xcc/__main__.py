"""python -m xcc ARGS: the command line program xcc; `python -m xcc xrun ARGS` (or xdump, xsim) another one of them."""
from __future__ import annotations

import os
import sys
from typing import List, Optional

PROGRAMS = {"xcc": "frontend", "xrun": "runtime", "xdump": "", "xsim": "runtime"}


def _find(name: str) -> Optional[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    folders = [os.path.join(here, "bin")]
    for build in (os.environ.get("XCC_LIBRARY_PATH"), os.path.join(root, "build")):
        if build:
            folders += [os.path.join(build, part) for part in ("", "bin", PROGRAMS[name], os.path.join("runtime", "sim"))]
    for folder in folders + os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        # a console command of this package would call itself
        if os.access(path, os.X_OK) and not os.path.isdir(path) and open(path, "rb").read(4) == b"\x7fELF":
            return path
    return None


def run(name: str, arguments: List[str]) -> int:
    path = _find(name)
    if path is None:
        print("%s is not found; build the project and set XCC_LIBRARY_PATH to its build folder" % name, file=sys.stderr)
        return 2
    os.execv(path, [name] + arguments)
    return 70


def xcc() -> int:
    return run("xcc", sys.argv[1:])


def xrun() -> int:
    return run("xrun", sys.argv[1:])


def xdump() -> int:
    return run("xdump", sys.argv[1:])


def xsim() -> int:
    return run("xsim", sys.argv[1:])


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(run(words.pop(0) if words and words[0] in PROGRAMS else "xcc", words))
