"""What the elementwise intrinsics and the collectives mean is what a plain loop over Python's numbers says.

Tests of prism/lang/intrinsics: arithmetic, bits, packed, special, warp.
"""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import prism
from prism.lang import (
    bitcast,
    block,
    complex64,
    const,
    float32,
    grid,
    group,
    id,
    int8,
    int16,
    int32,
    load_vector,
    partition,
    ptr,
    requires,
    struct,
    thread,
    uint64,
    vector,
)
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.packed import from_float, to_float
from prism.lang.types import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    SCALARS,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Vector,
)
from prism.lang.types.shorts import bits_of
from prism.lib import lazy

INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
RNG = np.random.default_rng(7)
WORDS = RNG.integers(0, 2**32, (3, 200), dtype=np.uint64).astype(np.uint32)


def means(name, *operands, scalar=None, **statics):
    return TABLE[name].meaning(Binding(scalar, statics), *operands)


PLAIN = {
    "exp": math.exp, "exp2": lambda x: 2.0**x, "log": math.log, "log2": math.log2, "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "floor": math.floor,
    "ceil": math.ceil, "round_": round, "trunc": math.trunc, "reciprocal": lambda x: 1 / x,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_four_floats_in_a_word(kind):
    """The lowest is first; beyond the largest number they saturate."""
    scalar = SCALARS["float8_e4m3fn" if kind == "e4m3" else "float8_e5m2"]
    x = np.float32(10.0) ** RNG.uniform(-8, 8, size=(4, 500)).astype(np.float32) * RNG.choice([-1, 1], size=(4, 500))
    x[:, :3] = [np.nan, np.inf, 0.0]
    found = means(f"pack_{kind}x4", *x.astype(np.float32))
    for k in range(4):
        assert (found >> np.uint32(8 * k) & np.uint32(0xFF) == bits_of(x[k].astype(np.float32), scalar)).all()


@pytest.mark.parametrize("scalar", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", [*PLAIN, *(f"fast_{n}" for n in PLAIN if f"fast_{n}" in TABLE)])
def test_special_functions(name, scalar):
    if not TABLE[name].allows(scalar):
        assert scalar != FLOAT32
        return
    held = np.float32 if scalar == BFLOAT16 else scalar.numpy
    x = np.concatenate([RNG.uniform(0.01, 5, 200), [0.5, 1.5, 2.5, 1, 2]]).astype(held)
    x = to_float(from_float(x, "bf16"), "bf16") if scalar == BFLOAT16 else x
    result = means(name, x, scalar=scalar)
    assert result.dtype == x.dtype
    ulp = {FLOAT16: 2.0**-10, BFLOAT16: 2.0**-7, FLOAT32: 2.0**-22, FLOAT64: 2.0**-51}[scalar]
    for got, given in zip(result, x, strict=True):
        want = PLAIN[name.removeprefix("fast_")](float(given))
        assert abs(float(got) - want) <= ulp * max(abs(want), 2.0**-14 if scalar.short else 0), (got, want)


def cube_root(x):
    """More precise than the standard library's, which may be off by 4 ulp."""
    return math.copysign(float(Decimal(abs(x)) ** (1 / Decimal(3))), x)


# Where the numbers lie that a function is given, and what Python's own library says; (float, float) is an interval.
MORE = {
    "tan": (math.tan, (-20, 20)), "asin": (math.asin, (-1, 1)), "acos": (math.acos, (-1, 1)), "atan": (math.atan, (-9, 9)),
    "atan2": (math.atan2, (-9, 9), (-9, 9)), "sinh": (math.sinh, (-9, 9)), "cosh": (math.cosh, (-9, 9)),
    "expm1": (math.expm1, (-3, 3)), "log1p": (math.log1p, (-0.9, 3)), "erf": (math.erf, (-3, 3)), "erfc": (math.erfc, (-3, 3)),
    "tgamma": (math.gamma, (0.1, 8)), "lgamma": (math.lgamma, (0.1, 20)), "cbrt": (cube_root, (-9, 9)),
    "hypot": (math.hypot, (-9, 9), (-9, 9)), "fmod": (math.fmod, (-9, 9), (-3, 3)),
}  # fmt: skip
SMALL = ("tan", "asin", "atan", "sinh", "expm1", "log1p", "erf", "cbrt")  # precise near 0 too, where they are small


def documented(name, scalar):
    """How many ulp CUDA says that a function is off by at most, which is what its documentation says here; `exact`: none."""
    doc = TABLE[name].doc
    if ": exact" in doc:
        return 0
    found = re.search(r"within (\d+) ulp(?: \(float64: (\d+)\))?", doc)
    return int(found[2] or found[1]) if scalar == FLOAT64 else int(found[1])


@pytest.mark.parametrize("scalar", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", MORE)
def test_more_special_functions(name, scalar):
    function, *intervals = MORE[name]
    held = np.float32 if scalar == BFLOAT16 else scalar.numpy
    operands = [RNG.uniform(*interval, 300).astype(held) for interval in intervals]
    if name in SMALL and not scalar.short:
        operands[0][:100] *= 2.0**-40
    if scalar == BFLOAT16:
        operands = [to_float(from_float(x, "bf16"), "bf16") for x in operands]
    result = means(name, *operands, scalar=scalar)
    assert result.dtype == held and result.shape == (300,)
    # In ulp: half, where a wider type's result is rounded; of float64 what CUDA allows, and one of Python's own library.
    bits = {FLOAT16: 10, BFLOAT16: 7, FLOAT32: 23, FLOAT64: 52}[scalar]
    most = documented(name, scalar) + (name != "fmod") if scalar == FLOAT64 else 0.51
    for got, *given in zip(result.tolist(), *(x.tolist() for x in operands), strict=True):
        want = function(*given)
        ulp = 2.0 ** (max(math.frexp(want)[1] - 1, -14 if scalar == FLOAT16 else -126) - bits)
        assert abs(got - want) <= most * ulp, (given, got, want)


@pytest.mark.parametrize("scalar", [FLOAT32, FLOAT64], ids=str)
def test_where_special_functions_are_infinite_or_not_numbers(scalar):
    x = np.array([0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 200], scalar.numpy)
    inf, nan, kind = np.inf, np.nan, np.dtype(scalar.numpy).type
    tiny = [inf, -inf]  # 1 / 1e-310 is past float64, and 1e-310 is a float32's 0
    of_tgamma = [inf, -inf, nan, nan, inf, nan, nan, *tiny, inf]
    assert np.array_equal(means("tgamma", x, scalar=scalar), np.array(of_tgamma, scalar.numpy), equal_nan=True)
    of_lgamma = means("lgamma", x, scalar=scalar)
    assert of_lgamma[:6].tolist() == [inf] * 6 and np.isnan(of_lgamma[6]) and of_lgamma[9] > 800
    assert means("lgamma", np.array([1e308], np.float64), scalar=FLOAT64) == inf
    assert means("erf", x[[1, 4, 5, 6]], scalar=scalar).tolist()[:3] == [0, 1, -1]
    assert means("erfc", x[[4, 5]], scalar=scalar).tolist() == [0, 2]
    assert np.signbit(means("erf", x[:2], scalar=scalar)).tolist() == [False, True]
    assert np.isnan(means("asin", x[[3, 9]], scalar=scalar)).all() and np.isnan(means("acos", x[[3]], scalar=scalar))
    assert means("log1p", x[[2]], scalar=scalar) == -inf and np.isnan(means("log1p", x[[3]], scalar=scalar))
    assert means("atan2", x[1], x[2], scalar=scalar) == kind(-math.pi)
    assert means("hypot", x[5], x[6], scalar=scalar) == inf  # as C has it
    assert np.isnan(means("fmod", x[9], x[0], scalar=scalar)) and means("fmod", x[9], x[4], scalar=scalar) == 200
    assert np.signbit(means("fmod", x[3], x[2], scalar=scalar))  # -0: the sign of what is divided
    one = means("erf", kind(0.5), scalar=scalar)
    assert one.shape == () and one.dtype == scalar.numpy and isinstance(one, kind)


def test_which_powers_are_flushed():
    x = np.array([-126, -126.5, -149, 5e-41, -np.inf, np.inf, 3], np.float32)
    kept, flushed = means("fast_exp2", x, scalar=FLOAT32), means("fast_exp2_flush", x, scalar=FLOAT32)
    assert kept.tolist() == [2.0**-126, np.exp2(np.float32(-126.5)), 2.0**-149, 1, 0, np.inf, 8]
    assert flushed.tolist() == [2.0**-126, 0, 0, 1, 0, np.inf, 8] and flushed.dtype == np.float32
    assert not np.signbit(flushed).any()
    assert "ex2.approx.f32" in TABLE["fast_exp2"].preamble(Binding(FLOAT32))
    assert "ex2.approx.ftz.f32" in TABLE["fast_exp2_flush"].preamble(Binding(FLOAT32))


@pytest.mark.parametrize("name", ["erf", "atan2", "fmod", "fast_exp2_flush"])
def test_special_functions_are_of_floats(name):
    x = np.arange(3, dtype=np.int32)
    with pytest.raises(prism.CompileError, match=f"`{name}`.*{TABLE[name].allows_text}") as caught:
        lazy.map(TABLE[name], *[x] * len(TABLE[name].parameters))
    assert caught.value.code == "type"


def test_special_values_raise_no_warning():
    x = np.array([-1, 0, np.inf, np.nan, 1e30], np.float32)
    assert np.isnan(means("log", x, scalar=FLOAT32)[0]) and means("exp", x, scalar=FLOAT32)[4] == np.inf
    assert means("is_nan", x, scalar=FLOAT32).tolist() == [False, False, False, True, False]
    assert means("is_finite", x, scalar=FLOAT32).tolist() == [True, True, False, False, True]
    assert means("sign_bit", np.array([-0.0, 0.0, -2], np.float64), scalar=FLOAT64).tolist() == [True, False, True]
    assert means("pow", np.float32(2), np.float32(10), scalar=FLOAT32) == 1024
    assert means("fast_divide", np.float32(6), np.float32(3), scalar=FLOAT32) == 2


@pytest.mark.parametrize("scalar", [FLOAT32, FLOAT64], ids=str)
def test_fma_rounds_once(scalar):
    kind = np.dtype(scalar.numpy).type
    a, b = (RNG.uniform(-2, 2, 3000).astype(kind) for _ in range(2))
    exponents = RNG.integers(-60, 3, 3000)
    c = np.where(RNG.random(3000) < 0.5, -(a * b), np.ldexp(RNG.uniform(-2, 2, 3000), exponents)).astype(kind)
    result = means("fma", a, b, c, scalar=scalar)
    for k in range(3000):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        error = abs(Fraction(float(result[k])) - exact)
        for other in (np.nextafter(result[k], kind(np.inf)), np.nextafter(result[k], kind(-np.inf))):
            assert error <= abs(Fraction(float(other)) - exact)


@pytest.mark.parametrize("scalar", [FLOAT32, FLOAT64], ids=str)
def test_the_sign_of_a_zero_that_fma_makes(scalar):
    a, b, c = (
        np.array(x, scalar.numpy) for x in ([1, 1, -1, 1, 3], [-0.0, -0.0, 0.0, 2, -0.0], [-0.0, 0.0, -0.0, -2, -0.0])
    )
    assert np.signbit(means("fma", a, b, c, scalar=scalar)).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
def test_counting_bits(scalar):
    info = np.iinfo(scalar.numpy)
    x = np.array([0, 1, 2, info.max, info.min, *RNG.integers(info.min, info.max, 50, dtype=scalar.numpy)], scalar.numpy)
    for k, value in enumerate(x):
        bits = int(value) & ((1 << scalar.bits) - 1)
        text = format(bits, f"0{scalar.bits}b")
        assert means("popcount", x, scalar=scalar)[k] == text.count("1")
        assert means("clz", x, scalar=scalar)[k] == scalar.bits - bits.bit_length()
        assert means("first_set", x, scalar=scalar)[k] == (len(text) - text.rindex("1") if bits else 0)
        turned = int(means("reverse_bits", x, scalar=scalar)[k]) & ((1 << scalar.bits) - 1)
        assert turned == int(text[::-1], 2)


def test_permuting_bytes():
    a, b, c = WORDS
    permuted, shifted = means("byte_permute", a, b, c), means("funnel_shift_left", a, b, c)
    for k in range(len(a)):
        both = [*int(a[k]).to_bytes(4, "little"), *int(b[k]).to_bytes(4, "little")]
        picked = bytes(both[int(c[k]) >> 4 * n & 7] for n in range(4))
        assert int(permuted[k]) == int.from_bytes(picked, "little")
        signs = [255 * (byte >> 7) if int(c[k]) >> (4 * n + 3) & 1 else byte for n, byte in enumerate(picked)]
        assert int(means("byte_permute_or_sign", a, b, c)[k]) == int.from_bytes(bytes(signs), "little")
        wide = (int(b[k]) << 32 | int(a[k])) << (int(c[k]) & 31)
        assert int(shifted[k]) == wide >> 32 & 0xFFFFFFFF
        wide = (int(b[k]) << 32 | int(a[k])) >> (int(c[k]) & 31)
        assert int(means("funnel_shift_right", a, b, c)[k]) == wide & 0xFFFFFFFF


def test_reinterpreting():
    x = RNG.normal(size=10).astype(np.float32)
    assert (means("bitcast", x, scalar=FLOAT32, to=UINT32) == x.view(np.uint32)).all()
    assert (means("float_as_uint", x) == x.view(np.uint32)).all()
    assert (means("uint_as_float", x.view(np.uint32)) == x).all()
    assert (means("float_as_int", x) == x.view(np.int32)).all() and (means("int_as_float", x.view(np.int32)) == x).all()
    brain = means("bitcast", np.uint16(0x3F80), scalar=UINT16, to=BFLOAT16)
    assert brain == 1 and means("bitcast", np.float32(1), scalar=BFLOAT16, to=UINT16) == 0x3F80
    assert "64 bits" in TABLE["bitcast"].problem(Binding(INT64, {"to": FLOAT32}))


@struct
class Padded:
    a: int8
    b: int32


@pytest.mark.parametrize(
    ("scalar", "length", "to", "fault"),
    [
        (FLOAT32, 2, UINT64, ""),
        (UINT64, None, Vector(BFLOAT16, 4), ""),
        (complex64, None, UINT64, ""),
        (complex64, 2, Vector(FLOAT32, 4), ""),
        (FLOAT32, 2, UINT32, r"vector\(float32, 2\) has 64 bits, and uint32 32"),
        (UINT64, None, Padded, "has bytes that belong to no field"),
        (UINT8, None, BOOL, "a bool has one bit"),
    ],
    ids=str,
)
def test_what_bitcast_takes(scalar, length, to, fault):
    lengths = {} if length is None else {"x": length}
    found = TABLE["bitcast"].problem(Binding(scalar, {"to": to}, lengths))
    assert re.search(fault, found) if fault else found == ""


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[32])
def recast(x: ptr(const(float32)) @ grid[1], y: ptr(uint64) @ grid[1], z: ptr(complex64) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as words, partition(z, thread[1], i) as numbers, group(thread[1]):
        pair: vector(float32, 2) = load_vector(x[2 * i], 2)
        words[0] = bitcast(pair, uint64)
        numbers[0] = bitcast(words[0], complex64)
        shorts: vector(int16, 4) = bitcast(bitcast(pair, uint64), vector(int16, 4))
        back: vector(float32, 2) = bitcast(shorts, vector(float32, 2))
        words[0] = words[0] ^ bitcast(back, uint64)
        if i == 0:
            words[0] = bitcast(numbers[0], uint64)


def test_bits_of_vectors_and_structs():
    x = RNG.normal(size=64).astype(np.float32)
    y, z = np.ones(32, np.uint64), np.zeros(32, np.complex64)
    recast[1, 32](x, y, z, check=True)
    assert np.array_equal(z, x.view(np.complex64)) and not y[1:].any() and y[0] == x.view(np.uint64)[0]
    assert prism.compile(recast).cubin


def parts(word, bits, signed):
    found = [int(word) >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [v - (1 << bits) if signed and v >> bits - 1 else v for v in found]


@pytest.mark.parametrize("scalar", [INT32, UINT32], ids=str)
def test_dot_products(scalar):
    a, b, c = (w.view(scalar.numpy) for w in WORDS)
    signed = scalar == INT32
    for name, bits, at in (("dp4a", 8, 0), ("dp2a_lo", 16, 0), ("dp2a_hi", 16, 2)):
        result = means(name, a, b, c, scalar=scalar)
        assert result.dtype == np.dtype(scalar.numpy)
        for k in range(len(a)):
            x, y = parts(WORDS[0][k], bits, signed), parts(WORDS[1][k], 8, signed)[at:]
            want = int(c[k]) + sum(p * q for p, q in zip(x, y, strict=False))
            assert int(result[k]) & 0xFFFFFFFF == want & 0xFFFFFFFF


def test_packed_integers():
    a, b, _ = WORDS
    for name, function, signed in (
        ("add_u16x2", lambda x, y: x + y, False), ("min_s16x2", min, True), ("max_s16x2", max, True),
        ("min_u16x2", min, False), ("max_u16x2", max, False),
    ):  # fmt: skip
        result = means(name, a, b)
        for k in range(len(a)):
            want = [
                function(x, y) & 0xFFFF for x, y in zip(parts(a[k], 16, signed), parts(b[k], 16, signed), strict=True)
            ]
            assert parts(result[k], 16, False) == want


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_packed_floats(kind):
    x = RNG.normal(size=(3, 2, 500))
    words = [means(f"pack_{kind}x2", *pair.astype(np.float32)) for pair in x]
    values = [[means(f"unpack_{kind}x2", w, part=p).astype(float) for p in (0, 1)] for w in words]
    for name, count, function in (
        ("add", 2, np.add),
        ("sub", 2, np.subtract),
        ("mul", 2, np.multiply),
        ("min", 2, np.minimum),
        ("max", 2, np.maximum),
    ):
        result = means(f"{name}_{kind}x2", *words[:count])
        for part in (0, 1):
            exact = function(values[0][part], values[1][part])
            assert (means(f"unpack_{kind}x2", result, part=part) == to_float(from_float(exact, kind), kind)).all()
    result, epsilon = means(f"fma_{kind}x2", *words), 2.0 ** (-10 if kind == "f16" else -7)
    for part in (0, 1):
        exact = values[0][part] * values[1][part] + values[2][part]
        assert (abs(means(f"unpack_{kind}x2", result, part=part) - exact) <= epsilon * np.abs(exact) / 2 + 1e-7).all()


@pytest.mark.parametrize("scalar", [INT32, UINT32], ids=str)
def test_reductions_of_a_warp(scalar):
    value = WORDS[0][:64].view(scalar.numpy).reshape(2, 32)
    for name, function in (
        ("warp_min", min), ("warp_max", max), ("warp_and", lambda a, b: a & b), ("warp_or", lambda a, b: a | b),
        ("warp_xor", lambda a, b: a ^ b),
    ):  # fmt: skip
        result = means(name, value, scalar=scalar)
        assert result.shape == (2, 32) and result.dtype == value.dtype
        for warp in range(2):
            want = int(value[warp, 0])
            for lane in range(1, 32):
                want = function(want, int(value[warp, lane]))
            assert (result[warp] == want).all()


@pytest.mark.parametrize("scalar", SCALARS.values(), ids=str)
def test_matching(scalar):
    held = np.float32 if scalar == BFLOAT16 else scalar.numpy
    value = RNG.integers(0, 4, (3, 32)).astype(held)
    value[1] = value[1, 0]
    matched, same = means("match_any", value, scalar=scalar), means("match_all", value, scalar=scalar)
    for warp in range(3):
        for lane in range(32):
            assert matched[warp, lane] == sum(
                1 << other for other in range(32) if value[warp, other] == value[warp, lane]
            )
        assert (same[warp] == (warp == 1)).all()


def test_one_lane_is_elected():
    assert means("elect").sum() == 1


def test_bits_of_a_vector_of_bfloat16():
    x = np.array([[0x3F80, 0x4000, 0xC000, 0]], np.uint16)
    values = means("bitcast", x.view(np.uint64)[:, 0], scalar=UINT64, to=Vector(BFLOAT16, 4))
    assert values.tolist() == [[1, 2, -2, 0]]
    word = TABLE["bitcast"].meaning(Binding(BFLOAT16, {"to": UINT64}, {"x": 4}), values)
    assert word.tolist() == x.view(np.uint64)[:, 0].tolist()
