"""Atomic accesses with a scope, over memory of one block, of several, and of none that the text tells.

A program is a few phases. In each, the blocks update words in one way: through memory of the grid, parts of a partition,
parts that may overlap, a block's shared memory, or a device function that gets one of these. The oracle knows which words each
block touches in each phase, and in which scope. Illegal is the scope of a block where the owner is broader, or where two blocks
meet at a word and nothing orders them. Where a part's place is an argument, the compiler cannot know: the report says so, and
the reference machine finds the race.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import prism
from prism.lang.safety import NOT_PROVED, verdicts
from tests.generated.derive import indent
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import loaded

THREADS = 32
SIZE = 128
"""Words of y."""
FUNCTION = """\
@prism("device")
@requires(thread[1])
def counted(p: ptr(int32) @ {owner}, k: int32 @ thread[1]):
    atomic_add(p[k], 1{scope})


"""
NEAR = ', scope="block"'


@dataclass
class Phase:
    """Text, the words of y that each block updates, whether in the scope of a block, and what the oracle says of it."""

    lines: list[str]
    words: list[set[int]]
    near: bool = False
    broad: bool = False
    """The memory is shared by blocks, by its owner or because parts may overlap."""


class Writer:
    """Writes one program, and its model beside it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.blocks = self.random.choice((2, 2, 3))
        self.together = self.random.random() < 0.4
        self.apart = self.random.choice((8, 8, 0, 1))
        """The value of `apart`, an argument."""
        self.functions: dict[str, str] = {}
        self.y = np.zeros(SIZE, np.int64)
        self.names = 0

    def pick(self, *ways: Any) -> Any:
        return self.random.choice(ways)

    def near(self, often: float) -> str:
        return NEAR if self.random.random() < often else self.pick("", "", ', scope="gpu"', ', scope="system"')

    def update(self, p: str, k: str, scope: str, owner: str) -> list[str]:
        """An update of a word: itself, or by a function that is passed what it belongs to."""
        if self.random.random() < 0.3:
            name = f"counted{len(self.functions)}"
            self.functions[name] = FUNCTION.format(owner=owner, scope=scope).replace("counted", name)
            return [f"{name}({p}, {k})"]
        order = self.pick("", "", ', order="acq_rel"')
        return [f"atomic_add({p}[{k}], 1{order}{scope})"]

    def add(self, words: list[set[int]], bases: list[int], k: Any) -> None:
        """Update the model: each thread of each block adds 1 to the word k behind the block's first."""
        for block, base in enumerate(bases):
            at = base + k(np.arange(THREADS), block)
            np.add.at(self.y, at, 1)
            words[block] |= set(at.tolist())

    def phase(self) -> Phase:
        ways = [self.of_the_grid, self.parts, self.parts, self.parts, self.overlapping, self.shared, self.threads]
        made: Phase = self.pick(*ways)()
        return made

    def of_the_grid(self) -> Phase:
        scope, step = self.near(0.15), self.pick(1, 2)
        words: list[set[int]] = [set() for _ in range(self.blocks)]
        self.add(words, [0] * self.blocks, lambda t, block: (t * step) % 8)
        lines = ["with group(thread[1]):", *indent(self.update("y", f"(t * {step}) % 8", scope, "grid[1]"))]
        return Phase(lines, words, scope == NEAR, True)

    def parts(self) -> Phase:
        """Parts that are apart, for sure, or by the value of an argument."""
        scope, k = self.near(0.7), self.pick(1, 4, 8)
        text, apart = self.pick(("8 * b", 8), ("8 * b", 8), ("apart * b", self.apart), ("9 * b + 1", 9))
        first = 1 if text.endswith("+ 1") else 0
        words: list[set[int]] = [set() for _ in range(self.blocks)]
        self.add(words, [first + apart * b for b in range(self.blocks)], lambda t, block: t % k)
        name = self.fresh("part")
        lines = [
            f"with partition(y, block[1], {text}) as {name}, group(thread[1]):",
            *indent(self.update(name, f"t % {k}", scope, "block[1]")),
        ]
        return Phase(lines, words, scope == NEAR)

    def overlapping(self) -> Phase:
        scope = self.near(0.2)
        words: list[set[int]] = [set() for _ in range(self.blocks)]
        self.add(words, [4 * b for b in range(self.blocks)], lambda t, block: t % 8)
        name = self.fresh("part")
        lines = [
            f'with partition(y, block[1], 4 * b, races="allow") as {name}, group(thread[1]):',
            *indent(self.update(name, "t % 8", scope, "block[1]")),
        ]
        return Phase(lines, words, scope == NEAR, True)

    def shared(self) -> Phase:
        """A block counts in its own memory, and adds what it has to the words of all, or of its own."""
        scope, other = self.near(0.7), self.near(0.3)
        part = other == NEAR
        words: list[set[int]] = [set() for _ in range(self.blocks)]
        for block in range(self.blocks):
            at = np.arange(8) + (8 * block if part else 0)
            np.add.at(self.y, at, 4)
            words[block] |= set(at.tolist())
        bins, own, mine = self.fresh("bins"), self.fresh("own"), self.fresh("mine")
        inside = [
            f"{bins}: shared(int32[8]) @ block[1]",
            f"with partition({bins}, thread[1], t) as {own}, group(thread[1]):",
            "    if t < 8:",
            f"        {own}[0] = 0",
            "with group(thread[1]):",
            *indent(self.update(bins, "t % 8", scope, "block[1]")),
            "with group(thread[1]):",
            "    if t < 8:",
            f"        atomic_add({mine if part else 'y'}[t], {bins}[t]{other})",
        ]
        head = f"with partition(y, block[1], 8 * b) as {mine}, group(block[1]):" if part else "with group(block[1]):"
        return Phase([head, *indent(inside)], words, part)

    def threads(self) -> Phase:
        """Each thread's own word."""
        scope = self.near(0.5)
        words: list[set[int]] = [set() for _ in range(self.blocks)]
        self.add(words, [THREADS * b for b in range(self.blocks)], lambda t, block: t)
        name = self.fresh("mine")
        lines = [
            f"with partition(y, thread[1], i) as {name}, group(thread[1]):",
            f"    atomic_add({name}[0], 1{scope})",
        ]
        return Phase(lines, words, scope == NEAR)

    def fresh(self, name: str) -> str:
        self.names += 1
        return f"{name}{self.names}"

    def program(self) -> Edge:
        """Return a program; `reported`: two blocks meet at a word in the scope of one, within a phase."""
        phases = [self.phase() for _ in range(self.random.randint(1, 3))]
        together = ", cooperative=True" if self.together else ""
        body = [line for phase in phases for line in phase.lines]
        text = "\n".join(
            [
                *("".join(self.functions.values()),),
                '@prism("global")',
                f"@requires(grid[1], block[1], thread[{THREADS}]{together})",
                f'@attr("__launch_bounds__({THREADS})")',
                "def kernel(y: ptr(int32) @ grid[1], apart: int32 @ grid[1]):",
                "    i: int32 @ thread[1] = id()",
                "    b: int32 @ block[1] = id()",
                f"    t: int32 @ thread[1] = i % {THREADS}",
                *indent(body),
                "",
            ]
        )
        broad = any(phase.near and phase.broad for phase in phases)
        inside = any(phase.near and self.met(phase, phase) for phase in phases)
        pairs = [(one, two) for n, one in enumerate(phases) for two in phases[n + 1 :] if one.near or two.near]
        between = not self.together and any(self.met(one, two) for one, two in pairs)
        legal = False if broad or between or inside else None if pairs and not self.together else True
        why = (
            "a broad owner" if broad else "two phases meet" if between else "blocks meet" if inside else "nothing meets"
        )
        # Where nothing meets in this launch, two phases may in a larger one: the oracle does not know.
        edge = Edge(
            text, self.blocks, THREADS, lambda: [np.zeros(SIZE, np.int32), np.int32(self.apart)], (0,),
            [self.y.astype(np.int32)], legal=legal, why=why, reported=inside and not broad,
        )  # fmt: skip
        return edge

    def met(self, one: Phase, two: Phase) -> bool:
        """Whether two blocks update one word."""
        pairs = [(a, b) for a in range(self.blocks) for b in range(self.blocks) if a != b]
        return any(one.words[a] & two.words[b] for a, b in pairs)


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed: where an argument decides, the machine finds what the report foresees."""
    edge = program(seed)
    found = judged(edge, seed)
    if found.kind == "reported" and not foreseen(edge):
        return Outcome(FAILED, f"accepted, not reported, and {found.code}\n{found.found}")
    return found


def foreseen(edge: Edge) -> bool:
    """Whether the report says of a partition that nothing is proved."""
    with loaded(edge.head + edge.text) as names:
        found = verdicts(prism.check(names["kernel"]))
    return any(one.status == NOT_PROVED and one.kind == "partition" for one in found)
