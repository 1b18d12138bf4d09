"""float8_e4m3fn and float8_e5m2: every value both ways against ml_dtypes, memory of all kinds, the C++, what is refused."""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import linecache
import re
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

import prism as package
from prism.interpret.values import cast
from prism.lang import (
    CompileError,
    CUtensorMap,
    bfloat16,
    bitcast,
    block,
    claim,
    column,
    const,
    count,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    fragment,
    grid,
    group,
    id,
    int32,
    load_vector,
    mailbox,
    one,
    partition,
    prism,
    ptr,
    publish,
    receive,
    requires,
    roles,
    row,
    shared,
    shuffle_xor,
    sqrt,
    store_vector,
    struct,
    template,
    thread,
    tma_load,
    uint8,
    vector,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.emit.halves import short_pieces
from prism.lang.types import SCALARS
from prism.lang.types.shorts import bits_of, round_short, short_bits, values_of

KINDS = [float8_e4m3fn, float8_e5m2]
PEER = {float8_e4m3fn: ml_dtypes.float8_e4m3fn, float8_e5m2: ml_dtypes.float8_e5m2}
LARGEST = {float8_e4m3fn: 448.0, float8_e5m2: 57344.0}
PATTERNS = np.arange(256, dtype=np.uint8)


def numbers(kind, wide=np.float32):
    """What ml_dtypes says that the 256 patterns are."""
    return PATTERNS.view(PEER[kind]).astype(wide)


def saturated(values, kind):
    """The bits of the nearest of ml_dtypes' finite values, of two the one with an even pattern; of NaN, 0x7F."""
    with np.errstate(all="ignore"):
        values = np.asarray(values).astype(np.float64)
    table = numbers(kind, np.float64)[:128]
    table = table[np.isfinite(table)]
    ties = (table[1:] + table[:-1]) / 2
    below = np.searchsorted(ties, np.abs(values))
    tied = np.append(ties, np.nan)[below] == np.abs(values)
    code = below + (tied & (below % 2 == 1)) | np.signbit(values) << 7
    return np.where(np.isnan(values), 0x7F, code).astype(np.uint8)


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    return request.param


# -- values ---------------------------------------------------------------------------------------------------------------


def test_every_value(kind):
    found = values_of(PATTERNS, kind)
    assert found.dtype == np.float32 and np.array_equal(found, numbers(kind), equal_nan=True)
    assert np.array_equal(np.signbit(found), PATTERNS >= 128)
    back = bits_of(found, kind)
    special = ~np.isfinite(found)
    assert np.array_equal(back[~special], PATTERNS[~special])
    assert np.nanmax(np.where(special, 0, found)) == LARGEST[kind]


@pytest.mark.parametrize("wide", [np.float16, np.float32, np.float64])
def test_values_ties_and_their_neighbours_round(kind, wide):
    """Each finite value, what lies half way to the next, and the nearest to that on both sides."""
    finite = np.sort(numbers(kind, np.float64)[np.isfinite(numbers(kind))])
    ties = (finite[1:] + finite[:-1]) / 2
    exact = np.concatenate([finite, ties])
    given = exact.astype(wide)
    assert np.array_equal(given.astype(np.float64), exact), "they are exact in the wider type"
    some = [given, np.nextafter(given, wide(np.inf)), np.nextafter(given, wide(-np.inf)), -given]
    beyond = np.array([449, 464, 465, 479, 480, 512, 57345, 61440, 65504], wide)
    values = np.concatenate([*some, beyond, -beyond, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], wide)])
    assert np.array_equal(bits_of(values, kind), saturated(values, kind))
    assert [short_bits(float(x), kind) for x in values[::7]] == saturated(values[::7], kind).tolist()


def test_random_floats_round(kind):
    words = np.random.default_rng(5).integers(0, 1 << 32, 1 << 18, np.uint64).astype(np.uint32)
    values = words.view(np.float32)
    found = bits_of(values, kind)
    assert np.array_equal(found, saturated(values, kind))
    inside = np.abs(values) <= LARGEST[kind]
    assert np.array_equal(found[inside], values[inside].astype(PEER[kind]).view(np.uint8)), "as ml_dtypes rounds"


def test_a_double_and_an_integer_are_rounded_once(kind):
    tie = 1.0 + (2.0**-4 if kind == float8_e4m3fn else 2.0**-3)
    assert round_short(tie, kind) == 1.0 and round_short(tie + 2.0**-50, kind) == 2 * tie - 1
    assert cast(float64, kind)(tie + 2.0**-50) == 2 * tie - 1
    assert cast(SCALARS["int64"], kind)(2**40) == LARGEST[kind] and cast(int32, kind)(17) == round_short(17, kind)
    assert np.array_equal(cast(float64, kind)(np.array([tie, tie + 2.0**-50])), np.float32([1.0, 2 * tie - 1]))


def test_to_and_from_the_other_floats(kind):
    values = values_of(PATTERNS, kind)
    for other in (float16, bfloat16, float32, float64):
        wider = cast(kind, other)(values)
        assert np.array_equal(np.asarray(wider, np.float64), values.astype(np.float64), equal_nan=True), (
            "widening is exact"
        )
        assert np.array_equal(bits_of(cast(other, kind)(wider), kind), saturated(values, kind))


# -- memory ---------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, U=dtype)
def converted(x: ptr(const(U)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(U) @ grid[1], a: T @ grid[1]):
    with partition(y, thread[1], id()) as out, partition(z, thread[1], id()) as back:
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            w: T[2]
            w[0] = T(x[t])
            w[1] = 2.0
            out[0] = w[0] if t != 3 else a
            back[0] = U(float(out[0]) * w[1])


@pytest.mark.parametrize("other", [float32, float64, float16, int32, uint8], ids=str)
def test_converted(kind, other):
    values = np.concatenate([np.arange(28), [100, 449, 60000, 200]]).astype(other.numpy)
    y, z = np.zeros(32, np.uint8), np.zeros(32, other.numpy)
    converted[1, 32](values, y, z, 0.3, template={"T": kind}, check=True)
    want = saturated(values.astype(np.float64), kind)
    want[3] = saturated(np.float64(0.3), kind)
    assert np.array_equal(y, want)
    doubled = 2 * want.view(PEER[kind]).astype(np.float64)
    if other.kind != "float":
        doubled = doubled.clip(0, np.iinfo(np.int32).max).astype(np.int64)  # of 8 bits these are the lowest
    with np.errstate(all="ignore"):
        assert np.array_equal(z, doubled.astype(z.dtype))


@pytest.mark.parametrize("other", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a"])
def test_compiles(kind, other, arch, nvrtc):
    made = nvrtc(package.compile(converted, {"T": kind, "U": other}, arch=arch).cuda, arch.rstrip("a"))
    assert "error" not in made.log and ("satfinite" in made.ptx) is (arch != "sm_80")


def test_arrays_of_ml_dtypes(kind):
    x, y, z = np.arange(32, dtype=np.float32), np.zeros(32, PEER[kind]), np.zeros(32, np.float32)
    converted[1, 32](x, y, z, 3.0, check=True)  # T is what y holds
    assert np.array_equal(y.astype(np.float32), x.astype(PEER[kind]).astype(np.float32))
    for given in (PEER[kind], np.dtype(PEER[kind]), kind.name):
        assert package.check(converted, {"T": given, "U": "float32"}).entry.parameters[3].type == kind


def test_of_another_float8_is_refused():
    given = np.zeros(32, np.float32), np.zeros(32, ml_dtypes.float8_e4m3), np.zeros(32, np.float32), 3.0
    with pytest.raises(TypeError, match="`y` must be an array of float8_e4m3fn, not of float8_e4m3"):
        converted[1, 32](*given, template={"T": float8_e4m3fn, "U": float32})


@struct
class Pair:
    a: float8_e4m3fn
    b: float8_e5m2


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype)
def moved(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], pairs: ptr(Pair) @ grid[1], bits: ptr(uint8) @ grid[1]):
    with partition(y, block[1], lambda i: id() * 128 + i) as part, partition(pairs, block[1], 0) as all_pairs:
        with partition(bits, block[1], 0) as words, group(block[1]):
            tile: shared(T[32]) @ block[1]
            t: int32 @ thread[1] = id()
            with partition(tile, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[t]
            other: T @ thread[1] = shuffle_xor(tile[t], 1)
            with partition(part, thread[1], lambda i: t * 4 + i) as out, partition(all_pairs, thread[1], t) as pair:
                with partition(words, thread[1], t) as word, group(thread[1]):
                    for k in range(4):
                        out[k] = other if k != 2 else T(0.5)
                    again: vector(T, 4) = load_vector(out[0], 4)
                    again[3] = 2.0
                    store_vector(out[0], again)
                    two: Pair = Pair(float(again[1]), 3.0)
                    two.b = 2.0 * float(two.b)
                    pair[0] = two
                    word[0] = bitcast(other, uint8)


def test_moved():
    """Shared memory, shuffles, vectors, fields of structs, bits: on the reference machine with all checks."""
    x, y = np.arange(64, 96, dtype=np.uint8), np.zeros(128, np.uint8)
    pairs, bits = np.zeros(32, Pair), np.zeros(32, np.uint8)
    moved[1, 32](x, y, pairs, bits, template={"T": float8_e4m3fn}, check=True)
    other = x.reshape(16, 2)[:, ::-1].ravel()
    assert np.array_equal(bits, other)
    assert np.array_equal(y.reshape(32, 4), np.stack([other, other, np.full(32, 0x30), np.full(32, 0x40)], axis=1))
    assert np.array_equal(pairs["a"], other) and (pairs["b"] == 0x46).all()  # 6
    assert pairs.dtype == np.dtype(Pair) and Pair(1.0, 2.0)["a"] == 0x38


@prism("global")
@requires(grid[1], block[1], thread[32])
def passed(boxes: ptr(mailbox(float8_e4m3fn)) @ grid[1], y: ptr(float32) @ grid[1]):
    with partition(boxes, block[1], 0) as own, partition(y, thread[1], id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        v: float8_e4m3fn[1] @ thread[1]
        with partition(own, thread[1], t) as mine, group(thread[1]):
            publish(mine[0], float8_e4m3fn(-1.5), 3)
            receive(mine[0], v, 1, 1, float8_e4m3fn(0.0), 3)
            out[0] = float(v[0])


def test_passed_between_blocks(nvrtc):
    y = np.zeros(32, np.float32)
    passed[1, 32](np.zeros(32, np.uint64), y, check=True)
    assert (y == -1.5).all()
    assert "error" not in nvrtc(package.compile(passed, arch="sm_90a").cuda, "sm_90a").log


def test_moved_compiles(nvrtc):
    text = package.compile(moved, {"T": float8_e4m3fn}, arch="sm_90a").cuda
    assert "error" not in nvrtc(text, "sm_90a").log
    assert "px_e4m3 a_; px_e5m2 b_;" in text


@prism("global")
@requires(grid[1], block[1], warpgroup[2])
@template(A=dtype, B=dtype)
def product(
    map_a: const(CUtensorMap(A, 64, 128, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(B, 32, 128, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1],
    k: int32 @ grid[1],
):
    with partition(c, block[1], 0) as c_block, group(block[1]):
        a: shared(A[64, 128], ring=2, swizzle=128)
        b: shared(B[32, 128], ring=2, swizzle=128)
        acc: fragment(float32, 64, 32) @ warpgroup[1] = 0
        consumer, producer = roles(warpgroup, 1, 1)
        for step in range(0, k, 128):
            with claim(a, producer) as sa, claim(b, producer) as sb, one(thread):
                tma_load(sa, map_a[0, step])
                tma_load(sb, map_b[0, step])
            with claim(a, consumer) as sa, claim(b, consumer) as sb, group(warpgroup[1]):
                wgmma(acc, sa, sb)
        with partition(c_block, thread[1], lambda i: i, races="allow") as out, consumer, group(thread[1]):
            for i in range(0, count(acc)):
                out[row(acc, i) * 32 + column(acc, i)] = acc[i]


def operand(rows, columns, kind, library, seed):
    """Random numbers, as arrays of ml_dtypes or of the bits."""
    found = np.random.default_rng(seed).normal(size=(rows, columns)).astype(PEER[kind])
    return found if library else found.view(np.uint8)


@pytest.mark.parametrize("library", [True, False], ids=["ml_dtypes", "bits"])
@pytest.mark.parametrize("other", KINDS, ids=str)
def test_products(kind, other, library):
    """All four pairs of types, of tiles that tensor copies bring: exact products, summed in float64 and rounded once a step."""
    a, b = operand(64, 256, kind, library, 1), operand(32, 256, other, library, 2)
    c = np.zeros((64, 32), np.float32)
    product[1, 256](a, b, c.ravel(), 256, template={"A": kind, "B": other}, check=True)
    left, right = a.view(PEER[kind]).astype(np.float64), b.view(PEER[other]).astype(np.float64)
    assert np.allclose(c, left @ right.T, rtol=0, atol=2**-22 * np.abs(left @ right.T).max())


def test_products_compile(kind, nvrtc):
    for other in KINDS:
        text = package.compile(product, {"A": kind, "B": other}, arch="sm_90a").cuda
        found = re.search(
            r"wgmma\.mma_async\.sync\.aligned\.m64n32k32\.f32\.(e\dm\d)\.(e\dm\d)", nvrtc(text, "sm_90a").ptx
        )
        assert found.groups() == (kind.cuda[3:], other.cuda[3:])


# -- C++ ------------------------------------------------------------------------------------------------------------------

HOST = """
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <algorithm>
using std::min;
#define __device__
#define __forceinline__ inline
static float __uint_as_float(unsigned int x) { float y; memcpy(&y, &x, 4); return y; }
static unsigned int __float_as_uint(float x) { unsigned int y; memcpy(&y, &x, 4); return y; }
static float __double2float_rz(double x) { return (float)x; }
"""
MAIN = """
int main() {
    for (uint64_t word = 0; word < (1ull << 32); word += STEP) putchar(KIND(__uint_as_float((unsigned int)word)).bits);
    for (int code = 0; code < 256 && VALUES; ++code) {
        const float x = (float)KIND_of((unsigned char)code);
        fwrite(&x, 4, 1, stdout);
    }
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_what_older_architectures_do(kind, tmp_path):
    """The conversion without the instruction, compiled for the host: 2^18 words that go through every exponent and sign."""
    step, decodes = (1 << 14) - 1, kind == float8_e4m3fn  # the other is decoded by an instruction everywhere
    (text,) = short_pieces(kind.cuda)
    if not decodes:
        text = re.sub(r"asm\(.*\);", "x = 0;", text)
    main = MAIN.replace("KIND", kind.cuda).replace("STEP", str(step)).replace("VALUES", str(int(decodes)))
    (tmp_path / "f.cpp").write_text(HOST + text + main)
    subprocess.run(["g++", "-O1", "-w", "-o", tmp_path / "f", tmp_path / "f.cpp"], check=True)
    found = subprocess.run([tmp_path / "f"], check=True, capture_output=True).stdout
    words = np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32)
    assert np.array_equal(np.frombuffer(found[: len(words)], np.uint8), saturated(words.view(np.float32), kind))
    if decodes:
        assert np.array_equal(np.frombuffer(found[len(words) :], np.float32), numbers(kind), equal_nan=True)


# -- what is refused ------------------------------------------------------------------------------------------------------


def refused(statement, **names):
    """The errors of a device function with this statement."""
    text = (
        f"def f(a: float8_e4m3fn @ thread[1], b: float8_e5m2 @ thread[1], h: float16 @ thread[1]):\n    {statement}\n"
    )
    file = f"<float8 {statement}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names |= {**globals(), "int": int, "float": float}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    with pytest.raises(CompileError) as caught:
        package.check(prism("device")(requires(thread[1])(names["f"])))
    return str(caught.value)


@pytest.mark.parametrize(
    "statement",
    ["x: float32 = a * a", "x: float32 = a + b", "x: float8_e4m3fn = a + 1", "x: float32 = a / 2.0", "x: float32 = -a",
     "x: bool = a < a",
     "x: bool = a == 0.5", "h = 0.5 - a", "a += 1.0"],
)  # fmt: skip
def test_there_are_no_operators(statement):
    found = refused(statement)
    assert "error[type]" in found and "convert to float first: `float(x)`; floats of 8 bits are for storage" in found


def test_with_a_wider_float_it_is_computed_in_that():
    @prism("device")
    @requires(thread[1])
    def f(a: float8_e4m3fn @ thread[1], x: float32 @ thread[1]) -> float32 @ thread[1]:
        y: float8_e4m3fn = 0.5 + x
        return a * x + (y if x < 1.0 else a)

    package.check(f)


@pytest.mark.parametrize(
    "statement, text",
    [
        ("x: float32 = h * a", "convert one, or both to float"),
        ("x: float32 = max(a, a)", "`maximum` takes any scalar other than a float of 8 bits"),
        ("x: float32 = abs(a)", "a number other than a float of 8 bits"),
        ("x: float32 = sqrt(a)", "a float of 16 bits or more"),
        ("x: int32 = a", "drops the fraction: `int(a)`"),
    ],
)
def test_what_else_is_refused(statement, text):
    assert text in refused(statement, sqrt=sqrt)
