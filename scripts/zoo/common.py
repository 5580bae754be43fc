"""What the zoos share: a folder per exported program, as `xcc test` reads it, and the report of what differs.

A zoo is a table of programs. export(program) gives variants: the same program in several formats or by several exporters.
Each becomes OUT/NAME[__VARIANT]/ with the model, inputs, what the framework computed, and case.json: the tolerance, what
ONNX Runtime gave, or why the exporter failed. Exports are kept, so that a second run only compiles; --fresh makes them anew.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Types that .npy lacks are stored as bits.
BITS = {"bfloat16": np.uint16, "int4": np.int8, "uint4": np.uint8, "int2": np.int8, "uint2": np.uint8}

# Largest error over the largest value, by the widest rounding among a program's types.
TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "complex64": 1e-4, "complex128": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}


class Late(BaseException):
    """The time limit of one step; no handler of Exception takes it."""


@contextlib.contextmanager
def limit(seconds):
    def late(*_):
        raise Late("takes longer than %d s" % seconds)

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


class Variant:
    """One file of one program, with runs of (inputs, outputs)."""

    def __init__(self, suffix, files, runs, tolerance=None, note="", flags=()):
        self.suffix, self.files, self.runs, self.note = suffix, files, runs, note
        self.tolerance = tolerance if tolerance is not None else tolerance_of(runs)
        self.flags = list(flags)


def tolerance_of(runs):
    worst = 0.0
    for inputs, outputs in runs:
        for a in list(inputs) + list(outputs):
            name = str(np.asarray(a).dtype) if not isinstance(a, list) else "float32"
            worst = max(worst, 0.15 if name.startswith("float8") else TOLERANCE.get(name, 1e-4))
    return worst


def storable(a):
    a = np.asarray(a)
    name = str(a.dtype)
    if name.startswith(("float8_", "float4_", "float6_")):
        return a.view(np.uint8)
    if name in BITS:
        return a.view(np.uint16) if name == "bfloat16" else a.astype(BITS[name])
    return a


def write_array(prefix, a):
    if isinstance(a, (list, dict)) or np.asarray(a).dtype.kind in "OUS":
        write_proto(prefix + ".pb", a)
    else:
        np.save(prefix + ".npy", storable(a), allow_pickle=False)


def fill_map(p, m):
    """A MapProto of a dict of numbers."""
    import onnx
    from onnx import numpy_helper as nh

    keys = list(m)
    if isinstance(keys[0], (int, np.integer)):
        p.key_type = onnx.TensorProto.INT64
        p.keys.extend(keys)
    else:
        p.key_type = onnx.TensorProto.STRING
        p.string_keys.extend([k.encode() for k in keys])
    p.values.elem_type = onnx.SequenceProto.TENSOR
    p.values.tensor_values.extend([nh.from_array(np.array(x, np.float32)) for x in m.values()])
    return p


def write_proto(path, a):
    """Strings, sequences, maps and lists of maps, as ONNX writes them."""
    import onnx
    from onnx import numpy_helper as nh

    if isinstance(a, dict):
        b = fill_map(onnx.MapProto(), a)
    elif isinstance(a, list) and a and isinstance(a[0], dict):
        b = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
        for m in a:
            fill_map(b.map_values.add(), m)
    elif isinstance(a, list):
        b = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
        b.tensor_values.extend([nh.from_array(np.asarray(x)) for x in a])
    else:
        b = nh.from_array(np.asarray(a).astype(object))
    with open(path, "wb") as f:
        f.write(b.SerializeToString())


def write_case(folder, variant):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    onnx_like = any(f.endswith(".onnx") for f in variant.files)
    for name, data in variant.files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
    for k, (inputs, outputs) in enumerate(variant.runs):
        if onnx_like:
            prefix = os.path.join(folder, "test_data_set_%d" % k)
            os.makedirs(prefix)
            prefix += "/"
        else:
            prefix = os.path.join(folder, "run%d_" % k if len(variant.runs) > 1 else "")
        for i, a in enumerate(inputs):
            write_array("%sinput_%d" % (prefix, i), a)
        for i, a in enumerate(outputs):
            write_array("%soutput_%d" % (prefix, i), a)
    # json's form of the numbers is what the test reads; the rest is for people
    info = {"norm": variant.tolerance, "note": variant.note, "flags": variant.flags}
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(info, f)


def export_all(program, export, out, fresh):
    """Folders of a program's variants, from the last run if they are there."""
    mark = os.path.join(out, program.name + ".json")
    if os.path.exists(mark) and not fresh:
        with open(mark) as f:
            return json.load(f)
    record = {"variants": [], "errors": []}
    with open(mark, "w") as f:  # what stays if the framework ends the process
        json.dump({"variants": [], "errors": [["", "the framework crashed"]]}, f)
    try:
        for variant in export(program):
            if isinstance(variant, tuple):  # (suffix, why it cannot be exported)
                record["errors"].append(list(variant))
                continue
            name = program.name + ("__" + variant.suffix if variant.suffix else "")
            write_case(os.path.join(out, name), variant)
            record["variants"].append(name)
    except Exception as e:  # noqa: BLE001 - frameworks raise anything
        if os.environ.get("ZOO_TRACE"):
            traceback.print_exc()
        record["errors"].append(["", "%s: %s" % (type(e).__name__, str(e).strip().splitlines()[0][:300] if str(e).strip() else "")])
    with open(mark, "w") as f:
        json.dump(record, f)
    return record


def run_case(xcc, folder, modules, more, seconds):
    """[(label, reason)] of what does not hold, how many were run, and the note beside the case."""
    with open(os.path.join(folder, "case.json")) as f:
        info = json.load(f)
    bad, count = [], 0
    for label, flags, tolerance in modules(folder, info):
        command = [xcc, "test", "--norm-tol", "%g" % tolerance] + flags + info["flags"] + more + [folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
            line = done.stdout.splitlines()[0] if done.stdout else "no output: " + done.stderr.strip()[:300]
        except subprocess.TimeoutExpired:
            line = "FAIL : takes longer than %d s" % seconds
        count += 1
        if not line.startswith("PASS "):
            bad.append((label, line.split(": ", 1)[-1]))
    return bad, count, info["note"]


def both_casts(label, flags, info, coarse=0.1):
    """As it is in FP32, and with the default cast of products."""
    yield label, flags + ["--auto-cast", "none"], info["norm"]
    yield label + ", bf16 products", flags, max(coarse, 3 * info["norm"])


def main(programs, export, modules, what):
    p = argparse.ArgumentParser(description="Exports %d %s, compiles and runs each, and prints what differs." % (len(programs), what))
    p.add_argument("--only", metavar="PATTERN", help="programs whose names this regular expression finds")
    p.add_argument("--out", default=os.path.join(ROOT, "build", "zoo", what.split()[0]), help="where exports are kept")
    p.add_argument("--xcc", default=os.path.join(ROOT, "build", "frontend", "xcc"))
    p.add_argument("--fresh", action="store_true", help="export again")
    p.add_argument("--export-only", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--seconds", type=int, default=120, help="for one program")
    p.add_argument("flags", nargs="*", help="further flags of xcc test, after --")
    a = p.parse_args()
    programs = [q for q in programs if not a.only or re.search(a.only, q.name)]
    if a.list:
        print("\n".join(q.name for q in programs))
        return 0
    os.makedirs(a.out, exist_ok=True)
    total = collections.Counter()
    for program in programs:
        record = export_all(program, export, a.out, a.fresh)
        for suffix, why in record["errors"]:
            total["not exported"] += 1
            print("NOT EXPORTED %s%s: %s" % (program.name, "__" + suffix if suffix else "", why), flush=True)
        for name in [] if a.export_only else record["variants"]:
            bad, count, note = run_case(a.xcc, os.path.join(a.out, name), modules, a.flags, a.seconds)
            total["passed" if not bad else "failed"] += 1
            total["runs"] += count
            for label, why in bad:
                print("FAIL %s (%s): %s%s" % (name, label, why, "  [%s]" % note if note else ""), flush=True)
    print("%d programs, %d exports passed, %d failed, %d not exported, %d runs" %
          (len(programs), total["passed"], total["failed"], total["not exported"], total["runs"]))
    return 1 if total["failed"] else 0


class Program:
    def __init__(self, name, make, **options):
        self.name, self.make, self.options = name, make, options


class Table:
    """Collects programs: @table.add, or table(name, make, option=...)."""

    def __init__(self):
        self.programs = []

    def __call__(self, name, make, **options):
        assert all(q.name != name for q in self.programs), name
        self.programs.append(Program(name, make, **options))

    def add(self, make=None, **options):
        if make is None:
            return lambda f: self.add(f, **options)
        self(make.__name__, make, **options)
        return make
