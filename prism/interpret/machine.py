"""The reference machine: runs a checked and synchronised program on the CPU."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from prism.interpret.calls import narrow
from prism.interpret.clocks import Clocks
from prism.interpret.compiler import compile_function
from prism.interpret.errors import DeadlockError
from prism.interpret.expressions import compile_expression
from prism.interpret.frame import Block, Frame, Machine
from prism.interpret.lanes import Lanes
from prism.interpret.regions import Address, Region, region_of
from prism.interpret.scope import Code, Shop
from prism.interpret.shadow import Shadow
from prism.interpret.values import wrap
from prism.interpret.waiting import steps_of
from prism.lang.diagnostics import Label
from prism.lang.perspective import Level
from prism.lang.plan import Program
from prism.lang.tree import Body, Pointer, Scalar, SharedDeclare, Symbol, Vector, children
from prism.lang.types import Mailbox

SCHEDULES = ("round-robin", "random", "reversed")
_PATIENCE = 10_000  # rounds without progress after which blocks that poll are taken to wait for ever
_KEPT: OrderedDict[tuple[int, bool], tuple[Program, Shop]] = OrderedDict()


def run(
    program: Program,
    blocks: int,
    threads: int,
    arguments: Sequence[Any],
    *,
    check: bool = False,
    schedule: str = "round-robin",
    seed: int = 0,
    resident: int | None = None,
) -> None:
    """Run a program's entry on NumPy arrays and numbers; results are in the arrays.

    `check` reports every race, deadlock, access out of bounds, read of what was never written, misaligned vector access and
    barrier that not all its threads meet, as a `MachineError`. `schedule` says in which order blocks and arms of splits run;
    `resident` how many blocks run at once (all).
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is one of {', '.join(SCHEDULES)}, not {schedule!r}")
    _check_shape(program, blocks, threads)
    code = compile_function(_shop(program, check), program.entry)
    machine = Machine(
        blocks=blocks,
        threads=threads,
        clocks=Clocks(blocks, threads) if check else None,
        schedule=schedule,
        random=np.random.default_rng(seed),
        base=Lanes(np.arange(threads, dtype=np.int32)),
        everyone=np.arange(threads),
    )
    values = _bind(program, arguments, machine)
    granule = _granule(program) if check else 1
    with np.errstate(all="ignore"):
        if code.body.run is not None and resident is None:
            for number in _starts(machine):
                code.body.run(_enter(code, machine, number, values, granule))
        else:
            _schedule(code, machine, values, granule, resident or blocks)


def _shop(program: Program, check: bool) -> Shop:
    key = (id(program), check)
    if key not in _KEPT:
        _KEPT[key] = (program, Shop(program, check, compile_expression, compile_function))
        while len(_KEPT) > 64:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key][1]


def _check_shape(program: Program, blocks: int, threads: int) -> None:
    bound = program.entry.bound
    if blocks < 1 or threads < 1:
        raise ValueError(f"a launch has at least one block and one thread, not {blocks} x {threads}")
    if bound.thread is not None and threads % bound.thread:
        raise ValueError(f"`{program.entry.name}` needs a multiple of {bound.thread} threads a block, not {threads}")
    if bound.block is not None and blocks % bound.block:
        raise ValueError(f"`{program.entry.name}` needs a multiple of {bound.block} blocks, not {blocks}")


# -- arguments ------------------------------------------------------------------------------------------------------------


def _bind(program: Program, arguments: Sequence[Any], machine: Machine) -> list[Any]:
    parameters = program.entry.parameters
    if len(arguments) != len(parameters):
        raise TypeError(f"`{program.entry.name}` takes {len(parameters)} arguments, not {len(arguments)}")
    values: list[Any] = []
    regions: list[tuple[Symbol, Region]] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        match parameter.type:
            case Pointer():
                region = region_of(parameter.name, argument, parameter.type)
                regions.append((parameter, region))
                values.append(Address(region))
            case Scalar():
                values.append(_scalar(parameter.name, argument, parameter.type))
            case other:
                raise TypeError(f"`{parameter.name}`: a kernel takes no {other}")
    if machine.clocks is not None:
        _shadow_regions(machine.clocks, regions)
    return values


def _scalar(name: str, argument: Any, type_: Scalar) -> Any:
    if isinstance(argument, np.ndarray) and argument.ndim:
        raise TypeError(f"`{name}` takes a number, not an array")
    value = argument.item() if isinstance(argument, np.generic | np.ndarray) else argument
    narrowed = wrap(type_)(value if type_.kind == "float" else int(value))
    if type_.integral and narrowed != value:
        raise ValueError(f"`{name}`: {value} is no {type_}")
    return narrowed


def _shadow_regions(clocks: Clocks, regions: list[tuple[Symbol, Region]]) -> None:
    """Give regions whose bytes overlap one shadow; regions that nothing writes have none."""
    clusters: list[list[tuple[Symbol, Region]]] = []
    end = -1
    for symbol, region in sorted(regions, key=lambda pair: pair[1].address):
        if isinstance(symbol.type, Pointer) and isinstance(symbol.type.element, Mailbox):
            continue
        if region.address >= end or not clusters:
            clusters.append([])
        clusters[-1].append((symbol, region))
        end = max(end, region.address + region.data.nbytes)
    for cluster in clusters:
        if all(isinstance(symbol.type, Pointer) and symbol.type.const for symbol, _ in cluster):
            continue
        first = cluster[0][1].address
        last = max(region.address + region.data.nbytes for _, region in cluster)
        granule = math.gcd(*(g for _, r in cluster for g in (r.address - first, r.data.itemsize)))
        shadow = Shadow(clocks, max(1, (last - first) // granule), granule, initialised=True)
        for _, region in cluster:
            region.shadow, region.first = shadow, (region.address - first) // granule
            region.width = region.data.nbytes // max(1, len(region.data)) // granule or 1


def _granule(program: Program) -> int:
    """Return the bytes of the smallest scalar in shared memory."""
    sizes = [16]
    for function in program.functions:
        for statement in _shared(function.body):
            pointer = statement.symbol.type
            if isinstance(pointer, Pointer):
                element = pointer.element
                sizes.append(element.element.bytes if isinstance(element, Vector) else element.bytes)
    return min(sizes)


def _shared(body: Body) -> Iterator[SharedDeclare]:
    for statement in body:
        if isinstance(statement, SharedDeclare):
            yield statement
        for inner in children(statement):
            yield from _shared(inner)


# -- blocks ---------------------------------------------------------------------------------------------------------------


def _starts(machine: Machine) -> Sequence[int]:
    return machine.order(machine.blocks)


def _enter(code: Code, machine: Machine, number: int, arguments: list[Any], granule: int) -> Frame:
    size = -(-max(code.bytes, 1) // 16) * 16
    shadow = None
    if machine.clocks is not None:
        shadow = Shadow(machine.clocks, size // granule, granule, initialised=False)
    block = Block(machine, number, np.zeros(size, np.uint8), shadow)
    values: list[Any] = [None] * code.slots
    for slot, argument in zip(code.parameters, arguments, strict=True):
        values[slot] = argument
    frame = Frame(values, block, True, machine.base, number, 0)
    unit = code.function.bound.code
    if unit.level != Level.GRID:
        narrow(frame, unit)
    return frame


def _schedule(code: Code, machine: Machine, arguments: list[Any], granule: int, resident: int) -> None:
    steps = steps_of(code.body)
    queue = iter(_starts(machine))
    live: list[tuple[Block, Generator[None, None, bool]]] = []
    idle = 0
    while True:
        progress = machine.progress
        fresh = _admit(code, machine, arguments, granule, queue, resident - len(live))
        live.extend((frame.block, steps(frame)) for frame in fresh)
        if not live:
            return
        left = []
        order = range(len(live)) if machine.schedule != "random" else machine.order(len(live))
        for at in order:
            block, strand = live[at]
            try:
                next(strand)
            except StopIteration:
                machine.progress += 1
            else:
                left.append((block, strand))
        live = left
        idle = 0 if machine.progress != progress else idle + 1
        if idle and live:
            _look_for_deadlock([block for block, _ in live], idle)


def _admit(
    code: Code, machine: Machine, arguments: list[Any], granule: int, queue: Iterator[int], room: int
) -> list[Frame]:
    frames = []
    for _ in range(room):
        number = next(queue, None)
        if number is None:
            break
        frames.append(_enter(code, machine, number, arguments, granule))
    return frames


def _look_for_deadlock(blocks: list[Block], idle: int) -> None:
    waits = [(block, wait) for block in blocks for wait in block.waits]
    if idle < _PATIENCE and any(wait.spins for _, wait in waits):
        return
    block, first = waits[0]
    others = tuple(
        Label(wait.span, f"{wait.text} (thread {wait.thread} of block {other.number})")
        for other, wait in waits[1:4]
        if wait.span != first.span
    )
    raise DeadlockError(
        f"deadlock: all {len(blocks)} resident blocks wait, and nothing can wake them",
        first.span,
        here=first.text,
        perspective=None,
        thread=first.thread,
        block=block.number,
        others=others,
        notes=tuple(f"block {b.number} waits at line {w.span.line}" for b, w in waits[1:5]),
    )
