"""Counts of the ranks of one host, added up: told behind what a rank says of its call, where all say what is known of them."""

from prism.kernels.ranks.combine import MESSAGE, differ
from prism.kernels.ranks.exchange import exchange
from prism.lang import (
    attr, bitcast, block, claim, const, constexpr, grid, group, id, int32, int64, partition, prism, ptr, requires, split,
    template, thread, uint32, uint64,
)  # fmt: skip


@prism.kernel
@template(THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def count_ranks(
    said: ptr(const(uint32)) @ grid[1], boxes: ptr(uint64) @ grid[1], told: ptr(uint32) @ grid[1], heard: ptr(int64) @ grid[1],
    over: ptr(uint64) @ grid[1], known: ptr(const(uint32)) @ grid[1], counts: ptr(const(uint32)) @ grid[1],
    behind: ptr(uint64) @ grid[1], rows: ptr(uint32) @ grid[1], y: ptr(int64) @ grid[1], answer: ptr(int64) @ grid[1],
    many: int32 @ grid[1], rank: int32 @ grid[1], ranks: int32 @ grid[1], room: int32 @ grid[1], call: uint32 @ grid[1],
):
    """What `exchange_ranks` does with a message, and where all say what is `known`, with `counts`, int64; `y` becomes their sums.

    `answer[0]` is 1 where `y` is that, else 0. `heard[0]`: the call's number where all has come, else 0.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      as of `exchange` and `differ`. `counts`: `many` words, two of each number. `behind`: what comes behind a message
                 in each row of `boxes`. `rows`: `many` words a rank. `y`: `many // 2`.
    Test:        tests/kernels/test_exchange_ranks.py, tests/gpu/dist_ranks.py
    """
    with (
        partition(told, block[1], offset=0, races="none") as heads, partition(rows, block[1], offset=0, races="none") as theirs,
        partition(y, block[1], offset=0, races="none") as sums, partition(answer, block[1], offset=0, races="none") as words,
        partition(heard, block[1], offset=0, races="none") as end, group(block[1]),
    ):
        came: bool @ block[1] = exchange(said, boxes, heads, MESSAGE, rank, ranks, room, call, over, THREADS=THREADS)
        any_differ: bool @ block[1] = differ(heads, known, ranks, THREADS=THREADS)
        added: bool @ block[1] = came and not any_differ
        t: int32 @ thread[1] = id()
        if added:
            came = exchange(counts, behind, theirs, many, rank, ranks, room, call, over, THREADS=THREADS)
            with (
                partition(theirs, thread[1], races="none") as own, partition(sums, thread[1], races="none") as mine,
                group(thread[1]),
            ):
                for j in range(t, many // 2, THREADS):
                    total: int64 = 0
                    for r in range(ranks):
                        at: int64 = int64(r) * many + 2 * int64(j)
                        total += bitcast(uint64(own[at]) | uint64(own[at + 1]) << 32, int64)
                    mine[j] = total
        with claim(words, thread[1]) as own, claim(end, thread[1]) as last_of_all:
            match split(thread):
                case 1:
                    last_of_all[0] = int64(call) if came else 0
                    own[0] = 1 if came and added else 0
                    own[1] = 0


EXAMPLES = {"count_ranks": {"THREADS": 256}}
