"""How a kernel is launched under `prism check --schedules`: how many blocks and threads there are, along up to three axes.

As the command says it, or so that each axis that the kernel asks about has more than one unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from prism.lang.facts.budget import MAX_BLOCKS, most_threads, shape_fault
from prism.lang.keep.bases import Value
from prism.lang.tree import Function
from prism.lang.tree.plan import Program

Along = tuple[int, ...]
"""Numbers along axes, the first axis innermost: one, two or three."""
MOST_AXES = 3
_LEAST_THREADS, _BLOCKS = 64, 2
_ALONG = re.compile(r"-?\d+(?:[x,]-?\d+){0,2}")


class InputError(Exception):
    """Arguments that cannot be made as asked, or not without being asked."""


class Shape(Value):
    """How a kernel is launched; `axes`: the blocks, then the threads, along each axis that the kernel asks about."""

    blocks: int
    threads: int
    axes: Along = ()

    @property
    def along(self) -> tuple[Along, Along]:
        """Blocks and threads, each along its axes."""
        half = len(self.axes) // 2
        return (self.axes[:half], self.axes[half:]) if half else ((self.blocks,), (self.threads,))

    @property
    def flat(self) -> tuple[int, ...]:
        """The axes above the first along which there is one block of one thread: an index along them is always 0."""
        pairs = enumerate(zip(*self.along, strict=True))
        return tuple(axis for axis, (blocks, threads) in pairs if axis and blocks == threads == 1)

    def __str__(self) -> str:
        each = (("block", self.blocks, self.along[0]), ("thread", self.threads, self.along[1]))
        return " of ".join(f"{spell(along)} {what}{'' if number == 1 else 's'}" for what, number, along in each)


def parse_along(text: str) -> Along:
    """Return the numbers along axes that a text says: `4`, `2x2` or `2,2`.

    Raises ValueError where it says none.
    """
    if _ALONG.fullmatch(text) is None:
        raise ValueError(f"a number, or one along each of two or three axes, as 2x2, not {text!r}")
    return tuple(int(number) for number in re.split("[x,]", text))


def spell(along: Along) -> str:
    """Return numbers along axes as the command takes them."""
    return "x".join(map(str, along))


def shape_of(program: Program, blocks: Along | None = None, threads: Along | None = None) -> Shape:
    """Return how many blocks and threads to run: what is given, else at least two of each kind that a barrier can join.

    Of a kernel that asks for indices along axes there are then at least two along each, where its bounds leave room for them.
    Raises InputError for a shape that the kernel does not take, as a launch would.
    """
    entry = program.entry
    unit, cluster, most = entry.bound.thread or 1, entry.bound.block or 1, most_threads(entry)
    if blocks is None:
        rest = (_BLOCKS,) * (max(1, entry.axes) - 1)
        blocks = (_blocks(cluster, math.prod(rest)), *rest)
    if threads is None:
        fitting = min(max(1, most // unit), -(-_LEAST_THREADS // unit))
        threads = tuple(_split(unit * fitting, max(1, entry.axes)))
    for what, along, multiple, limit in (
        ("blocks", blocks, entry.bound.block, MAX_BLOCKS),
        ("threads", threads, entry.bound.thread, most),
    ):
        why = _fault(entry, what, along, multiple, limit)
        if why:
            raise InputError(why)
    found = (*_padded(blocks, entry.axes), *_padded(threads, entry.axes)) if entry.axes else ()
    return Shape(math.prod(blocks), math.prod(threads), found)


def _fault(entry: Function, what: str, along: Along, multiple: int | None, limit: int) -> str | None:
    wrong = next((number for number in along if number < 1), None)
    why = shape_fault(entry.name, what, math.prod(along) if wrong is None else wrong, multiple, limit)
    if why is None and entry.axes and any(number != 1 for number in along[entry.axes :]):
        last = f"id({entry.axes - 1})"
        why = f"`{entry.name}` asks for indices up to `{last}`: its {what} have {entry.axes} axes, not {len(along)}"
    return why


def _padded(along: Along, axes: int) -> Along:
    return (*along, *(1,) * (axes - len(along)))[:axes]


def _blocks(cluster: int, rest: int) -> int:
    """Return the fewest blocks along the first axis, but two at least, of which all together are a multiple of a cluster."""
    step = cluster // math.gcd(cluster, rest)
    return step * -(-_BLOCKS // step)


def _split(number: int, axes: int) -> Iterator[int]:
    """Yield about equal factors of a number, the largest first; each is above 1 where the number has as many factors."""
    while axes > 1:
        side = max(1, round(number ** (1 / axes)))
        while number % side:
            side += 1
        yield side
        number, axes = number // side, axes - 1
    yield number
