"""The arguments of `kernel[blocks, threads](...)`: arrays checked against the pointers that they are passed for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism.lang.keep.bases import Value
from prism.runtime.arrays import (
    ArrayInfo,
    describe,
    one_place,
    require_aligned,
    require_axes,
    require_contiguous,
    require_writable,
)
from prism.runtime.entry import EntryParameter
from prism.runtime.errors import LaunchError
from prism.runtime.tensor_maps import PIECE


class BoundArguments(Value):
    """Values in the parameters' order, arrays' addresses among them; `device` is None for arrays on the host.

    An array for a tensor map is its `ArrayInfo`: the launch encodes the map.
    """

    values: tuple[Any, ...]
    arrays: dict[str, ArrayInfo]
    device: int | None


def bind(
    name: str, parameters: tuple[EntryParameter, ...], arguments: Sequence[Any], axes: Sequence[int] = ()
) -> BoundArguments:
    """Match a call's arguments with a kernel's parameters; `axes`: the numbers of blocks and threads along each axis.

    Raises:
        LaunchError: too many or too few arguments.
        TypeError: no array where one is needed, or one of another dtype or byte order; arrays on the host and on a GPU.
        ValueError: an array is not contiguous, or one of structs not aligned, has not the number of axes of its tensor map, or is
            read-only, or has rows that tensor stores can't write exactly, or elements that share memory, where the kernel writes;
            arrays on two GPUs.
    """
    given = given_parameters(parameters)
    require_count(name, [p.name for p in given], len(arguments))
    values: list[Any] = []
    arrays: dict[str, ArrayInfo] = {}
    numbers: list[int] = []
    for parameter, argument in zip(given, arguments, strict=True):
        if parameter.kind == "scalar":
            values.append(argument)
            continue
        info = describe(argument, parameter.name)
        if info.dtype != parameter.numpy and info.scalar != parameter.dtype or not info.dtype.isnative:
            found = info.scalar if info.dtype.isnative else f"{info.dtype}, in another byte order"
            raise TypeError(f"`{parameter.name}` must be an array of {parameter.dtype}, not of {found}")
        require_aligned(info, parameter.name, parameter.align)
        if parameter.kind == "map":
            require_axes(info, parameter.name, len(parameter.box))
            if not parameter.const:
                require_whole_pieces(info, parameter.name)
                require_own_places(info, parameter.name)
        elif parameter.axes:
            require_axes(info, parameter.name, parameter.axes)
            numbers += axes_of(info, parameter.name)
            if not parameter.const:
                require_own_places(info, parameter.name, "the kernel")
        else:
            require_contiguous(info, parameter.name)
        if not parameter.const:
            require_writable(info, parameter.name)
        arrays[parameter.name] = info
        values.append(info if parameter.kind == "map" else info.pointer)
    return BoundArguments((*values, *numbers, *axes), arrays, one_place(arrays))


def given_parameters(parameters: tuple[EntryParameter, ...]) -> tuple[EntryParameter, ...]:
    """Return the parameters that a launch is given: not those at the end, of arrays' axes and the launch's, as `x.shape[0]`."""
    if not parameters or not parameters[-1].name.endswith("]"):
        return parameters
    return tuple(p for p in parameters if not p.name.endswith("]"))


def axes_of(info: ArrayInfo, name: str) -> tuple[int, ...]:
    """Return an array's extents, and its strides in elements, as a kernel takes them.

    Raises:
        ValueError: its elements do not lie at multiples of their size.
    """
    size = info.dtype.itemsize
    if any(stride % size for stride in info.strides):
        raise ValueError(
            f"`{name}`: its strides of {info.strides} bytes are no multiples of its elements' {size}: pass a copy"
        )
    return (*info.shape, *(stride // size for stride in info.strides))


def require_count(name: str, parameters: Sequence[str], given: int, least: int | None = None) -> None:
    """Refuse too many or too few arguments, with a LaunchError that has the parameters' names; `least`: the fewest, if fewer."""
    most = len(parameters)
    if not (most if least is None else least) <= given <= most:
        count = most if least in (None, most) else f"{least} to {most}"
        raise LaunchError(f"`{name}` takes {count} arguments ({', '.join(parameters)}), {given} given")


def require_whole_pieces(info: ArrayInfo, name: str) -> None:
    """Refuse an array whose rows end inside a piece of 16 bytes, as what a tensor store writes.

    The engine clips rows by pieces: on an H200 a row of 500 bytes, in an array of wider rows, was written as 512.
    """
    row = info.shape[-1] * info.dtype.itemsize
    if row % PIECE:
        raise ValueError(
            f"`{name}` is written by tensor copies, and its rows of {row} bytes are no multiple of {PIECE}: "
            "copies would write beyond them; pad the rows, or write them with plain stores"
        )


def require_own_places(info: ArrayInfo, name: str, by: str = "tensor copies") -> None:
    """Refuse an array, written by a kernel, of which two elements may share memory, as windows that overlap do."""
    if 0 in info.shape:
        return
    reach = info.dtype.itemsize
    axes = ((abs(stride), extent) for extent, stride in zip(info.shape, info.strides, strict=True) if extent > 1)
    for stride, extent in sorted(axes):
        if stride < reach:
            raise ValueError(
                f"`{name}` is written by {by}, and elements of it share memory: its shape is {info.shape}, its strides "
                f"{info.strides} bytes; pass an array whose elements lie apart"
            )
        reach += (extent - 1) * stride
