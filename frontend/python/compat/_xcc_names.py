"""What the packages of this folder share: AWS's own package of the same name comes first when it is installed."""
import importlib.machinery
import os
import sys


def _is_ours(folder, name):
    """Whether what a folder of sys.path has under this name is a package of this folder, or another copy of it."""
    try:
        with open(os.path.join(folder or ".", name, "__init__.py"), encoding="utf-8") as f:
            return f.readline().startswith('"""The name %s for xcc' % name)
    except OSError:
        return False


def run_others(names):
    """Fills the module whose globals these are with AWS's own package; False where there is none."""
    name = names["__name__"]
    other = importlib.machinery.PathFinder.find_spec(name, [p for p in sys.path if not _is_ours(p, name)])
    if other is None or not other.origin:
        return False
    names["__path__"] = list(other.submodule_search_locations or [])
    names["__file__"] = other.origin
    with open(other.origin, "rb") as f:
        exec(compile(f.read(), other.origin, "exec"), names)
    return True
