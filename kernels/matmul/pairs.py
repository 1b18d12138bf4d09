"""Matrices of complex numbers as matrices of real ones, so that a product of these is theirs."""

from __future__ import annotations

from prism.lang import (
    attr, block, complex64, const, constexpr, float32, grid, group, id, int32, int64, partition, prism, ptr, requires,
    store_vector, template, thread, vector,
)  # fmt: skip

THREADS = 256


@prism.kernel
@template(ALONG=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def expand_pairs(
    x: ptr(const(complex64)) @ grid[1], outside: int64 @ grid[1], inside: int64 @ grid[1], apart: int64 @ grid[1],
    out: ptr(float32) @ grid[1], rows: int32 @ grid[1], columns: int32 @ grid[1], many: int64 @ grid[1],
):  # fmt: skip
    """Make four numbers of each: the matrix by which pairs of real and imaginary parts are multiplied.

    Perspective: grid, a thread for each of `many` numbers, those of all matrices.
    Shapes:      `x[p * apart + i * outside + j * inside]`, `rows` x `columns` for each matrix p. `out`: matrices of twice as many
                 rows and columns, of each number `re, im` and below it `-im, re`; where `ALONG`, whose rows are columns of the
                 second operand, `re, -im` and `im, re`.
    Test:        tests/kernels/test_matmul.py
    """
    b: int64 @ block[1] = id()
    with partition(out, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            if at < many:
                j: int64 = at % columns
                i: int64 = at // columns % rows
                p: int64 = at // columns // rows
                one: complex64 = x[p * apart + i * outside + j * inside]
                low: float32 = -one.imag if ALONG else one.imag
                to: int64 = (at // columns) * (4 * int64(columns)) + 2 * j
                store_vector(mine[to], vector(float32, 2)(one.real, low))
                store_vector(mine[to + 2 * int64(columns)], vector(float32, 2)(-low, one.real))


@prism.kernel
@template(ALONG=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def split_pairs(
    x: ptr(const(complex64)) @ grid[1], outside: int64 @ grid[1], inside: int64 @ grid[1], out: ptr(float32) @ grid[1],
    rows: int32 @ grid[1], columns: int32 @ grid[1],
):  # fmt: skip
    """Make two rows of each: those that a real matrix is multiplied by, where a complex one lies.

    Perspective: grid, a thread for each number.
    Shapes:      `x[i * outside + j * inside]`, `rows` x `columns`. `out`: twice as many rows, of real parts, and below all of
                 these of imaginary ones; where `ALONG`, of twice as many columns, of `re, -im`, and below them of `im, re`.
    Test:        tests/kernels/test_matmul.py
    """
    b: int64 @ block[1] = id()
    with partition(out, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            many: int64 = int64(rows) * columns
            if at < many:
                one: complex64 = x[at // columns * outside + at % columns * inside]
                if ALONG:
                    store_vector(mine[2 * at], vector(float32, 2)(one.real, -one.imag))
                    store_vector(mine[2 * (many + at)], vector(float32, 2)(one.imag, one.real))
                else:
                    mine[at] = one.real
                    mine[many + at] = one.imag


@prism.kernel
@template(ALONG=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def join_pairs(
    x: ptr(const(float32)) @ grid[1], out: ptr(complex64) @ grid[1], stride: int64 @ grid[1], rows: int32 @ grid[1],
    columns: int32 @ grid[1],
):  # fmt: skip
    """Make a complex product of the real one of `split_pairs`'s rows.

    Perspective: grid, a thread for each number.
    Shapes:      `x`: twice as many `rows`. Where `ALONG`, of real parts, and below them of imaginary ones. Else of twice as many
                 `columns`: real parts times `re, im`, and below them imaginary ones. `out[i * stride + j]`.
    Test:        tests/kernels/test_matmul.py
    """
    b: int64 @ block[1] = id()
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            many: int64 = int64(rows) * columns
            if at < many:
                i: int64 = at // columns
                j: int64 = at % columns
                if ALONG:
                    target[i, j] = complex64(x[at], x[many + at])
                else:
                    low: int64 = 2 * (many + at)
                    target[i, j] = complex64(x[2 * at] - x[low + 1], x[2 * at + 1] + x[low])


__all__ = ["THREADS", "expand_pairs", "join_pairs", "split_pairs"]
