"""The map of a function's shared memory: each object, each called function's frame and what is in it, and who shares bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from prism.lang.keep.bases import Value
from prism.lang.lower.place import MBARRIER, gathered_bytes
from prism.lang.tree import Function, Pointer, SharedDeclare
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import calls, statements


class Piece(Value):
    """Bytes `start .. start + size - 1` of the frame: a shared object, or (`frame`) the whole frame of a called function.

    `copies` of a ring, or of the mbarriers of its copies (`mbarriers`), `stride` bytes apart.
    """

    name: str
    start: int
    size: int
    depth: int
    line: int
    frame: bool = False
    shares: tuple[str, ...] = ()
    copies: int = 0
    stride: int = 0
    mbarriers: bool = False

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.start + self.size


def pieces(program: Program, function: Function) -> tuple[Piece, ...]:
    """Return what lies in a function's frame, in the order of the program; a called function's objects after its frame."""
    found = list(dict.fromkeys(_pieces(program, function, 0, 0, None)))
    return tuple(replace(piece, shares=tuple(_sharing(found, index))) for index, piece in enumerate(found))


def _pieces(program: Program, function: Function, base: int, depth: int, line: int | None) -> Iterator[Piece]:
    layout = program.layouts.get(function)
    if layout is None:
        return
    for statement in statements(function.body):
        if isinstance(statement, SharedDeclare) and statement.symbol in layout.offsets:
            symbol = statement.symbol
            at, where = base + layout.offsets[symbol], statement.span.line if line is None else line
            copies = symbol.type.ring if isinstance(symbol.type, Pointer) else 0
            stride = layout.strides.get(symbol, 0) if copies else 0
            size = layout.total_bytes(symbol)
            if size:
                yield Piece(symbol.name, at, size, depth, where, copies=copies, stride=stride)
        for call in calls(statement):
            callee = program.layouts.get(call.function)
            if callee is not None and callee.bytes and id(call) in layout.frame:
                start, where = base + layout.frame[id(call)], call.span.line if line is None else line
                yield Piece(f"{call.function.name}()", start, callee.bytes, depth, where, frame=True)
                yield from _pieces(program, call.function, start, depth + 1, where)
    for mbarrier, at in layout.mbarriers.items():
        copies, where = mbarrier.cycle.copies, function.span.line if line is None else line
        size = MBARRIER * copies
        yield Piece(mbarrier.name, base + at, size, depth, where, copies=copies, stride=MBARRIER, mbarriers=True)
    if layout.room:
        yield Piece("all_gather", base + layout.gathers, gathered_bytes(layout), depth, function.span.line)


def _sharing(found: list[Piece], index: int) -> Iterator[str]:
    """Yield the earlier pieces whose bytes a piece has too, but for the frames that it is inside of."""
    piece = found[index]
    around = piece.depth
    for other in reversed(found[:index]):
        if other.frame and other.depth < around:
            around = other.depth
            continue
        if other.depth <= piece.depth and other.start < piece.end and piece.start < other.end:
            yield other.name
