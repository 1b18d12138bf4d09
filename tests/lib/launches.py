"""Launches of the kernels that test the collectives: on a GPU they must leave what they leave on the reference machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.lang import Kernel, block
from prism.lib.thread import operators
from tests.lib.block import (
    test_arg,
    test_compact,
    test_difference,
    test_exchange,
    test_groups,
    test_histogram,
    test_network,
    test_rank,
    test_reduce_apart,
    test_reduce_more,
    test_scan_more,
    test_segments,
    test_select,
    test_shift,
    test_sort,
    test_types,
    test_vote,
)
from tests.lib.grid import test_deal_tiles
from tests.lib.oracles import AFFINE, LAST, heads_of
from tests.lib.warp import test_exchange as warp_exchange
from tests.lib.warp import test_groups as warp_groups
from tests.lib.warp import test_segments as warp_segments
from tests.lib.warp import test_shift as warp_shift
from tests.lib.warp import test_sort as warp_sort
from tests.lib.warp import test_valid as warp_valid


@dataclass(frozen=True)
class Launch:
    """A kernel, its block's size, its arguments (of which arrays are copied for each run), and its template arguments."""

    kernel: Kernel
    threads: int
    arguments: tuple[Any, ...]
    template: dict[str, Any] = field(default_factory=dict)

    def run(self, put: Any = np.copy, **options: Any) -> list[Any]:
        """Launch one block on copies of the arrays, made by `put`; return them."""
        given = [put(a) if isinstance(a, np.ndarray) and a.ndim else a for a in self.arguments]
        self.kernel[1, self.threads](*given, template=self.template, **options)
        return [a for a, b in zip(given, self.arguments, strict=True) if isinstance(b, np.ndarray) and b.ndim]


def ints(size: int, low: int = -50, high: int = 50, kind: str = "int32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(low, high, size).astype(kind)


def none(size: int, kind: str = "int32") -> Any:
    return np.zeros(size, kind)


def words(size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64)


OF_MAPS = {"OP": AFFINE.function}
FIRST, ONE = np.uint64(7 << 32 | 9), np.uint64(1 << 32)
"""A map to begin with, and the one that leaves others alone."""


def launches() -> dict[str, Launch]:
    """All of them, by name: three warps where the kernel takes any number, an order that matters where there is an operator."""
    both_ways = {name: one for flag in (False, True) for name, one in {**moves(flag), **scans(flag)}.items()}
    return {**alone(), **of_each_kind(), **both_ways}


def alone() -> dict[str, Launch]:
    """Those of a kernel that there is in one way."""
    found = {
        "votes": Launch(test_vote.votes, 96, (ints(96, 0, 2), none(96))),
        "nearest": Launch(test_arg.nearest, 96, (ints(96), none(96))),
        "histogram": Launch(
            test_histogram.counts, 96, (ints(384, -2, 70), none(64, "uint32"), none(64, "uint32"), 384, 1),
            {"ITEMS": 4, "BINS": 64},
        ),
        "select-rank": Launch(
            test_select.ranked,
            64,
            (words(500).astype(np.uint32), ints(500, 0, 3), none(3, "uint32"), 500, 77),
            test_select.SIZES,
        ),
        "top-k": Launch(test_select.firsts, 64, (words(192).astype(np.uint32), none(192, "uint32"), 70), test_select.FIRST),
        "compact": Launch(
            test_compact.compact, 96, (ints(1152), none(1152), none(1), 1100, 10), {"ITEMS": 12, "WIDTH": 4, "THREADS": 96}
        ),
        "separate": Launch(
            test_compact.separate, 96, (ints(1152), none(1152), none(1), 1100, 10), {"ITEMS": 12, "WIDTH": 4, "THREADS": 96}
        ),
        "store_flagged": Launch(
            test_compact.store, 96, (ints(1152), none(1172), none(1), 1100, 1152, 3, 3, 10, 0),
            {"TO": "int32", "ITEMS": 12, "WIDTH": 4, "THREADS": 96, "VECTOR": 4},
        ),
        "moved": Launch(
            test_shift.moved, 96, (ints(96), none(96), none(96), none(96), -33, 40, -5), {"THREADS": 96}
        ),
        "into": Launch(test_reduce_more.into, 96, (words(96), none(2, "uint64"), 96), OF_MAPS),
        "apart": Launch(
            test_reduce_apart.apart, 128, (ints(128), none(128), none(128, "float32")), {"APART": 8, "TEAM": 64, "THREADS": 128}
        ),
        "dealt": Launch(
            test_deal_tiles.dealt, 64, (none(600), none(18), np.array([5, 0, 90], np.int32), 3, 2, 100), {"UNEVEN": True}
        ),
        "valid": Launch(test_reduce_more.valid_ones, 96, (words(96), none(96, "uint64"), 70, FIRST), OF_MAPS),
        "reduce-segments": Launch(
            test_segments.reduced, 256, (words(256), heads_of(256, 0.02), none(256, "uint64")), OF_MAPS
        ),
        "warp-valid": Launch(warp_valid.sums, 96, (words(96), none(96, "uint64"), 45, FIRST), OF_MAPS),
        "warp-reduce-segments": Launch(warp_segments.reduced, 96, (words(96), heads_of(96, 0.1), none(96, "uint64")), OF_MAPS),
        "warp-rotate": Launch(warp_shift.rotated, 96, (ints(96), none(96), -5)),
        "parts": Launch(test_groups.parts, 128, (words(128), none(128, "uint64")), OF_MAPS),
        "warp-sort": Launch(
            warp_sort.sorted_groups, 96, (words(384), none(384, "uint64")),
            {"ITEMS": 4, "SIZE": 8, "LESS": operators.less, "TOTAL": True},
        ),
        "warp-sort-pairs": Launch(
            warp_sort.sorted_group_pairs, 96, (ints(384), none(384), none(384)),
            {"ITEMS": 4, "SIZE": 16, "LESS": test_sort.tens},
        ),
        "sort-network": Launch(
            test_network.sorted_tile, 128, (words(512), none(512, "uint64")),
            {"ITEMS": 4, "THREADS": 128, "LESS": operators.less, "TOTAL": True},
        ),
        "merge": Launch(
            test_sort.merged, 32, (np.sort(ints(70)), np.sort(ints(41, seed=1)), none(128), 70, 41, -1),
            {"ITEMS": 4, "THREADS": 32, "LESS": operators.less},
        ),
        "merge-pairs": Launch(
            test_sort.merged_pairs, 32,
            (np.sort(ints(70)), ints(70), np.sort(ints(41, seed=1)), ints(41), none(128), none(128), 70, 41),
            {"ITEMS": 4, "THREADS": 32, "LESS": operators.less},
        ),
        "rank": Launch(test_sort.ranked, 96, (ints(384, 0, 16), none(384)), {"ITEMS": 4, "THREADS": 96, "BITS": 4}),
    }  # fmt: skip
    for name, digits in (("uniform", ints(1024, 0, 256)), ("equal", none(1024))):
        for width in (1, 4):
            sizes = {"ITEMS": 4, "THREADS": 256, "BITS": 8, "WIDTH": width, "SHARE": 1}
            found[f"rank-counts-{name}-{width}"] = Launch(
                test_rank.counted, 256, (digits, none(1024), none(256), none(256)), sizes
            )
    radix = {"ITEMS": 4, "THREADS": 96, "FIRST": 0, "LAST": 32, "KEY": operators.bits_of_float32}
    found["radix-sort"] = Launch(test_sort.radix_sorted, 96, (ints(384, kind="float32"), none(384, "float32")), radix)
    found["radix-pairs"] = Launch(
        test_sort.radix_sorted_pairs, 96, (ints(384, kind="float32"), none(384), none(384, "float32")), radix
    )
    found["both"] = Launch(
        test_scan_more.both, 96, (words(384), none(384, "uint64"), none(384, "uint64"), none(96, "uint64"), 384, FIRST),
        {**OF_MAPS, "ITEMS": 4, "WIDTH": 2},
    )  # fmt: skip
    found["warp-both"] = Launch(
        warp_valid.both, 96, (words(384), none(384, "uint64"), none(384, "uint64"), none(96, "uint64"), FIRST),
        {**OF_MAPS, "ITEMS": 4, "WIDTH": 2},
    )  # fmt: skip
    last = {"OP": LAST.function, "ITEMS": 4, "WIDTH": 4, "EXCLUSIVE": False, "PARTIAL": False}
    sparse = np.where(ints(4096) > 45, ints(4096, seed=1), 0).astype(np.int32)
    found["large-block"] = Launch(test_scan_more.tiles, 1024, (sparse, none(4096), none(1024), 4096, 4096, 3), last)
    return found


def of_each_kind() -> dict[str, Launch]:
    """Those of a kernel that takes each type, or each exchange."""
    found = {}
    for kind in test_types.KINDS:
        x = test_types.bits(ints(384, 0, 60), kind)
        arguments = (x, np.zeros_like(x), np.zeros(768, x.dtype), 380)
        found[f"types-{kind}"] = Launch(test_types.everything, 96, arguments, {"T": kind, "THREADS": 96})
    for name in test_exchange.EXCHANGES:
        for items in (4, 7):
            template = {"ITEMS": items, "THREADS": 96, "EXCHANGE": getattr(block, name)}
            found[f"{name}-{items}"] = Launch(
                test_exchange.exchange, 96, (ints(96 * items), none(96 * items)), template
            )
    starts = np.random.default_rng(0).permutation(384).astype(np.int32)
    for name in test_exchange.SCATTERS:
        template = {"ITEMS": 4, "THREADS": 96, "SCATTER": getattr(block, name)}
        found[name] = Launch(test_exchange.scatter, 96, (ints(384), starts, none(384), 384), template)
    return found


def moves(flag: bool) -> dict[str, Launch]:
    """Those that move elements, in one of two ways each."""
    found = {}
    numbers, empty = np.arange(384, dtype=np.float32), none(384, "float32")
    template = {"ITEMS": 4, "THREADS": 96, "STRIPED": flag}
    found[f"copy-{flag}"] = Launch(test_exchange.copy, 96, (numbers, empty, empty, 300, np.float32(9)), template)
    found[f"arg-{flag}"] = Launch(
        test_arg.places,
        96,
        (ints(96, 0, 9, "float16"), none(192, "int64"), none(192, "float16")),
        {"LARGEST": flag},
    )
    found[f"difference-{flag}"] = Launch(
        test_difference.differences,
        96,
        (ints(384, 0, 3), none(384), none(384, "uint8"), none(192), 384, 1, 0),
        {"ITEMS": 4, "WIDTH": 2, "RIGHT": flag},
    )
    found[f"shift-{flag}"] = Launch(
        test_shift.shifted, 96, (ints(384), none(384), none(96), 384, 7), {"ITEMS": 4, "WIDTH": 2, "UP": flag}
    )
    found[f"warp-shift-{flag}"] = Launch(
        warp_shift.shifted, 96, (ints(384), none(384), none(96), 7), {"ITEMS": 4, "WIDTH": 2, "UP": flag}
    )
    found[f"warp-exchange-{flag}"] = Launch(
        warp_exchange.exchange, 96, (ints(96 * 6), none(96 * 6)), {"ITEMS": 6, "BACK": flag}
    )
    less = operators.greater if flag else operators.less
    found[f"sort-{flag}"] = Launch(
        test_sort.sorted_tile, 96, (ints(384, kind="float32"), empty), {"ITEMS": 4, "THREADS": 96, "LESS": less}
    )
    found[f"sort-pairs-{flag}"] = Launch(
        test_sort.sorted_pairs,
        96,
        (ints(384, 0, 9), none(384), none(384)),
        {"ITEMS": 4, "THREADS": 96, "LESS": less},
    )
    return found


def scans(flag: bool) -> dict[str, Launch]:
    """Those that scan, of which `flag` leaves out an element itself."""
    found = {}
    rows = {**OF_MAPS, "ITEMS": 4, "WIDTH": 2, "EXCLUSIVE": flag}
    keys = np.repeat(ints(96, 0, 3, "int16"), 4)
    for partial in (False, True):
        found[f"scan-{flag}-{partial}"] = Launch(
            test_scan_more.tiles,
            96,
            (words(384), none(384, "uint64"), none(96, "uint64"), 384, 301, FIRST),
            {**rows, "PARTIAL": partial},
        )
    found[f"groups-{flag}"] = Launch(
        test_groups.groups,
        192,
        (words(384), none(384, "uint64"), none(192, "uint64"), ONE),
        {**OF_MAPS, "ITEMS": 2, "SIZE": 64, "EXCLUSIVE": flag},
    )
    found[f"scan-segments-{flag}"] = Launch(
        test_segments.scanned,
        96,
        (words(384), heads_of(384, 0.01), none(384, "uint64"), none(96, "uint64"), 384, FIRST, ONE),
        rows,
    )
    found[f"by-key-{flag}"] = Launch(
        test_segments.by_key,
        96,
        (keys, words(384), none(384, "uint64"), none(384, "int16"), none(384, "uint64"), none(96), 384, ONE),
        {**OF_MAPS, "ITEMS": 4, "EXCLUSIVE": flag},
    )
    found[f"warp-scan-{flag}"] = Launch(
        warp_valid.runs, 96, (words(384), none(384, "uint64"), none(96, "uint64"), 201, FIRST), rows
    )
    found[f"warp-groups-{flag}"] = Launch(
        warp_groups.groups,
        96,
        (words(96), none(96, "uint64"), none(96, "uint64"), FIRST),
        {**OF_MAPS, "SIZE": 8, "EXCLUSIVE": flag},
    )
    found[f"warp-scan-segments-{flag}"] = Launch(
        warp_segments.scanned,
        96,
        (words(384), heads_of(384, 0.05), none(384, "uint64"), none(96, "uint64"), FIRST, ONE),
        rows,
    )
    return found


LAUNCHES = launches()
