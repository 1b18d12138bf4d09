"""Blocks that wait for each other: by words that come, or by loops that ask a flag, in all ways to say that.

Each block waits for others, and then tells that it has come. What it waits for is told straight, by a branch, by memory, by a
function, or by an inner loop. Blocks that wait for lower numbers end, and a model knows the result. Those that wait for higher
ones, for themselves, or for a flag that nobody sets don't: the machine finds it. No barrier and no proof makes these right, so
the safety report must have each such wait, of those that end, too.
"""

from __future__ import annotations

import random

import numpy as np

from prism.lang.pipeline import build
from prism.lang.safety import verdicts
from tests.generated.derive import indent
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import loaded

PRIME = 1021
"""Numbers are kept below it, so that nothing overflows."""
MISTAKES = {
    "later": "a block waits for a later one, which need not have begun",
    "itself": "a block waits for what it tells only afterwards",
    "nobody": "a block waits for a flag that nobody sets",
    "two": "all blocks publish one word",
}
ASKS = (
    "load_acquire({})",
    "load_relaxed({})",
    "atomic_add({}, 0)",
    "atomic_or({}, 0)",
    "atomic_max({}, 0)",
    "atomic_compare_exchange({}, 0, 0)",
)
WAYS = (
    "word", "straight", "counted", "branch", "left", "memory", "memory, then branch", "array", "inner loop", "function",
    "function that waits", "function that leaves it", "split", "record", "pointer", "pair",
)  # fmt: skip
HELPERS = """\
@struct
class Seen:
    value: int32
    tries: int32

@prism("device")
@requires(thread[1])
def asked(flags: ptr(int32) @ grid[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    return {ask}

@prism("device")
@requires(thread[1])
def both(flags: ptr(int32) @ grid[1], at: int32 @ thread[1], tries: int32 @ thread[1]) -> (int32, int32) @ thread[1]:
    word: int32 = {ask}
    return tries + 1, word

@prism("device")
@requires(thread[1])
def leaves(flags: ptr(int32) @ grid[1], at: int32 @ thread[1], seen: int32[1] @ thread[1]):
    seen[0] = {ask}

@prism("device")
@requires(thread[1])
def waits(flags: ptr(int32) @ grid[1], at: int32 @ thread[1], least: int32 @ thread[1]):
    while {ask} < least:
        pass

"""


class Writer:
    """Writes one program, and its model beside it."""

    def __init__(self, seed: int) -> None:
        rng = self.random = random.Random(seed)
        self.blocks, self.warps = rng.choice((1, 2, 3, 5)), rng.choice((1, 1, 2))
        self.way, self.ask = rng.choice(WAYS), rng.choice(ASKS)
        self.back, self.trips = rng.choice((1, 1, 2)), rng.choice((1, 1, 2, 3))
        mistakes = [one for one in MISTAKES if self.way == "word" or one != "two"]
        self.mistake = rng.choice(mistakes) if self.blocks > 1 and rng.random() < 0.4 else ""

    def place(self) -> str:
        """The number of the block that is waited for."""
        return {"later": "b + 1", "itself": "b", "nobody": "n"}.get(self.mistake, f"b - {self.back}")

    def turns(self) -> str:
        """What says that there is somebody to wait for."""
        if self.mistake in ("itself", "nobody"):
            return "True"
        return "b + 1 < n" if self.mistake == "later" else f"b >= {self.back}"

    def told(self, flag: str) -> str:
        return self.ask.format(flag)

    def waiting(self) -> list[str]:
        """The lines that wait until the other block has told `trip + 1` times; they stand in the code of one thread."""
        least, flag = "trip + 1", f"flags[{self.place()}]"
        match self.way:
            case "straight":
                return [f"while {self.told(flag)} < {least}:", "    pass"]
            case "counted":
                return ["tries: int32 = 0", f"while tries < 0 or {self.told(flag)} < {least}:", "    tries += 1"]
            case "branch":
                return [
                    "come: bool = False",
                    "while not come:",
                    f"    if {self.told(flag)} >= {least}:",
                    "        come = True",
                ]
            case "left":
                return [
                    "while True:",
                    f"    word: int32 = {self.told(flag)}",
                    f"    if word >= {least}:",
                    "        break",
                ]
            case "array":
                return [
                    "words: int32[2] = [0, 0]",
                    f"while words[1] < {least}:",
                    f"    words[0] = {self.told(flag)}",
                    "    words[1] = words[0]",
                ]
            case "inner loop":
                return [
                    "come: bool = False",
                    "while not come:",
                    "    for k in range(3):",
                    f"        if {self.told(flag)} >= {least}:",
                    "            come = True",
                    "            break",
                ]
            case "function":
                return [f"while asked(flags, {self.place()}) < {least}:", "    pass"]
            case "function that waits":
                return [f"waits(flags, {self.place()}, {least})"]
            case "function that leaves it":
                return ["seen: int32[1] = {0}", f"while seen[0] < {least}:", f"    leaves(flags, {self.place()}, seen)"]
            case "pair":
                return [
                    "seen: int32 = 0",
                    "tries: int32 = 0",
                    f"while seen < {least}:",
                    f"    tries, seen = both(flags, {self.place()}, tries)",
                ]
            case "record":
                return [
                    "seen: Seen = Seen(0, 0)",
                    f"while seen.value < {least}:",
                    f"    seen.value = {self.told(flag)}",
                    "    seen.tries += 1",
                ]
        raise AssertionError(self.way)

    def of_the_block(self) -> list[str]:
        """Lines that wait in the block's code: what its first thread has seen is told to all by shared memory."""
        ask = f"own[0] = {self.told(f'flags[{self.place()}]')}"
        first = ["with claim(seen, thread[1]) as own, one(thread):", f"    {ask}"]
        if self.way == "pointer":
            first = ["there: ptr(int32) @ block[1] = seen", *[line.replace("seen", "there") for line in first]]
        if self.way == "split":
            first = [
                "with claim(seen, thread[1]) as own:",
                "    match split(thread):",
                "        case 1:",
                f"            {ask}",
            ]
        end = (
            ["come = seen[0] > trip"]
            if self.way != "memory, then branch"
            else ["if seen[0] > trip:", "    come = True"]
        )
        return [
            "seen: shared(int32[1])",
            "with claim(seen, thread[1]) as own, one(thread):",
            "    own[0] = 0",
            "come: bool @ block[1] = False",
            "while not come:",
            *indent([*first, *end]),
        ]

    def trip(self) -> list[str]:
        """What a block does in a trip, once there is somebody to wait for."""
        who = self.turns()
        tell = ["with group(block[1]), one(thread):", "    store_release(flags[b], trip + 1)"]
        if self.way == "word":
            where = f"words[{self.place()} + trip * (n + 1)]"
            return [
                "with group(block[1]), one(thread):",
                "    came: int32[1] = {0}",
                f"    if {who}:",
                f"        receive({where}, came, 1, 1, 0, uint32(1))",
                "    publish(words[b + trip * (n + 1)], came[0] + 1, uint32(1))",
                *(["    publish(words[n], b, uint32(1))"] if self.mistake == "two" else []),
            ]
        if self.way in ("memory", "memory, then branch", "split", "pointer"):
            return [f"if {who}:", *indent(self.of_the_block()), *tell]
        return [
            "with group(block[1]), one(thread):",
            f"    if {who}:",
            *indent(indent(self.waiting())),
            *tell,
        ]

    def program(self) -> Edge:
        blocks, trips = self.blocks, self.trips
        ends = [
            "with group(block[1]):",
            "    with claim(own, thread[1]) as mine, one(thread):",
            "        mine[0] = b + trips",
        ]
        text = "\n".join(
            [
                '@prism("global")',
                f"@requires(grid[1], block[1], thread[{32 * self.warps}])",
                "def kernel(words: ptr(mailbox(int32)) @ grid[1], flags: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1],",
                "           n: int32 @ grid[1], trips: int32 @ grid[1]):",
                "    b: int32 @ block[1] = id()",
                "    with partition(y, block[1], b) as own:",
                "        for trip in range(trips):",
                "            with group(block[1]):",
                *indent(indent(indent(indent(self.trip())))),
                *indent(indent(ends)),
                "",
            ]
        )
        wrong = bool(self.mistake)
        return Edge(
            HELPERS.replace("{ask}", self.told("flags[at]")) + text, blocks, 32 * self.warps,
            lambda: [np.zeros(4 * (blocks + 1), np.uint64), np.zeros(blocks + 1, np.int32), np.zeros(blocks, np.int32),
                     np.int32(blocks), np.int32(trips)],
            (2,), None if wrong else [np.arange(blocks, dtype=np.int32) + trips], reported=wrong,
            schedules=("few", "round-robin"), why=MISTAKES.get(self.mistake, "blocks wait for earlier ones"),
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed; one whose wait is in no report is a failure."""
    edge = program(seed)
    found = judged(edge, 0)  # of `few`, seed 0: one block at a time
    if found.kind in (FAILED, "refused", "too strict"):
        return found
    with loaded(edge.head + edge.text) as names:
        if not any(one.kind == "wait" for one in verdicts(build(names["kernel"]))):
            return Outcome(FAILED, f"its wait is not in the safety report: {edge.why}")
    if edge.reported and found.kind == "right":
        return Outcome(FAILED, f"it ended on the machine: {edge.why}")
    return found
