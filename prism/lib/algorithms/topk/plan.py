"""Which kernels find the first elements of rows, in what configuration, and what they are launched with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Scratch, Step, instance_of, nothing, size_of
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
_KEPT = (1, 2, 4, 8, 16)  # times the threads of a block
_MOST = 32 << 10  # bytes of elements that are sorted
_SHORTEST = 1 << 14  # elements of a part of a row: shorter ones take more time to begin and end than to read
_WORTH = 8  # a part has so many times as many elements as are taken of it
_SHARE = 64  # elements of a short row that a thread takes at most
_ONCE = 1 << 30  # blocks of a launch at most, and elements of a part
_HOST = Configuration(threads=256, blocks=1, room=4096, kept=4, groups=1, sample=8)


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

    @property
    def entry(self) -> int:
        """Bytes of a key and a place."""
        return 2 * size_of(self.key)

    def template(self) -> dict[str, Any]:
        """Return the template arguments that say how elements are ordered."""
        kind = kernels.FLOAT if self.scalar in _INFINITY else kernels.UNSIGNED
        kind = kernels.SIGNED if self.scalar.startswith("int") else kind
        return {
            "B": self.bits, "U": self.key, "KIND": kind, "INFINITY": _INFINITY.get(self.scalar, 0), "LARGEST": self.largest,
        }  # fmt: skip

    def bytes(self, c: Configuration) -> int:
        """Return how much shared memory a block takes."""
        return int((c.room + c.most) * self.entry + configurations.COUNTERS * size_of(self.key) // 4)


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
        kept, short = next((kept for kept in (1, 2, 4) if k <= kept * _HOST.threads), 0), n <= _HOST.room
        groups = _groups(task, n, k, _HOST.threads) if short else 1
        found = Configuration(_HOST.threads, 1, _HOST.room, kept, groups, 0 if short else _HOST.sample)
        return found if kept and (short or not whole) else None
    for threads in (128, 256, 512):
        c = _held(task, n, k, threads) if n <= configurations.HELD else _sampled(task, n, k, threads)
        while c is not None and task.bytes(c) > limit_of(machine) and c.room // 2 >= max(k, threads * c.groups):
            c = replace(c, room=c.room // 2)
        if c is not None and task.bytes(c) <= limit_of(machine) and (not whole or c.room >= n):
            enough = 64 if task.key == "uint32" and not c.sample else 48  # bytes of elements that a thread sorts
            registers = 1024 if c.kept * task.entry <= enough else 512  # threads that have enough of them
            blocks = max(1, min(limit_of(machine) // task.bytes(c), registers // threads))
            if (
                not c.sample or blocks * threads == registers or threads == 512
            ):  # else more of them are to have that room
                return replace(c, blocks=blocks)
    return None


def _held(task: Task, n: int, k: int, threads: int) -> Configuration | None:
    """Return how a block finds the first elements of a row all of which it looks at; None: not with so few threads."""
    groups = _groups(task, n, k, threads)
    kept = _kept(task, k, threads)
    if not kept or (threads < 512 and n > (_SHARE if groups else _SHARE // 4) * threads):
        return None
    if groups and k > configurations.FEW:  # all that comes before the bound is put in order
        kept = _kept(task, k + k // 2, threads) or kept
    room = _power(max(k, 512))
    if (
        groups
    ):  # of a sorted row a group's first element stands as many places from the next one's as it has of a vector
        width = 16 // size_of(task.bits)
        apart = max(min(width, _ahead(width, groups) * width // groups), 1)
        room = max(-(-(apart * k + 64) // 128) * 128, 512)
    return Configuration(threads, 1, max(min(room, 8192), threads * max(groups, 1), k), kept, groups)


def _sampled(task: Task, n: int, k: int, threads: int) -> Configuration | None:
    """Return how a block finds the first elements of a longer row; None: not with so few threads."""
    kept = _kept(task, k, threads) if threads > 128 else 0
    each = max(1, min(n // (configurations.APART * threads), configurations.SAMPLED))
    rank = rank_of(k * threads * each / n, configurations.UNLIKELY)
    room = _power(math.ceil(most_before(rank, configurations.UNLIKELY) * n / (threads * each)))
    if not kept or rank > threads // 4:
        return None
    return Configuration(threads, 1, max(min(room, 8192), threads, _power(k)), kept, 1, each)


def _groups(task: Task, n: int, k: int, threads: int) -> int:
    """Return in how many groups a thread takes the elements of a row that it looks at whole; 0: the bound is found exactly."""
    width = 16 // size_of(task.bits)
    found = (groups for groups in (1, 2, 4, 8) if threads * groups >= 2 * k and groups <= 2 * width)
    return next(found, 0) if n >= 2 * k * width else 0


def _ahead(width: int, groups: int) -> int:
    """Return how many vectors a thread loads at once."""
    if width == 4 and groups:
        return 4  # of rows of 8192 10 first ones 24.6 us for 25.6, 100 33.9 for 36.7, of rows of 2^17 190 for 204
    return max(4, groups) if width == 1 else 2 if width <= 4 else 1


def _kept(task: Task, k: int, threads: int) -> int:
    """Return how many elements of a thread are sorted; 0: there are too many."""
    return next((kept for kept in _KEPT if k <= kept * threads <= _MOST // task.entry), 0)


def _power(number: int) -> int:
    """Return the power of two that is not less."""
    return 1 << max(number - 1, 0).bit_length()


def limit_of(machine: Machine) -> int:
    """Return how many bytes of shared memory a block has."""
    return int(configurations.SMALL.get(int("".join(filter(str.isdigit, machine.arch))), configurations.ROOM))


def rank_of(expected: float, unlikely: float) -> int:
    """Return a rank that hardly ever so few elements of a sample come before: as many as `expected`, and some.

    By Chernoff's bound more are there with a probability below `exp(-unlikely)`.
    """
    many = math.floor(expected) + 1
    while expected - many - many * math.log(expected / many) < unlikely:
        many += 1
    return many - 1


def most_before(rank: int, unlikely: float) -> float:
    """Return how many elements of a sample are expected before a place that one of such a rank hardly ever stands behind."""
    many, expected = rank + 1, rank + 1.5
    while expected - many - many * math.log(expected / many) < unlikely:
        expected += 0.5
    return expected


def bound_rank(c: Configuration, length: int, k: int) -> int:
    """Return which of the first elements that threads have of a sample of a row is the bound."""
    rank: int = rank_of(k * c.threads * c.sample / length, configurations.UNLIKELY)
    return min(rank, int(c.threads) - 1)


def _longest(c: Configuration, k: int) -> int:
    """Return a length of rows for which there is room for what comes before their bound, all but certainly."""
    length = 2 * c.room
    while (
        most_before(bound_rank(c, 2 * length, k), configurations.UNLIKELY) * 2 * length <= c.room * c.threads * c.sample
    ):
        length *= 2
    return int(length)


def _parts(c: Configuration, n: int, k: int, rows: int, machine: Machine) -> int:
    """Return how many parts a row is cut into: so that all multiprocessors have some, and parts are not too long."""
    if not c.sample:
        return 1
    wanted = 1 if machine.host else -(-machine.multiprocessors * c.blocks // rows)
    if rows >= (1 if machine.host else machine.multiprocessors):
        wanted = 1
    return max(-(-n // min(_longest(c, k), _ONCE)), min(wanted, n // (_WORTH * k), n // _SHORTEST), 1)


def in_parts(
    task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine, scratch: Scratch, failed: Buffer | None = None,
) -> list[Step]:  # fmt: skip
    """Return the steps that find the first ones of parts of rows, and of these the first ones; `failed`: of which rows alone."""
    steps, rows, n, source, names = list[Step](), view.results, view.n, Buffer("x"), None
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
        steps += _steps(
            task, c, view, k, parts, 1 if parts > 1 else behind, skew, machine, (source, names), target, failed,
        )  # fmt: skip
        if parts == 1:
            return steps
        (source, names), n, skew = target, parts * k, 0
        view = Collapsed(rows, n, 1, n, 1, 0, 1, 1)


def _steps(
    task: Task, c: Configuration, view: Collapsed, k: int, parts: int, behind: int, skew: int, machine: Machine,
    source: tuple[Buffer, Buffer | None], target: tuple[Buffer, Buffer], failed: Buffer | None = None,
) -> list[Step]:  # fmt: skip
    """Return the launches of the kernel of rows: one, but of more blocks than that has."""
    vectors = view.n_stride == 1 and not machine.host
    template = template_of(task, c, vectors=vectors, named=source[1] is not None, checked=failed is not None)
    instance, jobs = instance_of(kernels.top_rows, template), view.results * parts
    return [
        Step(
            instance,
            min(jobs - begin, _ONCE),
            c.threads,
            {
                "x": source[0], "names": source[1] or nothing("int64"), "failed": failed or nothing("int64"), "y": target[0],
                "indices": target[1], "n": view.n, "k": k, "rows": view.results, "parts": parts, "inner": view.inner,
                "outer_stride": view.outer_stride, "n_stride": view.n_stride, "inner_stride": view.inner_stride,
                "outer_step": view.outer_step, "inner_step": view.inner_step, "behind": behind, "sample": c.sample,
                "bound_rank": bound_rank(c, view.n // parts, k) if c.sample else 0, "skew": skew, "begin": begin,
            },
        )
        for begin in range(0, jobs, _ONCE)
    ]  # fmt: skip


def template_of(
    task: Task, c: Configuration, *, vectors: bool, named: bool = False, checked: bool = False
) -> dict[str, Any]:
    """Return the template of the kernel of rows."""
    width = 16 // size_of(task.bits) if vectors else 1
    return {
        **task.template(), "E": _ENTRY[task.key], "DIRECT": not c.sample, "V": value_of(task.scalar), "NAMED": named,
        "CHECKED": checked, "ROOM": c.room, "GROUPS": c.groups, "KEPT": c.kept, "WIDTH": width,
        "AHEAD": _ahead(width, c.groups), "THREADS": c.threads, "BLOCKS": c.blocks,
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
    steps += _steps(task, c, view, slots, parts, 1, skew, machine, source, found)
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
    "in_parts",
    "in_runs",
    "is_ordered",
    "limit_of",
    "most_before",
    "rank_of",
    "template_of",
    "value_of",
]
