"""Shared memory that is sized at launch, on the GPU: of each size, above 48 KiB too, and the refusal of what is too much."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.runtime.device import device
from prism.runtime.launch import prepare
from tests.interpret.sized_kernels import (
    handed_over,
    handed_over_expected,
    histogram,
    reversed_rows,
    several,
    several_expected,
)

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize("columns", [1, 77, 12_288, 12_289, 50_000])
def test_a_row_of_any_length(columns: int) -> None:
    x = cupy.random.default_rng(0).random((5, columns), np.float32)
    y = cupy.zeros_like(x)
    reversed_rows[5, 256](x, y)
    assert cupy.array_equal(y, x[:, ::-1])


def test_launches_of_one_kernel_have_each_its_own_size() -> None:
    x = cupy.random.default_rng(0).integers(0, 256, 5000, np.uint8)
    for bins in (37, 20_000, 1, 37, 58_112):
        y = cupy.zeros(bins, np.int32)
        histogram[1, 256](x, y, 5000, bins)
        assert np.array_equal(y.get(), np.bincount(x.get().astype(int) % bins, minlength=bins))


@pytest.mark.parametrize(("n", "m"), [(10, 3), (33, 70), (4000, 9001)])
def test_several_objects(n: int, m: int) -> None:
    y = cupy.zeros((6 * 128, 4), np.int32)
    several[6, 128](y, n, m)
    assert np.array_equal(y.get(), several_expected(128, 6, n, m))


def test_a_claim_for_a_role_and_parts_of_warps() -> None:
    x = np.random.default_rng(0).integers(0, 99, (30, 4001), np.int32)
    y = cupy.zeros_like(cupy.asarray(x))
    handed_over[1, 64](cupy.asarray(x), y, 4001, 30)
    assert np.array_equal(y.get(), handed_over_expected(x))


def test_too_much_is_refused_with_the_limit_and_nothing_is_launched() -> None:
    limit = device(0).shared_limit
    x, y = cupy.zeros(4, np.uint8), cupy.zeros(4, np.int32)
    fault = rf"needs {limit + 4} bytes of shared memory a block, and GPU 0 has {limit}: `mine` {limit + 4} bytes, with bins = "
    with pytest.raises(prism.LaunchError, match=fault):
        histogram[1, 32](x, y, 4, limit // 4 + 1)
    assert not y.any()


def test_in_a_graph_and_in_the_driver_own_count_of_blocks() -> None:
    x = cupy.random.default_rng(0).random((5, 30_000), np.float32)
    y = cupy.zeros_like(x)
    reversed_rows[5, 256](x, y)
    y[...] = 0
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        stream.begin_capture()
        reversed_rows[5, 256](x, y)
        graph = stream.end_capture()
        graph.launch(stream)
    stream.synchronize()
    assert cupy.array_equal(y, x[:, ::-1])
    launcher = prepare(prism.compile(reversed_rows, arch=device(0).arch).entry, 0)
    assert launcher.resident_blocks(256, 120_000) == device(0).sm_count < launcher.resident_blocks(256, 1000)
