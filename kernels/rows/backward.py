"""Gradients of softmax and of norms, from what these were given and have returned."""

from prism.lang import (
    async_, attr, block, const, constexpr, count, cp_async, dtype, exp, fma, function, grid, group, id, int32, int64,
    load_vector, partition, prism, ptr, requires, rsqrt, shared, template, thread,
)
from prism.kernels.rows.configurations import APART, BESIDE, GUESSED
from prism.kernels.rows.elements import join_none, load_numbers, load_words, read_plain, store_numbers, take_apart
from prism.kernels.rows.moments import load_sides
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import add_pairs, add_slopes, guess_mean, middle, normal
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, TO=dtype, A=dtype, D=dtype, LOG=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int),
    WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def softmax_backward_rows(
    y: ptr(const(TI)) @ grid[1], dy: ptr(const(TI)) @ grid[1], dx: ptr(TO) @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], stride: int64 @ grid[1], dy_stride: int64 @ grid[1], scale: A @ grid[1], lanes: int32 @ grid[1],
    ahead: int32 @ grid[1],
):
    """`dx = scale * y * (dy - sum(dy * y))` of each row; of the logarithm of a softmax `scale * (dy - exp(y) * sum(dy))`.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      rows of `y` are `stride` elements apart, those of `dy` `dy_stride`, and those of `dx` `n`.
    Numerics:    computes in `A`, and adds up in `D`.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    r: int64 @ block[BLOCKS] = id()
    with partition(dx, thread[1], offset=lambda i: i, races="none") as out, group(block[BLOCKS]):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[2 * WIDTH] @ thread[1]):
            load_words(y, row * stride + column, words, FIRST=0, WIDTH=WIDTH)
            load_words(dy, row * dy_stride + column, words, FIRST=WIDTH, WIDTH=WIDTH)

        @requires(thread[1])
        def first(j: int32 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1]) -> D @ thread[1]:
            total: A = 0
            for k in range(WIDTH):
                total = total + (values[WIDTH + k] if LOG else values[k] * values[WIDTH + k])
            return D(total)

        @requires(thread[1])
        def second(
            j: int32 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1], total: D @ thread[1],
        ) -> D @ thread[1]:
            return total

        @requires(thread[1])
        def pack(total: D @ thread[1], other: D @ thread[1]) -> A @ thread[1]:
            return A(total)

        @requires(thread[1])
        def last(total: D @ thread[1], same: A @ thread[1]) -> A @ thread[1]:
            return same

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1],
            total: A @ thread[1], same: A @ thread[1],
        ):
            found: A[WIDTH]
            for k in range(WIDTH):
                if LOG:
                    found[k] = scale * (values[WIDTH + k] - exp(values[k]) * total)
                else:
                    found[k] = scale * (values[k] * (values[WIDTH + k] - total))
            store_numbers(out, row * n + column, found)

        map_rows(
            y, stride, dy, dy_stride, r, ahead, rows, n, lanes, D(0), D(0), TI=TI, A=A, P=A, STAGES=1, ONCE=APART,
            ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=2, KEPT=2, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
            PLACES=0, MORE=False, FULL=False, LOAD=load, READ=read_plain, FIRST=first, OP=operators.add, SECOND=second,
            OP2=operators.add, PACK=pack, JOIN=join_none, LAST=last, STORE=store,
        )


@prism.kernel
@template(
    TI=dtype, W=dtype, A=dtype, D=dtype, G=dtype, S=dtype, F=dtype, CENTRED=constexpr(bool), WEIGHT=constexpr(bool),
    BIAS=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int), FULL=constexpr(bool),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def norm_backward_rows(
    x: ptr(const(TI)) @ grid[1], dy: ptr(const(TI)) @ grid[1], weight: ptr(const(W)) @ grid[1], dx: ptr(TI) @ grid[1],
    weights: ptr(A) @ grid[1], biases: ptr(A) @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1],
    dy_stride: int64 @ grid[1], step: int32 @ grid[1], eps: D @ grid[1], share: D @ grid[1], lanes: int32 @ grid[1],
):
    """The gradients of `norm_rows`: `dx` of each row, and what each group of rows adds to those of the weight and the bias.

    Perspective: grid, of `step` blocks, or clusters of `BLOCKS`, of up to `THREADS` threads, which take rows in turn.
    Shapes:      rows of `x` are `stride` elements apart, those of `dy` `dy_stride`, and those of `dx` `n`. A group is those who
                 share a row, see `map_row`: number `g` writes `weights[g * n + i]` and `biases[g * n + i]`, where there is a
                 `WEIGHT`, a `BIAS`; else they are not touched. `F`: `Slopes` of numbers of the type `D`; `S`, of which sums are:
                 that, or, where not `CENTRED`, a `Pair`. `G`: `Three` of the type `TI`, or of 16 bits that. `share`: `1 / n`.
                 `FULL`: rows that clusters have in turn, beside their weights, and `THREADS` with all `ITEMS` of each.
    Numerics:    computes in `A`, and adds up a row in `D`, off a guess, as `norm_rows`; a group adds up its rows in their order.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    KEEP: constexpr(bool) = WAY == BESIDE and WEIGHT
    PART: constexpr(int) = min(WIDTH, 16 // W.bytes)
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(dx, thread[1], offset=lambda i: i, races="none") as out,
        partition(weights, thread[1], offset=lambda i: i, races="none") as weights_out,
        partition(biases, thread[1], offset=lambda i: i, races="none") as biases_out,
        group(block[BLOCKS]),
    ):
        # Never less than 128 bytes: what `cp_async` copies stands behind it, and is slow where it begins at no multiple of that.
        kept: shared(W[BLOCKS, VECTORS if KEEP else 1, THREADS * WIDTH if KEEP else 128 // W.bytes])
        if KEEP:
            keep_shared(kept, weight, n, WIDTH=WIDTH)
        b: int32 @ block[1] = id() if BLOCKS > 1 else 0
        t: int32 @ thread[1] = id()  # in the cluster
        threads: int32 @ block[BLOCKS] = count(thread[1])
        here: int32 @ thread[1] = t - b * (threads // BLOCKS)
        of_weight: A[VECTORS, WIDTH] @ thread[1] = {0}
        of_bias: A[VECTORS, WIDTH] @ thread[1] = {0}
        with partition(kept, thread[1], lambda j, k: (b, j, here * WIDTH + k if KEEP else 0)) as kept_own:

            @requires(thread[1])
            def weigh(
                j: int32 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1],
                weighed: A[WIDTH] @ thread[1],
            ):
                """The gradients of what the weight was multiplied with."""
                if KEEP:
                    word: W[WIDTH]
                    for p in range(0, WIDTH, PART):
                        take_apart(load_vector(kept_own[j, p], PART), word, p, WIDTH=PART)
                    for k in range(WIDTH):
                        weighed[k] = A(word[k])
                elif WEIGHT:
                    load_numbers(weight, column, weighed)
                for k in range(WIDTH):
                    weighed[k] = values[WIDTH + k] * weighed[k] if WEIGHT else values[WIDTH + k]

            @requires(thread[1])
            def store(
                j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1],
                slopes: F @ thread[1], scale: A @ thread[1],
            ):
                weighed: A[WIDTH]
                weigh(j, column, values, weighed)
                slope: A = A(slopes.products) * scale * scale
                mean: A = A(slopes.total)
                over: A = A(slopes.weighed)
                for k in range(WIDTH):
                    one: A = normal(values[k], mean, scale, CENTRED=CENTRED, SHORT=TI.bytes == 2)
                    if WEIGHT:
                        of_weight[j, k] = of_weight[j, k] + values[WIDTH + k] * one
                    if BIAS:
                        of_bias[j, k] = of_bias[j, k] + values[WIDTH + k]
                    weighed[k] = fma(weighed[k], scale, -fma(one, slope, over * scale))
                store_numbers(out, row * n + column, weighed)

            map_slopes(
                x, stride, dy, dy_stride, r, step, rows, n, lanes, eps, share, TI=TI, A=A, G=G, S=S, F=F,
                CENTRED=CENTRED, ITEMS=ITEMS, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
                FULL=FULL, WEIGH=weigh, STORE=store,
            )
            if WEIGHT:
                store_sums(weights_out, r, n, lanes, of_weight, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE)
            if BIAS:
                store_sums(biases_out, r, n, lanes, of_bias, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE)


@prism.device
@template(
    TI=dtype, A=dtype, D=dtype, G=dtype, S=dtype, F=dtype, CENTRED=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int), ROWS=constexpr(int),
    WAY=constexpr(int), FULL=constexpr(bool), WEIGH=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_slopes(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], dy: ptr(const(TI)) @ grid[1], dy_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], step: int32 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1],
    eps: D @ grid[1], share: D @ grid[1],
):
    """Do with the `Slopes` of rows, which are means of what `WEIGH` makes of gradients, and others, what `STORE` says.

    Perspective, shapes: as of `norm_backward_rows`; `STORE` as of `map_row`, `WEIGH(j, column, values, weighed)`.
    """
    PLACES: constexpr(int) = (3 if TI.bytes > 2 else 1) if CENTRED else 0

    @requires(thread[1])
    def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[2 * WIDTH] @ thread[1]):
        load_sides(x, row * stride, dy, row * dy_stride, column, words, BOTH=True, WIDTH=WIDTH)

    @requires(thread[1])
    def guess(row: int64 @ thread[1]) -> G @ thread[1]:
        return guess_mean(x, row * stride, x, row * stride, n, G=G, CENTRED=CENTRED, MORE=False)

    @requires(thread[1])
    def sums(
        j: int32 @ thread[1], column: int32 @ thread[1], values: A[2 * WIDTH] @ thread[1], guessed: G @ thread[1],
    ) -> S @ thread[1]:
        weighed: A[WIDTH]
        WEIGH(j, column, values, weighed)
        near: A = middle(guessed, A=A, ONE=TI.bytes == 2) if CENTRED else 0
        return add_slopes_up(values, weighed, near, D=D, S=S, CENTRED=CENTRED)

    @requires(thread[1])
    def pack(guessed: G @ thread[1], found: S @ thread[1]) -> F @ thread[1]:
        """Means: of elements, of weighed gradients, of squares off the mean, and of products with these."""
        if CENTRED:
            off: D = found.total * share
            mean: D = D(middle(guessed, A=A, ONE=TI.bytes == 2)) + off
            return F(
                mean, found.weighed * share, found.squares * share - off * off,
                (found.products - found.weighed * off) * share,
            )
        else:
            return F(0, 0, found.first * share, found.second * share)

    @requires(thread[1])
    def factor(guessed: G @ thread[1], slopes: F @ thread[1]) -> A @ thread[1]:
        return A(rsqrt(slopes.squares + eps))

    map_rows(
        x, stride, dy, dy_stride, r, step, rows, n, lanes, G(TI(0), TI(0), TI(0)) if TI.bytes > 2 else TI(0),
        S(0, 0, 0, 0) if CENTRED else S(0, 0), TI=TI, A=A, P=F, STAGES=2, ONCE=GUESSED, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=2,
        KEPT=2, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY, PLACES=PLACES, MORE=False, FULL=FULL, LOAD=load,
        READ=read_plain, FIRST=guess, OP=operators.add, SECOND=sums, OP2=add_slopes if CENTRED else add_pairs, PACK=pack,
        JOIN=join_none, LAST=factor, STORE=STORE,
    )


@prism.device
@requires(thread[1])
@template(A=dtype, D=dtype, S=dtype, WIDTH=constexpr(int), N=constexpr(int), CENTRED=constexpr(bool))
def add_slopes_up(values: A[N] @ thread[1], weighed: A[WIDTH] @ thread[1], near: A @ thread[1]) -> S @ thread[1]:
    """What a vector adds to a row's sums, off `near`: where not `CENTRED`, of squares and of products."""
    total: A = 0
    all: A = 0
    squares: A = 0
    products: A = 0
    for k in range(WIDTH):
        off: A = values[k] - near if CENTRED else values[k]
        total = total + off
        all = all + weighed[k]
        squares = squares + off * off
        products = products + weighed[k] * off
    if CENTRED:
        return S(D(total), D(all), D(squares), D(products))
    else:
        return S(D(squares), D(products))


@prism.device
@template(W=dtype, WIDTH=constexpr(int), BLOCKS=constexpr(int), VECTORS=constexpr(int), ROOM=constexpr(int))
@requires(block["BLOCKS"], thread[32])
def keep_shared(kept: shared(W[BLOCKS, VECTORS, ROOM]) @ block[BLOCKS], weight: ptr(const(W)) @ grid[1], n: int32 @ grid[1]):
    """Begin to copy the weights of each thread's vectors of a row."""
    PART: constexpr(int) = min(WIDTH, 16 // W.bytes)
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    with partition(kept, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as own, async_(own) as coming, group(thread[1]):
        for j in range(VECTORS):
            column: int32 = min(t + j * threads, n // WIDTH - 1) * WIDTH
            for p in range(0, WIDTH, PART):
                cp_async(coming[j, p], weight[column + p], PART * W.bytes)


@prism.device
@template(A=dtype, VECTORS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def store_sums(
    y: ptr(A) @ thread[1], r: int64 @ block[BLOCKS], n: int32 @ grid[1], lanes: int32 @ grid[1],
    sums: A[VECTORS, WIDTH] @ thread[1],
):
    """Put the sums of columns of a thread's vectors into row number `r` of `y`, of as many as share rows: see `map_row`."""
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    with group(thread[1]):
        team: int32 = threads if WIDE else 1 << lanes
        part: int32 = t if WIDE else t & team - 1
        at: int64 = (r if WIDE else (r * threads + t) >> lanes) * n
        for j in range(VECTORS):
            column: int32 = (part + j * team) * WIDTH
            if column < n:
                found: A[WIDTH]
                for k in range(WIDTH):
                    found[k] = sums[j, k]
                store_numbers(y, at + column, found)
