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

import api_names
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


# Positional parameters in their order, where the two interfaces differ or the order is easily lost.
ORDERS = {
    "neuronxcc.nki.language": {"zeros_like": "a dtype", "empty_like": "a dtype", "static_cast": "input_data dtype", "copy": "src dtype"},
    "nki.language": {
        "copy": "x dtype", "mean": "x axis dtype keepdims", "var": "x axis dtype keepdims", "all": "x axis dtype", "softmax": "x axis dtype",
        "rms_norm": "x w axis n epsilon dtype compute_dtype", "where": "condition x y dtype", "dropout": "x rate dtype", "load": "src dtype",
        "expand_dims": "x axis", "broadcast_to": "x shape dtype", "load_transpose2d": "src dtype", "rand": "shape dtype buffer name",
        "gather_flattened": "data indices axis dtype", "fori_loop": "lower upper body_fun step", "shared_identity_matrix": "n dtype dst"},
    "nki.isa": {
        "nc_matmul": "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose accumulate tile_position tile_size perf_mode",
        "dma_copy": "dst src priority oob_mode dge_mode engine name", "dma_transpose": "dst src axes priority dge_mode oob_mode name",
        "rng": "dst engine name", "tensor_copy_predicated": "dst src predicate reverse_pred name", "nc_stream_shuffle": "dst src shuffle_mask",
        "select_reduce": "dst predicate on_true on_false reduce_res reduce_cmd reduce_op reverse_pred name",
        "local_gather": "dst src_buffer index num_elem_per_idx num_valid_indices", "sequence_bounds": "dst segment_ids",
        "tensor_scalar": "dst data op0 operand0 reverse0 op1 operand1 reverse1 engine name", "dropout": "dst data prob"},
}


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

    def test_orders_of_parameters(self) -> None:
        for module, functions in ORDERS.items():
            for name, order in functions.items():
                with self.subTest("%s.%s" % (module, name)):
                    have = list(inspect.signature(getattr(importlib.import_module(module), name)).parameters)
                    self.assertEqual(have[:len(order.split())], order.split())

    def test_out_of_reach_says_so(self) -> None:
        import nki.isa as nisa
        import nki.language as nl

        for f in (nl.all_reduce,):
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

            self.same(xcc.load(os.path.join(folder, "again.neff"))(a), a + 1)
            self.same(nki.profile(working_directory=folder, save_trace_name="k.ntff")(kernel)(a), a + 1)
            with open(os.path.join(folder, "k.ntff.json")) as f:
                self.assertTrue(json.load(f))
        self.same(nki.baremetal(kernel)(a), a + 1)


if __name__ == "__main__":
    main()
