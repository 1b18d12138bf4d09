"""Attention for decoding on the reference machine, with all its checks, beside float64: lengths, pages, units, mutants."""

from __future__ import annotations

import functools
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import SCHEDULES, MachineError, run
from prism.kernels.attention import AddCut, DecodeCut, Sizes, decode, decode_cut_of, decode_parts, decode_pieces
from prism.lang.tree.plan import Barrier, Program, Wait, WaitGroup
from prism.lib.algorithms.attention_decode import plan
from prism.lib.algorithms.attention_decode.plan import instance_for
from prism.lib.algorithms.attention_decode.ships import ADDED
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.kernels.test_attention import BITS, VALUES, bound, exact
from tests.mutation import named
from tests.rarely import rarely

bfloat16 = pytest.importorskip("ml_dtypes").bfloat16


def wanted_of(q: Any, k: Any, v: Any, lengths: Any, causal: bool) -> tuple[Any, Any, Any]:
    """Return the result, that of values without signs, and the logarithms of sums, in float64, of each sequence's own keys."""
    found = [
        exact(
            q[b : b + 1], k[b : b + 1, :, :n], v[b : b + 1, :, :n], 1 / math.sqrt(q.shape[3]),
            ahead=n - q.shape[2] if causal else None,
        )
        for b, n in enumerate(lengths)
    ]  # fmt: skip
    return tuple(np.concatenate([one[part] for one in found]) for part in range(3))


def paged(rng: Any, x: Any, lengths: Any, page: int, table: Any) -> Any:
    """Return a cache of pages x keys of a page x heads x dim that has a batch's keys where a table says, and NaN elsewhere."""
    cache = np.full((table.max() + 2, page, x.shape[1], x.shape[3]), np.nan, x.dtype)
    for b, n in enumerate(lengths):
        for p in range(-(-n // page)):
            here = x[b, :, p * page : min(n, (p + 1) * page)]
            cache[table[b, p], : here.shape[1]] = here.swapaxes(0, 1)
    return cache


def attended(
    batches=1, heads=2, share=1, tokens=1, keys=70, dims=(64, 64), *, lengths=None, page=0, dtype="float16", layout="bhld",
    lse=True, causal=True, out=False,
) -> bool:  # fmt: skip
    """Call `prism.lib.attention_decode` on normal numbers, NaN behind the last keys; say whether it is near float64's result."""
    rng = np.random.default_rng(batches + keys)
    shapes = (heads, tokens, dims[0]), (heads // share, keys, dims[0]), (heads // share, keys, dims[1])
    q, k, v = (BITS[dtype](rng.normal(size=(batches, *shape))) for shape in shapes)
    many = [keys] * batches if lengths is None else list(lengths)
    wanted, size, logarithms = wanted_of(*map(VALUES[dtype], (q, k, v)), [max(0, min(n, keys)) for n in many], causal)
    q, k, v = (x.view(bfloat16) if dtype == "bfloat16" else x for x in (q, k, v))
    more: dict[str, Any] = {} if lengths is None else {"lengths": np.array(lengths, np.int32)}
    if page:
        wide = -(-keys // page)
        table = rng.permutation(batches * wide + 1)[: batches * wide].reshape(batches, wide).astype(np.int32)
        k, v = (paged(rng, x, many, page, table) for x in (k, v))
        for b, n in enumerate(many):
            table[b, -(-n // page) :] = 1 << 30  # not read
        k, v = (x if layout == "blhd" else x.swapaxes(1, 2) for x in (k, v))
        more["page_table"] = table
    else:
        for x, (b, n) in itertools.product((k, v), enumerate(many)):
            x[b, :, max(n, 0) :] = np.nan
        k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) if layout == "blhd" else x for x in (k, v))
    q = np.ascontiguousarray(q.swapaxes(1, 2)) if layout == "blhd" else q
    if out:
        target = np.zeros((*q.shape[:-1], dims[1] + 8), q.dtype)[..., :-8]
        more["out"] = (target, np.zeros((batches, heads, tokens), np.float32)) if lse else target
    found = prism.lib.attention_decode(q, k, v, layout=layout, lse=lse, causal=causal, **more)
    found, logs = found if lse else (found, None)
    assert not out or found is target
    found = found.swapaxes(1, 2) if layout == "blhd" else found
    right = bool(
        (
            np.abs(found.astype(np.float64) - wanted)
            <= bound(wanted, size, VALUES[dtype](BITS[dtype](np.ones((1, 1, 1, 1)))), dtype)
        ).all()
    )
    if logs is not None:
        none = np.isneginf(logarithms)
        off = np.abs(np.where(none, 0, logs) - np.where(none, 0, logarithms))
        right &= bool(
            (np.isneginf(logs) == none).all() and (off <= 2.0**-18 * (1 + np.where(none, 0, np.abs(logarithms)))).all()
        )
    return right


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpret, "run", functools.partial(run, check=True))


@pytest.mark.parametrize("keys", rarely([1, 63, 64, 65, 192, 193, 500], but=[1, 64, 193]))
def test_edges(keys: int) -> None:
    assert attended(keys=keys)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a head that three blocks have, done in any order."""
    monkeypatch.setattr(interpret, "run", functools.partial(run, check=True, schedule=schedule, seed=3))
    assert attended(2, 2, 2, keys=300, lengths=[290, 150])


def test_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes first: parts of a head are added up in the order of its keys."""
    q, k = (np.random.default_rng(0).normal(size=(1, 1, n, 8)).astype(np.float16) for n in (3, 400))
    found = []
    for schedule, seed in [("random", 0), ("random", 1), ("reversed", 0), ("late", 0)]:
        monkeypatch.setattr(interpret, "run", functools.partial(run, schedule=schedule, seed=seed))
        found.append(prism.lib.attention_decode(q, k, k, lse=True))
    for one in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(one, found[0], strict=True))


@pytest.mark.parametrize("layout", ["bhld", "blhd"])
@pytest.mark.parametrize("page", rarely([0, 1, 8, 12, 24, 64, 96, 200], but=[0, 12, 64]))
def test_lengths_and_pages(page: int, layout: str) -> None:
    """None, one, all keys, and what lies behind them, and pages that nobody has, may be anything; pages of any size."""
    assert attended(4, 4, 2, keys=200, lengths=[0, 1, 200, 77], page=page, layout=layout)


def test_lengths_that_are_none() -> None:
    """Less than none, and more than there is room for."""
    assert attended(2, 2, 1, keys=100, lengths=[-3, 1000])


SHARING = [(2, 2, 2), (3, 10, 5), (8, 8, 8), (16, 4, 4), (9, 1, 1), (1, 64, 64), (1, 9, 9)]


@pytest.mark.parametrize(("tokens", "heads", "share"), rarely(SHARING, but=[(3, 10, 5)]))
@pytest.mark.parametrize("causal", [True, False])
def test_queries_that_share_keys(tokens: int, heads: int, share: int, causal: bool) -> None:
    """Up to 64: of fewer than 9 a thread has one row; lengths below the tokens' number leave some of them without keys."""
    assert attended(2, heads, share, tokens, 130, lengths=[130, 5], causal=causal, layout="blhd")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("dim", "dim_v"),
    rarely([(8, 8), (64, 128), (128, 64), (96, 40), (128, 128), (192, 128), (256, 256)], but=[(96, 40)]),
)
def test_dims(dim: int, dim_v: int, dtype: str) -> None:
    assert attended(1, 2, 2, keys=100, dims=(dim, dim_v), dtype=dtype)


@pytest.mark.parametrize("blocks", rarely([3, 9], but=[9]))
def test_parts(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads that many blocks have, added up by one warp, or by several; heads that one block has; blocks without keys."""
    monkeypatch.setattr(plan, "HOST_BLOCKS", blocks)
    assert attended(1, 2, 1, keys=500, lengths=[20]) and attended(1, 2, 2, 3, keys=700)
    assert attended(5, 4, 2, keys=350, lengths=[350, 0, 64, 350, 130])


def test_how_many_blocks() -> None:
    """As many as run at a time, or a few less, where each then has tiles of one head, or whole heads."""
    for tiles, pairs, blocks in (
        (2048, 8, 264),
        (2048, 32, 256),
        (20, 8, 20),
        (1 << 14, 1024, 256),
        (1 << 14, 1000, 250),
    ):
        assert plan.blocks_of(tiles, pairs, 264) == blocks
    assert plan.blocks_of(1 << 14, 300, 264) == plan.blocks_of(1 << 14, 600, 264) == 264


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [
        ("128x1x4096", 128), ("16x8x8192", 128), ("1x1x65536", 132), ("1x8x16384", 128), ("16x1x16384", 128), ("60x1x8192", 120),
        ("128x8x1024", 1024), ("120x8x1536", 960), ("300x8x256", 240), ("70x8x2000", 264), ("1x8x65536", 264),
        ("8x8x16384", 256), ("64x4x4096", 256), ("100x1x4096", 100), ("90x1x4096", 90), ("80x1x4096", 240),
        ("11x8x4096", 264), ("24x4x4096", 96), ("1x8x1024", 128),
    ],
)  # fmt: skip
def test_blocks_of_a_multiprocessor(shape: str, blocks: int) -> None:
    """One where it leaves no parts, or fewer bytes of them; else two; or one a head. 32 heads of 128 elements, on an H200."""
    batches, heads, keys = map(int, shape.split("x"))
    tiles, sizes = batches * heads * keys // 64, {"tile": 64 * 512, "part": 32 // heads * 132 * 4}
    assert plan.best_blocks(tiles, batches * heads, 132, beside=2, **sizes, ragged=False) == blocks
    assert plan.best_blocks(tiles, batches * heads, 132, beside=1, **sizes, ragged=True) <= 132


@pytest.mark.parametrize("parts", [1, 2, 5, 40])
@pytest.mark.parametrize("cut", rarely(ADDED, but=[ADDED[0], ADDED[6], ADDED[12]]), ids=str)
def test_parts_are_added_up(cut: AddCut, parts: int) -> None:
    """However many there are of each, of rows of two heads, by any number of threads; what is kept of none is not looked at."""
    rng, wide, rows = np.random.default_rng(parts), 136, 3
    own, logs = rng.normal(size=(2, parts, rows, wide)), 20 * rng.normal(size=(2, parts, rows))
    logs[:, 1:2] = -np.inf  # of no keys: nothing of it counts
    scale = np.exp(logs - logs.max(1, keepdims=True))[..., None]
    wanted = (own * scale).sum(1) / scale.sum(1)
    kept, kept_logs = (np.full((4 * parts, *x.shape[2:]), np.nan, np.float32) for x in (own, logs))
    for head, part in itertools.product(range(2), range(parts)):
        slot = 2 * (head * parts + part) + (part == 0)
        kept[slot], kept_logs[slot] = own[head, part], logs[head, part]
    sizes = np.zeros((), Sizes)
    known = {
        "batches": 1,
        "heads": 2,
        "shared_by": rows,
        "tokens": 1,
        "keys": 64 * parts,
        "columns_v": wide,
        "strips": 1,
    }
    known |= {"strip": rows, "padded_v": wide, "blocks": 2 * parts, "o_head": wide, "o_token": wide}
    for name, value in known.items():
        sizes[name] = value
    out, leaders = np.full(2 * rows * wide, 7, np.float16), np.array([0, parts, parts, parts], np.int32)
    blocks = -(-2 * rows * -(-wide // (4 * cut.lanes)) * cut.split // cut.warps)
    given = [out, np.zeros(1, np.float32), kept.ravel(), kept_logs.ravel(), leaders, sizes[()]]
    run(instance_for("float16", cut).program, blocks, cut.threads, given, check=True)
    found = out.reshape(2, rows, wide).astype(np.float64)
    assert (found == 7).all() if parts == 1 else np.abs(found - wanted).max() < 2e-3 * max(1, np.abs(wanted).max())


def test_how_parts_are_added_up() -> None:
    """A warp for each row and 128 columns where there are many; several, of fewer columns, where there are few."""
    asked = {"lengths": False, "lse": False}
    assert plan.adding(2, 4096, **asked) == AddCut(1, 2) and plan.adding(16, 512, **asked) == AddCut(4, 4)
    assert plan.adding(264, 32, **asked) == AddCut(16, 8, 8) and plan.adding(33, 32, **asked) == AddCut(4, 4, 8)
    assert plan.adding(2, 4096, lengths=True, lse=True) == AddCut(4, 8, lengths=True, lse=True)


@pytest.mark.parametrize("batches", rarely([300, 513], but=[]))
def test_more_sequences_than_threads(batches: int) -> None:
    assert attended(batches, 1, 1, keys=8, dims=(8, 8), lengths=list(np.random.default_rng(0).integers(0, 9, batches)))


def test_no_keys() -> None:
    """Zeros, and the logarithm of none."""
    assert attended(2, 4, 2, keys=0, lengths=[0, 3]) and attended(1, 2, 1, keys=0, layout="blhd")


def test_results() -> None:
    """With logarithms and without, in memory of the caller's that has gaps."""
    assert attended(lse=False) and attended(out=True) and attended(2, 4, 2, out=True, layout="blhd")


# -- Synchronisation ------------------------------------------------------------------------------------------------------


EXCUSES = {
    "WaitGroup(wgmma) after": "queries are read by the wgmmas of scores alone, which each trip has waited for",
}
"""Waits and barriers of which one each is for what the analysis can't see: without it nothing is wrong."""
CALLS = {
    "dense": (decode_cut_of(64, 64, lse=True, host=True), (
        {"batches": 1, "keys": 300, "share": 2}, {"batches": 4, "heads": 4, "keys": 60},
    )),
    "pages": (
        decode_cut_of(64, 64, page=32, lengths=True, lse=True, host=True),
        (
            {"batches": 1, "share": 2, "tokens": 2, "keys": 500, "page": 32, "lengths": [500]},
            {"batches": 6, "heads": 10, "tokens": 2, "keys": 60, "page": 32, "lengths": [60, 1, 33, 0, 60, 2]},
        ),
    ),
    "rows": (
        decode_cut_of(64, 64, page=12, lengths=True, lse=True, host=True),
        (
            {"batches": 1, "share": 2, "tokens": 2, "keys": 500, "page": 12, "lengths": [500]},
            {"batches": 6, "heads": 10, "tokens": 2, "keys": 60, "page": 12, "lengths": [60, 1, 33, 0, 60, 2]},
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", rarely(CALLS, but=["dense"]))
def test_each_wait_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each wait deleted the machine tells, or the result is wrong; but for those of `EXCUSES`."""
    cut, calls = CALLS[name]
    whole, survivors = instance_for("float16", cut).program, []
    waits = [
        (one, step)
        for one in whole.plans.values()
        for step in (*one.barriers, *one.operations)
        if isinstance(step, Barrier | Wait | WaitGroup)
    ]
    for one, step in waits:
        mutant = whole.with_plan(replace(one, skewed=None).drop_step(step))

        def run_mutant(program: Program, *given: Any, mutant: Program = mutant) -> None:
            run(mutant if program is whole else program, *given, check=True, schedule="random")

        monkeypatch.setattr(interpret, "run", run_mutant)
        try:
            if all(attended(**call) for call in calls):
                survivors.append(named(step))
        except MachineError:
            pass
    found = [name.partition(" line")[0] for name in survivors]
    assert len(waits) > 8 and len(set(found)) == len(found) and set(found) <= EXCUSES.keys(), survivors


def test_the_barriers_of_parts_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those between what threads leave and who adds it up, and before they leave more."""
    monkeypatch.setattr(plan, "HOST_BLOCKS", 17)
    whole = instance_for("float16", AddCut(4, 2, 8, lse=True)).program
    barriers = [(one, step) for one in whole.plans.values() for step in one.barriers]
    assert len(barriers) == 2 and attended(1, 1, keys=64 * 17)
    for one, barrier in barriers:
        mutant, seen = whole.with_plan(one.drop_step(barrier)), []

        def run_mutant(program: Program, *given: Any, mutant: Program = mutant, seen: list[bool] = seen) -> None:
            seen.append(program is whole)
            run(mutant if program is whole else program, *given, check=True)

        monkeypatch.setattr(interpret, "run", run_mutant)
        with pytest.raises(MachineError):
            attended(1, 1, keys=64 * 17)
        assert seen == [False, True]


def test_nobody_wrote_a_barrier() -> None:
    for module in (decode, decode_parts, decode_pieces):
        path = Path(getattr(module, "__file__", None) or decode_parts.__file__.replace("decode_parts", "decode"))
        assert not re.search(r"fence|unsafe|wait_|(?<!a)sync", path.read_text(), re.IGNORECASE), path


# -- Machine code, and choices --------------------------------------------------------------------------------------------


MACHINE = [
    ("float16", decode_cut_of(128, 128)), ("bfloat16", decode_cut_of(64, 64, lengths=True, page=16)),
    ("bfloat16", decode_cut_of(128, 128, lengths=True, lse=True, page=64)),
    ("bfloat16", decode_cut_of(128, 128, lengths=True, page=1)),
    ("bfloat16", decode_cut_of(128, 128, lengths=True, page=8)), ("bfloat16", decode_cut_of(192, 128)),
    ("float16", decode_cut_of(256, 256, lengths=True, lse=True)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "cut"), rarely(MACHINE, but=[MACHINE[2]]))
def test_machine_code(dtype: str, cut: DecodeCut) -> None:
    """No register is spilled, no wgmma waits for itself, and a multiprocessor has room for the tiles."""
    made = entry_of(instance_for(dtype, cut).program, "sm_90a")
    binary = compile_cubin(made.source, "sm_90a")
    assert (binary.spills, binary.warnings) == (0, ())
    assert cut.blocks * (made.shared_bytes + 1024) <= 228 << 10


def test_every_dim_has_room() -> None:
    """Of tiles and barriers, in each block of a multiprocessor, and copies have whole rows, whatever a page has."""
    for dim, dim_v, page in itertools.product(range(8, 264, 8), range(8, 264, 8), (0, 8, 40, 96, 200)):
        cut = decode_cut_of(dim, dim_v, page=page)
        held = 2 * (64 * cut.dim + cut.stages * cut.keys * (cut.dim + cut.dim_v))
        assert cut.blocks * (held + 2048) <= 228 << 10 and cut.dim >= dim and cut.dim_v >= dim_v and cut.stages >= 2, (
            cut
        )
