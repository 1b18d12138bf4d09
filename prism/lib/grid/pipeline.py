"""The main loop of a product: tiles of two operands are filled ahead of those who use them."""

from prism.lang import (
    block, claim, constexpr, dtype, function, int32, prism, requires, roles, shared, template, thread, warp,
)  # fmt: skip


@prism.device
@template(
    A=dtype, B=dtype, ROWS_A=constexpr(int), COLUMNS_A=constexpr(int), SWIZZLE_A=constexpr(int), ROWS_B=constexpr(int),
    COLUMNS_B=constexpr(int), SWIZZLE_B=constexpr(int), STAGES=constexpr(int), WARPS=constexpr(int), THREADS=constexpr(int),
    STEP=constexpr(int), FILL=function, USE=function, AHEAD=constexpr(int, default=0), CLUSTER=constexpr(int, default=1),
    UNROLL=constexpr(int, default=1),
)  # fmt: skip
@requires(block[1], thread["THREADS"])
def pipeline(
    a: shared(A[ROWS_A, COLUMNS_A], ring=STAGES, swizzle=SWIZZLE_A) @ block[1],
    b: shared(B[ROWS_B, COLUMNS_B], ring=STAGES, swizzle=SWIZZLE_B) @ block[1], users: roles(warp, WARPS),
    start: int32 @ block[CLUSTER], stop: int32 @ block[CLUSTER],
):  # fmt: skip
    """`FILL(step)`, and `USE(of_a, of_b, step)` of the tiles that it filled, for `start`, `start + STEP` ... below `stop`.

    `FILL` is in the block's code: it claims both rings for whoever fills them, one role or several, by tensor copies or by
    threads; or all threads fill them, and the `users` are all warps. `USE` is run by the `users`, whose own the two copies
    are. So those who fill run ahead by as many steps as the rings have copies, and each ring's copies, visits and waits are
    as in one loop that has it all.

    Perspective: block, of `THREADS` threads, `WARPS` warps of which are the `users`.
    Shapes:      `a`, `b`: rings of `STAGES` tiles, of two dimensions, swizzled or not. `start`, `stop`: the same for all blocks
                 of a cluster of `CLUSTER`, which may then fill each other's copies by multicasts.
    Cost:        of a step, what the functions take; a wait and an arrival of each warp of the users.
                 Unrolled, `UNROLL` steps at a time, the loop takes longer to compile, and mostly as long to run.
    Errors:      `FILL` claims each ring once in every step. With `AHEAD` the `wgmma`s of `USE` stay under way for so many steps
                 more, and give their copies back then: see `in_flight` of `claim`.
    Source:      CUTLASS's collective main loops; ThunderKittens' producers and consumers.
    Test:        tests/lib/grid/test_pipeline.py
    """
    for step in range(start, stop, STEP, unroll=UNROLL):
        FILL(step)
        with claim(a, users, in_flight=AHEAD) as of_a, claim(b, users, in_flight=AHEAD) as of_b:
            USE(of_a, of_b, step)


@prism.device
@template(
    A=dtype, B=dtype, C=dtype, ROWS_A=constexpr(int), COLUMNS_A=constexpr(int), SWIZZLE_A=constexpr(int),
    ROWS_B=constexpr(int), COLUMNS_B=constexpr(int), SWIZZLE_B=constexpr(int), MANY=constexpr(int), STAGES=constexpr(int),
    WARPS=constexpr(int), THREADS=constexpr(int), STEP=constexpr(int), FILL=function, USE=function,
    CLUSTER=constexpr(int, default=1),
)  # fmt: skip
@requires(block[1], thread["THREADS"])
def pipeline_of_three(
    a: shared(A[ROWS_A, COLUMNS_A], ring=STAGES, swizzle=SWIZZLE_A) @ block[1],
    b: shared(B[ROWS_B, COLUMNS_B], ring=STAGES, swizzle=SWIZZLE_B) @ block[1], c: shared(C[MANY], ring=STAGES) @ block[1],
    users: roles(warp, WARPS), start: int32 @ block[CLUSTER], stop: int32 @ block[CLUSTER],
):  # fmt: skip
    """The same with a third ring, of what is brought beside the tiles: `USE(of_a, of_b, of_c, step)`.

    Perspective: block, of `THREADS` threads, `WARPS` warps of which are the `users`.
    Shapes:      as `pipeline`'s; `c`: a ring of `MANY` elements in a row, as scales or indices are.
    Cost:        as `pipeline`'s.
    Errors:      `FILL` claims each ring once in every step.
    Source:      DeepGEMM's scales, that come with the tiles.
    Test:        tests/lib/grid/test_pipeline.py
    """
    for step in range(start, stop, STEP):
        FILL(step)
        with claim(a, users) as of_a, claim(b, users) as of_b, claim(c, users) as of_c:
            USE(of_a, of_b, of_c, step)
