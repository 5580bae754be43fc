"""The C libraries: libxcc (compiling, building kernels) and libxrt (running), by ctypes.

They are looked for in the folder XCC_LIBRARY_PATH (a build tree), beside this package (a wheel), then where the system looks.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import struct
import sys
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import dtypes


class XccError(Exception):
    """A failure that the libraries report."""


def candidates(name: str) -> List[str]:
    file = {"darwin": "lib%s.dylib"}.get(sys.platform, "lib%s.so") % name
    here = os.path.dirname(os.path.abspath(__file__))
    out: List[str] = []
    folder = os.environ.get("XCC_LIBRARY_PATH")
    if folder:
        out += [os.path.join(folder, part, file) for part in ("", "frontend", "frontend/pjrt", "runtime", "lib")]
    out += [os.path.join(here, part, file) for part in ("", "lib")]
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))  # a source tree with its build folder
    out += [os.path.join(root, "build", part, file) for part in ("frontend", "frontend/pjrt", "runtime")]
    return out


def _open(name: str) -> ctypes.CDLL:
    for path in candidates(name):
        if os.path.exists(path):
            return ctypes.CDLL(path)
    found = ctypes.util.find_library(name)
    if found:
        return ctypes.CDLL(found)
    raise XccError("lib%s is not found; build the project and set XCC_LIBRARY_PATH to its build folder" % name)


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Instruction(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("noperands", ctypes.c_int32), ("nnumbers", ctypes.c_int32), ("nreals", ctypes.c_int32),
                ("nfunctions", ctypes.c_int32), ("operands", ctypes.c_void_p), ("numbers", ctypes.c_void_p), ("reals", ctypes.c_void_p),
                ("functions", ctypes.c_void_p), ("engine", ctypes.c_char_p)]


MAX_RANK, MAX_VARS, MAX_CLIPS = 8, 16, 4
OPERAND = struct.Struct("@Qii Qq%dq%dqii%s" % (MAX_VARS, 2 * MAX_RANK, "iiqq" * MAX_CLIPS))
NUMBER = struct.Struct("@Qq%dq" % MAX_VARS)
REAL = struct.Struct("@Qd")
FUNCTION = struct.Struct("@QQ")

_lock = threading.Lock()
_xcc: Optional[ctypes.CDLL] = None
_xrt: Optional[ctypes.CDLL] = None
_strings: Dict[str, Any] = {}


def text(s: str) -> int:
    """The address of a C string that lives as long as the process."""
    b = _strings.get(s)
    if b is None:
        b = ctypes.create_string_buffer(s.encode())
        _strings[s] = b
    return ctypes.addressof(b)


def xcc() -> ctypes.CDLL:
    """libxcc, with the signatures of xcc.h."""
    global _xcc
    with _lock:
        if _xcc is None:
            lib = _open("xcc")
            c, p, i64 = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64
            table = {
                "xcc_version": (c, []), "xcc_error": (c, []), "xcc_bytes_free": (None, [p]),
                "xcc_compile": (ctypes.c_bool, [c, c, p, p, p]),
                "xcc_compile_memory": (ctypes.c_bool, [c, ctypes.c_size_t, c, c, p, p, p]),
                "xcc_kernel_new": (p, [c, c]), "xcc_kernel_free": (None, [p]),
                "xcc_input": (ctypes.c_int, [p, c, c, ctypes.c_int, p]), "xcc_output": (ctypes.c_int, [p, c, c, ctypes.c_int, p]),
                "xcc_internal": (ctypes.c_int, [p, c, c, ctypes.c_int, p]),
                "xcc_constant": (ctypes.c_int, [p, c, c, ctypes.c_int, p, p]),
                "xcc_result": (ctypes.c_bool, [p, ctypes.c_int, c]), "xcc_is_written": (ctypes.c_bool, [p, ctypes.c_int]),
                "xcc_tile": (ctypes.c_int, [p, c, c, c, i64, i64, i64]), "xcc_grid": (ctypes.c_bool, [p, ctypes.c_int, p]),
                "xcc_loop": (ctypes.c_int, [p, i64]), "xcc_end": (ctypes.c_bool, [p]),
                "xcc_at": (ctypes.c_bool, [p, c, ctypes.c_int, c]), "xcc_emit": (ctypes.c_bool, [p, p]),
                "xcc_kernel_finish": (ctypes.c_bool, [p, p]), "xcc_kernel_text": (c, [p]), "xcc_kernel_unwritten": (ctypes.c_int, [p, p]),
                "xcc_tile_is_partial": (ctypes.c_bool, [p, ctypes.c_int]),
                "xcc_kernel_assembly": (c, [p]), "xcc_simulate_cores": (ctypes.c_bool, [c, ctypes.c_size_t, ctypes.c_int, p]),
            }
            for name, (result, args) in table.items():
                f = getattr(lib, name)
                f.restype, f.argtypes = result, args
            _xcc = lib
    return _xcc


class _Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p), ("rank", ctypes.c_int), ("dims", ctypes.c_int64 * 12), ("data", ctypes.c_void_p)]


class _Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int), ("dims", ctypes.c_int64 * 12),
                ("symbols", ctypes.c_char_p * 12), ("text", ctypes.c_char_p), ("sizes", ctypes.c_int64 * 12), ("has_range", ctypes.c_bool), ("low", ctypes.c_int64),
                ("high", ctypes.c_int64), ("donated", ctypes.c_bool), ("grows_from", ctypes.c_int), ("axis", ctypes.c_int),
                ("high_symbol", ctypes.c_char_p)]


class Options(ctypes.Structure):  # struct xrt_options
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint), ("custom_ops", ctypes.POINTER(ctypes.c_char_p)), ("ncustom_ops", ctypes.c_int)]


def xrt() -> ctypes.CDLL:
    """libxrt, with the signatures of xrt.h."""
    global _xrt
    if _xrt is not None:  # set when it is complete
        return _xrt
    with _lock:
        if _xrt is None:
            lib = _open("xrt")
            c, p, n = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
            info = ctypes.POINTER(_Info)
            table = {
                "xrt_open_with": (p, [c, p]), "xrt_open_memory_with": (p, [p, ctypes.c_size_t, p]), "xrt_close": (None, [p]),
                "xrt_input_count": (n, [p]), "xrt_output_count": (n, [p]), "xrt_input_info": (info, [p, n]),
                "xrt_output_info": (info, [p, n]), "xrt_context_new": (p, [p, n]), "xrt_context_free": (None, [p]),
                "xrt_set_input": (ctypes.c_bool, [p, n, p]), "xrt_set_value": (ctypes.c_bool, [p, n, p]), "xrt_value": (ctypes.c_bool, [p, n, p]),
                "xrt_bind_state": (ctypes.c_bool, [p, n, n, ctypes.c_int64]),
                "xrt_set_output": (ctypes.c_bool, [p, n, p, ctypes.c_size_t]),
                "xrt_threads": (n, [p]), "xrt_run": (ctypes.c_bool, [p]),
                "xrt_output": (ctypes.c_bool, [p, n, p]), "xrt_profile": (ctypes.c_bool, [p, c]), "xrt_error": (c, []),
            }
            for name, (result, args) in table.items():
                f = getattr(lib, name)
                f.restype, f.argtypes = result, args
            _xrt = lib
    return _xrt


def fail() -> XccError:
    return XccError((xcc().xcc_error() or b"").decode(errors="replace"))


class Archive:
    """A compiled archive in memory of the library."""

    def __init__(self) -> None:
        self.bytes = Bytes()

    def __del__(self) -> None:
        if self.bytes.data and _xcc is not None:
            _xcc.xcc_bytes_free(ctypes.byref(self.bytes))
            self.bytes.data = None

    def __bytes__(self) -> bytes:
        return ctypes.string_at(self.bytes.data, self.bytes.size)
