"""What becomes of a program at an edge: it is refused, or right under every schedule, or there is a fault in what accepted it.

An oracle that comes with the program says whether it is legal, and what its results are. On the GPU a program is launched as a
user launches it, cooperative ones and clusters too.
"""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import prism
import prism.compiler  # before processes are forked, and not in each
from prism.interpret import SCHEDULES, MachineError, run
from prism.interpret.tensors import memory_of
from prism.lang.certify import REJECTED
from prism.lang.diagnostics import CompileError
from prism.lang.safety import PROVED, verdicts
from prism.lang.skeleton import certificate_of
from prism.lang.tree.plan import Program
from prism.launcher import launch_shape
from prism.runtime.compile import SlowCodeError
from tests.generated.programs import HEAD, loaded

HERE = Path(__file__).parent
FAILED = "FAILURE"
PATIENCE = 10
"""Seconds after which a launch is taken to hang."""
SLOW = "slow"
"""The code of what the runtime refuses, as an Outcome has it: a SlowCodeError has none."""
FEW = 3
"""Schedules under which a program is run."""


Place = int | tuple[int, slice]
"""An argument, or some of its rows: what it has besides may be no memory."""


@dataclass(frozen=True)
class Edge:
    """A program: the text of a kernel called `kernel` (`head` stands before it), a launch, and what an oracle knows of it.

    `inputs` makes fresh arguments. `results`: which of them hold results. `expected`: these results (None: not known, and any are
    right that all schedules have in common). `legal`: False where it must not be accepted, True where it must, None where the
    oracle does not know; `why` says it. `close`: results are floats, and equal but for rounding. `reported`: where the safety
    report leaves something open, a fault that the machine finds is none of the compiler's. `schedules`: None for a few of them.
    """

    text: str
    blocks: int | tuple[int, ...]
    threads: int | tuple[int, ...]
    inputs: Callable[[], list[Any]]
    results: tuple[Place, ...] = (0,)
    expected: Sequence[Any] | None = None
    legal: bool | None = None
    why: str = ""
    close: bool = False
    reported: bool = False
    schedules: tuple[str, ...] | None = None
    head: str = HEAD


@dataclass(frozen=True)
class Outcome:
    """`kind`: right, refused, too strict, reported or FAILURE; `found`: what was; `lost`: the process can launch nothing more."""

    kind: str
    found: str = ""
    code: str = ""
    lost: bool = False

    @property
    def named(self) -> str:
        """The kind, with the code of the error."""
        return f"{self.kind}: {self.code}" if self.code else self.kind


class _FaultError(Exception):
    """A failure; the message says which."""


def module_of(kind: str) -> ModuleType:
    """Return the module that generates a kind."""
    return importlib.import_module(f"tests.generated.edge_{kind}")


def verify(kind: str, seed: int, *, device: bool = False) -> Outcome:
    """Return what becomes of the program of a seed; nothing that it does is raised."""
    module = module_of(kind)
    try:
        if hasattr(module, "verify") and not device:
            found: Outcome = module.verify(seed)
            return found
        return judged(module.program(seed), seed, device=device)
    except Exception:
        return Outcome(FAILED, f"it ends in another error than Prism's own\n{traceback.format_exc()}")


def judged(edge: Edge, seed: int, *, device: bool = False) -> Outcome:
    """Return what becomes of a program: the usual way to find out."""
    with loaded(edge.head + edge.text) as names:
        kernel = names["kernel"]
        try:
            program = prism.check(kernel)
        except CompileError as error:
            return Outcome("too strict" if edge.legal else "refused", f"{edge.why}\n{error}", error.code)
        try:
            if (certificate := certificate_of(program)).finding.status == REJECTED:
                raise _FaultError(f"accepted, and its certificate is rejected: {certificate.finding.reason}")
            expected = on_machine(edge, program, seed)
            if edge.legal is False:
                raise _FaultError(f"accepted, and right on the machine, though it is not legal: {edge.why}")
        except MachineError as error:
            if edge.reported and open_ends(program):
                return Outcome("reported", str(error), error.code)
            return Outcome(FAILED, f"accepted, and {error.code}: {edge.why}\n{error}")
        except _FaultError as error:
            return Outcome(FAILED, str(error))
        return on_gpu(edge, kernel, expected) if device else Outcome("right")


def open_ends(program: Program) -> bool:
    """Whether the safety report says that something is not proved."""
    return any(verdict.status != PROVED for verdict in verdicts(program))


def schedules_of(seed: int) -> tuple[str, ...]:
    """Return the schedules of a seed: in their order, any order, and one that is unfair in some way."""
    others = [name for name in SCHEDULES if name not in ("round-robin", "random")]
    return "round-robin", "random", others[seed % len(others)]


def on_machine(edge: Edge, program: Program, seed: int) -> list[Any]:
    """Run a program with all checks under some schedules; return its results. Raises what the machine finds, or _FaultError."""
    first: list[Any] | None = list(edge.expected) if edge.expected is not None else None
    for number, schedule in enumerate(edge.schedules or schedules_of(seed)):
        arguments = edge.inputs()
        (blocks, threads), axes = launch_shape(program, (edge.blocks, edge.threads))
        run(program, blocks, threads, arguments, check=True, schedule=schedule, seed=seed + number, axes=axes)
        got = [found_in(arguments, place) for place in edge.results]
        first = got if first is None else first
        if not alike(edge, first, got):
            raise _FaultError(f"under {schedule} (seed {seed + number}) the results are wrong\n{differing(first, got)}")
    assert first is not None
    return first


def found_in(arguments: Sequence[Any], place: Place) -> Any:
    """Return an argument of a launch, or the rows of it that are named."""
    return arguments[place] if isinstance(place, int) else arguments[place[0]][place[1]]


def on_device(array: Any) -> Any:
    """Return a NumPy array on the GPU; one that leads out of its memory lies in the midst of a copy of that, with room around."""
    import cupy

    begin, end = memory_of(array)
    first = array.__array_interface__["data"][0]
    if begin <= first and first + array.nbytes <= end:
        return cupy.asarray(array)
    owner = array
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    low = min(begin, first)
    room = cupy.zeros(max(end, first + array.nbytes) - low, np.uint8)
    room[begin - low : end - low] = cupy.asarray(np.ascontiguousarray(owner).view(np.uint8).ravel())
    return cupy.ndarray(array.shape, array.dtype, room.data + (first - low), array.strides)


def alike(edge: Edge, left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two runs have the same results."""
    if edge.close:
        return all(np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True) for a, b in zip(left, right, strict=True))
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def differing(expected: Sequence[Any], got: Sequence[Any]) -> str:
    """Say where results differ first."""
    for k, (one, two) in enumerate(zip(expected, got, strict=True)):
        at = np.flatnonzero(np.asarray(one).ravel() != np.asarray(two).ravel())
        if len(at):
            a, b = np.asarray(one).ravel()[at[0]], np.asarray(two).ravel()[at[0]]
            return f"result {k}: {len(at)} elements, the first at {at[0]}: {b}, and should be {a}"
    return "nowhere"


def on_gpu(edge: Edge, kernel: Any, expected: Sequence[Any]) -> Outcome:
    """Launch a program on the GPU, and compare its results with what they should be. A watchdog ends what hangs.

    One whose wgmmas the assembler would let wait one by one is refused before it is launched: no fault of what was accepted.
    """
    import cupy

    host = edge.inputs()
    there = [on_device(value) if isinstance(value, np.ndarray) else value for value in host]
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        cupy.cuda.get_current_stream().synchronize()
        with stream:
            kernel[edge.blocks, edge.threads](*there)
        end = time.monotonic() + PATIENCE
        while not stream.done:
            if time.monotonic() > end:
                return Outcome(FAILED, f"on the GPU it is not done after {PATIENCE} seconds", lost=True)
            time.sleep(0.0005)
        stream.synchronize()
        got = [cupy.asnumpy(found_in(there, place), stream=stream) for place in edge.results]
    except SlowCodeError as error:
        return Outcome("refused", str(error), SLOW)
    except Exception as error:  # of the driver: an illegal address, instruction, ..
        return Outcome(FAILED, f"the GPU stopped: {type(error).__name__}: {error}", lost=True)
    if not alike(edge, expected, got):
        return Outcome(FAILED, f"the GPU's results are not the reference machine's\n{differing(expected, got)}")
    return Outcome("right")
