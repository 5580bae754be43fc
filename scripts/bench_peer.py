"""bench_peer.py PEER FOLDER THREADS RUNS SECONDS MODE SCRATCH: median milliseconds of another runtime, for scripts/bench.

RUNS are timed, or as many as fit in SECONDS, at least three. What a peer compiles ahead of time is kept in SCRATCH for
the next round. The last line of stderr says what failed."""
import glob
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy


def read_inputs(folder):
    files = glob.glob(os.path.join(folder, "test_data_set_0", "input_*"))
    files.sort(key=lambda f: int(os.path.basename(f).split("_")[1].split(".")[0]))
    values = []
    for f in files:
        if f.endswith(".npy"):
            values.append(numpy.load(f))
        else:
            import onnx
            tensor = onnx.TensorProto()
            tensor.ParseFromString(open(f, "rb").read())
            values.append(onnx.numpy_helper.to_array(tensor))
    return values


def onnxruntime_runner(path, values, threads, mode, scratch):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)  # errors
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: v for i, v in zip(session.get_inputs(), values)}
    return lambda: session.run(None, feed)


def openvino_runner(path, values, threads, mode, scratch):
    import openvino
    core = openvino.Core()
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                "INFERENCE_PRECISION_HINT": "f32" if mode == "none" else "bf16"}
    request = core.compile_model(path, "CPU", settings).create_infer_request()
    for i, v in enumerate(values):
        request.set_input_tensor(i, openvino.Tensor(v))
    return request.infer


def tool(name, *arguments):
    """A program that a peer's package puts beside python."""
    path = shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name)
    if not path:
        sys.exit("%s is not installed" % name)
    result = subprocess.run([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit("%s: %s" % (name, (result.stdout.strip() or "failed").splitlines()[-1]))


def iree_runner(path, values, threads, mode, scratch):
    import iree.runtime
    module = os.path.join(scratch, "model.vmfb")
    if not os.path.exists(module):
        text = os.path.join(scratch, "model.mlir")
        tool("iree-import-onnx", path, "--opset-version", "17", "-o", text)
        tool("iree-compile", text, "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
             "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "-o", module)
    iree.runtime.flags.parse_flags("--task_topology_group_count=%d" % threads)
    config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    context = iree.runtime.SystemContext(config=config)
    loaded = iree.runtime.VmModule.mmap(config.vm_instance, module)
    context.add_vm_module(loaded)
    name = next(n for n in loaded.function_names if "$" not in n and not n.startswith("__"))
    function = context.modules["module"][name]
    return lambda: function(*values)


def ncnn_runner(path, values, threads, mode, scratch):
    import ncnn
    if len(values) != 1:
        sys.exit("ncnn is measured on models with one input")
    copy = os.path.join(scratch, "model.onnx")
    if not os.path.exists(os.path.join(scratch, "model.ncnn.param")):
        shutil.copy(path, copy)
        tool("pnnx", copy, "inputshape=[%s]" % ",".join(str(d) for d in values[0].shape), "fp16=0")
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = mode != "none"
    net.load_param(os.path.join(scratch, "model.ncnn.param"))
    net.load_model(os.path.join(scratch, "model.ncnn.bin"))
    name, result = net.input_names()[0], net.output_names()[0]
    pixels = numpy.ascontiguousarray(values[0][0])  # the Mat borrows it

    def run():
        extractor = net.create_extractor()
        extractor.input(name, ncnn.Mat(pixels))
        return extractor.extract(result)
    return run


def tvm_runner(path, values, threads, mode, scratch):
    os.environ["TVM_NUM_THREADS"] = str(threads)
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    cpu = {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": threads}
    module = from_onnx(onnx.load(path), keep_params_in_input=False)
    machine = relax.VirtualMachine(tvm.compile(module, target=tvm.target.Target(cpu)), tvm.cpu())
    tensors = [tvm.runtime.tensor(v) for v in values]
    return lambda: machine["main"](*tensors)


RUNNERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner, "iree": iree_runner, "ncnn": ncnn_runner,
           "tvm": tvm_runner}


def measure(run, runs, seconds):
    start = time.perf_counter()
    for _ in range(runs):  # as xrun does: up to a tenth of a second to warm up
        run()
        if time.perf_counter() - start > 0.1:
            break
    times = []
    while len(times) < runs and (len(times) < 3 or sum(times) < seconds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def main():
    peer, folder, threads, runs, seconds, mode, scratch = sys.argv[1:]
    if peer not in RUNNERS:
        sys.exit("bench_peer.py: no peer '%s', there are: %s" % (peer, ", ".join(RUNNERS)))
    path = os.path.join(folder, "model.onnx")
    kept = os.path.join(scratch, peer, hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16])
    os.makedirs(kept, exist_ok=True)
    try:
        run = RUNNERS[peer](path, read_inputs(folder), int(threads), mode, kept)
        times = measure(run, int(runs), float(seconds))
    except Exception as e:  # libraries have no common one; the last line of theirs tells most
        lines = [line.strip() for line in str(e).splitlines() if line.strip()]
        sys.exit("%s: %s" % (type(e).__name__, lines[-1] if lines else "no message"))
    print(1e3 * statistics.median(times))


main()
