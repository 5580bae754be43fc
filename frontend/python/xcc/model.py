"""Running compiled archives: arrays in, arrays out."""
from __future__ import annotations

import ctypes
import math
import os
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

import numpy as np

from . import _arrays, _lib, dtypes
from ._lib import XccError

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, "_lib.Archive"]


class _String(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class _Value(ctypes.Structure):
    pass


_Value._fields_ = [("kind", ctypes.c_int), ("tensor", _lib._Tensor), ("count", ctypes.c_int64), ("items", ctypes.POINTER(_Value))]
_TENSOR, _SEQUENCE, _OPTIONAL, _MAP = range(4)


class TensorInfo:
    """What a model says about an input or output.

    name, dtype ("f32", "bf16", "i64", "str", ...), shape: a tuple of numbers and of strings for symbolic dimensions, or None
    when only running tells it. text: all of it; of a sequence, map or optional it begins with that word.
    """

    def __init__(self, info: Any):
        self.name: str = info.name.decode()
        self.dtype: str = info.dtype.decode()
        self.shape: Optional[Tuple[Union[int, str], ...]] = None
        if info.rank >= 0:
            self.shape = tuple(info.dims[i] if info.dims[i] >= 0 else info.symbols[i].decode() for i in range(info.rank))
        self.text: str = info.text.decode()
        self.grows_from: Optional[int] = info.grows_from - 1 if info.grows_from else None  # of an output: the input that bind_state takes
        self.axis: int = info.axis

    @property
    def numpy_dtype(self) -> np.dtype:
        return np.dtype(object) if self.dtype == "str" else dtypes.from_name(self.dtype)

    @property
    def is_container(self) -> bool:
        return self.text.startswith(("seq", "opt", "map"))

    @property
    def is_static(self) -> bool:
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    def __repr__(self) -> str:
        return "%s: %s" % (self.name, self.text)


def _error() -> XccError:
    return XccError(_lib.xrt().xrt_error().decode(errors="replace"))


def _strings(a: np.ndarray) -> Tuple[Any, Any]:
    """An array of strings as the library has it, and what must stay alive."""
    words = [s if isinstance(s, bytes) else str(s).encode() for s in a.ravel().tolist()]
    items = (_String * max(len(words), 1))()
    for i, s in enumerate(words):
        items[i].bytes, items[i].size = s, len(s)
    return items, words


def _options(allow_code: bool, custom_ops: Sequence[Any], guard_operands: bool) -> Any:
    """The caller's libraries, then those of xcc.register_op."""
    from . import custom_op

    files = [os.fsencode(p) for p in list(custom_ops) + custom_op.registered]
    return _lib.Options(ctypes.sizeof(_lib.Options), (1 if allow_code else 0) | (2 if guard_operands else 0),
                        (ctypes.c_char_p * max(len(files), 1))(*files), len(files))


def _number(which: Union[int, str], infos: Sequence[TensorInfo]) -> int:
    """The place of an input or output that is given by its name or its place."""
    names = [i.name for i in infos]
    if which not in (range(len(infos)) if isinstance(which, int) else names):
        raise XccError("there is no %r among %s" % (which, ", ".join(map(repr, infos))))
    return names.index(which) if isinstance(which, str) else which


def _address(a: np.ndarray) -> int:
    """Of the first element of a contiguous array. a.ctypes.data takes three times as long as its buffer does, which arrays of ml_dtypes do
    not have, and lend to nobody when they are read only."""
    d = a.dtype
    if d.isbuiltin == 1 and d.kind in "fiub" and a.size and a.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(a))
    return a.ctypes.data


class _Latest:
    """What an input was last described as to the library; small models take less time than to describe their inputs anew."""

    def __init__(self, a: np.ndarray, t: Any):
        self.dtype, self.shape, self.bytes = a.dtype, a.shape, bytes(t)
        self.alive = t  # its name of the type is in the bytes

    def describes(self, x: Any) -> bool:
        return type(x) is np.ndarray and x.dtype == self.dtype and x.shape == self.shape and x.flags.c_contiguous


class Model:
    """A loaded archive, and one context that runs it.

        with xcc.load("model.neff") as model:
            y = model(x)                             # one array, or a tuple of several
            named = model.run({"x": x})              # by name: {output name: array}

    Arrays may be NumPy's, PyTorch's, JAX's, or anything with __dlpack__ or __array__; they are lent to the library, not
    copied, when they are contiguous. Results are of the kind of the first argument. While a model runs, other Python threads
    go on; one model runs one thread's call at a time. Errors: XccError, with the text that the command line prints.

    allow_code: operators whose code is in the archive may run, for archives whose maker you trust. custom_ops: libraries of
    operators to use first; those of xcc.register_op are used too. guard_operands: finds accesses outside operands.
    """

    def __init__(self, source: Source, threads: int = 0, allow_code: bool = False, custom_ops: Sequence[Any] = (),
                 guard_operands: bool = False):
        lib = _lib.xrt()
        o = _options(allow_code, custom_ops, guard_operands)
        self._context = self._model = None
        self._source: Any = source
        self._states: Dict[int, int] = {}  # input by output, of bind_state
        self._held: Set[int] = set()  # inputs whose state has content
        if isinstance(source, _lib.Archive):
            self._model = lib.xrt_open_memory_with(source.bytes.data, source.bytes.size, ctypes.byref(o))
        elif isinstance(source, (bytes, bytearray, memoryview)):
            size = len(source)
            self._source = np.zeros(size + 64, np.uint8)
            start = -self._source.ctypes.data % 64
            self._source[start:start + size] = np.frombuffer(source, np.uint8)
            self._model = lib.xrt_open_memory_with(self._source.ctypes.data + start, size, ctypes.byref(o))
        else:
            self._model = lib.xrt_open_with(os.fsencode(source), ctypes.byref(o))
        if not self._model:
            raise _error()
        self._context = lib.xrt_context_new(self._model, threads)
        if not self._context:
            raise _error()
        self.inputs = [TensorInfo(lib.xrt_input_info(self._model, i).contents) for i in range(lib.xrt_input_count(self._model))]
        self.outputs = [TensorInfo(lib.xrt_output_info(self._model, i).contents) for i in range(lib.xrt_output_count(self._model))]
        self._names = [i.name for i in self.inputs]
        self._latest: List[Optional[_Latest]] = [None] * len(self.inputs)
        self._static: List[Optional[Tuple[Any, np.dtype]]] = [  # shape and type of the outputs that get memory before a run
            (o.shape, o.numpy_dtype) if o.is_static and o.dtype != "str" and 0 not in (o.shape or ()) else None for o in self.outputs]

    # ---- lifetime ----

    def close(self) -> None:
        """Frees the context and the archive; results stay valid."""
        if self._context:
            _lib.xrt().xrt_context_free(self._context)
        if self._model:
            _lib.xrt().xrt_close(self._model)
        self._context = self._model = None

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_model", None) and _lib is not None and _lib.xrt is not None:
            self.close()

    @property
    def threads(self) -> int:
        return _lib.xrt().xrt_threads(self._context)

    # ---- running ----

    def _ordered(self, given: Union[Mapping[str, Any], Sequence[Any]]) -> List[Any]:
        names = self._names
        if type(given) is dict and len(given) == len(names) and all(n in given for n in names):
            return [given[n] for n in names]
        if not isinstance(given, Mapping):
            if len(given) != len(names):
                raise XccError("%d inputs given, expected %d: %s" % (len(given), len(names), ", ".join(map(repr, self.inputs))))
            return list(given)
        unknown = [n for n in given if n not in names]
        missing = [n for k, n in enumerate(names) if n not in given and k not in self._held]
        if unknown or missing:
            raise XccError("inputs are %s; %s" % (", ".join(map(repr, self.inputs)), "; ".join(
                ["there is no '%s'" % n for n in unknown] + ["'%s' is missing" % n for n in missing])))
        return [given.get(n) for n in names]

    def _lend(self, k: int, x: Any) -> Any:
        """Sets input k; returns what must stay alive until the run is over."""
        latest = self._latest[k]
        if latest is not None and latest.describes(x):
            t = _lib._Tensor.from_buffer_copy(latest.bytes)
            t.data = _address(x)
            if not _lib.xrt().xrt_set_input(self._context, k, ctypes.byref(t)):
                raise _error()
            return x, t
        info = self.inputs[k]
        if x is None and k in self._held:
            return None
        if info.is_container:
            keep: List[Any] = []
            v = self._value(info, info.text, x, keep)
            if not _lib.xrt().xrt_set_value(self._context, k, ctypes.byref(v)):
                raise _error()
            return keep, v
        t, alive = self._tensor(info, x)
        if not _lib.xrt().xrt_set_input(self._context, k, ctypes.byref(t)):
            raise _error()
        if isinstance(alive, np.ndarray):
            self._latest[k] = _Latest(alive, t)
        return alive, t

    def _value(self, info: TensorInfo, text: str, x: Any, keep: List[Any]) -> _Value:
        """A sequence from a list, a map from a dict, an optional from its value or None; `text`: the type of this level."""
        word, inner = text.split("(", 1)[0], text.split("(", 1)[-1]
        if word.startswith("opt"):
            items = [] if x is None else [self._value(info, inner, x, keep)]
            kind = _OPTIONAL
        elif word.startswith("seq"):
            if not isinstance(x, (list, tuple)):
                raise XccError("input '%s' is a %s, expected a list for %s" % (info.name, type(x).__name__, info.text))
            items, kind = [self._value(info, inner, e, keep) for e in x], _SEQUENCE
        elif word.startswith("map"):
            if not isinstance(x, Mapping):
                raise XccError("input '%s' is a %s, expected a dict for %s" % (info.name, type(x).__name__, info.text))
            parts = inner.rstrip(")").split("[")[0].split(",")
            items, kind = [self._column(info, c, name, keep) for c, name in zip((x.keys(), x.values()), parts)], _MAP
        else:
            t, alive = self._tensor(info, x)
            keep.append(alive)
            return _Value(_TENSOR, t)
        memory = (_Value * max(len(items), 1))(*items)
        keep.append(memory)
        return _Value(kind, _lib._Tensor(), len(items), memory)

    def _column(self, info: TensorInfo, items: Iterable[Any], dtype: str, keep: List[Any]) -> _Value:
        """The keys or the values of a map as a vector."""
        column = [e if isinstance(e, str) else np.asarray(e).reshape(-1).tolist() for e in items]
        column = [e[0] if isinstance(e, list) and len(e) == 1 else e for e in column]
        if any(isinstance(e, list) or isinstance(e, str) != (dtype == "str") for e in column):
            raise XccError("input '%s' has a key or a value that is no %s, expected a dict for %s" % (info.name, dtype, info.text))
        a = np.array(column, object if dtype == "str" else dtypes.from_name(dtype))
        t, alive = self._tensor(info, a)
        keep.append(alive)
        return _Value(_TENSOR, t)

    def _tensor(self, info: TensorInfo, x: Any) -> Tuple[Any, Any]:
        """An array as the library has it, and what must stay alive."""
        a = _arrays.to_numpy(x)
        if info.dtype == "str" and not info.is_container or a.dtype.kind in "OUS":
            memory, words = _strings(a)
            t = _lib._Tensor(b"str", a.ndim, (ctypes.c_int64 * 12)(*a.shape), ctypes.addressof(memory))
            return t, (memory, words)
        a = np.ascontiguousarray(a).reshape(a.shape)
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        if isinstance(x, (int, float, bool, list, tuple)) and a.dtype != info.numpy_dtype:
            a = a.astype(info.numpy_dtype)
        try:
            name = dtypes.name_of(a.dtype)
        except KeyError:
            raise XccError("input '%s' is an array of %s, expected %s" % (info.name, a.dtype, info.text)) from None
        t = _lib._Tensor(name.encode(), a.ndim, (ctypes.c_int64 * 12)(*a.shape), a.ctypes.data)
        return t, a

    def _give_memory(self) -> List[Optional[np.ndarray]]:
        """Outputs whose shape is known are written where the caller gets them."""
        out: List[Optional[np.ndarray]] = []
        for k, static in enumerate(self._static):
            if k in self._states or static is None:
                out.append(None)
                continue
            a = np.empty(*static)
            address = _address(a)
            usable = address % 16 == 0
            if not _lib.xrt().xrt_set_output(self._context, k, address if usable else None, a.nbytes if usable else 0):
                raise _error()
            out.append(a if usable else None)
        return out

    def _result(self, k: int, given: Optional[np.ndarray]) -> Any:
        if k in self._states:
            self._held.add(self._states[k])
            return None
        if given is not None:  # the run wrote it
            return given
        v = _Value()
        if not _lib.xrt().xrt_value(self._context, k, ctypes.byref(v)):
            raise _error()
        return self._taken(v)

    def _taken(self, v: _Value) -> Any:
        """A copy of a value: an array, a list of a sequence, None or the value of an optional, a dict of a map."""
        if v.kind != _TENSOR:
            items = [self._taken(v.items[i]) for i in range(v.count)]
            if v.kind == _OPTIONAL:
                return items[0] if items else None
            if v.kind == _MAP:  # its values: a vector, or a sequence of scalars
                values = items[1] if isinstance(items[1], list) else list(items[1])
                return dict(zip(items[0].tolist(), [e.item() if getattr(e, "size", 1) == 1 and hasattr(e, "item") else e for e in values]))
            return items
        t = v.tensor
        shape, name = tuple(t.dims[:t.rank]), t.dtype.decode()
        count = math.prod(shape)
        if name == "str":
            items = ctypes.cast(t.data, ctypes.POINTER(_String))
            words = [ctypes.string_at(items[i].bytes, items[i].size).decode(errors="replace") for i in range(count)]
            a = np.empty(count, object)
            a[:] = words
            return a.reshape(shape)
        d = dtypes.from_name(name)
        result = np.empty(shape, d)
        if count:
            ctypes.memmove(_address(result), t.data, result.nbytes)
        return result

    def _lend_all(self, inputs: Union[Mapping[str, Any], Sequence[Any]]) -> Tuple[List[Any], List[Optional[np.ndarray]]]:
        """Sets all inputs and outputs: what must stay alive until the run is over, and the memory of outputs."""
        if not self._context:
            raise XccError("the model is closed")
        return [self._lend(k, x) for k, x in enumerate(self._ordered(inputs))], self._give_memory()

    def run(self, inputs: Union[Mapping[str, Any], Sequence[Any]]) -> Any:
        """By name: {output name: array}. A sequence, in the order of `inputs`: a list of arrays. Always NumPy arrays."""
        keep, memory = self._lend_all(inputs)
        self._execute()
        del keep
        out = [self._result(k, memory[k]) for k in range(len(self.outputs))]
        if isinstance(inputs, Mapping):
            named: Dict[str, np.ndarray] = {info.name: a for info, a in zip(self.outputs, out)}
            return named
        return out

    def measure(self, inputs: Union[Mapping[str, Any], Sequence[Any]], runs: int, warmup: int = 0, profile: Optional[str] = None) -> List[float]:
        """Runs on the inputs, `warmup` times and then `runs` times: the seconds that each of the latter took. profile: a file for what
        profile() writes of them."""
        keep, memory = self._lend_all(inputs)
        for _ in range(warmup):
            self._execute()
        if profile is not None:
            self.profile()
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            self._execute()
            seconds.append(time.perf_counter() - start)
        if profile is not None:
            self.profile(profile)
        for k in range(len(memory)):  # it goes
            if k not in self._states:
                _lib.xrt().xrt_set_output(self._context, k, None, 0)
        del keep, memory
        return seconds

    def bind_state(self, input: Union[int, str], output: Union[int, str], capacity: int) -> None:
        """Keeps an output that is an input with more behind it (info.grows_from, info.axis) in one memory with room for `capacity`
        elements along that axis: xrt_bind_state of xrt.h. From then on that input is given once, None or nothing afterwards, and its
        output is None in results; state(output) copies it."""
        i, o = _number(input, self.inputs), _number(output, self.outputs)
        if not _lib.xrt().xrt_bind_state(self._context, i, o, capacity):
            raise _error()
        self._states[o] = i

    def state(self, output: Union[int, str]) -> Any:
        """A copy of what bind_state keeps."""
        k = _number(output, self.outputs)
        if k not in self._states:
            raise XccError("output '%s' is not bound by bind_state" % self.outputs[k].name)
        v = _Value()
        if not _lib.xrt().xrt_value(self._context, k, ctypes.byref(v)):
            raise _error()
        return self._taken(v)

    def _execute(self) -> None:
        if not _lib.xrt().xrt_run(self._context):
            raise _error()

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Outputs, one array or a tuple, of the kind of the first argument. Arguments in order, or by name, or both."""
        given: Union[Sequence[Any], Dict[str, Any]] = arrays
        if named:
            given = dict(zip([i.name for i in self.inputs], arrays))
            given.update(named)
        out = self.run(given)
        values = list(out.values()) if isinstance(out, dict) else out
        example = next(iter(arrays or tuple(named.values())), None)
        like = [_arrays.like(a, example) if isinstance(a, np.ndarray) else a for a in values]
        return like[0] if len(like) == 1 else tuple(like)

    def profile(self, path: Optional[str] = None) -> None:
        """profile(): starts to note what runs when. profile("trace.json"): stops, and writes it; .txt: a table."""
        if not _lib.xrt().xrt_profile(self._context, os.fsencode(path) if path else None):
            raise _error()
