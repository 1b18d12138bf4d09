"""What a derivation knows at one place of the program that it writes: the code's perspective, and the names in scope."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective

T = TypeVar("T")
INTEGERS = ("int32", "uint32", "int64")
SMALL = ("int8", "int16", "uint8", "uint16", "uint64")
FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
BITS = {
    "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "bool": 8, "T": 32,
}  # fmt: skip
VECTORS = {
    "int2": ("int32", 2), "int4": ("int32", 4), "uint2": ("uint32", 2), "uint4": ("uint32", 4),
    "float2": ("float32", 2), "float4": ("float32", 4), "double2": ("float64", 2), "half2": ("float16", 2),
    "half8": ("float16", 8), "vector(int64, 2)": ("int64", 2), "vector(bfloat16, 4)": ("bfloat16", 4),
    "vector(uint8, 16)": ("uint8", 16), "vector(int16, 2)": ("int16", 2),
}  # fmt: skip
STRUCTS = {"Pair": {"a": "int32", "b": "float32"}, "Trio": {"p": "uint8", "q": "int64", "r": "int16"}}
INPUTS = ("x", "y0", "y1")
"""Global memory that nobody writes. A function's parameter may be shared memory, which no asynchronous copy reads."""
WARPS = {32: "warp[1]", 64: "warp[2]", 128: "warpgroup[1]"}


class Choices(Protocol):
    """Where a derivation's choices come from: a seed, or Hypothesis, which can then shrink them."""

    def number(self, low: int, high: int) -> int:
        """Return a number, both ends included."""


class Seeded:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        """Return a number, both ends included."""
        return self.random.randint(low, high)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """Return one of the options."""
    return options[choices.number(0, len(options) - 1)]


@dataclass(frozen=True)
class Value:
    """A number, bool or vector in scope; `fixed` ones are never assigned; `natural` ones are never negative.

    `count`: the number that it is, if it counts units.
    """

    name: str
    type: str
    place: Perspective
    fixed: bool = False
    natural: bool = False
    count: int = 0


@dataclass(frozen=True)
class Local:
    """A local array in scope."""

    name: str
    type: str
    place: Perspective
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Memory:
    """Memory in scope, for each unit of `place`: `shape` is what its indices range over.

    `plain`: its elements lie side by side; `aligned`: the first of them is at a multiple of so many elements.
    `tally` memory is only ever added to, atomically; `root` is the object behind a view. `whole`: it is all of a shared object.
    """

    name: str
    type: str
    place: Perspective
    shape: tuple[int, ...]
    root: str
    const: bool = False
    shared: bool = False
    plain: bool = True
    tally: bool = False
    aligned: int = 1
    whole: bool = False

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        """How many indices an element takes."""
        return len(self.shape)


@dataclass(frozen=True)
class Scope:
    """One place of the program. `threads`: those of a block at the launch; `entry`: those guaranteed to a unit of the code.

    `trips`: how often the place is run at most, through the loops around it; `once`: a ring may be declared.
    """

    code: Perspective
    entry: int
    threads: int
    blocks: int
    cluster: int
    whole: bool = True
    values: tuple[Value, ...] = ()
    locals: tuple[Local, ...] = ()
    memories: tuple[Memory, ...] = ()
    loop: bool = False
    result: tuple[str, Perspective] | None = None
    trips: int = 1
    once: bool = False

    def add(self, *names: Value | Local | Memory) -> Scope:
        """Return the scope with more names."""
        return replace(
            self,
            values=(*self.values, *(n for n in names if isinstance(n, Value))),
            locals=(*self.locals, *(n for n in names if isinstance(n, Local))),
            memories=(*self.memories, *(n for n in names if isinstance(n, Memory))),
        )

    def without(self, *memories: Memory) -> Scope:
        """Return the scope in which some memory goes by another name, or is not to be touched."""
        gone = {memory.name for memory in memories}
        return replace(self, memories=tuple(m for m in self.memories if m.name not in gone))

    def narrow(self, unit: Perspective) -> Scope:
        """Return the scope inside a group or arm: jumps may not leave it."""
        if unit.level == Level.BLOCK:
            return replace(self, code=unit, cluster=unit.size, loop=False, result=None)
        return replace(self, code=unit, entry=unit.size, whole=False, loop=False, result=None)

    def arm(self, unit: Perspective) -> Scope:
        """Return the scope inside an arm, where parts that other arms may share are not touched.

        The compiler refuses some programs without a race here: it does not compare which units two arms are of.
        """
        kept = (m for m in self.memories if m.const or m.tally or m.place.level > Level.THREAD or m.place <= unit)
        return replace(self.narrow(unit), memories=tuple(kept), once=False)

    def bounded(self) -> Scope:
        """Return the scope inside a partition or claim: jumps may not leave it."""
        return replace(self, loop=False, result=None, once=self.once and self.code == GRID)

    def looped(self, trips: int) -> Scope:
        """Return the scope inside a loop."""
        return replace(self, loop=True, trips=self.trips * trips, once=False)

    def count(self, unit: Perspective) -> int:
        """How many units one unit of the code has at the launch."""
        blocks = {Level.GRID: self.blocks, Level.BLOCK: self.code.size, Level.THREAD: 1}[self.code.level]
        if unit.level == Level.BLOCK:
            return blocks // unit.size
        threads = self.code.size if self.code.level == Level.THREAD else blocks * self.threads
        return 1 if unit.level == Level.GRID else threads // unit.size

    def units(self) -> list[Perspective]:
        """Return the perspectives that can be counted, grouped and declared here, the code's own first."""
        found = [self.code]
        if self.code == GRID:
            found += [Perspective(Level.BLOCK, n) for n in (self.cluster, 1) if self.cluster % n == 0]
        elif self.code.level == Level.BLOCK:
            found += [BLOCK]
        sizes = [n for n in (1, 2, 4, 8, 16, 32, 48, 64, 96, 128) if self.entry % n == 0]
        found += [Perspective(Level.THREAD, n) for n in sizes]
        return list(dict.fromkeys(found))

    def splits(self, choices: Choices, arms: int, step: int = 1) -> list[int]:
        """Return sizes, multiples of `step`, for the arms of a split of the threads (R3, R4)."""
        sizes: list[int] = []
        for _ in range(arms):
            first = sum(sizes)
            fits = [
                n for n in (1, 2, 4, 8, 16, 32, 64, 96, 128, 192)
                if n % step == 0 and first + n <= self.entry and first % n == 0 and (self.whole or self.entry % n == 0)
            ]  # fmt: skip
            if not fits:
                break
            sizes.append(pick(choices, fits))
        return sizes

    def readable(self, memory: Memory, place: Perspective) -> bool:
        """Whether a load from this memory is one value for each unit of `place` (R7, R19)."""
        if memory.tally or not place <= memory.place:
            return False
        return memory.const or (memory.shared and self.code <= BLOCK) or (place == THREAD and memory.place <= BLOCK)
