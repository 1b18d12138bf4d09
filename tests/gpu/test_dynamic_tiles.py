"""The dynamic schedule of tiles on a GPU: every tile once, launch after launch, and the counter is 0 after each."""

from __future__ import annotations

import pytest

from tests.lib.grid.test_dynamic_tiles import owned, products

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize(("tiles", "blocks"), [(0, 3), (1, 200), (1000, 1), (3000, 500), (5000, 5000)])
def test_every_tile_is_one_blocks(tiles: int, blocks: int) -> None:
    counter = cupy.zeros(1, cupy.uint32)
    for _ in range(5):
        y = cupy.zeros(2 * tiles + 2, cupy.int32)
        owned[blocks, 96](y, counter, tiles)
        assert (y[: 2 * tiles] % 256 == 1).all() and not y[2 * tiles :].any()
        assert (y[0::2] == y[1::2]).all()
        assert int(counter[0]) == 0


def test_products_of_tiles_that_cost_differently() -> None:
    tiles, k = 400, 5
    a, b = (cupy.random.randint(-3, 4, (rows, 64 * 2 * k)).astype(cupy.float16) for rows in (128 * tiles, 64))
    counter = cupy.zeros(1, cupy.uint32)
    for _ in range(3):
        c = cupy.full((128 * tiles, 64), -1, cupy.float32)
        products[132, 384](a, b, c, counter, tiles, k)
        for kind in range(3):
            rows = cupy.arange(tiles)[cupy.arange(tiles) % 3 == kind]
            own = a.reshape(tiles, 128, -1)[rows][:, :, : 64 * k * kind].astype(cupy.float32)
            assert (c.reshape(tiles, 128, 64)[rows] == own @ b[:, : 64 * k * kind].astype(cupy.float32).T).all()
