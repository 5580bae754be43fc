"""python -m xcc.nki SCRIPT.py [ARGS]: runs a script whose imports are AWS's names, neuronxcc.nki or nki."""
from __future__ import annotations

import os
import runpy
import sys

from ._compat import install


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m xcc.nki SCRIPT.py [ARGS]\n\n" + (__doc__ or "").strip())
        return 0 if len(sys.argv) > 1 else 2
    install()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
