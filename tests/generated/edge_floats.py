"""Programs with roles whose trips are decided by floats of the block: each role has a copy of the text, and both must agree.

The limits are numbers that the loop meets exactly: where one copy rounds `a * b + c` once and the other twice, they part, and one
role waits for ever. Two oracles: how many trips NumPy makes, rounding each operation by itself; and the emitted text, in which
nothing that a condition depends on may be a plain sum or product of floats. On the GPU (`--device`) a program that hangs is seen.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np

import prism
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import HEAD, loaded

SAMPLE = 8
TRIPS = 6
KERNEL = """\
@prism("device")
@requires(thread[1])
def step(a: {T} @ thread[1], b: {T} @ thread[1], c: {T} @ thread[1]) -> {T} @ thread[1]:
    product: {T} = a * b
    return product + c

@prism("global")
@attr("__launch_bounds__({threads})")
@requires(grid[1], block[1], thread[{threads}])
def kernel(y: ptr({T}) @ grid[1], made: ptr(int32) @ grid[1], x: ptr(const(float32)) @ grid[1],
           r: {T} @ grid[1], d: {T} @ grid[1], first: {T} @ grid[1], limit: {T} @ grid[1]):
    with partition(y, thread[1], id()) as out, partition(made, thread[1], id()) as trips, group(block[1]):
        row: shared(float32[32], ring=2)
        consumer, producer = roles(warp, {consumers}, 1)
        f: {T} @ block[1] = first
        v: {T}[2] @ block[1] = {{0}}
        n: int32 @ block[1] = 0
        total: {T} @ thread[1] = 0
        while {condition}:
{body}
            n += 1
        with group(thread[1]):
            out[0] = total
            trips[0] = n
"""
FILL = """\
            with claim(row, producer) as coming, one(thread):
                bulk_load(coming, x[0])
"""
READ = """\
            with claim(row, consumer) as here:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total += {T}(here[t % 32]) * {used}
"""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.type = rng.choice(("float32", "float32", "float32", "float64"))
        number = np.dtype(self.type).type
        self.r, self.d = number(rng.uniform(0.9, 1.6)), number(rng.uniform(-0.05, 0.3))
        self.first = number(rng.uniform(0.5, 1.5))
        self.consumers = rng.choice((1, 1, 2))
        self.update, self.used = self.updates()
        self.trips = rng.randrange(1, TRIPS)
        self.values = self.simulated(TRIPS + 2)
        self.limit = self.values[self.trips]

    def updates(self) -> tuple[list[str], str]:
        """What a trip makes of f, with one rounding an operation, and what a role uses beside it."""
        return self.rng.choice([
            (["g: {T} @ block[1] = f * r", "f = g + d"], "g"),
            (["f = f * r + d"], "f"),
            (["f = d + r * f"], "f"),
            (["g: {T} @ block[1] = f * r", "f = wrapping_add(g, d)"], "g"),
            (["f = step(f, r, d)"], "f"),
            (["v[0] = f * r", "v[1] = v[0] + d", "f = v[1]"], "v[0]"),
            (["g: {T} @ block[1] = f * r", "h: {T} @ block[1] = g + d", "f = h"], "g"),
            (["g: {T} @ block[1] = -(f * r)", "f = d - g"], "g"),
        ])  # fmt: skip

    def simulated(self, trips: int) -> list[np.floating]:
        """What f is before each trip: every update above is the product, rounded, plus d."""
        found = [self.first]
        for _ in range(trips):
            found.append(found[-1] * self.r + self.d)
        return found

    def condition(self) -> str:
        """What decides whether there is one more trip."""
        return self.rng.choice(
            ["f < limit", "f - limit < 0", "not f >= limit", "f * 1 < limit", "int32(f < limit) > 0"]
        )

    def text(self) -> str:
        """The program."""
        rng, update = self.rng, [f"            {line.format(T=self.type)}\n" for line in self.update]
        cut = rng.randrange(len(update)) if self.used == "f" else 1  # g is computed first
        before, after = "".join(update[:cut]), "".join(update[cut:])
        body = before + FILL + READ.format(T=self.type, used=self.used) + after
        facts = {"T": self.type, "threads": 32 * self.consumers + 32, "consumers": self.consumers}
        return KERNEL.format(**facts, condition=self.condition(), body=body.rstrip("\n"))

    def expected_trips(self) -> int:
        """How many trips there are, at most those that are simulated."""
        return next((k for k, f in enumerate(self.values) if not f < self.limit), len(self.values))


def program(seed: int) -> Edge:
    """Return the program of a seed: one whose loop ends."""
    for number in range(seed * 100, seed * 100 + 100):
        writer = Writer(number)
        made = writer.expected_trips()
        if 0 < made <= TRIPS:
            break
    text, threads, number_of = writer.text(), 32 * (writer.consumers + 1), np.dtype(writer.type).type
    scalars = [number_of(value) for value in (writer.r, writer.d, writer.first, writer.limit)]

    def inputs() -> list[object]:
        return [np.zeros(threads, number_of), np.zeros(threads, np.int32), np.ones(32, np.float32), *scalars]

    return Edge(text, 1, threads, inputs, results=(1,), expected=[np.full(threads, made, np.int32)], legal=True,
                why="both roles make as many trips", schedules=("round-robin", "random"))  # fmt: skip


def verify(seed: int) -> Outcome:
    """Return what becomes of a program on the reference machine, and whether its text may round otherwise on the GPU."""
    edge = program(seed)
    found = judged(edge, seed)
    if found.kind != "right":
        return found
    with loaded(HEAD + edge.text) as names:
        text = emit(lower(prism.check(names["kernel"]))).source
    plain = list(contracted(text))
    return Outcome(FAILED, "\n".join(plain)) if plain else found


# -- the emitted text -------------------------------------------------------------------------------------------------------

ASSIGNED = re.compile(r"^\s*(?:const )?(?:float |double |int )?(\w+)(?:\[\w+\])? = (.*);$")
ASKED = re.compile(r"^\s*(?:while|if) \((.*)\) \{$")
PLAIN = re.compile(r" [-+*] ")
RETURNED = re.compile(r"^\s*return (.*);$")


def plainly(text: str) -> str:
    """Return an emitted text with the program's own names, which end in `_` there."""
    return re.sub(r"\b([a-zA-Z]\w*?)_\b", r"\1", text)


def contracted(text: str) -> Iterator[str]:
    """Yield what a condition of the kernel's loops depends on and is a plain sum or product."""
    lines = [line.split("  //")[0].rstrip() for line in plainly(text).splitlines()]
    kernel = next(k for k, line in enumerate(lines) if "__global__" in line)
    assigned = [(found[1], found[2]) for line in lines[kernel:] if (found := ASSIGNED.match(line))]
    asked = [
        found[1] for line in lines[kernel:] if (found := ASKED.match(line)) and re.search(r"\b(f|limit)\b", found[1])
    ]
    todo, seen = list(asked), set[str]()
    while todo:
        one = todo.pop()
        if PLAIN.search(one):
            yield f"what decides is computed by `{one}`"
        for name in set(re.findall(r"[a-zA-Z_]\w*", one)) - seen:
            seen.add(name)
            todo += [value for target, value in assigned if target == name]
            if name.startswith("prism_"):
                todo += list(_function(lines, name))


def _function(lines: list[str], name: str) -> Iterator[str]:
    """Yield the expressions of a device function."""
    start = next((k for k, line in enumerate(lines) if re.search(rf"__device__ .*\b{name}\(", line)), None)
    for line in lines[start + 1 :] if start is not None else ():
        if line == "}":
            return
        found = RETURNED.match(line) or ASSIGNED.match(line)
        if found:
            yield found[found.lastindex or 1]
