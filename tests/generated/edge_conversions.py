"""Programs that convert floats to integers: NaN, infinities, what no integer has, and what narrower ones drop.

Chains of conversions, between floats and from integers too, of numbers that threads have, that the launch gives, and that stand
in the text. What comes out is a result, an index after it was clamped, a number of trips, or what a condition asks. The oracle is
Python's own integers: a float is cut off to 32 bits, or 64, saturates there, and narrower integers are the lowest of these.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np

from tests.generated.edges_verify import Edge

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SPECIAL = (
    "nan", "-nan", "inf", "-inf", "0", "-0.0", "0.99", "-0.99", "-1", "1.5", "-1.5", "127.5", "128", "-129", "255.9", "256",
    "-32769", "65504", "65536", "2147483520", "2147483648", "-2147483648", "-2147483904", "4294967040", "4294967296",
    "6e9", "-6e9", "9223371487098961920", "9223372036854775808", "-9223372036854775808", "18446742974197923840",
    "18446744073709551616", "1e30", "-1e30", "3e-42",
)  # fmt: skip
LITERALS = ("1e10", "-1e10", "3e9", "-1.5", "70000.0", "-0.5", "1e30")
THREADS, ROOM, SAMPLE = 64, 32, 16
KERNEL = """\
@prism("device")
@requires(thread[1])
def cut(v: {F} @ thread[1], bias: {I} @ thread[1] = 0) -> {I} @ thread[1]:
    return wrapping_add({I}(v), bias)

@prism("global")
@requires(grid[1], block[1], thread[{threads}])
def kernel(y: ptr({I}) @ grid[1], z: ptr(int32) @ grid[1], x: ptr(const({F})) @ grid[1], f: {F} @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as out, partition(z, thread[1], t) as spot, group(block[1]):
        room: shared(int32[{room}])
        with partition(room, thread[1], t) as mine, group(thread[1]):
            if t < {room}:
                mine[0] = 3 * t
        v: {F} @ thread[1] = x[t]
        w: float32 @ block[1] = {literal}
        trips: int32 @ block[1] = min(max(int32({trips}), 0), 4)
        total: int32 @ thread[1] = 0
        for k in range(trips):
            total += k + 1
        at: int32 @ thread[1] = int32(min(max({index}, {low}), {high}))
        with group(thread[1]):
            out[0] = {result}
            spot[0] = room[at] + 1000 * total + (100000 if {asked} else 0)
"""


def converted(value: Any, source: str, target: str) -> Any:
    """Return a number of one type as one of another: floats by NumPy, integers of floats as the instruction makes them."""
    if target in FLOATS:
        with np.errstate(all="ignore"):
            return np.dtype(target).type(value)
    signed, bits = target.startswith("i"), int(target.lstrip("uint"))
    if source in FLOATS:
        wide = max(bits, 32)
        least, most = (-(1 << wide - 1), (1 << wide - 1) - 1) if signed else (0, (1 << wide) - 1)
        if np.isnan(value):
            whole = 1 << wide - 1 if source == "float64" or wide == 64 else 0
        elif np.isinf(value):
            whole = most if value > 0 else least
        else:
            whole = min(max(int(Fraction(float(value))), least), most)
    else:
        whole = int(value)
    whole &= (1 << bits) - 1
    return np.dtype(target).type(whole - (1 << bits) if signed and whole >> bits - 1 else whole)


class Writer:
    """One program, by its seed. Expressions are texts, each with what gives its value of `v` and `f`, and its type."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.float, self.integer = self.rng.choice(FLOATS), self.rng.choice(INTEGERS)
        self.literal = np.float32(self.rng.choice(LITERALS))

    def source(self, *, block: bool = False) -> tuple[str, Any, str]:
        """A float: a thread's, or one that all have."""
        kind = self.rng.randrange(8)
        if kind == 0:  # a number that stands in the text, by a name: one that does not fit by itself is refused
            return "w", lambda v, f: self.literal, "float32"
        if block or kind == 1:
            return "f", lambda v, f: f, self.float
        if kind == 2:
            return "-v", lambda v, f: -v, self.float
        return "v", lambda v, f: v, self.float

    def to(self, found: tuple[str, Any, str], target: str) -> tuple[str, Any, str]:
        """What is found as a type."""
        text, value, source = found
        return f"{target}({text})", lambda v, f: converted(value(v, f), source, target), target

    def chain(self, target: str, *, block: bool = False) -> tuple[str, Any, str]:
        """A float that is converted again and again, in the end to `target`."""
        found = self.source(block=block)
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3))):
            found = self.to(found, self.rng.choice(FLOATS + INTEGERS))
        return self.to(found, target)

    def result(self) -> tuple[str, Any]:
        """What is stored: a chain, or what a device function makes of `v`."""
        if self.rng.random() < 0.3:
            bias = self.rng.choice((0, 0, 3, 100))
            made = lambda v, f: converted(int(converted(v, self.float, self.integer)) + bias, "", self.integer)
            return (f"cut(v, bias={bias})" if bias else "cut(v)"), made
        text, value, _ = self.chain(self.integer)
        return text, value

    def program(self) -> Edge:
        """The program, and what it makes."""
        result, trips, index = self.result(), self.chain("int32", block=True), self.chain(self.rng.choice(INTEGERS))
        asked, limit = self.chain(self.rng.choice(INTEGERS[4:])), self.rng.choice((0, 1, 100))
        low, high = self.rng.randrange(3), self.rng.randrange(3, ROOM)
        text = KERNEL.format(
            F=self.float, I=self.integer, threads=THREADS, room=ROOM, literal=repr(float(self.literal)), low=low, high=high,
            result=result[0], trips=trips[0], index=index[0], asked=f"{asked[0]} > {limit}",
        )  # fmt: skip
        with np.errstate(all="ignore"):
            numbers = np.array(SPECIAL, np.float64).astype(self.float)
        x = np.array([numbers[self.rng.randrange(numbers.size)] for _ in range(THREADS)], self.float)
        f = numbers[self.rng.randrange(numbers.size)]
        y, z = np.zeros(THREADS, self.integer), np.zeros(THREADS, np.int32)
        for t, v in enumerate(x):
            many = min(max(int(trips[1](v, f)), 0), 4)
            at = min(max(int(index[1](v, f)), low), high)
            y[t] = result[1](v, f)
            z[t] = 3 * at + 1000 * (many * (many + 1) // 2) + (100000 if int(asked[1](v, f)) > limit else 0)

        def inputs() -> list[Any]:
            return [np.zeros_like(y), np.zeros_like(z), x.copy(), f]

        return Edge(text, 1, THREADS, inputs, results=(0, 1), expected=[y, z], legal=True, why="each index was clamped")


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
