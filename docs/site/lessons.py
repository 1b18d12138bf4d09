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


def warp_scan() -> Drawing:
    """A scan of eight lanes: in each step a lane adds what the lane 1, 2, 4 below it has."""
    sums = np.random.default_rng(4).integers(1, 6, 8)
    picture = Drawing(760, 262, "A warp's scan: each step doubles how many elements a sum has")
    picture.text(10, 38, "values", "soft")
    picture.cells(180, 20, sums, "thread", 60)
    for step in range(3):
        far, top = 1 << step, 48 + 64 * step
        for lane in range(8):
            picture.way(210 + 60 * lane, top, 210 + 60 * lane, top + 34)
            if lane >= far:
                picture.way(210 + 60 * (lane - far), top, 202 + 60 * lane, top + 34)
        sums = np.where(np.arange(8) >= far, sums + np.roll(sums, far), sums)
        picture.text(10, top + 54, f"shuffle_up(sum, {far})", "code")
        picture.cells(180, top + 36, sums, "warp", 60)
    picture.text(10, 254, "Eight lanes stand for a warp's 32, which take five steps.", "soft")
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


def frame() -> Drawing:
    """What a block does in time: a tile's loads are under way while it waits for what an earlier tile needs."""
    picture = Drawing(880, 190, "A block publishes the following tile before it looks back for the tile that it holds")
    for row, said in ((22, "memory"), (72, "the block"), (122, "other blocks")):
        picture.text(10, row + 19, said, "soft")
    for k in range(3):
        x, kind = 100 + 215 * k, KINDS[k]
        picture.box(x, 22, 100, 28, kind)
        picture.text(x + 50, 41, f"load tile {k}", "soft", "middle")
        picture.way(x + 92, 52, x + 108, 70)
        picture.box(x + 104, 72, 66, 28, kind)
        picture.text(x + 137, 91, f"publish {k}", "soft", "middle")
        picture.way(x + 137, 102, x + 137, 122)
        if k:
            picture.box(x + 174, 72, 140, 28, KINDS[k - 1])
            picture.text(x + 244, 91, f"look back, store {k - 1}", "soft", "middle")
            picture.way(x + 244, 122, x + 244, 102)
    picture.text(160, 141, "each adds up what the others have published", "soft")
    picture.text(10, 180, "Time runs to the right. A colour is a tile.", "soft")
    return picture


def extras() -> Drawing:
    """Which element of another array the function gets, by the array's shape."""
    picture = Drawing(760, 214, "An extra's shape says which of its elements belongs to an element of the result")
    picture.cells(240, 20, ["b0", "b1", "b2", "b3"], "warp", 60)
    picture.text(500, 38, "n elements: one for each column, as a bias", "soft")
    for row in range(3):
        picture.cells(160, 62 + 26 * row, [f"f{row}"], "block", 60)
        picture.cells(240, 62 + 26 * row, [f"v{row}{column}" for column in range(4)], "thread", 60)
    picture.text(10, 100, "m x 1: one for each row", "soft")
    picture.text(500, 94, "the result: an extra of its shape", "soft")
    picture.text(500, 111, "has one element for each, as a residual", "soft")
    picture.cells(160, 20, ["a"], "grid", 60)
    picture.text(10, 38, "one element: for all", "soft")
    for x, y, to_x, to_y in ((330, 48, 330, 84), (222, 101, 296, 101)):
        picture.way(x, y, to_x, to_y)
    picture.text(10, 190, "f(v11, a, f1, b1)", "code")
    picture.text(160, 190, "is what becomes of v11 with these three extras", "soft")
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


LESSONS = (reduction, warp_scan, look_back, copies, frame, select, extras, epilogue, rows)


def pictures() -> dict[str, str]:
    """Return all pictures by their names."""
    return {make.__name__: make().svg() for make in LESSONS}


if __name__ == "__main__":
    sys.exit(write("tutorial", pictures()))
