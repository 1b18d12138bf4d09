"""Pictures of boxes, cells, arrows and words, as SVG that suits a light or a dark desktop, in the colours of `prism explain`."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "pictures"
CELL = 34
LIGHT = (
    "--paper:#fff;--ink:#1f2430;--soft:#5b6475;--rule:#8a919c;--wall:#b3261e;"
    "--grid:#f1f3f6;--grid-bar:#8f99aa;--block:#e3eefb;--block-bar:#5d93d6;--warp:#e2f2e5;--warp-bar:#5aa56c;"
    "--thread:#fbeeda;--thread-bar:#cf9440;--free:#fff;--free-bar:#8a919c"
)
DARK = (
    "--paper:#14171d;--ink:#e3e7ee;--soft:#a3adbd;--rule:#7a8496;--wall:#ff9b8f;"
    "--grid:#1d222b;--grid-bar:#6b778d;--block:#17263b;--block-bar:#4c81c4;--warp:#182c1e;--warp-bar:#4f9a62;"
    "--thread:#302413;--thread-bar:#b98437;--free:#1a1e26;--free-bar:#6b778d"
)
KINDS = ("grid", "block", "warp", "thread", "free")
STYLE = (
    f"svg{{{LIGHT}}}@media(prefers-color-scheme:dark){{svg{{{DARK}}}}}"
    "text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:var(--ink)}.soft{fill:var(--soft);font-size:12px}"
    ".code{font:12.5px ui-monospace,'DejaVu Sans Mono',monospace}.wall{fill:var(--wall)}.paper{fill:var(--paper)}"
    ".way{stroke:var(--rule);stroke-width:1.4;fill:none}.barrier{stroke:var(--wall);stroke-width:2.5;fill:none}"
    ".tip{fill:var(--rule)}"
    + "".join(f".{kind}{{fill:var(--{kind});stroke:var(--{kind}-bar);stroke-width:1.3}}" for kind in KINDS)
)


@dataclass
class Drawing:
    """Parts of a picture, and how large it is."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, what: str, kind: str = "", anchor: str = "start") -> None:
        """Write a line; `kind` is `soft`, `code`, `wall`, or several of them."""
        said = html.escape(what, quote=False)
        self.parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}" xml:space="preserve">{said}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind: str, label: str = "") -> None:
        """Draw a box in the colours of a level, with its name in the upper left corner."""
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>')
        if label:
            self.text(x + 8, y + 17, label, "code")

    def cells(self, x: float, y: float, values: Iterable[Any], kinds: str | Iterable[str], width: float = CELL) -> None:
        """Draw a row of cells, all of one colour or each of its own."""
        values = list(values)
        for k, (value, kind) in enumerate(
            zip(values, [kinds] * len(values) if isinstance(kinds, str) else kinds, strict=True)
        ):
            self.parts.append(f'<rect class="{kind}" x="{x + k * width:g}" y="{y:g}" width="{width:g}" height="26"/>')
            self.text(x + (k + 0.5) * width, y + 18, str(value), "", "middle")

    def way(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Draw an arrow."""
        dx, dy = to_x - x, to_y - y
        length = max((dx * dx + dy * dy) ** 0.5, 1)
        ux, uy = dx / length, dy / length
        left, right = (
            (to_x - 7 * ux - 3.5 * uy, to_y - 7 * uy + 3.5 * ux),
            (to_x - 7 * ux + 3.5 * uy, to_y - 7 * uy - 3.5 * ux),
        )
        self.parts.append(f'<path class="way" d="M{x:.4g} {y:.4g}L{to_x - 5 * ux:.4g} {to_y - 5 * uy:.4g}"/>')
        self.parts.append(
            f'<path class="tip" d="M{to_x:.4g} {to_y:.4g}L{left[0]:.4g} {left[1]:.4g}L{right[0]:.4g} {right[1]:.4g}Z"/>'
        )

    def barrier(self, x: float, y: float, to_x: float) -> None:
        """Draw a barrier: a line that all above it cross together."""
        self.parts.append(f'<path class="barrier" d="M{x:g} {y:g}H{to_x:g}"/>')

    def svg(self) -> str:
        """Return the picture."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" viewBox="0 0 {self.width} {self.height}" '
        name, paper = html.escape(self.title), '<rect class="paper" width="100%" height="100%"/>'
        back = f'role="img" aria-label="{name}"><style>{STYLE}</style>{paper}'
        return head + back + "\n" + "\n".join(self.parts) + "\n</svg>\n"
