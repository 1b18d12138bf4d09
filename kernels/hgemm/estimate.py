"""About how long a single product takes by each form: what its parts take, added up, fitted to products of random shapes.

What a block multiplies and reads of shared memory, and what all read of the L2 and of the GPU's memory, runs side by side: the
longest counts, the others by their cubes. The rest comes before and after. Of 4795 times that were measured at 278 shapes, in all
layouts, some of 8-bit floats, the standard error is 13 % (docs/hgemm.md).
"""

from __future__ import annotations

from math import ceil, gcd

from prism.kernels.hgemm.configuration import SPAN, Configuration, Layout
from prism.kernels.hgemm.configurations import FEW, follows_late, resident_clusters, rows_in_sectors

# In clocks of 1980 MHz. Bytes a clock are of each multiprocessor, while all ask.
MULTIPLY = 0.955 / 2048  # of a multiply-add
SHARED = 0.247 / 128  # of a byte that wgmma reads of shared memory, or a copy writes there
L2 = 1.73 / 88  # of a byte of an operand that a block asks for, and of those whose rows begin inside sectors more
LOAD_A, INSIDE_A, INSIDE_B, NARROW_SPANS = 0.425 / 88, 1.21 / 88, 0.849 / 88, 1.06 / 88
READ, WRITE = 1.1 / 17.5, 0.874 / 17.5  # of a byte of operands, and of the result, of the GPU's memory
AGAIN = 0.183 / 17.5  # more, for each further tile of a narrow result, which reads all of the wide operand again
INSIDE_OUT, NARROW_OUT = 0.807 / 17.5, 0.582 / 17.5  # more: rows begin inside sectors, or slabs are no whole lines
LINE, PART_OF_LINE, NO_LINE = 0.00802, 0.107, 0.065  # of 128 bytes that all blocks ask for: of the same places, while they wait
LATENCY = 1960  # of a step that is asked for when its copy is free, by the number of copies
PAIR, WAIT = 96.9, 51.2  # of a step: blocks of a cluster wait for each other; no product is left under way
LAUNCH, LATE = 3530, 2440  # before the first product and after the last; more, launched when what is before has ended
STORE, LAST, FILL = 0.0547, 0.0219, 0.395 / 88  # an element of a tile; of the last one; a byte of the first copies
SHARED_STORE, COMBINE, COMBINED = 0.247, 2640, 0.00392  # of an element of a share; to add them up, and a byte of these
MEET, EACH, ADD = 1050, 3.77, 0.403  # blocks with parts of K meet, each more, and an element that they add up
CLUSTER, LARGER = 1050, 885  # blocks of a cluster of two begin together; of more
CUBES = 3

# What the model has wrong of a tile by more than 1.5 %; `t`: it is trans.
FACTORS = {
    "128x192x64": 0.972, "128x128x64 c2x1": 0.983, "128x128x64 c1x2": 1.02, "128x96x64 c1x2": 1.021, "256x192x64": 1.025,
    "128x64x64": 0.977, "128x192x64 c2x1": 1.02, "64x192x64 t": 0.959, "128x256x64": 0.982, "64x160x64 t": 0.96,
    "192x96x64": 0.975, "128x160x64": 1.035, "64x112x64 t": 0.957, "64x64x128 c1x2": 1.047, "192x192x64 c2x1 t": 0.983,
    "128x48x64": 0.984, "64x96x64 t": 0.969, "64x80x64 t": 0.977, "128x160x64 t": 0.98, "192x144x64 t": 0.971,
    "128x96x64 c1x2 t": 0.978, "128x96x64 t": 0.961, "256x160x64": 0.98, "256x168x64": 1.031, "192x96x64 t": 0.961,
    "64x224x64 t": 0.979, "128x128x64 p2": 1.053, "256x200x64": 1.034, "64x32x128": 1.015, "64x64x128 p3": 1.031,
    "64x72x64": 1.061, "64x32x128 p4 t": 1.045, "128x64x64 p8": 1.02, "64x96x64 p8 t": 1.032, "64x8x128 p8 t": 1.015,
    "64x32x128 p8 t": 1.024, "64x32x128 p2 t": 1.064, "128x8x128 t": 0.964, "128x112x64 p2": 1.03, "128x128x64 c4x1": 1.045,
    "64x128x64 c1x4": 1.027, "128x192x64 k": 0.982, "64x128x64 c4x1": 1.031, "64x128x64 c1x8": 0.983, "64x192x64 c1x4": 0.978,
    "64x8x128 c2x1 t": 0.962,
}  # fmt: skip


def estimate(found: Configuration, m: int, n: int, k: int, processors: int, layout: Layout) -> float:
    """Return about how long a single product takes, in clocks; `k` in elements of 16 bits."""
    memory = INSIDE_OUT if n % 16 else 0.0  # of a byte of the result
    memory = 2 * m * n * (memory + WRITE + (NARROW_OUT if found.bn % (SPAN // 2) else 0.0)) / processors
    trans = found.transposes_out(layout)
    factor = FACTORS.get(_form(found, trans), 1.0)
    if trans:
        m, n, layout = n, m, layout[::-1]
    memory += _operands(found, m, n, k) / processors
    late = follows_late(found, m, n, k, processors, layout)
    down, across = found.tiles(m, n)
    steps = ceil(ceil(k / found.bk) / (found.shares * found.parts))
    shares = ceil(ceil(k / found.bk) / steps) if found.shares > 1 else 1
    clusters = down * across * shares
    rounds = ceil(clusters / resident_clusters(found, processors))
    area, row = found.bm * found.bn, 2 * found.bk
    columns = found.b_columns if layout[1] else found.bn
    lines = columns * (2 - gcd(2 * found.bn, SPAN) / SPAN) if columns > found.bn else columns
    of_a, of_b = found.bm * row / found.cluster_n, lines * row / found.cluster_m  # bytes of a step

    multiply = MULTIPLY * area * found.bk + (PAIR if found.cluster > found.parts else 0) + (0 if found.ahead else WAIT)
    shared = SHARED * (found.bm / 64 * (64 + columns) + found.bm + columns) * row
    waits = LATENCY * max(steps - found.stages, 0) / found.stages
    busy = (rounds * steps * multiply, rounds * steps * shared, rounds * waits)
    l2 = L2 * clusters * found.cluster * steps * (of_a + of_b) / processors
    lines_asked = _lines(found, m, n, layout, columns) * clusters * found.cluster * steps
    main = sum(each**CUBES for each in (*busy, l2, lines_asked, memory)) ** (1 / CUBES)

    inside_a, inside_b = rows_in_sectors(m, n, k, layout)
    narrow = layout[1] and found.span_b < SPAN
    loads = (INSIDE_A if inside_a else LOAD_A) * of_a
    loads += (INSIDE_B if inside_b and not narrow else NARROW_SPANS if narrow else 0) * of_b
    after = FILL * min(steps, found.stages) * (of_a + of_b)
    if found.shares > 1:
        after += SHARED_STORE * rounds * area + COMBINE + COMBINED * 4 * clusters * area / processors
    elif found.parts > 1:
        after += rounds * (MEET + EACH * found.parts + ADD * area)
    else:
        after += (STORE * rounds + LAST) * area
        after += CLUSTER if found.cluster == 2 else LARGER if found.cluster > 2 else 0
    return factor * (LAUNCH + (LATE if late else 0) + rounds * steps * loads + after + main)


def _form(found: Configuration, trans: bool) -> str:
    """Return what `FACTORS` has for a tile."""
    name = f"{found.bm}x{found.bn}x{found.bk}"
    name += f" c{found.cluster_m}x{found.cluster_n}" if found.cluster > found.parts else ""
    name += f" p{found.parts}" if found.parts > 1 else " k" if found.shares > 1 else ""
    return name + (" t" if trans else "")


def _operands(found: Configuration, m: int, n: int, k: int) -> float:
    """Return the clocks that the GPU's memory takes for operands, times the multiprocessors."""
    short, extent = min((m, found.bm), (n, found.bn))
    again = AGAIN * (ceil(short / extent) - 1) if short <= FEW else 0.0
    return (READ + again) * 2 * k * (m + n)


def _lines(found: Configuration, m: int, n: int, layout: Layout, columns: int) -> float:
    """Return the clocks of what a block of a step asks for that all ask for: of an operand of one tile."""
    down, across = found.tiles(m, n)
    asked = 0.0
    if down * found.cluster_m == 1:
        asked += _asked(found.bk, min(m, found.bm), found.bm, layout[0]) / found.cluster_n
    if across * found.cluster_n == 1:
        asked += _asked(found.bk, min(n, columns), columns, layout[1]) / found.cluster_m
    return asked


def _asked(bk: int, there: int, tile: int, outside: bool) -> float:
    half = SPAN // 2  # elements of a line
    if not outside:
        return (LINE * there + NO_LINE * (tile - there)) * bk / half
    lines = ceil(there / half)
    part = PART_OF_LINE - LINE if there < half else 0.0
    return bk * (LINE * lines + NO_LINE * max(0, ceil(tile / half) - lines) + part)
