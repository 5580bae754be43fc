"""Whole JAX programs: networks, training steps, solvers, samplers."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from common import Table

table = Table()
rng = np.random.default_rng(2)


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def dense(n, m):
    return {"w": f32(n, m, scale=n ** -0.5), "b": f32(m, scale=0.1)}


def apply(p, x):
    return x @ p["w"] + p["b"]


def norm(x, g=1.0):
    return g * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


# ---- networks in plain jnp ----

def mlp(params, x):
    for p in params[:-1]:
        x = jax.nn.relu(apply(p, x))
    return apply(params[-1], x)


def mlp_params():
    return [dense(8, 16), dense(16, 16), dense(16, 4)]


table("mlp", lambda: (mlp, (mlp_params(), f32(5, 8))))
table("mlp_train_step", lambda: (lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(lambda q: jnp.mean((mlp(q, x) - y) ** 2))(p)), (mlp_params(), f32(5, 8), f32(5, 4))))


def sgd_loop(p, x, y):
    def step(p, _):
        loss, g = jax.value_and_grad(lambda q: jnp.mean((mlp(q, x) - y) ** 2))(p)
        return jax.tree.map(lambda a, b: a - 0.05 * b, p, g), loss
    return lax.scan(step, p, None, length=20)


table("mlp_training_scan", lambda: (sgd_loop, (mlp_params(), f32(5, 8), f32(5, 4))), tol=1e-3)


def attention(p, x, mask=None, heads=2):
    t, d = x.shape[-2:]
    split = lambda a: jnp.moveaxis(a.reshape(a.shape[:-1] + (heads, d // heads)), -2, -3)  # noqa: E731
    q, k, v = (split(apply(p[n], x)) for n in "qkv")
    s = jnp.einsum("...qd,...kd->...qk", q, k) * (d // heads) ** -0.5
    if mask is not None:
        s = jnp.where(mask, s, -1e9)
    o = jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(s, -1), v)
    return apply(p["o"], jnp.moveaxis(o, -3, -2).reshape(x.shape))


def block_params(d=16):
    return {n: dense(d, d) for n in "qkvo"} | {"up": dense(d, 4 * d), "down": dense(4 * d, d)}


def block(p, x, mask=None):
    x = x + attention(p, norm(x), mask)
    return x + apply(p["down"], jax.nn.gelu(apply(p["up"], norm(x))))


def gpt(params, tokens):
    x = params["embed"][tokens] + params["place"][: tokens.shape[-1]]
    mask = jnp.tril(jnp.ones((tokens.shape[-1],) * 2, bool))
    for p in params["blocks"]:
        x = block(p, x, mask)
    return norm(x) @ params["embed"].T


def gpt_params():
    return {"embed": f32(40, 16), "place": f32(12, 16), "blocks": [block_params(), block_params()]}


def tokens(*shape, high=40):
    return rng.integers(0, high, shape).astype(np.int32)


def without_key_biases(loss):
    """Gradients; those of key biases are zero but for rounding, so that there is nothing to compare."""
    def f(p, *args):
        g = jax.grad(loss)(p, *args)
        for b in g.get("blocks", [g]):
            del b["k"]["b"]
        return g
    return f


table("gpt", lambda: (gpt, (gpt_params(), tokens(2, 9))))
table("gpt_gradient", lambda: (without_key_biases(lambda p, t: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(gpt(p, t[:, :-1])), t[:, 1:, None], -1))), (gpt_params(), tokens(2, 9))), tol=1e-3)
table("gpt_layers_scanned", lambda: (lambda p, x: lax.scan(lambda h, q: (block(q, h), None), x, p)[0], (jax.tree.map(lambda *a: np.stack(a), block_params(), block_params(), block_params()), f32(2, 6, 16))))
table("gpt_rematerialised", lambda: (without_key_biases(lambda p, x: jnp.sum(jax.checkpoint(block)(p, x) ** 2)), (block_params(), f32(2, 6, 16))), tol=1e-3)


def greedy(params, prompt):
    def step(i, t):
        return t.at[:, i].set(jnp.argmax(gpt(params, t)[:, i - 1], -1).astype(t.dtype))
    return lax.fori_loop(prompt.shape[1], 12, step, jnp.pad(prompt, ((0, 0), (0, 12 - prompt.shape[1]))))


table("gpt_greedy_decoding", lambda: (greedy, (gpt_params(), tokens(2, 4))))


def rope(x, positions):
    d = x.shape[-1] // 2
    a = positions[:, None] * (10000.0 ** (-jnp.arange(d) / d))
    c, s = jnp.cos(a)[:, None], jnp.sin(a)[:, None]
    return jnp.concatenate([x[..., :d] * c - x[..., d:] * s, x[..., d:] * c + x[..., :d] * s], -1)


def llama_step(p, x, cache_k, cache_v, position):
    """One token through a grouped-query layer with a cache."""
    rms = lambda a: a * lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-6)  # noqa: E731
    h = rms(x)
    q, k, v = ((h @ p[n]).reshape(1, -1, 8) for n in ("wq", "wk", "wv"))
    q, k = rope(q, position[None]), rope(k, position[None])
    cache_k = lax.dynamic_update_slice(cache_k, k, (position, 0, 0))
    cache_v = lax.dynamic_update_slice(cache_v, v, (position, 0, 0))
    s = jnp.einsum("qgrd,kgd->grqk", q.reshape(1, 2, 2, 8), cache_k) / 8 ** 0.5
    s = jnp.where(jnp.arange(cache_k.shape[0]) <= position, s, -jnp.inf)
    o = jnp.einsum("grqk,kgd->qgrd", jax.nn.softmax(s, -1), cache_v).reshape(1, -1)
    x = x + o @ p["wo"]
    return x + (jax.nn.silu(rms(x) @ p["gate"]) * (rms(x) @ p["up"])) @ p["down"], cache_k, cache_v


table("llama_decode_step", lambda: (llama_step, (dict(wq=f32(32, 32, scale=.2), wk=f32(32, 16, scale=.2), wv=f32(32, 16, scale=.2), wo=f32(32, 32, scale=.2), gate=f32(32, 64, scale=.2), up=f32(32, 64, scale=.2), down=f32(64, 32, scale=.2)),
                                                 f32(1, 32), f32(10, 2, 8), f32(10, 2, 8), np.int32(4))))


def moe(p, x, k=2):
    w, i = lax.top_k(jax.nn.softmax(x @ p["router"]), k)
    gates = jnp.zeros((x.shape[0], p["up"].shape[0])).at[jnp.arange(x.shape[0])[:, None], i].set(w / w.sum(-1, keepdims=True))
    return jnp.einsum("te,tef->tf", gates, jnp.einsum("tef,efd->ted", jax.nn.gelu(jnp.einsum("td,edf->tef", x, p["up"])), p["down"]))


table("mixture_dense", lambda: (moe, (dict(router=f32(8, 4), up=f32(4, 8, 16, scale=.3), down=f32(4, 16, 8, scale=.3)), f32(10, 8))))


def moe_capacity(p, x, capacity=4):
    e = jnp.argmax(x @ p["router"], -1)
    hot = jax.nn.one_hot(e, 4)
    slot = (jnp.cumsum(hot, 0) - 1) * hot
    dispatch = jax.nn.one_hot(slot.sum(-1).astype(int), capacity) * (slot.sum(-1) < capacity)[:, None]
    d = jnp.einsum("te,tc->tec", hot, dispatch)
    y = jnp.einsum("ecd,edf->ecf", jnp.einsum("tec,td->ecd", d, x), p["up"])
    return jnp.einsum("tec,ecf->tf", d, jax.nn.relu(y))


table("mixture_capacity", lambda: (moe_capacity, (dict(router=f32(8, 4), up=f32(4, 8, 16, scale=.3)), f32(10, 8))))
table("mixture_sorted", lambda: (lambda p, x: (lambda e: (lambda o: lax.ragged_dot(x[o], p["up"], jnp.bincount(e, length=4).astype("int32"))[jnp.argsort(o)])(jnp.argsort(e)))(jnp.argmax(x @ p["router"], -1)), (dict(router=f32(8, 4), up=f32(4, 8, 16)), f32(10, 8))))


def lstm(p, x):
    def step(s, a):
        h, c = s
        i, f, g, o = jnp.split(apply(p["x"], a) + apply(p["h"], h), 4, -1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    z = jnp.zeros((x.shape[1], 8))
    return lax.scan(step, (z, z), x)


table("lstm", lambda: (lstm, (dict(x=dense(5, 32), h=dense(8, 32)), f32(7, 3, 5))))
table("lstm_gradient", lambda: (jax.grad(lambda p, x: jnp.sum(lstm(p, x)[1] ** 2)), (dict(x=dense(5, 32), h=dense(8, 32)), f32(7, 3, 5))), tol=1e-3)
table("gru_bidirectional", lambda: (lambda p, x: [lax.scan(lambda h, a: (lambda z, r: (lambda n: (z * h + (1 - z) * n,) * 2)(jnp.tanh(apply(p["n"], jnp.concatenate([a, r * h], -1)))))(*jnp.split(jax.nn.sigmoid(apply(p["zr"], jnp.concatenate([a, h], -1))), 2, -1)), jnp.zeros((3, 8)), x, reverse=r)[1] for r in (False, True)],
                                    (dict(zr=dense(13, 16), n=dense(13, 8)), f32(7, 3, 5))))


def ssm(a, b, c, delta, x):
    da = jnp.exp(delta[..., None] * a)
    db = delta[..., None] * b[:, None, :] * x[..., None]
    h = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (da, db))[1]
    return jnp.einsum("tdn,tn->td", h, c)


table("state_space_model", lambda: (ssm, (-np.exp(f32(6, 4)), f32(9, 4), f32(9, 4), np.abs(f32(9, 6)), f32(9, 6))))
table("linear_attention", lambda: (lambda q, k, v: lax.scan(lambda s, t: (s + jnp.outer(t[1], t[2]), t[0] @ (s + jnp.outer(t[1], t[2]))), jnp.zeros((4, 5)), (q, k, v)), (f32(8, 4), f32(8, 4), f32(8, 5))))


def resnet(p, x):
    conv = lambda a, w, s=1: lax.conv_general_dilated(a, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # noqa: E731
    bn = lambda a, q: (a - q["m"]) * lax.rsqrt(q["v"] + 1e-5) * q["g"] + q["b"]  # noqa: E731
    x = jax.nn.relu(bn(conv(x, p["stem"], 2), p["bn0"]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    y = jax.nn.relu(bn(conv(x, p["c1"]), p["bn1"]))
    x = jax.nn.relu(x + bn(conv(y, p["c2"]), p["bn2"]))
    return apply(p["head"], x.mean((1, 2)))


def bn_params(c):
    return dict(m=f32(c), v=np.abs(f32(c)) + .5, g=f32(c), b=f32(c))


def resnet_params():
    return dict(stem=f32(3, 3, 3, 8, scale=.2), c1=f32(3, 3, 8, 8, scale=.1), c2=f32(3, 3, 8, 8, scale=.1), head=dense(8, 10), bn0=bn_params(8), bn1=bn_params(8), bn2=bn_params(8))


table("resnet", lambda: (resnet, (resnet_params(), f32(2, 16, 16, 3))))
table("resnet_gradient", lambda: (jax.grad(lambda p, x: jnp.sum(jnp.tanh(resnet(p, x)))), (resnet_params(), f32(2, 16, 16, 3))), tol=1e-3)
table("batch_norm_training", lambda: (lambda x, g, b, m, v: (lambda mu, s: (g * (x - mu) * lax.rsqrt(s + 1e-5) + b, .9 * m + .1 * mu, .9 * v + .1 * s))(x.mean((0, 1, 2)), x.var((0, 1, 2))), (f32(2, 5, 5, 4), f32(4), f32(4), f32(4), np.abs(f32(4)))))
table("vit_patches", lambda: (lambda p, x: block(p["b"], (x.reshape(2, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 16, 48) @ p["patch"])), (dict(patch=f32(48, 16, scale=.1), b=block_params()), f32(2, 16, 16, 3))))
table("unet_step", lambda: (lambda x, w1, w2, t: (lambda conv: (lambda d: conv(jnp.concatenate([jax.image.resize(d, x.shape[:3] + (8,), "nearest"), x], -1), w2))(jax.nn.silu(conv(x, w1)[:, ::2, ::2] * jnp.sin(t))))(lambda a, w: lax.conv_general_dilated(a, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))), (f32(1, 8, 8, 4), f32(3, 3, 4, 8, scale=.2), f32(3, 3, 12, 4, scale=.2), np.float32(0.3))))
table("graph_network", lambda: (lambda x, e, w: (lambda m: jax.nn.relu(x @ w + jax.ops.segment_sum(m, e[1], 6)))(x[e[0]] @ w), (f32(6, 5), tokens(2, 14, high=6), f32(5, 5))))
table("graph_attention", lambda: (lambda x, e, w, a: (lambda h: (lambda s: (lambda p: jax.ops.segment_sum(p[:, None] * h[e[0]], e[1], 6) / (jax.ops.segment_sum(p, e[1], 6)[:, None] + 1e-6))(jnp.exp(s - jax.ops.segment_max(s, e[1], 6)[e[1]])))(jax.nn.leaky_relu(jnp.concatenate([h[e[0]], h[e[1]]], -1) @ a)))(x @ w), (f32(6, 5), tokens(2, 14, high=6), f32(5, 4), f32(8))))
table("variational_autoencoder", lambda: (lambda p, x, seed: (lambda h: (lambda m, s: (lambda z: (jax.nn.sigmoid(apply(p["dec"], z)), -0.5 * jnp.sum(1 + s - m ** 2 - jnp.exp(s))))(m + jnp.exp(s / 2) * jax.random.normal(jax.random.key(seed), m.shape)))(*jnp.split(h, 2, -1)))(apply(p["enc"], x)), (dict(enc=dense(8, 6), dec=dense(3, 8)), f32(4, 8), np.int32(1))))
table("dropout_training", lambda: (lambda k, x, w: jnp.where(jax.random.bernoulli(k, 0.8, x.shape), x / 0.8, 0) @ w, (np.array([0, 7], np.uint32), f32(6, 8), f32(8, 4))))
table("word_vectors", lambda: (lambda e, c, n: -jnp.mean(jax.nn.log_sigmoid(jnp.sum(e[c] * e[n[:, 0]], -1)) + jnp.sum(jax.nn.log_sigmoid(-jnp.einsum("bd,bnd->bn", e[c], e[n[:, 1:]])), -1)), (f32(30, 8), tokens(6, high=30), tokens(6, 4, high=30))))

# ---- optimisers, solvers, samplers ----

table("adam_loop", lambda: (lambda x0: lax.fori_loop(0, 50, lambda i, s: (lambda g, m, v: (s[0] - 0.1 * (m / (1 - 0.9 ** (i + 1.0))) / (jnp.sqrt(v / (1 - 0.999 ** (i + 1.0))) + 1e-8), m, v))(*(lambda g: (g, 0.9 * s[1] + 0.1 * g, 0.999 * s[2] + 0.001 * g * g))(jax.grad(lambda x: jnp.sum((x - 3) ** 2) + jnp.sum(jnp.cos(x)))(s[0]))), (x0, x0 * 0, x0 * 0)), (f32(5),)), tol=1e-3)
for name in ["sgd", "adam", "adamw", "lamb", "rmsprop", "adagrad", "lion", "adafactor", "radam", "yogi"]:
    def optax_step(name=name):
        import optax
        o = getattr(optax, name)(0.01) if name != "sgd" else optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9, nesterov=True))
        p = mlp_params()
        def step(p, s, x, y):  # noqa: E306
            loss, g = jax.value_and_grad(lambda q: jnp.mean((mlp(q, x) - y) ** 2))(p)
            u, s = o.update(g, s, p)
            return optax.apply_updates(p, u), s, loss
        return step, (p, jax.jit(o.init)(p), f32(5, 8), f32(5, 4))
    table("optax_" + name, optax_step, tol=1e-3)


def optax_losses():
    import optax
    return (lambda x, y, i: (optax.softmax_cross_entropy_with_integer_labels(x, i), optax.huber_loss(x, y), optax.cosine_similarity(x, y), optax.sigmoid_binary_cross_entropy(x, jax.nn.sigmoid(y)),
                             optax.smooth_labels(jax.nn.one_hot(i, 6), .1), optax.cosine_decay_schedule(1., 100)(i), optax.warmup_cosine_decay_schedule(0., 1., 3, 9)(i),
                             optax.ctc_loss(x[None], jnp.zeros((1, 5)), i[None, :3] % 5 + 1, jnp.zeros((1, 3))))), (f32(5, 6), f32(5, 6), tokens(5, high=6))


table("optax_losses", optax_losses, tol=1e-3)


def lbfgs():
    from jax.scipy.optimize import minimize
    return (lambda x: minimize(lambda v: jnp.sum((v - jnp.arange(4.0)) ** 2) + jnp.sum(v[1:] * v[:-1]) * 0.1, x, method="BFGS").x), (f32(4),)


table("bfgs", lbfgs, tol=2e-3)


def ode():
    from jax.experimental.ode import odeint
    return (lambda y, t, a: odeint(lambda y, t, a: jnp.array([y[1], -a * y[0] - 0.1 * y[1]]), y, t, a)), (f32(2), np.linspace(0, 3, 7).astype(np.float32), np.float32(2.0))


def ode_gradient():
    f, args = ode()
    return jax.grad(lambda y, t, a: jnp.sum(f(y, t, a) ** 2), (0, 2)), args


table("odeint", ode, tol=2e-3)
table("odeint_gradient", ode_gradient, tol=5e-3)
table("runge_kutta", lambda: (lambda y: lax.scan(lambda s, _: (lambda f, h: (lambda k1: (lambda k2: (lambda k3: (lambda k4: ((s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)),) * 2)(f(s + h * k3)))(f(s + h / 2 * k2)))(f(s + h / 2 * k1)))(f(s)))(lambda v: jnp.array([10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]]), 0.01), y, None, length=30), (f32(3),)), tol=1e-3)
table("heat_equation", lambda: (lambda u: lax.fori_loop(0, 20, lambda i, a: a + 0.1 * (jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1) - 4 * a), u), (f32(12, 12),)))
table("game_of_life", lambda: (lambda g: lax.fori_loop(0, 8, lambda i, a: (lambda n: ((n == 3) | ((n == 2) & (a == 1))).astype(a.dtype))(sum(jnp.roll(a, (x, y), (0, 1)) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y)), g), ((f32(10, 10) > 0).astype(np.int32),)))
table("mandelbrot", lambda: (lambda x, y: lax.fori_loop(0, 15, lambda i, s: (lambda z: (z, s[1] + (jnp.abs(z) < 2)))(jnp.where(jnp.abs(s[0]) < 2, s[0] ** 2 + (x[None] + 1j * y[:, None]), s[0])), (jnp.zeros((8, 9), "complex64"), jnp.zeros((8, 9), "int32"))), (np.linspace(-2, .5, 9).astype(np.float32), np.linspace(-1, 1, 8).astype(np.float32))), tol=1e-3)
table("metropolis", lambda: (lambda seed: lax.scan(lambda s, k: (lambda p: (lambda ok: (jnp.where(ok, p, s),) * 2)(jnp.log(jax.random.uniform(k)) < (s ** 2 - p ** 2).sum() / 2))(s + jax.random.normal(jax.random.fold_in(k, 1), s.shape)), jnp.zeros(2), jax.random.split(jax.random.key(seed), 30)), (np.int32(0),)), tol=1e-3)
table("hamiltonian_monte_carlo", lambda: (lambda q, p: lax.fori_loop(0, 10, lambda i, s: (lambda h: (lambda x: (x, h - .05 * jax.grad(lambda v: jnp.sum(v ** 4))(x)))(s[0] + .1 * h))(s[1] - .05 * jax.grad(lambda v: jnp.sum(v ** 4))(s[0])), (q, p)), (f32(4), f32(4))), tol=1e-3)
table("k_means", lambda: (lambda x, c: lax.fori_loop(0, 6, lambda i, m: (lambda a: jax.ops.segment_sum(x, a, 3) / jnp.maximum(jax.ops.segment_sum(jnp.ones(20), a, 3), 1)[:, None])(jnp.argmin(((x[:, None] - m) ** 2).sum(-1), 1)), c), (f32(20, 2), f32(3, 2))))
table("viterbi", lambda: (lambda t, e: (lambda s, b: lax.scan(lambda k, r: (r[k],) * 2, jnp.argmax(s), b, reverse=True))(*lax.scan(lambda s, o: (lambda m: (m.max(0) + o, m.argmax(0)))(s[:, None] + t), e[0], e[1:])), (f32(4, 4), f32(9, 4))))
table("forward_backward", lambda: (jax.value_and_grad(lambda t, e: jax.nn.logsumexp(lax.scan(lambda s, o: (jax.nn.logsumexp(s[:, None] + t, 0) + o, None), e[0], e[1:])[0]), (0, 1)), (f32(4, 4), f32(9, 4))), tol=1e-3)
table("edit_distance", lambda: (lambda a, b: lax.scan(lambda row, x: (lambda r: (r, None))(jnp.concatenate([row[:1] + 1, lax.scan(lambda left, t: ((lambda v: (v, v))(jnp.minimum(jnp.minimum(left + 1, t[1] + 1), t[0] + (x != t[2])))), row[0] + 1, (row[:-1], row[1:], b))[1]])), jnp.arange(8), a)[0][-1], (tokens(6, high=4), tokens(7, high=4))))
table("beam_search_step", lambda: (lambda lp, s: (lambda v, i: (v, i // 20, i % 20))(*lax.top_k((s[:, :, None] + jax.nn.log_softmax(lp)).reshape(2, -1), 3)), (f32(2, 3, 20), f32(2, 3))))
table("nucleus_sampling", lambda: (lambda l, k: (lambda i, p: jnp.take_along_axis(i, jax.random.categorical(jax.random.wrap_key_data(k), jnp.where(jnp.cumsum(p, -1) - p < .8, jnp.log(p), -jnp.inf))[:, None], -1))(jnp.argsort(-l), jnp.sort(jax.nn.softmax(l))[:, ::-1]), (f32(3, 20), np.array([0, 3], np.uint32))))
table("non_max_suppression", lambda: (lambda b, s: (lambda o: (lambda q: lax.fori_loop(0, 12, lambda i, keep: keep & (~((lambda tl, br: (lambda w: w / ((q[i, 2] - q[i, 0]) * (q[i, 3] - q[i, 1]) + (q[:, 2] - q[:, 0]) * (q[:, 3] - q[:, 1]) - w))(jnp.prod(jnp.maximum(br - tl, 0), -1)))(jnp.maximum(q[i, :2], q[:, :2]), jnp.minimum(q[i, 2:], q[:, 2:])) > .4) | (jnp.arange(12) <= i) | ~keep[i]), jnp.ones(12, bool)))(b[o]))(jnp.argsort(-s)), (np.concatenate([np.abs(f32(12, 2)), np.abs(f32(12, 2)) + 1], 1), f32(12))))
table("quantised_linear", lambda: (lambda x, q, s: (lambda sx: lax.dot_general(jnp.clip(jnp.round(x / sx), -127, 127).astype("int8"), q, (((1,), (0,)), ((), ())), preferred_element_type="int32").astype("float32") * sx * s)(jnp.max(jnp.abs(x), -1, keepdims=True) / 127), (f32(4, 8), rng.integers(-127, 127, (8, 6)).astype(np.int8), np.abs(f32(6)) / 100)))
table("int4_weights", lambda: (lambda x, q, s: x @ (q.astype("float32") * s), (f32(4, 8), jnp.asarray(rng.integers(-7, 7, (8, 6))).astype("int4"), np.abs(f32(6)))))
table("fp8_linear", lambda: (lambda x, w: lax.dot_general(x.astype("float8_e4m3fn"), w.astype("float8_e4m3fn"), (((1,), (0,)), ((), ())), preferred_element_type="float32"), (f32(4, 8), f32(8, 6))), tol=1e-3)
table("bf16_block", lambda: (lambda p, x: block(p, x), (jax.tree.map(lambda a: jnp.asarray(a, "bfloat16"), block_params()), jnp.asarray(f32(2, 6, 16), "bfloat16"))), tol=5e-2)
def flash(q, k, v):
    def step(s, t):
        a = q @ t[0].T
        m = jnp.maximum(s[0], a.max(1))
        scale, p = jnp.exp(s[0] - m), jnp.exp(a - m[:, None])
        return (m, s[1] * scale[:, None] + p @ t[1], s[2] * scale + p.sum(1)), None
    _, o, n = lax.scan(step, (jnp.full(6, -jnp.inf), jnp.zeros((6, 5)), jnp.zeros(6)), (k.reshape(3, 4, 4), v.reshape(3, 4, 5)))[0]
    return o / n[:, None]


table("flash_attention_scan", lambda: (flash, (f32(6, 4), f32(12, 4), f32(12, 5))))
table("relative_positions", lambda: (lambda x, t: x + t[jnp.clip(jnp.arange(6)[:, None] - jnp.arange(6)[None] + 3, 0, 6)].transpose(2, 0, 1), (f32(2, 2, 6, 6), f32(7, 2))))
table("spline_network", lambda: (lambda x, g, c: jnp.einsum("big,iog->bo", jnp.exp(-((x[..., None] - g) * 2) ** 2), c), (f32(5, 3), np.linspace(-1, 1, 5).astype(np.float32), f32(3, 4, 5))))
table("sinkhorn", lambda: (lambda c: lax.fori_loop(0, 20, lambda i, s: (lambda a: a - jax.nn.logsumexp(a, 1, keepdims=True))(s - jax.nn.logsumexp(s, 0, keepdims=True)), c), (f32(6, 6),)))
table("normalising_flow", lambda: (lambda p, x: lax.fori_loop(0, 3, lambda i, s: (lambda a, b: (lambda t, u: (jnp.concatenate([b * jnp.exp(jnp.tanh(t)) + u, a], -1), s[1] + jnp.tanh(t).sum(-1)))(*jnp.split(apply(p, a), 2, -1)))(*jnp.split(s[0], 2, -1)), (x, jnp.zeros(4))), (dense(3, 6), f32(4, 6))))
table("physics_informed", lambda: (lambda p, x: jax.grad(lambda q: jnp.mean(jax.vmap(lambda t: (jax.grad(jax.grad(lambda a: jnp.sum(jnp.tanh(a * q["w"]) * q["b"])))(t) + jnp.sin(t)) ** 2)(x)))(p), (dict(w=f32(8), b=f32(8)), f32(10))), tol=1e-3)
table("neural_field", lambda: (lambda p, x: (lambda h: apply(p[1], jnp.sin(30 * apply(p[0], h))))(jnp.concatenate([f(x * 2.0 ** k) for k in range(4) for f in (jnp.sin, jnp.cos)], -1)), ([dense(16, 12), dense(12, 3)], f32(10, 2))), tol=3e-3)
table("ray_marching", lambda: (lambda d: lax.while_loop(lambda s: (s[1] < 40) & jnp.any(s[2] > 1e-3), lambda s: (lambda r: (s[0] + jnp.where(r > 1e-3, r, 0)[:, None] * d, s[1] + 1, r))(jnp.linalg.norm(s[0] - jnp.array([0., 0., 3.]), axis=-1) - 1), (jnp.zeros((5, 3)), 0, jnp.ones(5)))[0], ((lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True))(f32(5, 3) * [.2, .2, 1] + [0, 0, 2]).astype(np.float32),)), tol=1e-3)


# ---- Flax ----

def flax(make, *args, method="__call__", train=None):
    import flax.linen as nn
    module = make(nn)
    variables = jax.jit(functools.partial(module.init))(jax.random.key(0), *args)
    return (lambda v, *a: module.apply(v, *a)), (variables,) + args


FLAX = {
    "dense": lambda: flax(lambda nn: nn.Sequential([nn.Dense(16), nn.relu, nn.LayerNorm(), nn.Dense(4)]), f32(5, 8)),
    "conv": lambda: flax(lambda nn: nn.Sequential([nn.Conv(8, (3, 3)), nn.relu, lambda x: nn.avg_pool(x, (2, 2), (2, 2)), nn.Conv(4, (3, 3), strides=2, feature_group_count=4), nn.GroupNorm(2)]), f32(2, 8, 8, 3)),
    "conv_transpose": lambda: flax(lambda nn: nn.ConvTranspose(5, (3, 3), strides=(2, 2)), f32(1, 5, 5, 3)),
    "attention": lambda: flax(lambda nn: nn.MultiHeadDotProductAttention(num_heads=2), f32(2, 6, 8), f32(2, 6, 8)),
    "batch_norm": lambda: flax(lambda nn: nn.BatchNorm(use_running_average=True), f32(4, 6)),
    "lstm": lambda: flax(lambda nn: nn.RNN(nn.OptimizedLSTMCell(6)), f32(2, 7, 5)),
    "gru_reversed": lambda: flax(lambda nn: nn.RNN(nn.GRUCell(6), reverse=True, keep_order=True), f32(2, 7, 5)),
    "conv_lstm": lambda: flax(lambda nn: nn.RNN(nn.ConvLSTMCell(4, (3, 3))), f32(1, 3, 5, 5, 2)),
    "embed": lambda: flax(lambda nn: nn.Embed(20, 6), tokens(3, 4, high=20)),
    "norms": lambda: flax(lambda nn: nn.Sequential([nn.RMSNorm(), nn.InstanceNorm(), nn.WeightNorm(nn.Dense(5)), nn.PReLU()]), f32(3, 4, 6)),
    "einsum": lambda: flax(lambda nn: nn.Einsum((4, 5), "btd,de->bte"), f32(2, 3, 4)),
    "spectral_norm": lambda: flax(lambda nn: nn.DenseGeneral((3, 4), axis=(-2, -1)), f32(2, 5, 6)),
}
for k, make in FLAX.items():
    table("flax_" + k, make)


def nnx_pure():
    from flax import nnx

    class Net(nnx.Module):  # noqa: E306
        def __init__(self, rngs):
            self.a, self.n, self.b = nnx.Linear(8, 16, rngs=rngs), nnx.LayerNorm(16, rngs=rngs), nnx.Linear(16, 4, rngs=rngs)

        def __call__(self, x):
            return self.b(nnx.gelu(self.n(self.a(x))))
    net = Net(nnx.Rngs(0))
    return (lambda x: net(x)), (f32(5, 8),)


table("flax_nnx", nnx_pure)
