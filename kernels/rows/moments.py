"""What norms of rows have in common: rows that may have others added, their sums off a guess, and what elements become."""

from prism.kernels.rows.configurations import GUESSED, HELD, LONG
from prism.kernels.rows.elements import join_none, load_words
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import add_pairs, guess_mean, middle, normal
from prism.lang import (
    block, const, constexpr, dtype, function, grid, int32, int64, prism, ptr, requires, rsqrt, template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.device
@template(
    TI=dtype, A=dtype, D=dtype, G=dtype, S=dtype, P=dtype, CENTRED=constexpr(bool), RESIDUAL=constexpr(bool),
    ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int),
    ROWS=constexpr(int), WAY=constexpr(int), STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_norms(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], residual: ptr(const(TI)) @ grid[1],
    residual_stride: int64 @ grid[1], r: int64 @ block[BLOCKS], ahead: int32 @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], lanes: int32 @ grid[1], eps: D @ grid[1], share: D @ grid[1],
):
    """Do with the mean and the variance of rows, a `P`, and what elements off the mean are multiplied by, what `STORE` says.

    Perspective, shapes: as of `norm_rows`; `STORE` as of `map_row`.
    """
    PLACES: constexpr(int) = (3 if TI.bytes > 2 else 1) if CENTRED else 0

    @requires(thread[1])
    def guess(row: int64 @ thread[1]) -> G @ thread[1]:
        return guess_mean(x, row * stride, residual, row * residual_stride, n, G=G, CENTRED=CENTRED, MORE=RESIDUAL)

    @requires(thread[1])
    def sums(
        j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1], guessed: G @ thread[1],
    ) -> S @ thread[1]:
        return add_up(values, middle(guessed, A=A, ONE=TI.bytes == 2) if CENTRED else 0, D=D, S=S, WIDTH=WIDTH, CENTRED=CENTRED)

    @requires(thread[1])
    def pack(guessed: G @ thread[1], found: S @ thread[1]) -> P @ thread[1]:
        if CENTRED:
            off: D = found.first * share
            return P(D(middle(guessed, A=A, ONE=TI.bytes == 2)) + off, found.second * share - off * off)
        else:
            return P(0, found * share)

    @requires(thread[1])
    def factor(guessed: G @ thread[1], moments: P @ thread[1]) -> A @ thread[1]:
        return A(rsqrt(moments.second + eps))

    map_sides(
        x, stride, residual, residual_stride, r, ahead, rows, n, lanes,
        G(TI(0), TI(0), TI(0)) if TI.bytes > 2 else TI(0), S(0, 0) if CENTRED else D(0), TI=TI, A=A, P=P, ONCE=GUESSED,
        RESIDUAL=RESIDUAL, ITEMS=ITEMS, WIDTH=WIDTH, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
        PLACES=PLACES, FULL=False, FIRST=guess, OP=operators.add, SECOND=sums,
        OP2=add_pairs if CENTRED else operators.add, PACK=pack, LAST=factor, STORE=STORE,
    )


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, ONCE=constexpr(int), RESIDUAL=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int),
    ROWS=constexpr(int), WAY=constexpr(int), PLACES=constexpr(int), FULL=constexpr(bool), FIRST=function, OP=function,
    SECOND=function, OP2=function, PACK=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_sides(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], residual: ptr(const(TI)) @ grid[1],
    residual_stride: int64 @ grid[1], r: int64 @ block[BLOCKS], ahead: int32 @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], lanes: int32 @ grid[1], identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do for the rows of `x`, or for the sums with those of `residual`, what functions say: see `map_rows`."""
    INPUTS: constexpr(int) = 2 if RESIDUAL else 1

    @requires(thread[1])
    def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[INPUTS * WIDTH] @ thread[1]):
        load_sides(x, row * stride, residual, row * residual_stride, column, words, BOTH=RESIDUAL, WIDTH=WIDTH)

    @requires(thread[1])
    def read(
        row: int64 @ thread[1], column: int32 @ thread[1], words: TI[INPUTS * WIDTH] @ thread[1],
        values: A[KEPT * WIDTH] @ thread[1],
    ):
        add_sides(words, values, BOTH=RESIDUAL)

    if (WAY == HELD or WAY == LONG) and ahead > 0:
        prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
    map_rows(
        x, stride, residual, residual_stride, r, ahead, rows, n, lanes, identity, identity2, TI=TI, A=A, P=P, STAGES=2,
        ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS,
        ROWS=ROWS, WAY=WAY, PLACES=PLACES, MORE=RESIDUAL, FULL=FULL, LOAD=load, READ=read, FIRST=FIRST, OP=OP,
        SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=join_none, LAST=LAST, STORE=STORE,
    )


@prism.device
@requires(thread[1])
@template(T=dtype, N=constexpr(int), WIDTH=constexpr(int), BOTH=constexpr(bool))
def load_sides(
    x: ptr(const(T)) @ grid[1], at: int64 @ thread[1], other: ptr(const(T)) @ grid[1], behind: int64 @ thread[1],
    column: int32 @ thread[1], words: T[N] @ thread[1],
):
    """Put the vector at a column of the row at `x[at]` into `words`; of `BOTH`, behind it that of the row at `other[behind]`."""
    load_words(x, at + column, words, FIRST=0, WIDTH=WIDTH)
    if BOTH:
        load_words(other, behind + column, words, FIRST=WIDTH, WIDTH=WIDTH)


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, N=constexpr(int), KEPT=constexpr(int), BOTH=constexpr(bool))
def add_sides(words: T[N] @ thread[1], values: A[KEPT] @ thread[1]):
    """Make numbers of what `load_sides` has loaded; of `BOTH` the sums, rounded, and where there is room for more these again."""
    WIDTH: constexpr(int) = N // 2 if BOTH else N
    for k in range(WIDTH):
        values[k] = A(words[k])
        if BOTH:
            values[k] = A(T(values[k] + A(words[WIDTH + k])))
            if KEPT > WIDTH:
                values[WIDTH + k] = values[k]


@prism.device
@requires(thread[1])
@template(A=dtype, D=dtype, S=dtype, N=constexpr(int), WIDTH=constexpr(int), CENTRED=constexpr(bool))
def add_up(values: A[N] @ thread[1], near: A @ thread[1]) -> S @ thread[1]:
    """The sum of what the first `WIDTH` values are off `near`, and of its squares; where not `CENTRED`, of their squares."""
    total: A = 0
    squares: A = 0
    for k in range(WIDTH):
        off: A = values[k] - near if CENTRED else values[k]
        total = total + off
        squares = squares + off * off
    if CENTRED:
        return S(D(total), D(squares))
    else:
        return D(squares)


@prism.device
@requires(thread[1])
@template(
    A=dtype, N=constexpr(int), WIDTH=constexpr(int), CENTRED=constexpr(bool), WEIGHT=constexpr(bool), BIAS=constexpr(bool),
    SHORT=constexpr(bool),
)
def weigh(
    values: A[N] @ thread[1], mean: A @ thread[1], scale: A @ thread[1], factors: A[WIDTH] @ thread[1],
    terms: A[WIDTH] @ thread[1],
):
    """Make of the first `WIDTH` values what a norm is: off the mean, times `scale` and `factors`, and `terms` added."""
    for k in range(WIDTH):
        values[k] = normal(values[k], mean, scale, CENTRED=CENTRED, SHORT=SHORT)
        if WEIGHT:
            values[k] = values[k] * factors[k]
        if BIAS:
            values[k] = values[k] + terms[k]
