"""Which kernels a histogram takes, in what configuration, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.plan import OUT, WORDS, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import histogram as kernels
from prism.kernels.histogram import configurations
from prism.kernels.histogram.configurations import Configuration
from prism.lib.algorithms.histogram.rules import Bins
from prism.lib.algorithms.scan.api import past
from prism.runtime.arrays import ArrayInfo

_MOST_ITEMS, _SEARCHED, _BYTES, _WEIGHED = 16, 8, 32, 4  # that a thread loads at once; bytes are four in a word
_WORTH = 256  # elements a counter in all, from which on one more copy of the bins is worth its while
_ROOM, _BESIDE = 227 << 10, 1 << 10  # bytes of a block's shared memory, and what stands there beside counts
_WIDE = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32"}
_NO_RULE = np.zeros((), np.dtype(kernels.Even))[()]
LENGTH = "length"
_KEPT = 1 << 14  # counts that a stream keeps, zero, for those that are handed over
_LIMITED = ("int16", "uint16", "int32", "uint32", "float32")
_EXACT = (*_LIMITED, "int8", "uint8", "float64")  # types of edges that float64 has each number of


@dataclass(frozen=True, slots=True)
class Task:
    """What is counted: `given`, as kernels have it, in `size` bins, of a kind; `weights`: their type, "" of none.

    `most`: the largest element is found too.
    """

    given: str
    size: int
    kind: int
    weights: str = ""
    bins: Bins | None = None
    edges: str = ""
    compared: str = ""
    most: bool = False

    @property
    def late(self) -> bool:
        """Whether elements are counted by value first."""
        return self.given in ("int8", "uint8")

    @property
    def limits(self) -> bool:
        """Whether elements are compared as they are: with the least that are not below each edge."""
        return self.kind == kernels.EDGES and self.given in _LIMITED and self.edges in _EXACT

    @property
    def near(self) -> bool:
        """Whether elements are compared with the nearest of even edges, where there is a table of these."""
        return self.bins is not None and self.bins.near and not (self.weights or self.by_value)

    @property
    def searched(self) -> str:
        """The type of the table of edges."""
        return self.given if self.limits or self.near else self.compared

    @property
    def counters(self) -> int:
        """How many counters there must be: one for each bin, or for each value, and one for what is in none."""
        if self.late:
            return 256
        return int(self.bins.rule["span"]) + 2 if self.by_value and self.bins is not None else self.size + 1

    @property
    def by_value(self) -> bool:
        """Whether integers are counted by value first: fewer are in the range than there are bins, or about as many."""
        known = self.integral and self.kind == kernels.EVEN and not self.late and self.bins is not None
        return known and int(self.bins.rule["span"]) <= self.size  # type: ignore[union-attr]

    @property
    def integral(self) -> bool:
        return "int" in self.given

    @property
    def sums(self) -> str:
        """The type that weights are added in, and of the result."""
        return "int64" if not self.weights or "int" in self.weights else "float64"

    @property
    def counter(self) -> str:
        return self.sums if self.weights else "uint32"

    def reads_edges(self, c: Configuration) -> bool:
        """Whether there are edges that numbers are compared with: of even bins where those computed quickly may not be sure."""
        if self.kind != kernels.EVEN or self.late or self.bins is None:
            return bool(self.kind == kernels.EDGES)
        return not self.bins.sure and not (self.by_value and c.slots > 0)

    def lanes(self, n: int, machine: Machine, table: int) -> int:
        """How many cells a guide has where each lane has edges and counts of its own, as for few edges of long arrays; else 0."""
        short, _ = configurations.SHORT
        cells = configurations.LANE_CELLS[n > configurations.LONG_LANES]
        few = self.limits and not self.weights and self.size + 3 <= configurations.RANKS
        fits = 8 * configurations.LANES.slots + 2 * cells + 4 * table + _BESIDE <= _room(machine)
        return cells if few and fits and n > short and not machine.host else 0

    def template(self, c: Configuration, copies: int, table: int, cells: int = 0) -> dict[str, Any]:
        """Return the kernel's template arguments."""
        wide = _WIDE.get(self.given, self.given) if self.integral else "int32"
        size = max(size_of(self.given), size_of(self.weights) if self.weights else 1)
        most = _WEIGHED if self.weights else _BYTES if self.late else _MOST_ITEMS
        if table and self.searched != self.given and not self.near:  # both would take too many registers
            most = min(most, _SEARCHED)
        items = min(most, max(4 if self.late else 1, c.bytes // size))  # bytes are loaded by whole words
        types = {"T": "float64", "D": "float64", "L": "float64", "G": "float32"}
        if self.bins is not None:
            types = self.bins.template("float64" if self.given == "float64" else "float32")
        if self.kind != kernels.EVEN or self.late:
            types["G"] = "float32"
        even = self.bins if self.kind == kernels.EVEN and not self.late else None
        by_value = self.by_value and bool(c.slots)
        flags = {
            "SURE": even is not None and even.sure and not by_value, "VALUES": by_value,
            "FIXED": even is not None and even.fixed and not by_value, "NEAR": self.near and bool(table),
            "LIMITS": (self.limits or self.near) and bool(table),
            "EXACT": even is not None and even.exact and self.reads_edges(c),
            # Where there is no table to be filled, and a block has several tiles.
            "EARLY": bool(c.slots) and not (table or self.weights) and c.bytes > configurations.SHORT[1],
        }  # fmt: skip
        return {
            **types, **{name: True for name, said in flags.items() if said}, **({"CELLS": cells} if cells else {}),
            **({} if c.slots or self.weights else {"OFTEN": c.often}), **({"LANES": c.slots} if c.lanes else {}),
            "TI": self.given, "TW": self.weights or "uint8",
            "TE": even.edges.name if even is not None and self.reads_edges(c) else self.edges or "float32",
            "E": (self.searched if table else self.compared) or "float32", "C": self.counter, "S": self.sums, "W": wide,
            "U": f"u{wide.removeprefix('u')}", "KIND": self.kind, "INTEGRAL": self.integral, "LATE": self.late,
            "WEIGHTED": bool(self.weights), "MOST": self.most,
            "SLOTS": c.slots * 4 // size_of(self.counter), "COPIES": copies, "TABLE": table,
            "THREADS": c.threads, "ITEMS": items, "WIDTH": min(items, max(1, 16 // size), 16), "BLOCKS": c.blocks,
        }  # fmt: skip

    def configuration(self, n: int, machine: Machine) -> tuple[Configuration, int, int, int]:
        """Return how it is cut, with the copies of the bins, the room for edges, and the cells of the guide to them."""
        each, many = size_of(self.counter) // 4, self.counters
        table = 0
        short, nbytes = configurations.SHORT
        if (self.kind == kernels.EDGES and not self.late) or (self.near and (n > short or machine.host)):
            table = next((room for room in configurations.TABLES if many <= room), 0)
        cells = 0 if not table or self.near else table if n <= short or machine.host else configurations.CELLS[table]
        if machine.host:
            slots = configurations.HOST.slots * each if many <= configurations.HOST.slots else 0
            return replace(configurations.HOST, slots=slots), 1, table, cells
        if found := self.lanes(n, machine, table):
            return configurations.LANES, 32, table, found
        beside = table * size_of(self.searched) // 4 + cells if table else 0  # the edges, and the guide to them
        cuts = cuts_of(machine, short=n <= short)
        most, shared = cuts[-1].slots, max((c.slots for c in cuts if c.blocks > 1), default=cuts[0].slots)
        if table and beside + many * each > most:  # the edges rather than the counts
            table = beside = cells = 0
        if many * each > most:
            return direct(machine, weighted=bool(self.weights)), 1, table, cells
        room = min(shared - beside, n // _WORTH * each)
        copies = next((copies for copies in configurations.COPIES if many * copies * each <= room), 1)
        c = next(c for c in cuts if many * copies * each + beside <= c.slots)
        return replace(c, slots=c.slots - beside, bytes=nbytes if n <= short else c.bytes), copies, table, cells


def cuts_of(machine: Machine, *, short: bool = False) -> tuple[Configuration, ...]:
    """Return the configurations that a GPU has shared memory for; `short`: those of short arrays."""
    cuts = configurations.SHORT_DEVICE if short else configurations.DEVICE
    return tuple(c for c in cuts if 4 * c.slots + _BESIDE <= _room(machine))


def direct(machine: Machine, *, weighted: bool) -> Configuration:
    """Return how elements of too many bins for a GPU's shared memory are counted; weights are all added at once."""
    cuts = configurations.DIRECT
    return cuts[-1] if weighted else next(c for c in cuts if 8 * c.often + _BESIDE <= _room(machine))


def _room(machine: Machine) -> int:
    """Return how many bytes of shared memory a block has."""
    found: int = configurations.SMALL.get(int("".join(filter(str.isdigit, machine.arch))), _ROOM)
    return found


def count(
    task: Task, n: int, machine: Machine, x: ArrayInfo | Buffer, weights: ArrayInfo | None = None,
    edges: Buffer | None = None, counted: Buffer | None = None, least: int = 0,
) -> Step:  # fmt: skip
    """Return the step that counts `n` elements, into a result that is zero; `x`: the array "x", or scratch memory.

    `edges`: those between which it counts; of even bins those that an earlier step makes. `counted`: of a task that finds the
    largest element too, the zeros where it counts, to hand at `least` so many over to the result.
    """
    c, copies, table, cells = task.configuration(n, machine)
    template = task.template(c, copies, table, cells)
    instance, width = instance_of(kernels.histogram, template), template["WIDTH"]

    def skew(info: ArrayInfo | Buffer | None, before: int = 0) -> int:
        if machine.host or info is None:
            return -1
        found = 0 if isinstance(info, Buffer) else past(info)
        return -1 if found < 0 else (found - before) % width

    shift = max(skew(x), 0)
    tiles = -(-(n + shift) // (c.threads * template["ITEMS"]))
    blocks = 1 if machine.host else min(tiles, machine.wave(instance, c.threads))
    rule = _NO_RULE if task.bins is None else task.bins.rule
    if task.limits and task.integral:
        rule = _NO_RULE.copy()
        rule["low"], rule["high"] = np.iinfo(task.given).min, np.iinfo(task.given).max
    return Step(
        instance,
        blocks,
        c.threads,
        {
            "x": x if isinstance(x, Buffer) else Buffer("x"),
            "weights": nothing(template["TW"]) if weights is None else Buffer("weights"),
            "edges": edges if edges and task.reads_edges(c) else nothing(template["TE"]),
            "counts": counted or Buffer(OUT), "result": Buffer(OUT) if counted else nothing("int64"),
            "length": Buffer(LENGTH) if counted else nothing("int64"), "least": least,
            "n": n, "size": task.size, "skew": skew(x), "weight_skew": skew(weights, shift),
            "rule": rule, "otherwise": _zero(task.given), "nothing": 0.0 if task.counter == "float64" else 0,
        },
    )  # fmt: skip


def prepare(many: int, sums: str, size: int = 0, bins: Bins | None = None, *, host: bool) -> Step:
    """Return the step that makes `many` counts zero, and `size + 1` edges of even bins, where there are some."""
    types = {"TE": "float32", "T": "float32", "L": "float64"}
    if bins is not None:
        types = {"TE": bins.edges.name, "T": bins.edges.name, "L": bins.computed.name}
    threads, most = configurations.PREPARE, max(many, size + 1)
    return Step(
        instance_of(kernels.prepare, {**types, "S": sums, "THREADS": threads}),
        1 if host else min(-(-most // threads), 1 << 12),
        threads,
        {
            "counts": Buffer(OUT), "edges": Buffer("edges") if bins is not None else nothing(types["TE"]),
            "size": size, "many": many, "rule": _NO_RULE if bins is None else bins.rule,
        },
    )  # fmt: skip


def check_edges(edges: str, size: int) -> Step:
    """Return the step that says how many bins there are between the edges: `size`, or none where they don't increase."""
    given = {"edges": Buffer("edges"), "length": Buffer(LENGTH), "size": size}
    return Step(
        instance_of(kernels.check_edges, {"TE": edges, "THREADS": configurations.PREPARE}),
        1,
        configurations.PREPARE,
        given,
    )


def count_guessed(scalar: str, n: int, size: int, least: int, machine: Machine, x: ArrayInfo) -> Plan:
    """Return the plan that counts `n` integers in `size` bins, and says how many there are up to that of the largest one."""
    task, many, scratch = Task(scalar, size, kernels.IDENTITY, most=True), size + 2, Scratch()
    if many <= _KEPT:
        step = count(task, n, machine, x, counted=Buffer(WORDS, 0, "int64", many), least=least)
        return Plan((step,), 8 * _KEPT, "counts")
    room = scratch.take("int64", many)
    return Plan((Clear(room), count(task, n, machine, x, counted=room, least=least)), scratch=scratch.used)


def place(kinds: tuple[str, str, str], n: int, size: int, total: int, k: int, places: Buffer, *, host: bool) -> Step:
    """Return the step that finds bins along dimension `k`, of arrays that are called `x0`, `edges0` and so on.

    `kinds`: the types of both, and of comparisons.
    """
    template = {**dict(zip(("TI", "TE", "E"), kinds, strict=True)), "FIRST": k == 0, "THREADS": configurations.PREPARE}
    return Step(
        instance_of(kernels.place, template),
        1 if host else min(-(-n // configurations.PREPARE), 1 << 12),
        configurations.PREPARE,
        {"x": Buffer(f"x{k}"), "edges": Buffer(f"edges{k}"), "positions": places, "n": n, "size": size, "total": total},
    )


def _zero(scalar: str) -> Any:
    return 0 if "int" in scalar else 0.0


__all__ = ["LENGTH", "Plan", "Task", "check_edges", "count", "count_guessed", "place", "prepare"]
