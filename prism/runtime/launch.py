"""Launching: shapes and assumptions checked on the host, arguments packed, one call of the driver."""

from __future__ import annotations

import ctypes
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from prism.lang.facts.budget import MAX_BLOCKS, shape_fault
from prism.lang.facts.launch_tests import Assumed, Undefined, compile_test
from prism.runtime import extended_launch
from prism.runtime.arguments import Arguments, check_numbers
from prism.runtime.capture import follows, let_follow
from prism.runtime.code import machine_code
from prism.runtime.device import Loaded, allow_shared, current_device, load, using
from prism.runtime.driver import check, driver
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.errors import AssumedError as AssumedError
from prism.runtime.errors import LaunchError as LaunchError
from prism.runtime.room import Room
from prism.runtime.scratch import SCRATCH

GRID_WORD = (EntryParameter("px_grid", "pointer", "uint32"),)
"""What a cooperative kernel takes behind its own parameters."""
MOST_HELD = 1024
"""Launches that are known to be as a kernel assumes, by their numbers."""
TOO_LARGE = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"


class Held(NamedTuple):
    """A launch to be made again, one at a time: `function(*arguments)`, where the device is current, gives the driver's status.

    It goes to `configuration.stream`. Where `captured` is not None, ask `captured()` before a launch on a stream above
    `extended_launch.LEGACY`: where it is true, a plain launch may be the one to make, so call the launcher. `buffer` holds the
    values: it must live as long.
    """

    configuration: Any
    function: Any
    arguments: tuple[Any, ...]
    captured: Callable[[], bool] | None
    buffer: Any = None


def check_shape(entry: Entry, blocks: int, threads: int) -> None:
    """Check a launch against the kernel's bound.

    Raises:
        TypeError: blocks or threads is no integer.
        LaunchError: out of range, not the multiple that the kernel's `@requires` states, or more threads than it counts.
    """
    require_shape(entry.title, (blocks, entry.block_multiple), (threads, entry.thread_multiple), entry.max_threads)
    if entry.block_threads not in (None, threads):
        raise LaunchError(
            f"`{entry.title}` needs blocks of {entry.block_threads} threads, as what it calls demands, not of {threads}"
        )
    most = entry.grid_threads
    if most is not None and int(blocks) * int(threads) > most:
        raise LaunchError(
            f"`{entry.title}` counts the grid's threads in 32 bits: it takes at most {most} of them, not {blocks} blocks of "
            f"{threads}; declare what `id()` and `count()` are assigned to as int64"
        )


def require_shape(title: str, blocks: tuple[Any, int | None], threads: tuple[Any, int | None], most: int) -> None:
    """Check the numbers of blocks and threads of a kernel of this title, each beside what it must be a multiple of.

    `most`: the threads of its largest block. Raises as `check_shape` does.
    """
    for what, (number, multiple), limit in (("blocks", blocks, MAX_BLOCKS), ("threads", threads, most)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            more = " (divide with `//`)" if isinstance(number, float) else " (there is one dimension)"
            raise TypeError(
                f"`{title}`: the number of {what} must be an integer, not {type(number).__qualname__}"
                + (more if isinstance(number, float | tuple | list) else "")
            )
        if why := shape_fault(title, what, int(number), multiple, limit):
            raise LaunchError(why)


class Assumptions:
    """What a kernel assumes of its launches: `require` tests it, once for the same numbers. Safe among threads."""

    __slots__ = ("_entry", "_held", "_picked", "_positions", "_shaped", "_tests")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._tests = tuple((each, compile_test(each.code)) for each in entry.assumed)
        self._positions = tuple(sorted({n for each in entry.assumed for n in each.arguments()}))
        self._picked = operator.itemgetter(*(self._positions or (0,)))
        self._shaped = any(any(each.shape_terms()) for each in entry.assumed)
        self._held: set[tuple[Any, ...]] = set()

    def require(self, blocks: int, threads: int, values: Sequence[Any]) -> None:
        """Check a launch, whose shape the bound admits.

        Raises:
            AssumedError: an assumption does not hold of it, or has no value.
            LaunchError, TypeError, OverflowError: as `Arguments.pack`, of the arguments that are duration of.
        """
        key: tuple[Any, ...]
        try:
            numbers = self._picked(values) if self._positions else ()
            key = (blocks, threads, numbers) if self._shaped else (numbers,)
            if key in self._held:
                return
        except (IndexError, TypeError):
            require_count(self._entry, len(values))
            key = ()  # what can't be looked up, or is not there
        check_numbers([self._entry.parameters[n] for n in self._positions], [values[n] for n in self._positions])
        for assumed, holds in self._tests:
            try:
                why = "" if holds((int(blocks), int(threads), values)) else "does not hold"
            except Undefined as error:
                why = f"has no value, as {error},"
            if why:
                raise AssumedError(self._refusal(assumed, why, blocks, threads, values))
        if key and len(self._held) < MOST_HELD:
            self._held.add(key)

    def _refusal(self, assumed: Assumed, why: str, blocks: int, threads: int, values: Sequence[Any]) -> str:
        parameters, (of_blocks, of_threads) = self._entry.parameters, assumed.shape_terms()
        facts = [f"{parameters[n].name} = {values[n]}" for n in assumed.arguments()]
        facts += [f"{blocks} blocks"] * of_blocks + [f"{threads} threads a block"] * of_threads
        where = f"`{self._entry.title}` assumes `{assumed.text}` (line {assumed.line}), which {why}"
        return f"{where} of this launch: {', '.join(facts)}" if facts else f"{where} of any launch"


def require_count(entry: Entry, given: int) -> None:
    """Refuse too many or too few arguments, with a LaunchError that has the parameters' names."""
    names = ", ".join(p.name for p in entry.parameters)
    if given != len(entry.parameters):
        raise LaunchError(f"`{entry.title}` takes {len(entry.parameters)} arguments ({names}), {given} given")


class Launcher:
    """A kernel on a device, ready: `launcher(blocks, threads, stream, values)`. Safe among threads."""

    def __init__(self, entry: Entry, loaded: Loaded) -> None:
        self.entry = entry
        self.loaded = loaded
        self.arguments = Arguments(
            entry.title, entry.parameters, hidden=GRID_WORD if entry.cooperative else (), beside=self._call
        )
        self._shapes: dict[tuple[int, ...], bool] = {}
        self._assumptions = Assumptions(entry) if entry.assumed else None
        self._room: Room | None = None
        self.ordinal: int = loaded.device.ordinal
        if entry.sized:
            self._room = Room(entry, loaded.device.shared_limit, f"GPU {self.ordinal} has")
            allow_shared(loaded, self._room.limit)
        if entry.programmatic:
            let_follow(loaded.function, loaded.kernel)

    def __call__(self, blocks: int, threads: int, stream: int, values: Sequence[Any]) -> None:
        """Launch on a stream's handle.

        Values, in the parameters' order: addresses for pointers, numbers for scalars, for tensor maps arrays as `describe`
        gives them.

        Nothing is allocated or synchronised; may be captured in a CUDA graph. (The first cooperative launch on a stream allocates
        the word at which blocks meet.)

        Raises:
            LaunchError: the bound doesn't admit this shape, more blocks of a cooperative kernel than run at once, too many or
                too few values, too much shared memory, or what the kernel assumes does not hold (AssumedError).
            TypeError, OverflowError: a value doesn't fit its parameter, which is named; nothing is launched.
            DeviceError: the driver refuses the launch, or an earlier one failed.
        """
        shared = self.entry.shared_bytes if self._room is None else self._size(self._room, blocks, threads, values)
        early = self._shapes.get((blocks, threads) if self._room is None else (blocks, threads, shared))
        if early is None:
            early = self._admit(blocks, threads, shared)
        if self._assumptions is not None:
            self._assumptions.require(blocks, threads, values)
        if current_device() == self.ordinal:
            self._launch(blocks, threads, stream, values, early, shared)
        else:
            with using(self.ordinal):
                self._launch(blocks, threads, stream, values, early, shared)

    def serialize(self) -> Launcher:
        """Return one of the same kernel whose launches all begin when what is before them on the stream has ended."""
        return Launcher(replace(self.entry, programmatic=False), self.loaded)

    def prepare(
        self, blocks: int, threads: int, stream: int, values: Sequence[Any], places: Mapping[int, int] | None = None
    ) -> Held:
        """Return such a launch as the driver takes it, for who makes it again and again.

        Pointers whose positions are in `places` are read there, at each launch. A cooperative kernel has the word of this stream.

        Raises:
            LaunchError, TypeError, OverflowError: as a launch.
        """
        shared = self.entry.shared_bytes if self._room is None else self._size(self._room, blocks, threads, values)
        early = self._admit(blocks, threads, shared)
        if self._assumptions is not None:
            self._assumptions.require(blocks, threads, values)
        if self.entry.cooperative:
            values = (*values, SCRATCH.get(self.ordinal, stream, 4, "grid"))
        buffer, pointers, call = self.arguments.pack(values)  # and never released: it is the caller's
        for position, place in (places or {}).items():
            ctypes.c_uint64.from_address(pointers + 8 * position).value = place
        call.configuration.shared = shared
        call.settle(blocks, threads, stream, early)
        return Held(call.configuration, call.function, call.arguments, call.is_captured if early else None, buffer)

    def _size(self, room: Room, blocks: int, threads: int, values: Sequence[Any]) -> int:
        check_shape(self.entry, blocks, threads)
        require_count(self.entry, len(values))
        check_numbers([self.entry.parameters[n] for n in room.positions], [values[n] for n in room.positions])
        return room.bytes(blocks, threads, values)

    def _admit(self, blocks: int, threads: int, shared: int) -> bool:
        """Check a launch against the kernel's bound; return whether it may begin before the one before it has ended."""
        check_shape(self.entry, blocks, threads)
        early = self.entry.programmatic and self._fits_beside(blocks, threads, shared)
        if len(self._shapes) < 1024:
            self._shapes[(blocks, threads) if self._room is None else (blocks, threads, shared)] = early
        return early

    def _launch(self, blocks: int, threads: int, stream: int, values: Sequence[Any], early: bool, shared: int) -> None:
        if self.entry.cooperative:
            values = (*values, SCRATCH.get(self.ordinal, stream, 4, "grid"))
        held = self.arguments.pack(values)
        call: extended_launch.Call = held[2]
        call.configuration.shared = shared
        try:
            call.settle(blocks, threads, stream, early)
            if early and stream > extended_launch.LEGACY and call.is_captured() and not follows(stream):
                call.settle(blocks, threads, stream, False)
            status = call.function(*call.arguments)
        finally:
            self.arguments.release(held)
        if status:
            found = driver().CUresult(status)
            if found.name == TOO_LARGE:
                raise LaunchError(self._too_large(blocks, threads, shared))
            check((found,), f"launching `{self.entry.name}` with {blocks} blocks of {threads} threads")

    def _call(self, arguments: int) -> extended_launch.Call:
        """Return what launches with the arguments at an address."""
        early = extended_launch.PROGRAMMATIC if self.entry.programmatic else extended_launch.ORDINARY
        kind = extended_launch.COOPERATIVE if self.entry.cooperative else early
        return extended_launch.Call(int(self.loaded.function), arguments, self.entry.shared_bytes, kind)

    def _fits_beside(self, blocks: int, threads: int, shared: int) -> bool:
        """Whether blocks that begin beside as many others are spread over the multiprocessors as evenly as without.

        If one more would fit where another two were to be, a few multiprocessors would get what comes first, and do all the work.
        """
        held, each = self.loaded.occupancy(threads, shared), -(-blocks // self.loaded.device.sm_count)
        return not each < held < 2 * each

    def _too_large(self, blocks: int, threads: int, shared: int) -> str:
        most = self.resident_blocks(threads, shared)
        return (
            f"`{self.entry.title}` is launched cooperatively: all its blocks must run at once, and GPU {self.ordinal} holds "
            f"{most} of {threads} threads each, not {blocks}"
        )

    def resident_blocks(self, threads: int, shared: int | None = None) -> int:
        """Return how many blocks of so many threads, with so many bytes of shared memory, the whole device holds at once.

        Of a kernel of clusters these are whole ones.

        Raises:
            DeviceError: the driver can't tell.
        """
        shared = self.entry.shared_bytes if shared is None else shared
        if (together := self.entry.block_multiple or 1) > 1:
            function = int(self.loaded.function)
            return together * extended_launch.count_clusters(function, together, threads, shared, self.ordinal)
        return self.loaded.occupancy(threads, shared) * self.loaded.device.sm_count


@functools.lru_cache(maxsize=4096)
def prepare(entry: Entry, ordinal: int) -> Launcher:
    """Return the launcher of an entry on a device: machine code found or made, loaded, allowed its shared memory; once.

    Must not be first called inside a CUDA graph's capture.

    Raises:
        MissingCompiler: it must be compiled, and the compiler isn't there.
        MachineCodeError: the compiler refuses the text: a bug in Prism.
        AssemblerError: the assembler has an internal error: a bug in ptxas.
        SlowCodeError: what uses wgmma or `set_registers` would run as if it did not, or has too few registers.
        DeviceError: the device refuses it, or has too little shared memory.
    """
    cubin = machine_code(entry.source, entry.arch, alike=True)
    return Launcher(entry, load(cubin, entry.name, ordinal, entry.shared_bytes))
