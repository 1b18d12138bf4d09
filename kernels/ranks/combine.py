"""One element of each of many ranks, combined in the order of ranks; and whether ranks say what they said in an earlier call.

Where they do, the host knows what follows, and reads two numbers. Else it reads the messages themselves.
"""

from prism.kernels.ranks.exchange import exchange
from prism.lang import (
    attr, bitcast, block, claim, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism,
    ptr, requires, split, template, thread, uint32, uint64,
)  # fmt: skip
from prism.lib.thread import operators

HEAD, MESSAGE, LENGTH = 16, 24, 6
"""Words of 4 bytes: of what a rank says of its call, and of all that it sends, an element behind it; and which two words of the
head say how many elements the rank has."""


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def differ(told: ptr(uint32) @ block[1], known: ptr(const(uint32)) @ grid[1], ranks: int32 @ grid[1]) -> bool @ block[1]:
    """Whether a rank's head is not as it is known.

    Perspective: block, of `THREADS` threads.
    Shapes:      `told`: `MESSAGE` words a rank. `known`: `HEAD` words a rank.
    Test:        tests/kernels/test_combine_ranks.py
    """
    t: int32 @ thread[1] = id()
    found: bool @ thread[1] = False
    with partition(told, thread[1], races="none") as own, group(thread[1]):
        for w in range(t, ranks * HEAD, THREADS):
            found = found or own[w // HEAD * MESSAGE + w % HEAD] != known[w]
    return block.any(found)


@prism.device
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, BI=dtype, OP=function, THREADS=constexpr(int), LANES=constexpr(int), REVERSE=constexpr(bool),
)  # fmt: skip
def combine(
    told: ptr(uint32) @ block[1], known: ptr(const(uint32)) @ grid[1], first: int32 @ grid[1], last: int32 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1],
) -> T @ block[1]:
    """`OP(initial, e[first], ..., e[last - 1])`, of those ranks that have elements, from the last where `REVERSE`.

    Perspective: block, of `THREADS` threads, the first `LANES` of which combine elements.
    Shapes:      as of `differ`. An element lies behind a rank's head, and is a `TI`, `BI` the unsigned integer as long.
    Numerics:    computes in `T`; reassociates `OP`, in a way fixed by `first`, `last` and `LANES`; it need not be commutative.
    Test:        tests/kernels/test_combine_ranks.py
    """
    each: int32 @ block[1] = (last - first + (LANES - 1)) // LANES
    t: int32 @ thread[1] = id()
    mine: T @ thread[1] = identity
    with partition(told, thread[1], races="none") as own, group(thread[1]):
        for j in range(t * each, min((t + 1) * each, last - first)):
            rank: int32 = last - 1 - j if REVERSE else first + j
            at: int32 = rank * MESSAGE + HEAD
            if known[rank * HEAD + LENGTH] != 0 or known[rank * HEAD + LENGTH + 1] != 0:
                bits: BI = BI(uint64(own[at]) | uint64(own[at + 1]) << 32)
                mine = OP(mine, T(bitcast(bits, TI)))
    return OP(initial, block.reduce(mine, OP=OP))


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, B=dtype, BI=dtype, OP=function, THREADS=constexpr(int), LANES=constexpr(int),
    REVERSE=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def combine_ranks(
    told: ptr(uint32) @ grid[1], known: ptr(const(uint32)) @ grid[1], y: ptr(TO) @ grid[1], answer: ptr(int64) @ grid[1],
    ranks: int32 @ grid[1], first: int32 @ grid[1], last: int32 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[0]` becomes what `combine` gives of what ranks have `told`.

    `answer[0]` is odd where all ranks say what is `known` of them, else even. Its other bits are the lowest 32 of the result, in
    `T`; `answer[1]` are the highest 32, of 8 bytes. Where it is odd, `told`'s heads are zero then: a message
    that never comes is not taken for this one.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      as of `combine`. `B`: the unsigned integer as long as `T`.
    Test:        tests/kernels/test_combine_ranks.py, tests/gpu/dist_ranks.py
    """
    with partition(told, block[1], offset=0, races="none") as heads, partition(y, block[1], offset=0, races="none") as result:
        with partition(answer, block[1], offset=0, races="none") as words, group(block[1]):
            t: int32 @ thread[1] = id()
            any_differ: bool @ block[1] = differ(heads, known, ranks, THREADS=THREADS)
            with partition(heads, thread[1], races="none") as own, group(thread[1]):
                if not any_differ:
                    for w in range(t, ranks * HEAD, THREADS):
                        own[w // HEAD * MESSAGE + w % HEAD] = 0
            total: T @ block[1] = combine(
                heads, known, first, last, identity, initial, TI=TI, T=T, BI=BI, OP=OP, THREADS=THREADS, LANES=LANES,
                REVERSE=REVERSE,
            )
            bits: uint64 @ block[1] = uint64(bitcast(total, B))
            block.fill(result, TO(total), 1)
            with claim(words, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = int64(bits & 0xFFFFFFFF) * 2 + (0 if any_differ else 1)
                        own[1] = int64(bits >> 32)


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, B=dtype, BI=dtype, OP=function, THREADS=constexpr(int), LANES=constexpr(int),
    REVERSE=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def hear_ranks(
    said: ptr(const(uint32)) @ grid[1], boxes: ptr(uint64) @ grid[1], told: ptr(uint32) @ grid[1], heard: ptr(int64) @ grid[1],
    over: ptr(uint64) @ grid[1], known: ptr(const(uint32)) @ grid[1], y: ptr(TO) @ grid[1], answer: ptr(int64) @ grid[1],
    rank: int32 @ grid[1], ranks: int32 @ grid[1], room: int32 @ grid[1], call: uint32 @ grid[1],
    first: int32 @ grid[1], last: int32 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """What `exchange_ranks` does with a message, and then `combine_ranks`, in one: `answer` is as of that.

    Where not all ranks were heard, `heard` is 0 and `answer` even.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      as of `exchange` and `combine_ranks`.
    Test:        tests/kernels/test_combine_ranks.py, tests/gpu/dist_ranks.py
    """
    with (
        partition(told, block[1], offset=0, races="none") as heads, partition(y, block[1], offset=0, races="none") as result,
        partition(answer, block[1], offset=0, races="none") as words, partition(heard, block[1], offset=0, races="none") as end,
        group(block[1]),
    ):
        came: bool @ block[1] = exchange(said, boxes, heads, MESSAGE, rank, ranks, room, call, over, THREADS=THREADS)
        any_differ: bool @ block[1] = differ(heads, known, ranks, THREADS=THREADS)
        total: T @ block[1] = combine(
            heads, known, first, last, identity, initial, TI=TI, T=T, BI=BI, OP=OP, THREADS=THREADS, LANES=LANES,
            REVERSE=REVERSE,
        )
        bits: uint64 @ block[1] = uint64(bitcast(total, B))
        block.fill(result, TO(total), 1)
        with claim(words, thread[1]) as own, claim(end, thread[1]) as last_of_all:
            match split(thread):
                case 1:
                    last_of_all[0] = int64(call) if came else 0
                    own[0] = int64(bits & 0xFFFFFFFF) * 2 + (0 if any_differ or not came else 1)
                    own[1] = int64(bits >> 32)


EXAMPLES = {
    name: {
        "TI": "int32", "T": "int32", "TO": "int32", "B": "uint32", "BI": "uint32", "OP": operators.add, "THREADS": 32,
        "LANES": 32, "REVERSE": False,
    }
    for name in ("combine_ranks", "hear_ranks")
}  # fmt: skip
