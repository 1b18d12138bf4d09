"""`T()`, zero of any type; complex numbers of other numbers; a vector of one value, which is computed once."""

# ruff: noqa: F821 - template parameters

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import (
    atomic_add,
    complex64,
    complex128,
    dtype,
    float4,
    float4_cast,
    float32,
    grid,
    group,
    half8,
    half8_cast,
    id,
    int16,
    int32,
    partition,
    print_,
    ptr,
    requires,
    struct,
    template,
    thread,
    vector,
)  # fmt: skip
from prism.lang.types import FLOAT16, FLOAT64, INT8, SCALARS, UINT64
from prism.lang.types.structs import Struct


@struct
class Affine:
    scale: float32
    shift: int16


NUMBERS = (*SCALARS.values(), complex64, complex128)


def array(kind: Any, values: int) -> Any:
    return np.ones(values, kind.dtype if isinstance(kind, Struct) else kind.numpy)


@prism.lang.prism("global")
@template(T=dtype)
@requires(grid[1], thread[1])
def zeros(y: ptr(T) @ grid[1]):
    with partition(y, thread[1], 2 * id()) as mine, group(thread[1]):
        several: T[2]
        several[1] = T()
        mine[0] = T()
        mine[1] = several[1]


@pytest.mark.parametrize("kind", [*NUMBERS, Affine], ids=str)
def test_zero_of_any_type(kind: Any) -> None:
    y = array(kind, 8)
    zeros[1, 4](y, template={"T": kind}, check=True)
    assert np.array_equal(y, np.zeros_like(y))
    assert prism.compile(zeros, {"T": kind}).cubin


def test_zero_on_the_host() -> None:
    assert Affine().item() == (0.0, 0) and complex64().item() == (0.0, 0.0)
    assert complex64(2).item() == (2.0, 0.0) and complex128(1 + 2j) == complex128(1, 2)


@prism.lang.prism("global")
@template(T=dtype, S=dtype)
@requires(grid[1], thread[1])
def converted(x: ptr(S) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 2 * i) as mine, group(thread[1]):
        mine[0] = T(x[i])
        mine[1] = T(3)


@pytest.mark.parametrize("source", [INT8, UINT64, FLOAT16, FLOAT64, complex64, complex128], ids=str)
@pytest.mark.parametrize("to", [complex64, complex128], ids=str)
def test_complex_of_a_number(source: Any, to: Any) -> None:
    x, y = array(source, 4), array(to, 8)
    x[:] = [0, 1, 2, 100]
    if isinstance(source, Struct):
        x += 1j * np.pi
    converted[1, 4](x, y, template={"T": to, "S": source}, check=True)
    assert np.array_equal(y[::2], x.astype(to.dtype)) and (y[1::2] == 3).all()
    assert prism.compile(converted, {"T": to, "S": source}).cubin


@prism.lang.prism("device")
@requires(thread[1])
def called(x: float32 @ thread[1]) -> float32 @ thread[1]:
    print_("called with {}", x)
    return x + 1


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def same(y: ptr(float32) @ grid[1], n: ptr(int32) @ grid[1]):
    with partition(y, thread[1], 16 * id()) as mine, group(thread[1]):
        float4_cast[mine[0]] = float4()
        float4_cast[mine[4]] = float4(called(mine[0]))
        before: float4 = float4(atomic_add(n[0], 1))
        float4_cast[mine[8]] = before
        float4_cast[mine[12]] = vector(float32, 4)(mine[4], before[1], 2, 3)


def test_one_value_of_a_vector_is_computed_once(capsys: Any) -> None:
    y, n = np.full(16, 7, np.float32), np.full(1, 5, np.int32)
    same[1, 1](y, n, check=True)
    assert y.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 5, 5, 5, 5, 1, 5, 2, 3] and n[0] == 6
    assert capsys.readouterr().out.count("called") == 1
    compiled = prism.compile(same)
    assert compiled.cubin and compiled.cuda.count("_int32(n_, 1)") == 1


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def halves(y: ptr(FLOAT16) @ grid[1], n: ptr(int32) @ grid[1]):
    with partition(y, thread[1], 8 * id()) as mine, group(thread[1]):
        half8_cast[mine[0]] = half8(atomic_add(n[0], 1))


def test_vectors_of_short_floats_of_one_value() -> None:
    y, n = np.zeros(16, np.float16), np.full(1, 5, np.int32)
    halves[1, 2](y, n, check=True)
    assert y.tolist() == 8 * [5] + 8 * [6]
    assert prism.compile(halves).cubin
