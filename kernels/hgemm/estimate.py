"""About how long a single product takes by each form: what its parts take, added up, fitted to products of random shapes.

What a block multiplies and reads of shared memory, and what all read of the L2 and of the GPU's memory, runs side by side: the
longest counts, the others by their cubes. The rest comes before and after. What that has wrong, trees of its parts tell
(correction.py), which are fitted to the same times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd, inf, log2

import numpy as np
from numpy.typing import NDArray

from prism.kernels.hgemm.configuration import SPAN, Configuration, Layout
from prism.kernels.hgemm.configurations import FEW, follows_late, rows_in_sectors
from prism.kernels.hgemm.correction import correct

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
STEP = 250  # of a step, at least
INTO = 64  # bytes a clock that reach a multiprocessor's shared memory
PAIR, WAIT = 96.9, 51.2  # of a step: blocks of a cluster wait for each other; no product is left under way
LAUNCH, LATE = 3530, 2440  # before the first product and after the last; more, launched when what is before has ended
STORE, LAST, FILL = 0.0547, 0.0219, 0.395 / 88  # an element of a tile; of the last one; a byte of the first copies
SHARED_STORE, COMBINE, COMBINED = 0.247, 2640, 0.00392  # of an element of a share; to add them up, and a byte of these
MEET, EACH, ADD = 1050, 3.77, 0.403  # blocks with parts of K meet, each more, and an element that they add up
PACK, PACKED = 2600, 1 / 9  # the copy of an operand, and a byte that it reads or writes
CLUSTER, LARGER = 1050, 885  # blocks of a cluster of two begin together; of more
CUBES = 3
NEAR = 1.5  # times the least: what is beyond is not asked for
Many = NDArray[np.float64]
Flags, Whole = NDArray[np.bool_], NDArray[np.int64]
_FIELDS = (
    "bm", "bn", "bk", "stages", "consumers", "cluster_m", "cluster_n", "ahead", "parts", "shares", "packed", "b_columns",
    "span_b",
)  # fmt: skip


class Forms:
    """Forms of products of a layout, and their facts as arrays: what does not depend on a product's extents.

    There are thousands, and one is taken: those that differ in shares and in what is copied first are made when asked for.
    """

    def __init__(self, some: Sequence[Configuration], layout: Layout) -> None:
        self.layout, self._made, self._number = layout, list(some), np.arange(len(some))
        table = np.array([[getattr(one, field) for field in _FIELDS] for one in some], float).T
        self.facts = dict(zip(_FIELDS, table, strict=True))
        self.facts["slab"] = np.array([float(one.slab(2)) if one.parts == 1 else 0.0 for one in some])
        layouts = [one.packed_layout(layout) for one in some]
        across = [one.transposes_out(lying) for one, lying in zip(some, layouts, strict=True)]
        self.trans: Flags = np.array(across)
        self.outside: Flags = np.array([lying[::-1] if trans else lying for lying, trans in zip(layouts, across, strict=True)])

    @property
    def some(self) -> list[Configuration]:
        """All of them."""
        return [self.at(x) for x in range(len(self))]

    def __len__(self) -> int:
        return len(self._number)

    def at(self, x: int) -> Configuration:
        """Return one of them."""
        shares, packed = int(self.facts["shares"][x]), int(self.facts["packed"][x])
        made = self._made[self._number[x]]
        return made if (made.shares, made.packed) == (shares, packed) else replace(made, shares=shares, packed=packed)

    def take(self, chosen: Flags | Whole) -> Forms:
        """Return those of them that are chosen, or that have these numbers."""
        facts = {field: fact[chosen] for field, fact in self.facts.items()}
        return self._with(self._made, self._number[chosen], facts, self.trans[chosen], self.outside[chosen])

    def deal(self, chosen: Flags, shares: Sequence[int]) -> Forms:
        """Return all of them, and those that are chosen with K in each of these shares."""
        (which,) = np.nonzero(chosen)
        found = self.take(np.concatenate([np.arange(len(self)), np.repeat(which, len(shares))]))
        found.facts["shares"][len(self) :] = np.tile(shares, len(which))
        return found

    def pack(self, layout: Layout, packed: int) -> Forms:
        """Return the same for a product of this layout, whose operands lie as here when those of `packed` are copied."""
        facts = {**self.facts, "packed": np.full(len(self), float(packed))}
        found = self._with(self._made, self._number, facts, self.trans, self.outside)
        found.layout = layout
        return found

    def join(self, other: Forms) -> Forms:
        """Return these, and then others, of the same layout."""
        number = np.concatenate([self._number, other._number + len(self._made)])
        facts = {field: np.concatenate([fact, other.facts[field]]) for field, fact in self.facts.items()}
        trans, outside = (np.concatenate([one, two]) for one, two in ((self.trans, other.trans), (self.outside, other.outside)))
        return self._with([*self._made, *other._made], number, facts, trans, outside)

    def _with(self, made: list[Configuration], number: Whole, facts: dict[str, Many], trans: Flags, outside: Flags) -> Forms:
        found = Forms.__new__(Forms)
        found.layout, found._made, found._number, found.facts = self.layout, made, number, facts
        found.trans, found.outside = trans, outside
        return found

    def sizes(self, m: int, n: int) -> tuple[Many, Many]:
        """Return the rows and the columns of a product as each makes it, turned or not."""
        return np.where(self.trans, n, m), np.where(self.trans, m, n)

    def tiles(self, m: int, n: int) -> tuple[Many, Many]:
        """Return how many clusters' tiles a result has, down and across."""
        (rows, columns), facts = self.sizes(m, n), self.facts
        return np.ceil(rows / (facts["bm"] * facts["cluster_m"])), np.ceil(columns / (facts["bn"] * facts["cluster_n"]))

    def at_once(self, processors: int) -> Many:
        """Return how many clusters run at once, of each (resident_clusters)."""
        cluster = self.facts["cluster_m"] * self.facts["cluster_n"] * self.facts["parts"]
        return np.where(cluster <= 2, processors, processors * 10 // 11) // cluster


def estimate(forms: Forms, m: int, n: int, k: int, processors: int) -> Many:
    """Return about how long a single product takes by each of some forms, in clocks; `k` in elements of 16 bits."""
    clocks, facts = count(forms, m, n, k, processors)
    near = clocks <= NEAR * clocks.min(initial=inf)
    clocks[near] *= correct(facts[near])
    clocks[~near] *= NEAR  # whatever trees would say
    return clocks


def count(forms: Forms, m: int, n: int, k: int, processors: int) -> tuple[Many, Many]:
    """Return how long it takes as its parts are counted, in clocks, and what trees are asked of: a row for each form."""
    layout = forms.layout
    bm, bn, bk, stages, consumers, cluster_m, cluster_n, ahead, parts, shares, packed, b_columns, span_b, _ = forms.facts.values()
    cluster = cluster_m * cluster_n * parts
    trans, (a_outside, b_outside) = forms.trans, forms.outside.T
    inside_a, inside_b = _inside(m, n, k, layout, packed, trans)
    rows, across_n = forms.sizes(m, n)

    # tiles, and rounds of them
    columns = np.where(b_outside, b_columns, bn)
    narrow = b_outside & (span_b < SPAN)
    down, across = forms.tiles(m, n)
    deep = np.ceil(k / bk)
    steps = np.ceil(deep / (shares * parts))
    clusters = down * across * np.where(shares > 1, np.ceil(deep / steps), 1)
    at_once = np.maximum(1, forms.at_once(processors))
    rounds = np.ceil(clusters / at_once)
    turns = rounds * steps

    # what runs side by side
    row = 2 * bk
    lines = np.where(columns > bn, columns * (2 - np.gcd((2 * bn).astype(int), SPAN) / SPAN), columns)
    of_a, of_b = bm * row / cluster_n, lines * row / cluster_m  # bytes of a step
    waits_pair = np.where(cluster > parts, PAIR, 0.0) + np.where(ahead == 0, WAIT, 0.0)
    multiply = turns * (np.maximum(MULTIPLY * bm * bn * bk, STEP) + waits_pair)
    shared = turns * SHARED * (bm / 64 * (64 + columns) + bm + columns) * row
    waits = rounds * LATENCY * np.maximum(steps - stages, 0) / stages
    blocks = clusters * cluster * steps
    l2 = L2 * blocks * (of_a + of_b) / processors
    asked = np.where(
        down * cluster_m == 1, _asked(bk, np.minimum(rows, bm), bm, a_outside) / cluster_n, 0.0
    ) + np.where(across * cluster_n == 1, _asked(bk, np.minimum(across_n, columns), columns, b_outside) / cluster_m, 0.0)
    asked *= blocks
    memory = _memory(rows, across_n, bm, bn, m, n, k) / processors
    main = sum(part**CUBES for part in (multiply, shared, waits, l2, asked, memory)) ** (1 / CUBES)

    # what comes before and after
    loads = np.where(inside_a, INSIDE_A, LOAD_A) * of_a
    loads += np.where(narrow, NARROW_SPANS, np.where(inside_b, INSIDE_B, 0.0)) * of_b
    after = FILL * np.minimum(steps, stages) * (of_a + of_b)
    after += _stores(bm * bn, rounds, clusters, cluster, parts, shares, processors)
    half = (cluster * shares == 1) & (2 * clusters > processors) & (2 * clusters <= processors * 7 // 4)
    late = _late(forms, half, rows, across_n, k, processors)
    packs = 4 * k * np.where(packed % 2 == 1, m, 0) + 4 * k * np.where(packed >= 2, n, 0)
    packs = PACK * (packed % 2 + packed // 2) + PACKED * packs / processors
    clocks = LAUNCH + LATE * late + turns * loads + after + main + packs

    facts = [
        *(np.log(part + 100) - np.log(clocks) for part in (multiply, shared, waits, l2, asked, memory, turns * loads, after)),
        clusters / (rounds * at_once), np.log(rounds), rows / (down * bm * cluster_m), across_n / (across * bn * cluster_n),
        late, a_outside, b_outside, inside_a, inside_b, trans, np.full(len(forms), n % 16 > 0), bm, bn, bk, stages, consumers,
        cluster_m, cluster_n, parts, shares, ahead, packed, np.log(rows), np.log(across_n), np.full(len(forms), np.log(k)),
        np.log(down), np.log(across), np.log(clusters * cluster / processors), np.log(steps), np.log(clocks),
        *_begins(m, n, k, layout, packed),
        np.log(turns * (bm + columns) * row / INTO) - np.log(clocks), np.log(stages * (bm + columns) * row), forms.facts["slab"],
        turns / (steps + 1), cluster, m * n / (rounds * at_once * cluster * bm * bn),
    ]  # fmt: skip
    return clocks, np.stack([np.asarray(fact, float) for fact in facts], 1)


def _late(forms: Forms, some: Flags, rows: Many, columns: Many, k: int, processors: int) -> Many:
    """Return 1 for each of `some` forms whose blocks begin late behind another product's, and 0 for all others."""
    late = np.zeros(len(forms))
    for x in np.flatnonzero(some):
        outside = bool(forms.outside[x, 0]), bool(forms.outside[x, 1])
        late[x] = follows_late(forms.at(x), int(rows[x]), int(columns[x]), k, processors, outside)
    return late


def _inside(m: int, n: int, k: int, layout: Layout, packed: Many, trans: Flags) -> tuple[Flags, Flags]:
    """Return whether rows of each operand of a kernel begin inside of sectors: they do not where they are packed."""
    inside_a, inside_b = rows_in_sectors(m, n, k, layout)
    first, second = inside_a & (packed % 2 == 0), inside_b & (packed < 2)
    return np.where(trans, second, first), np.where(trans, first, second)


def _begins(m: int, n: int, k: int, layout: Layout, packed: Many) -> Iterator[Many]:
    """Yield of which power of two bytes, to a line's, rows of each operand begin at multiples: of `a` and `b` as they are given.

    Packed ones begin with lines.
    """
    for inner, copied in ((m if layout[0] else k, packed % 2 == 1), (n if layout[1] else k, packed >= 2)):
        yield np.where(copied, log2(SPAN), log2(gcd(2 * inner, SPAN)))


def _memory(rows: Many, across_n: Many, bm: Many, bn: Many, m: int, n: int, k: int) -> Many:
    """Return the clocks of one multiprocessor for what memory brings and takes, by results of `rows` by `across_n`."""
    short = np.where(np.minimum(rows, across_n) == rows, rows, across_n)
    extent = np.where(rows < across_n, bm, np.where(rows > across_n, bn, np.minimum(bm, bn)))
    again = np.where(short <= FEW, AGAIN * (np.ceil(short / extent) - 1), 0.0)
    found: Many = (READ + again) * 2 * k * (m + n)
    found += 2 * m * n * ((INSIDE_OUT if n % 16 else 0.0) + WRITE + np.where(bn % (SPAN // 2) > 0, NARROW_OUT, 0.0))
    return found


def _stores(
    area: Many, rounds: Many, clusters: Many, cluster: Many, parts: Many, shares: Many, processors: int
) -> Many:
    """Return the clocks of the sums' way out of tiles of an area: rounded, combined from shares, or added up from parts."""
    whole = (STORE * rounds + LAST) * area + np.where(cluster == 2, CLUSTER, np.where(cluster > 2, LARGER, 0))
    in_shares = SHARED_STORE * rounds * area + COMBINE + COMBINED * 4 * clusters * area / processors
    in_parts = rounds * (MEET + EACH * parts + ADD * area)
    return np.where(shares > 1, in_shares, np.where(parts > 1, in_parts, whole))


def _asked(bk: Many, there: Many, tile: Many, outside: NDArray[np.bool_]) -> Many:
    """Return the clocks of what a block asks for in a step that all ask for: of an operand of one tile."""
    half = SPAN // 2  # elements of a line
    along = (LINE * there + NO_LINE * (tile - there)) * bk / half
    lines = np.ceil(there / half)
    part = np.where(there < half, PART_OF_LINE - LINE, 0.0)
    return np.where(outside, bk * (LINE * lines + NO_LINE * np.maximum(0, np.ceil(tile / half) - lines) + part), along)
