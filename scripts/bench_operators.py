#!/usr/bin/env python3
"""Times single operators at sizes of real models, ours and onnxruntime's in turns, and checks that the results agree.

    scripts/bench_operators.py [--only REGEX] [--rounds N] [--seconds S] [--below RATIO] [--type f32|f16] [--build build]

Prints a table, the slowest against onnxruntime first: least milliseconds of all rounds, one thread. --below: only rows
under that ratio. --type f16: FP32 operands become f16 (the scales of Resize excepted). Needs onnx and onnxruntime; only to measure.
"""
import argparse, os, re, subprocess, tempfile, time
import numpy as np, onnx, onnxruntime as ort
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
SHAPE, IMAGE = (512, 1024), (1, 64, 56, 56)


def f(*dims):
    return rng.standard_normal(dims).astype(np.float32)


def positive(*dims):
    return np.abs(f(*dims)) + np.float32(.1)


def ints(most, *dims, dtype=np.int64):
    return rng.integers(0, most, dims).astype(dtype)


class Case:
    """One node; `inputs` are fed, `constants` belong to the model. Names follow the node's operands."""

    def __init__(self, op, inputs, constants=(), outputs=1, opset=18, domain="", name=None, **attributes):
        self.op, self.inputs, self.opset, self.domain = op, inputs, opset, domain
        self.constants, self.outputs, self.attributes = list(constants), outputs, attributes
        self.name = name or op

    def model(self, half=False):
        names, values = [], {}
        for i, v in enumerate(list(self.inputs) + self.constants):
            names.append("x%d" % i if v is not None else "")
            if v is not None:
                values[names[-1]] = np.asarray(v)
                if half and values[names[-1]].dtype == np.float32 and not (self.op == "Resize" and i):
                    values[names[-1]] = values[names[-1]].astype(np.float16)
        fed = names[:len(self.inputs)]
        outs = ["y%d" % i for i in range(self.outputs)]
        node = helper.make_node(self.op, names, outs, domain=self.domain, **self.attributes)
        info = lambda k, v: helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        graph = helper.make_graph([node], self.name, [info(k, values[k]) for k in fed],
                                  [onnx.ValueInfoProto(name=o) for o in outs],
                                  [numpy_helper.from_array(v, k) for k, v in values.items() if k not in fed])
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), {k: values[k] for k in fed}


def elementwise():
    x = f(*SHAPE)
    for op in ("Abs Neg Floor Round Sign Exp Tanh Sigmoid Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Atanh Elu Selu Celu "
               "HardSigmoid HardSwish Softplus Softsign Mish ThresholdedRelu Shrink LeakyRelu Relu IsNaN").split():
        yield Case(op, [np.clip(x * .3, -1, 1) if op in ("Asin", "Acos", "Atanh") else x])
    yield Case("Gelu", [x], opset=20)
    for op in ("Log", "Sqrt", "Reciprocal", "Acosh"):
        yield Case(op, [positive(*SHAPE) + np.float32(op == "Acosh")])
    for op in "Add Sub Mul Div Min Max PRelu Less Greater Equal".split():
        yield Case(op, [x, f(*SHAPE)])
    yield Case("Pow", [positive(*SHAPE), x])
    yield Case("Pow", [x], [np.float32(2)], name="Pow 2")
    yield Case("Mod", [x, positive(*SHAPE) + 1], fmod=1, name="Mod f32")
    yield Case("Where", [x > 0, x, f(*SHAPE)])
    yield Case("Clip", [x], [np.float32(-1), np.float32(1)])
    for op in ("Sum", "Mean", "Max"):
        yield Case(op, [x, f(*SHAPE), f(*SHAPE)], name=op + " of 3")
    for op in ("And", "Or", "Xor"):
        yield Case(op, [x > 0, f(*SHAPE) > 0])
    yield Case("Not", [x > 0])


def other_types():
    a, b = ints(1000, *SHAPE), ints(50, *SHAPE) + 1
    for op in ("Add", "Mul", "Div", "Mod", "Equal", "Less", "Max"):
        yield Case(op, [a, b], name=op + " i64")
        yield Case(op, [a.astype(np.int32), b.astype(np.int32)], name=op + " i32")
    yield Case("Abs", [a - 500], name="Abs i64")
    for dtype in (np.float64, np.float16):
        yield Case("Add", [f(*SHAPE).astype(dtype), f(*SHAPE).astype(dtype)], name="Add " + np.dtype(dtype).name)
    yield Case("BitShift", [a.astype(np.uint32), (b % 7).astype(np.uint32)], direction="LEFT")


def casts():
    types = dict(f32=np.float32, f64=np.float64, f16=np.float16, i64=np.int64, i32=np.int32, u8=np.uint8, bool=np.bool_)
    for pair in ("f32 i64", "f32 i32", "f32 u8", "f32 bool", "f32 f16", "f32 f64", "i64 f32", "i32 f32", "u8 f32", "bool f32",
                 "f16 f32", "f64 f32", "i64 i32", "i32 i64", "i64 bool", "bool i64"):
        source, target = (types[t] for t in pair.split())
        x = ints(2 if source == np.bool_ else 200, *SHAPE).astype(source)
        yield Case("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(target)), name="Cast " + pair)
    yield Case("QuantizeLinear", [f(*SHAPE)], [np.float32(.02), np.uint8(128)], opset=19)
    yield Case("DequantizeLinear", [ints(255, *SHAPE, dtype=np.uint8)], [np.float32(.02), np.uint8(128)], opset=19)
    yield Case("DynamicQuantizeLinear", [f(*SHAPE)], outputs=3)


def movement():
    x, image = f(*SHAPE), f(1, 64, 128, 128)
    yield Case("Transpose", [f(64, 128, 64)], perm=[2, 0, 1])
    yield Case("Transpose", [f(8, 256, 256)], perm=[0, 2, 1], name="Transpose last")
    yield Case("Transpose", [ints(9, *SHAPE)], perm=[1, 0], name="Transpose i64")
    yield Case("Transpose", [ints(255, 224, 224, 3, dtype=np.uint8)], perm=[2, 0, 1], name="Transpose u8")
    for axis in (0, 1):
        yield Case("Concat", [f(256, 512), f(256, 512)], axis=axis, name="Concat axis %d" % axis)
    yield Case("Split", [x], [np.array([512, 512])], outputs=2, axis=1)
    yield Case("Slice", [x], [np.array([0, 0]), np.array([512, 1024]), np.array([0, 1]), np.array([2, 2])])
    yield Case("Slice", [x], [np.array([-1]), np.array([-9999]), np.array([1]), np.array([-1])], name="Slice backwards")
    yield Case("Expand", [f(512, 1)], [np.array(SHAPE)])
    yield Case("Tile", [f(256, 256)], [np.array([2, 4])])
    yield Case("DepthToSpace", [f(1, 64, 64, 64)], blocksize=2)
    yield Case("SpaceToDepth", [f(1, 16, 128, 128)], blocksize=2)
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield Case("Pad", [image], [np.array([0, 0, 3, 3] * 2)], mode=mode, opset=19, name="Pad " + mode)
    yield Case("CenterCropPad", [f(3, 512, 512)], [np.array([224, 224])], axes=[1, 2])
    yield Case("Trilu", [f(16, 512, 512)])
    yield Case("ReverseSequence", [f(100, 32, 64)], [np.array([100] * 32)])
    for mode in ("nearest", "linear", "cubic"):
        yield Case("Resize", [f(1, 64, 64, 64)], [None, np.array([1, 1, 2, 2], np.float32)], mode=mode, name="Resize " + mode)
    yield Case("Resize", [f(1, 3, 512, 512)], [None, None, np.array([1, 3, 224, 224])], mode="linear", name="Resize down")
    yield Case("Resize", [f(1, 64, 64, 64)], [None, None, np.array([1, 64, 127, 127])], mode="linear",
               coordinate_transformation_mode="align_corners", name="Resize align_corners")


def index():
    x = f(*SHAPE)
    for axis in (0, 1):
        yield Case("GatherElements", [x, ints(SHAPE[axis], *SHAPE)], axis=axis, name="GatherElements axis %d" % axis)
        yield Case("CumSum", [x], [np.array(axis)], name="CumSum axis %d" % axis)
        yield Case("ArgMax", [x], axis=axis, name="ArgMax axis %d" % axis)
    yield Case("ArgMax", [f(21, 512, 512)], axis=0, name="ArgMax channels")
    yield Case("Gather", [f(5000, 768), ints(5000, 512)], axis=0)
    yield Case("Gather", [x, ints(1024, 700)], axis=1, name="Gather axis 1")
    yield Case("GatherND", [f(64, 128, 64), ints(60, 20000, 2)])
    yield Case("ScatterElements", [x, ints(512, 256, 1024), f(256, 1024)], axis=0)
    yield Case("ScatterND", [f(512, 64, 16), ints(60, 5000, 2), f(5000, 16)])
    yield Case("TopK", [f(100, 2000)], [np.array([50])], outputs=2)
    yield Case("TopK", [f(1, 8400 * 80)], [np.array([300])], outputs=2, name="TopK one row")
    yield Case("OneHot", [ints(100, 4000)], [np.array(100), np.array([0, 1], np.float32)])
    yield Case("NonZero", [(f(512, 512) > 1).astype(np.float32)])
    yield Case("Compress", [x, f(512) > 0], axis=0)
    yield Case("Unique", [ints(500, 20000)])


def reductions():
    x = f(512, 1000)
    for op in ("ReduceSum ReduceMean ReduceMax ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp").split():
        yield Case(op, [x], [np.array([1])])
    yield Case("ReduceMax", [f(64, 128, 64)], [np.array([1])], name="ReduceMax middle")
    yield Case("ReduceMean", [f(*IMAGE)], [np.array([2, 3])], name="ReduceMean image")
    yield Case("ReduceMean", [f(*SHAPE)], [np.array([0])], name="ReduceMean axis 0")
    yield Case("ReduceSum", [ints(9, 512, 1000)], [np.array([1])], name="ReduceSum i64")
    for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
        yield Case(op, [x], axis=-1)
    yield Case("Softmax", [f(1, 21, 128, 128)], axis=1, name="Softmax channels")
    yield Case("LayerNormalization", [f(512, 768)], [f(768), f(768)])
    yield Case("InstanceNormalization", [f(*IMAGE)], [f(64), f(64)])
    yield Case("GroupNormalization", [f(*IMAGE)], [f(64), f(64)], num_groups=8, opset=21)
    yield Case("MeanVarianceNormalization", [f(*IMAGE)])
    yield Case("LRN", [f(*IMAGE)], size=5)


def products_and_images():
    yield Case("MatMul", [f(8, 128, 64), f(8, 64, 128)])
    yield Case("MatMul", [f(128, 128).astype(np.float64), f(128, 128).astype(np.float64)], name="MatMul f64")
    for equation, a, b in (("bhqd,bhkd->bhqk", (1, 8, 128, 64), (1, 8, 128, 64)), ("abc,cd->abd", (8, 128, 64), (64, 96)),
                           ("abc,cbd->ad", (16, 32, 24), (24, 32, 16))):
        yield Case("Einsum", [f(*a), f(*b)], equation=equation, name="Einsum " + equation)
    yield Case("Conv", [f(1, 32, 56, 56), f(32, 32, 3, 3)], pads=[1] * 4, name="Conv computed weights")
    yield Case("Conv", [f(1, 16, 16, 32, 32)], [f(32, 16, 3, 3, 3) * .1], pads=[1] * 6, name="Conv 3-D")
    yield Case("ConvTranspose", [f(1, 16, 8, 16, 16)], [f(16, 8, 2, 2, 2)], strides=[2] * 3, name="ConvTranspose 3-D")
    yield Case("DeformConv", [f(1, 16, 32, 32), f(16, 16, 3, 3), f(1, 18, 32, 32)], opset=19, pads=[1] * 4)
    for op in ("MaxPool", "AveragePool"):
        yield Case(op, [f(1, 64, 112, 112)], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        yield Case(op, [f(1, 16, 16, 56, 56)], kernel_shape=[2] * 3, strides=[2] * 3, name=op + " 3-D")
        yield Case(op, [f(1, 64, 111, 111)], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER", name=op + " SAME")
    yield Case("MaxPool", [f(1, 64, 112, 112)], outputs=2, kernel_shape=[2, 2], strides=[2, 2], name="MaxPool indices")
    yield Case("LpPool", [f(*IMAGE)], kernel_shape=[3, 3], strides=[2, 2], p=2)
    yield Case("GridSample", [f(1, 32, 64, 64), f(1, 64, 64, 2) * .5], mode="bilinear", opset=16)
    boxes = np.abs(f(100, 4)) * 20 + np.array([0, 0, 20, 20], np.float32)
    yield Case("RoiAlign", [f(1, 64, 50, 50), boxes, np.zeros(100, np.int64)], output_height=7, output_width=7,
               sampling_ratio=2)
    boxes = np.abs(f(1, 2000, 4)) * 50 + np.array([0, 0, 60, 60], np.float32)
    yield Case("NonMaxSuppression", [boxes, positive(1, 1, 2000)],
               [np.array([100]), np.array([.5], np.float32), np.array([.1], np.float32)])
    yield Case("Col2Im", [f(1, 64 * 9, 56 * 56)], [np.array([58, 58]), np.array([3, 3])])
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        yield Case(op, [f(64, 1, 128)], [f(1, gates * 128, 128) * .1, f(1, gates * 128, 128) * .1], hidden_size=128)
    yield Case("DFT", [f(64, 1024, 1)], axis=1, onesided=1, opset=17)
    yield Case("DFT", [f(4, 8000, 1)], axis=1, onesided=1, opset=17, name="DFT long")
    yield Case("STFT", [f(1, 16000, 1)], [np.array(160), np.hanning(400).astype(np.float32)], opset=17)


GROUPS = (elementwise, other_types, casts, movement, index, reductions, products_and_images)


def least(run, seconds):
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def agree(ours, theirs, part):
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    scale = max(1, np.abs(theirs[np.isfinite(theirs)]).max(initial=0))
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=0, atol=part * scale, equal_nan=True)


def measure(case, folder, options):
    model, feeds = case.model(options.type == "f16")
    settings = ort.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    wanted = session.run(None, feeds)
    for o, v in zip(model.graph.output, wanted):
        o.CopyFrom(helper.make_tensor_value_info(o.name, helper.np_dtype_to_tensor_dtype(v.dtype), None))
    path = lambda name: os.path.join(folder, name)
    onnx.save(model, path("m.onnx"))
    files = [path("%d.npy" % i) for i in range(len(feeds))]
    for file, v in zip(files, feeds.values()):
        np.save(file, v)
    subprocess.run([options.build + "/frontend/xcc", path("m.onnx"), "--auto-cast", "none", "-o", path("m.neff")],
                   check=True, capture_output=True)
    xrun = [options.build + "/runtime/xrun", path("m.neff"), *files, "--threads", "1"]
    subprocess.run([*xrun, "-o", path("out")], check=True, capture_output=True)
    same = all(agree(np.load(path("out/y%d.npy" % i)), v, 2e-3 if options.type == "f16" else 1e-4)
               for i, v in enumerate(wanted))
    best = [float("inf"), float("inf")]
    for _ in range(options.rounds):
        runs = max(3, min(2000, int(options.seconds * 1e3 / min(best[0], 50))))
        text = subprocess.run([*xrun, "--bench", str(runs)], check=True, capture_output=True, text=True).stdout
        best[0] = min(best[0], float(re.search(r"min ([\d.]+) ms", text).group(1)))
        best[1] = min(best[1], least(lambda: session.run(None, feeds), options.seconds))
    return best[0], best[1], same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--below", type=float, default=float("inf"))
    parser.add_argument("--type", choices=("f32", "f16"), default="f32")
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    rows, failed = [], []
    for case in (c for group in GROUPS for c in group() if re.search(options.only, c.name)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append((case.name, *measure(case, folder, options)))
            except Exception as e:
                failed.append("%s: %s" % (case.name, str(e).split("\n")[0][:150]))
    rows.sort(key=lambda r: r[2] / r[1])
    print("| operator | xcc ms | onnxruntime ms | ratio | results |\n| --- | --: | --: | --: | --- |")
    for name, ours, theirs, same in rows:
        if theirs / ours < options.below:
            print("| %s | %.4g | %.4g | %.2f | %s |" % (name, ours, theirs, theirs / ours, "same" if same else "differ"))
    ratios = np.array([r[2] / r[1] for r in rows])
    if len(rows):
        print("\n%d operators: geometric mean %.2f, %d below 1, %d below 0.5" %
              (len(rows), np.exp(np.log(ratios).mean()), (ratios < 1).sum(), (ratios < .5).sum()))
    for line in failed:
        print("not measured:", line)


if __name__ == "__main__":
    main()
