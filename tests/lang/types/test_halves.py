"""`float16` and `bfloat16`: rounding, arithmetic rounded an operation, conversions, memory, and the C++ that says the same.

Tests of prism/lang/emit/halves.py; prism/lang/types/shorts.py.
"""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import run
from prism.interpret.values import binary, cast
from prism.lang import (
    CompileError,
    bf16,
    block,
    const,
    dtype,
    float16,
    grid,
    group,
    half,
    id,
    partition,
    prism,
    ptr,
    requires,
    shared,
    shuffle_xor,
    template,
    thread,
)  # fmt: skip
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, SCALARS
from prism.lang.types.shorts import bf16_bits, bf16_values, round_bf16, short_bits

ARCHES = ["sm_80", "sm_90a"]


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype)
def axpy(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], a: T @ grid[1], f: ptr(float) @ grid[1], n: ptr(int) @ grid[1]
):
    with partition(y, thread[1], id()) as out:
        with partition(f, thread[1], id()) as wide:
            with partition(n, thread[1], id()) as whole:
                t: int @ thread[1] = id()
                with group(block[1]):
                    exchange: shared(T[32]) @ block[1]
                    with partition(exchange, thread[1], id()) as mine:
                        with group(thread[1]):
                            mine[0] = x[t]
                    other: T @ thread[1] = shuffle_xor(exchange[id(thread[1])], 1)
                    with group(thread[1]):
                        v: T[2] @ thread[1]
                        v[0] = a * x[t] + other
                        v[1] = -v[0] / 3.0 if v[0] < 1.5 and x[t] != other else max(v[0], other)
                        wide[0] = v[1] + 0.1 * v[0]
                        whole[0] = int(v[0])
                        out[0] = wide[0]


@pytest.mark.parametrize("kind", [half, bf16], ids=str)
@pytest.mark.parametrize("arch", ARCHES)
def test_compiles(kind, arch, nvrtc):
    text = package.compile(axpy, {"T": kind}, arch=arch).cuda
    log = nvrtc(text, arch.rstrip("a")).log
    assert "error" not in log
    assert ("struct __align__(2) px_half" in text) is (kind == half)


def reference(kind, x, a):
    if kind == half:
        of = np.float16
    else:

        def of(v):
            return round_bf16(np.asarray(v, np.float32))

    x = of(x)
    other = x.reshape(-1, 2)[:, ::-1].ravel()
    a = of(a)
    v = of(of(a * x) + other)
    w = np.where((v < 1.5) & (x != other), of(of(-v) / of(np.full_like(v, 3.0))), np.maximum(v, other))
    return of(w), v


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("kind", [half, bf16], ids=str)
def test_arithmetic_is_rounded_each_time(kind, check):
    rng = np.random.default_rng(3)
    x = rng.normal(size=64).astype(np.float32)
    stored = x.astype(np.float16) if kind == half else bf16_bits(x)
    y = np.zeros_like(stored)
    f, n = np.zeros(64, np.float32), np.zeros(64, np.int32)
    run(package.check(axpy, {"T": kind}), 2, 32, [stored, y, 0.7, f, n], check=check)
    w, v = reference(kind, x, 0.7)
    tenth = np.float16(0.1) if kind == half else round_bf16(np.float32(0.1))
    total = w + (tenth * v if kind == half else round_bf16(tenth * v))
    expected = total if kind == half else round_bf16(total)
    assert np.array_equal(f, expected.astype(np.float32))
    assert np.array_equal(n, v.astype(np.int32))
    assert np.array_equal(y, f.astype(np.float16) if kind == half else bf16_bits(f))


def test_rounding_to_bf16():
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = bf16_values(bits)
    nan = np.isnan(values)
    assert np.array_equal(bf16_bits(values)[~nan], bits[~nan])
    assert np.all(np.isnan(bf16_values(bf16_bits(values[nan]))))
    assert short_bits(1.0 + 2**-8, BFLOAT16) == 0x3F80, "a tie goes to even"
    assert short_bits(1.0 + 3 * 2**-8, BFLOAT16) == 0x3F82
    assert short_bits(1.0 + 2**-8 + 2**-40, BFLOAT16) == 0x3F81, "a double is rounded once"
    assert short_bits(3.4e38, BFLOAT16) == 0x7F80 == short_bits(float("inf"), BFLOAT16)
    assert short_bits(1e6, FLOAT16) == 0x7C00 and short_bits(1.5, FLOAT16) == 0x3E00


@pytest.mark.parametrize("scalar", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "<", "=="])
def test_one_value_and_many_agree(scalar, op):
    rng = np.random.default_rng(1)
    wide = (rng.normal(size=(2, 4000)) * 2.0 ** rng.integers(-20, 16, size=(2, 4000))).astype(np.float32)
    with np.errstate(all="ignore"):
        values = wide.astype(np.float16) if scalar == FLOAT16 else round_bf16(wide)
    apply = binary(op, scalar)
    with np.errstate(all="ignore"):
        many = apply(values[0], values[1])
        one = [apply(float(a), float(b)) for a, b in values.T[:1000]]
    assert np.array_equal(np.asarray(one, many.dtype), many[:1000], equal_nan=op != "<" and op != "==")


def test_conversions():
    assert cast(INT32, BFLOAT16)(257) == 256.0 and cast(INT64, BFLOAT16)(2**40 + 1) == 2.0**40
    assert cast(FLOAT64, BFLOAT16)(1.0 + 2**-8 + 2**-40) == 1.0078125
    assert cast(BFLOAT16, FLOAT16)(65536.0) == float("inf") and cast(FLOAT16, INT32)(2.75) == 2
    assert np.array_equal(cast(FLOAT32, BFLOAT16)(np.float32([1.00390625, 3.0])), np.float32([1.0, 3.0]))


def test_the_two_do_not_mix():
    @prism("device")
    @requires(thread[1])
    def f(a: half @ thread[1], b: bf16 @ thread[1]):
        c: float @ thread[1] = a * b

    with pytest.raises(CompileError) as caught:
        package.check(f)
    assert caught.value.code == "type" and "float16 and bfloat16" in str(caught.value)


def test_names_and_dtypes():
    assert half is float16 is SCALARS["float16"] and str(bf16) == "bfloat16"
    for given in ("half", "float16", np.float16, np.dtype("float16")):
        assert package.check(axpy, {"T": given}).entry.parameters[0].type.element == FLOAT16
    assert package.check(axpy, {"T": "bf16"}).entry.parameters[2].type == BFLOAT16


def test_launched_on_numpy_arrays():
    x = np.arange(32, dtype=np.float16)
    y, f, n = np.zeros(32, np.float16), np.zeros(32, np.float32), np.zeros(32, np.int32)
    axpy[1, 32](x, y, 2.0, f, n, check=True)
    assert n[3] == 2 * 3 + 2
    bits = bf16_bits(np.arange(32, dtype=np.float32))
    axpy[1, 32](bits, np.zeros(32, np.uint16), 2.0, f, n, template={"T": bf16}, check=True)
    assert n[3] == 2 * 3 + 2
