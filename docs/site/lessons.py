"""The pictures of the tutorials: docs/pictures/tutorial/NAME.svg. `python -m docs.site.lessons` writes them.

What they show is computed here with NumPy, on small arrays: no result in a picture is typed.
"""

from __future__ import annotations

import sys

import numpy as np

from docs.site.drawing import CELL, Drawing
from docs.site.language import write

KINDS = ("block", "warp", "thread", "grid")


def reduction() -> Drawing:
    """A block's sum: threads, then warps, then one of them."""
    x = np.random.default_rng(5).integers(1, 9, 16)
    totals = x.reshape(4, 4).sum(axis=1)
    picture = Drawing(760, 244, "A block's sum: in each thread, in each warp, and of the warps' sums")
    picture.text(10, 38, "threads' sums", "soft")
    for w in range(4):
        at = 130 + w * (4 * CELL + 12)
        picture.cells(at, 20, x[4 * w : 4 * w + 4], "thread")
        for k in range(4):
            picture.way(at + CELL * (k + 0.5), 48, at + 2 * CELL, 84)
        picture.cells(at + 1.5 * CELL, 86, [totals[w]], "warp")
        picture.way(at + 2 * CELL, 114, 130 + 2 * CELL + 60 * w, 164)
    picture.text(10, 104, "warps' sums", "soft")
    picture.barrier(110, 138, 748)
    picture.text(10, 143, "a barrier", "wall")
    picture.cells(130 + 2 * CELL - 30, 166, totals, "block", 60)
    picture.text(10, 184, "shared memory", "soft")
    picture.text(130 + 2 * CELL + 240, 184, f"one warp adds them: {' + '.join(map(str, totals))} = {totals.sum()}", "")
    picture.text(10, 230, "Four threads stand for a warp's 32 here.", "soft")
    return picture


def look_back() -> Drawing:
    """A scan in one launch: each tile publishes its sum, then looks back."""
    x = np.random.default_rng(3).integers(1, 6, (4, 4))
    sums = x.sum(axis=1)
    before = np.cumsum(sums) - sums
    picture = Drawing(760, 236, "A scan in one pass: tiles publish sums, and look back at those before them")
    for row, said in ((38, "elements"), (106, "tile's sum"), (162, "sum before it"), (212, "result")):
        picture.text(10, row, said, "soft")
    for t in range(4):
        at, kind = 110 + t * (4 * CELL + 22), KINDS[t]
        picture.cells(at, 20, x[t], kind)
        picture.way(at + 2 * CELL, 48, at + 2 * CELL, 86)
        picture.cells(at + 1.5 * CELL, 88, [sums[t]], kind)
        picture.cells(at + 1.5 * CELL, 144, [before[t]], kind)
        if t:
            picture.way(at - 22 - 2 * CELL + 18, 114, at + 2 * CELL - 18, 150)
            picture.way(at - 22 - 2 * CELL + 18, 157, at + 2 * CELL - 18, 157)
        picture.way(at + 2 * CELL, 172, at + 2 * CELL, 192)
        picture.cells(at, 194, before[t] + np.cumsum(x[t]), kind)
    return picture


def copies() -> Drawing:
    """The same loop with one copy of its buffer, and with three."""
    rounds, fill, use = 6, 1.4, 1.0
    picture = Drawing(760, 230, "With one copy loads and sums take turns; with three they overlap")
    for row, number in enumerate((1, 3)):
        filled, used, top, unit = [0.0] * rounds, [0.0] * rounds, 26 + 102 * row, 40
        for k in range(rounds):
            filled[k] = fill + max(filled[k - 1] if k else 0.0, used[k - number] if k >= number else 0.0)
            used[k] = use + max(used[k - 1] if k else 0.0, filled[k])
            for end, long, y, said in ((filled[k], fill, top, "load"), (used[k], use, top + 36, "add")):
                x = 130 + unit * (end - long)
                picture.box(x, y, unit * long - 3, 28, KINDS[k % number])
                picture.text(x + unit * long / 2 - 1, y + 19, said, "soft", "middle")
        picture.text(10, top + 18, f"ring={number}", "code")
        picture.text(10, top + 38, f"{used[-1]:.1f} steps", "soft")
    picture.text(10, 222, "The text of the kernel is the same: only the number changes.", "soft")
    return picture


def select() -> Drawing:
    """Compaction: flags, their exclusive scan, and where each kept element goes."""
    x = np.random.default_rng(8).integers(0, 10, 14)
    flags = x > 4
    places = np.cumsum(flags) - flags
    picture = Drawing(760, 230, "What is kept goes to the number of kept elements before it")
    for row, (said, values) in enumerate((("x", x), ("x > 4", flags.astype(int)), ("scan of flags", places))):
        picture.text(10, 38 + 44 * row, said, "soft")
        picture.cells(120, 20 + 44 * row, values, ["warp" if f else "free" for f in flags])
    for k in np.flatnonzero(flags):
        picture.way(120 + CELL * (k + 0.5), 136, 120 + CELL * (places[k] + 0.5), 184)
    picture.text(10, 204, "result", "soft")
    picture.cells(120, 186, x[flags], "warp")
    return picture


def epilogue() -> Drawing:
    """What becomes of a tile of a product before it is stored."""
    picture = Drawing(760, 190, "An epilogue works on sums in registers: they are stored once")
    picture.box(10, 40, 130, 110, "block")
    picture.text(75, 88, "products", "", "middle")
    picture.text(75, 106, "of tiles of a and b", "soft", "middle")
    picture.way(142, 95, 208, 95)
    picture.box(210, 40, 120, 110, "thread")
    picture.text(270, 88, "sums", "", "middle")
    picture.text(270, 106, "in registers", "soft", "middle")
    picture.way(332, 95, 398, 95)
    picture.box(400, 40, 150, 110, "warp")
    picture.text(475, 84, "your function", "", "middle")
    picture.text(475, 104, "gelu(s + c) + r", "code", "middle")
    picture.text(475, 24, "bias, residual: extra=", "code", "middle")
    picture.way(475, 28, 475, 39)
    picture.way(552, 95, 618, 95)
    picture.box(620, 40, 126, 110, "grid")
    picture.text(683, 88, "result", "", "middle")
    picture.text(683, 106, "stored once", "soft", "middle")
    picture.text(
        10,
        180,
        "Without an epilogue the sums go to memory, and each step after them reads and writes all of it again.",
        "soft",
    )
    return picture


def rows() -> Drawing:
    """Who holds a row, by its length."""
    picture = Drawing(760, 196, "A row is held by lanes of a warp, by a block, or by a cluster of blocks")
    for y, length, holder, kind, parts in (
        (16, "up to 1,024", "lanes of a warp, in registers", "thread", 8),
        (76, "up to 16,384", "a block", "block", 2),
        (136, "up to 262,144", "a cluster of two to eight blocks", "grid", 4),
    ):
        picture.text(10, y + 18, length, "")
        picture.text(10, y + 36, "elements", "soft")
        width = {"thread": 14, "block": 56, "grid": 80}[kind]
        for k in range(parts):
            picture.box(130 + k * (width + 3), y, width, 34, "block" if kind == "grid" else kind)
        picture.text(480, y + 22, holder, "")
    return picture


def pictures() -> dict[str, str]:
    """Return all pictures by their names."""
    return {make.__name__: make().svg() for make in (reduction, look_back, copies, select, epilogue, rows)}


if __name__ == "__main__":
    sys.exit(write("tutorial", pictures()))
