"""What all tests of this folder share."""
from __future__ import annotations

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("..", os.path.join("..", "compat")):
    sys.path.insert(0, os.path.join(HERE, part))

import numpy as np  # noqa: E402


class Case(unittest.TestCase):
    """Comparisons of arrays with NumPy."""

    def close(self, got: object, want: object, rtol: float = 1e-5, atol: float = 1e-6) -> None:
        g, w = np.asarray(got), np.asarray(want)
        self.assertEqual(g.shape, w.shape)
        np.testing.assert_allclose(g.astype(np.float64), w.astype(np.float64), rtol, atol)

    def same(self, got: object, want: object) -> None:
        g, w = np.asarray(got), np.asarray(want)
        self.assertEqual(g.shape, w.shape)
        np.testing.assert_array_equal(g, w)


def main() -> None:
    unittest.main(verbosity=1)
