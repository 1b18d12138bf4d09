"""Lazy arrays on a GPU that only looks so: what is launched, on which addresses and numbers, and what is decided anew."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host.lazies import NotReadable, bind, expand, leaf_of
from prism.host.machine import HOST, run_on_host
from prism.host.plan import OUT, Buffer, move_steps
from prism.lib import lazy
from prism.lib.algorithms.search.plan import kind_of, search
from prism.runtime.arrays import describe
from tests.host.stand_ins import Array, Gpu, stand_in

X, Y, Z = 1 << 30, 1 << 31, 1 << 33


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def at(pointer: int, size: int = 5000, kind: str = "float32") -> Array:
    return Array.at(pointer, (size,), kind)


def half(x: Any) -> Any:
    return lazy.map(lambda a, b: a + b, x, x)


def test_the_second_call_is_only_launched_on_its_own_addresses(gpu: Gpu) -> None:
    for shift in (0, 1 << 20, 1 << 21):
        x, y, out = at(X + shift), at(Y + shift), at(Z + shift)
        assert lib.scan(lazy.map(lambda a, b: a * b, x, y), out=out) is out
        assert gpu.launched[-1][4][:3] == (X + shift, Y + shift, Z + shift)
    assert gpu.decided == 1 and len(gpu.launched) == 3


def test_numbers_are_not_part_of_what_is_decided(gpu: Gpu) -> None:
    for value in (1.5, -2.0, 0.1):
        lib.scan(lazy.of(at(X)) + value, out=at(Z))
        values = gpu.launched[-1][4]
        assert values[0] == X and values[2] == Z
        assert values[1] == int.from_bytes(struct.pack("<d", float(np.float64(value))), "little")
    for value in (3, -3):
        lib.scan(lazy.full(5000, value, "int32"), out=at(Z, kind="int32"))
        assert gpu.launched[-1][4][:2] == (value % 2**64, Z)
    assert gpu.decided == 2


def test_results_are_made_as_the_first_was(gpu: Gpu) -> None:
    made = [lib.cumsum(half(at(X, 1000)) > 3) for _ in range(3)]
    assert {(one.shape, str(one.dtype)) for one in made} == {((1000,), "int64")} and len({id(one) for one in made}) == 3
    assert gpu.decided == 1


def test_what_is_decided_anew(gpu: Gpu) -> None:
    out = at(Z)
    lib.scan(half(at(X)), out=out)
    others = [
        (half(at(X + 4)), out),  # of which no vectors are loaded
        (lazy.of(at(X)) + at(X), out),
        (lazy.of(at(X)) + at(Y), out),  # two arrays, not one twice
        (half(at(X, 4999)), at(Z, 4999)),
        (half(at(X, kind="int32")), at(Z, kind="int32")),
        (half(lazy.flip(at(X))), out),
    ]
    for number, (given, result) in enumerate(others, 2):
        for _ in range(2):
            lib.scan(given, out=result)
        assert gpu.decided == number


def test_some_arrays_are_lazy_and_others_not(gpu: Gpu) -> None:
    for shift in (0, 64):
        lib.scan_by_key(at(Y + shift, kind="int32"), half(at(X + shift)), out=at(Z))
        lib.scan_by_key(half(at(Y + shift, kind="int32")), at(X + shift), out=at(Z))
        lib.scan_by_key(at(Y + shift, kind="int32"), lazy.full(5000, 1.0, "float32"), out=at(Z))
    assert gpu.decided == 3 and len(gpu.launched) == 6


def test_a_result_in_what_is_read_is_made_beside_it(gpu: Gpu) -> None:
    x = Array(np.zeros(5000, np.float32))
    pointer = x.data.ptr
    for _ in range(2):
        lib.scan(half(x), out=x)
        assert gpu.launched[-1][4][0] == pointer != gpu.launched[-1][4][1]


def test_a_kernel_that_reads_lazy_arrays_already_gets_more_of_them() -> None:
    """What is bound twice is bound as in one go; a lazy array in the place of what another one reads is refused."""
    table, sought, out = np.arange(40, dtype="int32"), np.arange(9, dtype="int32"), np.zeros(9, "int64")
    views = {"x": describe(lazy.of(table) * 2), "v": describe(lazy.of(sought) + 1)}
    kind = kind_of(views["x"], views["v"], right=False)
    plan = search(kind, views["x"], views["v"], describe(out), HOST)
    once = bind(plan, views, "")
    for order in (("x", "v"), ("v", "x")):
        twice = plan
        for name in order:
            twice = bind(twice, {name: views[name]}, "")
        out[:] = -1
        run_on_host(twice, {**expand(views), OUT: describe(out)})
        assert np.array_equal(out, np.searchsorted(2 * table, sought + 1))
        assert [step.instance for step in twice.steps] == [step.instance for step in once.steps]
    leaf = move_steps(once.steps, lambda one: Buffer("v") if one.name == leaf_of("v", 0) else one)
    with pytest.raises(NotReadable, match="`v` is a lazy array of a lazy one"):
        bind(replace(once, steps=leaf), views, "")
