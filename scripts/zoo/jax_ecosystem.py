"""Programs of libraries built on JAX, each where it is installed: Equinox, Diffrax, Lineax, Optimistix, Haiku, NumPyro, BlackJAX,
JAXopt, RLax, Distrax, Jraph and e3nn-jax."""
import importlib.util
import os

os.environ.setdefault("EQX_ON_ERROR", "off")  # errors raised by callbacks of the host cannot be exported
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

from common import Table  # noqa: E402

table = Table()
rng = np.random.default_rng(11)
KEY = np.array([3, 7], np.uint32)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*shape, low=0, high=5):
    return rng.integers(low, high, shape).astype(np.int32)


def has(name):
    return importlib.util.find_spec(name) is not None


def add(library, name, make, **options):
    if has(library):
        options.setdefault("tol", 2e-3)
        table("%s_%s" % (library.replace("e3nn_jax", "e3nn"), name), make, **options)


def key(k):
    return jax.random.wrap_key_data(k)


# ---- Equinox ----

def equinox_module(make, *args, call=None):
    def program():
        import equinox as eqx

        m = make(eqx.nn, jax.random.key(0))
        arrays, static = eqx.partition(m, eqx.is_array)
        leaves, tree = jax.tree.flatten(arrays)

        def run(leaves, *a):
            m = eqx.combine(jax.tree.unflatten(tree, leaves), static)
            return call(m, *a) if call else m(*a)
        return run, leaves, *args
    return lambda: (lambda p: (p[0], tuple(p[1:])))(program())


EQUINOX = {
    "mlp": (lambda n, k: n.MLP(4, 3, 8, 2, key=k), (f32(4),)), "conv1d": (lambda n, k: n.Conv1d(3, 5, 3, 2, 1, key=k), (f32(3, 9),)), "conv2d": (lambda n, k: n.Conv2d(4, 6, 3, dilation=2, groups=2, key=k), (f32(4, 9, 8),)),
    "conv3d": (lambda n, k: n.Conv3d(2, 3, 2, key=k), (f32(2, 4, 5, 6),)), "conv_transpose2d": (lambda n, k: n.ConvTranspose2d(4, 6, 3, 2, 1, 1, key=k), (f32(4, 5, 6),)),
    "conv_circular": (lambda n, k: n.Conv2d(2, 3, 3, padding="SAME", padding_mode="CIRCULAR", key=k), (f32(2, 5, 6),)), "conv_reflect": (lambda n, k: n.Conv2d(2, 3, 3, padding=1, padding_mode="REFLECT", key=k), (f32(2, 5, 6),)),
    "gru": (lambda n, k: n.GRUCell(3, 4, key=k), (f32(3), f32(4))), "attention": (lambda n, k: n.MultiheadAttention(2, 8, use_query_bias=True, key=k), (f32(5, 8), f32(7, 8), f32(7, 8))),
    "layer_norm": (lambda n, k: n.LayerNorm(6), (f32(6),)), "group_norm": (lambda n, k: n.GroupNorm(2, 4), (f32(4, 5, 6),)), "rms_norm": (lambda n, k: n.RMSNorm(6), (f32(6),)), "prelu": (lambda n, k: n.PReLU(0.2), (f32(6),)),
    "adaptive_avg": (lambda n, k: n.AdaptiveAvgPool2d((3, 2)), (f32(2, 7, 8),)), "adaptive_max": (lambda n, k: n.AdaptiveMaxPool2d((3, 4)), (f32(2, 7, 8),)), "avg_pool": (lambda n, k: n.AvgPool2d(3, 2, 1, use_ceil=True), (f32(2, 7, 8),)),
    "max_pool": (lambda n, k: n.MaxPool2d(3, 2, 1, use_ceil=True), (f32(2, 8, 9),)), "max_pool3d": (lambda n, k: n.MaxPool3d(2, 2), (f32(2, 4, 5, 6),)), "rotary": (lambda n, k: n.RotaryPositionalEmbedding(8), (f32(6, 8),)),
}
for n, (make, args) in EQUINOX.items():
    add("equinox", n, equinox_module(make, *args))
add("equinox", "lstm", equinox_module(lambda n, k: n.LSTMCell(3, 4, key=k), f32(6, 3), call=lambda m, x: lax.scan(lambda s, a: (m(a, s),) * 2, (jnp.zeros(4), jnp.zeros(4)), x)[1]))
add("equinox", "grad", equinox_module(lambda n, k: n.MLP(4, 1, 8, 2, jax.nn.silu, key=k), f32(5, 4), call=lambda m, x: jax.grad(lambda a: jnp.sum(jax.vmap(m)(a) ** 2))(x)))
add("equinox", "bounded_while", lambda: (lambda x: __import__("equinox").internal.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, jnp.sin(s[1]) * 1.1), (0, x), max_steps=16, kind="bounded"), (f32(4),)))
add("equinox", "checkpointed_while_grad", lambda: (jax.grad(lambda x: jnp.sum(__import__("equinox").internal.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, jnp.sin(s[1]) * 1.1), (0, x), max_steps=16, kind="checkpointed")[1])), (f32(4),)))

# ---- Diffrax ----

def diffeq(solver, steps="constant", adjoint=False, saveat=None, **more):
    def make():
        import diffrax as d

        def solve(y, a):
            control = d.ConstantStepSize() if steps == "constant" else d.PIDController(rtol=1e-4, atol=1e-6)
            term = d.ODETerm(lambda t, y, a: jnp.stack([y[1], -a * y[0] - 0.1 * y[1] * jnp.cos(t)]))
            s = d.diffeqsolve(term, getattr(d, solver)(**more), 0.0, 2.0, 0.1, y, args=a, saveat=saveat(d) if saveat else d.SaveAt(ts=jnp.linspace(0, 2, 5)), stepsize_controller=control, max_steps=256, throw=False)
            return s.ys if saveat is None else [v for v in jax.tree.leaves(s.ys)]
        if adjoint:
            return jax.grad(lambda y, a: jnp.sum(solve(y, a) ** 2), (0, 1)), (f32(2), np.float32(1.5))
        return solve, (f32(2), np.float32(1.5))
    return make


for s in ["Euler", "Heun", "Midpoint", "Ralston", "Bosh3", "Tsit5", "Dopri5", "Dopri8", "LeapfrogMidpoint", "ReversibleHeun"]:
    add("diffrax", s.lower(), diffeq(s))
for s in ["Tsit5", "Dopri5", "Kvaerno3", "Kvaerno5", "ImplicitEuler"]:
    add("diffrax", s.lower() + "_adaptive", diffeq(s, "adaptive"), tol=5e-3)
add("diffrax", "adjoint", diffeq("Tsit5", "adaptive", True), tol=5e-3)
add("diffrax", "steps_saved", diffeq("Heun", saveat=lambda d: d.SaveAt(steps=True, t0=True)))
add("diffrax", "brownian", lambda: (lambda k: (lambda d: d.diffeqsolve(d.MultiTerm(d.ODETerm(lambda t, y, a: -y), d.ControlTerm(lambda t, y, a: 0.1 * jnp.ones(()), d.VirtualBrownianTree(0.0, 1.0, 0.05, (), key(k)))), d.EulerHeun(), 0.0, 1.0, 0.05, jnp.ones(()), saveat=d.SaveAt(ts=jnp.linspace(0, 1, 4))).ys)(__import__("diffrax")), (KEY,)))

# ---- Lineax, Optimistix, JAXopt ----

A = f32(5, 5)
SPD = A @ A.T + 5 * np.eye(5, dtype=np.float32)
for s in ["LU", "QR", "SVD", "CG", "GMRES", "BiCGStab", "Cholesky", "AutoLinearSolver"]:
    def lineax(s=s):
        import lineax as lx

        def run(a, b):
            more = {"rtol": 1e-5, "atol": 1e-5} if s in ("CG", "GMRES", "BiCGStab") else {"well_posed": None} if s[0] == "A" else {}
            tags = (lx.positive_semidefinite_tag, lx.symmetric_tag) if s in ("CG", "Cholesky") else ()
            return lx.linear_solve(lx.MatrixLinearOperator(a, tags), b, getattr(lx, s)(**more), throw=False).value
        return run, (SPD, f32(5))
    add("lineax", s.lower(), lineax)
add("lineax", "tridiagonal", lambda: (lambda d, l, u, b: (lambda lx: lx.linear_solve(lx.TridiagonalLinearOperator(d, l, u), b, throw=False).value)(__import__("lineax")), (f32(6) + 5, f32(5), f32(5), f32(6))))
add("lineax", "grad", lambda: (jax.grad(lambda a, b: (lambda lx: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.LU(), throw=False).value ** 2))(__import__("lineax")), (0, 1)), (SPD, f32(5))))


def optimistix(kind, solver, **more):
    def make():
        import optimistix as o

        f = {"root": lambda y, a: jnp.tanh(y) - a * jnp.sin(y) - 0.1, "fixed": lambda y, a: 0.5 * jnp.cos(y) + a * 0.1, "least": lambda y, a: (y - a) * jnp.arange(1.0, 4), "least_min": lambda y, a: jnp.sum((y - a) ** 2 * jnp.arange(1.0, 4))}[kind]
        solve = {"root": o.root_find, "fixed": o.fixed_point, "least": o.least_squares, "least_min": o.minimise}[kind]
        return (lambda y, a: solve(f, getattr(o, solver)(rtol=1e-5, atol=1e-5, **more), y, a, throw=False).value), (f32(3), np.abs(f32(3)) * 0.3)
    return make


for kind, solver in [("root", "Newton"), ("root", "Chord"), ("fixed", "FixedPointIteration"), ("least", "GaussNewton"), ("least", "LevenbergMarquardt"), ("least", "Dogleg"), ("least_min", "BFGS"), ("least_min", "NonlinearCG"), ("least_min", "NelderMead")]:
    add("optimistix", solver.lower(), optimistix(kind, solver), tol=1 if solver == "NelderMead" else 1e-2)  # the simplex takes another way after any rounding


def jaxopt(solver, **more):
    def make():
        import jaxopt as j

        x, y = f32(12, 3), f32(12)
        loss = lambda p, x, y: jnp.mean((x @ p - y) ** 2)  # noqa: E731
        if solver == "ProximalGradient":
            return (lambda p, x, y: j.ProximalGradient(loss, j.prox.prox_lasso, maxiter=30).run(p, 0.05, x, y).params), (np.zeros(3, np.float32), x, y)
        if solver == "ProjectedGradient":
            return (lambda p, x, y: j.ProjectedGradient(loss, j.projection.projection_non_negative, maxiter=30).run(p, None, x, y).params), (np.ones(3, np.float32), x, y)
        if solver in ("GaussNewton", "LevenbergMarquardt"):
            return (lambda p, x, y: getattr(j, solver)(lambda p, x, y: x @ p - y, maxiter=10).run(p, x, y).params), (np.zeros(3, np.float32), x, y)
        return (lambda p, x, y: getattr(j, solver)(loss, maxiter=20, **more).run(p, x, y).params), (np.zeros(3, np.float32), x, y)
    return make


for s in ["GradientDescent", "LBFGS", "BFGS", "NonlinearCG", "ProximalGradient", "ProjectedGradient", "GaussNewton", "LevenbergMarquardt"]:
    add("jaxopt", s.lower(), jaxopt(s), tol=1e-2)
add("jaxopt", "projections", lambda: (lambda x: (lambda p: (p.projection_simplex(x), p.projection_l2_ball(x, 0.5), p.projection_l1_ball(x, 0.7), p.projection_box(x, (-0.3, 0.4)), p.projection_transport(jnp.outer(x, x), (jnp.ones(5) / 5, jnp.ones(5) / 5))))(__import__("jaxopt").projection), (f32(5),)))
add("jaxopt", "losses", lambda: (lambda x, i: (lambda l: (jax.vmap(l.multiclass_logistic_loss)(i, x), jax.vmap(l.multiclass_sparsemax_loss)(i, x), jax.vmap(l.huber_loss)(x[:, 0], x[:, 1])))(__import__("jaxopt").loss), (f32(4, 5), ints(4))))
add("jaxopt", "implicit_grad", lambda: (jax.grad(lambda t: jnp.sum(__import__("jaxopt").GradientDescent(lambda p, t: jnp.sum((p - t) ** 2), maxiter=30, implicit_diff=True).run(jnp.zeros(3), t).params ** 2)), (f32(3),)), tol=1e-2)
add("jaxopt", "isotonic", lambda: (lambda x: __import__("jaxopt").isotonic.isotonic_l2_pav(x), (f32(6),)))

# ---- Haiku ----

def haiku(f, *args, state=False):
    def make():
        import haiku as hk

        t = hk.transform_with_state(lambda *a: f(hk, *a))
        p, s = t.init(jax.random.key(0), *args)
        return (lambda p, s, k, *a: t.apply(p, s, key(k), *a)), (jax.tree.map(np.asarray, p), jax.tree.map(np.asarray, s), KEY) + args
    return make


HAIKU = {
    "mlp": (lambda hk, x: hk.nets.MLP([8, 3])(x), f32(4, 5)), "dropout": (lambda hk, x: hk.dropout(hk.next_rng_key(), 0.3, hk.Linear(6)(x)), f32(4, 5)), "conv": (lambda hk, x: hk.Conv2D(4, 3, stride=2, padding="VALID")(x), f32(2, 7, 8, 3)),
    "conv_transpose": (lambda hk, x: hk.Conv2DTranspose(4, 3, stride=2)(x), f32(2, 5, 6, 3)), "depthwise": (lambda hk, x: hk.DepthwiseConv2D(2, 3)(x), f32(2, 7, 8, 3)), "separable": (lambda hk, x: hk.SeparableDepthwiseConv2D(2, 3)(x), f32(2, 7, 8, 3)),
    "batch_norm": (lambda hk, x: hk.BatchNorm(True, True, 0.9)(x, is_training=True), f32(6, 5)), "group_norm": (lambda hk, x: hk.GroupNorm(2)(x), f32(2, 5, 6, 4)), "instance_norm": (lambda hk, x: hk.InstanceNorm(True, True)(x), f32(2, 5, 6, 4)),
    "layer_norm": (lambda hk, x: hk.LayerNorm(-1, True, True)(x), f32(4, 6)), "rms_norm": (lambda hk, x: hk.RMSNorm(-1)(x), f32(4, 6)), "spectral": (lambda hk, x: hk.Linear(3)(x) + hk.SpectralNorm()(hk.get_parameter("w", (5, 3), init=hk.initializers.RandomNormal()))[0], f32(4, 5)),
    "lstm": (lambda hk, x: (lambda c: hk.dynamic_unroll(c, x, c.initial_state(2)))(hk.LSTM(6)), f32(5, 2, 4)), "gru_reset": (lambda hk, x: (lambda c: hk.dynamic_unroll(c, (x, jnp.zeros((5, 2), bool).at[2].set(True)), c.initial_state(2)))(hk.ResetCore(hk.GRU(6))), f32(5, 2, 4)),
    "conv_lstm": (lambda hk, x: (lambda c: hk.dynamic_unroll(c, x, c.initial_state(2)))(hk.Conv2DLSTM((5, 6), 3, 3)), f32(3, 2, 5, 6, 2)), "attention": (lambda hk, x: hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x, x, x), f32(5, 8)),
    "resnet": (lambda hk, x: hk.nets.ResNet([1, 1, 1, 1], 5, channels_per_group=(8, 8, 16, 16), bottleneck=False)(x, is_training=True), f32(2, 32, 32, 3)), "embed": (lambda hk, x: hk.Embed(9, 4)(jnp.abs(x * 3).astype(int) % 9), f32(3, 4)),
    "vqvae": (lambda hk, x: {k: v for k, v in hk.nets.VectorQuantizer(3, 5, 0.25)(x, False).items()}, f32(4, 3)), "vqvae_ema": (lambda hk, x: (lambda r: (r["quantize"], r["loss"]))(hk.nets.VectorQuantizerEMA(3, 5, 0.25, 0.9)(x, True)), f32(4, 3)),
    "bias_scan": (lambda hk, x: (lambda l: hk.scan(lambda c, a: (lambda y: (y, y))(l(c) + a), jnp.zeros(4), x)[1])(hk.Linear(4)), f32(5, 4)), "pools": (lambda hk, x: (hk.max_pool(x, 3, 2, "SAME"), hk.avg_pool(x, 3, 2, "SAME"), hk.AvgPool((1, 2, 2, 1), (1, 1, 1, 1), "VALID")(x)), f32(2, 7, 8, 3)),
    "vmapped": (lambda hk, x: hk.vmap(hk.Linear(3), split_rng=False)(x), f32(4, 5)), "mobilenet": (lambda hk, x: hk.nets.MobileNetV1(num_classes=4, channels=(16, 16, 32), strides=(1, 2, 2))(x, True), f32(2, 24, 24, 3)), "layer_stack": (lambda hk, x: hk.experimental.layer_stack(3)(lambda a: jax.nn.relu(hk.Linear(5)(a)))(x), f32(4, 5)),
}
for n, (f, x) in HAIKU.items():
    add("haiku", n, haiku(f, x))

# ---- NumPyro, Distrax, BlackJAX ----

NUMPYRO = ["Normal(0.3, 1.2)", "Beta(2.0, 3.0)", "Gamma(2.0, 1.5)", "StudentT(3.0)", "Cauchy()", "HalfNormal()", "HalfCauchy()", "LogNormal()", "Laplace()", "Logistic()", "Gumbel()", "Exponential(2.0)", "InverseGamma(3.0, 2.0)", "Weibull(1.5, 2.0)", "Pareto(1.0, 2.0)", "Kumaraswamy(2.0, 3.0)", "VonMises(0.1, 2.0)",
           "TruncatedNormal(0.2, 1.0, low=-1.0, high=2.0)", "SoftLaplace(0.0, 1.0)", "AsymmetricLaplace(0.0, 1.0, 1.5)", "Uniform(-1.0, 2.0)", "Chi2(3.0)", "Dirichlet(jnp.arange(1.0, 4))", "MultivariateNormal(jnp.zeros(3), jnp.eye(3) + 0.2)", "LKJCholesky(3, 1.5)", "LowRankMultivariateNormal(jnp.zeros(3), jnp.ones((3, 1)), jnp.ones(3))",
           "GaussianRandomWalk(0.3, 5)", "Poisson(3.0)", "Bernoulli(0.3)", "Binomial(9, 0.3)", "BetaBinomial(2.0, 3.0, 9)", "Geometric(0.3)", "NegativeBinomial2(3.0, 2.0)", "ZeroInflatedPoisson(0.2, 3.0)", "Categorical(jnp.array([0.2, 0.3, 0.5]))", "Multinomial(9, jnp.array([0.2, 0.3, 0.5]))", "DirichletMultinomial(jnp.arange(1.0, 4), 9)",
           "OrderedLogistic(0.3, jnp.array([-1.0, 0.0, 1.0]))", "MixtureSameFamily(D.Categorical(jnp.array([0.4, 0.6])), D.Normal(jnp.array([0.0, 3.0]), 1.0))", "Levy(0.0, 1.0)", "BetaProportion(0.3, 5.0)", "MatrixNormal(jnp.zeros((2, 3)), jnp.eye(2), jnp.eye(3))", "SineBivariateVonMises(0.0, 0.0, 2.0, 2.0, 0.5)", "ProjectedNormal(jnp.array([1.0, 2.0]))"]


def numpyro(text):
    def make():
        import numpyro.distributions as D

        def run(k):
            d = eval(text, {"D": D, "jnp": jnp, **{n: getattr(D, n) for n in dir(D)}})
            x = d.sample(key(k), (4,))
            out = [x, d.log_prob(x)]
            for f in (lambda: d.cdf(x), lambda: d.icdf(jnp.full(x.shape, 0.3)), lambda: d.mean, lambda: d.variance, lambda: d.entropy(), lambda: D.transforms.biject_to(d.support).inv(x) if not d.is_discrete else x):
                try:
                    y = f()
                    if not isinstance(y, jax.core.Tracer) and np.isnan(np.asarray(y)).any():
                        continue
                    out.append(y)
                except (NotImplementedError, AttributeError, ValueError, TypeError):
                    pass
            return out
        return run, (KEY,)
    return make


for text in NUMPYRO:
    add("numpyro", text.split("(")[0].lower(), numpyro(text), tol=3e-3)


def nuts():
    import blackjax as b

    def run(k, x):
        kernel = b.nuts(lambda q: -0.5 * jnp.sum(q ** 2 * jnp.arange(1.0, 4)), 0.3, jnp.ones(3), max_num_doublings=4)
        return lax.scan(lambda s, q: (lambda t: (t, t.position))(kernel.step(q, s)[0]), kernel.init(x), jax.random.split(key(k), 4))[1]
    return run, (KEY, f32(3))


def sampler(name, *more):
    def make():
        import blackjax as b

        def run(k, x):
            kernel = getattr(b, name)(lambda q: -0.5 * jnp.sum(q ** 2 * jnp.arange(1.0, 4)), *more)
            return lax.scan(lambda s, q: (lambda t: (t, t.position))(kernel.step(q, s)[0]), kernel.init(x), jax.random.split(key(k), 4))[1]
        return run, (KEY, f32(3))
    return make


add("blackjax", "nuts", nuts, tol=1e-2)
add("blackjax", "hmc", sampler("hmc", 0.2, jnp.ones(3), 5), tol=1e-2)
add("blackjax", "mala", sampler("mala", 0.1), tol=1e-2)
add("blackjax", "elliptical", lambda: (lambda k, x: (lambda b: (lambda s: lax.scan(lambda t, q: (lambda u: (u, u.position))(s.step(q, t)[0]), s.init(x), jax.random.split(key(k), 4))[1])(b.elliptical_slice(lambda q: -0.5 * jnp.sum((q - 1) ** 2), mean=jnp.zeros(3), cov=jnp.eye(3))))(__import__("blackjax")), (KEY, f32(3))), tol=1e-2)
add("blackjax", "random_walk", lambda: (lambda k, x: (lambda b: (lambda s: lax.scan(lambda t, q: (lambda u: (u, u.position))(s.step(q, t)[0]), s.init(x), jax.random.split(key(k), 4))[1])(b.additive_step_random_walk(lambda q: -0.5 * jnp.sum(q ** 2), b.mcmc.random_walk.normal(0.3 * jnp.eye(3)))))(__import__("blackjax")), (KEY, f32(3))), tol=1e-2)

# ---- RLax ----

def rlax():
    import rlax as r

    def run(v, rew, d, q, a):
        return (r.td_learning(v[0], rew[0], d[0], v[1]), r.lambda_returns(rew, d, v, 0.9), r.vtrace(v, jnp.roll(v, -1), rew, d, jnp.abs(v) * 0.5 + 0.5), r.q_learning(q[0], a[0], rew[0], d[0], q[1]), r.double_q_learning(q[0], a[0], rew[0], d[0], q[1], q[2]), r.policy_gradient_loss(q, a, v, jnp.ones(6)),
                r.softmax().entropy(q), r.epsilon_greedy(0.1).probs(q), r.categorical_l2_project(jnp.linspace(-1, 1, 5), jax.nn.softmax(v[:5]), jnp.linspace(-1.2, 1.2, 5)), r.n_step_bootstrapped_returns(rew, d, v, 3), r.truncated_generalized_advantage_estimation(rew[:5], d[:5], 0.9, v), r.signed_hyperbolic(q), r.dpg_loss(v, rew),
                r.quantile_q_learning(jnp.sort(f32(3, 4)), jnp.array([0.2, 0.5, 0.8]), a[0], rew[0], d[0], jnp.sort(f32(3, 4)), jnp.sort(f32(3, 4)), 1.0), r.transform_to_2hot(rew[0], -2.0, 2.0, 7))
    return run, (f32(6), f32(6), np.full(6, 0.9, np.float32), f32(6, 4), ints(6, high=4))


add("rlax", "losses", rlax)


# ---- Jraph ----

def graph_net(kind):
    def make():
        import jraph as j

        def run(nodes, edges, s, t):
            g = j.GraphsTuple(nodes=nodes, edges=edges, senders=s, receivers=t, n_node=jnp.array([3, 3]), n_edge=jnp.array([5, 4]), globals=jnp.ones((2, 2)))
            if kind == "net":
                return j.GraphNetwork(lambda e, a, b, u: jnp.tanh(e + a[:, :4] + b[:, :4] + u.sum(1, keepdims=True)), lambda n, a, b, u: n + jnp.pad(a + b, ((0, 0), (0, 1))), lambda n, e, u: u + n.sum(1, keepdims=True))(g)
            if kind == "conv":
                return j.GraphConvolution(lambda n: n @ jnp.ones((5, 3)), add_self_edges=True)(g).nodes
            if kind == "attention":
                return j.GAT(lambda n: n @ jnp.ones((5, 3)), lambda a, b, e: jnp.sum(a * b, -1, keepdims=True), None)(g).nodes
            return (j.segment_softmax(edges[:, 0], t, 6), j.segment_variance(edges, t, 6), j.segment_normalize(edges, t, 6), j.segment_min_or_constant(edges, t, 6), j.segment_max_or_constant(edges, t, 6), j.partition_softmax(edges[:, 0], jnp.array([5, 4]), 9), j.pad_with_graphs(g, 9, 12, 3).nodes)
        return run, (f32(6, 5), f32(9, 4), ints(9, high=6), ints(9, high=6))
    return make


for k in ["net", "conv", "attention", "segments"]:
    add("jraph", k, graph_net(k))

# ---- e3nn-jax ----

add("e3nn_jax", "spherical_harmonics", lambda: (lambda x: (lambda e: e.spherical_harmonics("0e + 1o + 2e + 3o", x, True).array)(__import__("e3nn_jax")), (f32(5, 3),)))
add("e3nn_jax", "tensor_product", lambda: (lambda x, y: (lambda e: (e.tensor_product(e.IrrepsArray("1o + 2e", x), e.IrrepsArray("1o", y)).array, e.norm(e.IrrepsArray("1o + 2e", x)).array, e.gate(e.IrrepsArray("4x0e + 1x1o", jnp.concatenate([x[:, :4], y], 1))).array))(__import__("e3nn_jax")), (f32(5, 8), f32(5, 3))))
add("e3nn_jax", "rotations", lambda: (lambda x: (lambda e: (e.angles_to_matrix(x[0], x[1], x[2]), e.matrix_to_quaternion(e.angles_to_matrix(x[0], x[1], x[2])), e.wigner_D(2, x[0], x[1], x[2]) if hasattr(e, "wigner_D") else x, e.bessel(jnp.abs(x) + 0.1, 4, 2.0), e.soft_envelope(x) if hasattr(e, "soft_envelope") else x))(__import__("e3nn_jax")), (f32(3),)))
