"""The name neuron_dtypes for xcc: xcc.nki._host_types. AWS's own package comes first when it is installed."""
import importlib.machinery as _machinery
import os as _os
import sys as _sys


def _is_ours(folder):
    """Whether what a folder of sys.path has under this name is this file, or another copy of it."""
    try:
        with open(_os.path.join(folder or ".", __name__, "__init__.py"), encoding="utf-8") as f:
            return f.readline().startswith('"""The name %s for xcc' % __name__)
    except OSError:
        return False


_other = _machinery.PathFinder.find_spec(__name__, [p for p in _sys.path if not _is_ours(p)])
if _other is not None and _other.origin:
    __path__ = list(_other.submodule_search_locations or [])
    __file__ = _other.origin
    with open(_other.origin, "rb") as _f:
        exec(compile(_f.read(), _other.origin, "exec"))
else:
    from xcc.nki import _compat as _names

    _names.install_host_types(_sys.modules[__name__])
