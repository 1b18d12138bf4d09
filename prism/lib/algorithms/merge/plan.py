"""Which kernels a merge, or a sort by merging, takes, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import OUT, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import merge as kernels
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib.algorithms.merge import samples
from prism.lib.algorithms.select.plan import zero

_ORDERS = (kernels.less, kernels.greater)
_NARROW = (1 << 31) - (1 << 14)  # places in a tile are counted beyond
_MANY = 1 << 13
"""From so many tiles on some are cut first: one launch more, and fewer reads."""
VALUES = "moved"
"""What the result of values is called; that of keys is `OUT`."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The types of keys and of values beside them, "" where there are none, and the order of keys."""

    keys: str
    values: str
    less: Kernel

    @property
    def size(self) -> int:
        """Bytes of the larger of both: what configurations go by."""
        return max(size_of(self.keys), size_of(self.values) if self.values else 1)

    @property
    def moved(self) -> str:
        """The kernels' type of values, where there are none too."""
        return self.values or "uint8"

    @property
    def total(self) -> bool:
        """Whether elements of which neither is less are the same in all bits, go alone, and are merged by rows.

        By rows 2^28 uint32 took 624 us on an H200, element by element 698; of narrower ones rows were not measured.
        """
        scalar = SCALARS.get(self.keys)
        plain = scalar is not None and scalar.integral and scalar.bytes >= 4
        return plain and not self.values and self.less in _ORDERS

    def template(self, c: kernels.Configuration, **more: Any) -> dict[str, Any]:
        """Return the template of what merges runs, and of what sorts tiles."""
        found = {"T": self.keys, "LESS": self.less, "ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}
        return {**found, "V": self.moved, "VALUES": bool(self.values), **more}


def merge(kind: Kind, one: int, other: int, machine: Machine) -> Plan:
    """Return the plan that merges two arrays, called `a` and `b`, and values `a_values` and `b_values`, at least one element."""
    n, scratch = one + other, Scratch()
    c = kernels.key_configuration(kind.size, host=machine.host) if kind.total else _configurations(kind, machine).two
    tiles = -(-n // c.tile())
    given = (Buffer("a"), Buffer("b")), (Buffer("a_values"), Buffer("b_values"))
    runs = {"n": n, "middle": one, "cuts": scratch.take("int64", 2 * tiles)}
    if not kind.total:
        return Plan(_two(kind, c, given, (Buffer(OUT), Buffer(VALUES)), {**runs, "width": 0}), scratch=scratch.used)
    (a, b), _ = given
    template = {"T": kind.keys, "LESS": kind.less, "ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}
    arguments = {**runs, "a": a, "b": b, "y": Buffer(OUT), "otherwise": zero(kind.keys)}
    merging = Step(instance_of(kernels.merge_keys, template), tiles, c.threads, arguments)
    return Plan((*_cut_two(kind, c, {**runs, "a": a, "b": b, "width": 0}), merging), scratch=scratch.used)


def sort(kind: Kind, n: int, machine: Machine, values: str = "values") -> Plan:
    """Return the plan that sorts `n` elements of `x`, at least one, and `values` beside them: stable.

    Scratch: as many elements, and values, again, and some bytes a tile; of elements that samples part, a byte each more.
    """
    scratch, nowhere = Scratch(), nothing(kind.moved)
    given = Buffer("x"), Buffer(values) if kind.values else nowhere
    out = Buffer(OUT), Buffer(VALUES) if kind.values else nowhere
    if samples.takes(kind.size, bool(kind.values), n, machine):
        steps = samples.steps(kind, n, machine, given, out, scratch, by_merging)
    else:
        steps = by_merging(kind, n, machine, given, out, scratch)
    return Plan(steps, scratch=scratch.used)


def by_merging(
    kind: Kind, n: int, machine: Machine, given: tuple[Buffer, Buffer], out: tuple[Buffer, Buffer], scratch: Scratch
) -> tuple[Step | Clear, ...]:
    """Return the launches that sort `n` elements, and values beside them, by tiles and merges of these."""
    cs, nowhere = _configurations(kind, machine), nothing(kind.moved)
    passes, width = list[tuple[int, int]](), cs.sorted.tile()
    while width < n:
        passes.append((2 if 2 * width >= n else 4, width))
        width *= passes[-1][0]
    beside = out
    if passes:
        beside = scratch.take(kind.keys, n), scratch.take(kind.values, n) if kind.values else nowhere
    now, then = (out, beside) if len(passes) % 2 == 0 else (beside, out)
    first = {
        "x": given[0], "y": now[0], "n": n, "x_values": given[1], "y_values": now[1], "nothing": zero(kind.moved),
    }  # fmt: skip
    c = cs.sorted
    steps = [Step(instance_of(kernels.sort_tiles, kind.template(c)), -(-n // c.tile()), c.threads, first)]
    # A four-way merge has three cuts a tile; one of two runs has fewer.
    cuts = (
        scratch.take("int64", 3 * max(_tiles(n, 4 * width, cs.four.tile(4)) for _, width in passes)) if passes else None
    )
    for ways, width in passes:
        runs = {"width": width, "n": n, "cuts": cuts}
        if ways == 4:
            steps.extend(_four(kind, cs.four, now, then, runs))
        else:
            steps.extend(_two(kind, cs.two, ((now[0], now[0]), (now[1], now[1])), then, {**runs, "middle": 0}))
        now, then = then, now
    return tuple(steps)


def _configurations(kind: Kind, machine: Machine) -> kernels.Tiles:
    return kernels.configurations(kind.size, values=bool(kind.values), host=machine.host)


def _tiles(n: int, group: int, tile: int) -> int:
    """Return how many tiles the groups of runs have, of `group` elements together, of which the last one may not be whole."""
    groups, rest = divmod(n, group)
    return groups * -(-group // tile) + -(-rest // tile)


def _cut(kernel: Kernel, kind: Kind, tile: int, arguments: dict[str, Any], **more: Any) -> Step:
    """Return the launch that looks for where tiles begin in their runs."""
    template = {"T": kind.keys, "LESS": kind.less, "TILE": tile, "THREADS": kernels.THREADS, **more}
    threads = arguments["tiles"] * (kernels.LANES if kernel is kernels.cut_four_runs else 1)
    return Step(instance_of(kernel, template), -(-threads // kernels.THREADS), kernels.THREADS, arguments)


def _cut_two(kind: Kind, c: kernels.Configuration, arguments: dict[str, Any]) -> tuple[Step, ...]:
    """Return the launches that look for where tiles begin in two runs. `cuts`: twice as many as tiles, where these are many."""
    n, tile = arguments["n"], c.tile()
    group = 2 * arguments["width"] or n
    tiles, some = _tiles(n, group, tile), _tiles(n, group, tile * kernels.GROUP)
    whole = {**arguments, "known": nothing("int64")}
    if tiles < _MANY:
        return (_cut(kernels.cut_runs, kind, tile, {**whole, "tiles": tiles}, WITHIN=False, PROBES=7),)
    known = replace(arguments["cuts"], offset=arguments["cuts"].offset + 8 * tiles, count=some)
    starts = {**whole, "cuts": known, "tiles": some}
    first = _cut(kernels.cut_runs, kind, tile * kernels.GROUP, starts, WITHIN=False, PROBES=1)
    others = {**arguments, "known": known, "tiles": tiles}
    return first, _cut(kernels.cut_runs, kind, tile, others, WITHIN=True, PROBES=1)


def _two(
    kind: Kind, c: kernels.Configuration, given: Any, out: tuple[Buffer, Buffer], runs: dict[str, Any]
) -> tuple[Step, ...]:
    """Return the launches that merge two arrays, or runs two at a time."""
    (a, b), (a_values, b_values) = given
    none, tiles = nothing(kind.moved), _tiles(runs["n"], 2 * runs["width"] or runs["n"], c.tile())
    arguments = {
        **runs, "a": a, "b": b, "y": out[0], "otherwise": zero(kind.keys), "a_values": a_values if kind.values else none,
        "b_values": b_values if kind.values else none, "y_values": out[1] if kind.values else none, "nothing": zero(kind.moved),
    }  # fmt: skip
    merging = Step(instance_of(kernels.merge_tiles, kind.template(c)), tiles, c.threads, arguments)
    return *_cut_two(kind, c, {**runs, "a": a, "b": b}), merging


def _four(
    kind: Kind, c: kernels.Configuration, given: tuple[Buffer, Buffer], out: tuple[Buffer, Buffer], runs: dict[str, Any]
) -> tuple[Step, ...]:
    """Return the launches that merge runs four at a time."""
    runs = {**runs, "tiles": _tiles(runs["n"], 4 * runs["width"], c.tile(4))}
    arguments = {
        **runs, "x": given[0], "y": out[0], "x_values": given[1], "y_values": out[1], "otherwise": zero(kind.keys),
    }  # fmt: skip
    template = kind.template(c, N="int32" if runs["n"] < _NARROW else "int64")
    cutting = _cut(kernels.cut_four_runs, kind, c.tile(4), {**runs, "x": given[0]})
    return cutting, Step(instance_of(kernels.merge_fours, template), runs["tiles"], c.threads, arguments)


__all__ = ["VALUES", "Kind", "merge", "sort"]
