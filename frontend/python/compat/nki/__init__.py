"""The name nki for xcc's kernels: `import nki` finds xcc.nki.v06. AWS's own package comes first when it is installed."""
import sys as _sys

from _xcc_names import run_others as _run_others

if not _run_others(globals()):
    from xcc.nki import _compat as _names

    _names.install_v06(_sys.modules[__name__])
