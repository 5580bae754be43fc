"""Random functions over shapes with symbols, for scripts/fuzz-jax --sizes: draw(seed) gives one."""
import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

SCOPES = ([], ["a >= 2"], ["a >= 2", "b >= 2"], ["a >= 3", "b >= a"], ["mod(b,2) == 0"], ["a == 2*b"])
SHAPES = ("a,3", "b", "a,b", "4,a", "b,a,2", "2*a,3", "a+1", "a*b", "b,b", "a-1,2", "a,1", "1,b", "3*a,b", "a+b")


def along(axis, what):
    return tuple([slice(None)] * axis + [what])


def summed(x, axis):
    """A sum along an axis by a while loop that counts to its size."""
    def body(s):
        return s[0] + 1, s[1] + lax.dynamic_index_in_dim(x, s[0], axis, keepdims=False)
    return lax.while_loop(lambda s: s[0] < x.shape[axis], body, (0, jnp.zeros(x.shape[:axis] + x.shape[axis + 1:], x.dtype)))[1]


def scanned(x, axis, back, states):
    xs = jnp.moveaxis(x, axis, 0)
    state, ys = lax.scan(lambda c, v: (c * 0.5 + v, c - v), jnp.zeros(xs.shape[1:], xs.dtype), xs, reverse=back)
    return state if states else ys


def pooled(x, axis, r):
    first, reduce = r.choice([(-np.inf, lax.max), (0.0, lax.add)])
    window, stride = r.choice([2, 3]), r.choice([1, 2])
    one = [1] * x.ndim
    return lax.reduce_window(x.astype(jnp.float32), np.float32(first), reduce, one[:axis] + [window] + one[axis + 1:],
                             one[:axis] + [stride] + one[axis + 1:], r.choice(["SAME", "VALID"]))


def convolved(x, r):
    return lax.conv_general_dilated(x.astype(jnp.float32).reshape((1, 1, -1)), np.arange(3, dtype=np.float32).reshape(1, 1, 3), (r.choice([1, 2]),),
                                    r.choice(["SAME", "VALID"]))


def padded(x, axis, r):
    here = (r.randint(-1, 2), r.randint(-1, 2), r.randint(0, 1))
    return lax.pad(x, jnp.zeros((), x.dtype), [here if k == axis else (0, 0, 0) for k in range(x.ndim)])


# Of any array: f(x, y, r), r draws.
ANY = {
    "unary": lambda x, y, r: r.choice([jnp.sin, jnp.abs, jnp.tanh, jnp.square, jnp.sign, lambda v: v > 0, lambda v: v.astype(jnp.int32)])(x),
    "binary": lambda x, y, r: r.choice([jnp.add, jnp.multiply, jnp.maximum, jnp.subtract, jnp.less])(x, y),
    "where": lambda x, y, r: jnp.where(x > 0, x, jnp.zeros_like(x)),
    "stack": lambda x, y, r: jnp.stack([x, x + x], axis=min(1, x.ndim)),
    "expand": lambda x, y, r: x[None],
    "cond": lambda x, y, r: lax.cond(jnp.sum(x) > 0, lambda v: v * 2.0, lambda v: v - 1.0, x),
    "flat": lambda x, y, r: x.reshape(-1),
    "ratio": lambda x, y, r: x / x.size,
}
# Of one with an axis: f(x, y, axis, r).
AXIS = {
    "reduce": lambda x, y, k, r: r.choice([jnp.sum, jnp.max, jnp.mean, jnp.prod, jnp.min])(x, axis=r.choice([k, k, None]), keepdims=r.random() < 0.4),
    "transpose": lambda x, y, k, r: jnp.transpose(x, r.sample(range(x.ndim), x.ndim)),
    "parts": lambda x, y, k, r: x.reshape(x.shape[:k] + (-1, 2) + x.shape[k + 1:]),
    "turned": lambda x, y, k, r: x.reshape(-1).reshape(x.shape[::-1]),
    "half": lambda x, y, k, r: lax.slice_in_dim(x, 0, x.shape[k] // 2, axis=k),
    "concat": lambda x, y, k, r: jnp.concatenate([x, y], axis=k),
    "concat_part": lambda x, y, k, r: jnp.concatenate([x, x[along(k, slice(0, 1))], x], axis=k),
    "slice": lambda x, y, k, r: x[along(k, slice(r.choice([0, 1, 2]), r.choice([-1, -2, None])))],
    "stride": lambda x, y, k, r: x[along(k, slice(None, None, r.choice([2, 3, -1, -2])))],
    "arange": lambda x, y, k, r: jnp.arange(x.shape[k], dtype=jnp.float32),
    "pad": lambda x, y, k, r: padded(x, k, r),
    "take": lambda x, y, k, r: jnp.take(x, jnp.arange(3) % x.shape[k], axis=k),
    "sort": lambda x, y, k, r: jnp.sort(x, axis=k),
    "cumsum": lambda x, y, k, r: jnp.cumsum(x, axis=k),
    "cummax": lambda x, y, k, r: lax.cummax(x, axis=k, reverse=r.random() < 0.5),
    "scan": lambda x, y, k, r: scanned(x, k, r.random() < 0.5, r.random() < 0.5),
    "fori": lambda x, y, k, r: lax.fori_loop(0, x.shape[k], lambda t, c: c * 0.5 + t, y),
    "while": lambda x, y, k, r: summed(x, k),
    "dynamic_slice": lambda x, y, k, r: lax.dynamic_slice_in_dim(x, x.shape[k] // 2, 1, axis=k),
    "dynamic_update": lambda x, y, k, r: lax.dynamic_update_slice_in_dim(x, jnp.ones_like(x[along(k, slice(0, 1))]), x.shape[k] - 1, axis=k),
    "matmul": lambda x, y, k, r: jnp.matmul(x, jnp.swapaxes(y, -1, -2)),
    "outer": lambda x, y, k, r: jnp.tensordot(x, y, axes=0),
    "pool": lambda x, y, k, r: pooled(x, k, r),
    "conv": lambda x, y, k, r: convolved(x, r),
    "argmax": lambda x, y, k, r: jnp.argmax(x, axis=k),
    "roll": lambda x, y, k, r: jnp.roll(x, 2, axis=k),
    "flip": lambda x, y, k, r: jnp.flip(x, axis=k),
    "tile": lambda x, y, k, r: jnp.tile(x, [2 if j == k else 1 for j in range(x.ndim)]),
    "repeat": lambda x, y, k, r: jnp.repeat(x, 2, axis=k),
    "one_hot": lambda x, y, k, r: jax.nn.one_hot(x.reshape(-1).astype(jnp.int32), y.shape[0]),
    "segments": lambda x, y, k, r: jax.ops.segment_sum(x.reshape(-1), jnp.arange(x.size) % 3, num_segments=3),
    "scatter": lambda x, y, k, r: x.at[along(k, jnp.array([0, 0]))].add(1.5),
    "gather": lambda x, y, k, r: x[jnp.array([0, 0])],
    "broadcast": lambda x, y, k, r: jnp.broadcast_to(jnp.sum(x), y.shape + x.shape[-1:]),
    "update": lambda x, y, k, r: lax.dynamic_update_slice(x, jnp.zeros((1,) * x.ndim, x.dtype), (0,) * x.ndim),
    "percentile": lambda x, y, k, r: jnp.percentile(x, 30.0, axis=k),
    "normal": lambda x, y, k, r: (x - jnp.mean(x, axis=k, keepdims=True)) / (1 + jnp.std(x, axis=k, keepdims=True)),
    "search": lambda x, y, k, r: jnp.searchsorted(jnp.sort(x.reshape(-1)), jnp.array([0.0, 0.5], x.dtype)),
    "triangle": lambda x, y, k, r: jnp.tril(x),
    "size": lambda x, y, k, r: x + (x.shape[k] * 2 + 1),
    "softmax": lambda x, y, k, r: jax.nn.softmax(x, axis=k),
    "mapped": lambda x, y, k, r: jax.vmap(lambda v: jnp.sort(v)[..., :1])(x),
    "top_k": lambda x, y, k, r: lax.top_k(x, 2)[0],
    "diagonal": lambda x, y, k, r: jnp.diag(x.reshape(-1)),
}


class Sized:
    """The function f of arrays of the shapes `texts`, types `specs`; sizes(values of a and b) are the dims, or None."""

    def __init__(self, seed, count):
        self.r = random.Random(seed)
        scope = export.SymbolicScope(self.r.choice(SCOPES))
        self.texts = self.r.sample(SHAPES, self.r.randint(1, 3))
        types = [self.r.choice(["float32", "float32", "float64", "int32"]) for _ in self.texts]
        self.specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), t) for s, t in zip(self.texts, types)]
        self.steps, self.names, values = [], [], list(self.specs)
        for _ in range(self.r.randint(2, count)):
            name, step = self.drawn(values)
            try:
                export.export(jax.jit(lambda *v, step=step: step(v)))(*values)
            except Exception:  # noqa: BLE001 - sizes that do not go together, or of which JAX cannot tell whether they do
                continue
            values.append(jax.eval_shape(lambda *v, step=step: step(v), *values))
            self.steps.append(step)
            self.names.append(name)

    def drawn(self, values):
        i, j, seed = self.r.randrange(len(values)), self.r.randrange(len(values)), self.r.random()
        rank = len(values[i].shape)
        name = self.r.choice(sorted(ANY) + (sorted(AXIS) if rank else []))
        axis = self.r.randrange(rank) if rank else 0

        def step(v):
            r = random.Random(seed)
            x, y = (u * 1.0 for u in (v[i], v[j]))
            return ANY[name](x, y, r) if name in ANY else AXIS[name](x, y, axis, r)
        return name, step

    def f(self, *inputs):
        have = list(inputs)
        for step in self.steps:
            have.append(step(have))
        return have[len(inputs):]

    def arrays(self, seed):
        """Inputs of random sizes, by any of a and b; None: there are none of those."""
        at = {"a": self.r.choice([1, 2, 3, 4, 5, 8, 13]), "b": self.r.choice([1, 2, 3, 4, 6, 9, 17])}
        dims = [[int(eval(d, {}, at)) for d in s.split(",")] for s in self.texts]
        g = np.random.default_rng(seed)
        if any(d < 0 for s in dims for d in s):
            return None
        return [(g.integers(-9, 10, s) if t.dtype == np.int32 else g.standard_normal(s)).astype(t.dtype) for s, t in zip(dims, self.specs)]
