"""Reductions on a GPU: a plan's kernels made ready, launched, and launched again when a call is like an earlier one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

from prism.lang.plan import Program
from prism.lib.reduce_plans import CAPACITY, CONTROL, Plan
from prism.runtime.build import entry_of
from prism.runtime.device import device
from prism.runtime.launch import Launcher, prepare
from prism.runtime.scratch import SCRATCH

_PLACES = {"x": (0, 0), "y": (1, 0), "control": (2, 0), "words": (2, CONTROL)}
_TAGS = {8: "reduce 8", 16: "reduce 16"}


class Gpu:
    """A GPU, asked for what plans depend on."""

    host = False

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.multiprocessors = device(ordinal).sm_count

    def wave(self, program: Program, threads: int) -> int:
        """Return how many blocks run at once."""
        return _launcher(program, self.ordinal).resident_blocks(threads)


def _launcher(program: Program, ordinal: int) -> Launcher:
    return prepare(entry_of(program, device(ordinal).arch), ordinal)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a plan: its buffers are picked from `x`, `y`, the words and the scratch memory, each with an offset."""

    launch: Launcher
    blocks: int
    threads: int
    picks: tuple[tuple[int, int], ...]
    numbers: tuple[Any, ...]


class Ready:
    """A plan whose kernels are loaded on a GPU."""

    def __init__(self, plan: Plan, ordinal: int) -> None:
        self.ordinal = ordinal
        self.scratch = plan.scratch
        self.words = CONTROL + CAPACITY * plan.words if plan.words else 0
        self._tag = _TAGS.get(plan.words, "")
        self._steps = tuple(
            _Step(
                _launcher(step.program, ordinal),
                step.blocks,
                step.threads,
                tuple(_PLACES.get(b.name) or (3, b.offset) for b in step.buffers),
                step.numbers,
            )
            for step in plan.steps
        )

    def __call__(self, x: int, y: int, stream: int) -> None:
        """Launch the steps, one after the other, on the arrays that begin at these addresses.

        Raises:
            RuntimeError: scratch memory must be allocated inside the capture of a CUDA graph.
            DeviceError: the driver refuses a launch.
        """
        words = SCRATCH.get(self.ordinal, stream, self.words, self._tag) if self.words else 0
        scratch = SCRATCH.get(self.ordinal, stream, self.scratch, "reduce") if self.scratch else 0
        bases = (x, y, words, scratch)
        for step in self._steps:
            values = (*[bases[which] + offset for which, offset in step.picks], *step.numbers)
            step.launch(step.blocks, step.threads, stream, values)


# -- Calls that are like an earlier one -----------------------------------------------------------------------------------

Facts: TypeAlias = tuple[int, int, tuple[Hashable, ...]]
"""A pointer, a device, and what else a decision follows from."""

_MOST = 4096
_kept: dict[Hashable, tuple[Ready, int, int, int]] = {}
_readers: dict[type, tuple[Callable[[Any], Facts], Callable[[int], int]]] = {}


def again(x: Any, out: Any, asked: tuple[Any, ...]) -> bool:
    """Do what an earlier call did for arrays like these, asked for the same; False where there was none: nothing was done.

    Raises:
        RuntimeError, DeviceError: as a `Ready` plan.
    """
    how = _readers.get(type(x))
    if how is None or type(out) is not type(x):
        return False
    read, stream_on = how
    source, ordinal, kind = read(x)
    target, other, made = read(out)
    try:
        found = _kept.get((asked, source & 15, ordinal, other, kind, made))
    except TypeError:  # what is asked for can't be looked up
        return False
    if found is None:
        return False
    ready, before, behind, room = found
    if target < source + behind and source - before < target + room:
        return False  # they overlap: the result must be made elsewhere
    ready(source, target, stream_on(ordinal))
    return True


def keep(library: str, x: Any, out: Any, asked: tuple[Any, ...], ready: Ready, spans: tuple[int, int, int]) -> None:
    """Keep what a call came to that wrote its result in place. `spans`: the bytes before and behind `x`, and those of `out`."""
    how = _BY_LIBRARY.get(library)
    if how is None or type(out) is not type(x) or len(_kept) >= _MOST:
        return
    read, _ = how
    source, ordinal, kind = read(x)
    _, other, made = read(out)
    with contextlib.suppress(TypeError):  # what is asked for can't be looked up
        _kept[asked, source & 15, ordinal, other, kind, made] = (ready, *spans)
        _readers[type(x)] = how


def forget() -> None:
    """Forget all calls, for who changes how plans are made."""
    _kept.clear()


def _cupy(x: Any) -> Facts:
    memory = x.data
    return memory.ptr, memory.device_id, (x.dtype, x.shape, x.strides)


def _torch(x: Any) -> Facts:
    if x.layout is not sys.modules["torch"].strided or not x.is_cuda or x.is_neg():
        return 0, -1, ()
    return x.data_ptr(), x.device.index, (x.dtype, x.shape, x.stride())


def _cupy_stream(ordinal: int) -> int:
    return int(sys.modules["cupy"].cuda.get_current_stream(ordinal).ptr)


def _torch_stream(ordinal: int) -> int:
    return int(sys.modules["torch"].cuda.current_stream(ordinal).cuda_stream)


_BY_LIBRARY = {"cupy": (_cupy, _cupy_stream), "torch": (_torch, _torch_stream)}
