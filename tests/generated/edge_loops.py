"""Loops in loops, `while` around `for` and the other way: tiles, copies and rings whose parts depend on some of them, or on none.

Parts are apart in the trips of one loop and meet in those of another, by an index that the prover reads or by one that it does
not (a counter, a number from memory). Rings are filled by stores or by `cp_async`, and used by the same threads, or by roles of
which some make nothing but atomic accesses. A model in NumPy runs the statements in the order of the text, all threads of the
block at once: every program is legal, though of some parts nothing is proved.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edges_verify import Edge

THREADS, PLACES = 64, 4
"""Threads of the block; a tile has so many elements for each."""
PRIME = 1021
"""Values are kept below it, so that nothing overflows."""
TRIPS = (1, 1, 2, 2, 3, 4)

Values = dict[str, Any]
"""What names stand for in the model: numbers, of threads arrays, and tiles."""


@dataclass(frozen=True)
class Do:
    """Some lines, and what they do."""

    lines: list[str]
    run: Callable[[Values], None]


@dataclass(frozen=True)
class Loop:
    """A loop that makes so many trips; `head` and `tail` are lines before it, and at the end of its body."""

    index: str
    trips: int
    lines: list[str]
    tail: list[str]
    body: list[Node]


Node = Do | Loop


def written(body: list[Node]) -> Iterator[str]:
    """Yield the lines of statements."""
    for node in body:
        if isinstance(node, Do):
            yield from node.lines
        else:
            yield from node.lines
            yield from indent([*written(node.body), *node.tail])


def execute(body: list[Node], values: Values) -> None:
    """Do what statements do."""
    for node in body:
        if isinstance(node, Do):
            node.run(values)
            continue
        for trip in range(node.trips):
            values[node.index] = trip
            execute(node.body, values)


def number(text: str, values: Values) -> Any:
    """Return what an expression is: Python and C agree on it, for numbers that are not negative."""
    return eval(text, {}, values)


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.before: list[str] = []
        self.tiles: list[str] = []
        self.rings: list[str] = []
        self.given = self.random.sample(TRIPS, 2)
        """What the arguments `n` and `m` are."""
        self.asynchronous = self.random.random() < 0.5

    # -- loops ------------------------------------------------------------------------------------------------------------

    def nest(self, depth: int, outer: tuple[str, ...], inner: Callable[[tuple[str, ...]], list[Node]]) -> list[Node]:
        """Loops in one another, with `inner` in the innermost one, and perhaps something between them."""
        if not depth:
            return inner(outer)
        name = f"i{len(outer)}"
        indices = (*outer, name)
        trips, stop = self.stop()
        body = self.nest(depth - 1, indices, inner)
        beside = [self.tile_access(indices) for _ in range(self.random.choice((0, 0, 0, 0, 1))) if self.tiles]
        body = [*beside, *body] if self.random.random() < 0.5 else [*body, *beside]
        if self.random.random() < (0.6 if depth > 1 else 0.8):
            return [Loop(name, trips, [f"for {name} in range({stop}):"], [], body)]
        self.before.append(f"{name}: int32 @ block[1] = 0")
        start = Do([f"{name} = 0"], lambda values: values.update({name: 0}))
        return [start, Loop(name, trips, [f"while {name} < {stop}:"], [f"{name} += 1"], body)]

    def stop(self) -> tuple[int, str]:
        """How many trips, and what says so."""
        if self.random.random() < 0.5:
            at = self.random.randrange(2)
            return self.given[at], "nm"[at]
        trips = self.random.choice(TRIPS)
        return trips, str(trips)

    # -- places -----------------------------------------------------------------------------------------------------------

    def place(self, indices: tuple[str, ...], high: str | None = None) -> str:
        """An element for each thread, no two the same: in one of the tile's parts, by some loop's index or by none."""
        low = self.random.choice(
            ("t", "t", "(t ^ ({} & 63))", "(t ^ {})", "(t + {}) % 64", "(63 - t)", "(t ^ x[{}] % 64)")
        )
        index = indices[-1] if self.random.random() < 0.5 else self.random.choice(indices)
        return f"{self.high(indices) if high is None else high}{low.format(index)}"

    def high(self, indices: tuple[str, ...]) -> str:
        """The part of a tile, in front of the element."""
        form = self.random.choice(
            ("", "64 * {} + ", "64 * {} + ", "64 * (3 - {}) + ", "64 * ({} & 1) + ", "64 * (x[{}] % 4) + ")
        )
        return form.format(indices[0] if self.random.random() < 0.5 else self.random.choice(indices))

    def value(self, indices: tuple[str, ...]) -> str:
        """What a thread stores."""
        return (
            f"(t * {self.random.randint(1, 9)} + "
            + " * 5 + ".join(indices)
            + f" + {self.random.randint(0, 9)}) % {PRIME}"
        )

    def take(self, indices: tuple[str, ...], element: str) -> str:
        return f"total = (total * 3 + {element} + {indices[-1]}) % {PRIME}"

    # -- tiles ------------------------------------------------------------------------------------------------------------

    def tile_access(self, indices: tuple[str, ...]) -> Do:
        """Threads write their parts of a tile, or one thread does; or all read one, whoever wrote it."""
        kind = self.random.choice(("part", "one", "copy", "read", "read", "read"))
        if kind == "read":
            mine, place = f"64 * ({indices[-1]} & 3) + 5", self.place(indices)
            return self.read(indices, self.random.choice((indices[-1], self.random.choice(indices), mine, place)))
        if kind == "one":
            at = self.random.choice((*indices, indices[-1], f"{indices[0]} + 4 * {indices[-1]}"))
            return self.write_one(indices, at)
        return self.write(indices, self.place(indices), kind == "copy" and self.asynchronous)

    def read(self, indices: tuple[str, ...], at: str) -> Do:
        """All threads read an element of a tile, each its own or all one."""
        tile = self.random.choice(self.tiles)

        def run(values: Values) -> None:
            found = values[tile][number(at, values)]
            values["total"] = (values["total"] * 3 + found + values[indices[-1]]) % PRIME

        return Do(["with group(thread[1]):", f"    {self.take(indices, f'{tile}[{at}]')}"], run)

    def write_one(self, indices: tuple[str, ...], at: str) -> Do:
        """One thread writes an element."""
        tile, text = self.random.choice(self.tiles), f"{self.random.choice(indices)} + 1"
        lines = [f"with claim({tile}, thread[1]) as own, one(thread):", f"    own[{at}] = {text}"]
        return Do(lines, lambda values: self.store(values, tile, at, text))

    def write(self, indices: tuple[str, ...], at: str, copied: bool) -> Do:
        """Each thread writes an element, or has it copied."""
        tile = self.random.choice(self.tiles)
        if copied:
            source = f"(t + 3 * {indices[-1]})"
            lines = [f"with async_({tile}) as own, partition(own, thread[1], {at}) as mine, group(thread[1]):"]
            lines += [f"    cp_async(mine[0], x[{source}], bytes=4)"]
            return Do(lines, lambda values: self.store(values, tile, at, f"x[{source}]"))
        text = self.value(indices)
        lines = [f"with partition({tile}, thread[1], {at}) as mine, group(thread[1]):", f"    mine[0] = {text}"]
        return Do(lines, lambda values: self.store(values, tile, at, text))

    @staticmethod
    def store(values: Values, tile: str, at: str, text: str) -> None:
        values[tile][number(at, values)] = number(text, values)

    def some(self, indices: tuple[str, ...]) -> list[Node]:
        """What a trip of the innermost loop does with tiles: often it only writes one place, and reads it."""
        if self.random.random() < 0.4:
            if self.random.random() < 0.5:
                return [self.write_one(indices, indices[-1]), self.read(indices, indices[-1])]
            at = self.place(indices)
            return [self.write(indices, at, self.asynchronous), self.read(indices, at)]
        return [self.tile_access(indices) for _ in range(self.random.choice((1, 2, 2, 3)))]

    # -- rings ------------------------------------------------------------------------------------------------------------

    def ring_by_all(self, indices: tuple[str, ...]) -> list[Node]:
        """All threads fill a ring's copy and use it: each the part that it filled, or another's."""
        ring = f"r{len(self.rings)}"
        self.rings.append(ring)
        self.before.append(f"{ring}: shared(int32[{THREADS * PLACES}], ring={self.random.choice((1, 2, 2, 3, 4))})")
        high = self.high(indices)
        at, source = self.place(indices, high), f"(t + {self.random.choice(indices)})"
        there = at if self.random.random() < 0.7 else self.place(indices, high)
        fill = f"cp_async(c[0], x[{source}], bytes=4)" if self.random.random() < 0.6 else f"c[0] = x[{source}]"
        head = "with partition({}, thread[1], {}) as c, group(thread[1]):"
        found: list[Node] = [
            Do([head.format(ring, at), f"    {fill}"], lambda values: self.store(values, ring, at, f"x[{source}]"))
        ]
        if self.random.random() < 0.2:
            more = self.place(indices, high)
            found.append(
                Do(
                    [head.format(ring, more), "    c[0] = c[0] + 1"],
                    lambda values: self.store(values, ring, more, f"{ring}[{more}] + 1"),
                )
            )

        def use(values: Values) -> None:
            values["total"] = (values["total"] * 3 + values[ring][number(there, values)] + values[indices[-1]]) % PRIME

        found.append(Do([head.format(ring, there), f"    {self.take(indices, 'c[0]')}"], use))
        return found

    def ring_by_roles(self, indices: tuple[str, ...]) -> list[Node]:
        """Two roles fill a copy, add to its elements, or read it, in some order."""
        ring = f"r{len(self.rings)}"
        self.rings.append(ring)
        self.before.append(f"{ring}: shared(int32[{THREADS}], ring={self.random.choice((1, 2, 2, 3, 4))})")
        found: list[Node] = [self.role_fill(ring, indices)]
        kinds = self.random.choices(
            (self.role_add, self.role_read, self.role_fill), (6, 3, 1), k=self.random.randint(1, 4)
        )
        return [*found, *(kind(ring, indices) for kind in kinds), self.role_read(ring, indices)]

    def role(self) -> tuple[str, slice]:
        at = self.random.randrange(2)
        return "ab"[at], slice(32 * at, 32 * at + 32)

    def role_fill(self, ring: str, indices: tuple[str, ...]) -> Do:
        (name, _), text = self.role(), f"{self.random.choice(indices)} + {self.random.randint(0, 9)}"
        lines = [f"with claim({ring}, {name}) as c, partition(c, thread[1], u) as mine, group(thread[1]):"]
        lines += [f"    mine[0] = {text}", f"    mine[32] = {text}"]

        def run(values: Values) -> None:
            values[ring][:THREADS] = number(text, values)

        return Do(lines, run)

    def role_add(self, ring: str, indices: tuple[str, ...]) -> Do:
        (name, own), at = (
            self.role(),
            self.random.choice(("u", "(u ^ 5)", "63 - u", "(u ^ {} % 4)", "32 + (u ^ {} % 2)", "u // 2")),
        )
        at, by = at.format(self.random.choice(indices)), self.random.randint(1, 9)
        lines = [f"with claim({ring}, {name}) as c, group(thread[1]):", f"    atomic_add(c[{at}], {by})"]

        def run(values: Values) -> None:
            np.add.at(values[ring], number(at, values)[own], by)

        return Do(lines, run)

    def role_read(self, ring: str, indices: tuple[str, ...]) -> Do:
        (name, own), by = self.role(), self.random.randint(0, 63)
        lines = [
            f"with claim({ring}, {name}) as c, group(thread[1]):",
            f"    {self.take(indices, f'c[(t + {by}) % 64]')}",
        ]

        def run(values: Values) -> None:
            found = values[ring][(values["t"] + by) % THREADS]
            values["total"][own] = ((values["total"] * 3 + found + values[indices[-1]]) % PRIME)[own]

        return Do(lines, run)

    # -- the program ------------------------------------------------------------------------------------------------------

    def program(self) -> Edge:
        """The whole of it; every tile is written before all else."""
        kind = self.random.choice(("tiles", "tiles", "ring", "ring", "roles"))
        roles = ["a, b = roles(warp, 1, 1)"] if kind == "roles" else []
        depth = self.random.choice((1, 2, 2, 2, 3))
        if kind == "tiles" or self.random.random() < 0.15:
            self.tiles += [f"s{k}" for k in range(self.random.choice((1, 1, 2)))]
        inner = {"tiles": self.some, "ring": self.ring_by_all, "roles": self.ring_by_roles}[kind]
        body = self.nest(depth, (), inner)
        first = []
        for tile in self.tiles:
            self.before.append(f"{tile}: shared(int32[{THREADS * PLACES}])")
            first += [f"with partition({tile}, thread[1], t) as mine, group(thread[1]):"]
            first += [f"    mine[{THREADS * k}] = 0" for k in range(PLACES)]
        lines = [
            "t: int32 @ thread[1] = id()", "u: int32 @ thread[1] = t % 32", "total: int32 @ thread[1] = t", *self.before, *roles,
            *first, *written(body), "with group(thread[1]):", "    out[0] = total",
        ]  # fmt: skip
        text = (
            f'@prism("global")\n@attr("__launch_bounds__({THREADS})")\n@requires(grid[1], block[1], thread[{THREADS}])\n'
            "def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):\n"
            "    with partition(y, thread[1], id()) as out, group(block[1]):\n"
        )
        text += "\n".join(indent(indent(lines))) + "\n"
        x = np.random.default_rng(1).integers(0, PRIME, 2 * THREADS, np.int32)
        n, m = self.given

        def inputs() -> list[Any]:
            return [x.copy(), np.zeros(THREADS, np.int32), np.int32(n), np.int32(m)]

        t = np.arange(THREADS)
        values: Values = {"t": t, "u": t % 32, "total": t.copy(), "x": x.astype(np.int64), "n": n, "m": m}
        values |= {name: np.zeros(THREADS * PLACES, np.int64) for name in (*self.tiles, *self.rings)}
        execute(body, values)
        return Edge(text, 1, THREADS, inputs, (1,), [values["total"].astype(np.int32)])


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
