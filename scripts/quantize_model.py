#!/usr/bin/env python3
"""Quantises a model with onnxruntime, for tests and benchmarks of quantised models. Needs onnx and onnxruntime.

    scripts/quantize_model.py SOURCE OUT {qdq,qoperator,dynamic} [--per-channel] [--reduce-range] [--s8] [--batches N]

SOURCE is a folder with model.onnx and test_data_set_0/input_I.npy (models/build_models makes some) or such a model.
OUT becomes a folder of the same kind: model.onnx, the same inputs, and what onnxruntime computes for them. Static kinds
are calibrated on the folder's inputs and on random ones of the same mean and spread, from a fixed seed.
"""
import argparse, glob, os, tempfile
import numpy as np, onnx, onnxruntime as ort
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process


class Batches(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def random_like(a, rng):
    if np.issubdtype(a.dtype, np.floating):
        return (a.mean() + (a.std() or 1) * rng.standard_normal(a.shape)).astype(a.dtype)
    return rng.integers(a.min(), a.max() + 1, a.shape).astype(a.dtype)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("source")
    p.add_argument("out")
    p.add_argument("kind", choices=["qdq", "qoperator", "dynamic"])
    p.add_argument("--per-channel", action="store_true")
    p.add_argument("--reduce-range", action="store_true", help="weights of 7 bits")
    p.add_argument("--s8", action="store_true", help="signed activations")
    p.add_argument("--batches", type=int, default=2)
    o = p.parse_args()
    ort.set_default_logger_severity(3)
    folder = o.source if os.path.isdir(o.source) else os.path.dirname(o.source)
    model = os.path.join(o.source, "model.onnx") if os.path.isdir(o.source) else o.source
    files = sorted(glob.glob(os.path.join(folder, "test_data_set_0", "input_*.npy")),
                   key=lambda f: int(f.rsplit("_", 1)[1][:-4]))
    inputs = [np.load(f) for f in files]
    os.makedirs(os.path.join(o.out, "test_data_set_0"), exist_ok=True)
    made = os.path.join(o.out, "model.onnx")
    with tempfile.TemporaryDirectory() as scratch:
        prepared = os.path.join(scratch, "prepared.onnx")
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        names = [i.name for i in ort.InferenceSession(prepared, providers=["CPUExecutionProvider"]).get_inputs()]
        common = dict(per_channel=o.per_channel, reduce_range=o.reduce_range)
        if o.kind == "dynamic":
            quantize_dynamic(prepared, made, weight_type=QuantType.QInt8, **common)
        else:
            rng = np.random.default_rng(0)
            feeds = [dict(zip(names, inputs))]
            feeds += [{n: random_like(a, rng) for n, a in zip(names, inputs)} for _ in range(o.batches - 1)]
            quantize_static(prepared, made, Batches(feeds),
                            quant_format=QuantFormat.QDQ if o.kind == "qdq" else QuantFormat.QOperator,
                            activation_type=QuantType.QInt8 if o.s8 else QuantType.QUInt8,
                            weight_type=QuantType.QInt8, **common)
    session = ort.InferenceSession(made, providers=["CPUExecutionProvider"])
    for i, a in enumerate(inputs):
        np.save(os.path.join(o.out, "test_data_set_0", f"input_{i}.npy"), a)
    for i, a in enumerate(session.run(None, dict(zip(names, inputs)))):
        np.save(os.path.join(o.out, "test_data_set_0", f"output_{i}.npy"), a)


main()
