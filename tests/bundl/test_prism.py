"""Prism's checker against the calculus: generated kernels of Prism's core, well typed and not, and what they leave in memory.

A kernel that promises 4 threads is to type in Prism iff its elaboration types in Bundl at blocks of 4 and of 8.

Known, and meant: Prism does not let more than one thread read memory outside of the block through a pointer that may be
written, though the calculus does (its barriers at partition make that uniform; Prism infers none across blocks). The generator
writes no such read but by a slip, and `meant` lets those pass.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from prism.bundl.perspectives import Shape
from prism.bundl.soundness import failures, sample
from prism.bundl.typing import corrected, why_not
from prism.interpret import run
from prism.lang import check as checking
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import build
from tests.bundl.elaborate import NoWord, elaborate
from tests.bundl.kernels import BOUND, CELLS, kernel

BLOCKS, NUMBER = 2, 2
START = tuple(range(BLOCKS * CELLS))


def load(text: str, folder: Path, name: str) -> Any:
    """Import a module and return its kernel."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel


def calculus_says(made: Any) -> str | None:
    """Return why the elaboration has no type, or None."""
    try:
        for threads in (BOUND, 2 * BOUND):
            shape = Shape(BLOCKS, threads)
            why = why_not(corrected, elaborate(made, shape, START, (NUMBER,)), shape)
            if why is not None:
                return f"{why[0]}: {why[1]}"
    except NoWord as error:
        return f"no word: {error}"
    return None


def prism_says(made: Any) -> str | None:
    """Return why the checker rejects a kernel, or None."""
    try:
        checking.check(made, {})
    except CompileError as error:
        return str(error)
    return None


def meant(prism: str | None, bundl: str | None) -> bool:
    """Whether Prism is stricter on purpose."""
    return prism is not None and bundl is None and "may be written" in prism


def examine(seed: int, slips: float, folder: Path) -> tuple[bool, bool]:
    """Return what Prism and what the calculus says of a seed's kernel, which must agree."""
    rng = Random(seed)
    text = kernel(rng, rng.randint(2, 14), slips)
    made = load(text, folder, f"bundl_kernel_{seed}")
    prism, bundl = prism_says(made), calculus_says(made)
    agree = (prism is None) == (bundl is None)
    assert agree or meant(prism, bundl), f"seed {seed}\n{text}\nPrism: {prism}\nBundl: {bundl}"
    return prism is None, bundl is None


@pytest.mark.parametrize("chunk", range(4))
def test_well_typed_kernels(chunk: int, tmp_path: Path) -> None:
    for seed in range(chunk, 200, 4):
        assert examine(seed, 0.0, tmp_path) == (True, True)


@pytest.mark.parametrize("chunk", range(4))
def test_kernels_with_slips(chunk: int, tmp_path: Path) -> None:
    said = Counter(examine(seed, 0.12, tmp_path) for seed in range(1000 + chunk, 1300, 4))
    assert said[False, False] > 10 and said[True, True] > 10


@pytest.mark.parametrize("chunk", range(4))
def test_what_kernels_leave_in_memory(chunk: int, tmp_path: Path) -> None:
    for seed in range(2000 + chunk, 2024, 4):
        compare(seed, tmp_path)


def compare(seed: int, folder: Path) -> None:
    """Run a kernel in the reference machine and in the calculus; without races there is but one outcome."""
    rng = Random(seed)
    text = kernel(rng, rng.randint(4, 24), 0.0)
    made = load(text, folder, f"bundl_run_{seed}")
    memory = np.array(START, np.int32)
    run(build(made, {}), BLOCKS, BOUND, [memory, NUMBER], check=True)
    report = sample(elaborate(made, Shape(BLOCKS, BOUND), START, (NUMBER,)), Shape(BLOCKS, BOUND), rng, limit=50_000)
    assert not report.race and not failures(report), f"seed {seed}\n{text}"
    assert report.outcomes == {(tuple(memory.tolist()),)}, f"seed {seed}\n{text}"


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(2))
def test_many_kernels(chunk: int, tmp_path: Path) -> None:
    for seed in range(10_000 + chunk, 60_000, 2):
        examine(seed, (seed % 4) * 0.08, tmp_path)
        if seed % 20 == chunk:
            compare(seed, tmp_path)
