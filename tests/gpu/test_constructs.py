"""The constructs' kernels on the GPU: the same results as the reference machine's, which the other tests hold to NumPy."""

import numpy as np
import pytest

from prism.lang import bf16, half
from prism.lang.types.shorts import bf16_bits
from tests.interpret.test_arithmetic import STRANGE, to_integers
from tests.lang.check.test_pointers import chosen, rotate
from tests.lang.check.test_speech import clusters, counted
from tests.lang.check.test_unsafe import mixed
from tests.lang.check.test_vectors import swap, table
from tests.lang.types.test_halves import axpy

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


def compare_both(kernel, shape, arguments, template=None):
    """Launch on copies of the same arrays, on the host and on the GPU, and compare what is in them bit by bit."""
    host = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    there = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[shape](*host, template=template)
    kernel[shape](*there, template=template)
    for one, other in zip(host, there, strict=True):
        if isinstance(one, np.ndarray):
            assert one.tobytes() == cupy.asnumpy(other).tobytes()


@pytest.mark.parametrize("kind", [half, bf16], ids=str)
def test_floats_of_16_bits(kind):
    x = np.random.default_rng(2).normal(size=64 * 32).astype(np.float32)
    stored = x.astype(np.float16) if kind == half else bf16_bits(x)
    f, n = np.zeros(x.size, np.float32), np.zeros(x.size, np.int32)
    compare_both(axpy, (64, 32), [stored, np.zeros_like(stored), 0.7, f, n], {"T": kind})


@pytest.mark.parametrize("wide", [True, False])
def test_vectors(wide):
    x = np.random.default_rng(0).normal(size=512).astype(np.float32)
    compare_both(swap, (4, 32), [x, np.zeros_like(x), 0.5], {"WIDE": wide})
    compare_both(table, (1, 32), [np.zeros(32, np.int32)])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_pointers(n):
    compare_both(rotate, (1, 64), [np.arange(64, dtype=np.int32), n], {"SWAP": True})
    z, w = np.full(32, 7, np.int32), np.full(32, 9, np.int32)
    compare_both(chosen, (1, 32), [np.zeros(32, np.int32), z, w, n])


def test_unsafe_and_extern():
    compare_both(mixed, (1, 32), [np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32), 4])


def test_counts_returns_and_clusters():
    compare_both(counted, (2, 64), [np.zeros(128, np.int32), 1], {"U": 4})
    compare_both(clusters, (8, 32), [np.zeros(256, np.int32)])


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_floats_that_no_integer_is(kind):
    """Out of range, infinite, NaN: what a kernel makes of them is an index, perhaps, and the machine must see it."""
    x = np.zeros(32, kind)
    x[: len(STRANGE)] = STRANGE
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        compare_both(to_integers, (1, 32), [x, np.zeros(32, name)], {"T": kind, "OP": name})
