#!/usr/bin/env python3
"""Makes test/hlo_exec/jax_*: programs whose values share memory, orders with NaN and zeros of both signs, windows,
indices that meet or miss, and numbers that a type does not have; with what JAX computes. Needs jax.

usage: make_jax_cases.py DIR [NAME...]
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy
from jax import lax

CASES = {}
OPTIMISED = "sort_optimised",  # as the text that XLA compiled: compile().as_text()
F32, I32 = numpy.float32, numpy.int32


def case(make):
    CASES[make.__name__] = make
    return make


def draw(*shape, seed=0):
    return numpy.random.RandomState(seed).randn(*shape).astype(F32)


# ---- values that share memory ----

@case
def scan_stacks():
    return lambda xs: lax.scan(lambda c, x: (c + x, (c, c * x)), jnp.zeros(5), xs), (draw(7, 5),)


@case
def scan_nested():
    inner = lambda c, x: (c * 0.5 + x, c)
    return lambda xs: lax.scan(lambda c, x: lax.scan(inner, c, x), jnp.zeros(4), xs), (draw(3, 5, 4),)


@case
def scan_backwards():
    return lambda xs: lax.scan(lambda c, x: (c - x, c), jnp.ones(3), xs, reverse=True), (draw(6, 3),)


@case
def update_then_read_old():
    def body(i, s):
        x, total = s
        y = x.at[i].set(x[i] * 2 + 1)
        return y, total + x.sum()  # the old one, after the update
    return lambda x: lax.fori_loop(0, 4, body, (x, jnp.float32(0))), (draw(4),)


@case
def update_and_keep():
    def body(i, s):
        x, before = s
        return x.at[i].add(3), x
    return lambda x: lax.fori_loop(0, 4, body, (x, x)), (draw(4),)


@case
def states_change_places():
    def body(i, s):
        a, b, c = s
        return b, c, a.at[i].set(i * 1.0)
    return lambda a, b, c: lax.fori_loop(0, 5, body, (a, b, c)), (draw(6), draw(6, seed=1), draw(6, seed=2))


@case
def fibonacci():
    return lambda a, b: lax.fori_loop(0, 20, lambda _, s: (s[1], s[0] + s[1]), (a, b)), (I32(0), I32(1))


@case
def one_value_twice():
    def body(i, s):
        a, b = s
        d = a + b
        return d, d
    return lambda a: lax.fori_loop(0, 3, body, (a, a)), (draw(5),)


@case
def state_from_outside():
    def body(i, s):
        a, b = s
        return y, a + b
    y = jnp.arange(4, dtype=F32)
    return lambda a: lax.fori_loop(0, 3, body, (a, a)), (draw(4),)


@case
def operand_lives_on():
    def f(x):
        x = x * 2
        y = lax.fori_loop(0, 4, lambda i, s: s.at[i].set(0), x)
        return y, x + 1
    return f, (draw(6),)


@case
def operand_dies():
    return lambda x: lax.fori_loop(0, 4, lambda i, s: s.at[i].set(0), x * 2) + 1, (draw(6),)


@case
def captured_and_carried():
    def f(x):
        x = x * 2
        return lax.fori_loop(0, 4, lambda i, s: s.at[i].set(x[3 - i]), x)
    return f, (draw(6),)


@case
def no_trips():
    return (lambda x, n: lax.fori_loop(0, n, lambda i, s: (s[0].at[i].set(0), s[1] + 1), (x, jnp.int32(3))),
            (draw(6), I32(0)))


@case
def loop_of_loops_updates():
    def outer(i, a):
        return lax.fori_loop(0, 5, lambda j, a: a.at[i, j].set(a[j, i] + a[i, j]), a)
    return lambda a: lax.fori_loop(0, 5, outer, a), (draw(5, 5),)


@case
def cond_updates():
    def step(s, x):
        stack, i = s
        return (lax.cond(x > 0, lambda s: s.at[i].set(x), lambda s: s, stack), i + 1), None
    return lambda xs: lax.scan(step, (jnp.zeros(8), 0), xs)[0], (draw(8),)


@case
def cond_updates_both():
    def step(s, x):
        stack, i = s
        stack = lax.cond(x > 0, lambda s: s.at[i].set(x), lambda s: s.at[7 - i].set(-x).at[0].add(1), stack)
        return (stack, i + 1), stack.sum()
    return lambda xs: lax.scan(step, (jnp.zeros(8), 0), xs), (draw(8),)


@case
def cond_keeps_old():
    def step(s, x):
        stack, i = s
        new, old = lax.cond(x > 0, lambda s: (s.at[i].set(x), s), lambda s: (s, s * 2), stack)
        return (new, i + 1), old
    return lambda xs: lax.scan(step, (jnp.zeros(8), 0), xs), (draw(8),)


@case
def cond_changes_places():
    def step(s, x):
        a, b = s
        return lax.cond(x > 0, lambda a, b: (b, a), lambda a, b: (a + 1, b), a, b), None
    return lambda xs: lax.scan(step, (jnp.zeros(3), jnp.ones(3)), xs)[0], (draw(8),)


@case
def cond_outside_loops():
    f = lambda x, p: lax.cond(p, lambda x: x.at[1].set(5), lambda x: x.at[2].set(6), x * 2) + 1
    return f, (draw(4), numpy.bool_(True))


@case
def switch_updates():
    def step(x, k):
        return lax.switch(k, [lambda x: x.at[k].set(0), lambda x: x, lambda x: x * 2, lambda x: x.at[3].add(k * 1.0)], x), x[0]
    return lambda x, ks: lax.scan(step, x, ks), (draw(5), numpy.array([0, 1, 2, 3, 2, 0], I32))


@case
def while_in_cond():
    def f(x):
        x = x * 2
        loop = lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1].at[s[0]].set(9)), (0, x))[1]
        return lax.cond(x[0] > 0, loop, lambda x: x, x)
    return f, (abs(draw(5)),)


@case
def update_from_itself():
    def body(i, x):
        return lax.dynamic_update_slice(x, lax.dynamic_slice(x, (0,), (4,)), (1 + i,))
    return lambda x: lax.fori_loop(0, 3, body, x), (draw(8),)


@case
def scatter_in_loop():
    def body(i, x):
        return x.at[jnp.array([0, 2, 2, 9]) + i].add(jnp.array([1.0, 2.0, 3.0, 4.0]))
    return lambda x: lax.fori_loop(0, 3, body, x), (draw(10),)


@case
def update_of_input():
    return lambda x, i: (x.at[i].set(0), x.sum()), (draw(5), I32(2))


@case
def updates_in_a_row():
    def f(x):
        x = x * 2
        y = x.at[0].set(1)
        z = y.at[1].set(2)
        return z, y[0] + z[0]
    return f, (draw(5),)


# ---- order ----

def special(*shape):
    """With NaN, zeros of both signs, infinities and equal numbers."""
    r = numpy.random.RandomState(3)
    x = r.randint(-3, 4, shape).astype(F32) * 0.5
    flat = x.reshape(-1)
    flat[::5] = -0.0
    flat[1::7] = numpy.nan
    flat[2::11] = -numpy.inf
    flat[3::13] = numpy.inf
    flat[4::9] = -numpy.nan
    return x


@case
def sort_special():
    return jnp.sort, (special(50),)


@case
def sort_columns_special():
    return lambda x: jnp.sort(x, axis=0), (special(40, 3),)


@case
def sort_long():
    return lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argsort(x, descending=True)), (special(3000),)


@case
def sort_short_rows():
    return lambda x: jnp.argsort(x, axis=-1), (special(7, 5),)


@case
def sort_two_keys():
    y = numpy.random.RandomState(1).randint(-2, 3, 60).astype(I32)
    return lambda x, y: lax.sort((x, y, jnp.arange(60)), num_keys=2), (special(60), y)


@case
def sort_three_keys():
    r = numpy.random.RandomState(1)
    keys = tuple(r.randint(0, 3, 80).astype(t) for t in (numpy.uint8, I32, numpy.uint32))
    return lambda *k: lax.sort((*k, jnp.arange(80)), num_keys=3), keys


@case
def sort_integers():
    r = numpy.random.RandomState(1)
    x = numpy.append(r.randint(-2**31, 2**31 - 1, 2000), [2**31 - 1, -2**31, 0, -1]).astype(I32)
    return lambda x: (jnp.sort(x), jnp.sort(x.astype(jnp.uint32)), jnp.sort(x.astype(jnp.int8))), (x,)


@case
def sort_half():
    return lambda x: jnp.argsort(x.astype(jnp.bfloat16)), (special(70),)


@case
def sort_half_long():
    return lambda x: jnp.argsort(x.astype(jnp.float16)), (special(2000),)


@case
def sort_optimised():
    def f(seed):
        bits = (jnp.arange(150000, dtype=numpy.uint32) * numpy.uint32(2654435761) ^ seed) | numpy.uint32(0x800080)
        x, h = lax.bitcast_convert_type(bits, F32), lax.bitcast_convert_type(bits, jnp.bfloat16).reshape(-1)
        y, at = lax.sort((x, jnp.arange(150000)), num_keys=1)
        return (lax.bitcast_convert_type(y, I32)[::4999], at[::4999], jnp.sort(h).astype(F32)[::4999],
                jnp.argsort(-x.astype(jnp.float16))[::4999])
    return f, (numpy.uint32(12345),)


@case
def top_k_rows():
    return lambda x: lax.top_k(x, 7), (numpy.round(draw(5, 300) * 20).astype(F32),)


@case
def top_k_all():
    return lambda x: lax.top_k(x, 20), (numpy.round(draw(3, 20) * 5).astype(F32),)


@case
def top_k_integers():
    return lambda x: lax.top_k(x, 9), (numpy.random.RandomState(2).randint(-5, 5, (4, 100)).astype(I32),)


@case
def arg_extremes():
    x, i = special(9, 6), numpy.random.RandomState(1).randint(-2, 3, (5, 8)).astype(I32)
    low = numpy.full((3, 4), -numpy.inf, F32)
    return (lambda x, i, low: (jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.argmax(i, 1), jnp.argmin(i, 0), jnp.argmax(low, 1),
                               jnp.argmax(i.astype(jnp.uint8), 0), jnp.nanargmax(x, 0)), (x, i, low))


@case
def arg_extreme_long():
    x = numpy.round(draw(3, 1000) * 50).astype(F32)
    return lambda x: (jnp.argmax(x, 1), jnp.argmin(x.astype(jnp.bfloat16), 1), jnp.max(x, 1)), (x,)


@case
def shifts():
    r = numpy.random.RandomState(0)
    x, n = r.randint(-2**31, 2**31 - 1, 60).astype(I32), r.randint(-2, 40, 60).astype(I32)

    def f(x, n):
        all = []
        for t in (jnp.int32, jnp.uint32, jnp.int8, jnp.uint8, jnp.uint16):
            a, b = x.astype(t), n.astype(t)
            all += [lax.shift_left(a, b), lax.shift_right_logical(a, b), lax.shift_right_arithmetic(a, b),
                    lax.shift_right_logical(a, b) ^ (a + lax.shift_left(a, b))]
        return all
    return f, (x, n)


@case
def random_numbers():
    def f(k):
        a, b = jax.random.split(k)
        return jax.random.bits(a, (33,)), jax.random.normal(b, (9, 5)), jax.random.randint(a, (20,), 0, 17)
    return f, (numpy.array([3, 4], numpy.uint32),)


# ---- long expressions ----

@case
def long_polynomial():
    """More steps, and more numbers, than a tile program of few nodes has."""
    def f(x):
        y = x
        for i in range(90):
            y = y * x * F32(0.01 * (i % 7 + 1)) + F32(0.5 - 0.01 * i)
        return x * 2 + y, jnp.where(y < x, y, x)
    return f, (draw(37, 61),)


@case
def long_branches():
    """Values that are read again far behind the place that makes them, floats and integers."""
    def f(x, k):
        half, turned = x * 0.5, k ^ jnp.uint32(0x9E3779B9)
        bits = k
        for r in (13, 15, 26, 6, 17, 29, 16, 24):
            bits = (bits + k) ^ ((bits << r) | (bits >> (32 - r)))
        return half * jax.scipy.special.erfc(-x * 0.70710678), turned + bits
    return f, (draw(9, 700, seed=3), numpy.arange(6300, dtype=numpy.uint32).reshape(9, 700) * 77777)


@case
def erf_inv():
    """Between, at and beyond -1 and 1, and normal numbers made of it."""
    x = numpy.concatenate([numpy.linspace(-1, 1, 201), [0.997, -0.9999, 1 - 2.0 ** -24, 1.5, numpy.nan, -0.0]])
    return (lambda x, k: (jax.scipy.special.erfinv(x), jax.random.normal(jax.random.wrap_key_data(k), (333,)))), (
        x.astype(numpy.float32), numpy.array([7, 11], numpy.uint32))


@case
def interleaved():
    """Associative scans, which interleave two halves at each level: odd and even lengths, along any axis."""
    def f(x, k):
        return (lax.associative_scan(jnp.add, x), lax.associative_scan(jnp.maximum, x, axis=1, reverse=True),
                lax.associative_scan(jnp.bitwise_or, k, axis=1), lax.associative_scan(jnp.logical_or, k > 3))
    return f, (draw(11, 6, 3), numpy.arange(35, dtype=numpy.int32).reshape(5, 7) % 6)


# ---- searches and choices ----

@case
def search_special():
    """Floats in total order: zeros of both signs, infinities, NaN."""
    special = [numpy.nan, -numpy.nan, 0.0, -0.0, numpy.inf, -numpy.inf]
    a = numpy.sort(numpy.concatenate([draw(50), numpy.array(special[2:], F32)]))
    v = numpy.concatenate([draw(70, seed=1), numpy.array(special, F32)])
    return (lambda a, v: (jnp.searchsorted(a, v), jnp.searchsorted(a, v, side="right"),
                          jnp.searchsorted(a, v, method="compare_all")), (a, v))


@case
def choose_words():
    """Integers whose bits are those of a signalling NaN are moved as they are."""
    r = numpy.random.RandomState(0)
    a = (r.randint(0, 2 ** 16, (5, 83)) + 0x7f800001).astype(numpy.uint32)
    return (lambda p, a, b: (jnp.where(p, a, b), jnp.where(p, a.astype(I32), -7), jnp.where(p[:, :1], a, b)),
            (r.randint(0, 2, (5, 83)).astype(bool), a, a[::-1] ^ numpy.uint32(1 << 31)))


@case
def words_of_casts():
    """The words of floats that integers become."""
    r = numpy.random.RandomState(0)
    words = lambda x: lax.bitcast_convert_type(x.astype(F32), I32) >> 3
    dot = lambda a: lax.dot(a, a.T, preferred_element_type=I32)
    return (lambda a, b, c: (words(a), words(b), words(c), words(dot(a)), jnp.copysign(a, a[::-1])),
            tuple(r.randint(-9 * (t[0] == "i"), 9, (6, 7)).astype(t) for t in ("int8", "uint8", "int32")))


@case
def reduce_ones():
    """Over dimensions of one element."""
    f = lambda x, b: (x.max(1), x.min((1, 3)), b.all(1), b.any((1, 3)),
                      (x * 100).astype(I32).max(3))
    x = draw(4, 1, 6, 1)
    x[0, 0, 0, 0], x[1, 0, 1, 0] = numpy.nan, -numpy.inf
    return f, (x, x > 0)


@case
def top_k_long():
    x = numpy.round(draw(3, 2500) * 50) / 50
    x[0, 3], x[0, 4], x[1, 2499], x[2, 700] = numpy.inf, -numpy.inf, numpy.inf, -0.0
    return lambda x: lax.top_k(x, 40), (x,)


@case
def gather_far_pairs():
    """Pairs of indices of which either leaves its dimension, to any side; kept inside, filled, left out."""
    r = numpy.random.RandomState(0)
    i, j = (r.randint(-40, 60, 300).astype(I32) for _ in range(2))
    i[7], j[8], i[9] = -2 ** 31, 2 ** 31 - 1, 2 ** 31 - 1
    f = lambda t, i, j: (t.at[i, j].get(mode="clip"), t.at[i, j].get(mode="fill", fill_value=-1),
                         t.at[i, j].add(1, mode="drop"), t.at[i].add(1, mode="drop"))
    return f, (draw(13, 17), i, j)


# ---- windows ----

def pool(op, start, size, stride, padding="SAME"):
    return lambda x: lax.reduce_window(x, start, op, size, stride, padding)


@case
def window_sums():
    x = draw(2, 7, 9, 3)
    f = lambda x: (pool(lax.add, 0.0, (1, 3, 2, 1), (1, 2, 1, 1))(x), pool(lax.mul, 1.0, (1, 2, 2, 1), (1, 1, 2, 1), "VALID")(x))
    return f, (x,)


@case
def window_special():
    x = special(6, 20)
    return lambda x: (pool(lax.max, -3.0, (1, 4), (1, 1))(x), pool(lax.min, 2.0, (3, 3), (2, 2))(x)), (x,)


@case
def window_integers():
    x = numpy.random.RandomState(0).randint(-9, 9, (5, 8)).astype(I32)
    return lambda x: (pool(lax.max, -100, (2, 3), (1, 2))(x), pool(lax.add, 5, (2, 3), (2, 1))(x)), (x,)


@case
def window_dilated():
    f = lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), ((1, 2), (0, 1)), (2, 1), (1, 2))
    return f, (draw(5, 6),)


@case
def window_running():
    return (lambda x: (lax.cummax(x, axis=0), lax.cummin(x, axis=1, reverse=True), lax.cumprod(x, axis=1)),
            (special(9, 8),))


@case
def pool_gradients():
    def f(x):
        a = pool(lax.max, -jnp.inf, (1, 2, 2, 1), (1, 2, 2, 1))(x)
        b = pool(lax.max, -jnp.inf, (1, 3, 3, 1), (1, 2, 2, 1))(x)
        c = pool(lax.min, jnp.inf, (1, 1, 3, 2), (1, 1, 1, 1))(x)
        return (a ** 2).sum() + (b ** 3).sum() + (c ** 2).sum()
    return jax.grad(f), (numpy.round(draw(2, 7, 6, 3) * 2).astype(F32),)


@case
def conv_dilated_inputs():
    def f(x, k):
        conv = lambda pads, s, d=(1, 1): lax.conv_general_dilated(
            x, k, (1, 1), pads, s, d, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (conv(((2, 1), (1, 2)), (2, 2)), conv(((0, 0), (3, 0)), (3, 2)), conv(((-1, 4), (2, -2)), (2, 5)),
                conv(((1, 1), (1, 1)), (1, 2)), conv(((4, 4), (4, 4)), (2, 2), (2, 1)))
    return f, (draw(2, 5, 6, 3), draw(3, 4, 3, 2))


@case
def conv_dilated_first():
    f = lambda x, k: lax.conv_general_dilated(x, k, (1, 1), ((1, 1), (2, 1)), (2, 2), feature_group_count=2,
                                              dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return f, (draw(2, 4, 5, 3), draw(6, 2, 3, 2))


@case
def conv_dilated_line():
    f = lambda x, k: lax.conv_general_dilated(x, k, (1,), ((3, 0),), (4,), dimension_numbers=("NWC", "WIO", "NWC"))
    return f, (draw(2, 7, 3), draw(2, 3, 5))


@case
def conv_gradients():
    def f(x, k):
        y = lax.conv_general_dilated(x, k, (2, 3), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (y ** 2).sum()
    return jax.grad(f, (0, 1)), (draw(2, 8, 7, 3), draw(3, 3, 3, 4))


# ---- indices ----

@case
def gathers():
    r = numpy.random.RandomState(0)
    i, j = r.randint(-3, 12, (4, 5)).astype(I32), r.randint(-3, 12, (4, 5)).astype(I32)

    def f(x, i, j):
        window = lambda i, j: lax.dynamic_slice(x, (i, j), (2, 3))
        return (x[i], x[i, j], x[:, j], x.at[i, j].get(mode="fill", fill_value=7), jax.vmap(jax.vmap(window))(i, j),
                jnp.take_along_axis(x, jnp.abs(j[:, :4].T.repeat(3, 0)[:10]), axis=1, mode="clip"))
    return f, (draw(10, 9), i, j)


@case
def gather_long():
    r = numpy.random.RandomState(0)
    return (lambda x, i: (x[i], x[i % 7, i % 5], x[i][:, ::2]),
            (draw(50, 6), r.randint(0, 50, 1000).astype(I32)))


@case
def gather_types():
    i = numpy.random.RandomState(0).randint(0, 20, 300).astype(numpy.uint8)
    x = numpy.random.RandomState(0).randint(0, 100, 20).astype(numpy.int16)
    return lambda x, i: (x[i], x.astype(jnp.int8)[i], (x > 50)[i], x.astype(jnp.complex64)[i]), (x, i)


@case
def scatters():
    r = numpy.random.RandomState(0)
    i, j = r.randint(-3, 12, 30).astype(I32), r.randint(-3, 12, 30).astype(I32)

    def f(x, i, j, u):
        return (x.at[i].add(u), x.at[i, j].add(u[:, 0]), x.at[i, j].set(3), x.at[i].mul(u), x.at[i, j].max(u[:, 1]),
                x.at[:, j].add(u[:10].T[:, :30].repeat(2, 0)[:10, :1]), x.astype(jnp.int32).at[i].add(j[:, None]))
    return f, (draw(10, 9), i, j, draw(30, 9, seed=1))


@case
def scatter_long():
    i = numpy.random.RandomState(0).randint(-5, 60, 1000).astype(I32)
    return (lambda x, i, u: (x.at[i].add(u), x.astype(jnp.int32).at[i].add(1), x.at[i].min(u)),
            (draw(50), i, draw(1000)))


@case
def scatter_windows():
    def f(x, i, u):
        put = lambda x, i, u: lax.dynamic_update_slice(x, u, (i, 1))
        return jax.vmap(put)(x, i, u)
    return f, (draw(4, 6, 7), numpy.array([0, 2, 5, -1], I32), draw(4, 3, 2))


@case
def pads():
    one = lambda *c: lambda x: lax.pad(x, jnp.float32(7), c)
    return (lambda x: (one((1, 2, 1), (0, 1, 2))(x), one((-1, 0, 2), (2, -3, 0))(x), one((0, 0, 0), (-1, 4, 1))(x)),
            (draw(4, 5),))


# ---- numbers that a type does not have ----

SPECIAL = numpy.array([0, -0.0, 0.4, 0.5, -0.5, 1, -1, 1.5, 3, -3, 6, 7.9, -8.9, 12, 100, -100, 1e30, -1e30, numpy.inf,
                       -numpy.inf, numpy.nan], F32)


@case
def convert_narrow():
    types = "int4", "uint4", "int2", "uint2", "float8_e8m0fnu"
    return lambda x: [x.astype(t).astype(w) for t in types for w in ([F32] if t[0] == "f" else [I32])], (SPECIAL,)


@case
def sort_fnuz():
    types = "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"
    return lambda x: [jnp.sort(x.astype(t)).astype(F32) for t in types], (SPECIAL,)


@case
def clamp_unordered():
    bounds = numpy.array([numpy.nan, -1, 2, 1.5], F32)
    return lambda x, b: [lax.clamp(b[i], x, b[j]) for i in range(4) for j in range(4)], (SPECIAL, bounds)


@case
def complex_infinite():
    few = numpy.array([0, -0.0, 1, -2, numpy.inf, -numpy.inf, numpy.nan], F32)
    x = (few[:, None] + numpy.zeros(7)).ravel().astype(numpy.complex64)
    x.imag = numpy.tile(few, 7)
    return lambda x: (x[:, None] * x[None, :], jnp.expm1(lax.complex(x.real, x.real * 0))), (x,)


def main():
    where, names = sys.argv[1] if len(sys.argv) > 1 else "-", sys.argv[2:] or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if where.startswith("-") or unknown:
        sys.exit(__doc__ + "".join("no case '%s'\n" % name for name in unknown) + "cases: " + " ".join(CASES))
    for name in names:
        f, arguments = CASES[name]()
        leaves, tree = jax.tree.flatten(arguments)
        lowered = jax.jit(lambda *x: f(*jax.tree.unflatten(tree, x)), keep_unused=True).lower(*leaves)
        folder = os.path.join(where, "jax_" + name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "module.hlo"), "w") as out:
            out.write(lowered.compile().as_text() if name in OPTIMISED else lowered.as_text(dialect="hlo"))
        for i, v in enumerate(leaves):
            numpy.save(os.path.join(folder, "input_%d.npy" % i), numpy.asarray(v))
        for i, v in enumerate(jax.tree.leaves(lowered.compile()(*leaves))):
            numpy.save(os.path.join(folder, "output_%d.npy" % i), numpy.asarray(v))


if __name__ == "__main__":
    main()
