"""Operators of one's own: libraries of xop.h, and AWS's custom C++ operators built into one.

    xcc.register_op("mine.so")                                  # for every xcc.compile and xcc.load that follows

    my_ops = xcc.custom_op.load(name="giou", compute_srcs=["giou.cpp"], shape_srcs=["shape.cpp"],
                                build_directory="build", multicore=True, verbose=True)
    scores = my_ops.giou(boxes, targets)                        # arrays of NumPy or PyTorch
    torch.ops.my_ops.giou(boxes, targets)                       # in modules, in autograd functions, exported to ONNX
"""
from __future__ import annotations

import ast
import ctypes
import os
import re
import subprocess
import warnings
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _arrays, _lib, dtypes
from ._later import after_import
from ._lib import XccError

registered: List[str] = []  # paths, in the order of their registration

_ABI = 1
_MULTICORE = 1
_MODELS = 64  # of an operator, for as many shapes


class _Operator(ctypes.Structure):  # struct xop_operator
    _fields_ = [("domain", ctypes.c_char_p), ("name", ctypes.c_char_p), ("version", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("operands", ctypes.c_char_p), ("results", ctypes.c_char_p), ("attributes", ctypes.c_char_p),
                ("shape", ctypes.c_void_p), ("run", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class _Table(ctypes.Structure):  # struct xop_library
    _fields_ = [("abi", ctypes.c_uint32), ("operator_size", ctypes.c_uint32), ("count", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("operators", ctypes.POINTER(ctypes.POINTER(_Operator)))]


class Attribute(NamedTuple):
    name: str
    kind: str  # int, float, number, string, ints, floats
    default: Optional[str]


def _attributes(text: str) -> List[Attribute]:
    out = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, rest = (s.strip() for s in part.split(":", 1))
        kind, _, default = (s.strip() for s in rest.partition("="))
        out.append(Attribute(name, kind, default if _ else None))
    return out


def _names(text: str) -> List[Tuple[str, str]]:
    """The names of a declaration of operands or results, and what follows them: '', '?' or '...'; commas inside [] belong to dims."""
    return re.findall(r"(?:^|,)\s*(\w+)\s*(\?|\.\.\.|)", re.sub(r"\[[^]]*\]", "", text))


class Operator:
    """One operator of a library: called with arrays, it is compiled for their shapes and run.

    op(*operands, attribute=value, ...). Of AWS's form, whose parameters have no names, tensors and numbers in their order.
    """

    def __init__(self, library: "Library", row: _Operator):
        self.library, self.domain, self.name = library, row.domain.decode(), row.name.decode()
        self.version = row.version
        self.multicore = bool(row.flags & _MULTICORE)
        operands = _names((row.operands or b"").decode())
        self.operands = [name for name, _ in operands]
        self.marks = dict(operands)  # '?': it may be left out, '...': any number of these
        self.results = [name for name, _ in _names((row.results or b"").decode())]
        self.attributes = _attributes((row.attributes or b"").decode())
        self._models: Dict[Any, Any] = {}

    @property
    def full_name(self) -> str:
        return self.domain + "::" + self.name

    @property
    def torch_name(self) -> str:
        return re.sub(r"\W", "_", self.domain) + "::" + re.sub(r"\W", "_", self.name)

    def split(self, args: Sequence[Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """Operands, and numbers among them by the names of their places: arg1."""
        places = {a.name: a for a in self.attributes}
        arrays, numbers = [], {}
        for i, x in enumerate(args):
            if "arg%d" % i in places:
                numbers["arg%d" % i] = x
            else:
                arrays.append(x)
        return arrays, numbers

    def _text(self, arrays: Sequence[Optional[np.ndarray]], attributes: Dict[str, Any]) -> str:
        """A graph of this one call."""
        kinds = {a.name: a.kind for a in self.attributes}
        unknown = [n for n in attributes if n not in kinds]
        if unknown:
            raise XccError("%s has no attribute '%s'" % (self.full_name, unknown[0]))
        given = [a for a in arrays if a is not None]
        types = ["%s[%s]" % (dtypes.name_of(a.dtype), ",".join(map(str, a.shape))) for a in given]
        words = ['custom_operator="%s"' % self.full_name]
        for name, value in attributes.items():
            words.append("%s=%s" % (name, _attribute_text(kinds[name], value)))
        params = ", ".join('%%%d "x%d": %s' % (i, i, t) for i, t in enumerate(types))
        first, numbers = len(given), iter(range(len(given)))
        operands = ", ".join("_" if a is None else "%%%d" % next(numbers) for a in arrays)
        values = ", ".join("%%%d" % (first + k) for k in range(len(self.results)))
        sizes = sorted({n for a in given for n in a.shape if isinstance(n, str)})
        return 'graph "%s" %s(%s) {\n  %s = custom(%s) {%s}\n  return(%s)\n} outputs(%s)\n' % (
            self.name, "symbols(%s) " % ", ".join(sizes) if sizes else "", params, values, operands, ", ".join(words), values,
            ", ".join('"%s"' % r for r in self.results))

    def model(self, arrays: Sequence[Any], attributes: Dict[str, Any]) -> Any:
        """The call as a loaded archive; arrays: anything with dtype and shape of NumPy, or None: left out. Sizes may be names."""
        from .model import Model

        key = tuple(a is not None and (str(a.dtype), tuple(a.shape)) for a in arrays), tuple(sorted((k, str(v)) for k, v in attributes.items()))
        model = self._models.pop(key, None)
        if model is None:
            text, archive = self._text(arrays, attributes).encode(), _lib.Archive()
            options = ("--custom-op '%s'" % self.library.path).encode()
            if not _lib.xcc().xcc_compile_memory(text, len(text), b"call.xir", options, ctypes.byref(archive.bytes), None, None):
                raise _lib.fail()
            model = Model(archive, custom_ops=[self.library.path])
            if len(self._models) >= _MODELS:
                del self._models[next(iter(self._models))]  # the one whose last call is longest ago
        self._models[key] = model
        return model

    def __call__(self, *args: Any, **attributes: Any) -> Any:
        arrays, numbers = self.split(args)
        numbers.update(attributes)
        model = self.model([x if x is None else _arrays.to_numpy(x) for x in arrays], numbers)
        return model(*(x for x in arrays if x is not None))

    def __repr__(self) -> str:
        return "<operator %s of %s>" % (self.full_name, self.library.path)


def _number(value: Any) -> Any:
    """An int or a float, of Python's, NumPy's or a tensor of one element."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, float) else int(value)


def _attribute_text(kind: str, value: Any) -> str:
    if kind == "number":
        return repr(_number(value))
    if kind == "int":
        return str(int(value))
    if kind == "float":
        return repr(float(value))
    if kind == "string":
        return '"%s"' % str(value).replace("\\", "\\\\").replace('"', '\\"')
    return "[%s]" % ", ".join(repr(float(v)) if kind == "floats" else str(int(v)) for v in value)


def _load_object(path: str) -> ctypes.CDLL:
    """By its bytes: the system's loader takes a file of a name that it has loaded before for the same, built again or not."""
    with open(path, "rb") as f:
        data = f.read()
    fd = os.memfd_create("xop")
    os.write(fd, data)  # stays open, so that no other library gets the name
    return ctypes.CDLL("/proc/self/fd/%d" % fd)


class Library:
    """A shared object of operators; each is an attribute of its name."""

    def __init__(self, path: Any):
        self.path = os.path.abspath(os.fspath(path))
        try:
            self._object = _load_object(self.path)
            table = _Table.in_dll(self._object, "xop_library")
        except (OSError, ValueError) as error:
            raise XccError("%s: %s" % (self.path, error)) from None
        if table.abi != _ABI or table.operator_size != ctypes.sizeof(_Operator):
            raise XccError("%s: it was compiled with version %d of xop.h, expected %d: compile it again" % (self.path, table.abi, _ABI))
        self.operators = [Operator(self, table.operators[i].contents) for i in range(table.count)]

    def __getattr__(self, name: str) -> Operator:
        for op in self.__dict__.get("operators", []):
            if op.name == name:
                return op
        raise AttributeError("%s has no operator '%s'" % (self.__dict__.get("path", "the library"), name))

    def __repr__(self) -> str:
        return "<library %s: %s>" % (self.path, ", ".join(op.full_name for op in self.operators))


def register_op(path: Any) -> Library:
    """From now on models may call the operators of this library: xcc.compile finds them, xcc.load runs them, and PyTorch has
    them as torch.ops.DOMAIN.NAME (my.ops: torch.ops.my_ops), also when it is imported later. Gives the library, whose operators
    can be called."""
    library = Library(path)
    if library.path not in registered:
        registered.append(library.path)
    after_import("torch", lambda torch: _register_torch(torch, library))
    return library


load_library = register_op  # AWS's name


# ---- AWS's custom C++ operators ----

def _headers() -> List[str]:
    """The folders of xop.h and of AWS's headers: of an installed package, or of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    for plain, neuron in ((os.path.join(here, "include"), os.path.join(here, "include", "xcc", "neuron")),
                          (os.path.join(root, "runtime"), os.path.join(root, "runtime", "custom", "neuron"))):
        if os.path.exists(os.path.join(plain, "xop.h")):
            return [plain, neuron]
    raise XccError("xop.h is not found beside the package")


def _run(command: List[str], verbose: bool) -> str:
    if verbose:
        print(" ".join(command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise XccError("%s failed:\n%s" % (" ".join(command), done.stderr.strip()))
    if verbose and done.stderr.strip():
        print(done.stderr.strip())
    return done.stdout


_LETTERS = (("Tensor", "T"), ("Scalar", "S"), ("double", "d"), ("float", "f"), ("long", "l"), ("int", "i"), ("bool", "b"))


def _letters(parameters: str) -> Optional[str]:
    """Of the parameters of a function, as the C++ library knows them; None for types that operators do not have."""
    out = ""
    for p in filter(None, (p.strip() for p in parameters.split(","))):
        kind = p.replace("const", "").replace("&", "").strip().split("::")[-1]
        letter = dict(_LETTERS).get(kind)
        if letter is None:
            return None
        out += letter
    return out


def _functions(objects: Sequence[str], verbose: bool) -> List[Tuple[str, str, str]]:
    """Functions that the objects define for others: name, parameters' letters, symbol."""
    nm, out = os.environ.get("NM", "nm"), []
    for path in objects:
        plain = [line.split() for line in _run([nm, "-g", "--defined-only", path], False).splitlines()]
        nice = _run([nm, "-g", "--defined-only", "-C", path], False).splitlines()
        for symbol, line in zip(plain, nice):
            match = re.match(r"\S+ T ([\w:]+)\((.*)\)$", line)
            letters = _letters(match.group(2)) if match else None
            if match and letters is not None:
                out.append((match.group(1).split("::")[-1], letters, symbol[-1]))
    if not out:
        raise XccError("the compute sources define no function of tensors")
    if verbose:
        print("compute functions: " + ", ".join(name for name, _, _ in out))
    return out


def build(name: str, compute_srcs: Sequence[Any], shape_srcs: Sequence[Any], build_directory: Optional[Any] = None,
          multicore: bool = False, verbose: bool = False, extra_cflags: Sequence[str] = ()) -> str:
    """Compiles AWS's custom C++ operators to libNAME.so in build_directory (the current one), and gives its path.

    $CXX, or c++, is the compiler. multicore: every function is run as the eight cores of GpSimd. """
    folder = os.path.abspath(os.fspath(build_directory or os.getcwd()))
    os.makedirs(folder, exist_ok=True)
    flags = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wno-narrowing"] + ["-I" + f for f in _headers()]
    flags += ["-DXOP_NEURON_MULTICORE"] if multicore else []
    flags += list(extra_cflags)
    cxx = os.environ.get("CXX", "c++").split()

    def compile_all(sources: Sequence[Any], part: str) -> List[str]:
        objects = []
        for i, source in enumerate([sources] if isinstance(sources, str) else sources):
            objects.append(os.path.join(folder, "%s.%s%d.o" % (name, part, i)))
            _run(cxx + flags + ["-c", os.fspath(source), "-o", objects[-1]], verbose)
        return objects

    compute, shape = compile_all(compute_srcs, "compute"), compile_all(shape_srcs, "shape")
    glue, library = os.path.join(folder, name + ".library.cpp"), os.path.join(folder, "lib%s.so" % name)
    with open(glue, "w") as f:
        f.write("// Written by xcc.custom_op: the functions of the compute sources.\n#include <xop/library.hpp>\nXOP_NEURON_LIBRARY\n")
        for i, row in enumerate(_functions(compute, verbose)):
            f.write('XOP_COMPUTE_FUNCTION(%d, "%s", "%s", "%s")\n' % ((i,) + row))
    temporary = library + ".tmp%d" % os.getpid()
    _run(cxx + flags + ["-shared", glue] + compute + shape + ["-o", temporary], verbose)
    os.replace(temporary, library)  # who has the old one loaded keeps it
    return library


def load(name: str, compute_srcs: Sequence[Any], shape_srcs: Sequence[Any], build_directory: Optional[Any] = None,
         multicore: bool = False, verbose: bool = False, **more: Any) -> Library:
    """build, then register_op."""
    return register_op(build(name, compute_srcs, shape_srcs, build_directory, multicore, verbose, **more))


# ---- PyTorch ----

_torch_libraries: Dict[str, Any] = {}  # they end when nobody holds them
_torch_names: Dict[str, Operator] = {}

_SCHEMA = {"int": "int", "float": "float", "number": "Scalar", "string": "str", "ints": "int[]", "floats": "float[]"}
_TENSORS = {"": "Tensor ", "?": "Tensor? ", "...": "Tensor[] "}
_SUFFIX = {"int": "_i", "float": "_f", "string": "_s", "ints": "_i", "floats": "_f"}


def _parameters(op: Operator) -> List[Tuple[str, Optional[Attribute]]]:
    """Operands and attributes in the order in which PyTorch gives them: those of AWS's form by their places."""
    tensors, numbers = [(n, None) for n in op.operands], [(a.name, a) for a in op.attributes]
    everything = tensors + numbers
    if all(re.fullmatch(r"arg\d+", n) for n, _ in everything):
        everything.sort(key=lambda p: int(p[0][3:]))
    return everything


def _register_torch(torch: Any, library: Library) -> None:
    for op in library.operators:
        known = op.full_name in _torch_names
        _torch_names[op.full_name] = op
        if not known:
            _define_torch(torch, op)


def _flat(operands: Iterable[Any]) -> List[Any]:
    """Operands with those that repeat in their places."""
    out: List[Any] = []
    for x in operands:
        out += x if isinstance(x, (list, tuple)) else [x]
    return out


def _define_torch(torch: Any, op: Operator) -> None:
    parameters = _parameters(op)
    words = []
    for name, a in parameters:
        words.append(_TENSORS[op.marks[name]] + name if a is None else "%s %s%s" % (_SCHEMA[a.kind], name, _schema_default(a)))
    result = "Tensor" if len(op.results) == 1 else "(%s)" % ", ".join(["Tensor"] * len(op.results))
    domain, plain = op.torch_name.split("::")
    holder = _torch_libraries.setdefault(domain, torch.library.Library(domain, "FRAGMENT"))
    holder.define("%s(%s) -> %s" % (plain, ", ".join(words), result))

    def given(args: Sequence[Any]) -> Tuple[List[Any], Dict[str, Any]]:
        pairs = list(zip(parameters, args))
        arrays = _flat(x for (_, a), x in pairs if a is None)
        return arrays, {n: x for (n, a), x in pairs if a is not None}

    def compute(*args: Any) -> Any:
        now = _torch_names[op.full_name]
        arrays, attributes = given(args)
        values = [None if x is None else x.detach() for x in arrays]
        model = now.model([None if x is None else _arrays.to_numpy(x) for x in values], attributes)
        return model(*(x for x in values if x is not None))

    def meta(*args: Any) -> Any:
        now = _torch_names[op.full_name]
        arrays, attributes = given(args)
        sizes: Dict[str, Any] = {}  # those that PyTorch leaves open, by name
        infos = now.model([None if x is None else _Example(x, sizes) for x in arrays], attributes).outputs
        if any(not _known(n, sizes) for i in infos for n in i.shape):  # the operator says no more than for numbers
            infos = now.model([None if x is None else _Example(x, None) for x in arrays], attributes).outputs
        out = [torch.empty([_size(n, sizes) for n in i.shape], dtype=getattr(torch, _torch_dtype(i.dtype)), device="meta") for i in infos]
        return out[0] if len(out) == 1 else tuple(out)

    holder.impl(plain, compute, "CPU")
    holder.impl(plain, meta, "Meta")

    def symbolic(g: Any, *args: Any) -> Any:
        from torch.onnx import symbolic_helper

        arrays, attributes = given([symbolic_helper._unpack_list(x) if op.marks.get(n) == "..." else x for (n, _), x in zip(parameters, args)])
        kinds = {a.name: a.kind for a in op.attributes}
        named = {}
        for name, value in attributes.items():
            letter = {"int": "i", "float": "f", "number": "t", "string": "s", "ints": "is", "floats": "fs"}[kinds[name]]
            constant = symbolic_helper._maybe_get_const(value, letter)
            if kinds[name] == "number":
                constant = _number(constant)
                named[name + ("_f" if isinstance(constant, float) else "_i")] = constant
            else:
                named[name + _SUFFIX[kinds[name]]] = constant
        return g.op(op.full_name, *arrays, outputs=len(op.results), **named)

    torch.onnx.register_custom_op_symbolic(op.torch_name, symbolic, 9)
    target = getattr(getattr(torch.ops, domain), plain).default
    after_import("torch.onnx._internal.exporter._core", lambda _: _register_translation(target, op))


def _register_translation(target: Any, op: Operator) -> None:
    """For PyTorch's exporter of torch.export, whose list of operators has no public way in but a parameter of each export."""
    try:
        from torch.onnx._internal.exporter._torchlib._torchlib_registry import onnx_impl

        onnx_impl(target, no_compile=True)(_translation(op))
    except (ImportError, TypeError, AttributeError) as error:  # of another version: it says which operator it lacks
        warnings.warn("PyTorch's exporter of torch.export takes no operator %s (%s): use torch.onnx.export(dynamo=False)"
                      % (op.torch_name, error))


def _translation(op: Operator) -> Callable[..., Any]:
    """The call as a node of an ONNX graph."""
    parameters = _parameters(op)

    def translate(*args: Any, **named: Any) -> Any:
        from onnxscript import evaluator, ir

        values = dict(zip((n for n, _ in parameters), args), **named)
        inputs = _flat(values.get(n) for n, a in parameters if a is None)
        while inputs and inputs[-1] is None:
            inputs.pop()
        attributes = {n: _CONVERTED[a.kind](values[n]) for n, a in parameters if a is not None and n in values}
        node = ir.Node(op.domain, op.name, inputs, ir.convenience.convert_attributes(attributes), num_outputs=len(op.results),
                       version=op.version)
        evaluator.default().nodes.append(node)
        return node.outputs[0] if len(op.results) == 1 else node.outputs

    return translate


_CONVERTED: Dict[str, Callable[[Any], Any]] = {
    "int": int, "float": float, "number": _number, "string": str, "ints": lambda v: [int(x) for x in v], "floats": lambda v: [float(x) for x in v]}


def _schema_default(a: Attribute) -> str:
    if a.default is None:
        return ""
    if a.kind == "string":
        return '="%s"' % a.default
    return "=[%s]" % ", ".join(a.default.split()) if a.kind.endswith("s") else "=" + a.default


def _torch_dtype(name: str) -> str:
    return {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32",
            "i64": "int64", "u8": "uint8", "bool": "bool"}[name]


class _Example:
    """Type and shape of a PyTorch tensor without data, as Operator.model asks for them. Sizes that PyTorch leaves open get
    names, whose values go to `sizes`; without `sizes` they are the numbers of PyTorch's example, which it notes."""

    def __init__(self, x: Any, sizes: Optional[Dict[str, Any]]):
        names = {_torch_dtype(n): n for n in ("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "bool")}
        self.dtype = dtypes.from_name(names[str(x.dtype).split(".")[-1]])
        self.shape = tuple(n if isinstance(n, int) else int(n) if sizes is None else self._name(n, sizes) for n in x.shape)

    @staticmethod
    def _name(size: Any, sizes: Dict[str, Any]) -> str:
        known = [name for name, s in sizes.items() if s.node.expr == size.node.expr]
        name = known[0] if known else "n%d" % len(sizes)
        sizes[name] = size
        return name


_OF_SIZES: Dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b,
    "min": lambda a, b: _symbolic("sym_min", a, b), "max": lambda a, b: _symbolic("sym_max", a, b)}


def _symbolic(name: str, a: Any, b: Any) -> Any:
    import torch

    return getattr(torch, name)(a, b)


def _known(dim: Any, sizes: Dict[str, Any]) -> bool:
    """Whether the dim of a result is a number or follows from the named sizes."""
    try:
        _size(dim, sizes)
    except (KeyError, SyntaxError, ValueError):
        return False
    return True


def _size(dim: Any, sizes: Dict[str, Any]) -> Any:
    """The value of a dim: a number, or the text of a sum or product of named sizes."""
    def value(e: ast.expr) -> Any:
        if isinstance(e, ast.Constant):
            return e.value
        if isinstance(e, ast.Name):
            return sizes[e.id]
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return -value(e.operand)
        if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub, ast.Mult)):
            a, b = value(e.left), value(e.right)
            return a + b if isinstance(e.op, ast.Add) else a - b if isinstance(e.op, ast.Sub) else a * b
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
            return _OF_SIZES[e.func.id](*(value(a) for a in e.args))
        raise ValueError(dim)

    return dim if isinstance(dim, int) else value(ast.parse(dim, mode="eval").body)
