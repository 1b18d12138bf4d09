"""The pictures of the tutorial that builds a radix sort: docs/pictures/radix/NAME.svg. `python docs/site/radix.py` writes them.

A sort of twelve numbers of two digits to base 4, in tiles of four, done with NumPy: nothing in a picture is typed here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "pictures" / "radix"
BASE, TILE, CELL = 4, 4, 38
FILLS = ("#bcd4f6", "#f6d9b8", "#bfe3d2", "#e3c6e6")
"""A digit's colour."""
NONE, LINE = "#ffffff", "#8a919c"
STYLE = (
    "text{font:13px sans-serif;fill:#222}.label{fill:#555;font-size:12px}"
    ".cell{stroke:#8a919c}.way{stroke-width:1.5;fill:none}.paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){.label{fill:#a3adbd}.paper{fill:#14171d}}"
)
X = np.random.default_rng(37).integers(0, BASE * BASE, 12)
"""The numbers that are sorted."""


@dataclass
class Picture:
    """Parts of a picture, and how large it is."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, what: str, kind: str = "label", anchor: str = "start") -> None:
        """Write a line."""
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{what}</text>')

    def cells(self, x: float, y: float, values: Any, fills: Any, width: int = CELL) -> None:
        """Draw a row of cells."""
        for k, (value, fill) in enumerate(zip(values, fills, strict=True)):
            at = x + k * width
            self.parts.append(f'<rect class="cell" x="{at:g}" y="{y:g}" width="{width}" height="26" fill="{fill}"/>')
            self.text(at + width / 2, y + 18, str(value), "value", "middle")

    def way(self, x: float, y: float, to_x: float, to_y: float, colour: str = LINE) -> None:
        """Draw where an element goes."""
        half = (to_y - y) / 2
        path = f"M{x:g} {y:g}C{x:g} {y + half:g} {to_x:g} {to_y - half:g} {to_x:g} {to_y:g}"
        self.parts.append(f'<path class="way" d="{path}" stroke="{colour}"/>')

    def svg(self) -> str:
        """Return the picture."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" viewBox="0 0 {self.width} {self.height}" '
        back = f'role="img" aria-label="{self.title}"><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>'
        return head + back + "\n" + "\n".join(self.parts) + "\n</svg>\n"


def two_digits(x: Any) -> list[str]:
    """Return numbers as two digits."""
    return [f"{value // BASE}{value % BASE}" for value in x]


def fills(digits: Any) -> list[str]:
    """Return the colours of digits."""
    return [FILLS[d] for d in digits]


def passes() -> Picture:
    """All of the sort: a stable pass by the last digit, and one by the first."""
    picture = Picture(720, 230, "Two passes sort numbers of two digits")
    rows = [X]
    for step in range(2):
        rows.append(rows[-1][np.argsort(rows[-1] // BASE**step % BASE, kind="stable")])
    said = ("as they come; the last digit's colours", "by the last digit; the first's colours", "by both: sorted")
    for k, row in enumerate(rows):
        y, step = 10 + 90 * k, min(k, 1)
        digits = row // BASE**step % BASE
        picture.text(20 + CELL * len(row), y + 18, said[k])
        picture.cells(10, y, two_digits(row), fills(digits))
        if k < 2:
            order = np.argsort(digits, kind="stable")
            for place, source in enumerate(order):
                picture.way(10 + CELL * (source + 0.5), y + 26, 10 + CELL * (place + 0.5), y + 90)
    return picture


def ranks() -> Picture:
    """How often each digit occurs in a tile, where it begins, and the rank of each element."""
    tile = X[:8] % BASE
    counts = np.bincount(tile, minlength=BASE)
    begins = np.cumsum(counts) - counts
    found = np.empty(8, int)
    found[np.argsort(tile, kind="stable")] = np.arange(8)
    picture = Picture(680, 130, "Ranks of the digits of a tile")
    picture.text(10, 20, "digits of a tile")
    picture.cells(10, 28, tile, fills(tile))
    picture.text(10, 86, "ranks: where each begins, and how many like it are before")
    picture.cells(10, 94, found, fills(tile))
    for row, (what, values) in enumerate((("digit", range(BASE)), ("how many", counts), ("begins at", begins))):
        picture.text(500, 46 + 33 * row, what, anchor="end")
        picture.cells(510, 28 + 33 * row, values, FILLS if row == 0 else [NONE] * BASE)
    return picture


def targets() -> Picture:
    """Where the runs of digits of each tile go in the whole array."""
    picture = Picture(680, 170, "Where runs of equal digits go")
    digits = X % BASE
    tiles = [np.sort(part) for part in digits.reshape(-1, TILE)]
    counts = np.array([np.bincount(part, minlength=BASE) for part in tiles])
    starts = np.cumsum(counts.sum(0)) - counts.sum(0)
    before = np.cumsum(counts, axis=0) - counts
    picture.text(10, 20, "each tile in the order of its digits")
    for number, part in enumerate(tiles):
        at = 10 + number * (TILE + 1) * CELL
        picture.cells(at, 28, part, fills(part))
        seen = np.zeros(BASE, int)
        for k, d in enumerate(part):
            place = starts[d] + before[number, d] + seen[d]
            seen[d] += 1
            picture.way(at + CELL * (k + 0.5), 54, 10 + CELL * (place + 0.5), 118)
    picture.cells(10, 118, np.sort(digits), fills(np.sort(digits)))
    picture.text(10, 162, "start of the digit + how many of it in the tiles before + its place in the tile's run")
    return picture


def look_back() -> Picture:
    """The words that blocks publish, and which of them a tile reads."""
    counts = np.random.default_rng(1).integers(0, 3, (5, BASE))
    sums, summed, last = np.cumsum(counts, axis=0), 2, 4  # tiles below `summed` have published sums
    picture = Picture(680, 232, "Words of tiles, and a look-back")
    for d in range(BASE):
        picture.text(110 + CELL * (d + 0.5), 20, f"digit {d}" if d == 0 else str(d), anchor="middle")
    for tile in range(last + 1):
        y = 28 + 34 * tile
        picture.text(100, y + 18, f"tile {tile}", anchor="end")
        given = sums[tile] if tile < summed else counts[tile]
        picture.cells(110, y, given, fills([2 if tile < summed else 1] * BASE))
        what = "sums of all tiles so far" if tile < summed else "counts of this tile"
        picture.text(110 + CELL * BASE + 20, y + 18, what if tile < last else f"{what}; it looks back")
    for tile in range(last - 1, summed - 2, -1):
        picture.way(118 + CELL * BASE, 46 + 34 * (tile + 1), 118 + CELL * BASE, 36 + 34 * tile, "#c23b3b")
    terms = [counts[tile] for tile in range(summed, last)][::-1] + [sums[summed - 1]]
    total = np.sum(terms, axis=0)
    assert np.array_equal(total, sums[last - 1])
    line = "; ".join(f"{' + '.join(str(term[d]) for term in terms)} = {total[d]}" for d in range(BASE))
    picture.text(110, 222, f"before tile {last}: {line}")
    return picture


def pictures() -> dict[str, str]:
    """Return all pictures by their names."""
    return {make.__name__: make().svg() for make in (passes, ranks, targets, look_back)}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
    sys.exit(0)
