"""Launching: arguments packed by declared type, shapes checked on the host, one call of the driver."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from prism.lang.shorts import short_bits
from prism.lang.types import SCALARS
from prism.runtime import tensor_maps
from prism.runtime.arrays import ArrayInfo
from prism.runtime.code import machine_code
from prism.runtime.device import Loaded, current_device, load, using
from prism.runtime.driver import checked, driver
from prism.runtime.entry import MAX_BLOCKS, Entry, EntryParameter
from prism.runtime.scratch import SCRATCH

_FORMATS = {
    ("bool", 8): "?", ("int", 8): "b", ("int", 16): "h", ("int", 32): "i", ("int", 64): "q",
    ("uint", 8): "B", ("uint", 16): "H", ("uint", 32): "I", ("uint", 64): "Q",
    ("float", 16): "H", ("float", 32): "f", ("float", 64): "d",
}  # fmt: skip


GRID_WORD = (EntryParameter("px_grid", "pointer", "uint32"),)
"""What a cooperative kernel takes behind its own parameters."""
TOO_LARGE = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"


class LaunchError(ValueError):
    """A launch that the kernel's bound doesn't admit, or too many or too few arguments. Nothing was launched."""

    code = "launch"


class Arguments:
    """How one kernel's arguments are laid out: values in a buffer, beside the pointers to them that the driver wants.

    Buffers are reused, one a launch in flight on the host, so that packing allocates nothing.
    """

    def __init__(
        self, name: str, parameters: tuple[EntryParameter, ...], hidden: tuple[EntryParameter, ...] = ()
    ) -> None:
        self.name = name
        self.hidden = len(hidden)  # of the parameters, the last that the caller does not know
        self.parameters = parameters = (*parameters, *hidden)
        self._offsets, codes = _layout(parameters)
        self._struct = struct.Struct(f"@{codes}")
        self._shorts = tuple(i for i, p in enumerate(parameters) if p.kind == "scalar" and SCALARS[p.dtype].short)
        self._flags = tuple(i for i, p in enumerate(parameters) if _code(p) == "?")
        self._maps = tuple(i for i, p in enumerate(parameters) if p.kind == "map")
        self._free: list[tuple[Any, int]] = []

    def pack(self, values: Sequence[Any]) -> tuple[Any, int]:
        """Return a buffer with the values, and the address of the driver's array of pointers; `release` it afterwards.

        Floats are rounded as C rounds them: what is too large for a float32 is infinity.

        Raises:
            LaunchError: too many or too few values.
            TypeError: a value is not of its parameter's kind; the parameter is named.
            OverflowError: a number doesn't fit its parameter; the parameter is named.
            ValueError: an array can't be a tensor map; the parameter is named.
        """
        if self._maps and len(values) == len(self.parameters):
            values = _with_maps(self.parameters, self._maps, values)
        held = self._free.pop() if self._free else self._new()
        try:
            if self._shorts:
                values = _short_values(self.parameters, self._shorts, values)
            for i in self._flags:
                _require_bool(self.parameters[i], values[i])
            self._struct.pack_into(held[0], 0, *values)
        except (struct.error, OverflowError, TypeError, IndexError):
            self._free.append(held)
            self._explain(values)
            raise
        return held

    def release(self, held: tuple[Any, int]) -> None:
        """Give a buffer back, after the launch."""
        self._free.append(held)

    def _new(self) -> tuple[Any, int]:
        start = -(-self._struct.size // 8) * 8
        size = start + 8 * len(self._offsets)
        room = ctypes.create_string_buffer(size + tensor_maps.ALIGNMENT)
        buffer = (ctypes.c_char * size).from_buffer(room, -ctypes.addressof(room) % tensor_maps.ALIGNMENT)
        base = ctypes.addressof(buffer)
        struct.pack_into(f"@{len(self._offsets)}Q", buffer, start, *(base + offset for offset in self._offsets))
        return buffer, base + start

    def _explain(self, values: Sequence[Any]) -> None:
        """Raise the error of the first value that doesn't fit, naming its parameter."""
        expected, given = len(self.parameters) - self.hidden, len(values) - self.hidden
        if given != expected:
            names = ", ".join(p.name for p in self.parameters[:expected])
            raise LaunchError(f"`{self.name}` takes {expected} arguments ({names}), {given} given")
        for parameter, value in zip(self.parameters, values, strict=True):
            _check_value(parameter, value)


def check_shape(entry: Entry, blocks: int, threads: int) -> None:
    """Check a launch against the kernel's bound.

    Raises:
        TypeError: blocks or threads is no integer.
        LaunchError: out of range, or not the multiple that the kernel's `@requires` states.
    """
    limits = (
        ("blocks", blocks, MAX_BLOCKS, entry.block_multiple),
        ("threads", threads, entry.max_threads, entry.thread_multiple),
    )
    for what, number, most, multiple in limits:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise TypeError(
                f"`{entry.title}`: the number of {what} must be an integer, not {type(number).__qualname__}"
            )
        if not 1 <= number <= most:
            raise LaunchError(f"`{entry.title}` takes 1 to {most} {what}{_each(what)}, not {number}")
        if multiple is not None and number % multiple != 0:
            wanted = f"a multiple of {multiple} {what}{_each(what)} (its @requires)"
            raise LaunchError(f"`{entry.title}` needs {wanted}, not {number}")


class Launcher:
    """A kernel on a device, ready: `launcher(blocks, threads, stream, values)`. Safe among threads."""

    def __init__(self, entry: Entry, loaded: Loaded) -> None:
        self.entry = entry
        self.loaded = loaded
        self.arguments = Arguments(entry.title, entry.parameters, hidden=GRID_WORD if entry.cooperative else ())
        self._shapes: set[tuple[int, int]] = set()
        self._early = entry.early
        self._descriptions: dict[tuple[int, int, int], Any] = {}
        self._ordinal = loaded.device.ordinal

    def __call__(self, blocks: int, threads: int, stream: int, values: Sequence[Any]) -> None:
        """Launch on a stream's handle.

        Values, in the parameters' order: addresses for pointers, numbers for scalars, for tensor maps arrays as `describe`
        gives them.

        Nothing is allocated or synchronised; may be captured in a CUDA graph. (The first cooperative launch on a stream allocates
        the word at which blocks meet: make it before the capture.)

        Raises:
            LaunchError: the bound doesn't admit this shape, more blocks of a cooperative kernel than run at once, or too many or
                too few values; nothing is launched.
            TypeError, OverflowError: a value doesn't fit its parameter, which is named; nothing is launched.
            DeviceError: the driver refuses the launch, or an earlier one failed.
        """
        if (blocks, threads) not in self._shapes:
            check_shape(self.entry, blocks, threads)
            if len(self._shapes) < 1024:
                self._shapes.add((blocks, threads))
        if current_device() == self._ordinal:
            self._launch(blocks, threads, stream, values)
        else:
            with using(self._ordinal):
                self._launch(blocks, threads, stream, values)

    def _launch(self, blocks: int, threads: int, stream: int, values: Sequence[Any]) -> None:
        cooperative = self.entry.cooperative
        if cooperative:
            values = (*values, SCRATCH.get(self._ordinal, stream, 4, "grid"))
        held = self.arguments.pack(values)
        try:
            if self._early:
                result = driver().cuLaunchKernelEx(self._how(blocks, threads, stream), self.loaded.function, held[1], 0)
            else:
                how = (self.loaded.function, blocks, 1, 1, threads, 1, 1, self.entry.shared_bytes, stream, held[1])
                result = driver().cuLaunchCooperativeKernel(*how) if cooperative else driver().cuLaunchKernel(*how, 0)
        finally:
            self.arguments.release(held)
        if result[0] != 0:
            if getattr(result[0], "name", "") == TOO_LARGE:
                raise LaunchError(self._too_large(blocks, threads))
            checked(result, f"launching `{self.entry.name}` with {blocks} blocks of {threads} threads")

    def _how(self, blocks: int, threads: int, stream: int) -> Any:
        """Return the driver's description of a launch that may begin before the kernel before it in the stream has ended."""
        key = (blocks, threads, stream)
        found = self._descriptions.get(key)
        if found is None:
            cuda = driver()
            attribute = cuda.CUlaunchAttribute()
            attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = int(self._fits_beside(blocks, threads))
            found = cuda.CUlaunchConfig()
            found.gridDimX, found.gridDimY, found.gridDimZ = blocks, 1, 1
            found.blockDimX, found.blockDimY, found.blockDimZ = threads, 1, 1
            found.sharedMemBytes, found.hStream = self.entry.shared_bytes, stream
            found.attrs, found.numAttrs = [attribute], 1
            if len(self._descriptions) < 1024:
                self._descriptions[key] = found
        return found

    def _fits_beside(self, blocks: int, threads: int) -> bool:
        """Whether blocks that begin beside as many others are spread over the multiprocessors as evenly as without.

        If one more would fit where another two were to be, a few multiprocessors would get what comes first, and do all the work.
        """
        held = self.loaded.occupancy(threads, self.entry.shared_bytes)
        each = -(-blocks // self.loaded.device.sm_count)
        return not each < held < 2 * each

    def _too_large(self, blocks: int, threads: int) -> str:
        most = self.resident_blocks(threads)
        return (
            f"`{self.entry.title}` is launched cooperatively: all its blocks must run at once, and GPU {self._ordinal} holds "
            f"{most} of {threads} threads each, not {blocks}"
        )

    def resident_blocks(self, threads: int) -> int:
        """Return how many blocks of so many threads the whole device holds at once.

        Raises:
            DeviceError: the driver can't tell.
        """
        return self.loaded.occupancy(threads, self.entry.shared_bytes) * self.loaded.device.sm_count


@functools.lru_cache(maxsize=4096)
def prepare(entry: Entry, ordinal: int) -> Launcher:
    """Return the launcher of an entry on a device: machine code found or made, loaded, allowed its shared memory; once.

    Must not be first called inside a CUDA graph's capture.

    Raises:
        MissingCompiler: it must be compiled, and the compiler isn't there.
        MachineCodeError: the compiler refuses the text: a bug in Prism.
        AssemblerError: the assembler has an internal error: a bug in ptxas.
        SlowCodeError: what uses wgmma or `set_registers` would run as if it did not.
        DeviceError: the device refuses it, or has too little shared memory.
    """
    return Launcher(entry, load(machine_code(entry.source, entry.arch), entry.name, ordinal, entry.shared_bytes))


def _each(what: str) -> str:
    return " a block" if what == "threads" else ""


def _code(parameter: EntryParameter) -> str:
    scalar = SCALARS[parameter.dtype]
    if parameter.kind == "map":
        return f"{tensor_maps.BYTES}s"
    return "Q" if parameter.kind == "pointer" else _FORMATS[scalar.kind, scalar.bits]


def _layout(parameters: tuple[EntryParameter, ...]) -> tuple[list[int], str]:
    """Return where each value lies, aligned as the kernel has it, and the format of them all."""
    offsets, codes, at = [], "", 0
    for parameter in parameters:
        code = _code(parameter)
        size = struct.calcsize(f"@{code}")
        gap = -at % (tensor_maps.ALIGNMENT if parameter.kind == "map" else size)
        codes += ("x" * gap) + code
        offsets.append(at + gap)
        at += gap + size
    return offsets, codes


def _with_maps(parameters: tuple[EntryParameter, ...], maps: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """Return the values with encoded tensor maps in place of the arrays."""
    found = list(values)
    for i in maps:
        if isinstance(found[i], ArrayInfo):
            found[i] = tensor_maps.encoded(parameters[i], found[i])
        elif not isinstance(found[i], bytes) or len(found[i]) != tensor_maps.BYTES:
            kind = type(found[i]).__qualname__
            raise TypeError(f"`{parameters[i].name}` must be an array or its tensor map, not {kind}")
    return found


def _short_values(parameters: tuple[EntryParameter, ...], shorts: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """Return the values with the bits of floats of 16 bits in place of the numbers."""
    found = list(values)
    for i in shorts:
        parameter = parameters[i]
        if not isinstance(found[i], (int, float, np.floating, np.integer)) or isinstance(found[i], bool):
            raise TypeError(
                f"`{parameter.name}` must be a number ({parameter.dtype}), not {type(found[i]).__qualname__}"
            )
        found[i] = short_bits(float(found[i]), SCALARS[parameter.dtype])
    return found


def _require_bool(parameter: EntryParameter, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{parameter.name}` must be a bool, not {type(value).__qualname__}")


def _check_value(parameter: EntryParameter, value: Any) -> None:
    code = _code(parameter)
    if code == "?":
        return _require_bool(parameter, value)
    if parameter.kind == "map":
        return None  # looked at before
    what = "an address" if parameter.kind == "pointer" else f"a number ({parameter.dtype})"
    try:
        struct.pack(code, value)
        return None
    except OverflowError:
        pass
    except (struct.error, TypeError):
        if not (isinstance(value, int) or (code not in "fd" and hasattr(value, "__index__"))):
            raise TypeError(f"`{parameter.name}` must be {what}, not {type(value).__qualname__}") from None
    raise OverflowError(f"`{parameter.name}` is {parameter.dtype}, which {value} doesn't fit")


__all__ = ["Arguments", "LaunchError", "Launcher", "check_shape", "current_device", "prepare"]
