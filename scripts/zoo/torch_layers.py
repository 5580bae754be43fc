"""Layers of torch.nn, recurrent ones and attention in their variants, quantised and weight-only models."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Table

table = Table()
rand, randn, randint = torch.rand, torch.randn, torch.randint
BATCH = {0: {0: "batch"}}


class Fn(nn.Module):
    """A function as a module; parameters as keyword arguments."""

    def __init__(self, f, **parts):
        super().__init__()
        self.f = f
        for k, v in parts.items():
            setattr(self, k, v if isinstance(v, nn.Module) else nn.Parameter(v, requires_grad=False))
        self.parts = list(parts)

    def forward(self, *args, **kwargs):
        return self.f(*[getattr(self, k) for k in self.parts], *args, **kwargs)


def layer(name, make, *shapes, dynamic=True, **options):
    """A layer on inputs of these shapes, at two batch sizes."""
    def call(n):
        return tuple(randn(n, *s[1:]) for s in shapes)
    if dynamic:
        options.setdefault("axes", {i: {0: "batch"} for i in range(len(shapes))})
        table(name, lambda: (make(), call(2), call(5)), **options)
    else:
        table(name, lambda: (make(), call(shapes[0][0])), **options)


V2, V4, V8 = (2, 8), (2, 4, 8), (2, 4, 9, 8)
table("activations", lambda: (Fn(lambda x: tuple(getattr(F, n)(x) for n in (
    "relu", "relu6", "elu", "celu", "selu", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "softsign", "softplus", "leaky_relu", "logsigmoid", "sigmoid", "tanh"))
    + (F.gelu(x, approximate="tanh"), F.threshold(x, 0.1, 20), F.glu(x), F.rrelu(x), F.softmin(x, 1), F.gumbel_softmax(x * 0) * 0, F.elu(x, 0.3), F.softplus(x, 2.0, 5.0))), randn(3, 6), randn(5, 6)), axes=BATCH)
layer("prelu", lambda: nn.PReLU(4), V8)
layer("linear", lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), V2)
layer("linear_3d", lambda: nn.Linear(8, 6), V4)
layer("bilinear", lambda: nn.Bilinear(8, 5, 3), V2, (2, 5))
layer("conv1d", lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), V4)
layer("conv2d_same", lambda: nn.Conv2d(4, 6, 3, padding="same", dilation=2), V8)
layer("conv2d_reflect", lambda: nn.Conv2d(4, 6, 3, padding=2, padding_mode="reflect"), V8)
layer("conv2d_circular", lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), V8)
layer("conv2d_groups", lambda: nn.Conv2d(4, 8, (3, 2), groups=2, stride=(2, 1)), V8)
layer("conv2d_depthwise", lambda: nn.Conv2d(4, 4, 5, groups=4, padding=2), V8)
layer("conv3d", lambda: nn.Conv3d(2, 4, 3, padding=1), (2, 2, 4, 5, 6))
layer("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1, output_padding=1), V4)
layer("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), V8)
layer("conv_transpose2d_dilated", lambda: nn.ConvTranspose2d(4, 3, 3, dilation=2), V8)
layer("conv_transpose3d", lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), (2, 2, 3, 3, 3))
layer("pools_1d", lambda: Fn(lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 3, 2, 1), F.adaptive_avg_pool1d(x, 4), F.adaptive_max_pool1d(x, 1), F.lp_pool1d(x.abs(), 2, 2))), V4)
layer("pools_2d", lambda: Fn(lambda x: (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False), F.adaptive_avg_pool2d(x, (3, 4)),
                                        F.adaptive_avg_pool2d(x, 1), F.max_pool2d(x, 3, 1, 0, 2), F.lp_pool2d(x.abs(), 2, 2))), (2, 4, 9, 8))
layer("pools_3d", lambda: Fn(lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, 2, 1), F.adaptive_avg_pool3d(x, 2))), (2, 2, 4, 4, 6))
layer("max_pool_indices", lambda: nn.MaxPool2d(2, return_indices=True), V8)
layer("max_unpool", lambda: Fn(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), (2, 4, 8, 8), dynamic=False)
layer("norms", lambda: nn.Sequential(nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LayerNorm([9, 8]), nn.LocalResponseNorm(3)), V8)
layer("batch_norm_1d", lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Flatten(), nn.BatchNorm1d(32)), V4)
layer("rms_norm", lambda: nn.RMSNorm(8), V4)
layer("layer_norm_no_affine", lambda: nn.LayerNorm(8, elementwise_affine=False), V4)
layer("weight_norm", lambda: torch.nn.utils.parametrizations.weight_norm(nn.Linear(8, 6)), V2)
layer("spectral_norm", lambda: torch.nn.utils.parametrizations.spectral_norm(nn.Linear(8, 6)), V2)
layer("paddings", lambda: Fn(lambda x: (F.pad(x, (1, 2, 0, 3)), F.pad(x, (1, 2, 3, 1), mode="reflect"), F.pad(x, (1, 2, 3, 1), mode="replicate"), F.pad(x, (2, 1, 1, 1), mode="circular"), F.pad(x, (-1, 2), value=3.0))), V8)
layer("shuffles", lambda: Fn(lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2))), (2, 4, 8, 8))
layer("unfold_fold", lambda: Fn(lambda x: (F.unfold(x, 3, padding=1, stride=2), F.fold(F.unfold(x, 2, stride=2), (8, 8), 2, stride=2))), (2, 4, 8, 8))
for mode in ["nearest", "bilinear", "bicubic", "area", "nearest-exact"]:
    layer("upsample_" + mode.replace("-", "_"), lambda mode=mode: Fn(lambda x: (F.interpolate(x, scale_factor=2.0, mode=mode), F.interpolate(x, size=(5, 13), mode=mode), F.interpolate(x, scale_factor=(0.5, 1.5), mode=mode))), V8)
layer("upsample_aligned", lambda: Fn(lambda x: (F.interpolate(x, size=(5, 13), mode="bilinear", align_corners=True), F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=True))), V8)
layer("upsample_antialias", lambda: Fn(lambda x: F.interpolate(x, size=(5, 4), mode="bilinear", antialias=True)), V8)
layer("upsample_1d_3d", lambda: Fn(lambda x: (F.interpolate(x, scale_factor=2, mode="linear"), F.interpolate(x[:, None], scale_factor=2, mode="nearest"))), V4)
layer("upsample_trilinear", lambda: Fn(lambda x: F.interpolate(x, size=(5, 6, 7), mode="trilinear", align_corners=False)), (2, 2, 4, 4, 4))
for mode in ["bilinear", "nearest", "bicubic"]:
    for pad in ["zeros", "border", "reflection"]:
        layer("grid_sample_%s_%s" % (mode, pad), lambda mode=mode, pad=pad: Fn(lambda x, g: F.grid_sample(x, torch.tanh(g) * 1.2, mode=mode, padding_mode=pad, align_corners=pad == "border")), V8, (2, 5, 6, 2),
              opsets=(16, 20) if mode != "bicubic" else (20,))
layer("affine_grid", lambda: Fn(lambda x, t: F.grid_sample(x, F.affine_grid(t, [2, 4, 6, 5], align_corners=False), align_corners=False)), V8, (2, 2, 3), dynamic=False, opsets=(20,))
table("embeddings", lambda: (Fn(lambda e, i: (e(i), F.embedding(i, e.weight, padding_idx=0)), e=nn.Embedding(20, 6)), randint(0, 20, (3, 4)), randint(0, 20, (2, 7))), axes={0: {0: "b", 1: "s"}})
table("embedding_bag", lambda: (nn.EmbeddingBag(20, 6, mode="mean"), (randint(0, 20, (8,)), torch.tensor([0, 3, 5]))))
layer("dropout_eval", lambda: nn.Sequential(nn.Dropout(), nn.Linear(8, 4), nn.AlphaDropout()), V2)
layer("containers", lambda: nn.Sequential(nn.Flatten(1, 2), nn.Unflatten(1, (4, 9)), nn.Identity(), nn.ZeroPad2d(1)), V8)
layer("cosine_similarity", lambda: Fn(lambda a, b: (F.cosine_similarity(a, b), F.pairwise_distance(a, b), torch.cdist(a[None], b[None]), F.normalize(a), torch.dist(a, b))), V2, V2, dynamic=False)
table("losses", lambda: (Fn(lambda x, y, i: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.cross_entropy(x, i), F.nll_loss(F.log_softmax(x, 1), i), F.binary_cross_entropy_with_logits(x, y.sigmoid()),
                                             F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"), F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), F.cosine_embedding_loss(x, y, torch.ones(4)), F.hinge_embedding_loss(x, torch.ones(4, 6)),
                                             F.cross_entropy(x, i, label_smoothing=0.1), F.triplet_margin_loss(x, y, y * 2), F.poisson_nll_loss(x, y), F.soft_margin_loss(x, torch.ones(4, 6)))), (randn(4, 6), randn(4, 6), randint(0, 6, (4,)))))


# ---- recurrent ----

def rnn(name, make, extra=None, **options):
    def call(t, b):
        return (randn(t, b, 6),) + (extra(b) if extra else ())
    options.setdefault("axes", {0: {0: "t", 1: "b"}})
    table(name, lambda: (make(), call(5, 3), call(7, 2)), **options)


rnn("lstm", lambda: nn.LSTM(6, 8))
rnn("lstm_bidirectional_2", lambda: nn.LSTM(6, 8, num_layers=2, bidirectional=True))
rnn("lstm_projected", lambda: nn.LSTM(6, 8, proj_size=4))
rnn("lstm_batch_first", lambda: nn.LSTM(6, 8, batch_first=True))
rnn("lstm_states", lambda: nn.LSTM(6, 8), lambda b: ((randn(1, b, 8), randn(1, b, 8)),), axes={0: {0: "t", 1: "b"}, 1: {1: "b"}, 2: {1: "b"}})
rnn("gru", lambda: nn.GRU(6, 8))
rnn("gru_bidirectional", lambda: nn.GRU(6, 8, num_layers=2, bidirectional=True, bias=False))
rnn("rnn_tanh", lambda: nn.RNN(6, 8))
rnn("rnn_relu", lambda: nn.RNN(6, 8, nonlinearity="relu", bidirectional=True))
layer("cells", lambda: Fn(lambda a, b, c, x: (a(x), b(x), c(x)), a=nn.LSTMCell(8, 5), b=nn.GRUCell(8, 5), c=nn.RNNCell(8, 5)), V2)


class Packed(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=True)
        y, h = self.cell(p)
        return nn.utils.rnn.pad_packed_sequence(y)[0], h


for n, cell in [("lstm", lambda: nn.LSTM(6, 8)), ("gru_bi", lambda: nn.GRU(6, 8, bidirectional=True)), ("lstm_2", lambda: nn.LSTM(6, 8, num_layers=2))]:
    table("packed_" + n, lambda cell=cell: (Packed(cell()), (randn(5, 3, 6), torch.tensor([5, 3, 2])), (randn(5, 3, 6), torch.tensor([5, 5, 1]))), exporters=("ts",))


# ---- attention ----

layer("multihead", lambda: Fn(lambda m, x: m(x, x, x), m=nn.MultiheadAttention(8, 2, batch_first=True)), V4, dynamic=False)
layer("multihead_kv", lambda: Fn(lambda m, q, k: m(q, k, k, need_weights=False)[0], m=nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True)), V4, (2, 5, 6), dynamic=False)
table("multihead_masks", lambda: (Fn(lambda m, x, p: m(x, x, x, key_padding_mask=p, attn_mask=torch.triu(torch.ones(4, 4, dtype=torch.bool), 1), average_attn_weights=False), m=nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True, add_zero_attn=False)),
                                  (randn(2, 4, 8), torch.tensor([[False, False, False, True], [False, False, True, True]]))))
layer("sdpa", lambda: Fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)), (2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8))
layer("sdpa_causal", lambda: Fn(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.3)), (2, 3, 5, 8))
table("sdpa_mask", lambda: (Fn(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m)), (randn(2, 3, 5, 8), rand(2, 1, 5, 5) > 0.3)), )
table("sdpa_gqa", lambda: (Fn(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True)), (randn(2, 4, 5, 8), randn(2, 2, 5, 8))), opsets=(23,), exporters=("dy",))
layer("encoder_layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"), V4)
layer("encoder_norm_first", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), 2, enable_nested_tensor=False), V4)
layer("decoder_layer", lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), V4, (2, 6, 8), dynamic=False)
layer("transformer", lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), V4, (2, 5, 8), dynamic=False)

# ---- trained in smaller types ----

for d in ["float16", "bfloat16", "float64"]:
    table("mlp_" + d, lambda d=d: (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.Softmax(-1)).to(getattr(torch, d)), randn(3, 8).to(getattr(torch, d)), randn(5, 8).to(getattr(torch, d))), axes=BATCH)
    table("conv_" + d, lambda d=d: (nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)).to(getattr(torch, d)), randn(1, 3, 12, 12).to(getattr(torch, d)), randn(2, 3, 12, 12).to(getattr(torch, d))), axes=BATCH)
    table("lstm_" + d, lambda d=d: (nn.LSTM(6, 8).to(getattr(torch, d)), randn(5, 2, 6).to(getattr(torch, d))), exporters=("ts",) if d != "bfloat16" else ())
table("autocast_block", lambda: (Fn(lambda l, x: l(x.bfloat16()).float() + x, l=nn.Linear(8, 8).bfloat16()), randn(3, 8)))

# ---- quantised ----


def weight_only(bits, group):
    """Weights as integers with a scale per group."""
    w = randn(16, 8)
    g = w.reshape(16, -1, group)
    top = 2 ** (bits - 1) - 1
    scale = g.abs().amax(-1, keepdim=True) / top
    q = torch.clamp(torch.round(g / scale), -top - 1, top).to(torch.int8)
    return Fn(lambda a, s, x: x @ (a.float() * s).reshape(16, 8).T, a=q, s=scale)


table("weight_only_8", lambda: (weight_only(8, 8), randn(3, 8), randn(5, 8)), axes=BATCH)
table("weight_only_groups", lambda: (weight_only(4, 4), randn(3, 8)))
table("packed_int4", lambda: (Fn(lambda q, s, x: x @ (torch.stack([(q & 15).to(torch.int8) - 8, (q >> 4).to(torch.int8) - 8], -1).reshape(16, 8).float() * s).T, q=randint(0, 255, (16, 4)).to(torch.uint8), s=rand(16, 1)), randn(3, 8)))
table("fake_quantise", lambda: (Fn(lambda x: (torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2, 0.05]), torch.zeros(3, dtype=torch.int32), 0, -128, 127))), randn(3, 8)))
table("qat_convolution", lambda: (Fn(lambda c, x: F.conv2d(torch.fake_quantize_per_tensor_affine(x, 0.05, 128, 0, 255), torch.fake_quantize_per_channel_affine(c.weight, c.weight.abs().amax((1, 2, 3)) / 127, torch.zeros(6, dtype=torch.int32), 0, -127, 127), c.bias), c=nn.Conv2d(3, 6, 3)), randn(1, 3, 8, 8)), tol=1e-2)
table("dynamic_quantised_linear", lambda: (Fn(lambda q, s, x: (lambda sx: ((torch.clamp(torch.round(x / sx), -127, 127).to(torch.int32) @ q.to(torch.int32).T).float() * sx * s))(x.abs().amax(-1, keepdim=True) / 127), q=randint(-127, 127, (6, 8)).to(torch.int8), s=rand(6) / 100), randn(3, 8)))
