"""Loops in the grid's code whose trips give units other parts: cooperative kernels, and the same without barriers of the grid.

A model in NumPy runs the statements in the order of the text, all threads of the grid at once. All cooperative programs are
legal. Of the others the race detector judges: what races is refused, or the safety report says of a partition or a trip that it
is not proved.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import prism
from prism.lang.safety import BELIEVED, NOT_PROVED, verdicts
from tests.generated.derive import indent
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import loaded

THREADS = 32
PRIME = 1021
"""Values are kept below it, so that nothing overflows."""
FUNCTION = """\
@prism("device")
@requires(grid[1], block[1], thread[32]{together})
def raised(a: ptr(int32) @ grid[1], e: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(a, thread[1], i + e) as m, group(thread[1]):
        m[0] = (3 * m[0] + e) % 1021


"""
Uniform = tuple[str, Callable[[dict[str, int]], int]]
"""A number that the grid agrees on: its text, and its value by those of the loops' names."""
Step = Callable[["State", dict[str, int]], None]


class State:
    """What the model has: the arrays, and each thread's sum."""

    def __init__(self, blocks: int, arrays: dict[str, Any]) -> None:
        self.blocks, self.memory = blocks, arrays
        self.i = np.arange(THREADS * blocks)
        self.sum = np.zeros(len(self.i), np.int64)


class Writer:
    """Writes one program, and its model beside it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.blocks = self.random.choice((2, 2, 3))
        self.together = self.random.random() < 0.7
        self.trips = self.random.choice((2, 3))
        self.names = 0
        self.called = False

    def pick(self, *ways: Any) -> Any:
        return self.random.choice(ways)

    def fresh(self, name: str) -> str:
        self.names += 1
        return f"{name}{self.names}"

    # -- numbers

    def uniform(self, loops: list[str]) -> Uniform:
        """A number of the grid's: a constant, and small multiples of the loops' names."""
        found = self.pick(0, 0, 1, 2, 5)
        chosen = [(name, self.pick(1, 1, 2)) for name in loops if self.random.random() < 0.7]
        text = " + ".join([str(found), *(f"{times} * {name}" for name, times in chosen)])
        return text, lambda at: found + sum(times * at[name] for name, times in chosen)

    def place(self, loops: list[str]) -> tuple[str, Callable[[Any, dict[str, int]], Any], int]:
        """A thread's first element, of which no two threads have one; and how many it may touch."""
        text, value = self.uniform(loops)
        last = THREADS * self.blocks - 1
        match self.pick("up", "up", "pairs", "down", "round", "xor", "same"):
            case "up":
                return f"i + {text}", lambda i, at: i + value(at), 1
            case "pairs":
                return f"2 * i + ({text}) % 2", lambda i, at: 2 * i + value(at) % 2, 2
            case "down":
                return f"{last} - i + {text}", lambda i, at: last - i + value(at), 1
            case "round":
                return f"(i + {text}) % {last + 1}", lambda i, at: (i + value(at)) % (last + 1), 1
            case "xor":
                return f"i ^ ({text}) % 4", lambda i, at: i ^ value(at) % 4, 1
            case _:
                return "i", lambda i, at: i, 1

    # -- statements: lines, and what they do

    def body(self, loops: list[str], depth: int, most: int) -> tuple[list[str], Step]:
        lines: list[str] = []
        steps: list[Step] = []
        for _ in range(self.random.randint(1, most)):
            some, step = self.statement(loops, depth)
            lines += some
            steps.append(step)

        def run(state: State, at: dict[str, int]) -> None:
            for step in steps:
                step(state, at)

        return lines, run

    def statement(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        ways: list[Any] = [
            self.part,
            self.part,
            self.part,
            self.of_blocks,
            self.read,
            self.overlap,
            self.claimed,
            self.atomics,
        ]
        ways += [self.call] + ([self.loop] * 4 + [self.branch] if depth < 2 else [])
        found: tuple[list[str], Step] = self.pick(*ways)(loops, depth)
        return found

    def part(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """Each thread changes an element or two of its own."""
        a, m = self.pick("x", "y"), self.fresh("m")
        where, place, most = self.place(loops)
        factor, to, of = self.pick(1, 2, 3), self.random.randrange(most), self.random.randrange(most)
        line = f"{m}[{to}] = ({factor} * {m}[{of}] + sum + i) % {PRIME}"

        def run(state: State, at: dict[str, int]) -> None:
            first, memory = place(state.i, at), state.memory[a]
            memory[first + to] = (factor * memory[first + of] + state.sum + state.i) % PRIME

        return [f"with partition({a}, thread[1], {where}) as {m}, group(thread[1]):", f"    {line}"], run

    def of_blocks(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """Each block has a part, its threads have theirs; and perhaps they read one another's."""
        a, part, m = self.pick("x", "y"), self.fresh("part"), self.fresh("m")
        text, value = self.uniform(loops)
        turn, turned = self.uniform(loops)
        blocks = self.blocks
        where, base = self.pick(
            (f"32 * ((b + {text}) % blocks)", lambda b, at: 32 * ((b + value(at)) % blocks)),
            (f"32 * b + {text}", lambda b, at: 32 * b + value(at)),
            ("32 * b", lambda b, at: 32 * b),
        )
        mine = self.pick("t", f"(t + {turn}) % 32")
        across = self.random.random() < 0.5
        lines = [
            f"with partition({a}, block[1], {where}) as {part}, group(block[1]):",
            "    t: int32 @ thread[1] = id()",
            f"    with partition({part}, thread[1], {mine}) as {m}, group(thread[1]):",
            f"        {m}[0] = (2 * {m}[0] + i) % {PRIME}",
        ]
        if across:
            lines += ["    with group(thread[1]):", f"        sum = {part}[(t + 5) % 32]"]

        def run(state: State, at: dict[str, int]) -> None:
            b, t = np.divmod(state.i, THREADS)
            own = base(b, at) + (t if mine == "t" else (t + turned(at)) % 32)
            memory = state.memory[a]
            memory[own] = (2 * memory[own] + state.i) % PRIME
            if across:
                state.sum = memory[base(b, at) + (t + 5) % 32]

        return lines, run

    def read(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """All read an array by its own name."""
        a = self.pick("x", "y")
        text, value = self.uniform(loops)
        step = self.pick(1, 1, 3)
        size = THREADS * self.blocks

        def run(state: State, at: dict[str, int]) -> None:
            state.sum = (state.sum + state.memory[a][(step * state.i + value(at)) % size]) % PRIME

        return ["with group(thread[1]):", f"    sum = (sum + {a}[({step} * i + {text}) % {size}]) % {PRIME}"], run

    def overlap(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """Two threads store one value to an element."""
        a, m = self.pick("x", "y"), self.fresh("m")
        text, value = self.uniform(loops)
        stored, number = self.uniform(loops)

        def run(state: State, at: dict[str, int]) -> None:
            state.memory[a][(state.i + value(at)) // 2] = number(at)

        where = f'thread[1], (i + {text}) // 2, races="allow"'
        return [f"with partition({a}, {where}) as {m}, group(thread[1]):", f"    {m}[0] = {stored}"], run

    def claimed(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """The first thread of the grid changes an element."""
        a, own = self.pick("x", "y"), self.fresh("own")
        text, value = self.uniform(loops)

        def run(state: State, at: dict[str, int]) -> None:
            state.memory[a][value(at)] = (state.memory[a][0] + 7) % PRIME

        return [
            f"with claim({a}, thread[1]) as {own}, one(thread):",
            f"    {own}[{text}] = ({own}[0] + 7) % {PRIME}",
        ], run

    def atomics(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """All add to elements that they share."""
        a = self.pick("x", "y")
        text, value = self.uniform(loops)

        def run(state: State, at: dict[str, int]) -> None:
            np.add.at(state.memory[a], (state.i + value(at)) % 7, 1)

        return ["with group(thread[1]):", f"    atomic_add({a}[(i + {text}) % 7], 1)"], run

    def call(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        """A device function that partitions what it is passed."""
        self.called = True
        a = self.pick("x", "y")
        text, value = self.uniform(loops)

        def run(state: State, at: dict[str, int]) -> None:
            place, memory = state.i + value(at), state.memory[a]
            memory[place] = (3 * memory[place] + value(at)) % PRIME

        return [f"raised({a}, {text})"], run

    def loop(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        k, trips = self.fresh("k"), self.trips
        inside, inner = self.body([*loops, k], depth + 1, 2)
        bound = self.pick("n", "n", str(trips))
        if self.random.random() < 0.3:
            lines = [f"{k}: int32 @ grid[1] = 0", f"while {k} < {bound}:", *indent(inside), f"    {k} += 1"]
        else:
            lines = [f"for {k} in range({bound}):", *indent(inside)]

        def run(state: State, at: dict[str, int]) -> None:
            for number in range(trips):
                inner(state, {**at, k: number})

        return lines, run

    def branch(self, loops: list[str], depth: int) -> tuple[list[str], Step]:
        text, value = self.uniform(loops)
        inside, inner = self.body(loops, depth + 1, 2)

        def run(state: State, at: dict[str, int]) -> None:
            if value(at) % 2 == 0:
                inner(state, at)

        return [f"if ({text}) % 2 == 0:", *indent(inside)], run

    # -- the program

    def program(self) -> Edge:
        lines, run = self.loop([], 0) if self.random.random() < 0.6 else self.body([], 0, 3)
        together = ", cooperative=True" if self.together else ""
        text = "\n".join(
            [
                '@prism("global")',
                f"@requires(grid[1], block[1], thread[{THREADS}]{together})",
                "def kernel(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):",
                "    i: int32 @ thread[1] = id()",
                "    b: int32 @ block[1] = id()",
                "    blocks: int32 @ grid[1] = count(block[1])",
                "    sum: int32 @ thread[1] = 0",
                *indent(lines),
                "    with partition(y, thread[1], i) as last, group(thread[1]):",
                f"        last[0] = (last[0] + sum) % {PRIME}",
                "",
            ]
        )
        function = FUNCTION.format(together=together) if self.called else ""
        size = 2 * THREADS * self.blocks + 64
        given = [np.arange(size, dtype=np.int32) * 7 % PRIME, np.arange(size, dtype=np.int32) * 11 % PRIME]
        state = State(self.blocks, {"x": given[0].astype(np.int64), "y": given[1].astype(np.int64)})
        run(state, {})
        last = state.memory["y"]
        last[state.i] = (last[state.i] + state.sum) % PRIME
        expected = [state.memory[name].astype(np.int32) for name in ("x", "y")]
        return Edge(
            function + text, self.blocks, THREADS, lambda: [*(array.copy() for array in given), np.int32(self.trips)], (0, 1),
            expected, legal=True if self.together else None, why="all blocks meet between two phases that need it",
            reported=not self.together,
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed: where nothing orders blocks, a race must be one that the report foresees."""
    edge = program(seed)
    if edge.legal:
        return judged(edge, seed)
    found = judged(edge, seed)
    if found.kind == "reported" and not foreseen(edge):
        return Outcome(FAILED, f"accepted, not reported, and {found.code}\n{found.found}")
    return found


def foreseen(edge: Edge) -> bool:
    """Whether the report says of a partition, or of two trips, that nothing is proved; or that `races="allow"` is believed."""
    with loaded(edge.head + edge.text) as names:
        found = verdicts(prism.check(names["kernel"]))
    wanted = {("trip", NOT_PROVED), ("partition", NOT_PROVED), ("overlap", BELIEVED)}
    return any((one.kind, one.status) in wanted for one in found)
