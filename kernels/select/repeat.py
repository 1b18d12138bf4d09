"""Runs made of elements and their lengths: a tile counts where its runs begin, and adds these up to the numbers of the runs."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.lib.thread import operators


@prism.kernel
@template(T=dtype, TI=dtype, I=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def repeat(
    x: ptr(const(TI)) @ grid[1], ends: ptr(const(int64)) @ grid[1], runs: ptr(const(int64)) @ grid[1], y: ptr(T) @ grid[1],
    n: int64 @ grid[1], m: int64 @ grid[1], y_aligned: bool @ grid[1], otherwise: T @ grid[1],
):
    """`y[i]` becomes `x[r]` of the first run `r` for which `i < ends[r]`; `otherwise` where there is none.

    Perspective: grid, a block for each tile of `THREADS * ITEMS` elements of `y`.
    Shapes:      `x`, `ends`: `n` elements, at least one, of which `ends` do not descend. `y`: `m`. `runs[t]`: the run of the
                 first element of tile `t`, `n` where there is none; one more than there are tiles. `I`: a type that holds `n`.
    Errors:      if `y_aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/kernels/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    here: int32 @ block[1] = id()
    start: int64 @ block[1] = int64(here) * TILE
    with partition(y, block[1], offset=start) as target, group(block[1]):
        heads: shared(I[TILE])
        block.fill(heads, 0, TILE)
        first: int64 @ block[1] = runs[here]
        last: int64 @ block[1] = runs[here + 1]
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            for r in range(first + t, last, THREADS):  # where the run behind it begins
                begin: int64 = ends[r] - start
                if begin < TILE:
                    atomic_add(heads[begin], 1, scope="block")
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        numbers: I[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                numbers[k] = heads[at + (k // WIDTH * 32 * WIDTH + k % WIDTH)]
        block.scan(numbers, 0, WIDTH=WIDTH, OP=operators.add, EXCLUSIVE=False)
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                run: int64 = first + int64(numbers[k])
                items[k] = T(x[run]) if run < n else otherwise
        block.store_tile(target, items, int32(min(m - start, TILE)), y_aligned, 0, WIDTH=WIDTH, REVERSE=False, KEPT=False)


EXAMPLES = {
    "repeat": {"T": "float32", "TI": "float32", "I": "int32", "THREADS": 256, "ITEMS": 16, "WIDTH": 4},
}
