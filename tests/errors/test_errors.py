"""Programs that Prism refuses: `<code>/<case>.py` is one, `<case>.txt` the whole message.

A case holds a function `case`, and a mark `# error: <code>`, written by hand, on each faulty line: a message that moved
to the wrong line cannot be blessed with --update-golden. `TEMPLATE` gives the arguments of its template parameters.

Tests of prism/lang/errors: __init__, asynchronous, axes, calls, demands, inlined, launch, names, ownership, perspective,
pointers, raw, rings, roles, sync, syntax, tiles, turns, types.
"""

import difflib
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import prism
from prism.lang.diagnostics import CompileError
from prism.lang.errors import catalogue

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.glob("*/*.py") if not path.name.startswith("_"))
MARK = re.compile(r"# error: ([a-z-]+)")


def load(path: Path) -> ModuleType:
    """Import a case from its path, as `prism.check` on a file would."""
    spec = importlib.util.spec_from_file_location(f"errors_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refuse(module: ModuleType) -> CompileError:
    """Check a case, which must fail."""
    template: dict[str, Any] = getattr(module, "TEMPLATE", {})
    with pytest.raises(CompileError) as caught:
        prism.check(module.case, template=template)
    return caught.value


def marks(path: Path) -> list[tuple[int, str]]:
    """The faulty lines that a case's author marked, and their codes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(number, mark[1]) for number, line in enumerate(lines, 1) if (mark := MARK.search(line))]


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in CASES])
def test_error(path: Path, request: pytest.FixtureRequest) -> None:
    error = refuse(load(path))
    expected = marks(path)
    assert expected, "no line has a mark: write `# error: <code>` on the faulty one"
    assert sorted((fault.span.line, fault.code) for fault in error.errors) == expected, str(error)
    assert error.code == path.parent.name
    message = str(error).replace(str(path), "$FILE").replace(str(HERE.parent.parent), "$ROOT") + "\n"
    snapshot = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        snapshot.write_text(message, encoding="utf-8")
    assert snapshot.exists(), f"{snapshot.name} is missing; --update-golden writes it:\n{message}"
    text = snapshot.read_text(encoding="utf-8")
    assert message == text, "\n".join(difflib.unified_diff(text.splitlines(), message.splitlines(), "snapshot", "now"))


def test_every_snapshot_has_its_case() -> None:
    assert [path for path in HERE.glob("*/*.txt") if not path.with_suffix(".py").exists()] == []


ELSE = (".sync", ".rings", ".launch")  # modules whose errors are found after checking
# Errors that no file of Python 3.11 can show, or that other tests show.
ELSEWHERE = {
    "NoSource": "tests/lang/parse/test_parse.py: a function without a text",
    "SourceChanged": "tests/lang/parse/test_parse.py: a file edited after its import",
    "NotAFunction": "tests/lang/parse/test_parse.py: no `def`",
    "TooDeep": "tests/lang/parse/test_parse.py: deeper than Python's stack",
    "TooLarge": "tests/lang/barriers/test_depth.py: more accesses than are compared",
    "TooMany": "tests/lang/parse/test_extent.py: more statements than are looked at",
    "TooManyReached": "tests/lang/parse/test_extent.py: more functions than are looked at",
    "TypeParameters": "tests/lang/parse/test_parse.py: Python 3.12",
    "NamedBarriers": "tests/lang/barriers: found where barriers are placed",
}
CODES = """
    bound-wf group split-sum split-align split-body decl read-up write-down cond loop jump id call-bound call-scalar call-ptr
    call-smem const ptr-write ptr-read partition hide claim claim-one async shared-alloc template unsafe ptr-rebind extern
    recursion syntax type name ring registers scope static-assert turns
""".split()


def test_every_error_of_parsing_and_checking_has_a_case() -> None:
    """Errors of synchronisation and of a launch are not the checker's."""
    seen = {type(fault).__name__ for path in CASES for fault in refuse(load(path)).errors}
    declared = {error.__name__ for error in catalogue() if not error.__module__.endswith(ELSE)}
    assert declared - seen - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) <= declared
    assert set(ELSEWHERE) & seen == set()


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_two_cases(code: str) -> None:
    assert sum(path.parent.name == code for path in CASES) >= 2


def test_every_code_of_a_rule_is_known() -> None:
    """Tools rely on the codes: a new one belongs in LANGUAGE.md's list first."""
    assert {error.code for error in catalogue()} <= {*CODES, "race", "grid-sync", "launch", "arch"}
