"""Mutants of legal programs, generated ones and the library's: each is refused with its code, on its line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from prism.kernels.scan import single_pass
from prism.lang import tree
from prism.lang.check import check
from tests.generated.faults import OPERATORS
from tests.generated.mutants import Mutant, mutants
from tests.generated.programs import loaded, program

CHUNKS = 4
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))

EQUIVALENT: dict[str, str] = {}
"""Mutants that are legal, by operator and text, with the reason. Operators leave out what they know to be legal."""


def of_program(seed: int, count: int) -> Iterator[Mutant]:
    """Yield mutants of a generated program."""
    text = program(seed).text
    with loaded(text) as names:
        functions = check(names["kernel"])
    yield from mutants(functions, text, seed, count)


def library() -> list[tuple[str, Sequence[tree.Function]]]:
    """Return the scan's file and the library's below it, with the functions of each."""
    files: dict[str, list[tree.Function]] = {}
    for exclusive in (False, True):
        for function in check(single_pass.scan, single_pass.EXAMPLES["scan"] | {"EXCLUSIVE": exclusive}):
            files.setdefault(function.file, []).append(function)
    return sorted(files.items())


def refuse(found: Iterator[Mutant], counts: Counter[str]) -> list[str]:
    """Return what is wrong with the verdicts on some mutants."""
    wrong = []
    for mutant in found:
        counts[mutant.operator] += 1
        verdict = mutant.verdict()
        if verdict:
            wrong.append(f"{mutant.report()}\n{verdict}")
    return wrong


def table(counts: Counter[str]) -> str:
    """Return the number of mutants of each operator."""
    return "\n".join(f"{count:6} {name}" for name, count in sorted(counts.items())) + f"\n{counts.total():6} in all"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mutants_of_programs(chunk: int) -> None:
    counts: Counter[str] = Counter()
    wrong = [text for seed in range(chunk, 20, CHUNKS) for text in refuse(of_program(seed, 5), counts)]
    print(table(counts))
    assert not wrong, "\n\n".join(wrong)


def test_mutants_of_the_library() -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed, (file, functions) in enumerate(library()):
        wrong += refuse(mutants(functions, Path(file).read_text(), seed, 5), counts)
    print(table(counts))
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_mutants_of_programs(chunk: int) -> None:
    """Each operator once on each program: about 40 mutants a program, and all operators among them."""
    counts: Counter[str] = Counter()
    first, programs = 1_000_000, max(FUZZ // 40, CHUNKS)
    wrong = [
        text for seed in range(first + chunk, first + programs, CHUNKS) for text in refuse(of_program(seed, 99), counts)
    ]
    print(table(counts))
    assert not wrong, "\n\n".join(wrong[:20])
    assert programs < 1000 or set(counts) == set(OPERATORS)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_many_mutants_of_the_library(seed: int) -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for file, functions in library():
        for each in functions:
            wrong += refuse(mutants([each], Path(file).read_text(), seed, 99), counts)
    print(table(counts))
    assert not wrong, "\n\n".join(wrong[:20])
