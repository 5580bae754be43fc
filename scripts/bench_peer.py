"""bench_peer.py PEER FOLDER THREADS RUNS MODE: median milliseconds of another runtime, for scripts/bench."""
import glob
import os
import statistics
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


def onnxruntime_runner(path, values, threads, mode):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: v for i, v in zip(session.get_inputs(), values)}
    return lambda: session.run(None, feed)


def openvino_runner(path, values, threads, mode):
    import openvino
    core = openvino.Core()
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                "INFERENCE_PRECISION_HINT": "f32" if mode == "none" else "bf16"}
    request = core.compile_model(path, "CPU", settings).create_infer_request()
    for i, v in enumerate(values):
        request.set_input_tensor(i, openvino.Tensor(v))
    return request.infer


def main():
    peer, folder, threads, runs, mode = sys.argv[1:]
    runners = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}
    if peer not in runners:
        sys.exit("bench_peer.py: no peer '%s', there are: %s" % (peer, ", ".join(runners)))
    run = runners[peer](os.path.join(folder, "model.onnx"), read_inputs(folder), int(threads), mode)
    start = time.perf_counter()
    for _ in range(int(runs)):  # as xrun does: up to a tenth of a second to warm up
        run()
        if time.perf_counter() - start > 0.1:
            break
    times = []
    for _ in range(int(runs)):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(1e3 * statistics.median(times))


main()
