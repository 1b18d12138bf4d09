"""Roles whose sizes divide no block: tiles that roles claim, in loops and outside, around and beside the stations of rings.

A model in NumPy runs the same statements in the order of the text, all threads of a block at once. Every program is legal, with
two exceptions: where nothing says how large a block may be, a role can be too small for the hardware's number of named barriers;
and of threads that are neither whole warps nor a part that divides one there is no barrier.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edges_verify import Edge

WARPS = (1, 2, 3, 3, 4, 5, 6, 8, 9, 12)
SIZES = (32, 32, 64, 64, 96, 128, 128, 160, 256)
"""Warps of a block, and threads of a role."""
ODD_BLOCKS = (16, 24, 40, 48, 64, 80, 96, 112, 160)
ODD_SIZES = (8, 16, 16, 24, 32, 40, 48, 64, 80)
"""Threads of a block, and of a role, where these are no whole warps."""
PRIME = 1021
"""Values are kept below it, so that nothing overflows."""
WIDTH, ROWS = 64, 16
"""Elements that a bulk copy brings into a ring, and rows of them that there are."""
TRIPS = 3
"""The value of `n`."""


@dataclass(frozen=True)
class Role:
    """Some threads of a block."""

    name: str
    first: int
    size: int


@dataclass(frozen=True)
class Ring:
    """Who fills it, and how, and who uses it: alike in all places that visit it."""

    source: Role
    bulk: bool
    size: int
    users: tuple[Role, ...]


@dataclass
class State:
    """What the model has of a block: `total` of each thread, the input, the contents of tiles and rings, and loops' indices."""

    total: Any
    x: Any
    memory: dict[str, Any]
    indices: dict[str, int]


@dataclass(frozen=True)
class Do:
    """Some lines, and what they do."""

    lines: list[str]
    run: Callable[[State], None]


@dataclass(frozen=True)
class Loop:
    """`for index in range(0, stop)`, which makes so many trips."""

    index: str
    stop: str
    trips: int
    body: list[Node]


@dataclass(frozen=True)
class Branch:
    """`if condition`, which is `holds` of the indices, and perhaps `else`."""

    condition: str
    holds: Callable[[dict[str, int]], bool]
    body: list[Node]
    otherwise: list[Node]


@dataclass(frozen=True)
class Leave:
    """`break` or `continue`."""

    word: str


class Left(Exception):
    """A trip is left, by this word."""


Node = Do | Loop | Branch | Leave


def written(body: list[Node]) -> Iterator[str]:
    """Yield the lines of statements."""
    for node in body:
        match node:
            case Do(lines=lines):
                yield from lines
            case Loop(index=index, stop=stop, body=inner):
                yield f"for {index} in range(0, {stop}):"
                yield from indent(list(written(inner)))
            case Branch(condition=condition, body=inner, otherwise=other):
                yield f"if {condition}:"
                yield from indent(list(written(inner)))
                if other:
                    yield "else:"
                    yield from indent(list(written(other)))
            case Leave(word=word):
                yield word


def execute(body: list[Node], state: State) -> None:
    """Do what statements do."""
    for node in body:
        match node:
            case Do(run=run):
                run(state)
            case Loop(index=index, trips=trips, body=inner):
                for trip in range(trips):
                    state.indices[index] = trip
                    try:
                        execute(inner, state)
                    except Left as left:
                        if left.args == ("break",):
                            break
            case Branch(holds=holds, body=inner, otherwise=other):
                execute(inner if holds(state.indices) else other, state)
            case Leave(word=word):
                raise Left(word)


def count(state: State) -> None:
    """Count what all threads of the block agree on."""
    state.indices["w"] = (state.indices["w"] + 1) % 3


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.warps = self.random.random() < 0.7
        self.threads = 32 * self.random.choice(WARPS) if self.warps else self.random.choice(ODD_BLOCKS)
        least = 32 if self.warps else 8
        bounds = [n for n in range(least, self.threads + 1, least) if self.threads % n == 0]
        self.bound = self.random.choice([self.threads, self.threads, *bounds])
        self.blocks = self.random.choice((1, 1, 2))
        self.roles = list(self.some_roles())
        self.declared: list[str] = []
        self.tiles: dict[str, Role] = {}
        self.rings: dict[str, Ring] = {}
        self.loops: list[str] = []

    def some_roles(self) -> Iterator[Role]:
        """Roles, one behind the other, each at a multiple of its size; some threads may be of none."""
        first = 0
        for name in "abc"[: self.random.choice((1, 2, 2, 3))]:
            sizes = [
                size
                for size in (SIZES if self.warps else ODD_SIZES)
                if first % size == 0 and first + size <= self.bound
            ]
            if not sizes:
                return
            yield Role(name, first, size := self.random.choice(sizes))
            first += size

    def role(self) -> Role:
        return self.random.choice(self.roles)

    # -- statements -------------------------------------------------------------------------------------------------------

    def statements(self, depth: int, index: tuple[str, ...]) -> list[Node]:
        """Some statements of the block's code, inside the loops of these indices."""
        found: list[Node] = []
        visited: set[str] = set()
        for _ in range(self.random.choice((1, 2, 2, 3))):
            ways = ["write", "write", "read", "read", "own", "block", "count"]
            ways += ["loop", "loop", "if", "if"] if depth < 2 else []
            ways += ["ring", "ring", "ring"] if len(self.roles) > 1 and visited < {"r0", "r1"} else []
            match self.random.choice(ways):
                case "write":
                    found.append(self.write(self.tile(), index))
                case "read":
                    found.append(self.read(self.tile()))
                case "own":
                    found.append(self.own(index))
                case "block":
                    found += self.block_tile(index)
                case "ring":
                    found += self.stations(index, visited)
                case "count":
                    found.append(Do(["w = (w + 1) % 3"], count))
                case "loop":
                    found.append(self.loop(depth, index))
                case "if":
                    found.append(self.branch(depth, index))
        return found

    def loop(self, depth: int, index: tuple[str, ...]) -> Loop:
        """A loop, of a number of trips that the compiler knows or does not."""
        name, trips = f"k{len(self.loops)}", self.random.randint(1, TRIPS)
        self.loops.append(name)
        stop = f"n - {TRIPS - trips}" if self.random.random() < 0.6 else str(trips)
        body = self.statements(depth + 1, (*index, name))
        if self.random.random() < 0.2:  # between two trips' visits of rings
            leave = Branch(*self.condition((*index, name)), [Leave(self.random.choice(("break", "continue")))], [])
            body.insert(self.random.choice((0, len(body))), leave)
        return Loop(name, stop, trips, body)

    def branch(self, depth: int, index: tuple[str, ...]) -> Branch:
        """A branch that the block's threads take together."""
        condition, holds = self.condition(index)
        body, other = self.statements(depth + 1, index), self.random.random() < 0.3
        return Branch(condition, holds, body, self.statements(depth + 1, index) if other else [])

    def condition(self, index: tuple[str, ...]) -> tuple[str, Callable[[dict[str, int]], bool]]:
        """A condition that the block agrees on: of the launch, of what is counted, or of a loop's index; one of a few."""
        name, number = self.random.choice(("n", "w", "w", *index)), self.random.randint(1, 2)
        if name == "n":
            text, holds = f"n >= {2 * number}", 2 * number <= TRIPS
            return (f"not {text}", lambda _: not holds) if self.random.random() < 0.3 else (text, lambda _: holds)
        if name == "w":
            return f"w == {number}", lambda indices: indices["w"] == number
        return f"{name} % 2 == {number - 1}", lambda indices: indices[name] % 2 == number - 1

    def value(self, index: tuple[str, ...]) -> tuple[str, Callable[[State], Any]]:
        """A value of each thread."""
        number, name = self.random.randint(1, 9), self.random.choice((*index, ""))
        text = f"(total * {number} + t{f' + {name}' if name else ''}) % {PRIME}"
        return text, lambda s: (s.total * number + np.arange(self.threads) + (s.indices[name] if name else 0)) % PRIME

    def tile(self) -> tuple[str, Role]:
        """A tile that one role claims, as large as the role; perhaps a new one."""
        if not self.tiles or (len(self.tiles) < 3 and self.random.random() < 0.4):
            name, role = f"s{len(self.tiles)}", self.role()
            self.tiles[name] = role
            self.declared.append(f"{name}: shared(int32[{role.size}])")
        return self.random.choice(list(self.tiles.items()))

    def write(self, tile: tuple[str, Role], index: tuple[str, ...]) -> Do:
        """Each thread of the role writes its element."""
        (name, role), (text, value) = tile, self.value(index)
        lane = f"t - {role.first}" if role.first else "t"
        head = f"with claim({name}, {role.name}) as own, partition(own, thread[1], {lane}) as mine, group(thread[1]):"

        def run(state: State) -> None:
            state.memory[name] = value(state)[role.first : role.first + role.size]

        return Do([head, f"    mine[0] = {text}"], run)

    def read(self, tile: tuple[str, Role]) -> Do:
        """Each thread of the role reads an element that another one wrote."""
        (name, role), by = tile, self.random.randint(0, 70)
        head = f"with claim({name}, {role.name}) as own, group(thread[1]):"
        line = f"    total = (total * 3 + own[(t + {by}) % {role.size}]) % {PRIME}"
        return Do([head, line], lambda state: self.taken(state, role, name, by, role.size))

    def taken(self, state: State, role: Role, name: str, by: int, size: int) -> None:
        """Let the threads of a role read the elements of a tile that are so many further."""
        t = np.arange(role.first, role.first + role.size)
        memory = state.memory.get(name, np.zeros(size, np.int64))
        state.total[t] = (state.total[t] * 3 + memory[(t + by) % size]) % PRIME

    def own(self, index: tuple[str, ...]) -> Do:
        """The threads of a role compute."""
        role, (text, value) = self.role(), self.value(index)

        def run(state: State) -> None:
            mine = slice(role.first, role.first + role.size)
            state.total[mine] = value(state)[mine]

        return Do([f"with {role.name}, group(thread[1]):", f"    total = {text}"], run)

    def block_tile(self, index: tuple[str, ...]) -> list[Node]:
        """All threads write a tile of the block's, and all or a role read it."""
        name, by = f"b{len(self.declared)}", self.random.randint(0, 70)
        text, value = self.value(index)
        self.declared.append(f"{name}: shared(int32[{self.threads}])")
        role = self.random.choice((*self.roles, Role("", 0, self.threads)))
        head = f"with {role.name}, group(thread[1]):" if role.name else "with group(thread[1]):"
        line = f"    total = (total * 3 + {name}[(t + {by}) % {self.threads}]) % {PRIME}"
        fill = [f"with partition({name}, thread[1], t) as mine, group(thread[1]):", f"    mine[0] = {text}"]
        return [
            Do(fill, lambda state: state.memory.update({name: value(state)})),
            Do([head, line], lambda state: self.taken(state, role, name, by, self.threads)),
        ]

    # -- rings ------------------------------------------------------------------------------------------------------------

    def stations(self, index: tuple[str, ...], visited: set[str]) -> list[Node]:
        """A ring's visits in a trip; of one that other lists visit too, or of a new one. `visited`: those of this list."""
        known = [name for name in self.rings if name not in visited]
        name = f"r{len(self.rings)}" if not known or (len(self.rings) < 2 and self.random.random() < 0.4) else known[0]
        if name not in self.rings:
            self.rings[name] = self.ring(name)
        ring = self.rings[name]
        visited.add(name)
        fill = self.bulk_fill(name, ring.source, index) if ring.bulk else self.write((name, ring.source), index)
        found: list[Node] = [fill]
        for role in ring.users:
            if self.random.random() < 0.3:
                found.append(self.write(self.tile(), index))
            found.append(self.use(name, role, ring.size))
        return found

    def ring(self, name: str) -> Ring:
        """One role fills it, by a bulk copy or its threads' stores; one or two use it."""
        source, *others = self.random.sample(self.roles, len(self.roles))
        bulk = self.random.random() < 0.6
        found = Ring(source, bulk, WIDTH if bulk else source.size, tuple(others[: self.random.choice((1, 1, 2))]))
        self.declared.append(f"{name}: shared(int32[{found.size}], ring={self.random.choice((1, 2, 2, 3, 4))})")
        return found

    def bulk_fill(self, name: str, source: Role, index: tuple[str, ...]) -> Do:
        """One thread has a row brought in."""
        row = " + ".join(f"{2 + k} * {i}" for k, i in enumerate(index)) or "1"
        lines = [f"with claim({name}, {source.name}) as own, one(thread):", f"    bulk_load(own, x[{WIDTH} * ({row})])"]

        def run(state: State) -> None:
            at = sum((2 + k) * state.indices[i] for k, i in enumerate(index)) if index else 1
            state.memory[name] = state.x[WIDTH * at : WIDTH * (at + 1)]

        return Do(lines, run)

    def use(self, name: str, role: Role, size: int) -> Do:
        """Each thread of a role reads an element; perhaps one of a tile of the role's own in the same station."""
        by, tiles = self.random.randint(0, 70), [tile for tile, of in self.tiles.items() if of == role]
        tile = self.random.choice([*tiles, ""]) if tiles else ""
        more = f", claim({tile}, {role.name}) as own" if tile else ""
        lines = [f"with claim({name}, {role.name}) as now{more}, group(thread[1]):"]
        lines += [f"    total = (total * 3 + now[(t + {by}) % {size}]) % {PRIME}"]
        lines += [f"    total = (total * 3 + own[(t + {by}) % {role.size}]) % {PRIME}"] if tile else []

        def run(state: State) -> None:
            self.taken(state, role, name, by, size)
            if tile:
                self.taken(state, role, tile, by, role.size)

        return Do(lines, run)

    # -- the program ------------------------------------------------------------------------------------------------------

    def program(self) -> Edge:
        """The whole of it; every tile is written before all else."""
        body = self.statements(0, ())
        first: list[Node] = [self.write(tile, ()) for tile in self.tiles.items()]
        body = [*first, *body]
        names = ", ".join(role.name for role in self.roles)
        level, scale = ("warp", 32) if self.warps else ("thread", 1)
        sizes = ", ".join(str(role.size // scale) for role in self.roles)
        bounds = f'@attr("__launch_bounds__({self.threads})")\n' if self.random.random() < 0.8 else ""
        inner = [
            *self.declared, "t: int32 @ thread[1] = id()", f"total: int32 @ thread[1] = t % {PRIME}",
            "w: int32 @ block[1] = 1", f"{names} = roles({level}, {sizes})", *written(body),
            "with partition(out, thread[1], t) as mine, group(thread[1]):", "    mine[0] = total",
        ]  # fmt: skip
        again, cooperative = self.random.choice((0, 0, 0, 1, 2)), self.random.choice(("", ", cooperative=True"))
        whole = [f"with partition(y, block[1], {self.threads} * id()) as out, group(block[1]):", *indent(inner)]
        if again:  # a loop of the grid, in whose trips all is done anew
            whole = [f"for step in range(n - {TRIPS - 1 - again}):", *indent(whole)]
        text = (
            f'@prism("global")\n{bounds}@requires(grid[1], block[1], thread[{self.bound}]{cooperative if again else ""})\n'
            "def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):\n"
        )
        text += "\n".join(indent(whole)) + "\n"
        x = np.random.default_rng(1).integers(0, PRIME, WIDTH * (ROWS + 10), np.int32)

        def inputs() -> list[Any]:
            return [x.copy(), np.zeros(self.blocks * self.threads, np.int32), np.int32(TRIPS)]

        state = State(np.arange(self.threads, dtype=np.int64) % PRIME, x.astype(np.int64), {}, {"w": 1})
        execute(body, state)
        expected = [np.tile(state.total, self.blocks).astype(np.int32)]
        return Edge(
            text, self.blocks, self.threads, inputs, (1,), expected, legal=True if bounds and self.warps else None
        )


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
