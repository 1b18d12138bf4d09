"""Parameters of a test that `make test` tries some of, and `make fuzz` the others: what differs little, and costs much."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
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


def thin_out(items: Iterable[pytest.Item]) -> None:
    """Mark `fuzz` what a test with the mark `covering(strength)` need not try: each so many values stand together once anyway."""
    tests: dict[Any, list[Any]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("covering") and not item.get_closest_marker("fuzz"):
            tests[item.path, item.parent, item.originalname].append(item)  # type: ignore[attr-defined]

    for many in tests.values():
        (strength,) = many[0].get_closest_marker("covering").args
        rows = [_values(item) for item in many]
        for at in set(range(len(rows))) - cover(rows, strength):
            many[at].add_marker("fuzz")


def _values(item: Any) -> tuple[Any, ...]:
    """Return what a test is given by each of its `parametrize`, several names' values together: a value is one object in all."""
    given = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [re.findall(r"\w+", some) if isinstance(some, str) else some for some in given]
    return tuple(tuple(id(item.callspec.params[name]) for name in some) for some in names)


def cover(rows: Sequence[tuple[Any, ...]], strength: int) -> set[int]:
    """Return few rows, so that what stands together in any `strength` columns of a row does so in one of them."""
    width = len(rows[0])
    columns = list(combinations(range(width), min(strength, width)))
    ways = [{(chosen, tuple(row[k] for k in chosen)) for chosen in columns} for row in rows]
    taken: set[int] = set()
    seen: set[Any] = set()
    for news in range(len(columns), 0, -1):  # those first that show the most at once
        for at, shown in enumerate(ways):
            if len(shown - seen) >= news:
                taken.add(at)
                seen |= shown
    return taken
