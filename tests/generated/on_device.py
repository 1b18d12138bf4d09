"""Generated programs on the GPU: each is launched, and its results are compared with those of the reference machine.

    python -m tests.generated.fuzz --device --programs 100000 --first 2000000 --seconds 500

All give the same bits: they are compiled without contraction of `a * b + c`, as the reference machine computes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.runtime.compile import AssemblerError, SlowCodeError, compile_cubin
from prism.runtime.entry import Entry
from tests.generated.programs import Generated
from tests.generated.verify import ARCH, ENTRY, joined


class LostError(Exception):
    """The GPU stopped in a program: this process can launch nothing more."""

    def __init__(self, seed: int, reason: str) -> None:
        super().__init__(reason)
        self.seed = seed


SLOW, INTERNAL = "slow", "ptxas has an internal error"
"""What is no fault of ours: a wgmma beside a call, and a bug of ptxas (seed 4030969 of generator 4). Such are not run."""
PATIENCE = 8
"""Seconds after which a program is taken to hang."""
LARGE = 48 * 1024
"""Bytes of shared memory from which on a function must be told."""


@dataclass(frozen=True)
class Made:
    """A program that the reference machine has run, with what its results were."""

    seed: int
    generated: Generated
    entry: Entry
    expected: bytes


def silent() -> None:
    """What kernels print goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def launch(made: Sequence[Made], found: dict[int, str]) -> None:
    """Run programs on the GPU, compiled together; put what differs into `found`, by seed.

    Raises LostError where a launch failed.
    """
    import cupy

    made = [one for one in made if not one.entry.cooperative]  # these take a word of the runtime's
    if not made:
        return
    try:
        cubin = compile_cubin(joined([one.entry.source for one in made]), ARCH, fma=False).cubin
    except (SlowCodeError, AssemblerError) as error:
        if len(made) == 1:
            found[made[0].seed] = SLOW if isinstance(error, SlowCodeError) else INTERNAL
            return
        launch(made[: len(made) // 2], found)
        launch(made[len(made) // 2 :], found)
        return
    module = cupy.cuda.function.Module()
    module.load(cubin)
    for k, one in enumerate(made):
        name = ENTRY.findall(one.entry.source)[-1] + f"_{k}"
        try:
            got = run(module.get_function(name), one)
        except Exception as error:  # of the driver: an illegal address, instruction, ..
            raise LostError(one.seed, f"the GPU stopped: {error}") from error
        if got != one.expected:
            found[one.seed] = "the GPU's results are not the reference machine's"


def run(function: Any, one: Made) -> bytes:
    """Launch one program, and return the bytes of its results. Raises what the driver does, or TimeoutError."""
    import cupy
    from cuda.bindings import driver

    if one.entry.shared_bytes > LARGE:
        kind = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuFuncSetAttribute(driver.CUfunction(function.ptr), kind, one.entry.shared_bytes)
        assert error == driver.CUresult.CUDA_SUCCESS
    host = one.generated.inputs(one.seed % 4)
    there = [cupy.asarray(value) if isinstance(value, np.ndarray) else value for value in host]
    stream = cupy.cuda.get_current_stream()
    function((one.generated.blocks,), (one.generated.threads,), tuple(there), shared_mem=one.entry.shared_bytes)
    end = time.monotonic() + PATIENCE
    while not stream.done:
        if time.monotonic() > end:
            raise TimeoutError(f"it runs for more than {PATIENCE} seconds")
    return bytes(cupy.asnumpy(there[0]).tobytes() + cupy.asnumpy(there[2]).tobytes())
