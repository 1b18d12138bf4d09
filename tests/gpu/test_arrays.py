"""Arrays with axes on the GPU: CuPy's and torch's, of any strides; and generated programs, with the strides of their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.lang import cdiv
from tests.generated.edge_arrays import program
from tests.generated.programs import loaded
from tests.interpret.array_kernels import TILE, facts, row_sums, scaled, transposed
from tests.interpret.test_arrays import filled, layouts

cupy = pytest.importorskip("cupy")


def on_gpu(x: Any) -> Any:
    """A CuPy array of the same strides, and whatever lies between its elements."""
    steps = [(n - 1) * stride for n, stride in zip(x.shape, x.strides, strict=True)]
    low, high = -sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    memory = cupy.zeros((low + high) // x.itemsize + 1, x.dtype)
    made = cupy.ndarray(x.shape, x.dtype, memory.data + low, x.strides)
    made[...] = cupy.asarray(np.ascontiguousarray(x))
    return made


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_any_strides(dtype: str) -> None:
    for x in map(filled, layouts((61, 37), dtype)):
        for y in layouts((61, 37), dtype):
            got = on_gpu(y)
            assert got.strides == y.strides
            scaled[cdiv(61 * 37, 64), 64](on_gpu(x), got, np.dtype(dtype).type(2))
            assert np.array_equal(got.get(), (2 * x).astype(dtype))


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (190, 133), (3, 2400)])
def test_tiles_of_an_array(shape: tuple[int, int]) -> None:
    x = cupy.random.default_rng(1).random(shape[::-1], dtype=np.float32).T
    y = cupy.zeros(shape[::-1], np.float32)[:, ::-1]
    transposed[cdiv(shape[0], TILE) * cdiv(shape[1], TILE), 64](x, y)
    assert cupy.array_equal(y, x.T)


def test_a_device_function_takes_an_array_and_its_shape() -> None:
    x = cupy.arange(40 * 70).reshape(70, 40).T[:, ::-1]
    y = cupy.zeros(80, np.int64)[::-2]
    row_sums[2, 32](x, y)
    assert cupy.array_equal(y, x.sum(axis=1))


def test_shapes_and_strides_are_the_launch_s() -> None:
    y, x = cupy.zeros(7, np.int64), cupy.zeros((6, 8, 10), np.float32)[::-2, :, ::3]
    facts[1, 1](y, x)
    assert y.tolist() == [3, 3, 8, 4, -160, 10, 3]


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(61 * 37, device="cuda", dtype=torch.float32).reshape(37, 61).t()
    y = torch.zeros(61, 74, device="cuda")[:, ::2]
    scaled[cdiv(61 * 37, 64), 64](x, y, 2.0)
    assert torch.equal(y, 2 * x)
    wide = torch.zeros(3, 5, device="cuda").expand(3, 5)
    with pytest.raises(ValueError, match="share memory"):
        scaled[1, 32](wide, torch.zeros(1, device="cuda").expand(3, 5), 1.0)


def test_generated_programs_with_their_strides() -> None:
    for seed in range(40):
        edge = program(seed)
        if edge.why != "in bounds":
            continue
        with loaded(edge.head + edge.text) as names:
            arguments = [on_gpu(x) for x in edge.inputs()]
            names["kernel"][edge.blocks, edge.threads](*arguments)
            assert np.array_equal(arguments[0].get(), edge.expected[0]), seed
