"""Gathers of a cluster in C++: the room and the mbarriers that a kernel has for them, and when its blocks have begun."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.facts.gathers import has_gathers
from prism.lang.intrinsics.asynchronous import (
    cluster_arrive,
    cluster_wait,
    mbarrier_init,
    mbarrier_init_fence,
)
from prism.lang.intrinsics.gathers import AT, LATE, ROOM, ROUND
from prism.lang.tree.plan import Layout


def constants(layout: Layout, late: bool) -> str:
    """Return what a program's text says of its gathers. `late`: as its plan."""
    return (
        f"constexpr unsigned int {AT} = {layout.gathers}u, {ROOM} = {layout.room}u;\n"
        f"constexpr bool {LATE} = {str(late).lower()};  // the first gather waits until all blocks have begun"
    )


def start(function: tree.Function, late: bool) -> tuple[list[str], list[str]]:
    """Return what a kernel does for its gathers before its cluster's blocks meet, if they do, and after. `late`: as its plan."""
    if function.kind != "global" or not has_gathers(function):
        return [], []
    at = f"px_shared + {AT}"
    made = [mbarrier_init(f"{at} + {8 * k}", "1u") for k in range(2)]
    before = ["if (threadIdx.x == 0u) {", *(f"    {line}" for line in (*made, mbarrier_init_fence())), "}"]
    return before, [*([cluster_arrive()] if late else []), f"unsigned int {ROUND} = 0u;"]


def finish() -> list[str]:
    """Return what a kernel does last whose first gather waits for the cluster's blocks, if it has come to none."""
    return [f"if ({ROUND} == 0u) {cluster_wait()}"]
