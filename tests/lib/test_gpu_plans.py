"""What a GPU is given, of every algorithm of the manifest, run by the reference machine: tiles, kernels and widths are the GPU's.

Tests of prism/host/machine.py.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.host import call, lazies
from prism.host.machine import Host
from prism.host.plan import Step
from prism.lang.facts.waits import waits
from prism.lang.types import Pointer
from prism.lib.cases import Case, cases
from tests.lib.calls import LAYOUTS, check, expected, same
from tests.lib.calls import call as call_case
from tests.lib.lazy.lazies import LAZIES, array_of
from tests.rarely import rarely

# Not hgemm, nor matmul that calls it: its copies have padded rows, and `run_on_host` takes arrays without gaps.
# tests/kernels/test_hgemm.py has them.
# Nor partitions: of the long rows here there is more than one answer. tests/lib/algorithms/ranks has them.
CASES = [case for case in cases() if case.function not in ("hgemm", "matmul", "partition", "argpartition")]
# Sizes at which a GPU has other kernels than one block, each for some of the cases: what is tried is a sample.
SIZES = ((1000,), (4097,), (16_385,), (33,), (2,))


@pytest.fixture(autouse=True)
def as_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reference machine, which says that it is a small GPU."""
    for name, value in (("host", False), ("arch", "sm_90a"), ("multiprocessors", 4)):
        monkeypatch.setattr(Host, name, value)
    monkeypatch.setattr(Host, "wave", lambda self, instance, threads: 3)
    monkeypatch.setattr(prism.interpret, "run", functools.partial(run_apart, prism.interpret.run))
    call.forget()
    yield
    call.forget()


def run_apart(run: Any, program: Any, blocks: int, threads: int, values: list[Any], **options: Any) -> None:
    """Run, with checks, a kernel that says of all that it reads whether it may lie where it writes: C++ moves loads else.

    A kernel that waits for other blocks runs one block at a time: it must wait for none that has not begun.

    What maps of tensors are of is not looked at: they may reach beyond an array, and none of these is written in place.
    """
    given = [(p, x) for p, x in zip(program.entry.parameters, values, strict=True) if isinstance(p.type, Pointer)]
    for (one, x), (other, y) in itertools.combinations(given, 2):
        if one.type.const != other.type.const and not any({one.name, other.name} <= n for n in program.entry.may_alias):
            assert not np.may_share_memory(x, y), (program.entry.name, one.name, other.name)
    schedule = "few" if any(any(waits(function)) for function in program.functions) else "round-robin"
    run(program, blocks, threads, values, check=True, schedule=schedule, **options)


def test_plans_are_those_of_a_gpu() -> None:
    lib.sum(np.ones(16_385))
    (known,) = call._known.values()
    assert known.decision.plan is not None
    (step,) = known.decision.plan.steps
    assert isinstance(step, Step) and dict(step.instance.template)["VECTORIZED"] and step.blocks > 1


TURNS = list(enumerate(CASES))
SORTED = ("sort", "argsort", "unique", "intersect1d", "union1d", "setdiff1d", "setxor1d", "isin", "lexsort")
"""Sorts, and what sorts first: of the longest arrays by clusters, which take this machine a minute."""
FIRST = [[case for _, case in TURNS if case.function == name][:2] for name in {case.function: None for case in CASES}]
"""Of each function, the usual call and the next: others differ in an option."""
OFTEN = [
    (turn, case)
    for turn, case in TURNS
    if any(case in some for some in FIRST) and not (turn % len(SIZES) == 2 and case.function.startswith(SORTED))
]
MORE = [(number + 3 * len(CASES) // 2, case) for number, case in TURNS]


@pytest.mark.parametrize(("turn", "case"), rarely([*TURNS, *MORE], but=OFTEN), ids=str)
def test_what_a_gpu_is_given(turn: int, case: Case) -> None:
    shape = SIZES[turn % len(SIZES)] if len(case.shapes[0]) == 1 else case.shapes[turn % len(case.shapes)]
    arrays = case.arrays(shape, case.dtypes[turn % len(case.dtypes)])
    check(case, arrays, functools.partial(LAYOUTS["3 past"], np)) if turn % 2 else check(case, arrays)


def results_of(case: Case) -> list[int]:
    """Return which arrays of the usual call can take its result."""
    arrays = case.arrays(case.shapes[0])
    wanted = expected(case, arrays)
    if not case.out or wanted is None or isinstance(wanted, tuple):
        return []
    like = np.asarray(wanted)
    return [
        k for k, x in enumerate(arrays) if isinstance(x, np.ndarray) and (x.shape, x.dtype) == (like.shape, like.dtype)
    ]


PLACES = [(case, number) for some in FIRST for case in some for number in results_of(case)]


@pytest.mark.parametrize(("case", "number"), rarely(PLACES, but=PLACES[::2]), ids=str)
def test_results_where_an_array_is(case: Case, number: int) -> None:
    """What the call does in place is ordered, also where threads read what others overwrite; and its kernels say so."""
    for shape in (case.shapes[0], SIZES[2])[: 1 + (len(case.shapes[0]) == 1)]:
        arrays = case.arrays(shape)
        given = [np.array(x) for x in arrays]
        call_case(case, given, out=given[number])
        same(case, given[number], expected(case, arrays))


LAYERS = (
    "copy", "transpose", "permute", "gelu", "gelu_backward", "swiglu", "swiglu_backward", "cross_entropy",
    "cross_entropy_backward", "rope", "quantize",
)  # fmt: skip
READ = [(case, name) for case in CASES if case.function in LAYERS for name in LAZIES]


@pytest.mark.parametrize(("case", "name"), rarely(READ, but=READ[::7]), ids=str)
def test_layers_of_lazy_arrays(case: Case, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read where they stand by kernels that load vectors, too."""

    def never(info: Any) -> Any:
        raise AssertionError(f"{case} writes the elements of a lazy array to memory")

    monkeypatch.setattr(lazies, "evaluators", [never])
    first = case.shapes[0]
    for shape in (first, (first[0], *(8 * extent for extent in first[1:]))):
        for dtype in (case.dtypes[0], case.dtypes[-1]):
            check(case, case.arrays(shape, dtype), functools.partial(LAZIES[name], np.asarray), array_of)


L = lib.lazy
N = 9001
X = np.random.default_rng(0).integers(0, 50, N).astype(np.int16)
MASKS: dict[str, tuple[Any, Any]] = {
    "each third": (L.arange(N) % 3 == 0, np.arange(N) % 3 == 0),
    "backwards": (L.flip(X) > 20, X[::-1] > 20),
    "elsewhere": (L.take(X, L.permutation(N, 3)) > 20, X[lib.evaluate(L.permutation(N, 3))] > 20),
    "every other": (L.of(np.repeat(X, 2)[::2]) > 20, X > 20),
}


@pytest.mark.parametrize("name", rarely([*MASKS], but=["backwards"]))
def test_selections_by_where_elements_stand(name: str) -> None:
    """Lazy arrays that read elements by their positions, as masks and as values."""
    mask, wanted = MASKS[name]
    for values, every in ((X, X), (L.arange(N) * 2, np.arange(N) * 2), (L.flip(X), X[::-1])):
        assert np.array_equal(lib.compress(mask, values), every[wanted])
        assert np.array_equal(lib.select(values, mask), every[wanted])
        for found, part in zip(lib.split(values, mask), (every[wanted], every[~wanted]), strict=True):
            assert np.array_equal(found, part)
    assert np.array_equal(lib.flatnonzero(mask), np.flatnonzero(wanted))
    limit = len(name)
    assert np.array_equal(lib.select(X, lambda e: e > limit), X[X > limit])
    assert lib.find(X, mask) == np.argmax(wanted) and lib.count_nonzero(mask) == wanted.sum()
    ends = np.flatnonzero(np.diff(wanted, prepend=not wanted[0]))
    assert np.array_equal(lib.unique_by_key(mask, L.arange(N))[1], ends)
