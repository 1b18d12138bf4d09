"""Loads into rings: the bytes that complete on a visit's mbarrier, and multicasts, which complete on those of several blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from prism.lang import tree
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.rings import Multicast, Sent
from prism.lang.facts.definitions import facts
from prism.lang.facts.destinations import is_common
from prism.lang.facts.digits import reader
from prism.lang.facts.polynomials import all_digits
from prism.lang.facts.touches import LOADS
from prism.lang.intrinsics.memory import scalar_of
from prism.lang.rings.stations import Station, Used
from prism.lang.rings.visits import Lap, Visit
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.tree.walk import has_jump, statements
from prism.lang.types import tiles
from prism.lang.types.perspective import Level, Perspective


def loads(visit: Visit) -> Iterator[tuple[tree.Stmt, tree.Apply]]:
    """Yield the bulk and tensor loads of a visit, with their statements, in program order."""
    for _, used in loading(visit):
        assert used.touch.by is not None
        yield used.inside[-1], used.touch.by


def ended_loads(lap: Lap) -> Mapping[Visit, frozenset[tree.Apply]]:
    """Return the loads that have ended when each visit has: its own, and those of the copies that it used."""
    if not lap.ended:
        of_rings: dict[tree.Symbol, frozenset[tree.Apply]] = {}
        for visit in lap.visits:
            own = frozenset(apply for _, apply in loads(visit))
            for ring in visit.rings:
                known = of_rings.get(ring, frozenset())
                of_rings[ring] = known if own <= known else known | own
            lap.ended[visit] = frozenset().union(*(of_rings[ring] for ring in visit.rings))
    return lap.ended


def loading(visit: Visit) -> Iterator[tuple[Station, Used]]:
    """Yield the uses of copies by loads."""
    for station in visit.stations:
        for used in station.used:
            if used.touch.how in LOADS:
                yield station, used


def bytes_of_load(apply: tree.Apply) -> int | None:
    """Return the bytes that a load brings to each block, or None where its operand `n` says so at run time.

    A store to another block brings it as many as another one's brings to this block.
    """
    binding = binding_of(apply)
    if apply.intrinsic.asynchronous == "remote":
        return scalar_of(binding).bytes
    # An mbarrier counts bytes: with too many it never completes, with too few it tells of a copy that is still coming in. So
    # this is what the engine brings to one block: a box of a multicast comes once from each block of the mask.
    if binding.maps:
        (tensor,) = binding.maps.values()
        return tiles.bytes_of(tensor) * max(1, _mask(apply).bit_count())
    tile, start = binding.tiles["destination"], binding.starts["destination"]
    for parameter, argument in operands_of(apply):
        if parameter.name == "n":
            return int(argument.value) * tile.element.bytes if isinstance(argument, tree.Const) else None
    if tile.shape is None or any(index is None for index in start) or len(start) != len(tile.shape):
        return None
    # Without `n` a copy goes from its first element to the tile's end: from [1, 0] of a 4 by 8 tile 24 elements.
    flat = 0
    for index, extent in zip(start, tile.shape, strict=True):
        flat = flat * extent + (index or 0)
    return (prod(tile.shape) - flat) * tile.element.bytes


# -- multicasts -------------------------------------------------------------------------------------------------------------


def _mask(apply: tree.Apply, blocks: int = 16) -> int:
    if apply.intrinsic.asynchronous == "remote":
        return (1 << blocks) - 1  # its readers may be in any of them
    value = apply.statics.get("multicast")
    return value if isinstance(value, int) else 0


def multicast_of(visit: Visit, blocks: int = 16) -> int:
    """Return the mask of the blocks that a visit's loads go to, in a cluster of so many; 0 where they go to their own alone."""
    mask = 0
    for _, apply in loads(visit):
        mask |= _mask(apply, blocks)
    return mask


def is_relative(visit: Visit) -> bool:
    """Return whether some of a visit's loads go to blocks that are said relative to their own."""
    return any(bool(apply.statics.get("relative")) for _, apply in loads(visit))


def _mask_fault(apply: tree.Apply, blocks: int) -> tuple[str, str]:
    """Return what is wrong with the blocks that a multicast goes to, and what to change; nothing: each gets what it sends.

    Its own block is among them: who brings the next copy waits for the readers of these blocks alone, and announces its bytes to
    its own mbarrier, which must be done with those of the copy before.
    """
    mask, every = _mask(apply), (1 << blocks) - 1
    if apply.statics.get("relative") and blocks & blocks - 1 == 0 and mask <= every:
        fault = "" if mask & 1 else f"its mask is {mask:#b}, without the block itself"
        return fault, f"write `multicast={mask | 1:#b}`: bit 0 is the block's own"
    if mask == every and not apply.statics.get("relative"):
        return "", ""
    change = f"write `multicast={every:#b}`, of a part of each block's own: its indices depend on `id(block[1])`"
    return f"its mask is {mask:#b}", change if blocks > 1 else "leave `multicast` out: there is no cluster"


def check_multicast(function: tree.Function, lap: Lap, visit: Visit) -> None:
    """Refuse a multicast that some block of the cluster might not make in a round."""
    blocks = function.bound.block or 1
    cluster = Perspective(Level.BLOCK, blocks)
    for station, used in loading(visit):
        apply = used.touch.by
        if apply is None or not _mask(apply):
            continue
        fault, change = "", ""
        uneven = [e for e in _conditions(lap) if not cluster <= e.perspective]
        remote = apply.intrinsic.asynchronous == "remote"
        check_sent(lap, station, apply)
        if remote and blocks == 1:
            fault, change = "there is no cluster", "ask for one: `block[2]` in `@requires`"
        elif remote and (wrong := _shift(function, lap, apply, used, cluster)):
            fault, change = wrong
        # Each block's mbarrier expects the bytes of all blocks. So each block has to send, to each, in each of its rounds:
        # a block that skips a round leaves the others waiting for ever.
        elif not remote and _mask_fault(apply, blocks)[0]:
            fault, change = _mask_fault(apply, blocks)
        elif any(
            isinstance(s, tree.If | tree.For | tree.While) and not (remote and _is_counted_loop(s))
            for s in used.inside[:-1]
        ):
            fault, change = "this one stands under a condition or in a loop", "let every block make it, once a visit"
        elif any(
            isinstance(s, tree.Split) and s.level == Level.BLOCK for s in (body[k] for body, k in lap.rounds[0].trail)
        ):
            fault = "it stands in an arm of a split that other blocks do not run"
            change = f"visit `{station.ring.name}` in code that all blocks of the cluster run"
        elif uneven:
            place = uneven[0].perspective
            fault = f"the blocks of a cluster may make different numbers of rounds here: a condition varies at {place}"
            change = f"let the loop depend on values at {cluster} or broader alone"
        if fault:
            span, name = apply.span, station.ring.name
            what = "store to another block's copy of" if remote else "multicast into"
            raise CompileError(Multicast(span=span, name=name, what=what, blocks=blocks, fault=fault, change=change))


def check_sent(lap: Lap, station: Station, apply: tree.Apply) -> None:
    """Refuse an engine's access to a ring that other blocks' threads store to: a fence of the sender's comes before the data."""
    name = station.ring.name
    for visit in lap.of_rings[station.ring] if apply.intrinsic.asynchronous == "remote" else ():
        for touch in visit.touches(station.ring):
            if touch.engine:
                label = Label(station.ring.span, f"`{name}` is declared here")
                raise CompileError(Sent(span=touch.access.span, name=name, labels=(label,)))


def _shift(
    function: tree.Function, lap: Lap, apply: tree.Apply, used: Used, cluster: Perspective
) -> tuple[str, str] | None:
    """Return what is wrong with how far a store goes, and what to change.

    It is one number for a thread and those of its place in the other blocks: then each block gets as much as it sends. The
    indices of loops that make the same trips in all blocks are such numbers.
    """
    shift = next((argument for parameter, argument in operands_of(apply) if parameter.name == "shift"), None)
    # With one shift for all, block b sends to b + shift: each block gets as much as it sends. With a shift of each block's
    # own, two may send to one, and a third gets nothing.
    if isinstance(shift, tree.Const) and int(shift.value) % cluster.size == 0:
        return "it stays in its own block", f"write a `shift` from 1 to {cluster.size - 1}"
    if shift is None or cluster <= shift.perspective:
        return None
    around = (body[index] for body, index in lap.rounds[0].trail[:-1])
    counted = frozenset(s.symbol for s in (*around, *used.inside) if isinstance(s, tree.For))
    if all(is_common(digit, cluster, counted) for digit in all_digits(reader(facts(function)).read(shift, {}))):
        return None
    return f"`shift` varies at {shift.perspective}", f"let `shift` depend on values at {cluster} or broader alone"


def _is_counted_loop(statement: tree.Stmt) -> bool:
    """Whether a statement is a loop that makes the same trips in every block: its bounds are constant, and nothing leaves it."""
    if not isinstance(statement, tree.For):
        return False
    constant = all(isinstance(bound, tree.Const) for bound in (statement.start, statement.stop, statement.step))
    return constant and not has_jump(statement.body)


def _conditions(lap: Lap) -> Iterator[tree.Expr]:
    """Yield what decides how many rounds there are."""
    for body, index in lap.rounds[0].trail[:-1]:
        around = body[index]
        if isinstance(around, tree.If | tree.For | tree.While):
            yield from tree.expressions(around)
        if isinstance(around, tree.For | tree.While):
            for inner in statements(around.body):
                if isinstance(inner, tree.If) and has_jump((inner,)):
                    yield inner.condition
