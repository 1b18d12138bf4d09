"""The time of checking, and of placing barriers, grows with the program's length, not faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

import prism
from prism.lang.check import check
from tests.generated.long import long
from tests.generated.programs import loaded


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
