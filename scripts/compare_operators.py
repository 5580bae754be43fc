#!/usr/bin/env python3
"""Compares xcc with onnx.reference and onnxruntime on many one-node models of every operator and version.

    scripts/compare_operators.py OUT [--xcc build/frontend/xcc] [--only REGEX] [--keep] [--levels 2,0,trn2]

operator_cases.py is the table of cases; operator_cases_microsoft.py has those of com.microsoft, for which onnxruntime
alone decides, also what is to be refused. --random COUNT draws from operator_cases_random.py instead, which combines
parameters that the tables keep apart; --seed draws other values. Each is tried at every version of its operator that
admits it (the checker of ONNX decides), as a model whose operands are inputs, one whose later operands are constants,
and one without static shapes. Where the two references disagree, DECISIONS says which of them follows the text of the
standard; a case without a decision is reported if xcc agrees with neither. Needs onnx, onnxruntime and ml_dtypes; only to test.
"""
import argparse, collections, ctypes, json, multiprocessing, os, re, shutil, subprocess, sys, warnings
import ml_dtypes, numpy as np, onnx, onnxruntime as ort
from onnx import helper, numpy_helper, TensorProto
from onnx.reference import ReferenceEvaluator

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
warnings.filterwarnings("ignore")
np.seterr(all="ignore")

# operator, versions (pattern), which to believe (ref, ort, none: neither is usable), why
OLD = "[1-9]|1[0-2]"
DECISIONS = [
    ("Softmax", OLD, "ort", "the evaluator reduces one axis, the standard flattened to two before opset 13"),
    ("LogSoftmax", OLD, "ort", "as Softmax"),
    ("Hardmax", OLD, "ort", "as Softmax"),
    ("Gemm", "1|6", "none", "the evaluator leaves C out"),
    ("BatchNormalization", "[1-9]", "ort", "the evaluator mixes batch statistics into inference"),
    ("ConvTranspose", ".*", "ort", "the evaluator mixes channels of groups, and pads of auto_pad"),
    ("LpNormalization", ".*", "ort", "the evaluator divides by sums of signed powers"),
    ("LayerNormalization", ".*", "ort", "the evaluator gives Mean and InvStdDev the type of X, not stash_type"),
    ("QLinearMatMul", ".*", "ort", "the evaluator rounds intermediate results to the type of the scales"),
    ("LpPool", ".*", "ort", "the evaluator counts elements past the padding, and has no dilations with auto_pad"),
    ("GlobalMaxPool", ".*", "ort", "the evaluator reduces channels of shapes that are not images"),
    ("Unique", ".*", "ort", "the evaluator takes unsorted slices along axis 0"),
    ("RNN", ".*", "ort", "the evaluator knows no directions, clip, lengths or activations"),
    ("GRU", ".*", "ort", "as RNN"),
    ("LSTM", ".*", "ort", "as RNN"),
    ("StringNormalizer", ".*", "ort", "the evaluator strips accents and compares stop words as they are"),
    ("LinearRegressor", ".*", "ort", "the evaluator truncates to the type of integer operands"),
    ("LinearClassifier", ".*", "ort", "as LinearRegressor"),
    ("Scaler", ".*", "ort", "as LinearRegressor"),
    ("Normalizer", ".*", "ort", "as LinearRegressor"),
    ("NegativeLogLikelihoodLoss", ".*", "ort", "the evaluator weighs ignored classes"),
]
MICROSOFT = "com.microsoft"
COARSE = {"float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float8": (0.13, 0.02), "float4": (0.5, 0.5)}


VERSIONS = collections.defaultdict(list)
for s in onnx.defs.get_all_schemas_with_history():
    VERSIONS[s.domain, s.name] = sorted(VERSIONS[s.domain, s.name] + [s.since_version])


def onnx_type(a):
    if a.dtype == object or a.dtype.kind in "US":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(a.dtype)


def value_info(name, v, shaped=True):
    if isinstance(v, list):
        t = onnx_type(v[0]) if v else TensorProto.FLOAT
        return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(t, None)))
    shape = v.shape if shaped else [f"{name}_{i}" for i in range(v.ndim)]
    return helper.make_tensor_value_info(name, onnx_type(v), shape)


def to_proto(v):
    if isinstance(v, dict):
        raise ValueError("a map")
    if isinstance(v, list):
        return numpy_helper.from_list(v)
    return numpy_helper.from_array(np.asarray(v))


def build(case, opset, mode, outputs=None):
    """mode 0: operands are inputs; 1: all but the first are constants; 2: inputs without static shapes"""
    names = [None if v is None else f"i{k}" for k, v in enumerate(case.inputs)]
    given = [(n, v) for n, v in zip(names, case.inputs) if n]
    node_names = [n or "" for n in names]
    constant = {n for n, v in given[1:] if not isinstance(v, list)} if mode == 1 else set()
    if isinstance(case.fixed, int) and (mode == 2 or case.fixed < 0):
        constant |= {n for n in names[abs(case.fixed):] if n}
    outs = [f"o{k}" if k not in case.unused else "" for k in range(case.nout)]
    node = helper.make_node(case.op, node_names, outs, domain=case.domain, **case.attributes(opset))
    infos = []
    for k, o in enumerate(o for o in outs if o):
        v = outputs[k] if outputs else None
        infos.append(value_info(o, v, False) if v is not None and not (isinstance(v, list) and not v)
                     else onnx.ValueInfoProto(name=o))
    graph = helper.make_graph([node], "g", [value_info(n, v, mode != 2) for n, v in given if n not in constant],
                              infos, initializer=[numpy_helper.from_array(v, n) for n, v in given if n in constant])
    opsets = [helper.make_opsetid(case.domain, opset)]
    if case.domain:
        opsets.append(helper.make_opsetid("", case.base))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=13 if opset > 24 else 11 if opset > 22 else 10)
    return model, {n: v for n, v in given if n not in constant}


def check(model):
    if model.graph.node[0].domain == MICROSOFT:
        return []
    context = onnx.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {o.domain: o.version for o in model.opset_import}
    onnx.checker.check_node(model.graph.node[0], context)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return [o.type.tensor_type.elem_type for o in inferred.graph.output]


def typed(values, types):
    """The values in the inferred types: the evaluator promotes, onnxruntime shows 8-bit floats as bytes."""
    if isinstance(values, str) or not types:
        return values
    r = []
    for v, t in zip(values, types):
        t = np.dtype(object) if t == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(t) if t else None
        if t is not None and isinstance(v, np.ndarray) and t.kind not in "O" and v.dtype != t and v.dtype.kind not in "OUS":
            v = v.view(t) if v.dtype.itemsize == t.itemsize and t.name.startswith("float8") else v.astype(t)
        r.append(v)
    return r


def array_of(o):
    """What is in an OrtValue; numpy() has no bfloat16."""
    if o.data_type() != "tensor(bfloat16)":
        return o.numpy()
    count = int(np.prod(o.shape()))
    return np.frombuffer(ctypes.string_at(o.data_ptr(), 2 * count), ml_dtypes.bfloat16).reshape(o.shape())


def run_in_place(session, values, shared):
    """With outputs in the memory of inputs: {output: input}."""
    binding, own = session.io_binding(), {k: ort.OrtValue.ortvalue_from_numpy(v.copy()) for k, v in values.items()}
    for k, v in own.items():
        binding.bind_ortvalue_input(k, v)
    for o in session.get_outputs():
        if o.name in shared:
            binding.bind_ortvalue_output(o.name, own[shared[o.name]])
        else:
            binding.bind_output(o.name)
    session.run_with_iobinding(binding)
    return [np.array(own[shared[o.name]].numpy() if o.name in shared else v.numpy())
            for o, v in zip(session.get_outputs(), binding.get_outputs())]


def ort_worker(pipe):
    so = ort.SessionOptions()
    so.log_severity_level = 4
    ort.set_default_logger_severity(4)
    so.intra_op_num_threads = so.inter_op_num_threads = 1
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    while True:
        data, feeds, shared = pipe.recv()
        try:
            session = ort.InferenceSession(data, so)
            values = {}
            for k, (v, t) in feeds.items():
                if isinstance(v, list) or t == TensorProto.STRING or v.dtype.kind in "biufc":
                    values[k] = v
                else:
                    values[k] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(v, t)
            rare = any(o.type == "tensor(bfloat16)" for o in session.get_outputs())
            if shared:
                pipe.send(run_in_place(session, values, shared))
                continue
            if rare or any(isinstance(v, ort.OrtValue) for v in values.values()):
                values = {k: v if isinstance(v, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(v)
                          for k, v in values.items()}
                r = [array_of(o) for o in session.run_with_ort_values(None, values)]
            else:
                r = session.run(None, values)
            pipe.send(r)
        except Exception as e:
            pipe.send("ort: " + str(e)[:200])


class OnnxRuntime:
    """In a process of its own, since a few of its kernels crash."""
    process = None

    def run(self, model, feeds, shared=None):
        if not self.process or not self.process.is_alive():
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=ort_worker, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((model.SerializeToString(), {k: (v, 0 if isinstance(v, list) else onnx_type(v))
                                                        for k, v in feeds.items()}, shared))
            if not self.pipe.poll(20):
                self.process.kill()
                self.process.join()
                return "ort: no answer"
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return "ort: crash"


def run_reference(model, feeds):
    try:
        r = ReferenceEvaluator(model).run(None, feeds)
        return [v if isinstance(v, list) else np.asarray(v) for v in r]
    except Exception as e:
        return "ref: " + type(e).__name__ + " " + str(e)[:200]


def tolerance(values):
    r, a = 1e-3, 1e-5
    for v in values:
        for x in v if isinstance(v, list) else [v]:
            for k, (rr, aa) in COARSE.items():
                if getattr(x, "dtype", None) is not None and x.dtype.name.startswith(k):
                    wide = np.abs(np.asarray(x, np.float64))
                    r, a = max(r, rr), max(a, aa * float(max(1, np.max(wide[np.isfinite(wide)], initial=1))))
    return r, a


def same(x, y, tol):
    if isinstance(x, list) or isinstance(y, list):
        return isinstance(x, list) and isinstance(y, list) and len(x) == len(y) and \
            all(same(a, b, tol) for a, b in zip(x, y))
    if x is None or y is None or isinstance(x, dict) or isinstance(y, dict):
        return x is y
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        return False
    if x.dtype.kind in "OUS" or y.dtype.kind in "OUS":
        return [str(a) for a in x.ravel()] == [str(a) for a in y.ravel()]
    if x.dtype != y.dtype:
        return False
    if x.dtype.kind in "biu":
        return np.array_equal(x, y)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.allclose(x.astype(wide), y.astype(wide), tol[0], tol[1], equal_nan=True)


def decide(case, opset, ref, other):
    """[(suffix, expected values)]"""
    bad = [isinstance(v, str) for v in (ref, other)]
    for op, pattern, which, _ in DECISIONS:
        if op == case.op and re.fullmatch(pattern, str(opset)) and (not case.decide or which in case.decide):
            value = {"ref": ref, "ort": other}.get(which)
            return [] if value is None or isinstance(value, str) else [("", value)]
    if all(bad):
        return []
    if any(bad):
        return [("", other if bad[0] else ref)]
    if all(same(a, b, tolerance(ref)) for a, b in zip(ref, other)):
        return [("", ref)]
    return [("@ref", ref), ("@ort", other)]


def write(folder, model, feeds, values, tol):
    data = folder + "/test_data_set_0"
    os.makedirs(data)
    onnx.save(model, folder + "/model.onnx")
    for stem, list_ in (("input", feeds.values()), ("output", values)):
        for i, v in enumerate(list_):
            with open(f"{data}/{stem}_{i}.pb", "wb") as f:
                f.write(to_proto(v).SerializeToString())
    with open(folder + "/data.json", "w") as f:
        json.dump({"rtol": tol[0], "atol": tol[1]}, f)


def generate(cases, every, phase, out, stats):
    runtime = OnnxRuntime()
    for number, case in enumerate(cases):
        if (number + phase) % every:
            continue
        if case.domain == MICROSOFT:
            VERSIONS[case.domain, case.op] = [1]
        for since in [v for v in VERSIONS[case.domain, case.op] if not case.only or v in case.only]:
            base = f"{case.op}_{since}_{number}"
            try:
                model, feeds = build(case, since, 0)
                types = check(model)
            except Exception as e:
                stats["invalid", case.op] += 1
                if os.environ.get("WHY") == case.op:
                    print("INVALID", base, str(e)[:300])
                continue
            ref = "none" if case.domain == MICROSOFT else run_reference(model, feeds)
            other = runtime.run(model, feeds, case.shared)
            if isinstance(other, str) and "onst" in other:
                other = runtime.run(*build(case, since, 1))
            expected = decide(case, since, typed(ref, types), typed(other, types))
            if isinstance(other, str) and case.domain == MICROSOFT and "IMPLEMENTED" not in other:
                write(f"{out}/{base}@refused", model, feeds, [np.zeros((7, 0, 7), bool)] * case.nout, (0, 0))
                if os.environ.get("WHY") == case.op:
                    print("REFUSED", base, other[:200])
                continue
            if not expected:
                stats["no reference", case.op] += 1
                if os.environ.get("WHY") == case.op:
                    print("NONE", base, ref, other)
            for suffix, values in expected:
                tol = case.tol or tolerance(values)
                modes = (0, 1, 2) if since == VERSIONS[case.domain, case.op][-1] else (number % 3,)
                for mode in modes if len(case.inputs) > 1 else (0, 2)[:len(modes)]:
                    if mode == 1 and sum(v is not None for v in case.inputs) < 2 or \
                            mode == 2 and (not case.inputs or case.fixed == "shapes"):
                        continue
                    model, feeds = build(case, since, mode, values)
                    try:
                        write(f"{out}/{base}_m{mode}{suffix}", model, feeds, values, tol)
                    except Exception as e:
                        shutil.rmtree(f"{out}/{base}_m{mode}{suffix}", ignore_errors=True)
                        stats["not written", case.op] += 1
                        if os.environ.get("WHY") == case.op:
                            print("UNWRITTEN", base, repr(e))


def run_xcc(xcc, out, levels):
    """{case: {level: text of the failure}}"""
    folders = sorted(os.path.join(out, f) for f in os.listdir(out))
    failures = collections.defaultdict(dict)
    for level in levels:
        for i in range(0, len(folders), 500):
            flags = ["-O" + level] if level.isdigit() else ["--target", level]
            r = subprocess.run([xcc, "test", "--auto-cast", "none", *flags, *folders[i:i + 500]],
                               capture_output=True, text=True, errors="replace")
            done = 0
            for line in r.stdout.splitlines():
                done += line.startswith(("PASS", "FAIL", "SKIP"))
                m = re.match(r"(?:FAIL|SKIP) (\S+): (.*)", line)
                if m:
                    failures[m[1]][level] = m[2]
            if done < len(folders[i:i + 500]):
                print(f"CRASH at -O{level}, status {r.returncode}, after {done} of batch {i}: {folders[i + done]}")
    return {os.path.basename(f) for f in folders}, failures


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--xcc", default="build/frontend/xcc")
    p.add_argument("--only", default="")
    p.add_argument("--levels", default="2,0")
    p.add_argument("--every", type=int, default=1, help="use one case in N")
    p.add_argument("--phase", type=int, default=0, help="which one of the N")
    p.add_argument("--random", type=int, metavar="COUNT", help="that many of operator_cases_random.py instead")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--keep", action="store_true", help="use the cases that are in OUT")
    a = p.parse_args()
    stats = collections.Counter()
    if not a.keep:
        import operator_cases, operator_cases_microsoft, operator_cases_random
        shutil.rmtree(a.out, ignore_errors=True)
        os.makedirs(a.out)
        cases = [*operator_cases.cases(a.only, a.seed), *operator_cases_microsoft.cases(a.only, a.seed)] if a.random is None else \
            [*operator_cases_random.cases(a.only, a.random, a.seed)]
        generate(cases, a.every, a.phase, a.out, stats)
    names, failures = run_xcc(a.xcc, a.out, a.levels.split(","))
    total, failed = collections.Counter(), collections.Counter()
    for name in sorted(names):
        op = name.split("_")[0]
        if name.endswith("@ort"):
            continue
        total[op] += 1
        texts = failures.get(name)
        if name.endswith("@refused"):
            texts = {k: "accepted" for k in a.levels.split(",") if (texts or {}).get(k, "output").startswith("output")}
        if texts and name.endswith("@ref"):
            rival = failures.get(name[:-4] + "@ort")
            if not rival:
                print(f"RIVAL {name}: agrees with onnxruntime, not with the evaluator: {min(texts.values())}")
                continue
            texts = {**texts, "rival": min(rival.values())}
        if texts:
            failed[op] += 1
            print(f"FAIL {name}: {texts}")
    for op in sorted(total):
        print(f"{op}\t{total[op]}\t{total[op] - failed[op]}")
    for (what, op), n in sorted(stats.items()):
        if what != "invalid":
            print(f"{what}\t{op}\t{n}")
    print(f"{sum(total.values())} cases, {sum(failed.values())} failed")
    return failed.total() > 0


if __name__ == "__main__":
    sys.exit(main())
