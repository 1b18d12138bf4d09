"""`kernel[blocks, threads](*arguments)`: on NumPy arrays the reference machine, on device arrays the GPU."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prism.host.lazies import LazyArray, NotReadable, expand_launch
from prism.host.overlap import require_apart
from prism.lang.check import annotation, parsed_of
from prism.lang.check.annotation import LARGEST_SHARED
from prism.lang.facts.blocks import threads_of
from prism.lang.keep.keys import exact_items
from prism.lang.lower.limits import check_architecture
from prism.lang.parse.syntax import Parameter
from prism.lang.pipeline import build
from prism.lang.surface import Kernel
from prism.lang.surface.bindings import record_lookups
from prism.lang.tree.plan import Program
from prism.lang.types import Pointer, Type
from prism.lang.types.structs import scalar_called, struct_of
from prism.runtime.arguments import check_numbers
from prism.runtime.arrays import describe
from prism.runtime.bind import BoundArguments, bind, given_parameters, require_count
from prism.runtime.build import entry_of
from prism.runtime.errors import LaunchError
from prism.runtime.launch import Assumptions, check_shape
from prism.runtime.room import Room

MOST_VARIANTS, MOST_INSTANCES = 4, 256
"""Programs that are kept of a kernel with the same template arguments, by what its names stood for; and template arguments."""

LEFT_OUT = object()
"""An argument of a launch that has its default."""


class Known:
    """A program that was launched, with what its names stood for, and its entries.

    `host` is to check arguments and shapes against; the architecture does not matter. `ready`: the devices on which it was
    launched, where a capture may hold it.
    """

    __slots__ = ("assumptions", "bindings", "entries", "host", "program", "ready", "room")

    def __init__(self, kernel: Kernel, template: Mapping[str, object]) -> None:
        with record_lookups() as self.bindings:
            self.program = build(kernel, template)
        self.host = host_entry(self.program)
        self.assumptions = Assumptions(self.host) if self.host.assumed else None
        self.room = Room(self.host, LARGEST_SHARED, "a block has at most") if self.host.sized else None
        self.entries: dict[tuple[str, int], Any] = {}
        self.ready: set[int] = set()

    def require(self, blocks: int, threads: int, values: Sequence[Any]) -> None:
        """Refuse a launch of which what the kernel assumes does not hold: see `Assumptions`."""
        if self.assumptions is not None:
            self.assumptions.require(blocks, threads, values)

    def entry(self, arch: str, shared_limit: int) -> Any:
        """Return its entry for a device."""
        found = self.entries.get((arch, shared_limit))
        if found is None:
            found = self.entries[arch, shared_limit] = device_entry(self.program, arch, shared_limit)
        return found


def launch(
    kernel: Kernel,
    shape: Any,
    /,
    *arguments: Any,
    template: Mapping[str, object] | None = None,
    stream: Any = None,
    check: bool = False,
    schedule: str = "round-robin",
    seed: int = 0,
    **named: Any,
) -> None:
    """Launch `kernel[blocks, threads](*arguments)`; results are in the arrays.

    Arguments are given by place or by name; those that the kernel has a default for may be left out. An argument called as an
    option is, `template`, `stream`, `check`, `schedule` or `seed`, is given by its place.

    An array that the kernel only reads may be a lazy one (`prism.lib.lazy`): the kernel is one that reads its arrays.

    `template` gives the template arguments that the arrays' dtypes don't imply. Arrays on the host run on the reference
    machine: `check=True` reports races, deadlocks, accesses out of bounds and uninitialised reads, under `schedule`
    and `seed` (see `prism.interpret.SCHEDULES`). Arrays on a GPU run there, on `stream` or their library's current stream.

    Raises CompileError for a program that breaks a rule; LaunchError for blocks or threads that break the kernel's bound, and for
    a launch of which what the kernel assumes does not hold;
    TypeError, ValueError and OverflowError for arguments, naming them; MachineError from the reference machine's checks;
    RuntimeError for a kernel that is launched for the first time inside the capture of a CUDA graph.
    """
    if kernel.kind != "global":
        raise TypeError(f"`{kernel.__name__}` is a device function: only kernels, marked `global`, are launched")
    parameters = parsed_of(kernel).parameters
    partial = bool(named) or len(arguments) != len(parameters)
    if partial:
        arguments = place_arguments(kernel, parameters, arguments, named)
    if not isinstance(template, Mapping | None):
        raise TypeError(f"`template` must be a dict of template arguments, not {type(template).__qualname__}")
    bound_template = deduce_template(kernel, arguments, template or {})
    require_hashable(bound_template)
    if any([isinstance(argument, LazyArray) for argument in arguments]):
        known, arguments = known_of_lazies(kernel, arguments, bound_template)
    else:
        known = known_of(kernel, bound_template)
    program, host = known.program, known.host
    arguments = fill_defaults(program, arguments) if partial else arguments
    (blocks, threads), axes = launch_shape(program, shape)
    bound = bind(kernel.__name__, host.parameters, arguments, axes)
    check_shape(host, blocks, threads)
    require_apart(host.parameters, bound.arrays, program.entry.may_alias)
    known.require(blocks, threads, bound.values)
    if bound.device is not None:
        if check:
            raise ValueError("check=True needs arrays on the host: the reference machine does the checks")
        _run_on_gpu(kernel.__name__, known, bound, blocks, threads, stream)
        return
    if stream is not None:
        raise ValueError("`stream` is for arrays on a GPU, and these are on the host")
    from prism.interpret import run

    check_numbers(given_parameters(host.parameters), arguments)
    if known.room is not None:
        known.room.bytes(blocks, threads, bound.values)
    run(program, blocks, threads, arguments, check=check, schedule=schedule, seed=seed, axes=axes)


def _run_on_gpu(name: str, known: Known, bound: BoundArguments, blocks: int, threads: int, stream: Any) -> None:
    """Launch a kernel on the GPU of its arrays, on a stream, or on the current one of their library."""
    assert bound.device is not None
    from prism.runtime.capture import require_outside
    from prism.runtime.device import device
    from prism.runtime.launch import prepare
    from prism.runtime.streams import choose_stream, order

    handle = choose_stream(stream, bound.arrays.values())
    order(bound.arrays.values(), handle)
    if bound.device not in known.ready:
        require_outside(handle, f"`{name}`")
    gpu = device(bound.device)
    prepare(known.entry(gpu.arch, gpu.shared_limit), bound.device)(blocks, threads, handle, bound.values)
    known.ready.add(bound.device)


def require_hashable(template: Mapping[str, object]) -> None:
    """Refuse a template argument that is none: raises TypeError."""
    for name, value in template.items():
        if getattr(value, "__hash__", None) is None:
            raise TypeError(
                f"`{name}`: a template argument is a number, a dtype, a device function or a frozen record,"
                f" not {type(value).__qualname__}"
            )


def place_arguments(
    kernel: Kernel, parameters: Sequence[Parameter], arguments: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return a launch's arguments in the parameters' order, LEFT_OUT for those with a default that are not given.

    Raises TypeError for a name that is no parameter's, or an argument that is given twice; LaunchError for too many or too few.
    """
    names = [p.name for p in parameters]
    for name in named:
        if name not in names:
            raise TypeError(unknown_option(kernel, name))
        if name in names[: len(arguments)]:
            raise TypeError(f"`{kernel.__name__}`: `{name}` is given by its place, and by its name")
    given = {**dict(zip(names, arguments, strict=False)), **named}
    required = [p.name for p in parameters if p.default is None]
    if len(arguments) > len(names) or not given.keys() >= {*required}:
        require_count(kernel.__name__, names, len(arguments) + len(named), least=len(required))
        missing = ", ".join(f"`{name}`" for name in required if name not in given)
        raise LaunchError(f"`{kernel.__name__}` is launched without {missing}")
    return tuple(given.get(name, LEFT_OUT) for name in names)


def fill_defaults(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return a launch's arguments with the kernel's defaults for those that are left out."""
    pairs = zip(program.entry.given, arguments, strict=True)
    return tuple(parameter.default if argument is LEFT_OUT else argument for parameter, argument in pairs)


def unknown_option(kernel: Kernel, name: str) -> str:
    """Return what is wrong with a keyword argument of a launch that is no option."""
    if name in kernel.template:
        return f"`{name}` is a template argument of `{kernel.__name__}`: pass `template={{{name!r}: ...}}`"
    names = [p.name for p in parsed_of(kernel).parameters]
    call = f"{kernel.__name__}[blocks, threads]({', '.join(names)})"
    return f"a launch has no argument or option `{name}`: {call} takes template, stream, check, schedule and seed"


def instance(kernel: Kernel, template: tuple[tuple[str, object], ...]) -> Program:
    """Return the program of one instance of a kernel; built once."""
    return known_of(kernel, dict(template)).program


def known_of(kernel: Kernel, template: Mapping[str, object]) -> Known:
    """Return the program of a kernel with template arguments, as its names stand now. It is kept with the kernel."""
    launched: dict[Any, tuple[Known, ...]] | None = kernel.__dict__.get("_launched")
    if launched is None:
        launched = kernel.__dict__.setdefault("_launched", {})
    key = exact_items(template.items()) if template else ()
    variants = launched.get(key, ())
    for known in variants:
        if known.bindings.hold():
            return known
    known = Known(kernel, template)
    if len(launched) >= MOST_INSTANCES and key not in launched:
        launched.pop(next(iter(launched), None), None)
    launched[key] = (known, *variants[: MOST_VARIANTS - 1])
    return known


def known_of_lazies(
    kernel: Kernel, arguments: Sequence[Any], template: Mapping[str, object]
) -> tuple[Known, tuple[Any, ...]]:
    """Return the program of a kernel that reads what lazy arrays among its arguments are of, and its arguments.

    Raises TypeError for a lazy array where the kernel writes, or takes memory.
    """
    try:
        found, arguments = expand_launch(kernel, arguments)
        return known_of(found, template), arguments
    except NotReadable as why:
        raise TypeError(f"`{kernel.__name__}`: {why}: pass prism.lib.evaluate of the lazy array") from None


def device_entry(program: Program, arch: str, shared_limit: int) -> Any:
    """Return the entry of a program for a device, which must have all that it uses."""
    check_architecture(program, arch, shared_limit)
    return entry_of(program, arch)


def host_entry(program: Program) -> Any:
    """Return an entry to check arguments and shapes against; the architecture does not matter."""
    return entry_of(program, "sm_90a")


def launch_shape(program: Program, shape: Any) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Return blocks and threads, and for a kernel that asks for them the numbers along each axis.

    As given, a number or one along each of up to three axes; or the fewest that the bound admits where one is not given, or None.
    """
    given = shape if isinstance(shape, tuple) else (shape,)
    if len(given) not in (1, 2):
        raise LaunchError(f"launch as kernel[blocks, threads] or kernel[blocks], not with {len(given)} numbers")
    bound, threads = program.entry.bound, given[1] if len(given) == 2 else None
    fewest = (bound.block or 1, threads_of(program) or bound.thread or 1)
    blocks = fewest[0] if given[0] is None else given[0]
    threads = fewest[1] if threads is None else threads
    # of NumPy's small integers products would wrap
    blocks, threads = (int(n) if isinstance(n, np.integer) else n for n in (blocks, threads))
    axes = program.entry.axes
    if not axes and not isinstance(blocks, tuple) and not isinstance(threads, tuple):
        return (blocks, threads), ()
    along = [*along_axes(program, blocks, "blocks"), *along_axes(program, threads, "threads")]
    most = len(along) // 2
    if axes and any(b * t >= 1 << 31 for b, t in zip(along[:most], along[most:], strict=True)):
        raise LaunchError(
            f"`{program.entry.name}` counts threads along an axis in 32 bits: {blocks} x {threads} are too many"
        )
    return (math.prod(along[:most]), math.prod(along[most:])), tuple(along[:axes] + along[most : most + axes])


MOST_AXES = 3


def along_axes(program: Program, number: Any, what: str) -> list[int]:
    """Return how many blocks or threads there are along each axis.

    Raises:
        TypeError: one is no integer.
        LaunchError: there are more than three, one is below 1, or the kernel numbers fewer axes.
    """
    given = number if isinstance(number, tuple) else (number,)
    name, axes = program.entry.name, program.entry.axes
    if not 1 <= len(given) <= MOST_AXES:
        raise LaunchError(f"`{name}`: {what} are given along 1 to {MOST_AXES} axes, not {len(given)}")
    for n in given:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"`{name}`: the number of {what} must be an integer, not {type(n).__qualname__}")
    found = [*map(operator.index, given), *[1] * (MOST_AXES - len(given))]
    if axes and any(n != 1 for n in found[axes:]):
        last = f"id({axes - 1})"
        raise LaunchError(f"`{name}` asks for indices up to `{last}`: its {what} have {axes} axes, not {len(given)}")
    if any(n < 1 for n in found):
        raise LaunchError(f"`{name}`: there is at least one of the {what} along each axis, not {given}")
    return found


def deduce_template(kernel: Kernel, arguments: Sequence[Any], given: Mapping[str, object]) -> dict[str, object]:
    """Return the template arguments: those given, and the dtypes that the arrays imply.

    Raises TypeError for an argument that is neither array nor number, where what it would imply is missing.
    """
    found = dict(given)
    wanted = frozenset(kernel.template) - frozenset(found)
    if not wanted:
        return found
    fault: TypeError | None = None
    for parameter, argument in zip(parsed_of(kernel).parameters, arguments, strict=False):
        try:
            actual = None if argument is LEFT_OUT else type_of(argument, parameter.name)
        except TypeError as error:  # where nothing is missing, `bind` says what the parameter takes
            fault, actual = fault or error, None
        if actual is not None:
            annotation.deduce(parameter.annotation, actual, found, wanted)
    if fault is not None and not wanted - kernel.defaults.keys() <= found.keys():
        raise fault
    return found


def type_of(argument: Any, name: str = "argument") -> Type | None:
    """Return the type that an argument has for deduction: memory of its dtype for an array, a NumPy scalar's own."""
    if isinstance(argument, np.generic):
        return struct_of(argument.dtype) or scalar_called(argument.dtype.name)
    if isinstance(argument, bool | int | float):
        return None
    scalar = scalar_called(describe(argument, name).scalar)
    return None if scalar is None else Pointer(scalar)
