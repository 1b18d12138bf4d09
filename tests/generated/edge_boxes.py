"""Tensor copies into parts of tiles, and out of them: rows from some place on, swizzled or not, with copies of a ring.

A trip fills parts of a tile by several boxes, and threads read the rows that were filled; or threads fill a tile, and boxes of
it are stored. Where a part begins stands in the text, is a loop's index or comes with the launch. A map may begin before memory,
or end behind it, and its boxes may lie outside of the map, also in some of the pieces that a tile wider than its swizzle is
copied in. The oracle knows the rules of the hardware: a part begins at a multiple of 128 bytes, inside the tile; a box at a
multiple of 16 bytes of the matrix's rows, and what is stored at no negative index; no two parts of a trip overlap; what a piece
has of the map is memory, and so is where the map begins if a piece has nothing of it. What breaks them in the text must be
refused; what does so when it is launched, the machine must find; of columns and of memory also what the text says.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import prism
from prism.host.memory import view_of
from prism.interpret import MachineError
from tests.generated.edges_verify import FAILED, Edge, Outcome, Place, judged
from tests.generated.programs import HEAD, loaded

SAMPLE = 24
TYPES = {"int32": 4, "float32": 4, "int16": 2, "uint8": 1, "int64": 8}
INPUT = 64
"""Rows of the matrix."""
BESIDE = 64
"""Bytes of its rows besides what a box has."""
LOADED = """\
@prism("global")
@requires(grid[1], block[1], warp[2])
def kernel(y: ptr({T}) @ grid[1], map: const(CUtensorMap({T}, {box}, {columns}{swizzle})) @ grid[1], u: int32 @ grid[1]):
    with partition(y, block[1]) as out, group(block[1]):
        tile: shared({T}[{rows}, {columns}], ring={copies}{swizzle})
        readers, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        for k in range({trips}):
            with claim(tile, loader) as coming, one(thread):
{copies_in}
            with partition(out, thread[1], lambda j: j * 32 + t) as mine, claim(tile, readers) as here, group(thread[1]):
                for e in range({each}):
                    p: int32 @ thread[1] = e * 32 + t
{reads}
"""
STORED = """\
@prism("global")
@requires(grid[1], block[1], warp[2])
def kernel(map: CUtensorMap({T}, {box}, {columns}{swizzle}) @ grid[1], u: int32 @ grid[1]):
    with group(block[1]):
        tile: shared({T}[{rows}, {columns}], ring={copies}{swizzle})
        storer, writers = roles(warp, 1, 1)
        t: int32 @ thread[1] = id() % 32
        for k in range({trips}):
            with claim(tile, writers) as coming:
                with partition(
                    coming, thread[1], lambda e: ((e * 32 + t) // {columns}, (e * 32 + t) % {columns})
                ) as mine, group(thread[1]):
                    for e in range({all_each}):
                        mine[e] = {T}(100 * k + (e * 32 + t) % 97)
            with claim(tile, storer) as here, one(thread):
{copies_out}
"""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.type = rng.choice(tuple(TYPES))
        size = TYPES[self.type]
        self.swizzle = rng.choice((0, 0, 0, 32, 64, 128))
        span = self.swizzle or rng.choice((32, 64, 64, 128, 256, 384))
        self.columns, self.bytes = span // size, span
        self.box = rng.choice((1, 2, 3, 4, 8))
        if self.swizzle:  # else its rows are not those of the tile: refused, and tested by itself
            self.box = max(self.box // (128 // span), 1) * (128 // span)
        self.rows = self.box * rng.choice((2, 3, 4)) + rng.choice((0, 0, 1, 4))
        self.copies, self.trips = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
        self.unit = max(128 // span, 1)
        self.given = rng.choice((0, 1, 2, 4))  # what is launched with
        self.parts = [self.part() for _ in range(rng.choice((1, 2, 2, 3)))]
        apart = random.Random(~seed)  # drawn by itself: all else is of the seed as it was
        step = 1 if apart.random() < 0.1 else 16 // size
        self.column = apart.randrange(0, BESIDE // size + 1, step) if apart.random() < 0.5 else 0
        self.first, self.before, self.behind = 0, 0, 0
        if apart.random() < 0.4:
            self.draw_map(apart, step)

    def draw_map(self, rng: random.Random, step: int) -> None:
        """Where the map's rows are no memory, how much of a box lies outside of the map, and in how many pieces it is copied."""
        size = TYPES[self.type]
        if self.swizzle and self.columns * 2 <= 256 and rng.random() < 0.6:
            self.columns *= 2
        self.before, self.behind = rng.choice((0, 0, 1, 8, 16)), rng.choice((0, 0, 0, 4, 20))
        self.first = rng.choice((self.before, self.before, self.before, 0, -1, -self.box, INPUT - self.box, INPUT - 8))
        wide = self.columns + BESIDE // size
        edges = (
            0,
            -step,
            -wide // step * step,
            (self.swizzle or 16) // size,
            -(self.swizzle or 16) // size,
            wide,
            wide - step,
        )
        self.column = rng.choice(edges)

    def part(self) -> tuple[str, list[int], bool]:
        """Where a part begins: a text, its value in each trip, and whether the text alone says it."""
        rng, most = self.rng, self.rows - self.box
        step = self.unit if rng.random() < 0.85 else 1
        number = rng.randrange(0, most + 1, step) if most >= step else 0
        if rng.random() < 0.08:
            number = most + step  # behind the end
        kind = rng.randrange(4)
        if kind == 0:
            return f"u * {step} + {number}", [self.given * step + number] * self.trips, False
        if kind == 1 and self.trips * step <= most + 1:
            return f"k * {step}", [k * step for k in range(self.trips)], False
        return str(number), [number] * self.trips, True

    def fault(self) -> tuple[str, bool]:
        """What is wrong, and whether it must be refused: the text says it."""
        late = ""
        for text, values, known in self.parts:
            wrong = [v for v in values if v * self.bytes % 128 or v + self.box > self.rows]
            if wrong and known:
                return f"rows {text}", True
            late = late or (f"rows {text}" if wrong else "")
        wrong = self.column * TYPES[self.type] % 16 != 0
        return late or (f"column {self.column}" if wrong else ""), False

    def pieces(self) -> int:
        """How many columns are copied together."""
        return self.swizzle // TYPES[self.type] if self.swizzle else self.columns

    def outside(self, starts: list[int], wide: int) -> str:
        """Which box, of those that begin in these rows, touches what is no memory, of a map of `wide` columns."""
        rows = range(self.before, INPUT - self.behind)
        for start in starts:
            there = [row for row in range(start, start + self.box) if 0 <= row < INPUT]
            for left in range(self.column, self.column + self.columns, self.pieces()):
                across = range(max(left, 0), min(left + self.pieces(), wide))
                touched = there if across and there else [0]
                if any(row not in rows for row in touched):
                    return f"memory: the piece at {start}, {left}"
        return ""

    def on_map(self, memory: Any) -> Any:
        """Return a map's array, of whose rows these are the ones in memory."""
        return view_of(memory.reshape(-1), (INPUT, memory.shape[1]), memory.strides, self.before * memory.strides[0])

    def overlap(self) -> bool:
        """Whether two parts of a trip share a row."""
        for trip in range(self.trips):
            taken = [row for _, values, _ in self.parts for row in range(values[trip], values[trip] + self.box)]
            if len(taken) != len(set(taken)):
                return True
        return False

    def facts(self) -> dict[str, Any]:
        """What both kinds of programs are made of."""
        swizzle = f", swizzle={self.swizzle}" if self.swizzle else ""
        names = {"T": self.type, "box": self.box, "columns": self.columns, "rows": self.rows, "copies": self.copies}
        return {**names, "trips": self.trips, "swizzle": swizzle}

    def loads(self) -> Edge:
        """Boxes fill parts, and threads read these."""
        each, elements = -(-self.box * self.columns // 32), self.box * self.columns
        lines, reads = [], []
        for number, (text, _, _) in enumerate(self.parts):
            lines.append(
                f"                tma_load(coming[{text}, 0], map[{self.first + 3 * number} + k, {self.column}])"
            )
            place = f"here[{text} + p // {self.columns}, p % {self.columns}]"
            reads.append(
                f"                    if p < {elements}:\n                        mine[{number * each} + e] = {place}"
            )
        text = LOADED.format(**self.facts(), copies_in="\n".join(lines), reads="\n".join(reads), each=each)
        wide = self.columns + BESIDE // TYPES[self.type]
        x = (np.arange(INPUT * wide) * 7 % 251).astype(self.type).reshape(INPUT, wide)
        y = np.zeros(len(self.parts) * each * 32, self.type)
        for number in range(len(self.parts)):
            first = self.first + 3 * number + self.trips - 1
            y[number * each * 32 : number * each * 32 + elements] = self.box_of(x, first).ravel()
        starts = [self.first + 3 * number + k for k in range(self.trips) for number in range(len(self.parts))]
        there = slice(self.before, INPUT - self.behind)
        inputs = lambda: [np.zeros_like(y), self.on_map(x[there].copy()), self.given]
        return self.edge(text, inputs, 0, y, self.outside(starts, wide))

    def box_of(self, x: Any, first: int) -> Any:
        """Return the box of a matrix that begins in a row; zeros outside of it."""
        rows, columns = np.arange(first, first + self.box), np.arange(self.column, self.column + self.columns)
        inside = (rows[:, None] >= 0) & (rows[:, None] < x.shape[0]) & (columns >= 0) & (columns < x.shape[1])
        return np.where(inside, x[np.clip(rows, 0, x.shape[0] - 1)][:, np.clip(columns, 0, x.shape[1] - 1)], 0)

    def stores(self) -> Edge:
        """Threads fill a tile, and boxes of it are stored: at the first column, but of maps that lead out of memory."""
        wide = self.columns
        if self.first or self.before or self.behind:
            wide += BESIDE // TYPES[self.type]
        else:
            self.column = 0
        all_each = -(-self.rows * self.columns // 32)
        starts = [self.first + self.box * number for number in range(len(self.parts))]
        early = "a store begins before its map" if min(*starts, self.column) < 0 else ""
        lines = [
            f"                tma_store(map[{start}, {self.column}], here[{text}, 0])"
            for start, (text, _, _) in zip(starts, self.parts, strict=True)
        ]
        text = STORED.format(**self.facts(), copies_out="\n".join(lines), all_each=all_each)
        trip = self.trips - 1
        tile = (
            (100 * trip + np.arange(self.rows * self.columns) % 97).astype(self.type).reshape(self.rows, self.columns)
        )
        y = np.zeros((INPUT, wide), self.type)
        for start, (_, values, _) in zip(starts, self.parts, strict=True):
            for row, column in np.ndindex(self.box, self.columns):
                if values[trip] + row < self.rows and 0 <= start + row < INPUT and 0 <= self.column + column < wide:
                    y[start + row, self.column + column] = tile[values[trip] + row, column]
        there = slice(self.before, INPUT - self.behind)
        inputs = lambda: [self.on_map(np.zeros_like(y[there])), self.given]
        return self.edge(text, inputs, (0, there), y[there], early or self.outside(starts, wide))

    def edge(self, text: str, inputs: Any, result: Place, expected: Any, outside: str) -> Edge:
        """The program, with what the oracle knows."""
        wrong, known = self.fault()
        self.wrong, self.known = wrong or outside, known
        legal = False if wrong and known else None
        expecting = None if self.wrong else [expected]
        return Edge(text, 1, 64, inputs, (result,), expecting, legal, self.wrong, reported=self.overlap())


def written(seed: int) -> tuple[Writer, Edge]:
    """Return the program of a seed, and what it was made from."""
    writer = Writer(seed)
    stores = writer.rng.random() < 0.4 and writer.rows * writer.columns % 32 == 0
    if not stores and writer.overlap() and writer.rng.random() < 0.8:  # mostly parts lie apart
        writer.parts = writer.parts[:1]
    return writer, writer.stores() if stores else writer.loads()


def program(seed: int) -> Edge:
    """Return the program of a seed that is right, or refused: a GPU is given no other."""
    for number in range(seed, seed + 1000):
        writer, edge = written(number)
        if writer.known or not (writer.wrong or writer.overlap()):
            break
    return edge


def verify(seed: int) -> Outcome:
    """Return what becomes of a program; where only the launch breaks a rule, the machine must find it."""
    writer, edge = written(seed)
    wrong = writer.wrong
    if writer.known or not wrong:
        return judged(edge, seed)
    with loaded(HEAD + edge.text) as names:
        try:
            code = prism.check(names["kernel"])
        except prism.CompileError as error:
            return Outcome("refused", f"{wrong}\n{error}", error.code)
        try:
            prism.interpret.run(code, edge.blocks, edge.threads, edge.inputs(), check=True)
        except MachineError as error:
            return Outcome("right", str(error))
        return Outcome(FAILED, f"the machine finds nothing of {wrong}")
