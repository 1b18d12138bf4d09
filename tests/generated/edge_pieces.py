"""Loops in pieces: rings that are visited in a part of a loop's range each, by conditions written in several ways.

Two or three rings, filled by one role and used by another, under conditions that hold from some trip on or up to some trip: the
first, the last, one that an argument says. The other role's condition says the same in other words, or in a few programs another
thing, which is refused. Between the visits stand statements under such conditions too. The oracle makes the trips in NumPy.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.generated.edges_verify import Edge

ROWS, WIDTH = 64, 32
HEAD = """\
from prism.lang import (
    attr, block, bulk_load, claim, const, grid, group, id, int32, one, partition, prism, ptr, requires, roles, shared, thread, uint32,
    warp,
)

"""
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
        rings = [
            (f"r{k}", rng.randint(1, 4), rng.choice((">=", "<")), rng.choice(self.places))
            for k in range(rng.choice((1, 2, 2, 3)))
        ]
        fills: list[str] = []
        uses: list[str] = []
        deeds: list[tuple[str, str, int]] = []
        for number, (name, _, op, place) in enumerate(rings):
            factor = 2 * rng.randint(1, 9) + 1
            fills += self.under(
                op,
                place,
                [
                    f"with claim({name}, loader) as coming, one(thread):",
                    f"    bulk_load(coming, x[{WIDTH} * (j - {self.start})])",
                ],
            )
            other = (
                rng.choice([p for p in (*self.places, "a - 7") if p != place]) if self.wrong and not number else place
            )
            uses += self.under(
                op,
                other,
                [
                    f"with claim({name}, adders) as here, group(thread[1]):",
                    f"    total = {factor} * total + uint32(here[t])",
                ],
            )
            deeds.append((op, place, factor))
            if rng.random() < 0.5:
                more, at = rng.choice((">=", "<")), rng.choice(self.places)
                uses += self.under(more, at, ["with group(thread[1]):", "    total = 3 * total"])
                deeds.append((more, at, -3))
        declared = [f"{name}: shared(int32[{WIDTH}], ring={copies})" for name, copies, _, _ in rings]
        body = [
            *declared, "adders, loader = roles(warp, 1, 1)", "t: int32 @ thread[1] = id()", "total: uint32 @ thread[1] = 1",
            f"for j in range({self.start}, {self.stop}, {self.step}):", *("    " + line for line in (*fills, *uses)),
            "with partition(out, thread[1], t) as mine, adders, group(thread[1]):", "    mine[0] = int32(total)",
        ]  # fmt: skip
        parameters = "x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], " + ", ".join(
            f"{n}: int32 @ grid[1]" for n in self.numbers
        )
        text = "\n".join((
            '@prism("global")', '@attr("__launch_bounds__(64)")', "@requires(grid[1], block[1], warp[2])", f"def kernel({parameters}):",
            f"    with partition(y, block[1], {WIDTH} * id()) as out, group(block[1]):", *("        " + line for line in body), "",
        ))  # fmt: skip
        x = np.random.default_rng(rng.randrange(1000)).integers(0, 2**31, (ROWS, WIDTH), np.int32)
        inputs = [x, np.zeros(WIDTH, np.int32), *map(np.int32, self.numbers.values())]
        return Edge(
            text, 1, 64, lambda: [value.copy() if isinstance(value, np.ndarray) else value for value in inputs], (1,),
            None if self.wrong else [self.expected(x, deeds)], why=f"{self.numbers}", head=HEAD,
        )  # fmt: skip

    def expected(self, x: Any, deeds: list[tuple[str, str, int]]) -> Any:
        """Return what the oracle makes of it."""
        total = np.ones(WIDTH, np.uint32)
        for j in self.trips():
            for op, place, factor in deeds:
                if (j >= self.value(place)) == (op == ">="):
                    row = x[j - self.value(self.start)].astype(np.uint32)
                    total = np.uint32(3) * total if factor < 0 else np.uint32(factor) * total + row
        return total.view(np.int32)


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).write()
