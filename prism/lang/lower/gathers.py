"""Gathers of a cluster: that all of the cluster come to them, and the room that they need."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.env import fail
from prism.lang.errors import calls as errors
from prism.lang.facts.budget import most_threads
from prism.lang.facts.gathers import many_gathers, own_gathers
from prism.lang.intrinsics.gathers import room_of, warps_of
from prism.lang.tree.bind import binding_of
from prism.lang.types.perspective import WARP, Level


def check_gathers(functions: tuple[tree.Function, ...]) -> tuple[int, int]:
    """Return the bytes of what a program's gathers bring at most, and for how many there is room; 0 and 0 where it has none.

    All threads of a cluster of several blocks must come to each, and their warps have room. A device function that is compiled
    alone is judged by its own bound.
    """
    entry, room = functions[-1], 0
    cluster, warps = entry.bound.block or 1, most_threads(entry) // WARP * (entry.bound.block or 1)
    for function in functions:
        for apply in own_gathers(function):
            binding, problem = binding_of(apply), ""
            whole = apply.code.level == Level.GRID or (apply.code.level, apply.code.size) == (Level.BLOCK, cluster)
            if cluster == 1 or not whole:
                problem = (
                    f"all threads of a cluster of several blocks come to it, and this code speaks for {apply.code}"
                )
                problem += f" of a kernel of block[{cluster}]"
            elif entry.kind == "global" and warps > warps_of(binding):
                problem = f"a cluster may have {warps} warps, and `found` has room for {warps_of(binding)}"
            if problem:
                fail(errors.IntrinsicProblem(span=apply.span, name=apply.intrinsic.name, problem=problem))
            room = max(room, room_of(binding, min(warps, warps_of(binding))))
    return room, many_gathers(entry)
