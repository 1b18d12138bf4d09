"""The backward of attention on the reference machine, with all its checks, beside float64: cuts, edges, shared heads, mutants."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.kernels.attention.backward import change_keys, finish, prepare
from prism.kernels.attention.backward_cut import BackwardCut, backward_cut_of
from prism.kernels.attention.backward_queries import change_queries
from prism.kernels.attention.cut import Terms
from prism.lang.tree.plan import Program, Wait, WaitGroup
from tests.kernels.test_attention import BITS, EPS, VALUES
from tests.mutation import named
from tests.rarely import rarely

SMALL = BackwardCut(64, 64, rows=32)
ONE = BackwardCut(64, 64, rows=16, groups=1, registers=0)
WIDE, NARROW, MIXED = backward_cut_of(128, 128), backward_cut_of(40, 64), backward_cut_of(72, 64)
NAMES = ("queries", "keys", "values")
NONE = np.zeros(0, np.int32)
WHOLE, HALF = (128, 128), (64, 64)
FULL = {"ADDED": True, "MASKED": True, "OF_KEYS": True, "OF_VALUES": True}


def exact(q, k, v, dout, scale, ahead, back=1 << 30, cap=None) -> tuple[Any, Any, Any, Any]:
    """Return the result, the logarithms of sums, gradients of `q`, `k` and `v`, and what they may be off by but for roundings.

    The latter: what a rounding of a factor is times, of each element, and what its least step is times, at most.
    """
    share = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(x, share, 1) for x in (k, v))
    scores = scale * (q @ wide_k.swapaxes(2, 3))
    row, column = np.indices(scores.shape[2:])
    tanh = np.zeros_like(scores) if cap is None else np.tanh(scores / cap)
    scores = scores if cap is None else cap * tanh
    scores = np.where((column <= row + ahead) & (column >= row - back), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    weights /= np.where(total == 0, 1, total)
    out = weights @ wide_v
    steps = dout @ wide_v.swapaxes(2, 3)
    bent = 1 - tanh**2
    slopes = bent * weights * (steps - (dout * out).sum(-1, keepdims=True))
    # What a thread subtracts is off by that much, times a rounding: of `out`, and of sums in float32.
    near = (
        bent
        * weights
        * ((np.abs(dout) * np.abs(out)).sum(-1, keepdims=True) + np.abs(dout) @ np.abs(wide_v).swapaxes(2, 3) / 64)
    )
    turned, near_turned = slopes.swapaxes(2, 3), near.swapaxes(2, 3)
    added = lambda x: x.reshape(*k.shape[:2], share, *x.shape[2:]).sum(2)
    found = scale * slopes @ wide_k, added(scale * turned @ q), added(weights.swapaxes(2, 3) @ dout)
    sizes = (
        scale * (np.abs(slopes) + near) @ np.abs(wide_k), added(scale * (np.abs(turned) + near_turned) @ np.abs(q)),
        added(weights.swapaxes(2, 3) @ np.abs(dout)),
    )  # fmt: skip
    most = (
        scale * np.abs(wide_k).sum(2).max(),
        scale * share * np.abs(q).sum(2).max(),
        share * np.abs(dout).sum(2).max(),
    )
    return out, lse, found, (sizes, most)


@functools.cache
def program(kernel: Any, dtype: str, cut: BackwardCut, **options: Any) -> Program:
    return prism.check(kernel, {"T": dtype, "INDEX": "int32", "CUT": cut, **options})


def wrong(
    rows, keys, cut=SMALL, *, batches=1, heads=2, share=1, dims=None, dtype="float16", ahead=None, back=None, cap=None,
    deterministic=False, apart=0.0, **options
) -> list[str]:  # fmt: skip
    """Run the kernels, checked, on normal numbers; return which gradients are not near float64's."""
    rng = np.random.default_rng(rows + keys)
    dim, dim_v = dims or (cut.dim, cut.dim_v)
    apart = [apart, -apart, 0.0, 0.0]
    shapes = (heads, rows, dim), (heads // share, keys, dim), (heads // share, keys, dim_v), (heads, rows, dim_v)
    given = [BITS[dtype](rng.normal(size=(batches, *shape)) + more) for shape, more in zip(shapes, apart, strict=True)]
    scale = 1 / math.sqrt(dim)
    q, k, v, dout = map(VALUES[dtype], given)
    bounds = (1 << 30 if one is None else one for one in (ahead, back))
    out, lse, wanted, (sizes, most) = exact(q, k, v, dout, scale, *bounds, cap)
    pairs, tall, wide = batches * heads, -(-rows // cut.rows), -(-keys // cut.keys)
    of_rows = np.full(pairs * tall * 2 * cut.rows, np.nan, np.float32)
    sums = np.full(pairs * tall * cut.rows * cut.dim, np.nan, np.float32)
    results = [BITS[dtype](np.full(x.shape, np.nan)) for x in (q, k, v)]
    go = functools.partial(run, check=True, **options)
    logs = lse.astype(np.float32).ravel()
    how = {"TERMS": Terms(ahead is not None, back is not None, cap is not None)}
    added = not (deterministic or cut.apart)
    shared = (heads, share, rows, keys, ahead or 0, back or 0, scale, cap or 1.0)
    arguments: Any = (BITS[dtype](out), given[3], logs, of_rows, sums, heads, rows, NONE, batches)
    go(program(prepare, dtype, cut, ADDED=added, PACKED=False), pairs * tall, 128, arguments)
    arguments = (*given, *results[1:], of_rows, sums, *shared, NONE, NONE, batches)
    for of_keys, of_values in ((False, True), (True, False)) if cut.apart else ((True, True),):
        masked = ahead is not None or back is not None or keys % cut.keys != 0
        of = {"ADDED": added, "MASKED": masked, "OF_KEYS": of_keys, "OF_VALUES": of_values}
        go(program(change_keys, dtype, cut, **how, **of), batches * heads // share * wide, cut.threads, arguments)
    if added:
        arguments = (sums, results[0], heads, rows, scale, NONE, batches)
        go(program(finish, dtype, cut, PACKED=False), pairs * tall, 128 * cut.groups, arguments)
    else:
        arguments = (*given, results[0], of_rows, *shared, NONE, NONE, batches)
        go(program(change_queries, dtype, cut, **how), pairs * -(-rows // cut.keys), cut.threads, arguments)
    return [
        name
        for name, found, want, size, many in zip(NAMES, results, wanted, sizes, most, strict=True)
        if not (np.abs(VALUES[dtype](found) - want) <= bound(want, size, many, dtype)).all()
    ]


def bound(wanted: Any, size: Any, many: float, dtype: str) -> Any:
    """What a gradient may be off by: a factor's rounding, the result's, and 16 ulp of float32 for scores, powers and sums.

    Factors of float16 have steps of 2^-24 below 2^-14.
    """
    least = 2.0**-24 if dtype == "float16" else 2.0**-40
    return (EPS[dtype] + 2.0**-19) * size + EPS[dtype] * np.abs(wanted) + least * (1 + many)


@pytest.mark.parametrize("schedule", rarely(list(SCHEDULES), but=["random"]))
@pytest.mark.parametrize("deterministic", [False, True])
def test_schedules(schedule: str, deterministic: bool) -> None:
    assert not wrong(70, 140, schedule=schedule, seed=1, ahead=-20, deterministic=deterministic)


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 40])
def test_edges(rows: int, keys: int) -> None:
    for deterministic in (False, True):
        assert not wrong(rows, keys, ONE, heads=1, deterministic=deterministic)
        assert not wrong(rows, keys, ONE, heads=1, ahead=keys - rows, deterministic=deterministic)


@pytest.mark.covering(1)
@pytest.mark.parametrize("ahead", [0, 60, -60, 33, -129, 1])
@pytest.mark.parametrize("deterministic", [False, True])
def test_more_keys_than_queries_and_fewer(ahead: int, deterministic: bool) -> None:
    """The diagonal meets either corner, or none: also where whole tiles, and all of a row's keys, are not seen."""
    options = {"ahead": ahead, "heads": 1, "deterministic": deterministic}
    assert not wrong(70, 130, ONE, **options) and not wrong(130, 70, ONE, **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("ahead", "back"), [(None, 0), (0, 30), (20, 100), (-40, 70), (None, -30), (5, 300)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_windows(ahead: int | None, back: int, deterministic: bool) -> None:
    """Bounds before and behind a row's place: tiles that no row of sees, in part, or only at a corner."""
    options = {"ahead": ahead, "back": back, "heads": 1, "deterministic": deterministic}
    assert not wrong(70, 130, ONE, **options) and not wrong(130, 70, ONE, **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("cap", [0.5, 30.0])
@pytest.mark.parametrize("deterministic", [False, True])
def test_caps(cap: float, deterministic: bool) -> None:
    """Also where most scores are at the bound, and the gradient of a tanh is nearly 0; and with masks."""
    options = {"cap": cap, "heads": 2, "share": 2, "deterministic": deterministic}
    assert not wrong(40, 70, ONE, **options) and not wrong(40, 70, ONE, ahead=20, back=30, apart=2.0, **options)


@pytest.mark.parametrize("ahead", [None, 0])
@pytest.mark.parametrize("deterministic", [False, True])
def test_scores_far_below_0(ahead: int | None, deterministic: bool) -> None:
    """A score of a key beyond the last would be 0, its weight infinite, and infinity times a key of zeros is no number."""
    assert not wrong(130, 70, ONE, heads=1, ahead=ahead, deterministic=deterministic, apart=2.0)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("heads", "share"), [(3, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_shared_heads(heads: int, share: int, deterministic: bool) -> None:
    options = {"heads": heads, "share": share, "batches": 2, "deterministic": deterministic}
    assert not wrong(33, 70, ONE, **options) and not wrong(40, 66, ONE, ahead=10, **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dims", [(8, 24), (56, 40), (64, 8)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_dims(dims: tuple[int, int], deterministic: bool) -> None:
    """Tiles of more elements have zeros there."""
    assert not wrong(40, 70, ONE, dims=dims, heads=1, dtype="bfloat16", deterministic=deterministic)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cut", [WIDE, NARROW, MIXED, SMALL], ids=["128", "64", "128 and 64", "small"])
def test_cuts(cut: BackwardCut, dtype: str) -> None:
    assert not wrong(cut.rows + 3, cut.keys + 5, cut, heads=1, ahead=2, dtype=dtype)


def test_all_rows_see_all_keys() -> None:
    """Tiles of more rows, and no mask."""
    cut = backward_cut_of(128, 128, masked=False)
    assert cut.rows > WIDE.rows and not wrong(cut.rows + 3, cut.keys, cut, heads=1)


@pytest.mark.parametrize(("dims",), rarely([((192, 128),), ((256, 256),), ((64, 200),)], but=[((192, 128),)]))
def test_heads_of_more_than_128(dims: tuple[int, int]) -> None:
    """Gradients of keys and of values are made apart, each by a launch."""
    cut = replace(backward_cut_of(*dims), groups=1, rows=16, registers=0)
    assert cut.apart
    assert not wrong(20, 70, cut, heads=2, share=2, dims=dims, ahead=45, dtype="bfloat16")


def spills(dims: tuple[int, int], dtype: str, terms: Terms) -> list[int]:
    """How many registers spill of the kernels of each way to make gradients, as the library cuts them."""
    found = []
    for added in (True, False):
        of = {"T": dtype, "INDEX": "int32", "CUT": backward_cut_of(*dims, terms, added=added), "TERMS": terms}
        for kernel, options in ((change_keys, FULL | {"ADDED": added}), (change_queries, {}))[: 1 if added else 2]:
            found.append(prism.compile(kernel, arch="sm_90a", template={**of, **options}).spills)
    return found


@pytest.mark.parametrize("dtype", rarely(["float16", "bfloat16"], but=["bfloat16"]))
@pytest.mark.parametrize(("dims",), rarely([(WHOLE,), (HALF,), ((128, 64),), ((64, 128),)], but=[(WHOLE,), (HALF,)]))
@pytest.mark.parametrize("causal", rarely([False, True], but=[True]))
def test_nothing_spills(dims: tuple[int, int], dtype: str, causal: bool) -> None:
    """And wgmmas don't wait one by one, which would be a SlowCodeError: dK, dV and three products fill the registers."""
    assert not any(spills(dims, dtype, Terms(causal=causal)))


@pytest.mark.parametrize(("dims",), rarely([(WHOLE,), (HALF,)], but=[(WHOLE,)]))
@pytest.mark.parametrize("dtype", rarely(["float16", "bfloat16"], but=["float16"]))
def test_nothing_spills_where_all_rows_see_all_keys(dims: tuple[int, int], dtype: str) -> None:
    of = {"T": dtype, "INDEX": "int32", "CUT": backward_cut_of(*dims, masked=False), "TERMS": Terms()}
    assert prism.compile(change_keys, arch="sm_90a", template={**of, **FULL, "MASKED": False}).spills == 0


@pytest.mark.fuzz
@pytest.mark.parametrize("dims", [WHOLE, HALF])
@pytest.mark.parametrize(
    "terms", [Terms(causal=True, window=True), Terms(cap=True), Terms(causal=True, window=True, cap=True)]
)
@pytest.mark.parametrize("packed", [False, True])
def test_nothing_spills_of_windows_and_caps(dims: tuple[int, int], terms: Terms, packed: bool) -> None:
    assert not any(spills(dims, "bfloat16", replace(terms, packed=packed, last=packed)))


@pytest.mark.parametrize(
    ("dims",), rarely([((192, 192),), ((192, 128),), ((256, 256),), ((256, 192),)], but=[((256, 256),)])
)
def test_nothing_spills_of_more_than_128(dims: tuple[int, int]) -> None:
    common = {"T": "float16", "INDEX": "int32", "CUT": backward_cut_of(*dims), "TERMS": Terms(causal=True)}
    apart = [
        {"ADDED": False, "MASKED": True, "OF_KEYS": of_keys, "OF_VALUES": not of_keys} for of_keys in (False, True)
    ]
    for kernel, options in (*((change_keys, one) for one in apart), (change_queries, {})):
        assert prism.compile(kernel, arch="sm_90a", template={**common, **options}).spills == 0


# -- Synchronisation ------------------------------------------------------------------------------------------------------


ONCE = "Wait(k_tile_v_tile_read)", "Wait(q_tile_dout_tile_read)", "Wait(q_tile_read)", "Wait(out_tile_dout_tile_read)"
"""Waits of fills of rings that are filled once: nobody had the copy before. None is tried: it may be reported, or not."""
AGAIN = "WaitGroup(wgmma) after"
"""At the end of a claim: what read the copy has been waited for before its sums were stored."""


@pytest.mark.parametrize("kernel", rarely([change_keys, change_queries, prepare, finish], but=[change_keys]))
def test_each_wait_is_needed(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each wait and barrier deleted, the machine tells, or a gradient is wrong."""
    kept = program
    plain = {"PACKED": False}
    of = {prepare: {"ADDED": True} | plain, finish: plain, change_queries: {}, change_keys: FULL}[kernel]
    terms = {} if kernel in (prepare, finish) else {"TERMS": Terms(causal=True)}
    whole = program(kernel, "float16", SMALL, **terms, **of)
    survivors = []
    for plan in whole.plans.values():
        waits = (op for op in plan.operations if isinstance(op, Wait | WaitGroup) and not named(op).startswith(ONCE))
        for step in (*plan.barriers, *waits):
            mutant = whole.with_plan(replace(plan, skewed=None).drop_step(step))
            asked = lambda other, *rest, mutant=mutant, **how: mutant if other is kernel else kept(other, *rest, **how)
            with monkeypatch.context() as patch:
                patch.setattr("tests.kernels.test_attention_backward.program", asked)
                if not any(is_reported(schedule, kernel is change_queries) for schedule in ("random", *SCHEDULES)):
                    survivors.append(named(step))
    assert not [name for name in survivors if not name.startswith(AGAIN)]
    assert sum(name.startswith(AGAIN) for name in survivors) <= 1


def is_reported(schedule: str, deterministic: bool) -> bool:
    """Whether the machine tells of a fault, or a gradient is wrong: of some trips, of two heads that share one."""
    try:
        return bool(
            wrong(4 * SMALL.rows, SMALL.keys, ahead=32, share=2, schedule=schedule, deterministic=deterministic)
        )
    except MachineError:
        return True
