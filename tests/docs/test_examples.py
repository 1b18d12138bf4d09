"""The README's and the documentation's Python examples run as they stand.

Blocks of one page share a namespace, top to bottom. A block marked ```` ```python gpu ```` runs only where there is a GPU; a
block marked ```` ```python error: code ```` must raise a CompileError of that code.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

import prism

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def has_gpu() -> bool:
    """Whether CuPy sees a device."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of the page does what the page says."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, object] = {"__name__": page.stem}
    for match in BLOCK.finditer(text):
        kind, code = match.group(1).strip(), match.group(2)
        if kind == "gpu" and not has_gpu():
            compile(code, str(page), "exec")
            continue
        run(page, text[: match.start(2)].count("\n"), kind, code, names)


def run(page: Path, line: int, kind: str, code: str, names: dict[str, object]) -> None:
    """Run one block, with the page's line numbers; kernels find their source through linecache."""
    file = f"<{page.name}:{line}>"
    padded = "\n" * line + code
    linecache.cache[file] = (len(padded), None, padded.splitlines(keepends=True), file)
    compiled = compile(padded, file, "exec", dont_inherit=True)
    if not kind.startswith("error:"):
        exec(compiled, names)
        return
    with pytest.raises(prism.CompileError) as caught:
        exec(compiled, names)
    assert caught.value.code == kind.removeprefix("error:").strip()


def test_pages_have_examples() -> None:
    """The pattern finds the blocks: the README has some."""
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 2
