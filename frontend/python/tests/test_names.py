"""AWS's names: what can exist does, the rest is found and says why it fails when it is used."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

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


class Names(Case):
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
