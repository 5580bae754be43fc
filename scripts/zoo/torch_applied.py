"""Networks as their authors write them: vision, detection and its steps after the network, sound, graphs, points, series, recommendation,
tables, memory, generation; with sizes left open."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Table
from torch_functions import at, fn as add
from torch_layers import Fn

table = Table()
rand, randn, randint = torch.rand, torch.randn, torch.randint
BATCH = {0: {0: "batch"}}


def fn(name, f, *calls, **options):
    add(name, f, *calls, into=table, **options)


def net(name, make, *calls, **options):
    """A module at one or more sets of inputs."""
    table(name, lambda: (make(),) + tuple(c() if callable(c) else c for c in calls), **options)


def images(c, h, w):
    return [lambda n=n: (randn(n, c, h, w),) for n in (2, 3)]


def forward(function, **parts):
    return lambda: Fn(function, **{k: v() for k, v in parts.items()})


# ---- vision ----


class AttentionGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.x, self.p = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 4, 1, stride=2), nn.Conv2d(4, 1, 1)

    def forward(self, g, x):
        a = torch.sigmoid(self.p(F.relu(self.g(g) + self.x(x))))
        return x * F.interpolate(a, size=x.shape[2:], mode="bilinear", align_corners=False)


net("attention_gate", AttentionGate, lambda: (randn(2, 8, 4, 5), randn(2, 4, 8, 10)), lambda: (randn(3, 8, 4, 5), randn(3, 4, 8, 10)), axes={0: {0: "b"}, 1: {0: "b"}})


class DiffusionUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
        self.a, self.b, self.c, self.d = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.Conv2d(16, 3, 3, padding=1)
        self.scale, self.n1, self.n2 = nn.Linear(16, 32), nn.GroupNorm(4, 16), nn.GroupNorm(4, 8)
        self.q = nn.Conv2d(16, 48, 1)

    def forward(self, x, t):
        f = torch.exp(-math.log(10000) * torch.arange(8, dtype=torch.float32, device=x.device) / 8)
        e = t[:, None].float() * f[None]
        s, m = self.scale(self.t(torch.cat([e.sin(), e.cos()], -1)))[:, :, None, None].chunk(2, 1)
        h = self.a(x)
        y = self.n1(self.b(F.silu(h))) * (1 + s) + m
        b, c, hh, w = y.shape
        q, k, v = self.q(y).reshape(b, 3, 2, c // 2, hh * w).unbind(1)
        y = y + (v @ ((q.transpose(-1, -2) @ k) * (c // 2) ** -0.5).softmax(-1).transpose(-1, -2)).reshape(b, c, hh, w)
        return self.d(torch.cat([h, F.silu(self.n2(self.c(y)))], 1))


net("diffusion_unet", DiffusionUNet, lambda: (randn(2, 3, 8, 8), randint(0, 1000, (2,))), lambda: (randn(1, 3, 12, 16), randint(0, 1000, (1,))), axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b"}})
net("ddim_steps", forward(lambda m, x: ddim(m, x), m=DiffusionUNet), lambda: (randn(1, 3, 8, 8),))


def ddim(m, x):
    a = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 20), 0)
    for t in (15, 10, 5):
        e = m(x, torch.full((x.shape[0],), t))
        x0 = (x - (1 - a[t]).sqrt() * e) / a[t].sqrt()
        x = a[t - 5].sqrt() * x0.clamp(-1, 1) + (1 - a[t - 5]).sqrt() * e
    return x


net("pixel_shuffle_sr", lambda: nn.Sequential(nn.Conv2d(3, 8, 5, padding=2), nn.PReLU(8), nn.Conv2d(8, 27, 3, padding=1), nn.PixelShuffle(3), nn.Hardtanh(0, 1)), lambda: (randn(1, 3, 6, 7),), lambda: (randn(2, 3, 5, 9),), axes={0: {0: "b", 2: "h", 3: "w"}})
net("aspp_head", forward(lambda a, b, c, d, x: d(torch.cat([a(x), b(x), F.interpolate(c(F.adaptive_avg_pool2d(x, 1)), size=x.shape[-2:], mode="bilinear", align_corners=True)], 1)), a=lambda: nn.Conv2d(8, 4, 1), b=lambda: nn.Conv2d(8, 4, 3, padding=6, dilation=6), c=lambda: nn.Conv2d(8, 4, 1), d=lambda: nn.Conv2d(12, 5, 1)),
    lambda: (randn(1, 8, 9, 11),), lambda: (randn(2, 8, 13, 8),), axes={0: {0: "b", 2: "h", 3: "w"}})
net("pyramid_pooling", forward(lambda a, x: torch.cat([x] + [F.interpolate(a(F.adaptive_avg_pool2d(x, s)), size=x.shape[-2:], mode="bilinear", align_corners=False) for s in (1, 2, 3, 6)], 1), a=lambda: nn.Conv2d(8, 2, 1)), *images(8, 12, 12), axes=BATCH)
net("feature_pyramid", forward(lambda a, b, x, y: (a(x) + F.interpolate(b(y), size=x.shape[2:], mode="nearest"), F.max_pool2d(b(y), 1, 2, 0)), a=lambda: nn.Conv2d(4, 8, 1), b=lambda: nn.Conv2d(6, 8, 1)), lambda: (randn(1, 4, 9, 11), randn(1, 6, 5, 6)), lambda: (randn(2, 4, 7, 13), randn(2, 6, 4, 7)), axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "i", 3: "j"}})
fn("adain_and_gram", lambda x, s: ((x - x.mean((2, 3), keepdim=True)) / (x.var((2, 3), keepdim=True) + 1e-5).sqrt() * s.std((2, 3), keepdim=True) + s.mean((2, 3), keepdim=True), torch.bmm(x.flatten(2), x.flatten(2).transpose(1, 2)) / x[0].numel()), (randn(2, 4, 5, 6), randn(2, 4, 7, 3)))
net("spatial_transformer", forward(lambda c, l, x: F.grid_sample(x, F.affine_grid(l(c(x).flatten(1)).view(-1, 2, 3), x.size(), align_corners=False), align_corners=False), c=lambda: nn.Conv2d(1, 2, 3, 2), l=lambda: nn.Linear(2 * 4 * 4, 6)), *images(1, 10, 10), axes=BATCH)
fn("flow_warp", lambda x, f: F.grid_sample(x, torch.stack([(torch.arange(x.shape[3]).view(1, 1, -1) + f[:, 0]) * 2 / (x.shape[3] - 1) - 1, (torch.arange(x.shape[2]).view(1, -1, 1) + f[:, 1]) * 2 / (x.shape[2] - 1) - 1], -1), mode="bilinear", padding_mode="border", align_corners=True), lambda: (randn(1, 3, 6, 8), randn(1, 2, 6, 8)), lambda: (randn(2, 3, 5, 9), randn(2, 2, 5, 9)), axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h", 3: "w"}})
fn("correlation_volume", lambda a, b: (lambda c: (c, F.avg_pool2d(c.flatten(0, 2)[:, None], 2, 2)))(torch.einsum("bchw,bcij->bhwij", a, b) / math.sqrt(8)), (randn(1, 8, 4, 6), randn(1, 8, 4, 6)))
fn("cost_volume_soft_argmin", lambda l, r: (lambda v: (F.softmax(-v, 1) * torch.arange(4).view(1, -1, 1, 1)).sum(1))(torch.stack([(l - F.pad(r, (d, 0))[..., :r.shape[-1]]).abs().sum(1) for d in range(4)], 1)), *[lambda n=n: (randn(n, 3, 5, 9), randn(n, 3, 5, 9)) for n in (1, 2)], axes={0: {0: "b"}, 1: {0: "b"}})
fn("colour_spaces", lambda x: (lambda mx, am, d: torch.stack([torch.where(d == 0, 0.0, torch.gather(torch.stack([(x[:, 1] - x[:, 2]) / (d + 1e-8), 2 + (x[:, 2] - x[:, 0]) / (d + 1e-8), 4 + (x[:, 0] - x[:, 1]) / (d + 1e-8)], 1), 1, am[:, None])[:, 0] / 6 % 1), d / (mx + 1e-8), mx], 1))(x.max(1)[0], x.argmax(1), x.max(1)[0] - x.min(1)[0]), lambda: (rand(2, 3, 4, 5),), lambda: (rand(1, 3, 6, 3),), axes={0: {0: "b", 2: "h", 3: "w"}})
fn("window_partition", lambda x: (lambda b, h, w, c: (lambda p: p.view(b, (h + 3) // 4, (w + 3) // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(b, (h + 3) // 4 * 4, (w + 3) // 4 * 4, c)[:, :h, :w])(F.pad(x, (0, 0, 0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4)).view(b, (h + 3) // 4, 4, (w + 3) // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)))(*x.shape), (randn(2, 6, 9, 3),))
net("depthwise_over_parameterised", forward(lambda a, b, c, x: F.relu(a(x) + b(x) + c(x)), a=lambda: nn.Conv2d(6, 6, 3, padding=1, groups=6), b=lambda: nn.Conv2d(6, 6, 1, groups=3), c=lambda: nn.BatchNorm2d(6)), *images(6, 7, 7), axes=BATCH)
net("involution", forward(lambda r, s, x: (F.unfold(x, 3, padding=1).view(x.shape[0], 2, 3, 9, x.shape[2], x.shape[3]) * s(F.relu(r(x))).view(x.shape[0], 2, 1, 9, x.shape[2], x.shape[3])).sum(3).view(x.shape), r=lambda: nn.Conv2d(6, 4, 1), s=lambda: nn.Conv2d(4, 18, 1)), *images(6, 5, 7), axes=BATCH)
net("dynamic_convolution", forward(lambda l, w, x: F.conv2d(x.reshape(1, -1, *x.shape[2:]), (l(x.mean((2, 3))).softmax(1) @ w.view(3, -1)).view(-1, 4, 3, 3), padding=1, groups=x.shape[0]).view(x.shape[0], -1, *x.shape[2:]), l=lambda: nn.Linear(4, 3), w=lambda: randn(3, 5, 4, 3, 3)), lambda: (randn(2, 4, 6, 6),))
net("coordinate_attention", forward(lambda c, h, w, x: (lambda p: x * h(p[:, :, :x.shape[2]]).sigmoid() * w(p[:, :, x.shape[2]:].permute(0, 1, 3, 2)).sigmoid())(F.hardswish(c(torch.cat([x.mean(3, keepdim=True), x.mean(2, keepdim=True).permute(0, 1, 3, 2)], 2)))), c=lambda: nn.Conv2d(6, 4, 1), h=lambda: nn.Conv2d(4, 6, 1), w=lambda: nn.Conv2d(4, 6, 1)), *images(6, 5, 7), axes=BATCH)
net("octave_and_blur", forward(lambda a, b, x: (a(F.avg_pool2d(x, 2)), F.conv2d(F.pad(x, (1, 2, 1, 2), "reflect"), (torch.tensor([1., 3, 3, 1])[:, None] * torch.tensor([1., 3, 3, 1]))[None, None].repeat(4, 1, 1, 1) / 64, stride=2, groups=4), F.interpolate(b(F.avg_pool2d(x, 2)), scale_factor=2)), a=lambda: nn.Conv2d(4, 3, 3, padding=1), b=lambda: nn.Conv2d(4, 2, 1)), *images(4, 8, 10), axes=BATCH)
net("conv_padding_modes", lambda: nn.Sequential(nn.Conv2d(2, 4, (3, 5), padding="same", dilation=(2, 1), padding_mode="replicate"), nn.Conv2d(4, 4, (1, 3), padding="valid", groups=2), nn.Conv2d(4, 3, 3, stride=(2, 1), padding=(2, 0), padding_mode="circular")), *images(2, 9, 12), axes=BATCH)
net("lazy_and_parametrised", lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3)), nn.utils.parametrizations.spectral_norm(nn.Conv1d(4, 4, 1)), nn.utils.parametrizations.orthogonal(nn.Linear(6, 6))), lambda: (randn(2, 3, 8),), exporters=("dy", "ts"))
net("siren_and_fourier", forward(lambda b, l, m, x: m(torch.sin(30 * l(torch.cat([torch.sin(2 * math.pi * x @ b), torch.cos(2 * math.pi * x @ b)], -1)))), b=lambda: randn(2, 8), l=lambda: nn.Linear(16, 12), m=lambda: nn.Linear(12, 3)), lambda: (rand(5, 2),), lambda: (rand(9, 2),), axes=BATCH)
fn("volume_rendering", lambda s, c, t: (lambda a: (lambda w: ((w[..., None] * c).sum(1), (w * t).sum(1), w))(a * torch.cumprod(torch.cat([torch.ones_like(a[:, :1]), 1 - a + 1e-10], 1), 1)[:, :-1]))(1 - torch.exp(-F.relu(s) * torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], 1e10)], 1))), *[lambda n=n: (randn(n, 7), rand(n, 7, 3), rand(n, 7).sort(1)[0]) for n in (3, 5)], axes={i: {0: "rays"} for i in range(3)}, exporters=("dy",))

# ---- detection ----


def decode(deltas, anchors):
    wh = anchors[:, 2:] - anchors[:, :2]
    c = anchors[:, :2] + wh / 2 + deltas[..., :2] * 0.1 * wh
    s = (deltas[..., 2:] * 0.2).clamp(max=math.log(1000 / 16)).exp() * wh
    return torch.cat([c - s / 2, c + s / 2], -1).clamp(0, 1)


ANCHORS = torch.cat([rand(20, 2) * 0.5, rand(20, 2) * 0.5 + 0.5], 1)
fn("ssd_decoding", lambda l, c: (lambda b, s: (b, s, *s[..., 1:].max(-1)))(decode(l, ANCHORS), c.softmax(-1)), *[lambda n=n: (randn(n, 20, 4), randn(n, 20, 5)) for n in (1, 3)], axes={0: {0: "b"}, 1: {0: "b"}})


def centernet(heat, wh, reg, k=6):
    heat = heat.sigmoid()
    heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
    b, c, h, w = heat.shape
    score, index = torch.topk(heat.view(b, c, -1), k)
    score, which = torch.topk(score.view(b, -1), k)
    index = index.view(b, -1).gather(1, which)
    pick = lambda f: f.permute(0, 2, 3, 1).reshape(b, -1, 2).gather(1, index[..., None].expand(-1, -1, 2))  # noqa: E731
    xy = torch.stack([(index % w).float(), torch.div(index, w, rounding_mode="floor").float()], -1) + pick(reg)
    return torch.cat([xy - pick(wh) / 2, xy + pick(wh) / 2, score[..., None], torch.div(which, k, rounding_mode="floor")[..., None].float()], -1)


fn("centernet_decoding", centernet, *[lambda n=n: (randn(n, 3, 8, 9), randn(n, 2, 8, 9), randn(n, 2, 8, 9)) for n in (1, 2)], axes={i: {0: "b"} for i in range(3)})


def yolo_v8(x, h=8, w=6):
    box, cls = x.split([64, 5], 1)
    b, _, n = box.shape
    d = torch.einsum("bjkn,k->bjn", box.view(b, 4, 16, n).softmax(2), torch.arange(16.0))
    y, x0 = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
    p = torch.stack([x0, y]).view(1, 2, -1)
    return torch.cat([(p - d[:, :2] + p + d[:, 2:]) / 2 * 8, (d[:, :2] + d[:, 2:]) * 8, cls.sigmoid()], 1)


fn("yolo_v8_decoding", yolo_v8, *at(lambda n: (randn(n, 69, 48),), 1, 3), axes=BATCH)


def greedy_nms(boxes, scores, rounds=4):
    live, kept = scores, []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for _ in range(rounds):
        i = live.argmax()
        b = boxes[i]
        lt, rb = torch.maximum(b[:2], boxes[:, :2]), torch.minimum(b[2:], boxes[:, 2:])
        inter = (rb - lt).clamp(min=0).prod(1)
        live = torch.where(inter / (area + area[i] - inter) > 0.5, torch.full_like(live, -1), live)
        kept.append(i)
    return torch.stack(kept)


fn("greedy_suppression", greedy_nms, *[lambda n=n: (torch.cat([rand(n, 2), rand(n, 2) + 1], 1), rand(n)) for n in (12, 7)], axes={0: {0: "n"}, 1: {0: "n"}}, exporters=("dy",))
fn("matrix_nms", lambda m, s: (lambda iou: s * ((1 - iou) / (1 - iou.max(0)[0].view(-1, 1) + 1e-6)).min(0)[0])((m @ m.T / (m.sum(1)[:, None] + m.sum(1) - m @ m.T + 1e-6)).triu(1)), *[lambda n=n: ((rand(n, 12) > 0.5).float(), rand(n)) for n in (5, 8)], axes={0: {0: "n"}, 1: {0: "n"}})
fn("detr_post", lambda l, b, s: (lambda p: (lambda v, i: (v, i % 4, torch.gather((lambda c, d: torch.cat([c - d / 2, c + d / 2], -1))(b[..., :2], b[..., 2:]), 1, (i // 4)[..., None].repeat(1, 1, 4)) * torch.stack([s[:, 1], s[:, 0]] * 2, 1)[:, None]))(*torch.topk(p.view(p.shape[0], -1), 5)))(l.sigmoid()), *[lambda n=n: (randn(n, 9, 4), rand(n, 9, 4), randint(100, 200, (n, 2))) for n in (1, 3)], axes={i: {0: "b"} for i in range(3)})
fn("mask_pasting", lambda m, b: (lambda y, x: F.grid_sample(m, torch.stack([((x[None, None] + 0.5 - b[:, 0, None, None]) / (b[:, 2] - b[:, 0])[:, None, None] * 2 - 1).expand(-1, 10, -1), ((y[None, :, None] + 0.5 - b[:, 1, None, None]) / (b[:, 3] - b[:, 1])[:, None, None] * 2 - 1).expand(-1, -1, 12)], -1), align_corners=False) > 0.5)(torch.arange(10.0), torch.arange(12.0)), *[lambda n=n: (rand(n, 1, 7, 7), torch.cat([rand(n, 2) * 4, rand(n, 2) * 4 + 5], 1)) for n in (2, 4)], axes={0: {0: "n"}, 1: {0: "n"}})
fn("keypoints_from_heat", lambda h: (lambda i: torch.stack([i % h.shape[3], torch.div(i, h.shape[3], rounding_mode="trunc")], -1).float() + 0.25)(h.flatten(2).argmax(2)), lambda: (randn(1, 5, 8, 6),), lambda: (randn(2, 5, 6, 9),), axes={0: {0: "b", 2: "h", 3: "w"}})
fn("integral_pose", lambda h: (lambda p: torch.stack([(p.sum(2) * torch.linspace(0, 1, 6)).sum(-1), (p.sum(3) * torch.linspace(0, 1, 8)).sum(-1)], -1))(h.flatten(2).softmax(-1).view(h.shape)), *at(lambda n: (randn(n, 5, 8, 6),), 1, 3), axes=BATCH)
fn("rotated_iou_parts", lambda b: (lambda c, s, h: (torch.stack([torch.stack([b[:, 0] + x * h[:, 0] * c - y * h[:, 1] * s, b[:, 1] + x * h[:, 0] * s + y * h[:, 1] * c], -1) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))], 1)))(b[:, 4].cos(), b[:, 4].sin(), b[:, 2:4] / 2), *at(lambda n: (rand(n, 5),), 3, 5), axes=BATCH)
fn("panoptic_merge", lambda m, c: (lambda s: (s.argmax(1), F.one_hot(s.argmax(1), 5).permute(0, 3, 1, 2).sum((2, 3)), c.gather(1, s.argmax(1).flatten(1)).view(m.shape[0], 6, 7)))(m.sigmoid() * c[:, :, None, None]), *[lambda n=n: (randn(n, 5, 6, 7), rand(n, 5)) for n in (1, 2)], axes={0: {0: "b"}, 1: {0: "b"}})

# ---- sound ----


class ConformerBlock(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.f1, self.f2 = (nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d)) for _ in range(2))
        self.n, self.m = nn.LayerNorm(d), nn.MultiheadAttention(d, 2, batch_first=True)
        self.p, self.w, self.b, self.o = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 5, padding=2, groups=d), nn.BatchNorm1d(d), nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = x + 0.5 * self.f1(x)
        y = self.n(x)
        x = x + self.m(y, y, y, need_weights=False)[0]
        x = x + self.o(F.silu(self.b(self.w(F.glu(self.p(self.n(x).transpose(1, 2)), 1))))).transpose(1, 2)
        return x + 0.5 * self.f2(x)


net("conformer", lambda: nn.Sequential(ConformerBlock(), ConformerBlock()), lambda: (randn(2, 7, 12),), lambda: (randn(1, 11, 12),), axes={0: {0: "b", 1: "t"}})
net("wave_generator", lambda: nn.Sequential(nn.ConvTranspose1d(8, 4, 8, 4, 2), nn.LeakyReLU(0.1), nn.ConvTranspose1d(4, 4, 5, 3, 1, output_padding=1, dilation=2), nn.Conv1d(4, 1, 7, padding=3, padding_mode="reflect"), nn.Tanh()), lambda: (randn(1, 8, 6),), lambda: (randn(2, 8, 9),), axes={0: {0: "b", 2: "t"}})
fn("snake_and_antialias", lambda x: (x + torch.sin(0.7 * x) ** 2 / 0.7, F.conv1d(F.pad(x, (2, 3), mode="replicate"), torch.ones(3, 1, 6) / 6, stride=2, groups=3), F.conv_transpose1d(x, torch.ones(3, 1, 6) / 3, stride=2, padding=2, groups=3)), *at(lambda n: (randn(n, 3, 12),), 1, 2), axes=BATCH)
fn("pcen_and_cmvn", lambda x: (lambda m: ((x / (m + 1e-6) ** 0.98 + 2) ** 0.5 - 2 ** 0.5, (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)))(torch.stack([x[:, :t + 1].mean(1) for t in range(6)], 1)), *at(lambda n: (rand(n, 6, 5),), 1, 2), axes=BATCH)
fn("delta_features", lambda x: F.conv1d(F.pad(x.transpose(1, 2), (2, 2), mode="replicate"), (torch.tensor([-2.0, -1, 0, 1, 2]) / 10).repeat(5, 1, 1), groups=5).transpose(1, 2), lambda: (rand(1, 6, 5),), lambda: (rand(2, 9, 5),), axes={0: {0: "b", 1: "t"}})
fn("mu_law", lambda x: (lambda c: (lambda e: (e, (e.float() / 255 * 2 - 1).sign() * (256 ** (e.float() / 255 * 2 - 1).abs() - 1) / 255))(((c.sign() * (255 * c.abs()).log1p() / math.log(256) + 1) / 2 * 255 + 0.5).to(torch.int64)))(x.clamp(-1, 1)), *at(lambda n: (randn(n, 9) * 0.5,), 1, 3), axes=BATCH)
net("subsampling_and_positions", forward(lambda a, b, l, x: (lambda y: l(y.transpose(1, 2).flatten(2)) + torch.sin(torch.arange(y.shape[2]).float()[:, None] / 10 ** (torch.arange(6.0) / 3)))(b(F.relu(a(x[:, None])))), a=lambda: nn.Conv2d(1, 4, 3, 2), b=lambda: nn.Conv2d(4, 4, 3, 2), l=lambda: nn.Linear(4 * 4, 6)), lambda: (randn(1, 21, 20),), lambda: (randn(2, 34, 20),), axes={0: {0: "b", 1: "t"}})
net("attentive_statistics", forward(lambda a, b, x: (lambda w: torch.cat([(w * x).sum(2), ((w * x ** 2).sum(2) - (w * x).sum(2) ** 2).clamp(min=1e-4).sqrt()], 1))(b(torch.tanh(a(x))).softmax(2)), a=lambda: nn.Conv1d(6, 4, 1), b=lambda: nn.Conv1d(4, 6, 1)), lambda: (randn(2, 6, 9),), lambda: (randn(1, 6, 14),), axes={0: {0: "b", 2: "t"}})
net("res2_block", forward(lambda a, b, x: (lambda p: (lambda y: torch.cat([p[0], y, b(p[2] + y)], 1))(a(p[1])))(x.chunk(3, 1)), a=lambda: nn.Conv1d(3, 3, 3, dilation=2, padding=2), b=lambda: nn.Conv1d(3, 3, 3, dilation=3, padding="same")), lambda: (randn(2, 9, 8),), lambda: (randn(1, 9, 13),), axes={0: {0: "b", 2: "t"}})

# ---- graphs and points ----


def segment_softmax(e, i, n):
    m = torch.full((n,), -1e9).scatter_reduce(0, i, e, "amax")
    x = (e - m[i]).exp()
    return x / torch.zeros(n).scatter_add(0, i, x)[i]


net("graph_attention", forward(lambda w, a, x, e: (lambda h: torch.zeros_like(h).index_add(0, e[1], h[e[0]] * segment_softmax(F.leaky_relu((torch.cat([h[e[0]], h[e[1]]], 1) * a).sum(1), 0.2), e[1], x.shape[0])[:, None]))(w(x)), w=lambda: nn.Linear(5, 4), a=lambda: randn(8)), (randn(7, 5), randint(0, 7, (2, 15))), exporters=("dy",))  # the other exporter forgets that amax takes what was there before
net("gcn_normalised", forward(lambda w, x, a: (lambda d: F.elu(d[:, None] * ((a + torch.eye(a.shape[0])) @ (d[:, None] * w(x)))))((a.sum(1) + 1).rsqrt()), w=lambda: nn.Linear(5, 4)), *[lambda n=n: (randn(n, 5), (rand(n, n) > 0.6).float()) for n in (5, 8)], axes={0: {0: "n"}, 1: {0: "n", 1: "n"}})
net("edge_convolution", forward(lambda m, x: (lambda i: m(torch.cat([x[:, :, None].expand(-1, -1, 3, -1), torch.gather(x[:, None].expand(-1, x.shape[1], -1, -1), 2, i[..., None].expand(-1, -1, -1, x.shape[2])) - x[:, :, None]], -1)).amax(2))((-torch.cdist(x, x)).topk(3, -1)[1]), m=lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU())), *[lambda n=n: (randn(n, 9, 3),) for n in (1, 2)], axes=BATCH)


def farthest(x, k=4):
    b, n, _ = x.shape
    d, i, out = torch.full((b, n), 1e10), torch.zeros(b, dtype=torch.long), []
    for _ in range(k):
        out.append(i)
        d = torch.minimum(d, ((x - x[torch.arange(b), i][:, None]) ** 2).sum(-1))
        i = d.argmax(-1)
    return torch.stack(out, 1)


def ball_query(x, i, r=1.0, k=3):
    c = torch.gather(x, 1, i[..., None].expand(-1, -1, 3))
    d = torch.cdist(c, x) ** 2
    g = torch.arange(x.shape[1]).view(1, 1, -1).repeat(x.shape[0], i.shape[1], 1)
    g[d > r * r] = x.shape[1]
    g = g.sort(-1)[0][:, :, :k]
    return torch.where(g == x.shape[1], g[:, :, :1].expand_as(g), g) % x.shape[1]


fn("farthest_points_and_balls", lambda x: (lambda i: (i, ball_query(x, i)))(farthest(x)), (randn(2, 10, 3),))
fn("voxel_pooling", lambda x, f: (lambda v: torch.zeros(27, 4).index_add(0, v[:, 0] * 9 + v[:, 1] * 3 + v[:, 2], f) / torch.zeros(27).index_add(0, v[:, 0] * 9 + v[:, 1] * 3 + v[:, 2], torch.ones(f.shape[0])).clamp(min=1)[:, None])(((x - x.min(0)[0]) / (x.max(0)[0] - x.min(0)[0] + 1e-4) * 3).long()), lambda: (randn(12, 3), randn(12, 4)), lambda: (randn(7, 3), randn(7, 4)), axes={0: {0: "n"}, 1: {0: "n"}}, exporters=("dy",))
fn("chamfer", lambda a, b: (lambda d: d.min(1)[0].mean(1) + d.min(2)[0].mean(1))(((a[:, :, None] - b[:, None]) ** 2).sum(-1)), *[lambda n=n: (randn(n, n + 3, 3), randn(n, 6, 3)) for n in (2, 3)], axes={0: {0: "b", 1: "m"}, 1: {0: "b"}})
fn("rotations", lambda q: (lambda w, x, y, z: torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1).view(-1, 3, 3))(*F.normalize(q, dim=-1).unbind(-1)), *at(lambda n: (randn(n, 4),), 2, 5), axes=BATCH)
fn("six_d_rotations_and_kinematics", lambda r: (lambda m: torch.stack([m[:, 0], m[:, 0] @ m[:, 1], m[:, 0] @ m[:, 1] @ m[:, 2]], 1))((lambda a, b: (lambda e: torch.stack([e, F.normalize(b - (e * b).sum(-1, keepdim=True) * e, dim=-1), torch.cross(e, F.normalize(b - (e * b).sum(-1, keepdim=True) * e, dim=-1), dim=-1)], -1))(F.normalize(a, dim=-1)))(r[..., :3], r[..., 3:])), *at(lambda n: (randn(n, 3, 6),), 2, 4), axes=BATCH)
net("set_transformer", forward(lambda i, m, n, s, x: (lambda h: s(m(i.expand(x.shape[0], -1, -1), h, h)[0]))(n(x, x, x)[0] + x), i=lambda: randn(1, 2, 8), m=lambda: nn.MultiheadAttention(8, 2, batch_first=True), n=lambda: nn.MultiheadAttention(8, 4, batch_first=True), s=lambda: nn.Linear(8, 3)), lambda: (randn(2, 5, 8),), lambda: (randn(3, 9, 8),), axes={0: {0: "b", 1: "n"}})

# ---- sequence models ----
net("performer", forward(lambda w, q, k, v: (lambda f, g: (f @ (g.transpose(-1, -2) @ v)) / (f @ g.sum(-2)[..., None]))((q @ w - (q ** 2).sum(-1, keepdim=True) / 2).exp(), (k @ w - (k ** 2).sum(-1, keepdim=True) / 2).exp()), w=lambda: randn(6, 8)), *[lambda n=n: tuple(0.3 * randn(n, 2, n + 3, 6) for _ in range(3)) for n in (1, 2)], axes={i: {0: "b", 2: "s"} for i in range(3)}, tol=1e-3)
fn("nystrom_inverse", lambda q: (lambda a: nystrom(a))((q @ q.transpose(-1, -2)).softmax(-1)), *at(lambda n: (randn(n, 5, 4),), 1, 3), axes=BATCH, tol=1e-3)


def nystrom(a):
    z = a.transpose(-1, -2) / (a.abs().sum(-2).max() * a.abs().sum(-1).max())
    i = torch.eye(a.shape[-1])
    for _ in range(4):
        y = a @ z
        z = 0.25 * z @ (13 * i - y @ (15 * i - y @ (7 * i - y)))
    return z


fn("retention", lambda q, k, v: (lambda d: (q @ k.transpose(-1, -2) * d) @ v)(torch.where(torch.arange(q.shape[-2])[:, None] >= torch.arange(q.shape[-2]), 0.9 ** (torch.arange(q.shape[-2])[:, None] - torch.arange(q.shape[-2])).float(), 0.0)), *[lambda n=n: tuple(randn(n, 2, n + 3, 4) for _ in range(3)) for n in (1, 2)], axes={i: {0: "b", 2: "s"} for i in range(3)})
fn("rwkv_mix", lambda k, v, w, u: rwkv(k, v, w, u), (randn(2, 5, 4), randn(2, 5, 4), rand(4), randn(4)))


def rwkv(k, v, w, u):
    a, b, m, out = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.full_like(k[:, 0], -1e38), []
    for t in range(k.shape[1]):
        n = torch.maximum(m, u + k[:, t])
        out.append(((m - n).exp() * a + (u + k[:, t] - n).exp() * v[:, t]) / ((m - n).exp() * b + (u + k[:, t] - n).exp()))
        n = torch.maximum(m - w, k[:, t])
        a, b, m = (m - w - n).exp() * a + (k[:, t] - n).exp() * v[:, t], (m - w - n).exp() * b + (k[:, t] - n).exp(), n
    return torch.stack(out, 1)


net("state_space_by_fft", forward(lambda c, x: (lambda k: torch.fft.irfft(torch.fft.rfft(x, n=16) * torch.fft.rfft(k, n=16), n=16)[..., :8])((c[0, :, :, None] * torch.exp(-c[1, :, :, None].exp() * 0.1 * torch.arange(8.0)) * torch.cos(c[2, :, :, None] * torch.arange(8.0))).sum(1)), c=lambda: randn(3, 4, 3)), *at(lambda n: (randn(n, 4, 8),), 1, 2), axes=BATCH, exporters=("dy",))
fn("parallel_scan_linear", lambda a, x: (lambda l: (l.exp() * torch.cumsum(x / l.exp(), 1)))(torch.cumsum(F.logsigmoid(a), 1)), lambda: (randn(2, 6, 3), randn(2, 6, 3)), lambda: (randn(1, 9, 3), randn(1, 9, 3)), axes={i: {0: "b", 1: "t"} for i in range(2)})
net("temporal_convolutions", lambda: nn.Sequential(*[nn.Sequential(nn.ConstantPad1d((2 * d, 0), 0.0), nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3, dilation=d)), nn.ELU(), nn.Dropout1d(0.2)) for d in (1, 2, 4)]), lambda: (randn(2, 4, 9),), lambda: (randn(1, 4, 15),), axes={0: {0: "b", 2: "t"}})
net("highway_and_gates", forward(lambda a, b, x: (lambda g: g * F.relu(a(x)) + (1 - g) * x)(torch.sigmoid(b(x))), a=lambda: nn.Linear(6, 6), b=lambda: nn.Linear(6, 6)), *at(lambda n: (randn(n, 6),), 2, 4), axes=BATCH)
net("char_cnn_lstm", forward(lambda e, c, r, o, x: o(r(c(e(x.flatten(0, 1)).transpose(1, 2)).relu().amax(2).view(x.shape[0], x.shape[1], -1))[0]), e=lambda: nn.Embedding(30, 6, padding_idx=0), c=lambda: nn.Conv1d(6, 8, 3, padding=1), r=lambda: nn.LSTM(8, 5, bidirectional=True, batch_first=True), o=lambda: nn.Linear(10, 4)), lambda: (randint(0, 30, (2, 4, 6)),), lambda: (randint(0, 30, (3, 5, 6)),), axes={0: {0: "b", 1: "s"}})
fn("crf_forward_and_viterbi", lambda e, t: crf(e, t), (randn(2, 5, 4), randn(4, 4)))


def crf(e, t):
    a, v, back = e[:, 0], e[:, 0], []
    for s in range(1, e.shape[1]):
        a = torch.logsumexp(a[:, :, None] + t, 1) + e[:, s]
        m, i = (v[:, :, None] + t).max(1)
        v = m + e[:, s]
        back.append(i)
    path = [v.argmax(1)]
    for i in reversed(back):
        path.append(i.gather(1, path[-1][:, None])[:, 0])
    return torch.logsumexp(a, 1), torch.stack(path[::-1], 1)


net("pointer_network", forward(lambda a, b, v, q, k, m: (lambda s: (s.log_softmax(-1), s.argmax(-1)))((torch.tanh(a(q)[:, :, None] + b(k)[:, None]) @ v).masked_fill(~m[:, None], float("-inf"))), a=lambda: nn.Linear(4, 6), b=lambda: nn.Linear(4, 6), v=lambda: randn(6)), *[lambda n=n: (randn(n, 3, 4), randn(n, 5, 4), torch.ones(n, 5, dtype=torch.bool)) for n in (2, 3)], axes={i: {0: "b"} for i in range(3)})
net("neural_turing_read", forward(lambda k, b, s, m, h: (lambda w: (lambda c: (c, (c[:, :, None] * m).sum(1)))((lambda sh: sh[:, :1] * w.roll(1, 1) + sh[:, 1:2] * w + sh[:, 2:] * w.roll(-1, 1))(s(h).softmax(1))))((F.softplus(b(h)) * F.cosine_similarity(m, k(h)[:, None], dim=-1)).softmax(1)), k=lambda: nn.Linear(5, 4), b=lambda: nn.Linear(5, 1), s=lambda: nn.Linear(5, 3)), *[lambda n=n: (randn(n, 6, 4), randn(n, 5)) for n in (2, 3)], axes={0: {0: "b"}, 1: {0: "b"}})
net("top_two_experts", forward(lambda g, a, b, x: (lambda v, i: sum(((i == k).float() * v.softmax(-1)).sum(-1, keepdim=True) * F.linear(F.gelu(F.linear(x, a[k])), b[k]) for k in range(4)))(*g(x).topk(2)), g=lambda: nn.Linear(6, 4), a=lambda: randn(4, 8, 6), b=lambda: randn(4, 6, 8)), *at(lambda n: (randn(n, 6),), 3, 5), axes=BATCH)
net("capacity_experts", forward(lambda g, a, x: (lambda p: (lambda h: (lambda pos: (lambda keep: torch.einsum("nec,ecd->nd", (keep[..., None] * F.one_hot(pos.clamp(0, 2), 3)).float() * p.max(1)[0][:, None, None], torch.einsum("ecd,edf->ecf", torch.einsum("nec,nd->ecd", (keep[..., None] * F.one_hot(pos.clamp(0, 2), 3)).float(), x), a)))(h.bool() & (pos < 3) & (pos >= 0)))(h.cumsum(0) * h - 1))(F.one_hot(p.argmax(1), 4)))(g(x).softmax(1)), g=lambda: nn.Linear(6, 4), a=lambda: randn(4, 6, 6)), *at(lambda n: (randn(n, 6),), 7, 9), axes=BATCH)
net("vector_quantiser", forward(lambda e, x: (lambda i: (i, x + (e[i] - x), F.one_hot(i, 9).float().mean(0), -(F.one_hot(i, 9).float().mean(0) * (F.one_hot(i, 9).float().mean(0) + 1e-6).log()).sum().exp()))(((x ** 2).sum(1, keepdim=True) - 2 * x @ e.T + (e ** 2).sum(1)).argmin(1)), e=lambda: randn(9, 4)), *at(lambda n: (randn(n, 4),), 5, 8), axes=BATCH)
net("residual_and_finite_quantisers", forward(lambda e, x: residual(e, x), e=lambda: randn(3, 8, 4)), *at(lambda n: (randn(n, 4),), 5, 8), axes=BATCH)


def residual(e, x):
    codes, rest = [], x
    for book in e:
        i = torch.cdist(rest, book).argmin(1)
        codes.append(i)
        rest = rest - F.embedding(i, book)
    levels = torch.tensor([4.0, 4, 2, 2])
    z = torch.round(torch.tanh(x) * (levels - 1) / 2)
    return torch.stack(codes, 1), x - rest, ((z + levels // 2) * torch.tensor([1, 4, 16, 32])).sum(1).long()


# ---- series, tables, recommendation ----
net("n_beats", forward(lambda a, b, c, x: (lambda h: (x - b(h), c(h)))(a(x)), a=lambda: nn.Sequential(nn.Linear(8, 12), nn.ReLU()), b=lambda: nn.Linear(12, 8), c=lambda: nn.Linear(12, 3)), *at(lambda n: (randn(n, 8),), 2, 5), axes=BATCH)
net("reversible_normalisation", forward(lambda l, x: (lambda m, s: l(((x - m) / s).transpose(1, 2)).transpose(1, 2) * s + m)(x.mean(1, keepdim=True), (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()), l=lambda: nn.Linear(8, 4)), *at(lambda n: (randn(n, 8, 3),), 2, 5), axes=BATCH)
fn("series_decomposition", lambda x: (lambda m: (x - m, m))(F.avg_pool1d(torch.cat([x[:, :1].repeat(1, 2, 1), x, x[:, -1:].repeat(1, 2, 1)], 1).permute(0, 2, 1), 5, 1).permute(0, 2, 1)), lambda: (randn(2, 9, 3),), lambda: (randn(1, 12, 3),), axes={0: {0: "b", 1: "t"}})
fn("auto_correlation", lambda q, k, v: (lambda c: (lambda w, d: sum(torch.gather(v.repeat(1, 1, 2), 2, (torch.arange(8) + d[:, i, None])[:, None].expand(-1, v.shape[1], -1)) * w.softmax(-1)[:, i, None, None] for i in range(2)))(*c.mean(1).topk(2)))(torch.fft.irfft(torch.fft.rfft(q) * torch.conj(torch.fft.rfft(k)), n=8)), (randn(2, 3, 8), randn(2, 3, 8), randn(2, 3, 8)), exporters=("dy",))
fn("patched_series", lambda x: (lambda p: (p.mean(-1), p.flatten(2)))(F.pad(x, (0, 4), mode="replicate").unfold(-1, 6, 4)), *at(lambda n: (randn(n, 3, 14),), 2, 3), axes=BATCH)
fn("distribution_heads", lambda x: (lambda m, s, n: (m + s * torch.erfinv(torch.tensor([-0.8, 0.0, 0.8])) * math.sqrt(2), -0.5 * ((0.3 - m) / s) ** 2 - s.log() - 0.919, torch.lgamma(n + 2) - torch.lgamma(n) - 0.7, torch.special.ndtr(x)))(x[:, :1], F.softplus(x[:, 1:2]) + 1e-3, F.softplus(x[:, 2:]) + 0.1), *at(lambda n: (randn(n, 3),), 2, 5), axes=BATCH, exporters=("dy",))
fn("sparsemax_and_entmax", lambda x: (sparsemax(x), torch.relu(x / 2 - bisect(x / 2)) ** 2), *at(lambda n: (randn(n, 6),), 2, 5), axes=BATCH, tol=1e-3)


def sparsemax(x):
    z = x.sort(1, descending=True)[0]
    c = z.cumsum(1) - 1
    k = torch.arange(1, x.shape[1] + 1)
    n = (k * z > c).sum(1, keepdim=True)
    return (x - c.gather(1, n - 1) / n).clamp(min=0)


def bisect(x):
    lo, hi = x.max(1, keepdim=True)[0] - 1, x.max(1, keepdim=True)[0] - x.shape[1] ** -0.5
    for _ in range(12):
        mid = (lo + hi) / 2
        big = (torch.relu(x - mid) ** 2).sum(1, keepdim=True) >= 1
        lo, hi = torch.where(big, mid, lo), torch.where(big, hi, mid)
    return lo


net("tabnet_step", forward(lambda l, b, p, x: (lambda m: (m, F.glu(b(l(m * x))), p * (1.3 - m)))(sparsemax(l(x)[:, :6] * p)), l=lambda: nn.Linear(6, 8), b=lambda: nn.BatchNorm1d(8), p=lambda: rand(6)), *at(lambda n: (randn(n, 6),), 2, 5), axes=BATCH)
net("deep_fm", forward(lambda e, w, l, i, x: (lambda v: torch.sigmoid(w(i + OFFSETS).sum(1) + 0.5 * (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1, keepdim=True) + l(torch.cat([v.flatten(1), x], 1))))(e(i + OFFSETS)), e=lambda: nn.Embedding(30, 4), w=lambda: nn.Embedding(30, 1), l=lambda: nn.Sequential(nn.Linear(15, 8), nn.ReLU(), nn.Linear(8, 1))), *[lambda n=n: (randint(0, 10, (n, 3)), randn(n, 3)) for n in (2, 5)], axes={0: {0: "b"}, 1: {0: "b"}})
OFFSETS = torch.tensor([0, 10, 20])
net("cross_network", forward(lambda a, b, x: (lambda y: x * b(y) + y)(x * a(x) + x), a=lambda: nn.Linear(6, 6), b=lambda: nn.Linear(6, 6)), *at(lambda n: (randn(n, 6),), 2, 5), axes=BATCH)
net("dot_interactions", forward(lambda e, x, i, o: (lambda z: (lambda p: torch.cat([x, p[:, *torch.tril_indices(3, 3, -1)]], 1))(z @ z.transpose(1, 2)))(torch.stack([x, e(i, o), e(i.flip(0), o)], 1)), e=lambda: nn.EmbeddingBag(20, 4, mode="sum")), (randn(3, 4), randint(0, 20, (7,)), torch.tensor([0, 2, 2])))
net("interest_attention", forward(lambda e, m, h, t: (lambda k, q: ((m(torch.cat([k, q, k - q, k * q], -1)).squeeze(-1).masked_fill(h == 0, -2 ** 31)).softmax(1)[:, None] @ k)[:, 0])(e(h), e(t)[:, None].expand(-1, h.shape[1], -1)), e=lambda: nn.Embedding(20, 4, padding_idx=0), m=lambda: nn.Sequential(nn.Linear(16, 6), nn.PReLU(), nn.Linear(6, 1))), *[lambda n=n: (randint(0, 20, (n, 5 + n)), randint(1, 20, (n,))) for n in (2, 3)], axes={0: {0: "b", 1: "s"}, 1: {0: "b"}})
net("two_towers", forward(lambda a, b, x, y: (lambda u, v: (u @ v.T / 0.07, (u @ v.T).topk(2, 1), torch.arange(x.shape[0])))(F.normalize(a(x), dim=-1), F.normalize(b(y), dim=-1)), a=lambda: nn.Linear(5, 4), b=lambda: nn.Linear(6, 4)), *[lambda n=n: (randn(n, 5), randn(n, 6)) for n in (3, 5)], axes={0: {0: "b"}, 1: {0: "b"}})
net("arc_face", forward(lambda w, x, y: (lambda c: torch.where(F.one_hot(y, 7).bool(), torch.cos(torch.acos(c.clamp(-1 + 1e-7, 1 - 1e-7)) + 0.5), c) * 64)(F.linear(F.normalize(x), F.normalize(w))), w=lambda: randn(7, 5)), *[lambda n=n: (randn(n, 5), randint(0, 7, (n,))) for n in (2, 4)], axes={0: {0: "b"}, 1: {0: "b"}}, tol=1e-3)
fn("spline_basis", lambda x: (lambda g: (lambda b: b)(spline(x, g)))(torch.linspace(-2, 2, 9)), *at(lambda n: (rand(n, 3) * 2 - 1,), 2, 5), axes=BATCH)


def spline(x, g, k=2):
    x = x[..., None]
    b = ((x >= g[:-1]) & (x < g[1:])).float()
    for i in range(1, k + 1):
        b = (x - g[:-i - 1]) / (g[i:-1] - g[:-i - 1]) * b[..., :-1] + (g[i + 1:] - x) / (g[i + 1:] - g[1:-i]) * b[..., 1:]
    return b


fn("oblivious_trees", lambda x: (lambda c: (lambda i: torch.arange(16.0)[i].view(-1, 2).sum(1))((c * torch.tensor([8, 4, 2, 1])).sum(-1)))((x[:, [[0, 1, 2, 3], [3, 2, 1, 0]]] > 0.1).long()), *at(lambda n: (randn(n, 4),), 2, 5), axes=BATCH)

# ---- mathematics in a forward pass ----
net("runge_kutta_flow", forward(lambda m, x: rk4(m, x), m=lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))), *at(lambda n: (randn(n, 3),), 2, 5), axes=BATCH)


def rk4(f, x, h=0.2):
    for _ in range(3):
        a = f(x)
        b = f(x + h / 2 * a)
        c = f(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + f(x + h * c))
    return x


net("coupling_flow", forward(lambda s, x: (lambda a, b: (lambda l, t: (torch.cat([a, b * l.tanh().exp() + t], 1), l.tanh().sum(1)))(*s(a).chunk(2, 1)))(*x.chunk(2, 1)), s=lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 6))), *at(lambda n: (randn(n, 6),), 2, 5), axes=BATCH)
net("input_gradients", forward(lambda m, x: torch.func.grad(lambda a: m(a).sum())(x), m=lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))), (randn(3, 4),), exporters=("dy",))
net("jacobians_by_vmap", forward(lambda m, x: torch.vmap(torch.func.jacrev(m))(x), m=lambda: nn.Sequential(nn.Linear(4, 6), nn.SiLU(), nn.Linear(6, 2))), (randn(3, 4),), exporters=("dy",))
fn("ensembles_by_vmap", lambda w, x: torch.vmap(lambda a: torch.tanh(x @ a).softmax(-1))(w), (randn(3, 4, 2), randn(5, 4)), exporters=("dy",))
fn("sinkhorn_steps", lambda x: sinkhorn(x), *at(lambda n: (randn(n, 4, 4),), 1, 3), axes=BATCH)


def sinkhorn(x):
    for _ in range(5):
        x = x - x.logsumexp(2, keepdim=True)
        x = x - x.logsumexp(1, keepdim=True)
    return x.exp()


fn("power_iteration", lambda a: power(a), (randn(2, 5, 5),), tol=1e-3)


def power(a):
    s = a @ a.transpose(1, 2)
    v = torch.ones(a.shape[0], a.shape[1], 1)
    for _ in range(8):
        v = F.normalize(s @ v, dim=1)
    return (v.transpose(1, 2) @ s @ v).flatten(), v


fn("newton_schulz", lambda g: muon(g), (randn(4, 6),), tol=1e-3)


def muon(g):
    x = g / (g.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


fn("kalman_and_cholesky_free", lambda x, p, z: (lambda k: (x + (k @ (z - x)[..., None])[..., 0], (torch.eye(2) - k) @ p))(p @ (lambda s: torch.stack([s[:, 1, 1], -s[:, 0, 1], -s[:, 1, 0], s[:, 0, 0]], -1).view(-1, 2, 2) / (s[:, 0, 0] * s[:, 1, 1] - s[:, 0, 1] * s[:, 1, 0])[:, None, None])(p + torch.eye(2))), *[lambda n=n: (randn(n, 2), torch.eye(2).repeat(n, 1, 1) * 2, randn(n, 2)) for n in (1, 3)], axes={i: {0: "b"} for i in range(3)})
fn("masked_means_and_last", lambda x, n: (lambda m: ((x * m[..., None]).sum(1) / n[:, None], x[torch.arange(x.shape[0]), n - 1], x.masked_fill(~m[..., None], -1e9).amax(1), m.long().cumsum(1)))(torch.arange(x.shape[1])[None] < n[:, None]), lambda: (randn(2, 5, 3), torch.tensor([2, 5])), lambda: (randn(3, 7, 3), torch.tensor([1, 7, 4])), axes={0: {0: "b", 1: "t"}, 1: {0: "b"}})
fn("length_regulator", lambda x, d: torch.repeat_interleave(x, d, 0), (randn(4, 3), torch.tensor([2, 0, 3, 1])), exporters=("ts",))
fn("monotonic_upsampling", lambda x, d: (lambda c: (((torch.arange(8)[None, :, None] < c[:, None]) & (torch.arange(8)[None, :, None] >= (c - d)[:, None])).float() @ x))(d.cumsum(1)), *[lambda n=n: (randn(n, 4, 3), randint(0, 3, (n, 4))) for n in (1, 2)], axes={0: {0: "b"}, 1: {0: "b"}})
fn("bit_tricks", lambda x: (torch.bitwise_left_shift(x, 2), x >> 1, x & 0xF, ((x[:, None] >> torch.arange(8)) & 1).sum(1), x ^ (x >> 1), ~x, (x * 2654435761) % 1024, torch.bitwise_and(x, x - 1) == 0), *at(lambda n: (randint(0, 256, (n,)),), 4, 7), axes=BATCH)
fn("hash_embeddings", lambda x, e: sum(F.embedding((x * p + 7) % 11, e) for p in (31, 37, 41)), *[lambda n=n: (randint(0, 10 ** 6, (n, 4)), randn(11, 3)) for n in (2, 3)], axes={0: {0: "b"}})
fn("image_to_tensor", lambda x: ((x.permute(0, 3, 1, 2).float() / 255 - torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1), F.interpolate(x.permute(0, 3, 1, 2).float(), (6, 6), mode="bilinear", antialias=True), x.float().mean((1, 2)).round().to(torch.uint8), x[:, 1:-1, 2:-2].flip(2)), *at(lambda n: (randint(0, 256, (n, 9, 11, 3), dtype=torch.uint8),), 1, 2), axes=BATCH)
fn("letterbox", lambda x: F.pad(F.interpolate(x, size=(int(x.shape[2] * 12 / max(x.shape[2], x.shape[3])), int(x.shape[3] * 12 / max(x.shape[2], x.shape[3]))), mode="bilinear"), (0, 0, 2, 2), value=114 / 255), (rand(1, 3, 6, 9),))
fn("segmentation_post", lambda x: (F.interpolate(x, (9, 11), mode="bilinear", align_corners=False).argmax(1).to(torch.uint8), F.interpolate(x.argmax(1, keepdim=True).float(), scale_factor=2, mode="nearest").long(), x.softmax(1).max(1)[0], torch.stack([(x.argmax(1) == k).flatten(1).sum(1) for k in range(4)], 1)), lambda: (randn(1, 4, 5, 6),), lambda: (randn(2, 4, 7, 5),), axes={0: {0: "b", 2: "h", 3: "w"}})
fn("sampling_parts", lambda l: ((l / 0.7).softmax(-1), torch.where(l < l.topk(3, -1)[0][..., -1:], float("-inf"), l), (lambda v, i: torch.zeros_like(l).scatter(1, i, torch.where(v.softmax(-1).cumsum(-1) - v.softmax(-1) > 0.8, float("-inf"), v)))(*l.sort(-1, descending=True)), l.log_softmax(-1).max(-1), -(l.softmax(-1) * l.log_softmax(-1)).sum(-1)), *at(lambda n: (randn(n, 9),), 2, 4), axes=BATCH)
fn("alibi_and_relative", lambda x: (lambda s: (-(torch.arange(s)[None] - torch.arange(s)[:, None]).abs() * (2.0 ** -torch.arange(1, 3))[:, None, None] + x[:, None] @ x[:, None].transpose(-1, -2), torch.clamp(torch.arange(s)[None] - torch.arange(s)[:, None], -3, 3) + 3))(x.shape[1]), lambda: (randn(2, 4, 3),), lambda: (randn(1, 7, 3),), axes={0: {0: "b", 1: "s"}})
fn("relative_shift", lambda x: F.pad(x, (1, 0)).view(x.shape[0], x.shape[1], x.shape[3] + 1, x.shape[2])[:, :, 1:].reshape(x.shape), lambda: (randn(2, 2, 5, 5),), lambda: (randn(1, 2, 7, 7),), axes={0: {0: "b", 2: "s", 3: "s"}}, exporters=("dy", "ts"))
fn("sliding_chunks", lambda x: (lambda c: (c.shape[1] * torch.ones(1), torch.einsum("bcid,bcjd->bcij", c, c)))(x.unfold(1, 4, 2).transpose(2, 3)), *at(lambda n: (randn(n, 8, 3),), 1, 2), axes=BATCH)
fn("rotary_interleaved", lambda x: (lambda a: torch.stack([x[..., ::2] * a.cos() - x[..., 1::2] * a.sin(), x[..., ::2] * a.sin() + x[..., 1::2] * a.cos()], -1).flatten(-2))(torch.arange(x.shape[1])[:, None] * 10000 ** (-torch.arange(0, 6, 2) / 6)), lambda: (randn(2, 4, 6),), lambda: (randn(1, 7, 6),), axes={0: {0: "b", 1: "s"}})
fn("group_query_expanded", lambda q, k: (q @ k[:, :, None].expand(-1, -1, 2, -1, -1).reshape(k.shape[0], -1, k.shape[2], k.shape[3]).transpose(-1, -2)).softmax(-1), *[lambda n=n: (randn(n, 4, n + 2, 6), randn(n, 2, n + 3, 6)) for n in (1, 2)], axes={0: {0: "b", 2: "s"}, 1: {0: "b", 2: "t"}})
fn("attention_with_sinks", lambda q, k, v, s: (lambda a: a[..., :-1] @ v)(torch.cat([q @ k.transpose(-1, -2) / 2, s.view(1, -1, 1, 1).expand(q.shape[0], -1, q.shape[2], -1)], -1).softmax(-1)), *[lambda n=n: (randn(n, 2, n + 2, 4), randn(n, 2, n + 2, 4), randn(n, 2, n + 2, 4), randn(2)) for n in (1, 2)], axes={i: {0: "b", 2: "s"} for i in range(3)})
fn("tree_lstm_levels", lambda x, i: (lambda h: torch.cat([h, torch.tanh(h[i[:, 0]] + h[i[:, 1]])]))(torch.tanh(x)), lambda: (randn(5, 3), randint(0, 5, (3, 2))), lambda: (randn(7, 3), randint(0, 7, (2, 2))), axes={0: {0: "n"}, 1: {0: "m"}})
fn("bucketed_numbers", lambda x: (torch.bucketize(x, torch.tensor([-1.0, 0, 0.5, 2])), torch.bucketize(x, torch.tensor([-1.0, 0, 0.5, 2]), right=True), torch.searchsorted(torch.tensor([-1.0, 0, 0.5, 2]), x), F.one_hot(torch.bucketize(x, torch.tensor([-1.0, 0])), 3)), *at(lambda n: (randn(n, 3),), 2, 4), axes=BATCH)
fn("nan_handling", lambda x: (torch.nan_to_num(x, 1.0, 2.0, 3.0), x.isnan().any(1), torch.where(x.isnan(), torch.zeros_like(x), x).sum(1), torch.nansum(x, 1), x.nanmean(1), torch.nan_to_num(x).max(1), (x != x).float()), (torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), 2.0, float("nan")]]),), exporters=("dy", "ts"))
fn("views_of_bits", lambda x: (x.view(torch.int32), (x.view(torch.int32) >> 23) & 255, x.to(torch.float16).view(torch.int16)), (randn(2, 4),), exporters=("dy",))
fn("double_accumulation", lambda x: (x.double().cumsum(0).float(), x.double().mean(1), (x.double() @ x.double().T).float(), x.sum(0, dtype=torch.float64), x.softmax(1, dtype=torch.float64)), *at(lambda n: (randn(n, 5),), 3, 4), axes=BATCH)
