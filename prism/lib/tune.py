"""`prism tune`: the choices in the tables of configurations made again, by measuring them on the GPU that is here.

A search knows nothing of a GPU: it is given what to try, and a function that measures one. The module `tables` of an algorithm's
folder has its table, what is tried, and that function; prism/lib/tune_device.py has what all of them measure by.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from prism.lib import algorithms

C = TypeVar("C")
_BETTER = 0.99
"""What another choice must take of the present one's time: closer ones are within what differs from run to run."""
_KEPT = 8
"""How many are measured in all rounds; the others in the first alone, and half of what is left in each."""

DTYPES = {1: "uint8", 2: "uint16", 4: "float32", 8: "float64", 16: "complex128"}
"""What stands for the elements of a size."""


class Unusable(Exception):
    """A choice that does not run here, or gives a wrong result; says why."""


@dataclass(frozen=True, slots=True)
class Measured(Generic[C]):
    """One choice: its seconds by size, the median over the rounds, and `ratio`, its time beside the present choice's."""

    choice: C
    seconds: Mapping[str, float]
    ratio: float


@dataclass(frozen=True, slots=True)
class Found(Generic[C]):
    """What a search came to: the best first, as far as they were measured in all rounds; why others were left out."""

    present: Measured[C]
    measured: tuple[Measured[C], ...]
    unusable: Mapping[C, str] = field(default_factory=dict)

    @property
    def best(self) -> Measured[C]:
        """The fastest, where it is faster than the present choice by more than noise; else that."""
        return self.measured[0] if self.measured[0].ratio < _BETTER else self.present


def search(choices: Sequence[C], measure: Callable[[C], Mapping[str, float]], rounds: int = 5) -> Found[C]:
    """Return the best of some choices, of which the first is the present one.

    `measure` returns seconds by size, always of the same sizes. Every round measures in the other direction: the second of two
    runs hotter. After each round the slower half is left out, until few remain; the present choice stays.

    Raises:
        Unusable: the present choice itself.
    """
    present, *_ = choices
    times: dict[C, list[Mapping[str, float]]] = {choice: [] for choice in choices}
    unusable: dict[C, str] = {}
    for number in range(rounds):
        for choice in list(times)[:: -1 if number % 2 else 1]:
            try:
                times[choice].append(measure(choice))
            except Unusable as error:
                if choice == present:
                    raise
                unusable[choice] = str(error)
                del times[choice]
        ranked = sorted(times, key=lambda choice: _ratio(times[choice], times[present]))
        left = {present, *ranked[: max(_KEPT, len(ranked) // 2)]} if number < rounds - 1 else set(times)
        times = {choice: seen for choice, seen in times.items() if choice in left}
    base = times[present]
    found = [Measured(choice, _medians(seen), _ratio(seen, base)) for choice, seen in times.items()]
    found.sort(key=lambda one: one.ratio)
    return Found(next(one for one in found if one.choice == present), tuple(found), unusable)


def _medians(seen: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {size: statistics.median(one[size] for one in seen) for size in seen[0]}


def _ratio(seen: Sequence[Mapping[str, float]], base: Sequence[Mapping[str, float]]) -> float:
    """Return the geometric mean over the sizes of the time beside the present choice's: no size counts for more."""
    mine, other = _medians(seen), _medians(base)
    return statistics.geometric_mean(mine[size] / other[size] for size in mine)


# -- Tables ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """A table of choices: its name in the source, where that is, and what is tried for each of its keys.

    `measure(timer, key, choice)`, by a timer of tune_device.py, returns seconds by size, always of the same sizes, or raises
    Unusable. `every(shape)` returns what is tried for any shape, of a table whose choices are kept by shape too, for later calls;
    it raises ValueError for what is no shape.
    """

    name: str
    source: str
    entries: Mapping[Any, Any]
    candidates: Callable[[Any], Sequence[Any]]
    measure: Callable[[Any, Any, Any], Mapping[str, float]]
    every: Callable[[str], Sequence[Any]] | None = None


def tables() -> dict[str, Table]:
    """Return the tables that can be tuned, by the names of the algorithms."""
    return {name: module.TABLE for name, module in algorithms.parts("tables")}


def tune(
    name: str, keys: Sequence[Any], timer: Any, rounds: int, *, shapes: bool = False
) -> Iterator[tuple[Any, Found[Any]]]:
    """Yield what each key of a table, or each of some `shapes`, came to, as it is done.

    `timer.measure(name, key)` gives the function that measures.
    """
    table = tables()[name]
    choices = table.every if shapes and table.every is not None else table.candidates
    for key in keys:
        yield key, search(choices(key), timer.measure(name, key), rounds)


def spell_choice(choice: Any) -> str:
    """Return a choice as its table writes it: what is as by default is left out."""
    given = [f"{f.name}={getattr(choice, f.name)!r}" for f in fields(choice) if getattr(choice, f.name) != f.default]
    return f"{type(choice).__name__}({', '.join(given)})"


def table_text(name: str, found: Mapping[Any, Found[Any]]) -> str:
    """Return the table to paste."""
    table, lines = tables()[name], []
    for key, choice in table.entries.items():
        best = found[key].best.choice if key in found else choice
        lines.append(f"    {key!r}: {spell_choice(best)},{_beside(found[key]) if key in found else ''}")
    return "\n".join([f"# {table.source}", f"{table.name} = {{", *lines, "}"])


def _beside(found: Found[Any]) -> str:
    if found.best.choice == found.present.choice:
        return "  # as before"
    return f"  # {1 / found.best.ratio:.2f}x as fast as {spell_choice(found.present.choice)}"


def as_json(name: str, found: Mapping[Any, Found[Any]]) -> list[dict[str, Any]]:
    """Return what `json.dumps` takes: all that was measured."""
    return [
        {
            "table": name,
            "key": key,
            "present": spell_choice(one.present.choice),
            "best": spell_choice(one.best.choice),
            "measured": [
                {"choice": spell_choice(m.choice), "ratio": m.ratio, "seconds": dict(m.seconds)} for m in one.measured
            ],
            "unusable": [{"choice": spell_choice(choice), "why": why} for choice, why in one.unusable.items()],
        }
        for key, one in found.items()
    ]
