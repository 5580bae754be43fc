"""Forms that published kernels use beside the documented ones, and what stands for types that NumPy does not have."""
from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

from support import HERE, Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import nki as nki6
import nki.isa as nisa6
import nki.language as nl6
from xcc import _small_floats, dtypes

R = np.random.RandomState(3)


def f32(*shape: int) -> np.ndarray:
    return R.rand(*shape).astype(np.float32)


class Wrapped(Case):
    """A kernel under several decorators keeps its grid."""

    def test_grid_of_what_baremetal_made(self) -> None:
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            assert nl.program_ndim() == 2
            i, k = nl.program_id(0), nl.program_id(1)
            nl.store(out[i, k], nl.multiply(nl.load(x[i, k]), 2.0))
            return out

        x = f32(2, 3, 16, 8)
        for wrapped in (nki.baremetal(kernel), nki.baremetal()(nki.jit(kernel)), nki.jit(nki.baremetal(kernel))):
            self.close(nki.simulate_kernel(wrapped[2, 3], x), 2 * x)
        with contextlib.redirect_stdout(io.StringIO()):
            self.close(nki.simulate_kernel(nki.benchmark(warmup=1, iters=1)(kernel)[2, 3], x), 2 * x)

    def test_grid_of_none(self) -> None:
        kernel = nki.jit(lambda x: nl.copy(nl.load(x)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            x = f32(8, 8)
            self.same(kernel[0](x), x)
        self.assertTrue(any("a grid of 0 programs" in str(w.message) for w in told))


class Cut(Case):
    """x[condition] as a factor, where the condition is a number of Python."""

    def test_conditions_known_while_tracing(self) -> None:
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray((8, 16), dtype=a.dtype, buffer=nl.shared_hbm)
            k, m, n = nl.arange(32)[:, None], nl.arange(8)[None, :], nl.arange(16)[None, :]
            x, y = nl.load(a), nl.load(b)
            for i in nl.affine_range(1):
                total = nl.zeros((8, 16), nl.float32, buffer=nl.psum)
                total[...] += nisa.nc_matmul(x[k, m][i < 1], y[k, n][n < 12][3 < 4])
                nl.store(out, total)
            return out

        a, b = f32(32, 8), f32(32, 16)
        self.close(kernel(a, b)[:, :12], (a.T @ b)[:, :12], 1e-5)


class Private(Case):
    """Older kernels for two cores take what exchanges tiles from a module of AWS's own."""

    def test_two_programs_exchange(self) -> None:
        from neuronxcc.nki._private.private_api import core_barrier, sendrecv

        @nki.jit(platform_target="trn2")
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            parts = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            me = nl.program_id(0)
            mine = nl.load(x[me])
            other = nl.zeros(mine.shape, dtype=mine.dtype)
            sendrecv(send_to_rank=1 - me, recv_from_rank=1 - me, src=mine, dst=other, pipe_id=0)
            nl.store(parts[me], mine - 2 * other)
            core_barrier(parts, (0, 1))
            nl.store(out[me], nl.load(parts[1 - me]))
            return out

        x = f32(2, 16, 8)
        for target in ("cpu", "trn1", "trn2"):
            with mock.patch.dict(os.environ, XCC_NKI_TARGET=target):
                self.close(kernel[2](x), (x - 2 * x[::-1])[::-1], 1e-6)

    def test_products_of_two_programs(self) -> None:
        """Each program multiplies its half of the contraction; they add what both have found, with loops between and after."""
        @nki6.jit
        def kernel(a, b):
            me = nl6.program_id(0)
            out = nl6.ndarray((64, 256), dtype=nl6.float32, buffer=nl6.shared_hbm)
            sums = nl6.ndarray((64, 256), dtype=nl6.float32, buffer=nl6.psum)
            for k in nl6.affine_range(2):
                left = nl6.ndarray((128, 64), dtype=nl6.float32, buffer=nl6.sbuf)
                right = nl6.ndarray((128, 256), dtype=nl6.float32, buffer=nl6.sbuf)
                nisa6.dma_copy(left, a[nl6.ds((2 * me + k) * 128, 128), :])
                nisa6.dma_copy(right, b[nl6.ds((2 * me + k) * 128, 128), :])
                nisa6.nc_matmul(sums, left, right)
            mine, other = (nl6.ndarray((64, 256), dtype=nl6.float32, buffer=nl6.sbuf) for _ in range(2))
            nisa6.tensor_copy(mine, sums)
            nisa6.sendrecv(src=mine, dst=other, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
            nisa6.tensor_tensor(mine, mine, other, nl6.add)
            for k in nl6.affine_range(4):
                at = nl6.ds((4 * me + k) * 32, 32)
                nisa6.dma_copy(out[:, at], mine[:, at])
            return out

        a, b = f32(512, 64), f32(512, 256)
        for target in ("cpu", "trn1", "trn2"):
            with mock.patch.dict(os.environ, XCC_NKI_TARGET=target):
                self.close(kernel[2](a, b), a.T @ b, 1e-5, 1e-4)


class Blocks(Case):
    def test_copies_of_a_buffer(self) -> None:
        """A loop that Python unrolls has a buffer of blocks for each trip, of which one block lives at a time: all of them fold."""
        trips, blocks, rows = 18, 10, 32

        @nki.jit
        def kernel(a, b):
            out = nl.ndarray((trips, rows, blocks, 512), dtype=a.dtype, buffer=nl.shared_hbm)
            left = nl.load(a)
            for k in nl.static_range(trips):
                sums = nl.ndarray((blocks, nl.par_dim(rows), 512), dtype=nl.float32, buffer=nl.psum)
                kept = nl.ndarray((blocks, nl.par_dim(rows), 512), dtype=nl.float32, buffer=nl.sbuf)
                for n in nl.affine_range(blocks):
                    sums[n] = nisa.nc_matmul(left, nl.load(b[n]))
                    kept[n] = nl.copy(sums[n]) * float(k)
                    nl.store(out[k, :, n, :], kept[n])
            return out

        a, b = f32(8, rows), f32(blocks, 8, 512)
        with mock.patch.dict(os.environ, XCC_NKI_TARGET="trn1"):
            got = kernel(a, b)
        product = np.einsum("kp,nkf->pnf", a, b)
        self.close(got, product * np.arange(trips, dtype=np.float32)[:, None, None, None], 1e-5, 1e-5)


class Skipped(Case):
    """nl.load and nl.store with mode=nisa.oob_mode.skip: rows whose index lies beyond the tensor stay as they are."""

    def test_rows(self) -> None:
        for dtype in (np.float32, dtypes.bfloat16):
            @nki.jit
            def kernel(x, rows):
                out = nl.ndarray((4, 16), dtype=x.dtype, buffer=nl.shared_hbm)
                tile = nl.full((4, 16), 7.0, dtype=dtype)
                tile[0:4, 0:16] = nl.load(x[nl.load(rows), nl.arange(16)[None, :]], mode=nisa.oob_mode.skip)
                nl.store(out, tile)
                return out

            x = f32(10, 16)
            want = np.full((4, 16), 7, np.float32)
            want[0], want[2] = x[3], x[9]
            self.close(kernel(x, np.array([[3], [10], [9], [1000]], np.int32)), want, 1e-2 if dtype is not np.float32 else 0)

    def test_one_index_in_a_loop(self) -> None:
        @nki.jit
        def kernel(x, rows):
            out = nl.ndarray((8, 16), dtype=x.dtype, buffer=nl.shared_hbm)
            f = nl.arange(16)[None, :]
            for n in nl.affine_range(4):
                row = nl.load(rows[n:n + 1])
                tile = nl.full((2, 16), 5.0, dtype=x.dtype)
                tile[...] = nl.load(x.reshape((5, 2, 16))[row[0, 0], nl.arange(2)[:, None], f], mode=nisa.oob_mode.skip)
                nl.store(out[2 * n:2 * n + 2], tile)
            return out

        x = f32(10, 16)
        want = np.full((8, 16), 5, np.float32)
        want[0:2], want[6:8] = x[8:10], x[0:2]
        self.same(kernel(x, np.array([[4], [5], [77], [0]], np.int32)), want)

    def test_stored(self) -> None:
        @nki.jit
        def kernel(x, rows):
            out = nl.ndarray((6, 16), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.zeros((6, 16), x.dtype))
            nl.store(out[nl.load(rows), nl.arange(16)[None, :]], nl.load(x), mode=nisa.oob_mode.skip)
            return out

        x = f32(4, 16)
        want = np.zeros((6, 16), np.float32)
        want[5], want[1] = x[0], x[3]
        self.same(kernel(x, np.array([[5], [6], [99], [1]], np.int32)), want)


class Rebound(Case):
    """Index arrays made anew in a body do not unroll its loop."""

    def test_same_and_other_shapes(self) -> None:
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            p, f = nl.arange(32)[:, None], nl.arange(64)[None, :]
            for i in nl.affine_range(4):
                t = nl.load(x[i * 32 + p, f])
                nl.store(out[i * 32 + p, f], t * 3.0)
                p, f = nl.arange(32)[:, None], nl.arange(16)[None, :]
            return out

        x = f32(128, 64)
        self.close(kernel(x), 3 * x)
        self.assertEqual(kernel.compile(x).notes, [])


class Partitions(Case):
    def test_columns_of_few_dims_run_along_partitions(self) -> None:
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            p, y, z = nl.arange(16)[:, None, None], nl.arange(3)[None, :, None, None], nl.arange(5)[None, None, :, None]
            w = nl.arange(2)[None, None, None, :]
            t = nl.load(x[p, y, z, w])
            nl.store(out[p, y, z, w], t[p, y, z, w])
            return out

        x = f32(16, 3, 5, 2)
        self.same(kernel(x), x)

    def test_identities_of_bytes(self) -> None:
        @nki.jit
        def kernel(x):
            p, f = nl.mgrid[0:32, 0:48]
            t, one = nl.load(x), nl.load(nl.shared_identity_matrix(32))
            return nl.copy(nisa.nc_matmul(one, t[p, f][(p < 32) & (f < 48)]))

        x = f32(32, 48)
        self.close(kernel(x), x)

    def test_gather_of_some_rows(self) -> None:
        @nki.jit
        def kernel(x, places):
            p, f = nl.mgrid[0:64, 0:10]
            d = nl.zeros((64, 10), dtype=x.dtype)
            d[...] = nl.gather_flattened(nl.load(x), nl.load(places), mask=(p < 30) & (f < 7))
            return d

        x, places = f32(64, 20), R.randint(0, 20, (64, 10)).astype(np.uint32)
        want = np.take_along_axis(x, places.astype(np.int64), 1)
        want[30:] = 0
        want[:, 7:] = 0
        self.same(kernel(x, places), want)


class Defaults(Case):
    """Of nki 0.6, where beta 1 has others."""

    def test_affine_select_and_reductions(self) -> None:
        @nki6.jit
        def kernel(x):
            t = nl6.ndarray(x.shape, dtype=x.dtype, buffer=nl6.sbuf)
            nisa6.dma_copy(dst=t, src=x)
            d = nl6.ndarray(x.shape, dtype=x.dtype, buffer=nl6.sbuf)
            nisa6.affine_select(dst=d, pattern=[[4, 3], [1, 4]], channel_multiplier=-1, on_true_tile=t, on_false_value=-1.5)
            return d, nl6.sum(t, 2, nl6.float32, True), nl6.max(t, 2), nl6.var(t, 2)

        x = f32(12, 3, 4)
        d, total, top, variance = kernel(x)
        at = np.arange(12).reshape(3, 4) == np.arange(12)[:, None, None]
        self.same(d, np.where(at, x, np.float32(-1.5)))
        self.close(total, x.sum(2, keepdims=True))
        self.same(top, x.max(2))
        self.close(variance, x.var(2, keepdims=True))


class Mistakes(Case):
    def test_indices_and_axes(self) -> None:
        for kernel, text in ((lambda x: nl.load(x[[0, 1, 2], :]), "a tile of indices"), (lambda x: nl.load(x[::-1, :]), "steps are 1 or more"),
                             (lambda x: nl.softmax(nl.load(x), axis=3), "axis 3 of a tile of 2 dims")):
            with self.assertRaises(nki.NkiError) as told:
                nki.simulate_kernel(kernel, f32(16, 8))
            self.assertIn(text, str(told.exception))
            self.assertIn("test_published_forms.py:", str(told.exception))


class Chance(Case):
    def test_dropout_in_a_loop_of_one_program(self) -> None:
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            for i in nl.affine_range(4):
                nl.store(out[i], nl.dropout(nl.load(x[i]), rate=0.25))
            return out

        y = kernel[1, 1](np.ones((4, 64, 500), np.float32))
        self.assertLess(abs((y == 0).mean() - 0.25), 0.01)
        self.assertFalse((y[0] == y[1]).all())


class SmallFloats(Case):
    """The types without ml_dtypes."""

    def test_every_code(self) -> None:
        for name, value, code in (("float8_e4m3", 240, 0x77), ("float8_e4m3", np.inf, 0x78), ("float8_e5m2", -1.5, 0xBE),
                                  ("float8_e4m3fn", 448, 0x7E), ("float8_e4m3", 2.0 ** -9, 1), ("float8_e8m0fnu", 1, 127)):
            d = _small_floats.record(name, 1)
            self.assertEqual(int(_small_floats.encode(np.float32([value]), d).view(np.uint8)[0]), code)
            self.assertEqual(float(_small_floats.decode(np.uint8([code]).view(d))[0]), value)
        for name in ("float8_e4m3", "float8_e5m2", "float8_e4m3fn", "bfloat16"):
            size = 2 if name == "bfloat16" else 1
            d = _small_floats.record(name, size)
            codes = np.arange(256 ** size).astype("<u%d" % size)
            values = _small_floats.decode(codes.view(d))
            back = _small_floats.encode(values, d).view(codes.dtype)
            self.same(back[~np.isnan(values)], codes[~np.isnan(values)])
            self.assertTrue(np.isnan(_small_floats.decode(back.view(d)))[np.isnan(values)].all())

    def test_as_ml_dtypes_has_them(self) -> None:
        try:
            import ml_dtypes
        except ImportError:
            raise unittest.SkipTest("ml_dtypes is not installed") from None
        x = (R.randn(5000) * 10.0 ** R.randint(-9, 6, 5000)).astype(np.float32)
        for name in ("float8_e4m3", "float8_e5m2", "float8_e4m3fn", "bfloat16"):
            if hasattr(ml_dtypes, name):
                d = _small_floats.record(name, 2 if name == "bfloat16" else 1)
                self.same(_small_floats.decode(_small_floats.encode(x, d)), x.astype(getattr(ml_dtypes, name)).astype(np.float32))

    def test_a_kernel_without_the_package(self) -> None:
        """Results are numbers, arrays keep their type from kernel to kernel, and NumPy is told what is missing."""
        script = '''
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, neuronxcc.nki as nki, neuronxcc.nki.language as nl

@nki.jit
def kernel(x):
    assert x.dtype == nl.bfloat16 and nl.bfloat16 == x.dtype and x.dtype != nl.float16 and np.dtype(nl.bfloat16).itemsize == 2
    return nl.copy(nl.load(x) * 1.0, dtype=nl.bfloat16)

x = nl.static_cast(np.float32([[1.00390625, 2.5]]), nl.bfloat16)
assert x.dtype == np.float32 and x.tolist() == [[1.0, 2.5]], x
y = kernel(kernel(x))
assert y.dtype == np.float32 and (y + 1).tolist() == [[2.0, 3.5]], y
try:
    np.ones(3).astype(nl.bfloat16)
except TypeError as e:
    assert "ml_dtypes" in str(e), e
else:
    raise SystemExit("NumPy made bfloat16 of something")
'''
        paths = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "compat")]
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_public_names(self) -> None:
        if dtypes.bfloat16.names is None:
            self.assertIs(nl.bfloat16, dtypes.bfloat16)
        else:
            self.assertRaises(TypeError, np.dtype, nl.bfloat16)

    def test_names_of_older_kernels(self) -> None:
        """tile.shape_2d, tile.as_tile(), sync_program without axes, numbers of programs along several axes."""
        from neuronxcc.nki.language.iterators import sync_program

        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            t = nl.load(x)
            rows, columns = t.shape_2d
            sums = nl.ndarray((nl.par_dim(rows), 1), dtype=x.dtype).as_tile()
            nisa.activation_reduce(op=np.square, data=t, reduce_op=np.add, reduce_res=sums)
            with sync_program(()):
                mean = nl.multiply(sums, nl.num_programs([0, 1]) / columns)
            half = nl.program_id(0) * 2 + nl.program_id(1)
            k, f = nl.arange(32)[:, None], nl.arange(12)[None, :]
            nl.store(out[half * 32 + k, f], nl.multiply(t.reshape((128, 12))[half * 32 + k, f], mean[half * 32 + k, 0]))
            return out

        x = np.random.RandomState(7).rand(128, 12).astype(np.float32)
        self.close(nki.jit(kernel)[2, 2](x), x * np.square(x).sum(1, keepdims=True) * 4 / 12, 1e-5, 1e-5)
        with self.assertRaisesRegex(nki.NkiError, "sync_program: waits for the programs along axes \\(0,\\)"):
            with sync_program((0,)):
                self.fail("it cannot wait")


if __name__ == "__main__":
    main()
