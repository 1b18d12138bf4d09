"""Launches made again: a kernel on other arrays, all else as it was, at little more than what the driver takes for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from prism.runtime import device
from prism.runtime.extended_launch import LEGACY

if TYPE_CHECKING:
    from prism.runtime.launch import Held, Launcher

Slot = tuple[int, int, int]
"""A parameter, by its number, that is an address: in memory of which number, and how many bytes behind where that begins."""
Memory = tuple[int, ...]
"""Where a stream's memory beside the arrays begins."""
# The legacy default stream's handles: it lives as long as the process, and with it the memory that is its own.
_LASTING = (0, 1)


class Warm:
    """Launches of a kernel that differ in addresses and in the stream: `warm(addresses, stream)`.

    `values` are the launch's. `slots` take the place of some, with addresses of the call; `beside` of others, with what
    `ask(stream)` gives. All but the call's addresses and the stream is packed once for each memory. Safe among threads: each has
    a buffer of its own for as long as it launches. Not for cooperative kernels.
    """

    __slots__ = (
        "_ask", "_beside", "_blocks", "_free", "_lasting", "_launcher", "_plain", "_several", "_slots", "_threads", "_values",
        "_words",
    )  # fmt: skip

    def __init__(
        self, launcher: Launcher, blocks: int, threads: int, values: Sequence[Any], slots: Sequence[Slot],
        ask: Callable[[int], Memory] | None = None, beside: Sequence[Slot] = (),
    ) -> None:  # fmt: skip
        self._launcher, self._blocks, self._threads = launcher, blocks, threads
        self._values, self._slots = tuple(values), tuple(slots)
        self._ask, self._beside = ask, tuple(beside)
        self._words = tuple((launcher.word(position), which, offset) for position, which, offset in slots)
        # by far the most take one array and a result, in this order
        self._plain = tuple(slot[1:] for slot in slots) == ((0, 0), (1, 0))
        self._lasting: dict[int, Memory] = {}  # the memory of streams that live as long as the process
        self._free: dict[Memory, list[Held]] = {}  # packed launches that are not under way
        self._several = True  # GPUs, in this process; not asked as yet

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Launch on the memory that begins at these addresses.

        Raises:
            RuntimeError: scratch memory must be allocated inside the capture of a CUDA graph.
            DeviceError: the driver refuses the launch.
        """
        memory: Memory = ()
        if self._ask is not None:
            memory = self._lasting.get(stream) or self._ask(stream)
        free = self._free.get(memory)
        if free is None or (self._several and device.current_device() != self._launcher.ordinal):
            return self._launch(addresses, stream, memory)
        try:
            held = free.pop()
        except IndexError:
            held = self._launcher.prepare(self._blocks, self._threads, self._with(memory))
        words, configuration, function, arguments, captured = held
        if self._plain:
            (x, _, _), (y, _, _) = self._words
            words[x] = addresses[0]
            words[y] = addresses[1]
        else:
            for at, which, offset in self._words:
                words[at] = addresses[which] + offset
        configuration.stream = stream
        if captured is not None and stream > LEGACY and captured():
            free.append(held)
            return self._launch(addresses, stream, memory)
        status = function(*arguments)
        free.append(held)
        if status:  # nothing was launched; among others, where this thread has used no GPU as yet
            self._launch(addresses, stream, memory)
        return None

    def _with(self, memory: Memory) -> list[Any]:
        """Return the values, with the addresses of what is beside the arrays."""
        values = list(self._values)
        for position, which, offset in self._beside:
            values[position] = memory[which] + offset
        return values

    def _launch(self, addresses: Sequence[int], stream: int, memory: Memory) -> None:
        """Launch as any kernel is; what takes the same memory may be packed from here on."""
        values = self._with(memory)
        for position, which, offset in self._slots:
            values[position] = addresses[which] + offset
        self._launcher(self._blocks, self._threads, stream, tuple(values))
        if self._ask is not None and stream in _LASTING:
            self._lasting[stream] = memory
        if memory not in self._free:
            self._several = device.count() > 1
            self._free[memory] = []
