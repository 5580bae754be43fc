"""AWS's names: what can exist does, the rest is found and says why it fails when it is used."""
from __future__ import annotations

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator, List, Tuple

import api_names
from api_parameters import PARAMETERS
from support import HERE, Case, main, np

SCRIPT = """
import sys
import numpy as np
import neuronxcc.nki as nki, neuronxcc.nki.language as nl
from neuronxcc.nki.typing import tensor

@nki.jit
def twice(a):
    out: tensor[2, 2] = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a) * 2)
    return out

print(twice(np.ones((2, 2), np.float32)).sum(), sys.argv[1])
"""


def find(root: str, name: str) -> object:
    """What a dotted name is, as attributes or as modules."""
    found, path = importlib.import_module(root), root
    for part in name.split("."):
        path = "%s.%s" % (path, part)
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


# Functions whose parameters cannot be told by a signature: they take anything, and say why they fail or look into what they got.
ANYTHING = {"builtin_custom_op", "all_reduce", "device_print", "profile"}


def documented() -> Iterator[Tuple[str, str, List[str]]]:
    """(module, function, parameters) of everything in api_parameters.py."""
    for module, lines in PARAMETERS.items():
        for line in lines.strip().split("\n"):
            names, words = line.split(":")
            for name in names.split(","):
                yield module, name.strip(), words.split()


def complaints(f: Any, words: List[str], method: bool) -> List[str]:
    """What of the parameters a function does not take as they are documented."""
    have = [p for k, p in enumerate(inspect.signature(f).parameters.values()) if not (method and k == 0)]
    positional = [p.name for p in have if p.kind == p.POSITIONAL_OR_KEYWORD]
    takes = {p.name for p in have} | ({w.strip("*=") for w in words} if any(p.kind == p.VAR_KEYWORD for p in have) else set())
    star = next((k for k, w in enumerate(words) if w.startswith("*")), len(words))
    order = [w.strip("=") for w in words[:star]]
    told = []
    if positional[:len(order)] != order and not any(p.kind == p.VAR_POSITIONAL for p in have):
        told.append("in the order %s" % positional)
    told += ["without %s" % w.strip("=") for w in words if w != "*" and w.strip("*=") not in takes]
    optional = {w.strip("=") for w in words if w.endswith("=")}
    told += ["with %s needed" % p.name for p in have if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
             and (p.name in optional or p.name not in {w.strip("*=") for w in words})]
    return told


class Names(Case):
    def test_all_exist(self) -> None:
        from nki import tensor

        for root, names in (("neuronxcc.nki", api_names.BETA1), ("nki", api_names.V06)):
            for name in names.split():
                with self.subTest("%s.%s" % (root, name)):
                    self.assertIsNotNone(find(root, name))
        for name in api_names.TENSOR.split():
            with self.subTest("tensor." + name):
                self.assertTrue(hasattr(tensor, name))

    def test_parameters(self) -> None:
        """Every documented argument, by position and by name."""
        count = 0
        for module, name, words in documented():
            method = module.endswith(("NkiTensor", ".tensor"))
            f = find(*module.split(".", 1)[:1], module.split(".", 1)[1] + "." + name) if "." in module else find(module, name)
            if not callable(f) or name in ANYTHING:
                continue
            count += 1
            with self.subTest("%s.%s" % (module, name)):
                self.assertEqual(complaints(f, words, method), [])
        self.assertGreater(count, 300)

    def test_ranges_by_name(self) -> None:
        import nki.language as nl

        for f in (nl.affine_range, nl.sequential_range, nl.static_range, nl.dynamic_range):
            self.assertEqual([list(f(5)), list(f(1, 5)), list(f(1, 5, 2)), list(f(start=1, stop=5, step=2)), list(f(2, stop=4))],
                             [[0, 1, 2, 3, 4], [1, 2, 3, 4], [1, 3], [1, 3], [2, 3]])

    def test_out_of_reach_says_so(self) -> None:
        import nki.isa as nisa
        import nki.language as nl

        for f in (nl.gemm_grid, nl.gemm_stationary_grid):
            with self.subTest(f.__name__), self.assertRaisesRegex(Exception, f.__name__ + ".*(not modelled|not have|not exist)"):
                f(1)

    def test_modules_of_enumerations(self) -> None:
        from neuronxcc.nki.isa.constants import oob_mode
        from nki.isa.constants import dge_mode
        from nki.language.constants import sizeinbytes

        import neuronxcc.nki.isa as nisa
        import neuronxcc.nki.language as nl

        self.assertIs(oob_mode.skip, nisa.oob_mode.skip)
        self.assertEqual(dge_mode.none.name, "none")
        self.assertEqual(sizeinbytes(nl.bfloat16), 2)
        self.assertEqual((nl.tile_size.pmax, nl.tile_size.psum_fmax), (128, 512))
        self.assertEqual((nl.tile_size.psum_bank_fmax_bytes, nl.tile_size.psum_num_banks, nl.tile_size.sbuf_size_bytes), (2048, 8, 24 << 20))
        self.assertEqual(nl.tile_size.sbuf_fmax_bytes, 4 * nl.tile_size.sbuf_fmax)
        self.assertLess(nl.fp32.min, -3e38)

    def test_a_second_copy_is_not_anothers_package(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(HERE, "..", "compat"), os.path.join(folder, "compat"), ignore=shutil.ignore_patterns("__pycache__"))
            path = os.pathsep.join([os.path.join(HERE, ".."), os.path.join(HERE, "..", "compat"), os.path.join(folder, "compat")])
            out = subprocess.run([sys.executable, "-c", "import nki, neuronxcc.nki as b; print(nki.jit.__module__, b.jit.__module__)"],
                                 env=dict(os.environ, PYTHONPATH=path), stdout=subprocess.PIPE, check=True)
        self.assertRegex(out.stdout.decode(), r"^xcc\S* xcc")

    def test_what_cannot_exist(self) -> None:
        from neuronxcc.nki._private.private_api import qkv_kernel
        from nki.collectives import all_gather

        import neuronxcc.nki.nccl as nccl

        for f in (qkv_kernel, all_gather, nccl.all_reduce):
            with self.assertRaisesRegex(Exception, "does not exist here"):
                f(1)

    def test_typing_errors_stay_errors(self) -> None:
        with self.assertRaises(ImportError):
            __import__("neuronxcc.nki.langauge")
        import neuronxcc.nki.language as nl

        with self.assertRaises(AttributeError):
            nl.afine_range  # noqa: B018

    def test_running_a_script(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as f:
                f.write(SCRIPT)
            env = dict(os.environ, PYTHONPATH=os.path.join(HERE, ".."))
            out = subprocess.run([sys.executable, "-m", "xcc.nki", path, "word"], env=env, capture_output=True, text=True)
            self.assertEqual(out.stdout.strip(), "8.0 word", out.stderr)

    def test_entry_points(self) -> None:
        import neuronxcc.nki as nki
        import neuronxcc.nki.language as nl

        @nki.compiler.skip_middle_end_transformations
        @nki.jit(mode="auto", additional_compile_opt="--x")
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.load(a) + 1)
            return out

        a = np.ones((3, 4), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            timed = nki.benchmark(warmup=1, iters=3, save_neff_name=os.path.join(folder, "k.neff"))(kernel)
            self.same(timed(a), a + 1)
            self.assertGreater(timed.benchmark_result.nc_latency.get_latency_percentile(50), 0)
            modelled = timed.benchmark_result.simulated_latency
            self.assertEqual({modelled.get_latency_percentile(p) for p in (0, 50, 100)}, {timed.benchmark_result.simulated["latency_us"]})
            self.assertEqual(timed.benchmark_result.simulated["target"], "trn1")
            self.assertGreater(timed.benchmark_result.simulated["latency_us"], 1)
            self.assertGreater(os.path.getsize(os.path.join(folder, "k.neff")), 1024)
            kernel.compile(a).save(os.path.join(folder, "again.neff"))
            import xcc
            from xcc.compiler import simulate

            self.same(xcc.load(os.path.join(folder, "again.neff"))(a), a + 1)
            self.same(nki.profile(working_directory=folder, save_trace_name="k.ntff")(kernel)(a), a + 1)
            with open(os.path.join(folder, "k.ntff.json")) as f:
                self.assertTrue(json.load(f))
            with open(os.path.join(folder, "k.ntff.trn1.neff"), "rb") as f:  # what was simulated, for xsim
                self.assertEqual(simulate(f.read())["latency_us"], timed.benchmark_result.simulated["latency_us"])
        self.same(nki.baremetal(kernel)(a), a + 1)

    def test_benchmark_on_cores(self) -> None:
        """Programs that nl.nc(2) spreads over both cores of a chip are simulated on both."""
        import neuronxcc.nki as nki
        import neuronxcc.nki.language as nl

        @nki.benchmark(warmup=1, iters=1)
        def kernel(a):
            out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
            for tile in nl.affine_range(4):
                rows = nl.ds(nl.program_id(0) * 512 + tile * 128, 128)
                nl.store(out[rows, :], nl.exp(nl.load(a[rows, :])))
            return out

        a = np.ones((1024, 512), np.float32)
        latency = []
        for grid in (2, nl.nc(2), nl.spmd_dim(nl.nc(2), 1)):
            kernel[grid](a)
            latency.append(kernel.benchmark_result.simulated["latency_us"])
        self.assertLess(latency[1], 0.7 * latency[0])
        self.assertEqual(latency[1], latency[2])


if __name__ == "__main__":
    main()
