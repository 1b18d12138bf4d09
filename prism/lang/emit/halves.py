"""Floats of 16 and of 8 bits in C++: classes of our own, since NVRTC comes without headers.

Each operation is rounded to the type: float16's sums and products by the hardware's own instructions, everything else in
float, which is wide enough that rounding twice is as good as once. Floats of 8 bits have no operations. From sm_89 on the
hardware rounds to them; before, a few instructions do the same.
"""

from __future__ import annotations

_HALF = """\
struct __align__(2) px_half {
    unsigned short bits;
    px_half() = default;
    __device__ __forceinline__ explicit px_half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ __forceinline__ explicit px_half(double x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x)); }
    __device__ __forceinline__ explicit px_half(int x) { asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x)); }
    __device__ __forceinline__ explicit px_half(unsigned int x) { asm("cvt.rn.f16.u32 %0, %1;" : "=h"(bits) : "r"(x)); }
    __device__ __forceinline__ explicit px_half(long long x) { asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(x)); }
    __device__ __forceinline__ explicit px_half(unsigned long long x) {
        asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(x));
    }
    __device__ __forceinline__ explicit operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};
static __device__ __forceinline__ px_half px_half_of(unsigned short bits) { px_half x; x.bits = bits; return x; }
static __device__ __forceinline__ px_half operator+(px_half a, px_half b) {
    asm("add.rn.f16 %0, %1, %2;" : "=h"(a.bits) : "h"(a.bits), "h"(b.bits));
    return a;
}
static __device__ __forceinline__ px_half operator-(px_half a, px_half b) {
    asm("sub.rn.f16 %0, %1, %2;" : "=h"(a.bits) : "h"(a.bits), "h"(b.bits));
    return a;
}
static __device__ __forceinline__ px_half operator*(px_half a, px_half b) {
    asm("mul.rn.f16 %0, %1, %2;" : "=h"(a.bits) : "h"(a.bits), "h"(b.bits));
    return a;
}
"""

# A double becomes a float that is rounded to odd (cut off, its last bit set if anything was lost), then a bfloat16. A float has
# more than two bits more than a bfloat16, so no tie is made that wasn't there, and rounding twice is rounding once.
_BF16 = """\
struct __align__(2) px_bf16 {
    unsigned short bits;
    px_bf16() = default;
    __device__ __forceinline__ explicit px_bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ __forceinline__ explicit px_bf16(double x) {
        float y = __double2float_rz(x);
        if ((double)y != x) y = __uint_as_float(__float_as_uint(y) | 1u);
        *this = px_bf16(y);
    }
    __device__ __forceinline__ explicit px_bf16(int x) : px_bf16((double)x) {}
    __device__ __forceinline__ explicit px_bf16(unsigned int x) : px_bf16((double)x) {}
    __device__ __forceinline__ explicit px_bf16(long long x) : px_bf16((double)x) {}
    __device__ __forceinline__ explicit px_bf16(unsigned long long x) : px_bf16((double)x) {}
    __device__ __forceinline__ explicit operator float() const { return __uint_as_float((unsigned int)bits << 16); }
};
static __device__ __forceinline__ px_bf16 px_bf16_of(unsigned short bits) { px_bf16 x; x.bits = bits; return x; }
static __device__ __forceinline__ px_bf16 operator+(px_bf16 a, px_bf16 b) { return px_bf16((float)a + (float)b); }
static __device__ __forceinline__ px_bf16 operator-(px_bf16 a, px_bf16 b) { return px_bf16((float)a - (float)b); }
static __device__ __forceinline__ px_bf16 operator*(px_bf16 a, px_bf16 b) { return px_bf16((float)a * (float)b); }
"""

# In float: for 11 bits or fewer of a significand, quotients rounded to 24 and then to 11 are rounded right (24 >= 2 * 11 + 2).
_REST = """\
static __device__ __forceinline__ {0} operator/({0} a, {0} b) {{ return {0}((float)a / (float)b); }}
static __device__ __forceinline__ {0} operator-({0} a) {{ a.bits ^= 0x8000u; return a; }}
static __device__ __forceinline__ bool operator==({0} a, {0} b) {{ return (float)a == (float)b; }}
static __device__ __forceinline__ bool operator!=({0} a, {0} b) {{ return (float)a != (float)b; }}
static __device__ __forceinline__ bool operator<({0} a, {0} b) {{ return (float)a < (float)b; }}
static __device__ __forceinline__ bool operator<=({0} a, {0} b) {{ return (float)a <= (float)b; }}
static __device__ __forceinline__ bool operator>({0} a, {0} b) {{ return (float)a > (float)b; }}
static __device__ __forceinline__ bool operator>=({0} a, {0} b) {{ return (float)a >= (float)b; }}
"""

# Without the instruction: a normal number's bits are cut to the type's, to the nearest, ties to even, by adding half and the last
# bit kept; adding UNIT to a small one lets the float unit itself round it to a multiple of the least subnormal.
_8_BITS = """\
struct NAME {
    unsigned char bits;
    NAME() = default;
    __device__ __forceinline__ explicit NAME(float x) {
#if __CUDA_ARCH__ >= 890
        unsigned short pair;
        asm("cvt.rn.satfinite.KINDx2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
        bits = (unsigned char)pair;
#else
        const unsigned int word = __float_as_uint(x), size = word & 0x7fffffffu;
        const unsigned int normal = (size + ((1u << SHIFT - 1) - 1) + (size >> SHIFT & 1)) >> SHIFT;
        const unsigned int small = __float_as_uint(__uint_as_float(size) + UNIT) - __float_as_uint(UNIT);
        const unsigned int code = size < LEASTu ? small : normal - (LEASTu >> SHIFT) + (1u << 23 - SHIFT);
        bits = (unsigned char)(size > 0x7f800000u ? 0x7fu : min(code, LARGESTu) | word >> 24 & 0x80u);
#endif
    }
    __device__ __forceinline__ explicit NAME(double x) {
        float y = __double2float_rz(x);
        if ((double)y != x) y = __uint_as_float(__float_as_uint(y) | 1u);
        *this = NAME(y);
    }
    __device__ __forceinline__ explicit NAME(int x) : NAME((double)x) {}
    __device__ __forceinline__ explicit NAME(unsigned int x) : NAME((double)x) {}
    __device__ __forceinline__ explicit NAME(long long x) : NAME((double)x) {}
    __device__ __forceinline__ explicit NAME(unsigned long long x) : NAME((double)x) {}
    __device__ __forceinline__ explicit operator float() const {
        VALUE
    }
};
static __device__ __forceinline__ NAME NAME_of(unsigned char bits) { NAME x; x.bits = bits; return x; }
"""

_E5M2_VALUE = """\
float x;  // the upper byte of a float16
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)(bits << 8)));
        return x;"""
_E4M3_VALUE = """\
float x;
#if __CUDA_ARCH__ >= 890
        asm("{\\n\\t.reg .b16 low, high;\\n\\t.reg .b32 both;\\n\\tcvt.rn.f16x2.e4m3x2 both, %1;\\n\\t"
            "mov.b32 {low, high}, both;\\n\\tcvt.f32.f16 %0, low;\\n\\t}" : "=f"(x) : "h"((unsigned short)bits));
#else
        const unsigned int size = bits & 0x7fu;  // a float's exponent and mantissa, but for the exponent's bias
        x = size == 0x7fu ? __uint_as_float(0x7fc00000u) : __uint_as_float(size << 20) * 0x1p120f;
        x = __uint_as_float(__float_as_uint(x) | (bits & 0x80u) << 24);
#endif
        return x;"""


def _of_8_bits(name: str, facts: dict[str, str]) -> str:
    """Return the class of a float of 8 bits: LEAST is the least normal number's word, UNIT what ends where subnormals do."""
    text = _8_BITS.replace("NAME", name)
    for key, value in facts.items():
        text = text.replace(key, value)
    return text


_E4M3 = {
    "KIND": "e4m3",
    "SHIFT": "20",
    "UNIT": "0x1p14f",
    "LEAST": "0x3c800000",
    "LARGEST": "0x7e",
    "VALUE": _E4M3_VALUE,
}
_E5M2 = {
    "KIND": "e5m2",
    "SHIFT": "21",
    "UNIT": "0x1p7f",
    "LEAST": "0x38800000",
    "LARGEST": "0x7b",
    "VALUE": _E5M2_VALUE,
}


def short_pieces(text: str) -> list[str]:
    """Return the helpers that a program's text uses."""
    texts = {"px_half": _HALF, "px_bf16": _BF16}
    found = [(piece + _REST.format(name)).rstrip("\n") for name, piece in texts.items() if name in text]
    eight = {"px_e4m3": _E4M3, "px_e5m2": _E5M2}
    return found + [_of_8_bits(name, facts).rstrip("\n") for name, facts in eight.items() if name in text]
