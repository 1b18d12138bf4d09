"""The language: what a kernel file imports.

Made from the declarations by `pytest tests/lang/test_stub.py --update-golden`: not to be edited.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from prism.lang.diagnostics import CompileError as CompileError
from prism.lang.diagnostics import InternalError as InternalError
from prism.lang.intrinsics.namespace import Namespace
from prism.lang.surface import Kernel as Kernel
from prism.lang.surface import LevelName, PrismModule, VectorCast
from prism.lang.types import Scalar, Vector
from prism.lib.levels import Block, Grid, Thread, Warp

def CUtensorMap(*arguments: Any, **options: Any) -> Any:
    """CUtensorMap(T, rows, columns, swizzle=128): a matrix, or an array of up to 5 axes, that is copied a tile at a time. See docs/reference/CUtensorMap.md."""

def __float_as_int(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_int(x): the bits of a float32, taken for a int32; CUDA's `__float_as_int`. Called by thread[1]; sm_75 and later."""

def __float_as_uint(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_uint(x): the bits of a float32, taken for a uint32; CUDA's `__float_as_uint`. Called by thread[1]; sm_75 and later."""

def __int_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """int_as_float(x): the bits of a int32, taken for a float32; CUDA's `__int_as_float`. Called by thread[1]; sm_75 and later."""

def __uint_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """uint_as_float(x): the bits of a uint32, taken for a float32; CUDA's `__uint_as_float`. Called by thread[1]; sm_75 and later."""

def absolute(a: Any, out: Sequence[Any] = ...) -> Any:
    """absolute(a): a without its sign; the least integer stays what it is, as numpy.absolute. Called by thread[1]; sm_75 and later."""

def acos(x: Any, out: Sequence[Any] = ...) -> Any:
    """acos(x): the arc cosine of x, in radians, within 2 ulp; NaN where |x| > 1. Called by thread[1]; sm_75 and later."""

def add_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_bf16x2(a, b): the sums of both bfloat16 halves, each rounded. Called by thread[1]; sm_90 and later."""

def add_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_f16x2(a, b): the sums of both float16 halves, each rounded. Called by thread[1]; sm_75 and later."""

def add_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_u16x2(a, b): the sums of both 16-bit halves, each modulo 2^16. Called by thread[1]; sm_75 and later."""

def array(*arguments: Any, **options: Any) -> Any:
    """array(T, 2): an array of the host's, of any strides: x[i, j], x.shape[0]; of const(T) to read. See docs/reference/array.md."""

def asin(x: Any, out: Sequence[Any] = ...) -> Any:
    """asin(x): the arc sine of x, in radians, within 2 ulp; NaN where |x| > 1. Called by thread[1]; sm_75 and later."""

def assert_(*arguments: Any, **options: Any) -> Any:
    """assert_(condition, "text"): ends the kernel with the text where it does not hold. See docs/reference/assert_.md."""

def assume(*arguments: Any, **options: Any) -> Any:
    """assume(condition): it holds here, says the program; the compiler may build on it, checked runs test it. See docs/reference/assume.md."""

def async_(*arguments: Any, **options: Any) -> Any:
    """with async_(x) as y: y is the destination of asynchronous copies. See docs/reference/async_.md."""

def atan(x: Any, out: Sequence[Any] = ...) -> Any:
    """atan(x): the arc tangent of x, in radians, within 2 ulp. Called by thread[1]; sm_75 and later."""

def atan2(y: Any, x: Any, out: Sequence[Any] = ...) -> Any:
    """atan2(y, x): the angle of the point (x, y), from -pi to pi, within 3 ulp (float64: 2). Called by thread[1]; sm_75 and later."""

def atomic_add(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add(p[i], value): add to p[i] in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. A bfloat16 is added in a loop of compare-exchanges before sm_90. Called by thread[1]; sm_75 and later."""

def atomic_add_bf16x2(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add_bf16x2(p[i], value): add both bfloat16 halves of value to those of p[i], each half in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_90 and later."""

def atomic_add_f16x2(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add_f16x2(p[i], value): add both float16 halves of value to those of p[i], each half in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_and(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_and(p[i], value): keep the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_compare_exchange(element: Any, expected: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_compare_exchange(p[i], expected, value): replace p[i] by value if it has the bits of expected, in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_exchange(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_exchange(p[i], value): replace p[i] by value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_increment(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_increment(p[i], last): add 1 to p[i], or make it 0 where it is last or more, in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_max(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_max(p[i], value): raise p[i] to value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Of floats, a loop of compare-exchanges: a NaN stays and wins, as of `maximum`, and -0 is below 0. Called by thread[1]; sm_75 and later."""

def atomic_min(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_min(p[i], value): lower p[i] to value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Of floats, a loop of compare-exchanges: a NaN stays and wins, as of `minimum`, and -0 is below 0. Called by thread[1]; sm_75 and later."""

def atomic_or(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_or(p[i], value): set the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def atomic_sub(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_sub(p[i], value): subtract from p[i] in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. A bfloat16 is added in a loop of compare-exchanges before sm_90. Called by thread[1]; sm_75 and later."""

def atomic_xor(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_xor(p[i], value): flip the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Called by thread[1]; sm_75 and later."""

def attr(text: str) -> Callable[[Any], Any]:
    """Put an attribute on the emitted function, as `__launch_bounds__(THREADS, 1)`; template names in it are replaced. See docs/reference/attr.md."""

def ballot(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """ballot(predicate): bit k tells whether it holds in lane k. Called by thread[32]; sm_75 and later."""

bf16: Scalar
"""A scalar type: bfloat16, of 16 bits."""

bfloat16: Scalar
"""A scalar type, of 16 bits."""

def bitcast(x: Any, to: Any, out: Sequence[Any] = ...) -> Any:
    """bitcast(x, T): the bits of x, taken for a T of the same size: `bitcast(x, uint32)`. Of numbers, vectors and structs. Called by thread[1]; sm_75 and later."""

block: Block
"""the threads of a block; block.scan and its like are the collectives for one. See docs/reference/block.md."""

bool_: Scalar
"""A scalar type, of 8 bits."""

def broadcast(value: Any, lane: Any, out: Sequence[Any] = ...) -> Any:
    """broadcast(value, lane): lane `lane`'s value (modulo 32), for the whole warp: it lives at thread[32]. Called by thread[32]; sm_75 and later."""

def bulk_load(destination: Any, source: Any, n: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_load(s, p[j], n=elements, cache=""): copy p[j : j + n] into the ring's tile s, or s[i :], by default all of it; n elements and both addresses are multiples of 16 bytes. `cache`: "evict_first", "evict_last" (what the L2 does with it). Called by thread[1]; sm_90 and later."""

def bulk_reduce(destination: Any, source: Any, n: Any = ..., op: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_reduce(p[j], s, n=elements, op="add", cache=""): combine p[j : j + n] with the shared tile s, or s[i :], by default all of it; n elements and both addresses are multiples of 16 bytes. `op`: add (of integers of 32 or 64 bits, and floats of 16, 32 or 64), min, max (of these integers, and floats of 16 bits; of a NaN and a number the number), and, or, xor (of these integers). Each element is combined in one step with what is there, whoever else does so: blocks may reduce into one place, in no fixed order, so sums of floats may differ in their last bits from run to run. `cache`: "evict_first", "evict_last" (what the L2 does with it). Called by thread[1]; sm_90 and later."""

def bulk_store(destination: Any, source: Any, n: Any = ..., cache: Any = ..., disjoint: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_store(p[j], s, n=elements, cache="", disjoint=False): copy the shared tile s, or s[i :], to p[j : j + n], by default all of it; n elements and both addresses are multiples of 16 bytes. `cache`: "evict_first", "evict_last" (what the L2 does with it). A store waits for earlier ones of its block that may go to the same place; `disjoint=True`: what this statement stores, in every trip and by every block, goes to different places. The reference machine checks that. Called by thread[1]; sm_90 and later."""

def byte_permute(a: Any, b: Any, selector: Any, out: Sequence[Any] = ...) -> Any:
    """byte_permute(a, b, selector): four of the eight bytes b:a; byte k is the one that nibble k of selector names (modulo 8). Called by thread[1]; sm_75 and later."""

def byte_permute_or_sign(a: Any, b: Any, selector: Any, out: Sequence[Any] = ...) -> Any:
    """byte_permute_or_sign(a, b, selector): as byte_permute, without a step that masks the selector; where the upper bit of nibble k is set, byte k is 255 or 0, by the sign of the one that it names. Called by thread[1]; sm_75 and later."""

c_float: Scalar
"""A scalar type: float32, of 32 bits."""

c_int: Scalar
"""A scalar type: int32, of 32 bits."""

def cbrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """cbrt(x): the cube root, within 1 ulp. Called by thread[1]; sm_75 and later."""

def cdiv(*arguments: Any, **options: Any) -> Any:
    """cdiv(a, b): a / b rounded up, for a >= 0 and b > 0: in a kernel, and on the host. See docs/reference/cdiv.md."""

def ceil(x: Any, out: Sequence[Any] = ...) -> Any:
    """ceil(x): the least whole number >= x. Called by thread[1]; sm_75 and later."""

def claim(*arguments: Any, **options: Any) -> Any:
    """with claim(x, unit) as y: y is x for the one unit whose arm uses it. See docs/reference/claim.md."""

def clz(x: Any, out: Sequence[Any] = ...) -> Any:
    """clz(x): how many zero bits stand above the highest one; the width of x where x is 0. Called by thread[1]; sm_75 and later."""

def column(*arguments: Any, **options: Any) -> Any:
    """column(acc, i): the column of element i of this thread's part of a fragment. See docs/reference/column.md."""

complex128: Scalar
"""A scalar type, of 128 bits."""

complex64: Scalar
"""A scalar type, of 64 bits."""

def const(*arguments: Any, **options: Any) -> Any:
    """const(T): never assigned. See docs/reference/const.md."""

def constexpr(*arguments: Any, **options: Any) -> Any:
    """constexpr(int), constexpr(Cut): a compile-time value, or a record of such. See docs/reference/constexpr.md."""

def cos(x: Any, out: Sequence[Any] = ...) -> Any:
    """cos(x): the cosine of x radians, within 2 ulp. Called by thread[1]; sm_75 and later."""

def cosh(x: Any, out: Sequence[Any] = ...) -> Any:
    """cosh(x): the hyperbolic cosine, within 2 ulp (float64: 1). Called by thread[1]; sm_75 and later."""

def count(*arguments: Any, **options: Any) -> Any:
    """count(unit): how many such units the current one has; count(acc): a thread's part of a fragment. See docs/reference/count.md."""

def cp_async(destination: Any, source: Any, bytes: Any = ..., valid: Any = ..., out: Sequence[Any] = ...) -> Any:
    """cp_async(s[i], p[j], bytes=16, valid=bytes): copy 4, 8 or 16 bytes of global memory into shared memory; `valid`: read only so many, and write zeros for the rest. Both addresses are multiples of `bytes`. Called by thread[1]; sm_80 and later."""

def device(python: FunctionType) -> Kernel:
    """Mark a function that kernels call: the same as `@prism("device")`. See docs/reference/device.md."""

def distinct(*arguments: Any, **options: Any) -> Any:
    """assume(distinct(a, ...)): no two units of a launch ever have the same values here, says the program. See docs/reference/distinct.md."""

double: Scalar
"""A scalar type: float64, of 64 bits."""

double2: Vector
"""2 of float64, moved as one word."""

double2_cast: VectorCast
"""double2_cast(p[i]) loads a vector(float64, 2) from p[i] on, double2_cast[p[i]] = v stores one."""

def dp2a_hi(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp2a_hi(a, b, c): c plus the products of the two halves of a and the two high bytes of b. Called by thread[1]; sm_75 and later."""

def dp2a_lo(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp2a_lo(a, b, c): c plus the products of the two halves of a and the two low bytes of b. Called by thread[1]; sm_75 and later."""

def dp4a(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp4a(a, b, c): c plus the products of the four bytes of a and b; signed where they are int32. Called by thread[1]; sm_75 and later."""

def dtype(*arguments: Any, **options: Any) -> Any:
    """a template parameter that stands for a scalar type. See docs/reference/dtype.md."""

def elect(out: Sequence[Any] = ...) -> Any:
    """elect(): True in one lane of the warp, which the hardware chooses, False in the others. Called by thread[32]; sm_90 and later."""

def erf(x: Any, out: Sequence[Any] = ...) -> Any:
    """erf(x): the error function, within 2 ulp. Called by thread[1]; sm_75 and later."""

def erfc(x: Any, out: Sequence[Any] = ...) -> Any:
    """erfc(x): 1 - erf(x), within 4 ulp (float64: 5), also where that is near 0. Called by thread[1]; sm_75 and later."""

def exp(x: Any, out: Sequence[Any] = ...) -> Any:
    """exp(x): e to the x, within 2 ulp (float64: 1). Called by thread[1]; sm_75 and later."""

def exp2(x: Any, out: Sequence[Any] = ...) -> Any:
    """exp2(x): 2 to the x, within 2 ulp (float64: 1). Called by thread[1]; sm_75 and later."""

def expm1(x: Any, out: Sequence[Any] = ...) -> Any:
    """expm1(x): e to the x, less 1, within 1 ulp, also where x is near 0. Called by thread[1]; sm_75 and later."""

def extern(text: str, *, reads: Sequence[str] | None = None, writes: Sequence[str] | None = None, meaning: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Give the body of a function in CUDA C++; its own body is `pass`. The signature and the effects are taken at their word.
    
    `text` names the parameters as the signature does, and returns a result with `return`. `reads` and `writes` list the pointer
    parameters that it touches (left out: all are read, and those not const written). `meaning`, a Python function of the
    same parameters, is what the reference machine runs.
    
    See docs/reference/extern.md.
    """

def fast_cos(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_cos(x): the cosine; off by at most 2^-21.2 for x in [-pi, pi], more elsewhere. Called by thread[1]; sm_75 and later."""

def fast_divide(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """fast_divide(x, y): x / y, within 2 ulp; 0 where |y| > 2^126. Called by thread[1]; sm_75 and later."""

def fast_exp(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp(x): e to the x, within 2 + |1.16 x| ulp. Called by thread[1]; sm_75 and later."""

def fast_exp2(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp2(x): 2 to the x, within 2 ulp. Results below 2^-126 are kept, as denormals, for a few more instructions. Called by thread[1]; sm_75 and later."""

def fast_exp2_flush(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp2_flush(x): 2 to the x, within 2 ulp, in one instruction; 0 where that is below 2^-126. Called by thread[1]; sm_75 and later."""

def fast_log(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_log(x): the natural logarithm; off by at most 2^-21.4 for x in [0.5, 2], 3 ulp elsewhere. Called by thread[1]; sm_75 and later."""

def fast_log2(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_log2(x): the logarithm to base 2; off by at most 2^-22 for x in [0.5, 2], 2 ulp elsewhere. Called by thread[1]; sm_75 and later."""

def fast_reciprocal(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_reciprocal(x): 1 / x, within 1 ulp. Called by thread[1]; sm_75 and later."""

def fast_sin(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_sin(x): the sine; off by at most 2^-21.4 for x in [-pi, pi], more elsewhere. Called by thread[1]; sm_75 and later."""

def fast_sqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_sqrt(x): the square root, within 2^-23 relative. Called by thread[1]; sm_75 and later."""

def fast_tanh(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_tanh(x): the hyperbolic tangent, with a relative error of at most 2^-11. Called by thread[1]; sm_75 and later."""

def fence(order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """fence(order="acq_rel", scope="gpu"): what this thread did before it is seen by who reads what it then writes with a relaxed atomic (release); after it, this thread sees what such a write was ordered after (acquire). "sc": fences so marked have one order. Called by thread[1]; sm_75 and later."""

def first_set(x: Any, out: Sequence[Any] = ...) -> Any:
    """first_set(x): 1 + the index of the lowest bit that is set; 0 where none is. Called by thread[1]; sm_75 and later."""

float16: Scalar
"""A scalar type, of 16 bits."""

float2: Vector
"""2 of float32, moved as one word."""

float2_cast: VectorCast
"""float2_cast(p[i]) loads a vector(float32, 2) from p[i] on, float2_cast[p[i]] = v stores one."""

float32: Scalar
"""A scalar type, of 32 bits."""

float4: Vector
"""4 of float32, moved as one word."""

float4_cast: VectorCast
"""float4_cast(p[i]) loads a vector(float32, 4) from p[i] on, float4_cast[p[i]] = v stores one."""

float64: Scalar
"""A scalar type, of 64 bits."""

float8_e4m3fn: Scalar
"""A scalar type, of 8 bits."""

float8_e5m2: Scalar
"""A scalar type, of 8 bits."""

def float_as_int(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_int(x): the bits of a float32, taken for a int32; CUDA's `__float_as_int`. Called by thread[1]; sm_75 and later."""

def float_as_uint(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_uint(x): the bits of a float32, taken for a uint32; CUDA's `__float_as_uint`. Called by thread[1]; sm_75 and later."""

def floor(x: Any, out: Sequence[Any] = ...) -> Any:
    """floor(x): the largest whole number <= x. Called by thread[1]; sm_75 and later."""

def fma(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma(a, b, c): a * b + c with one rounding. Called by thread[1]; sm_75 and later."""

def fma_bf16x2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma_bf16x2(a, b, c): a * b + c of both bfloat16 halves, rounded once. Called by thread[1]; sm_80 and later."""

def fma_f16x2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma_f16x2(a, b, c): a * b + c of both float16 halves, rounded once. Called by thread[1]; sm_75 and later."""

def fmod(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """fmod(x, y): the remainder of x / y, with the sign of x: exact. Called by thread[1]; sm_75 and later."""

def fragment(*arguments: Any, **options: Any) -> Any:
    """fragment(T, rows, columns): a matrix that a warpgroup or a warp keeps in registers. See docs/reference/fragment.md."""

def function(*arguments: Any, **options: Any) -> Any:
    """a template parameter that stands for a device function. See docs/reference/function.md."""

def funnel_shift_left(low: Any, high: Any, shift: Any, out: Sequence[Any] = ...) -> Any:
    """funnel_shift_left(low, high, shift): the upper word of high:low << (shift modulo 32). Called by thread[1]; sm_75 and later."""

def funnel_shift_right(low: Any, high: Any, shift: Any, out: Sequence[Any] = ...) -> Any:
    """funnel_shift_right(low, high, shift): the lower word of high:low >> (shift modulo 32). Called by thread[1]; sm_75 and later."""

grid: Grid
"""all blocks of a launch. See docs/reference/grid.md."""

def grid_dependency_launch(out: Sequence[Any] = ...) -> Any:
    """grid_dependency_launch(): this block allows the kernel that follows to start; a hint (nothing on the reference machine). Called by thread[1]; sm_90 and later."""

def grid_dependency_wait(out: Sequence[Any] = ...) -> Any:
    """grid_dependency_wait(): wait until the kernels that this one was launched to follow are complete and their writes seen; at once where there are none (so on the reference machine). Called by thread[1]; sm_90 and later."""

def group(*arguments: Any, **options: Any) -> Any:
    """with group(unit): every unit inside the current one runs the body. See docs/reference/group.md."""

half: Scalar
"""A scalar type: float16, of 16 bits."""

half2: Vector
"""2 of float16, moved as one word."""

half2_cast: VectorCast
"""half2_cast(p[i]) loads a vector(float16, 2) from p[i] on, half2_cast[p[i]] = v stores one."""

half8: Vector
"""8 of float16, moved as one word."""

half8_cast: VectorCast
"""half8_cast(p[i]) loads a vector(float16, 8) from p[i] on, half8_cast[p[i]] = v stores one."""

def hypot(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """hypot(x, y): sqrt(x * x + y * y) without overflow on the way, within 3 ulp (float64: 2). Called by thread[1]; sm_75 and later."""

def id(*arguments: Any, **options: Any) -> Any:
    """id(): the index of the target's unit inside the current one; id(unit) names the unit. See docs/reference/id.md."""

int16: Scalar
"""A scalar type, of 16 bits."""

int16_t: Scalar
"""A scalar type: int16, of 16 bits."""

int2: Vector
"""2 of int32, moved as one word."""

int2_cast: VectorCast
"""int2_cast(p[i]) loads a vector(int32, 2) from p[i] on, int2_cast[p[i]] = v stores one."""

int32: Scalar
"""A scalar type, of 32 bits."""

int32_t: Scalar
"""A scalar type: int32, of 32 bits."""

int4: Vector
"""4 of int32, moved as one word."""

int4_cast: VectorCast
"""int4_cast(p[i]) loads a vector(int32, 4) from p[i] on, int4_cast[p[i]] = v stores one."""

int64: Scalar
"""A scalar type, of 64 bits."""

int64_t: Scalar
"""A scalar type: int64, of 64 bits."""

int8: Scalar
"""A scalar type, of 8 bits."""

int8_t: Scalar
"""A scalar type: int8, of 8 bits."""

def int_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """int_as_float(x): the bits of a int32, taken for a float32; CUDA's `__int_as_float`. Called by thread[1]; sm_75 and later."""

intrinsic: Namespace
"""`intrinsic.mma(...)` is `mma`; `@intrinsic("text")` declares one of the user's own."""

def is_finite(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_finite(x): whether x is neither infinite nor NaN. Called by thread[1]; sm_75 and later."""

def is_inf(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_inf(x): whether x is infinite, of either sign. Called by thread[1]; sm_75 and later."""

def is_nan(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_nan(x): whether x is NaN. Called by thread[1]; sm_75 and later."""

def keep_order(out: Sequence[Any] = ...) -> Any:
    """keep_order(): the assembler moves no arithmetic, load or store of this thread across it. For long runs of arithmetic whose order decides how often operands are read again. A hint: it gives no value, and orders no access as other threads see it. Called by thread[1]; sm_75 and later."""

def kernel(python: FunctionType) -> Kernel:
    """Mark a kernel's entry: the same as `@prism("global")`. See docs/reference/kernel.md."""

def ldmatrix(row: Any, registers: Any, trans: Any = ..., out: Sequence[Any] = ...) -> Any:
    """ldmatrix(p[i], r, trans=False): bring r's 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory into r, a uint32[1, 2, 4] @ thread[1]; lane l gives the address of row l % 8 of matrix l / 8, aligned to 16 bytes. Called by thread[32]; sm_75 and later."""

def lgamma(x: Any, out: Sequence[Any] = ...) -> Any:
    """lgamma(x): the logarithm of |tgamma(x)|, within 6 ulp (float64: 4) for x > -2; more where it crosses 0 below. Called by thread[1]; sm_75 and later."""

def load_acquire(element: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """load_acquire(p[i], scope="gpu"): read p[i] whole, while others may write it; what was written before the release that it reads from is seen by what comes after it. Called by thread[1]; sm_75 and later."""

def load_relaxed(element: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """load_relaxed(p[i], scope="gpu"): read p[i] past the L1, whole, while others may write it; it orders no other access. Called by thread[1]; sm_75 and later."""

def load_vector(element: Any, width: Any, cache: Any, out: Sequence[Any] = ...) -> Any:
    """load_vector(p[i], width, cache=""): p[i : i + width] as one vector, in one aligned access of at most 16 bytes. `cache`: "streaming" (read once: leave first), "last_use" (not read again), "no_allocate" (global const memory: past the L1). Called by thread[1]; sm_75 and later."""

def log(x: Any, out: Sequence[Any] = ...) -> Any:
    """log(x): the natural logarithm, within 1 ulp. Called by thread[1]; sm_75 and later."""

def log1p(x: Any, out: Sequence[Any] = ...) -> Any:
    """log1p(x): the natural logarithm of 1 + x, within 1 ulp, also where x is near 0. Called by thread[1]; sm_75 and later."""

def log2(x: Any, out: Sequence[Any] = ...) -> Any:
    """log2(x): the logarithm to base 2, within 1 ulp. Called by thread[1]; sm_75 and later."""

def mailbox(*arguments: Any, **options: Any) -> Any:
    """mailbox(T): a word between blocks, written by publish and read by receive. See docs/reference/mailbox.md."""

def match_all(value: Any, out: Sequence[Any] = ...) -> Any:
    """match_all(value): whether all lanes have the same bits; it lives at thread[32]. Called by thread[32]; sm_75 and later."""

def match_any(value: Any, out: Sequence[Any] = ...) -> Any:
    """match_any(value): bit k tells whether lane k has the same bits as this one. Called by thread[32]; sm_75 and later."""

def max_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_bf16x2(a, b): the larger of both bfloat16 halves; NaN loses. Called by thread[1]; sm_80 and later."""

def max_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_f16x2(a, b): the larger of both float16 halves; NaN loses. Called by thread[1]; sm_80 and later."""

def max_s16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_s16x2(a, b): the larger of both 16-bit halves, signed. Called by thread[1]; sm_75 and later."""

def max_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_u16x2(a, b): the larger of both 16-bit halves, unsigned. Called by thread[1]; sm_75 and later."""

def maximum(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """maximum(a, b): the larger; NaN if either is NaN, as numpy.maximum. Called by thread[1]; sm_75 and later."""

def may_alias(*names: str) -> Callable[[Any], Any]:
    """Say that these pointer parameters may overlap; others are taken not to. See docs/reference/may_alias.md."""

def min_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_bf16x2(a, b): the smaller of both bfloat16 halves; NaN loses. Called by thread[1]; sm_80 and later."""

def min_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_f16x2(a, b): the smaller of both float16 halves; NaN loses. Called by thread[1]; sm_80 and later."""

def min_s16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_s16x2(a, b): the smaller of both 16-bit halves, signed. Called by thread[1]; sm_75 and later."""

def min_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_u16x2(a, b): the smaller of both 16-bit halves, unsigned. Called by thread[1]; sm_75 and later."""

def minimum(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """minimum(a, b): the smaller; NaN if either is NaN, as numpy.minimum. Called by thread[1]; sm_75 and later."""

def mma(a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, c0: Any, c1: Any, c2: Any, c3: Any, kind: Any = ..., out: Sequence[Any] = ...) -> Any:
    """mma(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3, kind="tf32"): a * b + c as a vector of four; as in Typed Perspectives: `intrinsic.mma(..., out=[d0, d1, d2, d3])`. Tiles 16x8 by 8x8 of tf32, or 16x16 by 16x8 of f16 or bf16. Called by thread[32]; sm_80 and later."""

def mma_m16n8k128_b1_and(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k128_b1_and(a, b, c): c += a * b, 16x128 by 128x8: a uint32[2], b uint32[1] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by and and counted. Called by thread[32]; sm_80 and later."""

def mma_m16n8k128_b1_xor(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k128_b1_xor(a, b, c): c += a * b, 16x128 by 128x8: a uint32[2], b uint32[1] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by xor and counted. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_bf16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_bf16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 bf16 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 f16 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_f16_in_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f16_in_f16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 f16 a word), c uint32[2] (2 float16 a word), all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f64(a, b, c): c += a * b, 16x16 by 16x8: a float64[8], b float64[4] (doubles), c float64[4], all @ thread[1]. Called by thread[32]; sm_90 and later."""

def mma_m16n8k16_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_s8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 s8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_s8_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_s8_u8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 s8 and u8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_u8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 u8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k16_u8_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_u8_s8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 u8 and s8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k256_b1_and(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k256_b1_and(a, b, c): c += a * b, 16x256 by 256x8: a uint32[4], b uint32[2] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by and and counted. Called by thread[32]; sm_80 and later."""

def mma_m16n8k256_b1_xor(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k256_b1_xor(a, b, c): c += a * b, 16x256 by 256x8: a uint32[4], b uint32[2] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by xor and counted. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_e4m3(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e4m3(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e4m3 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_89 and later."""

def mma_m16n8k32_e4m3_e5m2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e4m3_e5m2(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e4m3 and e5m2 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_89 and later."""

def mma_m16n8k32_e5m2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e5m2(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e5m2 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_89 and later."""

def mma_m16n8k32_e5m2_e4m3(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e5m2_e4m3(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e5m2 and e4m3 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_89 and later."""

def mma_m16n8k32_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 s4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_s4_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s4_u4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 s4 and u4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 s8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_s8_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s8_u8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 s8 and u8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 u4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_u4_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u4_s4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 u4 and s4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 u8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k32_u8_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u8_s8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 u8 and s8 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k4_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k4_f64(a, b, c): c += a * b, 16x4 by 4x8: a float64[2], b float64[1] (doubles), c float64[4], all @ thread[1]. Called by thread[32]; sm_90 and later."""

def mma_m16n8k4_tf32(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k4_tf32(a, b, c): c += a * b, 16x4 by 4x8: a uint32[2], b uint32[1] (tf32 words), c float32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k64_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_s4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 s4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k64_s4_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_s4_u4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 s4 and u4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k64_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_u4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 u4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k64_u4_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_u4_s4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 u4 and s4 a word), c int32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k8_bf16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_bf16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 bf16 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m16n8k8_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 f16 a word), c float32[4], all @ thread[1]. Called by thread[32]; sm_75 and later."""

def mma_m16n8k8_f16_in_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f16_in_f16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 f16 a word), c uint32[2] (2 float16 a word), all @ thread[1]. Called by thread[32]; sm_75 and later."""

def mma_m16n8k8_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f64(a, b, c): c += a * b, 16x8 by 8x8: a float64[4], b float64[2] (doubles), c float64[4], all @ thread[1]. Called by thread[32]; sm_90 and later."""

def mma_m16n8k8_tf32(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_tf32(a, b, c): c += a * b, 16x8 by 8x8: a uint32[4], b uint32[2] (tf32 words), c float32[4], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mma_m8n8k4_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m8n8k4_f64(a, b, c): c += a * b, 8x4 by 4x8: a float64[1], b float64[1] (doubles), c float64[2], all @ thread[1]. Called by thread[32]; sm_80 and later."""

def mul_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """mul_bf16x2(a, b): the products of both bfloat16 halves, each rounded. Called by thread[1]; sm_90 and later."""

def mul_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """mul_f16x2(a, b): the products of both float16 halves, each rounded. Called by thread[1]; sm_75 and later."""

def multiply_add(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma(a, b, c): a * b + c with one rounding. Called by thread[1]; sm_75 and later."""

def one(*arguments: Any, **options: Any) -> Any:
    """with one(thread): the first such unit of the current one runs the body. See docs/reference/one.md."""

def pack_bf16x2(low: Any, high: Any, out: Sequence[Any] = ...) -> Any:
    """pack_bf16x2(low, high): two floats rounded to bfloat16, in one word. Called by thread[1]; sm_80 and later."""

def pack_f16x2(low: Any, high: Any, out: Sequence[Any] = ...) -> Any:
    """pack_f16x2(low, high): two floats rounded to float16, in one word. Called by thread[1]; sm_80 and later."""

def partition(*arguments: Any, **options: Any) -> Any:
    """with partition(x, unit, offset) as y: y is each unit's own part of x. See docs/reference/partition.md."""

def popcount(x: Any, out: Sequence[Any] = ...) -> Any:
    """popcount(x): how many bits are set. Called by thread[1]; sm_75 and later."""

def pow(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """pow(x, y): x to the y, within 4 ulp (float64: 2). Called by thread[1]; sm_75 and later."""

def prefetch(element: Any, count: Any, out: Sequence[Any] = ...) -> Any:
    """prefetch(p[i], count): ask for p[i : i + count] to be brought into the L2, and go on at once; nothing where count <= 0. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, where what it is given is not read from memory. Called by thread[1]; sm_75 and later."""

def prefetch_map(map: Any, out: Sequence[Any] = ...) -> Any:
    """prefetch_map(map): bring a tensor map's description near, before the first copy needs it. A hint. Called by thread[1]; sm_90 and later."""

def print_(*arguments: Any, **options: Any) -> Any:
    """print_("x = {}", x): prints a line for each unit that the code speaks for. See docs/reference/print_.md."""

prism: PrismModule
"""@prism("global") marks a kernel, @prism("device") a function that kernels call. See docs/reference/prism.md."""

def ptr(*arguments: Any, **options: Any) -> Any:
    """ptr(T): memory that several threads reach; ptr(const(T)) is read only. See docs/reference/ptr.md."""

def publish(box: Any, value: Any, epoch: Any, out: Sequence[Any] = ...) -> Any:
    """publish(box[i], value, epoch): write value and epoch as one word, that receive takes for this epoch. The word is the whole message: it orders no other access. Called by thread[1]; sm_75 and later."""

def receive(boxes: Any, values: Any, stride: Any, valid: Any, default: Any, epoch: Any, out: Sequence[Any] = ...) -> Any:
    """receive(boxes[i], values, stride, valid, default, epoch): wait for boxes[i + k * stride], k < valid, and put them in values[k], default in the rest. All are asked for at once, then asked again until every one has come. It orders no other access. Called by thread[1]; sm_75 and later."""

def reciprocal(x: Any, out: Sequence[Any] = ...) -> Any:
    """reciprocal(x): 1 / x, correctly rounded. Called by thread[1]; sm_75 and later."""

def requires(*bound: Any, smem: int | None = None, cooperative: bool = False) -> Callable[[Any], Any]:
    """State the units that the function may rely on, one entry a level, and the bytes of shared memory it may use.
    
    `cooperative`: all blocks of the grid run at once, so that they can wait for one another: the compiler may put barriers of the
    whole grid. A launch of more blocks than the device holds at once is refused. A device function that needs it says so too.
    
    See docs/reference/requires.md.
    """

def reverse_bits(x: Any, out: Sequence[Any] = ...) -> Any:
    """reverse_bits(x): the bits of x, the highest first. Called by thread[1]; sm_75 and later."""

def roles(*arguments: Any, **options: Any) -> Any:
    """a, b = roles(warpgroup, 2, 1): a static split whose arms have names. See docs/reference/roles.md."""

def round_(x: Any, out: Sequence[Any] = ...) -> Any:
    """round_(x): the nearest whole number; halves to the even one. Called by thread[1]; sm_75 and later."""

def row(*arguments: Any, **options: Any) -> Any:
    """row(acc, i): the row of element i of this thread's part of a fragment. See docs/reference/row.md."""

def rsqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """rsqrt(x): 1 / sqrt(x), within 2 ulp (float64: 1). Called by thread[1]; sm_75 and later."""

def set_registers(n: Any, out: Sequence[Any] = ...) -> Any:
    """set_registers(n): from here on each thread of the warpgroup has n registers, a multiple of 8 from 24 to 256: what some give back, others may take. Stands first in a role. Called by thread[128]; sm_90a and later."""

def shared(*arguments: Any, **options: Any) -> Any:
    """shared(T[n]): an object in the block's shared memory; ring=k: k copies, visited in turn. See docs/reference/shared.md."""

def shuffle(value: Any, lane: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle(value, lane): the value of lane `lane` (modulo 32), which each thread chooses. Called by thread[32]; sm_75 and later."""

def shuffle_down(value: Any, delta: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_down(value, delta): the value of the lane `delta` above; the last lanes keep their own. delta < 32. Called by thread[32]; sm_75 and later."""

def shuffle_up(value: Any, delta: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_up(value, delta): the value of the lane `delta` below; the first lanes keep their own. delta < 32. Called by thread[32]; sm_75 and later."""

def shuffle_xor(value: Any, mask: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_xor(value, mask): the value of the lane whose index is this one's xor `mask`. mask < 32. Called by thread[32]; sm_75 and later."""

def sign_bit(x: Any, out: Sequence[Any] = ...) -> Any:
    """sign_bit(x): whether x is negative, -0 and negative NaNs included. Called by thread[1]; sm_75 and later."""

def sin(x: Any, out: Sequence[Any] = ...) -> Any:
    """sin(x): the sine of x radians, within 2 ulp. Called by thread[1]; sm_75 and later."""

def sinh(x: Any, out: Sequence[Any] = ...) -> Any:
    """sinh(x): the hyperbolic sine, within 3 ulp (float64: 2). Called by thread[1]; sm_75 and later."""

def split(*arguments: Any, **options: Any) -> Any:
    """match split(level): different units run different arms. See docs/reference/split.md."""

def sqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """sqrt(x): the square root, correctly rounded. Called by thread[1]; sm_75 and later."""

def st_async(destination: Any, value: Any, shift: Any = ..., out: Sequence[Any] = ...) -> Any:
    """st_async(s[i], v, shift=1): store v at the place of s[i], of this thread's part of a ring's copy, in the block that is `shift` further on in the cluster, round its ends; that block has it where it has waited for this visit of the ring. `shift` is the same for a thread of each block of the cluster. Called by thread[1]; sm_90 and later."""

def static_assert(*arguments: Any, **options: Any) -> Any:
    """static_assert(condition, "text"): demands it of constants: the program is refused where it does not hold. See docs/reference/static_assert.md."""

def stmatrix(row: Any, registers: Any, trans: Any = ..., out: Sequence[Any] = ...) -> Any:
    """stmatrix(p[i], r, trans=False): the reverse of ldmatrix: write the 1, 2 or 4 matrices in r to shared memory. Called by thread[32]; sm_90 and later."""

def store_relaxed(element: Any, value: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """store_relaxed(p[i], value, scope="gpu"): write p[i] whole, while others may read it; it orders no other access. Called by thread[1]; sm_75 and later."""

def store_release(element: Any, value: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """store_release(p[i], value, scope="gpu"): write p[i] whole, while others may read it; who acquires the value sees what this thread did before. Called by thread[1]; sm_75 and later."""

def store_vector(element: Any, value: Any, cache: Any, out: Sequence[Any] = ...) -> Any:
    """store_vector(p[i], v, cache=""): write the vector v to p[i : i + width], in one aligned access of at most 16 bytes. `cache`: "streaming" (leave first), "no_allocate" (global memory: past the L1). Called by thread[1]; sm_75 and later."""

def strides_nest(n0: Any, s0: Any, n1: Any = ..., s1: Any = ..., n2: Any = ..., s2: Any = ..., n3: Any = ..., s3: Any = ..., out: Sequence[Any] = ...) -> Any:
    """strides_nest(n0, s0, n1, s1, ...): whether the strides `s0`, ... of up to four axes nest: each is larger, without its sign, than all smaller ones reach in axes of `n0`, ... elements. Then elements of different indices are at different places, and the compiler knows. In an `assume`, mostly. Called by thread[1]; sm_75 and later."""

def struct(cls: type) -> Any:
    """Declare a struct: a class whose annotations are scalars of Prism; `int` is int32 and `float` float32, as in a kernel.
    
        @struct
        class Affine:
            scale: float32
            shift: float32
    
    In a kernel `Affine(a, b)` makes a value, by position or by name, `Affine()` one of zeros, and `v.scale` is a field. On the
    host `Affine(1, 0)` is a NumPy record, and `numpy.zeros(n, Affine)` an array. It may be a dataclass as well.
    
    Raises
    ------
    TypeError
        It has no fields, bases, or a default; a field is no scalar, or its name begins with `__`.
    
    See docs/reference/struct.md.
    """

def sub_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """sub_bf16x2(a, b): the differences of both bfloat16 halves, each rounded. Called by thread[1]; sm_90 and later."""

def sub_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """sub_f16x2(a, b): the differences of both float16 halves, each rounded. Called by thread[1]; sm_75 and later."""

def tan(x: Any, out: Sequence[Any] = ...) -> Any:
    """tan(x): the tangent of x radians, within 4 ulp (float64: 2). Called by thread[1]; sm_75 and later."""

def tanh(x: Any, out: Sequence[Any] = ...) -> Any:
    """tanh(x): the hyperbolic tangent, within 2 ulp (float64: 1). Called by thread[1]; sm_75 and later."""

def template(*listed: Any, **named: Any) -> Callable[[Any], Any]:
    """Declare template parameters: `T=dtype, N=constexpr(int), OP=function`, or the paper's `[("N", c_int), ...]`.
    
    `dtype(default=float32)`, `constexpr(int, default=128)` and `function(default=add)` need not be given. A default may be a
    function of parameters before it: `constexpr(int, default=lambda N: N // 2)`. `constexpr(Cut)`, of a frozen dataclass or a
    `NamedTuple`, is a record of constants: `CUT.BM` is one of its fields, or a property.
    
    See docs/reference/template.md.
    """

def tgamma(x: Any, out: Sequence[Any] = ...) -> Any:
    """tgamma(x): the gamma function, within 5 ulp (float64: 10). Called by thread[1]; sm_75 and later."""

thread: Thread
"""one thread, or n of them: thread[n]. See docs/reference/thread.md."""

def tma_load(tile: Any, tensor: Any, multicast: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_load(s, map[i, j], multicast=0, cache=""): copy the tile of the tensor that begins at [i, j] into the ring's tile s; zeros where it is outside the tensor. `multicast`: into the same place of these blocks of the cluster, a bit each. `cache`: "evict_first", "evict_last" (what the L2 does with it). Called by thread[1]; sm_90 and later."""

def tma_prefetch(tensor: Any, out: Sequence[Any] = ...) -> Any:
    """tma_prefetch(map[i, j]): ask for the tile of the tensor that begins at [i, j] to be brought into the L2, and go on at once. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, where its indices are not read from memory. Copies of the same block that are asked for after it wait behind it. Called by thread[1]; sm_90 and later."""

def tma_reduce(tensor: Any, tile: Any, op: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_reduce(map[i, j], s, op="add", cache=""): combine the tile of the tensor that begins at [i, j] with the shared tile s; what is outside the tensor is left alone. `op`: add (of integers of 32 or 64 bits, and floats of 16, 32 or 64), min, max (of these integers, and floats of 16 bits; of a NaN and a number the number), and, or, xor (of these integers). Each element is combined in one step with what is there, whoever else does so: blocks may reduce into one place, in no fixed order, so sums of floats may differ in their last bits from run to run. `cache`: "evict_first", "evict_last" (what the L2 does with it). Called by thread[1]; sm_90 and later."""

def tma_store(tensor: Any, tile: Any, cache: Any = ..., disjoint: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_store(map[i, j], s, cache="", disjoint=False): copy the shared tile s to the tile of the tensor that begins at [i, j]; what is outside the tensor is not written. `cache`: "evict_first", "evict_last" (what the L2 does with it). A store waits for earlier ones of its block that may go to the same place; `disjoint=True`: what this statement stores, in every trip and by every block, goes to different places. The reference machine checks that. Called by thread[1]; sm_90 and later."""

def trunc(x: Any, out: Sequence[Any] = ...) -> Any:
    """trunc(x): x without its fraction. Called by thread[1]; sm_75 and later."""

def turns(*arguments: Any, **options: Any) -> Any:
    """with turns(role): the role's units run the body one after the other, round after round. See docs/reference/turns.md."""

uint: Scalar
"""A scalar type: uint32, of 32 bits."""

uint16: Scalar
"""A scalar type, of 16 bits."""

uint16_t: Scalar
"""A scalar type: uint16, of 16 bits."""

uint2: Vector
"""2 of uint32, moved as one word."""

uint2_cast: VectorCast
"""uint2_cast(p[i]) loads a vector(uint32, 2) from p[i] on, uint2_cast[p[i]] = v stores one."""

uint32: Scalar
"""A scalar type, of 32 bits."""

uint32_t: Scalar
"""A scalar type: uint32, of 32 bits."""

uint4: Vector
"""4 of uint32, moved as one word."""

uint4_cast: VectorCast
"""uint4_cast(p[i]) loads a vector(uint32, 4) from p[i] on, uint4_cast[p[i]] = v stores one."""

uint64: Scalar
"""A scalar type, of 64 bits."""

uint64_t: Scalar
"""A scalar type: uint64, of 64 bits."""

uint8: Scalar
"""A scalar type, of 8 bits."""

uint8_t: Scalar
"""A scalar type: uint8, of 8 bits."""

def uint_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """uint_as_float(x): the bits of a uint32, taken for a float32; CUDA's `__uint_as_float`. Called by thread[1]; sm_75 and later."""

def unpack_bf16x2(word: Any, part: Any, out: Sequence[Any] = ...) -> Any:
    """unpack_bf16x2(word, part): the low (0) or high (1) bfloat16 of a word, as a float. Called by thread[1]; sm_75 and later."""

def unpack_f16x2(word: Any, part: Any, out: Sequence[Any] = ...) -> Any:
    """unpack_f16x2(word, part): the low (0) or high (1) float16 of a word, as a float. Called by thread[1]; sm_75 and later."""

def unsafe(*arguments: Any, **options: Any) -> Any:
    """unsafe("text"): text for the emitted code. See docs/reference/unsafe.md."""

def vector(*arguments: Any, **options: Any) -> Any:
    """vector(T, n): n scalars moved as one word of at most 16 bytes. See docs/reference/vector.md."""

warp: Warp
"""32 threads; warp.scan and its like are the collectives for one. See docs/reference/warp.md."""

def warp_all(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """warp_all(predicate): whether it holds in all lanes. Called by thread[32]; sm_75 and later."""

def warp_and(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_and(value): the bits set in every lane, in one instruction; it lives at thread[32]. Called by thread[32]; sm_80 and later."""

def warp_any(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """warp_any(predicate): whether it holds in any lane. Called by thread[32]; sm_75 and later."""

def warp_max(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_max(value): the greatest over the warp, in one instruction; it lives at thread[32]. Called by thread[32]; sm_80 and later."""

def warp_min(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_min(value): the least over the warp, in one instruction; it lives at thread[32]. Called by thread[32]; sm_80 and later."""

def warp_or(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_or(value): the bits set in any lane, in one instruction; it lives at thread[32]. Called by thread[32]; sm_80 and later."""

def warp_sum(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_sum(value): the sum over the warp, modulo 2^32, in one instruction (redux.sync); it lives at thread[32]. Called by thread[32]; sm_80 and later."""

def warp_xor(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_xor(value): the bits set in an odd number of lanes, in one instruction; it lives at thread[32]. Called by thread[32]; sm_80 and later."""

warpgroup: LevelName
"""128 threads, which wgmma takes. See docs/reference/warpgroup.md."""

def wgmma(accumulator: Any, a: Any, b: Any, transpose_a: Any = ..., transpose_b: Any = ..., accumulate: Any = ..., out: Sequence[Any] = ...) -> Any:
    """wgmma(acc, a, b, transpose_a=False, transpose_b=False, accumulate=True): acc += A * B over all of K, or A * B where not `accumulate`; acc is a fragment of M x N, M a multiple of 64; a and b are swizzled shared tiles, M x K and N x K (transposed: K x M and K x N), or what begins at a[i, k]; a may be a fragment of 16-bit or 8-bit elements, M x K, which is read until the wgmma has been waited for; of bfloat16, float16, float32 (taken as tf32), int8, uint8, float8_e4m3fn or float8_e5m2; of the last two, and of int8 and uint8, b may be of the other. Called by thread[128]; sm_90a and later."""

def wgmma_async(*arguments: Any, **options: Any) -> Any:
    """with wgmma_async(): the wgmmas inside are issued as one group. See docs/reference/wgmma_async.md."""

def wrapping_add(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_add(a, b): the sum; of integers modulo 2^bits, signed ones too. Of floats it is `a + b`. Called by thread[1]; sm_75 and later."""

def wrapping_multiply(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_multiply(a, b): the product; of integers modulo 2^bits, signed ones too. Of floats it is `a * b`. Called by thread[1]; sm_75 and later."""

def wrapping_subtract(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_subtract(a, b): the difference; of integers modulo 2^bits, signed ones too. Of floats it is `a - b`. Called by thread[1]; sm_75 and later."""

__all__ = ["CUtensorMap", "CompileError", "InternalError", "Kernel", "__float_as_int", "__float_as_uint", "__int_as_float", "__uint_as_float", "absolute", "acos", "add_bf16x2", "add_f16x2", "add_u16x2", "array", "asin", "assert_", "assume", "async_", "atan", "atan2", "atomic_add", "atomic_add_bf16x2", "atomic_add_f16x2", "atomic_and", "atomic_compare_exchange", "atomic_exchange", "atomic_increment", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "attr", "ballot", "bf16", "bfloat16", "bitcast", "block", "bool_", "broadcast", "bulk_load", "bulk_reduce", "bulk_store", "byte_permute", "byte_permute_or_sign", "c_float", "c_int", "cbrt", "cdiv", "ceil", "claim", "clz", "column", "complex128", "complex64", "const", "constexpr", "cos", "cosh", "count", "cp_async", "device", "distinct", "double", "double2", "double2_cast", "dp2a_hi", "dp2a_lo", "dp4a", "dtype", "elect", "erf", "erfc", "exp", "exp2", "expm1", "extern", "fast_cos", "fast_divide", "fast_exp", "fast_exp2", "fast_exp2_flush", "fast_log", "fast_log2", "fast_reciprocal", "fast_sin", "fast_sqrt", "fast_tanh", "fence", "first_set", "float16", "float2", "float2_cast", "float32", "float4", "float4_cast", "float64", "float8_e4m3fn", "float8_e5m2", "float_as_int", "float_as_uint", "floor", "fma", "fma_bf16x2", "fma_f16x2", "fmod", "fragment", "function", "funnel_shift_left", "funnel_shift_right", "grid", "grid_dependency_launch", "grid_dependency_wait", "group", "half", "half2", "half2_cast", "half8", "half8_cast", "hypot", "id", "int16", "int16_t", "int2", "int2_cast", "int32", "int32_t", "int4", "int4_cast", "int64", "int64_t", "int8", "int8_t", "int_as_float", "intrinsic", "is_finite", "is_inf", "is_nan", "keep_order", "kernel", "ldmatrix", "lgamma", "load_acquire", "load_relaxed", "load_vector", "log", "log1p", "log2", "mailbox", "match_all", "match_any", "max_bf16x2", "max_f16x2", "max_s16x2", "max_u16x2", "maximum", "may_alias", "min_bf16x2", "min_f16x2", "min_s16x2", "min_u16x2", "minimum", "mma", "mma_m16n8k128_b1_and", "mma_m16n8k128_b1_xor", "mma_m16n8k16_bf16", "mma_m16n8k16_f16", "mma_m16n8k16_f16_in_f16", "mma_m16n8k16_f64", "mma_m16n8k16_s8", "mma_m16n8k16_s8_u8", "mma_m16n8k16_u8", "mma_m16n8k16_u8_s8", "mma_m16n8k256_b1_and", "mma_m16n8k256_b1_xor", "mma_m16n8k32_e4m3", "mma_m16n8k32_e4m3_e5m2", "mma_m16n8k32_e5m2", "mma_m16n8k32_e5m2_e4m3", "mma_m16n8k32_s4", "mma_m16n8k32_s4_u4", "mma_m16n8k32_s8", "mma_m16n8k32_s8_u8", "mma_m16n8k32_u4", "mma_m16n8k32_u4_s4", "mma_m16n8k32_u8", "mma_m16n8k32_u8_s8", "mma_m16n8k4_f64", "mma_m16n8k4_tf32", "mma_m16n8k64_s4", "mma_m16n8k64_s4_u4", "mma_m16n8k64_u4", "mma_m16n8k64_u4_s4", "mma_m16n8k8_bf16", "mma_m16n8k8_f16", "mma_m16n8k8_f16_in_f16", "mma_m16n8k8_f64", "mma_m16n8k8_tf32", "mma_m8n8k4_f64", "mul_bf16x2", "mul_f16x2", "multiply_add", "one", "pack_bf16x2", "pack_f16x2", "partition", "popcount", "pow", "prefetch", "prefetch_map", "print_", "prism", "ptr", "publish", "receive", "reciprocal", "requires", "reverse_bits", "roles", "round_", "row", "rsqrt", "set_registers", "shared", "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor", "sign_bit", "sin", "sinh", "split", "sqrt", "st_async", "static_assert", "stmatrix", "store_relaxed", "store_release", "store_vector", "strides_nest", "struct", "sub_bf16x2", "sub_f16x2", "tan", "tanh", "template", "tgamma", "thread", "tma_load", "tma_prefetch", "tma_reduce", "tma_store", "trunc", "turns", "uint", "uint16", "uint16_t", "uint2", "uint2_cast", "uint32", "uint32_t", "uint4", "uint4_cast", "uint64", "uint64_t", "uint8", "uint8_t", "uint_as_float", "unpack_bf16x2", "unpack_f16x2", "unsafe", "vector", "warp", "warp_all", "warp_and", "warp_any", "warp_max", "warp_min", "warp_or", "warp_sum", "warp_xor", "warpgroup", "wgmma", "wgmma_async", "wrapping_add", "wrapping_multiply", "wrapping_subtract"]
