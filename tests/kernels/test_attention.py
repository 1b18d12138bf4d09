"""Attention on the reference machine, with all its checks, beside float64: cuts, edges, masks, scores, schedules, mutants."""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.kernels.attention import Cut, Terms, as_it_is, cut_of, forward, section_of, softmax
from prism.kernels.attention.configurations import L2
from prism.kernels.attention.cut import Sizes
from prism.lang import device, float32, int32, requires, thread
from prism.lang.surface import Kernel
from prism.lang.tree.plan import Program, Wait, WaitGroup
from prism.lang.types.shorts import bf16_bits, bf16_values
from prism.lib.algorithms.attention.plan import instance_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import named
from tests.rarely import rarely

ONE = Cut(32, 32, keys=32, groups=1)
TWO = Cut(64, 64, keys=48)
THREE = Cut(64, 64, keys=64, groups=3, queries=2)
AHEAD = replace(TWO, queries=2)
DIRECT = replace(TWO, slab=False)
LATE = replace(DIRECT, late=True)
FAR = 1 << 30
EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
BITS = {"float16": lambda x: x.astype(np.float16), "bfloat16": lambda x: bf16_bits(x.astype(np.float32))}
VALUES = {"float16": lambda x: x.astype(np.float64), "bfloat16": lambda x: bf16_values(x).astype(np.float64)}


@device
@requires(thread[1])
def near_head(
    score: float32 @ thread[1], row: int32 @ thread[1], column: int32 @ thread[1], head: int32 @ thread[1]
) -> float32 @ thread[1]:
    return score - 0.25 * (row - column) * head if (row + column) % 3 < 2 else -math.inf


def near_head_of(scores: Any) -> Any:
    """The same in NumPy, of all scores of heads."""
    head, row, column = np.indices(scores.shape[-3:])
    return np.where((row + column) % 3 < 2, scores - 0.25 * (row - column) * head, -np.inf)


def exact(q, k, v, scale, *, ahead=None, back=None, cap=None, sinks=None, score=None) -> tuple[Any, Any, Any]:
    """Return the result, what it would be of values without signs, and the logarithms of sums, in float64."""
    share = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, share, 1) for x in (k, v))
    scores = scale * (q @ k.swapaxes(2, 3))
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    scores = scores if score is None else score(scores)
    row, column = np.indices(scores.shape[2:])
    seen = (column <= row + (FAR if ahead is None else ahead)) & (column >= row - (FAR if back is None else back))
    scores = np.where(seen, scores, -np.inf)
    more = np.full((q.shape[1], 1, 1), -np.inf) if sinks is None else sinks.astype(np.float64).reshape(-1, 1, 1)
    top = np.maximum(scores.max(-1, keepdims=True, initial=-np.inf), more)
    top = np.where(np.isneginf(top), 0, top)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True) + np.exp(more - top)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    weights = weights / np.where(total == 0, 1, total)
    return weights @ v, weights @ np.abs(v), lse


def bound(wanted: Any, size: Any, v: Any, dtype: str) -> Any:
    """What a result may be off by: a weight's rounding, the result's, and 16 ulp of float32 for scores, powers and sums.

    Weights are at most 1, and of float16 have steps of 2^-24 below 2^-14.
    """
    least = 2.0**-24 if dtype == "float16" else 2.0**-40
    return (EPS[dtype] + 2.0**-19) * size + EPS[dtype] * np.abs(wanted) + least * (1 + np.abs(v).sum(2).max())


@functools.cache
def program(dtype: str, cut: Cut, terms: Terms, score: Kernel = as_it_is, plain: bool = True) -> Program:
    return instance_for(dtype, cut, terms, score, plain=plain and not terms.cap and score is as_it_is).program


def attended(
    rows, keys, cut=TWO, *, batches=1, heads=2, share=1, dims=None, dtype="float16", ahead=None, back=None, cap=None,
    sinks=False, sink=None, lse=True, score=as_it_is, blocks=2, section=2, scale=None, **options,
) -> bool:  # fmt: skip
    """Run the kernel, checked, on normal numbers; say whether all it makes is near float64's, and nothing else is written."""
    rng = np.random.default_rng(rows + keys)
    dim, dim_v = dims or (cut.dim, cut.dim_v)
    shapes = (heads, rows, dim), (heads // share, keys, dim), (heads // share, keys, dim_v)
    given = [BITS[dtype](rng.normal(size=(batches, *shape))) for shape in shapes]
    scale = 1 / math.sqrt(dim) if scale is None else scale
    more = rng.normal(size=heads).astype(np.float32) if sinks else np.zeros(0, np.float32)
    more[:1] = more[:1] if sink is None else sink
    terms = Terms(ahead is not None, back is not None, cap is not None, sinks, lse)
    out = BITS[dtype](np.full((batches, heads, rows, dim_v), np.nan))
    beside = np.full((batches, heads, rows, dim_v + 8), 77, out.dtype)
    logs = np.full(batches * heads * rows if lse else 0, np.nan, np.float32)
    flat = np.zeros(0, out.dtype) if cut.slab else beside.reshape(-1)
    counter = np.zeros(4, np.uint32)
    sizes = (
        batches * heads, heads, share, rows, keys, FAR if ahead is None else ahead, FAR if back is None else back, dim_v, section,
        scale, cap or 1.0, *(x // 2 for x in beside.strides[:3]),
    )  # fmt: skip
    arguments = (
        *given, out, flat, logs, more, np.array(sizes, Sizes)[()], counter, np.zeros(0, np.float32),
        *[np.zeros(0, np.int32)] * 2,
    )  # fmt: skip
    run(program(dtype, cut, terms, score, scale > 0), blocks, cut.threads, arguments, check=True, **options)
    found = VALUES[dtype](out if cut.slab else beside[..., :dim_v])
    assert not counter.any() and (beside[..., 0 if cut.slab else dim_v :] == 77).all(), "written beside the result"
    q, k, v = map(VALUES[dtype], given)
    other = near_head_of if score is near_head else None
    wanted, size, logarithms = exact(
        q, k, v, scale, ahead=ahead, back=back, cap=cap, sinks=more if sinks else None, score=other
    )
    right = bool((np.abs(found - wanted) <= bound(wanted, size, v, dtype)).all())
    if lse:
        here, there = logs.reshape(wanted.shape[:3]), logarithms
        none = np.isneginf(there)
        right &= bool((np.isneginf(here) == none).all())
        off = np.abs(np.where(none, 0, here) - np.where(none, 0, there))
        right &= bool((off <= 2.0**-18 * (1 + np.where(none, 0, np.abs(there)))).all())  # 32 ulp of float32, as above
    return right


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("cut", [AHEAD, replace(ONE, slab=False), LATE], ids=["turns", "direct", "late turns"])
def test_schedules(cut: Cut, schedule: str) -> None:
    assert attended(140, 100, cut, schedule=schedule, seed=1, ahead=-40)


@pytest.mark.parametrize("keys", [1, 31, 32, 33, 64, 65, 100])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 128])
def test_edges(rows: int, keys: int) -> None:
    assert attended(rows, keys, ONE)
    assert attended(rows, keys, ONE, ahead=keys - rows, blocks=3)


@pytest.mark.parametrize(("cut", "rows", "keys"), [(TWO, 127, 47), (TWO, 129, 97), (THREE, 193, 65), (THREE, 191, 128)])
def test_edges_of_more_warpgroups(cut: Cut, rows: int, keys: int) -> None:
    assert attended(rows, keys, cut, ahead=keys - rows)
    assert attended(rows, keys, replace(cut, slab=False), heads=1)


@pytest.mark.parametrize("ahead", [None, 0, 60, -60, 33, -129, 1])
def test_more_keys_than_queries_and_fewer(ahead: int | None) -> None:
    """The diagonal meets either corner, or none: also where whole tiles, and all of a row's keys, are not seen."""
    assert attended(70, 130, ONE, ahead=ahead) and attended(130, 70, ONE, ahead=ahead)


@pytest.mark.parametrize(
    ("ahead", "back"), [(None, 0), (None, 40), (0, 0), (0, 31), (5, 64), (60, -3), (None, -20), (-9, 20)]
)
def test_windows(ahead: int | None, back: int) -> None:
    assert attended(150, 130, ONE, ahead=ahead, back=back, batches=2, heads=1)
    assert attended(150, 170, TWO, ahead=ahead, back=back, heads=1)


@pytest.mark.covering(2)
@pytest.mark.parametrize("cap", [None, 1.5])
@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("score", [as_it_is, near_head])
@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("ahead", [None, 3])
@pytest.mark.parametrize("back", [None, 30])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_terms(cap, sinks, score, lse, ahead, back, dtype: str) -> None:
    options = {"cap": cap, "sinks": sinks, "score": score, "lse": lse, "ahead": ahead, "back": back, "dtype": dtype}
    assert attended(70, 68, ONE, **options)


def test_large_scores_under_a_cap() -> None:
    """Of which powers would be infinite."""
    assert attended(20, 40, ONE, cap=50.0, scale=300.0)


@pytest.mark.parametrize("scale", [0.0, -0.3, -40.0, 3.0])
def test_scales(scale: float) -> None:
    """None, and less than none: the largest score is then that of the least product."""
    assert attended(70, 50, ONE, scale=scale, ahead=-10) and attended(70, 50, ONE, scale=scale, cap=3.0, ahead=2)


@pytest.mark.parametrize(("heads", "share"), [(1, 1), (3, 1), (4, 2), (4, 4), (6, 3)])
@pytest.mark.parametrize("section", [1, 2, 4])
def test_shared_heads(heads: int, share: int, section: int) -> None:
    """Tiles of some pairs are made together, the last ones of fewer."""
    assert attended(70, 40, ONE, batches=2, heads=heads, share=share, section=section, ahead=-30, blocks=3)


DIMS = [(32, 64), (64, 32), (96, 32), (32, 96), (128, 64), (64, 128), (8, 24), (56, 40), (72, 8), (64, 256), (192, 128)]


@pytest.mark.parametrize(("dim", "dim_v"), rarely(DIMS, but=DIMS[::2]))
@pytest.mark.parametrize("slab", [False, True])
def test_dims(dim: int, dim_v: int, slab: bool) -> None:
    """And those of values; tiles of more elements have zeros there."""
    cut = Cut(*(-(-n // 32) * 32 for n in (dim, dim_v)), keys=32, groups=1, slab=slab)
    assert attended(40, 40, cut, dims=(dim, dim_v), heads=1, dtype="bfloat16")


SHIPPED = [cut_of(dim, dim, rows) for dim in (64, 128, 256) for rows in (1024, 64)]
OTHERS = [cut_of(dim, dim_v, 1024) for dim, dim_v in ((96, 96), (192, 192), (192, 128), (32, 32), (64, 256))]
OTHERS += [cut_of(dim, dim, 1024, capped=True) for dim in (64, 96)]
name_of = lambda cut: f"{cut.dim}x{cut.dim_v} {cut.groups} {cut.keys}"


@pytest.mark.parametrize("cut", rarely(list(dict.fromkeys(SHIPPED + OTHERS)), but=SHIPPED[:3]), ids=name_of)
def test_cuts_that_are_chosen(cut: Cut) -> None:
    assert attended(cut.rows + 3, 2 * cut.keys + 5, cut, heads=1, ahead=cut.keys - cut.rows)


def test_weights_are_rounded_beside_the_largest_of_their_tile() -> None:
    """So the largest weight of each tile is exact: the error is less than that of rounding beside the largest of all.

    A tenth less on the average of normal numbers, of which some rows are here; sums of float32 are nothing beside it.
    """
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, n, 32)).astype(np.float16) for n in (64, 640, 640))
    scores = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(2, 3)) / math.sqrt(32)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total, values = weights.sum(-1, keepdims=True), v.astype(np.float64)
    wanted = weights @ values / total
    tiles = np.exp(scores - scores.reshape(1, 1, 64, 10, 64).max(-1).repeat(64, -1))
    rounded, beside = (
        ((x.astype(np.float16) * (weights / x)) @ values / total).astype(np.float16) - wanted for x in (weights, tiles)
    )
    ours = prism.lib.attention(q, k, v) - wanted
    all_together, by_tiles, found = (math.sqrt((off**2).mean()) for off in (rounded, beside, ours))
    assert by_tiles < 0.97 * all_together and found < 1.005 * by_tiles, (found, by_tiles, all_together)


def test_no_keys() -> None:
    """Zeros, of no sum; with a sink, of its own."""
    for sinks in (False, True):
        assert attended(70, 0, ONE, sinks=sinks) and attended(140, 0, TWO, sinks=sinks, back=3)


@pytest.mark.parametrize("sink", [-math.inf, -80.0, 60.0])
def test_sinks_far_from_scores(sink: float) -> None:
    """One that is nothing, one beside which all is nothing."""
    assert attended(70, 40, ONE, sinks=True, sink=sink, ahead=-20)


@pytest.mark.parametrize("blocks", [1, 2, 3, 9])
def test_any_number_of_blocks(blocks: int) -> None:
    assert attended(140, 50, ONE, ahead=-90, blocks=blocks, heads=2)


# -- Synchronisation ------------------------------------------------------------------------------------------------------


EXCUSES = {
    "WaitGroup(wgmma) after": "queries are read by the wgmmas of scores alone, which each trip has waited for",
    "Wait(k_tile_read) before": "of a tile's first keys: who loads them has waited until the last tile's queries were read",
    "Wait(v_tile_read) before": "of a tile's first trip, in which no values are loaded",
    "WaitGroup(bulk) before": "of stores of results, whose shared memory is waited for after each",
}
"""Waits of which one each is for what the analysis can't see: without it nothing is wrong."""
WAITS = (Wait, WaitGroup)


def test_nobody_wrote_a_barrier_and_no_block_waits_for_all() -> None:
    """There is no word for a barrier in the source, and the plan has none of a whole block, or warpgroup."""
    for cut in (TWO, DIRECT, THREE):
        whole = program("float16", cut, Terms(causal=True, lse=True))
        assert not [plan.barriers for plan in whole.plans.values() if plan.barriers]
    for module in (forward, softmax):
        assert not re.search("barrier|fence|unsafe|wait_|sync", Path(module.__file__).read_text(), re.IGNORECASE)


@pytest.mark.parametrize(
    "cut",
    rarely([ONE, TWO, DIRECT, AHEAD, replace(ONE, slab=False), LATE], but=[AHEAD]),
    ids=lambda cut: f"{cut.groups} {cut.slab} {cut.queries} {cut.late}",
)
def test_each_wait_is_needed(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each wait deleted the machine tells, or the result is wrong; but for one each of `EXCUSES`."""
    whole, survivors = program("float16", cut, Terms(causal=True)), []
    waits = [(plan, step) for plan in whole.plans.values() for step in plan.operations if isinstance(step, WAITS)]
    for plan, step in waits:
        mutant = whole.with_plan(replace(plan, skewed=None).drop_step(step))
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[__name__], "program", lambda *_, mutant=mutant: mutant)
            if not any(is_reported(cut, *tried) for tried in ((6, 1), (5, 2), (1, 6))):
                survivors.append(named(step).partition(" line")[0])
    assert len(waits) > 20
    assert len(set(survivors)) == len(survivors) and set(survivors) <= EXCUSES.keys(), survivors


def is_reported(cut: Cut, tiles: int, heads: int) -> bool:
    """Whether the machine tells of a fault, or the result is wrong: of some tiles a block, of so many of keys at most."""
    try:
        rows, keys = cut.rows + 1, tiles * cut.keys
        return not attended(rows, keys, cut, ahead=3 * cut.keys, lse=False, blocks=1, heads=heads, schedule="random")
    except MachineError:
        return True


# -- Machine code, and choices --------------------------------------------------------------------------------------------


MACHINE = [
    ("float16", 64, Terms()), ("bfloat16", 64, Terms(causal=True, lse=True)), ("float16", 128, Terms()),
    ("bfloat16", 128, Terms(causal=True, lse=True)), ("bfloat16", 256, Terms()), ("float16", 256, Terms(causal=True, lse=True)),
    ("float16", 128, Terms(True, True, True, True, True)), ("bfloat16", 64, Terms(True, True, True, True, True)),
    ("bfloat16", 192, Terms(causal=True)), ("float16", 96, Terms(causal=True)), ("bfloat16", 96, Terms(cap=True)),
    ("bfloat16", 96, Terms(True, True, True, True, True)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "dim", "terms"), rarely(MACHINE, but=[MACHINE[k] for k in (5, 6)]))
def test_machine_code(dtype: str, dim: int, terms: Terms) -> None:
    """No register is spilled, no wgmma waits for itself, and a multiprocessor has room for the tiles.

    `make test` takes the widest heads, and the most terms: those have fewest registers left.
    """
    made = entry_of(program(dtype, cut_of(dim, dim, 1024, capped=terms.cap), terms), "sm_90a")
    binary = compile_cubin(made.source, "sm_90a")
    assert (binary.spills, binary.warnings) == (0, ())
    assert made.shared_bytes <= 227 << 10


def test_every_dim_has_room() -> None:
    """Of tiles and barriers, of heads and values of any elements."""
    for dim, dim_v, rows in itertools.product(range(8, 264, 8), range(8, 264, 8), (64, 1024)):
        cut = cut_of(dim, dim_v, rows)
        held = 2 * (
            cut.rows * cut.dim + cut.stages * cut.keys * (cut.dim + cut.dim_v) + cut.slab * cut.rows * cut.dim_v
        )
        assert held <= 226 << 10 and cut.dim >= dim and cut.dim_v >= dim_v, cut


def test_sections() -> None:
    """Pairs whose keys and values the L2 holds together, and at least those that share a head's; one where tiles are alike."""
    assert section_of(32, 1, 16_384, 512, causal=False) == 1
    for bytes_of_key in (512, 1024):  # heads of 256 elements as those of 128
        assert section_of(32, 1, 16_384, bytes_of_key, causal=True) == L2 // (16_384 * 512)
    assert section_of(32, 1, 16_384, 256, causal=True) == L2 // (16_384 * 256)
    assert section_of(32, 4, 1 << 20, 512, causal=True) == 4
    assert section_of(8, 1, 10, 512, causal=True) == 8 and section_of(8, 1, 0, 512, causal=True) == 8
