"""Decoders with their caches, exported: what scripts/bench_decode measures and scripts/zoo-decoders looks through. Random weights."""
import contextlib
import io
import logging
import os
import warnings

import numpy as np
import torch

from torch_common import declare_torchvision, make_decoder

declare_torchvision()  # transformers imports it where it is installed
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

LLAMA_134M = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=12,
                  vocab_size=32000, max_position_embeddings=2048)


def make(name, sizes, attention):
    torch.manual_seed(0)
    return make_decoder(name + ("LMHeadModel" if name == "GPT2" else "ForCausalLM"), name + "Config", sizes, attention)


def cache_shape(config):
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return config.num_hidden_layers, heads, getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def inputs(config, batch, tokens, past):
    """input_ids, attention_mask, and a key and a value of each layer."""
    layers, heads, width = cache_shape(config)
    torch.manual_seed(1)
    ids = torch.randint(0, config.vocab_size, (batch, tokens))
    return (ids, torch.ones(batch, past + tokens, dtype=torch.long)) + tuple(torch.randn(batch, heads, past, width) for _ in range(2 * layers))


def export(model, config, exporter, path):
    """path/model.onnx, by the TorchScript exporter ("ts") or by torch.export ("dy")."""
    layers, _, _ = cache_shape(config)
    caches = ["%d.%s" % (i, k) for i in range(layers) for k in ("key", "value")]
    names = ["input_ids", "attention_mask"] + ["past_key_values." + c for c in caches]
    outputs = ["logits"] + ["present." + c for c in caches]
    example = inputs(config, 2, 3, 5)
    os.makedirs(path, exist_ok=True)
    file = os.path.join(path, "model.onnx")
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if exporter == "ts":
            axes = {n: {0: "batch", 2: "past"} for n in names[2:]}
            axes.update(input_ids={0: "batch", 1: "tokens"}, attention_mask={0: "batch", 1: "total"})
            torch.onnx.export(model, example, file, dynamo=False, input_names=names, output_names=outputs, dynamic_axes=axes, opset_version=17)
        else:
            batch, tokens, past = (torch.export.Dim(n) for n in ("batch", "tokens", "past"))
            shapes = ({0: batch, 1: tokens}, {0: batch, 1: torch.export.Dim("total")}, tuple({0: batch, 2: past} for _ in caches))
            try:
                torch.onnx.export(model, example, file, dynamo=True, input_names=names, output_names=outputs, dynamic_shapes=shapes,
                                  opset_version=20, verbose=False, external_data=False)
            except Exception:  # noqa: BLE001 - the exporter does not believe that sizes go together
                auto = torch.export.Dim.AUTO
                shapes = ({0: auto, 1: auto}, {0: auto, 1: auto}, tuple({0: auto, 2: auto} for _ in caches))
                torch.onnx.export(model, example, file, dynamo=True, input_names=names, output_names=outputs, dynamic_shapes=shapes,
                                  opset_version=20, verbose=False, external_data=False)
    return file


def arrays(tensors):
    return [np.ascontiguousarray(t.detach().numpy()) for t in tensors]
