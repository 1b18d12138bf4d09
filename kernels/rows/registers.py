"""What all operations on rows have in common: who has which elements of a row, and how they come to agree on what it comes to.

A row is read once, into the registers of those that share it: some lanes of a warp, a block, or a cluster of blocks. Each thread
has some of its vectors; a reduction of all of them, or two, of which the second one knows what the first one came to, is followed
by the function that writes the results.
"""

from prism.lang import (
    assume, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, prefetch, prism, ptr, requires,
    split, template, thread,
)
from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.elements import load_vectors, read_vectors
from prism.kernels.rows.settle import settle_row


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), FULL=constexpr(bool),
    LOAD=function, READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function,
    LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_row(
    r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do for a row of `n` elements, or for as many rows as the lanes of a block have room for, what functions say.

    Perspective: number `r` of the clusters of `BLOCKS` blocks of any number of warps that do `rows` rows in all. `WIDE`: all
                 threads share one row, else each `1 << lanes` lanes of a warp; those of several blocks are `WIDE`.
    Shapes:      those who share a row have room for `n`, a multiple of `WIDTH`, of `ITEMS` elements a thread, in vectors.
                 `LOAD(row, column, words)` puts the `WIDTH` elements from a column on into `words`, of each of `INPUTS` arrays;
                 it is called for all vectors first. `READ(row, column, words, values)` makes `KEPT` times as many numbers of the
                 type `A` of them. `FIRST(j, column, values)` is what a vector comes to, of the type `S`, and `OP` combines it, to
                 `a`; with two `STAGES` `OP2` combines `SECOND(j, column, values, a)`, of the type `S2`, to `b`, and the values
                 become what it makes of them. `PACK(a, b)` is what the row comes to, of the type `P`. Where `ONCE`
                 is `OF_WARPS`, `a` is a warp's, and `JOIN(parts)` makes one of those of all warps, a lane each. Where it is
                 `GUESSED`, `a` is `FIRST(row)`, and nothing else comes before the second stage. `STORE(j, row, column, values,
                 total, c)` does with the thread's vector `j` what it likes; `c` is `LAST(a, total)`. Of vectors that are not
                 there, others are read and thrown away; where a row is `FULL`, all are there.
    Cost:        a reduction for each stage: in a block one barrier, and in a cluster one of its.
    Numerics:    `OP` and `OP2` are commutative, and reassociated in a way that follows from the launch.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    words: TI[VECTORS, INPUTS * WIDTH] @ thread[1]
    items: A[VECTORS, KEPT * WIDTH] @ thread[1]
    assume(lanes >= 0 and lanes <= 5)
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    many: int32 @ block[BLOCKS] = n // WIDTH
    found: int64 @ thread[1] = r if WIDE else (r * threads + t) >> lanes
    row: int64 @ thread[1] = min(found, rows - 1)  # who has none reads what another one reads, and stores nothing
    team: int32 @ thread[1] = threads if WIDE else 1 << lanes
    part: int32 @ thread[1] = t if WIDE else t & team - 1
    end: int32 @ thread[1] = many if found < rows else 0

    guesses: S[1] @ thread[1]
    guess_rows(row, rows, identity, guesses, ONCE=ONCE, GUESS=FIRST)
    with group(thread[1]):
        load_vectors(row, part, team, many, words, WIDTH=WIDTH, FULL=FULL, LOAD=LOAD)
        read_vectors(row, part, team, many, words, items, WIDTH=WIDTH, FULL=FULL, READ=READ)
    settle_row(
        items, guesses[0], row, part, team, many, end, lanes, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
        WIDTH=WIDTH, THREADS=THREADS, BLOCKS=BLOCKS, WIDE=WIDE, FULL=FULL, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2,
        PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
    )


@prism.device
@template(T=dtype, BLOCKS=constexpr(int), WIDE=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def prefetch_rows(
    x: ptr(const(T)) @ grid[1], r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1],
    lanes: int32 @ grid[1],
):
    """Ask for the rows of cluster `r` to be brought into the L2, each of its blocks for a share, if there are such.

    Perspective, shapes: as of `map_row`.
    Cost:                an instruction of one thread.
    """
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    with group(block[1]):
        each: int32 @ block[1] = 1 if WIDE else count(thread[1]) >> lanes
        many: int64 @ block[1] = min(rows - r * each, each)
        share: int32 @ block[1] = n // BLOCKS if WIDE else int32(many * stride)
        match split(thread):
            case 1:
                if many > 0:
                    prefetch(x[r * each * stride + b * share], share)
