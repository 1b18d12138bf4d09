"""From a program to an entry that the runtime can compile, ship and launch."""

from __future__ import annotations

from prism.lang.emit import emit
from prism.lang.facts import budget
from prism.lang.facts.assumptions import launch_assumptions
from prism.lang.facts.blocks import threads_of
from prism.lang.intrinsics.declaration import supports
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Program
from prism.lang.types import Mailbox, Pointer, Scalar, TensorMap, Type, Vector
from prism.lang.types.structs import Struct
from prism.runtime.entry import Entry, EntryParameter


def entry_of(program: Program, arch: str) -> Entry:
    """Return the entry of a kernel's program for one architecture, such as `sm_90a`."""
    emitted = emit(lower(program))
    function = program.entry
    return Entry(
        name=emitted.name,
        source=emitted.source,
        arch=arch,
        parameters=tuple(
            entry_parameter(name, type_, symbol.const)
            for (name, type_), symbol in zip(emitted.parameters, function.parameters, strict=True)
        ),
        shared_bytes=emitted.shared_bytes,
        thread_multiple=function.bound.thread,
        block_multiple=function.bound.block,
        max_threads=budget.most_threads(function),
        cooperative=function.cooperative,
        programmatic=emitted.follows and supports(arch, "sm_90"),
        grid_threads=budget.grid_limit(program),
        block_threads=threads_of(program),
        assumed=tuple(dict.fromkeys(launch_assumptions(function).values())),
        axes=function.axes,
        sized=tuple(program.layouts[function].sized.values()),
    )


def entry_parameter(name: str, type_: Type, const: bool = False) -> EntryParameter:
    """Return how a parameter is passed; `const`: a tensor map through which nothing is stored."""
    if isinstance(type_, Pointer):
        element = type_.element
        if isinstance(element, Mailbox):
            return EntryParameter(name, "pointer", "uint64", type_.const)  # words of 8 bytes, or pairs of them
        scalar = element.element if isinstance(element, Vector) else element
        return EntryParameter(name, "pointer", scalar_name(scalar), type_.const, axes=type_.axes)
    if isinstance(type_, Scalar):
        return EntryParameter(name, "scalar", scalar_name(type_))
    if isinstance(type_, TensorMap):
        return EntryParameter(name, "map", type_.element.name, const, type_.box, type_.swizzle)
    raise TypeError(f"a kernel cannot take {name}: {type_}")


def scalar_name(scalar: Scalar) -> str:
    """Return the text that stands for a scalar, or a struct, in an entry."""
    return scalar.key if isinstance(scalar, Struct) else scalar.name
