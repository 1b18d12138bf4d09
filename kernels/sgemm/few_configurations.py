"""How products of few rows are cut up, and about how long they take."""

from __future__ import annotations

from math import ceil

from prism.kernels.sgemm.cut import FewCut

ROWS = (1, 2, 4, 8, 16)
PARTS = (1, 2, 4, 8)

# Fitted to products of random shapes on an H200 (docs/sgemm.md), in clocks of 1980 MHz.
LAUNCH = 2800  # before the first load, and after the last sum
MEMORY = 9.0  # bytes a clock of the GPU's memory, for each multiprocessor
STEP, ODD_STEP = 1350, 3240  # of a trip of a block's loop: loads that are waited for, of vectors and of single elements
FIRST = 280  # to bring A, each time that shared memory is full of it
PRODUCTS = 16  # multiply-adds a clock of a multiprocessor
MEET, EACH = 770, 60  # blocks of a cluster meet, and add up so many parts
LANES = 52  # of an element that lanes add up


def cuts(m: int) -> list[FewCut]:
    """Return the ways to cut up a product of m rows."""
    rows = next((rows for rows in ROWS if m <= rows), 0)
    return [FewCut(rows, parts) for parts in PARTS] if rows else []


def clocks(cut: FewCut, n: int, k: int, processors: int) -> float:
    """Return about how long a product takes, in clocks; the cut is of its layout."""
    blocks, clusters = ceil(n / cut.width) * cut.parts, processors if cut.parts <= 2 else processors * 7 // 8
    rounds = ceil(blocks / (clusters * cut.blocks))
    together = min(cut.blocks, ceil(blocks / processors))
    depth = ceil(k / (cut.parts * cut.step)) * cut.step
    trips = ceil(depth / (cut.step if cut.along else cut.step * cut.ahead))
    work = together * cut.rows * cut.width * depth / PRODUCTS
    one = max(trips * (STEP if cut.wide else ODD_STEP), work) + ceil(depth / cut.depth) * FIRST
    if cut.along:
        one += LANES * cut.rows * cut.columns
    meet = MEET + EACH * cut.parts if cut.parts > 1 else 0
    least = n * k * 16 / cut.each / (MEMORY * processors)
    return LAUNCH + max(rounds * one, least) + meet
