"""No sum, product or conversion of 32 bits in a shipped kernel passes 2^31, whatever the sizes of the arrays.

`ranges` finds what numbers may be from `KNOWN`: what the host functions give the kernels, and a few variables that hold what
memory says. What it can't show then stands in `REVIEWED`, with the reason. A new one is listed only after somebody has thought.
"""

from __future__ import annotations

import functools
import json
from itertools import chain, product, starmap
from operator import itemgetter
from pathlib import Path

import pytest

from prism.lang.check import check
from prism.lang.facts.budget import grid_limit
from prism.lang.keep.records import is_record_class, items_of
from prism.lang.tree.plan import Program
from prism.lib.algorithms.sgemm import bf16x6
from prism.runtime.instance import Instance
from tests.kernels.ranges import BLOCKS, THREADS, Range, doubtful
from tests.lib import ships

MOST = 2**38
"""More elements than a GPU's memory holds: 256 GiB of one byte each."""
EXTENT = (1, 2**31 - 2**10)  # of matrices: `prism.lib.sgemm` and `hgemm` refuse longer ones
UNITS = (1, 2**30)  # `reduce_axis_plans._counter` counts more in int64
TILES = MOST // 2**10  # a tile has at least so many elements
WAVE = 2**14  # blocks that run at once, of any GPU

AXIS = {
    "units": UNITS, "across": UNITS, "splits": UNITS, "skew": (-1, 15), "lanes": (0, 5), "apart": (0, 5), "n": (1, MOST),
    "chunk": (1, MOST), THREADS: (1, 2**32 - 1),
}  # fmt: skip
FLAT = {
    "n": (0, MOST), "inner": (0, MOST), "outer": (0, MOST), "segments": (0, MOST), "before": (0, 15), "skew": (-1, 15),
    "x_skew": (-1, 15), "head": (0, 15), "capacity": (1, 4 * TILES), BLOCKS: (1, WAVE),
    # What blocks draw: each number once, the last ones when no tiles are left.
    **{f"{kernel}.following": (0, TILES + WAVE) for kernel in ("scan", "scan_packed", "scan_segments", "reduce_runs")},
    "scan_columns_shared.following": (0, TILES + WAVE), "scan.here": (0, TILES + WAVE), "scan_packed.here": (0, TILES + WAVE),
    "scan_segments.here": (0, TILES + WAVE),
    # A block looks back at the tiles since its last one: no other goes on while a tile that it has drawn is not published.
    "look_back_segments.share": (0, 4 * WAVE), "look_back_columns.share": (0, 4 * WAVE),
}  # fmt: skip
MATRIX = {
    **dict.fromkeys(("m", "n", "k", "M", "N", "K", "rows", "columns"), EXTENT), BLOCKS: (1, 2**26), "group_m": (1, 2**26),
    "prefetch_k": (0, 2**26), "tile": (0, 2**26), "end": (0, 2**26), "share": (1, 2**26), "steps": (1, 2**26),
}  # fmt: skip
LENGTH = (1, 2**31 - 2**10)  # `prism.lib.attention` refuses more keys and rows together, and more tiles
ATTENTION = {
    **{f"attend.{name}": LENGTH for name in ("row_tiles", "within", "many")}, BLOCKS: (1, WAVE),
    "following": (0, LENGTH[1] + WAVE), "tile": (0, LENGTH[1] + WAVE),
}  # fmt: skip
TREE = {**FLAT, "levels": (1, 15), "depth": (0, 18)}  # of 2^15 nodes, and of rows of at least 4
ROWS = {"rows": (1, MOST), "n": (1, 2**31 - 2**16), "lanes": (0, 5), BLOCKS: (1, 2**31 - 1)}
"""Longer rows are refused (`rows.plan.rows_of`), and lanes are of a warp."""
KNOWN: dict[str, dict[str, Range]] = {
    **dict.fromkeys(("lookup", "sample"), TREE),
    **dict.fromkeys(("reduce_axis", "find"), AXIS),
    "attend": ATTENTION,
    **dict.fromkeys(("norm_quantize_rows", "norm_rows", "rms_quantize_rows", "softmax_rows"), ROWS),
    **dict.fromkeys(("histogram", "prepare"), {**FLAT, "size": (0, 2**30 - 1)}),  # bins: what is asked for is checked
    # Columns are few, and there is a word of control for each outer index: see `plan.columns`.
    "scan_whole_rows": {
        **FLAT,
        "n": (1, MOST // 9),
        "inner": (9, 127),
        "outer": (1, 2048),
        "apart": (8, 256),
        "scan_whole_rows.following": (0, TILES + WAVE),
        "scan_whole_rows.share": (0, 4 * WAVE),
    },
    # Tiles begin before the end, but for the last words; pieces reach over less than 2^31 elements: see `copies.plan`.
    "move_tiles": {
        **FLAT,
        **dict.fromkeys(("rows", "columns"), (1, MOST)),
        **dict.fromkeys(("move_tiles.high", "move_tiles.wide"), (1, 256)),
    },
    "move_words": {
        **FLAT,
        **dict.fromkeys(("rows", "columns"), (1, MOST)),
        "move_words.below": (-31, 128),
        "move_words.wide": (1, 128),
        "x_past": (0, 3),
        "y_past": (0, 31),
    },
    "move_pieces": {
        **FLAT,
        **dict.fromkeys(("n1", "n2", "n3", "n4"), (1, MOST)),
        **dict.fromkeys(("t1", "t2", "t3", "t4"), (1, 2**14)),
        **dict.fromkeys(("o1", "o2", "o3", "o4"), (0, 3)),
        **dict.fromkeys(("c1", "c2", "c3", "c4", "n5", "n6", "n7"), (1, 2**31)),
        **{f"move_pieces.{name}": (1, 2**14) for name in ("r1", "r2", "r3", "r4", "many")},
    },
    # What fewer than 2^9 multiprocessors hold at once: see `prism.kernels.sort.resident_of`.
    "sort_resident": {"n": (0, 2**23), "tiles": (1, 2**9), "last": (0, 56), BLOCKS: (1, 2**9)},
    **dict.fromkeys(
        ("hgemm", "hgemm_in_parts", "warps", "split", "ring", "ring_async", "pack", "settle", "combine"), MATRIX
    ),
    "few": {**MATRIX, "m": (1, 16), "k": (1, 2**30)},  # see `sgemm.few.ways`
}
REVIEWED: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parent / "ranges_reviewed.json").read_text())
"""By reason and function: the texts."""


OF_INTEGERS = ("merge_keys", "move_pieces", "move_tiles", "move_words")


def kinds() -> dict[str, Instance]:
    """Return an instance of each shipped kernel, and for each setting of its flags: of floats, for data are no sizes.

    Of what merges or moves integers, which counts with no data, of these: there is no other. What ships for Hopper, what
    ships for Ampere alone, and what `bf16x6` takes beside products.
    """
    found: dict[str, Instance] = {}
    flags = (False, True)
    asked = [*starmap(bf16x6.splitter, product(flags, flags)), bf16x6.settler(False)]
    for one in (*ships.kernels("sm_90a"), *ships.kernels("sm_80"), *asked):
        template = dict(one.template)
        if one.kernel.__name__ in OF_INTEGERS or not any(
            "int" in str(template.get(name)) or template.get(name) == "bool" for name in ("T", "TI", "TO")
        ):
            records = [items_of(value) for value in template.values() if is_record_class(type(value))]
            every = sorted(
                [*template.items(), *chain(*records)], key=itemgetter(0)
            )  # with what tells `scan_segments` where segments begin
            flags = "".join(
                str(int(value)) for name, value in every if isinstance(value, bool) or name in ("HEADS", "WAY")
            )
            found.setdefault(f"{one.kernel.__name__} {flags}".strip(), one)
    return found


KINDS = kinds()


@functools.cache
def checked(one: Instance) -> Program:
    """A kernel's functions, without the barriers among them: those change no number, and take most of the time to make."""
    functions = check(one.kernel, dict(one.template))
    return Program(functions[-1], functions, {}, {})


@functools.cache
def doubts(kind: str) -> dict[tuple[str, str], str]:
    """What may pass 2^31 in a kernel, found once for all tests of a process."""
    one = KINDS[kind]
    return doubtful(checked(one), KNOWN.get(one.kernel.__name__, FLAT))


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_32_bits(kind: str) -> None:
    one = KINDS[kind]
    allowed = {(function, text) for each in REVIEWED.values() for function, texts in each.items() for text in texts}
    found = doubts(kind)
    new = {where: text for (function, text), where in found.items() if (function, text) not in allowed}
    assert not new, f"may pass 2^31: {new}"


@pytest.mark.fuzz
def test_nothing_stands_here_that_is_shown_by_now() -> None:
    """It looks at all kernels once more, in another process than the tests of each."""
    found = {key for kind in KINDS for key in doubts(kind)}
    listed = {(function, text) for each in REVIEWED.values() for function, texts in each.items() for text in texts}
    assert not listed - found


def test_all_kernels_are_looked_at() -> None:
    """But `mark`, whose offsets are data, and are looked at by themselves."""
    names = {one.kernel.__name__ for one in ships.kernels("sm_90a")}
    assert names - {one.kernel.__name__ for one in KINDS.values()} == {"mark"}
    mark = next(one for one in ships.kernels("sm_90a") if one.kernel.__name__ == "mark")
    assert not doubtful(checked(mark), FLAT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_grid_s_threads_are_counted_in_64_bits(kind: str) -> None:
    """But for where a plan says how many there are: along an axis, and of blocks that run at once."""
    one = KINDS[kind]
    limits = {
        "reduce_axis": 2**32 - 1, "find": 2**32 - 1, "reduce": 2**31 - 1, "find_whole": 2**31 - 1,
        "find_both": 2**31 - 1, "sort_resident": 2**31, "sort_shares": 2**31,
    }  # fmt: skip
    assert grid_limit(checked(one)) == limits.get(one.kernel.__name__)
