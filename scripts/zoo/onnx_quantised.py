"""ONNX Runtime's quantisers as functions of a model."""
import os
import tempfile

import onnx


class Reader:
    """Feeds of calibration runs, as quantize_static asks for them."""

    def __init__(self, feeds):
        self.left = list(feeds)

    def get_next(self):
        return self.left.pop() if self.left else None


def through_files(model, convert):
    with tempfile.TemporaryDirectory() as folder:
        a, b = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.save(model, a)
        convert(a, b)
        return onnx.load(b)


def static(model, feeds, form, activations="QUInt8", weights="QInt8", **more):
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    return through_files(model, lambda a, b: quantize_static(a, b, Reader(feeds), quant_format=getattr(QuantFormat, form), activation_type=getattr(QuantType, activations), weight_type=getattr(QuantType, weights), **more))


def dynamic(model, weights="QInt8", **more):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    return through_files(model, lambda a, b: quantize_dynamic(a, b, weight_type=getattr(QuantType, weights), **more))


def few_bits(model, **more):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    from onnxruntime.quantization.quant_utils import QuantFormat
    if "quant_format" in more:
        more["quant_format"] = getattr(QuantFormat, more["quant_format"])
    q = MatMulNBitsQuantizer(model, **more)
    q.process()
    return q.model.model
