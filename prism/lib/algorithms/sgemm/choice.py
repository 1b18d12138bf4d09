"""What suits a single product of float32 on a Hopper GPU: of all ways to make it, by their models, and trees that mend them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from prism.kernels.hgemm.correction import correct
from prism.kernels.sgemm import TILES, Configuration, clocks
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.cut import FewCut
from prism.lib.algorithms.sgemm import few as sgemm_few
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.lib.algorithms.sgemm.facts import facts_of
from prism.lib.algorithms.sgemm.matrices import WIDE, Product
from prism.lib.algorithms.sgemm.ring import Staged

Way: TypeAlias = Staged | Configuration | FewCut
FIFTH, ONE_BY_ONE = 1.03, 1.117
"""How much longer the fifth variant takes than its model says, and where elements are not loaded by fours."""
STORED = 0.85
"""Clocks of a multiprocessor for an element that the fifth variant does not store by fours."""


TREES = Path(rings.__file__).with_name("trees.npy")
"""What the models have wrong, as was measured (asv_bench/fit_products.py)."""
NEAR, SURE = 1.5, 1.02
"""Times the least: what is beyond is not asked for; times faster than what the models have for the best: else that is taken."""


def choose(product: Product, processors: int) -> Way:
    """Return what suits a product, not of a batch, whose K is at least 1."""
    some = sorted(ways(product, processors), key=lambda one: one[1])
    some = [(way, told) for way, told in some if told <= NEAR * some[0][1]]
    facts = np.array([facts_of(product, way, told, processors) for way, told in some])
    times = np.array([told for _, told in some]) * correct(facts, TREES)
    return some[int(times.argmin()) if SURE * times.min() < times[0] else 0][0]


def ways(product: Product, processors: int) -> Iterator[tuple[Way, float]]:
    """Yield every way to make a product, and about how many clocks it takes."""
    m, n, k = product.sizes
    for cut in rings.cuts(m, n, k, processors, rings.TILES + rings.MORE + (rings.FEW_ROWS if m <= rings.FEW else ())):
        for staged in sgemm_ring.arrangements(product, processors, cut):
            yield staged, staged.clocks
    for cut in rings.cuts(m, n, k, processors, rings.HOPPER_TILES):
        staged = sgemm_ring.arrange(product, processors, tensor=False, cut=cut)
        yield staged, staged.clocks
    for tile in TILES:
        yield tile, clocks_of_fifth(product, tile, processors)
    yield from sgemm_few.ways(product, processors)


def name_of(way: Way) -> str:
    """Return a way's name, with how operands are copied, for tables of measurements."""
    if not isinstance(way, Staged):
        return str(way.name)
    copied = (
        "pack"
        if one.packed
        else "tensor"
        if one.way.tensor
        else "along"
        if one.way.along
        else "pairs"
        if one.way.each > 1
        else "across"
        for one in (way.a, way.b)
    )
    return " ".join((way.cut.name, *copied))


def clocks_of_fifth(product: Product, tile: Configuration, processors: int) -> float:
    """Return about how long the fifth variant takes, as the ring's and `few`'s models count."""
    (m, n, _), (a, b, c) = product.sizes, product.layouts
    slower = FIFTH * (1.0 if a.wide and b.wide else ONE_BY_ONE)
    stored = 0.0 if c.wide and n % WIDE == 0 else STORED * product.batches * m * n / processors
    found: float = slower * clocks(tile, product.batches, *product.sizes, processors) + stored
    return found
