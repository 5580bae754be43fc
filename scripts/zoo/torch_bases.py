"""Base models of transformers whose configurations no other table has: encoders of pictures, sound and text, detectors, codecs,
series. Sizes by the patterns of torch_auto, in nested configurations too; inputs by the names in the model's signature."""
import inspect
import re

import torch

from common import Table
from torch_auto import SIZES
from torch_models import ids, randn

MOST = 8000000  # parameters


def small(config_class):
    """A configuration with few and small layers, those nested in it too."""
    import transformers

    default, given = config_class(), {}
    for name, value in default.to_dict().items():
        nested = getattr(default, name, None)
        if isinstance(nested, transformers.PretrainedConfig):
            given[name] = small(type(nested)).to_dict()
        elif isinstance(value, int) and not isinstance(value, bool):
            given.update({name: size for size in [next((s for p, s in SIZES if re.search(p, name)), None)] if size is not None})
    kinds = getattr(default, "layer_types", None)
    if isinstance(kinds, (list, tuple)) and kinds:
        kinds = list(dict.fromkeys(kinds))
        given["layer_types"] = kinds if len(kinds) > 1 else kinds * 2
        given["num_hidden_layers"] = len(given["layer_types"])
    return config_class(**given)


class Leaves(torch.nn.Module):
    """A model whose results are the tensors among its members; some of its arguments are constants."""

    def __init__(self, model, names, constants):
        super().__init__()
        self.model, self.names, self.constants = model, names, constants

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)), **{n: v.clone() for n, v in self.constants.items()}, return_dict=True)
        if isinstance(out, torch.Tensor):
            return out
        out = out.values() if hasattr(out, "values") else out
        return tuple(v for v in out if isinstance(v, torch.Tensor))


def arguments(names, config):
    """(what a model of this signature is called with, what of it is constant), a guess after the other."""
    text = {"input_ids": ids(2, 6), "attention_mask": torch.ones(2, 6, dtype=torch.long)}
    text = {n: v for n, v in text.items() if n in names}
    if "bbox" in names:
        text["bbox"] = torch.randint(0, 30, (2, 6, 1)).expand(2, 6, 4).contiguous()
    size = getattr(getattr(config, "vision_config", config), "image_size", 32)
    size = size if isinstance(size, int) else 64
    if "grid_thw" in names:
        first = names[0]
        width = lambda c: getattr(c, "in_channels", 3) * getattr(c, "temporal_patch_size", 1) * getattr(c, "patch_size", 8) ** 2  # noqa: E731
        grid = {"grid_thw": torch.tensor([[1, 4, 4]])}
        for w in (width(config), width(config) * 2, 3 * getattr(config, "patch_size", 8) ** 2):
            yield {first: randn(16, w)}, grid
    if "pixel_values" in names:
        for pixels in (randn(2, 3, size, size), randn(1, 3, 64, 64), randn(1, 2, 3, size, size), randn(1, 1, 3, size, size)):
            if "input_ids" in names:
                yield dict(text, pixel_values=pixels), {}
            yield {"pixel_values": pixels}, {}
        if "input_points" in names:
            yield {"pixel_values": randn(1, 3, size, size), "input_points": torch.rand(1, 1, 2, 2) * size, "input_labels": torch.ones(1, 1, 2, dtype=torch.long)}, {}
    if "pixel_values_videos" in names:
        for video in (randn(1, 4, 3, size, size), randn(1, 16, 3, size, size)):
            yield {"pixel_values_videos": video}, {}
            yield dict(text, pixel_values_videos=video), {}
    for name in ("input_features", "audio_mel", "input_values", "spectrogram", "past_values", "hidden_states", "query_embeds"):
        if name in names:
            more = {"attention_mask": torch.ones(2, 64, dtype=torch.long)} if "attention_mask" in names else {}
            mels = getattr(config, "num_mel_bins", getattr(config, "input_feat_size", 80))
            for shape in ((2, 64, mels), (2, mels, 64), (1, mels, 3000), (2, 1, 640), (2, 640), (2, 6, 16), (2, 64)):
                for m in ({}, more):
                    given = dict(m, **{name: randn(*shape)})
                    for suffix in ("_mask",):
                        if name + suffix in names:
                            given[name + suffix] = torch.ones(shape[0], shape[1] if shape[1] != mels else shape[-1], dtype=torch.bool)
                    yield given, {}
                    if "decoder_input_ids" in names:
                        yield dict(given, decoder_input_ids=ids(shape[0], 4)), {}
    if text:
        yield text, {}
        if "decoder_input_ids" in names:
            yield dict(text, decoder_input_ids=ids(2, 4)), {}


def made(model_name, config_name):
    def make():
        import transformers

        cls = getattr(transformers, model_name)
        config = small(getattr(transformers, config_name))
        config._attn_implementation = config._experts_implementation = "eager"
        if hasattr(config, "use_cache"):
            config.use_cache = False
        with torch.device("meta"):
            count = sum(p.numel() for p in cls(config).parameters())
        assert count < MOST, "%d parameters" % count
        model = cls(config).eval()
        model.config.return_dict = True
        names = [p.name for p in inspect.signature(cls.forward).parameters.values()][1:]
        why = "no arguments known for %s" % names
        for given, constants in arguments(names, config):
            wrapped = Leaves(model, list(given), constants)
            try:
                with torch.no_grad():
                    out = wrapped(*given.values())
                assert isinstance(out, torch.Tensor) or out
                return wrapped, tuple(given.values())
            except Exception as e:  # noqa: BLE001 - models raise anything
                why = "%s: %s" % (type(e).__name__, e)
        raise ValueError(why)

    return make


def programs(seen):
    """A table of the base models that transformers lists whose configurations `seen` has in no form."""
    from transformers.models.auto import modeling_auto as auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES as configs

    first = lambda v: v[0] if isinstance(v, (list, tuple)) else v  # noqa: E731
    lists = [m for n, m in vars(auto).items() if n.endswith("_MAPPING_NAMES")]
    covered = {key for m in lists for key, v in m.items() for name in (v if isinstance(v, (list, tuple)) else [v]) if "hf_" + str(name) in seen}
    table = Table()
    for key, config in configs.items():
        model = auto.MODEL_MAPPING_NAMES.get(key)
        if model is None or key in covered or any(q.name == "hf_" + first(model) for q in table.programs):
            continue
        table("hf_" + first(model), made(first(model), config))
    return table.programs
