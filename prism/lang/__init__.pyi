"""The language: what a kernel file imports.

Made from the declarations by `pytest tests/lang/test_stub.py --update-golden`: not to be edited.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar, dataclass_transform, no_type_check

import prism as prism
from prism.lang.diagnostics import CompileError as CompileError
from prism.lang.diagnostics import InternalError as InternalError
from prism.lang.surface import Kernel as Kernel
from prism.lang.surface import LevelName, VectorCast
from prism.lang.types import Scalar, Vector
from prism.lib.levels import Block, Grid, Thread, Warp

MYPY: bool
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

# A kernel's text is Python in form and not in types: `a: float32 @ grid[1]`. So its decorators say to type checkers what
# `typing.no_type_check` does: look at nothing inside. Pyright takes what a decorator's call gives for that function where it is
# it, and so finds it in `@requires(...)`. mypy wants the function itself, under whatever name; it takes `MYPY` for true.
def _gives(value: _R) -> Callable[[Callable[_P, Any]], Callable[_P, _R]]: ...

class _Intrinsics:
    def __getattr__(self, name: str) -> Any: ...
    @_gives(no_type_check)
    def __call__(
        self, text: str, *, meaning: Callable[..., Any] | None = None, effects: Mapping[str, str] | None = None,
        preamble: str = "", min_arch: str = "sm_75",
    ) -> Any: ...

class _ScalarType(Scalar, type): ...

def CUtensorMap(*arguments: Any, **options: Any) -> Any:
    """CUtensorMap(T, rows, columns, swizzle=128): a matrix, or an array of up to 5 axes, that is copied a tile at a time

    Form:

        parameter ::= NAME ":" map "@" grid[1] | NAME ":" const "(" map ")" "@" grid[1]
        map       ::= CUtensorMap "(" T "," EXTENT ("," EXTENT)* ["," swizzle "=" (32 | 64 | 128)] ")"
        call      ::= tma_load "(" copy "," map "[" i "," j "]" ")" | tma_store "(" map "[" i "," j "]" "," tile ")"
                    | tma_reduce "(" map "[" i "," j "]" "," tile ["," op "=" ("add" | "min" | "max" | "and" | "or" | "xor")] ")"

    Perspective:

    A parameter at `grid[1]`. One thread issues a copy, for the unit that owns the tile.

    `prism help CUtensorMap` prints the whole page."""

def __float_as_int(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_int(x): the bits of a float32, taken for a int32; CUDA's `__float_as_int`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: int32 @ thread[1] = float_as_int(x)"""

def __float_as_uint(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_uint(x): the bits of a float32, taken for a uint32; CUDA's `__float_as_uint`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = float_as_uint(x)"""

def __int_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """int_as_float(x): the bits of a int32, taken for a float32; CUDA's `__int_as_float`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = int_as_float(x)"""

def __uint_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """uint_as_float(x): the bits of a uint32, taken for a float32; CUDA's `__uint_as_float`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = uint_as_float(x)"""

def absolute(a: Any, out: Sequence[Any] = ...) -> Any:
    """absolute(a): a without its sign; the least integer stays what it is, as numpy.absolute.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a number other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = absolute(a)"""

def acos(x: Any, out: Sequence[Any] = ...) -> Any:
    """acos(x): the arc cosine of x, in radians, within 2 ulp; NaN where |x| > 1.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = acos(x)"""

def add_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_bf16x2(a, b): the sums of both bfloat16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_90 on
    Example:    v: uint32 @ thread[1] = add_bf16x2(a, b)"""

def add_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_f16x2(a, b): the sums of both float16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = add_f16x2(a, b)"""

def add_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """add_u16x2(a, b): the sums of both 16-bit halves, each modulo 2^16.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = add_u16x2(a, b)"""

def all_gather(values: Any, found: Any, out: Sequence[Any] = ...) -> Any:
    """all_gather(values, found): give what the warps of a cluster have in values to all of them. found[q, k] of lane l, of a found with K times as many elements, becomes values[q] of the cluster's warp 32 * k + l; where there is none it stays. Lane d's values go to block d. All threads of the cluster come; a block's warps go on when theirs are there, and do not meet. It orders no other access.

    Called by:  thread[32] together
    T:          any scalar, or a struct, of a multiple of 4 bytes
    Memory:     update of `found`, orders
    From:       sm_90 on
    Example:    all_gather(values, found)"""

def array(*arguments: Any, **options: Any) -> Any:
    """array(T, 2): an array of the host's, of any strides: x[i, j], x.shape[0]; of const(T) to read

    Form:

        type       ::= array "(" T "," CONST ")" | array "(" const "(" T ")" "," CONST ")"
        expression ::= NAME "[" expression ("," expression)* "]"
                     | NAME ".shape" "[" CONST "]" | NAME ".strides" "[" CONST "]" | NAME ".ndim"

    Perspective:

    An array parameter of a kernel is at `grid[1]`. Partitions give parts of it to blocks and threads. Its shape and its strides are int64
    numbers on which the grid agrees. In a device function the parameter has the perspective of the argument.

    `prism help array` prints the whole page."""

def asin(x: Any, out: Sequence[Any] = ...) -> Any:
    """asin(x): the arc sine of x, in radians, within 2 ulp; NaN where |x| > 1.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = asin(x)"""

def assert_(*arguments: Any, **options: Any) -> Any:
    """assert_(condition, "text"): ends the kernel with the text where it does not hold

    Form:

        statement ::= assert_ "(" condition "," TEXT ")"

    Perspective:

    It is tested once for each unit that the code speaks for. So the unit must agree on the condition.

    `prism help assert_` prints the whole page."""

def assume(*arguments: Any, **options: Any) -> Any:
    """assume(condition): it holds here, says the program; the compiler may build on it, checked runs test it

    Form:

        statement ::= assume "(" condition ")"

    Perspective:

    Any. Threads may differ in the condition. It holds for each thread that comes here.

    `prism help assume` prints the whole page."""

def async_(*arguments: Any, **options: Any) -> Any:
    """with async_(x) as y: y is the destination of asynchronous copies

    Form:

        statement ::= "with" async_ "(" NAME ")" "as" NAME ":" statements
        call      ::= cp_async "(" y "[" i "]" "," p "[" j "]" "," (4 | 8 | 16) ")"

    Perspective:

    It stands in code at the memory's perspective. Single threads issue the copies, each into its own part.

    `prism help async_` prints the whole page."""

def atan(x: Any, out: Sequence[Any] = ...) -> Any:
    """atan(x): the arc tangent of x, in radians, within 2 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = atan(x)"""

def atan2(y: Any, x: Any, out: Sequence[Any] = ...) -> Any:
    """atan2(y, x): the angle of the point (x, y), from -pi to pi, within 3 ulp (float64: 2).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = atan2(y, x)"""

def atomic_add(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add(p[i], value): add to p[i] in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. A bfloat16 is added in a loop of compare-exchanges before sm_90.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number, or a float of 16 bits
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_add(p[i], value)"""

def atomic_add_bf16x2(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add_bf16x2(p[i], value): add both bfloat16 halves of value to those of p[i], each half in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          uint32
    Memory:     atomic update of `element`
    From:       sm_90 on
    Example:    v: T @ thread[1] = atomic_add_bf16x2(p[i], value)"""

def atomic_add_f16x2(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_add_f16x2(p[i], value): add both float16 halves of value to those of p[i], each half in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          uint32
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_add_f16x2(p[i], value)"""

def atomic_and(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_and(p[i], value): keep the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit integer
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_and(p[i], value)"""

def atomic_compare_exchange(element: Any, expected: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_compare_exchange(p[i], expected, value): replace p[i] by value if it has the bits of expected, in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_compare_exchange(p[i], expected, value)"""

def atomic_exchange(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_exchange(p[i], value): replace p[i] by value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_exchange(p[i], value)"""

def atomic_increment(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_increment(p[i], last): add 1 to p[i], or make it 0 where it is last or more, in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          uint32
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_increment(p[i], last)"""

def atomic_max(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_max(p[i], value): raise p[i] to value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Of floats, a loop of compare-exchanges: a NaN stays and wins, as of `maximum`, and -0 is below 0.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_max(p[i], value)"""

def atomic_min(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_min(p[i], value): lower p[i] to value in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. Of floats, a loop of compare-exchanges: a NaN stays and wins, as of `minimum`, and -0 is below 0.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_min(p[i], value)"""

def atomic_or(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_or(p[i], value): set the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit integer
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_or(p[i], value)"""

def atomic_sub(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_sub(p[i], value): subtract from p[i] in one step; gives the value before. `order="relaxed"`, `scope="gpu"`. A bfloat16 is added in a loop of compare-exchanges before sm_90.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit number, or a float of 16 bits
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_sub(p[i], value)"""

def atomic_xor(element: Any, value: Any, order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """atomic_xor(p[i], value): flip the bits of p[i] that value has in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          a 32- or 64-bit integer
    Memory:     atomic update of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = atomic_xor(p[i], value)"""

@_gives(no_type_check)
def attr(text: str) -> Callable[[Any], Any]:
    """Put an attribute on the emitted function, as `__launch_bounds__(THREADS, 1)`; template names in it are replaced. `prism help attr` prints the whole page."""

def ballot(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """ballot(predicate): bit k tells whether it holds in lane k.

    Called by:  thread[32] together
    Result at:  thread[32]
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[32] = ballot(predicate)"""

def bitcast(x: Any, to: Any, out: Sequence[Any] = ...) -> Any:
    """bitcast(x, T): the bits of x, taken for a T of the same size: `bitcast(x, uint32)`. Of numbers, vectors and structs.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a number, or a vector or struct of them
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = bitcast(x, T)"""

block: Block
"""the threads of a block; block.scan and its like are the collectives for one. `prism help block` prints the whole page."""

def broadcast(value: Any, lane: Any, out: Sequence[Any] = ...) -> Any:
    """broadcast(value, lane): lane `lane`'s value (modulo 32), for the whole warp: it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          any scalar, or a struct
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[32] = broadcast(value, lane)"""

def bulk_load(destination: Any, source: Any, n: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_load(s, p[j], n=elements, cache=""): copy p[j : j + n] into the ring's tile s, or s[i :], by default all of it; n elements and both addresses are multiples of 16 bytes. `cache`: "evict_first", "evict_last" (what the L2 does with it).

    Called by:  thread[1]
    T:          any scalar
    Memory:     write of `destination`, read of `source`
    From:       sm_90 on
    Example:    bulk_load(s, p[j], n=elements, cache="")"""

def bulk_reduce(destination: Any, source: Any, n: Any = ..., op: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_reduce(p[j], s, n=elements, op="add", cache=""): combine p[j : j + n] with the shared tile s, or s[i :], by default all of it; n elements and both addresses are multiples of 16 bytes. `op`: add (of integers of 32 or 64 bits, and floats of 16, 32 or 64), min, max (of these integers, and floats of 16 bits; of a NaN and a number the number), and, or, xor (of these integers). Each element is combined in one step with what is there, whoever else does so: blocks may reduce into one place, in no fixed order, so sums of floats may differ in their last bits from run to run. `cache`: "evict_first", "evict_last" (what the L2 does with it).

    Called by:  thread[1]
    T:          any scalar
    Memory:     atomic update of `destination`, read of `source`
    From:       sm_90 on
    Example:    bulk_reduce(p[j], s, n=elements, op="add", cache="")"""

def bulk_store(destination: Any, source: Any, n: Any = ..., cache: Any = ..., disjoint: Any = ..., out: Sequence[Any] = ...) -> Any:
    """bulk_store(p[j], s, n=elements, cache="", disjoint=False): copy the shared tile s, or s[i :], to p[j : j + n], by default all of it; n elements and both addresses are multiples of 16 bytes. `cache`: "evict_first", "evict_last" (what the L2 does with it). A store waits for earlier ones of its block that may go to the same place; `disjoint=True`: what this statement stores, in every trip and by every block, goes to different places. The reference machine checks that.

    Called by:  thread[1]
    T:          any scalar
    Memory:     write of `destination`, read of `source`
    From:       sm_90 on
    Example:    bulk_store(p[j], s, n=elements, cache="", disjoint=False)"""

def byte_permute(a: Any, b: Any, selector: Any, out: Sequence[Any] = ...) -> Any:
    """byte_permute(a, b, selector): four of the eight bytes b:a; byte k is the one that nibble k of selector names (modulo 8).

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = byte_permute(a, b, selector)"""

def byte_permute_or_sign(a: Any, b: Any, selector: Any, out: Sequence[Any] = ...) -> Any:
    """byte_permute_or_sign(a, b, selector): as byte_permute, without a step that masks the selector; where the upper bit of nibble k is set, byte k is 255 or 0, by the sign of the one that it names.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = byte_permute_or_sign(a, b, selector)"""

def cbrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """cbrt(x): the cube root, within 1 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = cbrt(x)"""

def cdiv(*arguments: Any, **options: Any) -> Any:
    """cdiv(a, b): a / b rounded up, for a >= 0 and b > 0: in a kernel, and on the host

    Form:

        expression ::= cdiv "(" expression "," expression ")"

    Perspective:

    The narrower of its operands'.

    `prism help cdiv` prints the whole page."""

def ceil(x: Any, out: Sequence[Any] = ...) -> Any:
    """ceil(x): the least whole number >= x.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = ceil(x)"""

def claim(*arguments: Any, **options: Any) -> Any:
    """with claim(x, unit) as y: y is x for the one unit whose arm uses it

    Form:

        statement ::= "with" claim "(" NAME "," (unit | ROLE) options ")" "as" NAME ":" statements
        options   ::= ["," offset] ["," in_flight "=" CONST]

    Perspective:

    It stands in code at exactly the memory's perspective. The arm that uses the name is inside it.

    `prism help claim` prints the whole page."""

def clz(x: Any, out: Sequence[Any] = ...) -> Any:
    """clz(x): how many zero bits stand above the highest one; the width of x where x is 0.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          an integer
    Memory:     untouched
    From:       sm_75 on
    Example:    v: int32 @ thread[1] = clz(x)"""

def column(*arguments: Any, **options: Any) -> Any:
    """column(acc, i): the column of element i of this thread's part of a fragment

    Form:

        expression ::= column "(" FRAGMENT "," expression ")"

    Perspective:

    In one thread's code; each thread has its own columns.

    `prism help column` prints the whole page."""

def const(*arguments: Any, **options: Any) -> Any:
    """const(T): never assigned

    Form:

        type ::= const "(" type ")"

    Perspective:

    That of the value or the memory. A load from `ptr(const(T))` has the perspective of its index: if all threads of a block load the same
    element, the block agrees on the value.

    `prism help const` prints the whole page."""

def constexpr(*arguments: Any, **options: Any) -> Any:
    """constexpr(int), constexpr(Cut): a compile-time value, or a record of such

    Form:

        kind ::= constexpr "(" (int | record) ["," "default" "=" value] ")"
        type ::= constexpr "(" T ")"

    Perspective:

    That of a literal: the broadest.

    `prism help constexpr` prints the whole page."""

def cos(x: Any, out: Sequence[Any] = ...) -> Any:
    """cos(x): the cosine of x radians, within 2 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = cos(x)"""

def cosh(x: Any, out: Sequence[Any] = ...) -> Any:
    """cosh(x): the hyperbolic cosine, within 2 ulp (float64: 1).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = cosh(x)"""

def count(*arguments: Any, **options: Any) -> Any:
    """count(unit): how many such units the current one has; count(unit, axis): along an axis; count(acc): a thread's part of a fragment

    Form:

        expression ::= count "(" unit ")" | count "(" unit "," (0 | 1 | 2) ")" | count "(" FRAGMENT ")"

    Perspective:

    In code at P, `count(Q)` is known to all of P; `count(acc)` is a constant.

    `prism help count` prints the whole page."""

def cp_async(destination: Any, source: Any, bytes: Any = ..., valid: Any = ..., out: Sequence[Any] = ...) -> Any:
    """cp_async(s[i], p[j], bytes=16, valid=bytes): copy 4, 8 or 16 bytes of global memory into shared memory; `valid`: read only so many, and write zeros for the rest. Both addresses are multiples of `bytes`.

    Called by:  thread[1]
    T:          any scalar
    Memory:     write of `destination`, read of `source`
    From:       sm_80 on
    Example:    cp_async(s[i], p[j], bytes=16, valid=bytes)"""

def distinct(*arguments: Any, **options: Any) -> Any:
    """assume(distinct(a, ...)): no two units of a launch ever have the same values here, says the program

    Form:

        statement ::= "assume" "(" "distinct" "(" value {"," value} ")" ")"

    Perspective:

    The units are those of the value's perspective: blocks for `tile: int32 @ block[1]`, threads for `r: int64 @ thread[1]`. With several
    values it is the narrowest perspective. A unit may come here again, with the same value or another.

    `prism help distinct` prints the whole page."""

double2: Vector
"""2 of float64, moved as one word."""

double2_cast: VectorCast
"""double2_cast(p[i]) loads a vector(float64, 2) from p[i] on, double2_cast[p[i]] = v stores one."""

def dp2a_hi(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp2a_hi(a, b, c): c plus the products of the two halves of a and the two high bytes of b.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = dp2a_hi(a, b, c)"""

def dp2a_lo(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp2a_lo(a, b, c): c plus the products of the two halves of a and the two low bytes of b.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = dp2a_lo(a, b, c)"""

def dp4a(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """dp4a(a, b, c): c plus the products of the four bytes of a and b; signed where they are int32.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = dp4a(a, b, c)"""

def dtype(*arguments: Any, **options: Any) -> Any:
    """a template parameter that stands for a scalar type

    Form:

        kind ::= dtype ["(" "default" "=" T ")"]

    Perspective:

    None: it is a type.

    `prism help dtype` prints the whole page."""

def elect(out: Sequence[Any] = ...) -> Any:
    """elect(): True in one lane of the warp, which the hardware chooses, False in the others.

    Called by:  thread[32] together
    Result at:  thread[1]
    Memory:     untouched
    From:       sm_90 on
    Example:    v: bool @ thread[1] = elect()"""

def erf(x: Any, out: Sequence[Any] = ...) -> Any:
    """erf(x): the error function, within 2 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = erf(x)"""

def erfc(x: Any, out: Sequence[Any] = ...) -> Any:
    """erfc(x): 1 - erf(x), within 4 ulp (float64: 5), also where that is near 0.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = erfc(x)"""

def exp(x: Any, out: Sequence[Any] = ...) -> Any:
    """exp(x): e to the x, within 2 ulp (float64: 1).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = exp(x)"""

def exp2(x: Any, out: Sequence[Any] = ...) -> Any:
    """exp2(x): 2 to the x, within 2 ulp (float64: 1).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = exp2(x)"""

def expm1(x: Any, out: Sequence[Any] = ...) -> Any:
    """expm1(x): e to the x, less 1, within 1 ulp, also where x is near 0.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = expm1(x)"""

def extern(text: str, *, reads: Sequence[str] | None = None, writes: Sequence[str] | None = None, meaning: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Give the body of a function in CUDA C++; its own body is `pass`. The signature and the effects are taken at their word.

    `text` names the parameters as the signature does, and returns a result with `return`. `reads` and `writes` list the pointer
    parameters that it touches (left out: all are read, and those not const written). `meaning`, a Python function of the
    same parameters, is what the reference machine runs.

    `prism help extern` prints the whole page.
    """

def fast_cos(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_cos(x): the cosine; off by at most 2^-21.2 for x in [-pi, pi], more elsewhere.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_cos(x)"""

def fast_divide(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """fast_divide(x, y): x / y, within 2 ulp; 0 where |y| > 2^126.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_divide(x, y)"""

def fast_exp(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp(x): e to the x, within 2 + |1.16 x| ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_exp(x)"""

def fast_exp2(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp2(x): 2 to the x, within 2 ulp. Results below 2^-126 are kept, as denormals, for a few more instructions.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_exp2(x)"""

def fast_exp2_flush(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_exp2_flush(x): 2 to the x, within 2 ulp, in one instruction; 0 where that is below 2^-126.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_exp2_flush(x)"""

def fast_log(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_log(x): the natural logarithm; off by at most 2^-21.4 for x in [0.5, 2], 3 ulp elsewhere.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_log(x)"""

def fast_log2(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_log2(x): the logarithm to base 2; off by at most 2^-22 for x in [0.5, 2], 2 ulp elsewhere.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_log2(x)"""

def fast_reciprocal(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_reciprocal(x): 1 / x, within 1 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_reciprocal(x)"""

def fast_sin(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_sin(x): the sine; off by at most 2^-21.4 for x in [-pi, pi], more elsewhere.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_sin(x)"""

def fast_sqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_sqrt(x): the square root, within 2^-23 relative.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_sqrt(x)"""

def fast_tanh(x: Any, out: Sequence[Any] = ...) -> Any:
    """fast_tanh(x): the hyperbolic tangent, with a relative error of at most 2^-11.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          float32
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fast_tanh(x)"""

def fence(order: Any = ..., scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """fence(order="acq_rel", scope="gpu"): what this thread did before it is seen by who reads what it then writes with a relaxed atomic (release); after it, this thread sees what such a write was ordered after (acquire). "sc": fences so marked have one order.

    Called by:  thread[1]
    Memory:     orders
    From:       sm_75 on
    Example:    fence(order="acq_rel", scope="gpu")"""

def first_set(x: Any, out: Sequence[Any] = ...) -> Any:
    """first_set(x): 1 + the index of the lowest bit that is set; 0 where none is.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          an integer
    Memory:     untouched
    From:       sm_75 on
    Example:    v: int32 @ thread[1] = first_set(x)"""

float2: Vector
"""2 of float32, moved as one word."""

float2_cast: VectorCast
"""float2_cast(p[i]) loads a vector(float32, 2) from p[i] on, float2_cast[p[i]] = v stores one."""

float4: Vector
"""4 of float32, moved as one word."""

float4_cast: VectorCast
"""float4_cast(p[i]) loads a vector(float32, 4) from p[i] on, float4_cast[p[i]] = v stores one."""

def float_as_int(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_int(x): the bits of a float32, taken for a int32; CUDA's `__float_as_int`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: int32 @ thread[1] = float_as_int(x)"""

def float_as_uint(x: Any, out: Sequence[Any] = ...) -> Any:
    """float_as_uint(x): the bits of a float32, taken for a uint32; CUDA's `__float_as_uint`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = float_as_uint(x)"""

def floor(x: Any, out: Sequence[Any] = ...) -> Any:
    """floor(x): the largest whole number <= x.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = floor(x)"""

def fma(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma(a, b, c): a * b + c with one rounding.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fma(a, b, c)"""

def fma_bf16x2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma_bf16x2(a, b, c): a * b + c of both bfloat16 halves, rounded once.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = fma_bf16x2(a, b, c)"""

def fma_f16x2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma_f16x2(a, b, c): a * b + c of both float16 halves, rounded once.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = fma_f16x2(a, b, c)"""

def fmod(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """fmod(x, y): the remainder of x / y, with the sign of x: exact.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fmod(x, y)"""

def fragment(*arguments: Any, **options: Any) -> Any:
    """fragment(T, rows, columns): a matrix that a warpgroup or a warp keeps in registers

    Form:

        statement ::= NAME ":" fragment "(" T "," ROWS "," COLUMNS ["," "operand" "=" True] ")" "@" unit ["=" 0]

    Perspective:

    `fragment(T, M, N) @ warpgroup[1]`, or `@ warp[1]`: the threads of the unit keep it together. Its elements are at `thread[1]`.

    `prism help fragment` prints the whole page."""

def function(*arguments: Any, **options: Any) -> Any:
    """a template parameter that stands for a device function

    Form:

        kind ::= function ["(" "default" "=" NAME ")"]
        call ::= f "(" arguments "," OP "=" NAME ")"

    Perspective:

    The operator of a collective is a function of `thread[1]`. It computes its result from its arguments alone.

    `prism help function` prints the whole page."""

def funnel_shift_left(low: Any, high: Any, shift: Any, out: Sequence[Any] = ...) -> Any:
    """funnel_shift_left(low, high, shift): the upper word of high:low << (shift modulo 32).

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = funnel_shift_left(low, high, shift)"""

def funnel_shift_right(low: Any, high: Any, shift: Any, out: Sequence[Any] = ...) -> Any:
    """funnel_shift_right(low, high, shift): the lower word of high:low >> (shift modulo 32).

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = funnel_shift_right(low, high, shift)"""

grid: Grid
"""all blocks of a launch. `prism help grid` prints the whole page."""

def grid_dependency_launch(out: Sequence[Any] = ...) -> Any:
    """grid_dependency_launch(): this block allows the kernel that follows to start; a hint (nothing on the reference machine).

    Called by:  thread[1]
    Memory:     orders
    From:       sm_90 on
    Example:    grid_dependency_launch()"""

def grid_dependency_wait(out: Sequence[Any] = ...) -> Any:
    """grid_dependency_wait(): wait until the kernels that this one was launched to follow are complete and their writes seen; at once where there are none (so on the reference machine).

    Called by:  thread[1]
    Memory:     orders
    From:       sm_90 on
    Example:    grid_dependency_wait()"""

def group(*arguments: Any, **options: Any) -> Any:
    """with group(unit): every unit inside the current one runs the body

    Form:

        statement ::= "with" group "(" unit ")" ":" statements

    Perspective:

    It stands in code at any perspective. Its body is code at the unit that it names.

    `prism help group` prints the whole page."""

half2: Vector
"""2 of float16, moved as one word."""

half2_cast: VectorCast
"""half2_cast(p[i]) loads a vector(float16, 2) from p[i] on, half2_cast[p[i]] = v stores one."""

half8: Vector
"""8 of float16, moved as one word."""

half8_cast: VectorCast
"""half8_cast(p[i]) loads a vector(float16, 8) from p[i] on, half8_cast[p[i]] = v stores one."""

def hypot(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """hypot(x, y): sqrt(x * x + y * y) without overflow on the way, within 3 ulp (float64: 2).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = hypot(x, y)"""

def id(*arguments: Any, **options: Any) -> Any:
    """id(): the index of the target's unit inside the current one; id(unit) names the unit

    Form:

        expression ::= id "(" [unit | [unit ","] (0 | 1 | 2)] ")"

    Perspective:

    In code at P, `id(Q)` has the perspective Q: all threads of a Q agree on it.

    `prism help id` prints the whole page."""

int2: Vector
"""2 of int32, moved as one word."""

int2_cast: VectorCast
"""int2_cast(p[i]) loads a vector(int32, 2) from p[i] on, int2_cast[p[i]] = v stores one."""

int4: Vector
"""4 of int32, moved as one word."""

int4_cast: VectorCast
"""int4_cast(p[i]) loads a vector(int32, 4) from p[i] on, int4_cast[p[i]] = v stores one."""

def int_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """int_as_float(x): the bits of a int32, taken for a float32; CUDA's `__int_as_float`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = int_as_float(x)"""

intrinsic: _Intrinsics
"""`intrinsic.mma(...)` is `mma`; `@intrinsic("text")` declares one of the user's own."""

def is_finite(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_finite(x): whether x is neither infinite nor NaN.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[1] = is_finite(x)"""

def is_inf(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_inf(x): whether x is infinite, of either sign.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[1] = is_inf(x)"""

def is_nan(x: Any, out: Sequence[Any] = ...) -> Any:
    """is_nan(x): whether x is NaN.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[1] = is_nan(x)"""

def keep_order(out: Sequence[Any] = ...) -> Any:
    """keep_order(): the assembler moves no arithmetic, load or store of this thread across it. For long runs of arithmetic whose order decides how often operands are read again. A hint: it gives no value, and orders no access as other threads see it.

    Called by:  thread[1]
    Memory:     untouched
    From:       sm_75 on
    Example:    keep_order()"""

def ldmatrix(row: Any, registers: Any, trans: Any = ..., out: Sequence[Any] = ...) -> Any:
    """ldmatrix(p[i], r, trans=False): bring r's 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory into r, a uint32[1, 2, 4] @ thread[1]; lane l gives the address of row l % 8 of matrix l / 8, aligned to 16 bytes.

    Called by:  thread[32] together
    T:          a number
    Memory:     read of `row`, write of `registers`
    From:       sm_75 on
    Example:    ldmatrix(p[i], r, trans=False)"""

def lgamma(x: Any, out: Sequence[Any] = ...) -> Any:
    """lgamma(x): the logarithm of |tgamma(x)|, within 6 ulp (float64: 4) for x > -2; more where it crosses 0 below.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = lgamma(x)"""

def load_acquire(element: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """load_acquire(p[i], scope="gpu"): read p[i] whole, while others may write it; what was written before the release that it reads from is seen by what comes after it.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          any scalar
    Memory:     atomic read of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = load_acquire(p[i], scope="gpu")"""

def load_relaxed(element: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """load_relaxed(p[i], scope="gpu"): read p[i] past the L1, whole, while others may write it; it orders no other access.

    Called by:  thread[1]
    Result at:  thread[1]
    T:          any scalar
    Memory:     atomic read of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = load_relaxed(p[i], scope="gpu")"""

def load_vector(element: Any, width: Any, cache: Any, out: Sequence[Any] = ...) -> Any:
    """load_vector(p[i], width, cache=""): p[i : i + width] as one vector, in one aligned access of at most 16 bytes. `cache`: "streaming" (read once: leave first), "last_use" (not read again), "no_allocate" (global const memory: past the L1; by the read-only path where nobody writes it while the kernel runs).

    Called by:  thread[1]
    Result at:  thread[1]
    T:          any scalar, or a struct
    Memory:     read of `element`
    From:       sm_75 on
    Example:    v: T @ thread[1] = load_vector(p[i], width, cache="")"""

def log(x: Any, out: Sequence[Any] = ...) -> Any:
    """log(x): the natural logarithm, within 1 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = log(x)"""

def log1p(x: Any, out: Sequence[Any] = ...) -> Any:
    """log1p(x): the natural logarithm of 1 + x, within 1 ulp, also where x is near 0.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = log1p(x)"""

def log2(x: Any, out: Sequence[Any] = ...) -> Any:
    """log2(x): the logarithm to base 2, within 1 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = log2(x)"""

def mailbox(*arguments: Any, **options: Any) -> Any:
    """mailbox(T): a word between blocks, written by publish and read by receive

    Form:

        type      ::= ptr "(" mailbox "(" T ")" ")"
        statement ::= publish "(" word "," value "," epoch ")"
        call      ::= receive "(" word "," values "," ... "," epoch ")"

    Perspective:

    A parameter at `grid[1]`. Single threads use the words.

    `prism help mailbox` prints the whole page."""

def match_all(value: Any, out: Sequence[Any] = ...) -> Any:
    """match_all(value): whether all lanes have the same bits; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          any scalar
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[32] = match_all(value)"""

def match_any(value: Any, out: Sequence[Any] = ...) -> Any:
    """match_any(value): bit k tells whether lane k has the same bits as this one.

    Called by:  thread[32] together
    Result at:  thread[1]
    T:          any scalar
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = match_any(value)"""

def max_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_bf16x2(a, b): the larger of both bfloat16 halves; NaN loses.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = max_bf16x2(a, b)"""

def max_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_f16x2(a, b): the larger of both float16 halves; NaN loses.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = max_f16x2(a, b)"""

def max_s16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_s16x2(a, b): the larger of both 16-bit halves, signed.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = max_s16x2(a, b)"""

def max_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """max_u16x2(a, b): the larger of both 16-bit halves, unsigned.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = max_u16x2(a, b)"""

def maximum(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """maximum(a, b): the larger; NaN if either is NaN, as numpy.maximum.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          any scalar other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = maximum(a, b)"""

@_gives(no_type_check)
def may_alias(*names: str) -> Callable[[Any], Any]:
    """Say that these pointer parameters may overlap; others are taken not to. `prism help may_alias` prints the whole page."""

def min_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_bf16x2(a, b): the smaller of both bfloat16 halves; NaN loses.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = min_bf16x2(a, b)"""

def min_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_f16x2(a, b): the smaller of both float16 halves; NaN loses.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = min_f16x2(a, b)"""

def min_s16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_s16x2(a, b): the smaller of both 16-bit halves, signed.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = min_s16x2(a, b)"""

def min_u16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """min_u16x2(a, b): the smaller of both 16-bit halves, unsigned.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = min_u16x2(a, b)"""

def minimum(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """minimum(a, b): the smaller; NaN if either is NaN, as numpy.minimum.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          any scalar other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = minimum(a, b)"""

def mma(a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, c0: Any, c1: Any, c2: Any, c3: Any, kind: Any = ..., out: Sequence[Any] = ...) -> Any:
    """mma(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3, kind="tf32"): a * b + c as a vector of four; as in Typed Perspectives: `intrinsic.mma(..., out=[d0, d1, d2, d3])`. Tiles 16x8 by 8x8 of tf32, or 16x16 by 16x8 of f16 or bf16.

    Called by:  thread[32] together
    Result at:  thread[1]
    Memory:     untouched
    From:       sm_80 on
    Example:    v: vector(float32, 4) @ thread[1] = mma(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3, kind="tf32")"""

def mma_m16n8k128_b1_and(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k128_b1_and(a, b, c): c += a * b, 16x128 by 128x8: a uint32[2], b uint32[1] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by and and counted.

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k128_b1_and(a, b, c)"""

def mma_m16n8k128_b1_xor(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k128_b1_xor(a, b, c): c += a * b, 16x128 by 128x8: a uint32[2], b uint32[1] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by xor and counted.

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k128_b1_xor(a, b, c)"""

def mma_m16n8k16_bf16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_bf16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 bf16 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_bf16(a, b, c)"""

def mma_m16n8k16_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 f16 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_f16(a, b, c)"""

def mma_m16n8k16_f16_in_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f16_in_f16(a, b, c): c += a * b, 16x16 by 16x8: a uint32[4], b uint32[2] (2 f16 a word), c uint32[2] (2 float16 a word), all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_f16_in_f16(a, b, c)"""

def mma_m16n8k16_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_f64(a, b, c): c += a * b, 16x16 by 16x8: a float64[8], b float64[4] (doubles), c float64[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_90 on
    Example:    mma_m16n8k16_f64(a, b, c)"""

def mma_m16n8k16_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_s8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 s8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_s8(a, b, c)"""

def mma_m16n8k16_s8_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_s8_u8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 s8 and u8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_s8_u8(a, b, c)"""

def mma_m16n8k16_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_u8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 u8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_u8(a, b, c)"""

def mma_m16n8k16_u8_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k16_u8_s8(a, b, c): c += a * b, 16x16 by 16x8: a uint32[2], b uint32[1] (4 u8 and s8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k16_u8_s8(a, b, c)"""

def mma_m16n8k256_b1_and(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k256_b1_and(a, b, c): c += a * b, 16x256 by 256x8: a uint32[4], b uint32[2] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by and and counted.

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k256_b1_and(a, b, c)"""

def mma_m16n8k256_b1_xor(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k256_b1_xor(a, b, c): c += a * b, 16x256 by 256x8: a uint32[4], b uint32[2] (32 b1 a word), c int32[4], all @ thread[1], bits multiplied by xor and counted.

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k256_b1_xor(a, b, c)"""

def mma_m16n8k32_e4m3(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e4m3(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e4m3 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_89 on
    Example:    mma_m16n8k32_e4m3(a, b, c)"""

def mma_m16n8k32_e4m3_e5m2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e4m3_e5m2(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e4m3 and e5m2 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_89 on
    Example:    mma_m16n8k32_e4m3_e5m2(a, b, c)"""

def mma_m16n8k32_e5m2(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e5m2(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e5m2 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_89 on
    Example:    mma_m16n8k32_e5m2(a, b, c)"""

def mma_m16n8k32_e5m2_e4m3(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_e5m2_e4m3(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 e5m2 and e4m3 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_89 on
    Example:    mma_m16n8k32_e5m2_e4m3(a, b, c)"""

def mma_m16n8k32_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 s4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_s4(a, b, c)"""

def mma_m16n8k32_s4_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s4_u4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 s4 and u4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_s4_u4(a, b, c)"""

def mma_m16n8k32_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 s8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_s8(a, b, c)"""

def mma_m16n8k32_s8_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_s8_u8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 s8 and u8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_s8_u8(a, b, c)"""

def mma_m16n8k32_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 u4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_u4(a, b, c)"""

def mma_m16n8k32_u4_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u4_s4(a, b, c): c += a * b, 16x32 by 32x8: a uint32[2], b uint32[1] (8 u4 and s4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_u4_s4(a, b, c)"""

def mma_m16n8k32_u8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 u8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_u8(a, b, c)"""

def mma_m16n8k32_u8_s8(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k32_u8_s8(a, b, c): c += a * b, 16x32 by 32x8: a uint32[4], b uint32[2] (4 u8 and s8 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k32_u8_s8(a, b, c)"""

def mma_m16n8k4_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k4_f64(a, b, c): c += a * b, 16x4 by 4x8: a float64[2], b float64[1] (doubles), c float64[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_90 on
    Example:    mma_m16n8k4_f64(a, b, c)"""

def mma_m16n8k4_tf32(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k4_tf32(a, b, c): c += a * b, 16x4 by 4x8: a uint32[2], b uint32[1] (tf32 words), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k4_tf32(a, b, c)"""

def mma_m16n8k64_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_s4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 s4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k64_s4(a, b, c)"""

def mma_m16n8k64_s4_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_s4_u4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 s4 and u4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k64_s4_u4(a, b, c)"""

def mma_m16n8k64_u4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_u4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 u4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k64_u4(a, b, c)"""

def mma_m16n8k64_u4_s4(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k64_u4_s4(a, b, c): c += a * b, 16x64 by 64x8: a uint32[4], b uint32[2] (8 u4 and s4 a word), c int32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k64_u4_s4(a, b, c)"""

def mma_m16n8k8_bf16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_bf16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 bf16 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k8_bf16(a, b, c)"""

def mma_m16n8k8_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 f16 a word), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_75 on
    Example:    mma_m16n8k8_f16(a, b, c)"""

def mma_m16n8k8_f16_in_f16(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f16_in_f16(a, b, c): c += a * b, 16x8 by 8x8: a uint32[2], b uint32[1] (2 f16 a word), c uint32[2] (2 float16 a word), all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_75 on
    Example:    mma_m16n8k8_f16_in_f16(a, b, c)"""

def mma_m16n8k8_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_f64(a, b, c): c += a * b, 16x8 by 8x8: a float64[4], b float64[2] (doubles), c float64[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_90 on
    Example:    mma_m16n8k8_f64(a, b, c)"""

def mma_m16n8k8_tf32(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m16n8k8_tf32(a, b, c): c += a * b, 16x8 by 8x8: a uint32[4], b uint32[2] (tf32 words), c float32[4], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m16n8k8_tf32(a, b, c)"""

def mma_m8n8k4_f64(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """mma_m8n8k4_f64(a, b, c): c += a * b, 8x4 by 4x8: a float64[1], b float64[1] (doubles), c float64[2], all @ thread[1].

    Called by:  thread[32] together
    Memory:     update of `c`
    From:       sm_80 on
    Example:    mma_m8n8k4_f64(a, b, c)"""

def mul_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """mul_bf16x2(a, b): the products of both bfloat16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_90 on
    Example:    v: uint32 @ thread[1] = mul_bf16x2(a, b)"""

def mul_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """mul_f16x2(a, b): the products of both float16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = mul_f16x2(a, b)"""

def multiply_add(a: Any, b: Any, c: Any, out: Sequence[Any] = ...) -> Any:
    """fma(a, b, c): a * b + c with one rounding.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = fma(a, b, c)"""

def one(*arguments: Any, **options: Any) -> Any:
    """with one(thread): the first such unit of the current one runs the body

    Form:

        statement ::= "with" one "(" level ")" ":" statements

    Perspective:

    In code at P, the body is code at `level[1]`. One such unit of P runs it.

    `prism help one` prints the whole page."""

def pack_bf16x2(low: Any, high: Any, out: Sequence[Any] = ...) -> Any:
    """pack_bf16x2(low, high): two floats rounded to bfloat16, in one word.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = pack_bf16x2(low, high)"""

def pack_e4m3x4(a: Any, b: Any, c: Any, d: Any, out: Sequence[Any] = ...) -> Any:
    """pack_e4m3x4(a, b, c, d): four floats rounded to float8_e4m3fn, in one word; they saturate.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = pack_e4m3x4(a, b, c, d)"""

def pack_e5m2x4(a: Any, b: Any, c: Any, d: Any, out: Sequence[Any] = ...) -> Any:
    """pack_e5m2x4(a, b, c, d): four floats rounded to float8_e5m2, in one word; they saturate.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = pack_e5m2x4(a, b, c, d)"""

def pack_f16x2(low: Any, high: Any, out: Sequence[Any] = ...) -> Any:
    """pack_f16x2(low, high): two floats rounded to float16, in one word.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_80 on
    Example:    v: uint32 @ thread[1] = pack_f16x2(low, high)"""

def partition(*arguments: Any, **options: Any) -> Any:
    """with partition(x, unit, offset) as y: y is each unit's own part of x

    Form:

        statement ::= "with" partition "(" NAME "," unit options ")" "as" NAME ":" statements
        options   ::= ["," offset] ["," races "=" ("none" | "allow")]
        offset    ::= expression | "lambda" NAME ("," NAME)* ":" index

    Perspective:

    It stands in code at exactly the memory's perspective, so all owners are there. It does not change the code's perspective;
    `group` does.

    `prism help partition` prints the whole page."""

def popcount(x: Any, out: Sequence[Any] = ...) -> Any:
    """popcount(x): how many bits are set.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          an integer
    Memory:     untouched
    From:       sm_75 on
    Example:    v: int32 @ thread[1] = popcount(x)"""

def pow(x: Any, y: Any, out: Sequence[Any] = ...) -> Any:
    """pow(x, y): x to the y, within 4 ulp (float64: 2).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = pow(x, y)"""

def prefetch(element: Any, count: Any, out: Sequence[Any] = ...) -> Any:
    """prefetch(p[i], count): ask for p[i : i + count] to be brought into the L2, and go on at once; nothing where count <= 0. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, where what it is given is not read from memory.

    Called by:  thread[1]
    T:          any scalar, or a struct
    Memory:     read of `element`
    From:       sm_75 on
    Example:    prefetch(p[i], count)"""

def prefetch_map(map: Any, out: Sequence[Any] = ...) -> Any:
    """prefetch_map(map): bring a tensor map's description near, before the first copy needs it. A hint.

    Called by:  thread[1]
    T:          any scalar
    Memory:     read of `map`
    From:       sm_90 on
    Example:    prefetch_map(map)"""

def print_(*arguments: Any, **options: Any) -> Any:
    """print_("x = {}", x): prints a line for each unit that the code speaks for

    Form:

        statement ::= print_ "(" TEXT ("," expression)* ")"

    Perspective:

    The unit that the code speaks for agrees on the values.

    `prism help print_` prints the whole page."""

def ptr(*arguments: Any, **options: Any) -> Any:
    """ptr(T): memory that several threads reach; ptr(const(T)) is read only

    Form:

        type ::= ptr "(" type ")" | ptr "(" const "(" type ")" ")"

    Perspective:

    `ptr(T) @ P`: P owns the memory. Every thread may read what it can name. To write, a thread needs a name at `thread[1]`, which is its own.

    `prism help ptr` prints the whole page."""

def publish(box: Any, value: Any, epoch: Any, out: Sequence[Any] = ...) -> Any:
    """publish(box[i], value, epoch): write value and epoch as one word, that receive takes for this epoch. The word is the whole message: it orders no other access.

    Called by:  thread[1]
    T:          any scalar, or a struct
    Memory:     write of `box`
    From:       sm_75 on
    Example:    publish(box[i], value, epoch)"""

def receive(boxes: Any, values: Any, stride: Any, valid: Any, default: Any, epoch: Any, out: Sequence[Any] = ...) -> Any:
    """receive(boxes[i], values, stride, valid, default, epoch): wait for boxes[i + k * stride], k < valid, and put them in values[k], default in the rest. All are asked for at once, then asked again until every one has come. It orders no other access.

    Called by:  thread[1]
    T:          any scalar, or a struct
    Memory:     read of `boxes`, write of `values`
    From:       sm_75 on
    Example:    receive(boxes[i], values, stride, valid, default, epoch)"""

def reciprocal(x: Any, out: Sequence[Any] = ...) -> Any:
    """reciprocal(x): 1 / x, correctly rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = reciprocal(x)"""

@_gives(no_type_check)
def requires(*bound: Any, smem: int | str | None = None, cooperative: bool = False) -> Callable[[Any], Any]:
    """State the units that the function may rely on, one entry a level, and the bytes of shared memory it may use.

    `cooperative`: all blocks of the grid run at once, so that they can wait for one another: the compiler may put barriers of the
    whole grid. A launch of more blocks than the device holds at once is refused. A device function that needs it says so too.
    A size that names template parameters is in quotes, as `thread["THREADS"]`: Python does not know such names.

    `prism help requires` prints the whole page.
    """

def reverse_bits(x: Any, out: Sequence[Any] = ...) -> Any:
    """reverse_bits(x): the bits of x, the highest first.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          an integer
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = reverse_bits(x)"""

def roles(*arguments: Any, **options: Any) -> Any:
    """a, b = roles(warpgroup, 2, 1): a static split whose arms have names

    Form:

        statement ::= NAME ("," NAME)* "=" roles "(" level ("," CONST)+ ")"
                    | "with" ROLE ":" statements
        parameter ::= NAME ":" roles "(" level "," CONST ")"

    Perspective:

    The names stand for `level[size]` at a fixed place. They are entered in code that speaks for what was divided. A parameter of a
    device function may be a role of the caller. The function then speaks for what the caller divided, and
    is compiled into its callers.

    `prism help roles` prints the whole page."""

def round_(x: Any, out: Sequence[Any] = ...) -> Any:
    """round_(x): the nearest whole number; halves to the even one.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = round_(x)"""

def row(*arguments: Any, **options: Any) -> Any:
    """row(acc, i): the row of element i of this thread's part of a fragment

    Form:

        expression ::= row "(" FRAGMENT "," expression ")"

    Perspective:

    In one thread's code; each thread has its own rows.

    `prism help row` prints the whole page."""

def rsqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """rsqrt(x): 1 / sqrt(x), within 2 ulp (float64: 1).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = rsqrt(x)"""

def set_registers(n: Any, out: Sequence[Any] = ...) -> Any:
    """set_registers(n): from here on each thread of the warpgroup has n registers, a multiple of 8 from 24 to 256: what some give back, others may take. Stands first in a role.

    Called by:  thread[128] together
    Memory:     untouched
    From:       sm_90a on
    Example:    set_registers(n)"""

def shared(*arguments: Any, **options: Any) -> Any:
    """shared(T[n]): an object in the block's shared memory; ring=k: k copies, visited in turn

    Form:

        statement ::= NAME ":" shared "(" T "[" CONST ("," CONST)* "]" ["," option]* ")" ["@" unit]
                    | NAME ":" shared "(" T "[" length "]" ")" ["@" block[1]]
        option    ::= align "=" BYTES | ring "=" CONST | swizzle "=" (32 | 64 | 128)
        parameter ::= NAME ":" (tile | const "(" tile ")") "@" unit
        tile      ::= shared "(" T "[" CONST ("," CONST)* "]" ["," ring "=" CONST] ["," swizzle "=" CONST] ")"

    Perspective:

    It is declared in code at `block[1]`. In code at `block[n]`, a cluster, n is the first extent. The block or the cluster owns
    it. A `claim` or a `partition` opens the present copy of a ring; these are the ring's stations.

    A device function may have a shared parameter. Its caller passes a whole object, a ring's copy, a part of either
    (`f(s[64, 0])`), or with `ring=` a whole ring. The function is compiled into the caller.

    `prism help shared` prints the whole page."""

def shuffle(value: Any, lane: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle(value, lane): the value of lane `lane` (modulo 32), which each thread chooses.

    Called by:  thread[32] together
    Result at:  thread[1]
    T:          any scalar, or a struct
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = shuffle(value, lane)"""

def shuffle_down(value: Any, delta: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_down(value, delta): the value of the lane `delta` above; the last lanes keep their own. delta < 32.

    Called by:  thread[32] together
    Result at:  thread[1]
    T:          any scalar, or a struct
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = shuffle_down(value, delta)"""

def shuffle_up(value: Any, delta: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_up(value, delta): the value of the lane `delta` below; the first lanes keep their own. delta < 32.

    Called by:  thread[32] together
    Result at:  thread[1]
    T:          any scalar, or a struct
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = shuffle_up(value, delta)"""

def shuffle_xor(value: Any, mask: Any, out: Sequence[Any] = ...) -> Any:
    """shuffle_xor(value, mask): the value of the lane whose index is this one's xor `mask`. mask < 32.

    Called by:  thread[32] together
    Result at:  thread[1]
    T:          any scalar, or a struct
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = shuffle_xor(value, mask)"""

def sign_bit(x: Any, out: Sequence[Any] = ...) -> Any:
    """sign_bit(x): whether x is negative, -0 and negative NaNs included.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[1] = sign_bit(x)"""

def sin(x: Any, out: Sequence[Any] = ...) -> Any:
    """sin(x): the sine of x radians, within 2 ulp.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = sin(x)"""

def sinh(x: Any, out: Sequence[Any] = ...) -> Any:
    """sinh(x): the hyperbolic sine, within 3 ulp (float64: 2).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = sinh(x)"""

def split(*arguments: Any, **options: Any) -> Any:
    """match split(level): different units run different arms

    Form:

        statement ::= "match" split "(" level ")" ":" arm+
        arm       ::= "case" CONST ":" statements
        level     ::= thread | warp | warpgroup | block

    Perspective:

    It stands in code at P, and divides P's units of that level. An arm is code at `level[n]`. Declare before the `match` what belongs to more
    than one arm (R5).

    `prism help split` prints the whole page."""

def sqrt(x: Any, out: Sequence[Any] = ...) -> Any:
    """sqrt(x): the square root, correctly rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = sqrt(x)"""

def st_async(destination: Any, value: Any, shift: Any = ..., out: Sequence[Any] = ...) -> Any:
    """st_async(s[i], v, shift=1): store v at the place of s[i], of this thread's part of a ring's copy, in the block that is `shift` further on in the cluster, round its ends; that block has it where it has waited for this visit of the ring. `shift` is the same for a thread of each block of the cluster.

    Called by:  thread[1]
    T:          4 or 8 bytes
    Memory:     write of `destination`
    From:       sm_90 on
    Example:    st_async(s[i], v, shift=1)"""

def static_assert(*arguments: Any, **options: Any) -> Any:
    """static_assert(condition, "text"): demands it of constants: the program is refused where it does not hold

    Form:

        statement ::= static_assert "(" condition "," TEXT ")"

    Perspective:

    Any. In a branch that the constants leave out it is not tested.

    `prism help static_assert` prints the whole page."""

def stmatrix(row: Any, registers: Any, trans: Any = ..., out: Sequence[Any] = ...) -> Any:
    """stmatrix(p[i], r, trans=False): the reverse of ldmatrix: write the 1, 2 or 4 matrices in r to shared memory.

    Called by:  thread[32] together
    T:          a number
    Memory:     write of `row`
    From:       sm_90 on
    Example:    stmatrix(p[i], r, trans=False)"""

def store_relaxed(element: Any, value: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """store_relaxed(p[i], value, scope="gpu"): write p[i] whole, while others may read it; it orders no other access.

    Called by:  thread[1]
    T:          any scalar
    Memory:     atomic write of `element`
    From:       sm_75 on
    Example:    store_relaxed(p[i], value, scope="gpu")"""

def store_release(element: Any, value: Any, scope: Any = ..., out: Sequence[Any] = ...) -> Any:
    """store_release(p[i], value, scope="gpu"): write p[i] whole, while others may read it; who acquires the value sees what this thread did before.

    Called by:  thread[1]
    T:          any scalar
    Memory:     atomic write of `element`
    From:       sm_75 on
    Example:    store_release(p[i], value, scope="gpu")"""

def store_vector(element: Any, value: Any, cache: Any, out: Sequence[Any] = ...) -> Any:
    """store_vector(p[i], v, cache=""): write the vector v to p[i : i + width], in one aligned access of at most 16 bytes. `cache`: "streaming" (leave first), "no_allocate" (global memory: past the L1).

    Called by:  thread[1]
    T:          any scalar, or a struct
    Memory:     write of `element`
    From:       sm_75 on
    Example:    store_vector(p[i], v, cache="")"""

def strides_nest(n0: Any, s0: Any, n1: Any = ..., s1: Any = ..., n2: Any = ..., s2: Any = ..., n3: Any = ..., s3: Any = ..., out: Sequence[Any] = ...) -> Any:
    """strides_nest(n0, s0, n1, s1, ...): whether the strides `s0`, ... of up to four axes nest: each is larger, without its sign, than all smaller ones reach in axes of `n0`, ... elements. Then elements of different indices are at different places, and the compiler knows. In an `assume`, mostly.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[1] = strides_nest(n0, s0, n1, s1, ...)"""

def sub_bf16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """sub_bf16x2(a, b): the differences of both bfloat16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_90 on
    Example:    v: uint32 @ thread[1] = sub_bf16x2(a, b)"""

def sub_f16x2(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """sub_f16x2(a, b): the differences of both float16 halves, each rounded.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: uint32 @ thread[1] = sub_f16x2(a, b)"""

def tan(x: Any, out: Sequence[Any] = ...) -> Any:
    """tan(x): the tangent of x radians, within 4 ulp (float64: 2).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = tan(x)"""

def tanh(x: Any, out: Sequence[Any] = ...) -> Any:
    """tanh(x): the hyperbolic tangent, within 2 ulp (float64: 1).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = tanh(x)"""

@_gives(no_type_check)
def template(*listed: Any, **named: Any) -> Callable[[Any], Any]:
    """Declare template parameters: `T=dtype, N=constexpr(int), OP=function`; *Typed Perspectives* writes `[("N", c_int), ...]`.

    `dtype(default=float32)`, `constexpr(int, default=128)` and `function(default=add)` need not be given. A default may be a
    function of parameters before it: `constexpr(int, default=lambda N: N // 2)`. `constexpr(Cut)`, of a frozen dataclass or a
    `NamedTuple`, is a record of constants: `CUT.BM` is one of its fields, or a property.

    `prism help template` prints the whole page.
    """

def tgamma(x: Any, out: Sequence[Any] = ...) -> Any:
    """tgamma(x): the gamma function, within 5 ulp (float64: 10).

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = tgamma(x)"""

thread: Thread
"""one thread, or n of them: thread[n]. `prism help thread` prints the whole page."""

def tma_load(tile: Any, tensor: Any, multicast: Any = ..., relative: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_load(s, map[i, j], multicast=0, relative=False, cache=""): copy the tile of the tensor that begins at [i, j] into the ring's tile s; zeros where it is outside the tensor. `multicast`: into the same place of these blocks of the cluster, a bit each; where `relative`, bit b is block r ^ b, if the block's own number is r. `cache`: "evict_first", "evict_last" (what the L2 does with it).

    Called by:  thread[1]
    T:          any scalar
    Memory:     write of `tile`, read of `tensor`
    From:       sm_90 on
    Example:    tma_load(s, map[i, j], multicast=0, relative=False, cache="")"""

def tma_prefetch(tensor: Any, out: Sequence[Any] = ...) -> Any:
    """tma_prefetch(map[i, j]): ask for the tile of the tensor that begins at [i, j] to be brought into the L2, and go on at once. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, where its indices are not read from memory. Copies of the same block that are asked for after it wait behind it.

    Called by:  thread[1]
    T:          any scalar
    Memory:     read of `tensor`
    From:       sm_90 on
    Example:    tma_prefetch(map[i, j])"""

def tma_reduce(tensor: Any, tile: Any, op: Any = ..., cache: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_reduce(map[i, j], s, op="add", cache=""): combine the tile of the tensor that begins at [i, j] with the shared tile s; what is outside the tensor is left alone. `op`: add (of integers of 32 or 64 bits, and floats of 16, 32 or 64), min, max (of these integers, and floats of 16 bits; of a NaN and a number the number), and, or, xor (of these integers). Each element is combined in one step with what is there, whoever else does so: blocks may reduce into one place, in no fixed order, so sums of floats may differ in their last bits from run to run. `cache`: "evict_first", "evict_last" (what the L2 does with it).

    Called by:  thread[1]
    T:          any scalar
    Memory:     atomic update of `tensor`, read of `tile`
    From:       sm_90 on
    Example:    tma_reduce(map[i, j], s, op="add", cache="")"""

def tma_store(tensor: Any, tile: Any, cache: Any = ..., disjoint: Any = ..., out: Sequence[Any] = ...) -> Any:
    """tma_store(map[i, j], s, cache="", disjoint=False): copy the shared tile s to the tile of the tensor that begins at [i, j], which are not negative; what is outside the tensor is not written. `cache`: "evict_first", "evict_last" (what the L2 does with it). A store waits for earlier ones of its block that may go to the same place; `disjoint=True`: what this statement stores, in every trip and by every block, goes to different places. The reference machine checks that.

    Called by:  thread[1]
    T:          any scalar
    Memory:     write of `tensor`, read of `tile`
    From:       sm_90 on
    Example:    tma_store(map[i, j], s, cache="", disjoint=False)"""

def trunc(x: Any, out: Sequence[Any] = ...) -> Any:
    """trunc(x): x without its fraction.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a float of 16 bits or more
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = trunc(x)"""

def turns(*arguments: Any, **options: Any) -> Any:
    """with turns(role): the role's units run the body one after the other, round after round

    Form:

        statement ::= "with" turns "(" ROLE ")" ":" statements

    Perspective:

    It stands directly in `with ROLE:`. It may also stand in the block's code, if only code of the role is inside. It does not change the
    perspective of the code. The units are those in which the role is counted: warpgroups for `roles(warpgroup, 2, 1)`, warps for
    `roles(warp, 4)`.

    `prism help turns` prints the whole page."""

uint2: Vector
"""2 of uint32, moved as one word."""

uint2_cast: VectorCast
"""uint2_cast(p[i]) loads a vector(uint32, 2) from p[i] on, uint2_cast[p[i]] = v stores one."""

uint4: Vector
"""4 of uint32, moved as one word."""

uint4_cast: VectorCast
"""uint4_cast(p[i]) loads a vector(uint32, 4) from p[i] on, uint4_cast[p[i]] = v stores one."""

def uint_as_float(x: Any, out: Sequence[Any] = ...) -> Any:
    """uint_as_float(x): the bits of a uint32, taken for a float32; CUDA's `__uint_as_float`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = uint_as_float(x)"""

def unpack_bf16x2(word: Any, part: Any, out: Sequence[Any] = ...) -> Any:
    """unpack_bf16x2(word, part): the low (0) or high (1) bfloat16 of a word, as a float.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = unpack_bf16x2(word, part)"""

def unpack_f16x2(word: Any, part: Any, out: Sequence[Any] = ...) -> Any:
    """unpack_f16x2(word, part): the low (0) or high (1) float16 of a word, as a float.

    Called by:  thread[1]
    Result at:  its operands' perspective
    Memory:     untouched
    From:       sm_75 on
    Example:    v: float32 @ thread[1] = unpack_f16x2(word, part)"""

def unsafe(*arguments: Any, **options: Any) -> Any:
    """unsafe("text"): text for the emitted code

    Form:

        statement ::= unsafe "(" TEXT ["," reads "=" names] ["," writes "=" names] ["," meaning "=" NAME] ")"

    Perspective:

    Every thread of the code runs the text where it stands.

    `prism help unsafe` prints the whole page."""

def vector(*arguments: Any, **options: Any) -> Any:
    """vector(T, n): n scalars moved as one word of at most 16 bytes

    Form:

        type       ::= vector "(" T "," CONST ")" | float2 | float4 | int2 | int4 | half8 | ...
        expression ::= load_vector "(" p "[" i "]" "," CONST ")"
                     | v ("+" | "-" | "*" | "/") (v | x) | x ("+" | "-" | "*" | "/") v | "-" v | fma "(" v "," v "," v ")"
        statement  ::= store_vector "(" p "[" i "]" "," v ")"

    Perspective:

    That of a scalar.

    `prism help vector` prints the whole page."""

warp: Warp
"""32 threads; warp.scan and its like are the collectives for one. `prism help warp` prints the whole page."""

def warp_all(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """warp_all(predicate): whether it holds in all lanes.

    Called by:  thread[32] together
    Result at:  thread[32]
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[32] = warp_all(predicate)"""

def warp_and(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_and(value): the bits set in every lane, in one instruction; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_and(value)"""

def warp_any(predicate: Any, out: Sequence[Any] = ...) -> Any:
    """warp_any(predicate): whether it holds in any lane.

    Called by:  thread[32] together
    Result at:  thread[32]
    Memory:     untouched
    From:       sm_75 on
    Example:    v: bool @ thread[32] = warp_any(predicate)"""

def warp_max(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_max(value): the greatest over the warp, in one instruction; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_max(value)"""

def warp_min(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_min(value): the least over the warp, in one instruction; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_min(value)"""

def warp_or(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_or(value): the bits set in any lane, in one instruction; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_or(value)"""

def warp_sum(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_sum(value): the sum over the warp, modulo 2^32, in one instruction (redux.sync); it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_sum(value)"""

def warp_xor(value: Any, out: Sequence[Any] = ...) -> Any:
    """warp_xor(value): the bits set in an odd number of lanes, in one instruction; it lives at thread[32].

    Called by:  thread[32] together
    Result at:  thread[32]
    T:          int32 or uint32
    Memory:     untouched
    From:       sm_80 on
    Example:    v: T @ thread[32] = warp_xor(value)"""

warpgroup: LevelName
"""128 threads, which wgmma takes. `prism help warpgroup` prints the whole page."""

def wgmma(accumulator: Any, a: Any, b: Any, transpose_a: Any = ..., transpose_b: Any = ..., accumulate: Any = ..., out: Sequence[Any] = ...) -> Any:
    """wgmma(acc, a, b, transpose_a=False, transpose_b=False, accumulate=True): acc += A * B over all of K, or A * B where not `accumulate`; acc is a fragment of M x N, M a multiple of 64; a and b are swizzled shared tiles, M x K and N x K (transposed: K x M and K x N), or what begins at a[i, k]; a may be a fragment of 16-bit or 8-bit elements, M x K, which is read until the wgmma has been waited for; of bfloat16, float16, float32 (taken as tf32), int8, uint8, float8_e4m3fn or float8_e5m2; of the last two, and of int8 and uint8, b may be of the other.

    Called by:  thread[128] together
    T:          bfloat16, float16, float32, float8_e4m3fn, float8_e5m2, int8 or uint8
    Memory:     update of `accumulator`, read of `a`, read of `b`
    From:       sm_90a on
    Example:    wgmma(acc, a, b, transpose_a=False, transpose_b=False, accumulate=True)"""

def wgmma_async(*arguments: Any, **options: Any) -> Any:
    """with wgmma_async(): the wgmmas inside are issued as one group

    Form:

        statement ::= "with" wgmma_async "(" ")" ":" (wgmma "(" acc "," a "," b ")")+

    Perspective:

    It stands in a warpgroup's code.

    `prism help wgmma_async` prints the whole page."""

def wrapping_add(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_add(a, b): the sum; of integers modulo 2^bits, signed ones too. Of floats it is `a + b`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a number other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = wrapping_add(a, b)"""

def wrapping_multiply(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_multiply(a, b): the product; of integers modulo 2^bits, signed ones too. Of floats it is `a * b`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a number other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = wrapping_multiply(a, b)"""

def wrapping_subtract(a: Any, b: Any, out: Sequence[Any] = ...) -> Any:
    """wrapping_subtract(a, b): the difference; of integers modulo 2^bits, signed ones too. Of floats it is `a - b`.

    Called by:  thread[1]
    Result at:  its operands' perspective
    T:          a number other than a float of 8 bits
    Memory:     untouched
    From:       sm_75 on
    Example:    v: T @ thread[1] = wrapping_subtract(a, b)"""

if MYPY:
    bf16: TypeAlias = Any
    bfloat16: TypeAlias = Any
    bool_: TypeAlias = Any
    c_float: TypeAlias = Any
    c_int: TypeAlias = Any
    complex128: TypeAlias = Any
    complex64: TypeAlias = Any
    from typing import no_type_check as device
    double: TypeAlias = Any
    float16: TypeAlias = Any
    float32: TypeAlias = Any
    float64: TypeAlias = Any
    float8_e4m3fn: TypeAlias = Any
    float8_e5m2: TypeAlias = Any
    half: TypeAlias = Any
    int16: TypeAlias = Any
    int16_t: TypeAlias = Any
    int32: TypeAlias = Any
    int32_t: TypeAlias = Any
    int64: TypeAlias = Any
    int64_t: TypeAlias = Any
    int8: TypeAlias = Any
    int8_t: TypeAlias = Any
    from typing import no_type_check as kernel
    @dataclass_transform()
    def struct(of: type[_T]) -> type[_T]: ...
    uint: TypeAlias = Any
    uint16: TypeAlias = Any
    uint16_t: TypeAlias = Any
    uint32: TypeAlias = Any
    uint32_t: TypeAlias = Any
    uint64: TypeAlias = Any
    uint64_t: TypeAlias = Any
    uint8: TypeAlias = Any
    uint8_t: TypeAlias = Any
else:
    class bf16(Any, metaclass=_ScalarType):
        """A scalar type: bfloat16, of 16 bits."""

    class bfloat16(Any, metaclass=_ScalarType):
        """A scalar type, of 16 bits."""

    class bool_(Any, metaclass=_ScalarType):
        """A scalar type, of 8 bits."""

    class c_float(Any, metaclass=_ScalarType):
        """A scalar type: float32, of 32 bits."""

    class c_int(Any, metaclass=_ScalarType):
        """A scalar type: int32, of 32 bits."""

    class complex128(Any, metaclass=_ScalarType):
        """A scalar type, of 128 bits."""

    class complex64(Any, metaclass=_ScalarType):
        """A scalar type, of 64 bits."""

    def device(python: Any) -> Kernel:
        """Mark a function that kernels call: `@prism.device`, which *Typed Perspectives* spells `@prism("device")`. `prism help device` prints the whole page."""

    class double(Any, metaclass=_ScalarType):
        """A scalar type: float64, of 64 bits."""

    class float16(Any, metaclass=_ScalarType):
        """A scalar type, of 16 bits."""

    class float32(Any, metaclass=_ScalarType):
        """A scalar type, of 32 bits."""

    class float64(Any, metaclass=_ScalarType):
        """A scalar type, of 64 bits."""

    class float8_e4m3fn(Any, metaclass=_ScalarType):
        """A scalar type, of 8 bits."""

    class float8_e5m2(Any, metaclass=_ScalarType):
        """A scalar type, of 8 bits."""

    class half(Any, metaclass=_ScalarType):
        """A scalar type: float16, of 16 bits."""

    class int16(Any, metaclass=_ScalarType):
        """A scalar type, of 16 bits."""

    class int16_t(Any, metaclass=_ScalarType):
        """A scalar type: int16, of 16 bits."""

    class int32(Any, metaclass=_ScalarType):
        """A scalar type, of 32 bits."""

    class int32_t(Any, metaclass=_ScalarType):
        """A scalar type: int32, of 32 bits."""

    class int64(Any, metaclass=_ScalarType):
        """A scalar type, of 64 bits."""

    class int64_t(Any, metaclass=_ScalarType):
        """A scalar type: int64, of 64 bits."""

    class int8(Any, metaclass=_ScalarType):
        """A scalar type, of 8 bits."""

    class int8_t(Any, metaclass=_ScalarType):
        """A scalar type: int8, of 8 bits."""

    def kernel(python: Any) -> Kernel:
        """Mark a kernel's entry: `@prism.kernel`, which *Typed Perspectives* spells `@prism("global")`. `prism help kernel` prints the whole page."""

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

        `prism help struct` prints the whole page.
        """

    class uint(Any, metaclass=_ScalarType):
        """A scalar type: uint32, of 32 bits."""

    class uint16(Any, metaclass=_ScalarType):
        """A scalar type, of 16 bits."""

    class uint16_t(Any, metaclass=_ScalarType):
        """A scalar type: uint16, of 16 bits."""

    class uint32(Any, metaclass=_ScalarType):
        """A scalar type, of 32 bits."""

    class uint32_t(Any, metaclass=_ScalarType):
        """A scalar type: uint32, of 32 bits."""

    class uint64(Any, metaclass=_ScalarType):
        """A scalar type, of 64 bits."""

    class uint64_t(Any, metaclass=_ScalarType):
        """A scalar type: uint64, of 64 bits."""

    class uint8(Any, metaclass=_ScalarType):
        """A scalar type, of 8 bits."""

    class uint8_t(Any, metaclass=_ScalarType):
        """A scalar type: uint8, of 8 bits."""

__all__ = ["CUtensorMap", "CompileError", "InternalError", "Kernel", "__float_as_int", "__float_as_uint", "__int_as_float", "__uint_as_float", "absolute", "acos", "add_bf16x2", "add_f16x2", "add_u16x2", "all_gather", "array", "asin", "assert_", "assume", "async_", "atan", "atan2", "atomic_add", "atomic_add_bf16x2", "atomic_add_f16x2", "atomic_and", "atomic_compare_exchange", "atomic_exchange", "atomic_increment", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "attr", "ballot", "bf16", "bfloat16", "bitcast", "block", "bool_", "broadcast", "bulk_load", "bulk_reduce", "bulk_store", "byte_permute", "byte_permute_or_sign", "c_float", "c_int", "cbrt", "cdiv", "ceil", "claim", "clz", "column", "complex128", "complex64", "const", "constexpr", "cos", "cosh", "count", "cp_async", "device", "distinct", "double", "double2", "double2_cast", "dp2a_hi", "dp2a_lo", "dp4a", "dtype", "elect", "erf", "erfc", "exp", "exp2", "expm1", "extern", "fast_cos", "fast_divide", "fast_exp", "fast_exp2", "fast_exp2_flush", "fast_log", "fast_log2", "fast_reciprocal", "fast_sin", "fast_sqrt", "fast_tanh", "fence", "first_set", "float16", "float2", "float2_cast", "float32", "float4", "float4_cast", "float64", "float8_e4m3fn", "float8_e5m2", "float_as_int", "float_as_uint", "floor", "fma", "fma_bf16x2", "fma_f16x2", "fmod", "fragment", "function", "funnel_shift_left", "funnel_shift_right", "grid", "grid_dependency_launch", "grid_dependency_wait", "group", "half", "half2", "half2_cast", "half8", "half8_cast", "hypot", "id", "int16", "int16_t", "int2", "int2_cast", "int32", "int32_t", "int4", "int4_cast", "int64", "int64_t", "int8", "int8_t", "int_as_float", "intrinsic", "is_finite", "is_inf", "is_nan", "keep_order", "kernel", "ldmatrix", "lgamma", "load_acquire", "load_relaxed", "load_vector", "log", "log1p", "log2", "mailbox", "match_all", "match_any", "max_bf16x2", "max_f16x2", "max_s16x2", "max_u16x2", "maximum", "may_alias", "min_bf16x2", "min_f16x2", "min_s16x2", "min_u16x2", "minimum", "mma", "mma_m16n8k128_b1_and", "mma_m16n8k128_b1_xor", "mma_m16n8k16_bf16", "mma_m16n8k16_f16", "mma_m16n8k16_f16_in_f16", "mma_m16n8k16_f64", "mma_m16n8k16_s8", "mma_m16n8k16_s8_u8", "mma_m16n8k16_u8", "mma_m16n8k16_u8_s8", "mma_m16n8k256_b1_and", "mma_m16n8k256_b1_xor", "mma_m16n8k32_e4m3", "mma_m16n8k32_e4m3_e5m2", "mma_m16n8k32_e5m2", "mma_m16n8k32_e5m2_e4m3", "mma_m16n8k32_s4", "mma_m16n8k32_s4_u4", "mma_m16n8k32_s8", "mma_m16n8k32_s8_u8", "mma_m16n8k32_u4", "mma_m16n8k32_u4_s4", "mma_m16n8k32_u8", "mma_m16n8k32_u8_s8", "mma_m16n8k4_f64", "mma_m16n8k4_tf32", "mma_m16n8k64_s4", "mma_m16n8k64_s4_u4", "mma_m16n8k64_u4", "mma_m16n8k64_u4_s4", "mma_m16n8k8_bf16", "mma_m16n8k8_f16", "mma_m16n8k8_f16_in_f16", "mma_m16n8k8_f64", "mma_m16n8k8_tf32", "mma_m8n8k4_f64", "mul_bf16x2", "mul_f16x2", "multiply_add", "one", "pack_bf16x2", "pack_e4m3x4", "pack_e5m2x4", "pack_f16x2", "partition", "popcount", "pow", "prefetch", "prefetch_map", "print_", "prism", "ptr", "publish", "receive", "reciprocal", "requires", "reverse_bits", "roles", "round_", "row", "rsqrt", "set_registers", "shared", "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor", "sign_bit", "sin", "sinh", "split", "sqrt", "st_async", "static_assert", "stmatrix", "store_relaxed", "store_release", "store_vector", "strides_nest", "struct", "sub_bf16x2", "sub_f16x2", "tan", "tanh", "template", "tgamma", "thread", "tma_load", "tma_prefetch", "tma_reduce", "tma_store", "trunc", "turns", "uint", "uint16", "uint16_t", "uint2", "uint2_cast", "uint32", "uint32_t", "uint4", "uint4_cast", "uint64", "uint64_t", "uint8", "uint8_t", "uint_as_float", "unpack_bf16x2", "unpack_f16x2", "unsafe", "vector", "warp", "warp_all", "warp_and", "warp_any", "warp_max", "warp_min", "warp_or", "warp_sum", "warp_xor", "warpgroup", "wgmma", "wgmma_async", "wrapping_add", "wrapping_multiply", "wrapping_subtract"]
