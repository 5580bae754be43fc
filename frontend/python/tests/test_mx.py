"""MX formats, topk, prelu and destinations of step 0, compared with their definitions in NumPy."""
from __future__ import annotations

import os
import unittest
from unittest import mock

from support import Case, main, np

import nki
import nki.isa as nisa
import nki.language as nl

R = np.random.RandomState(5)


def decoded(exponent: int, mantissa: int, bias: int) -> np.ndarray:
    """The value of each code of a small float: a sign, exponent and mantissa bits. Codes that are no numbers are not made here."""
    codes = np.arange(2 << (exponent + mantissa))
    m, e, sign = codes & ((1 << mantissa) - 1), codes >> mantissa & ((1 << exponent) - 1), codes >> (exponent + mantissa)
    size = np.where(e > 0, np.exp2(e - bias) * (1 + m / 2.0 ** mantissa), np.exp2(1.0 - bias) * m / 2.0 ** mantissa)
    return np.where(sign, -size, size)


E4M3, E5M2, E2M1 = decoded(4, 3, 7), decoded(5, 2, 15), decoded(2, 1, 1)
FORMATS = {"float8_e4m3fn_x4": (E4M3, 8), "float8_e5m2_x4": (E5M2, 15)}


def nearest(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The code of the nearest value, an even one of two; zeros keep their sign."""
    half = values[:len(values) // 2]
    size = np.abs(x)[..., None]
    far = np.abs(size - half)
    best = far.min(-1, keepdims=True)
    code = np.where(far == best, np.arange(len(half)) + (np.arange(len(half)) & 1) * 1000, 1 << 20).min(-1) % 1000
    return (code + np.signbit(x) * len(half)).astype(np.uint8)


def rows_of_scales(partitions: int) -> list:
    return [g // 4 * 32 + g % 4 for g in range(partitions // 8)] if partitions > 32 else list(range(partitions // 8))


def scale_tile(scales: np.ndarray, partitions: int) -> np.ndarray:
    out = np.zeros((partitions if partitions > 32 else partitions // 8, scales.shape[1]), np.uint8)
    out[rows_of_scales(partitions)] = scales
    return out


def values_of(codes: np.ndarray, table: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """f64 (P, columns, 4) from codes (P, columns, 4) and scales (P / 8, columns)."""
    return table[codes] * np.exp2(np.repeat(scales, 8, axis=0).astype(np.float64) - 127)[:, :, None]


@unittest.skipIf(os.environ.get("XCC_NKI_TARGET", "cpu") not in ("cpu", "trn3"), "machines up to trn2 have no MX formats")
class Mx(Case):
    def test_quantize(self) -> None:
        for name, (table, top) in FORMATS.items():
            for p in (32, 64, 128):
                x = (R.standard_normal((p, 24)) * np.exp2(R.randint(-9, 9, (p, 24)))).astype(np.float16)
                x[:8, :4] = 0
                with self.subTest(name, p=p):
                    self.quantizes(name, x, table, top)

    def quantizes(self, name: str, x: np.ndarray, table: np.ndarray, top: int) -> None:
        p, columns = x.shape[0], x.shape[1] // 4

        @nki.jit
        def kernel(x):
            src, kind = nl.load(x), getattr(nl, name)
            data = nl.ndarray((p, columns), dtype=kind, buffer=nl.sbuf)
            scale = nl.zeros((p if p > 32 else p // 8, columns), dtype=nl.uint8)
            nisa.quantize_mx(dst=data, src=src, dst_scale=scale)
            return data.view(nl.uint8), scale

        codes, scales = kernel(x)
        groups = np.abs(x.astype(np.float64)).reshape(p // 8, 8, columns, 4).max((1, 3))
        want = np.where(groups > 0, np.frexp(np.maximum(groups, 1e-30))[1] - 1 - (top - 1) + 127, 0)
        self.same(np.asarray(scales)[rows_of_scales(p)], want)
        scaled = x.astype(np.float64).reshape(p, columns, 4) / np.exp2(np.repeat(want, 8, axis=0) - 127.0)[:, :, None]
        self.same(np.asarray(codes).reshape(p, columns, 4), nearest(scaled, table))

    def test_products_of_eight_bits(self) -> None:
        for name, (table, _) in FORMATS.items():
            with self.subTest(name):
                limit = 0x60  # codes of numbers
                a, b = (R.randint(0, limit, (64, n, 4)) + 128 * R.randint(0, 2, (64, n, 4)) for n in (16, 40))
                self.multiplies(name, a, b, table, [x.astype(np.uint8).view(np.uint32)[..., 0] for x in (a, b)])

    def test_products_of_four_bits(self) -> None:
        a, b = R.randint(0, 16, (128, 16, 4)), R.randint(0, 16, (128, 600, 4))
        packed = [(x[..., 0] | x[..., 1] << 4 | x[..., 2] << 8 | x[..., 3] << 12).astype(np.uint16) for x in (a, b)]
        self.multiplies("float4_e2m1fn_x4", a, b, E2M1, packed)

    def multiplies(self, name: str, a: np.ndarray, b: np.ndarray, table: np.ndarray, packed: list) -> None:
        p = a.shape[0]
        scales = [R.randint(120, 130, (p // 8, x.shape[1])).astype(np.uint8) for x in (a, b)]

        @nki.jit
        def kernel(a, b, scale_a, scale_b):
            tiles = []
            for x in (a, b):
                tiles.append(nl.ndarray(x.shape, dtype=getattr(nl, name), buffer=nl.sbuf))
                nisa.dma_copy(dst=tiles[-1], src=x.view(getattr(nl, name)))
            sum_ = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum)
            for _ in range(2):  # the second adds
                nisa.nc_matmul_mx(sum_, tiles[0], tiles[1], nl.load(scale_a), nl.load(scale_b))
            return nl.copy(sum_)

        got = kernel(packed[0], packed[1], scale_tile(scales[0], p), scale_tile(scales[1], p))
        want = 2 * np.einsum("kmq,knq->mn", values_of(a, table, scales[0]), values_of(b, table, scales[1]))
        self.close(got, want, 1e-5, 1e-5 * np.abs(want).max())

    def test_messages(self) -> None:
        @nki.jit
        def kernel(x):
            src = nl.load(x)
            data, scale = nl.ndarray((x.shape[0], 2), dtype=nl.float8_e5m2_x4, buffer=nl.sbuf), nl.zeros((4, 2), dtype=nl.uint8)
            nisa.quantize_mx(dst=data, src=src, dst_scale=scale)
            return scale

        for x, words in ((np.ones((32, 8), np.float32), "src is float32, expected nl.bfloat16 or nl.float16"),
                         (np.ones((24, 8), np.float16), "dst has 24 partitions, expected 32, 64, 96 or 128"),
                         (np.ones((64, 8), np.float16), r"the scale of dst has shape \(4, 2\), expected \(64, 2\)"),
                         (np.ones((32, 4), np.float16), r"src has shape \(32, 4\), expected \(32, 8\)")):
            with self.subTest(words), self.assertRaisesRegex(nki.NkiError, r"test_mx.py:\d+: quantize_mx: " + words):
                kernel(x)


class Host(Case):
    """Packed elements outside kernels, by the names of AWS's modules."""

    def test_casts(self) -> None:
        import neuron_dtypes
        from neuronxcc.starfish.support import dtype as beta

        r = np.random.RandomState(7)
        for name, table in (("float8_e4m3fn_x4", E4M3), ("float8_e5m2_x4", E5M2), ("float4_e2m1fn_x4", E2M1)):
            finite = np.abs(table[:len(table) // 2 - (4 if name == "float8_e5m2_x4" else 1 if name == "float8_e4m3fn_x4" else 0)])
            x = np.concatenate([r.uniform(-1, 1, 200) * finite[-1] * np.exp2(-r.randint(0, 12, 200)), finite, -finite,
                                (finite[1:] + finite[:-1]) / 2]).astype(np.float32)
            x = x[:x.size // 8 * 8].reshape(2, -1)
            codes = nearest(x.astype(np.float64), table)
            want = (codes.reshape(2, -1, 4).astype(np.uint32) << (np.arange(4, dtype=np.uint32) * (4 if "4_e2" in name else 8))).sum(-1)
            for module in (neuron_dtypes, beta):
                with self.subTest(name, module=module.__name__):
                    packed = module.static_cast(x, getattr(module, name))
                    self.assertEqual(packed.dtype, getattr(nl, name))
                    self.same(packed.view(np.uint16 if "4_e2" in name else np.uint32), want)
                    self.same(module.static_cast(packed, np.float32), table[codes])
        self.assertEqual(neuron_dtypes.sizeinbytes(nl.bfloat16), 2)
        self.assertTrue(neuron_dtypes.is_float_type(nl.float8_e5m2) and not neuron_dtypes.is_float_type(np.uint8))
        with self.assertRaisesRegex(ValueError, r"shape \(2, 6\) cannot become float4_e2m1fn_x4: the last dim is not a multiple of 4"):
            nl.static_cast(np.ones((2, 6), np.float32), nl.float4_e2m1fn_x4)


class Machine(Case):
    """Kernels for trn3, which is no target: trn2's limits hold, and kernels with MX formats run on cpu."""

    def test_strict(self) -> None:
        def plain(x):
            return nl.load(x) + float(nisa.get_nc_version().value)

        def quantized(x):
            data = nl.ndarray((32, 4), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
            scale = nl.zeros((4, 4), dtype=nl.uint8)
            nisa.quantize_mx(dst=data, src=nl.load(x), dst_scale=scale)
            return scale

        x = np.ones((32, 16), np.float16)
        for target in ("strict", "trn3"):
            with mock.patch.dict(os.environ, XCC_NKI_TARGET=target):
                self.same(nki.jit(plain, platform_target="trn3")(x), np.full(x.shape, 5, np.float32))
                compiled = [nki.jit(f, platform_target="trn3").compile(x) for f in (plain, quantized)]
            self.assertEqual([c.trace.target for c in compiled], ["trn2", "cpu"])
            self.same(np.asarray(compiled[1].run([x])), np.full((4, 4), 127 - 7))
        with mock.patch.dict(os.environ, XCC_NKI_TARGET="trn2"), self.assertRaisesRegex(nki.NkiError, "trn2 has no MX formats, trn3 has"):
            nki.jit(quantized).compile(x)


class Selections(Case):
    def test_topk(self) -> None:
        for n, k in ((42, 8), (64, 13), (33, 1)):
            @nki.jit
            def kernel(x):
                values = nl.ndarray((32, k), dtype=nl.bfloat16, buffer=nl.sbuf)
                places = nl.ndarray((32, k), dtype=nl.uint32, buffer=nl.sbuf)
                nisa.topk(val_dst=values, idx_dst=places, src=nl.load(x, dtype=nl.bfloat16), n=n)
                return nl.copy(values, dtype=nl.float32), places

            x = R.permutation(32 * 5 * 8)[:32 * 5].reshape(32, 5).astype(np.float32) % 251  # exact in bf16
            values, places = kernel(x)
            for g in range(2):
                row = x[16 * g:16 * g + 16].T.reshape(-1)[:n]
                for p in range(16 * g, 16 * g + 16):
                    self.same(values[p], np.sort(row)[-k:])
                    self.same(row[places[p]], values[p])
                    self.assertEqual(len(set(places[p].tolist())), k)

    def test_prelu(self) -> None:
        @nki.jit
        def kernel(x, slope):
            t = nl.load(x)
            out, other = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.activate2(out, nl.prelu, t, 2.0, 1.0, nl.multiply, nl.add, relu_param=nl.load(slope))
            nisa.activate2(other, nl.prelu, t, 0.0, 0.0, nl.bypass, nl.bypass, relu_param=0.25)
            return out, other

        x, slope = R.standard_normal((6, 9)).astype(np.float32), R.rand(6, 1).astype(np.float32)
        first, second = kernel(x, slope)
        y = x * 2 + 1
        self.close(first, np.where(y > 0, y, slope * y))
        self.close(second, np.where(x > 0, x, np.float32(0.25) * x))

    def test_destination_of_step_zero(self) -> None:
        @nki.jit
        def kernel(x):
            t, unused = nl.load(x), nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
            sums = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(dst=unused.ap(pattern=[[1, 8], [0, 20]]), op=nl.square, data=t, reduce_op=nl.add, reduce_res=sums)
            return sums, unused

        x = R.standard_normal((8, 20)).astype(np.float32)
        sums, last = kernel(x)
        self.close(sums, (x * x).sum(1, keepdims=True))
        self.close(last, (x * x)[:, -1:])


if __name__ == "__main__":
    main()
