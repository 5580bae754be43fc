"""Whole programs as users write them: models and their training, samplers, filters, games, physics, coding, in every element type;
functions of JAX in uncommon forms; the same with symbolic sizes."""
import functools
import math

import flax.linen as nn
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import optax
from flax import nnx
from jax import lax

from common import Table
from draw import Arrays

table = Table()
arrays = Arrays(4711)
rng, f32, f64, c64 = arrays.rng, arrays.f32, arrays.f64, arrays.c64
KEY = np.array([5, 21], np.uint32)


def ints(*shape, low=0, high=9, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def key(k):
    return jax.random.wrap_key_data(k)


def add(name, f, *args, **options):
    table(name, lambda: (f, args), **options)


def sized(name, f, spec, *calls, **options):
    table("applied_" + name, lambda: (f,) + tuple(c if isinstance(c, tuple) else (c,) for c in calls), spec=spec, **options)


# ---- networks and their training ----


class SqueezeExcite(nn.Module):
    @nn.compact
    def __call__(self, x):
        s = nn.hard_sigmoid(nn.Dense(x.shape[-1])(nn.relu(nn.Dense(4)(x.mean((1, 2))))))
        return x * s[:, None, None, :]


class MobileBlock(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.hard_swish(nn.BatchNorm(use_running_average=False)(nn.Conv(12, (1, 1), use_bias=False)(x)))
        h = nn.Conv(12, (5, 5), feature_group_count=12, strides=(2, 2), padding=((1, 2), (2, 1)))(h)
        return nn.Conv(8, (1, 1))(SqueezeExcite()(h))


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (4, 4), (4, 4), name="stem")(x)
        x = x.reshape(x.shape[0], -1, 8)
        for _ in range(2):
            y = jnp.swapaxes(nn.LayerNorm()(x), 1, 2)
            x = x + jnp.swapaxes(nn.Dense(x.shape[1])(nn.gelu(nn.Dense(10)(y))), 1, 2)
            x = x + nn.Dense(8)(nn.gelu(nn.Dense(10)(nn.LayerNorm()(x))))
        return nn.Dense(5)(x.mean(1))


class Bert(nn.Module):
    @nn.compact
    def __call__(self, ids, mask):
        x = nn.Embed(30, 16)(ids) + nn.Embed(12, 16)(jnp.arange(ids.shape[1]))[None]
        x = nn.LayerNorm(epsilon=1e-12)(x)
        m = nn.make_attention_mask(mask, mask)
        for _ in range(2):
            x = nn.LayerNorm()(x + nn.SelfAttention(2, use_bias=False)(x, mask=m))
            x = nn.LayerNorm()(x + nn.Dense(16)(nn.gelu(nn.Dense(32)(x), approximate=False)))
        return nn.Embed(30, 16, name="tied").attend(x), nn.tanh(nn.Dense(16)(x[:, 0]))


class Seq2Seq(nn.Module):
    @nn.compact
    def __call__(self, src, tgt):
        e = nn.Embed(20, 8)
        carry, enc = nn.RNN(nn.LSTMCell(12), return_carry=True)(e(src))
        dec = nn.RNN(nn.LSTMCell(12))(e(tgt), initial_carry=carry)
        a = nn.softmax(jnp.einsum("btd,bsd->bts", dec, enc))
        return nn.Dense(20)(jnp.concatenate([dec, a @ enc], -1))


def trained(name, module, args, loss, steps=3, optimiser=None, **options):
    """Some steps of training in a loop: losses, and what the parameters became."""
    tx = optimiser or optax.adamw(1e-2)

    def make():
        variables = module.init(jax.random.key(0), *args)
        params, rest = variables["params"], {k: v for k, v in variables.items() if k != "params"}

        def step(state, _):
            p, r, s = state

            def value(q):
                out, changed = module.apply({"params": q, **r}, *args, mutable=list(r) or ["none"])
                return loss(out), {k: changed.get(k, v) for k, v in r.items()}
            (v, r), g = jax.value_and_grad(value, has_aux=True)(p)
            u, s = tx.update(g, s, p, **({"value": v} if options.get("value") else {}))
            return (optax.apply_updates(p, u), r, s), v

        def f(p, r):
            (p, r, _), losses = lax.scan(step, (p, r, tx.init(p)), None, length=steps)
            return p, r, losses
        return f, (params, rest)
    table(name, make, **{"tol": 1e-3, **{k: v for k, v in options.items() if k != "value"}})


LABELS = ints(4, high=5)
trained("train_mobile_block", MobileBlock(), (f32(2, 8, 8, 3),), lambda o: jnp.mean(o ** 2), optimiser=optax.chain(optax.clip_by_global_norm(0.5), optax.rmsprop(optax.cosine_decay_schedule(1e-2, 10), momentum=0.9)))
trained("train_mixer", Mixer(), (f32(4, 8, 12, 3),), lambda o: optax.softmax_cross_entropy_with_integer_labels(o, LABELS).mean(), optimiser=optax.lion(optax.warmup_cosine_decay_schedule(0, 1e-2, 2, 8), weight_decay=1e-3))
trained("train_bert", Bert(), (ints(2, 7, high=30), np.array([[1] * 7, [1] * 4 + [0] * 3], bool)), lambda o: optax.safe_softmax_cross_entropy(o[0], jax.nn.one_hot(jnp.ones((2, 7), int), 30)).mean() + o[1].mean(), optimiser=optax.sgd(1e-1, momentum=0.9))
trained("train_seq2seq", Seq2Seq(), (ints(2, 5, high=20), ints(2, 6, high=20)), lambda o: -jnp.mean(jax.nn.log_softmax(o)[..., 3]), optimiser=optax.adafactor(1e-2, min_dim_size_to_factor=8))
trained("train_reduce_on_plateau", Mixer(), (f32(4, 8, 8, 3),), lambda o: jnp.mean(o ** 2), optimiser=optax.chain(optax.sgd(0.1, nesterov=True, momentum=0.9), optax.contrib.reduce_on_plateau(patience=1, cooldown=1)), value=True)
trained("train_polyak", Mixer(), (f32(4, 8, 8, 3),), lambda o: jnp.mean(jnp.abs(o)), optimiser=optax.polyak_sgd(), value=True)
for n, tx in {"inject": optax.inject_hyperparams(optax.adam)(learning_rate=optax.piecewise_constant_schedule(0.1, {1: 0.5, 2: 0.1})), "masked": optax.masked(optax.add_decayed_weights(0.1), lambda p: jax.tree.map(lambda x: x.ndim > 1, p)),
              "centralised": optax.chain(optax.centralize(), optax.scale_by_adam(mu_dtype=jnp.bfloat16), optax.scale_by_schedule(optax.sgdr_schedule([dict(init_value=0, peak_value=1.0, decay_steps=2, warmup_steps=1, end_value=0.1)] * 2))),
              "agc": optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(1e-1)), "ema_params": optax.chain(optax.scale_by_stddev(), optax.trace(0.9, accumulator_dtype=jnp.bfloat16), optax.scale(-0.1)),
              "noise": optax.chain(optax.add_noise(0.01, 0.55, 3), optax.scale_by_rss(), optax.scale(-0.1)), "skip": optax.MultiSteps(optax.adam(1e-2), 2).gradient_transformation(),
              "complex": optax.contrib.split_real_and_imaginary(optax.adam(1e-2)), "per_layer": optax.partition({"k": optax.adam(1e-2), "b": optax.set_to_zero()}, lambda p: jax.tree.map(lambda x: "k" if x.ndim > 1 else "b", p)),
              "sophia_like": optax.chain(optax.scale_by_belief(), optax.scale_by_trust_ratio(), optax.scale(-1e-2)), "yogi_keep": optax.chain(optax.keep_params_nonnegative(), optax.scale_by_yogi(), optax.scale(-1e-2)),
              "lion_schedule": optax.chain(optax.scale_by_lion(), optax.scale_by_learning_rate(optax.linear_onecycle_schedule(6, 0.1)))}.items():
    trained("train_" + n, nn.Sequential([nn.Dense(6), nn.celu, nn.Dense(3)]), (f32(5, 4),), lambda o: jnp.mean((o - 1) ** 2), steps=4, optimiser=tx, tol=3e-2 if n in ("centralised", "ema_params") else 1e-3)  # moments in bfloat16


class NnxNet(nnx.Module):
    def __init__(self, rngs):
        self.conv, self.norm = nnx.Conv(3, 6, (3, 3), strides=2, use_bias=False, rngs=rngs), nnx.BatchNorm(6, rngs=rngs)
        self.drop, self.out = nnx.Dropout(0.3, rngs=rngs), nnx.Linear(6, 4, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(nnx.relu(self.norm(self.conv(x)))).mean((1, 2)))


def nnx_train():
    graph, state = nnx.split(NnxNet(nnx.Rngs(0)))
    tx = optax.adam(1e-2)

    def f(state, x, y):
        model = nnx.merge(graph, state)
        opt = nnx.Optimizer(model, tx, wrt=nnx.Param)
        losses = []
        for _ in range(2):
            v, g = nnx.value_and_grad(lambda m: optax.softmax_cross_entropy_with_integer_labels(m(x), y).mean())(model)
            opt.update(model, g)
            losses.append(v)
        return jnp.stack(losses), jax.tree.leaves(nnx.state(model, nnx.Param))
    return f, (state, f32(3, 8, 8, 3), ints(3, high=4))


table("train_nnx_net", nnx_train, tol=1e-3)

# ---- decoding, alignment, text ----


def ctc(logits, labels):
    return optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), labels, (labels == 0).astype(jnp.float32))


add("ctc_loss_and_gradient", lambda l, y: (ctc(l, y), jax.grad(lambda a: ctc(a, y).sum())(l)), f32(2, 12, 6), np.array([[1, 2, 2, 3], [4, 1, 0, 0]], np.int32))


def ctc_prefix(logits):
    best = jnp.argmax(logits, -1)
    keep = (best != 0) & (best != jnp.concatenate([jnp.full((best.shape[0], 1), -1), best[:, :-1]], 1))
    order = jnp.argsort(~keep, axis=1, stable=True)
    return jnp.where(jnp.arange(best.shape[1]) < keep.sum(1, keepdims=True), jnp.take_along_axis(best, order, 1), -1), keep.sum(1)


add("ctc_greedy", ctc_prefix, f32(3, 15, 5))


def top_p(k, logits, p=0.8, temperature=0.7):
    order = jnp.argsort(-logits, axis=-1)
    probs = jnp.take_along_axis(jax.nn.softmax(logits / temperature), order, -1)
    cut = jnp.cumsum(probs, -1) - probs > p
    mask = jnp.zeros_like(logits, bool).at[jnp.arange(logits.shape[0])[:, None], order].set(cut)
    return jax.random.categorical(key(k), jnp.where(mask, -jnp.inf, logits / temperature))


add("sample_top_p", top_p, KEY, f32(4, 20))
add("sample_min_p_and_penalty", lambda k, l, seen: jax.random.categorical(key(k), jnp.where(jax.nn.softmax(l) < 0.05 * jax.nn.softmax(l).max(-1, keepdims=True), -1e9, jnp.where(jnp.zeros_like(l).at[jnp.arange(3)[:, None], seen].set(1) > 0, jnp.where(l > 0, l / 1.3, l * 1.3), l))), KEY, f32(3, 12), ints(3, 4, high=12))


def speculative(k, draft, target, tokens):
    p = jnp.take_along_axis(jax.nn.softmax(target[:, :-1]), tokens[..., None], -1)[..., 0]
    q = jnp.take_along_axis(jax.nn.softmax(draft), tokens[..., None], -1)[..., 0]
    accept = jax.random.uniform(key(k), p.shape) < jnp.minimum(1, p / q)
    n = jnp.sum(jnp.cumprod(accept.astype(jnp.int32), 1), 1)
    rest = jnp.maximum(jax.nn.softmax(jnp.take_along_axis(target, n[:, None, None], 1)[:, 0]) - 0.1, 1e-9)
    return n, jax.random.categorical(key(k), jnp.log(rest))


add("speculative_decoding", speculative, KEY, f32(3, 4, 10), f32(3, 5, 10), ints(3, 4, high=10))


def paged(q, pages, table_, lengths):
    def one(q, rows, n):
        k = pages[rows].reshape(-1, 8)
        s = jnp.where(jnp.arange(k.shape[0]) < n, k @ q / math.sqrt(8), -jnp.inf)
        return jax.nn.softmax(s) @ k
    return jax.vmap(one)(q, table_, lengths)


add("paged_attention", paged, f32(3, 8), f32(10, 4, 8), ints(3, 3, high=10), np.array([5, 12, 1], np.int32))


def smith_waterman(a, b):
    def row(prev, x):
        s = jnp.where(b == x, 2, -1)

        def cell(left, t):
            up, diag, score = t
            v = jnp.maximum(0, jnp.maximum(diag + score, jnp.maximum(up, left) - 1))
            return v, v
        _, cur = lax.scan(cell, 0, (prev[1:], prev[:-1], s))
        return jnp.concatenate([jnp.zeros(1, cur.dtype), cur]), cur
    _, m = lax.scan(row, jnp.zeros(b.shape[0] + 1, jnp.int32), a)
    return m, m.max(), jnp.unravel_index(jnp.argmax(m), m.shape)


add("smith_waterman", smith_waterman, ints(9, high=4), ints(7, high=4))
add("soft_dtw_gradient", lambda x, y: jax.value_and_grad(lambda a: soft_dtw(a, y))(x), f32(6, 2), f32(5, 2))


def soft_dtw(x, y, gamma=0.5):
    d = jnp.sum((x[:, None] - y[None]) ** 2, -1)

    def row(prev, drow):
        def cell(left, t):
            up, diag, c = t
            v = c - gamma * jax.nn.logsumexp(jnp.stack([-up, -diag, -left]) / gamma)
            return v, v
        _, cur = lax.scan(cell, 1e6, (prev[1:], prev[:-1], drow))
        return jnp.concatenate([jnp.full(1, 1e6), cur]), None
    last, _ = lax.scan(row, jnp.concatenate([jnp.zeros(1), jnp.full(y.shape[0], 1e6)]), d)
    return last[-1]


add("levenshtein_batched", jax.vmap(lambda a, b: lax.fori_loop(0, a.shape[0], lambda i, r: lev_row(i, r, a, b), jnp.arange(b.shape[0] + 1))[-1]), ints(4, 6, high=3, dtype=np.int8), ints(4, 5, high=3, dtype=np.int8))


def lev_row(i, row, a, b):
    sub = row[:-1] + (b != a[i])
    best = jnp.minimum(sub, row[1:] + 1)
    return lax.associative_scan(jnp.minimum, jnp.concatenate([jnp.array([i + 1]), best]) - jnp.arange(row.shape[0])) + jnp.arange(row.shape[0])


def crc(data):
    def byte(c, b):
        def bit(_, v):
            return jnp.where(v & 1, (v >> 1) ^ np.uint32(0xEDB88320), v >> 1)
        return lax.fori_loop(0, 8, bit, c ^ b.astype(jnp.uint32)), None
    return ~lax.scan(byte, np.uint32(0xFFFFFFFF), data)[0]


add("crc32", crc, ints(30, high=256, dtype=np.uint8))


def sha_like(w):
    r = lambda x, n: (x >> np.uint32(n)) | (x << np.uint32(32 - n))  # noqa: E731

    def extend(i, w):
        s0, s1 = r(w[i - 15], 7) ^ r(w[i - 15], 18) ^ (w[i - 15] >> 3), r(w[i - 2], 17) ^ r(w[i - 2], 19) ^ (w[i - 2] >> 10)
        return w.at[i].set(w[i - 16] + s0 + w[i - 7] + s1)
    return lax.fori_loop(16, 64, extend, jnp.concatenate([w, jnp.zeros(48, jnp.uint32)]))


add("sha_schedule", sha_like, ints(16, high=2 ** 32, dtype=np.uint32).astype(np.uint32))
add("gray_codes", lambda x: (x ^ (x >> 1), lax.population_count(x), lax.clz(x), jnp.bitwise_not(x), jnp.unpackbits(x.astype(jnp.uint8)), jnp.packbits(x.astype(jnp.uint8) & 1), jnp.left_shift(x, 3), jnp.bitwise_count(x)), ints(20, high=2 ** 16, dtype=np.uint16))
add("huffman_like_lengths", lambda p: lax.fori_loop(0, 5, lambda i, s: merge_two(s), (p, jnp.zeros(6, jnp.int32), jnp.arange(6)))[1], np.abs(f32(6)))


def merge_two(s):
    p, depth, group = s
    first = jnp.argmin(p)
    a = p[first]
    p = p.at[first].set(jnp.inf)
    second = jnp.argmin(p)
    depth = depth + ((group == first) | (group == second))
    return p.at[second].add(a), depth, jnp.where(group == first, second, group)


# ---- images and sound ----


def sobel(x):
    k = jnp.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], x.dtype)
    gx, gy = jsp.signal.convolve2d(x, k, mode="same", boundary="fill"), jsp.signal.correlate2d(x, k.T, mode="valid")
    return gx, gy, jnp.hypot(gx[1:-1, 1:-1], gy), jnp.arctan2(gy, gx[1:-1, 1:-1])


add("sobel_edges", sobel, f32(9, 11))
add("median_filter", lambda x: jnp.median(lax.conv_general_dilated_patches(x[None, None], (3, 3), (1, 1), "SAME"), axis=1)[0], f32(7, 9))
add("bilateral_filter", lambda x: (lambda p: (p * jnp.exp(-(p - x.reshape(1, -1)) ** 2)).sum(0) / jnp.exp(-(p - x.reshape(1, -1)) ** 2).sum(0))(jnp.stack([jnp.roll(x, (i, j), (0, 1)).reshape(-1) for i in (-1, 0, 1) for j in (-1, 0, 1)])), f32(6, 8))
add("rgb_to_hsv", lambda x: (lambda mx, mn: jnp.stack([jnp.where(mx == mn, 0.0, jnp.where(mx == x[..., 0], ((x[..., 1] - x[..., 2]) / jnp.maximum(mx - mn, 1e-6)) % 6, jnp.where(mx == x[..., 1], (x[..., 2] - x[..., 0]) / (mx - mn + 1e-6) + 2, (x[..., 0] - x[..., 1]) / (mx - mn + 1e-6) + 4))) / 6, jnp.where(mx > 0, (mx - mn) / mx, 0), mx], -1))(x.max(-1), x.min(-1)), np.abs(f32(4, 5, 3)))
add("histogram_equalised", lambda x: jnp.interp(x.reshape(-1), jnp.linspace(-3, 3, 17)[:-1], jnp.cumsum(jnp.histogram(x, 16, (-3, 3))[0]) / x.size).reshape(x.shape), f32(8, 9))
add("connected_components", lambda x: lax.while_loop(lambda s: s[1], lambda s: (lambda n: (n, jnp.any(n != s[0])))(jnp.where(x, jnp.max(jnp.stack([s[0]] + [jnp.where(jnp.roll(x, d, a), jnp.roll(s[0], d, a), 0) for d in (1, -1) for a in (0, 1)]), 0), 0)), (jnp.where(x, jnp.arange(1, x.size + 1).reshape(x.shape), 0), True))[0], rng.random((7, 8)) < 0.5)
add("distance_transform", lambda x: lax.fori_loop(0, 12, lambda _, d: jnp.minimum(d, 1 + lax.reduce_window(d, np.float32(np.inf), lax.min, (3, 3), (1, 1), "SAME")), jnp.where(x, 0.0, jnp.float32(99))), rng.random((8, 8)) < 0.15)
add("mel_cepstrum", lambda x, w: jsp.fft.dct(jnp.log(jnp.abs(jsp.signal.stft(x, nperseg=32, noverlap=16)[2].T) ** 2 @ w + 1e-5), type=2, norm="ortho")[:, :8], f32(200), np.abs(f32(17, 12)))
add("griffin_lim", lambda m, y: lax.fori_loop(0, 3, lambda _, v: gl_step(m, v), y), np.abs(f32(17, 9)), f32(128), tol=1e-2)


def gl_step(m, y):
    _, _, z = jsp.signal.stft(y, nperseg=32)
    z = m[:, :z.shape[1]] * jnp.exp(1j * jnp.angle(z[:, :m.shape[1]]))
    return jsp.signal.istft(z, nperseg=32)[1][:128]


add("iir_and_resample", lambda x: (lax.scan(lambda s, v: ((0.3 * v + 0.5 * s[0] - 0.2 * s[1], s[0]), s[0]), (0.0, 0.0), x)[1], jnp.interp(jnp.arange(0, 40, 0.7), jnp.arange(40.0), x), jsp.signal.fftconvolve(x, jnp.hanning(9), mode="same"), jsp.signal.detrend(x), jsp.signal.oaconvolve(x, jnp.ones(5)) if hasattr(jsp.signal, "oaconvolve") else x), f32(40))
add("wavelets", lambda x: [jnp.stack([(x[::2] + x[1::2]) / math.sqrt(2), (x[::2] - x[1::2]) / math.sqrt(2)]), functools.reduce(lambda a, _: jnp.concatenate([(a[::2] + a[1::2]) / 2, (a[::2] - a[1::2]) / 2]), range(3), x)], f32(16))
add("random_crops_and_flips", lambda k, x: jax.vmap(lambda kk, im: (lambda a, b, c: jnp.where(jax.random.bernoulli(c), lax.dynamic_slice(im, (a, b, 0), (5, 5, 3)), lax.dynamic_slice(im, (a, b, 0), (5, 5, 3))[:, ::-1]))(jax.random.randint(kk, (), 0, 4), jax.random.randint(jax.random.fold_in(kk, 1), (), 0, 4), jax.random.fold_in(kk, 2)))(jax.random.split(key(k), 3), x), KEY, f32(3, 8, 8, 3))
add("mixup_and_cutmix", lambda k, x, y: (lambda lam, perm: (lam * x + (1 - lam) * x[perm], lam * y + (1 - lam) * y[perm], jnp.where((jnp.arange(6)[:, None] < 3) & (jnp.arange(6) < (6 * lam).astype(int)), x, x[perm])))(jax.random.beta(key(k), 0.4, 0.4), jax.random.permutation(key(k), 4)), KEY, f32(4, 6, 6), f32(4, 3))
add("affine_warp", lambda x, t: jsp.ndimage.map_coordinates(x, list(jnp.einsum("ij,jhw->ihw", t, jnp.stack(jnp.meshgrid(jnp.arange(6.0), jnp.arange(7.0), indexing="ij")))), 1, mode="reflect"), f32(6, 7), f32(2, 2))
add("image_u8", lambda x: (jax.image.resize(x, (5, 7, 3), "bilinear", antialias=False), (x.astype(jnp.int32) * 3 // 4).clip(0, 255).astype(jnp.uint8), x[::-1, ::-1], jnp.pad(x, ((1, 1), (2, 0), (0, 0)), mode="symmetric"), x.mean((0, 1)), x + np.uint8(200), jnp.rot90(x, 3), jnp.moveaxis(x, -1, 0)), ints(4, 6, 3, high=256, dtype=np.uint8))
add("nerf_positional_and_march", lambda o, d: (lambda t: (lambda p: (lambda s: jnp.sum(s * jnp.exp(-jnp.cumsum(s, 0) + s) * jnp.stack([jnp.sin(p[..., 0])], 0)[0], 0))(jax.nn.softplus(jnp.sum(jnp.concatenate([f(2.0 ** i * p) for i in range(3) for f in (jnp.sin, jnp.cos)], -1), -1)) * 0.1))(o + t[:, None, None] * d))(jnp.linspace(0.1, 3, 8)), f32(5, 3), f32(5, 3))
add("optical_flow", lambda a, b: (lambda gx, gy, gt: jnp.linalg.solve(jnp.array([[jnp.sum(gx * gx), jnp.sum(gx * gy)], [jnp.sum(gx * gy), jnp.sum(gy * gy)]]), -jnp.array([jnp.sum(gx * gt), jnp.sum(gy * gt)])))(*jnp.gradient(a), b - a), f32(8, 9), f32(8, 9))
add("ssim_and_psnr", lambda x, y: (lambda u: (lambda mx, my: jnp.mean((2 * mx * my + 0.01) * (2 * (u(x * y) - mx * my) + 0.03) / ((mx ** 2 + my ** 2 + 0.01) * (u(x * x) - mx ** 2 + u(y * y) - my ** 2 + 0.03))))(u(x), u(y)))(lambda a: lax.reduce_window(a, 0.0, lax.add, (4, 4), (1, 1), "VALID") / 16), f32(10, 11), f32(10, 11))

# ---- science ----
add("n_body_leapfrog", lambda x, v: lax.scan(lambda s, _: leap(s), (x, v), None, length=5), f32(6, 3), f32(6, 3))


def leap(s):
    x, v = s

    def force(y):
        d = y[:, None] - y[None]
        return -jnp.sum(d / (jnp.sum(d ** 2, -1) + 0.1)[..., None] ** 1.5, 1)
    v = v + 0.01 * force(x)
    x = x + 0.02 * v
    return (x, v + 0.01 * force(x)), jnp.sum(v ** 2)


add("lennard_jones_md", lambda x: lax.fori_loop(0, 4, lambda _, y: y - 1e-4 * jax.grad(lambda p: jnp.sum(jnp.triu((lambda r: 4 * (r ** -6 - r ** -3))(jnp.sum((p[:, None] - p[None]) ** 2, -1) + jnp.eye(5)), 1)))(y), x), 3 * f32(5, 3))
add("lattice_boltzmann", lambda f: lax.scan(lambda s, _: (lbm(s), s.sum()), f, None, length=4), np.abs(f32(9, 6, 7)) + 1)


def lbm(f):
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = jnp.stack([jnp.roll(f[i], c[i], (0, 1)) for i in range(9)])
    rho = f.sum(0)
    u = jnp.einsum("ixy,id->dxy", f, c.astype(np.float32)) / rho
    cu = jnp.einsum("id,dxy->ixy", c.astype(np.float32), u)
    return f - 0.6 * (f - w[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu ** 2 - 1.5 * (u ** 2).sum(0)))


add("spectral_burgers", lambda u: lax.fori_loop(0, 5, lambda _, v: jnp.fft.irfft(jnp.fft.rfft(v) * jnp.exp(-0.01 * jnp.arange(17) ** 2) - 0.01 * 0.5j * jnp.arange(17) * jnp.fft.rfft(v ** 2), n=32), u), f32(32))
add("schroedinger_split_step", lambda p: lax.fori_loop(0, 4, lambda _, v: jnp.fft.ifft(jnp.fft.fft(v * jnp.exp(-0.05j * jnp.linspace(-2, 2, 24) ** 2)) * jnp.exp(-0.05j * jnp.fft.fftfreq(24) ** 2)), p), c64(24))
add("ising_metropolis", lambda k, s: lax.scan(lambda c, kk: ising(c, kk), s, jax.random.split(key(k), 5)), KEY, (2 * ints(6, 6, high=2) - 1).astype(np.int8))


def ising(s, k):
    nb = jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)
    flip = jax.random.uniform(k, s.shape) < jnp.exp(-0.8 * (s * nb).astype(jnp.float32))
    black = (jnp.indices(s.shape).sum(0) % 2) == 0
    return jnp.where(flip & black, -s, s), jnp.mean(s.astype(jnp.float32))


add("particle_filter", lambda k, y: lax.scan(lambda s, t: pf_step(s, t), (jnp.zeros(16), key(k)), y)[1], KEY, f32(8))


def pf_step(s, y):
    x, k = s
    k, a, b = jax.random.split(k, 3)
    x = 0.9 * x + jax.random.normal(a, x.shape)
    w = jax.nn.softmax(-0.5 * (y - x) ** 2)
    u = (jnp.arange(16) + jax.random.uniform(b)) / 16
    return (x[jnp.searchsorted(jnp.cumsum(w), u).clip(0, 15)], k), (jnp.sum(w * x), 1 / jnp.sum(w ** 2))


add("unscented_transform", lambda m, p: (lambda s: (lambda y: (y.mean(0), jnp.cov(y.T)))(jnp.stack([jnp.sin(s[:, 0]), s[:, 1] ** 2], 1)))(jnp.concatenate([m[None], m + jnp.linalg.cholesky(p).T * 1.7, m - jnp.linalg.cholesky(p).T * 1.7])), f32(2), np.array([[2, .3], [.3, 1]], np.float32))
add("em_gaussian_mixture", lambda x: lax.fori_loop(0, 4, lambda _, s: em(s, x), (x[:3], jnp.stack([jnp.eye(2)] * 3), jnp.ones(3) / 3)), f32(30, 2), tol=1e-3)


def em(s, x):
    mu, cov, pi = s
    r = jax.nn.softmax(jax.vmap(lambda m, c: jsp.stats.multivariate_normal.logpdf(x, m, c), out_axes=1)(mu, cov) + jnp.log(pi))
    n = r.sum(0)
    mu = r.T @ x / n[:, None]
    d = x[:, None] - mu[None]
    return mu, jnp.einsum("nk,nki,nkj->kij", r, d, d) / n[:, None, None] + 0.1 * jnp.eye(2), n / n.sum()


add("gibbs_and_slice_sampling", lambda k: lax.scan(lambda s, kk: gibbs(s, kk), jnp.zeros(2), jax.random.split(key(k), 8))[1], KEY)


def gibbs(s, k):
    a, b, c = jax.random.split(k, 3)
    x = 0.8 * s[1] + 0.6 * jax.random.normal(a)
    level = jnp.exp(-0.5 * s[1] ** 2) * jax.random.uniform(b)
    y = lax.while_loop(lambda t: jnp.exp(-0.5 * t[0] ** 2) < level, lambda t: (jax.random.uniform(t[1], minval=-3, maxval=3), jax.random.fold_in(t[1], 1)), (jnp.float32(9), c))[0]
    return jnp.stack([x, y]), jnp.stack([x, y])


add("nuts_like_tree", lambda k, q: lax.while_loop(lambda s: (s[0] < 4) & ~s[3], lambda s: (s[0] + 1, s[1] + jax.random.normal(jax.random.fold_in(key(k), s[0]), q.shape) * 0.1, jnp.logaddexp(s[2], -0.5 * jnp.sum(s[1] ** 2)), jnp.dot(s[1], q) < -1), (0, q, jnp.float32(-jnp.inf), False)), KEY, f32(4))
add("variational_gaussian_process", lambda x, y, z: jax.grad(lambda zz: svgp(x, y, zz))(z), f32(10, 1), f32(10), f32(4, 1), tol=2e-3)


def svgp(x, y, z):
    k = lambda a, b: jnp.exp(-0.5 * jnp.sum((a[:, None] - b[None]) ** 2, -1))  # noqa: E731
    c = jnp.linalg.cholesky(k(z, z) + 1e-2 * jnp.eye(4))
    a = jsp.linalg.solve_triangular(c, k(z, x), lower=True)
    b = jnp.eye(4) + a @ a.T
    lb = jsp.linalg.cho_factor(b)
    m = jsp.linalg.cho_solve(lb, a @ y)
    return 0.5 * jnp.sum((y - a.T @ m) ** 2) + 0.5 * jnp.linalg.slogdet(b)[1] + jnp.sum(1 - jnp.sum(a ** 2, 0))


add("levenberg_marquardt", lambda p, t, y: lax.fori_loop(0, 4, lambda _, q: (lambda j, r: q - jnp.linalg.solve(j.T @ j + 0.1 * jnp.eye(3), j.T @ r))(jax.jacfwd(lambda w: w[0] * jnp.exp(-w[1] * t) + w[2] - y)(q), q[0] * jnp.exp(-q[1] * t) + q[2] - y), p), np.array([1, .5, .1], np.float32), np.linspace(0, 2, 9).astype(np.float32), f32(9))
add("implicit_layer", lambda w, x: jax.grad(lambda a: jnp.sum(lax.custom_root(lambda z: z - jnp.tanh(a @ z + x), jnp.zeros(4), lambda f, z0: lax.fori_loop(0, 30, lambda _, z: z - f(z), z0), lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y))))(w), 0.2 * f32(4, 4), f32(4), tol=1e-3)
add("simplex_projection", jax.vmap(lambda v: (lambda u: jnp.maximum(v - (jnp.cumsum(u)[jnp.sum(u * jnp.arange(1, 7) > jnp.cumsum(u) - 1) - 1] - 1) / jnp.sum(u * jnp.arange(1, 7) > jnp.cumsum(u) - 1), 0))(jnp.sort(v)[::-1])), f32(4, 6))
add("sinkhorn_gradient", lambda c: jax.grad(lambda a: jnp.sum(jnp.exp(lax.fori_loop(0, 6, lambda _, l: (lambda m: m - jax.nn.logsumexp(m, 0, keepdims=True))(l - jax.nn.logsumexp(l, 1, keepdims=True)), -a)) * c))(c), f32(5, 5))
add("hungarian_auction", lambda c: lax.fori_loop(0, 30, lambda _, s: auction(c, s), (jnp.zeros(5), -jnp.ones(5, jnp.int32)))[1], f32(5, 5))


def auction(c, s):
    price, owner = s
    free = jnp.argmax(~jnp.any(owner[None] == jnp.arange(5)[:, None], 1))
    done = jnp.all(jnp.any(owner[None] == jnp.arange(5)[:, None], 1))
    v, i = lax.top_k(c[free] - price, 2)
    return jnp.where(done, price, price.at[i[0]].add(v[0] - v[1] + 0.01)), jnp.where(done, owner, owner.at[i[0]].set(free.astype(jnp.int32)))


add("page_rank_sparse", lambda s, d: lax.fori_loop(0, 8, lambda _, p: 0.15 / 9 + 0.85 * jax.ops.segment_sum((p / jnp.maximum(jnp.bincount(s, length=9), 1))[s], d, 9), jnp.ones(9) / 9), ints(20), ints(20))
add("bellman_ford_and_floyd", lambda w: (lax.fori_loop(0, 6, lambda _, d: jnp.minimum(d, jnp.min(d[:, None] + w, 0)), jnp.full(6, jnp.inf).at[0].set(0)), lax.fori_loop(0, 6, lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k]), w)), np.abs(f32(6, 6)) * 4)
add("bfs_frontier", lambda a: lax.while_loop(lambda s: jnp.any(s[1]), lambda s: (lambda n: (jnp.where(n, s[2], s[0]), n, s[2] + 1))(jnp.any(a & s[1][:, None], 0) & (s[0] < 0)), (jnp.full(8, -1).at[0].set(0), jnp.arange(8) == 0, 1))[0], rng.random((8, 8)) < 0.25)
add("union_find", lambda e: lax.fori_loop(0, e.shape[0], lambda i, p: (lambda a, b: jnp.where(p == p[a], p[b], p))(e[i, 0], e[i, 1]), jnp.arange(10)), ints(8, 2, high=10))
add("sieve_and_gcd", lambda n: (lax.fori_loop(2, 8, lambda i, s: jnp.where(s[i] & (jnp.arange(60) > i) & (jnp.arange(60) % i == 0), False, s), jnp.arange(60) > 1), lax.while_loop(lambda s: jnp.any(s[1] != 0), lambda s: (jnp.where(s[1] != 0, s[1], s[0]), jnp.where(s[1] != 0, s[0] % jnp.where(s[1] == 0, 1, s[1]), 0)), (n, n[::-1]))[0], jnp.lcm(n, n[::-1])), ints(6, low=1, high=60))
add("big_integers", lambda a, b: lax.fori_loop(0, 8, lambda i, c: carry_step(i, c), jnp.convolve(a, b).astype(jnp.uint32)), ints(5, high=10, dtype=np.uint32), ints(5, high=10, dtype=np.uint32))


def carry_step(i, c):
    q = c[i] // 10
    return c.at[i].set(c[i] % 10).at[i + 1].add(q)


add("n_queens", lambda: lax.fori_loop(0, 4, lambda _, s: s + jnp.sum(jnp.triu(jnp.abs(s[:, None] - s[None]) == jnp.abs(jnp.arange(6)[:, None] - jnp.arange(6)), 1)), jnp.arange(6) % 4))
add("tic_tac_toe_minimax", lambda b: jnp.stack([jnp.any(jnp.stack([jnp.all(b[l] == p) for l in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]) for l in (np.array(l),)])) for p in (1, 2)]), ints(9, high=3, dtype=np.int8))
add("ppo_loss_and_gae", lambda r, v, d, lp: (lambda adv: (adv, jax.grad(lambda x: -jnp.mean(jnp.minimum(jnp.exp(x - lp) * adv[:, :2], jnp.clip(jnp.exp(x - lp), 0.8, 1.2) * adv[:, :2])))(lp * 1.1)))(lax.scan(lambda g, t: (lambda a: (a, a))(t[0] + 0.99 * t[2] * (1 - t[3]) - t[1] + 0.95 * 0.99 * (1 - t[3]) * g), jnp.zeros(2), (r, v[:-1], v[1:], d), reverse=True)[1]), f32(7, 2), f32(8, 2), (rng.random((7, 2)) < 0.2).astype(np.float32), f32(7, 2))
add("replay_buffer", lambda k, buf, at, x: (lambda b: (b, jnp.take(b, jax.random.randint(key(k), (4,), 0, 10), axis=0), (at + 3) % 10))(buf.at[(at + jnp.arange(3)) % 10].set(x)), KEY, f32(10, 2), np.int32(8), f32(3, 2))
add("cart_pole_rollout", lambda k, w: lax.scan(lambda s, _: cart(s, w), jnp.array([0.0, 0.1, 0.02, -0.1]), None, length=12), KEY, f32(4))


def cart(s, w):
    x, v, th, om = s
    force = jnp.where(s @ w > 0, 10.0, -10.0)
    t = (force + 0.05 * om ** 2 * jnp.sin(th)) / 1.1
    a = (9.8 * jnp.sin(th) - jnp.cos(th) * t) / (0.5 * (4 / 3 - 0.1 * jnp.cos(th) ** 2 / 1.1))
    n = jnp.array([x + 0.02 * v, v + 0.02 * (t - 0.05 * a * jnp.cos(th) / 1.1), th + 0.02 * om, om + 0.02 * a])
    done = (jnp.abs(n[0]) > 2.4) | (jnp.abs(n[2]) > 0.2)
    return lax.select(done, jnp.zeros(4), n), (n, done)


add("evolution_strategy", lambda k, m: lax.scan(lambda s, kk: (lambda e: (lambda f: (s + 0.1 * jnp.tanh(e.T @ ((f - f.mean()) / (f.std() + 1e-5))) / 8, f.max()))(-jnp.sum((s + e) ** 2, 1)))(jax.random.normal(kk, (8, 3))), m, jax.random.split(key(k), 4)), KEY, f32(3))
add("genetic_rank_selection", lambda k, p: (lambda o: jnp.where(jax.random.bernoulli(key(k), 0.5, p.shape), p[o][:6].repeat(1, axis=0), p[o][::-1][:6]))(jnp.argsort(jnp.sum(p ** 2, 1))), KEY, f32(6, 4))
add("reservoir_and_shuffle", lambda k, x: (jax.random.permutation(key(k), x, axis=1, independent=True), jax.random.choice(key(k), x, (3,), replace=False, axis=0), jax.random.choice(key(k), 6, (2, 2), p=jax.nn.softmax(x[:, 0])), jax.random.permutation(key(k), 11)), KEY, f32(6, 5))

# ---- element types in uncommon places ----
for t in ("bfloat16", "float16", "float64"):
    kind = jnp.dtype(t)
    add("typed_training_" + t, lambda x, w, kind=kind: lax.scan(lambda p, _: (lambda l, g: (p - (0.1 * g).astype(kind), l))(*jax.value_and_grad(lambda q: jnp.mean(jax.nn.silu(x.astype(kind) @ q) ** 2))(p)), w.astype(kind), None, length=3), f32(6, 8), f32(8, 4), x64=t == "float64")
    t != "float16" and add("typed_attention_" + t, lambda q, kind=kind: jax.nn.dot_product_attention(*[q.astype(kind)] * 3, is_causal=True, local_window_size=2, scale=0.3), f32(2, 6, 4, 8), x64=t == "float64")
    add("typed_statistics_" + t, lambda x, kind=kind: [f(x.astype(kind)) for f in (jnp.std, jnp.var, jnp.median, lambda a: jnp.percentile(a, 30), lambda a: jnp.quantile(a, jnp.array([0.1, 0.9], kind), axis=0), jnp.ptp, lambda a: jnp.average(a, axis=1, weights=jnp.arange(5).astype(kind)), lambda a: jnp.cov(a), lambda a: jnp.corrcoef(a), jnp.nanmean, jnp.nanstd, lambda a: jnp.argsort(a, 0), lambda a: jnp.diff(a, n=2), lambda a: jnp.trapezoid(a), lambda a: jnp.cumsum(a, 1), lambda a: jnp.cumprod(a, 0), lambda a: lax.cumlogsumexp(a, 1))], f32(4, 5), x64=t == "float64", tol=6e-2 if t == "bfloat16" else None)
    add("typed_windows_" + t, lambda x, kind=kind: [nn.max_pool(x.astype(kind), (2, 3), (2, 1), "SAME"), nn.avg_pool(x.astype(kind), (3, 3), (1, 2), "SAME", count_include_pad=False), jax.grad(lambda a: jnp.sum(nn.max_pool(a, (3, 3), (2, 2)) ** 2))(x.astype(kind)), jax.grad(lambda a: jnp.sum(nn.avg_pool(a, (3, 2), (2, 2), "SAME") ** 2))(x.astype(kind)), lax.reduce_window(x.astype(kind), np.array(1, kind), lax.mul, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")], f32(2, 7, 8, 3), x64=t == "float64")
    add("typed_fft_less_" + t, lambda x, kind=kind: [jnp.linalg.norm(x.astype(kind), axis=1), jnp.einsum("ij,kj,k->i", *[x.astype(kind)] * 2, x[:, 0].astype(kind)), jax.nn.logsumexp(x.astype(kind), 1), jax.nn.standardize(x.astype(kind)), jax.nn.glu(x.astype(kind)), jax.nn.one_hot(jnp.arange(3), 4, dtype=kind), jnp.tensordot(x.astype(kind), x.astype(kind), [[0, 1], [0, 1]]), jnp.vdot(x.astype(kind), x.astype(kind)), jnp.kron(x.astype(kind)[:2, :2], x.astype(kind)[:2, :2]), jnp.power(jnp.abs(x.astype(kind)), x.astype(kind)), jnp.searchsorted(jnp.sort(x.astype(kind)[0]), x.astype(kind)), jnp.sinc(x.astype(kind)), jnp.i0(x.astype(kind)), jsp.special.erfinv(x.astype(kind) / 5), jsp.special.gammaln(jnp.abs(x.astype(kind)) + 1), lax.erf_inv(x.astype(kind) / 5), lax.digamma(jnp.abs(x.astype(kind)) + 1)], f32(4, 6), x64=t == "float64", tol=6e-2 if t == "bfloat16" else 1e-2 if t == "float16" else None)
add("bool_functions", lambda x, y: [x + y, x * y, x @ y.T, jnp.sum(x, 0), jnp.mean(x), jnp.cumsum(x, 1), jnp.argmax(x, 1), jnp.sort(x, 1), jnp.prod(x, 1), jnp.max(x, 0), jnp.any(x, 1), jnp.dot(x, y.T), jnp.einsum("ij,kj->ik", x, y), jnp.where(x, 1, y), jnp.logical_xor(x, y), x > y, jnp.unique(x, size=2), jnp.nonzero(x, size=6, fill_value=-1), jnp.flip(x), jnp.pad(x, 1, constant_values=True), jnp.repeat(x, 2, 0), jnp.cumprod(x, 0), lax.top_k(x.astype(jnp.int8), 2), lax.select(x, y, ~y), x.at[0].set(y[0]), x.at[jnp.array([0, 0])].max(y[:2]), jnp.packbits(x, axis=1), jnp.count_nonzero(x, 1), x ** 2, -x.astype(jnp.int8), jnp.var(x), jnp.median(x), lax.reduce_window(x, False, lax.bitwise_or, (2, 2), (1, 1), "SAME"), lax.reduce_window(x, True, lax.bitwise_and, (2, 2), (1, 1), "VALID"), jnp.searchsorted(jnp.sort(x[0]), y[0]), lax.associative_scan(jnp.logical_xor, x, axis=1), lax.sort((x, jnp.arange(20).reshape(4, 5)), num_keys=1, dimension=1), jnp.bitwise_not(x), lax.convert_element_type(x, jnp.bfloat16), jnp.trapezoid(x), jnp.array_equal(x, y)], ints(4, 5, high=2).astype(bool), ints(4, 5, high=2).astype(bool))
for t in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"):
    kind = jnp.dtype(t)
    add("narrow_forms_" + t, lambda x, kind=kind: (lambda a: [a.astype(jnp.float32), jnp.transpose(a), jnp.concatenate([a, a], 1), a[1:, ::2], jnp.pad(a.astype(jnp.float32), 1).astype(kind), jnp.take(a, jnp.array([1, 0]), 0), jnp.where(x > 0, a, a[::-1]), a.reshape(-1), jnp.flip(a), lax.dynamic_slice(a, (1, 1), (2, 2)), lax.dynamic_update_slice(a, a[:1, :2], (2, 1)), a == a[::-1], a > a[::-1], jnp.broadcast_to(a, (2, 4, 6)), lax.scan(lambda c, r: (r, c.astype(jnp.float32)), a[0], a), lax.cond(x.sum() > 0, lambda: a, lambda: a[::-1]), jnp.tile(a, (1, 2)), a.astype(jnp.bfloat16), a.astype(jnp.int8), a.astype(bool), jnp.zeros((3,), kind), jnp.isnan(a), (a.astype(jnp.float32) * 2).astype(kind), jnp.full((2, 2), 1, kind), a.at[0].set(a[1]) if kind.itemsize == 1 else a, jnp.swapaxes(a.reshape(2, 2, 6), 0, 1)])(jnp.abs(x).astype(kind)), f32(4, 6))
for t in ("int4", "uint4", "int2", "uint2"):
    kind = jnp.dtype(t)
    add("narrow_forms_" + t, lambda x, kind=kind: (lambda a: [a.astype(jnp.int32), jnp.transpose(a), jnp.concatenate([a, a], 1), a[1:, ::2], jnp.pad(a, 1), jnp.take(a, jnp.array([1, 0]), 0), jnp.where(x > 1, a, a[::-1]), a.reshape(-1), jnp.flip(a), lax.dynamic_slice(a, (1, 1), (2, 2)), lax.dynamic_update_slice(a, a[:1, :2], (2, 1)), a == a[::-1], a > a[::-1], jnp.broadcast_to(a, (2, 4, 6)), lax.scan(lambda c, r: (r, c + r), a[0], a), lax.cond(x.sum() > 0, lambda: a, lambda: a[::-1]), jnp.tile(a, (1, 2)), a.astype(jnp.bfloat16), a + a, a * a, a - a[::-1], jnp.maximum(a, a[::-1]), a.astype(bool), jnp.sum(a.astype(jnp.int32)), a.at[0].set(a[1]), a.at[0].add(a[1]), a & a[::-1], a | a[::-1], ~a, a << 1, a >> 1, lax.reduce_max(a, (0,)), jnp.sort(a, 1), jnp.argmax(a, 1), jnp.swapaxes(a.reshape(2, 2, 6), 0, 1)])(x.astype(kind)), ints(4, 6, high=4))
for t in ("complex64", "complex128"):
    kind = jnp.dtype(t)
    add("complex_forms_" + t, lambda x, y, kind=kind: (lambda a, b: [jnp.cumsum(a, 1), jnp.cumprod(b, 0), a @ b.T, jnp.einsum("ij,kj->ik", a, jnp.conj(b)), jnp.linalg.norm(a), jnp.sort(a, 1), jnp.where(a.real > 0, a, b), a.at[0].add(b[1]), a.at[:, 1].set(2j), jnp.sum(a, 0), jnp.prod(a, 1), jnp.mean(a), jnp.std(a), jnp.outer(a[0], b[0]), jnp.vdot(a, b), jnp.convolve(a[0], b[0]), jnp.polyval(a[0], b[0]), lax.scan(lambda c, v: (c * v, c), a[0], b), jnp.kron(a[:2, :2], b[:2, :2]), lax.conv_general_dilated(a[None, None], b[None, None, :2, :2], (1, 1), "SAME"), lax.reduce_window(a, kind.type(0), lax.add, (2, 2), (1, 1), "VALID"), jnp.linalg.det(a[:, :4]), jnp.linalg.inv(a[:, :4]), jnp.linalg.solve(a[:, :4], b[:, :4]), jnp.exp(1j * jnp.angle(a)), jnp.roots(jnp.concatenate([jnp.ones(1), a[0]]), strip_zeros=False)[:0], lax.complex(a.real, b.imag), jnp.power(a, b), a ** 3, jnp.log2(a), jnp.sinh(a), jnp.arccosh(a), jnp.square(a), jnp.reciprocal(a), jnp.nan_to_num(a), jnp.isclose(a, b), a == b, jnp.iscomplex(a), jnp.fft.fft2(a), jnp.fft.fftshift(a), jnp.take(a, jnp.array([1]), 1), jnp.roll(a, 1), lax.expand_dims(a, (0,)), jnp.trace(a), jnp.diagonal(a), jnp.interp(a.real, jnp.arange(3.0), b[0, :3].real), jax.grad(lambda v: jnp.sum(jnp.abs(v @ b.T) ** 2))(a), jax.jvp(jnp.tanh, (a,), (b,)), lax.map(lambda r: jnp.sum(r) ** 2, a), jnp.average(a, axis=1)])(x.astype(kind), y.astype(kind)), c64(4, 5), c64(4, 5), x64=t == "complex128", tol=1e-3)

# ---- transformations around control flow ----
add("vmapped_while_of_several", jax.vmap(lambda n, x: lax.while_loop(lambda s: (s[0] < n) & (jnp.sum(s[1]) < 20), lambda s: (s[0] + 1, s[1] * 1.2 + jnp.flip(s[1])), (0, x))), ints(5, high=6), np.abs(f32(5, 3)))
add("vmapped_switch_in_scan", jax.vmap(lambda i, x: lax.scan(lambda c, j: (lax.switch((i + j) % 3, [jnp.sin, lambda v: v * 2, lambda v: v[::-1]], c), c[0]), x, jnp.arange(4))), ints(5, high=3), f32(5, 3))
add("scan_of_while_of_cond", lambda x: lax.scan(lambda c, r: (lax.while_loop(lambda s: jnp.max(s) < 5, lambda s: lax.cond(s[0] > s[1], lambda v: v + 1, lambda v: v * 1.5 + 0.5, s), c + jnp.abs(r)) * 0.3, c), jnp.zeros(3), x), f32(4, 3))
add("scan_with_split_rng", lambda k, x: lax.scan(lambda c, v: (lambda a, b: ((a, c[1] + jax.random.normal(b, (3,)) * v), jax.random.randint(b, (), 0, 9)))(*jax.random.split(c[0])), (key(k), jnp.zeros(3)), x)[0][1], KEY, f32(5, 3))
add("grad_through_while_by_scan", lambda x: jax.grad(lambda a: lax.scan(lambda c, _: (jnp.where(jnp.sum(c) < 4, c * 1.3, c), None), a, None, length=6)[0].sum())(x), np.abs(f32(4)))
add("hessian_of_scan", lambda x: jax.hessian(lambda a: lax.scan(lambda c, v: (jnp.tanh(c * v), None), 1.0, a)[0])(x), f32(4))
add("jacfwd_of_cond", lambda x: jax.jacfwd(lambda a: lax.cond(a[0] > 0, lambda v: v ** 2, lambda v: jnp.sin(v), a))(x), f32(4))
add("map_batched", lambda x: (lax.map(lambda r: jnp.sort(r) @ r, x, batch_size=4), lax.map(jnp.cumsum, x, batch_size=3)), f32(10, 5))
add("associative_affine", lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), axis=1, reverse=True), f32(3, 7), f32(3, 7))
add("associative_argmax", lambda x: lax.associative_scan(lambda p, q: (jnp.maximum(p[0], q[0]), jnp.where(q[0] > p[0], q[1], p[1])), (x, jnp.arange(24).reshape(4, 6))), f32(4, 6))
add("checkpointed_blocks", lambda x, w: jax.grad(lambda v: jnp.sum(lax.scan(jax.checkpoint(lambda c, u: (jnp.tanh(c @ u), None), policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable), x, v)[0]))(w), f32(3, 4), f32(5, 4, 4))
add("custom_vjp_clip", lambda x: jax.grad(lambda a: jnp.sum(clipped(a) ** 3))(x), f32(5))


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, x), lambda res, g: (jnp.clip(g, -1, 1) * jnp.sign(res),))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def straight_through(x, bits):
    return jnp.round(x * 2 ** bits) / 2 ** bits


straight_through.defjvp(lambda bits, p, t: (straight_through(p[0], bits), t[0]))
add("quantisation_aware", lambda x, w: jax.value_and_grad(lambda v: jnp.sum((straight_through(x, 4) @ straight_through(v, 3)) ** 2))(w), f32(3, 4), f32(4, 2))
add("vmap_axes", lambda x, y: (jax.vmap(jnp.dot, (0, 1), 0)(x, y), jax.vmap(jnp.outer, (1, 0), 2)(x, y), jax.vmap(lambda a, b: a + b.sum(), (0, None))(x, y), jax.vmap(jax.vmap(lambda a, b: lax.dynamic_index_in_dim(a, b.astype(int) % 2, keepdims=False), (0, 0)), (1, 0))(jnp.stack([x, x], 2), jnp.abs(y[:, :4])), jax.vmap(lambda v: jnp.linalg.norm(v), spmd_axis_name=None)(x)), f32(4, 4), f32(4, 4))
add("named_axis_collectives", lambda x: jax.vmap(lambda a: (lax.psum(a, "i"), lax.pmean(a, "i"), lax.pmax(a, "i"), lax.axis_index("i"), lax.all_gather(a, "i"), lax.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]), lax.psum_scatter(jnp.stack([a] * 3), "i"), lax.all_to_all(jnp.stack([a] * 3), "i", 0, 0)), axis_name="i")(x), f32(3, 4))
add("forward_over_reverse", lambda x, v: (jax.jvp(jax.grad(lambda a: jnp.sum(jnp.sin(a) * jnp.cumsum(a))), (x,), (v,)), jax.linearize(jnp.tanh, x)[1](v), jax.vjp(lambda a: jnp.sort(a), x)[1](v), jax.linear_transpose(lambda a: jnp.fft.rfft(a).real, x)(jnp.ones(4))), f32(6), f32(6))
add("jax_tree_and_static", lambda d: jax.tree.reduce(jnp.add, jax.tree.map(lambda x, y: jnp.sum(x * y), d, jax.tree.map(jnp.cos, d))), {"a": f32(3), "b": [f32(2, 2), {"c": f32(1)}]})
add("errors_checked", lambda x: jax.experimental.checkify.checkify(lambda a: jnp.log(a) / a.sum(), errors=jax.experimental.checkify.float_checks)(x)[1] if hasattr(jax.experimental, "checkify") else x, np.abs(f32(3)))
add("unrolled_scans", lambda x: [lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.zeros(2), x, unroll=u, reverse=r)[1] for u in (1, 2, 3, True) for r in (False, True)], f32(7, 2))
add("loop_with_trees", lambda x: lax.fori_loop(0, 5, lambda i, s: {"a": s["b"], "b": (s["a"] + s["b"] * i), "n": (s["n"][1], s["n"][0] + 1)}, {"a": x, "b": x * 2, "n": (jnp.int8(0), jnp.int8(1))}), f32(3))
add("stateful_counts", lambda x: lax.while_loop(lambda s: s[2] < 6, lambda s: (s[0].at[s[2] % 3].add(x[s[2]]), lax.dynamic_update_slice(s[1], s[0][None], (s[2], 0)), s[2] + 1), (jnp.zeros(3), jnp.zeros((6, 3)), 0)), f32(6))

# ---- symbolic sizes ----
sized("bert", lambda ids, mask: Bert().apply(BERT, ids, mask > 0), ("b, s", "b, s"), (ints(2, 7, high=30), ints(2, 7, high=2)), (ints(3, 5, high=30), ints(3, 5, high=2)))
BERT = Bert().init(jax.random.key(1), np.zeros((2, 7), np.int32), np.ones((2, 7), bool))
sized("mixer", lambda x: Mixer().apply(MIXER, x), "b, 8, 12, 3", f32(2, 8, 12, 3), f32(5, 8, 12, 3))
MIXER = Mixer().init(jax.random.key(1), np.zeros((1, 8, 12, 3), np.float32))
sized("seq2seq", lambda a, b: Seq2Seq().apply(SEQ, a, b), ("b, s", "b, t"), (ints(2, 5, high=20), ints(2, 4, high=20)), (ints(1, 3, high=20), ints(1, 7, high=20)))
SEQ = Seq2Seq().init(jax.random.key(1), np.zeros((2, 5), np.int32), np.zeros((2, 4), np.int32))
sized("ctc", lambda l: ctc_prefix(l), "b, t, 5", f32(2, 6, 5), f32(3, 9, 5))
sized("top_p", lambda k, l: top_p(k, l), ("2", "b, v"), (KEY, f32(2, 6)), (KEY, f32(4, 9)))
sized("alignment", lambda a, b: smith_waterman(a, b), ("m", "n"), (ints(5, high=4), ints(4, high=4)), (ints(3, high=4), ints(8, high=4)))
sized("windows", lambda x: (nn.avg_pool(x, (3, 3), (2, 2), "SAME", count_include_pad=False), nn.max_pool(x, (2, 2), (2, 2)), jax.image.resize(x, (x.shape[0], 4, 5, 3), "cubic"), x.mean((1, 2))), "b, h, w, 3", f32(1, 6, 7, 3), f32(2, 9, 4, 3), constraints=("h >= 2", "w >= 2"))
sized("attention", lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True), "b, s, 2, 8", f32(2, 5, 2, 8), f32(1, 9, 2, 8))
sized("chunked", lambda x: lax.map(lambda c: jnp.tanh(c).sum(0), x.reshape(x.shape[0] // 3, 3, 4)), "3*n, 4", f32(6, 4), f32(12, 4))
sized("histogram", lambda x: (jnp.histogram(x, 5, (-2, 2))[0], jnp.bincount((jnp.abs(x) * 3).astype(int), length=8), jnp.quantile(x, 0.3), jnp.median(x), jnp.std(x)), "n", f32(9), f32(14))
sized("padded_batches", lambda x, n: (jnp.where(jnp.arange(x.shape[1])[None, :, None] < n[:, None, None], x, 0).sum(1) / n[:, None], jax.vmap(lambda r, k: lax.dynamic_index_in_dim(r, k - 1, keepdims=False))(x, n), jax.nn.softmax(x, 1, where=jnp.arange(x.shape[1])[None, :, None] < n[:, None, None])), ("b, t, 3", "b"), (f32(2, 5, 3), np.array([3, 5], np.int32)), (f32(3, 8, 3), np.array([1, 8, 4], np.int32)))
sized("k_means", lambda x: lax.fori_loop(0, 3, lambda _, c: (lambda a: jax.ops.segment_sum(x, a, 2) / jnp.maximum(jax.ops.segment_sum(jnp.ones(x.shape[0]), a, 2), 1)[:, None])(jnp.argmin(jnp.sum((x[:, None] - c[None]) ** 2, -1), 1)), x[:2]), "n, 3", f32(8, 3), f32(13, 3), constraints=("n >= 2",))
sized("rope_and_cache", lambda cache, x, at: (lambda ang: (lambda r: lax.dynamic_update_slice(cache, r, (0, at, 0)))(jnp.concatenate([x[..., :2] * jnp.cos(ang) - x[..., 2:] * jnp.sin(ang), x[..., 2:] * jnp.cos(ang) + x[..., :2] * jnp.sin(ang)], -1)))(((at + jnp.arange(x.shape[1])) * 0.3)[None, :, None]), ("b, m, 4", "b, t, 4", ""), (f32(2, 9, 4), f32(2, 3, 4), np.int32(2)), (f32(1, 12, 4), f32(1, 1, 4), np.int32(7)), constraints=("m >= t",))
sized("spectrum", lambda x: jnp.abs(jnp.fft.rfft(x.reshape(x.shape[0], -1, 16) * jnp.hanning(16))).mean(1), "b, 16*n", f32(2, 32), f32(1, 64))
sized("gram_schmidt", lambda x: (jnp.linalg.qr(x @ x.T + jnp.eye(x.shape[0]))[1].shape[0] * x.sum(), jnp.linalg.slogdet(x @ x.T + jnp.eye(x.shape[0]))[1], jnp.linalg.inv(x.T @ x + jnp.eye(3))), "n, 3", f32(4, 3), f32(6, 3))
