"""prism/lib/epilogues.py and prism/lib/thread/activations.py: each function near float64, as an epilogue and by `lazy.map`."""

import math

import numpy as np
import pytest

import prism
from prism.lib import epilogues
from prism.lib.operators import Operator

X = np.concatenate([np.linspace(-30, 30, 2001), [0.0, -0.0, 88.0, -88.0, 1e-30, -1e-30]]).astype(np.float32)
WIDE = X.astype(np.float64)
ERF = np.vectorize(math.erf)
GELU = WIDE / 2 * (1 + ERF(WIDE / math.sqrt(2)))
SIGMOID = 1 / (1 + np.exp(-WIDE))
INNER = math.sqrt(2 / math.pi) * (WIDE + 0.044715 * WIDE**3)
WANTED = {
    "relu": np.maximum(WIDE, 0),
    "relu_squared": np.maximum(WIDE, 0) ** 2,
    "sigmoid": SIGMOID,
    "silu": WIDE * SIGMOID,
    "gelu": GELU,
    "gelu_tanh": WIDE / 2 * (1 + np.tanh(INNER)),
}


@pytest.mark.parametrize("name", WANTED)
def test_of_one_number(name: str) -> None:
    """Within a few units of the last place of what 1 is near: sums in the functions are of numbers near 1, times x.

    GELU by a polynomial is off by 2^-19 more, as it says, and by 2^-6 of itself, up to 6.
    """
    found = prism.lib.evaluate(prism.lib.lazy.map(getattr(epilogues, name), X))
    error, near = np.abs(found - WANTED[name]), np.abs(WIDE) <= 6
    more = 2.0**-19 if name == "gelu" else 1e-37
    assert (error <= 2.0**-21 * np.maximum(np.abs(WIDE), np.abs(WANTED[name])) + more).all()
    assert (error[near] <= 2.0**-6 * np.abs(WANTED[name][near]) + 1e-37).all()


@pytest.mark.parametrize("name, like", [("gelu_fast", "gelu_tanh"), ("silu_fast", "silu")])
def test_fast_ones(name: str, like: str) -> None:
    """The reference machine's tanh is exact; what the GPU's is off by, tests/gpu/test_hgemm_fused.py sees."""
    found = prism.lib.evaluate(prism.lib.lazy.map(getattr(epilogues, name), X))
    assert (np.abs(found - WANTED[like]) <= 2.0**-12 * np.abs(WIDE)).all()


def test_of_two_numbers() -> None:
    up = X[::-1].copy()
    for function, wanted in ((epilogues.swiglu, WIDE * SIGMOID * up), (epilogues.geglu, GELU * up)):
        found = prism.lib.evaluate(prism.lib.lazy.map(function, X, up))
        more = 2.0**-19 * np.abs(up) if function is epilogues.geglu else 1e-35
        assert (np.abs(found - wanted) <= 2.0**-20 * np.maximum(np.abs(WIDE * up), np.abs(wanted)) + more).all()
    found = prism.lib.evaluate(prism.lib.lazy.map(epilogues.clamp, X, np.float32(-1), np.float32(2)))
    assert np.array_equal(found, X.clip(-1, 2))


def test_not_a_number_stays_one() -> None:
    x = np.full(3, np.nan, np.float32)
    for name in ("silu", "gelu", "gelu_tanh", "sigmoid"):
        assert np.isnan(prism.lib.evaluate(prism.lib.lazy.map(getattr(epilogues, name), x))).all(), name


def bits(row: int, column: int, seed: int) -> int:
    """SplitMix64's number for a place, by Python's integers: its state is the place, and so many steps on."""
    most = (1 << 64) - 1
    z = ((row << 32) + column + (seed + 1) * 0x9E3779B97F4A7C15) & most
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & most
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & most
    return (z ^ (z >> 31)) >> 32


def test_dropout_follows_from_the_place() -> None:
    a, b = np.ones((40, 16), np.float16), np.ones((16, 50), np.float16)
    found = prism.lib.hgemm(a, b, epilogue=epilogues.dropout, extra=(0.25, 7), out_dtype="float32")
    kept = np.array([[(bits(i, j, 7) >> 8) >= 0.25 * 2**24 for j in range(50)] for i in range(40)])
    assert np.array_equal(found, np.where(kept, np.float32(16) / np.float32(0.75), 0))
    assert abs(kept.mean() - 0.75) < 4 * math.sqrt(0.25 * 0.75 / kept.size)  # four standard deviations
    other = prism.lib.hgemm(a, b, epilogue=epilogues.dropout, extra=(0.25, 8), out_dtype="float32")
    assert not np.array_equal(found, other)


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"op": "bitwise_or"}, TypeError, "`op` is bitwise_or, which is for integers"),
        ({"op": "sum"}, ValueError, "`op` must be one of add, multiply"),
        (
            {"op": Operator(prism.lib.thread.operators.add, identity=0)},
            ValueError,
            "`op` must be commutative, which add is not",
        ),
        ({"axis": 2}, ValueError, "`axis` must be 0 or 1, not 2"),
    ],
)
def test_what_reduce_refuses(options, error, text: str) -> None:
    with pytest.raises(error) as caught:
        epilogues.reduce(**options)
    assert text in str(caught.value)
