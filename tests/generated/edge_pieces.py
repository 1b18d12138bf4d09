"""Loops in pieces: rings that are visited in a part of a loop's range each, by conditions written in several ways.

Two or three rings, filled by one role and used by another, under conditions that hold from some trip on or up to some trip: the
first, the last, one that an argument says. The other role's condition says the same in other words, or in a few programs another
thing, which is refused. Between the visits stand statements under such conditions too, some of which write shared memory that
others read. The oracle makes the trips in NumPy.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.generated.edges_verify import Edge

ROWS, WIDTH = 64, 32
HEAD = """\
from prism.lang import (
    attr, block, bulk_load, claim, const, grid, group, id, int32, one, partition, prism, ptr, requires, roles, shared, thread,
    uint32, warp,
)

"""
TEXT = """\
@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], warp[2])
def kernel(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], a: int32 @ grid[1], b: int32 @ grid[1], start: int32 @ grid[1],
    stop: int32 @ grid[1],
):
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        adders, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        s: shared(int32[64])
        with partition(s, thread[1], t) as own, group(thread[1]):
            own[0] = t
{rings}
        for j in range({range}):
{body}
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = int32(total)
"""
FILL = ["with claim({0}, loader) as coming, one(thread):", "    bulk_load(coming, x[32 * (j - {1})])"]
PLAIN = {
    "scale": ["with group(thread[1]):", "    total = {0} * total"],
    "write": ["with partition(s, thread[1], t) as own, group(thread[1]):", "    own[0] = {0} * t + j"],
    "read": ["with adders, group(thread[1]):", "    total = {0} * total + uint32(s[63 - t])"],
}
"""What stands between visits, by all threads or by those who add."""
USE = ["with claim({0}, adders) as here, group(thread[1]):", "    total = {1} * total + uint32(here[t])"]
WAYS = {
    ">=": ("j >= {}", "not j < {}", "{} <= j", "j > {} - 1", "j + 3 >= {} + 3", "0 >= {} - j"),
    "<": ("j < {}", "not j >= {}", "{} > j", "j <= {} - 1", "j - 2 < {} - 2", "{} - j > 0"),
}
"""Ways to say that the index has come to a place, or has not yet."""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.step = rng.choice((1, 1, 2, 3, 5))
        self.numbers = {name: rng.randint(-3, 24) for name in ("a", "b", "start")}
        self.numbers["stop"] = self.numbers["start"] + rng.choice((0, 1, 2, rng.randint(-4, 20)))
        self.start = "start" if rng.random() < 0.3 else str(rng.choice((0, 0, 1, 4)))
        self.stop = rng.choice(("stop", "stop", f"stop + {self.step}"))
        self.wrong = rng.random() < 0.1
        places = [f"{self.start} + {self.step * k}" for k in (0, 1, 1, 2)]
        places += ["stop", f"({self.stop} - {self.step})", "a", "b", "(a + b)"]
        self.places = rng.sample(places, rng.choice((1, 2, 2, 2, 3)))
        self.names = 0

    def condition(self, op: str, place: str) -> tuple[list[str], str]:
        """Return a condition in some words, with lines that stand before it."""
        text = self.rng.choice(WAYS[op]).format(place)
        if self.rng.random() < 0.2:
            self.names += 1
            return [f"c{self.names}: bool @ block[1] = {text}"], f"c{self.names}"
        return [], text

    def under(self, op: str, place: str, lines: list[str]) -> list[str]:
        """Return lines under a condition; under an `else` as well as under an `if`."""
        if self.rng.random() < 0.2:
            before, text = self.condition("<" if op == ">=" else ">=", place)
            return [*before, f"if {text}:", "    pass", "else:", *("    " + line for line in lines)]
        before, text = self.condition(op, place)
        return [*before, f"if {text}:", *("    " + line for line in lines)]

    def trips(self) -> range:
        """Return the trips that the loop makes."""
        return range(self.value(self.start), self.value(self.stop), self.step)

    def value(self, text: str) -> int:
        """Return what a place is."""
        return int(eval(text, {}, self.numbers))

    def write(self) -> Edge:
        """Return the program."""
        rng = self.rng
        rings, fills, uses, deeds = list[str](), list[str](), list[str](), list[tuple[str, str, str, int]]()
        for name in [f"r{k}" for k in range(rng.choice((1, 2, 2, 3)))]:
            op, place, factor = rng.choice((">=", "<")), rng.choice(self.places), 2 * rng.randint(1, 9) + 1
            other = (
                rng.choice([p for p in (*self.places, "a - 7") if p != place]) if self.wrong and not deeds else place
            )
            rings.append(f"{name}: shared(int32[{WIDTH}], ring={rng.randint(1, 4)})")
            fills += self.under(op, place, [line.format(name, self.start) for line in FILL])
            uses += self.under(op, other, [line.format(name, factor) for line in USE])
            deeds.append(("use", op, place, factor))
            for kind in rng.choices(list(PLAIN), k=rng.choice((0, 1, 1, 2))):
                more, at = rng.choice((">=", "<")), rng.choice(self.places)
                uses += self.under(more, at, [line.format(factor) for line in PLAIN[kind]])
                deeds.append((kind, more, at, factor))
        lines = {"rings": (8, rings), "body": (12, [*fills, *uses])}
        parts = {key: "\n".join(" " * deep + line for line in found) for key, (deep, found) in lines.items()}
        text = TEXT.format(range=f"{self.start}, {self.stop}, {self.step}", **parts)
        x = np.random.default_rng(rng.randrange(1000)).integers(0, 2**31, (ROWS, WIDTH), np.int32)
        numbers = [np.int32(value) for value in self.numbers.values()]
        expected = None if self.wrong else [self.expected(x, deeds)]
        return Edge(
            text, 1, 64, lambda: [x.copy(), np.zeros(WIDTH, np.int32), *numbers], (1,), expected,
            None if self.wrong else True, why=f"{self.numbers}", head=HEAD,
        )  # fmt: skip

    def expected(self, x: Any, deeds: list[tuple[str, str, str, int]]) -> Any:
        """Return what the oracle makes of it."""
        total, s = np.ones(WIDTH, np.uint32), np.arange(64)
        for j in self.trips():
            for kind, op, place, factor in deeds:
                if (j >= self.value(place)) != (op == ">="):
                    continue
                if kind == "write":
                    s = factor * np.arange(64) + j
                    continue
                total = np.uint32(factor) * total
                if kind == "use":
                    total += x[j - self.value(self.start)].astype(np.uint32)
                elif kind == "read":
                    total += s[63:31:-1].astype(np.uint32)
        return total.view(np.int32)


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).write()
