"""The name nki for xcc's kernels: `import nki` finds xcc.nki.v06. AWS's own package comes first when it is installed."""
import importlib.machinery as _machinery
import os as _os
import sys as _sys

_here = _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))
_other = _machinery.PathFinder.find_spec(__name__, [p for p in _sys.path if _os.path.abspath(p or ".") != _here])
if _other is not None and _other.origin:
    __path__ = list(_other.submodule_search_locations or [])
    __file__ = _other.origin
    with open(_other.origin, "rb") as _f:
        exec(compile(_f.read(), _other.origin, "exec"))
else:
    from xcc.nki import _compat as _names

    _names.install_v06(_sys.modules[__name__])
