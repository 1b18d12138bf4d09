"""Rotary positions: pairs of elements of a row, rotated by an angle that its position says."""

from prism.kernels.activations.rows import load_piece, store_piece
from prism.lang import (
    attr, const, constexpr, dtype, grid, group, id, int64, may_alias, partition, prism, ptr, requires, template, thread, uint32,
)  # fmt: skip


@prism.kernel
@template(T=dtype, C=dtype, A=dtype, ADJACENT=constexpr(bool), WIDTH=constexpr(int))
@requires(grid[1], thread[1])
@attr("__launch_bounds__(256)")
@may_alias("x", "y")
def turn_pairs(
    x: ptr(const(T)) @ grid[1], cos: ptr(const(C)) @ grid[1], sin: ptr(const(C)) @ grid[1], y: ptr(T) @ grid[1],
    many: int64 @ grid[1],
    positions: uint32 @ grid[1], inner: uint32 @ grid[1], slots: uint32 @ grid[1], half: uint32 @ grid[1],
    x_outer: int64 @ grid[1],
    x_position: int64 @ grid[1], x_inner: int64 @ grid[1], n: int64 @ grid[1], c_apart: int64 @ grid[1], sign: A @ grid[1],
):
    """`y = (a cos - b sin, b cos + a sin)` of the pairs (a, b) of each row, `sin` times `sign`; other elements are copied.

    Perspective: grid, of a thread for each of `many` slots at least.
    Shapes:      x: rows of `n` elements for each (o, p, i), p below `positions`, i below `inner`, that begin at
                 `o * x_outer + p * x_position + i * x_inner`; y: the same, dense. Row p of `cos` and `sin`, `c_apart` apart, has
                 an angle for each of the first `half` * `WIDTH` pairs. A row has `slots`: `half` of `WIDTH` pairs, and then
                 those of `WIDTH` elements that are copied. Pairs are elements k and k + half * WIDTH, or, `ADJACENT`,
                 neighbours: then `WIDTH` is at least 2, and a slot has `WIDTH` / 2 of them.
    Test:        tests/kernels/test_activations.py
    """
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(thread[1]):  # x may be y: each slot is one thread's
        if me < many:
            row: uint32 = uint32(me // slots)
            slot: int64 = me - int64(row) * slots
            above: uint32 = row // inner
            o: uint32 = above // positions
            p: int64 = above - o * positions
            first: int64 = o * x_outer + p * x_position + (row - above * inner) * x_inner
            target: int64 = int64(row) * n
            a: A[WIDTH]
            b: A[WIDTH]
            if slot < half:
                c: A[WIDTH]
                s: A[WIDTH]
                if ADJACENT:
                    load_piece(x, first + slot * WIDTH, a, 0, WIDTH=WIDTH)
                    for k in range(WIDTH // 2):
                        c[k] = A(cos[p * c_apart + slot * (WIDTH // 2) + k])
                        s[k] = sign * A(sin[p * c_apart + slot * (WIDTH // 2) + k])
                    for k in range(WIDTH // 2):
                        b[2 * k] = a[2 * k] * c[k] - a[2 * k + 1] * s[k]
                        b[2 * k + 1] = a[2 * k + 1] * c[k] + a[2 * k] * s[k]
                    store_piece(mine, target + slot * WIDTH, b, 0, WIDTH=WIDTH)
                else:
                    load_piece(x, first + slot * WIDTH, a, 0, WIDTH=WIDTH)
                    load_piece(x, first + (slot + half) * WIDTH, b, 0, WIDTH=WIDTH)
                    for k in range(WIDTH):
                        c[k] = A(cos[p * c_apart + slot * WIDTH + k])
                        s[k] = sign * A(sin[p * c_apart + slot * WIDTH + k])
                    for k in range(WIDTH):
                        part: A = a[k] * c[k] - b[k] * s[k]
                        b[k] = b[k] * c[k] + a[k] * s[k]
                        a[k] = part
                    store_piece(mine, target + slot * WIDTH, a, 0, WIDTH=WIDTH)
                    store_piece(mine, target + (slot + half) * WIDTH, b, 0, WIDTH=WIDTH)
            else:
                at: int64 = slot * WIDTH if ADJACENT else (slot + half) * WIDTH
                load_piece(x, first + at, a, 0, WIDTH=WIDTH)
                store_piece(mine, target + at, a, 0, WIDTH=WIDTH)


EXAMPLES = {"turn_pairs": {"T": "bfloat16", "C": "float32", "A": "float32", "ADJACENT": False, "WIDTH": 8}}
