"""wgmma on the reference machine: a warpgroup's product, under way until its group is waited for.

Each warp of the group issues a part, which reads its own rows of the first tile (16 of each 64) and all of the second. Late,
the tiles are read when the group is waited for; so is a fragment that is the first operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import FlightError, MisalignedError, UninitialisedError
from prism.interpret.flights import Flight, Flights, flights_of
from prism.interpret.fragments import gather, scatter
from prism.interpret.frame import Frame, Local
from prism.interpret.lanes import anywhere
from prism.interpret.operands import operand_of, whole_units
from prism.interpret.scope import Eval, Scope
from prism.interpret.tensors import Tile, encode
from prism.lang.intrinsics.wgmma import extents, held_of, is_transposed, start_units
from prism.lang.tree import Apply
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.types.perspective import WARP

WARPS = 4
ROWS_OF_A_WARP = 16


def compile_wgmma(scope: Scope, node: Apply) -> Eval:
    """A wgmma of each warpgroup that runs now."""
    binding, pairs = binding_of(node), operands_of(node)
    operands = [operand_of(scope, parameter, argument) for parameter, argument in pairs]
    meaning, fragment = node.intrinsic.meaning, binding.fragments["accumulator"]
    held, plain = held_of(binding), scope.shop.mode.plain
    names = "ab" if held is None else "b"
    shapes = [extents(binding, operand) for operand in names]
    checker, check = Checker(node.span, node.code), scope.check
    columns = 1 if is_transposed(binding, "a") else 0
    assert meaning is not None
    name, name_of_a = (getattr(pairs[k][1], "symbol").name for k in (0, 1))  # noqa: B009 -- all are given by a name

    def issue(frame: Frame) -> None:
        whole_units(frame, node)
        lanes = frame.active()
        local, a, b, *more = (operand(frame, lanes) for operand in operands)
        given = [a, b] if held is None else [b]
        tiles = [_read(tile, len(lanes), shape) for tile, shape in zip(given, shapes, strict=True)]
        accumulate = [np.broadcast_to(value, lanes.shape)[:: fragment.threads].copy() for value in more]
        data = [encode(tile.region.data) for tile in given]

        def effect(_: Any) -> None:
            read = [stored[index] for stored, index in zip(data, tiles, strict=True)]
            left = gather(a, held, lanes) if held is not None else read[0]
            sums = gather(local, fragment, lanes)
            scatter(local, fragment, lanes, meaning(binding, left, read[-1], sums, *accumulate))

        if check:
            for operand, tile, index in zip(names, given, tiles, strict=True):
                _check_start(frame, checker, tile, index, lanes, operand, start_units(binding, operand))
        else:
            for tile, index in zip(given, tiles, strict=True):
                checker.bounds(frame, tile.region, index.ravel(), np.full(index.size, lanes[0]))
        if plain:
            effect(None)
            return
        flights = flights_of(frame.block)
        warps = lanes.reshape(-1, WARP)
        agents = flights.agents("wgmma", warps, "wgmma")
        if check:
            _check_accumulator(frame, node, local, lanes, flights, name, accumulate)
            if held is not None:
                _check_held(frame, node, a, lanes, flights, name_of_a)
            _check_tiles(frame, checker, given, tiles, lanes, agents, columns)
        local.last[lanes] = flights.committed["wgmma"][lanes]
        local.stored[lanes] = flights.fences[lanes]
        if held is not None:
            a.read[lanes], a.touched[lanes] = flights.committed["wgmma"][lanes], flights.fences[lanes]
        known = (np.repeat(agents, WARP),) if agents is not None else ()
        flights.issue(Flight("wgmma", "wgmma", node.span, lanes, (effect,), known, whole=True))

    return issue


def _read(tile: Tile, lanes: int, shape: tuple[int, int]) -> Any:
    """Return the indices of each unit's part of a tile, of shape (units, rows, columns)."""
    return np.stack([tile.elements(first, shape).reshape(shape) for first in range(0, lanes, WARPS * WARP)])


def _check_start(
    frame: Frame, checker: Checker, tile: Tile, indices: Any, lanes: Any, operand: str, units: tuple[int, int]
) -> None:
    """Report a tile operand that begins where no descriptor can."""
    for unit, at in enumerate(indices[:, 0, 0]):
        for first, multiple, what in zip(divmod(int(at), tile.shape[-1]), units, ("row", "column"), strict=True):
            if first % multiple:
                text = f"`{operand}` of a wgmma begins at a {what} that is a multiple of {multiple}, not at {first}"
                raise checker.fault(MisalignedError, frame, int(lanes[unit * WARPS * WARP]), text, f"{what} {first}")


def _check_accumulator(
    frame: Frame, node: Apply, local: Local, lanes: Any, flights: Flights, name: str, accumulate: list[Any]
) -> None:
    at = _finder(frame, node, lanes)
    _check_fence(flights.fences[lanes] <= local.touched[lanes], node, name, "accessed", "writes it", at)
    _check_landed(local.read[lanes] >= flights.ended["wgmma"][lanes], node, name, "that reads", "writes it", at)
    added = np.ones(len(lanes), bool) if not accumulate else np.repeat(accumulate[0], WARPS * WARP)
    empty = added & ~local.initialised[:, lanes].all(axis=0)
    if anywhere(empty):
        raise UninitialisedError(
            f"`{name}` is added to where nothing was written", node.span, here="adds to it", **at(empty)
        )
    local.initialised[:, lanes] = True


def _check_held(frame: Frame, node: Apply, local: Local, lanes: Any, flights: Flights, name: str) -> None:
    """What is asked of a fragment that is the first operand."""
    at = _finder(frame, node, lanes)
    _check_fence(flights.fences[lanes] <= local.stored[lanes], node, name, "written", "reads it", at)
    _check_landed(local.last[lanes] >= flights.ended["wgmma"][lanes], node, name, "that writes", "reads it", at)
    empty = ~local.initialised[:, lanes].all(axis=0)
    if anywhere(empty):
        raise UninitialisedError(f"`{name}` is read where nothing was written", node.span, here="reads it", **at(empty))


def _finder(frame: Frame, node: Apply, lanes: Any) -> Callable[[Any], dict[str, Any]]:
    """Return what says where an error is, of the threads that are at fault."""
    return lambda bad: {
        "perspective": node.code,
        "thread": int(lanes[int(bad.argmax())]),
        "block": frame.block.number,
    }


def _check_fence(stale: Any, node: Apply, name: str, how: str, here: str, at: Callable[[Any], dict[str, Any]]) -> None:
    if anywhere(stale):
        raise FlightError(
            f"`{name}` was {how}, and no wgmma fence stands between that and this wgmma",
            node.span,
            here=here,
            barrier="a wgmma fence before the batch",
            **at(stale),
        )


def _check_landed(
    flying: Any, node: Apply, name: str, how: str, here: str, at: Callable[[Any], dict[str, Any]]
) -> None:
    if anywhere(flying):
        raise FlightError(
            f"a wgmma {how} `{name}` is under way, as its operand of another kind is here",
            node.span,
            here=here,
            barrier="wait for its group, WaitGroup('wgmma', 0), before this",
            **at(flying),
        )


def _check_tiles(
    frame: Frame, checker: Checker, tiles: list[Tile], indices: list[Any], lanes: Any, agents: Any, axis: int
) -> None:
    for number, agent in enumerate(agents):
        unit, warp = divmod(number, WARPS)
        read = [index[unit] for index in indices]
        if len(read) > 1:
            mine = np.arange(read[0].shape[axis]) // ROWS_OF_A_WARP % WARPS == warp
            read[0] = np.compress(mine, read[0], axis=axis)
        for tile, index in zip(tiles, (part.ravel() for part in read), strict=True):
            who = np.full(index.shape, lanes[number * WARP])
            by = np.full(index.shape, agent)
            checker.access(frame, tile.region, index, who, "read", by=by, proxy=True)
