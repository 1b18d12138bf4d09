"""Which kernels a merge, or a sort by merging, takes, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import merge as kernels
from prism.lang.surface import Kernel
from prism.lib.algorithms.select.plan import zero

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

    def cut(self, c: kernels.Configuration) -> dict[str, Any]:
        """Return the template of what looks for where tiles begin."""
        return {"T": self.keys, "LESS": self.less, "TILE": c.tile, "THREADS": kernels.THREADS}

    def template(self, c: kernels.Configuration) -> dict[str, Any]:
        """Return the template of what merges, and of what sorts tiles."""
        return {
            "T": self.keys, "V": self.moved, "LESS": self.less, "VALUES": bool(self.values), "ITEMS": c.items,
            "THREADS": c.threads, "BLOCKS": c.blocks // 2 + 1 if self.values else c.blocks,
        }  # fmt: skip

    def none(self) -> dict[str, Any]:
        """Return what stands where there is no element."""
        return {"otherwise": zero(self.keys), "nothing": zero(self.moved)}


def merge(kind: Kind, one: int, other: int, machine: Machine) -> Plan:
    """Return the plan that merges two arrays, called `a` and `b`, and values `a_values` and `b_values`, at least one element."""
    (c, _), n, scratch = kernels.configurations(kind.size, host=machine.host), one + other, Scratch()
    tiles = -(-n // c.tile)
    cuts = scratch.take("int64", tiles)
    runs = {"width": 0, "n": n, "middle": one, "tiles": tiles, "cuts": cuts}
    given = (Buffer("a"), Buffer("b")), (Buffer("a_values"), Buffer("b_values"))
    return Plan(_pass(kind, c, given, (Buffer(OUT), Buffer(VALUES)), runs), scratch=scratch.used)


def sort(kind: Kind, n: int, machine: Machine, values: str = "values") -> Plan:
    """Return the plan that sorts `n` elements of `x`, at least one, and `values` beside them: stable.

    Scratch: as many elements, and values, again.
    """
    (c, tile), scratch = kernels.configurations(kind.size, host=machine.host), Scratch()
    out = (Buffer(OUT), Buffer(VALUES) if kind.values else nothing(kind.moved))
    beside, passes = out, 0
    while tile.tile << passes < n:
        passes += 1
    if passes:
        beside = scratch.take(kind.keys, n), scratch.take(kind.values, n) if kind.values else nothing(kind.moved)
    now, then = (out, beside) if passes % 2 == 0 else (beside, out)
    tiles = -(-n // tile.tile)
    source = {"x": Buffer("x"), "x_values": Buffer(values) if kind.values else nothing(kind.moved)}
    first = {**source, "y": now[0], "y_values": now[1], "n": n, "nothing": zero(kind.moved)}
    steps = [Step(instance_of(kernels.sort_tiles, kind.template(tile)), tiles, tile.threads, first)]
    cuts = scratch.take("int64", _tiles(n, tile.tile, c.tile)) if passes else None
    for k in range(passes):
        width = tile.tile << k
        runs = {"width": width, "n": n, "middle": 0, "tiles": _tiles(n, width, c.tile), "cuts": cuts}
        steps.extend(_pass(kind, c, ((now[0], now[0]), (now[1], now[1])), then, runs))
        now, then = then, now
    return Plan(tuple(steps), scratch=scratch.used)


def _tiles(n: int, width: int, tile: int) -> int:
    """Return how many tiles the pairs of runs of `width` elements have, of which the last one may not be whole."""
    pairs, rest = divmod(n, 2 * width)
    return pairs * -(-2 * width // tile) + -(-rest // tile)


def _pass(
    kind: Kind, c: kernels.Configuration, given: Any, out: tuple[Buffer, Buffer], runs: dict[str, Any]
) -> tuple[Step, ...]:
    """Return the launches that merge runs two and two."""
    (a, b), (a_values, b_values) = given
    none = nothing(kind.moved)
    cut = runs | {"a": a, "b": b}
    arguments = {
        **runs, "a": a, "b": b, "y": out[0], "a_values": a_values if kind.values else none,
        "b_values": b_values if kind.values else none, "y_values": out[1] if kind.values else none, **kind.none(),
    }  # fmt: skip
    threads = kernels.THREADS
    return (
        Step(instance_of(kernels.cut_runs, kind.cut(c)), -(-runs["tiles"] // threads), threads, cut),
        Step(instance_of(kernels.merge_tiles, kind.template(c)), runs["tiles"], c.threads, arguments),
    )


__all__ = ["VALUES", "Kind", "merge", "sort"]
