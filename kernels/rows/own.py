"""An operation on rows that the caller gives: what is reduced of a row, once or twice, and what becomes of each element."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, template,
    thread,
)
from prism.kernels.rows.configurations import HELD, LONG
from prism.kernels.rows.elements import join_none, load_words, read_plain, store_numbers
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows


@prism.kernel
@template(
    TI=dtype, TO=dtype, A=dtype, P=dtype, C=dtype, D=dtype, STAGES=constexpr(int), COLUMNS=constexpr(int),
    KEEP=constexpr(bool), MEAN=constexpr(bool), MEAN2=constexpr(bool), FIRST=function, OP=function, SECOND=function,
    OP2=function, FUNCTION=function, ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def own_rows(
    x: ptr(const(TI)) @ grid[1], c: ptr(const(C)) @ grid[1], d: ptr(const(D)) @ grid[1], y: ptr(TO) @ grid[1],
    rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1], share: A @ grid[1], identity: A @ grid[1],
    identity2: A @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """`y[r * n + i] = FUNCTION(x[r * stride + i], a, b, c[i], d[i])`.

    `a` is `OP` of `FIRST(x[r * stride + j])` for all `j`, and, where there are two `STAGES`, `b` is `OP2` of
    `SECOND(x[r * stride + j], a)`; else `FUNCTION` has no `b`. `c` and `d` it has if there are so many `COLUMNS`.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      `share`: `1 / n`, by which sums are multiplied where `MEAN` and `MEAN2`. `KEEP`: `FUNCTION` has what `SECOND`
                 made of an element for it. `identity`, `identity2`: those of `OP` and `OP2`.
    Numerics:    computes in `A`.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    r: int64 @ block[BLOCKS] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out, group(block[BLOCKS]):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1]):
            load_words(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)

        @requires(thread[1])
        def first(j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1]) -> A @ thread[1]:
            parts: A[WIDTH]
            for k in range(WIDTH):
                parts[k] = A(FIRST(values[k]))
            return thread.reduce(parts, OP=OP)

        @requires(thread[1])
        def second(
            j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1], found: A @ thread[1],
        ) -> A @ thread[1]:
            a: A = found * share if MEAN else found
            parts: A[WIDTH]
            for k in range(WIDTH):
                parts[k] = A(SECOND(values[k], a)) if STAGES == 2 else values[k]
                if KEEP:
                    values[k] = parts[k]
            return thread.reduce(parts, OP=OP2)

        @requires(thread[1])
        def pack(found: A @ thread[1], other: A @ thread[1]) -> P @ thread[1]:
            return P(found * share if MEAN else found, other * share if MEAN2 else other)

        @requires(thread[1])
        def last(found: A @ thread[1], total: P @ thread[1]) -> A @ thread[1]:
            return found

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1],
            total: P @ thread[1], found: A @ thread[1],
        ):
            a: A = total.first
            b: A = total.second
            for k in range(WIDTH):
                if STAGES == 1 and COLUMNS == 0:
                    values[k] = A(FUNCTION(values[k], a))
                elif STAGES == 1 and COLUMNS == 1:
                    values[k] = A(FUNCTION(values[k], a, A(c[column + k])))
                elif STAGES == 1:
                    values[k] = A(FUNCTION(values[k], a, A(c[column + k]), A(d[column + k])))
                elif COLUMNS == 0:
                    values[k] = A(FUNCTION(values[k], a, b))
                elif COLUMNS == 1:
                    values[k] = A(FUNCTION(values[k], a, b, A(c[column + k])))
                else:
                    values[k] = A(FUNCTION(values[k], a, b, A(c[column + k]), A(d[column + k])))
            store_numbers(out, row * n + column, values)

        if (WAY == HELD or WAY == LONG) and ahead > 0:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
        map_rows(
            x, stride, x, stride, r, ahead, rows, n, lanes, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=False,
            ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=1, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
            PLACES=0, MORE=False, FULL=False, LOAD=load, READ=read_plain, FIRST=first, OP=OP, SECOND=second, OP2=OP2, PACK=pack,
            JOIN=join_none, LAST=last, STORE=store,
        )
