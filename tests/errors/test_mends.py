"""What messages propose is applied, and the next verdict is that the program is accepted.

Where the code of a help stands for itself, `mends.py` puts it in its place. Where words say what to do, `mends.txt` has what a
reader would write. An error is mended where one of its cases is: all are.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import prism
from prism.lang.diagnostics import CompileError, Error
from prism.lang.errors import catalogue
from tests.errors.mends import edits
from tests.errors.test_errors import CASES, ELSE, ELSEWHERE, HERE

_files = count()
BY_HAND: dict[str, list[str]] = {}
for _block in re.split(
    r"\n{2,}", re.sub(r"^#.*\n", "", (HERE / "mends.txt").read_text("utf-8"), flags=re.MULTILINE).strip()
):
    _name, *_lines = _block.strip("\n").split("\n")
    BY_HAND[_name] = _lines


def verdict(lines: list[str], folder: Path) -> tuple[Error, ...]:
    """The errors of a module's `case`; none where it is accepted."""
    path = folder / f"mended{next(_files)}.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        prism.check(module.case, template=getattr(module, "TEMPLATE", {}))
    except CompileError as found:
        return found.errors
    return ()


def by_hand(lines: list[str], changes: list[str]) -> list[str]:
    """A case with the lines of `mends.txt`."""
    at: dict[int, list[str]] = {number: [line] for number, line in enumerate(lines, 1)}
    behind: dict[int, list[str]] = {number: [] for number in at}
    top: list[str] = []
    for change in changes:
        if change.startswith("import "):
            top.append(f"from prism.lang import {change.removeprefix('import ')}")
        elif change.startswith("top "):
            top.append(change.removeprefix("top "))
        else:
            found = re.fullmatch(r"(\d+)([:+-]) ?(.*)", change)
            assert found is not None, f"no change: {change!r}"
            number = int(found[1])
            if found[2] == "+":
                behind[number].append(found[3])
            else:
                at[number] = [] if found[2] == "-" else [found[3]]
    made = [line for number in at for line in (*at[number], *behind[number])]
    first = next((k + 1 for k, line in enumerate(made) if line.startswith("from __future__")), 0)
    return [*made[:first], *top, *made[first:]]


def mended(path: Path, folder: Path) -> Iterator[str]:
    """Yield the errors of a case that the code of their help takes away, and brings none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = verdict(lines, folder)
    for error in sorted(found, key=lambda one: -one.span.line):
        left = len(verdict(lines, folder))
        for edit in edits(error, lines):
            tried = edit.apply(lines)
            try:
                now = verdict(tried, folder)
            except Exception:
                continue
            if len(now) < left:
                lines = tried
                yield type(error).__name__
                break


@pytest.mark.parametrize("name", BY_HAND)
def test_what_a_reader_would_write_is_accepted(name: str, tmp_path: Path) -> None:
    lines = (HERE / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert verdict(lines, tmp_path), "the case is refused"
    left = verdict(by_hand(lines, BY_HAND[name]), tmp_path)
    assert not left, "\n\n".join(map(str, CompileError(*left).errors)) + "\n" + str(CompileError(*left))


def test_every_error_is_mended(tmp_path: Path) -> None:
    """By the code of its help, or as `mends.txt` says, in one of its cases."""
    done: set[str] = set()
    shown: set[str] = set()
    for path in sorted(CASES, key=lambda path: f"{path.parent.name}/{path.stem}" not in BY_HAND):
        errors = {type(one).__name__ for one in verdict(path.read_text(encoding="utf-8").splitlines(), tmp_path)}
        shown |= errors
        if f"{path.parent.name}/{path.stem}" in BY_HAND:
            done |= errors
        elif errors - done:
            done |= set(mended(path, tmp_path))
    declared = {error.__name__ for error in catalogue() if not error.__module__.endswith(ELSE)} - set(ELSEWHERE)
    assert declared <= shown
    assert not shown - done, sorted(shown - done)
