"""`prism check --schedules`: a kernel run on the reference machine under many schedules, each from a seed of its own.

A seed decides the schedule, and the arguments that nobody gave: numbers, and what is in arrays. An array whose size nobody gave
is made as large as the kernel reaches. So the same seed, with the same options, is the same run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret import BoundsError, MachineError, run
from prism.interpret.schedules import schedules
from prism.interpret.shapes import InputError, Shape, parse_along, spell
from prism.lang.barriers import flow
from prism.lang.facts.touches import ATOMIC, NEAR, REDUCTION
from prism.lang.facts.waits import waits
from prism.lang.keep.bases import Value
from prism.lang.tree import Call, Element, Symbol, Var
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements
from prism.lang.types import SCALARS, Mailbox, Pointer, Scalar, Type, Vector
from prism.lang.types.shorts import bits_of
from prism.lang.types.structs import Struct

MOST = 1 << 22
"""Elements that an array is given at most to see how far a kernel reaches."""
SEEDS = 1_000_000
_TABLE, _LINE = 4093, 256
_ARRAY = re.compile(r"(?P<dtype>\w*)\[(?P<shape>\d+(?:[x,]\d+){0,2})\](?::(?P<fill>.+))?")
_COMMA = re.compile(r",(?![^\[\]]*\])")
"""What parts arguments: a comma that is not inside an array's shape."""
_OUTSIDE = re.compile(r"index (?P<index>-?\d+) is outside `(?P<name>\w+)`, which has (?P<extent>\d+) elements")


class Given(Value):
    """What the command says of one argument: `dtype`, `shape` and `fill`, each None where it leaves it open."""

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    fill: int | float | bool | str | None = None

    @property
    def size(self) -> int | None:
        """How many elements it has."""
        return None if self.shape is None else math.prod(self.shape)


class Finding(Value):
    """A fault, the first seed that shows it, that seed's schedule and arguments, and how many seeds show it."""

    error: MachineError
    seed: int
    schedule: str
    arguments: str
    times: int = 1


@dataclass(slots=True)
class Report:
    """What a number of runs found; `arguments` are those of the last run."""

    shape: Shape
    seeds: range
    schedules: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    arguments: str = ""


# -- what the command says ------------------------------------------------------------------------------------------------


def parse_arguments(texts: Sequence[str]) -> dict[str, Given]:
    """Return the arguments of `name=value,...` texts: a number, `[1024]`, `int32[1024]` or `[8x8]`, and these with `:FILL`."""
    found: dict[str, Given] = {}
    for text in (part for whole in texts for part in _COMMA.split(whole) if part.strip()):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError(f"an argument is written NAME=VALUE, as n=1000 or x=int32[1024], not {text.strip()!r}")
        match = _ARRAY.fullmatch(value)
        if match is None:
            found[name] = Given(fill=_fill(value))
            continue
        dtype = match["dtype"] or None
        if dtype is not None and dtype not in SCALARS:
            raise InputError(f"`{name}`: no dtype {dtype!r}; there are {', '.join(SCALARS)}")
        found[name] = Given(dtype, parse_along(match["shape"]), None if match["fill"] is None else _fill(match["fill"]))
    return found


def _fill(value: str) -> int | float | bool | str:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for convert in (lambda text: int(text, 0), float):
        try:
            return convert(value)
        except ValueError:
            continue
    if value in ("random", "range"):
        return value
    if "[" in value:
        raise InputError(
            f"{value!r} is no array: it is written [1024], or [8x8] of two axes, or with a dtype, as int32[1024]"
        )
    raise InputError(f"{value!r} is no number; an array holds a number, `random` or `range`")


# -- runs -----------------------------------------------------------------------------------------------------------------


def explore(
    program: Program,
    shape: Shape,
    told: Mapping[str, Given],
    number: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Run a program under `number` schedules, from `seed` on, and return what was found.

    `progress` is told how many of them are done.

    Raises InputError where an argument is told wrongly, or nothing told and nothing can be made.
    """
    if number < 1 or seed < 0 or seed + number > SEEDS:
        raise InputError(f"at least one schedule, of seeds from 0 to {SEEDS - 1}, not {number} from {seed} on")
    _check_told(program, told)
    chosen = schedules(seed + number, any(any(waits(one)) for one in program.functions))[seed:]
    report = Report(shape, range(seed, seed + number), tuple(dict.fromkeys(name for name, _ in chosen)))
    sizes: dict[str, int] = {}
    known: dict[tuple[object, ...], int] = {}
    for done, (now, schedule) in enumerate(zip(report.seeds, chosen, strict=True)):
        progress(done, number)
        error, arguments = _run_seed(program, shape, told, now, schedule, sizes)
        report.arguments = _spell_arguments(program, arguments, told)
        if error is None:
            continue
        key = (type(error), error.access, error.other)
        if key not in known:
            known[key] = len(report.findings)
            report.findings.append(Finding(error, now, schedule[0], report.arguments))
        else:
            old = report.findings[known[key]]
            report.findings[known[key]] = Finding(old.error, old.seed, old.schedule, old.arguments, old.times + 1)
    progress(number, number)
    return report


def _run_seed(
    program: Program,
    shape: Shape,
    told: Mapping[str, Given],
    seed: int,
    schedule: tuple[str, int],
    sizes: dict[str, int],
) -> tuple[MachineError | None, list[Any]]:
    """Run one seed; arrays of no given size grow, and the run begins anew, while the kernel reaches beyond them."""
    while True:
        arguments = arguments_of(program, shape, told, seed, sizes)
        kept = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            name, number = schedule
            run(
                program, shape.blocks, shape.threads, arguments, check=True, schedule=name, seed=number, axes=shape.axes
            )  # fmt: skip
        except BoundsError as error:
            if not _grow(error, told, sizes):
                return error, kept
        except MachineError as error:
            return error, kept
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
        else:
            return None, kept


def _grow(error: BoundsError, told: Mapping[str, Given], sizes: dict[str, int]) -> bool:
    """Make the array larger that an access was outside of; whether that can be the cure."""
    match = _OUTSIDE.fullmatch(error.what)
    if match is None or sizes.get(match["name"]) != int(match["extent"]) or _told_size(told, match["name"]) is not None:
        return False
    index = int(match["index"])
    if not 0 <= index < MOST:
        return False
    sizes[match["name"]] = min(MOST, 1 << max(index + 1, 2 * int(match["extent"]) - 1).bit_length())
    return True


def _told_size(told: Mapping[str, Given], name: str) -> int | None:
    return told[name].size if name in told else None


# -- arguments ------------------------------------------------------------------------------------------------------------


def _check_told(program: Program, told: Mapping[str, Given]) -> None:
    names = {parameter.name: parameter.type for parameter in program.entry.given}
    for name, said in told.items():
        type_ = names.get(name)
        if type_ is None:
            raise InputError(f"`{program.entry.name}` has no parameter {name!r}; it has: {', '.join(names) or 'none'}")
        if isinstance(type_, Scalar) and (said.size is not None or isinstance(said.fill, str)):
            raise InputError(f"`{name}` is a number ({type_}), not an array: {name}=1000")
        if isinstance(type_, Pointer) and said.shape is not None and len(said.shape) not in (1, type_.axes):
            axes = max(1, type_.axes)
            example = spell((8,) * axes)
            raise InputError(f"`{name}` has {_many_axes(axes)}, not {len(said.shape)}: {name}=[{example}]")
        if isinstance(type_, Pointer) and said.dtype is not None and said.dtype != _dtype(type_):
            raise InputError(f"`{name}` is memory of {_dtype(type_)}, not of {said.dtype}")
        if isinstance(type_, Pointer) and isinstance(type_.element, Mailbox) and said.fill is not None:
            raise InputError(f"`{name}` is mailboxes, which are empty before a launch: {name}=[1000] says how many")


def arguments_of(
    program: Program, shape: Shape, told: Mapping[str, Given], seed: int, sizes: dict[str, int]
) -> list[Any]:
    """Return a launch's arguments; sizes that are neither told nor known yet are guessed, and noted in `sizes`."""
    # What is accessed atomically: counters, flags and mailboxes, which are zero before a launch.
    quiet = frozenset(p for p in program.entry.given if _atomic(program, p))
    found: list[Any] = []
    for place, parameter in enumerate(program.entry.given):
        random = np.random.default_rng((seed, place))
        said = told.get(parameter.name, Given())
        match parameter.type:
            case Pointer() as pointer:
                size = said.size
                if size is None:
                    size = sizes.setdefault(parameter.name, _guess(shape, pointer.axes))
                fill = said.fill if said.fill is not None else 0 if parameter in quiet else "random"
                array = _array(pointer, size, fill, random)
                found.append(array.reshape(_extents(said.shape, size, pointer.axes)) if pointer.axes else array)
            case Scalar() as scalar:
                found.append(_number(scalar, said.fill, shape, random))
            case other:
                raise InputError(
                    f"`{parameter.name}` is a {other}, which no command line can give: launch the kernel from Python, "
                    f"with check=True and schedule=..."
                )
    return found


def _guess(shape: Shape, axes: int) -> int:
    """Return how many elements an array of no given size begins with: one for each thread.

    An array of axes of a kernel that asks about axes is one shorter along each: so guards against what is beyond are run.
    """
    threads = shape.blocks * shape.threads
    if not axes or len(shape.axes) < 4:
        return threads
    side = max(1, round(threads ** (1 / axes)))
    found: int = (side - 1 if side > 2 else side) ** axes
    return found


def _extents(told: tuple[int, ...] | None, size: int, axes: int) -> tuple[int, ...]:
    return told if told is not None and len(told) == axes else _shape(size, axes)


def _shape(size: int, axes: int) -> tuple[int, ...]:
    """Return the shape of an array of about as many elements, whose axes are about as long as one another."""
    side = max(1, round(size ** (1 / axes)))
    while size % side ** (axes - 1):
        side -= 1
    return (*(side,) * (axes - 1), size // side ** (axes - 1))


def _number(scalar: Scalar, told: int | float | bool | str | None, shape: Shape, random: np.random.Generator) -> Any:
    if isinstance(scalar, Struct):
        return _values(scalar, 1, "random" if told is None else told, random)[0]
    if told is not None:
        return told
    if scalar.kind == "bool":
        return bool(random.integers(2))
    if scalar.kind == "float":
        return float(np.float32(random.uniform(-1, 1)))
    most = 2 ** (scalar.bits - (scalar.kind == "int")) - 1
    return int(random.integers(1, min(most, 4 * shape.blocks * shape.threads) + 1))


def _array(pointer: Pointer, size: int, fill: Any, random: np.random.Generator) -> Any:
    """Return memory of `size` elements, aligned as an allocator on a device would. Mailboxes are empty."""
    element = pointer.element
    if isinstance(element, Mailbox):
        return _align(np.zeros(size * element.bytes, np.uint8))
    scalar, length = (element.element, element.length) if isinstance(element, Vector) else (element, 1)
    return _align(_values(scalar, size * length, fill, random))


def _values(scalar: Scalar, number: int, fill: Any, random: np.random.Generator) -> Any:
    if isinstance(scalar, Struct):
        records = np.zeros(number, scalar.numpy)
        for name, field in scalar.fields:
            records[name] = _values(field, number, fill, random)
        return records
    if scalar.coded:
        return bits_of(_values(SCALARS["float32"], number, fill, random), scalar)
    dtype = np.dtype(scalar.numpy)
    if fill == "range":
        return np.arange(number).astype(dtype)
    if fill != "random":
        return np.full(number, fill, dtype)
    # A table that is repeated: what an element holds does not depend on the array's size.
    most = 2 if scalar.kind == "bool" else 100
    table = random.uniform(-1, 1, _TABLE) if scalar.kind == "float" else random.integers(0, most, _TABLE)
    return np.resize(table.astype(dtype), number)


def _align(values: Any) -> Any:
    room = np.zeros(values.nbytes + _LINE, np.uint8)
    start = -room.__array_interface__["data"][0] % _LINE
    found = room[start : start + values.nbytes].view(values.dtype)
    found[:] = values
    return found


def _atomic(program: Program, parameter: Symbol) -> bool:
    function = next(f for f in program.functions if parameter in f.parameters)
    for statement in statements(function.body):
        for use in flow.uses(statement):
            expression = use.expression
            if isinstance(expression, Call):
                pairs = zip(expression.function.parameters, expression.arguments, strict=False)
                inner = (one for one, passed in pairs if isinstance(passed, Var | Element) and _is(passed, parameter))
                if any(_atomic(program, one) for one in inner):
                    return True
            elif (
                isinstance(expression, Element) and use.kind in (ATOMIC, NEAR, REDUCTION) and _is(expression, parameter)
            ):
                return True
    return False


def _is(named: Var | Element, parameter: Symbol) -> bool:
    return flow.resolve(named.symbol, ())[0] is parameter


def _spell_arguments(program: Program, arguments: list[Any], told: Mapping[str, Given]) -> str:
    """Return the arguments of a run as the command takes them, as far as they are numbers or arrays of known size."""
    parts = []
    for parameter, argument in zip(program.entry.given, arguments, strict=True):
        if isinstance(parameter.type, Pointer):
            said = told.get(parameter.name, Given())
            fill = f":{said.fill}" if said.fill is not None else ""
            size = spell(argument.shape) if parameter.type.axes else _elements(parameter.type, argument)
            parts.append(f"{parameter.name}={_dtype(parameter.type)}[{size}]{fill}")
        else:
            parts.append(f"{parameter.name}={argument}")
    return ",".join(parts)


def _elements(pointer: Pointer, argument: Any) -> int:
    return int(argument.nbytes // pointer.element.bytes)


def _dtype(type_: Type) -> str:
    element = type_.element if isinstance(type_, Pointer) else type_
    return element.element.name if isinstance(element, Vector | Mailbox) else str(element)


def sample(dtype: str) -> Any:
    """Return an empty array of a dtype, to deduce template arguments from."""
    return np.empty(0, SCALARS[dtype].numpy)


# -- what is said of it ---------------------------------------------------------------------------------------------------


def describe_report(program: Program, report: Report, kernel: str) -> str:
    """Return a report as text; `kernel` is what the command calls it."""
    seeds, shape = report.seeds, report.shape
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    head = f"{program.entry.name}: {_many(len(seeds), 'schedule')} ({span}) of {shape}"
    line = "  not looked at: `id({})` above 0, which --blocks and --threads can have, as 2x2\n"
    unseen = "".join(line.format(axis) for axis in shape.flat)
    if not report.findings:
        kinds = ", ".join(report.schedules)
        return f"{head}: nothing found\n{unseen}  schedules: {kinds}\n  the last one's arguments: {report.arguments}\n"
    faults = _many(len(report.findings), "fault")
    parts = [f"{head}: {faults} found\n{unseen}"]
    for finding in report.findings:
        parts.append(_finding(finding, report, kernel))
    return "\n".join(parts)


def _finding(finding: Finding, report: Report, kernel: str) -> str:
    error = finding.error
    who = f"perspective {error.perspective}" if error.perspective is not None else ""
    where = f"thread {error.thread} of block {error.block}" if error.thread is not None else ""
    parts = [f"seed {finding.seed}", f"schedule {finding.schedule}", error.code, who, where]
    times = f"; {finding.times} of {len(report.seeds)} seeds show it" if len(report.seeds) > 1 else ""
    blocks, threads = report.shape.along
    again = (
        f"prism check {kernel} --schedules 1 --seed {finding.seed} --blocks {spell(blocks)} "
        f"--threads {spell(threads)} --arguments '{finding.arguments}'"
    )
    return f"{', '.join(part for part in parts if part)}{times}\n{error.render()}\nagain: {again}\n"


def _many_axes(number: int) -> str:
    return "1 axis" if number == 1 else f"{number} axes"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
