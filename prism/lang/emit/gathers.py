"""Gathers of a cluster in C++: the room and the mbarriers that a kernel has for them, and when its blocks have begun."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prism.lang import tree
from prism.lang.intrinsics.asynchronous import (
    cluster_arrive,
    cluster_begin,
    cluster_wait,
    mbarrier_init,
    mbarrier_init_fence,
)
from prism.lang.intrinsics.gathers import AT, LATE, ROOM, ROUND
from prism.lang.lower.gathers import has_gathers
from prism.lang.tree.plan import Layout

_REMARK, _RETURN = re.compile("//.*"), re.compile(r"\breturn\b")


def constants(layout: Layout, kernel: str) -> str:
    """Return what a program's text says of its gathers, given the text of the kernel."""
    late = "true" if cluster_arrive() in kernel else "false"
    return (
        f"constexpr unsigned int {AT} = {layout.gathers}u, {ROOM} = {layout.room}u;\n"
        f"constexpr bool {LATE} = {late};  // the first gather waits until all blocks have begun"
    )


def begins_late(function: tree.Function, called: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether a kernel's first gather waits for the cluster's blocks: where they do not meet elsewhere, and none leaves early."""
    if function.kind != "global" or not has_gathers(function):
        return False
    leaves = any(_RETURN.search(_REMARK.sub("", line)) for line in lines)
    return not leaves and not any("px_cluster_" in text for text in (*called, *lines))


def start(function: tree.Function, late: bool, meets: bool) -> tuple[list[str], list[str]]:
    """Return what a kernel does for its gathers before its blocks meet, and after. `meets`: they do so for other reasons."""
    if function.kind != "global" or not has_gathers(function):
        return [], []
    at = f"px_shared + {AT}"
    made = [mbarrier_init(f"{at} + {8 * k}", "1u") for k in range(2)]
    before = ["if (threadIdx.x == 0u) {", *(f"    {line}" for line in (*made, mbarrier_init_fence())), "}"]
    after = [cluster_arrive()] if late else [] if meets else [cluster_begin()]
    return before, [*after, f"unsigned int {ROUND} = 0u;"]


def finish() -> list[str]:
    """Return what a kernel does last whose first gather waits for the cluster's blocks, if it has come to none."""
    return [f"if ({ROUND} == 0u) {cluster_wait()}"]
