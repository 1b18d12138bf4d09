"""wgmma: what it compiles to, what its descriptors point at, what it means, what is wrong with it."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.wgmma import (
    columns_allowed,
    descriptor,
    extents,
    launched_registers,
    numbers,
    start_problem,
    steps,
)
from prism.lang.types import (
    BFLOAT16,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    UINT8,
    Fragment,
    Pointer,
    tiles,
)  # fmt: skip
from prism.runtime.compile import compile_cubin
from tests.lang.intrinsics.wgmma_kernels import WGMMA, bound, cases, kernel, simple, together

CASES = dict(cases())
RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def clean():
    """Compile a text for Hopper, and return it: the assembler neither serialises wgmmas nor spills."""

    def compile_(text):
        made = compile_cubin(text, "sm_90a")
        assert not re.search(r"C7\d\d\d", made.log), made.log
        assert made.stack == made.spills == 0, made.log
        return made

    return compile_


# -- C++ --------------------------------------------------------------------------------------------------------------


def test_compiles(clean):
    assert [name for name, binding in CASES.items() if WGMMA.problem(binding)] == []
    # What has one span of K says nothing that the same with two doesn't.
    clean(together(kernel(binding) for name, binding in CASES.items() if not name.endswith("x1")))


def test_every_number_of_columns(clean):
    assert len(columns_allowed(False)) == 32 and len(columns_allowed(True)) == 18
    clean(together(kernel(simple(BFLOAT16, FLOAT32, n, k=16, span=32)) for n in columns_allowed(False)))
    clean(together(kernel(simple(INT8, INT32, n, k=32, span=32)) for n in columns_allowed(True)))


@pytest.mark.parametrize(
    "name", ["bfloat16-float32-128x2", "float32-float32-64x1", "float16-tt-32", "part", "192-rows-part"]
)
def test_one_instruction_a_step_and_64_rows(nvrtc, name):
    strips = CASES[name].fragments["accumulator"].rows // 64
    assert nvrtc(kernel(CASES[name]), "sm_90a").ptx.count("wgmma.mma_async") == steps(CASES[name]) * strips


def test_the_most_registers(clean):
    """192 registers of accumulators a thread, in two strips or six."""
    for columns, rows in ((192, 128), (64, 384)):
        assert 192 < clean(kernel(simple(BFLOAT16, FLOAT32, columns, rows=rows))).registers <= 255


@pytest.mark.parametrize("accumulate", ["false", "true", "keep_old"])
def test_the_first_step_alone_may_drop_the_old_sum(nvrtc, clean, accumulate):
    text = kernel(simple(BFLOAT16, FLOAT32, 256), accumulate)
    clean(text)
    ptx = nvrtc(text, "sm_90a").ptx
    scales = re.findall(r"setp\.ne\.b32 p, (\S+), 0", ptx)
    values = [re.search(rf"mov\.u32\s+{re.escape(name)}, (\d)", ptx) for name in scales]
    assert len(scales) == 4 and [v[1] for v in values[1:]] == ["1"] * 3
    assert (values[0] is None) if accumulate == "keep_old" else values[0][1] == str(int(accumulate == "true"))


def test_a_loop_keeps_wgmmas_in_flight(clean):
    """One group stays under way while the next is issued: nothing of the loop touches the accumulators."""
    text = kernel(simple(BFLOAT16, FLOAT32, 256))
    call = re.search(r" {4}px_wgmma_n256.*;\n", text)[0]
    loop = f"#pragma unroll 1\n    for (int k = 0; k < 100; ++k) {{\n{call}"
    text = text.replace(call, loop)
    text = re.sub(
        r"(wgmma\.commit_group.*\n)(.*\n)",
        r'\1    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");\n    }\n\2',
        text,
    )
    assert 128 < clean(text).registers <= 255, "and they stay in registers"


def test_needs_hopper_s_own_architecture(nvrtc):
    for intrinsic, text in (
        (WGMMA, kernel(simple(BFLOAT16, FLOAT32, 8))),
        (
            TABLE["set_registers"],
            f'extern "C" __global__ void f() {{ {TABLE["set_registers"].cuda(Binding(None, {"n": 40}))}; }}',
        ),
    ):
        assert intrinsic.min_arch == "sm_90a" and nvrtc(text, "sm_90a").cubin
        with pytest.raises(AssertionError):
            nvrtc(text, "sm_90")


def test_registers_go_up_or_down():
    cuda = TABLE["set_registers"].cuda
    assert launched_registers(384) == 168 and launched_registers(128) == 255
    assert "inc.sync.aligned.u32 232" in cuda(Binding(None, {"n": 232}), launched=168)
    assert "dec.sync.aligned.u32 40" in cuda(Binding(None, {"n": 40}), launched=168)
    assert {24, 40, 232, 240, 256} <= set(TABLE["set_registers"].parameters[0].choices)


# -- Descriptors ------------------------------------------------------------------------------------------------------


def reached(code, row, k, size, swapped):
    """The shared address that the PTX ISA's figures of the layouts give an element of one instruction's operand."""
    address, leading, stride = (code & 0x3FFF) << 4, (code >> 16 & 0x3FFF) << 4, (code >> 32 & 0x3FFF) << 4
    span = {1: 128, 2: 64, 3: 32}[code >> 62]
    if swapped:
        address += row * size % span + row * size // span * leading + k % 8 * span + k // 8 * stride
    else:
        address += row % 8 * span + row // 8 * stride + k * size
    return address ^ (address >> 7 & span // 16 - 1) << 4


@pytest.mark.parametrize("binding", CASES.values(), ids=CASES)
def test_descriptors_reach_every_element(binding):
    base, step_k = 3072, WGMMA and 32
    for operand in "ab":
        t, swapped = binding.tiles[operand], bool(binding.statics.get(f"transpose_{operand}"))
        size, start, found = t.element.bytes, binding.starts[operand], descriptor(binding, operand)
        rows, columns = extents(binding, operand)
        per_step, others = step_k // size, columns if swapped else rows
        height = 64 if operand == "a" else others
        for step, strip in itertools.product(range(steps(binding)), range(others // height)):
            code = found.encode(base + tiles.start_offset(t, *start), step, strip)
            for row in range(height):
                for k in range(per_step):
                    at = (strip * height + row, step * per_step + k)
                    at = at[::-1] if swapped else at
                    want = base + tiles.byte_offset(t, start[0] + at[0], start[1] + at[1])
                    assert reached(code, row, k, size, swapped) == want


def test_the_text_makes_the_same_descriptors(nvrtc):
    """The constants of `px_operand::at` fold: with a known address each step's descriptor is a number in the PTX."""
    names = (
        "part",
        "part-t",
        "bfloat16-float32-32x2",
        "128-rows-128",
        "128-rows-t-128",
        "128-rows-t-32",
        "192-rows-part",
    )
    for binding in (CASES[name] for name in names):
        for operand in "ab":
            found = descriptor(binding, operand)
            head = WGMMA.preamble(binding).split("\n\n")[1]
            first = 4096 >> 4 | (found.fields[0] >> 4) << 16
            asserts = "".join(
                f"    if ({found.text()}::at({first}u, {k}, {s}) != {found.encode(4096, k, s)}ull) wrong();\n"
                for k in range(steps(binding))
                for s in range(binding.fragments["accumulator"].rows // 64)
            )
            text = (
                "static __device__ __forceinline__ unsigned int px_smem(const void* p) { return 0; }\n__device__ void wrong() "
                f'{{ asm volatile("trap;"); }}\n{head}\nextern "C" __global__ void f() {{\n{asserts}}}\n'
            )
            entry = nvrtc(text, "sm_90a").ptx.split(".entry")[1]
            assert "trap" not in entry and "call" not in entry


# -- Meaning ----------------------------------------------------------------------------------------------------------


def decoded(pattern, kind):
    """An 8-bit float, from its definition."""
    exponent, mantissa = (4, 3) if kind == "e4m3" else (5, 2)
    sign, e, m = (
        -1.0 if pattern & 128 else 1.0,
        pattern >> mantissa & (1 << exponent) - 1,
        pattern & (1 << mantissa) - 1,
    )
    if kind == "e4m3" and pattern & 127 == 127:
        return np.nan
    if kind == "e5m2" and e == 31:
        return sign * np.inf if m == 0 else np.nan
    scale = 2.0 ** (max(e, 1) - ((1 << exponent - 1) - 1))
    return sign * scale * ((e > 0) + m / (1 << mantissa))


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_all_8_bit_floats(kind):
    patterns = np.arange(256, dtype=np.uint8).reshape(4, 64)
    want = [decoded(int(p), kind) for p in range(256)]
    assert np.array_equal(numbers(patterns, kind).ravel(), want, equal_nan=True)


def test_tf32_is_truncated_and_bfloat16_comes_either_way():
    assert numbers(np.float32([[1 + 2**-10 + 2**-11]]), "tf32")[0, 0] == 1 + 2**-10
    bits = np.array([[0x3FC0, 0xC000]], np.uint16)
    assert numbers(bits, "bf16").tolist() == [[1.5, -2.0]] == numbers(np.float32([[1.5, -2]]), "bf16").tolist()


def operands(binding, units):
    """Small whole numbers, as tiles of the types are stored, and as numbers; the tiles that `extents` says."""
    for operand in "ab":
        element = binding.tiles[operand].element
        values = RNG.integers(0 if element == UINT8 else -2, 3, (units, *extents(binding, operand)))
        if element.stored:
            one, two = 0x38 if element == FLOAT8_E4M3FN else 0x3C, 0x40
            codes = {-2: two + 128, -1: one + 128, 0: 0, 1: one, 2: two}
            yield np.vectorize(codes.get)(values).astype(np.uint8), values
        else:
            yield values.astype(np.float32 if element == BFLOAT16 else element.numpy), values


@pytest.mark.parametrize("binding", CASES.values(), ids=CASES)
def test_products(binding):
    (a, left), (b, right) = operands(binding, 3)
    fragment = binding.fragments["accumulator"]
    sum_, held = fragment.element, RNG.integers(-50, 50, (3, fragment.rows, fragment.columns))
    left = left.swapaxes(1, 2) if binding.statics.get("transpose_a") else left
    right = right if binding.statics.get("transpose_b") else right.swapaxes(1, 2)
    product = np.einsum("uik,ukj->uij", left, right)
    old = held.astype(sum_.numpy)
    for accumulate, want in ((None, product + held), (True, product + held), (False, product)):
        found = WGMMA.meaning(binding, a, b, old, *([] if accumulate is None else [accumulate]))
        assert found.dtype == np.dtype(sum_.numpy) and np.array_equal(found, want)
    some = WGMMA.meaning(binding, a, b, old, np.array([True, False, True]))
    assert np.array_equal(some[1], product[1]) and np.array_equal(some[[0, 2]], (product + held)[[0, 2]])


def test_the_sum_is_rounded_once():
    binding = simple(BFLOAT16, FLOAT32, 8, k=64)
    a = np.zeros((1, 64, 64), np.float32)
    b = np.ones((1, 8, 64), np.float32)
    a[0, 0, :4] = 2.0**24, 1, 1, 1
    old = np.full((1, 64, 8), -(2.0**24), np.float32)
    assert (WGMMA.meaning(binding, a, b, old)[0, 0] == 3).all()


def test_integers_wrap():
    binding = simple(INT8, INT32, 8, k=128)
    a, b = np.full((1, 64, 128), 127, np.int8), np.full((1, 8, 128), 127, np.int8)
    old = np.full((1, 64, 8), 2**31 - 1, np.int32)
    assert (WGMMA.meaning(binding, a, b, old) == 2**31 - 1 + 127 * 127 * 128 - 2**32).all()


# -- What is wrong ----------------------------------------------------------------------------------------------------

E4M3 = FLOAT8_E4M3FN
A, B, C = (BFLOAT16, 64, 64, 128), (BFLOAT16, 128, 64, 128), (FLOAT32, 128)


@pytest.mark.parametrize(
    "binding, what",
    [
        (bound(A, B, C), ""),
        (bound((FLOAT64, 64, 64, 128), B, C), "bfloat16, float16, float32, float8_e4m3fn, float8_e5m2, int8, uint8, not float64"),
        (bound(A, (FLOAT16, 128, 64, 128), C), "they must be of one type"),
        (bound((E4M3, 64, 64, 64), (UINT8, 128, 64, 64), C), "float8_e4m3fn and uint8: they must be of one type"),
        (bound((E4M3, 64, 64, 64), (FLOAT8_E5M2, 128, 64, 64), (INT32, 128)), "e4m3 products are added in float32 or float16"),
        (bound((E4M3, 64, 64, 64), (E4M3, 64, 128, 128), C, transpose_b=True), "is for 16-bit elements; float8_e4m3fn tiles"),
        (bound((BFLOAT16, 64, 64, 0), B, C), "`a` has no swizzle, and wgmma reads swizzled tiles: declare it with `swizzle=128`"),
        (bound((BFLOAT16, 64, 48, 0), B, C), "with `swizzle=32`"),
        (bound((BFLOAT16, 64, 40, 0), B, C), "make its rows a multiple of 32 bytes"),
        (bound((BFLOAT16, 64, 32, 128), B, C), "no multiple of the swizzle's 128"),
        (bound(A, (BFLOAT16, 124, 64, 128), (FLOAT32, 120)), "`b` has 124 rows"),
        (bound(A, B, (FLOAT16, 128)), "bf16 products are added in float32, not in float16"),
        (bound((INT8, 64, 128, 128), (INT8, 40, 128, 128), (INT32, 40)), "24, or a multiple of 16 up to 256 columns, not 40"),
        (bound(A, B, (FLOAT32, 12)), "a multiple of 8 up to 256 columns, not 12"),
        (bound(A, B, (FLOAT32, 264)), "not 264"),
        (bound(A, (BFLOAT16, 64, 64, 128), C), "`b` reads rows 0 to 127, and the tile has 64"),
        (bound(A, (BFLOAT16, 128, 128, 128), C), "`a` has 64 elements along K, and `b` 128"),
        (bound(A, B, C, ((32, 0), (0, 0))), "`a` reads rows 32 to 95, and the tile has 64"),
        (bound(A, B, C, ((4, 0), (0, 0))), "a row that is a multiple of 8, not at 4"),
        (bound(A, B, C, ((None, 0), (None, 0))), ""),
        (bound(A, B, C, ((0, None), (0, 0))), "the column where `a` begins is a constant"),
        (bound(A, B, C, ((0, 8), (0, 8))), "a column that is a multiple of 16, not at 8"),
        (bound(A, B, C, ((0, 0, 0), (0, 0))), "begins at a row and a column"),
        (bound(A, (BFLOAT16, 64, 128, 128), C, ((0, 0), (0, 32)), transpose_b=True), "multiple of 64, not at 32"),
        (bound((FLOAT32, 64, 32, 128), (FLOAT32, 32, 64, 128), C, transpose_b=True), "`transpose_b` is for 16-bit elements"),
        (bound((BFLOAT16, 8, 64, 128), (BFLOAT16, 128, 8, 128), C, transpose_a=True), "no multiple of the swizzle's"),
        (bound((BFLOAT16, 8, 64, 128), (BFLOAT16, 8, 128, 128), C, transpose_a=True, transpose_b=True), "a multiple of 16"),
    ],
)  # fmt: skip
def test_problems(binding, what):
    found = WGMMA.problem(binding)
    assert what in found and bool(what) == bool(found)


def test_more_problems():
    fine = simple(BFLOAT16, FLOAT32, 64)
    wide = Binding(
        BFLOAT16, {}, tiles=fine.tiles, starts=fine.starts, fragments={"accumulator": Fragment(FLOAT32, 128, 64)}
    )
    assert "`a` reads rows 0 to 127, and the tile has 64" in WGMMA.problem(wide)
    assert "a multiple of 64 rows, not 96" in WGMMA.problem(simple(BFLOAT16, FLOAT32, 64, rows=96))
    column = bound(A, B, (FLOAT32, 64, 128), ((0, 0), (0, 64)), transpose_a=True, transpose_b=True)
    assert "`a` reads columns 0 to 127, and the tile has 64" in WGMMA.problem(column)
    warp = Binding(
        BFLOAT16, {}, tiles=fine.tiles, starts=fine.starts, fragments={"accumulator": Fragment(FLOAT32, 64, 64, 32)}
    )
    assert "of a warpgroup" in WGMMA.problem(warp)
    part = Binding(
        BFLOAT16, {}, tiles={"a": Pointer(BFLOAT16, space="shared"), "b": fine.tiles["b"]}, fragments=fine.fragments
    )
    assert "by its name, or an element of it" in WGMMA.problem(part)
    named = replace(bound(A, B, (FLOAT32, 64)), whole=frozenset("ab"))
    assert "`b` has 128 rows, and the accumulator 64 columns" in WGMMA.problem(named)
    assert not WGMMA.problem(replace(named, whole=frozenset("a"))), "the first 64 rows, where the place is named"
    padded = bound(A, (BFLOAT16, 64, 64, 128), (FLOAT32, 40), transpose_b=True)
    assert not WGMMA.problem(replace(padded, whole=frozenset("ab"))), "40 columns fill a span of 64"
    assert start_problem(fine, "b", (8, 0)) and not start_problem(fine, "b", (0, 0))
