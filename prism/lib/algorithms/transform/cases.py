"""Calls of `evaluate`: of an array it is a copy."""

from __future__ import annotations

from typing import Any

from prism.lib.cases import NUMBERS, Case, numbers


def _copied(x: Any) -> Any:
    return x.copy()


CASES = (Case("evaluate", numbers, _copied, dtypes=(*NUMBERS, "bool")),)
