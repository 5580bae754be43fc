"""The name neuronxcc for xcc's kernels: `import neuronxcc.nki` finds xcc.nki. AWS's own package comes first when it is installed."""
import sys as _sys

from _xcc_names import run_others as _run_others

if not _run_others(globals()):
    from xcc.nki import _compat as _names

    _names.install_beta1(_sys.modules[__name__])
