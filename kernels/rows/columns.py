"""Sums of columns over all groups of rows: what the gradients of weights come to, of two weights in one launch."""

from prism.kernels.rows.elements import load_numbers
from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    shuffle_xor, template, thread,
)  # fmt: skip

THREADS = 256


@prism.kernel
@template(A=dtype, W=dtype, BOTH=constexpr(bool), SPLITS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def sum_groups(
    first: ptr(const(A)) @ grid[1], second: ptr(const(A)) @ grid[1], y: ptr(W) @ grid[1], z: ptr(W) @ grid[1],
    groups: int32 @ grid[1], n: int32 @ grid[1], each: int32 @ grid[1],
):
    """`y[i]` is the sum of `first[g * n + i]` for all `g` below `groups`; of `BOTH`, `z[i]` that of `second`.

    Perspective: grid, of `each` blocks, or, of `BOTH`, twice as many.
    Shapes:      `n`, a multiple of `WIDTH`, is at most `each * (THREADS // SPLITS) * WIDTH`. `second`, `z`: not touched without
                 `BOTH`.
    Numerics:    adds up in `A`, in an order fixed by `groups` and `SPLITS`: every `SPLITS`th group, and then these sums.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    VECTORS: constexpr(int) = THREADS // SPLITS  # of a block
    PARTS: constexpr(int) = min(SPLITS, THREADS // 32)
    b: int32 @ block[1] = id()
    with (
        partition(y, thread[1], offset=lambda i: i, races="none") as ys,
        partition(z, thread[1], offset=lambda i: i, races="none") as zs,
        group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        begin: int32 @ block[1] = (b % each if BOTH else b) * VECTORS * WIDTH
        total: A[WIDTH] @ thread[1] = {0}
        with group(thread[1]):
            at: int32 = min(begin + t % VECTORS * WIDTH, n - WIDTH)
            if BOTH and b >= each:
                add_groups(second, at, t // VECTORS, groups, n, total, STEP=SPLITS)
            else:
                add_groups(first, at, t // VECTORS, groups, n, total, STEP=SPLITS)
        for step in range(5):
            if VECTORS << step < 32:
                for k in range(WIDTH):
                    total[k] = total[k] + shuffle_xor(total[k], VECTORS << step)
        sums: shared(A[PARTS, VECTORS * WIDTH])
        with partition(sums, thread[1], lambda k: (t * PARTS // THREADS, t % VECTORS * WIDTH + k), races="none") as own:
            with group(thread[1]):
                if t % (THREADS // PARTS) < VECTORS:
                    for k in range(WIDTH):
                        own[k] = total[k]
        with group(thread[1]):
            for column in range(t, VECTORS * WIDTH, THREADS):
                if begin + column < n:
                    whole: A = 0
                    for part in range(PARTS):
                        whole = whole + sums[part, column]
                    if BOTH and b >= each:
                        zs[begin + column] = W(whole)
                    else:
                        ys[begin + column] = W(whole)


@prism.device
@requires(thread[1])
@template(A=dtype, WIDTH=constexpr(int), STEP=constexpr(int))
def add_groups(
    x: ptr(const(A)) @ grid[1], at: int32 @ thread[1], first: int32 @ thread[1], groups: int32 @ grid[1],
    n: int32 @ grid[1], total: A[WIDTH] @ thread[1],
):
    """Add `x[g * n + at]` and what is behind it to `total`, for each `STEP`th group `g` from the first on."""
    for g in range(first, groups, STEP, unroll=4):
        word: A[WIDTH]
        load_numbers(x, int64(g) * n + at, word)
        for k in range(WIDTH):
            total[k] = total[k] + word[k]


EXAMPLES = {
    "sum_groups": {"A": "float32", "W": "bfloat16", "BOTH": True, "SPLITS": 8, "WIDTH": 4},
}
