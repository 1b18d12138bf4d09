"""Which kernels a merge, or a sort by merging, takes, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import merge as kernels
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib.algorithms.select.plan import zero

_ORDERS = (kernels.less, kernels.greater)
_NARROW = (1 << 31) - (1 << 14)  # places in a tile are counted beyond
VALUES = "moved"
"""What the result of values is called; that of keys is `OUT`."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The types of keys and of values beside them, "" where there are none, and the order of keys.

    `by_rows`: integers alone may be merged by rows of shared memory.
    """

    keys: str
    values: str
    less: Kernel
    by_rows: bool = True

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
        """Whether elements of which neither is less are the same in all bits, go alone, and may be merged by rows."""
        scalar = SCALARS.get(self.keys)
        return self.by_rows and not self.values and self.less in _ORDERS and scalar is not None and scalar.integral

    def template(self, c: kernels.Configuration) -> dict[str, Any]:
        """Return the template of what merges, and of what sorts tiles."""
        found = {"T": self.keys, "LESS": self.less, "ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}
        if self.total:
            return found
        blocks = c.blocks // 2 + 1 if self.values else c.blocks
        return {**found, "V": self.moved, "VALUES": bool(self.values), "BLOCKS": blocks}


def merge(kind: Kind, one: int, other: int, machine: Machine) -> Plan:
    """Return the plan that merges two arrays, called `a` and `b`, and values `a_values` and `b_values`, at least one element."""
    # By rows 2^28 uint32 take 624 us on an H200, element by element 698; of narrower ones rows were not measured.
    kind = replace(kind, by_rows=kind.size >= 4)
    c, _, _ = _configurations(kind, machine)
    n, scratch = one + other, Scratch()
    tiles = -(-n // c.tile())
    cuts = scratch.take("int64", tiles)
    runs = {"width": 0, "n": n, "middle": one, "tiles": tiles, "cuts": cuts}
    given = (Buffer("a"), Buffer("b")), (Buffer("a_values"), Buffer("b_values"))
    return Plan(_pass(kind, c, 2, given, (Buffer(OUT), Buffer(VALUES)), runs), scratch=scratch.used)


def sort(kind: Kind, n: int, machine: Machine, values: str = "values") -> Plan:
    """Return the plan that sorts `n` elements of `x`, at least one, and `values` beside them: stable.

    Scratch: as many elements, and values, again, and some bytes a tile.
    """
    (two, four, tile), scratch = _configurations(kind, machine), Scratch()
    out = (Buffer(OUT), Buffer(VALUES) if kind.values else nothing(kind.moved))
    passes, width = list[tuple[kernels.Configuration, int, int, int]](), tile.tile()
    while width < n:
        ways, c = (2, two) if four is None or 2 * width >= n else (4, four)
        passes.append((c, ways, width, _tiles(n, ways * width, c.tile(ways))))
        width *= ways
    beside = out
    if passes:
        beside = scratch.take(kind.keys, n), scratch.take(kind.values, n) if kind.values else nothing(kind.moved)
    now, then = (out, beside) if len(passes) % 2 == 0 else (beside, out)
    first: dict[str, Any] = {"x": Buffer("x"), "y": now[0], "n": n}
    if not kind.total:
        source = Buffer(values) if kind.values else nothing(kind.moved)
        first |= {"x_values": source, "y_values": now[1], "nothing": zero(kind.moved)}
    sorting = instance_of(kernels.sort_keys if kind.total else kernels.sort_tiles, kind.template(tile))
    steps = [Step(sorting, -(-n // tile.tile()), tile.threads, first)]
    cuts = scratch.take("int64", max((ways - 1) * tiles for _, ways, _, tiles in passes)) if passes else None
    for c, ways, width, tiles in passes:
        runs = {"width": width, "n": n, "middle": 0, "tiles": tiles, "cuts": cuts}
        steps.extend(_pass(kind, c, ways, ((now[0], now[0]), (now[1], now[1])), then, runs))
        now, then = then, now
    return Plan(tuple(steps), scratch=scratch.used)


def _configurations(
    kind: Kind, machine: Machine
) -> tuple[kernels.Configuration, kernels.Configuration | None, kernels.Configuration]:
    """Return how two runs are merged, four runs, where there is a kernel that does, and tiles sorted."""
    if kind.total:
        two, four, tile = kernels.key_configurations(kind.size, host=machine.host)
        return two, four, tile
    two, tile = kernels.configurations(kind.size, host=machine.host)
    return two, None, tile


def _tiles(n: int, group: int, tile: int) -> int:
    """Return how many tiles the groups of runs have, of `group` elements together, of which the last one may not be whole."""
    groups, rest = divmod(n, group)
    return groups * -(-group // tile) + -(-rest // tile)


def _pass(
    kind: Kind, c: kernels.Configuration, ways: int, given: Any, out: tuple[Buffer, Buffer], runs: dict[str, Any]
) -> tuple[Step, ...]:
    """Return the launches that merge runs, so many at a time."""
    (a, b), (a_values, b_values) = given
    none, threads = nothing(kind.moved), kernels.THREADS
    if ways == 4:
        cutting, cut = kernels.cut_four_runs, {"x": a, **{name: runs[name] for name in ("cuts", "width", "n", "tiles")}}
    else:
        cutting, cut = kernels.cut_runs, {"a": a, "b": b, **runs}
    arguments = {**runs, "a": a, "b": b, "y": out[0], "otherwise": zero(kind.keys)}
    template = kind.template(c)
    if kind.total:
        merging = instance_of(
            kernels.merge_keys, {**template, "N": "int32" if runs["n"] < _NARROW else "int64", "WAYS": ways}
        )
    else:
        merging = instance_of(kernels.merge_tiles, template)
        arguments |= {
            "a_values": a_values if kind.values else none, "b_values": b_values if kind.values else none,
            "y_values": out[1] if kind.values else none, "nothing": zero(kind.moved),
        }  # fmt: skip
    cutter = instance_of(cutting, {"T": kind.keys, "LESS": kind.less, "TILE": c.tile(ways), "THREADS": threads})
    return (
        Step(cutter, -(-runs["tiles"] // threads), threads, cut),
        Step(merging, runs["tiles"], c.threads, arguments),
    )


__all__ = ["VALUES", "Kind", "merge", "sort"]
