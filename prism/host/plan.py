"""What a call comes to: launches, one after the other, on memory that goes by names. Nothing here looks at an array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from prism.lang.surface import Kernel
from prism.lang.types.structs import dtype_called
from prism.runtime.instance import Instance, instance

ALIGNED = 256  # bytes: what each part of the scratch memory is aligned to
WORDS, SCRATCH, OUT = "words", "scratch", "out"
"""Names of memory that is no argument of the call: see `Plan`. `OUT` is the call's first, or only, result."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a step takes, from byte `offset` on: an array of the call by its name, or `WORDS` or `SCRATCH`.

    Of the last two: `count` elements of the kernels' type `dtype`.
    """

    name: str
    offset: int = 0
    dtype: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Reach(Buffer):
    """All that an array of the call takes up to its last byte, gaps too, from byte `offset` of its first element on."""


@dataclass(frozen=True, slots=True)
class Number(Buffer):
    """A number of the call by its name, of the kernels' type `dtype`, of at most 8 bytes: it may be another in each call."""


X, Y = Buffer("x"), Buffer(OUT)


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor map of an array that begins where a buffer does, or so many bytes `before` it; `strides` in bytes.

    Before it there is nothing: a kernel must not touch those elements.
    """

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    before: int = 0


NO_MAP = bytes(128)
"""What stands for a tensor map that a kernel doesn't touch."""


@dataclass(frozen=True, slots=True)
class Step:
    """One launch. `arguments`: a buffer, a map or a number for each of the kernel's parameters, by its name.

    `late`: it begins when what is before it on the stream has ended, though its kernel could begin early.
    """

    instance: Instance
    blocks: int
    threads: int
    arguments: Mapping[str, Any]
    late: bool = False


@dataclass(frozen=True, slots=True)
class Clear:
    """Zeros written to a buffer, before the steps behind."""

    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, one after the other, and the memory beside the call's arrays that they take.

    `words`: bytes that are zero before the first launch of all that have the same `tag`, on a stream, and that each launch leaves
    as the next one needs them. `scratch`: bytes of any content: what is small the stream keeps, the rest is lent by the arrays'
    library for a call. `lent`: maps may be of them, and a captured graph has its own, however few they are.
    """

    steps: tuple[Step | Clear, ...]
    words: int = 0
    tag: str = ""
    scratch: int = 0
    lent: bool = False

    def instances(self) -> Iterator[Instance]:
        """Yield the kernels that it launches."""
        return (step.instance for step in self.steps if isinstance(step, Step))


class Machine(Protocol):
    """What a plan must know of where it will run."""

    @property
    def host(self) -> bool:
        """Whether it is the reference machine."""
        ...

    @property
    def arch(self) -> str:
        """The GPU's architecture, as in `sm_90a`; "" of the reference machine."""
        ...

    @property
    def multiprocessors(self) -> int:
        """How many there are."""
        ...

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks of so many threads run at once."""
        ...


class Scratch:
    """Scratch memory, dealt out."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, dtype: str, count: int) -> Buffer:
        """Return room for so many elements of a kernel's type."""
        found = Buffer(SCRATCH, self.used, dtype, count)
        self.used += math.ceil(count * size_of(dtype) / ALIGNED) * ALIGNED
        return found


def move_steps(steps: Iterable[Step | Clear], change: Callable[[Buffer], Any]) -> tuple[Step | Clear, ...]:
    """Return steps that take what `change` makes of each buffer: other memory, or a number."""

    def moved(value: Any) -> Any:
        if isinstance(value, Map):
            return replace(value, buffer=change(value.buffer))
        return change(value) if isinstance(value, Buffer) else value

    return tuple(
        replace(step, arguments={name: moved(value) for name, value in step.arguments.items()})
        if isinstance(step, Step)
        else Clear(change(step.buffer))
        for step in steps
    )


def nothing(dtype: str) -> Buffer:
    """Return what stands for an array that a kernel doesn't touch."""
    return Buffer(SCRATCH, 0, dtype, 0)


def size_of(scalar: str) -> int:
    """Return the bytes of a kernel's scalar, or struct, by its name."""
    return dtype_called(scalar).itemsize


def instance_of(kernel: Kernel, template: Mapping[str, Any]) -> Instance:
    """Return a kernel with its template arguments."""
    return instance(kernel, tuple(sorted(template.items())))
