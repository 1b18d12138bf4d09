"""wgmma on the reference machine: a warpgroup's product, under way until its group is waited for.

Each warp of the group issues a part, which reads its own rows of the first tile (16 of each 64) and all of the second. Late,
the tiles are read when the group is waited for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import FlightError, UninitialisedError
from prism.interpret.flights import Flight, Flights, flights_of
from prism.interpret.fragments import gather, scatter
from prism.interpret.frame import Frame, Local
from prism.interpret.lanes import anywhere
from prism.interpret.operands import operand_of, whole_units
from prism.interpret.scope import Eval, Scope
from prism.interpret.tensors import Tile, encode
from prism.lang.intrinsics.wgmma import extents, is_transposed
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
    shapes, plain = (extents(binding, "a"), extents(binding, "b")), scope.shop.mode.plain
    checker, check = Checker(node.span, node.code), scope.check
    columns = 1 if is_transposed(binding, "a") else 0
    assert meaning is not None
    name = getattr(pairs[0][1], "symbol").name  # noqa: B009 -- a fragment is given by its name

    def issue(frame: Frame) -> None:
        whole_units(frame, node)
        lanes = frame.active()
        local, a, b, *more = (operand(frame, lanes) for operand in operands)
        tiles = [_read(tile, len(lanes), shape) for tile, shape in zip((a, b), shapes, strict=True)]
        accumulate = [np.broadcast_to(value, lanes.shape)[:: fragment.threads].copy() for value in more]
        data = [encode(tile.region.data) for tile in (a, b)]

        def effect(_: Any) -> None:
            left, right = (held[index] for held, index in zip(data, tiles, strict=True))
            held = gather(local, fragment, lanes)
            scatter(local, fragment, lanes, meaning(binding, left, right, held, *accumulate))

        if not check:
            for tile, index in zip((a, b), tiles, strict=True):
                checker.bounds(frame, tile.region, index.ravel(), np.full(index.size, lanes[0]))
        if plain:
            effect(None)
            return
        flights = flights_of(frame.block)
        warps = lanes.reshape(-1, WARP)
        agents = flights.agents("wgmma", warps, "wgmma")
        if check:
            _check_accumulator(frame, node, local, lanes, flights, name, accumulate)
            _check_tiles(frame, checker, (a, b), tiles, lanes, agents, columns)
        local.last[lanes] = flights.committed["wgmma"][lanes]
        known = (np.repeat(agents, WARP),) if agents is not None else ()
        flights.issue(Flight("wgmma", "wgmma", node.span, lanes, (effect,), known, whole=True))

    return issue


def _read(tile: Tile, lanes: int, shape: tuple[int, int]) -> Any:
    """Return the indices of each unit's part of a tile, of shape (units, rows, columns)."""
    return np.stack([tile.elements(first, shape).reshape(shape) for first in range(0, lanes, WARPS * WARP)])


def _check_accumulator(
    frame: Frame, node: Apply, local: Local, lanes: Any, flights: Flights, name: str, accumulate: list[Any]
) -> None:
    def at(bad: Any) -> Any:
        return {"perspective": node.code, "thread": int(lanes[int(bad.argmax())]), "block": frame.block.number}

    stale = flights.fences[lanes] <= local.touched[lanes]
    if anywhere(stale):
        raise FlightError(
            f"`{name}` was accessed plainly, and no wgmma fence stands between that and this wgmma",
            node.span,
            here="writes it",
            barrier="a wgmma fence before the batch",
            **at(stale),
        )
    added = np.ones(len(lanes), bool) if not accumulate else np.repeat(accumulate[0], WARPS * WARP)
    empty = added & ~local.initialised[:, lanes].all(axis=0)
    if anywhere(empty):
        raise UninitialisedError(
            f"`{name}` is added to where nothing was written", node.span, here="adds to it", **at(empty)
        )
    local.initialised[:, lanes] = True


def _check_tiles(
    frame: Frame, checker: Checker, tiles: tuple[Tile, Tile], indices: list[Any], lanes: Any, agents: Any, axis: int
) -> None:
    for number, agent in enumerate(agents):
        unit, warp = divmod(number, WARPS)
        mine = np.arange(indices[0][unit].shape[axis]) // ROWS_OF_A_WARP % WARPS == warp
        rows = np.compress(mine, indices[0][unit], axis=axis)
        for tile, index in zip(tiles, (rows.ravel(), indices[1][unit].ravel()), strict=True):
            who = np.full(index.shape, lanes[number * WARP])
            by = np.full(index.shape, agent)
            checker.access(frame, tile.region, index, who, "read", by=by, proxy=True)
