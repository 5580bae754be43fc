"""What the programs that export PyTorch models share."""
import contextlib
import glob
import importlib.machinery
import importlib.util
import os
import sys
import types

import torch


class Names(type):
    """A class any attribute of which is its name, as members of an enumeration."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Absent(types.ModuleType):
    """A module any name of which is an empty class: timm imports torchvision for training, and no model needs it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Names(name, (), {"__init__": lambda self, *a, **k: None})


class AbsentTorchvision:
    """Finds torchvision and its parts where there is none."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, AbsentTorchvision, is_package=True)

    @staticmethod
    def create_module(spec):
        return Absent(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def import_timm():
    """timm, also where torchvision is not installed. What is imported later sees no torchvision."""
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(AbsentTorchvision)
        try:
            import timm
        finally:
            sys.meta_path.remove(AbsentTorchvision)
            for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
                del sys.modules[name]
    import timm
    return timm


def declare_torchvision():
    """A torchvision built for CUDA cannot load its operators beside a CPU-only PyTorch; declared, they let it be imported."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None:
        return
    for library in glob.glob(os.path.join(spec.submodule_search_locations[0], "_C*.so")):  # its name differs between versions
        with contextlib.suppress(OSError):
            torch.ops.load_library(library)
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define("torchvision::" + name, "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def cache_exporter_tables():
    """torch.onnx.export reads its tables of operators anew for each model, which takes five times as long as all else."""
    import functools

    import torch._export.utils as utils
    from torch.export import decomp_utils, exported_program
    from torch.onnx._internal.exporter import _registration

    try:
        operators = functools.lru_cache(None)(utils._collect_all_valid_cia_ops)
        _registration.ONNXRegistry.from_torchlib = staticmethod(functools.lru_cache(None)(_registration.ONNXRegistry.from_torchlib))
        for module in (utils, exported_program, decomp_utils):
            module._collect_all_valid_cia_ops = lambda: set(operators())
    except AttributeError:  # another version has them elsewhere
        pass


class Decoder(torch.nn.Module):
    """A step of a decoder of transformers with its cache as plain tensors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, *past):
        from transformers.cache_utils import DynamicCache
        cache = DynamicCache([(past[i], past[i + 1]) for i in range(0, len(past), 2)])
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        flat = []
        for layer in out.past_key_values.layers:
            flat += [layer.keys, layer.values]
        return (out.logits, *flat)


def make_decoder(model, config, sizes, attention):
    """A Decoder of random weights and its configuration, by the names of transformers' classes."""
    import transformers
    c = getattr(transformers, config)(**sizes)
    c._attn_implementation = attention
    return Decoder(getattr(transformers, model)(c).eval()), c
