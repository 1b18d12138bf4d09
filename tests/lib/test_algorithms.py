"""Every algorithm of the manifest by its cases, on NumPy arrays: dtypes, sizes, strides, alignment, `out`, plans, schedules.

Tests of prism/lib/cases.py; prism/lib/algorithms/scan/cases.py; prism/lib/algorithms/cumulative/cases.py;
prism/lib/algorithms/reduce/cases.py; prism/lib/algorithms/segments/cases.py; prism/lib/algorithms/keys/cases.py;
prism/lib/algorithms/matmul/cases.py; prism/lib/algorithms/sgemm/cases.py; prism/lib/algorithms/hgemm/cases.py.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.interpret.schedules import SCHEDULES
from prism.lib import algorithms
from prism.lib.cases import Case, cases
from tests.lib.calls import LAYOUTS, call, check, expected, same
from tests.rarely import rarely

CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_function_has_a_case() -> None:
    listed = {name for one in algorithms.MANIFEST for name in one.functions}
    assert {case.function for case in CASES} == listed
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", [one.name for one in algorithms.MANIFEST])
def test_the_examples_in_the_docstrings(name: str) -> None:
    (row,) = (one for one in algorithms.MANIFEST if one.name == name)
    module = importlib.import_module(row.module)
    found = doctest.testmod(module, extraglobs={"prism": prism, "np": np})
    assert found.attempted and not found.failed


@pytest.mark.parametrize(
    ("case", "dtype"),
    rarely(
        [(case, dtype) for case in CASES for dtype in case.dtypes],
        but=[(case, case.dtypes[-1]) for case in CASES if len(case.dtypes) > 1],  # `test_sizes` has the first
    ),
    ids=str,
)
def test_dtypes(case: Case, dtype: str) -> None:
    for shape in case.shapes[:3]:
        check(case, case.arrays(shape, dtype))


@every_case
def test_sizes(case: Case) -> None:
    for shape in case.shapes:
        check(case, case.arrays(shape))


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", rarely(LAYOUTS, but=["3 past", "gaps", "turned"]))
@every_case
def test_arrays_that_lie_otherwise(case: Case, layout: str) -> None:
    for shape in case.shapes[:2]:
        check(case, case.arrays(shape), functools.partial(LAYOUTS[layout], np))


@pytest.mark.covering(1)
@pytest.mark.parametrize("elements", [0, 3])
@every_case
def test_out(case: Case, elements: int) -> None:
    """The result is there, and what is beside it stays as it is."""
    if not case.out:
        pytest.skip("it takes no `out`")
    for shape in case.shapes[:4]:
        arrays = case.arrays(shape)
        if (wanted := expected(case, arrays)) is None:
            continue
        wanted = np.asarray(wanted)
        room = np.full(elements + wanted.size + 5, 77).astype(wanted.dtype)
        before = room.copy()
        out = room[elements : elements + wanted.size].reshape(wanted.shape)
        assert call(case, arrays, out=out) is out
        same(case, out, wanted)
        out[...] = before[0]
        assert np.array_equal(room, before)


@every_case
def test_results_in_an_array_that_is_given(case: Case) -> None:
    """In each that has the result's shape and dtype: in place, or made beside and copied."""
    for shape in case.shapes[:3]:
        arrays = case.arrays(shape)
        wanted = expected(case, arrays)
        for number, x in enumerate(arrays):
            if case.out and np.shape(wanted) == x.shape and np.asarray(wanted).dtype == x.dtype:
                given = [np.array(one) for one in arrays]
                call(case, given, out=given[number])
                same(case, given[number], wanted)


NO_ARRAYS = {
    "none": lambda: None, "text": lambda: "abc", "dict": dict, "generator": lambda: iter("abc"),
    "objects": lambda: np.array([1, None]), "texts": lambda: np.array(["a", "b"]),
    "long double": lambda: np.ones(4, np.longdouble),
}  # fmt: skip
"""What no function takes, each made anew."""


BYTES = ("copy", "transpose", "permute")
"""They move elements of any type but Python's objects."""


@pytest.mark.parametrize("case", list({case.function: case for case in reversed(CASES)}.values()), ids=str)
def test_what_is_no_array_is_refused(case: Case) -> None:
    """In the place of each argument, with an error of Python's kinds that says something, and not the compiler's."""
    arrays = case.arrays(case.shapes[0])
    for number in range(len(arrays)):
        for name, make in NO_ARRAYS.items():
            given = [*arrays[:number], make(), *arrays[number + 1 :]]
            if given[number] is None and takes_none(case.function, number):
                continue
            if case.function in BYTES and name in ("texts", "long double"):
                continue
            with pytest.raises((TypeError, ValueError, IndexError), match=r"\w+ \w+"):
                call(case, given)


def takes_none(function: str, number: int) -> bool:
    """Whether a function's parameter may be None."""
    return list(inspect.signature(getattr(lib, function)).parameters.values())[number].default is None


@every_case
def test_plans(case: Case) -> None:
    if not case.planned:
        pytest.skip("it is more than launches")
    first, second = case.arrays(case.shapes[0]), case.arrays(case.shapes[0], seed=1)
    given = [np.array(x) for x in first]
    wanted = expected(case, first)
    out = {"out": np.zeros_like(wanted)} if case.out else {}
    plan = lib.plan(getattr(lib, case.function), *given, **out, **case.options)
    for arrays in (first, second):
        for x, y in zip(given, arrays, strict=True):
            x[...] = y
        same(case, plan(), expected(case, arrays))
    if case.out:  # other arrays, in the order of the call's arguments
        room = np.zeros_like(wanted)
        assert plan(*map(np.array, first), room) is room
        same(case, room, wanted)


@pytest.mark.parametrize("schedule", rarely(SCHEDULES, but=["random"]))
@every_case
def test_every_schedule(monkeypatch: pytest.MonkeyPatch, case: Case, schedule: str) -> None:
    """With all checks, whatever runs before what."""
    monkeypatch.setattr(prism.interpret, "run", functools.partial(prism.interpret.run, check=True, schedule=schedule))
    for shape in case.shapes[:1]:
        check(case, case.arrays(shape))


def test_a_wrong_result_is_seen() -> None:
    case: Any = next(one for one in CASES if one.function == "scan")
    wrong = Case("scan", case.make, lambda x: case.oracle(x) + (np.arange(x.size) == 5))
    other = Case("scan", case.make, lambda x: case.oracle(x) + 0.0)
    for one, wanted in ((wrong, "1 of 1000 are wrong"), (other, "float64")):
        with pytest.raises(AssertionError, match=wanted):
            check(one, one.arrays((1000,)))
