"""Calls that come again in other dress: whatever an array or an option has, no earlier call's answer is taken for its own.

Tests of prism/host/repeat.py, prism/host/front.py and prism/host/call.py over the manifest. CUDA is stood in for. Compared is
what is launched, with which arguments, and what is raised.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import call, front, warm
from prism.lib.cases import Case, cases
from tests.host.stand_ins import Array, Gpu, array, stand_in
from tests.rarely import rarely

FIRST = list({case.function: case for case in reversed(cases())}.values())
"""A case of each function."""
ALIKE = {
    "f4": ("i4", "u4"), "i4": ("f4", "u4"), "u4": ("i4", "f4"), "f8": ("i8", "c8"), "i8": ("f8", "u8"), "u8": ("i8",),
    "f2": ("i2", "u2"), "i2": ("u2", "f2"), "u2": ("i2",), "i1": ("u1", "?"), "u1": ("i1", "?"), "c8": ("f8",),
}  # fmt: skip
"""Dtypes of as many bytes."""
EQUAL: list[list[Any]] = [
    [0, False, 0.0, -0.0, np.int64(0), np.float32(0)],
    [1, True, 1.0, np.int64(1), np.float32(1), "1"],
    [2, 2.0, np.int8(2)],
    [-1, -1.0, np.int64(-1)],
    ["float32", np.float32, float, np.dtype(">f4")],
    ["int64", int, "i8", bool],
]
"""What compares equal, or nearly, and is not the same."""
LEARNT = front._OFTEN + 2


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """One whose graphs are made at once, of default streams."""
    with stand_in(monkeypatch) as found:
        found.stream, found.count = 0, 1
        graph_of = lambda launch, ordinal, stream: (lambda: launch(stream) and 0, ())
        monkeypatch.setattr(warm, "graph_of", graph_of)
        monkeypatch.setattr(front, "graph_of", graph_of)
        monkeypatch.setattr(warm, "trial_of", lambda *given: None)
        yield found


def put(x: Any, shift: int = 0) -> Array:
    found = array(np.shape(x), np.asarray(x).dtype, shift)
    found.kept[...] = x
    return found


def gaps(x: Any) -> Array:
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)[..., :-1:2]
    room[...] = x
    return Array(room)


def unaligned(x: Any) -> Array:
    room = np.zeros(x.nbytes + 65, np.uint8)
    start = -room.__array_interface__["data"][0] % 64 + 1
    found = room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return Array(found)


DRESSES: dict[str, Callable[[Any], list[Array]]] = {
    "3 elements past": lambda x: [put(x, 3)],
    "gaps": lambda x: [gaps(x)],
    "backwards": lambda x: [Array(x[..., ::-1])],
    "repeated": lambda x: [Array(np.broadcast_to(x[:1].copy(), x.shape))],
    "another dtype": lambda x: [put(np.ones(x.shape, kind)) for kind in ALIKE.get(x.dtype.str[1:], ())],
    "another byte order": lambda x: [put(x.astype(x.dtype.newbyteorder(">")))],
    "unaligned": lambda x: [unaligned(x)],
    "an axis more": lambda x: [put(x[None])],
    "shorter": lambda x: [put(x[..., :-1])],
    "Fortran's order": lambda x: [Array(put(x.T).kept.T)],
}


def outcome(gpu: Gpu, case: Case, given: list[Any], options: dict[str, Any]) -> Any:
    """Make a call; return its results' kinds or its error, and its launches: addresses of arrays as their numbers."""
    gpu.launched.clear()
    gpu.cleared.clear()
    every = [*given, *(value for name, value in options.items() if name == "out")]
    places = {x.data.ptr: number for number, x in enumerate(every) if isinstance(x, Array) and x.size}
    try:
        found = getattr(lib, case.function)(*given, **options)
        made = [
            (getattr(x, "shape", ()), str(getattr(x, "dtype", x)))
            for x in (found if isinstance(found, tuple) else (found,))
        ]
    except (TypeError, ValueError, IndexError, NotImplementedError, AttributeError) as error:
        made = [(type(error), str(error))]  # AttributeError: what CuPy's arrays have, and these have not
    launched = [
        (_said(instance), *launch, *(_word(value, places) for value in values))
        for instance, *launch, values in gpu.launched
    ]
    return made, launched, len(gpu.cleared)


def _said(instance: Any) -> Any:
    """Return what an instance is: of kernels that read views, caches drop some, which are made anew then and are others."""
    views = getattr(instance, "views", {})
    return getattr(instance, "base", instance).kernel.__name__, str(instance.template), sorted(views)


def _word(value: Any, places: dict[int, int]) -> Any:
    """Return what tells an argument: numbers by their bits, as far as both ways of packing say them."""
    if hasattr(value, "pointer"):
        # rows of groups are counted from before the memory itself, where anything may lie
        shifted = len(set(value.strides)) < len(value.strides)
        where = "shifted" if shifted else places.get(value.pointer, "memory")
        return value.shape, value.strides, str(value.dtype), where
    if type(value) is int and value >= 1 << 32:
        return f"array {places[value]}" if value in places else "memory"
    if isinstance(value, np.void):  # the bytes between its fields are anything
        return value.tolist()
    if isinstance(value, float):
        return int(np.float32(value).view(np.uint32))
    return int(value) & 0xFFFFFFFF if isinstance(value, int) else value


def prepared(case: Case, with_out: bool) -> tuple[tuple[Any, ...], list[Any], dict[str, Any]]:
    shape = next((shape for shape in case.shapes if 20 <= np.prod(shape) <= 5000), case.shapes[0])
    arrays = case.arrays(shape)
    options = dict(case.options)
    if with_out:
        options["out"] = put(np.asarray(case.oracle(*arrays)))
    return arrays, [put(x) if isinstance(x, np.ndarray) else x for x in arrays], options


BOTH = [(case, with_out) for case in FIRST for with_out in ((False, True) if case.out else (False,))]


@pytest.mark.parametrize(
    ("case", "with_out"),
    rarely(BOTH, but=[one for one in BOTH if one[1]]),
    ids=lambda one: str(one).replace("True", "out"),
)
def test_arrays_in_another_dress(gpu: Gpu, case: Case, with_out: bool) -> None:
    """Each array of a call in turn, and its result, behind calls on arrays as they mostly are."""
    arrays, usual, options = prepared(case, with_out)
    for number in range(len(arrays) + with_out):
        x = options["out"].kept if number == len(arrays) else arrays[number]
        if not isinstance(x, np.ndarray) or not x.size or not x.ndim:
            continue
        for name, dress in DRESSES.items():
            for other in dress(x):
                given, asked = list(usual), dict(options)
                if number == len(arrays):
                    asked["out"] = other
                else:
                    given[number] = other
                call.forget()
                alone = outcome(gpu, case, given, asked)
                call.forget()
                for _ in range(LEARNT if with_out else 2):
                    outcome(gpu, case, usual, options)
                for _ in range(LEARNT if with_out else 2):
                    assert outcome(gpu, case, given, asked) == alone, (number, name, other.dtype)


TYPED = (
    "n", "k", "axis", "axis1", "axis2", "scale", "dtype", "initial", "eps", "alpha", "exclusive", "keepdims", "causal",
    "interleaved",
)  # fmt: skip
"""Options that are numbers or types: what they are equal to must not be taken for them."""


@pytest.mark.parametrize(
    "case", rarely(FIRST, but=[case for case in FIRST if case.function in ("diff", "take", "kthvalue")]), ids=str
)
def test_options_that_compare_equal(gpu: Gpu, case: Case) -> None:
    arrays, usual, options = prepared(case, False)
    names = list(inspect.signature(getattr(lib, case.function)).parameters)[len(arrays) :]
    for name in (one for one in TYPED if one in names):
        for values in EQUAL:
            alone = []
            for value in values:
                call.forget()
                alone.append(outcome(gpu, case, usual, {**options, name: value}))
            for first, second in itertools.permutations(range(len(values)), 2):
                if not alone[first][1]:
                    continue
                call.forget()
                for _ in range(2):
                    outcome(gpu, case, usual, {**options, name: values[first]})
                found = outcome(gpu, case, usual, {**options, name: values[second]})
                assert found == alone[second], (name, values[first], values[second])
