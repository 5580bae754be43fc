"""The name torch_neuronx for xcc's operators: `from torch_neuronx.xla_impl import custom_op` finds xcc.custom_op. AWS's own package comes first when it is installed."""
import sys as _sys
import types as _types

from _xcc_names import run_others as _run_others

if not _run_others(globals()):
    from xcc import custom_op as _custom_op

    xla_impl = _types.ModuleType(__name__ + ".xla_impl")
    xla_impl.custom_op = _custom_op
    _sys.modules[xla_impl.__name__] = xla_impl
    _sys.modules[xla_impl.__name__ + ".custom_op"] = _custom_op
