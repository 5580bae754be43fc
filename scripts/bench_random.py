#!/usr/bin/env python3
"""Times random single operators, ours and onnxruntime's in turns: shapes, axes and attributes that no list has. It finds
what is much slower than it need be.

    scripts/bench_random.py SEED COUNT [--only KIND] [--below RATIO] [--seconds S] [--build build]

Prints those under the ratio (1), the slowest first, and kinds that differ or are refused. --only: one of transpose,
reduce, softmax, concat, split, slice, binary, expand, tile, pad, gather, cumsum, topk, norm, conv, conv1d,
conv_transpose, pool, resize, matmul, gemm, other. One thread. Needs onnx and onnxruntime; only to measure.
"""
import argparse
import os
import random
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_operators import Case, measure  # noqa: E402

SIZES = (1, 2, 3, 4, 7, 8, 12, 16, 30, 32, 49, 56, 64, 100, 112, 128, 196, 197, 256, 384, 512, 768, 1000, 1024, 2048, 4096)
WIDTHS = (1, 2, 5, 16, 31, 64, 128, 197, 256, 512, 768, 1000, 1024, 2048)
LEAST_MS = 0.003  # below, calls of either runtime are measured

choose = random.Random()
numbers = np.random.default_rng()


def f(*dims):
    return numbers.standard_normal(dims).astype(np.float32)


def i64(values):
    return np.array(values, np.int64)


def until(draw, fits):
    while True:
        drawn = draw()
        if fits(drawn):
            return drawn


def dims(rank, most=2**20, least=2**14):
    return until(lambda: [choose.choice(SIZES) for _ in range(rank)], lambda d: least <= np.prod(d) <= most)


def any_dims(ranks=(2, 3, 4)):
    return dims(choose.choice(ranks))


def image():
    def draw():
        side = choose.choice((7, 14, 28, 32, 56, 64, 112, 128, 224))
        return [choose.choice((1, 1, 1, 2, 4)), choose.choice((1, 3, 8, 16, 24, 32, 64, 96, 128, 256, 512)), side, side]
    return until(draw, lambda d: 2**13 <= np.prod(d) <= 2**20)


def thinned(d):
    """Some dims are 1."""
    return [1 if choose.random() < .4 else x for x in d]


def transpose():
    d = any_dims()
    order = choose.sample(range(len(d)), len(d))
    dtype = choose.choice((np.float32, np.float32, np.float16, np.int64, np.uint8))
    return Case("Transpose", [f(*d).astype(dtype)], perm=order, name="Transpose %s %s %s" % (d, order, dtype.__name__))


def reduce():
    d = any_dims()
    axes = sorted(choose.sample(range(len(d)), choose.randint(1, len(d) - 1)))
    op = choose.choice("ReduceSum ReduceMean ReduceMax ReduceMin ReduceL2 ReduceProd ReduceLogSumExp ArgMax".split())
    if op == "ArgMax":
        return Case(op, [f(*d)], axis=axes[0], name="%s %s %d" % (op, d, axes[0]))
    return Case(op, [f(*d)], [i64(axes)], keepdims=choose.randint(0, 1), name="%s %s %s" % (op, d, axes))


def softmax():
    d = any_dims()
    op, axis = choose.choice(("Softmax", "LogSoftmax", "Hardmax")), choose.randrange(len(d))
    return Case(op, [f(*d)], axis=axis, name="%s %s %d" % (op, d, axis))


def concat():
    d = any_dims()
    axis = choose.randrange(len(d))
    lengths = [choose.choice((1, d[axis], max(1, d[axis] // 2))) for _ in range(choose.randint(2, 4))]
    parts = [f(*d[:axis], n, *d[axis + 1:]) for n in lengths]
    return Case("Concat", parts, axis=axis, name="Concat %s axis %d by %s" % (d, axis, lengths))


def split():
    d = any_dims()
    axis, parts = choose.randrange(len(d)), choose.choice((2, 3, 4))
    d[axis] = max(1, d[axis] // parts) * parts
    return Case("Split", [f(*d)], [i64([d[axis] // parts] * parts)], outputs=parts, axis=axis,
                name="Split %s axis %d in %d" % (d, axis, parts))


def slice_():
    d = any_dims()
    axes = choose.sample(range(len(d)), choose.randint(1, len(d)))
    starts = [choose.randint(0, d[a] // 3) for a in axes]
    ends = [choose.randint(max(s + 1, d[a] // 2), d[a]) for s, a in zip(starts, axes)]
    steps = [choose.choice((1, 1, 1, 2, 3)) for _ in axes]
    return Case("Slice", [f(*d)], [i64(v) for v in (starts, ends, axes, steps)],
                name="Slice %s axes %s from %s to %s by %s" % (d, axes, starts, ends, steps))


def binary():
    d = any_dims()
    e = thinned(d)[choose.choice((0, 0, 1)):]
    op = choose.choice("Add Mul Sub Div Max Pow Less Where".split())
    x, y = f(*d), f(*e)
    operands = {"Pow": [np.abs(x) + .1, y], "Where": [y > 0, x, f(*d)]}.get(op, [x, y])
    return Case(op, operands, name="%s %s %s" % (op, d, e))


def expand():
    d = any_dims()
    e = thinned(d)
    return Case("Expand", [f(*e)], [i64(d)], name="Expand %s %s" % (e, d))


def tile():
    d = dims(choose.choice((2, 3)), 2**18)
    times = [choose.choice((1, 1, 2, 3)) for _ in d]
    return Case("Tile", [f(*d)], [i64(times)], name="Tile %s %s" % (d, times))


def pad():
    d = any_dims()
    pads = [min(choose.choice((0, 0, 1, 2, 3)), d[i % len(d)] - 1) for i in range(2 * len(d))]
    mode = choose.choice(("constant", "reflect", "edge"))
    return Case("Pad", [f(*d)], [i64(pads)], mode=mode, name="Pad %s %s %s" % (d, pads, mode))


def gather():
    d = any_dims((2, 3))
    axis, n = choose.randrange(len(d)), choose.choice((1, 16, 100, 1000))
    while n * np.prod(d) // d[axis] > 2**20:
        n = max(1, n // 4)
    return Case("Gather", [f(*d), numbers.integers(0, d[axis], n)], axis=axis, name="Gather %s axis %d, %d" % (d, axis, n))


def cumsum():
    d = any_dims((2, 3))
    axis = choose.randrange(len(d))
    return Case("CumSum", [f(*d)], [i64(axis)], name="CumSum %s %d" % (d, axis))


def topk():
    d = any_dims((2, 3))
    axis = choose.choice((len(d) - 1, len(d) - 1, 0))
    k = min(d[axis], choose.choice((1, 5, 10, 50)))
    return Case("TopK", [f(*d)], [i64([k])], outputs=2, axis=axis, name="TopK %s axis %d, %d" % (d, axis, k))


def norm():
    op = choose.choice("Layer Instance Group Batch Lp".split()) + "Normalization"
    if op == "LayerNormalization":
        d = any_dims((2, 3))
        return Case(op, [f(*d)], [f(d[-1]), f(d[-1])], name="%s %s" % (op, d))
    d = image()
    c = d[1]
    if op == "LpNormalization":
        axis = choose.randrange(4)
        return Case(op, [f(*d)], axis=axis, name="%s %s %d" % (op, d, axis))
    if op == "GroupNormalization":
        groups = choose.choice([g for g in (1, 2, 4, 8, 32) if c % g == 0])
        return Case(op, [f(*d)], [f(c), f(c)], opset=21, num_groups=groups, name="%s %s %d" % (op, d, groups))
    more = [f(c), np.abs(f(c)) + .1] if op == "BatchNormalization" else []
    return Case(op, [f(*d)], [f(c), f(c)] + more, name="%s %s" % (op, d))


def groups_and_results(c):
    """Of c channels: ordinary, depthwise, with a multiplier, in a few groups."""
    groups = choose.choice([g for g in (1, 1, 1, 2, c) if c % g == 0])
    if groups == c:
        return groups, c * choose.choice((1, 1, 2))
    each = choose.choice((1, 8, 16, 32, 96, max(1, c // groups)))
    return groups, groups * each


def conv():
    d = image()
    k, stride = choose.choice((1, 1, 3, 3, 5, 7)), choose.choice((1, 1, 2))
    groups, results = groups_and_results(d[1])
    border = choose.choice((0, k // 2, k // 2))
    if 2 * np.prod(d) * results // groups * k * k > 2e9:
        return conv()
    return Case("Conv", [f(*d)], [f(results, d[1] // groups, k, k)], strides=[stride] * 2, group=groups, pads=[border] * 4,
                name="Conv %s to %d in %d groups, window %d, stride %d, pads %d" % (d, results, groups, k, stride, border))


def conv1d():
    n, c, length = choose.choice((1, 1, 4)), choose.choice((1, 8, 64, 80, 256, 512)), choose.choice((100, 400, 1500, 3000, 16000))
    k, stride, dilation = choose.choice((1, 3, 5, 7, 11)), choose.choice((1, 1, 2, 5)), choose.choice((1, 1, 2, 4))
    groups, results = groups_and_results(c)
    if not 2**13 <= n * c * length <= 2**21 or 2 * n * c * length * results * k / groups > 2e9:
        return conv1d()
    return Case("Conv", [f(n, c, length)], [f(results, c // groups, k)], strides=[stride], dilations=[dilation], group=groups,
                pads=[k // 2 * dilation] * 2, name="Conv %s to %d in %d groups, window %d, stride %d, dilation %d" %
                ([n, c, length], results, groups, k, stride, dilation))


def conv_transpose():
    d = image()
    k, stride, results = choose.choice((2, 3, 4)), choose.choice((1, 2)), choose.choice((1, 8, 32, d[1]))
    if 2 * np.prod(d) * results * k * k > 1e9:
        return conv_transpose()
    return Case("ConvTranspose", [f(*d)], [f(d[1], results, k, k)], strides=[stride] * 2,
                name="ConvTranspose %s to %d, window %d, stride %d" % (d, results, k, stride))


def pool():
    d = image()
    op = choose.choice("MaxPool AveragePool GlobalAveragePool GlobalMaxPool".split())
    if op.startswith("Global"):
        return Case(op, [f(*d)], name="%s %s" % (op, d))
    k = choose.choice((2, 3, 3, 5))
    stride, border = choose.choice((1, 2, 2, k)), choose.choice((0, k // 2))
    return Case(op, [f(*d)], kernel_shape=[k, k], strides=[stride] * 2, pads=[border] * 4,
                name="%s %s window %d, stride %d, pads %d" % (op, d, k, stride, border))


def resize():
    d, scale = image(), choose.choice((.5, 2, 2, 1.5))
    mode, places = choose.choice(("nearest", "linear", "cubic")), choose.choice(("half_pixel", "asymmetric", "align_corners"))
    if np.prod(d) * scale * scale > 2**21:
        return resize()
    return Case("Resize", [f(*d)], [None, np.array([1, 1, scale, scale], np.float32)], mode=mode,
                coordinate_transformation_mode=places, name="Resize %s by %g %s %s" % (d, scale, mode, places))


def matmul():
    batch = choose.choice(([], [], [2], [12], [8, 12]))
    m, k, n = (choose.choice(WIDTHS) for _ in range(3))
    entries = int(np.prod(batch))
    if not 2e6 <= 2 * entries * m * k * n <= 1e9 or entries * max(m * k, k * n, m * n) > 2**22:
        return matmul()
    x, w, constant = f(*batch, m, k), f(*(batch if choose.random() < .6 else []), k, n), choose.random() < .5
    return Case("MatMul", [x] if constant else [x, w], [w] if constant else [],
                name="MatMul %s by %s%s" % (list(x.shape), list(w.shape), ", constant" * constant))


def gemm():
    m, k, n = until(lambda: [choose.choice(WIDTHS[:-1]) for _ in range(3)], lambda d: 1e6 <= 2 * np.prod(d) <= 1e9)
    a, b, constant = choose.randint(0, 1), choose.randint(0, 1), choose.random() < .5
    x, w = f(*((k, m) if a else (m, k))), f(*((n, k) if b else (k, n)))
    return Case("Gemm", [x] if constant else [x, w], [w, f(n)] if constant else [], transA=a, transB=b,
                name="Gemm %d %d %d trans %d %d%s" % (m, k, n, a, b, ", constant" * constant))


def other():
    d, e = image(), any_dims((2,))
    even = [d[0], d[1] * 4, d[2] + d[2] % 2, d[3] + d[3] % 2]
    g, rows = dims(3), min(e[0], choose.choice((16, 256, 1000)))
    return choose.choice((
        lambda: Case("DepthToSpace", [f(*even)], blocksize=2, mode=choose.choice(("DCR", "CRD")), name="DepthToSpace %s" % even),
        lambda: Case("SpaceToDepth", [f(*even)], blocksize=2, name="SpaceToDepth %s" % even),
        lambda: Case("GatherElements", [f(*g), numbers.integers(0, g[2], g)], axis=2, name="GatherElements %s" % g),
        lambda: Case("ScatterND", [f(*e), numbers.permutation(e[0])[:rows].reshape(-1, 1), f(rows, e[1])],
                     name="ScatterND %s, %d" % (e, rows)),
        lambda: Case("Cast", [f(*e)], to=choose.choice((10, 7, 6, 11)), name="Cast %s" % e),
        lambda: Case("OneHot", [numbers.integers(0, 64, e[0])], [i64(64), np.array([0, 1], np.float32)], name="OneHot %d" % e[0]),
        lambda: Case("ReverseSequence", [f(*g), numbers.integers(1, g[0] + 1, g[1])], batch_axis=1, time_axis=0,
                     name="ReverseSequence %s" % g),
        lambda: Case("NonZero", [f(*e) > 0], name="NonZero %s" % e)))()


KINDS = {k.__name__.strip("_"): k for k in (transpose, reduce, softmax, concat, split, slice_, binary, expand, tile, pad, gather,
                                            cumsum, topk, norm, conv, conv1d, conv_transpose, pool, resize, matmul, gemm, other)}


def main():
    global numbers
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--below", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=.02)
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    options.type, options.rounds = "f32", 2
    choose.seed(options.seed)
    numbers = np.random.default_rng(options.seed)
    kinds = [KINDS[options.only]] if options.only else list(KINDS.values())
    rows = []
    for _ in range(options.count):
        case = choose.choice(kinds)()
        with tempfile.TemporaryDirectory() as folder:
            try:
                ours, theirs, same = measure(case, folder, options)
            except Exception as e:
                print("not measured: %s: %s" % (case.name, str(e).split("\n")[0][:120]))
                continue
        if not same:
            print("differs:", case.name)
        if max(ours, theirs) > LEAST_MS:
            rows.append((theirs / ours, case.name, ours, theirs))
    for ratio, name, ours, theirs in sorted(rows):
        if ratio < options.below:
            print("%.2f  %s: %.4f ms, onnxruntime %.4f" % (ratio, name, ours, theirs))
    ratios = np.array([r[0] for r in rows])
    if len(rows):
        print("%d operators: geometric mean %.2f, %d below 1, %d below 0.7" %
              (len(rows), np.exp(np.log(ratios).mean()), (ratios < 1).sum(), (ratios < .7).sum()))


if __name__ == "__main__":
    main()
