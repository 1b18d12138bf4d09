"""How products of few rows are cut up, and about how long they take."""

from __future__ import annotations

from math import ceil

from prism.kernels.sgemm.cut import EACH, FEW_THREADS, FewCut

ROWS = (1, 2, 4, 8, 16)
PARTS = (1, 2, 4, 8)
SHAPES = ((32, 4), (8, 2), (8, 1))  # lanes that are side by side, and columns of a warp

# Fitted to products of random shapes on an H200 (docs/sgemm.md), in clocks of 1980 MHz.
LAUNCH = 370  # before the first load, and after the last sum
FIRST = 170  # of each time that shared memory is filled with A
BRING = 900  # of a round of loads of A
SIXTEEN = 1500  # more of sixteen rows, whose elements lie in few banks
TRIP = 1730  # of a trip of a block's loop: loads that are waited for
LOAD = 20.5  # of a load of a thread, of those of a trip
PRODUCT = 8 * 0.0205  # of a multiply-add of a thread
MEMORY, APART = 17.6, 111  # bytes a clock of the GPU's memory, for each multiprocessor; less, of single elements
MEET, PART = 940, 64  # blocks of a cluster meet, and add up so many parts
LANES = 55  # of an element that lanes add up


def cuts(m: int) -> list[FewCut]:
    """Return the ways to cut up a product of m rows."""
    rows = next((rows for rows in ROWS if m <= rows), 0)
    return [FewCut(rows, parts, lanes=x, side=y) for parts in PARTS for x, y in SHAPES] if rows else []


def clocks(cut: FewCut, n: int, k: int, processors: int) -> float:
    """Return about how long a product takes, in clocks; the cut is of its layout."""
    blocks, clusters = ceil(n / cut.width) * cut.parts, processors if cut.parts <= 2 else processors * 7 // 8
    rounds = ceil(blocks / (clusters * cut.blocks))
    together = min(cut.blocks, ceil(blocks / processors))
    depth = ceil(k / (cut.parts * cut.step)) * cut.step
    trips = ceil(depth / (cut.step * cut.ahead))
    loads = together * trips * cut.held * EACH / cut.piece
    products = together * trips * cut.ahead * cut.rows * cut.columns * (EACH if cut.along else 1)
    memory = 4 * n * k / processors * (1 / MEMORY + (1 / APART if cut.piece == 1 else 0.0))
    main = sum(x**3 for x in (rounds * trips * TRIP, rounds * loads * LOAD, rounds * products * PRODUCT, memory)) ** (1 / 3)
    bring = FIRST * ceil(depth / cut.depth) + BRING * ceil(depth * cut.rows / (8 * FEW_THREADS))
    after = LANES * cut.rows * cut.columns if cut.along or cut.lanes < 32 else 0
    after += MEET + PART * cut.parts if cut.parts > 1 else 0
    return LAUNCH + rounds * (bring + (SIXTEEN * together if cut.rows > 8 else 0)) + main + after
