"""The reference machine: runs a `plan.Program` on the CPU, and with `check=True` reports every fault at its line.

`run` compiles each function once into closures (`compiler`, `statements`, `assign`, `expressions`, `pointers`, `apply`,
`calls`), that run all threads of a block together over NumPy arrays (`values`, `lanes`, `frame`, `memory`). Where something
can wait the closures are generators (`waiting`) under a scheduler (`machine`). Checked, `clocks` tells what is ordered.
"""

from prism.interpret.errors import (
    AssertError,
    BarrierError,
    BoundsError,
    DeadlockError,
    DivergenceError,
    MachineError,
    MisalignedError,
    RaceError,
    UninitialisedError,
)
from prism.interpret.machine import run

__all__ = [
    "AssertError",
    "BarrierError",
    "BoundsError",
    "DeadlockError",
    "DivergenceError",
    "MachineError",
    "MisalignedError",
    "RaceError",
    "UninitialisedError",
    "run",
]
