"""`prism.lib.attention_backward` on NumPy arrays, beside float64: layouts, alignments, shared heads, strides, empty ones, errors.

Tests of prism/lib/algorithms/attention_backward: api, plan, ships, cases (tests/lib/test_algorithms.py calls these), and of
prism/lib/algorithms/attention/options.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import prism
from prism.lib.algorithms.attention_backward.ships import instances
from tests.kernels.test_attention_backward import bound, exact
from tests.rarely import rarely

FORWARD = ("causal", "window", "scale", "softcap", "layout")


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float16)


def check(q, k, v, dout, *, ahead=None, back=None, axes=(0, 1, 2, 3), **options) -> None:
    """Call forward and backward, and compare with float64's gradients."""
    common = {name: options[name] for name in FORWARD if name in options}
    out, lse = prism.lib.attention(q, k, v, lse=True, **common)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, **options)
    four = [(x[None] if x.ndim == 3 else x).transpose(axes).astype(np.float64) for x in (q, k, v, dout)]
    scale = options.get("scale") or 1 / math.sqrt(q.shape[-1])
    bounds = (1 << 30 if one is None else one for one in (ahead, back))
    _, _, wanted, (sizes, most) = exact(*four, scale, *bounds, options.get("softcap"))
    for given, one, want, size, many in zip((q, k, v), found, wanted, sizes, most, strict=True):
        assert one.shape == given.shape and one.dtype == given.dtype
        here = (one[None] if one.ndim == 3 else one).transpose(axes)
        assert (np.abs(here.astype(np.float64) - want) <= bound(want, size, many, "float16")).all()


@pytest.mark.parametrize("deterministic", [False, True])
def test_layouts(deterministic: bool) -> None:
    q, k, v, dout = numbers(2, 30, 4, 40), numbers(2, 50, 2, 40), numbers(2, 50, 2, 16), numbers(2, 30, 4, 16)
    check(q, k, v, dout, layout="blhd", axes=(0, 2, 1, 3), deterministic=deterministic)
    check(*(x.swapaxes(1, 2) for x in (q, k, v, dout)), deterministic=deterministic)


@pytest.mark.parametrize(("causal", "ahead"), [(False, None), (True, -20), ("bottom_right", -20), ("top_left", 0)])
def test_alignments(causal: bool | str, ahead: int | None) -> None:
    """Rows that see no key have zeros, and give none."""
    check(numbers(2, 50, 64), numbers(2, 30, 64), numbers(2, 30, 64), numbers(2, 50, 64), causal=causal, ahead=ahead)


@pytest.mark.parametrize(
    ("window", "causal", "back", "ahead"),
    [(9, False, 29, -11), ((None, 4), False, None, -16), ((12, 30), "top_left", 12, 0)],
)
def test_windows(window: Any, causal: bool | str, back: int | None, ahead: int) -> None:
    """A place of a query is that of a key, by either corner: 50 queries and 30 keys."""
    arrays = numbers(2, 50, 64), numbers(2, 30, 64), numbers(2, 30, 64), numbers(2, 50, 64)
    check(*arrays, window=window, causal=causal, ahead=ahead, back=back)


def test_softcap_and_wide_heads() -> None:
    q, k, v, dout = numbers(2, 30, 136), numbers(1, 50, 136), numbers(1, 50, 200), numbers(2, 30, 200)
    check(q, k, v, dout, softcap=2.0, causal=True, ahead=20)


@pytest.mark.parametrize("batches", [1, 3])
def test_sinks(batches: int) -> None:
    """`out` and `lse` of a call with sinks tell of them; finite differences of float64 are the truth."""
    q, k, v, dout = (numbers(batches, 2, *shape) for shape in ((100, 16), (6, 16), (6, 8), (100, 8)))
    sinks = np.array([0.5, -1.0], np.float32)
    out, lse = prism.lib.attention(q, k, v, sinks=sinks, lse=True)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, sinks=sinks)
    assert found[3].shape == sinks.shape and found[3].dtype == np.float32
    spread = np.array([0.5, 9, -1.0, 9], np.float32)[::2]
    same = prism.lib.attention_backward(dout, q, k, v, out, lse, sinks=spread)
    assert all(np.array_equal(x, y) for x, y in zip(found, same, strict=True))

    def total(*arrays: Any) -> Any:
        a, b, c, d = (x.astype(np.float64) for x in arrays)
        powers = np.exp(a @ b.swapaxes(2, 3) / 4)
        return (powers @ c / (powers.sum(-1, keepdims=True) + np.exp(d[:, None, None])) * dout).sum()

    for at, one in enumerate(found):
        for place in ((0,), (1,)) if at == 3 else ((0, 0, 1, 2), (batches - 1, 1, 3, 5)):
            ends = []
            for step in (1e-4, -1e-4):
                moved = [x.astype(np.float64) for x in (q, k, v, sinks)]
                moved[at][place] += step
                ends.append(total(*moved))
            # Weights and results are rounded to 11 bits; a sink's gradient is a sum over all rows.
            assert abs((ends[0] - ends[1]) / 2e-4 - one[place]) < (4e-2 if at else 4e-3)


def test_scale_and_strides() -> None:
    """Arrays with gaps, turned round and broadcast."""
    q, k, v = (
        numbers(3, 40, 64)[::2, ::-1, :48],
        numbers(2, 70, 48)[:, ::2],
        np.broadcast_to(numbers(35, 24), (2, 35, 24)),
    )
    check(q, k, v, np.broadcast_to(numbers(1, 1, 24), (2, 40, 24)), scale=0.3)


def test_a_call_again_has_the_same_bits() -> None:
    q, k, v, dout = (numbers(2, 100, 32, seed=i) for i in range(4))
    out, lse = prism.lib.attention(q, k, v, lse=True)
    first, again = (prism.lib.attention_backward(dout, q, k, v, out, lse, deterministic=True) for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))


@pytest.mark.parametrize(("batches", "heads", "rows", "keys"), [(0, 1, 3, 3), (1, 0, 3, 3), (1, 1, 0, 3), (1, 1, 3, 0)])
def test_extents_of_0(batches: int, heads: int, rows: int, keys: int) -> None:
    q, k = numbers(batches, heads, rows, 8), numbers(batches, heads, keys, 8)
    lse = np.zeros((batches, heads, rows), np.float32)
    found = prism.lib.attention_backward(q, q, k, k, q, lse)
    assert all(x.shape == y.shape and not x.any() for x, y in zip(found, (q, k, k), strict=True))


Q, K, LSE = np.zeros((1, 2, 5, 8), np.float16), np.zeros((1, 1, 6, 8), np.float16), np.zeros((1, 2, 5), np.float32)
RIGHT = {"dout": Q, "q": Q, "k": K, "v": K, "out": Q, "lse": LSE}
WRONG = [
    ({"lse": LSE.astype(np.float64)}, TypeError, "`lse` has dtype float64"),
    ({"out": Q.astype(np.float32)}, TypeError, "`out` has dtype float32"),
    ({"q": Q.view(np.uint16)}, TypeError, "`q` has dtype uint16"),
    ({"k": [1, 2]}, TypeError, "`k`"),
    ({"dout": Q[:, :, :4]}, ValueError, "`dout` has shape"),
    ({"out": Q[:, :1]}, ValueError, "`out` has shape"),
    ({"lse": LSE[:, :, 1:]}, ValueError, "`lse` has shape"),
    ({"lse": LSE[0]}, ValueError, "`lse` has shape"),
    ({"v": K[:, :, 1:]}, ValueError, "`k` and `v`"),
    ({"k": K[0]}, ValueError, "`k` has shape"),
    ({"k": np.zeros((2, 1, 6, 8), np.float16), "v": np.zeros((2, 1, 6, 8), np.float16)}, ValueError, "batches"),
    ({"k": np.zeros((1, 3, 6, 8), np.float16), "v": np.zeros((1, 3, 6, 8), np.float16)}, ValueError, "heads"),
    ({"q": np.zeros((1, 2, 5, 264), np.float16)}, ValueError, "`q` has 264 elements"),
    ({"q": np.zeros((1, 2, 5, 12), np.float16)}, ValueError, "`q` has 12 elements"),
    ({"k": np.zeros((1, 1, 6, 16), np.float16)}, ValueError, "`q` and `k` have 8 and 16"),
    ({"causal": "left"}, ValueError, "`causal`"),
    ({"layout": "lbhd"}, ValueError, "`layout`"),
    ({"scale": "1/8"}, TypeError, "`scale`"),
    ({"softcap": 0}, ValueError, "`softcap`"),
    ({"sinks": np.zeros(3, np.float32)}, ValueError, "`sinks` has shape"),
    ({"sinks": np.zeros(2, np.float16)}, TypeError, "`sinks` has dtype float16"),
    ({"softcap": "much"}, TypeError, "`softcap`"),
    ({"window": (1, 2, 3)}, ValueError, "`window`"),
    ({"window": -1}, ValueError, "`window`"),
    ({"stream": 0}, ValueError, "`stream`"),
]


@pytest.mark.parametrize(("given", "kind", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_errors(given: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        prism.lib.attention_backward(**RIGHT | given)


class Hopper:
    """A GPU, as plans ask for one."""

    wave: Any = None
    host, arch, multiprocessors = False, "sm_90a", 132


def test_what_ships() -> None:
    """Of two dtypes and widths `prepare` and `change_keys`, with sums of dQ and without, causal or not, and how each ends.

    Of the wider, tiles of rows that see all keys are larger, and have a first and a last kernel of their own.
    """
    shipped = list(instances(Hopper()))
    assert len(shipped) == len(set(shipped)) == 2 * (11 + 13)
    other = Hopper()
    other.arch = "sm_80"
    assert not list(instances(other))


SIZES = list(itertools.product((1, 7, 65), (1, 66), (8, 120)))


@pytest.mark.parametrize(("rows", "keys", "dim"), rarely(SIZES, but=SIZES[5:7]))
def test_sizes(rows: int, keys: int, dim: int) -> None:
    q, k, dout = numbers(1, rows, dim), numbers(1, keys, dim), numbers(1, rows, dim, seed=1)
    for deterministic in (False, True):
        check(q, k, k, dout, deterministic=deterministic, causal=True, ahead=keys - rows)
