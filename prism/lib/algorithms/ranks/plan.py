"""Which kernels find the element of some rank of each row, or what lies between two, and what they are launched with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import topk as kernels
from prism.kernels.topk import configurations
from prism.lib.algorithms.topk.plan import INDICES, Task, limit_of, value_of

_BRACKET, _HOST_SAMPLE, _HOST_SHORT = 1024, 1024, 4096  # threads of the kernel that finds bounds; of the host
_LONGEST = 1 << 17  # elements that one block reads again and again, at the end


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is computed of a row: `how`, of the elements of ranks `low` and `high`, of which it is `weight` of the way.

    `value`, `computed`, `result`: the types that elements have, are computed in, and become; "" where a place is wanted too.
    `skip`: NaN is left out, and ranks follow from `q`, in the type `typed`, `alpha`, `beta` and `method`, see
    `prism.kernels.topk.quantile`.
    """

    low: int
    high: int
    weight: float = 0.0
    how: int = kernels.EXACT
    value: str = ""
    computed: str = ""
    result: str = ""
    skip: bool = False
    q: float = 0.0
    typed: str = "float64"
    alpha: float = 0.0
    beta: float = 0.0
    method: int = 0

    @property
    def places(self) -> bool:
        return not self.value

    def numbers(self) -> dict[str, Any]:
        """Return the arguments that say which ranks are wanted."""
        return {
            "low": self.low, "high": self.high, "q": self.q, "alpha": self.alpha, "beta": self.beta, "method": self.method,
            "valid": Buffer("valid") if self.skip else nothing("int64"),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of an array, and how many elements it begins past an aligned one."""

    task: Task
    view: Collapsed
    skew: int

    @property
    def place(self) -> str:
        """The type of positions in a row."""
        return "uint32" if self.view.n < 1 << 32 else "uint64"

    def key(self) -> dict[str, Any]:
        """Return the template arguments that say how elements are ordered."""
        return {**self.task.template(), "P": self.place}

    def lie(self) -> dict[str, int]:
        """Return the arguments that say where rows are."""
        view = self.view
        return {
            "rows": view.results, "inner": view.inner, "outer_stride": view.outer_stride, "n_stride": view.n_stride,
            "inner_stride": view.inner_stride,
        }  # fmt: skip

    def number(self) -> dict[str, int]:
        """Return the arguments that say where results go."""
        return {"outer_step": self.view.outer_step, "inner_step": self.view.inner_step}


def sample_of(task: Task, machine: Machine) -> int:
    """Return how many elements are looked at first."""
    if machine.host:
        return _HOST_SAMPLE
    nbytes = configurations.SAMPLE
    while nbytes + configurations.BESIDE > limit_of(machine):
        nbytes //= 2
    return int(nbytes // size_of(task.key))


def room_of(n: int, sample: int) -> int:
    """Return how many elements of a row stand between two bounds at most, all but certainly."""
    share = 2 * (4.5 * 0.5 * math.sqrt(sample) + 10) / sample  # as `bracket_rows` has it
    return min(n, math.ceil(n * share * 1.25) + 1024)


def find(
    rows: Rows, wanted: Wanted, machine: Machine, scratch: Scratch, *, start: int = 0,
    target: tuple[Buffer, Buffer] | None = None,
) -> list[Step]:  # fmt: skip
    """Return the steps that find what is wanted of each row; results go from element `start` of a buffer on."""
    steps, view, task = list[Step](), rows.view, rows.task
    n, named, source = view.n, False, (Buffer("x"), nothing(rows.place))
    places, lie, skew = wanted.places, rows.lie(), rows.skew
    sample, key, value = sample_of(task, machine), rows.key(), value_of(task.scalar)
    known = counted = nans = nothing("int64")
    short = _HOST_SHORT if machine.host else configurations.SHORT
    while (n > short) if not steps else (n > _LONGEST and room_of(n, sample) < n):
        room, first = room_of(n, sample), not steps
        facts = scratch.take("int64", view.results * kernels.FACTS)
        counts = scratch.take("int64", view.results * kernels.COUNTS)
        bounds = scratch.take(task.key, view.results * 2)
        kept = scratch.take(task.key, view.results * room)
        spots = scratch.take(rows.place, view.results * room) if places else nothing(rows.place)
        if first:
            nans = counts
        else:
            key = {**key, "B": task.key, "KIND": kernels.UNSIGNED, "INFINITY": 0, "LARGEST": False}
            value = task.key
        chosen, at = (facts, counts, bounds), {"x": source[0], "names": source[1], "NAMED": named}
        numbers = {**wanted.numbers(), "known": known, "counted": counted, "n": n, **lie, **rows.number()}
        steps.append(_bracket(key, at, chosen, numbers, sample, machine, first=first, wanted=wanted))
        steps.append(
            _keep(
                {**key, "V": value},
                at,
                chosen,
                (kept, spots),
                {**lie, "room": room, "skew": skew},
                n,
                machine,
                places=places,
            )
        )
        known, counted, source, named = facts, counts, (kept, spots), places
        lie = {"rows": view.results, "inner": 1, "outer_stride": room, "n_stride": 1, "inner_stride": 0}
        n, skew = room, 0
    threads = 1024 if machine.host else 512 if view.n <= 1 << 13 else 1024
    template = {
        **rows.key(), "Q": wanted.typed, "V": wanted.value or "uint8", "C": wanted.computed or "float32",
        "R": wanted.result or task.bits,
        "LISTED": bool(steps), "PLACES": places, "SKIP": wanted.skip, "HOW": wanted.how, "THREADS": threads,
    }  # fmt: skip
    instance = instance_of(kernels.find_ranks, template)
    out, indices = target or (Buffer(OUT), Buffer(INDICES) if places else nothing("int64"))
    arguments = {
        "x": Buffer("x"), "kept": source[0] if steps else nothing(task.key),
        "spots": source[1] if steps else nothing(rows.place),
        "known": known, "counted": counted, "nans": nans, "y": out, "indices": indices, "n": view.n, **wanted.numbers(),
        "weight": wanted.weight, "room": n, **rows.lie(), **rows.number(), "start": start,
    }  # fmt: skip
    blocks = 1 if machine.host else min(view.results, machine.wave(instance, threads))
    return [*steps, Step(instance, blocks, threads, arguments)]


def _bracket(
    key: dict[str, Any], at: dict[str, Any], chosen: tuple[Buffer, Buffer, Buffer], numbers: dict[str, Any], sample: int,
    machine: Machine, *, first: bool, wanted: Wanted,
) -> Step:  # fmt: skip
    template = {
        **key, "Q": wanted.typed, "FIRST": first, "NAMED": at["NAMED"], "SKIP": wanted.skip, "SAMPLE": sample,
        "THREADS": _BRACKET,
    }  # fmt: skip
    instance = instance_of(kernels.bracket_rows, template)
    facts, counts, bounds = chosen
    arguments = {"x": at["x"], "names": at["names"], "facts": facts, "counts": counts, "bounds": bounds, **numbers}
    blocks = 1 if machine.host else min(numbers["rows"], machine.wave(instance, _BRACKET))
    return Step(instance, blocks, _BRACKET, arguments)


def _keep(
    key: dict[str, Any], at: dict[str, Any], chosen: tuple[Buffer, Buffer, Buffer], target: tuple[Buffer, Buffer],
    numbers: dict[str, int], n: int, machine: Machine, *, places: bool,
) -> Step:  # fmt: skip
    (threads, blocks), gathered = configurations.KEEPING, configurations.GATHERED
    if machine.host or limit_of(machine) < 128 << 10:
        threads, gathered = 256, gathered // 2
    gathered //= size_of(key["U"]) + (size_of(key["P"]) if places else 0)
    width = 1 if machine.host or numbers["n_stride"] != 1 else 16 // size_of(key["B"])
    ahead = 4 if width == 1 else min(16 // width, 4)
    tile = threads * ahead * width
    template = {
        **key, "NAMED": at["NAMED"], "PLACES": places, "WIDTH": width, "AHEAD": ahead, "STAGE": gathered, "THREADS": threads,
        "BLOCKS": blocks,
    }  # fmt: skip
    instance = instance_of(kernels.keep_between, template)
    many = 1 if machine.host else machine.wave(instance, threads)
    parts = max(1, min(-(-many // numbers["rows"]) if numbers["rows"] < many else 1, n // (2 * tile)))
    facts, counts, bounds = chosen
    arguments = {
        "x": at["x"], "names": at["names"], "bounds": bounds, "facts": facts, "counts": counts, "kept": target[0],
        "spots": target[1], "parts": parts, **numbers,
    }  # fmt: skip
    return Step(instance, 1 if machine.host else min(many, numbers["rows"] * parts), threads, arguments)


def part(
    rows: Rows, rank: int, cuts: tuple[Buffer, Buffer], y: Buffer, behind: int, machine: Machine, scratch: Scratch, *,
    places: bool = False, indices: Buffer | None = None,
) -> list[Step]:  # fmt: skip
    """Return the steps that part rows at an element of each, of a rank, which is known with its place.

    `indices`: only what is not behind it is written, and where it stands, there.
    """
    threads, items = configurations.PART
    key, view = rows.key(), rows.view
    del key["P"]
    result = "int64" if places else rows.task.bits
    first = instance_of(kernels.count_before, {**key, "THREADS": threads})
    second = instance_of(
        kernels.part_rows,
        {**key, "R": result, "PLACES": places, "FRONT": indices is not None, "ITEMS": items, "THREADS": threads},
    )
    many = 1 if machine.host else min(machine.wave(one, threads) for one in (first, second))
    parts = max(1, min(-(-many // view.results) if view.results < many else 1, view.n // (4 * threads * items)))
    numbers = scratch.take("int64", view.results * parts)
    lie = {**rows.lie(), **rows.number(), "n": view.n, "parts": parts}
    given = {"x": Buffer("x"), "cuts": cuts[0], "spots": cuts[1], "numbers": numbers, **lie}
    target = {"y": y, "indices": indices or nothing("int64"), "kth": rank, "behind": behind}
    blocks = 1 if machine.host else min(many, view.results * parts)
    return [Step(first, blocks, threads, given), Step(second, blocks, threads, {**given, **target})]


__all__ = ["Rows", "Wanted", "find", "part", "room_of", "sample_of"]
