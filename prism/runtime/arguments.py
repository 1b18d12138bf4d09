"""A kernel's arguments: laid out as it has them, packed by declared type; what does not fit is refused, by its parameter."""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from prism.lang.types.shorts import short_bits
from prism.lang.types.structs import Struct
from prism.runtime import tensor_maps
from prism.runtime.arrays import ArrayInfo
from prism.runtime.entry import EntryParameter
from prism.runtime.errors import LaunchError

_FORMATS = {
    ("bool", 8): "?", ("int", 8): "b", ("int", 16): "h", ("int", 32): "i", ("int", 64): "q",
    ("uint", 8): "B", ("uint", 16): "H", ("uint", 32): "I", ("uint", 64): "Q",
    ("float", 8): "B", ("float", 16): "H", ("float", 32): "f", ("float", 64): "d",
}  # fmt: skip


class Arguments:
    """How one kernel's arguments are laid out: values in a buffer, beside the pointers to them that the driver wants.

    Buffers are reused, one a launch in flight on the host, so that packing allocates nothing.
    """

    def __init__(
        self,
        name: str,
        parameters: tuple[EntryParameter, ...],
        hidden: tuple[EntryParameter, ...] = (),
        beside: Callable[[int], Any] = lambda address: None,
    ) -> None:
        self.name = name
        self._beside = beside
        self.hidden = len(hidden)  # of the parameters, the last that the caller does not know
        self.parameters = parameters = (*parameters, *hidden)
        self._offsets, codes = _layout(parameters)
        self._struct = struct.Struct(f"@{codes}")
        self._shorts = tuple(i for i, p in enumerate(parameters) if p.kind == "scalar" and p.scalar.short)
        self._structs = tuple(
            i for i, p in enumerate(parameters) if p.kind == "scalar" and isinstance(p.scalar, Struct)
        )
        self._flags = tuple(i for i, p in enumerate(parameters) if _code(p) == "?")
        self._maps = tuple(i for i, p in enumerate(parameters) if p.kind == "map")
        self._free: list[tuple[Any, int, Any]] = []

    def pack(self, values: Sequence[Any]) -> tuple[Any, int, Any]:
        """Return a buffer with the values, the address of the driver's array of pointers, and what `beside` made of it.

        `release` it afterwards.

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
            if self._structs:
                values = _struct_values(self.parameters, self._structs, values)
            for i in self._flags:
                _require_bool(self.parameters[i], values[i])
            self._struct.pack_into(held[0], 0, *values)
        except (struct.error, OverflowError, TypeError, IndexError):
            self._free.append(held)
            self._explain(values)
            raise
        return held

    def release(self, held: tuple[Any, int, Any]) -> None:
        """Give a buffer back, after the launch."""
        self._free.append(held)

    def _new(self) -> tuple[Any, int, Any]:
        start = -(-self._struct.size // 8) * 8
        size = start + 8 * len(self._offsets)
        room = ctypes.create_string_buffer(size + tensor_maps.ALIGNMENT)
        buffer = (ctypes.c_char * size).from_buffer(room, -ctypes.addressof(room) % tensor_maps.ALIGNMENT)
        base = ctypes.addressof(buffer)
        struct.pack_into(f"@{len(self._offsets)}Q", buffer, start, *(base + offset for offset in self._offsets))
        return buffer, base + start, self._beside(base + start)

    def _explain(self, values: Sequence[Any]) -> None:
        """Raise the error of the first value that doesn't fit, naming its parameter."""
        expected, given = len(self.parameters) - self.hidden, len(values) - self.hidden
        if given != expected:
            names = ", ".join(p.name for p in self.parameters[:expected])
            raise LaunchError(f"`{self.name}` takes {expected} arguments ({names}), {given} given")
        for parameter, value in zip(self.parameters, values, strict=True):
            _check_value(parameter, value)


def check_numbers(parameters: Sequence[EntryParameter], values: Sequence[Any]) -> None:
    """Check the numbers among a call's arguments as `Arguments.pack` does, for who packs nothing.

    Raises:
        TypeError, OverflowError: as `Arguments.pack`.
    """
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.kind == "scalar" and parameter.scalar.short:
            _short_values((parameter,), (0,), (value,))
        elif parameter.kind == "scalar":
            _check_value(parameter, value)


def _code(parameter: EntryParameter) -> str:
    scalar = parameter.scalar
    if parameter.kind == "map":
        return f"{tensor_maps.BYTES}s"
    if parameter.kind == "scalar" and isinstance(scalar, Struct):
        return f"{scalar.bytes}s"
    return "Q" if parameter.kind == "pointer" else _FORMATS[scalar.kind, scalar.bits]


def _layout(parameters: tuple[EntryParameter, ...]) -> tuple[list[int], str]:
    """Return where each value lies, aligned as the kernel has it, and the format of them all."""
    offsets, codes, at = [], "", 0
    for parameter in parameters:
        code = _code(parameter)
        size = struct.calcsize(f"@{code}")
        by_value = parameter.kind == "scalar" and isinstance(parameter.scalar, Struct)
        gap = -at % (tensor_maps.ALIGNMENT if parameter.kind == "map" else parameter.align if by_value else size)
        codes += ("x" * gap) + code
        offsets.append(at + gap)
        at += gap + size
    return offsets, codes


def argument_layout(parameters: tuple[EntryParameter, ...]) -> list[tuple[int, int]]:
    """Return the offset and the size in bytes of each argument, as the kernel has them in its parameters."""
    offsets, _ = _layout(parameters)
    return [(offset, struct.calcsize(f"@{_code(p)}")) for offset, p in zip(offsets, parameters, strict=True)]


def _with_maps(parameters: tuple[EntryParameter, ...], maps: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """Return the values with encoded tensor maps in place of the arrays."""
    found = list(values)
    for i in maps:
        if isinstance(found[i], ArrayInfo):
            found[i] = tensor_maps.encode(parameters[i], found[i])
        elif not isinstance(found[i], bytes) or len(found[i]) != tensor_maps.BYTES:
            kind = type(found[i]).__qualname__
            raise TypeError(f"`{parameters[i].name}` must be an array or its tensor map, not {kind}")
    return found


def _short_values(parameters: tuple[EntryParameter, ...], shorts: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """Return the values with the bits of floats of 16 and 8 bits in place of the numbers."""
    found = list(values)
    for i in shorts:
        parameter = parameters[i]
        if not isinstance(found[i], (int, float, np.floating, np.integer)) or isinstance(found[i], bool):
            raise TypeError(
                f"`{parameter.name}` must be a number ({parameter.dtype}), not {type(found[i]).__qualname__}"
            )
        found[i] = short_bits(float(found[i]), parameter.scalar)
    return found


def _struct_values(
    parameters: tuple[EntryParameter, ...], structs: tuple[int, ...], values: Sequence[Any]
) -> list[Any]:
    """Return the values with the bytes of structs in place of records."""
    found = list(values)
    for i in structs:
        scalar = parameters[i].scalar
        assert isinstance(scalar, Struct)
        try:
            found[i] = scalar.value(found[i]).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"`{parameters[i].name}`: {error}") from None
    return found


def _require_bool(parameter: EntryParameter, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{parameter.name}` must be a bool, not {type(value).__qualname__}")


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _check_value(parameter: EntryParameter, value: Any) -> None:
    code = _code(parameter)
    if code == "?":
        return _require_bool(parameter, value)
    if parameter.kind == "map":
        return None  # looked at before
    if parameter.kind == "scalar" and isinstance(parameter.scalar, Struct):
        if not isinstance(value, bytes):
            _struct_values((parameter,), (0,), (value,))
        return None
    number = "an integer" if code not in "efd" else "a number"
    what = "an address" if parameter.kind == "pointer" else f"{number} ({parameter.dtype})"
    try:
        struct.pack(code, value)
        return None
    except OverflowError:
        pass
    except (struct.error, TypeError):
        if not (isinstance(value, int) or (code not in "fd" and _is_whole(value))):
            raise TypeError(f"`{parameter.name}` must be {what}, not {type(value).__qualname__}") from None
    raise OverflowError(f"`{parameter.name}` is {parameter.dtype}, which {value} doesn't fit")
