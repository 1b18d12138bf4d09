"""The element of some rank of each row, or what lies between two of them, once it is known where to look: a block a row."""

from prism.lang import (
    attr, bitcast, block, const, constexpr, count, dtype, float32, float64, fma, grid, group, id, int32, int64, partition, prism,
    ptr, requires,
    template, thread, uint32,
)
from prism.kernels.topk.keys import FLOAT, key_of, value_of
from prism.kernels.topk.quantile import ranks_of
from prism.kernels.topk.ranks import COUNTS, NANS, ranks_within

EXACT, WAY, MEAN = 0, 1, 2
"""What is made of two elements: the first one, what is part of the way between them, half their sum."""


@prism.kernel
@template(
    B=dtype, U=dtype, P=dtype, Q=dtype, V=dtype, C=dtype, R=dtype, KIND=constexpr(int), INFINITY=constexpr(int),
    LARGEST=constexpr(bool),
    LISTED=constexpr(bool),
    PLACES=constexpr(bool), SKIP=constexpr(bool), HOW=constexpr(int), THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def find_ranks(
    x: ptr(const(B)) @ grid[1], kept: ptr(const(U)) @ grid[1], spots: ptr(const(P)) @ grid[1],
    known: ptr(const(int64)) @ grid[1], counted: ptr(const(int64)) @ grid[1], nans: ptr(const(int64)) @ grid[1],
    valid: ptr(const(int64)) @ grid[1], y: ptr(R) @ grid[1], indices: ptr(int64) @ grid[1], n: int64 @ grid[1],
    low: int64 @ grid[1], high: int64 @ grid[1],
    weight: float64 @ grid[1], q: float64 @ grid[1], alpha: float64 @ grid[1], beta: float64 @ grid[1], method: int32 @ grid[1],
    room: int64 @ grid[1], rows: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1],
    n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], inner_step: int64 @ grid[1],
    start: int64 @ grid[1],
):
    """`y` becomes of each row the element of rank `low`, from 0 on, and `indices` its place; or what lies between it and another.

    Perspective: grid, of any number of blocks of `THREADS` threads, at least 256.
    Shapes:      rows lie, and results go, as of `top_rows`, from `y[start]` on. `PLACES`: `R` is `B`, the element itself is
                 written, and its place. Else its value, of the type `V`; or what is `weight` of the way from it to that of rank
                 `high`, where `HOW` is `WAY`, or half their sum, where it is `MEAN`, computed in the type `C`; NaN, where the row
                 has one. `SKIP`: NaN is left out, and ranks and weights are as of `bracket_rows`. `LISTED`: `kept`, `spots`,
                 `known` and `counted` are what `keep_between` left of it, with room for `room` a row; `nans`: the counts of its
                 first launch.
    Numerics:    as NumPy computes it.
    Test:        tests/kernels/test_ranks.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(y, thread[1], offset=lambda i: i, races="none") as values, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as positions, group(block[1]):
        t: int64 @ thread[1] = id()
        base: int64 @ block[1] = 0
        begin: int64 @ block[1] = 0  # of the row in the list
        there: bool @ block[1] = False  # whether what is looked for is in the list
        key: U @ block[1] = 0

        @requires(thread[1])
        def key_at(i: int64 @ thread[1]) -> U @ thread[1]:
            found: U = 0
            if LISTED and there:
                found = kept[begin + i]
            else:
                found = key_of(x[base + i * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
            return found

        @requires(thread[1])
        def place_at(i: int64 @ thread[1]) -> P @ thread[1]:
            found: P = P(i)
            if LISTED and there:
                found = spots[begin + i]
            return found

        @requires(thread[1])
        def every(i: int64 @ thread[1]) -> bool @ thread[1]:
            return True

        @requires(thread[1])
        def is_key(i: int64 @ thread[1]) -> bool @ thread[1]:
            return key_at(i) == key

        for row in range(me, rows, blocks):
            o: int64 @ block[1] = row // inner
            across: int64 @ block[1] = row - o * inner
            base = o * outer_stride + across * inner_stride
            begin = row * room
            length: int64 @ block[1] = n
            first: int64 @ block[1] = low
            last: int64 @ block[1] = high
            there = False
            portion: float64 @ block[1] = weight
            if SKIP:
                first, last, portion = ranks_of(valid[o * outer_step + across * inner_step], q, alpha, beta, method, Q=Q)
            if LISTED:
                held: int64 @ block[1] = 0
                nearer: int64 @ block[1] = 0
                farther: int64 @ block[1] = 0
                held, nearer, farther = ranks_within(known, counted, row, room)
                there = held > 0
                length = held if there else length
                first = nearer if there else first
                last = farther if there else last
            below: int64 @ block[1] = 0
            equal: int64 @ block[1] = 0
            key, below, equal = block.select_rank(
                length, first, U=U, KEY=key_at, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
            )
            target: int64 @ block[1] = start + o * outer_step + across * inner_step
            if PLACES:
                spot: P @ block[1] = 0
                spot, below, equal = block.select_rank(
                    length, first - below, U=P, KEY=place_at, COUNTS=is_key, BITS=8 * P.bytes, THREADS=THREADS,
                )
                with group(thread[1]):
                    if t == 0:
                        values[target] = x[base + int64(spot) * n_stride]
                        positions[target] = int64(spot)
            else:
                other: U @ block[1] = key
                if last >= below + equal:
                    other, below, equal = block.select_rank(
                        length, last, U=U, KEY=key_at, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                    )
                nan: bool @ block[1] = False
                if KIND == FLOAT and not SKIP:
                    if LISTED:
                        nan = nans[row * COUNTS + NANS] != 0
                    else:
                        seen: bool @ thread[1] = False
                        with group(thread[1]):
                            for i in range(t, length, THREADS):
                                one: U = key_at(i)
                                seen = seen or one == ALL
                        nan = block.any(seen)
                with group(thread[1]):
                    if t == 0:
                        one: V = bitcast(value_of(key, B=B, KIND=KIND), V)
                        two: V = bitcast(value_of(other, B=B, KIND=KIND), V)
                        a: C = C(one)
                        b: C = C(two)
                        found: C = a
                        if HOW == MEAN:
                            found = (a + b) / C(2) if last > first else a
                        elif HOW == WAY:  # products are not one with the sum: NumPy rounds them
                            apart: C = C(two - one) if KIND == FLOAT else b - a
                            found = a + fma(apart, C(portion), C(0))
                            if portion >= 0.5:
                                found = b - fma(apart, C(1 - portion), C(0))
                        if KIND == FLOAT and nan:
                            found = C(bitcast(uint32(0x7FC00000), float32))
                        values[target] = R(found)


EXAMPLES = {
    "find_ranks": {
        "B": "uint32", "U": "uint32", "P": "uint32", "Q": "float64", "V": "float32", "C": "float32", "R": "float32",
        "KIND": FLOAT,
        "INFINITY": 0x7F800000, "LARGEST": False, "LISTED": True, "PLACES": False, "SKIP": False, "HOW": WAY,
        "THREADS": 1024,
    },
}
