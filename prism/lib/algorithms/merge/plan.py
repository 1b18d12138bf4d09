"""Which kernels a merge, or a sort by merging, takes, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import merge as kernels
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib.algorithms.select.plan import zero

_ORDERS = (kernels.less, kernels.greater)
_NARROW = 1 << 31
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
        """Whether elements of which neither is less are the same in all bits, and go alone."""
        scalar = SCALARS.get(self.keys)
        return not self.values and self.less in _ORDERS and scalar is not None and scalar.integral

    def cut(self, c: kernels.Configuration, ways: int) -> dict[str, Any]:
        """Return the template of what looks for where tiles begin."""
        return {"T": self.keys, "LESS": self.less, "TILE": c.tile(ways), "THREADS": kernels.THREADS}

    def template(self, c: kernels.Configuration) -> dict[str, Any]:
        """Return the template of what sorts tiles, and, but for `WAYS`, of what merges."""
        return {
            "T": self.keys, "V": self.moved, "LESS": self.less, "VALUES": bool(self.values), "TOTAL": self.total,
            "ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks,
        }  # fmt: skip


def merge(kind: Kind, one: int, other: int, machine: Machine) -> Plan:
    """Return the plan that merges two arrays, called `a` and `b`, and values `a_values` and `b_values`, at least one element."""
    c = kernels.configurations(kind.size, total=kind.total, host=machine.host).two
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
    found, scratch = kernels.configurations(kind.size, total=kind.total, host=machine.host), Scratch()
    tile = found.tiles
    out = (Buffer(OUT), Buffer(VALUES) if kind.values else nothing(kind.moved))
    beside, ways, width = out, list[int](), tile.tile()
    while width < n:
        ways.append(2 if 2 * width >= n else 4)
        width *= ways[-1]
    if ways:
        beside = scratch.take(kind.keys, n), scratch.take(kind.values, n) if kind.values else nothing(kind.moved)
    now, then = (out, beside) if len(ways) % 2 == 0 else (beside, out)
    source = {"x": Buffer("x"), "x_values": Buffer(values) if kind.values else nothing(kind.moved)}
    first = {**source, "y": now[0], "y_values": now[1], "n": n}
    steps = [Step(instance_of(kernels.sort_tiles, kind.template(tile)), -(-n // tile.tile()), tile.threads, first)]
    passes, width = list[tuple[kernels.Configuration, int, int, int]](), tile.tile()
    for many in ways:
        c = found.two if many == 2 else found.four
        passes.append((c, many, width, _tiles(n, many * width, c.tile(many))))
        width *= many
    cuts = scratch.take("int64", max((many - 1) * tiles for _, many, _, tiles in passes)) if passes else None
    for c, many, width, tiles in passes:
        runs = {"width": width, "n": n, "middle": 0, "tiles": tiles, "cuts": cuts}
        steps.extend(_pass(kind, c, many, ((now[0], now[0]), (now[1], now[1])), then, runs))
        now, then = then, now
    return Plan(tuple(steps), scratch=scratch.used)


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
    arguments = {
        **runs, "a": a, "b": b, "y": out[0], "a_values": a_values if kind.values else none,
        "b_values": b_values if kind.values else none, "y_values": out[1] if kind.values else none, "otherwise": zero(kind.keys),
    }  # fmt: skip
    template = {**kind.template(c), "N": "int32" if runs["n"] < _NARROW else "int64", "WAYS": ways}
    return (
        Step(instance_of(cutting, kind.cut(c, ways)), -(-runs["tiles"] // threads), threads, cut),
        Step(instance_of(kernels.merge_tiles, template), runs["tiles"], c.threads, arguments),
    )


__all__ = ["VALUES", "Kind", "merge", "sort"]
