"""Loads into rings: the bytes that complete on a visit's mbarrier, and multicasts, which complete on those of several blocks."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from prism.lang import races, tiles
from prism.lang.bind import binding_of, operands_of
from prism.lang.cycles import Lap, Visit
from prism.lang.diagnostics import CompileError
from prism.lang.errors.rings import Multicast
from prism.lang.perspective import Level, Perspective
from prism.lang.stations import Station, Used
from prism.lang.tree import Apply, Break, Const, Continue, Expr, For, Function, If, Return, Stmt, While, expressions


def loads(visit: Visit) -> Iterator[tuple[Stmt, Apply]]:
    """Yield the bulk and tensor loads of a visit, with their statements, in program order."""
    for _, used in loading(visit):
        assert used.touch.by is not None
        yield used.inside[-1], used.touch.by


def loading(visit: Visit) -> Iterator[tuple[Station, Used]]:
    """Yield the uses of copies by loads."""
    for station in visit.stations:
        for used in station.used:
            if used.touch.how == "load":
                yield station, used


def bytes_of_load(apply: Apply) -> int | None:
    """Return the bytes that a load brings to each block, or None where its operand `n` says so at run time."""
    binding = binding_of(apply)
    if binding.maps:
        (tensor,) = binding.maps.values()
        return tiles.bytes_of(tensor) * max(1, _mask(apply).bit_count())
    tile, start = binding.tiles["destination"], binding.starts["destination"]
    for parameter, argument in operands_of(apply):
        if parameter.name == "n":
            return int(argument.value) * tile.element.bytes if isinstance(argument, Const) else None
    if tile.shape is None or any(index is None for index in start) or len(start) != len(tile.shape):
        return None
    flat = 0
    for index, extent in zip(start, tile.shape, strict=True):
        flat = flat * extent + (index or 0)
    return (prod(tile.shape) - flat) * tile.element.bytes


# -- multicasts -------------------------------------------------------------------------------------------------------------


def _mask(apply: Apply) -> int:
    value = apply.statics.get("multicast")
    return value if isinstance(value, int) else 0


def multicast_of(visit: Visit) -> int:
    """Return the mask of the blocks that a visit's loads go to; 0 where they go to their own alone."""
    mask = 0
    for _, apply in loads(visit):
        mask |= _mask(apply)
    return mask


def check_multicast(function: Function, lap: Lap, visit: Visit) -> None:
    """Refuse a multicast that some block of the cluster might not make in a round."""
    blocks = function.bound.block or 1
    cluster = Perspective(Level.BLOCK, blocks)
    for station, used in loading(visit):
        apply = used.touch.by
        if apply is None or not _mask(apply):
            continue
        fault, change = "", ""
        uneven = [e for e in _conditions(lap) if not cluster <= e.perspective]
        if _mask(apply) != (1 << blocks) - 1:
            fault = f"its mask is {_mask(apply):#b}"
            change = (
                f"write `multicast={(1 << blocks) - 1:#b}`"
                if blocks > 1
                else "leave `multicast` out: there is no cluster"
            )
        elif any(isinstance(s, If | For | While) for s in used.inside[:-1]):
            fault, change = "this one stands under a condition or in a loop", "let every block make it, once a visit"
        elif uneven:
            place = uneven[0].perspective
            fault = f"the blocks of a cluster may make different numbers of rounds here: a condition varies at {place}"
            change = f"let the loop depend on values at {cluster} or broader alone"
        if fault:
            span, name = apply.span, station.ring.name
            raise CompileError(Multicast(span=span, name=name, blocks=blocks, fault=fault, change=change))


def _conditions(lap: Lap) -> Iterator[Expr]:
    """Yield what decides how many rounds there are."""
    for body, index in lap.rounds[0].trail[:-1]:
        around = body[index]
        if isinstance(around, If | For | While):
            yield from expressions(around)
        if isinstance(around, For | While):
            for inner in races.statements(around.body):
                if isinstance(inner, If) and any(
                    isinstance(s, Break | Continue | Return) for s in races.statements((inner,))
                ):
                    yield inner.condition
