"""Atomic accesses with an order and a scope.

Atomic accesses do not conflict with one another, and the compiler puts no barrier between them. `order` says what else they
order: `acquire` what comes after, `release` what came before, `acq_rel` both, `relaxed` neither. `scope` is who must see it:
the threads of the `block`, of the `gpu`, or of the whole `system`. Two accesses are atomic to one another only where both scopes
include both threads: `block` is refused for memory that blocks share.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import Memory, Values, from_bits, scalar_of, to_bits, word_of
from prism.lang.intrinsics.packed import add_bf16x2, add_f16x2
from prism.lang.types import BFLOAT16, UINT32, Scalar
from prism.lang.types.shorts import round_bf16

ORDERS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = {"gpu": "gpu", "block": "cta", "system": "sys"}
SCOPE = Parameter("scope", "static", default="gpu", optional=True, choices=tuple(SCOPES))
ORDER = Parameter("order", "static", default="relaxed", optional=True, choices=ORDERS)


def order_of(binding: Binding) -> str:
    """Return the order that an application asks for."""
    order = str(binding.statics.get("order") or "relaxed")
    if order not in (*ORDERS, "sc"):
        raise ValueError(f"an order is one of {', '.join(ORDERS)}, not {order!r}")
    return order


def scope_of(binding: Binding) -> str:
    """Return the scope that an application asks for, as PTX spells it."""
    return SCOPES[str(binding.statics.get("scope") or "gpu")]


# -- loads and stores -------------------------------------------------------------------------------------------------


def _register(scalar: Scalar) -> str:
    return "l" if scalar.bits == 64 else "r"


def _load_name(binding: Binding, order: str) -> str:
    return f"px_load_{order}_{scope_of(binding)}_{scalar_of(binding).name}"


def _load_preamble(binding: Binding, order: str) -> str:
    scalar = scalar_of(binding)
    return f"""\
static __device__ __forceinline__ {scalar.cuda} {_load_name(binding, order)}(const {scalar.cuda}* p) {{
    {word_of(scalar)} word;
    asm volatile("ld.{order}.{scope_of(binding)}.u{scalar.bits} %0, [%1];" : "={_register(scalar)}"(word) : "l"(p) : "memory");
    return {from_bits(scalar, "word")};
}}
"""


def _store_name(binding: Binding, order: str) -> str:
    return f"px_store_{order}_{scope_of(binding)}_{scalar_of(binding).name}"


def _store_preamble(binding: Binding, order: str) -> str:
    scalar = scalar_of(binding)
    asm = f'"st.{order}.{scope_of(binding)}.u{scalar.bits} [%0], %1;" :: "l"(p), "{_register(scalar)}"(word) : "memory"'
    return f"""\
static __device__ __forceinline__ void {_store_name(binding, order)}({scalar.cuda}* p, {scalar.cuda} value) {{
    const {word_of(scalar)} word = {to_bits(scalar, "value")};
    asm volatile({asm});
}}
"""


def _load_acquire_meaning(binding: Binding, memory: Memory, element: Any) -> Values:
    found = memory.load(element, 0, atomic=True)
    memory.order(element, "acquire")
    return found


def _store_release_meaning(binding: Binding, memory: Memory, element: Any, value: Any) -> None:
    memory.order(element, "release")
    memory.store(element, value, 0, atomic=True)


load_relaxed = Intrinsic(
    name="load_relaxed",
    doc='load_relaxed(p[i], scope="gpu"): read p[i] past the L1, whole, while others may write it; it orders no other access.',
    parameters=(Parameter("element", "element", atomic=True), SCOPE),
    result="T",
    cuda=lambda binding, element: f"{_load_name(binding, 'relaxed')}({element})",
    preamble=lambda binding: _load_preamble(binding, "relaxed"),
    meaning=lambda binding, memory, element: memory.load(element, 0, atomic=True),
    source="PTX ISA 9.7.9.8 ld.relaxed",
)
load_acquire = Intrinsic(
    name="load_acquire",
    doc=(
        'load_acquire(p[i], scope="gpu"): read p[i] whole, while others may write it; what was written before the release that '
        "it reads from is seen by what comes after it."
    ),
    parameters=(Parameter("element", "element", atomic=True), SCOPE),
    result="T",
    cuda=lambda binding, element: f"{_load_name(binding, 'acquire')}({element})",
    preamble=lambda binding: _load_preamble(binding, "acquire"),
    meaning=_load_acquire_meaning,
    source="PTX ISA 9.7.9.8 ld.acquire",
)
store_relaxed = Intrinsic(
    name="store_relaxed",
    doc='store_relaxed(p[i], value, scope="gpu"): write p[i] whole, while others may read it; it orders no other access.',
    parameters=(Parameter("element", "element", effect="write", atomic=True), Parameter("value"), SCOPE),
    cuda=lambda binding, element, value: f"{_store_name(binding, 'relaxed')}({element}, {value})",
    preamble=lambda binding: _store_preamble(binding, "relaxed"),
    meaning=lambda binding, memory, element, value: memory.store(element, value, 0, atomic=True),
    source="PTX ISA 9.7.9.12 st.relaxed",
)
store_release = Intrinsic(
    name="store_release",
    doc=(
        'store_release(p[i], value, scope="gpu"): write p[i] whole, while others may read it; who acquires the value sees what '
        "this thread did before."
    ),
    parameters=(Parameter("element", "element", effect="write", atomic=True), Parameter("value"), SCOPE),
    cuda=lambda binding, element, value: f"{_store_name(binding, 'release')}({element}, {value})",
    preamble=lambda binding: _store_preamble(binding, "release"),
    meaning=_store_release_meaning,
    source="PTX ISA 9.7.9.12 st.release",
)


# -- read, change, write in one step ------------------------------------------------------------------------------------

CUDA = {
    "add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor",
    "exch": "atomicExch", "inc": "atomicInc", "cas": "atomicCAS",
}  # fmt: skip
"""CUDA's own functions, which are relaxed. Unlike text in `asm` they are not bound to generic addresses, nor to giving a result:
in shared memory they become ATOMS, and RED in global memory where nothing takes what they give."""
SUFFIXES = {"gpu": "", "cta": "_block", "sys": "_system"}


def _name(binding: Binding, name: str) -> str:
    return f"px_{name}_{order_of(binding)}_{scope_of(binding)}_{scalar_of(binding).name}"


def _as_is(scalar: Scalar) -> tuple[str, str, str, str]:
    """Return PTX's type, C++'s, the register class and how `value` gets there: numbers as they are."""
    if scalar.kind == "float":
        return f"f{scalar.bits}", scalar.cuda, "f" if scalar.bits == 32 else "d", "value"
    return f"{'s' if scalar.kind == 'int' else 'u'}{scalar.bits}", scalar.cuda, _register(scalar), "value"


def _modular(scalar: Scalar) -> tuple[str, str, str, str]:
    """The same for sums, which do not depend on the sign."""
    if scalar.kind == "float":
        return _as_is(scalar)
    return f"u{scalar.bits}", word_of(scalar), _register(scalar), f"({word_of(scalar)})value"


def _patterns(scalar: Scalar) -> tuple[str, str, str, str]:
    """The same for operations on bits."""
    return f"b{scalar.bits}", word_of(scalar), _register(scalar), to_bits(scalar, "value")


def _negative(scalar: Scalar) -> tuple[str, str, str, str]:
    kind, cuda, register, value = _modular(scalar)
    return kind, cuda, register, f"-({value})" if scalar.kind == "float" else f"({cuda})0 - {value}"


def _exchange(binding: Binding, bits: int, old: str, expected: str, value: str) -> str:
    """Return the statement that declares `old`: what stood there before a compare-exchange of words of so many bits."""
    word, register = {16: ("unsigned short", "h"), 32: ("unsigned int", "r"), 64: ("unsigned long long", "l")}[bits]
    order, scope = order_of(binding), scope_of(binding)
    if order == "relaxed":
        return f"    const {word} {old} = {CUDA['cas']}{SUFFIXES[scope]}(reinterpret_cast<{word}*>(p), {expected}, {value});"
    return f"""\
    {word} {old};
    asm volatile("atom.{order}.{scope}.cas.b{bits} %0, [%1], %2, %3;"
                 : "={register}"({old})
                 : "l"(p), "{register}"({expected}), "{register}"({value}) : "memory");"""


def _loop(binding: Binding, name: str, decide: str, now: str) -> str:
    """Return an update by compare-exchange, again and again until nobody comes between: of `old` it makes the bits `now`."""
    scalar = scalar_of(binding)
    word = "unsigned short" if scalar.bits == 16 else word_of(scalar)
    exchange = indent(_exchange(binding, scalar.bits, "seen", "before", now), "    ")
    return f"""\
static __device__ __forceinline__ {scalar.cuda} {_name(binding, name)}({scalar.cuda}* p, {scalar.cuda} value) {{
    {word} before = *reinterpret_cast<const volatile {word}*>(p);
    while (true) {{
        const {scalar.cuda} old = {from_bits(scalar, "before")};
{decide}{exchange}
        if (seen == before) return old;
        before = seen;
    }}
}}
"""


def _float_extremum(binding: Binding, name: str) -> str:
    """Return the least or the greatest of floats: NaN stays, and wins; of zeros, which are equal, the bits as integers decide.

    Not by integer atomics, whose order of bits has NaNs at both ends: one that stands there with the other sign would lose.
    """
    scalar, (less, more) = scalar_of(binding), ("<=", ">") if name == "atomic_max" else (">=", "<")
    bits = "__float_as_int" if scalar.bits == 32 else "__double_as_longlong"
    wins = f"old == old && (!(value {less} old) || (value == old && {bits}(value) {more} {bits}(old)))"
    decide = f"        const bool wins = {wins};\n"
    if order_of(binding) == "relaxed":  # an update that changes nothing orders nothing either, and may be left out
        decide += "        if (!wins) return old;\n"
    return _loop(binding, name, decide, f"wins ? {to_bits(scalar, 'value')} : before")


def _hardware_sum(binding: Binding, name: str, kind: str, bits: int, value: str) -> str:
    """Return a sum that C++ has no name for. Where the compiler knows the memory, one of the three instructions is left."""
    scalar, (word, register) = scalar_of(binding), ("unsigned short", "h") if bits == 16 else ("unsigned int", "r")

    def instruction(space: str, kind_of_address: str, address: str) -> str:
        return f"""asm volatile("atom.{order_of(binding)}.{scope_of(binding)}{space}.add.noftz.{kind} %0, [%1], %2;"
                 : "={register}"(old) : "{kind_of_address}"({address}), "{register}"({value}) : "memory");"""

    return f"""\
static __device__ __forceinline__ {scalar.cuda} {_name(binding, name)}({scalar.cuda}* p, {scalar.cuda} value) {{
    {word} old;
    if (__isGlobal(p)) {instruction(".global", "l", "__cvta_generic_to_global(p)")}
    else if (__isShared(p)) {instruction(".shared", "r", "(unsigned int)__cvta_generic_to_shared(p)")}
    else {instruction("", "l", "p")}
    return {from_bits(scalar, "old")};
}}
"""


def _short_sum(binding: Binding, name: str) -> str:
    """Return the sum of floats of 16 bits: one instruction, for bfloat16 from sm_90 on; both round once, to nearest."""
    subtracts = name == "atomic_sub"
    value = "(-value).bits" if subtracts else "value.bits"
    if scalar_of(binding) != BFLOAT16:
        return _hardware_sum(binding, name, "f16", 16, value)
    before = _loop(binding, name, "", f"(old {'-' if subtracts else '+'} value).bits")
    return f"#if __CUDA_ARCH__ >= 900\n{_hardware_sum(binding, name, 'bf16', 16, value)}#else\n{before}#endif\n"


def _atomic(
    name: str,
    doc: str,
    instruction: str,
    step: Callable[[Any, Any], Any],
    form: Callable[[Scalar], tuple[str, str, str, str]],
    allows: Callable[[Scalar], bool],
    allows_text: str,
) -> Intrinsic:
    """Return an atomic update; `step(before, value)` is what is written."""

    def preamble(binding: Binding) -> str:
        scalar = scalar_of(binding)
        if scalar.kind == "float" and scalar.bits == 16:
            return _short_sum(binding, name)
        if scalar.kind == "float" and instruction in ("min", "max"):
            return _float_extremum(binding, name)
        kind, cuda, register, value = form(scalar)
        order, scope = order_of(binding), scope_of(binding)
        old = from_bits(scalar, "old") if kind[0] == "b" else f"({scalar.cuda})old"
        body = (
            f"    const {cuda} old = {CUDA[instruction]}{SUFFIXES[scope]}(reinterpret_cast<{cuda}*>(p), {value});\n"
            if order == "relaxed"
            else f"    {cuda} old;\n"
            f'    asm volatile("atom.{order}.{scope}.{instruction}.{kind} %0, [%1], %2;"\n'
            f'                 : "={register}"(old) : "l"(p), "{register}"({value}) : "memory");\n'
        )
        return (
            f"static __device__ __forceinline__ {scalar.cuda} {_name(binding, name)}"
            f"({scalar.cuda}* p, {scalar.cuda} value) {{\n{body}    return {old};\n}}\n"
        )

    def added(binding: Binding, value: Any) -> Any:
        """What is added, where that is an integer."""
        if step not in (_add, _subtract) or not scalar_of(binding).integral:
            return None
        with np.errstate(all="ignore"):
            return value if step is _add else np.zeros_like(value) - value

    def meaning(binding: Binding, memory: Memory, element: Any, value: Any) -> Values:
        def change(before: Any, k: int) -> Any:
            with np.errstate(all="ignore"):
                found = step(before, value if np.ndim(value) == 0 else value[k])
            return round_bf16(found)[()] if scalar_of(binding) == BFLOAT16 else found

        return memory.update(element, change, order_of(binding), added(binding, value))

    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("element", "element", effect="update", atomic=True), Parameter("value"), ORDER, SCOPE),
        result="T",
        cuda=lambda binding, element, value: f"{_name(binding, name)}({element}, {value})",
        preamble=preamble,
        meaning=meaning,
        allows=allows,
        allows_text=allows_text,
        source=f"PTX ISA 9.7.13.5 atom.{instruction}",
    )


def _number(scalar: Scalar) -> bool:
    return scalar.kind != "bool" and scalar.bits in (32, 64)


def _integer(scalar: Scalar) -> bool:
    return scalar.integral and scalar.bits in (32, 64)


_SUMS = (
    lambda scalar: _number(scalar) or (scalar.kind == "float" and scalar.bits == 16),
    "a 32- or 64-bit number, or a float of 16 bits",
)
_ANY = (_number, "a 32- or 64-bit number")
_WHOLE = (_integer, "a 32- or 64-bit integer")
_GIVES = 'in one step; gives the value before. `order="relaxed"`, `scope="gpu"`.'


def _add(before: Any, value: Any) -> Any:
    return before + value


def _subtract(before: Any, value: Any) -> Any:
    return before - value


def _lower(before: Any, value: Any) -> Any:
    if not isinstance(before, np.floating):
        return min(before, value)
    down = value < before or (value == before and np.signbit(value) and not np.signbit(before))
    return value if before == before and (down or value != value) else before


def _raise(before: Any, value: Any) -> Any:
    return -_lower(-before, -value) if isinstance(before, np.floating) else max(before, value)


_OF_SHORTS = "A bfloat16 is added in a loop of compare-exchanges before sm_90."
_OF_FLOATS = "Of floats, a loop of compare-exchanges: a NaN stays and wins, as of `{}`, and -0 is below 0."
atomic_add = _atomic(
    "atomic_add", f"atomic_add(p[i], value): add to p[i] {_GIVES} {_OF_SHORTS}", "add", _add, _modular, *_SUMS
)
atomic_sub = _atomic(
    "atomic_sub", f"atomic_sub(p[i], value): subtract from p[i] {_GIVES} {_OF_SHORTS}", "add", _subtract, _negative, *_SUMS,
)  # fmt: skip
atomic_min = _atomic(
    "atomic_min", f"atomic_min(p[i], value): lower p[i] to value {_GIVES} {_OF_FLOATS.format('minimum')}", "min", _lower,
    _as_is, *_ANY,
)  # fmt: skip
atomic_max = _atomic(
    "atomic_max", f"atomic_max(p[i], value): raise p[i] to value {_GIVES} {_OF_FLOATS.format('maximum')}", "max", _raise,
    _as_is, *_ANY,
)  # fmt: skip
atomic_and = _atomic(
    "atomic_and", f"atomic_and(p[i], value): keep the bits of p[i] that value has {_GIVES}", "and",
    lambda before, value: before & value, _patterns, *_WHOLE,
)  # fmt: skip
atomic_or = _atomic(
    "atomic_or", f"atomic_or(p[i], value): set the bits of p[i] that value has {_GIVES}", "or",
    lambda before, value: before | value, _patterns, *_WHOLE,
)  # fmt: skip
atomic_xor = _atomic(
    "atomic_xor", f"atomic_xor(p[i], value): flip the bits of p[i] that value has {_GIVES}", "xor",
    lambda before, value: before ^ value, _patterns, *_WHOLE,
)  # fmt: skip
atomic_exchange = _atomic(
    "atomic_exchange", f"atomic_exchange(p[i], value): replace p[i] by value {_GIVES}", "exch",
    lambda before, value: value, _patterns, *_ANY,
)  # fmt: skip


atomic_increment = _atomic(
    "atomic_increment", f"atomic_increment(p[i], last): add 1 to p[i], or make it 0 where it is last or more, {_GIVES}", "inc",
    lambda before, last: before + type(before)(1) if before < last else type(before)(0), _as_is,
    lambda scalar: scalar == UINT32, "uint32",
)  # fmt: skip


def _pair_sum(name: str, long: str, kind: str, sums: Intrinsic, arch: str) -> Intrinsic:
    """Return the sum of two floats of 16 bits in one word, each half a step of its own."""

    def meaning(binding: Binding, memory: Memory, element: Any, value: Any) -> Values:
        def change(before: Any, k: int) -> Any:
            assert sums.meaning is not None
            return np.ravel(sums.meaning(binding, before, value if np.ndim(value) == 0 else value[k]))[0]

        return memory.update(element, change, order_of(binding))

    return Intrinsic(
        name=name,
        doc=f"{name}(p[i], value): add both {long} halves of value to those of p[i], each half {_GIVES}",
        parameters=(Parameter("element", "element", effect="update", atomic=True), Parameter("value"), ORDER, SCOPE),
        result="T",
        cuda=lambda binding, element, value: f"{_name(binding, name)}({element}, {value})",
        preamble=lambda binding: _hardware_sum(binding, name, f"{kind}x2", 32, "value"),
        meaning=meaning,
        allows=lambda scalar: scalar == UINT32,
        allows_text="uint32",
        min_arch=arch,
        source=f"PTX ISA 9.7.13.5 atom.add.noftz.{kind}x2",
    )


atomic_add_f16x2 = _pair_sum("atomic_add_f16x2", "float16", "f16", add_f16x2, "sm_75")
atomic_add_bf16x2 = _pair_sum("atomic_add_bf16x2", "bfloat16", "bf16", add_bf16x2, "sm_90")


def _compare_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    return f"""\
static __device__ __forceinline__ {scalar.cuda} {_name(binding, "atomic_compare_exchange")}(
    {scalar.cuda}* p, {scalar.cuda} expected, {scalar.cuda} value) {{
{_exchange(binding, scalar.bits, "old", to_bits(scalar, "expected"), to_bits(scalar, "value"))}
    return {from_bits(scalar, "old")};
}}
"""


def _compare_meaning(binding: Binding, memory: Memory, element: Any, expected: Any, value: Any) -> Values:
    kind = np.dtype(scalar_of(binding).numpy)

    def at(operand: Any, k: int) -> Any:
        return kind.type(operand if np.ndim(operand) == 0 else operand[k])

    def change(before: Any, k: int) -> Any:
        same = kind.type(before).tobytes() == at(expected, k).tobytes()  # bits, as the hardware compares
        return at(value, k) if same else before

    return memory.update(element, change, order_of(binding))


atomic_compare_exchange = Intrinsic(
    name="atomic_compare_exchange",
    doc=f"atomic_compare_exchange(p[i], expected, value): replace p[i] by value if it has the bits of expected, {_GIVES}",
    parameters=(
        Parameter("element", "element", effect="update", atomic=True),
        Parameter("expected"),
        Parameter("value"),
        ORDER,
        SCOPE,
    ),
    result="T",
    cuda=lambda binding, *texts: f"{_name(binding, 'atomic_compare_exchange')}({', '.join(texts)})",
    preamble=_compare_preamble,
    meaning=_compare_meaning,
    allows=_number,
    allows_text="a 32- or 64-bit number",
    source="PTX ISA 9.7.13.5 atom.cas",
)


ATOMICS = (
    load_relaxed, load_acquire, store_relaxed, store_release, atomic_add, atomic_add_f16x2, atomic_add_bf16x2, atomic_sub,
    atomic_min, atomic_max, atomic_and, atomic_or, atomic_xor, atomic_exchange, atomic_increment, atomic_compare_exchange,
)  # fmt: skip
