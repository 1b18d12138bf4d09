"""The README's and the documentation's Python examples run as they stand.

Blocks of one page share a namespace, top to bottom. After ```` ```python ````:
  `gpu`          the block runs only where there is a GPU;
  `error: code`  it must raise the error of that code: a CompileError's on the lines that carry the mark `# error: code`.
A block ```` ```text printed ```` is what the block before it printed, or the message that it raised; the block's own name is
`example.py` there. ```` ```cuda of kernel lines 4-7 ```` is the CUDA C++ that these lines of a kernel, or all of it, become
where `kernel` is an expression in the page's names. `--update-golden` rewrites both: the diff is reviewed as code is.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import re
import textwrap
from pathlib import Path

import pytest

import prism
from prism.interpret import MachineError
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Program
from prism.runtime.launch import LaunchError

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"^```(?P<fence>python|text printed|cuda of)(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
OF = re.compile(r"(?P<kernel>.+?)( lines (?P<first>\d+)-(?P<last>\d+))?$")
MARK = re.compile(r"# error: ([a-z-]+)")


def has_gpu() -> bool:
    """Whether CuPy sees a device."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Every block of the page does what the page says, and prints what it shows."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    printed: str | None = None
    rewritten, end = [], 0
    for match in BLOCK.finditer(text):
        where = f"{page.name}:{text[: match.start()].count(chr(10)) + 1}"
        if match["kind"].strip() == "signature":  # of docs/collectives.md: nothing to run
            continue
        if match["fence"] == "python":
            printed = run(where, match["kind"].strip(), match["text"], names)
            continue
        made = printed if match["fence"] == "text printed" else emitted(where, match["kind"].strip(), names)
        if made is not None and made != match["text"]:
            shown = "\n".join(difflib.unified_diff(match["text"].splitlines(), made.splitlines(), where, "this run"))
            assert request.config.getoption("--update-golden"), f"--update-golden, if this run is right:\n{shown}"
            rewritten += [text[end : match.start("text")], made]
            end = match.end("text")
    if rewritten:
        page.write_text("".join([*rewritten, text[end:]]), encoding="utf-8")


def run(where: str, kind: str, code: str, names: dict[str, object]) -> str | None:
    """Run one block and return what it printed or raised, None where it was not run; kernels' source is in linecache."""
    file = f"<{where}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    compiled = compile(code, file, "exec", dont_inherit=True)
    if kind == "gpu" and not has_gpu():
        return None
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        if not kind.startswith("error:"):
            exec(compiled, names)
            return shortened(output.getvalue())
        with pytest.raises((prism.CompileError, LaunchError, MachineError)) as caught:
            exec(compiled, names)
    error, wanted = caught.value, kind.removeprefix("error:").strip()
    assert error.code == wanted, f"{where}: {error}"
    if isinstance(error, prism.CompileError):
        found = sorted((fault.span.line, fault.code) for fault in error.errors)
        lines = enumerate(code.splitlines(), 1)
        assert found == [(number, mark[1]) for number, line in lines if (mark := MARK.search(line))], (
            f"{where}: {error}"
        )
    return shortened(f"{error}\n")


def emitted(where: str, what: str, names: dict[str, object]) -> str:
    """Return the CUDA C++ of a page's kernel, without what stands before its functions; where lines are given, theirs alone."""
    found = OF.match(what)
    assert found, f"{where}: cuda of what?"
    kernel = eval(found["kernel"], names)
    program = kernel if isinstance(kernel, Program) else prism.check(kernel)
    lines = emit(lower(program)).source.splitlines()
    lines = lines[next(k for k, line in enumerate(lines) if line.startswith(f"// {program.functions[0].name}")) :]
    if found["first"]:
        first, last = int(found["first"]), int(found["last"])
        numbers = [int(number[1]) if (number := re.search(r"  // line (\d+): ", line)) else 0 for line in lines]
        begin = next(k for k, number in enumerate(numbers) if first <= number <= last)
        end = next((k for k, number in enumerate(numbers) if k > begin and number > last), len(lines))
        lines = lines[begin:end]
    return shortened(textwrap.dedent("\n".join(lines).strip("\n") + "\n"))


def shortened(text: str) -> str:
    """Return what a page shows: its blocks as a file of the reader's own, the library's files without their root."""
    return re.sub(r"<[\w.-]+\.md:\d+>", "example.py", text).replace(f"{ROOT}/", "")


def test_pages_have_examples() -> None:
    """The pattern finds the blocks: the README has some."""
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file that exists, and a heading in it."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page.name}: {target}"
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        slugs = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, f"{page.name}: {target}"


def test_the_index_has_every_page() -> None:
    """docs/index.md links each page of docs/, or an index that does."""
    index = ROOT / "docs" / "index.md"
    linked = {index}
    for page in (index, *(ROOT / "docs" / f"{name}.md" for name in ("reference", "errors", "measurements"))):
        assert page in linked
        linked |= {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())}
    assert set((ROOT / "docs").rglob("*.md")) <= linked
