"""Numbers that are said to tell units apart, and accesses that use them, what they are made of, or others.

Blocks and threads read numbers from tables and claim some of them to be distinct, on some ways, alone or together. Where the
compiler says that all parts are proved to be disjoint, no run may race in which the machine finds the claims to hold: it runs
each program with tables of all different numbers, of equal ones, and of some of both.
"""

from __future__ import annotations

import random

import numpy as np

import prism
from prism.interpret import AssumeError, BoundsError, RaceError, run
from prism.lang.diagnostics import CompileError
from prism.lang.safety import PROVED, verdicts
from tests.generated.edges_verify import FAILED, Edge, Outcome
from tests.generated.programs import loaded

SAMPLE = 24
TABLES = 8
"""Tables that a program is run with of which all is proved; others are run with two."""
BLOCKS, THREADS, TRIPS, NUMBERS = 3, 8, 2, 16
HEAD = """\
from prism.lang import assume, attr, block, const, distinct, grid, group, id, int32, partition, prism, ptr, requires, thread
"""
KERNEL = f"""
@prism("device")
@requires(block[1], thread[8])
def put(y: ptr(int32) @ block[1], q: int32 @ block[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], {{inner}}) as own, group(thread[1]):
        if {{reach}}:
            own[0] = q


@prism("global")
@requires(grid[1], block[1], thread[8])
@attr("__launch_bounds__({THREADS})")
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    me: int32 @ block[1] = id()
    i: int32 @ thread[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: int32 @ block[1] = x[me]
        old: int32 @ block[1] = tile
        for k in range({TRIPS}):
            tile = x[{TRIPS} * me + k]
            a: int32 @ block[1] = tile
            b: int32 @ block[1] = x[me + {NUMBERS // 2}]
            c: int32 @ thread[1] = x[{TRIPS} * i % {NUMBERS * 3} + k]
{{body}}
"""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def number(self, units: str) -> str:
        """A number that units of a level have."""
        of = ["a", "a", "a", "b", "tile", "old", "me", "k"] + (["c", "c", "c", "i"] if units == "thread" else [])
        x = self.rng.choice(of)
        if self.rng.random() < 0.3:
            x = self.rng.choice(
                [f"({x} % 4)", f"({x} // 2)", f"({x} + 1)", f"({x} ^ 1)", f"({x} + k)", f"(3 * {x})", f"(7 - {x})"]
            )
        return x

    def claim(self) -> str:
        """A claim, of what may well be distinct."""
        units = self.rng.choice(["block", "thread"])
        often = ["a", "a", "c", "b", "a, k", "me, a", "a, b", "k, a", "c, k"]
        values = self.rng.choice(often) if self.rng.random() < 0.7 else self.number(units)
        return f"assume(distinct({values}))" if values != "k" else "assume(distinct(k, me))"

    def access(self, indent: str) -> list[str]:
        """A write by each thread, or by a function."""
        rng, times = self.rng, self.rng.choice([8, 8, 8, 4, 1, 16])
        if rng.random() < 0.3:
            return [
                f"{indent}with partition(whole, block[1], {times} * {self.number('block')}) as part:",
                f"{indent}    put(part, me, n)",
            ]
        offset = rng.choice(
            [
                f"{times} * {self.number('block')} + t",
                self.number("thread"),
                f"8 * {self.number('thread')} + {self.number('thread')}",
            ]
        )
        guard = rng.choice(
            ["True", "True", "t < 8", f"t < {times}", "t == 0", "0 <= a and a < n", f"{self.number('thread')} < 8"]
        )
        head = f"{indent}with partition(whole, thread[1], {offset}) as mine, group(thread[1]):"
        line = f"{indent}        mine[{rng.choice(['0', '0', '0', '1', 't', '8 * k'])}] = 1"
        return [head, f"{indent}    if {guard}:", line]

    def beside(self, indent: str) -> list[str]:
        """Writes to one place, some behind a claim, under a condition that says nothing of a number, and others not."""
        rng, units = self.rng, self.rng.choice(["block", "thread", "thread"])
        what = self.number(units)
        at = f"8 * {what} + t" if units == "block" else what
        claim = f"assume(distinct({what}))" if rng.random() < 0.8 and what != "k" else self.claim()
        lines = [f"{indent}    mine[{at}] = 1"] * rng.choice([1, 1, 2])
        for _ in range(rng.choice([1, 1, 2])):
            condition = rng.choice([f"{what} != 3", "x[t] != k", "me != 1", "(t & 1) == k", f"{what} % 2 != k"])
            behind = [f"{indent}    if {condition}:", f"{indent}        {claim}", f"{indent}        mine[{at}] = 1"]
            place = rng.randrange(len(lines) + 1)
            lines[place:place] = ["\n".join(behind)]
        if rng.random() < 0.5:
            lines = [line for line in lines if "if" in line] or lines
        return [f"{indent}with partition(whole, thread[1]) as mine, group(thread[1]):", *lines]

    def text(self) -> str:
        """The program."""
        rng, indent, lines = self.rng, " " * 12, list[str]()
        for _ in range(rng.choice([1, 1, 1, 2, 2])):
            claim, access = self.claim(), self.access(indent)
            way = rng.random()
            if way < 0.15:  # on some ways only
                lines += [f"{indent}if {rng.choice(['me > 0', 'k == 0', 'a < n'])}:", f"{indent}    {claim}", *access]
            elif way < 0.25:
                lines += [*access, indent + claim]
            elif way < 0.35:  # behind it the number changes
                lines += [indent + claim, f"{indent}tile = tile + 1", *access]
            else:
                lines += [indent + claim, *access]
        if rng.random() < 0.3:
            lines = [*self.beside(indent), *(lines if rng.random() < 0.3 else [])]
        inner, reach = rng.choice(["t", "t", "2 * t", "t // 2"]), rng.choice(["t < 8", "t < 4", "t < n", "True"])
        return KERNEL.format(body="\n".join(lines), inner=inner, reach=reach)

    def table(self) -> np.ndarray:
        """Numbers, from 0 on: all different, or not quite."""
        numbers = self.rng.sample(range(3 * NUMBERS), 3 * NUMBERS)
        for _ in range(self.rng.choice([0, 0, 1, 2, 20])):
            numbers[self.rng.randrange(len(numbers))] = self.rng.choice(numbers)
        return np.array([*numbers, *numbers], np.int32)


def program(seed: int) -> Edge:
    """Return a program for the machine and the GPU, with a table of all different numbers."""
    indent = " " * 12
    lines = ["assume(distinct(a))", "with partition(whole, block[1], 8 * a) as part:", "    put(part, 1, n)"]
    text = KERNEL.format(body="\n".join(indent + line for line in lines), inner="t", reach="t < 8")
    table = np.array(random.Random(seed).sample(range(6 * NUMBERS), 6 * NUMBERS), np.int32)
    wanted = np.zeros(64 * NUMBERS, np.int32)
    for number in table[: BLOCKS * TRIPS]:
        wanted[8 * number : 8 * number + 8] = 1
    return Edge(
        text,
        BLOCKS,
        THREADS,
        lambda: [np.zeros(64 * NUMBERS, np.int32), table, np.int32(9)],
        expected=[wanted],
        legal=True,
        head=HEAD,
    )


def verify(seed: int) -> Outcome:
    """Return what becomes of a program with claims of any kind."""
    writer = Writer(seed)
    with loaded(HEAD + writer.text()) as names:
        try:
            built = prism.check(names["kernel"])
        except CompileError as error:
            return Outcome("refused", str(error), error.code)
    proved = all(one.status == PROVED for one in verdicts(built) if one.kind in ("partition", "trip", "overlap"))
    held = raced = 0
    for _ in range(TABLES if proved else 2):
        arguments = np.zeros(64 * NUMBERS, np.int32), writer.table(), np.int32(writer.rng.choice([0, 4, 8, 9]))
        try:
            run(built, BLOCKS, THREADS, arguments, check=True)
        except (AssumeError, BoundsError):
            continue
        except RaceError as race:
            raced += 1
            if proved:
                return Outcome(FAILED, f"proved, and yet: {race}")
        held += 1
    what = "proved" if proved else "not proved; a race" if raced else "not proved; no race"
    return Outcome("right", f"{what}; {'claims held' if held else 'claims never held'}")
