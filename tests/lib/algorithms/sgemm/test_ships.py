"""What ships of float32 products.

Tests of prism/lib/algorithms/sgemm/ships.py.
"""

import random
from collections import Counter

import pytest

from prism.lib.algorithms.sgemm.ships import kernels_of
from tests.lib import ships

HELD_OUT = (
    (10240, 8192),
    (8192, 1024),
    (7168, 8192),
    (4608, 3584),
    (4096, 1024),
    (2048, 2048),
    (11008, 4096),
    (5120, 5120),
)
"""n x k of layers that it was not decided by."""


def ships_for(shape: tuple[int, int, int], along_a: bool, along_b: bool) -> bool:
    """Whether all kernels of a product ship."""
    return all(one.request in ships.requests("sm_90a") for one in kernels_of(shape, along_a, along_b))


@pytest.mark.parametrize(("along_a", "along_b"), [(False, False), (False, True), (True, False)])
def test_most_products_of_layers_ship(along_a: bool, along_b: bool) -> None:
    """With any number of rows, even where A is transposed, so that they say how its rows begin."""
    draw = random.Random(0)
    found = [ships_for((int(2 ** draw.uniform(0, 13)), *draw.choice(HELD_OUT)), along_a, along_b) for _ in range(100)]
    assert sum(found) >= 65


@pytest.mark.parametrize("sizes", [(256, 256, 256), (4096, 4096, 4096), (16, 4096, 4096), (512, 768, 768)])
@pytest.mark.parametrize(("along_a", "along_b"), [(False, False), (False, True), (True, False)])
def test_usual_products_ship(sizes: tuple[int, int, int], along_a: bool, along_b: bool) -> None:
    assert ships_for(sizes, along_a, along_b)


def test_of_large_tiles_what_reads_whole_words_ships_where_there_is_no_ring() -> None:
    found = Counter(
        (template["BM"] * template["BN"] > 64 * 64, template["WIDE_A"])
        for template in (dict(one.template) for one in ships.kernels("sm_80") if one.kernel.__name__ == "warps")
    )
    assert found == {(False, True): 8, (False, False): 8, (True, True): 12}
