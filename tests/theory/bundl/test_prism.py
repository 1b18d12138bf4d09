"""Prism's checker against the calculus: generated kernels of Prism's core, well typed and not, and what they leave in memory.

A kernel that promises 4 threads is to type in Prism iff its elaboration types in Bundl at blocks of 4 and of 8.

Known, and meant; the generator writes neither but by a slip, and `meant` lets those pass:
- Prism does not let more than one thread read memory outside of the block through a pointer that may be written, though the
  calculus does: its barriers at partition make that uniform; Prism infers none across blocks.
- Bundl lets no array be passed twice. Prism's checker does; a later stage refuses it where one of the two is written, and
  where neither is, it does no harm.
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

from prism.interpret import run
from prism.lang import check as checking
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import build
from tests.theory.bundl import fuzz
from tests.theory.bundl.elaborate import NoWord, elaborate
from tests.theory.bundl.kernels import BOUND, CELLS, kernel
from theory.bundl.perspectives import Shape
from theory.bundl.soundness import Judge, failures, sample
from theory.bundl.syntax import Alloc, ArrayOf, Claim, Kind, Node, walk
from theory.bundl.typing import corrected, why_not

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
    checking.PARSED.clear()
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


def meant(made: Any, prism: str | None, bundl: str | None) -> bool:
    """Whether one of the two is stricter on purpose."""
    if prism is None and bundl is not None and bundl.endswith("is passed twice"):
        return harmless(made)
    return prism is not None and bundl is None and "may be written" in prism


def harmless(made: Any) -> bool:
    """Whether a kernel that passes an array twice is refused later, or leaves what the calculus's steps do."""
    try:
        program = build(made, {})
    except CompileError as error:
        return "which are taken not to overlap" in str(error)
    memory = np.array(START, np.int32)
    run(program, BLOCKS, BOUND, [memory, NUMBER], check=True)
    shape = Shape(BLOCKS, BOUND)
    judge = Judge(elaborate(made, shape, START, (NUMBER,)), shape, rules=None)
    report = judge.sample(Random(0), 50_000)
    return not report.race and report.outcomes == {(tuple(memory.tolist()),)}


def verdict(seed: int, slips: float, folder: Path) -> tuple[str, list[str]]:
    """Return what Prism and what the calculus says of a seed's kernel, and what is wrong if they do not agree."""
    rng = Random(seed)
    text = kernel(rng, rng.randint(2, 24), slips)
    made = load(text, folder, f"bundl_kernel_{seed}")
    prism, bundl = prism_says(made), calculus_says(made)
    said = SAID[prism is None, bundl is None]
    if (prism is None) == (bundl is None) or meant(made, prism, bundl):
        return said, []
    return said, [f"seed {seed}\n{text}\nPrism: {prism}\nBundl: {bundl}"]


SAID = {
    (True, True): "both accept",
    (False, False): "both refuse",
    (True, False): "Prism alone accepts",
    (False, True): "Bundl alone accepts",
}


def examine(seed: int, slips: float, folder: Path) -> str:
    """Return what the two say, which must be the same, or as it is meant."""
    said, found = verdict(seed, slips, folder)
    assert not found, found[0]
    return said


@pytest.mark.parametrize("chunk", range(4))
def test_well_typed_kernels(chunk: int, tmp_path: Path) -> None:
    for seed in range(chunk, 64, 4):
        assert examine(seed, 0.0, tmp_path) == "both accept"


@pytest.mark.parametrize("chunk", range(4))
def test_kernels_with_slips(chunk: int, tmp_path: Path) -> None:
    said = Counter(examine(seed, 0.5, tmp_path) for seed in range(1000 + chunk, 1200, 4))
    assert said["both refuse"] > 5 and said["both accept"] > 5


@pytest.mark.parametrize("chunk", range(4))
def test_what_kernels_leave_in_memory(chunk: int, tmp_path: Path) -> None:
    for seed in range(2000 + chunk, 2008, 4):
        assert not compare(seed, tmp_path)


def compare(seed: int, folder: Path) -> list[str]:
    """Run a kernel in the reference machine and in the calculus, and return what is wrong: without races, one outcome."""
    rng = Random(seed)
    text = kernel(rng, rng.randint(4, 24), 0.0)
    made = load(text, folder, f"bundl_run_{seed}")
    memory = np.array(START, np.int32)
    run(build(made, {}), BLOCKS, BOUND, [memory, NUMBER], check=True)
    shape = Shape(BLOCKS, BOUND)
    report = sample(elaborate(made, shape, START, (NUMBER,)), shape, rng, limit=50_000)
    found = [*failures(report), *(["a race"] if report.race else [])]
    if report.outcomes != {(tuple(memory.tolist()),)}:
        found.append(f"Prism leaves {memory.tolist()}, the calculus {report.outcomes}")
    return [f"seed {seed}\n{text}\n{problem}" for problem in found]


def test_all_of_the_core_is_there(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(100):
        rng = Random(seed)
        made = load(kernel(rng, rng.randint(2, 24), 0.0), tmp_path, f"bundl_core_{seed}")
        program = elaborate(made, Shape(BLOCKS, BOUND), START, (NUMBER,))
        terms = list(walk(program))
        seen.update({type(term).__name__ for term in terms})
        seen.update({f"{type(param.type).__name__} parameter" for f in program.functions for param in f.params})
        arrays = [param.type for f in program.functions for param in f.params if isinstance(param.type, ArrayOf)]
        seen.update({f"{array.kind.value} argument" for array in arrays})
        seen["narrower array"] += any(isinstance(term, Alloc) and term.kind is Kind.LOCAL for term in terms)
        seen["claim in a claim"] += any(isinstance(term, Claim) and claims(term.body) for term in terms)
    wanted = {
        "Call",
        "Base parameter",
        "local argument",
        "shared argument",
        "global argument",
        "narrower array",
        "Claim",
    }
    assert wanted | {"claim in a claim", "Split", "Group", "If", "While", "Partition"} <= set(+seen)


def claims(term: Node) -> bool:
    return any(isinstance(part, Claim) for part in walk(term))


@pytest.mark.parametrize(
    ("body", "refused"),
    [("p0[0] = q[0]", True), ("v: int32 @ thread[1] = p0[0] + q[0]", False)],
    ids=["written", "only read"],
)
def test_an_array_passed_twice(body: str, refused: bool, tmp_path: Path) -> None:
    text = TWICE.replace("BODY", body)
    made = load(text, tmp_path, f"bundl_twice_{refused}")
    assert prism_says(made) is None
    assert calculus_says(made) == "T-Function-Call: a is passed twice"
    assert harmless(made)
    if refused:
        with pytest.raises(CompileError, match="both as `p` and as `q`"):
            build(made, {})


TWICE = f"""
from prism.lang import block, grid, group, id, int32, partition, prism, ptr, requires, shared, thread

@prism("device")
@requires(block[1], thread[4])
def f(p: ptr(int32) @ block[1], q: ptr(int32) @ block[1]):
    u: int32 @ thread[1] = id()
    with partition(p, thread[1], offset=u) as p0:
        with group(thread[1]):
            BODY

@prism("global")
@requires(grid[1], block[1], thread[4])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b0: int32 @ block[1] = id()
    with partition(y, block[1], offset=b0 * {CELLS}) as out:
        with group(block[1]):
            a: shared(int32[4]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(a, thread[1], offset=u) as a0:
                with group(thread[1]):
                    a0[0] = u
            f(a, a)
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = a[3 - u]
"""


@pytest.mark.fuzz
@pytest.mark.xdist_group("bundl")
def test_many_kernels() -> None:
    total = fuzz.run("kernels", 2, fuzz.FIGURES, lambda k, save: fuzz.kernels_shard(k, 2, 10_000, 50_000, 1e9, save))
    assert total["failures"] == [] and total["programs"] == 50_000
