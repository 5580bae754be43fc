"""Functions of torch, torch.nn.functional, torch.fft and torch.linalg; indexing; control flow; element types; opsets."""
import torch
from torch.nn import functional as F

from common import Table
from torch_layers import Fn

table = Table()
rand, randn, randint = torch.rand, torch.randn, torch.randint
BATCH = {0: {0: "batch"}}


def fn(name, f, *calls, into=table, **options):
    """f at one or more sets of inputs."""
    into(name, lambda: (Fn(f),) + tuple(c() if callable(c) else c for c in calls), **options)


def at(f, *sizes):
    return [lambda n=n: f(n) for n in sizes]


fn("unary", lambda x: (x.abs(), x.neg(), x.exp(), x.sin(), x.cos(), x.tan(), x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.tanh(), x.asinh(), x.atanh(), x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), x.sign(), x.square(), x.erf(),
                       x.sigmoid(), x.expm1(), x.exp2(), x.deg2rad(), x.erfc(), x.sinc(), x.signbit(), x.isnan(), x.isinf(), x.isfinite()), *at(lambda n: rand(n, 5) * 1.8 - 0.9, 3, 4), axes=BATCH)
fn("unary_positive", lambda x: (x.log(), x.log2(), x.log10(), x.log1p(), x.sqrt(), x.rsqrt(), x.reciprocal(), (x + 1).acosh(), x.logit(), x.pow(2.5), x.pow(-1), torch.xlogy(x, x)), rand(3, 5) * 0.9 + 0.05)
fn("special_functions", lambda x: (torch.special.gammaln(x), torch.special.digamma(x), torch.special.i0(x), torch.special.erfinv(x - 0.5), torch.special.ndtr(x), torch.special.entr(x), torch.special.expit(x)), rand(4, 3) * 0.9 + 0.1, exporters=("dy",))
fn("binary", lambda x, y: (x + y, x - y, x * y, x / y, x // y, x % y, torch.fmod(x, y), torch.remainder(x, y), torch.atan2(x, y), torch.maximum(x, y), torch.minimum(x, y), torch.hypot(x, y), torch.pow(x.abs(), y), torch.addcmul(x, x, y, value=0.5),
                           torch.addcdiv(x, x, y + 3), torch.lerp(x, y, 0.3), torch.copysign(x, y), torch.heaviside(x, y), torch.logaddexp(x, y), x.clamp(-0.5, 0.5), torch.clamp(x, min=y * 0.1), torch.rsub(x, y), torch.true_divide(x, y),
                           torch.div(x, y, rounding_mode="trunc"), torch.div(x, y, rounding_mode="floor"), torch.where(x > y, x, y), torch.outer(x[0], y[0])), (randn(3, 4), randn(3, 4)))
fn("comparisons", lambda x, y: (x > y, x >= y, x < y, x <= y, x == y, x != y, torch.isclose(x, y), (x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0), torch.logical_not(x), (x > 0).any(1), (x > 0).all(0), x.bool()), (randn(3, 4), randn(3, 4)))
for d in ["int8", "int16", "int32", "int64", "uint8"]:
    fn("integers_" + d, lambda x, y: (x + y, x - y, x * y, x // y, x % y, x & y, x | y, x ^ y, ~x, x << 1, x >> 1, x.sum(), x.max(1), x.min(0), x.abs() if x.dtype != torch.uint8 else x, x > y, x.float() / 3, x.clamp(2, 9), x.cumsum(1), x.sort(1), x.argmax(1), x / y,
                                      torch.where(x > y, x, y), x.prod(1), x.sign()), (randint(0, 20, (3, 4)).to(getattr(torch, d)), randint(1, 7, (3, 4)).to(getattr(torch, d))))
fn("casts", lambda x: (x.half(), x.double(), x.int(), x.long(), x.bool(), x.to(torch.uint8), x.bfloat16().float(), x.to(torch.int16), x.type_as(x.double()), x.half().float() * 2), rand(3, 4) * 9)
fn("type_promotion", lambda i, f, b, h: (i + f, i * 2.5, b + i, f + b, h + f, h * 2, i / 2, i // 2, torch.cat([f, i.float()]), b.float() * f, i.pow(2), 3 - i, 2 ** f), (randint(0, 9, (3, 4)), randn(3, 4), randn(3, 4) > 0, randn(3, 4).half()))
fn("reductions", lambda x: (x.sum(1), x.mean((0, 2)), x.var(1), x.std(2, unbiased=False), x.max(), x.min(1), x.amax((1, 2)), x.amin(0), x.prod(2), x.norm(), x.norm(1, 2), x.norm(p=3, dim=1), x.argmax(1), x.argmin(), x.logsumexp(2), x.median(1), x.nansum(1),
                            x.count_nonzero(1), x.cumsum(1), x.cumprod(2), torch.var_mean(x, 1), torch.std_mean(x, 2), x.aminmax(dim=1), x.sum(), x.nanmean(1), x.mode(2)[0] * 0, x.max(dim=0, keepdim=True)), randn(3, 4, 5), exporters=("dy", "ts"))
fn("reductions_supported", lambda x: (x.sum(1), x.mean((0, 2)), x.var(1), x.std(2, unbiased=False), x.max(), x.min(1), x.amax((1, 2)), x.amin(0), x.prod(2), x.norm(), x.norm(p=1, dim=2), x.norm(p=3, dim=1), x.argmax(1), x.argmin(), x.logsumexp(2), x.cumsum(1), torch.var_mean(x, 1)),
   *at(lambda n: randn(n, 4, 5), 3, 5), axes=BATCH)
fn("scans", lambda x: (x.cumsum(0), x.cumsum(-1), x.cumprod(1), torch.cummax(x, 1), torch.cummin(x, 1), torch.logcumsumexp(x, 1), torch.diff(x), torch.trapezoid(x)), randn(3, 6), exporters=("dy",))
fn("scans_ts", lambda x: (x.cumsum(0), x.cumsum(-1), x.flip(1).cumsum(1)), *at(lambda n: randn(n, 6), 3, 5), axes=BATCH)
fn("shapes", lambda x: (x.reshape(4, -1), x.view(-1, 2), x.permute(2, 0, 1), x.transpose(0, 1), x.flatten(1), x.unsqueeze(1), x[:1].squeeze(0), x.expand(2, 2, 3, 4), x.repeat(2, 1, 3), torch.tile(x, (1, 2)), x.roll(1, 2), x.flip(0, 2), x.movedim(0, 2), x.unflatten(2, (2, 2)),
                        torch.cat([x, x], 1), torch.stack([x, x], 2), x.chunk(2, 1), x.split(2, 2), x.split([1, 2], 1), x.unbind(0), x.narrow(1, 1, 2), x.select(2, 1), x.rot90(1, (1, 2)), x.swapaxes(0, 2), torch.atleast_2d(x[0, 0]), x.mT, x.repeat_interleave(2, 1),
                        torch.broadcast_to(x[:, :1], (2, 3, 4)), torch.hstack([x, x]), torch.dstack([x, x]), x.contiguous().as_strided((2, 3), (1, 2)), x.diagonal(0, 1, 2), torch.tensor_split(x, 3, 2)), randn(2, 3, 4), exporters=("dy",))
fn("shapes_ts", lambda x: (x.reshape(x.shape[0] * 3, -1), x.permute(2, 0, 1), x.flatten(1), x.expand(2, *x.shape), x.repeat(2, 1, 3), x.roll(1, 2), x.flip(0, 2), torch.cat([x, x], 1), torch.stack([x, x], 2), x.chunk(2, 1), x.split(2, 2), x.unbind(1), x.narrow(1, 1, 2),
                           x.view(x.size(0), -1)[:, ::2], x.repeat_interleave(2, 1), x.new_zeros(x.shape[0], 3), x.unsqueeze(-1).squeeze(-1), x.transpose(1, 2).reshape(x.size(0), 2, -1), torch.arange(x.shape[0]) * 2), *at(lambda n: randn(n, 3, 4), 2, 5), axes=BATCH)
fn("builders", lambda x: (torch.arange(x.shape[0]), torch.zeros(x.shape[0], 3), torch.ones_like(x), torch.full((2, x.shape[1]), 7.0), torch.eye(4) * x[0, 0], torch.linspace(0, 1, 7) + x[0, 0], torch.tril(x), torch.triu(x, 1), torch.arange(0, 2, 0.3) + x[0, 0],
                          torch.tril(torch.ones(4, 4)), torch.full_like(x, 2), torch.empty_like(x).fill_(3.0), torch.meshgrid(x[0], x[:, 0], indexing="ij"), torch.zeros_like(x, dtype=torch.long), torch.logspace(0, 1, 4) * x[0, 0], torch.diag(x[0]), torch.triu_indices(3, 3) + x[0, 0].long()), *at(lambda n: randn(n, 4), 3, 5), axes=BATCH)

# ---- indexing ----

I = torch.tensor([0, 2, 1])  # noqa: E741
fn("indexing", lambda x, i: (x[i], x[:, i], x[i, i], x[0], x[..., 1], x[1:, ::2], x[None, :, -1], x[[0, 2]], x[:, -2:], x.take_along_dim(i[:, None], 1), x[i][:, i], x.index_select(1, i), x[i.unsqueeze(0), i.unsqueeze(1)], x[1], x[-1, -1]), (randn(4, 5), I))
fn("mask_indexing", lambda x: (x[x > 0], x[x[:, 0] > 0], x.masked_fill(x > 0, 9.0), torch.masked_select(x, x < 0), torch.nonzero(x > 0), torch.where(x > 0), torch.argwhere(x > 0.5)), randn(4, 5), exporters=("ts",))
fn("mask_indexing_dy", lambda x: (x[x > 0], torch.nonzero(x > 0)), randn(4, 5), exporters=("dy",))
fn("gathers", lambda x, i: (x.gather(1, i), x.gather(0, i), torch.take(x, i), x.take_along_dim(i, 1), F.embedding(i, x)), (randn(4, 5), randint(0, 4, (4, 3))))
fn("scatters", lambda x, i, s: (x.scatter(1, i, s), x.scatter(0, i, 2.0), x.scatter_add(1, i, s), x.scatter_reduce(1, i, s, "amax"), x.scatter_reduce(1, i, s, "sum"), x.scatter_reduce(0, i, s, "prod"), x.scatter_reduce(1, i, s, "amin")), (randn(4, 5), torch.argsort(rand(4, 5), 1)[:, :3] % 4, randn(4, 3)), tol=1e-3)
fn("scatter_mean", lambda x, i, s: (x.scatter_reduce(1, i, s, "mean"), x.scatter_reduce(1, i, s, "sum", include_self=False)), (randn(4, 5), randint(0, 4, (4, 3)), randn(4, 3)), exporters=("dy",))
fn("index_puts", lambda x, i, v: (x.index_put((i,), v), x.index_put((i,), v, accumulate=True), x.index_add(0, i, v), x.index_copy(0, i, v), x.index_fill(0, i, 3.0), x.masked_scatter(x > 0, x * 2)), (randn(4, 5), I, randn(3, 5)))


def in_place(x):
    y = x.clone()
    y[:, 1] = 3.0
    y[0, 2:4] = y[1, 0:2]
    y[y > 1] = 0.5
    y[1:, ::2] += 1
    y[..., -1] = y.sum(1)
    return y


def index_put_many(x, i, j, v):
    y = x.clone()
    y[i, j] = v
    z = x.clone()
    z[:, i] = 7.0
    return y, z


fn("in_place", in_place, *at(lambda n: randn(n, 5), 3, 4), axes=BATCH)
fn("index_put_two", index_put_many, (randn(4, 5), I, torch.tensor([1, 4, 0]), randn(3)))
fn("sorts", lambda x: (x.sort(1), x.sort(0, descending=True), x.argsort(1), x.topk(2, 1), x.topk(3, 0, largest=False), x.msort(), x.kthvalue(2, 1)[0], x.sort(stable=True, dim=1)), randn(4, 5), exporters=("dy",))
fn("sorts_ts", lambda x: (x.sort(1), x.sort(1, descending=True), x.argsort(1), x.topk(2, 1), x.topk(2, 1, largest=False)), *at(lambda n: randn(n, 5), 3, 4), axes=BATCH)
fn("uniques", lambda x: (torch.unique(x), *torch.unique(x, return_inverse=True, return_counts=True)), randint(0, 5, (12,)), exporters=("ts",))
fn("unique_dim", lambda x: torch.unique(x, dim=0, return_counts=True), randint(0, 2, (9, 2)), exporters=("ts",))
fn("bucketize", lambda x, b: (torch.bucketize(x, b), torch.searchsorted(b, x, right=True), F.one_hot(x.long().abs() % 4, 4)), (randn(3, 4), torch.tensor([-1.0, 0.0, 0.5])), exporters=("dy", "ts"))
fn("one_hot", lambda i: (F.one_hot(i, 5), F.one_hot(i, 5).float().mean(0)), *at(lambda n: randint(0, 5, (n, 3)), 2, 4), axes=BATCH)
fn("bincount_and_histogram", lambda i: (torch.bincount(i, minlength=6), torch.histc(i.float(), 5, 0, 5)), randint(0, 5, (12,)), exporters=("dy",))

# ---- products ----

for k, (text, shapes) in enumerate([("ij,jk->ik", ((3, 4), (4, 5))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))), ("ii->i", ((4, 4),)), ("ij->ji", ((3, 4),)), ("i,j->ij", ((3,), (4,))), ("abc,cd,de->abe", ((2, 3, 4), (4, 5), (5, 2))),
                                    ("...ij,...jk->...ik", ((2, 2, 3, 4), (2, 2, 4, 5))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))), ("ijk->", ((2, 3, 4),)), ("bn,anm,bm->ba", ((2, 3), (5, 3, 4), (2, 4))), ("btd,dhk->bthk", ((2, 3, 4), (4, 2, 5)))]):
    fn("einsum_%02d" % k, lambda *a, text=text: torch.einsum(text, *a), tuple(randn(*s) for s in shapes))
fn("products", lambda x, y, v: (x @ y, torch.mm(x[0], y[0]), torch.bmm(x, y), torch.matmul(x, v), torch.addmm(x[0] @ y[0], x[0], y[0], beta=0.5, alpha=2), torch.baddbmm(x @ y, x, y), torch.mv(x[0], v), torch.dot(v, v), torch.tensordot(x, y, dims=([2], [1])), torch.kron(x[0], y[0]), torch.linalg.vecdot(v, v), torch.inner(x[0], x[1]), torch.cross(x[0, :, :3], x[1, :, :3], dim=1), torch.linalg.matrix_norm(x)), (randn(2, 3, 4), randn(2, 4, 5), randn(4)))
fn("integer_products", lambda x, y: (x @ y, (x.float() @ y.float()).int()), (randint(-9, 9, (3, 4)), randint(-9, 9, (4, 5))))
fn("linalg", lambda a: (torch.linalg.det(a), torch.inverse(a), torch.linalg.norm(a), torch.linalg.matrix_power(a, 3), torch.trace(a)), (torch.randn(4, 4) + 4 * torch.eye(4)), exporters=("dy", "ts"))
fn("inverse_det", lambda a: (torch.det(a), torch.inverse(a)), (torch.randn(2, 4, 4) + 4 * torch.eye(4)), exporters=("ts",))

# ---- Fourier, complex, signal ----

fn("fft", lambda x: (torch.fft.fft(x).real, torch.fft.rfft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.ifft(torch.fft.fft(x)).real, torch.fft.fft2(x).imag, torch.view_as_real(torch.fft.fft(x)), torch.fft.rfft(x, norm="ortho").imag, torch.fft.fftshift(x), torch.fft.rfft(x, 12).real), *at(lambda n: randn(n, 4, 10), 2, 3), axes=BATCH, exporters=("dy",))
fn("fft_ts", lambda x: torch.fft.fft(torch.view_as_complex(torch.stack([x, x * 0], -1)).real), randn(2, 10), exporters=("ts",))
fn("stft", lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=False), *at(lambda n: randn(n, 64), 2, 3), axes=BATCH, exporters=("ts",))
fn("stft_dy", lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs(), randn(2, 64), exporters=("dy",))
fn("istft", lambda x: torch.istft(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True), 16, 4, window=torch.hann_window(16)), randn(2, 64), exporters=("dy",))
fn("complex_numbers", lambda x: (lambda c: (c.abs(), c.real, c.imag, c.angle(), torch.view_as_real(c * c), torch.view_as_real(c + 1), torch.view_as_real(c @ c.mT), torch.view_as_real(c.conj())))(torch.view_as_complex(x)), randn(3, 3, 2), exporters=("dy",))
fn("rotary_complex", lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(2, 5, 4, 2)) * torch.polar(torch.ones_like(f), f)).flatten(2), (randn(2, 5, 8), randn(5, 4)), exporters=("dy",))
fn("mel_features", lambda x: torch.log(torch.clamp((torch.stft(x, 32, 8, window=torch.hann_window(32), return_complex=False) ** 2).sum(-1).transpose(1, 2) @ ((torch.arange(102).view(17, 6) % 7) / 9.0), min=1e-6)), randn(1, 160), exporters=("ts",))
fn("windows", lambda x: (x * torch.hann_window(8), x * torch.hamming_window(8), x * torch.blackman_window(8), x * torch.kaiser_window(8)), randn(3, 8), exporters=("dy", "ts"))

# ---- control flow ----


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: a.sin() + 1, lambda a: a.cos() * 2, (x,))


class NestedCond(torch.nn.Module):
    def forward(self, x, y):
        return torch.cond(x.sum() > 0, lambda a, b: torch.cond(b.sum() > 0, lambda p, q: p + q, lambda p, q: p - q, (a, b)), lambda a, b: a * b, (x, y))


class While(torch.nn.Module):
    def forward(self, n, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * 0.5 + i), (n, x))


class ScanLoop(torch.nn.Module):
    def forward(self, h, x):
        from torch._higher_order_ops.scan import scan
        return scan(lambda c, a: (torch.tanh(c + a), c * a), h, x)


class ScriptedModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)  # noqa: E741

    def forward(self, x):
        if bool(x.sum() > 0):
            y = self.l(x)
        else:
            y = -x
        for _ in range(3):
            y = torch.relu(y) + 0.1
        return y


table("cond", lambda: (Cond(), randn(4).abs(), -randn(4).abs()), exporters=("dy",))
table("cond_nested", lambda: (NestedCond(), (randn(4).abs(), randn(4).abs()), (randn(4).abs(), -randn(4).abs()), (-randn(4).abs(), randn(4))), exporters=("dy",))
table("while_loop", lambda: (While(), (torch.tensor(0), randn(3))), exporters=("dy",))
table("scan", lambda: (ScanLoop(), (randn(4), randn(6, 4))), exporters=("dy",))
table("scripted_loop", lambda: (torch.jit.script(ScriptedFor()), (randn(4), torch.tensor(5)), (randn(4), torch.tensor(0))), exporters=("ts",))
table("scripted_list", lambda: (torch.jit.script(ScriptedList()), randn(3, 4), randn(5, 4)), exporters=("ts",), axes=BATCH)
table("scripted_while", lambda: (torch.jit.script(ScriptedWhile()), randn(4) * 9), exporters=("ts",))
table("scripted_module", lambda: (torch.jit.script(ScriptedModule()), randn(3, 4).abs(), -randn(3, 4).abs()), exporters=("ts",))


class ScriptedFor(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        y = x
        for i in range(int(n)):
            y = y * 0.5 + float(i)
            if bool(y.sum() > 10):
                y = y - 1
        return y


class ScriptedList(torch.nn.Module):
    def forward(self, x):
        out: list[torch.Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i].cumsum(0) * i)
        return torch.stack(out)


class ScriptedWhile(torch.nn.Module):
    def forward(self, x):
        i = 0
        while bool(x.max() > 1) and i < 20:
            x = x * 0.8
            i += 1
        return x, torch.tensor(i)


# ---- the same small program at every opset ----


def classic(x):
    y = F.interpolate(F.max_pool2d(F.relu(x), 2, ceil_mode=True), scale_factor=2, mode="bilinear")
    y = F.pad(y, (1, 1)).mean((2, 3))
    z = torch.softmax(y, 1).clamp(0.01, 0.9)
    return torch.cat([z, z.topk(2, 1)[0]], 1).split(2, 1)[0] * F.layer_norm(y, (y.shape[1],))[:, :2], F.log_softmax(y, -1).argmax(1), F.gelu(y), y.unsqueeze(1).squeeze(1).sum(1)


fn("opsets", classic, *at(lambda n: randn(n, 4, 7, 6), 2, 3), axes=BATCH, opsets=(9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
fn("opsets_older", lambda x: (F.relu(x).mean(1), F.softmax(x, 1), x.view(-1, 2) @ x.view(2, -1), F.pad(x, (1, 1)), x[:, 1:]), randn(2, 4), opsets=(7, 8, 9, 10), exporters=("ts",))
fn("opsets_attention", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), *at(lambda n: randn(n, 2, 5, 8), 2, 3), axes=BATCH, opsets=(14, 18, 21, 23), exporters=("ts", "dy"))

# ---- torchvision's kinds of post-processing, written out ----

fn("box_iou", lambda a, b: (lambda lt, rb: (lambda w: (w[..., 0] * w[..., 1]) / ((a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]))[:, None])((rb - lt).clamp(min=0)))(torch.max(a[:, None, :2], b[None, :, :2]), torch.min(a[:, None, 2:], b[None, :, 2:])), (torch.cat([rand(5, 2), rand(5, 2) + 1], 1), torch.cat([rand(4, 2), rand(4, 2) + 1], 1)))
fn("yolo_decoding", lambda x: (lambda y: torch.cat([(y[..., :2] * 2 + torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="xy"), -1).view(1, 1, 4, 4, 2)) * 8, (y[..., 2:4] * 2) ** 2 * 10, y[..., 4:]], -1).view(x.shape[0], -1, 7))(x.view(x.shape[0], 2, 7, 4, 4).permute(0, 1, 3, 4, 2).sigmoid()), *at(lambda n: randn(n, 14, 4, 4), 1, 2), axes=BATCH)
fn("relative_position_bias", lambda x, t: x + t[(torch.arange(6)[:, None] - torch.arange(6)[None]).clamp(-3, 3) + 3].permute(2, 0, 1), (randn(2, 2, 6, 6), randn(7, 2)))
fn("t5_buckets", lambda n: (lambda r: torch.where(r < 4, r, (4 + (torch.log(r.float().clamp(min=1) / 4) / 3 * 4).long()).clamp(max=7)))(n.abs()), randint(-30, 30, (5, 6)))
fn("alibi", lambda x: x + (torch.arange(x.shape[-1])[None] - torch.arange(x.shape[-2])[:, None])[None] * torch.tensor([0.5, 0.25])[:, None, None], *at(lambda n: randn(1, 2, n, n), 4, 6), axes={0: {2: "q", 3: "k"}}, exporters=("ts",))
fn("beam_reorder", lambda s, i: (s.index_select(0, i), s.view(2, 3, -1).gather(1, i.view(2, 3, 1).expand(-1, -1, 4) % 3)), (randn(6, 4), randint(0, 6, (6,))))
fn("unpooled_segments", lambda x, i: torch.zeros(4, x.shape[1]).index_add(0, i, x) / torch.zeros(4).index_add(0, i, torch.ones(i.shape[0])).clamp(min=1)[:, None], (randn(9, 3), randint(0, 4, (9,))))
fn("graph_convolution", lambda x, e, w: torch.zeros_like(x).index_add(0, e[1], (x @ w)[e[0]]).relu(), (randn(6, 5), randint(0, 6, (2, 14)), randn(5, 5)))
fn("several_inputs_unused", lambda x, y, z: (x + 1, x), (randn(3), randn(4), randn(5)))
fn("same_output_twice", lambda x: (x, x + 1, x), randn(3, 4))
fn("scalar_inputs", lambda x, s: (x * s, s + 1), (randn(3), torch.tensor(2.5)))
fn("empty_tensors", lambda x: (x.sum(0), torch.cat([x, torch.ones(2, 3)]), x * 2), torch.zeros(0, 3))
fn("dictionary_outputs", lambda x: {"a": x + 1, "b": (x * 2, x.sum())}, randn(3))
fn("channels_last", lambda x: F.conv2d(x.to(memory_format=torch.channels_last), torch.ones(2, 3, 3, 3)), randn(1, 3, 6, 6))
fn("data_dependent_length", lambda x: torch.zeros(int(x.shape[0]) + 2).scatter(0, x, 1.0), randint(0, 4, (4,)))
fn("random_seedless_shapes", lambda x: (torch.rand_like(x) < 2, torch.randn(3, 4).shape[0] * x, F.dropout(x, 0.5, True).shape[0] + x), randn(3, 4), exporters=("ts",))
