"""`prism.lib.attention_backward` of packed sequences, on NumPy arrays: each as if it were alone, bit for bit; errors.

What is theirs of kernels/attention/backward_place.py, and of the backward's api and plan.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from prism import interpret, lib
from tests.lib.algorithms.attention.test_packed import KEYS, LENGTHS, starts, three
from tests.lib.algorithms.attention_backward.test_api import numbers
from tests.rarely import rarely

FORWARD = ("causal", "window", "scale", "softcap", "sinks")
OPTIONS: list[dict[str, Any]] = [
    {}, {"causal": True}, {"causal": "top_left", "window": 9}, {"window": (3, 8), "softcap": 2.0},
]  # fmt: skip


def check(q: Any, k: Any, v: Any, lengths: Any, keys: Any, **options: Any) -> None:
    """Compare with calls of each sequence alone, of which all but parts of dQ are added up in the same order."""
    of_rows, of_keys = starts(lengths), starts(keys)
    dout = numbers(*q.shape[:2], v.shape[2])
    common = {name: options[name] for name in FORWARD if name in options}
    out, lse = lib.attention(q, k, v, offsets=of_rows, key_offsets=of_keys, lse=True, **common)
    how = {"offsets": of_rows, "key_offsets": of_keys, **options}
    found = lib.attention_backward(dout, q, k, v, out, lse, **how)
    total = 0
    for s, rows in enumerate(lengths):
        here, there = slice(of_rows[s], of_rows[s + 1]), slice(of_keys[s], of_keys[s + 1])
        alone = [x[here] if x.shape[0] == q.shape[0] else x[there] for x in (dout, q, k, v, out)]
        alone[2:4] = k[there], v[there]
        wanted = lib.attention_backward(*alone, np.ascontiguousarray(lse[:, here]), layout="blhd", **options)
        assert np.array_equal(found[1][there], wanted[1]) and np.array_equal(found[2][there], wanted[2])
        assert np.allclose(found[0][here], wanted[0], rtol=2.0**-10, atol=2.0**-14)
        total = total + wanted[3] if "sinks" in options and rows else total
    if "sinks" in options:
        assert np.allclose(found[3], total, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", rarely(OPTIONS, but=OPTIONS[1:3]), ids=str)
@pytest.mark.parametrize("deterministic", [False, True])
def test_sequences_are_as_if_alone(options: dict[str, Any], deterministic: bool) -> None:
    check(*three(LENGTHS, KEYS), LENGTHS, KEYS, deterministic=deterministic, **options)


def test_sinks() -> None:
    check(*three((5, 0, 70), (9, 3, 0)), (5, 0, 70), (9, 3, 0), sinks=np.array([0, 2], np.float32))


def test_one_length_for_all_and_layouts() -> None:
    q, k, v = three((40, 40), (40, 40))
    dout, offsets = numbers(80, 2, 24), starts((40, 40))
    out, lse = lib.attention(q, k, v, offsets=offsets, lse=True)
    found = lib.attention_backward(dout, q, k, v, out, lse, offsets=offsets, deterministic=True)
    turned = [x.swapaxes(0, 1) for x in (dout, q, k, v, out)]
    how: dict[str, Any] = {"offsets": np.repeat(offsets, 2)[::2].astype(np.int64), "deterministic": True}
    again = lib.attention_backward(*turned, lse, layout="bhld", **how)
    assert all(np.array_equal(x, y.swapaxes(0, 1)) for x, y in zip(found, again, strict=True))


def test_nothing() -> None:
    q, k, v = three((), ())
    lse = np.zeros((2, 0), np.float32)
    found = lib.attention_backward(numbers(0, 2, 24), q, k, v, numbers(0, 2, 24), lse, offsets=starts((0, 0)))
    assert [x.shape for x in found] == [x.shape for x in (q, k, v)]
    q, k, v = three((3,), (5,))
    out, lse = lib.attention(q, k, v, offsets=starts((3,)), key_offsets=starts((5,)), lse=True)
    offsets = {"offsets": starts(()), "key_offsets": starts(())}
    assert not any(x.any() for x in lib.attention_backward(out, q, k, v, out, lse, **offsets))


@pytest.mark.parametrize("deterministic", [False, True])
def test_tiles_without_rows_or_keys_read_nothing(deterministic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of shared memory that nobody wrote, NaN times a weight of nothing became a gradient on a GPU: the machine tells."""
    lengths, keys = (3, 125), (128, 0)  # of both tiles of 128: a number that has none, and a sequence without keys
    q, k, v = three(lengths, keys)
    offsets = {"offsets": starts(lengths), "key_offsets": starts(keys)}
    out, lse = lib.attention(q, k, v, lse=True, **offsets)
    monkeypatch.setattr(interpret, "run", functools.partial(interpret.run, check=True))
    dq, _, _ = lib.attention_backward(numbers(*out.shape), q, k, v, out, lse, deterministic=deterministic, **offsets)
    assert dq[:3].any() and not dq[3:].any()


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "falls": ({"offsets": np.array([0, 5, 3, 7], np.int32)}, ValueError, "`offsets` falls from 5 to 3, at element 2"),
    "beyond": ({"offsets": np.array([0, 8], np.int32)}, ValueError, "`offsets` ends with 8, and `q` has 7 rows"),
    "floats": ({"offsets": np.array([0.0, 7])}, TypeError, "`offsets` has dtype float64"),
    "of keys alone": ({"key_offsets": np.array([0, 7])}, ValueError, "`key_offsets` is given, and `offsets` is not"),
    "layout": ({"offsets": np.array([0, 7]), "layout": "lhd"}, ValueError, "`layout` is 'bhld' or 'blhd', not 'lhd'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors(what: str) -> None:
    how, kind, text = WRONG[what]
    q, k, v = three((7,), (7,))
    dout, lse = numbers(7, 2, 24), np.zeros((2, 7), np.float32)
    with pytest.raises(kind, match=text):
        lib.attention_backward(dout, q, k, v, dout, lse, **how)


def test_errors_of_axes() -> None:
    q, k, v = (x[None] for x in three((7,), (7,)))
    dout, lse = numbers(1, 7, 2, 24), np.zeros((1, 2, 7), np.float32)
    with pytest.raises(ValueError, match="with `offsets` attention_backward takes arrays of 3 axes"):
        lib.attention_backward(dout, q, k, v, dout, lse, offsets=starts((7,)))
