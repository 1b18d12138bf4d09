"""Rows that are cut into parts, each a block's, in its shared memory; blocks tell each other what theirs come to."""

from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector, mailbox,
    partition, prefetch, prism, ptr, publish, requires, shared, split, template, thread, uint32, uint64, vector, warp,
)
from prism.kernels.rows.agree import agree


@prism("device")
@requires(thread[1])
@template(P=dtype)
def latter(a: P @ thread[1], b: P @ thread[1]) -> P @ thread[1]:
    """The second of two: of one total that is received, beside nothing."""
    return b


@prism("device")
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    INPUTS=constexpr(int), KEPT=constexpr(int), ROOM=constexpr(int), READ=function, FIRST=function, OP=function, SECOND=function,
    OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block[1], thread[32])
def map_parts(
    x: ptr(const(TI)) @ grid[1], z: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], z_stride: int64 @ grid[1],
    words: ptr(mailbox(P)) @ grid[1], control: ptr(uint64) @ grid[1], capacity: uint32 @ grid[1], parts: int32 @ grid[1],
    blocks: int32 @ grid[1], ahead: int32 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do for rows of `n` elements what `map_row` does: a block has one of a row's `parts` at a time, and draws another one.

    A block tells what its part comes to, and waits for the row's other parts, which are other blocks': parts are drawn in order,
    and a block draws its next one when it waits for nobody.

    Perspective: block, of `blocks`, at least `parts`, of any number of warps.
    Shapes:      as of `map_row`, where it is `ONCE`, but that vectors are copied past the registers, from rows of `x` that are
                 `stride` elements apart, and, of two `INPUTS`, of `z`. `ROOM`: a part's elements at most, `ITEMS` a thread.
                 `parts`: at most 32. `words`: `capacity`, at least `parts * rows`. `control`: as of `grid.tiles`. `ahead`: so
                 many parts later is the one that a block asks for.
    Errors:      fewer blocks that run at once than a row has parts wait for ever, which the reference machine reports.
    Cost:        of a part a round trip through the L2, which other blocks of the multiprocessor fill, and three barriers.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    tile: shared(TI[INPUTS * ROOM])
    t: int32 @ thread[1] = id()
    team: int32 @ block[1] = count(thread[1])
    many: int32 @ block[1] = n / WIDTH
    pieces: int32 @ block[1] = int32(rows) * parts
    own_ticket: grid.Ticket @ block[1] = grid.tiles(control)
    piece: int32 @ block[1] = own_ticket.tile
    row: int64 @ block[1] = 0
    part: int32 @ thread[1] = 0  # the thread's first vector
    a: S @ thread[1] = identity
    b: S2 @ thread[1] = identity2

    @requires(thread[1])
    def fetch(here: ptr(const(TI)) @ thread[1], j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
        found: TI[INPUTS * WIDTH]
        for p in range(INPUTS):
            word: vector(TI, WIDTH) = load_vector(here[p * ROOM + j * team * WIDTH], WIDTH)
            for k in range(WIDTH):
                found[p * WIDTH + k] = word[k]
        READ(row, (part + j * team) * WIDTH, found, values)

    while piece < pieces:
        row = piece / parts
        first: int32 @ block[1] = piece / parts * parts  # of the row's pieces
        part = (piece - first) * (VECTORS * team) + t
        with partition(tile, thread[1], t * WIDTH) as slot, async_(slot) as coming, group(thread[1]):
            for j in range(VECTORS):
                if part + j * team < many:
                    cp_async(coming[j * team * WIDTH], x[row * stride + (part + j * team) * WIDTH], WIDTH * TI.bytes)
                    if INPUTS == 2:
                        cp_async(coming[ROOM + j * team * WIDTH], z[row * z_stride + (part + j * team) * WIDTH], WIDTH * TI.bytes)
        match split(thread):
            case 1:
                later: int32 = piece + ahead
                if ahead > 0 and later < pieces:
                    column: int32 = later % parts * (VECTORS * team * WIDTH)
                    prefetch(x[int64(later / parts) * stride + column], min(VECTORS * team * WIDTH, n - column))
        a = identity
        b = identity2
        with partition(tile, thread[1], t * WIDTH) as here, group(thread[1]):
            for j in range(VECTORS):
                if part + j * team < many:
                    values: A[KEPT * WIDTH]
                    fetch(here, j, values)
                    own: S = FIRST((part + j * team) * WIDTH, values)
                    a = OP(a, own)
        a = agree(a, identity, 5, True, OP=OP, BLOCKS=1, NEAR=True)
        if STAGES == 2:
            with partition(tile, thread[1], t * WIDTH) as here, group(thread[1]):
                for j in range(VECTORS):
                    if part + j * team < many:
                        values: A[KEPT * WIDTH]
                        fetch(here, j, values)
                        own: S2 = SECOND((part + j * team) * WIDTH, values, a)
                        b = OP2(b, own)
            b = agree(b, identity2, 5, True, OP=OP2, BLOCKS=1, NEAR=True)
        none: P @ block[1] = PACK(identity, identity2)
        found: P[1] @ thread[1]
        total: P @ thread[1] = PACK(a, b)
        block.gather_warps(total, none, found, BLOCKS=1)
        match split(warp):
            case 1:
                total = JOIN(found)
                if parts > 1:
                    with group(thread[1]):
                        if t == 0:
                            publish(words[piece], total, own_ticket.epoch)
                        found[0] = grid.receive_totals(
                            words, first + t, 32, 1 if t < parts else 0, 1, none, own_ticket.epoch, OP=latter, WORDS=1,
                        )
                    total = JOIN(found)
        whole: P @ block[1] = block.broadcast(total, 0)
        ticket: uint64 @ thread[1] = grid.draw(control)  # now, that it waits for nobody: the row's other parts are other blocks'
        c: A @ thread[1] = LAST(a, whole)
        with partition(tile, thread[1], t * WIDTH) as here, group(thread[1]):
            for j in range(VECTORS):
                if part + j * team < many:
                    values: A[KEPT * WIDTH]
                    fetch(here, j, values)
                    if STAGES == 2:
                        again: S2 = SECOND((part + j * team) * WIDTH, values, a)  # for what it makes of the values
                    STORE(j, row, (part + j * team) * WIDTH, values, whole, c)
        piece = grid.next_tile(ticket)
    if piece == pieces + blocks - 1:
        grid.count_launch(control, words, capacity, pieces, own_ticket.epoch, PACK(identity, identity2))
