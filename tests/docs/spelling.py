"""One spelling of what marks a function: `@prism.kernel` and `@prism.device`.

    python -m tests.docs.spelling docs examples kernels      rewrites the files of some folders

The same functions are called `kernel` and `device` in `prism.lang`, for `pl.kernel`, and *Typed Perspectives* spells them
`@prism("global")` and `@prism("device")`. docs/reference/kernel.md says that; elsewhere in the documentation and the examples
there is one spelling. And template parameters are in quotes in a bound, `thread["THREADS"]`, so that type checkers take it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAPER = {"global": "kernel", "device": "device"}
OTHERS = {
    Path("docs/reference/prism.md"), Path("docs/reference/kernel.md"), Path("docs/reference/device.md"), Path("docs/api.md"),
    Path("docs/reference.md"), Path("CHANGELOG.md"), Path("docs/editors.md"), Path("tests/docs/spelling.py"),
}  # fmt: skip
"""Files that speak of the other spellings, or are made from the package's own docstrings."""
FENCED = re.compile(r"^```python.*?^```$", re.MULTILINE | re.DOTALL)
BOUND = re.compile(r"@requires\((?:[^()]|\([^()]*\))*\)")
SIZE = re.compile(
    r"""\b(?P<unit>thread|warp|warpgroup|block)\[(?P<size>[^]"']*[A-Za-z_][^]"']*)\]|smem=(?P<bytes>[^,")]*[A-Za-z_][^,")]*)"""
)
TEMPLATE = re.compile(r"@template\((?P<named>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
LISTED = re.compile(r"from prism\.lang import (?:\((?P<many>[^)]*)\)|(?P<one>[^\n]*))")


def respell(text: str) -> str:
    """Return a page's or a file's text with the one spelling; imports that nothing needs any more are left out."""
    text = re.sub(r"""@prism\((["'])(global|device)\1\)""", lambda found: f"@prism.{PAPER[found[2]]}", text)
    if re.search(r"^import prism$|^from prism\.lang import (\([^)]*|[^\n(]*)\bprism\b", text, re.MULTILINE):
        text = re.sub(r"^(\s*(?:>>> |\.\.\. )?)@(kernel|device)$", r"\1@prism.\2", text, flags=re.MULTILINE)
        code = "".join(FENCED.findall(text)) or text
        for name in PAPER.values():
            if not re.search(rf"(?<![.\w`]){name}(?=[\[.(])|@{name}\b", code):
                text = LISTED.sub(lambda found, name=name: without(found[0], name), text)
    return quote_bounds(text)


def quote_bounds(text: str) -> str:
    """Return a text in whose bounds the sizes that name a template parameter are in quotes."""
    named = {name for found in TEMPLATE.finditer(text) for name in re.findall(r"\b(\w+)\s*=|\"(\w+)\"", found["named"])}
    parameters = {one for pair in named for one in pair if one} - {"default"}

    def quote(found: re.Match[str]) -> str:
        size = found["size"] or found["bytes"]
        if not parameters & set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", size)):
            return found[0]
        return f'{found["unit"]}["{size}"]' if found["size"] else f'smem="{size}"'

    return BOUND.sub(lambda bound: SIZE.sub(quote, bound[0]), text)


def without(statement: str, name: str) -> str:
    """Return an import without a name; as it is where that is the only one."""
    left = re.sub(rf"(?<=[\s(,]){name}, ?|, {name}(?=\s*$|\)|\n)", "", statement)
    return re.sub(r"[ \t]+$", "", left, flags=re.MULTILINE) if left != statement else statement


def files(places: list[str]) -> Iterator[Path]:
    """Yield the pages and Python files of some folders of the repository."""
    for place in places:
        root = ROOT / place
        found = [root] if root.is_file() else [*root.rglob("*.md"), *root.rglob("*.py")]
        yield from (path for path in sorted(found) if path.relative_to(ROOT) not in OTHERS)


if __name__ == "__main__":
    for one in files(sys.argv[1:]):
        before = one.read_text(encoding="utf-8")
        after = respell(before)
        if after != before:
            one.write_text(after, encoding="utf-8")
