"""The table of all intrinsics as Markdown, for docs/intrinsics.md: `python -m pytest tests/docs --update-golden` writes it."""

from __future__ import annotations

from prism.lang.intrinsics import FAMILIES, Intrinsic

HEAD = (
    "| intrinsic | run by | result at | types of T | from | memory | what it does |",
    "|---|---|---|---|---|---|---|",
)


def markdown() -> str:
    """Return a section for each family: a line an intrinsic, made of its declaration."""
    sections = []
    for family, intrinsics in FAMILIES.items():
        lines = "\n".join([*HEAD, *map(_line, intrinsics)])
        sections.append(f"### {family}\n\n{lines}\n")
    return "\n".join(sections)


def _line(i: Intrinsic) -> str:
    generic = any(p.type == "T" and p.kind != "static" for p in i.parameters)
    place = "-" if i.result is None else str(i.result_unit or "its operands'")
    cells = (
        f"`{i.name}`", str(i.requires), place, i.allows_text if generic else "-", i.min_arch, i.effect or "-", _text(i.doc),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _text(doc: str) -> str:
    """Return a doc line with its usage as code: what stands before the first colon outside brackets."""
    depth = 0
    for at, c in enumerate(doc):
        depth += (c in "([") - (c in ")]")
        if c == ":" and depth == 0:
            return f"`{doc[:at]}`{doc[at:]}".replace("|", "\\|")
    return doc.replace("|", "\\|")
