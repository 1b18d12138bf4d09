"""C's arithmetic: one value for all and one a thread agree with each other, and with ctypes.

Tests of prism/interpret/values.py.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.interpret import run
from prism.interpret.values import binary, cast, dtype_of, unary, wrap
from prism.lang import block, const, dtype, grid, group, id, int32, partition, prism, ptr, requires, template, thread
from prism.lang.types import SCALARS, Scalar

INTEGERS = [s for s in SCALARS.values() if s.integral]
C = {f"{kind}{bits}": getattr(ctypes, f"c_{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def oracle(op: str, a: int, b: int, scalar: Scalar):
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    found = {
        "+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b, "/": quotient,
        "%": a - b * quotient if b else 0, "<<": a << (b % scalar.bits), ">>": a >> (b % scalar.bits),
    }  # fmt: skip
    if op in found:
        return C[scalar.name](found[op]).value
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_integers(data):
    scalar = data.draw(st.sampled_from(INTEGERS))
    low, high = (
        (0, 2**scalar.bits - 1) if scalar.kind == "uint" else (-(2 ** (scalar.bits - 1)), 2 ** (scalar.bits - 1) - 1)
    )
    values = st.one_of(st.integers(low, high), st.sampled_from([low, high, 0, 1]))
    op = data.draw(
        st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="])
    )
    a, b = data.draw(values), data.draw(values)
    if op in ("<<", ">>"):
        b %= scalar.bits
    if op in "/%" and (b == 0 or (a == low and b == -1)):
        return
    expected = oracle(op, a, b, scalar)
    apply, dtype_ = binary(op, scalar), np.dtype(scalar.numpy)
    one, two = np.array([a, a], dtype_), np.array([b, b], dtype_)
    assert apply(a, b) == expected
    for found in (apply(one, two), apply(a, two), apply(one, b)):
        assert found.tolist() == [expected, expected]
        assert found.dtype == (bool if isinstance(expected, bool) else dtype_)


@pytest.mark.parametrize("scalar", INTEGERS)
def test_unary(scalar):
    for value in (0, 1, wrap(scalar)(2 ** (scalar.bits - 1))):
        for op, expected in (("-", -value), ("~", ~value)):
            found = unary(op, scalar)
            assert found(value) == C[scalar.name](expected).value == found(np.array([value], scalar.numpy))[0]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(list(SCALARS.values())), st.sampled_from(list(SCALARS.values())), st.integers(-(2**63), 2**64 - 1)
)
def test_casts_of_integers(source, target, value):
    value = wrap(source)(value)
    if source.kind == "float" and target.integral:
        return
    one = cast(source, target)(value)
    many = cast(source, target)(np.array([value], dtype_of(source)))
    assert many.dtype == dtype_of(target)
    assert one == many[0]
    if target.integral:
        assert one == C[target.name](int(value)).value


STRANGE = (1.9, -1.9, -0.5, 300.0, -129.0, 70000.0, 2.5e9, -2.5e9, 1e30, -1e30, math.nan, math.inf, -math.inf)
"""Floats out of the range of some integers: `convert` gives what F2I does, as tests/gpu/test_constructs.py sees."""


def convert(value: float, name: str, double: bool) -> int:
    """What the hardware makes of a float: 32 bits, or 64, to which it saturates; narrower integers are the lowest bits."""
    target = SCALARS[name]
    bits = max(target.bits, 32)
    least = -(1 << bits - 1) if target.kind == "int" else 0
    if math.isnan(value):
        whole = 1 << bits - 1 if double or bits == 64 else 0
    else:
        whole = int(min(max(value, least), least + (1 << bits) - 1)) if math.isfinite(value) else 0
        whole = least if value == -math.inf else least + (1 << bits) - 1 if value == math.inf else whole
    return int(C[name](whole).value)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_casts_of_floats_saturate_as_the_hardware(name):
    for target in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        change = cast(SCALARS[name], SCALARS[target])
        many = change(np.array(STRANGE, name))
        for value, found in zip(STRANGE, many, strict=True):
            wanted = convert(float(np.dtype(name).type(value)), target, name == "float64")
            assert change(value) == wanted == found, (target, value)
    assert cast(SCALARS["float64"], SCALARS["int32"])(math.nan) == -(2**31)  # where an index of 0 hides what is wrong
    assert cast(SCALARS["float32"], SCALARS["int32"])(math.nan) == 0


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=dtype)
def to_integers(x: ptr(const(T)) @ grid[1], y: ptr(OP) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out, group(thread[1]):
        out[0] = OP(x[g])


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32), st.floats(width=32), st.sampled_from(["+", "-", "*", "/", "%"]))
def test_float32_stays_float32(a, b, op):
    scalar = SCALARS["float32"]
    with np.errstate(all="ignore"):
        one = binary(op, scalar)(a, b)
        many = binary(op, scalar)(np.array([a], "f4"), b)
        assert many.dtype == np.float32
        assert np.array_equal(np.float32(one), many[0], equal_nan=True)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype)
def mixed(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], k: T @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            v: T @ thread[1] = x[g]
            w: T @ thread[1] = v * k + (v // k if T.integral else v / k) - k
            out[0] = w if v > k else -w


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "uint8", "uint32", "float32", "float64"])
def test_a_program_s_types(program, name):
    dtype_ = np.dtype(name)
    x = np.arange(-16, 16).astype(dtype_)
    for check in (False, True):
        y = np.zeros(32, dtype_)
        run(program(mixed, T=SCALARS[name]), 1, 32, [x, y, 3], check=check)
        k = dtype_.type(3)
        if dtype_.kind == "f":
            w = (x * k + x / k - k).astype(dtype_)
        else:
            w = x * k + np.trunc(x.astype(float) / 3).astype(dtype_) - k
        assert np.array_equal(y, np.where(x > k, w, -w))
