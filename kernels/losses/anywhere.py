"""Sums of exponentials of rows of scores that begin anywhere."""

from prism.kernels.activations.rows import load_piece
from prism.kernels.losses.cross_entropy import THREADS, Part32, power, store_joined
from prism.lang import (
    attr, block, const, constexpr, dtype, float32, grid, group, id, int32, int64, partition, prefetch, prism, ptr,
    requires, split, template, thread,
)  # fmt: skip


@prism.kernel
@template(T=dtype, VECTORS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def sum_exponentials_anywhere(
    x: ptr(const(T)) @ grid[1], parts: ptr(Part32) @ grid[1], n: int64 @ grid[1], apart: int64 @ grid[1], chunks: int32 @ grid[1],
    past: int32 @ grid[1], ahead: int64 @ grid[1], total: int64 @ grid[1],
):
    """What `sum_exponentials` does, of rows that begin anywhere: scores before the first vector, and behind the last, one by one.

    Perspective: as of `sum_exponentials`.
    Shapes:      `past`: how many elements x begins past a multiple of `WIDTH`, modulo that. `ahead`: how many elements further
                 is what a block asks to be brought into the L2; 0: nothing. x reaches over `total` elements.
    Numerics:    computes in float32; a thread adds up what it reads, in its order, then threads are joined, in a fixed order.
    Test:        tests/kernels/test_cross_entropy.py
    """
    b: int64 @ block[1] = id()
    row: int64 @ block[1] = b // chunks
    each: int64 @ grid[1] = ((n - 1) // WIDTH // chunks + 1) * WIDTH  # the last one has what is no whole vector
    first: int64 @ block[1] = (b - row * chunks) * each
    end: int64 @ block[1] = max(min(first + each, n), first)
    with partition(parts, block[1], b) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        start: int64 @ block[1] = row * apart + first
        lead: int64 @ block[1] = min((-(start + past)) & WIDTH - 1, end - first)  # before the first vector
        many: int64 @ block[1] = (end - first - lead) // WIDTH
        tail: int64 @ block[1] = end - first - lead - many * WIDTH
        if ahead > 0:
            match split(thread):
                case 1:
                    prefetch(x[start + ahead], int32(end - first) if start + ahead + end - first <= total else 0)
        part: Part32 @ thread[1] = Part32(-3.4028234663852886e38, 0.0, 0.0)
        with group(thread[1]):
            if t < lead or (t >= WIDTH and t < WIDTH + tail):
                one: float32 = float32(x[start + (t if t < lead else lead + many * WIDTH + t - WIDTH)])
                over: float32 = max(one, float32(-3.4028234663852886e38))
                part = Part32(over, power(one - over, FAST=True), one)
            for base in range(0, many, THREADS * VECTORS):
                items: float32[VECTORS * WIDTH] = {0}
                for v in range(VECTORS):  # all loads before the first use
                    if base + t + v * THREADS < many:
                        load_piece(x, start + lead + (base + t + v * THREADS) * WIDTH, items, v * WIDTH, WIDTH=WIDTH)
                top: float32 = part.highest
                for v in range(VECTORS):
                    there: bool = base + t + v * THREADS < many
                    for k in range(WIDTH):
                        part.plain = part.plain + items[v * WIDTH + k]
                        items[v * WIDTH + k] = items[v * WIDTH + k] if there else float32(-3.4028234663852886e38)
                        top = max(top, items[v * WIDTH + k])
                sum: float32 = part.total * power(part.highest - top, FAST=True)
                for k in range(VECTORS * WIDTH):
                    sum = sum + power(items[k] - top, FAST=True)
                part = Part32(top, sum, part.plain)
        store_joined(target, part)


EXAMPLES = {"sum_exponentials_anywhere": {"T": "bfloat16", "VECTORS": 4, "WIDTH": 8}}
