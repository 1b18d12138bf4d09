"""Small messages of the ranks of one host, through memory of the host that the GPUs of all of them read and write.

A word of 8 bytes goes as one: 4 bytes of a message, and behind them the number of the call. Who reads looks at a word until it
has that number, so nothing else says that a message is there. Words are of two halves, one for odd calls and one for even ones.
"""

from prism.lang import (
    attr, block, claim, const, constexpr, grid, group, id, int32, int64, load_relaxed, partition, prism, ptr, requires, split,
    store_relaxed, template, thread, uint32, uint64,
)  # fmt: skip


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def exchange(
    said: ptr(const(uint32)) @ grid[1], boxes: ptr(uint64) @ grid[1], told: ptr(uint32) @ block[1], many: int32 @ grid[1],
    rank: int32 @ grid[1], ranks: int32 @ grid[1], room: int32 @ grid[1], call: uint32 @ grid[1], over: ptr(uint64) @ grid[1],
) -> bool @ block[1]:
    """Say `many` words to all ranks, and put what all of them say into `told`, in their order; whether all of it has come.

    It waits for each word until that has come, or until the host says by `over`, which is 0 at first, that it won't.

    Perspective: block, of `THREADS` threads.
    Shapes:      `boxes`: 0 at first; of two calls `ranks` rows of `room` words, at least `many`. `call`: from 1; of each call
                 the next. A rank makes a call when it has heard all of the one before.
    Test:        tests/kernels/test_exchange_ranks.py, tests/gpu/dist_ranks.py
    """
    half: int64 @ block[1] = int64(call & 1) * ranks * room
    t: int32 @ thread[1] = id()
    missing: bool @ thread[1] = False
    with group(thread[1]):
        for w in range(t, many, THREADS):
            store_relaxed(boxes[half + int64(rank) * room + w], uint64(call) << 32 | uint64(said[w]), scope="system")
    with partition(told, thread[1], races="none") as own, group(thread[1]):
        for w in range(t, ranks * many, THREADS):
            at: int64 = half + int64(w // many) * room + w % many
            word: uint64 = load_relaxed(boxes[at], scope="system")
            waits: bool = True
            while uint32(word >> 32) != call and waits:
                word = load_relaxed(boxes[at], scope="system")
                waits = load_relaxed(over[0], scope="system") == 0  # both are under way at once
            missing = missing or uint32(word >> 32) != call
            own[w] = uint32(word & 0xFFFFFFFF)
    any_missing: bool @ block[1] = block.any(missing)
    return not any_missing


@prism.kernel
@template(THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def exchange_ranks(
    said: ptr(const(uint32)) @ grid[1], boxes: ptr(uint64) @ grid[1], told: ptr(uint32) @ grid[1], answer: ptr(int64) @ grid[1],
    many: int32 @ grid[1], rank: int32 @ grid[1], ranks: int32 @ grid[1], room: int32 @ grid[1], call: uint32 @ grid[1],
    over: ptr(uint64) @ grid[1],
):
    """`told` becomes what all ranks say, `many` words of each; `answer[0]` is the call's number where all of it has come, else 0.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      as of `exchange`.
    Test:        tests/kernels/test_exchange_ranks.py, tests/gpu/dist_ranks.py
    """
    with partition(told, block[1], offset=0, races="none") as heard, partition(answer, block[1], offset=0, races="none") as words:
        with group(block[1]):
            came: bool @ block[1] = exchange(said, boxes, heard, many, rank, ranks, room, call, over, THREADS=THREADS)
            with claim(words, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = int64(call) if came else 0


EXAMPLES = {"exchange_ranks": {"THREADS": 256}}
