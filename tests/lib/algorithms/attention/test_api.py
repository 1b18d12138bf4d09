"""`prism.lib.attention` of NumPy arrays: layouts, strides, masks, empty arrays, `out`, errors; what a GPU's plan has.

Tests of prism/lib/algorithms/attention: api, plan, ships, cases.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from prism import lib
from prism.host.plan import NO_MAP
from prism.kernels.attention import as_it_is
from prism.lang import device, float32, int32, requires, thread
from prism.lib.algorithms.attention import ships
from prism.lib.algorithms.attention.api import decide_attention
from prism.runtime.arrays import describe
from tests.kernels.test_attention import bound, exact, near_head, near_head_of

GPU = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132)


@device
@requires(thread[1])
def doubled(
    score: float32 @ thread[1], row: int32 @ thread[1], column: int32 @ thread[1], head: int32 @ thread[1]
) -> float32 @ thread[1]:
    return 2 * score


def normal(*shape: int, seed: int = 0, dtype: Any = np.float16) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def three(
    rows: int, keys: int, *, heads: int = 2, kv_heads: int = 1, dim: int = 16, dim_v: int = 24, dtype: Any = np.float16
):
    shapes = (2, heads, rows, dim), (2, kv_heads, keys, dim), (2, kv_heads, keys, dim_v)
    return tuple(normal(*shape, seed=number, dtype=dtype) for number, shape in enumerate(shapes))


def check(
    q, k, v, *, ahead=None, back=None, scale=None, cap=None, sinks=None, score=None, dtype="float16", **options
) -> Any:
    """Compare a call's result, and its logarithms, with float64."""
    found, lse = lib.attention(q, k, v, lse=True, scale=scale, softcap=cap, sinks=sinks, **options)
    given = [x.astype(np.float64) for x in (q, k, v)]
    of = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    wanted, size, logs = exact(*given, of, ahead=ahead, back=back, cap=cap, sinks=sinks, score=score)
    assert found.dtype == q.dtype and lse.dtype == np.float32 and lse.shape == logs.shape
    assert (np.abs(found.astype(np.float64) - wanted) <= bound(wanted, size, given[2], dtype)).all()
    none = np.isneginf(logs)
    assert (np.isneginf(lse) == none).all() and np.allclose(lse[~none], logs[~none], rtol=2.0**-18, atol=2.0**-18)
    return found


@pytest.mark.parametrize(("rows", "keys"), [(5, 5), (5, 70), (70, 5)])
def test_causal_by_either_corner(rows: int, keys: int) -> None:
    q, k, v = three(rows, keys)
    check(q, k, v, causal="top_left", ahead=0)
    last = check(q, k, v, causal=True, ahead=keys - rows)
    assert np.array_equal(last, lib.attention(q, k, v, causal="bottom_right"))
    assert np.array_equal(check(q, k, v), lib.attention(q, k, v, causal=False))


@pytest.mark.parametrize(
    ("window", "options", "ahead", "back"),
    [
        (3, {}, 33, -27), ((3, None), {}, None, -27), ((None, 0), {}, 30, None), ((0, 7), {}, 37, -30), ([2, 1], {}, 31, -28),
        (3, {"causal": True}, 30, -27), (3, {"causal": "top_left"}, 0, 3), ((10**9, 10**9), {}, None, None),
        ((None, None), {}, None, None),
    ],
)  # fmt: skip
def test_windows(window: Any, options: dict[str, Any], ahead: int | None, back: int | None) -> None:
    """About a query's place, that of the last query being the last key's."""
    check(*three(40, 70), window=window, ahead=ahead, back=back, **options)


def test_scale_cap_sinks_and_score() -> None:
    q, k, v = three(9, 11, heads=4, kv_heads=2)
    sinks = np.array([0, -2, 5, 1], np.float32)
    check(q, k, v, scale=0.7, cap=1.5, sinks=sinks)
    for scale in (-0.7, 0.0, 1e-300):
        check(q, k, v, scale=scale)
    check(q, k, v, scale=1e-42, ahead=0, causal="top_left")
    found, _ = lib.attention(q, k, v, score=near_head, lse=True)
    wanted, size, _ = exact(*(x.astype(np.float64) for x in (q, k, v)), 0.25, score=near_head_of)
    assert (np.abs(found - wanted) <= bound(wanted, size, v.astype(np.float64), "float16")).all()
    assert np.array_equal(lib.attention(q, k, v, score=as_it_is), lib.attention(q, k, v))


def test_calls_that_differ_in_an_option_alone_are_others() -> None:
    q, k, v = three(9, 11)
    calls = [{}, {"scale": 0.7}, {"scale": -0.7}, {"scale": 0.0}, {"softcap": 0.5}, {"causal": True}, {"causal": "top_left"},
             {"window": 1}, {"score": doubled}, {"sinks": np.zeros(2, np.float32)}]  # fmt: skip
    for _ in range(2):
        found = [lib.attention(q, k, v, **options).tobytes() for options in calls]
        assert len(set(found)) == len(calls)


def test_bfloat16() -> None:
    check(*three(20, 30, dtype=ml_dtypes.bfloat16), causal=True, ahead=10, dtype="bfloat16")


LAID = {
    "as it is": lambda x: x,
    "turned": lambda x: np.ascontiguousarray(x.T).T,
    "gaps": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1],
    "past": lambda x: np.concatenate([x.ravel()[:1], x.ravel()])[1:].reshape(x.shape),
    "other bytes": lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize("how", LAID)
def test_layouts(how: str) -> None:
    """Batches, lengths, heads, elements: the same bits. And one batch without an axis. However elements lie."""
    given = three(7, 9)
    wanted, logs = lib.attention(*given, causal=True, lse=True)
    assert np.array_equal(lib.attention(*map(LAID[how], given), causal=True), wanted)
    other = [LAID[how](np.ascontiguousarray(x.swapaxes(1, 2))) for x in given]
    found, same = lib.attention(*other, causal=True, layout="blhd", lse=True)
    assert found.shape == (2, 7, 2, 24) and found.flags.c_contiguous
    assert np.array_equal(found.swapaxes(1, 2), wanted) and np.array_equal(same, logs)
    for batch in range(2):
        found, same = lib.attention(*(x[batch] for x in given), causal=True, lse=True)
        assert np.array_equal(found, wanted[batch]) and np.array_equal(same, logs[batch])
        found, same = lib.attention(*(x[batch] for x in other), causal=True, layout="blhd", lse=True)
        assert np.array_equal(found, wanted[batch].swapaxes(0, 1)) and np.array_equal(same, logs[batch])


def test_a_batch_that_is_broadcast() -> None:
    q, k, v = three(7, 9)
    one = np.broadcast_to(k[:1], k.shape)
    assert np.array_equal(lib.attention(q, one, v), lib.attention(q, one.copy(), v))


def test_out() -> None:
    q, k, v = three(7, 9)
    wanted, logs = lib.attention(q, k, v, lse=True)
    for make in (
        lambda: np.full(wanted.shape, 7, np.float16), lambda: np.full((2, 2, 7, 30), 7, np.float16)[..., 3:27],
        lambda: np.full((2, 7, 2, 24), 7, np.float16).swapaxes(1, 2), lambda: np.full(wanted.shape, 7, np.float16)[..., ::-1],
    ):  # fmt: skip
        out = make()
        room = out if out.base is None else out.base
        assert lib.attention(q, k, v, out=out) is out and np.array_equal(out, wanted)
        out[...] = 7
        assert (room == 7).all(), "written beside the result"
    pair = np.empty_like(wanted), np.empty_like(logs)
    found = lib.attention(q, k, v, lse=True, out=pair)
    assert found[0] is pair[0] and found[1] is pair[1]
    assert np.array_equal(pair[0], wanted) and np.array_equal(pair[1], logs)


def test_out_is_an_argument() -> None:
    """What is still to be read is not overwritten."""
    given = three(70, 70, kv_heads=2, dim_v=16)
    wanted = lib.attention(*given)
    for number in range(3):
        arrays = [x.copy() for x in given]
        assert lib.attention(*arrays, out=arrays[number]) is arrays[number]
        assert np.array_equal(arrays[number], wanted)


@pytest.mark.parametrize("shape", [(0, 2, 5), (2, 0, 5), (2, 2, 0)])
def test_no_results(shape: tuple[int, ...]) -> None:
    batches, heads, rows = shape
    q, k, v = (
        np.zeros((*shape, 16), np.float16),
        np.zeros((batches, heads, 9, 16), np.float16),
        np.zeros((batches, heads, 9, 8), np.float16),
    )
    found, lse = lib.attention(q, k, v, lse=True)
    assert found.shape == (*shape, 8) and found.dtype == np.float16 and lse.shape == shape and lse.dtype == np.float32
    out = np.empty(found.shape, np.float16)
    assert lib.attention(q, k, v, out=out) is out


@pytest.mark.parametrize("layout", ["bhld", "blhd"])
def test_no_keys(layout: str) -> None:
    """A sum of nothing is 0, and its logarithm -inf; with sinks it is theirs."""
    turn = (lambda x: x.swapaxes(1, 2)) if layout == "blhd" else (lambda x: x)
    q, k, v = (turn(x) for x in three(5, 0))
    found, lse = lib.attention(q, k, v, lse=True, layout=layout)
    assert not found.any() and found.shape == (*q.shape[:-1], 24) and (lse == -np.inf).all() and lse.shape == (2, 2, 5)
    sinks = np.array([1.5, -2], np.float32)
    found, lse = lib.attention(q, k, v, lse=True, sinks=sinks, causal=True, layout=layout)
    assert not found.any() and np.allclose(lse, sinks[:, None], rtol=2.0**-20)
    out = np.full((*q.shape[:-1], 48), 7, np.float16)
    lib.attention(q, k, v, layout=layout, out=out[..., :24])
    assert not out[..., :24].any() and (out[..., 24:] == 7).all()


def test_rows_that_see_nothing() -> None:
    q, k, v = three(10, 4)
    found, lse = lib.attention(q, k, v, causal=True, lse=True)
    assert not found[:, :, :6].any() and (lse[:, :, :6] == -np.inf).all() and np.isfinite(lse[:, :, 6:]).all()


def test_numbers_that_are_none() -> None:
    """They stay in their rows."""
    q, k, v = three(70, 9)
    wanted = lib.attention(q, k, v)
    q[1, 0, 65] = np.nan
    found = lib.attention(q, k, v)
    assert np.isnan(found[1, 0, 65]).all()
    found[1, 0, 65] = wanted[1, 0, 65]
    assert np.array_equal(found, wanted)


def test_lazy_arrays_are_evaluated() -> None:
    q, k, v = three(7, 9)
    wanted = lib.attention(q, k, v)
    found = lib.attention(lib.lazy.of(q) * np.float16(1), lib.lazy.of(k), v)
    assert np.array_equal(found, wanted)


def test_lists_are_arrays_of_numpy() -> None:
    with pytest.raises(TypeError, match="`q` has dtype float64"):
        lib.attention([[[0.0] * 8]], *three(1, 1)[1:])


# -- Errors ---------------------------------------------------------------------------------------------------------------

H, F = np.float16, np.float32
ZEROS = lambda *shape, dtype=H: np.zeros(shape, dtype)
Q, K, V = ZEROS(2, 4, 5, 16), ZEROS(2, 2, 9, 16), ZEROS(2, 2, 9, 8)
WRONG: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((Q.astype(F), K, V), {}, TypeError, "`q` has dtype float32, which attention does not support: float16 or bfloat16"),
    ((Q, K.astype(np.int16), V), {}, TypeError, "`k` has dtype int16, which attention does not support: float16 or bfloat16"),
    ((Q, K, V.astype(ml_dtypes.bfloat16)), {}, TypeError, "`q` and `v` have dtypes float16 and"),
    ((3, K, V), {}, TypeError, "`q` has dtype int64"),
    ((None, K, V), {}, TypeError, "`q`"),
    ((Q, K, np.float16(1)), {}, ValueError, "`v` has shape (): attention takes arrays of 3 or 4 axes, all of as many"),
    ((Q[0, 0], K[0, 0], V[0, 0]), {}, ValueError, "`q` has shape (5, 16): attention takes arrays of 3 or 4 axes, all of as many"),
    ((Q[None], K[None], V[None]), {}, ValueError, "`q` has shape (1, 2, 4, 5, 16): attention takes arrays of 3 or 4 axes"),
    ((Q, K[0], V), {}, ValueError, "`k` has shape (2, 9, 16): attention takes arrays of 3 or 4 axes, all of as many"),
    ((ZEROS(2, 4, 5, 12), K, V), {}, ValueError, "`q` has 12 elements a head: attention takes multiples of 8, from 8 to 256"),
    ((Q, K, ZEROS(2, 2, 9, 264)), {}, ValueError, "`v` has 264 elements a head: attention takes multiples of 8, from 8 to 256"),
    ((Q, K, ZEROS(2, 2, 9, 0)), {}, ValueError, "`v` has 0 elements a head: attention takes multiples of 8, from 8 to 256"),
    ((Q, ZEROS(2, 2, 9, 24), V), {}, ValueError, "`q` and `k` have 16 and 24 elements a head: they must have as many"),
    ((Q, K, V[:, :, :5]), {}, ValueError,
     "`k` and `v` have shapes (2, 2, 9, 16) and (2, 2, 5, 8): they may differ in the last axis alone"),
    ((Q[:1], K, V), {}, ValueError, "`q` and `k` have 1 and 2 batches: they must have as many"),
    ((Q[:, :3], K, V), {}, ValueError, "`q` has 3 heads and `k` 2: the first must be a multiple of the second"),
    ((Q, K[:, :0], V[:, :0]), {}, ValueError, "`q` has 4 heads and `k` 0: the first must be a multiple of the second"),
    ((Q, K, V), {"layout": "blhd"}, ValueError, "`q` has 5 heads and `k` 9: the first must be a multiple of the second"),
    ((Q, K, V), {"layout": "bshd"}, ValueError, "`layout` is 'bhld' or 'blhd', not 'bshd'"),
    ((Q, K, V), {"layout": ["bhld"]}, ValueError, "`layout` is 'bhld' or 'blhd', not ['bhld']"),
    ((Q, K, V), {"causal": "left"}, ValueError, "`causal` is a bool, 'bottom_right' or 'top_left', not 'left'"),
    ((Q, K, V), {"causal": 2}, ValueError, "`causal` is a bool, 'bottom_right' or 'top_left', not 2"),
    ((Q, K, V), {"causal": []}, ValueError, "`causal` is a bool, 'bottom_right' or 'top_left', not []"),
    ((Q, K, V), {"window": (1, 2, 3)}, ValueError, "`window` is one number or two, not 3"),
    ((Q, K, V), {"window": -1}, ValueError, "`window` is made of numbers from 0 on, or None, not -1"),
    ((Q, K, V), {"window": (True, 1)}, ValueError, "`window` is made of numbers from 0 on, or None, not True"),
    ((Q, K, V), {"window": 1.5}, ValueError, "`window` is made of numbers from 0 on, or None, not 1.5"),
    ((Q, K, V), {"scale": "x"}, TypeError, "`scale` must be a number, not 'x'"),
    ((Q, K, V), {"softcap": []}, TypeError, "`softcap` must be a number, not []"),
    ((Q, K, V), {"softcap": 0}, ValueError, "`softcap` must be positive, and finite, not 0"),
    ((Q, K, V), {"softcap": math.nan}, ValueError, "`softcap` must be positive, and finite, not nan"),
    ((Q, K, V), {"softcap": math.inf}, ValueError, "`softcap` must be positive, and finite, not inf"),
    ((Q, K, V), {"sinks": ZEROS(4)}, TypeError, "`sinks` has dtype float16, which attention does not support: float32"),
    ((Q, K, V), {"sinks": ZEROS(2, dtype=F)}, ValueError, "`sinks` has shape (2,), and there are 4 heads: (4,)"),
    ((Q, K, V), {"score": lambda s, r, c, h: s}, TypeError, "`score` must be a device function, marked @prism.device"),
    ((Q, K, V), {"out": ZEROS(2, 4, 5, 16)}, ValueError, "`out` must have shape (2, 4, 5, 8), the result's, not (2, 4, 5, 16)"),
    ((Q, K, V), {"out": ZEROS(2, 4, 5, 8, dtype=F)}, TypeError, "`out` must be of float16, the result's dtype, not of float32"),
    ((Q, K, V), {"out": np.broadcast_to(H(0), (2, 4, 5, 8))}, ValueError, "`out` is read-only"),
    ((Q, K, V), {"out": 3}, TypeError, "`out` must be an array, not int"),
    ((Q, K, V), {"lse": True, "out": ZEROS(2, 4, 5, 8)}, TypeError, "`out` must be a pair of arrays, for the result"),
    ((Q, K, V), {"stream": 0}, ValueError, "`stream` is for arrays on a GPU, and `q` is on the host"),
]  # fmt: skip


@pytest.mark.parametrize(("arrays", "options", "kind", "text"), WRONG, ids=[text[:40] for *_, text in WRONG])
def test_errors(arrays: Any, options: dict[str, Any], kind: type[Exception], text: str) -> None:
    for _ in range(2):
        with pytest.raises(kind) as found:
            lib.attention(*arrays, **options)
        assert str(found.value).startswith(text)


def test_extents_that_numbers_of_32_bits_do_not_hold() -> None:
    long = np.broadcast_to(H(0), (1, 1, 1 << 30, 8))
    with pytest.raises(ValueError, match="lengths together, and tiles, are at most 2147482624"):
        lib.attention(long, long, long)


# -- Plans of a GPU -------------------------------------------------------------------------------------------------------


def decided(q, k, v, out=None, **options) -> Any:
    """What is decided for arrays on a GPU, that lie as these do."""
    usual = {
        "causal": False,
        "window": (None, None),
        "scale": None,
        "softcap": None,
        "score": None,
        "layout": "bhld",
        "lse": False,
    }
    infos = {name: describe(x, name) for name, x in (("q", q), ("k", k), ("v", v))}
    return decide_attention(infos, None if out is None else describe(out, "out"), GPU, **{**usual, **options})


def at(shape: tuple[int, ...], past: int = 0) -> Any:
    """An array that begins so many bytes past a multiple of 16, of no memory to speak of."""
    room = np.zeros(math.prod(shape) + 16, np.float16)
    start = -room.ctypes.data % 16 // 2 + past // 2
    return room[start : start + math.prod(shape)].reshape(shape)


def test_what_is_copied_first() -> None:
    """What tensor copies don't take: bytes between multiples of 16, steps that are none, or go back."""
    q, k, v = at((2, 4, 100, 64)), at((2, 2, 100, 64)), at((2, 2, 100, 128))
    assert not decided(q, k, v).copied
    assert decided(at((2, 4, 100, 64), 2), k, at((2, 2, 100, 128), 8)).copied == ("q", "v")
    assert decided(q, at((2, 2, 100, 68))[..., :64], v).copied == ("k",)
    assert (
        not decided(q, at((2, 2, 100, 72))[..., :64], v).copied
        and not decided(q, np.broadcast_to(k[:1], k.shape), v).copied
    )
    assert decided(q, k[:, :, ::-1], v).copied == ("k",) and decided(q, k, v.T.copy().T).copied == ("v",)
    assert not decided(*(at((2, 100, n, 64)).swapaxes(1, 2) for n in (4, 2, 2))).copied


def test_where_results_are_made() -> None:
    q, k, v = at((2, 4, 100, 64)), at((2, 2, 100, 64)), at((2, 2, 100, 128))
    for out, beside in ((at((2, 4, 100, 128)), False), (at((2, 4, 100, 136))[..., :128], False), (at((2, 4, 100, 128), 2), True),
                        (at((2, 4, 100, 130))[..., :128], True), (at((2, 100, 4, 128)).swapaxes(1, 2), False),
                        (np.lib.stride_tricks.as_strided(at((2, 4, 100, 128)), strides=(0, 25600, 256, 2)), True)):  # fmt: skip
        found = decided(q, k, v, out)
        assert found.beside == beside
        assert found.plan.steps[0].arguments["s"]["row_step"] == (128 if beside else out.strides[2] // 2)


def test_launches() -> None:
    """A block a multiprocessor, or a tile; of a short length tiles of 64 rows; of no keys no maps of them."""
    for rows, blocks, threads in ((1000, 64, 384), (5000, 132, 384), (60, 8, 256)):
        (step,) = decided(at((1, 8, rows, 128)), at((1, 8, 90, 128)), at((1, 8, 90, 128))).plan.steps
        assert (step.blocks, step.threads) == (blocks, threads)
    none = np.zeros((1, 8, 0, 128), np.float16)
    step = decided(at((1, 8, 60, 128)), none, none).plan.steps[0]
    assert step.arguments["k"] == step.arguments["v"] == NO_MAP
    far = decided(at((1, 8, 60, 64)), at((1, 8, 90, 64)), at((1, 8, 90, 64)), window=(10**9, 10**9)).plan.steps[0]
    assert (far.arguments["s"]["ahead"], far.arguments["s"]["back"]) == (90, 60)


def test_what_ships() -> None:
    """The usual heads, and no kernel twice; none for a GPU without wgmma."""
    made = list(ships.instances(GPU))
    assert len(made) == len(set(map(id, made))) == 20
    assert not list(ships.instances(SimpleNamespace(arch="sm_80")))
    usual = decided(at((1, 8, 1000, 128)), at((1, 8, 1000, 128)), at((1, 8, 1000, 128)), causal=True).plan.steps[0]
    assert usual.instance in made


@pytest.mark.parametrize(("dim", "keys"), [(64, 112), (96, 96), (128, 176)])
def test_scores_with_a_cap_take_fewer_keys_where_three_warpgroups_share_registers(dim: int, keys: int) -> None:
    q = at((1, 2, 4096, dim))
    capped, without = (
        dict(decided(q, q, q, softcap=cap).plan.steps[0].instance.template)["CUT"] for cap in (30.0, None)
    )
    assert capped.keys == keys and without.keys - keys == (16 if capped.groups == 3 else 0)
