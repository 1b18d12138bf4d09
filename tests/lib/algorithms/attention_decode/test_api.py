"""prism.lib.attention_decode: what it refuses, and how; what it copies, and what it takes as it is.

Tests of prism/lib/algorithms/attention_decode: api, asked, plan, cases, ships.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import prism
from prism.lib.algorithms.attention_decode import ships


def zeros(*shape: int, dtype: Any = np.float16) -> Any:
    return np.zeros(shape, dtype)


Q, K = zeros(2, 4, 1, 64), zeros(2, 2, 32, 64)
LENGTHS, TABLE = zeros(2, dtype=np.int32), zeros(2, 3, dtype=np.int32)
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"q": zeros(2, 4, 64)}, ValueError, r"`q` has shape \(2, 4, 64\): attention_decode takes arrays of 4 axes"),
    (
        {"q": zeros(2, 4, 1, 60), "k": zeros(2, 2, 32, 60)},
        ValueError,
        "`q` has 60 elements a head: .* multiples of 8 up to 256",
    ),
    ({"k": zeros(2, 2, 32, 72)}, ValueError, "`q` and `k` have 64 and 72 elements a head"),
    ({"v": zeros(2, 2, 31, 64)}, ValueError, "they may differ in the last axis alone"),
    ({"k": zeros(2, 3, 32, 64), "v": zeros(2, 3, 32, 64)}, ValueError, "`q` has 4 heads and `k` 3"),
    ({"k": zeros(3, 2, 32, 64), "v": zeros(3, 2, 32, 64)}, ValueError, "`q` and `k` have 2 and 3 sequences"),
    ({"lengths": zeros(3, dtype=np.int32)}, ValueError, r"`lengths` has shape \(3,\), and there are 2 sequences"),
    (
        {"page_table": zeros(3, 3, dtype=np.int32)},
        ValueError,
        r"`page_table` has shape \(3, 3\), and there are 2 sequences",
    ),
    ({"page_table": zeros(2, dtype=np.int32)}, ValueError, "most pages"),
    ({"k": zeros(9, 2, 0, 64), "v": zeros(9, 2, 0, 64), "page_table": TABLE}, ValueError, "`k` has no keys a page"),
    ({"causal": "top_left"}, TypeError, "`causal` is True or False, not 'top_left'"),
    ({"causal": np.ones(2, bool)}, TypeError, "`causal` is True or False"),
    ({"lse": 2}, TypeError, "`lse` is True or False, not 2"),
    ({"scale": 1e39}, ValueError, "`scale` must be positive, and finite"),
    ({"out": (Q, None), "lse": True}, TypeError, "`out` must be a pair of arrays"),
    ({"layout": "lbhd"}, ValueError, "`layout` is 'bhld' or 'blhd', not 'lbhd'"),
    ({"scale": 0.0}, ValueError, "`scale` must be positive"),
    ({"scale": float("inf")}, ValueError, "`scale` must be positive, and finite"),
    ({"scale": "1"}, TypeError, "`scale` is a number, not '1'"),
    ({"q": Q.astype(np.float32)}, TypeError, "`q` has dtype float32"),
    ({"v": K.astype(np.int8)}, TypeError, "`v` has dtype int8"),
    ({"lengths": LENGTHS.astype(np.int64)}, TypeError, "`lengths` has dtype int64, and attention_decode takes int32"),
    ({"page_table": TABLE.astype(np.float32)}, TypeError, "`page_table` has dtype float32"),
    ({"out": zeros(2, 4, 1, 72)}, ValueError, "`out` has shape"),
    ({"out": Q, "lse": True}, TypeError, "`out` must be a pair of arrays"),
    ({"stream": 3}, ValueError, "`stream` is for arrays on a GPU"),
    ({"q": [1]}, TypeError, "`q`"),
]


@pytest.mark.parametrize(
    ("given", "error", "text"), REFUSED, ids=lambda x: ",".join(x) if isinstance(x, dict) else None
)
def test_what_is_refused(given: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        prism.lib.attention_decode(**{"q": Q, "k": K, "v": K, **given})


def test_empty_arrays() -> None:
    """No sequences, no tokens, no heads: an empty result, of the right shape."""
    for q, k in (
        (zeros(0, 4, 1, 64), zeros(0, 2, 32, 64)),
        (zeros(2, 4, 0, 64), K),
        (zeros(2, 0, 1, 64), zeros(2, 0, 32, 64)),
    ):
        found, logs = prism.lib.attention_decode(q, k, k, lse=True)
        assert found.shape == q.shape and logs.shape == q.shape[:3] and logs.dtype == np.float32


def test_strides_and_scales() -> None:
    """Arrays with gaps, or the other way round, give what dense ones do; twice the scale is twice the queries."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=shape).astype(np.float16) for shape in ((2, 4, 3, 64), (2, 2, 40, 64), (2, 2, 40, 32)))
    lengths = np.array([40, 17], np.int32)
    wanted = prism.lib.attention_decode(q, k, v, lengths=lengths)
    apart = np.zeros((2, 2, 40, 80), np.float16)
    apart[..., 5:69] = k
    assert np.array_equal(
        prism.lib.attention_decode(q, apart[..., 5:69], v, lengths=np.repeat(lengths, 2)[::2]), wanted
    )
    assert np.array_equal(prism.lib.attention_decode(q[::-1], k[::-1], v[::-1], lengths=lengths[::-1]), wanted[::-1])
    out = np.zeros((2, 4, 64, 3), np.float16)[..., :32, :].swapaxes(2, 3)
    assert prism.lib.attention_decode(q, k, v, lengths=lengths, out=out) is out and np.array_equal(out, wanted)
    assert np.array_equal(prism.lib.attention_decode(2 * q, k, v, lengths=lengths, scale=1 / 16), wanted)
    # Of a scale that is 0 in float32 all keys that are there weigh as much.
    mean = np.stack([v[b, :, : lengths[b]].astype(np.float64).mean(1) for b in range(2)])
    found = prism.lib.attention_decode(q, k, v, lengths=lengths, scale=1e-300, causal=False)
    assert np.abs(found.astype(np.float64).reshape(2, 2, 6, 32) - mean[:, :, None]).max() < 2.0**-10


def test_what_ships() -> None:
    """For Hopper alone; kernels that differ."""
    assert not list(ships.instances(SimpleNamespace(arch="sm_80")))
    found = list(ships.instances(SimpleNamespace(arch="sm_90a")))
    assert len({(one.kernel, one.template) for one in found}) == len(found) == 48
