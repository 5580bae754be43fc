"""Small models in the forms that ONNX Runtime's tools give them: saved after its own optimisations, fused for transformers, in float16,
quantised statically, dynamically and by weights of few bits."""
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional as F

from common import Table
import onnx_quantised
from onnx_quantised import dynamic, few_bits
import torch_common

torch_common.declare_torchvision()  # transformers imports it where it is installed
from torch_models import LLAMA, SMALL, VIT, Outputs, ids

table = Table()
randn = torch.randn


def exported(model, args, axes, opset=17):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        names = ["x%d" % i for i in range(len(args))]
        torch.onnx.export(model.eval(), args, path, dynamo=False, input_names=names, output_names=None, opset_version=opset, dynamic_axes={n: axes[i] for i, n in enumerate(names) if i in axes})
        return onnx.load(path)


def transformer(name, config, sizes, outputs, inputs=("input_ids", "attention_mask"), attention="eager"):
    import transformers
    c = getattr(transformers, config)(**sizes)
    c._attn_implementation = attention
    c.use_cache = False
    return Outputs(getattr(transformers, name)(c), outputs, inputs)


class ConvNet(nn.Module):
    def __init__(self, act=nn.ReLU, groups=1):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), act())
        self.b = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1, groups=groups), nn.BatchNorm2d(16), act())
        self.c = nn.Conv2d(16, 16, 1)
        self.o = nn.Linear(32, 5)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a) + a
        c = torch.cat([F.max_pool2d(b, 2), F.avg_pool2d(torch.sigmoid(self.c(b)) * b, 2)], 1)
        return self.o(F.adaptive_avg_pool2d(c, 1).flatten(1)), F.softmax(self.o(c.mean((2, 3))), 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.l, self.g, self.o = nn.Embedding(60, 16), nn.LSTM(16, 12, bidirectional=True), nn.GRU(24, 8), nn.Linear(8, 6)

    def forward(self, x):
        return self.o(self.g(self.l(self.e(x))[0])[0])


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(64, 64), nn.Linear(64, 32, bias=False), nn.LayerNorm(64)

    def forward(self, x):
        y = self.n(x + F.gelu(self.a(x)))
        return self.b(y * torch.sigmoid(1.702 * y))


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.a = nn.Embedding(64, 64), nn.Linear(64, 48)

    def forward(self, i):
        return self.a(self.e(i))


class Block(nn.Module):
    """Of a diffusion network: GroupNorm, SiLU and attention over places."""

    def __init__(self):
        super().__init__()
        self.n, self.c, self.m, self.q = nn.GroupNorm(4, 16), nn.Conv2d(16, 16, 3, padding=1), nn.LayerNorm(16), nn.MultiheadAttention(16, 2, batch_first=True)
        self.g = nn.Linear(16, 64)
        self.o = nn.Linear(32, 16)

    def forward(self, x):
        x = x + self.c(F.silu(self.n(x)))
        b, c, h, w = x.shape
        y = x.flatten(2).transpose(1, 2)
        z = self.m(y)
        y = y + self.q(z, z, z, need_weights=False)[0]
        u, v = self.g(self.m(y)).chunk(2, -1)
        return (y + self.o(u * F.gelu(v))).transpose(1, 2).reshape(b, c, h, w)


def text(b, s):
    m = torch.ones(b, s, dtype=torch.long)
    m[0, -1] = 0
    return ids(b, s), m


BATCH_SEQUENCE = {0: {0: "batch", 1: "sequence"}, 1: {0: "batch", 1: "sequence"}}
TINY = dict(SMALL, hidden_size=64, intermediate_size=64)
# name: (module, calls, axes, what the fusing optimiser calls it, heads, hidden)
SOURCES = {
    "bert": (lambda: transformer("BertModel", "BertConfig", TINY, ("last_hidden_state", "pooler_output")), (lambda: text(2, 6), lambda: text(3, 9)), BATCH_SEQUENCE, "bert", 2, 64),
    "distilbert": (lambda: transformer("DistilBertModel", "DistilBertConfig", dict(vocab_size=64, dim=64, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=32), ("last_hidden_state",)), (lambda: text(2, 6), lambda: text(3, 9)), BATCH_SEQUENCE, "bert", 2, 64),
    "roberta": (lambda: transformer("RobertaModel", "RobertaConfig", TINY, ("last_hidden_state",)), (lambda: text(2, 6), lambda: text(3, 9)), BATCH_SEQUENCE, "bert", 2, 64),
    "gpt2": (lambda: transformer("GPT2LMHeadModel", "GPT2Config", dict(vocab_size=64, n_embd=64, n_layer=2, n_head=2, n_positions=32), ("logits",)), (lambda: text(2, 6), lambda: text(3, 9)), BATCH_SEQUENCE, "gpt2", 2, 64),
    "vit": (lambda: transformer("ViTModel", "ViTConfig", dict(VIT, hidden_size=64, intermediate_size=64), ("last_hidden_state",), ("pixel_values",)), (lambda: (randn(1, 3, 32, 32),), lambda: (randn(2, 3, 32, 32),)), {0: {0: "batch"}}, "vit", 2, 64),
    "clip_text": (lambda: transformer("CLIPTextModel", "CLIPTextConfig", dict(TINY, eos_token_id=2, bos_token_id=1, pad_token_id=0), ("last_hidden_state",), ("input_ids",)), (lambda: (ids(2, 6),), lambda: (ids(3, 6),)), {0: {0: "batch", 1: "sequence"}}, "clip", 2, 64),
    "llama": (lambda: transformer("LlamaForCausalLM", "LlamaConfig", dict(LLAMA, hidden_size=64, intermediate_size=64), ("logits",)), (lambda: text(2, 6), lambda: text(3, 9)), BATCH_SEQUENCE, "gpt2", 2, 64),
    "encoder": (lambda: nn.TransformerEncoderLayer(64, 2, 64, batch_first=True, activation="gelu"), (lambda: (randn(2, 5, 64),), lambda: (randn(3, 5, 64),)), {0: {0: "batch"}}, "bert", 2, 64),
    "block": (Block, (lambda: (randn(1, 16, 6, 6),), lambda: (randn(2, 16, 6, 6),)), {0: {0: "batch"}}, "unet", 2, 16),
    "mlp": (Mlp, (lambda: (randn(3, 64),), lambda: (randn(5, 64),)), {0: {0: "batch"}}, "bert", 2, 64),
    "embedded": (Embedded, (lambda: (ids(3, 5),), lambda: (ids(2, 7),)), {0: {0: "batch", 1: "sequence"}}, None, 0, 0),
    "conv": (ConvNet, (lambda: (randn(1, 3, 16, 16),), lambda: (randn(2, 3, 20, 24),)), {0: {0: "batch", 2: "h", 3: "w"}}, None, 0, 0),
    "conv_hard": (lambda: ConvNet(nn.Hardswish, 16), (lambda: (randn(1, 3, 16, 16),), lambda: (randn(2, 3, 20, 24),)), {0: {0: "batch", 2: "h", 3: "w"}}, None, 0, 0),
    "conv_leaky": (lambda: ConvNet(lambda: nn.LeakyReLU(0.1), 4), (lambda: (randn(1, 3, 16, 16),), lambda: (randn(2, 3, 20, 24),)), {0: {0: "batch", 2: "h", 3: "w"}}, None, 0, 0),
    "recurrent": (Recurrent, (lambda: (ids(5, 1),), lambda: (ids(7, 1),)), {0: {0: "time"}}, None, 0, 0),
}
MADE = {}


def source(name):
    """The exported model and the inputs of its runs, once."""
    if name not in MADE:
        torch.manual_seed(0)
        make, calls, axes, *_ = SOURCES[name]
        model = make()
        calls = [c() for c in calls]
        MADE[name] = exported(model, calls[0], axes), [[a.numpy() for a in c] for c in calls]
    model, calls = MADE[name]
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy, calls


def session(model, level, exact, path=""):
    """Without VNNI, ONNX Runtime's sums of u8 x s8 products saturate unless it is told to be exact; it then fails at a weight that
    several nodes have, so each gets its own. Not in ONNX Runtime's layout for one processor, which xcc refuses by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = path
    disabled = ["NchwcTransformer"]
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
        disabled.append("ConstantSharing")
        weights, seen = {w.name: w for w in model.graph.initializer}, set()
        for n in model.graph.node:
            for i, name in enumerate(n.input):
                if name in weights and name in seen:
                    model.graph.initializer.add().CopyFrom(weights[name])
                    n.input[i] = model.graph.initializer[-1].name = "%s.%d" % (name, len(model.graph.initializer))
                seen.add(name)
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)


def saved(model, level):
    """After ONNX Runtime's own optimisations."""
    with tempfile.TemporaryDirectory() as folder:
        session(model, level, False, os.path.join(folder, "m.onnx"))
        return onnx.load(os.path.join(folder, "m.onnx"))


def fused(model, name, **options):
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions
    kind, heads, hidden = SOURCES[name][3:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        f = FusionOptions(kind)
        for k, v in options.items():
            setattr(f, k, v)
        return optimizer.optimize_model(path, kind, num_heads=heads, hidden_size=hidden, opt_level=0, optimization_options=f, use_gpu=options.get("gpu", False)).model


def imported(model):
    """With the domain of the fused operators among its operator sets, which other tools ask for."""
    if all(o.domain != "com.microsoft" for o in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model


def half(model):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    return convert_float_to_float16(model, keep_io_types=True)


def static(model, calls, *forms, **more):
    feeds = dict(zip([i.name for i in model.graph.input], calls[0]))
    return onnx_quantised.static(model, [feeds] * 2, *forms, **more)


def bnb(model, kind):
    from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
    q = MatMulBnb4Quantizer(model, kind, 32)
    q.process()
    return q.model.model


def row(name, change, tol=1e-3):
    source_name = name.split("-")[0]
    table(name.replace("-", "_"), lambda: (change, source_name), tol=tol)


for k in SOURCES:
    for level in ["ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]:
        row("%s-%s" % (k, level[11:].lower()), lambda m, c, l=level: saved(m, l))
    row(k + "-half", lambda m, c: half(m), 1e-2)
    for form in ["QDQ", "QOperator"]:
        row("%s-static_%s" % (k, form.lower()), lambda m, c, f=form: static(m, c, f), 2e-2)
    row(k + "-static_channels", lambda m, c: static(m, c, "QDQ", "QInt8", per_channel=True), 2e-2)
    row(k + "-static_16", lambda m, c: static(m, c, "QDQ", "QUInt16", extra_options={"UseQDQContribOps": True}), 2e-2)
    row(k + "-static_saved", lambda m, c: saved(static(m, c, "QDQ"), "ORT_ENABLE_EXTENDED"), 2e-2)
    row(k + "-dynamic", lambda m, c: dynamic(m), 2e-2)
    row(k + "-dynamic_u8", lambda m, c: dynamic(m, "QUInt8", per_channel=True), 2e-2)
    row(k + "-dynamic_saved", lambda m, c: saved(dynamic(m), "ORT_ENABLE_EXTENDED"), 2e-2)
    if SOURCES[k][3]:
        row(k + "-fused", lambda m, c, k=k: fused(m, k))
        row(k + "-fused_gpu", lambda m, c, k=k: fused(m, k, gpu=True), 1e-3)
        row(k + "-fused_mha", lambda m, c, k=k: fused(m, k, use_multi_head_attention=True))
        row(k + "-fused_half", lambda m, c, k=k: half(imported(fused(m, k))), 1e-2)
        row(k + "-fused_dynamic", lambda m, c, k=k: dynamic(imported(fused(m, k))), 2e-2)
        row(k + "-fused_static", lambda m, c, k=k: static(imported(fused(m, k)), c, "QOperator"), 2e-2)
    if k not in ("conv", "conv_hard", "conv_leaky", "recurrent"):
        for bits in (4, 8):
            for symmetric in (True, False):
                row("%s-bits_%d%s" % (k, bits, "_symmetric" if symmetric else ""), lambda m, c, b=bits, s=symmetric: few_bits(m, block_size=32, is_symmetric=s, bits=b), 1e-2)
        row(k + "-bits_level4", lambda m, c: few_bits(m, block_size=32, is_symmetric=True, accuracy_level=4), 2e-2)
        row(k + "-bits_qdq", lambda m, c: few_bits(m, block_size=32, is_symmetric=False, quant_format="QDQ"), 1e-2)
        row(k + "-bits_gather", lambda m, c: few_bits(m, block_size=32, is_symmetric=False, op_types_to_quantize=("MatMul", "Gather")), 1e-2)
        for kind in (0, 1):
            row("%s-bnb%d" % (k, kind), lambda m, c, t=kind: bnb(m, t), 1e-2)


def runs_of(data, calls):
    """Its inputs and what ONNX Runtime computes; how far apart its own levels are: a step of 8 bits that turns over is carried on."""
    sessions = []
    for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]:
        try:
            sessions.append(session(onnx.load_from_string(data), level, True))
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            sessions.append(session(onnx.load_from_string(data), level, False))
    runs, apart = [], 0.0
    for c in calls:
        feeds = dict(zip([i.name for i in sessions[0].get_inputs()], c))
        feeds = {i.name: feeds[i.name].astype(np.int32) if i.type == "tensor(int32)" else feeds[i.name] for i in sessions[0].get_inputs()}
        plain, optimised = [s.run(None, feeds) for s in sessions]
        runs.append((list(feeds.values()), plain))
        for a, b in zip(plain, optimised):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            apart = max(apart, float(np.abs(a - b).max(initial=0) / (np.abs(a).max(initial=0) + 1e-30)))
    return runs, apart
