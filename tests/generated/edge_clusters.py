"""Shared memory of clusters in functions: objects of two blocks and of one take turns in the same bytes.

Each thread has a number. Functions, and statements of the kernel, exchange these: with the other block of the cluster, through
an object that both have a part of, or by a gather, at which they do not meet; or within the block, through an object of the
block's own. They stand one behind the other, in loops, in conditions and in one another, so the bytes of one are soon another's.
A model in NumPy moves the numbers. All programs are legal: what the other block still reads must not be written.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edges_verify import Edge

THREADS = 32
PRIME = 1021
"""Numbers are kept below it, so that nothing overflows."""
Step = Callable[[Any, int], Any]
"""What becomes of the numbers, by cluster, block and thread, in a trip of the loops around."""


class Writer:
    """Writes one program, and its model beside it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clusters = self.random.choice((1, 1, 2))
        self.trips = self.random.choice((1, 2, 3))
        self.functions: list[tuple[str, str, bool, Step]] = []
        self.names = 0

    def pick(self, *ways: Any) -> Any:
        return self.random.choice(ways)

    def fresh(self, name: str) -> str:
        self.names += 1
        return f"{name}{self.names}"

    # -- exchanges: lines that change `v`, and what they do

    def across(self) -> tuple[list[str], Step]:
        """Each thread takes a number of the other block, or of its own, from an object of the cluster; or each gives it one."""
        box, mine, own = self.fresh("box"), self.fresh("mine"), self.fresh("own")
        turn, shift, other = self.random.randrange(THREADS), self.pick(1, 3, 5), self.pick(1, 1, 0)
        width, gives = self.pick(THREADS, THREADS, 40, 2500), self.random.random() < 0.3
        far = f"(b + {other}) % 2"
        here, there = (far, "b") if gives else ("b", far)
        lines = [
            f"{box}: shared(int32[2, {width}])",
            f"with partition({box}, block[1], lambda i: ({here}, i)) as {mine}, group(block[1]):",
            f"    with partition({mine}, thread[1], offset=t) as {own}, group(thread[1]):",
            f"        {own}[0] = v",
            "with group(thread[1]):",
            f"    v = ({box}[{there}, ({shift} * t + {turn}) % {THREADS}] + {turn}) % {PRIME}",
        ]

        def run(v: Any, trip: int) -> Any:
            t = np.arange(THREADS)
            there = v[:, ::-1] if other else v
            return (there[:, :, (shift * t + turn) % THREADS] + turn) % PRIME

        return lines, run

    def within(self) -> tuple[list[str], Step]:
        """Each thread takes a number of its block."""
        desk, own = self.fresh("desk"), self.fresh("own")
        turn, shift = self.random.randrange(THREADS), self.pick(1, 3, 5)
        width = self.pick(THREADS, 64, 100, 5000)
        lines = [
            f"{desk}: shared(int32[{width}])",
            f"with partition({desk}, thread[1], offset=t) as {own}, group(thread[1]):",
            f"    {own}[0] = v",
            "with group(thread[1]):",
            f"    v = ({desk}[({shift} * t + {turn}) % {THREADS}] + 1) % {PRIME}",
        ]

        def run(v: Any, trip: int) -> Any:
            return (v[:, :, (shift * np.arange(THREADS) + turn) % THREADS] + 1) % PRIME

        return lines, run

    def gathered(self) -> tuple[list[str], Step]:
        """Each warp's lane of a block's number goes to that block, whose first lanes add what comes."""
        values, found, twice = self.fresh("values"), self.fresh("found"), self.pick(1, 2)
        lines = [
            f"{values}: int32[{twice}] @ thread[1]",
            f"{found}: int32[{twice}, 2] @ thread[1]",
            "with group(thread[1]):",
            f"    for q in range({twice}):",
            f"        {values}[q] = v + q",
            f"        {found}[q, 0] = 0",
            f"        {found}[q, 1] = 0",
            f"all_gather({values}, {found})",
            "with group(thread[1]):",
            f"    for q in range({twice}):",
            f"        v = (v + {found}[q, 0] + 3 * {found}[q, 1]) % {PRIME}",
        ]

        def run(v: Any, trip: int) -> Any:
            came = np.zeros_like(v)
            for q in range(twice):
                came[:, :, :2] += v[:, :, :2].transpose(0, 2, 1) + q
            return (v + came) % PRIME

        return lines, run

    # -- functions

    def function(self) -> None:
        """Write a function of a cluster or of a block, which may call those before it."""
        wide = self.random.random() < 0.65
        lines, steps = [], []
        for _ in range(self.pick(1, 1, 2)):
            known = [one for one in self.functions if wide or not one[2]]
            some, step = self.call(known) if known and self.random.random() < 0.35 else self.exchange(wide)
            lines += some
            steps.append(step)

        def run(v: Any, trip: int) -> Any:
            for step in steps:
                v = step(v, trip)
            return v

        name = self.fresh("part")
        text = "\n".join(
            [
                '@prism("device")',
                f"@requires(block[{2 if wide else 1}], thread[{THREADS}])",
                f"def {name}(x: int32 @ thread[1]) -> int32 @ thread[1]:",
                f"    t: int32 @ thread[1] = id() % {THREADS}",
                *(["    b: int32 @ block[1] = id()"] if wide else []),
                "    v: int32 @ thread[1] = x",
                *indent(lines),
                "    return v",
                "",
                "",
            ]
        )
        self.functions.append((name, text, wide, run))

    def exchange(self, wide: bool) -> tuple[list[str], Step]:
        if wide and self.random.random() < 0.25:
            return self.gathered()
        return self.across() if wide and self.random.random() < 0.75 else self.within_blocks(wide)

    def within_blocks(self, wide: bool) -> tuple[list[str], Step]:
        """An object of a block's own, in code of the block."""
        lines, step = self.within()
        return (["with group(block[1]):", *indent(lines)] if wide else lines), step

    def call(self, known: list[tuple[str, str, bool, Step]]) -> tuple[list[str], Step]:
        name, _, _, step = self.random.choice(known)
        return [f"v = {name}(v)"], step

    # -- statements of the kernel

    def body(self, depth: int, most: int) -> tuple[list[str], Step]:
        lines: list[str] = []
        steps: list[Step] = []
        for _ in range(self.random.randint(1, most)):
            some, step = self.statement(depth)
            lines += some
            steps.append(step)

        def run(v: Any, trip: int) -> Any:
            for step in steps:
                v = step(v, trip)
            return v

        return lines, run

    def statement(self, depth: int) -> tuple[list[str], Step]:
        ways = ["call"] * 5 + ["here"] * 2 + (["loop", "loop", "branch"] if depth < 2 else [])
        match self.pick(*ways):
            case "call":
                name, _, wide, step = self.random.choice(self.functions)
                line = f"v = {name}(v)"
                return ([line] if wide else ["with group(block[1]):", f"    {line}"]), step
            case "here":
                lines, step = self.exchange(wide=True)
                return (["with group(block[2]):", *indent(lines)] if self.random.random() < 0.5 else lines), step
            case "loop":
                lines, step = self.body(depth + 1, 2)
                return [f"for {self.fresh('k')} in range(n):", *indent(lines)], self.repeated(step)
            case _:
                lines, step = self.body(depth + 1, 2)
                parity = self.pick(0, 1)
                met = self.trips % 2 == parity
                return [f"if n % 2 == {parity}:", *indent(lines)], (step if met else lambda v, trip: v)

    def repeated(self, step: Step) -> Step:
        def run(v: Any, trip: int) -> Any:
            for number in range(self.trips):
                v = step(v, number)
            return v

        return run

    def program(self) -> Edge:
        for _ in range(self.random.randint(1, 3)):
            self.function()
        lines, run = self.body(0, 4)
        size = 2 * self.clusters * THREADS
        text = "\n".join(
            [
                *(text for _, text, _, _ in self.functions),
                '@prism("global")',
                f"@requires(grid[1], block[2], thread[{THREADS}])",
                "def kernel(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):",
                f"    with partition(x, block[2], offset={2 * THREADS} * id()) as pair, group(block[2]):",
                f"        t: int32 @ thread[1] = id() % {THREADS}",
                "        b: int32 @ block[1] = id()",
                "        v: int32 @ thread[1] = 0",
                "        with group(thread[1]):",
                f"            v = pair[{THREADS} * b + t]",
                *indent(indent(lines)),
                f"        with partition(pair, block[1], offset={THREADS} * b) as row, group(block[1]):",
                "            with partition(row, thread[1], offset=t) as last, group(thread[1]):",
                "                last[0] = v",
                "",
            ]
        )
        given = np.arange(size, dtype=np.int32) * 7 % PRIME
        expected = run(given.astype(np.int64).reshape(self.clusters, 2, THREADS), 0).astype(np.int32).ravel()
        return Edge(
            text, 2 * self.clusters, THREADS, lambda: [given.copy(), np.int32(self.trips)], (0,), [expected], legal=True,
            why="blocks of a cluster meet before bytes are used again that both of them access",
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
