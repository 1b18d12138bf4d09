"""Activations of rows, alone or as gates of another array, and their gradients: each element by itself, 16 bytes a thread."""

from prism.kernels.activations.functions import GELU, SILU, share, slope
from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, load_vector, may_alias, partition, prism, ptr, requires,
    store_vector,
    template, thread, uint32, vector,
)  # fmt: skip

THREADS = 256


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, MANY=constexpr(int), WIDTH=constexpr(int))
def load_piece(x: ptr(const(T)) @ thread[1], at: int64 @ thread[1], items: A[MANY] @ thread[1], first: int32 @ thread[1]):
    """Put a vector of elements into `items`, from the first on."""
    if WIDTH == 1:
        items[first] = A(x[at])
    else:
        word: vector(T, WIDTH) = load_vector(x[at], WIDTH)
        for k in range(WIDTH):
            items[first + k] = A(word[k])


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, MANY=constexpr(int), WIDTH=constexpr(int))
def store_piece(y: ptr(T) @ thread[1], at: int64 @ thread[1], items: A[MANY] @ thread[1], first: int32 @ thread[1]):
    """Write a vector of elements, which begin at `items[first]`."""
    if WIDTH == 1:
        y[at] = T(items[first])
    else:
        word: vector(T, WIDTH)
        for k in range(WIDTH):
            word[k] = T(items[first + k])
        store_vector(y[at], word)


@prism.device
@requires(thread[1])
def rows_below(over: int64 @ thread[1], per: int64 @ thread[1]) -> int64 @ thread[1]:
    """How many rows further something is that is `over` vectors behind the beginning of a row of `per`, or before it."""
    if over < per:
        return 0
    return int64(uint32(over) // uint32(min(per, 1 << 30)))


@prism.kernel
@template(
    T=dtype, A=dtype, KIND=constexpr(int), GATED=constexpr(bool), FAST=constexpr(int), FLAT=constexpr(bool),
    EACH=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "y")
@may_alias("up", "y")
def activate(
    x: ptr(const(T)) @ grid[1], up: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], rows: int64 @ grid[1], n: int64 @ grid[1],
    x_apart: int64 @ grid[1], up_apart: int64 @ grid[1],
):
    """`y = x * share(x)`, times `up` where `GATED`, of `rows` rows of `n` elements.

    Perspective: grid, a block for each `THREADS * EACH` vectors of `WIDTH` elements.
    Shapes:      rows of x are `x_apart` elements apart, those of `up` `up_apart`, those of y `n`: multiples of `WIDTH`.
                 `FLAT`: there is one row.
    Numerics:    computes in `A`, and rounds once; `FAST`: see `share`.
    Test:        tests/kernels/test_activations.py
    """
    b: int64 @ block[1] = id()
    per: int64 @ grid[1] = n // WIDTH
    top: int64 @ block[1] = 0 if FLAT else b * (THREADS * EACH) // per
    left: int64 @ block[1] = b * (THREADS * EACH) - top * per
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(block[1]):  # it may be x or `up`
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            values: A[EACH * WIDTH]
            gates: A[EACH * WIDTH]
            for v in range(EACH):  # all loads before the first store
                below: int64 = 0 if FLAT else rows_below(left + t + v * THREADS, per)
                if (left + t + v * THREADS < per) if FLAT else (top + below < rows):
                    column: int64 = (left + t + v * THREADS - below * per) * WIDTH
                    load_piece(x, (top + below) * x_apart + column, values, v * WIDTH, WIDTH=WIDTH)
                    if GATED:
                        load_piece(up, (top + below) * up_apart + column, gates, v * WIDTH, WIDTH=WIDTH)
            for v in range(EACH):
                below: int64 = 0 if FLAT else rows_below(left + t + v * THREADS, per)
                if (left + t + v * THREADS < per) if FLAT else (top + below < rows):
                    for k in range(WIDTH):
                        found: A = values[v * WIDTH + k] * share(values[v * WIDTH + k], KIND=KIND, FAST=FAST)
                        values[v * WIDTH + k] = found * gates[v * WIDTH + k] if GATED else found
                    store_piece(mine, (b * (THREADS * EACH) + t + v * THREADS) * WIDTH, values, v * WIDTH, WIDTH=WIDTH)


@prism.kernel
@template(
    T=dtype, A=dtype, KIND=constexpr(int), GATED=constexpr(bool), FAST=constexpr(int), FLAT=constexpr(bool),
    EACH=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "dx")
@may_alias("dy", "dx")
@may_alias("x", "dup")
@may_alias("dy", "dup")
@may_alias("up", "dx")
@may_alias("up", "dup")
def activate_backward(
    dy: ptr(const(T)) @ grid[1], x: ptr(const(T)) @ grid[1], up: ptr(const(T)) @ grid[1], dx: ptr(T) @ grid[1],
    dup: ptr(T) @ grid[1],
    rows: int64 @ grid[1], n: int64 @ grid[1], dy_apart: int64 @ grid[1], x_apart: int64 @ grid[1], up_apart: int64 @ grid[1],
    dx_apart: int64 @ grid[1], dup_apart: int64 @ grid[1],
):
    """The gradients of `activate`: of x, and where `GATED` of `up`.

    Perspective: as of `activate`.
    Shapes:      rows of each array are so many elements `apart`: multiples of `WIDTH`.
    Numerics:    as of `activate`.
    Test:        tests/kernels/test_activations.py
    """
    b: int64 @ block[1] = id()
    per: int64 @ grid[1] = n // WIDTH
    top: int64 @ block[1] = 0 if FLAT else b * (THREADS * EACH) // per
    left: int64 @ block[1] = b * (THREADS * EACH) - top * per
    with (
        partition(dx, thread[1], lambda i: i, races="allow") as mine,  # it may be what is read: each element is one thread's
        partition(dup, thread[1], lambda i: i, races="allow") as others,
        group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            values: A[EACH * WIDTH]
            gates: A[EACH * WIDTH]
            given: A[EACH * WIDTH]
            for v in range(EACH):
                below: int64 = 0 if FLAT else rows_below(left + t + v * THREADS, per)
                if (left + t + v * THREADS < per) if FLAT else (top + below < rows):
                    column: int64 = (left + t + v * THREADS - below * per) * WIDTH
                    load_piece(x, (top + below) * x_apart + column, values, v * WIDTH, WIDTH=WIDTH)
                    load_piece(dy, (top + below) * dy_apart + column, given, v * WIDTH, WIDTH=WIDTH)
                    if GATED:
                        load_piece(up, (top + below) * up_apart + column, gates, v * WIDTH, WIDTH=WIDTH)
            for v in range(EACH):
                below: int64 = 0 if FLAT else rows_below(left + t + v * THREADS, per)
                if (left + t + v * THREADS < per) if FLAT else (top + below < rows):
                    column: int64 = (left + t + v * THREADS - below * per) * WIDTH
                    for k in range(WIDTH):
                        part: A = share(values[v * WIDTH + k], KIND=KIND, FAST=FAST)
                        gate: A = values[v * WIDTH + k] * part
                        step: A = given[v * WIDTH + k] * slope(values[v * WIDTH + k], part, KIND=KIND, FAST=FAST)
                        values[v * WIDTH + k] = step * gates[v * WIDTH + k] if GATED else step
                        given[v * WIDTH + k] = given[v * WIDTH + k] * gate
                    store_piece(mine, (top + below) * dx_apart + column, values, v * WIDTH, WIDTH=WIDTH)
                    if GATED:
                        store_piece(others, (top + below) * dup_apart + column, given, v * WIDTH, WIDTH=WIDTH)


EXAMPLES = {
    "activate": {"T": "bfloat16", "A": "float32", "KIND": SILU, "GATED": True, "FAST": 2, "FLAT": True, "EACH": 2, "WIDTH": 8},
    "activate_backward": {
        "T": "float32", "A": "float32", "KIND": GELU, "GATED": False, "FAST": 0, "FLAT": False, "EACH": 1, "WIDTH": 4,
    },
}
