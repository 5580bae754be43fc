"""JAX programs for scripts/bench_hlo: PROGRAMS maps a name to a function that gives (f, arguments).

Short ones show one thing each; those of WHOLE are what people run."""
import functools

import jax
import jax.numpy as jnp
import numpy
from jax import lax

PROGRAMS, WHOLE = {}, []
F32, I32 = numpy.float32, numpy.int32


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def whole(make):
    WHOLE.append(make.__name__)
    return program(make)


def draw(*shape, seed=0, scale=1.0):
    return (numpy.random.RandomState(seed).randn(*shape) * scale).astype(F32)


# ---- loops ----

@program
def scan_ys():
    def step(c, x):
        return c + x, c
    return lambda xs: lax.scan(step, jnp.zeros(256), xs)[1], (draw(1000, 256),)


@program
def scan_nested_ys():
    def inner(c, x):
        return c * 0.9 + x, c

    def outer(c, xs):
        return lax.scan(inner, c, xs)
    return lambda xs: lax.scan(outer, jnp.zeros(256), xs), (draw(20, 50, 256),)


@program
def scan_cond_ys():
    def step(state, x):
        stack, i = state
        stack = lax.cond(x[0] > 0, lambda s: lax.dynamic_update_index_in_dim(s, x, i, 0), lambda s: s, stack)
        return (stack, i + 1), None
    return lambda xs: lax.scan(step, (jnp.zeros((1000, 256)), 0), xs)[0][0], (draw(1000, 256),)


@program
def scan_matvec_grad():
    def loss(ws, x):
        return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)[0].sum()
    return jax.grad(loss), (draw(8, 512, 512, scale=0.05), draw(1, 512))


@program
def scan_weights_ys():
    def step(h, w):
        return jnp.tanh(h @ w), w * 2
    return lambda ws, x: lax.scan(step, x, ws), (draw(8, 512, 512, scale=0.05), draw(1, 512))


@program
def fori_scalar():
    return lambda x: lax.fori_loop(0, 10000, lambda i, s: s * 1.0001 + 0.5, x), (F32(1),)


@program
def fori_row():
    return lambda x: lax.fori_loop(0, 1000, lambda i, s: s * 1.001, x), (draw(8),)


@program
def element_updates():
    at = numpy.random.RandomState(0).randint(0, 1000, 10000).astype(I32)
    return (lambda x, at, v: lax.fori_loop(0, 10000, lambda i, x: x.at[at[i]].add(v[i]), x),
            (draw(1000), at, draw(10000)))


@program
def while_newton():
    def body(s):
        x, n = s
        return x - (x * x - 2) / (2 * x), n + 1
    return lambda x: lax.while_loop(lambda s: s[1] < 1000, body, (x, 0)), (F32(3),)


# ---- order ----

@program
def sort_100k():
    return jnp.sort, (draw(100000),)


@program
def sort_int_100k():
    return jnp.sort, (numpy.random.RandomState(0).randint(-2**31, 2**31 - 1, 100000).astype(I32),)


@program
def sort_rows():
    return lambda x: jnp.sort(x, axis=-1), (draw(1000, 64),)


@program
def sort_columns():
    return lambda x: jnp.sort(x, axis=0), (draw(1000, 64),)


@program
def argsort_100k():
    return jnp.argsort, (draw(100000),)


@program
def sort_descending():
    return lambda x: jnp.sort(x, descending=True), (draw(100000),)


@program
def median():
    return lambda x: jnp.median(x, axis=-1), (draw(100, 1001),)


@program
def topk_vocab():
    return lambda x: lax.top_k(x, 50), (draw(4, 32000),)


@program
def argmax():
    return lambda x: jnp.argmax(x, axis=-1), (draw(512, 1000),)


@program
def argmin_first():
    return lambda x: jnp.argmin(x, axis=0), (draw(512, 1000),)


@program
def cumsum():
    return lambda x: jnp.cumsum(x, axis=-1), (draw(128, 1024),)


@program
def cummax():
    return lambda x: lax.cummax(x, axis=0), (draw(1024, 128),)


@program
def searchsorted():
    return lambda a, v: jnp.searchsorted(a, v), (numpy.sort(draw(10000)), draw(1000, seed=1))


@program
def associative_scan():
    def join(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]
    return lambda a, b: lax.associative_scan(join, (a, b)), (draw(256, 128, scale=0.5), draw(256, 128, seed=1))


@program
def associative_sum():
    return lambda x: lax.associative_scan(jnp.add, x), (draw(1024, 64),)


@program
def fft_lines():
    return lambda x: jnp.abs(jnp.fft.fft(x)), (draw(64, 1024),)


@program
def rfft_long():
    return lambda x: jnp.abs(jnp.fft.rfft(x)), (draw(4, 16384),)


@program
def fft_image():
    return lambda x: jnp.abs(jnp.fft.fft2(x)), (draw(8, 64, 64),)


# ---- windows, convolutions ----

def channels_last(x, k, **more):
    return lax.conv_general_dilated(x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)


@program
def avgpool():
    return lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (draw(8, 28, 28, 32),)


@program
def sum_window_3():
    return lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), (draw(4, 56, 56, 32),)


@program
def maxpool():
    return lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (draw(8, 56, 56, 32),)


@program
def maxpool_grad():
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.grad(lambda x: pool(x).sum()), (draw(8, 28, 28, 32),)


@program
def maxpool_grad_3():
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return jax.grad(lambda x: (pool(x) ** 2).sum()), (draw(8, 56, 56, 32),)


@program
def maxpool_grad_bf16():
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.grad(lambda x: pool(x.astype(jnp.bfloat16)).astype(F32).sum()), (draw(8, 28, 28, 32),)


@program
def conv_transpose():
    return (lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), (draw(1, 32, 32, 64), draw(4, 4, 64, 32)))


@program
def conv_stride_grad_x():
    f = lambda x, k: (channels_last(x, k, window_strides=(2, 2), padding="SAME") ** 2).sum()
    return jax.grad(f), (draw(8, 28, 28, 32), draw(3, 3, 32, 32))


@program
def conv_stride_grad_w():
    f = lambda k, x: (channels_last(x, k, window_strides=(2, 2), padding="SAME") ** 2).sum()
    return jax.grad(f), (draw(3, 3, 32, 32), draw(8, 28, 28, 32))


@program
def conv_grad_w():
    f = lambda k, x: (channels_last(x, k, window_strides=(1, 1), padding="SAME") ** 2).sum()
    return jax.grad(f), (draw(3, 3, 32, 32), draw(8, 28, 28, 32))


@program
def conv_dilated():
    f = lambda x, k: channels_last(x, k, window_strides=(1, 1), padding="SAME", rhs_dilation=(2, 2))
    return f, (draw(2, 32, 32, 64), draw(3, 3, 64, 64))


@program
def conv_one_channel():
    f = lambda x, k: channels_last(x, k, window_strides=(1, 1), padding="SAME")
    return f, (draw(1, 256, 256, 1), draw(5, 5, 1, 1))


@program
def conv_1d_one_channel():
    return lambda x, k: jnp.convolve(x, k, mode="same"), (draw(16000), draw(33))


@program
def conv_depthwise():
    f = lambda x, k: channels_last(x, k, window_strides=(1, 1), padding="SAME", feature_group_count=64)
    return f, (draw(2, 56, 56, 64), draw(3, 3, 1, 64))


# ---- indices ----

@program
def segment_sum():
    ids = numpy.random.RandomState(0).randint(0, 200, 800).astype(I32)
    return lambda x, i: jax.ops.segment_sum(x, i, 200), (draw(800, 32), ids)


@program
def scatter_add():
    rows = numpy.random.RandomState(0).randint(0, 10000, 20000).astype(I32)
    return lambda t, i, x: t.at[i].add(x), (draw(10000, 64), rows, draw(20000, 64))


@program
def scatter_set_scalars():
    at = numpy.random.RandomState(0).randint(0, 100000, 50000).astype(I32)
    return lambda t, i, x: t.at[i].set(x), (draw(100000), at, draw(50000))


@program
def histogram():
    at = numpy.random.RandomState(0).randint(0, 256, 100000).astype(I32)
    return lambda i: jnp.zeros(256, I32).at[i].add(1), (at,)


@program
def gather_rows():
    rows = numpy.random.RandomState(0).randint(0, 10000, 20000).astype(I32)
    return lambda t, i: t[i], (draw(10000, 64), rows)


@program
def gather_pairs():
    r = numpy.random.RandomState(0)
    return (lambda t, i, j: t[i, j],
            (draw(1000, 1000), r.randint(0, 1000, 50000).astype(I32), r.randint(0, 1000, 50000).astype(I32)))


@program
def take_along():
    at = numpy.random.RandomState(0).randint(0, 1000, (256, 100)).astype(I32)
    return lambda t, i: jnp.take_along_axis(t, i, axis=1), (draw(256, 1000), at)


@program
def interior_pad():
    return lambda x: lax.pad(x, jnp.float32(0), ((0, 0, 0), (1, 1, 1), (1, 1, 1), (0, 0, 0))), (draw(4, 56, 56, 32),)


@program
def strided_gather():
    return lambda x: x[:, ::2, 1::3], (draw(64, 256, 256),)


@program
def one_hot():
    ids = numpy.random.RandomState(0).randint(0, 1000, 512).astype(I32)
    return lambda i: jax.nn.one_hot(i, 1000), (ids,)


# ---- dense linear algebra ----

def positive(x):
    return x @ jnp.swapaxes(x, -1, -2) + x.shape[-1] * jnp.eye(x.shape[-1])


@program
def linalg_inverse():
    return jnp.linalg.inv, (draw(128, 128) + 16 * numpy.eye(128, dtype=F32),)


@program
def linalg_solve():
    return jnp.linalg.solve, (draw(128, 128) + 16 * numpy.eye(128, dtype=F32), draw(128, 16))


@program
def linalg_cholesky():
    return lambda x: jnp.linalg.cholesky(positive(x)), (draw(128, 128),)


@program
def linalg_qr():
    return jnp.linalg.qr, (draw(128, 64),)


@program
def linalg_triangular():
    return lambda a, b: jax.scipy.linalg.solve_triangular(a + 16 * jnp.eye(128), b), (draw(128, 128), draw(128, 16))


@program
def linalg_cholesky_batch():
    return lambda x: jnp.linalg.cholesky(positive(x)), (draw(256, 8, 8),)


@program
def linalg_determinant_batch():
    return jnp.linalg.det, (draw(64, 8, 8),)


@program
def linalg_inverse_batch():
    return jnp.linalg.inv, (draw(1000, 3, 3) + 4 * numpy.eye(3, dtype=F32),)


# ---- elementwise ----

@program
def gelu_exact():
    return lambda x: jax.nn.gelu(x, approximate=False), (draw(512, 1024),)


@program
def gelu_exact_product():
    return (lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False),
            (draw(128, 256), draw(256, 1024, scale=0.06), draw(1024)))


@program
def erf_inv():
    return lambda x: lax.erf_inv(jnp.tanh(x)), (draw(512, 512),)


@program
def threefry_bits():
    return lambda k: jax.random.bits(k, (512, 512)), (numpy.array([1, 2], numpy.uint32),)


@program
def threefry_normal():
    return lambda k: jax.random.normal(k, (512, 512)), (numpy.array([1, 2], numpy.uint32),)


@program
def threefry_dropout():
    return (lambda k, x: jnp.where(jax.random.bernoulli(k, 0.9, x.shape), x / 0.9, 0),
            (numpy.array([1, 2], numpy.uint32), draw(512, 512)))


@program
def softmax_rows():
    return lambda x: jax.nn.softmax(x, axis=-1), (draw(512, 1000),)


@program
def logsumexp_rows():
    return lambda x: jax.nn.logsumexp(x, axis=-1), (draw(512, 1000),)


@program
def layer_norm_grad():
    def f(x, g, b):
        m = x.mean(-1, keepdims=True)
        v = ((x - m) ** 2).mean(-1, keepdims=True)
        return (((x - m) * lax.rsqrt(v + 1e-5) * g + b) ** 2).sum()
    return jax.grad(f, (0, 1, 2)), (draw(512, 768), draw(768), draw(768))


@program
def adam_update():
    def f(p, m, v, g):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v
    return f, tuple(abs(draw(1000, 1000, seed=i)) for i in range(4))


@program
def batched_products():
    return lambda a, b: jnp.einsum("bij,bjk->bik", a, b), (draw(64, 32, 32), draw(64, 32, 32))


@program
def attention():
    def f(q, k, v):
        s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)
    return f, (draw(1, 8, 256, 64), draw(1, 8, 256, 64), draw(1, 8, 256, 64))


# ---- whole programs ----

def lstm_step(w, u, b):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    return step


@whole
def lstm():
    def f(xs, w, u, b):
        zero = jnp.zeros((xs.shape[1], 256))
        return lax.scan(lstm_step(w, u, b), (zero, zero), xs)[1]
    return f, (draw(100, 8, 128), draw(128, 1024, scale=0.08), draw(256, 1024, scale=0.06), draw(1024))


@whole
def lstm_train():
    def loss(p, xs, y):
        zero = jnp.zeros((xs.shape[1], 128))
        return ((lax.scan(lstm_step(*p), (zero, zero), xs)[0][0] - y) ** 2).mean()

    def f(w, u, b, xs, y):
        g = jax.grad(loss)((w, u, b), xs, y)
        return tuple(p - 0.01 * d for p, d in zip((w, u, b), g))
    return f, (draw(64, 512, scale=0.1), draw(128, 512, scale=0.08), draw(512), draw(50, 16, 64), draw(16, 128))


@whole
def gru():
    def f(xs, w, u, b):
        def step(h, x):
            a, r = x @ w + b, h @ u
            z = jax.nn.sigmoid(a[:, :256] + r[:, :256])
            g = jax.nn.sigmoid(a[:, 256:512] + r[:, 256:512])
            n = jnp.tanh(a[:, 512:] + g * r[:, 512:])
            h = (1 - z) * n + z * h
            return h, h
        return lax.scan(step, jnp.zeros((xs.shape[1], 256)), xs)[1]
    return f, (draw(100, 8, 128), draw(128, 768, scale=0.08), draw(256, 768, scale=0.06), draw(768))


LAYERS, WIDE, HEADS, FFN, VOCAB = 4, 256, 4, 704, 2000


def llama_weights():
    shapes = dict(wq=(WIDE, WIDE), wk=(WIDE, WIDE), wv=(WIDE, WIDE), wo=(WIDE, WIDE), w1=(WIDE, FFN), w3=(WIDE, FFN),
                  w2=(FFN, WIDE))
    p = {k: draw(LAYERS, *s, seed=i, scale=s[0] ** -0.5) for i, (k, s) in enumerate(shapes.items())}
    p.update(n1=numpy.ones((LAYERS, WIDE), F32), n2=numpy.ones((LAYERS, WIDE), F32))
    return dict(layers=p, embed=draw(VOCAB, WIDE, scale=0.02), norm=numpy.ones(WIDE, F32))


def rms(x, g):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g


def rope(x, at):
    half = x.shape[-1] // 2
    turn = at[..., None] * (10000.0 ** (-jnp.arange(half) / half))
    c, s = jnp.cos(turn)[:, None], jnp.sin(turn)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)


def llama_layer(h, p, at, keys, values, mask):
    """h: (tokens, WIDE); keys and values: functions of this step's own."""
    x = rms(h, p["n1"])
    split = lambda t: t.reshape(-1, HEADS, WIDE // HEADS)
    q, k, v = rope(split(x @ p["wq"]), at), rope(split(x @ p["wk"]), at), split(x @ p["wv"])
    k, v = keys(k), values(v)
    s = jnp.einsum("qhd,khd->hqk", q, k) * (WIDE // HEADS) ** -0.5 + mask
    h = h + jnp.einsum("hqk,khd->qhd", jax.nn.softmax(s, -1), v).reshape(-1, WIDE) @ p["wo"]
    x = rms(h, p["n2"])
    return h + (jax.nn.silu(x @ p["w1"]) * (x @ p["w3"])) @ p["w2"], (k, v)


@whole
def llama_decode():
    def f(p, keys, values, token, at):
        h = p["embed"][token][None]
        mask = jnp.where(jnp.arange(512) <= at, 0.0, -1e9)

        def step(h, x):
            layer, k, v = x
            put = lambda cache: lambda new: lax.dynamic_update_slice(cache, new, (at, 0, 0))
            return llama_layer(h, layer, at[None], put(k), put(v), mask)
        h, (keys, values) = lax.scan(step, h, (p["layers"], keys, values))
        return rms(h, p["norm"]) @ p["embed"].T, keys, values
    cache = draw(LAYERS, 512, HEADS, WIDE // HEADS)
    return f, (llama_weights(), cache, cache, I32(5), I32(500))


def llama_loss(p, tokens):
    h = p["embed"][tokens[:-1]]
    at = jnp.arange(h.shape[0])
    mask = jnp.where(at[:, None] >= at, 0.0, -1e9)
    same = lambda t: t
    h = lax.scan(lambda h, layer: (llama_layer(h, layer, at, same, same, mask)[0], None), h, p["layers"])[0]
    logits = rms(h, p["norm"]) @ p["embed"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[1:, None], 1).mean()


def adam(loss):
    def f(p, m, v, t, *batch):
        g = jax.grad(loss)(p, *batch)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        p = jax.tree.map(lambda a, b, c: a - 1e-3 * (b / (1 - 0.9 ** t)) / (jnp.sqrt(c / (1 - 0.999 ** t)) + 1e-8), p, m, v)
        return p, m, v
    return f


def adam_arguments(p):
    zero = jax.tree.map(lambda a: numpy.full_like(a, 1e-3), p)
    return p, zero, zero, F32(3)


@whole
def llama_train():
    tokens = numpy.random.RandomState(0).randint(0, VOCAB, 129).astype(I32)
    return adam(llama_loss), (*adam_arguments(llama_weights()), tokens)


@whole
def mlp_train():
    p = [draw(784, 512, scale=0.03), draw(512, scale=0), draw(512, 512, scale=0.04), draw(512, scale=0),
         draw(512, 10, scale=0.04), draw(10, scale=0)]

    def loss(p, x, y):
        h = jax.nn.relu(x @ p[0] + p[1])
        h = jax.nn.relu(h @ p[2] + p[3])
        return -jnp.take_along_axis(jax.nn.log_softmax(h @ p[4] + p[5]), y[:, None], 1).mean()
    y = numpy.random.RandomState(0).randint(0, 10, 64).astype(I32)
    return adam(loss), (*adam_arguments(p), draw(64, 784), y)


def conv_norm(x, k, g, b, stride=1):
    x = channels_last(x, k, window_strides=(stride, stride), padding="SAME")
    m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


def resnet_weights(stages, count):
    w, last = [], 3
    for i in range(count):
        w.append((draw(3, 3, last, stages[0], seed=i, scale=(9 * last) ** -0.5), numpy.ones(stages[0], F32),
                  numpy.zeros(stages[0], F32)))
        last = stages[0]
    return w


@whole
def resnet_train():
    widths = [(3, 32, 1)] + [(32, 32, 1)] * 4 + [(32, 64, 2)] + [(64, 64, 1)] * 3 + [(64, 128, 2)] + [(128, 128, 1)] * 3
    p = dict(convs=[(draw(3, 3, a, b, seed=i, scale=(9 * a / 2) ** -0.5), numpy.ones(b, F32), numpy.zeros(b, F32))
                    for i, (a, b, _) in enumerate(widths)],
             skips=[draw(1, 1, a, b, scale=a ** -0.5) for a, b, s in widths if s == 2], out=draw(128, 10, scale=0.1))

    def loss(p, x, y):
        convs, skips = p["convs"], list(p["skips"])
        h = jax.nn.relu(conv_norm(x, *convs[0]))
        for i in range(1, len(convs) - 1, 2):
            stride = widths[i][2]
            t = jax.nn.relu(conv_norm(h, *convs[i], stride))
            t = conv_norm(t, *convs[i + 1])
            if stride == 2:
                h = channels_last(h, skips.pop(0), window_strides=(2, 2), padding="SAME")
            h = jax.nn.relu(h + t)
        logits = h.mean((1, 2)) @ p["out"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()
    y = numpy.random.RandomState(0).randint(0, 10, 16).astype(I32)
    return adam(loss), (*adam_arguments(p), draw(16, 32, 32, 3), y)


@whole
def cnn_train():
    p = [draw(3, 3, 1, 32, scale=0.3), draw(3, 3, 32, 64, scale=0.06), draw(3136, 128, scale=0.02), draw(128, 10, scale=0.1)]

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(p, x, y):
        h = pool(jax.nn.relu(channels_last(x, p[0], window_strides=(1, 1), padding="SAME")))
        h = pool(jax.nn.relu(channels_last(h, p[1], window_strides=(1, 1), padding="SAME")))
        h = jax.nn.relu(h.reshape(h.shape[0], -1) @ p[2])
        return -jnp.take_along_axis(jax.nn.log_softmax(h @ p[3]), y[:, None], 1).mean()
    y = numpy.random.RandomState(0).randint(0, 10, 32).astype(I32)
    return adam(loss), (*adam_arguments(p), draw(32, 28, 28, 1), y)


@whole
def unet():
    sizes = [(3, 32), (32, 64), (64, 128), (192, 64), (96, 32), (32, 3)]
    p = [draw(3, 3, a, b, seed=i, scale=(9 * a / 2) ** -0.5) for i, (a, b) in enumerate(sizes)]

    def half(x):
        return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    def double(x):
        return jax.image.resize(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2], x.shape[3]), "nearest")

    def f(p, x):
        conv = lambda x, k: jax.nn.silu(channels_last(x, k, window_strides=(1, 1), padding="SAME"))
        a = conv(x, p[0])
        b = conv(half(a), p[1])
        c = conv(half(b), p[2])
        b = conv(jnp.concatenate([double(c), b], -1), p[3])
        a = conv(jnp.concatenate([double(b), a], -1), p[4])
        return channels_last(a, p[5], window_strides=(1, 1), padding="SAME")
    return f, (p, draw(1, 64, 64, 3))


@whole
def vit_train():
    wide, layers = 128, 4
    p = dict(patch=draw(48, wide, scale=0.1), place=draw(64, wide, scale=0.02), out=draw(wide, 10, scale=0.1),
             layers=[dict(qkv=draw(wide, 3 * wide, seed=i, scale=0.08), o=draw(wide, wide, seed=i, scale=0.08),
                          a=draw(wide, 4 * wide, seed=i, scale=0.08), b=draw(4 * wide, wide, seed=i, scale=0.04),
                          g=numpy.ones(wide, F32), h=numpy.ones(wide, F32)) for i in range(layers)])

    def norm(x, g):
        m = x.mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g

    def loss(p, x, y):
        n = x.shape[0]
        h = x.reshape(n, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(n, 64, 48) @ p["patch"] + p["place"]
        for w in p["layers"]:
            q, k, v = jnp.split((norm(h, w["g"]) @ w["qkv"]).reshape(n, 64, 12, 32), 3, axis=2)
            s = jax.nn.softmax(jnp.einsum("nqhd,nkhd->nhqk", q, k) * 32 ** -0.5, -1)
            h = h + jnp.einsum("nhqk,nkhd->nqhd", s, v).reshape(n, 64, wide) @ w["o"]
            h = h + jax.nn.gelu(norm(h, w["h"]) @ w["a"], approximate=False) @ w["b"]
        logits = h.mean(1) @ p["out"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()
    y = numpy.random.RandomState(0).randint(0, 10, 8).astype(I32)
    return adam(loss), (*adam_arguments(p), draw(8, 32, 32, 3), y)


@whole
def gnn():
    r = numpy.random.RandomState(0)
    src, dst = r.randint(0, 1000, 5000).astype(I32), r.randint(0, 1000, 5000).astype(I32)

    def f(ws, x, src, dst):
        for w, own in ws:
            m = jax.ops.segment_sum(x[src] @ w, dst, 1000)
            n = jax.ops.segment_sum(jnp.ones(5000), dst, 1000)
            x = jax.nn.relu(m / jnp.maximum(n, 1)[:, None] + x @ own)
        return x
    ws = [(draw(64, 64, seed=i, scale=0.1), draw(64, 64, seed=9 + i, scale=0.1)) for i in range(3)]
    return f, (ws, draw(1000, 64), src, dst)


@whole
def gnn_train():
    f, (ws, x, src, dst) = gnn()

    def g(ws, x, src, dst):
        return jax.grad(lambda ws: (f(ws, x, src, dst) ** 2).mean())(ws)
    return g, (ws, x, src, dst)


@whole
def odeint():
    from jax.experimental.ode import odeint as solve

    def f(y, t, p):
        return jax.vmap(lambda y: jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]))(y)
    return lambda y, t, p: solve(f, y, t, p), (abs(draw(8, 2)) + 1, numpy.linspace(0, 5, 50).astype(F32),
                                            numpy.array([1.1, 0.4, 0.4, 0.1], F32))


@whole
def rk4():
    def f(y, w):
        d = lambda y: jnp.tanh(y @ w)

        def step(y, _):
            a = d(y)
            b = d(y + 0.005 * a)
            c = d(y + 0.005 * b)
            e = d(y + 0.01 * c)
            y = y + 0.01 / 6 * (a + 2 * b + 2 * c + e)
            return y, y
        return lax.scan(step, y, None, length=200)[1]
    return f, (draw(4, 32), draw(32, 32, scale=0.2))


@whole
def hmc():
    def f(key, x, a, y):
        energy = lambda w: 0.5 * (w * w).sum() + jnp.log1p(jnp.exp(-y * (a @ w))).sum()
        grad = jax.grad(energy)

        def sample(state, key):
            w = state
            k1, k2 = jax.random.split(key)
            m = jax.random.normal(k1, w.shape)

            def leap(_, s):
                q, m = s
                m = m - 0.005 * grad(q)
                q = q + 0.01 * m
                return q, m - 0.005 * grad(q)
            q, n = lax.fori_loop(0, 10, leap, (w, m))
            gain = energy(w) + 0.5 * (m * m).sum() - energy(q) - 0.5 * (n * n).sum()
            w = jnp.where(jnp.log(jax.random.uniform(k2)) < gain, q, w)
            return w, w
        return lax.scan(sample, x, jax.random.split(key, 100))[1]
    y = numpy.sign(draw(200, seed=2))
    return f, (numpy.array([0, 1], numpy.uint32), draw(16, scale=0.1), draw(200, 16, seed=1), y)


@whole
def gumbel_decode():
    """Sampling of 64 tokens from a small recurrent model."""
    def f(key, w, u, e, o):
        def step(state, key):
            h, token = state
            h = jnp.tanh(e[token] @ w + h @ u)
            token = jax.random.categorical(key, h @ o).astype(I32)
            return (h, token), token
        return lax.scan(step, (jnp.zeros(128), I32(0)), jax.random.split(key, 64))[1]
    return f, (numpy.array([0, 1], numpy.uint32), draw(128, 128, scale=0.1), draw(128, 128, scale=0.1), draw(500, 128),
               draw(128, 500, scale=0.1))


@whole
def kalman():
    def f(ys, a, c, q, r):
        def step(state, y):
            x, p = state
            x, p = a @ x, a @ p @ a.T + q
            s = c @ p @ c.T + r
            k = jnp.linalg.solve(s, c @ p).T
            x = x + k @ (y - c @ x)
            return (x, p - k @ c @ p), x
        return lax.scan(step, (jnp.zeros(8), jnp.eye(8)), ys)[1]
    return f, (draw(200, 4), (numpy.eye(8) + 0.01 * draw(8, 8)).astype(F32), draw(4, 8), 0.1 * numpy.eye(8, dtype=F32),
               numpy.eye(4, dtype=F32))


@whole
def kmeans():
    def f(x, start):
        def step(_, centres):
            d = ((x[:, None] - centres) ** 2).sum(-1)
            near = jnp.argmin(d, 1)
            n = jax.ops.segment_sum(jnp.ones(x.shape[0]), near, 16)
            return jax.ops.segment_sum(x, near, 16) / jnp.maximum(n, 1)[:, None]
        return lax.fori_loop(0, 10, step, start)
    return f, (draw(2000, 16), draw(16, 16, seed=1))
