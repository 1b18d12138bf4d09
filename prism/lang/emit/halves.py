"""`float16` and `bfloat16` in C++: two classes of our own, since NVRTC comes without headers.

Each operation is rounded to the type: float16's sums and products by the hardware's own instructions, everything else in
float, which is wide enough that rounding twice is as good as once.
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


def short_pieces(text: str) -> list[str]:
    """Return the helpers that a program's text uses."""
    texts = {"px_half": _HALF, "px_bf16": _BF16}
    return [(piece + _REST.format(name)).rstrip("\n") for name, piece in texts.items() if name in text]
