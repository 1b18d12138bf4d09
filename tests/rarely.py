"""What `make test` leaves to `make check`, and parameters that it leaves to `make fuzz`: they differ little, and cost much."""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest


def rarely(values: Iterable[Any], but: Iterable[Any]) -> list[Any]:
    """Return a test's parameters, all but some of them marked `fuzz`; tuples are of several parameters.

    Raises:
        ValueError: one of `but` is none of them.
    """
    every, often = list(values), list(but)
    if unknown := [value for value in often if value not in every]:
        raise ValueError(f"{unknown} not in {every}")
    return [value if value in often else _marked(value) for value in every]


def _marked(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.fuzz)


TESTS = Path(__file__).parent
USUALLY = {
    f"{folder}/": 1 for folder in ("kernels", "lib/algorithms", "lib/block", "lib/grid", "lib/thread", "lib/warp")
}
"""How many values stand together once at least in the tests of a folder, where they say nothing of it: these cost most."""


CHECK = re.compile(
    r"tests/(docs/|test_import_direction\.py|(kernels|lang|lib|examples)/.*::test_(?!\w*_and_)\w*"
    r"(spill|machine_code|_registers(\[|$)|(?<![a-z])(?<!not_)compiles?(_for_\w+)?(\[|$)))"
)
"""Tests of the documentation, of who imports whom, and of what NVRTC makes of kernels: registers and spills."""


def is_of_check(name: str) -> bool:
    """Whether `make check` has a test, by its whole name: then `make test` leaves it out."""
    return CHECK.match(name) is not None


SCHEDULES = 2
"""How many schedules each test of kernels tries: others in the next one, so that all are tried of some kernels. All schedules are
tried of each in `make fuzz`, and in the runs that safety reports name."""


def thin_out(items: Iterable[pytest.Item]) -> None:
    """Mark `fuzz` what a test need not try: each so many values stand together once anyway, as its mark `covering` says.

    Of schedules a test has its turn, but where runs are recorded (tests/ran.py).
    """
    tests: dict[Any, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and strength_of(item) and not item.get_closest_marker("fuzz"):
            tests[item.path, item.parent, item.originalname].append(item)  # type: ignore[attr-defined]

    for many in tests.values():
        strength = strength_of(many[0])
        turn = many if "PRISM_RAN" in os.environ else turn_of(many, many[0].nodeid.split("[")[0])
        rows = [_values(item) for item in turn]
        kept = {id(turn[at]) for at in cover(rows, strength)}
        for item in many:
            if id(item) not in kept:
                item.add_marker("fuzz")


def turn_of(many: Sequence[Any], name: str) -> Sequence[Any]:
    """Return a test's items that have the schedules of its turn, and those with values that stand beside none of these."""
    given = [one.callspec.params for one in many]
    some = list(dict.fromkeys(each.get("schedule") for each in given))
    if None in some or len(some) <= SCHEDULES:
        return many
    first = zlib.crc32(name.encode())
    chosen = {some[(first + k * len(some) // SCHEDULES) % len(some)] for k in range(SCHEDULES)}
    values = [{(key, id(value)) for key, value in each.items() if key not in _TURNS} for each in given]
    tried = {one for each, those in zip(given, values, strict=True) if each["schedule"] in chosen for one in those}
    return [
        one
        for one, each, those in zip(many, given, values, strict=True)
        if each["schedule"] in chosen or not those <= tried
    ]


_TURNS = ("schedule", "seed")


def strength_of(item: pytest.Item) -> int:
    """Return how many values of a test's parameters are to stand together once at least; 0 where all of them are tried."""
    mark = item.get_closest_marker("covering")
    if mark is not None:
        (strength,) = mark.args
        return int(strength)
    if not item.path.is_relative_to(TESTS):
        return 0
    where = item.path.relative_to(TESTS).as_posix()
    return next((strength for folder, strength in USUALLY.items() if where.startswith(folder)), 0)


def _values(item: Any) -> tuple[Any, ...]:
    """Return what a test is given by each of its `parametrize`, several names' values together: a value is one object in all."""
    given = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [re.findall(r"\w+", some) if isinstance(some, str) else some for some in given]
    return tuple(tuple(id(item.callspec.params[name]) for name in some) for some in names)


def cover(rows: Sequence[tuple[Any, ...]], strength: int) -> set[int]:
    """Return few rows, so that what stands together in any `strength` columns of a row does so in one of them.

    Of rows that show as much, those whose values were taken least often: of 100 kernels and 3 layouts each layout has a third.
    """
    width = len(rows[0])
    columns = list(combinations(range(width), min(strength, width)))
    ways = [{(chosen, tuple(row[k] for k in chosen)) for chosen in columns} for row in rows]
    holders: dict[Any, set[int]] = defaultdict(set)
    for at, shown in enumerate(ways):
        for way in shown:
            holders[way].add(at)
    taken: set[int] = set()
    seen: Counter[Any] = Counter()
    for news in range(len(columns), 0, -1):  # those first that show the most at once
        for shown in ways:
            fresh = [way for way in shown if way not in seen]
            if len(fresh) >= news:
                alike = set.intersection(*(holders[way] for way in fresh))
                best = min(alike, key=lambda at: (sum(seen[way] for way in ways[at]), at))
                taken.add(best)
                seen.update(ways[best])
    return taken
