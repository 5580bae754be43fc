"""xcc.compile, xcc.load, Model: on the digit classifier of the tree, and on functions of JAX, PyTorch and scikit-learn where these
packages are installed."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import support  # noqa: F401 - puts the package on the path

import numpy as np

import xcc

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DIGITS = os.path.join(ROOT, "models", "digits", "digits.onnx")
SEVEN = np.load(os.path.join(ROOT, "models", "digits", "digit_7.npy"))


def have(name):
    try:
        # without a file it is a folder of another package: libonnx-testdata makes one named onnx
        return getattr(__import__(name), "__file__", None) is not None
    except ImportError:
        return False


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.archive = xcc.compile(DIGITS, auto_cast="none")

    def test_arrays_in_arrays_out(self):
        with xcc.load(self.archive) as model:
            y = model(SEVEN)
            self.assertEqual(y.shape, (1, 10))
            self.assertEqual(int(np.argmax(y)), 7)
            named = model.run({"image": np.concatenate([SEVEN, SEVEN])})
            self.assertEqual(list(named), ["probabilities"])
            np.testing.assert_array_equal(named["probabilities"][1], y[0])
            np.testing.assert_array_equal(model(image=SEVEN), y)
            strided = np.zeros((1, 1, 28, 56), np.float32)[..., ::2]
            strided[...] = SEVEN
            np.testing.assert_array_equal(model(strided), y)

    def test_results_stay_after_the_next_run_and_after_close(self):
        model = xcc.load(xcc.compile(DIGITS, shape="batch=1"))
        first = model(SEVEN)
        copy = first.copy()
        model(np.zeros_like(SEVEN))
        model.close()
        np.testing.assert_array_equal(first, copy)
        with self.assertRaisesRegex(xcc.XccError, "closed"):
            model(SEVEN)
        with self.assertRaisesRegex(xcc.XccError, "closed"):
            model.measure([SEVEN], 1)

    def test_each_run_has_its_own_array(self):
        """The description of an input is kept from run to run where its shape and type stay; what it holds and all else is new."""
        other = np.ascontiguousarray(SEVEN[..., ::-1])
        fixed = other.copy()
        fixed.flags.writeable = False
        strided = np.zeros((1, 1, 28, 56), np.float32)[..., ::2]
        strided[...] = other
        with xcc.load(self.archive) as fresh:
            expected = {1: fresh(SEVEN), 2: fresh(np.concatenate([other, SEVEN]))}
        with xcc.load(self.archive) as model:
            np.testing.assert_array_equal(model(SEVEN), expected[1])
            for x in (other, fixed, strided, other.astype(other.dtype.newbyteorder()), other.tolist()):
                np.testing.assert_array_equal(model(x), expected[2][:1])
                np.testing.assert_array_equal(model(SEVEN), expected[1])
                np.testing.assert_array_equal(model(np.concatenate([other, SEVEN])), expected[2])
            for wrong, message in ((SEVEN.astype(np.float64), "f64"), (SEVEN[0], "expected"), (SEVEN.astype(object), "str")):
                with self.assertRaisesRegex(xcc.XccError, message):
                    model(wrong)
                np.testing.assert_array_equal(model(SEVEN), expected[1])
            with self.assertRaisesRegex(xcc.XccError, "there is no 'picture'; 'image' is missing"):
                model.run({"picture": SEVEN})

    def test_arrays_that_only_export_dlpack(self):
        class Exporter:
            def __dlpack__(self, **options):
                return SEVEN.__dlpack__(**options)

            def __dlpack_device__(self):
                return SEVEN.__dlpack_device__()

        if not hasattr(np, "from_dlpack"):
            self.skipTest("this NumPy has no from_dlpack")
        with xcc.load(self.archive) as model:
            np.testing.assert_array_equal(model.run([Exporter()])[0], model.run([SEVEN])[0])

    def test_what_a_model_says(self):
        model = xcc.load(self.archive, threads=1)
        self.assertEqual(model.threads, 1)
        self.assertEqual((model.inputs[0].name, model.inputs[0].dtype, model.inputs[0].shape), ("image", "f32", ("batch", 1, 28, 28)))
        self.assertFalse(model.inputs[0].is_static)

    def test_messages_are_the_command_line_s(self):
        model = xcc.load(self.archive)
        with self.assertRaisesRegex(xcc.XccError, r"input 'image' is f32\[1,1,3,28\], expected f32\[batch,1,28,28\]"):
            model(SEVEN[:, :, :3])
        with self.assertRaisesRegex(xcc.XccError, "there is no 'imge'; 'image' is missing"):
            model.run({"imge": SEVEN})
        with self.assertRaisesRegex(xcc.XccError, "0 inputs given, expected 1"):
            model()
        with self.assertRaisesRegex(xcc.XccError, "missing.onnx: cannot open"):
            xcc.compile("missing.onnx")
        with self.assertRaises(xcc.XccError):
            xcc.load(b"no archive")
        with self.assertRaises(xcc.XccError):
            xcc.compile(DIGITS, no_such_flag=True)
        with self.assertRaises(TypeError):
            xcc.compile(3)

    def test_bytes_are_known_by_their_content(self):
        text = b"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { %y = stablehlo.add %x, %x : tensor<2xf32>\n return %y : tensor<2xf32> }"
        with xcc.load(xcc.compile(text, auto_cast="none")) as model:
            np.testing.assert_array_equal(model(np.array([1, 2], np.float32)), [2, 4])
        with tempfile.TemporaryDirectory() as folder:
            named_wrongly = os.path.join(folder, "model.onnx")
            with open(named_wrongly, "wb") as f:
                f.write(text)
            with xcc.load(xcc.compile(named_wrongly, auto_cast="none")) as model:
                np.testing.assert_array_equal(model(np.array([1, 2], np.float32)), [2, 4])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "digits.neff")
            self.assertIsNone(xcc.compile(DIGITS, path, auto_cast="none"))
            with open(path, "rb") as f:
                self.assertEqual(f.read(), self.archive)
            self.assertEqual(os.listdir(folder), ["digits.neff"])
            self.assertEqual(int(np.argmax(xcc.load(path)(SEVEN))), 7)

    def test_dlpack(self):
        y = xcc.load(self.archive)(SEVEN)
        np.testing.assert_array_equal(np.from_dlpack(y), y)

    def test_threads_of_python_share_an_archive(self):
        found = []

        def work():
            model = xcc.load(self.archive, threads=1)
            found.extend(int(np.argmax(model(SEVEN))) for _ in range(5))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [7] * 20)

    def test_command_line(self):
        env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "frontend", "python"))
        done = subprocess.run([sys.executable, "-m", "xcc", "xdump", "--help"], capture_output=True, text=True, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("xdump", done.stdout)


DEBIAN = "/usr/share/libonnx-testdata/data/node"


@unittest.skipUnless(os.path.isdir(DEBIAN), "libonnx-testdata is not installed")
class Containers(unittest.TestCase):
    def load(self, name):
        return xcc.load(xcc.compile(os.path.join(DEBIAN, name, "model.onnx"), auto_cast="none"))

    def test_a_sequence_is_a_list(self):
        model = self.load("test_sequence_insert_at_front")
        first, second, new = (np.full(3, v, np.int64) for v in (1, 2, 3))
        (y,) = model.run([[first, second], new, np.zeros(1, np.int64)])
        self.assertEqual([float(a[0]) for a in y], [3, 1, 2])
        with self.assertRaisesRegex(xcc.XccError, "expected a list"):
            model.run([first, new, np.zeros(1, np.int64)])

    def test_an_optional_is_a_value_or_none(self):
        model = self.load("test_optional_has_element")
        self.assertTrue(bool(model(np.ones(4, np.float32))))
        self.assertFalse(bool(self.load("test_optional_has_element_empty")(None)))


class Maps(unittest.TestCase):
    def setUp(self):
        self.model = xcc.load(xcc.compile(os.path.join(ROOT, "test", "onnx", "ml", "dictvec_s", "model.onnx"), auto_cast="none"))

    def test_a_map_is_a_dict(self):
        np.testing.assert_array_equal(self.model({"b": 2, "q": 1.0, "a": np.float32(-1)}), [[-1, 2, 0, 0]])
        np.testing.assert_array_equal(self.model.run({"m": {"d": 0.5}})["y"], [[0, 0, 0, 0.5]])
        np.testing.assert_array_equal(self.model({}), [[0, 0, 0, 0]])

    def test_probabilities_are_dicts_of_numbers(self):
        for name, labels in (("zipmap_s", ["x", "y", "z"]), ("zipmap_i", [3, 1, 2])):
            model = xcc.load(xcc.compile(os.path.join(ROOT, "test", "onnx", "ml", name, "model.onnx"), auto_cast="none"))
            rows = model(np.arange(6, dtype=np.float32).reshape(2, 3))
            self.assertEqual(rows, [dict(zip(labels, [0.0, 1.0, 2.0])), dict(zip(labels, [3.0, 4.0, 5.0]))])
            self.assertIs(type(rows[0][labels[0]]), float)

    def test_what_is_no_map_is_refused(self):
        for wrong, why in ((2.0, "expected a dict"), ({"a": "x"}, "no f32"), ({1: 2.0}, "no str")):
            with self.assertRaisesRegex(xcc.XccError, why):
                self.model(wrong)


@unittest.skipUnless(have("jax"), "jax is not installed")
class Jax(unittest.TestCase):
    def test_jit_of_a_tree_of_arrays(self):
        import jax.numpy as jnp

        @xcc.jax.jit
        def f(x, p):
            return {"y": jnp.tanh(x @ p["w"]) + p["b"], "n": x.sum()}

        x, p = np.ones((3, 4), np.float32), {"w": jnp.full((4, 2), 0.25), "b": jnp.arange(2.0)}
        for rows in (3, 5, 3):
            y = f(np.ones((rows, 4), np.float32), p)
            np.testing.assert_allclose(y["y"], np.tanh(np.ones((rows, 2))) + [0, 1], rtol=1e-6)
            self.assertEqual(float(y["n"]), 4 * rows)
        del x

    def test_ahead_of_time(self):
        import jax
        import jax.numpy as jnp

        archive = xcc.jax.aot(lambda x: jnp.sin(x) * 2, jax.ShapeDtypeStruct((5,), "float32"), auto_cast="none")
        x = np.arange(5, dtype=np.float32)
        np.testing.assert_allclose(xcc.load(archive)(x), np.sin(x) * 2, rtol=1e-6)

    def test_bfloat16(self):
        import jax.numpy as jnp

        y = xcc.jax.jit(lambda x: x * 2)(jnp.arange(4, dtype=jnp.bfloat16))
        self.assertEqual(y.dtype, jnp.bfloat16)
        np.testing.assert_array_equal(np.asarray(y, np.float32), [0, 2, 4, 6])


@unittest.skipUnless(have("torch") and have("onnx"), "torch or onnx is not installed")
class Torch(unittest.TestCase):
    def test_torch_is_imported_late(self) -> None:
        """xcc.torch alone costs no import of PyTorch; its name is there for torch.compile all the same."""
        program = ("import sys, xcc.torch\nassert 'torch' not in sys.modules\nimport torch._dynamo.backends.registry as r\n"
                   "assert 'xcc' in r.list_backends(exclude_tags=())")
        subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def test_export_and_backend(self):
        import torch

        import xcc.torch  # noqa: F401 - gives torch.compile the name

        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).eval()
        x = torch.randn(3, 8)
        with torch.no_grad():
            want = net(x)
            torch.testing.assert_close(xcc.load(xcc.torch.export(net, (x,), auto_cast="none"))(x), want)
            torch.testing.assert_close(torch.compile(net, backend="xcc")(x), want)
            torch._dynamo.reset()
            wide = xcc.load(xcc.torch.export(net, (x,), {"x": {0: "batch"}}, ["x"], auto_cast="none"))
            self.assertEqual(wide.inputs[0].shape, ("batch", 8))
            torch.testing.assert_close(wide(torch.cat([x, x]))[3:], want)
        y = torch.compile(net, backend="xcc")(x)
        torch.testing.assert_close(y.detach(), want)
        with self.assertRaisesRegex(xcc.XccError, "no gradients"):
            y.sum().backward()


DECODER = """graph "decoder" symbols(p) (%0 "q": f32[1,2,1,4], %1 "k": f32[1,2,1,4], %2 "past": f32[1,2,p,4]) {
  %3 = concat(%2, %1) {axis=2}
  %4 = sdpa(%0, %3, %3) {scale=0.5}
  return(%4, %3)
} outputs("y", "present")
"""


class States(unittest.TestCase):
    def test_steps_in_place(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "decoder.xir"), "w") as f:
                f.write(DECODER)
            archive = xcc.compile(f.name, auto_cast="none")
        random = np.random.RandomState(0)
        copied, bound = xcc.load(archive), xcc.load(archive)
        self.assertEqual([o.grows_from for o in bound.outputs], [None, 2])
        bound.bind_state("past", "present", 4)
        past = random.rand(1, 2, 1, 4).astype(np.float32)
        given = {"past": past}
        for _ in range(3):
            new = {n: random.rand(1, 2, 1, 4).astype(np.float32) for n in "qk"}
            want = copied.run(dict(new, past=past))
            got = bound.run(dict(new, **given))
            np.testing.assert_array_equal(got["y"], want["y"])
            self.assertIsNone(got["present"])
            past, given = want["present"], {}
        np.testing.assert_array_equal(bound.state("present"), past)
        with self.assertRaisesRegex(xcc.XccError, "has room for 4"):
            bound.run(new)
        with self.assertRaisesRegex(xcc.XccError, "not known to be input 'q'"):
            copied.bind_state("q", 0, 4)
        with self.assertRaisesRegex(xcc.XccError, "there is no 'none'"):
            copied.bind_state("none", 0, 4)
        with self.assertRaisesRegex(xcc.XccError, "there is no 2 among"):
            copied.bind_state("past", 2, 4)
        with self.assertRaisesRegex(xcc.XccError, "there is no 'none'"):
            bound.state("none")
        with self.assertRaisesRegex(xcc.XccError, "'y' is not bound"):
            bound.state("y")


@unittest.skipUnless(have("skl2onnx") and have("sklearn"), "scikit-learn or skl2onnx is not installed")
class ScikitLearn(unittest.TestCase):
    def test_pipeline(self):
        from skl2onnx import to_onnx
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        random = np.random.RandomState(0)
        x = random.rand(40, 3).astype(np.float32)
        pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(x, x @ [1.0, -2.0, 3.0])
        model = xcc.load(xcc.compile(to_onnx(pipeline, x[:1]), auto_cast="none"))
        np.testing.assert_allclose(model(x).ravel(), pipeline.predict(x).ravel(), rtol=1e-4, atol=1e-4)

    def test_classifier(self):
        from skl2onnx import to_onnx
        from sklearn.linear_model import LogisticRegression

        x = np.random.RandomState(0).rand(30, 3).astype(np.float32)
        fitted = LogisticRegression().fit(x, np.array(["no", "yes", "maybe"])[np.arange(30) % 3])
        labels, rows = xcc.load(xcc.compile(to_onnx(fitted, x[:1]), auto_cast="none"))(x[:4])
        self.assertEqual(labels.tolist(), fitted.predict(x[:4]).tolist())
        np.testing.assert_allclose([[row[c] for c in fitted.classes_] for row in rows], fitted.predict_proba(x[:4]), rtol=1e-5)


@unittest.skipUnless(have("onnx"), "onnx is not installed")
class OnnxBackend(unittest.TestCase):
    def test_prepare_and_run(self):
        import onnx

        from xcc.onnx_backend import XccBackend, supports_device

        self.assertTrue(supports_device("CPU"))
        (y,) = XccBackend.prepare(onnx.load(DIGITS)).run([SEVEN])
        self.assertEqual(int(np.argmax(y)), 7)


if __name__ == "__main__":
    unittest.main()
