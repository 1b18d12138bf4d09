"""Names that mean something to CUDA, and fields that may be called anything: on the GPU as on the reference machine."""

from __future__ import annotations

import numpy as np
import pytest

from prism.lang import const, dtype, grid, group, id, int32, partition, prism, ptr, requires, template, thread
from tests.lang.cuda.test_names import EVIL, FIELDS, record

cupy = pytest.importorskip("cupy")


@prism("global")
@template(T=dtype)
@requires(grid[1], thread[1])
def reversed_records(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = x[n - 1 - i]


@pytest.mark.parametrize("names", [("a[4]", "b"), (EVIL, "b"), ("class", "int", "é", "a b"), tuple(FIELDS)], ids=len)
def test_fields_of_any_name_lie_where_numpy_has_them(names: tuple[str, ...]) -> None:
    host = np.zeros(64, record(*names))
    for k, name in enumerate(names):
        host[name] = 1000 * k + np.arange(64)
    x = cupy.asarray(host.view(np.uint8)).view(host.dtype)
    y = cupy.zeros_like(x)
    reversed_records[1, 64](x, y, 64)
    assert cupy.asnumpy(y.view(cupy.uint8)).view(host.dtype).tolist() == host[::-1].tolist()


@prism("global")
@requires(grid[1], thread[1])
def named(printf: ptr(int32) @ grid[1], CUDART_VERSION: int32 @ grid[1]):
    threadIdx: int32 @ thread[1] = id()
    with partition(printf, thread[1], threadIdx) as linux, group(thread[1]):
        NULL: int32 = CUDART_VERSION + threadIdx
        linux[0] = NULL


def test_names_of_cudas() -> None:
    y = cupy.zeros(32, cupy.int32)
    named[1, 32](y, 7)
    assert cupy.asnumpy(y).tolist() == list(range(7, 39))
