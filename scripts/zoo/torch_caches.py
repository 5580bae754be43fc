"""Steps of decoders with the caches that transformers keeps apart: of an encoder's output, and of a length that stays."""
import torch

from common import Table
from torch_hf import ENCODER_DECODER, T5
from torch_models import LLAMA, SMALL, ids

table = Table()


def tensors(cache):
    return [t for layer in cache.layers for t in (layer.keys, layer.values)]


def pairs(flat):
    return [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]


class CrossStep(torch.nn.Module):
    """A token of a decoder whose earlier tokens and encoder's output are in caches."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, hidden, mask, *past):
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        half = len(past) // 2
        cache = EncoderDecoderCache(DynamicCache(pairs(past[:half])), DynamicCache(pairs(past[half:])))
        out = self.model(decoder_input_ids=tokens, encoder_outputs=BaseModelOutput(hidden), attention_mask=mask, past_key_values=cache, use_cache=True)
        return (out.logits, *tensors(out.past_key_values.self_attention_cache))


class StaticStep(torch.nn.Module):
    """A token of a decoder whose cache has room for all tokens."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, position, *past):
        from transformers.cache_utils import StaticCache

        cache = StaticCache(self.model.config, max_cache_len=past[0].shape[2])
        for layer, (keys, values) in zip(cache.layers, pairs(past)):
            layer.keys, layer.values, layer.is_initialized = keys.clone(), values.clone(), True
            layer.dtype, layer.device = keys.dtype, keys.device
            layer.max_batch_size, layer.num_heads, _, layer.head_dim = keys.shape
            if hasattr(layer, "cumulative_length"):
                layer.cumulative_length = position[0]
        out = self.model(input_ids=tokens, position_ids=position[None], past_key_values=cache, use_cache=True)
        return (out.logits, *tensors(cache))


def built(name, config, sizes):
    import transformers

    c = getattr(transformers, config)(**sizes)
    c._attn_implementation = "sdpa"
    return getattr(transformers, name)(c).eval()


def cross(name, config, sizes):
    def call(model, rows, source, past):
        with torch.no_grad():
            out = model(input_ids=ids(rows, source), decoder_input_ids=ids(rows, past), use_cache=True)
        cache = out.past_key_values
        return (ids(rows, 1), out.encoder_last_hidden_state, torch.ones(rows, source, dtype=torch.long), *tensors(cache.self_attention_cache), *tensors(cache.cross_attention_cache))

    def make():
        model = built(name, config, sizes)
        return CrossStep(model).eval(), call(model, 2, 6, 4), call(model, 3, 8, 6)

    layers = sizes.get("decoder_layers") or sizes["num_layers"]
    axes = {0: {0: "b"}, 1: {0: "b", 1: "s"}, 2: {0: "b", 1: "s"}}
    axes.update({3 + i: {0: "b", 2: "p" if i < 2 * layers else "s"} for i in range(4 * layers)})
    table("cross_step_" + name, make, axes=axes)


def static(name, config, sizes):
    def make():
        model = built(name, config, sizes)
        with torch.no_grad():
            shapes = [t.shape for t in tensors(model(input_ids=ids(1, 3), use_cache=True).past_key_values)]
        return (StaticStep(model).eval(),) + tuple((ids(1, 1), torch.tensor([at]), *(torch.randn(1, s[1], 12, s[3]) for s in shapes)) for at in (5, 9))

    table("static_step_" + name, make, exporters=("dy",))  # TorchScript's exporter loses writes in place into the cache


cross("T5ForConditionalGeneration", "T5Config", T5)
cross("BartForConditionalGeneration", "BartConfig", ENCODER_DECODER)
cross("M2M100ForConditionalGeneration", "M2M100Config", ENCODER_DECODER)
cross("MarianMTModel", "MarianConfig", dict(ENCODER_DECODER, pad_token_id=0, decoder_start_token_id=1))
static("LlamaForCausalLM", "LlamaConfig", LLAMA)
static("Qwen3ForCausalLM", "Qwen3Config", dict(LLAMA, head_dim=8))
static("GPTNeoXForCausalLM", "GPTNeoXConfig", SMALL)
