"""Compiling: files, ONNX models in memory, functions of JAX and modules of PyTorch."""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Tuple

from . import _lib, custom_op


def _quote(value: Any) -> str:
    text = str(value)
    return "'%s'" % text if "'" not in text else '"%s"' % text


def options(flags: dict) -> str:
    """Keyword arguments as the command line's flags: auto_cast="none", O=2, explain=True; a list repeats one."""
    words: List[str] = []
    for name, value in flags.items():
        flag = "-O%s" % value if name == "O" else "--" + name.replace("_", "-")
        if name == "O":
            words.append(flag)
            continue
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is True:
                words.append(flag)
            elif v is not False and v is not None:
                words.append("%s %s" % (flag, _quote(v)))
    return " ".join(words)


def _is_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def _model_bytes(model: Any, specs: Tuple[Any, ...]) -> Tuple[bytes, str]:
    """A model in memory, and what messages call it. Its content tells its format."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), "model"
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        return model.SerializeToString(), "model.onnx"
    module = type(model).__module__.split(".")[0]
    is_torch = module == "torch" or any(c.__module__.split(".")[0] == "torch" for c in type(model).__mro__)
    if is_torch:
        from . import torch as bridge

        return bridge.to_onnx(model, specs), "model.onnx"
    if callable(model):
        from . import jax as bridge_jax

        return bridge_jax.to_hlo(model, specs), "model.hlo"
    raise TypeError("cannot compile a %s: give a path, an onnx.ModelProto, a JAX function or a torch module" % type(model).__name__)


def compile(model: Any, *specs: Any, output: Optional[Any] = None, progress: bool = False,  # noqa: A001 - the library's verb
            **flags: Any) -> Optional[bytes]:
    """Compiles a model; returns the archive, or writes it to `output` and returns None.

    model   a path (.onnx, .hlo, .mlir, ...), bytes of such a file, an onnx.ModelProto, a JAX function or a torch module; the last
            two take `specs`: example arguments, or for JAX jax.ShapeDtypeStruct
    flags   the command line's: auto_cast="none", shape="batch=4", keep_fp32=["op:Softmax"], target="trn1", O=2
    Raises XccError with the command line's message. Other Python threads go on while it compiles.
    """
    if len(specs) == 1 and output is None and _is_path(model) and (_is_path(specs[0])):
        output, specs = specs[0], ()  # compile("m.onnx", "m.neff")
    lib, a = _lib.xcc(), _lib.Archive()
    given = flags.get("custom_op") or []
    flags["custom_op"] = (list(given) if isinstance(given, (list, tuple)) else [given]) + custom_op.registered
    words = options(flags).encode()
    with _progress(model, progress):
        if _is_path(model):
            ok = lib.xcc_compile(os.fsencode(model), words, ctypes.byref(a.bytes), None, None)
        else:
            data, name = _model_bytes(model, specs)
            ok = lib.xcc_compile_memory(data, len(data), name.encode(), words, ctypes.byref(a.bytes), None, None)
    if not ok:
        raise _lib.fail()
    if output is None:
        return bytes(a)
    write_whole(output, bytes(a))
    return None


def compile_text(text: bytes, **flags: Any) -> bytes:
    """Assembles a kernel: text as .xasm files have it."""
    a = _lib.Archive()
    if not _lib.xcc().xcc_compile_memory(text, len(text), b"kernel.xasm", options(flags).encode(), ctypes.byref(a.bytes), None, None):
        raise _lib.fail()
    return bytes(a)


def simulate(archive: bytes, cores: int = 1) -> dict:
    """How long an archive would take on the machine that it was compiled for: what `xsim --json` says, latency_us among it. On 2
    cores programs of a grid are dealt out in turn."""
    import json

    a = _lib.Archive()
    if not _lib.xcc().xcc_simulate_cores(archive, len(archive), cores, ctypes.byref(a.bytes)):
        raise _lib.fail()
    return json.loads(bytes(a))


def write_whole(path: Any, data: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = os.fspath(path) + ".tmp%d" % os.getpid()
    try:
        with open(temporary, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


class _progress:
    """A line that shows the time spent, by tqdm where it is installed."""

    def __init__(self, model: Any, wanted: bool):
        self.name = os.path.basename(os.fspath(model)) if _is_path(model) else type(model).__name__
        self.wanted, self.bar, self.stop = wanted, None, None

    def __enter__(self) -> None:
        if not self.wanted:
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        import threading

        self.bar, self.stop = tqdm(desc="compiling " + self.name, unit="s", bar_format="{desc}: {elapsed}"), threading.Event()

        def tick() -> None:
            while not self.stop.wait(0.5):
                self.bar.refresh()

        self.thread = threading.Thread(target=tick, daemon=True)
        self.thread.start()

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.stop.set()
            self.thread.join()
            self.bar.close()
