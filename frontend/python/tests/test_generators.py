"""Random numbers: what is seeded alike and drawn alike is alike, by numbers and by tiles, in loops, grids and both interfaces."""
from __future__ import annotations

from support import Case, main, np

import neuronxcc.nki as nki1
import neuronxcc.nki.language as nl1
import nki
import nki.isa as nisa
import nki.language as nl


def bits(out, n: int, engine=nisa.vector_engine) -> None:
    """out[n] = random bits."""
    t = nl.ndarray(out.shape[1:], dtype=nl.uint32, buffer=nl.sbuf)
    nisa.rng(t, engine=engine)
    nisa.dma_copy(dst=out[n], src=t)


@nki.jit
def of_seeds(seeds, drawn=2):
    """A row of `drawn` draws for each seed."""
    n = seeds.shape[0]
    out = nl.ndarray((n * drawn, 128, 32), dtype=nl.uint32, buffer=nl.shared_hbm)
    for i in nl.affine_range(n):
        s = nl.ndarray((1, 1), dtype=seeds.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=s, src=seeds[i:i + 1, :])
        nisa.set_rng_seed(s)
        for k in range(drawn):
            bits(out, i * drawn + k)
    return out


@nki1.jit
def masks(x, seed, rate=0.3):
    """Dropouts of two loops, as a forward kernel and its gradient make them."""
    out = nl1.ndarray((2, 3) + x.shape, dtype=x.dtype, buffer=nl1.shared_hbm)
    t, s = nl1.load(x), nl1.load(seed)
    for way in nl1.static_range(2):
        for i in nl1.affine_range(3):
            nl1.random_seed(seed=nl1.add(s, i, dtype=nl1.int32))
            nl1.store(out[way, i], nl1.dropout(t, rate=rate))
    return out


class Generators(Case):
    def test_seeds_of_tiles(self) -> None:
        for kind in (np.int32, np.uint32, np.float32):
            r = of_seeds(np.array([[1], [2], [1]], kind))
            self.same(r[0:2], r[4:6])
            for a, b in ((0, 1), (0, 2), (1, 3)):
                self.assertLess((r[a] == r[b]).mean(), 1e-3)

    def test_dropout_is_repeated(self) -> None:
        x = np.ones((64, 200), np.float32)
        a, b = masks(x, np.array([[7]], np.int32))
        self.same(a, b)
        self.assertAlmostEqual(float((a == 0).mean()), 0.3, delta=0.02)
        for i, j in ((0, 1), (1, 2), (0, 2)):  # two of independent masks agree at 0.7^2 + 0.3^2 of all places
            self.assertAlmostEqual(float((a[i] == a[j]).mean()), 0.58, delta=0.03)
        shifted = masks(x, np.array([[8]], np.int32))[0]
        self.same(a[1:], shifted[:2])

    def test_states(self) -> None:
        @nki.jit
        def kernel():
            out = nl.ndarray((5, 128, 16), dtype=nl.uint32, buffer=nl.shared_hbm)
            state = nl.ndarray((128, 6), dtype=nl.uint32, buffer=nl.sbuf)
            for n in range(5):
                if n == 1:
                    nisa.rand_get_state(state)
                if n == 3:
                    nisa.rand_set_state(state)
                bits(out, n, nisa.gpsimd_engine)
            return out

        r = kernel()
        self.same(r[1:3], r[3:5])
        self.assertLess((r[0] == r[1]).mean(), 1e-3)

    def test_rows_of_states(self) -> None:
        """Each partition's numbers are those of its own row of seeds."""
        @nki.jit
        def kernel(seeds):
            out = nl.ndarray((128, 3, 8), dtype=nl.uint32, buffer=nl.shared_hbm)
            s, t = nl.ndarray(seeds.shape, dtype=nl.uint32, buffer=nl.sbuf), nl.ndarray((128, 3, 8), dtype=nl.uint32, buffer=nl.sbuf)
            nisa.dma_copy(dst=s, src=seeds)
            nisa.rand_set_state(s)
            nisa.rng(t, engine=nisa.gpsimd_engine)
            nisa.dma_copy(dst=out, src=t)
            return out

        seeds = np.random.RandomState(0).randint(0, 1 << 31, (128, 6)).astype(np.uint32)
        one = kernel(seeds)
        seeds[5, 3] += 1
        two = kernel(seeds)
        self.assertEqual([int(p) for p in np.flatnonzero((one != two).any((1, 2)))], [5])

    def test_programs_of_a_grid(self) -> None:
        """Unseeded, each its own numbers; seeded alike, the same."""
        def kernel(seeded):
            out = nl1.ndarray((4, 128, 32), dtype=nl1.float32, buffer=nl1.shared_hbm)
            if seeded:
                nl1.random_seed(3)
            nl1.store(out[nl1.program_id(0)], nl1.rand((128, 32), dtype=nl1.float32))
            return out

        own, alike = nki1.jit(kernel)[4](False), nki1.jit(kernel)[4](True)
        self.assertLess((own[0] == own[1]).mean(), 1e-2)
        self.same(alike, np.broadcast_to(alike[:1], alike.shape))

    def test_bounds_of_tiles(self) -> None:
        @nki.jit
        def kernel(low):
            out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
            a, t = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf), nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=a, src=low)
            nisa.rand2(t, a, 200.0)
            nisa.dma_copy(dst=out, src=t)
            return out

        low = np.arange(128, dtype=np.float32)[:, None]
        r = kernel(low)
        self.assertTrue(((low <= r) & (r <= 200)).all())
        self.assertAlmostEqual(float(((r - low) / (200 - low)).mean()), 0.5, delta=0.02)

    def test_wrong_seeds(self) -> None:
        def kernel(words: int, dtype):
            def k(x):
                s = nl.zeros((4, words), dtype=dtype, buffer=nl.sbuf)
                nisa.rand_set_state(s)
                t = nl.ndarray((128, 4), dtype=nl.uint32, buffer=nl.sbuf)
                nisa.rng(t, engine=nisa.gpsimd_engine)
                return t
            return k

        for words, dtype, told in ((5, nl.uint32, r"rand_set_state: seeds of shape \(4, 5\)"), (6, nl.int16, "type int16, expected one of 32 bits"),
                                   (6, nl.uint32, "rng: the generator was seeded for 4 partitions, dst has 128")):
            with self.assertRaisesRegex(nki.NkiError, r"test_generators.py:\d+: .*" + told):
                nki.jit(kernel(words, dtype))(np.zeros(1, np.float32))


if __name__ == "__main__":
    main()
