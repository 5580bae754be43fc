"""Arguments of a wrong kind: every function of both interfaces tells of them with the kernel's line and its own name."""
from __future__ import annotations

import inspect
import os
import re
from typing import Any, Callable, Dict, List
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import nki as nki06
import nki.isa as nisa06
import nki.language as nl06

WRONG: Dict[str, Any] = {"list": [[1.0]], "none": None, "text": "tile", "array": np.ones((4, 4), np.float32), "function": nl.exp, "type": nl.float32,
                         "number": 1.5, "complex": 1j, "nothing": object()}
# What takes anything, or says by itself what it lacks.
FREE = {"affine_range", "sequential_range", "static_range", "dynamic_range", "nc", "program_ndim", "no_reorder", "device_print", "bypass",
        "get_nc_version", "get_nc_sub_version", "is_hbm", "is_sbuf", "is_psum", "is_on_chip", "fori_loop", "while_loop", "static_cast",
        "engine_name", "num_programs", "program_id", "sum", "max", "min", "prod", "core_barrier", "register_alloc", "register_move", "prelu",
        "sizeinbytes", "shared_constant"}
PLACE = r"^\S*test_arguments.py:\d+: "


def functions(module: Any) -> List[Any]:
    return [(n, f) for n, f in sorted(vars(module).items()) if inspect.isfunction(f) and n[0] != "_" and n not in FREE]


def required(f: Callable[..., Any]) -> List[str]:
    return [p.name for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


class Arguments(Case):
    def test_every_function(self) -> None:
        """All arguments that it must have are of a wrong kind: it is an error, in the words of the interface."""
        for language, isa, jit in (nl, nisa, nki.jit), (nl06, nisa06, nki06.jit):
            for name, f in functions(language) + functions(isa):
                for kind, wrong in WRONG.items():
                    if kind == "number" and name not in ("load", "store", "transpose", "nc_matmul", "activation", "tensor_reduce"):
                        continue  # many take numbers, of which some make sense
                    with self.subTest(module=isa.__name__, name=name, kind=kind):
                        self.refuses(jit, f, name, {p: wrong for p in required(f)})

    def refuses(self, jit: Any, f: Callable[..., Any], name: str, words: Dict[str, Any]) -> None:
        def kernel(x):
            f(**words)
            return nl.load(x)

        try:
            jit(kernel)(np.zeros((4, 4), np.float32))
        except Exception as e:  # noqa: BLE001 - its kind is what is asked
            self.assertRegex(str(e), PLACE + r"((nl|nisa)\.)?%s(\(\))?(: | missing)" % name)
            self.assertIsInstance(e, (nki.NkiError, TypeError))
            return
        self.assertEqual(required(f), [], "nothing is said of %s" % words)

    def said(self, text: str, f: Callable[..., Any], jit: Any = nki.jit) -> None:
        with self.assertRaisesRegex(nki.NkiError, PLACE + text):
            jit(f)(np.ones((8, 16), np.float32))

    def test_words(self) -> None:
        x = lambda t: nl.load(t)  # noqa: E731
        for text, f in (
                (r"nl.add: y is None, expected a tile or a number$", lambda t: nl.add(x(t), None)),
                (r"nl.multiply: y is ndarray, expected a tile or a number: pass arrays to the kernel", lambda t: nl.multiply(x(t), np.ones((8, 16)))),
                (r"activation: bias is '1', expected a number, or a tile of one element for each partition$", lambda t: nisa.activation(nl.exp, x(t), bias="1")),
                (r"activation: scale is ndarray, expected a number, or a tile", lambda t: nisa.activation(nl.exp, x(t), scale=np.ones(3))),
                (r"nc_matmul: moving is 2.0, expected a tile: a tile of one number is nl.full", lambda t: nisa.nc_matmul(x(t), 2.0)),
                (r"tensor_tensor: data2 is add, expected a tile; is it the operation\?", lambda t: nisa.tensor_tensor(x(t), nl.add, x(t))),
                (r"tensor_tensor: op is exp, which takes one operand, .*nisa.activation", lambda t: nisa.tensor_tensor(x(t), x(t), nl.exp)),
                (r"tensor_tensor_scan: op1 is exp, which takes one operand", lambda t: nisa.tensor_tensor_scan(x(t), x(t), 0.0, nl.add, nl.exp)),
                (r"tensor_scalar: operand1 is missing: op1 is mul, which takes two operands", lambda t: nisa.tensor_scalar(x(t), nl.add, 1.0, op1=nl.multiply)),
                (r"tensor_reduce: op is 'div', which is no reduction", lambda t: nisa.tensor_reduce(nl.divide, x(t), axis=1)),
                (r"nl.sum: a tile of shape \(8, 0\) has no elements: is a slice empty\?", lambda t: nl.sum(x(t)[:, 4:4], axis=1)),
                (r"nl.zeros: shape is '8,16', expected sizes, such as \(128, 512\)", lambda t: nl.zeros("8,16", nl.float32)),
                (r"nl.zeros: buffer is 3, expected nl.sbuf", lambda t: nl.zeros((8, 16), nl.float32, buffer=3)),
                (r"nl.exp: shape \(8, 0\) has a dim of size 0; sizes are positive: is a slice empty\?", lambda t: nl.exp(x(t)[:, 4:4])),
                (r"memset: shape is .*expected sizes", lambda t: nisa.memset((8, "a"), 0.0, nl.float32)),
                (r"dropout: prob has shape \(8, 16\), expected one element for each partition", lambda t: nisa.dropout(x(t), x(t))),
                (r"tensor_scalar_cumulative: imm0 has shape \(8, 16\), expected one element", lambda t: nisa.tensor_scalar_cumulative(
                    src=x(t), dst=nl.zeros((8, 16), nl.float32), op0=nl.add, op1=nl.add, imm0=x(t))),
                (r"activation_reduce: operator nl.add has two operands", lambda t: nisa.activation_reduce(
                    nl.add, x(t), reduce_op=nl.add, reduce_res=nl.zeros((8, 1), nl.float32)))):
            with self.subTest(text):
                self.said(text, f)

    def test_a_number_of_numpy_is_a_number(self) -> None:
        """A bias that is a scalar of NumPy counts as one of Python does."""
        for one in (1, 1.0, np.float32(1), np.int64(1), np.ones(1)):
            self.close(nki.jit(lambda t, one=one: nisa.activation(nl.copy, nl.load(t), bias=one))(np.zeros((4, 4), np.float32)), np.ones((4, 4)))

    def test_words_of_06(self) -> None:
        def kernel(call: Callable[..., Any]) -> Callable[..., Any]:
            def k(x):
                d, t = (nl06.ndarray((8, 16), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
                nisa06.dma_copy(t, x)
                call(d, t)
                return d
            return k

        for text, call in (
                (r"affine_select: pattern is 16, expected a \[step, count\] for each free dim", lambda d, t: nisa06.affine_select(d, 16, 1, t, 0.0, nl.greater)),
                (r"affine_select: <sbuf .*> has 128 elements, \(8, 4\) would have 32", lambda d, t: nisa06.affine_select(d, [[1, 4]], 1, t, 0.0, nl.greater)),
                (r"dma_compute: srcs is <sbuf .*>, expected a list of tensors", lambda d, t: nisa06.dma_compute(d, t, nl.add)),
                (r"nc_stream_shuffle: shuffle_mask is None, expected 32 integers", lambda d, t: nisa06.nc_stream_shuffle(d, t, None)),
                (r"activate2: op0 is exp|activate2: ", lambda d, t: nisa06.activate2(d, nl.exp, t, "1", 0.0, nl.multiply, nl.add)),
                (r"activation: reduce_cmd is 3, expected one of nisa.reduce_cmd", lambda d, t: nisa06.activation(d, nl.exp, t, reduce_cmd=3))):
            with self.subTest(text):
                self.said(text, kernel(call), nki06.jit)

    def test_the_library_s_words(self) -> None:
        """What the library says names the function and the arguments that the kernel has."""
        def gather(x):
            return nl.gather_flattened(nl.load(x), nl.load(x))

        def partitions(x):
            return nisa.tensor_partition_reduce(nl.bitwise_and, nl.load(x))

        self.said(r"nl.gather_flattened: indices of f32, expected integers", gather)
        self.said(r"tensor_partition_reduce: operator nl.bitwise_and does not reduce f32", partitions)
        with mock.patch.dict(os.environ, XCC_NKI_TARGET="trn1"):
            self.said(r"nl.multiply: operand 'y' starts at partition 2|nl.multiply: operand 'data2' starts at partition 2",
                      lambda x: nl.multiply(nl.load(x[0:2]), nl.load(x)[2:4]))

    def test_calls_of_kernels(self) -> None:
        """Arguments that are no arrays, modes, grids and functions that are none, folders that do not exist."""
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.load(x))
            return out

        line = kernel.__code__.co_firstlineno + 1
        k, x = nki.jit(kernel), np.ones((4, 4), np.float32)
        for call in (lambda: k([[1.0]]), lambda: k([]), lambda: k.compile([4, 4]), lambda: nki.simulate_kernel(k, [[1.0]])):
            with self.assertRaisesRegex(nki.NkiError, r"test_arguments.py:%d: argument 'x' is of type list, which has no 'shape': tensors are arrays" % line):
                call()
        for text, call in ((r"nki.jit: mode is 'simulatoin', expected one of auto, .*; is 'simulation' meant\?", lambda: nki.jit(kernel, mode="simulatoin")),
                           (r"nki.jit: 'kernel' is no kernel, expected a function", lambda: nki.simulate_kernel("kernel", x)),
                           (r"a grid has one to four positive dims, not \(-1,\)", lambda: k[-1](x))):
            with self.subTest(text), self.assertRaisesRegex(nki.NkiError, PLACE + text):
                call()
        with self.assertRaisesRegex(OSError, r"cannot write the archive: .*'/nowhere/k.neff'$"):
            k.compile(x).save("/nowhere/k.neff")

        def own(x):
            return [].shape  # an error of the kernel's own

        with self.assertRaisesRegex(AttributeError, "^'list' object has no attribute 'shape'$"):
            nki.jit(own)(x)

    def test_indices(self) -> None:
        for text, f in ((r"nl.arange: is given \(\), expected a size", lambda t: nl.load(t[nl.arange()[:, None]])),
                        (r"nl.arange: is given \('a'\), expected a size", lambda t: nl.load(t[nl.arange("a")[:, None]])),
                        (r"nl.mgrid: is indexed, not called", lambda t: nl.load(t[nl.mgrid(0, 4)])),
                        (r"a tensor has no attribute 'item': its elements are known only when the kernel runs", lambda t: nl.load(t)[0, 0].item()),
                        (r"\+: None is given where a tile or a number is expected", lambda t: nl.load(t) + None),
                        (r"ap: pattern is 3, expected a \[step, count\] for each dim", lambda t: t.ap(3)),
                        (r"ap: offset is 'a', expected an integer", lambda t: t.ap([[1, 4]], offset="a"))):
            with self.subTest(text):
                self.said(text, f)

    def test_places_are_of_the_kernel(self) -> None:
        line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
        with self.assertRaises(nki.NkiError) as e:
            nki.jit(lambda x: nl.softmax("x", axis=1))(np.ones((4, 4), np.float32))
        self.assertTrue(re.search(r"test_arguments.py:%d: nl.softmax: x is 'x', expected a tile$" % line, str(e.exception)))


if __name__ == "__main__":
    main()
