"""Flights: rings that wgmmas read while the next are filled, by `tma_load`, gathered by `cp_async`, or by plain stores.

A program has one to three rings, each with its number of copies, `in_flight` of readers and of gathered fills, and its
accumulator; a copy that the consumers hold over the loop, or none; trips in which a ring is not visited, at the
loop's start or end, so that it is split; uses of an accumulator in each trip, in some, or in none. Each waits, arrives and
fences as the compiler infers it: early, late or behind the loop. The oracle multiplies one tile after the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edges_verify import Edge

SAMPLE = 10
TILES = 40
"""Tiles of 64 rows that there are to be read."""


@dataclass
class Ring:
    """A ring of tiles; in trip j of tile i it gets the one of number `step * j + shift * i + first`."""

    name: str
    copies: int
    late: int
    fill: str
    behind: int
    sums: int
    anew: bool
    when: str
    step: int
    first: int

    def number(self) -> str:
        return f"({self.step} * j + {self.first} * i + {self.first}) % {TILES}"

    def tile(self, i: int, j: int) -> int:
        return (self.step * j + self.first * i + self.first) % TILES

    def is_visited(self, j: int, n: int) -> bool:
        return {"": True, "j > 0": j > 0, "j + 1 < n": j + 1 < n}[self.when]


@dataclass
class Use:
    """What a trip does with an accumulator: all its elements are added to a sum, and those are doubled or cleared."""

    sums: int
    when: str
    then: str

    def is_made(self, j: int) -> bool:
        return {"": True, "j % 2 == 0": j % 2 == 0, "j > 1": j > 1}[self.when]


class Flights:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.accumulators = pick((1, 1, 2, 2))
        self.rings = [self.ring(f"r{k}") for k in range(pick((1, 2, 2, 3)))]
        self.held = self.ring("held") if pick((0, 1)) else None
        used = self.random.sample(range(self.accumulators), self.random.randint(0, self.accumulators))
        self.uses = [Use(k, pick(("", "", "j % 2 == 0", "j > 1")), pick(("", "*= 2.0", "= 0.0"))) for k in used]
        self.trips, self.tiles = pick((0, 1, 2, 3, 5)), pick((1, 1, 2, 3))

    def ring(self, name: str) -> Ring:
        pick = self.random.choice
        copies, fill = pick((1, 2, 2, 3, 4)), pick(("load", "load", "gather", "store"))
        late = self.random.randint(0, min(copies - 1, 2))
        behind = self.random.randint(0, min(copies - 1, 2)) if fill == "gather" else 0
        when = pick(("", "", "", "j > 0", "j + 1 < n")) if name != "held" else ""
        step, first = self.random.randint(1, 5), self.random.randint(0, 9)
        return Ring(
            name, copies, late, fill, behind, pick(range(self.accumulators)), pick((False, True)), when, step, first
        )

    # -- text ---------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        rings = [*self.rings, *([self.held] if self.held else [])]
        lines = [
            "other: shared(half[16, 16], swizzle=32)",
            *(f"{r.name}: shared(half[64, 16], ring={r.copies}, swizzle=32)" for r in rings),
            "consumers, producers = roles(warpgroup, 1, 1)",
            *(f"sums{k}: fragment(float32, 64, 16) @ warpgroup[1] = 0" for k in range(self.accumulators)),
            "t: int32 @ thread[1] = id()",
            "total: float32 @ thread[1] = 0",
            "with partition(other, thread[1], lambda e: (t // 16, t % 16)) as mine, group(thread[1]):",
            "    mine[0] = half(t % 3 - 1)",
            f"for i in range({self.tiles}):",
            *indent(list(self.tile())),
            "with partition(y, thread[1], t) as mine, consumers, group(thread[1]):",
            *(f"    for e in range(count(sums{k})):\n        total += sums{k}[e]" for k in range(self.accumulators)),
            "    mine[0] = total",
        ]
        body = "\n".join(indent(indent(lines))).replace("\n        total += sums", "\n                total += sums")
        return (
            '@prism("global")\n@attr("__launch_bounds__(256, 1)")\n@requires(grid[1], block[1], warpgroup[2])\n'
            "def kernel(y0: ptr(float32) @ grid[1], a: const(CUtensorMap(half, 64, 16, swizzle=32)) @ grid[1],\n"
            "           x: ptr(const(half)) @ grid[1], n: int32 @ grid[1]):\n"
            "    with partition(y0, block[1]) as y, group(block[1]):\n" + body + "\n"
        )

    def tile(self) -> Iterator[str]:
        """Yield the lines of a trip of the outer loop."""
        inner = ["for j in range(0, n):", *indent(list(self.trip()))]
        if self.held is None:
            yield from inner
            return
        yield from self.filled(self.held, "0 * i")
        late = f", in_flight={self.held.late}" if self.held.late else ""
        yield f"with claim(held, consumers{late}) as held_now:"
        yield from indent(inner)

    def trip(self) -> Iterator[str]:
        for ring in self.rings:
            yield from self.filled(ring, "j")
        for ring in self.rings:
            yield from self.read(ring)
        if self.held is not None:
            yield "with consumers, group(warpgroup[1]):"
            yield f"    wgmma(sums{self.held.sums}, held_now, other)"
        for use in self.uses:
            lines = [f"for e in range(count(sums{use.sums})):", f"    total += sums{use.sums}[e]"]
            lines += [f"    sums{use.sums}[e] {use.then}"] if use.then else []
            inner = ["with group(thread[1]):", *indent(lines)]
            yield from ["with consumers:", *indent([f"if {use.when}:", *indent(inner)] if use.when else inner)]

    def filled(self, ring: Ring, index: str) -> Iterator[str]:
        """Yield the lines that fill a ring's copy; in `index` stands for the trip."""
        number = ring.number().replace("j", f"({index})" if index != "j" else "j")
        late = f", in_flight={ring.behind}" if ring.behind else ""
        if ring.fill == "load":
            lines = [f"with claim({ring.name}, producers) as own, one(thread):"]
            body = [f"tma_load(own, a[64 * ({number}), 0])"]
        else:
            lines = [f"with claim({ring.name}, producers{late}) as own:"]
            rows = f"(64 * ({number}) + u // 2) * 16 + u % 2 * 8"
            part = "partition(own, thread[1], lambda e: (u // 2, u % 2 * 8 + e)) as mine"
            if ring.fill == "gather":
                body = [
                    f"with {part}, async_(mine) as coming, group(thread[1]):",
                    f"    cp_async(coming[0], x[{rows}], 16)",
                ]
            else:
                body = [f"with {part}, group(thread[1]):", "    for e in range(8):", f"        mine[e] = x[{rows} + e]"]
            body = ["u: int32 @ thread[1] = id()", *body]
        inner = [*lines, *indent(body)]
        yield from [f"if {ring.when}:", *indent(inner)] if ring.when else inner

    def read(self, ring: Ring) -> Iterator[str]:
        late = f", in_flight={ring.late}" if ring.late else ""
        clear = ", accumulate=False" if ring.anew else ""
        inner = [
            f"with claim({ring.name}, consumers{late}) as now, group(warpgroup[1]):",
            f"    wgmma(sums{ring.sums}, now, other{clear})",
        ]
        yield from [f"if {ring.when}:", *indent(inner)] if ring.when else inner

    # -- oracle -------------------------------------------------------------------------------------------------------

    def expected(self, a: Any) -> Any:
        t = np.arange(256)
        other = (t % 3 - 1).reshape(16, 16).astype(np.float64)
        products = [np.float64(a[64 * k : 64 * k + 64]) @ other.T for k in range(TILES)]
        sums = [np.zeros((64, 16)) for _ in range(self.accumulators)]
        total = np.zeros((64, 16))
        for i in range(self.tiles):
            for j in range(self.trips):
                for ring in self.rings:
                    if ring.is_visited(j, self.trips):
                        before = 0 if ring.anew else sums[ring.sums]
                        sums[ring.sums] = before + products[ring.tile(i, j)]
                if self.held is not None:
                    sums[self.held.sums] = sums[self.held.sums] + products[self.held.tile(i, 0)]
                for use in self.uses:
                    if use.is_made(j):
                        total = total + sums[use.sums]
                        sums[use.sums] = {"": 1, "*= 2.0": 2, "= 0.0": 0}[use.then] * sums[use.sums]
        whole = total + sum(sums)
        found = np.zeros(256, np.float32)
        for thread in range(128):
            row = thread // 32 * 16 + thread % 32 // 4
            columns = [8 * k + thread % 4 * 2 + e for k in (0, 1) for e in (0, 1)]
            found[thread] = whole[row][columns].sum() + whole[row + 8][columns].sum()
        return found

    def program(self) -> Edge:
        """The whole of it. What is refused with cause is written too: fills told of late where something holds them back."""
        a = np.random.default_rng(self.random.getrandbits(30)).integers(-2, 3, (64 * TILES, 16)).astype(np.float16)

        def inputs() -> list[Any]:
            return [np.zeros(256, np.float32), a.copy(), a.ravel().copy(), np.int32(self.trips)]

        doubtful = any(ring.behind for ring in (*self.rings, *([self.held] if self.held else [])))
        return Edge(self.text(), 1, 256, inputs, expected=[self.expected(a)], legal=None if doubtful else True)


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Flights(seed).program()
