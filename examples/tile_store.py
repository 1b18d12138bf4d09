"""A matrix scaled row by row: tiles come by `tma_load`, are changed in shared memory, and leave by `tma_store`, all at once."""

import numpy as np

import prism
from prism.lang import (
    CUtensorMap, block, claim, const, float32, grid, group, id, int32, one, partition, ptr, requires, roles, shared,
    thread, tma_load, tma_store, warp,
)

ROWS, COLUMNS = 16, 64


@prism.kernel
@requires(grid[1], block[1], warp[4])
def scale_tiles(
    x: const(CUtensorMap(float32, ROWS, COLUMNS)) @ grid[1], y: CUtensorMap(float32, ROWS, COLUMNS) @ grid[1],
    factor: ptr(const(float32)) @ grid[1], rows: int32 @ grid[1],
):
    left: int32 @ block[1] = COLUMNS * id(block[1])
    with group(block[1]):
        given: shared(float32[ROWS, COLUMNS], ring=2)
        made: shared(float32[ROWS, COLUMNS], ring=2)
        workers, loader, storer = roles(warp, 2, 1, 1)
        t: int32 @ thread[1] = id()
        for top in range(0, rows, ROWS):
            with claim(given, loader) as coming, one(thread):
                tma_load(coming, x[top, left])
            with claim(given, workers) as here, claim(made, workers) as there:
                with partition(there, thread[1], lambda r: (r, t)) as mine, group(thread[1]):
                    for r in range(ROWS):
                        mine[r] = here[r, t] * factor[min(top + r, rows - 1)]
            with claim(made, storer) as ready, one(thread):
                tma_store(y[top, left], ready, disjoint=True)   # rows beyond the last one are not written


def scaled(x, factor):
    """Return float32 `x * factor[:, None]` of NumPy or CuPy; the number of columns is a multiple of 64."""
    y = x.copy()
    scale_tiles[x.shape[1] // COLUMNS, 128](x, y, factor, x.shape[0])
    return y


if __name__ == "__main__":
    x, factor = np.random.default_rng(0).random((50, 128), np.float32), np.arange(50, dtype=np.float32)
    print("each element is NumPy's:", np.array_equal(scaled(x, factor), x * factor[:, None]))
