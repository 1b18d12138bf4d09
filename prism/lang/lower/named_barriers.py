"""Named barriers: which of the hardware's numbers each size of unit meets at."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.facts.budget import most_threads
from prism.lang.tree.plan import Program

HARDWARE_BARRIERS = 16


def allocate_named(program: Program) -> Mapping[int, int]:
    """Return, for each size of unit that meets at a named barrier, the hardware's number of its first unit's barrier.

    Every unit of a block needs a number of its own; 0 is `__syncthreads`. Raises ValueError when 16 are not enough.
    """
    sizes = sorted({b.unit.size for plan in program.plans.values() for b in plan.barriers if b.kind == "named"})
    threads = most_threads(program.entry)
    bases: dict[int, int] = {}
    free = 1
    for size in sizes:
        bases[size] = free
        free += max(1, threads // size)
    if free > HARDWARE_BARRIERS:
        wants = ", ".join(f"{max(1, threads // size)} for units of {size} threads" for size in sizes)
        raise ValueError(
            f"a block of up to {threads} threads needs {free - 1} named barriers ({wants}), and the hardware has "
            f"{HARDWARE_BARRIERS - 1}; state the block's size with @attr('__launch_bounds__(...)'), or use larger units"
        )
    return bases
