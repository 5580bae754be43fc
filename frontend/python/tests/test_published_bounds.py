"""Upper bounds that the unit tests of AWS's nki-samples put on kernels on trn1, at the shapes of those tests, beside simulated times.
Where our schedules are slower than the bound, a row says how many times as long they take, and no kernel may get slower than its row.
The kernels' sources are those of $XCC_TEST_DATA. `test_published_bounds.py --table` prints the comparison."""
from __future__ import annotations

import importlib.util
import os
import sys

from support import Case, main, np

from xcc.compiler import simulate
from xcc.nki._run import compile_kernel

try:
    from ml_dtypes import bfloat16 as BF16
except ImportError:
    BF16 = None

DATA = os.environ.get("XCC_TEST_DATA") or os.path.join(os.path.dirname(__file__), "../../../../shared/data")
F32, F16 = np.float32, np.float16


def attention(shape, dtype):
    b, s, d = shape
    return [((b, d, s), dtype), ((b, s, d), dtype), ((b, s, d), dtype)], {"mixed_precision": True}, (b,)


def allocated(shape, dtype):
    (q, _, v), keywords, grid = attention(shape, dtype)
    return [q, q, v], keywords, grid


def pool(shape, size, dtype=F32):
    return [(shape, dtype)], {"output_size": size}, ()


def mamba(channels, n, states):
    return [((1, channels, n), F32)] * 2 + [((channels, states), F32)] + [((1, states, n), F32)] * 2, {}, ()


SMALL_HEAD = ("ref_sd_attention_small_head/attention.py", "fused_self_attn_for_SD_small_head_size")
ALLOCATED = ("ref_allocated_sd_attention/allocated_attention.py", "allocated_fused_self_attn_for_SD_small_head_size")
POOL = ("ref_adaptive_avg_pool2d/vision.py", "adaptive_avg_pool2d_kernel")
RESIZE = ("ref_adaptive_avg_pool2d/vision.py", "resize_nearest_fixed_dma_kernel")
MAMBA = ("tut_mamba_v2/mamba_nki_kernels.py", "mamba_v2")
SCATTER = ("ref_select_and_scatter/vision.py", "select_and_scatter_kernel")

# kernel, what it is called with (arrays, keywords, grid), bound in us (the tests allow 5% more for pools and attention), and how many
# times that the simulated time is at most: 1 where the bound is kept
BOUNDS = [
    (SMALL_HEAD, attention((1, 4096, 128), F32), 675 * 1.05, 1),
    (SMALL_HEAD, attention((1, 4096, 128), BF16), 536 * 1.05, 1),
    (SMALL_HEAD, attention((1, 4096, 64), F16), 600 * 1.05, 1),
    (ALLOCATED, allocated((1, 4096, 128), F32), 410 * 1.05, 1),
    (ALLOCATED, allocated((1, 4096, 128), BF16), 380 * 1.05, 1),
    (ALLOCATED, allocated((1, 5120, 128), BF16), 586 * 1.05, 1),
    (RESIZE, ([((10, 30, 20, 1280), F32)], {"out_shape": (10, 59, 38, 1280)}, ()), 1740, 1),
    (RESIZE, ([((1, 30, 20, 1280), F16)], {"out_shape": (1, 59, 38, 1280)}, ()), 659, 1),
    (SCATTER, ([((8, 64, 112, 112), F32), ((8, 64, 56, 56), F32)], {}, ()), 4500, 1.05),
    (MAMBA, mamba(4096, 512, 16), 1610, 1),  # published as measured
    (POOL, pool((1, 64, 56, 56), 7), 65 * 1.05, 1),
    (POOL, pool((2, 128, 28, 28), 7), 109 * 1.05, 1),
    (POOL, pool((1, 256, 14, 14), 7, F16), 88 * 1.05, 1),
    (POOL, pool((4, 64, 56, 56), 7), 152 * 1.05, 1),
    (POOL, pool((2, 128, 28, 28), 14), 327 * 1.05, 1),
    (POOL, pool((1, 512, 7, 7), 1), 14 * 1.05, 1),
    (POOL, pool((8, 64, 32, 32), 4, F16), 103 * 1.05, 1),
    (POOL, pool((2, 2048, 32, 32), 3), 564 * 1.05, 1),
    (POOL, pool((2, 64, 256, 256), 1), 255 * 1.05, 1),
]


def kernel_of(path, name):
    spec = importlib.util.spec_from_file_location("published", os.path.join(DATA, "nki", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def simulated(kernel, call):
    arrays, keywords, grid = call
    compiled, _ = compile_kernel(kernel_of(*kernel).func, [np.zeros(*a) for a in arrays], keywords, grid, "trn1", "beta1", None, "trn1")
    return simulate(bytes(compiled.archive))


# attention of 4096 x 128, each version published as faster than the one before; the first three are for small shapes
LADDER = ["attn_fwd_v%d" % v for v in range(4, 12)]
LADDER_SOURCE = "tut_attn_fwd_v9/attention_kernels.py"
PRODUCT = ("b2_autotune_matmul_lhsT/kernel_hand.py", "matmul_lhsT_rhs_nkigym", 90.92)  # 2048 x 2048 x 2048, % of the peak


def on_trn2(path, name, arrays, interface):
    kernel = kernel_of(path, name)
    compiled, _ = compile_kernel(getattr(kernel, "func", kernel), arrays, {}, (), "trn2", interface, None, "trn2")
    return simulate(bytes(compiled.archive))


def label(kernel, call):
    return "%s %s" % (kernel[1], ", ".join("%s %s" % ("x".join(map(str, s)), np.dtype(t).name) for s, t in call[0]))


def there(call):
    return os.path.isdir(os.path.join(DATA, "nki")) and all(t is not None for _, t in call[0])


class Bounds(Case):
    def test_below(self) -> None:
        rows = [r for r in BOUNDS if there(r[1])]
        if not rows:
            self.skipTest("no kernels in $XCC_TEST_DATA")
        for kernel, call, bound, times in rows:
            with self.subTest(label(kernel, call)):
                self.assertLess(simulated(kernel, call)["latency_us"], times * bound)

    def test_order_of_attention(self) -> None:
        if BF16 is None or not os.path.isdir(os.path.join(DATA, "nki")):
            self.skipTest("no kernels in $XCC_TEST_DATA, or no ml_dtypes")
        arrays = [np.zeros((128, 4096), BF16)] * 3
        times = [on_trn2(LADDER_SOURCE, name, arrays, "beta1")["latency_us"] for name in LADDER]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertLess(times[-1], 0.25 * times[0])

    def test_product(self) -> None:
        if BF16 is None or not os.path.isdir(os.path.join(DATA, "nki")):
            self.skipTest("no kernels in $XCC_TEST_DATA, or no ml_dtypes")
        path, name, percent = PRODUCT
        s = on_trn2(path, name, [np.zeros((2048, 2048), BF16)] * 2, "v06")
        self.assertLess(abs(100 * s["mfu"] - percent), 3)


if __name__ == "__main__":
    if sys.argv[1:] != ["--table"]:
        main()
    for kernel, call, bound, _ in BOUNDS:
        if there(call):
            us = simulated(kernel, call)["latency_us"]
            print("| %s | %.0f | %.0f | %.2f |" % (label(kernel, call), bound, us, us / bound), flush=True)
