"""Layers of models as kernels in the form of beta 1, compared with NumPy: what people put together from the interface's pieces."""
from __future__ import annotations

from support import Case, main, np

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

R = np.random.RandomState(15)


def f32(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def new(shape, dtype=np.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


@nki.jit
def normalised_product(x, w, gamma):
    (n, d), m = x.shape, w.shape[1]
    out = new((n, m))
    weights, scale = nl.load(w), nl.load(gamma)
    p, fd, fm = nl.arange(128)[:, None], nl.arange(d)[None, :], nl.arange(m)[None, :]
    for i in nl.affine_range((n + 127) // 128):
        t = nl.load(x[i * 128 + p, fd], mask=i * 128 + p < n)
        unit = nl.multiply(t, nl.rsqrt(nl.mean(nl.square(t), axis=[1]) + 1e-6))
        y = nl.matmul(nl.multiply(unit, scale.broadcast_to((128, d))), weights)
        nl.store(out[i * 128 + p, fm], y, mask=i * 128 + p < n)
    return out


@nki.jit
def layer_norm(x):
    n, d = x.shape
    out, most = new(x.shape), nl.tile_size.bn_stats_fmax
    p, fd, f6, f = nl.arange(128)[:, None], nl.arange(d)[None, :], nl.arange(6)[None, :], nl.arange(most)[None, :]
    for i in nl.affine_range((n + 127) // 128):
        rows = i * 128 + p < n
        t = nl.load(x[i * 128 + p, fd], mask=rows)
        pieces = (d + most - 1) // most
        stats = nl.ndarray((128, 6 * pieces), dtype=nl.float32)
        for b in nl.affine_range(pieces):
            stats[p, b * 6 + f6] = nisa.bn_stats(t[p, b * most + f], mask=(b * most + f < d) & rows, dtype=nl.float32)
        both = nisa.bn_aggr(stats, mask=rows)
        y = nisa.tensor_scalar(t, op0=np.subtract, operand0=both[p, 0], op1=np.multiply,
                               operand1=nl.rsqrt(both[p, 1] + 1e-5), mask=rows)
        nl.store(out[i * 128 + p, fd], y, mask=rows)
    return out


@nki.jit
def causal_attention(q, k, v):
    out = new(q.shape)
    scores = nl.multiply(nisa.nc_matmul(nl.load_transpose2d(q), nl.load_transpose2d(k)), 0.125)
    i, j = nl.arange(128)[:, None], nl.arange(128)[None, :]
    scores = nisa.affine_select(pred=(i >= j), on_true_tile=scores, on_false_value=-1e30)
    largest = nl.max(scores, axis=[1], keepdims=True)
    weights, total = nl.ndarray((128, 128), dtype=nl.float32), nl.ndarray((128, 1), dtype=nl.float32)
    weights[...] = nisa.activation_reduce(np.exp, scores, bias=nl.negative(largest), scale=1.0, reduce_op=np.add, reduce_res=total)
    turned = nl.copy(nisa.nc_transpose(weights))
    nl.store(out, nl.divide(nisa.nc_matmul(turned, nl.load(v)), total))
    return out


@nki.jit
def largest_24(x):
    out = new((x.shape[0], 24))
    t = nl.load(x)
    for i in nl.static_range(3):
        eight = nisa.max8(src=t)
        nl.store(out[:, i * 8:i * 8 + 8], eight)
        t = nisa.nc_match_replace8(data=t, vals=eight, imm=-1e9)
    return out


@nki.jit
def depthwise(image, w):
    c, h, width = image.shape
    out = new((c, h - 2, width - 2))
    t, taps = nl.load(image), nl.load(w)
    sums = nl.zeros((c, h - 2, width - 2), dtype=nl.float32)
    p, y, x = nl.mgrid[0:c, 0:h - 2, 0:width - 2]
    for i in nl.static_range(3):
        for j in nl.static_range(3):
            tap = nisa.tensor_scalar(t[p, y + i, x + j], op0=np.multiply, operand0=taps[:, i * 3 + j])
            sums[p, y, x] = nl.add(sums[p, y, x], tap)
    nl.store(out, sums)
    return out


@nki.jit
def rotated_pairs(x, cos, sin):
    n, d = x.shape
    out = new(x.shape)
    t, c, s = nl.load(x), nl.load(cos), nl.load(sin)
    p, f = nl.arange(n)[:, None], nl.arange(d // 2)[None, :]
    both = nl.ndarray((n, d), dtype=x.dtype, buffer=nl.sbuf)
    a, b = t[p, 2 * f], t[p, 2 * f + 1]
    both[p, 2 * f] = nl.subtract(nl.multiply(a, c), nl.multiply(b, s))
    both[p, 2 * f + 1] = nl.add(nl.multiply(a, s), nl.multiply(b, c))
    nl.store(out, both)
    return out


@nki.jit
def cross_entropy(x, label):
    n, d = x.shape
    out = new((n, 1))
    t = nl.load(x)
    largest = nl.max(t, axis=1, keepdims=True)
    total = nl.sum(nl.exp(nl.subtract(t, largest)), axis=1, keepdims=True)
    place = nisa.iota(nl.arange(d)[None, :] + 0 * nl.arange(n)[:, None], dtype=nl.int32)
    own = nl.sum(nl.where(nl.equal(place, nl.load(label)), t, 0.0), axis=1, keepdims=True)
    nl.store(out, nl.subtract(nl.add(nl.log(total), largest), own))
    return out


@nki.jit
def sums_of_rows_above(x):
    out = new(x.shape)
    ones = nl.ones((128, 128), dtype=np.float32)
    upper = nisa.affine_select(pred=(nl.arange(128)[:, None] <= nl.arange(128)[None, :]), on_true_tile=ones, on_false_value=0.0)
    nl.store(out, nisa.nc_matmul(upper, nl.load(x)))
    return out


@nki.jit
def group_norm(x):
    out = new(x.shape)
    groups = (x.shape[0], 4, x.shape[1] // 4)
    t = nl.load(x).reshape(groups)
    centred = nl.subtract(t, nl.mean(t, axis=2, keepdims=True))
    variance = nl.mean(nl.square(centred), axis=2, keepdims=True)
    nl.store(out.reshape(groups), nl.multiply(centred, nl.rsqrt(nl.add(variance, 1e-5))))
    return out


@nki.jit
def updated_cache(cache, row, place):
    out = new(cache.shape)
    nl.store(out, nl.load(cache))
    nl.store(out[nl.load(place), nl.arange(cache.shape[1])[None, :]], nl.load(row))
    return out


@nki.jit
def moving_sums(x):
    n, d = x.shape
    out = new((n, d - 4))
    unit = nl.shared_identity_matrix(n)
    t, sums = nl.load(x), nl.zeros((n, d - 4), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(5):
        sums += nisa.nc_matmul(unit, t[:, nl.ds(i, d - 4)])
    nl.store(out, sums)
    return out


@nki.jit
def packed_bits(a, b):
    out = new(a.shape, a.dtype)
    x, y = nl.load(a), nl.load(b)
    nl.store(out, nl.bitwise_xor(nl.bitwise_or(nl.bitwise_and(x, 255), nl.left_shift(y, 4)), nl.right_shift(x, 2)))
    return out


class Layers(Case):
    def test_normalised_product_with_a_tail(self) -> None:
        x, w, gamma = f32(200, 96), f32(96, 80), f32(1, 96)
        want = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * gamma @ w
        self.close(normalised_product(x, w, gamma), want, 1e-4, 1e-4)

    def test_layer_norm_in_pieces(self) -> None:
        x = f32(130, 1000)
        want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        self.close(layer_norm(x), want, 1e-4, 1e-4)

    def test_causal_attention(self) -> None:
        q, k, v = f32(128, 64), f32(128, 64), f32(128, 64)
        e = np.exp(np.where(np.tril(np.ones((128, 128), bool)), q @ k.T / 8, -np.inf))
        self.close(causal_attention(q, k, v), e / e.sum(1, keepdims=True) @ v, 1e-4, 1e-4)

    def test_largest(self) -> None:
        x = f32(64, 100)
        self.same(largest_24(x), -np.sort(-x, axis=1)[:, :24])

    def test_depthwise(self) -> None:
        x, w = f32(3, 10, 14), f32(3, 9)
        want = sum(x[:, i:i + 8, j:j + 12] * w[:, i * 3 + j, None, None] for i in range(3) for j in range(3))
        self.close(depthwise(x, w), want, 1e-4, 1e-5)

    def test_rotated_pairs(self) -> None:
        x, angle = f32(100, 64), f32(100, 32)
        turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angle)
        want = np.stack([turned.real, turned.imag], 2).reshape(100, 64)
        self.close(rotated_pairs(x, np.cos(angle), np.sin(angle)), want, 1e-4, 1e-5)

    def test_cross_entropy(self) -> None:
        x, label = f32(128, 96), R.randint(0, 96, (128, 1)).astype(np.int32)
        want = np.log(np.exp(x).sum(1)) - x[np.arange(128), label[:, 0]]
        self.close(cross_entropy(x, label), want.reshape(128, 1), 1e-4, 1e-5)

    def test_sums_by_a_product(self) -> None:
        x = f32(128, 96)
        self.close(sums_of_rows_above(x), np.cumsum(x, 0), 1e-4, 1e-4)

    def test_group_norm(self) -> None:
        x = f32(32, 60)
        g = x.reshape(32, 4, 15)
        want = (g - g.mean(2, keepdims=True)) / np.sqrt(g.var(2, keepdims=True) + 1e-5)
        self.close(group_norm(x), want.reshape(32, 60), 1e-4, 1e-5)

    def test_updated_cache(self) -> None:
        cache, row = f32(10, 64), f32(1, 64)
        want = cache.copy()
        want[7] = row[0]
        self.same(updated_cache(cache, row, np.array([[7]], np.int32)), want)

    def test_moving_sums(self) -> None:
        x = f32(32, 70)
        self.close(moving_sums(x), sum(x[:, i:i + 66] for i in range(5)), 1e-4, 1e-5)

    def test_bits(self) -> None:
        a, b = R.randint(-1000, 1000, (64, 50)).astype(np.int32), R.randint(0, 8, (64, 50)).astype(np.int32)
        shifted = (a.view(np.uint32) >> 2).view(np.int32)  # zeros come in
        self.same(packed_bits(a, b), (a & 255 | b << 4) ^ shifted)


if __name__ == "__main__":
    main()
