"""Rows in turn whose norms are rounded to 8 bits: weights stay in registers as numbers, and the next row comes meanwhile."""

from prism.kernels.quantize.scales import inverse_of
from prism.kernels.rows.agree import agree
from prism.kernels.rows.elements import load_numbers, take_apart
from prism.kernels.rows.moments import add_up, weigh
from prism.kernels.rows.parts import fetch_firsts, guess_copied
from prism.kernels.rows.sums import add_pairs, middle
from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, float32, function, grid, group, id, int32, int64, load_vector,
    partition, prism, ptr, requires, rsqrt, shared, template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.device
@template(
    TI=dtype, W=dtype, D=dtype, G=dtype, S=dtype, WEIGHT=constexpr(bool), BIAS=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int), STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_scaled_ahead(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], weight: ptr(const(W)) @ grid[1], bias: ptr(const(W)) @ grid[1],
    r: int64 @ block[BLOCKS], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], eps: D @ grid[1],
    share: D @ grid[1], most: float32 @ grid[1],
):
    """Do what `map_scaled` does as number `r`, then as number `r + step`, and so on, as long as there are rows.

    Perspective: as of `map_row`, `WIDE` and `FULL`: a cluster of `BLOCKS` blocks of up to `THREADS` threads has a row.
    Shapes:      as of `norm_quantize_rows`; `STORE` as of `map_row`. A vector is of 4, 8 or 16 bytes.
    Cost:        two reductions of the cluster for each row; shared memory for `THREADS * ITEMS` elements. A thread copies what
                 it reads itself, so nobody waits for the copies of others.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    PLACES: constexpr(int) = 3 if TI.bytes > 2 else 1
    held: shared(TI[BLOCKS, VECTORS, THREADS * WIDTH])
    firsts: shared(TI[BLOCKS, PLACES, THREADS * 4 // TI.bytes])
    factors: float32[VECTORS, WIDTH] @ thread[1]
    terms: float32[VECTORS, WIDTH] @ thread[1]
    items: float32[VECTORS, WIDTH] @ thread[1]
    guesses: G[1] @ thread[1]
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)

    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:

        @requires(block["BLOCKS"], thread[32])
        def fetch(row: int64 @ block[BLOCKS]):
            with async_(mine) as coming, group(thread[1]):
                for j in range(VECTORS, unroll=True):
                    cp_async(coming[j, 0], x[row * stride + (t + j * threads) * WIDTH], WIDTH * TI.bytes)
            fetch_firsts(firsts, x, stride, x, stride, row, t % 32 == 0, n, 0, PLACES=PLACES, MORE=False)

        fetch(r)
        with group(thread[1]):
            for j in range(VECTORS):
                one: float32[WIDTH]
                other: float32[WIDTH]
                if WEIGHT:
                    load_numbers(weight, (t + j * threads) * WIDTH, one)
                if BIAS:
                    load_numbers(bias, (t + j * threads) * WIDTH, other)
                for k in range(WIDTH):
                    factors[j, k] = one[k] if WEIGHT else 1
                    terms[j, k] = other[k] if BIAS else 0
        for row in range(r, rows, step, unroll=False):
            guess_copied(firsts, guesses, PLACES=PLACES, MORE=False, ALIKE=True)
            near: float32 @ thread[1] = 0
            sums: S @ thread[1] = S(0, 0)
            with group(thread[1]):
                near = middle(guesses[0], A=float32, ONE=TI.bytes == 2)
                for j in range(VECTORS):
                    word: TI[WIDTH]
                    values: float32[WIDTH]
                    take_apart(load_vector(mine[j, 0], WIDTH), word, 0, WIDTH=WIDTH)
                    for k in range(WIDTH):
                        values[k] = float32(word[k])
                        items[j, k] = values[k]
                    sums = add_pairs(sums, add_up(values, near, D=D, S=S, WIDTH=WIDTH, CENTRED=True))
            if row + step < rows:
                fetch(row + step)
            sums = agree(sums, S(0, 0), 5, OP=add_pairs, BLOCKS=BLOCKS, WIDE=True, NEAR=False)
            top: float32 @ thread[1] = 0
            with group(thread[1]):
                off: D = sums.first * share
                scale: float32 = float32(rsqrt(sums.second * share - off * off + eps))
                for j in range(VECTORS):
                    values: float32[WIDTH]
                    one: float32[WIDTH]
                    other: float32[WIDTH]
                    for k in range(WIDTH):
                        values[k] = items[j, k]
                        one[k] = factors[j, k]
                        other[k] = terms[j, k]
                    weigh(
                        values, near + float32(off), scale, one, other, CENTRED=True, WEIGHT=WEIGHT, BIAS=BIAS,
                        SHORT=TI.bytes == 2,
                    )
                    for k in range(WIDTH):
                        items[j, k] = values[k]
                        top = max(top, abs(values[k]))
            top = agree(top, float32(0), 5, OP=operators.maximum, BLOCKS=BLOCKS, WIDE=True, NEAR=False)
            with group(thread[1]):
                by: float32 = inverse_of(top, most)
                for j in range(VECTORS, unroll=True):
                    values: float32[WIDTH]
                    for k in range(WIDTH):
                        values[k] = items[j, k]
                    STORE(j, row, (t + j * threads) * WIDTH, values, top, by)
