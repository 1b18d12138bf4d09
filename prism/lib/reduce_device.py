"""Reductions on a GPU: a plan's kernels made ready, and launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prism.lib.reduce_plans import CAPACITY, CONTROL
from prism.lib.reduce_steps import Plan
from prism.runtime.device import device
from prism.runtime.instance import Instance
from prism.runtime.launch import Launcher
from prism.runtime.scratch import SCRATCH
from prism.runtime.warm import Warm

_PLACES = {"x": (0, 0), "y": (1, 0), "control": (2, 0), "words": (2, CONTROL)}
_TAGS = {8: "reduce 8", 16: "reduce 16"}


class Gpu:
    """A GPU, asked for what plans depend on."""

    host = False

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        found = device(ordinal)
        self.arch, self.multiprocessors = found.arch, found.sm_count

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once."""
        return _launcher(instance, self.ordinal).resident_blocks(threads)


def _launcher(instance: Instance, ordinal: int) -> Launcher:
    return instance.launcher(ordinal)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a plan: its buffers are picked from `x`, `y`, the words and the scratch memory, each with an offset."""

    launch: Launcher
    blocks: int
    threads: int
    picks: tuple[tuple[int, int], ...]
    numbers: tuple[Any, ...]

    def values(self, *bases: int) -> tuple[Any, ...]:
        """Return the kernel's arguments, for `x`, `y`, the words and the scratch memory at these addresses."""
        return (*[bases[which] + offset for which, offset in self.picks], *self.numbers)

    @property
    def simple(self) -> bool:
        """Whether `x` and `y` come among the first two, and nowhere else."""
        return all(which > 1 for which, _ in self.picks[2:])


class Ready:
    """A plan whose kernels are loaded on a GPU."""

    def __init__(self, plan: Plan, ordinal: int) -> None:
        self.ordinal = ordinal
        self.scratch = plan.scratch
        self.words = CONTROL + CAPACITY * plan.words if plan.words else 0
        self._tag = _TAGS.get(plan.words, "")
        self._steps = tuple(
            _Step(
                _launcher(step.instance, ordinal),
                step.blocks,
                step.threads,
                tuple(_PLACES.get(b.name) or (3, b.offset) for b in step.buffers),
                step.numbers,
            )
            for step in plan.steps
        )
        self._warm = (
            tuple(self._repeat_step(step) for step in self._steps) if all(step.simple for step in self._steps) else ()
        )

    def __call__(self, x: int, y: int, stream: int) -> None:
        """Launch the steps, one after the other, on the arrays that begin at these addresses.

        Raises:
            RuntimeError: scratch memory must be allocated inside the capture of a CUDA graph.
            DeviceError: the driver refuses a launch.
        """
        bases = (x, y, *self._memory(stream))
        for warm, (i, one), (j, two) in self._warm:
            warm(bases[i] + one, bases[j] + two, stream)
        if not self._warm:
            for step in self._steps:
                step.launch(step.blocks, step.threads, stream, step.values(*bases))

    def launch(self) -> Callable[[int, int, int], None]:
        """Return what does the same, for who does it again and again."""
        first = self._steps[0]
        return self._warm[0][0] if len(self._warm) == 1 and first.picks[:2] == ((0, 0), (1, 0)) else self

    def _repeat_step(self, step: _Step) -> tuple[Warm, tuple[int, int], tuple[int, int]]:
        """Return what launches a step on what takes the place of its first two arguments, and what that is."""
        warm = Warm(step.launch, step.blocks, step.threads, self._memory, lambda at: step.values(0, 0, *at)[2:])
        return warm, step.picks[0], step.picks[1]

    def _memory(self, stream: int) -> tuple[int, int]:
        """Return where the words and the scratch memory are, for a stream."""
        words = SCRATCH.get(self.ordinal, stream, self.words, self._tag) if self.words else 0
        return words, SCRATCH.get(self.ordinal, stream, self.scratch, "reduce") if self.scratch else 0
