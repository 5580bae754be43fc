"""Changes of ONNX models that leave their results as they were: what optimisers, converters and other exporters write for the same model."""
import copy
import os
import tempfile

import numpy as np
import onnx
from onnx import helper as oh, numpy_helper as nh

import onnx_quantised

CHANGES = {}


def change(f):
    """f(model, inputs) gives the changed model; its first line of documentation says what it is."""
    CHANGES[f.__name__] = f
    return f


def opset(model, domain=""):
    return next((o.version for o in model.opset_import if (o.domain or "") == domain), 0)


def inner_graphs(node):
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            yield a.g
        elif a.type == onnx.AttributeProto.GRAPHS:
            yield from a.graphs


def reads(nodes):
    """Names that nodes and the graphs inside them read, in order."""
    seen = {}
    for n in nodes:
        seen.update(dict.fromkeys(i for i in n.input if i))
        for g in inner_graphs(n):
            seen.update(dict.fromkeys(reads(g.node)))
            seen.update(dict.fromkeys(o.name for o in g.output))
    return list(seen)


def types_of(model):
    """Declared or inferred types of values, by name."""
    g = onnx.shape_inference.infer_shapes(model).graph
    found = {v.name: v.type for v in list(g.input) + list(g.value_info) + list(g.output) if v.type.WhichOneof("value")}
    found.update({t.name: oh.make_tensor_type_proto(t.data_type, t.dims) for t in g.initializer})
    return found


# ---- optimisers ----

def saved_by_onnxruntime(model, level):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_ENABLE_" + level)
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = os.path.join(folder, "m.onnx")
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=["NchwcTransformer"])
        return onnx.load(options.optimized_model_filepath)


@change
def ort_basic(model, inputs):
    return saved_by_onnxruntime(model, "BASIC")


@change
def ort_extended(model, inputs):
    return saved_by_onnxruntime(model, "EXTENDED")


@change
def ort_all(model, inputs):
    return saved_by_onnxruntime(model, "ALL")


@change
def onnxscript_optimised(model, inputs):
    import onnxscript.optimizer

    return onnxscript.optimizer.optimize(model, onnx_shape_inference=True)


@change
def onnxscript_rewritten(model, inputs):
    import onnxscript.rewriter

    return onnxscript.rewriter.rewrite(model)


@change
def onnxscript_fused(model, inputs):
    import onnx_ir
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    m = optimize_for_ort(onnx_ir.from_proto(model))
    return onnx_ir.to_proto(m[0] if isinstance(m, tuple) else m)


# ---- versions ----

def converted(model, version):
    import onnxscript.version_converter

    if opset(model) >= version:
        raise ValueError("its operator set is newer")
    m = copy.deepcopy(model)
    return onnxscript.version_converter.convert_version(m, version) or m


@change
def version_24(model, inputs):
    return converted(model, 24)


@change
def version_converted_by_onnx(model, inputs):
    from onnx import version_converter

    return version_converter.convert_version(model, 21 if opset(model) < 21 else 25)


# ---- forms of the same graph ----

def function_of(name, nodes, outputs, model, inner):
    inputs = reads(nodes)
    made = {o for n in nodes for o in n.output}
    inputs = [i for i in inputs if i not in made]
    imports = list(model.opset_import) + ([oh.make_opsetid("local", 1)] if inner else [])
    return oh.make_function("local", name, inputs, outputs, nodes, imports), oh.make_node(name, inputs, outputs, domain="local", name=name + "_call")


@change
def functions(model, inputs):
    """Runs of seven nodes become functions, and runs of three calls become functions that call these."""
    m = copy.deepcopy(model)
    if any(f.domain == "local" for f in m.functions):
        raise ValueError("it has functions of this domain")
    needed = {o.name for o in m.graph.output}
    nodes, size = list(m.graph.node), 7
    for depth in range(2):
        grouped = []
        for k in range(0, len(nodes), size):
            run, rest = nodes[k:k + size], nodes[k + size:]
            after = set(reads(rest)) | needed
            outputs = [o for n in run for o in n.output if o and o in after]
            f, call = function_of("f%d_%d" % (depth, k), run, outputs, m, depth)
            m.functions.append(f)
            grouped.append(call)
        nodes, size = grouped, 3
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    m.opset_import.append(oh.make_opsetid("local", 1))
    m.ir_version = max(m.ir_version, 8)
    return m


def body(model, renamed, inputs=(), first=(), initializers=True):
    """The model's graph as a body with these inputs; its outputs get new names."""
    g = onnx.GraphProto(name="body")
    g.input.extend(inputs)
    g.node.extend(first)
    g.node.extend(model.graph.node)
    if initializers:
        g.initializer.extend(model.graph.initializer)
    for o in model.graph.output:
        g.node.append(oh.make_node("Identity", [o.name], [renamed + o.name]))
        g.output.append(onnx.ValueInfoProto(name=renamed + o.name, type=o.type))
    return g


def inside(model, node_of, initializers=True):
    m = copy.deepcopy(model)
    del m.graph.node[:], m.graph.value_info[:]
    if initializers:
        del m.graph.initializer[:]
    for o in m.graph.output:  # outputs keep their names; those in the body have new ones
        o.name = "out_" + o.name
    constants, node = node_of([o.name for o in m.graph.output])
    m.graph.node.extend(constants + [node])
    return m


def constant(name, value):
    return oh.make_node("Constant", [], [name], value=nh.from_array(np.asarray(value)))


@change
def inside_if(model, inputs):
    """The whole graph is a branch, which reads the inputs and initializers from outside; the other branch is alike."""
    g = body(model, "b_", initializers=False)
    other = copy.deepcopy(g)
    return inside(model, lambda outs: ([constant("yes", np.array(True))], oh.make_node("If", ["yes"], outs, then_branch=g, else_branch=other)), False)


@change
def inside_loop(model, inputs):
    """The body of a loop of two trips whose results are stacked; then the second is picked."""
    first = [oh.make_node("Identity", ["c"], ["c_out"])]
    head = [oh.make_tensor_value_info("i", onnx.TensorProto.INT64, []), oh.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])]
    g = body(model, "b_", head, first)
    g.output.insert(0, oh.make_tensor_value_info("c_out", onnx.TensorProto.BOOL, []))
    m = inside(model, lambda outs: ([constant("trips", np.array(2)), constant("yes", np.array(True))], oh.make_node("Loop", ["trips", "yes"], ["s_" + o for o in outs], body=g)))
    m.graph.node.append(constant("one", np.array(1)))
    for o in m.graph.output:
        m.graph.node.append(oh.make_node("Gather", ["s_" + o.name, "one"], [o.name], axis=0))
    return m


@change
def inside_scan(model, inputs):
    """A scan of three steps over a sequence of numbers that nothing reads."""
    head = [oh.make_tensor_value_info("t", onnx.TensorProto.FLOAT, [])]
    g = body(model, "b_", head)
    m = inside(model, lambda outs: ([constant("steps", np.zeros(3, np.float32))], oh.make_node("Scan", ["steps"], ["s_" + o for o in outs], body=g, num_scan_inputs=1)))
    m.graph.node.append(constant("last", np.array(-1)))
    for o in m.graph.output:
        m.graph.node.append(oh.make_node("Gather", ["s_" + o.name, "last"], [o.name], axis=0))
    return m


@change
def through_sequences(model, inputs):
    """Each third value passes through a sequence."""
    m = copy.deepcopy(model)
    types = types_of(m)
    tensors = {n for n, t in types.items() if t.HasField("tensor_type")}
    nodes, renamed = [], {}
    for k, n in enumerate(m.graph.node):
        nodes.append(n)
        for o in list(n.output)[:1]:
            if k % 3 == 0 and o in tensors and not any(True for _ in inner_graphs(n)):
                n.output[0] = o + "/kept"
                nodes += [oh.make_node("SequenceConstruct", [o + "/kept", o + "/kept"], [o + "/sequence"]), constant(o + "/at", np.array(-1)), oh.make_node("SequenceAt", [o + "/sequence", o + "/at"], [o])]
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    return m


@change
def constants_as_nodes(model, inputs):
    """Initializers become Constant nodes; those with many zeros are sparse."""
    m = copy.deepcopy(model)
    nodes = []
    for t in m.graph.initializer:
        a = nh.to_array(t)
        at = np.flatnonzero(a)
        if a.dtype in (np.float32, np.int64) and a.ndim and 0 < len(at) <= a.size / 2:
            s = oh.make_sparse_tensor(nh.from_array(a.ravel()[at], t.name), nh.from_array(at.astype(np.int64), t.name + "_at"), list(a.shape))
            nodes.append(oh.make_node("Constant", [], [t.name], sparse_value=s))
        else:
            nodes.append(oh.make_node("Constant", [], [t.name], value=t))
    nodes += list(m.graph.node)
    del m.graph.initializer[:], m.graph.node[:]
    m.graph.node.extend(nodes)
    return m


@change
def symbolic_everything(model, inputs):
    """Every dimension of the inputs has a name, those of one size the same; nothing else has a shape."""
    m = copy.deepcopy(model)
    kept = {t.name for t in m.graph.initializer}
    for i in m.graph.input:
        if i.name not in kept and i.type.HasField("tensor_type"):
            for d in i.type.tensor_type.shape.dim:
                if d.dim_value > 1:
                    d.dim_param = "n%d" % d.dim_value
    for o in m.graph.output:
        if o.type.HasField("tensor_type"):
            o.type.tensor_type.ClearField("shape")
    del m.graph.value_info[:]
    return m


@change
def unknown_everything(model, inputs):
    """Inputs have ranks and no sizes."""
    m = symbolic_everything(model, inputs)
    kept = {t.name for t in m.graph.initializer}
    for i in m.graph.input:
        if i.name not in kept and i.type.HasField("tensor_type"):
            for d in i.type.tensor_type.shape.dim:
                d.Clear()
    return m


# ---- types ----

@change
def half(model, inputs):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(copy.deepcopy(model), keep_io_types=True, force_fp16_initializers=True)


@change
def half_throughout(model, inputs):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(copy.deepcopy(model), keep_io_types=False)


@change
def quantised(model, inputs):
    return onnx_quantised.static(model, [inputs], "QDQ", per_channel=True)


@change
def quantised_operators(model, inputs):
    return onnx_quantised.static(model, [inputs], "QOperator", weights="QUInt8")


@change
def quantised_16(model, inputs):
    return onnx_quantised.static(model, [inputs], "QDQ", activations="QInt16", extra_options={"ActivationSymmetric": True, "DedicatedQDQPair": True})


@change
def quantised_dynamically(model, inputs):
    return onnx_quantised.dynamic(model, per_channel=True)


@change
def four_bits(model, inputs):
    return onnx_quantised.few_bits(copy.deepcopy(model), block_size=16, is_symmetric=False)


def and_saved(f, level):
    """Then through ONNX Runtime's optimisations: integer operators with channels last, fused ones."""
    CHANGES[f.__name__ + "_and_saved"] = lambda model, inputs: saved_by_onnxruntime(f(model, inputs), level)


for _f, _level in ((quantised, "ALL"), (quantised_dynamically, "ALL"), (four_bits, "ALL"), (half, "EXTENDED")):
    and_saved(_f, _level)


# Changes that round, how far; and operators that choose, where a last bit that differs is another element.
CHOICES = {"Equal", "TopK", "ArgMax", "ArgMin", "GridSample", "NonMaxSuppression", "Unique", "NonZero"}
APPROXIMATE = {"half": 2e-2, "half_throughout": 2e-2, "quantised": 5e-2, "quantised_operators": 5e-2, "quantised_16": 5e-2, "quantised_dynamically": 5e-2, "four_bits": 2e-2}
APPROXIMATE.update({name + "_and_saved": tolerance for name, tolerance in list(APPROXIMATE.items()) if name + "_and_saved" in CHANGES})
