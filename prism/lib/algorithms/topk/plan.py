"""Which kernels find the first elements of rows, in what configuration, and what they are launched with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import topk as kernels
from prism.kernels.topk import configurations
from prism.kernels.topk.configurations import Configuration
from prism.lang.types import SCALARS

INDICES = "indices"
"""What the positions are called, of results."""
_BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
_ENTRY = {
    key: f"struct{{key:{key},place:uint32}}" for key in ("uint32", "uint64")
}  # `Narrow` and `Wide`, by their names
_KEPT = (1, 2, 3, 4, 6, 8, 11)  # times the threads of a block: up to 4096 elements
_SHORTEST = 1 << 14  # elements of a part of a row: shorter ones take more time to begin and end than to read
_WORTH = 8  # a part has so many times as many elements as are taken of it
_HOST = Configuration(threads=256, blocks=1, room=4096, kept=4, sample=2048)


@dataclass(frozen=True, slots=True)
class Task:
    """What elements are, and in what order they are taken."""

    scalar: str
    largest: bool = False

    @property
    def bits(self) -> str:
        """The unsigned integer of as many bits."""
        return _BITS[1 if self.scalar == "bool" else size_of(self.scalar)]

    @property
    def key(self) -> str:
        return "uint64" if self.bits == "uint64" else "uint32"

    def template(self) -> dict[str, Any]:
        """Return the template arguments that say how elements are ordered."""
        kind = kernels.FLOAT if self.scalar in _INFINITY else kernels.UNSIGNED
        kind = kernels.SIGNED if self.scalar.startswith("int") else kind
        return {
            "B": self.bits, "U": self.key, "KIND": kind, "INFINITY": _INFINITY.get(self.scalar, 0), "LARGEST": self.largest,
        }  # fmt: skip

    def bytes(self, c: Configuration) -> int:
        """Return how much shared memory a block takes."""
        key, entry = size_of(self.key), 2 * size_of(self.key)
        return int(c.room * (key + (4 if c.sample else 0)) + 2 * c.most * entry + configurations.BESIDE)


def value_of(scalar: str) -> str:
    """Return the type that a kernel compares elements as: of bools their bytes."""
    return "uint8" if scalar == "bool" else scalar


def is_ordered(scalar: str) -> bool:
    """Whether elements of a dtype can be put in order: bools, integers and floats of 16 bits or more."""
    known = SCALARS.get(scalar)
    return scalar == "bool" or scalar in _INFINITY or (known is not None and known.integral)


def configuration(task: Task, n: int, k: int, machine: Machine, *, whole: bool = False) -> Configuration | None:
    """Return how the first `k` of `n` elements are found; None where a block can't sort so many. `whole`: it holds them all."""
    if machine.host:
        kept = next((kept for kept in (1, 2, 4) if k <= kept * _HOST.threads), 0)
        short = n <= _HOST.room
        if not kept or (whole and not short):
            return None
        return Configuration(_HOST.threads, 1, _HOST.room, kept, 0 if short else _HOST.sample)
    limit, (most, fewest) = limit_of(machine), configurations.FEW
    threads = fewest if n <= most else configurations.THREADS
    room = max(1 << (n - 1).bit_length(), 256)
    if room <= 1 << 14 and (kept := _kept(k, threads)):
        direct = Configuration(threads, 1, room, kept)
        if task.bytes(direct) <= limit:
            return _filled(task, direct, limit)
    threads = configurations.STREAMING
    kept = _kept(k, threads)
    room = 1 << 13 if k <= 2048 else 1 << 14
    while kept and not whole and room >= 2 * k:
        found = Configuration(threads, 1, room, kept, room // 2)
        if task.bytes(found) <= limit:
            return _filled(task, found, limit)
        room //= 2
    return None


def _kept(k: int, threads: int) -> int:
    """Return how many elements of a thread are sorted; 0: there are too many."""
    return next((kept for kept in _KEPT if k <= kept * threads), 0)


def _filled(task: Task, c: Configuration, limit: int) -> Configuration:
    """Return a configuration with as many blocks a multiprocessor as have shared memory and registers."""
    blocks = max(1, min(limit // task.bytes(c), 2048 // c.threads, 1024 // c.threads if c.sample else 4))
    return Configuration(c.threads, blocks, c.room, c.kept, c.sample)


def limit_of(machine: Machine) -> int:
    """Return how many bytes of shared memory a block has."""
    return int(configurations.SMALL.get(int("".join(filter(str.isdigit, machine.arch))), configurations.ROOM))


def bound_rank(c: Configuration, length: int, k: int) -> int:
    """Return which element of a sample of a row is its bound: four deviations, and some, after where the last one of `k` is."""
    expected = k * c.sample / length
    return int(min(math.ceil(expected + 4 * math.sqrt(expected) + 8), c.sample - 1))


def _longest(c: Configuration, k: int) -> int:
    """Return a length of rows for which there is room for what comes before their bound, four deviations more than expected."""
    length = 2 * c.room
    while True:
        rank = bound_rank(c, 2 * length, k)
        if (rank + 4 * math.sqrt(rank)) * 2 * length > c.room * c.sample:
            return int(length)
        length *= 2


def _parts(c: Configuration, n: int, k: int, rows: int, machine: Machine) -> int:
    """Return how many parts a row is cut into: so that all multiprocessors have some, and parts are not too long."""
    if not c.sample:
        return 1
    wanted = 1 if machine.host else -(-machine.multiprocessors * c.blocks // rows)
    if rows >= (1 if machine.host else machine.multiprocessors):
        wanted = 1
    return max(-(-n // _longest(c, k)), min(wanted, n // (_WORTH * k), n // _SHORTEST), 1)


def top_rows(task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine) -> Plan:
    """Return the plan that finds the first `k` elements of rows, in their order, and their positions.

    `behind`: elements that stand behind the axis of the rows; `skew`: as many elements as `x` begins past an aligned one.
    """
    scratch, steps = Scratch(), list[Step]()
    rows, n, source, names = view.results, view.n, Buffer("x"), None
    if configuration(task, n, k, machine) is None:
        steps = in_runs(task, view, behind, k, skew, machine, (source, names), scratch)
        return Plan(tuple(steps), scratch=scratch.used)
    while True:
        c = configuration(task, n, k, machine)
        assert c is not None
        parts = _parts(c, n, k, rows, machine)
        target = (Buffer(OUT), Buffer(INDICES))
        if parts > 1:
            c = configuration(task, -(-n // parts), k, machine)
            assert c is not None
            room = rows * parts * k
            target = scratch.take(task.bits, room), scratch.take("int64", room)
        steps.append(_step(task, c, view, k, parts, 1 if parts > 1 else behind, skew, machine, (source, names), target))
        if parts == 1:
            return Plan(tuple(steps), scratch=scratch.used)
        (source, names), n, skew = target, parts * k, 0
        view = Collapsed(rows, n, 1, n, 1, 0, 1, 1)


def _step(
    task: Task, c: Configuration, view: Collapsed, k: int, parts: int, behind: int, skew: int, machine: Machine,
    source: tuple[Buffer, Buffer | None], target: tuple[Buffer, Buffer],
) -> Step:  # fmt: skip
    template = template_of(task, c, vectors=view.n_stride == 1 and not machine.host, named=source[1] is not None)
    instance, jobs = instance_of(kernels.top_rows, template), view.results * parts
    return Step(
        instance,
        1 if machine.host else min(jobs, machine.wave(instance, c.threads)),
        c.threads,
        {
            "x": source[0], "names": source[1] or nothing("int64"), "y": target[0], "indices": target[1], "n": view.n, "k": k,
            "rows": view.results, "parts": parts, "inner": view.inner, "outer_stride": view.outer_stride,
            "n_stride": view.n_stride, "inner_stride": view.inner_stride, "outer_step": view.outer_step,
            "inner_step": view.inner_step, "behind": behind,
            "bound_rank": bound_rank(c, view.n // parts, k) if c.sample else 0, "skew": skew,
        },
    )  # fmt: skip


def template_of(task: Task, c: Configuration, *, vectors: bool, named: bool = False) -> dict[str, Any]:
    """Return the template of the kernel of rows."""
    width = 16 // size_of(task.bits) if vectors else 1
    return {
        **task.template(), "E": _ENTRY[task.key], "DIRECT": not c.sample,
        "V": value_of(task.scalar), "NAMED": named, "ROOM": c.room, "SAMPLE": c.sample or 8, "KEPT": c.kept, "WIDTH": width,
        "AHEAD": 4 if width <= 4 else 2, "THREADS": c.threads, "BLOCKS": c.blocks,
    }  # fmt: skip


def in_runs(
    task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine, source: tuple[Buffer, Buffer | None],
    scratch: Scratch,
) -> list[Step]:  # fmt: skip
    """Return the steps for more elements than a block sorts: parts are sorted, and merged until one run is left.

    `source`: the elements, and where they stand, if not where they are.
    """
    steps, rows, n = list[Step](), view.results, view.n
    tile = next(tile for tile in (4096, 2048, 1024, 512) if configuration(task, tile, tile, machine, whole=True))
    parts, runs, span = -(-n // tile), -(-n // tile), 1
    slots = min(-(-n // parts), k)
    c = configuration(task, -(-n // parts), slots, machine, whole=True)
    assert c is not None
    found = scratch.take(task.bits, rows * runs * slots), scratch.take("int64", rows * runs * slots)
    steps.append(_step(task, c, view, slots, parts, 1, skew, machine, source, found))
    threads, items = configurations.MERGE
    instance = instance_of(kernels.merge_rows, {**task.template(), "ITEMS": items, "THREADS": threads})
    while runs > 1:
        pairs, last = (runs + 1) // 2, runs <= 2
        room = k if last else min(k, -(-n * min(2 * span, parts) // parts) + 1)
        target = (Buffer(OUT), Buffer(INDICES))
        if not last:
            target = scratch.take(task.bits, rows * pairs * room), scratch.take("int64", rows * pairs * room)
        jobs = rows * pairs * -(-room // (threads * items))
        numbers = {
            "n": n, "k": k, "rows": rows, "parts": parts, "span": span, "runs": runs, "slots": slots, "room": room,
            "behind": behind if last else 1,
        }  # fmt: skip
        arguments = {"values": found[0], "spots": found[1], "y": target[0], "indices": target[1], **numbers}
        steps.append(Step(instance, 1 if machine.host else min(jobs, 1 << 16), threads, arguments))
        found, runs, span, slots = target, pairs, 2 * span, room
    return steps


__all__ = [
    "INDICES",
    "Task",
    "bound_rank",
    "configuration",
    "in_runs",
    "is_ordered",
    "limit_of",
    "template_of",
    "top_rows",
]
