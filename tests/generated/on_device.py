"""Generated programs on the GPU: each is launched, and its results are compared with those of the reference machine.

    python -m tests.generated.fuzz --device --programs 100000 --first 2000000 --seconds 500

Integer programs give the same bits. What a program computes in floats ends in integers too; the GPU may contract `a * b + c`,
and so may differ in a last bit that a conversion shows: such programs are counted by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.runtime.compile import SlowCodeError, compile_cubin
from prism.runtime.entry import Entry
from tests.generated.programs import Generated
from tests.generated.verify import ARCH, ENTRY, joined

FLOATING = ("float", "small", "wgmma", "fragment")
"""Rules whose programs compute in floats."""
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


def launched(made: Sequence[Made]) -> dict[int, str]:
    """Run programs on the GPU, compiled together; return what differs, by seed: nothing, or `floats` where they may."""
    import cupy

    made = [one for one in made if not one.entry.cooperative]  # these take a word of the runtime's
    if not made:
        return {}
    try:
        cubin = compile_cubin(joined([one.entry.source for one in made]), ARCH).cubin
    except SlowCodeError:  # a wgmma beside a call is only slow, but then there is no machine code here
        if len(made) == 1:
            return {made[0].seed: "slow"}
        half = len(made) // 2
        return {**launched(made[:half]), **launched(made[half:])}
    module = cupy.cuda.function.Module()
    module.load(cubin)
    found: dict[int, str] = {}
    for k, one in enumerate(made):
        name = ENTRY.findall(one.entry.source)[-1] + f"_{k}"
        got = run(module.get_function(name), one)
        if got != one.expected:
            floats = any(rule in one.generated.rules for rule in FLOATING)
            found[one.seed] = "floats" if floats else "the GPU's results are not the reference machine's"
    return found


def run(function: Any, one: Made) -> bytes:
    """Launch one program, and return the bytes of its results."""
    import cupy
    from cuda.bindings import driver

    if one.entry.shared_bytes > LARGE:
        kind = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuFuncSetAttribute(driver.CUfunction(function.ptr), kind, one.entry.shared_bytes)
        assert error == driver.CUresult.CUDA_SUCCESS
    host = one.generated.inputs(one.seed % 4)
    there = [cupy.asarray(value) if isinstance(value, np.ndarray) else value for value in host]
    function((one.generated.blocks,), (one.generated.threads,), tuple(there), shared_mem=one.entry.shared_bytes)
    return bytes(cupy.asnumpy(there[0]).tobytes() + cupy.asnumpy(there[2]).tobytes())
