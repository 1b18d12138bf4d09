"""docs/reference.md has every construct and every rule, as the compiler declares them."""

from __future__ import annotations

import re

import pytest

import prism.lang
from prism.lang import surface
from prism.lang.errors import catalogue
from prism.lang.intrinsics import NAMES
from prism.lang.intrinsics.table import markdown
from prism.lang.types import SCALARS, Scalar, Vector
from tests.docs.regions import DOCS, compare

PYTHON = {"CompileError", "InternalError", "Kernel"}  # classes for Python code, not for kernels
WORDS = {
    "grid": "`grid[1]`: all blocks of a launch",
    "block": "`block[n]`: n blocks of a cluster, or `block[1]`; `block.scan` and others are its collectives",
    "warp": "`warp[n]`: `thread[32 * n]`; `warp.scan` and others are its collectives",
    "warpgroup": "`warpgroup[n]`: `thread[128 * n]`",
    "thread": "`thread[n]`: n threads that start at a multiple of n; `thread.sort` and others are its functions",
    "prism": '`@prism("global")`: a kernel; `@prism("device")`: a function that kernels call',
    "intrinsic": "`@intrinsic(text, meaning=...)`: one instruction, or a few, behind a signature with perspectives",
}
TEMPLATES, MEMORY, ROLES = (
    f"language.md#{heading}" for heading in ("functions-and-templates", "memory-partition-and-claim", "roles")
)
PLACES = {  # where the first mention is not the one that explains
    "block": "language.md#perspectives", "column": "language.md#tensor-maps-tiles-and-fragments",
    "row": "language.md#tensor-maps-tiles-and-fragments", "vector": "language.md#loops-conditions-numbers",
    "intrinsic": "intrinsics.md#one-of-your-own", "kernel": "language.md#launching", "prism": "language.md#launching",
    "claim": MEMORY, "partition": MEMORY, "one": ROLES, "roles": ROLES,
    "constexpr": TEMPLATES, "device": TEMPLATES, "dtype": TEMPLATES, "function": TEMPLATES, "template": TEMPLATES,
}  # fmt: skip
PAGES = ("language.md", "intrinsics.md", "errors.md")


def slug(heading: str) -> str:
    """Return GitHub's anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def place(name: str) -> str:
    """Return the section that first mentions a name in its text, else in its programs."""
    for programs in (False, True):
        for page in PAGES:
            text = (DOCS / page).read_text(encoding="utf-8")
            for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
                prose = section if programs else re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL)
                if re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`" if not programs else rf"\b{name}\b", prose):
                    return f"{page}#{slug(section.partition(chr(10))[0])}"
    raise AssertionError(f"no page says what `{name}` is")


def meaning(name: str, value: object) -> str:
    """Return what a construct is, in a line."""
    if name in WORDS:
        return WORDS[name]
    if isinstance(value, surface.Construct):
        use, _, rest = value.doc.partition(": ")
        return f"`{use}`: {rest}" if rest else value.doc
    text = (value.__doc__ or "").partition("\n")[0]
    return f"`@{name}`: {text[0].lower()}{text[1:].rstrip('.')}"


def cell(text: str) -> str:
    """Return text that may stand in a table."""
    return text.replace("|", r"\|")


def constructs() -> dict[str, object]:
    """Return what kernels are written with, but for types and intrinsics."""
    found = {name: getattr(prism.lang, name) for name in prism.lang.__all__ if name not in NAMES and name not in PYTHON}
    types = (Scalar, Vector, surface.VectorCast)
    return {name: value for name, value in sorted(found.items()) if not isinstance(value, types)}


def test_every_construct_is_in_the_index(request: pytest.FixtureRequest) -> None:
    lines = ["| name | what it is | read on |", "|---|---|---|"]
    for name, value in constructs().items():
        where = PLACES.get(name) or place(name)
        page, _, anchor = where.partition("#")
        headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
        (heading,) = (heading for heading in headings if slug(heading) == anchor)
        lines.append(f"| `{name}` | {cell(meaning(name, value))} | [{heading}]({where}) |")
    scalars = ", ".join(f"`{name}`" for name in SCALARS)
    lines.append(f"| types | {scalars}; vectors of them, as `float4`, and `float4_cast` | [Loops, conditions, numbers]"
                 "(language.md#loops-conditions-numbers) |")  # fmt: skip
    compare(request, "reference.md", "constructs", "\n".join(lines))


def test_every_rule_is_in_the_index(request: pytest.FixtureRequest) -> None:
    errors = (DOCS / "errors.md").read_text(encoding="utf-8")
    sections = {s.partition("\n")[0]: s.partition("\n")[2] for s in re.split(r"^## ", errors, flags=re.MULTILINE)[1:]}
    rules = {error.code: error.rule for error in catalogue()}
    lines = ["| rule | code | |", "|---|---|---|"]
    for code, rule in sorted(rules.items(), key=lambda pair: (int(pair[1][1:] or 99) if pair[1] else 99, pair[0])):
        first = " ".join(re.sub(r"^R\d+\. ", "", sections[code].strip()).split("\n\n")[0].split())
        sentence = re.split(r"(?<=\.)\s", first)[0].rstrip(".")
        lines.append(f"| {rule or '-'} | [{code}](errors.md#{code}) | {cell(sentence)} |")
    compare(request, "reference.md", "rules", "\n".join(lines))


def test_intrinsics_have_their_own_table() -> None:
    """The index leaves intrinsics out: docs/intrinsics.md has each of them."""
    assert all(f"| `{name}`" in markdown() for name in ("shuffle_down", "wgmma", "atomic_add"))
