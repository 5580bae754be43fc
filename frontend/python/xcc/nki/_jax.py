"""Kernels called on JAX's traced arrays: a custom-call of 'xcc.kernel' that carries the kernel as text.

xcc compiles such a module (HLO, StableHLO, jax.export) to one archive. Where JAX itself runs it on the CPU, the call is answered
here, by XLA's foreign function interface: its call frames are plain C structs, read below by their offsets.
"""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Dict, List

import numpy as np

from .. import dtypes
from ..model import Model
from ._errors import NkiError
from ._index import to_int
from ._run import Kernel, _unflatten_results

TARGET = "xcc.kernel"

_lock = threading.Lock()
_models: Dict[bytes, Model] = {}
_registered: List[Any] = []


def call(kernel: Kernel, args: tuple, kwargs: dict) -> Any:
    """The kernel's results as traced arrays."""
    import jax

    register()
    compiled, leaves = kernel.prepare(*args, **kwargs)
    name, text = compiled.name, compiled.assembly()
    with _lock:
        _models.setdefault(text.encode(), compiled.model())
    operands = [jax.numpy.asarray(x).astype(o.dtype).reshape(o.shape) for x, o in zip(leaves, compiled.inputs)]
    shapes = [jax.ShapeDtypeStruct(o.shape, o.dtype) for o in compiled.results]
    out = jax.ffi.ffi_call(TARGET, shapes, vmap_method="sequential")(*operands, assembly=text, kernel=name)
    of = {o.uid: a for o, a in zip(compiled.results, out)}
    return _unflatten_results(compiled.result, lambda view: _view(view, of[view.object.uid]))


def _view(view: Any, whole: Any) -> Any:
    """What a view shows of its tensor."""
    at = np.full((), to_int(view.offset), np.int64)
    for s, n in view.dims:
        at = at[..., None] + s * np.arange(n)
    if at.size == whole.size and np.array_equal(at.reshape(-1), np.arange(whole.size)):
        return whole.reshape(view.shape)
    return whole.reshape(-1)[at.reshape(-1)].reshape(view.shape)


# -- running on the CPU -----------------------------------------------------------------------------------------------

_TYPES = {1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64", 10: "float16",
          11: "float32", 12: "float64", 16: "bfloat16", 19: "float8_e5m2", 20: "float8_e4m3fn", 28: "float8_e4m3"}


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _int(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _buffer(address: int) -> np.ndarray:
    """XLA_FFI_Buffer: size, extension, type, data, rank, dims."""
    code, data, rank, dims = _int(address + 16), _word(address + 24), _word(address + 32), _word(address + 40)
    if code not in _TYPES:
        raise NkiError("an operand of XLA's element type %d, which kernels do not have" % code)
    shape = [_word(dims + 8 * k) for k in range(rank)]
    d = dtypes.to_dtype(_TYPES[code])
    size = int(np.prod(shape, dtype=np.int64)) * d.itemsize
    raw = (ctypes.c_uint8 * max(size, 1)).from_address(data)
    return np.frombuffer(raw, np.uint8)[:size].view(d).reshape(shape)


def _list(address: int) -> List[np.ndarray]:
    """XLA_FFI_Args, XLA_FFI_Rets: size, extension, count, types, values."""
    values = _word(address + 32)
    return [_buffer(_word(values + 8 * k)) for k in range(_word(address + 16))]


def _attributes(address: int) -> Dict[bytes, bytes]:
    """XLA_FFI_Attrs: size, extension, count, types, names, values; the strings among them."""
    types, names, values = _word(address + 24), _word(address + 32), _word(address + 40)
    out = {}
    for k in range(_word(address + 16)):
        if _int(types + 4 * k) == 4:
            name, value = _word(names + 8 * k), _word(values + 8 * k)
            out[ctypes.string_at(_word(name), _word(name + 8))] = ctypes.string_at(_word(value), _word(value + 8))
    return out


def _model(text: bytes) -> Model:
    """The model of a kernel's text; one that this process has not traced is assembled."""
    with _lock:
        if text not in _models:
            from ..compiler import compile_text

            _models[text] = Model(compile_text(text))
        return _models[text]


def _run(frame: int) -> None:
    attributes = _attributes(frame + 120)
    if b"assembly" not in attributes:
        raise NkiError("a custom-call of '%s' without its kernel as text" % TARGET)
    model = _model(attributes[b"assembly"])
    for to, value in zip(_list(frame + 80), model.run(_list(frame + 40))):
        to[...] = value.reshape(to.shape)


def _metadata(frame: int) -> bool:
    """When XLA asks which version of the interface this is: as it has itself."""
    extension = _word(frame + 8)
    if not extension or _int(extension + 8) != 1:
        return False
    metadata, api = _word(extension + 24), _word(frame + 16)
    major, minor = (_int(api + 32), _int(api + 36)) if api else (0, 1)
    ctypes.c_int32.from_address(metadata + 24).value = major
    ctypes.c_int32.from_address(metadata + 28).value = minor
    ctypes.c_uint32.from_address(metadata + 32).value = 0
    return True


def _error(frame: int, message: str) -> int:
    """XLA_FFI_Error_Create of the frame's XLA_FFI_Api."""
    text = ctypes.create_string_buffer(message.encode())
    words = (ctypes.c_uint64 * 4)(28, 0, ctypes.addressof(text), 2)
    create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_word(_word(frame + 16) + 48))
    return create(ctypes.addressof(words)) or 0


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _handler(frame: int) -> int:
    try:
        if not _metadata(frame):
            _run(frame)
        return 0
    except BaseException as e:  # noqa: BLE001 - nothing may leave a C callback
        return _error(frame, "kernel of xcc: %s" % e)


def register() -> None:
    """Tells JAX, once, how its CPU runs calls of kernels, and that a module with them may be exported."""
    import jax

    with _lock:
        if _registered:
            return
        ffi = getattr(jax, "ffi", None)
        if ffi is None:
            raise NkiError("kernels inside jax.jit need jax.ffi (JAX 0.5 or newer); this is JAX %s" % jax.__version__)
        address = ctypes.cast(_handler, ctypes.c_void_p)
        ffi.register_ffi_target(TARGET, ffi.pycapsule(address), platform="cpu", api_version=1)
        _registered.append(address)
    try:  # the text that a call carries keeps its meaning: archives and assembly are versioned
        from jax._src.export import _export

        stable = _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE
        if isinstance(stable, set):
            stable.add(TARGET)
        else:
            _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE = type(stable)(list(stable) + [TARGET])
    except (ImportError, AttributeError):
        pass  # then jax.export asks for disabled_checks=[jax.export.DisabledSafetyCheck.custom_call("xcc.kernel")]

