"""What tests take of the processor, with the processes that they start: a machine may be busy with other things."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

MOST = 1200
"""Seconds of the processor that `make test` may take: ten minutes on two cores."""
LONGEST = 15
"""Seconds that one test may take."""
KEY = "seconds of the processor"


def spent() -> float:
    """Return what this process and those that it started have taken."""
    return sum(os.times()[:4])


def resident() -> int:
    """Return how many bytes of memory this process has; 0 where nobody says so."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def memory() -> int:
    """Return how many bytes of memory this machine has; 0 where nobody says so."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def pace() -> float:
    """Return what this process takes to count to a million, in milliseconds: by it, figures of two machines can be compared."""
    took = []
    for _ in range(3):
        begun, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number
        took.append(time.process_time() - begun)
    return 1000 * min(took)


def account(reports: Iterable[Any]) -> tuple[int, Counter[str]]:
    """Return how many tests say what they took, and the seconds by folder."""
    told = [(report.nodeid, dict(getattr(report, "user_properties", ())).get(KEY)) for report in reports]
    took: Counter[str] = Counter()
    for name, seconds in told:
        if seconds is not None:
            took[folder_of(name)] += seconds
    return sum(seconds is not None for _, seconds in told), took


def folder_of(name: str) -> str:
    """Return the folder of `tests` that a test is in; of one that stands beside them, `tests`."""
    parts = name.split("::")[0].split("/")
    return "/".join(parts[1:3] if parts[1] in ("lang", "lib") else parts[1:2]) if len(parts) > 2 else parts[0]


def lines(count: int, took: Counter[str]) -> list[str]:
    """Return what the end of a run says."""
    total = sum(took.values())
    found = [f"{count} tests took {total:.0f} s of the processor."]
    found += [f"{seconds:8.1f} s  {folder}" for folder, seconds in took.most_common() if seconds >= max(1, total / 100)]
    if total > MOST:
        found.append(
            f"That is too much: {MOST} s are ten minutes on two cores. What costs much and shows little is for `make fuzz`."
        )
    return found
