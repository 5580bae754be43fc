"""bench_hlo.py: times JAX programs compiled by xcc and by XLA:CPU in turns; scripts/bench_hlo runs it."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

CPUS = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, CPUS[-1:])  # before XLA counts them: one thread
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jax  # noqa: E402
import numpy  # noqa: E402

import hlo_functions  # noqa: E402
import hlo_programs  # noqa: E402


def tool(name):
    return os.path.join("build", {"xcc": "frontend/xcc", "xrun": "runtime/xrun"}[name])


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(((done.stderr.strip() or done.stdout.strip()).splitlines() or ["status %d" % done.returncode])[-1])
    return done.stdout


LARGE = 1e-3  # a difference of results that needs an explanation


def worst(got, expected):
    """The largest difference of any result, relative to its largest value."""
    if got is None:
        return float("nan")
    gap = 0.0
    for x, want in zip(got, expected):
        if x.shape != want.shape:
            return float("nan")
        if numpy.iscomplexobj(want):
            x, want = numpy.stack([x.real, x.imag]), numpy.stack([want.real, want.imag])
        x, want = x.astype(numpy.float64), want.astype(numpy.float64)
        scale = max(1e-30, numpy.max(numpy.abs(want[numpy.isfinite(want)]), initial=0))
        off = numpy.abs(numpy.where((x == want) | (numpy.isnan(x) & numpy.isnan(want)), 0, x - want))
        gap = max(gap, numpy.max(off, initial=0) / scale)
    return gap


class Program:
    """A program compiled by both, its inputs in files, its results compared."""

    def __init__(self, name, folder, flags):
        f, arguments = (hlo_programs.PROGRAMS.get(name) or hlo_functions.PROGRAMS[name])()
        self.folder, self.name = folder, name
        os.makedirs(folder, exist_ok=True)
        leaves, tree = jax.tree.flatten(arguments)
        flat = lambda *x: f(*jax.tree.unflatten(tree, x))
        lowered = jax.jit(flat, keep_unused=True).lower(*leaves)
        source = self.path("module.hlo")
        with open(source, "w") as out:
            out.write(lowered.as_text(dialect="hlo"))
        self.f = lowered.compile()
        self.flat, self.leaves = flat, leaves
        self.values = [jax.numpy.asarray(v) for v in leaves]
        self.inputs = [self.path("input_%d.npy" % i) for i in range(len(leaves))]
        for path, v in zip(self.inputs, leaves):
            numpy.save(path, numpy.asarray(v))
        start = time.perf_counter()
        call(tool("xcc"), source, "-o", self.path("model.neff"), "--auto-cast", "none", *flags)
        self.compile_s = time.perf_counter() - start

    def path(self, name):
        return os.path.join(self.folder, name)

    def xrun(self, *words):
        return call(tool("xrun"), self.path("model.neff"), *self.inputs, "--threads", "1", *words)

    def results(self):
        """Those of ours and of XLA; ours is None where the numbers of results differ."""
        out = self.path("out")
        os.makedirs(out, exist_ok=True)
        for old in os.listdir(out):
            os.remove(os.path.join(out, old))
        self.xrun("-o", out)
        # xrun names files by output: 'output', 'output_1'... in the order of its table
        names = sorted(os.listdir(out), key=lambda n: [int(d) for d in re.findall(r"\d+", n)] or [-1])
        expected = [numpy.asarray(v) for v in jax.tree.leaves(self.f(*self.values))]
        return [numpy.load(os.path.join(out, n)) for n in names] if len(names) == len(expected) else None, expected

    def exact(self):
        """XLA's results of the same program in float64."""
        with jax.enable_x64(True):
            wide = [v.astype(numpy.float64) if v.dtype == numpy.float32 else v for v in map(numpy.asarray, self.leaves)]
            return [numpy.asarray(v) for v in jax.tree.leaves(jax.jit(self.flat)(*wide))]

    def difference(self):
        """From XLA; where that is large, 1e-3, also those of both from float64: (ours - XLA, ours - exact, XLA - exact)."""
        got, xla = self.results()
        gap = worst(got, xla)
        if not gap >= LARGE or not math.isfinite(gap):
            return gap, None, None
        exact = self.exact()
        return gap, worst(got, exact), worst(xla, exact)

    def ours(self, runs):
        return json.loads(self.xrun("--bench", str(runs), "--json"))

    def theirs(self, runs):
        times = []
        for _ in range(runs + 1):
            start = time.perf_counter()
            jax.block_until_ready(self.f(*self.values))
            times.append(time.perf_counter() - start)
        return 1000 * min(times[1:])


def measure(p, rounds, seconds):
    once = max(p.ours(1)["min_ms"], p.theirs(1), 1e-3)
    runs = max(3, min(1000, int(1000 * seconds / once)))
    ours, theirs, peak = [], [], 0
    for _ in range(rounds):
        got = p.ours(runs)
        ours.append(got["min_ms"])
        peak = got["peak_rss_mb"]
        theirs.append(p.theirs(runs))
    return min(ours), min(theirs), peak


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown CPU")


def arguments():
    p = argparse.ArgumentParser(prog="scripts/bench_hlo", description="JAX programs against XLA:CPU, one thread, FP32.")
    p.add_argument("programs", nargs="*", help="names or regular expressions; without any: all")
    p.add_argument("--whole", action="store_true", help="whole programs only")
    p.add_argument("--functions", action="store_true", help="single functions and gradients instead (scripts/hlo_functions.py)")
    p.add_argument("--rounds", type=int, default=3, help="how often both take turns (3)")
    p.add_argument("--seconds", type=float, default=0.3, help="timed in each round, of each (0.3); at least three runs")
    p.add_argument("--cache", default="build/bench/hlo", help="where programs and archives go")
    p.add_argument("--flags", default="", help="further flags of xcc")
    p.add_argument("--check", action="store_true", help="compare results only")
    p.add_argument("--list", action="store_true")
    return p.parse_args()


def chosen(a):
    programs = hlo_functions.PROGRAMS if a.functions else hlo_programs.PROGRAMS
    names = hlo_programs.WHOLE if a.whole else list(programs)
    return [n for n in names if not a.programs or any(re.fullmatch(x, n) for x in a.programs)]


def main():
    a = arguments()
    if a.list:
        print("\n".join(chosen(a)))
        return
    print("| program | ours ms | XLA:CPU ms | ratio | difference | compile s | peak MB |\n| --- | --: | --: | --: | --: | --: | --: |")
    ratios, bad = [], 0
    for name in chosen(a):
        try:
            p = Program(name, os.path.join(a.cache, name), a.flags.split())
            gap, own, peers = p.difference()
            ours, theirs, peak = (0, 0, 0) if a.check else measure(p, a.rounds, a.seconds)
        except RuntimeError as e:
            print("| %s | %s |" % (name, e), flush=True)
            bad += 1
            continue
        bad += not (gap < LARGE or (own is not None and own < LARGE))
        ratios += [] if a.check else [theirs / ours]
        print("| %s | %.4g | %.4g | %.2f | %.1e | %.2f | %.0f |" % (name, ours, theirs, theirs / ours if ours else 0, gap,
                                                               p.compile_s, peak), flush=True)
        if own is not None:
            print("%s: from float64 ours differs by %.1e, XLA by %.1e" % (name, own, peers), file=sys.stderr)
    if ratios:
        print("\ngeometric mean %.2f, least %.2f, %d of %d at least 1.0" % (
            numpy.exp(numpy.mean(numpy.log(ratios))), min(ratios), sum(r >= 1 for r in ratios), len(ratios)))
    print("\n%s; XCC_KERNELS=%s; JAX %s; %s; `scripts/bench_hlo %s`" % (
        cpu_name(), os.environ.get("XCC_KERNELS", "all"), jax.__version__, time.strftime("%Y-%m-%d", time.gmtime()),
        " ".join(sys.argv[1:])))
    sys.exit(bad > 0)


main()
