"""One element of each of many ranks, combined in the order of ranks; and whether ranks say what they said in an earlier call.

Where they do, the host knows what follows, and reads two numbers. Else it reads the messages themselves.
"""

from prism.lang import (
    attr, bitcast, block, claim, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism,
    ptr, requires, split, template, thread, uint64,
)
from prism.lib.thread import operators

HEAD, MESSAGE, LENGTH = 8, 12, 3
"""Words of 8 bytes: of what a rank says of its call, and of all that it sends, an element behind it; and which word of the head
says how many elements the rank has."""


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, B=dtype, OP=function, THREADS=constexpr(int), APART=constexpr(int), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def combine_ranks(
    told: ptr(uint64) @ grid[1], known: ptr(const(uint64)) @ grid[1], elements: ptr(const(TI)) @ grid[1],
    y: ptr(TO) @ grid[1], answer: ptr(int64) @ grid[1], ranks: int32 @ grid[1], first: int32 @ grid[1], last: int32 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[0]` becomes `OP(initial, e[first], ..., e[last - 1])`, of those ranks that have elements, from the last where `REVERSE`.

    `answer[0]` is odd where all ranks say what is `known` of them, else even. Its other bits are the lowest 32 of the result, in
    `T`; `answer[1]` are the highest 32, of 8 bytes. Where it is odd, `told`'s heads are zero then: a message
    that never comes is not taken for this one.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      `told`: `MESSAGE` words a rank. `known`: `HEAD` words a rank. `elements`: the first of those that lie behind the
                 heads in `told`, `APART` elements from one to the next. `B`: the unsigned integer as long as `T`.
    Numerics:    computes in `T`; reassociates `OP`, in a way fixed by `first`, `last` and `THREADS`; it need not be commutative.
    Test:        tests/kernels/test_combine_ranks.py, tests/gpu/dist_ranks.py
    """
    each: int32 @ grid[1] = (last - first + (THREADS - 1)) // THREADS
    with partition(told, block[1], offset=0, races="none") as heads, partition(y, block[1], offset=0, races="none") as result:
        with partition(answer, block[1], offset=0, races="none") as words, group(block[1]):
            t: int32 @ thread[1] = id()
            differ: bool @ thread[1] = False
            mine: T @ thread[1] = identity
            with group(thread[1]):
                for j in range(t * each, min((t + 1) * each, last - first)):
                    rank: int32 = last - 1 - j if REVERSE else first + j
                    if known[rank * HEAD + LENGTH] != 0:
                        mine = OP(mine, T(elements[int64(rank) * APART]))
            with partition(heads, thread[1], races="none") as own, group(thread[1]):
                for w in range(t, ranks * HEAD, THREADS):
                    at: int32 = w // HEAD * MESSAGE + w % HEAD
                    differ = differ or own[at] != known[w]
            any_differ: bool @ block[1] = block.any(differ)
            with partition(heads, thread[1], races="none") as own, group(thread[1]):
                if not any_differ:
                    for w in range(t, ranks * HEAD, THREADS):
                        own[w // HEAD * MESSAGE + w % HEAD] = 0
            total: T @ block[1] = OP(initial, block.reduce(mine, OP=OP))
            bits: uint64 @ block[1] = uint64(bitcast(total, B))
            block.fill(result, TO(total), 1)
            with claim(words, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = int64(bits & 0xFFFFFFFF) * 2 + (0 if any_differ else 1)
                        own[1] = int64(bits >> 32)


EXAMPLES = {
    "combine_ranks": {
        "TI": "int32", "T": "int32", "TO": "int32", "B": "uint32", "OP": operators.add, "THREADS": 32, "APART": 24,
        "REVERSE": False,
    },
}
