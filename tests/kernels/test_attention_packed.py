"""Attention of sequences that lie one after the other: each as if it were alone, whatever its neighbours have; its waits.

Tests of kernels/attention/packed.py, and of the parts of forward.py that are for it. tests/gpu/test_attention_packed.py is its
part on a GPU.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.host.memory import view_of
from prism.interpret import SCHEDULES, MachineError, run
from prism.kernels.attention import Cut, Terms, cut_of
from prism.kernels.attention.cut import Sizes
from prism.kernels.attention.packed import Place, find_tile
from prism.lang import block, const, grid, group, id, int32, int64, partition, prism, ptr, requires, thread
from prism.lang.tree.plan import Program
from prism.lib.algorithms.attention.packed import map_of
from prism.lib.algorithms.attention.plan import instance_for
from prism.lib.views import new_view
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.kernels.test_attention import BITS, EXCUSES, ONE, TWO, VALUES, WAITS, bound, exact
from tests.mutation import named
from tests.rarely import rarely

DIRECT = replace(ONE, slab=False)
LENGTHS = (5, 64, 0, 70, 1, 129)
KEYS = (40, 0, 7, 33, 65, 64)


@functools.cache
def program(dtype: str, cut: Cut, terms: Terms, index: str = "int32") -> Program:
    return instance_for(dtype, cut, terms, index=index).program


def packed(x: Any) -> Any:
    """An array of rows x heads x elements in the map that ends where sequences do."""
    rows, heads, dim = x.shape
    view = replace(new_view("x", "float16", (1, heads, rows, dim)), strides=(x.nbytes, 2 * dim, 2 * dim * heads, 2))
    found = map_of(view)
    return view_of(x.reshape(-1), found.shape, found.strides, found.before)


def starts(lengths: Any, index: str = "int32") -> Any:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(index)


def attended(
    lengths: Any, keys: Any = None, cut: Cut = ONE, *, heads: int = 2, share: int = 1, dtype: str = "float16", ahead: Any = None,
    back: Any = None, last: bool = False, index: str = "int32", blocks: int = 2, section: int = 2, behind: int = 0,
    nothing_at: int = -1, **options: Any,
) -> bool:  # fmt: skip
    """Run the kernel, checked, and say whether each sequence has what float64 makes of it alone, and nothing else is written.

    `behind`: rows and keys behind the last sequence. `nothing_at`: a sequence whose queries, keys and values are NaN.
    """
    keys, rng = lengths if keys is None else keys, np.random.default_rng(sum(lengths))
    of_rows, of_keys = starts(lengths, index), starts(keys, index)
    rows, all_keys = (int(x[-1]) + behind for x in (of_rows, of_keys))
    shapes = (rows, heads, cut.dim), (all_keys, heads // share, cut.dim), (all_keys, heads // share, cut.dim_v)
    q, k, v = (BITS[dtype](rng.normal(size=shape)) for shape in shapes)
    for x, at in ((q, of_rows), (k, of_keys), (v, of_keys)):
        x[at[-1] :] = BITS[dtype](np.float64(np.nan))
        if nothing_at >= 0:
            x[at[nothing_at] : at[nothing_at + 1]] = BITS[dtype](np.float64(np.nan))
    out = np.full((rows, heads, cut.dim_v), 77, q.dtype)
    logs, counter = np.full((heads, rows), 77, np.float32), np.zeros(4, np.uint32)
    scale = 1 / math.sqrt(cut.dim)
    terms = Terms(ahead is not None, back is not None, lse=True, packed=True, last=last)
    sizes = (
        len(lengths) * heads, heads, share, rows, all_keys, 0 if ahead is None else ahead, 0 if back is None else back, cut.dim_v,
        section, scale, 1.0, 0, cut.dim_v, heads * cut.dim_v,
    )  # fmt: skip
    given = {
        "q": packed(q), "k": packed(k), "v": packed(v), "map_out": packed(out) if cut.slab else np.zeros((1,) * 4, q.dtype),
        "out": np.zeros(0, q.dtype) if cut.slab else out.reshape(-1), "lse": logs.reshape(-1), "sinks": np.zeros(0, np.float32),
        "s": np.array(sizes, Sizes)[()], "counter": counter, "scales": np.zeros(0, np.float32), "offsets": of_rows,
        "key_offsets": of_keys,
    }  # fmt: skip
    built = program(dtype, cut, terms, index)
    arguments = [given[parameter.name] for parameter in built.entry.parameters]
    run(built, blocks, cut.threads, arguments, check=True, **options)
    right = not counter.any() and bool((out[of_rows[-1] :] == 77).all() and (logs[:, of_rows[-1] :] == 77).all())
    q, k, v, found = (VALUES[dtype](x) for x in (q, k, v, out))
    for s in range(len(lengths)):
        here, there = slice(of_rows[s], of_rows[s + 1]), slice(of_keys[s], of_keys[s + 1])
        alone = [x.swapaxes(0, 1)[None] for x in (q[here], k[there], v[there])]
        if s == nothing_at or not lengths[s]:
            continue
        shift = keys[s] - lengths[s] if last else 0
        bounds = {"ahead": None if ahead is None else ahead + shift, "back": None if back is None else back - shift}
        wanted, size, wanted_logs = exact(*alone, scale, **bounds)
        off = np.abs(found[here].swapaxes(0, 1)[None] - wanted)
        right &= bool((off <= (bound(wanted, size, alone[2], dtype) if keys[s] else 0)).all())
        with np.errstate(invalid="ignore"):
            near = np.abs(logs[:, here] - wanted_logs[0]) <= 2.0**-18 * (1 + np.abs(wanted_logs[0]))
        right &= bool((near | (logs[:, here] == wanted_logs[0])).all())
    return right


# -- Results ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [ONE, DIRECT, TWO], ids=["slab", "direct", "turns"])
def test_lengths(cut: Cut) -> None:
    assert attended(LENGTHS, cut=cut) and attended(LENGTHS, KEYS, cut, share=2, index="int64")


@pytest.mark.covering(1)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("ahead", "back"), [(0, None), (None, 9), (3, 20), (-30, 40)])
def test_diagonals_and_windows_of_each_sequence(ahead: Any, back: Any, last: bool) -> None:
    assert attended(LENGTHS, KEYS, ahead=ahead, back=back, last=last)


@pytest.mark.parametrize("cut", [ONE, DIRECT], ids=["slab", "direct"])
def test_neighbours_have_no_part(cut: Cut) -> None:
    """Nor has what lies behind the last one: NaN times no weight would be NaN."""
    assert attended((30, 70, 20), (50, 33, 70), cut, nothing_at=1, behind=40)
    assert attended((30, 70, 20), (33, 50, 31), cut, nothing_at=0, ahead=0, last=True)


def test_bfloat16_and_tiles_that_end_together() -> None:
    assert (
        attended((64, 128, 64), dtype="bfloat16", section=1, heads=3)
        and attended((0, 0))
        and attended((1,) * 9, blocks=3)
    )


@pytest.mark.parametrize("lengths", [(0, 0, 70), (1, 64, 1), (5, 0, 130)])
def test_each_box_that_is_copied_holds_a_row(lengths: Any) -> None:
    """The machine refuses another one, of which the copy engine touches the map's begin: that was an illegal address."""
    assert attended(lengths, (0, 3, 70)) and attended(lengths, (90, 3, 0), ahead=0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    assert attended((70, 5, 140), ahead=-2, schedule=schedule, seed=1)


# -- Which tile is where ----------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def find_tiles(
    offsets: ptr(const(int64)) @ grid[1], key_offsets: ptr(const(int64)) @ grid[1], found: ptr(int32) @ grid[1],
    tiles: int32 @ grid[1], sequences: int32 @ grid[1], heads: int32 @ grid[1], room: int32 @ grid[1], rows: int32 @ grid[1],
    keys: int32 @ grid[1],
):  # fmt: skip
    lane: int32 @ thread[1] = id()
    with partition(found, thread[1], lambda t, i: 6 * t + i, races="allow") as own, group(thread[1]):
        for tile in range(lane, tiles, 32):
            place: Place = find_tile(offsets, key_offsets, tile, sequences, heads, room, rows, keys, ROWS=16)
            own[tile, 0] = place.head
            own[tile, 1] = place.top
            own[tile, 2] = place.rows
            own[tile, 3] = place.keys
            own[tile, 4] = place.row_end
            own[tile, 5] = place.key_end


def places_of(offsets: Any, key_offsets: Any, rows: int, keys: int, *, heads: int, room: int) -> Any:
    """Return the places of all numbers: head, top, rows, keys, and both ends."""
    sequences = len(offsets) - 1
    found = np.full((heads * (rows // 16 + sequences), 6), -1, np.int32)
    numbers = (len(found), sequences, heads, room, rows, keys)
    given = [np.asarray(x, np.int64) for x in (offsets, key_offsets)]
    run(check(find_tiles, {}), 1, 32, [*given, found.reshape(-1), *map(np.int32, numbers)], check=True)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_each_tile_is_found_once(seed: int) -> None:
    """Of lengths that are none, whole tiles, or anything; of as many heads together as there is room for, the last rows first."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 15, 16, 17, 32, 100], rng.integers(1, 12))
    keys, heads, room = rng.integers(0, 50, len(lengths)), int(rng.integers(1, 6)), int(rng.choice([1, 30, 90, 1000]))
    of_rows, of_keys = starts(lengths), starts(keys)
    found = places_of(of_rows, of_keys, int(of_rows[-1]) + 3, int(of_keys[-1]), heads=heads, room=room)
    wanted = []
    for s, length in enumerate(lengths):
        section = max(1, min(heads, room // max(1, int(keys[s]))))
        ends = [*range(0, heads // section * section, section), heads]  # the last has what is left too
        for a, b in itertools.pairwise(ends):
            tops = reversed(range(0, length, 16))
            wanted += [(h, top, length, keys[s], of_rows[s + 1], of_keys[s + 1]) for top in tops for h in range(a, b)]
    made = [tuple(int(x) for x in place) for place in found if place[2]]
    assert made == [tuple(int(x) for x in one) for one in wanted]


@pytest.mark.parametrize("seed", range(6))
def test_no_place_is_outside_whatever_offsets_are(seed: int) -> None:
    """Offsets that fall, are negative, or lead out: what the kernel would write lies in the result."""
    rng = np.random.default_rng(seed)
    offsets, of_keys = rng.integers(-300, 300, (2, int(rng.integers(2, 9)))) * rng.choice([1, 1 << 40])
    found = places_of(offsets, of_keys, 100, 60, heads=3, room=70)
    head, top, rows, keys, row_end, key_end = found.T
    assert ((head >= 0) & (head < 3) & (top >= 0) & (top % 16 == 0)).all()
    assert ((row_end <= 100) & (row_end >= rows) & (rows >= 0) & ((top < rows) | (rows == 0))).all()
    assert ((key_end <= 60) & (key_end >= keys) & (keys >= 0)).all()


# -- Synchronisation, and machine code ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", rarely([ONE, DIRECT, TWO], but=[ONE]), ids=lambda cut: f"{cut.groups} {cut.slab}")
def test_each_wait_is_needed(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of places among them: of each one deleted the machine tells, or a result is wrong; but for those of `EXCUSES`."""
    whole, survivors = program("float16", cut, Terms(lse=True, packed=True)), []
    waits = [(plan, step) for plan in whole.plans.values() for step in plan.operations if isinstance(step, WAITS)]
    assert len([step for _, step in waits if "next_place" in named(step)]) >= 2
    for plan, step in waits:
        mutant = whole.with_plan(replace(plan, skewed=None).drop_step(step))
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[__name__], "program", lambda *_, mutant=mutant: mutant)
            if not is_reported(cut):
                survivors.append(named(step).partition(" line")[0])
    assert len(set(survivors)) == len(survivors) and set(survivors) <= EXCUSES.keys(), survivors


def is_reported(cut: Cut) -> bool:
    """Whether the machine tells of a fault, or a result is wrong: of six sequences, whose last keys are masked in a trip."""
    rows, keys = (cut.rows + 1,) * 6, (5 * cut.keys - 5,) * 6
    try:
        return not attended(rows, keys, cut, heads=1, blocks=1, schedule="random")
    except MachineError:
        return True


def test_a_plain_kernel_has_nothing_of_it() -> None:
    """But two parameters: no offset is read, and no place is handed on. A place is one of a batch there."""
    for packs in (False, True):
        text = entry_of(program("float16", ONE, Terms(True, True, lse=True, packed=packs)), "sm_90a").source
        inside = re.sub(r"//.*", "", text).partition("prism_attend(")[2].partition(") {")[2]
        assert bool(re.search("offsets|next_place", inside)) == packs


MACHINE = [("bfloat16", 128, Terms(causal=True, lse=True, packed=True, last=True)), ("float16", 64, Terms(packed=True)),
           ("float16", 256, Terms(causal=True, lse=True, packed=True))]  # fmt: skip


@pytest.mark.parametrize(("dtype", "dim", "terms"), rarely(MACHINE, but=MACHINE[:1]))
def test_machine_code(dtype: str, dim: int, terms: Terms) -> None:
    """No register is spilled, no wgmma waits for itself, and there is room."""
    made = entry_of(program(dtype, cut_of(dim, dim, 1024), terms), "sm_90a")
    binary = compile_cubin(made.source, "sm_90a")
    assert binary.spills == 0 and not [one for one in binary.warnings if "was set but never used" not in one]
    assert made.shared_bytes <= 227 << 10
