"""A warm call of `scan` launches what the first one did, and decides nothing anew: on arrays and a driver that only look so.

Tests of prism/host/libraries.py.
"""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import prism.lib as lib
from prism.host import repeat
from prism.host.repeat import Recipe
from prism.lib import scan
from tests.host.stand_ins import Array, Gpu, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        found.stream = 7
        yield found


@pytest.mark.parametrize("shape", [(1000,), (1 << 16,), (1 << 24,), (300, 700), (1 << 20, 8)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_the_second_call_launches_the_same(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, shape, axis) -> None:
    flat = shape if axis is not None else (int(np.prod(shape)),)
    for number in range(3):
        x, y = Array.at(1 << 30 | number << 24, shape), Array.at(1 << 33 | number << 24, flat)
        assert scan(x, axis=axis, out=y) is y
    assert len(gpu.launched) == 3 and len({launch[:4] for launch in gpu.launched}) == 1 and gpu.launched[0][3] == 7
    assert gpu.decided == 1
    for _ in range(2):
        wide = Array.at(1 << 33, flat, "int64")
        assert lib.cumsum(Array.at(1 << 30, shape), axis, out=wide) is wide
    assert len(gpu.launched) == 5 and gpu.decided == 2


def test_after_many_shapes_the_last_ones_are_known(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "_MOST", 3)
    for size in range(1000, 1008):
        for _ in range(2):
            scan(Array.at(1 << 30, (size,)), out=Array.at(1 << 33, (size,)))
    assert gpu.decided == 8 and len(gpu.launched) == 16 and 1 <= len(repeat._kept) <= 3


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_results_are_made_as_the_first_was(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, axis) -> None:
    shape = (300, 700)
    for function, kind in ((scan, "int32"), (lib.cumsum, "int64")):
        made = [function(Array.at(1 << 30, shape), axis=axis) for _ in range(3)]
        assert {(y.shape, str(y.dtype)) for y in made} == {((210_000,) if axis is None else shape, kind)}
        assert len({id(y) for y in made}) == 3
    assert gpu.decided == 2 and len(gpu.launched) == 6


def test_what_must_be_decided_anew(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = Array.at(1 << 30, (5000,)), Array.at(1 << 33, (5000,))
    scan(x, out=y)
    assert gpu.decided == 1
    others = [
        ({}, Array.at((1 << 30) + 4, (5000,)), y),  # not aligned
        ({}, Array.at(1 << 30, (5000,), "float32"), Array.at(1 << 33, (5000,), "float32")),
        ({}, Array.at(1 << 30, (4999,)), Array.at(1 << 33, (4999,))),
        ({"exclusive": True}, x, y),
        ({"reverse": True}, x, y),
        ({"op": "maximum"}, x, y),
        ({"axis": 0}, x, y),
        ({"initial": 0}, x, y),
        ({"initial": 0, "axis": 0}, x, y),
    ]
    for number, (options, source, target) in enumerate(others, 2):
        for _ in range(2):
            scan(source, out=target, **options)
        assert gpu.decided == number, options
    scan(x, out=y, stream=9)  # the same was decided, of which the launch is new
    assert gpu.decided == len(others) + 1 and gpu.launched[-1][3] == 9


@pytest.mark.parametrize("stream", [0, 7])
@pytest.mark.parametrize("kind", ["int32", "float32", "float16", "uint8", "float64"])
def test_a_first_value_is_a_number_of_the_launch(gpu: Gpu, stream: int, kind: str) -> None:
    """One plan does for all: the bits go where the kernel reads the number, also where launches are packed."""
    gpu.stream = stream
    numbers = [3, 0, 5, 3] if kind[0] in "iu" else [3.5, -0.0, np.float32(0.25), 0.0]
    x, y = Array.at(1 << 30, (5000,), kind), Array.at(1 << 33, (5000,), kind)
    for k, number in enumerate(numbers):
        assert scan(x, initial=number, out=y if k else None) is not None
    assert gpu.decided == 1
    names = [parameter.name for parameter in gpu.launched[-1][0].program.entry.parameters]
    computed = np.dtype({"float16": "float32", "int32": "uint32"}.get(kind, kind))
    found = [launch[4][names.index("initial")] for launch in gpu.launched]
    bits = [int.from_bytes(computed.type(number).tobytes(), "little") for number in numbers]
    direct = [computed.type(number).item() for number in numbers]
    for value, packed, number in zip(found, bits, direct, strict=True):
        assert value == packed or (value == number and np.signbit(value) == np.signbit(number))
    with pytest.raises(TypeError, match="`initial` must be a number of"):
        scan(x, initial="many", out=y)


def test_a_first_value_of_lazy_arrays_is_a_number_too(gpu: Gpu) -> None:
    x, y = Array.at(1 << 30, (5000,), "float32"), Array.at(1 << 33, (5000,), "float32")
    for number in (3.0, 4.0, 5.0):
        scan(lib.lazy.map(lambda v: v * 2, x), initial=number, out=y)
    assert gpu.decided == 1
    names = [parameter.name for parameter in gpu.launched[-1][0].program.entry.parameters]
    found = [launch[4][names.index("initial")] for launch in gpu.launched]
    assert found == [3.0, *(np.float32(number).view(np.uint32) for number in (4.0, 5.0))]  # packed: as bits


@pytest.mark.parametrize("stream", [0, 7])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_what_a_warm_call_notices(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, stream: int, size: int) -> None:
    """On the default stream, whose launches are packed, and on another: what is not as it was is looked at, and refused."""
    gpu.stream = stream
    a, b = 1 << 30, 1 << 33
    x, y = Array.at(a, (size,)), Array.at(b, (size,))
    for k in range(3):
        scan(Array.at(a + 64 * k, (size,)), out=Array.at(b + 16 * k, (size,)))
    assert gpu.addresses == [(stream, a + 64 * k, b + 16 * k) for k in range(3)] and gpu.decided == 1
    for source, target, error, what in [
        (Array.at(a, (size,), "float32"), y, TypeError, "`out` must be of float32"),
        (x, Array.at(b, (size,), "uint32"), TypeError, "`out` must be of int32"),
        (x, Array.at(b, (size - 1,)), ValueError, "`out` must have shape"),
        (x, Array.at(b, (size, 1)), ValueError, "`out` must have shape"),
        (Array.at(a, (size - 1,)), y, ValueError, "`out` must have shape"),
        (x, Array.at(b, (size,), gaps=True), ValueError, "`out` must be C-contiguous"),
        (x, Array.at(b, (size,), device=1), ValueError, "`x` is on GPU 0, `out` on GPU 1"),
        (Array.at(a, (size,), device=1), y, ValueError, "`x` is on GPU 1, `out` on GPU 0"),
        (x, np.zeros(size, np.int32), TypeError, "`x` is on GPU 0, `out` on the host"),
    ]:
        with pytest.raises(error, match=what):
            scan(source, out=target)
    assert len(gpu.launched) == 3
    before = gpu.decided  # what is refused is looked at again each time
    scan(Array.at(a + 4, (size,)), out=y)  # not aligned: another kernel
    assert gpu.decided == before + 1
    scan(x, out=y)
    assert gpu.decided == before + 1 and gpu.addresses[-1] == (stream, a, b)
    repeat.forget()
    scan(x, out=y)
    assert gpu.decided == before + 1 and gpu.addresses[-1] == (stream, a, b)


class Kind(NamedTuple):
    """A dtype of torch."""

    is_complex: bool


class Tensor:
    """What `repeat` takes for a tensor of torch; on GPU 0 unless it says otherwise."""

    is_cuda, dtype = True, Kind(is_complex=True)
    device = 0
    shape: tuple[int, ...] = (5,)

    def __init__(self, pointer: int, **facts: object) -> None:
        self.pointer, self.conj, self.neg = pointer, facts.pop("conj", False), facts.pop("neg", False)
        self.sparse = facts.pop("sparse", False)
        self.__dict__.update(facts)

    def get_device(self):
        return self.device

    def data_ptr(self):
        if self.sparse:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.pointer

    def stride(self):
        return (1,)

    def is_contiguous(self):
        return True

    def is_conj(self):
        return self.conj

    def is_neg(self):
        return self.neg


def facts_of(x: Tensor) -> SimpleNamespace:
    return SimpleNamespace(library="torch", owner=x)


def test_tensors_that_are_not_what_their_memory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjugated and negated views are flags beside the same memory; to launch on it would be to ignore them."""
    cuda = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=7))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, Tensor=Tensor))
    launched: list[tuple[int, ...]] = []
    repeat.forget()
    x, y = Tensor(1 << 30), Tensor(1 << 33)
    recipe = Recipe(lambda *given: launched.append(given), ((0, 40, True),), 40)
    repeat.keep(("f",), (facts_of(x),), (y,), recipe, made=False)
    assert repeat.run(("f",), x, y) is y and launched == [((1 << 30, 1 << 33), 7)]
    others = (
        {"conj": True},
        {"neg": True},
        {"sparse": True},
        {"is_cuda": False},
        {"dtype": Kind(is_complex=False)},
        {"shape": (4,)},
    )
    for facts in (*others, {"device": 1}):
        assert repeat.run(("f",), Tensor(1 << 30, **facts), y) is None, facts
        assert repeat.run(("f",), x, Tensor(1 << 33, **facts)) is None, facts
    assert len(launched) == 1
    repeat.forget()


def test_tensors_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of more than two arrays, which are not read two at once: the same facts."""
    cuda = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=7))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, Tensor=Tensor))
    launched: list[tuple[int, ...]] = []
    repeat.forget()
    given, y = (Tensor(1 << 30), Tensor(1 << 31)), Tensor(1 << 33)
    recipe = Recipe(lambda *given: launched.append(given), ((0, 40, False),) * 2, 40)
    repeat.keep(("f",), tuple(map(facts_of, given)), (y,), recipe, made=False)
    assert repeat.run(("f",), given[0], y, given[1]) is y and launched == [((1 << 30, 1 << 31, 1 << 33), 7)]
    for facts in ({"conj": True}, {"neg": True}, {"sparse": True}, {"is_cuda": False}, {"shape": (4,)}, {"device": 1}):
        assert repeat.run(("f",), given[0], y, Tensor(1 << 31, **facts)) is None, facts
    assert repeat.run(("f",), given[0], Tensor((1 << 31) + 16), given[1]) is None  # they overlap
    assert repeat.run(("f",), given[0], y, None) is None and len(launched) == 1
    repeat.forget()


def test_arrays_that_overlap_are_not_taken_for_others(gpu: Gpu) -> None:
    x, y = Array.at(1 << 30, (5000,)), Array.at(1 << 33, (5000,))
    asked = ("scan", "add", None, type(None), False, False, None, None)
    scan(x, out=y)
    assert repeat.run(asked, x, y)
    assert repeat.run(asked, x, Array.at(1 << 30, (5000,)))  # in place
    assert not repeat.run(asked, x, Array.at((1 << 30) + 16, (5000,)))
    assert not repeat.run(asked, x, Array.at((1 << 30) - 16, (5000,)))
    assert repeat.run(asked, x, Array.at((1 << 30) + 20_000, (5000,)))
    assert not repeat.run(asked, x, np.empty(5000, np.int32))
    with pytest.raises(TypeError, match="`axis`"):
        scan(x, axis=0.0, out=y)
