"""Kernels inside models: the text a model carries, JAX's custom-calls, operators of PyTorch and what they export to."""
import os
import tempfile
import unittest

import support

import numpy as np

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import xcc
from xcc.nki import TensorSpec


def have(name):
    try:
        return getattr(__import__(name), "__file__", None) is not None
    except ImportError:
        return False


@nki.jit
def softmax(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:128, 0:x.shape[1]]
    for i in nl.affine_range((x.shape[0] + 127) // 128):
        inside = i * 128 + p < x.shape[0]
        t = nl.load(x[i * 128 + p, f], mask=inside)
        e = nl.exp(t - nl.max(t, axis=1))
        nl.store(out[i * 128 + p, f], e / nl.sum(e, axis=1), mask=inside)
    return out


@nki.jit
def scaled(x, table, factor=2.0):
    """Two results, one of a row of the table; a constant of 128 numbers."""
    ramp = nl.load(nl.shared_constant(np.arange(128, dtype=np.float32).reshape(1, 128)))
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    z = nl.ndarray((4, 128), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.load(x) * factor)
    nl.store(z, nl.load(table) + ramp.broadcast_to((4, 128)))
    return y, z


def reference(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


HLO = """HloModule m
ENTRY main {
  x = f32[200,64]{1,0} parameter(0)
  d = f32[200,64]{1,0} add(x, x)
  ROOT y = f32[200,64]{1,0} custom-call(d), custom_call_target="%s"%s
}
"""


class Text(support.Case):
    x = np.random.default_rng(0).standard_normal((200, 64)).astype(np.float32)

    def test_carried_and_from_a_library(self):
        text = softmax.compile(TensorSpec((200, 64), np.float32)).assembly()
        self.assertNotIn(" wait ", text)
        config = ', backend_config={assembly = "%s"}' % text.replace('"', "\\22").replace("\n", "\\0A")
        model = xcc.load(xcc.compile((HLO % ("xcc.kernel", config)).encode(), auto_cast="none"))
        self.close(model(self.x), reference(2 * self.x))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lib.xasm")
            with open(path, "w") as f:
                f.write(text)
            for target in ("cpu", "trn1"):
                archive = xcc.compile((HLO % ("softmax", "")).encode(), auto_cast="none", kernels=path, target=target)
                self.close(xcc.load(archive)(self.x), reference(2 * self.x))
        with self.assertRaisesRegex(xcc.XccError, "'x' is f32.200,64., kernel 'softmax' takes f32.200,65."):
            other = softmax.compile(TensorSpec((200, 65), np.float32)).assembly()
            config = ', backend_config={assembly = "%s"}' % other.replace('"', "\\22").replace("\n", "\\0A")
            xcc.compile((HLO % ("xcc.kernel", config)).encode())

    def test_constants_are_in_the_text(self):
        text = scaled.compile(TensorSpec((8, 16), np.float32), TensorSpec((4, 128), np.float32)).assembly()
        self.assertNotIn("...", text)
        self.assertIn("126, 127}", text)


@unittest.skipUnless(have("jax"), "needs JAX")
class Jax(support.Case):
    def setUp(self):
        import jax

        rng = np.random.default_rng(1)
        self.x = rng.standard_normal((300, 64)).astype(np.float32)
        self.w = rng.standard_normal((64, 200)).astype(np.float32)
        self.f = lambda x, w: jax.numpy.tanh(softmax(x @ w)) + 1
        self.want = np.tanh(reference(self.x.astype(np.float64) @ self.w)) + 1

    def test_jit(self):
        import jax
        import xcc.jax

        self.close(jax.jit(self.f)(self.x, self.w), self.want, 1e-4, 1e-5)
        self.close(xcc.jax.jit(self.f)(self.x, self.w), self.want, 1e-4, 1e-5)
        archive = xcc.jax.aot(self.f, self.x, self.w, auto_cast="none")
        self.close(xcc.load(archive)(self.x, self.w), self.want, 1e-4, 1e-5)

    def test_files(self):
        import jax

        lowered = jax.jit(self.f).lower(self.x, self.w)
        files = {"m.hlo": lowered.as_text(dialect="hlo").encode(), "m.mlir": lowered.as_text().encode(),
                 "m.jaxexport": bytes(jax.export.export(jax.jit(self.f))(self.x, self.w).serialize())}
        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                path = os.path.join(folder, name)
                with open(path, "wb") as f:
                    f.write(data)
                self.close(xcc.load(xcc.compile(path, auto_cast="none"))(self.x, self.w), self.want, 1e-4, 1e-5)

    def test_several_results(self):
        import jax

        x, table = np.ones((8, 16), np.float32), np.ones((4, 128), np.float32)
        y, z = jax.jit(lambda a, b: scaled(a, b, factor=3.0))(x, table)
        self.same(y, 3 * x)
        self.same(z, table + np.arange(128))

    def test_gradient_and_vmap(self):
        import jax
        import xcc.jax

        @jax.custom_vjp
        def f(x):
            return softmax(x)

        f.defvjp(lambda x: (softmax(x),) * 2, lambda y, g: (y * (g - (g * y).sum(1, keepdims=True)),))
        got = jax.grad(lambda w: (f(self.x @ w) ** 2).sum())
        want = jax.jit(jax.grad(lambda w: (jax.nn.softmax(self.x @ w, axis=1) ** 2).sum()))(self.w)
        self.close(jax.jit(got)(self.w), want, 1e-3, 1e-4)
        self.close(xcc.jax.jit(got)(self.w), want, 1e-3, 1e-4)
        both = np.stack([self.x, 2 * self.x])
        self.close(jax.jit(jax.vmap(softmax))(both), reference(both))

    def test_wrong_shapes_raise(self):
        import jax

        with self.assertRaisesRegex(Exception, "test_calls.py"):
            jax.jit(lambda x: scaled(x, x))(np.ones((300, 16), np.float32))


@unittest.skipUnless(have("torch"), "needs PyTorch")
class Torch(support.Case):
    @classmethod
    def setUpClass(cls):
        import torch
        import xcc.torch

        cls.op = op = xcc.torch.custom_op("xcc_test::softmax", softmax)

        def backward(ctx, g):
            y, = ctx.saved_tensors
            return y * (g - (g * y).sum(1, keepdim=True))

        op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))

        class Net(torch.nn.Module):
            def __init__(self, attention):
                super().__init__()
                self.a, self.b, self.attention = torch.nn.Linear(64, 100), torch.nn.Linear(100, 10), attention

            def forward(self, x):
                return self.b(self.attention(self.a(x)))

        torch.manual_seed(0)
        cls.net, cls.plain = Net(op), Net(lambda x: torch.softmax(x, 1))
        cls.plain.load_state_dict(cls.net.state_dict())
        cls.x = torch.randn(200, 64)

    def test_training_step(self):
        import torch

        for net in (self.net, self.plain):
            optimizer = torch.optim.SGD(net.parameters(), 0.5)
            for _ in range(3):
                optimizer.zero_grad()
                (net(self.x) ** 2).mean().backward()
                optimizer.step()
        for p, q in zip(self.net.parameters(), self.plain.parameters()):
            self.close(p.detach(), q.detach())

    def test_autograd_function(self):
        """A kernel that is called in torch.autograd.Function, with a backward by hand."""
        import torch

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, table):
                return scaled(x, table)[0]

            @staticmethod
            def backward(ctx, g):
                return 2 * g, None

        x = torch.ones(8, 16, requires_grad=True)
        Twice.apply(x, torch.ones(4, 128)).sum().backward()
        self.same(x.grad, np.full((8, 16), 2))

    def test_operator_is_sound(self):
        import torch

        torch.library.opcheck(self.op.op, (self.x.clone().requires_grad_(),))

    def exported(self, dynamo):
        import onnx
        import xcc.torch

        data = xcc.torch.to_onnx(self.net, (self.x,), dynamo=dynamo)
        nodes = onnx.load_from_string(data).graph.node
        self.assertEqual([n.op_type for n in nodes if n.domain == "xcc.kernel"], ["softmax"])
        self.close(xcc.load(xcc.compile(data, auto_cast="none"))(self.x), self.net(self.x).detach())

    @unittest.skipUnless(have("onnx"), "needs onnx")
    def test_export_torchscript(self):
        self.exported(False)

    @unittest.skipUnless(have("onnx") and have("onnxscript"), "needs onnx and onnxscript")
    def test_export_dynamo(self):
        self.exported(True)

    def test_a_traced_call_says_what_to_do(self):
        import torch
        import xcc.torch

        class Direct(torch.nn.Module):
            def forward(self, x):
                return softmax(x)

        with self.assertRaisesRegex(Exception, "xcc.torch.custom_op"):
            xcc.torch.to_onnx(Direct(), (self.x,))


if __name__ == "__main__":
    support.main()
