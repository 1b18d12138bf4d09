"""Memory intrinsics: vector accesses here; atomics.py has the atomic accesses, mailboxes.py the words between blocks.

On the reference machine their meanings speak to `Memory`, below, which `prism.interpret` implements. A preamble is made
of pieces separated by blank lines; the emitter emits each different piece once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.types import INT32, Scalar

Values = np.ndarray[Any, Any]
_ULL = "unsigned long long"


class Memory(Protocol):
    """What the reference machine gives a memory intrinsic's meaning, for the threads that run it now: the active ones.

    A `reference` is an element operand: for each active thread the address that its index expression gives; nothing
    here looks inside. `offset` counts elements from there: one int, or one entry an active thread. Results have shape
    (active,), in thread order. Scalar operands may be NumPy scalars or arrays of shape (active,); vectors have shape
    (active, length); a local array operand has shape (active, length) and is written in place. A word of a mailbox is
    one element.
    """

    def load(
        self, reference: Any, offset: int | Values = 0, atomic: bool = False, where: Values | None = None
    ) -> Values:
        """Read one element a thread; of the threads `where` only, others get anything and nothing is read."""
        ...

    def store(
        self, reference: Any, value: Any, offset: int | Values = 0, atomic: bool = False, where: Values | None = None
    ) -> None:
        """Write one element a thread, of the threads `where` only."""
        ...

    def load_row(self, reference: Any, count: int, where: Values | None = None) -> Values:
        """Read so many elements that follow one another a thread, as a row: of shape (active, count); `where` as for `load`."""
        ...

    def store_row(self, reference: Any, values: Any, where: Values | None = None) -> None:
        """Write elements that follow one another: one row for all threads, or a row a thread."""
        ...

    def update(
        self, reference: Any, step: Callable[[Any, int], Any], order: str, added: Values | None = None
    ) -> Values:
        """Replace each thread's element by `step(element, k)`, thread k after thread k - 1; return the values before.

        `added`: integers, one a thread or one for all, where a step adds them, modulo 2^bits. `order` is `relaxed`, `acquire`,
        `release` or `acq_rel`, as of `order` in happens-before.
        """
        ...

    def order(self, reference: Any, order: str) -> None:
        """Order what these threads did before, or do next, by their elements: after an acquire load, before a release store."""
        ...

    def fence(self, order: str) -> None:
        """Order by the atomic accesses that stand before it (acquire) or come after it (release)."""
        ...

    def align(self, reference: Any, elements: int, where: Values | None = None) -> None:
        """Report an address that is no multiple of `elements` elements: a vector access there faults on the GPU."""
        ...

    def publish(self, reference: Any, value: Any, epoch: Any) -> None:
        """Write value and tag as one word. It orders nothing else."""
        ...

    def ready(self, reference: Any, offset: int | Values, epoch: Any, mask: Values) -> Values:
        """Return, a thread, whether the word's tag is `epoch`; True, and nothing is read, where `mask` is False."""
        ...

    def take(self, reference: Any, offset: int | Values, mask: Values) -> Values:
        """Return the words' values; anything, and nothing is read, where `mask` is False."""
        ...

    def give(self, values: Values) -> int:
        """Give all warps of the cluster what these have, of shape (active, n); return the number of the gather."""
        ...

    def collect(self, number: int) -> Values | None:
        """Return what each warp has given this block in a gather, of shape (warps, n); None until all have."""
        ...


# -- pieces of C++ ----------------------------------------------------------------------------------------------------


def scalar_of(binding: Binding) -> Scalar:
    """Return the scalar that T stands for."""
    if binding.scalar is None:
        raise ValueError("the intrinsic needs a type for T")
    return binding.scalar


def to_bits(scalar: Scalar, value: str) -> str:
    """Return `value` as an unsigned 32-bit (64-bit for wide scalars) word in C++."""
    if scalar.kind == "struct":
        return f"px_bits<{word_of(scalar)}>({value})"
    if scalar.short:
        return f"(unsigned int)({value}).bits"
    if scalar.kind == "float":
        return f"__float_as_uint({value})" if scalar.bits == 32 else f"({_ULL})__double_as_longlong({value})"
    return f"({word_of(scalar)})({value})"


def from_bits(scalar: Scalar, word: str) -> str:
    """Return the scalar whose `to_bits` is `word` in C++."""
    if scalar.kind == "struct":
        return f"px_of_bits<{scalar.cuda}>({word})"
    if scalar.short:
        return f"{scalar.cuda}_of((unsigned short)({word}))"
    if scalar.kind == "float":
        return f"__uint_as_float({word})" if scalar.bits == 32 else f"__longlong_as_double((long long)({word}))"
    return f"({scalar.cuda})({word})"


def word_of(scalar: Scalar) -> str:
    """Return the C++ type of `to_bits`."""
    if scalar.bits > 64:
        return "ulonglong2"
    return _ULL if scalar.bits > 32 else "unsigned int"


STRUCT_BITS = """\
template <typename W, typename T> static __device__ __forceinline__ W px_bits(const T& value) {
    W word = {};
    memcpy(&word, &value, sizeof(T));
    return word;
}
template <typename T, typename W> static __device__ __forceinline__ T px_of_bits(const W& word) {
    T value;
    memcpy(&value, &word, sizeof(T));
    return value;
}
"""


# -- vectors ----------------------------------------------------------------------------------------------------------

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}

# Cache hints: for each word of 1 to 16 bytes an overload that loads or stores it with the hint.
LOADS = {"streaming": ".cs", "last_use": ".lu", "no_allocate": ".global.nc.L1::no_allocate"}
COHERENT = {"no_allocate": ".global.L1::no_allocate"}
"""What takes the place of hints where the kernel may write the memory: `.nc` need not see what is written meanwhile."""
STORES = {"streaming": ".cs", "no_allocate": ".global.L1::no_allocate"}
# C++ type of the word, PTX type, register class, registers
_WORDS = (
    ("unsigned char", "u8", "r", 1),
    ("unsigned short", "u16", "h", 1),
    ("unsigned int", "u32", "r", 1),
    ("uint2", "v2.u32", "r", 2),
    ("uint4", "v4.u32", "r", 4),
)


def _fields(count: int) -> list[str]:
    return [f"w.{c}" for c in "xyzw"[:count]] if count > 1 else ["w"]


def _list(first: int, count: int) -> str:
    names = ", ".join(f"%{first + k}" for k in range(count))
    return f"{{{names}}}" if count > 1 else names


def _address(hint: str) -> str:
    return "__cvta_generic_to_global(p)" if ".global" in hint else "p"


def load_words(name: str, hint: str) -> str:
    """Return the overloads of `px_load<name>(p, w)`, loads with a hint."""
    lines = []
    for word, type_, register, count in _WORDS:
        head = f"static __device__ __forceinline__ void px_load{name}(const void* p, {word}& w)"
        if word == "unsigned char":
            load = f'asm volatile("ld{hint}.u8 %0, [%1];" : "=r"(x) : "l"({_address(hint)}));'
            text = f"unsigned int x;\n    {load}\n    w = (unsigned char)x;"
        else:
            outs = ", ".join(f'"={register}"({field})' for field in _fields(count))
            text = f'asm volatile("ld{hint}.{type_} {_list(0, count)}, [%{count}];" : {outs} : "l"({_address(hint)}));'
        lines.append(f"{head} {{\n    {text}\n}}")
    return "\n".join(lines) + "\n"


def store_words(cache: str) -> str:
    """Return the overloads of `px_store_<cache>(p, w)`."""
    hint, lines = STORES[cache], []
    for word, type_, register, count in _WORDS:
        head = f"static __device__ __forceinline__ void px_store_{cache}(void* p, const {word}& w)"
        fields = ["(unsigned int)w"] if word == "unsigned char" else _fields(count)
        ins = ", ".join(f'"{register}"({field})' for field in fields)
        text = f'asm volatile("st{hint}.{type_} [%0], {_list(1, count)};" :: "l"({_address(hint)}), {ins} : "memory");'
        lines.append(f"{head} {{\n    {text}\n}}")
    return "\n".join(lines) + "\n"


VECTOR = """\
template <typename T, int N> struct __align__(sizeof(T) * N) px_vector { T item[N]; };
"""

_LOAD_VECTOR = """\
template <typename W, typename T, int N>
static __device__ __forceinline__ px_vector<T, N> px_load_vector(const T* p) {
    const W word = *reinterpret_cast<const W*>(p);
    px_vector<T, N> v;
    memcpy(&v, &word, sizeof(W));
    return v;
}
"""

_STORE_VECTOR = """\
template <typename W, typename T, int N>
static __device__ __forceinline__ void px_store_vector(T* p, const px_vector<T, N>& v) {
    W word;
    memcpy(&word, &v, sizeof(W));
    *reinterpret_cast<W*>(p) = word;
}
"""


def vector_cuda(scalar: Scalar, length: int) -> str:
    """Return the C++ type of `vector(scalar, length)`; its text is `VECTOR`."""
    return f"px_vector<{scalar.cuda}, {length}>"


def _vector_word(scalar: Scalar, length: int) -> str:
    size = scalar.bytes * length
    if size not in WORDS:
        raise ValueError(f"no vector of {length} {scalar}: {size} bytes is not 1, 2, 4, 8 or 16")
    return WORDS[size]


def _load_vector_cuda(binding: Binding, element: str) -> str:
    scalar, width = scalar_of(binding), int(binding.statics["width"])
    name, _ = _load_hint(binding)
    return f"px_load_vector{name}<{_vector_word(scalar, width)}, {scalar.cuda}, {width}>({element})"


def _load_hint(binding: Binding) -> tuple[str, str]:
    """Return what a load's cache hint adds to the names of helpers, and to the instruction."""
    cache = binding.static(load_vector, "cache")
    if cache in COHERENT and "element" not in binding.const:
        return f"_{cache}_coherent", COHERENT[cache]
    return (f"_{cache}", LOADS[cache]) if cache else ("", "")


def _load_vector_preamble(binding: Binding) -> str:
    name, hint = _load_hint(binding)
    if not hint:
        return f"{VECTOR}\n{_LOAD_VECTOR}"
    hinted = f"W word;\n    px_load{name}(p, word);"
    text = _LOAD_VECTOR.replace("const W word = *reinterpret_cast<const W*>(p);", hinted)
    return f"{VECTOR}\n{load_words(name, hint)}\n{text.replace('px_load_vector(', f'px_load_vector{name}(')}"


def _load_vector_problem(binding: Binding) -> str:
    if binding.static(load_vector, "cache") == "no_allocate" and "element" not in binding.const:
        return '`cache="no_allocate"` is for what is read: the pointer must be `ptr(const(T))`'
    return ""


def _load_vector_meaning(binding: Binding, memory: Memory, element: Any) -> Values:
    width = int(binding.statics["width"])
    memory.align(element, width)
    return memory.load_row(element, width)


def _store_vector_cuda(binding: Binding, element: str, value: str) -> str:
    scalar, width, cache = scalar_of(binding), binding.lengths["value"], binding.static(store_vector, "cache")
    name = f"px_store_vector_{cache}" if cache else "px_store_vector"
    return f"{name}<{_vector_word(scalar, width)}, {scalar.cuda}, {width}>({element}, {value})"


def _store_vector_preamble(binding: Binding) -> str:
    cache = binding.static(store_vector, "cache")
    if not cache:
        return f"{VECTOR}\n{_STORE_VECTOR}"
    text = _STORE_VECTOR.replace("*reinterpret_cast<W*>(p) = word;", f"px_store_{cache}(p, word);")
    return f"{VECTOR}\n{store_words(cache)}\n{text.replace('px_store_vector(', f'px_store_vector_{cache}(')}"


def _store_vector_meaning(binding: Binding, memory: Memory, element: Any, value: Any) -> None:
    width = binding.lengths["value"]
    memory.align(element, width)
    memory.store_row(element, value)


load_vector = Intrinsic(
    name="load_vector",
    doc=(
        'load_vector(p[i], width, cache=""): p[i : i + width] as one vector, in one aligned access of at most 16 bytes. '
        '`cache`: "streaming" (read once: leave first), "last_use" (not read again), "no_allocate" (global const memory: '
        "past the L1; by the read-only path where nobody writes it while the kernel runs)."
    ),
    parameters=(
        Parameter("element", "element", exact=False),
        Parameter("width", "static", INT32, choices=(1, 2, 4, 8, 16)),
        Parameter("cache", "static", default="", choices=("", *LOADS)),
    ),
    result="vector",
    cuda=_load_vector_cuda,
    preamble=_load_vector_preamble,
    meaning=_load_vector_meaning,
    problem=_load_vector_problem,
    structs=True,
    allows_text="any scalar, or a struct",
    source="PTX ISA 9.7.9.8 ld (.v2, .v4; .cs, .lu, .L1::no_allocate)",
)

store_vector = Intrinsic(
    name="store_vector",
    doc=(
        'store_vector(p[i], v, cache=""): write the vector v to p[i : i + width], in one aligned access of at most 16 bytes. '
        '`cache`: "streaming" (leave first), "no_allocate" (global memory: past the L1).'
    ),
    parameters=(
        Parameter("element", "element", effect="write", exact=False),
        Parameter("value", "vector"),
        Parameter("cache", "static", default="", choices=("", *STORES)),
    ),
    cuda=_store_vector_cuda,
    preamble=_store_vector_preamble,
    meaning=_store_vector_meaning,
    structs=True,
    allows_text="any scalar, or a struct",
    source="PTX ISA 9.7.9.12 st (.v2, .v4; .cs, .L1::no_allocate)",
)


_PREFETCH = """\
template <typename T>
static __device__ __forceinline__ void px_prefetch(const T* p, int count) {
#if __CUDA_ARCH__ >= 900
    const unsigned long long first = __cvta_generic_to_global(p) & ~15ull;
    const int bytes = (int)(count * (int)sizeof(T)) & ~15;
    if (bytes > 0 && __isGlobal(p)) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(first), "r"(bytes));
#endif
}
"""

prefetch = Intrinsic(
    name="prefetch",
    doc=(
        "prefetch(p[i], count): ask for p[i : i + count] to be brought into the L2, and go on at once; nothing where count "
        "<= 0. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, "
        "where what it is given is not read from memory."
    ),
    parameters=(Parameter("element", "element"), Parameter("count", "value", INT32)),
    cuda=lambda binding, element, count: f"px_prefetch({element}, {count})",
    preamble=lambda binding: _PREFETCH,
    meaning=lambda binding, memory, element, count: None,
    structs=True,
    allows_text="any scalar, or a struct",
    source="PTX ISA 9.7.9.25.5.4 cp.async.bulk.prefetch (sm_90; before, nothing)",
)


MEMORY = (load_vector, store_vector, prefetch)
