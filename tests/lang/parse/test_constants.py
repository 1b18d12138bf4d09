"""What Python objects stand for in a kernel: numbers of classes and enums, types of NumPy: prism/lang/parse/constants.py."""

from __future__ import annotations

import enum
from pathlib import Path

import numpy as np
import pytest

from prism.lang import (
    cdiv,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    is_inf,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)  # fmt: skip
from tests.lang.from_text import kernel_of


class Mode(enum.IntEnum):
    FAST = 3
    SLOW = 5


class Plain(enum.Enum):
    WIDE = 7
    SHARE = 0.5


class Limits:
    ROWS = 11
    HEAVY = True


@prism("global")
@requires(grid[1], thread[1])
def numbers(y: ptr(int32) @ grid[1], n: int32 @ grid[1], zero: float32 @ grid[1]):
    with partition(y, thread[1], 8 * id()) as mine, group(thread[1]):
        mine[0] = Mode.FAST
        mine[1] = Mode.SLOW.value + 1
        mine[2] = Plain.WIDE
        mine[3] = Plain.WIDE.value * Limits.ROWS
        mine[4] = int(np.float32(n) * Plain.SHARE.value)
        if Limits.HEAVY:
            mine[5] = cdiv(Limits.ROWS, 4) + 10 * cdiv(n, 4)
        mine[6] = 1 if is_inf(1 / zero) and is_inf(-1 / zero) and not is_inf(zero) and not is_inf(zero / zero) else 0


def test_numbers_of_classes_and_enums():
    y = np.zeros(8, np.int32)
    numbers[1, 1](y, 9, 0.0)
    assert y.tolist() == [3, 6, 7, 77, 4, 3 + 30, 1, 0]


def test_a_number_of_a_class_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch):
    y = np.zeros(8, np.int32)
    numbers[1, 1](y, 9, 0.0)
    monkeypatch.setattr(Limits, "ROWS", 13)
    numbers[1, 1](y, 9, 0.0)
    assert y[3] == 91


CONSTANT = """
from prism.lang import grid, group, id, int32, partition, prism, ptr, requires, thread

N = 1

@prism("global")
@requires(grid[1], thread[1])
def k(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = N
"""


def test_a_constant_of_the_file_that_changes_is_seen(tmp_path: Path):
    kernel, y = kernel_of(tmp_path, CONSTANT), np.zeros(1, np.int32)
    kernel[1, 1](y)
    kernel.python.__globals__["N"] = 7
    kernel[1, 1](y)
    assert y[0] == 7


@pytest.mark.parametrize("given", [np.float32, np.dtype("float32"), "float32", float32])
def test_types_of_numpy_are_template_arguments(given):
    y = np.zeros(4, np.float32)
    filled[1, 4](y, template={"T": given})
    assert (y == 2).all()


@template(T=dtype)
@prism("global")
@requires(grid[1], thread[1])
def filled(y: ptr(T) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = T(2)


@pytest.mark.parametrize(("a", "b"), [(0, 3), (1, 3), (3, 3), (4, 3), (np.int64(7), np.int32(2))])
def test_cdiv_on_the_host(a, b):
    assert cdiv(a, b) == -(-int(a) // int(b)) and type(cdiv(a, b)) is int
