"""Random choices that one seed determines: what the generators of programs share."""
import numpy as np


class Choices:
    def __init__(self, seed):
        self.r = np.random.RandomState(seed)

    def below(self, n):
        return int(self.r.randint(n))

    def between(self, low, high):
        return int(self.r.randint(low, high + 1))

    def one(self, items):
        items = list(items)
        return items[self.below(len(items))]

    def chance(self, p):
        return self.r.rand() < p

    def order(self, n):
        return tuple(int(i) for i in self.r.permutation(n))


class Arrays:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def f32(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def f64(self, *shape):
        return self.rng.standard_normal(shape)

    def c64(self, *shape):
        return (self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)).astype(np.complex64)
