"""Launches made again: a kernel on two other arrays, all else as it was, at little more than what the driver takes for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prism.runtime import device
from prism.runtime.extended_launch import LEGACY

if TYPE_CHECKING:
    from prism.runtime.launch import Held, Launcher

# The legacy default stream's handles: it lives as long as the process, and with it the memory that is its own.
_LASTING = (0, 1)


class Warm:
    """Launches of a kernel that differ in its first two arguments, which are addresses, and in the stream: `warm(x, y, stream)`.

    `memory(stream)` gives the addresses of a stream's scratch memory (anything that can be looked up, and is not None), and
    `rest` of these the arguments behind the first two. All but the two addresses and the stream are packed once for each memory.
    Safe among threads: each has a buffer of its own for as long as it launches. Not for cooperative kernels.
    """

    __slots__ = ("_blocks", "_free", "_lasting", "_launcher", "_memory", "_rest", "_several", "_threads")

    def __init__(
        self,
        launcher: Launcher,
        blocks: int,
        threads: int,
        memory: Callable[[int], Any],
        rest: Callable[[Any], tuple[Any, ...]],
    ) -> None:
        self._launcher, self._blocks, self._threads, self._memory, self._rest = launcher, blocks, threads, memory, rest
        self._lasting: dict[int, Any] = {}  # the memory of streams that live as long as the process
        self._free: dict[Any, list[Held]] = {}  # by memory
        self._several = True  # GPUs, in this process; not asked as yet

    def __call__(self, x: int, y: int, stream: int) -> None:
        """Launch on the arrays that begin at these addresses.

        Raises:
            RuntimeError: scratch memory must be allocated inside the capture of a CUDA graph.
            DeviceError: the driver refuses the launch.
        """
        memory = self._lasting.get(stream)
        if memory is None:
            memory = self._memory(stream)
        free = self._free.get(memory)
        if free is None or (self._several and device.current_device() != self._launcher.ordinal):
            return self._launch(x, y, stream, memory)
        try:
            held = free.pop()
        except IndexError:
            held = self._launcher.prepare(self._blocks, self._threads, (0, 0, *self._rest(memory)))
        addresses, configuration, function, arguments, captured = held
        addresses[0] = x
        addresses[1] = y
        configuration.stream = stream
        if captured is not None and stream > LEGACY and captured():
            free.append(held)
            return self._launch(x, y, stream, memory)
        status = function(*arguments)
        free.append(held)
        if status:  # nothing was launched; among others, where this thread has used no GPU as yet
            self._launch(x, y, stream, memory)
        return None

    def _launch(self, x: int, y: int, stream: int, memory: Any) -> None:
        """Launch as any kernel is; what takes the same memory may be packed from here on."""
        self._launcher(self._blocks, self._threads, stream, (x, y, *self._rest(memory)))
        if stream in _LASTING:
            self._lasting[stream] = memory
        if memory not in self._free:
            self._several = device.count() > 1
            self._free[memory] = []
