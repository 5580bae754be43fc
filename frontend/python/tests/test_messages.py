"""Mistakes of newcomers: each is told with file, line, rule, shapes and what to do."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
import nki as nki06
import nki.isa as nisa06


def f32(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).rand(*shape).astype(np.float32)


def new(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.shared_hbm)


class Messages(Case):
    def told(self, words: str, kernel: Callable[..., Any], *arrays: np.ndarray, target: str = "cpu", grid: Any = None) -> None:
        k = nki.jit(kernel)
        with mock.patch.dict(os.environ, XCC_NKI_TARGET=target), self.assertRaisesRegex(nki.NkiError, r"^\S*test_messages.py:\d+: " + words):
            (k[grid] if grid else k)(*arrays)

    def test_too_many_partitions(self) -> None:
        self.told(r"nl.load: a tile of shape \(256, 64\) has 256 partitions, at most 128; load it in pieces \(nl.affine_range\)",
                  lambda x: nl.load(x), f32(256, 64))

    def test_products(self) -> None:
        def product(a, b):
            return nl.copy(nisa.nc_matmul(nl.load(a), nl.load(b)))

        self.told(r"nl.load: .*256 partitions", product, f32(256, 64), f32(256, 64))
        self.told(r"nc_matmul: moving has 1024 columns, at most 512; split N", product, f32(128, 128), f32(128, 1024))
        self.told(r"nc_matmul: stationary has 256 columns, at most 128; split M", product, f32(128, 256), f32(128, 512))
        self.told(r"nc_matmul: stationary has 128 rows and moving 64; both are the contraction", product, f32(128, 8), f32(64, 8))
        self.told(r"nc_matmul: stationary is int32; the tensor engine multiplies f32, bf16", product, np.ones((8, 8), np.int32), f32(8, 8))

    def test_words_with_one_value(self) -> None:
        """Arguments for which the hardware has one choice: another one is refused, and not taken for it."""
        def selected(x):
            nisa.range_select(on_true_tile=nl.load(x), comp_op0=np.greater, comp_op1=np.less, bound0=nl.zeros((8, 1), nl.float32),
                              bound1=nl.zeros((8, 1), nl.float32), reduce_res=nl.ndarray((8, 1), dtype=nl.float32), reduce_op=np.add)

        def gathered(x):
            return nl.gather_flattened(nl.load(x), nl.zeros((8, 4), nl.uint32), 1)

        def summed(op: Any, **words: Any) -> Callable[..., Any]:
            def kernel(x):
                i, t = nl.zeros((8, 1), nl.int32), nl.load(x)
                nisa06.dma_compute(t, [t, x.ap([[4, 8], [1, 4]], vector_offset=i, indirect_dim=0)], op, **words)
                return t
            return kernel

        self.told(r"range_select: reduce_op is add, expected nl.maximum: .*nisa.tensor_reduce", selected, f32(8, 4))
        self.told(r"nl.gather_flattened: axis is 1, expected 0", gathered, f32(8, 4))
        self.told(r"dma_compute: reduce_op is mul, expected nl.add", summed(np.multiply), f32(8, 4))
        self.told(r"dma_compute: 1 scales for 2 srcs, expected one for each", summed(np.add, scales=[2.0]), f32(8, 4))
        self.told(r"dma_compute: unique_indices=False: .*dst_rmw_op=np.add", summed(np.add, unique_indices=False), f32(8, 4))

    def test_targets(self) -> None:
        def generation(x):
            return nl.load(x) + float(nisa.get_nc_version().value)

        for target, value in ("trn1", 2), ("gen2", 2), ("trn2n", 3), ("gen3", 3), (nisa.nc_version.gen3, 3), ("gen4", 4):
            self.same(nki.jit(generation, platform_target=target)(np.zeros((2, 2), np.float32)), np.full((2, 2), value))
        for name, value in ("gen2", 2), ("gen3", 3), ("trn2", 3), ("trn3", 4):
            with mock.patch.dict(os.environ, XCC_NKI_TARGET=name):
                self.same(nki.jit(generation)(np.zeros((2, 2), np.float32)), np.full((2, 2), value))
        with self.assertRaisesRegex(nki.NkiError, "platform_target is 'gen9', expected trn1, .*gen4"):
            nki.jit(generation, platform_target="gen9")

    def test_memories(self) -> None:
        def product(space: Any, where: str) -> Callable[..., Any]:
            def kernel(a, b):
                d, out = nl.ndarray((128, 64), dtype=nl.float32, buffer=space), new(128, 64)
                nisa06.nc_matmul(dst=d, stationary=a if where == "hbm" else nl.load(a), moving=nl.load(b, dtype=nl.float16 if where == "mixed" else nl.float32))
                nisa06.dma_copy(dst=out, src=d)
                return out
            return kernel

        arrays = f32(128, 128), f32(128, 64)
        self.told(r"nc_matmul: dst is <sbuf .*; the tensor engine writes to PSUM only \(buffer=nl.psum\)", product(nl.sbuf, "sbuf"), *arrays)
        self.told(r"nc_matmul: stationary is a tensor in HBM; load it first", product(nl.psum, "hbm"), *arrays)
        self.told(r"nc_matmul: stationary is float32 and moving float16; where one is float32, so must be", product(nl.psum, "mixed"), *arrays)
        self.told(r"dma_copy: operand 'src' is in psum, which DMA does not reach: copy it to sbuf", product(nl.psum, ""), *arrays, target="trn1")

    def test_indices(self) -> None:
        i = lambda n: nl.arange(n)[:, None]  # noqa: E731
        self.told(r"a one-dimensional index array needs a new axis: nl.arange\(n\)\[:, None\]", lambda x: nl.load(x[nl.arange(8), :]), f32(8, 4))
        self.told(r"index shapes \(8, 1\) and \(4, 1\) do not broadcast; give each array an axis of its own, as in nl.arange\(8\)\[:, None\]",
                  lambda x: nl.load(x[i(8), i(4)]), f32(8, 4))
        self.told(r"slices and index arrays .* cannot be mixed .*\[8, 4\]>; use slices", lambda x: nl.load(x[i(8), 0:4]), f32(8, 4))

        def pieces(x):
            out = new(200, 64)
            for k in nl.affine_range(2):
                nl.store(out[k * 128:(k + 1) * 128, :], nl.load(x[k * 128:(k + 1) * 128, :]))
            return out

        self.told(r"nl.load: index 255 is out of bounds for axis 0 with size 200; cut what lies beyond by mask=\(index < 200\)", pieces, f32(200, 64))

    def test_types(self) -> None:
        self.told(r"nl.bitwise_and: an operand is float32, bitwise operators take integers", lambda x: nl.bitwise_and(nl.load(x), 3), f32(8, 4))
        self.told(r"nl.sum: axis 0 is the partition dim; transpose first", lambda x: nl.sum(nl.load(x), axis=0), f32(8, 4))
        self.told(r"\+: the second operand has 1 partition, the result has 8; .*broadcast_to\(\(8", lambda x: nl.load(x) + nl.load(x[0:1, :]), f32(8, 4))
        self.told(r"\+: x is a tensor in HBM; load it first", lambda x: x + 1, f32(8, 4))

    def test_gathers_and_scans(self) -> None:
        def gather(per: int) -> Callable[..., Any]:
            return lambda s, i: nisa.local_gather(nl.load(s), nl.load(i), per)

        at = np.zeros((32, 2), np.uint16)
        self.told("local_gather: index is int32, expected uint16", gather(1), f32(32, 8), at.astype(np.int32))
        self.told("local_gather: num_elem_per_idx is 3, expected 1, 2, 4", gather(3), f32(32, 8), at)
        self.told("local_gather: 24, 24 and 24 partitions, expected equal multiples of 16", gather(1), f32(24, 8), at[:24])
        self.told("nc_stream_shuffle: src is float32 and dst float16", lambda s: nisa.nc_stream_shuffle(
            nl.load(s), nl.zeros((32, 8), dtype=nl.float16), [0] * 32), f32(32, 8))
        self.told("nc_stream_shuffle: partition 0 takes row 40 of its 32, src has 32", lambda s: nisa.nc_stream_shuffle(
            nl.load(s), nl.zeros((32, 8), dtype=nl.float32), [40] * 32), f32(32, 8))
        self.told("sequence_bounds: segment_ids has 4 partitions, expected 1", lambda s: nisa.sequence_bounds(segment_ids=nl.load(s)), f32(4, 8))
        self.told("tensor_scalar_cumulative: op1 is 'div', expected add", lambda s: nisa.tensor_scalar_cumulative(
            src=nl.load(s), dst=nl.zeros((4, 8), dtype=nl.float32), op0=nl.add, op1=nl.divide, imm0=0.0), f32(4, 8))

    def test_programs(self) -> None:
        def kernel(x):
            out = new(8, 4)
            nl.store(out, nl.load(x[nl.ds(nl.program_id(0) * 8, 8), :]))
            return out

        self.told(r"nl.store: programs \(0\) and \(1\) of the grid both write element 0 of 'tensor'.*give each a part", kernel, f32(16, 4), grid=2)

    def test_never_written(self) -> None:
        def kernel(x, rows=0):
            t, out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.sbuf), new(8, 4)
            if rows:
                t[0:rows, :] = nl.load(x[0:rows, :])
            nl.store(out, nl.exp(t))
            return out

        self.told(r"nl.exp: reads tile 'sbuf' \[8, 4\], which nothing has written \(made in line \d+\); assign to it first", kernel, f32(8, 4))
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: reads elements of tile 'sbuf' \[8, 4\].*nothing has written"):
            nki.simulate_kernel(nki.jit(kernel), f32(8, 4), 4)

    def test_output_without_a_store(self) -> None:
        def kernel(x):
            out = new(4, 8)
            for _ in nl.affine_range(x.shape[1] // 512):
                nl.store(out, nl.load(x))
            return out

        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: tensor '\w+' \[4, 8\] is returned, and nothing is stored to it"):
            nki.jit(kernel)(f32(4, 8))

    def test_memory_is_full(self) -> None:
        def kernel(columns: int, count: int) -> Callable[..., Any]:
            def body(x):
                tiles, out = [nl.full((128, columns), float(k), dtype=nl.float32) for k in range(count)], new(128, columns)
                for t in tiles[1:]:
                    tiles[0] += t
                for t in tiles:
                    tiles[0] += t
                nl.store(out, tiles[0])
                return out
            return body

        self.told(r"nl.full: tile '\w+': 240000 bytes in each partition \(60000 elements of 4\), trn1 has room for 180224 bytes \(45056 elements\): "
                  "split it, and loop over its parts", kernel(60000, 1), f32(1, 1), target="trn1")
        self.told(r"nl.full: tile '\w+': no room in sbuf: 3 tiles live together need 240000 bytes .*make tiles smaller", kernel(20000, 3), f32(1, 1), target="trn1")

    def test_conditions(self) -> None:
        def kernel(x):
            t = nl.load(x)
            return t if t > 0 else nl.exp(t)

        self.told(r"the value of <sbuf .*known only when the kernel runs; a Python condition cannot depend on it: select elements by nl.where", kernel, f32(8, 4))

    def test_wrong_memories(self) -> None:
        def assigned(x):
            out = new(8, 4)
            out[...] = nl.load(x)
            return out

        def stored(x):
            t = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.sbuf)
            nl.store(t, nl.load(x))
            return t

        def unloaded(x):
            out = new(8, 4)
            nl.store(out, x)
            return out

        def turned(x):
            out = new(4, 8)
            nl.store(out, nl.load(x))
            return out

        with self.assertWarnsRegex(UserWarning, r"nl.store: value has shape \(8, 4\), and dst \(4, 8\): .* as if reshaped.*a transpose is nisa.nc_transpose"):
            self.same(nki.jit(turned)(f32(8, 4)), f32(8, 4).reshape(4, 8))

        def factor(x):
            t = nl.load(x)
            return nl.copy(nisa.nc_matmul(nisa.nc_matmul(t, t), nl.load(x[0:4, :])))

        x = f32(8, 4)
        for words, f in ((r"nl.load: src is <sbuf .*>, which the hardware's load does not take", lambda x: nl.load(nl.load(x))),
                         (r"assignment: <hbm .*> lies in HBM, which the hardware's engines do not write: nl.store", assigned),
                         (r"nl.store: dst is <sbuf .*>, which the hardware's store does not write: assign to it", stored),
                         (r"nl.store: value is <hbm .*>, which the hardware's store does not take: load it first", unloaded)):
            with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: " + words):
                self.same(nki.jit(f)(x), x)
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nc_matmul: stationary is <psum .*\[4, 4\]>, and the tensor engine reads SBUF only"):
            self.close(nki.jit(factor)(x), (x.T @ x).T @ x[0:4], 1e-5, 1e-5)

    def test_operands_of_partitions(self) -> None:
        x = f32(8, 4)
        for words, f in ((r"activation: scale has shape \(8, 4\)", lambda x: nisa.activation(nl.exp, nl.load(x), scale=nl.load(x))),
                         (r"activation: bias has shape \(8, 4\)", lambda x: nisa.activation(nl.exp, nl.load(x), bias=nl.load(x))),
                         (r"tensor_scalar: operand0 has shape \(8, 4\)", lambda x: nisa.tensor_scalar(nl.load(x), nl.add, nl.load(x)))):
            self.told(words + r", expected one element for each partition: \(8, 1\); for a tile of elements use nisa.tensor_tensor\(", f, x)
        self.told(r"tensor_scalar: operand0 has shape \(1, 4\).*x.broadcast_to\(\(8, 4\)\), op", lambda x: nisa.tensor_scalar(nl.load(x), nl.add, nl.load(x[0:1])), x)
        self.told(r"activation: bias has shape \(1, 8\).*a row becomes a column where it is loaded, nl.load\(row.reshape",
                  lambda x, y: nisa.activation(nl.exp, nl.load(x), bias=nl.load(y)), x, f32(1, 8))

    def test_shapes(self) -> None:
        """Each is told with the operand, its shape, the expected one, and what to do."""
        two = lambda op: lambda x, y: nisa.tensor_tensor(nl.load(x), nl.load(y), op)  # noqa: E731
        part = r"take a part of the larger, x\[:, 0:4\]"
        self.told(r"tensor_tensor: data2 has shape \(8, 4\), expected \(8, 6\), as the first has: .*" + part, two(nl.add), f32(8, 6), f32(8, 4))
        self.told(r"tensor_tensor: data2 has shape \(4, 6\), expected \(8, 6\).*same partitions; .*x\[0:4\]", two(nl.add), f32(8, 6), f32(4, 6))
        self.told(r"tensor_tensor: data2 has shape \(6, 8\), expected \(8, 6\).*the transpose, which nisa.nc_transpose", two(nl.add), f32(8, 6), f32(6, 8))
        self.told(r"nl.maximum: y has shape \(8, 4\), expected \(8, 6\).*" + part, lambda x, y: nl.maximum(nl.load(x), nl.load(y)), f32(8, 6), f32(8, 4))
        self.told(r"\*: the second operand has shape \(8, 4\)", lambda x, y: nl.load(x) * nl.load(y), f32(8, 6), f32(8, 4))

        row = r"a vector lies along the partitions; as a row of every partition it is nl.load\(x.reshape\(\(1, 6\)\)\).broadcast_to\(\(8, 6\)\)"
        self.told(r"\*: the second operand has shape \(6, 1\), expected \(8, 6\).*" + row, lambda x, g: nl.load(x) * nl.load(g), f32(8, 6), f32(6))
        self.same(nki.jit(lambda x, g: nl.load(x) * nl.load(g.reshape((1, 6))).broadcast_to((8, 6)))(f32(8, 6), f32(6)), f32(8, 6) * f32(6))

        def stored(x):
            out = new(8, 4)
            nl.store(out, nl.load(x))
            return out

        self.told(r"nl.store: src has shape \(8, 6\), expected \(8, 4\), as dst has: .*" + part, stored, f32(8, 6))
        self.told(r"reshape: the partition dim .*a transpose is an instruction, nisa.nc_transpose", lambda x: nl.load(x).reshape((4, 8)), f32(8, 4))
        self.told(r"nl.load: .*200 partitions, .* or as src.reshape\(\(128, ...\)\)", lambda x: nl.load(x), f32(200))
        self.told(r".*shape \(8, 0\) has a dim of size 0; .*is a slice empty", lambda x: nl.exp(nl.load(x)[:, 4:]), f32(8, 4))

    def test_starts_on_cpu(self) -> None:
        """What strict targets refuse runs here, and is told of; copies and transfers may start anywhere."""
        def part(x, first, copies):
            out, t = new(20, 8), nl.load(x)
            rows = t[first:first + 20, :]
            nl.store(out, rows if copies else nl.exp(rows))
            return out

        x = f32(64, 8)
        rule = r"nl.exp: operand 'data' starts at partition 5: it is computed here, and an error on trn1 and trn2, .* starts at 0, 32, 64 or 96; move it"
        with self.assertWarnsRegex(nki.NkiWarning, r"test_messages.py:\d+: " + rule):
            self.close(nki.jit(part)(x, 5, False), np.exp(x[5:25]))
        self.told(r"nl.exp: operand 'data' starts at partition 5: on trn1", lambda x: part(x, 5, False), x, target="trn1")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            nki.jit(part)(x, 32, False)
            nki.jit(part)(x, 5, True)

    def test_of_06(self) -> None:
        """Arguments in the order of another instruction, sizes and probabilities that are none, elements that nothing wrote."""
        def kernel(what: str) -> Any:
            def body(x):
                t, u = (nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
                nisa06.dma_copy(dst=t, src=x)
                if what == "order":
                    nisa06.activation(u, t, nl.exp)
                elif what == "probability":
                    nisa06.dropout(u, t, 1.5)
                elif what == "indices":
                    index = nl.ndarray((128, 2), dtype=nl.uint16, buffer=nl.sbuf)
                    nisa06.memset(index, 0)
                    nisa06.local_gather(u, t, index)
                else:
                    nisa06.tensor_copy(u[:, 0:8], t[:, 0:8])
                out = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.shared_hbm)
                nisa06.dma_copy(dst=out, src=u)
                return out
            return nki06.simulate(nki06.jit(body))

        for what, words in (("order", r"activation: data is exp, expected a tile; is it the operation\?"),
                            ("probability", r"dropout: the probability of a zero is 1.5, expected 0 to 1"),
                            ("indices", r"local_gather: dst has 16 elements in each partition, expected 32: the 32 indices of a core's 16")):
            with self.assertRaisesRegex(nki.NkiError, r"^\S*test_messages.py:\d+: " + words):
                kernel(what)(f32(128, 16))
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: reads elements of tile 'sbuf_1' \[128, 16\].*nothing has written"):
            kernel("part")(f32(128, 16))

    def test_shapes_of_instructions_with_a_destination(self) -> None:
        def kernel(call: Callable[..., Any], space: Any = nl.sbuf) -> Callable[..., Any]:
            def k(x):
                d = nl.ndarray((8, 4), dtype=nl.float32, buffer=space)
                call(d, nl.load(x))
                return d
            return k

        for words, call in (
                (r"tensor_tensor: data1 has shape \(8, 6\), expected \(8, 4\): .*x\[:, 0:4\]", lambda d, t: nisa06.tensor_tensor(d, t, t, nl.add)),
                (r"activation: data has shape \(8, 6\), expected \(8, 4\)", lambda d, t: nisa06.activation(d, nl.exp, t)),
                (r"tensor_reduce: dst has shape \(8, 4\), expected \(8, 1\), data without the axes \[1\]", lambda d, t: nisa06.tensor_reduce(d, nl.add, t, 1)),
                (r"tensor_reduce: op is 'exp', which is no reduction; expected nl.add", lambda d, t: nisa06.tensor_reduce(d[:, 0:1], nl.exp, t, 1)),
                (r"memset: dst is tuple, expected a tile: an instruction of nki 0.6 writes to its first", lambda d, t: nisa06.memset((8, 4), 0.0))):
            with self.subTest(words):
                self.told(words, kernel(call), f32(8, 6))
        self.told(r"tensor_tensor: dst is a tensor in HBM, which engines do not reach: write to a tile",
                  kernel(lambda d, t: nisa06.tensor_tensor(d, t[:, 0:4], t[:, 0:4], nl.add), nl.shared_hbm), f32(8, 6))
        with self.assertRaisesRegex(TypeError, r"test_messages.py:\d+: tensor_tensor\(\) missing 1 .*'data2': an instruction of nki 0.6 writes to its"):
            nki06.jit(lambda x: nisa06.tensor_tensor(nl.load(x), nl.load(x), op=nl.add))(f32(8, 4))
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nisa.tensor_copy has no argument 'mask', it has no effect"):
            nki06.jit(kernel(lambda d, t: nisa06.tensor_copy(d, t[:, 0:4], mask=nl.arange(8)[:, None] < 4)))(f32(8, 6))

    def test_factors(self) -> None:
        product = lambda a, b: nl.copy(nl.matmul(nl.load(a), nl.load(b)))  # noqa: E731
        self.told(r"nl.matmul: .*both are the contraction: x\[M, K\] times y\[K, N\]; .*transpose_x=True", product, f32(16, 8), f32(16, 4))
        self.told(r"nl.matmul: .*y is \[N, K\] here: nl.transpose", product, f32(16, 8), f32(4, 8))
        self.told(r"nc_matmul: stationary has 512 columns, .*or exchange the two: moving may have 512",
                  lambda a, b: nl.copy(nisa.nc_matmul(nl.load(a), nl.load(b))), f32(16, 512), f32(16, 4))

    def test_operations(self) -> None:
        for words, f in ((r"tensor_tensor: <lambda> is not an operation .* pass one by its function, such as nl.add",
                          lambda x: nisa.tensor_tensor(nl.load(x), nl.load(x), lambda a, b: a)),
                         (r"tensor_reduce: data is add, expected a tile; is it the operation\?.*name them", lambda x: nisa.tensor_reduce(nl.load(x), nl.add, axis=1))):
            self.told(words, f, f32(8, 4))

    def test_functions_of_numpy(self) -> None:
        for words, f in ((r"np.exp: .*write nl.exp", lambda x: np.exp(nl.load(x))),
                         (r"np.sum: .*write nl.sum", lambda x: np.sum(nl.load(x), axis=1)),
                         (r"np.expm1: .*functions of tiles are those of nl and nisa", lambda x: np.expm1(nl.load(x))),
                         (r"a tensor has no attribute 'sum'; write nl.sum", lambda x: nl.load(x).sum(axis=1)),
                         (r"a tensor has no attribute 'shap'; is 'shape' meant", lambda x: nl.load(x).shap),
                         (r"<sbuf .*> has no elements while the kernel is traced, so that NumPy cannot", lambda x: np.zeros((8, 4)).__setitem__(0, nl.load(x))),
                         (r"the value of .*nl.maximum and nl.minimum for max and min", lambda x: max(nl.load(x), 0.0)),
                         (r"nl.store: value is ndarray, .*nl.shared_constant", lambda x: nl.store(x, np.ones((8, 4), np.float32)))):
            with self.subTest(words):
                self.told(words, f, f32(8, 4))

    def test_masks(self) -> None:
        def beyond(x):
            out, (p, j) = new(*x.shape), nl.mgrid[0:16, 0:4]
            for i in nl.affine_range(2):
                mask = i * 16 + p <= x.shape[0]
                nl.store(out[i * 16 + p, j], nl.load(x[i * 16 + p, j], mask=mask), mask=mask)
            return out

        self.told(r"nl.load: operand 'src' is out of bounds: where its mask holds it reaches index 20 for axis 0 of 'x' \[20, 4\]; .*mask=\(index < 20\)", beyond, f32(20, 4))
        self.told(r"mask: .*not of <sbuf .*nl.where\(condition", lambda x: nl.copy(nl.load(x), mask=nl.load(x) > 0.5), f32(8, 4))
        self.told(r"mask: .*not of an array of NumPy; .*nl.where", lambda x: nl.copy(nl.load(x), mask=np.ones((8, 4), bool)), f32(8, 4))
        self.told(r"mask: a mask of shape \(1, 2\) for a tile of shape \(8, 4\); make it of the index arrays",
                  lambda x: nl.copy(nl.load(x), mask=nl.arange(2)[None, :] < 1), f32(8, 4))

    def trips(self, body: Callable[..., None], loop: Any = None) -> np.ndarray:
        """A loop of 4 trips over a tile of ones that is made before it and stored after it."""
        def kernel(x):
            t, out = nl.full((8, 4), 1.0, dtype=nl.float32), new(8, 4)
            for i in (loop or nl.affine_range)(4):
                body(t, nl.load(x[nl.ds(i * 8, 8), :]), i)
            nl.store(out, t)
            return out

        return nki.jit(kernel)(f32(32, 4))

    def test_trips_that_are_not_independent(self) -> None:
        def plain(t, x, i):
            t[...] = nl.exp(x)

        def sums(t, x, i):
            t[...] = nl.add(t, x)

        def unrolled(t, x, i):
            t[...] = x * i

        def part(t, x, i):
            t[:, 1:2] = x[:, 0:1]

        x = f32(32, 4)
        want = {plain: np.exp(x[24:]), sums: 1 + x.reshape(4, 8, 4).sum(0), unrolled: x[24:] * 3, part: np.c_[np.ones(8), x[24:, 0], np.ones((8, 2))]}
        for body, result in want.items():
            with self.subTest(body.__name__):
                with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: assignment: each trip of nl.affine_range writes tile 'sbuf' \[8, 4\] "
                                           r"\(made in line \d+\) at the same place, and line \d+ reads it after.*nl.loop_reduce, or use nl.sequential_range"):
                    self.close(self.trips(body), result)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.close(self.trips(body, nl.sequential_range), result)

        def carried(x):
            t, out = nl.load(x[0:8, :]), new(8, 4)
            for i in nl.affine_range(3):
                t = t + nl.load(x[nl.ds(i * 8 + 8, 8), :])
            nl.store(out, t)
            return out

        def stored(x):
            out = new(8, 4)
            for i in nl.affine_range(4):
                nl.store(out, nl.load(x[nl.ds(i * 8, 8), :]))
            return out

        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.affine_range: a trip makes the tile 't' that the next one reads"):
            self.close(nki.jit(carried)(x), x.reshape(4, 8, 4).sum(0))
        with self.assertWarnsRegex(UserWarning, r"nl.store: each trip of nl.affine_range writes tensor 'tensor' \[8, 4\].*the kernel returns it"):
            self.same(nki.jit(stored)(x), x[24:])

    def test_trips_that_are_independent(self) -> None:
        """What accumulates, what the index addresses, what is read in its own trip only, and what is written anew before it is read."""
        def sums(t, x, i):
            t[...] += x

        def reduced(t, x, i):
            t[...] = nl.loop_reduce(x, np.add, [i])

        def columns(t, x, i):
            t[:, nl.ds(i, 1)] = x[:, 0:1]

        x = f32(32, 4)
        parts = x.reshape(4, 8, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.close(self.trips(sums), 1 + parts.sum(0))
            self.close(self.trips(reduced), 1 + parts.sum(0))
            self.close(self.trips(columns), parts[:, :, 0].T)

            def kernel(x):
                t, p, out, squares = nl.zeros((8, 4), dtype=nl.float32), nl.zeros((4, 4), dtype=nl.float32, buffer=nl.psum), new(*x.shape), new(4, 4)
                for i in nl.affine_range(4):
                    t[...] = nl.load(x[nl.ds(i * 8, 8), :])
                    p[...] += nisa.nc_matmul(t, t)
                    nl.store(out[nl.ds(i * 8, 8), :], t)
                t[...] = 1.0
                t[0:4, :] += p
                nl.store(squares, t[0:4, :])
                return out, squares

            out, squares = nki.jit(kernel)(x)
            self.same(out, x)
            self.close(squares, 1 + x.T @ x)

    def test_names(self) -> None:
        self.told(r"nl.concatenate: the interface has no such name; assign the parts to a tile", lambda x: nl.concatenate([nl.load(x)] * 2, axis=1), f32(8, 4))
        self.told(r"nl.clip: the interface has no such name; write nl.minimum", lambda x: nl.clip(nl.load(x), 0, 1), f32(8, 4))
        self.told(r"nl.sqare: the interface has no such name; is nl.square meant\?", lambda x: nl.sqare(nl.load(x)), f32(8, 4))
        self.told(r"nisa.tensor_tensr: .*is nisa.tensor_tensor meant", lambda x: nisa.tensor_tensr(nl.load(x), nl.load(x), nl.add), f32(8, 4))
        for module in (nl, nisa, nisa06):
            self.assertFalse(hasattr(module, "no_such_name"))

    def test_python_s_own_complaints(self) -> None:
        """Of arguments that are missing, of another type, or no arguments at all: with the kernel's line."""
        for words, f in ((r"nl.sum: axis is missing: which free dims, 1 to 1", lambda x: nl.sum(nl.load(x))),
                         (r"4.0 is a float where an integer is needed", lambda x: nl.load(x[0:x.shape[0] / 2])),
                         (r"nl.zeros: 'flot32' names no data type", lambda x: nl.zeros((8, 4), dtype="flot32")),
                         (r"tensor_tensor\(\) missing 1 required", lambda x: nisa.tensor_tensor(nl.load(x), nl.load(x))),
                         (r"nl.zeros: shape \(-1, 4\) has a dim of size -1", lambda x: nl.zeros((-1, 4), dtype=nl.float32)),
                         (r"nl.ndarray: shape \(\) has no partition dim", lambda x: nl.ndarray((), dtype=nl.float32)),
                         (r"nl.shared_constant: nowhere.npy: .*; expected an array, or the name", lambda x: nl.shared_constant("nowhere.npy")),
                         (r"nl.shared_constant: /dev/null: .*; expected an array, or the name", lambda x: nl.shared_constant("/dev/null")),
                         (r"an index array holds no elements", lambda x: nl.mgrid[0:8, 0:4].p.__setitem__((0, 0), 1))):
            with self.subTest(words), self.assertRaisesRegex(Exception, r"^\S*test_messages.py:\d+: " + words):
                nki.jit(f)(f32(8, 4))

        def own(x):
            raise ValueError("a kernel's own words")

        with self.assertRaisesRegex(ValueError, "^a kernel's own words$"):
            nki.jit(own)(f32(8, 4))
        with self.assertRaisesRegex(nki.NkiError, r"test_messages.py:\d+: nothing: the kernel returns no tensor"):
            def nothing(x):
                nl.exp(nl.load(x))
            nki.jit(nothing)(f32(8, 4))

    def test_output_stored_in_part(self) -> None:
        def rows(x, end):
            out = new(*x.shape)
            for i in nl.affine_range(x.shape[0] // 8):
                nl.store(out[i * 8:(i + 1) * 8, 0:end], nl.load(x[i * 8:(i + 1) * 8, 0:end]))
            return out

        def masked(x, end):
            out, (p, j) = new(*x.shape), nl.mgrid[0:8, 0:10]
            for i in nl.affine_range(3):
                inside = (i * 8 + p < x.shape[0]) & (j < end)
                nl.store(out[i * 8 + p, j], nl.load(x[i * 8 + p, j], mask=inside), mask=inside)
            return out

        x = f32(20, 10)
        for kernel, end, told in ((rows, 10, r"40 of its 200 elements, the first is \[16, 0\]"), (masked, 9, r"20 of its 200 elements, the first is \[0, 9\]")):
            with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: tensor '\w+' \[20, 10\] is returned, and nothing is stored to " + told):
                nki.jit(kernel)(x, end)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.same(nki.jit(masked)(x, 10), x)
            self.same(nki.jit(rows)(x[:16], 10), x[:16])

    def test_arguments_are_tensors(self) -> None:
        """`if bias:` asks whether an argument was given."""
        def kernel(x, bias=None):
            return nl.load(x) + nl.load(bias) if bias else nl.load(x) + 0.0

        x = f32(8, 4)
        self.same(nki.jit(kernel)(x, x), x + x)
        self.same(nki.jit(kernel)(x), x)

    def test_types_of_arguments(self) -> None:
        """Of 64 bits the machine has none."""
        same = nki.jit(lambda x: nl.load(x))
        x = f32(8, 4)
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: argument 'x' is float64, .* it is taken as float32; pass x.astype\(np.float32\)"):
            self.same(same(x.astype(np.float64)), x)
        self.same(same(np.array([[-2 ** 31, 2 ** 31 - 1]])), np.array([[-2 ** 31, 2 ** 31 - 1]], np.int32))
        for beyond in (2 ** 31, -2 ** 31 - 1):
            with self.assertRaisesRegex(TypeError, r"argument 'x' is int64 and holds %d: .* int32 does not hold that" % beyond):
                same(np.array([[0, beyond]]))
        with self.assertRaisesRegex(TypeError, r"argument 'x' is an array of complex64; expected float32"):
            same(x.astype(np.complex64))
        self.told("nl.load: data type float64 is none of the machine's, .*: nl.float32, nl.bfloat16", lambda x: nl.load(x, dtype=np.float64), x)
        self.told("nl.ndarray: data type int64 is none of the machine's", lambda x: nl.ndarray((8, 4), dtype=np.int64), x)

    def test_arguments_that_are_written(self) -> None:
        def second(x, y):
            out = new(*x.shape)
            nl.store(out, nl.load(x))
            nl.store(y, nl.load(x))
            return out

        def both(x, y):
            return second(x, y), y

        def neither(x, y):
            nl.store(y, nl.load(x))

        def declared(x, y: nt.mutable_tensor):
            return second(x, y)

        def right(x, y: nt.mutable_tensor):
            return second(x, y), y

        x, y = f32(8, 4), np.zeros((8, 4), np.float32)
        for kernel, words in ((second, "neither declared .*y: nki.typing.mutable_tensor"), (both, "returned and not declared .*y: nki.typing.mutable_tensor"),
                              (declared, "declared to be mutable and not returned")):
            with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.store: writes argument 'y', which is " + words):
                nki.jit(kernel)(x, y)
            self.same(y, x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kernel in (neither, right):
                nki.jit(kernel)(x, y)
            nki06.jit(both)(x, y)

    def test_more_than_there_is(self) -> None:
        """Blocks that all live at one time, in more memory than a run may have, where they cannot lie in HBM."""
        def kernel(x):
            blocks, total = nl.ndarray((4100, nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.psum), nl.zeros((128, 512), dtype=x.dtype)
            for i in nl.affine_range(4100):
                blocks[i] = nl.load(x)
            for i in nl.sequential_range(4100):
                total[...] = nl.add(total, blocks[i])
            return total

        self.told(r"the kernel's tiles need more than 1 GiB at one time, the largest is '\w+' \[128, 2099200\]: loop over parts", kernel,
                  f32(128, 512))

    def test_two_operands_and_conditions(self) -> None:
        """Reductions for what takes two operands, conditions and floats as indices."""
        x = f32(8, 4)
        self.told(r"nl.max: axis is a tile, expected which free dims .*element by element it is nl.maximum\(x, y\)",
                  lambda x: nl.max(nl.load(x), nl.load(x)), x)
        self.told(r"nl.sum: axis is 1.5, expected which", lambda x: nl.sum(nl.load(x), 1.5), x)
        for index in (lambda t: t[t > 0.5], lambda t: t[t]):
            self.told(r"a tile of (uint8|float32) is no index: .*nl.where\(condition, x, y\)", lambda x, index=index: index(nl.load(x)), x)

    def test_what_the_compiler_refuses(self) -> None:
        """A tensor of the kernel's own made in a loop, a grid within a kernel, a bias of integers."""
        def in_a_loop(x):
            for _ in nl.affine_range(2):
                out = new(8, 4)
                nl.store(out, nl.load(x))
            return out

        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.ndarray: a tensor in nl.shared_hbm is made in a loop"):
            nki.jit(in_a_loop)(f32(8, 4))
        inner = nki.jit(lambda x: nl.load(x))
        self.told(r"<lambda>: is called with a grid of \[4\] inside another kernel, which has none; .*: give the grid to the outer one",
                  lambda x: inner[4](x), f32(8, 4))
        self.told(r"activation: bias is int8, expected a tile of nl.float32", lambda x: nisa.activation(
            nl.exp, nl.load(x), bias=nisa.memset((8, 1), 1, dtype=nl.int8)), f32(8, 4))

    def test_misspelt_arguments(self) -> None:
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.exp has no argument 'masks', it has no effect; is 'mask' meant\?"):
            nki.jit(lambda x: nl.exp(nl.load(x), masks=None))(f32(8, 4))
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.maximum has no argument 'axis', it has no effect$"):
            nki.jit(lambda x: nl.maximum(nl.load(x), 0.0, axis=1))(f32(8, 4))
        with self.assertWarnsRegex(UserWarning, r"nisa.tensor_scalar has no argument 'reverse'"):
            nki.jit(lambda x: nisa.tensor_scalar(nl.load(x), np.add, 1.0, reverse=True))(f32(8, 4))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            nki06.jit(lambda x: nl.exp(nl.load(x), mask=None, precise_schedule=True))(f32(8, 4))

    def test_tiles_behind_their_loop(self) -> None:
        def last(x):
            for i in nl.affine_range(2):
                t = nl.load(x[8 * i:8 * i + 8])
            return nl.copy(t)

        def kept(x):
            t = nl.ndarray((8, 4), dtype=x.dtype)
            for i in nl.affine_range(2):
                u = nl.load(x[8 * i:8 * i + 8])
                t[0:8, 2 * i:2 * i + 2] = u[:, 0:2]
            return nl.copy(t)

        x = f32(16, 4)
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: nl.copy: reads tile '\w+' \[8, 4\], which each trip of nl.affine_range makes "
                                   r"\(line \d+\), after the loop: AWS's compiler refuses that"):
            self.same(nki.jit(last)(x), x[8:])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.same(nki.jit(kept)(x), np.concatenate([x[:8, :2], x[8:, :2]], 1))
            nki06.jit(last)(x)

    def test_factors_of_other_types(self) -> None:
        x, s = f32(8, 4), f32(8, 1).astype(np.float16)
        with self.assertWarnsRegex(UserWarning, r"test_messages.py:\d+: activation: scale is float16, .* make it a tile of nl.float32"):
            nki.jit(lambda x, s: nisa.activation(nl.exp, nl.load(x), scale=nl.load(s)))(x, s)

    def test_functions_outside_kernels(self) -> None:
        for call in (lambda: nl.load(f32(4, 4)), lambda: nl.store(f32(4, 4), 1.0), lambda: nl.exp(f32(4, 4)),
                     lambda: nisa.nc_transpose(f32(4, 4))):
            with self.assertRaisesRegex(nki.NkiError, r"test_messages.py:\d+: \S+: works inside a kernel only"):
                call()

    def test_indices_of_tiles(self) -> None:
        """What only the run tells: the line of the kernel, or of those that may be meant."""
        def loads(x, i, scatter=False):
            t, columns, out = nl.load(i), nl.arange(5)[None, :], new(20, 5)
            if scatter:
                nl.store(out[t, columns], nl.load(x[0:3]))
                return out
            rows = nl.load(x[t, columns])
            return nl.copy(rows)

        def two(x, i):
            t, a, b = nl.load(i), nl.ndarray((3, 5), dtype=x.dtype, buffer=nl.sbuf), nl.ndarray((3, 5), dtype=x.dtype, buffer=nl.sbuf)
            nisa06.dma_copy(dst=a, src=x.ap(pattern=[[5, 3], [1, 5]], vector_offset=t, indirect_dim=0), oob_mode=nisa06.oob_mode.skip)
            nisa06.dma_copy(dst=a, src=x.ap(pattern=[[5, 3], [1, 5]], vector_offset=t, indirect_dim=0))
            nisa06.dma_copy(dst=b, src=x.ap(pattern=[[5, 3], [1, 5]], vector_offset=t, indirect_dim=0))
            return nl.add(a, b)

        def chosen(x, i):
            rows, columns = nl.mgrid[0:20, 0:2]
            return nisa.tensor_copy_dynamic_src(nl.load(x)[rows, nl.load(i)[0, 0] + columns])

        def gathered(x, i):
            return nl.gather_flattened(nl.load(x[0:3]), nl.load(i))

        def line(of: Callable[..., Any], down: int) -> str:
            return r"\S*test_messages.py:%d: " % (of.__code__.co_firstlineno + down)

        x, i, y = f32(20, 5), np.array([[3], [20], [1]], np.int32), np.array([[1], [-2], [4]], np.int32)
        beyond = r"index 100 is out of bounds for axis 0 with size 100; an index in the tile is 20, expected 0 to 19 \(nisa.oob_mode.skip"
        below = r"index -10 is out of bounds for axis 0 with size 100; an index in the tile is -2, expected 0 to 19 \(nisa.oob_mode.skip"
        for kernel, words, arrays in (
                (nki.jit(loads), line(loads, 5) + "nl.load: " + beyond, (x, i)),
                (nki.jit(loads), line(loads, 3) + "nl.store: " + below, (x, y, True)),
                (nki06.jit(two), line(two, 3) + "dma_copy or " + line(two, 4) + "dma_copy: " + beyond, (x, i)),
                (nki.jit(chosen), line(chosen, 2) + "tensor_copy_dynamic_src: index 20 .* in the tile is 20, expected 0 to 3$", (x, i[1:2])),
                (nki.jit(gathered), line(gathered, 1) + "nl.gather_flattened: index 20 .* in the tile is 20, expected 0 to 4$",
                 (x, i.astype(np.uint32)))):
            with self.subTest(words), self.assertRaisesRegex(IndexError, "^" + words):
                kernel(*arrays)


if __name__ == "__main__":
    main()
