"""Parameters of a test that `make test` tries some of, and `make fuzz` the others: what differs little, and costs much."""

from __future__ import annotations

from collections.abc import Iterable
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
