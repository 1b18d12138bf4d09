"""Where the sorted shards of many ranks are cut, so that parts of all together have about as many elements each: by samples."""

from prism.lang import (
    attr, block, claim, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, split,
    template, thread,
)  # fmt: skip
from prism.lib.thread import operators

HEAD = 16
"""Bytes before the samples of a rank: how many there are, as int64."""


@prism.kernel
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def sample_run(
    x: ptr(const(T)) @ grid[1], head: ptr(int64) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1], many: int32 @ grid[1],
):
    """`y[i]` becomes the middle one of the `i`th of `many` stretches of `x`; `head[0]` how many there are.

    Perspective: grid, of one block.
    Shapes:      `x`: `n` elements, at least `many`.
    Test:        tests/kernels/test_shards.py
    """
    with partition(y, block[1], offset=0, races="none") as taken, partition(head, block[1], offset=0, races="none") as word:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(taken, thread[1], races="none") as own, group(thread[1]):
                for i in range(t, many, THREADS):
                    own[i] = x[spot_of(i, many, n)]
            with claim(word, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = int64(many)


@prism.device
@requires(thread[1])
def spot_of(i: int32 @ thread[1], many: int32 @ thread[1], n: int64 @ thread[1]) -> int64 @ thread[1]:
    """Where the `i`th of `many` samples of `n` elements lies."""
    return (2 * int64(i) + 1) * n // (2 * int64(many))


@prism.device
@requires(thread[1])
@template(T=dtype, LESS=function)
def count_until(
    x: ptr(const(T)) @ thread[1], n: int64 @ thread[1], value: T @ thread[1], equal: bool @ thread[1],
) -> int64 @ thread[1]:
    """How many of `n` sorted elements stand before a value; where `equal`, those that equal it too."""
    low: int64 = 0
    high: int64 = n
    while low < high:
        middle: int64 = (low + high) // 2
        found: T = x[middle]
        before: bool = not LESS(value, found) if equal else LESS(found, value)
        low = middle + 1 if before else low
        high = high if before else middle
    return low


@prism.kernel
@template(T=dtype, LESS=function, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def cut_by_samples(
    x: ptr(const(T)) @ grid[1], heads: ptr(const(int64)) @ grid[1], samples: ptr(const(T)) @ grid[1], cuts: ptr(int64) @ grid[1],
    n: int64 @ grid[1], rank: int32 @ grid[1], ranks: int32 @ grid[1], most: int32 @ grid[1], words: int32 @ grid[1],
    apart: int32 @ grid[1], whole: int32 @ grid[1], parts: int32 @ grid[1],
):
    """`cuts[j]` becomes how many elements of this rank's sorted `x` stand before part `j + 1`, of `parts` of all ranks together.

    Elements are in the order of `LESS`, then of ranks, then as they lie. So equal ones are divided, too.

    Perspective: grid, of one block.
    Shapes:      `x`: `n` elements. `heads`, `samples`: of each rank what `sample_run` made, at most `most` samples; from one rank
                 to the next `words` words, `apart` elements. `whole`: samples of all, at least one. `cuts`: `parts - 1`.
    Test:        tests/kernels/test_shards.py
    """
    with partition(cuts, block[1], offset=0, races="none") as found, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(found, thread[1], races="none") as own, group(thread[1]):
            for s in range(t, ranks * most, THREADS):
                r: int32 = s // most
                i: int32 = s % most
                if int64(i) < heads[r * words]:
                    value: T = samples[int64(r) * apart + i]
                    order: int64 = int64(i)
                    for q in range(ranks):
                        if q != r:
                            with partition(samples, thread[1], offset=int64(q) * apart) as others:
                                order += count_until(others, heads[q * words], value, q < r, LESS=LESS)
                    # Part `j + 1` begins with sample `whole * (j + 1) // parts`.
                    j: int32 = max(int32(order * parts // whole) - 1, 0)
                    while j < parts - 1 and int64(whole) * (j + 1) // parts < order:
                        j += 1
                    if j < parts - 1 and int64(whole) * (j + 1) // parts == order:
                        cut: int64 = 0
                        if r == rank:
                            cut = spot_of(i, int32(heads[r * words]), n)
                        else:
                            cut = count_until(x, n, value, rank < r, LESS=LESS)
                        while j < parts - 1 and int64(whole) * (j + 1) // parts == order:
                            own[j] = cut
                            j += 1


EXAMPLES = {
    "sample_run": {"T": "float32", "THREADS": 256},
    "cut_by_samples": {"T": "float32", "LESS": operators.less, "THREADS": 1024},
}
