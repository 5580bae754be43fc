"""ONNX's backend interface (onnx.backend.base): prepare, run_model, supports_device."""
from __future__ import annotations

from typing import Any, Tuple

from onnx.backend.base import Backend, BackendRep

from .compiler import compile as _compile
from .model import Model


class XccRep(BackendRep):
    """A compiled model."""

    def __init__(self, model: Model):
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        if not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        return tuple(self.model.run(list(inputs)))


class XccBackend(Backend):
    """Compiles a model with matrix products as the model states them (auto_cast="none", unless given)."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **flags: Any) -> XccRep:
        flags.setdefault("auto_cast", "none")
        return XccRep(Model(_compile(model, **flags)))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **flags: Any) -> Tuple[Any, ...]:
        return cls.prepare(model, device, **flags).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"


prepare = XccBackend.prepare
run_model = XccBackend.run_model
supports_device = XccBackend.supports_device
