"""Programs whose indices drop bits, or only seem to: shifts, masks, conversions, unsigned and narrow arithmetic.

In half of them threads have indices along two axes of the launch. Each writes and reads a shared tile through partitions, in
loops and under conditions. What the compiler says of it is compared with brute force (c_numbers.py): all accesses of all
threads, for inputs at the edges of their types, and for launches of several shapes. A partition that is reported as disjoint has
no element that two threads access, one to write it; no two accesses between two barriers race.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

import prism
from prism.lang.barriers.overlap import verdicts
from prism.lang.check import check
from prism.lang.diagnostics import CompileError
from prism.lang.facts.budget import most_threads
from prism.lang.facts.definitions import facts
from prism.lang.tree import Function, Stmt, Symbol
from prism.lang.tree.plan import Program
from tests.generated.c_numbers import Event, Undefined, before, executed
from tests.generated.edges_verify import FAILED, Edge, Outcome
from tests.generated.programs import HEAD, loaded

THREADS = (4, 8, 32, 40)
TYPES = ("int32", "uint32", "int8", "uint8", "int16", "uint16", "int64", "uint64")
U = (0, 1, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 5, 2**27, 2**27 - 2)
N = (0, 1, 5, -1, -4, 2**31 - 1, -(2**31), 2**27)
LOOPS = ("3", "0, 12, 4", "uint32(3)", "u, u + 3", "u, u + 9, 4", "n, n + 2", "uint8(250), uint8(255), 2")
SAMPLE = 24
MOST = 20
"""Texts that are tried until one is defined and has no race."""
INPUTS = 5
"""Pairs of inputs of one program."""
NOTHING: Mapping[Stmt, tuple[int, ...]] = {}
KERNEL = """\
@prism("global")
@requires(grid[1], block[1], thread[{threads}])
@attr("__launch_bounds__({threads})")
def kernel(y: ptr(int32) @ grid[1], u: uint32 @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        m: uint32 @ thread[1] = uint32(t)
        q: {narrow} @ thread[1] = {narrow}(t)
        l: {wide} @ thread[1] = {wide}(t)
{along}{begin}{body}
{end}"""
ALONG = """\
        a: int32 @ thread[1] = id(0)
        b: int32 @ thread[1] = id(1)
        w: int32 @ block[1] = count(thread[1], 0)
"""
BEGIN = """\
        with partition(s, thread[1], lambda j: {threads} * j + t) as mine, group(thread[1]):
            for i in range({rounds}):
                if {threads} * i + t < 64:
                    mine[i] = 0
"""
END = """\
        with group(thread[1]):
            out[0] = s[t]
"""


class Writer:
    """One program, by its seed. `tame`: indices are cut to the tile's 64 elements, and what is in it at the end is a result."""

    def __init__(self, seed: int, *, tame: bool = False) -> None:
        self.rng, self.tame = random.Random(seed), tame
        self.threads = self.rng.choice(THREADS)
        self.looped = self.rng.random() < 0.5
        self.along = self.rng.random() < 0.5

    def leaf(self) -> str:
        """A number: mostly one that differs from thread to thread."""
        rng = self.rng
        if self.along and rng.random() < 0.5:
            return rng.choice(["a", "b", "w", "(b * w + a)", "(b * w + a)", "(a * w + b)", "uint32(b * w + a)"])
        if rng.random() < 0.75:
            return rng.choice("tttmmmql")
        return rng.choice(["u", "n", str(rng.randrange(9)), *("k" if self.looped else "u")])

    def undone(self, x: str) -> str:
        """A number with something done to it and undone again, which takes it back to what it was, unless bits were lost."""
        rng, by = self.rng, self.rng.choice((1, 3, 8, 16, 24, 26, 27, 28, 30, 31))
        of = rng.choice(
            [x, f"({x} + u)", f"(u + {x})", f"({x} + n)", f"({x} - 1)", f"(u - {x})", f"({x} * 3 + u)", f"({x} ^ u)"]
        )
        small = rng.choice((2, 3, 4, 8, 2**20, 2**28))
        return rng.choice([
            f"({of} << {by} >> {by})", f"({of} * {small} // {small})", f"({of} * {2**by} >> {by})", f"({of} * 4 % 16 // 4)",
            f"(int64({of}) * {2**by} // {2**by})", f"int32(int64({of}) * {2**rng.choice((30, 31, 32))} + {rng.randrange(9)})",
            f"({of} << {by} // {2**by})", f"(uint64({of}) << {by} + 32 >> {by} + 32)", f"int32({rng.choice(TYPES)}({of}))",
            f"(({of}) * u // u)", f"({of} + u - u)", f"(-(-{of}))", f"(~(~{of}))", f"({of} + {2**31 - 1} - {2**31 - 1})",
        ])  # fmt: skip

    def step(self, x: str) -> str:
        """Something made of a number: often its inverse is made of that, if no bits were lost."""
        if self.rng.random() < 0.3:
            return self.undone(x)
        rng, by = self.rng, self.rng.choice((1, 2, 3, 4, 5, 8, 24, 26, 27, 30))
        small, mask = rng.choice((1, 2, 3, 4, 5, 8, 16)), rng.choice((1, 3, 7, 15, 31, 255, 65535, 2**31 - 1, 6, 24))
        return rng.choice([
            f"({x} << {by} >> {by})", f"({x} << {by})", f"({x} >> {by})", f"({x} * {small} // {small})", f"({x} * {small})",
            f"({x} * {2**by})", f"({x} * {2**by + 1})", f"({x} // {small})", f"({x} % {mask + 1})", f"({x} & {mask})",
            f"({x} | {small})", f"({x} ^ {mask})", f"({x} + {small})", f"({x} - {small})", f"({mask} - {x})", f"(-{x})",
            f"(~{x})", f"({x} + u)", f"(u - {x})", f"({x} + n)", f"({x} * n)", f"({x} + u - u)", f"({x} + {self.leaf()})",
            f"({x} ^ u)", f"({x} * 4294967296 + {small})", f"min({x}, {mask})", f"max({x}, {small})",
            f"({x} * {small} + {self.leaf()})", *(f"{rng.choice(TYPES)}({x})" for _ in range(8)),
        ])  # fmt: skip

    def number(self, most: int = 5) -> str:
        """An expression."""
        text = self.leaf()
        for _ in range(self.rng.randrange(most)):
            text = self.step(text)
        return text

    def condition(self) -> str:
        """A condition that may bound something, or contradict itself."""
        rng = self.rng
        other = rng.choice(["u", "n", str(rng.randrange(1, 40)), self.number(3)])
        return f"{self.number(3)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {other}"

    def guarded(self, line: str, indent: str) -> str:
        """A statement, often under a condition."""
        if self.rng.random() < 0.6:
            return f"{indent}{line}"
        return f"{indent}if {self.condition()}:\n{indent}    {line}"

    def access(self, indent: str, place: int) -> str:
        """A partition through which each thread writes, or a read of the tile."""
        rng = self.rng
        if rng.random() < 0.25:
            line = self.guarded(f"v{place}: int32 @ thread[1] = s[{self.cut(self.number())}]", indent + "    ")
            return f"{indent}with group(thread[1]):\n{line}"
        if rng.random() < 0.3:
            offset, index = (
                f"lambda j: {self.cut(self.through(self.number(3)))}",
                rng.choice(["0", self.number(4), self.number(4)]),
            )
        else:
            offset, index = self.number(), rng.choice(["0", "0", "0", str(rng.randrange(4)), self.number(3)])
        if self.tame:  # what is no int32 stands for a parameter, which is one, as C++ has it
            offset = offset if "lambda" in offset else f"lambda j: {self.cut(f'{offset} + j')}"
            index = f"int32({index})"
        line = self.guarded(f"mine[{index}] = {'t + 100' if self.tame else place}", indent + "    ")
        return f"{indent}with partition(s, thread[1], {offset}) as mine, group(thread[1]):\n{line}"

    def cut(self, index: str) -> str:
        """An index inside the tile, whatever it was."""
        return f"({index}) & 63" if self.tame else index

    def through(self, other: str) -> str:
        """What a lambda makes of its parameter."""
        x = "j"
        for _ in range(self.rng.randrange(3)):
            x = self.step(x)
        return self.rng.choice([x, f"({x} + {other})", f"({other} + {x})"])

    def text(self) -> str:
        """The program."""
        rng, indent = self.rng, "    " * (3 if self.looped else 2)
        lines = [self.access(indent, place) for place in range(rng.choice((1, 1, 2, 2, 3)))]
        if self.looped:
            bounds = rng.choice(
                ["3", "0, 12, 4", "uint32(3)", "u, u + 3", "u, u + 9, 4", "n, n + 2", "uint8(250), uint8(255), 2"]
            )
            lines.insert(0, f"        for k in range({bounds}):")
        narrow, wide = rng.choice(("uint8", "int8", "uint16", "int16")), rng.choice(("int64", "uint64"))
        begin = BEGIN.format(threads=self.threads, rounds=-(-64 // self.threads)) if self.tame else ""
        facts = {
            "threads": self.threads,
            "narrow": narrow,
            "wide": wide,
            "along": ALONG if self.along else "",
            "begin": begin,
            "end": END if self.tame else "",
        }
        return KERNEL.format(body="\n".join(lines), **facts)

    def inputs(self) -> list[dict[str, int]]:
        """Values of the parameters, and how many threads there are along each axis."""
        return [{"u": u, "n": self.rng.choice(N), **self.shape()} for u in self.rng.sample(U, INPUTS)]

    def shape(self) -> dict[str, int]:
        """A launch of one block, by the names of the parameters that say so."""
        if not self.along:
            return {}
        wide = self.rng.choice([w for w in range(1, self.threads + 1) if self.threads % w == 0])
        return {"blocks[0]": 1, "blocks[1]": 1, "threads[0]": wide, "threads[1]": self.threads // wide}


def program(seed: int) -> Edge:
    """Return a program for the machine and the GPU: one that is defined for its inputs, and has no race in it."""
    for number in range(seed * MOST, seed * MOST + MOST):
        writer = Writer(number, tame=True)
        text, inputs = writer.text(), writer.inputs()[0]
        with loaded(HEAD + text) as names:
            try:
                built = prism.check(names["kernel"])
                found = judged(built, writer.threads, [inputs], reported=False)
            except CompileError:
                continue
        if found not in ("undefined", "race"):
            break
    else:
        text, inputs = (
            KERNEL.format(threads=writer.threads, narrow="uint8", wide="int64", along="", begin="", end="", body=""),
            {"u": 1, "n": 1},
        )
    threads = writer.threads
    shape = tuple(inputs[f"threads[{axis}]"] for axis in (0, 1) if f"threads[{axis}]" in inputs)
    u, n = np.uint32(inputs["u"]), np.int32(inputs["n"])
    blocks = (1,) * len(shape) or 1
    return Edge(
        text,
        blocks,
        shape or threads,
        lambda: [np.zeros(threads, np.int32), u, n],
        why="no bits are lost without a word",
    )


def verify(seed: int) -> Outcome:
    """Return what becomes of a program whose indices may be any."""
    writer = Writer(seed)
    with loaded(HEAD + writer.text()) as names:
        try:
            built = prism.check(names["kernel"])
        except CompileError as error:
            meet = error.code == "race" and overlaps(check(names["kernel"], None)[-1], writer)
            strict = error.code == "race" and not meet
            return Outcome("too strict" if strict else "refused", str(error), error.code)
        try:
            found = judged(built, writer.threads, writer.inputs())
        except AssertionError as error:
            return Outcome(FAILED, str(error))
        return Outcome("right", found)


def overlaps(function: Function, writer: Writer) -> bool:
    """Whether, for any inputs, two threads write one element; taken for so where the program is defined for none."""
    defined = False
    for inputs in writer.inputs():
        with suppress(Undefined):
            events = [e for e in executed(function, NOTHING, writer.threads, inputs) if e.write]
            if len({event.element for event in events}) < len({(event.element, event.thread) for event in events}):
                return True
            defined = True
    return not defined


def judged(built: Program, threads: int, every: list[dict[str, int]], *, reported: bool = True) -> str:
    """Compare verdicts and barriers with what is accessed. Raises AssertionError; without `reported` it says `race`."""
    function, plan = built.entry, built.plans[built.entry]
    said = {p.view: v.status for p, v in verdicts(function, facts(function, most_threads(function)))}
    defined, shared = 0, False
    for inputs in every:
        try:
            events = list(executed(function, before(plan), threads, inputs))
        except Undefined:
            continue
        defined += 1
        if not reported and any(one.races(two) for k, one in enumerate(events) for two in events[:k]):
            return "race"
        shared = apart(events, said, inputs) or shared
    if not defined:
        return "undefined"
    found = ", ".join(sorted(set(said.values()))) or "no partition"
    return f"{found}; {'barriers' if plan.barriers else 'no barrier'}; {'shared' if shared else 'apart'}"


def apart(events: list[Event], said: Mapping[Symbol, str], inputs: dict[str, int]) -> bool:
    """Hold the accesses to what was said of them; return whether any two threads come to one element."""
    places: dict[tuple[Symbol, int], list[Event]] = defaultdict(list)
    for event in events:
        places[event.root, event.element].append(event)
    shared = False
    for met in places.values():
        if len({event.thread for event in met}) == 1 or not any(event.write for event in met):
            continue
        shared = True
        for k, one in enumerate(met):
            for two in met[:k]:
                assert not one.races(two) or _excused(one, two, said), f"race: {one} and {two}, with {inputs}"
                if one.thread != two.thread and (one.write or two.write):
                    proved = [
                        view for view, turn in one.parts if (view, turn) in two.parts and said[view] == "disjoint"
                    ]
                    assert not proved, f"`disjoint`, and yet {one} and {two}, with {inputs}"
    return shared


def _excused(one: Event, two: Event, said: Mapping[Symbol, str]) -> bool:
    """Whether the report says that nothing is proved of the partition, one and the same, through which both are made."""
    common = set(one.parts) & set(two.parts)
    return any(said[view] != "disjoint" for view, _ in common)
