"""The GIOU of pairs of boxes in three ways: results and times. Writes a table.

    XCC_LIBRARY_PATH=build PYTHONPATH=frontend/python:frontend/python/compat python models/giou/compare.py

Needs NumPy, PyTorch with onnx, a C++ compiler.
"""
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import torch

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import xcc

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, BOXES = 1024, 256
LEAST = 1e-5


class Formula(torch.nn.Module):
    """As one writes it with PyTorch; exported to ONNX."""

    def forward(self, a, b):
        (al, at, ar, ab), (bl, bt, br, bb) = a.unbind(-1), b.unbind(-1)
        least, most = torch.minimum, torch.maximum
        both = (least(ar, br) - most(al, bl)).clamp(min=0) * (least(ab, bb) - most(at, bt)).clamp(min=0)
        union = (ar - al) * (ab - at) + (br - bl) * (bb - bt) - both
        hull = (most(ar, br) - least(al, bl)).clamp(min=0) * (most(ab, bb) - least(at, bt)).clamp(min=0)
        return both / union.clamp(min=LEAST) - (hull - union) / hull.clamp(min=LEAST)


@nki.jit
def kernel(a, b):
    """128 rows of the batch at a time; rows of a and b are boxes one after another."""
    rows, n = a.shape[0], a.shape[1] // 4
    out = nl.ndarray((rows, n), dtype=a.dtype, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:128, 0:n]
    for i in nl.affine_range(rows // 128):
        al, at, ar, ab = [nl.load(a[i * 128 + p, 4 * f + k]) for k in range(4)]
        bl, bt, br, bb = [nl.load(b[i * 128 + p, 4 * f + k]) for k in range(4)]
        both = nl.maximum(nl.minimum(ar, br) - nl.maximum(al, bl), 0) * nl.maximum(nl.minimum(ab, bb) - nl.maximum(at, bt), 0)
        union = (ar - al) * (ab - at) + (br - bl) * (bb - bt) - both
        hull = nl.maximum(nl.maximum(ar, br) - nl.minimum(al, bl), 0) * nl.maximum(nl.maximum(ab, bb) - nl.minimum(at, bt), 0)
        nl.store(out[i * 128 + p, f], both / nl.maximum(union, LEAST) - (hull - union) / nl.maximum(hull, LEAST))
    return out


def boxes(rng):
    corner = rng.random((BATCH, BOXES, 2), np.float32)
    return np.concatenate([corner, corner + rng.random((BATCH, BOXES, 2), np.float32)], -1)


def median(run, times=50):
    """Of a run, in milliseconds."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return 1e3 * sorted(took)[times // 2]


def measured(folder, name, archive, inputs, files):
    """The result, and the median of xrun --bench in milliseconds."""
    path, xrun = os.path.join(folder, name + ".neff"), os.path.join(os.environ["XCC_LIBRARY_PATH"], "runtime", "xrun")
    with open(path, "wb") as f:
        f.write(archive)
    with xcc.load(path, custom_ops=files) as model:
        y = model(*inputs)
    command = [xrun, path, "--bench", "200", "--json"]
    for i, x in enumerate(inputs):
        np.save(os.path.join(folder, "x%d.npy" % i), x)
        command.append(os.path.join(folder, "x%d.npy" % i))
    for f in files:
        command += ["--custom-op", f]
    return y, json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["median_ms"]


def operator(folder, multicore):
    ops = xcc.custom_op.load(name="giou%d" % multicore, compute_srcs=[os.path.join(HERE, "giou.cpp")],
                             shape_srcs=[os.path.join(HERE, "shape.cpp")], build_directory=folder, multicore=multicore)
    text = ('graph "giou" (%%0 "a": f32[%d,%d,4], %%1 "b": f32[%d,%d,4]) {\n  %%2 = custom(%%0, %%1) {custom_operator="my_ops::giou"}\n'
            '  return(%%2)\n} outputs("y")\n' % (BATCH, BOXES, BATCH, BOXES))
    path = os.path.join(folder, "call.xir")
    with open(path, "w") as f:
        f.write(text)
    archive = xcc.compile(path, custom_op=ops.path)
    xcc.custom_op.registered.clear()
    return archive, ops.path


def main():
    rng = np.random.default_rng(0)
    a, b = boxes(rng), boxes(rng)
    with torch.no_grad():
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        expected = Formula()(ta, tb).numpy()
        eager = median(lambda: Formula()(ta, tb))
    rows = [("PyTorch, operator by operator", eager, 0.0)]
    flat = (a.reshape(BATCH, -1), b.reshape(BATCH, -1))
    with tempfile.TemporaryDirectory() as folder:
        archives = [("ONNX graph of the formula", xcc.torch.export(Formula(), (ta, tb), auto_cast="none"), (), (a, b)),
                    ("NKI kernel", bytes(kernel.compile(*flat).archive), (), flat)]
        for multicore in (False, True):
            archive, path = operator(folder, multicore)
            archives.append(("C++ operator, %s" % ("8 cores" if multicore else "1 core"), archive, [path], (a, b)))
        for name, archive, files, inputs in archives:
            y, ms = measured(folder, name.split()[0], archive, inputs, files)
            rows.append((name, ms, float(np.abs(y - expected).max())))
    print("| GIOU of %d x %d pairs of boxes, %d threads | ms | largest difference |\n| --- | --: | --: |" %
          (BATCH, BOXES, len(os.sched_getaffinity(0))))
    for name, ms, difference in rows:
        print("| %s | %.3f | %.1e |" % (name, ms, difference))


if __name__ == "__main__":
    main()
