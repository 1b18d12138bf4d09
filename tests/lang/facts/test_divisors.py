"""Tiles in bands: the order in which products go through a matrix, proved to come to each place once, and orders that do not.

Each text that is not proved lacks one premise of the proof; where `meets`, brute force over small numbers finds two tiles at one
place, so that nothing may prove it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from prism.lang.pipeline import build
from prism.lang.safety import verdicts
from prism.lang.surface import Kernel

ROOM = 1000
"""Columns of the matrix: more than any order here comes to."""
BASE: Mapping[str, str] = {
    "assumed": "m >= 1 and n >= 1 and tall >= 1",
    "first": "id()",
    "end": "m * n",
    "above": "tile // (tall * n) * tall",
    "within": "tile % (tall * n)",
    "height": "min(m - above, tall)",
    "i": "above + within % height",
    "j": "within // height",
}
TEXT = """
from prism.lang import assume, count, grid, group, id, int32, partition, prism, ptr, requires, thread, uint32

@prism("global")
@requires(grid[1], thread[1])
def order(y: ptr(int32) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], tall: int32 @ grid[1], end: int32 @ grid[1]):
    assume({assumed})
    first: int32 @ thread[1] = {first}
    threads: int32 @ grid[1] = count(thread[1])
    with partition(y, thread[1], 0) as mine, group(thread[1]):
        for tile in range(first, {end}, threads):
            above: int32 = {above}
            within: int32 = {within}
            height: int32 = {height}
            i: int32 = {i}
            j: int32 = {j}
            if 0 <= j and j < {room}:
                mine[i * {room} + j] = tile
"""


class Whole(int):
    """An integer that divides as C's do."""

    def __floordiv__(self, other: int) -> Whole:
        return Whole(abs(self) // abs(other) * (1 if (self < 0) == (other < 0) else -1))

    def __mod__(self, other: int) -> Whole:
        return Whole(self - int(self // Whole(other)) * other)

    def __add__(self, other: int) -> Whole:
        return Whole(int(self) + other)

    def __sub__(self, other: int) -> Whole:
        return Whole(int(self) - other)

    def __mul__(self, other: int) -> Whole:
        return Whole(int(self) * other)


def made(tmp_path: Path, parts: Mapping[str, str]) -> Kernel:
    path = tmp_path / "order.py"
    path.write_text(TEXT.format(room=ROOM, **parts))
    spec = importlib.util.spec_from_file_location("order_of_tiles", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel: Kernel = module.order
    return kernel


def is_proved(tmp_path: Path, parts: Mapping[str, str]) -> bool:
    return all(one.status == "proved" for one in verdicts(build(made(tmp_path, parts))) if one.kind == "partition")


def meets(parts: Mapping[str, str]) -> bool:
    """Whether two tiles come to one place, for some small numbers."""
    return any(
        _meets(parts, *map(Whole, numbers)) for numbers in product(range(-3, 5), range(-3, 5), range(-2, 4), (40,))
    )


def _meets(parts: Mapping[str, str], m: Whole, n: Whole, tall: Whole, end: Whole) -> bool:
    names: dict[str, Any] = {
        "m": m,
        "n": n,
        "tall": tall,
        "end": end,
        "min": min,
        "max": max,
        "id": lambda: Whole(0),
        "uint32": Whole,
    }
    if not eval(parts["assumed"], names):
        return False
    seen: set[tuple[int, int]] = set()
    for tile in range(eval(parts["first"], names), eval(parts["end"], names)):
        names["tile"] = Whole(tile)
        try:
            for name in ("above", "within", "height", "i", "j"):
                names[name] = eval(parts[name], names)
        except ZeroDivisionError:
            return False  # no such program has a meaning
        place = int(names["i"]), int(names["j"])
        if place in seen:
            return True
        if 0 <= place[1]:
            seen.add(place)
    return False


RIGHT = {
    "as it is": {},
    "a minimum of three": {"height": "min(min(m - above, tall), tall)"},
    "the other way round": {"height": "min(tall, m - above)"},
    "a divisor that is a product": {
        "assumed": "m >= 1 and n >= 1 and tall >= 2",
        "height": "min(tall, 1 * (m - above))",
    },
}
WRONG = {
    "tiles beyond the last": ({"end": "end"}, True),
    "bands that reach below the end": ({"end": "m * n + n"}, False),
    "a divisor that may be 0 or less": ({"assumed": "m >= 1 and n >= 1"}, False),
    "a width that may be negative": ({"assumed": "m >= 1 and tall >= 1"}, False),
    "tiles before the first": ({"first": "id() - 7"}, False),
    "the greater of two": ({"height": "max(m - above, tall)"}, True),
    "a height that differs between tiles of a band": ({"height": "min(m - above, tall - tile % 2)"}, True),
    "a height of more than the band's step": ({"height": "min(m - above, tall + 1)"}, True),
    "a height of the tile itself": ({"height": "min(m - above, tile + 1)"}, True),
    "a quotient by another number": ({"j": "within // tall"}, True),
    "a remainder of another number": ({"i": "above + (within + tile) % height"}, True),
    "a band of another length": ({"within": "tile % (2 * n)"}, True),
    "a height that comes to 0": ({"height": "min(m - above - 1, tall)"}, False),
    "a product that drops bits": ({"above": "uint32(tile) // (uint32(tall) * uint32(n)) * tall"}, False),
}


@pytest.mark.parametrize("edit", RIGHT.values(), ids=RIGHT)
def test_bands_are_proved(edit: Mapping[str, str], tmp_path: Path) -> None:
    parts = {**BASE, **edit}
    assert not meets(parts)
    assert is_proved(tmp_path, parts)


@pytest.mark.parametrize(("edit", "found"), WRONG.values(), ids=WRONG)
def test_without_a_premise_nothing_is_proved(edit: Mapping[str, str], found: bool, tmp_path: Path) -> None:
    parts = {**BASE, **edit}
    assert meets(parts) or not found, "two tiles at one place were expected"
    assert not is_proved(tmp_path, parts)
