"""Corners of torch: every mode of sampling and resizing, folds, reductions of scatters, windows, recurrent and attention variants."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Table
from torch_functions import at, fn as add

table = Table()
rand, randn, randint = torch.rand, torch.randn, torch.randint
BATCH = {0: {0: "batch"}}
PAIR = {0: {0: "batch"}, 1: {0: "batch"}}


def fn(name, f, *calls, **options):
    add(name, f, *calls, into=table, **options)


def pairs(a, b):
    return [lambda n=n: (randn(n, *a), randn(n, *b)) for n in (2, 3)]


for mode in ["bilinear", "nearest", "bicubic"]:
    for padding in ["zeros", "border", "reflection"]:
        fn("grid_%s_%s" % (mode, padding), lambda x, g, m=mode, p=padding: (F.grid_sample(x, g, m, p, False), F.grid_sample(x, g, m, p, True)), *pairs((3, 6, 7), (4, 5, 2)), axes=PAIR)
fn("grid_3d", lambda x, g: (F.grid_sample(x, g, align_corners=False), F.grid_sample(x, g, "nearest", align_corners=True)), (randn(2, 3, 4, 5, 6), randn(2, 2, 3, 4, 3)))
for mode in ["nearest", "nearest-exact", "bilinear", "bicubic", "area"]:
    corners = [None] if mode in ("nearest", "nearest-exact", "area") else [False, True]
    fn("interpolate_" + mode.replace("-", "_"), lambda x, m=mode, c=corners: tuple(F.interpolate(x, size=s, mode=m, align_corners=a) for s in ((9, 5), (3, 14), (6, 7)) for a in c), *at(lambda n: randn(n, 3, 6, 7), 2, 3), axes=BATCH)
    if mode != "area":
        fn("interpolate_scales_" + mode.replace("-", "_"), lambda x, m=mode, c=corners: tuple(F.interpolate(x, scale_factor=s, mode=m, align_corners=a) for s in ((1.7, 0.6), 2.0) for a in c), randn(2, 3, 6, 7))
for k, (size, dilation, padding, stride) in enumerate([((2, 3), 1, 0, 1), ((3, 3), 2, 1, 2), ((2, 2), 1, (1, 0), (2, 1))]):
    fn("unfold_fold_%d" % k, lambda x, s=size, d=dilation, p=padding, t=stride: (F.unfold(x, s, d, p, t), F.fold(F.unfold(x, s, d, p, t), (7, 8), s, d, p, t)), *at(lambda n: randn(n, 3, 7, 8), 2, 4), axes=BATCH)
for how in ["sum", "prod", "mean", "amax", "amin"]:
    fn("scatter_reduce_" + how, lambda x, i, s, h=how: (x.scatter_reduce(0, i, s, h), x.scatter_reduce(0, i, s, h, include_self=False)), (randn(5, 6), randint(0, 5, (4, 6)), randn(4, 6)))
for p in [0.0, 1.0, 2.0, 3.0, float("inf")]:
    fn("cdist_%g" % p, lambda x, y, p=p: torch.cdist(x, y, p), *pairs((4, 5), (3, 5)), axes=PAIR)
for name in ["cumprod", "logcumsumexp", "cummax", "cummin"]:
    fn("scan_" + name, lambda x, g=getattr(torch, name): g(x, 1), *at(lambda n: randn(n, 7), 4, 2), axes=BATCH)
fn("stft_forms", lambda x: (torch.view_as_real(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)), torch.stft(x, 16, 4, 12, torch.hann_window(12), center=False, return_complex=True).abs(), torch.stft(x, 16, 8, normalized=True, window=torch.ones(16), return_complex=True).real), *at(lambda n: randn(n, 64), 2, 3), axes=BATCH)
fn("fft_lengths", lambda x: tuple(torch.view_as_real(torch.fft.fft(x[:, :n])) for n in (1, 2, 3, 5, 7, 8)) + (torch.fft.irfft(torch.fft.rfft(x), n=9), torch.fft.hfft(x), torch.view_as_real(torch.fft.ihfft(x))), *at(lambda n: randn(n, 9), 3, 5), axes=BATCH)
fn("fft_axes", lambda x: (torch.fft.fft2(x).abs(), torch.fft.ifft(torch.fft.fftn(x, dim=(1, 2)), dim=1).real, torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.fft.rfft2(x).abs(), torch.fft.irfft2(torch.fft.rfft2(x), s=(6, 5)), torch.fft.fftfreq(8) + x[0, 0, 0]), randn(3, 6, 5))
fn("complex_products", lambda x, y: (torch.view_as_real(torch.view_as_complex(x) @ torch.view_as_complex(y)), torch.view_as_real(torch.einsum("ij,jk->ik", torch.view_as_complex(x), torch.view_as_complex(y))), torch.view_as_real(torch.view_as_complex(x).exp()), torch.view_as_real(torch.view_as_complex(x).sum(0)), torch.view_as_complex(x).angle()), (randn(3, 4, 2), randn(4, 5, 2)))
fn("statistics", lambda x: (x.std(1), x.var(0, unbiased=False), x.norm(dim=1), x.logsumexp(1), torch.quantile(x, 0.3, 1), torch.nanmean(x, 1), torch.cov(x), torch.corrcoef(x), torch.aminmax(x, dim=1), x.kthvalue(2, 1)[0], torch.renorm(x, 2, 0, 1.0)), randn(4, 8))
fn("pairwise", lambda x: (F.cosine_similarity(x, x.flip(0)), F.pairwise_distance(x, x.flip(0)), F.normalize(x), torch.cartesian_prod(x[0], x[1]), torch.combinations(x[0]), torch.kron(x[:2, :2], x[:2, :3]), torch.cross(x[:, :3], x[:, 3:6], dim=1), torch.block_diag(x, x[:2])), randn(4, 8))
fn("activations_all", lambda x: (F.glu(x), F.hardswish(x), F.mish(x), F.celu(x), F.threshold(x, 0.1, 2), F.softmin(x, 1), F.softshrink(x), F.hardshrink(x), F.tanhshrink(x), F.logsigmoid(x), F.hardtanh(x), F.relu6(x), F.rrelu(x), F.selu(x), F.silu(x), F.softsign(x), F.gelu(x, approximate="tanh"), F.leaky_relu(x, 0.3)), *at(lambda n: randn(n, 8) * 3, 4, 2), axes=BATCH)
fn("losses_all", lambda x, y: (F.cross_entropy(x, y.argmax(1), label_smoothing=0.1), F.nll_loss(x.log_softmax(1), y.argmax(1)), F.huber_loss(x, y), F.smooth_l1_loss(x, y), F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.poisson_nll_loss(x, y), F.triplet_margin_loss(x, y, x + y), F.soft_margin_loss(x, y.sign()), F.hinge_embedding_loss(x, y.sign()), F.margin_ranking_loss(x[:, 0], y[:, 0], y[:, 1].sign())), (randn(4, 6), randn(4, 6)))
fn("negative_and_large_pads", lambda x: (F.pad(x, (-1, 1, 2, -2)), F.pad(x, (3, 3), value=2.0), F.pad(x, (2, 1, 1, 2), mode="reflect"), F.pad(x, (5, 0, 0, 5), mode="replicate"), F.pad(x, (2, 2, 2, 2), mode="circular")), *at(lambda n: randn(n, 3, 5, 6), 2, 3), axes=BATCH)
fn("pool_forms", lambda x: (F.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), F.avg_pool2d(x, 2, divisor_override=3), F.lp_pool2d(x, 2, 2), F.adaptive_avg_pool2d(x, (4, 2)), F.adaptive_max_pool2d(x, (2, 4)), F.adaptive_avg_pool2d(x, (1, None)), F.local_response_norm(x, 2)), *at(lambda n: randn(n, 4, 8, 8), 2, 3), axes=BATCH)


class MultiHead(nn.Module):
    def __init__(self, batch_first, **options):
        super().__init__()
        self.m = nn.MultiheadAttention(16, 4, batch_first=batch_first, **options)

    def forward(self, q, k, v, mask=None, padding=None):
        return self.m(q, k, v, attn_mask=mask, key_padding_mask=padding)


def padding_mask(n):
    m = torch.zeros(n, 7, dtype=torch.bool)
    m[0, 5:] = True
    return m


table("multihead_biases", lambda: (MultiHead(False, add_bias_kv=True, add_zero_attn=True, kdim=8, vdim=12), (randn(5, 2, 16), randn(7, 2, 8), randn(7, 2, 12))))
table("multihead_padding", lambda: (MultiHead(True), (randn(2, 7, 16), randn(2, 7, 16), randn(2, 7, 16), torch.triu(torch.ones(7, 7, dtype=torch.bool), 1), padding_mask(2)), (randn(3, 7, 16), randn(3, 7, 16), randn(3, 7, 16), torch.triu(torch.ones(7, 7, dtype=torch.bool), 1), padding_mask(3))), axes={0: {0: "b"}, 1: {0: "b"}, 2: {0: "b"}, 4: {0: "b"}})


class Packed(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.r = cell(6, 8, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=True)
        return nn.utils.rnn.pad_packed_sequence(self.r(p)[0], batch_first=True)[0]


for cell in [nn.GRU, nn.RNN]:
    table("packed_" + cell.__name__.lower(), lambda cell=cell: (Packed(cell), (randn(3, 5, 6), torch.tensor([5, 3, 2]))), exporters=("ts",))
for name in ["float16", "bfloat16", "float64"]:
    dtype = getattr(torch, name)
    fn("arithmetic_" + name, lambda x, y: (x @ y.T, x.softmax(1), F.layer_norm(x, (6,)), F.gelu(x), x.sum(1), x.amax(0), x > y, torch.where(x > 0, x, y), x.exp(), x.cumsum(1), x.sort(1)[0], x.pow(2).mean(1).rsqrt()), (randn(4, 6).to(dtype), randn(4, 6).to(dtype)))
    fn("convolution_" + name, lambda x, w: (F.conv2d(x, w, padding=1), F.conv_transpose2d(x, w.transpose(0, 1), stride=2), F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.interpolate(x, scale_factor=2)), (randn(1, 3, 6, 6).to(dtype), randn(4, 3, 3, 3).to(dtype)), tol=None if name == "float64" else 4e-2)
fn("booleans", lambda x, y: (x & y, x | ~y, x ^ y, x.any(1), x.all(0), x.sum(1), x.float().mean(), torch.where(x, y, ~y), x.int() - y.int(), x.nonzero().shape[1] + x.long(), torch.cat([x, y]), x.argmax(1) if False else x.int().argmax(1), x == y, x.flip(1), x[y.any(1)].shape[1] + y.long()), (randn(4, 5) > 0, randn(4, 5) > 0))
fn("bytes", lambda x, i: (x.float() / 255, x[:, i], x.int() - 128, x.max(1)[0], x.permute(1, 0), F.one_hot(x.long() % 5, 5), (x > 100).float(), x.repeat(1, 2), torch.cat([x, x]), x.to(torch.int8), x // 7, x * 2), (randint(0, 256, (4, 6), dtype=torch.uint8), torch.tensor([0, 3, 5])))
