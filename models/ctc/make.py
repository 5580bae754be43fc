"""Writes ctc.onnx, what it runs on, and what a decoder in NumPy makes of it. Needs onnx and numpy."""
import numpy as np
import onnx
from onnx import TensorProto, helper

node = [helper.make_node("LogSoftmax", ["scores"], ["log_probabilities"], axis=-1),
        helper.make_node("GreedyDecoder", ["log_probabilities"], ["labels", "count"], domain="my.ctc", blank=0)]
tensor = helper.make_tensor_value_info
graph = helper.make_graph(node, "ctc", [tensor("scores", TensorProto.FLOAT, ["batch", "steps", 6])],
                          [tensor("labels", TensorProto.INT64, ["batch", "steps"]),
                           tensor("count", TensorProto.INT64, ["batch"])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.ctc", 1)])
model.ir_version = 8
onnx.checker.check_model(model)
onnx.save(model, "ctc.onnx")

batch, steps = 11, 20
scores = np.random.default_rng(0).normal(size=(batch, steps, 6)).astype(np.float32)
scores[:, :, 0] += 1  # blanks are the most frequent
labels = np.full((batch, steps), -1, np.int64)
count = np.zeros(batch, np.int64)
for b in range(batch):
    last = 0
    for best in scores[b].argmax(axis=1):
        if best != 0 and best != last:
            labels[b, count[b]] = best
            count[b] += 1
        last = best
np.save("scores.npy", scores)
np.save("labels.npy", labels)
np.save("count.npy", count)
