"""Arguments of a launch: arrays as regions and tensors, numbers narrowed to their types, and the shadows of what is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks
from prism.interpret.objects import scalar_bytes
from prism.interpret.regions import Address, Region, array_region, region_of
from prism.interpret.shadow import Shadow
from prism.interpret.tensors import tensor_of
from prism.interpret.values import wrap
from prism.lang import tree
from prism.lang.keep.memo import memoize
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements
from prism.lang.types.structs import Struct


def bind(program: Program, arguments: Sequence[Any], clocks: Clocks | None, axes: Sequence[int] = ()) -> list[Any]:
    """Return the parameters' values; `axes`: the numbers of blocks and threads along each axis, where the kernel takes them."""
    parameters = program.entry.given
    if len(arguments) != len(parameters):
        raise TypeError(f"`{program.entry.name}` takes {len(parameters)} arguments, not {len(arguments)}")
    values: list[Any] = []
    regions: list[tuple[tree.Symbol, Region]] = []
    numbers: list[int] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        match parameter.type:
            case tree.Pointer() as pointer if pointer.axes:
                region, begin, of_axes = array_region(parameter.name, argument, parameter.type)
                numbers += of_axes
                regions.append((parameter, region))
                values.append(Address(region, _behind(begin) if begin else None))
            case tree.Pointer():
                region = region_of(parameter.name, argument, parameter.type)
                regions.append((parameter, region))
                values.append(Address(region))
            case tree.TensorMap():
                tensor = tensor_of(parameter.name, argument, parameter.type)
                if not (parameter.const or argument.flags.writeable):
                    raise ValueError(f"`{parameter.name}` is written, but its array is read-only")
                regions.append((parameter, tensor.region))
                values.append(tensor)
            case tree.Scalar():
                values.append(_scalar(parameter.name, argument, parameter.type))
            case other:
                raise TypeError(f"`{parameter.name}`: a kernel takes no {other}")
    if clocks is not None:
        _shadow_regions(clocks, regions)
    return [*values, *numbers, *axes]


def _behind(begin: int) -> Callable[[Any, Any], Any]:
    """Return what maps indices to those so many elements behind: of an array whose first element is not its lowest."""
    return lambda frame, indices: begin + indices[0]


def _scalar(name: str, argument: Any, type_: tree.Scalar) -> Any:
    if isinstance(type_, Struct):
        try:
            return type_.value(argument).item()
        except TypeError as error:
            raise TypeError(f"`{name}`: {error}") from None
    if isinstance(argument, np.ndarray) and argument.ndim:
        raise TypeError(f"`{name}` takes a number, not an array")
    value = argument.item() if isinstance(argument, np.generic | np.ndarray) else argument
    if type_.integral and isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{name}`: {value} is no {type_}")
    narrowed = wrap(type_)(value if type_.kind == "float" else int(value))
    if type_.integral and narrowed != value:
        raise ValueError(f"`{name}`: {value} is no {type_}")
    return narrowed


def _shadow_regions(clocks: Clocks, regions: list[tuple[tree.Symbol, Region]]) -> None:
    """Give regions whose bytes overlap one shadow; regions that nothing writes have none."""
    clusters: list[list[tuple[tree.Symbol, Region]]] = []
    end = -1
    for symbol, region in sorted(regions, key=lambda pair: pair[1].address):
        if region.address >= end or not clusters:
            clusters.append([])
        clusters[-1].append((symbol, region))
        end = max(end, region.address + region.data.nbytes)
    for cluster in clusters:
        if all(isinstance(symbol.type, tree.Pointer) and symbol.type.const for symbol, _ in cluster):
            continue
        first = cluster[0][1].address
        last = max(region.address + region.data.nbytes for _, region in cluster)
        granule = math.gcd(*(g for _, r in cluster for g in (r.address - first, r.data.itemsize)))
        shadow = Shadow(clocks, max(1, (last - first) // granule), granule, initialised=True)
        for _, region in cluster:
            region.shadow, region.first = shadow, (region.address - first) // granule
            region.width = region.data.nbytes // max(1, len(region.data)) // granule or 1


@memoize
def granule_of(program: Program) -> int:
    """Return the bytes of the smallest scalar in shared memory."""
    every = (
        s for function in program.functions for s in statements(function.body) if isinstance(s, tree.SharedDeclare)
    )
    return min([16, *(scalar_bytes(s.symbol.type) for s in every if isinstance(s.symbol.type, tree.Pointer))])
