"""Instructions of whole rows on tiles of more than two dims: masks that cut inner dims, destinations that do not step like a row."""
from __future__ import annotations

import os
from unittest import mock

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.compiler import psum as psum_memory
from neuronxcc.nki.language import par_dim

R = np.random.RandomState(15)


def f32(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def largest(x: np.ndarray) -> np.ndarray:
    return -np.sort(-x.reshape(len(x), -1), 1)[:, :8]


class Masks(Case):
    def test_the_eight_largest(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            p, i, j = nl.mgrid[0:16, 0:4, 0:8]
            return (nisa.max8(src=t[p, i, j], mask=(i < 2)), nisa.max8(src=t[p, i, j], mask=(j >= 4)),
                    nisa.max8(src=t[p, i, j], mask=((i >= 1) & (j < 5))), nisa.max8(src=t[p, i, j], mask=(i + j >= 4)))

        x = f32(16, 4, 8)
        front, right, inner, corner = kernel(x)
        i, j = np.mgrid[0:4, 0:8]
        self.same(front, largest(x[:, :2]))
        self.same(right, largest(x[:, :, 4:]))
        self.same(inner, largest(x[:, 1:, :5]))
        self.same(corner, largest(np.where(i + j >= 4, x, -np.inf)))

    def test_short_rows(self) -> None:
        """On every target: max8 of fewer than eight elements has no eight largest."""
        for target in ("cpu", "trn1"):
            with mock.patch.dict(os.environ, {"XCC_NKI_TARGET": target}), \
                    self.assertRaisesRegex(nki.NkiError, r"max8: .*has 7 elements in a row, \w+ takes 8 to 16384: pad shorter rows"):
                nki.jit(lambda x: nisa.max8(src=nl.load(x)))(f32(16, 7))

    def test_some_rows(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            p, i, j = nl.mgrid[0:16, 0:4, 0:8]
            return nisa.max8(src=t[p, i, j], mask=((p < 9) & (j < 4)))[0:9, :]

        x = f32(16, 4, 8)
        self.same(kernel(x), largest(x[:9, :, :4]))

    def test_places(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            p, i, j = nl.mgrid[0:16, 0:4, 0:8]
            top = nisa.max8(src=t[p, i, j], mask=(j < 6))
            return nisa.nc_find_index8(data=t[p, i, j], vals=top, mask=(j < 6))

        x = f32(16, 4, 8)
        self.same(kernel(x), np.argsort(-x[:, :, :6].reshape(16, -1), 1)[:, :8])

    def test_replacing(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.ndarray((16, 4, 12), dtype=x.dtype)
            t[...] = nl.load(x)
            p, i, j = nl.mgrid[0:16, 0:4, 0:12]
            places = nl.zeros((16, 8), dtype=nl.uint32)
            top = nisa.max8(src=t[p, i, j], mask=(p < 8 and j < 6))
            t[p, i, j] = nisa.nc_match_replace8(data=t[p, i, j], vals=top, imm=-1.0, dst_idx=places, mask=(p < 8 and j < 6))
            return t, places

        x = f32(16, 4, 12)
        want, places = x.copy(), np.zeros((16, 8), np.uint32)
        for row in range(8):
            part = x[row, :, :6].reshape(-1)
            places[row] = np.argsort(-part)[:8]
            part[places[row]] = -1
            want[row, :, :6] = part.reshape(4, 6)
        got, where = kernel(x)
        self.same(got, want)
        self.same(where, places)

    def test_statistics_and_scans(self) -> None:
        @nki.jit
        def kernel(x):
            t = nl.load(x)
            p, i, j = nl.mgrid[0:16, 0:4, 0:8]
            both = nisa.bn_aggr(nisa.bn_stats(t[p, i, j], mask=(i < 3)))
            run = nl.zeros(t.shape, dtype=x.dtype, buffer=nl.sbuf)
            run[p, i, j] = nisa.tensor_tensor_scan(t[p, i, j], t[p, i, j], 0.0, nl.multiply, nl.add, mask=(i >= 2))
            return both, run

        x = f32(16, 4, 8)
        both, run = kernel(x)
        part = x[:, :3].reshape(16, -1)
        self.close(both, np.stack([part.mean(1), part.var(1)], 1), 1e-4, 1e-5)
        want, r = np.zeros((16, 16)), np.zeros(16)
        for k, column in enumerate(x[:, 2:].reshape(16, 16).T.astype(np.float64)):
            r = want[:, k] = column * r + column
        self.same(np.asarray(run)[:, :2], np.zeros((16, 2, 8)))
        self.close(np.asarray(run)[:, 2:].reshape(16, 16), want, 1e-4, 1e-5)

    def test_gathering(self) -> None:
        @nki.jit
        def kernel(x, index):
            t, k = nl.load(x), nl.load(index)
            p, i, j = nl.mgrid[0:16, 0:3, 0:4]
            out = nl.zeros((16, 3, 4), dtype=x.dtype, buffer=nl.sbuf)
            out[p, i, j] = nl.gather_flattened(t, k, mask=(j < 2))
            return out

        x, index = f32(16, 5, 6), R.randint(0, 30, (16, 3, 4)).astype(np.uint32)
        want = np.take_along_axis(x.reshape(16, 30), index.reshape(16, 12).astype(np.int64), 1).reshape(16, 3, 4)
        want[:, :, 2:] = 0
        self.same(kernel(x, index), want)

    def test_a_mask_that_cuts_no_rows(self) -> None:
        def kernel(x):
            t = nl.load(x)
            p, j = nl.mgrid[0:16, 0:32]
            return nisa.bn_stats(t[p, j], mask=(p + j < 30))

        with self.assertRaisesRegex(nki.NkiError, r"test_rows.py:\d+.*bn_stats.*several axes.*affine_select"):
            nki.jit(kernel)(f32(16, 32))

    def test_partition_starts(self) -> None:
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            t = nl.load(x)
            t[10:20, :] = nl.exp(t[10:20, :])
            nl.store(out, t)
            return out

        with mock.patch.dict(os.environ, XCC_NKI_TARGET="trn1"):
            with self.assertRaisesRegex(nki.NkiError, r"test_rows.py:\d+.*starts at partition 10: on trn1.*0, 32, 64 or 96; move it"):
                nki.jit(kernel)(f32(64, 32))

    def test_assignments_start_anywhere(self) -> None:
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            t, u = nl.load(x), nl.zeros(x.shape, dtype=x.dtype)
            for i in nl.static_range(3):
                u[7 * i + 1, i] = 3.0 + i
                u[30 + 3 * i:33 + 3 * i, :] = t[i:i + 3, :]
            for i in nl.affine_range(5):
                u[50 + i:51 + i, 0:4] = t[i:i + 1, 1:5]
                u[50 + i:51 + i, 4] = 2.0
            nl.store(out, u)
            return out

        x = f32(64, 32)
        want = np.zeros_like(x)
        for i in range(3):
            want[7 * i + 1, i] = 3 + i
            want[30 + 3 * i:33 + 3 * i] = x[i:i + 3]
        want[50:55, 0:4], want[50:55, 4] = x[:5, 1:5], 2
        for target in ("cpu", "trn1", "trn2"):
            with self.subTest(target), mock.patch.dict(os.environ, XCC_NKI_TARGET=target):
                self.same(nki.jit(kernel)(x), want)

    def test_places_are_unsigned(self) -> None:
        def kernel(x):
            t = nl.load(x)
            return nisa.nc_find_index8(data=t, vals=nisa.max8(src=t), dtype=nl.float32)

        with self.assertRaisesRegex(nki.NkiError, r"test_rows.py:\d+.*nc_find_index8.*places in a row are u32 or u16"):
            nki.jit(kernel)(f32(16, 32))


class Destinations(Case):
    """Every second element of a tile is written; the others stay."""

    def columns(self, body, x: np.ndarray, rows: int, count: int) -> np.ndarray:
        def kernel(x):
            t = nl.load(x)
            out = nl.zeros((rows, count, 2), dtype=nl.float32, buffer=nl.sbuf)
            body(t, out[:, :, 1])
            return out

        got = np.asarray(nki.jit(kernel)(x))
        self.same(got[:, :, 0], np.zeros((rows, count)))
        return got[:, :, 1]

    def test_instructions(self) -> None:
        x = f32(32, 32)

        def transpose(t, out):
            out[...] = nisa.nc_transpose(t)

        def scan(t, out):
            out[...] = nisa.tensor_tensor_scan(t, t, 0.0, nl.add, nl.maximum)

        def top(t, out):
            out[...] = nisa.max8(src=t)

        def shuffle(t, out):
            nisa.nc_stream_shuffle(src=t, dst=out, shuffle_mask=[31 - k for k in range(31)] + [255])

        def cumulative(t, out):
            nisa.tensor_scalar_cumulative(src=t, dst=out, op0=np.multiply, op1=np.add, imm0=2.0)

        self.same(self.columns(transpose, x, 32, 32), x.T)
        self.close(self.columns(scan, x, 32, 32)[:, 0], np.maximum(x[:, 0], x[:, 0]))
        self.same(self.columns(top, x, 32, 8), largest(x))
        self.same(self.columns(shuffle, x, 32, 32), np.concatenate([x[:0:-1], np.zeros((1, 32), np.float32)]))
        self.close(self.columns(cumulative, x, 32, 32), np.cumsum(2 * x, 1), 1e-4, 1e-5)


class Blocks(Case):
    """More blocks than PSUM has room for, as its allocator folds them over a few banks."""

    def on_trn1(self, function, *x: np.ndarray) -> np.ndarray:
        """The result on trn1, whose PSUM has 16 KiB in each partition."""
        with mock.patch.dict(os.environ, XCC_NKI_TARGET="trn1"):
            return np.asarray(nki.jit(function)(*x))

    def test_blocks_by_a_loop(self) -> None:
        def kernel(x):
            out = nl.ndarray((16, 64, 512), dtype=nl.float32, buffer=nl.shared_hbm)
            sums = nl.ndarray((16, par_dim(64), 512), dtype=nl.float32,
                              buffer=psum_memory.mod_alloc(base_bank=0, num_bank_tiles=(2,)))
            for i in nl.affine_range(16):
                a = nl.load(x[i])
                sums[i] = nisa.nc_matmul(a[:, 0:64], a)
                nl.store(out[i], nl.copy(sums[i]))
            return out

        x = f32(16, 128, 512)
        self.close(self.on_trn1(kernel, x), np.einsum("bkm,bkn->bmn", x[:, :, :64], x), 1e-4, 1e-3)

    def test_blocks_by_number(self) -> None:
        def kernel(x):
            out = nl.ndarray((16, 64, 512), dtype=nl.float32, buffer=nl.shared_hbm)
            sums = nl.ndarray((16, par_dim(64), 512), dtype=nl.float32, buffer=nl.psum)
            for i in nl.static_range(16):
                a = nl.load(x[i])
                sums[i] = nisa.nc_matmul(a[:, 0:64], a)
                for j in nl.affine_range(4):
                    nl.store(out[i, :, nl.ds(j * 128, 128)], nl.copy(sums[i, :, nl.ds(j * 128, 128)]))
            return out

        x = f32(16, 128, 512)
        self.close(self.on_trn1(kernel, x), np.einsum("bkm,bkn->bmn", x[:, :, :64], x), 1e-4, 1e-3)

    def test_blocks_that_live_together(self) -> None:
        def kernel(x):
            out = nl.ndarray((16, 64, 512), dtype=nl.float32, buffer=nl.shared_hbm)
            sums = nl.ndarray((16, par_dim(64), 512), dtype=nl.float32, buffer=nl.psum)
            for i in nl.affine_range(16):
                a = nl.load(x[i])
                sums[i] = nisa.nc_matmul(a[:, 0:64], a)
            for i in nl.affine_range(16):
                nl.store(out[i], nl.copy(sums[i]))
            return out

        x = f32(16, 128, 512)
        with self.assertWarnsRegex(nki.NkiWarning, "32768 bytes in each partition, has no room .* kept in HBM"):
            self.close(self.on_trn1(kernel, x), np.einsum("bkm,bkn->bmn", x[:, :, :64], x), 1e-4, 1e-3)

    def rotated(self, width: int) -> None:
        """A rotation of pairs whose halves are tiles of 64 partitions: more than fit, unless two of them share columns."""
        def kernel(x, cos, sin):
            out = nl.ndarray((128, width), dtype=nl.float32, buffer=nl.shared_hbm)
            t, c, s = nl.load(x), nl.load(cos), nl.load(sin)
            odd = nl.copy(t[64:128, :])
            even_cos, odd_sin = nl.multiply(t[0:64, :], c), nl.multiply(odd, s)
            odd_cos, even_sin = nl.multiply(odd, c), nl.multiply(t[0:64, :], s)
            nl.store(out[0:64, :], nl.subtract(even_cos, odd_sin))
            nl.store(out[64:128, :], nl.add(odd_cos, even_sin))
            return out

        x, c, s = f32(128, width), f32(64, width), f32(64, width)
        got = self.on_trn1(kernel, x, c, s)
        self.close(got, np.concatenate([x[:64] * c - x[64:] * s, x[64:] * c + x[:64] * s]), 1e-5, 1e-5)

    def test_halves_in_pairs(self) -> None:
        self.rotated(256)
        self.rotated(8704)
        with self.assertRaisesRegex(nki.NkiError, "no room in sbuf"):
            self.rotated(16384)


if __name__ == "__main__":
    main()
