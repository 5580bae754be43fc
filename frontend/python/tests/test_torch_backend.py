"""torch.compile(module, backend="xcc"): sizes that change, tensors that a module writes to, what stays with PyTorch."""
import unittest
import warnings

import support  # noqa: F401 - puts the package on the path

try:
    import onnx  # noqa: F401 - PyTorch's exporters need it
    import torch
    from torch import nn
    Module = nn.Module
except ImportError:
    torch, Module = None, object


class Counter(Module):
    """Writes to a buffer and to an argument, as caches do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x, cache):
        self.calls += 1
        cache[:, 1] = x
        return x + self.calls, cache.sum(1)


class Sizes(Module):
    def forward(self, x):
        return x.view(x.shape[0], -1, 3).sum(1), x.shape[0], torch.arange(x.shape[1]) + x[0]


@unittest.skipIf(torch is None, "torch or onnx is not installed")
class TorchBackend(unittest.TestCase):
    def setUp(self):
        import xcc._torch_backend as b
        import xcc.torch  # noqa: F401 - gives torch.compile the name

        torch.manual_seed(0)
        torch._dynamo.reset()
        self.made, real = [], b._compile

        def counted(*args, **flags):
            self.made.append(1)
            return real(*args, **flags)

        b._compile = counted
        self.addCleanup(setattr, b, "_compile", real)

    def same(self, module, *calls, archives, **how):
        fast = torch.compile(module, backend="xcc", **how)
        with torch.no_grad():
            for args in calls:
                torch.testing.assert_close(fast(*args), module(*args))
        self.assertEqual(len(self.made), archives)

    def test_an_archive_for_each_size(self):
        net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.LayerNorm(4)).eval()
        self.same(net, *[(torch.randn(n, 8),) for n in (2, 5, 2, 5)], archives=2, dynamic=True)

    def test_sizes_among_the_results(self):
        self.same(Sizes(), (torch.randn(2, 12),), (torch.randn(4, 15),), archives=2, dynamic=True)

    def test_buffers_and_arguments_are_written(self):
        plain, fast = Counter(), Counter()
        run = torch.compile(fast, backend="xcc")
        for k in range(3):
            x, a, b = torch.randn(3), torch.zeros(3, 2), torch.zeros(3, 2)
            with torch.no_grad():
                torch.testing.assert_close(run(x, a), plain(x, b))
            torch.testing.assert_close(a, b)
            torch.testing.assert_close(fast.calls, torch.full((3,), k + 1.0))
        self.assertEqual(len(self.made), 1)

    def test_statistics_of_training_stay_with_pytorch(self):
        plain, fast = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
        x = torch.randn(6, 4) + 1
        with warnings.catch_warnings(record=True) as said, torch.no_grad():
            warnings.simplefilter("always")
            torch.testing.assert_close(torch.compile(fast, backend="xcc")(x), plain(x))
        torch.testing.assert_close(fast.running_mean, plain.running_mean)
        self.assertTrue(any("PyTorch runs it" in str(w.message) for w in said) or not self.made)

    def test_the_newer_exporter_is_tried(self):
        class Spectrum(nn.Module):
            def forward(self, x):
                return torch.fft.rfft(x).abs()

        self.same(Spectrum(), (torch.randn(2, 8),), archives=1)

    def test_encoder_layers_of_the_fast_path(self):
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first, activation=activation)
            self.made.clear()
            torch._dynamo.reset()
            self.same(nn.TransformerEncoder(layer, 2).eval(), (torch.randn(2, 5, 16),), archives=1)


if __name__ == "__main__":
    unittest.main()
