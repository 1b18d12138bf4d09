"""Each block of the documentation is run or checked: test_examples.py has Python, test_session.py sessions, this file the rest.

A line of shell must be a command that is there: of `prism`, with options that it takes; of `make`; a script or a module of this
repository, with options that its text has; `pip` with an extra that the package has. CUDA C++ must compile, TOML must be TOML.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from prism.cli import parser
from prism.command.output import CommandError
from prism.runtime.compile import compile_cubin
from tests.docs.test_examples import PAGES, ROOT

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = {"python", "pycon", "text", "sh", "cuda", "toml"}
COMMAND = re.compile(r"^    ((?:prism|make|python|pip|pytest|PYTHONPATH=\S+) .*|make)$", re.MULTILINE)
LATER = re.compile(r"^[A-Z_]+=\S*$")
YOURS = ("my_kernels.py", "FILE")
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(page: Path, kind: str) -> list[str]:
    """Return the blocks of a page whose fence begins with this word; but `cuda of` blocks, which test_examples.py compares."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for info, text in found if info.split()[:1] == [kind] and not info.startswith("cuda of ")]


def commands(page: Path) -> list[str]:
    """Return the lines of shell on a page: those of its blocks, and indented ones that begin with a command."""
    shell = "".join(blocks(page, "sh"))
    lines = shell.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip()] + COMMAND.findall(FENCE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_checked(page: Path) -> None:
    for info, _ in FENCE.findall(page.read_text(encoding="utf-8")):
        assert info.split()[:1] and info.split()[0] in KINDS, f"{page.name}: ```{info}"
        assert info.split()[0] != "text" or info == "text printed", f"{page.name}: ```{info}"


def test_sessions_are_on_the_page_that_is_run() -> None:
    assert {page.name for page in PAGES if blocks(page, "pycon")} <= {"session.md"}


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_there(page: Path) -> None:
    assert [f"{line}: {wrong}" for line in commands(page) if (wrong := fault(line))] == []


def fault(line: str) -> str | None:
    """Return what is wrong with a line of shell, or nothing."""
    words = shlex.split(line, comments=True)
    while LATER.match(words[0]):
        words.pop(0)
    if words[0] not in CHECKS:
        return f"what is {words[0]}?"
    try:
        CHECKS[words[0]](words[1:])
    except AssertionError as error:
        return str(error)
    return None


def check_prism(words: list[str]) -> None:
    try:
        options = parser().parse_args(words)
    except CommandError as error:
        raise AssertionError(f"no such command, or option: {error}") from None
    except SystemExit:  # --help and --version
        return
    file = getattr(options, "kernel", "").partition(":")[0]
    assert not file.endswith(".py") or file in YOURS or (ROOT / file).is_file(), f"no file {file}"


def check_make(words: list[str]) -> None:
    for target in words:
        assert "=" in target or target in TARGETS or Path(target).exists() or target.startswith("-"), (
            f"no target {target}"
        )


def check_python(words: list[str]) -> None:
    if words[0] == "-m":
        found = importlib.util.find_spec(words[1])
        assert found is not None and found.origin is not None, f"no module {words[1]}"
        file, options = Path(found.origin), words[2:]
    else:
        file, options = ROOT / words[0], words[1:]
        assert file.is_file(), f"no file {words[0]}"
    text = file.read_text(encoding="utf-8")
    for option in options:
        name = option.partition("=")[0]
        assert not name.startswith("--") or name == "--help" or f'"{name}"' in text, f"{file.name} has no {name}"


def check_pip(words: list[str]) -> None:
    for word in words:
        if word.startswith(PROJECT["name"]):
            extras = re.findall(r"[\w-]+", word.partition("[")[2])
            assert set(extras) <= set(PROJECT["optional-dependencies"]), f"no extra {extras}"


CHECKS = {
    "prism": check_prism,
    "make": check_make,
    "python": check_python,
    "pip": check_pip,
    "pytest": lambda words: None,
}


def test_commands_that_are_not_there_are_found() -> None:
    for line in ("prism explode x.py:y", "prism explain --fast x.py:y", "prism check kernels/none.py:scan", "make tea",
                 "teapot --on", "python asv_bench/none.py", "python asv_bench/reduce.py --none",
                 'pip install "prism-gpu[none]"'):  # fmt: skip
        assert fault(line), line


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "cuda")], ids=lambda page: str(page.relative_to(ROOT)))
def test_cuda_compiles(page: Path) -> None:
    for text in blocks(page, "cuda"):
        assert compile_cubin(text.replace("__global__", 'extern "C" __global__'), "sm_90a").spills == 0


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "toml")], ids=lambda page: str(page.relative_to(ROOT)))
def test_toml_is_toml(page: Path) -> None:
    assert all(tomllib.loads(text) for text in blocks(page, "toml"))
