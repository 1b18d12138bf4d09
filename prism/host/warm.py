"""Launches made again: a kernel on other arrays, all else as it was, at little more than what the driver takes for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prism.runtime import device
from prism.runtime.extended_launch import LEGACY

if TYPE_CHECKING:
    from prism.runtime.launch import Held, Launcher

Slot = tuple[int, int, int]
"""A parameter, by its number, that is an address: of memory of which number, and how many bytes behind where that begins."""


class Warm:
    """Launches of a kernel that differ in addresses and in the stream: `warm(addresses, stream)`.

    `values` are the launch's, of which `slots` take the place of some. All but these and the stream is packed once. Safe among
    threads: each has a buffer of its own for as long as it launches. Not for cooperative kernels.
    """

    __slots__ = ("_blocks", "_free", "_launcher", "_several", "_slots", "_threads", "_values", "_words")

    def __init__(
        self, launcher: Launcher, blocks: int, threads: int, values: Sequence[Any], slots: Sequence[Slot]
    ) -> None:
        self._launcher, self._blocks, self._threads = launcher, blocks, threads
        self._values, self._slots = tuple(values), tuple(slots)
        self._words = tuple((launcher.word(position), which, offset) for position, which, offset in slots)
        self._free: list[Held] | None = None  # packed launches that are not under way; None before the first launch
        self._several = True  # GPUs, in this process; not asked as yet

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Launch on the memory that begins at these addresses.

        Raises:
            DeviceError: the driver refuses the launch.
        """
        free = self._free
        if free is None or (self._several and device.current_device() != self._launcher.ordinal):
            return self._launch(addresses, stream)
        try:
            held = free.pop()
        except IndexError:
            held = self._launcher.prepare(self._blocks, self._threads, self._values)
        words, configuration, function, arguments, captured = held
        for at, which, offset in self._words:
            words[at] = addresses[which] + offset
        configuration.stream = stream
        if captured is not None and stream > LEGACY and captured():
            free.append(held)
            return self._launch(addresses, stream)
        status = function(*arguments)
        free.append(held)
        if status:  # nothing was launched; among others, where this thread has used no GPU as yet
            self._launch(addresses, stream)
        return None

    def _launch(self, addresses: Sequence[int], stream: int) -> None:
        """Launch as any kernel is; from here on launches may be packed."""
        values = list(self._values)
        for position, which, offset in self._slots:
            values[position] = addresses[which] + offset
        self._launcher(self._blocks, self._threads, stream, tuple(values))
        if self._free is None:
            self._several = device.count() > 1
            self._free = []
