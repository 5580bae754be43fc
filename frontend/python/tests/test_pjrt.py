"""JAX_PLATFORMS=xcc: JAX itself on the PJRT plug-in, beside JAX's CPU backend. Skipped without JAX; training without Flax and Optax."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

os.environ["JAX_PLATFORMS"] = "xcc,cpu"  # the first is the default
HERE = os.path.dirname(os.path.abspath(__file__))
JAX_TESTS = os.path.join(HERE, "..", "..", "..", "scripts", "jax-tests")
sys.path.insert(0, os.path.dirname(HERE))

import numpy as np


def installed(*names):
    return all(importlib.util.find_spec(n) for n in names)


if installed("jax"):
    import jax
    import jax.numpy as jnp


@unittest.skipUnless(installed("jax"), "JAX is not installed")
class Pjrt(unittest.TestCase):
    def on_cpu(self, f, *args):
        with jax.default_device(jax.devices("cpu")[0]):
            return f(*args)

    def same(self, f, *args, tol=1e-5):
        got, want = jax.jit(f)(*args), self.on_cpu(jax.jit(f), *args)
        for g, w in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(want)):
            self.assertEqual((g.shape, g.dtype), (w.shape, w.dtype))
            self.assertEqual(list(g.devices())[0].platform, "xcc")
            np.testing.assert_allclose(np.asarray(g).astype(np.float64), np.asarray(w).astype(np.float64), rtol=tol, atol=tol)

    def test_device(self):
        self.assertEqual([d.platform for d in jax.devices()], ["xcc"])
        self.assertEqual(jax.devices()[0].id, 0)
        self.assertTrue(repr(jax.devices()[0]))

    def test_who_does_not_ask_gets_the_cpu(self):
        environment = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
        environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(HERE), environment.get("PYTHONPATH", "")])
        said = subprocess.run([sys.executable, "-c", "import jax; print(jax.default_backend())"], env=environment,
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertNotEqual(said.strip(), "xcc")

    def test_programs(self):
        x = np.random.RandomState(0).randn(5, 7).astype("float32")
        self.same(lambda a: jnp.tanh(a @ a.T).sum(0), x)
        self.same(lambda a: jax.lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(7), a), x)
        self.same(lambda a: jax.grad(lambda b: jnp.sum(jax.nn.softmax(b) ** 2))(a), x)
        self.same(lambda a: jnp.sort(a, axis=1)[:, ::2], x)
        self.same(lambda a: jnp.linalg.svd(a, compute_uv=False), x)
        self.same(lambda k: jax.random.normal(k, (4, 3)), jax.random.PRNGKey(1))
        self.same(lambda a: (a, a, jnp.zeros((0, 3)), 3), x)  # an argument as a result, twice; nothing; a constant

    def test_callbacks_are_refused_with_a_way_out(self):
        def prints(x):
            jax.debug.print("{x}", x=x)
            return x + 1

        def calls(x):
            return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), x)

        for f, words in ((prints, "jax.debug.print calls Python .* print them outside of jit"), (calls, "jax.pure_callback calls Python .* outside of jit")):
            with self.assertRaisesRegex(NotImplementedError, words):
                jax.jit(f)(np.float32(1))
        x = jax.device_put(np.float32(1), jax.devices("cpu")[0])  # as the message says
        np.testing.assert_allclose(jax.jit(calls)(x), np.sin(1), rtol=1e-6)

    def test_many_programs_in_many_threads(self):
        import concurrent.futures

        x = np.random.RandomState(0).rand(20, 20).astype(np.float32)
        fs = [jax.jit(lambda a, k=k: jnp.sum(jnp.sort(a * k, 0)[k])) for k in range(6)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            got = list(pool.map(lambda k: float(fs[k % 6](x)), range(48)))
        np.testing.assert_allclose(got, [np.sort(x * (k % 6), 0)[k % 6].sum() for k in range(48)], rtol=1e-5)

    def test_types(self):
        import ml_dtypes

        for t in ["bool", "int8", "uint8", "int16", "uint32", "float16", "bfloat16", "int4", "uint4", "float8_e4m3fn",
                  "float8_e5m2", "complex64"]:
            dtype = np.dtype(getattr(ml_dtypes, t, t))
            a = np.arange(6).reshape(2, 3).astype(dtype)
            b = jax.device_put(a)
            self.assertEqual(b.dtype, dtype)
            np.testing.assert_array_equal(np.asarray(b), a)
            np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: v.T)(b)), a.T)

    def test_donation(self):
        f = jax.jit(lambda a, b: a + b, donate_argnums=0)
        a, b = jnp.ones(4), jnp.ones(4)
        np.testing.assert_array_equal(f(a, b), 2)
        self.assertTrue(a.is_deleted())
        self.assertFalse(b.is_deleted())
        with self.assertRaises((RuntimeError, ValueError)):
            f(a, b)

    def test_tokens(self):
        from jax._src import core

        token = jax.jit(jax.lax.create_token)(1.0)
        self.assertIsInstance(token, core.Token)
        f = jax.jit(lambda t, a, u: (jax.lax.after_all(t, u), a * 2, t, a + 1))
        first = f(jax.lax.create_token(), jnp.ones(3), token)
        t, a, u, b = f(*first[:3])
        self.assertIsInstance(t, core.Token)
        self.assertIsInstance(u, core.Token)
        t.block_until_ready()
        np.testing.assert_array_equal(a, 4)
        np.testing.assert_array_equal(b, 3)
        with self.assertRaisesRegex(RuntimeError, "Cannot convert a token-shape buffer to a numpy array"):
            t._buf._value

    def test_dlpack_and_numpy(self):
        a = jnp.arange(12.0).reshape(3, 4)
        view = np.asarray(a)
        self.assertFalse(view.flags.writeable)
        del a
        np.testing.assert_array_equal(view.ravel(), np.arange(12))
        np.testing.assert_array_equal(jnp.asarray(np.arange(12.0, dtype="float32").reshape(3, 4).T), view.T)

    def test_errors_are_exceptions(self):
        with self.assertRaisesRegex(Exception, "sizes|shape|incompatible"):
            jax.jit(lambda a, b: a + b)(jnp.ones(3), jnp.ones(4))
        call = lambda a: jax.ffi.ffi_call("nowhere", jax.ShapeDtypeStruct((3,), "float32"))(a)
        with self.assertRaisesRegex(Exception, "nowhere"):
            jax.jit(call)(jnp.ones(3))

    def test_export(self):
        from jax import export

        f = export.export(jax.jit(lambda a: jnp.sin(a) * 2), platforms=["xcc"])(jax.ShapeDtypeStruct((4,), "float32"))
        x = np.arange(4, dtype="float32")
        again = export.deserialize(f.serialize())
        np.testing.assert_allclose(again.call(x), np.sin(x) * 2, rtol=1e-6)

    def test_export_for_the_cpu(self):
        from jax import export

        x = np.arange(4, dtype="float32")
        for platforms in (["cpu"], ["cpu", "tpu"]):
            f = export.export(jax.jit(lambda a: jnp.cos(a) * 2), platforms=platforms)(jax.ShapeDtypeStruct((4,), "float32"))
            got = jax.jit(export.deserialize(f.serialize()).call)(x)
            self.assertEqual(list(got.devices())[0].platform, "xcc")
            np.testing.assert_allclose(got, np.cos(x) * 2, rtol=1e-6)

    def test_branches_by_platform(self):
        x = np.arange(3, dtype="float32")
        f = lambda a: jax.lax.platform_dependent(a, cpu=jnp.sin, tpu=jnp.tan, default=jnp.cos)
        np.testing.assert_allclose(jax.jit(f)(x), np.sin(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.vmap(f))(x), np.sin(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda a: f(a).sum()))(x), np.cos(x), rtol=1e-6)
        own = lambda a: jax.lax.platform_dependent(a, cpu=jnp.sin, xcc=jnp.exp)
        np.testing.assert_allclose(jax.jit(own)(x), np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(lambda a: jax.lax.platform_dependent(a, tpu=jnp.sin, default=jnp.cos))(x), np.cos(x), rtol=1e-6)

    def test_compiler_options(self):
        f = jax.jit(lambda a: a + 1, compiler_options={"xla_dump_max_hlo_modules": 3})
        np.testing.assert_array_equal(f(np.ones(3, "float32")), 2)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "No such compile option: 'fast'"):
            jax.jit(lambda a: a + 1, compiler_options={"fast": "yes"})(np.ones(3, "float32"))

    def test_saved_executables(self):
        from jax.experimental import serialize_executable as s

        compiled = jax.jit(lambda a: a * 3).lower(jnp.ones(4)).compile()
        loaded = s.deserialize_and_load(*s.serialize(compiled))
        np.testing.assert_array_equal(loaded(jnp.ones(4)), 3)
        self.assertIn("stablehlo" if "stablehlo" in compiled.as_text() else "HloModule", compiled.as_text())

    def test_cache(self):
        from jax._src import compilation_cache as cc

        with tempfile.TemporaryDirectory() as folder:
            keep = {k: jax.config.values[k] for k in ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs",
                                                      "jax_persistent_cache_min_entry_size_bytes")}
            try:
                jax.config.update("jax_compilation_cache_dir", folder)
                jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
                jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
                cc.reset_cache()
                hits = []
                listen = lambda event, **_: hits.append(event)
                from jax._src import monitoring

                monitoring.register_event_listener(listen)
                for _ in range(2):
                    np.testing.assert_allclose(jax.jit(lambda a: jnp.cos(a) + 41)(jnp.zeros(3)), 42)
                    jax.clear_caches()
                self.assertTrue(os.listdir(folder))
                self.assertTrue(any("cache_hits" in h for h in hits), hits)
            finally:
                for k, v in keep.items():
                    jax.config.update(k, v)
                cc.reset_cache()

    def test_threads(self):
        import threading

        f = jax.jit(lambda a: jnp.cumsum(a) * 2)
        want = np.cumsum(np.arange(1000.0, dtype="float32")) * 2
        wrong = []

        def work():
            for _ in range(20):
                if not np.array_equal(f(jnp.arange(1000.0)), want):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])

    @unittest.skipUnless(os.path.exists(JAX_TESTS) and installed("absl"), "scripts/jax-tests runs JAX's tests, which need absl")
    def test_files_of_tests_that_cannot_be_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("odd", "import no_such_module\n"), ("fine", "from jax._src import test_util\n\n\nclass T(test_util.JaxTestCase):\n    def test_it(self):\n        pass\n")):
                with open(os.path.join(folder, name + "_test.py"), "w") as f:
                    f.write(text)
            environment = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(HERE), os.environ.get("PYTHONPATH", "")]))
            ran = subprocess.run([sys.executable, JAX_TESTS, "--keep", folder, "--tests", folder, "odd_test.py", "fine_test.py"], env=environment,
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertRegex(ran.stdout, "odd_test.py: no test runs on xcc .*No module named 'no_such_module'")
        self.assertIn("fine_test.py: 1 of 1 that the CPU passes", ran.stdout)

    @unittest.skipUnless(installed("flax", "optax"), "Flax and Optax are not installed")
    def test_training(self):
        """A small network, trained for 30 steps: the same losses as on JAX's CPU backend."""
        import flax.linen as nn
        import optax

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train):
                x = nn.relu(nn.Conv(8, (3, 3))(x))
                x = nn.avg_pool(x, (2, 2), (2, 2)).reshape((x.shape[0], -1))
                x = nn.LayerNorm()(nn.relu(nn.Dense(32)(x)))
                x = nn.Dropout(0.1, deterministic=not train)(x)
                return nn.Dense(10)(x)

        def train():
            net, adam = Net(), optax.adamw(optax.cosine_decay_schedule(3e-3, 30))
            rng = np.random.RandomState(0)
            x, y = rng.randn(64, 8, 8, 1).astype("float32"), rng.randint(0, 10, 64)
            params = net.init(jax.random.PRNGKey(0), x, False)
            state = adam.init(params)

            @jax.jit
            def step(params, state, key):
                def loss(p):
                    out = net.apply(p, x, True, rngs={"dropout": key})
                    return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()

                value, grads = jax.value_and_grad(loss)(params)
                updates, state = adam.update(grads, state, params)
                return optax.apply_updates(params, updates), state, value

            losses = []
            for i in range(30):
                params, state, value = step(params, state, jax.random.PRNGKey(i))
                losses.append(float(value))
            return losses

        ours, cpu = train(), self.on_cpu(train)
        self.assertLess(ours[-1], 0.6 * ours[0])
        np.testing.assert_allclose(ours, cpu, rtol=2e-3)


if __name__ == "__main__":
    unittest.main()
