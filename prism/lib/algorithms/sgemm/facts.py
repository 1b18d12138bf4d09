"""Facts of a way to make a product of float32, by which trees say what the models of its clocks have wrong."""

from __future__ import annotations

from math import ceil, gcd, log, log2

from prism.kernels.sgemm import Configuration
from prism.kernels.sgemm.cut import FewCut
from prism.lib.algorithms.sgemm.matrices import WIDE, Product
from prism.lib.algorithms.sgemm.ring import Staged

ORDINARY, MEMORY = 128, 17.5
"""Multiply-adds a clock of a multiprocessor, and bytes of the GPU's memory."""
SECTOR, LINE = 8, 32
"""Elements: 32 bytes, 128 bytes."""


def facts_of(product: Product, way: Staged | Configuration | FewCut, told: float, processors: int) -> list[float]:
    """Return what trees are asked of, for a way that takes so many clocks as its model says."""
    m, n, k = product.sizes
    a, b, c = product.layouts
    inner = (product.a.rows if a.along else product.a.columns, product.b.columns if b.along else product.b.rows)
    clocks = m * n * k / (ORDINARY * processors), 4 * (m * k + k * n + m * n) / (MEMORY * processors)
    shape = [log(m), log(n), log(k), log(told), *(log(1 + part) - log(told) for part in clocks)]
    shape += [a.along, b.along, a.wide, b.wide, c.wide, n % WIDE > 0, *(step % SECTOR > 0 for step in inner)]
    begins = [log2(gcd(step, LINE)) for step in (*inner, product.c.rows)]  # how rows do, in lines
    own, parts = _of_way(way, m, n, k, processors), _of_parts(way, m, n, k, told, processors)
    return [*map(float, shape), *map(float, own), *begins, *parts]


def _of_parts(
    way: Staged | Configuration | FewCut, m: int, n: int, k: int, told: float, processors: int
) -> list[float]:
    """Return shares of the time for what a multiprocessor stores, leaves in parts, multiplies, copies; steps, the last round."""
    if isinstance(way, FewCut):
        return [0.0, log(k / way.parts), 0.0, 0.0, 0.0, 0.0]
    if isinstance(way, Configuration):
        one, blocks, depth, parts = way, way.grid(1, m, n), float(k), 0.0
        tiles = blocks
    else:
        one, tiles, blocks = way.cut.configuration, way.cut.tiles, way.cut.whole + way.cut.blocks
        depth, parts = float(way.cut.share * one.bk), 2 * way.cut.blocks * one.bm * one.bn / processors
    together = processors * one.blocks
    most = ceil(blocks / together) * one.blocks  # blocks of a multiprocessor
    area, around = most * one.bm * one.bn, most * (one.bm + one.bn)
    shares = area, parts, area * depth / ORDINARY, around * depth
    stored, left, multiplied, copied = (log(1 + part / told) for part in shares)
    return [stored, log(max(1.0, depth / one.bk)), left, multiplied, copied, tiles / together % 1]


def _of_way(way: Staged | Configuration | FewCut, m: int, n: int, k: int, processors: int) -> list[float]:
    """Return the facts of a way: which it is, its tiles, how K is cut up, how many blocks there are, what is in vain."""
    if isinstance(way, FewCut):
        blocks = ceil(n / way.width) * way.parts
        tile = [way.rows, way.width, way.step, way.side, way.lanes, way.blocks, way.vector]
        rest = [way.parts, log(k / way.parts), m / way.rows, 1, 0, 0, 0, 0, 0]
        return [3, *tile, *_load(blocks, processors * way.blocks), *rest]
    if isinstance(way, Configuration):
        blocks = way.grid(1, m, n)
        tile = [way.bm, way.bn, way.bk, way.tm, way.wm, way.blocks, 0]
        waste = m / (ceil(m / way.bm) * way.bm), n / (ceil(n / way.bn) * way.bn)
        return [2, *tile, *_load(blocks, processors * way.blocks), 1, log(k), *waste, 0, 0, 0, 0, 0]
    cut, one = way.cut, way.cut.configuration
    tile = [one.bm, one.bn, one.bk, one.columns, one.stages, one.blocks, 0]
    waste = m / (ceil(m / one.bm) * one.bm), n / (ceil(n / one.bn) * one.bn)
    rest = cut.parts / max(1, cut.tiles - cut.whole)
    copied = [4 * one.packed + 2 * one.way.tensor + one.way.along + one.way.each / 2 for one in (way.a, way.b)]
    return [
        way.layouts is not None, *tile, *_load(cut.whole + cut.blocks, processors * one.blocks), rest,
        log(cut.share * one.bk), *waste, *copied, cut.whole > 0, cut.split(processors), log(1 + cut.whole / processors),
    ]  # fmt: skip


def _load(blocks: int, most: int) -> tuple[float, float, float]:
    """Return how many blocks there are, how many times they all run, and how full these are."""
    rounds = ceil(blocks / most)
    return log(blocks), log(rounds), blocks / (rounds * most)
