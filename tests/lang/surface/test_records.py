"""Records of constants: a frozen dataclass, or a named tuple, as one template parameter.

Tests of prism/lang/parse/records.py, prism/lang/errors/records.py."""

# ruff: noqa: F821 - template parameters

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import prism as package
from prism.explanation.account import account
from prism.lang import (
    CompileError,
    attr,
    block,
    constexpr,
    dtype,
    float32,
    float64,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from prism.lang.surface import Scalar


@dataclass(frozen=True)
class Cut:
    """A tile: 'name' and 'steps' are names of fields like any other."""

    rows: int
    columns: int
    turned: bool = False
    T: Scalar = float32
    name: int = 3
    steps: int = 2

    @property
    def threads(self) -> int:
        return 32 * self.rows

    @property
    def wide(self) -> bool:
        return self.columns > 4

    @property
    def text(self) -> str:
        return "no constant"

    @property
    def broken(self) -> int:
        return 1 // (self.rows - self.rows)


class Pair(NamedTuple):
    first: int
    second: int

    @property
    def total(self) -> int:
        return self.first + self.second


@prism("device")
@template(CUT=constexpr(Cut), OP=function)
@requires(block[1])
def fill(tile: shared(CUT.T[CUT.rows, CUT.columns]) @ block[1], y: ptr(CUT.T) @ thread[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda r, c: (r, t + c)) as mine, group(thread[1]):
        if t < CUT.columns:
            for r in range(CUT.rows):
                mine[r, 0] = OP(CUT.T(10 * r + t))
    with group(thread[1]):
        if t < CUT.columns:
            y[0] = tile[CUT.rows - 1, CUT.columns - 1 - t if CUT.turned else t]


@prism("device")
@template(T=dtype)
@requires(thread[1])
def twice(x: T @ thread[1]) -> T @ thread[1]:
    return 2 * x


@prism("global")
@template(CUT=constexpr(Cut), HALF=constexpr(int, default=lambda CUT: CUT.columns // 2))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, CUT.name - 2)")
def kernel(y: ptr(CUT.T) @ grid[1]):
    WIDE: constexpr(int) = CUT.columns * 2 if CUT.wide else 0
    with partition(y, thread[1], id()) as mine, group(block[1]):
        tile: shared(CUT.T[CUT.rows, CUT.columns])
        fill(tile, mine, CUT=CUT, OP=twice)
        if WIDE > 0:
            with group(thread[1]):
                mine[0] += HALF


TILE = Cut(2, 8)


@pytest.mark.parametrize("cut", [TILE, replace(TILE, turned=True), Cut(1, 4, T=float64), Cut(2, 4, steps=5)])
def test_attributes_are_constants(cut: Cut) -> None:
    y = np.zeros(128, np.float32 if cut.T is float32 else np.float64)
    kernel[1, cut.threads](y, template={"CUT": cut}, check=True)
    row = 2 * (10 * (cut.rows - 1) + np.arange(cut.columns)) + 0.0
    row = row[::-1] if cut.turned else row
    row = row + cut.columns // 2 if cut.wide else row
    assert y[: cut.columns].tolist() == row.tolist()
    text = package.compile(kernel, {"CUT": cut}).cuda
    assert f"__launch_bounds__({cut.threads}, 1)" in text
    assert f"// kernel for CUT = {cut}".split("T=")[0] in text


def test_equal_records_are_one_instance() -> None:
    y = np.zeros(128, np.float32)
    for _ in range(2):
        kernel[1, 64](y, template={"CUT": Cut(2, 8)}, check=True)
    known = len(kernel.__dict__["_launched"])
    kernel[1, 64](y, template={"CUT": Cut(2, 8)}, check=True)
    assert len(kernel.__dict__["_launched"]) == known
    kernel[1, 64](y, template={"CUT": Cut(2, 8, name=3, steps=7)}, check=True)
    assert len(kernel.__dict__["_launched"]) == known + 1


def test_explanation_and_signature_name_the_record() -> None:
    entry = account(package.check(kernel, {"CUT": TILE})).chapters[0]
    assert dict(entry.template)["CUT"] == "Cut(rows=2, columns=8, turned=False, T=float32, name=3, steps=2)"
    assert "CUT: constexpr(Cut)" in str(inspect.signature(kernel))


@prism("global")
@template(BY=constexpr(Pair, default=Pair(3, 4)))
@requires(grid[1], thread[BY.first * 2])
def added(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = BY.total


SIZES = Pair(5, 6)


@prism("global")
@requires(grid[1], thread[1])
def of_the_file(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = SIZES.total


def test_named_tuples_defaults_and_records_of_the_file() -> None:
    y = np.zeros(6, np.int32)
    added[1, 6](y, check=True)
    assert y.tolist() == [7] * 6
    added[1, 2](y, template={"BY": Pair(1, 0)}, check=True)
    assert y.tolist() == [1, 1, 7, 7, 7, 7]
    of_the_file[1, 6](y, check=True)
    assert y.tolist() == [11] * 6


@dataclass(frozen=True)
class Listed:
    rows: Any


@prism("device")
@template(CUT=constexpr(Listed))
@requires(thread[1])
def listed() -> int32 @ thread[1]:
    return CUT.rows


@prism("device")
@template(CUT=constexpr(Cut))
@requires(thread[1])
def of_a_text() -> int32 @ thread[1]:
    return CUT.text


@prism("device")
@template(CUT=constexpr(Cut))
@requires(thread[1])
def of_a_fault() -> int32 @ thread[1]:
    return CUT.broken


@prism("device")
@template(CUT=constexpr(Cut))
@requires(thread[1])
def misspelt() -> int32 @ thread[1]:
    return CUT.row


@prism("device")
@template(CUT=constexpr(Cut))
@requires(thread[CUT.thread])
def misspelt_bound() -> int32 @ thread[1]:
    return 1


@prism("device")
@template(CUT=constexpr(Cut))
@requires(thread[1])
def whole() -> int32 @ thread[1]:
    return CUT


class Other(NamedTuple):
    rows: int


@pytest.mark.parametrize(
    ("function", "cut", "text"),
    [
        (of_a_text, TILE, "`CUT.text` is a str, and no constant of a kernel"),
        (of_a_fault, TILE, "`CUT.broken` cannot be computed: ZeroDivisionError"),
        (misspelt, TILE, r"did you mean `CUT.rows`\?"),
        (misspelt_bound, TILE, r"did you mean `CUT.threads`\?"),
        (misspelt, Other(3), r"takes a `Cut`, not `Other\(rows=3\)`"),
        (misspelt, 3, "takes a `Cut`, not `3`"),
        (listed, Listed([1]), "its field `rows` is a list"),
        (listed, Listed(1.5), "its field `rows` is a float"),
        (listed, Listed(np.int64(3)), "its field `rows` is a int64"),
        (whole, TILE, "CUT"),
    ],
)
def test_what_is_refused(function: Any, cut: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        package.check(function, {"CUT": cut})


def test_a_launch_refuses_what_has_no_hash() -> None:
    @dataclass
    class Loose:
        rows: int

    with pytest.raises(TypeError, match=r"the record `CUT` can change: write `@dataclass\(frozen=True\)`"):
        template(CUT=constexpr(Loose))
    with pytest.raises(TypeError, match="a device function or a frozen record, not .*Loose"):
        kernel[1, 64](np.zeros(64, np.float32), template={"CUT": Loose(3)})
    with pytest.raises(CompileError, match="its field `rows` is a list"):
        kernel[1, 64](np.zeros(64, np.float32), template={"CUT": Cut([1], 2)})  # type: ignore[arg-type]
