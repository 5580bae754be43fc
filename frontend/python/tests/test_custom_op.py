"""Operators of one's own from Python: xcc.register_op, and AWS's custom C++ operators by xcc.custom_op.load."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec

import numpy as np

import support  # noqa: F401 - finds the package
import xcc

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CXX, CC = os.environ.get("CXX", "c++").split()[0], os.environ.get("CC", "cc").split()[0]
try:
    import torch
except ImportError:
    torch = None


def giou(a, b):
    """The formula, in float32 by NumPy."""
    low, high = np.maximum, np.minimum
    inter = low(high(a[..., 2], b[..., 2]) - low(a[..., 0], b[..., 0]), 0) * low(high(a[..., 3], b[..., 3]) - low(a[..., 1], b[..., 1]), 0)
    area = [(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (a, b)]
    union = area[0] + area[1] - inter
    hull = low(low(a[..., 2], b[..., 2]) - high(a[..., 0], b[..., 0]), 0) * low(low(a[..., 3], b[..., 3]) - high(a[..., 1], b[..., 1]), 0)
    return inter / low(union, np.float32(1e-5)) - (hull - union) / low(hull, np.float32(1e-5))


def boxes(rng, *shape):
    corner = rng.random(shape + (2,), np.float32)
    return np.concatenate([corner, corner + rng.random(shape + (2,), np.float32)], -1).astype(np.float32)


@unittest.skipUnless(shutil.which(CXX) and shutil.which("nm"), "no C++ compiler")
class NeuronForm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        source = [os.path.join(HERE, "custom_op", f) for f in ("compute.cpp", "plain.cpp", "shape.cpp")]
        cls.ops = xcc.custom_op.load(name="test", compute_srcs=source[:2], shape_srcs=source[2:], build_directory=cls.folder, extra_cflags=["-O1"])
        folder = os.path.join(ROOT, "models", "giou")
        cls.giou = {multicore: xcc.custom_op.load(
            name="giou%d" % multicore, compute_srcs=[os.path.join(folder, "giou.cpp")], shape_srcs=[os.path.join(folder, "shape.cpp")],
            build_directory=cls.folder, multicore=multicore, extra_cflags=["-O1"]) for multicore in (False, True)}

    @classmethod
    def tearDownClass(cls):
        xcc.custom_op.registered.clear()
        shutil.rmtree(cls.folder)

    def close(self, got, expected, rtol=2e-6):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6)
        self.assertEqual(got.dtype, expected.dtype)

    def test_giou(self):
        rng = np.random.default_rng(1)
        for shape in ((16, 64), (11, 300), (3, 1), (1, 1000)):
            a, b = boxes(rng, *shape), boxes(rng, *shape)
            one, eight = (self.giou[m].giou(a, b) for m in (False, True))
            self.close(one, giou(a, b))
            np.testing.assert_array_equal(one, eight)

    def test_cores(self):
        x = np.zeros(64, np.float32)
        self.assertEqual(self.ops.who(x).tolist(), [0.0] * 64)
        eight = xcc.custom_op.load(name="eight", compute_srcs=[os.path.join(HERE, "custom_op", "compute.cpp")],
                                   shape_srcs=[os.path.join(HERE, "custom_op", "shape.cpp")], build_directory=self.folder, multicore=True,
                                   extra_cflags=["-O1"])
        xcc.custom_op.registered.remove(eight.path)
        self.assertEqual(eight.who(x).tolist(), np.repeat(np.arange(8.0), 8).tolist())
        with self.assertRaisesRegex(xcc.XccError, "with multicore the result is get_dst_tensor"):
            eight.relu(x)

    def test_accessors(self):
        x = np.random.default_rng(0).normal(size=(5, 1031)).astype(np.float32)
        self.close(self.ops.relu(x), np.maximum(x, 0))
        np.testing.assert_array_equal(self.ops.turn(x), x.T)

    def test_one_header(self):
        x, y = (np.random.default_rng(n).normal(size=(4, 50)).astype(np.float32) for n in range(2))
        np.testing.assert_array_equal(self.ops.plain(x, y), x - y)

    def test_many_shapes(self):
        for n in range(1, 80):
            self.ops.relu(np.ones(n, np.float32))
        self.assertLessEqual(len(self.ops.relu._models), 64)

    def test_numbers(self):
        x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
        self.close(self.ops.affine(x, 0.5, 3, 2.0), (x * np.float32(0.5) + 3) ** 2)

    def test_scalars(self):
        x = np.arange(-3, 3, dtype=np.int32)
        for s in (3, 1.5, 2.0, np.float32(0.5), np.int64(-2)):
            expected = x * s if isinstance(s, (int, np.integer)) else (x * float(s)).astype(np.float32)
            self.close(self.ops.times(x, s), expected.astype(np.int32) if isinstance(s, (int, np.integer)) else expected)
        if torch is None or not find_spec("onnx"):
            return
        xcc.register_op(self.ops.path)

        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.ops.xop_test.times(x, 3), torch.ops.xop_test.times(x, 1.5)

        for dynamo in (False, True) if find_spec("onnxscript") else (False,):
            whole, part = xcc.load(xcc.torch.export(Net(), (torch.from_numpy(x),), dynamo=dynamo, auto_cast="none"))(x)
            self.close(whole, x * np.int32(3))
            self.close(part, (x * 1.5).astype(np.float32))

    def test_functions(self):
        x = np.linspace(0.1, 3, 700, dtype=np.float32)
        expected = [np.abs(x), np.ceil(x), np.floor(x), np.sin(x), np.cos(x), np.tan(x), np.log(x), np.log2(x), np.log10(x), np.exp(x),
                    np.clip(x, 0.5, 1.5), np.float32(2) ** x, x - 3, x / 4, np.exp(x)]
        for which, y in enumerate(expected):
            self.close(self.ops.unary(x, which), y.astype(np.float32))
        y = np.linspace(2, 0.5, 700, dtype=np.float32)
        for which, z in enumerate([x + 2 * y, x - y, x * y, x / y, x ** y]):
            self.close(self.ops.binary(x, y, which), z)
        for dtype in (np.int32, np.int8, np.uint8, np.int16, np.int64):
            i, k = np.arange(1, 100, dtype=dtype), np.arange(99, 0, -1).astype(dtype)
            for which, z in {0: i + 2 * k, 1: i - k, 2: i * k, 5: i & k, 6: i | k, 7: ~i, 8: i & 6}.items():
                np.testing.assert_array_equal(self.ops.binary(i, k, which), z.astype(dtype))
        two = self.ops.both(x)
        self.close(two[0], x * 2)
        self.close(two[1], x + 1)
        half = np.linspace(-60000, 60000, 5001).astype(np.float16)
        np.testing.assert_array_equal(self.ops.both(half)[1], (half.astype(np.float32) + 1).astype(np.float16))
        np.testing.assert_array_equal(self.ops.binary(np.ones((3, 4), np.float32), np.ones((3, 4), np.float32), 9), np.eye(3, 4, dtype=np.float32))

    def test_failures(self):
        x = np.ones(16, np.float32)
        for how, text in enumerate(["a stream accessor is opened on a tensor that another one writes", "goes past the end of its tensor",
                                    "copies elements 12 to 20 of a tensor of 16", "not of the size and type that the shape function says",
                                    "accessor of type Int on a tensor of Float", "the pool has 16 KB", "tensors of different sizes"]):
            with self.assertRaisesRegex(xcc.XccError, text):
                self.ops.wrong(x, how)
        with self.assertRaisesRegex(xcc.XccError, "no function 'not_there'"):
            self.ops.nowhere(x)
        with self.assertRaisesRegex(xcc.XccError, "parameters of 'unary' are not those of its shape function"):
            self.ops.other(x)
        with self.assertRaisesRegex(xcc.XccError, "boxes are \\[batch, number, 4\\]"):
            self.giou[True].giou(x, x)
        with self.assertRaisesRegex(xcc.XccError, "failed:"):
            xcc.custom_op.load(name="bad", compute_srcs=[__file__], shape_srcs=[], build_directory=self.folder)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch(self):
        rng = np.random.default_rng(2)
        a, b = (torch.from_numpy(boxes(rng, 6, 32)) for _ in range(2))
        expected = torch.ops.my_ops.giou(a, b)
        self.close(expected.numpy(), giou(a.numpy(), b.numpy()))
        ops = self.ops

        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return ops.relu(x)

            @staticmethod
            def backward(ctx, gradient):
                return gradient * (ctx.saved_tensors[0] > 0)

        x = torch.randn(4, 8, requires_grad=True)
        Relu.apply(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), (x.detach().numpy() > 0).astype(np.float32))

        class Loss(torch.nn.Module):
            def forward(self, p, t):
                return 1 - torch.ops.my_ops.giou(p * 2, t * 2).mean(1)

        try:
            import onnx  # noqa: F401 - PyTorch's exporter needs it
        except ImportError:
            self.skipTest("no onnx")
        archive = xcc.torch.export(Loss(), (a, b), dynamic_axes={"p": {0: "batch"}, "t": {0: "batch"}}, input_names=["p", "t"],
                                   auto_cast="none")
        for n in (6, 9):
            p, t = boxes(rng, n, 32), boxes(rng, n, 32)
            np.testing.assert_allclose(xcc.load(archive)(p, t), 1 - giou(p * 2, t * 2).mean(1), rtol=1e-5, atol=1e-6)

    @unittest.skipUnless(torch and find_spec("onnxscript"), "no PyTorch or onnxscript")
    def test_torch_exporter(self):
        """PyTorch's exporter of torch.export, the default since 2.9, with sizes that stay open; numbers, two results."""
        class Net(torch.nn.Module):
            def forward(self, x):
                a, b = torch.ops.xop_test.both(torch.ops.xop_test.affine(x, 0.5, 3, 2.0))
                return torch.ops.xop_test.turn(a + 1), b

        xcc.register_op(self.ops.path)  # the last one loaded has the names
        x = torch.arange(12.0).reshape(3, 4)
        wide = torch.arange(20.0).reshape(5, 4)
        program = torch.onnx.export(Net(), (x,), dynamo=True, dynamic_shapes={"x": {0: torch.export.Dim("rows")}}, verbose=False)
        model = xcc.load(xcc.compile(program.model_proto.SerializeToString(), auto_cast="none"))
        for v in (x, wide):
            for got, expected in zip(model(v.numpy()), Net()(v)):
                self.close(got, expected.numpy())
        both = torch.compile(Net(), backend="eager", dynamic=True)(wide)
        self.close(both[0].numpy(), Net()(wide)[0].numpy())


class Names(unittest.TestCase):
    def test_torch_neuronx(self):
        """AWS's build.py and my_ops.py name the module so."""
        import torch_neuronx
        from torch_neuronx.xla_impl import custom_op
        import torch_neuronx.xla_impl.custom_op as same
        if not os.path.realpath(torch_neuronx.__file__).startswith(os.path.realpath(os.path.join(HERE, "..", "compat"))):
            self.skipTest("AWS's own package is installed")
        self.assertIs(custom_op, xcc.custom_op)
        self.assertIs(same, xcc.custom_op)


@unittest.skipUnless(shutil.which(CC), "no C compiler")
class Register(unittest.TestCase):
    def test_register(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ops.so")
            subprocess.run([CC, "-O2", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "runtime"),
                            os.path.join(ROOT, "test", "e2e", "custom_op.c"), "-o", path], check=True)
            text = b'graph "g" symbols(n) (%0 "x": f32[n]) {\n  %1 = custom(%0) {custom_operator="test::Scale"}\n  return(%1)\n} outputs("y")\n'
            model = os.path.join(folder, "g.xir")
            with open(model, "wb") as f:
                f.write(text)
            with self.assertRaisesRegex(xcc.XccError, "no library has operator test::Scale"):
                xcc.compile(model)
            archive, x = xcc.compile(model, custom_op=path), np.arange(5, dtype=np.float32)
            with self.assertRaisesRegex(xcc.XccError, "it needs code that is in the archive, test::Scale"):
                xcc.load(archive)
            self.assertEqual(xcc.load(archive, allow_code=True)(x).tolist(), [0, 2, 4, 6, 8])
            self.assertEqual(xcc.load(archive, custom_ops=[path])(x).tolist(), [0, 2, 4, 6, 8])
            ops = xcc.register_op(path)
            self.assertEqual(xcc.load(xcc.compile(model))(x).tolist(), [0, 2, 4, 6, 8])
            self.assertEqual(ops.Scale(x, factor=3).tolist(), [0, 3, 6, 9, 12])
            self.assertEqual(ops.Positive(x - 2).tolist(), [1, 2])
            self.assertEqual(ops.Biased(None, x).tolist(), [0, 1, 2, 3, 4])  # an operand left out
            self.assertEqual(ops.Biased(x, x).tolist(), [0, 2, 4, 6, 8])
            xcc.custom_op.registered.remove(ops.path)

    CALLS = """
import sys, xcc
ops = xcc.register_op(sys.argv[1])
import torch
x = torch.arange(5.0)
t = torch.ops.my_test
assert t.Scale(x).tolist() == [0, 2, 4, 6, 8]                      # registered before PyTorch was imported, of domain my.test
assert t.Biased(None, x).tolist() == [0, 1, 2, 3, 4]               # an operand left out
total, count = t.Sum([x, x, x])
assert total.tolist() == [0, 3, 6, 9, 12] and int(count[0]) == 3   # any number of operands
class Net(torch.nn.Module):
    def forward(self, x):
        return t.Biased(None, t.Sum([x, t.Scale(x, 5.0)])[0])
for dynamo in (False, True) if len(sys.argv) > 2 else (False,):
    model = xcc.load(xcc.torch.export(Net(), (x,), input_names=["x"], dynamo=dynamo, auto_cast="none"))
    assert model(x.numpy()).tolist() == [0, 6, 12, 18, 24], dynamo
"""

    @unittest.skipUnless(find_spec("torch") and find_spec("onnx"), "no PyTorch or onnx")
    def test_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            path, source = os.path.join(folder, "ops.so"), os.path.join(ROOT, "test", "e2e", "custom_op.c")
            with open(source) as f:
                text = f.read().replace('.domain = "test"', '.domain = "my.test"')
            subprocess.run([CC, "-O2", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "runtime"), "-xc", "-", "-o", path],
                           input=text.encode(), check=True)
            subprocess.run([sys.executable, "-c", self.CALLS, path] + ["dynamo"] * bool(find_spec("onnxscript")), check=True,
                           env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))


if __name__ == "__main__":
    unittest.main()
