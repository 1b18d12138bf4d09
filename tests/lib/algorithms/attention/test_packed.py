"""`prism.lib.attention` of packed sequences, on NumPy arrays: each as if it were alone, bit for bit; errors; a GPU's plan."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from prism import lib
from prism.host.memory import view_of
from prism.lib.algorithms.attention.api import decide_attention
from prism.lib.algorithms.attention.packed import map_of
from prism.lib.views import new_view
from prism.runtime.arrays import describe
from tests.lib.algorithms.attention.test_api import LAID, normal

GPU = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132)
LENGTHS, KEYS = (5, 0, 70, 130, 1), (9, 3, 0, 70, 64)


def starts(lengths: Any, dtype: Any = np.int32) -> Any:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def three(lengths: Any, keys: Any, *, heads: int = 2, kv_heads: int = 1) -> tuple[Any, Any, Any]:
    shapes = (sum(lengths), heads, 16), (sum(keys), kv_heads, 16), (sum(keys), kv_heads, 24)
    return tuple(normal(*shape, seed=number) for number, shape in enumerate(shapes))  # type: ignore[return-value]


def check(q: Any, k: Any, v: Any, lengths: Any, keys: Any, **options: Any) -> None:
    """Compare with calls of each sequence alone."""
    of_rows, of_keys = starts(lengths), starts(keys)
    found, logs = lib.attention(q, k, v, offsets=of_rows, key_offsets=of_keys, lse=True, **options)
    assert found.shape == (*q.shape[:2], v.shape[2]) and logs.shape == (q.shape[1], q.shape[0])
    for s, rows in enumerate(lengths):
        here, there = slice(of_rows[s], of_rows[s + 1]), slice(of_keys[s], of_keys[s + 1])
        if rows:
            wanted, of_wanted = lib.attention(q[here], k[there], v[there], layout="blhd", lse=True, **options)
            assert np.array_equal(found[here], wanted) and np.array_equal(logs[:, here], of_wanted)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"causal": True}, {"causal": "top_left", "window": 9}, {"window": (3, 8), "softcap": 2.0},
        {"causal": True, "scale": -0.3},
    ],
    ids=str,
)  # fmt: skip
def test_sequences_are_as_if_alone(options: dict[str, Any]) -> None:
    check(*three(LENGTHS, KEYS), LENGTHS, KEYS, **options)


def test_sinks() -> None:
    check(*three(LENGTHS, KEYS), LENGTHS, KEYS, sinks=np.array([0, 2], np.float32))


def test_one_length_for_all_and_offsets_of_both() -> None:
    q, k, v = three((64,) * 3, (64,) * 3)
    offsets = starts((64,) * 3)
    found = lib.attention(q, k, v, offsets=offsets)
    assert np.array_equal(found, lib.attention(q, k, v, offsets=offsets, key_offsets=offsets.copy()))
    apart = lib.attention(*(x.reshape(3, 64, *x.shape[1:]) for x in (q, k, v)), layout="blhd")
    assert np.array_equal(found, apart.reshape(found.shape))
    assert np.array_equal(found, lib.attention(q, k, v, offsets=offsets.astype(np.int64)))
    assert np.array_equal(found, lib.attention(q, k, v, offsets=np.repeat(offsets, 2)[::2]))
    heads_first = lib.attention(*(x.swapaxes(0, 1) for x in (q, k, v)), offsets=offsets, layout="bhld")
    assert np.array_equal(heads_first.swapaxes(0, 1), found)


@pytest.mark.parametrize("how", LAID)
def test_layouts(how: str) -> None:
    q, k, v = three((7, 9), (7, 9))
    wanted = lib.attention(q, k, v, offsets=starts((7, 9)), causal=True)
    turned = {"backwards": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1]}.get(how, LAID[how])
    assert np.array_equal(lib.attention(*map(turned, (q, k, v)), offsets=starts((7, 9)), causal=True), wanted)


def test_rows_behind_the_last_sequence_stay_as_they_are() -> None:
    q, k, v = three((7, 9, 4), (7, 9, 4))
    wanted = lib.attention(q, k, v, offsets=starts((7, 9, 4)))
    out = np.full(wanted.shape, 7, np.float16)
    assert lib.attention(q, k, v, offsets=starts((7, 9)), out=out) is out
    assert np.array_equal(out[:16], wanted[:16]) and (out[16:] == 7).all()
    wanted_of_two = out.copy()
    assert lib.attention(q, k, v, offsets=starts(()), out=out) is out and np.array_equal(out, wanted_of_two)
    pair = np.zeros_like(wanted), np.zeros((2, 20), np.float32)
    found = lib.attention(q, k, v, offsets=starts((7, 9, 4)), lse=True, out=pair)
    assert found[0] is pair[0] and np.array_equal(pair[0], wanted)


def test_nothing() -> None:
    q, k, v = three((), ())
    assert lib.attention(q, k, v, offsets=starts((0, 0))).shape == (0, 2, 24)
    q, k, v = three((3, 70), ())
    found, logs = lib.attention(q, k, v, offsets=starts((3, 70)), key_offsets=starts((0, 0)), lse=True)
    assert not found.any() and np.isneginf(logs).all()


WRONG: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no 0": ([1, 7], {}, ValueError, "`offsets` begins with 1"),
    "falls": ([0, 5, 3, 7], {}, ValueError, "`offsets` falls from 5 to 3, at element 2"),
    "beyond": ([0, 5, 8], {}, ValueError, "`offsets` ends with 8, and `q` has 7 rows"),
    "floats": (np.array([0.0, 7]), {}, TypeError, "`offsets` has dtype float64: offsets are of int32 or int64"),
    "short": (np.array([0, 7], np.int16), {}, TypeError, "`offsets` has dtype int16"),
    "no array": ("0, 7", {}, TypeError, "`offsets`"),
    "axes": (np.array([[0, 7]]), {}, ValueError, "`offsets` must have 1 axis, not 2"),
    "empty": (np.zeros(0, np.int32), {}, ValueError, "`offsets` must have one element more than there are sequences"),
    "of keys alone": (None, {"key_offsets": np.array([0, 7])}, ValueError, "`key_offsets` is given, and `offsets` is not"),
    "two dtypes": ([0, 7], {"key_offsets": np.array([0, 7], np.int64)}, TypeError, "`key_offsets` has dtype int64: it must"),
    "other sequences": ([0, 7], {"key_offsets": np.array([0, 3, 7], np.int32)}, ValueError, "as many elements as `offsets`, 2"),
    "keys beyond": ([0, 7], {"key_offsets": np.array([0, 9], np.int32)}, ValueError, "`key_offsets` ends with 9, and `k` has 7"),
    "layout": ([0, 7], {"layout": "lhd"}, ValueError, "`layout` is 'bhld' or 'blhd', not 'lhd'"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors(what: str) -> None:
    offsets, more, kind, text = WRONG[what]
    if isinstance(offsets, list):
        offsets = np.array(offsets, np.int32)
    with pytest.raises(kind, match=text):
        lib.attention(*three((7,), (7,)), offsets=offsets, **more)


def test_errors_of_arrays() -> None:
    offsets, (q, k, v) = starts((7,)), three((7,), (7,))
    with pytest.raises(ValueError, match="`q` has 7 rows and `k` 5: where they differ, `key_offsets` must be given"):
        lib.attention(q, k[:5], v[:5], offsets=offsets)
    with pytest.raises(
        ValueError, match=r"`q` has shape \(1, 7, 2, 16\): with `offsets` attention takes arrays of 3 axes"
    ):
        lib.attention(q[None], k[None], v[None], offsets=offsets)
    with pytest.raises(
        TypeError, match="`q` has dtype float8_e4m3fn: with `offsets` attention takes float16 or bfloat16"
    ):
        lib.attention(*(x.astype(ml_dtypes.float8_e4m3fn) for x in (q, k, v)), offsets=offsets)


def test_a_map_ends_where_a_sequence_does() -> None:
    """Row r of the sequence that ends at `end` is at [end, head, rows - length + r]; and what is behind is outside."""
    x = normal(10, 3, 8)
    found = map_of(new_view("x", "float16", x.shape).with_batch().with_order((0, 2, 1, 3)))
    assert (found.shape, found.strides, found.before) == ((11, 3, 10, 8), (48, 16, 48, 2), 480)
    seen = view_of(x.reshape(-1), found.shape, found.strides, found.before)
    for begin, end in ((0, 4), (4, 9), (9, 10)):
        assert np.array_equal(seen[end, :, 10 - (end - begin) :], x[begin:end].swapaxes(0, 1))
    one = map_of(new_view("x", "float16", (1, 3, 8)).with_batch().with_order((0, 2, 1, 3)))
    assert (one.shape, one.before) == ((2, 3, 1, 8), 48)


def test_the_plan_of_a_gpu() -> None:
    """One launch of no more blocks than tiles; its tiles are cut by what sequences have on average; int64 is read as it is."""
    q, k, v = (np.zeros((1000, 4, 64), np.float16) for _ in range(3))
    for count, dtype, groups in ((1, np.int32, 3), (2, np.int32, 2), (100, np.int64, 1)):
        arrays = {"q": q, "k": k, "v": v, "offsets": np.zeros(count + 1, dtype)}
        infos = {name: describe(array, name) for name, array in arrays.items()}
        how: dict[str, Any] = {"causal": True, "window": (None, None), "scale": None, "softcap": None, "score": None}
        plan = decide_attention(infos, None, GPU, **how, layout=None, lse=False).plan
        assert plan is not None and len(plan.steps) == 1
        step = plan.steps[0]
        template = dict(step.instance.template)
        assert template["INDEX"] == np.dtype(dtype).name and template["CUT"].groups == groups
        assert template["TERMS"].packed and template["TERMS"].last and step.arguments["s"]["pairs"] == 4 * count
        assert step.blocks == min(132, 4 * (1000 // template["CUT"].rows + count))
