"""Mutants of legal programs, generated ones and those that people wrote: each is refused with its code, on its line."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.generated.faults import OPERATORS
from tests.generated.mutants import Fate, fates, mutants_of_files, mutants_of_program
from tests.rarely import rarely

CHUNKS = 4
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


def table(found: list[Fate]) -> str:
    """Return the number of mutants of each operator."""
    counts = Counter(fate.operator for fate in found)
    return "\n".join(f"{count:6} {name}" for name, count in sorted(counts.items())) + f"\n{counts.total():6} in all"


def check(found: list[Fate]) -> None:
    """Fail where a mutant was not refused as it must be."""
    print(table(found))
    wrong = [fate.wrong for fate in found if fate.wrong]
    assert not wrong, "\n\n".join(wrong[:20])


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mutants_of_programs(chunk: int) -> None:
    check([fate for seed in range(chunk, 16, CHUNKS) for fate in fates(mutants_of_program(seed, 6))])


@pytest.mark.parametrize("chunk", rarely(range(4 * CHUNKS), but=[0]))
def test_mutants_of_what_is_written(chunk: int) -> None:
    """The library's kernels, those in kernels/, the paper's: an operator each function; a sixteenth of them in `make test`."""
    found = list(fates(mutants_of_files(0, 1, chunk, 4 * CHUNKS)))
    assert len(found) >= 8
    check(found)


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_mutants_of_programs(chunk: int) -> None:
    """Each operator once on each program: about 55 mutants a program, and all operators among them."""
    first, programs = 1_000_000, max(FUZZ // 100, CHUNKS)
    found = [f for seed in range(first + chunk, first + programs, CHUNKS) for f in fates(mutants_of_program(seed, 999))]
    check(found)
    assert programs < 1000 or {fate.operator for fate in found} == set(OPERATORS)


@pytest.mark.fuzz
def test_a_thousand_mutants_of_what_is_written() -> None:
    """Each operator once on each function: all are refused."""
    found = [fate for chunk in range(CHUNKS) for fate in fates(mutants_of_files(1, 999, chunk, CHUNKS))]
    check(found)
    assert len(found) >= 1000
