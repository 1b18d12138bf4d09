"""Arrays whose elements are listed: `v: float32[4] = [a, b, c, d]`, `v = [v[1], v[0]]`.

Tests of prism/lang/check/lists.py.
"""

# ruff: noqa: F821 - locals that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES
from prism.lang import (
    CompileError,
    block,
    const,
    constexpr,
    dtype,
    float32,
    grid,
    group,
    id,
    int8,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    struct,
    template,
    thread,
    vector,
)  # fmt: skip


@struct
class Pair:
    first: int32
    second: float32


@prism("device")
@requires(thread[1])
def sum_of(v: int32[3] @ thread[1]) -> int32 @ thread[1]:
    return v[0] + 10 * v[1] + 100 * v[2]


@prism("global")
@requires(grid[1], block[1], thread[32])
def listed(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 12 * i) as mine, group(block[1]):
        weights: const(int32[3]) = [1, 4, 1]  # the block's
        u: int32[3] @ thread[1] = [x[i], n, i]  # each thread's, in the block's code
        with group(thread[1]):
            total: int32 = 0
            for k in range(3):
                total += weights[k] * u[k]
            mine[0] = total
            v: int32[3] = [u[2], u[1], u[0]]
            v = [v[1], v[2], v[0] + 1]
            mine[1], mine[2], mine[3] = v[0], v[1], v[2]
            m: int32[2, 2] = [[1, 2], [3, i]]
            m = [[m[1, 1], 5], [m[0, 0], m[0, 1]]]
            mine[4], mine[5], mine[6], mine[7] = m[0, 0], m[0, 1], m[1, 0], m[1, 1]
            p: Pair[2] = [Pair(1, 2.5), Pair(i, 0.5)]
            mine[8] = p[0].first + p[1].first + int32(2 * (p[0].second + p[1].second))
            w: vector(int32, 2)[1] = [vector(int32, 2)(3, n)]
            mine[9] = w[0][1]
            v = [sum_of(v), 1, 2]
            mine[10] = v[0]
            narrow: int8[2] = [int8(x[i]), 3]
            mine[11] = int32(narrow[0]) * narrow[1]


def test_elements_in_order() -> None:
    x = np.arange(64, dtype=np.int32) + 7
    for schedule in SCHEDULES:
        y = np.zeros(64 * 12, np.int32)
        listed[1, 64](x, y, 5, check=True, schedule=schedule)
        i = np.arange(64)
        columns = [x + 20 + i, 5 + 0 * i, x, i + 1, i, 5 + 0 * i, 1 + 0 * i, 2 + 0 * i, 1 + i + 6, 5 + 0 * i]
        columns += [5 + 10 * x + 100 * (i + 1), ((x + 128) % 256 - 128) * 3]
        assert np.array_equal(y.reshape(64, 12), np.stack(columns, 1))


def test_the_text_sets_the_elements_one_by_one() -> None:
    source = package.compile(listed, arch="sm_90a").cuda
    assert "int m_[2][2];  // line" in source and "m_[0][1] = 2;" in source and "m_[1][1] = i_;" in source
    assert "v_[0] = u_[2];" in source  # nothing of `v` is read: no values first
    assert "int new_v_0_ = v_[1];" in source and "v_[0] = new_v_0_;" in source


def refused(kernel) -> str:
    with pytest.raises(CompileError) as caught:
        package.check(kernel)
    return str(caught.value)


def test_what_varies_is_no_element_of_a_blocks_array() -> None:
    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def kernel():
        t: int32 @ thread[1] = id()
        with group(block[1]):
            v: int32[2] = [1, t]

    assert "write-down" in refused(kernel) and "varies per thread" in refused(kernel)


def test_a_const_array_is_not_assigned() -> None:
    @prism("device")
    @requires(thread[1])
    def kernel():
        v: const(int32[2]) = [1, 2]
        v = [2, 1]

    assert "error[const]" in refused(kernel)


def test_a_broader_codes_array_is_not_assigned() -> None:
    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def kernel():
        with group(block[1]):
            v: int32[2] = [1, 2]
            with group(thread[1]):
                v = [2, 1]

    assert "error[write-down]" in refused(kernel) or "error[write-up]" in refused(kernel)


def test_floats_are_no_integers_unasked() -> None:
    @prism("device")
    @requires(thread[1])
    def kernel(x: float32 @ thread[1]):
        v: int32[2] = [1, x]

    assert "error[type]" in refused(kernel) and "int(x)" in refused(kernel)


@prism("global")
@template(T=dtype, N=constexpr(int))
@requires(grid[1], thread[1])
def of_a_template(y: ptr(T) @ grid[1]):
    with partition(y, thread[1], N * id()) as mine, group(thread[1]):
        v: T[N] = [1, 2, 3]
        for k in range(N):
            mine[k] = v[k]


def test_of_a_templates_type_and_length() -> None:
    y = np.zeros(3, np.float32)
    of_a_template[1, 1](y, template={"N": 3}, check=True)
    assert y.tolist() == [1, 2, 3]
    with pytest.raises(CompileError) as caught:
        package.check(of_a_template, {"T": "int32", "N": 4})
    assert "4 values belong here, and 3 are listed" in str(caught.value)


def test_no_list_elsewhere() -> None:
    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def kernel(y: ptr(int32) @ grid[1]):
        with group(block[1]):
            s: shared(int32[2]) = [1, 2]

    assert "error[shared-alloc]" in refused(kernel)

    @prism("device")
    @requires(thread[1])
    def number():
        n: int32 = [1]

    assert "a list stands only as an array's value" in refused(number)
