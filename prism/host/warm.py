"""Launches made again: a kernel on other arrays, all else as it was, at little more than what the driver takes for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prism.runtime import device
from prism.runtime.extended_launch import LEGACY

if TYPE_CHECKING:
    from prism.runtime.arrays import ArrayInfo
    from prism.runtime.launch import Held, Launcher

Slot = tuple[int, int, int]
"""A parameter, by its number, that is an address: in memory of which number, and how many bytes behind where that begins."""
Mapped = tuple[int, int, int, "ArrayInfo"]
"""A parameter that is a tensor map, the same way, and the facts of its matrix but for where that begins."""
Memory = tuple[int, ...]
"""Where a stream's memory beside the arrays begins."""
_MOST = 1024  # places of arrays that maps are kept for
# The legacy default stream's handles: it lives as long as the process, and with it the memory that is its own.
LASTING = (0, 1)


class Warm:
    """Launches of a kernel that differ in addresses and in the stream: `warm(addresses, stream, beside)`.

    `values` are the launch's. `slots` take the place of some, with addresses of the call; `beside` of others, with what
    `ask(stream)` gives, unless it is given; `maps` of others, with tensor maps of what lies there. All but the call's addresses
    and the stream is packed once for each memory; where there are maps, the addresses too, once for each place of the arrays and
    memory. `alone`: no step beside it takes what is beside the arrays, so what a lasting stream had first will do.
    Safe among threads: each has a buffer of its own for as long as it launches. A cooperative kernel, which takes a word of the
    stream's, is launched as any other is each time.
    """

    __slots__ = (
        "_alone", "_always", "_ask", "_beside", "_blocks", "_first", "_free", "_lasting", "_launcher", "_maps", "_second",
        "_several", "_slots", "_threads", "_values", "_words",
    )  # fmt: skip

    def __init__(
        self, launcher: Launcher, blocks: int, threads: int, values: Sequence[Any], slots: Sequence[Slot],
        ask: Callable[[int], Memory] | None = None, beside: Sequence[Slot] = (), maps: Sequence[Mapped] = (),
        alone: bool = True,
    ) -> None:  # fmt: skip
        self._launcher, self._blocks, self._threads = launcher, blocks, threads
        self._values, self._slots = tuple(values), tuple(slots)
        self._ask, self._beside, self._maps, self._alone = ask, tuple(beside), tuple(maps), alone
        words = () if maps else tuple((launcher.word(position), which, offset) for position, which, offset in slots)
        # By far the most take one array and a result, in this order, and nothing else: then where these two are.
        plain = tuple(slot[1:] for slot in slots) == ((0, 0), (1, 0)) and not maps
        self._first, self._second = (words[0][0], words[1][0]) if plain else (-1, -1)
        self._words = () if plain else words
        self._free: dict[Memory, list[Held]] = {}  # packed launches that are not under way
        self._lasting: dict[int, list[Held]] = {}  # those of streams that live as long as the process
        self._always: list[Held] | None = None  # those of any stream, where nothing is beside the arrays
        self._several = True  # GPUs, in this process; not asked as yet

    def __call__(self, addresses: Memory, stream: int, beside: Memory | None = None) -> None:
        """Launch on the memory that begins at these addresses; `beside`: what `ask` would give, where it was asked already.

        Raises:
            RuntimeError: the legacy default stream's scratch memory must be allocated while another stream is captured.
            DeviceError: the driver refuses the launch.
        """
        free = self._lasting.get(stream) if self._always is None else self._always
        if free is None:
            free = self._free.get(self._place(addresses, stream, beside))
        if free is None or (self._several and device.current_device() != self._launcher.ordinal):
            return self._launch(addresses, stream, beside)
        try:
            held = free.pop()
        except IndexError:
            held = self._launcher.prepare(self._blocks, self._threads, self._with(addresses, stream, beside)[0])
        words, configuration, function, arguments, captured = held
        if (first := self._first) >= 0:
            words[first] = addresses[0]
            words[self._second] = addresses[1]
        else:
            for at, which, offset in self._words:
                words[at] = addresses[which] + offset
        configuration.stream = stream
        if captured is not None and stream > LEGACY and captured():
            free.append(held)
            return self._launch(addresses, stream, beside)
        status = function(*arguments)
        free.append(held)
        if status:  # nothing was launched; among others, where this thread has used no GPU as yet
            self._launch(addresses, stream, beside)
        return None

    def _with(self, addresses: Memory, stream: int, beside: Memory | None) -> tuple[list[Any], Memory]:
        """Return all values, and what they are kept for: the places of the arrays, or of what is beside them."""
        values = list(self._values)
        if self._ask is not None:
            beside = self._ask(stream) if beside is None else beside
            for position, which, offset in self._beside:
                values[position] = beside[which] + offset
        for position, which, offset in self._slots:
            values[position] = addresses[which] + offset
        for position, which, offset, facts in self._maps:
            values[position] = replace(facts, pointer=addresses[which] + offset)
        return values, self._place(addresses, stream, beside)

    def _place(self, addresses: Memory, stream: int, beside: Memory | None) -> Memory:
        """Return what packed launches are kept for: what is beside the arrays, and where there are maps, the arrays' places."""
        if self._ask is None:
            return addresses if self._maps else ()
        memory = self._ask(stream) if beside is None else beside
        return addresses + memory if self._maps else memory

    def _launch(self, addresses: Memory, stream: int, beside: Memory | None) -> None:
        """Launch as any kernel is; what takes the same memory may be packed from here on."""
        values, kept_for = self._with(addresses, stream, beside)
        self._launcher(self._blocks, self._threads, stream, tuple(values))
        if self._launcher.entry.cooperative:
            return
        if kept_for not in self._free:
            self._several = device.count() > 1
            if self._maps and len(self._free) >= _MOST:
                self._free.clear()
            self._free[kept_for] = []
        if self._maps:
            return
        if self._ask is None:
            self._always = self._free[kept_for]
        elif self._alone and stream in LASTING:  # it may have more of it later: one kernel is as well off with the old
            self._lasting[stream] = self._free[kept_for]
