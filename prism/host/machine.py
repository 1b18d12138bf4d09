"""Where plans run: on a GPU, whose kernels are loaded once, or on the reference machine."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import memory
from prism.host.lazies import NumberInfo
from prism.host.plan import SCRATCH, WORDS, Buffer, Clear, Machine, Map, Number, Plan, Reach, Step
from prism.host.warm import LASTING, Cleared, Launched, Mapped, Slot, Warm, number_of_bits
from prism.lang.types import TensorMap
from prism.lang.types.structs import dtype_called
from prism.runtime.arrays import ArrayInfo
from prism.runtime.device import device
from prism.runtime.graphs import Again
from prism.runtime.instance import Instance
from prism.runtime.launch import Launcher
from prism.runtime.scratch import SCRATCH as KEPT
from prism.runtime.scratch import capture_of

_BESIDE = (WORDS, SCRATCH)  # what a stream keeps for plans
_SMALL = 1 << 20  # bytes of scratch memory that a stream keeps; more comes from the arrays' library, for one call
_HELD = 1 << 25  # what it keeps for calls that come again and again at the same places
Launch = Callable[[tuple[int, ...], int], None]
"""Launches on arrays that begin at these addresses, on a stream."""


def machine_of(info: ArrayInfo) -> Machine:
    """Return the machine that an array's memory belongs to."""
    return HOST if info.device is None else Gpu(info.device)


class Host:
    """The reference machine."""

    host = True
    arch = ""
    multiprocessors = 1

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once."""
        return 1


HOST = Host()


class Gpu:
    """A GPU, asked for what plans depend on."""

    host = False

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        found = device(ordinal)
        self.arch, self.multiprocessors = found.arch, found.sm_count

    @property
    def name(self) -> str:
        """What the driver calls it."""
        return str(device(self.ordinal).name)

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks of so many threads run at once."""
        return launcher_of(instance, self.ordinal).resident_blocks(threads)


def launcher_of(instance: Instance, ordinal: int) -> Launcher:
    """Return the launcher of a kernel on a GPU: machine code found or made, and loaded, once."""
    return instance.launcher(ordinal)


def order_arguments(step: Step, parameters: Iterable[str]) -> tuple[Any, ...]:
    """Return a step's arguments in the order of the kernel's parameters.

    Raises:
        TypeError: a parameter has no argument, or an argument is no parameter's.
    """
    names = tuple(parameters)
    if len(names) != len(step.arguments) or not all(name in step.arguments for name in names):
        kernel = step.instance.kernel.__name__
        raise TypeError(f"`{kernel}` takes {', '.join(names)}, and is given {', '.join(step.arguments)}")
    return tuple(step.arguments[name] for name in names)


class Ready:
    """A plan whose kernels are loaded on the GPU of an array: `ready(pointers, stream)`, of the arrays called `names`.

    `waited`: the host waits for what it says before it goes on.
    """

    def __init__(self, plan: Plan, names: Sequence[str], where: ArrayInfo, waited: bool = False) -> None:
        assert where.device is not None
        self._where, self._plan, self.ordinal = replace(where, owner=None), plan, where.device
        self._roomy = plan.scratch > (0 if plan.lent else _SMALL)  # then its address comes with those of the arrays
        self._arrays = {name: number for number, name in enumerate((*names, SCRATCH) if self._roomy else names)}
        self._alone = len(plan.steps) == 1
        self._lasting: dict[tuple[int, int], tuple[int, int]] = {}
        asked = self._memory if plan.words or plan.scratch else None
        steps = [self._cleared(step.buffer) if isinstance(step, Clear) else self._launched(step) for step in plan.steps]
        self._warm = Warm(steps, self.ordinal, asked, self._alone or asked is None, waited)

    def __call__(self, pointers: tuple[int, ...], stream: int) -> None:
        """Make the steps, one after the other, on the arrays that begin at these addresses.

        Raises:
            RuntimeError: the legacy default stream's scratch memory must be allocated while another stream is captured.
            DeviceError: the driver refuses a launch.
        """
        if not self._roomy:
            return self._warm(pointers, stream)
        beside = self._memory(stream)
        room, address = None, beside[1]
        if not address:  # the room is held until all is launched: who takes it next comes behind on the stream
            room, address = memory.scratch(self._where, self._plan.scratch, stream)
        return self._warm((*pointers, address), stream, beside)

    def launch(self) -> Launch:
        """Return what does the same, for who does it again and again."""
        return self.__call__ if self._roomy else self._warm.__call__  # a method is called sooner

    def direct(self, pointers: tuple[int, ...], stream: int) -> Again | bool | None:
        """Return what `Warm.direct` does. Scratch memory that other calls borrow is kept for the stream then, up to `_HELD`."""
        beside = self._kept(stream)
        return self._warm.direct((*pointers, beside[1]), stream, beside, sure=True) if beside[1] else False

    def part(self, pointers: tuple[int, ...], stream: int) -> Callable[[int], None] | None:
        """Return what `Warm.part` does, with scratch memory as of `direct`."""
        beside = self._kept(stream)
        return self._warm.part((*pointers, beside[1]), stream, beside) if beside[1] else None

    def _kept(self, stream: int) -> tuple[int, int]:
        """Return where the words and the scratch memory are that a stream keeps for good; 0: that is too much."""
        words, address = self._memory(stream)
        if not address and self._plan.scratch <= _HELD:
            tag = "scratch" if self._alone else _tag_of(threading.get_ident())
            address = KEPT.get(self.ordinal, stream, self._plan.scratch, tag)
        return words, address

    def _memory(self, stream: int) -> tuple[int, int]:
        """Return where the words and the scratch memory are, for a stream.

        What one step leaves there for the next is this thread's: others launch on the same stream, between the two.
        """
        key = (stream, 0 if self._alone else threading.get_ident())
        if (found := self._lasting.get(key)) is not None:
            return found
        found = self._ask(stream)
        if stream in LASTING:  # it may have more of it later: these steps are as well off with the old
            self._lasting[key] = found
        return found

    def _ask(self, stream: int) -> tuple[int, int]:
        plan = self._plan
        words = KEPT.get(self.ordinal, stream, plan.words, plan.tag) if plan.words else 0
        if not plan.scratch or self._borrows(stream):
            return words, 0
        tag = "scratch" if self._alone else _tag_of(threading.get_ident())
        return words, KEPT.get(self.ordinal, stream, plan.scratch, tag)

    def _borrows(self, stream: int) -> bool:
        """Whether the arrays' library lends the scratch memory: what is large, and what a graph is to have for itself."""
        plan = self._plan
        return plan.scratch > _SMALL or (plan.lent and stream not in LASTING and capture_of(stream) is not None)

    def _launched(self, step: Step) -> Launched:
        launcher = launcher_of(step.instance, self.ordinal)
        if step.late:
            launcher = launcher.serialize()
        values = list(order_arguments(step, (p.name for p in launcher.entry.parameters)))
        slots: list[Slot] = []
        beside: list[Slot] = []
        maps: list[Mapped] = []
        numbers: list[tuple[int, np.dtype[Any]]] = []
        for position, value in enumerate(values):
            if isinstance(value, Map):
                which, values[position] = self._arrays[value.buffer.name], 0
                facts = replace(self._where, shape=value.shape, strides=value.strides)
                maps.append((position, which, value.buffer.offset - value.before, facts))
            if isinstance(value, Buffer):
                values[position] = 0
                if value.name in self._arrays:
                    slots.append((position, self._arrays[value.name], value.offset))
                    if isinstance(value, Number):
                        numbers.append((position, dtype_called(value.dtype)))
                elif value.name == WORDS or value.count:
                    beside.append((position, _BESIDE.index(value.name), value.offset))
        return Launched(launcher, step.blocks, step.threads, values, slots, beside, maps, numbers)

    def _cleared(self, buffer: Buffer) -> Cleared:
        nbytes, found = buffer.count * dtype_called(buffer.dtype).itemsize, self._arrays.get(buffer.name)
        return Cleared(_BESIDE.index(buffer.name) if found is None else found, buffer.offset, nbytes, found is None)


@functools.lru_cache(maxsize=1024)
def _tag_of(thread: int) -> str:
    return f"scratch of thread {thread}"


def run_on_host(plan: Plan, arrays: Mapping[str, Any], **options: Any) -> None:
    """Run a plan on the reference machine, on NumPy arrays that lie in memory without gaps; `options` as of its `run`."""
    beside = {WORDS: np.zeros(plan.words, np.uint8), SCRATCH: np.empty(plan.scratch, np.uint8)}

    def found(buffer: Buffer, scalar: str) -> Any:
        if (room := beside.get(buffer.name)) is not None:
            end = buffer.offset + buffer.count * dtype_called(buffer.dtype).itemsize
            assert end <= room.size or not buffer.count, f"{buffer} is beyond the end of the plan's memory"
            return room[buffer.offset : end].view(dtype_called(scalar))
        if isinstance(given := arrays[buffer.name], NumberInfo):
            return number_of_bits(given.pointer, dtype_called(buffer.dtype or "uint64"))
        if isinstance(buffer, Reach):
            return memory.reach(given, scalar, buffer.offset)
        array = memory.plain(given, scalar)
        return array[buffer.offset // array.itemsize :] if buffer.offset else array

    for step in plan.steps:
        if isinstance(step, Clear):
            found(step.buffer, step.buffer.dtype)[...] = 0
        else:
            run_step(step, found, **options)


def run_step(step: Step, found: Callable[[Buffer, str], Any], **options: Any) -> None:
    """Run a step on the reference machine; `found` gives the array of a buffer, as a kernel's type; `options` as of its `run`.

    The machine is imported when the first array of the host comes: a call on a GPU does not need it.
    """
    from prism.interpret import run
    from prism.runtime.build import entry_parameter

    program = step.instance.program
    parameters = program.entry.parameters
    values = list(order_arguments(step, (p.name for p in parameters)))
    for position, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        if isinstance(value, Buffer | Map | bytes):
            scalar = entry_parameter(parameter.name, parameter.type).dtype
            if isinstance(value, bytes):  # no map
                assert isinstance(parameter.type, TensorMap)
                values[position] = np.empty((1,) * len(parameter.type.box), dtype_called(scalar))
            elif isinstance(value, Map):
                values[position] = memory.view_of(found(value.buffer, scalar), value.shape, value.strides, value.before)
            else:
                values[position] = found(value, scalar)
    run(program, step.blocks, step.threads, values, **options)
