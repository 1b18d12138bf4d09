"""Raw results, as `prism bench run` writes them, one JSON a script. asv's figures of the GPU are read from them, not measured.

`asv_bench/publish/record.py` says where they are; where nothing is said, asv shows these benchmarks as not available.

asv draws eight curves at first, of the first values of the first parameters: so a class that has Prism's time and a peer's begins
with `impl`, and both are in one plot. Along a parameter it draws several curves only where that is numbers, on a linear axis: so
sizes are given as their logarithm.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "PRISM_BENCH_RESULTS"


@functools.cache
def read(script: str) -> Any:
    """Return what a script wrote; NotImplementedError, which asv takes for `n/a`, where it did not."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        raise NotImplementedError(f"measured by `prism bench run`; {VARIABLE} names the folder of its results")
    try:
        return json.loads(Path(folder, f"{script}.json").read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise NotImplementedError(f"{script} was not run") from missing


def row(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """Return the row that has these; NotImplementedError where none has."""
    for found in rows:
        if all(found.get(name) == value for name, value in wanted.items()):
            return found
    raise NotImplementedError(f"not measured: {wanted}")


def number(found: dict[str, Any], name: str, scale: float = 1.0) -> float:
    """Return a number of a row, in other units; NotImplementedError where it has none."""
    value = found.get(name)
    if value is None:
        raise NotImplementedError(f"not measured: {name}")
    return float(value) * scale


def tracked(unit: str, version: str = "1") -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Mark a figure's function with its unit, and its version, which changes when its older figures no longer compare."""

    def marked(function: Callable[..., float]) -> Callable[..., float]:
        function.unit, function.version = unit, version  # type: ignore[attr-defined]
        return function

    return marked
