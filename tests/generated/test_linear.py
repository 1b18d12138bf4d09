"""The time of checking, and of placing barriers, grows with the program's length, not faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

import prism
from prism.lang import CompileError
from prism.lang.check import check
from tests.generated.large import OTHERS, RINGS, WORDS, kernel_of_bytes
from tests.generated.long import long
from tests.generated.programs import loaded

pytestmark = pytest.mark.usefixtures("alone")


def seconds(lines: int, stage: Callable[..., object] = check) -> float:
    """Return the processor's time that checking a kernel of so many lines takes; `prism.check` places its barriers too.

    The better of two, with the collector off: it would walk what all tests before have left in this process.
    """
    found = []
    for _ in range(2):
        with loaded(long(lines)) as names:
            gc.collect()
            gc.disable()
            try:
                start = time.process_time()
                stage(names["kernel"])
                found.append(time.process_time() - start)
            finally:
                gc.enable()
    return min(found)


def test_checking_is_linear() -> None:
    short, full = seconds(1_250), seconds(5_000)
    assert full <= 2.5
    assert full <= 8 * short + 0.2, f"four times the lines take {full / short:.1f} times as long"


def test_placing_barriers_is_linear() -> None:
    short, full = seconds(600, prism.check), seconds(2_400, prism.check)
    assert full <= 4
    assert full <= 8 * short + 0.2, f"four times the lines take {full / short:.1f} times as long"


@pytest.mark.fuzz
def test_twenty_thousand_lines() -> None:
    assert seconds(20_000) <= 10


# -- many of one thing --------------------------------------------------------------------------------------------------------


def seconds_of(text: str) -> float:
    """Return the processor's time that a kernel's check takes, or its refusal."""
    with loaded(text) as names:
        gc.collect()
        start = time.process_time()
        with suppress(CompileError):
            prism.check(names["kernel"])
        return time.process_time() - start


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", [*RINGS, *WORDS])
def test_time_grows_with_the_rings_and_not_with_their_square(kind: str) -> None:
    """Up to the bound of what is looked at it may grow faster: some five seconds."""
    assert seconds_of(kernel_of_bytes(kind, 10_000)) <= 4
    assert seconds_of(kernel_of_bytes(kind, 20_000)) <= 8
    assert seconds_of(kernel_of_bytes(kind, 40_000)) <= 12


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", [*RINGS, *OTHERS, *WORDS])
def test_a_million_bytes_of_anything_are_checked_or_refused(kind: str) -> None:
    try:
        text = kernel_of_bytes(kind, 1_000_000)
        compile(text, "large", "exec")
    except (RecursionError, MemoryError, SyntaxError):
        pytest.skip("Python itself does not compile it")
    assert seconds_of(text) <= 20


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", WORDS)
def test_just_below_the_bounds(kind: str) -> None:
    """A million bytes are refused by their number of statements. Half of them, and a quarter, are looked at."""
    for size in (500_000, 250_000):
        assert seconds_of(kernel_of_bytes(kind, size)) <= 20


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", [*RINGS, *WORDS])
def test_explaining_takes_little_more_than_checking(kind: str) -> None:
    with loaded(kernel_of_bytes(kind, 20_000)) as names, suppress(CompileError):
        start = time.process_time()
        prism.check(names["kernel"])
        middle = time.process_time()
        prism.explain(names["kernel"])
        checked, explained = middle - start, time.process_time() - middle
        assert explained <= 3 * checked + 1, f"{checked:.2f} s to check, {explained:.2f} to explain"
