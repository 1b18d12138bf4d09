"""Results of intrinsics in indices: equal where the function, its arguments and their types are the same, and not otherwise."""

from collections.abc import Callable

import numpy as np
import pytest

from prism.interpret import RaceError
from prism.lang import clz, grid, group, id, int32, int64, intrinsic, partition, prism, ptr, requires, thread
from prism.lang.pipeline import build
from prism.lang.safety import verdicts
from prism.lang.surface import Kernel


def shift(by: int) -> Callable[..., object]:
    @intrinsic(f"a + {by}", meaning=lambda a: a + np.int32(by))
    def shifted(a: int32) -> int32:
        """One of several with this name."""

    return shifted


one, two = shift(1), shift(2)


@prism("global")
@requires(grid[1], thread[32])
def same(y: ptr(int32) @ grid[1], p: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 0) as mine, group(thread[1]):
        mine[clz(p) + i] = 1
        mine[clz(p) + i] = 2


@prism("global")
@requires(grid[1], thread[32])
def names(y: ptr(int32) @ grid[1], p: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 0) as mine, group(thread[1]):
        mine[one(p) + i] = 1
        mine[two(p) + i] = 2


@prism("global")
@requires(grid[1], thread[64])
def widths(y: ptr(int32) @ grid[1], p: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 0) as mine, group(thread[1]):
        mine[clz(p) + i] = 1
        mine[clz(int64(p)) + i] = 2


def is_proved(kernel: Kernel) -> bool:
    return all(one.status == "proved" for one in verdicts(build(kernel)) if one.kind == "partition")


def test_one_function_of_equal_numbers_is_equal() -> None:
    assert is_proved(same)


@pytest.mark.parametrize("kernel", [names, widths])
def test_functions_that_differ_are_not_taken_for_one(kernel: Kernel) -> None:
    assert not is_proved(kernel)
    with pytest.raises(RaceError):
        kernel[1, 64](np.zeros(256, np.int32), 5, check=True)
