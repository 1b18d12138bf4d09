"""Asynchronous stores, sums and loads that overlap, or may: in trips of loops, in one group, in one visit of a ring, at the end.

Each program is a list of statements in the block's code, some in loops: tiles that threads write and one thread stores, or adds,
by bulk or tensor copies (of 2 to 4 axes), to places that overlap those of earlier stores; copies of one group to one place, and
their patches; rings of which nobody reads what comes in; products that nobody sums. The oracle executes the statements one after
the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.generated.edges_verify import Edge

PRIME = 9973
TRIPS = 4
ROOM = 256
"""Elements of `y` that a block has, and rows and columns of the matrix, which `m` (1) and `n` (TRIPS) keep the stores in."""
ROWS, COLUMNS = 64, 64
INPUT = 1024
SAMPLE = 10

Index = dict[str, int]
Number = tuple[str, Callable[[Index], int]]


@dataclass
class State:
    """What one block has: its part of `y`, of the matrix, its tiles, and each thread's sum."""

    block: int
    x: Any
    y: Any
    matrix: Any
    total: Any
    tiles: dict[str, Any] = field(default_factory=dict)
    index: Index = field(default_factory=dict)


@dataclass
class Do:
    """Lines, and what they do."""

    lines: list[str]
    run: Callable[[State], None]


@dataclass
class Loop:
    """Statements in a loop over `name`, or under a condition (`when`)."""

    head: str
    name: str
    trips: int
    body: list[Node]
    when: Callable[[Index], bool] | None = None


Node = Do | Loop


def written(nodes: list[Node]) -> list[str]:
    """Return the lines of statements."""
    found: list[str] = []
    for node in nodes:
        found += node.lines if isinstance(node, Do) else [node.head, *indent(written(node.body))]
    return found


def execute(nodes: list[Node], state: State) -> None:
    """Execute statements one after the other."""
    for node in nodes:
        if isinstance(node, Do):
            node.run(state)
        elif node.when is not None:
            if node.when(state.index):
                execute(node.body, state)
        else:
            for k in range(node.trips):
                state.index[node.name] = k
                execute(node.body, state)


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


class Writer:
    """Writes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.adding = random.Random(seed + 1)
        self.axes = self.adding.choice((2, 2, 3, 4))  # of the matrix, which then has one for blocks, and one of 1
        self.threads = self.random.choice((32, 32, 32, 64, 64, 64, 64, 64, 128))
        self.blocks = self.random.choice((1, 1, 2))
        self.tensor = self.random.random() < 0.4
        self.declared: list[str] = []
        self.tiles: list[str] = []
        self.rings = self.number = 0
        self.left = self.random.choice((3, 5, 7))  # statements: programs are small
        self.reported = False  # whether what the safety report leaves open may be a fault
        self.wrong = ""  # what must be refused

    def fresh(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    # -- numbers ----------------------------------------------------------------------------------------------------------

    def place(self, index: tuple[str, ...], step: int, most: int) -> Number:
        """Where something goes: a multiple of `step` that is less than `most`, of indices and of what the launch gives."""
        texts, parts = [], []
        for name in index:
            factor = step * self.random.choice((0, 0, 1, 1, 2, 4, 8))
            if factor and 3 * factor + sum(3 * f for f, _ in parts) + step < most:
                digit = f"{name} % 2" if self.random.random() < 0.3 else name
                texts.append(f"{factor} * ({digit})" if "%" in digit else f"{factor} * {digit}")
                parts.append((factor, (lambda i, n=name: i[n] % 2) if "%" in digit else (lambda i, n=name: i[n])))
        rest = step * self.random.randint(0, 3)
        if self.random.random() < 0.3:
            texts.append(f"{rest} * m")
        elif rest or not texts:
            texts.append(str(rest))
        else:
            rest = 0
        if sum(3 * f for f, _ in parts) + rest >= most:
            return "0", lambda _: 0
        return " + ".join(texts), lambda i: sum(f * part(i) for f, part in parts) + rest

    def value(self, index: tuple[str, ...]) -> tuple[str, Callable[[State], Any]]:
        """A value of each thread."""
        number, name = self.random.randint(1, 9), self.random.choice((*index, ""))
        text = f"(total * {number} + t{f' + {name}' if name else ''}) % {PRIME}"
        lanes = np.arange(self.threads)
        return text, lambda s: (s.total * number + lanes + (s.index[name] if name else 0)) % PRIME

    # -- statements -------------------------------------------------------------------------------------------------------

    def statements(self, depth: int, index: tuple[str, ...]) -> list[Node]:
        """Some statements."""
        found: list[Node] = []
        for _ in range(self.random.randint(1, 3)):
            self.left -= 1
            if self.left < 0 and found:
                break
            chance = self.random.random()
            if depth < 2 and chance < (0.2 if depth else 0.5):
                found.append(self.loop(depth, index))
            elif depth and chance < 0.4:
                name, rest = self.random.choice(index), self.random.randint(0, 1)
                body = self.statements(depth + 1, index) if depth < 2 else self.store(index)
                when = (lambda n, r: lambda i: i[n] % 2 == r)(name, rest)
                found.append(Loop(f"if {name} % 2 == {rest}:", "", 0, body, when))
            else:
                makers = [self.fill, self.store, self.store, self.store, self.seen, self.copies, self.ring, self.own]
                makers += [self.product] * 4 * (self.threads == 128)
                made = self.random.choice(makers)(index)
                found += made if isinstance(made, list) else [made]
        return found

    def loop(self, depth: int, index: tuple[str, ...]) -> Loop:
        name, trips = f"k{len(index)}_{self.fresh('')}", self.random.randint(0, TRIPS)
        stop = f"n - {TRIPS - trips}" if self.random.random() < 0.7 else str(trips)
        return Loop(f"for {name} in range({stop}):", name, trips, self.statements(depth + 1, (*index, name)))

    def tile(self) -> str:
        """A tile of the block's, perhaps a new one."""
        if not self.tiles or (len(self.tiles) < 3 and self.random.random() < 0.3):
            self.tiles.append(self.fresh("s"))
            self.declared.append(f"{self.tiles[-1]}: shared(int32[128])")
        return self.random.choice(self.tiles)

    def fill(self, index: tuple[str, ...], name: str = "") -> Do:
        """Threads write a tile: each its elements, `threads` apart."""
        name = name or self.tile()
        text, value = self.value(index)
        lines = [f"with partition({name}, thread[1], lambda e: t + {self.threads} * e) as own, group(thread[1]):"]
        lines += [f"    for e in range({128 // self.threads}):", f"        own[e] = {text}"]

        def run(state: State) -> None:
            state.tiles[name] = np.tile(value(state), 128 // self.threads)

        return Do(lines, run)

    def store(self, index: tuple[str, ...]) -> list[Node]:
        """One thread stores a tile, or its beginning; perhaps it is written before."""
        name = self.tile()
        before = [self.fill(index, name)] if self.random.random() < 0.6 else []
        if self.tensor and self.random.random() < 0.6:
            return [*before, self.box(name, index)]
        count = self.random.choice((128, 4, 16, 32, 64))
        at, where = self.place(index, 4, ROOM - count)
        what = name if count == 128 else f"{name}[0]"
        adds = self.adds()
        copy = f"bulk_{'reduce' if adds else 'store'}(to[{at}], {what}{'' if count == 128 else f', n={count}'})"
        head = "with claim(out, thread[1]) as to, one(thread):"
        if self.threads == 64 and self.random.random() < 0.5:
            head = f"with claim(out, {self.random.choice(('first', 'second'))}) as to, one(thread):"

        def run(state: State) -> None:
            place = slice(where(state.index), where(state.index) + count)
            state.y[place] = adds * state.y[place] + state.tiles[name][:count]

        return [*before, Do([head, f"    {copy}"], run)]

    def adds(self) -> bool:
        """Whether a store is a reduction, which adds."""
        return self.adding.random() < 0.3

    def box(self, name: str, index: tuple[str, ...]) -> Do:
        """One thread stores a tile to a matrix, of which each block has rows of its own."""
        down, top = self.place(index, self.random.choice((2, 4, 8)), ROWS - 8)
        right, left = self.place(index, self.random.choice((4, 8, 16)), COLUMNS - 16)
        first = {2: f"{ROWS} * b + ", 3: "b, ", 4: "0, b, "}[self.axes]
        adds, square, at = self.adds(), self.fresh("q"), f"(t + {self.threads} * e)"
        self.declared.append(f"{square}: shared(int32[8, 16])")
        lines = [
            f"with partition({square}, thread[1], lambda e: ({at} // 16, {at} % 16)) as own, group(thread[1]):",
            f"    for e in range({128 // self.threads}):",
            f"        own[e] = {name}[t + {self.threads} * e]",
            "with one(thread):",
            f"    tma_{'reduce' if adds else 'store'}(matrix[{first}{down}, {right}], {square})",
        ]

        def run(state: State) -> None:
            rows, columns = ROWS * state.block + top(state.index), left(state.index)
            place = slice(rows, rows + 8), slice(columns, columns + 16)
            state.matrix[place] = adds * state.matrix[place] + state.tiles[name].reshape(8, 16)

        return Do(lines, run)

    def seen(self, index: tuple[str, ...]) -> Do:
        """Threads read what was stored."""
        at, where = self.place(index, 4, ROOM - 128)
        by = self.random.randint(0, 70)
        line = f"    total = (total * 3 + out[{at} + (t + {by}) % 128]) % {PRIME}"
        lanes = np.arange(self.threads)

        def run(state: State) -> None:
            state.total = (state.total * 3 + state.y[where(state.index) + (lanes + by) % 128]) % PRIME

        return Do(["with group(thread[1]):", line], run)

    def own(self, index: tuple[str, ...]) -> Do:
        """Threads write what may be stored to, before or after."""
        at, where = self.place(index, 4, ROOM - self.threads)
        text, value = self.value(index)
        lines = [f"with partition(out, thread[1], {at} + t) as own, group(thread[1]):", f"    own[0] = {text}"]

        def run(state: State) -> None:
            state.y[where(state.index) : where(state.index) + self.threads] = value(state)

        return Do(lines, run)

    # -- copies -----------------------------------------------------------------------------------------------------------

    def source(self, index: tuple[str, ...], step: int) -> Number:
        return self.place(index, step, INPUT - 3 * 64 - 128)

    def copies(self, index: tuple[str, ...]) -> Do:
        """Threads have two elements copied, in one group or in two, perhaps to one place; then the tile may be read or not."""
        name, apart = self.fresh("c"), self.random.choice(("0", "0", "1", "m", "1 - m"))
        self.declared.append(f"{name}: shared(int32[{2 * self.threads}])")
        (one, first), (two, second) = self.source(index, 4), self.source(index, 4)
        head = f"with partition({name}, thread[1], 2 * t) as part, async_(part) as coming, group(thread[1]):"
        lines = [head, f"    cp_async(coming[0], x[{one} + t], 4)"]
        if self.random.random() < 0.3:
            lines.append(head)
        lines.append(f"    cp_async(coming[{apart}], x[{two} + t], 4)")
        where, lanes, by = (
            {"0": 0, "1": 1, "m": 1, "1 - m": 0}[apart],
            np.arange(self.threads),
            self.random.randint(0, 70),
        )
        read = self.random.random() < 0.7
        if read:
            lines += [
                "with group(thread[1]):",
                f"    total = (total * 3 + {name}[2 * ((t + {by}) % {self.threads})]) % {PRIME}",
            ]

        def run(state: State) -> None:
            found = state.x[first(state.index) + lanes]
            found = found if where else state.x[second(state.index) + lanes]
            if read:
                state.total = (state.total * 3 + found[(lanes + by) % self.threads]) % PRIME

        return Do(lines, run)

    def ring(self, index: tuple[str, ...]) -> list[Node]:
        """A ring's stations: loaded by one thread, or copied by all and perhaps changed; read, or not."""
        if self.rings == 2 or not index:
            return [self.fill(index)]
        self.rings += 1
        name, read = self.fresh("r"), self.random.random() < 0.55
        self.declared.append(f"{name}: shared(int32[64], ring={self.random.choice((1, 2, 2, 3))})")
        fill, values = (
            self.loads(name, index) if self.threads == 128 or self.random.random() < 0.6 else self.copied(name, index)
        )
        by, lanes = self.random.randint(0, 70), np.arange(self.threads)
        lines = [*fill]
        if read:
            lines += [f"with partition({name}, block[1]) as now, group(thread[1]):"]
            lines += [f"    total = (total * 3 + now[(t + {by}) % 64]) % {PRIME}"]

        def run(state: State) -> None:
            if read:
                state.total = (state.total * 3 + values(state)[(lanes + by) % 64]) % PRIME

        return [Do(lines, run)]

    def loads(self, name: str, index: tuple[str, ...]) -> tuple[list[str], Callable[[State], Any]]:
        """One thread loads a copy: at once, or in two parts, which may overlap."""
        at, where = self.source(index, 4)
        head = f"with claim({name}, thread[1]) as coming, one(thread):"
        chance = self.random.random()
        if chance < 0.5:
            return [head, f"    bulk_load(coming, x[{at}])"], lambda s: s.x[where(s.index) :][:64]
        if chance < 0.7:
            lines = [
                head,
                "    for part in range(4):",
                f"        bulk_load(coming[16 * part], x[{at} + 16 * part], n=16)",
            ]
            return lines, lambda s: s.x[where(s.index) :][:64]
        start = self.random.choice(("32", "32", "16", "0", "32 * m", "16 * m"))
        if start in ("16", "0"):
            self.wrong = "two loads of one visit overlap"
        self.reported |= start == "16 * m"
        lines = [
            head,
            f"    bulk_load(coming[0], x[{at}], n=32)",
            f"    bulk_load(coming[{start}], x[{at} + 32], n=32)",
        ]
        return lines, lambda s: s.x[where(s.index) :][:64]

    def copied(self, name: str, index: tuple[str, ...]) -> tuple[list[str], Callable[[State], Any]]:
        """All threads copy; each may change what it has copied, once or in two scopes."""
        at, where = self.source(index, 4)
        each = 64 // self.threads
        lines = [
            f"with partition({name}, thread[1], {each} * t) as part:",
            "    with async_(part) as coming, group(thread[1]):",
            f"        for e in range({each}):",
            f"            cp_async(coming[e], x[{at} + {each} * t + e], 4)",
        ]
        patched = self.random.random() < 0.5
        if patched:
            lines += ["    with group(thread[1]):", f"        part[{each - 1}] += 1 + t % 2"]

        def values(state: State) -> Any:
            found = state.x[where(state.index) :][:64].copy()
            if patched:
                found[each - 1 :: each] += 1 + np.arange(self.threads) % 2
            return found

        return lines, values

    def product(self, index: tuple[str, ...]) -> Do:
        """A product of two tiles of ones, or of a fragment or part of one and a tile; the threads take an element, or nothing."""
        left, right, sums = self.fresh("a"), self.fresh("b"), self.fresh("acc")
        form = self.random.choice(("tile", "part", "fragment"))
        lines = [f"{sums}: fragment(float32, 64, 8) @ warpgroup[1] = 0"]
        if form == "fragment":
            lines += [f"{left}: fragment(half, 64, 64) @ warpgroup[1]", "with group(thread[1]):"]
            lines += [f"    for e in range(count({left})):", f"        {left}[e] = half(1)"]
        else:
            self.declared += [f"{left}: shared(half[64, 64], swizzle=128)"]
        self.declared += [f"{right}: shared(half[8, 64], swizzle=128)"]
        for name, each in ((left, 32), (right, 4))[form == "fragment" :]:
            place = "lambda e: ((t + 128 * e) // 64, (t + 128 * e) % 64)"
            lines += [f"with partition({name}, thread[1], {place}) as own, group(thread[1]):"]
            lines += [f"    for e in range({each}):", "        own[e] = half(1)"]
        part = f"partition({left}, warpgroup[1], lambda y, z: (y, z)) as part, " if form == "part" else ""
        lines += [f"with {part}group(warpgroup[1]):", f"    wgmma({sums}, {'part' if part else left}, {right})"]
        read, element = self.random.random() < 0.5, f"int32({sums}[0])"
        if read and len(self.declared) % 2 == 0:  # by a function that is lent the sums while they are made
            taken, first = self.fresh("taken"), self.fresh("first")
            lines += [
                f"{taken}: int32[1] @ thread[1]", "@requires(warpgroup[1])",
                f"def {first}(lent: fragment(float32, 64, 8) @ warpgroup[1], found: int32[1] @ thread[1]):",
                "    with group(thread[1]):", "        found[0] = int32(lent[0])",
                "with group(warpgroup[1]):", f"    {first}({sums}, {taken})",
            ]  # fmt: skip
            element = f"{taken}[0]"
        if read:
            lines += ["with group(thread[1]):", f"    total = (total * 3 + {element}) % {PRIME}"]

        def run(state: State) -> None:
            if read:
                state.total = (state.total * 3 + 64) % PRIME

        return Do(lines, run)

    # -- the program ------------------------------------------------------------------------------------------------------

    def program(self) -> Edge:
        """The whole of it; every tile is written before all else."""
        body = self.statements(0, ())
        first: list[Node] = [self.fill((), name) for name in self.tiles]
        body = [*first, *body]
        roles = ["first, second = roles(warp, 1, 1)"] if self.threads == 64 else []
        inner = [
            "t: int32 @ thread[1] = id()", "total: int32 @ thread[1] = t", *roles, *self.declared, *written(body),
            "with partition(sums, thread[1], t) as mine, group(thread[1]):", "    mine[0] = total",
        ]  # fmt: skip
        box = ", ".join([*["1"] * (self.axes - 2), "8", "16"])
        matrix = f", matrix: CUtensorMap(int32, {box}) @ grid[1]" if self.tensor else ""
        axes = {2: (), 3: (self.blocks,), 4: (1, self.blocks)}[self.axes]
        text = (
            f'@prism("global")\n@attr("__launch_bounds__({self.threads})")\n'
            f"@requires(grid[1], block[1], thread[{self.threads}])\n"
            "def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1], "
            f"n: int32 @ grid[1], m: int32 @ grid[1]{matrix}):\n"
            "    b: int32 @ block[1] = id()\n"
            f"    with partition(y, block[1], {ROOM} * b) as out, partition(z, block[1], {self.threads} * b) as sums, "
            "group(block[1]):\n"
        )
        text += "\n".join(indent(indent(inner))) + "\n"
        x = np.random.default_rng(1).integers(0, PRIME, INPUT, np.int32)
        shapes = (ROOM * self.blocks, self.threads * self.blocks)

        def inputs() -> list[Any]:
            y, z = (np.zeros(size, np.int32) for size in shapes)
            more = (
                [np.zeros((ROWS * self.blocks, COLUMNS), np.int32).reshape(*axes, -1, COLUMNS)] if self.tensor else []
            )
            return [x.copy(), y, z, np.int32(TRIPS), np.int32(1), *more]

        _, y, z, _, _, *more = inputs()
        wide = x.astype(np.int64)
        for block in range(self.blocks):
            mine = slice(block * self.threads, (block + 1) * self.threads)
            part = y[block * ROOM : (block + 1) * ROOM]
            rows = more[0].reshape(-1, COLUMNS) if more else None
            state = State(block, wide, part, rows, np.arange(self.threads, dtype=np.int64))
            execute(body, state)
            z[mine] = state.total
        return Edge(
            text, self.blocks, self.threads, inputs, (1, 2, 5)[: 2 + len(more)], [y, z, *more],
            legal=False if self.wrong else None, why=self.wrong, reported=self.reported,
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
