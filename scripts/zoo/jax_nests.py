"""Layers of Flax with what decorates them, optimisers of Optax in loops, control flow within control flow, solvers."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import optax
from jax import lax
from jax.experimental.ode import odeint

from common import Table

table = Table()
rng = np.random.default_rng(77)
KEY = np.array([3, 8], np.uint32)
C = optax.contrib


def f32(*s, scale=1.0):
    return (rng.standard_normal(s) * scale).astype(np.float32)


def f64(*s):
    return rng.standard_normal(s)


def key(k):
    return jax.random.wrap_key_data(k)



# ---------------- flax linen
def linen(name, module, *xs, method=None, train=False, mutable=False, grad=True, tol=None, rngs=None):
    def make():
        variables = module.init({"params": jax.random.key(0), "dropout": jax.random.key(1), **(rngs or {})}, *xs)
        def run(v, *a):
            if mutable:
                return module.apply(v, *a, mutable=True)
            return module.apply(v, *a)
        def f(v, *a):
            out = run(v, *a)
            if not grad: return out
            def loss(p):
                o = run({**v, "params": p}, *a)
                return sum(jnp.sum(jnp.sin(t.astype(jnp.float32))) for t in jax.tree.leaves(o[0] if mutable else o))
            return out, jax.grad(loss)(v["params"])
        return f, (variables,) + xs
    table(name, make, **({"tol": tol} if tol else {}))

class ResBlock(nn.Module):
    c: int; stride: int = 1
    @nn.compact
    def __call__(self, x, train=True):
        y = nn.Conv(self.c, (3, 3), (self.stride,) * 2, use_bias=False)(x)
        y = nn.BatchNorm(use_running_average=not train)(y)
        y = nn.relu(y)
        y = nn.Conv(self.c, (3, 3), use_bias=False)(y)
        y = nn.GroupNorm(2)(y)
        if x.shape != y.shape:
            x = nn.Conv(self.c, (1, 1), (self.stride,) * 2)(x)
        return nn.relu(x + y)
class Res(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(4, (7, 7), (2, 2), padding=[(3, 3), (3, 3)])(x)
        x = nn.max_pool(x, (3, 3), (2, 2), "SAME")
        x = ResBlock(4)(x); x = ResBlock(8, 2)(x)
        return nn.Dense(3)(x.mean((1, 2)))
linen("linen_resnet", Res(), f32(2, 17, 19, 3), mutable=True, tol=1e-3)
class Enc(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        for _ in range(2):
            y = nn.LayerNorm()(x)
            y = nn.MultiHeadDotProductAttention(2, qkv_features=8, normalize_qk=True)(y, mask=mask)
            x = x + y
            y = nn.RMSNorm()(x)
            y = nn.Dense(16)(y); y = nn.gelu(y, approximate=False); y = nn.Dense(8)(y)
            x = x + y
        return x
linen("linen_encoder", Enc(), f32(2, 5, 8), nn.make_causal_mask(np.ones((2, 5))), tol=1e-3)
class Decode(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.MultiHeadDotProductAttention(2, qkv_features=8, decode=True)(x)
def decode():
    m = Decode()
    v = m.init(jax.random.key(0), jnp.zeros((2, 6, 8)))
    def f(v, xs):
        def step(cache, x):
            y, new = m.apply({"params": v["params"], "cache": cache}, x, mutable=["cache"])
            return new["cache"], y
        return lax.scan(step, v["cache"], xs)
    return f, (v, f32(6, 2, 1, 8))
table("linen_cache_scan", decode)
class ScanLayers(nn.Module):
    @nn.compact
    def __call__(self, x):
        class Block(nn.Module):
            @nn.compact
            def __call__(self, c, _):
                return c + nn.Dense(8)(jnp.tanh(nn.Dense(16)(nn.LayerNorm()(c)))), c.sum()
        return nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=4)()(x, None)
linen("linen_scanned_remat", ScanLayers(), f32(3, 8), tol=1e-3)
class Rnns(nn.Module):
    @nn.compact
    def __call__(self, x, lengths):
        a = nn.RNN(nn.OptimizedLSTMCell(5))(x, seq_lengths=lengths)
        b = nn.Bidirectional(nn.RNN(nn.GRUCell(4)), nn.RNN(nn.GRUCell(4)))(x, seq_lengths=lengths)
        c = nn.RNN(nn.MGUCell(3), reverse=True, keep_order=True)(x)
        d = nn.RNN(nn.SimpleCell(3), return_carry=True)(x)
        return a, b, c, d
linen("linen_rnns_lengths", Rnns(), f32(3, 7, 4), np.array([7, 3, 1], np.int32), tol=1e-3)
class ConvZoo(nn.Module):
    @nn.compact
    def __call__(self, x):
        a = nn.ConvTranspose(3, (3, 2), (2, 3), "VALID")(x)
        b = nn.ConvTranspose(3, (4, 4), (2, 2), "SAME", transpose_kernel=True)(x)
        c = nn.ConvLocal(2, (2, 2))(x)
        d = nn.Conv(6, (3, 3), feature_group_count=2, kernel_dilation=2, padding="CIRCULAR")(x)
        e = nn.Conv(4, (3,), padding="CAUSAL")(x[:, 0])
        f = nn.WeightNorm(nn.Dense(3))(x)
        g = nn.Conv(2, (2, 2), padding="REFLECT")(x)
        h = nn.InstanceNorm()(x)
        return a, b, c, d, e, f, g, h
linen("linen_convs", ConvZoo(), f32(2, 6, 5, 4), tol=1e-3)
class Drop(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dropout(0.3, deterministic=False)(x)
        x = nn.Dropout(0.4, broadcast_dims=(1,), deterministic=False)(x)
        return nn.Dense(4, dtype=jnp.bfloat16)(x)
def dropout():
    m = Drop(); x = f32(4, 6)
    v = m.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)
    return (lambda v, x, k: jax.value_and_grad(lambda p: m.apply({"params": p}, x, rngs={"dropout": key(k)}).astype(jnp.float32).sum())(v["params"])), (v, x, KEY)
table("linen_dropout_rng", dropout)
class VmapEnsemble(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.vmap(nn.Dense, in_axes=None, out_axes=0, axis_size=3, variable_axes={"params": 0}, split_rngs={"params": True})(5)(x)
linen("linen_vmapped", VmapEnsemble(), f32(4, 6))
class MixtureOfExperts(nn.Module):
    experts: int = 4; k: int = 2; capacity: int = 3
    @nn.compact
    def __call__(self, x):
        t, d = x.shape
        logits = nn.Dense(self.experts, use_bias=False)(x)
        probs = jax.nn.softmax(logits)
        gate, idx = lax.top_k(probs, self.k)
        gate = gate / gate.sum(-1, keepdims=True)
        onehot = jax.nn.one_hot(idx, self.experts, dtype=jnp.int32)
        pos = jnp.cumsum(onehot.reshape(t * self.k, -1), 0).reshape(t, self.k, -1) * onehot - 1
        keep = (pos < self.capacity) & (pos >= 0)
        disp = jax.nn.one_hot(jnp.where(keep, pos, self.capacity), self.capacity, dtype=x.dtype) * onehot[..., None]
        comb = (disp * gate[..., None, None]).sum(1)
        w1 = self.param("w1", nn.initializers.lecun_normal(), (self.experts, d, 16))
        w2 = self.param("w2", nn.initializers.lecun_normal(), (self.experts, 16, d))
        xin = jnp.einsum("td,tkec->ecd", x, disp)
        h = jax.nn.silu(jnp.einsum("ecd,edf->ecf", xin, w1))
        y = jnp.einsum("ecf,efd->ecd", h, w2)
        aux = (probs.mean(0) * onehot.sum(1).mean(0)).sum() * self.experts
        return jnp.einsum("ecd,tec->td", y, comb), aux
linen("moe_capacity_grad", MixtureOfExperts(), f32(10, 6), tol=1e-3)
def moe_sorted(x, router, w1, w2):
    t, d = x.shape; e = w1.shape[0]; k = 2
    gate, idx = lax.top_k(jax.nn.softmax(x @ router), k)
    flat = idx.reshape(-1)
    order = jnp.argsort(flat, stable=True)
    sizes = jnp.bincount(flat, length=e)
    xs = x[order // k]
    h = jax.nn.gelu(lax.ragged_dot(xs, w1, sizes.astype(jnp.int32)))
    y = lax.ragged_dot(h, w2, sizes.astype(jnp.int32))
    y = y * gate.reshape(-1)[order][:, None]
    return jnp.zeros_like(x).at[order // k].add(y)
table("moe_ragged_grad", lambda: (jax.value_and_grad(lambda x, r, a, b: jnp.sum(jnp.sin(moe_sorted(x, r, a, b))), (0, 1, 2, 3)), (f32(9, 4), f32(4, 3), f32(3, 4, 8), f32(3, 8, 4))), tol=1e-3)

# ---------------- optax
def quad(p):
    return jnp.sum(jnp.square(p["a"] @ p["b"] - 1)) + jnp.sum(jnp.abs(p["c"])) + 0.1 * jnp.sum(p["a"] ** 4)
def optimiser(name, make_opt, steps=6, extra=False, avg=None, tol=1e-3):
    def make():
        opt = make_opt()
        params = {"a": f32(4, 3), "b": f32(3, 5), "c": f32(7)}
        def f(p):
            s = opt.init(p)
            def step(carry, _):
                p, s = carry
                l, g = jax.value_and_grad(quad)(p)
                u, s = opt.update(g, s, p, **({"value": l, "grad": g, "value_fn": quad} if extra else {}))
                return (optax.apply_updates(p, u), s), l
            (p, s), ls = lax.scan(step, (p, s), None, length=steps)
            return p, ls, (avg(s, p) if avg else None)
        return f, (params,)
    table("optax_" + name, make, tol=tol)
optimiser("schedule_free_sgd", lambda: C.schedule_free_sgd(0.05, warmup_steps=2), avg=lambda s, p: C.schedule_free_eval_params(s, p))
optimiser("schedule_free_adamw", lambda: C.schedule_free_adamw(0.05, warmup_steps=3, weight_decay=0.1), avg=lambda s, p: C.schedule_free_eval_params(s, p))
optimiser("lion_mask", lambda: optax.lion(optax.cosine_decay_schedule(0.1, 5), mask={"a": True, "b": False, "c": True}))
optimiser("adafactor_wide", lambda: optax.adafactor(0.05, min_dim_size_to_factor=2, momentum=0.9, weight_decay_rate=1e-2, dtype_momentum=jnp.bfloat16), tol=2e-2)
optimiser("lamb_warm", lambda: optax.lamb(optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 6), weight_decay=0.01))
optimiser("prodigy", lambda: C.prodigy(0.1))
optimiser("dadapt", lambda: C.dadapt_adamw(0.1))
optimiser("dowg", lambda: C.dowg(0.5))
optimiser("mechanize", lambda: C.mechanize(optax.adam(0.1)))
optimiser("cocob", lambda: C.cocob(1.0))
optimiser("ademamix", lambda: C.ademamix(0.05))
optimiser("chain_clip_accumulate", lambda: optax.MultiSteps(optax.chain(optax.clip_by_global_norm(0.5), optax.add_noise(0.1, 0.5, 3), optax.scale_by_adam(), optax.add_decayed_weights(1e-2), optax.scale_by_schedule(optax.linear_onecycle_schedule(10, 0.1)), optax.scale(-1)), 2))
optimiser("plateau", lambda: optax.chain(optax.sgd(0.1, 0.9, nesterov=True), C.reduce_on_plateau(0.5, patience=1, cooldown=1)), extra=True)
optimiser("ema_lookahead_zero_nans", lambda: optax.chain(optax.zero_nans(), optax.centralize(), optax.scale_by_rss(), optax.trace(0.8), optax.ema(0.7), optax.scale(-0.1)))
optimiser("multi_transform", lambda: optax.multi_transform({"x": optax.adamw(0.1), "y": optax.sgd(0.1), "z": optax.set_to_zero()}, {"a": "x", "b": "y", "c": "z"}))
optimiser("apply_if_finite", lambda: optax.apply_if_finite(optax.chain(optax.adaptive_grad_clip(0.1), optax.rmsprop(0.05, centered=True, momentum=0.9)), 3))
optimiser("linesearch_backtrack", lambda: optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=8)), extra=True, steps=3)
optimiser("lbfgs_zoom", lambda: optax.lbfgs(memory_size=4), extra=True, steps=3, tol=1e-2)
optimiser("shampoo_like_muon", lambda: C.muon(0.05))
optimiser("sam", lambda: C.sam(optax.sgd(0.1), optax.chain(C.normalize(), optax.sgd(0.05)), sync_period=2))
optimiser("galore_or_momo", lambda: C.momo_adam(0.1), extra=True)
optimiser("simplified_ademamix", lambda: C.simplified_ademamix(0.05))
optimiser("adagrad_amsgrad", lambda: optax.chain(optax.scale_by_amsgrad(), optax.scale_by_rms(), optax.scale(-0.05)))

# ---------------- control flow nests
def nest1(x, n):
    def body(i, c):
        def wcond(s): return (s[0] < i % 4) & (jnp.sum(s[1]) < 50)
        def wbody(s): return s[0] + 1, lax.cond(s[1][0] > 0, lambda v: v * 1.1, lambda v: -v + 0.2, s[1])
        _, v = lax.while_loop(wcond, wbody, (0, c))
        return lax.switch(i % 3, [lambda u: u + 0.1, jnp.sin, lambda u: lax.scan(lambda a, b: (a + b, a), jnp.zeros(()), u)[1] * 0.5 + u], v)
    return lax.fori_loop(0, n, body, x)
table("nest_while_cond_switch", lambda: (nest1, (f32(5), np.int32(9))))
table("nest_vmap", lambda: (jax.vmap(nest1, (0, 0)), (f32(4, 5), np.array([9, 0, 3, 6], np.int32))))
table("nest_grad_scan_cond", lambda: (jax.grad(lambda w, xs: lax.scan(lambda c, x: (lax.cond(jnp.sum(c) > 0, lambda c: jnp.tanh(w @ c + x), lambda c: jnp.sin(w @ c) - x, c), c.sum()), jnp.ones(4), xs)[1].sum()), (f32(4, 4), f32(6, 4))))
table("scan_of_scan_grad_hess", lambda: (jax.hessian(lambda w: lax.scan(lambda c, x: (lax.scan(lambda d, y: (jnp.tanh(d * w[0] + y * w[1]), None), c, jnp.arange(3.0))[0] + x * w[2], c), 0.1, jnp.linspace(0, 1, 4))[0]), (f32(3),)))
table("assoc_scan_tuple_grad", lambda: (jax.grad(lambda a, b: jnp.sum(jnp.cos(lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b), axis=1)[1]))), (f32(2, 11, 3, scale=0.5), f32(2, 11, 3))))
table("assoc_scan_matmul_rev", lambda: (lambda a: lax.associative_scan(lambda l, r: jnp.einsum("...ij,...jk->...ik", r, l), a, reverse=True), (f32(7, 3, 3, scale=0.6),)))
def gru_generate(wi, wh, emb, k):
    def step(c, _):
        h, tok, kk = c
        kk, sub = jax.random.split(kk)
        h = jnp.tanh(emb[tok] @ wi + h @ wh)
        logits = h @ emb.T
        t = jax.random.categorical(sub, logits / 0.7)
        return (h, t, kk), (t, jax.nn.log_softmax(logits)[jnp.arange(3), t])
    return lax.scan(step, (jnp.zeros((3, 8)), jnp.zeros(3, jnp.int32), key(k)), None, length=9)[1]
table("sample_loop", lambda: (gru_generate, (f32(8, 8), f32(8, 8, scale=.3), f32(12, 8), KEY)))
def beam(logp, emb):
    b = 3; v = logp.shape[0]
    def cond(s): return (s[0] < 6) & ~jnp.all(s[3])
    def body(s):
        i, seqs, scores, done = s
        lp = jax.nn.log_softmax(emb[seqs[:, i]] @ logp)
        lp = jnp.where(done[:, None], jnp.where(jnp.arange(v) == 0, 0.0, -1e9), lp)
        total = scores[:, None] + lp
        top, ix = lax.top_k(total.reshape(-1), b)
        parents, tok = ix // v, ix % v
        seqs = seqs[parents].at[:, i + 1].set(tok)
        return i + 1, seqs, top, done[parents] | (tok == 0)
    return lax.while_loop(cond, body, (0, jnp.ones((b, 8), jnp.int32), jnp.array([0.0, -1e9, -1e9]), jnp.zeros(b, bool)))
table("beam_while", lambda: (lambda e: beam(e.T, e), (f32(7, 7),)))
table("collatz_vmap_while", lambda: (jax.vmap(lambda n: lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))), (np.arange(1, 20).astype(np.int32),)))
table("custom_vjp_fixed_point", lambda: (lambda a, x: jax.grad(lambda a: jnp.sum(lax.custom_root(lambda z: jnp.tanh(a @ z + x) - z, jnp.zeros(4), lambda f, z0: lax.fori_loop(0, 40, lambda i, z: z + f(z), z0), lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y))))(a), (f32(4, 4, scale=.2), f32(4))))
table("linear_solve_custom", lambda: (lambda a, b: jax.grad(lambda a: jnp.sum(lax.custom_linear_solve(lambda v: a @ v + 5 * v, b, lambda mv, y: jsp.sparse.linalg.cg(mv, y, maxiter=12)[0], symmetric=True) ** 2))(a @ a.T), (f32(5, 5), f32(5))), tol=1e-3)

# ---------------- solvers
spd = lambda n: (lambda m: m @ m.T + n * np.eye(n, dtype=np.float32))(f32(n, n))
table("cg_precond", lambda: (lambda a, b: jsp.sparse.linalg.cg(a, b, M=lambda v: v / jnp.diag(a), maxiter=30, tol=1e-6)[0], (spd(8), f32(8))), tol=1e-3)
table("gmres_batched", lambda: (lambda a, b: (jsp.sparse.linalg.gmres(a, b, restart=6, maxiter=3, solve_method="batched")[0], jsp.sparse.linalg.gmres(a, b, solve_method="incremental", restart=8)[0]), (f32(8, 8) + 6 * np.eye(8, dtype=np.float32), f32(8))), tol=1e-3)
table("bicgstab_grad", lambda: (jax.grad(lambda a, b: jnp.sum(jsp.sparse.linalg.bicgstab(lambda v: a @ v, b, tol=1e-6)[0] ** 2), (0, 1)), (f32(6, 6) * .3 + 6 * np.eye(6, dtype=np.float32), f32(6))), tol=1e-3)
def rosen(x): return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
table("bfgs_rosen", lambda: (lambda x: jsp.optimize.minimize(rosen, x, method="BFGS", options=dict(maxiter=5)).x, (f64(3) * .1,)), x64=True, tol=1e-3)
table("odeint_system_grad", lambda: (lambda y0, w: jax.grad(lambda w: jnp.sum(odeint(lambda y, t, w: jnp.tanh(w @ y) * jnp.cos(t), y0, jnp.linspace(0.0, 1.0, 5), w, rtol=1e-5, atol=1e-6) ** 2))(w), (f32(3), f32(3, 3))), tol=2e-3)
table("odeint_vmap", lambda: (jax.vmap(lambda y0: odeint(lambda y, t: jnp.stack([y[1], -jnp.sin(y[0])]), y0, jnp.linspace(0.0, 3.0, 6))), (f32(4, 2),)), tol=1e-3)
table("newton_schulz_eigh_power", lambda: (lambda a: (lax.fori_loop(0, 12, lambda i, x: 1.5 * x - 0.5 * x @ x.T @ x, a / jnp.linalg.norm(a)), lax.fori_loop(0, 30, lambda i, v: (a @ v) / jnp.linalg.norm(a @ v), jnp.ones(5))), (spd(5),)))
