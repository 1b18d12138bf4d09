"""A launch on the reference machine: what it takes, and which form of the program runs.

The form is the schedule's choice: as it is written, or as it is emitted, with fills ahead and one body a role. The pipeline
makes the latter; the machine runs what it is given.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from prism.interpret import machine
from prism.interpret.errors import MachineError
from prism.interpret.machine import has_late_fills, has_rings
from prism.interpret.schedules import HOW, SCHEDULES
from prism.lang.facts.blocks import threads_of
from prism.lang.facts.budget import MOST_THREADS, grid_limit
from prism.lang.pipeline import as_emitted
from prism.lang.tree.plan import Program


def run(
    program: Program,
    blocks: int,
    threads: int,
    arguments: Sequence[Any],
    *,
    check: bool = False,
    schedule: str = "round-robin",
    seed: int = 0,
    resident: int | None = None,
    axes: Sequence[int] = (),
) -> None:
    """Run a program's entry on NumPy arrays and numbers; results are in the arrays.

    `check` reports every race, deadlock, access out of bounds, read of what was never written, misaligned vector access, barrier
    that not all its threads meet, and fault around mbarriers and asynchronous operations, as a `MachineError`. `schedule` says in
    which order blocks, warps and arms of splits run, and when asynchronous operations take effect (see `schedules`), `seed` which
    of several. `resident` is how many blocks run at once (all, or as the schedule says). `axes`: for a kernel that numbers its
    blocks and threads along axes, how many there are along each; left out, all are along the first.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is one of {', '.join(SCHEDULES)}, not {schedule!r}")
    seed = operator.index(seed)
    _check_shape(program, blocks, threads)
    emitted = HOW[schedule].roles and seed // 2 % 2 == 0 and has_rings(program)
    form = as_emitted(program) if emitted or has_late_fills(program) else program
    try:
        machine.launch(
            form, blocks, threads, arguments, check, schedule, seed, resident, _along(program, blocks, threads, axes)
        )
    except MachineError as error:
        error.__traceback__ = None  # it says where the program is wrong: frames end with the caller's
        raise


def _along(program: Program, blocks: int, threads: int, axes: Sequence[int]) -> tuple[int, ...]:
    number = program.entry.axes
    if axes or not number:
        return tuple(axes)
    rest = (1,) * (number - 1)
    return (blocks, *rest, threads, *rest)


def _check_shape(program: Program, blocks: int, threads: int) -> None:
    bound = program.entry.bound
    if blocks < 1 or threads < 1:
        raise ValueError(f"a launch has at least one block and one thread, not {blocks} x {threads}")
    if threads > MOST_THREADS:
        raise ValueError(f"a block has at most {MOST_THREADS} threads, not {threads}")
    if bound.thread is not None and threads % bound.thread:
        raise ValueError(f"`{program.entry.name}` needs a multiple of {bound.thread} threads a block, not {threads}")
    if bound.block is not None and blocks % bound.block:
        raise ValueError(f"`{program.entry.name}` needs a multiple of {bound.block} blocks, not {blocks}")
    if threads_of(program) not in (None, threads):
        raise ValueError(f"`{program.entry.name}` needs blocks of {threads_of(program)} threads, not of {threads}")
    most = grid_limit(program)
    if most is not None and blocks * threads > most:
        raise ValueError(f"`{program.entry.name}` counts at most {most} threads, in 32 bits, not {blocks} x {threads}")
