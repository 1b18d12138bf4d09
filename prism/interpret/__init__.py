"""The reference machine: runs a `plan.Program` on the CPU, and with `check=True` reports every fault at its line.

`run` (`launch`) picks the form of the program that runs. Each function is compiled once into closures
(`statements`, `assign`, `expressions`, `pointers`, `apply`, `calls`), that run all threads of a block together over NumPy
arrays (`values`, `lanes`, `frame`, `memory`). Where something can wait the closures are generators (`waiting`, `barriers`)
under a scheduler (`machine`, `schedules`). Asynchronous copies and wgmmas are `flights`, which end when the schedule or
somebody who waits says so (`operations`, `mbarriers`). Checked, `clocks` tells what is ordered, and `shadow` what was accessed.
"""

from prism.interpret.errors import (
    ArrivalError,
    AssertError,
    AssumeError,
    BarrierError,
    BoundsError,
    BytesError,
    DeadlockError,
    DivergenceError,
    FlightError,
    MachineError,
    MisalignedError,
    PhaseError,
    ProxyError,
    RaceError,
    UndefinedError,
    UninitialisedError,
)
from prism.interpret.launch import run
from prism.interpret.schedules import SCHEDULES, schedules

__all__ = [
    "SCHEDULES", "ArrivalError", "AssertError", "AssumeError", "BarrierError", "BoundsError", "BytesError", "DeadlockError",
    "DivergenceError", "FlightError", "MachineError", "MisalignedError", "PhaseError", "ProxyError", "RaceError",
    "UndefinedError", "UninitialisedError", "run", "schedules",
]  # fmt: skip
