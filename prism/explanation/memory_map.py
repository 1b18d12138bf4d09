"""The map of shared memory, as SVG."""

from __future__ import annotations

from collections.abc import Iterator

from prism.explanation.markup import Markup, tag
from prism.lang.lower.pieces import Piece

_LEFT, _WIDE, _BAR, _PITCH = 210, 620, 16, 24


def memory(pieces: tuple[Piece, ...], size: int, title: str) -> Markup:
    """Return the map: a row for each object, in the order of the program, bytes from left to right, to scale."""
    step = _step(size)
    height = 30 + len(pieces) * _PITCH
    parts: list[Markup] = [tag("title", title)]
    for byte in (*range(0, size, step), size):
        x = _LEFT + _WIDE * byte / size
        if byte == size or size - byte >= step / 2:
            parts.append(tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=22, y2=height - 4, cls="rule"))
            parts.append(tag("text", str(byte), x=f"{x:.1f}", y=14, cls="tick"))
    for row, piece in enumerate(pieces):
        parts += _bar(piece, size, 30 + row * _PITCH)
    width = _LEFT + _WIDE + (280 if any(piece.copies > 1 for piece in pieces) else 190)
    return tag("svg", parts, viewBox=f"0 0 {width} {height}", cls="memory", role="img", width=width, height=height)


def _step(size: int) -> int:
    """Return a round number of bytes that cuts the map into four to eight parts."""
    step = 1
    while size > 8 * step:
        step *= 2
    return step


def _bar(piece: Piece, size: int, y: int) -> Iterator[Markup]:
    x, width = _LEFT + _WIDE * piece.start / size, max(3.0, _WIDE * piece.size / size)
    kind = "frame" if piece.frame else "reused" if piece.shares else "mbarriers" if piece.mbarriers else "object"
    yield tag("text", piece.name, x=8 + 14 * piece.depth, y=y + 12, cls="object-name")
    shape = {"x": f"{x:.1f}", "y": y, "width": f"{width:.1f}", "height": _BAR, "rx": 2}
    yield tag("rect", tag("title", _bytes(piece)), cls=kind, **shape)
    for copy in range(1, piece.copies if width > 8 * piece.copies else 0):
        cut = f"{x + width * copy / piece.copies:.1f}"
        yield tag("line", x1=cut, x2=cut, y1=y, y2=y + _BAR, cls="copy")
    yield tag("text", _bytes(piece), x=_LEFT + _WIDE + 10, y=y + 12, cls="bytes")


def _bytes(piece: Piece) -> str:
    copies = f" ({piece.copies} x {piece.stride})" if piece.copies > 1 else ""
    return f"{piece.start} to {piece.end - 1}: {piece.size} B{copies}"
