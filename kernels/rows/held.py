"""What all operations on rows have in common: who has which elements of a row, and how they come to agree on what it comes to.

A row is read once, into the registers of those that share it: some lanes of a warp, a block, or a cluster of blocks. Each thread has
some of its vectors; a reduction of all of them, or two, of which the second one knows what the first one came to, is followed by
the function that writes the results.
"""

from prism.lang import (
    assume, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, prefetch, prism, ptr, requires, split,
    template, thread,
)
from prism.kernels.rows.agree import agree


@prism("device")
@template(
    TI=dtype, A=dtype, S=dtype, STAGES=constexpr(int), KEEP=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int),
    INPUTS=constexpr(int), BLOCKS=constexpr(int), LOAD=function, READ=function, FIRST=function, OP=function, SECOND=function,
    OP2=function, LAST=function, STORE=function,
)
@requires(block[BLOCKS], thread[32])
def map_row(
    r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1], wide: bool @ grid[1],
    identity: S @ grid[1], identity2: A @ grid[1],
):
    """Do for a row of `n` elements, or for as many rows as the lanes of a block have room for, what functions say.

    Perspective: number `r` of the clusters of `BLOCKS` blocks of any number of warps that do `rows` rows in all. `wide`: all
                 threads share one row, else each `1 << lanes` lanes of a warp; those of several blocks are `wide`.
    Shapes:      those who share a row have room for `n`, a multiple of `WIDTH`, of `ITEMS` elements a thread.
                 `LOAD(row, column, words)` puts the `WIDTH` elements from a column on into `words`, of each of `INPUTS` arrays; it is
                 called for all vectors first. `READ(row, column, words, values)` makes `WIDTH` numbers of the type `A` of them.
                 `FIRST(value)` is what `OP` combines, to `a`, of the type `S`; with two `STAGES` `SECOND(value, a)` is what `OP2`
                 combines, to `b`; with `KEEP` it is what the value becomes. `STORE(row, column, values, a, b, c)` does with a
                 vector what it likes, and `c` is `LAST(a, b)`.
    Cost:        a reduction for each stage: in a block one barrier, and in a cluster one of its.
    Numerics:    `OP` and `OP2` are commutative, and reassociated in a way that follows from the launch.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    words: TI[VECTORS, INPUTS * WIDTH] @ thread[1]
    items: A[VECTORS, WIDTH] @ thread[1]
    assume(lanes >= 0 and lanes <= 5)
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    many: int32 @ block[BLOCKS] = n / WIDTH
    found: int64 @ thread[1] = r if wide else (r * threads + t) >> lanes
    row: int64 @ thread[1] = min(found, rows - 1)  # who has none reads what another one reads, and stores nothing
    team: int32 @ thread[1] = threads if wide else 1 << lanes
    part: int32 @ thread[1] = t if wide else t & team - 1
    end: int32 @ thread[1] = many if found < rows else 0
    a: S @ thread[1] = identity
    b: A @ thread[1] = identity2
    with group(thread[1]):
        for j in range(VECTORS):  # no branches: else each load would wait for the one before
            word: TI[INPUTS * WIDTH]
            LOAD(row, min(part + j * team, many - 1) * WIDTH, word)
            for k in range(INPUTS * WIDTH):
                words[j, k] = word[k]
        for j in range(VECTORS):  # nor here: loads would be moved into them
            word: TI[INPUTS * WIDTH]
            values: A[WIDTH]
            for k in range(INPUTS * WIDTH):
                word[k] = words[j, k]
            READ(row, min(part + j * team, many - 1) * WIDTH, word, values)
            own: S = FIRST(values[0])
            for k in range(WIDTH):
                items[j, k] = values[k]
                if k > 0:
                    own = OP(own, FIRST(values[k]))
            a = OP(a, own if part + j * team < end else identity)
    a = agree(a, identity, lanes, wide, OP=OP, BLOCKS=BLOCKS)
    if STAGES == 2:
        with group(thread[1]):
            for j in range(VECTORS):
                values: A[WIDTH]
                for k in range(WIDTH):
                    values[k] = SECOND(items[j, k], a)
                    if KEEP:
                        items[j, k] = values[k]
                own: A = values[0]
                for k in range(1, WIDTH):
                    own = OP2(own, values[k])
                b = OP2(b, own if part + j * team < end else identity2)
        b = agree(b, identity2, lanes, wide, OP=OP2, BLOCKS=BLOCKS)
    c: A @ thread[1] = LAST(a, b)
    with group(thread[1]):
        for j in range(VECTORS):
            if part + j * team < end:
                values: A[WIDTH]
                for k in range(WIDTH):
                    values[k] = items[j, k]
                STORE(row, (part + j * team) * WIDTH, values, a, b, c)


@prism("device")
@template(T=dtype, BLOCKS=constexpr(int))
@requires(block[BLOCKS], thread[32])
def prefetch_row(
    x: ptr(const(T)) @ grid[1], r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1],
):
    """Ask for row `r`, a share of it by each block of a cluster, to be brought into the L2; where there is none, for nothing."""
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    with group(block[1]):
        share: int32 @ block[1] = n / BLOCKS
        match split(thread):
            case 1:
                if r < rows:
                    prefetch(x[r * stride + b * share], share)
