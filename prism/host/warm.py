"""Plans launched again: on other arrays, all else as it was, at little more than what the driver takes for the launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from prism.runtime import device, extended_launch
from prism.runtime.extended_launch import LEGACY
from prism.runtime.graphs import Again, Trial, graph_of, trial_of

if TYPE_CHECKING:
    from prism.runtime.arrays import ArrayInfo
    from prism.runtime.launch import Held, Launcher

Slot: TypeAlias = tuple[int, int, int]
"""A parameter, by its number, that is an address: in memory of which number, and how many bytes behind where that begins."""
Mapped: TypeAlias = "tuple[int, int, int, ArrayInfo]"
"""A parameter that is a tensor map, the same way, and the facts of its matrix but for where that begins."""
Memory: TypeAlias = tuple[int, ...]
"""Where arrays, or a stream's memory beside them, begin."""
Packed: TypeAlias = tuple[Any, Sequence[Slot], Sequence[tuple[Any, tuple[Any, ...]]], Callable[[int], bool], Any]
"""A plan's launches as the driver takes them, for one call at a time: `(room, moved, launches, settle, behind)`.

All launches read the arrays' addresses in `room`, and those that `moved` says in the words `behind` them. Each launch is a
function and its arguments. `settle(stream)` puts them on a stream; whether they may go there.
"""
_MOST = 1024  # places of arrays that something is kept for
_THREADS = 256  # that launches are kept for
_GRAPHS = 16  # that a plan may have
_OFTEN = 4  # times at the same places, behind which the steps are a graph
_TRIALS, _SOON = 3, 12.0
"""Trials of a step alone, and microseconds in which one of them must end: the events that time it take the GPU six of these."""
# The legacy default stream's handles: it lives as long as the process, and with it the memory that is its own.
LASTING = (0, 1)


def number_of_bits(bits: int, dtype: np.dtype[Any]) -> Any:
    """Return the number whose bits are the lowest of 8 bytes."""
    return np.array([bits], np.uint64).view(dtype)[0]


class Launched(NamedTuple):
    """A step that is a launch of a kernel. `values` are its arguments, but for those that `slots`, `beside` and `maps` give.

    `numbers`: parameters that are numbers, each with its dtype: their bits stand where an address does.
    """

    launcher: Launcher
    blocks: int
    threads: int
    values: Sequence[Any]
    slots: Sequence[Slot] = ()
    beside: Sequence[Slot] = ()
    maps: Sequence[Mapped] = ()
    numbers: Sequence[tuple[int, np.dtype[Any]]] = ()

    def arguments(self, addresses: Memory, memory: Memory) -> list[Any]:
        """Return all of a launch's arguments."""
        values = list(self.values)
        for given, slots in ((memory, self.beside), (addresses, self.slots)):
            for position, which, offset in slots:
                values[position] = given[which] + offset
        for position, dtype in self.numbers:
            values[position] = number_of_bits(values[position], dtype).item()
        for position, which, offset, facts in self.maps:
            values[position] = replace(facts, pointer=addresses[which] + offset)
        return values


class Cleared(NamedTuple):
    """A step that writes zeros to an array of the call, or to what is `beside` the arrays."""

    which: int
    offset: int
    nbytes: int
    beside: bool


class Warm:
    """Steps, one after the other, made again with other addresses, or on another stream: `warm(addresses, stream, beside)`.

    `beside`: what `ask(stream)` gives, unless it is given. All but the call's addresses and the stream is packed once for each
    memory; where there are maps, once for each place of the arrays, too. `alone`: no other step, or call, of another thread comes
    between what uses that memory, so what a lasting stream had first will do for all threads.
    Steps that are made at the same places again and again, on a lasting stream, become a graph, which takes the host less time.
    Kernels in a graph don't begin before what is before it has ended. So where the GPU is the slower of the two it loses a
    microsecond: a step alone is tried first, and becomes none there; but where the host waits for each (`waited`).
    Safe among threads: what is packed is one call's for as long as it launches.
    """

    __slots__ = (
        "_alone", "_ask", "_cooperative", "_elsewhere", "_graphs", "_lasting", "_lent", "_maps", "_ordinal", "_seen", "_several",
        "_steps", "_trials", "_tried", "_worth",
    )  # fmt: skip

    def __init__(
        self, steps: Sequence[Launched | Cleared], ordinal: int, ask: Callable[[int], Memory] | None = None,
        alone: bool = True, waited: bool = False,
    ) -> None:  # fmt: skip
        self._steps, self._ordinal, self._ask, self._alone = tuple(steps), ordinal, ask, alone
        kernels = [step for step in self._steps if isinstance(step, Launched)]
        self._maps = any(step.maps for step in kernels)
        self._cooperative = any(step.launcher.entry.cooperative for step in kernels)
        # Packed launches that are not under way: of streams that live as long as the process, by the places of the arrays, and
        # as `_general` says.
        self._lasting: dict[Any, dict[Any, list[Packed]]] = {}
        self._seen: dict[Any, int] = {}  # how often steps were made at the same places
        self._graphs: dict[Any, list[Packed]] = {}
        self._worth: bool | None = bool(kernels) and not self._cooperative  # whether the steps should be a graph
        if self._worth and len(self._steps) == 1 and not waited:
            self._worth = None  # it is to be tried
        self._tried, self._trials = 0, list[Trial]()  # how often, and what is under way
        self._lent: dict[Any, Packed] = {}  # what one thread alone makes, by it and the places
        self._elsewhere: dict[Memory, list[Packed]] = {}  # the same of other streams, by what is beside the arrays
        self._several = True  # GPUs, in this process; not asked as yet

    def __call__(self, addresses: Memory, stream: int, beside: Memory | None = None) -> None:
        """Make the steps on the memory that begins at these addresses; `beside`: what `ask` would give, if it was asked before.

        Raises:
            RuntimeError: the legacy default stream's scratch memory must be allocated while another stream is captured.
            DeviceError: the driver refuses a launch.
        """
        key = stream if self._alone else (stream, get_ident())
        places = self._lasting.get(key)
        if places is not None:
            free = places.get(addresses) or self._found(places, key, addresses, stream, beside)
        else:
            free = self._elsewhere.get(self._place(addresses, stream, beside)) if stream > LEGACY else None
        if free is None or (self._several and device.current_device() != self._ordinal):
            return self._launch(addresses, stream, beside)
        try:
            packed = free.pop()
        except IndexError:
            free, packed = self._spare(free, places, addresses, stream, beside)
        room, moved, launches, settle, behind = packed
        if stream > LEGACY and not settle(stream):
            free.append(packed)
            return self._launch(addresses, stream, beside)
        if room is not None:
            room[:] = addresses
            for at, which, offset in moved:
                behind[at] = addresses[which] + offset
        for function, arguments in launches:
            if function(*arguments):  # it launched nothing; among others, where this thread has used no GPU as yet
                self._launch(addresses, stream, beside, launches.index((function, arguments)))
                break
        free.append(packed)
        return None

    def direct(
        self, addresses: Memory, stream: int, beside: Memory | None = None, sure: bool = False
    ) -> Again | bool | None:
        """Return what makes the steps at these places, on a lasting stream: one call of the driver, for this thread alone.

        False: they take more than one call. None: that is not known as yet; where `sure`, a step alone is no graph.
        """
        key = stream if self._alone else (stream, get_ident())
        if stream not in LASTING or key not in self._lasting:
            return None
        known, mine = (key, addresses), (get_ident(), stream, addresses)
        if (lent := self._lent.get(mine)) is not None:
            return lent[2][0]
        if len(self._lent) >= _MOST:
            return False
        found = self._graphs.get(known)
        if not found and self._worth:
            found = self._make(known if found is None else (known, mine), addresses, stream, beside)
        try:
            packed = found.pop() if found else None
        except IndexError:  # another thread was quicker
            packed = None
        if packed is None:
            if len(self._steps) > 1:
                return False
            if self._worth is None and not sure:
                return None
            room, moved, _, _, behind = packed = self._pack(addresses, stream, beside)
            room[:] = addresses
            for at, which, offset in moved:
                behind[at] = addresses[which] + offset
        self._lent[mine] = packed
        return packed[2][0]

    def part(self, addresses: Memory, stream: int, beside: Memory | None = None) -> Callable[[int], None] | None:
        """Return what makes the steps at these places on a stream that it is given, with the memory of a lasting one; or None."""
        if stream not in LASTING or self._cooperative:
            return None
        memory = self._memory(stream, beside)
        return lambda own: self._launch_all(addresses, own, memory)

    def _spare(
        self, free: list[Packed], places: dict[Any, list[Packed]] | None, addresses: Memory, stream: int, beside: Memory | None
    ) -> tuple[list[Packed], Packed]:  # fmt: skip
        """Return packed launches where another thread has the graph, or the last ones, and where they are kept."""
        if places is not None:
            free = places.get(self._general(addresses), free)
        try:
            return free, free.pop()
        except IndexError:
            return free, self._pack(addresses, stream, beside)

    def _place(self, addresses: Memory, stream: int, beside: Memory | None) -> Memory:
        """Return what packed launches are kept for: what is beside the arrays, and where there are maps, the arrays' places."""
        memory = self._memory(stream, beside)
        return addresses + memory if self._maps else memory

    def _memory(self, stream: int, beside: Memory | None) -> Memory:
        if self._ask is None:
            return ()
        return self._ask(stream) if beside is None else beside

    def _launch(self, addresses: Memory, stream: int, beside: Memory | None, first: int = 0) -> None:
        """Make the steps, from the first one on, as any launch is made; those on the same memory may be packed from here on."""
        memory = self._memory(stream, beside)
        self._launch_all(addresses, stream, memory, first)
        self._several = device.count() > 1
        if stream in LASTING:
            if len(self._lasting) >= _THREADS:
                self._lasting.clear()
            places = self._lasting.setdefault(stream if self._alone else (stream, get_ident()), {})
            places.setdefault(self._general(addresses), [])
        elif not self._cooperative:  # such a kernel has a word of the stream's
            if self._maps and len(self._elsewhere) >= _MOST:
                self._elsewhere.clear()
            self._elsewhere.setdefault(addresses + memory if self._maps else memory, [])

    def _launch_all(self, addresses: Memory, stream: int, memory: Memory, first: int = 0) -> None:
        for step in self._steps[first:]:
            if isinstance(step, Launched):
                values = tuple(step.arguments(addresses, memory))
                step.launcher(step.blocks, step.threads, stream, values)
            else:
                at = (memory if step.beside else addresses)[step.which] + step.offset
                extended_launch.clear_memory(at, step.nbytes, stream, self._ordinal)

    def _general(self, addresses: Memory) -> Any:
        """Return what launches that are no graph are kept for."""
        return (addresses,) if self._maps else None

    def _found(
        self, places: dict[Any, list[Packed]], key: Any, addresses: Memory, stream: int, beside: Memory | None
    ) -> list[Packed] | None:
        """Return packed launches that are not under way, of a lasting stream; after some calls a graph."""
        general = places.get(self._general(addresses))
        if general is None or addresses in places or (self._several and device.current_device() != self._ordinal):
            return general
        known = (key, addresses)
        found = self._graphs.get(known)
        if found is None and self._worth is not False:
            if (seen := self._seen.get(known, 0) + 1) < _OFTEN:
                self._note(known, seen)
                return general
            if self._worth is None:
                return self._try(addresses, stream, beside) or general
            found = self._make(known, addresses, stream, beside)
        if len(places) >= _MOST:
            places.clear()
            places[self._general(addresses)] = general
        places[addresses] = found = general if found is None else found
        return found

    def _note(self, known: Any, seen: int) -> None:
        if len(self._seen) >= _MOST:  # so many places: calls do not come back to them
            self._worth = False
            self._seen.clear()
        else:
            self._seen[known] = seen

    def _try(self, addresses: Memory, stream: int, beside: Memory | None) -> list[Packed] | None:
        """Return a graph that is timed; later look at what it took, and say by `_worth` whether others are made."""
        try:
            trial = self._trials.pop()  # one thread looks at it
        except IndexError:
            if self._tried >= _TRIALS:  # another thread does
                return None
            self._tried, memory = self._tried + 1, self._memory(stream, beside)
            found = trial_of(lambda own: self._launch_all(addresses, own, memory), self._ordinal, stream)
            if found is None:
                self._worth = False
                return None
            self._trials.append(found)
            return [self._alike((found.launch, ()))]
        took = trial.microseconds()
        if took is None:
            self._trials.append(trial)
        elif took <= _SOON or self._tried >= _TRIALS:  # what else the GPU had to do may have made one longer
            self._worth = took <= _SOON
        return None

    def _make(self, known: Any, addresses: Memory, stream: int, beside: Memory | None) -> list[Packed] | None:
        """Return the steps as a graph, at these places; None where there are many."""
        if len(self._graphs) < _GRAPHS:
            memory = self._memory(stream, beside)
            again = graph_of(lambda own: self._launch_all(addresses, own, memory), self._ordinal, stream)
            if again is not None:
                return self._graphs.setdefault(known, [self._alike(again)])
        self._worth = False
        return None

    @staticmethod
    def _alike(launch: tuple[Any, tuple[Any, ...]]) -> Packed:
        """Return a launch as what is packed: it has the addresses itself."""
        return None, (), [launch], lambda stream: True, None

    def _pack(self, addresses: Memory, stream: int, beside: Memory | None) -> Packed:
        """Pack the launches on memory that is kept for them, with a place for the arrays' addresses that all of them read."""
        memory, many = self._memory(stream, beside), len(addresses)
        kernels = [step for step in self._steps if isinstance(step, Launched)]
        asked = [(which, offset) for step in kernels for _, which, offset in step.slots]
        asked += [(step.which, step.offset) for step in self._steps if isinstance(step, Cleared) and not step.beside]
        moved = dict.fromkeys(slot for slot in asked if slot[1])
        room, behind = (ctypes.c_uint64 * many)(), (ctypes.c_uint64 * len(moved))()
        words = {(which, 0): ctypes.addressof(room) + 8 * which for which in range(many)}
        words |= {slot: ctypes.addressof(behind) + 8 * k for k, slot in enumerate(moved)}
        handle = ctypes.c_void_p(stream)  # of what is no kernel
        launches: list[tuple[Any, tuple[Any, ...]]] = []
        held: list[Held] = []
        for step in self._steps:
            if isinstance(step, Launched):
                places = {position: words[which, offset] for position, which, offset in step.slots}
                values = step.arguments(addresses, memory)
                held.append(step.launcher.prepare(step.blocks, step.threads, stream, values, places))
                launches.append((held[-1].function, held[-1].arguments))
            else:
                known = step.beside
                start = memory[step.which] + step.offset if known else words[step.which, step.offset]
                place = ctypes.c_uint64(start) if known else ctypes.c_uint64.from_address(start)
                launches.append(extended_launch.clearing(place, step.nbytes, handle))

        # A launch that may begin early may have to be another one in a graph.
        captured = next((one.captured for one in held if one.captured is not None), None)

        def settle(stream: int) -> bool:
            handle.value = stream
            for one in held:  # which keeps their values, too
                one.configuration.stream = stream
            return captured is None or not captured()

        return room, [(k, *slot) for k, slot in enumerate(moved)], launches, settle, behind
